// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each verb with each of its attributes wrong: zero, too large, unknown, of another
 * protection domain, destroyed, in the wrong state. The call fails with an errno that
 * tells the reason, changes nothing, and leaves no object behind.
 *
 * For a destroyed object, the call has a handle that the kernel does not know.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "vt.h"
#include "vt_test.h"

#define BUF	8192
#define LONG	vt_ms(20000)
#define NO_OBJECT	0x7fffff	/* as a handle */

static struct vt_dev da, db;

/* The call must fail with this errno. */
#define REFUSED(call, err)						\
	(errno = 0, refused_at(__FILE__, __LINE__, #call, call, err))

static bool refused_at(const char *file, int line, const char *call,
		       const void *made, int err)
{
	if (!made && errno == err)
		return true;
	ktap_fail_at(file, line, "%s: %s, not %s", call,
		     made ? "made" : strerror(errno), strerror(err));
	return false;
}

/* Some of the kernel's commands return ENOENT for an unknown handle, others EINVAL. */
static bool is_gone(int err)
{
	return err == EINVAL || err == ENOENT;
}

#define GONE(made)							\
	(errno = 0, ktap_ok(!(made)) && ktap_ok(is_gone(errno)))

/* @call while @object's handle is unknown */
#define WITHOUT(object, call)						\
	do {								\
		u32 handle_ = (object)->handle;				\
									\
		(object)->handle = NO_OBJECT;				\
		call;							\
		(object)->handle = handle_;				\
	} while (0)

/* The kernel's counts of objects of both devices. */
static void count_objects(char *line, int size)
{
	FILE *file = popen("rdma resource show", "r");
	int n = 0;

	while (file && n < size - 1 && fgets(line + n, size - n, file))
		if (strstr(line + n, da.name) || strstr(line + n, db.name))
			n += strlen(line + n);
	line[n] = 0;
	if (file)
		pclose(file);
}

static char before[1024];

static void nothing_left(void)
{
	char now[sizeof(before)];

	count_objects(now, sizeof(now));
	if (!ktap_ok(!strcmp(before, now)))
		vt_say("before: %safter: %s", before, now);
}

static struct ibv_cq *new_cq(struct vt_dev *dev)
{
	return ibv_create_cq(dev->ctx, 16, NULL, NULL, 0);
}

/* Two ends in RESET; the connection must work afterwards. */
struct pair {
	struct vt_end a, b;
};

static void pair_create(struct pair *pair, enum ibv_qp_type type)
{
	struct vt_opts opts = VT_OPTS;

	opts.type = type;
	memset(pair, 0, sizeof(*pair));
	must(!vt_end_create(&pair->a, &da, &opts, BUF));
	must(!vt_end_create(&pair->b, &db, &opts, BUF));
}

static void pair_destroy(struct pair *pair)
{
	vt_end_destroy(&pair->a);
	vt_end_destroy(&pair->b);
}

static struct ibv_sge sge_of(struct vt_end *end)
{
	return (struct ibv_sge) { (uintptr_t)end->buf, 8, end->mr->lkey };
}

static int post_recv(struct vt_end *end)
{
	struct ibv_sge sge = sge_of(end);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(end->qp, &wr, &bad);
}

static int post_send(struct vt_end *end)
{
	struct ibv_sge sge = sge_of(end);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	return ibv_post_send(end->qp, &wr, &bad);
}

static bool input_completes(struct ibv_cq *cq, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	return ktap_eq(vt_poll(cq, &wc, 1, LONG), 0) &&
	       ktap_eq(wc.status, status);
}

static void still_works(struct pair *pair)
{
	must(!post_recv(&pair->b) && !post_send(&pair->a));
	ktap_ok(input_completes(pair->a.scq, IBV_WC_SUCCESS));
	ktap_ok(input_completes(pair->b.rcq, IBV_WC_SUCCESS));
}

/* --- ports and protection domains ------------------------------------------- */

static void ports_and_tables(void)
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	ktap_eq(ibv_query_port(da.ctx, 0, &port), EINVAL);
	ktap_eq(ibv_query_port(da.ctx, 2, &port), EINVAL);
	ktap_eq(ibv_query_port(da.ctx, 255, &port), EINVAL);
	ktap_ok(ibv_query_gid(da.ctx, 1, da.port.gid_tbl_len, &gid));
	ktap_ok(ibv_query_gid(da.ctx, 2, 0, &gid));
	ktap_ok(ibv_query_gid(da.ctx, 1, -1, &gid));
	ktap_ok(ibv_query_pkey(da.ctx, 1, 1, &pkey));
	ktap_ok(ibv_query_pkey(da.ctx, 2, 0, &pkey));
}

/* A domain cannot be freed while it has objects. */
static void domain(void)
{
	struct ibv_srq_init_attr srq_init = { .attr = { 4, 1, 0 } };
	struct ibv_pd *pd = ibv_alloc_pd(da.ctx);
	struct ibv_qp_init_attr qp_init = {
		.cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	struct ibv_ah_attr ah_attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = db.gid, .sgid_index = da.gid_index },
	};
	static u8 memory[64];
	struct ibv_srq *srq;
	struct ibv_ah *ah;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_qp *qp;

	must(pd);
	WITHOUT(pd, ktap_ok(is_gone(ibv_dealloc_pd(pd))));
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	must(mr);
	ktap_eq(ibv_dealloc_pd(pd), EBUSY);
	ktap_eq(ibv_dereg_mr(mr), 0);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	must(mw);
	ktap_eq(ibv_dealloc_pd(pd), EBUSY);
	ktap_eq(ibv_dealloc_mw(mw), 0);
	ah = ibv_create_ah(pd, &ah_attr);
	must(ah);
	ktap_eq(ibv_dealloc_pd(pd), EBUSY);
	ktap_eq(ibv_destroy_ah(ah), 0);
	srq = ibv_create_srq(pd, &srq_init);
	must(srq);
	ktap_eq(ibv_dealloc_pd(pd), EBUSY);
	cq = new_cq(&da);
	qp_init.send_cq = cq;
	qp_init.recv_cq = cq;
	qp_init.srq = srq;
	qp = ibv_create_qp(pd, &qp_init);
	must(qp);
	ktap_eq(ibv_destroy_srq(srq), EBUSY);
	ktap_eq(ibv_destroy_cq(cq), EBUSY);
	WITHOUT(qp, ktap_ok(is_gone(ibv_destroy_qp(qp))));
	ktap_eq(ibv_destroy_qp(qp), 0);
	WITHOUT(srq, ktap_ok(is_gone(ibv_destroy_srq(srq))));
	ktap_eq(ibv_destroy_srq(srq), 0);
	WITHOUT(cq, ktap_ok(is_gone(ibv_destroy_cq(cq))));
	ktap_eq(ibv_destroy_cq(cq), 0);
	ktap_eq(ibv_dealloc_pd(pd), 0);
}

