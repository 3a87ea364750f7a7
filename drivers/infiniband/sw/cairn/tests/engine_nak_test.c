// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A scripted peer gives good and bad answers to a requester: status of the completion,
 * state of the QP, flush of all other requests.
 */
#include "engine.h"
#include "engine/window.h"

/* A QP whose peer is this test: requests go nowhere, answers are injected. */
static struct rig nak_alone(const struct cairn_qp_attrs *attrs)
{
	struct rig rig = rig_with(1, &sim_rc, attrs);

	rig.s->dead[1] = true;
	return rig;
}

static void nak_settle(struct rig *rig)
{
	sim_run(rig->s, 10 * SIM_US);
}

/* Answer PSN number @n of a's program. */
static void nak_answer(struct rig *rig, u8 opcode, u32 n, u8 syndrome, u32 msn,
		       u32 len)
{
	struct cairn_pkt pkt = {
		.opcode = opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->a->c.qpn,
		.psn = cairn_psn_add(rig->a->psn, n),
		.syndrome = syndrome,
		.msn = msn,
		.payload_len = len,
	};

	sim_inject(rig->a, &pkt, rig->mb->mem);
	nak_settle(rig);
}

static void nak_ack(struct rig *rig, u32 n, u8 syndrome)
{
	nak_answer(rig, CAIRN_BTH_ACK, n, syndrome, 0, 0);
}

struct nak_case {
	u8 code;
	u8 status;
};

static const struct nak_case fatal_naks[] = {
	{ CAIRN_NAK_INVALID_REQUEST, CAIRN_CQE_REM_INV_REQ_ERR },
	{ CAIRN_NAK_REMOTE_ACCESS, CAIRN_CQE_REM_ACCESS_ERR },
	{ CAIRN_NAK_REMOTE_OP, CAIRN_CQE_REM_OP_ERR },
	{ CAIRN_NAK_INVALID_RD_REQUEST, CAIRN_CQE_REM_INV_REQ_ERR },
};

/* The NAK acknowledges what is before it, fails its own, flushes the rest. */
static void fatal_naks_end_the_connection(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fatal_naks); i++) {
		struct rig rig = nak_alone(&sim_attrs);

		rig_recv_a(&rig, 11);
		rig_recv_a(&rig, 12);
		rig_send(&rig, 1, CAIRN_WQE_WRITE, 1024);		/* 0 */
		rig_send(&rig, 2, CAIRN_WQE_SEND, 2048);		/* 1, 2 */
		rig_send(&rig, 3, CAIRN_WQE_WRITE, 3072);		/* 3..5 */
		rig_send(&rig, 4, CAIRN_WQE_READ, 1);
		rig_send(&rig, 5, CAIRN_WQE_SEND, 1);
		nak_settle(&rig);
		nak_ack(&rig, 4, CAIRN_AETH_NAK | fatal_naks[i].code);
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
		expect_cqe(rig.a, CAIRN_REQ, 2, 3, fatal_naks[i].status);
		expect_cqes(rig.a, CAIRN_REQ, 3, 4, 5, CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(rig.a->cq[CAIRN_REQ].n, 5);
		expect_cqes(rig.a, CAIRN_RESP, 0, 11, 12,
			    CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
		ktap_eq(rig.a->cq[CAIRN_REQ].log[2].cqe.vendor_err,
			CAIRN_AETH_NAK | fatal_naks[i].code);
		/* what is posted now is flushed as well */
		rig_send(&rig, 6, CAIRN_WQE_SEND, 1);
		rig_recv_a(&rig, 13);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 5, 6, CAIRN_CQE_WR_FLUSH_ERR);
		expect_cqe(rig.a, CAIRN_RESP, 2, 13, CAIRN_CQE_WR_FLUSH_ERR);
		sim_end(rig.s);
	}
}

