// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A kernel consumer of <rdma/cairn.h>: two kernel queue pairs, from device a to
 * device b, and the results of WRITE_PERSIST between them. Loading it runs the
 * tests; the kernel log has a KTAP line for each, after "cairn_kapi: ".
 */
#define pr_fmt(fmt) "cairn_kapi: " fmt

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/cairn.h>
#include <rdma/ib_cache.h>
#include "find_dev.h"

#define BUF_LEN		(4 * PAGE_SIZE)
#define DEPTH		16
#define PSN		0xfffffe
#define LONG_MS		60000
/* wait this long for completions that must not come */
#define SHORT_MS	200

static char *a = "cairn_a", *b = "cairn_b";
module_param(a, charp, 0444);
module_param(b, charp, 0444);
static unsigned long pmem;
module_param(pmem, ulong, 0444);
MODULE_PARM_DESC(pmem, "physical address of persistent memory, BUF_LEN bytes; 0: none");

static int failures;

#define CHECK(cond) kapi_check(cond, #cond, __LINE__)

static bool kapi_check(bool ok, const char *what, int line)
{
	if (!ok) {
		pr_info("# line %d: not true: %s\n", line, what);
		failures++;
	}
	return ok;
}

struct end {
	struct ib_device *dev;
	const struct ib_gid_attr *gid;
	struct ib_pd *pd;
	struct ib_cq *scq, *rcq;
	struct ib_qp *qp;
	struct ib_mr *mr;	/* the target's; the initiator uses the PD's key */
	u8 *buf;
};

static struct end ea, eb;

/* --- the two ends ----------------------------------------------------------- */

static int find_gid(struct end *end)
{
	const struct ib_port_immutable *port;
	int i;

	port = ib_port_immutable_read(end->dev, 1);
	for (i = 0; i < port->gid_tbl_len; i++) {
		const struct ib_gid_attr *attr = rdma_get_gid_attr(end->dev, 1, i);

		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((struct in6_addr *)attr->gid.raw)) {
			end->gid = attr;
			return 0;
		}
		rdma_put_gid_attr(attr);
	}
	return -ENOENT;
}

static void close_end(struct end *end)
{
	kfree(end->buf);
	if (!IS_ERR_OR_NULL(end->rcq))
		ib_destroy_cq(end->rcq);
	if (!IS_ERR_OR_NULL(end->scq))
		ib_destroy_cq(end->scq);
	if (!IS_ERR_OR_NULL(end->pd))
		ib_dealloc_pd(end->pd);
	if (end->gid)
		rdma_put_gid_attr(end->gid);
	if (end->dev)
		ib_device_put(end->dev);
}

static int open_end(struct end *end, const char *name)
{
	struct ib_cq_init_attr cq = { .cqe = 4 * DEPTH };

	end->dev = find_dev(name);
	if (!end->dev)
		return -ENODEV;
	end->pd = ib_alloc_pd(end->dev, 0);
	end->scq = ib_create_cq(end->dev, NULL, NULL, NULL, &cq);
	end->rcq = ib_create_cq(end->dev, NULL, NULL, NULL, &cq);
	end->buf = kzalloc(BUF_LEN, GFP_KERNEL);
	if (IS_ERR(end->pd) || IS_ERR(end->scq) || IS_ERR(end->rcq) || !end->buf)
		return -ENOMEM;
	return find_gid(end);
}

static int create_qp(struct end *end)
{
	struct ib_qp_init_attr init = {
		.send_cq = end->scq,
		.recv_cq = end->rcq,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			.max_send_sge = 2, .max_recv_sge = 1,
			.max_inline_data = 64,
		},
	};

	end->qp = ib_create_qp(end->pd, &init);
	return PTR_ERR_OR_ZERO(end->qp);
}

static int connect_to(struct end *end, const struct end *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = PSN, .sq_psn = PSN,
		.max_dest_rd_atomic = 1, .max_rd_atomic = 1,
		.min_rnr_timer = 1, .rnr_retry = 7,
		.timeout = 12, .retry_cnt = 7,
	};
	int err;

	err = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTR;
	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, (union ib_gid *)&peer->gid->gid, 0,
			end->gid->index, 64, 0);
	err = ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

