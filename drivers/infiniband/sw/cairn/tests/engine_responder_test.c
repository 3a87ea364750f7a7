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
	struct rig r = rig_with(1, init, attrs);

	r.s->dead[0] = true;
	return r;
}

static struct rig alone(void)
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

static struct cairn_pkt pkt_of(const struct rig *r, u32 n, const struct req *q)
{
	return (struct cairn_pkt){
		.opcode = q->opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = r->b->c.qpn,
		.psn = cairn_psn_add(r->a->psn, n),
		.payload_len = q->len,
		.ack_req = q->ack,
		.solicited = q->solicited,
		.va = r->mb->va + q->off,
		.rkey = q->rkey ?: r->mb->key,
		.dma_len = q->dma_len,
		.swap_add = q->add,
		.compare = q->compare,
	};
}

/* PSN number @n arrives and b has its turn. */
static void get(struct rig *r, u32 n, struct req q)
{
	struct cairn_pkt pkt = pkt_of(r, n, &q);

	sim_inject(r->b, &pkt, r->ma->mem);
	sim_run(r->s, 2 * SIM_US);
}

/* The same as part of a train. */
static void part(struct rig *r, u32 n, struct req q)
{
	struct cairn_pkt pkt = pkt_of(r, n, &q);

	sim_inject_part(r->b, &pkt, r->ma->mem);
}

#define ACKED	0x100	/* any positive syndrome */

/* The last packet is an ACK or NAK for PSN number @n, sent after @from. */
#define expect_aeth(r, from, n, syn)					\
	expect_aeth_at(__LINE__, r, from, n, syn)

