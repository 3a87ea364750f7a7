// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A responder and a scripted requester: every packet by hand. Sequences that
 * must not be, sizes, duplicates of READs and atomics, acknowledgements.
 */
#include "engine.h"

#define PMTU	1024

/* b is the engine under test; its answers are in sent[] of the world. */
static struct rig alone_with(const struct cairn_qp_attrs *attrs,
			     const struct sim_qp_init *init)
{
	struct rig rig = rig_with(1, init, attrs);

	rig.s->dead[0] = true;
	return rig;
}

static struct rig resp_alone(void)
{
	struct sim_qp_init init = sim_rc;
	struct cairn_qp_attrs attrs = sim_attrs;

	attrs.max_dest_rd_atomic = 4;
	init.rd_slots = 4;
	return alone_with(&attrs, &init);
}

struct req {
	u8 opcode;
	u32 len;		/* payload */
	u32 dma_len;
	u32 off;		/* in mb */
	u32 rkey;		/* 0: that of mb */
	u64 add, compare;
	bool ack;
	bool solicited;
};

static struct cairn_pkt pkt_of(const struct rig *rig, u32 n, const struct req *req)
{
	return (struct cairn_pkt){
		.opcode = req->opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->b->c.qpn,
		.psn = cairn_psn_add(rig->a->psn, n),
		.payload_len = req->len,
		.ack_req = req->ack,
		.solicited = req->solicited,
		.va = rig->mb->va + req->off,
		.rkey = req->rkey ?: rig->mb->key,
		.dma_len = req->dma_len,
		.swap_add = req->add,
		.compare = req->compare,
	};
}

/* PSN number @n arrives and b has its turn. */
static void resp_get(struct rig *rig, u32 n, struct req req)
{
	struct cairn_pkt pkt = pkt_of(rig, n, &req);

	sim_inject(rig->b, &pkt, rig->ma->mem);
	sim_run(rig->s, 2 * SIM_US);
}

/* The same as part of a train. */
static void resp_part(struct rig *rig, u32 n, struct req req)
{
	struct cairn_pkt pkt = pkt_of(rig, n, &req);

	sim_inject_part(rig->b, &pkt, rig->ma->mem);
}

#define ACKED	0x100	/* any positive syndrome */

/* The last packet is an ACK or NAK for PSN number @n, sent after @from. */
#define expect_aeth(r, from, n, syn)					\
	expect_aeth_at(__LINE__, r, from, n, syn)

static bool expect_aeth_at(int line, struct rig *rig, u32 from, u32 n,
			   u32 syndrome)
{
	const struct cairn_pkt *pkt = last_sent(rig->b);
	u32 got;

	if (rig->s->n_sent == from || !pkt || pkt->opcode != CAIRN_BTH_ACK) {
		ktap_fail_at(__FILE__, line, "no ACK or NAK (%u packets)",
			     rig->s->n_sent - from);
		return false;
	}
	got = pkt->syndrome & CAIRN_AETH_TYPE_MASK ? pkt->syndrome : ACKED;
	if (got != syndrome || pkt->psn != cairn_psn_add(rig->a->psn, n)) {
		ktap_fail_at(__FILE__, line, "syndrome %x for PSN %d", got,
			     cairn_psn_diff(pkt->psn, rig->a->psn));
		return false;
	}
	return true;
}

#define INVALID_REQ	(CAIRN_AETH_NAK | CAIRN_NAK_INVALID_REQUEST)
#define SEQ_ERR		(CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ)

static const struct req send_first = { CAIRN_BTH_SEND_FIRST, PMTU };
static const struct req send_middle = { CAIRN_BTH_SEND_MIDDLE, PMTU };
static const struct req send_last = { CAIRN_BTH_SEND_LAST, 10, .ack = true };
static const struct req send_only = { CAIRN_BTH_SEND_ONLY, 10, .ack = true };
static const struct req write_first = { CAIRN_BTH_WRITE_FIRST, PMTU,
					.dma_len = 2 * PMTU + 10 };
static const struct req write_middle = { CAIRN_BTH_WRITE_MIDDLE, PMTU };
static const struct req write_only = { CAIRN_BTH_WRITE_ONLY, 10,
				       .dma_len = 10, .ack = true };
static const struct req read_req = { CAIRN_BTH_READ_REQUEST,
				     .dma_len = 3000, .ack = true };
static const struct req faa = { CAIRN_BTH_FETCH_ADD, .add = 1, .ack = true };

/* Good packets, then one that may not follow. */
struct sequence {
	const char *name;
	const struct req *good[3];
	struct req bad;
};

