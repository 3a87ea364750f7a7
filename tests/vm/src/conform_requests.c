// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests of connected queue pairs: completion, order, and errors at both ends. */
#include "conform.h"

STATEMENT(sends_in_order, "IBTA 10.8.3.3",
	  "Requests of a send queue complete in the order in which they were posted.")
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_SEND,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ, IBV_WR_SEND,
	};
	u32 i, len;

	open_ends(IBV_QPT_RC);
	must(!post_recv(&b, 1, BUF) && !post_recv(&b, 2, BUF));
	for (i = 0; i < 7; i++) {
		len = opcodes[i] == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 :
		      i % 2 ? 10 : 30000;
		must(!conform_post(i, opcodes[i], len));
	}
	for (i = 0; i < 7; i++)
		expect_wc(a.scq, i, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(receives_in_order, "IBTA 10.8.3.3",
	  "Receives are used and completed in the order in which they were posted.")
{
	u32 i;

	open_ends(IBV_QPT_RC);
	for (i = 0; i < 8; i++)
		must(!post_recv(&b, 100 + i, 1000));
	for (i = 0; i < 8; i++)
		must(!conform_post(i, IBV_WR_SEND, 10 * i));
	for (i = 0; i < 8; i++)
		expect_wc(b.rcq, 100 + i, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(unsignaled_is_silent, "IBTA 10.8.6",
	  "A request that asks for no completion has none when it succeeds.")
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE }, *bad;

	open_ends(IBV_QPT_RC);
	sge = sge_of(&a, 100);
	wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
	wr.wr.rdma.rkey = b.mr->rkey;
	must(!ibv_post_send(a.qp, &wr, &bad));
	must(!conform_post(2, IBV_WR_RDMA_WRITE, 100));
	expect_wc(a.scq, 2, IBV_WC_SUCCESS);
	ktap_ok(conform_quiet(a.scq));
	close_ends();
}

STATEMENT(unsignaled_error_is_told, "IBTA 10.8.6",
	  "A request that asks for no completion has one when it fails.")
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE }, *bad;

	open_ends(IBV_QPT_RC);
	sge = sge_of(&a, 100);
	wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
	wr.wr.rdma.rkey = ~b.mr->rkey;
	must(!ibv_post_send(a.qp, &wr, &bad));
	expect_wc(a.scq, 5, IBV_WC_REM_ACCESS_ERR);
	close_ends();
}

STATEMENT(all_signaled, "ibv_create_qp(3), sq_sig_all",
	  "With sq_sig_all each request has a completion, whatever its flags say.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);
	struct ibv_send_wr wr = { .wr_id = 3, .opcode = IBV_WR_RDMA_WRITE }, *bad;

	o.sig_all = true;
	open_ends_with(&o);
	must(!vt_connect(&a, &b));
	must(!ibv_post_send(a.qp, &wr, &bad));
	expect_wc(a.scq, 3, IBV_WC_SUCCESS);
	close_ends();
}

DEVIATION(place_until_polled, "IBTA glossary, outstanding",
	  "A request is outstanding, and has its place in the send queue, until its completion or that of a later request is polled.",
	  "It has its place until it is done. A program that posts until ENOMEM and counts nothing needs a completion queue with more room than max_send_wr: see send-queue-overflow in cairn_check(1).")
{
	u64 end;
	u32 i, n;

	open_ends(IBV_QPT_RC);
	n = a.o.cap.max_send_wr;
	for (i = 0; i < n; i++)
		must(!conform_post(i, IBV_WR_RDMA_WRITE, 1));
	/* Nothing is polled: the next request finds room when the first one is done. */
	for (end = vt_now_ms() + LONG; conform_post(n, IBV_WR_RDMA_WRITE, 1);)
		must(vt_now_ms() < end);
	for (i = 0; i <= n; i++)
		expect_wc(a.scq, i, IBV_WC_SUCCESS);
	close_ends();
}

