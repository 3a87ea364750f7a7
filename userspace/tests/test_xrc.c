// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* XRC: domains, SRQs with numbers, targets without queues, and posts. */
#include <errno.h>
#include <string.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "srq.h"
#include "fixture_qp.h"

#define SRQN	0x654321

static struct ibv_qp_ex *qpx;

static void open_xrc(void)
{
	open_ctx();
	cq = fake_cq(ctx, 16);
	qp = fake_qp(pd, cq, IBV_QPT_XRC_SEND, IBV_QP_EX_WITH_SEND |
		     IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		     IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
		     IBV_QP_EX_WITH_ATOMIC_WRITE);
	qpx = ibv_qp_to_qp_ex(qp);
}

static const struct cairn_send_wqe *wqe_at(uint32_t index)
{
	return fake_unit(fake_sq(qp), index);
}

static void posted_names_the_srq(void)
{
	uint8_t data[CAIRN_XRC_INLINE_MASK] = { 0 };
	struct ibv_sge sge = { (uintptr_t)data, 8, 0x100 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.qp_type.xrc.remote_srqn = SRQN,
	}, *bad;

	open_xrc();
	ktap_eq(fake.ops.post_send(qp, &wr, &bad), 0);
	ktap_eq(wqe_at(0)->inline_len, SRQN << CAIRN_XRC_SRQN_SHIFT);
	ktap_eq(wqe_at(0)->num_sge, 1);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	ktap_eq(fake.ops.post_send(qp, &wr, &bad), 0);
	ktap_eq(wqe_at(1)->inline_len, SRQN << CAIRN_XRC_SRQN_SHIFT);
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_INLINE;
	sge.length = 17;
	ktap_eq(fake.ops.post_send(qp, &wr, &bad), 0);
	ktap_eq(wqe_at(2)->inline_len, SRQN << CAIRN_XRC_SRQN_SHIFT | 17);
	ktap_ok(wqe_at(2)->flags & CAIRN_WQE_INLINE);
	wr.opcode = IBV_WR_LOCAL_INV;
	ktap_eq(fake.ops.post_send(qp, &wr, &bad), EINVAL);
	wr.opcode = CAIRNDV_WR_WRITE_PERSIST;
	ktap_eq(fake.ops.post_send(qp, &wr, &bad), EINVAL);
	close_qp();
}

/* Set before the data or after it; without it the batch fails. */
static void extended_posts(void)
{
	struct ibv_data_buf buf = { "inline", 6 };
	uint64_t word = 1;

	open_xrc();
	ibv_wr_start(qpx);
	ibv_wr_rdma_write_imm(qpx, 1, 2, 3);
	ibv_wr_set_xrc_srqn(qpx, SRQN);
	ibv_wr_set_inline_data_list(qpx, 1, &buf);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 4, 5, 6);
	ibv_wr_set_xrc_srqn(qpx, SRQN + 1);
	ibv_wr_atomic_write(qpx, 1, 8, &word);
	ibv_wr_set_xrc_srqn(qpx, SRQN + 2);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(wqe_at(0)->inline_len, SRQN << CAIRN_XRC_SRQN_SHIFT | 6);
	ktap_eq(wqe_at(1)->inline_len, (SRQN + 1) << CAIRN_XRC_SRQN_SHIFT);
	ktap_eq(wqe_at(2)->inline_len,
		(SRQN + 2) << CAIRN_XRC_SRQN_SHIFT | sizeof(word));
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 4, 5, 6);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	close_qp();
}

static struct ibv_xrcd *open_domain(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
	};

	return fake.ops.open_xrcd(ctx, &attr);
}

static void numbered_srqs(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
	};
	struct ibv_srq_init_attr plain = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_recv_wr wr = { .wr_id = 7 }, *bad;
	struct ibv_srq *srq;
	uint32_t srqn = 0;

	open_qp();
	attr.pd = pd;
	attr.cq = cq;
	attr.xrcd = open_domain();
	ktap_ok(attr.xrcd != NULL);
	srq = fake.ops.create_srq_ex(ctx, &attr);
	if (ktap_ok(srq != NULL)) {
		ktap_ok(srq->pd == pd);
		ktap_eq(fake.ops.get_srq_num(srq, &srqn), 0);
		ktap_eq(srqn, FAKE_SRQN);
		ktap_eq(fake.ops.post_srq_recv(srq, &wr, &bad), 0);
		ktap_eq(fake.ops.destroy_srq(srq), 0);
	}
	attr.cq = NULL;
	ktap_ok(!fake.ops.create_srq_ex(ctx, &attr));
	ktap_eq(errno, EINVAL);
	attr.cq = cq;
	attr.comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_XRCD;
	ktap_ok(!fake.ops.create_srq_ex(ctx, &attr));
	ktap_eq(errno, EINVAL);
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
	attr.srq_type = IBV_SRQT_TM;
	ktap_ok(!fake.ops.create_srq_ex(ctx, &attr));
	ktap_eq(errno, EOPNOTSUPP);
	fake.fail = "create_srq";
	fake.fail_err = ENOMEM;
	attr.srq_type = IBV_SRQT_XRC;
	ktap_ok(!fake.ops.create_srq_ex(ctx, &attr));
	ktap_eq(errno, ENOMEM);
	srq = fake.ops.create_srq(pd, &plain);
	ktap_eq(fake.ops.get_srq_num(srq, &srqn), EOPNOTSUPP);
	ktap_eq(fake.ops.destroy_srq(srq), 0);
	ktap_eq(fake.ops.close_xrcd(attr.xrcd), 0);
	close_qp();
}

static void targets_have_no_queues(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = 5,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { .wr_id = 7 }, *bad_recv;
	struct ibv_qp *target;

	open_qp();
	attr.xrcd = open_domain();
	open.xrcd = attr.xrcd;
	for (int opened = 0; opened < 2; opened++) {
		target = opened ? fake.ops.open_qp(ctx, &open) :
				  fake.ops.create_qp_ex(ctx, &attr);
		if (!ktap_ok(target != NULL))
			continue;
		target->state = IBV_QPS_RTS;
		ktap_eq(fake.ops.post_send(target, &send, &bad_send), EINVAL);
		ktap_eq(fake.ops.post_recv(target, &recv, &bad_recv), EINVAL);
		ktap_eq(fake.ops.destroy_qp(target), 0);
	}
	fake.fail = "open_qp";
	fake.fail_err = ENOENT;
	ktap_ok(!fake.ops.open_qp(ctx, &open));
	ktap_eq(errno, ENOENT);
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	ktap_ok(!fake.ops.create_qp_ex(ctx, &attr));
	ktap_eq(errno, EINVAL);
	ktap_eq(fake.ops.close_xrcd(attr.xrcd), 0);
	close_qp();
}

static const struct ktap_test tests[] = {
	KTAP(posted_names_the_srq),
	KTAP(extended_posts),
	KTAP(numbered_srqs),
	KTAP(targets_have_no_queues),
};

KTAP_MAIN(tests)
