// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The WQEs of several QPs wait in the FIFO of their lane (origins.rst, F2). A rate's mark
 * drops those of its QP, others keep their order, and no copy is used that is older than
 * the state of its QP.
 */
#include <stdlib.h>
#include "engine/ahead.h"
#include "engine.h"

#define FULL	(1024 + 16)	/* MIDDLE of a QP with PMTU 1024 */
#define QPS	4
#define WRITES	6
#define LEN	1000

/* QPs of one lane: the rig's two ends and more pairs beside them. */
struct fetch_lane {
	struct rig rig;
	struct sim_qp *qp[QPS];
};

/* As they left: numbers of QPs, and the length of each message. */
static u32 left, left_qpn[QPS * WRITES], left_len[QPS * WRITES];

static enum sim_fate fetch_note(struct sim_qp *qp, enum cairn_side_id side,
				const struct cairn_pkt *pkt)
{
	if (side == CAIRN_REQ && left < QPS * WRITES) {
		left_qpn[left] = qp->c.qpn;
		left_len[left++] = pkt->dma_len;
	}
	return SIM_SURE;
}

static struct sim_wr fetch_wr(const struct rig *rig, struct cairn_sge *sge, u32 n)
{
	struct sim_wr wr = rig_wr(rig, sge, CAIRN_WQE_WRITE, LEN + n);

	wr.wr_id = n + 1;
	return wr;
}

/* Queue @n WRITEs, each a byte longer than the one before. */
static void fetch_queue(const struct rig *rig, struct sim_qp *qp, u32 n)
{
	struct cairn_sge sge;
	u32 i;

	for (i = 0; i < n; i++) {
		struct sim_wr wr = fetch_wr(rig, &sge, i);

		if (!sim_queue_send(qp, &wr))
			sim_fail(rig->s, "send queue full");
	}
}

static struct fetch_lane fetch_lane_new(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct fetch_lane lane;
	u32 i;

	attrs.pmtu = 1024;
	left = 0;
	lane.rig = rig_with(1, &sim_rc, &attrs);
	lane.rig.s->budget = 64;
	for (i = 0; i < QPS; i++) {
		lane.qp[i] = i ? sim_qp(lane.rig.s, 0, &sim_rc) : lane.rig.a;
		if (i)
			sim_connect(lane.qp[i], sim_qp(lane.rig.s, 1, &sim_rc), &attrs);
		/* the first answer has come */
		fetch_queue(&lane.rig, lane.qp[i], 1);
		sim_doorbell(lane.qp[i]);
		ktap_ok(sim_run(lane.rig.s, SIM_SEC));
		lane.qp[i]->copies = 0;
		lane.qp[i]->copied = 0;
		lane.qp[i]->hooks.emit = fetch_note;
	}
	return lane;
}

static struct cairn_send_wqe *fetch_wqe(struct sim_qp *qp, u32 n)
{
	return (void *)sim_unit(qp->sq, qp->c.sq_depth, qp->c.req.sq_next + n);
}

/* Put a ring of nonsense in the place of the QP's. Return: the old one. */
static u8 *fetch_spoil(struct sim_qp *qp)
{
	u32 bytes = qp->c.sq_depth * CAIRN_UNIT_SIZE;
	u8 *ring = qp->sq;

	qp->sq = malloc(bytes);
	memset(qp->sq, 0xff, bytes);
	return ring;
}

/* Each QP leaves in its turn with what was in its ring when it was fetched, though a
 * mark has dropped the WQEs of one of them. That one goes on from its ring.
 */
