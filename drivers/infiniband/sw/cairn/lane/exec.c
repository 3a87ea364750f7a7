// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Runs the engine.
 *
 * A caller with work:	queue the skb, if any
 *			record the event
 *			full barrier				(A)
 *			try the lock
 * The lock's holder:	take the events, full barrier (xchg)	(C)
 *			run the engine
 *			unlock
 *			full barrier				(B)
 *			read the events; try the lock again if there are any
 *
 * A pairs with B: either the caller's try comes after the unlock and gets the lock,
 * or the holder reads the events after they were recorded. A try also fails while
 * the control path waits for the lock; the control path reads the events when it
 * unlocks. C pairs with A: the run that takes an event sees everything that its
 * caller wrote before.
 *
 * So no event is lost. An event stays behind in three cases only. The budget was used
 * up: the lane has the QP marked. Or the lane has the lock to fetch WQEs
 * (cairn_exec_fetch()): a turn follows. Or the side is bound to another CPU
 * (lane/drain.h): the end of the binding, a full barrier and a read of the events there
 * pair with B and the second check of the binding here.
 */
#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/netfilter.h>
#include <linux/prefetch.h>
#include <linux/wait_bit.h>
#include <net/dst.h>
#include "device/clock.h"
#include "device/cpu.h"
#include "device/trace.h"
#include "engine/comp_rx.h"
#include "engine/pace.h"
#include "engine/persist_resp.h"
#include "engine/req_record.h"
#include "engine/requester.h"
#include "engine/responder.h"
#include "engine/train.h"
#include "fault/rules.h"
#include "lane/drain.h"
#include "lane/exec.h"
#include "lane/lane.h"

/* Budget of an inline run, in the context of a post or a receive; packets of each
 * direction. Enough for small messages, and so short that it delays the context
 * little.
 */
#define CAIRN_INLINE_BUDGET	32
#define CAIRN_INLINE_BYTES	65536
/* Rounds of one run: events that other CPUs record must not prolong it forever. */
#define CAIRN_MAX_ROUNDS	8
/* Loopback receivers that run after one run, for the same reason. */
#define CAIRN_MAX_HANDED	16
/* Limits of cairn_exec_settle(): inline runs, and waits of 50 to 100 us each while the
 * requester is bound to another CPU.
 */
#define CAIRN_SETTLE_RUNS	32
#define CAIRN_SETTLE_WAITS	1000
/* Bounds of cairn_exec_max_waiting(): 16 MiB and 64 GiB. */
#define CAIRN_MIN_WAITING	256
#define CAIRN_MAX_WAITING	(1024 * 1024)

/* Sides that runs of this CPU have handed packets to. Used below cairn_cpu_lock(). */
struct exec_handed {
	struct cairn_exec_side *first, *last;
	unsigned int depth;		/* nested runs */
	unsigned long ran;		/* jiffies at the last run */
};

static DEFINE_PER_CPU(struct exec_handed, exec_handed);

static void exec_record(struct cairn_exec_side *state)
{
	smp_mb__before_atomic();	/* pairs with C in exec_take_events() */
	set_bit(0, &state->events);
	smp_mb__after_atomic();		/* A */
}

static void exec_unlock_side(struct cairn_exec_side *state)
	__releases(&state->lock)
{
	spin_unlock(&state->lock);
	smp_mb();			/* B */
}

static void exec_take_events(struct cairn_exec *exec, enum cairn_side_id side)
{
	bool told = xchg(&exec->side[side].events, 0);	/* C */

	lockdep_assert_held(&exec->side[side].lock);
	if (side == CAIRN_REQ)
		cairn_req_told(&exec->qpc->req, told);
}

/* Was the packet sent by the peer of the connection, to the address that it is
 * connected to, and received by the netdev of that address? A datagram may come from
 * any address.
 */
static bool exec_from_peer(const struct cairn_exec *exec,
			   enum cairn_side_id side, struct sk_buff *skb)
{
	const struct cairn_rx_cb *cb = cairn_rx_cb(skb);

	if (!exec->path)
		return cairn_path_to_netdev(exec->nic, skb, cb->ifindex,
					    cb->ipv6);
	return cairn_path_from_peer(&exec->path[side], skb, cb->ifindex,
				    cb->ipv6);
}

