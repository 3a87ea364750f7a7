// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester starts WQEs from the send ring, cuts messages into trains, and goes
 * back when the completer requests a retransmission (IBTA 9.7, 10.7).
 */
#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include "engine/ahead.h"
#include "engine/alarm.h"
#include "engine/comp_ack.h"
#include "engine/comp_read.h"
#include "engine/completer.h"
#include "engine/congestion.h"
#include "engine/gap.h"
#include "engine/latency.h"
#include "engine/pace.h"
#include "engine/persist_req.h"
#include "engine/req_emit.h"
#include "engine/req_record.h"
#include "engine/req_window.h"
#include "engine/requester.h"
#include "engine/window.h"
#include "engine/wqe.h"

/* Deadlines nearer than this are not rounded, ns. */
#define CAIRN_MIN_PATIENCE	1000
/* Probe deadlines are rounded up to a multiple of this, ns. With many busy connections
 * it bounds how often a lane's timer expires.
 */
#define CAIRN_PROBE_ROUND	BIT_ULL(21)

/* A deadline is put off so often at least: the request may have waited for one CPU, and its
 * answer for another.
 */
#define CAIRN_PUT_OFF_LEAST	2

/* One run of the requester. */
struct req_turn {
	u64 now;
	struct cairn_budget *budget;
	struct cairn_ahead *ahead;
	bool more;		/* the budget is used up, and a WQE is left */
};

/* IBTA allows up to four times the timeout (9.7.6.1.3): each try waits longer, in case
 * the peer is slow and no packet was lost. Return: log2 of the multiple.
 */
static u32 req_wait_shift(const struct cairn_qpc *qpc)
{
	return min_t(u32, qpc->req.retries, 2);
}

/* The time that the peer has to answer, ns. */
static u64 req_ack_time(const struct cairn_qpc *qpc)
{
	return 4096ULL << qpc->attrs.timeout << req_wait_shift(qpc);
}

/* Restart the ACK timer, as progress was made, or stop it. */
void cairn_req_rearm(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	req->ack_deadline = 0;
	req->rtt.probe_deadline = 0;
	if (!cairn_req_outstanding(req))
		return;
	cairn_gap_arm(qpc, now);
	req->rtt.ack_put_off = 0;
	if (qpc->attrs.timeout)
		req->ack_deadline = now + req_ack_time(qpc);
}

/* A run for a deadline that comes so late shows that its CPU was busy. */
static bool req_is_overdue(u64 deadline, u64 now)
{
	return now - deadline > 4 * CAIRN_PUT_OFF;
}

bool cairn_req_put_off(struct cairn_qpc *qpc, u64 *deadline, u8 *times, u32 most,
		       u64 now)
{
	u64 since = *times ? *deadline - CAIRN_PUT_OFF : *deadline;
	u64 took = *times ? now - *deadline : 0;
	bool late;

	if (*times >= most)
		return false;
	late = cairn_env_late(qpc, since, now) || req_is_overdue(*deadline, now);
	if (!late && *times >= CAIRN_PUT_OFF_LEAST)
		return false;
	/* Ask for the next time. */
	if (!late)
		cairn_env_late(qpc, now, now);
	/* A late run counts as the times that it took. */
	*times = min_t(u64, most, *times + 1 + div_u64(took, 4 * CAIRN_PUT_OFF));
	*deadline = now + CAIRN_PUT_OFF;
	return true;
}

bool cairn_req_put_ack_off(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u64 room = (4 - BIT(req_wait_shift(qpc))) * (4096ULL << qpc->attrs.timeout);

	return cairn_req_put_off(qpc, &req->ack_deadline, &req->rtt.ack_put_off,
				 min_t(u64, div_u64(room, 4 * CAIRN_PUT_OFF), U8_MAX),
				 now);
}

void cairn_req_prefetch(const struct cairn_qpc *qpc)
{
	const struct cairn_requester *req = &qpc->req;

	prefetch(qpc);
	prefetchw(&req->una_rec);
	prefetchw(&req->rnr_until);
	prefetchw(&req->rtt);
	prefetchw(req->gap.starts);
	prefetchw(&req->ack_rec);
}

/* A record may lie in two lines. A prefetch does not fault at any address. */
static __always_inline void req_prefetch_record(const struct cairn_requester *req, u32 rec)
{
	const struct cairn_swr *swr = READ_ONCE(req->swr) +
				      (rec & READ_ONCE(req->swr_mask));

	prefetchw(swr);
	prefetchw((const u8 *)(swr + 1) - 1);
}

