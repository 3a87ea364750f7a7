// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Makes a program of work requests and posts it. */
#include <stdlib.h>
#include "sim/flow.h"

#define SRC_LEN		8192	/* sources may overlap, as they are only read */
#define RUN_LIMIT	(3600 * SIM_SEC)

const struct flow_cfg flow_default = {
	.wrs = 60,
	.max_len = 8192,
	.area = 16384,
	.ops = FLOW_OPS,
	.max_sge = 6,
	.signaled = 500,
	.fence = 150,
	.solicited = 200,
	.inl = 250,
	.recv_ahead = 12,
	.round_ns = 5000,
};

struct flow *flow_new(struct sim_qp *from, struct sim_qp *to,
		      const struct flow_cfg *cfg)
{
	struct flow *flow = calloc(1, sizeof(*flow));
	struct sim *sim = from->s;

	flow->s = sim;
	flow->cfg = *cfg;
	flow->from = from;
	flow->to = to;
	flow->src = sim_mr(sim, from->host, SRC_LEN + cfg->max_len,
			   1 << CAIRN_ACCESS_LOCAL_READ);
	flow->target = sim_mr(sim, to->host, cfg->area, SIM_ALL);
	flow->model = malloc(cfg->area);
	memcpy(flow->model, flow->target->mem, cfg->area);
	flow->wr = calloc(cfg->wrs, sizeof(*flow->wr));
	flow->recv = calloc(cfg->wrs, sizeof(*flow->recv));
	from->flow[CAIRN_REQ] = flow;
	to->flow[CAIRN_RESP] = flow;
	flow_watch(flow);
	return flow;
}

void flow_free(struct flow *flow)
{
	u32 i;

	for (i = 0; i < flow->wrs; i++) {
		free(flow->wr[i].data);
		free(flow->wr[i].stored);
	}
	free(flow->wr);
	free(flow->recv);
	free(flow->model);
	free(flow->dst_image);
	free(flow->rbuf_image);
	free(flow);
}

/* Cut @len bytes into pieces, some of them empty. */
static void flow_cut(struct flow *flow, struct flow_list *list, u32 len)
{
	struct sim_rand *random = &flow->s->rand;
	u32 max = min_t(u32, flow->cfg.max_sge, CAIRN_MAX_SGE);

	list->n = 0;
	while (len && list->n + 1 < max && !sim_chance(random, 400)) {
		u32 n = sim_chance(random, 100) ? 0 : sim_between(random, 1, len);

		list->piece[list->n++].len = n;
		len -= n;
	}
	if (len || (!list->n && sim_chance(random, 500)))
		list->piece[list->n++].len = len;
}

/* Give each piece a separate place in a region that grows. */
static void place_apart(struct flow *flow, struct flow_list *list, u32 *region)
{
	u32 i;

	for (i = 0; i < list->n; i++) {
		list->piece[i].off = *region + sim_between(&flow->s->rand, 1, 16);
		*region = list->piece[i].off + list->piece[i].len;
	}
}

static void place_in_src(struct flow *flow, struct flow_list *list)
{
	u32 i;

	for (i = 0; i < list->n; i++)
		list->piece[i].off = sim_below(&flow->s->rand, flow->src->len -
					       list->piece[i].len + 1);
}

static bool is_atomic(u8 opcode)
{
	return opcode == CAIRN_WQE_CAS || opcode == CAIRN_WQE_FAA;
}

static bool takes_recv(u8 opcode)
{
	return opcode == CAIRN_WQE_SEND || opcode == CAIRN_WQE_SEND_IMM ||
	       opcode == CAIRN_WQE_SEND_INV || opcode == CAIRN_WQE_WRITE_IMM;
}

static u32 add_recv(struct flow *flow, const struct flow_wr *wr)
{
	struct flow_recv *rv = &flow->recv[flow->recvs];
	u32 len = wr->opcode == CAIRN_WQE_WRITE_IMM ? 0 : wr->len;

	if (sim_chance(&flow->s->rand, 500))
		len += sim_below(&flow->s->rand, 100);
	flow_cut(flow, &rv->list, len);
	if (rv->list.n > 3 * flow->to->rq->stride) {
		rv->list.n = 1;		/* does not fit the stride */
		rv->list.piece[0].len = len;
	}
	place_apart(flow, &rv->list, &flow->rbuf_len);
	rv->wr = flow->wrs;
	return flow->recvs++;
}

