// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The completer: takes responses, completes the send queue in posting order,
 * and decides on retries (IBTA 9.7.5, 9.9.2).
 */
#include "engine/ahead.h"
#include "engine/internal.h"

static void complete(struct cairn_qpc *q, const struct cairn_swr *s, u8 status,
		     u32 vendor_err)
{
	struct cairn_cqe cqe = {
		.wr_id = s->wr_id,
		.qpn = q->qpn,
		.byte_len = s->length,
		.status = status,
		.vendor_err = vendor_err,
	};

	if (!status && !(s->flags & CAIRN_WQE_SIGNALED) && !q->sq_sig_all)
		return;
	if (s->opcode < CAIRN_WQE_OPCODES)
		cqe.opcode = cairn_wqe_ops[s->opcode].cqe_opcode;
	if (cairn_swr_persists(s))
		cqe.psn = cairn_psn_add(s->psn, s->npkts - 1);
	cairn_port_complete(q, CAIRN_REQ, &cqe);
}

/* Take the oldest record off the queue. Before its completion appears: whoever
 * polled that may post into the units at once.
 */
static void retire(struct cairn_qpc *q, struct cairn_swr *s)
{
	struct cairn_requester *r = &q->req;

	if (r->send_rec == r->una_rec) {
		r->send_rec++;
		r->pkt = 0;
	}
	if (r->kept_rec == r->una_rec && !cairn_swr_early(s))
		r->kept_rec++;
	r->una_rec++;
	r->sq_done = s->idx + s->units;
	cairn_port_sq_release(q, r->sq_done);
}

/* Records before @n end without an answer. */
static void flush_to(struct cairn_qpc *q, u32 n, struct cairn_budget *b)
{
	struct cairn_requester *r = &q->req;

	while (r->una_rec != n && cairn_budget_left(b)) {
		struct cairn_swr *s = cairn_req_swr(r, r->una_rec);

		retire(q, s);
		complete(q, s, CAIRN_CQE_WR_FLUSH_ERR, 0);
		cairn_budget_use(b, 1, 0);
	}
}

/* What a probe and the durable completion need; the WQE is the host's again. */
static void keep(struct cairn_requester *r, struct cairn_swr *s)
{
	s->va = r->wqe.send.remote_addr;
	s->rkey = r->wqe.send.rkey;
}

/* RC goes to ERR, the others to SQE (IBTA 10.3.1). */
void cairn_req_fail_at(struct cairn_qpc *q, u32 n, u8 status, u32 vendor_err)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *s = cairn_req_swr(r, n);
	struct cairn_budget all = CAIRN_NO_LIMIT;

	flush_to(q, n, &all);
	retire(q, s);
	complete(q, s, status, vendor_err);
	r->ack_deadline = 0;
	r->rnr_until = 0;
	cairn_gap_forget(r);
	if (q->transport == CAIRN_TRANSPORT_RC)
		cairn_qpc_fail(q);
	else if (cairn_state(q) == CAIRN_QP_RTS ||
		 cairn_state(q) == CAIRN_QP_SQD)
		WRITE_ONCE(q->state, CAIRN_QP_SQE);
}

/* The record that an answer about una is about: the oldest that is not
 * received. Before it there may be some that wait for durability.
 */
static u32 awaited_rec(struct cairn_requester *r)
{
	u32 n = r->una_rec;

	while (n + 1 != r->new_rec && n != r->send_rec &&
	       cairn_swr_received(r, cairn_req_swr(r, n)))
		n++;
	return n;
}

/* The oldest WQE that is not received fails. */
void cairn_req_fail(struct cairn_qpc *q, u8 status, u32 vendor_err)
{
	cairn_req_fail_at(q, awaited_rec(&q->req), status, vendor_err);
}

void cairn_req_reap(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;

	while (r->una_rec != r->new_rec && cairn_state(q) != CAIRN_QP_ERR &&
	       cairn_state(q) != CAIRN_QP_SQE) {
		struct cairn_swr *s = cairn_req_swr(r, r->una_rec);

		if (s->status) {
			cairn_req_fail_at(q, r->una_rec, s->status,
					  s->vendor_err);
			return;
		}
		if (s->npkts ? !cairn_swr_received(r, s) :
			       r->send_rec == r->una_rec)
			return;
		if (cairn_swr_held(s))
			return;
		if (cairn_swr_early(s) && !cairn_req_load(q, s)) {
			cairn_req_fail_at(q, r->una_rec,
					  CAIRN_CQE_LOC_QP_OP_ERR, EINVAL);
			return;
		}
		retire(q, s);
		complete(q, s, CAIRN_CQE_SUCCESS, 0);
		if (cairn_swr_early(s))
			keep(r, s);
	}
}

