// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester starts WQEs from the send ring, cuts messages into trains, and goes
 * back when the completer requests a retransmission (IBTA 9.7, 10.7).
 *
 * A WQE becomes a record (struct cairn_swr) when it starts. All later decisions of the
 * protocol use the record. The WQE itself is copied from the ring again only for its
 * scatter/gather list or inline bytes, and is refused if it no longer matches the
 * record.
 */
#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include "engine/ahead.h"
#include "engine/alarm.h"
#include "engine/completer.h"
#include "engine/congestion.h"
#include "engine/gap.h"
#include "engine/latency.h"
#include "engine/pace.h"
#include "engine/persist_req.h"
#include "engine/requester.h"
#include "engine/sq_resize.h"
#include "engine/window.h"
#include "engine/wqe.h"

/* Deadlines nearer than this are not rounded, ns. */
#define CAIRN_MIN_PATIENCE	1000
/* Probe deadlines are rounded up to a multiple of this, ns. With many busy connections
 * it bounds how often a lane's timer expires.
 */
#define CAIRN_PROBE_ROUND	BIT_ULL(21)

/* One run of the requester. */
struct req_turn {
	u64 now;
	struct cairn_budget *budget;
	struct cairn_ahead ahead;
};

struct cairn_swr *cairn_req_swr(struct cairn_requester *req, u32 n)
{
	return &req->swr[n & req->swr_mask];
}

u32 cairn_req_cursor(struct cairn_requester *req)
{
	if (req->send_rec == req->new_rec)
		return req->psn;
	return cairn_psn_add(cairn_req_swr(req, req->send_rec)->psn, req->pkt);
}

/* Is a packet before the cursor not acknowledged? */
static bool req_in_flight(struct cairn_requester *req)
{
	return cairn_psn_diff(cairn_req_cursor(req), req->una) > 0;
}

bool cairn_req_outstanding(struct cairn_requester *req)
{
	return req_in_flight(req) || req->gap_kind;
}

/* Restart the ACK timer, as progress was made, or stop it. */
void cairn_req_rearm(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_requester *req = &qpc->req;

	u32 tries = qpc->attrs.retry_cnt - req->retries;

	req->ack_deadline = 0;
	req->rtt.probe_deadline = 0;
	if (!cairn_req_outstanding(req))
		return;
	cairn_gap_arm(qpc, now);
	/* IBTA allows up to four times the timeout: each try waits longer, in case
	 * the peer is slow and no packet was lost.
	 */
	if (qpc->attrs.timeout)
		req->ack_deadline = now + (4096ULL << qpc->attrs.timeout <<
					   min(tries, 2u));
}

