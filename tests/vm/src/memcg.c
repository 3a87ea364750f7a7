// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory that a process makes the kernel hold is charged to its memory cgroup. For each
 * kind of object:
 *
 * - Some are made without a limit. The growth of the group's memory.stat is compared with
 *   the driver's allocations for them, which the tables below have. Without any one of
 *   the allocations in a table the growth is too small.
 * - More are made until a limit is met. The process gets ENOMEM and lives: it is no
 *   victim of the out-of-memory killer. The kernel's memory outside of the group has
 *   grown little.
 * - All are destroyed, and the memory is back while the process still has its context;
 *   the rest when it has ended.
 *
 * One kind meets the limit as a process that may be killed. Runs as root where the
 * first device's netdev is; the caller checks other traffic.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <rdma/cairn-abi.h>
#include <rdma/rdma_netlink.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "vt_persist.h"
#include "vt_test.h"

/* memcg.sh makes it. */
#define GROUP	"/sys/fs/cgroup/cairn_memcg"
#define ROOM	(2L << 20)	/* below the limit, after the first objects */
#define BACK	1048576L	/* a context may keep it when all are destroyed */
#define MOST	100000		/* objects of any kind */
#define HEAP	(24u << 20)	/* memory that the process has before */
#define KEYS	2500		/* in 512 leaves: few of these have none */
#define PRESENT	64		/* pages that wait for a work item */
#define UNREAD	4		/* events of an object */
#define READS	16		/* READs posted at once */
#define PAGE	4096
#define AREA	64		/* pages that exist once, in many regions */
#define MAPPINGS	256	/* to measure the cost of one */

/* Classes of memory in memory.stat. */
enum class {
	SLAB,		/* kmalloc() up to 8 KiB, caches */
	NODES,		/* of XArrays, a cache that can be reclaimed */
	PAGES,		/* vmalloc(), longer kmalloc() */
	PERCPU,
	EITHER,		/* longer kmalloc() or vmalloc() */
	CLASSES,
};

static const char *const class_name[CLASSES] = {
	"slab", "nodes", "pages", "per-CPU", "slab or pages",
};

/*
 * One allocation of the driver for an object. The tables name all charged allocations
 * except those of a context (see there) and the list of one call in mem/advise.c. Sizes
 * of structures are those of pahole, sizes of arrays those of the code. If one gets
 * smaller, change the table, too.
 */
struct part {
	enum class class;
	u32 bytes;
	u32 num;	/* for each object */
	u32 share;	/* objects that share it */
};

struct kind {
	void *(*make)(u32 i);
	int (*undo)(void *made);
	u32 number;	/* number of measured objects */
	u32 most;	/* 0: as many as the limit allows */
	bool keys;	/* other regions have most of the leaves of the table of keys */
	bool killed;	/* the process may be killed at the limit */
	int (*ready)(void);	/* before the first is made */
	int (*late)(void *made);	/* called for each when no more can be made */
	const struct part *late_part;
	const struct part *part;
};

struct usage {
	long bytes[CLASSES];
	long mappings;
};

/* Shared by the process that makes objects and the one that measures. */
static struct shared {
	u32 made;
	int err;		/* of the creation that failed */
	int undo_err;
	long grown[CLASSES];	/* by the measured ones */
	long late[CLASSES];	/* when no more could be made */
	int late_err;
	long mapping;		/* slab of one, in the process itself */
	long charged;		/* when no more could be made */
	long used;		/* of the host at that time, kB */
	long left;		/* when all were destroyed */
	u64 at[5];		/* times of the steps, ms, to find the slow one */
	bool measured;
	bool skipped;
} *shared;

static struct vt_dev dev;
static struct ibv_cq *cq;
static struct ibv_comp_channel *channel;
static struct ibv_xrcd *xrcd;
static struct ibv_qp *datagrams;
static struct ibv_ah_attr where;
static struct ibv_mr *region, *host_region;
static u8 page[PAGE] __aligned(PAGE);
static u8 *area;
static void *made[MOST];

/* --- the kinds ------------------------------------------------------------- */

static struct ibv_qp *qp_of(u32 wrs, struct ibv_cq *to)
{
	struct ibv_qp_init_attr init = {
		.cap = { wrs, wrs, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
		.send_cq = to, .recv_cq = to,
	};

