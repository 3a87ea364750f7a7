/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The functions that the engine calls; it calls no others outside of engine/ and wire/.
 * The module implements them with sk_buffs, mapped rings and registered memory, the
 * host tests with a simulated network.
 *
 * Context of every call: the caller of the engine function holds the lock of the side
 * that runs (requester or responder, engine/qp.h); no function here may sleep. Memory
 * is looked up by its key and accessed during the call only: the result of a look-up is
 * never kept.
 */
#ifndef CAIRN_ENGINE_ENV_H
#define CAIRN_ENGINE_ENV_H

#include <rdma/cairn-abi.h>
#include "wire/packet.h"
#include "engine/counters.h"
#include "engine/words.h"

struct cairn_qpc;

/* Kinds of access that a key must allow; mem/access.c maps them to IB_ACCESS_*. */
enum cairn_access {
	CAIRN_ACCESS_LOCAL_READ,
	CAIRN_ACCESS_LOCAL_WRITE,
	CAIRN_ACCESS_REMOTE_READ,
	CAIRN_ACCESS_REMOTE_WRITE,
	CAIRN_ACCESS_REMOTE_ATOMIC,
	/* REMOTE_WRITE to a region with NIC flush: placed data is written back to
	 * the persistence domain, and cairn_env_fence() completes that.
	 */
	CAIRN_ACCESS_REMOTE_PERSIST,
	CAIRN_ACCESS_FLUSH_GLOBAL,
	CAIRN_ACCESS_FLUSH_PERSISTENT,
};

/* How data that peers write into a region becomes durable. */
enum cairn_persist {
	CAIRN_PERSIST_NONE,
	CAIRN_PERSIST_NIC,	/* written back when placed */
	CAIRN_PERSIST_HOST,	/* by the application, when a CQE asks it to */
};

/* Host flush: limit of messages of one QP that wait for their release. */
#define CAIRN_MAX_PENDING	64

struct cairn_pending;
struct cairn_rdres;
struct cairn_swr;

/* A range of registered memory: a gather/scatter list and an offset. */
struct cairn_span {
	const struct cairn_sge *sge;	/* kernel copy, checked by the engine */
	u32 num_sge;
	u32 offset;			/* bytes to skip */
	u32 more;			/* bytes of the message behind them */
	u8 access;			/* enum cairn_access */
	u8 side;			/* enum cairn_side_id that asks */
};

/*
 * Memory of a region on demand may not be present. A function that accesses it then
 * starts to fault it in, has no other effect, and returns -EAGAIN. The side gets a turn
 * when the fault is over (cairn_env_faulting()). If the fault failed, the next attempt
 * returns -EFAULT.
 */

/*
 * Train: 1..CAIRN_TRAIN_MAX consecutive packets of one QP and one direction
 * with equal header length and equal payload size; the last may be shorter.
 * Packet k has PSN first.psn + k. Opcodes: first.opcode, then mid_opcode, then
 * last_opcode (a train of one has first.opcode only). AckReq and SE of first
 * belong to the last packet of the train. Messages of one packet each may form a
 * train, too, if they have the same opcode and size (cairn_env_emit_messages()).
 */
#define CAIRN_TRAIN_MAX		64

struct cairn_train {
	struct cairn_pkt first;		/* headers and payload_len of packet 0 */
	u8 count;			/* packets */
	u8 mid_opcode;
	u8 last_opcode;
	bool retransmit;
	bool ect;		/* ECN-capable transport */
	u32 seg;			/* payload bytes of all but the last */
	u32 length;			/* payload bytes of the train */
	u32 ah;				/* UD: address handle number */
	const u8 *inline_data;		/* payload bytes, or NULL: in span */
	struct cairn_span span;
};

/**
 * typedef cairn_part_fn - describe one message of a train of messages
 * @qpc: the QP
 * @train: the train
 * @k: number of the packet, 0 to the train's count - 1; called once for each, in order
 * @one: filled in as a train of that packet alone; its pointers are valid until the
 *	next call
 *
 * Return: 0; -EINVAL: the message cannot be sent.
 */
typedef int (*cairn_part_fn)(struct cairn_qpc *qpc,
			     const struct cairn_train *train, u32 k,
			     struct cairn_train *one);