void cairn_req_prefetch_start(struct cairn_qpc *qpc)
{
	const struct cairn_requester *req = &qpc->req;

	cairn_env_sq_prefetch(qpc, READ_ONCE(req->sq_next));
	req_prefetch_record(req, READ_ONCE(req->new_rec));
	prefetchw(&req->ext->wqe);
}

void cairn_req_prefetch_ack(struct cairn_qpc *qpc)
{
	const struct cairn_requester *req = &qpc->req;

	req_prefetch_record(req, READ_ONCE(req->una_rec));
	cairn_env_sq_prefetch_release(qpc);
}

u64 cairn_req_deadline(const struct cairn_qpc *qpc)
{
	const struct cairn_requester *req = &qpc->req;
	u64 first = cairn_alarm_earlier(req->rnr_until, req->ack_deadline);

	first = cairn_alarm_earlier(first, req->rtt.probe_deadline);
	first = cairn_alarm_earlier(first, cairn_rate_deadline(&req->rate));
	first = cairn_alarm_earlier(first, req->persist.probe_at);
	return cairn_alarm_earlier(first, req->persist.recv_at);
}

u64 cairn_req_expiry(const struct cairn_qpc *qpc, u64 now)
{
	u64 deadline = cairn_req_deadline(qpc);

	if (deadline <= now + CAIRN_MIN_PATIENCE ||
	    deadline == cairn_rate_deadline(&qpc->req.rate))
		return deadline;
	if (deadline == qpc->req.rtt.probe_deadline)
		deadline = ALIGN(deadline, CAIRN_PROBE_ROUND);
	return ALIGN(deadline, BIT_ULL(fls64(deadline - now) - 3));
}

/* May @swr follow @first in a train of single-packet messages? */
static bool req_alike(const struct cairn_qpc *qpc,
		      const struct cairn_swr *first,
		      const struct cairn_swr *swr)
{
	const struct cairn_requester *req = &qpc->req;

	return swr->opcode == first->opcode && swr->length == first->length &&
	       !swr->status && !(swr->flags & CAIRN_WQE_FENCE) &&
	       (qpc->transport != CAIRN_TRANSPORT_UD || swr->ah == first->ah) &&
	       (!(cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_CREDIT) ||
		!req->credits.valid ||
		cairn_psn_diff(swr->ssn, req->credits.lsn) <= 0);
}

/* How many messages, at most @n, can be sent as one train, beginning with @swr at the
 * cursor. Posted WQEs are started for it.
 */
static u32 req_count_alike(struct cairn_qpc *qpc, const struct cairn_swr *swr,
			   u32 n, struct req_turn *turn)
{
	struct cairn_requester *req = &qpc->req;
	u32 again = cairn_psn_diff(req->sent, swr->psn), count = 1;

	n = min3(n, (u32)CAIRN_TRAIN_MAX,
		 CAIRN_TRAIN_BYTES / (swr->length + 64u));
	/* A train has either retransmitted or new packets. */
	if ((s32)again > 0)
		n = min(n, again);
	for (; count < n; count++) {
		if (req->send_rec + count == req->new_rec &&
		    (cairn_state(qpc) != CAIRN_QP_RTS ||
		     !cairn_req_start_wqe(qpc, false, turn->ahead,
					  turn->now)))
			break;
		if (!req_alike(qpc, swr,
			       cairn_req_swr(req, req->send_rec + count)))
			break;
	}
	return count;
}

/* Move the cursor over @n sent packets (PSNs), or sent messages of one packet each. */
static void req_advance(struct cairn_qpc *qpc, struct cairn_swr *swr, u32 n,
			u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u32 psn = cairn_psn_add(swr->psn, req->pkt);
	u32 end = cairn_psn_add(psn, n);

	if (cairn_psn_diff(req->sent, psn) > 0) {
		cairn_env_count(qpc, CAIRN_CTR_RETRANSMITS, n);
		/* A peer that has refused a later request answers nothing any more. */
		if (cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_READS &&
		    !req->late_nak.syndrome)
			cairn_gap_ask_again(req, psn, n);
	} else if (cairn_qp_reliable(qpc)) {
		cairn_gap_left(req, psn, n, req->pkt + n >= swr->npkts, now);
	}
	if (cairn_psn_diff(end, req->sent) > 0) {
		req->sent = end;
		if (cairn_req_swr_persists(swr))
			req->persist.newest_psn =
				cairn_psn_add(end, CAIRN_24BIT_MASK);
	}
	req->pkt += n;
	if (swr->npkts == 1) {
		req->send_rec += n;
		req->pkt = 0;
	} else if (req->pkt == swr->npkts) {
		req->send_rec++;
		req->pkt = 0;
	}
	if (req->timed)
		cairn_latency_sent(qpc, now);
	if (!cairn_qp_reliable(qpc))
		req->una = end;
	else if (!req->ack_deadline)
		cairn_req_rearm(qpc, now);
	else if (!req->rtt.probe_deadline)
		cairn_gap_arm(qpc, now);
}

