// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WRITE_PERSIST with immediate data (Documentation/wire.rst): the receive that tells
 * the target's program of a message, when it completes, how often, and what it says.
 */
#include <errno.h>
#include "persist.h"

#define IMM	0x11223344u

/* The data that must be durable when a receive tells of it. */
struct told {
	struct sim_mr *mb;
	const u8 *want;
	u32 len;
	u32 times, early;
};

static void told_cqe(struct sim_qp *qp, enum cairn_side_id side,
		     const struct cairn_cqe *cqe)
{
	struct told *told = qp->hooks.arg;

	if (side != CAIRN_RESP || cqe->opcode != CAIRN_CQE_RECV_IMM)
		return;
	told->times++;
	told->early += memcmp(told->mb->shadow, told->want, told->len) != 0;
}

static void told_watch(const struct rig *rig, struct told *told, u32 len)
{
	*told = (struct told){ .mb = rig->mb, .want = rig->ma->mem, .len = len };
	rig->b->hooks.arg = told;
	rig->b->hooks.cqe = told_cqe;
}

static void imm_post(const struct rig *rig, u64 id, u8 opcode, u32 len, u8 flags)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, opcode, len);

	wr.wr_id = id;
	wr.imm_or_key = IMM + id;
	wr.flags |= flags;
	sim_post_send(rig->a, &wr);
}

static void imm_persist(const struct rig *rig, u64 id, u32 len, u8 flags)
{
	imm_post(rig, id, CAIRN_WQE_WRITE_PERSIST_IMM, len, flags);
}

/* The receive of message @id, which @len bytes at the start of the region have. */
static void expect_told(const struct rig *rig, u32 n, u64 id, u32 len)
{
	const struct cairn_cqe *cqe = recv_cqe(rig->b, n);

	ktap_eq(cqe->status, CAIRN_CQE_SUCCESS);
	ktap_eq(cqe->opcode, CAIRN_CQE_RECV_IMM);
	ktap_eq(cqe->imm_or_key, IMM + id);
	ktap_eq(cqe->byte_len, len);
	ktap_eq(cqe->persist_va, rig->mb->va);
	ktap_eq(cqe->durability, rig->mb->durability);
}

static void every_length_is_told_when_durable(void)
{
	static const u32 lens[] = { 1, 7, 8, 100, PMTU, PMTU + 1, 3 * PMTU, 9 * PMTU - 3 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
		struct told told;

		told_watch(&rig, &told, lens[i]);
		rig_recv(&rig, 5, 0);
		imm_persist(&rig, 1, lens[i], CAIRN_WQE_SOLICITED);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.a->cq[CAIRN_REQ].log[0].cqe.opcode, CAIRN_CQE_WRITE_PERSIST);
		expect_cqe(rig.b, CAIRN_RESP, 0, 5, CAIRN_CQE_SUCCESS);
		expect_told(&rig, 0, 1, lens[i]);
		ktap_eq(recv_cqe(rig.b, 0)->flags,
			CAIRN_CQE_WITH_IMM | CAIRN_CQE_SOLICITED);
		ktap_eq(recv_cqe(rig.b, 0)->psn,
			psn_of(&rig, DIV_ROUND_UP(lens[i], PMTU) - 1));
		ktap_eq(told.times, 1);
		ktap_eq(told.early, 0);
		ktap_eq(persist_acks(&rig), 1);
		sim_end(rig.s);
	}
}

/* The program is asked and told by one receive. */
static void the_host_is_asked_with_it(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	const struct cairn_cqe *cqe;

	empty_recvs(rig.b, 1, 2);
	imm_persist(&rig, 1, 2 * PMTU, 0);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	cqe = recv_cqe(rig.b, 0);
	ktap_eq(cqe->opcode, CAIRN_CQE_RECV_PERSIST);
	ktap_eq(cqe->flags, CAIRN_CQE_WITH_IMM | CAIRN_CQE_SOLICITED);
	ktap_eq(cqe->imm_or_key, IMM + 1);
	ktap_eq(cqe->byte_len, 2 * PMTU);
	ktap_ok(cqe->persist_token != 0);
	/* it is not durable yet */
	ktap_eq(cqe->durability, CAIRN_DURABILITY_UNKNOWN);
	ktap_eq(send_cqes(&rig), 0);
	ktap_eq(persist_acks(&rig), 0);
	persist_finish(&rig, 0);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	sim_end(rig.s);
}

