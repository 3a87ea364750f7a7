// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Retransmission after a loss: which packets, and when. With peers that keep packets
 * behind a gap, and with peers that do not.
 */
#include "engine.h"

#define PMTU		1024
#define LONG		60000		/* bytes: 59 packets */

/* Which packets of a's program get lost, the first time. */
struct loss {
	u32 first, last;		/* PSNs relative to the first */
	u8 opcode;			/* or any packet with this opcode, once */
	bool by_opcode;
	bool done[64];
};

static enum sim_fate gap_lose(struct sim_qp *qp, enum cairn_side_id side,
			      const struct cairn_pkt *pkt)
{
	struct loss *loss = qp->hooks.arg;
	u32 n = cairn_psn_add(pkt->psn, -qp->psn);

	if (loss->by_opcode) {
		if (pkt->opcode != loss->opcode || loss->done[0])
			return SIM_PASS;
		loss->done[0] = true;
		return SIM_DROP;
	}
	if (side != CAIRN_REQ || n < loss->first || n > loss->last ||
	    loss->done[n - loss->first])
		return SIM_PASS;
	loss->done[n - loss->first] = true;
	return SIM_DROP;
}

/* A pair that knows its round trip; PSN 0 is behind it. */
static struct rig gap_warm(u8 timeout, bool plain)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.timeout = timeout;
	rig = rig_with(1, &sim_rc, &attrs);
	rig.b->plain = plain;
	rig_send(&rig, 0, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_ok(rig.a->c.req.rtt.mean > 0);
	return rig;
}

static void gap_lossy(struct rig *rig, struct loss *loss)
{
	rig->a->hooks.emit = gap_lose;
	rig->a->hooks.arg = loss;
}

/* Everything arrived, once, without the help of the ACK timer. */
static void expect_recovered(struct rig *rig, u32 wrs)
{
	ktap_ok(sim_run(rig->s, SIM_SEC));
	expect_cqes(rig->a, CAIRN_REQ, 0, 0, wrs, CAIRN_CQE_SUCCESS);
	ktap_eq(rig->a->cq[CAIRN_REQ].n, wrs + 1);
	ktap_eq(rig->s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	ktap_mem_eq(rig->mb->mem, rig->ma->mem, LONG);
}

/* Lose @first..@last of a long WRITE (2 trains: 1, and 2 to 59). */
static u64 gap_repeated(u32 first, u32 last, bool plain)
{
	struct rig rig = gap_warm(20, plain);
	struct loss loss = { .first = first, .last = last };
	u64 n;

	gap_lossy(&rig, &loss);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, LONG);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 16);
	expect_recovered(&rig, 2);
	n = rig.s->count[CAIRN_CTR_RETRANSMITS];
	sim_end(rig.s);
	return n;
}

static void one_packet_is_repeated(void)
{
	u32 i;

	for (i = 1; i <= 59 && !ktap.failures; i++)
		if (i != 2)
			ktap_eq(gap_repeated(i, i, false), 1);
}

/* A gap that begins like a train is taken for it. */
static void a_train_is_repeated(void)
{
	ktap_eq(gap_repeated(2, 59, false), 58);
	ktap_eq(gap_repeated(1, 59, false), 59);
}

/* How long it is turns out step by step. */
static void a_longer_gap_is_repeated(void)
{
	u32 i;

	for (i = 2; i <= 50 && !ktap.failures; i++) {
		u64 n = gap_repeated(5, 4 + i, false);

		ktap_ok(n >= i);
		ktap_ok(n <= 2 * i);
	}
}

/* A peer that keeps nothing gets everything again. */
static void plain_peers_get_everything(void)
{
	u32 i;

	for (i = 1; i <= 59 && !ktap.failures; i++) {
		u64 n = gap_repeated(i, i, true);

		ktap_ok(n >= 61 - i);
		ktap_ok(n <= 61 + 1);
	}
	ktap_ok(gap_repeated(5, 40, true) <= 61 + 36);
}

