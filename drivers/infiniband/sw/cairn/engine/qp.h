/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The protocol state of one queue pair and the functions that move it.
 *
 * Two sides, each under a lock of its own that the caller holds:
 *   requester  sends requests, takes responses, completes the SQ
 *   responder  takes requests, sends responses, consumes receives
 * A function of one side touches its own part and these shared words only:
 * state (written with WRITE_ONCE under both locks, or by the side that fails,
 * towards ERR only) and the attributes of struct cairn_qp_attrs (written under
 * both locks by cairn_qpc_modify()).
 *
 * Time is CLOCK_MONOTONIC in nanoseconds, an argument. A side that must wake
 * up by itself leaves a deadline; the lane keeps the timer.
 */
#ifndef CAIRN_ENGINE_QP_H
#define CAIRN_ENGINE_QP_H

#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include "engine/dcqcn.h"
#include "engine/env.h"
#include "engine/rate.h"
#include "wire/hdr.h"
#include "wire/psn.h"

/* Values equal enum ib_qp_state. */
enum cairn_state {
	CAIRN_QP_RESET,
	CAIRN_QP_INIT,
	CAIRN_QP_RTR,
	CAIRN_QP_RTS,
	CAIRN_QP_SQD,
	CAIRN_QP_SQE,
	CAIRN_QP_ERR,
};

/* What modify_qp sets; both sides read it. */
struct cairn_qp_attrs {
	u32 dqpn;
	u32 qkey;
	u16 pkey;
	u16 pmtu;		/* bytes */
	u8 timeout;		/* 4.096 us << timeout; 0: none */
	u8 retry_cnt;		/* 0..7, 7 is finite */
	u8 rnr_retry;		/* 0..7, 7: without end */
	u8 min_rnr_timer;	/* code 0..31 */
	u8 max_rd_atomic;	/* outstanding as requester */
	u8 max_dest_rd_atomic;	/* kept as responder */
	bool remote_read;
	bool remote_write;
	bool remote_atomic;
	u8 flush;		/* remote: enum cairn_flush_plt */
	bool sqd_notify;
	bool cc;		/* congestion control; RC and UC */
	/* Of the requester, and of READ responses: each side by itself. */
	struct cairn_rate_limit rate;
};

/* One send WQE from its start to its completion. */
struct cairn_swr {
	union {
		u64 wr_id;
		u64 va;		/* early mode, when completed: destination */
	};
	union {
		u32 idx;	/* ring unit */
		u32 rkey;	/* early mode, when completed */
	};
	u32 psn;		/* first */
	u32 npkts;		/* PSNs it takes; READ: responses */
	u32 length;		/* bytes */
	union {
		u32 ssn;
		u32 ah;		/* UD */
	};
	u8 opcode;		/* enum cairn_wqe_opcode */
	u8 flags;		/* enum cairn_wqe_flags */
	u8 units;
	u8 status;		/* not 0: fails when its turn comes */
	bool local_done;	/* the local operation was performed */
	bool durable;		/* WRITE_PERSIST: the persistence ACK is here */
	bool local_wait;	/* it has begun */
	u32 vendor_err;
};

/* A private copy of one WQE of either kind. */
union cairn_wqe_buf {
	struct cairn_send_wqe send;
	struct cairn_recv_wqe recv;
	struct cairn_cqe cqe;	/* with req.unreported */
	u8 bytes[CAIRN_MAX_WQE_UNITS * CAIRN_UNIT_SIZE];
};

