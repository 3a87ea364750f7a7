// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/limits.h>
#include <linux/minmax.h>
#include "engine/gap.h"
#include "engine/legs.h"
#include "engine/requester.h"
#include "engine/wqe.h"

/* End the current stage and begin the next. The mean is smoothed like a round trip. */
static void legs_end(struct cairn_legs *legs, u64 now)
{
	u32 *mean = &legs->ns[legs->leg];

	*mean = cairn_gap_smooth(*mean, min_t(u64, now - legs->since, U32_MAX));
	legs->leg++;
	legs->since = now;
}

void cairn_legs_begin(struct cairn_requester *req, u64 now)
{
	req->timed = true;
	req->apart->legs.rec = req->new_rec;
	req->apart->legs.leg = CAIRN_LEG_SEND;
	req->apart->legs.since = now;
}

/* The cursor has moved. A request of an unreliable QP ends here, as no answer comes. */
void cairn_legs_sent(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	if (req->apart->legs.leg != CAIRN_LEG_SEND ||
	    (s32)(req->send_rec - req->apart->legs.rec) <= 0)
		return;
	legs_end(&req->apart->legs, now);
	req->timed = cairn_qp_reliable(qpc);
}

/* More packets are acknowledged. */
void cairn_legs_answered(struct cairn_requester *req, u64 now)
{
	const struct cairn_swr *swr = cairn_req_swr(req, req->apart->legs.rec);

	if (req->apart->legs.leg != CAIRN_LEG_ANSWER)
		return;
	/* Responses came out of order, so the time of the answer is not known. */
	if ((s32)(req->una_rec - req->apart->legs.rec) > 0) {
		cairn_legs_forget(req);
		return;
	}
	if (!cairn_req_swr_received(req, swr))
		return;
	legs_end(&req->apart->legs, now);
	req->timed = cairn_req_swr_persists(swr);
	if (req->timed)
		cairn_legs_durable(req, now);
}

/* More is known to be durable. One answer may acknowledge and report durability. */
void cairn_legs_durable(struct cairn_requester *req, u64 now)
{
	if (req->apart->legs.leg != CAIRN_LEG_DURABLE ||
	    !cairn_req_swr(req, req->apart->legs.rec)->durable)
		return;
	legs_end(&req->apart->legs, now);
	req->timed = false;
}