/* ... and is known for it: the next time there is no pause. */
static void plain_peers_are_remembered(void)
{
	struct rig rig = gap_warm(20, true);
	struct loss loss = { .first = 5, .last = 5 };
	struct loss again = { .first = 65, .last = 65 };
	u32 from;

	gap_lossy(&rig, &loss);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, LONG);
	expect_recovered(&rig, 1);
	rig.a->hooks.arg = &again;
	from = rig.s->n_sent;
	rig_send(&rig, 2, CAIRN_WQE_WRITE, LONG);
	expect_recovered(&rig, 2);
	/* the rest left in one go, no ACK of a single packet between */
	for (; from < rig.s->n_sent; from++)
		if (rig.s->sent[from].pkt.opcode == CAIRN_BTH_ACK)
			ktap_ok(rig.s->sent[from].pkt.psn !=
				cairn_psn_add(rig.a->psn, 65) ||
				rig.s->sent[from].pkt.syndrome !=
				CAIRN_AETH_ACK);
	ktap_eq(rig.s->count[CAIRN_CTR_SEQ_NAKS_RECEIVED], 2);
	sim_end(rig.s);
}

/* Only the requester can notice that the end of a burst was lost. */
static void lost_tails_are_probed(void)
{
	u32 plain, first;

	for (plain = 0; plain < 2; plain++) {
		for (first = 1; first <= 59; first += 29) {
			struct rig rig = gap_warm(20, plain);
			struct loss loss = { .first = first, .last = 59 };
			u64 start = rig.s->now;

			gap_lossy(&rig, &loss);
			rig_send(&rig, 1, CAIRN_WQE_WRITE, LONG);
			ktap_ok(sim_run_until(rig.s, 20 * SIM_MS,
					      &rig.s->failures));
			expect_recovered(&rig, 1);
			ktap_ok(rig.a->cq[CAIRN_REQ].log[1].when - start <
				7 * SIM_MS);
			ktap_ok(rig.s->count[CAIRN_CTR_TAIL_PROBES] >= 1);
			ktap_ok(rig.s->count[CAIRN_CTR_RETRANSMITS] <=
				3 * (60 - first));
			sim_end(rig.s);
		}
	}
}

/* The first packet of a connection goes alone, and nothing behind it reports its loss:
 * it does not wait for a long ACK timer.
 */
static void a_lost_first_packet_is_probed(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct loss loss = { .first = 0, .last = 0 };
	struct rig rig;
	u64 start;

	attrs.timeout = 18;
	rig = rig_of(pair_near(1, &sim_rc, &attrs, 0, true));
	start = rig.s->now;
	gap_lossy(&rig, &loss);
	rig_send(&rig, 0, CAIRN_WQE_WRITE, LONG);
	ktap_ok(sim_run_until(rig.s, 200 * SIM_MS, &rig.s->failures));
	expect_recovered(&rig, 0);
	ktap_ok(rig.a->cq[CAIRN_REQ].log[0].when - start < 60 * SIM_MS);
	ktap_eq(rig.s->count[CAIRN_CTR_TAIL_PROBES], 1);
	ktap_eq(rig.s->count[CAIRN_CTR_RETRANSMITS], 1);
	sim_end(rig.s);
}

/* A lost ACK costs one packet. */
static void lost_acks_are_probed(void)
{
	struct loss loss = { .opcode = CAIRN_BTH_ACK, .by_opcode = true };
	struct rig rig = gap_warm(20, false);

	rig.b->hooks.emit = gap_lose;
	rig.b->hooks.arg = &loss;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, LONG);
	expect_recovered(&rig, 1);
	ktap_eq(rig.s->count[CAIRN_CTR_TAIL_PROBES], 1);
	ktap_eq(rig.s->count[CAIRN_CTR_RETRANSMITS], 1);
	sim_end(rig.s);
}

