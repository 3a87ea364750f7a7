// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Write persistence (Documentation/wire.rst) at the requester, between "received" and
 * "durable".
 *
 * Only a persistence ACK makes a WRITE_PERSIST durable. In default mode its
 * completion, and with it all later ones, waits for that ACK. In early mode the WQE
 * completes when received. Its record is kept, because the oldest posted receive
 * completes when the data is durable.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "engine/comp_ack.h"
#include "engine/completer.h"
#include "engine/gap.h"
#include "engine/latency.h"
#include "engine/peer_port.h"
#include "engine/persist_req.h"
#include "engine/req_emit.h"
#include "engine/req_record.h"
#include "engine/window.h"

/* Interval at which a durable message looks for a posted receive. */
#define RECV_RETRY_NS	1000000ULL

/* The record from which to search for one that is not durable. Records before it need
 * no second look, as a durable record stays durable.
 */
static u32 persist_first(const struct cairn_requester *req)
{
	return (s32)(req->persist.undurable_rec - req->kept_rec) > 0 ?
	       req->persist.undurable_rec : req->kept_rec;
}

/* The oldest WRITE_PERSIST that is not durable, or NULL. */
static struct cairn_swr *persist_oldest(struct cairn_requester *req, u32 *at)
{
	u32 n;

	if (!req->persist.outstanding)
		return NULL;
	for (n = persist_first(req); n != req->new_rec; n++) {
		struct cairn_swr *swr = cairn_req_swr(req, n);

		if (!cairn_req_swr_persists(swr) || swr->durable)
			continue;
		req->persist.undurable_rec = n;
		*at = n;
		return swr;
	}
	req->persist.undurable_rec = n;
	return NULL;
}

u32 cairn_persist_first_psn(struct cairn_requester *req)
{
	u32 n;
	const struct cairn_swr *swr = persist_oldest(req, &n);

	return swr && cairn_psn_diff(swr->psn, req->una) < 0 ? swr->psn :
							       req->una;
}

/* The record to probe for: the oldest that is not durable, if it is received. */
static struct cairn_swr *persist_awaited(struct cairn_requester *req, u32 *at)
{
	struct cairn_swr *swr = persist_oldest(req, at);

	return swr && cairn_req_swr_received(req, swr) ? swr : NULL;
}

u8 cairn_persist_need(const struct cairn_swr *swr)
{
	if (!cairn_req_swr_persists(swr))
		return 0;
	return swr->opcode == CAIRN_WQE_WRITE_PERSIST_IMM ?
	       CAIRN_NEED_PERSIST_IMM : CAIRN_NEED_PERSIST;
}

static u32 persist_last_psn(const struct cairn_swr *swr)
{
	return cairn_psn_add(swr->psn, swr->npkts - 1);
}

/* Does an answer with @psn cover all of @swr? Compare with the start, which is near
 * una. The end of a long message may be half the PSN space away from an old answer.
 */
static bool persist_reaches(const struct cairn_swr *swr, u32 psn)
{
	return cairn_psn_diff(psn, swr->psn) >= (s32)swr->npkts - 1;
}

/* Does a fence at the cursor have to wait for an earlier WRITE_PERSIST? */
bool cairn_persist_unfinished(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	u32 n;

	return persist_oldest(req, &n) && (s32)(n - req->send_rec) < 0;
}

/* Is the cursor too far ahead of the oldest undurable record for PSNs to compare? */
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

/* Early mode: complete a receive for @swr, which is durable or has failed. Return:
 * false if none is posted, or the QP has failed.
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
		.durability = status ? 0 : cairn_persist_kind(req),
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

/* Fail @swr, whose WQE has completed: a receive reports it. */
static void persist_fail_early(struct cairn_qpc *qpc,
			       const struct cairn_swr *swr)
{
	persist_complete_early(qpc, swr, swr->status, swr->vendor_err);
	cairn_qpc_fail(qpc);
}

/* Post the durable completions of early records, in order, and drop the records. A
 * failed record ends it.
 */
static void persist_deliver(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	if (req->persist.recv_at)
		return;
	for (; req->kept_rec != req->una_rec && req->reaps_left &&
	     cairn_state(qpc) != CAIRN_QP_ERR; req->kept_rec++) {
		struct cairn_swr *swr = cairn_req_swr(req, req->kept_rec);

		if (!cairn_req_swr_early(swr))
			continue;
		if (!swr->durable && swr->status)
			persist_fail_early(qpc, swr);
		if (!swr->durable)
			return;
		if (!persist_complete_early(qpc, swr, CAIRN_CQE_SUCCESS, 0)) {
			cairn_env_count(qpc, CAIRN_CTR_PERSIST_RECV_WAITS, 1);
			req->persist.recv_at = now + RECV_RETRY_NS;
			return;
		}
		req->reaps_left--;
		req->persist.outstanding--;
	}
}

/* The QP is about to fail, which drops what is durable and not reported. A receive may
 * have been posted since the last look.
 */
void cairn_persist_tell(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;

	if (req->kept_rec == req->una_rec)
		return;
	req->persist.recv_at = 0;
	persist_deliver(qpc, 0);
}

/* Fail record @n: no answer will report it durable. Records before it complete first. */
static void persist_fail(struct cairn_qpc *qpc, u32 n, u8 status,
			 u32 vendor_err)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr = cairn_req_swr(req, n);

	cairn_persist_tell(qpc);
	if (cairn_state(qpc) == CAIRN_QP_ERR)
		return;
	swr->status = status;
	swr->vendor_err = vendor_err;
	/* This run may post no more completions: a later one fails the record. */
	if (!req->reaps_left)
		return;
	if ((s32)(n - req->una_rec) >= 0)
		cairn_comp_fail_at(qpc, n, status, vendor_err);
	else
		persist_fail_early(qpc, swr);
}