/* Responses of a READ and a NAK leave the peer by different CPUs. */
static void a_fatal_nak_that_overtakes_responses(void)
{
	const u8 nak = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS;
	struct rig rig = nak_alone(&sim_attrs);

	rig_send(&rig, 1, CAIRN_WQE_READ, 2048);		/* 0, 1 */
	rig_send(&rig, 2, CAIRN_WQE_READ, 3072);		/* 2..4 */
	rig_send(&rig, 3, CAIRN_WQE_SEND, 1);
	nak_settle(&rig);
	nak_ack(&rig, 3, nak);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 0);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 0, 0, 1, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_LAST, 1, 0, 1, 1024);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 2, 0, 2, 1024);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_ACCESS_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.a->cq[CAIRN_REQ].log[1].cqe.vendor_err, nak);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

/* The first response is the last to come. It is asked for again, but the peer is silent
 * now: those that have come are not waited for once more.
 */
static void a_fatal_nak_behind_a_late_response(void)
{
	const u8 nak = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS;
	struct rig rig = nak_alone(&sim_attrs);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_READ_RESP_MIDDLE,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig.a->c.qpn,
		.psn = cairn_psn_add(rig.a->psn, 1),
		.payload_len = 1024,
	};

	rig_send(&rig, 1, CAIRN_WQE_READ, 3072);		/* 0..2 */
	rig_send(&rig, 2, CAIRN_WQE_READ, 1024);		/* 3 */
	rig_send(&rig, 3, CAIRN_WQE_WRITE, 1);
	rig_send(&rig, 4, CAIRN_WQE_SEND, 1);
	nak_settle(&rig);
	sim_inject_part(rig.a, &pkt, rig.mb->mem);
	pkt.psn = cairn_psn_add(rig.a->psn, 2);
	pkt.opcode = CAIRN_BTH_READ_RESP_LAST;
	sim_inject_part(rig.a, &pkt, rig.mb->mem);
	pkt.psn = cairn_psn_add(rig.a->psn, 3);
	pkt.opcode = CAIRN_BTH_READ_RESP_ONLY;
	sim_inject_part(rig.a, &pkt, rig.mb->mem);
	nak_ack(&rig, 4, nak);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 0);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_READ_REQ), 3);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 0, 0, 1, 1024);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_REM_ACCESS_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 3, 4, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

/* The peer answers what it is said to have refused: it was not the peer's word. */
static void a_fatal_nak_that_responses_belie(void)
{
	struct rig rig = nak_alone(&sim_attrs);

	rig_send(&rig, 1, CAIRN_WQE_READ, 3072);
	nak_settle(&rig);
	nak_ack(&rig, 1, CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_MIDDLE, 1, 0, 1, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_LAST, 2, 0, 1, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 0, 0, 1, 1024);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

/* A READ is asked for again while it is answered, and its memory goes: what is
 * refused has come, of the answers that were on their way.
 */
static void a_fatal_nak_of_what_came(void)
{
	const u8 nak = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS;
	struct rig rig = nak_alone(&sim_attrs);

	rig_send(&rig, 1, CAIRN_WQE_READ, 1024);		/* 0 */
	rig_send(&rig, 2, CAIRN_WQE_READ, 3072);		/* 1..3 */
	rig_send(&rig, 3, CAIRN_WQE_SEND, 1);
	nak_settle(&rig);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_ONLY, 0, 0, 1, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 1, 0, 2, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_MIDDLE, 2, 0, 2, 1024);
	nak_ack(&rig, 1, CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	nak_ack(&rig, 1, nak);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_ACCESS_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

/* As before, and it is a READ before that was refused: that one has come whole. */
static void a_fatal_nak_of_a_read_that_is_over(void)
{
	const u8 nak = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS;
	struct rig rig = nak_alone(&sim_attrs);

	rig_send(&rig, 1, CAIRN_WQE_READ, 1024);		/* 0 */
	rig_send(&rig, 2, CAIRN_WQE_READ, 3072);		/* 1..3 */
	nak_settle(&rig);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_ONLY, 0, 0, 1, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 1, 0, 2, 1024);
	nak_ack(&rig, 0, nak);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_ACCESS_ERR);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

/* The oldest unanswered request is no READ: its answer may be in flight, and the old NAK
 * does not belong to it.
 */
static void a_fatal_nak_of_a_read_before_a_send(void)
{
	struct rig rig = nak_alone(&sim_attrs);

	rig_send(&rig, 1, CAIRN_WQE_READ, 1024);		/* 0 */
	rig_send(&rig, 2, CAIRN_WQE_SEND, 1);
	nak_settle(&rig);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_ONLY, 0, 0, 1, 1024);
	nak_ack(&rig, 0, CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	ktap_eq(rig.a->count[CAIRN_CTR_STALE_RESPONSES], 1);
	nak_ack(&rig, 1, CAIRN_AETH_ACK);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* The refusal came before answers that were sent before it, and what has come
 * reaches beyond its PSN when the gap closes.
 */
static void a_fatal_nak_that_answers_pass(void)
{
	const u8 nak = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS;
	struct rig rig = nak_alone(&sim_attrs);

	rig_send(&rig, 1, CAIRN_WQE_READ, 1024);		/* 0 */
	rig_send(&rig, 2, CAIRN_WQE_READ, 3072);		/* 1..3 */
	nak_settle(&rig);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 1, 0, 2, 1024);
	nak_ack(&rig, 1, nak);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_ONLY, 0, 0, 1, 1024);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_ACCESS_ERR);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

