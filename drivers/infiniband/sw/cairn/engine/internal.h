/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the engine's files share among themselves. */
#ifndef CAIRN_ENGINE_INTERNAL_H
#define CAIRN_ENGINE_INTERNAL_H

#include <linux/errno.h>
#include <linux/string.h>
#include <linux/minmax.h>
#include <linux/compiler.h>
#include "engine/qp.h"

/* What one QP may have on the way without acknowledgement, requested READ
 * responses included: a receiver that is busy must be able to keep it
 * (lane/exec.c bounds its queue).
 */
#define CAIRN_WINDOW_BYTES	(512 * 1024)
#define CAIRN_WINDOW_PACKETS	512
/* An acknowledgement is asked for at least every so many packets. */
#define CAIRN_ACK_INTERVAL	64
/* A train fits an IP packet of 64 KiB with all its headers. */
#define CAIRN_TRAIN_BYTES	64000
/* Outstanding PSNs stay comparable (IBTA 9.7.2). */
#define CAIRN_PSN_SPAN		((1u << 23) - 1)

/* wqe.c: what a send opcode is, and the check of a private WQE copy. */
enum cairn_wqe_op_flags {
	CAIRN_WOP_INLINE = 1 << 0,	/* may carry inline data */
	CAIRN_WOP_CREDIT = 1 << 1,	/* consumes a receive at the peer */
	CAIRN_WOP_READS = 1 << 2,	/* READ or atomic: bounded, replayed */
	CAIRN_WOP_ATOMIC = 1 << 3,
	CAIRN_WOP_LOCAL = 1 << 4,	/* no packet */
	CAIRN_WOP_RETH = 1 << 5,	/* first packet has a RETH */
	CAIRN_WOP_EXTRA = 1 << 6,	/* last packet has an IMM or IETH */
	CAIRN_WOP_PERSIST = 1 << 7,	/* durable before it is at its end */
};

struct cairn_wqe_op {
	u8 transports;		/* bit per enum cairn_transport, 0: undefined */
	u8 flags;		/* enum cairn_wqe_op_flags */
	u8 cqe_opcode;
	/* BTH operation of each position in a message. */
	u8 first, middle, last, only;
};

extern const struct cairn_wqe_op cairn_wqe_ops[CAIRN_WQE_OPCODES];

/**
 * cairn_send_wqe_check() - is a private copy of a send WQE acceptable?
 * @q: the QP, for its limits
 * @w: the copy, all of its units
 * @length: the message length in bytes
 *
 * Returns 0 or an enum cairn_cqe_status.
 */
u8 cairn_send_wqe_check(const struct cairn_qpc *q,
			const union cairn_wqe_buf *w, u32 *length);

/* The same for a receive WQE of @units units. */
u8 cairn_recv_wqe_check(const struct cairn_qpc *q,
			const union cairn_wqe_buf *w, u32 units, u32 *length);

/* aeth.c */
u8 cairn_credits_encode(int posted);	/* negative: credits do not apply */
int cairn_credits_decode(u8 syndrome);	/* -1: credits do not apply */
u64 cairn_rnr_timer_ns(u8 code);

/* requester.c, used by completer.c */
struct cairn_swr *cairn_req_swr(struct cairn_requester *r, u32 n);
/* Bring the WQE of @s into r->wqe; false when it changed under us. */
bool cairn_req_load(struct cairn_qpc *q, struct cairn_swr *s);
/* PSN that would be sent next. */
u32 cairn_req_cursor(struct cairn_requester *r);
void cairn_req_rewind(struct cairn_qpc *q, u32 psn);
void cairn_req_rearm(struct cairn_qpc *q, u64 now);
/* Send the last packet of @s again, wherever the cursor is. 0, or the error of
 * cairn_port_emit(), or -EINVAL when the WQE changed under us.
 */
int cairn_req_repeat_last(struct cairn_qpc *q, struct cairn_swr *s);

/**
 * cairn_pace() - may packets of a limited side leave?
 * @q: the QP, for its counters
 * @r: of the side
 * @l: the limit that holds for these packets; kbps 0: none
 * @bytes: of each packet, see cairn_packet_bytes()
 * @n: how many want to, 1 or more
 * @now: ns
 *
 * Return: how many of them may; 0: the mark is up, wait for the deadline.
 */
u32 cairn_pace(struct cairn_qpc *q, struct cairn_rate *r,
	       const struct cairn_rate_limit *l, u32 bytes, u32 n, u64 now);

/* @n packets with @bytes in all have left, as cairn_pace() allowed. */
void cairn_pace_sent(struct cairn_qpc *q, struct cairn_rate *r,
		     const struct cairn_rate_limit *l, u32 n, u32 bytes,
		     u64 now);