static const struct sequence sequences[] = {
	{ "middle of nothing", { NULL }, { CAIRN_BTH_SEND_MIDDLE, PMTU } },
	{ "last of nothing", { NULL }, { CAIRN_BTH_SEND_LAST, 10 } },
	{ "last with imm of nothing", { NULL },
	  { CAIRN_BTH_SEND_LAST_IMM, 10 } },
	{ "last with inv of nothing", { NULL },
	  { CAIRN_BTH_SEND_LAST_INV, 10 } },
	{ "write middle of nothing", { NULL },
	  { CAIRN_BTH_WRITE_MIDDLE, PMTU } },
	{ "write last of nothing", { NULL }, { CAIRN_BTH_WRITE_LAST, 10 } },
	{ "first in a send", { &send_first }, { CAIRN_BTH_SEND_FIRST, PMTU } },
	{ "only in a send", { &send_first }, { CAIRN_BTH_SEND_ONLY, 10 } },
	{ "write only in a send", { &send_first, &send_middle },
	  { CAIRN_BTH_WRITE_ONLY, 10, .dma_len = 10 } },
	{ "write middle in a send", { &send_first },
	  { CAIRN_BTH_WRITE_MIDDLE, PMTU } },
	{ "write last in a send", { &send_first },
	  { CAIRN_BTH_WRITE_LAST, 10 } },
	{ "read in a send", { &send_first },
	  { CAIRN_BTH_READ_REQUEST, .dma_len = 1 } },
	{ "atomic in a send", { &send_first }, { CAIRN_BTH_FETCH_ADD } },
	{ "send middle in a write", { &write_first },
	  { CAIRN_BTH_SEND_MIDDLE, PMTU } },
	{ "send last in a write", { &write_first },
	  { CAIRN_BTH_SEND_LAST, 10 } },
	{ "first in a write", { &write_first },
	  { CAIRN_BTH_WRITE_FIRST, PMTU, .dma_len = 2 * PMTU } },
	{ "send only in a write", { &write_first, &write_middle },
	  { CAIRN_BTH_SEND_ONLY, 1 } },
	{ "read in a write", { &write_first },
	  { CAIRN_BTH_READ_REQUEST, .dma_len = 1 } },
	{ "atomic in a write", { &write_first }, { CAIRN_BTH_CMP_SWAP } },
	/* sizes */
	{ "short first", { NULL }, { CAIRN_BTH_SEND_FIRST, PMTU - 4 } },
	{ "long first", { NULL }, { CAIRN_BTH_SEND_FIRST, PMTU + 4 } },
	{ "empty first", { NULL }, { CAIRN_BTH_SEND_FIRST, 0 } },
	{ "short middle", { &send_first }, { CAIRN_BTH_SEND_MIDDLE, 100 } },
	{ "long middle", { &send_first }, { CAIRN_BTH_SEND_MIDDLE, 2000 } },
	{ "empty last", { &send_first }, { CAIRN_BTH_SEND_LAST, 0 } },
	{ "long last", { &send_first }, { CAIRN_BTH_SEND_LAST, PMTU + 1 } },
	{ "long only", { NULL }, { CAIRN_BTH_SEND_ONLY, PMTU + 1 } },
	{ "short write first", { NULL },
	  { CAIRN_BTH_WRITE_FIRST, 100, .dma_len = 2000 } },
	{ "long write only", { NULL },
	  { CAIRN_BTH_WRITE_ONLY, PMTU + 4, .dma_len = PMTU + 4 } },
	/* RETH length and payload */
	{ "only with too much", { NULL },
	  { CAIRN_BTH_WRITE_ONLY, 11, .dma_len = 10 } },
	{ "only with too little", { NULL },
	  { CAIRN_BTH_WRITE_ONLY, 9, .dma_len = 10 } },
	{ "only with nothing", { NULL },
	  { CAIRN_BTH_WRITE_ONLY, 0, .dma_len = 10 } },
	{ "only with something", { NULL },
	  { CAIRN_BTH_WRITE_ONLY, 1, .dma_len = 0 } },
	{ "first is already all", { NULL },
	  { CAIRN_BTH_WRITE_FIRST, PMTU, .dma_len = PMTU } },
	{ "first is more than all", { NULL },
	  { CAIRN_BTH_WRITE_FIRST, PMTU, .dma_len = 100 } },
	{ "middle is the rest", { &write_first, &write_middle },
	  { CAIRN_BTH_WRITE_MIDDLE, PMTU } },
	{ "last with too little", { &write_first, &write_middle },
	  { CAIRN_BTH_WRITE_LAST, 9 } },
	{ "last with too much", { &write_first, &write_middle },
	  { CAIRN_BTH_WRITE_LAST, 11 } },
	{ "last too early", { &write_first }, { CAIRN_BTH_WRITE_LAST, 10 } },
	{ "read longer than any message", { NULL },
	  { CAIRN_BTH_READ_REQUEST, .dma_len = (1u << 31) + 1 } },
	{ "write longer than any message", { NULL },
	  { CAIRN_BTH_WRITE_FIRST, PMTU, .dma_len = (1u << 31) + 1 } },
};

