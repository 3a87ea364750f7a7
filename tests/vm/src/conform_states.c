// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* States of queue pairs, what they allow, and what ends in them. */
#include "conform.h"

static struct ibv_qp *plain_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = a.scq, .recv_cq = a.rcq,
		.cap = { 4, 4, 1, 1, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(dev[0].pd, &init);

	must(qp);
	return qp;
}

STATEMENT(begins_in_reset, "IBTA 10.3.1.1",
	  "A new queue pair is in RESET.")
{
	struct ibv_qp *qp;

	open_ends(IBV_QPT_RC);
	qp = plain_qp(IBV_QPT_RC);
	ktap_eq(qp->state, IBV_QPS_RESET);
	ktap_eq(vt_state(qp), IBV_QPS_RESET);
	must(!ibv_destroy_qp(qp));
	close_ends();
}

STATEMENT(no_send_before_rts, "IBTA 10.3.1",
	  "Sends that are posted in RESET, INIT and RTR are refused.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);

	open_ends_with(&o);
	ktap_eq(conform_post(1, IBV_WR_SEND, 1), EINVAL);
	must(!vt_to_init(&a));
	ktap_eq(conform_post(1, IBV_WR_SEND, 1), EINVAL);
	must(!vt_to_init(&b) && !vt_to_rtr(&a, &b));
	ktap_eq(conform_post(1, IBV_WR_SEND, 1), EINVAL);
	ktap_ok(conform_quiet(a.scq));
	must(!vt_to_rts(&a) && !vt_to_rtr(&b, &a));
	ktap_eq(conform_post(1, IBV_WR_RDMA_WRITE, 1), 0);
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(receives_in_reset, "IBTA 10.3.1.1",
	  "Receives that are posted in RESET are refused.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);

	open_ends_with(&o);
	ktap_eq(post_recv(&b, 11, 100), EINVAL);
	must(!vt_connect(&a, &b));
	ktap_eq(post_recv(&b, 12, 100), 0);
	must(!conform_post(1, IBV_WR_SEND, 1));
	expect_wc(b.rcq, 12, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(receives_in_init, "IBTA 10.3.1.2",
	  "Receives may be posted in INIT; nothing arrives before RTR.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);

	open_ends_with(&o);
	must(!vt_to_init(&a) && !vt_to_init(&b));
	ktap_eq(post_recv(&b, 11, 100), 0);
	must(!vt_to_rtr(&a, &b) && !vt_to_rts(&a));
	must(!conform_post(1, IBV_WR_SEND, 1));
	ktap_ok(conform_quiet(b.rcq));
	must(!vt_to_rtr(&b, &a));
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(first_packet_in_rtr, "IBTA 11.6.3.1",
	  "The first packet that arrives in RTR raises the event communication established, once.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);

	open_ends_with(&o);
	must(!vt_to_init(&a) && !vt_to_init(&b));
	must(!vt_to_rtr(&a, &b) && !vt_to_rtr(&b, &a) && !vt_to_rts(&a));
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1) && !conform_post(2, IBV_WR_RDMA_WRITE, 1));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(a.scq, 2, IBV_WC_SUCCESS);
	ktap_ok(vt_async(&dev[1], IBV_EVENT_COMM_EST, LONG));
	ktap_ok(!vt_async(&dev[1], IBV_EVENT_COMM_EST, BRIEF));
	close_ends();
}

STATEMENT(error_flushes, "IBTA 10.3.1.7",
	  "The change to the error state flushes all requests and receives, in order.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);
	int i;

	open_ends_with(&o);
	must(!vt_to_init(&a) && !vt_to_rtr(&a, &b) && !vt_to_rts(&a));
	for (i = 0; i < 5; i++)
		must(!conform_post(i, IBV_WR_SEND, 1) && !post_recv(&a, 10 + i, 1));
	must(!vt_to_state(a.qp, IBV_QPS_ERR));
	for (i = 0; i < 5; i++) {
		expect_wc(a.scq, i, IBV_WC_WR_FLUSH_ERR);
		expect_wc(a.rcq, 10 + i, IBV_WC_WR_FLUSH_ERR);
	}
	close_ends();
}

STATEMENT(posted_in_error, "IBTA 10.3.1.7",
	  "What is posted in the error state is taken and flushed.")
{
	open_ends(IBV_QPT_RC);
	must(!vt_to_state(a.qp, IBV_QPS_ERR));
	ktap_eq(conform_post(1, IBV_WR_SEND, 1), 0);
	ktap_eq(post_recv(&a, 11, 1), 0);
	expect_wc(a.scq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(a.rcq, 11, IBV_WC_WR_FLUSH_ERR);
	close_ends();
}

STATEMENT(error_is_left_by_reset, "IBTA 10.3.1",
	  "Only RESET leads out of the error state.")
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	open_ends(IBV_QPT_RC);
	must(!vt_to_state(a.qp, IBV_QPS_ERR));
	ktap_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EINVAL);
	ktap_eq(vt_to_state(a.qp, IBV_QPS_ERR), 0);
	must(!vt_to_state(a.qp, IBV_QPS_RESET));
	must(!vt_to_state(b.qp, IBV_QPS_RESET));
	must(!vt_connect(&a, &b));
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(reset_drops, "IBTA 10.3.1.1",
	  "RESET drops requests and receives without completions.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);

	open_ends_with(&o);
	must(!vt_to_init(&a) && !vt_to_rtr(&a, &b) && !vt_to_rts(&a));
	must(!conform_post(1, IBV_WR_SEND, 1) && !post_recv(&a, 11, 1));
	must(!vt_to_state(a.qp, IBV_QPS_RESET));
	ktap_ok(conform_quiet(a.scq));
	ktap_ok(conform_quiet(a.rcq));
	close_ends();
}

STATEMENT(reset_forgets_completions, "ibv_modify_qp(3)",
	  "After the change to RESET a queue has no completions of the queue pair that were not polled.")
{
	open_ends(IBV_QPT_RC);
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	usleep(BRIEF * 1000);
	must(!vt_to_state(a.qp, IBV_QPS_RESET));
	ktap_ok(conform_quiet(a.scq));
	close_ends();
}

STATEMENT(sqd_finishes_what_began, "IBTA 10.3.1.5",
	  "In SQD requests that have begun end, later ones wait, and the event says when the queue is drained.")
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD,
				    .en_sqd_async_notify = 1 };

	open_ends(IBV_QPT_RC);
	must(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE |
			    IBV_QP_EN_SQD_ASYNC_NOTIFY));
	ktap_ok(vt_async(&dev[0], IBV_EVENT_SQ_DRAINED, LONG));
	ktap_eq(conform_post(1, IBV_WR_RDMA_WRITE, 1), 0);
	ktap_ok(conform_quiet(a.scq));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	must(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(current_state_is_checked, "ibv_modify_qp(3), cur_qp_state",
	  "A change that names another current state than the queue pair has is refused.")
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .cur_qp_state = IBV_QPS_SQD };

	open_ends(IBV_QPT_RC);
	ktap_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE),
		EINVAL);
	attr.cur_qp_state = IBV_QPS_RTS;
	ktap_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
	close_ends();
}

