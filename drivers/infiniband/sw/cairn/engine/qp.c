// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A QP as a whole: set-up, reset, state changes that both sides see. */
#include "engine/internal.h"

void cairn_qpc_init(struct cairn_qpc *q)
{
	WRITE_ONCE(q->state, CAIRN_QP_RESET);
	cairn_qpc_reset(q, 0);
}

static void reset_requester(struct cairn_requester *r, u32 sq_idx)
{
	struct cairn_swr *swr = r->swr;
	u32 mask = r->swr_mask;

	memset(r, 0, offsetof(struct cairn_requester, wqe));
	r->swr = swr;
	r->swr_mask = mask;
	r->sq_next = sq_idx;
	r->sq_done = sq_idx;
	r->ssn = 1;
}

static void reset_responder(struct cairn_responder *p)
{
	struct cairn_pending *pend = p->pend;
	struct cairn_rdres *rd = p->rd;
	u32 mask = p->rd_mask;

	memset(p, 0, offsetof(struct cairn_responder, rwqe));
	p->rd = rd;
	p->rd_mask = mask;
	p->pend = pend;
	if (rd)
		memset(rd, 0, sizeof(*rd) * (mask + 1));
}

void cairn_qpc_reset(struct cairn_qpc *q, u32 sq_idx)
{
	cairn_hold_drop(q);
	reset_requester(&q->req, sq_idx);
	reset_responder(&q->resp);
	memset(q->cc.rp, 0, sizeof(q->cc.rp));
	q->cc.cnps = 0;
	q->cc.cnp_at = 0;
	q->marked = false;
}

void cairn_req_set_psn(struct cairn_qpc *q, u32 psn)
{
	struct cairn_requester *r = &q->req;

	psn &= CAIRN_24BIT_MASK;
	r->psn = psn;
	r->una = psn;
	r->sent = psn;
	r->acked = psn;
	r->retries = q->attrs.retry_cnt;
	r->rnr_retries = q->attrs.rnr_retry;
}

void cairn_resp_set_psn(struct cairn_qpc *q, u32 psn)
{
	q->resp.epsn = psn & CAIRN_24BIT_MASK;
	q->resp.done_psn = cairn_psn_add(psn, CAIRN_24BIT_MASK);
}

void cairn_qpc_set_state(struct cairn_qpc *q, enum cairn_state state)
{
	if (state == CAIRN_QP_SQD)
		q->req.drained = false;
	WRITE_ONCE(q->state, state);
}

void cairn_qpc_fail(struct cairn_qpc *q)
{
	WRITE_ONCE(q->state, CAIRN_QP_ERR);
	cairn_port_kick(q, CAIRN_REQ);
	cairn_port_kick(q, CAIRN_RESP);
}
