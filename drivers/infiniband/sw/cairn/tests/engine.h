/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Set-up that the engine's test programs share. */
#ifndef CAIRN_TESTS_ENGINE_H
#define CAIRN_TESTS_ENGINE_H

#include "sim/flow.h"
#include "ktap.h"

/* Run the body once for each seed; CAIRN_SEED and SEEDS in the environment
 * choose others. Stops at the first that fails.
 */
#define for_seeds(seed, normally)					\
	for (u64 seed = sim_first_seed(), end_ = seed + sim_seeds(normally); \
	     seed != end_ && !ktap.failures; seed++)

#define sim_new(seed)	sim_new_at(ktap.name, seed)

/* End of a world: report what it found, free it. */
#define sim_end(s)	sim_end_at(__FILE__, __LINE__, s)

static inline void sim_end_at(const char *file, int line, struct sim *sim)
{
	static u32 reported;

	if (!ktap.failures)
		reported = 0;
	if (sim->failures)
		ktap_fail_at(file, line, "%s", sim->why);
	if (ktap.failures && !reported++)
		ktap_diag("repeat with: %s", sim_repeat());
	sim_free(sim);
}

/* Two hosts with a connected QP each. */
struct pair {
	struct sim *s;
	struct sim_qp *a, *b;
};

/* The PSNs wrap within @wrap packets, or begin anywhere (0). */
static inline struct pair pair_near(u64 seed, const struct sim_qp_init *init,
				    const struct cairn_qp_attrs *attrs,
				    u32 wrap, bool strangers)
{
	struct pair pair;

	pair.s = sim_new(seed);
	pair.s->wrap_within = wrap;
	pair.s->strangers = strangers;
	pair.a = sim_qp(pair.s, 0, init);
	pair.b = sim_qp(pair.s, 1, init);
	sim_connect(pair.a, pair.b, attrs);
	return pair;
}

static inline struct pair pair_with(u64 seed, const struct sim_qp_init *init,
				    const struct cairn_qp_attrs *attrs)
{
	return pair_near(seed, init, attrs, 0, false);
}

/* Every other seed begins as a connection does: no port is known. */
static inline struct pair pair_fresh(u64 seed, const struct sim_qp_init *init,
				     const struct cairn_qp_attrs *attrs)
{
	return pair_near(seed, init, attrs, 0, seed % 2);
}

static inline struct pair pair_new(u64 seed, const struct sim_qp_init *init,
				   u16 pmtu)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct pair pair;

	attrs.pmtu = pmtu;
	pair = pair_with(seed, init, &attrs);
	pair.s->lane = 300;
	return pair;
}

/*
 * For tests that say what is posted, one by one: a pair with one region of
 * RIG_LEN bytes at each end that allows everything.
 */
#define RIG_LEN		65536

struct rig {
	struct sim *s;
	struct sim_qp *a, *b;
	struct sim_mr *ma, *mb;
};

static inline struct rig rig_of(struct pair pair)
{
	pair.s->record = true;
	return (struct rig){
		.s = pair.s,
		.a = pair.a,
		.b = pair.b,
		.ma = sim_mr(pair.s, 0, RIG_LEN, SIM_ALL),
		.mb = sim_mr(pair.s, 1, RIG_LEN, SIM_ALL),
	};
}

static inline struct rig rig_with(u64 seed, const struct sim_qp_init *init,
				  const struct cairn_qp_attrs *attrs)
{
	return rig_of(pair_with(seed, init, attrs));
}

static inline struct rig rig_new(u64 seed)
{
	return rig_with(seed, &sim_rc, &sim_attrs);
}

/* A work request of @len bytes at offset 0 of both regions, signaled. */
static inline struct sim_wr rig_wr(const struct rig *rig, struct cairn_sge *sge,
				   u8 opcode, u32 len)
{
	*sge = sim_sge(rig->ma, 0, len);
	return (struct sim_wr){
		.opcode = opcode,
		.flags = CAIRN_WQE_SIGNALED,
		.sge = sge,
		.num_sge = 1,
		.remote_addr = rig->mb->va,
		.rkey = rig->mb->key,
		.compare_add = 1,
	};
}

