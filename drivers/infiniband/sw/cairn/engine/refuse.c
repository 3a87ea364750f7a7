// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests that the responder does not execute: the NAK, event or counter for each
 * reason, for each transport (IBTA 9.9.3). A kept packet may be forged, so most reasons
 * have no effect for it (engine/hold.c).
 */
#include <linux/errno.h>
#include "engine/answer_resp.h"
#include "engine/recv.h"
#include "engine/refuse.h"
#include "engine/request.h"

/* RNR timers while memory is being faulted in: 0.16 to 164 ms (IBTA table 45). */
#define REFUSE_FAULT_TIMER	8
#define REFUSE_FAULT_TRIES	5

bool cairn_refuse_invalid(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (pkt->kept)
		return false;
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	if (cairn_qp_reliable(qpc))
		cairn_answer_fatal(qpc, pkt->psn, CAIRN_NAK_INVALID_REQUEST,
				   CAIRN_ASYNC_QP_REQ_ERR);
	else
		cairn_env_count(qpc, CAIRN_CTR_RX_MALFORMED, 1);
	return false;
}

/* A refused WRITE with immediate ends the receive that it would have taken (IBTA 11.6.2,
 * local access error). A longer one is refused before its immediate data has come.
 */
static void refuse_immediate(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	if (!resp->recv.valid)
		resp->recv.valid = cairn_env_rq_take(qpc, resp->rwqe) > 0;
	if (resp->recv.valid)
		cairn_recv_fail(qpc, CAIRN_CQE_LOC_ACCESS_ERR);
}

bool cairn_refuse_no_access(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (pkt->kept)
		return false;
	cairn_env_count(qpc, CAIRN_CTR_REMOTE_ACCESS_ERRORS, 1);
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	if (!cairn_qp_reliable(qpc))
		return false;
	if (pkt->op->hdrs & CAIRN_HDR_IMMDT)
		refuse_immediate(qpc);
	cairn_answer_fatal(qpc, pkt->psn, CAIRN_NAK_REMOTE_ACCESS,
			   CAIRN_ASYNC_QP_ACCESS_ERR);
	return false;
}

bool cairn_refuse_recv(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		       u8 status, enum cairn_nak code)
{
	if (status == CAIRN_CQE_LOC_PROT_ERR)
		cairn_env_count(qpc, CAIRN_CTR_LOCAL_PROT_ERRORS, 1);
	cairn_recv_fail(qpc, status);
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	if (cairn_qp_reliable(qpc)) {
		/* No event: the CQE reports the error to the host. */
		cairn_answer_fail(qpc, pkt->psn, code);
	} else {
		cairn_qpc_fail(qpc);
	}
	return false;
}

/* No receive is posted: RC sends an RNR NAK, the others drop the message. A kept packet
 * gets no RNR NAK, as it may be forged and the NAK ends the connection of a peer that
 * does not retry.
 */
bool cairn_refuse_not_ready(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (pkt->kept)
		return false;
	if (cairn_qp_reliable(qpc)) {
		cairn_answer_nak(&qpc->resp, pkt->psn,
				 CAIRN_AETH_RNR_NAK | qpc->attrs.min_rnr_timer);
		return false;
	}
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	cairn_env_count(qpc, CAIRN_CTR_RX_NO_WQE, 1);
	return false;
}

/* Memory is being faulted in: RC sends an RNR NAK, so that the peer retries; the others
 * drop the message. Each RNR NAK asks for four times the delay of the last, so that the
 * peer's retries last even for a page on a slow disk.
 */
bool cairn_refuse_not_present(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;

	if (pkt->kept)
		return false;
	if (!cairn_qp_reliable(qpc)) {
		resp->msg.kind = CAIRN_KIND_NONE;
		cairn_env_count(qpc, CAIRN_CTR_ODP_DROPS, 1);
		return false;
	}
	cairn_answer_nak(resp, pkt->psn, CAIRN_AETH_RNR_NAK |
			 (REFUSE_FAULT_TIMER + 4 * resp->odp.tries));
	if (resp->odp.tries < REFUSE_FAULT_TRIES)
		resp->odp.tries++;
	return false;
}

bool cairn_refuse_access(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			 int err)
{
	return err == -EAGAIN ? cairn_refuse_not_present(qpc, pkt) :
				cairn_refuse_no_access(qpc, pkt);
}

/* The message is not acknowledged (IBTA 9.9.3, local QP error), and its receive is
 * flushed. Even for a kept packet, as the error is the host's.
 */
bool cairn_refuse_fatal(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	if (cairn_qp_reliable(qpc))
		cairn_answer_fatal(qpc, pkt->psn, CAIRN_NAK_REMOTE_OP,
				   CAIRN_ASYNC_QP_FATAL);
	else
		cairn_qpc_fatal(qpc);
	return false;
}

/* After a NAK of a gap or an RNR NAK the peer sends the request again. */
bool cairn_refuse_told(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	/* The refusal may end a receive. With XRC that is one of the request's SRQ. */
	if (!cairn_request_take_srq(qpc, pkt))
		return false;
	switch (pkt->refuse) {
	case CAIRN_AETH_NAK | CAIRN_NAK_INVALID_REQUEST:
		return cairn_refuse_invalid(qpc, pkt);
	case CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS:
		return cairn_refuse_no_access(qpc, pkt);
	case CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_OP:
		return cairn_refuse_fatal(qpc, pkt);
	}
	cairn_answer_nak(&qpc->resp, pkt->psn, pkt->refuse);
	return false;
}
