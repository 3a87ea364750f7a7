// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Extended queue pairs and completion queues. */
#include "conform.h"

#define OPS	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |	\
		 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)

static struct ibv_qp_ex *qpx;

static void open_extended(void)
{
	struct vt_opts opts = opts_of(IBV_QPT_RC);

	must(!vt_end_create_ex(&a, &dev[0], &opts, BUF, OPS));
	must(!vt_end_create(&b, &dev[1], &opts, BUF));
	must(!vt_connect(&a, &b));
	qpx = ibv_qp_to_qp_ex(a.qp);
	must(qpx);
}

static void write_request(u64 wr_id, u32 len)
{
	qpx->wr_id = wr_id;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qpx, b.mr->rkey, (uintptr_t)b.buf);
	ibv_wr_set_sge(qpx, a.mr->lkey, (uintptr_t)a.buf, len);
}

STATEMENT(requests_of_one_start, "ibv_wr_start(3)",
	  "ibv_wr_complete() posts all requests since ibv_wr_start(), in order.")
{
	int i;

	open_extended();
	ibv_wr_start(qpx);
	for (i = 0; i < 5; i++)
		write_request(i, 100 * i);
	usleep(BRIEF * 1000);
	ktap_ok(conform_quiet(a.scq));
	ktap_eq(ibv_wr_complete(qpx), 0);
	for (i = 0; i < 5; i++)
		expect_wc(a.scq, i, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(aborted_requests, "ibv_wr_start(3)",
	  "ibv_wr_abort() posts none of them.")
{
	open_extended();
	ibv_wr_start(qpx);
	write_request(1, 100);
	write_request(2, 100);
	ibv_wr_abort(qpx);
	ktap_ok(conform_quiet(a.scq));
	ibv_wr_start(qpx);
	write_request(3, 100);
	ktap_eq(ibv_wr_complete(qpx), 0);
	expect_wc(a.scq, 3, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(error_of_one_is_all, "ibv_wr_start(3)",
	  "An error of one request is returned by ibv_wr_complete(), and none is posted.")
{
	struct ibv_sge sge[40] = {};

	open_extended();
	ibv_wr_start(qpx);
	write_request(1, 100);
	qpx->wr_id = 2;
	ibv_wr_rdma_write(qpx, b.mr->rkey, (uintptr_t)b.buf);
	ibv_wr_set_sge_list(qpx, 40, sge);
	ktap_ok(ibv_wr_complete(qpx));
	ktap_ok(conform_quiet(a.scq));
	ktap_ok(state_is(&a, IBV_QPS_RTS));
	close_ends();
}

STATEMENT(full_queue_of_one_start, "ibv_wr_start(3)",
	  "More requests than the queue has room for are an error of ibv_wr_complete(): ENOMEM.")
{
	u32 i;

	open_extended();
	ibv_wr_start(qpx);
	for (i = 0; i < a.o.cap.max_send_wr + 1; i++)
		write_request(i, 1);
	ktap_eq(ibv_wr_complete(qpx), ENOMEM);
	ktap_ok(conform_quiet(a.scq));
	close_ends();
}

STATEMENT(inline_by_setter, "ibv_wr_set_inline_data(3)",
	  "Inline data is copied by the setter; the buffer may change before ibv_wr_complete().")
{
	u8 data[40];

	open_extended();
	vt_fill(data, 40, 1);
	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qpx, b.mr->rkey, (uintptr_t)b.buf);
	ibv_wr_set_inline_data(qpx, data, 40);
	memset(data, 0, 40);
	must(!ibv_wr_complete(qpx));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	ktap_eq(vt_check(b.buf, 40, 1), -1);
	close_ends();
}

STATEMENT(old_and_new_posting, "ibv_create_qp_ex(3)",
	  "An extended queue pair takes requests of ibv_post_send(), too, in order with the others.")
{
	open_extended();
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 10));
	ibv_wr_start(qpx);
	write_request(2, 10);
	must(!ibv_wr_complete(qpx));
	must(!conform_post(3, IBV_WR_RDMA_WRITE, 10));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(a.scq, 2, IBV_WC_SUCCESS);
	expect_wc(a.scq, 3, IBV_WC_SUCCESS);
	close_ends();
}

static struct ibv_cq_ex *cqx;

/* a sends by a queue pair whose completions come to an extended queue. */
static void open_cqx(u64 wc_flags, u32 cqe)
{
	struct ibv_cq_init_attr_ex init = { .cqe = cqe, .wc_flags = wc_flags };
	struct vt_opts opts = opts_of(IBV_QPT_RC), plain = opts;

	cqx = ibv_create_cq_ex(dev[0].ctx, &init);
	must(cqx);
	opts.send_cq = ibv_cq_ex_to_cq(cqx);
	must(!vt_end_create(&a, &dev[0], &opts, BUF));
	must(!vt_end_create(&b, &dev[1], &plain, BUF));
	must(!vt_connect(&a, &b));
}

static void close_cqx(void)
{
	close_ends();
	must(!ibv_destroy_cq(ibv_cq_ex_to_cq(cqx)));
}

static void start_poll(void)
{
	struct ibv_poll_cq_attr attr = {};
	u64 end = vt_now_ms() + LONG;
	int err;

	do
		err = ibv_start_poll(cqx, &attr);
	while (err == ENOENT && vt_now_ms() < end);
	must(!err);
}

STATEMENT(poll_of_empty_queue, "ibv_create_cq_ex(3)",
	  "ibv_start_poll() of an empty queue gives ENOENT, and no ibv_end_poll() follows it.")
{
	struct ibv_poll_cq_attr attr = {};

	open_cqx(0, 16);
	ktap_eq(ibv_start_poll(cqx, &attr), ENOENT);
	ktap_eq(ibv_start_poll(cqx, &attr), ENOENT);
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	start_poll();
	ktap_eq(cqx->wr_id, 1);
	ktap_eq(cqx->status, IBV_WC_SUCCESS);
	ktap_eq(ibv_next_poll(cqx), ENOENT);
	ibv_end_poll(cqx);
	close_cqx();
}

STATEMENT(unknown_poll_attributes, "ibv_create_cq_ex(3)",
	  "ibv_start_poll() with an unknown comp_mask gives EINVAL.")
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 1 };

	open_cqx(0, 16);
	ktap_eq(ibv_start_poll(cqx, &attr), EINVAL);
	close_cqx();
}

