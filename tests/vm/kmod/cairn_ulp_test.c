// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The rules of <rdma/ib_verbs.h> for consumers in the kernel, between device a and
 * device b. Loading it runs the tests; the kernel log has a KTAP line for
 * each, after "cairn_ulp: ".
 */
#define pr_fmt(fmt) "cairn_ulp: " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/preempt.h>
#include <linux/rtnetlink.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include <rdma/rw.h>
#include "find_dev.h"

#define PAGES		8
#define BUF_LEN		(PAGES * PAGE_SIZE)
#define DEPTH		16
#define INLINE		64
#define MRS		12
#define OPS		160
#define QKEY		0x11110000
#define LONG_MS		60000
/* wait this long for completions that must not come */
#define SHORT_MS	100

static char *a = "cairn_a", *b = "cairn_b";
module_param(a, charp, 0444);
module_param(b, charp, 0444);

static int failures;

#define CHECK(cond) ulp_check(cond, #cond, __LINE__)

static bool ulp_check(bool ok, const char *what, int line)
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
	u8 *buf;
	/* of one test */
	struct ib_pd *pd;
	struct ib_cq *scq, *rcq;
	struct ib_srq *srq;
	struct ib_qp *qp;
	struct ib_mr *mr[MRS];
	u32 send_sge, recv_sge;	/* as given */
	enum ib_poll_context mode;
	atomic_t events[IB_EVENT_WQ_FATAL + 1];
};

static struct end ea, eb;

/* How the next connection is made. */
struct setup {
	enum ib_poll_context mode;
	enum ib_sig_type sig;
	enum ib_qp_type type;
	unsigned int pd_flags;
	bool srq;
	u32 rdma_ctxs;
	int access;
};

static const struct setup plain = {
	.mode = IB_POLL_DIRECT,
	.sig = IB_SIGNAL_REQ_WR,
	.type = IB_QPT_RC,
	.access = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
		  IB_ACCESS_REMOTE_ATOMIC,
};

/* A work request and its completions. */
struct op {
	struct ib_cqe cqe;
	struct ib_wc wc;
	int seq;		/* which completion of the test; 0: none yet */
	int count;
	bool softirq;
	void (*then)(struct op *op, struct ib_wc *wc);
	struct end *end;
	struct ib_sge sge;
	struct ib_recv_wr recv;
	union {
		struct ib_send_wr send;
		struct ib_rdma_wr rdma;
		struct ib_reg_wr reg;
		struct ib_atomic_wr atomic;
		struct ib_ud_wr ud;
	};
};

static struct op *ops;
static unsigned int used;
static atomic_t completions;

/* --- work requests -------------------------------------------------------- */

static void op_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct op *op = container_of(wc->wr_cqe, struct op, cqe);

	op->wc = *wc;
	op->count++;
	op->softirq = in_serving_softirq();
	if (op->then)
		op->then(op, wc);
	smp_store_release(&op->seq, atomic_inc_return(&completions));
}

static struct op *op_new(struct end *end)
{
	struct op *op = &ops[used++];

	BUG_ON(used > OPS);
	memset(op, 0, sizeof(*op));
	op->cqe.done = op_done;
	op->end = end;
	return op;
}

/* A signaled request with @len bytes at @off of the buffer. */
static struct op *op_send(struct end *end, enum ib_wr_opcode opcode, u32 off,
			  u32 len)
{
	struct op *op = op_new(end);

	op->sge = (struct ib_sge){
		.addr = (uintptr_t)end->buf + off,
		.length = len,
		.lkey = end->pd->local_dma_lkey,
	};
	op->send.wr_cqe = &op->cqe;
	op->send.opcode = opcode;
	op->send.sg_list = &op->sge;
	op->send.num_sge = 1;
	op->send.send_flags = IB_SEND_SIGNALED;
	return op;
}

static struct op *op_rdma(struct end *end, enum ib_wr_opcode opcode, u32 off,
			  u32 len, u64 remote, u32 rkey)
{
	struct op *op = op_send(end, opcode, off, len);

	op->rdma.remote_addr = remote;
	op->rdma.rkey = rkey;
	return op;
}

static struct op *op_reg(struct end *end, struct ib_mr *mr, int access)
{
	struct op *op = op_send(end, IB_WR_REG_MR, 0, 0);

	op->send.num_sge = 0;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	op->reg.mr = mr;
	op->reg.key = mr->rkey;
	op->reg.access = access;
	return op;
}

static struct op *op_inv(struct end *end, u32 key)
{
	struct op *op = op_send(end, IB_WR_LOCAL_INV, 0, 0);

	op->send.num_sge = 0;
	op->send.ex.invalidate_rkey = key;
	return op;
}

static struct op *op_recv(struct end *end, u32 off, u32 len)
{
	struct op *op = op_new(end);

	op->sge = (struct ib_sge){
		.addr = (uintptr_t)end->buf + off,
		.length = len,
		.lkey = end->pd->local_dma_lkey,
	};
	op->recv.wr_cqe = &op->cqe;
	op->recv.sg_list = &op->sge;
	op->recv.num_sge = 1;
	return op;
}

/* Put @next behind @op in one list. Return: @next. */
static struct op *ulp_chain(struct op *op, struct op *next)
{
	op->send.next = &next->send;
	return next;
}

static int ulp_post(struct op *op)
{
	return ib_post_send(op->end->qp, &op->send, NULL);
}

static int post_recv(struct op *op)
{
	if (op->end->srq)
		return ib_post_srq_recv(op->end->srq, &op->recv, NULL);
	return ib_post_recv(op->end->qp, &op->recv, NULL);
}

static void ulp_pump(struct end *end)
{
	if (end->mode != IB_POLL_DIRECT || !end->scq)
		return;
	ib_process_cq_direct(end->scq, -1);
	ib_process_cq_direct(end->rcq, -1);
}

static bool ulp_has_come(struct op *op, int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);

	do {
		ulp_pump(&ea);
		ulp_pump(&eb);
		if (smp_load_acquire(&op->seq))
			return true;
		usleep_range(100, 500);
	} while (time_before(jiffies, end));
	return false;
}

#define EXPECT(op, status) ulp_expect(op, status, __LINE__)

static bool ulp_expect(struct op *op, enum ib_wc_status status, int line)
{
	if (!ulp_has_come(op, LONG_MS)) {
		pr_info("# line %d: no completion\n", line);
		failures++;
		return false;
	}
	if (op->wc.status != status || op->count != 1) {
		pr_info("# line %d: status %d, %d times, not %d once\n", line,
			op->wc.status, op->count, status);
		failures++;
		return false;
	}
	return true;
}

/* Post it, wait for it. */
#define DO(op, status) run_op(op, status, __LINE__)

static bool run_op(struct op *op, enum ib_wc_status status, int line)
{
	return ulp_check(!ulp_post(op), "post", line) && ulp_expect(op, status, line);
}

/* --- the two ends --------------------------------------------------------- */

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

static int open_end(struct end *end, const char *name)
{
	end->dev = find_dev(name);
	if (!end->dev)
		return -ENODEV;
	end->buf = kzalloc(BUF_LEN, GFP_KERNEL);
	return end->buf ? find_gid(end) : -ENOMEM;
}

static void close_end(struct end *end)
{
	kfree(end->buf);
	if (end->gid)
		rdma_put_gid_attr(end->gid);
	if (end->dev)
		ib_device_put(end->dev);
}

static void qp_event(struct ib_event *event, void *context)
{
	struct end *end = context;

	if (event->event < ARRAY_SIZE(end->events))
		atomic_inc(&end->events[event->event]);
}

static bool event_comes(struct end *end_e, enum ib_event_type type)
{
	unsigned long end = jiffies + msecs_to_jiffies(LONG_MS);

	while (!atomic_read(&end_e->events[type]) && time_before(jiffies, end)) {
		ulp_pump(&ea);
		ulp_pump(&eb);
		usleep_range(100, 500);
	}
	return atomic_read(&end_e->events[type]) == 1;
}

static int create_srq(struct end *end)
{
	struct ib_srq_init_attr init = {
		.event_handler = qp_event,
		.srq_context = end,
		.attr = { .max_wr = DEPTH, .max_sge = 2 },
		.srq_type = IB_SRQT_BASIC,
	};

	end->srq = ib_create_srq(end->pd, &init);
	if (IS_ERR(end->srq)) {
		end->srq = NULL;
		return -ENOMEM;
	}
	end->recv_sge = init.attr.max_sge;
	return 0;
}

static int create_qp(struct end *end, const struct setup *setup)
{
	struct ib_qp_init_attr init = {
		.event_handler = qp_event,
		.qp_context = end,
		.send_cq = end->scq,
		.recv_cq = end->rcq,
		.srq = end->srq,
		.qp_type = setup->type,
		.sq_sig_type = setup->sig,
		.port_num = setup->rdma_ctxs ? 1 : 0,
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = end->srq ? 0 : DEPTH,
			.max_send_sge = 4, .max_recv_sge = 2,
			.max_inline_data = INLINE,
			.max_rdma_ctxs = setup->rdma_ctxs,
		},
	};
	struct ib_qp *qp = ib_create_qp(end->pd, &init);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	end->qp = qp;
	end->send_sge = init.cap.max_send_sge;
	if (!end->srq)
		end->recv_sge = init.cap.max_recv_sge;
	return 0;
}

