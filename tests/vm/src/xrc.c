// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC: one connection from a to b reaches the shared receive queues of two processes
 * on b, which share its target and a domain. Then refusals, and objects that are
 * destroyed while others still use them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(20000)
#define LEN	65536
#define WRS	64

/* An SRQ of a process on b, and its memory. */
struct box {
	struct vt_dev *dev;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	u8 *buf;
	u32 srqn;
};

/* The address of a box, for the process that sends. */
struct address {
	u32 srqn;
	u32 rkey;
	u64 va;
};

/* The initiator, on a. */
struct source {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	u8 *buf;
};

static struct vt_dev a, b;
static char path[] = "/tmp/xrc.XXXXXX";

static struct ibv_xrcd *xrc_domain(struct vt_dev *dev, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd, .oflags = oflags,
	};

	return ibv_open_xrcd(dev->ctx, &attr);
}

static struct ibv_srq *xrc_xsrq(struct vt_dev *dev, struct ibv_xrcd *xrcd,
				struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = WRS, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = dev->pd, .xrcd = xrcd, .cq = cq,
	};

	return ibv_create_srq_ex(dev->ctx, &attr);
}

static void box_open(struct box *box, struct vt_dev *dev, struct ibv_xrcd *xrcd)
{
	box->dev = dev;
	box->buf = aligned_alloc(4096, LEN);
	must(box->buf);
	box->mr = ibv_reg_mr(dev->pd, box->buf, LEN, VT_ACCESS);
	box->cq = ibv_create_cq(dev->ctx, 256, NULL, NULL, 0);
	must(box->mr && box->cq);
	box->srq = xrc_xsrq(dev, xrcd, box->cq);
	must(box->srq && !ibv_get_srq_num(box->srq, &box->srqn));
}

static void box_close(struct box *box)
{
	must(!box->srq || !ibv_destroy_srq(box->srq));
	must(!ibv_destroy_cq(box->cq));
	must(!ibv_dereg_mr(box->mr));
	free(box->buf);
}

static struct address box_address(const struct box *box)
{
	return (struct address){ box->srqn, box->mr->rkey, (uintptr_t)box->buf };
}

static void box_recv(struct box *box, u64 wr_id, u32 off, u32 len)
{
	struct ibv_sge sge = { (uintptr_t)box->buf + off, len, box->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	must(!ibv_post_srq_recv(box->srq, &wr, &bad));
}

/* The next message must be @wr_id, with @len bytes of pattern @seed at @off. */
static void box_got(struct box *box, u64 wr_id, u32 off, u32 len, u64 seed)
{
	struct ibv_wc wc;

	must(!vt_poll(box->cq, &wc, 1, LONG));
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_eq(wc.wr_id, wr_id);
	if (wc.opcode == IBV_WC_RECV)
		ktap_eq(wc.byte_len, len);
	ktap_eq(vt_check(box->buf + off, len, seed), -1);
}

static struct ibv_qp *xrc_target(struct vt_dev *dev, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .xrcd = xrcd,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	return ibv_create_qp_ex(dev->ctx, &attr);
}

static struct ibv_qp *target_again(struct vt_dev *dev, struct ibv_xrcd *xrcd,
				   u32 qpn)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qpn, .xrcd = xrcd, .qp_type = IBV_QPT_XRC_RECV,
	};

	return ibv_open_qp(dev->ctx, &attr);
}

static void source_open(struct source *source)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND, .pd = a.pd,
		.cap = { .max_send_wr = WRS, .max_send_sge = 2,
			 .max_inline_data = 100 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	source->buf = aligned_alloc(4096, LEN);
	must(source->buf);
	source->mr = ibv_reg_mr(a.pd, source->buf, LEN, VT_ACCESS);
	source->cq = ibv_create_cq(a.ctx, 256, NULL, NULL, 0);
	attr.send_cq = source->cq;
	must(source->mr && source->cq);
	source->qp = ibv_create_qp_ex(a.ctx, &attr);
	must(source->qp);
}

