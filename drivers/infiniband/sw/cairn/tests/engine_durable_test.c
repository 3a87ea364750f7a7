// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Durability as an invariant: random programs write to memory of every kind, on bad
 * networks, with a slow host. Each request has a private range, so that the shadow image
 * always tells whether it is durable. The oracle knows PSNs and ranges and does not ask
 * the engine:
 *
 *   an answer of the target: all data that it acknowledges is durable.
 *   a completion at the initiator: its persistence ACK has arrived.
 *   a crash after any step: all acknowledged data is kept.
 *
 * Runs move from CPU to CPU, PSNs wrap, and caches evict lines and single words before
 * they are written back.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine.h"

#define MAX_WRS		80
#define AREA		(1 << 18)

enum kind { NIC, HOST, PLAIN, KINDS };

struct request {
	u8 opcode, flags, kind;
	u32 off, len;		/* in every region, and in the source */
	u32 first, last;	/* relative PSNs */
	bool completed, told;
};

struct program {
	struct sim *s;
	struct sim_qp *a, *b;
	struct sim_mr *src, *results, *dst[KINDS];
	struct request wr[MAX_WRS];
	u32 wrs, posted, completed, told, recvs, psns;
	s32 seen;		/* highest persistence ACK that arrived */
	s32 persist_acked;	/* ... that left */
	s32 acked;		/* highest ordinary ACK that left */
	u32 images;
	u16 fail;		/* per mille: the host fails */
	u16 abuse;		/* per mille: wrong tokens */
	bool failed;		/* an error is in order */
	u64 old_token;
};

static bool persists(const struct request *w)
{
	return w->opcode == CAIRN_WQE_WRITE_PERSIST;
}

static bool early(const struct request *w)
{
	return w->flags & CAIRN_WQE_EARLY;
}

static bool is_durable(const struct program *p, const struct request *w)
{
	return !memcmp(p->dst[w->kind]->shadow + w->off,
		       p->src->mem + w->off, w->len);
}

/* Everything into persistent memory that ends at or before @psn. */
static void all_durable(struct program *p, s32 psn, bool persist, bool plain,
			const char *what)
{
	u32 i;

	for (i = 0; i < p->posted; i++) {
		struct request *w = &p->wr[i];

		if ((s32)w->last > psn || w->kind == PLAIN ||
		    w->opcode == CAIRN_WQE_SEND || w->opcode == CAIRN_WQE_READ)
			continue;
		if ((persists(w) ? persist : plain) && !is_durable(p, w))
			sim_fail(p->s, "%s, PSN %d: request %u (op %u) is not durable",
				 what, psn, i, w->opcode);
	}
}

