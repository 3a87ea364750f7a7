/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Who runs the engine of a QP, and when.
 *
 * Each QP side (enum cairn_side_id) has a lock, a set of pending events and a
 * bounded queue of received skbs. A caller with work (post, receive softirq,
 * timer, lane) records it and tries the lock. With the lock, the caller runs the
 * engine until no event is left. Without it, the holder finds the event after
 * unlocking and goes on. Only the control path waits for a side lock. So a packet
 * that our own transmission loops back to us cannot deadlock, and packets of a
 * side leave in the order in which the engine made them.
 *
 * What is handed over inside this host (cairn_exec_hand()) is received in the
 * sender's run, below the sender's lock, but by a try: if the receiver's lock is
 * taken the packets are queued as copies. Receiving sends nothing, so this goes one
 * step deep. The receivers of a run are listed with the CPU and run when its own lock
 * is free again, some of them; the others are left to their lanes.
 *
 * Long work (budget used up) goes to the lane: a thread that serves its QPs
 * round-robin, with equal shares in bytes (engine/sched.h).
 */
#ifndef CAIRN_LANE_EXEC_H
#define CAIRN_LANE_EXEC_H

#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timerqueue.h>
#include "device/hold.h"
#include "device/nic.h"
#include "device/parcel.h"
#include "device/path.h"
#include "engine/alarm.h"
#include "engine/qp.h"

struct cairn_lane;

/* Bounds of one rxq: what a peer can make us hold for one QP side. A window of
 * the engine (engine/window.h) fits, as single packets too.
 */
#define CAIRN_RXQ_SKBS		1024
#define CAIRN_RXQ_BYTES		(2 * 1024 * 1024)

#define CAIRN_NOT_DRAINING	(-1)
/* Added to the number of bound sides when their end is awaited. */
#define CAIRN_DRAIN_AWAITED	16

struct cairn_exec_side {
	spinlock_t lock;		/* the engine's side, see engine/qp.h */
	unsigned long events;		/* work recorded, not yet begun */
	struct sk_buff_head rxq;
	u32 rxq_bytes;			/* truesize of rxq, under rxq.lock */
	/* lane/drain.h */
	struct cairn_exec *exec;
	struct list_head drain;
	int drain_cpu;			/* that the side is bound to */
	bool to_lane;			/* afterwards */
	/* The engine's deadline: due under the side's lock, set and the timer
	 * under lane->lock.
	 */
	struct cairn_alarm alarm;
	struct timerqueue_node timer;
	/* On the list of a CPU whose run gave it packets. */
	unsigned long handed;
	struct cairn_exec_side *next_handed;
};

struct cairn_exec {
	struct cairn_qpc *qpc;
	struct cairn_nic *nic;
	struct cairn_lane *lane;
	/* Set by the owner before the QP is in the table, then constant. */
	bool kernel;		/* a kernel QP, see cairn_exec_kick() */
	/* Connected QPs: CAIRN_SIDES paths; packets from elsewhere are dropped.
	 * NULL: any source. path[side] is read under the side's lock.
	 */
	const struct cairn_path *path;
	struct cairn_exec_side side[CAIRN_SIDES];
	struct cairn_hold hold;		/* under side[CAIRN_RESP].lock */
	struct cairn_watch *watch;	/* lane/watch.h */
	u32 id;				/* there */
	u64 *ready;			/* word of the ready map; NULL: kernel QP */
	u32 slot;			/* in the lane's scheduler */
	u32 next_wqe;			/* ring unit, a hint for fetching ahead */
	/* Something may have been posted since the last look at the write
	 * pointer. Under side[CAIRN_REQ].lock.
	 */
	bool look;
	unsigned long wanted;		/* atomic: sides that want a turn */
	s32 debt[CAIRN_SIDES];		/* of bytes; the lane's thread */
	/* Under lane->lock: */
	bool queued;			/* in the lane's FIFO */
	u8 running;			/* lane and timer, outside lane->lock */
	bool stopped;
	atomic_t draining;		/* sides bound to a CPU */
};

/*
 * Where the packets of a received skb lie: in skb->cb. Packet k has its BTH at
 * offset + k * stride and ends with its ICRC; the last may be shorter.
 */
struct cairn_rx_cb {
	u32 offset;	/* of the first BTH, from skb->data */
	u32 len;	/* bytes from there to the end of the last ICRC */
	u32 stride;	/* bytes of each packet but the last */
	u32 psn;	/* device/hold.c: of the first */
	u16 vlan;	/* id, or CAIRN_NO_VLAN */
	bool ipv6;
	bool ce;	/* marked: congestion (RFC 3168) */
	int ifindex;	/* of the netdev that received it or owns its address */
	u16 flow;	/* UDP source port, as it came */
	u32 sender;	/* connected QP on this host; 0: unknown */
	/* The first packet, as it was read when it was checked; NULL: it is to be
	 * read. For the run in whose hands the skb is, not to be kept.
	 */
	struct cairn_pkt *first;
};

#define CAIRN_NO_VLAN	0xffff

/* Whose packet is it? */
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

/**
 * cairn_exec_init() - prepare @exec for @qpc
 * @exec: zeroed memory
 * @qpc: what to run
 * @nic: the device, for its counters
 *
 * Next it joins a watch, and so a lane (lane/watch.h). Context: any.
 */