/* At the end of a turn: post due completions, and set the probe's timer. */
void cairn_persist_run(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
		       u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u32 n;

	if (cairn_state(qpc) == CAIRN_QP_ERR)
		return;
	if (req->kept_rec != req->una_rec) {
		persist_deliver(qpc, now);
		/* A failure does not wait for a receive. */
		if (req->persist.recv_at)
			cairn_comp_reap(qpc, ahead);
	}
	if (!qpc->attrs.timeout || !persist_awaited(req, &n))
		req->persist.probe_at = 0;
	else if (!req->persist.probe_at)
		req->persist.probe_at = now + (4096ULL << qpc->attrs.timeout <<
					       min_t(u32, req->retries, 2));
}

/* The WQE and its memory have been released to the host, so the last packet is sent
 * again with zeros. The peer does not place it, as it is a duplicate. It is always a
 * LAST, even if the message was an ONLY: a peer that was reset and expects this very
 * PSN refuses a LAST instead of placing the zeros.
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

/* Probe for the persistence ACK of record @n, which is @swr. */
static void persist_probe(struct cairn_qpc *qpc, u32 n, struct cairn_swr *swr)
{
	int err;

	cairn_env_count(qpc, CAIRN_CTR_PERSIST_PROBES, 1);
	if ((s32)(n - qpc->req.una_rec) < 0)
		err = persist_probe_early(qpc, swr);
	else
		err = cairn_req_repeat_last(qpc, swr);
	/* If memory is not present, the probe counts as lost. */
	if (err && err != -EAGAIN)
		persist_fail(qpc, n, err == -EFAULT ? CAIRN_CQE_LOC_PROT_ERR :
					    CAIRN_CQE_LOC_QP_OP_ERR, -err);
}

/* Is the packet to retransmit refused? */
static bool persist_stuck(struct cairn_requester *req)
{
	return req->send_rec != req->new_rec &&
	       cairn_req_swr(req, req->send_rec)->status && !req->ack_deadline;
}

/* While other packets are in flight, their ACK timer detects a dead peer and spends the
 * retries. That timer stops when a packet has to be retransmitted and is refused, as
 * its failure waits for the undurable record. Then the probe spends the retries.
 */
void cairn_persist_expire(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr;
	u32 n;

	if (now >= req->persist.recv_at)
		req->persist.recv_at = 0;
	if (!req->persist.probe_at || now < req->persist.probe_at ||
	    cairn_state(qpc) == CAIRN_QP_ERR)
		return;
	req->persist.probe_at = 0;
	swr = persist_awaited(req, &n);
	if (!swr)
		return;
	if (!cairn_req_outstanding(req) || persist_stuck(req)) {
		cairn_env_count(qpc, CAIRN_CTR_ACK_TIMEOUTS, 1);
		cairn_peer_port_doubt(&req->peer_port);
		if (req->retries >= qpc->attrs.retry_cnt) {
			cairn_env_count(qpc, CAIRN_CTR_RETRY_EXCEEDED, 1);
			persist_fail(qpc, n, CAIRN_CQE_RETRY_EXC_ERR, 0);
			return;
		}
		req->retries++;
	}
	persist_probe(qpc, n, swr);
}

/* The peer has answered a probe: wait on, as its host has no time limit. */
static void persist_peer_alive(struct cairn_qpc *qpc)
{
	qpc->req.retries = 0;
	qpc->req.persist.probe_at = 0;
}

/* An ACK of a packet that is acknowledged already: is it the answer to a probe? */
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
		req->persist.proved |= CAIRN_NEED_PERSIST |
				       cairn_persist_need(swr);
		if (!(swr->flags & CAIRN_WQE_EARLY))
			req->persist.outstanding--;
	}
	req->persist.undurable_rec = n;
	if (req->timed)
		cairn_latency_durable(req, now);
}

/* One answer may cover messages into several regions: it names the weakest durability.
 * A number that is not known is weaker than all that are.
 */
static void persist_note_durability(struct cairn_requester *req, u8 durability)
{
	req->persist.durability = max(req->persist.durability, durability);
}

static void persist_rx_failure(struct cairn_qpc *qpc,
			       const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u32 n;

	cairn_env_count(qpc, CAIRN_CTR_PERSIST_NAKS_RECEIVED, 1);
	persist_note_durability(req, pkt->durability);
	persist_mark_durable(req, pkt->psn, now);
	cairn_comp_ack_before(qpc, pkt->psn, now);
	if (cairn_state(qpc) == CAIRN_QP_ERR)
		return;
	/* Complete the records before it first; then this one fails. */
	cairn_comp_reap(qpc, NULL);
	if (persist_oldest(req, &n) && cairn_state(qpc) != CAIRN_QP_ERR)
		persist_fail(qpc, n, CAIRN_CQE_REM_OP_ERR, pkt->syndrome);
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
	return swr && pkt->psn == req->persist.newest_psn;
}

bool cairn_persist_probed(struct cairn_requester *req, u32 psn)
{
	u32 n;
	const struct cairn_swr *swr = persist_awaited(req, &n);

	return swr && psn == persist_last_psn(swr);
}

/* Handle a PERSIST ACKNOWLEDGE. Even if it reports no new durable message, it may
 * acknowledge retransmitted packets.
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
