// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WRITE_PERSIST at the requester, rule by rule (Documentation/wire.rst): what
 * makes a message durable and what does not, completion modes, probes, fences,
 * errors.
 */
#include <errno.h>
#include "engine/window.h"
#include "persist.h"

static void one_request_and_one_answer(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct watch watched;

	persist_watch(&rig, &watched, 13, 100, 0);
	persist_at(&rig, 7, 13, 100, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 7, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->cq[CAIRN_REQ].log[0].cqe.opcode, CAIRN_CQE_WRITE_PERSIST);
	ktap_eq(rig.a->cq[CAIRN_REQ].log[0].cqe.psn, psn_of(&rig, 0));
	ktap_eq(rig.s->n_sent, 2);
	ktap_eq(last_sent(rig.b)->opcode, CAIRN_BTH_PERSIST_ACK);
	ktap_eq(last_sent(rig.b)->psn, psn_of(&rig, 0));
	ktap_eq(last_sent(rig.b)->msn, 1);
	ktap_eq(watched.early, 0);
	ktap_ok(is_durable(&rig, 13, 100));
	ktap_eq(rig.b->count[CAIRN_CTR_PERSIST_FENCES], 1);
	sim_end(rig.s);
}

/* A message of no bytes completes in its turn, and needs no receive. */
static void empty_messages_are_durable_too(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	persist_first(&rig, 1, 0);
	persist_first(&rig, 2, 10);
	persist_first(&rig, 3, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	sim_end(rig.s);
}

/* Probed for long, by single last packets, and never given up. */
static void a_slow_host_is_waited_for(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	u32 i;

	rig_recv(&rig, 1, 0);
	persist_first(&rig, 1, 3 * PMTU);
	ktap_ok(!sim_run(rig.s, LONG_TIME));
	ktap_eq(send_cqes(&rig), 0);
	ktap_ok(rig.a->count[CAIRN_CTR_PERSIST_PROBES] > 20);
	ktap_eq(persist_requests(&rig), 3 + rig.a->count[CAIRN_CTR_PERSIST_PROBES]);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	for (i = 0; i < rig.s->n_sent; i++)
		if (rig.s->sent[i].qp == rig.a && rig.s->sent[i].retransmit)
			ktap_eq(rig.s->sent[i].pkt.psn, psn_of(&rig, 2));
	persist_finish(&rig, 0);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	sim_end(rig.s);
}

static void a_lost_persist_ack_is_asked_for(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct watch watched;

	persist_watch(&rig, &watched, 0, 0, 0);
	watched.drop = 3;
	empty_recvs(rig.b, 1, 2);
	persist_first(&rig, 1, 100);
	persist_first(&rig, 2, 100);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_eq(persist_release(&rig, 1, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	ktap_eq(watched.drop, 0);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 2);
	ktap_ok(rig.a->count[CAIRN_CTR_PERSIST_PROBES] > 0);
	sim_end(rig.s);
}

static void silence_ends_it(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&rig, 1, 0);
	persist_first(&rig, 1, 3 * PMTU);
	sim_run(rig.s, SIM_MS);
	rig.s->dead[1] = true;
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(rig.a->count[CAIRN_CTR_PERSIST_PROBES], sim_attrs.retry_cnt);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

/* The request behind it is lost and cannot be retransmitted, as its region was released.
 * Its failure waits for the unanswered one, which still runs out of retries.
 */
static void silence_ends_what_another_waits_for(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct sim_mr *mr = sim_mr(rig.s, 0, RIG_LEN, SIM_ALL);
	struct rig gone = rig;

	gone.ma = mr;
	rig_recv(&rig, 1, 0);
	persist_first(&rig, 1, 100);
	sim_run(rig.s, SIM_MS);
	rig.s->dead[1] = true;
	rig_send(&gone, 2, CAIRN_WQE_WRITE, 3 * PMTU);
	sim_run(rig.s, 10 * SIM_US);
	mr->valid = false;
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
	sim_end(rig.s);
}

static void failure_is_told(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	empty_recvs(rig.b, 1, 3);
	persist_first(&rig, 1, 100);
	persist_first(&rig, 2, 100);
	persist_first(&rig, 3, 100);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_release(&rig, 1, EIO), 0);
	sim_run(rig.s, SIM_MS);
	/* in PSN order: 1 may still become durable */
	ktap_eq(send_cqes(&rig), 0);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_OP_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
	ktap_eq(last_sent(rig.b)->opcode, CAIRN_BTH_PERSIST_ACK);
	ktap_eq(last_sent(rig.b)->psn, psn_of(&rig, 1));
	ktap_eq(last_sent(rig.b)->syndrome, CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_OP);
	ktap_eq(persist_release(&rig, 2, 0), -ENOENT);
	sim_end(rig.s);
}

/* The next messages flow; their completions wait for their turn. */
static void others_overtake_but_complete_in_order(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct sim_mr *plain = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	struct rig other = rig;
	u32 i;

	other.mb = plain;
	empty_recvs(rig.b, 1, 1);
	persist_first(&rig, 1, 100);
	for (i = 2; i < 40; i += 3) {
		rig_recv(&rig, i, 100);
		rig_send(&other, i, CAIRN_WQE_SEND, 100);
		rig_send(&other, i + 1, CAIRN_WQE_READ, 5000);
		rig_send(&other, i + 2, CAIRN_WQE_WRITE, 5000);
	}
	sim_run(rig.s, SIM_SEC);
	ktap_eq(send_cqes(&rig), 0);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 14);
	ktap_eq(rig.a->c.req.una, rig.a->c.req.psn);
	ktap_eq(rig.a->count[CAIRN_CTR_SEQ_NAKS_RECEIVED], 0);
	persist_finish(&rig, 0);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 40, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void a_fence_waits_for_durability(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_READ, 100);

	rig_recv(&rig, 1, 0);
	persist_first(&rig, 1, 100);
	wr.wr_id = 2;
	wr.flags |= CAIRN_WQE_FENCE;
	sim_post_send(rig.a, &wr);
	sim_run(rig.s, SIM_SEC);
	ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_READ_REQ), 0);
	persist_finish(&rig, 0);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void flush_is_no_success(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&rig, 1, 0);
	persist_first(&rig, 1, 100);
	rig_send(&rig, 2, CAIRN_WQE_READ, 100);
	sim_run(rig.s, SIM_MS);
	sim_modify(rig.a, CAIRN_QP_ERR);
	sim_run(rig.s, SIM_MS);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, SIM_SEC);
	ktap_eq(send_cqes(&rig), 2);
	sim_end(rig.s);
}