static u8 random_flags(struct flow *flow, u8 opcode, u32 len)
{
	struct sim_rand *random = &flow->s->rand;
	u8 flags = 0;

	if (sim_chance(random, flow->cfg.signaled))
		flags |= CAIRN_WQE_SIGNALED;
	if (sim_chance(random, flow->cfg.fence))
		flags |= CAIRN_WQE_FENCE;
	if (sim_chance(random, flow->cfg.solicited))
		flags |= CAIRN_WQE_SOLICITED;
	if (opcode != CAIRN_WQE_READ && !is_atomic(opcode) &&
	    len <= flow->from->c.max_inline && sim_chance(random, flow->cfg.inl))
		flags |= CAIRN_WQE_INLINE;
	return flags;
}

/* Opcodes that model.c knows come first. */
#define FLOW_OPCODES	(CAIRN_WQE_WRITE_PERSIST + 1)

static void random_atomic(struct flow *flow, struct flow_wr *wr)
{
	struct sim_rand *random = &flow->s->rand;

	wr->roff &= ~7u;
	wr->compare_add = sim_rand(random);
	wr->swap = sim_rand(random);
	/* half of the comparisons should succeed */
	if (wr->opcode == CAIRN_WQE_CAS && sim_chance(random, 500))
		memcpy(&wr->compare_add, flow->model + wr->roff,
		       sizeof(wr->compare_add));
}

struct flow_wr *flow_add(struct flow *flow, u8 opcode, u32 len)
{
	struct flow_wr *wr = &flow->wr[flow->wrs];
	struct sim_rand *random = &flow->s->rand;

	BUG_ON(flow->wrs == flow->cfg.wrs || flow->started);
	wr->opcode = opcode;
	wr->len = is_atomic(opcode) ? 8 : len;
	wr->flags = random_flags(flow, opcode, len);
	wr->imm = (u32)sim_rand(random);
	wr->roff = sim_below(random, flow->cfg.area - wr->len + 1);
	if (is_atomic(opcode)) {
		random_atomic(flow, wr);
		wr->local = (struct flow_list){ 1, { { 0, 8 } } };
	} else {
		flow_cut(flow, &wr->local, wr->len);
	}
	if (is_atomic(opcode) || opcode == CAIRN_WQE_READ)
		place_apart(flow, &wr->local, &flow->dst_len);
	else
		place_in_src(flow, &wr->local);
	if (opcode == CAIRN_WQE_SEND_INV) {
		wr->inv = sim_mr(flow->s, flow->to->host, 8, SIM_ALL);
		wr->inv->remote_inv = true;
		wr->imm = wr->inv->key;
	}
	wr->recv = takes_recv(opcode) ? add_recv(flow, wr) : FLOW_NONE;
	flow_model(flow, flow->wrs++);
	return wr;
}

static u32 random_len(struct flow *flow)
{
	struct sim_rand *random = &flow->s->rand;
	u32 pmtu = flow->from->c.attrs.pmtu, len;

	switch (sim_below(random, 4)) {
	case 0:
		len = sim_below(random, 5);
		break;
	case 1:
		len = pmtu * sim_between(random, 1, 4) + sim_below(random, 3) - 1;
		break;
	case 2:
		len = sim_below(random, 2 * pmtu);
		break;
	default:
		len = sim_below(random, flow->cfg.max_len);
	}
	return min3(len, flow->cfg.max_len, flow->cfg.area);
}

static u8 random_op(struct flow *flow)
{
	u8 op;

	do {
		op = sim_below(&flow->s->rand, FLOW_OPCODES);
	} while (!(flow->cfg.ops & 1 << op));
	return op;
}

void flow_random(struct flow *flow)
{
	while (flow->wrs < flow->cfg.wrs)
		flow_add(flow, random_op(flow), random_len(flow));
	flow->wr[flow->wrs - 1].flags |= CAIRN_WQE_SIGNALED;
}

/*
 * Posting.
 */

static u32 to_sges(const struct sim_mr *mr, const struct flow_list *list,
		   struct cairn_sge *sge)
{
	u32 i;

	for (i = 0; i < list->n; i++)
		sge[i] = sim_sge(mr, list->piece[i].off, list->piece[i].len);
	return list->n;
}