/* Make PD, queues and queue pair, in RESET. */
static int create_end(struct end *end, const struct setup *setup)
{
	int err;

	memset(end->events, 0, sizeof(end->events));
	end->mode = setup->mode;
	end->pd = ib_alloc_pd(end->dev, setup->pd_flags);
	if (IS_ERR(end->pd)) {
		end->pd = NULL;
		return -ENOMEM;
	}
	end->scq = ib_alloc_cq(end->dev, end, 4 * DEPTH, 0, setup->mode);
	end->rcq = ib_alloc_cq(end->dev, end, 4 * DEPTH, 0, setup->mode);
	if (IS_ERR(end->scq) || IS_ERR(end->rcq))
		return -ENOMEM;
	err = setup->srq ? create_srq(end) : 0;
	return err ?: create_qp(end, setup);
}

static int to_init(struct end *end, const struct setup *setup)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = setup->access,
		.qkey = QKEY,
	};

	return ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | (setup->type == IB_QPT_UD ?
					  IB_QP_QKEY : IB_QP_ACCESS_FLAGS));
}

static void fill_av(struct rdma_ah_attr *av, const struct end *end,
		    const struct end *peer)
{
	av->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(av, 1);
	rdma_ah_set_grh(av, (union ib_gid *)&peer->gid->gid, 0, end->gid->index,
			64, 0);
}

static int to_rtr(struct end *end, const struct end *peer, const struct setup *setup)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
	};

	if (setup->type == IB_QPT_UD)
		return ib_modify_qp(end->qp, &attr, IB_QP_STATE);
	fill_av(&attr.ah_attr, end, peer);
	return ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_AV |
			    IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			    (setup->type == IB_QPT_UC ? 0 :
			     IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER));
}

static int to_rts(struct end *end, const struct setup *setup)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = 12, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	if (setup->type == IB_QPT_UD || setup->type == IB_QPT_UC)
		return ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
	return ib_modify_qp(end->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static int to_state(struct end *end, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return ib_modify_qp(end->qp, &attr, IB_QP_STATE);
}

static bool set_up(const struct setup *setup)
{
	memset(eb.buf, 0, BUF_LEN);
	get_random_bytes(ea.buf, BUF_LEN);
	return CHECK(!create_end(&ea, setup)) && CHECK(!create_end(&eb, setup)) &&
	       CHECK(!to_init(&ea, setup)) && CHECK(!to_init(&eb, setup)) &&
	       CHECK(!to_rtr(&ea, &eb, setup)) && CHECK(!to_rtr(&eb, &ea, setup)) &&
	       CHECK(!to_rts(&ea, setup)) && CHECK(!to_rts(&eb, setup));
}

static void destroy_end(struct end *end)
{
	unsigned int i;

	if (end->qp)
		ib_destroy_qp(end->qp);
	if (end->srq)
		ib_destroy_srq(end->srq);
	for (i = 0; i < MRS; i++)
		if (end->mr[i])
			ib_dereg_mr(end->mr[i]);
	if (!IS_ERR_OR_NULL(end->scq))
		ib_free_cq(end->scq);
	if (!IS_ERR_OR_NULL(end->rcq))
		ib_free_cq(end->rcq);
	if (end->pd)
		ib_dealloc_pd(end->pd);
	memset(end->mr, 0, sizeof(end->mr));
	end->qp = NULL;
	end->srq = NULL;
	end->scq = NULL;
	end->rcq = NULL;
	end->pd = NULL;
}

static void tear_down(void)
{
	/* Completions without a waiter still have their ops. */
	if (ea.qp)
		ib_destroy_qp(ea.qp);
	ea.qp = NULL;
	if (eb.qp)
		ib_destroy_qp(eb.qp);
	eb.qp = NULL;
	destroy_end(&ea);
	destroy_end(&eb);
	used = 0;
	atomic_set(&completions, 0);
}

static bool ulp_is_same(u32 from, u32 to, u32 len)
{
	return !memcmp(ea.buf + from, eb.buf + to, len);
}

static bool ulp_untouched(u32 to, u32 len)
{
	return !memchr_inv(eb.buf + to, 0, len);
}

/* --- fast registration ---------------------------------------------------- */

#define REMOTE	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		 IB_ACCESS_REMOTE_READ)

static struct ib_mr *mr_new(struct end *end, int i)
{
	struct ib_mr *mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, PAGES);

	if (!CHECK(!IS_ERR(mr)))
		return NULL;
	end->mr[i] = mr;
	return mr;
}

/* Map @len bytes of the buffer at @off. Return: as ib_map_mr_sg(). */
static int ulp_map(struct end *end, struct ib_mr *mr, u32 off, u32 len)
{
	struct scatterlist sg;

	sg_init_one(&sg, end->buf + off, len);
	if (ib_dma_map_sg(end->dev, &sg, 1, DMA_BIDIRECTIONAL) != 1)
		return -EIO;
	return ib_map_mr_sg(mr, &sg, 1, NULL, PAGE_SIZE);
}

/* Register region @i of @end over @len bytes at @off. */
static struct ib_mr *ulp_registered(struct end *end, int i, u32 off, u32 len)
{
	struct ib_mr *mr = mr_new(end, i);

	if (!mr || !CHECK(ulp_map(end, mr, off, len) == 1) ||
	    !DO(op_reg(end, mr, REMOTE), IB_WC_SUCCESS))
		return NULL;
	return mr;
}

static struct op *op_write(const struct ib_mr *mr, u32 from, u32 to, u32 len)
{
	return op_rdma(&ea, IB_WR_RDMA_WRITE, from, len, mr->iova + to,
		       mr->rkey);
}

static void fast_registration(void)
{
	struct ib_mr *mr;

	if (!set_up(&plain))
		return;
	mr = ulp_registered(&eb, 0, 100, 3 * PAGE_SIZE);
	if (!mr)
		return;
	CHECK(mr->length == 3 * PAGE_SIZE);
	DO(op_write(mr, 0, 0, mr->length), IB_WC_SUCCESS);
	CHECK(ulp_is_same(0, 100, mr->length) && ulp_untouched(0, 100));
	CHECK(ulp_untouched(100 + mr->length, PAGE_SIZE));
	DO(op_rdma(&ea, IB_WR_RDMA_READ, 5 * PAGE_SIZE, 5000, mr->iova + 7,
		   mr->rkey), IB_WC_SUCCESS);
	CHECK(ulp_is_same(5 * PAGE_SIZE, 107, 5000));
	/* one byte beyond */
	DO(op_write(mr, 0, 1, mr->length), IB_WC_REM_ACCESS_ERR);
}

/* Pages in another order, an offset at the front, a short entry at the end. */
static void registration_of_a_list(void)
{
	unsigned int offset = 200;
	struct scatterlist sg[3];
	struct ib_mr *mr;

	if (!set_up(&plain))
		return;
	mr = mr_new(&eb, 0);
	if (!mr)
		return;
	sg_init_table(sg, 3);
	sg_set_buf(&sg[0], eb.buf + 4 * PAGE_SIZE, PAGE_SIZE);
	sg_set_buf(&sg[1], eb.buf + 1 * PAGE_SIZE, PAGE_SIZE);
	sg_set_buf(&sg[2], eb.buf + 6 * PAGE_SIZE, 300);
	CHECK(ib_dma_map_sg(eb.dev, sg, 3, DMA_BIDIRECTIONAL) == 3);
	CHECK(ib_map_mr_sg(mr, sg, 3, &offset, PAGE_SIZE) == 3);
	CHECK(mr->length == 2 * PAGE_SIZE - 200 + 300);
	DO(op_reg(&eb, mr, REMOTE), IB_WC_SUCCESS);
	DO(op_write(mr, 0, 0, mr->length), IB_WC_SUCCESS);
	CHECK(ulp_is_same(0, 4 * PAGE_SIZE + 200, PAGE_SIZE - 200));
	CHECK(ulp_is_same(PAGE_SIZE - 200, PAGE_SIZE, PAGE_SIZE));
	CHECK(ulp_is_same(2 * PAGE_SIZE - 200, 6 * PAGE_SIZE, 300));
	CHECK(ulp_untouched(4 * PAGE_SIZE, 200) && ulp_untouched(2 * PAGE_SIZE, 100));
	CHECK(ulp_untouched(6 * PAGE_SIZE + 300, 100));
}

/* Entries that leave a gap within a page end the mapping. */
static void gaps_end_a_mapping(void)
{
	struct scatterlist sg[3];
	struct ib_mr *mr;

	if (!set_up(&plain))
		return;
	mr = mr_new(&eb, 0);
	if (!mr)
		return;
	sg_init_table(sg, 3);
	sg_set_buf(&sg[0], eb.buf, PAGE_SIZE);
	sg_set_buf(&sg[1], eb.buf + 2 * PAGE_SIZE, 1000);
	sg_set_buf(&sg[2], eb.buf + 4 * PAGE_SIZE, PAGE_SIZE);
	CHECK(ib_dma_map_sg(eb.dev, sg, 3, DMA_BIDIRECTIONAL) == 3);
	CHECK(ib_map_mr_sg(mr, sg, 3, NULL, PAGE_SIZE) == 2);
	CHECK(mr->length == PAGE_SIZE + 1000);
	/* more than it has room for: as much as fits */
	CHECK(ulp_map(&eb, mr, 0, BUF_LEN) == 1 && mr->length == BUF_LEN);
	/* a page size must be a power of two */
	CHECK(ib_map_mr_sg(mr, sg, 1, NULL, PAGE_SIZE + 512) < 0);
	CHECK(IS_ERR(ib_alloc_mr(eb.pd, IB_MR_TYPE_MEM_REG,
		eb.dev->attrs.max_fast_reg_page_list_len + 1)));
}