static void source_close(struct source *source)
{
	must(!ibv_destroy_qp(source->qp) && !ibv_destroy_cq(source->cq));
	must(!ibv_dereg_mr(source->mr));
	free(source->buf);
}

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = VT_ACCESS,
	};

	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			    IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

static void to_rts(struct ibv_qp *qp, struct vt_dev *dev, struct vt_dev *peer,
		   u32 dqpn, bool sends)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = dqpn, .rq_psn = 0xfffff0, .sq_psn = 0xfffff0,
		.max_dest_rd_atomic = 4, .min_rnr_timer = 12,
		.max_rd_atomic = 4, .timeout = 17, .retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = peer->gid, .hop_limit = 64,
				 .sgid_index = dev->gid_index },
		},
	};

	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			    IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    (sends ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC |
					 IBV_QP_MIN_RNR_TIMER)));
	attr.qp_state = IBV_QPS_RTS;
	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			    IBV_QP_TIMEOUT |
			    (sends ? IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_MAX_QP_RD_ATOMIC : 0)));
}

static void xrc_join(struct source *source, struct ibv_qp *tgt)
{
	to_init(source->qp);
	to_init(tgt);
	to_rts(tgt, &b, &a, source->qp->qp_num, false);
	to_rts(source->qp, &a, &b, tgt->qp_num, true);
}

static void xrc_post(struct source *source, const struct address *to,
		     enum ibv_wr_opcode opcode, u32 off, u32 len, int flags)
{
	struct ibv_sge sge = { (uintptr_t)source->buf + off, len, source->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = opcode, .opcode = opcode, .sg_list = &sge,
		.num_sge = 1, .send_flags = IBV_SEND_SIGNALED | flags,
		.imm_data = htobe32(77),
		.qp_type.xrc.remote_srqn = to->srqn,
	}, *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = to->va + off;
		wr.wr.atomic.rkey = to->rkey;
		wr.wr.atomic.compare_add = 3;
	} else {
		wr.wr.rdma.remote_addr = to->va + off;
		wr.wr.rdma.rkey = to->rkey;
	}
	must(!ibv_post_send(source->qp, &wr, &bad));
}

static void xrc_ended(struct source *source, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	must(!vt_poll(source->cq, &wc, 1, LONG));
	ktap_eq(wc.status, status);
}

/* Each operation, to a box of this process. */
static void all_operations(struct source *source, struct box *box)
{
	struct address to = box_address(box);
	u64 word = 0x1122334455667788, before;

	vt_fill(source->buf, LEN, 5);
	memset(box->buf, 0, LEN);
	box_recv(box, 1, 0, 10000);
	xrc_post(source, &to, IBV_WR_SEND, 0, 9000, 0);
	xrc_ended(source, IBV_WC_SUCCESS);
	box_got(box, 1, 0, 9000, 5);
	box_recv(box, 2, 16384, 100);
	vt_fill(source->buf, LEN, 6);
	xrc_post(source, &to, IBV_WR_SEND_WITH_IMM, 0, 100, IBV_SEND_INLINE);
	xrc_ended(source, IBV_WC_SUCCESS);
	box_got(box, 2, 16384, 100, 6);
	box_recv(box, 3, 0, 0);
	vt_fill(source->buf + 32768, 20000, 7);
	xrc_post(source, &to, IBV_WR_RDMA_WRITE_WITH_IMM, 32768, 20000, 0);
	xrc_ended(source, IBV_WC_SUCCESS);
	box_got(box, 3, 32768, 20000, 7);
	vt_fill(box->buf, 30000, 8);
	xrc_post(source, &to, IBV_WR_RDMA_READ, 0, 30000, 0);
	xrc_ended(source, IBV_WC_SUCCESS);
	ktap_eq(vt_check(source->buf, 30000, 8), -1);
	memcpy(box->buf + 65000, &word, 8);
	xrc_post(source, &to, IBV_WR_ATOMIC_FETCH_AND_ADD, 65000, 8, 0);
	xrc_ended(source, IBV_WC_SUCCESS);
	memcpy(&before, source->buf + 65000, 8);
	ktap_eq(before, word);
	memcpy(&before, box->buf + 65000, 8);
	ktap_eq(before, word + 3);
}

