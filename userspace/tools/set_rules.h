/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The slow motion of a profile: fault rules of the device, among those of others. */
#ifndef CAIRN_SET_RULES_H
#define CAIRN_SET_RULES_H

#include <stdio.h>

#include <infiniband/cairndv.h>

struct cairn_profile;

#define SET_RULES_LINE	"#rule "	/* begins a line of a choice */

/* Fault rules of a device. */
struct set_rules {
	struct cairndv_fault faults[CAIRNDV_FAULT_RULES];
	unsigned int num;
};

/* The rules that a profile asks for. */
void set_rules_wanted(struct set_rules *wanted, const struct cairn_profile *profile);
/* The rules of a choice, as the device lists them: the lines at this place of the file. */
void set_rules_recorded(struct set_rules *recorded, FILE *choice);
/* Takes the rules of the profile before away, and adds those of the new one behind all others.
 * @ours: those before; then the new ones, as the device lists them. Return: 0, or an errno;
 * then the device has the rules that it had.
 */
int set_rules_swap(struct ibv_context *ctx, struct set_rules *ours,
		   const struct set_rules *wanted);

#endif /* CAIRN_SET_RULES_H */
