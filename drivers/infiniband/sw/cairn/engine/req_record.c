// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Records of started WQEs. A WQE becomes a record (struct cairn_swr) when it starts.
 * All later decisions of the protocol use the record. The WQE itself is copied from the
 * ring again only for its scatter/gather list or inline bytes, and is refused if it no
 * longer matches the record.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include "engine/latency.h"
#include "engine/req_record.h"
#include "engine/sq_resize.h"
#include "engine/window.h"

u32 cairn_req_cursor(struct cairn_requester *req)
{
	if (req->send_rec == req->new_rec)
		return req->psn;
	return cairn_psn_add(cairn_req_swr(req, req->send_rec)->psn, req->pkt);
}

bool cairn_req_in_flight(struct cairn_requester *req)
{
	return cairn_psn_diff(cairn_req_cursor(req), req->una) > 0;
}

bool cairn_req_outstanding(struct cairn_requester *req)
{
	return cairn_req_in_flight(req) || req->gap_kind;
}

u32 cairn_req_find(struct cairn_requester *req, u32 psn)
{
	u32 n;

	for (n = req->ack_rec; n != req->new_rec; n++) {
		struct cairn_swr *swr = cairn_req_swr(req, n);
		s32 off = cairn_req_swr_offset(swr, psn);

		if (off < 0)
			break;
		if (off < (s32)swr->npkts)
			return n;
	}
	return req->new_rec;
}

void cairn_req_rewind(struct cairn_qpc *qpc, u32 psn)
{
	struct cairn_requester *req = &qpc->req;
	u32 n = cairn_req_find(req, psn);

	if (n == req->new_rec)
		return;
	req->send_rec = n;
	req->pkt = cairn_req_swr_offset(cairn_req_swr(req, n), psn);
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

int cairn_req_tail(struct cairn_qpc *qpc, u32 *tail)
{
	struct cairn_requester *req = &qpc->req;
	bool all = req->sq_tail == req->sq_next;
	int err;

	*tail = req->sq_tail;
	if (all && !req->look)
		return 0;
	if (all)
		req->look = false;
	err = cairn_env_sq_tail(qpc, tail);
	if (!err)
		req->sq_tail = *tail;
	return err;
}

/* Posted units that have not started; 0: none. */
static u32 req_posted_units(struct cairn_qpc *qpc)
{
	struct cairn_requester *req = &qpc->req;
	u32 tail;

	if (cairn_req_tail(qpc, &tail)) {
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

/* Will a turn read the ring? It starts a WQE, or goes on with one that its rate has
 * stopped. A WQE at the cursor that waits for something else is read when it may go on.
 */
static bool req_wants_wqes(const struct cairn_qpc *qpc, u64 now)
{
	const struct cairn_requester *req = &qpc->req;

	if (req->rate.marked ? req->rate.next > now : req->send_rec != req->new_rec)
		return false;
	return cairn_state(qpc) == CAIRN_QP_RTS && !req->rnr_until &&
	       !req->odp.faulting;
}

/* The ring unit that it reads first. */
static u32 req_first_unit(struct cairn_requester *req)
{
	if (req->send_rec == req->new_rec)
		return req->sq_next;
	return cairn_req_swr(req, req->send_rec)->idx;
}

void cairn_req_fetch(struct cairn_qpc *qpc, struct cairn_ahead *ahead, u64 now)
{
	struct cairn_requester *req = &qpc->req;
	u32 units;

	cairn_env_assert_held(qpc, CAIRN_REQ);
	req->fetched = false;
	req->look = true;
	ahead->units = 0;
	if (!req_wants_wqes(qpc, now))
		return;
	ahead->idx = req_first_unit(req);
	units = req_posted_units(qpc) + req->sq_next - ahead->idx;
	if (!units)
		return;
	ahead->units = min_t(u32, units, CAIRN_AHEAD_UNITS);
	cairn_env_sq_copy(qpc, ahead->idx, ahead->units, ahead->bytes);
	req->fetched = true;
}

bool cairn_req_start_posted(struct cairn_qpc *qpc, bool first,
			    struct cairn_ahead *ahead, u64 now)
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
	req_copy_wqe(qpc, ahead, req->sq_next, avail);
	units = req->ext->wqe.send.units;
	if (!units || units > CAIRN_MAX_WQE_UNITS || units > avail) {
		req->wqe_valid = false;
		req_bad_ring(qpc);
		return false;
	}
	status = req_check_wqe(qpc, &length);
	swr = cairn_req_swr(req, req->new_rec);
	req_fill_swr(qpc, swr, status, length);
	cairn_latency_start(req, swr, now);
	cairn_env_started(qpc, swr);
	req->sq_next += units;
	req->new_rec++;
	return true;
}
