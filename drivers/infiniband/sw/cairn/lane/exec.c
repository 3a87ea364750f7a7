// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Running the engine.
 *
 * Who brings work:	record the event (or queue the skb and record it)
 *			full barrier				(A)
 *			try the lock
 * Who holds the lock:	take the events, full barrier (xchg)	(C)
 *			run
 *			unlock
 *			full barrier				(B)
 *			read the events; again if there are any
 *
 * A pairs with B: either the bringer's attempt comes after the unlock and gets
 * the lock, or the holder's look at the events comes after they were recorded.
 * An attempt also fails while somebody waits for the lock; he will be a holder
 * and look. C pairs with A: what the bringer wrote before is seen by the run
 * that its event causes. So no event is lost, and none is left behind unless
 * the lane has the QP on its list (the budget was used up), or the side is
 * bound to another CPU (lane/drain.h): its release there, a full barrier and a
 * look at the events pair with B and a second look at the binding.
 */
#include <linux/bitops.h>
#include <linux/bottom_half.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/wait_bit.h>
#include <net/dst.h>
#include <net/ipv6.h>
#include "lane/drain.h"
#include "lane/exec.h"
#include "lane/lane.h"
#include "lane/trace.h"

/* What a post or a receive may run on the spot, in packets of each direction:
 * enough for small messages, little for those who wait behind.
 */
#define CAIRN_INLINE_BUDGET	32
#define CAIRN_INLINE_BYTES	65536
/* Deadlines nearer than this are not rounded, ns. */
#define CAIRN_MIN_PATIENCE	1000
/* Runs in one go, so that nobody is kept busy by others' events for ever. */
#define CAIRN_MAX_ROUNDS	8

static void record(struct cairn_exec_side *s)
{
	smp_mb__before_atomic();	/* with xchg() in serve(): C */
	set_bit(0, &s->events);
	smp_mb__after_atomic();		/* A */
}

static void unlock(struct cairn_exec_side *s)
	__releases(&s->lock)
{
	spin_unlock(&s->lock);
	smp_mb();			/* B */
}

static bool from_peer4(const struct cairn_path *p, const struct iphdr *ip)
{
	return !p->ipv6 && ip->saddr == p->daddr.s6_addr32[3] &&
	       ip->daddr == p->saddr.s6_addr32[3];
}

static bool from_peer6(const struct cairn_path *p, const struct ipv6hdr *ip)
{
	return p->ipv6 && ipv6_addr_equal(&ip->saddr, &p->daddr) &&
	       ipv6_addr_equal(&ip->daddr, &p->saddr);
}

/* Did the peer of the connection send this, to the address it knows? */
static bool from_peer(const struct cairn_exec *x, enum cairn_side_id side,
		      struct sk_buff *skb)
{
	if (!x->path)
		return true;
	return cairn_rx_cb(skb)->ipv6 ?
		from_peer6(&x->path[side], ipv6_hdr(skb)) :
		from_peer4(&x->path[side], ip_hdr(skb));
}

static enum cairn_side_id side_of(const struct cairn_pkt *pkt)
{
	return pkt->op->flags & CAIRN_OP_RESPONSE ? CAIRN_REQ : CAIRN_RESP;
}

bool cairn_exec_parse(struct cairn_exec *x, enum cairn_side_id side,
		      struct sk_buff *skb, u32 offset, u32 len,
		      struct cairn_pkt *pkt)
{
	u8 hdr[CAIRN_MAX_HDR];

	/*
	 * Checked when it arrived, but a sender on this host may have changed
	 * it since: so one copy is taken, and it is checked again.
	 */
	if (skb_copy_bits(skb, offset, hdr, min_t(u32, len, sizeof(hdr))) ||
	    cairn_pkt_parse(pkt, hdr, len) || side_of(pkt) != side) {
		cairn_nic_count(x->nic, CAIRN_CTR_RX_MALFORMED, 1);
		return false;
	}
	pkt->ce = cairn_rx_cb(skb)->ce;
	pkt->cookie = skb;
	pkt->base = offset;
	return true;
}

