// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Receiver not ready: the wait, the retries, the end (IBTA 9.7.5.2.8). */
#include "engine.h"

/* IBTA table 45, in units of 10 us. */
static const u32 timer_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256,
	384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768, 49152,
};

static u64 timer_ns(u32 code)
{
	return timer_10us[code] * 10 * SIM_US;
}

/* When the first RNR NAK that the test has not handled yet reached @to. */
struct wait {
	u64 nak_at;
	u64 next_at;		/* first request after it */
	u32 naks;
};

static void see_nak(struct sim_qp *qp, const struct cairn_pkt *pkt)
{
	struct wait *wait = qp->hooks.arg;

	if (pkt->op->kind != CAIRN_KIND_ACK ||
	    (pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_RNR_NAK)
		return;
	wait->naks++;
	wait->nak_at = qp->s->now;
	wait->next_at = 0;
}

static enum sim_fate see_request(struct sim_qp *qp, enum cairn_side_id side,
				 const struct cairn_pkt *pkt)
{
	struct wait *wait = qp->hooks.arg;

	if (side == CAIRN_REQ && wait->nak_at && !wait->next_at)
		wait->next_at = qp->s->now;
	return SIM_PASS;
}

static void rnr_watch(struct sim_qp *qp, struct wait *wait)
{
	*wait = (struct wait){ 0 };
	qp->hooks = (struct sim_hooks){
		.arg = wait,
		.rx = see_nak,
		.emit = see_request,
	};
}

static void post_more(struct sim *sim, void *arg)
{
	struct rig *rig = arg;

	rig_send(rig, 2, CAIRN_WQE_WRITE, 5000);
	rig_send(rig, 3, CAIRN_WQE_READ, 5000);
}

/* Nothing leaves before the time is up, whatever is posted meanwhile. */
static void every_timer_code_is_waited_for(void)
{
	u32 code;

	for (code = 0; code < 32 && !ktap.failures; code++) {
		struct cairn_qp_attrs attrs = sim_attrs;
		struct wait wait;
		struct rig rig;

		attrs.min_rnr_timer = code;
		/* the ACK timer must not interfere */
		attrs.timeout = 8;
		rig = rig_with(code, &sim_rc, &attrs);
		rnr_watch(rig.a, &wait);
		rig_send(&rig, 1, CAIRN_WQE_SEND, 3000);
		sim_at(rig.s, rig.s->now + timer_ns(code) / 2, post_more, &rig);
		sim_run(rig.s, timer_ns(code));
		ktap_eq(wait.naks, 1);
		rig_recv(&rig, 1, 3000);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		ktap_ok(wait.next_at >= wait.nak_at + timer_ns(code));
		ktap_ok(wait.next_at <= wait.nak_at + timer_ns(code) + 5 * SIM_US);
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
		expect_cqe(rig.b, CAIRN_RESP, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
		sim_end(rig.s);
	}
}

static void retries_are_counted(void)
{
	u32 n;

	for (n = 0; n < 7 && !ktap.failures; n++) {
		struct cairn_qp_attrs attrs = sim_attrs;
		struct rig rig;

		attrs.rnr_retry = n;
		rig = rig_with(n, &sim_rc, &attrs);
		rig_recv_a(&rig, 7);
		rig_send(&rig, 1, CAIRN_WQE_SEND, 100);
		rig_send(&rig, 2, CAIRN_WQE_WRITE, 100);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RNR_RETRY_EXC_ERR);
		expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
		expect_cqe(rig.a, CAIRN_RESP, 0, 7, CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_SEND), n + 1);
		ktap_eq(rig.s->count[CAIRN_CTR_RNR_NAKS_RECEIVED], n + 1);
		ktap_eq(rig.b->rq->starved, n + 1);
		/* the flush finds the end of the queue, which is no message */
		ktap_eq(rig.a->rq->starved, 0);
		ktap_eq(rig.s->count[CAIRN_CTR_RNR_RETRY_EXCEEDED], 1);
		ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
		ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
		sim_end(rig.s);
	}
}

