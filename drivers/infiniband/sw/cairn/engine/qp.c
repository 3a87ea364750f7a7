// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A QP as a whole: set-up, reset, state changes that both sides see. */
#include <linux/compiler.h>
#include <linux/string.h>
#include "engine/hold.h"
#include "engine/qp.h"

void cairn_qpc_init(struct cairn_qpc *qpc)
{
	static const u8 prefixes[] = {
		[CAIRN_TRANSPORT_RC] = CAIRN_BTH_RC,
		[CAIRN_TRANSPORT_XRC] = CAIRN_BTH_XRC,
		[CAIRN_TRANSPORT_UC] = CAIRN_BTH_UC,
		[CAIRN_TRANSPORT_UD] = CAIRN_BTH_UD,
	};

	qpc->prefix = prefixes[qpc->transport];
	WRITE_ONCE(qpc->state, CAIRN_QP_RESET);
	cairn_qpc_reset(qpc, 0);
}

static void qp_reset_requester(struct cairn_requester *req, u32 sq_idx)
{
	struct cairn_swr *swr = req->swr;
	u32 mask = req->swr_mask;

	memset(req, 0, offsetof(struct cairn_requester, ext));
	req->ext->latency = (struct cairn_latency){};
	req->swr = swr;
	req->swr_mask = mask;
	req->sq_next = sq_idx;
	req->sq_tail = sq_idx;
	req->sq_done = sq_idx;
	req->ssn = 1;
}

static void qp_reset_responder(struct cairn_responder *resp)
{
	struct cairn_pending *pend = resp->persist.pend;
	struct cairn_rdres *rd = resp->replay.res;
	u32 mask = resp->replay.mask;

	memset(resp, 0, offsetof(struct cairn_responder, rwqe));
	resp->replay.res = rd;
	resp->replay.mask = mask;
	resp->persist.pend = pend;
	if (rd)
		memset(rd, 0, sizeof(*rd) * (mask + 1));
}

void cairn_qpc_reset(struct cairn_qpc *qpc, u32 sq_idx)
{
	cairn_hold_drop(qpc);
	qp_reset_requester(&qpc->req, sq_idx);
	qp_reset_responder(&qpc->resp);
	memset(qpc->cc.rp, 0, sizeof(qpc->cc.rp));
	qpc->cc.cnps = 0;
	qpc->cc.cnp_at = 0;
	qpc->cc.heard_at = 0;
	qpc->cnp_due = false;
}

void cairn_req_set_psn(struct cairn_qpc *qpc, u32 psn)
{
	struct cairn_requester *req = &qpc->req;

	psn &= CAIRN_24BIT_MASK;
	req->psn = psn;
	req->una = psn;
	req->sent = psn;
	req->acked = psn;
}

void cairn_resp_set_psn(struct cairn_qpc *qpc, u32 psn)
{
	qpc->resp.epsn = psn & CAIRN_24BIT_MASK;
	qpc->resp.done_psn = cairn_psn_add(psn, CAIRN_24BIT_MASK);
}

void cairn_qpc_set_state(struct cairn_qpc *qpc, enum cairn_state state)
{
	if (state == CAIRN_QP_SQD)
		qpc->req.drained = false;
	WRITE_ONCE(qpc->state, state);
}

void cairn_qpc_fail(struct cairn_qpc *qpc)
{
	WRITE_ONCE(qpc->state, CAIRN_QP_ERR);
	cairn_env_kick(qpc, CAIRN_REQ);
	cairn_env_kick(qpc, CAIRN_RESP);
}

void cairn_qpc_fatal(struct cairn_qpc *qpc)
{
	cairn_env_async(qpc, CAIRN_ASYNC_QP_FATAL);
	cairn_qpc_fail(qpc);
}

bool cairn_qpc_break(struct cairn_qpc *qpc)
{
	u8 state = cairn_state(qpc);

	if (state < CAIRN_QP_RTR || state == CAIRN_QP_ERR)
		return false;
	cairn_qpc_fatal(qpc);
	return true;
}
