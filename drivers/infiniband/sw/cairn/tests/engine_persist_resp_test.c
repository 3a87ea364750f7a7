// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WRITE_PERSIST at the responder, rule by rule (Documentation/wire.rst): write-back,
 * answers that may be sent before a message is durable, duplicates.
 */
#include <errno.h>
#include "persist.h"
#include "persist/flush.h"

static void every_packet_of_a_message(void)
{
	static const u32 lens[] = { PMTU - 1, PMTU, PMTU + 1, 10 * PMTU + 3 };
	u32 i, off;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		for (off = 0; off < 130; off += 43) {
			struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
			struct watch watched;

			persist_watch(&rig, &watched, off, lens[i], (lens[i] - 1) / PMTU);
			persist_at(&rig, 1, off, lens[i], 0);
			ktap_ok(sim_run(rig.s, SIM_SEC));
			expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
			ktap_ok(watched.answers && !watched.early);
			/* nothing but its lines */
			ktap_ok(!memcmp(rig.mb->shadow + ALIGN(off + lens[i], 64),
					rig.mb->mem + ALIGN(off + lens[i], 64),
					64));
			sim_end(rig.s);
		}
	}
}

/* A message of several pieces of the writer's memory, which end within words and packets. */
static void gathered(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct cairn_sge sge[] = {
		sim_sge(rig.ma, 3, 77), sim_sge(rig.ma, 5000, PMTU),
		sim_sge(rig.ma, 200, 1), sim_sge(rig.ma, 1000, 2 * PMTU - 5),
	}, none;
	struct sim_wr wr = rig_wr(&rig, &none, CAIRN_WQE_WRITE_PERSIST, 0);
	u32 i, at = 0;

	wr.sge = sge;
	wr.num_sge = ARRAY_SIZE(sge);
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, wr.wr_id, CAIRN_CQE_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(sge); i++) {
		ktap_ok(!memcmp(rig.mb->shadow + at,
				rig.ma->mem + (sge[i].addr - rig.ma->va),
				sge[i].length));
		at += sge[i].length;
	}
	sim_end(rig.s);
}

/* Pages come and go between the packets of a message, which end within words. */
static void memory_on_demand(void)
{
	u32 waits = 0;

	for_seeds(seed, 20) {
		u32 off = seed * 7 % 130, len = 7 * PMTU + seed % 8;
		struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
		struct watch watched;

		sim_odp(rig.mb);
		rig.s->taken = seed % 2 ? 300 : 0;
		persist_watch(&rig, &watched, off, len, (len - 1) / PMTU);
		persist_at(&rig, 1, off, len, 0);
		ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_ok(watched.answers && !watched.early);
		ktap_ok(is_durable(&rig, off, len));
		waits += rig.b->odp[CAIRN_RESP].asked;
		sim_end(rig.s);
	}
	ktap_ok(waits >= 40);
}

/* Packets of long messages but the last ones are stored by non-temporal stores. */
static void long_messages_are_streamed(void)
{
	static const u32 offs[] = { 0, 8, 61, 4093 };
	u32 i, len;

	cairn_flush_stream_min = 4000;
	for (i = 0; i < ARRAY_SIZE(offs); i++)
		for (len = 3000; len < 12000; len += 2999) {
			struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
			struct watch watched;

			persist_watch(&rig, &watched, offs[i], len, (len - 1) / PMTU);
			persist_at(&rig, 1, offs[i], len, 0);
			ktap_ok(sim_run(rig.s, SIM_SEC));
			expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
			ktap_ok(watched.answers && !watched.early);
			ktap_ok(len < 4000 ? !rig.s->streamed :
				rig.s->streamed >= len - PMTU - CAIRN_LINE);
			ktap_ok(rig.s->streamed <= len - CAIRN_LINE);
			sim_end(rig.s);
		}
	cairn_flush_stream_min = U32_MAX;
}