/* The sides of a QP; also an index of locks, paths and queues of packets. */
enum cairn_side_id {
	CAIRN_REQ,	/* requester and completer: SQ, responses */
	CAIRN_RESP,	/* responder: RQ, requests */
	CAIRN_SIDES
};

enum cairn_async {
	CAIRN_ASYNC_COMM_EST,
	CAIRN_ASYNC_SQ_DRAINED,
	CAIRN_ASYNC_QP_FATAL,
	CAIRN_ASYNC_QP_REQ_ERR,
	CAIRN_ASYNC_QP_ACCESS_ERR,
	CAIRN_ASYNC_LAST_WQE_REACHED,
};

/* Bytes around the payload of the longest data packet, WRITE ONLY with immediate. They
 * count for a rate (engine/rate.h).
 */
#define CAIRN_MAX_OVERHEAD                                                     \
	(CAIRN_HDR_LEN(CAIRN_HDR_BTH | CAIRN_HDR_RETH | CAIRN_HDR_IMMDT) +     \
	 CAIRN_ICRC_LEN)

/* The rate of address handle @ah, kbit/s; 0: no limit, or no such handle. */
u32 cairn_env_ah_rate(struct cairn_qpc *qpc, u32 ah);

/**
 * cairn_env_room() - how much may a requester of UC or UD send?
 * @qpc: the QP
 *
 * Packets that have not left this host are counted, and not too many of them may be there.
 *
 * Return: bytes; 0: none now. The requester gets a turn when there is room.
 */
u32 cairn_env_room(struct cairn_qpc *qpc);

/* The run of a requester of UC or UD ends. Others that wait for room may have their turns. */
void cairn_env_room_end(struct cairn_qpc *qpc);

/**
 * cairn_env_emit() - send a train
 * @qpc: the QP
 * @side: the side that sends, and whose path is used
 * @train: the train
 *
 * Resolves the payload's keys, copies, adds ICRCs and sends.
 *
 * Return: 0: the packets were sent, or lost on this host (a full qdisc, no route yet).
 * With an error no packet was sent: -EFAULT: a key or range was refused; -EAGAIN:
 * memory is not present; -EINVAL: the address handle does not exist or belongs to
 * another process.
 */
int cairn_env_emit(struct cairn_qpc *qpc, enum cairn_side_id side,
		   const struct cairn_train *train);

/**
 * cairn_env_emit_messages() - send single-packet messages as one train
 * @qpc: the QP, whose requester runs
 * @train: what the messages have in common: count, seg, length, retransmit, ah, and the
 *	opcode and PSN of first
 * @part: describes each message
 *
 * Return: the train's count. A smaller number is that of the first message that @part
 * refused, or whose memory was refused or is not present: no packet was sent then.
 */
u32 cairn_env_emit_messages(struct cairn_qpc *qpc,
			    const struct cairn_train *train,
			    cairn_part_fn part);

/**
 * cairn_env_plug() - collect the packets that this CPU sends
 *
 * Callers of the engine put it around work for several QPs that is already queued:
 * packets for one peer are then sent as one train, in cairn_env_unplug() at the
 * latest. A side with collected packets stays with this CPU until then
 * (lane/drain.h), so that its packets keep their order. Calls nest.
 *
 * Context: the CPU is the caller's until cairn_env_unplug().
 */
void cairn_env_plug(void);
void cairn_env_unplug(void);

/* A number that changes when a train waits for cairn_env_unplug(). */
u32 cairn_env_waiting(void);

/* Copy @len payload bytes of @pkt to @to. Return: 0; -EFAULT: not all bytes were copied;
 * -EAGAIN: none was copied.
 */
int cairn_env_place(struct cairn_qpc *qpc, const struct cairn_span *to,
		    const struct cairn_pkt *pkt, u32 len);

/**
 * cairn_env_place_words() - copy payload to persistent memory, in whole words
 * @qpc: the QP
 * @to: REMOTE_PERSIST or REMOTE_WRITE, one entry: it begins with the bytes that
 *	@words holds, the payload follows
 * @pkt: the packet, with payload; the message ends with it if its opcode has
 *	CAIRN_OP_LAST
 * @words: of the message
 *
 * Return: 0; -EFAULT: not all bytes were copied; -EAGAIN: none was copied.
 */