static void one_sequence(const struct sequence *sequence)
{
	struct rig rig = resp_alone();
	u8 before[RIG_LEN];
	u32 from, n;

	rig_recv(&rig, 21, 10000);
	rig_recv(&rig, 22, 10000);
	for (n = 0; n < 3 && sequence->good[n]; n++)
		resp_get(&rig, n, *sequence->good[n]);
	memcpy(before, rig.mb->mem, RIG_LEN);
	from = rig.s->n_sent;
	resp_get(&rig, n, sequence->bad);
	expect_aeth(&rig, from, n, INVALID_REQ);
	ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
	ktap_eq(sim_async_count(rig.b, CAIRN_ASYNC_QP_REQ_ERR), 1);
	expect_cqes(rig.b, CAIRN_RESP, 0, 21, 22, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 2);
	ktap_mem_eq(rig.mb->mem, before, RIG_LEN);
	/* and no answer to anything any more */
	from = rig.s->n_sent;
	resp_get(&rig, n, send_only);
	ktap_eq(rig.s->n_sent, from);
	sim_end(rig.s);
}

static void invalid_sequences(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sequences) && !ktap.failures; i++) {
		one_sequence(&sequences[i]);
		if (ktap.failures)
			ktap_diag("case: %s", sequences[i].name);
	}
}

/* A hole is reported once, until the missing packet is there. Nothing is kept
 * behind it.
 */
static void gap_is_reported_once(void)
{
	struct rig rig = resp_alone();
	u32 from;

	rig.b->plain = true;
	rig_recv(&rig, 21, 10000);
	resp_get(&rig, 0, send_first);
	from = rig.s->n_sent;
	resp_get(&rig, 2, send_middle);
	expect_aeth(&rig, from, 1, SEQ_ERR);
	from = rig.s->n_sent;
	resp_get(&rig, 3, send_middle);
	resp_get(&rig, 4, send_last);
	ktap_eq(rig.s->n_sent, from);
	resp_get(&rig, 1, send_middle);
	resp_get(&rig, 2, send_middle);
	ktap_eq(rig.s->n_sent, from);
	/* a new hole */
	resp_get(&rig, 4, send_last);
	expect_aeth(&rig, from, 3, SEQ_ERR);
	resp_get(&rig, 3, send_middle);
	resp_get(&rig, 4, send_last);
	expect_aeth(&rig, from, 4, ACKED);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].log[0].cqe.byte_len, 4 * PMTU + 10);
	ktap_eq(rig.b->count[CAIRN_CTR_OUT_OF_SEQUENCE], 4);
	sim_end(rig.s);
}

/* Closed before the end of the train: there is nothing to report. */
static void gap_closed_in_time(void)
{
	u32 plain;

	for (plain = 0; plain < 2; plain++) {
		struct rig rig = resp_alone();

		rig.b->plain = plain;
		resp_part(&rig, 0, write_only);
		resp_part(&rig, 2, write_only);
		resp_part(&rig, 1, write_only);
		sim_turn(rig.b, CAIRN_RESP);
		ktap_eq(rig.s->n_sent, 1);
		expect_aeth(&rig, 0, plain ? 1 : 2, ACKED);
		sim_end(rig.s);
	}
}

/* Packets behind a gap are kept until it is filled, and are executed in order. */
static void kept_behind_a_gap(void)
{
	struct rig rig = resp_alone();
	u8 before[RIG_LEN];
	u32 from;

	rig_recv(&rig, 21, 10000);
	resp_get(&rig, 0, send_first);
	memcpy(before, rig.mb->mem, RIG_LEN);
	from = rig.s->n_sent;
	resp_get(&rig, 4, write_only);
	resp_get(&rig, 3, send_last);
	resp_get(&rig, 5, faa);
	resp_get(&rig, 2, send_middle);
	resp_get(&rig, 4, write_only);
	expect_aeth(&rig, from, 1, SEQ_ERR);
	ktap_eq(rig.s->n_sent, from + 1);
	ktap_mem_eq(rig.mb->mem, before, RIG_LEN);
	ktap_eq(rig.b->atomics, 0);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	resp_get(&rig, 1, send_middle);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].log[0].cqe.byte_len, 3 * PMTU + 10);
	ktap_eq(rig.b->atomics, 1);
	ktap_eq(last_sent(rig.b)->opcode, CAIRN_BTH_ATOMIC_ACK);
	ktap_eq(rig.b->c.resp.epsn, cairn_psn_add(rig.a->psn, 6));
	ktap_ok(!rig.b->held);
	/* all of it is a duplicate now */
	from = rig.s->n_sent;
	resp_get(&rig, 3, send_last);
	expect_aeth(&rig, from, 3, ACKED);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	sim_end(rig.s);
}

/* The next gap is reported when the requester asks, not with each packet. */
static void next_gap_is_reported_on_request(void)
{
	struct rig rig = resp_alone();
	struct req quiet = write_only;
	u32 from, n;

	quiet.ack = false;
	resp_get(&rig, 0, write_only);
	resp_get(&rig, 6, write_only);		/* 1..5 are missing */
	resp_get(&rig, 8, write_only);		/* and 7 */
	from = rig.s->n_sent;
	for (n = 1; n < 4; n++)
		resp_get(&rig, n, quiet);
	ktap_eq(rig.s->n_sent, from);
	resp_get(&rig, 4, write_only);
	expect_aeth(&rig, from, 5, SEQ_ERR);
	from = rig.s->n_sent;
	resp_get(&rig, 5, quiet);
	expect_aeth(&rig, from, 7, SEQ_ERR);
	from = rig.s->n_sent;
	resp_get(&rig, 9, quiet);
	ktap_eq(rig.s->n_sent, from);
	resp_get(&rig, 7, quiet);
	expect_aeth(&rig, from, 8, ACKED);
	ktap_eq(rig.b->c.resp.msn, 10);
	sim_end(rig.s);
}

