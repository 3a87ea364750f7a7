// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Messages of one packet each: those that are alike leave as trains. */
#include "engine.h"

/* Post @n messages before the engine looks. */
static void small_post(struct rig *rig, u32 n, u8 opcode, u32 len, u8 flags)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, opcode, len);
	u8 inl[64];
	u32 i;

	for (i = 0; i < n; i++) {
		wr.wr_id = i;
		wr.flags = flags;
		wr.imm_or_key = 0x1000 + i;
		wr.remote_addr = rig->mb->va + i * len;
		sge.addr = rig->ma->va + i * len;
		if (flags & CAIRN_WQE_INLINE) {
			memcpy(inl, rig->ma->mem + i * len, len);
			wr.inl = inl;
			wr.inline_len = len;
		}
		if (!sim_queue_send(rig->a, &wr))
			sim_fail(rig->s, "send queue full");
	}
	sim_doorbell(rig->a);
}

/* Packets from a, the trains that they came in, those that ask for an ACK. */
static void expect_sent(const struct rig *rig, u32 packets, u32 trains, u32 asks)
{
	u32 i, n = 0, t = 0, a = 0, last = ~0u;

	for (i = 0; i < rig->s->n_sent; i++) {
		const struct sim_sent *sent = &rig->s->sent[i];

		if (sent->qp != rig->a || sent->side != CAIRN_REQ)
			continue;
		n++;
		t += sent->train != last;
		last = sent->train;
		a += sent->pkt.ack_req;
	}
	ktap_eq(n, packets);
	ktap_eq(t, trains);
	ktap_eq(a, asks);
}

static const u8 kinds[] = { CAIRN_WQE_WRITE, CAIRN_WQE_WRITE_IMM,
			    CAIRN_WQE_SEND, CAIRN_WQE_SEND_IMM };

static void one_train_one_ack(void)
{
	u32 k, i, flags;

	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (flags = 0; flags <= CAIRN_WQE_INLINE;
		     flags += CAIRN_WQE_INLINE) {
			struct rig rig = rig_new(k);
			bool recv = kinds[k] != CAIRN_WQE_WRITE;

			for (i = 0; i < 40; i++)
				rig_recv(&rig, i, 64);
			small_post(&rig, 40, kinds[k], 40, CAIRN_WQE_SIGNALED | flags);
			ktap_ok(sim_run(rig.s, SIM_SEC));
			expect_sent(&rig, 40, 1, 1);
			ktap_eq(rig.s->count[CAIRN_CTR_ACKS_SENT], 1);
			expect_cqes(rig.a, CAIRN_REQ, 0, 0, 39,
				    CAIRN_CQE_SUCCESS);
			for (i = 0; recv && i < 40; i++) {
				expect_cqe(rig.b, CAIRN_RESP, i, i,
					   CAIRN_CQE_SUCCESS);
				if (kinds[k] != CAIRN_WQE_SEND)
					ktap_eq(rig.b->cq[CAIRN_RESP].log[i]
						.cqe.imm_or_key, 0x1000 + i);
			}
			if (kinds[k] == CAIRN_WQE_WRITE)
				ktap_mem_eq(rig.mb->mem, rig.ma->mem, 40 * 40);
			sim_end(rig.s);
		}
	}
}