	return to ? ibv_create_qp(dev.pd, &init) : NULL;
}

static int undo_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

/* Destroy its CQ, too. */
static int undo_qp_cq(void *qp)
{
	struct ibv_cq *own = ((struct ibv_qp *)qp)->send_cq;

	return ibv_destroy_qp(qp) ?: ibv_destroy_cq(own);
}

/* Keep @qp if it was prepared, else destroy it. */
static void *keep_qp(struct ibv_qp *qp, bool ok)
{
	int err = errno;

	if (ok || !qp)
		return qp;
	ibv_destroy_qp(qp);
	errno = err;
	return NULL;
}

static void *make_small_qp(u32 i)
{
	return qp_of(4, cq);
}

static const struct part small_qp[] = {
	{ PAGES, PAGE, 2, 1 },		/* queue/mmap.c: the rings */
	{ SLAB, 800, 1, 1 },		/* verbs/qp.c: qp_create_cold() */
	{ NODES, 576, 1, 32 },		/* verbs/doorbell.c: two queues of 64 */
	{}
};

static void *make_large_qp(u32 i)
{
	return qp_of(4096, cq);
}

static const struct part large_qp[] = {
	{ EITHER, 4096 * 64, 2, 1 },	/* queue/mmap.c: the rings */
	{ EITHER, 4096 * 40, 1, 1 },	/* verbs/qp.c: the records */
	{}
};

static void *make_resized_qp(u32 i)
{
	struct ibv_qp_attr attr = { .cap = { 64, 64, 1, 1, 0 } };
	struct ibv_qp *qp = qp_of(4, cq);

	return keep_qp(qp, qp && !(errno = ibv_modify_qp(qp, &attr, IBV_QP_CAP)));
}

static const struct part resized_qp[] = {
	{ PAGES, PAGE, 2, 1 },		/* queue/mmap.c: the new rings */
	{ SLAB, 800, 1, 1 },		/* verbs/qp.c: qp_create_cold() */
	{ SLAB, 64 * 40, 1, 1 },		/* queue/next_ring.c: the records */
	{}
};

#define PREPARED	512

static struct ibv_qp *waiting[PREPARED];

static int ready_rings(void)
{
	u32 i;

	for (i = 0; i < PREPARED; i++) {
		waiting[i] = qp_of(4, cq);
		if (!waiting[i])
			return -1;
	}
	return 0;
}

/* The first step of resizing, without the second. @wrs 0: it is dropped. */
static int prepare_ring(struct ibv_qp *qp, u32 wrs)
{
	struct cairn_prepare_ring req = { .max_wr = wrs };
	struct cairn_prepare_ring_resp resp;
	struct ib_uverbs_attr attrs[3] = {
		{
			.attr_id = CAIRN_ATTR_RING_REQUEST, .len = sizeof(req),
			.flags = UVERBS_ATTR_F_MANDATORY,
		}, {
			.attr_id = CAIRN_ATTR_RING_DESC, .len = sizeof(resp),
			.flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)&resp,
		}, {
			.attr_id = CAIRN_ATTR_RING_QP, .data = qp->handle,
		},
	};

	/* short data lie in the attribute */
	memcpy(&attrs[0].data, &req, sizeof(req));
	return vt_method(qp->context->cmd_fd, CAIRN_OBJECT_DEVICE, CAIRN_METHOD_PREPARE_RING,
			 attrs, 3);
}

static void *make_prepared_ring(u32 i)
{
	errno = prepare_ring(waiting[i], 64);
	return errno ? NULL : waiting[i];
}

static int undo_prepared_ring(void *qp)
{
	return prepare_ring(qp, 0);
}

/* The process has not mapped them, so no other memory is charged. */
static const struct part prepared_ring[] = {
	{ PAGES, PAGE, 1, 1 },		/* queue/mmap.c: the ring */
	{ SLAB, 56, 1, 1 },		/* queue/mmap.c: struct cairn_mmap */
	{ SLAB, 40, 1, 1 },		/* queue/next_ring.c: the next ring */
	{ SLAB, 64 * 40, 1, 1 },	/* queue/next_ring.c: the records */
	{}
};

/* A queue pair that is connected to itself. */
static struct ibv_qp *connected_qp(u32 wrs)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end self = { .dev = &dev, .o = opts };

	self.o.rd_atomic = 128;
	self.qp = qp_of(wrs, cq);
	return keep_qp(self.qp, self.qp && !vt_to_init(&self) &&
			       !vt_to_rtr(&self, &self) && !vt_to_rts(&self));
}

/* READs posted at once: the table of responses and more records are made. */
static int post_reads(void *qp)
{
	struct ibv_sge sge = { (uintptr_t)page, 8, region->lkey };
	struct ibv_send_wr wr[READS] = {}, *bad;
	struct ibv_wc wc;
	u32 n;

	for (n = 0; n < READS; n++) {
		wr[n].opcode = IBV_WR_RDMA_READ;
		wr[n].sg_list = &sge;
		wr[n].num_sge = 1;
		wr[n].wr.rdma.remote_addr = (uintptr_t)page + 64;
		wr[n].wr.rdma.rkey = region->rkey;
		wr[n].next = n + 1 < READS ? &wr[n + 1] : NULL;
	}
	wr[READS - 1].send_flags = IBV_SEND_SIGNALED;
	n = ibv_post_send(qp, wr, &bad) ?: vt_poll(cq, &wc, 1, vt_ms(30000));
	if (!n && wc.status)
		vt_say("READ: %s", ibv_wc_status_str(wc.status));
	return n ?: wc.status ? EIO : 0;
}

static void *make_connected_qp(u32 i)
{
	struct ibv_qp *qp = connected_qp(64);

	return keep_qp(qp, qp && !(errno = post_reads(qp)));
}

static const struct part with_reads[] = {
	{ PAGES, PAGE, 2, 1 },		/* queue/mmap.c: the rings */
	{ SLAB, 800, 1, 1 },		/* verbs/qp.c: qp_create_cold() */
	{ SLAB, READS * 40, 1, 1 },	/* env.c: the records */
	{ SLAB, 128 * 48, 1, 1 },		/* env.c: responder resources */
	{}
};