bool cairn_exec_parse(struct cairn_exec *exec, enum cairn_side_id side,
		      struct sk_buff *skb, u32 skip, struct cairn_pkt *pkt)
{
	const struct cairn_rx_cb *cb = cairn_rx_cb(skb);
	u32 offset = cb->offset + skip, len = min(cb->stride, cb->len - skip);
	u8 hdr[CAIRN_MAX_HDR];

	/* The packet was checked when it arrived, but a sender on this host may have
	 * changed it since. So the header is copied once and checked again.
	 */
	if (skb_copy_bits(skb, offset, hdr, min_t(u32, len, sizeof(hdr))) ||
	    cairn_pkt_parse(pkt, hdr, len) ||
	    cairn_exec_side_of(pkt->opcode) != side) {
		cairn_nic_count(exec->nic, CAIRN_CTR_RX_MALFORMED, 1);
		return false;
	}
	cairn_exec_locate_pkt(pkt, skb, offset);
	return true;
}

static void exec_rx_packet(struct cairn_exec *exec, enum cairn_side_id side,
			   const struct cairn_pkt *pkt, u64 now)
{
	trace_cairn_received(exec, side, pkt);
	if (side == CAIRN_REQ)
		cairn_comp_rx(exec->qpc, pkt, now);
	else
		cairn_resp_rx(exec->qpc, pkt, now);
}

/* A fault rule refuses the packet of @skb (fault/rules.h). */
static noinline void exec_rx_refused(struct cairn_exec *exec,
				     enum cairn_side_id side,
				     struct sk_buff *skb, u64 now)
{
	struct cairn_pkt pkt;

	lockdep_assert_held(&exec->side[side].lock);
	if (!cairn_exec_parse(exec, side, skb, 0, &pkt))
		return;
	trace_cairn_received(exec, side, &pkt);
	pkt.refuse = cairn_rx_cb(skb)->refuse;
	if (pkt.refuse == CAIRN_REFUSE_QP_FATAL)
		cairn_qpc_break(exec->qpc);
	else if (side == CAIRN_RESP)
		cairn_resp_rx_refused(exec->qpc, &pkt, now);
}

/* The packets of @skb from byte @done on. */
static void exec_rx_rest(struct cairn_exec *exec, enum cairn_side_id side,
			 struct sk_buff *skb, u32 done, u64 now)
{
	const struct cairn_rx_cb *cb = cairn_rx_cb(skb);
	struct cairn_pkt pkt;

	for (; done < cb->len; done += cb->stride)
		if (cairn_exec_parse(exec, side, skb, done, &pkt))
			exec_rx_packet(exec, side, &pkt, now);
}

/* Receive all packets of an skb, which the caller frees. Return: number of packets. */
static u32 exec_rx_train(struct cairn_exec *exec, enum cairn_side_id side,
			 struct sk_buff *skb, u64 now)
{
	const struct cairn_rx_cb *cb = cairn_rx_cb(skb);
	u32 n = 1, done = 0;

	lockdep_assert_held(&exec->side[side].lock);
	if (cb->len > cb->stride)
		n = DIV_ROUND_UP(cb->len, cb->stride);
	if (!exec_from_peer(exec, side, skb)) {
		cairn_nic_count(exec->nic, CAIRN_CTR_RX_WRONG_QP, n);
		return n;
	}
	if (cairn_fault_possible() && cb->refuse) {
		exec_rx_refused(exec, side, skb, now);
		done = cb->len;
	} else if (cb->first) {
		exec_rx_packet(exec, side, cb->first, now);
		done = cb->stride;
	}
	if (done < cb->len)
		exec_rx_rest(exec, side, skb, done, now);
	return n;
}

/* Give parts of the queue back until @left are taken. */
static void exec_rxq_give_parts(struct cairn_exec_side *state, u8 left)
{
	struct cairn_exec *exec = state->exec;

	lockdep_assert_held(&state->rxq.lock);
	for (; state->rxq_parts > left; state->rxq_parts--)
		cairn_share_give(exec->nic, CAIRN_SHARE_WAITING, exec->user);
}