static bool expect_aeth_at(int line, struct rig *r, u32 from, u32 n,
			   u32 syndrome)
{
	const struct cairn_pkt *p = last_sent(r->b);
	u32 got;

	if (r->s->n_sent == from || !p || p->opcode != CAIRN_BTH_ACK) {
		ktap_fail_at(__FILE__, line, "no ACK or NAK (%u packets)",
			     r->s->n_sent - from);
		return false;
	}
	got = p->syndrome & CAIRN_AETH_TYPE_MASK ? p->syndrome : ACKED;
	if (got != syndrome || p->psn != cairn_psn_add(r->a->psn, n)) {
		ktap_fail_at(__FILE__, line, "syndrome %x for PSN %d", got,
			     cairn_psn_diff(p->psn, r->a->psn));
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

static void one_sequence(const struct sequence *q)
{
	struct rig r = alone();
	u8 before[RIG_LEN];
	u32 from, n;

	rig_recv(&r, 21, 10000);
	rig_recv(&r, 22, 10000);
	for (n = 0; n < 3 && q->good[n]; n++)
		get(&r, n, *q->good[n]);
	memcpy(before, r.mb->mem, RIG_LEN);
	from = r.s->n_sent;
	get(&r, n, q->bad);
	expect_aeth(&r, from, n, INVALID_REQ);
	ktap_eq(r.b->c.state, CAIRN_QP_ERR);
	ktap_eq(sim_async_count(r.b, CAIRN_ASYNC_QP_REQ_ERR), 1);
	expect_cqes(r.b, CAIRN_RESP, 0, 21, 22, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 2);
	ktap_mem_eq(r.mb->mem, before, RIG_LEN);
	/* and no answer to anything any more */
	from = r.s->n_sent;
	get(&r, n, send_only);
	ktap_eq(r.s->n_sent, from);
	sim_end(r.s);
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
	struct rig r = alone();
	u32 from;

	r.b->plain = true;
	rig_recv(&r, 21, 10000);
	get(&r, 0, send_first);
	from = r.s->n_sent;
	get(&r, 2, send_middle);
	expect_aeth(&r, from, 1, SEQ_ERR);
	from = r.s->n_sent;
	get(&r, 3, send_middle);
	get(&r, 4, send_last);
	ktap_eq(r.s->n_sent, from);
	get(&r, 1, send_middle);
	get(&r, 2, send_middle);
	ktap_eq(r.s->n_sent, from);
	/* a new hole */
	get(&r, 4, send_last);
	expect_aeth(&r, from, 3, SEQ_ERR);
	get(&r, 3, send_middle);
	get(&r, 4, send_last);
	expect_aeth(&r, from, 4, ACKED);
	expect_cqe(r.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_eq(r.b->cq[CAIRN_RESP].log[0].cqe.byte_len, 4 * PMTU + 10);
	ktap_eq(r.b->count[CAIRN_CTR_OUT_OF_SEQUENCE], 4);
	sim_end(r.s);
}

/* Closed before the end of the train: there is nothing to report. */
static void gap_closed_in_time(void)
{
	u32 plain;

	for (plain = 0; plain < 2; plain++) {
		struct rig r = alone();

		r.b->plain = plain;
		part(&r, 0, write_only);
		part(&r, 2, write_only);
		part(&r, 1, write_only);
		sim_turn(r.b, CAIRN_RESP);
		ktap_eq(r.s->n_sent, 1);
		expect_aeth(&r, 0, plain ? 1 : 2, ACKED);
		sim_end(r.s);
	}
}

/* Packets behind a gap are kept until it is filled, and are executed in order. */
static void kept_behind_a_gap(void)
{
	struct rig r = alone();
	u8 before[RIG_LEN];
	u32 from;

	rig_recv(&r, 21, 10000);
	get(&r, 0, send_first);
	memcpy(before, r.mb->mem, RIG_LEN);
	from = r.s->n_sent;
	get(&r, 4, write_only);
	get(&r, 3, send_last);
	get(&r, 5, faa);
	get(&r, 2, send_middle);
	get(&r, 4, write_only);
	expect_aeth(&r, from, 1, SEQ_ERR);
	ktap_eq(r.s->n_sent, from + 1);
	ktap_mem_eq(r.mb->mem, before, RIG_LEN);
	ktap_eq(r.b->atomics, 0);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 0);
	get(&r, 1, send_middle);
	expect_cqe(r.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_eq(r.b->cq[CAIRN_RESP].log[0].cqe.byte_len, 3 * PMTU + 10);
	ktap_eq(r.b->atomics, 1);
	ktap_eq(last_sent(r.b)->opcode, CAIRN_BTH_ATOMIC_ACK);
	ktap_eq(r.b->c.resp.epsn, cairn_psn_add(r.a->psn, 6));
	ktap_ok(!r.b->held);
	/* all of it is a duplicate now */
	from = r.s->n_sent;
	get(&r, 3, send_last);
	expect_aeth(&r, from, 3, ACKED);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 1);
	sim_end(r.s);
}

/* The next gap is reported when the requester asks, not with each packet. */
static void next_gap_is_reported_on_request(void)
{
	struct rig r = alone();
	struct req quiet = write_only;
	u32 from, n;

	quiet.ack = false;
	get(&r, 0, write_only);
	get(&r, 6, write_only);		/* 1..5 are missing */
	get(&r, 8, write_only);		/* and 7 */
	from = r.s->n_sent;
	for (n = 1; n < 4; n++)
		get(&r, n, quiet);
	ktap_eq(r.s->n_sent, from);
	get(&r, 4, write_only);
	expect_aeth(&r, from, 5, SEQ_ERR);
	from = r.s->n_sent;
	get(&r, 5, quiet);
	expect_aeth(&r, from, 7, SEQ_ERR);
	from = r.s->n_sent;
	get(&r, 9, quiet);
	ktap_eq(r.s->n_sent, from);
	get(&r, 7, quiet);
	expect_aeth(&r, from, 8, ACKED);
	ktap_eq(r.b->c.resp.msn, 10);
	sim_end(r.s);
}

/* After an RNR NAK all is sent again: nothing is kept. */
static void nothing_kept_when_not_ready(void)
{
	struct rig r = alone();
	u32 from;

	get(&r, 2, write_only);
	get(&r, 1, send_only);
	from = r.s->n_sent;
	get(&r, 0, write_only);
	/* A kept packet may be forged: only the real one may end the connection. */
	expect_aeth(&r, from, 1, SEQ_ERR);
	get(&r, 1, send_only);
	ktap_eq(last_sent(r.b)->psn, cairn_psn_add(r.a->psn, 1));
	ktap_eq(last_sent(r.b)->syndrome & CAIRN_AETH_TYPE_MASK,
		CAIRN_AETH_RNR_NAK);
	ktap_ok(!r.b->held);
	get(&r, 2, write_only);
	get(&r, 3, write_only);
	ktap_ok(!r.b->held);
	rig_recv(&r, 21, 100);
	from = r.s->n_sent;
	get(&r, 1, send_only);
	expect_aeth(&r, from, 1, ACKED);
	sim_end(r.s);
}

/* Too much to keep: what did not fit comes again, nothing else is lost. */
static void room_for_kept_packets_ends(void)
{
	struct rig r = alone();
	u32 from, n;

	r.b->hold_room = 3;
	for (n = 1; n < 8; n++)
		get(&r, n, write_only);
	ktap_eq(r.b->count[CAIRN_CTR_RX_HELD], 3);
	from = r.s->n_sent;
	get(&r, 0, write_only);
	expect_aeth(&r, from, 3, ACKED);
	from = r.s->n_sent;
	get(&r, 5, write_only);
	expect_aeth(&r, from, 4, SEQ_ERR);
	sim_end(r.s);
}

/* A connection that ends, or starts afresh, forgets what it kept. */
static void kept_packets_are_forgotten(void)
{
	struct rig r = alone();

	get(&r, 1, write_only);
	ktap_ok(r.b->held);
	sim_modify(r.b, CAIRN_QP_ERR);
	ktap_ok(sim_run(r.s, SIM_MS));
	ktap_ok(!r.b->held);
	sim_end(r.s);
	r = alone();
	get(&r, 1, write_only);
	sim_reset(r.b);
	ktap_ok(!r.b->held);
	sim_end(r.s);
}

/* Duplicates are answered when the requester asks. */
static void silent_duplicates(void)
{
	struct rig r = alone();
	struct req quiet = write_only;
	u32 from;

	quiet.ack = false;
	get(&r, 0, write_only);
	get(&r, 1, write_only);
	from = r.s->n_sent;
	get(&r, 0, quiet);
	get(&r, 1, quiet);
	ktap_eq(r.s->n_sent, from);
	ktap_eq(r.b->count[CAIRN_CTR_DUPLICATE_REQUEST], 2);
	get(&r, 0, write_only);
	expect_aeth(&r, from, 1, ACKED);
	sim_end(r.s);
}

/* Far ahead, and far behind: half the ring either way. */
static void far_psns(void)
{
	struct rig r = alone();
	u32 from;

	get(&r, 0, write_only);
	from = r.s->n_sent;
	get(&r, 0x7fffff, write_only);
	expect_aeth(&r, from, 1, SEQ_ERR);
	from = r.s->n_sent;
	/* before the expected one: a duplicate, acknowledged again */
	get(&r, 0x800002, write_only);
	expect_aeth(&r, from, 0, ACKED);
	ktap_eq(r.b->c.state, CAIRN_QP_RTS);
	sim_end(r.s);
}

/*
 * Acknowledgements.
 */

static void one_ack_for_a_train(void)
{
	struct rig r = alone();
	u32 from, n;

	for (n = 0; n < 5; n++)
		rig_recv(&r, 21 + n, 100);
	from = r.s->n_sent;
	for (n = 0; n < 40; n++)
		part(&r, n, n % 8 ? write_only : send_only);
	ktap_eq(r.s->n_sent, from);
	sim_turn(r.b, CAIRN_RESP);
	ktap_eq(r.s->n_sent, from + 1);
	expect_aeth(&r, from, 39, ACKED);
	ktap_eq(last_sent(r.b)->msn, 40);
	expect_cqes(r.b, CAIRN_RESP, 0, 21, 25, CAIRN_CQE_SUCCESS);
	/* and nothing to say a second time */
	sim_turn(r.b, CAIRN_RESP);
	ktap_eq(r.s->n_sent, from + 1);
	sim_end(r.s);
}

static void no_ack_unless_asked(void)
{
	struct rig r = alone();
	struct req quiet = write_only;

	quiet.ack = false;
	get(&r, 0, quiet);
	get(&r, 1, quiet);
	ktap_eq(r.s->n_sent, 0);
	get(&r, 2, write_only);
	ktap_eq(r.s->n_sent, 1);
	expect_aeth(&r, 0, 2, ACKED);
	sim_end(r.s);
}

static void ack_in_the_middle_of_a_message(void)
{
	struct rig r = alone();
	struct req middle = send_middle;

	rig_recv(&r, 21, 10000);
	get(&r, 0, send_first);
	middle.ack = true;
	get(&r, 1, middle);
	expect_aeth(&r, 0, 1, ACKED);
	ktap_eq(last_sent(r.b)->msn, 0);
	/* the receive in use is what this message may take */
	ktap_eq(last_sent(r.b)->syndrome, 1);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 0);
	sim_end(r.s);
}

/* A duplicate is acknowledged with what is newest, and placed nowhere. */
static void duplicates_are_acknowledged_again(void)
{
	struct rig r = alone();
	u8 after[RIG_LEN];
	u32 from;

	rig_recv(&r, 21, 100);
	rig_recv(&r, 22, 100);
	get(&r, 0, send_only);
	get(&r, 1, write_only);
	get(&r, 2, write_only);
	memset(r.ma->mem, 0, 4096);
	memcpy(after, r.mb->mem, RIG_LEN);
	from = r.s->n_sent;
	get(&r, 0, send_only);
	expect_aeth(&r, from, 2, ACKED);
	from = r.s->n_sent;
	get(&r, 1, write_only);
	expect_aeth(&r, from, 2, ACKED);
	ktap_eq(last_sent(r.b)->msn, 3);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 1);
	ktap_mem_eq(r.mb->mem, after, RIG_LEN);
	ktap_eq(r.b->count[CAIRN_CTR_DUPLICATE_REQUEST], 2);
	sim_end(r.s);
}