/* The completions of a destroyed queue pair are dropped. */
static void kapi_disconnect(void)
{
	if (ea.qp)
		ib_destroy_qp(ea.qp);
	if (eb.qp)
		ib_destroy_qp(eb.qp);
	if (eb.mr)
		ib_dereg_mr(eb.mr);
	ea.qp = NULL;
	eb.qp = NULL;
	eb.mr = NULL;
}

static bool kapi_poll(struct ib_cq *cq, struct ib_wc *wc, int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	do {
		if (ib_poll_cq(cq, 1, wc) == 1)
			return true;
		usleep_range(100, 500);
	} while (time_before(jiffies, end));
	return false;
}

static bool kapi_nothing(struct ib_cq *cq)
{
	struct ib_wc wc;

	return !kapi_poll(cq, &wc, SHORT_MS);
}

/* The next completion must have @id, @status and @kind. */
static struct cairn_persist_info kapi_next(struct ib_cq *cq, u64 id,
					   enum ib_wc_status status,
					   enum cairn_persist_kind kind)
{
	struct cairn_persist_info info = {};
	struct ib_wc wc;

	if (!CHECK(kapi_poll(cq, &wc, LONG_MS)))
		return info;
	cairn_wc_persist(&wc, &info);
	if (wc.wr_id != id || wc.status != status || info.kind != kind) {
		pr_info("# wr_id %llu status %d kind %d, not %llu %d %d\n",
			wc.wr_id, wc.status, info.kind, id, status, kind);
		failures++;
	}
	return info;
}

static struct cairn_persist_info kapi_written(u64 id)
{
	return kapi_next(ea.scq, id, IB_WC_SUCCESS, CAIRN_PERSIST_KIND_WRITE);
}

/* Map two pages. */
static int map_two(struct ib_mr *mr, void *first, void *second)
{
	struct scatterlist sg[2];
	int n;

	sg_init_table(sg, 2);
	sg_set_buf(&sg[0], first, PAGE_SIZE);
	sg_set_buf(&sg[1], second, PAGE_SIZE);
	if (ib_dma_map_sg(eb.dev, sg, 2, DMA_BIDIRECTIONAL) != 2)
		return -EIO;
	n = ib_map_mr_sg(mr, sg, 2, NULL, PAGE_SIZE);
	return n == 2 ? 0 : -EIO;
}

/* Map @eb's buffer. */
static int kapi_map(struct ib_mr *mr)
{
	struct scatterlist sg;
	int n;

	sg_init_one(&sg, eb.buf, BUF_LEN);
	if (ib_dma_map_sg(eb.dev, &sg, 1, DMA_BIDIRECTIONAL) != 1)
		return -EIO;
	n = ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE);
	return n == 1 ? 0 : -EIO;
}

static int kapi_reg(void)
{
	struct ib_reg_wr wr = {
		.wr = { .wr_id = 99, .opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED },
		.mr = eb.mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE,
	};
	int err;

	ib_update_fast_reg_key(eb.mr, 7);
	wr.key = eb.mr->rkey;
	err = ib_post_send(eb.qp, &wr.wr, NULL);
	if (!err)
		kapi_next(eb.scq, 99, IB_WC_SUCCESS, CAIRN_PERSIST_KIND_NONE);
	return err;
}

/* A connection, and a region at b that is persistent as @flags says. */
static bool set_up(u32 flags)
{
	memset(eb.buf, 0, BUF_LEN);
	get_random_bytes(ea.buf, BUF_LEN);
	if (!CHECK(!create_qp(&ea)) || !CHECK(!create_qp(&eb)) ||
	    !CHECK(!connect_to(&ea, &eb)) || !CHECK(!connect_to(&eb, &ea)))
		return false;
	eb.mr = ib_alloc_mr(eb.pd, IB_MR_TYPE_MEM_REG, BUF_LEN / PAGE_SIZE);
	return CHECK(!IS_ERR(eb.mr)) && CHECK(!kapi_map(eb.mr)) &&
	       CHECK(!cairn_mr_set_persistent(eb.mr, flags)) && CHECK(!kapi_reg());
}

