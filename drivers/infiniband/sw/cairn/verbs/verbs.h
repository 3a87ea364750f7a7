/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The objects that ib_core allocates, with what the data path needs of them.
 *
 * Lifetime: ib_core frees an object after its destroy op has returned. Each destroy op
 * makes the object unreachable for the data path and then waits: for a memory region
 * until the epoch has advanced (mem/mr.h), for other objects an RCU grace period. So
 * the data path uses plain pointers in a run of the engine, which is counted in the
 * epoch and is an RCU read section.
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
#include "compat/netdev_hold.h"
#include "device/nic.h"
#include "device/path.h"
#include "engine/qp.h"
#include "lane/exec.h"
#include "lane/lazy.h"
#include "lane/room.h"
#include "mem/odp_job.h"
#include "queue/context.h"
#include "queue/queue.h"
#include "verbs/async.h"
#include "verbs/event.h"
#include "verbs/event_delay.h"

struct cairn_tallies;
struct ib_mad_agent;

/* Questions to the devices of peers (verbs/peer.c). */
struct cairn_peers {
	struct rw_semaphore lock;	/* protects agent */
	struct ib_mad_agent *agent;	/* NULL: not registered */
	spinlock_t list_lock;		/* protects the rest; process context */
	struct list_head queries;	/* questions without an answer yet */
};

struct cairn_dev {
	struct ib_device ibdev;
	struct cairn_nic nic;
	struct xarray mrs;		/* indices of keys that are in use */
	struct cairn_table mr_table;	/* key >> 8 -> struct cairn_mr */
	struct xarray ahs;		/* number -> struct cairn_ah; irqsave */
	struct xarray xrc_srqs;		/* number -> struct cairn_srq */
	struct xarray counters;		/* number -> struct cairn_stats per CPU */
	struct page *null_page;		/* source of null regions (mem/access.c) */
	u64 counted[CAIRN_CTR_COUNT];	/* sums of freed counters; lock of counters */
	struct xarray key_variants;	/* mem/key.c */
	u32 key_bits;			/* size of a key's index, in bits */
	u32 next_qpn;			/* cyclic allocation cursors */
	u32 next_ah;
	u32 next_srqn;
	u8 port_state;			/* last reported; IB_PORT_NOP: report any */
	struct cairn_events events;	/* of the device, not of its objects */
	struct delayed_work port_late;	/* reports the state when the budget allows it */
	struct work_struct speed;	/* reads the speed of the netdev */
	u32 line_kbps;			/* speed of the netdev when last read */
	bool cc_enabled;		/* initial value for new QPs */
	/* Read without a lock: any mix of old and new values is valid. */
	struct cairn_cc_params cc;
	bool attached;			/* to the net layer */
	atomic64_t qp_serials;
	spinlock_t cq_wait_lock;	/* verbs/cq_wait.c; below cq->lock */
	netdevice_tracker ndev_tracker;
	struct work_struct remove;	/* unregisters the device */
	struct cairn_peers peers;
	spinlock_t advise_lock;		/* protects the list; process context */
	struct list_head advises;	/* advice with a waiting caller (mem/advise.c) */
	bool leaving;			/* verbs/leave.c; set before locks are taken */
	struct mutex retire_lock;	/* publishing and retiring QPs (verbs/qp.c) */
};

/* Bytes that ib_core allocates for a PD of a process, about. It charges them to no
 * cgroup, so the same amount is allocated and charged in addition.
 */
#define CAIRN_PD_CHARGE		256

struct cairn_pd {
	struct ib_pd ibpd;
	void *charge;			/* the charged memory, not used otherwise */
	struct cairn_share_user *user;	/* NULL: a kernel consumer */
};

struct cairn_xrcd {
	struct ib_xrcd ibxrcd;
	struct cairn_share_user *user;
};

/*
 * The part of an address handle that the data path uses. ib_core frees struct ib_ah
 * when its destroy op returns, which must not sleep. So this part is allocated
 * separately and freed after a grace period.
 */
struct cairn_ah {
	spinlock_t lock;		/* protects path; BH off */
	struct cairn_path path;
	struct ib_pd *pd;
	struct rcu_head rcu;
};

struct cairn_ib_ah {
	struct ib_ah ibah;
	struct cairn_ah *ah;		/* modify_ah replaces it, under the lock of ahs */
	u32 num;
	struct rdma_ah_attr attr;	/* for query_ah; has no references */
};