/* A lost NAK, or a lost answer to what was repeated. */
static void lost_reports_are_probed(void)
{
	u32 i;

	for (i = 1; i < 5; i++) {
		struct rig rig = gap_warm(20, i & 1);
		struct loss loss = { .first = 9, .last = 9 };
		struct loss nak = { .opcode = CAIRN_BTH_ACK,
				    .by_opcode = true };

		gap_lossy(&rig, &loss);
		rig.b->hooks.emit = gap_lose;
		rig.b->hooks.arg = &nak;
		rig_send(&rig, 1, CAIRN_WQE_WRITE, LONG);
		rig_send(&rig, 2, CAIRN_WQE_WRITE, LONG);
		expect_recovered(&rig, 2);
		ktap_ok(rig.s->count[CAIRN_CTR_TAIL_PROBES] >= 1);
		sim_end(rig.s);
	}
}

/* Probes cost no retry and end: a dead peer is found by the timer. */
static void probes_end(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig = gap_warm(14, false);
	u32 tries = attrs.retry_cnt + 1;

	rig.s->dead[1] = true;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 1, 1, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], tries);
	ktap_eq(rig.s->count[CAIRN_CTR_TAIL_PROBES], 3 * tries);
	ktap_eq(rig.s->count[CAIRN_CTR_RETRANSMITS], 3 * tries + tries - 1);
	sim_end(rig.s);
}

/* Not before it is due, and not where the timer is about as fast. */
static void no_probes_without_need(void)
{
	struct rig rig = gap_warm(8, false);
	u32 i;

	rig.s->dead[1] = true;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.s->count[CAIRN_CTR_TAIL_PROBES], 0);
	sim_end(rig.s);
	rig = gap_warm(20, false);
	for (i = 1; i <= 20; i++)
		rig_send(&rig, i, i & 1 ? CAIRN_WQE_WRITE : CAIRN_WQE_READ, LONG);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.s->count[CAIRN_CTR_TAIL_PROBES], 0);
	ktap_eq(rig.s->count[CAIRN_CTR_RETRANSMITS], 0);
	sim_end(rig.s);
}

/* An answer that is late because the machine is late is awaited. */
static void late_machines_do_not_probe(void)
{
	struct rig rig = gap_warm(14, false);

	rig.s->latency_ns = 10 * SIM_MS;
	rig.s->busy_until = rig.s->now + 45 * SIM_MS;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, LONG);
	rig_send(&rig, 2, CAIRN_WQE_READ, LONG);
	expect_recovered(&rig, 2);
	ktap_eq(rig.s->count[CAIRN_CTR_TAIL_PROBES], 0);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	ktap_eq(rig.s->count[CAIRN_CTR_RETRANSMITS], 0);
	sim_end(rig.s);
}

/* A loss meanwhile is found soon after. */
static void late_machines_find_losses(void)
{
	struct rig rig = gap_warm(20, false);
	struct loss loss = { .first = 50, .last = 59 };
	u64 end = rig.s->now + 50 * SIM_MS;

	rig.s->busy_until = end;
	gap_lossy(&rig, &loss);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, LONG);
	expect_recovered(&rig, 1);
	ktap_ok(rig.a->cq[CAIRN_REQ].log[1].when < end + 8 * SIM_MS);
	ktap_ok(rig.s->count[CAIRN_CTR_TAIL_PROBES] >= 1);
	sim_end(rig.s);
}

/* A machine that is always late finds a dead peer within four times the timeout of each
 * try.
 */
static void late_machines_find_dead_peers(void)
{
	struct rig rig = gap_warm(14, false);
	u64 start = rig.s->now;

	rig.s->dead[1] = true;
	rig.s->busy_until = U64_MAX;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 1, 1, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_ok(rig.a->cq[CAIRN_REQ].log[1].when - start <=
		(sim_attrs.retry_cnt + 1) * 5 * (4096ULL << 14));
	sim_end(rig.s);
}

/* A lost packet is sent again although the machine is always late. */
static void late_machines_probe_in_the_end(void)
{
	struct rig rig = gap_warm(20, false);
	struct loss loss = { .first = 59, .last = 59 };
	u64 start = rig.s->now;

	rig.s->busy_until = U64_MAX;
	gap_lossy(&rig, &loss);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, LONG);
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
	expect_recovered(&rig, 1);
	ktap_ok(rig.a->cq[CAIRN_REQ].log[1].when - start < SIM_SEC);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	sim_end(rig.s);
}

