/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Decides where the engine of a QP runs, and when.
 *
 * Each QP side (enum cairn_side_id) has a lock, a set of pending events and a
 * bounded queue of received skbs. A caller with work (post, receive softirq,
 * timer, lane) records an event and tries the lock. If it gets the lock, it runs the
 * engine until no event is left. If not, the holder sees the event after unlocking
 * and runs the engine again. The control path waits for side locks, and the run of a
 * requester for the lock of a responder (cairn_exec_release()). A run that has a
 * responder's lock waits for no side. So a packet that our own transmission loops back
 * to us cannot cause a deadlock, and packets of a side leave in the order in which the
 * engine made them.
 *
 * Loopback (cairn_exec_hand()): the packets are received in the sender's run, below
 * the sender's lock. The receiver's lock is only tried; if it is taken, the packets
 * are queued as copies. Receiving sends nothing, so the nesting is one level deep.
 * The receivers are put on a list of the CPU. After the sender's lock is released,
 * the CPU runs a bounded number of them and leaves the rest to their lanes.
 *
 * Work beyond the budget goes to the lane: a thread that serves its QPs round-robin,
 * with equal shares in bytes (engine/sched.h).
 */
#ifndef CAIRN_LANE_EXEC_H
#define CAIRN_LANE_EXEC_H

#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include "device/hold.h"
#include "device/nic.h"
#include "device/parcel.h"
#include "device/path.h"
#include "engine/alarm.h"
#include "engine/qp.h"
#include "lane/wheel.h"

struct cairn_ahead;
struct cairn_lane;

/* Bounds of one rxq, and so of the memory that a peer can make us use for one QP
 * side. A window of the engine (engine/window.h) fits, also as single packets.
 */
#define CAIRN_RXQ_SKBS		1024
#define CAIRN_RXQ_BYTES		(2 * 1024 * 1024)
/* Beyond its first 64 KiB an rxq counts in such parts for the user of the QP
 * (CAIRN_SHARE_WAITING), until it is empty: a user may have many QPs.
 */
#define CAIRN_RXQ_PART		(64 * 1024)

#define CAIRN_NOT_DRAINING	(-1)
/* cairn_exec_stop() adds it to cairn_exec.draining while it waits for 0 bound sides. */
#define CAIRN_DRAIN_AWAITED	16

/* Two cache lines (x86_64, without lock debugging): what each run touches, and what it
 * touches when it sends or moves its deadline.
 */
struct cairn_exec_side {
	spinlock_t lock;		/* the engine's side, see engine/qp.h */
	u32 rxq_bytes;			/* truesize of rxq, under rxq.lock */
	unsigned long events;		/* bit 0: there is work that no run has taken */
	struct sk_buff_head rxq;
	int drain_cpu;			/* bound to this CPU; or CAIRN_NOT_DRAINING */
	bool to_lane;			/* the lane runs the side when the binding ends */
	u8 rxq_parts;			/* that count for the user; under rxq.lock */
	/* The engine's deadline. alarm.due is written under the side's lock, alarm.set
	 * and the timer under lane->lock.
	 */
	struct cairn_alarm alarm;
	struct cairn_wheel_entry timer;
	/* lane/drain.h */
	struct cairn_exec *exec;
	struct list_head drain;
	/* Bit 0: on the list of a CPU whose run handed packets to this side. */
	unsigned long handed;
	struct cairn_exec_side *next_handed;
};

struct cairn_exec {
	/* The head, a cache line that every run touches. */
	struct cairn_qpc *qpc;
	struct cairn_nic *nic;
	struct cairn_lane *lane;
	/* Paths to the peer, one for each side; packets from another source are
	 * dropped. NULL: not connected, any source. path[side] is read under the
	 * side's lock. The owner sets path and kernel before the QP is in the table;
	 * then they are constant.
	 */
	const struct cairn_path *path;
	bool kernel;		/* a kernel QP, see cairn_exec_kick() */
	u32 slot;			/* in the lane's scheduler */
	unsigned long wanted;		/* a bit for each side that wants a turn; atomic */
	s32 debt[CAIRN_SIDES];		/* bytes (engine/sched.h); for the lane's thread */
	atomic_t draining;		/* sides bound to a CPU */
	/* Under lane->lock: */
	u16 running;			/* runs by thread, timer and lazy.c in progress */
	bool stopped;			/* has left the lane */
	struct cairn_exec_side side[CAIRN_SIDES];
	struct cairn_hold hold;		/* under side[CAIRN_RESP].lock */
	struct cairn_watch *watch;	/* lane/watch.h */
	u64 *ready;			/* word of the ready map; NULL: kernel QP */
	u32 id;				/* the QP's number in the watch */
	/* rxq_parts count for this user; NULL: a kernel consumer. The owner sets it before
	 * the QP is in the table, and has a reference until cairn_exec_stop() is over.
	 */
	struct cairn_share_user *user;
};