struct cairn_cq {
	struct ib_cq ibcq;
	spinlock_t lock;		/* protects ring and arming; irqsave */
	struct cairn_queue queue;
	u32 arm_seen;			/* arm word that the last event answered */
	u32 events;			/* raised since the process had read all */
	atomic_t events_due;		/* of a kernel consumer; not 0: its handler runs */
	u32 solicited;			/* index behind the last solicited or error entry */
	const struct list_head *unread;	/* compat/events.h */
	struct list_head waits;		/* verbs/cq_wait.h */
	bool overflowed;		/* the overflow has been reported */
	bool destroyed;			/* the ring has been freed; netlink checks it */
	bool timestamps;
	bool is_user;
	struct cairn_share_user *user;	/* NULL: a kernel consumer */
	struct mutex resize_lock;	/* one resize at a time; lock is taken below it */
	struct cairn_async_work async;
	/* Delayed events (verbs/moderate.c). */
	struct cairn_event_delay delay;	/* under lock */
	struct hrtimer delay_timer;
	struct cairn_lazy_event lazy;
};

/* Receive queue of a QP or an SRQ. */
struct cairn_rq {
	spinlock_t lock;		/* read pointer; SRQ: its QPs share it */
	spinlock_t post_lock;		/* write pointer of kernel consumers */
	struct cairn_queue queue;
	u32 max_wr;
	u32 max_sge;
	u32 limit;			/* SRQ: limit event below this; 0: none */
	bool is_user;
	bool shared;			/* part of a struct cairn_srq */
	bool bad;			/* the write pointer was impossible */
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
	CAIRN_MR_DMA,			/* all kernel memory, by virtual addresses */
	CAIRN_MR_FAST,			/* fast registration */
	CAIRN_MR_WINDOW,		/* part of a struct cairn_mw */
};

/* The result of the last ib_map_mr_sg(). REG_MR makes it effective. */
struct cairn_mr_map {
	unsigned long *blocks;		/* room for max_blocks */
	u32 num_blocks;
	u8 block_shift;
	u8 persist;			/* enum cairn_mr_flags */
	bool fresh;			/* not registered yet */
};

/*
 * A region is a table of blocks, by their kernel virtual addresses. The blocks are
 * aligned and have equal sizes, a power of two. The data path reads an MR without a
 * lock. Changes to a published MR (rereg, REG_MR, invalidation) are made under seq; a
 * reader that sees a change treats the key as invalid.
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
	bool on_demand;			/* USER: odp is used, not blocks */
	bool automatic;			/* USER: NIC flush, not asked for */
	bool replaces;			/* USER: registered by rereg_user_mr */
	u32 flush_limit;		/* host flush: time limit, ms; 0: none */
	struct ib_pd *pd;
	u64 iova;			/* for work requests and peers; ZERO_BASED: 0 */
	u64 length;
	u64 first;			/* offset of the first byte in its block */
	u32 num_blocks;			/* in use */
	u32 max_blocks;			/* FAST: room in blocks */
	unsigned long *blocks;
	struct cairn_mr_map map;	/* FAST: for the next registration */
	struct ib_umem *umem;		/* USER: its memory is one of these three */
	struct cairn_dmabuf *dmabuf;
	struct cairn_odp *odp;
	u64 start;			/* odp: the process's address of iova */
	atomic_t windows;		/* USER: windows bound to it (mem/mw.h) */
	/* mem/dereg_async.h. NULL: the caller of dereg_mr waits */
	struct cairn_dereg_async *dereg;
	u32 dereg_ticket;
	struct cairn_epoch_note note;
	struct work_struct free_work;
};

/* A memory window. Its key finds mr. The binding changes under mr.seq. */
struct cairn_mw {
	enum ib_mw_type type;
	struct cairn_mr mr;		/* iova: address of the first byte for peers */
	struct cairn_mr *region;	/* NULL: not bound */
	u64 region_va;			/* address of the first byte in the region */
	u64 qp_serial;			/* type 2: for peers of this QP only; else 0 */
};

/* The part of a window that ib_core allocates; it is charged to no process. */
struct cairn_mw_handle {
	struct ib_mw ibmw;
	struct cairn_mw *mw;
};

/* Memory that is not present and that a side of a QP waits for (mem/odp_wait.h). */
struct cairn_odp_slot {
	struct cairn_odp_job job;
	struct cairn_qp *qp;		/* NULL: destroyed; under odp_lock */
	struct cairn_qp_cold *cold;	/* a reference during the fault */
	struct cairn_odp *odp;		/* a reference during the fault */
	u64 addr;
	u64 len;
	u32 key;
	u32 state;
	u8 side;
	bool write;
};

/* A completion that waits for room in a CQ (verbs/cq_wait.h). */
struct cairn_cq_wait {
	struct list_head entry;		/* in cairn_cq.waits; cairn_dev.cq_wait_lock */
	struct cairn_qp *qp;
};

