// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder: checks, places and executes requests, in PSN order for RC,
 * and says what is due: responses, ACK or NAK (IBTA 9.7.4, 9.7.5, 9.8, 9.9.3).
 *
 * Handlers return true when the request counts as received: only then does the
 * expected PSN advance. Otherwise they have left a NAK, or nothing at all.
 */
#include "engine/internal.h"

u8 cairn_resp_ack_syndrome(struct cairn_qpc *q)
{
	int posted = cairn_port_rq_posted(q);

	/* Credits are relative to the MSN: a receive in use still counts. */
	if (posted >= 0 && q->resp.rwqe_valid)
		posted++;
	return CAIRN_AETH_ACK | cairn_credits_encode(posted);
}

static void set_nak(struct cairn_responder *p, u32 psn, u8 syndrome)
{
	p->nak = syndrome;
	p->nak_psn = psn;
	p->nak_due = true;
	p->nak_sent = true;
}

/* The connection ends with a NAK, after the responses that are still due. */
void cairn_resp_fatal(struct cairn_qpc *q, u32 psn, enum cairn_nak code,
		      enum cairn_async event)
{
	struct cairn_responder *p = &q->resp;

	set_nak(p, psn, CAIRN_AETH_NAK | code);
	p->fatal = true;
	p->fatal_event = event + 1;
}

static bool is_rc(const struct cairn_qpc *q)
{
	return q->transport == CAIRN_TRANSPORT_RC;
}

/* Not a message that may be here: RC ends, UC and UD forget the message. */
static bool invalid(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	q->resp.msg = CAIRN_MSG_NONE;
	if (is_rc(q))
		cairn_resp_fatal(q, pkt->psn, CAIRN_NAK_INVALID_REQUEST,
				 CAIRN_ASYNC_QP_REQ_ERR);
	else
		cairn_port_count(q, CAIRN_CTR_RX_MALFORMED, 1);
	return false;
}

static bool no_access(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	cairn_port_count(q, CAIRN_CTR_REMOTE_ACCESS_ERRORS, 1);
	q->resp.msg = CAIRN_MSG_NONE;
	if (is_rc(q))
		cairn_resp_fatal(q, pkt->psn, CAIRN_NAK_REMOTE_ACCESS,
				 CAIRN_ASYNC_QP_ACCESS_ERR);
	return false;
}

static const struct cairn_sge *recv_sges(struct cairn_responder *p)
{
	return (void *)(p->rwqe.bytes + CAIRN_RECV_SGE_OFFSET);
}

/* Complete the receive in hand. @pkt: the last packet, NULL when flushed. What
 * peers wrote before is durable then.
 */
static void complete_recv(struct cairn_qpc *q, const struct cairn_pkt *pkt,
			  u8 status)
{
	struct cairn_responder *p = &q->resp;
	struct cairn_cqe cqe = {
		.wr_id = p->rwqe.recv.wr_id,
		.qpn = q->qpn,
		.opcode = CAIRN_CQE_RECV,
		.status = status,
	};

	p->rwqe_valid = false;
	if (pkt && !status) {
		cairn_persist_fence(q);
		cqe.byte_len = p->received;
		cqe.psn = pkt->psn;
		if (pkt->op->kind == CAIRN_KIND_WRITE)
			cqe.opcode = CAIRN_CQE_RECV_IMM;
		if (pkt->op->hdrs & CAIRN_HDR_IMMDT) {
			cqe.flags |= CAIRN_CQE_WITH_IMM;
			cqe.imm_or_key = (__force u32)pkt->imm;
		}
		if (pkt->op->hdrs & CAIRN_HDR_IETH) {
			cqe.flags |= CAIRN_CQE_WITH_INV;
			cqe.imm_or_key = pkt->rkey;
		}
		if (pkt->op->hdrs & CAIRN_HDR_DETH) {
			u8 grh[CAIRN_GRH_LEN];
			u16 vlan = 0;

			cqe.src_qp = pkt->src_qpn;
			cqe.flags |= CAIRN_CQE_GRH;
			cqe.flags |= cairn_port_grh(pkt, grh, &vlan);
			cqe.vlan = vlan;
		}
		if (pkt->solicited)
			cqe.flags |= CAIRN_CQE_SOLICITED;
	}
	cairn_port_complete(q, CAIRN_RESP, &cqe);
}

