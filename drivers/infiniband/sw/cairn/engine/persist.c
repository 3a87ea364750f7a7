// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Write persistence (Documentation/wire.rst): what the requester does between
 * "received" and "durable", and what the responder must not say before a
 * message is durable.
 *
 * Requester: only a persistence ACK makes a WRITE_PERSIST durable. In default
 * mode its completion, and with it all later ones, waits for that. In early
 * mode the WQE completes when received; its record is kept, because then the
 * oldest posted receive completes when durable.
 *
 * Responder: with NIC flush a message is durable after the fence that follows
 * its last packet, and every answer leaves after that fence. With host flush it
 * becomes pending. The watermark advances over pending messages in PSN order
 * only; a pending plain RDMA WRITE also holds back every answer that would
 * acknowledge it.
 */
#include "engine/internal.h"

/* How long a durable message waits to look again for a posted receive. */
#define RECV_RETRY_NS	1000000ULL

/*
 * Requester.
 */

/* The oldest WRITE_PERSIST that is not durable, or NULL. */
static struct cairn_swr *oldest(struct cairn_requester *r, u32 *at)
{
	u32 n;

	if (!r->persists)
		return NULL;
	for (n = r->kept_rec; n != r->new_rec; n++) {
		struct cairn_swr *s = cairn_req_swr(r, n);

		if (!cairn_swr_persists(s) || s->durable)
			continue;
		*at = n;
		return s;
	}
	return NULL;
}

/* The one to probe for: the oldest, if it is received. */
static struct cairn_swr *waiting(struct cairn_requester *r, u32 *at)
{
	struct cairn_swr *s = oldest(r, at);

	return s && cairn_swr_received(r, s) ? s : NULL;
}

static u32 last_psn(const struct cairn_swr *s)
{
	return cairn_psn_add(s->psn, s->npkts - 1);
}

/* For a fence: is an earlier WRITE_PERSIST than the one at the cursor not
 * durable?
 */
bool cairn_persist_unfinished(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;
	u32 n;

	return oldest(r, &n) && (s32)(n - r->send_rec) < 0;
}

/* Is the cursor so far ahead of what waits that PSNs would not compare? */
bool cairn_persist_far(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *s;
	u32 n;

	s = oldest(r, &n);
	if (!s || n == r->send_rec)
		return false;
	return cairn_psn_diff(cairn_req_cursor(r), s->psn) >=
	       (s32)(CAIRN_PSN_SPAN - CAIRN_WINDOW_PACKETS);
}

/* Early mode: consume a receive for @s, which is durable or has failed. False:
 * none is posted, or the QP has failed.
 */
static bool complete_early(struct cairn_qpc *q, const struct cairn_swr *s,
			   u8 status, u32 vendor_err)
{
	struct cairn_requester *r = &q->req;
	struct cairn_cqe cqe = {
		.qpn = q->qpn,
		.opcode = CAIRN_CQE_RECV_DURABLE,
		.status = status,
		.vendor_err = vendor_err,
		.persist_va = s->va,
		.psn = last_psn(s),
	};
	int units = cairn_port_rq_take(q, &r->wqe);

	r->wqe_valid = false;
	if (units < 0) {
		cairn_port_async(q, CAIRN_ASYNC_QP_FATAL);
		cairn_qpc_fail(q);
	}
	if (units <= 0)
		return false;
	cqe.wr_id = r->wqe.recv.wr_id;
	if (s->flags & CAIRN_WQE_SOLICITED)
		cqe.flags |= CAIRN_CQE_SOLICITED;
	cairn_port_complete(q, CAIRN_RESP, &cqe);
	return true;
}

/* Tell what early ones have become durable, in order; forget their records. */
static void deliver(struct cairn_qpc *q, u64 now)
{
	struct cairn_requester *r = &q->req;

	if (r->recv_at)
		return;
	for (; r->kept_rec != r->una_rec; r->kept_rec++) {
		struct cairn_swr *s = cairn_req_swr(r, r->kept_rec);

		if (!cairn_swr_early(s))
			continue;
		if (!s->durable)
			return;
		if (!complete_early(q, s, CAIRN_CQE_SUCCESS, 0)) {
			cairn_port_count(q, CAIRN_CTR_PERSIST_RECV_WAITS, 1);
			r->recv_at = now + RECV_RETRY_NS;
			return;
		}
		r->persists--;
	}
}