/* a's request is refused by b, which flushes its own. */
static void requests_refused(enum ibv_wr_opcode opcode, u32 len, int access,
			     enum ibv_wc_status status, enum ibv_event_type event)
{
	open_ends(IBV_QPT_RC);
	if (access >= 0) {
		must(!ibv_dereg_mr(b.mr));
		b.mr = ibv_reg_mr(dev[1].pd, b.buf, BUF, access);
		must(b.mr);
	}
	must(!post_recv(&b, 11, 1000) && !post_recv(&b, 12, 1000));
	must(!conform_post(1, opcode, len) && !conform_post(2, IBV_WR_RDMA_WRITE, 0));
	expect_wc(a.scq, 1, status);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	ktap_ok(state_is(&a, IBV_QPS_ERR));
	ktap_ok(vt_async(&dev[1], event, LONG));
	ktap_ok(state_is(&b, IBV_QPS_ERR));
}

STATEMENT(write_needs_right, "IBTA 9.7.4.1",
	  "A WRITE to a region without remote write access is refused with a remote access error; both queue pairs move to the error state.")
{
	requests_refused(IBV_WR_RDMA_WRITE, 100, IBV_ACCESS_LOCAL_WRITE |
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
			 IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	expect_wc(b.rcq, 11, IBV_WC_WR_FLUSH_ERR);
	close_ends();
}

STATEMENT(read_needs_right, "IBTA 9.7.4.1",
	  "A READ from a region without remote read access is refused with a remote access error.")
{
	requests_refused(IBV_WR_RDMA_READ, 100, IBV_ACCESS_LOCAL_WRITE |
			 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
			 IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	close_ends();
}

STATEMENT(atomic_needs_right, "IBTA 9.7.4.1",
	  "An atomic on a region without remote atomic access is refused with a remote access error.")
{
	requests_refused(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, IBV_ACCESS_LOCAL_WRITE |
			 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
			 IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	close_ends();
}

STATEMENT(write_imm_ends_receive, "IBTA 11.6.2",
	  "A refused WRITE with immediate completes the responder's receive with a local access error.")
{
	requests_refused(IBV_WR_RDMA_WRITE_WITH_IMM, 100, IBV_ACCESS_LOCAL_WRITE,
			 IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	expect_wc(b.rcq, 11, IBV_WC_LOC_ACCESS_ERR);
	expect_wc(b.rcq, 12, IBV_WC_WR_FLUSH_ERR);
	close_ends();
}

/* The queue pair of b allows only @access to its peer. */
static void qp_refuses(enum ibv_wr_opcode opcode, u32 len, int access)
{
	struct vt_opts opts = opts_of(IBV_QPT_RC);

	open_ends_with(&opts);
	b.o.access = access;
	must(!vt_connect(&a, &b));
	must(!post_recv(&b, 11, 1000));
	must(!conform_post(1, opcode, len));
	expect_wc(a.scq, 1, IBV_WC_REM_INV_REQ_ERR);
	ktap_ok(vt_async(&dev[1], IBV_EVENT_QP_REQ_ERR, LONG));
	ktap_ok(state_is(&b, IBV_QPS_ERR));
	expect_wc(b.rcq, 11, IBV_WC_WR_FLUSH_ERR);
	close_ends();
}

STATEMENT(qp_forbids_write, "IBTA 9.7.4.1",
	  "A WRITE to a queue pair without remote write access is an invalid request.")
{
	qp_refuses(IBV_WR_RDMA_WRITE, 100, IBV_ACCESS_REMOTE_READ);
}

STATEMENT(qp_forbids_read, "IBTA 9.7.4.1",
	  "A READ of a queue pair without remote read access is an invalid request.")
{
	qp_refuses(IBV_WR_RDMA_READ, 100, IBV_ACCESS_REMOTE_WRITE);
}

STATEMENT(qp_forbids_atomic, "IBTA 9.7.4.1",
	  "An atomic on a queue pair without remote atomic access is an invalid request.")
{
	qp_refuses(IBV_WR_ATOMIC_FETCH_AND_ADD, 8,
		   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

STATEMENT(nothing_needs_no_key, "IBTA 9.7.4.1.3",
	  "A WRITE or READ of 0 bytes is not checked against a region.")
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { 0x1234, 0xffffff00 },
	}, *bad;

	open_ends(IBV_QPT_RC);
	must(!ibv_post_send(a.qp, &wr, &bad));
	expect_wc(a.scq, 0, IBV_WC_SUCCESS);
	wr.opcode = IBV_WR_RDMA_READ;
	must(!ibv_post_send(a.qp, &wr, &bad));
	expect_wc(a.scq, 0, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(atomic_aligned, "IBTA 9.4.5",
	  "An atomic at an address that is no multiple of 8 is an invalid request.")
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
	}, *bad;

	open_ends(IBV_QPT_RC);
	sge = sge_of(&a, 8);
	wr.wr.atomic.remote_addr = (uintptr_t)b.buf + 4;
	wr.wr.atomic.rkey = b.mr->rkey;
	must(!ibv_post_send(a.qp, &wr, &bad));
	expect_wc(a.scq, 0, IBV_WC_REM_INV_REQ_ERR);
	close_ends();
}

STATEMENT(atomics_return_old_value, "IBTA 9.4.5",
	  "FETCH ADD adds and returns the old value; COMPARE SWAP returns it and swaps only if it compares equal.")
{
	u64 *theirs, *ours;

	open_ends(IBV_QPT_RC);
	theirs = (u64 *)b.buf;
	ours = (u64 *)a.buf;
	*theirs = ~0ull;
	must(!conform_post(1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	ktap_eq(*ours, ~0ull);
	ktap_eq(*theirs, 0);
	*theirs = 1;
	must(!conform_post(2, IBV_WR_ATOMIC_CMP_AND_SWP, 8));
	expect_wc(a.scq, 2, IBV_WC_SUCCESS);
	ktap_eq(*ours, 1);
	ktap_eq(*theirs, 7);
	must(!conform_post(3, IBV_WR_ATOMIC_CMP_AND_SWP, 8));
	expect_wc(a.scq, 3, IBV_WC_SUCCESS);
	ktap_eq(*ours, 7);
	ktap_eq(*theirs, 7);
	close_ends();
}

STATEMENT(message_too_long, "IBTA 9.7.4.1.6",
	  "A message longer than the receive ends it with a local length error, and the sender's request with an invalid request error.")
{
	open_ends(IBV_QPT_RC);
	must(!post_recv(&b, 11, 99) && !post_recv(&b, 12, 1000));
	must(!conform_post(1, IBV_WR_SEND, 100));
	expect_wc(a.scq, 1, IBV_WC_REM_INV_REQ_ERR);
	expect_wc(b.rcq, 11, IBV_WC_LOC_LEN_ERR);
	expect_wc(b.rcq, 12, IBV_WC_WR_FLUSH_ERR);
	ktap_ok(state_is(&a, IBV_QPS_ERR) && state_is(&b, IBV_QPS_ERR));
	close_ends();
}

STATEMENT(receive_key_wrong, "IBTA 9.9.3",
	  "A receive whose memory is not registered ends with a local protection error, and the sender's request with a remote operation error.")
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = 11, .sg_list = &sge, .num_sge = 1 },
			   *bad;

	open_ends(IBV_QPT_RC);
	sge = sge_of(&b, 100);
	sge.lkey = ~sge.lkey;
	must(!ibv_post_recv(b.qp, &wr, &bad));
	must(!conform_post(1, IBV_WR_SEND, 100));
	expect_wc(a.scq, 1, IBV_WC_REM_OP_ERR);
	expect_wc(b.rcq, 11, IBV_WC_LOC_PROT_ERR);
	close_ends();
}

STATEMENT(send_key_wrong, "IBTA 9.9.2.1",
	  "A request whose memory is not registered ends with a local protection error, and later ones are flushed; the peer sees nothing.")
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	open_ends(IBV_QPT_RC);
	sge = sge_of(&a, 100);
	sge.lkey = ~sge.lkey;
	must(!post_recv(&b, 11, 1000));
	must(!ibv_post_send(a.qp, &wr, &bad) && !conform_post(2, IBV_WR_SEND, 1));
	expect_wc(a.scq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	ktap_ok(conform_quiet(b.rcq));
	ktap_ok(state_is(&b, IBV_QPS_RTS));
	close_ends();
}

STATEMENT(read_into_readonly, "IBTA 9.9.2.1",
	  "The response of a READ into memory without local write access ends the request with a local protection error.")
{
	open_ends(IBV_QPT_RC);
	must(!ibv_dereg_mr(a.mr));
	a.mr = ibv_reg_mr(dev[0].pd, a.buf, BUF, 0);
	must(a.mr && !conform_post(1, IBV_WR_RDMA_READ, 100));
	expect_wc(a.scq, 1, IBV_WC_LOC_PROT_ERR);
	close_ends();
}

STATEMENT(no_receive_is_retried, "IBTA 9.7.5.2.8",
	  "With rnr_retry 7 a SEND waits without end for a receive.")
{
	open_ends(IBV_QPT_RC);
	must(!conform_post(1, IBV_WR_SEND, 100));
	ktap_ok(conform_quiet(a.scq));
	ktap_ok(state_is(&a, IBV_QPS_RTS));
	must(!post_recv(&b, 11, 100));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(no_receive_is_final, "IBTA 9.7.5.2.8",
	  "With rnr_retry 0 a SEND without a receive ends with an RNR error; the responder stays in RTS.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);

	o.rnr_retry = 0;
	open_ends_with(&o);
	must(!vt_connect(&a, &b));
	must(!conform_post(1, IBV_WR_SEND, 100));
	expect_wc(a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	ktap_ok(state_is(&a, IBV_QPS_ERR));
	ktap_ok(state_is(&b, IBV_QPS_RTS));
	close_ends();
}

STATEMENT(dead_peer, "IBTA 9.7.6.1",
	  "A request that is never answered ends with a transport retry error.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);

	o.retry_cnt = 1;
	open_ends_with(&o);
	must(!vt_connect(&a, &b));
	must(!vt_to_state(b.qp, IBV_QPS_RESET));
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 100) && !conform_post(2, IBV_WR_SEND, 1));
	expect_wc(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_wc(a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	ktap_ok(state_is(&a, IBV_QPS_ERR));
	close_ends();
}

STATEMENT(immediate_arrives, "IBTA 9.4.1",
	  "Immediate data arrives in the byte order of the sender, with its flag, in the receive's completion.")
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htobe32(0x01020304),
	}, *bad;
	struct ibv_wc wc;

	open_ends(IBV_QPT_RC);
	must(!post_recv(&b, 11, 100));
	must(!ibv_post_send(a.qp, &wr, &bad));
	wc = next_wc(b.rcq);
	ktap_eq(wc.opcode, IBV_WC_RECV);
	ktap_ok(wc.wc_flags & IBV_WC_WITH_IMM);
	ktap_eq(be32toh(wc.imm_data), 0x01020304);
	ktap_eq(wc.byte_len, 0);
	close_ends();
}

STATEMENT(write_imm_takes_receive, "IBTA 9.4.3",
	  "A WRITE with immediate uses a receive but none of its memory; the completion has the length of the WRITE.")
{
	struct ibv_wc wc;

	open_ends(IBV_QPT_RC);
	must(!post_recv(&b, 11, 0));
	vt_fill(a.buf, 5000, 1);
	must(!conform_post(1, IBV_WR_RDMA_WRITE_WITH_IMM, 5000));
	wc = next_wc(b.rcq);
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_eq(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	ktap_eq(wc.byte_len, 5000);
	ktap_eq(vt_check(b.buf, 5000, 1), -1);
	close_ends();
}

STATEMENT(write_is_unseen, "IBTA 9.4.3",
	  "A WRITE without immediate uses no receive and has no completion at the responder.")
{
	open_ends(IBV_QPT_RC);
	must(!post_recv(&b, 11, 100));
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 100));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	ktap_ok(conform_quiet(b.rcq));
	close_ends();
}

STATEMENT(fence_waits_for_read, "IBTA 10.8.3.3",
	  "A request with a fence starts after all READs and atomics before it: it sends what they brought.")
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.wr_id = 2, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
	}, *bad;
	int i;

	open_ends(IBV_QPT_RC);
	for (i = 0; i < 20; i++) {
		memset(a.buf, 0, 20000);
		vt_fill(b.buf, 20000, i);
		sge = sge_of(&a, 20000);
		wr.wr.rdma.remote_addr = (uintptr_t)b.buf + 30000;
		wr.wr.rdma.rkey = b.mr->rkey;
		must(!conform_post(1, IBV_WR_RDMA_READ, 20000));
		must(!ibv_post_send(a.qp, &wr, &bad));
		expect_wc(a.scq, 1, IBV_WC_SUCCESS);
		expect_wc(a.scq, 2, IBV_WC_SUCCESS);
		ktap_eq(vt_check(b.buf + 30000, 20000, i), -1);
	}
	close_ends();
}

STATEMENT(fence_holds_later_requests, "IBTA 10.8.3.3",
	  "A request behind one with a fence starts after it: it sends what READs before the fence brought.")
{
	struct ibv_sge sge;
	struct ibv_send_wr wr[] = {
		{ .wr_id = 1, .next = &wr[1], .sg_list = &sge, .num_sge = 1,
		  .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED },
		{ .wr_id = 2, .next = &wr[2], .opcode = IBV_WR_RDMA_WRITE,
		  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE },
		{ .wr_id = 3, .sg_list = &sge, .num_sge = 1,
		  .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED },
	}, *bad;
	int i, k;

	open_ends(IBV_QPT_RC);
	for (i = 0; i < 20; i++) {
		memset(a.buf, 0, 8);
		vt_fill(b.buf, 8, i);
		sge = sge_of(&a, 8);
		for (k = 0; k < 3; k++) {
			wr[k].wr.rdma.remote_addr = (uintptr_t)b.buf + (k ? 30000 : 0);
			wr[k].wr.rdma.rkey = b.mr->rkey;
		}
		must(!ibv_post_send(a.qp, wr, &bad));
		for (k = 1; k <= 3; k++)
			expect_wc(a.scq, k, IBV_WC_SUCCESS);
		ktap_eq(vt_check(b.buf + 30000, 8, i), -1);
	}
	close_ends();
}

STATEMENT(send_shows_write, "IBTA 10.8.3.3",
	  "When a SEND has completed at the receiver, the data of all WRITEs before it is there.")
{
	int i;

	open_ends(IBV_QPT_RC);
	for (i = 0; i < 50; i++) {
		vt_fill(a.buf, 10000, i);
		must(!post_recv(&b, i, 0));
		must(!conform_post(1, IBV_WR_RDMA_WRITE, 10000));
		must(!conform_post(2, IBV_WR_SEND, 0));
		expect_wc(b.rcq, i, IBV_WC_SUCCESS);
		ktap_eq(vt_check(b.buf, 10000, i), -1);
		expect_wc(a.scq, 1, IBV_WC_SUCCESS);
		expect_wc(a.scq, 2, IBV_WC_SUCCESS);
	}
	close_ends();
}

STATEMENT(error_only_status_and_id, "ibv_poll_cq(3)",
	  "With an error the fields wr_id, status, qp_num and vendor_err are valid.")
{
	struct ibv_wc wc;

	open_ends(IBV_QPT_RC);
	must(!post_recv(&b, 0x123456789abcull, 100));
	must(!vt_to_state(b.qp, IBV_QPS_ERR));
	wc = next_wc(b.rcq);
	ktap_eq(wc.wr_id, 0x123456789abcull);
	ktap_eq(wc.status, IBV_WC_WR_FLUSH_ERR);
	ktap_eq(wc.qp_num, b.qp->qp_num);
	close_ends();
}

STATEMENT(list_stops_at_bad, "ibv_post_send(3)",
	  "Of a list that fails all requests before bad_wr are posted, and none from there on.")
{
	struct ibv_send_wr wr[3] = {
		{ .wr_id = 1, .next = &wr[1], .opcode = IBV_WR_RDMA_WRITE,
		  .send_flags = IBV_SEND_SIGNALED },
		{ .wr_id = 2, .next = &wr[2], .opcode = 0x7f },
		{ .wr_id = 3, .opcode = IBV_WR_RDMA_WRITE,
		  .send_flags = IBV_SEND_SIGNALED },
	}, *bad = NULL;

	open_ends(IBV_QPT_RC);
	ktap_eq(ibv_post_send(a.qp, wr, &bad), EINVAL);
	ktap_ok(bad == &wr[1]);
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	ktap_ok(conform_quiet(a.scq));
	close_ends();
}

STATEMENT(inline_is_copied, "ibv_post_send(3), IBV_SEND_INLINE",
	  "Inline data is read before the call returns, and its key is not checked.")
{
	struct ibv_sge sge = { .length = 40, .lkey = 0xffffff00 };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
	}, *bad;
	u8 data[40];

	open_ends(IBV_QPT_RC);
	sge.addr = (uintptr_t)data;
	vt_fill(data, 40, 9);
	must(!ibv_post_send(a.qp, &wr, &bad));
	memset(data, 0, 40);
	must(!post_recv(&b, 11, 100));
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	ktap_eq(vt_check(b.buf, 40, 9), -1);
	close_ends();
}

