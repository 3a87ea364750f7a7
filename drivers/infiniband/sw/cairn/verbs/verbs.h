/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * ib_core's objects, and what the rest of the module asks of them.
 *
 * Lifetime: ib_core frees an object after its destroy op returned; each destroy
 * op first makes the object unreachable for the data path and waits: a memory
 * region until the epoch has advanced (mem/mr.h), others a grace period.
 * So the data path works on raw pointers inside a run of the engine, which is
 * counted in the epoch and an RCU read section (receive softirq, lane turns and
 * posts all are).
 */
#ifndef CAIRN_VERBS_VERBS_H
#define CAIRN_VERBS_VERBS_H

#include <linux/bvec.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/seqlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_umem.h>
#include <rdma/cairn-abi.h>
#include "device/nic.h"
#include "device/path.h"
#include "engine/qp.h"
#include "lane/exec.h"
#include "mem/odp_job.h"
#include "queue/context.h"
#include "queue/queue.h"
#include "verbs/async.h"

struct ib_mad_agent;

/* Questions to the devices of peers, verbs/peer.c. */
struct cairn_peers {
	struct rw_semaphore lock;	/* agent */
	struct ib_mad_agent *agent;	/* NULL: none, or no longer */
	spinlock_t list_lock;		/* the rest; process context */
	struct list_head queries;	/* that wait for an answer */
	u32 num_queries;
};

struct cairn_dev {
	struct ib_device ibdev;
	struct cairn_nic nic;
	struct xarray mrs;		/* indices of keys that are in use */
	struct cairn_table mr_table;	/* key >> 8 -> struct cairn_mr */
	struct xarray ahs;		/* number -> struct cairn_ah; irqsave */
	struct xarray xrc_srqs;		/* number -> struct cairn_srq */
	struct xarray counters;		/* number -> struct cairn_stats per CPU */
	struct page *null_page;		/* of null regions, mem/access.c */
	u64 counted[CAIRN_CTR_COUNT];	/* by counters that are gone; its lock */
	struct xarray key_variants;	/* mem/key.c */
	u32 key_bits;			/* of an index */
	u32 next_qpn;			/* cyclic allocation cursors */
	u32 next_ah;
	u32 next_srqn;
	u8 port_state;			/* enum ib_port_state, as last reported; or NOP */
	u32 line_kbps;			/* speed of the netdev, as last seen */
	bool cc_enabled;		/* of new QPs */
	/* Read without a lock: each value is a good one by itself. */
	struct cairn_cc_params cc;
	bool attached;			/* to the net layer */
	atomic_t num_mrs;		/* against verbs/limits.h */
	atomic_t num_pds;
	atomic_t num_cqs;
	atomic_t num_qps;
	atomic64_t qp_serials;
	atomic_t num_srqs;
	spinlock_t cq_wait_lock;	/* verbs/cq_wait.c; below cq->lock */
	netdevice_tracker ndev_tracker;
	struct work_struct remove;	/* the netdev went away */
	struct cairn_peers peers;
	spinlock_t advise_lock;		/* process context; the next two */
	struct list_head advises;	/* whose callers wait, mem/advise.c */
	bool leaving;
};

/* ib_core allocates about as much for a PD of a process, and charges it to no cgroup. */
#define CAIRN_PD_CHARGE		256

struct cairn_pd {
	struct ib_pd ibpd;
	void *charge;			/* memory that is charged in its place */
};

struct cairn_xrcd {
	struct ib_xrcd ibxrcd;
};

/*
 * What the data path knows of an address handle. ib_core frees struct ib_ah
 * as soon as its destroy op, which may not sleep, returns; this part lives on
 * for a grace period.
 */
struct cairn_ah {
	u32 num;
	spinlock_t lock;		/* path; BH off */
	struct cairn_path path;
	struct ib_pd *pd;
	struct rcu_head rcu;
};

struct cairn_ib_ah {
	struct ib_ah ibah;
	struct cairn_ah *ah;
	struct rdma_ah_attr attr;	/* for query; holds no references */
};

struct cairn_cq {
	struct ib_cq ibcq;
	spinlock_t lock;		/* ring, notify; irqsave */
	struct cairn_queue queue;
	u32 arm_seen;			/* last arm word answered */
	u32 events;			/* since the process had read all */
	u32 solicited;			/* one past the last that is, or an error */
	const struct list_head *unread;	/* compat/events.h */
	struct list_head waits;		/* verbs/cq_wait.h */
	bool overflowed;		/* reported */
	bool destroyed;			/* the queue is gone, for netlink */
	bool timestamps;
	bool is_user;
	struct mutex resize_lock;	/* one at a time; outside of lock */
	struct cairn_async_work async;
	/* Moderation (verbs/moderate.c): below lock, but for the timer. */
	u16 hold_count;			/* events are held for that many entries */
	u16 hold_us;			/* or that long; 0: none is held */
	u16 held;			/* entries that asked for the event */
	struct hrtimer hold_timer;
};

