// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * End-to-end flow control (IBTA 9.7.7.2): what the credits of a scripted peer
 * allow leaves, and nothing but one packet more.
 */
#include "engine.h"

/* A QP whose peer is this test. The first request is acknowledged, so that
 * the limit is known: @credits messages after it.
 */
static struct rig credit_limited(u8 code)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_ACK,
		.pkey = CAIRN_PKEY_DEFAULT,
		.syndrome = code,
		.msn = 1,
	};
	struct rig rig;

	attrs.timeout = 0;
	rig = rig_with(1, &sim_rc, &attrs);
	rig.s->dead[1] = true;
	rig_send(&rig, 0, CAIRN_WQE_WRITE, 1);
	sim_run(rig.s, 10 * SIM_US);
	pkt.qpn = rig.a->c.qpn;
	pkt.psn = rig.a->psn;
	sim_inject(rig.a, &pkt, NULL);
	expect_cqe(rig.a, CAIRN_REQ, 0, 0, CAIRN_CQE_SUCCESS);
	return rig;
}

/* Acknowledge PSN number @n with @msn messages complete. */
static void credit_handle_ack(struct rig *rig, u32 n, u32 msn, u8 code)
{
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_ACK,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->a->c.qpn,
		.psn = cairn_psn_add(rig->a->psn, n),
		.syndrome = code,
		.msn = msn,
	};

	sim_inject(rig->a, &pkt, NULL);
	sim_run(rig->s, 10 * SIM_US);
}

static u32 credit_sends(const struct rig *rig)
{
	return sent_kind(rig->a, 0, CAIRN_KIND_SEND);
}

static void credit_post(struct rig *rig, u32 n, u8 opcode, u32 len)
{
	while (n--)
		rig_send(rig, 1, opcode, len);
	sim_run(rig->s, 10 * SIM_US);
}

static void credits_are_used_and_not_exceeded(void)
{
	static const struct {
		u8 code;
		u32 messages;
	} cases[] = { { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 }, { 5, 6 },
		      { 6, 8 }, { 9, 24 }, { 10, 32 } };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig rig = credit_limited(cases[i].code);

		credit_post(&rig, 40, CAIRN_WQE_SEND, 10);
		ktap_eq(credit_sends(&rig), cases[i].messages);
		/* more only when there is more */
		credit_handle_ack(&rig, 1, 2, cases[i].code);
		ktap_eq(credit_sends(&rig), cases[i].messages + 1);
		credit_handle_ack(&rig, 1, 2, cases[i].code);
		ktap_eq(credit_sends(&rig), cases[i].messages + 1);
		sim_end(rig.s);
	}
}

/* Without any credit one packet asks, with AckReq. */
static void one_packet_probes(void)
{
	struct rig rig = credit_limited(0);

	credit_post(&rig, 5, CAIRN_WQE_SEND, 3000);
	ktap_eq(credit_sends(&rig), 1);
	ktap_ok(last_sent(rig.a)->ack_req);
	ktap_eq(last_sent(rig.a)->opcode, CAIRN_BTH_SEND_FIRST);
	/* taken, and still no credit: the next one asks */
	credit_handle_ack(&rig, 1, 1, 0);
	ktap_eq(credit_sends(&rig), 2);
	ktap_eq(last_sent(rig.a)->opcode, CAIRN_BTH_SEND_MIDDLE);
	/* now there is one, for this message */
	credit_handle_ack(&rig, 2, 1, 1);
	ktap_eq(credit_sends(&rig), 3);
	credit_handle_ack(&rig, 3, 2, 3);
	ktap_eq(credit_sends(&rig), 3 + 9);
	ktap_ok(rig.a->count[CAIRN_CTR_CREDIT_WAITS] > 0);
	sim_end(rig.s);
}

/* A request that takes no receive needs no credit, but it does not overtake. */
static void writes_and_reads_need_none(void)
{
	struct rig rig = credit_limited(0);

	credit_post(&rig, 3, CAIRN_WQE_WRITE, 3000);
	credit_post(&rig, 3, CAIRN_WQE_READ, 3000);
	credit_post(&rig, 3, CAIRN_WQE_FAA, 8);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), 10);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_READ_REQ), 3);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_ATOMIC_REQ), 3);
	sim_end(rig.s);
}

static void write_imm_needs_one(void)
{
	struct rig rig = credit_limited(1);

	credit_post(&rig, 3, CAIRN_WQE_WRITE_IMM, 10);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), 2);
	sim_end(rig.s);
}

/* Code 31 says that credits are not counted. */
static void no_limit(void)
{
	struct rig rig = credit_limited(CAIRN_AETH_CREDIT_INVALID);

	credit_post(&rig, 40, CAIRN_WQE_SEND, 10);
	ktap_eq(credit_sends(&rig), 40);
	sim_end(rig.s);
}