/* Take the parts that a queue of @bytes needs. Return: false if there are not as many. */
static bool exec_rxq_take_parts(struct cairn_exec_side *state, u32 bytes)
{
	struct cairn_exec *exec = state->exec;
	u8 before = state->rxq_parts;

	lockdep_assert_held(&state->rxq.lock);
	static_assert(CAIRN_RXQ_BYTES / CAIRN_RXQ_PART <= U8_MAX);
	for (; bytes > (state->rxq_parts + 1) * CAIRN_RXQ_PART; state->rxq_parts++)
		if (cairn_share_take_for(exec->nic, CAIRN_SHARE_WAITING,
					 exec->nic->max_waiting, exec->user)) {
			exec_rxq_give_parts(state, before);
			return false;
		}
	return true;
}

static struct sk_buff *exec_rxq_take(struct cairn_exec_side *state)
{
	struct sk_buff *skb;

	if (skb_queue_empty_lockless(&state->rxq))
		return NULL;
	spin_lock(&state->rxq.lock);
	skb = __skb_dequeue(&state->rxq);
	if (skb)
		state->rxq_bytes -= skb->truesize;
	if (skb_queue_empty(&state->rxq))
		exec_rxq_give_parts(state, 0);
	spin_unlock(&state->rxq.lock);
	return skb;
}

/* Return: false when the queue is full, or the user has no share for more. */
static bool exec_rxq_add(struct cairn_exec_side *state, struct sk_buff *skb)
{
	bool room;

	spin_lock(&state->rxq.lock);
	room = skb_queue_len(&state->rxq) < CAIRN_RXQ_SKBS &&
	       state->rxq_bytes + skb->truesize <= CAIRN_RXQ_BYTES &&
	       exec_rxq_take_parts(state, state->rxq_bytes + skb->truesize);
	if (room) {
		state->rxq_bytes += skb->truesize;
		__skb_queue_tail(&state->rxq, skb);
	}
	spin_unlock(&state->rxq.lock);
	return room;
}

/*
 * Receive @skb, if it is not NULL, and what has been queued, then send what is due. Each
 * has its own budget: otherwise a flood of requests would delay their ACK. Return: true
 * when work is left.
 */
static bool exec_round(struct cairn_exec *exec, enum cairn_side_id side,
		       struct sk_buff *skb, u32 *rx, struct cairn_budget *tx)
{
	struct cairn_exec_side *state = &exec->side[side];
	bool traced = trace_cairn_rate_turn_enabled();
	u64 waited = traced ? cairn_paced_until(exec->qpc, side) : 0;
	u64 now = cairn_clock_now();
	u32 before = tx->packets;
	bool more;

	lockdep_assert_held(&exec->side[side].lock);
	if (skb)
		*rx -= min(*rx, exec_rx_train(exec, side, skb, now));
	while (*rx && (skb = exec_rxq_take(state))) {
		*rx -= min(*rx, exec_rx_train(exec, side, skb, now));
		consume_skb(skb);
	}
	if (side == CAIRN_RESP) {
		more = cairn_resp_run(exec->qpc, now, tx);
		cairn_lane_arm(exec, side, cairn_resp_deadline(exec->qpc));
	} else {
		more = cairn_req_run(exec->qpc, now, tx);
		cairn_lane_arm(exec, side, cairn_req_expiry(exec->qpc, now));
	}
	/* A wait for the rate has ended, begun, or both. */
	if (traced && cairn_paced_until(exec->qpc, side) != waited)
		trace_cairn_rate_turn(exec, side, waited, now,
				      before - tx->packets);
	return more || !skb_queue_empty_lockless(&state->rxq);
}

/* After a round. @sent: number of packets. @waiting: packets wait in a train that
 * this CPU has not sent yet (cairn_env_plug()). @more: work is left for the lane.
 * Return: true if the caller has to mark the side for the lane. A bound side is
 * marked when the binding ends.
 */
static bool exec_end_round(struct cairn_exec *exec, enum cairn_side_id side,
			   u32 sent, bool waiting, bool more)
{
	struct cairn_exec_side *state = &exec->side[side];

	lockdep_assert_held(&exec->side[side].lock);
	if (waiting || (sent && exec->path && cairn_path_waits(&exec->path[side])))
		cairn_drain_begin(exec, side);
	if (!more || !cairn_draining(state))
		return more;
	state->to_lane = true;
	return false;
}