static enum sim_fate on_emit(struct sim_qp *qp, enum cairn_side_id side,
			     const struct cairn_pkt *pkt)
{
	struct program *p = qp->hooks.arg;
	s32 psn = cairn_psn_diff(pkt->psn, p->a->psn);
	bool ack = (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_ACK;

	if (qp != p->b || side != CAIRN_RESP)
		return SIM_PASS;
	switch (pkt->op->kind) {
	case CAIRN_KIND_PERSIST_ACK:
		p->persist_acked = max(p->persist_acked, ack ? psn : psn - 1);
		all_durable(p, ack ? psn : psn - 1, true, true,
			    "a PERSIST ACK leaves");
		break;
	case CAIRN_KIND_ACK:
		p->acked = max(p->acked, ack ? psn : psn - 1);
		all_durable(p, ack ? psn : psn - 1, false, true,
			    "an ACK leaves");
		break;
	default:
		all_durable(p, psn - 1, false, true, "a response leaves");
	}
	return SIM_PASS;
}

/* A crash after this step, at which the image has changed: is all in it that
 * was acknowledged by then?
 */
static void crash(struct sim *s, void *arg)
{
	struct program *p = arg;

	if (p->images == s->images)
		return;
	p->images = s->images;
	all_durable(p, p->persist_acked, true, true, "a crash");
	all_durable(p, p->acked, false, true, "a crash");
}

static void on_rx(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	struct program *p = qp->hooks.arg;
	s32 psn = cairn_psn_diff(pkt->psn, p->a->psn);

	if (qp != p->a || pkt->op->kind != CAIRN_KIND_PERSIST_ACK)
		return;
	if ((pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_ACK)
		psn--;		/* says so of those before */
	p->seen = max(p->seen, psn);
}

static void check_durable(struct program *p, struct request *w)
{
	if (p->seen < (s32)w->last)
		sim_fail(p->s, "request %ld is told durable before its ACK",
			 (long)(w - p->wr));
	if (!is_durable(p, w))
		sim_fail(p->s, "request %ld is told durable and is not",
			 (long)(w - p->wr));
}

static void on_send_cqe(struct program *p, const struct cairn_cqe *c)
{
	struct request *w = &p->wr[p->completed];

	if (c->wr_id != p->completed++)
		sim_fail(p->s, "completion of %llu, expected %u",
			 (unsigned long long)c->wr_id, p->completed - 1);
	if (c->status) {
		if (!p->failed)
			sim_fail(p->s, "request %llu: status %u",
				 (unsigned long long)c->wr_id, c->status);
		return;
	}
	w->completed = true;
	if (persists(w) && !early(w))
		check_durable(p, w);
	if (w->opcode == CAIRN_WQE_WRITE && w->kind != PLAIN &&
	    !is_durable(p, w))
		sim_fail(p->s, "WRITE %llu complete and not durable",
			 (unsigned long long)c->wr_id);
}

/* Early mode: the next one in order. */
static void on_told(struct program *p, const struct cairn_cqe *c)
{
	struct request *w;

	if (c->status) {
		if (!p->failed)
			sim_fail(p->s, "durable completion with status %u",
				 c->status);
		return;
	}
	while (p->told < p->posted && !early(&p->wr[p->told]))
		p->told++;
	w = &p->wr[p->told++];
	if (c->opcode != CAIRN_CQE_RECV_DURABLE || !w->completed ||
	    cairn_psn_diff(c->psn, p->a->psn) != (s32)w->last ||
	    c->persist_va != p->dst[w->kind]->va + w->off)
		sim_fail(p->s, "durable completion of request %u is wrong",
			 p->told - 1);
	check_durable(p, w);
}

/* The host at the target. */
struct job {
	struct program *p;
	struct cairn_cqe cqe;
};

static void abuse(struct program *p, u64 token)
{
	u64 wrong[] = { token ^ 1, token + (1ULL << 32), 0, p->old_token };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		if (sim_release(p->b, wrong[i], 0) != -ENOENT)
			sim_fail(p->s, "a wrong token is taken");
}

static void flush_done(struct sim *s, void *arg)
{
	struct job *j = arg;
	struct program *p = j->p;
	const struct cairn_cqe *c = &j->cqe;
	bool fails = sim_chance(&s->rand, p->fail);
	int err;

	if (sim_chance(&s->rand, p->abuse))
		abuse(p, c->persist_token);
	if (!fails)
		sim_make_durable(s, p->dst[HOST],
				 c->persist_va - p->dst[HOST]->va, c->byte_len);
	p->failed |= fails;
	err = sim_release(p->b, c->persist_token, fails ? EIO : 0);
	if (err && !p->failed)
		sim_fail(s, "a token is refused");
	p->old_token = c->persist_token;
	free(j);
}

static void on_asked(struct program *p, const struct cairn_cqe *c)
{
	struct job *j = malloc(sizeof(*j));
	u64 delay = sim_below(&p->s->rand, 200 * SIM_US);
	u32 i;

	/* some very long */
	if (sim_chance(&p->s->rand, 50))
		delay *= 500;
	for (i = 0; i < p->posted; i++)
		if (cairn_psn_add(p->a->psn, p->wr[i].last) == c->psn)
			break;
	if (i == p->posted || p->wr[i].kind != HOST ||
	    c->persist_va != p->dst[HOST]->va + p->wr[i].off ||
	    c->byte_len != p->wr[i].len)
		sim_fail(p->s, "the host is asked to flush a range that was not written");
	else if (p->wr[i].told && !early(&p->wr[i]))
		sim_fail(p->s, "the host is asked twice");
	*j = (struct job){ p, *c };
	sim_at_drop(p->s, p->s->now + delay, flush_done, free, j);
}

static void on_cqe(struct sim_qp *qp, enum cairn_side_id side,
		   const struct cairn_cqe *c)
{
	struct program *p = qp->hooks.arg;

	if (side == CAIRN_REQ)
		on_send_cqe(p, c);
	else if (qp == p->a)
		on_told(p, c);
	else if (c->opcode == CAIRN_CQE_RECV_PERSIST)
		on_asked(p, c);
}

static void add_request(struct program *p)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE_PERSIST,
				  CAIRN_WQE_WRITE_PERSIST,
				  CAIRN_WQE_WRITE_PERSIST, CAIRN_WQE_WRITE,
				  CAIRN_WQE_WRITE, CAIRN_WQE_SEND,
				  CAIRN_WQE_READ };
	struct sim_rand *r = &p->s->rand;
	struct request *w = &p->wr[p->wrs];
	u32 end = p->wrs ? w[-1].off + w[-1].len : 0;
	u32 pmtu = p->a->c.attrs.pmtu;

	w->opcode = ops[sim_below(r, ARRAY_SIZE(ops))];
	w->kind = sim_below(r, persists(w) ? PLAIN : KINDS);
	w->off = end + sim_below(r, 100);
	w->len = sim_between(r, 1, sim_chance(r, 300) && end < AREA / 2 ?
			     4 * pmtu : 100);
	w->flags = CAIRN_WQE_SIGNALED;
	if (persists(w) && sim_chance(r, 400))
		w->flags |= CAIRN_WQE_EARLY;
	if (sim_chance(r, 100))
		w->flags |= CAIRN_WQE_FENCE;
	w->first = p->psns;
	p->psns += (w->len - 1) / pmtu + 1;
	w->last = p->psns - 1;
	p->wrs++;
}