/*
 * The context of a QP in levels: what one packet needs lies in a few cache
 * lines, each aligned, and the rest behind it.
 *
 *   shared	the head of struct cairn_qpc: state, limits and attributes. Both
 *		sides read it with every packet; nobody writes it on the way.
 *   hot	the first CAIRN_HOT_BYTES of struct cairn_requester and of
 *		struct cairn_responder: read and written with every packet, each
 *		by its own side only, so that the two directions of a QP share no
 *		dirty line. In the requester the first line is what sending and
 *		acknowledging touch; the second is for limits, retries, timers.
 *   cold	the rest of them, records, verbs' struct cairn_qp around it all, and
 *		struct cairn_qp_cold (attributes for query, private WQE copies).
 *
 * Nothing is kept twice, so nothing can disagree: what modify_qp sets lies in
 * the shared line alone. It prepares everything that may sleep, then takes both
 * side locks, which pulls both hot parts back from whoever runs the QP and
 * keeps them: it checks the transition against them, changes the shared line,
 * PSNs and counters, and unlocks. Who takes a side lock afterwards sees all of
 * it or, before, none. The state alone is also read without the lock
 * (cairn_state()), and written by a side that fails, towards ERR only.
 *
 * New members go behind the hot part unless each packet needs them.
 */
#define CAIRN_LINE		64	/* bytes of a cache line */
#define CAIRN_HOT_BYTES		(2 * CAIRN_LINE)

/* A gap in what the peer has, see engine/gap.c. */
enum cairn_gap_kind {
	CAIRN_GAP_NONE,
	CAIRN_GAP_NAK,		/* the peer reported it */
	CAIRN_GAP_PROBE,	/* is there one? */
	CAIRN_GAP_READ,		/* responses are missing */
};

/* Bits for the packets of a window, by PSN. */
#define CAIRN_GAP_WORDS		8

struct cairn_gap {
	u32 rec, pkt;		/* send cursor to go on from afterwards */
	u32 high;		/* PSN there */
	u32 end;		/* one past what is repeated */
	u32 nak_psn;		/* reported while responses are missing */
	u16 run;		/* packets that are repeated, of a window */
	bool nak;
	u8 plain;		/* gaps for which to expect that nothing is kept */
	u64 starts[CAIRN_GAP_WORDS];	/* a train began with that packet */
	u64 got[CAIRN_GAP_WORDS];	/* response placed ahead of a missing one */
};

/* From one to the next a request is on its way (engine/legs.c). */
enum cairn_leg {
	CAIRN_LEG_SEND,		/* from its start until its last packet has left */
	CAIRN_LEG_ANSWER,	/* ... until all of it is answered */
	CAIRN_LEG_DURABLE,	/* ... until it is durable: WRITE_PERSIST */
	CAIRN_LEGS
};

struct cairn_legs {
	u64 since;		/* the leg under way */
	u32 rec;
	u32 ns[CAIRN_LEGS];	/* smoothed; 0: none of that kind has ended */
	u8 leg;			/* enum cairn_leg */
} __aligned(CAIRN_LINE);

/* What lies in other memory of the owner, so that both sides together have the size
 * that they have (verbs/verbs.h).
 */
struct cairn_requester_apart {
	struct cairn_legs legs;		/* cleared by a reset */
	/* max_units of it, in lines of its own. */
	union cairn_wqe_buf wqe;
};

/* Bytes of it for send WQEs of @units. */
static inline u32 cairn_requester_apart_size(u32 units)
{
	return offsetof(struct cairn_requester_apart, wqe) +
	       units * CAIRN_UNIT_SIZE;
}

struct cairn_ahead;