/* A long READ does not help to guess a PSN: no more than a window of PSNs is accepted. */
static void a_fatal_nak_of_what_came_long_ago(void)
{
	const u8 nak = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS;
	struct cairn_qp_attrs attrs = sim_attrs;
	u32 n, window, chunk;
	struct rig rig;

	attrs.pmtu = 4096;
	rig = nak_alone(&attrs);
	window = cairn_window(&rig.a->c);
	chunk = cairn_window_read_chunk(&rig.a->c);
	rig.ma = sim_mr(rig.s, 0, 4 * window * attrs.pmtu, SIM_ALL);
	rig.mb = sim_mr(rig.s, 1, 4 * window * attrs.pmtu, SIM_ALL);
	rig_send(&rig, 1, CAIRN_WQE_READ, 4 * window * attrs.pmtu);
	nak_settle(&rig);
	for (n = 0; n < 3 * window; n++)
		nak_answer(&rig, n % chunk == 0 ? CAIRN_BTH_READ_RESP_FIRST :
			   n % chunk == chunk - 1 ? CAIRN_BTH_READ_RESP_LAST :
						CAIRN_BTH_READ_RESP_MIDDLE,
			   n, 0, 1, attrs.pmtu);
	ktap_eq(cairn_psn_diff(rig.a->c.req.una, rig.a->psn), 3 * window);
	for (n = 0; n < 2 * window; n++)
		nak_ack(&rig, n, nak);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	ktap_eq(rig.a->count[CAIRN_CTR_STALE_RESPONSES], 2 * window);
	nak_ack(&rig, 2 * window, nak);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	sim_end(rig.s);
}

/* Reserved AETH types and NAK codes mean nothing and change nothing. */
static void reserved_syndromes_are_ignored(void)
{
	struct rig rig = nak_alone(&sim_attrs);
	u32 syndrome;

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 1024);
	nak_settle(&rig);
	for (syndrome = 0x40; syndrome < 0x100; syndrome++) {
		if (syndrome >= CAIRN_AETH_NAK &&
		    syndrome <= (CAIRN_AETH_NAK | CAIRN_NAK_INVALID_RD_REQUEST))
			continue;
		nak_ack(&rig, 0, syndrome);
		if (!ktap_eq(rig.a->cq[CAIRN_REQ].n, 0))
			break;
	}
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), 1);
	nak_ack(&rig, 0, CAIRN_AETH_ACK);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* Sequence NAK: acknowledge before it, repeat from it, at once. */