static void ordinary_memory_is_refused(void)
{
	struct rig rig = rig_new(1);
	u8 before[100];

	memcpy(before, rig.mb->mem, sizeof(before));
	persist_first(&rig, 1, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	ktap_ok(!memcmp(before, rig.mb->mem, sizeof(before)));
	ktap_eq(rig.b->count[CAIRN_CTR_REMOTE_ACCESS_ERRORS], 1);
	ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

static void rights_count(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	rig.mb->access &= ~(1 << CAIRN_ACCESS_REMOTE_WRITE);
	persist_first(&rig, 1, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	sim_end(rig.s);
}

static void plain_write_is_persisted_too(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct watch watched;

	persist_watch(&rig, &watched, 0, 3000, 2);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 3000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_ok(watched.answers && !watched.early);
	ktap_eq(persist_acks(&rig), 0);
	sim_end(rig.s);
}

/* A completed receive implies that earlier data is durable, as a READ response does. */
static void look_at_shadow(struct sim_qp *qp, enum cairn_side_id side,
			   const struct cairn_cqe *cqe)
{
	struct watch *watch = qp->hooks.arg;

	if (side == CAIRN_RESP)
		watch->early += memcmp(watch->mb->shadow, watch->want, watch->len) != 0;
}

static void completions_follow_the_fence(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE_IMM, CAIRN_WQE_SEND,
				  CAIRN_WQE_READ };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
		struct watch watched;

		persist_watch(&rig, &watched, 0, 500, 0);
		rig.b->hooks.cqe = look_at_shadow;
		rig_recv(&rig, 1, 1024);
		if (ops[i] != CAIRN_WQE_WRITE_IMM)
			rig_send(&rig, 1, CAIRN_WQE_WRITE, 500);
		rig_send(&rig, 2, ops[i], 500);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		ktap_eq(rig.a->cq[CAIRN_REQ].log[send_cqes(&rig) - 1].cqe.status, 0);
		ktap_ok(watched.answers && !watched.early);
		sim_end(rig.s);
	}
}

#define TRAIN_QPS	4
#define TRAIN_MESSAGES	3

/* The packets that arrive from now on are one train: their answers leave together. */
static void train_begins(struct sim *sim)
{
	sim_plug(sim);
	sim->plug_end = ~0ULL;
}

/* Messages of several queue pairs that arrive together cost one fence, and it comes before
 * each of their answers.
 */
static void one_fence_for_a_train(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC), rigs[TRAIN_QPS] = { rig };
	struct watch watched[TRAIN_QPS];
	u32 i, k;

	for (i = 1; i < TRAIN_QPS; i++) {
		rigs[i] = rig;
		rigs[i].a = sim_qp(rig.s, 0, &sim_rc);
		rigs[i].b = sim_qp(rig.s, 1, &sim_rc);
		sim_connect(rigs[i].a, rigs[i].b, &sim_attrs);
	}
	train_begins(rig.s);
	for (i = 0; i < TRAIN_QPS; i++) {
		persist_watch(&rigs[i], &watched[i], 300 * i, 100 * TRAIN_MESSAGES, 2);
		for (k = 0; k < TRAIN_MESSAGES; k++)
			persist_at(&rigs[i], k, 300 * i + 100 * k, 100, 0);
	}
	ktap_ok(!sim_run(rig.s, 20 * SIM_US));
	ktap_eq(rig.s->count[CAIRN_CTR_PERSIST_FENCES], 1);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	for (i = 0; i < TRAIN_QPS; i++) {
		ktap_eq(rigs[i].a->cq[CAIRN_REQ].n, TRAIN_MESSAGES);
		ktap_ok(watched[i].answers && !watched[i].early);
	}
	ktap_eq(rig.s->count[CAIRN_CTR_PERSIST_FENCES], 1);
	sim_end(rig.s);
}

/* A receive does not wait with the answers, so it fences for those before it. */
static void a_receive_fences_for_waiting_answers(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct watch watched;

	persist_watch(&rig, &watched, 0, 500, 0);
	rig.b->hooks.cqe = look_at_shadow;
	rig_recv(&rig, 1, 1024);
	train_begins(rig.s);
	persist_first(&rig, 1, 500);
	rig_send(&rig, 2, CAIRN_WQE_SEND, 100);
	sim_run(rig.s, 20 * SIM_US);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	ktap_ok(watched.answers && !watched.early);
	sim_end(rig.s);
}

/* Two messages of one train: the first is written back, and the host is asked for
 * the second.
 */
static void the_host_is_asked_after_the_fence(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC), host = rig;
	struct watch watched;

	host.mb = persist_region(&rig, CAIRN_PERSIST_HOST);
	persist_watch(&rig, &watched, 0, 100, 0);
	rig.b->hooks.cqe = look_at_shadow;
	empty_recvs(rig.b, 1, 1);
	persist_first(&rig, 1, 100);
	persist_first(&host, 2, 100);
	sim_run(rig.s, SIM_MS);
	ktap_eq(recv_cqe(rig.b, 0)->opcode, CAIRN_CQE_RECV_PERSIST);
	ktap_ok(watched.answers && !watched.early);
	sim_end(rig.s);
}

