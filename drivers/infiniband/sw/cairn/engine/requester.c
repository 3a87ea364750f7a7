// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester: starts WQEs from the send ring, cuts messages into trains and
 * goes back when the completer says so (IBTA 9.7, 10.7).
 *
 * A WQE becomes a record (struct cairn_swr) when it starts. Everything that
 * the protocol decides later is decided from the record; the WQE itself is
 * copied from the ring again only for its scatter/gather list or inline bytes,
 * and refused when it no longer agrees with the record.
 */
#include <linux/prefetch.h>
#include "engine/ahead.h"
#include "engine/internal.h"

struct cairn_swr *cairn_req_swr(struct cairn_requester *r, u32 n)
{
	return &r->swr[n & r->swr_mask];
}

u32 cairn_req_cursor(struct cairn_requester *r)
{
	if (r->send_rec == r->new_rec)
		return r->psn;
	return cairn_psn_add(cairn_req_swr(r, r->send_rec)->psn, r->pkt);
}

/* Is anything on the way, as seen from the cursor? */
static bool in_flight(struct cairn_requester *r)
{
	return cairn_psn_diff(cairn_req_cursor(r), r->una) > 0;
}

bool cairn_req_outstanding(struct cairn_requester *r)
{
	return in_flight(r) || r->gap_kind;
}

/* Start the ACK timer afresh (progress was made) or stop it. */
void cairn_req_rearm(struct cairn_qpc *q, u64 now)
{
	struct cairn_requester *r = &q->req;

	u32 tries = q->attrs.retry_cnt - r->retries;

	r->ack_deadline = 0;
	r->probe_deadline = 0;
	if (!cairn_req_outstanding(r))
		return;
	cairn_gap_arm(q, now);
	/* IBTA allows up to four times the timeout: more patience with each
	 * try, in case the peer is slow rather than the packet lost.
	 */
	if (q->attrs.timeout)
		r->ack_deadline = now + (4096ULL << q->attrs.timeout <<
					 min(tries, 2u));
}

void cairn_req_prefetch(const struct cairn_qpc *q)
{
	prefetch(q);
	prefetchw(&q->req);
	prefetchw((const u8 *)&q->req + CAIRN_LINE);
}

/* Of two deadlines, 0 meaning none. */
static u64 earlier(u64 a, u64 b)
{
	return a && b ? min(a, b) : a ?: b;
}

u64 cairn_req_deadline(const struct cairn_qpc *q)
{
	const struct cairn_requester *r = &q->req;

	u64 d = earlier(earlier(r->rnr_until, r->ack_deadline),
			earlier(r->probe_deadline,
				cairn_rate_deadline(&r->rate)));

	return earlier(d, earlier(r->probe_at, r->recv_at));
}

/* Continue sending from @psn, which lies in a record not yet completed. */
void cairn_req_rewind(struct cairn_qpc *q, u32 psn)
{
	struct cairn_requester *r = &q->req;
	u32 n;

	for (n = r->una_rec; n != r->new_rec; n++) {
		struct cairn_swr *s = cairn_req_swr(r, n);
		s32 off = cairn_psn_diff(psn, s->psn);

		if (off >= 0 && off < (s32)s->npkts) {
			r->send_rec = n;
			r->pkt = off;
			return;
		}
	}
}

/* Copy the WQE at ring unit @idx; @avail units are posted from there on. */
static void copy_wqe(struct cairn_qpc *q, u32 idx, u32 avail)
{
	struct cairn_requester *r = &q->req;
	u8 units;

	cairn_ahead_take(q, idx, 1, avail, r->wqe.bytes);
	units = r->wqe.send.units;
	if (units > 1 && units <= CAIRN_MAX_WQE_UNITS && units <= avail)
		cairn_ahead_take(q, idx + 1, units - 1, avail - 1,
				 r->wqe.bytes + CAIRN_UNIT_SIZE);
	r->wqe_idx = idx;
	r->wqe_valid = true;
}

