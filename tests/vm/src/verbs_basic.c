// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rules of verbs that the usual tools do not try: limits, states, error
 * codes, events. One connection per test, from CAIRN_A to CAIRN_B.
 */
#include <errno.h>
#include <infiniband/cairndv.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include "vt.h"
#include "vt_test.h"

#define BUF	(256 * 1024)
#define LONG	vt_ms(20000)	/* long enough for every completion that must come */

static struct vt_dev da, db;

struct pair {
	struct vt_end a, b;
};

static bool pair_up(struct pair *pair, const struct vt_opts *opts)
{
	memset(pair, 0, sizeof(*pair));
	return ktap_eq(vt_end_create(&pair->a, &da, opts, BUF), 0) &&
	       ktap_eq(vt_end_create(&pair->b, &db, opts, BUF), 0) &&
	       ktap_eq(vt_connect(&pair->a, &pair->b), 0);
}

static void pair_down(struct pair *pair)
{
	vt_end_destroy(&pair->a);
	vt_end_destroy(&pair->b);
}

static struct ibv_sge sge_at(struct vt_end *end, size_t off, u32 len)
{
	return (struct ibv_sge) { (uintptr_t)end->buf + off, len, end->mr->lkey };
}

static int send_op(struct vt_end *end, struct vt_end *to, enum ibv_wr_opcode op,
		   u64 id, size_t off, u32 len, int flags)
{
	struct ibv_sge sge = sge_at(end, off, len);
	struct ibv_send_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = flags, .imm_data = htobe32(0x1234abcd),
	}, *bad;

	if (op == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)to->buf + off;
		wr.wr.atomic.rkey = to->mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)to->buf + off;
		wr.wr.rdma.rkey = to->mr->rkey;
	}
	return ibv_post_send(end->qp, &wr, &bad);
}

static int recv_op(struct vt_end *end, u64 id, size_t off, u32 len)
{
	struct ibv_sge sge = sge_at(end, off, len);
	struct ibv_recv_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = len ? 1 : 0,
	}, *bad;

	return ibv_post_recv(end->qp, &wr, &bad);
}

/* One completion with the expected id and status. */
static bool basic_got(struct ibv_cq *cq, u64 id, enum ibv_wc_status status,
		      struct ibv_wc *out)
{
	struct ibv_wc wc;

	if (!ktap_eq(vt_poll(cq, &wc, 1, LONG), 0))
		return false;
	if (out)
		*out = wc;
	if (wc.status != status) {
		ktap_fail("wr %llu: %s, not %s", (unsigned long long)wc.wr_id,
			  ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
		return false;
	}
	return ktap_eq(wc.wr_id, id);
}

/* --- attributes --------------------------------------------------------- */

static void query_device(void)
{
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;

	must(!ibv_query_device(da.ctx, &attr));
	ktap_ok(attr.max_qp >= 1000 && attr.max_cq >= 1000);
	ktap_ok(attr.max_mr >= 1000 && attr.max_pd >= 1000);
	ktap_ok(attr.max_qp_wr >= 4096 && attr.max_cqe >= 4096);
	ktap_ok(attr.max_sge >= 32 && attr.max_qp_rd_atom >= 16);
	ktap_ok(attr.max_mr_size >= 1ULL << 32);
	ktap_ok(attr.atomic_cap != IBV_ATOMIC_NONE);
	ktap_eq(attr.phys_port_cnt, 1);
	ktap_ok(attr.node_guid && attr.max_pkeys);
	must(!ibv_query_device_ex(da.ctx, NULL, &ex));
	ktap_eq(ex.orig_attr.max_qp, attr.max_qp);
	ktap_eq(ex.orig_attr.max_qp_wr, attr.max_qp_wr);
	ktap_ok(ex.phys_port_cnt_ex == 1);
}

static void query_port(void)
{
	__be16 pkey;

	ktap_eq(da.port.link_layer, IBV_LINK_LAYER_ETHERNET);
	ktap_eq(da.port.state, IBV_PORT_ACTIVE);
	ktap_ok(da.port.active_mtu >= IBV_MTU_1024);
	ktap_ok(da.port.max_mtu >= da.port.active_mtu);
	ktap_ok(da.port.max_msg_sz >= 1u << 30);
	ktap_ok(da.port.gid_tbl_len > 0);
	must(!ibv_query_pkey(da.ctx, 1, 0, &pkey));
	ktap_eq(be16toh(pkey), 0xffff);
	ktap_ok(ibv_query_pkey(da.ctx, 1, da.port.pkey_tbl_len, &pkey));
	ktap_ok(ibv_query_port(da.ctx, 2, &da.port));
	ktap_ok(!ibv_query_port(da.ctx, 1, &da.port));
}

static struct ibv_qp *try_qp(const struct ibv_qp_cap *cap, struct ibv_cq *cq,
			     enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.cap = *cap, .qp_type = type, .send_cq = cq, .recv_cq = cq,
	};

	errno = 0;
	return ibv_create_qp(da.pd, &init);
}

static bool refused_qp(struct ibv_qp_cap cap, struct ibv_cq *cq)
{
	struct ibv_qp *qp = try_qp(&cap, cq, IBV_QPT_RC);

	if (!qp)
		return ktap_ok(errno == EINVAL || errno == ENOMEM);
	ibv_destroy_qp(qp);
	return false;
}

static void limits_refused(void)
{
	const struct ibv_qp_cap small = { 1, 1, 1, 1, 0 };
	struct ibv_device_attr attr;
	struct ibv_qp_cap cap;
	struct ibv_qp *qp;
	struct ibv_cq *cq;

	must(!ibv_query_device(da.ctx, &attr));
	ktap_ok(!ibv_create_cq(da.ctx, attr.max_cqe + 1, NULL, NULL, 0));
	ktap_ok(!ibv_create_cq(da.ctx, 0, NULL, NULL, 0));
	ktap_ok(!ibv_create_cq(da.ctx, -1, NULL, NULL, 0));
	cq = ibv_create_cq(da.ctx, 1, NULL, NULL, 0);
	must(cq);

	cap = small; cap.max_send_wr = attr.max_qp_wr + 1;
	ktap_ok(refused_qp(cap, cq));
	cap = small; cap.max_recv_wr = attr.max_qp_wr + 1;
	ktap_ok(refused_qp(cap, cq));
	cap = small; cap.max_send_sge = attr.max_sge + 1;
	ktap_ok(refused_qp(cap, cq));
	cap = small; cap.max_recv_sge = attr.max_sge + 1;
	ktap_ok(refused_qp(cap, cq));
	cap = small; cap.max_inline_data = 1 << 20;
	ktap_ok(refused_qp(cap, cq));
	cap = small; cap.max_send_wr = ~0u;
	ktap_ok(refused_qp(cap, cq));

	cap = small;
	cap.max_send_wr = attr.max_qp_wr;
	cap.max_recv_wr = attr.max_qp_wr;
	qp = try_qp(&cap, cq, IBV_QPT_RC);
	ktap_ok(qp);
	if (qp) {
		ktap_eq(ibv_destroy_cq(cq), EBUSY);
		ktap_eq(ibv_destroy_qp(qp), 0);
	}
	ktap_eq(ibv_destroy_cq(cq), 0);
	cq = ibv_create_cq(da.ctx, attr.max_cqe, NULL, NULL, 0);
	ktap_ok(cq && cq->cqe >= attr.max_cqe);
	if (cq)
		ktap_eq(ibv_destroy_cq(cq), 0);
}

static void reg_mr_errors(void)
{
	struct ibv_mr *mr;
	u8 *buf = da.pd ? calloc(1, 8192) : NULL;

	must(buf);
	ktap_ok(!ibv_reg_mr(da.pd, buf, 4096, IBV_ACCESS_REMOTE_WRITE));
	ktap_ok(!ibv_reg_mr(da.pd, buf, 4096, IBV_ACCESS_REMOTE_ATOMIC));
	ktap_ok(!ibv_reg_mr(da.pd, buf, 4096, 1 << 15));
	errno = 0;
	ktap_ok(!ibv_reg_mr(da.pd, (void *)0x1000, 4096, IBV_ACCESS_LOCAL_WRITE));
	ktap_ok(errno == EFAULT || errno == ENOMEM || errno == EINVAL);
	ktap_ok(!ibv_reg_mr(da.pd, buf, ~0UL >> 1, IBV_ACCESS_LOCAL_WRITE));
	/* memory that the process may only read: valid for local reads only */
	ktap_ok(!ibv_reg_mr(da.pd, (void *)(uintptr_t)vt_name_a, 16,
			    IBV_ACCESS_LOCAL_WRITE));
	mr = ibv_reg_mr(da.pd, buf + 1, 4095, 0);
	ktap_ok(mr);
	if (mr) {
		ktap_eq(ibv_dealloc_pd(da.pd), EBUSY);
		ktap_eq(ibv_dereg_mr(mr), 0);
	}
	free(buf);
}

static int modify_init(struct ibv_qp *qp, int drop, int port, int pkey)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = port, .pkey_index = pkey,
		.qp_access_flags = VT_ACCESS,
	};

	return ibv_modify_qp(qp, &attr, (IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) & ~drop);
}

static int modify_rtr(struct vt_end *end, struct vt_end *to, int drop,
		      enum ibv_mtu mtu, int sgid, int rd)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = mtu,
		.dest_qp_num = to->qp->qp_num, .rq_psn = to->psn,
		.max_dest_rd_atomic = rd, .min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = to->dev->gid, .sgid_index = sgid,
				 .hop_limit = 1 },
		},
	};

	return ibv_modify_qp(end->qp, &attr, (IBV_QP_STATE | IBV_QP_AV |
			     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER) & ~drop);
}