/* --- memory ----------------------------------------------------------------- */

static void registration(void)
{
	u8 *hole, *mem = mmap(NULL, 3 * BUF, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int rw = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_mr *mr;

	must(mem != MAP_FAILED);
	hole = mem + BUF;
	must(!munmap(hole, BUF));
	WITHOUT(da.pd, GONE(ibv_reg_mr(da.pd, mem, BUF, rw)));
	REFUSED(ibv_reg_mr(da.pd, mem, ~0UL, rw), EINVAL);
	REFUSED(ibv_reg_mr(da.pd, hole, BUF, rw), EFAULT);
	REFUSED(ibv_reg_mr(da.pd, mem, 2 * BUF, rw), EFAULT);
	REFUSED(ibv_reg_mr(da.pd, mem + BUF - 1, 2, rw), EFAULT);
	/* the peers' address has another page offset, or wraps */
	REFUSED(ibv_reg_mr_iova(da.pd, mem, BUF, 1, rw), EINVAL);
	REFUSED(ibv_reg_mr_iova(da.pd, mem, BUF, 0ULL - 4096, rw), EINVAL);
	/* writing by peers needs writing */
	REFUSED(ibv_reg_mr(da.pd, mem, BUF, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	REFUSED(ibv_reg_mr(da.pd, mem, BUF, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	REFUSED(ibv_reg_mr(da.pd, mem, BUF, rw | 1 << 15), EINVAL);
	/* on demand: no windows; unmapped addresses are refused at their use */
	REFUSED(ibv_reg_mr(da.pd, mem, BUF, rw | IBV_ACCESS_ON_DEMAND |
			   IBV_ACCESS_MW_BIND), EOPNOTSUPP);
	REFUSED(ibv_reg_mr(da.pd, mem, 0, rw | IBV_ACCESS_ON_DEMAND), EINVAL);
	mr = ibv_reg_mr(da.pd, mem, BUF, rw | IBV_ACCESS_ON_DEMAND);
	must(mr);
	ktap_ok(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     rw));
	ktap_eq(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(da.pd, mem, BUF, rw);
	must(mr);
	WITHOUT(mr, ktap_ok(is_gone(ibv_dereg_mr(mr))));
	ktap_eq(ibv_dereg_mr(mr), 0);
	ktap_ok(!ibv_reg_dmabuf_mr(da.pd, 0, BUF, 0, -1, rw));
	ktap_ok(!ibv_reg_dmabuf_mr(da.pd, 0, BUF, 0, 0, rw));
	/* no attribute of it can be changed */
	mr = ibv_alloc_null_mr(da.pd);
	must(mr);
	ktap_ok(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     rw));
	ktap_eq(ibv_dereg_mr(mr), 0);
	munmap(mem, BUF);
	munmap(mem + 2 * BUF, BUF);
}

/* Does the kernel show a region of @len bytes? */
static bool region_is_shown(int len)
{
	FILE *file = popen("rdma resource show mr", "r");
	char line[256], want[32];
	bool found = false;

	snprintf(want, sizeof(want), " mrlen %d ", len);
	while (file && fgets(line, sizeof(line), file))
		found |= strstr(line, da.name) && strstr(line, want);
	if (file)
		pclose(file);
	return found;
}

/* A region keeps its attributes when a change is refused. */
static void registration_again(void)
{
	const int rw = IBV_ACCESS_LOCAL_WRITE, all = IBV_REREG_MR_CHANGE_ACCESS |
		IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_TRANSLATION;
	struct ibv_pd *pd = ibv_alloc_pd(da.ctx);
	struct pair pair;
	u32 lkey;

	must(pd);
	pair_create(&pair, IBV_QPT_RC);
	must(!vt_connect(&pair.a, &pair.b));
	lkey = pair.a.mr->lkey;
	ktap_ok(ibv_rereg_mr(pair.a.mr, all + 1, pd, pair.a.buf, BUF, rw) < 0);
	ktap_ok(ibv_rereg_mr(pair.a.mr, all, pd, pair.a.buf, 0, rw) < 0);
	ktap_ok(ibv_rereg_mr(pair.a.mr, all, pd, (void *)4096, BUF, rw) < 0);
	ktap_ok(ibv_rereg_mr(pair.a.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     IBV_ACCESS_REMOTE_WRITE) < 0);
	ktap_ok(ibv_rereg_mr(pair.a.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     rw | 1 << 15) < 0);
	WITHOUT(pd, ktap_ok(ibv_rereg_mr(pair.a.mr, IBV_REREG_MR_CHANGE_PD, pd,
					 NULL, 0, 0) < 0));
	ktap_eq(pair.a.mr->lkey, lkey);
	still_works(&pair);
	/* and shows the new ones after a change */
	ktap_eq(ibv_rereg_mr(pair.a.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			     pair.a.buf, BUF - 8, 0), 0);
	ktap_ok(region_is_shown(BUF - 8));
	pair_destroy(&pair);
	ktap_eq(ibv_dealloc_pd(pd), 0);
}

static void windows(void)
{
	struct ibv_mw *mw;

	REFUSED(ibv_alloc_mw(da.pd, 0), EINVAL);
	REFUSED(ibv_alloc_mw(da.pd, 3), EINVAL);
	WITHOUT(da.pd, GONE(ibv_alloc_mw(da.pd, IBV_MW_TYPE_1)));
	mw = ibv_alloc_mw(da.pd, IBV_MW_TYPE_1);
	must(mw);
	WITHOUT(mw, ktap_ok(is_gone(ibv_dealloc_mw(mw))));
	ktap_eq(ibv_dealloc_mw(mw), 0);
}

/* --- queues ----------------------------------------------------------------- */

static void completion_queues(void)
{
	struct ibv_comp_channel *chan = ibv_create_comp_channel(da.ctx);
	struct ibv_cq_init_attr_ex ex = { .cqe = 16 };
	struct ibv_modify_cq_attr modify = { .attr_mask = 1 << 7 };
	struct ibv_device_attr attr;
	struct ibv_cq *cq;
	int fd;

	must(chan && !ibv_query_device(da.ctx, &attr));
	REFUSED(ibv_create_cq(da.ctx, 0, NULL, NULL, 0), EINVAL);
	REFUSED(ibv_create_cq(da.ctx, -1, NULL, NULL, 0), EINVAL);
	REFUSED(ibv_create_cq(da.ctx, attr.max_cqe + 1, NULL, NULL, 0), EINVAL);
	REFUSED(ibv_create_cq(da.ctx, 16, NULL, NULL,
			      da.ctx->num_comp_vectors), EINVAL);
	REFUSED(ibv_create_cq(da.ctx, 16, NULL, NULL, -1), EINVAL);
	fd = chan->fd;
	chan->fd = 0;		/* a file, but no channel */
	ktap_ok(!ibv_create_cq(da.ctx, 16, NULL, chan, 0));
	chan->fd = NO_OBJECT;
	ktap_ok(!ibv_create_cq(da.ctx, 16, NULL, chan, 0));
	chan->fd = fd;
	ktap_eq(ibv_destroy_comp_channel(chan), 0);

	ex.wc_flags = 1ULL << 40;
	ktap_ok(!ibv_create_cq_ex(da.ctx, &ex));
	ex.wc_flags = 0;
	ex.comp_mask = 1 << 20;
	ktap_ok(!ibv_create_cq_ex(da.ctx, &ex));
	ex.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	ex.flags = 1 << 20;
	ktap_ok(!ibv_create_cq_ex(da.ctx, &ex));

	cq = new_cq(&da);
	must(cq);
	ktap_eq(ibv_resize_cq(cq, 0), EINVAL);
	ktap_eq(ibv_resize_cq(cq, attr.max_cqe + 1), EINVAL);
	WITHOUT(cq, ktap_ok(ibv_resize_cq(cq, 32)));
	ktap_ok(ibv_modify_cq(cq, &modify));
	ktap_ok(cq->cqe >= 16 && cq->cqe < 64);
	ktap_eq(ibv_destroy_cq(cq), 0);
}

static struct ibv_srq *try_srq(u32 max_wr, u32 max_sge)
{
	struct ibv_srq_init_attr init = { .attr = { max_wr, max_sge, 0 } };

	return ibv_create_srq(da.pd, &init);
}

static void shared_receive_queues(void)
{
	struct ibv_srq_init_attr_ex ex = {
		.attr = { 4, 1, 0 }, .pd = da.pd, .srq_type = IBV_SRQT_TM,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
	};
	struct ibv_recv_wr wr = { .num_sge = 33 }, *bad = NULL;
	struct ibv_srq_attr attr = {};
	struct ibv_device_attr dev;
	struct ibv_srq *srq;

	must(!ibv_query_device(da.ctx, &dev));
	REFUSED(try_srq(0, 1), EINVAL);
	REFUSED(try_srq(dev.max_srq_wr + 1, 1), EINVAL);
	REFUSED(try_srq(~0u, 1), EINVAL);
	REFUSED(try_srq(4, dev.max_srq_sge + 1), EINVAL);
	WITHOUT(da.pd, GONE(try_srq(4, 1)));
	ktap_ok(!ibv_create_srq_ex(da.ctx, &ex));
	srq = try_srq(4, 2);
	must(srq);
	attr.srq_limit = dev.max_srq_wr;
	ktap_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	ktap_eq(ibv_modify_srq(srq, &attr, 1 << 5), EINVAL);
	attr.max_wr = 0;
	ktap_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.max_wr = dev.max_srq_wr + 1;
	ktap_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	WITHOUT(srq, ktap_ok(is_gone(ibv_query_srq(srq, &attr))));
	ktap_eq(ibv_query_srq(srq, &attr), 0);
	ktap_ok(attr.max_wr >= 4 && attr.max_wr < 64 && !attr.srq_limit);
	ktap_eq(ibv_post_srq_recv(srq, &wr, &bad), EINVAL);
	ktap_ok(bad == &wr);
	wr.num_sge = -1;
	ktap_eq(ibv_post_srq_recv(srq, &wr, &bad), EINVAL);
	ktap_eq(ibv_destroy_srq(srq), 0);
}

/* --- queue pairs ------------------------------------------------------------ */

static struct ibv_qp *try_qp(struct ibv_qp_init_attr init)
{
	return ibv_create_qp(da.pd, &init);
}

static struct ibv_qp *try_ex(struct ibv_qp_init_attr init, u32 mask, u64 ops)
{
	struct ibv_qp_init_attr_ex ex = {
		.send_cq = init.send_cq, .recv_cq = init.recv_cq,
		.cap = init.cap, .qp_type = init.qp_type, .pd = da.pd,
		.comp_mask = mask, .send_ops_flags = ops, .create_flags = 1,
	};

	return ibv_create_qp_ex(da.ctx, &ex);
}

static void creation(void)
{
	static const u8 no_types[] = {
		0, IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER, 99,
	};
	const u32 ops = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_qp_init_attr init, good = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};
	struct ibv_srq *srq = try_srq(4, 1);
	struct ibv_cq *cq = new_cq(&da);
	struct ibv_device_attr dev;
	unsigned int i;

	must(srq && cq && !ibv_query_device(da.ctx, &dev));
	good.send_cq = cq;
	good.recv_cq = cq;
	for (i = 0; i < sizeof(no_types); i++) {
		init = good;
		init.qp_type = no_types[i];
		errno = 0;
		ktap_ok(!try_qp(init));
		ktap_ok(errno == EINVAL || errno == EOPNOTSUPP);
	}
	WITHOUT(da.pd, GONE(try_qp(good)));
	WITHOUT(cq, GONE(try_qp(good)));
	init = good;
	init.srq = srq;
	WITHOUT(srq, GONE(try_qp(init)));
	init = good;
	init.cap.max_send_wr = dev.max_qp_wr + 1;
	REFUSED(try_qp(init), EINVAL);
	init.cap.max_send_wr = ~0u;
	REFUSED(try_qp(init), EINVAL);
	init = good;
	init.cap.max_recv_wr = dev.max_qp_wr + 1;
	REFUSED(try_qp(init), EINVAL);
	init = good;
	init.cap.max_send_sge = dev.max_sge + 1;
	REFUSED(try_qp(init), EINVAL);
	init = good;
	init.cap.max_recv_sge = dev.max_sge + 1;
	REFUSED(try_qp(init), EINVAL);
	init = good;
	init.cap.max_inline_data = 1 << 20;
	REFUSED(try_qp(init), EINVAL);

	ktap_ok(!try_ex(good, 0, 0));
	ktap_ok(!try_ex(good, IBV_QP_INIT_ATTR_PD | 1 << 30, 0));
	ktap_ok(!try_ex(good, IBV_QP_INIT_ATTR_PD |
			IBV_QP_INIT_ATTR_CREATE_FLAGS, 0));
	ktap_ok(!try_ex(good, ops, 1ULL << 50));
	init = good;
	init.qp_type = IBV_QPT_UD;
	ktap_ok(!try_ex(init, ops, IBV_QP_EX_WITH_RDMA_READ));
	init.qp_type = IBV_QPT_UC;
	ktap_ok(!try_ex(init, ops, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD));
	ktap_eq(ibv_destroy_srq(srq), 0);
	ktap_eq(ibv_destroy_cq(cq), 0);
}

/* All attributes that a transition into a state requires, with good values. */
static struct ibv_qp_attr good_attr(const struct pair *pair)
{
	return (struct ibv_qp_attr) {
		.port_num = 1, .qp_access_flags = VT_ACCESS,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = pair->b.qp->qp_num,
		.rq_psn = pair->b.psn, .sq_psn = pair->a.psn,
		.max_rd_atomic = 1, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = db.gid, .sgid_index = da.gid_index,
				 .hop_limit = 1 },
		},
	};
}

static const int needs[] = {
	[IBV_QPS_RESET] = 0,
	[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			 IBV_QP_ACCESS_FLAGS,
	[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_MIN_RNR_TIMER,
	[IBV_QPS_RTS] = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	[IBV_QPS_SQD] = 0,
	[IBV_QPS_SQE] = 0,
	[IBV_QPS_ERR] = 0,
};

static int input_go_to(struct pair *pair, enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = good_attr(pair);
	/* attributes of RTR to RTS may not come with SQD to RTS */
	int mask = to == IBV_QPS_RTS && from != IBV_QPS_RTR ? 0 : needs[to];

	attr.qp_state = to;
	return ibv_modify_qp(pair->a.qp, &attr, IBV_QP_STATE | mask);
}

static bool bring_to(struct pair *pair, enum ibv_qp_state state)
{
	static const enum ibv_qp_state way[] = {
		IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD,
	};
	enum ibv_qp_state now = IBV_QPS_RESET;
	unsigned int i;
	int err;

	err = vt_to_state(pair->a.qp, IBV_QPS_RESET);
	if (state == IBV_QPS_ERR)
		return !err && !input_go_to(pair, now, IBV_QPS_INIT) &&
		       !input_go_to(pair, IBV_QPS_INIT, state);
	for (i = 0; i < 4 && now != state && !err; i++) {
		err = input_go_to(pair, now, way[i]);
		now = way[i];
	}
	return !err && vt_state(pair->a.qp) == state;
}

/* IBTA 10.3.1: to RESET from any state, to ERR from any but RESET, and these. */
static bool input_allowed(enum ibv_qp_state from, enum ibv_qp_state to)
{
	if (to == IBV_QPS_RESET)
		return true;
	if (to == IBV_QPS_ERR)
		return from != IBV_QPS_RESET;
	switch (from) {
	case IBV_QPS_RESET:
		return to == IBV_QPS_INIT;
	case IBV_QPS_INIT:
		return to == IBV_QPS_INIT || to == IBV_QPS_RTR;
	case IBV_QPS_RTR:
		return to == IBV_QPS_RTS;
	case IBV_QPS_RTS:
	case IBV_QPS_SQD:
		return to == IBV_QPS_RTS || to == IBV_QPS_SQD;
	default:
		return false;
	}
}

static void transitions(void)
{
	static const enum ibv_qp_state froms[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QPS_SQD, IBV_QPS_ERR,
	};
	unsigned int i, to;
	struct pair pair;

	pair_create(&pair, IBV_QPT_RC);
	for (i = 0; i < 6; i++) {
		enum ibv_qp_state from = froms[i];

		for (to = IBV_QPS_RESET; to <= IBV_QPS_ERR + 1; to++) {
			int err;

			must(bring_to(&pair, from));
			err = to <= IBV_QPS_ERR ? input_go_to(&pair, from, to) :
			      ibv_modify_qp(pair.a.qp, &(struct ibv_qp_attr)
					    { .qp_state = to }, IBV_QP_STATE);
			if (err == (input_allowed(from, to) ? 0 : EINVAL) &&
			    vt_state(pair.a.qp) == (err ? from : to))
				continue;
			ktap_fail("state %d to %d: %s, now %d", from, to,
				  strerror(err), vt_state(pair.a.qp));
		}
	}
	pair_destroy(&pair);
}

/* One attribute at a time gets a value that it cannot have. */
static const struct bad_value {
	const char *name;
	enum ibv_qp_state to;
	size_t offset, size;
	u32 value;
} bad_values[] = {
#define BAD(state, field, bad) {					\
	#field " " #bad, IBV_QPS_##state,				\
	offsetof(struct ibv_qp_attr, field),				\
	sizeof(((struct ibv_qp_attr *)0)->field), bad }
	BAD(INIT, port_num, 0), BAD(INIT, port_num, 2),
	BAD(INIT, pkey_index, 1), BAD(INIT, pkey_index, 0xffff),
	BAD(INIT, qp_access_flags, 1 << 19),
	BAD(RTR, path_mtu, 0), BAD(RTR, path_mtu, 6),
	BAD(RTR, dest_qp_num, 1 << 24),
	BAD(RTR, max_dest_rd_atomic, 129), BAD(RTR, min_rnr_timer, 32),
	BAD(RTR, ah_attr.is_global, 0), BAD(RTR, ah_attr.port_num, 0),
	BAD(RTR, ah_attr.port_num, 2), BAD(RTR, ah_attr.static_rate, 1),
	BAD(RTR, ah_attr.static_rate, 255),
	BAD(RTR, ah_attr.grh.sgid_index, 255),
	BAD(RTS, timeout, 32),
	BAD(RTS, retry_cnt, 8), BAD(RTS, rnr_retry, 8),
	BAD(RTS, max_rd_atomic, 129),
#undef BAD
};

static enum ibv_qp_state state_before(enum ibv_qp_state to)
{
	return to == IBV_QPS_INIT ? IBV_QPS_RESET :
	       to == IBV_QPS_RTR ? IBV_QPS_INIT : IBV_QPS_RTR;
}

static void values(void)
{
	const struct bad_value *bad;
	struct pair pair;
	unsigned int i;

	pair_create(&pair, IBV_QPT_RC);
	for (i = 0; i < sizeof(bad_values) / sizeof(*bad_values); i++) {
		struct ibv_qp_attr attr = good_attr(&pair);
		int err;

		bad = &bad_values[i];
		must(bring_to(&pair, state_before(bad->to)));
		attr.qp_state = bad->to;
		memcpy((u8 *)&attr + bad->offset, &bad->value, bad->size);
		err = ibv_modify_qp(pair.a.qp, &attr,
				    IBV_QP_STATE | needs[bad->to]);
		/* ENODATA: a slot of the GID table that is empty */
		if ((err == EINVAL || err == ENODATA) &&
		    vt_state(pair.a.qp) == state_before(bad->to))
			continue;
		ktap_fail("%s: %s, state %d", bad->name, strerror(err),
			  vt_state(pair.a.qp));
	}
	pair_destroy(&pair);
}

/* Each required attribute of a transition is left out, each unknown one added. */
static void masks(void)
{
	static const enum ibv_qp_state ways[] = {
		IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
	};
	struct ibv_qp_attr attr;
	unsigned int i, bit;
	struct pair pair;

	pair_create(&pair, IBV_QPT_RC);
	for (i = 0; i < 3; i++) {
		int all = needs[ways[i]];

		must(bring_to(&pair, state_before(ways[i])));
		attr = good_attr(&pair);
		attr.qp_state = ways[i];
		for (bit = 1; bit <= (unsigned int)all; bit <<= 1)
			if (all & bit && ibv_modify_qp(pair.a.qp, &attr,
						       IBV_QP_STATE |
						       (all & ~bit)) != EINVAL)
				ktap_fail("to %d without %#x", ways[i], bit);
		ktap_ok(ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE | all |
				      IBV_QP_QKEY));
		ktap_ok(ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE | all |
				      1 << 30));
		attr.cur_qp_state = IBV_QPS_SQD;
		ktap_ok(ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE | all |
				      IBV_QP_CUR_STATE));
		ktap_eq(vt_state(pair.a.qp), state_before(ways[i]));
	}
	must(bring_to(&pair, IBV_QPS_INIT));
	attr = good_attr(&pair);
	attr.qp_state = IBV_QPS_RTR;
	attr.alt_ah_attr = attr.ah_attr;
	attr.alt_port_num = 1;
	ktap_ok(ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE | IBV_QP_ALT_PATH |
			      needs[IBV_QPS_RTR]));
	WITHOUT(pair.a.qp, ktap_ok(is_gone(input_go_to(&pair, IBV_QPS_INIT, IBV_QPS_RTR))));
	ktap_eq(vt_state(pair.a.qp), IBV_QPS_INIT);
	pair_destroy(&pair);
}