STATEMENT(refused_change_changes_nothing, "IBTA 11.2.5.2",
	  "After a change that is refused state and attributes are as before.")
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .min_rnr_timer = 32 };
	struct ibv_qp_init_attr init;

	open_ends(IBV_QPT_RC);
	ktap_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE |
			      IBV_QP_MIN_RNR_TIMER), EINVAL);
	must(!ibv_query_qp(a.qp, &attr, IBV_QP_MIN_RNR_TIMER, &init));
	ktap_eq(attr.min_rnr_timer, a.o.rnr_timer);
	ktap_ok(state_is(&a, IBV_QPS_RTS));
	close_ends();
}

/* Each attribute that @mask needs is needed: the change without it is refused. */
static void all_needed(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int bit;

	for (bit = 1; bit <= mask; bit <<= 1) {
		if (!(mask & bit) || bit == IBV_QP_STATE)
			continue;
		if (ibv_modify_qp(qp, attr, mask & ~bit) != EINVAL)
			ktap_fail("to %d without bit %#x", attr->qp_state, bit);
	}
	ktap_eq(ibv_modify_qp(qp, attr, mask), 0);
}

static struct ibv_qp_attr full_attr(void)
{
	return (struct ibv_qp_attr){
		.port_num = 1, .qkey = VT_QKEY, .qp_access_flags = VT_ACCESS,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = b.qp->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = dev[1].gid,
				 .sgid_index = dev[0].gid_index,
				 .hop_limit = 1 },
		},
	};
}