/* A later request fails while an earlier one waits: the earlier is unknown. */
static void an_error_behind_it_flushes_it(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE, 100);

	rig_recv(&rig, 1, 0);
	persist_first(&rig, 1, 100);
	sim_run(rig.s, SIM_MS);
	wr.wr_id = 2;
	wr.rkey ^= 1;
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_WR_FLUSH_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_ACCESS_ERR);
	ktap_eq(persist_release(&rig, 0, 0), -ENOENT);
	sim_end(rig.s);
}

static void early_mode_tells_twice(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	const struct cairn_cqe *cqe;

	empty_recvs(rig.b, 1, 2);
	empty_recvs(rig.a, 51, 3);
	persist_at(&rig, 1, 0, 3 * PMTU, CAIRN_WQE_EARLY);
	persist_at(&rig, 2, 8192, 100, CAIRN_WQE_EARLY);
	rig_send(&rig, 3, CAIRN_WQE_READ, 100);
	sim_run(rig.s, SIM_MS);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->sq_head, rig.a->sq_tail);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 0);
	ktap_eq(persist_release(&rig, 1, 0), 0);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 0);
	persist_finish(&rig, 0);
	expect_cqes(rig.a, CAIRN_RESP, 0, 51, 52, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 2);
	cqe = recv_cqe(rig.a, 0);
	ktap_eq(cqe->opcode, CAIRN_CQE_RECV_DURABLE);
	ktap_eq(cqe->psn, psn_of(&rig, 2));
	ktap_eq(cqe->psn, rig.a->cq[CAIRN_REQ].log[0].cqe.psn);
	ktap_eq(cqe->persist_va, rig.mb->va);
	ktap_eq(cqe->byte_len, 0);
	ktap_eq(recv_cqe(rig.a, 1)->persist_va, rig.mb->va + 8192);
	ktap_eq(recv_cqe(rig.a, 1)->psn, psn_of(&rig, 3));
	sim_end(rig.s);
}