struct cairn_requester {
	/* Hot, line 0. Records are numbered without end; record n lies at
	 * n & swr_mask.
	 */
	u32 una_rec;		/* oldest not completed */
	u32 send_rec;		/* the one being sent */
	u32 new_rec;		/* next to start */
	u32 pkt;		/* packets of send_rec that are out */
	u32 una;		/* oldest PSN not acknowledged */
	u32 psn;		/* next PSN to give out */
	u32 sent;		/* one past the highest PSN ever sent */
	u32 sq_next;		/* ring unit of the next WQE to start */
	u32 sq_done;		/* ring unit of the oldest WQE in use */
	u32 ssn;		/* of the next message */
	u32 swr_mask;
	u8 lsn_valid : 1;
	u8 implied_nak : 1;	/* acted on; wait for progress */
	u8 credit_wait : 1;	/* reported */
	u8 ring_bad : 1;	/* the ring cannot be walked any more */
	u8 flow_known : 1;	/* answers from other ports do not count */
	u8 flow_asked : 1;	/* all was repeated since it is not known */
	u8 absent : 1;		/* memory is being brought: nothing is sent */
	u8 ask_again : 1;	/* then, for responses that had no place */
	u8 flows;		/* UDP source ports, one after the other */
	u16 flow;		/* the last of them, of an answer that counted */
	struct cairn_swr *swr;	/* swr_mask + 1 records, the owner's memory */
	u64 ack_deadline;	/* 0: nothing to wait for */
	/* Hot, line 1. */
	u64 rnr_until;		/* 0: not waiting */
	u32 lsn;		/* last SSN that credits allow */
	u32 wqe_idx;		/* what apart->wqe holds, if wqe_valid */
	bool wqe_valid;
	bool drained;		/* SQ_DRAINED reported */
	u8 retries;		/* left */
	u8 rnr_retries;		/* left */
	u8 gap_kind;		/* enum cairn_gap_kind: being repeated */
	bool gap_sent;		/* its answer is awaited */
	u8 probes;		/* without progress */
	bool timed;		/* apart->legs.rec is */
	struct cairn_rate rate;
	/* Line 2, used by RC: time. */
	u64 probe_deadline;	/* 0: none */
	u64 rtt_start;		/* of the packet being timed; 0: none is */
	u32 rtt_psn;		/* that packet */
	u32 acked;		/* one past the latest PSN that is answered */
	u32 srtt;		/* smoothed round trip, ns; 0: unknown */
	u32 rttvar;		/* its mean deviation */
	struct cairn_gap gap;
	/* Cold. */
	/* WRITE_PERSIST (engine/persist_req.c). Records from kept_rec to una_rec
	 * are completed, but an early one among them has something to come.
	 */
	u32 kept_rec;
	u32 undurable_rec;	/* no WRITE_PERSIST before it misses its ACK */
	u8 durability;		/* the weakest that a PERSIST ACK named */
	bool peer_doubted;	/* it was asked whether it knows them */
	u8 nak;			/* fatal, came before what precedes it; or 0 */
	u8 failing : 1;		/* the completion of fail_rec is to come */
	u8 unreported : 1;	/* apart->wqe.cqe found the CQ full */
	u32 persists;		/* WRITE_PERSISTs begun and not at their end */
	u64 probe_at;		/* when to ask for the persistence ACK; 0: never */
	u64 recv_at;		/* when to look for a receive; 0: never */
	u32 ack_rec;		/* all before it are received; at least una_rec */
	u32 nak_psn;		/* of nak */
	u32 reaps_left;		/* completions before the next run */
	u32 fail_rec;		/* that ended the connection, if failing */
	u32 persist_psn;	/* newest of a WRITE_PERSIST that has left */
	struct cairn_ahead *ahead;	/* of the run under way, engine/ahead.h */
	/* Everything before it is cleared by a reset. */
	struct cairn_requester_apart *apart;
} __aligned(CAIRN_LINE);

/* An answer is overdue: the peer may answer from another UDP port now. */
static inline void cairn_req_doubt_port(struct cairn_requester *req)
{
	req->flow_known = false;
	req->flow_asked = false;
}

/* A request that is answered by a response, kept for duplicates. */
struct cairn_rdres {
	u32 psn;		/* first */
	u32 npkts;
	u32 next;		/* packets of the response that are out */
	u32 length;
	u32 rkey;
	u32 msn;
	u64 va;
	u64 orig;		/* atomic result */
	u32 srqn;		/* XRC */
	u8 kind;		/* enum cairn_kind, 0: empty */
	bool pending;		/* response (or a part of it) to be sent */
	bool again;		/* it was sent before */
	bool restart;		/* the next response packet is a FIRST */
};