static void modify_errors(void)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end end_a, end_b;

	must(!vt_end_create(&end_a, &da, &opts, 4096) &&
		     !vt_end_create(&end_b, &db, &opts, 4096));
	ktap_eq(modify_init(end_a.qp, IBV_QP_PORT, 1, 0), EINVAL);
	ktap_eq(modify_init(end_a.qp, IBV_QP_ACCESS_FLAGS, 1, 0), EINVAL);
	ktap_eq(modify_init(end_a.qp, 0, 2, 0), EINVAL);
	ktap_eq(modify_init(end_a.qp, 0, 0, 0), EINVAL);
	ktap_eq(modify_init(end_a.qp, 0, 1, 60000), EINVAL);
	ktap_eq(modify_rtr(&end_a, &end_b, 0, IBV_MTU_1024, da.gid_index, 1), EINVAL);
	ktap_eq(send_op(&end_a, &end_b, IBV_WR_SEND, 0, 0, 1, 0), EINVAL);
	ktap_ok(recv_op(&end_a, 0, 0, 1));
	must(!modify_init(end_a.qp, 0, 1, 0));
	ktap_eq(send_op(&end_a, &end_b, IBV_WR_SEND, 0, 0, 1, 0), EINVAL);
	ktap_eq(recv_op(&end_a, 0, 0, 1), 0);
	ktap_eq(modify_rtr(&end_a, &end_b, IBV_QP_AV, IBV_MTU_1024, da.gid_index, 1), EINVAL);
	ktap_eq(modify_rtr(&end_a, &end_b, IBV_QP_RQ_PSN, IBV_MTU_1024, da.gid_index, 1), EINVAL);
	ktap_ok(modify_rtr(&end_a, &end_b, 0, 0, da.gid_index, 1));
	ktap_ok(modify_rtr(&end_a, &end_b, 0, 6, da.gid_index, 1));
	ktap_ok(modify_rtr(&end_a, &end_b, 0, IBV_MTU_1024, da.port.gid_tbl_len, 1));
	/* an empty slot of the table */
	ktap_ok(modify_rtr(&end_a, &end_b, 0, IBV_MTU_1024, da.port.gid_tbl_len - 1, 1));
	ktap_ok(modify_rtr(&end_a, &end_b, 0, IBV_MTU_1024, da.gid_index, 255));
	ktap_eq(vt_state(end_a.qp), IBV_QPS_INIT);
	ktap_eq(modify_rtr(&end_a, &end_b, 0, IBV_MTU_1024, da.gid_index, 1), 0);
	ktap_eq(vt_state(end_a.qp), IBV_QPS_RTR);
	ktap_eq(send_op(&end_a, &end_b, IBV_WR_SEND, 0, 0, 1, 0), EINVAL);
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

static void query_qp(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair pair;

	opts.timeout = 15;
	opts.retry_cnt = 5;
	opts.rnr_retry = 6;
	must(pair_up(&pair, &opts));
	must(!ibv_query_qp(pair.a.qp, &attr, IBV_QP_STATE | IBV_QP_CAP |
				   IBV_QP_AV | IBV_QP_TIMEOUT |
				   IBV_QP_RQ_PSN | IBV_QP_SQ_PSN, &init));
	ktap_eq(attr.qp_state, IBV_QPS_RTS);
	ktap_eq(attr.path_mtu, IBV_MTU_1024);
	ktap_eq(attr.dest_qp_num, pair.b.qp->qp_num);
	ktap_eq(attr.rq_psn, pair.b.psn);
	ktap_eq(attr.sq_psn, pair.a.psn);
	ktap_eq(attr.timeout, 15);
	ktap_eq(attr.retry_cnt, 5);
	ktap_eq(attr.rnr_retry, 6);
	ktap_eq(attr.min_rnr_timer, 12);
	ktap_eq(attr.max_rd_atomic, 4);
	ktap_eq(attr.max_dest_rd_atomic, 4);
	ktap_eq(attr.port_num, 1);
	ktap_eq(attr.ah_attr.grh.sgid_index, da.gid_index);
	ktap_mem_eq(attr.ah_attr.grh.dgid.raw, db.gid.raw, 16);
	ktap_ok(attr.cap.max_send_wr >= opts.cap.max_send_wr);
	ktap_ok(attr.cap.max_recv_sge >= opts.cap.max_recv_sge);
	ktap_eq(attr.qp_access_flags & VT_ACCESS, VT_ACCESS);
	ktap_eq(init.qp_type, IBV_QPT_RC);
	pair_down(&pair);
}

/* --- payload ------------------------------------------------------------ */

static void inline_512(void)
{
	struct vt_opts opts = VT_OPTS;
	u8 data[513];
	struct ibv_sge sge = { (uintptr_t)data, 512, 0xdeadbeef };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	}, *bad;
	struct pair pair;
	u32 len;

	opts.cap.max_inline_data = 512;
	must(pair_up(&pair, &opts));
	for (len = 0; len <= 512; len += 64) {
		vt_fill(data, len, len);
		memset(pair.b.buf, 0, 1024);
		must(!recv_op(&pair.b, len, 0, 1024));
		sge.length = len;
		wr.num_sge = len ? 1 : 0;
		wr.wr_id = len;
		must(!ibv_post_send(pair.a.qp, &wr, &bad));
		/* the post has copied the data */
		memset(data, 0x55, sizeof(data));
		must(basic_got(pair.a.scq, len, IBV_WC_SUCCESS, NULL));
		must(basic_got(pair.b.rcq, len, IBV_WC_SUCCESS, NULL));
		ktap_eq(vt_check(pair.b.buf, len, len), -1);
	}
	sge.length = 513;
	ktap_ok(ibv_post_send(pair.a.qp, &wr, &bad));
	pair_down(&pair);
}

/* 32 pieces of different sizes and alignments on both sides. */
static void sge_32(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_sge ss[32], rs[32];
	struct ibv_send_wr swr = {
		.wr_id = 1, .sg_list = ss, .num_sge = 32,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *sbad;
	struct ibv_recv_wr rwr = { .wr_id = 2, .sg_list = rs, .num_sge = 32 },
			   *rbad;
	u8 *flat = malloc(64 * 1024);
	size_t total = 0, room = 0, n, at = 0;
	struct pair pair;
	int i;

	opts.cap.max_send_sge = 32;
	opts.cap.max_recv_sge = 32;
	must(flat && pair_up(&pair, &opts));
	for (i = 0; i < 32; i++) {
		ss[i] = sge_at(&pair.a, i * 2048 + i, 1 + i * 37);
		rs[i] = sge_at(&pair.b, i * 3000 + 3 * i, 1200 - i * 5);
		total += ss[i].length;
		room += rs[i].length;
	}
	must(total < room);
	vt_fill(flat, total, 32);
	for (i = 0; i < 32; at += ss[i++].length)
		memcpy((void *)(uintptr_t)ss[i].addr, flat + at, ss[i].length);
	must(!ibv_post_recv(pair.b.qp, &rwr, &rbad));
	must(!ibv_post_send(pair.a.qp, &swr, &sbad));
	must(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	must(basic_got(pair.b.rcq, 2, IBV_WC_SUCCESS, NULL));
	for (i = 0, at = 0; at < total; at += rs[i++].length) {
		n = total - at < rs[i].length ? total - at : rs[i].length;
		ktap_mem_eq((void *)(uintptr_t)rs[i].addr, flat + at, n);
	}
	/* gathered into one place, and scattered by a READ */
	swr.opcode = IBV_WR_RDMA_WRITE;
	swr.wr.rdma.remote_addr = (uintptr_t)pair.b.buf + 128 * 1024 + 5;
	swr.wr.rdma.rkey = pair.b.mr->rkey;
	must(!ibv_post_send(pair.a.qp, &swr, &sbad));
	must(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	ktap_mem_eq(pair.b.buf + 128 * 1024 + 5, flat, total);
	memset(pair.a.buf, 0, 128 * 1024);
	swr.opcode = IBV_WR_RDMA_READ;
	must(!ibv_post_send(pair.a.qp, &swr, &sbad));
	must(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	for (i = 0, at = 0; i < 32; at += ss[i++].length)
		ktap_mem_eq((void *)(uintptr_t)ss[i].addr, flat + at, ss[i].length);
	swr.num_sge = 33;
	ktap_ok(ibv_post_send(pair.a.qp, &swr, &sbad));
	pair_down(&pair);
	free(flat);
}

static void zero_length(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
	};
	struct ibv_send_wr wr = { .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc;
	struct pair pair;
	unsigned int i;

	must(pair_up(&pair, &opts));
	must(!recv_op(&pair.b, 7, 0, 0));
	for (i = 0; i < 3; i++) {
		wr.opcode = ops[i];
		wr.wr_id = i;
		must(!ibv_post_send(pair.a.qp, &wr, &bad));
		must(basic_got(pair.a.scq, i, IBV_WC_SUCCESS, NULL));
	}
	must(basic_got(pair.b.rcq, 7, IBV_WC_SUCCESS, &wc));
	ktap_eq(wc.byte_len, 0);
	pair_down(&pair);
}

/* A message of many packets, sent from and to odd addresses. */
static void large_messages(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc;
	struct pair pair;
	u32 len = BUF - 77;

	opts.mtu = IBV_MTU_4096;
	opts.timeout = 17;
	must(pair_up(&pair, &opts));
	vt_fill(pair.a.buf + 77, len, 5);
	must(!recv_op(&pair.b, 1, 0, BUF));
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 1, 77, len,
			      IBV_SEND_SIGNALED));
	must(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	must(basic_got(pair.b.rcq, 1, IBV_WC_SUCCESS, &wc));
	ktap_eq(wc.byte_len, len);
	ktap_eq(vt_check(pair.b.buf, len, 5), -1);
	must(!send_op(&pair.a, &pair.b, IBV_WR_RDMA_WRITE, 2, 77, len,
			      IBV_SEND_SIGNALED));
	must(basic_got(pair.a.scq, 2, IBV_WC_SUCCESS, NULL));
	ktap_eq(vt_check(pair.b.buf + 77, len, 5), -1);
	memset(pair.a.buf, 0, BUF);
	must(!send_op(&pair.a, &pair.b, IBV_WR_RDMA_READ, 3, 77, len,
			      IBV_SEND_SIGNALED));
	must(basic_got(pair.a.scq, 3, IBV_WC_SUCCESS, NULL));
	ktap_eq(vt_check(pair.a.buf + 77, len, 5), -1);
	pair_down(&pair);
}

static void immediate(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc;
	struct pair pair;

	must(pair_up(&pair, &opts));
	must(!recv_op(&pair.b, 1, 0, 100) && !recv_op(&pair.b, 2, 0, 100) &&
		     !recv_op(&pair.b, 3, 0, 100));
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND_WITH_IMM, 1, 0, 40,
			      IBV_SEND_SIGNALED));
	must(!send_op(&pair.a, &pair.b, IBV_WR_RDMA_WRITE_WITH_IMM, 2, 0,
			      5000, IBV_SEND_SIGNALED));
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 3, 0, 40,
			      IBV_SEND_SIGNALED));
	must(basic_got(pair.b.rcq, 1, IBV_WC_SUCCESS, &wc));
	ktap_eq(wc.opcode, IBV_WC_RECV);
	ktap_eq(be32toh(wc.imm_data), 0x1234abcd);
	ktap_eq(wc.wc_flags & IBV_WC_WITH_IMM, IBV_WC_WITH_IMM);
	ktap_eq(wc.byte_len, 40);
	ktap_eq(wc.qp_num, pair.b.qp->qp_num);
	must(basic_got(pair.b.rcq, 2, IBV_WC_SUCCESS, &wc));
	ktap_eq(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	ktap_eq(be32toh(wc.imm_data), 0x1234abcd);
	ktap_eq(wc.byte_len, 5000);
	must(basic_got(pair.b.rcq, 3, IBV_WC_SUCCESS, &wc));
	ktap_eq(wc.wc_flags & IBV_WC_WITH_IMM, 0);
	pair_down(&pair);
}