/* Its answer leaves when the word is durable. */
static enum sim_fate atomic_emit(struct sim_qp *qp, enum cairn_side_id side,
				 const struct cairn_pkt *pkt)
{
	struct sim_mr *mr = qp->hooks.arg;

	if (pkt->op->kind == CAIRN_KIND_ATOMIC_ACK &&
	    memcmp(mr->shadow, mr->mem, 16))
		sim_fail(qp->s, "an atomic is answered that is not durable");
	return SIM_PASS;
}

static void atomics_are_durable(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	u64 word = 40, sum;

	memcpy(rig.mb->mem, &word, sizeof(word));
	rig.b->hooks.arg = rig.mb;
	rig.b->hooks.emit = atomic_emit;
	rig_send(&rig, 1, CAIRN_WQE_FAA, 8);	/* adds 1 */
	rig_send(&rig, 2, CAIRN_WQE_FAA, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	memcpy(&sum, rig.mb->shadow, sizeof(sum));
	ktap_eq(sum, 42);
	sim_end(rig.s);
}

struct script {
	u8 opcode;
	u32 len, dma_len, off;
};

static void resp_get(struct rig *rig, u32 n, struct script script)
{
	struct cairn_pkt pkt = {
		.opcode = script.opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->b->c.qpn,
		.psn = psn_of(rig, n),
		.ack_req = true,
		.payload_len = script.len,
		.va = rig->mb->va + script.off,
		.rkey = rig->mb->key,
		.dma_len = script.dma_len,
	};

	sim_inject(rig->b, &pkt, rig->ma->mem + script.off);
	sim_run(rig->s, 2 * SIM_US);
}

static struct rig resp_scripted(enum cairn_persist how)
{
	struct rig rig = persist_rig(how);

	rig.s->dead[0] = true;
	return rig;
}

static void expect_answer(const struct rig *rig, u8 opcode, u32 n)
{
	const struct cairn_pkt *pkt = last_sent(rig->b);

	if (!pkt || pkt->opcode != opcode || pkt->psn != psn_of(rig, n) ||
	    pkt->syndrome & CAIRN_AETH_TYPE_MASK)
		ktap_fail("last answer is %02x syndrome %02x PSN %d, not %02x %u",
			  pkt ? pkt->opcode : 0, pkt ? pkt->syndrome : 0,
			  pkt ? cairn_psn_diff(pkt->psn, rig->a->psn) : 0, opcode, n);
}

#define WP_ONLY(l)	((struct script){ CAIRN_BTH_WRITE_PERSIST_ONLY, l, l })

static void duplicates_follow_the_watermark(void)
{
	struct rig rig = resp_scripted(CAIRN_PERSIST_HOST);

	empty_recvs(rig.b, 1, 3);
	resp_get(&rig, 0, WP_ONLY(10));
	expect_answer(&rig, CAIRN_BTH_ACK, 0);
	resp_get(&rig, 1, (struct script){ CAIRN_BTH_SEND_ONLY });
	resp_get(&rig, 2, WP_ONLY(10));
	expect_answer(&rig, CAIRN_BTH_ACK, 2);
	rig.ma->mem[0] ^= 1;
	resp_get(&rig, 0, WP_ONLY(10));		/* not durable */
	expect_answer(&rig, CAIRN_BTH_ACK, 2);
	ktap_ok(rig.mb->mem[0] != rig.ma->mem[0]);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, SIM_MS);
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0);
	ktap_eq(last_sent(rig.b)->msn, 1);
	resp_get(&rig, 2, WP_ONLY(10));		/* behind the watermark */
	expect_answer(&rig, CAIRN_BTH_ACK, 2);
	resp_get(&rig, 1, (struct script){ CAIRN_BTH_SEND_ONLY });
	expect_answer(&rig, CAIRN_BTH_ACK, 2);
	resp_get(&rig, 0, WP_ONLY(10));		/* covered */
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0);
	ktap_ok(rig.mb->mem[0] != rig.ma->mem[0]);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 3);
	sim_end(rig.s);
}

/* The PSNs have been all around since then: the watermark lies between what waits now
 * and what is expected, and says nothing of it.
 */