static bool post(struct program *p, u32 i)
{
	const struct request *w = &p->wr[i];
	struct cairn_sge sge = sim_sge(w->opcode == CAIRN_WQE_READ ?
				       p->results : p->src, w->off, w->len);
	struct sim_wr wr = {
		.wr_id = i,
		.opcode = w->opcode,
		.flags = w->flags,
		.sge = &sge,
		.num_sge = 1,
		.remote_addr = p->dst[w->kind]->va + w->off,
		.rkey = p->dst[w->kind]->key,
	};

	return sim_queue_send(p->a, &wr);
}

static void pump(struct sim *s, void *arg)
{
	struct program *p = arg;
	u32 burst = sim_between(&s->rand, 1, 8);
	struct cairn_sge sge = sim_sge(p->dst[PLAIN], AREA, AREA);

	while (burst-- && p->posted < p->wrs && post(p, p->posted))
		p->posted++;
	sim_doorbell(p->a);
	while (p->recvs < 2 * MAX_WRS && sim_chance(&s->rand, 800)) {
		if (!sim_queue_recv(p->a->rq, p->recvs, NULL, 0) ||
		    !sim_queue_recv(p->b->rq, p->recvs, &sge, 1))
			break;
		p->recvs++;
	}
	if (sim_chance(&s->rand, 200))
		sim_turn(sim_chance(&s->rand, 500) ? p->a : p->b,
			 sim_below(&s->rand, CAIRN_SIDES));
	if (p->posted < p->wrs || p->recvs < 2 * MAX_WRS)
		sim_at(s, s->now + 1 + sim_below(&s->rand, 20 * SIM_US), pump,
		       p);
}

static void watch_qp(struct program *p, struct sim_qp *qp)
{
	qp->hooks = (struct sim_hooks){
		.arg = p, .cqe = on_cqe, .emit = on_emit, .rx = on_rx,
	};
}