/* Another CPU may answer for a side that is not bound to this one, and its fence does not
 * count for what this CPU has written back. Not inlined, for scripts/check/fence.py.
 */
static noinline void exec_settle_fence(struct cairn_exec_side *state)
{
	lockdep_assert_held(&state->lock);
	if (state == &state->exec->side[CAIRN_RESP] && !cairn_draining(state))
		cairn_env_settle();
}

/* Run until nothing is left, or leave the rest to the lane. Releases the side's
 * lock. @skb: stays the caller's; NULL if the side is bound to another CPU.
 */
static void exec_run_side(struct cairn_exec *exec, enum cairn_side_id side,
			  struct sk_buff *skb, u32 rx, struct cairn_budget *tx)
	__releases(&exec->side[side].lock)
{
	struct cairn_exec_side *state = &exec->side[side];
	struct cairn_epoch *epoch = &exec->nic->epoch;
	bool more = false, tell = false;
	u32 rounds = 0, tag;

	lockdep_assert_held(&state->lock);
	tag = cairn_epoch_enter(epoch, exec->qpc->qpn);
	do {
		if (!cairn_drain_elsewhere(state)) {
			u32 waiting = cairn_env_waiting();
			u32 before = tx->packets;

			exec_take_events(exec, side);
			more = exec_round(exec, side, skb, &rx, tx);
			more |= ++rounds >= CAIRN_MAX_ROUNDS;
			tell = exec_end_round(exec, side, before - tx->packets,
					      waiting != cairn_env_waiting(),
					      more);
			skb = NULL;
			exec_settle_fence(state);
		}
		exec_unlock_side(state);			/* B */
	} while (!more && READ_ONCE(state->events) &&
		 !cairn_drain_elsewhere(state) && spin_trylock(&state->lock));
	if (tell)
		cairn_lane_ready(exec, side);
	cairn_epoch_leave(epoch, tag);
}

static void exec_run_handed(struct exec_handed *handed);

/* The same, and then the sides that this run handed packets to. */
static void exec_run(struct cairn_exec *exec, enum cairn_side_id side,
		     struct sk_buff *skb, u32 rx, struct cairn_budget *tx)
	__releases(&exec->side[side].lock)
{
	struct exec_handed *handed = this_cpu_ptr(&exec_handed);

	rcu_read_lock();
	handed->depth++;
	WRITE_ONCE(handed->ran, jiffies);
	exec_run_side(exec, side, skb, rx, tx);
	if (handed->depth == 1)
		exec_run_handed(handed);
	handed->depth--;
	rcu_read_unlock();
}

/* A run in the context of a post or a receive. */
static void exec_run_inline(struct cairn_exec *exec, enum cairn_side_id side,
			    struct sk_buff *skb)
	__releases(&exec->side[side].lock)
{
	struct cairn_budget tx = {
		.packets = CAIRN_INLINE_BUDGET,
		.bytes = CAIRN_INLINE_BYTES,
	};

	exec_run(exec, side, skb, CAIRN_INLINE_BUDGET, &tx);
}

void cairn_exec_serve(struct cairn_exec *exec, enum cairn_side_id side, u32 rx,
		      struct cairn_budget *tx)
{
	struct cairn_exec_side *state = &exec->side[side];

	exec_record(state);
	if (spin_trylock(&state->lock))
		exec_run(exec, side, NULL, rx, tx);
}

void cairn_exec_serve_fetched(struct cairn_exec *exec, u32 rx, struct cairn_budget *tx)
{
	struct cairn_exec_side *state = &exec->side[CAIRN_REQ];

	if (spin_trylock(&state->lock)) {
		if (!cairn_drain_elsewhere(state)) {
			exec_run(exec, CAIRN_REQ, NULL, rx, tx);
			return;
		}
		exec_unlock_side(state);
	}
	cairn_exec_serve(exec, CAIRN_REQ, rx, tx);
}

/* The time that a requester which waits for its rate is compared with. */
static u64 exec_rate_time(const struct cairn_exec *exec)
{
	return cairn_paced_until(exec->qpc, CAIRN_REQ) ? ktime_get_ns() : 0;
}