enum cairn_resp_msg {
	CAIRN_MSG_NONE,
	CAIRN_MSG_SEND,
	CAIRN_MSG_WRITE,
	CAIRN_MSG_WRITE_PERSIST,
};

/* A FLUSH under way (engine/flush_resp.c). */
struct cairn_flush {
	u64 va;			/* goes on here */
	u64 left;		/* bytes; 0: done, or nothing to do */
	u64 asked_va;
	u32 asked_len;
	u32 psn;
	u32 key;
	u8 plt;			/* enum cairn_flush_plt */
	u8 sel;			/* enum cairn_flush_sel */
	bool over;		/* the packet comes again */
};

enum cairn_pending_state {
	CAIRN_PENDING_WAITS,	/* for its token */
	CAIRN_PENDING_DURABLE,
	CAIRN_PENDING_FAILED,
};

/* A message into memory with host flush, until it and all before it are
 * released.
 */
struct cairn_pending {
	u64 token;
	u64 va;
	u32 length;
	u32 rkey;
	u32 first;		/* PSN */
	u32 last;
	u32 msn;
	u32 before;		/* the SEND or WRITE packet before the last */
	u32 owed_psn;		/* plain WRITE: the ACK that waits, if owed */
	u32 next_psn;		/* latest WRITE_PERSIST behind, durable already */
	u32 next_msn;
	u64 limit;		/* ns for the host's answer, 0: no limit */
	u64 deadline;		/* of that; 0: the run that sets it comes */
	u8 state;		/* enum cairn_pending_state */
	bool plain;		/* RDMA WRITE: ordinary ACKs wait, too */
	bool owed;
	bool next;		/* next_psn and next_msn say something */
};

/* Bits for the packets that may be kept, by PSN. */
#define CAIRN_HOLD_WORDS	8

struct cairn_responder {
	/* Hot, line 0: requests in order, and their ACK. */
	u32 epsn;		/* expected */
	u32 msn;
	u8 msg;			/* enum cairn_resp_msg in progress */
	bool nak_sent;		/* this gap or RNR is reported */
	bool ack_due;
	bool nak_due;		/* nak below, after the pending responses */
	bool fatal;		/* nak_due ends the connection */
	bool comm_est;		/* reported */
	bool last_wqe;		/* LAST_WQE_REACHED reported */
	bool rwqe_valid;	/* rwqe is consumed and not yet completed */
	u32 ack_psn;		/* what ack_due is about */
	u32 done_psn;		/* last SEND or WRITE packet executed */
	u32 rkey;
	u32 remaining;		/* bytes of the WRITE still to come */
	u64 va;			/* next byte of the WRITE */
	u32 received;		/* bytes of the message placed so far */
	u32 recv_len;		/* room in rwqe, bytes */
	u32 rd_head;		/* resources: numbered without end */
	u32 rd_pending;
	bool holding;		/* packets ahead of a gap are kept */
	bool waits;		/* the expected packet, for its invalidation or
				 * its flush; until then it is ahead of a gap
				 */
	bool inval_over;	/* of inval_key; the packet comes again */
	bool flow_known;	/* flow below says something */
	u8 tentative : 1;	/* what is being executed was kept */
	u8 any_refused : 1;	/* a bit of refused is set */
	u8 absent : 1;		/* responses wait for memory */
	u8 absent_tries;	/* RNR NAKs while memory is brought */
	u16 flow;		/* of the last packet that came in sequence */
	/* Hot, line 1: READs, atomics, NAKs. */
	u32 rd_psn;		/* last PSN of the latest READ or atomic */
	u32 rd_mask;
	struct cairn_rdres *rd;	/* rd_mask + 1, the owner's; NULL: none yet */
	u32 nak_psn;
	u8 nak;			/* AETH syndrome */
	u8 fatal_event;		/* enum cairn_async + 1, 0: none */
	bool rd_any;		/* there was a READ or atomic */
	u8 recv_status;		/* of the receive in hand, if the CQ was full */
	struct cairn_rate rate;	/* of READ responses */
	/* Cold. */
	/* Persistence (engine/persist_resp.c). */
	u8 persist;		/* enum cairn_persist of the WRITE under way */
	bool fence_due;		/* written back, not yet fenced */
	bool persist_ack_due;	/* for the watermark */
	bool persist_nak;	/* nak is for a persist that failed */
	bool durable;		/* there is a watermark: the last durable */
	u8 durability;		/* the weakest of all WRITE_PERSISTs so far */
	u8 msg_durability;	/* of the message in hand */
	bool limited;		/* some pending message has a limit */
	u32 durable_psn;	/* WRITE_PERSIST that none before misses */
	union {
		u32 durable_msn;
		u32 srqn;	/* XRC: of the packet in hand, or the last */
	};
	u32 msg_psn;		/* first of the WRITE under way */
	u32 inval_key;
	struct cairn_words words;	/* of it, into a persistent region */
	u32 pend_head;		/* pending messages: numbered without end */
	u32 pend_tail;
	u32 plain_pending;	/* plain ones among them */
	u32 nak_msn;
	u64 flush_deadline;	/* the first of theirs, 0: none */
	struct cairn_pending *pend;	/* the owner's memory; NULL: never needed */
	struct cairn_flush flush;	/* of the expected packet */
	/* Packets ahead of a gap (engine/hold.c). */
	u64 hold_until;		/* then what is kept is forgotten; 0: begins */
	u64 refused[CAIRN_HOLD_WORDS];	/* PSNs that came with two contents */
	/* Everything before rwqe is cleared by a reset. It is the owner's memory, as
	 * long as a WQE of the receive queue.
	 */
	union cairn_wqe_buf *rwqe;
} __aligned(CAIRN_LINE);