/* End of a wait for the rate, if its time has come. */
void cairn_pace_wake(struct cairn_qpc *q, struct cairn_rate *r, u64 now);

/* congestion.c: lower the limit to what congestion control allows now. */
void cairn_cc_limit(struct cairn_qpc *q, enum cairn_side_id side,
		    struct cairn_rate_limit *l, u64 now);
/* @bytes of data packets have left. */
void cairn_cc_sent(struct cairn_qpc *q, enum cairn_side_id side, u32 bytes);
/* @pkt, which belongs to the QP, was marked: answer with a CNP. */
void cairn_cc_marked(struct cairn_qpc *q, enum cairn_side_id side, u64 now);
/* Responder: send a CNP unless one was sent lately. */
void cairn_cc_answer(struct cairn_qpc *q, u64 now);
/* A CNP arrived. Requester's side. */
void cairn_cc_notified(struct cairn_qpc *q);

/* completer.c, used by requester.c */
void cairn_req_reap(struct cairn_qpc *q);
void cairn_req_fail(struct cairn_qpc *q, u8 status, u32 vendor_err);
/* Flush what has not completed, as far as the budget goes: a work request counts
 * as a packet. False: there may be more, for another run.
 */
bool cairn_req_flush(struct cairn_qpc *q, struct cairn_budget *b);
void cairn_req_expire(struct cairn_qpc *q, u64 now);
/* Record @n fails, those before it are flushed. */
void cairn_req_fail_at(struct cairn_qpc *q, u32 n, u8 status, u32 vendor_err);
/* How far the peer's receives reach, as an AETH says. Never less than before. */
void cairn_req_take_credits(struct cairn_requester *r,
			    const struct cairn_pkt *pkt);
/* All before @psn is acknowledged. True: nothing is missing, the QP lives. */
bool cairn_req_ack_before(struct cairn_qpc *q, u32 psn, u64 now);

/* persist.c, requester: hooks of requester.c and completer.c */
bool cairn_persist_unfinished(struct cairn_qpc *q);
bool cairn_persist_far(struct cairn_qpc *q);
void cairn_persist_expire(struct cairn_qpc *q, u64 now);
void cairn_persist_run(struct cairn_qpc *q, u64 now);
void cairn_persist_ack(struct cairn_qpc *q, const struct cairn_pkt *pkt,
		       u64 now);
bool cairn_persist_alive(struct cairn_qpc *q, const struct cairn_pkt *pkt);

/* persist.c, responder: hooks of responder.c and replay.c */
bool cairn_persist_room(struct cairn_qpc *q);
void cairn_persist_placed(struct cairn_qpc *q, const struct cairn_pkt *pkt);
void cairn_persist_fence(struct cairn_qpc *q);
bool cairn_persist_covers(const struct cairn_responder *p, u32 psn);
bool cairn_persist_limit(const struct cairn_responder *p, u32 *psn);
bool cairn_persist_may_ack(struct cairn_qpc *q, u32 *psn);
void cairn_persist_drop(struct cairn_responder *p);

/* replay.c, used by responder.c */
bool cairn_replay_add(struct cairn_qpc *q, const struct cairn_pkt *pkt,
		      u32 npkts, u64 orig);
bool cairn_replay_room(struct cairn_qpc *q);
bool cairn_replay_duplicate(struct cairn_qpc *q, const struct cairn_pkt *pkt);
bool cairn_replay_run(struct cairn_qpc *q, struct cairn_budget *b, u64 now);

/* PSNs that an answer is due for? */
bool cairn_req_outstanding(struct cairn_requester *r);
/* Keep the send cursor at or after what is acknowledged. */
void cairn_req_clip(struct cairn_requester *r);
/* PSNs of the next READ request: to the end of the chunk. */
u32 cairn_req_read_count(struct cairn_qpc *q, const struct cairn_swr *s);

/* gap.c, used by requester.c */
/* How many of @n packets may leave: those of the gap, none while waiting. */
u32 cairn_gap_limit(struct cairn_requester *r, u32 n);
/* Does the repeated part end before @psn? */
bool cairn_gap_ends(const struct cairn_requester *r, u32 psn);
/* @n packets left as one train for the first time; @asks: for an answer. */
void cairn_gap_left(struct cairn_requester *r, u32 psn, u32 n, bool asks,
		    u64 now);
/* The @n responses from @psn on are asked for again. */
void cairn_gap_ask_again(struct cairn_requester *r, u32 psn, u32 n);
/* Set the probe's deadline afresh; something is outstanding. */
void cairn_gap_arm(struct cairn_qpc *q, u64 now);