/* --- addresses -------------------------------------------------------------- */

static union ibv_gid gid_v4(u32 address)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };
	__be32 be = htobe32(address);

	memcpy(gid.raw + 12, &be, sizeof(be));
	return gid;
}

/* No connection can lead there; a datagram may go to a group. */
static void peers_of_connections(void)
{
	const union ibv_gid nowhere[] = {
		{ .raw = { 0 } }, { .raw = { 0xfd, 0x77, [15] = 2 } },
		{ .raw = { 0xff, 0x0e, [15] = 1 } }, gid_v4(0),
		gid_v4(0xe0000105), gid_v4(0xffffffff),
	};
	struct ibv_qp_attr attr;
	struct pair pair;
	unsigned int i;
	int err;

	pair_create(&pair, IBV_QPT_RC);
	must(bring_to(&pair, IBV_QPS_INIT));
	for (i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
		attr = good_attr(&pair);
		attr.qp_state = IBV_QPS_RTR;
		attr.ah_attr.grh.dgid = nowhere[i];
		err = ibv_modify_qp(pair.a.qp, &attr,
				    IBV_QP_STATE | needs[IBV_QPS_RTR]);
		if (!err || vt_state(pair.a.qp) != IBV_QPS_INIT)
			ktap_fail("address %u is taken", i);
		must(bring_to(&pair, IBV_QPS_INIT));
	}
	pair_destroy(&pair);
}