/* Post it from a to b with number @wr_id. */
static inline void rig_send(const struct rig *rig, u64 wr_id, u8 opcode, u32 len)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, opcode, len);

	wr.wr_id = wr_id;
	sim_post_send(rig->a, &wr);
}

/* Post a receive at b. */
static inline void rig_recv(const struct rig *rig, u64 wr_id, u32 len)
{
	struct cairn_sge sge = sim_sge(rig->mb, RIG_LEN / 2, len);

	sim_post_recv(rig->b, wr_id, &sge, 1);
}

/* A WRITE completes, then the send queue is drained: SQD, for the host to set attributes. */
static inline void rig_drain(const struct rig *rig)
{
	rig_send(rig, 1, CAIRN_WQE_WRITE, 100);
	ktap_ok(sim_run(rig->s, SIM_SEC));
	sim_modify(rig->a, CAIRN_QP_SQD);
	ktap_ok(sim_run(rig->s, SIM_SEC));
	ktap_eq(sim_async_count(rig->a, CAIRN_ASYNC_SQ_DRAINED), 1);
}

/* Post a receive at a, which is never used but may be flushed. */
static inline void rig_recv_a(const struct rig *rig, u64 wr_id)
{
	struct cairn_sge sge = sim_sge(rig->ma, RIG_LEN / 2, 1024);

	sim_post_recv(rig->a, wr_id, &sge, 1);
}

/* Completion @n of a queue is for @wr_id and has @status. */
#define expect_cqe(qp, side, n, id, st)					\
	expect_cqe_at(__FILE__, __LINE__, qp, side, n, id, st)

static inline bool expect_cqe_at(const char *file, int line,
				 const struct sim_qp *qp,
				 enum cairn_side_id side, u32 n, u64 wr_id,
				 u8 status)
{
	const struct sim_cq *cq = &qp->cq[side];
	const char *name = side == CAIRN_REQ ? "send" : "receive";

	if (n >= cq->n) {
		ktap_fail_at(file, line, "%u %s completions, expected more",
			     cq->n, name);
		return false;
	}
	if (cq->log[n].cqe.wr_id != wr_id || cq->log[n].cqe.status != status) {
		ktap_fail_at(file, line,
			     "%s completion %u: WR %llu status %u, not %llu status %u",
			     name, n, cq->log[n].cqe.wr_id,
			     cq->log[n].cqe.status, wr_id, status);
		return false;
	}
	return true;
}

/* WRs @first to @last, in order from completion @n on, all with @status. */
#define expect_cqes(qp, side, n, first, last, st)			\
	expect_cqes_at(__FILE__, __LINE__, qp, side, n, first, last, st)

static inline void expect_cqes_at(const char *file, int line,
				  const struct sim_qp *qp,
				  enum cairn_side_id side, u32 n, u64 first,
				  u64 last, u8 status)
{
	u64 id;

	for (id = first; id <= last; id++)
		if (!expect_cqe_at(file, line, qp, side, n++, id, status))
			return;
}

/* Packets of @kind that @qp has sent since record @from. */
/* sim_hooks.emit: the request packet with the PSN at @arg is lost once. Then @arg is ~0. */
static inline enum sim_fate sim_lose_once(struct sim_qp *qp, enum cairn_side_id side,
					  const struct cairn_pkt *pkt)
{
	u32 *psn = qp->hooks.arg;

	if (side != CAIRN_REQ || pkt->psn != *psn)
		return SIM_PASS;
	*psn = ~0U;
	return SIM_DROP;
}

static inline u32 sent_kind(const struct sim_qp *qp, u32 from,
			    enum cairn_kind kind)
{
	const struct sim *sim = qp->s;
	u32 n = 0;

	for (; from < sim->n_sent; from++)
		n += sim->sent[from].qp == qp &&
		     sim->sent[from].pkt.op->kind == kind;
	return n;
}

/* The last packet that @qp has sent, or NULL. */
static inline const struct cairn_pkt *last_sent(const struct sim_qp *qp)
{
	const struct sim *sim = qp->s;
	u32 i = sim->n_sent;

	while (i--)
		if (sim->sent[i].qp == qp)
			return &sim->sent[i].pkt;
	return NULL;
}

#endif
