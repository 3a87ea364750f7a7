/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The requester, see engine/requester.c. */
#ifndef CAIRN_ENGINE_REQUESTER_H
#define CAIRN_ENGINE_REQUESTER_H

#include "engine/qp.h"

/**
 * cairn_req_run() - send, complete and flush as far as possible
 * @qpc: the QP
 * @now: CLOCK_MONOTONIC, ns
 * @budget: work of this turn; decreased
 *
 * Requester lock held.
 *
 * Return: true if work is left that only needs another turn.
 */
bool cairn_req_run(struct cairn_qpc *qpc, u64 now, struct cairn_budget *budget);

/* Prefetch the lines of the context that cairn_req_run() and cairn_comp_rx() need for a
 * message that nothing disturbs. No lock.
 */
void cairn_req_prefetch(const struct cairn_qpc *qpc);

/* The second step, when the context has arrived: prefetch the WQE that is started next,
 * its record, and the memory for a copy of the WQE. No lock: the QP exists, but its ring
 * and its records may be moving.
 */
void cairn_req_prefetch_start(struct cairn_qpc *qpc);

/* The same for the record that is acknowledged next. */
void cairn_req_prefetch_ack(struct cairn_qpc *qpc);

/* When cairn_req_run() must be called again at the latest, ns; 0: never. */
u64 cairn_req_deadline(const struct cairn_qpc *qpc);

/**
 * cairn_req_expiry() - when the timer for the deadline may expire
 * @qpc: requester lock held
 * @now: CLOCK_MONOTONIC, ns
 *
 * Deadlines other than a rate's may be late by a quarter (IBTA 9.7.6.1.3 allows four
 * times the timeout), a probe's also by 2 ms. They are rounded up, so that one expiry
 * of the timer serves many QPs.
 *
 * Return: the deadline or later, CLOCK_MONOTONIC, ns; 0: never.
 */
u64 cairn_req_expiry(const struct cairn_qpc *qpc, u64 now);

/* Restart the ACK timer, as progress was made, or stop it. Requester lock held. */
void cairn_req_rearm(struct cairn_qpc *qpc, u64 now);

/* A deadline is put off by this time, ns, which is rounded up with it. */
#define CAIRN_PUT_OFF		1000000U

/**
 * cairn_req_put_off() - wait longer for an answer, because this machine may be late
 * @qpc: requester lock held
 * @deadline: of the answer, ns; it has passed
 * @times: how often it has been put off; increased
 * @most: the limit of @times
 * @now: CLOCK_MONOTONIC, ns
 *
 * Return: false: the answer is not late for that reason, or the time is up.
 */
bool cairn_req_put_off(struct cairn_qpc *qpc, u64 *deadline, u8 *times, u32 most,
		       u64 now);

/* The same for the ACK timer, up to four times the timeout (IBTA 9.7.6.1.3). */
bool cairn_req_put_ack_off(struct cairn_qpc *qpc, u64 now);

/* Does the requester wait to retry after an RNR NAK? Without the lock it is a hint. */
static inline bool cairn_req_asks_again(const struct cairn_qpc *qpc)
{
	return READ_ONCE(qpc->req.rnr_until);
}

#endif
