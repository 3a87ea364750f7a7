/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The requester, see engine/requester.c. */
#ifndef CAIRN_ENGINE_REQUESTER_H
#define CAIRN_ENGINE_REQUESTER_H

#include "engine/ahead.h"
#include "engine/window.h"
#include "engine/wqe.h"

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

/* Prefetch the lines that cairn_req_run() will need soon. No lock. */
void cairn_req_prefetch(const struct cairn_qpc *qpc);

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

/* For the files that share the requester (completer, gap, persist_req). */

/* Record @n. */
struct cairn_swr *cairn_req_swr(struct cairn_requester *req, u32 n);
/* Load the WQE of @swr into the requester's copy. @ahead: the batch of this run; NULL:
 * read the ring. Return: false if the host has changed it.
 */
bool cairn_req_load(struct cairn_qpc *qpc, struct cairn_swr *swr,
		    struct cairn_ahead *ahead);
/* The PSN at the send cursor. */
u32 cairn_req_cursor(struct cairn_requester *req);
void cairn_req_rewind(struct cairn_qpc *qpc, u32 psn);
void cairn_req_rearm(struct cairn_qpc *qpc, u64 now);
/* Send the last packet of @swr again, independent of the cursor. Return: 0, the error of
 * cairn_env_emit(), or -EINVAL if the host has changed the WQE.
 */
int cairn_req_repeat_last(struct cairn_qpc *qpc, struct cairn_swr *swr);

/* Is an answer awaited? */
bool cairn_req_outstanding(struct cairn_requester *req);

/* Does the requester wait to retry after an RNR NAK? Without the lock it is a hint. */
static inline bool cairn_req_asks_again(const struct cairn_qpc *qpc)
{
	return READ_ONCE(qpc->req.rnr_until);
}

/* PSNs of the next READ request, up to the end of the chunk. */
u32 cairn_req_read_count(struct cairn_qpc *qpc, const struct cairn_swr *swr);

/* Is it a WRITE_PERSIST that was not refused? */
static inline bool cairn_req_swr_persists(const struct cairn_swr *swr)
{
	return swr->npkts &&
	       cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_PERSIST;
}

/* ... and does its WQE complete when received? */
static inline bool cairn_req_swr_early(const struct cairn_swr *swr)
{
	return cairn_req_swr_persists(swr) && swr->flags & CAIRN_WQE_EARLY;
}

/* ... or when durable, and it is not durable yet? */
static inline bool cairn_req_swr_held(const struct cairn_swr *swr)
{
	return cairn_req_swr_persists(swr) && !(swr->flags & CAIRN_WQE_EARLY) &&
	       !swr->durable;
}

/* Distance of @psn from the first packet of @swr; negative: before it. The longest
 * message has half of all PSNs, and @psn may be behind its end. A PSN before the first
 * packet is within a window of it.
 */
static inline s32 cairn_req_swr_offset(const struct cairn_swr *swr, u32 psn)
{
	s32 off = cairn_psn_diff(psn, swr->psn);

	return off < -(s32)(CAIRN_PSN_SPAN / 2) ? off + (1 << 24) : off;
}

/* Is every packet of @swr acknowledged? */
static inline bool cairn_req_swr_received(const struct cairn_requester *req,
					  const struct cairn_swr *swr)
{
	return cairn_req_swr_offset(swr, req->una) >= (s32)swr->npkts;
}

#endif
