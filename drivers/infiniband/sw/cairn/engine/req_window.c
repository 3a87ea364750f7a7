// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How many packets of a record may be sent now: window, end-to-end credits, READs and
 * atomics in flight, fences (IBTA 9.7.7, 10.8.3.3).
 */
#include <linux/minmax.h>
#include "engine/persist_req.h"
#include "engine/req_record.h"
#include "engine/req_window.h"
#include "engine/window.h"

/* The window bounds the loop. */
u32 cairn_req_reads_outstanding(struct cairn_qpc *qpc)
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
	u8 spent = qpc->req.retries;

	return spent && 2 * spent >= qpc->attrs.retry_cnt;
}

/* One packet until the first answer shows the peer's UDP port: an
 * off-path attacker then has a single PSN to guess, and a short queue on the way does
 * not drop the packet whose answer counts, the last one. After some timeouts the whole
 * window, since the peer may be waiting for later packets.
 */
u32 cairn_req_most_out(const struct cairn_qpc *qpc)
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
	u32 all = cairn_req_most_out(qpc);

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
	return cairn_req_in_flight(req) ? 0 : 1;
}

u32 cairn_req_allowed(struct cairn_qpc *qpc, const struct cairn_swr *swr)
{
	struct cairn_requester *req = &qpc->req;
	u8 flags = cairn_wqe_ops[swr->opcode].flags;
	u32 n;

	n = req_window(qpc, swr);
	if (!n)
		return 0;
	if (swr->flags & CAIRN_WQE_FENCE && !req->pkt &&
	    (cairn_req_reads_outstanding(qpc) || cairn_persist_unfinished(qpc)))
		return 0;
	if (cairn_persist_far(qpc))
		return 0;
	/* A READ that has begun continues even if max_rd_atomic is 0 now. */
	if (flags & CAIRN_WOP_READS &&
	    cairn_req_reads_outstanding(qpc) >= max_t(u8, qpc->attrs.max_rd_atomic, 1))
		return 0;
	if (flags & CAIRN_WOP_CREDIT)
		n = req_credit_limit(qpc, swr, n);
	return n;
}