static int next_completion(struct ibv_wc *wc, struct cairndv_persist_info *info)
{
	u64 end = vt_now_ms() + vt_ms(30000);
	unsigned int idle = 0;
	int n;

	while (!(n = cairndv_poll_cq(cq, 1, wc, info)) && vt_now_ms() < end)
		vt_relax(&idle);
	if (n == 1 && wc->status)
		vt_say("WRITE_PERSIST: %s", ibv_wc_status_str(wc->status));
	return n == 1 && !wc->status ? 0 : -1;
}

static void *make_idle_qp(u32 i)
{
	return connected_qp(64);
}

static const struct part idle_qp[] = {
	{ PAGES, PAGE, 2, 1 },		/* queue/mmap.c: the rings */
	{ SLAB, 800, 1, 1 },		/* verbs/qp.c: qp_create_cold() */
	{}
};

static const struct part late_part[] = {
	{ SLAB, READS * 40, 1, 1 },	/* env.c: the records */
	{ SLAB, 128 * 48, 1, 1 },	/* env.c: responder resources */
	{}
};

/* One message that the process was asked to make durable, and did. */
static void *make_host_flush(u32 i)
{
	struct ibv_sge sge = { (uintptr_t)page, 8, region->lkey };
	struct ibv_recv_wr recv = {}, *bad_recv;
	struct ibv_send_wr wr = {
		.opcode = CAIRNDV_WR_WRITE_PERSIST, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)host_region->addr, host_region->rkey },
	}, *bad;
	struct cairndv_persist_info info;
	struct ibv_qp *qp = connected_qp(4);
	struct ibv_wc wc;

	return keep_qp(qp, qp && !ibv_post_recv(qp, &recv, &bad_recv) &&
			       !ibv_post_send(qp, &wr, &bad) &&
			       !next_completion(&wc, &info) &&
			       !cairndv_persist_done(dev.ctx, info.token, 0) &&
			       !next_completion(&wc, &info));
}

static const struct part host_flush[] = {
	{ PAGES, PAGE, 2, 1 },		/* queue/mmap.c: the rings */
	{ SLAB, 800, 1, 1 },		/* verbs/qp.c: qp_create_cold() */
	{ SLAB, 64 * 80, 1, 1 },		/* env.c: messages that wait */
	{}
};

/* The target's queues exist in the kernel only, without the process. */
static void *make_xrc_target(u32 i)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV, .xrcd = xrcd,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(dev.ctx, &init);
	struct vt_end self = { .dev = &dev, .o = VT_OPTS, .qp = qp };

	self.o.rd_atomic = 128;
	return keep_qp(qp, qp && !vt_to_init(&self) && !vt_to_rtr(&self, &self));
}

static const struct part xrc_target[] = {
	{ SLAB, 128, 1, 1 },		/* queue/queue.c: queue info */
	{ SLAB, 64, 1, 1 },		/* queue/queue.c: the ring */
	{ SLAB, 40, 1, 1 },		/* verbs/qp.c: the first record */
	{ SLAB, 1300, 1, 1 },		/* verbs/qp.c: qp_create_cold() */
	{ SLAB, 128 * 48, 1, 1 },		/* verbs/modify.c: responder resources */
	{ SLAB, 528, 1, 64 },		/* lane/watch.c: word */
	{ SLAB, 1048, 1, 128 },		/* device/table.c: leaf */
	{}
};

static void *make_cq(u32 i)
{
	return ibv_create_cq(dev.ctx, 1000, NULL, NULL, 0);
}

static int undo_cq(void *own)
{
	return ibv_destroy_cq(own);
}

static void *make_resized_cq(u32 i)
{
	struct ibv_cq *own = ibv_create_cq(dev.ctx, 2, NULL, NULL, 0);

	if (!own)
		return NULL;
	errno = ibv_resize_cq(own, 1000);
	if (errno) {
		int err = errno;

		ibv_destroy_cq(own);
		errno = err;
		return NULL;
	}
	return own;
}

static const struct part large_cq[] = {
	{ PAGES, 1024 * 64, 1, 1 },	/* queue/mmap.c: the ring */
	{}
};

static struct ibv_srq *srq_of(u32 wrs)
{
	struct ibv_srq_init_attr init = { .attr = { wrs, 1, 0 } };

	return ibv_create_srq(dev.pd, &init);
}

static void *make_srq(u32 i)
{
	return srq_of(500);
}

static int undo_srq(void *srq)
{
	return ibv_destroy_srq(srq);
}

static void *make_resized_srq(u32 i)
{
	struct ibv_srq_attr attr = { .max_wr = 500 };
	struct ibv_srq *srq = srq_of(1);

	if (!srq)
		return NULL;
	errno = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
	if (errno) {
		int err = errno;

		ibv_destroy_srq(srq);
		errno = err;
		return NULL;
	}
	return srq;
}

static void *make_xrc_srq(u32 i)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 500, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = dev.pd, .xrcd = xrcd, .cq = cq,
	};

	return ibv_create_srq_ex(dev.ctx, &init);
}

static const struct part large_srq[] = {
	{ PAGES, 512 * 64, 1, 1 },		/* queue/mmap.c: the ring */
	{}
};

static void *make_xrcd(u32 i)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	return ibv_open_xrcd(dev.ctx, &init);
}

static int undo_xrcd(void *domain)
{
	return ibv_close_xrcd(domain);
}

static void *make_pd(u32 i)
{
	return ibv_alloc_pd(dev.ctx);
}

static const struct part pd_part[] = {
	{ SLAB, 256, 1, 1 },		/* verbs/pd.c: in place of ib_core's */
	{}
};