/* Note an error. The WQE fails when all earlier WQEs have completed. */
static void req_refuse(struct cairn_qpc *qpc, struct cairn_swr *swr, u8 status,
		       int err)
{
	if (err == -EFAULT)
		cairn_env_count(qpc, CAIRN_CTR_LOCAL_PROT_ERRORS, 1);
	swr->status = status;
	swr->vendor_err = -err;
}

/* An invalidation waits until no earlier WQE can need the key again. With a fence any
 * local operation waits for READs and atomics, as a memory window may expose their
 * data, and until earlier messages are durable. The window does not bound local
 * operations. Their number behind the oldest unreceived record is limited, because the
 * search for an answer's record passes them.
 */
static bool req_local_waits(struct cairn_qpc *qpc, const struct cairn_swr *swr)
{
	struct cairn_requester *req = &qpc->req;

	if (swr->opcode == CAIRN_WQE_LOCAL_INV)
		return req->send_rec != req->una_rec;
	if (req->send_rec - req->ack_rec >= CAIRN_WINDOW_PACKETS)
		return true;
	return swr->flags & CAIRN_WQE_FENCE &&
	       (cairn_req_reads_outstanding(qpc) || cairn_persist_unfinished(qpc));
}

static void req_refuse_local(struct cairn_qpc *qpc, struct cairn_swr *swr)
{
	if (swr->opcode == CAIRN_WQE_PERSIST_DONE)
		req_refuse(qpc, swr, CAIRN_CQE_LOC_PROT_ERR, -ENOENT);
	else
		req_refuse(qpc, swr, CAIRN_CQE_MW_BIND_ERR, -EINVAL);
}

/* Run a local operation. After a retransmission it is not performed again. */
static bool req_run_local(struct cairn_qpc *qpc, struct cairn_swr *swr,
			  struct req_turn *turn)
{
	struct cairn_requester *req = &qpc->req;
	int err = 0;

	if (req_local_waits(qpc, swr))
		return false;
	if (swr->local_wait && !cairn_env_invalidated(qpc, CAIRN_REQ))
		return false;
	if (!swr->local_done && !swr->local_wait)
		err = cairn_req_load(qpc, swr, turn->ahead) ?
			      cairn_env_local(qpc, &req->ext->wqe.send) :
			      -EINVAL;
	swr->local_wait = err == -EINPROGRESS;
	if (swr->local_wait)
		return false;
	if (err) {
		req_refuse_local(qpc, swr);
		return true;
	}
	swr->local_done = true;
	if (req->ack_rec == req->send_rec)
		req->ack_rec++;
	req->send_rec++;
	cairn_budget_use(turn->budget, 1, 0);
	return true;
}

/* Get the rate limit of record @swr. Return: false if its WQE cannot be loaded. */
static bool req_rate_limit(struct cairn_qpc *qpc, struct cairn_swr *swr,
			   struct req_turn *turn, struct cairn_rate_limit *limit)
{
	u32 ah;

	*limit = qpc->attrs.rate;
	cairn_congestion_limit(qpc, CAIRN_REQ, limit, turn->now);
	if (qpc->transport != CAIRN_TRANSPORT_UD)
		return true;
	if (!cairn_req_load(qpc, swr, turn->ahead))
		return false;
	ah = cairn_env_ah_rate(qpc, qpc->req.ext->wqe.send.ud.ah);
	if (ah && (!limit->kbps || ah < limit->kbps))
		limit->kbps = ah;
	return true;
}

/* How many packets of at most @n from the cursor on the own netdev has room for. Only UC and
 * UD wait for it: RC has a window. Return: 0: the requester gets a turn when there is room.
 */
static u32 req_room(struct cairn_qpc *qpc, const struct cairn_swr *swr, u32 n)
{
	u32 bytes;

	if (cairn_qp_reliable(qpc))
		return n;
	bytes = cairn_env_room(qpc);
	if (!bytes)
		return 0;
	return clamp_t(u32, bytes / cairn_req_message_bytes(qpc, swr, 1), 1, n);
}

