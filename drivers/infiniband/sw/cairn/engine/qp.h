/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The protocol state of one queue pair and the functions that move it.
 *
 * Two sides, each under a lock of its own that the caller holds:
 *   requester  sends requests, takes responses, completes the SQ
 *   responder  takes requests, sends responses, consumes receives
 * A function of one side accesses its own part and these shared words only: the state
 * and the attributes of struct cairn_qp_attrs. The state is written with WRITE_ONCE
 * under both locks, or by a failing side, towards ERR only. A requester of UC or UD that
 * fails changes RTS or SQD to SQE, with cmpxchg(). verbs/modify.c writes the attributes
 * under both locks.
 *
 * Time is an argument: CLOCK_MONOTONIC in nanoseconds. A side that has to run again
 * without an event leaves a deadline; the lane keeps the timer.
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

/* Attributes that modify_qp sets. Both sides read them. */
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
	/* Applies to the requester and to READ responses, each side by itself. */
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
	u8 status;		/* not 0: fails once all earlier ones completed */
	bool local_done;	/* the local operation was performed */
	bool durable;		/* WRITE_PERSIST: its persistence ACK arrived */
	bool local_wait;	/* the local operation is in progress */
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
 * The context of a QP in levels: the members that each packet needs are in a few
 * aligned cache lines, the rest is behind them.
 *
 *   shared	the head of struct cairn_qpc: state, limits and attributes. Both
 *		sides read it for every packet; the data path never writes it.
 *   hot	the first CAIRN_HOT_BYTES of struct cairn_requester and of
 *		struct cairn_responder: read and written for every packet, each
 *		by its own side only, so that the two directions of a QP share no
 *		dirty line. The requester's first line is for sending and
 *		acknowledging; the second is for limits, retries, timers.
 *   cold	the rest of them, records, verbs' struct cairn_qp around it all, and
 *		struct cairn_qp_cold (attributes for query, private WQE copies).
 *
 * No member has a copy that could differ: the attributes of modify_qp are in the shared
 * line only. modify_qp prepares everything that may sleep and then takes both side
 * locks. Under them it checks the transition, changes the shared line, PSNs and
 * counters, and unlocks. So a side sees the whole change or none of it. Only the state
 * is also read without a lock (cairn_state()).
 *
 * New members go behind the hot part, unless each packet needs them.
 */
#define CAIRN_LINE		64	/* bytes of a cache line */
#define CAIRN_HOT_BYTES		(2 * CAIRN_LINE)

/* Why packets are retransmitted, see engine/gap.c. */
enum cairn_gap_kind {
	CAIRN_GAP_NONE,
	CAIRN_GAP_NAK,		/* the peer reported a gap */
	CAIRN_GAP_PROBE,	/* an answer is overdue */
	CAIRN_GAP_READ,		/* responses are missing */
};

/* One bit for each packet of a window, indexed by PSN. */
#define CAIRN_GAP_WORDS		8

struct cairn_gap {
	u32 rec, pkt;		/* send cursor to restore after the gap */
	u32 high;		/* PSN at that cursor */
	u32 end;		/* one past the retransmitted packets */
	u32 nak_psn;		/* of a NAK while responses are missing */
	u16 run;		/* retransmitted packets */
	bool nak;
	u8 plain;		/* gaps for which the peer is taken to keep no packets */
	u64 starts[CAIRN_GAP_WORDS];	/* the packet was the first of a train */
	u64 got[CAIRN_GAP_WORDS];	/* the response is placed, ahead of a missing one */
};

/* Stages of a request's latency (engine/latency.c). */
enum cairn_stage {
	CAIRN_STAGE_SEND,		/* from its start until its last packet is sent */
	CAIRN_STAGE_ANSWER,	/* ... until all packets are acknowledged */
	CAIRN_STAGE_DURABLE,	/* ... until it is durable: WRITE_PERSIST */
	CAIRN_STAGES
};

