// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Forged packets, and packets of another connection, ahead of the expected PSN: they
 * neither stall nor end the connection, and the real packets are executed. Forged
 * answers complete no request and do not end the connection.
 */
#include "engine/window.h"
#include "persist.h"

#define OTHER_PORT	0xd000

static struct cairn_pkt forged_request(const struct rig *rig, u32 n, u8 opcode, u32 len)
{
	return (struct cairn_pkt){
		.opcode = opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->b->c.qpn,
		.psn = cairn_psn_add(rig->a->psn, n),
		.payload_len = len,
		.dma_len = len,
		.va = rig->mb->va + 64 * n,
		.rkey = rig->mb->key,
		.ack_req = true,
	};
}

/* A SEND @n packets behind the first that a ever sent. */
static void forged_plant(struct rig *rig, u16 port, u32 n)
{
	struct cairn_pkt pkt = forged_request(rig, n, CAIRN_BTH_SEND_ONLY, 8);

	sim_inject_from(rig->b, port, &pkt, "forgery");
	sim_run(rig->s, 100 * SIM_US);
}

/* A WRITE of 8 bytes at its own place. */
static void forged_write8(struct rig *rig, u32 n, const char *data)
{
	struct cairn_pkt pkt = forged_request(rig, n, CAIRN_BTH_WRITE_ONLY, 8);

	sim_inject(rig->b, &pkt, data);
	sim_run(rig->s, 100 * SIM_US);
}

static void forged_sends(struct rig *rig, u64 first, u64 last)
{
	u64 id;

	for (id = first; id <= last; id++) {
		rig_recv(rig, id, 100);
		rig_send(rig, id, CAIRN_WQE_SEND, 8);
		sim_run(rig->s, SIM_MS);
	}
}

static struct rig forged_warm(void)
{
	struct rig rig = rig_new(1);

	forged_sends(&rig, 1, 20);
	return rig;
}

