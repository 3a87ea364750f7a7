// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_rules.h"
#include "text.h"

#define RULES_MAX	32
#define RULES_TEXT	4096	/* bytes */

struct rule {
	enum cairn_rules_target target;
	uint64_t nth;		/* of this call; 0: any */
	uint64_t every;		/* of its multiples; 0: any */
	double chance;		/* 1: always */
	int result;
};

static const struct cairn_text_name rules_targets[] = {
	{ "alloc_dm", CAIRN_RULES_ALLOC_DM },
	{ "alloc_mw", CAIRN_RULES_ALLOC_MW },
	{ "alloc_null_mr", CAIRN_RULES_ALLOC_NULL_MR },
	{ "alloc_parent_domain", CAIRN_RULES_ALLOC_PARENT_DOMAIN },
	{ "alloc_pd", CAIRN_RULES_ALLOC_PD },
	{ "alloc_td", CAIRN_RULES_ALLOC_TD },
	{ "attach_mcast", CAIRN_RULES_ATTACH_MCAST },
	{ "bind_mw", CAIRN_RULES_BIND_MW },
	{ "create_ah", CAIRN_RULES_CREATE_AH },
	{ "create_cq", CAIRN_RULES_CREATE_CQ },
	{ "create_qp", CAIRN_RULES_CREATE_QP },
	{ "create_srq", CAIRN_RULES_CREATE_SRQ },
	{ "modify_cq", CAIRN_RULES_MODIFY_CQ },
	{ "modify_qp", CAIRN_RULES_MODIFY_QP },
	{ "modify_qp_rate_limit", CAIRN_RULES_MODIFY_QP_RATE_LIMIT },
	{ "modify_srq", CAIRN_RULES_MODIFY_SRQ },
	{ "open_qp", CAIRN_RULES_OPEN_QP },
	{ "open_xrcd", CAIRN_RULES_OPEN_XRCD },
	{ "persist", CAIRN_RULES_PERSIST },
	{ "post_recv", CAIRN_RULES_POST_RECV },
	{ "post_send", CAIRN_RULES_POST_SEND },
	{ "post_srq_recv", CAIRN_RULES_POST_SRQ_RECV },
	{ "query_device", CAIRN_RULES_QUERY_DEVICE },
	{ "query_port", CAIRN_RULES_QUERY_PORT },
	{ "query_qp", CAIRN_RULES_QUERY_QP },
	{ "query_srq", CAIRN_RULES_QUERY_SRQ },
	{ "reg_dm_mr", CAIRN_RULES_REG_DM_MR },
	{ "reg_dmabuf_mr", CAIRN_RULES_REG_DMABUF_MR },
	{ "reg_mr", CAIRN_RULES_REG_MR },
	{ "req_notify_cq", CAIRN_RULES_REQ_NOTIFY_CQ },
	{ "rereg_mr", CAIRN_RULES_REREG_MR },
	{ "resize_cq", CAIRN_RULES_RESIZE_CQ },
	{ "cq_overrun", CAIRN_RULES_CQ_OVERRUN }, { "power_cut", CAIRN_RULES_POWER_CUT },
	{ "recv", CAIRN_RULES_RECV }, { "send", CAIRN_RULES_SEND },
	{}
};

static const struct cairn_text_name rules_errors[] = {
	{ "EACCES", EACCES }, { "EAGAIN", EAGAIN }, { "EBUSY", EBUSY },
	{ "EFAULT", EFAULT }, { "EINTR", EINTR }, { "EINVAL", EINVAL }, { "EIO", EIO },
	{ "ENETUNREACH", ENETUNREACH }, { "ENODEV", ENODEV }, { "ENOMEM", ENOMEM },
	{ "ENOSPC", ENOSPC }, { "EOPNOTSUPP", EOPNOTSUPP }, { "EPERM", EPERM },
	{ "ETIMEDOUT", ETIMEDOUT },
	{}
};