void cairn_req_prefetch(const struct cairn_qpc *qpc)
{
	prefetch(qpc);
	prefetchw(&qpc->req);
	prefetchw((const u8 *)&qpc->req + CAIRN_LINE);
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

/* Continue sending from @psn, which is in a record that has not completed. */
void cairn_req_rewind(struct cairn_qpc *qpc, u32 psn)
{
	struct cairn_requester *req = &qpc->req;
	u32 n;

	for (n = req->ack_rec; n != req->new_rec; n++) {
		struct cairn_swr *swr = cairn_req_swr(req, n);
		s32 off = cairn_req_swr_offset(swr, psn);

		if (off >= 0 && off < (s32)swr->npkts) {
			req->send_rec = n;
			req->pkt = off;
			return;
		}
	}
}

/* Copy the WQE at ring unit @idx; @avail units are posted from there on. */
static void req_copy_wqe(struct cairn_qpc *qpc, struct cairn_ahead *ahead,
			 u32 idx, u32 avail)
{
	struct cairn_requester *req = &qpc->req;

	cairn_ahead_wqe(qpc, ahead, idx, avail);
	req->wqe_idx = idx;
	req->wqe_valid = true;
}

bool cairn_req_load(struct cairn_qpc *qpc, struct cairn_swr *swr,
		    struct cairn_ahead *ahead)
{
	struct cairn_requester *req = &qpc->req;
	const struct cairn_send_wqe *wqe = &req->ext->wqe.send;
	u32 length;

	if (req->wqe_valid && req->wqe_idx == swr->idx)
		return true;
	req_copy_wqe(qpc, ahead, swr->idx, req->sq_next - swr->idx);
	if (wqe->opcode == swr->opcode && wqe->flags == swr->flags &&
	    wqe->units == swr->units &&
	    !cairn_wqe_check_send(qpc, &req->ext->wqe, &length) &&
	    length == swr->length)
		return true;
	req->wqe_valid = false;
	cairn_env_count(qpc, CAIRN_CTR_BAD_WQES, 1);
	return false;
}

/* Give up the ring: the write pointer is out of range, or units cannot be walked. */
static void req_bad_ring(struct cairn_qpc *qpc)
{
	qpc->req.ring_bad = true;
	cairn_env_count(qpc, CAIRN_CTR_BAD_RINGS, 1);
	cairn_qpc_fatal(qpc);
}

/* Posted units that have not started; 0: none. */
static u32 req_posted_units(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	u32 tail;

	if (cairn_env_sq_tail(qpc, &tail)) {
		req_bad_ring(qpc);
		return 0;
	}
	return tail - req->sq_next;
}

static void req_fill_swr(struct cairn_qpc *qpc, struct cairn_swr *swr,
			 u8 status, u32 length)
{
	struct cairn_requester *req = &qpc->req;
	const struct cairn_send_wqe *wqe = &req->ext->wqe.send;

	*swr = (struct cairn_swr){
		.wr_id = wqe->wr_id,
		.idx = req->sq_next,
		.psn = req->psn,
		.length = length,
		.opcode = wqe->opcode,
		.flags = wqe->flags,
		.units = wqe->units,
		.status = status,
	};
	if (status) {
		cairn_env_count(qpc, CAIRN_CTR_BAD_WQES, 1);
		return;
	}
	if (cairn_wqe_ops[wqe->opcode].flags & CAIRN_WOP_LOCAL)
		return;
	swr->npkts = cairn_window_npkts(qpc, length);
	swr->ssn = req->ssn;
	req->ssn = cairn_psn_add(req->ssn, wqe->opcode == CAIRN_WQE_READ ?
				 cairn_window_read_requests(qpc, swr->npkts) : 1);
	req->psn = cairn_psn_add(req->psn, swr->npkts);
	if (qpc->transport == CAIRN_TRANSPORT_UD)
		swr->ah = wqe->ud.ah;
	if (!cairn_req_swr_persists(swr))
		return;
	/* undurable_rec does not advance while no WRITE_PERSIST is outstanding. */
	if (!req->persist.outstanding++)
		req->persist.undurable_rec = req->new_rec;
}

/* Check the copy in ext->wqe, including limits from the QP's attributes. */
static u8 req_check_wqe(struct cairn_qpc *qpc, u32 *length)
{
	const struct cairn_send_wqe *wqe = &qpc->req.ext->wqe.send;
	u8 status = cairn_wqe_check_send(qpc, &qpc->req.ext->wqe, length);

	if (status)
		return status;
	if (qpc->transport == CAIRN_TRANSPORT_UD && *length > qpc->attrs.pmtu)
		return CAIRN_CQE_LOC_LEN_ERR;
	if (cairn_window_npkts(qpc, *length) > CAIRN_PSN_SPAN)
		return CAIRN_CQE_LOC_LEN_ERR;
	if (cairn_wqe_ops[wqe->opcode].flags & CAIRN_WOP_READS &&
	    !qpc->attrs.max_rd_atomic)
		return CAIRN_CQE_LOC_QP_OP_ERR;
	return 0;
}

/* Allocate records for @posted more WQEs. A QP begins with few and gets more when it
 * needs them. Without memory it continues with the old ones. The records move, so no
 * pointer to one may be held across the call.
 */
static void req_make_records(struct cairn_qpc *qpc, u32 posted)
{
	struct cairn_requester *req = &qpc->req;
	u32 wanted = req->new_rec - req->kept_rec + posted;
	struct cairn_swr *swr;
	u32 n;

	if (wanted <= req->swr_mask + 1)
		return;
	n = min_t(u32, roundup_pow_of_two(wanted), qpc->max_records);
	if (n <= req->swr_mask + 1)
		return;
	swr = cairn_env_more_records(qpc, n);
	if (!swr)
		return;
	cairn_sq_resize(qpc, qpc->sq_depth, &swr, n - 1);
	cairn_env_drop_records(qpc, swr);
}

/* Start the next WQE of the ring. @first: more records may be allocated. Return: false
 * if no WQE is posted, or there is no record for it.
 */
static bool req_start_wqe(struct cairn_qpc *qpc, bool first,
			  struct req_turn *turn)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr;
	u32 avail, length = 0;
	u8 units, status;

	if (!first && req->new_rec - req->kept_rec > req->swr_mask)
		return false;
	avail = req_posted_units(qpc);
	if (!avail)
		return false;
	if (first)
		req_make_records(qpc, avail);
	if (req->new_rec - req->kept_rec > req->swr_mask)
		return false;
	req_copy_wqe(qpc, &turn->ahead, req->sq_next, avail);
	units = req->ext->wqe.send.units;
	if (!units || units > CAIRN_MAX_WQE_UNITS || units > avail) {
		req->wqe_valid = false;
		req_bad_ring(qpc);
		return false;
	}
	status = req_check_wqe(qpc, &length);
	swr = cairn_req_swr(req, req->new_rec);
	req_fill_swr(qpc, swr, status, length);
	cairn_latency_start(req, swr, turn->now);
	cairn_env_started(qpc, swr);
	req->sq_next += units;
	req->new_rec++;
	return true;
}