/* At the end of a turn: completions that are due, and the probe's timer. */
void cairn_persist_run(struct cairn_qpc *q, u64 now)
{
	struct cairn_requester *r = &q->req;
	u32 tries = q->attrs.retry_cnt - r->retries, n;

	if (cairn_state(q) == CAIRN_QP_ERR)
		return;
	if (r->kept_rec != r->una_rec)
		deliver(q, now);
	if (!q->attrs.timeout || !waiting(r, &n))
		r->probe_at = 0;
	else if (!r->probe_at)
		r->probe_at = now + (4096ULL << q->attrs.timeout <<
				     min(tries, 2u));
}

/* The WQE and its memory are the host's again: the last packet, which is a
 * duplicate and not placed, goes out with zeros.
 */
static int probe_early(struct cairn_qpc *q, const struct cairn_swr *s)
{
	static const u8 zeros[4096];
	u32 len = s->length - (s->npkts - 1) * q->attrs.pmtu;
	struct cairn_train t = {
		.count = 1,
		.retransmit = true,
		.seg = len,
		.length = len,
		.inline_data = zeros,
		.first = {
			.opcode = s->npkts == 1 ?
				  CAIRN_BTH_WRITE_PERSIST_ONLY :
				  CAIRN_BTH_WRITE_PERSIST_LAST,
			.pkey = q->attrs.pkey,
			.qpn = q->attrs.dqpn,
			.psn = last_psn(s),
			.ack_req = true,
			.payload_len = len,
			.va = s->va,
			.rkey = s->rkey,
			.dma_len = s->length,
		},
	};

	return cairn_port_emit(q, CAIRN_REQ, &t);
}

/* Record @n will not become durable, as far as we shall know. */
static void fail(struct cairn_qpc *q, u32 n, u8 status, u32 vendor_err)
{
	struct cairn_requester *r = &q->req;

	if ((s32)(n - r->una_rec) >= 0) {
		cairn_req_fail_at(q, n, status, vendor_err);
		return;
	}
	complete_early(q, cairn_req_swr(r, n), status, vendor_err);
	cairn_qpc_fail(q);
}

/* Ask for the answer of record @n, which is @s. */
static void probe(struct cairn_qpc *q, u32 n, struct cairn_swr *s)
{
	int err;

	cairn_port_count(q, CAIRN_CTR_PERSIST_PROBES, 1);
	if ((s32)(n - q->req.una_rec) < 0)
		err = probe_early(q, s);
	else
		err = cairn_req_repeat_last(q, s);
	if (err)
		fail(q, n, err == -EFAULT ? CAIRN_CQE_LOC_PROT_ERR :
					    CAIRN_CQE_LOC_QP_OP_ERR, -err);
}

/* While other packets are on the way, their timer watches over the peer, and
 * spends the retries.
 */
void cairn_persist_expire(struct cairn_qpc *q, u64 now)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *s;
	u32 n;

	if (now >= r->recv_at)
		r->recv_at = 0;
	if (!r->probe_at || now < r->probe_at ||
	    cairn_state(q) == CAIRN_QP_ERR)
		return;
	r->probe_at = 0;
	s = waiting(r, &n);
	if (!s)
		return;
	if (!cairn_req_outstanding(r)) {
		cairn_port_count(q, CAIRN_CTR_ACK_TIMEOUTS, 1);
		if (!r->retries) {
			cairn_port_count(q, CAIRN_CTR_RETRY_EXCEEDED, 1);
			fail(q, n, CAIRN_CQE_RETRY_EXC_ERR, 0);
			return;
		}
		r->retries--;
	}
	probe(q, n, s);
}

