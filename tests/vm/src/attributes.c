// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The limits that a device reports hold exactly: each one is reached, and one more is
 * refused. A test has no memory for as many objects as a device may have: a module lets
 * the device count more than there are (tests/vm/kmod/cairn_taken.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(20000)
#define BUF	4096

static struct vt_dev dev[2];
static struct ibv_device_attr_ex ex;
static struct ibv_cq *cq;
static struct ibv_ah *ah;		/* to the other device */
static struct ibv_sge sges[33];

/* --- tries: 0 or the errno ------------------------------------------------- */

static int try_qp_of(enum ibv_qp_type type, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = cq, .recv_cq = cq, .cap = cap,
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(dev[0].pd, &init);
	if (!qp)
		return errno ?: -1;
	return ibv_destroy_qp(qp);
}

static int try_qp(struct ibv_qp_cap cap)
{
	return try_qp_of(IBV_QPT_RC, cap) ?: try_qp_of(IBV_QPT_UC, cap) ?:
	       try_qp_of(IBV_QPT_UD, cap);
}

static int try_send_wr(u64 n)
{
	return try_qp((struct ibv_qp_cap){ .max_send_wr = n,
					   .max_send_sge = 1 });
}

static int try_recv_wr(u64 n)
{
	return try_qp((struct ibv_qp_cap){ .max_recv_wr = n,
					   .max_recv_sge = 1 });
}

static int try_send_sge(u64 n)
{
	return try_qp((struct ibv_qp_cap){ .max_send_wr = 1,
					   .max_send_sge = n });
}

static int try_recv_sge(u64 n)
{
	return try_qp((struct ibv_qp_cap){ .max_recv_wr = 1,
					   .max_recv_sge = n });
}

static int try_inline(u64 n)
{
	return try_qp((struct ibv_qp_cap){ .max_send_wr = 1,
					   .max_inline_data = n });
}

static int try_cqe(u64 n)
{
	struct ibv_cq *made_cq;

	errno = 0;
	made_cq = ibv_create_cq(dev[0].ctx, n, NULL, NULL, 0);
	if (!made_cq)
		return errno ?: -1;
	return (u64)made_cq->cqe < n ? -2 : ibv_destroy_cq(made_cq);
}

static int try_cq_resized(u64 n)
{
	struct ibv_cq *small = ibv_create_cq(dev[0].ctx, 1, NULL, NULL, 0);
	int err;

	must(small);
	err = ibv_resize_cq(small, n);
	must(!ibv_destroy_cq(small));
	return err;
}

static int try_vector(u64 n)
{
	struct ibv_cq *made_cq;

	errno = 0;
	made_cq = ibv_create_cq(dev[0].ctx, 1, NULL, NULL, n);
	return made_cq ? ibv_destroy_cq(made_cq) : errno;
}

static int try_srq_of(struct ibv_srq_attr attr)
{
	struct ibv_srq_init_attr init = { .attr = attr };
	struct ibv_srq *srq;

	errno = 0;
	srq = ibv_create_srq(dev[0].pd, &init);
	return srq ? ibv_destroy_srq(srq) : errno;
}

static int try_srq_wr(u64 n)
{
	return try_srq_of((struct ibv_srq_attr){ .max_wr = n, .max_sge = 1 });
}

static int try_srq_sge(u64 n)
{
	return try_srq_of((struct ibv_srq_attr){ .max_wr = 1, .max_sge = n });
}

static int try_srq_resized(u64 n)
{
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };
	struct ibv_srq_attr attr = { .max_wr = n };
	struct ibv_srq *srq = ibv_create_srq(dev[0].pd, &init);
	int err;

	must(srq);
	err = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
	must(!ibv_destroy_srq(srq));
	return err;
}