int cairn_env_place_words(struct cairn_qpc *qpc, const struct cairn_span *to,
			  const struct cairn_pkt *pkt,
			  struct cairn_words *words);

/* Store @num aligned words by non-temporal stores, each by one instruction. x86-64 alone. */
void cairn_env_stream_words(void *to, const void *from, u32 num);

/* Copy @len bytes of @buf to @to (atomic results, GRH). Return: 0, -EFAULT or -EAGAIN. */
int cairn_env_place_bytes(struct cairn_qpc *qpc, const struct cairn_span *to,
			  const void *buf, u32 len);

/**
 * cairn_env_late() - may an answer have come, and not have been received yet?
 * @qpc: the requester
 * @since: CLOCK_MONOTONIC, ns
 * @now: the same
 *
 * A CPU of this machine may have been taken away from it. To find out takes some time: the
 * first call for a new @since returns true.
 *
 * Return: false: the machine has received what had come at @since.
 */
bool cairn_env_late(struct cairn_qpc *qpc, u64 since, u64 now);

/* Is memory that was not present for @side still being faulted in? */
bool cairn_env_faulting(struct cairn_qpc *qpc, enum cairn_side_id side);

/* May @len bytes at @va be accessed through @key now? Return: 0 or -EFAULT. */
int cairn_env_check(struct cairn_qpc *qpc, u32 key, u64 va, u64 len,
		    enum cairn_access access);

/* The same for CAIRN_ACCESS_REMOTE_WRITE. @durability: enum cairn_durability of written
 * data; 0: it does not become durable.
 */
int cairn_env_check_write(struct cairn_qpc *qpc, u32 key, u64 va, u64 len,
			  u8 *durability);

/* The same for CAIRN_ACCESS_REMOTE_ATOMIC and the word at @va. */
int cairn_env_check_atomic(struct cairn_qpc *qpc, u32 key, u64 va,
			   u8 *durability);

/* All data that this CPU placed with CAIRN_ACCESS_REMOTE_PERSIST is durable on return. */
void cairn_env_fence(struct cairn_qpc *qpc);

/**
 * cairn_env_fence_later() - fence when packets leave
 * @qpc: the responder
 *
 * Between cairn_env_plug() and cairn_env_unplug() one fence serves all QPs whose answers
 * leave together. It precedes the next packet that leaves this CPU, the unlocking of a
 * side that other CPUs may run (cairn_env_settle()), and the end of cairn_env_unplug().
 *
 * Context: as cairn_env_plug().
 * Return: false if packets do not wait: the caller fences.
 */
bool cairn_env_fence_later(struct cairn_qpc *qpc);

/* Has a fence of this CPU been put off? @qpc: the responder that asks. */
bool cairn_env_fence_waits(struct cairn_qpc *qpc);

/* Fence now if this CPU has put it off. */
void cairn_env_settle(void);

/* Allocate @n records of send WQEs, a power of two, not initialised. The requester moves
 * its records there and gives the old ones back with cairn_env_drop_records().
 * Return: NULL without memory.
 */
struct cairn_swr *cairn_env_more_records(struct cairn_qpc *qpc, u32 n);
void cairn_env_drop_records(struct cairn_qpc *qpc, struct cairn_swr *swr);

/* Allocate resp.replay.mask + 1 zeroed entries for requests with responses. Called
 * while resp.replay.res is NULL. Return: NULL without memory.
 */
struct cairn_rdres *cairn_env_rd_alloc(struct cairn_qpc *qpc);

/* Allocate CAIRN_MAX_PENDING zeroed pending messages. Called when a QP first needs them.
 * Return: NULL without memory.
 */
struct cairn_pending *cairn_env_pending_alloc(struct cairn_qpc *qpc);

/* Time limit of the host to make a message durable that was written through @key, ns;
 * 0: no limit.
 */
u64 cairn_env_flush_limit(struct cairn_qpc *qpc, u32 key);

/* Find out which of enum cairn_need the peer's device knows. If it does not know all of
 * them, cairn_comp_peer_unable() follows. Once for a connection and need, of the
 * requester.
 */
void cairn_env_ask_peer(struct cairn_qpc *qpc);

/* An unpredictable random number. */
u32 cairn_env_random(struct cairn_qpc *qpc);