/* The receive in hand fails because of what the host posted: QP to ERR. */
static bool recv_failed(struct cairn_qpc *q, const struct cairn_pkt *pkt,
			u8 status, enum cairn_nak code)
{
	if (status == CAIRN_CQE_LOC_PROT_ERR)
		cairn_port_count(q, CAIRN_CTR_LOCAL_PROT_ERRORS, 1);
	complete_recv(q, NULL, status);
	q->resp.msg = CAIRN_MSG_NONE;
	if (is_rc(q)) {
		/* The CQE tells the host; there is no event for it. */
		cairn_resp_fatal(q, pkt->psn, code, 0);
		q->resp.fatal_event = 0;
	} else {
		cairn_qpc_fail(q);
	}
	return false;
}

/* No receive is posted: RNR NAK for RC, the message is lost for others. */
static bool not_ready(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	q->resp.msg = is_rc(q) ? q->resp.msg : CAIRN_MSG_NONE;
	if (is_rc(q))
		set_nak(&q->resp, pkt->psn,
			CAIRN_AETH_RNR_NAK | q->attrs.min_rnr_timer);
	else
		cairn_port_count(q, CAIRN_CTR_RX_NO_WQE, 1);
	return false;
}

/* The write pointer of the receive ring is impossible. One event for it. */
static bool bad_ring(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	cairn_port_count(q, CAIRN_CTR_BAD_RINGS, 1);
	if (is_rc(q)) {
		cairn_resp_fatal(q, pkt->psn, CAIRN_NAK_REMOTE_OP,
				 CAIRN_ASYNC_QP_FATAL);
	} else {
		cairn_port_async(q, CAIRN_ASYNC_QP_FATAL);
		cairn_qpc_fail(q);
	}
	return false;
}

/* Have a receive in hand for this message. */
static bool take_recv(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;
	u8 status;
	int units;

	if (p->rwqe_valid)
		return true;
	units = cairn_port_rq_take(q, &p->rwqe);
	if (!units)
		return not_ready(q, pkt);
	if (units < 0)
		return bad_ring(q, pkt);
	p->rwqe_valid = true;
	status = cairn_recv_wqe_check(q, &p->rwqe, units, &p->recv_len);
	if (!status)
		return true;
	cairn_port_count(q, CAIRN_CTR_BAD_WQES, 1);
	return recv_failed(q, pkt, status, CAIRN_NAK_REMOTE_OP);
}

/* Payload sizes: all but the last packet are full (IBTA 9.7.4.1.6). */
static bool size_fits(const struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	u32 pmtu = q->attrs.pmtu;

	if (!(pkt->op->flags & CAIRN_OP_LAST))
		return pkt->payload_len == pmtu;
	if (!(pkt->op->flags & CAIRN_OP_FIRST) && !pkt->payload_len)
		return false;
	return pkt->payload_len <= pmtu;
}

static u8 message_of(const struct cairn_pkt *pkt)
{
	switch (pkt->op->kind) {
	case CAIRN_KIND_SEND:
		return CAIRN_MSG_SEND;
	case CAIRN_KIND_WRITE:
		return CAIRN_MSG_WRITE;
	case CAIRN_KIND_WRITE_PERSIST:
		return CAIRN_MSG_WRITE_PERSIST;
	}
	return CAIRN_MSG_NONE;
}

/* Does the packet fit where the message stands (IBTA 9.7.4.1.2)? */
static bool in_sequence(const struct cairn_responder *p,
			const struct cairn_pkt *pkt)
{
	if (pkt->op->flags & CAIRN_OP_FIRST)
		return p->msg == CAIRN_MSG_NONE;
	return p->msg == message_of(pkt);
}

static bool too_long(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	if (is_rc(q))
		return recv_failed(q, pkt, CAIRN_CQE_LOC_LEN_ERR,
				   CAIRN_NAK_INVALID_REQUEST);
	cairn_port_count(q, CAIRN_CTR_RX_TOO_LONG, 1);
	q->resp.msg = CAIRN_MSG_NONE;
	return false;
}