/* The limit of a queue with 64 entries. */
static int try_srq_limit(u64 n)
{
	struct ibv_srq_init_attr init = { .attr = { 64, 1, 0 } };
	struct ibv_srq_attr attr = { .srq_limit = n };
	struct ibv_srq *srq = ibv_create_srq(dev[0].pd, &init);
	int err;

	must(srq && init.attr.max_wr == 64);
	err = ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);
	must(!ibv_destroy_srq(srq));
	return err;
}

/* From RESET to RTS, to a queue pair that never answers. */
static int try_connected(const struct vt_opts *opts)
{
	struct vt_opts fixed = VT_OPTS;
	struct vt_end end_a, end_b;
	int err;

	must(!vt_end_create(&end_a, &dev[0], opts, BUF));
	must(!vt_end_create(&end_b, &dev[1], &fixed, BUF));
	err = vt_to_init(&end_a) ?: vt_to_rtr(&end_a, &end_b) ?: vt_to_rts(&end_a);
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
	return err;
}

static int try_rd_atomic(u64 n)
{
	struct vt_opts opts = VT_OPTS;

	opts.rd_atomic = n;
	return try_connected(&opts);
}

static int try_path_mtu(u64 mtu)
{
	struct vt_opts opts = VT_OPTS;

	opts.mtu = mtu;
	return try_connected(&opts);
}

static int modify_of(u64 port, u64 pkey)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = port, .pkey_index = pkey,
	};
	struct ibv_qp *qp = ibv_create_qp(dev[0].pd, &init);
	int err;

	must(qp);
	err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
				       IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
	must(!ibv_destroy_qp(qp));
	return err;
}

static int try_modify_port(u64 n)
{
	return modify_of(n, 0);
}

static int try_modify_pkey(u64 n)
{
	return modify_of(1, n - 1);
}

static int try_port(u64 n)
{
	struct ibv_port_attr port;

	return ibv_query_port(dev[0].ctx, n, &port);
}

static int try_pkey(u64 n)
{
	__be16 pkey;

	errno = 0;
	return ibv_query_pkey(dev[0].ctx, 1, n - 1, &pkey) ? errno : 0;
}

static int try_gid(u64 n)
{
	union ibv_gid gid;

	errno = 0;
	return ibv_query_gid(dev[0].ctx, 1, n - 1, &gid) ? errno : 0;
}

static int try_rate(u64 n)
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = n };
	struct vt_opts opts = VT_OPTS;
	struct vt_end end_a, end_b;
	int err;

	must(!vt_end_create(&end_a, &dev[0], &opts, BUF));
	must(!vt_end_create(&end_b, &dev[1], &opts, BUF));
	must(!vt_connect(&end_a, &end_b));
	err = ibv_modify_qp_rate_limit(end_a.qp, &limit);
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
	return err;
}

/* The status of a WRITE of @bytes to a key that nothing has: of many SGEs that name the
 * same memory.
 */
