// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Requests that have responses (READ, atomics, FLUSH) at the responder: sends the
 * responses in PSN order, and keeps the requests to answer duplicates (IBTA 9.4.4,
 * 9.4.5, 9.7.5.1, A19.4.4).
 *
 * The table holds the last max_dest_rd_atomic of them. A duplicate READ reads memory
 * again; the others are never executed twice: the result of an atomic is kept, ATOMIC
 * WRITE and FLUSH have none.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "engine/answer_resp.h"
#include "engine/congestion.h"
#include "engine/pace.h"
#include "engine/persist_resp.h"
#include "engine/replay.h"
#include "engine/responder.h"
#include "engine/tally.h"
#include "engine/window.h"

/* Allocate the table with the first request, as most connections have none. */
bool cairn_replay_begin(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	if (!resp->replay.res && qpc->attrs.max_dest_rd_atomic)
		resp->replay.res = cairn_env_rd_alloc(qpc);
	return resp->replay.res || !qpc->attrs.max_dest_rd_atomic;
}

/* Entry @n, free-running. */
static struct cairn_rdres *replay_entry(struct cairn_responder *resp, u32 n)
{
	return &resp->replay.res[n & resp->replay.mask];
}

/* Is there an entry for one more request? It replaces the oldest one, whose response the
 * requester must have received, or it has more outstanding than agreed. An old response
 * that is being sent again is stale then, so its entry is free, too.
 */
bool cairn_replay_room(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_rdres *res;

	if (!resp->replay.res || !qpc->attrs.max_dest_rd_atomic)
		return false;
	res = replay_entry(resp, resp->replay.head);
	return !res->pending || res->again;
}

/* Add a request that was just accepted. Return: false if the requester has more
 * outstanding than agreed.
 */
bool cairn_replay_add(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		      u32 npkts, u64 orig)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_rdres *res;

	if (!cairn_replay_room(qpc))
		return false;
	res = replay_entry(resp, resp->replay.head);
	if (res->pending)
		resp->replay.pending--;
	*res = (struct cairn_rdres){
		.psn = pkt->psn,
		.npkts = npkts,
		.length = pkt->dma_len,
		.rkey = pkt->rkey,
		.msn = cairn_psn_add(resp->msn, 1),
		.va = pkt->va,
		.srqn = pkt->srqn,
		.orig = orig,
		.kind = pkt->op->kind,
		.pending = true,
		.restart = true,
	};
	resp->replay.head++;
	resp->replay.pending++;
	return true;
}

static struct cairn_rdres *replay_find(struct cairn_responder *resp, u32 psn,
				       u8 kind)
{
	u32 i;

	/* Newest first: an old entry's PSNs may be from before the wrap. */
	for (i = 1; resp->replay.res && i <= resp->replay.mask + 1; i++) {
		struct cairn_rdres *res =
			replay_entry(resp, resp->replay.head - i);
		s32 off = cairn_psn_diff(psn, res->psn);

		if (res->kind == kind && off >= 0 && off < (s32)res->npkts)
			return res;
	}
	return NULL;
}

/* A duplicate READ must ask for a tail of the original. */
static bool replay_same_read(struct cairn_qpc *qpc,
			     const struct cairn_rdres *res,
			     const struct cairn_pkt *pkt)
{
	u64 off = (u64)cairn_psn_diff(pkt->psn, res->psn) * qpc->attrs.pmtu;

	return pkt->rkey == res->rkey && pkt->va == res->va + off &&
	       off <= res->length && pkt->dma_len == res->length - off;
}

/* Answer a duplicate READ or atomic again. Return: false if its entry was replaced. */
bool cairn_replay_duplicate(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_rdres *res = replay_find(resp, pkt->psn, pkt->op->kind);

	if (!res)
		return false;
	if (res->kind == CAIRN_KIND_READ_REQ) {
		if (!replay_same_read(qpc, res, pkt))
			return false;
		res->next = cairn_psn_diff(pkt->psn, res->psn);
		res->restart = true;
	}
	if (!res->pending) {
		res->pending = true;
		res->again = true;
		resp->replay.pending++;
	}
	return true;
}

/* Send the response of any request but a READ: one packet without payload. */
static int replay_emit_done(struct cairn_qpc *qpc,
			    const struct cairn_rdres *res)
{
	struct cairn_train train = {
		.count = 1,
		.first = {
			.opcode = qpc->prefix |
				  (res->kind == CAIRN_KIND_ATOMIC_REQ ?
					   CAIRN_BTH_ATOMIC_ACK :
					   CAIRN_BTH_READ_RESP_ONLY),
			.pkey = qpc->attrs.pkey,
			.qpn = qpc->attrs.dqpn,
			.psn = res->psn,
			.syndrome = cairn_answer_syndrome(qpc),
			.msn = res->msn,
			.orig = res->orig,
		},
	};

	return cairn_env_emit(qpc, CAIRN_RESP, &train);
}

/* FIRST and LAST carry an AETH, so they are sent alone; MIDDLEs form trains. */
static u32 replay_count(struct cairn_qpc *qpc, const struct cairn_rdres *res,
			u32 n)
{
	u32 left = res->npkts - res->next;

	if (res->restart || left == 1)
		return 1;
	n = min3(n, left - 1, (u32)CAIRN_TRAIN_MAX);
	return clamp_t(u32, CAIRN_TRAIN_BYTES / (qpc->attrs.pmtu + 64u), 1, n);
}