static void set_up(struct program *p, u64 seed, const struct sim_faults *faults)
{
	static const u16 pmtus[] = { 256, 1024, 4096 };
	struct sim_qp_init init = sim_rc;
	struct cairn_qp_attrs attrs = sim_attrs;
	struct pair pair;

	init.sq_depth = 64;
	init.rq_depth = 512;
	attrs.pmtu = pmtus[seed % ARRAY_SIZE(pmtus)];
	/* plain WRITEs with host flush get no answer for long */
	attrs.timeout = 12 + seed % 4;
	/* they wrap somewhere in the program */
	pair = pair_near(seed, &init, &attrs, MAX_WRS, seed % 2);
	p->s = pair.s;
	p->a = pair.a;
	p->b = pair.b;
	p->s->faults = *faults;
	p->s->budget = seed % 3 ? 64 : 0;
	p->s->evict = 300;
	p->s->stepped = crash;
	p->s->stepped_arg = p;
	p->seen = -1;
	p->persist_acked = -1;
	p->acked = -1;
	p->src = sim_mr(p->s, 0, AREA, SIM_LOCAL);
	p->results = sim_mr(p->s, 0, AREA, SIM_LOCAL);
	p->dst[NIC] = sim_mr_persistent(p->s, 1, AREA, SIM_ALL,
					CAIRN_PERSIST_NIC);
	p->dst[HOST] = sim_mr_persistent(p->s, 1, AREA, SIM_ALL,
					 CAIRN_PERSIST_HOST);
	p->dst[PLAIN] = sim_mr(p->s, 1, 2 * AREA, SIM_ALL);
	watch_qp(p, p->a);
	watch_qp(p, p->b);
}

static void finish(struct program *p)
{
	u32 i;

	if (!sim_run(p->s, 3600 * SIM_SEC))
		sim_fail(p->s, "not at rest after an hour");
	if (p->failed) {
		ktap_eq(p->a->c.state, CAIRN_QP_ERR);
		ktap_eq(p->completed, p->wrs);
	} else if (!p->s->failures) {
		ktap_eq(p->completed, p->wrs);
		for (i = 0; i < p->wrs; i++)
			if (early(&p->wr[i]) && i >= p->told)
				ktap_fail("request %u was never told durable",
					  i);
		all_durable(p, p->psns, true, true, "the end");
	}
	sim_end(p->s);
}

static void run_seed(u64 seed, const struct sim_faults *faults, u16 fail)
{
	static struct program p;

	memset(&p, 0, sizeof(p));
	set_up(&p, seed, faults);
	p.fail = fail;
	p.abuse = 300;
	while (p.wrs < MAX_WRS)
		add_request(&p);
	pump(p.s, &p);
	finish(&p);
}

static void a_good_network(void)
{
	for_seeds(seed, 60)
		run_seed(seed, &(struct sim_faults){ .split = 200 }, 0);
}

static void loss(void)
{
	for_seeds(seed, 120)
		run_seed(seed, &(struct sim_faults){ .loss = 50, .split = 200 },
			 0);
}

static void duplication(void)
{
	for_seeds(seed, 80)
		run_seed(seed, &(struct sim_faults){ .dup = 200, .split = 200,
						     .late_ns = 500000 }, 0);
}

static void reordering(void)
{
	for_seeds(seed, 80)
		run_seed(seed, &(struct sim_faults){ .late = 100, .split = 300,
						     .late_ns = 100000 }, 0);
}

static void all_at_once(void)
{
	for_seeds(seed, 120)
		run_seed(seed, &(struct sim_faults){ .loss = 30, .dup = 50,
						     .late = 50, .corrupt = 10,
						     .split = 300,
						     .late_ns = 100000 }, 0);
}

static void a_host_that_fails(void)
{
	for_seeds(seed, 120)
		run_seed(seed, &(struct sim_faults){ .loss = 20, .dup = 50,
						     .late = 50, .split = 300,
						     .late_ns = 100000 }, 50);
}

static const struct ktap_test tests[] = {
	KTAP(a_good_network),
	KTAP(loss),
	KTAP(duplication),
	KTAP(reordering),
	KTAP(all_at_once),
	KTAP(a_host_that_fails),
};

KTAP_MAIN(tests)