/* The rate limit of one train. */
struct req_paced {
	struct cairn_pace pace;
	bool pause;		/* no packet is allowed after it */
	u32 bytes;		/* that count for the rate */
};

/*
 * How many of @n packets from the cursor on the rate allows. 0: the mark is set; the
 * cursor stays, and all copies of WQEs are dropped and read from the ring again later.
 */
static u32 req_pace(struct cairn_qpc *qpc, const struct cairn_swr *swr, u32 n,
		    struct req_paced *paced, struct cairn_ahead *ahead)
{
	const struct cairn_wqe_op *op = &cairn_wqe_ops[swr->opcode];
	struct cairn_requester *req = &qpc->req;
	u32 bytes, fit;

	if (op->flags & CAIRN_WOP_READS)
		bytes = cairn_req_request_bytes(qpc, swr);
	else
		bytes = cairn_req_message_bytes(qpc, swr, 1);
	fit = cairn_pace_fit(qpc, &paced->pace, bytes, n + 1);
	paced->pause = paced->pace.limit.kbps && fit <= n;
	if (!fit) {
		req->wqe_valid = false;
		req->fetched = false;
		cairn_env_count(qpc, CAIRN_CTR_RATE_PURGES,
				cairn_ahead_purge(ahead, swr->idx));
	}
	return min(fit, n);
}

/* Send @n packets (READ: one request; single-packet messages: at most @n) as one train,
 * and set its bytes. Return: PSNs sent; 0: the record was refused, or its memory is not
 * present.
 */
static u32 req_emit(struct cairn_qpc *qpc, struct cairn_swr *swr, u32 n,
		    struct req_paced *paced, struct cairn_ahead *ahead)
{
	const struct cairn_wqe_op *op = &cairn_wqe_ops[swr->opcode];
	int err;

	if (swr->npkts == 1 && n > 1) {
		n = cairn_req_emit_messages(qpc, swr, n, ahead);
		paced->bytes = n * cairn_req_message_bytes(qpc, swr, 1);
		if (n)
			return n;
		n = 1;
	}
	if (!cairn_req_load(qpc, swr, ahead)) {
		err = -EINVAL;
	} else if (op->flags & CAIRN_WOP_READS) {
		paced->bytes = cairn_req_request_bytes(qpc, swr);
		n = cairn_req_read_count(qpc, swr);
		err = cairn_req_emit_read(qpc, swr, n);
	} else {
		paced->bytes = cairn_req_message_bytes(qpc, swr, n);
		err = cairn_req_emit_message(qpc, swr, qpc->req.pkt, n, paced->pause);
	}
	if (!err)
		return n;
	qpc->req.odp.faulting = err == -EAGAIN;
	if (!qpc->req.odp.faulting)
		req_refuse(qpc, swr, err == -EFAULT ? CAIRN_CQE_LOC_PROT_ERR :
					      CAIRN_CQE_LOC_QP_OP_ERR, err);
	return 0;
}

/* Send one train of the record at the cursor. Return: false if it has to wait. */
static bool req_send_one(struct cairn_qpc *qpc, struct req_turn *turn)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr = cairn_req_swr(req, req->send_rec);
	struct req_paced paced __uninitialized;
	u32 most, want, may, psns, sent;
	bool reads;

	if (swr->status)
		return false;
	if (cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_LOCAL)
		return req_run_local(qpc, swr, turn);
	most = cairn_gap_limit(req, min(cairn_req_allowed(qpc, swr),
					turn->budget->packets));
	if (!most)
		return false;
	paced.pace.rate = &req->rate;
	paced.pace.now = turn->now;
	if (!req_rate_limit(qpc, swr, turn, &paced.pace.limit)) {
		req_refuse(qpc, swr, CAIRN_CQE_LOC_QP_OP_ERR, -EINVAL);
		return true;
	}
	if (cairn_pace_waits(qpc, &paced.pace)) {
		req->wqe_valid = false;
		return false;
	}
	most = req_room(qpc, swr, most);
	if (!most)
		return false;
	reads = cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_READS;
	if (reads)
		want = 1;
	else if (swr->npkts == 1)
		want = req_count_alike(qpc, swr, most, turn);
	else
		want = cairn_req_train_count(qpc, swr, most);
	may = req_pace(qpc, swr, want, &paced, turn->ahead);
	if (!may)
		return false;
	psns = req_emit(qpc, swr, may, &paced, turn->ahead);
	if (!psns)
		return !req->odp.faulting;
	/* A READ request is one packet; its PSNs are those of the responses. */
	sent = reads ? 1 : psns;
	cairn_pace_sent(qpc, &paced.pace, sent, paced.bytes);
	cairn_congestion_sent(qpc, CAIRN_REQ, paced.bytes);
	cairn_budget_use(turn->budget, sent, paced.bytes);
	req_advance(qpc, swr, psns, turn->now);
	return true;
}

