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
	struct flow *f = calloc(1, sizeof(*f));
	struct sim *s = from->s;

	f->s = s;
	f->cfg = *cfg;
	f->from = from;
	f->to = to;
	f->src = sim_mr(s, from->host, SRC_LEN + cfg->max_len,
			1 << CAIRN_ACCESS_LOCAL_READ);
	f->target = sim_mr(s, to->host, cfg->area, SIM_ALL);
	f->model = malloc(cfg->area);
	memcpy(f->model, f->target->mem, cfg->area);
	f->wr = calloc(cfg->wrs, sizeof(*f->wr));
	f->recv = calloc(cfg->wrs, sizeof(*f->recv));
	from->flow[CAIRN_REQ] = f;
	to->flow[CAIRN_RESP] = f;
	flow_watch(f);
	return f;
}

void flow_free(struct flow *f)
{
	u32 i;

	for (i = 0; i < f->wrs; i++) {
		free(f->wr[i].data);
		free(f->wr[i].stored);
	}
	free(f->wr);
	free(f->recv);
	free(f->model);
	free(f->dst_image);
	free(f->rbuf_image);
	free(f);
}

/* Cut @len bytes into pieces, some of them empty. */
static void cut(struct flow *f, struct flow_list *l, u32 len)
{
	struct sim_rand *r = &f->s->rand;
	u32 max = min_t(u32, f->cfg.max_sge, CAIRN_MAX_SGE);

	l->n = 0;
	while (len && l->n + 1 < max && !sim_chance(r, 400)) {
		u32 n = sim_chance(r, 100) ? 0 : sim_between(r, 1, len);

		l->piece[l->n++].len = n;
		len -= n;
	}
	if (len || (!l->n && sim_chance(r, 500)))
		l->piece[l->n++].len = len;
}

/* Give each piece a separate place in a region that grows. */
static void place_apart(struct flow *f, struct flow_list *l, u32 *region)
{
	u32 i;

	for (i = 0; i < l->n; i++) {
		l->piece[i].off = *region + sim_between(&f->s->rand, 1, 16);
		*region = l->piece[i].off + l->piece[i].len;
	}
}