/* A slow peer's round trip is learnt, so it is not probed again and again. */
static void slow_peers_are_learnt(void)
{
	struct rig rig = gap_warm(20, false);
	u32 i;

	rig.s->latency_ns = 5 * SIM_MS;
	for (i = 1; i <= 100; i++) {
		rig_send(&rig, i, CAIRN_WQE_WRITE, 8);
		ktap_ok(sim_run(rig.s, SIM_SEC));
	}
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 100, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	ktap_ok(rig.s->count[CAIRN_CTR_TAIL_PROBES] < 20);
	sim_end(rig.s);
}

/* Responses behind a missing one are kept, whatever they answer. */
static void responses_behind_a_gap_are_kept(void)
{
	struct loss loss = { .opcode = CAIRN_BTH_READ_RESP_FIRST,
			  .by_opcode = true };
	struct rig rig = gap_warm(20, false);
	u64 before;
	u32 i;

	memcpy(&before, rig.mb->mem, 8);
	rig.b->hooks.emit = gap_lose;
	rig.b->hooks.arg = &loss;
	rig_send(&rig, 1, CAIRN_WQE_READ, 5000);
	for (i = 2; i < 8; i++)
		rig_send(&rig, i, i & 1 ? CAIRN_WQE_FAA : CAIRN_WQE_READ,
			 i & 1 ? 8 : 3000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 7, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.s->count[CAIRN_CTR_IMPLIED_NAKS], 1);
	ktap_eq(rig.s->count[CAIRN_CTR_RESPONSES_AHEAD], 4 + 3 * 3 + 3);
	/* the first READ, nothing else */
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_READ_REQ), 5);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_ATOMIC_REQ), 3);
	ktap_eq(rig.b->atomics, 3);
	sim_end(rig.s);
}

/* Retransmissions are in proportion to losses. */
static u64 repeated_per_loss(u64 seed, u32 ops)
{
	struct flow_cfg cfg = flow_default;
	struct pair pair = pair_new(seed, &sim_rc, PMTU);
	struct flow *flow;
	u64 per_mille;

	cfg.wrs = 100;
	cfg.max_len = 65536;
	cfg.area = 100000;
	cfg.ops = ops;
	cfg.fence = 0;
	pair.s->faults.loss = 10;
	flow = flow_new(pair.a, pair.b, &cfg);
	flow_random(flow);
	flow_run(&flow, 1);
	per_mille = 1000 * pair.s->count[CAIRN_CTR_RETRANSMITS] /
		    max(pair.s->drops, 1u);
	ktap_ok(pair.s->drops > 3);
	sim_end(pair.s);
	return per_mille;
}

static void little_is_repeated(void)
{
	u64 sum = 0, n = 0;

	for_seeds(seed, 30) {
		/* no SENDs: after an RNR NAK all is repeated, lost or not */
		sum += repeated_per_loss(seed, 1 << CAIRN_WQE_WRITE);
		n++;
	}
	ktap_diag("%llu.%02llu packets repeated for each lost one",
		  sum / n / 1000, sum / n % 1000 / 10);
	ktap_ok(sum / n < 3000);
}

static const struct ktap_test tests[] = {
	KTAP(one_packet_is_repeated),
	KTAP(a_train_is_repeated),
	KTAP(a_longer_gap_is_repeated),
	KTAP(plain_peers_get_everything),
	KTAP(plain_peers_are_remembered),
	KTAP(lost_tails_are_probed),
	KTAP(a_lost_first_packet_is_probed),
	KTAP(lost_acks_are_probed),
	KTAP(lost_reports_are_probed),
	KTAP(probes_end),
	KTAP(no_probes_without_need),
	KTAP(late_machines_do_not_probe),
	KTAP(late_machines_find_losses),
	KTAP(late_machines_find_dead_peers),
	KTAP(late_machines_probe_in_the_end),
	KTAP(slow_peers_are_learnt),
	KTAP(responses_behind_a_gap_are_kept),
	KTAP(little_is_repeated),
};

KTAP_MAIN(tests)