/* Perform the 64-bit atomic request @pkt; @orig gets the old value in host order.
 * @pkt->va is aligned. @writeback: write the word back. Return: 0, -EFAULT or -EAGAIN.
 */
int cairn_env_atomic(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		     u64 *orig, bool writeback);

/* Store the 8 bytes of payload of the ATOMIC WRITE @pkt atomically. @access:
 * REMOTE_WRITE or REMOTE_PERSIST. @pkt->va is aligned. Return: 0, -EFAULT or -EAGAIN.
 */
int cairn_env_store(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		    enum cairn_access access);

/* Get the bounds of the region @key, whatever its rights. Return: 0; -EFAULT: no region. */
int cairn_env_region(struct cairn_qpc *qpc, u32 key, u64 *va, u64 *len);

/* Write @len bytes at @va, up to 64 KiB, back to the persistence domain;
 * cairn_env_fence() completes that. Return: 0; -EFAULT: @key does not allow
 * FLUSH_PERSISTENT.
 */
int cairn_env_writeback(struct cairn_qpc *qpc, u32 key, u64 va, u32 len);

/* Invalidate @rkey for SEND with invalidate. Return: 0; -EINPROGRESS: earlier accesses
 * may not be over (cairn_env_invalidated()); -EFAULT: a peer may not invalidate the
 * key.
 */
int cairn_env_invalidate(struct cairn_qpc *qpc, u32 rkey);

/* Perform a local operation (LOCAL_INV, BIND_MW, REG_MR, PERSIST_DONE). Called once for
 * each WQE, in posting order; LOCAL_INV when all earlier WQEs have completed. @wqe: the
 * copy, all of its units. Return: 0; -EINPROGRESS as above; -EINVAL: the key or the queue
 * does not allow it; -ENOENT: a token was refused.
 */
int cairn_env_local(struct cairn_qpc *qpc, const struct cairn_send_wqe *wqe);

/* Is the last invalidation of @side over? The side gets a turn when it is. */
bool cairn_env_invalidated(struct cairn_qpc *qpc, enum cairn_side_id side);

/* Write the 40 bytes that a UD receive has before the payload: the IPv6 header, or 20
 * undefined bytes and the IPv4 header.
 */
void cairn_env_grh(const struct cairn_pkt *pkt, u8 *grh);

/* Flags of a UD receive's completion, enum cairn_cqe_flags. @vlan: the VLAN id, if
 * CAIRN_CQE_VLAN is returned.
 */
u16 cairn_env_grh_flags(const struct cairn_pkt *pkt, u16 *vlan);

/**
 * cairn_env_hold() - keep a received request packet that is ahead of a gap
 * @qpc: the QP
 * @pkt: the packet
 *
 * Memory for kept packets is bounded.
 *
 * Return: 0: it is kept, or a packet with its PSN and content is kept already;
 * -EEXIST: a packet with its PSN and another content is kept (AckReq and ICRC do not
 * count); -ENOMEM: it is not kept.
 */
int cairn_env_hold(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);

/**
 * cairn_env_held() - get the kept packet with a PSN
 * @qpc: the QP
 * @psn: the PSN; earlier packets are dropped, so it never decreases
 * @pkt: filled in; valid until the next call of any of the three functions
 *
 * Return: 1: found; 0: only later packets are kept; -ENOENT: no packet is kept.
 */
int cairn_env_held(struct cairn_qpc *qpc, u32 psn, struct cairn_pkt *pkt);

/* Drop all kept packets. */
void cairn_env_drop_held(struct cairn_qpc *qpc);

/**
 * cairn_env_sq_tail() - read the send write pointer
 * @qpc: the QP; req.sq_done is the read pointer, units before req.sq_next are known
 * @tail: ring unit; sq_next itself means that no more units were posted by now
 *
 * Return: 0; -EINVAL: the host's pointer is out of range (queue/qicache.h).
 */
int cairn_env_sq_tail(struct cairn_qpc *qpc, u32 *tail);

/* Copy @units units of the send ring from unit @idx into @buf. */
void cairn_env_sq_copy(struct cairn_qpc *qpc, u32 idx, u32 units, void *buf);

/* The next three are called without a lock: the QP exists, but may be changing. */

/* Prefetch what functions of this file read in a run of @side. */
void cairn_env_prefetch(struct cairn_qpc *qpc, enum cairn_side_id side);