static struct ibv_ah *try_ah(struct ibv_ah_attr attr)
{
	return ibv_create_ah(da.pd, &attr);
}

static void address_handles(void)
{
	struct ibv_ah_attr attr, good = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = db.gid, .sgid_index = da.gid_index },
	};
	struct ibv_ah *ah;

	WITHOUT(da.pd, GONE(try_ah(good)));
	attr = good;
	attr.is_global = 0;
	REFUSED(try_ah(attr), EINVAL);
	attr = good;
	attr.port_num = 2;
	REFUSED(try_ah(attr), EINVAL);
	attr = good;
	attr.grh.sgid_index = 255;
	REFUSED(try_ah(attr), ENODATA);
	attr = good;
	attr.static_rate = 255;
	REFUSED(try_ah(attr), EINVAL);
	attr = good;
	memset(&attr.grh.dgid, 0, sizeof(attr.grh.dgid));
	errno = 0;
	ktap_ok(!try_ah(attr) && errno);
	attr = good;
	attr.grh.dgid = (union ibv_gid){ .raw = { 0xfd, 0x77, [15] = 2 } };
	errno = 0;
	ktap_ok(!try_ah(attr) && errno);
	ah = try_ah(good);
	must(ah);
	WITHOUT(ah, ktap_ok(is_gone(ibv_destroy_ah(ah))));
	ktap_eq(ibv_destroy_ah(ah), 0);
}