static void message_done(struct cairn_responder *p)
{
	p->msg = CAIRN_MSG_NONE;
	p->msn = cairn_psn_add(p->msn, 1);
}

static bool place_recv(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;
	struct cairn_span to = {
		.sge = recv_sges(p),
		.num_sge = p->rwqe.recv.num_sge,
		.offset = p->received,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
	};

	if (pkt->payload_len > p->recv_len - p->received)
		return too_long(q, pkt);
	if (pkt->payload_len && cairn_port_place(q, &to, pkt, pkt->payload_len))
		return recv_failed(q, pkt, CAIRN_CQE_LOC_PROT_ERR,
				   CAIRN_NAK_REMOTE_OP);
	p->received += pkt->payload_len;
	return true;
}

/*
 * SEND with invalidate: the receive completes when nobody touches the memory any
 * more. Until then the packet waits among those that are ahead of a gap, and is
 * executed again; its receive and its payload are in place.
 */
static bool invalidated(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;
	int err = 0;

	if (!p->inval_over || p->inval_key != pkt->rkey)
		err = cairn_port_invalidate(q, pkt->rkey);
	p->inval_over = false;
	if (!err)
		return true;
	if (err == -EINPROGRESS) {
		p->received -= pkt->payload_len;
		p->inval_key = pkt->rkey;
		p->inval_wait = true;
		cairn_hold(q, pkt);
		return false;
	}
	complete_recv(q, NULL, CAIRN_CQE_LOC_ACCESS_ERR);
	return no_access(q, pkt);
}

static bool do_send(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;

	if (pkt->op->flags & CAIRN_OP_FIRST)
		p->received = 0;
	if (!take_recv(q, pkt) || !place_recv(q, pkt))
		return false;
	if (pkt->op->hdrs & CAIRN_HDR_IETH && !invalidated(q, pkt))
		return false;
	p->msg = CAIRN_MSG_SEND;
	if (!(pkt->op->flags & CAIRN_OP_LAST))
		return true;
	complete_recv(q, pkt, CAIRN_CQE_SUCCESS);
	message_done(p);
	return true;
}

/* The RETH of a FIRST or ONLY: may all of it be written? */
static int start_write(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;
	int persist = CAIRN_PERSIST_NONE;

	if (pkt->dma_len > q->max_msg)
		return -EINVAL;
	if (pkt->dma_len)
		persist = cairn_port_check(q, pkt->rkey, pkt->va, pkt->dma_len,
					   CAIRN_ACCESS_REMOTE_WRITE);
	if (persist < 0)
		return -EFAULT;
	if (pkt->op->kind == CAIRN_KIND_WRITE_PERSIST && pkt->dma_len &&
	    persist == CAIRN_PERSIST_NONE)
		return -EFAULT;
	/* UC has no acknowledgement that could wait. */
	p->persist = is_rc(q) ? persist : CAIRN_PERSIST_NONE;
	p->msg_psn = pkt->psn;
	p->received = 0;
	p->rkey = pkt->rkey;
	p->va = pkt->va;
	p->remaining = pkt->dma_len;
	return 0;
}

static int place_write(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;
	struct cairn_sge sge = {
		.addr = p->va,
		.length = pkt->payload_len,
		.lkey = p->rkey,
	};
	struct cairn_span to = {
		.sge = &sge,
		.num_sge = 1,
		.access = p->persist == CAIRN_PERSIST_NIC ?
			  CAIRN_ACCESS_REMOTE_PERSIST :
			  CAIRN_ACCESS_REMOTE_WRITE,
	};

	if (pkt->payload_len && cairn_port_place(q, &to, pkt, pkt->payload_len))
		return -EFAULT;
	if (p->persist == CAIRN_PERSIST_NIC)
		p->fence_due = true;
	p->va += pkt->payload_len;
	p->received += pkt->payload_len;
	p->remaining -= pkt->payload_len;
	return 0;
}