/* Every AETH that acknowledges carries credits, not only that of an ACK. */
static void responses_tell_credits(void)
{
	static const u8 ops[] = { CAIRN_WQE_READ, CAIRN_WQE_FAA };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig rig = credit_limited(1);
		struct cairn_pkt pkt = {
			.opcode = i ? CAIRN_BTH_ATOMIC_ACK :
				      CAIRN_BTH_READ_RESP_ONLY,
			.pkey = CAIRN_PKEY_DEFAULT,
			.qpn = rig.a->c.qpn,
			.psn = cairn_psn_add(rig.a->psn, 1),
			.payload_len = i ? 0 : 8,
			.syndrome = 5,		/* 6 messages */
			.msn = 2,
		};

		credit_post(&rig, 1, ops[i], 8);
		credit_post(&rig, 10, CAIRN_WQE_SEND, 10);
		ktap_eq(credit_sends(&rig), 0);
		sim_inject(rig.a, &pkt, rig.mb->mem);
		sim_run(rig.s, 10 * SIM_US);
		ktap_eq(credit_sends(&rig), 6);
		sim_end(rig.s);
	}
}

/* A peer that stops counting in the middle lifts the limit. */
static void limit_is_lifted(void)
{
	struct rig rig = credit_limited(2);

	credit_post(&rig, 40, CAIRN_WQE_SEND, 10);
	ktap_eq(credit_sends(&rig), 2);
	credit_handle_ack(&rig, 1, 2, CAIRN_AETH_CREDIT_INVALID);
	ktap_eq(credit_sends(&rig), 40);
	sim_end(rig.s);
}

/* The limit counts from the MSN in the same header, also round its wrap. */
static void limit_follows_the_msn(void)
{
	struct rig rig = credit_limited(2);
	u32 i;

	credit_post(&rig, 40, CAIRN_WQE_SEND, 10);
	for (i = 1; i <= 10; i++) {
		ktap_eq(credit_sends(&rig), i + 1);
		credit_handle_ack(&rig, i, 1 + i, 2);
	}
	sim_end(rig.s);
}

/* Codes round down, and MSNs may be old: what was granted stays granted. */
static void a_grant_is_kept(void)
{
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_PERSIST_ACK,
		.pkey = CAIRN_PKEY_DEFAULT,
		.syndrome = 1,
		.msn = 1,
	};
	struct rig rig = credit_limited(4);

	credit_post(&rig, 1, CAIRN_WQE_SEND, 10);
	credit_handle_ack(&rig, 1, 2, 0);
	credit_post(&rig, 10, CAIRN_WQE_SEND, 10);
	ktap_eq(credit_sends(&rig), 4);
	pkt.qpn = rig.a->c.qpn;
	pkt.psn = cairn_psn_add(rig.a->psn, 2);
	sim_inject(rig.a, &pkt, NULL);
	sim_run(rig.s, 10 * SIM_US);
	ktap_eq(credit_sends(&rig), 4);
	credit_handle_ack(&rig, 3, 4, 2);
	ktap_eq(credit_sends(&rig), 5);
	sim_end(rig.s);
}

/* A READ in several requests takes as many message numbers. */
static void long_reads_are_counted(void)
{
	for_seeds(seed, 10) {
		struct pair pair = pair_new(seed, &sim_rc, 1024);
		struct flow_cfg cfg = flow_default;
		struct flow *flow;
		u32 i;

		cfg.max_len = 1 << 20;
		cfg.area = 1 << 20;
		cfg.recv_ahead = 2;
		cfg.round_ns = 50000;
		flow = flow_new(pair.a, pair.b, &cfg);
		for (i = 0; i < 3; i++)
			flow_add(flow, CAIRN_WQE_READ, 900000);
		for (i = 0; i < 30; i++)
			flow_add(flow, CAIRN_WQE_SEND, 100)->flags |=
				CAIRN_WQE_SIGNALED;
		flow_run(&flow, 1);
		sim_end(pair.s);
	}
}

/* With few receives but a good network nothing is ever refused for long. */
static void slow_receiver_is_not_flooded(void)
{
	for_seeds(seed, 20) {
		struct pair pair = pair_new(seed, &sim_rc, 256);
		struct flow_cfg cfg = flow_default;
		struct flow *flow;

		cfg.ops = 1 << CAIRN_WQE_SEND | 1 << CAIRN_WQE_SEND_IMM |
			  1 << CAIRN_WQE_WRITE_IMM;
		cfg.recv_ahead = 2;
		cfg.round_ns = 20000;
		flow = flow_new(pair.a, pair.b, &cfg);
		flow_random(flow);
		flow_run(&flow, 1);
		/* what left before the limit was known, then only probes */
		ktap_ok(pair.s->count[CAIRN_CTR_RETRANSMITS] <=
			pair.s->count[CAIRN_CTR_RNR_NAKS_RECEIVED] + 200);
		sim_end(pair.s);
	}
}

static const struct ktap_test tests[] = {
	KTAP(credits_are_used_and_not_exceeded),
	KTAP(one_packet_probes),
	KTAP(writes_and_reads_need_none),
	KTAP(write_imm_needs_one),
	KTAP(no_limit),
	KTAP(responses_tell_credits),
	KTAP(limit_is_lifted),
	KTAP(limit_follows_the_msn),
	KTAP(a_grant_is_kept),
	KTAP(long_reads_are_counted),
	KTAP(slow_receiver_is_not_flooded),
};

KTAP_MAIN(tests)
