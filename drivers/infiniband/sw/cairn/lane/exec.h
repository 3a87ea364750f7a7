/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Who runs the engine of a QP, and when.
 *
 * Each QP side (enum cairn_side_id) has a lock, a set of pending events and a
 * bounded queue of received skbs. Whoever brings work (post, receive softirq,
 * timer, lane) records it and tries the lock: with it, he runs the engine
 * until no event is left; without it, the holder finds the event after
 * unlocking and goes on. Nobody waits for a side lock but the control path, so
 * a packet that our own transmission loops back to us cannot deadlock, and
 * packets of a side leave in the order in which the engine made them.
 *
 * Long work (budget used up) goes to the lane: a thread that serves its QPs
 * round-robin.
 */
#ifndef CAIRN_LANE_EXEC_H
#define CAIRN_LANE_EXEC_H

#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/timerqueue.h>
#include "engine/qp.h"
#include "lane/nic.h"

struct cairn_lane;

struct cairn_exec_side {
	spinlock_t lock;
	unsigned long events;		/* bits of enum cairn_event */
	struct sk_buff_head rxq;
	u32 rxq_bytes;			/* truesize of rxq, under rxq.lock */
};

struct cairn_exec {
	struct cairn_qpc *qpc;
	struct cairn_nic *nic;
	struct cairn_lane *lane;
	struct cairn_exec_side side[CAIRN_SIDES];
	/* Under lane->lock: */
	struct list_head ready;
	u8 ready_sides;			/* bit per side that wants a turn */
	struct timerqueue_node timer;	/* requester deadline */
	bool timer_queued;
};

/*
 * Where the packets of a received skb lie: in skb->cb. Packet k starts (BTH)
 * at offset + k * stride and all but the last have stride bytes up to the
 * start of the next; len is the whole run.
 */
struct cairn_rx_cb {
	u32 offset;	/* of the first BTH, from skb->data */
	u32 len;	/* bytes from there to the end of the last ICRC */
	u32 stride;	/* bytes from one BTH to the next; 0: one packet */
	u32 segment;	/* bytes of one packet from BTH to ICRC */
	bool ipv6;
};

static inline struct cairn_rx_cb *cairn_rx_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct cairn_rx_cb) > sizeof(skb->cb));
	return (struct cairn_rx_cb *)skb->cb;
}

/* Module start and stop. Process context. */
int cairn_lanes_start(void);
void cairn_lanes_stop(void);

void cairn_exec_init(struct cairn_exec *x, struct cairn_qpc *qpc,
		     struct cairn_nic *nic);

/**
 * cairn_exec_stop() - after this returns nobody runs the QP any more
 *
 * The QP is no longer in the table and a grace period has passed, nobody can
 * post to it. Process context, sleeps.
 */
void cairn_exec_stop(struct cairn_exec *x);

/* Work appeared on @side: run it here when the context allows (not with
 * interrupts off) and the side is free, or have the holder or the lane do it.
 * Any context; the caller keeps the QP alive.
 */
void cairn_exec_kick(struct cairn_exec *x, enum cairn_side_id side);

/* As above, but always on the lane. Any context, also below a side lock. */
void cairn_exec_defer(struct cairn_exec *x, enum cairn_side_id side);

/* Received packets of one QP side, checked (length, ICRC). Takes the skb.
 * Softirq or BH off, RCU read section.
 */
void cairn_exec_rx(struct cairn_exec *x, enum cairn_side_id side,
		   struct sk_buff *skb);

/* Both side locks, requester first, BH off. Process context. Unlocking runs
 * what came meanwhile.
 */
void cairn_exec_lock(struct cairn_exec *x);
void cairn_exec_unlock(struct cairn_exec *x);

#endif