/* No timer was needed, and the content is a's. */
static void expect_undisturbed(struct rig *rig, u64 last)
{
	expect_cqes(rig->a, CAIRN_REQ, 0, 1, last, CAIRN_CQE_SUCCESS);
	expect_cqes(rig->b, CAIRN_RESP, 0, 1, last, CAIRN_CQE_SUCCESS);
	ktap_eq(rig->s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	ktap_eq(rig->s->count[CAIRN_CTR_TAIL_PROBES], 0);
	ktap_mem_eq(rig->mb->mem + RIG_LEN / 2, rig->ma->mem, 8);
}

static void from_another_port(void)
{
	struct rig rig = forged_warm();

	forged_plant(&rig, OTHER_PORT, 25);
	ktap_ok(!rig.b->held);
	ktap_eq(rig.b->count[CAIRN_CTR_RX_OTHER_PORT], 1);
	ktap_eq(rig.b->count[CAIRN_CTR_SEQ_NAKS_SENT], 0);
	forged_sends(&rig, 21, 40);
	expect_undisturbed(&rig, 40);
	sim_end(rig.s);
}

/* Before the first packet in sequence the responder does not know the port. */
static void before_the_first(void)
{
	struct rig rig = rig_new(1);

	forged_plant(&rig, OTHER_PORT, 2);
	ktap_ok(rig.b->held);
	forged_sends(&rig, 1, 10);
	expect_undisturbed(&rig, 10);
	ktap_eq(rig.b->count[CAIRN_CTR_RX_HELD_REFUSED], 1);
	sim_end(rig.s);
}

/* From the right port it is kept; it delays nothing and ends nothing. */
static void nothing_waits_for_it(void)
{
	struct rig rig = forged_warm();

	forged_plant(&rig, SIM_SPORT, 45);
	ktap_ok(rig.b->held);
	forged_sends(&rig, 21, 45);
	expect_undisturbed(&rig, 45);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

static void kept_for_a_while(void)
{
	struct rig rig = forged_warm();

	forged_plant(&rig, SIM_SPORT, 25);
	ktap_ok(rig.b->held);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_ok(!rig.b->held);
	forged_sends(&rig, 21, 40);
	expect_undisturbed(&rig, 40);
	sim_end(rig.s);
}

static void within_the_window(void)
{
	struct rig rig = forged_warm();

	forged_plant(&rig, SIM_SPORT, 20 + 512);
	ktap_ok(!rig.b->held);
	forged_plant(&rig, SIM_SPORT, 20 + 511);
	ktap_ok(rig.b->held);
	sim_end(rig.s);
}

/* Two packets with one PSN: neither counts, the one in sequence does. */
static void two_contents(void)
{
	struct rig rig = rig_new(1);
	u32 from;

	rig.s->dead[0] = true;
	forged_write8(&rig, 0, "number0");
	forged_write8(&rig, 3, "forgery");
	forged_write8(&rig, 3, "number3");
	forged_write8(&rig, 3, "forgery");
	forged_write8(&rig, 4, "number4");
	forged_write8(&rig, 1, "number1");
	ktap_mem_eq(rig.mb->mem + 64, "number1", 8);
	from = rig.s->n_sent;
	forged_write8(&rig, 2, "number2");
	ktap_ok(memcmp(rig.mb->mem + 3 * 64, "forgery", 8));
	ktap_ok(memcmp(rig.mb->mem + 3 * 64, "number3", 8));
	/* what is missing is asked for */
	ktap_ok(rig.s->n_sent > from);
	ktap_eq(rig.s->sent[from].pkt.psn, cairn_psn_add(rig.a->psn, 3));
	ktap_eq(rig.s->sent[from].pkt.syndrome,
		CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ);
	forged_write8(&rig, 3, "number3");
	ktap_mem_eq(rig.mb->mem + 3 * 64, "number3", 8);
	ktap_mem_eq(rig.mb->mem + 4 * 64, "number4", 8);
	/* later packets with these numbers are as good as any */
	ktap_ok(!rig.b->c.resp.any_refused);
	sim_end(rig.s);
}

/* The same twice is one. */
static void one_content_twice(void)
{
	struct rig rig = rig_new(1);

	rig.s->dead[0] = true;
	forged_write8(&rig, 0, "number0");
	forged_write8(&rig, 2, "number2");
	forged_write8(&rig, 2, "number2");
	forged_write8(&rig, 1, "number1");
	ktap_mem_eq(rig.mb->mem + 2 * 64, "number2", 8);
	ktap_eq(rig.b->count[CAIRN_CTR_RX_HELD_REFUSED], 0);
	sim_end(rig.s);
}

/* A kept packet that cannot be executed does not end the connection. */
static void does_not_fit(void)
{
	static const u8 opcodes[] = {
		CAIRN_BTH_SEND_MIDDLE, CAIRN_BTH_SEND_LAST,
		CAIRN_BTH_WRITE_LAST, CAIRN_BTH_WRITE_ONLY,
		CAIRN_BTH_READ_REQUEST, CAIRN_BTH_FETCH_ADD,
		CAIRN_BTH_SEND_ONLY, CAIRN_BTH_SEND_ONLY_INV,
	};
	u64 id;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct rig rig = forged_warm();
		struct cairn_pkt pkt = forged_request(&rig, 21, opcodes[i],
						      opcodes[i] ==
						      CAIRN_BTH_SEND_ONLY ? 512 : 8);

		pkt.rkey ^= 1;		/* of no region */
		if (!(cairn_opcodes[opcodes[i]].flags & CAIRN_OP_PAYLOAD))
			pkt.payload_len = 0;
		for (id = 21; id <= 40; id++)
			rig_recv(&rig, id, 100);
		sim_inject(rig.b, &pkt, rig.ma->mem);
		sim_run(rig.s, 100 * SIM_US);
		ktap_ok(rig.b->held);
		for (id = 21; id <= 40; id++) {
			rig_send(&rig, id, CAIRN_WQE_SEND, 8);
			sim_run(rig.s, SIM_MS);
		}
		ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
		ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 40, CAIRN_CQE_SUCCESS);
		expect_cqes(rig.b, CAIRN_RESP, 0, 1, 40, CAIRN_CQE_SUCCESS);
		ktap_mem_eq(rig.mb->mem + RIG_LEN / 2, rig.ma->mem, 8);
		ktap_eq(rig.b->count[CAIRN_CTR_RX_HELD_REFUSED], 1);
		sim_end(rig.s);
	}
}

/* A WRITE_PERSIST that succeeds is durable. */
static void in_place_of_a_persist(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	u32 i;

	for (i = 0; i < 20; i++)
		rig_recv(&rig, 100 + i, 1024);
	forged_plant(&rig, OTHER_PORT, 1);
	for (i = 0; i < 4; i++)
		persist_at(&rig, i, i * 64, 64, 0);
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 3, CAIRN_CQE_SUCCESS);
	ktap_ok(is_durable(&rig, 0, 4 * 64));
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	sim_end(rig.s);
}

/* Inject a forged answer of @opcode to the newest packet of a. */
static void forged_answer(struct rig *rig, u16 port, u8 opcode, u8 syndrome)
{
	struct cairn_pkt pkt = {
		.opcode = opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->a->c.qpn,
		.psn = cairn_psn_add(rig->a->c.req.sent, CAIRN_24BIT_MASK),
		.syndrome = syndrome,
		.msn = rig->b->c.resp.msn + 1,
		.durability = CAIRN_DURABILITY_EMULATED,
		.orig = 99,
	};

	if (cairn_opcodes[opcode].kind == CAIRN_KIND_READ_RESP)
		pkt.payload_len = 8;
	sim_inject_from(rig->a, port, &pkt, "forgery");
	sim_run(rig->s, SIM_US);
}