static void atomics(void)
{
	struct ibv_send_wr wr = {
		.num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
	}, *bad;
	struct vt_opts opts = VT_OPTS;
	struct ibv_sge sge;
	struct pair pair;
	u64 *target, *result;

	must(pair_up(&pair, &opts));
	target = (u64 *)(pair.b.buf + 64);
	result = (u64 *)pair.a.buf;
	sge = sge_at(&pair.a, 0, 8);
	wr.sg_list = &sge;
	wr.wr.atomic.remote_addr = (uintptr_t)target;
	wr.wr.atomic.rkey = pair.b.mr->rkey;
	*target = 0x1122334455667788ULL;
	wr.wr.atomic.compare_add = *target;
	wr.wr.atomic.swap = 42;
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	must(basic_got(pair.a.scq, 0, IBV_WC_SUCCESS, NULL));
	ktap_eq(*result, 0x1122334455667788ULL);
	ktap_eq(*target, 42);
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	must(basic_got(pair.a.scq, 0, IBV_WC_SUCCESS, NULL));
	ktap_eq(*result, 42);
	ktap_eq(*target, 42);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.compare_add = ~0ULL;
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	must(basic_got(pair.a.scq, 0, IBV_WC_SUCCESS, NULL));
	ktap_eq(*result, 42);
	ktap_eq(*target, 41);
	wr.wr.atomic.remote_addr += 4;
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	ktap_ok(basic_got(pair.a.scq, 0, IBV_WC_REM_INV_REQ_ERR, NULL));
	pair_down(&pair);
}

/* Two QPs add to one word at the same time. */
static void atomic_contention(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc[64];
	struct pair pair[2];
	int i, k;

	for (i = 0; i < 2; i++)
		must(pair_up(&pair[i], &opts));
	for (k = 0; k < 64; k++)
		for (i = 0; i < 2; i++) {
			struct ibv_sge sge = sge_at(&pair[i].a, 8 * k, 8);
			struct ibv_send_wr wr = {
				.sg_list = &sge, .num_sge = 1,
				.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				.send_flags = IBV_SEND_SIGNALED,
				.wr.atomic = {
					.remote_addr = (uintptr_t)pair[0].b.buf,
					.rkey = pair[0].b.mr->rkey,
					.compare_add = 1,
				},
			}, *bad;

			must(!ibv_post_send(pair[i].a.qp, &wr, &bad));
		}
	for (i = 0; i < 2; i++) {
		must(!vt_poll(pair[i].a.scq, wc, 64, LONG));
		for (k = 0; k < 64; k++)
			ktap_eq(wc[k].status, IBV_WC_SUCCESS);
	}
	ktap_eq(*(u64 *)pair[0].b.buf, 128);
	for (i = 0; i < 2; i++)
		pair_down(&pair[i]);
}

/* An address space of its own: the MR begins at iova 64 KiB + 24. */
static void mr_iova(void)
{
	struct vt_opts opts = VT_OPTS;
	u64 iova = 65536 + 24;
	struct ibv_send_wr wr = {
		.num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = IBV_WR_RDMA_WRITE,
	}, *bad;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct pair pair;

	must(pair_up(&pair, &opts));
	mr = ibv_reg_mr_iova(db.pd, pair.b.buf + 24, 8000, iova, VT_ACCESS);
	must(mr);
	vt_fill(pair.a.buf, 5000, 9);
	sge = sge_at(&pair.a, 0, 5000);
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = iova + 3000;
	wr.wr.rdma.rkey = mr->rkey;
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	ktap_ok(basic_got(pair.a.scq, 0, IBV_WC_SUCCESS, NULL));
	ktap_eq(vt_check(pair.b.buf + 3024, 5000, 9), -1);
	ktap_eq(pair.b.buf[3023] | pair.b.buf[8024], 0);
	wr.wr.rdma.remote_addr = iova + 3001;
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	ktap_ok(basic_got(pair.a.scq, 0, IBV_WC_REM_ACCESS_ERR, NULL));
	ktap_eq(pair.b.buf[8024], 0);
	ktap_eq(ibv_dereg_mr(mr), 0);
	pair_down(&pair);
}

/* --- errors ------------------------------------------------------------- */

/* @n bytes of @end at @off, 9000 bytes of the null region, and @n more. */
static void around_nothing(struct vt_end *end, const struct ibv_mr *nothing,
			   u32 n, struct ibv_sge *sge)
{
	sge[0] = sge_at(end, 0, n);
	sge[1] = (struct ibv_sge){ 0x7fff0123, 9000, nothing->lkey };
	sge[2] = sge_at(end, n, n);
}