STATEMENT(uc_drops_what_is_refused, "IBTA 9.8.2",
	  "On UC a request that the responder refuses is dropped: no answer, no error at either end.")
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_sge sge;

	open_ends(IBV_QPT_UC);
	sge = sge_of(&a, 100);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.rkey = ~b.mr->rkey;
	must(!ibv_post_send(a.qp, &wr, &bad));
	expect_wc(a.scq, 0, IBV_WC_SUCCESS);
	must(!post_recv(&b, 11, 100));
	must(!conform_post(1, IBV_WR_SEND, 100));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	ktap_ok(state_is(&b, IBV_QPS_RTS));
	close_ends();
}

STATEMENT(uc_drops_without_receive, "IBTA 9.8.2",
	  "On UC a SEND without a receive is lost, and the next one uses the next receive.")
{
	open_ends(IBV_QPT_UC);
	must(!conform_post(1, IBV_WR_SEND, 100));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	usleep(BRIEF * 1000);
	must(!post_recv(&b, 11, 100));
	ktap_ok(conform_quiet(b.rcq));
	must(!conform_post(2, IBV_WR_SEND, 50));
	ktap_eq(next_wc(b.rcq).byte_len, 50);
	close_ends();
}

STATEMENT(uc_has_no_read, "IBTA 9.4",
	  "READ and atomics are no operations of UC: they are refused when they are posted.")
{
	open_ends(IBV_QPT_UC);
	ktap_eq(conform_post(1, IBV_WR_RDMA_READ, 8), EINVAL);
	ktap_eq(conform_post(1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8), EINVAL);
	ktap_ok(state_is(&a, IBV_QPS_RTS));
	close_ends();
}