static void watermark_of_a_former_lap(void)
{
	struct rig rig = resp_scripted(CAIRN_PERSIST_HOST);
	u32 acks;

	empty_recvs(rig.b, 1, 3);
	resp_get(&rig, 0, WP_ONLY(10));
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, SIM_MS);
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0);
	acks = persist_acks(&rig);
	rig.b->c.resp.epsn = psn_of(&rig, -1);
	resp_get(&rig, -1, WP_ONLY(10));
	resp_get(&rig, 0, (struct script){ CAIRN_BTH_SEND_ONLY });
	expect_answer(&rig, CAIRN_BTH_ACK, 0);
	resp_get(&rig, -1, WP_ONLY(10));
	resp_get(&rig, -9, WP_ONLY(10));
	ktap_eq(persist_acks(&rig), acks);
	ktap_eq(persist_release(&rig, 1, 0), 0);
	sim_run(rig.s, SIM_MS);
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, -1);
	sim_end(rig.s);
}

static void duplicate_of_a_message_under_way(void)
{
	struct rig rig = resp_scripted(CAIRN_PERSIST_NIC);

	resp_get(&rig, 0, WP_ONLY(10));
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0);
	resp_get(&rig, 1, (struct script){ CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU,
				    2 * PMTU });
	expect_answer(&rig, CAIRN_BTH_ACK, 1);
	resp_get(&rig, 1, (struct script){ CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU,
				    2 * PMTU });
	expect_answer(&rig, CAIRN_BTH_ACK, 1);
	resp_get(&rig, 0, WP_ONLY(10));
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0);
	resp_get(&rig, 2, (struct script){ CAIRN_BTH_WRITE_PERSIST_LAST, PMTU });
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 2);
	resp_get(&rig, 1, (struct script){ CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU,
				    2 * PMTU });
	expect_answer(&rig, CAIRN_BTH_PERSIST_ACK, 2);
	sim_end(rig.s);
}

static void opcodes_do_not_mix(void)
{
	static const struct {
		struct script first, second;
	} bad[] = {
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_LAST, PMTU } },
		{ { CAIRN_BTH_WRITE_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_LAST, PMTU } },
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_ONLY, 10, 10 } },
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_LAST, 10 } },
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 3 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_MIDDLE, 10 } },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rig rig = resp_scripted(CAIRN_PERSIST_NIC);

		resp_get(&rig, 0, bad[i].first);
		resp_get(&rig, 1, bad[i].second);
		ktap_eq(last_sent(rig.b)->syndrome,
			CAIRN_AETH_NAK | CAIRN_NAK_INVALID_REQUEST);
		ktap_eq(persist_acks(&rig), 0);
		sim_end(rig.s);
	}
}

/* A requester that completes by MSN must not complete an undurable message. */
static void msn_counts_what_is_acknowledged(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct rig second = rig;
	u32 i;

	second.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	empty_recvs(rig.b, 1, 1);
	rig_send(&second, 1, CAIRN_WQE_WRITE, 10);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 10);	/* waits for the host */
	rig_send(&second, 3, CAIRN_WQE_WRITE, 10);
	sim_run(rig.s, 50 * SIM_US);
	for (i = 0; i < rig.s->n_sent; i++)
		if (rig.s->sent[i].qp == rig.b)
			ktap_ok(rig.s->sent[i].pkt.msn <= 1);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_eq(last_sent(rig.b)->msn, 3);
	sim_end(rig.s);
}

/* The ACK of an earlier request does not count the WRITE that waits behind it. */
static void msn_of_an_earlier_request(bool again)
{
	struct rig rig = resp_scripted(CAIRN_PERSIST_HOST);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_WRITE_ONLY,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig.b->c.qpn,
		.psn = psn_of(&rig, 2),
		.payload_len = 10,
		.va = rig.mb->va,
		.rkey = rig.mb->key,
		.dma_len = 10,
	};

	empty_recvs(rig.b, 1, 3);
	resp_get(&rig, 0, (struct script){ CAIRN_BTH_SEND_ONLY });
	if (again) {
		/* a READ behind it bounds the ACK of the duplicate */
		resp_get(&rig, 1, (struct script){ CAIRN_BTH_READ_REQUEST, 0, 10 });
		sim_inject(rig.b, &pkt, rig.ma->mem);
		resp_get(&rig, 0, (struct script){ CAIRN_BTH_SEND_ONLY });
		expect_answer(&rig, CAIRN_BTH_ACK, 0);
		ktap_eq(last_sent(rig.b)->msn, 2);
	} else {
		/* one train: the WRITE asks for no ACK */
		struct cairn_pkt send = pkt;

		send.opcode = CAIRN_BTH_SEND_ONLY;
		send.psn = psn_of(&rig, 1);
		send.payload_len = 0;
		send.ack_req = true;
		sim_inject_part(rig.b, &send, NULL);
		sim_inject(rig.b, &pkt, rig.ma->mem);
		expect_answer(&rig, CAIRN_BTH_ACK, 1);
		ktap_eq(last_sent(rig.b)->msn, 2);
	}
	sim_end(rig.s);
}