/* ib_srp maps a region anew while its invalidation is still queued. */
static void mapping_changes_nothing(void)
{
	struct ib_mr *mr;
	struct op *inv, *reg;
	u32 old;

	if (!set_up(&plain))
		return;
	mr = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	if (!mr)
		return;
	old = mr->rkey;
	CHECK(ulp_map(&eb, mr, 4 * PAGE_SIZE, PAGE_SIZE) == 1);
	DO(op_rdma(&ea, IB_WR_RDMA_WRITE, 0, 2000, (uintptr_t)eb.buf, old),
	   IB_WC_SUCCESS);
	CHECK(ulp_is_same(0, 0, 2000) && ulp_untouched(4 * PAGE_SIZE, PAGE_SIZE));
	inv = op_inv(&eb, old);
	inv->send.send_flags = 0;
	reg = op_reg(&eb, mr, REMOTE);
	ulp_chain(inv, reg);
	CHECK(!ulp_post(inv));
	EXPECT(reg, IB_WC_SUCCESS);
	DO(op_write(mr, PAGE_SIZE, 0, 2000), IB_WC_SUCCESS);
	CHECK(ulp_is_same(PAGE_SIZE, 4 * PAGE_SIZE, 2000) && ulp_is_same(0, 0, 2000));
	/* neither key reaches the former memory */
	DO(op_rdma(&ea, IB_WR_RDMA_WRITE, 0, 100, (uintptr_t)eb.buf, old),
	   IB_WC_REM_ACCESS_ERR);
}

/* Peers that write while their region is mapped anew are not disturbed. */
static void mapping_disturbs_nobody(void)
{
	struct ib_mr *mr;
	struct op *op = NULL;
	int i, n;

	if (!set_up(&plain))
		return;
	mr = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	if (!mr)
		return;
	for (n = 0; n < 10 && !failures; n++) {
		for (i = 0; i < DEPTH; i++) {
			op = op_rdma(&ea, IB_WR_RDMA_WRITE, 0, 64,
				     (uintptr_t)eb.buf, mr->rkey);
			if (i + 1 < DEPTH)
				op->send.send_flags = 0;
			CHECK(!ulp_post(op));
		}
		for (i = 0; i < 100; i++)
			ulp_map(&eb, mr, PAGE_SIZE, PAGE_SIZE);
		EXPECT(op, IB_WC_SUCCESS);
		used -= DEPTH;
	}
	CHECK(ulp_untouched(PAGE_SIZE, PAGE_SIZE));
}

static void registered_again_without_mapping(void)
{
	struct ib_mr *mr;
	int i;

	if (!set_up(&plain))
		return;
	mr = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	/* the list that is filled now was in use before */
	for (i = 0; mr && i < 3; i++) {
		u32 at = i * 100 + (i ? 2 * PAGE_SIZE : 0);

		DO(op_inv(&eb, mr->rkey), IB_WC_SUCCESS);
		if (i == 1)
			CHECK(ulp_map(&eb, mr, 2 * PAGE_SIZE, PAGE_SIZE) == 1);
		DO(op_reg(&eb, mr, REMOTE), IB_WC_SUCCESS);
		DO(op_write(mr, i * 100, i * 100, 100), IB_WC_SUCCESS);
		CHECK(ulp_is_same(i * 100, at, 100));
	}
}

/* xprtrdma puts its transaction number there. */
static void iova_of_the_consumer(void)
{
	struct ib_mr *mr;

	if (!set_up(&plain))
		return;
	mr = mr_new(&eb, 0);
	if (!mr || !CHECK(ulp_map(&eb, mr, 300, 2 * PAGE_SIZE) == 1))
		return;
	mr->iova = (u32)mr->iova | 0x1234567800000000ULL;
	DO(op_reg(&eb, mr, REMOTE), IB_WC_SUCCESS);
	DO(op_write(mr, 0, 10, 5000), IB_WC_SUCCESS);
	CHECK(ulp_is_same(0, 310, 5000));
	DO(op_rdma(&ea, IB_WR_RDMA_WRITE, 0, 10, (uintptr_t)eb.buf + 300,
		   mr->rkey), IB_WC_REM_ACCESS_ERR);
}

static void registration_over_a_registration(void)
{
	struct op *reg, *after;
	struct ib_mr *mr;

	if (!set_up(&plain))
		return;
	mr = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	if (!mr)
		return;
	CHECK(ulp_map(&eb, mr, PAGE_SIZE, PAGE_SIZE) == 1);
	reg = op_reg(&eb, mr, REMOTE);
	reg->send.send_flags = 0;
	after = op_send(&eb, IB_WR_SEND, 0, 10);
	ulp_chain(reg, after);
	CHECK(!ulp_post(reg));
	CHECK(ulp_has_come(reg, LONG_MS) && reg->wc.status != IB_WC_SUCCESS &&
	      reg->wc.status != IB_WC_WR_FLUSH_ERR);
	EXPECT(after, IB_WC_WR_FLUSH_ERR);
}

static void registration_in_another_domain(void)
{
	struct ib_pd *pd;
	struct ib_mr *mr;
	struct op *reg;

	if (!set_up(&plain))
		return;
	pd = ib_alloc_pd(eb.dev, 0);
	if (!CHECK(!IS_ERR(pd)))
		return;
	mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, PAGES);
	if (CHECK(!IS_ERR(mr))) {
		CHECK(ulp_map(&eb, mr, 0, PAGE_SIZE) == 1);
		reg = op_reg(&eb, mr, REMOTE);
		CHECK(!ulp_post(reg));
		CHECK(ulp_has_come(reg, LONG_MS) && reg->wc.status != IB_WC_SUCCESS);
		ib_dereg_mr(mr);
	}
	ib_dealloc_pd(pd);
}

static void access_as_registered(void)
{
	struct ib_mr *mr;

	if (!set_up(&plain))
		return;
	mr = mr_new(&eb, 0);
	if (!mr)
		return;
	CHECK(ulp_map(&eb, mr, 0, PAGE_SIZE) == 1);
	DO(op_reg(&eb, mr, IB_ACCESS_REMOTE_READ), IB_WC_SUCCESS);
	DO(op_rdma(&ea, IB_WR_RDMA_READ, 0, 100, mr->iova, mr->rkey),
	   IB_WC_SUCCESS);
	DO(op_write(mr, 0, 0, 100), IB_WC_REM_ACCESS_ERR);
}

/* A READ into memory that is registered for reading only. */
static void local_access_as_registered(void)
{
	struct ib_mr *mr, *target;
	struct op *op;

	if (!set_up(&plain))
		return;
	mr = mr_new(&ea, 0);
	target = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	if (!mr || !target)
		return;
	CHECK(ulp_map(&ea, mr, 0, PAGE_SIZE) == 1);
	DO(op_reg(&ea, mr, IB_ACCESS_REMOTE_READ), IB_WC_SUCCESS);
	op = op_rdma(&ea, IB_WR_RDMA_READ, 0, 100, target->iova, target->rkey);
	op->sge.addr = mr->iova;
	op->sge.lkey = mr->lkey;
	DO(op, IB_WC_LOC_PROT_ERR);
}

/* --- invalidation --------------------------------------------------------- */

/* @n registrations on a, and LOCAL_INVs of them in one list; every @sends-th
 * has a WRITE in front of it.
 */
static void inv_chain(int n, int sends, const struct ib_mr *target)
{
	struct op *first = NULL, *last = NULL, *op;
	int i;

	for (i = 0; i < n; i++) {
		CHECK(ulp_map(&ea, ea.mr[i], 0, PAGE_SIZE) == 1);
		DO(op_reg(&ea, ea.mr[i], REMOTE), IB_WC_SUCCESS);
	}
	for (i = 0; i < n; i++) {
		if (sends && i % sends == sends - 1) {
			op = op_write(target, 0, 0, 100);
			op->send.send_flags = 0;
			last = last ? ulp_chain(last, op) : op;
			first = first ?: op;
		}
		op = op_inv(&ea, ea.mr[i]->rkey);
		op->send.send_flags = 0;
		last = last ? ulp_chain(last, op) : op;
		first = first ?: op;
	}
	last->send.send_flags = IB_SEND_SIGNALED;
	CHECK(!ulp_post(first));
	EXPECT(last, IB_WC_SUCCESS);
	for (op = ops; op < ops + used; op++)
		CHECK(op->count == !!(op->send.send_flags & IB_SEND_SIGNALED));
}

static void chains_of_local_inv(void)
{
	struct ib_mr *target;
	int i, sends;

	if (!set_up(&plain))
		return;
	target = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	for (i = 0; target && i < MRS; i++)
		if (!mr_new(&ea, i))
			return;
	for (sends = 0; target && sends <= 3; sends++)
		for (i = 1; i <= (sends == 1 ? DEPTH / 2 : MRS - 1) && !failures;
		     i++) {
			used = 0;
			inv_chain(i, sends, target);
		}
}

