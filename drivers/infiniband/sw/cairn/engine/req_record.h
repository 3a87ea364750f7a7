/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Records of started WQEs, see engine/req_record.c. Requester lock held. */
#ifndef CAIRN_ENGINE_REQ_RECORD_H
#define CAIRN_ENGINE_REQ_RECORD_H

#include "engine/ahead.h"
#include "engine/window.h"
#include "engine/wqe.h"

/* Record @n. */
static inline struct cairn_swr *cairn_req_swr(struct cairn_requester *req,
					      u32 n)
{
	return &req->swr[n & req->swr_mask];
}

/**
 * cairn_req_told() - a run begins: may the write pointer have moved?
 * @req: the requester
 * @told: an event was recorded, as every post records one
 *
 * A requester without an event and without outstanding requests need not read the write
 * pointer. Neither does one whose WQEs were fetched just now.
 */
static inline void cairn_req_told(struct cairn_requester *req, bool told)
{
	if (told || (req->una_rec != req->new_rec && !req->fetched))
		req->look = true;
}

/**
 * cairn_req_tail() - the send write pointer
 * @qpc: the QP
 * @tail: ring unit; req.sq_next itself: no more units were posted by the last event. When
 *	all known units have started, the host's pointer is read once for each cairn_req_told()
 *
 * Return: 0; -EINVAL: the host's pointer is out of range.
 */
int cairn_req_tail(struct cairn_qpc *qpc, u32 *tail);

/* The part of cairn_req_start_wqe() for a ring that may have a WQE. */
bool cairn_req_start_posted(struct cairn_qpc *qpc, bool first,
			    struct cairn_ahead *ahead, u64 now);

/**
 * cairn_req_start_wqe() - start the next WQE of the ring
 * @qpc: the QP
 * @first: more records may be allocated; the records then move
 * @ahead: the batch of this run
 * @now: CLOCK_MONOTONIC, ns
 *
 * Return: false if no WQE is posted, or there is no record for it.
 */
static inline bool cairn_req_start_wqe(struct cairn_qpc *qpc, bool first,
				       struct cairn_ahead *ahead, u64 now)
{
	const struct cairn_requester *req = &qpc->req;

	return (req->look || req->sq_tail != req->sq_next) &&
	       cairn_req_start_posted(qpc, first, ahead, now);
}

/**
 * cairn_req_fetch() - copy WQEs out of the ring for the next turn
 * @qpc: the QP
 * @ahead: memory for the batch; the turn gets it by its budget
 * @now: CLOCK_MONOTONIC, ns
 *
 * The batch begins with the WQE that the turn reads first: the next to start, or the one
 * that the rate has stopped. It is empty if the turn will read none. Requester lock held.
 */
void cairn_req_fetch(struct cairn_qpc *qpc, struct cairn_ahead *ahead, u64 now);

/* Load the WQE of @swr into the requester's copy. @ahead: the batch of this run; NULL:
 * read the ring. Return: false if the host has changed it.
 */
bool cairn_req_load(struct cairn_qpc *qpc, struct cairn_swr *swr,
		    struct cairn_ahead *ahead);
/* The PSN at the send cursor. */
u32 cairn_req_cursor(struct cairn_requester *req);
/* The number of the record that @psn belongs to; req->new_rec: none. Records whose packets
 * are all acknowledged are not searched.
 */
u32 cairn_req_find(struct cairn_requester *req, u32 psn);
/* Continue sending from @psn, which is in a record that has not completed. */
void cairn_req_rewind(struct cairn_qpc *qpc, u32 psn);
/* Is a packet before the cursor not acknowledged? */
bool cairn_req_in_flight(struct cairn_requester *req);
/* Is an answer awaited? */
bool cairn_req_outstanding(struct cairn_requester *req);

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