/* WQEs that never started. The ring is walked by copies of first units. */
static void flush_units(struct cairn_qpc *q, u32 left, struct cairn_budget *b)
{
	struct cairn_requester *r = &q->req;

	r->wqe_valid = false;
	while (left && cairn_budget_left(b)) {
		const struct cairn_send_wqe *w = &r->wqe.send;
		struct cairn_swr s;

		cairn_ahead_take(q, r->sq_next, 1, left, r->wqe.bytes);
		if (!w->units || w->units > CAIRN_MAX_WQE_UNITS ||
		    w->units > left) {
			r->ring_bad = true;
			return;
		}
		s = (struct cairn_swr){
			.wr_id = w->wr_id,
			.opcode = w->opcode,
		};
		left -= w->units;
		r->sq_next += w->units;
		r->sq_done = r->sq_next;
		cairn_port_sq_release(q, r->sq_done);
		complete(q, &s, CAIRN_CQE_WR_FLUSH_ERR, 0);
		cairn_budget_use(b, 1, 0);
	}
}

/* What was known to be posted, then what is. Later posts ring. */
static void flush_ring(struct cairn_qpc *q, struct cairn_budget *b)
{
	struct cairn_requester *r = &q->req;
	u32 tail, rounds = 2;

	while (rounds-- && !r->ring_bad) {
		if (cairn_port_sq_tail(q, &tail))
			r->ring_bad = true;
		else
			flush_units(q, tail - r->sq_next, b);
	}
}

bool cairn_req_flush(struct cairn_qpc *q, struct cairn_budget *b)
{
	struct cairn_requester *r = &q->req;

	r->ack_deadline = 0;
	r->rnr_until = 0;
	r->probe_at = 0;
	r->recv_at = 0;
	r->rate.marked = false;
	cairn_gap_forget(r);
	flush_to(q, r->new_rec, b);
	if (r->una_rec != r->new_rec)
		return false;
	r->kept_rec = r->new_rec;
	r->persists = 0;
	r->send_rec = r->new_rec;
	r->pkt = 0;
	r->una = r->psn;
	r->sent = r->psn;
	flush_ring(q, b);
	return cairn_budget_left(b);
}

void cairn_req_flush_sqe(struct cairn_qpc *q)
{
	struct cairn_budget all = CAIRN_NO_LIMIT;

	if (cairn_state(q) == CAIRN_QP_SQE)
		cairn_req_flush(q, &all);
}

/* Spend one retry, or fail the oldest WQE when none is left. retry_cnt 7 is a
 * number like others.
 */
static bool spend_retry(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;

	if (!r->retries) {
		cairn_port_count(q, CAIRN_CTR_RETRY_EXCEEDED, 1);
		cairn_req_fail(q, CAIRN_CQE_RETRY_EXC_ERR, 0);
		return false;
	}
	r->retries--;
	r->ack_deadline = 0;
	return true;
}

void cairn_req_expire(struct cairn_qpc *q, u64 now)
{
	struct cairn_requester *r = &q->req;

	if (r->rnr_until && now >= r->rnr_until)
		r->rnr_until = 0;
	if (r->probe_deadline && now >= r->probe_deadline)
		cairn_gap_probe(q);
	if (!r->ack_deadline || now < r->ack_deadline)
		return;
	r->ack_deadline = 0;
	if (!cairn_req_outstanding(r))
		return;
	cairn_port_count(q, CAIRN_CTR_ACK_TIMEOUTS, 1);
	r->implied_nak = false;
	if (spend_retry(q))
		cairn_gap_timeout(q);
}

/* A later answer shows that a READ or atomic response was lost. */
static void implied_nak(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;

	if (r->implied_nak || cairn_gap_read(q))
		return;
	r->implied_nak = true;
	cairn_port_count(q, CAIRN_CTR_IMPLIED_NAKS, 1);
	if (spend_retry(q))
		cairn_gap_repeat_read(q);
}

void cairn_req_clip(struct cairn_requester *r)
{
	while (r->send_rec != r->new_rec) {
		struct cairn_swr *s = cairn_req_swr(r, r->send_rec);
		s32 off = cairn_psn_diff(r->una, s->psn);

		if (off <= (s32)r->pkt)
			break;
		if (off < (s32)s->npkts) {
			r->pkt = off;
			break;
		}
		r->send_rec++;
		r->pkt = 0;
	}
}

/* Advance una over the responses of @s (which end before @end) that came
 * already. Returns false when the next one is missing.
 */
