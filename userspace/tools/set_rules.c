// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "profile_file.h"
#include "set_rules.h"

#define SET_RULES_ANSWERS	"READ_RESP+ACK+ATOMIC_ACK+PERSIST_ACK"

static void __attribute__((format(printf, 2, 3)))
set_rules_add(struct set_rules *rules, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(rules->faults[rules->num++].rule, CAIRNDV_FAULT_TEXT, format, args);
	va_end(args);
}

/* The first rule that hits a packet counts. */
void set_rules_wanted(struct set_rules *wanted, const struct cairn_profile *profile)
{
	wanted->num = 0;
	if (*profile->loss)
		set_rules_add(wanted, "sent:chance=%s", profile->loss);
	if (profile->ack_delay_us)
		set_rules_add(wanted, "sent:act=delay,time=%uus,opcode=" SET_RULES_ANSWERS,
			      profile->latency_us + profile->ack_delay_us);
	if (profile->latency_us)
		set_rules_add(wanted, "sent:act=delay,time=%uus", profile->latency_us);
}

void set_rules_recorded(struct set_rules *recorded, FILE *choice)
{
	const size_t begin = strlen(SET_RULES_LINE);
	char line[CAIRNDV_FAULT_TEXT + 16];

	recorded->num = 0;
	while (recorded->num < CAIRNDV_FAULT_RULES && fgets(line, sizeof(line), choice) &&
	       !strncmp(line, SET_RULES_LINE, begin)) {
		line[strcspn(line, "\n")] = '\0';
		set_rules_add(recorded, "%s", line + begin);
	}
}

static bool set_rules_take(struct set_rules *rules, const char *rule)
{
	unsigned int i;

	for (i = 0; i < rules->num; i++)
		if (!strcmp(rules->faults[i].rule, rule))
			break;
	if (i == rules->num)
		return false;
	rules->num--;
	memmove(rules->faults + i, rules->faults + i + 1,
		(rules->num - i) * sizeof(rules->faults[0]));
	return true;
}

static int set_rules_add_all(struct ibv_context *ctx, const struct set_rules *rules)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < rules->num && !err; i++)
		err = cairndv_fault_add(ctx, rules->faults[i].rule);
	return err;
}

static int set_rules_list(struct ibv_context *ctx, struct set_rules *rules)
{
	rules->num = CAIRNDV_FAULT_RULES;
	return cairndv_fault_list(ctx, rules->faults, &rules->num);
}

/* All rules of the device become @kept and then @more. Return: 0, or an errno; then they are
 * @before.
 */
static int set_rules_replace(struct ibv_context *ctx, const struct set_rules *before,
			     const struct set_rules *kept, const struct set_rules *more)
{
	int err = 0;

	if (kept->num != before->num) {
		err = cairndv_fault_clear(ctx);
		if (err)
			return err;
		err = set_rules_add_all(ctx, kept);
	}
	if (!err)
		err = set_rules_add_all(ctx, more);
	if (err && !cairndv_fault_clear(ctx))
		set_rules_add_all(ctx, before);
	return err;
}

int set_rules_swap(struct ibv_context *ctx, struct set_rules *ours,
		   const struct set_rules *wanted)
{
	static struct set_rules before, kept;
	unsigned int i;
	int err;

	if (!ours->num && !wanted->num)
		return 0;
	err = set_rules_list(ctx, &before);
	if (err)
		return err;
	kept = before;
	for (i = 0; i < ours->num; i++)
		set_rules_take(&kept, ours->faults[i].rule);
	err = set_rules_replace(ctx, &before, &kept, wanted);
	if (!err)
		err = set_rules_list(ctx, ours);
	for (i = 0; !err && i < kept.num; i++)
		set_rules_take(ours, kept.faults[i].rule);
	return err;
}