struct cairn_latency {
	u64 since;		/* when the current stage began */
	u32 rec;
	u32 ns[CAIRN_STAGES];	/* smoothed; 0: not measured yet */
	u8 stage;		/* enum cairn_stage */
} __aligned(CAIRN_LINE);

/* Members in separate memory of the owner, which keeps the size of both sides within
 * that of verbs/verbs.h.
 */
struct cairn_requester_ext {
	struct cairn_latency latency;		/* cleared by a reset */
	/* max_units units, in separate cache lines. */
	union cairn_wqe_buf wqe;
};

/* Bytes of memory for it, with send WQEs of up to @units. */
static inline u32 cairn_requester_ext_size(u32 units)
{
	return offsetof(struct cairn_requester_ext, wqe) +
	       units * CAIRN_UNIT_SIZE;
}

/* The UDP source port of the peer (engine/peer_port.c). */
struct cairn_peer_port {
	u16 sport;		/* of the last packet that was accepted */
	u8 changes;		/* ports so far; the requester's */
	u8 known : 1;		/* packets from other ports prove less */
	u8 asked : 1;		/* all were sent again to learn the port */
};

/* End-to-end credits (IBTA 9.7.7.2). */
struct cairn_credits {
	u32 lsn : 24;		/* last SSN that they allow */
	u32 valid : 1;
	u32 wait : 1;		/* a wait for them was counted */
};

/* Memory on demand is being faulted in. */
struct cairn_odp_state {
	u8 faulting : 1;	/* sending, or the responses, wait for it */
	u8 ask_again : 1;	/* responses were dropped meanwhile */
	u8 tries;		/* RNR NAKs since then */
};

/* The round trip, and the probes that follow from it (engine/gap.c). */
struct cairn_rtt {
	u64 probe_deadline;	/* 0: none */
	u64 start;		/* of the packet being timed; 0: none is */
	u32 psn;		/* that packet */
	u32 mean;		/* smoothed round trip, ns; 0: unknown */
	u32 deviation;		/* its mean deviation */
	u8 probes;		/* since the last progress */
	u8 put_off;		/* so often since the last progress */
	u8 ack_put_off;		/* the ACK timer, since it started */
};

/* A peer has to know it beyond the specification to answer a request. */
enum cairn_need {
	CAIRN_NEED_PERSIST = 1 << 0,		/* WRITE_PERSIST */
	CAIRN_NEED_PERSIST_IMM = 1 << 1,	/* WRITE_PERSIST with immediate */
	CAIRN_NEEDS = (1 << 2) - 1
};

/* WRITE_PERSIST at the requester (engine/persist_req.c). */
struct cairn_persist_req {
	u64 probe_at;		/* when to probe for the ACK; 0: never */
	u64 recv_at;		/* when to look for a receive; 0: never */
	u32 outstanding;	/* started and not done */
	u32 undurable_rec;	/* every WRITE_PERSIST before it is durable */
	u32 newest_psn;		/* newest sent PSN of one */
	u8 durability;		/* the weakest of all PERSIST ACKs */
	u8 doubted;		/* enum cairn_need: the peer was asked about them */
	u8 proved;		/* ... that an answer of the peer has proved */
};

/* A fatal NAK that overtook responses. */
struct cairn_late_nak {
	u32 psn : 24;
	u32 syndrome : 8;	/* 0: none */
};