static bool xrc_becomes(struct ibv_qp *qp, enum ibv_qp_state state)
{
	u64 end = vt_now_ms() + LONG;
	unsigned int idle = 0;

	while (vt_state(qp) != state && vt_now_ms() < end)
		vt_relax(&idle);
	return vt_state(qp) == state;
}

/* A second process: a box of its own, behind the target of the first one. */
static int xrc_second_process(int in, int out, u32 qpn)
{
	struct ibv_xrcd *xrcd;
	struct address addr;
	struct ibv_qp *tgt;
	struct box box = {};
	char byte;
	int fd = open(path, O_RDONLY);

	must(!vt_open(&b, vt_name_b(), VT_IPV4, -1));
	xrcd = xrc_domain(&b, fd, 0);
	must(xrcd);
	box_open(&box, &b, xrcd);
	ktap_ok(!target_again(&b, xrcd, qpn + 1));
	tgt = target_again(&b, xrcd, qpn);
	must(tgt);
	box_recv(&box, 1, 0, 1000);
	box_recv(&box, 2, 1000, 1000);
	vt_fill(box.buf + 32768, 5000, 9);
	addr = box_address(&box);
	must(write(out, &addr, sizeof(addr)) == sizeof(addr));
	box_got(&box, 1, 0, 500, 5);
	/* The first process has closed its objects when the second message comes. */
	box_got(&box, 2, 1000, 600, 6);
	ktap_eq(vt_state(tgt), IBV_QPS_RTS);
	must(!ibv_destroy_srq(box.srq));
	box.srq = NULL;
	must(write(out, "x", 1) == 1);
	/* The kernel gives events of a target only to the process that made it. */
	must(xrc_becomes(tgt, IBV_QPS_ERR));
	must(write(out, "x", 1) == 1 && read(in, &byte, 1) == 1);
	must(!ibv_destroy_qp(tgt));
	box_close(&box);
	must(!ibv_close_xrcd(xrcd));
	vt_close(&b);
	return ktap.failures ? 1 : 0;
}

static void two_processes(void)
{
	int up[2], down[2], fd = open(path, O_RDONLY), status;
	struct ibv_xrcd *xrcd;
	struct source source = {};
	struct address addr;
	struct ibv_qp *tgt;
	struct box box = {};
	pid_t child;
	char byte;

	must(fd >= 0 && !pipe(up) && !pipe(down));
	must(vt_open_both(&a, &b, VT_IPV4));
	xrcd = xrc_domain(&b, fd, O_CREAT);
	must(xrcd);
	box_open(&box, &b, xrcd);
	tgt = xrc_target(&b, xrcd);
	must(tgt);
	source_open(&source);
	xrc_join(&source, tgt);
	all_operations(&source, &box);
	child = fork();
	must(child >= 0);
	if (!child)
		_exit(xrc_second_process(down[0], up[1], tgt->qp_num));
	must(read(up[0], &addr, sizeof(addr)) == sizeof(addr));
	ktap_ok(addr.srqn != box.srqn);
	vt_fill(source.buf, 500, 5);
	xrc_post(&source, &addr, IBV_WR_SEND, 0, 500, 0);
	xrc_ended(&source, IBV_WC_SUCCESS);
	all_operations(&source, &box);
	xrc_post(&source, &addr, IBV_WR_RDMA_READ, 32768, 5000, 0);
	xrc_ended(&source, IBV_WC_SUCCESS);
	ktap_eq(vt_check(source.buf + 32768, 5000, 9), -1);
	ktap_eq(ibv_close_xrcd(xrcd), EBUSY);
	must(!ibv_destroy_qp(tgt));
	box_close(&box);
	must(!ibv_close_xrcd(xrcd));
	vt_fill(source.buf, 600, 6);
	xrc_post(&source, &addr, IBV_WR_SEND, 0, 600, 0);
	xrc_ended(&source, IBV_WC_SUCCESS);
	must(read(up[0], &byte, 1) == 1);
	xrc_post(&source, &addr, IBV_WR_SEND, 0, 600, 0);
	xrc_ended(&source, IBV_WC_REM_INV_REQ_ERR);
	must(read(up[0], &byte, 1) == 1 && write(down[1], "x", 1) == 1);
	must(waitpid(child, &status, 0) == child);
	ktap_eq(status, 0);
	source_close(&source);
	vt_close(&a);
	vt_close(&b);
	close(fd);
}