bool cairn_exec_fetch(struct cairn_exec *exec, struct cairn_ahead *wqes)
{
	struct cairn_exec_side *state = &exec->side[CAIRN_REQ];
	bool here;

	if (!spin_trylock(&state->lock))
		return false;
	here = !cairn_drain_elsewhere(state);
	if (here)
		cairn_req_fetch(exec->qpc, wqes, exec_rate_time(exec));
	/* The turn that follows takes the events of CPUs that failed to get the lock. */
	spin_unlock(&state->lock);
	return here;
}

/* Is this CPU in a run? act_mirred of older kernels receives packets below the call that
 * sends them. A run with these could wait for the lock of the responder that sends
 * (cairn_exec_release()).
 */
static bool exec_in_run(void)
{
	return __this_cpu_read(exec_handed.depth);
}

/* Run a side after the current run of this CPU. Its event has been recorded. */
static void exec_hand_on(struct cairn_exec_side *state)
{
	struct exec_handed *handed = this_cpu_ptr(&exec_handed);

	if (!exec_in_run()) {
		cairn_lane_ready(state->exec, state - state->exec->side);
		return;
	}
	/* A full barrier; pairs with the one in exec_run_handed(). A side that is on
	 * a list already runs after it is taken off, so that run sees the event.
	 */
	if (test_and_set_bit(0, &state->handed))
		return;
	state->next_handed = NULL;
	if (handed->first)
		handed->last->next_handed = state;
	else
		handed->first = state;
	handed->last = state;
}

/* Run the side here, or behind the run that this CPU is in. */
static void exec_record_and_run(struct cairn_exec *exec,
				enum cairn_side_id side)
{
	struct cairn_exec_side *state = &exec->side[side];

	exec_record(state);
	if (exec_in_run())
		exec_hand_on(state);
	else if (spin_trylock(&state->lock))
		exec_run_inline(exec, side, NULL);
}

/* All of them share the budget of one inline run. The sides stay valid, as they were
 * found in the same RCU read section, which exec_run() has begun.
 */
static void exec_run_handed(struct exec_handed *handed)
{
	struct cairn_budget tx = {
		.packets = CAIRN_INLINE_BUDGET,
		.bytes = CAIRN_INLINE_BYTES,
	};
	u32 left = CAIRN_MAX_HANDED;
	struct cairn_exec_side *state;

	while ((state = handed->first)) {
		enum cairn_side_id side = state - state->exec->side;

		handed->first = state->next_handed;
		/* The release orders the read of next_handed before the bit is clear:
		 * then another CPU may put the side on its list.
		 */
		clear_bit_unlock(0, &state->handed);
		smp_mb__after_atomic();		/* pairs with exec_hand_on() */
		if (left && cairn_budget_left(&tx)) {
			left--;
			cairn_exec_serve(state->exec, side, CAIRN_INLINE_BUDGET,
					 &tx);
		} else {
			cairn_lane_ready(state->exec, side);
		}
	}
}

bool cairn_exec_ran_lately(unsigned int cpu)
{
	return time_before(jiffies, READ_ONCE(per_cpu(exec_handed, cpu).ran) + HZ);
}

void cairn_exec_resume(struct cairn_exec *exec, enum cairn_side_id side)
{
	struct cairn_exec_side *state = &exec->side[side];

	if (READ_ONCE(state->events) && spin_trylock(&state->lock))
		exec_run_inline(exec, side, NULL);
}

/* Return: false when the side is bound to another CPU and did not run. */
static bool exec_settle_some(struct cairn_exec *exec, struct cairn_budget *tx)
{
	struct cairn_exec_side *state = &exec->side[CAIRN_REQ];
	bool here;

	cairn_cpu_lock();
	exec_record(state);
	spin_lock(&state->lock);
	here = !cairn_drain_elsewhere(state);
	exec_run(exec, CAIRN_REQ, NULL, CAIRN_INLINE_BUDGET, tx);
	cairn_cpu_unlock();
	return here;
}

void cairn_exec_settle(struct cairn_exec *exec)
{
	u32 runs = CAIRN_SETTLE_RUNS, waits = CAIRN_SETTLE_WAITS;

	while (!exec->kernel && runs && waits) {
		struct cairn_budget tx = {
			.packets = CAIRN_INLINE_BUDGET,
			.bytes = CAIRN_INLINE_BYTES,
		};

		if (!exec_settle_some(exec, &tx)) {
			usleep_range(50, 100);
			waits--;
			continue;
		}
		if (cairn_budget_left(&tx))
			break;
		cond_resched();
		runs--;
	}
}