/* Congestion control of a QP (origins.rst, S9). */
struct cairn_cc_state {
	const struct cairn_cc_params *params;	/* the device's */
	u32 line_kbps;		/* of the link, not 0 */
	u32 cnps;		/* received; the requester's side counts */
	u64 cnp_at;		/* no CNP before; the responder's */
	u64 heard_at;		/* no cut before; the requester's */
	struct cairn_dcqcn rp[CAIRN_SIDES];	/* each its own side's */
};

struct cairn_qpc {
	/* The shared line. */
	u8 state;		/* enum cairn_state */
	u8 transport;		/* enum cairn_transport */
	bool sq_sig_all;
	bool has_srq;		/* or none at all (XRC): no receives of its own */
	u8 max_send_sge;
	u8 max_recv_sge;
	u16 max_inline;
	u32 qpn;
	u32 sq_depth;		/* units */
	u32 max_msg;		/* bytes */
	struct cairn_qp_attrs attrs;
	bool cnp_due;		/* the responder is to send a CNP */
	u8 max_units;		/* of a send WQE, 1..CAIRN_MAX_WQE_UNITS */
	u8 prefix;		/* of BTH opcodes: CAIRN_BTH_* of transport */
	u8 takes;		/* requests of that transport; NONE: none */
	u32 max_records;	/* of the requester; a power of two */
	struct cairn_requester req;
	struct cairn_responder resp;
	struct cairn_cc_state cc;
};

static_assert(offsetofend(struct cairn_qpc, max_records) <= CAIRN_LINE);
static_assert(offsetof(struct cairn_qpc, req) % CAIRN_LINE == 0);
static_assert(offsetof(struct cairn_qpc, resp) % CAIRN_LINE == 0);
/* A byte more and each takes another line. */
static_assert(sizeof(struct cairn_requester) <= 6 * CAIRN_LINE);
static_assert(sizeof(struct cairn_responder) <= 5 * CAIRN_LINE);
static_assert(offsetofend(struct cairn_requester, ack_deadline) <=
	      CAIRN_LINE);
static_assert(offsetof(struct cairn_requester, rnr_until) == CAIRN_LINE ||
	      sizeof(void *) < 8);