STATEMENT(fields_of_extended_queue, "ibv_create_cq_ex(3)",
	  "The fields of a completion are those of ibv_poll_cq().")
{
	open_cqx(IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM, 16);
	must(!conform_post(7, IBV_WR_RDMA_READ, 100));
	start_poll();
	ktap_eq(cqx->wr_id, 7);
	ktap_eq(ibv_wc_read_opcode(cqx), IBV_WC_RDMA_READ);
	ktap_eq(ibv_wc_read_byte_len(cqx), 100);
	ktap_eq(ibv_wc_read_qp_num(cqx), a.qp->qp_num);
	ktap_eq(ibv_wc_read_vendor_err(cqx), 0);
	ibv_end_poll(cqx);
	close_cqx();
}

STATEMENT(time_of_completions, "ibv_create_cq_ex(3)",
	  "Time stamps of completions do not go back.")
{
	u64 last = 0, wall = 0;
	int i;

	open_cqx(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, 64);
	for (i = 0; i < 100; i++) {
		must(!conform_post(i, IBV_WR_RDMA_WRITE, 10));
		start_poll();
		ktap_ok(ibv_wc_read_completion_ts(cqx) >= last);
		ktap_ok(ibv_wc_read_completion_wallclock_ns(cqx) >= wall);
		last = ibv_wc_read_completion_ts(cqx);
		wall = ibv_wc_read_completion_wallclock_ns(cqx);
		ibv_end_poll(cqx);
	}
	close_cqx();
}

STATEMENT(both_ways_of_polling, "ibv_cq_ex_to_cq(3)",
	  "An extended queue may be polled by ibv_poll_cq(), too.")
{
	open_cqx(0, 16);
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1) && !conform_post(2, IBV_WR_RDMA_WRITE, 1));
	start_poll();
	ktap_eq(cqx->wr_id, 1);
	ibv_end_poll(cqx);
	expect_wc(ibv_cq_ex_to_cq(cqx), 2, IBV_WC_SUCCESS);
	close_cqx();
}

STATEMENT(unknown_fields, "ibv_create_cq_ex(3)",
	  "Fields that a device does not have, and unknown flags, are refused.")
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 4, .wc_flags = IBV_WC_EX_WITH_TM_INFO,
	};

	errno = 0;
	ktap_ok(!ibv_create_cq_ex(dev[0].ctx, &init));
	ktap_ok(errno == EOPNOTSUPP || errno == ENOTSUP || errno == EINVAL);
	init.wc_flags = 1ull << 40;
	errno = 0;
	ktap_ok(!ibv_create_cq_ex(dev[0].ctx, &init));
	ktap_ok(errno == EOPNOTSUPP || errno == EINVAL);
}