static void groups(void)
{
	union ibv_gid group = gid_v4(0xe0000105), single = gid_v4(0x0a4d0002);
	struct pair rc, ud;

	pair_create(&rc, IBV_QPT_RC);
	pair_create(&ud, IBV_QPT_UD);
	ktap_eq(ibv_attach_mcast(rc.a.qp, &group, 0), EINVAL);
	must(!vt_to_init(&ud.a));
	ktap_eq(ibv_attach_mcast(ud.a.qp, &single, 0), EINVAL);
	ktap_eq(ibv_detach_mcast(ud.a.qp, &group, 0), EINVAL);
	WITHOUT(ud.a.qp, ktap_ok(is_gone(ibv_attach_mcast(ud.a.qp, &group, 0))));
	pair_destroy(&ud);
	pair_destroy(&rc);
}

/* --- work requests ---------------------------------------------------------- */

/* Bits of the opcodes that a transport has; others are refused. */
#define BIT_OF(op)	(1u << IBV_WR_##op)
#define SENDS		(BIT_OF(SEND) | BIT_OF(SEND_WITH_IMM))
#define WRITES		(BIT_OF(RDMA_WRITE) | BIT_OF(RDMA_WRITE_WITH_IMM))
#define ONLY_RC		(BIT_OF(RDMA_READ) | BIT_OF(ATOMIC_CMP_AND_SWP) |	\
			 BIT_OF(ATOMIC_FETCH_AND_ADD) | BIT_OF(LOCAL_INV) | \
			 BIT_OF(BIND_MW) | BIT_OF(SEND_WITH_INV) |	\
			 BIT_OF(ATOMIC_WRITE))