/* Some requesters take an ACK with a READ's PSN for its response. */
static void acks_stop_at_reads(void)
{
	struct rig r = alone();
	u32 from;

	get(&r, 0, write_only);
	get(&r, 1, write_only);
	get(&r, 2, read_req);
	get(&r, 0, write_only);
	ktap_ok(cairn_psn_diff(last_sent(r.b)->psn,
			       cairn_psn_add(r.a->psn, 1)) <= 0);
	ktap_eq(last_sent(r.b)->opcode, CAIRN_BTH_ACK);
	get(&r, 5, faa);
	get(&r, 6, write_only);
	from = r.s->n_sent;
	get(&r, 1, write_only);
	expect_aeth(&r, from, 1, ACKED);
	from = r.s->n_sent;
	get(&r, 6, write_only);
	expect_aeth(&r, from, 6, ACKED);
	/* a response acknowledges what came before it in the train */
	from = r.s->n_sent;
	part(&r, 7, write_only);
	part(&r, 8, faa);
	sim_turn(r.b, CAIRN_RESP);
	ktap_eq(r.s->n_sent, from + 1);
	ktap_eq(last_sent(r.b)->opcode, CAIRN_BTH_ATOMIC_ACK);
	sim_end(r.s);
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
		struct rig r = alone_with(&sim_attrs, &init);

		/* the responder does not see these posts yet */
		r.b->rq->tail += cases[i].posted;
		get(&r, 0, write_only);
		ktap_eq(last_sent(r.b)->syndrome, cases[i].code);
		sim_end(r.s);
	}
}