static void no_receive_no_message(void)
{
	enum cairn_persist how;

	for (how = CAIRN_PERSIST_NIC; how <= CAIRN_PERSIST_HOST; how++) {
		struct rig rig = persist_rig(how);

		imm_persist(&rig, 1, 2 * PMTU, 0);
		sim_run(rig.s, SIM_MS);
		expect_no_receive(&rig);
		ktap_eq(persist_acks(&rig), 0);
		rig_recv(&rig, 1, 0);
		sim_run(rig.s, SIM_MS);
		if (how == CAIRN_PERSIST_HOST)
			ktap_eq(persist_release(&rig, 0, 0), 0);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(recv_cqe(rig.b, 0)->imm_or_key, IMM + 1);
		ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
		sim_end(rig.s);
	}
}

/* All answers are lost for a time: the messages come again, and are told once. */
static enum sim_fate lose_answers(struct sim_qp *qp, enum cairn_side_id side,
				  const struct cairn_pkt *pkt)
{
	return side == CAIRN_RESP ? SIM_DROP : SIM_PASS;
}

static void duplicates_are_told_once(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct told told;

	told_watch(&rig, &told, PMTU + 1);
	rig.b->hooks.emit = lose_answers;
	empty_recvs(rig.b, 1, 9);
	imm_persist(&rig, 1, PMTU + 1, 0);
	imm_persist(&rig, 2, 1, 0);
	sim_run(rig.s, 200 * SIM_MS);
	ktap_ok(rig.b->count[CAIRN_CTR_DUPLICATE_REQUEST] > 0);
	rig.b->hooks.emit = NULL;
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 2);
	expect_told(&rig, 0, 1, PMTU + 1);
	expect_told(&rig, 1, 2, 1);
	ktap_eq(told.early, 0);
	sim_end(rig.s);
}

/* A probe asks for the ACK and tells nothing. */
static void probes_tell_nothing(void)
{
	u32 early;

	for (early = 0; early < 2; early++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

		empty_recvs(rig.a, 7, 1);
		empty_recvs(rig.b, 1, 4);
		imm_persist(&rig, 1, PMTU + 9, early ? CAIRN_WQE_EARLY : 0);
		sim_run(rig.s, LONG_TIME);
		ktap_ok(rig.a->count[CAIRN_CTR_PERSIST_PROBES] > 2);
		ktap_eq(send_cqes(&rig), early);
		ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
		ktap_eq(recv_cqe(rig.b, 0)->imm_or_key, IMM + 1);
		persist_finish(&rig, 0);
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.a->cq[CAIRN_RESP].n, early);
		if (early)
			ktap_eq(recv_cqe(rig.a, 0)->opcode, CAIRN_CQE_RECV_DURABLE);
		ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
		sim_end(rig.s);
	}
}

/* Its own data is durable, so the program is told; the ACK has to wait for what is
 * before it.
 */