/* What the last packet of a WRITE consumes is there, or it is put off. */
static bool ready_for_last(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	bool host = q->resp.persist == CAIRN_PERSIST_HOST;

	if (host && !cairn_persist_room(q))
		return not_ready(q, pkt);
	if (host || pkt->op->hdrs & CAIRN_HDR_IMMDT)
		return take_recv(q, pkt);
	return true;
}

static void write_done(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;

	message_done(p);
	if (p->persist != CAIRN_PERSIST_HOST &&
	    pkt->op->hdrs & CAIRN_HDR_IMMDT)
		complete_recv(q, pkt, CAIRN_CQE_SUCCESS);
	cairn_persist_placed(q, pkt);
}

static bool do_write(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	bool last = pkt->op->flags & CAIRN_OP_LAST;
	struct cairn_responder *p = &q->resp;

	if (!q->attrs.remote_write)
		return invalid(q, pkt);
	if (pkt->op->flags & CAIRN_OP_FIRST) {
		int err = start_write(q, pkt);

		if (err)
			return err == -EFAULT ? no_access(q, pkt) :
						invalid(q, pkt);
	}
	if (last ? pkt->payload_len != p->remaining :
		   pkt->payload_len >= p->remaining)
		return invalid(q, pkt);
	if (last && !ready_for_last(q, pkt))
		return false;
	if (place_write(q, pkt))
		return no_access(q, pkt);
	p->msg = message_of(pkt);
	if (last)
		write_done(q, pkt);
	return true;
}

static bool do_read(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	u32 npkts = cairn_npkts(q, pkt->dma_len);

	if (!q->attrs.remote_read)
		return invalid(q, pkt);
	if (pkt->dma_len > q->max_msg || npkts > CAIRN_PSN_SPAN)
		return invalid(q, pkt);
	if (pkt->dma_len &&
	    cairn_port_check(q, pkt->rkey, pkt->va, pkt->dma_len,
			     CAIRN_ACCESS_REMOTE_READ))
		return no_access(q, pkt);
	if (!cairn_replay_add(q, pkt, npkts, 0))
		return invalid(q, pkt);
	message_done(&q->resp);
	/* A READ takes one PSN for each response packet. */
	q->resp.epsn = cairn_psn_add(q->resp.epsn, npkts - 1);
	return true;
}

static bool do_atomic(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;
	u64 orig;

	if (!q->attrs.remote_atomic)
		return invalid(q, pkt);
	if (pkt->va & 7)
		return invalid(q, pkt);
	/* Before the side effect: is there a place to keep the result? */
	if (!cairn_replay_room(q))
		return invalid(q, pkt);
	if (cairn_port_atomic(q, pkt, &orig))
		return no_access(q, pkt);
	cairn_replay_add(q, pkt, 1, orig);
	message_done(p);
	return true;
}

static bool execute(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	switch (pkt->op->kind) {
	case CAIRN_KIND_SEND:
		return do_send(q, pkt);
	case CAIRN_KIND_WRITE:
	case CAIRN_KIND_WRITE_PERSIST:
		return do_write(q, pkt);
	case CAIRN_KIND_READ_REQ:
		return do_read(q, pkt);
	case CAIRN_KIND_ATOMIC_REQ:
		return do_atomic(q, pkt);
	}
	return false;
}

void cairn_resp_owe_ack(struct cairn_responder *p, u32 psn)
{
	if (!p->ack_due || cairn_psn_diff(psn, p->ack_psn) > 0)
		p->ack_psn = psn;
	p->ack_due = true;
}

/*
 * A duplicate SEND or WRITE is answered with the latest SEND or WRITE, but not
 * past a READ or atomic whose response may be lost: an ACK with their PSN, or
 * for them, must not exist (requesters take it for the response).
 */
static void ack_duplicate(struct cairn_responder *p, u32 psn)
{
	if (p->rd_any && cairn_psn_diff(p->rd_psn, psn) > 0)
		cairn_resp_owe_ack(p, psn);
	else
		cairn_resp_owe_ack(p, p->done_psn);
}

/* Note what was executed; a READ's or atomic's response acknowledges all
 * before it.
 */