static void no_credits_with_an_srq(void)
{
	struct sim_qp_init init = sim_rc;
	struct rig r;

	init.srq = sim_rq(16, 1, 0);
	r = alone_with(&sim_attrs, &init);
	rig_recv(&r, 1, 100);
	get(&r, 0, write_only);
	ktap_eq(last_sent(r.b)->syndrome, CAIRN_AETH_CREDIT_INVALID);
	sim_end(r.s);
	sim_rq_free(init.srq);
}

/*
 * READ, atomics and their duplicates.
 */

/* Responses since @from: as a READ of @len from PSN number @n on. */
static void expect_read(struct rig *r, u32 from, u32 n, u32 len)
{
	u32 npkts = len ? (len + PMTU - 1) / PMTU : 1, k;

	if (!ktap_eq(r->s->n_sent - from, npkts))
		return;
	for (k = 0; k < npkts; k++) {
		const struct cairn_pkt *p = &r->s->sent[from + k].pkt;
		u8 want = npkts == 1 ? CAIRN_BTH_READ_RESP_ONLY :
			  !k ? CAIRN_BTH_READ_RESP_FIRST :
			  k == npkts - 1 ? CAIRN_BTH_READ_RESP_LAST :
			  CAIRN_BTH_READ_RESP_MIDDLE;

		ktap_eq(p->opcode, want);
		ktap_eq(p->psn, cairn_psn_add(r->a->psn, n + k));
		ktap_eq(p->payload_len, min(len - k * PMTU, (u32)PMTU));
	}
}