/* From another port than the answers before it, none is believed. */
static void answers_of_others(void)
{
	static const struct {
		u8 request, opcode, syndrome;
	} cases[] = {
		{ CAIRN_WQE_SEND, CAIRN_BTH_ACK, CAIRN_AETH_ACK | 31 },
		{ CAIRN_WQE_WRITE, CAIRN_BTH_ACK, CAIRN_AETH_ACK | 31 },
		{ CAIRN_WQE_SEND, CAIRN_BTH_ACK,
		  CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS },
		{ CAIRN_WQE_SEND, CAIRN_BTH_ACK,
		  CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ },
		{ CAIRN_WQE_SEND, CAIRN_BTH_ACK, CAIRN_AETH_RNR_NAK | 1 },
		{ CAIRN_WQE_READ, CAIRN_BTH_READ_RESP_ONLY,
		  CAIRN_AETH_ACK | 31 },
		{ CAIRN_WQE_FAA, CAIRN_BTH_ATOMIC_ACK,
		  CAIRN_AETH_ACK | 31 },
		{ CAIRN_WQE_WRITE_PERSIST, CAIRN_BTH_PERSIST_ACK,
		  CAIRN_AETH_ACK | 31 },
		{ CAIRN_WQE_WRITE_PERSIST, CAIRN_BTH_PERSIST_ACK,
		  CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_OP },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig rig = forged_warm();

		rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL,
					   CAIRN_PERSIST_NIC);
		rig_recv(&rig, 21, 100);
		rig.s->dead[1] = true;
		rig_send(&rig, 21, cases[i].request, 8);
		sim_run(rig.s, SIM_US);
		ktap_eq(rig.a->c.req.una + 1, rig.a->c.req.sent);
		forged_answer(&rig, OTHER_PORT, cases[i].opcode, cases[i].syndrome);
		ktap_eq(rig.a->count[CAIRN_CTR_RX_OTHER_PORT], 1);
		ktap_eq(send_cqes(&rig), 20);
		ktap_eq(rig.a->c.req.una + 1, rig.a->c.req.sent);
		ktap_ok(memcmp(rig.ma->mem, "forgery", 8));
		ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
		rig.s->dead[1] = false;
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 21, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.s->count[CAIRN_CTR_RNR_NAKS_RECEIVED], 0);
		ktap_eq(rig.s->count[CAIRN_CTR_SEQ_NAKS_RECEIVED], 0);
		sim_end(rig.s);
	}
}

/* The same answers from the right port count, so the cases above can fail. */
static void answers_of_the_peer(void)
{
	struct rig rig = forged_warm();

	rig_recv(&rig, 21, 100);
	rig.s->dead[1] = true;
	rig_send(&rig, 21, CAIRN_WQE_SEND, 8);
	sim_run(rig.s, SIM_US);
	forged_answer(&rig, SIM_SPORT, CAIRN_BTH_ACK, CAIRN_AETH_ACK | 31);
	expect_cqe(rig.a, CAIRN_REQ, 20, 21, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* A connection of which no answer has come. */
static struct rig rig_of_strangers(void)
{
	struct rig rig = rig_of(pair_near(1, &sim_rc, &sim_attrs, 0, true));

	ktap_eq(rig.a->c.req.peer_port.changes, 0);
	return rig;
}

/* An answer to a packet that is not outstanding does not identify the port. */
static void stale_answers_of_others(void)
{
	struct rig rig = rig_of_strangers();

	rig_recv(&rig, 1, 100);
	forged_answer(&rig, OTHER_PORT, CAIRN_BTH_ACK, CAIRN_AETH_ACK | 31);
	ktap_ok(!rig.a->c.req.peer_port.known);
	forged_sends(&rig, 2, 10);
	rig_send(&rig, 11, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(send_cqes(&rig), 10);
	ktap_eq(rig.s->count[CAIRN_CTR_TAIL_PROBES], 0);
	ktap_eq(rig.a->count[CAIRN_CTR_RX_OTHER_PORT], 1);
	sim_end(rig.s);
}

/* One packet is on the way until the first answer has come, whatever is posted. */
static void one_packet_for_strangers(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE, CAIRN_WQE_SEND,
				  CAIRN_WQE_READ, CAIRN_WQE_FAA,
				  CAIRN_WQE_WRITE_PERSIST };
	u32 i;
	u64 id;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		u32 len = ops[i] == CAIRN_WQE_FAA ? 8 : 20000;
		struct rig rig = rig_of_strangers();
		u32 first = rig.a->c.req.una;

		rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL,
					   CAIRN_PERSIST_NIC);
		rig.s->dead[0] = true;
		for (id = 1; id <= 20; id++) {
			rig_recv(&rig, id, 20000);
			rig_send(&rig, id, ops[i], len);
		}
		sim_run(rig.s, SIM_MS);
		ktap_eq(rig.a->c.req.una, first);
		ktap_eq(rig.a->c.req.sent, cairn_psn_add(first,
				ops[i] == CAIRN_WQE_READ ? cairn_window_npkts(&rig.a->c, len) : 1));
		rig.s->dead[0] = false;
		ktap_ok(sim_run(rig.s, LONG_TIME));
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 20, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.a->c.req.peer_port.changes, 1);
		sim_end(rig.s);
	}
}

