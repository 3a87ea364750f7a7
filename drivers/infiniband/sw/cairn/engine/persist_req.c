// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Write persistence (Documentation/wire.rst): what the requester does between
 * "received" and "durable".
 *
 * Only a persistence ACK makes a WRITE_PERSIST durable. In default mode its
 * completion, and with it all later ones, waits for that. In early mode the WQE
 * completes when received; its record is kept, because then the oldest posted
 * receive completes when durable.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "engine/completer.h"
#include "engine/gap.h"
#include "engine/legs.h"
#include "engine/persist_req.h"
#include "engine/requester.h"
#include "engine/window.h"

/* How long a durable message waits to look again for a posted receive. */
#define RECV_RETRY_NS	1000000ULL

/* Where to look for what is not durable. What was looked at once is not looked
 * at again: durability does not go back.
 */
static u32 persist_first(const struct cairn_requester *req)
{
	return (s32)(req->undurable_rec - req->kept_rec) > 0 ?
	       req->undurable_rec : req->kept_rec;
}

/* The oldest WRITE_PERSIST that is not durable, or NULL. */
static struct cairn_swr *persist_oldest(struct cairn_requester *req, u32 *at)
{
	u32 n;

	if (!req->persists)
		return NULL;
	for (n = persist_first(req); n != req->new_rec; n++) {
		struct cairn_swr *swr = cairn_req_swr(req, n);

		if (!cairn_req_swr_persists(swr) || swr->durable)
			continue;
		req->undurable_rec = n;
		*at = n;
		return swr;
	}
	req->undurable_rec = n;
	return NULL;
}

u32 cairn_persist_first_psn(struct cairn_requester *req)
{
	u32 n;
	const struct cairn_swr *swr = persist_oldest(req, &n);

	return swr && cairn_psn_diff(swr->psn, req->una) < 0 ? swr->psn :
							       req->una;
}

/* The one to probe for: the oldest, if it is received. */
static struct cairn_swr *persist_awaited(struct cairn_requester *req, u32 *at)
{
	struct cairn_swr *swr = persist_oldest(req, at);

	return swr && cairn_req_swr_received(req, swr) ? swr : NULL;
}

static u32 persist_last_psn(const struct cairn_swr *swr)
{
	return cairn_psn_add(swr->psn, swr->npkts - 1);
}

/* Does an answer with @psn cover all of @swr? Its start is compared: that is
 * near una, while the end of a long message may be half the ring away from an
 * old answer.
 */
static bool persist_reaches(const struct cairn_swr *swr, u32 psn)
{
	return cairn_psn_diff(psn, swr->psn) >= (s32)swr->npkts - 1;
}

/* For a fence: is an earlier WRITE_PERSIST than the one at the cursor not
 * durable?
 */
bool cairn_persist_unfinished(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	u32 n;

	return persist_oldest(req, &n) && (s32)(n - req->send_rec) < 0;
}

/* Is the cursor so far ahead of what waits that PSNs would not compare? */
bool cairn_persist_far(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr;
	u32 n;

	swr = persist_oldest(req, &n);
	if (!swr || n == req->send_rec)
		return false;
	return cairn_psn_diff(cairn_req_cursor(req), swr->psn) >=
	       (s32)(CAIRN_PSN_SPAN - CAIRN_WINDOW_PACKETS);
}

/* Early mode: consume a receive for @swr, which is durable or has failed. False:
 * none is posted, or the QP has failed.
 */
static bool persist_complete_early(struct cairn_qpc *qpc,
				   const struct cairn_swr *swr, u8 status,
				   u32 vendor_err)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_cqe cqe = {
		.qpn = qpc->qpn,
		.opcode = CAIRN_CQE_RECV_DURABLE,
		.status = status,
		.vendor_err = vendor_err,
		.persist_va = swr->va,
		.psn = persist_last_psn(swr),
		.durability = status ? 0 : req->durability,
	};
	union cairn_wqe_buf recv __uninitialized;
	int units = cairn_env_rq_take(qpc, &recv);

	if (units < 0)
		cairn_qpc_fatal(qpc);
	if (units <= 0)
		return false;
	cqe.wr_id = recv.recv.wr_id;
	if (swr->flags & CAIRN_WQE_SOLICITED)
		cqe.flags |= CAIRN_CQE_SOLICITED;
	if (!cairn_comp_complete(qpc, CAIRN_RESP, &cqe))
		cairn_qpc_fatal(qpc);
	return true;
}

/* Record @n will not become durable, as far as we shall know. */
static void persist_fail(struct cairn_qpc *qpc, u32 n, u8 status,
			 u32 vendor_err)
{
	struct cairn_requester *req = &qpc->req;

	if ((s32)(n - req->una_rec) >= 0) {
		cairn_comp_fail_at(qpc, n, status, vendor_err);
		return;
	}
	persist_complete_early(qpc, cairn_req_swr(req, n), status, vendor_err);
	cairn_qpc_fail(qpc);
}