static void early_mode_waits_for_a_receive(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	persist_at(&rig, 1, 0, 100, CAIRN_WQE_EARLY);
	sim_run(rig.s, 50 * SIM_MS);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_ok(rig.a->count[CAIRN_CTR_PERSIST_RECV_WAITS] > 0);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 0);
	empty_recvs(rig.a, 5, 1);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_RESP, 0, 5, CAIRN_CQE_SUCCESS);
	ktap_eq(persist_requests(&rig), 1);
	sim_end(rig.s);
}

/* A message in default mode is reported before an earlier one in early mode that finds no
 * receive. Its report covers that one.
 */
static void default_mode_passes_early_mode(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	persist_at(&rig, 1, 0, 100, CAIRN_WQE_EARLY);
	persist_at(&rig, 2, 8192, 100, 0);
	sim_run(rig.s, 500 * SIM_US);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 0);
	ktap_ok(is_durable(&rig, 0, 100) && is_durable(&rig, 8192, 100));
	empty_recvs(rig.a, 5, 1);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_RESP, 0, 5, CAIRN_CQE_SUCCESS);
	ktap_eq(recv_cqe(rig.a, 0)->psn, psn_of(&rig, 0));
	sim_end(rig.s);
}

/* A durable completion of early mode covers an earlier message in default mode. */
static void early_mode_waits_for_default_mode(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST), nic = rig;

	nic.mb = persist_region(&rig, CAIRN_PERSIST_NIC);
	empty_recvs(rig.a, 5, 1);
	empty_recvs(rig.b, 1, 1);
	persist_at(&rig, 1, 0, 100, 0);
	persist_at(&nic, 2, 8192, 100, CAIRN_WQE_EARLY);
	sim_run(rig.s, SIM_MS);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 0);
	ktap_eq(send_cqes(&rig), 0);
	persist_finish(&rig, 0);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_RESP, 0, 5, CAIRN_CQE_SUCCESS);
	ktap_ok(rig.a->cq[CAIRN_RESP].log[0].when >=
		rig.a->cq[CAIRN_REQ].log[0].when);
	sim_end(rig.s);
}