/* A NAK for any packet of a first message counts: nothing else is on the way. */
static void refusals_of_strangers(void)
{
	struct rig rig = rig_of_strangers();

	rig_recv(&rig, 1, 8);
	rig_send(&rig, 1, CAIRN_WQE_SEND, 20000);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_INV_REQ_ERR);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	sim_end(rig.s);
}

/* Answers of all kinds with the PSNs from the oldest packet on, but for those that
 * are the only ones of their kind.
 */
static void forge_all_but_one(struct rig *rig, u32 n)
{
	static const struct {
		u8 opcode, syndrome;
		bool oldest;	/* is the PSN that is left out, else the newest */
	} kinds[] = {
		{ CAIRN_BTH_ACK, CAIRN_AETH_ACK | 31, false },
		{ CAIRN_BTH_ACK, CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ, true },
		{ CAIRN_BTH_ACK, CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS, true },
		{ CAIRN_BTH_ACK, CAIRN_AETH_RNR_NAK | 1, true },
		{ CAIRN_BTH_PERSIST_ACK, CAIRN_AETH_ACK | 31, false },
		{ CAIRN_BTH_PERSIST_ACK, CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_OP, true },
		{ CAIRN_BTH_READ_RESP_MIDDLE, 0, true },
		{ CAIRN_BTH_ATOMIC_ACK, CAIRN_AETH_ACK | 31, true },
	};
	static const char data[4096] = "forgery";
	u32 una = rig->a->c.req.una, i, k;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (k = 0; k < n; k++) {
			struct cairn_pkt pkt = {
				.opcode = kinds[i].opcode,
				.pkey = CAIRN_PKEY_DEFAULT,
				.qpn = rig->a->c.qpn,
				.psn = cairn_psn_add(una, k),
				.syndrome = kinds[i].syndrome,
				.msn = rig->b->c.resp.msn + 1 + k,
				.durability = CAIRN_DURABILITY_EMULATED,
				.orig = 99,
			};

			if (k == (kinds[i].oldest ? 0 : n - 1))
				continue;
			if (kinds[i].opcode == CAIRN_BTH_READ_RESP_MIDDLE)
				pkt.payload_len = rig->a->c.attrs.pmtu;
			sim_inject_from(rig->a, OTHER_PORT, &pkt, data);
		}
	}
}

/* Until an answer is overdue. */
static void await_doubt(struct rig *rig)
{
	u32 ms;

	for (ms = 0; ms < 1000 && rig->a->c.req.peer_port.known; ms++)
		sim_run(rig->s, SIM_MS);
	ktap_ok(!rig->a->c.req.peer_port.known);
}

/* An answer is overdue, and it can come from another port now. But not with any PSN. */
static void overdue_answers_of_others(void)
{
	static const u8 ops[] = { CAIRN_WQE_SEND, CAIRN_WQE_READ,
				  CAIRN_WQE_WRITE_PERSIST };
	static u8 before[RIG_LEN];
	u32 i, una, sent;
	u64 id;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		u32 len = ops[i] == CAIRN_WQE_READ ? 20000 : 8;
		u64 last = ops[i] == CAIRN_WQE_READ ? 21 : 60;
		struct rig rig = forged_warm();

		rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL,
					   CAIRN_PERSIST_NIC);
		rig.s->dead[1] = true;
		for (id = 21; id <= last; id++) {
			rig_recv(&rig, id, 100);
			rig_send(&rig, id, ops[i], len);
		}
		await_doubt(&rig);
		una = rig.a->c.req.una;
		sent = rig.a->c.req.sent;
		memcpy(before, rig.ma->mem, RIG_LEN);
		forge_all_but_one(&rig, cairn_psn_diff(sent, una));
		ktap_eq(rig.a->c.req.una, una);
		ktap_eq(rig.a->c.req.rnr_until, 0);
		ktap_eq(rig.a->c.req.late_nak.syndrome, 0);
		ktap_eq(send_cqes(&rig), 20);
		ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
		ktap_eq(rig.a->c.req.peer_port.changes, 1);
		ktap_mem_eq(rig.ma->mem, before, RIG_LEN);
		rig.s->dead[1] = false;
		ktap_ok(sim_run(rig.s, LONG_TIME));
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, last, CAIRN_CQE_SUCCESS);
		sim_end(rig.s);
	}
}

