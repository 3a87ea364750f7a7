/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Where the time of a request goes: how long it takes until its last packet has left,
 * until all of it is answered, and until it is durable. One request in
 * CAIRN_LEGS_EVERY is timed, one at a time, so the others pay a test only. Caller
 * holds the requester's lock.
 */
#ifndef CAIRN_ENGINE_LEGS_H
#define CAIRN_ENGINE_LEGS_H

#include "engine/qp.h"

/* Records are numbered from 0, so the first request of a connection is timed. */
#define CAIRN_LEGS_EVERY	16

void cairn_legs_begin(struct cairn_requester *req, u64 now);
/* These while a request is timed. */
void cairn_legs_sent(struct cairn_qpc *qpc, u64 now);
void cairn_legs_answered(struct cairn_requester *req, u64 now);
void cairn_legs_durable(struct cairn_requester *req, u64 now);

/* Record new_rec, which is @swr, has begun. */
static inline void cairn_legs_start(struct cairn_requester *req,
				    const struct cairn_swr *swr, u64 now)
{
	if (!(req->new_rec % CAIRN_LEGS_EVERY) && !req->timed && swr->npkts)
		cairn_legs_begin(req, now);
}

/* No request is timed any more: those under way end without an answer. */
static inline void cairn_legs_forget(struct cairn_requester *req)
{
	req->timed = false;
}

#endif