/* Prefetch the host's pointer, and the unit at @idx, which will be copied soon. After
 * cairn_env_prefetch().
 */
void cairn_env_sq_prefetch(struct cairn_qpc *qpc, u32 idx);

/* Prefetch what cairn_env_sq_release() writes. After cairn_env_prefetch(). */
void cairn_env_sq_prefetch_release(struct cairn_qpc *qpc);

/* Publish that units before @idx are free again. */
void cairn_env_sq_release(struct cairn_qpc *qpc, u32 idx);

/**
 * cairn_env_rq_take() - consume the next posted receive (of the RQ or the SRQ)
 * @qpc: the QP
 * @buf: room for CAIRN_MAX_WQE_UNITS units
 *
 * Both sides call it: the requester takes a receive for a CAIRN_CQE_RECV_DURABLE.
 *
 * Return: the number of units copied; 0: none is posted; -EINVAL: the ring's write
 * pointer is out of range.
 */
int cairn_env_rq_take(struct cairn_qpc *qpc, void *buf);

/* A message found no receive: it is refused, or dropped. The host can see how often. */
void cairn_env_rq_starved(struct cairn_qpc *qpc);

/* XRC: select the SRQ with the number @srqn until the next call or the end of the run.
 * Receives are taken from it, their completions go to its CQ, and keys are looked up in
 * its protection domain. Return: 0; -ENOENT: no such SRQ in this XRC domain.
 */
int cairn_env_take_srq(struct cairn_qpc *qpc, u32 srqn);

/* Posted receives, for credits; negative: an SRQ, credits do not apply. */
int cairn_env_rq_posted(struct cairn_qpc *qpc);

/* For tracing: @swr, the newest record, has started. Called for every record. */
void cairn_env_started(struct cairn_qpc *qpc, const struct cairn_swr *swr);

/**
 * cairn_env_complete() - post a completion
 * @qpc: the QP
 * @side: to the send CQ (CAIRN_REQ) or the receive CQ (CAIRN_RESP); the requester
 *	posts CAIRN_CQE_RECV_DURABLE to the receive CQ
 * @cqe: the completion
 *
 * Return: true; false if the CQ is full: @cqe is not posted, and the QP gets a turn
 * when the CQ has room. In another state than ERR and SQE the CQ reports an error.
 */
bool cairn_env_complete(struct cairn_qpc *qpc, enum cairn_side_id side,
			const struct cairn_cqe *cqe);

/* Kinds of work that a completion counter counts; their values are those of enum
 * ib_uverbs_qp_attach_comp_cntr_op. REMOTE: RDMA of the peer.
 */
enum cairn_tally {
	CAIRN_TALLY_SEND = 1 << 0,
	CAIRN_TALLY_RECV = 1 << 1,
	CAIRN_TALLY_READ = 1 << 2,
	CAIRN_TALLY_REMOTE_READ = 1 << 3,
	CAIRN_TALLY_WRITE = 1 << 4,
	CAIRN_TALLY_REMOTE_WRITE = 1 << 5,
	CAIRN_TALLIES = (1 << 6) - 1
};

/* Count one finished piece of work in the counter that is attached for @kind, as an error
 * if it @failed. Both sides call it. Other QPs may use the same counter. A process that
 * reads the count sees the data that was placed before.
 */
void cairn_env_tally(struct cairn_qpc *qpc, enum cairn_tally kind, bool failed);

/* The QP entered ERR: a later post to the RQ must ring a doorbell to be flushed. */
void cairn_env_rq_ring_on_post(struct cairn_qpc *qpc);

void cairn_env_async(struct cairn_qpc *qpc, enum cairn_async event);

/* Schedule another run of @side, in another context. */
void cairn_env_kick(struct cairn_qpc *qpc, enum cairn_side_id side);

void cairn_env_count(struct cairn_qpc *qpc, enum cairn_counter c, u32 n);

/* Assert that the caller holds the lock of @side: by lockdep in the module, by the
 * simulation in host programs.
 */
#if !defined(__KERNEL__) || defined(CONFIG_LOCKDEP)
void cairn_env_assert_held(struct cairn_qpc *qpc, enum cairn_side_id side);
#else
#define cairn_env_assert_held(qpc, side)	do { } while (0)
#endif

#endif
