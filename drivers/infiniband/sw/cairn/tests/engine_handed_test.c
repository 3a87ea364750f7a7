// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Two ends on one host: trains that the receiver reads in the sender's run, out of the
 * sender's memory, among others that travel because it was busy.
 */
#include <errno.h>
#include "engine/train.h"
#include "engine.h"

#define FREE		850	/* per mille: the receiver is */

static u32 trains;

static void run_flows(struct pair *pair, u32 ops, u16 handed)
{
	struct flow_cfg cfg = flow_default;
	struct flow *flows[2];

	pair->s->handed = handed;
	cfg.ops = ops;
	flows[0] = flow_new(pair->a, pair->b, &cfg);
	flows[1] = flow_new(pair->b, pair->a, &cfg);
	flow_random(flows[0]);
	flow_random(flows[1]);
	flow_run(flows, 2);
	trains += pair->s->handed_trains;
}

/* Nothing is overtaken, so nothing comes twice, but for want of a receive. */
static void both_ways(void)
{
	trains = 0;
	for_seeds(seed, 30) {
		struct pair pair = pair_new(seed, &sim_rc, 256 << seed % 5);

		run_flows(&pair, FLOW_OPS & ~(1 << CAIRN_WQE_SEND_INV),
			  seed % 3 ? FREE : 1000);
		ktap_ok(!pair.s->count[CAIRN_CTR_RETRANSMITS] ||
			pair.s->count[CAIRN_CTR_RNR_NAKS_SENT]);
		ktap_ok(!pair.s->count[CAIRN_CTR_OUT_OF_SEQUENCE] ||
			pair.s->count[CAIRN_CTR_RNR_NAKS_SENT]);
		sim_end(pair.s);
	}
	ktap_ok(trains > 500);
}

static void unreliable_connection(void)
{
	trains = 0;
	for_seeds(seed, 15) {
		struct pair pair = pair_new(seed, &sim_uc, 1024);

		run_flows(&pair, 1 << CAIRN_WQE_SEND | 1 << CAIRN_WQE_WRITE, FREE);
		sim_end(pair.s);
	}
	ktap_ok(trains > 100);
}

/* Copies are lost, late and twice: queues that are full. */
static void copies_get_lost(void)
{
	trains = 0;
	for_seeds(seed, 30) {
		struct pair pair = pair_new(seed, &sim_rc, 1024);

		pair.s->faults = (struct sim_faults){
			.loss = 50, .dup = 30, .late = 50, .split = 100,
			.late_ns = 100 * SIM_US,
		};
		run_flows(&pair, FLOW_OPS, FREE / 2);
		sim_end(pair.s);
	}
	ktap_ok(trains > 30);
}

/* The run that answers may be on another CPU than the one that placed. */
static void durable_when_handed(void)
{
	for_seeds(seed, 20) {
		struct rig rig = rig_new(seed);
		struct sim_mr *to = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL,
						      CAIRN_PERSIST_NIC);
		bool persist = seed % 2;
		u32 i, len = 1 + seed * 977 % (RIG_LEN - 1);

		rig.s->handed = 1000;
		rig.s->plug = seed % 3 ? 500 : 0;
		for (i = 0; i < RIG_LEN; i++)
			rig.ma->mem[i] = i * 31 + seed;
		rig.mb = to;
		rig_send(&rig, 1, persist ? CAIRN_WQE_WRITE_PERSIST :
				CAIRN_WQE_WRITE, len);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_ok(!memcmp(to->shadow, rig.ma->mem, len));
		ktap_ok(rig.s->handed_trains >= 2);
		sim_end(rig.s);
	}
}

/* A SEND with invalidation has to be kept, so it travels, and what is behind it. */
static void waits_behind(void)
{
	trains = 0;
	for_seeds(seed, 30) {
		struct pair pair = pair_new(seed, &sim_rc, 512);

		run_flows(&pair, 1 << CAIRN_WQE_SEND_INV | 1 << CAIRN_WQE_WRITE,
			  1000);
		ktap_eq(pair.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
		sim_end(pair.s);
	}
	ktap_ok(trains > 50);
}

/* A field that the bytes of a packet cannot hold does not arrive. */
static void reads_as_sent(void)
{
	struct cairn_train train = {
		.first = {
			.opcode = CAIRN_BTH_RC | CAIRN_BTH_WRITE_FIRST,
			.psn = 0xffffff, .qpn = 0xab123456, .pkey = 0xffff,
			.va = 0x123456789abcdefULL, .rkey = 77, .dma_len = 2000,
			.imm = 5, .ack_req = true, .solicited = true,
			.payload_len = 1000,
		},
		.count = 2, .seg = 1000, .length = 1999,
		.mid_opcode = CAIRN_BTH_RC | CAIRN_BTH_WRITE_MIDDLE,
		.last_opcode = CAIRN_BTH_RC | CAIRN_BTH_WRITE_LAST,
	};
	struct cairn_pkt pkt = {};

	ktap_eq(cairn_train_read(&pkt, &train, 0), CAIRN_PARSE_OK);
	ktap_eq(pkt.qpn, 0x123456);
	ktap_eq(pkt.psn, 0xffffff);
	ktap_eq(pkt.va, 0x123456789abcdefULL);
	ktap_eq(pkt.rkey, 77);
	ktap_eq(pkt.dma_len, 2000);
	ktap_eq(pkt.payload_len, 1000);
	ktap_ok(!pkt.ack_req && !pkt.solicited);
	pkt = (struct cairn_pkt){};
	ktap_eq(cairn_train_read(&pkt, &train, 1), CAIRN_PARSE_OK);
	ktap_eq(pkt.psn, 0);
	ktap_eq(pkt.payload_len, 999);
	ktap_eq(pkt.pad, 1);
	ktap_ok(pkt.ack_req && pkt.solicited);
	ktap_eq(pkt.va, 0);
	train.first.opcode = 0xff;
	ktap_ok(cairn_train_read(&pkt, &train, 0) != CAIRN_PARSE_OK);
}

static const struct ktap_test tests[] = {
	KTAP(reads_as_sent), KTAP(both_ways), KTAP(unreliable_connection),
	KTAP(copies_get_lost), KTAP(durable_when_handed), KTAP(waits_behind),
};

KTAP_MAIN(tests)