/* The peer lives, its host may take as long as it likes. */
static void alive(struct cairn_qpc *q)
{
	q->req.retries = q->attrs.retry_cnt;
	q->req.probe_at = 0;
}

/* An answer to what is acknowledged already: is it one to a probe? */
bool cairn_persist_alive(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *s;
	u32 n;

	s = waiting(r, &n);
	if (!s || pkt->op->kind != CAIRN_KIND_ACK ||
	    (pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_ACK ||
	    cairn_psn_diff(pkt->psn, last_psn(s)) < 0 ||
	    cairn_psn_diff(pkt->psn, r->una) >= 0)
		return false;
	cairn_port_count(q, CAIRN_CTR_ACKS_RECEIVED, 1);
	alive(q);
	return true;
}

/* Every WRITE_PERSIST that ends before @psn is durable. Returns the record
 * after the last of them.
 */
static u32 mark(struct cairn_requester *r, u32 psn)
{
	u32 n;

	for (n = r->kept_rec; n != r->new_rec; n++) {
		struct cairn_swr *s = cairn_req_swr(r, n);

		if (cairn_psn_diff(cairn_psn_add(s->psn, s->npkts), psn) > 0)
			break;
		if (!cairn_swr_persists(s) || s->durable)
			continue;
		s->durable = true;
		if (!(s->flags & CAIRN_WQE_EARLY))
			r->persists--;
	}
	return n;
}

static void take_failure(struct cairn_qpc *q, const struct cairn_pkt *pkt,
			 u64 now)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *s;
	u32 n;

	cairn_port_count(q, CAIRN_CTR_PERSIST_NAKS_RECEIVED, 1);
	n = mark(r, pkt->psn);
	cairn_req_ack_before(q, pkt->psn, now);
	if (cairn_state(q) == CAIRN_QP_ERR)
		return;
	/* What was marked may complete; then it is this one's turn. */
	cairn_req_reap(q);
	deliver(q, now);
	s = oldest(r, &n);
	if (s && cairn_state(q) != CAIRN_QP_ERR)
		fail(q, n, CAIRN_CQE_REM_OP_ERR, pkt->syndrome);
}

static bool is_failure(u8 syndrome)
{
	return syndrome == (CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_OP);
}

/* A PERSIST ACKNOWLEDGE arrived. It may say nothing new of durability and yet
 * acknowledge the receipt of what was repeated.
 */
void cairn_persist_ack(struct cairn_qpc *q, const struct cairn_pkt *pkt,
		       u64 now)
{
	struct cairn_requester *r = &q->req;
	u32 n, end = cairn_psn_add(pkt->psn, 1);
	struct cairn_swr *s = oldest(r, &n);
	bool news = s && cairn_psn_diff(pkt->psn, last_psn(s)) >= 0;

	if ((!news && cairn_psn_diff(pkt->psn, r->una) < 0) ||
	    cairn_psn_diff(pkt->psn, r->sent) >= 0) {
		cairn_port_count(q, CAIRN_CTR_STALE_RESPONSES, 1);
		return;
	}
	if (news && is_failure(pkt->syndrome)) {
		take_failure(q, pkt, now);
		return;
	}
	if ((pkt->syndrome & CAIRN_AETH_TYPE_MASK) != CAIRN_AETH_ACK) {
		cairn_port_count(q, CAIRN_CTR_RX_MALFORMED, 1);
		return;
	}
	cairn_port_count(q, CAIRN_CTR_PERSIST_ACKS_RECEIVED, 1);
	mark(r, end);
	cairn_req_take_credits(r, pkt);
	alive(q);
	if (cairn_psn_diff(end, r->una) > 0)
		cairn_req_ack_before(q, end, now);
	cairn_gap_answer(q, false, now);
}

/*
 * Responder.
 */

static struct cairn_pending *pending(const struct cairn_responder *p, u32 n)
{
	return &p->pend[n % CAIRN_MAX_PENDING];
}

/* Everything that peers wrote with NIC flush is durable afterwards. */
void cairn_persist_fence(struct cairn_qpc *q)
{
	if (!q->resp.fence_due)
		return;
	q->resp.fence_due = false;
	cairn_port_count(q, CAIRN_CTR_PERSIST_FENCES, 1);
	cairn_port_fence(q);
}