static void local_inv_ends_access(void)
{
	struct ib_mr *mr;

	if (!set_up(&plain))
		return;
	mr = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	if (!mr)
		return;
	DO(op_write(mr, 0, 0, 100), IB_WC_SUCCESS);
	DO(op_inv(&eb, mr->rkey), IB_WC_SUCCESS);
	CHECK(op_inv(&eb, 0)->count == 0);
	DO(op_write(mr, 0, 200, 100), IB_WC_REM_ACCESS_ERR);
	CHECK(ulp_untouched(200, 100));
}

static void local_inv_of_a_wrong_key(void)
{
	struct ib_mr *mr;
	struct op *op;

	if (!set_up(&plain))
		return;
	mr = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	if (!mr)
		return;
	op = op_inv(&eb, mr->rkey ^ 1);
	op->send.send_flags = 0;
	CHECK(!ulp_post(op));
	CHECK(ulp_has_come(op, LONG_MS) && op->wc.status != IB_WC_SUCCESS);
}

static void peer_invalidates(void)
{
	struct op *op, *recv;
	struct ib_mr *mr;

	if (!set_up(&plain))
		return;
	mr = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	if (!mr)
		return;
	recv = op_recv(&eb, PAGE_SIZE, 100);
	CHECK(!post_recv(recv));
	op = op_send(&ea, IB_WR_SEND_WITH_INV, 0, 50);
	op->send.ex.invalidate_rkey = mr->rkey;
	DO(op, IB_WC_SUCCESS);
	EXPECT(recv, IB_WC_SUCCESS);
	CHECK(recv->wc.wc_flags & IB_WC_WITH_INVALIDATE);
	CHECK(!(recv->wc.wc_flags & IB_WC_WITH_IMM));
	CHECK(recv->wc.ex.invalidate_rkey == mr->rkey);
	CHECK(recv->wc.byte_len == 50 && ulp_is_same(0, PAGE_SIZE, 50));
	/* it can be registered again at once */
	CHECK(ulp_map(&eb, mr, 2 * PAGE_SIZE, PAGE_SIZE) == 1);
	DO(op_reg(&eb, mr, REMOTE), IB_WC_SUCCESS);
	DO(op_write(mr, 0, 0, 100), IB_WC_SUCCESS);
	CHECK(ulp_is_same(0, 2 * PAGE_SIZE, 100));
	DO(op_rdma(&ea, IB_WR_RDMA_WRITE, 0, 10, (uintptr_t)eb.buf,
		   recv->wc.ex.invalidate_rkey), IB_WC_REM_ACCESS_ERR);
}

/* No NAK answers it (IBTA 9.9.6.3, class J). */
static void peer_invalidates_what_is_not(void)
{
	struct op *op, *recv;
	struct ib_mr *mr;

	if (!set_up(&plain))
		return;
	mr = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	if (!mr)
		return;
	recv = op_recv(&eb, PAGE_SIZE, 100);
	CHECK(!post_recv(recv));
	op = op_send(&ea, IB_WR_SEND_WITH_INV, 0, 50);
	op->send.ex.invalidate_rkey = mr->rkey ^ 1;
	DO(op, IB_WC_RETRY_EXC_ERR);
	EXPECT(recv, IB_WC_LOC_ACCESS_ERR);
}

/* The key is right, but it was invalidated already. */
static void peer_invalidates_twice(void)
{
	struct op *op, *recv;
	struct ib_mr *mr;

	if (!set_up(&plain))
		return;
	mr = ulp_registered(&eb, 0, 0, PAGE_SIZE);
	if (!mr)
		return;
	DO(op_inv(&eb, mr->rkey), IB_WC_SUCCESS);
	recv = op_recv(&eb, PAGE_SIZE, 100);
	CHECK(!post_recv(recv));
	op = op_send(&ea, IB_WR_SEND_WITH_INV, 0, 50);
	op->send.ex.invalidate_rkey = mr->rkey;
	DO(op, IB_WC_RETRY_EXC_ERR);
	EXPECT(recv, IB_WC_LOC_ACCESS_ERR);
}

/* --- keys of a domain ----------------------------------------------------- */

static void unsafe_global_rkey(void)
{
	struct setup setup = plain;

	setup.pd_flags = IB_PD_UNSAFE_GLOBAL_RKEY;
	if (!set_up(&setup))
		return;
	DO(op_rdma(&ea, IB_WR_RDMA_WRITE, 0, 6000, (uintptr_t)eb.buf + 50,
		   eb.pd->unsafe_global_rkey), IB_WC_SUCCESS);
	CHECK(ulp_is_same(0, 50, 6000));
	DO(op_rdma(&ea, IB_WR_RDMA_READ, 0, 100, (uintptr_t)eb.buf + 3000,
		   eb.pd->unsafe_global_rkey), IB_WC_SUCCESS);
	/* a key of this domain, not of the other end's */
	DO(op_rdma(&ea, IB_WR_RDMA_READ, 0, 100, (uintptr_t)eb.buf,
		   eb.pd->unsafe_global_rkey ^ 0x1000),
	   IB_WC_REM_ACCESS_ERR);
}

static void local_dma_lkey_is_local(void)
{
	if (!set_up(&plain))
		return;
	DO(op_rdma(&ea, IB_WR_RDMA_WRITE, 0, 100, (uintptr_t)eb.buf,
		   eb.pd->local_dma_lkey), IB_WC_REM_ACCESS_ERR);
	CHECK(ulp_untouched(0, 100));
}

/* --- posting -------------------------------------------------------------- */

static void bad_send_wr_on_success(void)
{
	const struct ib_send_wr *first, **bad = &first;
	struct op *op[3];
	int i;

	if (!set_up(&plain))
		return;
	for (i = 0; i < 3; i++) {
		CHECK(!post_recv(op_recv(&eb, i * PAGE_SIZE, PAGE_SIZE)));
		op[i] = op_send(&ea, IB_WR_SEND, i * 1000, 1000);
		if (i)
			ulp_chain(op[i - 1], op[i]);
	}
	/* as net/rds does */
	first = &op[0]->send;
	CHECK(!ib_post_send(ea.qp, first, bad));
	CHECK(first == &op[0]->send);
	for (i = 0; i < 3; i++)
		EXPECT(op[i], IB_WC_SUCCESS);
	CHECK(op[0]->seq < op[1]->seq && op[1]->seq < op[2]->seq);
}

static void bad_send_wr_on_failure(void)
{
	const struct ib_send_wr *bad = NULL;
	struct op *op[4];
	int i;

	if (!set_up(&plain))
		return;
	for (i = 0; i < 4; i++) {
		CHECK(!post_recv(op_recv(&eb, i * PAGE_SIZE, PAGE_SIZE)));
		op[i] = op_send(&ea, IB_WR_SEND, i * 1000, 1000);
		if (i)
			ulp_chain(op[i - 1], op[i]);
	}
	op[2]->send.num_sge = ea.send_sge + 1;
	CHECK(ib_post_send(ea.qp, &op[0]->send, &bad) == -EINVAL);
	CHECK(bad == &op[2]->send);
	EXPECT(op[0], IB_WC_SUCCESS);
	EXPECT(op[1], IB_WC_SUCCESS);
	/* the rest was not posted, and can be posted now */
	op[2]->send.num_sge = 1;
	CHECK(!op[2]->count && !ib_post_send(ea.qp, bad, &bad));
	EXPECT(op[3], IB_WC_SUCCESS);
	op[0]->send.next = NULL;
	op[0]->send.opcode = 100;
	bad = NULL;
	CHECK(ib_post_send(ea.qp, &op[0]->send, &bad) == -EINVAL &&
	      bad == &op[0]->send);
}

static void send_queue_full(void)
{
	const struct ib_send_wr *bad = NULL;
	struct op *op, *prev = NULL, *first = NULL;
	int i, posted = 0;

	if (!set_up(&plain))
		return;
	/* no receive at b: all of them stay */
	for (i = 0; i < 4 * DEPTH; i++) {
		op = op_send(&ea, IB_WR_SEND, 0, 10);
		first = first ?: op;
		if (prev)
			ulp_chain(prev, op);
		prev = op;
	}
	CHECK(ib_post_send(ea.qp, &first->send, &bad) == -ENOMEM);
	for (op = first; &op->send != bad && posted < 4 * DEPTH; op++)
		posted++;
	/* Completion queues are made by the cap. */
	CHECK(posted == DEPTH);
	CHECK(!to_state(&ea, IB_QPS_ERR));
	for (i = 0, op = first; i < posted; i++, op++)
		EXPECT(op, IB_WC_WR_FLUSH_ERR);
	CHECK(!op->count);
}

/* Sends that have completed on the old ring, and then more than the new one has room for. */
static void send_queue_resized(void)
{
	static const u32 depths[] = { 2 * DEPTH, DEPTH / 2 };
	struct ib_qp_attr attr = {};
	struct ib_qp_init_attr init;
	u32 i, n;

	if (!set_up(&plain))
		return;
	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		for (n = 0; n < 4; n++) {
			CHECK(!post_recv(op_recv(&eb, 0, PAGE_SIZE)));
			DO(op_send(&ea, IB_WR_SEND, 0, 10), IB_WC_SUCCESS);
		}
		CHECK(!ib_query_qp(ea.qp, &attr, IB_QP_CAP, &init));
		attr.cap.max_send_wr = depths[i];
		CHECK(!ib_modify_qp(ea.qp, &attr, IB_QP_CAP));
		for (n = 0; n < depths[i] + 1; n++) {
			CHECK(!post_recv(op_recv(&eb, 0, PAGE_SIZE)));
			DO(op_send(&ea, IB_WR_SEND, 0, 10), IB_WC_SUCCESS);
		}
	}
}