/* After an RNR NAK all is sent again: nothing is kept. */
static void nothing_kept_when_not_ready(void)
{
	struct rig rig = resp_alone();
	u32 from;

	resp_get(&rig, 2, write_only);
	resp_get(&rig, 1, send_only);
	from = rig.s->n_sent;
	resp_get(&rig, 0, write_only);
	/* A kept packet may be forged: only the real one may end the connection. */
	expect_aeth(&rig, from, 1, SEQ_ERR);
	resp_get(&rig, 1, send_only);
	ktap_eq(last_sent(rig.b)->psn, cairn_psn_add(rig.a->psn, 1));
	ktap_eq(last_sent(rig.b)->syndrome & CAIRN_AETH_TYPE_MASK,
		CAIRN_AETH_RNR_NAK);
	ktap_ok(!rig.b->held);
	resp_get(&rig, 2, write_only);
	resp_get(&rig, 3, write_only);
	ktap_ok(!rig.b->held);
	rig_recv(&rig, 21, 100);
	from = rig.s->n_sent;
	resp_get(&rig, 1, send_only);
	expect_aeth(&rig, from, 1, ACKED);
	sim_end(rig.s);
}

/* Too much to keep: what did not fit comes again, nothing else is lost. */
static void room_for_kept_packets_ends(void)
{
	struct rig rig = resp_alone();
	u32 from, n;

	rig.b->hold_room = 3;
	for (n = 1; n < 8; n++)
		resp_get(&rig, n, write_only);
	ktap_eq(rig.b->count[CAIRN_CTR_RX_HELD], 3);
	from = rig.s->n_sent;
	resp_get(&rig, 0, write_only);
	expect_aeth(&rig, from, 3, ACKED);
	from = rig.s->n_sent;
	resp_get(&rig, 5, write_only);
	expect_aeth(&rig, from, 4, SEQ_ERR);
	sim_end(rig.s);
}

/* A connection that ends, or starts afresh, forgets what it kept. */
static void kept_packets_are_forgotten(void)
{
	struct rig rig = resp_alone();

	resp_get(&rig, 1, write_only);
	ktap_ok(rig.b->held);
	sim_modify(rig.b, CAIRN_QP_ERR);
	ktap_ok(sim_run(rig.s, SIM_MS));
	ktap_ok(!rig.b->held);
	sim_end(rig.s);
	rig = resp_alone();
	resp_get(&rig, 1, write_only);
	sim_reset(rig.b);
	ktap_ok(!rig.b->held);
	sim_end(rig.s);
}

/* Duplicates are answered when the requester asks. */
static void silent_duplicates(void)
{
	struct rig rig = resp_alone();
	struct req quiet = write_only;
	u32 from;

	quiet.ack = false;
	resp_get(&rig, 0, write_only);
	resp_get(&rig, 1, write_only);
	from = rig.s->n_sent;
	resp_get(&rig, 0, quiet);
	resp_get(&rig, 1, quiet);
	ktap_eq(rig.s->n_sent, from);
	ktap_eq(rig.b->count[CAIRN_CTR_DUPLICATE_REQUEST], 2);
	resp_get(&rig, 0, write_only);
	expect_aeth(&rig, from, 1, ACKED);
	sim_end(rig.s);
}