static void sequence_nak_goes_back_exactly(void)
{
	struct rig rig = nak_alone(&sim_attrs);
	u32 from;

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 2048);		/* 0, 1 */
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 4096);		/* 2..5 */
	nak_settle(&rig);
	from = rig.s->n_sent;
	nak_ack(&rig, 3, CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
	ktap_eq(rig.s->n_sent, from + 3);
	ktap_eq(rig.s->sent[from].pkt.psn, cairn_psn_add(rig.a->psn, 3));
	ktap_eq(rig.s->sent[from].pkt.opcode, CAIRN_BTH_WRITE_MIDDLE);
	ktap_eq(rig.s->sent[from + 2].pkt.opcode, CAIRN_BTH_WRITE_LAST);
	ktap_ok(rig.s->sent[from].retransmit);
	nak_ack(&rig, 5, CAIRN_AETH_ACK);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* Without progress, each sequence NAK costs a retry. */
static void sequence_naks_without_progress_end(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;
	u32 i;

	attrs.retry_cnt = 3;
	rig = nak_alone(&attrs);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 1024);
	nak_settle(&rig);
	for (i = 0; i < 4; i++)
		nak_ack(&rig, 0, CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	sim_end(rig.s);
}

/* A peer that misses what was never sent has all that was. */
static void a_nak_of_the_next_is_an_ack(void)
{
	static const u8 syndromes[] = {
		CAIRN_AETH_RNR_NAK | 1, CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(syndromes); i++) {
		struct rig rig = nak_alone(&sim_attrs);

		rig_send(&rig, 1, CAIRN_WQE_WRITE, 2048);
		nak_settle(&rig);
		nak_ack(&rig, 2, syndromes[i]);
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
		ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), 2);
		sim_end(rig.s);
	}
}

/* Answers to PSNs that are not on the way are no answers. */
static void answers_out_of_the_window(void)
{
	static const u8 syndromes[] = {
		CAIRN_AETH_ACK, CAIRN_AETH_RNR_NAK | 1,
		CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ,
		CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS,
	};
	static const u32 psns[] = { 2, 3, 1000, 0x7fffff, 0x800000, 0xffffff };
	struct rig rig = nak_alone(&sim_attrs);
	u32 i, k;

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 2048);
	nak_settle(&rig);
	for (i = 0; i < ARRAY_SIZE(syndromes); i++)
		for (k = 0; k < ARRAY_SIZE(psns); k++)
			/* those of the next PSN are ACKs, see below */
			if (psns[k] != 2 || (i != 1 && i != 2))
				nak_ack(&rig, psns[k], syndromes[i]);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 0);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), 2);
	nak_ack(&rig, 1, CAIRN_AETH_ACK);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	/* the same once more, now that nothing is outstanding */
	for (i = 0; i < ARRAY_SIZE(syndromes); i++)
		nak_ack(&rig, 1, syndromes[i]);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	sim_end(rig.s);
}

/* One ACK completes everything before it, but no READ: that is asked for again,
 * and nothing else.
 */