static void read_takes_a_psn_per_response(void)
{
	struct rig r = alone();

	get(&r, 0, read_req);
	expect_read(&r, 0, 0, 3000);
	get(&r, 3, write_only);
	expect_aeth(&r, 3, 3, ACKED);
	ktap_eq(last_sent(r.b)->msn, 2);
	sim_end(r.s);
}

static void duplicate_reads_are_executed_again(void)
{
	struct req tail = read_req;
	struct rig r = alone();
	u32 from;

	get(&r, 0, read_req);
	get(&r, 3, write_only);
	from = r.s->n_sent;
	get(&r, 0, read_req);
	expect_read(&r, from, 0, 3000);
	/* only the end of it */
	from = r.s->n_sent;
	tail.off = 2 * PMTU;
	tail.dma_len = 3000 - 2 * PMTU;
	get(&r, 2, tail);
	expect_read(&r, from, 2, 3000 - 2 * PMTU);
	/* and the next new request is still the next */
	from = r.s->n_sent;
	get(&r, 4, write_only);
	expect_aeth(&r, from, 4, ACKED);
	sim_end(r.s);
}

/* A duplicate may not be another request in disguise. */
static void duplicate_reads_must_agree(void)
{
	struct req q;
	struct rig r = alone();
	u32 from;

	get(&r, 0, read_req);
	get(&r, 3, write_only);
	from = r.s->n_sent;
	q = read_req;
	q.dma_len = 4000;
	get(&r, 0, q);
	q = read_req;
	q.off = 100;
	get(&r, 0, q);
	q = read_req;
	q.rkey = 0xdead00;
	get(&r, 0, q);
	q = read_req;
	q.dma_len = 3000 - PMTU;
	get(&r, 2, q);
	get(&r, 0, faa);
	ktap_eq(r.s->n_sent, from);
	ktap_eq(r.b->atomics, 0);
	ktap_eq(r.b->c.state, CAIRN_QP_RTS);
	sim_end(r.s);
}

static void duplicate_atomics_are_answered_from_memory(void)
{
	struct rig r = alone();
	u64 first, after;
	u32 n;

	memcpy(&first, r.mb->mem, 8);
	for (n = 0; n < 4; n++)
		get(&r, n, faa);
	for (n = 4; n--; ) {
		get(&r, n, faa);
		ktap_eq(last_sent(r.b)->opcode, CAIRN_BTH_ATOMIC_ACK);
		ktap_eq(last_sent(r.b)->psn, cairn_psn_add(r.a->psn, n));
		ktap_eq(last_sent(r.b)->orig, first + n);
		ktap_eq(last_sent(r.b)->msn, n + 1);
	}
	memcpy(&after, r.mb->mem, 8);
	ktap_eq(after, first + 4);
	ktap_eq(r.b->atomics, 4);
	sim_end(r.s);
}

/* More than the agreed number ago: forgotten, and certainly not repeated. */
static void forgotten_atomics_are_not_repeated(void)
{
	struct rig r = alone();
	u32 n, from;

	for (n = 0; n < 5; n++)
		get(&r, n, faa);
	from = r.s->n_sent;
	get(&r, 0, faa);
	ktap_eq(r.s->n_sent, from);
	ktap_eq(r.b->atomics, 5);
	ktap_eq(r.b->c.state, CAIRN_QP_RTS);
	sim_end(r.s);
}

static void compare_and_swap(void)
{
	struct rig r = alone();
	struct req cas = { CAIRN_BTH_CMP_SWAP, .add = 77, .ack = true };
	u64 first, now;

	memcpy(&first, r.mb->mem, 8);
	cas.compare = first + 1;
	get(&r, 0, cas);
	ktap_eq(last_sent(r.b)->orig, first);
	memcpy(&now, r.mb->mem, 8);
	ktap_eq(now, first);
	cas.compare = first;
	get(&r, 1, cas);
	ktap_eq(last_sent(r.b)->orig, first);
	memcpy(&now, r.mb->mem, 8);
	ktap_eq(now, 77);
	sim_end(r.s);
}