/* A message in early mode, of which b has the data. */
static void early_received(const struct rig *rig, u32 len)
{
	empty_recvs(rig->b, 1, 1);
	persist_at(rig, 1, 0, len, CAIRN_WQE_EARLY);
	sim_run(rig->s, SIM_MS);
	expect_cqe(rig->a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
}

/* The WQE and its memory are the host's again while we probe. */
static void early_probes_need_no_memory(void)
{
	u32 len;

	for (len = 100; len < 4 * PMTU; len += 2500) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
		struct watch watched;

		persist_watch(&rig, &watched, 0, 0, 0);
		watched.drop = 2;
		empty_recvs(rig.a, 1, 1);
		early_received(&rig, len);
		rig.ma->valid = false;
		memset(rig.a->sq, 0xff, 64);
		ktap_eq(persist_release(&rig, 0, 0), 0);
		ktap_ok(sim_run(rig.s, LONG_TIME));
		ktap_ok(rig.a->count[CAIRN_CTR_PERSIST_PROBES] > 1);
		/* A probe has the PSN of the last packet. */
		ktap_eq(last_sent(rig.a)->psn, psn_of(&rig, (len - 1) / PMTU));
		expect_cqe(rig.a, CAIRN_RESP, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_ok(is_durable(&rig, 0, len));
		sim_end(rig.s);
	}
}

static void early_mode_tells_of_failure(void)
{
	u32 silent;

	for (silent = 0; silent < 2; silent++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

		empty_recvs(rig.a, 1, 2);
		early_received(&rig, 100);
		if (silent)
			rig.s->dead[1] = true;
		else
			ktap_eq(persist_release(&rig, 0, EIO), 0);
		ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
		expect_cqe(rig.a, CAIRN_RESP, 0, 1, silent ?
			   CAIRN_CQE_RETRY_EXC_ERR : CAIRN_CQE_REM_OP_ERR);
		ktap_eq(recv_cqe(rig.a, 0)->opcode, CAIRN_CQE_RECV_DURABLE);
		expect_cqe(rig.a, CAIRN_RESP, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
		sim_end(rig.s);
	}
}

/* Not even received: one completion, of the request. */
static void early_and_not_received_fails_once(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	empty_recvs(rig.a, 1, 1);
	rig.s->dead[1] = true;
	persist_at(&rig, 1, 0, 100, CAIRN_WQE_EARLY);
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 1);
	expect_cqe(rig.a, CAIRN_RESP, 0, 1, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_ok(recv_cqe(rig.a, 0)->opcode != CAIRN_CQE_RECV_DURABLE);
	sim_end(rig.s);
}

/* Two are received, the first fails: only that one has a completion of its own. */
static void early_failure_names_the_oldest(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	empty_recvs(rig.b, 1, 2);
	empty_recvs(rig.a, 1, 3);
	persist_at(&rig, 1, 0, 100, CAIRN_WQE_EARLY);
	persist_at(&rig, 2, 8192, 100, CAIRN_WQE_EARLY);
	sim_run(rig.s, SIM_MS);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	/* the second is durable, and stays unreported */
	ktap_eq(persist_release(&rig, 1, 0), 0);
	ktap_eq(persist_release(&rig, 0, EIO), 0);
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_RESP, 0, 1, CAIRN_CQE_REM_OP_ERR);
	ktap_eq(recv_cqe(rig.a, 0)->opcode, CAIRN_CQE_RECV_DURABLE);
	ktap_eq(recv_cqe(rig.a, 0)->psn, psn_of(&rig, 0));
	expect_cqes(rig.a, CAIRN_RESP, 1, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(send_cqes(&rig), 2);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

enum end { END_NAK, END_SILENCE, END_REFUSED, ENDS };

/* The first message is durable and found no receive. Then there are receives, and before
 * the requester looks again, the second message or a later request fails.
 */
static void early_and_durable_is_told_before(enum end end)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig, bad;

	attrs.timeout = 12;		/* 16.8 ms */
	if (end == END_SILENCE)
		attrs.retry_cnt = 0;
	rig = persist_rig_with(CAIRN_PERSIST_HOST, &attrs);
	bad = rig;
	bad.mb = sim_mr(rig.s, 1, 4096, SIM_LOCAL);
	empty_recvs(rig.b, 1, 2);
	persist_at(&rig, 1, 0, 100, CAIRN_WQE_EARLY);
	persist_at(&rig, 2, 8192, 100, CAIRN_WQE_EARLY);
	sim_run(rig.s, SIM_MS);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	sim_run(rig.s, end == END_SILENCE ? 16400 * SIM_US : 200 * SIM_US);
	ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	empty_recvs(rig.a, 1, 3);
	if (end == END_NAK)
		ktap_eq(persist_release(&rig, 1, EIO), 0);
	else if (end == END_SILENCE)
		rig.s->dead[1] = true;
	else
		rig_send(&bad, 3, CAIRN_WQE_WRITE, 10);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 0);
	sim_run(rig.s, 500 * SIM_US);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	expect_cqe(rig.a, CAIRN_RESP, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(recv_cqe(rig.a, 0)->opcode, CAIRN_CQE_RECV_DURABLE);
	ktap_eq(recv_cqe(rig.a, 0)->psn, psn_of(&rig, 0));
	if (end == END_REFUSED) {
		expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_REM_ACCESS_ERR);
	} else {
		expect_cqe(rig.a, CAIRN_RESP, 1, 2, end == END_NAK ?
			   CAIRN_CQE_REM_OP_ERR : CAIRN_CQE_RETRY_EXC_ERR);
		ktap_eq(recv_cqe(rig.a, 1)->psn, psn_of(&rig, 1));
	}
	sim_end(rig.s);
}

static void durable_is_told_before_a_failure(void)
{
	enum end end;

	for (end = 0; end < ENDS; end++)
		early_and_durable_is_told_before(end);
}

/* Without a receive nothing completes: the state of the queue pair says it. */
static void early_failure_without_a_receive(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	early_received(&rig, 100);
	ktap_eq(persist_release(&rig, 0, EIO), 0);
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(send_cqes(&rig), 1);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 0);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	/* what is posted now is flushed */
	empty_recvs(rig.a, 1, 1);
	sim_turn(rig.a, CAIRN_RESP);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_RESP, 0, 1, CAIRN_CQE_WR_FLUSH_ERR);
	sim_end(rig.s);
}