static void posting_by_state(void)
{
	const struct ib_recv_wr *bad_recv;
	const struct ib_send_wr *bad;
	struct op *send, *recv;

	if (!CHECK(!create_end(&ea, &plain)) ||
	    !CHECK(!create_end(&eb, &plain)))
		return;
	send = op_send(&ea, IB_WR_SEND, 0, 10);
	recv = op_recv(&ea, 0, 10);
	bad = NULL;
	CHECK(ib_post_send(ea.qp, &send->send, &bad) && bad == &send->send);
	bad_recv = NULL;
	CHECK(ib_post_recv(ea.qp, &recv->recv, &bad_recv) &&
	      bad_recv == &recv->recv);
	CHECK(!to_init(&ea, &plain) && !to_init(&eb, &plain));
	bad = NULL;
	CHECK(ib_post_send(ea.qp, &send->send, &bad) && bad == &send->send);
	CHECK(!post_recv(recv));
	CHECK(!to_rtr(&ea, &eb, &plain));
	bad = NULL;
	CHECK(ib_post_send(ea.qp, &send->send, &bad) && bad == &send->send);
	CHECK(!to_state(&ea, IB_QPS_ERR));
	EXPECT(recv, IB_WC_WR_FLUSH_ERR);
	/* in the error state every request is accepted and flushed */
	DO(send, IB_WC_WR_FLUSH_ERR);
	recv = op_recv(&ea, 0, 10);
	CHECK(!post_recv(recv));
	EXPECT(recv, IB_WC_WR_FLUSH_ERR);
}

/* Lists of receives, to a queue of its own or a shared one. */
static void recv_lists(int (*post_list)(const struct ib_recv_wr *wr,
					const struct ib_recv_wr **bad))
{
	const struct ib_recv_wr *first;
	struct op *op[4], *more;
	int i, n;

	for (i = 0; i < 4; i++) {
		op[i] = op_recv(&eb, i * PAGE_SIZE, PAGE_SIZE);
		if (i)
			op[i - 1]->recv.next = &op[i]->recv;
	}
	first = &op[0]->recv;
	op[2]->recv.num_sge = eb.recv_sge + 1;
	CHECK(post_list(first, &first) == -EINVAL);
	CHECK(first == &op[2]->recv);
	op[2]->recv.num_sge = 1;
	CHECK(!post_list(first, &first));
	CHECK(first == &op[2]->recv);
	for (i = 0; i < 4; i++) {
		DO(op_send(&ea, IB_WR_SEND, i * 500, 500), IB_WC_SUCCESS);
		EXPECT(op[i], IB_WC_SUCCESS);
		CHECK(op[i]->wc.byte_len == 500 &&
		      op[i]->wc.opcode == IB_WC_RECV &&
		      op[i]->wc.qp == eb.qp);
		CHECK(ulp_is_same(i * 500, i * PAGE_SIZE, 500));
	}
	more = op_recv(&eb, 0, 100);
	for (n = 0; n < 64 * DEPTH; n++) {
		first = NULL;
		if (post_list(&more->recv, &first))
			break;
		CHECK(!first);
	}
	CHECK(n >= DEPTH && n < 64 * DEPTH && first == &more->recv);
}

static int post_own(const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	return ib_post_recv(eb.qp, wr, bad);
}

static int post_shared(const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad)
{
	return ib_post_srq_recv(eb.srq, wr, bad);
}

static void bad_recv_wr(void)
{
	if (set_up(&plain))
		recv_lists(post_own);
}

static void bad_srq_recv_wr(void)
{
	struct setup setup = plain;
	const struct ib_recv_wr *bad = NULL;
	struct op *op;

	setup.srq = true;
	if (!set_up(&setup))
		return;
	recv_lists(post_shared);
	op = op_recv(&eb, 0, 100);
	CHECK(ib_post_recv(eb.qp, &op->recv, &bad) == -EINVAL &&
	      bad == &op->recv);
}

static void signaling(void)
{
	struct op *op[3];
	int i;

	if (!set_up(&plain))
		return;
	for (i = 0; i < 3; i++) {
		CHECK(!post_recv(op_recv(&eb, 0, 100)));
		op[i] = op_send(&ea, IB_WR_SEND, 0, 100);
		if (i < 2)
			op[i]->send.send_flags = 0;
		if (i)
			ulp_chain(op[i - 1], op[i]);
	}
	CHECK(!ulp_post(op[0]));
	EXPECT(op[2], IB_WC_SUCCESS);
	CHECK(!op[0]->count && !op[1]->count);
	/* a failure always has a completion */
	op[0] = op_rdma(&ea, IB_WR_RDMA_WRITE, 0, 100, 4096, 0xdead00);
	op[0]->send.send_flags = 0;
	DO(op[0], IB_WC_REM_ACCESS_ERR);
}

static void signal_all(void)
{
	struct setup setup = plain;
	struct op *op;

	setup.sig = IB_SIGNAL_ALL_WR;
	if (!set_up(&setup))
		return;
	CHECK(!post_recv(op_recv(&eb, 0, 100)));
	op = op_send(&ea, IB_WR_SEND, 0, 100);
	op->send.send_flags = 0;
	DO(op, IB_WC_SUCCESS);
	CHECK(op->wc.opcode == IB_WC_SEND);
}

static void inline_data(void)
{
	struct op *op, *recv;
	u8 byte;

	if (!set_up(&plain))
		return;
	recv = op_recv(&eb, 0, 100);
	CHECK(!post_recv(recv));
	op = op_send(&ea, IB_WR_SEND, 0, INLINE);
	op->send.send_flags |= IB_SEND_INLINE;
	/* no key is checked, and the caller may reuse the memory at once */
	op->sge.lkey = 0xdead;
	byte = ea.buf[0];
	CHECK(!ulp_post(op));
	ea.buf[0] = ~byte;
	EXPECT(op, IB_WC_SUCCESS);
	EXPECT(recv, IB_WC_SUCCESS);
	CHECK(recv->wc.byte_len == INLINE && eb.buf[0] == byte &&
	      ulp_is_same(1, 1, INLINE - 1));
	op = op_send(&ea, IB_WR_SEND, 0, BUF_LEN);
	op->send.send_flags |= IB_SEND_INLINE;
	CHECK(ulp_post(op) == -EINVAL);
}

static void immediate_and_entries(void)
{
	struct ib_sge sge[4];
	struct op *op, *recv;
	int i;

	if (!set_up(&plain))
		return;
	recv = op_recv(&eb, 0, PAGE_SIZE);
	CHECK(!post_recv(recv));
	op = op_send(&ea, IB_WR_SEND_WITH_IMM, 0, 0);
	for (i = 0; i < 4; i++) {
		sge[i] = op->sge;
		sge[i].addr += i * 100;
		sge[i].length = 100;
	}
	op->send.sg_list = sge;
	op->send.num_sge = 4;
	op->send.ex.imm_data = cpu_to_be32(0x12345678);
	DO(op, IB_WC_SUCCESS);
	EXPECT(recv, IB_WC_SUCCESS);
	CHECK(recv->wc.wc_flags & IB_WC_WITH_IMM);
	CHECK(recv->wc.ex.imm_data == cpu_to_be32(0x12345678));
	CHECK(recv->wc.byte_len == 400 && ulp_is_same(0, 0, 400));
	CHECK(recv->wc.port_num == 1);
	/* a receive that is too short */
	recv = op_recv(&eb, 0, 10);
	CHECK(!post_recv(recv));
	DO(op_send(&ea, IB_WR_SEND, 0, 11), IB_WC_REM_INV_REQ_ERR);
	EXPECT(recv, IB_WC_LOC_LEN_ERR);
}

static void atomics(void)
{
	struct setup setup = plain;
	struct op *op;
	u64 *at;

	setup.pd_flags = IB_PD_UNSAFE_GLOBAL_RKEY;
	if (!set_up(&setup))
		return;
	at = (u64 *)eb.buf;
	*at = 40;
	op = op_send(&ea, IB_WR_ATOMIC_FETCH_AND_ADD, 0, 8);
	op->atomic.remote_addr = (uintptr_t)at;
	op->atomic.rkey = eb.pd->unsafe_global_rkey;
	op->atomic.compare_add = 2;
	/* the rights of an unsafe key are reading and writing */
	CHECK(!ulp_post(op) && ulp_has_come(op, LONG_MS));
	if (op->wc.status == IB_WC_SUCCESS)
		CHECK(*at == 42 && *(u64 *)ea.buf == 40);
	else
		CHECK(op->wc.status == IB_WC_REM_ACCESS_ERR && *at == 40);
}

/* --- completion queues ---------------------------------------------------- */

static void receive_all(enum ib_poll_context mode)
{
	struct setup setup = plain;
	struct op *recv, *send;
	int i;

	setup.mode = mode;
	if (!set_up(&setup))
		return;
	for (i = 0; i < 3 * DEPTH && !failures; i++) {
		recv = op_recv(&eb, 0, 100);
		send = op_send(&ea, IB_WR_SEND, 0, 100);
		CHECK(!post_recv(recv));
		DO(send, IB_WC_SUCCESS);
		EXPECT(recv, IB_WC_SUCCESS);
		if (mode == IB_POLL_SOFTIRQ)
			CHECK(recv->softirq && send->softirq);
		else
			CHECK(!recv->softirq && !send->softirq);
	}
}