struct cairn_requester {
	/* Hot, line 0. Record numbers are free-running; record n is at
	 * n & swr_mask.
	 */
	u32 una_rec;		/* oldest record that is not completed */
	u32 send_rec;		/* the one being sent */
	u32 new_rec;		/* next to start */
	u32 pkt;		/* packets of send_rec that were sent */
	u32 una;		/* oldest PSN not acknowledged */
	u32 psn;		/* next PSN to assign */
	u32 sent;		/* one past the highest PSN ever sent */
	u32 sq_next;		/* ring unit of the next WQE to start */
	u32 sq_done;		/* ring unit of the oldest WQE in use */
	u32 ssn;		/* of the next message */
	u32 swr_mask;
	struct cairn_peer_port peer_port;
	struct cairn_swr *swr;	/* swr_mask + 1 records, the owner's memory */
	u64 ack_deadline;	/* 0: nothing to wait for */
	/* Hot, line 1. */
	u64 rnr_until;		/* 0: not waiting */
	struct cairn_rate rate;
	struct cairn_credits credits;
	u32 wqe_idx;		/* ring unit of ext->wqe, if wqe_valid */
	u8 wqe_valid : 1;
	u8 look : 1;		/* the write pointer may have moved since it was read */
	u8 implied_nak : 1;	/* handled; ignored until progress is made */
	u8 ring_bad : 1;	/* the ring cannot be walked any more */
	u8 timed : 1;		/* record ext->latency.rec is being timed */
	u8 drained : 1;		/* SQ_DRAINED reported */
	u8 failing : 1;		/* the completion of fail_rec is to come */
	u8 unreported : 1;	/* ext->wqe.cqe found the CQ full */
	u8 fetched : 1;		/* WQEs wait for the next turn (engine/ahead.h) */
	u8 retries;		/* spent since the last progress */
	u8 rnr_retries;		/* the same */
	u8 gap_kind;		/* enum cairn_gap_kind: being retransmitted */
	bool gap_sent;		/* retransmitted, the answer is awaited */
	struct cairn_odp_state odp;
	/* Line 2, used by RC. */
	struct cairn_rtt rtt;
	u32 acked;		/* one past the latest PSN that is answered */
	/* Records from kept_rec to una_rec are completed; the early ones among
	 * them still get a durable completion.
	 */
	u32 kept_rec;
	u32 sq_tail;		/* ring units before it are posted, as last read */
	struct cairn_gap gap;
	/* Cold. */
	struct cairn_persist_req persist;
	u32 ack_rec;		/* all records before it are received; >= una_rec */
	u32 reaps_left;		/* completions that this run may still post */
	struct cairn_late_nak late_nak;
	u32 fail_rec;		/* the record that failed, if failing */
	/* A reset clears all members before it. */
	struct cairn_requester_ext *ext;
} __aligned(CAIRN_LINE);

/* A request that has a response, kept to answer duplicates. */
struct cairn_rdres {
	u32 psn;		/* first */
	u32 npkts;
	u32 next;		/* packets of the response that were sent */
	u32 length;
	u32 rkey;
	u32 msn;
	u64 va;
	u64 orig;		/* atomic result */
	u32 srqn;		/* XRC */
	u8 kind;		/* enum cairn_kind, 0: empty */
	bool pending;		/* (a part of) the response is not sent yet */
	bool again;		/* it was sent before */
	bool restart;		/* the next response packet is a FIRST */
};

/* The FLUSH in progress (engine/flush_resp.c). */
struct cairn_flush {
	u64 va;			/* next byte to write back */
	u64 left;		/* bytes; 0: done, or nothing to do */
	u64 asked_va;
	u32 asked_len;
	u32 psn;
	u32 key;
	u8 plt;			/* enum cairn_flush_plt */
	u8 sel;			/* enum cairn_flush_sel */
	bool over;		/* done: the kept packet may be executed */
};

enum cairn_pending_state {
	CAIRN_PENDING_WAITS,	/* the host has not released its token */
	CAIRN_PENDING_DURABLE,
	CAIRN_PENDING_FAILED,
};

/* A message or an atomic into memory with host flush. It is pending until the host has
 * released it and all messages before it.
 */