static void msn_of_earlier_requests(void)
{
	msn_of_an_earlier_request(false);
	msn_of_an_earlier_request(true);
}

/* A failure is reported even if an invalidation ends in the same turn. */
static void failure_while_an_invalidation_waits(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	bool seen = false;

	attrs.timeout = 10;
	for (u64 seed = 1; seed < 40 && !seen; seed++) {
		struct pair pair = pair_with(seed, &sim_rc, &attrs);
		struct cairn_sge sge;
		struct sim_mr *inv;
		struct sim_wr wr;
		struct rig rig;
		u32 i;

		pair.s->record = true;
		rig = (struct rig){
			.s = pair.s, .a = pair.a, .b = pair.b,
			.ma = sim_mr(pair.s, 0, RIG_LEN, SIM_ALL),
			.mb = sim_mr_persistent(pair.s, 1, RIG_LEN, SIM_ALL,
						CAIRN_PERSIST_HOST),
		};
		inv = sim_mr(pair.s, 1, 4096, SIM_ALL);
		inv->remote_inv = true;
		empty_recvs(rig.b, 1, 1);
		rig_recv(&rig, 2, 100);
		persist_first(&rig, 1, 100);
		wr = rig_wr(&rig, &sge, CAIRN_WQE_SEND_INV, 8);
		wr.wr_id = 2;
		wr.imm_or_key = inv->key;
		sim_post_send(rig.a, &wr);
		for (i = 0; i < 500 && !rig.b->c.resp.waits; i++)
			sim_run(rig.s, 100);
		if (rig.b->c.resp.waits) {
			seen = true;
			/* it is over, and no run has seen it */
			rig.s->now = rig.b->inval_end[CAIRN_RESP];
			ktap_eq(persist_release(&rig, 0, EIO), 0);
			ktap_ok(sim_run(rig.s, LONG_TIME));
			ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
			expect_cqe(rig.a, CAIRN_REQ, 0, 1,
				   CAIRN_CQE_REM_OP_ERR);
		}
		sim_end(rig.s);
	}
	ktap_ok(seen);
}

/* The last packet of a message never comes. */
static enum sim_fate word_lose_last(struct sim_qp *qp, enum cairn_side_id side,
				    const struct cairn_pkt *pkt)
{
	return side == CAIRN_REQ && pkt->op->flags & CAIRN_OP_LAST ? SIM_DROP :
								     SIM_PASS;
}

static bool word_is(const u8 *at, const u8 *old, const u8 *new)
{
	return !memcmp(at, old, 8) || !memcmp(at, new, 8);
}

/* Between the packets of a message no aligned word is half new, neither in memory
 * nor in what a power failure leaves.
 */
static void word_between_packets(enum cairn_persist how, u8 opcode, u32 off)
{
	struct rig rig = persist_rig(how);
	u32 at = ALIGN(off + PMTU, 8) - 8;
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, opcode, 3 * PMTU - 1);
	u8 old[RIG_LEN];

	memcpy(old, rig.mb->mem, RIG_LEN);
	empty_recvs(rig.b, 1, 1);
	rig.a->hooks.emit = word_lose_last;
	wr.wr_id = 1;
	sge.addr += off;
	wr.remote_addr += off;
	sim_post_send(rig.a, &wr);
	sim_run(rig.s, SIM_MS);
	ktap_ok(rig.b->c.resp.msg.received == 2 * PMTU);
	ktap_ok(word_is(rig.mb->mem + at, old + at, rig.ma->mem + at));
	ktap_ok(word_is(rig.mb->mem + at + PMTU, old + at + PMTU,
			rig.ma->mem + at + PMTU));
	ktap_ok(word_is(rig.mb->shadow + at + PMTU, old + at + PMTU,
			rig.ma->mem + at + PMTU));
	rig.a->hooks.emit = NULL;
	sim_run(rig.s, LONG_TIME);
	if (how == CAIRN_PERSIST_HOST)
		ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_ok(!memcmp(rig.mb->mem, old, off));
	ktap_ok(is_durable(&rig, off, 3 * PMTU - 1));
	ktap_ok(!memcmp(rig.mb->mem + off + 3 * PMTU - 1,
			old + off + 3 * PMTU - 1, 64));
	sim_end(rig.s);
}