static bool advance_over_responses(struct cairn_requester *r, u32 end)
{
	while (r->una != end && cairn_gap_got(r, r->una)) {
		cairn_gap_set_got(r, r->una, false);
		r->una = cairn_psn_add(r->una, 1);
	}
	return r->una == end;
}

/* Everything before @psn was answered: advance una. READs and atomics are
 * acknowledged by their own responses only: returns false when one of them
 * stands in the way.
 */
static bool advance_una(struct cairn_requester *r, u32 psn)
{
	u32 n;

	if (cairn_psn_diff(psn, r->acked) > 0)
		r->acked = psn;
	for (n = r->una_rec; n != r->new_rec; n++) {
		struct cairn_swr *s = cairn_req_swr(r, n);
		u32 end = cairn_psn_add(s->psn, s->npkts);

		if (cairn_psn_diff(r->acked, r->una) <= 0)
			break;
		if (cairn_psn_diff(end, r->una) <= 0)
			continue;
		if (!(cairn_wqe_ops[s->opcode].flags & CAIRN_WOP_READS))
			r->una = cairn_psn_diff(r->acked, end) < 0 ? r->acked :
								     end;
		else if (!advance_over_responses(r, end))
			break;
	}
	return cairn_psn_diff(r->una, psn) >= 0;
}

/* Something new was acknowledged: complete, count retries afresh. */
static void progress(struct cairn_qpc *q, u64 now)
{
	struct cairn_requester *r = &q->req;

	r->retries = q->attrs.retry_cnt;
	r->rnr_retries = q->attrs.rnr_retry;
	r->implied_nak = false;
	cairn_req_reap(q);
	cairn_gap_progress(r, now);
	cairn_req_clip(r);
	cairn_req_rearm(q, now);
}

/* Everything before @psn is acknowledged by a response with @psn. Returns true
 * when so it is and the QP is still alive: what @psn itself says comes next.
 */
bool cairn_req_ack_before(struct cairn_qpc *q, u32 psn, u64 now)
{
	struct cairn_requester *r = &q->req;
	u32 una = r->una;
	bool clear = advance_una(r, psn);

	if (r->una != una)
		progress(q, now);
	if (!clear)
		implied_nak(q);
	return clear && cairn_state(q) != CAIRN_QP_ERR;
}

/* What was granted stays granted: the code rounds down, and a persistence ACK
 * counts from the MSN of a message that may be old (IBTA 9.7.7.2).
 */
void cairn_req_take_credits(struct cairn_requester *r,
			    const struct cairn_pkt *pkt)
{
	int credits = cairn_credits_decode(pkt->syndrome);
	u32 lsn = cairn_psn_add(pkt->msn, max(credits, 0));

	if (credits >= 0 &&
	    (!r->lsn_valid || cairn_psn_diff(lsn, r->lsn) > 0))
		r->lsn = lsn;
	r->lsn_valid = credits >= 0;
}

static void take_ack(struct cairn_qpc *q, const struct cairn_pkt *pkt, u64 now)
{
	cairn_port_count(q, CAIRN_CTR_ACKS_RECEIVED, 1);
	cairn_req_take_credits(&q->req, pkt);
	cairn_req_ack_before(q, cairn_psn_add(pkt->psn, 1), now);
	cairn_gap_answer(q, true, now);
}

static void take_rnr_nak(struct cairn_qpc *q, const struct cairn_pkt *pkt,
			 u64 now)
{
	struct cairn_requester *r = &q->req;

	cairn_port_count(q, CAIRN_CTR_RNR_NAKS_RECEIVED, 1);
	if (!cairn_req_ack_before(q, pkt->psn, now))
		return;
	/* A second NAK for what already waits. */
	if (r->rnr_until)
		return;
	if (q->attrs.rnr_retry != 7) {
		if (!r->rnr_retries) {
			cairn_port_count(q, CAIRN_CTR_RNR_RETRY_EXCEEDED, 1);
			cairn_req_fail(q, CAIRN_CQE_RNR_RETRY_EXC_ERR,
				       pkt->syndrome);
			return;
		}
		r->rnr_retries--;
	}
	cairn_gap_forget(r);
	cairn_req_rewind(q, r->una);
	r->ack_deadline = 0;
	r->rnr_until = now + cairn_rnr_timer_ns(pkt->syndrome);
}