/* Outstanding READ requests and atomics. The window bounds the loop. */
static u32 req_reads_outstanding(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	u32 chunk = cairn_window_read_chunk(qpc), out = 0, n;

	for (n = req->ack_rec; n != req->new_rec; n++) {
		struct cairn_swr *swr = cairn_req_swr(req, n);
		u32 end = n == req->send_rec ? req->pkt : swr->npkts;
		u32 done = max(cairn_req_swr_offset(swr, req->una), 0);

		if (cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_READS &&
		    done < end)
			out += (end - 1) / chunk - done / chunk + 1;
		if (n == req->send_rec)
			break;
	}
	return out;
}

u32 cairn_req_read_count(struct cairn_qpc *qpc, const struct cairn_swr *swr)
{
	u32 chunk = cairn_window_read_chunk(qpc), pkt = qpc->req.pkt;

	return min(swr->npkts - pkt, chunk - pkt % chunk);
}

/* Are half of the retries used up? */
static bool req_lacks_answers(const struct cairn_qpc *qpc)
{
	u8 left = qpc->req.retries, all = qpc->attrs.retry_cnt;

	return left < all && 2 * left <= all;
}

/* Limit of packets in flight. One until the first answer shows the peer's UDP port: an
 * off-path attacker then has a single PSN to guess, and a short queue on the way does
 * not drop the packet whose answer counts, the last one. After some timeouts the whole
 * window, since the peer may be waiting for later packets.
 */
static u32 req_most_out(const struct cairn_qpc *qpc)
{
	return qpc->req.peer_port.changes || req_lacks_answers(qpc) ||
			       !qpc->attrs.timeout ?
		       cairn_window(qpc) :
		       1;
}

/* Room in the window, packets; 0: wait for acknowledgements. */
static u32 req_window(struct cairn_qpc *qpc, const struct cairn_swr *swr)
{
	struct cairn_requester *req = &qpc->req;
	u32 out = cairn_psn_diff(cairn_req_cursor(req), req->una);
	u32 all = req_most_out(qpc);

	if (!cairn_qp_reliable(qpc))
		return CAIRN_TRAIN_MAX;
	if (cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_READS)
		return !out || out + cairn_req_read_count(qpc, swr) <= all;
	return out < all ? all - out : 0;
}