void cairn_exec_defer(struct cairn_exec *exec, enum cairn_side_id side)
{
	cairn_lane_ready(exec, side);
}

void cairn_exec_kick(struct cairn_exec *exec, enum cairn_side_id side)
{
	if (exec->kernel || irqs_disabled()) {
		cairn_lane_ready(exec, side);
		return;
	}
	cairn_cpu_lock();
	exec_record_and_run(exec, side);
	cairn_cpu_unlock();
}

void cairn_exec_disown(struct sk_buff *skb)
{
	skb_orphan(skb);
	skb_dst_drop(skb);
	nf_reset_ct(skb);
}

/* Run with @skb now, if nothing is queued before it, the lock is free, and this CPU is in no
 * run. Return: false if not; then the caller runs the side for events of the meantime.
 */
static bool exec_rx_now(struct cairn_exec *exec, enum cairn_side_id side,
			struct sk_buff *skb)
{
	struct cairn_exec_side *state = &exec->side[side];

	if (exec_in_run() || !skb_queue_empty_lockless(&state->rxq) ||
	    !spin_trylock(&state->lock))
		return false;
	if (!cairn_drain_elsewhere(state)) {
		exec_run_inline(exec, side, skb);
		return true;
	}
	exec_unlock_side(state);
	return false;
}

static void exec_count_overflow(struct cairn_exec *exec, struct sk_buff *skb)
{
	cairn_nic_count(exec->nic, CAIRN_CTR_RX_OVERFLOW,
			DIV_ROUND_UP(cairn_rx_cb(skb)->len,
				     cairn_rx_cb(skb)->stride));
}

/* Queue @skb, and run the side if it is free by now. */
static void exec_rx_later(struct cairn_exec *exec, enum cairn_side_id side,
			  struct sk_buff *skb)
{
	struct cairn_exec_side *state = &exec->side[side];

	cairn_exec_disown(skb);
	cairn_rx_cb(skb)->first = NULL;
	if (!exec_rxq_add(state, skb)) {
		exec_count_overflow(exec, skb);
		kfree_skb(skb);
	}
	/* Also if the queue was full: while exec_rx_now() had the lock, another CPU may
	 * have recorded an event and failed to get it.
	 */
	exec_record_and_run(exec, side);
}

void cairn_exec_rx(struct cairn_exec *exec, enum cairn_side_id side,
		   struct sk_buff *skb)
{
	if (exec_rx_now(exec, side, skb))
		consume_skb(skb);
	else
		exec_rx_later(exec, side, skb);
}

void cairn_exec_rx_part(struct cairn_exec *exec, enum cairn_side_id side,
			struct sk_buff *skb)
{
	struct sk_buff *clone;

	if (exec_rx_now(exec, side, skb))
		return;
	clone = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (clone) {
		exec_rx_later(exec, side, clone);
		return;
	}
	exec_count_overflow(exec, skb);
	/* Events that were recorded while exec_rx_now() had the lock still need a run. */
	exec_record_and_run(exec, side);
}

/* Was @parcel sent by the peer of the connection? */
static bool exec_is_from(const struct cairn_exec *exec, enum cairn_side_id side,
			 const struct cairn_parcel *parcel)
{
	return cairn_path_is_reverse(&exec->path[side], parcel->path,
				     parcel->ifindex);
}

/* Read packet @k. Return: false if it is malformed and counted: it is dropped. */
static bool exec_read_parcel(struct cairn_exec *exec,
			     struct cairn_parcel *parcel, u32 k,
			     struct cairn_pkt *pkt)
{
	if (cairn_train_read(pkt, parcel->train, k)) {
		cairn_nic_count(exec->nic, CAIRN_CTR_RX_MALFORMED, 1);
		return false;
	}
	pkt->ce = false;
	pkt->flow = (__force u16)parcel->path->sport;
	pkt->cookie = parcel;
	pkt->base = k * parcel->train->seg;
	pkt->handed = true;
	pkt->sender = parcel->path->qpn;
	return true;
}

