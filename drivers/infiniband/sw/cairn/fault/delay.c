// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/ktime.h>
#include <linux/slab.h>
#include "compat/hrtimer.h"
#include "device/cpu.h"
#include "fault/delay.h"

struct delay_held {
	struct list_head node;
	struct sk_buff *skb;
	cairn_delay_fn go;
	u32 qpn;
	u8 direction;
	bool swap;		/* with the next packet of its queue pair and direction */
	ktime_t due;
};

/* The timer expires when the first packet is due. */
static void delay_arm(struct cairn_delays *delays)
{
	struct delay_held *first;

	lockdep_assert_held(&delays->lock);
	first = list_first_entry_or_null(&delays->held, struct delay_held, node);
	if (first)
		hrtimer_start(&delays->timer, first->due, HRTIMER_MODE_ABS_SOFT);
}

static void delay_take(struct cairn_delays *delays, struct delay_held *held,
		       struct list_head *taken)
{
	lockdep_assert_held(&delays->lock);
	list_move_tail(&held->node, taken);
	delays->num--;
}

static void delay_go(struct cairn_delays *delays, struct list_head *taken)
{
	struct delay_held *held, *next;

	list_for_each_entry_safe(held, next, taken, node) {
		held->go(delays->nic, held->skb);
		kfree(held);
	}
}

static enum hrtimer_restart delay_expired(struct hrtimer *timer)
{
	struct cairn_delays *delays =
		container_of(timer, struct cairn_delays, timer);
	struct delay_held *held, *next;
	ktime_t now = ktime_get();
	LIST_HEAD(taken);

	cairn_cpu_lock();
	rcu_read_lock();
	spin_lock(&delays->lock);
	list_for_each_entry_safe(held, next, &delays->held, node) {
		if (ktime_after(held->due, now))
			break;
		delay_take(delays, held, &taken);
	}
	delay_arm(delays);
	spin_unlock(&delays->lock);
	delay_go(delays, &taken);
	rcu_read_unlock();
	cairn_cpu_unlock();
	return HRTIMER_NORESTART;
}

void cairn_delay_init(struct cairn_delays *delays, struct cairn_nic *nic)
{
	delays->nic = nic;
	spin_lock_init(&delays->lock);
	INIT_LIST_HEAD(&delays->held);
	hrtimer_setup(&delays->timer, delay_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

/* Behind all that are due at the same time. */
static void delay_insert(struct cairn_delays *delays, struct delay_held *held)
{
	struct list_head *before = delays->held.prev;

	lockdep_assert_held(&delays->lock);
	while (before != &delays->held &&
	       ktime_after(list_entry(before, struct delay_held, node)->due,
			   held->due))
		before = before->prev;
	list_add(&held->node, before);
	delays->num++;
	if (before == &delays->held)
		delay_arm(delays);
}

bool cairn_delay_hold(struct cairn_delays *delays, struct sk_buff *skb,
		      const struct cairn_match_packet *pkt, u32 us,
		      cairn_delay_fn go)
{
	struct delay_held *held = kmalloc(sizeof(*held), GFP_ATOMIC | __GFP_NOWARN);
	bool room;

	cairn_cpu_assert_locked();
	if (!held)
		return false;
	*held = (struct delay_held){
		.skb = skb,
		.go = go,
		.qpn = pkt->qpn,
		.direction = pkt->direction,
		.swap = !us,
		.due = ktime_add_us(ktime_get(), us ?: CAIRN_DELAY_SWAP_US),
	};
	spin_lock(&delays->lock);
	room = delays->num < CAIRN_DELAY_PACKETS;
	if (room)
		delay_insert(delays, held);
	spin_unlock(&delays->lock);
	if (!room)
		kfree(held);
	return room;
}

void cairn_delay_passed(struct cairn_delays *delays,
			const struct cairn_match_packet *pkt)
{
	struct delay_held *held, *next;
	LIST_HEAD(taken);

	cairn_cpu_assert_locked();
	spin_lock(&delays->lock);
	list_for_each_entry_safe(held, next, &delays->held, node)
		if (held->swap && held->qpn == pkt->qpn &&
		    held->direction == pkt->direction)
			delay_take(delays, held, &taken);
	spin_unlock(&delays->lock);
	delay_go(delays, &taken);
}

void cairn_delay_stop(struct cairn_delays *delays)
{
	struct delay_held *held, *next;
	LIST_HEAD(list);

	spin_lock_bh(&delays->lock);
	list_splice_init(&delays->held, &list);
	delays->num = 0;
	spin_unlock_bh(&delays->lock);
	hrtimer_cancel(&delays->timer);
	list_for_each_entry_safe(held, next, &list, node) {
		kfree_skb(held->skb);
		kfree(held);
	}
}
