// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Acknowledgements of requests: progress, credits, retries, refusals (IBTA 9.7.5, 9.7.7,
 * 9.9.2).
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "engine/aeth.h"
#include "engine/comp_ack.h"
#include "engine/completer.h"
#include "engine/gap.h"
#include "engine/latency.h"
#include "engine/peer_port.h"
#include "engine/persist_req.h"
#include "engine/req_record.h"
#include "engine/requester.h"
#include "engine/window.h"

/* Spend one retry, or fail the oldest WQE when none is left. A retry_cnt of 7 is not
 * infinite.
 */
static bool comp_spend_retry(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;

	if (req->retries >= qpc->attrs.retry_cnt) {
		cairn_env_count(qpc, CAIRN_CTR_RETRY_EXCEEDED, 1);
		cairn_comp_fail(qpc, CAIRN_CQE_RETRY_EXC_ERR, 0);
		return false;
	}
	req->retries++;
	req->ack_deadline = 0;
	return true;
}

/* The need of the oldest unanswered request: enum cairn_need. */
static u8 comp_need(struct cairn_requester *req)
{
	return cairn_persist_need(cairn_req_swr(req, cairn_comp_awaited_rec(req)));
}

/* The first request of its kind is unanswered: the peer may not support it, so ask. */
static void comp_doubt_peer(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	u8 need = comp_need(req);

	if (!(need & ~(req->persist.doubted | req->persist.proved)))
		return;
	req->persist.doubted |= need;
	cairn_env_ask_peer(qpc);
}

void cairn_comp_peer_unable(struct cairn_qpc *qpc, u8 able)
{
	struct cairn_requester *req = &qpc->req;
	u8 state = cairn_state(qpc);

	if (cairn_req_outstanding(req) &&
	    (state == CAIRN_QP_RTS || state == CAIRN_QP_SQD) &&
	    comp_need(req) & req->persist.doubted & ~able)
		cairn_comp_fail(qpc, CAIRN_CQE_REM_INV_REQ_ERR, 0);
}

void cairn_comp_expire(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	if (req->rnr_until && now >= req->rnr_until)
		req->rnr_until = 0;
	if (req->rtt.probe_deadline && now >= req->rtt.probe_deadline &&
	    !cairn_gap_put_off(qpc, now)) {
		cairn_peer_port_doubt(&req->peer_port);
		cairn_gap_probe(qpc);
	}
	if (!req->ack_deadline || now < req->ack_deadline)
		return;
	if (cairn_req_outstanding(req) && cairn_req_put_ack_off(qpc, now))
		return;
	req->ack_deadline = 0;
	if (!cairn_req_outstanding(req))
		return;
	/* Memory of this host is being faulted in: the peer is not late. */
	if (req->odp.faulting) {
		cairn_req_rearm(qpc, now);
		return;
	}
	cairn_env_count(qpc, CAIRN_CTR_ACK_TIMEOUTS, 1);
	req->implied_nak = false;
	cairn_peer_port_doubt(&req->peer_port);
	comp_doubt_peer(qpc);
	if (comp_spend_retry(qpc))
		cairn_gap_timeout(qpc);
}

/* A later answer implies that a READ or atomic response was lost. */
static void comp_implied_nak(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;

	if (req->implied_nak || cairn_gap_read(qpc))
		return;
	if (req->odp.faulting) {
		req->odp.ask_again = true;
		return;
	}
	req->implied_nak = true;
	cairn_env_count(qpc, CAIRN_CTR_IMPLIED_NAKS, 1);
	if (comp_spend_retry(qpc))
		cairn_gap_repeat_read(qpc);
}

void cairn_comp_clip(struct cairn_requester *req)
{
	while (req->send_rec != req->new_rec) {
		struct cairn_swr *swr = cairn_req_swr(req, req->send_rec);
		s32 off = cairn_req_swr_offset(swr, req->una);

		if (off < 0 || (off <= (s32)req->pkt && !swr->local_done))
			break;
		if (off < (s32)swr->npkts) {
			req->pkt = off;
			break;
		}
		req->send_rec++;
		req->pkt = 0;
	}
}

/* Advance una to @end over responses that have been placed. Return: false if one is
 * missing.
 */