static void opcodes_of(enum ibv_qp_type type, u32 known)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;
	struct pair pair;
	int op;

	pair_create(&pair, type);
	must(!vt_connect(&pair.a, &pair.b));
	for (op = -1; op < 34; op++) {
		struct ibv_sge sge = sge_of(&pair.a);

		if (op >= 0 && op < 32 && known & 1u << op)
			continue;
		wr = (struct ibv_send_wr) {
			.opcode = op, .sg_list = &sge, .num_sge = 1,
			.send_flags = IBV_SEND_SIGNALED,
		};
		bad = NULL;
		if (ibv_post_send(pair.a.qp, &wr, &bad) != EINVAL || bad != &wr)
			ktap_fail("type %d, opcode %d", type, op);
	}
	ktap_eq(ibv_poll_cq(pair.a.scq, 1, &wc), 0);
	if (type != IBV_QPT_UD)
		still_works(&pair);
	pair_destroy(&pair);
}

static void opcodes(void)
{
	opcodes_of(IBV_QPT_RC, SENDS | WRITES | ONLY_RC);
	opcodes_of(IBV_QPT_UC, SENDS | WRITES | BIT_OF(LOCAL_INV) |
		   BIT_OF(BIND_MW));
	opcodes_of(IBV_QPT_UD, SENDS);
}

static int try_send(struct vt_end *end, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;
	int err = ibv_post_send(end->qp, &wr, &bad);

	return err && bad != &wr ? -1 : err;
}