struct cairn_pending {
	u64 token;
	u64 va;
	u32 length;
	u32 rkey;
	u32 first;		/* PSN */
	u32 last;
	u32 msn;
	u32 before;		/* PSN of the SEND or WRITE packet before last */
	u32 owed_psn;		/* plain WRITE: PSN of the withheld ACK, if owed */
	u32 next_psn;		/* latest durable WRITE_PERSIST behind it, if next */
	u32 next_msn;
	u64 limit;		/* ns for the host's release, 0: no limit */
	u64 deadline;		/* of limit; 0: the next run sets it */
	u8 state;		/* enum cairn_pending_state */
	bool plain;		/* RDMA WRITE, atomic: ordinary answers are withheld, too */
	bool atomic;		/* the peer needs the right to atomics, not to write */
	u8 repeats;		/* times that its last packet came again, bounded; plain */
	bool owed;
	bool behind_read;	/* a READ or atomic came after the packet of before */
	bool next;		/* next_psn and next_msn are valid */
};

/* One bit for each packet that may be kept, indexed by PSN. */
#define CAIRN_HOLD_WORDS	8

/* The message that is arriving. */
struct cairn_message {
	u64 va;			/* next byte of the WRITE */
	u32 rkey;
	u32 remaining;		/* bytes of the WRITE still to come */
	u32 received;		/* bytes placed so far */
	u8 kind;		/* enum cairn_kind: SEND, WRITE, WRITE_PERSIST or NONE */
	u8 method;		/* enum cairn_persist of the WRITE */
	u8 durability;		/* of its region */
};

/* The receive of the message. */
struct cairn_resp_recv {
	u32 len;		/* room in rwqe, bytes */
	u8 status;		/* of its completion, if the CQ was full */
	bool valid;		/* rwqe is consumed and not yet completed */
};

/* A NAK that is to be sent, or was sent. */
struct cairn_resp_nak {
	u32 psn : 24;
	u32 syndrome : 8;	/* of the AETH */
	u32 msn : 24;
	u32 event : 4;		/* enum cairn_async + 1, 0: none */
	u32 due : 1;		/* send it after the pending responses */
	u32 sent : 1;		/* the current gap or RNR was reported */
	u32 fatal : 1;		/* the connection ends after the due answers */
	u32 persist : 1;	/* it reports a failed WRITE_PERSIST */
};

/* The table of READs, atomics and FLUSHes (engine/replay.c). */
struct cairn_replay {
	struct cairn_rdres *res;	/* mask + 1; NULL: none yet */
	u32 head;		/* next entry, free-running */
	u32 pending;		/* entries with a response to be sent */
	u32 psn;		/* last PSN of the latest request, if any */
	u16 mask;
	bool any;		/* there was such a request */
};

/* Write persistence at the responder (engine/persist_resp.c). */
struct cairn_persist_resp {
	u64 deadline;		/* the earliest of pending messages, 0: none */
	bool fence_due;		/* written back, not yet fenced */
	bool ack_due;		/* a PERSIST ACK of the watermark */
	bool durable;		/* there is a watermark: durable_psn is valid */
	bool limited;		/* some pending message has a limit */
	u32 head;		/* oldest pending message, free-running */
	u32 tail;
	u32 plain;		/* pending messages that are plain WRITEs */
	u32 durable_psn;	/* every WRITE_PERSIST up to it is durable */
	u32 durable_msn;
	u32 msg_psn;		/* first PSN of the current WRITE */
	u8 durability;		/* the weakest of all WRITE_PERSISTs so far */
	struct cairn_words words;	/* of a WRITE, persistent region */
	struct cairn_pending *pend;	/* NULL: never needed */
};

/* Packets ahead of a gap (engine/hold.c). */
struct cairn_held {
	u64 until;		/* if holding: when they are dropped; 0: not started */
	u64 refused[CAIRN_HOLD_WORDS];	/* PSNs that came with two contents */
};