static bool comp_skip_responses(struct cairn_requester *req, u32 end)
{
	while (req->una != end && cairn_gap_got(req, req->una)) {
		cairn_gap_set_got(req, req->una, false);
		req->una = cairn_psn_add(req->una, 1);
	}
	return req->una == end;
}

bool cairn_comp_advance_una(struct cairn_requester *req, u32 psn)
{
	u32 n;

	if (cairn_psn_diff(psn, req->acked) > 0)
		req->acked = psn;
	for (n = req->ack_rec; n != req->new_rec; n++) {
		struct cairn_swr *swr = cairn_req_swr(req, n);
		u32 end = cairn_psn_add(swr->psn, swr->npkts);

		if (cairn_psn_diff(req->acked, req->una) <= 0 &&
		    !swr->local_done)
			break;
		if (cairn_psn_diff(end, req->una) <= 0)
			continue;
		if (!(cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_READS))
			req->una = cairn_psn_diff(req->acked, end) < 0 ?
					   req->acked :
					   end;
		else if (!comp_skip_responses(req, end))
			break;
		if (req->una != end)
			break;
	}
	req->ack_rec = n;
	return cairn_psn_diff(req->una, psn) >= 0;
}

void cairn_comp_refused(struct cairn_qpc *qpc, u8 syndrome)
{
	static const u8 status[] = {
		[CAIRN_NAK_INVALID_REQUEST] = CAIRN_CQE_REM_INV_REQ_ERR,
		[CAIRN_NAK_REMOTE_ACCESS] = CAIRN_CQE_REM_ACCESS_ERR,
		[CAIRN_NAK_REMOTE_OP] = CAIRN_CQE_REM_OP_ERR,
		[CAIRN_NAK_INVALID_RD_REQUEST] = CAIRN_CQE_REM_INV_REQ_ERR,
	};

	cairn_comp_fail(qpc, status[syndrome & CAIRN_AETH_VALUE_MASK], syndrome);
}

struct cairn_swr *cairn_comp_record_of(struct cairn_requester *req, u32 psn,
				       u8 op_flag)
{
	u32 n = cairn_req_find(req, psn);
	struct cairn_swr *swr = cairn_req_swr(req, n);

	return n != req->new_rec && cairn_comp_responses(swr) == op_flag ?
		       swr : NULL;
}

/*
 * A READ may be requested again while its responses are in flight. The peer may then
 * refuse a request whose responses have arrived, and it sends that NAK once. The READ
 * responses that are still missing will not come. No more than a window was in flight,
 * so the length of the READs does not help a forged NAK.
 */
bool cairn_comp_refuses_reads(struct cairn_qpc *qpc, u32 nak_psn)
{
	struct cairn_requester *req = &qpc->req;
	s32 behind = cairn_psn_diff(req->una, nak_psn);

	return behind > 0 && behind <= (s32)cairn_window(qpc) &&
	       cairn_comp_record_of(req, req->una, CAIRN_WOP_READS);
}

/*
 * A NAK that ends the connection may overtake the READ responses before it. It is
 * kept, as the peer does not repeat it: in its error state it does not answer.
 */
static void comp_late_refusal(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	s32 ahead = cairn_psn_diff(req->late_nak.psn, req->una);
	u8 syndrome = req->late_nak.syndrome;

	if (!syndrome || ahead > 0)
		return;
	req->late_nak.syndrome = 0;
	if (cairn_state(qpc) != CAIRN_QP_ERR &&
	    (!ahead || cairn_comp_refuses_reads(qpc, req->late_nak.psn)))
		cairn_comp_refused(qpc, syndrome);
}

void cairn_comp_progress(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	/* An RNR NAK was followed by the answer itself: do not wait any more. */
	req->rnr_until = 0;
	req->retries = 0;
	req->rnr_retries = 0;
	req->implied_nak = false;
	if (req->timed)
		cairn_latency_answered(req, now);
	cairn_comp_reap(qpc, NULL);
	comp_late_refusal(qpc);
	cairn_gap_progress(req, now);
	cairn_comp_clip(req);
	cairn_req_rearm(qpc, now);
}