/* Reads of a null region give zeros, and writes to it are dropped. */
static void null_region(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_sge ss[3], rs[3];
	struct ibv_send_wr swr = {
		.wr_id = 1, .sg_list = ss, .num_sge = 3,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *sbad;
	struct ibv_recv_wr rwr = { .wr_id = 2, .sg_list = rs, .num_sge = 3 },
			   *rbad;
	struct ibv_mr *at_a, *at_b;
	static const u8 zeros[9000];
	struct ibv_wc wc;
	struct pair pair;

	must(pair_up(&pair, &opts));
	at_a = ibv_alloc_null_mr(da.pd);
	at_b = ibv_alloc_null_mr(db.pd);
	must(at_a && at_b);
	vt_fill(pair.a.buf, 20000, 3);
	memset(pair.b.buf, 0xff, 20000);
	around_nothing(&pair.a, at_a, 100, ss);
	must(!recv_op(&pair.b, 2, 0, 9300));
	must(!ibv_post_send(pair.a.qp, &swr, &sbad));
	must(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	must(basic_got(pair.b.rcq, 2, IBV_WC_SUCCESS, &wc));
	ktap_eq(wc.byte_len, 9200);
	ktap_mem_eq(pair.b.buf, pair.a.buf, 100);
	ktap_mem_eq(pair.b.buf + 100, zeros, 9000);
	ktap_mem_eq(pair.b.buf + 9100, pair.a.buf + 100, 100);

	memset(pair.b.buf, 0xff, 20000);
	around_nothing(&pair.b, at_b, 50, rs);
	must(!ibv_post_recv(pair.b.qp, &rwr, &rbad));
	ss[0] = sge_at(&pair.a, 0, 9100);
	swr.num_sge = 1;
	must(!ibv_post_send(pair.a.qp, &swr, &sbad));
	must(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	must(basic_got(pair.b.rcq, 2, IBV_WC_SUCCESS, &wc));
	ktap_eq(wc.byte_len, 9100);
	ktap_mem_eq(pair.b.buf, pair.a.buf, 50);
	ktap_mem_eq(pair.b.buf + 50, pair.a.buf + 9050, 50);
	ktap_eq(pair.b.buf[100], 0xff);
	ktap_eq(ibv_dereg_mr(at_a) | ibv_dereg_mr(at_b), 0);
	pair_down(&pair);
}

/* Peers cannot use it. */
static void null_region_rdma(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_mr *nothing;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct pair pair;
	size_t i;

	must(pair_up(&pair, &opts));
	nothing = ibv_alloc_null_mr(da.pd);
	must(nothing);
	memset(pair.b.buf, 0xff, BUF);
	sge = (struct ibv_sge){ 5, 150000, nothing->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)pair.b.buf;
	wr.wr.rdma.rkey = pair.b.mr->rkey;
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	must(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	ktap_eq(pair.b.buf[0] & pair.b.buf[149999], 0xff);
	wr.opcode = IBV_WR_RDMA_WRITE;
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	must(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	for (i = 0; i < 150000 && !pair.b.buf[i]; i++)
		;
	ktap_eq(i, 150000);
	ktap_eq(pair.b.buf[150000], 0xff);
	wr.wr.rdma.rkey = nothing->lkey;
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	ktap_ok(basic_got(pair.a.scq, 1, IBV_WC_REM_ACCESS_ERR, NULL));
	ktap_eq(ibv_dereg_mr(nothing), 0);
	pair_down(&pair);
}

struct bad_access {
	const char *name;
	enum ibv_wr_opcode op;
	int qp_access;			/* access flags of the responder's QP */
	int mr_access;
	bool bad_lkey, bad_rkey;
	s64 shift;			/* of the remote address */
	enum ibv_wc_status status;
};

static void one_bad_access(const struct bad_access *access)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_send_wr wr = {
		.wr_id = 1, .num_sge = 1, .opcode = access->op,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_sge sge;
	struct vt_end end_a, end_b;
	struct ibv_wc wc;

	must(!vt_end_create(&end_a, &da, &opts, BUF));
	opts.access = access->mr_access;
	must(!vt_end_create(&end_b, &db, &opts, BUF));
	end_b.o.access = access->qp_access;
	must(!vt_connect(&end_a, &end_b));
	memset(end_b.buf, 0x11, BUF);
	sge = sge_at(&end_a, 0, 8);
	sge.lkey ^= access->bad_lkey ? 0x100 : 0;
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = (uintptr_t)end_b.buf + access->shift;
	wr.wr.rdma.rkey = end_b.mr->rkey ^ (access->bad_rkey ? 1 : 0);
	if (access->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)end_b.buf + access->shift;
		wr.wr.atomic.rkey = end_b.mr->rkey ^ (access->bad_rkey ? 1 : 0);
		wr.wr.atomic.compare_add = 1;
	}
	must(!ibv_post_send(end_a.qp, &wr, &bad));
	wr.wr_id = 2;
	must(!ibv_post_send(end_a.qp, &wr, &bad));
	must(!vt_poll(end_a.scq, &wc, 1, LONG));
	if (wc.status != access->status)
		ktap_fail("%s: %s, not %s", access->name,
			  ibv_wc_status_str(wc.status),
			  ibv_wc_status_str(access->status));
	ktap_ok(basic_got(end_a.scq, 2, IBV_WC_WR_FLUSH_ERR, NULL));
	ktap_eq(vt_state(end_a.qp), IBV_QPS_ERR);
	ktap_eq(end_b.buf[0], 0x11);
	ktap_eq(end_b.buf[BUF - 1], 0x11);
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

static void access_errors(void)
{
	static const struct bad_access table[] = {
		{ "write: rkey", IBV_WR_RDMA_WRITE, VT_ACCESS, VT_ACCESS,
		  false, true, 0, IBV_WC_REM_ACCESS_ERR },
		{ "write: before", IBV_WR_RDMA_WRITE, VT_ACCESS, VT_ACCESS,
		  false, false, -1, IBV_WC_REM_ACCESS_ERR },
		{ "write: behind", IBV_WR_RDMA_WRITE, VT_ACCESS, VT_ACCESS,
		  false, false, BUF - 7, IBV_WC_REM_ACCESS_ERR },
		{ "write: wrap", IBV_WR_RDMA_WRITE, VT_ACCESS, VT_ACCESS,
		  false, false, 1LL << 63, IBV_WC_REM_ACCESS_ERR },
		/* switched off for the QP: an invalid request (IBTA 9.7.4.1) */
		{ "write: QP", IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_READ,
		  VT_ACCESS, false, false, 0, IBV_WC_REM_INV_REQ_ERR },
		{ "write: MR", IBV_WR_RDMA_WRITE, VT_ACCESS,
		  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		  false, false, 0, IBV_WC_REM_ACCESS_ERR },
		{ "read: rkey", IBV_WR_RDMA_READ, VT_ACCESS, VT_ACCESS,
		  false, true, 0, IBV_WC_REM_ACCESS_ERR },
		{ "read: QP", IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_WRITE,
		  VT_ACCESS, false, false, 0, IBV_WC_REM_INV_REQ_ERR },
		{ "read: MR", IBV_WR_RDMA_READ, VT_ACCESS,
		  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		  false, false, 0, IBV_WC_REM_ACCESS_ERR },
		{ "atomic: MR", IBV_WR_ATOMIC_FETCH_AND_ADD, VT_ACCESS,
		  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		  false, false, 0, IBV_WC_REM_ACCESS_ERR },
		{ "write: lkey", IBV_WR_RDMA_WRITE, VT_ACCESS, VT_ACCESS,
		  true, false, 0, IBV_WC_LOC_PROT_ERR },
		{ "read: lkey", IBV_WR_RDMA_READ, VT_ACCESS, VT_ACCESS,
		  true, false, 0, IBV_WC_LOC_PROT_ERR },
	};
	unsigned int i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		one_bad_access(&table[i]);
}

/* A key of another protection domain is refused. */
static void foreign_pd(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_send_wr wr = {
		.num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = IBV_WR_RDMA_WRITE,
	}, *bad;
	struct ibv_sge sge;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct pair pair;

	must(pair_up(&pair, &opts));
	pd = ibv_alloc_pd(db.ctx);
	must(pd);
	mr = ibv_reg_mr(pd, pair.b.buf, 4096, VT_ACCESS);
	must(mr);
	sge = sge_at(&pair.a, 0, 8);
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = (uintptr_t)pair.b.buf;
	wr.wr.rdma.rkey = mr->rkey;
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	ktap_ok(basic_got(pair.a.scq, 0, IBV_WC_REM_ACCESS_ERR, NULL));
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	pair_down(&pair);
}

/* A message longer than the receive that meets it. */
static void recv_too_small(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair pair;

	must(pair_up(&pair, &opts));
	memset(pair.b.buf, 0, 8192);
	must(!recv_op(&pair.b, 1, 0, 3000));
	memset(pair.a.buf, 0x22, 8192);
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 2, 0, 3001,
			      IBV_SEND_SIGNALED));
	ktap_ok(basic_got(pair.b.rcq, 1, IBV_WC_LOC_LEN_ERR, NULL));
	ktap_ok(basic_got(pair.a.scq, 2, IBV_WC_REM_INV_REQ_ERR, NULL));
	ktap_eq(pair.b.buf[3000], 0);
	ktap_eq(vt_state(pair.b.qp), IBV_QPS_ERR);
	pair_down(&pair);
}

/* rnr_retry 2 and a timer of 40.96 ms: three attempts, then the error. */
static void rnr_exhaustion(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair pair;
	u64 begin, took;

	opts.rnr_retry = 2;
	opts.rnr_timer = 24;
	must(pair_up(&pair, &opts));
	begin = vt_now_ms();
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 1, 0, 10,
			      IBV_SEND_SIGNALED));
	ktap_ok(basic_got(pair.a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR, NULL));
	took = vt_now_ms() - begin;
	ktap_diag("after %llu ms", took);
	ktap_ok(took >= 80 && took < (u64)vt_ms(5000));
	pair_down(&pair);
}

/* rnr_retry 7 retries without end; the message arrives once. */
static void rnr_patience(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc;
	struct pair pair;

	opts.rnr_timer = 18;	/* 5.12 ms */
	must(pair_up(&pair, &opts));
	vt_fill(pair.a.buf, 9000, 3);
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 1, 0, 9000,
			      IBV_SEND_SIGNALED));
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 2, 0, 10,
			      IBV_SEND_SIGNALED));
	/* more refusals than any other retry count allows */
	usleep(150000);
	ktap_eq(ibv_poll_cq(pair.a.scq, 1, &wc), 0);
	must(!recv_op(&pair.b, 1, 0, 9000));
	must(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	must(basic_got(pair.b.rcq, 1, IBV_WC_SUCCESS, NULL));
	ktap_eq(vt_check(pair.b.buf, 9000, 3), -1);
	must(!recv_op(&pair.b, 2, 0, 9000));
	must(basic_got(pair.b.rcq, 2, IBV_WC_SUCCESS, NULL));
	must(basic_got(pair.a.scq, 2, IBV_WC_SUCCESS, NULL));
	pair_down(&pair);
}

/* The peer does not answer: timeout 14 (67 ms), 2 retries. */
static void retry_exhaustion(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct vt_opts opts = VT_OPTS;
	struct pair pair;
	u64 begin, took;
	unsigned int i;

	opts.timeout = 14;
	opts.retry_cnt = 2;
	for (i = 0; i < 3; i++) {
		must(pair_up(&pair, &opts));
		must(!vt_to_state(pair.b.qp, IBV_QPS_RESET));
		begin = vt_now_ms();
		must(!send_op(&pair.a, &pair.b, ops[i], 1, 0, 8,
				      IBV_SEND_SIGNALED));
		ktap_ok(basic_got(pair.a.scq, 1, IBV_WC_RETRY_EXC_ERR, NULL));
		took = vt_now_ms() - begin;
		ktap_diag("after %llu ms", took);
		/* IBTA 9.9.2.1: each timeout between one and four times 67 ms */
		ktap_ok(took >= 190 && took < (u64)vt_ms(5000));
		pair_down(&pair);
	}
}

static void sq_overflow(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair pair;
	int n, err = 0;

	opts.cap.max_send_wr = 16;
	opts.cap.max_recv_wr = 16;
	must(pair_up(&pair, &opts));
	must(!ibv_query_qp(pair.a.qp, &attr, IBV_QP_CAP, &init));
	/* there is no receive: the queue stays full */
	for (n = 0; n < 4096 && !err; n++)
		err = send_op(&pair.a, &pair.b, IBV_WR_SEND, n, 0, 8,
			      IBV_SEND_SIGNALED);
	ktap_eq(err, ENOMEM);
	/* As many as are reported: programs size completion queues by this. */
	ktap_eq(n - 1, (int)attr.cap.max_send_wr);
	for (n = 0, err = 0; n < 4096 && !err; n++)
		err = recv_op(&pair.a, n, 0, 8);
	ktap_eq(err, ENOMEM);
	ktap_eq(n - 1, (int)attr.cap.max_recv_wr);
	pair_down(&pair);
}

/* A list stops at its first bad request and names it; those before it are posted. */
static void bad_wr_in_list(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_send_wr wr[3], *bad = NULL;
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct pair pair;
	int i;

	must(pair_up(&pair, &opts));
	sge = sge_at(&pair.a, 0, 8);
	memset(wr, 0, sizeof(wr));
	for (i = 0; i < 3; i++) {
		wr[i].wr_id = i;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].sg_list = &sge;
		wr[i].num_sge = i == 1 ? 1000 : 1;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = (uintptr_t)pair.b.buf;
		wr[i].wr.rdma.rkey = pair.b.mr->rkey;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	ktap_ok(ibv_post_send(pair.a.qp, wr, &bad));
	ktap_ok(bad == &wr[1]);
	ktap_ok(basic_got(pair.a.scq, 0, IBV_WC_SUCCESS, NULL));
	wr[2].opcode = 99;
	ktap_ok(ibv_post_send(pair.a.qp, &wr[2], &bad));
	ktap_ok(bad == &wr[2]);
	ktap_eq(ibv_poll_cq(pair.a.scq, 1, &wc), 0);
	pair_down(&pair);
}

/* --- states ------------------------------------------------------------- */

/* ERR flushes both queues in order, and later requests. */
static void flush(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair pair;
	int i;

	must(pair_up(&pair, &opts));
	for (i = 0; i < 5; i++) {
		must(!recv_op(&pair.a, i, 0, 8));
		/* without a receive they stay */
		must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, i, 0, 8, 0));
	}
	must(!vt_to_state(pair.a.qp, IBV_QPS_ERR));
	for (i = 0; i < 5; i++) {
		must(basic_got(pair.a.scq, i, IBV_WC_WR_FLUSH_ERR, NULL));
		must(basic_got(pair.a.rcq, i, IBV_WC_WR_FLUSH_ERR, NULL));
	}
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 8, 0, 8, 0));
	must(!recv_op(&pair.a, 9, 0, 8));
	ktap_ok(basic_got(pair.a.scq, 8, IBV_WC_WR_FLUSH_ERR, NULL));
	ktap_ok(basic_got(pair.a.rcq, 9, IBV_WC_WR_FLUSH_ERR, NULL));
	ktap_eq(vt_state(pair.a.qp), IBV_QPS_ERR);
	pair_down(&pair);
}