static void ack_coalesced_over_a_read_is_an_implied_nak(void)
{
	struct rig rig = nak_alone(&sim_attrs);
	u32 from;

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 1024);		/* 0 */
	rig_send(&rig, 2, CAIRN_WQE_READ, 2048);		/* 1, 2 */
	rig_send(&rig, 3, CAIRN_WQE_WRITE, 1024);		/* 3 */
	nak_settle(&rig);
	from = rig.s->n_sent;
	nak_ack(&rig, 3, CAIRN_AETH_ACK);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
	ktap_eq(rig.s->n_sent, from + 1);
	ktap_eq(rig.s->sent[from].pkt.opcode, CAIRN_BTH_READ_REQUEST);
	ktap_eq(rig.s->sent[from].pkt.psn, cairn_psn_add(rig.a->psn, 1));
	/* more of the same burst do not repeat it */
	nak_ack(&rig, 3, CAIRN_AETH_ACK);
	ktap_eq(rig.s->n_sent, from + 1);
	/* but after another attempt, by timeout, one does */
	sim_run(rig.s, 500 * SIM_MS);
	ktap_ok(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS] > 0);
	from = rig.s->n_sent;
	nak_ack(&rig, 3, CAIRN_AETH_ACK);
	ktap_eq(rig.s->n_sent, from + 1);
	/* what the ACK said is not forgotten */
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 1, 0, 2, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_LAST, 2, 0, 2, 1024);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* A READ that broke off is asked for from there. */
static void read_resumes_where_it_broke_off(void)
{
	struct rig rig = nak_alone(&sim_attrs);
	const struct cairn_pkt *pkt;

	rig_send(&rig, 1, CAIRN_WQE_READ, 5000);
	nak_settle(&rig);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 0, 0, 1, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_MIDDLE, 1, 0, 1, 1024);
	sim_run(rig.s, 100 * SIM_MS);
	pkt = last_sent(rig.a);
	ktap_eq(pkt->opcode, CAIRN_BTH_READ_REQUEST);
	ktap_eq(pkt->psn, cairn_psn_add(rig.a->psn, 2));
	ktap_eq(pkt->va, rig.mb->va + 2048);
	ktap_eq(pkt->dma_len, 5000 - 2048);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 2, 0, 1, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_MIDDLE, 3, 0, 1, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_LAST, 4, 0, 1, 5000 - 4096);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

struct response {
	u8 opcode;
	u32 n;
	u32 len;
};

/* Responses that do not fit the request end it with BAD_RESP. */
static void responses_of_the_wrong_length(void)
{
	static const struct response bad[] = {
		{ CAIRN_BTH_READ_RESP_FIRST, 0, 1000 },
		{ CAIRN_BTH_READ_RESP_FIRST, 0, 1028 },
		{ CAIRN_BTH_READ_RESP_ONLY, 0, 1024 },
		{ CAIRN_BTH_READ_RESP_ONLY, 0, 0 },
		{ CAIRN_BTH_READ_RESP_LAST, 0, 952 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rig rig = nak_alone(&sim_attrs);
		u8 before[RIG_LEN];

		memcpy(before, rig.ma->mem, RIG_LEN);
		rig_send(&rig, 1, CAIRN_WQE_READ, 3000);
		rig_send(&rig, 2, CAIRN_WQE_WRITE, 10);
		nak_settle(&rig);
		nak_answer(&rig, bad[i].opcode, bad[i].n, 0, 1, bad[i].len);
		if (!expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_BAD_RESP_ERR))
			ktap_diag("response %u", i);
		expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
		ktap_mem_eq(rig.ma->mem, before, RIG_LEN);
		sim_end(rig.s);
	}
}

/* A response of the wrong kind is not one, and never a success. */
static void responses_of_the_wrong_kind(void)
{
	struct rig rig = nak_alone(&sim_attrs);
	u8 before[RIG_LEN];

	memcpy(before, rig.ma->mem, RIG_LEN);
	rig_send(&rig, 1, CAIRN_WQE_READ, 8);	/* 0 */
	rig_send(&rig, 2, CAIRN_WQE_FAA, 8);	/* 1 */
	rig_send(&rig, 3, CAIRN_WQE_WRITE, 8);	/* 2 */
	nak_settle(&rig);
	nak_answer(&rig, CAIRN_BTH_ATOMIC_ACK, 0, 0, 1, 0);
	nak_answer(&rig, CAIRN_BTH_ATOMIC_ACK, 2, 0, 1, 0);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_ONLY, 1, 0, 1, 8);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_ONLY, 2, 0, 1, 8);
	nak_answer(&rig, CAIRN_BTH_ACK, 0, 0, 1, 0);
	nak_answer(&rig, CAIRN_BTH_ACK, 1, 0, 1, 0);
	ktap_mem_eq(rig.ma->mem, before, RIG_LEN);
	if (rig.a->cq[CAIRN_REQ].n)
		ktap_ok(rig.a->cq[CAIRN_REQ].log[0].cqe.status !=
			CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void duplicate_responses_change_nothing(void)
{
	struct rig rig = nak_alone(&sim_attrs);
	u8 after[RIG_LEN];

	rig_send(&rig, 1, CAIRN_WQE_READ, 2000);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 8);
	nak_settle(&rig);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 0, 0, 1, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_LAST, 1, 0, 1, 976);
	memset(rig.mb->mem, 0, 4096);
	memcpy(after, rig.ma->mem, RIG_LEN);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_FIRST, 0, 0, 1, 1024);
	nak_answer(&rig, CAIRN_BTH_READ_RESP_LAST, 1, 0, 1, 976);
	ktap_mem_eq(rig.ma->mem, after, RIG_LEN);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