static int try_message(u64 bytes)
{
	struct ibv_sge sge[32];
	struct ibv_send_wr wr = {
		.sg_list = sge, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	size_t piece = 64 << 20;
	struct vt_opts opts = VT_OPTS;
	struct vt_end end_a, end_b;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	void *mem;
	int err;

	opts.cap.max_send_sge = 32;
	must(!vt_end_create(&end_a, &dev[0], &opts, BUF));
	must(!vt_end_create(&end_b, &dev[1], &opts, BUF));
	must(!vt_connect(&end_a, &end_b));
	mem = mmap(NULL, piece + 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(mem != MAP_FAILED);
	mr = ibv_reg_mr(dev[0].pd, mem, piece + 1, 0);
	must(mr);
	for (; bytes; wr.num_sge++) {
		u64 len = bytes > piece + 1 || wr.num_sge < 31 ?
			  (bytes < piece ? bytes : piece) : bytes;

		must(wr.num_sge < 32);
		sge[wr.num_sge] = (struct ibv_sge){ (uintptr_t)mem, len,
						    mr->lkey };
		bytes -= len;
	}
	wr.wr.rdma.rkey = 0xffffff00;
	err = ibv_post_send(end_a.qp, &wr, &bad);
	if (!err) {
		must(!vt_poll(end_a.scq, &wc, 1, LONG));
		err = wc.status == IBV_WC_REM_ACCESS_ERR ? 0 :
		      wc.status == IBV_WC_LOC_LEN_ERR ? EMSGSIZE : EPROTO;
	}
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
	must(!ibv_dereg_mr(mr));
	munmap(mem, piece + 1);
	return err;
}

/* Group @n of queue pair @qp. */
static int attr_attach(struct ibv_qp *qp, u64 n, bool leave)
{
	union ibv_gid gid = {};

	gid.raw[10] = 0xff;
	gid.raw[11] = 0xff;
	gid.raw[12] = 239;
	gid.raw[13] = 7;
	gid.raw[14] = n >> 8;
	gid.raw[15] = n;
	return leave ? ibv_detach_mcast(qp, &gid, 0) :
		       ibv_attach_mcast(qp, &gid, 0);
}

static struct ibv_qp *datagram_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_recv_wr = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(dev[0].pd, &init);

	must(qp);
	return qp;
}

static int try_groups(u64 n)
{
	struct ibv_qp *qp = datagram_qp();
	int err = 0;
	u64 i, done;

	for (i = 0; i < n && !err; i++)
		err = attr_attach(qp, i, false);
	done = i - !!err;
	for (i = 0; i < done; i++)
		must(!attr_attach(qp, i, true));
	must(!ibv_destroy_qp(qp));
	return err;
}

static int try_members(u64 n)
{
	struct ibv_qp **qp = calloc(n, sizeof(*qp));
	int err = 0;
	u64 i, made_qps;

	must(qp);
	for (i = 0; i < n && !err; i++) {
		qp[i] = datagram_qp();
		err = attr_attach(qp[i], 0, false);
	}
	made_qps = i;
	for (i = 0; i < made_qps; i++) {
		if (i + 1 < made_qps || !err)
			must(!attr_attach(qp[i], 0, true));
		must(!ibv_destroy_qp(qp[i]));
	}
	free(qp);
	return err;
}

/* --- what a device and its port report -------------------------------------- */

struct limit {
	const char *name;
	int (*try)(u64 value);
	u64 value;
	int beyond;		/* errno of value + 1 */
};

static void attr_hold(const struct limit *limit, size_t n)
{
	int at, beyond;

	for (; n--; limit++) {
		at = limit->try(limit->value);
		beyond = limit->try(limit->value + 1);
		if (at || beyond != limit->beyond)
			ktap_fail("%s: %llu gives %d, one more %d instead of %d",
				  limit->name, (unsigned long long)limit->value,
				  at, beyond, limit->beyond);
	}
}

static void attr_query(void)
{
	must(!ibv_query_device_ex(dev[0].ctx, NULL, &ex));
	must(!ibv_query_port(dev[0].ctx, 1, &dev[0].port));
	cq = cq ?: ibv_create_cq(dev[0].ctx, 16, NULL, NULL, 0);
	must(cq);
}

static void limits_of_queues(void)
{
	const struct ibv_device_attr *attr = &ex.orig_attr;

	attr_query();

	const struct limit limits[] = {
		{ "max_qp_wr, sends", try_send_wr, attr->max_qp_wr, EINVAL },
		{ "max_qp_wr, receives", try_recv_wr, attr->max_qp_wr, EINVAL },
		{ "max_sge, sends", try_send_sge, attr->max_sge, EINVAL },
		{ "max_sge, receives", try_recv_sge, attr->max_sge, EINVAL },
		{ "inline data", try_inline, 512, EINVAL },
		{ "max_cqe", try_cqe, attr->max_cqe, EINVAL },
		{ "max_cqe, resized", try_cq_resized, attr->max_cqe, EINVAL },
		{ "num_comp_vectors", try_vector,
		  dev[0].ctx->num_comp_vectors - 1, EINVAL },
		{ "max_srq_wr", try_srq_wr, attr->max_srq_wr, EINVAL },
		{ "max_srq_wr, resized", try_srq_resized, attr->max_srq_wr,
		  EINVAL },
		{ "max_srq_sge", try_srq_sge, attr->max_srq_sge, EINVAL },
		{ "max_wr of an SRQ as its limit", try_srq_limit, 64, EINVAL },
	};

	attr_hold(limits, sizeof(limits) / sizeof(*limits));
}

static void limits_of_connections(void)
{
	attr_query();

	const struct limit limits[] = {
		{ "max_qp_rd_atom", try_rd_atomic, ex.orig_attr.max_qp_rd_atom,
		  EINVAL },
		{ "max_qp_init_rd_atom", try_rd_atomic,
		  ex.orig_attr.max_qp_init_rd_atom, EINVAL },
		{ "active_mtu", try_path_mtu, dev[0].port.active_mtu, EINVAL },
		{ "max_mtu", try_path_mtu, dev[0].port.max_mtu, EINVAL },
		{ "qp_rate_limit_max", try_rate,
		  ex.packet_pacing_caps.qp_rate_limit_max, EINVAL },
		{ "max_msg_sz", try_message, dev[0].port.max_msg_sz, EMSGSIZE },
	};

	attr_hold(limits, sizeof(limits) / sizeof(*limits));
}

static void limits_of_tables(void)
{
	attr_query();

	const struct limit limits[] = {
		{ "phys_port_cnt", try_port, ex.orig_attr.phys_port_cnt,
		  EINVAL },
		{ "phys_port_cnt, of a QP", try_modify_port,
		  ex.orig_attr.phys_port_cnt, EINVAL },
		{ "max_pkeys", try_modify_pkey, ex.orig_attr.max_pkeys, EINVAL },
		{ "pkey_tbl_len", try_pkey, dev[0].port.pkey_tbl_len, ENOENT },
		{ "gid_tbl_len", try_gid, dev[0].port.gid_tbl_len, EINVAL },
	};

	attr_hold(limits, sizeof(limits) / sizeof(*limits));
}

static void limits_of_groups(void)
{
	attr_query();

	const struct limit limits[] = {
		{ "max_mcast_grp", try_groups, ex.orig_attr.max_mcast_grp,
		  ENOMEM },
		{ "max_mcast_qp_attach", try_members,
		  ex.orig_attr.max_mcast_qp_attach, ENOMEM },
	};

	attr_hold(limits, sizeof(limits) / sizeof(*limits));
}

/* --- objects of a device ------------------------------------------------------ */

#define LAST	5	/* objects up to the limit that are really made */

struct kind {
	const char *name;		/* for cairn_taken.ko */
	void *(*make)(void);		/* NULL: errno */
	int (*end)(void *object);
	int max;
};

/* Objects that the device counts after @more were added. */
static int kind_counted(const struct kind *kind, int more)
{
	return vt_take(dev[0].name, kind->name, more);
}

/* Regions are released in the background. */
static void kind_wait(const struct kind *kind, int counted)
{
	u64 end = vt_now_ms() + LONG;

	while (kind_counted(kind, 0) != counted) {
		must(vt_now_ms() < end);
		usleep(1000);
	}
}

static void kind_fills(const struct kind *kind)
{
	int before = kind_counted(kind, 0), absent = kind->max - LAST - before, i;
	void *made[LAST], *beyond;

	must(kind_counted(kind, absent) == kind->max - LAST);
	for (i = 0; i < LAST; i++) {
		made[i] = kind->make();
		if (!made[i])
			ktap_fail("%s %d of %d: errno %d", kind->name,
				  kind->max - LAST + i + 1, kind->max, errno);
	}
	errno = 0;
	beyond = kind->make();
	if (beyond || errno != ENOMEM)
		ktap_fail("%s beyond %d: errno %d", kind->name, kind->max, errno);
	if (beyond)
		must(!kind->end(beyond));
	for (i = 0; i < LAST; i++)
		must(made[i] && !kind->end(made[i]));
	kind_wait(kind, kind->max - LAST);
	/* what has ended makes room */
	made[0] = kind->make();
	must(made[0] && !kind->end(made[0]));
	kind_wait(kind, kind->max - LAST);
	must(kind_counted(kind, -absent) == before);
}

static void *pd_make(void)
{
	return ibv_alloc_pd(dev[0].ctx);
}

static int pd_end(void *pd)
{
	return ibv_dealloc_pd(pd);
}

static void *xrcd_make(void)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	return ibv_open_xrcd(dev[0].ctx, &init);
}

