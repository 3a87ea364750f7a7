/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets of a device that wait: for a time, or until the next one of their queue pair
 * has passed, but not longer than CAIRN_DELAY_SWAP_US. They are copies, as in a network,
 * so their queue pair may end meanwhile. They end with the device.
 */
#ifndef CAIRN_FAULT_DELAY_H
#define CAIRN_FAULT_DELAY_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include "fault/match.h"

struct cairn_nic;

#define CAIRN_DELAY_PACKETS	256	/* of one device */
#define CAIRN_DELAY_SWAP_US	100000

/* Sends or receives a packet that has waited. Below cairn_cpu_lock(), RCU read section. */
typedef void (*cairn_delay_fn)(struct cairn_nic *nic, struct sk_buff *skb);

struct cairn_delays {
	struct cairn_nic *nic;
	spinlock_t lock;		/* BH off */
	struct list_head held;		/* by due time */
	u32 num;
	struct hrtimer timer;
};

void cairn_delay_init(struct cairn_delays *delays, struct cairn_nic *nic);

/**
 * cairn_delay_hold() - keep a packet for a time
 * @delays: of the device
 * @skb: the packet; has references to all that it needs
 * @pkt: its queue pair and direction
 * @us: microseconds; 0: until cairn_delay_passed() for these
 * @go: takes it afterwards
 *
 * Context: below cairn_cpu_lock().
 * Return: false without room or memory: the caller still has the packet.
 */
bool cairn_delay_hold(struct cairn_delays *delays, struct sk_buff *skb,
		      const struct cairn_match_packet *pkt, u32 us,
		      cairn_delay_fn go);

/* A packet has passed: those of its queue pair and direction that waited for it go on.
 * Below cairn_cpu_lock(), RCU read section.
 */
void cairn_delay_passed(struct cairn_delays *delays,
			const struct cairn_match_packet *pkt);

/* Free all that wait now; no timer runs afterwards. Process context, sleeps. */
void cairn_delay_stop(struct cairn_delays *delays);

#endif