/* Host flush: is there room for one more message that waits? */
bool cairn_persist_room(struct cairn_qpc *q)
{
	struct cairn_responder *p = &q->resp;

	if (!p->pend)
		p->pend = cairn_port_pending_alloc(q);
	if (p->pend && p->pend_tail - p->pend_head < CAIRN_MAX_PENDING)
		return true;
	cairn_port_count(q, CAIRN_CTR_PERSIST_FULL, 1);
	return false;
}

static void set_watermark(struct cairn_responder *p, u32 psn, u32 msn)
{
	p->durable = true;
	p->durable_psn = psn;
	p->durable_msn = msn;
	p->persist_ack_due = true;
}

/* WRITE_PERSIST @psn, message @msn, is durable; the watermark gets there when
 * all before it are.
 */
static void durable(struct cairn_responder *p, u32 psn, u32 msn)
{
	struct cairn_pending *e;

	if (p->pend_head == p->pend_tail) {
		set_watermark(p, psn, msn);
		return;
	}
	e = pending(p, p->pend_tail - 1);
	e->next = true;
	e->next_psn = psn;
	e->next_msn = msn;
}

/* The receive in hand asks the host to make the message durable. */
static void ask_host(struct cairn_qpc *q, const struct cairn_pkt *pkt,
		     const struct cairn_pending *e)
{
	struct cairn_responder *p = &q->resp;
	struct cairn_cqe cqe = {
		.wr_id = p->rwqe.recv.wr_id,
		.qpn = q->qpn,
		.opcode = CAIRN_CQE_RECV_PERSIST,
		.byte_len = e->length,
		.persist_va = e->va,
		.persist_token = e->token,
		.psn = e->last,
	};

	if (pkt->op->hdrs & CAIRN_HDR_IMMDT) {
		cqe.flags |= CAIRN_CQE_WITH_IMM;
		cqe.imm_or_key = (__force u32)pkt->imm;
	}
	if (pkt->solicited)
		cqe.flags |= CAIRN_CQE_SOLICITED;
	p->rwqe_valid = false;
	cairn_port_count(q, CAIRN_CTR_PERSIST_HOST_FLUSHES, 1);
	cairn_persist_fence(q);
	cairn_port_complete(q, CAIRN_RESP, &cqe);
}

/* The last packet of a WRITE or WRITE_PERSIST was placed, its MSN counted. */
void cairn_persist_placed(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;
	bool plain = pkt->op->kind == CAIRN_KIND_WRITE;
	struct cairn_pending *e;

	if (p->persist != CAIRN_PERSIST_HOST) {
		if (!plain)
			durable(p, pkt->psn, p->msn);
		return;
	}
	e = pending(p, p->pend_tail);
	*e = (struct cairn_pending){
		.token = cairn_port_token(q, p->pend_tail % CAIRN_MAX_PENDING),
		.va = p->va - p->received,
		.length = p->received,
		.rkey = p->rkey,
		.first = p->msg_psn,
		.last = pkt->psn,
		.msn = p->msn,
		.before = p->done_psn,
		.plain = plain,
	};
	p->pend_tail++;
	p->plain_pending += plain;
	ask_host(q, pkt, e);
}

/* A WRITE_PERSIST came again: is it durable, and all before it? */
bool cairn_persist_covers(const struct cairn_responder *p, u32 psn)
{
	u32 end = p->epsn;

	if (p->msg == CAIRN_MSG_WRITE_PERSIST)
		end = p->msg_psn;
	if (p->pend_head != p->pend_tail)
		end = pending(p, p->pend_head)->first;
	return p->durable && cairn_psn_diff(psn, end) < 0;
}

/* The plain WRITE that an answer with @psn would acknowledge, or NULL. */
static struct cairn_pending *in_the_way(const struct cairn_responder *p,
					u32 psn)
{
	u32 n;

	for (n = p->pend_head; p->plain_pending && n != p->pend_tail; n++) {
		struct cairn_pending *e = pending(p, n);

		if (e->plain)
			return cairn_psn_diff(psn, e->last) >= 0 ? e : NULL;
	}
	return NULL;
}

