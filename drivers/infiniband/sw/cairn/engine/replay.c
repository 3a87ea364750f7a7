// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * READ and atomic requests at the responder: their responses, sent in PSN
 * order, and what is kept to answer duplicates (IBTA 9.4.4, 9.4.5, 9.7.5.1).
 *
 * The table holds the last max_dest_rd_atomic of them. A READ is executed again
 * from memory; an atomic is never executed twice, its result is kept.
 */
#include "engine/internal.h"

/* May one more be kept? A requester that sends it has the response of the one
 * whose place it takes, else it had more outstanding than was agreed; if that
 * is being answered again, nobody waits for it any more.
 */
bool cairn_replay_room(struct cairn_qpc *q)
{
	struct cairn_responder *p = &q->resp;
	struct cairn_rdres *e;

	if (!p->rd || !q->attrs.max_dest_rd_atomic)
		return false;
	e = &p->rd[p->rd_head & p->rd_mask];
	return !e->pending || e->again;
}

/* Remember a request that was just accepted. False: the requester has more
 * outstanding than was agreed.
 */
bool cairn_replay_add(struct cairn_qpc *q, const struct cairn_pkt *pkt,
		      u32 npkts, u64 orig)
{
	struct cairn_responder *p = &q->resp;
	struct cairn_rdres *e;

	if (!cairn_replay_room(q))
		return false;
	e = &p->rd[p->rd_head & p->rd_mask];
	if (e->pending)
		p->rd_pending--;
	*e = (struct cairn_rdres){
		.psn = pkt->psn,
		.npkts = npkts,
		.length = pkt->dma_len,
		.rkey = pkt->rkey,
		.msn = cairn_psn_add(p->msn, 1),
		.va = pkt->va,
		.orig = orig,
		.kind = pkt->op->kind,
		.pending = true,
		.restart = true,
	};
	p->rd_head++;
	p->rd_pending++;
	return true;
}

static struct cairn_rdres *find(struct cairn_responder *p, u32 psn, u8 kind)
{
	u32 i;

	for (i = 0; p->rd && i <= p->rd_mask; i++) {
		struct cairn_rdres *e = &p->rd[i];
		s32 off = cairn_psn_diff(psn, e->psn);

		if (e->kind == kind && off >= 0 && off < (s32)e->npkts)
			return e;
	}
	return NULL;
}

/* A duplicate READ may ask for the tail of the original, nothing else. */
static bool same_read(struct cairn_qpc *q, const struct cairn_rdres *e,
		      const struct cairn_pkt *pkt)
{
	u64 off = (u64)cairn_psn_diff(pkt->psn, e->psn) * q->attrs.pmtu;

	return pkt->rkey == e->rkey && pkt->va == e->va + off &&
	       off <= e->length && pkt->dma_len == e->length - off;
}

/* Answer a duplicate READ or atomic again. False: not known any more. */
bool cairn_replay_duplicate(struct cairn_qpc *q, const struct cairn_pkt *pkt)
{
	struct cairn_responder *p = &q->resp;
	struct cairn_rdres *e = find(p, pkt->psn, pkt->op->kind);

	if (!e)
		return false;
	if (e->kind == CAIRN_KIND_READ_REQ) {
		if (!same_read(q, e, pkt))
			return false;
		e->next = cairn_psn_diff(pkt->psn, e->psn);
		e->restart = true;
	}
	if (!e->pending) {
		e->pending = true;
		e->again = true;
		p->rd_pending++;
	}
	return true;
}

static int emit_atomic(struct cairn_qpc *q, const struct cairn_rdres *e)
{
	struct cairn_train t = {
		.count = 1,
		.first = {
			.opcode = CAIRN_BTH_ATOMIC_ACK,
			.pkey = q->attrs.pkey,
			.qpn = q->attrs.dqpn,
			.psn = e->psn,
			.syndrome = cairn_resp_ack_syndrome(q),
			.msn = e->msn,
			.orig = e->orig,
		},
	};

	return cairn_port_emit(q, CAIRN_RESP, &t);
}

/* FIRST and LAST carry an AETH, so they travel alone; MIDDLEs are trains. */
static u32 response_count(struct cairn_qpc *q, const struct cairn_rdres *e,
			  u32 n)
{
	u32 left = e->npkts - e->next;

	if (e->restart || left == 1)
		return 1;
	n = min3(n, left - 1, (u32)CAIRN_TRAIN_MAX);
	return clamp_t(u32, CAIRN_TRAIN_BYTES / (q->attrs.pmtu + 64u), 1, n);
}

