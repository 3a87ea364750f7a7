/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion queues, for the data path. */
#ifndef CAIRN_VERBS_CQ_H
#define CAIRN_VERBS_CQ_H

#include "verbs/verbs.h"

/* Does a consumer that has armed for solicited completions get an event for @cqe? */
static inline bool cairn_cqe_is_solicited(const struct cairn_cqe *cqe)
{
	return cqe->status || cqe->flags & CAIRN_CQE_SOLICITED;
}

/**
 * cairn_cq_post() - add a completion
 * @cq: the queue
 * @cqe: the completion
 * @lane: of the QP; its lazy thread may raise the event
 * @wait: of the QP, which gets a turn when there is room
 * @flush: the QP flushes its requests: a full queue is not an error
 *
 * Calls the completion handler outside of the CQ's lock.
 *
 * Context: any.
 * Return: false when the queue is full; nothing is added.
 */
bool cairn_cq_post(struct cairn_cq *cq, const struct cairn_cqe *cqe,
		   struct cairn_lane *lane, struct cairn_cq_wait *wait, bool flush);

/* Call the completion handler, after cairn_cq_answer(). Without the CQ's lock; not in hard
 * interrupts.
 */
void cairn_cq_notify(struct cairn_cq *cq);

/* Report IB_EVENT_CQ_ERR; the handler runs later, in process context. Any context. */
void cairn_cq_error(struct cairn_cq *cq);

/* Handle CAIRN_METHOD_LOOK_CQ: the consumer has polled or armed. Process context. */
void cairn_cq_look(struct cairn_cq *cq);

/* Has the queue unpolled entries that the arm word @arm asks for? Under the CQ's lock. */
bool cairn_cq_holds_asked(const struct cairn_cq *cq, u32 arm);

/* Answer the arm word @arm, unless an event has answered it already. @notify: the caller
 * calls cairn_cq_notify(), after releasing the lock. Under the CQ's lock.
 */
void cairn_cq_answer(struct cairn_cq *cq, u32 arm, bool *notify);

#endif