/* The part of a QP that the data path rarely uses. It has memory of its own, because
 * that of struct cairn_qp is rounded up to a power of two. Behind it are struct
 * cairn_requester_ext and the responder's copy of a receive WQE, with room for the
 * largest WQEs of this QP.
 */
struct cairn_qp_cold {
	struct cairn_qp *qp;
	struct cairn_share_user *user;	/* NULL: a kernel consumer */
	refcount_t users;		/* the QP, and its page faults in progress */
	spinlock_t odp_lock;		/* process context */
	u64 serial;			/* not 0, unique among the device's QPs */
	struct cairn_rate_limit rate;	/* as set by modify_qp */
	struct ib_qp_cap cap;
	struct ib_qp_attr attr;		/* as set by modify_qp, for query_qp */
	struct mutex modify_lock;	/* changes of attr, path and rings */
	struct cairn_epoch_note inval[CAIRN_SIDES];	/* mem/inval.h */
	struct cairn_odp_slot odp[CAIRN_SIDES];
	struct cairn_cq_wait cq_wait[CAIRN_SIDES];	/* send CQ, receive CQ */
	struct cairn_room_wait room_wait;
	struct cairn_async_work async;
	/* Sends of a kernel consumer, under sq_post_lock: the ring unit up to which WQEs
	 * are known to be done, and the number of WQEs behind it.
	 */
	u32 sq_done;
	u32 sq_used;
	u32 counts_from[CAIRN_SIDES];	/* random offsets for verbs/restrack.c */
	/* Attached counters (verbs/comp_cntr.c), under modify_lock; what is in qpc.tallied
	 * changes under the side locks. NULL: never one.
	 */
	struct cairn_tallies *tallies;
	struct cairn_requester_ext ext[];	/* as much of it as is needed */
};

/* 2048 bytes with the kernels of Debian 12. A larger one would take 4 KiB. */
struct cairn_qp {
	struct ib_qp ibqp;
	/* ib_qp ends in the middle of a cache line, and qpc begins one. The members
	 * between them fill the gap, so that no run touches ibqp.
	 */
	struct cairn_qp_cold *cold;
	/* Values of the bound counter (verbs/qp_counter.c). NULL: those of the device
	 * are used. Under the side locks.
	 */
	struct cairn_stats __percpu *stats;
	struct cairn_cq *send_cq;	/* NULL: XRC target */
	/* For messages of the peer: domain of the memory, receive queue, and CQ. An XRC
	 * target changes them with each request (verbs/xrc.h).
	 */
	struct ib_pd *pd;
	struct cairn_rq *receives;
	struct cairn_cq *recv_cq;
	struct cairn_qpc qpc;
	struct cairn_exec exec;
	struct cairn_path path[CAIRN_SIDES];
	struct cairn_queue sq;
	spinlock_t sq_post_lock;	/* write pointer of kernel consumers; irqsave */
	struct cairn_rq rq;		/* unused if qpc.has_srq */
	/* NULL: kernel QP, or XRC target, which may outlive its creator */
	struct cairn_ucontext *uctx;
	bool cc;			/* congestion control is enabled */
	bool is_user;
	bool retired;			/* set under retire_lock and the side locks */
	refcount_t readers;		/* readers by netlink, and 1 until destroyed */
};

/* Not checked in debug kernels, whose locks are larger, and in kernels that have a larger
 * struct ib_qp.
 */
static_assert(sizeof(struct cairn_qp) <= 2048 ||
	      sizeof(spinlock_t) > 4 || sizeof(struct ib_qp) > 336);

static inline struct cairn_dev *to_cairn_dev(struct ib_device *device)
{
	return container_of(device, struct cairn_dev, ibdev);
}

/* The device of a QP, without a look at ibqp: the data path does not touch its lines. */
static inline struct cairn_dev *cairn_qp_dev(const struct cairn_qp *qp)
{
	return container_of(qp->exec.nic, struct cairn_dev, nic);
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

/* The user whose share counts for objects of @pd; NULL: a kernel consumer. */
static inline struct cairn_share_user *cairn_pd_user(struct ib_pd *pd)
{
	return to_cairn_pd(pd)->user;
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

static inline struct cairn_ib_ah *to_cairn_ib_ah(struct ib_ah *ah)
{
	return container_of(ah, struct cairn_ib_ah, ibah);
}

static inline struct cairn_qp *qpc_to_cairn_qp(struct cairn_qpc *ctx)
{
	return container_of(ctx, struct cairn_qp, qpc);
}

#endif