static void told_behind_a_host_flush(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct rig nic = rig;
	struct told told;

	nic.mb = persist_region(&rig, CAIRN_PERSIST_NIC);
	told_watch(&nic, &told, 100);
	empty_recvs(rig.b, 1, 2);
	persist_first(&rig, 1, 100);
	imm_persist(&nic, 2, 100, 0);
	sim_run(rig.s, SIM_MS);
	expect_told(&nic, 1, 2, 100);
	ktap_eq(told.times, 1);
	ktap_eq(told.early, 0);
	ktap_eq(persist_acks(&rig), 0);
	persist_finish(&rig, 0);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* A message of no bytes tells, too, and names the region if it has a key. */
static void empty_messages_are_told(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct sim_wr wr = {
		.wr_id = 2, .opcode = CAIRN_WQE_WRITE_PERSIST_IMM,
		.flags = CAIRN_WQE_SIGNALED, .imm_or_key = IMM + 2,
	};

	empty_recvs(rig.b, 1, 2);
	imm_persist(&rig, 1, 0, 0);
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	expect_told(&rig, 0, 1, 0);
	ktap_eq(recv_cqe(rig.b, 1)->opcode, CAIRN_CQE_RECV_IMM);
	ktap_eq(recv_cqe(rig.b, 1)->imm_or_key, IMM + 2);
	ktap_eq(recv_cqe(rig.b, 1)->byte_len, 0);
	ktap_eq(recv_cqe(rig.b, 1)->durability, CAIRN_DURABILITY_UNKNOWN);
	sim_end(rig.s);
}

/* Refused as without immediate data; the receive says why (IBTA 9.9.6.3, class E). */
static void ordinary_memory_is_refused(void)
{
	struct rig rig = rig_new(1);
	u8 before[PMTU];

	memcpy(before, rig.mb->mem, sizeof(before));
	rig_recv(&rig, 1, 0);
	imm_persist(&rig, 1, PMTU, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 0, 1, CAIRN_CQE_LOC_ACCESS_ERR);
	ktap_ok(!memcmp(before, rig.mb->mem, sizeof(before)));
	sim_end(rig.s);
}

/* A plain WRITE with immediate data is durable when it is told, and says so. */
static void plain_write_names_durability(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct rig plain = rig;
	struct told told;

	told_watch(&rig, &told, 2 * PMTU);
	plain.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	empty_recvs(rig.b, 1, 2);
	imm_post(&rig, 1, CAIRN_WQE_WRITE_IMM, 2 * PMTU, 0);
	imm_post(&plain, 2, CAIRN_WQE_WRITE_IMM, 2 * PMTU, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_told(&rig, 0, 1, 2 * PMTU);
	ktap_eq(told.early, 0);
	ktap_eq(recv_cqe(rig.b, 1)->opcode, CAIRN_CQE_RECV_IMM);
	ktap_eq(recv_cqe(rig.b, 1)->durability, CAIRN_DURABILITY_UNKNOWN);
	ktap_eq(recv_cqe(rig.b, 1)->persist_va, 0);
	sim_end(rig.s);
}

/* The receive comes from a queue that other connections use, too. */
static void shared_receives(void)
{
	struct sim_qp_init init = sim_rc;
	struct sim_rq *srq = sim_rq(64, 1, 0);
	struct rig rig;
	u32 i;

	init.srq = srq;
	rig = rig_with(1, &init, &sim_attrs);
	rig.mb = persist_region(&rig, CAIRN_PERSIST_NIC);
	empty_recvs(rig.b, 10, 4);
	for (i = 0; i < 4; i++)
		imm_persist(&rig, i, 100, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 3, CAIRN_CQE_SUCCESS);
	expect_cqes(rig.b, CAIRN_RESP, 0, 10, 13, CAIRN_CQE_SUCCESS);
	for (i = 0; i < 4; i++)
		expect_told(&rig, i, i, 100);
	sim_end(rig.s);
	sim_rq_free(srq);
}

/* A peer that knows WRITE_PERSIST alone drops the packet with immediate data. */
static enum sim_fate lose_immediates(struct sim_qp *qp, enum cairn_side_id side,
				     const struct cairn_pkt *pkt)
{
	return pkt->op->kind == CAIRN_KIND_WRITE_PERSIST &&
	       pkt->op->hdrs & CAIRN_HDR_IMMDT ? SIM_DROP : SIM_PASS;
}

static void a_peer_that_knows_it_without(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	empty_recvs(rig.b, 1, 4);
	rig.a->hooks.emit = lose_immediates;
	persist_first(&rig, 1, 10);
	imm_persist(&rig, 2, 2 * PMTU, 0);
	imm_persist(&rig, 3, 10, 0);
	expect_peer_lacks(&rig, CAIRN_NEED_PERSIST);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	sim_end(rig.s);
}

/* A lost message is no reason to fail it if the peer knows it, nor is one without
 * immediate data.
 */
static void a_peer_that_knows_it(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	empty_recvs(rig.b, 1, 4);
	rig.a->hooks.emit = lose_immediates;
	imm_persist(&rig, 1, 10, 0);
	ktap_ok(sim_run_until(rig.s, LONG_TIME, &rig.a->peer_asked));
	persist_peer_knows(rig.a, CAIRN_NEEDS);
	rig.a->hooks.emit = NULL;
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	/* its answer has proved both */
	rig.s->dead[1] = true;
	persist_first(&rig, 2, 10);
	sim_run(rig.s, 10 * SIM_US);
	persist_peer_knows(rig.a, CAIRN_NEED_PERSIST);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	sim_run(rig.s, LONG_TIME);
	ktap_eq(rig.a->peer_asked, 1);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_RETRY_EXC_ERR);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(every_length_is_told_when_durable),
	KTAP(the_host_is_asked_with_it),
	KTAP(no_receive_no_message),
	KTAP(duplicates_are_told_once),
	KTAP(probes_tell_nothing),
	KTAP(told_behind_a_host_flush),
	KTAP(empty_messages_are_told),
	KTAP(ordinary_memory_is_refused),
	KTAP(plain_write_names_durability),
	KTAP(shared_receives),
	KTAP(a_peer_that_knows_it_without),
	KTAP(a_peer_that_knows_it),
};

KTAP_MAIN(tests)