/* Records of early ones are bounded: the queue stops, nothing is lost. */
static void early_records_are_bounded(void)
{
	struct sim_qp_init init = sim_rc;
	struct rig rig;
	u32 i;

	init.sq_depth = 8;
	init.rq_depth = 64;
	rig = rig_with(1, &init, &sim_attrs);
	rig.mb = persist_region(&rig, CAIRN_PERSIST_HOST);
	empty_recvs(rig.b, 0, 12);
	empty_recvs(rig.a, 0, 12);
	for (i = 0; i < 12; i++) {
		persist_at(&rig, i, 0, 10, CAIRN_WQE_EARLY);
		sim_run(rig.s, SIM_MS);
	}
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 8);
	for (i = 0; i < 12; i++) {
		ktap_eq(persist_release(&rig, i, 0), 0);
		sim_run(rig.s, SIM_MS);
	}
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 11, CAIRN_CQE_SUCCESS);
	expect_cqes(rig.a, CAIRN_RESP, 0, 0, 11, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* A send ring of another size keeps the records of what is not durable. */
static void early_records_survive_a_resize(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	u32 i;

	empty_recvs(rig.b, 0, 12);
	empty_recvs(rig.a, 0, 12);
	for (i = 0; i < 12; i++)
		persist_at(&rig, i, 64 * i, 10, CAIRN_WQE_EARLY);
	sim_run(rig.s, SIM_MS);
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 11, CAIRN_CQE_SUCCESS);
	ktap_ok(!sim_resize_sq(rig.a, 16, 8));
	ktap_ok(sim_resize_sq(rig.a, 16, 16));
	for (i = 0; i < 6; i++)
		ktap_eq(persist_release(&rig, i, 0), 0);
	sim_run(rig.s, SIM_MS);
	ktap_ok(sim_resize_sq(rig.a, 256, 256));
	for (i = 6; i < 12; i++)
		ktap_eq(persist_release(&rig, i, 0), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_RESP, 0, 0, 11, CAIRN_CQE_SUCCESS);
	for (i = 0; i < 12; i++)
		ktap_eq(recv_cqe(rig.a, i)->persist_va, rig.mb->va + 64 * i);
	sim_end(rig.s);
}

/* SQD: drained when everything is durable and told. */
static void draining_waits_for_early_ones(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	empty_recvs(rig.a, 1, 1);
	early_received(&rig, 100);
	sim_modify(rig.a, CAIRN_QP_SQD);
	sim_run(rig.s, 100 * SIM_MS);
	ktap_eq(sim_async_count(rig.a, CAIRN_ASYNC_SQ_DRAINED), 0);
	persist_finish(&rig, 0);
	ktap_eq(sim_async_count(rig.a, CAIRN_ASYNC_SQ_DRAINED), 1);
	ktap_eq(rig.a->cq[CAIRN_RESP].n, 1);
	sim_end(rig.s);
}

/* Persistence ACKs that no honest peer sends. */
static void strange_persist_acks_mean_nothing(void)
{
	static const struct {
		s32 n;
		u8 syndrome;
	} acks[] = {
		{ -1 }, { 3 }, { 100 }, { 1 << 22 }, { -(1 << 22) }, { 1 },
		{ 2, CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ },
		{ 2, CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS },
		{ 2, CAIRN_AETH_RNR_NAK | 1 }, { 2, 0x80 }, { 2, 0x40 },
	};
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_PERSIST_ACK,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig.a->c.qpn,
	};
	u32 i;

	rig_recv(&rig, 1, 0);
	persist_first(&rig, 1, 3 * PMTU);
	sim_run(rig.s, SIM_MS);
	for (i = 0; i < ARRAY_SIZE(acks); i++) {
		pkt.psn = cairn_psn_add(rig.a->psn, acks[i].n);
		pkt.syndrome = acks[i].syndrome;
		sim_inject(rig.a, &pkt, NULL);
		ktap_eq(send_cqes(&rig), 0);
		ktap_eq(rig.a->c.state, CAIRN_QP_RTS);
	}
	persist_finish(&rig, 0);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* An answer to packet @n reaches a. */
static void req_answer(const struct rig *rig, u8 opcode, u32 n, u32 msn)
{
	struct cairn_pkt pkt = {
		.opcode = opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->a->c.qpn,
		.psn = psn_of(rig, n),
		.syndrome = CAIRN_AETH_ACK | CAIRN_AETH_CREDIT_INVALID,
		.msn = msn,
	};

	sim_inject(rig->a, &pkt, NULL);
	sim_run(rig->s, 10 * SIM_US);
}