static void exec_rx_responses(struct cairn_exec *exec,
			      struct cairn_parcel *parcel)
{
	u64 now = cairn_clock_now();
	struct cairn_pkt pkt;
	u32 k;

	lockdep_assert_held(&exec->side[CAIRN_REQ].lock);
	for (k = 0; k < parcel->train->count; k++)
		if (exec_read_parcel(exec, parcel, k, &pkt)) {
			trace_cairn_received(exec, CAIRN_REQ, &pkt);
			cairn_comp_rx(exec->qpc, &pkt, now);
		}
}

/* Receives and fences, because the run that answers may be on another CPU. It is a
 * function of its own so that scripts/check/fence.py can check that it fences.
 */
static void exec_rx_requests(struct cairn_exec *exec,
			     struct cairn_parcel *parcel)
{
	u64 now = cairn_clock_now();
	struct cairn_pkt pkt;
	u32 k;

	lockdep_assert_held(&exec->side[CAIRN_RESP].lock);
	for (k = 0; k < parcel->train->count; k++)
		if (exec_read_parcel(exec, parcel, k, &pkt)) {
			trace_cairn_received(exec, CAIRN_RESP, &pkt);
			cairn_resp_rx(exec->qpc, &pkt, now);
		}
	cairn_resp_settle(exec->qpc);
}

/* Count as a run of the receiver's device too, whose memory is accessed. */
static void exec_rx_parcel(struct cairn_exec *exec, enum cairn_side_id side,
			   struct cairn_parcel *parcel)
{
	struct cairn_epoch *epoch = &exec->nic->epoch;
	u32 tag = cairn_epoch_enter(epoch, exec->qpc->qpn);

	lockdep_assert_held(&exec->side[side].lock);
	if (side == CAIRN_REQ)
		exec_rx_responses(exec, parcel);
	else
		exec_rx_requests(exec, parcel);
	cairn_epoch_leave(epoch, tag);
}

/* Can the packets be received from the sender's memory? Not if other packets are
 * queued before them, or if they may have to be kept.
 */
static bool exec_takes(const struct cairn_exec *exec, enum cairn_side_id side,
		       const struct cairn_parcel *parcel)
{
	lockdep_assert_held(&exec->side[side].lock);
	if (cairn_drain_elsewhere(&exec->side[side]) ||
	    !skb_queue_empty_lockless(&exec->side[side].rxq))
		return false;
	return side == CAIRN_REQ ||
	       cairn_resp_in_step(exec->qpc, parcel->train->first.psn);
}

bool cairn_exec_hand(struct cairn_exec *exec, enum cairn_side_id side,
		     struct cairn_parcel *parcel)
{
	struct cairn_exec_side *state = &exec->side[side];
	bool taken;

	if (!exec->path || !exec_in_run() ||
	    !spin_trylock(&state->lock))
		return false;
	taken = exec_takes(exec, side, parcel);
	if (taken && exec_is_from(exec, side, parcel))
		exec_rx_parcel(exec, side, parcel);
	else if (taken)
		cairn_nic_count(exec->nic, CAIRN_CTR_RX_WRONG_QP,
				parcel->train->count);
	exec_record(state);
	exec_unlock_side(state);
	/* Also if not taken: another CPU may have recorded an event while the lock was
	 * held here, and failed to get it.
	 */
	exec_hand_on(state);
	return taken;
}

void cairn_exec_hand_copy(struct cairn_exec *exec, enum cairn_side_id side,
			  struct sk_buff *skb)
{
	struct cairn_exec_side *state = &exec->side[side];

	if (skb && !exec_rxq_add(state, skb)) {
		exec_count_overflow(exec, skb);
		kfree_skb(skb);
	}
	exec_record(state);
	exec_hand_on(state);
}

void cairn_exec_rx_copy(struct cairn_exec *exec, enum cairn_side_id side,
			struct sk_buff *skb)
{
	struct sk_buff *clone = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);

	if (clone)
		cairn_exec_hand_copy(exec, side, clone);
	else
		exec_count_overflow(exec, skb);
}