bool cairn_req_load(struct cairn_qpc *q, struct cairn_swr *s)
{
	struct cairn_requester *r = &q->req;
	const struct cairn_send_wqe *w = &r->wqe.send;
	u32 length;

	if (r->wqe_valid && r->wqe_idx == s->idx)
		return true;
	copy_wqe(q, s->idx, r->sq_next - s->idx);
	if (w->opcode == s->opcode && w->flags == s->flags &&
	    w->units == s->units &&
	    !cairn_send_wqe_check(q, &r->wqe, &length) && length == s->length)
		return true;
	r->wqe_valid = false;
	cairn_port_count(q, CAIRN_CTR_BAD_WQES, 1);
	return false;
}

/* The write pointer is impossible or units cannot be walked: give up the ring. */
static void bad_ring(struct cairn_qpc *q)
{
	q->req.ring_bad = true;
	cairn_port_count(q, CAIRN_CTR_BAD_RINGS, 1);
	cairn_port_async(q, CAIRN_ASYNC_QP_FATAL);
	cairn_qpc_fail(q);
}

/* Units known to be posted and not yet started; 0: there are none. */
static u32 posted_units(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;
	u32 tail;

	if (cairn_port_sq_tail(q, &tail)) {
		bad_ring(q);
		return 0;
	}
	return tail - r->sq_next;
}

static void fill_record(struct cairn_qpc *q, struct cairn_swr *s, u8 status,
			u32 length)
{
	struct cairn_requester *r = &q->req;
	const struct cairn_send_wqe *w = &r->wqe.send;

	*s = (struct cairn_swr){
		.wr_id = w->wr_id,
		.idx = r->sq_next,
		.psn = r->psn,
		.length = length,
		.opcode = w->opcode,
		.flags = w->flags,
		.units = w->units,
		.status = status,
	};
	if (status) {
		cairn_port_count(q, CAIRN_CTR_BAD_WQES, 1);
		return;
	}
	if (cairn_wqe_ops[w->opcode].flags & CAIRN_WOP_LOCAL)
		return;
	s->npkts = cairn_npkts(q, length);
	s->ssn = r->ssn;
	r->ssn = cairn_psn_add(r->ssn, w->opcode == CAIRN_WQE_READ ?
			       cairn_read_requests(q, s->npkts) : 1);
	r->psn = cairn_psn_add(r->psn, s->npkts);
	if (q->transport == CAIRN_TRANSPORT_UD)
		s->ah = w->ud.ah;
	if (cairn_swr_persists(s))
		r->persists++;
}

/* The check of the copy in r->wqe, with what depends on the QP's attributes. */
static u8 check_wqe(struct cairn_qpc *q, u32 *length)
{
	const struct cairn_send_wqe *w = &q->req.wqe.send;
	u8 status = cairn_send_wqe_check(q, &q->req.wqe, length);

	if (status)
		return status;
	if (q->transport == CAIRN_TRANSPORT_UD && *length > q->attrs.pmtu)
		return CAIRN_CQE_LOC_LEN_ERR;
	if (cairn_npkts(q, *length) > CAIRN_PSN_SPAN)
		return CAIRN_CQE_LOC_LEN_ERR;
	if (cairn_wqe_ops[w->opcode].flags & CAIRN_WOP_READS &&
	    !q->attrs.max_rd_atomic)
		return CAIRN_CQE_LOC_QP_OP_ERR;
	return 0;
}

/* Take the next WQE from the ring. Returns false when there is none. */
static bool start_wqe(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;
	u32 avail, length = 0;
	u8 status;

	if (r->new_rec - r->kept_rec > r->swr_mask)
		return false;
	avail = posted_units(q);
	if (!avail)
		return false;
	copy_wqe(q, r->sq_next, avail);
	if (!r->wqe.send.units || r->wqe.send.units > CAIRN_MAX_WQE_UNITS ||
	    r->wqe.send.units > avail) {
		r->wqe_valid = false;
		bad_ring(q);
		return false;
	}
	status = check_wqe(q, &length);
	fill_record(q, cairn_req_swr(r, r->new_rec), status, length);
	r->sq_next += r->wqe.send.units;
	r->new_rec++;
	return true;
}