/* Far ahead, and far behind: half the ring either way. */
static void far_psns(void)
{
	struct rig rig = resp_alone();
	u32 from;

	resp_get(&rig, 0, write_only);
	from = rig.s->n_sent;
	resp_get(&rig, 0x7fffff, write_only);
	expect_aeth(&rig, from, 1, SEQ_ERR);
	from = rig.s->n_sent;
	/* before the expected one: a duplicate, acknowledged again */
	resp_get(&rig, 0x800002, write_only);
	expect_aeth(&rig, from, 0, ACKED);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

/*
 * Acknowledgements.
 */

static void one_ack_for_a_train(void)
{
	struct rig rig = resp_alone();
	u32 from, n;

	for (n = 0; n < 5; n++)
		rig_recv(&rig, 21 + n, 100);
	from = rig.s->n_sent;
	for (n = 0; n < 40; n++)
		resp_part(&rig, n, n % 8 ? write_only : send_only);
	ktap_eq(rig.s->n_sent, from);
	sim_turn(rig.b, CAIRN_RESP);
	ktap_eq(rig.s->n_sent, from + 1);
	expect_aeth(&rig, from, 39, ACKED);
	ktap_eq(last_sent(rig.b)->msn, 40);
	expect_cqes(rig.b, CAIRN_RESP, 0, 21, 25, CAIRN_CQE_SUCCESS);
	/* and nothing to say a second time */
	sim_turn(rig.b, CAIRN_RESP);
	ktap_eq(rig.s->n_sent, from + 1);
	sim_end(rig.s);
}

static void no_ack_unless_asked(void)
{
	struct rig rig = resp_alone();
	struct req quiet = write_only;

	quiet.ack = false;
	resp_get(&rig, 0, quiet);
	resp_get(&rig, 1, quiet);
	ktap_eq(rig.s->n_sent, 0);
	resp_get(&rig, 2, write_only);
	ktap_eq(rig.s->n_sent, 1);
	expect_aeth(&rig, 0, 2, ACKED);
	sim_end(rig.s);
}

static void ack_in_the_middle_of_a_message(void)
{
	struct rig rig = resp_alone();
	struct req middle = send_middle;

	rig_recv(&rig, 21, 10000);
	resp_get(&rig, 0, send_first);
	middle.ack = true;
	resp_get(&rig, 1, middle);
	expect_aeth(&rig, 0, 1, ACKED);
	ktap_eq(last_sent(rig.b)->msn, 0);
	/* the receive in use is what this message may take */
	ktap_eq(last_sent(rig.b)->syndrome, 1);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	sim_end(rig.s);
}

/* A duplicate is acknowledged with what is newest, and placed nowhere. */
static void duplicates_are_acknowledged_again(void)
{
	struct rig rig = resp_alone();
	u8 after[RIG_LEN];
	u32 from;

	rig_recv(&rig, 21, 100);
	rig_recv(&rig, 22, 100);
	resp_get(&rig, 0, send_only);
	resp_get(&rig, 1, write_only);
	resp_get(&rig, 2, write_only);
	memset(rig.ma->mem, 0, 4096);
	memcpy(after, rig.mb->mem, RIG_LEN);
	from = rig.s->n_sent;
	resp_get(&rig, 0, send_only);
	expect_aeth(&rig, from, 2, ACKED);
	from = rig.s->n_sent;
	resp_get(&rig, 1, write_only);
	expect_aeth(&rig, from, 2, ACKED);
	ktap_eq(last_sent(rig.b)->msn, 3);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	ktap_mem_eq(rig.mb->mem, after, RIG_LEN);
	ktap_eq(rig.b->count[CAIRN_CTR_DUPLICATE_REQUEST], 2);
	sim_end(rig.s);
}

/* Some requesters take an ACK with a READ's PSN for its response. */
static void acks_stop_at_reads(void)
{
	struct rig rig = resp_alone();
	u32 from;

	resp_get(&rig, 0, write_only);
	resp_get(&rig, 1, write_only);
	resp_get(&rig, 2, read_req);
	resp_get(&rig, 0, write_only);
	ktap_ok(cairn_psn_diff(last_sent(rig.b)->psn,
			       cairn_psn_add(rig.a->psn, 1)) <= 0);
	ktap_eq(last_sent(rig.b)->opcode, CAIRN_BTH_ACK);
	resp_get(&rig, 5, faa);
	resp_get(&rig, 6, write_only);
	from = rig.s->n_sent;
	resp_get(&rig, 1, write_only);
	expect_aeth(&rig, from, 1, ACKED);
	from = rig.s->n_sent;
	resp_get(&rig, 6, write_only);
	expect_aeth(&rig, from, 6, ACKED);
	/* a response acknowledges what came before it in the train */
	from = rig.s->n_sent;
	resp_part(&rig, 7, write_only);
	resp_part(&rig, 8, faa);
	sim_turn(rig.b, CAIRN_RESP);
	ktap_eq(rig.s->n_sent, from + 1);
	ktap_eq(last_sent(rig.b)->opcode, CAIRN_BTH_ATOMIC_ACK);
	sim_end(rig.s);
}

/* Credits count the posted receives, encoded as IBTA table 42 says. */
static void credits_are_told(void)
{
	static const struct {
		u32 posted;
		u8 code;
	} cases[] = {
		{ 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 }, { 5, 4 },
		{ 6, 5 }, { 7, 5 }, { 8, 6 }, { 11, 6 }, { 12, 7 }, { 23, 8 },
		{ 24, 9 }, { 63, 11 }, { 64, 12 }, { 24575, 28 },
		{ 24576, 29 }, { 32767, 29 }, { 32768, 30 }, { 65536, 30 },
	};
	struct sim_qp_init init = sim_rc;
	u32 i;

	init.rq_depth = 1 << 16;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig rig = alone_with(&sim_attrs, &init);

		/* the responder does not see these posts yet */
		rig.b->rq->tail += cases[i].posted;
		resp_get(&rig, 0, write_only);
		ktap_eq(last_sent(rig.b)->syndrome, cases[i].code);
		sim_end(rig.s);
	}
}

static void no_credits_with_an_srq(void)
{
	struct sim_qp_init init = sim_rc;
	struct rig rig;

	init.srq = sim_rq(16, 1, 0);
	rig = alone_with(&sim_attrs, &init);
	rig_recv(&rig, 1, 100);
	resp_get(&rig, 0, write_only);
	ktap_eq(last_sent(rig.b)->syndrome, CAIRN_AETH_CREDIT_INVALID);
	sim_end(rig.s);
	sim_rq_free(init.srq);
}

/*
 * READ, atomics and their duplicates.
 */