/* One packet of @len bytes, BTH to ICRC, at @offset of the skb. */
static void rx_packet(struct cairn_exec *x, enum cairn_side_id side,
		      struct sk_buff *skb, u32 offset, u32 len, u64 now)
{
	struct cairn_pkt pkt;

	if (!cairn_exec_parse(x, side, skb, offset, len, &pkt))
		return;
	if (side == CAIRN_REQ)
		cairn_req_rx(x->qpc, &pkt, now);
	else
		cairn_resp_rx(x->qpc, &pkt, now);
}

/* All packets of an skb. Side lock held. Returns how many there are. */
static u32 rx_train(struct cairn_exec *x, enum cairn_side_id side,
		    struct sk_buff *skb, u64 now)
{
	struct cairn_rx_cb cb = *cairn_rx_cb(skb);
	u32 n = DIV_ROUND_UP(cb.len, cb.stride);
	u32 done;

	if (!from_peer(x, side, skb)) {
		cairn_nic_count(x->nic, CAIRN_CTR_RX_WRONG_QP, n);
		kfree_skb(skb);
		return n;
	}
	for (done = 0; done < cb.len; done += cb.stride)
		rx_packet(x, side, skb, cb.offset + done,
			  min(cb.stride, cb.len - done), now);
	consume_skb(skb);
	return n;
}

static struct sk_buff *rxq_take(struct cairn_exec_side *s)
{
	struct sk_buff *skb;

	if (skb_queue_empty_lockless(&s->rxq))
		return NULL;
	spin_lock(&s->rxq.lock);
	skb = __skb_dequeue(&s->rxq);
	if (skb)
		s->rxq_bytes -= skb->truesize;
	spin_unlock(&s->rxq.lock);
	return skb;
}

/* Returns false when the queue is full. */
static bool rxq_add(struct cairn_exec_side *s, struct sk_buff *skb)
{
	bool room;

	spin_lock(&s->rxq.lock);
	room = skb_queue_len(&s->rxq) < CAIRN_RXQ_SKBS &&
	       s->rxq_bytes + skb->truesize <= CAIRN_RXQ_BYTES;
	if (room) {
		s->rxq_bytes += skb->truesize;
		__skb_queue_tail(&s->rxq, skb);
	}
	spin_unlock(&s->rxq.lock);
	return room;
}

/* A wait for the rate ended, began, or both. Side lock held. */
static void paced(struct cairn_exec *x, enum cairn_side_id side, u64 waited,
		  u64 now, u32 packets)
{
	trace_cairn_rate_turn(x, side, waited, now, packets);
	if (cairn_paced_until(x->qpc, side))
		cairn_lane_purge(x);
}

/*
 * When the requester is to look at the time. But for a rate's, its deadlines are
 * patience, of which a quarter more does no harm (IBTA 9.7.6.1.3 allows four
 * times as much): rounded up, those of many QPs are one expiry of the timer.
 * Side lock held.
 */
static u64 req_deadline(const struct cairn_qpc *q, u64 now)
{
	u64 d = cairn_req_deadline(q);

	if (d <= now + CAIRN_MIN_PATIENCE ||
	    d == cairn_rate_deadline(&q->req.rate))
		return d;
	return ALIGN(d, BIT_ULL(fls64(d - now) - 3));
}

/*
 * Take what arrived, then send what is due. Receiving and sending have budgets
 * of their own, else a flood of requests would keep its ACK from leaving.
 * Side lock held. Returns true when work is left.
 */
static bool run(struct cairn_exec *x, enum cairn_side_id side,
		struct sk_buff *skb, u32 *rx, struct cairn_budget *tx)
{
	struct cairn_exec_side *s = &x->side[side];
	u64 waited = cairn_paced_until(x->qpc, side);
	u64 now = ktime_get_ns();
	u32 before = tx->packets;
	bool more;