static void trains_end_at_64_packets_or_64_kib(void)
{
	struct rig rig = rig_new(1);

	small_post(&rig, 100, CAIRN_WQE_WRITE, 8, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_sent(&rig, 100, 2, 2);
	sim_end(rig.s);
	rig = rig_new(1);
	small_post(&rig, 60, CAIRN_WQE_WRITE, 1024, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_sent(&rig, 60, 2, 2);
	ktap_mem_eq(rig.mb->mem, rig.ma->mem, 60 * 1024);
	sim_end(rig.s);
}

/* Another size, opcode or a fence ends a train. */
static void different_messages_leave_apart(void)
{
	struct rig rig = rig_new(1);

	small_post(&rig, 5, CAIRN_WQE_WRITE, 8, 0);
	small_post(&rig, 5, CAIRN_WQE_WRITE, 12, 0);
	small_post(&rig, 1, CAIRN_WQE_WRITE, 0, 0);
	small_post(&rig, 3, CAIRN_WQE_WRITE, 12, CAIRN_WQE_FENCE);
	small_post(&rig, 2, CAIRN_WQE_WRITE, 5000, 0);
	small_post(&rig, 2, CAIRN_WQE_WRITE, 5, CAIRN_WQE_SIGNALED);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	/* each long WRITE is FIRST, and four more */
	expect_sent(&rig, 5 + 5 + 1 + 3 + 10 + 2, 1 + 1 + 1 + 3 + 4 + 1,
		    1 + 1 + 1 + 3 + 2 + 1);
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* It waits for no other. */
static void a_lone_message_leaves_at_once(void)
{
	struct rig rig = rig_new(1);

	small_post(&rig, 1, CAIRN_WQE_WRITE, 8, CAIRN_WQE_SIGNALED);
	sim_turn(rig.a, CAIRN_REQ);
	expect_sent(&rig, 1, 1, 1);
	sim_end(rig.s);
}

/* Messages before a bad one succeed, without waiting for a timer. */
static void a_bad_one_fails_in_its_turn(void)
{
	u32 bad;

	for (bad = 0; bad < 20; bad++) {
		struct rig rig = rig_new(1);
		struct cairn_sge sge;
		struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE, 100);
		u32 i;

		for (i = 0; i < 20; i++) {
			wr.wr_id = i;
			sge.lkey = rig.ma->key ^ (i == bad);
			ktap_ok(sim_queue_send(rig.a, &wr));
		}
		sim_doorbell(rig.a);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		if (bad)
			expect_cqes(rig.a, CAIRN_REQ, 0, 0, bad - 1,
				    CAIRN_CQE_SUCCESS);
		expect_cqe(rig.a, CAIRN_REQ, bad, bad, CAIRN_CQE_LOC_PROT_ERR);
		if (bad < 19)
			expect_cqes(rig.a, CAIRN_REQ, bad + 1, bad + 1, 19,
				    CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_WRITE), bad);
		ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
		sim_end(rig.s);
	}
}

/* Credits are counted in messages. */
static void credits_end_a_train(void)
{
	struct rig rig = rig_new(1);
	u32 i;

	for (i = 0; i < 8; i++)
		rig_recv(&rig, i, 64);
	small_post(&rig, 1, CAIRN_WQE_SEND, 8, 0);
	ktap_ok(sim_run(rig.s, 100 * SIM_US));
	for (i = 0; i < 23; i++)
		rig_recv(&rig, 8 + i, 64);
	small_post(&rig, 30, CAIRN_WQE_SEND, 8, CAIRN_WQE_SIGNALED);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 29, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.s->count[CAIRN_CTR_RNR_NAKS_SENT], 0);
	sim_end(rig.s);
}

/* One message of a train is lost: it alone leaves again. */
static void one_of_them_is_lost(void)
{
	u32 i;

	for (i = 1; i < 39; i++) {
		struct rig rig = rig_new(1);
		u32 psn = cairn_psn_add(rig.a->psn, i);

		rig.a->hooks.emit = sim_lose_once;
		rig.a->hooks.arg = &psn;
		small_post(&rig, 40, CAIRN_WQE_WRITE, 16, CAIRN_WQE_SIGNALED);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqes(rig.a, CAIRN_REQ, 0, 0, 39, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.s->count[CAIRN_CTR_RETRANSMITS], 1);
		ktap_mem_eq(rig.mb->mem, rig.ma->mem, 40 * 16);
		sim_end(rig.s);
	}
}

/* UC: there are no acknowledgements; messages complete when they have been sent. */
static void unreliable_ones(void)
{
	struct rig rig = rig_with(1, &sim_uc, &sim_attrs);

	small_post(&rig, 40, CAIRN_WQE_WRITE, 16, CAIRN_WQE_SIGNALED);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_sent(&rig, 40, 1, 0);
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 39, CAIRN_CQE_SUCCESS);
	ktap_mem_eq(rig.mb->mem, rig.ma->mem, 40 * 16);
	sim_end(rig.s);
}

/* Random programs of messages that are mostly alike, on a bad network. */
static void alike_on_bad_networks(void)
{
	struct flow_cfg cfg = flow_default;

	cfg.max_len = 3;
	cfg.fence = 20;
	for_seeds(seed, 100) {
		struct pair pair = pair_new(seed, &sim_rc, 256);
		struct flow *flows[2];

		cfg.ops = seed % 3 ? 1 << CAIRN_WQE_WRITE : FLOW_OPS;
		cfg.wrs = 200;
		pair.s->faults = (struct sim_faults){
			.loss = 30, .dup = 20, .late = 30, .split = 100,
			.late_ns = 50000 };
		pair.b->plain = seed % 4 == 1;
		flows[0] = flow_new(pair.a, pair.b, &cfg);
		flows[1] = flow_new(pair.b, pair.a, &cfg);
		flow_random(flows[0]);
		flow_random(flows[1]);
		flow_run(flows, 2);
		sim_end(pair.s);
	}
}

static const struct ktap_test tests[] = {
	KTAP(one_train_one_ack),
	KTAP(trains_end_at_64_packets_or_64_kib),
	KTAP(different_messages_leave_apart),
	KTAP(a_lone_message_leaves_at_once),
	KTAP(a_bad_one_fails_in_its_turn),
	KTAP(credits_end_a_train),
	KTAP(one_of_them_is_lost),
	KTAP(unreliable_ones),
	KTAP(alike_on_bad_networks),
};

KTAP_MAIN(tests)