/*
 * skb->cb of a received skb: where its packets are. The BTH of packet k is at
 * offset + k * stride. Each packet ends with its ICRC; the last may be shorter.
 */
struct cairn_rx_cb {
	u32 offset;	/* first BTH, from skb->data */
	u32 len;	/* bytes from there to the end of the last ICRC */
	u32 stride;	/* bytes of each packet but the last */
	u32 psn;	/* first packet; used by device/hold.c only */
	u16 vlan;	/* id, or CAIRN_NO_VLAN */
	bool ipv6;
	bool ce;	/* Congestion Experienced (RFC 3168) */
	int ifindex;	/* netdev that received it or has its destination address */
	u16 flow;	/* UDP source port */
	u8 refuse;	/* as cairn_pkt.refuse; by a fault rule, of a single packet */
	u32 sender;	/* number of the connected QP on this host; 0: unknown */
	/* The first packet, already parsed; NULL: not parsed. Valid during the call
	 * that delivers the skb, so NULL in a queued skb.
	 */
	struct cairn_pkt *first;
};

#define CAIRN_NO_VLAN	0xffff

/* Responses go to the requester, requests to the responder. */
static inline enum cairn_side_id cairn_exec_side_of(u8 opcode)
{
	return cairn_opcodes[opcode].flags & CAIRN_OP_RESPONSE ? CAIRN_REQ :
								CAIRN_RESP;
}

static inline struct cairn_rx_cb *cairn_rx_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct cairn_rx_cb) > sizeof(skb->cb));
	return (struct cairn_rx_cb *)skb->cb;
}

/* Parts of CAIRN_RXQ_PART that the rxqs of a device may have together: an eighth of the
 * memory of the host, from 16 MiB to 64 GiB. Any context.
 */
u32 cairn_exec_max_waiting(void);

/**
 * cairn_exec_init() - initialise @exec for @qpc
 * @exec: zeroed memory
 * @qpc: the QP's engine state
 * @nic: the device, for its counters
 *
 * The next step is cairn_watch_join(), which gives the QP a lane. Context: any.
 */
void cairn_exec_init(struct cairn_exec *exec, struct cairn_qpc *qpc,
		     struct cairn_nic *nic);

/**
 * cairn_exec_stop() - wait until no run of the QP is left, and leave the watch
 * @exec: has joined a watch. It is not in the table of QPs, an RCU grace period has
 *	passed since, and no consumer can post to it.
 *
 * Context: process, sleeps.
 */
void cairn_exec_stop(struct cairn_exec *exec);

/**
 * cairn_exec_kick() - run a side that has new work
 * @exec: kept alive by the caller
 * @side: the side
 *
 * Runs the side here if interrupts are on and its lock is free; otherwise the
 * lock's holder or the lane runs it. Work of a kernel QP always goes to the lane: the
 * consumer may hold a lock that its completion handler takes, so the handler must
 * not run inside a verb (Documentation/infiniband/core_locking.rst).
 *
 * Context: any.
 */
void cairn_exec_kick(struct cairn_exec *exec, enum cairn_side_id side);

/**
 * cairn_exec_settle() - send what a process has posted, before the QP ends
 * @exec: kept alive by the caller; nothing happens for a kernel QP
 *
 * A lane finds posts by polling. A process may end the QP right after its last post,
 * before the lane has polled. Messages that the window, credits, a rate or the room delay are
 * not sent. The number of runs is limited, so the end of a very long queue may not
 * be sent either.
 *
 * Context: process, sleeps while the requester is bound to another CPU.
 */
void cairn_exec_settle(struct cairn_exec *exec);

/**
 * cairn_exec_defer() - have the lane run a side that has new work
 * @exec: kept alive by the caller
 * @side: the side
 *
 * Context: any, also below a side lock.
 */
void cairn_exec_defer(struct cairn_exec *exec, enum cairn_side_id side);

/**
 * cairn_exec_rx() - deliver received packets to a QP side
 * @exec: found in the table of QPs in this RCU read section
 * @side: the side
 * @skb: the packets, with struct cairn_rx_cb; lengths and ICRC have been checked.
 *	Consumed. A sender on this host may still share the memory and change it at
 *	any time.
 *
 * Context: below cairn_cpu_lock(), RCU read section.
 */
void cairn_exec_rx(struct cairn_exec *exec, enum cairn_side_id side,
		   struct sk_buff *skb);

/* The same for some packets of an skb, which the caller keeps. It is cloned only if
 * the side cannot run now.
 */
void cairn_exec_rx_part(struct cairn_exec *exec, enum cairn_side_id side,
			struct sk_buff *skb);