static void place_in_src(struct flow *f, struct flow_list *l)
{
	u32 i;

	for (i = 0; i < l->n; i++)
		l->piece[i].off = sim_below(&f->s->rand, f->src->len -
					    l->piece[i].len + 1);
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

static u32 add_recv(struct flow *f, const struct flow_wr *wr)
{
	struct flow_recv *rv = &f->recv[f->recvs];
	u32 len = wr->opcode == CAIRN_WQE_WRITE_IMM ? 0 : wr->len;

	if (sim_chance(&f->s->rand, 500))
		len += sim_below(&f->s->rand, 100);
	cut(f, &rv->list, len);
	if (rv->list.n > 3 * f->to->rq->stride) {
		rv->list.n = 1;		/* does not fit the stride */
		rv->list.piece[0].len = len;
	}
	place_apart(f, &rv->list, &f->rbuf_len);
	rv->wr = f->wrs;
	return f->recvs++;
}

static u8 random_flags(struct flow *f, u8 opcode, u32 len)
{
	struct sim_rand *r = &f->s->rand;
	u8 flags = 0;

	if (sim_chance(r, f->cfg.signaled))
		flags |= CAIRN_WQE_SIGNALED;
	if (sim_chance(r, f->cfg.fence))
		flags |= CAIRN_WQE_FENCE;
	if (sim_chance(r, f->cfg.solicited))
		flags |= CAIRN_WQE_SOLICITED;
	if (opcode != CAIRN_WQE_READ && !is_atomic(opcode) &&
	    len <= f->from->c.max_inline && sim_chance(r, f->cfg.inl))
		flags |= CAIRN_WQE_INLINE;
	return flags;
}

/* Opcodes that model.c knows come first. */
#define FLOW_OPCODES	(CAIRN_WQE_WRITE_PERSIST + 1)

static void random_atomic(struct flow *f, struct flow_wr *wr)
{
	struct sim_rand *r = &f->s->rand;

	wr->roff &= ~7u;
	wr->compare_add = sim_rand(r);
	wr->swap = sim_rand(r);
	/* half of the comparisons should succeed */
	if (wr->opcode == CAIRN_WQE_CAS && sim_chance(r, 500))
		memcpy(&wr->compare_add, f->model + wr->roff,
		       sizeof(wr->compare_add));
}

struct flow_wr *flow_add(struct flow *f, u8 opcode, u32 len)
{
	struct flow_wr *wr = &f->wr[f->wrs];
	struct sim_rand *r = &f->s->rand;

	BUG_ON(f->wrs == f->cfg.wrs || f->started);
	wr->opcode = opcode;
	wr->len = is_atomic(opcode) ? 8 : len;
	wr->flags = random_flags(f, opcode, len);
	wr->imm = (u32)sim_rand(r);
	wr->roff = sim_below(r, f->cfg.area - wr->len + 1);
	if (is_atomic(opcode)) {
		random_atomic(f, wr);
		wr->local = (struct flow_list){ 1, { { 0, 8 } } };
	} else {
		cut(f, &wr->local, wr->len);
	}
	if (is_atomic(opcode) || opcode == CAIRN_WQE_READ)
		place_apart(f, &wr->local, &f->dst_len);
	else
		place_in_src(f, &wr->local);
	if (opcode == CAIRN_WQE_SEND_INV) {
		wr->inv = sim_mr(f->s, f->to->host, 8, SIM_ALL);
		wr->inv->remote_inv = true;
		wr->imm = wr->inv->key;
	}
	wr->recv = takes_recv(opcode) ? add_recv(f, wr) : FLOW_NONE;
	flow_model(f, f->wrs++);
	return wr;
}

static u32 random_len(struct flow *f)
{
	struct sim_rand *r = &f->s->rand;
	u32 pmtu = f->from->c.attrs.pmtu, len;

	switch (sim_below(r, 4)) {
	case 0:
		len = sim_below(r, 5);
		break;
	case 1:
		len = pmtu * sim_between(r, 1, 4) + sim_below(r, 3) - 1;
		break;
	case 2:
		len = sim_below(r, 2 * pmtu);
		break;
	default:
		len = sim_below(r, f->cfg.max_len);
	}
	return min3(len, f->cfg.max_len, f->cfg.area);
}

static u8 random_op(struct flow *f)
{
	u8 op;

	do {
		op = sim_below(&f->s->rand, FLOW_OPCODES);
	} while (!(f->cfg.ops & 1 << op));
	return op;
}

void flow_random(struct flow *f)
{
	while (f->wrs < f->cfg.wrs)
		flow_add(f, random_op(f), random_len(f));
	f->wr[f->wrs - 1].flags |= CAIRN_WQE_SIGNALED;
}

/*
 * Posting.
 */

static u32 to_sges(const struct sim_mr *mr, const struct flow_list *l,
		   struct cairn_sge *sge)
{
	u32 i;

	for (i = 0; i < l->n; i++)
		sge[i] = sim_sge(mr, l->piece[i].off, l->piece[i].len);
	return l->n;
}

static bool post_send(struct flow *f, u32 i)
{
	struct flow_wr *wr = &f->wr[i];
	bool reads = wr->opcode == CAIRN_WQE_READ || is_atomic(wr->opcode);
	struct cairn_sge sge[CAIRN_MAX_SGE];
	struct sim_wr w = {
		.wr_id = i,
		.opcode = wr->opcode,
		.flags = wr->flags,
		.sge = sge,
		.num_sge = to_sges(reads ? f->dst : f->src, &wr->local, sge),
		.imm_or_key = wr->imm,
		.remote_addr = f->target->va + wr->roff,
		.rkey = f->target->key,
		.compare_add = wr->compare_add,
		.swap = wr->swap,
		.inl = wr->data,
		.inline_len = wr->len,
	};

	/* the key of an empty request is not checked */
	if (!wr->len && sim_chance(&f->s->rand, 500)) {
		w.rkey = (u32)sim_rand(&f->s->rand);
		w.remote_addr = sim_rand(&f->s->rand);
	}
	if (!sim_queue_send(f->from, &w))
		return false;
	wr->end = f->from->sq_tail;
	return true;
}

static bool post_recv(struct flow *f, u32 i)
{
	struct cairn_sge sge[CAIRN_MAX_SGE];
	u32 n = to_sges(f->rbuf, &f->recv[i].list, sge);

	return sim_queue_recv(f->to->rq, i, sge, n);
}

/* An unreliable connection does not retransmit a message that finds no receive. */
static bool receiver_ready(const struct flow *f, u32 i)
{
	const struct flow_wr *wr = &f->wr[i];

	return f->from->c.transport == CAIRN_TRANSPORT_RC ||
	       wr->recv == FLOW_NONE || wr->recv < f->recv_posted;
}

/* One round of the host: post a random number of requests that fit. */
static void pump(struct sim *s, void *arg)
{
	struct flow *f = arg;
	u32 burst = 1 + sim_below(&s->rand, 16);
	bool any = false;

	if (!sim_chance(&s->rand, f->cfg.starve)) {
		while (f->recv_posted < f->recvs &&
		       f->recv_posted - f->recv_done < f->cfg.recv_ahead &&
		       post_recv(f, f->recv_posted))
			f->recv_posted++;
	}
	while (f->posted < f->wrs && burst-- && receiver_ready(f, f->posted) &&
	       post_send(f, f->posted)) {
		f->posted++;
		any = true;
	}
	if (any)
		sim_doorbell(f->from);
	/* the engine may be run without a reason */
	if (sim_chance(&s->rand, 200))
		sim_turn(sim_chance(&s->rand, 500) ? f->from : f->to,
			 sim_below(&s->rand, CAIRN_SIDES));
	if (f->posted < f->wrs || f->recv_posted < f->recvs)
		sim_at(s, s->now + 1 + sim_below(&s->rand, f->cfg.round_ns),
		       pump, f);
}

static struct sim_mr *image_of(struct flow *f, u32 host, u32 len, u8 **image)
{
	struct sim_mr *mr = sim_mr(f->s, host, len + 16,
				   1 << CAIRN_ACCESS_LOCAL_WRITE);

	*image = malloc(mr->len);
	memcpy(*image, mr->mem, mr->len);
	return mr;
}

void flow_start(struct flow *f)
{
	f->started = true;
	f->ssn0 = f->from->c.req.ssn;
	f->probe = FLOW_NONE;
	f->dst = image_of(f, f->from->host, f->dst_len, &f->dst_image);
	f->rbuf = image_of(f, f->to->host, f->rbuf_len, &f->rbuf_image);
	pump(f->s, f);
}

bool flow_done(const struct flow *f)
{
	return f->completed == f->wrs && f->recv_done == f->recvs;
}

void flow_run(struct flow **f, u32 n)
{
	struct sim *s = f[0]->s;
	u32 i;

	for (i = 0; i < n; i++)
		flow_start(f[i]);
	if (!sim_run(s, RUN_LIMIT))
		sim_fail(s, "not at rest after an hour");
	for (i = 0; i < n; i++) {
		flow_check(f[i]);
		flow_free(f[i]);
	}
}