/* The same when all is received and waits for the host. */
static void overdue_durability_of_others(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	u32 first = rig.a->c.req.una, k;

	empty_recvs(rig.b, 1, 4);
	for (k = 1; k <= 4; k++)
		persist_first(&rig, k, 100);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.a->c.req.una, rig.a->c.req.sent);
	for (k = 0; k < 3; k++) {
		struct cairn_pkt pkt = {
			.opcode = CAIRN_BTH_PERSIST_ACK,
			.pkey = CAIRN_PKEY_DEFAULT,
			.qpn = rig.a->c.qpn,
			.psn = cairn_psn_add(first, k),
			.syndrome = CAIRN_AETH_ACK | 31,
			.msn = k + 1,
			.durability = CAIRN_DURABILITY_EMULATED,
		};

		/* as when the timer of its probe has expired */
		rig.a->c.req.peer_port.known = false;
		sim_inject_from(rig.a, OTHER_PORT, &pkt, NULL);
		pkt.syndrome = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_OP;
		pkt.psn = cairn_psn_add(first, k + 1);
		sim_inject_from(rig.a, OTHER_PORT, &pkt, NULL);
	}
	ktap_eq(send_cqes(&rig), 0);
	for (k = 0; k < 4; k++)
		ktap_eq(persist_release(&rig, k, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 4, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* A peer may change its port: that costs one probe. */
static void peer_changes_port(void)
{
	struct rig rig = forged_warm();

	rig.b->sport = OTHER_PORT;
	forged_sends(&rig, 21, 60);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 60, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.s->count[CAIRN_CTR_TAIL_PROBES], 1);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	sim_end(rig.s);
}

static enum sim_fate lose_one(struct sim_qp *qp, enum cairn_side_id side,
			      const struct cairn_pkt *pkt)
{
	bool *lost = qp->hooks.arg;

	if (*lost || pkt->psn != cairn_psn_add(qp->psn, 40))
		return SIM_PASS;
	*lost = true;
	return SIM_DROP;
}

/* ... with a packet missing in the middle: what the peer says of that, and of the
 * oldest one, has not the PSN that is believed.
 */
static void port_changes_at_a_gap(void)
{
	struct rig rig = forged_warm();
	bool lost = false;
	u64 id;

	rig.b->plain = true;
	rig.b->sport = OTHER_PORT;
	rig.a->hooks.emit = lose_one;
	rig.a->hooks.arg = &lost;
	for (id = 21; id <= 60; id++)
		rig_send(&rig, id, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_ok(lost);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 60, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	ktap_eq(rig.a->c.req.peer_port.changes, 2);
	sim_end(rig.s);
}

/* ... with a peer that gives no credits and has no receive for a packet behind the
 * oldest: what it says has no PSN that is believed, but it is not silent.
 */
static void port_changes_without_receives(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct sim_qp_init init = sim_rc;
	struct sim_rq *srq = sim_rq(1024, 4, 0);
	struct pair pair = { .s = sim_new(1) };
	struct rig rig;
	u64 id;

	pair.a = sim_qp(pair.s, 0, &init);
	init.srq = srq;
	pair.b = sim_qp(pair.s, 1, &init);
	attrs.min_rnr_timer = 20;	/* 10 ms */
	sim_connect(pair.a, pair.b, &attrs);
	rig = rig_of(pair);
	for (id = 1; id <= 20; id++)
		rig_recv(&rig, id, 100);
	rig.b->sport = OTHER_PORT;
	for (id = 1; id <= 40; id++)
		rig_send(&rig, id, CAIRN_WQE_SEND, 8);
	sim_run(rig.s, 8 * SIM_SEC);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	/* the NAKs make it wait, but do not prove that the peer lives */
	ktap_ok(rig.a->c.req.retries);
	for (id = 21; id <= 40; id++)
		rig_recv(&rig, id, 100);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 40, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
	sim_rq_free(srq);
}

/* A queue of four packets, each of which takes 3 ms. */
struct short_queue {
	u64 leaves[4];		/* when each place is free again */
	u32 next;
	u32 answers;		/* ACKs that are lost first */
};

static enum sim_fate short_queue_emit(struct sim_qp *qp, enum cairn_side_id side,
				      const struct cairn_pkt *pkt)
{
	struct short_queue *queue = qp->hooks.arg;
	u64 *leaves = &queue->leaves[queue->next % ARRAY_SIZE(queue->leaves)];

	if (side == CAIRN_RESP && queue->answers) {
		queue->answers--;
		return SIM_DROP;
	}
	if (*leaves > qp->s->now)
		return SIM_DROP;
	*leaves = qp->s->now + 3 * SIM_MS;
	queue->next++;
	return SIM_SURE;
}

/* A queue drops the end of each window, and so the one packet whose ACK shows the port. */
static void first_answers_lost_behind_a_short_queue(void)
{
	struct rig ab = rig_of_strangers();
	struct rig ba = { .s = ab.s, .a = ab.b, .b = ab.a, .ma = ab.mb, .mb = ab.ma };
	struct short_queue queues[2] = { { .answers = 2 }, { .answers = 2 } };
	u64 id;

	ab.a->hooks.emit = short_queue_emit;
	ab.a->hooks.arg = &queues[0];
	ab.b->hooks.emit = short_queue_emit;
	ab.b->hooks.arg = &queues[1];
	for (id = 1; id <= 40; id++) {
		rig_recv(&ab, id, 100);
		rig_recv(&ba, id, 100);
		rig_send(&ab, id, CAIRN_WQE_SEND, 8);
		rig_send(&ba, id, CAIRN_WQE_SEND, 8);
	}
	ktap_ok(sim_run(ab.s, LONG_TIME));
	expect_cqes(ab.a, CAIRN_REQ, 0, 1, 40, CAIRN_CQE_SUCCESS);
	expect_cqes(ab.b, CAIRN_REQ, 0, 1, 40, CAIRN_CQE_SUCCESS);
	ktap_eq(queues[0].answers + queues[1].answers, 0);
	sim_end(ab.s);
}

/* A host takes its time, and no ACK can name what was received last. */
static void port_changes_behind_a_read(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct rig plain = rig;

	plain.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	empty_recvs(rig.b, 1, 1);
	persist_first(&rig, 1, 100);
	rig_send(&plain, 2, CAIRN_WQE_READ, 100);
	sim_run(rig.s, 10 * SIM_MS);
	ktap_eq(rig.a->c.req.una, rig.a->c.req.sent);
	rig.b->sport = OTHER_PORT;
	sim_run(rig.s, 30 * SIM_SEC);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static enum sim_fate lose_rnr_naks(struct sim_qp *qp, enum cairn_side_id side,
				   const struct cairn_pkt *pkt)
{
	return pkt->op->kind == CAIRN_KIND_ACK &&
	       (pkt->syndrome & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_RNR_NAK ?
		       SIM_DROP :
		       SIM_PASS;
}

/* The host of the peer flushes what came when it gets a message behind it: more than
 * one packet leaves in the end. With one retry no RNR NAK comes in time; some peers send
 * none.
 */
static void strangers_wait_for_a_commit(void)
{
	static const struct {
		u8 retry_cnt;
		bool silent;
	} cases[] = { { 7, false }, { 7, true }, { 1, false } };
	u32 c, i;

	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		struct cairn_qp_attrs attrs = sim_attrs;
		struct rig rig, plain;

		attrs.retry_cnt = cases[c].retry_cnt;
		rig = rig_of(pair_near(1, &sim_rc, &attrs, 0, true));
		plain = rig;
		rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_HOST);
		if (cases[c].silent)
			rig.b->hooks.emit = lose_rnr_naks;
		empty_recvs(rig.b, 1, 3);
		rig_recv(&plain, 9, 64);
		for (i = 1; i <= 3; i++)
			rig_send(&rig, i, CAIRN_WQE_WRITE, 100);
		rig_send(&plain, 4, CAIRN_WQE_SEND, 8);
		for (i = 0; i < 1000 && rig.b->cq[CAIRN_RESP].n < 4; i++)
			sim_run(rig.s, 20 * SIM_MS);
		ktap_eq(rig.b->cq[CAIRN_RESP].n, 4);
		for (i = 0; i < 3; i++)
			ktap_eq(persist_release(&rig, i, 0), 0);
		ktap_ok(sim_run(rig.s, LONG_TIME));
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 4, CAIRN_CQE_SUCCESS);
		sim_end(rig.s);
	}
}

/* The first request from the new port is lost: those behind it are not reported. */
static void port_changes_with_a_loss(void)
{
	struct rig rig = forged_warm();
	u64 id;

	rig.a->sport = OTHER_PORT;
	rig.s->dead[1] = true;
	rig_send(&rig, 21, CAIRN_WQE_WRITE, 8);
	sim_run(rig.s, 100 * SIM_US);
	rig.s->dead[1] = false;
	for (id = 22; id <= 40; id++)
		rig_send(&rig, id, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 40, CAIRN_CQE_SUCCESS);
	ktap_ok(rig.b->count[CAIRN_CTR_RX_OTHER_PORT] > 0);
	ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
	sim_end(rig.s);
}

/* It waits for the host all the while. */
static void port_changes_before_durable(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	empty_recvs(rig.b, 1, 2);
	persist_first(&rig, 1, 100);
	sim_run(rig.s, 10 * SIM_MS);
	rig.b->sport = OTHER_PORT;
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	persist_first(&rig, 2, 100);
	sim_run(rig.s, 10 * SIM_MS);
	ktap_eq(persist_release(&rig, 1, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static enum sim_fate next_port(struct sim_qp *qp, enum cairn_side_id side,
			       const struct cairn_pkt *pkt)
{
	qp->sport = OTHER_PORT + pkt->psn % 16;
	return SIM_PASS;
}

/* Some peers have many ports at a time. */
static void peer_has_many_ports(void)
{
	struct rig rig = rig_new(1);
	u64 id;

	rig.a->hooks.emit = next_port;
	rig.b->hooks.emit = next_port;
	for (id = 1; id <= 400; id++) {
		rig_recv(&rig, id, 100);
		rig_send(&rig, id, CAIRN_WQE_SEND, 8);
		sim_run(rig.s, 4 * SIM_MS);
	}
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 400, CAIRN_CQE_SUCCESS);
	expect_cqes(rig.b, CAIRN_RESP, 0, 1, 400, CAIRN_CQE_SUCCESS);
	ktap_ok(rig.s->count[CAIRN_CTR_TAIL_PROBES] +
		rig.s->count[CAIRN_CTR_ACK_TIMEOUTS] <= 20);
	sim_end(rig.s);
}

/* Without a timer nothing would end the wait for the right port. */
static void port_without_a_timer(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.timeout = 0;
	rig = rig_with(1, &sim_rc, &attrs);
	forged_sends(&rig, 1, 20);
	rig.b->sport = OTHER_PORT;
	forged_sends(&rig, 21, 40);
	expect_undisturbed(&rig, 40);
	sim_end(rig.s);
}

/*
 * Packets of another connection of this host. The sender is known: with all else right,
 * a request and every kind of answer counts from the peer only.
 */
#define STRANGER	0x777777

/* A SEND of 8 bytes, the next in order. */
static void forged_send8(struct rig *rig, u8 opcode, u32 n, u32 sender)
{
	struct cairn_pkt pkt = forged_request(rig, n, opcode, 8);

	pkt.sender = sender;
	sim_inject(rig->b, &pkt, "12345678");
}

static void request_of_a_stranger(void)
{
	static const struct {
		const struct sim_qp_init *init;
		u8 opcode;
	} kinds[] = {
		{ &sim_rc, CAIRN_BTH_SEND_ONLY },
		{ &sim_uc, CAIRN_BTH_UC | CAIRN_BTH_SEND_ONLY },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct rig rig = rig_with(1, kinds[i].init, &sim_attrs);

		rig_recv(&rig, 1, 100);
		rig_recv(&rig, 2, 100);
		forged_send8(&rig, kinds[i].opcode, 0, STRANGER);
		ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
		ktap_eq(rig.b->count[CAIRN_CTR_RX_SPOOFED], 1);
		ktap_eq(rig.b->c.resp.epsn, rig.a->psn);
		forged_send8(&rig, kinds[i].opcode, 0, rig.a->c.qpn);
		forged_send8(&rig, kinds[i].opcode, 1, 0);
		expect_cqes(rig.b, CAIRN_RESP, 0, 1, 2, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.b->count[CAIRN_CTR_RX_SPOOFED], 1);
		sim_end(rig.s);
	}
}

/* Kept ahead of a gap: a stranger's is not, and the peer's is not disturbed by it. */
static void ahead_of_a_stranger(void)
{
	struct rig rig = forged_warm();

	forged_send8(&rig, CAIRN_BTH_SEND_ONLY, 25, STRANGER);
	ktap_ok(!rig.b->held);
	forged_send8(&rig, CAIRN_BTH_SEND_ONLY, 25, rig.a->c.qpn);
	ktap_ok(rig.b->held);
	sim_end(rig.s);
}

static void xrc_request_of_a_stranger(void)
{
	struct sim *sim = sim_new(1);
	struct sim_qp *qp_a = sim_qp(sim, 0, &sim_xrc_ini);
	struct sim_qp *qp_b = sim_qp(sim, 1, &sim_xrc_tgt);
	struct sim_rq *rq = sim_rq(64, 1, 0);
	struct cairn_pkt pkt;

	sim->host[1].xsrq[0] = (struct sim_xsrq){ rq, SIM_PD };
	sim_connect(qp_a, qp_b, &sim_attrs);
	ktap_ok(sim_queue_recv(rq, 1, NULL, 0));
	pkt = (struct cairn_pkt){
		.opcode = CAIRN_BTH_XRC | CAIRN_BTH_SEND_ONLY,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = qp_b->c.qpn,
		.psn = qp_a->psn,
		.srqn = 1,
		.sender = STRANGER,
	};
	sim_inject(qp_b, &pkt, NULL);
	ktap_eq(qp_b->cq[CAIRN_RESP].n, 0);
	ktap_eq(qp_b->count[CAIRN_CTR_RX_SPOOFED], 1);
	pkt.sender = qp_a->c.qpn;
	sim_inject(qp_b, &pkt, NULL);
	ktap_eq(qp_b->cq[CAIRN_RESP].n, 1);
	sim_end(sim);
	sim_rq_free(rq);
}

/* An answer that would end request @opcode comes from a stranger. */
static void answer_of_a_stranger(u8 opcode, struct cairn_pkt answer, u8 status)
{
	struct rig rig = rig_new(1);

	rig.s->dead[1] = true;
	rig_send(&rig, 1, opcode, 8);
	sim_run(rig.s, 10 * SIM_US);
	answer.pkey = CAIRN_PKEY_DEFAULT;
	answer.qpn = rig.a->c.qpn;
	answer.psn = rig.a->psn;
	answer.msn = 1;
	answer.sender = STRANGER;
	sim_inject(rig.a, &answer, "whatever");
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 0);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	ktap_eq(rig.a->count[CAIRN_CTR_RX_SPOOFED], 1);
	answer.sender = rig.b->c.qpn;
	sim_inject(rig.a, &answer, "whatever");
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, status);
	sim_end(rig.s);
}

static void answers_of_a_stranger(void)
{
	answer_of_a_stranger(CAIRN_WQE_SEND, (struct cairn_pkt){
		.opcode = CAIRN_BTH_ACK,
		.syndrome = CAIRN_AETH_ACK | CAIRN_AETH_VALUE_MASK,
	}, CAIRN_CQE_SUCCESS);
	answer_of_a_stranger(CAIRN_WQE_SEND, (struct cairn_pkt){
		.opcode = CAIRN_BTH_ACK,
		.syndrome = CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_OP,
	}, CAIRN_CQE_REM_OP_ERR);
	answer_of_a_stranger(CAIRN_WQE_READ, (struct cairn_pkt){
		.opcode = CAIRN_BTH_READ_RESP_ONLY,
		.syndrome = CAIRN_AETH_ACK | CAIRN_AETH_VALUE_MASK,
		.payload_len = 8,
	}, CAIRN_CQE_SUCCESS);
	answer_of_a_stranger(CAIRN_WQE_FAA, (struct cairn_pkt){
		.opcode = CAIRN_BTH_ATOMIC_ACK,
		.syndrome = CAIRN_AETH_ACK | CAIRN_AETH_VALUE_MASK,
	}, CAIRN_CQE_SUCCESS);
}

/* A connection of UC has them, too. */
static void notification_of_a_stranger(void)
{
	static const u8 payload[CAIRN_CNP_PAYLOAD];
	struct rig rig = rig_with(1, &sim_uc, &sim_attrs);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_CNP,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig.a->c.qpn,
		.becn = true,
		.payload_len = sizeof(payload),
		.sender = STRANGER,
	};

	sim_inject(rig.a, &pkt, payload);
	ktap_eq(rig.a->count[CAIRN_CTR_CNPS_RECEIVED], 0);
	ktap_eq(rig.a->count[CAIRN_CTR_RX_SPOOFED], 1);
	pkt.sender = rig.b->c.qpn;
	sim_inject(rig.a, &pkt, payload);
	ktap_eq(rig.a->count[CAIRN_CTR_CNPS_RECEIVED], 1);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(from_another_port),
	KTAP(before_the_first),
	KTAP(nothing_waits_for_it),
	KTAP(kept_for_a_while),
	KTAP(within_the_window),
	KTAP(two_contents),
	KTAP(one_content_twice),
	KTAP(does_not_fit),
	KTAP(in_place_of_a_persist),
	KTAP(answers_of_others),
	KTAP(answers_of_the_peer),
	KTAP(stale_answers_of_others),
	KTAP(one_packet_for_strangers),
	KTAP(refusals_of_strangers),
	KTAP(overdue_answers_of_others),
	KTAP(overdue_durability_of_others),
	KTAP(peer_changes_port),
	KTAP(port_changes_at_a_gap),
	KTAP(port_changes_without_receives),
	KTAP(first_answers_lost_behind_a_short_queue),
	KTAP(port_changes_behind_a_read),
	KTAP(strangers_wait_for_a_commit),
	KTAP(port_changes_with_a_loss),
	KTAP(port_changes_before_durable),
	KTAP(peer_has_many_ports),
	KTAP(port_without_a_timer),
	KTAP(request_of_a_stranger),
	KTAP(ahead_of_a_stranger),
	KTAP(xrc_request_of_a_stranger),
	KTAP(answers_of_a_stranger),
	KTAP(notification_of_a_stranger),
};

KTAP_MAIN(tests)
