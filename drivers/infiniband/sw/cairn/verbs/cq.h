/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the data path asks of completion queues. */
#ifndef CAIRN_VERBS_CQ_H
#define CAIRN_VERBS_CQ_H

#include "verbs/verbs.h"

/**
 * cairn_cq_post() - add a completion
 * @cq: the queue
 * @cqe: the completion
 * @wait: of the QP, which gets a turn when there is room
 * @flush: the QP ends its work: no error of the queue when there is no room
 *
 * Calls the completion handler outside of the CQ's lock.
 *
 * Context: any.
 * Return: false when the queue is full; nothing is added.
 */
bool cairn_cq_post(struct cairn_cq *cq, const struct cairn_cqe *cqe,
		   struct cairn_cq_wait *wait, bool flush);

/* The consumer polled or armed: see CAIRN_METHOD_LOOK_CQ. Process context. */
void cairn_cq_look(struct cairn_cq *cq);

/* An event for the arm word @arm is due, unless it was raised already: @notify says
 * whether to call the handler, without the lock. cq->lock held.
 */
void cairn_cq_answer(struct cairn_cq *cq, u32 arm, bool *notify);

#endif