/* End-to-end credits (IBTA 9.7.7.2). Beyond the limit a single packet may be sent as a
 * probe, while no other packet is in flight.
 */
static u32 req_credit_limit(struct cairn_qpc *qpc, const struct cairn_swr *swr,
			    u32 n)
{
	struct cairn_requester *req = &qpc->req;

	if (!req->credits.valid ||
	    cairn_psn_diff(swr->ssn, req->credits.lsn) <= 0) {
		req->credits.wait = false;
		return n;
	}
	if (!req->credits.wait)
		cairn_env_count(qpc, CAIRN_CTR_CREDIT_WAITS, 1);
	req->credits.wait = true;
	return req_in_flight(req) ? 0 : 1;
}

/* How many packets of @swr may be sent now. */
static u32 req_allowed(struct cairn_qpc *qpc, const struct cairn_swr *swr)
{
	struct cairn_requester *req = &qpc->req;
	u8 flags = cairn_wqe_ops[swr->opcode].flags;
	u32 n;

	n = req_window(qpc, swr);
	if (!n)
		return 0;
	if (swr->flags & CAIRN_WQE_FENCE && !req->pkt &&
	    (req_reads_outstanding(qpc) || cairn_persist_unfinished(qpc)))
		return 0;
	if (cairn_persist_far(qpc))
		return 0;
	/* A READ that has begun continues even if max_rd_atomic is 0 now. */
	if (flags & CAIRN_WOP_READS &&
	    req_reads_outstanding(qpc) >= max_t(u8, qpc->attrs.max_rd_atomic, 1))
		return 0;
	if (flags & CAIRN_WOP_CREDIT)
		n = req_credit_limit(qpc, swr, n);
	return n;
}

static u8 req_bth_opcode(const struct cairn_qpc *qpc, u8 bth_op)
{
	return qpc->prefix | bth_op;
}

/* Describe packet @pkt of @swr. */
static void req_train_init(struct cairn_qpc *qpc, struct cairn_swr *swr,
			   u32 pkt, struct cairn_train *train, u8 bth_op)
{
	const struct cairn_send_wqe *wqe = &qpc->req.ext->wqe.send;

	*train = (struct cairn_train){
		.count = 1,
		.first = {
			.opcode = req_bth_opcode(qpc, bth_op),
			.pkey = qpc->attrs.pkey,
			.qpn = qpc->attrs.dqpn,
			.psn = cairn_psn_add(swr->psn, pkt),
			.va = wqe->remote_addr + (u64)pkt * qpc->attrs.pmtu,
			.rkey = wqe->rkey,
			.dma_len = swr->length - pkt * qpc->attrs.pmtu,
			.imm = (__force __be32)wqe->imm_or_key,
			/* Used by XRC only. */
			.srqn = wqe->inline_len >> CAIRN_XRC_SRQN_SHIFT,
		},
	};
	train->ect = qpc->attrs.cc;
	train->retransmit = cairn_psn_diff(train->first.psn, qpc->req.sent) < 0;
}

static void req_fill_atomic(const struct cairn_send_wqe *wqe,
			    struct cairn_train *train)
{
	bool faa = wqe->opcode == CAIRN_WQE_FAA;

	train->first.compare = faa ? 0 : wqe->atomic.compare_add;
	train->first.swap_add = faa ? wqe->atomic.compare_add :
				      wqe->atomic.swap;
}

static void req_fill_flush(const struct cairn_send_wqe *wqe,
			   struct cairn_train *train)
{
	train->first.dma_len = wqe->flush.length;
	train->first.plt = wqe->flush.plt;
	train->first.sel = wqe->flush.sel;
}