/* RESET drops all requests; the same QPs connect again. */
static void reset_and_again(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc;
	struct pair pair;
	int round;

	must(pair_up(&pair, &opts));
	for (round = 0; round < 5; round++) {
		must(!recv_op(&pair.b, 1, 0, 100));
		must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 2, 0, 50,
				      IBV_SEND_SIGNALED));
		must(basic_got(pair.a.scq, 2, IBV_WC_SUCCESS, NULL));
		must(basic_got(pair.b.rcq, 1, IBV_WC_SUCCESS, NULL));
		/* left over: neither may complete */
		must(!recv_op(&pair.a, 3, 0, 100));
		must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 4, 0, 50,
				      IBV_SEND_SIGNALED));
		must(!vt_to_state(pair.a.qp, IBV_QPS_RESET));
		must(!vt_to_state(pair.b.qp, IBV_QPS_RESET));
		ktap_eq(vt_state(pair.a.qp), IBV_QPS_RESET);
		ktap_eq(ibv_poll_cq(pair.a.scq, 1, &wc), 0);
		ktap_eq(ibv_poll_cq(pair.a.rcq, 1, &wc), 0);
		pair.a.psn = round * 1000;
		pair.b.psn = round * 77777;
		must(!vt_connect(&pair.a, &pair.b));
	}
	pair_down(&pair);
}

/* SQD completes sent requests, reports that, and holds later ones. */
static void sqd(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1,
	};
	struct ibv_wc wc;
	struct pair pair;

	must(pair_up(&pair, &opts));
	must(!send_op(&pair.a, &pair.b, IBV_WR_RDMA_WRITE, 1, 0, 50000,
			      IBV_SEND_SIGNALED));
	must(!ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE |
				    IBV_QP_EN_SQD_ASYNC_NOTIFY));
	ktap_ok(vt_async(&da, IBV_EVENT_SQ_DRAINED, LONG));
	ktap_eq(vt_state(pair.a.qp), IBV_QPS_SQD);
	ktap_eq(send_op(&pair.a, &pair.b, IBV_WR_RDMA_WRITE, 2, 0, 8,
			IBV_SEND_SIGNALED), 0);
	usleep(50000);
	/* the first may have been stopped before it began */
	if (ibv_poll_cq(pair.a.scq, 1, &wc))
		ktap_eq(wc.wr_id, 1);
	ktap_eq(ibv_poll_cq(pair.a.scq, 1, &wc), 0);
	/* incoming work goes on */
	must(!send_op(&pair.b, &pair.a, IBV_WR_RDMA_READ, 5, 0, 5000,
			      IBV_SEND_SIGNALED));
	ktap_ok(basic_got(pair.b.scq, 5, IBV_WC_SUCCESS, NULL));
	must(!vt_to_state(pair.a.qp, IBV_QPS_RTS));
	do
		must(!vt_poll(pair.a.scq, &wc, 1, LONG));
	while (wc.wr_id != 2 && !wc.status);
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	pair_down(&pair);
}

static void destroy_with_work(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair pair;
	int i, k;

	for (k = 0; k < 10; k++) {
		must(pair_up(&pair, &opts));
		for (i = 0; i < 8; i++) {
			recv_op(&pair.a, i, 0, 4096);
			send_op(&pair.a, &pair.b, IBV_WR_RDMA_WRITE, i, 0, 100000, 0);
			send_op(&pair.b, &pair.a, IBV_WR_RDMA_READ, i, 0, 100000, 0);
		}
		if (k & 1)
			usleep(1000 * k);
		pair_down(&pair);
	}
}

#define DELAY	"/sys/module/cairn_delay/parameters/"

/* Return: the number in the file @path, -1 if there is none. */
static int number_in(const char *path)
{
	FILE *file = fopen(path, "r");
	int value = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

static bool number_to(const char *path, int value)
{
	FILE *file = fopen(path, "w");
	bool ok = file && fprintf(file, "%d\n", value) > 0;

	return file && !fclose(file) && ok;
}

/* Called also when a test ends early. */
static void idle_restore(void)
{
	cairndv_set_idle_time(da.ctx, CAIRNDV_IDLE_DEFAULT);
}

/* Hold a lane that polls for posts after it has seen one. Return: false if no lane
 * polls.
 */
static bool lane_hold(void)
{
	u64 end = vt_now_ms() + 50;
	int held = number_in(DELAY "lanes_held");

	if (!number_to(DELAY "hold_lanes", 1))
		return false;
	while (number_in(DELAY "lanes_held") == held)
		if (vt_now_ms() > end)
			return false;
	return true;
}

/* A program that ends a connection right after a post expects the message to be sent, as
 * by a device with a doorbell for each request. After the first message a lane polls for
 * more, so later posts ring no doorbell. Then the lane is held, as if the host did not
 * run it.
 */
static void last_messages(void)
{
	int round, i, err, held = 0;
	bool can_hold = number_in(DELAY "lanes_held") >= 0;
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc[20];
	struct pair pair;

	if (can_hold)
		must(!atexit(idle_restore) &&
		     !cairndv_set_idle_time(da.ctx, 20000));
	for (round = 0; round < 12; round++) {
		must(pair_up(&pair, &opts));
		/* more than enough, credits are rounded down */
		for (i = 0; i < 40; i++)
			must(!recv_op(&pair.b, i, 0, 100));
		must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 3, 0, 50,
			      IBV_SEND_SIGNALED));
		must(basic_got(pair.a.scq, 3, IBV_WC_SUCCESS, NULL));
		held += can_hold && lane_hold();
		for (i = 0, err = 0; i < 19; i++)
			err |= send_op(&pair.a, &pair.b, IBV_WR_SEND, 4, 0, 50,
				       IBV_SEND_INLINE);
		if (round % 3 == 2)
			vt_end_destroy(&pair.a);
		else
			err |= vt_to_state(pair.a.qp, round % 3 ? IBV_QPS_RESET :
							       IBV_QPS_ERR);
		must(!can_hold || number_to(DELAY "hold_lanes", 0));
		must(!err);
		must(!vt_poll(pair.b.rcq, wc, 20, LONG));
		ktap_eq(wc[19].status, IBV_WC_SUCCESS);
		pair_down(&pair);
	}
	if (can_hold) {
		ktap_diag("the lane was held in %d rounds of 12", held);
		idle_restore();
	}
}

/* A connection is established by its first packet, too. */
static void comm_est(void)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end end_a, end_b;

	must(!vt_end_create(&end_a, &da, &opts, 4096) &&
		     !vt_end_create(&end_b, &db, &opts, 4096) &&
		     !vt_to_init(&end_a) && !vt_to_init(&end_b) &&
		     !vt_to_rtr(&end_a, &end_b) &&
		     !vt_to_rtr(&end_b, &end_a) && !vt_to_rts(&end_a));
	must(!recv_op(&end_b, 1, 0, 100));
	must(!send_op(&end_a, &end_b, IBV_WR_SEND, 2, 0, 100,
			      IBV_SEND_SIGNALED));
	ktap_ok(basic_got(end_a.scq, 2, IBV_WC_SUCCESS, NULL));
	ktap_ok(basic_got(end_b.rcq, 1, IBV_WC_SUCCESS, NULL));
	ktap_ok(vt_async(&db, IBV_EVENT_COMM_EST, LONG));
	ktap_eq(vt_to_rts(&end_b), 0);
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

/* --- completion queues -------------------------------------------------- */

/* Both events, in any order. */
static void overflow_is_told(struct vt_dev *dev)
{
	static const enum ibv_event_type types[] = { IBV_EVENT_CQ_ERR,
						     IBV_EVENT_QP_FATAL };

	ktap_ok(vt_async_each(dev, types, 2, LONG));
}

static void cq_overflow(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair pair;
	int i;

	opts.cqe = 8;
	must(pair_up(&pair, &opts));
	for (i = 0; i < pair.a.scq->cqe + 4 && i < 60; i++)
		must(!send_op(&pair.a, &pair.b, IBV_WR_RDMA_WRITE, i, 0, 8,
				      IBV_SEND_SIGNALED));
	overflow_is_told(&da);
	ktap_eq(vt_state(pair.a.qp), IBV_QPS_ERR);
	pair_down(&pair);
}

/* A message whose completion has no room is not acknowledged. */
static void cq_overflow_of_receives(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc[8], more;
	struct pair pair;
	int i;

	opts.cqe = 8;
	must(pair_up(&pair, &opts));
	must(!ibv_resize_cq(pair.b.rcq, 2));
	for (i = 0; i < 8; i++)
		must(!recv_op(&pair.b, i, 0, 100));
	for (i = 0; i < 8; i++)
		must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, i, 0, 10,
			      IBV_SEND_SIGNALED));
	must(!vt_poll(pair.a.scq, wc, 8, LONG));
	for (i = 0; i < 8; i++) {
		ktap_eq(wc[i].wr_id, i);
		ktap_eq(wc[i].status, i < 2 ? IBV_WC_SUCCESS :
			i == 2 ? IBV_WC_REM_OP_ERR : IBV_WC_WR_FLUSH_ERR);
	}
	overflow_is_told(&db);
	ktap_eq(vt_state(pair.b.qp), IBV_QPS_ERR);
	for (i = 0; i < 8; i++)
		must(basic_got(pair.b.rcq, i, i < 2 ? IBV_WC_SUCCESS :
					     IBV_WC_WR_FLUSH_ERR, NULL));
	ktap_eq(ibv_poll_cq(pair.b.rcq, 1, &more), 0);
	pair_down(&pair);
}

static bool basic_drained(struct ibv_cq *cq, int n, int batch)
{
	u64 end = vt_now_ms() + LONG;
	unsigned int idle = 0;
	struct ibv_wc wc[8];
	int i, ne, next = 0;

	while (next < n && vt_now_ms() < end) {
		ne = ibv_poll_cq(cq, batch, wc);
		for (i = 0; i < ne; i++) {
			if (!ktap_eq(wc[i].wr_id, next++) ||
			    !ktap_eq(wc[i].status, IBV_WC_WR_FLUSH_ERR))
				return false;
		}
		if (ne > 0)
			idle = 0;
		else
			vt_relax(&idle);
	}
	return ktap_eq(next, n) && ktap_eq(ibv_poll_cq(cq, 1, wc), 0);
}

/* Flushed requests wait for room in the CQ, without a time limit. */
static void flush_beyond_the_cq(void)
{
	static const int batches[] = { 1, 3, 8 };
	struct vt_opts opts = VT_OPTS;
	struct pair pair;
	size_t b;
	int i;

	opts.cqe = 8;
	opts.cap.max_send_wr = 240;
	opts.cap.max_recv_wr = 240;
	for (b = 0; b < 3; b++) {
		must(pair_up(&pair, &opts));
		for (i = 0; i < 240; i++)
			must(!recv_op(&pair.a, i, 0, 8));
		for (i = 0; i < 240; i++)
			must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, i, 0, 8,
				      IBV_SEND_SIGNALED));
		must(!vt_to_state(pair.a.qp, IBV_QPS_ERR));
		usleep(20000);
		ktap_ok(basic_drained(pair.a.scq, 240, batches[b]));
		ktap_ok(basic_drained(pair.a.rcq, 240, batches[b]));
		ktap_ok(!vt_async(&da, IBV_EVENT_CQ_ERR, 10));
		pair_down(&pair);
	}
}

