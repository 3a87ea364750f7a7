// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/ktime.h>
#include <linux/slab.h>
#include "compat/hrtimer.h"
#include "device/cpu.h"
#include "fault/delay.h"

struct delay_held {
	struct list_head node;
	struct sk_buff *skb;
	struct cairn_delay_place place;
	bool swap;
	ktime_t due;
};

static void delay_unlink(struct cairn_delays *delays, struct delay_held *held)
{
	lockdep_assert_held(&delays->lock);
	list_del(&held->node);
	delays->num--;
	delays->swaps -= held->swap;
}

/* The timer expires when the first packet is due. */
static void delay_arm(struct cairn_delays *delays)
{
	struct delay_held *first;

	lockdep_assert_held(&delays->lock);
	first = list_first_entry_or_null(&delays->held, struct delay_held, node);
	if (first)
		hrtimer_start(&delays->timer, first->due, HRTIMER_MODE_ABS_SOFT);
}

static struct delay_held *delay_take_due(struct cairn_delays *delays, ktime_t now)
{
	struct delay_held *first;

	spin_lock(&delays->lock);
	first = list_first_entry_or_null(&delays->held, struct delay_held, node);
	if (first && ktime_after(first->due, now))
		first = NULL;
	if (first)
		delay_unlink(delays, first);
	else
		delay_arm(delays);
	spin_unlock(&delays->lock);
	return first;
}

static void delay_go(struct cairn_delays *delays, struct delay_held *held)
{
	held->place.go(delays->nic, held->skb);
	kfree(held);
}

static enum hrtimer_restart delay_expired(struct hrtimer *timer)
{
	struct cairn_delays *delays =
		container_of(timer, struct cairn_delays, timer);
	ktime_t now = ktime_get();
	struct delay_held *held;

	cairn_cpu_lock();
	rcu_read_lock();
	while ((held = delay_take_due(delays, now)))
		delay_go(delays, held);
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
	delays->swaps += held->swap;
	if (before == &delays->held)
		delay_arm(delays);
}

bool cairn_delay_hold(struct cairn_delays *delays, struct sk_buff *skb,
		      const struct cairn_delay_place *place, u32 us)
{
	struct delay_held *held = kmalloc(sizeof(*held), GFP_ATOMIC | __GFP_NOWARN);
	bool room;

	cairn_cpu_assert_locked();
	if (!held)
		return false;
	held->skb = skb;
	held->place = *place;
	held->swap = !us;
	held->due = ktime_add_us(ktime_get(), us ? us : CAIRN_DELAY_SWAP_US);
	spin_lock(&delays->lock);
	room = delays->num < CAIRN_DELAY_PACKETS;
	if (room)
		delay_insert(delays, held);
	spin_unlock(&delays->lock);
	if (!room)
		kfree(held);
	return room;
}

static struct delay_held *delay_find_swap(struct cairn_delays *delays,
					  const struct cairn_delay_place *place)
{
	struct delay_held *held;

	lockdep_assert_held(&delays->lock);
	if (!delays->swaps)
		return NULL;
	list_for_each_entry(held, &delays->held, node)
		if (held->swap && held->place.qpn == place->qpn &&
		    held->place.direction == place->direction)
			return held;
	return NULL;
}

static struct delay_held *delay_take_swap(struct cairn_delays *delays,
					  const struct cairn_delay_place *place)
{
	struct delay_held *held;

	spin_lock(&delays->lock);
	held = delay_find_swap(delays, place);
	if (held)
		delay_unlink(delays, held);
	spin_unlock(&delays->lock);
	return held;
}

void cairn_delay_passed(struct cairn_delays *delays,
			const struct cairn_delay_place *place)
{
	struct delay_held *held;

	cairn_cpu_assert_locked();
	while ((held = delay_take_swap(delays, place)))
		delay_go(delays, held);
}

void cairn_delay_stop(struct cairn_delays *delays)
{
	struct delay_held *held, *next;
	LIST_HEAD(list);

	spin_lock_bh(&delays->lock);
	list_splice_init(&delays->held, &list);
	delays->num = 0;
	delays->swaps = 0;
	spin_unlock_bh(&delays->lock);
	hrtimer_cancel(&delays->timer);
	list_for_each_entry_safe(held, next, &list, node) {
		kfree_skb(held->skb);
		kfree(held);
	}
}