/* Receive queue of a QP or an SRQ. */
struct cairn_rq {
	spinlock_t lock;		/* device's pointer (SRQ: shared by QPs) */
	spinlock_t post_lock;		/* kernel posters */
	struct cairn_queue queue;
	u32 max_wr;
	u32 max_sge;
	u32 limit;			/* SRQ: limit event below this, 0: none */
	bool is_user;
	bool shared;			/* part of a struct cairn_srq */
	bool bad;			/* impossible write pointer seen */
	struct cairn_nic *nic;
};

struct cairn_srq {
	struct ib_srq ibsrq;
	struct cairn_rq rq;
	struct mutex modify_lock;	/* size and limit: one change at a time */
	struct cairn_async_work async;
};

enum cairn_mr_kind {
	CAIRN_MR_USER,			/* pinned user memory */
	CAIRN_MR_DMA,			/* kernel virtual addresses, everything */
	CAIRN_MR_FAST,			/* fast registration */
	CAIRN_MR_WINDOW,		/* part of a struct cairn_mw */
};

/* What ib_map_mr_sg() said last: REG_MR makes it effective. */
struct cairn_mr_map {
	unsigned long *blocks;		/* room for max_blocks */
	u32 num_blocks;
	u8 block_shift;
	u8 persist;			/* enum cairn_mr_flags */
	bool fresh;			/* not yet registered */
};

/*
 * Memory is a table of blocks, equal powers of two and aligned, by their
 * kernel virtual address. The data path reads an MR without a lock: what
 * changes while it is published (rereg, REG_MR, invalidation) changes below
 * seq, and a reader that met a change treats the key as invalid.
 */
struct cairn_mr {
	struct ib_mr ibmr;
	seqlock_t seq;			/* writers: irqsave */
	u32 key;
	int access;			/* IB_ACCESS_* */
	u8 kind;			/* enum cairn_mr_kind */
	u8 persist;			/* enum cairn_mr_flags */
	u8 durability;			/* USER, NIC flush: enum cairn_durability */
	u8 block_shift;
	bool valid;			/* FAST: registered; WINDOW: bound */
	bool on_demand;			/* USER: odp, not blocks */
	bool replaces;			/* USER: registered by rereg_user_mr */
	u32 flush_limit;		/* host flush: ms, 0: none */
	struct ib_pd *pd;
	u64 iova;
	u64 length;
	u32 num_blocks;			/* in use */
	u32 max_blocks;			/* FAST: room in blocks */
	unsigned long *blocks;
	struct cairn_mr_map map;	/* FAST: for the next registration */
	struct ib_umem *umem;		/* USER: one of the three */
	struct cairn_dmabuf *dmabuf;
	struct cairn_odp *odp;
	u64 start;			/* odp: address in the process of iova */
	atomic_t windows;		/* USER: bound to it, mem/mw.h */
	/* mem/dereg_async.h; NULL: the caller of dereg_mr waits */
	struct cairn_dereg_async *dereg;
	u32 dereg_ticket;
	struct cairn_epoch_note note;
	struct work_struct free_work;
};

/* A memory window: what its key finds, and below mr.seq what it is bound to. */
struct cairn_mw {
	enum ib_mw_type type;
	struct cairn_mr mr;		/* iova: of its first byte, for peers */
	struct cairn_mr *region;	/* NULL: to nothing */
	u64 region_va;			/* its first byte, in the region */
	u64 qp_serial;			/* type 2: peers of this QP only; else 0 */
};

/* What ib_core allocates, and charges to nobody. */
struct cairn_mw_handle {
	struct ib_mw ibmw;
	struct cairn_mw *mw;
};

/* Absent memory that a side of a QP needs (mem/odp_wait.h). */
struct cairn_odp_slot {
	struct cairn_odp_job job;
	struct cairn_qp *qp;		/* NULL: destroyed; below odp_lock */
	struct cairn_qp_cold *cold;	/* held while it is brought */
	struct cairn_odp *odp;		/* held while it is brought */
	u64 addr;
	u64 len;
	u32 key;
	u32 state;
	u8 side;
	bool write;
};