static void cq_direct(void)
{
	receive_all(IB_POLL_DIRECT);
}

static void cq_softirq(void)
{
	receive_all(IB_POLL_SOFTIRQ);
}

static void cq_workqueue(void)
{
	receive_all(IB_POLL_WORKQUEUE);
}

static void cq_unbound_workqueue(void)
{
	receive_all(IB_POLL_UNBOUND_WORKQUEUE);
}

static int rounds;
static struct completion all_rounds;

/* Post the receive again and answer, from the completion handler. */
static void ulp_bounce(struct op *op, struct ib_wc *wc)
{
	struct op *send = op + 1;

	if (wc->status || rounds <= 0)
		return;
	if (!--rounds) {
		complete(&all_rounds);
		return;
	}
	if (post_recv(op) || ulp_post(send))
		rounds = -1;
}

static void post_from_handler(enum ib_poll_context mode)
{
	struct setup setup = plain;
	struct op *recv[2], *send[2];
	int i;

	setup.mode = mode;
	if (!set_up(&setup))
		return;
	rounds = 200;
	init_completion(&all_rounds);
	for (i = 0; i < 2; i++) {
		struct end *end = i ? &eb : &ea;

		recv[i] = op_recv(end, 0, 100);
		recv[i]->then = ulp_bounce;
		send[i] = op_send(end, IB_WR_SEND, 200, 100);
		send[i]->send.send_flags = 0;
	}
	/* adjacent: ulp_bounce() relies on it */
	CHECK(send[0] == recv[0] + 1 && send[1] == recv[1] + 1);
	CHECK(!post_recv(recv[0]) && !post_recv(recv[1]));
	CHECK(!ulp_post(send[0]));
	CHECK(wait_for_completion_timeout(&all_rounds,
					  msecs_to_jiffies(LONG_MS)));
	ib_drain_qp(ea.qp);
	ib_drain_qp(eb.qp);
}

static void handler_posts_softirq(void)
{
	post_from_handler(IB_POLL_SOFTIRQ);
}

static void handler_posts_workqueue(void)
{
	post_from_handler(IB_POLL_WORKQUEUE);
}

static void cq_from_the_pool(void)
{
	struct ib_cq *cq, *other;

	cq = ib_cq_pool_get(ea.dev, DEPTH, -1, IB_POLL_WORKQUEUE);
	if (!CHECK(!IS_ERR(cq)))
		return;
	other = ib_cq_pool_get(ea.dev, DEPTH, -1, IB_POLL_SOFTIRQ);
	CHECK(!IS_ERR(other) && other != cq);
	if (!IS_ERR(other))
		ib_cq_pool_put(other, DEPTH);
	ib_cq_pool_put(cq, DEPTH);
}

static atomic_t told;

static void comp_handler(struct ib_cq *cq, void *context)
{
	atomic_inc(&told);
}

static bool told_is(int n)
{
	unsigned long end = jiffies + msecs_to_jiffies(LONG_MS);

	while (atomic_read(&told) < n && time_before(jiffies, end))
		usleep_range(100, 500);
	return atomic_read(&told) == n;
}

static bool ulp_polled(struct ib_cq *cq, struct ib_wc *wc)
{
	unsigned long end = jiffies + msecs_to_jiffies(LONG_MS);

	do {
		if (ib_poll_cq(cq, 1, wc) == 1)
			return true;
		usleep_range(100, 500);
	} while (time_before(jiffies, end));
	return false;
}

/* A connection whose receives of b complete into a CQ that ib_core does not poll. */
static struct ib_cq *notified_up(void)
{
	struct ib_cq_init_attr attr = { .cqe = DEPTH };
	struct ib_cq *old, *cq;
	int i;

	if (!CHECK(!create_end(&ea, &plain)) ||
	    !CHECK(!create_end(&eb, &plain)))
		return NULL;
	cq = ib_create_cq(eb.dev, comp_handler, NULL, &eb, &attr);
	if (!CHECK(!IS_ERR(cq)))
		return NULL;
	ib_destroy_qp(eb.qp);
	eb.qp = NULL;
	old = eb.rcq;
	eb.rcq = cq;
	CHECK(!create_qp(&eb, &plain));
	eb.rcq = old;
	CHECK(!to_init(&ea, &plain) && !to_init(&eb, &plain) &&
	      !to_rtr(&ea, &eb, &plain) && !to_rtr(&eb, &ea, &plain) &&
	      !to_rts(&ea, &plain) && !to_rts(&eb, &plain));
	for (i = 0; i < 5; i++)
		CHECK(!post_recv(op_recv(&eb, 0, 100)));
	atomic_set(&told, 0);
	return cq;
}

static void notified_down(struct ib_cq *cq)
{
	ib_destroy_qp(eb.qp);
	eb.qp = NULL;
	ib_destroy_cq(cq);
}

/* ib_req_notify_cq(): once for each request, and missed events are reported. */
static void notification(void)
{
	struct ib_cq *cq = notified_up();
	struct op *send;
	struct ib_wc wc;

	if (!cq)
		return;
	CHECK(!ib_req_notify_cq(cq, IB_CQ_NEXT_COMP |
				IB_CQ_REPORT_MISSED_EVENTS));
	DO(op_send(&ea, IB_WR_SEND, 0, 10), IB_WC_SUCCESS);
	CHECK(told_is(1));
	DO(op_send(&ea, IB_WR_SEND, 0, 10), IB_WC_SUCCESS);
	CHECK(ulp_polled(cq, &wc));
	CHECK(atomic_read(&told) == 1);
	CHECK(ib_req_notify_cq(cq, IB_CQ_SOLICITED |
			       IB_CQ_REPORT_MISSED_EVENTS) == 1);
	CHECK(ulp_polled(cq, &wc));
	CHECK(!ib_req_notify_cq(cq, IB_CQ_SOLICITED |
				IB_CQ_REPORT_MISSED_EVENTS));
	DO(op_send(&ea, IB_WR_SEND, 0, 10), IB_WC_SUCCESS);
	CHECK(ulp_polled(cq, &wc) && atomic_read(&told) == 1);
	send = op_send(&ea, IB_WR_SEND, 0, 10);
	send->send.send_flags |= IB_SEND_SOLICITED;
	DO(send, IB_WC_SUCCESS);
	CHECK(told_is(2));
	notified_down(cq);
}

/* The handler is called for three completions at once, or after the time. */
static void moderation(void)
{
	struct ib_cq *cq = notified_up();
	struct ib_wc wc;
	ktime_t began;
	int i;

	if (!cq)
		return;
	CHECK(!rdma_set_cq_moderation(cq, 3, 50000));
	CHECK(!ib_req_notify_cq(cq, IB_CQ_NEXT_COMP));
	began = ktime_get();
	DO(op_send(&ea, IB_WR_SEND, 0, 10), IB_WC_SUCCESS);
	CHECK(told_is(1));
	CHECK(ktime_us_delta(ktime_get(), began) >= 49000);
	CHECK(ulp_polled(cq, &wc));
	CHECK(!ib_req_notify_cq(cq, IB_CQ_NEXT_COMP));
	for (i = 0; i < 3; i++)
		DO(op_send(&ea, IB_WR_SEND, 0, 10), IB_WC_SUCCESS);
	CHECK(told_is(2));
	for (i = 0; i < 3; i++)
		CHECK(ulp_polled(cq, &wc));
	notified_down(cq);
}

static atomic_t handlers, overlaps;
static struct completion handler_began;
static bool handler_may_end;

/* Asks for the next event. The first call ends when it may, or after five seconds. */
static void slow_handler(struct ib_cq *cq, void *context)
{
	u64 end = ktime_get_ns() + 5 * NSEC_PER_SEC;

	if (atomic_inc_return(&handlers) > 1)
		atomic_inc(&overlaps);
	ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
	if (atomic_inc_return(&told) == 1) {
		complete(&handler_began);
		while (!READ_ONCE(handler_may_end) && ktime_get_ns() < end)
			cpu_relax();
	}
	atomic_dec(&handlers);
}

/* A datagram queue pair whose requests complete into @cq, in RTS. */
static struct ib_qp *datagram_qp(struct end *end, struct ib_cq *cq)
{
	struct ib_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = end->rcq,
		.qp_type = IB_QPT_UD,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};
	struct ib_qp *old = end->qp, *qp = ib_create_qp(end->pd, &init);
	struct setup setup = { .type = IB_QPT_UD };

	if (!CHECK(!IS_ERR(qp)))
		return NULL;
	end->qp = qp;
	CHECK(!to_init(end, &setup) && !to_rtr(end, end, &setup) && !to_rts(end, &setup));
	end->qp = old;
	return qp;
}

static struct ib_qp_attr back_to_rts = { .qp_state = IB_QPS_RTS };

/* A request that fails at once, as its memory has no key. */
static bool post_failing(struct ib_qp *qp, struct ib_ah *ah)
{
	struct ib_sge sge = { .addr = 1, .length = 1, .lkey = 0x12345600 };
	struct ib_ud_wr wr = {
		.wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
		},
		.ah = ah, .remote_qpn = qp->qp_num, .remote_qkey = QKEY,
	};

	return !ib_post_send(qp, &wr.wr, NULL);
}

/* A request that was posted in SQE is flushed when the queue pair leaves it, even if the
 * thread had no time to look. Its event comes when the handler has ended: one of a CQ runs
 * at a time (Documentation/infiniband/core_locking.rst). @qp[0]: in RTS; @qp[1]: in SQE.
 */