/* The immediate data of each message, with its number. */
#define KAPI_IMM	0xabcd0000u

static int kapi_post(u64 id, u32 opcode, u32 off, u32 len, int flags)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)ea.buf + off, .length = len,
		.lkey = ea.pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = id, .opcode = opcode, .sg_list = &sge,
			.num_sge = 1, .send_flags = IB_SEND_SIGNALED | flags,
			.ex.imm_data = cpu_to_be32(KAPI_IMM + id) },
		.remote_addr = eb.mr->iova + off,
		.rkey = eb.mr->rkey,
	};

	return ib_post_send(ea.qp, &wr.wr, NULL);
}

static int kapi_persist(u64 id, u32 off, u32 len, int flags)
{
	return kapi_post(id, CAIRN_WR_WRITE_PERSIST, off, len, flags);
}

static int post_recv(struct end *end, u64 id)
{
	struct ib_recv_wr wr = { .wr_id = id };

	return ib_post_recv(end->qp, &wr, NULL);
}

static bool in_place(u32 off, u32 len)
{
	return !memcmp(ea.buf + off, eb.buf + off, len);
}

/* --- the tests ---------------------------------------------------------------- */

#define EMULATED (CAIRN_MR_PERSIST_NIC | CAIRN_MR_PERSIST_EMULATED)

static void query(void)
{
	struct cairn_device_caps caps = {};

	CHECK(!cairn_query_device(ea.dev, &caps));
	CHECK(caps.persist_domains & CAIRN_DOMAIN_HOST);
	CHECK(caps.persist_atomic_unit == 8);
	CHECK(caps.persist_modes & CAIRN_PERSIST_MODE_IMM);
	CHECK(caps.max_persist_outstanding > 0);
}

static void query_peer(void)
{
	struct cairn_device_caps want = {};
	struct cairn_peer_caps got = {};

	if (!set_up(CAIRN_MR_PERSIST_HOST))
		return;
	CHECK(!cairn_query_device(eb.dev, &want));
	CHECK(!cairn_query_peer(ea.qp, &got, CAIRN_MAX_PEER_TIMEOUT));
	CHECK(got.known == 1);
	CHECK(got.persist_domains == want.persist_domains);
	CHECK(got.persist_atomic_unit == want.persist_atomic_unit);
	CHECK(got.max_persist_outstanding == want.max_persist_outstanding);
	CHECK(got.max_msg == want.max_msg);
	CHECK(got.abilities == CAIRN_PEER_PERSIST_IMM);
	CHECK(cairn_query_peer(ea.qp, &got, 0) == -EINVAL);
	CHECK(cairn_query_peer(ea.qp, &got, CAIRN_MAX_PEER_TIMEOUT + 1) ==
	      -EINVAL);
}

static void registration(void)
{
	if (!set_up(EMULATED))
		return;
	CHECK(cairn_mr_set_persistent(eb.mr, 0) == -EBUSY);
	ib_dereg_mr(eb.mr);
	eb.mr = ib_alloc_mr(eb.pd, IB_MR_TYPE_MEM_REG, BUF_LEN / PAGE_SIZE);
	/* no memory yet, and then not persistent memory */
	CHECK(cairn_mr_set_persistent(eb.mr, CAIRN_MR_PERSIST_NIC) == -EINVAL);
	CHECK(!kapi_map(eb.mr));
	CHECK(cairn_mr_set_persistent(eb.mr, CAIRN_MR_PERSIST_NIC) == -EINVAL);
	CHECK(cairn_mr_set_persistent(eb.mr, CAIRN_MR_PERSIST_NIC |
				      CAIRN_MR_PERSIST_HOST) == -EINVAL);
	CHECK(cairn_mr_set_persistent(eb.mr, 1 << 30) == -EINVAL);
	CHECK(!cairn_mr_set_persistent(eb.mr, CAIRN_MR_PERSIST_HOST));
	CHECK(!cairn_mr_set_persistent(eb.mr, 0));
}