/* A completion that waits for room in a CQ (verbs/cq_wait.h). */
struct cairn_cq_wait {
	struct list_head entry;		/* of cq->waits; dev->cq_wait_lock */
	struct cairn_qp *qp;
};

/* What the data path does without, in memory of its own: ib_core gives the object
 * itself a power of two. Behind it are struct cairn_requester_apart and the responder's
 * private copy of a WQE, as long as WQEs of this QP can be.
 */
struct cairn_qp_cold {
	struct cairn_qp *qp;
	refcount_t users;		/* the QP, and its faults under way */
	spinlock_t odp_lock;		/* process context */
	u64 serial;			/* not 0, of no other QP ever */
	struct cairn_rate_limit rate;	/* as asked for */
	struct ib_qp_cap cap;
	struct ib_qp_attr attr;		/* as last modified, for query */
	struct mutex modify_lock;	/* attr, path, rings */
	struct cairn_epoch_note inval[CAIRN_SIDES];	/* mem/inval.h */
	struct cairn_odp_slot odp[CAIRN_SIDES];
	struct cairn_cq_wait cq_wait[CAIRN_SIDES];	/* by CQ */
	struct cairn_async_work async;
	u32 counts_from[CAIRN_SIDES];	/* PSNs are told as differences to these */
	struct cairn_requester_apart apart[];	/* as much of it as is needed */
};

/* 2048 bytes with the kernels of Debian 12; one more and each takes 4 KiB. */
struct cairn_qp {
	struct ib_qp ibqp;
	/* ib_qp ends in the middle of a cache line, and qpc begins one. */
	bool cc;			/* congestion control, as asked for */
	bool is_user;
	refcount_t readers;		/* of cold by netlink, and 1 until destroyed */
	struct cairn_qp_cold *cold;
	/* NULL: kernel QP, or one that may outlive who made it (XRC target) */
	struct cairn_ucontext *uctx;
	/* Whose memory peers reach, what their messages consume and complete to.
	 * XRC target: as verbs/xrc.h says.
	 */
	struct ib_pd *pd;
	struct cairn_rq *receives;
	struct cairn_cq *recv_cq;
	struct cairn_qpc qpc;
	struct cairn_exec exec;
	struct cairn_path path[CAIRN_SIDES];
	struct cairn_queue sq;
	struct cairn_rq rq;		/* unused if qpc.has_srq */
	/* Of a counter (verbs/qp_counter.c), or NULL: the device's. Side locks. */
	struct cairn_stats __percpu *stats;
	spinlock_t sq_post_lock;	/* kernel posters; irqsave */
};

/* Locks of debug kernels are larger, and later kernels may have a larger struct ib_qp. */
static_assert(sizeof(struct cairn_qp) <= 2048 ||
	      sizeof(spinlock_t) > 4 || sizeof(struct ib_qp) > 336);

static inline struct cairn_dev *to_cairn_dev(struct ib_device *device)
{
	return container_of(device, struct cairn_dev, ibdev);
}

static inline struct cairn_qp *to_cairn_qp(struct ib_qp *qp)
{
	return container_of(qp, struct cairn_qp, ibqp);
}

static inline struct cairn_cq *to_cairn_cq(struct ib_cq *cq)
{
	return container_of(cq, struct cairn_cq, ibcq);
}

static inline struct cairn_srq *to_cairn_srq(struct ib_srq *srq)
{
	return container_of(srq, struct cairn_srq, ibsrq);
}

static inline struct cairn_pd *to_cairn_pd(struct ib_pd *pd)
{
	return container_of(pd, struct cairn_pd, ibpd);
}

static inline struct cairn_mr *to_cairn_mr(struct ib_mr *mr)
{
	return container_of(mr, struct cairn_mr, ibmr);
}

static inline struct cairn_mw *to_cairn_mw(struct ib_mw *mw)
{
	return container_of(mw, struct cairn_mw_handle, ibmw)->mw;
}

static inline struct cairn_mw *mr_to_cairn_mw(struct cairn_mr *mr)
{
	return container_of(mr, struct cairn_mw, mr);
}

static inline struct cairn_ah *to_cairn_ah(struct ib_ah *ah)
{
	return container_of(ah, struct cairn_ib_ah, ibah)->ah;
}

static inline struct cairn_qp *qpc_to_cairn_qp(struct cairn_qpc *ctx)
{
	return container_of(ctx, struct cairn_qp, qpc);
}

#endif