/* A response or NAK acknowledges what is before it: may one with @psn leave? If
 * not, true, and @psn becomes the latest that a NAK may have.
 */
bool cairn_persist_limit(const struct cairn_responder *p, u32 *psn)
{
	struct cairn_pending *e = in_the_way(p, *psn);

	if (e)
		*psn = e->last;
	return e;
}

/* May an ACK of @psn leave? Otherwise the WRITE in its way owes it; what can be
 * acknowledged is in @psn, if anything.
 */
bool cairn_persist_may_ack(struct cairn_qpc *q, u32 *psn)
{
	struct cairn_responder *p = &q->resp;
	struct cairn_pending *e = in_the_way(p, *psn);

	if (!e)
		return true;
	if (!e->owed || cairn_psn_diff(*psn, e->owed_psn) > 0)
		e->owed_psn = *psn;
	e->owed = true;
	*psn = e->before;
	/* The very first packet: there is nothing before. */
	if (e->msn == 1 && e->first == e->last)
		return false;
	/* No ACK names a READ, nor does one go back before it. */
	return !p->rd_any || cairn_psn_diff(e->before, p->rd_psn) > 0;
}

/* The host failed to make @e durable, and all before it are. */
static void report_failure(struct cairn_qpc *q, const struct cairn_pending *e)
{
	struct cairn_responder *p = &q->resp;

	if (p->fatal)
		return;
	cairn_resp_fatal(q, e->last, CAIRN_NAK_REMOTE_OP, 0);
	p->fatal_event = 0;	/* the host knows */
	p->persist_nak = !e->plain;
}

/* Go over the messages that are released, in order, up to one that is not. */
static void settle(struct cairn_qpc *q)
{
	struct cairn_responder *p = &q->resp;

	while (p->pend_head != p->pend_tail) {
		struct cairn_pending e = *pending(p, p->pend_head);

		if (e.state == CAIRN_PENDING_FAILED)
			report_failure(q, &e);
		if (e.state != CAIRN_PENDING_DURABLE)
			return;
		p->pend_head++;
		p->plain_pending -= e.plain;
		if (!e.plain)
			set_watermark(p, e.last, e.msn);
		if (e.next)
			set_watermark(p, e.next_psn, e.next_msn);
		if (e.owed)
			cairn_resp_owe_ack(p, e.owed_psn);
	}
}

int cairn_resp_release(struct cairn_qpc *q, u64 token, u32 status)
{
	struct cairn_responder *p = &q->resp;
	u32 n;

	for (n = p->pend_head; n != p->pend_tail; n++) {
		struct cairn_pending *e = pending(p, n);
		bool gone;

		if (e->token != token || e->state != CAIRN_PENDING_WAITS)
			continue;
		gone = cairn_port_check(q, e->rkey, e->va, e->length,
					CAIRN_ACCESS_REMOTE_WRITE) !=
		       CAIRN_PERSIST_HOST;
		e->state = status || gone ? CAIRN_PENDING_FAILED :
					    CAIRN_PENDING_DURABLE;
		settle(q);
		return gone ? -ENOENT : 0;
	}
	return -ENOENT;
}

void cairn_resp_revoke(struct cairn_qpc *q, u32 rkey)
{
	struct cairn_responder *p = &q->resp;
	u32 n;

	for (n = p->pend_head; n != p->pend_tail; n++) {
		struct cairn_pending *e = pending(p, n);

		if (e->rkey == rkey && e->state == CAIRN_PENDING_WAITS)
			e->state = CAIRN_PENDING_FAILED;
	}
	settle(q);
}

/* ERR: tokens die, nothing is said any more. */
void cairn_persist_drop(struct cairn_responder *p)
{
	p->pend_head = p->pend_tail;
	p->plain_pending = 0;
	p->persist_ack_due = false;
	p->fence_due = false;
}
