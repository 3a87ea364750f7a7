// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "device/cpu.h"
#include "fault/rules.h"

/* Made with the first rule of a device; freed with the device, so readers need no
 * reference.
 */
struct cairn_faults {
	spinlock_t lock;		/* for the state of the rules; BH off */
	u32 num;			/* of rules; written under rules_mutex, too */
	struct cairn_match rules[CAIRN_FAULT_RULES];
	struct cairn_delays delays;
};

/* Counts the devices with rules. A change of the code interrupts all CPUs, and rules are
 * not for the administrator of the host only: the key is off a second later.
 */
DEFINE_STATIC_KEY_DEFERRED_FALSE(cairn_fault_key, HZ);

/* For changes; a change of the static key takes locks of the CPUs below it. */
static DEFINE_MUTEX(rules_mutex);

bool cairn_fault_any(const struct cairn_nic *nic)
{
	/* Pairs with rules_of(). */
	const struct cairn_faults *faults = smp_load_acquire(&nic->faults);

	return faults && READ_ONCE(faults->num);
}

/* Give the device @fresh, unless it has rules already. Return: NULL: it has none. */
static struct cairn_faults *rules_of(struct cairn_nic *nic,
				     struct cairn_faults **fresh)
{
	lockdep_assert_held(&rules_mutex);
	if (nic->faults || !*fresh)
		return nic->faults;
	spin_lock_init(&(*fresh)->lock);
	cairn_delay_init(&(*fresh)->delays, nic);
	/* Pairs with cairn_fault_any() and cairn_fault_list(). */
	smp_store_release(&nic->faults, *fresh);
	*fresh = NULL;
	return nic->faults;
}

static int rules_add(struct cairn_faults *faults,
		     const struct cairn_fault_rule *rule)
{
	u32 num = faults->num;

	lockdep_assert_held(&rules_mutex);
	if (num == CAIRN_FAULT_RULES)
		return -ENOSPC;
	spin_lock_bh(&faults->lock);
	cairn_match_init(&faults->rules[num], rule, ktime_get_ns());
	WRITE_ONCE(faults->num, num + 1);
	spin_unlock_bh(&faults->lock);
	if (!num)
		static_branch_deferred_inc(&cairn_fault_key);
	return 0;
}

/* Allocate before taking the mutex: in a full memcg the allocation may take long, and
 * devices that are removed wait for the mutex.
 */
int cairn_fault_add(struct cairn_nic *nic, const struct cairn_fault_rule *rule)
{
	struct cairn_faults *faults, *fresh;
	int err = cairn_match_check(rule);

	if (err)
		return err;
	fresh = READ_ONCE(nic->faults) ? NULL :
		kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	mutex_lock(&rules_mutex);
	faults = rules_of(nic, &fresh);
	err = faults ? rules_add(faults, rule) : -ENOMEM;
	mutex_unlock(&rules_mutex);
	kfree(fresh);
	return err;
}

void cairn_fault_clear(struct cairn_nic *nic)
{
	struct cairn_faults *faults;
	u32 num = 0;

	mutex_lock(&rules_mutex);
	faults = nic->faults;
	if (faults) {
		spin_lock_bh(&faults->lock);
		num = faults->num;
		WRITE_ONCE(faults->num, 0);
		spin_unlock_bh(&faults->lock);
	}
	if (num)
		static_branch_slow_dec_deferred(&cairn_fault_key);
	mutex_unlock(&rules_mutex);
}

void cairn_fault_list(struct cairn_nic *nic, struct cairn_fault_list *list)
{
	/* Pairs with rules_of(). */
	struct cairn_faults *faults = smp_load_acquire(&nic->faults);
	u32 i;

	if (!faults)
		return;
	spin_lock_bh(&faults->lock);
	list->num = faults->num;
	for (i = 0; i < faults->num; i++) {
		list->rules[i].rule = faults->rules[i].rule;
		list->rules[i].seen = faults->rules[i].seen;
		list->rules[i].hits = faults->rules[i].hits;
	}
	spin_unlock_bh(&faults->lock);
}

void cairn_fault_stop(struct cairn_nic *nic)
{
	cairn_fault_clear(nic);
	if (nic->faults)
		cairn_delay_stop(&nic->faults->delays);
}

void cairn_fault_free(struct cairn_nic *nic)
{
	cairn_fault_stop(nic);
	kfree(nic->faults);
}

void cairn_fault_exit(void)
{
	static_key_deferred_flush(&cairn_fault_key);
}

struct cairn_delays *cairn_fault_delays(struct cairn_nic *nic)
{
	return &nic->faults->delays;
}

struct cairn_fault_hit cairn_fault_meet(struct cairn_nic *nic,
					const struct cairn_match_packet *pkt)
{
	struct cairn_faults *faults = nic->faults;
	struct cairn_fault_hit hit = {};
	u32 i;

	cairn_cpu_assert_locked();
	spin_lock(&faults->lock);
	for (i = 0; i < faults->num && !hit.act; i++) {
		const struct cairn_fault_rule *rule = &faults->rules[i].rule;

		if (!cairn_match_hit(&faults->rules[i], pkt, ktime_get_ns()))
			continue;
		hit.act = rule->act;
		hit.delay_us = rule->delay_us;
		hit.refuse = cairn_match_refuse(rule);
	}
	spin_unlock(&faults->lock);
	return hit;
}