static void req_fill_atomic_write(struct cairn_requester *req,
				  struct cairn_train *train)
{
	train->first.dma_len = sizeof(u64);
	train->first.payload_len = sizeof(u64);
	train->length = sizeof(u64);
	train->seg = sizeof(u64);
	if (req->ext->wqe.send.flags & CAIRN_WQE_INLINE)
		train->inline_data = req->ext->wqe.bytes + CAIRN_WQE_DATA_OFFSET;
	train->span = (struct cairn_span){
		.sge = cairn_wqe_sges(&req->ext->wqe),
		.num_sge = req->ext->wqe.send.num_sge,
		.access = CAIRN_ACCESS_LOCAL_READ,
	};
}

/* Send a READ request for @n response packets from the cursor on, or another request
 * that has a response.
 */
static int req_emit_read(struct cairn_qpc *qpc, struct cairn_swr *swr, u32 n)
{
	const struct cairn_send_wqe *wqe = &qpc->req.ext->wqe.send;
	struct cairn_train train;

	req_train_init(qpc, swr, qpc->req.pkt, &train,
		       cairn_wqe_ops[swr->opcode].only);
	train.first.ack_req = true;
	train.first.dma_len = min(train.first.dma_len, n * qpc->attrs.pmtu);
	if (cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_ATOMIC)
		req_fill_atomic(wqe, &train);
	else if (swr->opcode == CAIRN_WQE_FLUSH)
		req_fill_flush(wqe, &train);
	else if (swr->opcode == CAIRN_WQE_ATOMIC_WRITE)
		req_fill_atomic_write(&qpc->req, &train);
	return cairn_env_emit(qpc, CAIRN_REQ, &train);
}

/* Packets of one train from the cursor on, at most @n. */
static u32 req_train_count(struct cairn_qpc *qpc, const struct cairn_swr *swr,
			   u32 n)
{
	struct cairn_requester *req = &qpc->req;
	u8 flags = cairn_wqe_ops[swr->opcode].flags;
	u32 left = swr->npkts - req->pkt;

	n = min3(n, left, (u32)CAIRN_TRAIN_MAX);
	/* A RETH makes the first packet longer, IMM or IETH the last one. */
	if (flags & CAIRN_WOP_RETH && !req->pkt)
		return 1;
	if (flags & CAIRN_WOP_EXTRA && n == left && n > 1)
		n--;
	return clamp_t(u32, CAIRN_TRAIN_BYTES / (qpc->attrs.pmtu + 64u), 1, n);
}

static u8 req_position(const struct cairn_wqe_op *op, u32 pkt, u32 npkts)
{
	if (npkts == 1)
		return op->only;
	if (!pkt)
		return op->first;
	return pkt == npkts - 1 ? op->last : op->middle;
}

static void req_address_ud(struct cairn_qpc *qpc, struct cairn_train *train)
{
	const struct cairn_send_wqe *wqe = &qpc->req.ext->wqe.send;

	train->ah = wqe->ud.ah;
	train->first.qpn = wqe->ud.qpn & CAIRN_24BIT_MASK;
	/* The top bit asks for the QP's own Q_Key (IBTA 10.2.5). */
	train->first.qkey =
		wqe->qkey & 0x80000000 ? qpc->attrs.qkey : wqe->qkey;
	train->first.src_qpn = qpc->qpn;
}

