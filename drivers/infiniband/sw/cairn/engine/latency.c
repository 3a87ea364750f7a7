// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/limits.h>
#include <linux/minmax.h>
#include "engine/gap.h"
#include "engine/latency.h"
#include "engine/req_record.h"
#include "engine/wqe.h"

/* End the current stage and begin the next. The mean is smoothed like a round trip. */
static void latency_end(struct cairn_latency *latency, u64 now)
{
	u32 *mean = &latency->ns[latency->stage];

	*mean = cairn_gap_smooth(*mean, cairn_gap_took(latency->since, now, U32_MAX));
	latency->stage++;
	latency->since = now;
}

void cairn_latency_begin(struct cairn_requester *req, u64 now)
{
	req->timed = true;
	req->ext->latency.rec = req->new_rec;
	req->ext->latency.stage = CAIRN_STAGE_SEND;
	req->ext->latency.since = now;
}

/* The cursor has moved. A request of an unreliable QP ends here, as no answer comes. */
void cairn_latency_sent(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	if (req->ext->latency.stage != CAIRN_STAGE_SEND ||
	    (s32)(req->send_rec - req->ext->latency.rec) <= 0)
		return;
	latency_end(&req->ext->latency, now);
	req->timed = cairn_qp_reliable(qpc);
}

/* More packets are acknowledged. */
void cairn_latency_answered(struct cairn_requester *req, u64 now)
{
	const struct cairn_swr *swr = cairn_req_swr(req, req->ext->latency.rec);

	if (req->ext->latency.stage != CAIRN_STAGE_ANSWER)
		return;
	/* Responses came out of order, so the time of the answer is not known. */
	if ((s32)(req->una_rec - req->ext->latency.rec) > 0) {
		cairn_latency_forget(req);
		return;
	}
	if (!cairn_req_swr_received(req, swr))
		return;
	latency_end(&req->ext->latency, now);
	req->timed = cairn_req_swr_persists(swr);
	if (req->timed)
		cairn_latency_durable(req, now);
}

/* More is known to be durable. One answer may acknowledge and report durability. */
void cairn_latency_durable(struct cairn_requester *req, u64 now)
{
	if (req->ext->latency.stage != CAIRN_STAGE_DURABLE ||
	    !cairn_req_swr(req, req->ext->latency.rec)->durable)
		return;
	latency_end(&req->ext->latency, now);
	req->timed = false;
}