static u8 replay_opcode(const struct cairn_rdres *res)
{
	bool last = res->next == res->npkts - 1;

	if (res->restart)
		return last ? CAIRN_BTH_READ_RESP_ONLY :
			      CAIRN_BTH_READ_RESP_FIRST;
	return last ? CAIRN_BTH_READ_RESP_LAST : CAIRN_BTH_READ_RESP_MIDDLE;
}

static int replay_emit_read(struct cairn_qpc *qpc, struct cairn_rdres *res,
			    u32 n, const struct cairn_pace *pace)
{
	u32 pmtu = qpc->attrs.pmtu, off = res->next * pmtu, bytes;
	struct cairn_sge sge = {
		.addr = res->va,
		.length = res->length,
		.lkey = res->rkey,
	};
	struct cairn_train train = {
		.count = n,
		.ect = qpc->attrs.cc,
		.mid_opcode = qpc->prefix | CAIRN_BTH_READ_RESP_MIDDLE,
		.last_opcode = qpc->prefix | CAIRN_BTH_READ_RESP_MIDDLE,
		.first = {
			.opcode = qpc->prefix | replay_opcode(res),
			.pkey = qpc->attrs.pkey,
			.qpn = qpc->attrs.dqpn,
			.psn = cairn_psn_add(res->psn, res->next),
			.syndrome = cairn_answer_syndrome(qpc),
			.msn = res->msn,
		},
		.length = min(res->length - off, n * pmtu),
		.span = {
			.sge = &sge,
			.num_sge = 1,
			.offset = off,
			.access = CAIRN_ACCESS_REMOTE_READ,
			.side = CAIRN_RESP,
		},
	};
	int err;

	train.seg = min(train.length, pmtu);
	train.first.payload_len = train.seg;
	train.span.more = res->length - off - train.length;
	err = cairn_env_emit(qpc, CAIRN_RESP, &train);
	if (err == -EAGAIN)
		return err;
	bytes = cairn_window_packet_bytes(train.first.opcode, n, train.length);
	cairn_pace_sent(qpc, pace, n, bytes);
	cairn_congestion_sent(qpc, CAIRN_RESP, bytes);
	return err;
}

/* As many packets of a READ response as fit budget and rate, one train. */
static u32 replay_paced_count(struct cairn_qpc *qpc,
			      const struct cairn_rdres *res,
			      const struct cairn_pace *pace,
			      struct cairn_budget *budget)
{
	u32 left = res->length - res->next * qpc->attrs.pmtu;

	return cairn_pace(qpc, pace,
			  cairn_window_packet_bytes(replay_opcode(res), 1,
						    min_t(u32, left, qpc->attrs.pmtu)),
			  replay_count(qpc, res, budget->packets));
}

/* Return: false if the rate allows no packet now, or memory is not present. */
static bool replay_emit_next(struct cairn_qpc *qpc, struct cairn_rdres *res,
			     struct cairn_budget *budget, u64 now)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_pace pace __uninitialized;
	u32 n = 1;
	int err;

	if (res->kind == CAIRN_KIND_READ_REQ) {
		pace.rate = &resp->rate;
		pace.limit = qpc->attrs.rate;
		pace.now = now;
		cairn_congestion_limit(qpc, CAIRN_RESP, &pace.limit, now);
		n = replay_paced_count(qpc, res, &pace, budget);
		if (!n)
			return false;
		err = cairn_resp_srq(qpc, res->srqn) ?:
		      replay_emit_read(qpc, res, n, &pace);
	} else {
		err = replay_emit_done(qpc, res);
	}
	resp->odp.faulting = err == -EAGAIN;
	if (resp->odp.faulting)
		return false;
	if (err) {
		/* The region was released while it was being read. */
		cairn_answer_fatal(qpc, cairn_psn_add(res->psn, res->next),
				   CAIRN_NAK_REMOTE_ACCESS,
				   CAIRN_ASYNC_QP_ACCESS_ERR);
		memset(resp->replay.res, 0,
		       sizeof(*res) * (resp->replay.mask + 1));
		resp->replay.pending = 0;
		return true;
	}
	res->restart = false;
	res->next += n;
	cairn_budget_use(budget, n, min(n * qpc->attrs.pmtu, res->length));
	if (res->next >= res->npkts) {
		if (res->kind == CAIRN_KIND_READ_REQ && !res->again)
			cairn_tally_remote(qpc, CAIRN_TALLY_REMOTE_READ);
		res->next = 0;
		res->pending = false;
		resp->replay.pending--;
	}
	return true;
}

/* Send pending responses, oldest first. Return: true if all were sent, except those that
 * a pending WRITE holds back; false if the budget is used up, the rate's mark is set, or
 * memory is not present.
 */
bool cairn_replay_run(struct cairn_qpc *qpc, struct cairn_budget *budget,
		      u64 now)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 i = resp->replay.head - resp->replay.mask - 1;

	resp->odp.faulting = false;
	while (resp->replay.pending) {
		struct cairn_rdres *res = replay_entry(resp, i);

		if (!res->pending) {
			i++;
			continue;
		}
		if (cairn_persist_limit(resp, &(u32){ res->psn }, &(u32){ 0 }))
			return true;
		if (!cairn_budget_left(budget) ||
		    !replay_emit_next(qpc, res, budget, now))
			return false;
	}
	return true;
}
