// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ACK timer and the retry count (IBTA 9.7.6.1.3, 9.9.2.1). */
#include "engine.h"

static u64 timeout_ns(u32 code)
{
	return 4096ULL << code;
}

/* Total time with a dead peer: each try takes T to 4 T. */
static void retry_dies(u32 timeout, u32 retry_cnt, u8 opcode)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	u64 start, took, tries = retry_cnt + 1;
	struct rig rig;

	attrs.timeout = timeout;
	attrs.retry_cnt = retry_cnt;
	rig = rig_with(timeout * 8 + retry_cnt, &sim_rc, &attrs);
	rig.s->dead[1] = true;
	start = rig.s->now;
	rig_recv_a(&rig, 9);
	rig_send(&rig, 1, opcode, opcode == CAIRN_WQE_FAA ? 8 : 3000);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 100);
	rig_send(&rig, 3, CAIRN_WQE_READ, 100);
	ktap_ok(sim_run(rig.s, timeout_ns(timeout) * 4 * tries + SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	expect_cqes(rig.a, CAIRN_REQ, 1, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	expect_cqe(rig.a, CAIRN_RESP, 0, 9, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	if (rig.a->cq[CAIRN_REQ].n) {
		took = rig.a->cq[CAIRN_REQ].log[0].when - start;
		ktap_ok(took >= timeout_ns(timeout) * tries);
		ktap_ok(took <= timeout_ns(timeout) * 4 * tries + SIM_MS);
	}
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], tries);
	ktap_eq(rig.s->count[CAIRN_CTR_RETRY_EXCEEDED], 1);
	sim_end(rig.s);
}

static void dead_peer(void)
{
	static const u8 ops[] = { CAIRN_WQE_SEND, CAIRN_WQE_WRITE,
				  CAIRN_WQE_READ, CAIRN_WQE_FAA };
	static const u8 timeouts[] = { 1, 8, 14, 20, 31 };
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(timeouts) && !ktap.failures; i++)
		for (n = 0; n <= 7 && !ktap.failures; n++)
			retry_dies(timeouts[i], n, ops[n % ARRAY_SIZE(ops)]);
}

/* timeout 0: no timer. It neither fails nor wakes up. */
static void timeout_zero_waits_for_ever(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.timeout = 0;
	rig = rig_with(1, &sim_rc, &attrs);
	rig.s->dead[1] = true;
	rig_send(&rig, 1, CAIRN_WQE_SEND, 3000);
	ktap_ok(sim_run(rig.s, 1000 * SIM_SEC));
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 0);
	ktap_eq(cairn_req_deadline(&rig.a->c), 0);
	ktap_eq(rig.s->count[CAIRN_CTR_RETRANSMITS], 0);
	sim_end(rig.s);
}

/* In SQD the host sets another retry count, which counts from the next request on. */
static void retry_counts_anew(u32 before, u32 after)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.timeout = 8;
	attrs.retry_cnt = before;
	rig = rig_with(before * 8 + after, &sim_rc, &attrs);
	rig_drain(&rig);
	rig.a->c.attrs.retry_cnt = after;
	sim_modify(rig.a, CAIRN_QP_RTS);
	rig.s->dead[1] = true;
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 100);
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], after + 1);
	sim_end(rig.s);
}

static void another_count_in_sqd(void)
{
	retry_counts_anew(0, 3);
	retry_counts_anew(7, 1);
	retry_counts_anew(2, 0);
}

static enum sim_fate drop_first_tries(struct sim_qp *qp,
				      enum cairn_side_id side,
				      const struct cairn_pkt *pkt)
{
	u8 *tries = qp->hooks.arg;
	u8 *n = &tries[cairn_psn_add(pkt->psn, -qp->psn)];

	return (*n)++ < 3 ? SIM_DROP : SIM_SURE;
}

/* Each packet needs four tries, four are allowed: progress starts afresh. */
static void progress_renews_the_retries(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	u8 tries[64] = { 0 };
	struct rig rig;
	u32 i;

	attrs.retry_cnt = 3;
	attrs.timeout = 8;
	attrs.pmtu = 256;
	rig = rig_with(1, &sim_rc, &attrs);
	rig.a->hooks.emit = drop_first_tries;
	rig.a->hooks.arg = tries;
	for (i = 1; i <= 20; i++) {
		rig_send(&rig, i, i % 2 ? CAIRN_WQE_WRITE : CAIRN_WQE_READ, 256);
		/* one at a time, so that every try is a timeout */
		ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	}
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 20, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 60);
	sim_end(rig.s);
}

static void retry_revive(struct sim *sim, void *arg)
{
	sim->dead[*(u32 *)arg] = false;
}

/* All answers are lost for a while; nothing is executed twice. */
static void deaf_requester(void)
{
	static u32 host;
	struct rig rig = rig_new(1);
	u64 before, after;

	memcpy(&before, rig.mb->mem, 8);
	rig_recv(&rig, 1, 100);
	rig.s->dead[0] = true;
	rig_send(&rig, 1, CAIRN_WQE_FAA, 8);
	rig_send(&rig, 2, CAIRN_WQE_SEND, 100);
	rig_send(&rig, 3, CAIRN_WQE_FAA, 8);
	sim_at(rig.s, rig.s->now + 3 * timeout_ns(14), retry_revive, &host);
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	memcpy(&after, rig.mb->mem, 8);
	ktap_eq(after, before + 2);
	ktap_eq(rig.b->atomics, 2);
	sim_end(rig.s);
}

/* The timer stops with the last acknowledgement. */
static void no_timer_when_idle(void)
{
	struct rig rig = rig_new(1);

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 60000);
	rig_send(&rig, 2, CAIRN_WQE_READ, 3000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 2);
	ktap_eq(cairn_req_deadline(&rig.a->c), 0);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	sim_end(rig.s);
}

/* A steady stream of ACKs keeps a long transfer from timing out. */
static void progress_restarts_the_timer(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;
	u32 i;

	attrs.timeout = 10;	/* 4.2 ms */
	rig = rig_with(1, &sim_rc, &attrs);
	rig.s->byte_ps = 8000;	/* 1 Gbit/s: 9.6 ms in all */
	for (i = 1; i <= 20; i++)
		rig_send(&rig, i, i & 1 ? CAIRN_WQE_WRITE : CAIRN_WQE_READ,
			 60000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 20, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(dead_peer),
	KTAP(timeout_zero_waits_for_ever),
	KTAP(another_count_in_sqd),
	KTAP(progress_renews_the_retries),
	KTAP(deaf_requester),
	KTAP(no_timer_when_idle),
	KTAP(progress_restarts_the_timer),
};

KTAP_MAIN(tests)