/* A larger queue has room, too. Destroying objects with pending completions ends. */
static void flush_and_resize_or_destroy(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair pair;
	int i, round;

	opts.cqe = 8;
	for (round = 0; round < 3; round++) {
		must(pair_up(&pair, &opts));
		for (i = 0; i < 60; i++)
			must(!recv_op(&pair.a, i, 0, 8));
		must(!vt_to_state(pair.a.qp, IBV_QPS_ERR));
		if (round == 0) {
			must(!ibv_resize_cq(pair.a.rcq, 64));
			ktap_ok(basic_drained(pair.a.rcq, 60, 8));
		} else if (round == 1) {
			must(!vt_to_state(pair.a.qp, IBV_QPS_RESET));
		}
		pair_down(&pair);
	}
}

/* Completions of a destroyed queue pair leave room for those of another one. */
static void cq_room_of_the_gone(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair gone, pair;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	int i;

	opts.cqe = 16;
	must(pair_up(&gone, &opts));
	cq = gone.b.rcq;
	ktap_eq(cq->cqe, 16);
	for (i = 0; i < 16; i++) {
		must(!recv_op(&gone.b, i, 0, 8));
		must(!send_op(&gone.a, &gone.b, IBV_WR_SEND, i, 0, 8,
			      IBV_SEND_SIGNALED));
	}
	/* acknowledged after they were received: the CQ is full, and no thread polls */
	for (i = 0; i < 16; i++)
		must(basic_got(gone.a.scq, i, IBV_WC_SUCCESS, NULL));
	must(!ibv_destroy_qp(gone.b.qp));
	gone.b.qp = NULL;
	must(!vt_end_create(&pair.a, &da, &opts, BUF));
	opts.send_cq = cq;
	must(!vt_end_create(&pair.b, &db, &opts, BUF));
	must(!vt_connect(&pair.a, &pair.b));
	must(!send_op(&pair.b, &pair.a, IBV_WR_RDMA_WRITE, 77, 0, 8,
		      IBV_SEND_SIGNALED));
	ktap_ok(basic_got(cq, 77, IBV_WC_SUCCESS, NULL));
	ktap_eq(ibv_poll_cq(cq, 1, &wc), 0);
	ktap_ok(!vt_async(&db, IBV_EVENT_CQ_ERR, 100));
	pair_down(&pair);
	pair_down(&gone);
}

/* All completions of a stream arrive in order while the CQ is resized. */
static void resize_under_load(void)
{
	struct vt_opts opts = VT_OPTS;
	unsigned int idle = 0, sent = 0, seen = 0, sizes = 0;
	u64 end = vt_now_ms() + LONG;
	struct ibv_wc wc[8];
	struct pair pair;
	int i, n;

	opts.cqe = 64;
	must(pair_up(&pair, &opts));
	while (seen < 4000 && vt_now_ms() < end) {
		while (sent < 4000 && sent - seen < 48 &&
		       !send_op(&pair.a, &pair.b, IBV_WR_RDMA_WRITE, sent, 0, 8,
				IBV_SEND_SIGNALED))
			sent++;
		if (seen / 100 >= sizes) {
			ktap_eq(ibv_resize_cq(pair.a.scq, sizes & 1 ? 64 : 1000), 0);
			sizes++;
		}
		n = ibv_poll_cq(pair.a.scq, 8, wc);
		for (i = 0; i < n; i++, seen++) {
			must(wc[i].wr_id == seen);
			must(wc[i].status == IBV_WC_SUCCESS);
		}
		if (n > 0)
			idle = 0;
		else
			vt_relax(&idle);
	}
	ktap_eq(seen, 4000);
	ktap_diag("%u times another size", sizes);
	ktap_ok(ibv_resize_cq(pair.a.scq, 1 << 30));
	pair_down(&pair);
}

/* An event is delayed for a number of completions or for a time. */
static void cq_moderation(void)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 3, .cq_period = 60000 },
	};
	struct vt_opts opts = VT_OPTS;
	struct pair pair;
	u64 began;
	int i, n;

	opts.channel = true;
	must(pair_up(&pair, &opts));
	ktap_eq(ibv_modify_cq(pair.b.rcq, &attr), 0);
	/* one completion: no event before the time is over */
	must(!ibv_req_notify_cq(pair.b.rcq, 0));
	must(!recv_op(&pair.b, 0, 0, 100));
	began = vt_now_ms();
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 0, 0, 10, IBV_SEND_SIGNALED));
	must(vt_event(pair.b.rchan, LONG));
	ktap_ok(vt_now_ms() - began >= 59);
	must(basic_got(pair.b.rcq, 0, IBV_WC_SUCCESS, NULL));
	must(basic_got(pair.a.scq, 0, IBV_WC_SUCCESS, NULL));
	/* three, and an error, which does not wait for more */
	attr.moderate.cq_period = 0xffff;
	ktap_eq(ibv_modify_cq(pair.b.rcq, &attr), 0);
	for (n = 0; n < 20; n++) {
		must(!ibv_req_notify_cq(pair.b.rcq, 0));
		for (i = 0; i < 3; i++) {
			must(!recv_op(&pair.b, i, 0, 100));
			must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, i, 0, 10,
				      IBV_SEND_SIGNALED));
		}
		must(vt_event(pair.b.rchan, LONG));
		for (i = 0; i < 3; i++) {
			must(basic_got(pair.b.rcq, i, IBV_WC_SUCCESS, NULL));
			must(basic_got(pair.a.scq, i, IBV_WC_SUCCESS, NULL));
		}
	}
	must(!ibv_req_notify_cq(pair.b.rcq, 0));
	must(!recv_op(&pair.b, 7, 0, 100));
	must(!vt_to_state(pair.b.qp, IBV_QPS_ERR));
	must(vt_event(pair.b.rchan, LONG));
	must(basic_got(pair.b.rcq, 7, IBV_WC_WR_FLUSH_ERR, NULL));
	/* delayed when the queue is destroyed */
	must(!ibv_req_notify_cq(pair.b.rcq, 0));
	pair_down(&pair);
}

static void cq_events(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc[2];
	struct pair pair;
	int i;

	opts.channel = true;
	must(pair_up(&pair, &opts));
	for (i = 0; i < 20; i++) {
		must(!ibv_req_notify_cq(pair.b.rcq, 0));
		must(!recv_op(&pair.b, i, 0, 100));
		must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, i, 0, 10,
				      IBV_SEND_SIGNALED));
		must(vt_event(pair.b.rchan, LONG));
		must(basic_got(pair.b.rcq, i, IBV_WC_SUCCESS, NULL));
		must(basic_got(pair.a.scq, i, IBV_WC_SUCCESS, NULL));
	}
	/* not armed: no event; armed once: one event for two completions */
	for (i = 0; i < 3; i++) {
		must(!recv_op(&pair.b, i, 0, 100));
		must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, i, 0, 10,
				      IBV_SEND_SIGNALED));
		must(basic_got(pair.a.scq, i, IBV_WC_SUCCESS, NULL));
		must(basic_got(pair.b.rcq, i, IBV_WC_SUCCESS, NULL));
	}
	ktap_ok(!vt_event(pair.b.rchan, 100));
	must(!ibv_req_notify_cq(pair.b.rcq, 0));
	for (i = 0; i < 2; i++) {
		must(!recv_op(&pair.b, i, 0, 100));
		must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, i, 0, 10, 0));
	}
	must(!vt_poll(pair.b.rcq, wc, 2, LONG));
	ktap_ok(vt_event(pair.b.rchan, LONG));
	ktap_ok(!vt_event(pair.b.rchan, 100));
	pair_down(&pair);
}

/* Armed while there are unpolled completions: an event, unless they are polled soon. */
static void armed_too_late(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair pair;
	int i;

	opts.channel = true;
	must(pair_up(&pair, &opts));
	for (i = 0; i < 3; i++) {
		must(!recv_op(&pair.b, i, 0, 100));
		must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, i, 0, 10,
			      i == 1 ? IBV_SEND_SIGNALED | IBV_SEND_SOLICITED :
				       IBV_SEND_SIGNALED));
		must(basic_got(pair.a.scq, i, IBV_WC_SUCCESS, NULL));
	}
	must(!ibv_req_notify_cq(pair.b.rcq, 0));
	ktap_ok(vt_event(pair.b.rchan, LONG));
	must(basic_got(pair.b.rcq, 0, IBV_WC_SUCCESS, NULL));
	must(!ibv_req_notify_cq(pair.b.rcq, 1));
	ktap_ok(vt_event(pair.b.rchan, LONG));
	must(basic_got(pair.b.rcq, 1, IBV_WC_SUCCESS, NULL));
	/* The remaining completion is not solicited. */
	must(!ibv_req_notify_cq(pair.b.rcq, 1));
	ktap_ok(!vt_event(pair.b.rchan, 100));
	must(!ibv_req_notify_cq(pair.b.rcq, 0));
	ktap_ok(vt_event(pair.b.rchan, LONG));
	must(basic_got(pair.b.rcq, 2, IBV_WC_SUCCESS, NULL));
	must(!ibv_req_notify_cq(pair.b.rcq, 0));
	ktap_ok(!vt_event(pair.b.rchan, 100));
	pair_down(&pair);
}

static void solicited(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair pair;

	opts.channel = true;
	must(pair_up(&pair, &opts));
	must(!recv_op(&pair.b, 1, 0, 100) && !recv_op(&pair.b, 2, 0, 100) &&
		     !recv_op(&pair.b, 3, 0, 100));
	must(!ibv_req_notify_cq(pair.b.rcq, 1));
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 1, 0, 10, 0));
	must(basic_got(pair.b.rcq, 1, IBV_WC_SUCCESS, NULL));
	ktap_ok(!vt_event(pair.b.rchan, 100));
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 2, 0, 10,
			      IBV_SEND_SOLICITED));
	ktap_ok(vt_event(pair.b.rchan, LONG));
	must(basic_got(pair.b.rcq, 2, IBV_WC_SUCCESS, NULL));
	/* an error always causes an event */
	must(!ibv_req_notify_cq(pair.b.rcq, 1));
	must(!vt_to_state(pair.b.qp, IBV_QPS_ERR));
	ktap_ok(vt_event(pair.b.rchan, LONG));
	ktap_ok(basic_got(pair.b.rcq, 3, IBV_WC_WR_FLUSH_ERR, NULL));
	pair_down(&pair);
}