static int xrcd_end(void *xrcd)
{
	return ibv_close_xrcd(xrcd);
}

static void *ah_make(void)
{
	return vt_ah(&dev[0], &dev[1]);
}

static int ah_end(void *made)
{
	return ibv_destroy_ah(made);
}

static void *mr_make(void)
{
	return ibv_reg_mr(dev[0].pd, sges, sizeof(sges), 0);
}

static int mr_end(void *mr)
{
	return ibv_dereg_mr(mr);
}

/* After a time of many regions keys are drawn from the smallest space again: a table of a
 * process has an entry for each index of it.
 */
static void mr_keys_shrink(void)
{
	struct ibv_mr *mr;
	u32 index = 0;
	int i;

	for (i = 0; i < 16; i++) {
		mr = mr_make();
		must(mr);
		index = mr->rkey >> 8;
		must(!mr_end(mr));
	}
	ktap_ok(index < 1 << 16);
}

static void *mw_make(void)
{
	return ibv_alloc_mw(dev[0].pd, IBV_MW_TYPE_1);
}

static int mw_end(void *mw)
{
	return ibv_dealloc_mw(mw);
}

static void *cq_make(void)
{
	return ibv_create_cq(dev[0].ctx, 1, NULL, NULL, 0);
}

static int cq_end(void *made)
{
	return ibv_destroy_cq(made);
}