/* Memory that is persistent as a whole or in part. */
static void persistent_memory(void)
{
	u8 *ordinary = eb.buf, *va = __va(pmem);
	struct cairn_persist_info info;
	struct ib_mr *mr;

	mr = ib_alloc_mr(eb.pd, IB_MR_TYPE_MEM_REG, 2);
	if (!CHECK(!IS_ERR(mr)))
		return;
	CHECK(!map_two(mr, va, va + PAGE_SIZE));
	CHECK(!cairn_mr_set_persistent(mr, CAIRN_MR_PERSIST_NIC));
	CHECK(!map_two(mr, va, ordinary));
	CHECK(cairn_mr_set_persistent(mr, CAIRN_MR_PERSIST_NIC) == -EINVAL);
	CHECK(!map_two(mr, ordinary, va));
	CHECK(cairn_mr_set_persistent(mr, CAIRN_MR_PERSIST_NIC) == -EINVAL);
	ib_dereg_mr(mr);
	eb.buf = va;
	if (set_up(CAIRN_MR_PERSIST_NIC)) {
		CHECK(!kapi_persist(1, 13, 5000, 0));
		info = kapi_written(1);
		CHECK(info.durability == CAIRN_DURABILITY_ADR);
		CHECK(in_place(13, 5000));
	}
	eb.buf = ordinary;
}

static void nic_flush(void)
{
	struct cairn_persist_info info;

	if (!set_up(EMULATED))
		return;
	CHECK(!kapi_persist(1, 13, 5000, 0));
	info = kapi_written(1);
	CHECK(info.psn == ((PSN + 4) & 0xffffff));
	CHECK(info.durability == CAIRN_DURABILITY_EMULATED);
	CHECK(in_place(13, 5000));
	CHECK(!kapi_persist(2, 6000, 40, IB_SEND_INLINE | IB_SEND_FENCE));
	kapi_written(2);
	CHECK(in_place(6000, 40));
	CHECK(!kapi_persist(3, 0, 0, 0));
	kapi_written(3);
	CHECK(!kapi_post(4, IB_WR_RDMA_WRITE, 7000, 100, 0));
	kapi_next(ea.scq, 4, IB_WC_SUCCESS, CAIRN_PERSIST_KIND_NONE);
	CHECK(in_place(7000, 100));
}

static void early(void)
{
	struct cairn_persist_info write_info, durable_info;

	if (!set_up(EMULATED))
		return;
	CHECK(!kapi_persist(1, 64, 3000, CAIRN_SEND_EARLY));
	write_info = kapi_written(1);
	CHECK(kapi_nothing(ea.rcq));
	CHECK(!post_recv(&ea, 5));
	durable_info = kapi_next(ea.rcq, 5, IB_WC_SUCCESS, CAIRN_PERSIST_KIND_DURABLE);
	CHECK(durable_info.psn == write_info.psn);
	CHECK(durable_info.va == eb.mr->iova + 64);
	CHECK(in_place(64, 3000));
}

static struct cairn_persist_info kapi_asked(u64 id)
{
	return kapi_next(eb.rcq, id, IB_WC_SUCCESS, CAIRN_PERSIST_KIND_FLUSH);
}

static void host_flush(void)
{
	struct cairn_persist_info flush, later;

	if (!set_up(CAIRN_MR_PERSIST_HOST))
		return;
	CHECK(!post_recv(&eb, 1) && !post_recv(&eb, 2));
	CHECK(!kapi_persist(1, 100, 2000, 0));
	CHECK(!kapi_persist(2, 4000, 50, 0));
	flush = kapi_asked(1);
	later = kapi_asked(2);
	CHECK(flush.va == eb.mr->iova + 100 && flush.length == 2000);
	CHECK(flush.psn == ((PSN + 1) & 0xffffff));
	CHECK(later.va == eb.mr->iova + 4000 && later.length == 50);
	CHECK(in_place(100, 2000));
	CHECK(kapi_nothing(ea.scq));
	CHECK(cairn_persist_done(eb.dev, flush.token ^ 1ULL << 40, 0) == -ENOENT);
	CHECK(cairn_persist_done(eb.dev, 0, 0) == -ENOENT);
	CHECK(cairn_persist_done(ea.dev, flush.token, 0) == -ENOENT);
	/* done in any order, reported in the order of the messages */
	CHECK(!cairn_persist_done(eb.dev, later.token, 0));
	CHECK(cairn_persist_done(eb.dev, later.token, 0) == -ENOENT);
	CHECK(kapi_nothing(ea.scq));
	CHECK(!cairn_persist_done(eb.dev, flush.token, 0));
	kapi_written(1);
	kapi_written(2);
	CHECK(cairn_persist_done(eb.dev, flush.token, 0) == -ENOENT);
}