/* READ requests and atomics on the way. The window bounds the records. */
static u32 reads_out(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;
	u32 chunk = cairn_read_chunk(q), out = 0, n;

	for (n = r->una_rec; n != r->new_rec; n++) {
		struct cairn_swr *s = cairn_req_swr(r, n);
		u32 end = n == r->send_rec ? r->pkt : s->npkts;
		u32 done = max(cairn_psn_diff(r->una, s->psn), 0);

		if (cairn_wqe_ops[s->opcode].flags & CAIRN_WOP_READS &&
		    done < end)
			out += (end - 1) / chunk - done / chunk + 1;
		if (n == r->send_rec)
			break;
	}
	return out;
}

u32 cairn_req_read_count(struct cairn_qpc *q, const struct cairn_swr *s)
{
	u32 chunk = cairn_read_chunk(q), pkt = q->req.pkt;

	return min(s->npkts - pkt, chunk - pkt % chunk);
}

/* Room in the window, in packets, or 0 to wait for acknowledgements. */
static u32 window(struct cairn_qpc *q, const struct cairn_swr *s)
{
	struct cairn_requester *r = &q->req;
	u32 out = cairn_psn_diff(cairn_req_cursor(r), r->una);
	u32 all = cairn_window(q);

	if (q->transport != CAIRN_TRANSPORT_RC)
		return CAIRN_TRAIN_MAX;
	if (cairn_wqe_ops[s->opcode].flags & CAIRN_WOP_READS)
		return out + cairn_req_read_count(q, s) <= all;
	return out < all ? all - out : 0;
}

/* End-to-end credits (IBTA 9.7.7.2): beyond the limit a single packet may
 * probe, and only when nothing else is on the way.
 */
static u32 credit_limit(struct cairn_qpc *q, const struct cairn_swr *s, u32 n)
{
	struct cairn_requester *r = &q->req;

	if (!r->lsn_valid || cairn_psn_diff(s->ssn, r->lsn) <= 0) {
		r->credit_wait = false;
		return n;
	}
	if (!r->credit_wait)
		cairn_port_count(q, CAIRN_CTR_CREDIT_WAITS, 1);
	r->credit_wait = true;
	return in_flight(r) ? 0 : 1;
}

/* How many packets of @s may leave now. */
static u32 allowed(struct cairn_qpc *q, const struct cairn_swr *s)
{
	struct cairn_requester *r = &q->req;
	u8 flags = cairn_wqe_ops[s->opcode].flags;
	u32 n;

	n = window(q, s);
	if (!n)
		return 0;
	if (s->flags & CAIRN_WQE_FENCE && !r->pkt &&
	    (reads_out(q) || cairn_persist_unfinished(q)))
		return 0;
	if (cairn_persist_far(q))
		return 0;
	if (flags & CAIRN_WOP_READS && reads_out(q) >= q->attrs.max_rd_atomic)
		return 0;
	if (flags & CAIRN_WOP_CREDIT && n)
		n = credit_limit(q, s, n);
	return n;
}

static u8 bth_opcode(const struct cairn_qpc *q, u8 bth_op)
{
	u8 prefix = q->transport == CAIRN_TRANSPORT_UC ? CAIRN_BTH_UC :
		    q->transport == CAIRN_TRANSPORT_UD ? CAIRN_BTH_UD :
							 CAIRN_BTH_RC;

	return prefix | bth_op;
}

static void train_init(struct cairn_qpc *q, struct cairn_swr *s,
		       struct cairn_train *t, u8 bth_op)
{
	struct cairn_requester *r = &q->req;
	const struct cairn_send_wqe *w = &r->wqe.send;