static const struct cairn_text_name rules_statuses[] = {
	{ "BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR }, { "FATAL_ERR", IBV_WC_FATAL_ERR },
	{ "GENERAL_ERR", IBV_WC_GENERAL_ERR }, { "LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR },
	{ "LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR }, { "LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR },
	{ "LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR }, { "MW_BIND_ERR", IBV_WC_MW_BIND_ERR },
	{ "REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR },
	{ "REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR },
	{ "REM_OP_ERR", IBV_WC_REM_OP_ERR }, { "RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR },
	{ "RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR },
	{ "WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR },
	{}
};

/* Written when a device is opened. Counters are atomic. */
static struct rule rules[RULES_MAX];
static size_t rules_used;
static uint64_t rules_seed;
static bool rules_say;
static uint64_t rules_calls[CAIRN_RULES_TARGETS];

/* Return: the value of @name, or -1. */
static int rules_value(const struct cairn_text_name *names, const char *name)
{
	const struct cairn_text_name *found = cairn_text_find(names, name);

	return found ? found->value : -1;
}

static bool rules_number(const char *text, uint64_t *number)
{
	return cairn_text_number(text, 10, UINT64_MAX, number);
}

static bool rules_chance(const char *text, double *chance)
{
	char *end;

	*chance = strtod(text, &end);
	return end != text && !*end && *chance >= 0 && *chance <= 1;
}

/* Whether a hit has an error or a status. */
static bool rules_ends(enum cairn_rules_target target)
{
	return target != CAIRN_RULES_CQ_OVERRUN && target != CAIRN_RULES_POWER_CUT;
}

/* nth=, every=, chance=, error= (of a verb) or status= (of completions) */
static bool rules_option(struct rule *rule, char *option)
{
	bool verb = rule->target < CAIRN_RULES_VERBS;
	char *value = strchr(option, '=');

	if (!value)
		return false;
	*value++ = '\0';
	if (!strcmp(option, "nth"))
		return rules_number(value, &rule->nth) && rule->nth;
	if (!strcmp(option, "every"))
		return rules_number(value, &rule->every) && rule->every;
	if (!strcmp(option, "chance"))
		return rules_chance(value, &rule->chance);
	if (rules_ends(rule->target) && !strcmp(option, verb ? "error" : "status")) {
		rule->result = rules_value(verb ? rules_errors : rules_statuses, value);
		return rule->result > 0;
	}
	return false;
}

static bool rules_add(char *text)
{
	char *options = strchr(text, ':'), *option, *place;
	struct rule rule = { .chance = 1 };
	int target;

	if (!strncmp(text, "seed=", 5))
		return rules_number(text + 5, &rules_seed);
	if (!strcmp(text, "say")) {
		rules_say = true;
		return true;
	}
	if (options)
		*options++ = '\0';
	target = rules_value(rules_targets, text);
	if (target < 0 || rules_used == RULES_MAX)
		return false;
	rule.target = (enum cairn_rules_target)target;
	rule.result = rule.target == CAIRN_RULES_PERSIST ? EIO :
		      rule.target < CAIRN_RULES_VERBS ? ENOMEM : IBV_WC_RETRY_EXC_ERR;
	option = options ? strtok_r(options, ",", &place) : NULL;
	for (; option; option = strtok_r(NULL, ",", &place))
		if (!rules_option(&rule, option))
			return false;
	rules[rules_used++] = rule;
	return true;
}

int cairn_rules_read(const char *text)
{
	char copy[RULES_TEXT], word[RULES_TEXT], *rule, *place;

	rules_used = 0;
	rules_seed = 0;
	rules_say = false;
	memset(rules_calls, 0, sizeof(rules_calls));
	if (strlen(text) >= sizeof(copy)) {
		fprintf(stderr, "cairn-fault: CAIRN_FAULT is longer than %d bytes\n",
			RULES_TEXT - 1);
		return EINVAL;
	}
	strcpy(copy, text);
	rule = strtok_r(copy, "; \t\n", &place);
	for (; rule; rule = strtok_r(NULL, "; \t\n", &place)) {
		strcpy(word, rule);
		if (rules_add(rule))
			continue;
		fprintf(stderr, "cairn-fault: CAIRN_FAULT: '%s' is no rule, see cairn_fault(7)\n",
			word);
		rules_used = 0;
		return EINVAL;
	}
	return 0;
}

/* splitmix64 of the seed, the rule and the call: the same in each run. */
static double rules_random(size_t rule, uint64_t call)
{
	uint64_t mix = (rules_seed + 1) * 0x9e3779b97f4a7c15 + call * 0xd1342543de82ef95 + rule;

	mix = (mix ^ (mix >> 30)) * 0xbf58476d1ce4e5b9;
	mix = (mix ^ (mix >> 27)) * 0x94d049bb133111eb;
	return (double)((mix ^ (mix >> 31)) >> 11) / (double)(1ULL << 53);
}

static bool rules_match(const struct rule *rule, uint64_t call)
{
	if (rule->nth && call != rule->nth)
		return false;
	if (rule->every && call % rule->every)
		return false;
	return rule->chance >= 1 || rules_random((size_t)(rule - rules), call) < rule->chance;
}

int cairn_rules_hit(enum cairn_rules_target target)
{
	uint64_t call = __atomic_add_fetch(&rules_calls[target], 1, __ATOMIC_RELAXED);
	bool verb = target < CAIRN_RULES_VERBS;

	for (size_t i = 0; i < rules_used; i++) {
		const struct rule *rule = &rules[i];

		if (rule->target != target || !rules_match(rule, call))
			continue;
		if (rules_say && !rules_ends(target))
			fprintf(stderr, "cairn-fault: %s %llu\n",
				cairn_text_name(rules_targets, target), (unsigned long long)call);
		else if (rules_say)
			fprintf(stderr, "cairn-fault: %s %llu ends with %s\n",
				cairn_text_name(rules_targets, target), (unsigned long long)call,
				cairn_text_name(verb ? rules_errors : rules_statuses, rule->result));
		return rule->result;
	}
	return 0;
}

bool cairn_rules_have(enum cairn_rules_target target)
{
	size_t i = 0;

	while (i < rules_used && rules[i].target != target)
		i++;
	return i < rules_used;
}
