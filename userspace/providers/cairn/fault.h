/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * CAIRN_FAULT: calls and completions of a process fail as its rules say, see
 * cairn_fault(7). Contexts that are opened without it have the plain operations.
 */
#ifndef CAIRN_FAULT_H
#define CAIRN_FAULT_H

#include "cq.h"

struct cairn_persist_done;

/* Return: 0, ENOENT if it is not set, or EINVAL, after a message, if it is wrong. */
int cairn_fault_begin(void);
/* Puts the faults before the operations. */
void cairn_fault_overlay(struct cairn_context *ctx, struct verbs_context_ops *ops);

/* The status of a completion of @cq. A fault moves its QP to the error state. */
enum ibv_wc_status cairn_fault_status(struct cairn_cq *cq, const struct cairn_cqe *cqe);
/* Answers to peers that are about to be given to the device. */
void cairn_fault_persist(struct ibv_context *ctx, struct cairn_persist_done *done, uint32_t num);
/*
 * The same by one request, which is not posted yet. Return: its status. It is that of all
 * tokens, so an error of one is the error of all, and a power cut before one is before all.
 */
int cairn_fault_persist_request(struct ibv_context *ctx, const uint64_t *tokens, uint32_t num,
				int status);

#endif /* CAIRN_FAULT_H */