	*t = (struct cairn_train){
		.count = 1,
		.first = {
			.opcode = bth_opcode(q, bth_op),
			.pkey = q->attrs.pkey,
			.qpn = q->attrs.dqpn,
			.psn = cairn_psn_add(s->psn, r->pkt),
			.va = w->remote_addr + (u64)r->pkt * q->attrs.pmtu,
			.rkey = w->rkey,
			.dma_len = s->length - r->pkt * q->attrs.pmtu,
			.imm = (__force __be32)w->imm_or_key,
		},
	};
	t->ect = q->attrs.cc;
	t->retransmit = cairn_psn_diff(t->first.psn, r->sent) < 0;
}

/* READ request for @n packets (from where it broke off) or atomic. */
static int emit_read(struct cairn_qpc *q, struct cairn_swr *s, u32 n)
{
	const struct cairn_send_wqe *w = &q->req.wqe.send;
	struct cairn_train t;

	train_init(q, s, &t, cairn_wqe_ops[s->opcode].only);
	t.first.ack_req = true;
	t.first.dma_len = min(t.first.dma_len, n * q->attrs.pmtu);
	if (cairn_wqe_ops[s->opcode].flags & CAIRN_WOP_ATOMIC) {
		bool faa = s->opcode == CAIRN_WQE_FAA;

		t.first.compare = faa ? 0 : w->atomic.compare_add;
		t.first.swap_add = faa ? w->atomic.compare_add :
					 w->atomic.swap;
	}
	return cairn_port_emit(q, CAIRN_REQ, &t);
}

/* Packets of one train from the cursor on, at most @n. */
static u32 train_count(struct cairn_qpc *q, const struct cairn_swr *s, u32 n)
{
	struct cairn_requester *r = &q->req;
	u8 flags = cairn_wqe_ops[s->opcode].flags;
	u32 left = s->npkts - r->pkt;

	n = min3(n, left, (u32)CAIRN_TRAIN_MAX);
	/* A RETH makes the first packet longer, IMM or IETH the last one. */
	if (flags & CAIRN_WOP_RETH && !r->pkt)
		return 1;
	if (flags & CAIRN_WOP_EXTRA && n == left && n > 1)
		n--;
	return clamp_t(u32, CAIRN_TRAIN_BYTES / (q->attrs.pmtu + 64u), 1, n);
}

static u8 position(const struct cairn_wqe_op *op, u32 pkt, u32 npkts)
{
	if (npkts == 1)
		return op->only;
	if (!pkt)
		return op->first;
	return pkt == npkts - 1 ? op->last : op->middle;
}

static void address_ud(struct cairn_qpc *q, struct cairn_train *t)
{
	const struct cairn_send_wqe *w = &q->req.wqe.send;

	t->ah = w->ud.ah;
	t->first.qpn = w->ud.qpn & CAIRN_24BIT_MASK;
	/* The top bit asks for the QP's own Q_Key (IBTA 10.2.5). */
	t->first.qkey = w->qkey & 0x80000000 ? q->attrs.qkey : w->qkey;
	t->first.src_qpn = q->qpn;
}

/* @n packets of a SEND or WRITE from the cursor on. */
static void fill_message(struct cairn_qpc *q, struct cairn_swr *s, u32 n,
			 struct cairn_train *t)
{
	const struct cairn_wqe_op *op = &cairn_wqe_ops[s->opcode];
	struct cairn_requester *r = &q->req;
	u32 pmtu = q->attrs.pmtu, off = r->pkt * pmtu, end = r->pkt + n;
	bool last = end == s->npkts;
	u8 prefix;