/* Post one request on a connection of its own, and check its completion. */
static void xrc_refused(struct ibv_xrcd *xrcd, const struct address *to,
			enum ibv_wr_opcode opcode, enum ibv_wc_status status)
{
	struct ibv_qp *tgt = xrc_target(&b, xrcd);
	struct source source = {};

	must(tgt);
	source_open(&source);
	xrc_join(&source, tgt);
	xrc_post(&source, to, opcode, 0, 8, 0);
	xrc_ended(&source, status);
	if (status == IBV_WC_REM_INV_REQ_ERR)
		ktap_ok(vt_async(&b, IBV_EVENT_QP_REQ_ERR, LONG));
	else if (status == IBV_WC_REM_ACCESS_ERR)
		ktap_ok(vt_async(&b, IBV_EVENT_QP_ACCESS_ERR, LONG));
	must(!ibv_destroy_qp(tgt));
	source_close(&source);
}

static void refusals(void)
{
	struct ibv_pd *pd, *first;
	struct ibv_xrcd *xrcd, *other;
	struct address to, to_other, mixed;
	struct box box_x = {}, box_y = {}, box_z = {};

	must(vt_open_both(&a, &b, VT_IPV4));
	/* without a file: shared with no process */
	xrcd = xrc_domain(&b, -1, O_CREAT);
	other = xrc_domain(&b, -1, O_CREAT);
	must(xrcd && other);
	box_open(&box_x, &b, xrcd);
	box_open(&box_y, &b, other);
	first = b.pd;
	pd = ibv_alloc_pd(b.ctx);
	must(pd);
	b.pd = pd;
	box_open(&box_z, &b, xrcd);
	box_recv(&box_x, 1, 0, 100);
	to = box_address(&box_x);
	to_other = box_address(&box_y);
	xrc_refused(xrcd, &to, IBV_WR_SEND, IBV_WC_SUCCESS);
	xrc_refused(xrcd, &to_other, IBV_WR_SEND, IBV_WC_REM_INV_REQ_ERR);
	xrc_refused(xrcd, &to_other, IBV_WR_RDMA_WRITE, IBV_WC_REM_INV_REQ_ERR);
	to_other.srqn = (to.srqn + 12345) & 0xffffff;
	xrc_refused(xrcd, &to_other, IBV_WR_RDMA_READ, IBV_WC_REM_INV_REQ_ERR);
	/* The key is of another protection domain than the SRQ. */
	mixed = box_address(&box_z);
	xrc_refused(xrcd, &mixed, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS);
	mixed.srqn = to.srqn;
	xrc_refused(xrcd, &mixed, IBV_WR_RDMA_WRITE, IBV_WC_REM_ACCESS_ERR);
	xrc_refused(xrcd, &mixed, IBV_WR_RDMA_READ, IBV_WC_REM_ACCESS_ERR);
	xrc_refused(xrcd, &mixed, IBV_WR_ATOMIC_FETCH_AND_ADD,
		    IBV_WC_REM_ACCESS_ERR);
	ktap_ok(!target_again(&b, other, 5));
	box_close(&box_z);
	must(!ibv_dealloc_pd(pd));
	b.pd = first;
	box_close(&box_y);
	box_close(&box_x);
	must(!ibv_close_xrcd(other) && !ibv_close_xrcd(xrcd));
	vt_close(&a);
	vt_close(&b);
}