	if (!skb)
		skb = rxq_take(s);
	while (skb) {
		*rx -= min(*rx, rx_train(x, side, skb, now));
		skb = *rx ? rxq_take(s) : NULL;
	}
	if (side == CAIRN_RESP) {
		more = cairn_resp_run(x->qpc, now, tx);
		cairn_lane_arm(x, side, cairn_resp_deadline(x->qpc));
	} else {
		more = cairn_req_run(x->qpc, now, tx);
		cairn_lane_arm(x, side, req_deadline(x->qpc, now));
		WRITE_ONCE(x->next_wqe, x->qpc->req.sq_next);
	}
	if (cairn_paced_until(x->qpc, side) != waited)
		paced(x, side, waited, now, before - tx->packets);
	return more || !skb_queue_empty_lockless(&s->rxq);
}

/* After a run. Side lock held, BH off. @sent: packets. @more: work is left.
 * Returns true when the caller is to give the side to the lane.
 */
static bool ran(struct cairn_exec *x, enum cairn_side_id side, u32 sent,
		bool more)
{
	struct cairn_exec_side *s = &x->side[side];

	if (sent && x->path && x->path[side].queued)
		cairn_drain_begin(x, side);
	if (!more || !cairn_draining(s))
		return more;
	s->to_lane = true;
	return false;
}

/* Run until nothing is left, or leave the rest to the lane. Side lock held,
 * released here. BH off. @skb: NULL, or the side is not bound elsewhere.
 */
static void serve(struct cairn_exec *x, enum cairn_side_id side,
		  struct sk_buff *skb, u32 rx, struct cairn_budget *tx)
	__releases(&x->side[side].lock)
{
	struct cairn_exec_side *s = &x->side[side];
	struct cairn_epoch *epoch = &x->nic->epoch;
	u32 rounds = 0, tag;
	bool more = false;

	rcu_read_lock();
	tag = cairn_epoch_enter(epoch, x->qpc->qpn);
	do {
		if (!cairn_drain_elsewhere(s)) {
			u32 before = tx->packets;

			xchg(&s->events, 0);	/* C */
			more = run(x, side, skb, &rx, tx);
			more |= ++rounds >= CAIRN_MAX_ROUNDS;
			more = ran(x, side, before - tx->packets, more);
			skb = NULL;
		}
		unlock(s);			/* and B */
		if (more) {
			cairn_lane_ready(x, side);
			break;
		}
	} while (READ_ONCE(s->events) && !cairn_drain_elsewhere(s) &&
		 spin_trylock(&s->lock));
	cairn_epoch_leave(epoch, tag);
	rcu_read_unlock();
}

/* What is run on the spot. */
static void serve_inline(struct cairn_exec *x, enum cairn_side_id side,
			 struct sk_buff *skb)
	__releases(&x->side[side].lock)
{
	struct cairn_budget tx = {
		.packets = CAIRN_INLINE_BUDGET,
		.bytes = CAIRN_INLINE_BYTES,
	};

	serve(x, side, skb, CAIRN_INLINE_BUDGET, &tx);
}

void cairn_exec_serve(struct cairn_exec *x, enum cairn_side_id side, u32 rx,
		      struct cairn_budget *tx)
{
	struct cairn_exec_side *s = &x->side[side];

	record(s);
	if (spin_trylock(&s->lock))
		serve(x, side, NULL, rx, tx);
}

static void record_and_serve(struct cairn_exec *x, enum cairn_side_id side)
{
	struct cairn_exec_side *s = &x->side[side];

	record(s);
	if (spin_trylock(&s->lock))
		serve_inline(x, side, NULL);
}

void cairn_exec_resume(struct cairn_exec *x, enum cairn_side_id side)
{
	struct cairn_exec_side *s = &x->side[side];

	if (READ_ONCE(s->events) && spin_trylock(&s->lock))
		serve_inline(x, side, NULL);
}

