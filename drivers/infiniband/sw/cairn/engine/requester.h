/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The requester, see engine/requester.c. */
#ifndef CAIRN_ENGINE_REQUESTER_H
#define CAIRN_ENGINE_REQUESTER_H

#include "engine/window.h"
#include "engine/wqe.h"

/**
 * cairn_req_run() - send, complete and flush as far as possible
 * @qpc: the QP
 * @now: CLOCK_MONOTONIC, ns
 * @budget: what may be sent; decreased
 *
 * Requester lock held. Returns true when work is left that waits for nothing
 * but another turn.
 */
bool cairn_req_run(struct cairn_qpc *qpc, u64 now, struct cairn_budget *budget);

/* cairn_req_run() comes soon: have the lines that it needs fetched. No lock. */
void cairn_req_prefetch(const struct cairn_qpc *qpc);

/* When cairn_req_run() must be called again at the latest; 0: never. */
u64 cairn_req_deadline(const struct cairn_qpc *qpc);

/**
 * cairn_req_expiry() - when a timer is to look whether the deadline has come
 * @qpc: requester lock held
 * @now: CLOCK_MONOTONIC, ns
 *
 * But for a rate's, deadlines are patience, of which a quarter more does no harm
 * (IBTA 9.7.6.1.3 allows four times as much), and of a probe's 2 ms: rounded up,
 * those of many QPs are one expiry of the timer.
 *
 * Return: the deadline or later, CLOCK_MONOTONIC, ns; 0: never.
 */
u64 cairn_req_expiry(const struct cairn_qpc *qpc, u64 now);

/* For the files that share the requester (completer, gap, persist_req). */

/* Record @n. */
struct cairn_swr *cairn_req_swr(struct cairn_requester *req, u32 n);
/* Bring the WQE of @swr into apart->wqe; false when it changed under us. */
bool cairn_req_load(struct cairn_qpc *qpc, struct cairn_swr *swr);
/* PSN that would be sent next. */
u32 cairn_req_cursor(struct cairn_requester *req);
void cairn_req_rewind(struct cairn_qpc *qpc, u32 psn);
void cairn_req_rearm(struct cairn_qpc *qpc, u64 now);
/* Send the last packet of @swr again, wherever the cursor is. 0, or the error of
 * cairn_env_emit(), or -EINVAL when the WQE changed under us.
 */
int cairn_req_repeat_last(struct cairn_qpc *qpc, struct cairn_swr *swr);

/* PSNs that an answer is due for? */
bool cairn_req_outstanding(struct cairn_requester *req);

/* Is it to ask a peer again that had no receive? A hint for who holds no lock. */
static inline bool cairn_req_asks_again(const struct cairn_qpc *qpc)
{
	return READ_ONCE(qpc->req.rnr_until);
}

/* PSNs of the next READ request: to the end of the chunk. */
u32 cairn_req_read_count(struct cairn_qpc *qpc, const struct cairn_swr *swr);

/* A WRITE_PERSIST that was sent, not one that was refused. */
static inline bool cairn_req_swr_persists(const struct cairn_swr *swr)
{
	return swr->npkts &&
	       cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_PERSIST;
}

/* ... whose WQE completes when received. */
static inline bool cairn_req_swr_early(const struct cairn_swr *swr)
{
	return cairn_req_swr_persists(swr) && swr->flags & CAIRN_WQE_EARLY;
}

/* ... whose WQE completes when durable, and that is not yet. */
static inline bool cairn_req_swr_held(const struct cairn_swr *swr)
{
	return cairn_req_swr_persists(swr) && !(swr->flags & CAIRN_WQE_EARLY) &&
	       !swr->durable;
}

/* How far @psn is behind the first packet of @swr; negative: before it. The longest
 * message has half of all PSNs, and what follows it may be answered before its end
 * is looked at. Before the first packet there is a window at most.
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