/* Tell what early ones have become durable, in order, and forget their records. One
 * that has failed ends it.
 */
static void persist_deliver(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	if (req->recv_at)
		return;
	for (; req->kept_rec != req->una_rec && req->reaps_left &&
	     cairn_state(qpc) != CAIRN_QP_ERR; req->kept_rec++) {
		struct cairn_swr *swr = cairn_req_swr(req, req->kept_rec);

		if (!cairn_req_swr_early(swr))
			continue;
		if (!swr->durable && swr->status)
			persist_fail(qpc, req->kept_rec, swr->status,
				     swr->vendor_err);
		if (!swr->durable)
			return;
		if (!persist_complete_early(qpc, swr, CAIRN_CQE_SUCCESS, 0)) {
			cairn_env_count(qpc, CAIRN_CTR_PERSIST_RECV_WAITS, 1);
			req->recv_at = now + RECV_RETRY_NS;
			return;
		}
		req->reaps_left--;
		req->persists--;
	}
}

/* At the end of a turn: completions that are due, and the probe's timer. */
void cairn_persist_run(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u32 tries = qpc->attrs.retry_cnt - req->retries, n;

	if (cairn_state(qpc) == CAIRN_QP_ERR)
		return;
	if (req->kept_rec != req->una_rec) {
		persist_deliver(qpc, now);
		/* What fails does not wait for a receive. */
		if (req->recv_at)
			cairn_comp_reap(qpc);
	}
	if (!qpc->attrs.timeout || !persist_awaited(req, &n))
		req->probe_at = 0;
	else if (!req->probe_at)
		req->probe_at = now + (4096ULL << qpc->attrs.timeout <<
				       min(tries, 2u));
}

/* The WQE and its memory are the host's again: the last packet, which is a
 * duplicate and not placed, goes out with zeros. As a LAST, also where the
 * message was an ONLY: a peer that was set up afresh and expects this very PSN
 * refuses it instead of placing the zeros.
 */
static int persist_probe_early(struct cairn_qpc *qpc,
			       const struct cairn_swr *swr)
{
	static const u8 zeros[4096];
	u32 len = swr->length - (swr->npkts - 1) * qpc->attrs.pmtu;
	struct cairn_train train = {
		.count = 1,
		.retransmit = true,
		.seg = len,
		.length = len,
		.inline_data = zeros,
		.first = {
			.opcode = CAIRN_BTH_WRITE_PERSIST_LAST,
			.pkey = qpc->attrs.pkey,
			.qpn = qpc->attrs.dqpn,
			.psn = persist_last_psn(swr),
			.ack_req = true,
			.payload_len = len,
			.va = swr->va,
			.rkey = swr->rkey,
			.dma_len = swr->length,
		},
	};

	return cairn_env_emit(qpc, CAIRN_REQ, &train);
}

/* Ask for the answer of record @n, which is @swr. */
static void persist_probe(struct cairn_qpc *qpc, u32 n, struct cairn_swr *swr)
{
	int err;

	cairn_env_count(qpc, CAIRN_CTR_PERSIST_PROBES, 1);
	if ((s32)(n - qpc->req.una_rec) < 0)
		err = persist_probe_early(qpc, swr);
	else
		err = cairn_req_repeat_last(qpc, swr);
	/* Absent memory: as if the probe had been lost. */
	if (err && err != -EAGAIN)
		persist_fail(qpc, n, err == -EFAULT ? CAIRN_CQE_LOC_PROT_ERR :
					    CAIRN_CQE_LOC_QP_OP_ERR, -err);
}

/* Is what is to be repeated refused? */
static bool persist_stuck(struct cairn_requester *req)
{
	return req->send_rec != req->new_rec &&
	       cairn_req_swr(req, req->send_rec)->status && !req->ack_deadline;
}

/* While other packets are on the way, their timer watches over the peer, and
 * spends the retries. It stops where they are to be repeated and cannot be: a
 * request that is refused waits for what is not durable.
 */
void cairn_persist_expire(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr;
	u32 n;

	if (now >= req->recv_at)
		req->recv_at = 0;
	if (!req->probe_at || now < req->probe_at ||
	    cairn_state(qpc) == CAIRN_QP_ERR)
		return;
	req->probe_at = 0;
	swr = persist_awaited(req, &n);
	if (!swr)
		return;
	if (!cairn_req_outstanding(req) || persist_stuck(req)) {
		cairn_env_count(qpc, CAIRN_CTR_ACK_TIMEOUTS, 1);
		cairn_req_doubt_port(req);
		if (!req->retries) {
			cairn_env_count(qpc, CAIRN_CTR_RETRY_EXCEEDED, 1);
			persist_fail(qpc, n, CAIRN_CQE_RETRY_EXC_ERR, 0);
			return;
		}
		req->retries--;
	}
	persist_probe(qpc, n, swr);
}

