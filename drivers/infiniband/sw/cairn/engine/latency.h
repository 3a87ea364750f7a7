/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The latency of requests by stage: until the last packet is sent, until all packets
 * are acknowledged, and until the data is durable. One request in CAIRN_LATENCY_EVERY is
 * timed, one at a time, so that the others cost one test only. The caller holds the
 * requester's lock.
 */
#ifndef CAIRN_ENGINE_LATENCY_H
#define CAIRN_ENGINE_LATENCY_H

#include "engine/qp.h"

/* Records are numbered from 0, so the first request of a connection is timed. */
#define CAIRN_LATENCY_EVERY	16

void cairn_latency_begin(struct cairn_requester *req, u64 now);
/* Called while a request is timed. */
void cairn_latency_sent(struct cairn_qpc *qpc, u64 now);
void cairn_latency_answered(struct cairn_requester *req, u64 now);
void cairn_latency_durable(struct cairn_requester *req, u64 now);

/* Start timing record new_rec, which is @swr, if it is its turn. */
static inline void cairn_latency_start(struct cairn_requester *req,
				       const struct cairn_swr *swr, u64 now)
{
	if (!(req->new_rec % CAIRN_LATENCY_EVERY) && !req->timed && swr->npkts)
		cairn_latency_begin(req, now);
}

/* Stop timing, as outstanding requests end without an answer. */
static inline void cairn_latency_forget(struct cairn_requester *req)
{
	req->timed = false;
}

#endif
