// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How much a requester has under way at once: all that was agreed, so that a
 * long path is filled, and no more, so that a busy peer can keep it.
 */
#include "engine.h"

#define WINDOW	(512 * 1024)	/* bytes of one QP, READ responses included */

static const u16 pmtus[] = { 256, 512, 1024, 2048, 4096 };

/* The peer is silent: what leaves is what may be under way. */
static struct rig silent_from(u64 seed, u8 max_rd_atomic, u16 pmtu)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.max_rd_atomic = max_rd_atomic;
	attrs.timeout = 0;
	attrs.pmtu = pmtu;
	rig = rig_with(seed, &sim_rc, &attrs);
	rig.s->dead[1] = true;
	return rig;
}

static struct rig window_silent(u8 max_rd_atomic, u16 pmtu)
{
	return silent_from(1, max_rd_atomic, pmtu);
}

static void window_post(struct rig *rig, u32 n, u8 opcode, u32 len)
{
	while (n--)
		rig_send(rig, 0, opcode, len);
	ktap_ok(sim_run(rig->s, SIM_SEC));
}

static u32 window_reads(const struct rig *rig)
{
	return sent_kind(rig->a, 0, CAIRN_KIND_READ_REQ) +
	       sent_kind(rig->a, 0, CAIRN_KIND_ATOMIC_REQ);
}

static void agreed_reads_are_used(void)
{
	u32 max;

	for (max = 1; max <= 16; max++) {
		struct rig rig = window_silent(max, 1024);

		window_post(&rig, 20, CAIRN_WQE_READ, 100);
		ktap_eq(window_reads(&rig), max);
		sim_end(rig.s);

		rig = window_silent(max, 1024);
		window_post(&rig, 10, CAIRN_WQE_FAA, 8);
		window_post(&rig, 10, CAIRN_WQE_READ, 5000);
		ktap_eq(window_reads(&rig), max);
		sim_end(rig.s);
	}
}

/* Other requests go on up to the READ that may not. */
static void reads_hold_up_what_follows(void)
{
	struct rig rig = window_silent(2, 1024);

	window_post(&rig, 2, CAIRN_WQE_READ, 100);
	window_post(&rig, 5, CAIRN_WQE_WRITE, 100);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), 5);
	window_post(&rig, 1, CAIRN_WQE_READ, 100);
	window_post(&rig, 5, CAIRN_WQE_WRITE, 100);
	ktap_eq(window_reads(&rig), 2);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), 5);
	sim_end(rig.s);
}

static void fence_waits_for_reads_only(void)
{
	struct rig rig = window_silent(4, 1024);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE, 100);

	window_post(&rig, 3, CAIRN_WQE_WRITE, 100);
	wr.flags |= CAIRN_WQE_FENCE;
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), 4);
	window_post(&rig, 1, CAIRN_WQE_FAA, 8);
	sim_post_send(rig.a, &wr);
	window_post(&rig, 1, CAIRN_WQE_WRITE, 100);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), 4);
	sim_end(rig.s);
}

/* Bytes that the peer holds or is asked for. */
static u64 bytes_out(const struct rig *rig)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < rig->s->n_sent; i++)
		sum += rig->s->sent[i].pkt.payload_len +
		       (rig->s->sent[i].pkt.op->kind == CAIRN_KIND_READ_REQ ?
			rig->s->sent[i].pkt.dma_len : 0);
	return sum;
}

static void bytes_are_bounded(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE, CAIRN_WQE_SEND,
				  CAIRN_WQE_READ };
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(pmtus); i++) {
		for (k = 0; k < ARRAY_SIZE(ops); k++) {
			struct rig rig = window_silent(16, pmtus[i]);
			u64 out;

			window_post(&rig, 30, ops[k], 60000);
			out = bytes_out(&rig);
			ktap_ok(out <= WINDOW);
			/* short READs are bounded by their number */
			ktap_ok(out >= WINDOW / 5);
			sim_end(rig.s);
		}
	}
}

/* The last packet of the window sets AckReq, or no answer would ever come. */
static void end_of_the_window_asks(void)
{
	u32 i;

	/* from different PSNs */
	for (i = 0; i < 100 && !ktap.failures; i++) {
		struct rig rig = silent_from(i, 16, pmtus[i % 5]);
		struct cairn_sge sge[32];
		struct sim_wr wr = rig_wr(&rig, sge, CAIRN_WQE_WRITE, 60000);

		for (wr.num_sge = 0; wr.num_sge < 32; wr.num_sge++)
			sge[wr.num_sge] = sim_sge(rig.ma, 0, 60000);
		sim_post_send(rig.a, &wr);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		ktap_ok(last_sent(rig.a)->ack_req);
		ktap_ok(bytes_out(&rig) <= WINDOW);
		sim_end(rig.s);
	}
}

/* One long READ fills the window exactly, in whole requests. */
static void long_read_fills_the_window(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pmtus); i++) {
		struct rig rig = window_silent(16, pmtus[i]);
		struct cairn_sge sge[32];
		struct sim_wr wr = rig_wr(&rig, sge, CAIRN_WQE_READ, 60000);

		for (wr.num_sge = 0; wr.num_sge < 32; wr.num_sge++)
			sge[wr.num_sge] = sim_sge(rig.ma, 0, 60000);
		sim_post_send(rig.a, &wr);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		ktap_eq(bytes_out(&rig), min(WINDOW, 512 * pmtus[i]));
		ktap_eq(window_reads(&rig), 2);
		sim_end(rig.s);
	}
}

/* A whole ring of one-unit requests can be under way. */
static void the_whole_ring_leaves(void)
{
	struct rig rig = window_silent(16, 1024);

	window_post(&rig, 128, CAIRN_WQE_WRITE, 8);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), 128);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(agreed_reads_are_used),
	KTAP(reads_hold_up_what_follows),
	KTAP(fence_waits_for_reads_only),
	KTAP(bytes_are_bounded),
	KTAP(end_of_the_window_asks),
	KTAP(long_read_fills_the_window),
	KTAP(the_whole_ring_leaves),
};

KTAP_MAIN(tests)