/* Responses since @from: as a READ of @len from PSN number @n on. */
static void expect_read(struct rig *rig, u32 from, u32 n, u32 len)
{
	u32 npkts = len ? (len + PMTU - 1) / PMTU : 1, k;

	if (!ktap_eq(rig->s->n_sent - from, npkts))
		return;
	for (k = 0; k < npkts; k++) {
		const struct cairn_pkt *pkt = &rig->s->sent[from + k].pkt;
		u8 want = npkts == 1 ? CAIRN_BTH_READ_RESP_ONLY :
			  !k ? CAIRN_BTH_READ_RESP_FIRST :
			  k == npkts - 1 ? CAIRN_BTH_READ_RESP_LAST :
			  CAIRN_BTH_READ_RESP_MIDDLE;

		ktap_eq(pkt->opcode, want);
		ktap_eq(pkt->psn, cairn_psn_add(rig->a->psn, n + k));
		ktap_eq(pkt->payload_len, min(len - k * PMTU, (u32)PMTU));
	}
}

static void read_takes_a_psn_per_response(void)
{
	struct rig rig = resp_alone();

	resp_get(&rig, 0, read_req);
	expect_read(&rig, 0, 0, 3000);
	resp_get(&rig, 3, write_only);
	expect_aeth(&rig, 3, 3, ACKED);
	ktap_eq(last_sent(rig.b)->msn, 2);
	sim_end(rig.s);
}

static void duplicate_reads_are_executed_again(void)
{
	struct req tail = read_req;
	struct rig rig = resp_alone();
	u32 from;

	resp_get(&rig, 0, read_req);
	resp_get(&rig, 3, write_only);
	from = rig.s->n_sent;
	resp_get(&rig, 0, read_req);
	expect_read(&rig, from, 0, 3000);
	/* only the end of it */
	from = rig.s->n_sent;
	tail.off = 2 * PMTU;
	tail.dma_len = 3000 - 2 * PMTU;
	resp_get(&rig, 2, tail);
	expect_read(&rig, from, 2, 3000 - 2 * PMTU);
	/* and the next new request is still the next */
	from = rig.s->n_sent;
	resp_get(&rig, 4, write_only);
	expect_aeth(&rig, from, 4, ACKED);
	sim_end(rig.s);
}

