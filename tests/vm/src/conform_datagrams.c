// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Datagrams, address handles, shared receive queues. */
#include "conform.h"

static struct ibv_ah *ah;

static void open_datagrams(void)
{
	open_ends(IBV_QPT_UD);
	ah = vt_ah(&dev[0], &dev[1]);
	must(ah);
}

static void close_datagrams(void)
{
	must(!ibv_destroy_ah(ah));
	close_ends();
}

static int send_to(u32 qpn, u32 qkey, enum ibv_wr_opcode opcode, u32 len)
{
	struct ibv_sge sge = sge_of(&a, len);
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED, .wr.ud = { ah, qpn, qkey },
	}, *bad;

	return ibv_post_send(a.qp, &wr, &bad);
}

STATEMENT(forty_bytes_before, "IBTA 11.4.1.2, ibv_post_recv(3)",
	  "The first 40 bytes of a datagram's receive are for the GRH, and byte_len counts them.")
{
	struct ibv_wc wc;

	open_datagrams();
	must(!post_recv(&b, 11, 140));
	vt_fill(a.buf, 100, 1);
	must(!send_to(b.qp->qp_num, VT_QKEY, IBV_WR_SEND, 100));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	wc = next_wc(b.rcq);
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_eq(wc.byte_len, 140);
	ktap_ok(wc.wc_flags & IBV_WC_GRH);
	ktap_eq(wc.src_qp, a.qp->qp_num);
	ktap_eq(vt_check(b.buf + VT_GRH, 100, 1), -1);
	close_datagrams();
}

STATEMENT(qkey_differs, "IBTA 9.6.1",
	  "A datagram with another Q_Key is dropped, and the sender does not hear of it.")
{
	open_datagrams();
	must(!post_recv(&b, 11, 140));
	must(!send_to(b.qp->qp_num, VT_QKEY + 1, IBV_WR_SEND, 10));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	ktap_ok(conform_quiet(b.rcq));
	must(!send_to(b.qp->qp_num, VT_QKEY, IBV_WR_SEND, 20));
	ktap_eq(next_wc(b.rcq).byte_len, 60);
	close_datagrams();
}

STATEMENT(qkey_of_the_sender, "IBTA 10.2",
	  "With the highest bit of a request's Q_Key set the datagram has the Q_Key of its queue pair.")
{
	open_datagrams();
	must(!post_recv(&b, 11, 140));
	must(!send_to(b.qp->qp_num, 0x80000000u, IBV_WR_SEND, 10));
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	close_datagrams();
}

STATEMENT(bad_qkey_is_counted, "ibv_query_port(3)",
	  "qkey_viol_cntr counts datagrams with a wrong Q_Key.")
{
	struct ibv_port_attr before, after;
	int i;

	open_datagrams();
	must(!ibv_query_port(dev[1].ctx, 1, &before));
	must(!send_to(b.qp->qp_num, VT_QKEY + 1, IBV_WR_SEND, 10));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	for (i = 0; i < 200; i++) {
		must(!ibv_query_port(dev[1].ctx, 1, &after));
		if (after.qkey_viol_cntr != before.qkey_viol_cntr)
			break;
		usleep(10000);
	}
	ktap_eq(after.qkey_viol_cntr, before.qkey_viol_cntr + 1);
	close_datagrams();
}

STATEMENT(datagram_without_receive, "IBTA 9.8.3",
	  "A datagram without a receive is dropped.")
{
	open_datagrams();
	must(!send_to(b.qp->qp_num, VT_QKEY, IBV_WR_SEND, 10));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	usleep(BRIEF * 1000);
	must(!post_recv(&b, 11, 140));
	ktap_ok(conform_quiet(b.rcq));
	close_datagrams();
}

STATEMENT(datagram_longer_than_receive, "IBTA 9.8.3",
	  "A datagram that does not fit is dropped; the receive stays for the next one.")
{
	open_datagrams();
	must(!post_recv(&b, 11, 139));
	must(!send_to(b.qp->qp_num, VT_QKEY, IBV_WR_SEND, 100));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	ktap_ok(conform_quiet(b.rcq));
	must(!send_to(b.qp->qp_num, VT_QKEY, IBV_WR_SEND, 99));
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	close_datagrams();
}