static void behind_handler(struct ib_cq *cq, struct ib_qp **qp, struct ib_ah *ah)
{
	struct ib_wc wc;

	atomic_set(&told, 0);
	atomic_set(&overlaps, 0);
	init_completion(&handler_began);
	handler_may_end = false;
	CHECK(!ib_req_notify_cq(cq, IB_CQ_NEXT_COMP));
	CHECK(post_failing(qp[0], ah));
	CHECK(wait_for_completion_timeout(&handler_began, msecs_to_jiffies(LONG_MS)));
	/* flushed by this call, as the thread is in the handler */
	CHECK(post_failing(qp[1], ah));
	CHECK(!ib_modify_qp(qp[1], &back_to_rts, IB_QP_STATE));
	WRITE_ONCE(handler_may_end, true);
	CHECK(told_is(2));
	CHECK(!atomic_read(&overlaps));
	CHECK(ulp_polled(cq, &wc) && wc.status == IB_WC_LOC_PROT_ERR);
	CHECK(ulp_polled(cq, &wc) && wc.status == IB_WC_WR_FLUSH_ERR);
}

static void handler_runs_long(void)
{
	struct ib_cq_init_attr attr = { .cqe = DEPTH };
	struct rdma_ah_attr av = {};
	struct ib_qp *qp[2] = {};
	struct ib_ah *ah;
	struct ib_cq *cq;
	struct ib_wc wc;
	int i;

	if (!CHECK(!create_end(&ea, &plain)))
		return;
	fill_av(&av, &ea, &eb);
	ah = rdma_create_ah(ea.pd, &av, RDMA_CREATE_AH_SLEEPABLE);
	cq = ib_create_cq(ea.dev, slow_handler, NULL, &ea, &attr);
	if (!CHECK(!IS_ERR(ah) && !IS_ERR(cq)))
		return;
	for (i = 0; i < 2; i++)
		qp[i] = datagram_qp(&ea, cq);
	if (qp[0] && qp[1] && CHECK(post_failing(qp[1], ah)) && CHECK(ulp_polled(cq, &wc)))
		behind_handler(cq, qp, ah);
	for (i = 0; i < 2; i++)
		if (qp[i])
			ib_destroy_qp(qp[i]);
	ib_destroy_cq(cq);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

/* --- the end of a connection ---------------------------------------------- */

/* All posted requests have completed when ib_drain_qp() returns. */
static void drain_in(enum ib_qp_state state)
{
	struct op *recv[3], *send[3] = {};
	int i;

	if (!CHECK(!create_end(&ea, &plain)) ||
	    !CHECK(!create_end(&eb, &plain)) ||
	    !CHECK(!to_init(&ea, &plain)) || !CHECK(!to_init(&eb, &plain)))
		return;
	for (i = 0; i < 3; i++) {
		recv[i] = op_recv(&ea, 0, 100);
		CHECK(!post_recv(recv[i]));
	}
	if (state >= IB_QPS_RTR)
		CHECK(!to_rtr(&ea, &eb, &plain) && !to_rtr(&eb, &ea, &plain));
	if (state >= IB_QPS_RTS)
		CHECK(!to_rts(&ea, &plain) && !to_rts(&eb, &plain));
	for (i = 0; i < 3 && state >= IB_QPS_RTS; i++) {
		/* no receive is posted for it */
		send[i] = op_send(&ea, IB_WR_SEND, 0, 100);
		CHECK(!ulp_post(send[i]));
	}
	if (state >= IB_QPS_SQD)
		CHECK(!to_state(&ea, state));
	ib_drain_qp(ea.qp);
	for (i = 0; i < 3; i++) {
		CHECK(recv[i]->count == 1 &&
		      recv[i]->wc.status == IB_WC_WR_FLUSH_ERR);
		if (send[i])
			CHECK(send[i]->count == 1 &&
			      send[i]->wc.status == IB_WC_WR_FLUSH_ERR);
	}
	/* again, and each queue alone */
	ib_drain_sq(ea.qp);
	ib_drain_rq(ea.qp);
	ib_drain_qp(ea.qp);
}

static void drain_init(void)
{
	drain_in(IB_QPS_INIT);
}

static void drain_rtr(void)
{
	drain_in(IB_QPS_RTR);
}

static void drain_rts(void)
{
	drain_in(IB_QPS_RTS);
}

static void drain_sqd(void)
{
	drain_in(IB_QPS_SQD);
}

/* Requests behind the failed one have not been flushed yet. */
static void drain_sqe(void)
{
	struct setup setup = plain;
	struct op *recv, *send;
	struct ib_qp_attr attr;
	struct ib_qp_init_attr init;

	setup.type = IB_QPT_UC;
	if (!set_up(&setup))
		return;
	recv = op_recv(&ea, 0, 100);
	CHECK(!post_recv(recv));
	send = op_send(&ea, IB_WR_SEND, 0, 100);
	send->sge.lkey = 0xdead00;
	DO(send, IB_WC_LOC_PROT_ERR);
	CHECK(!ib_query_qp(ea.qp, &attr, IB_QP_STATE, &init));
	CHECK(attr.qp_state == IB_QPS_SQE);
	send = op_send(&ea, IB_WR_SEND, 0, 100);
	CHECK(!ulp_post(send));
	ib_drain_qp(ea.qp);
	CHECK(send->count == 1 && send->wc.status == IB_WC_WR_FLUSH_ERR);
	CHECK(recv->count == 1 && recv->wc.status == IB_WC_WR_FLUSH_ERR);
}

static void drain_err(void)
{
	drain_in(IB_QPS_ERR);
}

/* With traffic in both directions, in the mode that storage drivers use. */
static void drain_under_load(void)
{
	struct setup setup = plain;
	struct op *op;
	int i, n;

	setup.mode = IB_POLL_WORKQUEUE;
	if (!set_up(&setup))
		return;
	for (i = 0; i < DEPTH / 2; i++) {
		CHECK(!post_recv(op_recv(&ea, 0, PAGE_SIZE)));
		CHECK(!post_recv(op_recv(&eb, 0, PAGE_SIZE)));
	}
	for (i = 0; i < DEPTH / 2; i++) {
		CHECK(!ulp_post(op_send(&ea, IB_WR_SEND, PAGE_SIZE, PAGE_SIZE)));
		CHECK(!ulp_post(op_send(&eb, IB_WR_SEND, PAGE_SIZE, PAGE_SIZE)));
	}
	ib_drain_qp(ea.qp);
	ib_drain_qp(eb.qp);
	for (op = ops, n = 0; op < ops + used; op++)
		n += op->count == 1;
	CHECK(n == used);
}

static void destroyed_with_work(void)
{
	int i;

	if (!set_up(&plain))
		return;
	for (i = 0; i < DEPTH / 2; i++) {
		CHECK(!post_recv(op_recv(&eb, 0, 100)));
		CHECK(!ulp_post(op_send(&ea, IB_WR_SEND, 0, 2000)));
	}
	CHECK(!ib_destroy_qp(ea.qp));
	ea.qp = NULL;
	ulp_pump(&ea);
	ulp_pump(&eb);
}

/* --- events --------------------------------------------------------------- */

static void event_comm_est(void)
{
	struct op *recv;

	if (!CHECK(!create_end(&ea, &plain)) ||
	    !CHECK(!create_end(&eb, &plain)) ||
	    !CHECK(!to_init(&ea, &plain)) || !CHECK(!to_init(&eb, &plain)) ||
	    !CHECK(!to_rtr(&ea, &eb, &plain)) ||
	    !CHECK(!to_rtr(&eb, &ea, &plain)) || !CHECK(!to_rts(&ea, &plain)))
		return;
	recv = op_recv(&eb, 0, 100);
	CHECK(!post_recv(recv));
	DO(op_send(&ea, IB_WR_SEND, 0, 10), IB_WC_SUCCESS);
	CHECK(event_comes(&eb, IB_EVENT_COMM_EST));
	CHECK(!to_rts(&eb, &plain));
	EXPECT(recv, IB_WC_SUCCESS);
}

static void event_sq_drained(void)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_SQD,
		.en_sqd_async_notify = 1,
	};

	if (!set_up(&plain))
		return;
	CHECK(!ib_modify_qp(ea.qp, &attr, IB_QP_STATE |
			    IB_QP_EN_SQD_ASYNC_NOTIFY));
	CHECK(event_comes(&ea, IB_EVENT_SQ_DRAINED));
}

static void event_last_wqe(void)
{
	struct setup setup = plain;

	setup.srq = true;
	if (!set_up(&setup))
		return;
	CHECK(!to_state(&eb, IB_QPS_ERR));
	CHECK(event_comes(&eb, IB_EVENT_QP_LAST_WQE_REACHED));
}

static void event_srq_limit(void)
{
	struct ib_srq_attr attr = { .srq_limit = 2 };
	struct setup setup = plain;
	int i;

	setup.srq = true;
	if (!set_up(&setup))
		return;
	for (i = 0; i < 3; i++)
		CHECK(!post_recv(op_recv(&eb, 0, 100)));
	CHECK(!ib_modify_srq(eb.srq, &attr, IB_SRQ_LIMIT));
	for (i = 0; i < 2; i++)
		DO(op_send(&ea, IB_WR_SEND, 0, 10), IB_WC_SUCCESS);
	CHECK(event_comes(&eb, IB_EVENT_SRQ_LIMIT_REACHED));
}