/* In SQD the host sets another count of RNR retries. */
static void rnr_counts_anew(u32 before, u32 after)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.rnr_retry = before;
	rig = rig_with(before * 8 + after, &sim_rc, &attrs);
	rig_drain(&rig);
	rig.a->c.attrs.rnr_retry = after;
	sim_modify(rig.a, CAIRN_QP_RTS);
	rig_send(&rig, 2, CAIRN_WQE_SEND, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_RNR_RETRY_EXC_ERR);
	ktap_eq(rig.s->count[CAIRN_CTR_RNR_NAKS_RECEIVED], after + 1);
	sim_end(rig.s);
}

static void another_count_in_sqd(void)
{
	rnr_counts_anew(0, 3);
	rnr_counts_anew(6, 1);
	rnr_counts_anew(7, 0);
}

static void seven_is_for_ever(void)
{
	struct rig rig = rig_new(1);

	rig_send(&rig, 1, CAIRN_WQE_SEND, 100);
	sim_run(rig.s, 5 * SIM_SEC);
	ktap_ok(rig.s->count[CAIRN_CTR_RNR_NAKS_RECEIVED] > 10000);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 0);
	rig_recv(&rig, 1, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void progress_renews_the_retries(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;
	u32 i;

	attrs.rnr_retry = 2;
	attrs.retry_cnt = 0;
	attrs.min_rnr_timer = 10;
	rig = rig_with(1, &sim_rc, &attrs);
	for (i = 1; i <= 20; i++)
		rig_send(&rig, i, CAIRN_WQE_SEND, 2000);
	for (i = 1; i <= 20; i++) {
		/* two RNR NAKs, but not three */
		sim_run(rig.s, timer_ns(10) * 2 - timer_ns(10) / 4);
		rig_recv(&rig, i, 2000);
	}
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 20, CAIRN_CQE_SUCCESS);
	expect_cqes(rig.b, CAIRN_RESP, 0, 1, 20, CAIRN_CQE_SUCCESS);
	ktap_ok(rig.s->count[CAIRN_CTR_RNR_NAKS_RECEIVED] >= 20);
	sim_end(rig.s);
}

/* The last packet of a long WRITE with immediate finds no receive. */
static void write_imm_in_the_last_packet(void)
{
	struct rig rig = rig_new(1);

	rig_send(&rig, 1, CAIRN_WQE_WRITE_IMM, 10000);
	sim_run(rig.s, 100 * SIM_US);
	ktap_ok(rig.s->count[CAIRN_CTR_RNR_NAKS_RECEIVED] > 0);
	/* only the packet that was refused goes out again */
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE),
		10 + rig.s->count[CAIRN_CTR_RETRANSMITS]);
	rig_recv(&rig, 1, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.b, CAIRN_RESP, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_mem_eq(rig.mb->mem, rig.ma->mem, 10000);
	ktap_eq(rig.s->count[CAIRN_CTR_RETRANSMITS],
		rig.s->count[CAIRN_CTR_RNR_NAKS_RECEIVED]);
	sim_end(rig.s);
}

/* READ and atomic before the SEND that is refused complete meanwhile. */
static void earlier_requests_complete(void)
{
	struct rig rig = rig_new(1);

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 3000);
	rig_send(&rig, 2, CAIRN_WQE_READ, 9000);
	rig_send(&rig, 3, CAIRN_WQE_FAA, 8);
	rig_send(&rig, 4, CAIRN_WQE_SEND, 10);
	rig_send(&rig, 5, CAIRN_WQE_WRITE, 10);
	sim_run(rig.s, 50 * SIM_US);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 3);
	rig_recv(&rig, 1, 10);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 3, 4, 5, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->atomics, 1);
	sim_end(rig.s);
}

static void one_nak_for_a_train(void)
{
	struct rig rig = rig_new(1);

	rig_send(&rig, 1, CAIRN_WQE_SEND, 30000);
	sim_run(rig.s, 9 * SIM_US);
	ktap_eq(rig.s->count[CAIRN_CTR_RNR_NAKS_SENT], 1);
	ktap_eq(sent_kind(rig.b, 0, CAIRN_KIND_ACK), 1);
	rig_recv(&rig, 1, 30000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(every_timer_code_is_waited_for),
	KTAP(retries_are_counted),
	KTAP(another_count_in_sqd),
	KTAP(seven_is_for_ever),
	KTAP(progress_renews_the_retries),
	KTAP(write_imm_in_the_last_packet),
	KTAP(earlier_requests_complete),
	KTAP(one_nak_for_a_train),
};

KTAP_MAIN(tests)