/* A duplicate may not be another request in disguise. */
static void duplicate_reads_must_agree(void)
{
	struct req req;
	struct rig rig = resp_alone();
	u32 from;

	resp_get(&rig, 0, read_req);
	resp_get(&rig, 3, write_only);
	from = rig.s->n_sent;
	req = read_req;
	req.dma_len = 4000;
	resp_get(&rig, 0, req);
	req = read_req;
	req.off = 100;
	resp_get(&rig, 0, req);
	req = read_req;
	req.rkey = 0xdead00;
	resp_get(&rig, 0, req);
	req = read_req;
	req.dma_len = 3000 - PMTU;
	resp_get(&rig, 2, req);
	resp_get(&rig, 0, faa);
	ktap_eq(rig.s->n_sent, from);
	ktap_eq(rig.b->atomics, 0);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

static void duplicate_atomics_are_answered_from_memory(void)
{
	struct rig rig = resp_alone();
	u64 first, after;
	u32 n;

	memcpy(&first, rig.mb->mem, 8);
	for (n = 0; n < 4; n++)
		resp_get(&rig, n, faa);
	for (n = 4; n--; ) {
		resp_get(&rig, n, faa);
		ktap_eq(last_sent(rig.b)->opcode, CAIRN_BTH_ATOMIC_ACK);
		ktap_eq(last_sent(rig.b)->psn, cairn_psn_add(rig.a->psn, n));
		ktap_eq(last_sent(rig.b)->orig, first + n);
		ktap_eq(last_sent(rig.b)->msn, n + 1);
	}
	memcpy(&after, rig.mb->mem, 8);
	ktap_eq(after, first + 4);
	ktap_eq(rig.b->atomics, 4);
	sim_end(rig.s);
}

/* More than the agreed number ago: forgotten, and certainly not repeated. */
static void forgotten_atomics_are_not_repeated(void)
{
	struct rig rig = resp_alone();
	u32 n, from;

	for (n = 0; n < 5; n++)
		resp_get(&rig, n, faa);
	from = rig.s->n_sent;
	resp_get(&rig, 0, faa);
	ktap_eq(rig.s->n_sent, from);
	ktap_eq(rig.b->atomics, 5);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

static void compare_and_swap(void)
{
	struct rig rig = resp_alone();
	struct req cas = { CAIRN_BTH_CMP_SWAP, .add = 77, .ack = true };
	u64 first, now;

	memcpy(&first, rig.mb->mem, 8);
	cas.compare = first + 1;
	resp_get(&rig, 0, cas);
	ktap_eq(last_sent(rig.b)->orig, first);
	memcpy(&now, rig.mb->mem, 8);
	ktap_eq(now, first);
	cas.compare = first;
	resp_get(&rig, 1, cas);
	ktap_eq(last_sent(rig.b)->orig, first);
	memcpy(&now, rig.mb->mem, 8);
	ktap_eq(now, 77);
	sim_end(rig.s);
}

/* One more READ than agreed, while none has been answered. */
/* A requester that sends the next READ has the answer of the oldest one: the repeated
 * response of that one is dropped.
 */
static void repeated_reads_give_way(void)
{
	struct rig rig = resp_alone();
	struct req read = read_req;
	u32 n, from;

	for (n = 0; n < 16; n++)
		resp_get(&rig, 3 * n, read);
	from = rig.s->n_sent;
	resp_part(&rig, 0, read);
	resp_part(&rig, 48, read);
	sim_turn(rig.b, CAIRN_RESP);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	ktap_eq(rig.s->n_sent, from + 3);
	ktap_eq(rig.s->sent[from].pkt.psn, cairn_psn_add(rig.a->psn, 48));
	ktap_eq(rig.b->c.resp.replay.pending, 0);
	sim_end(rig.s);
}

static void too_many_outstanding_reads(void)
{
	static const struct req *const reqs[] = { &read_req, &faa };
	u32 kind, n;

	for (kind = 0; kind < 2; kind++) {
		struct rig rig = resp_alone();
		u32 psn = 0;

		for (n = 0; n < 4; n++, psn += 3)
			resp_part(&rig, psn, read_req);
		resp_part(&rig, psn, *reqs[kind]);
		sim_turn(rig.b, CAIRN_RESP);
		ktap_ok(sim_run(rig.s, SIM_MS));
		/* the four are answered first */
		ktap_eq(rig.s->n_sent, 13);
		expect_aeth(&rig, 0, psn, INVALID_REQ);
		ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
		ktap_eq(rig.b->atomics, 0);
		sim_end(rig.s);
	}
}

static void no_reads_agreed(void)
{
	static const struct req *const reqs[] = { &read_req, &faa };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(reqs); i++) {
		struct cairn_qp_attrs attrs = sim_attrs;
		struct rig rig;

		attrs.max_dest_rd_atomic = 0;
		rig = alone_with(&attrs, &sim_rc);
		resp_get(&rig, 0, *reqs[i]);
		expect_aeth(&rig, 0, 0, INVALID_REQ);
		ktap_eq(rig.b->atomics, 0);
		sim_end(rig.s);
	}
}

/* Responses come in PSN order, and the ACK of what follows after them. */
static void answers_in_order(void)
{
	struct rig rig = resp_alone();
	u32 i;

	rig.s->budget = 1;
	resp_part(&rig, 0, write_only);
	resp_part(&rig, 1, read_req);
	resp_part(&rig, 4, faa);
	resp_part(&rig, 5, read_req);
	resp_part(&rig, 8, write_only);
	sim_turn(rig.b, CAIRN_RESP);
	ktap_ok(sim_run(rig.s, SIM_MS));
	for (i = 1; i < rig.s->n_sent; i++)
		ktap_ok(cairn_psn_diff(rig.s->sent[i].pkt.psn,
				       rig.s->sent[i - 1].pkt.psn) > 0);
	expect_aeth(&rig, 0, 8, ACKED);
	sim_end(rig.s);
}

/* A NAK comes after the responses to what was before it. */
static void nak_after_the_responses(void)
{
	struct rig rig = resp_alone();

	rig.s->budget = 1;
	resp_part(&rig, 0, read_req);
	resp_part(&rig, 4, write_only);
	sim_turn(rig.b, CAIRN_RESP);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(rig.s->n_sent, 4);
	expect_aeth(&rig, 0, 3, SEQ_ERR);
	sim_end(rig.s);
}

/*
 * State and partition.
 */

static void nothing_before_rtr(void)
{
	struct sim *sim = sim_new(1);
	struct sim_qp *qp = sim_qp(sim, 1, &sim_rc);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_WRITE_ONLY,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = qp->c.qpn,
		.ack_req = true,
	};

	sim->record = true;
	qp->c.attrs = sim_attrs;
	sim_inject(qp, &pkt, NULL);
	sim_modify(qp, CAIRN_QP_INIT);
	sim_inject(qp, &pkt, NULL);
	ktap_ok(sim_run(sim, SIM_SEC));
	ktap_eq(sim->n_sent, 0);
	ktap_eq(qp->count[CAIRN_CTR_RX_WRONG_QP], 2);
	ktap_eq(qp->asyncs, 0);
	sim_end(sim);
}

static void communication_established_once(void)
{
	struct sim *sim = sim_new(1);
	struct sim_qp *qp = sim_qp(sim, 1, &sim_rc);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_WRITE_ONLY,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = qp->c.qpn,
		.psn = 5,
		.ack_req = true,
	};

	sim->record = true;
	qp->c.attrs = sim_attrs;
	sim_modify(qp, CAIRN_QP_INIT);
	cairn_resp_set_psn(&qp->c, 5);
	sim_modify(qp, CAIRN_QP_RTR);
	ktap_ok(sim_run(sim, SIM_SEC));
	ktap_eq(qp->asyncs, 0);
	for (; pkt.psn < 10; pkt.psn++)
		sim_inject(qp, &pkt, NULL);
	ktap_eq(qp->asyncs, 1);
	ktap_eq(sim_async_count(qp, CAIRN_ASYNC_COMM_EST), 1);
	ktap_eq(sim->n_sent, 5);
	sim_modify(qp, CAIRN_QP_RTS);
	sim_inject(qp, &pkt, NULL);
	ktap_eq(qp->asyncs, 1);
	sim_end(sim);
}