STATEMENT(datagram_longer_than_packet, "IBTA 9.8.3",
	  "A datagram is one packet: a longer one ends with a local length error.")
{
	struct ibv_port_attr port;
	u32 mtu;

	open_datagrams();
	must(!ibv_query_port(dev[0].ctx, 1, &port));
	mtu = 128u << port.active_mtu;
	must(!post_recv(&b, 11, mtu + 40));
	must(!send_to(b.qp->qp_num, VT_QKEY, IBV_WR_SEND, mtu));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	must(!send_to(b.qp->qp_num, VT_QKEY, IBV_WR_SEND, mtu + 1));
	expect_wc(a.scq, 1, IBV_WC_LOC_LEN_ERR);
	close_datagrams();
}

STATEMENT(datagram_operations, "IBTA 9.4",
	  "WRITE, READ, atomics and SEND with invalidate are no operations of UD: they are refused when they are posted.")
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND_WITH_INV,
	};
	size_t i;

	open_datagrams();
	for (i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		ktap_eq(send_to(b.qp->qp_num, VT_QKEY, opcodes[i], 8), EINVAL);
	ktap_ok(state_is(&a, IBV_QPS_RTS));
	close_datagrams();
}

STATEMENT(datagram_error_is_sqe, "IBTA 10.3.1.6",
	  "A send of UD that fails moves the queue pair to SQE: it receives, and RTS leads back.")
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	open_datagrams();
	sge = sge_of(&a, 10);
	sge.lkey = ~sge.lkey;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = b.qp->qp_num;
	wr.wr.ud.remote_qkey = VT_QKEY;
	must(!ibv_post_send(a.qp, &wr, &bad));
	expect_wc(a.scq, 0, IBV_WC_LOC_PROT_ERR);
	ktap_ok(state_is(&a, IBV_QPS_SQE));
	must(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE));
	must(!post_recv(&b, 11, 100));
	must(!send_to(b.qp->qp_num, VT_QKEY, IBV_WR_SEND, 10));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	close_datagrams();
}

STATEMENT(answer_by_completion, "ibv_init_ah_from_wc(3)",
	  "An address handle that is made from a completion and its GRH leads back to the sender.")
{
	struct ibv_ah *back;
	struct ibv_wc wc;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	}, *bad;

	open_datagrams();
	must(!post_recv(&b, 11, 140) && !post_recv(&a, 12, 140));
	must(!send_to(b.qp->qp_num, VT_QKEY, IBV_WR_SEND, 10));
	wc = next_wc(b.rcq);
	back = ibv_create_ah_from_wc(dev[1].pd, &wc, (void *)b.buf, 1);
	must(back);
	sge = sge_of(&b, 20);
	wr.wr.ud.ah = back;
	wr.wr.ud.remote_qpn = wc.src_qp;
	wr.wr.ud.remote_qkey = VT_QKEY;
	must(!ibv_post_send(b.qp, &wr, &bad));
	ktap_eq(next_wc(a.rcq).byte_len, 60);
	must(!ibv_destroy_ah(back));
	close_datagrams();
}

/* --- shared receive queues ----------------------------------------------------- */

static struct ibv_srq *srq;
static struct ibv_qp *of_srq[2];

/* b has two queue pairs of one SRQ; a talks to the first. */
static void open_srq(u32 max_wr)
{
	struct ibv_srq_init_attr init = { .attr = { max_wr, 1, 0 } };
	struct ibv_qp_init_attr qp_init = {
		.qp_type = IBV_QPT_RC, .cap = { 4, 0, 1, 0, 0 },
	};
	struct vt_opts opts = opts_of(IBV_QPT_RC);
	int i;

	open_ends_with(&opts);
	srq = ibv_create_srq(dev[1].pd, &init);
	must(srq);
	qp_init.send_cq = b.scq;
	qp_init.recv_cq = b.rcq;
	qp_init.srq = srq;
	for (i = 0; i < 2; i++) {
		of_srq[i] = ibv_create_qp(dev[1].pd, &qp_init);
		must(of_srq[i]);
	}
	must(!ibv_destroy_qp(b.qp));
	b.qp = of_srq[0];
	must(!vt_connect(&a, &b));
}