static void states_needs(enum ibv_qp_type type, int init, int rtr, int rts)
{
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	open_ends(type);
	qp = plain_qp(type);
	attr = full_attr();
	attr.qp_state = IBV_QPS_INIT;
	all_needed(qp, &attr, IBV_QP_STATE | init);
	attr.qp_state = IBV_QPS_RTR;
	all_needed(qp, &attr, IBV_QP_STATE | rtr);
	attr.qp_state = IBV_QPS_RTS;
	all_needed(qp, &attr, IBV_QP_STATE | rts);
	must(!ibv_destroy_qp(qp));
	close_ends();
}

#define NEEDS_INIT	(IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define NEEDS_RTR	(IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |	\
			 IBV_QP_RQ_PSN)

STATEMENT(attributes_of_rc, "IBTA 11.2.5.2, table of transitions",
	  "Each required attribute of RC's transitions to INIT, RTR and RTS is required.")
{
	states_needs(IBV_QPT_RC, NEEDS_INIT | IBV_QP_ACCESS_FLAGS,
		     NEEDS_RTR | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		     IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

STATEMENT(attributes_of_uc, "IBTA 11.2.5.2, table of transitions",
	  "Each required attribute of UC's transitions to INIT, RTR and RTS is required.")
{
	states_needs(IBV_QPT_UC, NEEDS_INIT | IBV_QP_ACCESS_FLAGS, NEEDS_RTR,
		     IBV_QP_SQ_PSN);
}

STATEMENT(attributes_of_ud, "IBTA 11.2.5.2, table of transitions",
	  "Each required attribute of UD's transitions to INIT, RTR and RTS is required.")
{
	states_needs(IBV_QPT_UD, NEEDS_INIT | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN);
}

STATEMENT(query_gives_what_was_set, "ibv_query_qp(3)",
	  "A query gives the attributes that were set, the capacities and the state.")
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	open_ends(IBV_QPT_RC);
	must(!ibv_query_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_CAP |
			   IBV_QP_TIMEOUT | IBV_QP_DEST_QPN, &init));
	ktap_eq(attr.qp_state, IBV_QPS_RTS);
	ktap_eq(attr.timeout, a.o.timeout);
	ktap_eq(attr.retry_cnt, a.o.retry_cnt);
	ktap_eq(attr.rnr_retry, a.o.rnr_retry);
	ktap_eq(attr.path_mtu, a.o.mtu);
	ktap_eq(attr.dest_qp_num, b.qp->qp_num);
	ktap_eq(attr.max_rd_atomic, a.o.rd_atomic);
	ktap_eq(attr.max_dest_rd_atomic, a.o.rd_atomic);
	ktap_eq(attr.qp_access_flags, VT_ACCESS);
	ktap_eq(attr.port_num, 1);
	ktap_ok(!memcmp(&attr.ah_attr.grh.dgid, &dev[1].gid, 16));
	ktap_ok(init.send_cq == a.scq && init.recv_cq == a.rcq);
	ktap_eq(init.qp_type, IBV_QPT_RC);
	close_ends();
}

STATEMENT(destroy_drops, "IBTA 11.2.5.4",
	  "A queue pair is destroyed in any state; its requests have no completions then.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);

	open_ends_with(&o);
	must(!vt_to_init(&a) && !vt_to_rtr(&a, &b) && !vt_to_rts(&a));
	must(!conform_post(1, IBV_WR_SEND, 1) && !post_recv(&a, 11, 1));
	ktap_eq(ibv_destroy_qp(a.qp), 0);
	a.qp = NULL;
	ktap_ok(conform_quiet(a.scq));
	ktap_ok(conform_quiet(a.rcq));
	close_ends();
}

STATEMENT(cq_is_in_use, "ibv_destroy_cq(3), ibv_dealloc_pd(3)",
	  "A completion queue of a queue pair and a domain with objects are not destroyed: EBUSY.")
{
	open_ends(IBV_QPT_RC);
	ktap_eq(ibv_destroy_cq(a.scq), EBUSY);
	ktap_eq(ibv_destroy_cq(a.rcq), EBUSY);
	ktap_eq(ibv_dealloc_pd(dev[0].pd), EBUSY);
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	close_ends();
}