static_assert(offsetofend(struct cairn_requester, rate) <=
	      CAIRN_HOT_BYTES);
static_assert(offsetofend(struct cairn_responder, flow) <= CAIRN_LINE);
static_assert(offsetofend(struct cairn_responder, rate) <=
	      CAIRN_HOT_BYTES);

/* Work for one turn, so that a context is not held for long and queues share
 * fairly (engine/sched.h). A train leaves whole: the bytes may become negative.
 */
struct cairn_budget {
	u32 packets;
	s32 bytes;		/* of packets, CAIRN_HEADER_BYTES each included */
};

/* Work requests that one run completes, for they may all have waited for the same
 * answer: more than a window, so only WRITE_PERSIST makes it that many. Also those
 * that a change to RTS flushes in one go.
 */
#define CAIRN_MAX_REAPS		1024

#define CAIRN_HEADER_BYTES	64	/* about what a packet costs by itself */

static inline bool cairn_budget_left(const struct cairn_budget *budget)
{
	return budget->packets && budget->bytes > 0;
}

/* @n packets with @payload bytes together have left. */
static inline void cairn_budget_use(struct cairn_budget *budget, u32 n,
				    u32 payload)
{
	budget->packets -= min(n, budget->packets);
	budget->bytes -= n * CAIRN_HEADER_BYTES + payload;
}

/**
 * cairn_qpc_init() - set up in RESET
 * @qpc: the QP
 *
 * The owner has filled transport, takes, sq_sig_all, has_srq, limits, qpn, sq_depth,
 * max_msg, max_units, max_records, cc.params, cc.line_kbps, req.apart, req.swr and
 * swr_mask (more are asked for when they are needed), resp.rwqe, and resp.rd_mask with
 * resp.rd, which may be NULL: it is asked for with the first READ or atomic.
 */
void cairn_qpc_init(struct cairn_qpc *qpc);

/**
 * cairn_qpc_reset() - back to RESET: forgets all work, posts no completions
 * @qpc: the QP
 * @sq_idx: the send write pointer; everything before it is dropped
 *
 * Caller holds both locks.
 */
void cairn_qpc_reset(struct cairn_qpc *qpc, u32 sq_idx);

/* Initial PSNs: RTR sets the responder's, RTS the requester's. Both locks. */
void cairn_req_set_psn(struct cairn_qpc *qpc, u32 psn);
void cairn_resp_set_psn(struct cairn_qpc *qpc, u32 psn);

/* Move to @state (already checked against the state table). Both locks held;
 * the caller kicks both sides afterwards.
 */
void cairn_qpc_set_state(struct cairn_qpc *qpc, enum cairn_state state);

/* A side failed: the QP goes to ERR and both sides flush. One lock held. */
void cairn_qpc_fail(struct cairn_qpc *qpc);

/* The same, and QP_FATAL tells the host. */
void cairn_qpc_fatal(struct cairn_qpc *qpc);

/* RC and XRC: acknowledged, in order, repeated. */
static inline bool cairn_qp_reliable(const struct cairn_qpc *qpc)
{
	return qpc->transport <= CAIRN_TRANSPORT_XRC;
}

static inline u8 cairn_state(const struct cairn_qpc *qpc)
{
	return READ_ONCE(qpc->state);
}

/* Does the connection name the QP that sent @pkt? Only a sender on this host is known. */
static inline bool cairn_qp_sender_fits(const struct cairn_qpc *qpc,
					const struct cairn_pkt *pkt)
{
	return !pkt->sender || pkt->sender == qpc->attrs.dqpn;
}

/* Of one partition, and one end at least is a full member of it (IBTA 10.9.3). */
static inline bool cairn_qp_pkey_fits(const struct cairn_qpc *qpc, u16 pkey)
{
	return !((pkey ^ qpc->attrs.pkey) & CAIRN_PKEY_BASE) &&
	       (pkey | qpc->attrs.pkey) & CAIRN_PKEY_FULL;
}

#endif