/* A receive at b with the immediate data of message @id, of @kind. */
static struct cairn_persist_info kapi_told(u64 recv, u64 id,
					   enum cairn_persist_kind kind)
{
	struct cairn_persist_info info = {};
	struct ib_wc wc;

	if (!CHECK(kapi_poll(eb.rcq, &wc, LONG_MS)))
		return info;
	cairn_wc_persist(&wc, &info);
	CHECK(wc.wr_id == recv && wc.status == IB_WC_SUCCESS);
	CHECK(wc.opcode == IB_WC_RECV_RDMA_WITH_IMM);
	CHECK(wc.wc_flags & IB_WC_WITH_IMM);
	CHECK(be32_to_cpu(wc.ex.imm_data) == KAPI_IMM + id);
	CHECK(info.kind == kind);
	return info;
}

static void immediate(void)
{
	struct cairn_persist_info info;

	if (!set_up(EMULATED))
		return;
	CHECK(!post_recv(&eb, 20));
	CHECK(!kapi_post(1, CAIRN_WR_WRITE_PERSIST_WITH_IMM, 13, 5000, 0));
	info = kapi_told(20, 1, CAIRN_PERSIST_KIND_RECEIVED);
	CHECK(info.va == eb.mr->iova + 13 && info.length == 5000);
	CHECK(info.psn == ((PSN + 4) & 0xffffff) && !info.token);
	CHECK(info.durability == CAIRN_DURABILITY_EMULATED);
	CHECK(in_place(13, 5000));
	kapi_written(1);
}

static void immediate_host(void)
{
	struct cairn_persist_info info;

	if (!set_up(CAIRN_MR_PERSIST_HOST))
		return;
	CHECK(!post_recv(&eb, 20));
	CHECK(!kapi_post(1, CAIRN_WR_WRITE_PERSIST_WITH_IMM, 64, 100,
			 CAIRN_SEND_EARLY));
	info = kapi_told(20, 1, CAIRN_PERSIST_KIND_FLUSH);
	CHECK(info.va == eb.mr->iova + 64 && info.length == 100);
	kapi_written(1);
	CHECK(!post_recv(&ea, 5));
	CHECK(kapi_nothing(ea.rcq));
	CHECK(!cairn_persist_done(eb.dev, info.token, 0));
	kapi_next(ea.rcq, 5, IB_WC_SUCCESS, CAIRN_PERSIST_KIND_DURABLE);
}

static void host_failure(void)
{
	struct cairn_persist_info info;

	if (!set_up(CAIRN_MR_PERSIST_HOST))
		return;
	CHECK(!post_recv(&eb, 1));
	CHECK(!kapi_persist(1, 0, 100, 0));
	CHECK(!kapi_post(2, IB_WR_RDMA_WRITE, 0, 0, 0));
	info = kapi_asked(1);
	CHECK(!cairn_persist_done(eb.dev, info.token, -EIO));
	kapi_next(ea.scq, 1, IB_WC_REM_OP_ERR, CAIRN_PERSIST_KIND_NONE);
	kapi_next(ea.scq, 2, IB_WC_WR_FLUSH_ERR, CAIRN_PERSIST_KIND_NONE);
}

/* The region is destroyed while a host flush is pending. */
static void late_token(void)
{
	struct cairn_persist_info info;

	if (!set_up(CAIRN_MR_PERSIST_HOST))
		return;
	CHECK(!post_recv(&eb, 1));
	CHECK(!kapi_persist(1, 0, 100, 0));
	info = kapi_asked(1);
	ib_dereg_mr(eb.mr);
	eb.mr = NULL;
	CHECK(cairn_persist_done(eb.dev, info.token, 0) == -ENOENT);
	kapi_next(ea.scq, 1, IB_WC_REM_OP_ERR, CAIRN_PERSIST_KIND_NONE);
}