/* An ordinary ACK never stands for durability. */
static void ordinary_acks_are_not_enough(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	u32 i;

	rig.s->dead[1] = true;
	persist_first(&rig, 1, 3 * PMTU);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 10);
	sim_run(rig.s, SIM_MS);
	for (i = 0; i < 4; i++) {
		req_answer(&rig, CAIRN_BTH_ACK, i, 0);
		req_answer(&rig, CAIRN_BTH_ACK, i, 0);
	}
	ktap_eq(rig.a->c.req.una, psn_of(&rig, 4));
	ktap_eq(send_cqes(&rig), 0);
	req_answer(&rig, CAIRN_BTH_PERSIST_ACK, 2, 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* It acknowledges the receipt, too, of all before it. */
static void a_persist_ack_acknowledges_receipt(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	rig.s->dead[1] = true;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 10);
	persist_first(&rig, 2, 10);
	rig_send(&rig, 3, CAIRN_WQE_WRITE, 10);
	persist_first(&rig, 4, 10);
	sim_run(rig.s, 100 * SIM_US);
	req_answer(&rig, CAIRN_BTH_PERSIST_ACK, 3, 0);
	sim_run(rig.s, SIM_MS);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 4, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void early_is_for_write_persist(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE, 10);

	wr.flags |= CAIRN_WQE_EARLY;
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 0, CAIRN_CQE_LOC_QP_OP_ERR);
	sim_end(rig.s);
}

/* A message may end half of the ring ahead of an answer that comes twice. */
static void repeated_answers_are_no_later_ones(void)
{
	const u32 piece = 67108856;	/* 32 of them: 2^23 - 1 packets */
	struct cairn_qp_attrs attrs = sim_attrs;
	struct cairn_sge sge[32];
	struct sim_wr wr;
	struct sim_mr *big;
	struct rig rig;
	u32 i;

	attrs.pmtu = 256;
	attrs.timeout = 20;
	rig = rig_with(1, &sim_rc, &attrs);
	rig.s->record = false;
	rig.s->dead[1] = true;
	big = sim_mr(rig.s, 0, piece, SIM_ALL);
	for (i = 0; i < ARRAY_SIZE(sge); i++)
		sge[i] = sim_sge(big, 0, piece);
	persist_first(&rig, 1, 100);			/* PSN 0 */
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 512);	/* 1 and 2 */
	wr = (struct sim_wr){
		.wr_id = 3,
		.opcode = CAIRN_WQE_WRITE_PERSIST,
		.flags = CAIRN_WQE_SIGNALED,
		.sge = sge,
		.num_sge = ARRAY_SIZE(sge),
		.remote_addr = rig.mb->va,
		.rkey = rig.mb->key,
	};
	sim_post_send(rig.a, &wr);		/* 3 to 2^23 + 1 */
	sim_run(rig.s, 10 * SIM_US);
	req_answer(&rig, CAIRN_BTH_ACK, 2, 2);
	req_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0, 1);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	req_answer(&rig, CAIRN_BTH_PERSIST_ACK, 0, 1);
	ktap_eq(rig.a->c.req.persist.outstanding, 1);
	ktap_ok(!rig.a->c.req.swr[2].durable);
	sim_end(rig.s);
}

/* A peer that was set up afresh must not place what a probe carries. */
static void early_probes_are_never_placed(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	u32 i, probes = 0;

	empty_recvs(rig.a, 1, 1);
	early_received(&rig, 100);
	sim_run(rig.s, 5 * SIM_SEC);
	for (i = 0; i < rig.s->n_sent; i++) {
		const struct cairn_pkt *pkt = &rig.s->sent[i].pkt;

		if (rig.s->sent[i].qp != rig.a ||
		    pkt->op->kind != CAIRN_KIND_WRITE_PERSIST || !probes++)
			continue;
		ktap_eq(pkt->opcode, CAIRN_BTH_WRITE_PERSIST_LAST);
	}
	ktap_ok(probes > 1);
	sim_end(rig.s);
}

/* PSNs compare over half of the ring only: what waits for durability holds back
 * what would be too far from it.
 */
static void nothing_is_sent_too_far_ahead(void)
{
	u32 far;

	for (far = 0; far < 2; far++) {
		struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
		u32 ahead = CAIRN_PSN_SPAN - CAIRN_WINDOW_PACKETS - !far;

		empty_recvs(rig.a, 1, 2);
		early_received(&rig, 100);
		empty_recvs(rig.b, 2, 1);
		/* as if so many packets had followed */
		rig.a->c.req.swr[0].psn = cairn_psn_add(psn_of(&rig, 1), -ahead);
		persist_at(&rig, 2, 0, 100, CAIRN_WQE_EARLY);
		sim_run(rig.s, SIM_MS);
		ktap_eq(persist_requests(&rig), far ? 1 : 2);
		sim_end(rig.s);
	}
}