static bool post_send(struct flow *flow, u32 i)
{
	struct flow_wr *wr = &flow->wr[i];
	bool reads = wr->opcode == CAIRN_WQE_READ || is_atomic(wr->opcode);
	struct cairn_sge sge[CAIRN_MAX_SGE];
	struct sim_wr made = {
		.wr_id = i,
		.opcode = wr->opcode,
		.flags = wr->flags,
		.sge = sge,
		.num_sge = to_sges(reads ? flow->dst : flow->src, &wr->local, sge),
		.imm_or_key = wr->imm,
		.remote_addr = flow->target->va + wr->roff,
		.rkey = flow->target->key,
		.compare_add = wr->compare_add,
		.swap = wr->swap,
		.inl = wr->data,
		.inline_len = wr->len,
	};

	/* the key of an empty request is not checked */
	if (!wr->len && sim_chance(&flow->s->rand, 500)) {
		made.rkey = (u32)sim_rand(&flow->s->rand);
		made.remote_addr = sim_rand(&flow->s->rand);
	}
	if (!sim_queue_send(flow->from, &made))
		return false;
	wr->end = flow->from->sq_tail;
	return true;
}

static bool post_recv(struct flow *flow, u32 i)
{
	struct cairn_sge sge[CAIRN_MAX_SGE];
	u32 n = to_sges(flow->rbuf, &flow->recv[i].list, sge);

	return sim_queue_recv(flow->to->rq, i, sge, n);
}

/* An unreliable connection does not retransmit a message that finds no receive. */
static bool receiver_ready(const struct flow *flow, u32 i)
{
	const struct flow_wr *wr = &flow->wr[i];

	return flow->from->c.transport == CAIRN_TRANSPORT_RC ||
	       wr->recv == FLOW_NONE || wr->recv < flow->recv_posted;
}

/* One round of the host: post a random number of requests that fit. */
static void flow_pump(struct sim *sim, void *arg)
{
	struct flow *flow = arg;
	u32 burst = 1 + sim_below(&sim->rand, 16);
	bool any = false;

	if (!sim_chance(&sim->rand, flow->cfg.starve)) {
		while (flow->recv_posted < flow->recvs &&
		       flow->recv_posted - flow->recv_done < flow->cfg.recv_ahead &&
		       post_recv(flow, flow->recv_posted))
			flow->recv_posted++;
	}
	while (flow->posted < flow->wrs && burst-- && receiver_ready(flow, flow->posted) &&
	       post_send(flow, flow->posted)) {
		flow->posted++;
		any = true;
	}
	if (any)
		sim_doorbell(flow->from);
	/* the engine may be run without a reason */
	if (sim_chance(&sim->rand, 200))
		sim_turn(sim_chance(&sim->rand, 500) ? flow->from : flow->to,
			 sim_below(&sim->rand, CAIRN_SIDES));
	if (flow->posted < flow->wrs || flow->recv_posted < flow->recvs)
		sim_at(sim, sim->now + 1 + sim_below(&sim->rand, flow->cfg.round_ns),
		       flow_pump, flow);
}

static struct sim_mr *image_of(struct flow *flow, u32 host, u32 len, u8 **image)
{
	struct sim_mr *mr = sim_mr(flow->s, host, len + 16,
				   1 << CAIRN_ACCESS_LOCAL_WRITE);

	*image = malloc(mr->len);
	memcpy(*image, mr->mem, mr->len);
	return mr;
}

void flow_start(struct flow *flow)
{
	flow->started = true;
	flow->ssn0 = flow->from->c.req.ssn;
	flow->probe = FLOW_NONE;
	flow->dst = image_of(flow, flow->from->host, flow->dst_len, &flow->dst_image);
	flow->rbuf = image_of(flow, flow->to->host, flow->rbuf_len, &flow->rbuf_image);
	flow_pump(flow->s, flow);
}

bool flow_done(const struct flow *flow)
{
	return flow->completed == flow->wrs && flow->recv_done == flow->recvs;
}

void flow_run(struct flow **flow, u32 n)
{
	struct sim *sim = flow[0]->s;
	u32 i;

	for (i = 0; i < n; i++)
		flow_start(flow[i]);
	if (!sim_run(sim, RUN_LIMIT))
		sim_fail(sim, "not at rest after an hour");
	for (i = 0; i < n; i++) {
		flow_check(flow[i]);
		flow_free(flow[i]);
	}
}