static void requests(void)
{
	struct ibv_send_wr good, wr;
	struct ibv_recv_wr recv = { .num_sge = -1 }, *bad;
	struct ibv_sge sges[40], *sge = sges;
	struct pair pair, ud;

	pair_create(&pair, IBV_QPT_RC);
	ktap_eq(post_send(&pair.a), EINVAL);	/* RESET */
	ktap_eq(post_recv(&pair.a), EINVAL);
	must(!vt_connect(&pair.a, &pair.b));
	sges[0] = sge_of(&pair.a);
	good = (struct ibv_send_wr) {
		.sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	};
	wr = good;
	wr.num_sge = -1;
	ktap_eq(try_send(&pair.a, wr), EINVAL);
	wr.num_sge = 33;
	ktap_eq(try_send(&pair.a, wr), EINVAL);
	wr.num_sge = INT32_MAX;
	ktap_eq(try_send(&pair.a, wr), EINVAL);
	wr = good;
	wr.send_flags = 1 << 20;
	ktap_eq(try_send(&pair.a, wr), EINVAL);
	wr = good;
	sge->length = BUF;
	wr.send_flags = IBV_SEND_INLINE;
	ktap_eq(try_send(&pair.a, wr), EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	sge->length = 8;
	ktap_eq(try_send(&pair.a, wr), EINVAL);
	wr = good;
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.num_sge = 0;
	ktap_eq(try_send(&pair.a, wr), EINVAL);
	ktap_eq(ibv_post_recv(pair.a.qp, &recv, &bad), EINVAL);
	recv.num_sge = 33;
	ktap_eq(ibv_post_recv(pair.a.qp, &recv, &bad), EINVAL);
	still_works(&pair);
	pair_destroy(&pair);

	pair_create(&ud, IBV_QPT_UD);
	must(!vt_connect(&ud.a, &ud.b));
	wr = good;
	sges[0] = sge_of(&ud.a);
	ktap_eq(try_send(&ud.a, wr), EINVAL);	/* no address handle */
	pair_destroy(&ud);
}

/* --- XRC -------------------------------------------------------------------- */

/* The library's private part behind an ibv_xrcd. */
struct xrc_domain {
	struct ibv_xrcd xrcd;
	u32 comp_mask;
	u32 handle;
};

static struct ibv_xrcd *try_xrcd(int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd, .oflags = oflags,
	};

	return ibv_open_xrcd(da.ctx, &attr);
}

static struct xrc_domain *new_xrcd(void)
{
	return (struct xrc_domain *)try_xrcd(-1, O_CREAT);
}

static void xrc_domains(void)
{
	FILE *file = tmpfile();
	struct xrc_domain *domain;
	int fd;

	must(file);
	fd = fileno(file);
	REFUSED(try_xrcd(NO_OBJECT, O_CREAT), EBADF);
	REFUSED(try_xrcd(fd, 0), EAGAIN);	/* no such domain yet */
	domain = (struct xrc_domain *)try_xrcd(fd, O_CREAT);
	must(domain);
	REFUSED(try_xrcd(fd, O_CREAT | O_EXCL), EINVAL);
	WITHOUT(domain, ktap_ok(is_gone(ibv_close_xrcd(&domain->xrcd))));
	ktap_eq(ibv_close_xrcd(&domain->xrcd), 0);
	REFUSED(try_xrcd(fd, 0), EAGAIN);
	fclose(file);
}

static struct ibv_srq *try_xsrq(struct xrc_domain *domain, struct ibv_cq *cq,
				u32 max_wr, u32 max_sge)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { max_wr, max_sge, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = da.pd, .xrcd = &domain->xrcd, .cq = cq,
	};

	return ibv_create_srq_ex(da.ctx, &attr);
}

static void xrc_receive_queues(void)
{
	struct xrc_domain *domain = new_xrcd();
	struct ibv_cq *cq = new_cq(&da);
	struct ibv_device_attr dev;
	struct ibv_srq *srq;

	must(domain && cq && !ibv_query_device(da.ctx, &dev));
	REFUSED(try_xsrq(domain, cq, 0, 1), EINVAL);
	REFUSED(try_xsrq(domain, cq, dev.max_srq_wr + 1, 1), EINVAL);
	REFUSED(try_xsrq(domain, cq, ~0u, 1), EINVAL);
	REFUSED(try_xsrq(domain, cq, 4, dev.max_srq_sge + 1), EINVAL);
	WITHOUT(domain, GONE(try_xsrq(domain, cq, 4, 1)));
	WITHOUT(cq, GONE(try_xsrq(domain, cq, 4, 1)));
	WITHOUT(da.pd, GONE(try_xsrq(domain, cq, 4, 1)));
	srq = try_xsrq(domain, cq, 4, 1);
	must(srq);
	/* objects that it needs cannot be freed */
	ktap_eq(ibv_close_xrcd(&domain->xrcd), EBUSY);
	ktap_eq(ibv_destroy_cq(cq), EBUSY);
	WITHOUT(srq, ktap_ok(is_gone(ibv_destroy_srq(srq))));
	ktap_eq(ibv_destroy_srq(srq), 0);
	ktap_eq(ibv_close_xrcd(&domain->xrcd), 0);
	ktap_eq(ibv_destroy_cq(cq), 0);
}

static struct ibv_qp *try_initiator(struct ibv_cq *cq, u32 wr, u32 sge,
				    u32 inline_data)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND, .pd = da.pd, .send_cq = cq,
		.cap = { .max_send_wr = wr, .max_send_sge = sge,
			 .max_inline_data = inline_data },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	return ibv_create_qp_ex(da.ctx, &attr);
}

static struct ibv_qp *try_target(struct xrc_domain *domain)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .xrcd = &domain->xrcd,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	return ibv_create_qp_ex(da.ctx, &attr);
}

static struct ibv_qp *try_open(struct xrc_domain *domain, u32 qpn,
			       enum ibv_qp_type type)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qpn, .xrcd = &domain->xrcd, .qp_type = type,
	};

	return ibv_open_qp(da.ctx, &attr);
}

static void xrc_initiators(void)
{
	struct ibv_cq *cq = new_cq(&da);
	struct ibv_device_attr dev;

	must(cq && !ibv_query_device(da.ctx, &dev));
	REFUSED(try_initiator(cq, dev.max_qp_wr + 1, 1, 0), EINVAL);
	REFUSED(try_initiator(cq, ~0u, 1, 0), EINVAL);
	REFUSED(try_initiator(cq, 4, dev.max_sge + 1, 0), EINVAL);
	REFUSED(try_initiator(cq, 4, 1, 1 << 20), EINVAL);
	WITHOUT(cq, GONE(try_initiator(cq, 4, 1, 0)));
	WITHOUT(da.pd, GONE(try_initiator(cq, 4, 1, 0)));
	ktap_eq(ibv_destroy_cq(cq), 0);
}