/* One completion in eight; the ring turns around many times. */
static void unsignaled(void)
{
	struct vt_opts opts = VT_OPTS;
	unsigned int idle = 0, sent, seen = 0;
	u64 end = vt_now_ms() + LONG;
	struct ibv_wc wc;
	struct pair pair;
	int err;

	must(pair_up(&pair, &opts));
	for (sent = 0; sent < 2000 && vt_now_ms() < end;) {
		err = send_op(&pair.a, &pair.b, IBV_WR_RDMA_WRITE, sent, 0, 64,
			      sent % 8 == 7 ? IBV_SEND_SIGNALED : 0);
		sent += !err;
		while (ibv_poll_cq(pair.a.scq, 1, &wc) > 0) {
			must(wc.wr_id == seen + 7 && !wc.status);
			seen += 8;
		}
		if (err)
			vt_relax(&idle);
	}
	for (; seen < 2000; seen += 8)
		must(basic_got(pair.a.scq, seen + 7, IBV_WC_SUCCESS, NULL));
	ktap_eq(ibv_poll_cq(pair.a.scq, 1, &wc), 0);
	pair_down(&pair);
}

static void extended_cq(void)
{
	const u64 flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM |
			  IBV_WC_EX_WITH_QP_NUM |
			  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .wc_flags = flags };
	struct ibv_qp_init_attr init = {
		.cap = { 16, 16, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	struct ibv_poll_cq_attr poll_attr = {};
	u64 last = 0, end = vt_now_ms() + LONG;
	struct vt_opts opts = VT_OPTS;
	struct ibv_cq_ex *cq;
	struct vt_end end_b, end_a;
	int i, n = 0;

	must(!vt_end_create(&end_a, &da, &opts, 4096) &&
		     !vt_end_create(&end_b, &db, &opts, 4096));
	cq = ibv_create_cq_ex(db.ctx, &attr);
	must(cq);
	ibv_destroy_qp(end_b.qp);
	init.send_cq = ibv_cq_ex_to_cq(cq);
	init.recv_cq = ibv_cq_ex_to_cq(cq);
	end_b.qp = ibv_create_qp(db.pd, &init);
	must(end_b.qp && !vt_connect(&end_a, &end_b));
	ktap_eq(ibv_start_poll(cq, &poll_attr), ENOENT);
	for (i = 0; i < 10; i++) {
		must(!recv_op(&end_b, i, 0, 100));
		must(!send_op(&end_a, &end_b, IBV_WR_SEND_WITH_IMM, i, 0,
				      10 + i, IBV_SEND_SIGNALED));
		must(basic_got(end_a.scq, i, IBV_WC_SUCCESS, NULL));
	}
	while (n < 10 && vt_now_ms() < end) {
		if (ibv_start_poll(cq, &poll_attr))
			continue;
		do {
			ktap_eq(cq->wr_id, n);
			ktap_eq(cq->status, IBV_WC_SUCCESS);
			ktap_eq(ibv_wc_read_opcode(cq), IBV_WC_RECV);
			ktap_eq(ibv_wc_read_byte_len(cq), 10 + n);
			ktap_eq(be32toh(ibv_wc_read_imm_data(cq)), 0x1234abcd);
			ktap_eq(ibv_wc_read_qp_num(cq), end_b.qp->qp_num);
			ktap_eq(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
			ktap_ok(ibv_wc_read_completion_ts(cq) >= last);
			last = ibv_wc_read_completion_ts(cq);
			n++;
		} while (!ibv_next_poll(cq));
		ibv_end_poll(cq);
	}
	ktap_eq(n, 10);
	ktap_ok(last > 0);
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
	ktap_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

/* --- extended QP -------------------------------------------------------- */

static struct ibv_qp *qp_ex_create(struct vt_end *end)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = end->scq, .recv_cq = end->rcq, .qp_type = IBV_QPT_RC,
		.cap = { 32, 32, 8, 8, 256 }, .pd = da.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND |
				  IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
				  IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	};

	return ibv_create_qp_ex(da.ctx, &init);
}

/* Builders with one SGE, several SGEs, and inline data, several requests in one list. */
static void extended_qp(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_data_buf bufs[2];
	struct ibv_qp_ex *qx;
	struct ibv_sge sge[2];
	struct ibv_wc wc[8];
	struct vt_end end_a, end_b;
	u64 rb;
	u32 rk;
	int i;

	must(!vt_end_create(&end_a, &da, &opts, 16384) &&
		     !vt_end_create(&end_b, &db, &opts, 16384));
	ibv_destroy_qp(end_a.qp);
	end_a.qp = qp_ex_create(&end_a);
	must(end_a.qp && !vt_connect(&end_a, &end_b));
	qx = ibv_qp_to_qp_ex(end_a.qp);
	must(qx);
	vt_fill(end_a.buf, 4096, 1);
	*(u64 *)(end_b.buf + 8192) = 5;
	rb = (uintptr_t)end_b.buf;
	rk = end_b.mr->rkey;
	for (i = 0; i < 3; i++)
		must(!recv_op(&end_b, i, 12288 + i * 1024, 1024));

	ibv_wr_start(qx);
	qx->wr_flags = IBV_SEND_SIGNALED;
	qx->wr_id = 0;
	ibv_wr_send(qx);
	sge[0] = sge_at(&end_a, 0, 100);
	sge[1] = sge_at(&end_a, 100, 200);
	ibv_wr_set_sge_list(qx, 2, sge);
	qx->wr_id = 1;
	ibv_wr_send_imm(qx, htobe32(77));
	ibv_wr_set_inline_data(qx, end_a.buf, 200);
	qx->wr_id = 2;
	ibv_wr_rdma_write(qx, rk, rb);
	ibv_wr_set_sge(qx, end_a.mr->lkey, (uintptr_t)end_a.buf, 4000);
	qx->wr_id = 3;
	ibv_wr_rdma_write_imm(qx, rk, rb + 4096, htobe32(78));
	bufs[0] = (struct ibv_data_buf) { end_a.buf, 30 };
	bufs[1] = (struct ibv_data_buf) { end_a.buf + 30, 60 };
	ibv_wr_set_inline_data_list(qx, 2, bufs);
	qx->wr_id = 4;
	ibv_wr_rdma_read(qx, rk, rb);
	ibv_wr_set_sge(qx, end_a.mr->lkey, (uintptr_t)end_a.buf + 8192, 1000);
	qx->wr_id = 5;
	ibv_wr_atomic_fetch_add(qx, rk, rb + 8192, 4);
	ibv_wr_set_sge(qx, end_a.mr->lkey, (uintptr_t)end_a.buf + 12288, 8);
	qx->wr_id = 6;
	ibv_wr_atomic_cmp_swp(qx, rk, rb + 8192, 9, 1);
	ibv_wr_set_sge(qx, end_a.mr->lkey, (uintptr_t)end_a.buf + 12296, 8);
	must(!ibv_wr_complete(qx));

	must(!vt_poll(end_a.scq, wc, 7, LONG));
	for (i = 0; i < 7; i++) {
		ktap_eq(wc[i].status, IBV_WC_SUCCESS);
		ktap_eq(wc[i].wr_id, i);
	}
	ktap_eq(vt_check(end_b.buf + 12288, 300, 1), -1);
	ktap_eq(vt_check(end_b.buf + 12288 + 1024, 200, 1), -1);
	ktap_eq(vt_check(end_b.buf, 4000, 1), -1);
	ktap_eq(vt_check(end_b.buf + 4096, 90, 1), -1);
	ktap_eq(vt_check(end_a.buf + 8192, 1000, 1), -1);
	ktap_eq(*(u64 *)(end_a.buf + 12288), 5);
	ktap_eq(*(u64 *)(end_a.buf + 12296), 9);
	ktap_eq(*(u64 *)(end_b.buf + 8192), 1);

	/* aborted: no request is sent */
	ibv_wr_start(qx);
	ibv_wr_rdma_write(qx, rk, rb);
	ibv_wr_set_sge(qx, end_a.mr->lkey, (uintptr_t)end_a.buf, 8);
	ibv_wr_abort(qx);
	ktap_eq(ibv_poll_cq(end_a.scq, 1, wc), 0);
	must(!send_op(&end_a, &end_b, IBV_WR_RDMA_WRITE, 50, 0, 8,
			      IBV_SEND_SIGNALED));
	ktap_ok(basic_got(end_a.scq, 50, IBV_WC_SUCCESS, NULL));
	/* more inline data than max_inline_data: the whole list fails */
	ibv_wr_start(qx);
	ibv_wr_send(qx);
	ibv_wr_set_inline_data(qx, end_a.buf, 4000);
	ktap_ok(ibv_wr_complete(qx));
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

/* --- datagrams ---------------------------------------------------------- */

static struct ibv_send_wr ud_wr(struct vt_end *to, struct ibv_ah *ah,
				struct ibv_sge *sge, u32 qkey, u64 id)
{
	return (struct ibv_send_wr) {
		.wr_id = id, .sg_list = sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = to->qp->qp_num,
			   .remote_qkey = qkey },
	};
}

static void datagrams(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct pair pair;

	opts.type = IBV_QPT_UD;
	must(pair_up(&pair, &opts));
	ah = vt_ah(&da, &db);
	must(ah);
	vt_fill(pair.a.buf, 1024, 8);
	sge = sge_at(&pair.a, 0, 1024);
	must(!recv_op(&pair.b, 1, 0, 2048) && !recv_op(&pair.b, 2, 4096, 2048));
	/* the wrong key is dropped, without an answer */
	wr = ud_wr(&pair.b, ah, &sge, VT_QKEY + 1, 1);
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	ktap_ok(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	wr = ud_wr(&pair.b, ah, &sge, VT_QKEY, 2);
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	ktap_ok(basic_got(pair.a.scq, 2, IBV_WC_SUCCESS, NULL));
	must(basic_got(pair.b.rcq, 1, IBV_WC_SUCCESS, &wc));
	ktap_eq(wc.byte_len, 1024 + VT_GRH);
	ktap_eq(wc.src_qp, pair.a.qp->qp_num);
	ktap_eq(wc.wc_flags & IBV_WC_GRH, IBV_WC_GRH);
	ktap_eq(vt_check(pair.b.buf + VT_GRH, 1024, 8), -1);
	/* the IPv4 header is in the last 20 bytes of the GRH's place */
	ktap_eq(pair.b.buf[20], 0x45);
	ktap_mem_eq(pair.b.buf + 32, da.gid.raw + 12, 4);
	ktap_mem_eq(pair.b.buf + 36, db.gid.raw + 12, 4);
	/* a key with the high bit stands for the QP's own */
	wr = ud_wr(&pair.b, ah, &sge, 0x80000000, 3);
	must(!ibv_post_send(pair.a.qp, &wr, &bad));
	must(basic_got(pair.b.rcq, 2, IBV_WC_SUCCESS, &wc));
	ktap_ok(basic_got(pair.a.scq, 3, IBV_WC_SUCCESS, NULL));
	/* an answer uses the path of the completion and the GRH */
	if (ktap_ok(!ibv_init_ah_from_wc(db.ctx, 1, &wc,
					 (struct ibv_grh *)(pair.b.buf + 4096),
					 &(struct ibv_ah_attr) {}))) {
		struct ibv_ah *back = ibv_create_ah_from_wc(db.pd, &wc,
				(struct ibv_grh *)(pair.b.buf + 4096), 1);

		must(back && !recv_op(&pair.a, 9, 8192, 2048));
		sge = sge_at(&pair.b, VT_GRH, 100);
		wr = ud_wr(&pair.a, back, &sge, VT_QKEY, 4);
		must(!ibv_post_send(pair.b.qp, &wr, &bad));
		ktap_ok(basic_got(pair.b.scq, 4, IBV_WC_SUCCESS, NULL));
		ktap_ok(basic_got(pair.a.rcq, 9, IBV_WC_SUCCESS, NULL));
		ibv_destroy_ah(back);
	}
	/* longer than a packet can be */
	sge = sge_at(&pair.a, 0, 9000);
	wr = ud_wr(&pair.b, ah, &sge, VT_QKEY, 5);
	if (!ibv_post_send(pair.a.qp, &wr, &bad))
		ktap_ok(basic_got(pair.a.scq, 5, IBV_WC_LOC_LEN_ERR, NULL));
	ibv_destroy_ah(ah);
	pair_down(&pair);
}

/* UC drops a message without a receive, and goes on with the next one. */
static void unreliable(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc;
	struct pair pair;

	opts.type = IBV_QPT_UC;
	must(pair_up(&pair, &opts));
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 1, 0, 5000,
			      IBV_SEND_SIGNALED));
	ktap_ok(basic_got(pair.a.scq, 1, IBV_WC_SUCCESS, NULL));
	usleep(50000);
	must(!recv_op(&pair.b, 2, 0, 8192));
	vt_fill(pair.a.buf, 5000, 4);
	must(!send_op(&pair.a, &pair.b, IBV_WR_SEND, 3, 0, 5000,
			      IBV_SEND_SIGNALED));
	ktap_ok(basic_got(pair.a.scq, 3, IBV_WC_SUCCESS, NULL));
	must(basic_got(pair.b.rcq, 2, IBV_WC_SUCCESS, &wc));
	ktap_eq(wc.byte_len, 5000);
	ktap_eq(vt_check(pair.b.buf, 5000, 4), -1);
	/* UC has no READ */
	if (!send_op(&pair.a, &pair.b, IBV_WR_RDMA_READ, 4, 0, 8, IBV_SEND_SIGNALED))
		ktap_ok(basic_got(pair.a.scq, 4, IBV_WC_LOC_QP_OP_ERR, NULL));
	pair_down(&pair);
}