static void event_access_error(void)
{
	if (!set_up(&plain))
		return;
	DO(op_rdma(&ea, IB_WR_RDMA_WRITE, 0, 10, 4096, 0xdead00),
	   IB_WC_REM_ACCESS_ERR);
	CHECK(event_comes(&eb, IB_EVENT_QP_ACCESS_ERR));
}

/* Port events that clients of ib_core get. */
struct port_watch {
	struct ib_event_handler handler;
	atomic_t down, up;
};

static void port_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct port_watch *watch = container_of(handler, struct port_watch,
						handler);

	if (event->element.port_num != 1)
		return;
	if (event->event == IB_EVENT_PORT_ERR)
		atomic_inc(&watch->down);
	if (event->event == IB_EVENT_PORT_ACTIVE)
		atomic_inc(&watch->up);
}

static bool ulp_counted(atomic_t *count)
{
	unsigned long end = jiffies + msecs_to_jiffies(LONG_MS);

	while (!atomic_read(count) && time_before(jiffies, end))
		usleep_range(100, 500);
	return atomic_read(count) == 1;
}

static struct net_device *netdev_of(struct end *end)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(end->gid);
	if (IS_ERR(ndev))
		ndev = NULL;
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

/* The last test: addresses are removed with the interface. */
static void event_port(void)
{
	struct net_device *ndev = netdev_of(&ea);
	struct port_watch watch = {};
	int err;

	if (!CHECK(ndev))
		return;
	INIT_IB_EVENT_HANDLER(&watch.handler, ea.dev, port_event);
	ib_register_event_handler(&watch.handler);
	rtnl_lock();
	dev_close(ndev);
	rtnl_unlock();
	CHECK(ulp_counted(&watch.down));
	rtnl_lock();
	err = dev_open(ndev, NULL);
	rtnl_unlock();
	CHECK(!err && ulp_counted(&watch.up));
	ib_unregister_event_handler(&watch.handler);
	dev_put(ndev);
}

/* --- datagrams ------------------------------------------------------------ */

/* One of 100 bytes from ea to eb. Return: the receive. */
static struct op *datagram_arrives(struct ib_ah *ah)
{
	struct op *recv = op_recv(&eb, 0, 200), *send;

	CHECK(!post_recv(recv));
	send = op_send(&ea, IB_WR_SEND, 0, 100);
	send->ud.ah = ah;
	send->ud.remote_qpn = eb.qp->qp_num;
	send->ud.remote_qkey = QKEY;
	DO(send, IB_WC_SUCCESS);
	EXPECT(recv, IB_WC_SUCCESS);
	return recv;
}

static void datagram(void)
{
	struct setup setup = plain;
	struct rdma_ah_attr av = {};
	struct op *recv;
	struct ib_ah *ah;

	setup.type = IB_QPT_UD;
	if (!set_up(&setup))
		return;
	fill_av(&av, &ea, &eb);
	ah = rdma_create_ah(ea.pd, &av, RDMA_CREATE_AH_SLEEPABLE);
	if (!CHECK(!IS_ERR(ah)))
		return;
	recv = datagram_arrives(ah);
	CHECK(recv->wc.byte_len == 140 && ulp_is_same(0, 40, 100));
	CHECK(recv->wc.src_qp == ea.qp->qp_num);
	CHECK(recv->wc.wc_flags & IB_WC_GRH);
	CHECK(recv->wc.wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE);
	CHECK(recv->wc.network_hdr_type == RDMA_NETWORK_IPV4);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

static bool softirq_came;

static void note_softirq(struct tasklet_struct *tasklet)
{
	WRITE_ONCE(softirq_came, true);
}

/* modify_ah may be called in any context (Documentation/infiniband/core_locking.rst): with
 * interrupts off, and they stay off.
 */
static void handle_changed_anywhere(void)
{
	struct setup setup = plain;
	struct rdma_ah_attr av = {};
	struct tasklet_struct tasklet;
	unsigned long flags;
	struct ib_ah *ah;
	int err;

	setup.type = IB_QPT_UD;
	if (IS_ENABLED(CONFIG_PREEMPT_RT) || !set_up(&setup))
		return;
	fill_av(&av, &ea, &ea);
	ah = rdma_create_ah(ea.pd, &av, RDMA_CREATE_AH_SLEEPABLE);
	if (!CHECK(!IS_ERR(ah)))
		return;
	fill_av(&av, &ea, &eb);
	tasklet_setup(&tasklet, note_softirq);
	softirq_came = false;
	local_irq_save(flags);
	tasklet_schedule(&tasklet);
	err = rdma_modify_ah(ah, &av);
	CHECK(!READ_ONCE(softirq_came) && irqs_disabled());
	local_irq_restore(flags);
	tasklet_kill(&tasklet);
	CHECK(!err);
	datagram_arrives(ah);
	rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
}

/* --- the R/W API: what storage targets use -------------------------------- */

static void rw_context(enum dma_data_direction dir)
{
	struct setup setup = plain;
	struct rdma_rw_ctx ctx;
	struct scatterlist sg[3];
	struct ib_mr *mr;
	struct op *op;
	int i, n;

	setup.rdma_ctxs = 2;
	if (!set_up(&setup))
		return;
	mr = ulp_registered(&eb, 0, 0, 3 * PAGE_SIZE);
	if (!mr)
		return;
	get_random_bytes(eb.buf, BUF_LEN);
	sg_init_table(sg, 3);
	for (i = 0; i < 3; i++)
		sg_set_buf(&sg[i], ea.buf + 2 * i * PAGE_SIZE, PAGE_SIZE);
	n = rdma_rw_ctx_init(&ctx, ea.qp, 1, sg, 3, 0, mr->iova, mr->rkey, dir);
	if (!CHECK(n > 0))
		return;
	op = op_new(&ea);
	CHECK(!rdma_rw_ctx_post(&ctx, ea.qp, 1, &op->cqe, NULL));
	EXPECT(op, IB_WC_SUCCESS);
	rdma_rw_ctx_destroy(&ctx, ea.qp, 1, sg, 3, dir);
	for (i = 0; i < 3; i++)
		CHECK(ulp_is_same(2 * i * PAGE_SIZE, i * PAGE_SIZE, PAGE_SIZE));
}

static void rw_read(void)
{
	rw_context(DMA_FROM_DEVICE);
}

static void rw_write(void)
{
	rw_context(DMA_TO_DEVICE);
}

/* A kernel work request cannot name a shared receive queue of the peer. */
static void xrc_initiator(void)
{
	static const struct setup setup = {
		.mode = IB_POLL_DIRECT,
		.sig = IB_SIGNAL_REQ_WR,
		.type = IB_QPT_XRC_INI,
	};

	CHECK(create_end(&ea, &setup) == -EOPNOTSUPP);
	CHECK(!ea.qp);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
#define T(fn) { "kernel ULP: " #fn, fn }
	T(bad_send_wr_on_success), T(bad_send_wr_on_failure),
	T(send_queue_full), T(send_queue_resized), T(posting_by_state), T(bad_recv_wr),
	T(bad_srq_recv_wr), T(signaling), T(signal_all), T(inline_data),
	T(immediate_and_entries), T(atomics),
	T(cq_direct), T(cq_softirq), T(cq_workqueue), T(cq_unbound_workqueue),
	T(handler_posts_softirq), T(handler_posts_workqueue),
	T(cq_from_the_pool), T(notification), T(moderation), T(handler_runs_long),
	T(drain_init), T(drain_rtr), T(drain_rts), T(drain_sqd),
	T(drain_sqe), T(drain_err),
	T(drain_under_load), T(destroyed_with_work),
	T(fast_registration), T(registration_of_a_list), T(gaps_end_a_mapping),
	T(mapping_changes_nothing), T(mapping_disturbs_nobody),
	T(registered_again_without_mapping),
	T(iova_of_the_consumer),
	T(registration_over_a_registration),
	T(registration_in_another_domain), T(access_as_registered),
	T(local_access_as_registered), T(chains_of_local_inv),
	T(local_inv_ends_access), T(local_inv_of_a_wrong_key),
	T(peer_invalidates), T(peer_invalidates_what_is_not),
	T(peer_invalidates_twice),
	T(unsafe_global_rkey), T(local_dma_lkey_is_local),
	T(event_comm_est), T(event_sq_drained), T(event_last_wqe),
	T(event_srq_limit), T(event_access_error), T(datagram),
	T(handle_changed_anywhere),
	T(rw_read), T(rw_write), T(xrc_initiator), T(event_port),
};

static int __init ulp_init(void)
{
	int i, err;

	ops = kcalloc(OPS, sizeof(*ops), GFP_KERNEL);
	if (!ops)
		return -ENOMEM;
	err = open_end(&ea, a) ?: open_end(&eb, b);
	if (err) {
		pr_info("not ok 1 %s and %s cannot be used: %d\n", a, b, err);
		goto out;
	}
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		failures = 0;
		tests[i].run();
		tear_down();
		pr_info("%sok %d %s\n", failures ? "not " : "", i + 1,
			tests[i].name);
	}
out:
	close_end(&ea);
	close_end(&eb);
	kfree(ops);
	return err;
}

static void __exit ulp_exit(void)
{
}

module_init(ulp_init);
module_exit(ulp_exit);
MODULE_DESCRIPTION("rules that kernel consumers of RDMA rely on");
MODULE_LICENSE("Dual BSD/GPL");