/* A peer that does not know WRITE_PERSIST drops it, and is as silent as a dead one. The
 * first timeout asks the peer, and its answer ends the request.
 */
static enum sim_fate lose_persists(struct sim_qp *qp, enum cairn_side_id side,
				   const struct cairn_pkt *pkt)
{
	return pkt->op->kind == CAIRN_KIND_WRITE_PERSIST ? SIM_DROP : SIM_PASS;
}

static enum sim_fate lose_requests(struct sim_qp *qp, enum cairn_side_id side,
				   const struct cairn_pkt *pkt)
{
	return side == CAIRN_REQ ? SIM_DROP : SIM_PASS;
}

static void a_peer_that_does_not_know_it(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	rig.a->hooks.emit = lose_persists;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 100);
	persist_first(&rig, 2, 3 * PMTU);
	persist_first(&rig, 3, 10);
	expect_peer_lacks(&rig, 0);
	sim_end(rig.s);
}

/* Without an answer it is asked once, and the retries are used up. */
static void a_silent_peer_is_asked_once(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	rig.a->hooks.emit = lose_persists;
	persist_first(&rig, 1, 10);
	sim_run(rig.s, LONG_TIME);
	ktap_eq(rig.a->peer_asked, 1);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	sim_end(rig.s);
}

/* An answer that is late, or not about this: nothing happens. */
static void who_answers_is_not_doubted(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	persist_peer_knows(rig.a, 0);
	rig.a->hooks.emit = lose_persists;
	persist_first(&rig, 1, 10);
	ktap_ok(sim_run_until(rig.s, LONG_TIME, &rig.a->peer_asked));
	rig.a->hooks.emit = NULL;
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	persist_peer_knows(rig.a, 0);
	/* silent now, but it has answered before */
	rig.a->hooks.emit = lose_persists;
	persist_first(&rig, 2, 10);
	sim_run(rig.s, LONG_TIME);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(rig.a->peer_asked, 1);
	sim_end(rig.s);
}

/* A plain WRITE that is lost is no reason to ask. */
static void plain_silence_is_no_doubt(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	rig.a->hooks.emit = lose_requests;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 100);
	sim_run(rig.s, LONG_TIME);
	ktap_eq(rig.a->peer_asked, 0);
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(one_request_and_one_answer),
	KTAP(empty_messages_are_durable_too),
	KTAP(a_slow_host_is_waited_for),
	KTAP(a_lost_persist_ack_is_asked_for),
	KTAP(silence_ends_it),
	KTAP(silence_ends_what_another_waits_for),
	KTAP(failure_is_told),
	KTAP(others_overtake_but_complete_in_order),
	KTAP(a_fence_waits_for_durability),
	KTAP(flush_is_no_success),
	KTAP(an_error_behind_it_flushes_it),
	KTAP(early_mode_tells_twice),
	KTAP(early_mode_waits_for_a_receive),
	KTAP(default_mode_passes_early_mode),
	KTAP(early_mode_waits_for_default_mode),
	KTAP(early_probes_need_no_memory),
	KTAP(early_mode_tells_of_failure),
	KTAP(early_and_not_received_fails_once),
	KTAP(early_failure_names_the_oldest),
	KTAP(durable_is_told_before_a_failure),
	KTAP(early_failure_without_a_receive),
	KTAP(early_records_are_bounded),
	KTAP(early_records_survive_a_resize),
	KTAP(draining_waits_for_early_ones),
	KTAP(strange_persist_acks_mean_nothing),
	KTAP(ordinary_acks_are_not_enough),
	KTAP(a_persist_ack_acknowledges_receipt),
	KTAP(early_is_for_write_persist),
	KTAP(repeated_answers_are_no_later_ones),
	KTAP(early_probes_are_never_placed),
	KTAP(nothing_is_sent_too_far_ahead),
	KTAP(a_peer_that_does_not_know_it),
	KTAP(a_silent_peer_is_asked_once),
	KTAP(who_answers_is_not_doubted),
	KTAP(plain_silence_is_no_doubt),
};

KTAP_MAIN(tests)