static void executed(struct cairn_responder *p, const struct cairn_pkt *pkt)
{
	p->epsn = cairn_psn_add(p->epsn, 1);
	if (pkt->op->flags & CAIRN_OP_PAYLOAD) {
		p->done_psn = pkt->psn;
		if (pkt->ack_req)
			cairn_resp_owe_ack(p, pkt->psn);
	} else {
		p->rd_psn = cairn_psn_add(p->epsn, CAIRN_24BIT_MASK);
		p->rd_any = true;
		p->ack_due = false;
	}
}

static void duplicate(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	cairn_port_count(q, CAIRN_CTR_DUPLICATE_REQUEST, 1);
	switch (pkt->op->kind) {
	case CAIRN_KIND_WRITE_PERSIST:
		if (cairn_persist_covers(&q->resp, pkt->psn)) {
			q->resp.persist_ack_due = true;
			break;
		}
		fallthrough;
	case CAIRN_KIND_SEND:
	case CAIRN_KIND_WRITE:
		/* Whoever misses an ACK asks for one. */
		if (pkt->ack_req)
			ack_duplicate(&q->resp, pkt->psn);
		break;
	case CAIRN_KIND_READ_REQ:
	case CAIRN_KIND_ATOMIC_REQ:
		/* Unknown ones are dropped; the requester retries from the
		 * oldest that it misses.
		 */
		cairn_replay_duplicate(q, pkt);
		break;
	}
}

static void nak_gap(struct cairn_responder *p)
{
	set_nak(p, p->epsn, CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ);
}

/* After an RNR NAK everything comes again (IBTA 9.7.5.2.8). */
static bool not_ready_said(const struct cairn_responder *p)
{
	return p->nak_sent &&
	       (p->nak & CAIRN_AETH_TYPE_MASK) == CAIRN_AETH_RNR_NAK;
}

static void ahead(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;

	cairn_port_count(q, CAIRN_CTR_OUT_OF_SEQUENCE, 1);
	if (!not_ready_said(p))
		cairn_hold(q, pkt);
	/* One NAK for each gap (IBTA 9.7.5.2.8). */
	if (!p->nak_sent && !p->inval_wait)
		nak_gap(p);
}

/* The expected packet. Returns true when it counts as received. */
static bool expected(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;

	p->nak_sent = false;
	p->nak_due = false;
	if (!in_sequence(p, pkt) || !size_fits(q, pkt))
		return invalid(q, pkt);
	if (!execute(q, pkt))
		return false;
	executed(p, pkt);
	return true;
}

/* What was kept behind the expected packet. @asked: an answer is wanted. */
static void run_held(struct cairn_qpc *q, bool asked)
{
	struct cairn_responder *p = &q->resp;
	struct cairn_pkt held;

	while (cairn_hold_next(q, &held)) {
		if (!expected(q, &held))
			goto not_received;
		asked = true;
	}
	if (p->holding && (asked || p->ack_due))
		nak_gap(p);
	return;
not_received:
	if (!p->inval_wait)
		cairn_hold_drop(q);	/* everything is repeated */
}

static void rx_expected(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;

	if (p->inval_wait)
		return;			/* it is known, and waits */
	if (expected(q, pkt))
		run_held(q, pkt->ack_req ||
			 !(pkt->op->flags & CAIRN_OP_PAYLOAD));
	else if (!p->inval_wait)
		cairn_hold_drop(q);	/* everything is repeated */
}

/* The invalidation that the expected packet wants may be over. */
static void resume(struct cairn_qpc *q)
{
	struct cairn_responder *p = &q->resp;
	u32 epsn = p->epsn;

	if (!cairn_port_invalidated(q, CAIRN_RESP))
		return;
	p->inval_wait = false;
	p->inval_over = true;
	run_held(q, true);
	/* There was no room to keep it. */
	if (p->epsn == epsn && !p->inval_wait && !p->nak_due)
		nak_gap(p);
}

static void rx_rc(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	s32 diff = cairn_psn_diff(pkt->psn, q->resp.epsn);

	if (diff < 0)
		duplicate(q, pkt);
	else if (diff > 0)
		ahead(q, pkt);
	else
		rx_expected(q, pkt);
}