	train_init(q, s, t, position(op, r->pkt, s->npkts));
	prefix = t->first.opcode & 0xe0;
	t->count = n;
	t->mid_opcode = prefix | op->middle;
	t->last_opcode = prefix | position(op, end - 1, s->npkts);
	t->length = last ? s->length - off : n * pmtu;
	t->seg = min(t->length, pmtu);
	t->first.payload_len = t->seg;
	t->first.solicited = last && s->flags & CAIRN_WQE_SOLICITED &&
			    op->flags & (CAIRN_WOP_CREDIT |
					 CAIRN_WOP_PERSIST);
	if (op->flags & CAIRN_WOP_EXTRA && s->opcode == CAIRN_WQE_SEND_INV)
		t->first.rkey = r->wqe.send.imm_or_key;
	if (q->transport == CAIRN_TRANSPORT_RC) {
		u32 out = cairn_psn_diff(t->first.psn, r->una) + n;

		t->first.ack_req = last || out >= cairn_window(q) ||
			r->credit_wait ||
			cairn_gap_ends(r, cairn_psn_add(t->first.psn, n)) ||
			(t->first.psn ^ (t->first.psn + n)) &
			CAIRN_ACK_INTERVAL;
	} else if (q->transport == CAIRN_TRANSPORT_UD) {
		address_ud(q, t);
	}
	if (s->flags & CAIRN_WQE_INLINE)
		t->inline_data = r->wqe.bytes + CAIRN_WQE_DATA_OFFSET + off;
	t->span = (struct cairn_span){
		.sge = cairn_wqe_sges(&r->wqe),
		.num_sge = r->wqe.send.num_sge,
		.offset = off,
		.access = CAIRN_ACCESS_LOCAL_READ,
	};
}

/* Send them. @pause: a wait for the rate comes after them. */
static int emit_message(struct cairn_qpc *q, struct cairn_swr *s, u32 n,
			bool pause)
{
	struct cairn_train t;

	fill_message(q, s, n, &t);
	if (pause && q->transport == CAIRN_TRANSPORT_RC)
		t.first.ack_req = true;
	return cairn_port_emit(q, CAIRN_REQ, &t);
}

int cairn_req_repeat_last(struct cairn_qpc *q, struct cairn_swr *s)
{
	struct cairn_requester *r = &q->req;
	u32 pkt = r->pkt;
	int err;

	if (!cairn_req_load(q, s))
		return -EINVAL;
	r->pkt = s->npkts - 1;
	err = emit_message(q, s, 1, false);
	r->pkt = pkt;
	return err;
}

/* May @s follow @first in a train of single-packet messages? */
static bool alike(const struct cairn_qpc *q, const struct cairn_swr *first,
		  const struct cairn_swr *s)
{
	const struct cairn_requester *r = &q->req;

	return s->opcode == first->opcode && s->length == first->length &&
	       !s->status && !(s->flags & CAIRN_WQE_FENCE) &&
	       (q->transport != CAIRN_TRANSPORT_UD || s->ah == first->ah) &&
	       (!(cairn_wqe_ops[s->opcode].flags & CAIRN_WOP_CREDIT) ||
		!r->lsn_valid || cairn_psn_diff(s->ssn, r->lsn) <= 0);
}

/* How many messages from that at the cursor, @s, can leave as one train, at
 * most @n. Those that are posted and not yet started are started for it.
 */
static u32 messages_alike(struct cairn_qpc *q, const struct cairn_swr *s, u32 n)
{
	struct cairn_requester *r = &q->req;
	u32 again = cairn_psn_diff(r->sent, s->psn), m = 1;

	n = min3(n, (u32)CAIRN_TRAIN_MAX,
		 CAIRN_TRAIN_BYTES / (s->length + 64u));
	/* What leaves again and what is new are kept apart. */
	if ((s32)again > 0)
		n = min(n, again);
	for (; m < n; m++) {
		if (r->send_rec + m == r->new_rec &&
		    (cairn_state(q) != CAIRN_QP_RTS || !start_wqe(q)))
			break;
		if (!alike(q, s, cairn_req_swr(r, r->send_rec + m)))
			break;
	}
	return m;
}