/* Messages of one length leave as a train. A bad message is taken out of the train, and
 * the others are sent.
 */
static void bad_message_of_a_train(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_send_wr wr[4] = {}, *bad;
	struct ibv_sge sge[4];
	struct pair pair;
	int i;

	opts.type = IBV_QPT_UC;
	must(pair_up(&pair, &opts));
	vt_fill(pair.a.buf, 1024, 5);
	for (i = 0; i < 4; i++) {
		/* with the header of a WRITE its packet is as long as the others */
		sge[i] = sge_at(&pair.a, i * 256, i ? 256 : 240);
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .next = i < 3 ? &wr[i + 1] : NULL,
			.sg_list = &sge[i], .num_sge = 1,
			.opcode = i ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)pair.b.buf, pair.b.mr->rkey },
		};
		must(!recv_op(&pair.b, i, 4096 + i * 256, 256));
	}
	sge[3].lkey ^= 1;
	must(!ibv_post_send(pair.a.qp, wr, &bad));
	for (i = 0; i < 3; i++)
		must(basic_got(pair.a.scq, i, IBV_WC_SUCCESS, NULL));
	basic_got(pair.a.scq, 3, IBV_WC_LOC_PROT_ERR, NULL);
	for (i = 0; i < 2; i++) {
		must(basic_got(pair.b.rcq, i, IBV_WC_SUCCESS, NULL));
		ktap_eq(memcmp(pair.b.buf + 4096 + i * 256,
			       pair.a.buf + (i + 1) * 256, 256), 0);
	}
	ktap_eq(vt_check(pair.b.buf, 240, 5), -1);
	pair_down(&pair);
}

/* --- processes and threads ---------------------------------------------- */

/* A child may write to the memory and end; the parent's memory stays registered. */
static void fork_and_go_on(void)
{
	struct vt_opts opts = VT_OPTS;
	int i, status;
	struct pair pair;
	pid_t pid;

	must(pair_up(&pair, &opts));
	for (i = 0; i < 5; i++) {
		fflush(stdout);
		pid = fork();
		must(pid >= 0);
		if (!pid)
			_exit(0);
		vt_fill(pair.a.buf, 8192, i);
		must(!send_op(&pair.a, &pair.b, IBV_WR_RDMA_WRITE, i, 0,
				      8192, IBV_SEND_SIGNALED));
		must(basic_got(pair.a.scq, i, IBV_WC_SUCCESS, NULL));
		ktap_eq(vt_check(pair.b.buf, 8192, i), -1);
		must(waitpid(pid, &status, 0) == pid);
		ktap_eq(status, 0);
	}
	pair_down(&pair);
}

#define THREADS		4
#define PER_THREAD	500

struct poster {
	pthread_t thread;
	struct pair *p;
	unsigned int number;
	int err;
};

static void *post_many(void *arg)
{
	struct poster *poster = arg;
	u64 end = vt_now_ms() + LONG;
	unsigned int i = 0, idle = 0;

	while (i < PER_THREAD) {
		poster->err = send_op(&poster->p->a, &poster->p->b, IBV_WR_RDMA_WRITE,
				      poster->number * PER_THREAD + i, 64 * poster->number,
				      64, IBV_SEND_SIGNALED);
		if (!poster->err)
			i++;
		else if (poster->err != ENOMEM || vt_now_ms() > end)
			break;
		else
			vt_relax(&idle);
	}
	return NULL;
}

static void threads_on_one_qp(void)
{
	static u8 seen[THREADS * PER_THREAD];
	unsigned int next[THREADS] = {};
	struct poster poster[THREADS];
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc;
	struct pair pair;
	unsigned int i;

	/* the send queue's size limits the posters, not the CQ's */
	opts.cqe = sizeof(seen);
	must(pair_up(&pair, &opts));
	memset(seen, 0, sizeof(seen));
	for (i = 0; i < THREADS; i++) {
		poster[i] = (struct poster) { .p = &pair, .number = i };
		must(!pthread_create(&poster[i].thread, NULL, post_many, &poster[i]));
	}
	for (i = 0; i < THREADS * PER_THREAD; i++) {
		if (vt_poll(pair.a.scq, &wc, 1, LONG) || wc.status ||
		    wc.wr_id >= sizeof(seen) || seen[wc.wr_id]) {
			ktap_fail("completion %u: wr %llu, %s", i,
				  (unsigned long long)wc.wr_id,
				  ibv_wc_status_str(wc.status));
			break;
		}
		seen[wc.wr_id] = 1;
		/* each thread's own are in order */
		ktap_eq(wc.wr_id % PER_THREAD, next[wc.wr_id / PER_THREAD]);
		next[wc.wr_id / PER_THREAD] = wc.wr_id % PER_THREAD + 1;
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(poster[i].thread, NULL);
		ktap_eq(poster[i].err, 0);
	}
	pair_down(&pair);
}

/* The process ends with all objects open and in use. */
static void exit_with_everything_open(void)
{
	struct vt_opts opts = VT_OPTS;
	struct pair pair[4];
	int i, k, status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		memset(&da, 0, sizeof(da));
		memset(&db, 0, sizeof(db));
		if (vt_open(&da, vt_name_a(), VT_IPV4, -1) ||
		    vt_open(&db, vt_name_b(), VT_IPV4, -1))
			_exit(1);
		for (i = 0; i < 4; i++) {
			if (!pair_up(&pair[i], &opts))
				_exit(2);
			for (k = 0; k < 8; k++)
				send_op(&pair[i].a, &pair[i].b, IBV_WR_RDMA_WRITE, k,
					0, 200000, IBV_SEND_SIGNALED);
		}
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid);
	ktap_eq(status, 0);
}

#define TESTS(X)							\
	X(query_device) X(query_port) X(limits_refused) X(reg_mr_errors)	\
	X(modify_errors) X(query_qp) X(inline_512) X(sge_32)		\
	X(zero_length) X(large_messages) X(immediate) X(atomics)	\
	X(atomic_contention) X(mr_iova) X(null_region)			\
	X(null_region_rdma) X(access_errors) X(foreign_pd)		\
	X(recv_too_small) X(rnr_exhaustion) X(rnr_patience)		\
	X(retry_exhaustion) X(sq_overflow) X(bad_wr_in_list) X(flush)	\
	X(reset_and_again) X(sqd) X(destroy_with_work) X(last_messages)	\
	X(comm_est)							\
	X(cq_overflow) X(cq_overflow_of_receives)			\
	X(flush_beyond_the_cq) X(flush_and_resize_or_destroy)		\
	X(cq_room_of_the_gone)						\
	X(resize_under_load) X(cq_events) X(armed_too_late)		\
	X(cq_moderation) X(solicited)					\
	X(unsignaled) X(extended_cq) X(extended_qp) X(datagrams)	\
	X(unreliable) X(bad_message_of_a_train) X(fork_and_go_on)	\
	X(threads_on_one_qp) X(exit_with_everything_open)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	/* pages that the device uses must not be shared with a child */
	if (ibv_fork_init())
		return vt_bail();
	return vt_run_on(&da, &db, VT_IPV4, argc > 1 ? argv[1] : NULL);
}