/* UC (IBTA 9.8.2): a gap costs the message, the next FIRST starts afresh. */
static void rx_uc(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;
	bool gap = pkt->psn != p->epsn;

	p->epsn = cairn_psn_add(pkt->psn, 1);
	if ((gap || pkt->op->flags & CAIRN_OP_FIRST) &&
	    p->msg != CAIRN_MSG_NONE) {
		cairn_port_count(q, CAIRN_CTR_RX_UC_GAPS, 1);
		p->msg = CAIRN_MSG_NONE;
	}
	/* What is left of a message that was given up. */
	if (!in_sequence(p, pkt))
		return;
	if (!size_fits(q, pkt)) {
		invalid(q, pkt);
		return;
	}
	execute(q, pkt);
}

static void rx_ud(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;
	u8 grh[CAIRN_GRH_LEN];
	struct cairn_span to;
	u16 vlan;

	if (pkt->qkey != q->attrs.qkey) {
		cairn_port_count(q, CAIRN_CTR_RX_QKEY_ERRORS, 1);
		return;
	}
	if (pkt->payload_len > q->attrs.pmtu) {
		invalid(q, pkt);
		return;
	}
	if (!take_recv(q, pkt))
		return;
	if (p->recv_len < CAIRN_GRH_LEN + pkt->payload_len) {
		too_long(q, pkt);
		return;
	}
	to = (struct cairn_span){
		.sge = recv_sges(p),
		.num_sge = p->rwqe.recv.num_sge,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
	};
	cairn_port_grh(pkt, grh, &vlan);
	if (cairn_port_place_bytes(q, &to, grh, CAIRN_GRH_LEN)) {
		recv_failed(q, pkt, CAIRN_CQE_LOC_PROT_ERR, 0);
		return;
	}
	p->received = CAIRN_GRH_LEN;
	if (!place_recv(q, pkt))
		return;
	complete_recv(q, pkt, CAIRN_CQE_SUCCESS);
}

void cairn_resp_rx(struct cairn_qpc *q, const struct cairn_pkt *pkt, u64 now)
{
	struct cairn_responder *p = &q->resp;
	u8 state = cairn_state(q);

	if (pkt->op->transport != q->transport || state < CAIRN_QP_RTR ||
	    state == CAIRN_QP_ERR || p->fatal ||
	    (pkt->pkey ^ q->attrs.pkey) & 0x7fff) {
		cairn_port_count(q, CAIRN_CTR_RX_WRONG_QP, 1);
		return;
	}
	if (state == CAIRN_QP_RTR && !p->comm_est) {
		p->comm_est = true;
		cairn_port_async(q, CAIRN_ASYNC_COMM_EST);
	}
	if (pkt->ce)
		cairn_cc_marked(q, CAIRN_RESP, now);
	if (is_rc(q))
		rx_rc(q, pkt);
	else if (q->transport == CAIRN_TRANSPORT_UC)
		rx_uc(q, pkt);
	else
		rx_ud(q, pkt);
}

static void emit_aeth(struct cairn_qpc *q, u8 opcode, u32 psn, u32 msn,
		      u8 syndrome)
{
	struct cairn_train t = {
		.count = 1,
		.first = {
			.opcode = opcode,
			.pkey = q->attrs.pkey,
			.qpn = q->attrs.dqpn,
			.psn = psn,
			.syndrome = syndrome,
			.msn = msn,
		},
	};

	cairn_port_emit(q, CAIRN_RESP, &t);
}