u32 cairn_exec_release(struct cairn_exec *exec, const u64 *tokens, u32 count,
		       u32 status)
{
	struct cairn_exec_side *state = &exec->side[CAIRN_RESP];
	u32 refused = 0, i;

	spin_lock(&state->lock);
	for (i = 0; i < count; i++)
		if (cairn_resp_release(exec->qpc, tokens[i], status))
			refused++;
	exec_record(state);
	exec_unlock_side(state);
	exec_hand_on(state);
	return refused;
}

void cairn_exec_prefetch_head(const struct cairn_exec *exec)
{
	prefetchw(exec);
}

void cairn_exec_prefetch(const struct cairn_exec *exec,
			 enum cairn_side_id side)
{
	const struct cairn_exec_side *state = &exec->side[side];

	prefetchw(&state->lock);
	prefetchw(&state->timer);
	cairn_env_prefetch(exec->qpc, side);
	if (exec->path) {
		prefetch(&exec->path[side]);
		prefetch(&exec->path[side].dst);
	}
	if (side == CAIRN_REQ)
		cairn_req_prefetch(exec->qpc);
	else
		cairn_resp_prefetch(exec->qpc);
}

void cairn_exec_lock(struct cairn_exec *exec)
	__acquires(RCU)
	__acquires(&exec->side[CAIRN_REQ].lock)
	__acquires(&exec->side[CAIRN_RESP].lock)
{
	cairn_cpu_lock();
	rcu_read_lock();
	spin_lock(&exec->side[CAIRN_REQ].lock);
	spin_lock(&exec->side[CAIRN_RESP].lock);
}

void cairn_exec_unlock(struct cairn_exec *exec)
	__releases(&exec->side[CAIRN_RESP].lock)
	__releases(&exec->side[CAIRN_REQ].lock)
	__releases(RCU)
{
	unsigned int side;

	spin_unlock(&exec->side[CAIRN_RESP].lock);
	exec_unlock_side(&exec->side[CAIRN_REQ]);	/* B, for both sides */
	for (side = 0; side < CAIRN_SIDES; side++)
		if (READ_ONCE(exec->side[side].events))
			cairn_lane_ready(exec, side);
	rcu_read_unlock();
	cairn_cpu_unlock();
}

u32 cairn_exec_max_waiting(void)
{
	u64 parts = ((u64)totalram_pages() << PAGE_SHIFT) / 8 / CAIRN_RXQ_PART;

	return clamp_t(u64, parts, CAIRN_MIN_WAITING, CAIRN_MAX_WAITING);
}

void cairn_exec_init(struct cairn_exec *exec, struct cairn_qpc *qpc,
		     struct cairn_nic *nic)
{
	unsigned int i;

	exec->qpc = qpc;
	exec->nic = nic;
	/* Two calls, so that each lock has its own lockdep class. */
	spin_lock_init(&exec->side[CAIRN_REQ].lock);
	spin_lock_init(&exec->side[CAIRN_RESP].lock);
	for (i = 0; i < CAIRN_SIDES; i++) {
		skb_queue_head_init(&exec->side[i].rxq);
		INIT_LIST_HEAD(&exec->side[i].drain);
		exec->side[i].drain_cpu = CAIRN_NOT_DRAINING;
		exec->side[i].exec = exec;
		cairn_wheel_init_entry(&exec->side[i].timer);
	}
	cairn_hold_init(&exec->hold);
	atomic_set(&exec->draining, 0);
}

static void exec_rxq_purge(struct cairn_exec_side *state)
{
	skb_queue_purge(&state->rxq);
	spin_lock_bh(&state->rxq.lock);
	state->rxq_bytes = 0;
	exec_rxq_give_parts(state, 0);
	spin_unlock_bh(&state->rxq.lock);
}

void cairn_exec_stop(struct cairn_exec *exec)
{
	unsigned int side;

	cairn_lane_leave(exec);
	/* The side whose binding ends last now wakes this function. */
	atomic_add(CAIRN_DRAIN_AWAITED, &exec->draining);
	/* Pairs with drain_finish(): its run is over, and what it kept is seen below. */
	wait_var_event(&exec->draining, atomic_read_acquire(&exec->draining) ==
						CAIRN_DRAIN_AWAITED);
	for (side = 0; side < CAIRN_SIDES; side++)
		exec_rxq_purge(&exec->side[side]);
	cairn_hold_purge(exec);
	cairn_watch_put(exec->watch, exec->id);
}