static void take_nak(struct cairn_qpc *q, const struct cairn_pkt *pkt, u64 now)
{
	static const u8 status[] = {
		[CAIRN_NAK_INVALID_REQUEST] = CAIRN_CQE_REM_INV_REQ_ERR,
		[CAIRN_NAK_REMOTE_ACCESS] = CAIRN_CQE_REM_ACCESS_ERR,
		[CAIRN_NAK_REMOTE_OP] = CAIRN_CQE_REM_OP_ERR,
		[CAIRN_NAK_INVALID_RD_REQUEST] = CAIRN_CQE_REM_INV_REQ_ERR,
	};
	u8 code = pkt->syndrome & CAIRN_AETH_VALUE_MASK;

	if (code > CAIRN_NAK_INVALID_RD_REQUEST) {
		cairn_port_count(q, CAIRN_CTR_RX_MALFORMED, 1);
		return;
	}
	cairn_port_count(q, code == CAIRN_NAK_PSN_SEQ ?
			 CAIRN_CTR_SEQ_NAKS_RECEIVED :
			 CAIRN_CTR_FATAL_NAKS_RECEIVED, 1);
	if (!cairn_req_ack_before(q, pkt->psn, now)) {
		cairn_gap_later_nak(&q->req, pkt->psn);
		return;
	}
	if (code != CAIRN_NAK_PSN_SEQ)
		cairn_req_fail(q, status[code], pkt->syndrome);
	else if (spend_retry(q))
		cairn_gap_nak(q);
}

/* The READ or atomic (as @op_flag says) that the response @psn belongs to. */
static struct cairn_swr *record_of(struct cairn_requester *r, u32 psn,
				   u8 op_flag)
{
	u32 n;

	for (n = r->una_rec; n != r->new_rec; n++) {
		struct cairn_swr *s = cairn_req_swr(r, n);
		s32 off = cairn_psn_diff(psn, s->psn);

		if (off >= 0 && off < (s32)s->npkts)
			return (cairn_wqe_ops[s->opcode].flags &
				(CAIRN_WOP_READS | CAIRN_WOP_ATOMIC)) ==
			       op_flag ? s : NULL;
	}
	return NULL;
}

/*
 * A response acknowledges everything before it. Returns what it belongs to, or
 * NULL when it is of no use. It may be ahead of missing ones.
 */
static struct cairn_swr *awaited(struct cairn_qpc *q,
				 const struct cairn_pkt *pkt, u8 op_flag,
				 u64 now)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *s = record_of(r, pkt->psn, op_flag);

	cairn_req_ack_before(q, pkt->psn, now);
	if (cairn_state(q) == CAIRN_QP_ERR)
		return NULL;
	if (s && cairn_psn_diff(pkt->psn, r->una) >= 0 &&
	    !cairn_gap_got(r, pkt->psn))
		return s;
	cairn_port_count(q, CAIRN_CTR_STALE_RESPONSES, 1);
	return NULL;
}

/* The response packet @psn was placed. */
static void respond_done(struct cairn_qpc *q, u32 psn, u64 now)
{
	struct cairn_requester *r = &q->req;

	cairn_gap_set_got(r, psn, true);
	if (psn != r->una) {
		cairn_port_count(q, CAIRN_CTR_RESPONSES_AHEAD, 1);
		advance_una(r, r->una);
		if (cairn_psn_diff(psn, r->acked) >= 0)
			r->acked = cairn_psn_add(psn, 1);
		return;
	}
	advance_una(r, cairn_psn_add(psn, 1));
	progress(q, now);
	cairn_gap_answer(q, false, now);
}

/* The oldest WQE fails when its turn comes, not before. */
static void respond_failed(struct cairn_qpc *q, u32 psn, u8 status,
			   u32 vendor_err)
{
	if (psn == q->req.una)
		cairn_req_fail(q, status, vendor_err);
}

static void place_failed(struct cairn_qpc *q, u32 psn)
{
	cairn_port_count(q, CAIRN_CTR_LOCAL_PROT_ERRORS, 1);
	respond_failed(q, psn, CAIRN_CQE_LOC_PROT_ERR, EFAULT);
}

/* Is @psn the last response packet of its READ request? */
static bool ends_request(struct cairn_qpc *q, const struct cairn_swr *s,
			 u32 psn)
{
	u32 pkt = cairn_psn_diff(psn, s->psn);

	return pkt + 1 == s->npkts || !((pkt + 1) % cairn_read_chunk(q));
}