/* Answers in states in which no request can be outstanding. */
static void answers_in_other_states(void)
{
	struct rig rig = nak_alone(&sim_attrs);

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	nak_settle(&rig);
	sim_modify(rig.a, CAIRN_QP_ERR);
	nak_settle(&rig);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_WR_FLUSH_ERR);
	nak_ack(&rig, 0, CAIRN_AETH_ACK);
	sim_reset(rig.a);
	nak_ack(&rig, 0, CAIRN_AETH_ACK);
	sim_modify(rig.a, CAIRN_QP_INIT);
	nak_ack(&rig, 0, CAIRN_AETH_ACK);
	sim_modify(rig.a, CAIRN_QP_RTR);
	nak_ack(&rig, 0, CAIRN_AETH_ACK);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 1);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	sim_end(rig.s);
}

/* A partition that is not ours. Bit 15 says full or limited member. */
static void wrong_pkey_is_dropped(void)
{
	struct rig rig = nak_alone(&sim_attrs);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_ACK,
		.pkey = 0x8001,
		.qpn = rig.a->c.qpn,
		.psn = rig.a->psn,
	};

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	nak_settle(&rig);
	sim_inject(rig.a, &pkt, NULL);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 0);
	ktap_eq(rig.a->count[CAIRN_CTR_RX_PKEY_ERRORS], 1);
	/* two limited members do not talk to each other */
	rig.a->c.attrs.pkey = 0x7fff;
	pkt.pkey = 0x7fff;
	sim_inject(rig.a, &pkt, NULL);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 0);
	ktap_eq(rig.a->count[CAIRN_CTR_RX_PKEY_ERRORS], 2);
	ktap_eq(rig.a->count[CAIRN_CTR_RX_WRONG_QP], 0);
	rig.a->c.attrs.pkey = CAIRN_PKEY_DEFAULT;
	sim_inject(rig.a, &pkt, NULL);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(fatal_naks_end_the_connection),
	KTAP(a_fatal_nak_that_overtakes_responses),
	KTAP(a_fatal_nak_behind_a_late_response),
	KTAP(a_fatal_nak_that_responses_belie),
	KTAP(a_fatal_nak_of_what_came),
	KTAP(a_fatal_nak_of_a_read_that_is_over),
	KTAP(a_fatal_nak_of_a_read_before_a_send),
	KTAP(a_fatal_nak_that_answers_pass),
	KTAP(a_fatal_nak_of_what_came_long_ago),
	KTAP(reserved_syndromes_are_ignored),
	KTAP(sequence_nak_goes_back_exactly),
	KTAP(sequence_naks_without_progress_end),
	KTAP(a_nak_of_the_next_is_an_ack),
	KTAP(answers_out_of_the_window),
	KTAP(ack_coalesced_over_a_read_is_an_implied_nak),
	KTAP(read_resumes_where_it_broke_off),
	KTAP(responses_of_the_wrong_length),
	KTAP(responses_of_the_wrong_kind),
	KTAP(duplicate_responses_change_nothing),
	KTAP(answers_in_other_states),
	KTAP(wrong_pkey_is_dropped),
};

KTAP_MAIN(tests)