static void *qp_make(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
	};

	return ibv_create_qp(dev[0].pd, &init);
}

static int qp_end(void *qp)
{
	return ibv_destroy_qp(qp);
}

static void *srq_make(void)
{
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };

	return ibv_create_srq(dev[0].pd, &init);
}

static int srq_end(void *srq)
{
	return ibv_destroy_srq(srq);
}

/* max_total_mcast_qp_attach and max_res_rd_atom are products of limits that other tests
 * reach. The number of XRC domains is not reported.
 */
static void limits_of_objects(void)
{
	const struct ibv_device_attr *attr = &ex.orig_attr;
	size_t i;

	attr_query();

	const struct kind kinds[] = {
		{ "pd", pd_make, pd_end, attr->max_pd },
		{ "xrcd", xrcd_make, xrcd_end, 65536 },
		{ "ah", ah_make, ah_end, attr->max_ah },
		{ "mr", mr_make, mr_end, attr->max_mr },
		{ "mr", mw_make, mw_end, attr->max_mw },
		{ "cq", cq_make, cq_end, attr->max_cq },
		{ "qp", qp_make, qp_end, attr->max_qp },
		{ "srq", srq_make, srq_end, attr->max_srq },
	};

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		kind_fills(&kinds[i]);
	mr_keys_shrink();
	ktap_eq(attr->max_total_mcast_qp_attach,
		attr->max_mcast_grp * attr->max_mcast_qp_attach);
	ktap_eq(attr->max_res_rd_atom, attr->max_qp_rd_atom * attr->max_qp);
}

/* --- what a queue was made with ---------------------------------------------- */