static void send_nak(struct cairn_qpc *q)
{
	struct cairn_responder *p = &q->resp;
	u8 type = p->nak & CAIRN_AETH_TYPE_MASK;
	u32 psn = p->nak_psn;

	/* A NAK of a gap is put off: one for less would cost retries. */
	if (cairn_persist_limit(p, &psn) && !p->fatal &&
	    type != CAIRN_AETH_RNR_NAK)
		return;
	cairn_port_count(q, p->persist_nak ? CAIRN_CTR_PERSIST_NAKS_SENT :
		      p->fatal ? CAIRN_CTR_FATAL_NAKS_SENT :
		      type == CAIRN_AETH_RNR_NAK ? CAIRN_CTR_RNR_NAKS_SENT :
						   CAIRN_CTR_SEQ_NAKS_SENT, 1);
	emit_aeth(q, p->persist_nak ? CAIRN_BTH_PERSIST_ACK : CAIRN_BTH_ACK,
		  psn, p->msn, p->nak);
	p->nak_due = false;
	p->ack_due = false;
	p->persist_nak = false;
	if (!p->fatal)
		return;
	p->fatal = false;
	if (p->fatal_event)
		cairn_port_async(q, p->fatal_event - 1);
	cairn_qpc_fail(q);
}

static void send_ack(struct cairn_qpc *q)
{
	struct cairn_responder *p = &q->resp;
	u32 psn = p->ack_psn;

	p->ack_due = false;
	if (!cairn_persist_may_ack(q, &psn))
		return;
	cairn_port_count(q, CAIRN_CTR_ACKS_SENT, 1);
	emit_aeth(q, CAIRN_BTH_ACK, psn, p->msn, cairn_resp_ack_syndrome(q));
}

/* For the watermark; acknowledges the receipt of all before it, too. */
static void send_persist_ack(struct cairn_qpc *q)
{
	struct cairn_responder *p = &q->resp;

	p->persist_ack_due = false;
	if (p->ack_due && cairn_psn_diff(p->ack_psn, p->durable_psn) <= 0)
		p->ack_due = false;
	cairn_port_count(q, CAIRN_CTR_PERSIST_ACKS_SENT, 1);
	emit_aeth(q, CAIRN_BTH_PERSIST_ACK, p->durable_psn, p->durable_msn,
		  cairn_resp_ack_syndrome(q));
}

/* ERR: every receive that is or will be posted is flushed, each for a packet of
 * the budget. Returns true when there may be more.
 */
static bool flush(struct cairn_qpc *q, struct cairn_budget *b)
{
	struct cairn_responder *p = &q->resp;

	cairn_hold_drop(q);
	p->inval_wait = false;
	p->ack_due = false;
	p->nak_due = false;
	p->rd_pending = 0;
	p->rate.marked = false;
	p->msg = CAIRN_MSG_NONE;
	cairn_persist_drop(p);
	if (p->rwqe_valid)
		complete_recv(q, NULL, CAIRN_CQE_WR_FLUSH_ERR);
	if (q->has_srq) {
		if (!p->last_wqe)
			cairn_port_async(q, CAIRN_ASYNC_LAST_WQE_REACHED);
		p->last_wqe = true;
		return false;
	}
	cairn_port_rq_ring_on_post(q);
	while (cairn_budget_left(b)) {
		if (cairn_port_rq_take(q, &p->rwqe) <= 0)
			return false;
		complete_recv(q, NULL, CAIRN_CQE_WR_FLUSH_ERR);
		cairn_budget_use(b, 1, 0);
	}
	return true;
}

bool cairn_resp_run(struct cairn_qpc *q, u64 now, struct cairn_budget *b)
{
	struct cairn_responder *p = &q->resp;

	if (cairn_state(q) != CAIRN_QP_ERR) {
		if (READ_ONCE(q->marked))
			cairn_cc_answer(q, now);
		cairn_pace_wake(q, &p->rate, now);
		if (p->inval_wait)
			resume(q);
		/* On the CPU that wrote back, hence before the side is unlocked:
		 * an answer may leave from another.
		 */
		cairn_persist_fence(q);
		/* No ACK or NAK overtakes a response, also one that waits. */
		if (p->rd_pending && !cairn_replay_run(q, b, now))
			return !cairn_budget_left(b) || !p->rate.marked;
		if (p->persist_ack_due)
			send_persist_ack(q);
		if (p->nak_due)
			send_nak(q);
		else if (p->ack_due)
			send_ack(q);
	}
	return cairn_state(q) == CAIRN_QP_ERR && flush(q, b);
}

u64 cairn_resp_deadline(const struct cairn_qpc *q)
{
	return cairn_rate_deadline(&q->resp.rate);
}