struct cairn_responder {
	/* Hot, line 0: requests in order, and their ACK. */
	u32 epsn;		/* expected */
	u32 msn;
	u32 ack_psn;		/* PSN of the ACK, if ack_due */
	u32 done_psn;		/* last SEND or WRITE packet executed */
	struct cairn_message msg;
	struct cairn_resp_recv recv;
	struct cairn_resp_nak nak;
	struct cairn_peer_port peer_port;
	struct cairn_odp_state odp;
	bool ack_due;
	u8 holding : 1;		/* packets ahead of a gap are kept */
	u8 any_refused : 1;	/* a bit of hold.refused is set */
	/* The expected packet waits for its invalidation or flush, and is kept. */
	u8 waits : 1;
	u8 repeated : 1;	/* cairn_persist_hold() answers, if an ACK is due */
	u8 inval_over : 1;	/* of inval_key: the packet may be executed */
	u8 comm_est : 1;	/* reported */
	u8 last_wqe : 1;	/* LAST_WQE_REACHED reported */
	/* Hot, line 1: READs, atomics. */
	struct cairn_replay replay;
	struct cairn_rate rate;	/* of READ responses */
	/* Cold. */
	struct cairn_persist_resp persist;
	u32 inval_key;
	u32 srqn;		/* XRC: of the current packet, or the last */
	struct cairn_flush flush;	/* of the expected packet */
	struct cairn_held hold;
	/* A reset clears all members before rwqe. rwqe is the owner's memory, as long
	 * as a WQE of the receive queue.
	 */
	union cairn_wqe_buf *rwqe;
} __aligned(CAIRN_LINE);

/* Congestion control of a QP (origins.rst, S9). */
struct cairn_cc_state {
	const struct cairn_cc_params *params;	/* the device's */
	u32 line_kbps;		/* of the link, not 0 */
	u32 cnps;		/* received; the requester counts them */
	u64 cnp_at;		/* no CNP is sent before; the responder's */
	u64 heard_at;		/* when the latest of cnps came; the requester's */
	struct cairn_dcqcn rp[CAIRN_SIDES];	/* each is used by its own side */
};

struct cairn_qpc {
	/* The shared line. */
	u8 state;		/* enum cairn_state */
	u8 transport;		/* enum cairn_transport */
	u8 sq_sig_all : 1;
	u8 has_srq : 1;		/* no receive queue of its own; also set for XRC */
	/* enum cairn_tally: kinds of work that are counted (engine/tally.h). Attached under
	 * both locks, before RTR.
	 */
	u8 tallied;
	u8 max_send_sge;
	u8 max_recv_sge;
	u16 max_inline;
	u32 qpn;
	u32 sq_depth;		/* units */
	u32 max_msg;		/* bytes */
	struct cairn_qp_attrs attrs;
	bool cnp_due;		/* the responder has to send a CNP */
	u8 max_units;		/* of a send WQE, 1..CAIRN_MAX_WQE_UNITS */
	u8 prefix;		/* of BTH opcodes: CAIRN_BTH_* of transport */
	u8 takes;		/* transport of accepted requests; NONE: none */
	u32 max_records;	/* of the requester; a power of two */
	struct cairn_requester req;
	struct cairn_responder resp;
	struct cairn_cc_state cc;
};

static_assert(offsetofend(struct cairn_qpc, max_records) <= CAIRN_LINE);
static_assert(offsetof(struct cairn_qpc, req) % CAIRN_LINE == 0);
static_assert(offsetof(struct cairn_qpc, resp) % CAIRN_LINE == 0);
/* One byte more would take another line. */
static_assert(sizeof(struct cairn_requester) <= 6 * CAIRN_LINE);
static_assert(sizeof(struct cairn_responder) <= 5 * CAIRN_LINE);
static_assert(offsetofend(struct cairn_requester, ack_deadline) <=
	      CAIRN_LINE);
static_assert(offsetof(struct cairn_requester, rnr_until) == CAIRN_LINE ||
	      sizeof(void *) < 8);
static_assert(offsetofend(struct cairn_requester, odp) <= CAIRN_HOT_BYTES);
static_assert(offsetof(struct cairn_responder, replay) == CAIRN_LINE ||
	      sizeof(void *) < 8);
static_assert(offsetofend(struct cairn_responder, rate) <=
	      CAIRN_HOT_BYTES);

