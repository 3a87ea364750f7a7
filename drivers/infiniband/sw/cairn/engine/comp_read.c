// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Responses of READs and atomics: their data is placed (IBTA 9.7.5.1).
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "engine/comp_ack.h"
#include "engine/comp_read.h"
#include "engine/completer.h"
#include "engine/gap.h"
#include "engine/req_record.h"
#include "engine/window.h"

/*
 * A response acknowledges all packets before it. It may be ahead of missing responses.
 * Return: its record, or NULL if it is stale.
 */
static struct cairn_swr *comp_find_awaited(struct cairn_qpc *qpc,
					   const struct cairn_pkt *pkt,
					   u8 op_flag, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr = cairn_comp_record_of(req, pkt->psn, op_flag);

	cairn_comp_ack_before(qpc, pkt->psn, now);
	if (cairn_state(qpc) == CAIRN_QP_ERR)
		return NULL;
	if (swr && cairn_psn_diff(pkt->psn, req->una) >= 0 &&
	    !cairn_gap_got(req, pkt->psn))
		return swr;
	cairn_env_count(qpc, CAIRN_CTR_STALE_RESPONSES, 1);
	return NULL;
}

/* The response packet @psn was placed. */
static void comp_response_done(struct cairn_qpc *qpc, u32 psn, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	cairn_gap_set_got(req, psn, true);
	if (psn != req->una) {
		cairn_env_count(qpc, CAIRN_CTR_RESPONSES_AHEAD, 1);
		cairn_comp_advance_una(req, req->una);
		if (cairn_psn_diff(psn, req->acked) >= 0)
			req->acked = cairn_psn_add(psn, 1);
		return;
	}
	cairn_comp_advance_una(req, cairn_psn_add(psn, 1));
	cairn_comp_progress(qpc, now);
	cairn_gap_answer(qpc, false, now);
}

/* Only a response for the oldest PSN fails its WQE, as earlier WQEs come first. */
static void comp_response_failed(struct cairn_qpc *qpc, u32 psn, u8 status,
				 u32 vendor_err)
{
	if (psn == qpc->req.una)
		cairn_comp_fail(qpc, status, vendor_err);
}

static void comp_place_failed(struct cairn_qpc *qpc, u32 psn)
{
	cairn_env_count(qpc, CAIRN_CTR_LOCAL_PROT_ERRORS, 1);
	comp_response_failed(qpc, psn, CAIRN_CQE_LOC_PROT_ERR, EFAULT);
}

/* Is @psn the last response packet of its READ request? */
static bool comp_ends_request(struct cairn_qpc *qpc,
			      const struct cairn_swr *swr, u32 psn)
{
	u32 pkt = cairn_psn_diff(psn, swr->psn);

	return pkt + 1 == swr->npkts || !((pkt + 1) % cairn_window_read_chunk(qpc));
}

/* The destination is not present: drop the response. It costs no retry. */
static void comp_place_later(struct cairn_requester *req)
{
	req->odp.faulting = true;
	req->odp.ask_again = true;
}

void cairn_comp_faulted_in(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	bool ask = req->odp.ask_again;
	u32 n;

	if (cairn_env_faulting(qpc, CAIRN_REQ))
		return;
	req->odp.faulting = false;
	req->odp.ask_again = false;
	/* After an RNR NAK all packets are sent again in any case. */
	if (!ask || req->rnr_until || !cairn_req_outstanding(req))
		return;
	n = cairn_req_find(req, req->una);
	if (n != req->new_rec && cairn_comp_responses(cairn_req_swr(req, n)))
		cairn_gap_repeat_read(qpc);
}

/* A response could not be placed. -EAGAIN is temporary, other errors are permanent. */
static void comp_not_placed(struct cairn_qpc *qpc, u32 psn, int err)
{
	if (err == -EAGAIN)
		comp_place_later(&qpc->req);
	else
		comp_place_failed(qpc, psn);
}

void cairn_comp_rx_read(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr =
		comp_find_awaited(qpc, pkt, CAIRN_WOP_READS, now);
	struct cairn_span to;
	u32 off, want;
	int err = 0;

	if (!swr)
		return;
	off = cairn_psn_diff(pkt->psn, swr->psn) * qpc->attrs.pmtu;
	want = min_t(u32, swr->length - off, qpc->attrs.pmtu);
	/* FIRST and MIDDLE may both be valid, as they depend on where the request
	 * began.
	 */
	if (pkt->payload_len != want ||
	    !(pkt->op->flags & CAIRN_OP_LAST) ==
		    comp_ends_request(qpc, swr, pkt->psn)) {
		comp_response_failed(qpc, pkt->psn, CAIRN_CQE_BAD_RESP_ERR,
				     pkt->opcode);
		return;
	}
	if (!cairn_req_load(qpc, swr, NULL)) {
		comp_response_failed(qpc, pkt->psn, CAIRN_CQE_LOC_QP_OP_ERR,
				     EINVAL);
		return;
	}
	to = (struct cairn_span){
		.sge = cairn_wqe_sges(&req->ext->wqe),
		.num_sge = req->ext->wqe.send.num_sge,
		.offset = off,
		.more = swr->length - off - want,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
	};
	if (want)
		err = cairn_env_place(qpc, &to, pkt, want);
	if (err) {
		comp_not_placed(qpc, pkt->psn, err);
		return;
	}
	if (pkt->op->hdrs & CAIRN_HDR_AETH)
		cairn_comp_take_credits(&qpc->req, pkt);
	comp_response_done(qpc, pkt->psn, now);
}

void cairn_comp_rx_atomic(struct cairn_qpc *qpc,
			  const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr =
		comp_find_awaited(qpc, pkt, CAIRN_WOP_READS | CAIRN_WOP_ATOMIC,
				  now);
	struct cairn_span to = {
		.sge = (void *)(req->ext->wqe.bytes + CAIRN_WQE_ATOMIC_SGE_OFFSET),
		.num_sge = 1,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
	};
	int err;

	if (!swr)
		return;
	if (!cairn_req_load(qpc, swr, NULL)) {
		comp_response_failed(qpc, pkt->psn, CAIRN_CQE_LOC_QP_OP_ERR,
				     EINVAL);
		return;
	}
	err = cairn_env_place_bytes(qpc, &to, &pkt->orig, sizeof(pkt->orig));
	if (err) {
		comp_not_placed(qpc, pkt->psn, err);
		return;
	}
	cairn_comp_take_credits(&qpc->req, pkt);
	comp_response_done(qpc, pkt->psn, now);
}