static int undo_pd(void *pd)
{
	return ibv_dealloc_pd(pd);
}

/* ib_core allocates them. */
static const struct part nothing[] = { {} };

static void *make_mr(u32 i)
{
	return ibv_reg_mr(dev.pd, page, sizeof(page), VT_ACCESS);
}

static int undo_mr(void *mr)
{
	return ibv_dereg_mr(mr);
}

/* Key indices of 16 bits lie everywhere, so that most of the first ones begin a leaf
 * of 128: of 256 indices 201, if there are no other keys.
 */
static const struct part small_mr[] = {
	{ SLAB, 368, 1, 1 },		/* mem/mr.c: struct cairn_mr */
	{ SLAB, 1048, 195, 256 },	/* device/table.c: leaf */
	{}
};

static void *make_area_mr(u32 i)
{
	return ibv_reg_mr(dev.pd, area, AREA * PAGE, VT_ACCESS);
}

static const struct part area_mr[] = {
	{ SLAB, 368, 1, 1 },		/* mem/mr.c: struct cairn_mr */
	{ SLAB, AREA * 8, 1, 1 },		/* mem/mr.c: blocks */
	{}
};

static int advise_area(struct ibv_mr *mr, enum ibv_advise_mr_advice advice)
{
	struct ibv_sge sge = { (uintptr_t)area, AREA * PAGE, mr->lkey };

	return ibv_advise_mr(dev.pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

static void *make_odp_mr(u32 i)
{
	struct ibv_mr *mr = ibv_reg_mr(dev.pd, area, AREA * PAGE,
				       VT_ACCESS | IBV_ACCESS_ON_DEMAND);
	int err;

	if (!mr)
		return NULL;
	err = advise_area(mr, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
	if (!err)
		return mr;
	ibv_dereg_mr(mr);
	errno = err;
	return NULL;
}

static const struct part odp_mr[] = {
	{ SLAB, 368, 1, 1 },		/* mem/mr.c: struct cairn_mr */
	{ SLAB, 232, 1, 1 },		/* mem/odp.c: struct cairn_odp */
	{ NODES, 576, 1, 1 },		/* mem/odp.c: its pages */
	{}
};

/* A region over present pages, which the kernel finds by a work item. */
static void *make_present_mr(u32 i)
{
	struct ibv_sge sge = { (uintptr_t)area, AREA * PAGE, 0 };
	static u64 pages;
	struct ibv_mr *mr;

	if (!i) {
		memset(area, 1, AREA * PAGE);
		pages = vt_counter(&dev, "odp_pages");
	}
	mr = ibv_reg_mr(dev.pd, area, AREA * PAGE,
			VT_ACCESS | IBV_ACCESS_ON_DEMAND);
	if (!mr)
		return NULL;
	sge.lkey = mr->lkey;
	errno = ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0,
			      &sge, 1);
	pages += AREA;
	if (!errno && i + 1 == PRESENT &&
	    vt_counter_reaches(&dev, "odp_pages", pages) < pages)
		errno = ETIMEDOUT;
	return errno ? NULL : mr;
}

static int buffer;

/* Return: -1 if this kernel cannot export a buffer. */
static int ready_buffer(void)
{
	struct udmabuf_create create = { .size = AREA * PAGE };
	int exporter = open("/dev/udmabuf", O_RDWR);

	create.memfd = memfd_create("cairn-memcg", MFD_ALLOW_SEALING);
	if (exporter < 0 || ftruncate(create.memfd, create.size) ||
	    fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -1;
	buffer = ioctl(exporter, UDMABUF_CREATE, &create);
	return buffer < 0 ? -1 : 0;
}

static void *make_dmabuf_mr(u32 i)
{
	return ibv_reg_dmabuf_mr(dev.pd, 0, AREA * PAGE, 0, buffer, VT_ACCESS);
}

static const struct part dmabuf_mr[] = {
	{ SLAB, 368, 1, 1 },		/* mem/mr.c: struct cairn_mr */
	{ SLAB, 40, 1, 1 },		/* mem/dmabuf.c: struct cairn_dmabuf */
	{ SLAB, AREA * 8, 1, 1 },	/* mem/mr.c: blocks */
	{}
};

static void *make_mw(u32 i)
{
	return ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1);
}

static int undo_mw(void *mw)
{
	return ibv_dealloc_mw(mw);
}

static const struct part one_mw[] = {
	{ SLAB, 400, 1, 1 },		/* mem/mw.c: struct cairn_mw */
	{}
};

static void *make_ah(u32 i)
{
	return ibv_create_ah(dev.pd, &where);
}

static int undo_ah(void *ah)
{
	return ibv_destroy_ah(ah);
}

static const struct part one_ah[] = {
	{ SLAB, 104, 1, 1 },		/* verbs/ah.c: struct cairn_ah */
	{}
};

static union ibv_gid group_gid(u32 i)
{
	union ibv_gid gid = { .raw = {
		[10] = 0xff, [11] = 0xff, 239, 77, i >> 8, i,
	} };

	return gid;
}

/* The first number is 1, as NULL means failure. */
static void *make_group(u32 i)
{
	union ibv_gid gid = group_gid(i + 1);

	errno = ibv_attach_mcast(datagrams, &gid, 0);
	return errno ? NULL : (void *)(uintptr_t)(i + 1);
}

static int undo_group(void *which)
{
	union ibv_gid gid = group_gid((uintptr_t)which);

	return ibv_detach_mcast(datagrams, &gid, 0);
}

static const struct part one_group[] = {
	{ SLAB, 72, 1, 1 },		/* device/mcast.c: struct cairn_mcast_group */
	{ SLAB, 40, 1, 1 },		/* device/mcast.c: its members */
	{}
};

struct request {
	struct nlmsghdr hdr;
	u8 data[64];
};

static void add_u32(struct request *request, u16 type, u32 value)
{
	struct nlattr *attr = (void *)request + request->hdr.nlmsg_len;

	attr->nla_type = type;
	attr->nla_len = sizeof(*attr) + sizeof(value);
	memcpy(attr + 1, &value, sizeof(value));
	request->hdr.nlmsg_len += attr->nla_len;
}

static u32 device_index(void)
{
	return ibv_get_device_index(dev.ctx->device);
}

/* Like "rdma statistic qp bind"; the number in the answer is not needed. */
static int bind_counter(u32 qpn)
{
	struct request request = { .hdr = {
		.nlmsg_len = NLMSG_LENGTH(0),
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
					       RDMA_NLDEV_CMD_STAT_SET),
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
	} };
	static int sock = -1;
	char answer[1024];
	struct nlmsghdr *hdr = (void *)answer;
	int n;

	if (sock < 0)
		sock = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	add_u32(&request, RDMA_NLDEV_ATTR_DEV_INDEX, device_index());
	add_u32(&request, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	add_u32(&request, RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_MANUAL);
	add_u32(&request, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);
	add_u32(&request, RDMA_NLDEV_ATTR_RES_LQPN, qpn);
	if (send(sock, &request, request.hdr.nlmsg_len, 0) < 0)
		return errno;
	do {
		n = recv(sock, answer, sizeof(answer), 0);
		if (n < (int)sizeof(*hdr))
			return n < 0 ? errno : EIO;
	} while (hdr->nlmsg_type != NLMSG_ERROR);
	return -((struct nlmsgerr *)NLMSG_DATA(hdr))->error;
}

static void *make_counter(u32 i)
{
	struct ibv_qp *qp = qp_of(4, cq);

	return keep_qp(qp, qp && !(errno = bind_counter(qp->qp_num)));
}

static const struct part one_counter[] = {
	{ PERCPU, 824, 1, 1 },		/* verbs/qp_counter.c: struct cairn_stats */
	{}
};

/* A CQ with completion events of flushed work requests. */
static void *make_cq_events(u32 i)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_cq *own = ibv_create_cq(dev.ctx, 2, NULL, channel, 0);
	struct ibv_qp *qp = qp_of(2, own);
	struct ibv_wc wc;
	int n;

	if (!qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					    IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ||
	    vt_to_state(qp, IBV_QPS_ERR))
		goto err;
	for (n = 0; n < UNREAD; n++)
		if (ibv_req_notify_cq(own, 0) || ibv_post_send(qp, &wr, &bad) ||
		    vt_poll(own, &wc, 1, vt_ms(30000)))
			goto err;
	return qp;

err:
	n = errno;
	if (qp)
		ibv_destroy_qp(qp);
	if (own)
		ibv_destroy_cq(own);
	errno = n;
	return NULL;
}

static const struct part cq_events[] = {
	{ PAGES, PAGE, 3, 1 },		/* queue/mmap.c: the rings */
	{}
};

/* An SRQ with asynchronous events: fewer receives are posted than each limit. */
static void *make_async_events(u32 i)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_srq *srq = make_srq(i);
	int n;

	for (n = 0; srq && n < UNREAD; n++)
		if (ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT))
			return NULL;
	return srq;
}