/* Describe @n packets of a SEND or WRITE from packet @pkt on. */
static void req_fill_message(struct cairn_qpc *qpc, struct cairn_swr *swr,
			     u32 pkt, u32 n, struct cairn_train *train)
{
	const struct cairn_wqe_op *op = &cairn_wqe_ops[swr->opcode];
	struct cairn_requester *req = &qpc->req;
	u32 pmtu = qpc->attrs.pmtu, off = pkt * pmtu, end = pkt + n;
	bool last = end == swr->npkts;

	req_train_init(qpc, swr, pkt, train,
		       req_position(op, pkt, swr->npkts));
	train->count = n;
	train->mid_opcode = req_bth_opcode(qpc, op->middle);
	train->last_opcode =
		req_bth_opcode(qpc, req_position(op, end - 1, swr->npkts));
	train->length = last ? swr->length - off : n * pmtu;
	train->seg = min(train->length, pmtu);
	train->first.payload_len = train->seg;
	train->first.solicited = last && swr->flags & CAIRN_WQE_SOLICITED &&
			    op->flags & (CAIRN_WOP_CREDIT |
					 CAIRN_WOP_PERSIST);
	if (op->flags & CAIRN_WOP_EXTRA && swr->opcode == CAIRN_WQE_SEND_INV)
		train->first.rkey = req->ext->wqe.send.imm_or_key;
	if (cairn_qp_reliable(qpc)) {
		u32 out = cairn_psn_diff(train->first.psn, req->una) + n;

		train->first.ack_req =
			last || out >= req_most_out(qpc) || req->credits.wait ||
			cairn_gap_ends(req,
				       cairn_psn_add(train->first.psn, n)) ||
			(train->first.psn ^ (train->first.psn + n)) &
				CAIRN_ACK_INTERVAL;
	} else if (qpc->transport == CAIRN_TRANSPORT_UD) {
		req_address_ud(qpc, train);
	}
	if (swr->flags & CAIRN_WQE_INLINE)
		train->inline_data =
			req->ext->wqe.bytes + CAIRN_WQE_DATA_OFFSET + off;
	train->span = (struct cairn_span){
		.sge = cairn_wqe_sges(&req->ext->wqe),
		.num_sge = req->ext->wqe.send.num_sge,
		.offset = off,
		.more = swr->length - off - train->length,
		.access = CAIRN_ACCESS_LOCAL_READ,
	};
}

/* Send @n packets from packet @pkt on. @pause: a wait for the rate follows, so request
 * an ACK.
 */
static int req_emit_message(struct cairn_qpc *qpc, struct cairn_swr *swr,
			    u32 pkt, u32 n, bool pause)
{
	struct cairn_train train;

	req_fill_message(qpc, swr, pkt, n, &train);
	if (pause && cairn_qp_reliable(qpc))
		train.first.ack_req = true;
	return cairn_env_emit(qpc, CAIRN_REQ, &train);
}

int cairn_req_repeat_last(struct cairn_qpc *qpc, struct cairn_swr *swr)
{
	if (!cairn_req_load(qpc, swr, NULL))
		return -EINVAL;
	return req_emit_message(qpc, swr, swr->npkts - 1, 1, false);
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
		     !req_start_wqe(qpc, false, turn)))
			break;
		if (!req_alike(qpc, swr,
			       cairn_req_swr(req, req->send_rec + count)))
			break;
	}
	return count;
}

/* A train of single-packet messages. */
struct req_messages {
	struct cairn_train train;
	struct cairn_ahead *ahead;
};

/* Describe message @k of the train. Only the last one requests an ACK. */
static int req_message_part(struct cairn_qpc *qpc,
			    const struct cairn_train *train, u32 k,
			    struct cairn_train *one)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *swr = cairn_req_swr(req, req->send_rec + k);

	if (!cairn_req_load(qpc, swr,
			    container_of(train, struct req_messages, train)->ahead))
		return -EINVAL;
	req_fill_message(qpc, swr, 0, 1, one);
	/* The host may have changed the address handle since the WQE started. */
	if (one->ah != train->ah)
		return -EINVAL;
	one->first.ack_req &= k + 1 == train->count;
	return 0;
}

/*
 * Send @count messages that are alike. If one of them is refused, the messages before
 * it are sent, and it fails later in its turn. Return: messages sent; 0: the caller
 * sends the first one alone.
 */