/* The SRQ is destroyed, or its process killed, while messages arrive. */
static void goes_under_load(bool killed)
{
	int up[2], fd = open(path, O_RDONLY), i, good = 0, status;
	struct ibv_xrcd *xrcd;
	struct source source = {};
	struct address addr;
	struct ibv_qp *tgt;
	struct ibv_wc wc;
	pid_t child;

	must(fd >= 0 && !pipe(up));
	must(vt_open_both(&a, &b, VT_IPV4));
	xrcd = xrc_domain(&b, fd, O_CREAT);
	must(xrcd);
	tgt = xrc_target(&b, xrcd);
	must(tgt);
	source_open(&source);
	xrc_join(&source, tgt);
	child = fork();
	must(child >= 0);
	if (!child) {
		struct box box = {};

		must(!vt_open(&b, vt_name_b(), VT_IPV4, -1));
		xrcd = xrc_domain(&b, fd, 0);
		must(xrcd);
		box_open(&box, &b, xrcd);
		addr = box_address(&box);
		for (i = 0; i < WRS; i++)
			box_recv(&box, i, 0, LEN);
		must(write(up[1], &addr, sizeof(addr)) == sizeof(addr));
		must(!vt_poll(box.cq, &wc, 1, LONG));
		if (killed)
			kill(getpid(), SIGKILL);
		must(!ibv_destroy_srq(box.srq));
		_exit(0);
	}
	must(read(up[0], &addr, sizeof(addr)) == sizeof(addr));
	/* More messages than receives: only the error ends it. */
	for (i = 0; i < WRS; i++)
		xrc_post(&source, &addr, IBV_WR_SEND, 0, 30000, 0);
	for (i = 0; ; i++) {
		must(!vt_poll(source.cq, &wc, 1, LONG));
		if (wc.status)
			break;
		good++;
		xrc_post(&source, &addr, IBV_WR_SEND, 0, 30000, 0);
	}
	ktap_ok(good > 0);
	ktap_eq(wc.status, IBV_WC_REM_INV_REQ_ERR);
	for (i = 0; i < WRS - 1; i++)
		xrc_ended(&source, IBV_WC_WR_FLUSH_ERR);
	must(waitpid(child, &status, 0) == child);
	ktap_eq(status, killed ? SIGKILL : 0);
	must(!ibv_destroy_qp(tgt) && !ibv_close_xrcd(xrcd));
	source_close(&source);
	vt_close(&a);
	vt_close(&b);
	close(fd);
}

static void srq_goes(void)
{
	goes_under_load(false);
}

static void process_is_killed(void)
{
	goes_under_load(true);
}

static void wrong_attributes(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND,
		.cap = { .max_send_wr = 1, .max_send_sge = 1,
			 .max_inline_data = 256 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct ibv_device_attr dev_attr;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *cq;

	must(vt_open_both(&a, &b, VT_IPV4));
	must(!ibv_query_device(b.ctx, &dev_attr));
	ktap_ok(dev_attr.device_cap_flags & IBV_DEVICE_XRC);
	cq = ibv_create_cq(b.ctx, 1, NULL, NULL, 0);
	xrcd = xrc_domain(&b, -1, O_CREAT);
	must(cq && xrcd);
	ktap_ok(!xrc_xsrq(&b, xrcd, NULL));
	ktap_eq(errno, EINVAL);
	attr.pd = b.pd;
	attr.send_cq = cq;
	ktap_ok(!ibv_create_qp_ex(b.ctx, &attr));
	ktap_eq(errno, EINVAL);
	attr.qp_type = IBV_QPT_XRC_RECV;
	ktap_ok(!ibv_create_qp_ex(b.ctx, &attr));
	ktap_eq(errno, EINVAL);
	must(!ibv_close_xrcd(xrcd) && !ibv_destroy_cq(cq));
	vt_close(&a);
	vt_close(&b);
}

#define TESTS(X) X(wrong_attributes) X(two_processes) X(refusals) X(srq_goes) \
	X(process_is_killed)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	int fd = mkstemp(path), ret;

	if (fd < 0)
		return 1;
	ret = vt_run(argc > 1 ? argv[1] : NULL);
	unlink(path);
	return ret;
}