/*
 * The context, and the objects of its first queue pair and deregistration. Each of these
 * exists once and is smaller than the process's own open files, so it is not measured:
 * the tables of mem/dereg_async.c, queue/qinfo.c and queue/ready.c with their XArrays,
 * and the watch of lane/watch.c. The pages below are those that they hold.
 */
static void *make_context(u32 i)
{
	struct ibv_context *ctx = ibv_open_device(dev.ctx->device);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_cq *own = pd ? ibv_create_cq(ctx, 4, NULL, NULL, 0) : NULL;
	struct ibv_mr *mr = own ? ibv_reg_mr(pd, page, PAGE, VT_ACCESS) : NULL;
	struct ibv_qp_init_attr init = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
		.send_cq = own, .recv_cq = own,
	};
	u32 ticket;

	if (!mr)
		return NULL;
	errno = cairndv_dereg_mr_async(mr, &ticket);
	return errno ? NULL : ibv_create_qp(pd, &init);
}

static int undo_context(void *made)
{
	struct ibv_qp *qp = made;
	struct ibv_cq *own = qp->send_cq;
	struct ibv_pd *pd = qp->pd;
	struct ibv_context *ctx = qp->context;

	return ibv_destroy_qp(qp) ?: ibv_destroy_cq(own) ?:
	       ibv_dealloc_pd(pd) ?: ibv_close_device(ctx);
}

static const struct part context[] = {
	{ PAGES, PAGE, 3, 1 },		/* queue/mmap.c: the rings */
	{ PAGES, PAGE, 2, 1 },		/* ... queue info */
	{ PAGES, PAGE, 2, 1 },		/* ... wake words, ready page */
	{ PAGES, PAGE, 1, 1 },		/* ... release words */
	{}
};