static void others_keep_their_order(void)
{
	const struct cairn_rate_limit two = { .kbps = 10000, .burst = 2 * FULL };
	struct fetch_lane lane = fetch_lane_new();
	u8 *ring[QPS];
	u32 i, k, n = 0;

	lane.qp[1]->c.attrs.rate = two;
	for (i = 0; i < QPS; i++) {
		fetch_queue(&lane.rig, lane.qp[i], WRITES);
		sim_fetch(lane.qp[i]);
		ktap_ok(lane.qp[i]->c.req.fetched);
		ktap_eq(lane.qp[i]->copied, WRITES);
	}
	for (i = 0; i < QPS; i++)
		ring[i] = fetch_spoil(lane.qp[i]);
	for (i = 0; i < QPS; i++)
		sim_lane_turn(lane.qp[i]);
	for (i = 0; i < QPS; i++)
		for (k = 0; k < (i == 1 ? 2 : WRITES); k++, n++) {
			ktap_eq(left_qpn[n], lane.qp[i]->c.qpn);
			ktap_eq(left_len[n], LEN + k);
		}
	ktap_eq(left, n);
	ktap_eq(lane.qp[1]->count[CAIRN_CTR_RATE_MARKS], 1);
	ktap_eq(lane.qp[1]->count[CAIRN_CTR_RATE_PURGES], WRITES - 2);
	ktap_eq(lane.qp[1]->wqes.units, 0);
	for (i = 0; i < QPS; i++) {
		ktap_eq(lane.qp[i]->copied, WRITES);
		free(lane.qp[i]->sq);
		lane.qp[i]->sq = ring[i];
	}
	ktap_ok(sim_run(lane.rig.s, SIM_SEC));
	ktap_ok(lane.qp[1]->copied > WRITES);
	for (i = 0; i < QPS; i++)
		expect_cqes(lane.qp[i], CAIRN_REQ, 1, 1, WRITES, 0);
	sim_end(lane.rig.s);
}

/* While the mark is up nothing is fetched. Then the request that has stopped is fetched
 * again, and goes on behind its packet m.
 */
static void a_stopped_request_is_fetched_again(void)
{
	const struct cairn_rate_limit three = { .kbps = 10000, .burst = 3 * (FULL + 16) };
	struct fetch_lane lane = fetch_lane_new();
	struct sim_qp *qp = lane.qp[0];
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&lane.rig, &sge, CAIRN_WQE_WRITE, 8 * 1024);
	u32 idx = qp->sq_tail;

	qp->c.attrs.rate = three;
	ktap_ok(sim_queue_send(qp, &wr));
	fetch_queue(&lane.rig, qp, 2);
	sim_fetch(qp);
	ktap_eq(qp->wqes.idx, idx);
	sim_lane_turn(qp);
	ktap_eq(qp->c.req.pkt, 3);
	ktap_ok(qp->c.req.rate.marked);
	sim_fetch(qp);
	ktap_ok(!qp->c.req.fetched);
	sim_lane_turn(qp);
	ktap_eq(qp->copies, 1);
	lane.rig.s->now = qp->c.req.rate.next;
	sim_fetch(qp);
	ktap_ok(qp->c.req.fetched);
	ktap_eq(qp->wqes.idx, idx);
	ktap_eq(qp->wqes.units, 3);
	sim_lane_turn(qp);
	ktap_eq(qp->copies, 2);
	ktap_eq(qp->c.req.pkt, 6);
	ktap_eq(last_sent(qp)->opcode, CAIRN_BTH_WRITE_MIDDLE);
	ktap_ok(sim_run(lane.rig.s, SIM_SEC));
	sim_end(lane.rig.s);
}

/* The host changes what was fetched, and a run elsewhere sends the first message. */
static void a_run_elsewhere_drops_them(void)
{
	struct fetch_lane lane = fetch_lane_new();
	struct sim_qp *qp = lane.qp[0];

	fetch_queue(&lane.rig, qp, 2);
	sim_fetch(qp);
	fetch_wqe(qp, 1)->sge[0].length = 77;
	lane.rig.s->budget = 1;
	sim_turn(qp, CAIRN_REQ);
	ktap_eq(left, 1);
	ktap_ok(!qp->c.req.fetched);
	sim_lane_turn(qp);
	ktap_eq(left, 2);
	ktap_eq(left_len[1], 77);
	ktap_ok(sim_run(lane.rig.s, SIM_SEC));
	expect_cqes(qp, CAIRN_REQ, 1, 1, 2, 0);
	sim_end(lane.rig.s);
}

static u32 lost;

static enum sim_fate fetch_lose_second(struct sim_qp *qp, enum cairn_side_id side,
				       const struct cairn_pkt *pkt)
{
	if (side == CAIRN_REQ && pkt->op->kind == CAIRN_KIND_WRITE && ++lost == 2)
		return SIM_DROP;
	return SIM_SURE;
}