static void close_srq(void)
{
	must(!ibv_destroy_qp(of_srq[1]));
	must(!ibv_destroy_qp(b.qp));
	b.qp = NULL;
	must(!ibv_destroy_srq(srq));
	close_ends();
}

static int post_srq(u64 wr_id)
{
	struct ibv_sge sge = sge_of(&b, 100);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

STATEMENT(srq_gives_receives, "IBTA 10.2.9",
	  "Queue pairs of an SRQ take its receives, and complete them in their own queue.")
{
	open_srq(8);
	must(!post_srq(11) && !post_srq(12));
	must(!conform_post(1, IBV_WR_SEND, 10) && !conform_post(2, IBV_WR_SEND, 10));
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	expect_wc(b.rcq, 12, IBV_WC_SUCCESS);
	close_srq();
}

STATEMENT(srq_instead_of_queue, "ibv_post_recv(3)",
	  "A queue pair with an SRQ has no receive queue of its own: EINVAL.")
{
	open_srq(8);
	ktap_eq(post_recv(&b, 11, 10), EINVAL);
	close_srq();
}

STATEMENT(srq_limit_once, "IBTA 10.2.9, ibv_modify_srq(3)",
	  "The limit event comes once, when fewer receives are left than the limit, and the limit is 0 then.")
{
	struct ibv_srq_attr attr = { .srq_limit = 3 };
	int i;

	open_srq(8);
	for (i = 0; i < 5; i++)
		must(!post_srq(i));
	must(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	must(!conform_post(1, IBV_WR_SEND, 1) && !conform_post(2, IBV_WR_SEND, 1));
	expect_wc(b.rcq, 0, IBV_WC_SUCCESS);
	expect_wc(b.rcq, 1, IBV_WC_SUCCESS);
	ktap_ok(!vt_async(&dev[1], IBV_EVENT_SRQ_LIMIT_REACHED, BRIEF));
	must(!conform_post(3, IBV_WR_SEND, 1));
	ktap_ok(vt_async(&dev[1], IBV_EVENT_SRQ_LIMIT_REACHED, LONG));
	must(!ibv_query_srq(srq, &attr));
	ktap_eq(attr.srq_limit, 0);
	must(!conform_post(4, IBV_WR_SEND, 1));
	ktap_ok(!vt_async(&dev[1], IBV_EVENT_SRQ_LIMIT_REACHED, BRIEF));
	close_srq();
}

STATEMENT(srq_last_receive, "IBTA 11.6.3.1",
	  "A queue pair of an SRQ that moves to the error state raises the event last WQE reached; the SRQ keeps its receives.")
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct vt_opts o = opts_of(IBV_QPT_RC);
	struct vt_end c, second;

	open_srq(8);
	must(!post_srq(11));
	must(!vt_to_state(b.qp, IBV_QPS_ERR));
	ktap_ok(vt_async(&dev[1], IBV_EVENT_QP_LAST_WQE_REACHED, LONG));
	ktap_ok(conform_quiet(b.rcq));
	/* The other one takes it. */
	must(!vt_end_create(&c, &dev[0], &o, BUF));
	second = b;
	second.qp = of_srq[1];
	must(!vt_connect(&c, &second));
	must(!ibv_post_send(c.qp, &wr, &bad));
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	vt_end_destroy(&c);
	close_srq();
}

STATEMENT(srq_is_in_use, "ibv_destroy_srq(3)",
	  "An SRQ of a queue pair is not destroyed: EBUSY.")
{
	open_srq(8);
	ktap_eq(ibv_destroy_srq(srq), EBUSY);
	must(!post_srq(11));
	must(!conform_post(1, IBV_WR_SEND, 1));
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	close_srq();
}

STATEMENT(srq_full, "ibv_post_srq_recv(3)",
	  "An SRQ takes as many receives as its max_wr, then refuses with ENOMEM.")
{
	struct ibv_srq_attr attr;
	u32 i;

	open_srq(10);
	must(!ibv_query_srq(srq, &attr));
	for (i = 0; i < attr.max_wr; i++)
		ktap_eq(post_srq(i), 0);
	ktap_eq(post_srq(i), ENOMEM);
	close_srq();
}