static int send_one(struct vt_end *end, int num_sge, u32 len, unsigned int flags)
{
	struct ibv_send_wr wr = {
		.sg_list = sges, .num_sge = num_sge, .opcode = IBV_WR_SEND,
		.send_flags = flags,
		.wr.ud = { ah, 1, VT_QKEY },
	}, *bad;
	int i;

	for (i = 0; i < num_sge; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)end->buf, i ? 0 : len,
					    end->mr->lkey };
	return ibv_post_send(end->qp, &wr, &bad);
}

static int recv_one(struct vt_end *end, int num_sge)
{
	struct ibv_recv_wr wr = { .sg_list = sges, .num_sge = num_sge }, *bad;
	int i;

	for (i = 0; i < num_sge; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)end->buf, 1, end->mr->lkey };
	return ibv_post_recv(end->qp, &wr, &bad);
}

/* In RTS, to a peer in RESET: nothing completes. */
static void caps_of(enum ibv_qp_type type, struct ibv_qp_cap asked)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct vt_end end_a, end_b;
	u32 i;

	opts.type = type;
	opts.cap = asked;
	opts.timeout = 0;
	must(!vt_end_create(&end_a, &dev[0], &opts, BUF));
	must(!vt_end_create(&end_b, &dev[1], &opts, BUF));
	must(!vt_to_init(&end_a) && !vt_to_rtr(&end_a, &end_b) && !vt_to_rts(&end_a));
	must(!ibv_query_qp(end_a.qp, &attr, IBV_QP_CAP, &init));
	ktap_ok(init.cap.max_send_wr >= asked.max_send_wr &&
		init.cap.max_recv_wr >= asked.max_recv_wr &&
		init.cap.max_send_sge >= asked.max_send_sge &&
		init.cap.max_recv_sge >= asked.max_recv_sge &&
		init.cap.max_inline_data >= asked.max_inline_data);
	ktap_eq(send_one(&end_a, init.cap.max_send_sge + 1, 1, 0), EINVAL);
	ktap_eq(recv_one(&end_a, init.cap.max_recv_sge + 1), EINVAL);
	ktap_eq(send_one(&end_a, 1, init.cap.max_inline_data + 1, IBV_SEND_INLINE),
		EINVAL);
	for (i = 0; i < init.cap.max_recv_wr; i++)
		ktap_eq(recv_one(&end_a, init.cap.max_recv_sge), 0);
	ktap_eq(recv_one(&end_a, 1), ENOMEM);
	/* Datagrams leave at once, and their WQEs are free again. */
	if (type == IBV_QPT_RC) {
		ktap_eq(send_one(&end_a, 1, init.cap.max_inline_data,
				 IBV_SEND_INLINE), 0);
		for (i = 1; i < init.cap.max_send_wr; i++)
			ktap_eq(send_one(&end_a, init.cap.max_send_sge, 1, 0), 0);
		ktap_eq(send_one(&end_a, 1, 1, 0), ENOMEM);
	}
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

static void caps_of_queue_pairs(void)
{
	static const struct ibv_qp_cap asked[] = {
		{ 1, 1, 1, 1, 0 }, { 5, 7, 2, 3, 40 }, { 16, 16, 4, 4, 512 },
		{ 100, 300, 32, 32, 100 },
	};
	struct ibv_qp_init_attr init;
	struct vt_opts opts = VT_OPTS;
	struct ibv_qp_attr attr;
	struct vt_end end;
	size_t i;

	/* programs that poll once for each event post more than they have polled */
	opts.cap.max_send_wr = 1;
	opts.cqe = 1;
	must(!vt_end_create(&end, &dev[0], &opts, BUF));
	must(!ibv_query_qp(end.qp, &attr, IBV_QP_CAP, &init));
	ktap_eq(init.cap.max_send_wr, 4);
	ktap_eq(end.qp->send_cq->cqe, 8);
	vt_end_destroy(&end);
	for (i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		caps_of(IBV_QPT_RC, asked[i]);
		caps_of(IBV_QPT_UC, asked[i]);
	}
}