/* --- the group ------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		vt_err("%s: %s", path, text);
	if (fd >= 0)
		close(fd);
}

static void write_limit(long bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", bytes);
	write_file(GROUP "/memory.max", bytes ? text : "max");
}

/* Open all the time: opening a file at the limit would need memory of the group. */
static int fd_current, fd_stat, fd_cpu, fd_maps, fd_meminfo;

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		vt_err("%s", path);
	return fd;
}

static void open_files(void)
{
	fd_current = open_file(GROUP "/memory.current");
	fd_stat = open_file(GROUP "/memory.stat");
	fd_cpu = open_file(GROUP "/cpu.stat");
	fd_maps = open_file("/proc/self/maps");
	fd_meminfo = open_file("/proc/meminfo");
}

static const char *read_text(int fd)
{
	static char text[16384];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	return text;
}

static long current_bytes(void)
{
	return atol(read_text(fd_current));
}

static long stat_value(const char *stats, const char *key)
{
	const char *found = strstr(stats, key);
	size_t n = strlen(key);

	while (found && ((found != stats && found[-1] != '\n') ||
			 !strchr(": ", found[n])))
		found = strstr(found + 1, key);
	return found ? atol(found + n + 1) : 0;
}

static long count_mappings(void)
{
	static char text[8192];
	ssize_t n, i;
	long lines = 0;

	lseek(fd_maps, 0, SEEK_SET);
	while ((n = read(fd_maps, text, sizeof(text))) > 0)
		for (i = 0; i < n; i++)
			lines += text[i] == '\n';
	return lines;
}

/* memory.stat is up to date after cpu.stat was read: reading that collects what the
 * CPUs have counted, of all controllers.
 */
static void read_usage(struct usage *usage)
{
	const char *text;

	read_text(fd_cpu);
	text = read_text(fd_stat);
	usage->bytes[SLAB] = stat_value(text, "slab_unreclaimable");
	usage->bytes[NODES] = stat_value(text, "slab_reclaimable");
	usage->bytes[PERCPU] = stat_value(text, "percpu");
	usage->bytes[PAGES] = stat_value(text, "kernel") - usage->bytes[SLAB] -
			  usage->bytes[NODES] - usage->bytes[PERCPU] -
			  stat_value(text, "pagetables") -
			  stat_value(text, "kernel_stack");
	usage->bytes[EITHER] = usage->bytes[SLAB] + usage->bytes[PAGES];
	usage->mappings = count_mappings();
}

/* kB of the host that are in use. */
static long used_memory(void)
{
	const char *text = read_text(fd_meminfo);

	return stat_value(text, "MemTotal") - stat_value(text, "MemFree") -
	       stat_value(text, "Cached") - stat_value(text, "Buffers");
}

/* --- the process in the group ---------------------------------------------- */

/*
 * At the limit a page fault of a process that cannot be killed would not end. So touch
 * all memory that it needs before it joins the group.
 */
static void get_ready(void)
{
	struct rlimit files = { 65536, 65536 };
	struct ibv_device **list;
	char *heap;

	setrlimit(RLIMIT_NOFILE, &files);
	/* Each CPU may have a page that is counted later. */
	vt_stay_on(0);
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TOP_PAD, HEAP);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	list = ibv_get_device_list(NULL);
	if (list)
		ibv_free_device_list(list);
	heap = malloc(HEAP);
	if (!heap || mlockall(MCL_CURRENT))
		vt_err("getting ready");
	free(heap);
}

static struct ibv_qp *make_datagrams(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_UD,
		.send_cq = cq, .recv_cq = cq,
	};
	struct ibv_qp *qp = ibv_create_qp(dev.pd, &init);
	struct vt_end self = { .dev = &dev, .o = VT_OPTS, .qp = qp };

	self.o.type = IBV_QPT_UD;
	if (!qp || vt_to_init(&self) || vt_to_rtr(&self, &self))
		vt_err("a UD queue pair");
	return qp;
}

/* Open the objects that many kinds need. */
static int open_all(void)
{
	if (vt_open(&dev, vt_name_a(), VT_IPV4, -1))
		return -1;
	cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	channel = ibv_create_comp_channel(dev.ctx);
	xrcd = make_xrcd(0);
	region = make_mr(0);
	host_region = ibv_reg_mr(dev.pd, area, PAGE, VT_ACCESS | VT_HOST);
	datagrams = cq ? make_datagrams() : NULL;
	where = (struct ibv_ah_attr) {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = dev.gid, .sgid_index = dev.gid_index,
			 .hop_limit = 64 },
	};
	return cq && channel && xrcd && region && host_region && datagrams ? 0 : -1;
}

/* Rings are mapped, and the kernel's memory for a mapping is of the same class. The
 * mappings stay, as a late free would falsify later results.
 */
static void mapping_cost(void)
{
	struct usage before, after;
	int fd = open("/proc/self/exe", O_RDONLY), i;

	read_usage(&before);
	for (i = 0; i < MAPPINGS; i++)
		mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_NONE, MAP_SHARED, fd, 0);
	read_usage(&after);
	shared->mapping = (after.bytes[SLAB] - before.bytes[SLAB]) /
			  (after.mappings - before.mappings ?: 1);
}

