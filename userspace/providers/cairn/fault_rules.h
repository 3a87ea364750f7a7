/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The rules of CAIRN_FAULT, and whether one of them hits. */
#ifndef CAIRN_FAULT_RULES_H
#define CAIRN_FAULT_RULES_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* A rule is about a verb, or about the completions of a direction. */
enum cairn_rules_target {
	CAIRN_RULES_ALLOC_DM,
	CAIRN_RULES_ALLOC_MW,
	CAIRN_RULES_ALLOC_NULL_MR,
	CAIRN_RULES_ALLOC_PARENT_DOMAIN,
	CAIRN_RULES_ALLOC_PD,
	CAIRN_RULES_ALLOC_TD,
	CAIRN_RULES_ATTACH_MCAST,
	CAIRN_RULES_BIND_MW,
	CAIRN_RULES_CREATE_AH,
	CAIRN_RULES_CREATE_CQ,
	CAIRN_RULES_CREATE_QP,
	CAIRN_RULES_CREATE_SRQ,
	CAIRN_RULES_MODIFY_CQ,
	CAIRN_RULES_MODIFY_QP,
	CAIRN_RULES_MODIFY_QP_RATE_LIMIT,
	CAIRN_RULES_MODIFY_SRQ,
	CAIRN_RULES_OPEN_QP,
	CAIRN_RULES_OPEN_XRCD,
	CAIRN_RULES_PERSIST,
	CAIRN_RULES_POST_RECV,
	CAIRN_RULES_POST_SEND,
	CAIRN_RULES_POST_SRQ_RECV,
	CAIRN_RULES_QUERY_DEVICE,
	CAIRN_RULES_QUERY_PORT,
	CAIRN_RULES_QUERY_QP,
	CAIRN_RULES_QUERY_SRQ,
	CAIRN_RULES_REG_DM_MR,
	CAIRN_RULES_REG_DMABUF_MR,
	CAIRN_RULES_REG_MR,
	CAIRN_RULES_REQ_NOTIFY_CQ,
	CAIRN_RULES_REREG_MR,
	CAIRN_RULES_RESIZE_CQ,
	CAIRN_RULES_VERBS,	/* of them; below: completions */
	CAIRN_RULES_CQ_OVERRUN = CAIRN_RULES_VERBS,
	CAIRN_RULES_POWER_CUT,
	CAIRN_RULES_RECV,
	CAIRN_RULES_SEND,
	CAIRN_RULES_TARGETS
};

/*
 * Replaces the rules by those in @text, whose grammar cairn_fault(7) has. Calls are
 * counted from 1 again. One caller at a time.
 * Return: 0; EINVAL after a message on stderr, or ENOMEM; then the rules stay as they are.
 */
int cairn_rules_read(const char *text);
/* The same, thread-safe. The rules of the same text stay, with their counters. */
int cairn_rules_use(const char *text);
/* Counts a call. Return: the errno or status with which it fails, or 0. Thread-safe. */
int cairn_rules_hit(enum cairn_rules_target target);
/* Return: whether there is a rule of this kind. */
bool cairn_rules_have(enum cairn_rules_target target);

#endif /* CAIRN_FAULT_RULES_H */