static void caps_of_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { 10, 3, 0 } };
	struct ibv_recv_wr wr = { .sg_list = sges }, *bad;
	struct ibv_srq_attr attr;
	struct ibv_srq *srq = ibv_create_srq(dev[0].pd, &init);
	u32 i;

	must(srq);
	must(!ibv_query_srq(srq, &attr));
	ktap_eq(attr.max_wr, init.attr.max_wr);
	ktap_eq(attr.max_sge, init.attr.max_sge);
	ktap_ok(attr.max_wr >= 10 && attr.max_sge >= 3);
	wr.num_sge = attr.max_sge + 1;
	ktap_eq(ibv_post_srq_recv(srq, &wr, &bad), EINVAL);
	wr.num_sge = attr.max_sge;
	for (i = 0; i < attr.max_wr; i++)
		ktap_eq(ibv_post_srq_recv(srq, &wr, &bad), 0);
	ktap_eq(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	must(!ibv_destroy_srq(srq));
}

/* As many completions as cqe says, and the error of the queue with one more. */
static void cqe_of_queue(void)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end end_a, end_b;
	struct ibv_wc wc;
	int i, n, err;

	opts.cqe = 10;
	opts.cap.max_send_wr = 100;
	must(!vt_end_create(&end_a, &dev[0], &opts, BUF));
	must(!vt_end_create(&end_b, &dev[1], &opts, BUF));
	must(!vt_connect(&end_a, &end_b));
	n = end_a.scq->cqe;
	ktap_ok(n >= 10);
	for (i = 0; i < n + 1; i++) {
		struct ibv_send_wr wr = {
			.wr_id = i, .opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
		}, *bad;

		must(!ibv_post_send(end_a.qp, &wr, &bad));
		if (i == n - 1)
			must(vt_state(end_a.qp) == IBV_QPS_RTS);
	}
	ktap_ok(vt_async(&dev[0], IBV_EVENT_CQ_ERR, LONG));
	for (i = 0; i < n; i++) {
		err = vt_poll(end_a.scq, &wc, 1, LONG);
		if (err || wc.wr_id != (u64)i || wc.status) {
			ktap_fail("completion %d of %d", i, n);
			break;
		}
	}
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

/* READ, WRITE and atomics are no operations of a datagram queue pair: not even posted. */
static void datagrams_only(void)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND_WITH_INV,
	};
	struct ibv_send_wr wr = { .sg_list = sges, .num_sge = 1 }, *bad;
	struct vt_opts opts = VT_OPTS;
	struct vt_end end_a, end_b;
	struct ibv_wc wc;
	size_t i;

	opts.type = IBV_QPT_UD;
	must(!vt_end_create(&end_a, &dev[0], &opts, BUF));
	must(!vt_end_create(&end_b, &dev[1], &opts, BUF));
	must(!vt_connect(&end_a, &end_b));
	sges[0] = (struct ibv_sge){ (uintptr_t)end_a.buf, 8, end_a.mr->lkey };
	for (i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++) {
		wr.opcode = opcodes[i];
		bad = NULL;
		ktap_eq(ibv_post_send(end_a.qp, &wr, &bad), EINVAL);
		ktap_ok(bad == &wr);
	}
	ktap_eq(vt_state(end_a.qp), IBV_QPS_RTS);
	ah = vt_ah(&dev[0], &dev[1]);
	must(ah);
	ktap_eq(send_one(&end_a, 1, 8, IBV_SEND_SIGNALED), 0);
	must(!vt_poll(end_a.scq, &wc, 1, LONG));
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
	must(!ibv_destroy_ah(ah));
}

#define TESTS(X)							\
	X(limits_of_queues) X(limits_of_connections) X(limits_of_tables)	\
	X(limits_of_groups) X(limits_of_objects) X(caps_of_queue_pairs)	\
	X(caps_of_srq) X(cqe_of_queue) X(datagrams_only)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&dev[0], &dev[1], VT_IPV4, argc > 1 ? argv[1] : NULL);
}