/* The peer lives, its host may take as long as it likes. */
static void persist_peer_alive(struct cairn_qpc *qpc)
{
	qpc->req.retries = qpc->attrs.retry_cnt;
	qpc->req.probe_at = 0;
}

/* An answer to what is acknowledged already: is it one to a probe? */
bool cairn_persist_alive(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr;
	u32 n;

	swr = persist_awaited(req, &n);
	if (!swr || pkt->op->kind != CAIRN_KIND_ACK ||
	    (pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_ACK ||
	    !persist_reaches(swr, pkt->psn) ||
	    cairn_psn_diff(pkt->psn, req->una) >= 0)
		return false;
	cairn_env_count(qpc, CAIRN_CTR_ACKS_RECEIVED, 1);
	persist_peer_alive(qpc);
	return true;
}

/* Every WRITE_PERSIST that ends before @psn is durable. */
static void persist_mark_durable(struct cairn_requester *req, u32 psn,
				 u64 now)
{
	u32 n = persist_first(req);

	for (; n != req->new_rec; n++) {
		struct cairn_swr *swr = cairn_req_swr(req, n);

		if (!persist_reaches(swr, cairn_psn_add(psn, CAIRN_24BIT_MASK)))
			break;
		if (!cairn_req_swr_persists(swr) || swr->durable)
			continue;
		swr->durable = true;
		if (!(swr->flags & CAIRN_WQE_EARLY))
			req->persists--;
	}
	req->undurable_rec = n;
	if (req->timed)
		cairn_legs_durable(req, now);
}

/* One ACK may speak for messages into several regions: it names the weakest. */
static void persist_note_durability(struct cairn_requester *req, u8 durability)
{
	if (durability <= CAIRN_DURABILITY_EMULATED)
		req->durability = max(req->durability, durability);
}

static void persist_rx_failure(struct cairn_qpc *qpc,
			       const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr;
	u32 n;

	cairn_env_count(qpc, CAIRN_CTR_PERSIST_NAKS_RECEIVED, 1);
	persist_mark_durable(req, pkt->psn, now);
	cairn_comp_ack_before(qpc, pkt->psn, now);
	if (cairn_state(qpc) == CAIRN_QP_ERR)
		return;
	/* What was marked may complete; then it is this one's turn. */
	cairn_comp_reap(qpc);
	persist_deliver(qpc, now);
	swr = persist_oldest(req, &n);
	if (!swr || cairn_state(qpc) == CAIRN_QP_ERR)
		return;
	if (req->reaps_left) {
		persist_fail(qpc, n, CAIRN_CQE_REM_OP_ERR, pkt->syndrome);
		return;
	}
	/* So many come before it. */
	swr->status = CAIRN_CQE_REM_OP_ERR;
	swr->vendor_err = pkt->syndrome;
}

static bool persist_is_failure(u8 syndrome)
{
	return syndrome == (CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_OP);
}

bool cairn_persist_tells_most(struct cairn_requester *req,
			      const struct cairn_pkt *pkt)
{
	u32 n;
	const struct cairn_swr *swr = persist_oldest(req, &n);

	if (swr && persist_is_failure(pkt->syndrome))
		return pkt->psn == persist_last_psn(swr);
	return swr && pkt->psn == req->persist_psn;
}

bool cairn_persist_probed(struct cairn_requester *req, u32 psn)
{
	u32 n;
	const struct cairn_swr *swr = persist_awaited(req, &n);

	return swr && psn == persist_last_psn(swr);
}

/* A PERSIST ACKNOWLEDGE arrived. It may say nothing new of durability and yet
 * acknowledge the receipt of what was repeated.
 */
void cairn_persist_ack(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		       u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u32 n, end = cairn_psn_add(pkt->psn, 1);
	struct cairn_swr *swr = persist_oldest(req, &n);
	bool news = swr && persist_reaches(swr, pkt->psn);

	if ((!news && cairn_psn_diff(pkt->psn, req->una) < 0) ||
	    cairn_psn_diff(pkt->psn, req->sent) >= 0) {
		cairn_env_count(qpc, CAIRN_CTR_STALE_RESPONSES, 1);
		return;
	}
	if (news && persist_is_failure(pkt->syndrome)) {
		persist_rx_failure(qpc, pkt, now);
		return;
	}
	if ((pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_ACK) {
		cairn_env_count(qpc, CAIRN_CTR_RX_MALFORMED, 1);
		return;
	}
	cairn_env_count(qpc, CAIRN_CTR_PERSIST_ACKS_RECEIVED, 1);
	persist_note_durability(req, pkt->durability);
	persist_mark_durable(req, end, now);
	cairn_comp_take_credits(req, pkt);
	persist_peer_alive(qpc);
	if (cairn_psn_diff(end, req->una) > 0)
		cairn_comp_ack_before(qpc, end, now);
	cairn_gap_answer(qpc, false, now);
}
