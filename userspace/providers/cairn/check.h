/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * CAIRN_CHECK: misuse of verbs that works by luck is found and reported, see
 * cairn_check(1). Contexts that are opened without it have the plain operations and no
 * queue with cairn_queue.check, so nothing is slower.
 *
 * One lock protects all of it. It is taken inside of a queue's lock.
 */
#ifndef CAIRN_CHECK_H
#define CAIRN_CHECK_H

#include "cairn.h"

/* Return: whether contexts that are opened now are checked. */
bool cairn_check_wanted(void);
/* Puts the checks before the operations. */
void cairn_check_overlay(struct cairn_context *ctx, struct verbs_context_ops *ops);

void cairn_check_lock(void);
void cairn_check_unlock(void);
/* Return: whether this thread has it. */
bool cairn_check_locked(void);

#endif /* CAIRN_CHECK_H */