/* Message @k of the train. One ACK will do for all. */
static int message_part(struct cairn_qpc *q, const struct cairn_train *t, u32 k,
			struct cairn_train *one)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *s = cairn_req_swr(r, r->send_rec + k);

	if (!cairn_req_load(q, s))
		return -EINVAL;
	fill_message(q, s, 1, one);
	/* It may have another address handle than when it was started. */
	if (one->ah != t->ah)
		return -EINVAL;
	one->first.ack_req &= k + 1 == t->count;
	return 0;
}

/*
 * Send @m messages that are alike. When one of them is refused those before it
 * leave, and it fails when its turn comes. Returns how many left; 0: none, the
 * first is to be sent alone.
 */
static u32 emit_messages(struct cairn_qpc *q, struct cairn_swr *s, u32 m)
{
	while (m > 1) {
		struct cairn_train t;
		u32 good;

		if (!cairn_req_load(q, s))
			return 0;
		fill_message(q, s, 1, &t);
		t.count = m;
		t.mid_opcode = t.first.opcode;
		t.last_opcode = t.first.opcode;
		t.length = m * t.seg;
		good = cairn_port_emit_messages(q, &t, message_part);
		if (good == m)
			return m;
		m = min(good, m / 2);
	}
	return 0;
}

/* Move the cursor over @n packets (PSNs), or messages of one each, that have
 * left.
 */
static void advance(struct cairn_qpc *q, struct cairn_swr *s, u32 n, u64 now)
{
	struct cairn_requester *r = &q->req;
	u32 psn = cairn_psn_add(s->psn, r->pkt);
	u32 end = cairn_psn_add(psn, n);

	if (cairn_psn_diff(r->sent, psn) > 0) {
		cairn_port_count(q, CAIRN_CTR_RETRANSMITS, n);
		if (cairn_wqe_ops[s->opcode].flags & CAIRN_WOP_READS)
			cairn_gap_ask_again(r, psn, n);
	} else if (q->transport == CAIRN_TRANSPORT_RC) {
		cairn_gap_left(r, psn, n, r->pkt + n >= s->npkts, now);
	}
	if (cairn_psn_diff(end, r->sent) > 0)
		r->sent = end;
	r->pkt += n;
	if (s->npkts == 1) {
		r->send_rec += n;
		r->pkt = 0;
	} else if (r->pkt == s->npkts) {
		r->send_rec++;
		r->pkt = 0;
	}
	if (q->transport != CAIRN_TRANSPORT_RC)
		r->una = end;
	else if (!r->ack_deadline)
		cairn_req_rearm(q, now);
	else if (!r->probe_deadline)
		cairn_gap_arm(q, now);
}

/* Errors found here wait until all earlier WQEs have completed. */
static void refuse(struct cairn_qpc *q, struct cairn_swr *s, u8 status, int err)
{
	if (err == -EFAULT)
		cairn_port_count(q, CAIRN_CTR_LOCAL_PROT_ERRORS, 1);
	s->status = status;
	s->vendor_err = -err;
}

/* An invalidation waits until nothing earlier can need the key again; whoever
 * goes back over a local operation does not perform it twice.
 */
static bool run_local(struct cairn_qpc *q, struct cairn_swr *s,
		      struct cairn_budget *b)
{
	struct cairn_requester *r = &q->req;
	int err = 0;

	if (s->opcode == CAIRN_WQE_LOCAL_INV && r->send_rec != r->una_rec)
		return false;
	if (s->local_wait && !cairn_port_invalidated(q, CAIRN_REQ))
		return false;
	if (!s->local_done && !s->local_wait)
		err = cairn_req_load(q, s) ? cairn_port_local(q, &r->wqe.send) :
					     -EINVAL;
	s->local_wait = err == -EINPROGRESS;
	if (s->local_wait)
		return false;
	if (err) {
		refuse(q, s, CAIRN_CQE_LOC_QP_OP_ERR, -EINVAL);
		return true;
	}
	s->local_done = true;
	r->send_rec++;
	cairn_budget_use(b, 1, 0);
	return true;
}