void cairn_exec_defer(struct cairn_exec *x, enum cairn_side_id side)
{
	cairn_lane_ready(x, side);
}

void cairn_exec_kick(struct cairn_exec *x, enum cairn_side_id side)
{
	if (x->kernel || irqs_disabled()) {
		cairn_lane_ready(x, side);
		return;
	}
	local_bh_disable();
	record_and_serve(x, side);
	local_bh_enable();
}

void cairn_exec_disown(struct sk_buff *skb)
{
	skb_orphan(skb);
	skb_dst_drop(skb);
	nf_reset_ct(skb);
}

void cairn_exec_rx(struct cairn_exec *x, enum cairn_side_id side,
		   struct sk_buff *skb)
{
	struct cairn_exec_side *s = &x->side[side];

	/* The short way: nothing is ahead of it and nobody runs. */
	if (skb_queue_empty_lockless(&s->rxq) && spin_trylock(&s->lock)) {
		if (!cairn_drain_elsewhere(s)) {
			serve_inline(x, side, skb);
			return;
		}
		unlock(s);	/* the events are looked at below */
	}
	cairn_exec_disown(skb);
	if (rxq_add(s, skb)) {
		record_and_serve(x, side);
		return;
	}
	cairn_nic_count(x->nic, CAIRN_CTR_RX_OVERFLOW,
			DIV_ROUND_UP(cairn_rx_cb(skb)->len,
				     cairn_rx_cb(skb)->stride));
	kfree_skb(skb);
}

void cairn_exec_lock(struct cairn_exec *x)
	__acquires(RCU)
	__acquires(&x->side[CAIRN_REQ].lock)
	__acquires(&x->side[CAIRN_RESP].lock)
{
	local_bh_disable();
	rcu_read_lock();
	spin_lock(&x->side[CAIRN_REQ].lock);
	spin_lock(&x->side[CAIRN_RESP].lock);
}

void cairn_exec_unlock(struct cairn_exec *x)
	__releases(&x->side[CAIRN_RESP].lock)
	__releases(&x->side[CAIRN_REQ].lock)
	__releases(RCU)
{
	unsigned int side;

	spin_unlock(&x->side[CAIRN_RESP].lock);
	unlock(&x->side[CAIRN_REQ]);	/* its barrier serves both */
	for (side = 0; side < CAIRN_SIDES; side++)
		if (READ_ONCE(x->side[side].events))
			cairn_lane_ready(x, side);
	rcu_read_unlock();
	local_bh_enable();
}

void cairn_exec_init(struct cairn_exec *x, struct cairn_qpc *qpc,
		     struct cairn_nic *nic)
{
	unsigned int i;

	x->qpc = qpc;
	x->nic = nic;
	/* Two calls, so that lockdep knows two kinds of locks. */
	spin_lock_init(&x->side[CAIRN_REQ].lock);
	spin_lock_init(&x->side[CAIRN_RESP].lock);
	for (i = 0; i < CAIRN_SIDES; i++) {
		skb_queue_head_init(&x->side[i].rxq);
		INIT_LIST_HEAD(&x->side[i].drain);
		x->side[i].drain_cpu = CAIRN_NOT_DRAINING;
		x->side[i].exec = x;
		timerqueue_init(&x->side[i].timer);
	}
	cairn_hold_init(&x->hold);
	atomic_set(&x->draining, 0);
}

void cairn_exec_stop(struct cairn_exec *x)
{
	unsigned int side;

	cairn_lane_leave(x);
	wait_var_event(&x->draining, !atomic_read(&x->draining));
	for (side = 0; side < CAIRN_SIDES; side++) {
		skb_queue_purge(&x->side[side].rxq);
		x->side[side].rxq_bytes = 0;
	}
	cairn_hold_purge(&x->hold);
	cairn_watch_put(x->watch, x->id);
}