/**
 * cairn_exec_hand() - receive loopback packets without copying them first
 * @exec: found in the table of QPs in this RCU read section
 * @side: the side
 * @parcel: the packets
 *
 * The side runs when the caller's run has ended; only then it answers.
 *
 * Context: below cairn_cpu_lock() and the lock of the sender's side; RCU read
 * section.
 * Return: false when the side is busy or may have to keep the packets: then the
 * caller copies them for cairn_exec_hand_copy().
 */
bool cairn_exec_hand(struct cairn_exec *exec, enum cairn_side_id side,
		     struct cairn_parcel *parcel);

/* The same for a copy, an skb as for cairn_exec_rx(): it is queued. @skb is NULL if
 * the caller had no memory; the packets are lost then.
 */
void cairn_exec_hand_copy(struct cairn_exec *exec, enum cairn_side_id side,
			  struct sk_buff *skb);

/* Queue a clone of @skb for a side that the lane runs. The caller has called
 * cairn_exec_disown() for @skb, and no packet of it is parsed (cairn_rx_cb.first).
 */
void cairn_exec_rx_copy(struct cairn_exec *exec, enum cairn_side_id side,
			struct sk_buff *skb);

/* Prefetch what cairn_exec_prefetch() reads of @exec. Any context, without a lock. */
void cairn_exec_prefetch_head(const struct cairn_exec *exec);

/* Prefetch the state of @side for a run that will begin soon: its lock, its alarm, its
 * path, and the context's lines. Any context, without a lock.
 */
void cairn_exec_prefetch(const struct cairn_exec *exec,
			 enum cairn_side_id side);

/**
 * cairn_exec_lock() - take both side locks, requester first
 * @exec: the QP
 *
 * Also begins an RCU read section, which the engine needs. The caller must not sleep
 * before cairn_exec_unlock(), which leaves events of the meantime to the lane.
 *
 * Context: process; returns below cairn_cpu_lock().
 */
void cairn_exec_lock(struct cairn_exec *exec);
void cairn_exec_unlock(struct cairn_exec *exec);

/**
 * cairn_exec_release() - answer host flushes in the run of a requester
 * @exec: the QP that was asked, of the same device; found in this RCU read section
 * @tokens: of the completions that asked
 * @count: their number
 * @status: 0, or not 0: they failed
 *
 * The responder of @exec runs when the run has ended. Its lock may be held by another
 * CPU, for one run at most.
 *
 * Context: below the lock of a requester, within its run.
 * Return: number of tokens that are not outstanding.
 */
u32 cairn_exec_release(struct cairn_exec *exec, const u64 *tokens, u32 count,
		       u32 status);

/**
 * cairn_exec_fetch() - fetch the WQEs of a turn of the requester
 * @exec: the QP; the caller serves the requester soon, whatever is returned
 * @wqes: memory for them, the caller's until the turn is over
 *
 * Context: below cairn_cpu_lock().
 * Return: false: nothing was fetched, as the requester runs elsewhere.
 */
bool cairn_exec_fetch(struct cairn_exec *exec, struct cairn_ahead *wqes);

/* Run the requester if its lock is free, after cairn_exec_fetch() returned true. @tx->ahead
 * has the WQEs. Otherwise as cairn_exec_serve().
 */
void cairn_exec_serve_fetched(struct cairn_exec *exec, u32 rx, struct cairn_budget *tx);

/* Record an event and run the side if its lock is free. @rx limits the packets
 * received. @tx is the budget for sending and is decreased. Below cairn_cpu_lock().
 */
void cairn_exec_serve(struct cairn_exec *exec, enum cairn_side_id side, u32 rx,
		      struct cairn_budget *tx);

/* Fill in the members of @pkt that depend on where it is: at @offset of @skb. */
static inline void cairn_exec_locate_pkt(struct cairn_pkt *pkt, struct sk_buff *skb,
					 u32 offset)
{
	pkt->ce = cairn_rx_cb(skb)->ce;
	pkt->flow = cairn_rx_cb(skb)->flow;
	pkt->cookie = skb;
	pkt->base = offset;
	pkt->handed = false;
	pkt->sender = cairn_rx_cb(skb)->sender;
}

/* Parse and check the packet of @side that begins @skip bytes, a multiple of the stride,
 * after the first one of @skb. Return: false if it is malformed and counted: the caller
 * drops it.
 */
bool cairn_exec_parse(struct cairn_exec *exec, enum cairn_side_id side,
		      struct sk_buff *skb, u32 skip, struct cairn_pkt *pkt);

/* Release the skb's socket, route and connection tracking, before it is kept. */
void cairn_exec_disown(struct sk_buff *skb);

/* Has a CPU run sides within the last second? Any context. */
bool cairn_exec_ran_lately(unsigned int cpu);

/* Run a side if it has events, when its binding to this CPU ends (lane/drain.c).
 * Below cairn_cpu_lock().
 */
void cairn_exec_resume(struct cairn_exec *exec, enum cairn_side_id side);

#endif