static u32 req_emit_messages(struct cairn_qpc *qpc, struct cairn_swr *swr,
			     u32 count, struct cairn_ahead *ahead)
{
	struct req_messages all __uninitialized;
	struct cairn_train *train = &all.train;

	all.ahead = ahead;
	while (count > 1) {
		u32 good;

		if (!cairn_req_load(qpc, swr, ahead))
			return 0;
		req_fill_message(qpc, swr, 0, 1, train);
		train->count = count;
		train->mid_opcode = train->first.opcode;
		train->last_opcode = train->first.opcode;
		train->length = count * train->seg;
		good = cairn_env_emit_messages(qpc, train, req_message_part);
		if (good == count)
			return count;
		count = min(good, count / 2);
	}
	return 0;
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
		if (cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_READS)
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
 * data. The window does not bound local operations. Their number behind the oldest
 * unreceived record is limited, because the search for an answer's record passes them.
 */
static bool req_local_waits(struct cairn_qpc *qpc, const struct cairn_swr *swr)
{
	struct cairn_requester *req = &qpc->req;

	if (swr->opcode == CAIRN_WQE_LOCAL_INV)
		return req->send_rec != req->una_rec;
	if (req->send_rec - req->ack_rec >= CAIRN_WINDOW_PACKETS)
		return true;
	return swr->flags & CAIRN_WQE_FENCE && req_reads_outstanding(qpc);
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
		err = cairn_req_load(qpc, swr, &turn->ahead) ?
			      cairn_env_local(qpc, &req->ext->wqe.send) :
			      -EINVAL;
	swr->local_wait = err == -EINPROGRESS;
	if (swr->local_wait)
		return false;
	if (err) {
		req_refuse(qpc, swr, swr->opcode == CAIRN_WQE_BIND_MW ?
				     CAIRN_CQE_MW_BIND_ERR :
				     CAIRN_CQE_LOC_QP_OP_ERR, -EINVAL);
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
	if (!cairn_req_load(qpc, swr, &turn->ahead))
		return false;
	ah = cairn_env_ah_rate(qpc, qpc->req.ext->wqe.send.ud.ah);
	if (ah && (!limit->kbps || ah < limit->kbps))
		limit->kbps = ah;
	return true;
}

/* Bytes that @n packets of a SEND or WRITE from the cursor on count for the rate. */
static u32 req_message_bytes(const struct cairn_qpc *qpc,
			     const struct cairn_swr *swr, u32 n)
{
	u32 pkt = qpc->req.pkt, left = swr->length - pkt * qpc->attrs.pmtu;
	u8 op = req_position(&cairn_wqe_ops[swr->opcode], pkt, swr->npkts);

	return cairn_window_packet_bytes(req_bth_opcode(qpc, op), n,
					 min(left, n * qpc->attrs.pmtu));
}

/* Bytes that a request with a response counts for the rate. */
static u32 req_request_bytes(const struct cairn_qpc *qpc,
			     const struct cairn_swr *swr)
{
	u32 payload = swr->opcode == CAIRN_WQE_ATOMIC_WRITE ? sizeof(u64) : 0;

	return cairn_window_packet_bytes(req_bth_opcode(qpc,
							cairn_wqe_ops[swr->opcode].only),
					 1, payload);
}

/* The rate limit of one train. */
struct req_paced {
	struct cairn_pace pace;
	bool pause;		/* no packet is allowed after it */
	u32 bytes;		/* that count for the rate */
};

/*
 * How many of @n packets from the cursor on the rate allows. 0: the mark is set; the
 * cursor stays, and the copy of the WQE is dropped and read from the ring again later.
 */
static u32 req_pace(struct cairn_qpc *qpc, const struct cairn_swr *swr, u32 n,
		    struct req_paced *paced, struct cairn_ahead *ahead)
{
	const struct cairn_wqe_op *op = &cairn_wqe_ops[swr->opcode];
	struct cairn_requester *req = &qpc->req;
	u32 bytes, fit;

	if (op->flags & CAIRN_WOP_READS)
		bytes = req_request_bytes(qpc, swr);
	else
		bytes = req_message_bytes(qpc, swr, 1);
	fit = cairn_pace_fit(qpc, &paced->pace, bytes, n + 1);
	paced->pause = paced->pace.limit.kbps && fit <= n;
	if (!fit) {
		req->wqe_valid = false;
		cairn_env_count(qpc, CAIRN_CTR_RATE_PURGES,
				cairn_ahead_purge(ahead, swr->idx));
		if (req->pkt)
			cairn_env_count(qpc, CAIRN_CTR_RATE_WRITEBACKS, 1);
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
		n = req_emit_messages(qpc, swr, n, ahead);
		paced->bytes = n * req_message_bytes(qpc, swr, 1);
		if (n)
			return n;
		n = 1;
	}
	if (!cairn_req_load(qpc, swr, ahead)) {
		err = -EINVAL;
	} else if (op->flags & CAIRN_WOP_READS) {
		paced->bytes = req_request_bytes(qpc, swr);
		n = cairn_req_read_count(qpc, swr);
		err = req_emit_read(qpc, swr, n);
	} else {
		paced->bytes = req_message_bytes(qpc, swr, n);
		err = req_emit_message(qpc, swr, qpc->req.pkt, n, paced->pause);
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
	u32 room, want, may, psns, sent;
	bool reads;

	if (swr->status)
		return false;
	if (cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_LOCAL)
		return req_run_local(qpc, swr, turn);
	room = cairn_gap_limit(req, min(req_allowed(qpc, swr),
					turn->budget->packets));
	if (!room)
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
	reads = cairn_wqe_ops[swr->opcode].flags & CAIRN_WOP_READS;
	if (reads)
		want = 1;
	else if (swr->npkts == 1)
		want = req_count_alike(qpc, swr, room, turn);
	else
		want = req_train_count(qpc, swr, room);
	may = req_pace(qpc, swr, want, &paced, &turn->ahead);
	if (!may)
		return false;
	psns = req_emit(qpc, swr, may, &paced, &turn->ahead);
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

	while (req_may_send(qpc) && cairn_budget_left(turn->budget)) {
		if (req->send_rec == req->new_rec &&
		    (cairn_state(qpc) == CAIRN_QP_SQD ||
		     !req_start_wqe(qpc, true, turn)))
			return;
		if (!req_send_one(qpc, turn))
			return;
		if (!cairn_qp_reliable(qpc))
			cairn_comp_reap(qpc, &turn->ahead);
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
		cairn_comp_reap(qpc, &turn->ahead);
	if (cairn_persist_active(req))
		cairn_persist_run(qpc, &turn->ahead, turn->now);
	return req->una_rec != una || req->kept_rec != kept;
}

bool cairn_req_run(struct cairn_qpc *qpc, u64 now, struct cairn_budget *budget)
{
	struct cairn_requester *req = &qpc->req;
	struct req_turn turn __uninitialized;
	bool more = false;

	cairn_env_assert_held(qpc, CAIRN_REQ);
	turn.now = now;
	turn.budget = budget;
	turn.ahead.idx = 0;
	turn.ahead.units = 0;
	req->reaps_left = CAIRN_MAX_REAPS;
	if (req->odp.faulting)
		cairn_comp_faulted_in(qpc);
	cairn_comp_expire(qpc, now);
	if (req->rate.marked)
		cairn_pace_wake(qpc, &req->rate, now);
	if (req->persist.probe_at || req->persist.recv_at)
		cairn_persist_expire(qpc, now);
	/* It frees records, so do it before new WQEs start. */
	req_finish(qpc, &turn);
	do
		req_send_all(qpc, &turn);
	while (req_finish(qpc, &turn));
	if (cairn_state(qpc) == CAIRN_QP_ERR ||
	    cairn_state(qpc) == CAIRN_QP_SQE)
		more = !cairn_comp_flush(qpc, &turn.ahead, budget);
	else
		req_check_drained(qpc);
	return more || !req->reaps_left ||
	       (req_may_send(qpc) && !cairn_budget_left(budget));
}
