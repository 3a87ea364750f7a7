// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Durability as an invariant: random programs write to memory of every kind, on bad
 * networks, with a slow host. Each request has a private range, so that the shadow image
 * always tells whether it is durable. The oracle knows PSNs and ranges and does not ask
 * the engine:
 *
 *   an answer of the target: all data that it acknowledges is durable, and its MSN
 *	counts no plain WRITE that is not.
 *   a completion at the initiator: its persistence ACK has arrived, and the kind that
 *	it names is that of the region or a weaker one that was written before.
 *   the end of the connection: the durable completions that could be posted came first.
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

/* Regions: a persistent one has the durability of its number plus one. */
enum kind { EADR, ADR, HOST, EMULATED, PLAIN, KINDS };

struct request {
	u8 opcode, flags, kind;
	u32 off, len;		/* in every region, and in the source */
	u32 first, last;	/* relative PSNs */
	bool arrived;		/* its last packet, at the target */
	bool completed, told;
};

struct program {
	struct sim *s;
	struct sim_qp *a, *b;
	struct sim_mr *src, *results, *dst[KINDS];
	struct request wr[MAX_WRS];
	u32 from[PLAIN];	/* the first request that may write there */
	u32 wrs, posted, completed, told, psns;
	u32 recvs[2];		/* posted at the initiator and at the target */
	u32 err_recvs;		/* of the initiator's, before it failed */
	u64 drip_ns;		/* longest time between its receives; 0: all at once */
	bool strangers;
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

/* Requests that end at or before @psn. */
static u32 requests_to(const struct program *p, s32 psn)
{
	u32 n = 0;

	while (n < p->posted && (s32)p->wr[n].last <= psn)
		n++;
	return n;
}

/* A requester may complete by MSN alone: it counts what has arrived and, of plain WRITEs
 * into persistent memory, what is durable. @acked: the PSN that the answer acknowledges.
 */
static void check_msn(struct program *p, const struct cairn_pkt *pkt, s32 acked)
{
	u32 i, least = requests_to(p, acked);
	bool exact = pkt->op->kind == CAIRN_KIND_PERSIST_ACK &&
		     (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_ACK;

	if (pkt->msn < least || (exact && pkt->msn != least))
		sim_fail(p->s, "%s of PSN %d: MSN %u, not %u", pkt->op->name,
			 acked, pkt->msn, least);
	for (i = 0; i < pkt->msn; i++) {
		struct request *w = &p->wr[i];

		if (i >= p->posted || !w->arrived)
			sim_fail(p->s, "MSN %u counts request %u, which is not here",
				 pkt->msn, i);
		else if (w->opcode == CAIRN_WQE_WRITE && w->kind != PLAIN &&
			 !is_durable(p, w))
			sim_fail(p->s, "MSN %u counts request %u, which is not durable",
				 pkt->msn, i);
	}
}

static enum sim_fate on_emit(struct sim_qp *qp, enum cairn_side_id side,
			     const struct cairn_pkt *pkt)
{
	struct program *p = qp->hooks.arg;
	s32 psn = cairn_psn_diff(pkt->psn, p->a->psn);
	bool ack = (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_ACK;
	bool response = pkt->op->kind != CAIRN_KIND_PERSIST_ACK &&
			pkt->op->kind != CAIRN_KIND_ACK;

	if (qp != p->b || side != CAIRN_RESP)
		return SIM_PASS;
	if (pkt->op->hdrs & CAIRN_HDR_AETH)
		check_msn(p, pkt, ack && !response ? psn : psn - 1);
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

	if (p->a->c.state != CAIRN_QP_ERR)
		p->err_recvs = p->recvs[0];
	if (p->images == s->images)
		return;
	p->images = s->images;
	all_durable(p, p->persist_acked, true, true, "a crash");
	all_durable(p, p->acked, false, true, "a crash");
}

static void note_arrival(struct program *p, s32 psn)
{
	u32 i;

	for (i = 0; i < p->posted; i++) {
		struct request *w = &p->wr[i];

		if (psn == (s32)w->last ||
		    (w->opcode == CAIRN_WQE_READ && psn >= (s32)w->first &&
		     psn < (s32)w->last))
			w->arrived = true;
	}
}

static void on_rx(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	struct program *p = qp->hooks.arg;
	s32 psn = cairn_psn_diff(pkt->psn, p->a->psn);

	if (qp == p->b)
		note_arrival(p, psn);
	if (qp != p->a || pkt->op->kind != CAIRN_KIND_PERSIST_ACK)
		return;
	if ((pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_ACK)
		psn--;		/* says so of those before */
	p->seen = max(p->seen, psn);
}

/* The weakest of what was written up to @w, or of what came behind it. */
static void check_kind(struct program *p, const struct request *w, u8 durability)
{
	u32 i, least = 0, most = 0;

	for (i = 0; i < p->posted; i++) {
		if (!persists(&p->wr[i]))
			continue;
		if (&p->wr[i] <= w)
			least = max(least, p->wr[i].kind + 1u);
		if (p->wr[i].arrived)
			most = max(most, p->wr[i].kind + 1u);
	}
	if (durability < least || durability > most)
		sim_fail(p->s, "request %ld: durability %u, not %u to %u",
			 (long)(w - p->wr), durability, least, most);
}

static void check_durable(struct program *p, struct request *w, u8 durability)
{
	check_kind(p, w, durability);
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
		if (!p->failed || c->durability)
			sim_fail(p->s, "request %llu: status %u durability %u",
				 (unsigned long long)c->wr_id, c->status,
				 c->durability);
		return;
	}
	w->completed = true;
	if (persists(w) && !early(w))
		check_durable(p, w, c->durability);
	else if (c->durability)
		sim_fail(p->s, "request %llu: durability %u, when received",
			 (unsigned long long)c->wr_id, c->durability);
	if (w->opcode == CAIRN_WQE_WRITE && w->kind != PLAIN &&
	    !is_durable(p, w))
		sim_fail(p->s, "WRITE %llu complete and not durable",
			 (unsigned long long)c->wr_id);
}

/* The next message of early mode that has no durable completion, or NULL. */
static struct request *next_told(struct program *p)
{
	while (p->told < p->posted && !early(&p->wr[p->told]))
		p->told++;
	return p->told < p->posted ? &p->wr[p->told] : NULL;
}

/* The connection has failed: a receive fails or is flushed, and nothing that was known
 * to be durable has missed it. A peer whose port is unknown may not be heard.
 */
static void check_told_first(struct program *p, const struct cairn_cqe *c)
{
	const struct request *w = next_told(p);

	if (!p->failed)
		sim_fail(p->s, "receive %llu has status %u",
			 (unsigned long long)c->wr_id, c->status);
	if (w && w->completed && p->seen >= (s32)w->last && !p->strangers &&
	    c->wr_id < p->err_recvs)
		sim_fail(p->s, "request %ld was durable, and receive %llu has status %u",
			 (long)(w - p->wr), (unsigned long long)c->wr_id,
			 c->status);
	if (c->opcode == CAIRN_CQE_RECV_DURABLE &&
	    (!w || !w->completed || c->durability ||
	     cairn_psn_diff(c->psn, p->a->psn) != (s32)w->last))
		sim_fail(p->s, "a failed durable completion is not that of the oldest");
}

/* Early mode: the next one in order. */
static void on_told(struct program *p, const struct cairn_cqe *c)
{
	struct request *w;

	if (c->status) {
		check_told_first(p, c);
		return;
	}
	w = next_told(p);
	if (!w || c->opcode != CAIRN_CQE_RECV_DURABLE || !w->completed ||
	    cairn_psn_diff(c->psn, p->a->psn) != (s32)w->last ||
	    c->persist_va != p->dst[w->kind]->va + w->off) {
		sim_fail(p->s, "durable completion of request %u is wrong",
			 p->told);
		return;
	}
	p->told++;
	check_durable(p, w, c->durability);
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
	if (w->kind < PLAIN && p->wrs < p->from[w->kind])
		w->kind = EADR;
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

/* Post a receive at the initiator (@end 0) or the target. */
static bool post_recv(struct program *p, u32 end)
{
	struct cairn_sge sge = sim_sge(p->dst[PLAIN], AREA, AREA);
	struct sim_qp *qp = end ? p->b : p->a;

	if (p->recvs[end] == 2 * MAX_WRS ||
	    !sim_queue_recv(qp->rq, p->recvs[end], &sge, end))
		return false;
	p->recvs[end]++;
	return true;
}

/* Few receives for durable completions: some of those wait. */
static void drip(struct sim *s, void *arg)
{
	struct program *p = arg;

	if (p->a->c.state != CAIRN_QP_ERR && post_recv(p, 0))
		sim_at(s, s->now + 1 + sim_below(&s->rand, p->drip_ns), drip, p);
}

static void pump(struct sim *s, void *arg)
{
	struct program *p = arg;
	u32 burst = sim_between(&s->rand, 1, 8);

	while (burst-- && p->posted < p->wrs && post(p, p->posted))
		p->posted++;
	sim_doorbell(p->a);
	while (sim_chance(&s->rand, 800) && post_recv(p, 1) &&
	       (p->drip_ns || post_recv(p, 0)))
		;
	if (sim_chance(&s->rand, 200))
		sim_turn(sim_chance(&s->rand, 500) ? p->a : p->b,
			 sim_below(&s->rand, CAIRN_SIDES));
	if (p->posted < p->wrs || p->recvs[1] < 2 * MAX_WRS)
		sim_at(s, s->now + 1 + sim_below(&s->rand, 20 * SIM_US), pump,
		       p);
}

static void watch_qp(struct program *p, struct sim_qp *qp)
{
	qp->hooks = (struct sim_hooks){
		.arg = p, .cqe = on_cqe, .emit = on_emit, .rx = on_rx,
	};
}

/* Weaker kinds come later, so that an answer is the first to name one. */
static void set_up_regions(struct program *p)
{
	struct sim_rand *r = &p->s->rand;
	u32 i;

	p->src = sim_mr(p->s, 0, AREA, SIM_LOCAL);
	p->results = sim_mr(p->s, 0, AREA, SIM_LOCAL);
	p->dst[PLAIN] = sim_mr(p->s, 1, 2 * AREA, SIM_ALL);
	for (i = 0; i < PLAIN; i++) {
		p->dst[i] = sim_mr_persistent(p->s, 1, AREA, SIM_ALL,
					      cairn_persist_method(i + 1));
		p->dst[i]->durability = i + 1;
		p->from[i] = sim_chance(r, 500) ? 0 : sim_below(r, MAX_WRS / 2);
	}
}

static void set_up(struct program *p, u64 seed, const struct sim_faults *faults,
		   const struct cairn_qp_attrs *attrs)
{
	struct sim_qp_init init = sim_rc;
	struct pair pair;

	init.sq_depth = 64;
	init.rq_depth = 512;
	/* they wrap somewhere in the program */
	p->strangers = seed % 2;
	pair = pair_near(seed, &init, attrs, MAX_WRS, p->strangers);
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
	set_up_regions(p);
	if (sim_chance(&p->s->rand, 400))
		p->drip_ns = SIM_US << sim_below(&p->s->rand, 13);
	watch_qp(p, p->a);
	watch_qp(p, p->b);
}

static void finish(struct program *p)
{
	u32 i;

	if (!sim_run(p->s, 3600 * SIM_SEC))
		sim_fail(p->s, "not at rest after an hour");
	/* a target that dies when all is done is not missed */
	if (p->failed && !(p->s->dead[1] && p->a->c.state == CAIRN_QP_RTS)) {
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

static struct program *run_begin(u64 seed, const struct sim_faults *faults,
				 const struct cairn_qp_attrs *attrs)
{
	static struct program p;

	memset(&p, 0, sizeof(p));
	set_up(&p, seed, faults, attrs);
	p.abuse = 300;
	while (p.wrs < MAX_WRS)
		add_request(&p);
	pump(p.s, &p);
	if (p.drip_ns)
		drip(p.s, &p);
	return &p;
}

static struct cairn_qp_attrs run_attrs(u64 seed)
{
	static const u16 pmtus[] = { 256, 1024, 4096 };
	struct cairn_qp_attrs attrs = sim_attrs;

	attrs.pmtu = pmtus[seed % ARRAY_SIZE(pmtus)];
	/* plain WRITEs with host flush get no answer for long */
	attrs.timeout = 12 + seed % 4;
	return attrs;
}

static void run_seed(u64 seed, const struct sim_faults *faults, u16 fail)
{
	struct cairn_qp_attrs attrs = run_attrs(seed);
	struct program *p = run_begin(seed, faults, &attrs);

	p->fail = fail;
	finish(p);
}

static void die(struct sim *s, void *arg)
{
	struct program *p = arg;

	s->dead[1] = true;
	p->failed = true;
}

/* The target dies. Few retries, so that the end comes while receives are posted. */
static void run_to_death(u64 seed, const struct sim_faults *faults)
{
	struct cairn_qp_attrs attrs = run_attrs(seed);
	struct program *p;

	attrs.timeout = 8 + seed % 3;
	attrs.retry_cnt = seed % 2;
	p = run_begin(seed, faults, &attrs);
	p->failed = true;
	sim_at(p->s, p->s->now + sim_below(&p->s->rand, 500 * SIM_US), die, p);
	finish(p);
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

/* Each failure is early or late, and what was said before it may be lost. */
static void a_host_that_fails_and_loss(void)
{
	for_seeds(seed, 200)
		run_seed(seed, &(struct sim_faults){ .loss = 100, .split = 300 },
			 seed % 4 * 100 + 50);
}

/* Nothing is lost, and the host is slower than all retries of a plain peer. */
static void a_slow_host_and_short_timeouts(void)
{
	for_seeds(seed, 100) {
		struct cairn_qp_attrs attrs = run_attrs(seed);

		attrs.timeout = 8 + seed % 3;
		attrs.retry_cnt = 2 + seed % 3;
		finish(run_begin(seed, &(struct sim_faults){
			.dup = 20, .split = 300, .late_ns = 50000 }, &attrs));
	}
}

static void a_target_that_dies(void)
{
	for_seeds(seed, 200)
		run_to_death(seed, &(struct sim_faults){ .dup = 20, .split = 300,
							 .late_ns = 100000 });
}

static const struct ktap_test tests[] = {
	KTAP(a_good_network),
	KTAP(loss),
	KTAP(duplication),
	KTAP(reordering),
	KTAP(all_at_once),
	KTAP(a_host_that_fails),
	KTAP(a_host_that_fails_and_loss),
	KTAP(a_slow_host_and_short_timeouts),
	KTAP(a_target_that_dies),
};

KTAP_MAIN(tests)