/* The limit for what the record @s sends. False: its WQE cannot be read. */
static bool rate_limit(struct cairn_qpc *q, struct cairn_swr *s,
		       struct cairn_rate_limit *l, u64 now)
{
	u32 ah;

	*l = q->attrs.rate;
	cairn_cc_limit(q, CAIRN_REQ, l, now);
	if (q->transport != CAIRN_TRANSPORT_UD)
		return true;
	if (!cairn_req_load(q, s))
		return false;
	ah = cairn_port_ah_rate(q, q->req.wqe.send.ud.ah);
	if (ah && (!l->kbps || ah < l->kbps))
		l->kbps = ah;
	return true;
}

/* What @n packets of a SEND or WRITE from the cursor on count for the rate. */
static u32 message_bytes(const struct cairn_qpc *q, const struct cairn_swr *s,
			 u32 n)
{
	u32 pkt = q->req.pkt, left = s->length - pkt * q->attrs.pmtu;
	u8 op = position(&cairn_wqe_ops[s->opcode], pkt, s->npkts);

	return cairn_packet_bytes(bth_opcode(q, op), n,
				  min(left, n * q->attrs.pmtu));
}

/*
 * How many of @n packets from the cursor on the rate allows; @pause: no more
 * will be allowed after them. 0: the mark is up. The cursor stays, the copy of
 * the WQE goes: it will be read from the ring again.
 */
static u32 pace(struct cairn_qpc *q, const struct cairn_swr *s,
		const struct cairn_rate_limit *l, u32 n, u64 now, bool *pause)
{
	const struct cairn_wqe_op *op = &cairn_wqe_ops[s->opcode];
	struct cairn_requester *r = &q->req;
	bool marked = r->rate.marked;
	u32 bytes, fit;

	if (op->flags & CAIRN_WOP_READS)
		bytes = cairn_packet_bytes(op->only, 1, 0);
	else
		bytes = message_bytes(q, s, 1);
	fit = cairn_pace(q, &r->rate, l, bytes, n + 1, now);
	*pause = l->kbps && fit <= n;
	if (!fit) {
		r->wqe_valid = false;
		if (r->pkt && !marked)
			cairn_port_count(q, CAIRN_CTR_RATE_WRITEBACKS, 1);
	}
	return min(fit, n);
}

/* Send @n packets (READ: one request; single-packet messages: at most) as one
 * train. Returns their PSNs, 0 when the record was refused. @bytes: what counts
 * for the rate.
 */
static u32 emit(struct cairn_qpc *q, struct cairn_swr *s, u32 n, bool pause,
		u32 *bytes)
{
	const struct cairn_wqe_op *op = &cairn_wqe_ops[s->opcode];
	int err;

	if (s->npkts == 1 && n > 1) {
		n = emit_messages(q, s, n);
		*bytes = n * message_bytes(q, s, 1);
		if (n)
			return n;
		n = 1;
	}
	if (!cairn_req_load(q, s)) {
		err = -EINVAL;
	} else if (op->flags & CAIRN_WOP_READS) {
		*bytes = cairn_packet_bytes(op->only, 1, 0);
		n = cairn_req_read_count(q, s);
		err = emit_read(q, s, n);
	} else {
		*bytes = message_bytes(q, s, n);
		err = emit_message(q, s, n, pause);
	}
	if (!err)
		return n;
	refuse(q, s, err == -EFAULT ? CAIRN_CQE_LOC_PROT_ERR :
				      CAIRN_CQE_LOC_QP_OP_ERR, err);
	return 0;
}