static u8 response_opcode(const struct cairn_rdres *e)
{
	bool last = e->next == e->npkts - 1;

	if (e->restart)
		return last ? CAIRN_BTH_READ_RESP_ONLY :
			      CAIRN_BTH_READ_RESP_FIRST;
	return last ? CAIRN_BTH_READ_RESP_LAST : CAIRN_BTH_READ_RESP_MIDDLE;
}

static int emit_read_response(struct cairn_qpc *q, struct cairn_rdres *e, u32 n,
			      const struct cairn_rate_limit *l, u64 now)
{
	u32 pmtu = q->attrs.pmtu, off = e->next * pmtu, bytes;
	struct cairn_sge sge = {
		.addr = e->va,
		.length = e->length,
		.lkey = e->rkey,
	};
	struct cairn_train t = {
		.count = n,
		.ect = q->attrs.cc,
		.mid_opcode = CAIRN_BTH_READ_RESP_MIDDLE,
		.last_opcode = CAIRN_BTH_READ_RESP_MIDDLE,
		.first = {
			.opcode = response_opcode(e),
			.pkey = q->attrs.pkey,
			.qpn = q->attrs.dqpn,
			.psn = cairn_psn_add(e->psn, e->next),
			.syndrome = cairn_resp_ack_syndrome(q),
			.msn = e->msn,
		},
		.length = min(e->length - off, n * pmtu),
		.span = {
			.sge = &sge,
			.num_sge = 1,
			.offset = off,
			.access = CAIRN_ACCESS_REMOTE_READ,
		},
	};

	t.seg = min(t.length, pmtu);
	t.first.payload_len = t.seg;
	bytes = cairn_packet_bytes(t.first.opcode, n, t.length);
	cairn_pace_sent(q, &q->resp.rate, l, n, bytes, now);
	cairn_cc_sent(q, CAIRN_RESP, bytes);
	return cairn_port_emit(q, CAIRN_RESP, &t);
}

/* As many packets of a READ response as fit budget and rate, one train. */
static u32 paced_count(struct cairn_qpc *q, const struct cairn_rdres *e,
		       const struct cairn_rate_limit *l,
		       struct cairn_budget *b, u64 now)
{
	u32 left = e->length - e->next * q->attrs.pmtu;

	return cairn_pace(q, &q->resp.rate, l,
			  cairn_packet_bytes(response_opcode(e), 1,
					     min_t(u32, left, q->attrs.pmtu)),
			  response_count(q, e, b->packets), now);
}

/* Returns false when the rate allows no packet now. */
static bool emit_next(struct cairn_qpc *q, struct cairn_rdres *e,
		      struct cairn_budget *b, u64 now)
{
	struct cairn_responder *p = &q->resp;
	struct cairn_rate_limit limit;
	u32 n = 1;
	int err;

	if (e->kind == CAIRN_KIND_READ_REQ) {
		limit = q->attrs.rate;
		cairn_cc_limit(q, CAIRN_RESP, &limit, now);
		n = paced_count(q, e, &limit, b, now);
		if (!n)
			return false;
		err = emit_read_response(q, e, n, &limit, now);
	} else {
		err = emit_atomic(q, e);
	}
	if (err) {
		/* The memory went away while it was being read. */
		cairn_resp_fatal(q, cairn_psn_add(e->psn, e->next),
				 CAIRN_NAK_REMOTE_ACCESS,
				 CAIRN_ASYNC_QP_ACCESS_ERR);
		memset(p->rd, 0, sizeof(*p->rd) * (p->rd_mask + 1));
		p->rd_pending = 0;
		return true;
	}
	e->restart = false;
	e->next += n;
	cairn_budget_use(b, n, min(n * q->attrs.pmtu, e->length));
	if (e->next >= e->npkts || e->kind == CAIRN_KIND_ATOMIC_REQ) {
		e->next = 0;
		e->pending = false;
		p->rd_pending--;
	}
	return true;
}

/* Send pending responses, oldest first. Returns true when all are out, but for
 * those that a WRITE which the host has not released holds back; if not, the
 * budget is used up or the rate's mark is up.
 */
bool cairn_replay_run(struct cairn_qpc *q, struct cairn_budget *b, u64 now)
{
	struct cairn_responder *p = &q->resp;
	u32 i = p->rd_head - p->rd_mask - 1;

	while (p->rd_pending) {
		struct cairn_rdres *e = &p->rd[i & p->rd_mask];

		if (!e->pending) {
			i++;
			continue;
		}
		if (cairn_persist_limit(p, &(u32){ e->psn }))
			return true;
		if (!cairn_budget_left(b) || !emit_next(q, e, b, now))
			return false;
	}
	return true;
}