/* One more READ than agreed, while none has been answered. */
/* A requester that sends the next READ has the answer of the oldest one: the repeated
 * response of that one is dropped.
 */
static void repeated_reads_give_way(void)
{
	struct rig r = alone();
	struct req read = read_req;
	u32 n, from;

	for (n = 0; n < 16; n++)
		get(&r, 3 * n, read);
	from = r.s->n_sent;
	part(&r, 0, read);
	part(&r, 48, read);
	sim_turn(r.b, CAIRN_RESP);
	ktap_eq(r.b->c.state, CAIRN_QP_RTS);
	ktap_eq(r.s->n_sent, from + 3);
	ktap_eq(r.s->sent[from].pkt.psn, cairn_psn_add(r.a->psn, 48));
	ktap_eq(r.b->c.resp.replay.pending, 0);
	sim_end(r.s);
}

static void too_many_outstanding_reads(void)
{
	static const struct req *const reqs[] = { &read_req, &faa };
	u32 kind, n;

	for (kind = 0; kind < 2; kind++) {
		struct rig r = alone();
		u32 psn = 0;

		for (n = 0; n < 4; n++, psn += 3)
			part(&r, psn, read_req);
		part(&r, psn, *reqs[kind]);
		sim_turn(r.b, CAIRN_RESP);
		ktap_ok(sim_run(r.s, SIM_MS));
		/* the four are answered first */
		ktap_eq(r.s->n_sent, 13);
		expect_aeth(&r, 0, psn, INVALID_REQ);
		ktap_eq(r.b->c.state, CAIRN_QP_ERR);
		ktap_eq(r.b->atomics, 0);
		sim_end(r.s);
	}
}

static void no_reads_agreed(void)
{
	static const struct req *const reqs[] = { &read_req, &faa };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(reqs); i++) {
		struct cairn_qp_attrs attrs = sim_attrs;
		struct rig r;

		attrs.max_dest_rd_atomic = 0;
		r = alone_with(&attrs, &sim_rc);
		get(&r, 0, *reqs[i]);
		expect_aeth(&r, 0, 0, INVALID_REQ);
		ktap_eq(r.b->atomics, 0);
		sim_end(r.s);
	}
}

/* Responses come in PSN order, and the ACK of what follows after them. */
static void answers_in_order(void)
{
	struct rig r = alone();
	u32 i;

	r.s->budget = 1;
	part(&r, 0, write_only);
	part(&r, 1, read_req);
	part(&r, 4, faa);
	part(&r, 5, read_req);
	part(&r, 8, write_only);
	sim_turn(r.b, CAIRN_RESP);
	ktap_ok(sim_run(r.s, SIM_MS));
	for (i = 1; i < r.s->n_sent; i++)
		ktap_ok(cairn_psn_diff(r.s->sent[i].pkt.psn,
				       r.s->sent[i - 1].pkt.psn) > 0);
	expect_aeth(&r, 0, 8, ACKED);
	sim_end(r.s);
}

/* A NAK comes after the responses to what was before it. */
static void nak_after_the_responses(void)
{
	struct rig r = alone();

	r.s->budget = 1;
	part(&r, 0, read_req);
	part(&r, 4, write_only);
	sim_turn(r.b, CAIRN_RESP);
	ktap_ok(sim_run(r.s, SIM_SEC));
	ktap_eq(r.s->n_sent, 4);
	expect_aeth(&r, 0, 3, SEQ_ERR);
	sim_end(r.s);
}

/*
 * State and partition.
 */

static void nothing_before_rtr(void)
{
	struct sim *s = sim_new(1);
	struct sim_qp *b = sim_qp(s, 1, &sim_rc);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_WRITE_ONLY,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = b->c.qpn,
		.ack_req = true,
	};

	s->record = true;
	b->c.attrs = sim_attrs;
	sim_inject(b, &pkt, NULL);
	sim_modify(b, CAIRN_QP_INIT);
	sim_inject(b, &pkt, NULL);
	ktap_ok(sim_run(s, SIM_SEC));
	ktap_eq(s->n_sent, 0);
	ktap_eq(b->count[CAIRN_CTR_RX_WRONG_QP], 2);
	ktap_eq(b->asyncs, 0);
	sim_end(s);
}