static bool req_may_send(struct cairn_qpc *qpc)
{
	u8 state = cairn_state(qpc);

	return (state == CAIRN_QP_RTS || state == CAIRN_QP_SQD) &&
	       !qpc->req.rnr_until && !qpc->req.odp.faulting;
}

/* SQD (IBTA 10.3.1.5): report the event when all started messages have finished. */
static void req_check_drained(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;

	if (cairn_state(qpc) != CAIRN_QP_SQD || req->drained ||
	    req->kept_rec != req->new_rec)
		return;
	req->drained = true;
	if (qpc->attrs.sqd_notify)
		cairn_env_async(qpc, CAIRN_ASYNC_SQ_DRAINED);
}

/* Send from the cursor on, as long as packets may be sent. */
static void req_send_all(struct cairn_qpc *qpc, struct req_turn *turn)
{
	struct cairn_requester *req = &qpc->req;

	turn->more = false;
	while (req_may_send(qpc)) {
		if (req->send_rec == req->new_rec &&
		    (cairn_state(qpc) == CAIRN_QP_SQD ||
		     !cairn_req_start_wqe(qpc, true, turn->ahead,
					  turn->now)))
			return;
		turn->more = !cairn_budget_left(turn->budget);
		if (turn->more)
			return;
		if (!req_send_one(qpc, turn))
			return;
		if (!cairn_qp_reliable(qpc))
			cairn_comp_reap(qpc, turn->ahead);
	}
}

/*
 * Complete finished records. Return: true if records were freed or completed. The WQE
 * at the cursor may have waited for that: a new one for a record, an invalidation or a
 * fence for earlier WQEs. No later event makes it continue.
 */
static bool req_finish(struct cairn_qpc *qpc, struct req_turn *turn)
{
	struct cairn_requester *req = &qpc->req;
	u32 una = req->una_rec, kept = req->kept_rec;

	if (una != req->new_rec)
		cairn_comp_reap(qpc, turn->ahead);
	if (cairn_persist_active(req))
		cairn_persist_run(qpc, turn->ahead, turn->now);
	return req->una_rec != una || req->kept_rec != kept;
}

/* Begin a turn with the WQEs that were fetched for it, unless another run dropped them. */
static void req_take_fetched(struct cairn_qpc *qpc, struct cairn_ahead *ahead)
{
	struct cairn_requester *req = &qpc->req;

	if (!req->fetched && ahead->units) {
		if (req->rate.marked)
			cairn_env_count(qpc, CAIRN_CTR_RATE_PURGES,
					cairn_ahead_purge(ahead, ahead->idx));
		ahead->units = 0;
	}
	req->fetched = false;
}

bool cairn_req_run(struct cairn_qpc *qpc, u64 now, struct cairn_budget *budget)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_ahead own __uninitialized;
	struct req_turn turn = {
		.now = now,
		.budget = budget,
		.ahead = budget->ahead ?: &own,
	};
	bool more = false;

	cairn_env_assert_held(qpc, CAIRN_REQ);
	own.idx = 0;
	own.units = 0;
	if (budget->ahead)
		req_take_fetched(qpc, budget->ahead);
	req->reaps_left = CAIRN_MAX_REAPS;
	if (req->odp.faulting)
		cairn_comp_faulted_in(qpc);
	cairn_comp_expire(qpc, now);
	if (req->rate.marked)
		cairn_pace_wake(&req->rate, now);
	if (req->persist.probe_at || req->persist.recv_at)
		cairn_persist_expire(qpc, now);
	/* It frees records, so do it before new WQEs start. */
	req_finish(qpc, &turn);
	do
		req_send_all(qpc, &turn);
	while (req_finish(qpc, &turn));
	if (cairn_state(qpc) == CAIRN_QP_ERR ||
	    cairn_state(qpc) == CAIRN_QP_SQE)
		more = !cairn_comp_flush(qpc, turn.ahead, budget);
	else
		req_check_drained(qpc);
	if (!cairn_qp_reliable(qpc))
		cairn_env_room_end(qpc);
	return more || !req->reaps_left || turn.more;
}