/* Make up to @most objects. Return: false if one could not be made. */
static bool make_many(const struct kind *kind, u32 most)
{
	while (shared->made < most) {
		errno = 0;
		made[shared->made] = kind->make(shared->made);
		if (!made[shared->made]) {
			shared->err = errno;
			return false;
		}
		shared->made++;
	}
	return true;
}

static void memcg_measure(const struct kind *kind)
{
	struct usage before, after;
	int i;

	mapping_cost();
	read_usage(&before);
	if (!make_many(kind, kind->number))
		return;
	read_usage(&after);
	for (i = 0; i < CLASSES; i++)
		shared->grown[i] = after.bytes[i] - before.bytes[i];
	shared->grown[SLAB] -= shared->mapping *
			       (after.mappings - before.mappings);
	shared->measured = true;
}

/* Wait for memory that is freed late. */
static void wait_back(long start)
{
	u64 end = vt_now_ms() + vt_ms(30000);

	do {
		shared->left = current_bytes() - start;
		if (shared->left < BACK)
			return;
		usleep(20000);
	} while (vt_now_ms() < end);
}

/* Let the data path allocate for existing objects. The kernel charges these allocations,
 * too, but none fails in an interrupt because of a limit.
 */
static void use_late(const struct kind *kind)
{
	struct usage before, after;
	u32 n;

	read_usage(&before);
	for (n = 0; n < shared->made; n++)
		shared->late_err = shared->late_err ?: kind->late(made[n]);
	read_usage(&after);
	for (n = 0; n < CLASSES; n++)
		shared->late[n] = after.bytes[n] - before.bytes[n];
}

static void memcg_fill(const struct kind *kind)
{
	long start, used;
	u32 n;

	shared->at[0] = vt_now_ms();
	get_ready();
	open_files();
	write_file(GROUP "/cgroup.procs", "0");
	if (open_all())
		_exit(1);
	for (n = 0; kind->keys && n < KEYS; n++)
		make_mw(n);
	if (kind->ready && kind->ready()) {
		shared->skipped = true;
		_exit(0);
	}
	if (!kind->killed)
		write_file("/proc/self/oom_score_adj", "-1000");
	start = current_bytes();
	used = used_memory();
	shared->at[1] = vt_now_ms();
	memcg_measure(kind);
	shared->at[2] = vt_now_ms();
	if (shared->measured) {
		write_limit(current_bytes() + ROOM);
		make_many(kind, kind->most ?: MOST);
	}
	shared->charged = current_bytes() - start;
	shared->used = used_memory() - used;
	if (kind->late)
		use_late(kind);
	shared->at[3] = vt_now_ms();
	for (n = shared->made; n; n--)
		shared->undo_err = shared->undo_err ?: kind->undo(made[n - 1]);
	wait_back(start);
	shared->at[4] = vt_now_ms();
	_exit(0);
}

/* --- the process that looks ------------------------------------------------ */

static bool wait_free(long kb)
{
	u64 end = vt_now_ms() + vt_ms(30000);

	while (current_bytes() / 1024 > kb) {
		if (vt_now_ms() > end)
			return false;
		usleep(20000);
	}
	return true;
}

/* The charge for an allocation: its slot, and 8 bytes that name the group.
 */
static long charged_for(const struct part *part)
{
	static const u32 slots[] = {
		8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192,
	};
	long bytes = part->bytes;
	u32 i = 0;

	if (part->class == SLAB) {
		while (slots[i] < part->bytes)
			i++;
		bytes = slots[i] + 8;
	} else if (part->class == PERCPU) {
		bytes *= sysconf(_SC_NPROCESSORS_CONF);
	}
	return bytes * part->num;
}

/* If one of the allocations is not charged, the charge is less than this. */
static long memcg_least(const struct part *part, enum class class, u32 number)
{
	long sum = 0, smallest = LONG_MAX, bytes;

	for (; part->num; part++) {
		if (part->class != class)
			continue;
		bytes = charged_for(part) * number / part->share;
		sum += bytes;
		smallest = bytes < smallest ? bytes : smallest;
	}
	return sum ? sum - smallest / 2 : 0;
}

static void judge_growth(const char *name, const char *when, u32 number,
			 const struct part *part, const long *grown)
{
	int i;

	for (i = 0; i < CLASSES; i++) {
		long want = memcg_least(part, i, number);

		if (!want)
			continue;
		ktap_diag("%s%s: %ld bytes of %s are charged for each of %u, %ld at least",
			  name, when, grown[i] / number, class_name[i], number,
			  want / number);
		ktap_ok(grown[i] >= want);
	}
}

static bool wait_end(pid_t pid, int *status)
{
	u64 end = vt_now_ms() + vt_ms(90000);

	while (waitpid(pid, status, WNOHANG) != pid) {
		if (vt_now_ms() > end)
			return false;
		usleep(1000);
	}
	return true;
}

