// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
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

/*
 * The rules of one text. Readers have no lock, so a set that is in use does not change, but for
 * its counters, which are atomic; and it stays until the process ends.
 */
struct rules {
	struct rules *before;	/* those that it replaced */
	struct rule rule[RULES_MAX];
	size_t used;
	uint64_t seed;
	bool say;
	uint64_t calls[CAIRN_RULES_TARGETS];
	char text[];
};

static pthread_mutex_t rules_mutex = PTHREAD_MUTEX_INITIALIZER;	/* rules are replaced */
static struct rules *rules_now;		/* NULL: none */

/* Pairs with the release in cairn_rules_read(). */
static struct rules *rules_get(void)
{
	return __atomic_load_n(&rules_now, __ATOMIC_ACQUIRE);
}

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
		return cairn_text_chance(value, &rule->chance);
	if (rules_ends(rule->target) && !strcmp(option, verb ? "error" : "status")) {
		rule->result = rules_value(verb ? rules_errors : rules_statuses, value);
		return rule->result > 0;
	}
	return false;
}

static bool rules_add(struct rules *rules, char *text)
{
	char *options = strchr(text, ':'), *option, *place;
	struct rule rule = { .chance = 1 };
	int target;

	if (!strncmp(text, "seed=", 5))
		return rules_number(text + 5, &rules->seed);
	if (!strcmp(text, "say")) {
		rules->say = true;
		return true;
	}
	if (options)
		*options++ = '\0';
	target = rules_value(rules_targets, text);
	if (target < 0 || rules->used == RULES_MAX)
		return false;
	rule.target = (enum cairn_rules_target)target;
	rule.result = rule.target == CAIRN_RULES_PERSIST ? EIO :
		      rule.target < CAIRN_RULES_VERBS ? ENOMEM : IBV_WC_RETRY_EXC_ERR;
	option = options ? strtok_r(options, ",", &place) : NULL;
	for (; option; option = strtok_r(NULL, ",", &place))
		if (!rules_option(&rule, option))
			return false;
	rules->rule[rules->used++] = rule;
	return true;
}

static int rules_parse(struct rules *rules, const char *text)
{
	char copy[RULES_TEXT], word[RULES_TEXT], *rule, *place;

	strcpy(copy, text);
	rule = strtok_r(copy, "; \t\n", &place);
	for (; rule; rule = strtok_r(NULL, "; \t\n", &place)) {
		strcpy(word, rule);
		if (rules_add(rules, rule))
			continue;
		fprintf(stderr, "cairn-fault: CAIRN_FAULT: '%s' is no rule, see cairn_fault(7)\n",
			word);
		return EINVAL;
	}
	return 0;
}

int cairn_rules_read(const char *text)
{
	struct rules *rules;
	int err;

	if (strlen(text) >= RULES_TEXT) {
		fprintf(stderr, "cairn-fault: CAIRN_FAULT is longer than %d bytes\n",
			RULES_TEXT - 1);
		return EINVAL;
	}
	rules = calloc(1, sizeof(*rules) + strlen(text) + 1);
	if (!rules)
		return ENOMEM;
	strcpy(rules->text, text);
	err = rules_parse(rules, text);
	if (err) {
		free(rules);
		return err;
	}
	rules->before = rules_now;
	__atomic_store_n(&rules_now, rules, __ATOMIC_RELEASE);
	return 0;
}

int cairn_rules_use(const char *text)
{
	int err = 0;

	pthread_mutex_lock(&rules_mutex);
	if (!rules_now || strcmp(rules_now->text, text))
		err = cairn_rules_read(text);
	pthread_mutex_unlock(&rules_mutex);
	return err;
}

/* splitmix64 of the seed, the rule and the call: the same in each run. */
static double rules_random(const struct rules *rules, size_t rule, uint64_t call)
{
	uint64_t mix = (rules->seed + 1) * 0x9e3779b97f4a7c15 + call * 0xd1342543de82ef95 + rule;

	mix = (mix ^ (mix >> 30)) * 0xbf58476d1ce4e5b9;
	mix = (mix ^ (mix >> 27)) * 0x94d049bb133111eb;
	return (double)((mix ^ (mix >> 31)) >> 11) / (double)(1ULL << 53);
}

static bool rules_match(const struct rules *rules, const struct rule *rule, uint64_t call)
{
	if (rule->nth && call != rule->nth)
		return false;
	if (rule->every && call % rule->every)
		return false;
	return rule->chance >= 1 ||
	       rules_random(rules, (size_t)(rule - rules->rule), call) < rule->chance;
}

static void rules_tell(const struct rule *rule, uint64_t call)
{
	bool verb = rule->target < CAIRN_RULES_VERBS;

	fprintf(stderr, "cairn-fault: %s %llu", cairn_text_name(rules_targets, rule->target),
		(unsigned long long)call);
	if (rules_ends(rule->target))
		fprintf(stderr, " ends with %s",
			cairn_text_name(verb ? rules_errors : rules_statuses, rule->result));
	fputc('\n', stderr);
}

int cairn_rules_hit(enum cairn_rules_target target)
{
	struct rules *rules = rules_get();
	uint64_t call;

	if (!rules)
		return 0;
	call = __atomic_add_fetch(&rules->calls[target], 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < rules->used; i++) {
		const struct rule *rule = &rules->rule[i];

		if (rule->target != target || !rules_match(rules, rule, call))
			continue;
		if (rules->say)
			rules_tell(rule, call);
		return rule->result;
	}
	return 0;
}

bool cairn_rules_have(enum cairn_rules_target target)
{
	const struct rules *rules = rules_get();
	size_t i = 0;

	while (rules && i < rules->used && rules->rule[i].target != target)
		i++;
	return rules && i < rules->used;
}
