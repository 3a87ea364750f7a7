// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chains of local operations. No answer of a peer causes another turn of the queue. So
 * all work has to be done in the turn of the post, or in the turn after the epoch that
 * an invalidation waited for.
 */
#include "engine.h"

#define DEPTH	64
#define LONGEST	20

/* Which operations of a chain are what: every n-th one, 0: none. */
struct chain {
	u32 len;
	u32 sends;
	u32 regs;		/* of these, by turns: windows */
	u32 signaled;		/* of all but the last */
	u32 fenced;
	u32 records;
	u8 transport;
};

static bool local_is_nth(u32 i, u32 n)
{
	return n && i % n == n - 1;
}

static struct rig chain_rig(u64 seed, const struct chain *chain)
{
	struct sim_qp_init init = chain->transport == CAIRN_TRANSPORT_UC ? sim_uc :
								       sim_rc;
	struct rig rig;

	init.sq_depth = DEPTH;
	init.sig_all = false;
	rig = rig_with(seed, &init, &sim_attrs);
	ktap_ok(sim_resize_sq(rig.a, DEPTH, chain->records));
	return rig;
}

/* Operation @i of the chain, on a region of its own. */
static void chain_put(const struct rig *rig, const struct chain *chain, u32 i)
{
	struct cairn_sge sge;
	struct sim_wr wr;

	if (local_is_nth(i, chain->sends)) {
		wr = rig_wr(rig, &sge, CAIRN_WQE_WRITE, 100);
	} else {
		struct sim_mr *mr = sim_mr(rig->s, 0, 8, SIM_ALL);

		mr->valid = !local_is_nth(i, chain->regs);
		wr = (struct sim_wr){
			.opcode = mr->valid ? CAIRN_WQE_LOCAL_INV :
				  i & 1 ? CAIRN_WQE_BIND_MW : CAIRN_WQE_REG_MR,
			.imm_or_key = mr->key,
		};
	}
	wr.wr_id = i;
	wr.flags = local_is_nth(i, chain->signaled) || i + 1 == chain->len ?
		   CAIRN_WQE_SIGNALED : 0;
	if (local_is_nth(i, chain->fenced))
		wr.flags |= CAIRN_WQE_FENCE;
	ktap_ok(sim_queue_send(rig->a, &wr));
}

static void chain_run(u64 seed, const struct chain *chain)
{
	struct rig rig = chain_rig(seed, chain);
	const struct sim_cq *cq = &rig.a->cq[CAIRN_REQ];
	u32 i, n = 0;

	for (i = 0; i < chain->len; i++)
		chain_put(&rig, chain, i);
	sim_doorbell(rig.a);
	/* An end, and not by a timeout. */
	ktap_ok(sim_run(rig.s, SIM_MS));
	for (i = 0; i < chain->len; i++)
		if (local_is_nth(i, chain->signaled) || i + 1 == chain->len)
			expect_cqe(rig.a, CAIRN_REQ, n++, i, CAIRN_CQE_SUCCESS);
	ktap_eq(cq->n, n);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	if (ktap.failures)
		ktap_diag("%u operations, transport %u, every n-th: sends %u, registrations %u, signaled %u, fenced %u; %u records",
			  chain->len, chain->transport, chain->sends, chain->regs, chain->signaled,
			  chain->fenced, chain->records);
	sim_end(rig.s);
}

static void local_lengths(u64 seed, struct chain chain)
{
	for (chain.len = 1; chain.len <= LONGEST && !ktap.failures; chain.len++)
		chain_run(seed, &chain);
}

static void local_signals(u64 seed, struct chain chain)
{
	for (chain.signaled = 0; chain.signaled <= 3; chain.signaled++)
		local_lengths(seed, chain);
}

/* A list of invalidations, as xprtrdma posts it. */
static void invalidations(void)
{
	for_seeds(seed, 4)
		local_signals(seed, (struct chain){ .records = DEPTH });
}

static void registrations(void)
{
	for_seeds(seed, 2)
		local_signals(seed, (struct chain){ .regs = 1, .records = DEPTH });
}

static void mixed(void)
{
	struct chain chain = { .records = DEPTH };

	for_seeds(seed, 2)
		for (chain.regs = 0; chain.regs <= 3; chain.regs++)
			for (chain.sends = 2; chain.sends <= 4; chain.sends++)
				for (chain.fenced = 0; chain.fenced <= 2; chain.fenced++)
					local_signals(seed, chain);
}

/* More is posted than the queue has records for. */
static void few_records(void)
{
	struct chain chain = {};

	for_seeds(seed, 2)
		for (chain.records = 1; chain.records <= 8; chain.records *= 2)
			for (chain.regs = 0; chain.regs <= 2; chain.regs++)
				for (chain.sends = 0; chain.sends <= 3; chain.sends += 3)
					local_signals(seed, chain);
}