/* The mark goes up in a run elsewhere, which retransmits and reads nothing of the ring. */
static void a_mark_elsewhere_drops_them(void)
{
	const struct cairn_rate_limit two = { .kbps = 1000, .burst = 2 * FULL + 16 };
	struct fetch_lane lane = fetch_lane_new();
	struct sim_qp *qp = lane.qp[0];
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&lane.rig, &sge, CAIRN_WQE_WRITE, 8 * 1024);
	u32 copies;

	lost = 0;
	qp->hooks.emit = fetch_lose_second;
	ktap_ok(sim_queue_send(qp, &wr));
	sim_turn(qp, CAIRN_REQ);
	ktap_eq(lost, 8);
	fetch_queue(&lane.rig, qp, 2);
	sim_fetch(qp);
	ktap_ok(qp->c.req.fetched);
	copies = qp->copies;
	qp->c.attrs.rate = two;
	/* the NAK comes */
	while (!qp->c.req.rate.marked && !sim_run(lane.rig.s, SIM_US))
		;
	ktap_eq(qp->copies, copies);
	ktap_ok(!qp->c.req.fetched);
	sim_lane_turn(qp);
	ktap_eq(qp->count[CAIRN_CTR_RATE_PURGES], 2);
	ktap_ok(sim_run(lane.rig.s, SIM_SEC));
	sim_end(lane.rig.s);
}

/* After a reset other WQEs are at the same places of the ring. */
static void a_reset_drops_them(void)
{
	struct fetch_lane lane = fetch_lane_new();
	struct sim_qp *qp = lane.qp[0];
	struct cairn_qp_attrs attrs = qp->c.attrs;
	u32 idx = qp->sq_tail;

	fetch_queue(&lane.rig, qp, 2);
	sim_fetch(qp);
	qp->sq_tail = idx;
	sim_reset(qp);
	sim_reset(lane.rig.b);
	sim_connect(qp, lane.rig.b, &attrs);
	fetch_queue(&lane.rig, qp, 1);
	fetch_wqe(qp, 0)->sge[0].length = 77;
	sim_lane_turn(qp);
	ktap_eq(left, 1);
	ktap_eq(left_len[0], 77);
	ktap_ok(sim_run(lane.rig.s, SIM_SEC));
	sim_end(lane.rig.s);
}

static void another_ring_drops_them(void)
{
	struct fetch_lane lane = fetch_lane_new();
	struct sim_qp *qp = lane.qp[0];

	fetch_queue(&lane.rig, qp, 2);
	sim_fetch(qp);
	ktap_ok(sim_resize_sq(qp, 2 * qp->c.sq_depth, 2 * qp->c.sq_depth));
	ktap_ok(!qp->c.req.fetched);
	fetch_wqe(qp, 0)->sge[0].length = 77;
	sim_lane_turn(qp);
	ktap_eq(left_len[0], 77);
	ktap_ok(sim_run(lane.rig.s, SIM_SEC));
	sim_end(lane.rig.s);
}

/* A WQE waits whose copy is bad, and a pointer beyond the ring: as if the turn had read
 * them.
 */
static void bad_rings_end_the_qp(void)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct fetch_lane lane = fetch_lane_new();
		struct sim_qp *qp = lane.qp[0];

		qp->hostile = true;
		fetch_queue(&lane.rig, qp, 2);
		if (i)
			qp->sq_tail += qp->c.sq_depth;
		else
			fetch_wqe(qp, 0)->units = 0;
		sim_fetch(qp);
		sim_lane_turn(qp);
		ktap_eq(left, 0);
		ktap_eq(cairn_state(&qp->c), CAIRN_QP_ERR);
		ktap_eq(qp->count[CAIRN_CTR_BAD_RINGS], 1);
		sim_end(lane.rig.s);
	}
}

static const struct ktap_test tests[] = {
	KTAP(others_keep_their_order),
	KTAP(a_stopped_request_is_fetched_again),
	KTAP(a_run_elsewhere_drops_them),
	KTAP(a_mark_elsewhere_drops_them),
	KTAP(a_reset_drops_them),
	KTAP(another_ring_drops_them),
	KTAP(bad_rings_end_the_qp),
};

KTAP_MAIN(tests)