bool cairn_comp_ack_before(struct cairn_qpc *qpc, u32 psn, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u32 una = req->una;
	bool clear = cairn_comp_advance_una(req, psn);

	if (req->una != una)
		cairn_comp_progress(qpc, now);
	if (!clear)
		comp_implied_nak(qpc);
	return clear && cairn_state(qpc) != CAIRN_QP_ERR;
}

/* Credits are never taken back: the code rounds down, and a persistence ACK counts
 * from the MSN of a message that may be old (IBTA 9.7.7.2).
 */
void cairn_comp_take_credits(struct cairn_requester *req,
			     const struct cairn_pkt *pkt)
{
	int credits = cairn_aeth_decode_credits(pkt->syndrome);
	u32 lsn = cairn_psn_add(pkt->msn, max(credits, 0));

	if (credits >= 0 &&
	    (!req->credits.valid || cairn_psn_diff(lsn, req->credits.lsn) > 0))
		req->credits.lsn = lsn;
	req->credits.valid = credits >= 0;
}

static void comp_rx_ack(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			u64 now)
{
	cairn_env_count(qpc, CAIRN_CTR_ACKS_RECEIVED, 1);
	cairn_comp_take_credits(&qpc->req, pkt);
	cairn_comp_ack_before(qpc, cairn_psn_add(pkt->psn, 1), now);
	cairn_gap_answer(qpc, true, now);
}

void cairn_comp_wait_for_receive(struct cairn_qpc *qpc,
				 const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	/* A second NAK of a request that waits already. */
	if (req->rnr_until)
		return;
	if (qpc->attrs.rnr_retry != 7) {
		if (req->rnr_retries >= qpc->attrs.rnr_retry) {
			cairn_env_count(qpc, CAIRN_CTR_RNR_RETRY_EXCEEDED, 1);
			cairn_comp_fail(qpc, CAIRN_CQE_RNR_RETRY_EXC_ERR,
					pkt->syndrome);
			return;
		}
		req->rnr_retries++;
	}
	cairn_gap_forget(req);
	cairn_req_rewind(qpc, req->una);
	req->ack_deadline = 0;
	req->rnr_until = now + cairn_aeth_rnr_ns(pkt->syndrome);
}

static void comp_rx_rnr_nak(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			    u64 now)
{
	cairn_env_count(qpc, CAIRN_CTR_RNR_NAKS_RECEIVED, 1);
	if (!cairn_comp_ack_before(qpc, pkt->psn, now))
		return;
	/* The peer lives. A NAK from an unknown port would not prove that. */
	qpc->req.retries = 0;
	cairn_comp_wait_for_receive(qpc, pkt, now);
}

static void comp_rx_nak(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u8 code = pkt->syndrome & CAIRN_AETH_VALUE_MASK;

	if (code > CAIRN_NAK_INVALID_RD_REQUEST) {
		cairn_env_count(qpc, CAIRN_CTR_RX_MALFORMED, 1);
		return;
	}
	cairn_env_count(qpc, code == CAIRN_NAK_PSN_SEQ ?
			CAIRN_CTR_SEQ_NAKS_RECEIVED :
			CAIRN_CTR_FATAL_NAKS_RECEIVED, 1);
	if (!cairn_comp_ack_before(qpc, pkt->psn, now)) {
		if (code == CAIRN_NAK_PSN_SEQ) {
			cairn_gap_later_nak(req, pkt->psn);
		} else if (cairn_state(qpc) != CAIRN_QP_ERR) {
			req->late_nak.syndrome = pkt->syndrome;
			req->late_nak.psn = pkt->psn;
		}
		return;
	}
	if (code != CAIRN_NAK_PSN_SEQ)
		cairn_comp_refused(qpc, pkt->syndrome);
	else if (comp_spend_retry(qpc))
		cairn_gap_nak(qpc);
}

void cairn_comp_rx_aeth(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			u64 now)
{
	switch (pkt->syndrome & CAIRN_AETH_TYPE_MASK) {
	case CAIRN_AETH_ACK:
		comp_rx_ack(qpc, pkt, now);
		break;
	case CAIRN_AETH_RNR_NAK:
		comp_rx_rnr_nak(qpc, pkt, now);
		break;
	case CAIRN_AETH_NAK:
		comp_rx_nak(qpc, pkt, now);
		break;
	default:
		cairn_env_count(qpc, CAIRN_CTR_RX_MALFORMED, 1);
	}
}