/* gap.c, used by completer.c */
/* A sequence NAK of the oldest packet. */
void cairn_gap_nak(struct cairn_qpc *q);
/* A NAK of @psn, before which responses are missing. */
void cairn_gap_later_nak(struct cairn_requester *r, u32 psn);
/* Is the oldest packet a missing response that is asked for? */
bool cairn_gap_read(struct cairn_qpc *q);
void cairn_gap_repeat_read(struct cairn_qpc *q);
/* Something was acknowledged, by an ACK or by a response. */
void cairn_gap_answer(struct cairn_qpc *q, bool ack, u64 now);
void cairn_gap_progress(struct cairn_requester *r, u64 now);
void cairn_gap_probe(struct cairn_qpc *q);
void cairn_gap_timeout(struct cairn_qpc *q);
void cairn_gap_forget(struct cairn_requester *r);
/* Responses placed ahead of a missing one. */
bool cairn_gap_got(struct cairn_requester *r, u32 psn);
void cairn_gap_set_got(struct cairn_requester *r, u32 psn, bool got);

/* hold.c, used by responder.c */
/* Keep @pkt, which is ahead of the expected PSN. */
void cairn_hold(struct cairn_qpc *q, const struct cairn_pkt *pkt);
/* The kept packet with the expected PSN, if there is one. */
bool cairn_hold_next(struct cairn_qpc *q, struct cairn_pkt *pkt);
void cairn_hold_drop(struct cairn_qpc *q);

/* responder.c, used by replay.c */
void cairn_resp_fatal(struct cairn_qpc *q, u32 psn, enum cairn_nak code,
		      enum cairn_async event);
u8 cairn_resp_ack_syndrome(struct cairn_qpc *q);
/* An ACK is due for @psn, unless a later one is already. */
void cairn_resp_owe_ack(struct cairn_responder *p, u32 psn);

/* Packets (PSNs) that @length bytes take; an empty message takes one. */
static inline u32 cairn_npkts(const struct cairn_qpc *q, u32 length)
{
	u32 pmtu = q->attrs.pmtu;

	return length ? (length - 1) / pmtu + 1 : 1;
}

/* Bytes that count for the rate: @n packets of an opcode, @payload in all. */
static inline u32 cairn_packet_bytes(u8 opcode, u32 n, u32 payload)
{
	return n * (cairn_opcodes[opcode].hdr_len + CAIRN_ICRC_LEN) + payload +
	       cairn_pad(payload);
}

/* The window in packets. */
static inline u32 cairn_window(const struct cairn_qpc *q)
{
	return min_t(u32, CAIRN_WINDOW_BYTES / q->attrs.pmtu,
		     CAIRN_WINDOW_PACKETS);
}

/* Response packets of one READ request. A longer READ takes several requests,
 * each of which starts at a multiple of this number.
 */
static inline u32 cairn_read_chunk(const struct cairn_qpc *q)
{
	return cairn_window(q) / 2;
}

/* Request messages (SSNs) that a READ of @npkts packets takes. */
static inline u32 cairn_read_requests(const struct cairn_qpc *q, u32 npkts)
{
	return (npkts - 1) / cairn_read_chunk(q) + 1;
}

/* A WRITE_PERSIST that was sent, not one that was refused. */
static inline bool cairn_swr_persists(const struct cairn_swr *s)
{
	return s->npkts && cairn_wqe_ops[s->opcode].flags & CAIRN_WOP_PERSIST;
}

/* ... whose WQE completes when received. */
static inline bool cairn_swr_early(const struct cairn_swr *s)
{
	return cairn_swr_persists(s) && s->flags & CAIRN_WQE_EARLY;
}

/* ... whose WQE completes when durable, and that is not yet. */
static inline bool cairn_swr_held(const struct cairn_swr *s)
{
	return cairn_swr_persists(s) && !(s->flags & CAIRN_WQE_EARLY) &&
	       !s->durable;
}

/* Is every packet of @s acknowledged? */
static inline bool cairn_swr_received(const struct cairn_requester *r,
				      const struct cairn_swr *s)
{
	return cairn_psn_diff(r->una, s->psn) >= (s32)s->npkts;
}

static inline struct cairn_sge *cairn_wqe_sges(union cairn_wqe_buf *w)
{
	return (struct cairn_sge *)(w->bytes + CAIRN_WQE_DATA_OFFSET);
}

static inline u8 cairn_state(const struct cairn_qpc *q)
{
	return READ_ONCE(q->state);
}

#endif