/* Send one train of the record at the cursor. Returns false when it waits. */
static bool send_one(struct cairn_qpc *q, u64 now, struct cairn_budget *b)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *s = cairn_req_swr(r, r->send_rec);
	struct cairn_rate_limit limit;
	u32 n, psns, bytes;
	bool reads, pause;

	if (s->status)
		return false;
	if (cairn_wqe_ops[s->opcode].flags & CAIRN_WOP_LOCAL)
		return run_local(q, s, b);
	n = cairn_gap_limit(r, min(allowed(q, s), b->packets));
	if (!n)
		return false;
	reads = cairn_wqe_ops[s->opcode].flags & CAIRN_WOP_READS;
	if (reads)
		n = 1;
	else
		n = s->npkts == 1 ? messages_alike(q, s, n) :
				    train_count(q, s, n);
	if (!rate_limit(q, s, &limit, now)) {
		refuse(q, s, CAIRN_CQE_LOC_QP_OP_ERR, -EINVAL);
		return true;
	}
	n = pace(q, s, &limit, n, now, &pause);
	if (!n)
		return false;
	psns = emit(q, s, n, pause, &bytes);
	if (!psns)
		return true;
	n = reads ? 1 : psns;
	cairn_pace_sent(q, &r->rate, &limit, n, bytes, now);
	cairn_cc_sent(q, CAIRN_REQ, bytes);
	cairn_budget_use(b, n, bytes);
	advance(q, s, psns, now);
	return true;
}

static bool may_send(struct cairn_qpc *q)
{
	u8 state = cairn_state(q);

	return (state == CAIRN_QP_RTS || state == CAIRN_QP_SQD) &&
	       !q->req.rnr_until;
}

/* SQD (IBTA 10.3.1.5): started messages finish, then the event is due. */
static void check_drained(struct cairn_qpc *q)
{
	struct cairn_requester *r = &q->req;

	if (cairn_state(q) != CAIRN_QP_SQD || r->drained ||
	    r->kept_rec != r->new_rec)
		return;
	r->drained = true;
	if (q->attrs.sqd_notify)
		cairn_port_async(q, CAIRN_ASYNC_SQ_DRAINED);
}

/* From the cursor on, as long as something may leave. */
static void send_all(struct cairn_qpc *q, u64 now, struct cairn_budget *b)
{
	struct cairn_requester *r = &q->req;

	while (may_send(q) && cairn_budget_left(b)) {
		if (r->send_rec == r->new_rec &&
		    (cairn_state(q) == CAIRN_QP_SQD || !start_wqe(q)))
			return;
		if (!send_one(q, now, b))
			return;
		if (q->transport != CAIRN_TRANSPORT_RC)
			cairn_req_reap(q);
	}
}

/*
 * Complete what is done. Returns true when records came free or ended: what
 * waited for that at the cursor (a new WQE for a record, an invalidation or a
 * fence for those before it) may go on, and no event will say so.
 */
static bool finish(struct cairn_qpc *q, u64 now)
{
	struct cairn_requester *r = &q->req;
	u32 una = r->una_rec, kept = r->kept_rec;

	cairn_req_reap(q);
	cairn_persist_run(q, now);
	return r->una_rec != una || r->kept_rec != kept;
}

bool cairn_req_run(struct cairn_qpc *q, u64 now, struct cairn_budget *b)
{
	struct cairn_requester *r = &q->req;
	struct cairn_ahead ahead;
	bool more = false;

	ahead.idx = 0;
	ahead.units = 0;
	r->ahead = &ahead;
	cairn_req_expire(q, now);
	cairn_pace_wake(q, &r->rate, now);
	cairn_persist_expire(q, now);
	/* It gives records back, so before new WQEs start. */
	finish(q, now);
	do
		send_all(q, now, b);
	while (finish(q, now));
	if (cairn_state(q) == CAIRN_QP_ERR || cairn_state(q) == CAIRN_QP_SQE)
		more = !cairn_req_flush(q, b);
	else
		check_drained(q);
	r->ahead = NULL;
	return more || (may_send(q) && !cairn_budget_left(b));
}