static void communication_established_once(void)
{
	struct sim *s = sim_new(1);
	struct sim_qp *b = sim_qp(s, 1, &sim_rc);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_WRITE_ONLY,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = b->c.qpn,
		.psn = 5,
		.ack_req = true,
	};

	s->record = true;
	b->c.attrs = sim_attrs;
	sim_modify(b, CAIRN_QP_INIT);
	cairn_resp_set_psn(&b->c, 5);
	sim_modify(b, CAIRN_QP_RTR);
	ktap_ok(sim_run(s, SIM_SEC));
	ktap_eq(b->asyncs, 0);
	for (; pkt.psn < 10; pkt.psn++)
		sim_inject(b, &pkt, NULL);
	ktap_eq(b->asyncs, 1);
	ktap_eq(sim_async_count(b, CAIRN_ASYNC_COMM_EST), 1);
	ktap_eq(s->n_sent, 5);
	sim_modify(b, CAIRN_QP_RTS);
	sim_inject(b, &pkt, NULL);
	ktap_eq(b->asyncs, 1);
	sim_end(s);
}

static void other_partitions_are_dropped(void)
{
	struct rig r = alone();
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_WRITE_ONLY,
		.pkey = 0x8001,
		.qpn = r.b->c.qpn,
		.ack_req = true,
	};

	rig_recv(&r, 21, 1000);
	sim_inject(r.b, &pkt, NULL);
	ktap_eq(r.s->n_sent, 0);
	ktap_eq(r.b->count[CAIRN_CTR_RX_PKEY_ERRORS], 1);
	get(&r, 0, send_only);
	expect_aeth(&r, 0, 0, ACKED);
	sim_end(r.s);
}

static void other_transports_are_dropped(void)
{
	static const u8 ops[] = {
		CAIRN_BTH_UC | CAIRN_BTH_SEND_ONLY,
		CAIRN_BTH_UC | CAIRN_BTH_WRITE_ONLY,
		CAIRN_BTH_UD | CAIRN_BTH_SEND_ONLY,
	};
	struct rig r = alone();
	u32 i;

	rig_recv(&r, 21, 1000);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		get(&r, 0, (struct req){ ops[i], 10, .dma_len = 10 });
	ktap_eq(r.s->n_sent, 0);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 0);
	ktap_eq(r.b->count[CAIRN_CTR_RX_WRONG_QP], ARRAY_SIZE(ops));
	get(&r, 0, send_only);
	expect_aeth(&r, 0, 0, ACKED);
	sim_end(r.s);
}

/* The flag travels from the sender's WQE to the receiver's CQE. */
static void solicited_messages(void)
{
	struct rig r = alone();
	struct req q = send_only;

	rig_recv(&r, 21, 1000);
	rig_recv(&r, 22, 1000);
	get(&r, 0, q);
	q.solicited = true;
	get(&r, 1, q);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 2);
	ktap_eq(r.b->cq[CAIRN_RESP].log[0].cqe.flags, 0);
	ktap_eq(r.b->cq[CAIRN_RESP].log[1].cqe.flags, CAIRN_CQE_SOLICITED);
	sim_end(r.s);
}

/* PSNs come again: the record of an old READ is not that of a new one. */
static void an_old_read_answers_for_no_new_one(void)
{
	struct rig r = alone();
	struct req old = read_req, fresh = read_req;
	u32 from;

	old.dma_len = 4 * sim_attrs.pmtu;
	fresh.dma_len = 100;
	fresh.off = 8192;
	get(&r, 0, old);
	sim_run(r.s, 20 * SIM_US);
	/* as after 2^24 - 1 PSNs of SENDs and WRITEs */
	r.b->c.resp.epsn = cairn_psn_add(r.a->psn, 2);
	get(&r, 2, fresh);
	from = r.s->n_sent;
	get(&r, 2, fresh);
	ktap_eq(r.s->n_sent, from + 1);
	ktap_eq(last_sent(r.b)->psn, cairn_psn_add(r.a->psn, 2));
	sim_end(r.s);
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