void cairn_exec_init(struct cairn_exec *exec, struct cairn_qpc *qpc,
		     struct cairn_nic *nic);

/**
 * cairn_exec_stop() - after this returns nobody runs the QP any more
 * @exec: joined; no longer in the table of QPs, and a grace period has passed;
 *	nobody can post to it
 *
 * Gives back its id in the watch.
 *
 * Context: process, sleeps.
 */
void cairn_exec_stop(struct cairn_exec *exec);

/**
 * cairn_exec_kick() - work appeared
 * @exec: kept alive by the caller
 * @side: whose work
 *
 * Runs it here when the context allows (interrupts on) and the side is free,
 * else has the holder or the lane do it. Work of a kernel QP always goes to
 * the lane: completion handlers must not run in the call chain of the verb that
 * caused them (Documentation/infiniband/core_locking.rst), where the consumer
 * may hold the very lock that its handler takes.
 *
 * Context: any.
 */
void cairn_exec_kick(struct cairn_exec *exec, enum cairn_side_id side);

/**
 * cairn_exec_settle() - send what a process has posted, before the QP ends
 * @exec: kept alive by the caller; of a kernel QP nothing is done here
 *
 * A lane finds posts by itself, and nobody tells it of them: who ends the QP behind
 * his last message must not be faster than the lane. What the window, credits or a
 * rate keep back stays, and of very much some may.
 *
 * Context: process, sleeps while the requester is bound to another CPU.
 */
void cairn_exec_settle(struct cairn_exec *exec);

/**
 * cairn_exec_defer() - work appeared that the lane is to do
 * @exec: kept alive by the caller
 * @side: whose work
 *
 * Context: any, also below a side lock.
 */
void cairn_exec_defer(struct cairn_exec *exec, enum cairn_side_id side);

/**
 * cairn_exec_rx() - received packets of one QP side
 * @exec: found in the table of QPs in this RCU read section
 * @side: whose packets they are
 * @skb: the packets, checked (lengths, ICRC), with struct cairn_rx_cb;
 *	consumed. Its contents may change any time: a sender on this host may
 *	still share them.
 *
 * Context: below cairn_cpu_lock(), RCU read section.
 */
void cairn_exec_rx(struct cairn_exec *exec, enum cairn_side_id side,
		   struct sk_buff *skb);

/* The same with packets of an skb that has others, too, and stays the caller's.
 * It is cloned only if the side cannot run now.
 */
void cairn_exec_rx_part(struct cairn_exec *exec, enum cairn_side_id side,
			struct sk_buff *skb);

/**
 * cairn_exec_hand() - receive packets of a sender on this host, where they lie
 * @exec: found in the table of QPs in this RCU read section
 * @side: whose packets they are
 * @parcel: the packets
 *
 * What they cause is run when the caller's run ends.
 *
 * Context: below cairn_cpu_lock(), RCU read section; below a lock of the sender's side.
 * Return: false when the side cannot take them now, or not like this: then
 * cairn_exec_hand_copy().
 */
bool cairn_exec_hand(struct cairn_exec *exec, enum cairn_side_id side,
		     struct cairn_parcel *parcel);

/* The same with a copy, as cairn_exec_rx() takes it, that is queued. NULL: there was
 * no memory for it, it is lost.
 */
void cairn_exec_hand_copy(struct cairn_exec *exec, enum cairn_side_id side,
			  struct sk_buff *skb);

/* The same with packets of an skb that stays the caller's; they are queued, and run by
 * the lane. The skb belongs to nobody else (cairn_exec_disown()), and no packet of it has
 * been read (struct cairn_rx_cb).
 */
void cairn_exec_rx_copy(struct cairn_exec *exec, enum cairn_side_id side,
			struct sk_buff *skb);

/* A packet for @side comes soon: have its context fetched. Any context. */
void cairn_exec_prefetch(const struct cairn_exec *exec,
			 enum cairn_side_id side);

/**
 * cairn_exec_lock() - both side locks, requester first
 * @exec: the QP
 *
 * Also an RCU read section, as the engine needs one. Nothing may sleep until
 * cairn_exec_unlock(), which has the lane do what came meanwhile.
 *
 * Context: process; returns below cairn_cpu_lock().
 */
void cairn_exec_lock(struct cairn_exec *exec);
void cairn_exec_unlock(struct cairn_exec *exec);

/* Run a side that is due, up to @rx packets received; @tx is what may be sent,
 * and decreased. Below cairn_cpu_lock().
 */
void cairn_exec_serve(struct cairn_exec *exec, enum cairn_side_id side, u32 rx,
		      struct cairn_budget *tx);

/* The environment's part of a packet at @offset of @skb. */
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

/* Read and check the packet of @len bytes, BTH to ICRC, at @offset of an skb of
 * @side. False: counted, to be dropped.
 */
bool cairn_exec_parse(struct cairn_exec *exec, enum cairn_side_id side,
		      struct sk_buff *skb, u32 offset, u32 len,
		      struct cairn_pkt *pkt);

/* Before an skb is kept, let go of all in it that belongs to others. */
void cairn_exec_disown(struct sk_buff *skb);

/* Run a side if it has events, as its binding to this CPU ends. Below
 * cairn_cpu_lock().
 */
void cairn_exec_resume(struct cairn_exec *exec, enum cairn_side_id side);

#endif