static void other_partitions_are_dropped(void)
{
	struct rig rig = resp_alone();
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_WRITE_ONLY,
		.pkey = 0x8001,
		.qpn = rig.b->c.qpn,
		.ack_req = true,
	};

	rig_recv(&rig, 21, 1000);
	sim_inject(rig.b, &pkt, NULL);
	ktap_eq(rig.s->n_sent, 0);
	ktap_eq(rig.b->count[CAIRN_CTR_RX_PKEY_ERRORS], 1);
	resp_get(&rig, 0, send_only);
	expect_aeth(&rig, 0, 0, ACKED);
	sim_end(rig.s);
}

static void other_transports_are_dropped(void)
{
	static const u8 ops[] = {
		CAIRN_BTH_UC | CAIRN_BTH_SEND_ONLY,
		CAIRN_BTH_UC | CAIRN_BTH_WRITE_ONLY,
		CAIRN_BTH_UD | CAIRN_BTH_SEND_ONLY,
	};
	struct rig rig = resp_alone();
	u32 i;

	rig_recv(&rig, 21, 1000);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		resp_get(&rig, 0, (struct req){ ops[i], 10, .dma_len = 10 });
	ktap_eq(rig.s->n_sent, 0);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	ktap_eq(rig.b->count[CAIRN_CTR_RX_WRONG_QP], ARRAY_SIZE(ops));
	resp_get(&rig, 0, send_only);
	expect_aeth(&rig, 0, 0, ACKED);
	sim_end(rig.s);
}

/* The flag travels from the sender's WQE to the receiver's CQE. */
static void solicited_messages(void)
{
	struct rig rig = resp_alone();
	struct req req = send_only;

	rig_recv(&rig, 21, 1000);
	rig_recv(&rig, 22, 1000);
	resp_get(&rig, 0, req);
	req.solicited = true;
	resp_get(&rig, 1, req);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 2);
	ktap_eq(rig.b->cq[CAIRN_RESP].log[0].cqe.flags, 0);
	ktap_eq(rig.b->cq[CAIRN_RESP].log[1].cqe.flags, CAIRN_CQE_SOLICITED);
	sim_end(rig.s);
}

/* PSNs come again: the record of an old READ is not that of a new one. */
static void an_old_read_answers_for_no_new_one(void)
{
	struct rig rig = resp_alone();
	struct req old = read_req, fresh = read_req;
	u32 from;

	old.dma_len = 4 * sim_attrs.pmtu;
	fresh.dma_len = 100;
	fresh.off = 8192;
	resp_get(&rig, 0, old);
	sim_run(rig.s, 20 * SIM_US);
	/* as after 2^24 - 1 PSNs of SENDs and WRITEs */
	rig.b->c.resp.epsn = cairn_psn_add(rig.a->psn, 2);
	resp_get(&rig, 2, fresh);
	from = rig.s->n_sent;
	resp_get(&rig, 2, fresh);
	ktap_eq(rig.s->n_sent, from + 1);
	ktap_eq(last_sent(rig.b)->psn, cairn_psn_add(rig.a->psn, 2));
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(invalid_sequences),
	KTAP(gap_is_reported_once),
	KTAP(gap_closed_in_time),
	KTAP(kept_behind_a_gap),
	KTAP(next_gap_is_reported_on_request),
	KTAP(nothing_kept_when_not_ready),
	KTAP(room_for_kept_packets_ends),
	KTAP(kept_packets_are_forgotten),
	KTAP(silent_duplicates),
	KTAP(far_psns),
	KTAP(one_ack_for_a_train),
	KTAP(no_ack_unless_asked),
	KTAP(ack_in_the_middle_of_a_message),
	KTAP(duplicates_are_acknowledged_again),
	KTAP(acks_stop_at_reads),
	KTAP(credits_are_told),
	KTAP(no_credits_with_an_srq),
	KTAP(read_takes_a_psn_per_response),
	KTAP(duplicate_reads_are_executed_again),
	KTAP(duplicate_reads_must_agree),
	KTAP(duplicate_atomics_are_answered_from_memory),
	KTAP(forgotten_atomics_are_not_repeated),
	KTAP(compare_and_swap),
	KTAP(repeated_reads_give_way),
	KTAP(too_many_outstanding_reads),
	KTAP(no_reads_agreed),
	KTAP(answers_in_order),
	KTAP(nak_after_the_responses),
	KTAP(nothing_before_rtr),
	KTAP(communication_established_once),
	KTAP(other_partitions_are_dropped),
	KTAP(other_transports_are_dropped),
	KTAP(solicited_messages),
	KTAP(an_old_read_answers_for_no_new_one),
};

KTAP_MAIN(tests)