static void memcg_judge(const char *name, const struct kind *kind)
{
	int status = 0, took[5] = {}, i;
	bool ended;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	write_limit(0);
	fflush(stdout);
	pid = fork();
	must(pid >= 0);
	if (!pid)
		memcg_fill(kind);
	ended = wait_end(pid, &status);
	if (!ended) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	ktap_diag("%s: %u, errno %d, status %#x; kB: %ld charged, host misses %ld, %ld left",
		  name, shared->made, shared->err, status,
		  shared->charged / 1024, shared->used, shared->left / 1024);
	for (i = 1; i < 5 && shared->at[i]; i++)
		took[i] = shared->at[i] - shared->at[i - 1];
	ktap_diag("%s: ready after %d ms, measured after %d, filled after %d, destroyed after %d",
		  name, took[1], took[2], took[3], took[4]);
	if (shared->skipped) {
		ktap_skip("this kernel does not have them");
		return;
	}
	ktap_ok(ended);
	if (!ktap_ok(shared->measured))
		return;
	judge_growth(name, "", kind->number, kind->part, shared->grown);
	if (kind->late) {
		judge_growth(name, " at the limit", shared->made, kind->late_part,
			     shared->late);
		ktap_eq(shared->late_err, 0);
	}
	if (kind->killed && WIFSIGNALED(status)) {
		ktap_eq(WTERMSIG(status), SIGKILL);
	} else {
		ktap_eq(status, 0);
		ktap_eq(shared->err, kind->most && shared->made == kind->most ?
					     0 : ENOMEM);
		/* the rest is ib_core's memory, and that of a kernel under pressure */
		ktap_ok(shared->used < 4 * shared->charged / 1024 + 8192);
		ktap_eq(shared->undo_err, 0);
		ktap_ok(shared->left < BACK);
	}
	ktap_ok(wait_free(1024));
}

#define KIND(fn, ...)							\
	static void fn(void)						\
	{								\
		static const struct kind kind = { __VA_ARGS__ };	\
									\
		memcg_judge(#fn, &kind);				\
	}

KIND(small_qps, make_small_qp, undo_qp, 768, .part = small_qp)
KIND(large_qps, make_large_qp, undo_qp, 8, .part = large_qp)
KIND(resized_qps, make_resized_qp, undo_qp, 128, .part = resized_qp)
KIND(prepared_rings, make_prepared_ring, undo_prepared_ring, PREPARED, PREPARED,
	.ready = ready_rings, .part = prepared_ring)
KIND(connected_qps, make_connected_qp, undo_qp, 128, .part = with_reads)
KIND(late_reads, make_idle_qp, undo_qp, 128, .part = idle_qp, .late = post_reads,
	.late_part = late_part)
KIND(host_flushes, make_host_flush, undo_qp, 128, .part = host_flush)
KIND(xrc_targets, make_xrc_target, undo_qp, 1024, .part = xrc_target)
KIND(cqs, make_cq, undo_cq, 32, .part = large_cq)
KIND(resized_cqs, make_resized_cq, undo_cq, 32, .part = large_cq)
KIND(srqs, make_srq, undo_srq, 32, .part = large_srq)
KIND(resized_srqs, make_resized_srq, undo_srq, 32, .part = large_srq)
KIND(xrc_srqs, make_xrc_srq, undo_srq, 32, .part = large_srq)
KIND(xrc_domains, make_xrcd, undo_xrcd, 500, 500, .part = nothing)
KIND(pds, make_pd, undo_pd, 500, 2000, .part = pd_part)
KIND(mrs, make_mr, undo_mr, 256, .part = small_mr)
KIND(mrs_of_pages, make_area_mr, undo_mr, 512, .keys = true, .part = area_mr)
KIND(odp_mrs, make_odp_mr, undo_mr, 512, .keys = true, .part = odp_mr)
KIND(present_mrs, make_present_mr, undo_mr, PRESENT, PRESENT, .keys = true, .part = odp_mr)
KIND(dmabuf_mrs, make_dmabuf_mr, undo_mr, 512, .keys = true, .ready = ready_buffer,
	.part = dmabuf_mr)
KIND(mws, make_mw, undo_mw, 512, .keys = true, .part = one_mw)
KIND(ahs, make_ah, undo_ah, 1024, .part = one_ah)
KIND(groups, make_group, undo_group, 500, 510, .part = one_group)
KIND(counters, make_counter, undo_qp, 64, .part = one_counter)
KIND(cqs_with_events, make_cq_events, undo_qp_cq, 64, .part = cq_events)
KIND(srqs_with_events, make_async_events, undo_srq, 32, .part = large_srq)
KIND(contexts, make_context, undo_context, 32, .part = context)
KIND(killed, make_small_qp, undo_qp, 128, .killed = true, .part = idle_qp)

#define TESTS(X)							\
	X(small_qps) X(large_qps) X(resized_qps) X(prepared_rings)	\
	X(connected_qps) X(late_reads) X(host_flushes) X(xrc_targets)	\
	X(cqs) X(resized_cqs) X(srqs) X(resized_srqs) X(xrc_srqs)	\
	X(xrc_domains) X(pds) X(mrs) X(mrs_of_pages) X(odp_mrs)		\
	X(present_mrs)							\
	X(dmabuf_mrs) X(mws) X(ahs) X(groups) X(counters)		\
	X(cqs_with_events) X(srqs_with_events) X(contexts) X(killed)
VT_TESTS(TESTS)

/* Pages of the caller, in an order in which no two of them are one block. */
static u8 *make_area(void)
{
	u8 *mem = mmap(NULL, AREA * PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	u32 i;

	for (i = 0; mem != MAP_FAILED && i < AREA; i++)
		mem[i * 37 % AREA * PAGE] = 1;
	return mem;
}

int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	area = make_area();
	open_files();
	return vt_run(argc > 1 ? argv[1] : NULL);
}