static void unreliable(void)
{
	struct chain chain = {
		.transport = CAIRN_TRANSPORT_UC,
		.records = 4,
	};

	for_seeds(seed, 2)
		for (chain.regs = 0; chain.regs <= 2; chain.regs++)
			for (chain.sends = 0; chain.sends <= 3; chain.sends += 3)
				local_signals(seed, chain);
}

/* Return: whether the lane has to go on. */
static bool turn_of_seven(const struct rig *rig)
{
	struct cairn_budget budget = { .packets = 7, .bytes = 65536 };
	bool more;

	sim_enter(rig->a, CAIRN_REQ);
	rig->a->rung = (struct cairn_qi_rung){ .ptr = rig->a->sq_tail,
					     .valid = true };
	cairn_req_told(&rig->a->c.req, true);
	more = cairn_req_run(&rig->a->c, rig->s->now, &budget);
	sim_leave(rig->a);
	return more;
}

/* The lane is not woken for a queue that is empty. */
static void budget_is_just_enough(void)
{
	u32 i, len;

	for (len = 6; len <= 8; len++) {
		struct chain chain = { .len = len, .regs = 1, .signaled = 1,
				   .records = DEPTH };
		struct rig rig = chain_rig(1, &chain);

		for (i = 0; i < len; i++)
			chain_put(&rig, &chain, i);
		ktap_eq(turn_of_seven(&rig), len > 7);
		ktap_eq(rig.a->cq[CAIRN_REQ].n, min(len, 7u));
		sim_doorbell(rig.a);
		ktap_ok(sim_run(rig.s, SIM_MS));
		sim_end(rig.s);
	}
}

/* A turn has an end, whatever the host posts: operations count. */
static void budget_bounds_a_turn(void)
{
	struct chain chain = { .len = LONGEST, .regs = 1, .signaled = 1,
			   .records = DEPTH };
	struct rig rig = chain_rig(1, &chain);
	u32 i;

	for (i = 0; i < chain.len; i++)
		chain_put(&rig, &chain, i);
	ktap_ok(turn_of_seven(&rig));
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 7);
	sim_doorbell(rig.a);
	ktap_ok(sim_run(rig.s, SIM_MS));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, chain.len - 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void post_one(const struct rig *rig, u8 opcode, u32 key, u8 flags, u64 id)
{
	struct sim_wr wr = {
		.wr_id = id,
		.opcode = opcode,
		.imm_or_key = key,
		.flags = flags | CAIRN_WQE_SIGNALED,
	};

	ktap_ok(sim_queue_send(rig->a, &wr));
}

/* A window behind a READ may expose the data of the READ: with a fence the local
 * operation waits for the data, without one it does not.
 */
static void fence_before_window(void)
{
	u32 fence, i;

	for (fence = 0; fence < 2; fence++) {
		struct chain chain = { .records = DEPTH };
		struct rig rig = chain_rig(1, &chain);
		struct sim_mr *mr = sim_mr(rig.s, 0, 8, SIM_ALL);
		struct cairn_sge sge;
		struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_READ, 100);

		mr->valid = false;
		wr.wr_id = 1;
		wr.flags = CAIRN_WQE_SIGNALED;
		ktap_ok(sim_queue_send(rig.a, &wr));
		post_one(&rig, CAIRN_WQE_BIND_MW, mr->key,
			 fence ? CAIRN_WQE_FENCE : 0, 2);
		sim_doorbell(rig.a);
		for (i = 0; i < 1000 && !mr->valid && !rig.a->cq[CAIRN_REQ].n; i++)
			sim_run(rig.s, SIM_US / 10);
		ktap_eq(mr->valid && !rig.a->cq[CAIRN_REQ].n, !fence);
		ktap_ok(sim_run(rig.s, SIM_MS));
		ktap_ok(mr->valid);
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_SUCCESS);
		sim_end(rig.s);
	}
}

/* All fail with the error of the specification for memory management. */
static void refused(void)
{
	static const u8 opcodes[] = {
		CAIRN_WQE_BIND_MW, CAIRN_WQE_REG_MR, CAIRN_WQE_LOCAL_INV,
	};
	u32 i;

	for (i = 0; i < 3; i++) {
		struct chain chain = { .records = DEPTH };
		struct rig rig = chain_rig(1, &chain);

		post_one(&rig, opcodes[i], 0xbad00, 0, 1);
		post_one(&rig, opcodes[i], 0xbad00, 0, 2);
		sim_doorbell(rig.a);
		ktap_ok(sim_run(rig.s, SIM_MS));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_MW_BIND_ERR);
		expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
		sim_end(rig.s);
	}
}

static const struct ktap_test tests[] = {
	KTAP(invalidations),
	KTAP(registrations),
	KTAP(mixed),
	KTAP(few_records),
	KTAP(unreliable),
	KTAP(budget_is_just_enough),
	KTAP(budget_bounds_a_turn),
	KTAP(fence_before_window),
	KTAP(refused),
};

KTAP_MAIN(tests)