/* Work for one turn: bounds the time that a lock is held, and lets queues share fairly
 * (engine/sched.h). A train is sent whole, so bytes may become negative.
 */
struct cairn_budget {
	u32 packets;
	s32 bytes;		/* of packets, CAIRN_HEADER_BYTES each included */
	struct cairn_ahead *ahead;	/* WQEs of the turn; NULL: none were fetched */
};

/* Work requests that one run completes. One answer may complete all of them. It is more
 * than a window, so only WRITE_PERSIST reaches it. Also the number that a change to
 * RTS flushes at once.
 */
#define CAIRN_MAX_REAPS		1024

#define CAIRN_HEADER_BYTES	64	/* fixed cost of a packet, roughly */

static inline bool cairn_budget_left(const struct cairn_budget *budget)
{
	return budget->packets && budget->bytes > 0;
}

/* Charge @n sent packets with @payload bytes in all. */
static inline void cairn_budget_use(struct cairn_budget *budget, u32 n,
				    u32 payload)
{
	budget->packets -= min(n, budget->packets);
	budget->bytes -= n * CAIRN_HEADER_BYTES + payload;
}

/**
 * cairn_qpc_init() - set up a QP in RESET
 * @qpc: the QP
 *
 * The owner has filled in transport, takes, sq_sig_all, has_srq, the limits, qpn,
 * sq_depth, max_msg, max_units, max_records, cc.params and cc.line_kbps. It has
 * allocated req.ext, req.swr (swr_mask + 1 records; the requester allocates more on
 * demand) and resp.rwqe. resp.replay.res (resp.replay.mask + 1 entries) may be NULL: the
 * first READ or atomic allocates it.
 */
void cairn_qpc_init(struct cairn_qpc *qpc);

/**
 * cairn_qpc_reset() - go back to RESET: drop all work without completions
 * @qpc: the QP
 * @sq_idx: the send write pointer; all WQEs before it are dropped
 *
 * Caller holds both locks.
 */
void cairn_qpc_reset(struct cairn_qpc *qpc, u32 sq_idx);

/* Set the initial PSN: the responder's in RTR, the requester's in RTS. Both locks held. */
void cairn_req_set_psn(struct cairn_qpc *qpc, u32 psn);
void cairn_resp_set_psn(struct cairn_qpc *qpc, u32 psn);

/* Move to @state (already checked against the state table). Both locks held;
 * the caller kicks both sides afterwards.
 */
void cairn_qpc_set_state(struct cairn_qpc *qpc, enum cairn_state state);

/* A side failed: move to ERR, and let both sides flush. One lock held. */
void cairn_qpc_fail(struct cairn_qpc *qpc);

/* The same, and report QP_FATAL to the host. */
void cairn_qpc_fatal(struct cairn_qpc *qpc);

/* The same for a queue pair in any state. Return: false if it has no connection to end. */
bool cairn_qpc_break(struct cairn_qpc *qpc);

/* RC and XRC: acknowledged, in order, retransmitted. */
static inline bool cairn_qp_reliable(const struct cairn_qpc *qpc)
{
	return qpc->transport <= CAIRN_TRANSPORT_XRC;
}

static inline u8 cairn_state(const struct cairn_qpc *qpc)
{
	return READ_ONCE(qpc->state);
}

/* Is the connection's peer the QP that sent @pkt? True if the sender is not known, as it
 * is on another host.
 */
static inline bool cairn_qp_sender_fits(const struct cairn_qpc *qpc,
					const struct cairn_pkt *pkt)
{
	return !pkt->sender || pkt->sender == qpc->attrs.dqpn;
}

/* Do both ends have the same partition, and is at least one of them a full member of it
 * (IBTA 10.9.3)?
 */
static inline bool cairn_qp_pkey_fits(const struct cairn_qpc *qpc, u16 pkey)
{
	return !((pkey ^ qpc->attrs.pkey) & CAIRN_PKEY_BASE) &&
	       (pkey | qpc->attrs.pkey) & CAIRN_PKEY_FULL;
}

#endif
