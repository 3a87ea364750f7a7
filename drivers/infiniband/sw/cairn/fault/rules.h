/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Faults on demand: the rules of a device, by which its packets are lost, damaged and so
 * on (cairn_fault(8)). A device with rules sends its packets one by one, and no packet to
 * or from it is handed over, so each one passes both hooks: cairn_net_xmit() and the
 * receive path. Without a rule on any device the hooks are no-ops (a static key).
 */
#ifndef CAIRN_FAULT_RULES_H
#define CAIRN_FAULT_RULES_H

#include <linux/jump_label_ratelimit.h>
#include "device/nic.h"
#include "fault/delay.h"
#include "fault/match.h"

extern struct static_key_false_deferred cairn_fault_key;

/* The fate of a packet. */
struct cairn_fault_hit {
	u8 act;		/* enum cairn_fault_acts; 0: let it pass */
	u8 refuse;	/* as cairn_pkt.refuse, of a received one */
	u32 delay_us;
};

/* May there be a rule? Any context. */
static inline bool cairn_fault_possible(void)
{
	return static_branch_unlikely(&cairn_fault_key.key);
}

/* Does the device have rules? Any context. */
bool cairn_fault_any(const struct cairn_nic *nic);

static inline bool cairn_fault_on(const struct cairn_nic *nic)
{
	return cairn_fault_possible() && cairn_fault_any(nic);
}

/* Does one of the two devices have rules? Any context. */
static inline bool cairn_fault_between(const struct cairn_nic *from,
				       const struct cairn_nic *to)
{
	return cairn_fault_possible() &&
	       (cairn_fault_any(from) || cairn_fault_any(to));
}

/**
 * cairn_fault_add() - add a rule behind those that the device has
 * @nic: the device
 * @rule: of a process; not for CAIRN_FAULT_NOW
 *
 * Context: process, sleeps.
 * Return: 0; -EINVAL: not a rule; -ENOSPC: CAIRN_FAULT_RULES are there; -ENOMEM.
 */
int cairn_fault_add(struct cairn_nic *nic, const struct cairn_fault_rule *rule);

/* Remove all rules of the device. Process context, sleeps. */
void cairn_fault_clear(struct cairn_nic *nic);

/* Fill in @list, which is zeroed, with rules and counts. Process context. */
void cairn_fault_list(struct cairn_nic *nic, struct cairn_fault_list *list);

/* Remove the rules, and free the packets that wait: those that were sent have routes of
 * the namespace. The device has no queue pairs any more. Process context, sleeps.
 */
void cairn_fault_stop(struct cairn_nic *nic);

/* Free all. No packets are received for the device any more. Process context, sleeps. */
void cairn_fault_free(struct cairn_nic *nic);

/* When the module goes: no device has rules. Process context, sleeps. */
void cairn_fault_exit(void);

/**
 * cairn_fault_meet() - count a packet for the rules, and apply the first that hits
 * @nic: the device, with cairn_fault_on()
 * @pkt: the packet
 *
 * Context: below cairn_cpu_lock().
 * Return: what to do with it.
 */
struct cairn_fault_hit cairn_fault_meet(struct cairn_nic *nic,
					const struct cairn_match_packet *pkt);

/* The packets of a device with cairn_fault_on() that wait. */
struct cairn_delays *cairn_fault_delays(struct cairn_nic *nic);

#endif