/* The number of a target is valid in its domain only, while the target exists. */
static void xrc_targets(void)
{
	struct xrc_domain *domain = new_xrcd(), *other = new_xrcd();
	struct ibv_cq *cq = new_cq(&da);
	struct ibv_qp *qp, *ini;
	struct pair pair;
	u32 qpn;

	must(domain && other && cq);
	WITHOUT(domain, GONE(try_target(domain)));
	qp = try_target(domain);
	ini = try_initiator(cq, 4, 1, 0);
	must(qp && ini);
	pair_create(&pair, IBV_QPT_RC);
	qpn = qp->qp_num;
	REFUSED(try_open(domain, pair.a.qp->qp_num, IBV_QPT_XRC_RECV), EINVAL);
	REFUSED(try_open(domain, ini->qp_num, IBV_QPT_XRC_RECV), EINVAL);
	REFUSED(try_open(domain, ini->qp_num, IBV_QPT_XRC_SEND), EINVAL);
	REFUSED(try_open(domain, 0, IBV_QPT_XRC_RECV), EINVAL);
	REFUSED(try_open(domain, ~0u, IBV_QPT_XRC_RECV), EINVAL);
	REFUSED(try_open(domain, qpn, IBV_QPT_RC), EINVAL);
	REFUSED(try_open(other, qpn, IBV_QPT_XRC_RECV), EINVAL);
	WITHOUT(domain, GONE(try_open(domain, qpn, IBV_QPT_XRC_RECV)));
	pair_destroy(&pair);
	ktap_eq(ibv_close_xrcd(&domain->xrcd), EBUSY);
	WITHOUT(qp, ktap_ok(is_gone(ibv_destroy_qp(qp))));
	ktap_eq(ibv_destroy_qp(qp), 0);
	REFUSED(try_open(domain, qpn, IBV_QPT_XRC_RECV), EINVAL);
	ktap_eq(ibv_destroy_qp(ini), 0);
	ktap_eq(ibv_destroy_cq(cq), 0);
	ktap_eq(ibv_close_xrcd(&domain->xrcd), 0);
	ktap_eq(ibv_close_xrcd(&other->xrcd), 0);
}

/* --- another protection domain ---------------------------------------------- */

/* A message between the ends of @pair while @end names memory of @pd, another domain. */
static void send_foreign(struct pair *pair, struct vt_end *end, struct ibv_pd *pd)
{
	struct ibv_mr *own = end->mr;

	end->mr = ibv_reg_mr(pd, end->buf, BUF, VT_ACCESS);
	must(end->mr && !post_recv(&pair->b) && !post_send(&pair->a));
	if (end == &pair->b)
		ktap_ok(input_completes(pair->b.rcq, IBV_WC_LOC_PROT_ERR));
	ktap_ok(input_completes(pair->a.scq, end == &pair->b ? IBV_WC_REM_OP_ERR :
						   IBV_WC_LOC_PROT_ERR));
	ktap_eq(ibv_dereg_mr(end->mr), 0);
	end->mr = own;
}

/* Memory of another domain: the end that names it gets the error. */
static void foreign_memory(void)
{
	struct ibv_pd *pd_a = ibv_alloc_pd(da.ctx), *pd_b = ibv_alloc_pd(db.ctx);
	struct pair pair;
	int receiver;

	must(pd_a && pd_b);
	for (receiver = 0; receiver < 2; receiver++) {
		pair_create(&pair, IBV_QPT_RC);
		must(!vt_connect(&pair.a, &pair.b));
		send_foreign(&pair, receiver ? &pair.b : &pair.a, receiver ? pd_b : pd_a);
		pair_destroy(&pair);
	}
	ktap_eq(ibv_dealloc_pd(pd_a), 0);
	ktap_eq(ibv_dealloc_pd(pd_b), 0);
}

/* An address handle of another domain sends nothing. */
static void foreign_address(void)
{
	struct ibv_pd *own = da.pd, *pd = ibv_alloc_pd(da.ctx);
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .remote_qkey = VT_QKEY }, .num_sge = 1,
	};
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct ibv_ah *ah;
	struct pair pair;

	must(pd);
	pair_create(&pair, IBV_QPT_UD);
	must(!vt_connect(&pair.a, &pair.b));
	da.pd = pd;
	ah = vt_ah(&da, &db);
	da.pd = own;
	must(ah);
	sge = sge_of(&pair.a);
	wr.sg_list = &sge;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = pair.b.qp->qp_num;
	must(!try_send(&pair.a, wr));
	ktap_ok(input_completes(pair.a.scq, IBV_WC_LOC_QP_OP_ERR));
	ktap_eq(ibv_poll_cq(pair.b.rcq, 1, &wc), 0);
	ktap_eq(ibv_destroy_ah(ah), 0);
	pair_destroy(&pair);
	ktap_eq(ibv_dealloc_pd(pd), 0);
}

#define TESTS(X)							\
	X(ports_and_tables) X(domain) X(registration)			\
	X(registration_again) X(windows) X(completion_queues)		\
	X(shared_receive_queues) X(creation) X(transitions) X(values)	\
	X(masks) X(peers_of_connections) X(address_handles) X(groups)	\
	X(opcodes) X(requests) X(xrc_domains) X(xrc_receive_queues)	\
	X(xrc_initiators) X(xrc_targets) X(foreign_memory)		\
	X(foreign_address) X(nothing_left)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	if (!vt_open_both(&da, &db, VT_IPV4))
		return vt_bail();
	count_objects(before, sizeof(before));
	return vt_run(argc > 1 ? argv[1] : NULL);
}