static void take_read_response(struct cairn_qpc *q, const struct cairn_pkt *pkt,
			       u64 now)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *s = awaited(q, pkt, CAIRN_WOP_READS, now);
	struct cairn_span to;
	u32 off, want;

	if (!s)
		return;
	off = cairn_psn_diff(pkt->psn, s->psn) * q->attrs.pmtu;
	want = min_t(u32, s->length - off, q->attrs.pmtu);
	/* FIRST and MIDDLE may both be right, from different attempts. */
	if (pkt->payload_len != want ||
	    !(pkt->op->flags & CAIRN_OP_LAST) == ends_request(q, s, pkt->psn)) {
		respond_failed(q, pkt->psn, CAIRN_CQE_BAD_RESP_ERR,
			       pkt->opcode);
		return;
	}
	if (!cairn_req_load(q, s)) {
		respond_failed(q, pkt->psn, CAIRN_CQE_LOC_QP_OP_ERR, EINVAL);
		return;
	}
	to = (struct cairn_span){
		.sge = cairn_wqe_sges(&r->wqe),
		.num_sge = r->wqe.send.num_sge,
		.offset = off,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
	};
	if (want && cairn_port_place(q, &to, pkt, want)) {
		place_failed(q, pkt->psn);
		return;
	}
	if (pkt->op->hdrs & CAIRN_HDR_AETH)
		cairn_req_take_credits(&q->req, pkt);
	respond_done(q, pkt->psn, now);
}

static void take_atomic_response(struct cairn_qpc *q,
				 const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *s = awaited(q, pkt,
				      CAIRN_WOP_READS | CAIRN_WOP_ATOMIC, now);
	struct cairn_span to = {
		.sge = (void *)(r->wqe.bytes + CAIRN_WQE_ATOMIC_SGE_OFFSET),
		.num_sge = 1,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
	};

	if (!s)
		return;
	if (!cairn_req_load(q, s)) {
		respond_failed(q, pkt->psn, CAIRN_CQE_LOC_QP_OP_ERR, EINVAL);
		return;
	}
	if (cairn_port_place_bytes(q, &to, &pkt->orig, sizeof(pkt->orig))) {
		place_failed(q, pkt->psn);
		return;
	}
	cairn_req_take_credits(&q->req, pkt);
	respond_done(q, pkt->psn, now);
}

static void take_aeth(struct cairn_qpc *q, const struct cairn_pkt *pkt, u64 now)
{
	switch (pkt->syndrome & CAIRN_AETH_TYPE_MASK) {
	case CAIRN_AETH_ACK:
		take_ack(q, pkt, now);
		break;
	case CAIRN_AETH_RNR_NAK:
		take_rnr_nak(q, pkt, now);
		break;
	case CAIRN_AETH_NAK:
		take_nak(q, pkt, now);
		break;
	default:
		cairn_port_count(q, CAIRN_CTR_RX_MALFORMED, 1);
	}
}

/* Any state in which the QP may be sending, responses included. */
static void take_cnp(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	u8 state = cairn_state(q);

	if (q->transport == CAIRN_TRANSPORT_UD || state < CAIRN_QP_RTR ||
	    state == CAIRN_QP_ERR || (pkt->pkey ^ q->attrs.pkey) & 0x7fff)
		cairn_port_count(q, CAIRN_CTR_RX_WRONG_QP, 1);
	else
		cairn_cc_notified(q);
}

void cairn_req_rx(struct cairn_qpc *q, const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_requester *r = &q->req;
	u8 state = cairn_state(q);

	if (pkt->op->kind == CAIRN_KIND_CNP) {
		take_cnp(q, pkt);
		return;
	}
	if (pkt->op->transport != CAIRN_TRANSPORT_RC ||
	    q->transport != CAIRN_TRANSPORT_RC ||
	    (state != CAIRN_QP_RTS && state != CAIRN_QP_SQD) ||
	    (pkt->pkey ^ q->attrs.pkey) & 0x7fff) {
		cairn_port_count(q, CAIRN_CTR_RX_WRONG_QP, 1);
		return;
	}
	if (pkt->ce)
		cairn_cc_marked(q, CAIRN_REQ, now);
	if (pkt->op->kind == CAIRN_KIND_PERSIST_ACK) {
		cairn_persist_ack(q, pkt, now);
		return;
	}
	if (cairn_psn_diff(pkt->psn, r->una) < 0 ||
	    cairn_psn_diff(pkt->psn, r->sent) >= 0) {
		if (!cairn_persist_alive(q, pkt))
			cairn_port_count(q, CAIRN_CTR_STALE_RESPONSES, 1);
		return;
	}
	switch (pkt->op->kind) {
	case CAIRN_KIND_ACK:
		take_aeth(q, pkt, now);
		break;
	case CAIRN_KIND_READ_RESP:
		take_read_response(q, pkt, now);
		break;
	case CAIRN_KIND_ATOMIC_ACK:
		take_atomic_response(q, pkt, now);
		break;
	}
}
