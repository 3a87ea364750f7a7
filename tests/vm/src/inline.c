// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The inline rule (cairndv_set_inline_threshold(3)) as an application sees it. */
#include <infiniband/cairndv.h>
#include <stdio.h>
#include <string.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(60000)
#define BUF	65536
#define ROOM	256

static struct vt_dev dev[2];
static struct vt_end a, b;

static void connect_ends(void)
{
	struct vt_opts opts = VT_OPTS;

	opts.cap.max_inline_data = ROOM;
	opts.timeout = 18;
	must(!vt_end_create(&a, &dev[0], &opts, BUF));
	must(!vt_end_create(&b, &dev[1], &opts, BUF));
	must(!vt_connect(&a, &b));
}

static void inline_disconnect(void)
{
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

static void post_list(struct ibv_sge *sge, int n, enum ibv_wr_opcode op,
		      unsigned int flags)
{
	struct ibv_send_wr wr = {
		.sg_list = sge, .num_sge = n, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.wr.rdma = { (uintptr_t)b.buf, b.mr->rkey },
	}, *bad;

	must(!ibv_post_send(a.qp, &wr, &bad));
}

static void inline_post(u64 addr, u32 len, u32 key, enum ibv_wr_opcode op,
			unsigned int flags)
{
	struct ibv_sge sge = { addr, len, key };

	post_list(&sge, 1, op, flags);
}

static int inline_status(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	must(!vt_poll(cq, &wc, 1, LONG));
	return wc.status;
}

static void post_recv(void)
{
	struct ibv_sge sge = { (uintptr_t)b.buf, BUF, b.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_recv(b.qp, &wr, &bad));
}

/*
 * The message cannot arrive before there is a receive. The retransmission has the later
 * contents of the buffer, unless the message carries those at the time of the post.
 */
static bool taken_when_posted(u32 len)
{
	memset(a.buf, 0x11, len);
	inline_post((uintptr_t)a.buf, len, a.mr->lkey, IBV_WR_SEND, 0);
	memset(a.buf, 0x22, len);
	post_recv();
	must(inline_status(b.rcq) == IBV_WC_SUCCESS);
	must(inline_status(a.scq) == IBV_WC_SUCCESS);
	must(b.buf[0] == b.buf[len - 1]);
	must(b.buf[0] == 0x11 || b.buf[0] == 0x22);
	return b.buf[0] == 0x11;
}

static void rule(void)
{
	connect_ends();
	ktap_ok(taken_when_posted(1));
	ktap_ok(taken_when_posted(64));
	ktap_ok(!taken_when_posted(65));
	must(!cairndv_set_inline_threshold(a.qp, 0));
	ktap_ok(!taken_when_posted(1));
	must(!cairndv_set_inline_threshold(a.qp, ROOM));
	ktap_ok(taken_when_posted(ROOM));
	ktap_ok(!taken_when_posted(ROOM + 1));
	inline_disconnect();
}

/* The threshold does not change contents and lengths. */
static void sizes(void)
{
	struct ibv_sge sge[3];
	u32 len, i;

	connect_ends();
	vt_fill(a.buf, BUF, 5);
	for (len = 0; len < ROOM + 80; len++) {
		memset(b.buf, 0, len + 64);
		inline_post((uintptr_t)a.buf, len, a.mr->lkey, IBV_WR_RDMA_WRITE, 0);
		must(inline_status(a.scq) == IBV_WC_SUCCESS);
		must(vt_check(b.buf, len, 5) < 0 && !b.buf[len]);
		memset(b.buf, 0, len + 64);
		for (i = 0; i < 3; i++)
			sge[i] = (struct ibv_sge){
				(uintptr_t)a.buf + i * (len / 3),
				i < 2 ? len / 3 : len - 2 * (len / 3),
				a.mr->lkey
			};
		post_recv();
		post_list(sge, 3, IBV_WR_SEND, 0);
		must(inline_status(a.scq) == IBV_WC_SUCCESS);
		must(inline_status(b.rcq) == IBV_WC_SUCCESS);
		must(vt_check(b.buf, len, 5) < 0 && !b.buf[len]);
	}
	inline_disconnect();
}

/* Errors of memory are reported as usual. */
static void errors(void)
{
	struct ibv_mr *gone;
	unsigned int i;
	u32 old;

	for (i = 0; i < 4; i++) {
		connect_ends();
		gone = ibv_reg_mr(a.dev->pd, a.buf, BUF, VT_ACCESS);
		must(gone);
		old = gone->lkey;
		must(!ibv_dereg_mr(gone));
		switch (i) {
		case 0:
			inline_post((uintptr_t)a.buf, 8, old, IBV_WR_SEND, 0);
			break;
		case 1:
			inline_post((uintptr_t)a.buf - 1, 8, a.mr->lkey, IBV_WR_SEND,
				    0);
			break;
		case 2:
			inline_post((uintptr_t)a.buf + BUF - 7, 8, a.mr->lkey,
				    IBV_WR_RDMA_WRITE, 0);
			break;
		default:
			/* an access to this memory would fault */
			inline_post(64, 8, a.mr->lkey, IBV_WR_RDMA_WRITE, 0);
		}
		ktap_eq(inline_status(a.scq), IBV_WC_LOC_PROT_ERR);
		inline_disconnect();
	}
}

/* A region whose addresses in work requests are not those of the process. */
static void other_addresses(void)
{
	struct ibv_mr *mr;

	connect_ends();
	mr = ibv_reg_mr_iova(a.dev->pd, a.buf + 4096, 4096, 0x5000, VT_ACCESS);
	must(mr);
	vt_fill(a.buf + 4096, 64, 9);
	inline_post(0x5000, 64, mr->lkey, IBV_WR_RDMA_WRITE, 0);
	must(inline_status(a.scq) == IBV_WC_SUCCESS);
	ktap_ok(vt_check(b.buf, 64, 9) < 0);
	must(!ibv_dereg_mr(mr));
	inline_disconnect();
}

/* A fenced SEND sends the data of the READ before it. */
static void fence(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
	}, *bad;
	unsigned int i;

	connect_ends();
	for (i = 0; i < 50; i++) {
		vt_fill(b.buf + 4096, 32, i);
		memset(a.buf, 0, 32);
		memset(b.buf, 0, 32);
		post_recv();
		sge = (struct ibv_sge){ (uintptr_t)a.buf, 32, a.mr->lkey };
		wr.wr.rdma.remote_addr = (uintptr_t)b.buf + 4096;
		wr.wr.rdma.rkey = b.mr->rkey;
		must(!ibv_post_send(a.qp, &wr, &bad));
		inline_post((uintptr_t)a.buf, 32, a.mr->lkey, IBV_WR_SEND,
			    IBV_SEND_FENCE);
		must(inline_status(a.scq) == IBV_WC_SUCCESS);
		must(inline_status(b.rcq) == IBV_WC_SUCCESS);
		must(vt_check(b.buf, 32, i) < 0);
	}
	inline_disconnect();
}

#define TESTS(X)							\
	X(rule) X(sizes) X(errors) X(other_addresses) X(fence)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&dev[0], &dev[1], VT_IPV4, argc > 1 ? argv[1] : NULL);
}