static void ordinary_memory(void)
{
	if (!set_up(0))
		return;
	CHECK(!kapi_persist(1, 0, 100, 0));
	kapi_next(ea.scq, 1, IB_WC_REM_ACCESS_ERR, CAIRN_PERSIST_KIND_NONE);
	CHECK(!memchr_inv(eb.buf, 0, 100));
}

/* A new mapping has to be flagged again. */
static void mapped_again(void)
{
	struct ib_send_wr inv = {
		.wr_id = 8, .opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
	};

	if (!set_up(EMULATED))
		return;
	inv.ex.invalidate_rkey = eb.mr->rkey;
	CHECK(!ib_post_send(eb.qp, &inv, NULL));
	kapi_next(eb.scq, 8, IB_WC_SUCCESS, CAIRN_PERSIST_KIND_NONE);
	CHECK(!kapi_map(eb.mr) && !kapi_reg());
	CHECK(!kapi_persist(1, 0, 100, 0));
	kapi_next(ea.scq, 1, IB_WC_REM_ACCESS_ERR, CAIRN_PERSIST_KIND_NONE);
}

static void refused_at_once(void)
{
	if (!set_up(CAIRN_MR_PERSIST_HOST))
		return;
	CHECK(kapi_post(1, IB_WR_RDMA_WRITE, 0, 100, CAIRN_SEND_EARLY) == -EINVAL);
	CHECK(kapi_post(1, IB_WR_RESERVED3, 0, 100, 0) == -EINVAL);
	CHECK(kapi_persist(1, 0, 100, CAIRN_SEND_EARLY << 1) == -EINVAL);
	CHECK(kapi_persist(1, 0, 4096, IB_SEND_INLINE) == -EINVAL);
	CHECK(kapi_nothing(ea.scq));
}

static const struct {
	const char *name;
	void (*run)(void);
	u32 domains;		/* enum cairn_persist_domains that the device must have */
} tests[] = {
#define T(fn) { "kernel consumer: " #fn, fn, 0 }
#define T_NIC(fn) { "kernel consumer: " #fn, fn, CAIRN_DOMAIN_EMULATED }
#define T_PMEM(fn) { "kernel consumer: " #fn, fn, CAIRN_DOMAIN_PMEM }
	T(query), T(query_peer), T_NIC(registration), T_PMEM(persistent_memory),
	T_NIC(nic_flush), T_NIC(early), T(host_flush), T(host_failure), T(late_token),
	T_NIC(immediate), T(immediate_host), T(ordinary_memory), T_NIC(mapped_again),
	T(refused_at_once),
};

/* Devices of user-mode Linux flush nothing, and the test may have no persistent memory. */
static bool kapi_can(u32 domains)
{
	struct cairn_device_caps caps = {};

	cairn_query_device(ea.dev, &caps);
	return !(domains & ~caps.persist_domains) &&
	       (pmem || !(domains & CAIRN_DOMAIN_PMEM));
}

static int __init kapi_init(void)
{
	int i, err;

	err = open_end(&ea, a) ?: open_end(&eb, b);
	if (err) {
		pr_info("not ok 1 %s and %s cannot be used: %d\n", a, b, err);
		goto out;
	}
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (!kapi_can(tests[i].domains)) {
			pr_info("ok %d %s # SKIP no such domain of persistence\n",
				i + 1, tests[i].name);
			continue;
		}
		failures = 0;
		tests[i].run();
		kapi_disconnect();
		pr_info("%sok %d %s\n", failures ? "not " : "", i + 1,
			tests[i].name);
	}
out:
	close_end(&ea);
	close_end(&eb);
	return err;
}

static void __exit kapi_exit(void)
{
}

module_init(kapi_init);
module_exit(kapi_exit);
MODULE_DESCRIPTION("test of cairn's calls for kernel consumers");
MODULE_LICENSE("Dual BSD/GPL");