static void a_word_between_packets_is_whole(void)
{
	u32 off;

	for (off = 0; off < 16; off++) {
		word_between_packets(CAIRN_PERSIST_NIC,
				     CAIRN_WQE_WRITE_PERSIST, off);
		word_between_packets(CAIRN_PERSIST_NIC, CAIRN_WQE_WRITE, off);
		word_between_packets(CAIRN_PERSIST_HOST,
				     CAIRN_WQE_WRITE_PERSIST, off);
	}
}

/* A message that was given up leaves nothing to the next. */
static void a_held_word_dies_with_its_message(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	u8 old[RIG_LEN];

	memcpy(old, rig.mb->mem, RIG_LEN);
	rig.a->hooks.emit = word_lose_last;
	persist_at(&rig, 1, 4, 2 * PMTU, 0);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.b->c.resp.persist.words.len, 4);
	rig.a->hooks.emit = NULL;
	sim_reset(rig.b);
	ktap_eq(rig.b->c.resp.persist.words.len, 0);
	ktap_ok(!memcmp(rig.mb->mem + PMTU, old + PMTU, 8));
	sim_end(rig.s);
}

/* The first packet is refused if the last one has no place: no byte is stored. */
static void all_of_a_message_is_checked_first(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE_PERSIST, CAIRN_WQE_WRITE };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
		u8 before[2 * PMTU];

		rig.mb = sim_mr_persistent(rig.s, 1, sizeof(before), SIM_ALL,
					   CAIRN_PERSIST_NIC);
		memcpy(before, rig.mb->mem, sizeof(before));
		rig_send(&rig, 1, ops[i], sizeof(before) + 1);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
		ktap_ok(!memcmp(before, rig.mb->mem, sizeof(before)));
		sim_end(rig.s);
	}
}

/* While nothing is durable, durable_psn is 0. That is an older PSN once PSNs have wrapped,
 * but no duplicate is answered by a persistence ACK.
 */
static void nothing_durable_no_watermark(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_WRITE_PERSIST_ONLY,
		.ack_req = true,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig.b->c.qpn,
		.va = rig.mb->va,
		.rkey = rig.mb->key,
	};
	u32 i;

	for (i = 1; i <= 2 * WRAP; i++) {
		rig_recv(&rig, i, 100);
		rig_send(&rig, i, CAIRN_WQE_SEND, 100);
	}
	ktap_ok(sim_run(rig.s, SIM_SEC));
	for (i = 0; i < 2 * WRAP; i++) {
		pkt.psn = psn_of(&rig, i);
		sim_inject(rig.b, &pkt, NULL);
		ktap_ok(sim_run(rig.s, SIM_SEC));
	}
	ktap_eq(persist_acks(&rig), 0);
	ktap_eq(rig.b->count[CAIRN_CTR_DUPLICATE_REQUEST], 2 * WRAP);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(every_packet_of_a_message),
	KTAP(gathered),
	KTAP(memory_on_demand),
	KTAP(long_messages_are_streamed),
	KTAP(ordinary_memory_is_refused),
	KTAP(rights_count),
	KTAP(plain_write_is_persisted_too),
	KTAP(completions_follow_the_fence),
	KTAP(one_fence_for_a_train),
	KTAP(a_receive_fences_for_waiting_answers),
	KTAP(the_host_is_asked_after_the_fence),
	KTAP(atomics_are_durable),
	KTAP(duplicates_follow_the_watermark),
	KTAP(watermark_of_a_former_lap),
	KTAP(duplicate_of_a_message_under_way),
	KTAP(opcodes_do_not_mix),
	KTAP(msn_counts_what_is_acknowledged),
	KTAP(msn_of_earlier_requests),
	KTAP(failure_while_an_invalidation_waits),
	KTAP(a_word_between_packets_is_whole),
	KTAP(a_held_word_dies_with_its_message),
	KTAP(all_of_a_message_is_checked_first),
	KTAP(nothing_durable_no_watermark),
};

KTAP_MAIN(tests)
