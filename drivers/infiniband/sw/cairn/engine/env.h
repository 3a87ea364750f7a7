/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The engine's only window to the outside. The module implements it on
 * sk_buffs, mapped rings and registered memory; the host tests implement it on
 * a recording network.
 *
 * Context of every call: the caller of the engine function holds the lock of
 * the side that runs (requester or responder, engine/qp.h); nothing here may
 * sleep. Memory named by a key may be looked up and touched during the call
 * only: a key is never resolved ahead and kept.
 */
#ifndef CAIRN_ENGINE_ENV_H
#define CAIRN_ENGINE_ENV_H

#include <rdma/cairn-abi.h>
#include "wire/packet.h"
#include "engine/counters.h"
#include "engine/words.h"

struct cairn_qpc;

/* What a key must allow; env.c maps the values. */
enum cairn_access {
	CAIRN_ACCESS_LOCAL_READ,
	CAIRN_ACCESS_LOCAL_WRITE,
	CAIRN_ACCESS_REMOTE_READ,
	CAIRN_ACCESS_REMOTE_WRITE,
	CAIRN_ACCESS_REMOTE_ATOMIC,
	/* REMOTE_WRITE to a region with NIC flush; what is placed is written
	 * back to the persistence domain, which cairn_env_fence() completes.
	 */
	CAIRN_ACCESS_REMOTE_PERSIST,
	CAIRN_ACCESS_FLUSH_GLOBAL,
	CAIRN_ACCESS_FLUSH_PERSISTENT,
};

/* How what peers write into a region becomes durable. */
enum cairn_persist {
	CAIRN_PERSIST_NONE,
	CAIRN_PERSIST_NIC,	/* written back when placed */
	CAIRN_PERSIST_HOST,	/* by the application, which is asked by a CQE */
};

/* Host flush: messages of one QP that wait for their release. */
#define CAIRN_MAX_PENDING	64

struct cairn_pending;
struct cairn_rdres;
struct cairn_swr;

/* A place in registered memory: a gather/scatter list and where to start. */
struct cairn_span {
	const struct cairn_sge *sge;	/* kernel copy, checked by the engine */
	u32 num_sge;
	u32 offset;			/* bytes to skip */
	u32 more;			/* behind them the message has so many */
	u8 access;			/* enum cairn_access */
	u8 side;			/* enum cairn_side_id that asks */
};

/*
 * Memory of a region on demand may be absent. Then a function that touches it does
 * nothing but have it brought, and returns -EAGAIN; the side gets a turn when that
 * is over (cairn_env_brings()). If it could not be brought the next attempt
 * returns -EFAULT.
 */

/*
 * Train: 1..CAIRN_TRAIN_MAX consecutive packets of one QP and one direction
 * with equal header length and equal payload size; the last may be shorter.
 * Packet k has PSN first.psn + k. Opcodes: first.opcode, then mid_opcode, then
 * last_opcode (a train of one has first.opcode only). AckReq and SE of first
 * belong to the last packet of the train. Messages of one packet each travel as
 * a train as well, if they agree in opcode and size
 * (cairn_env_emit_messages()).
 */
#define CAIRN_TRAIN_MAX		64

struct cairn_train {
	struct cairn_pkt first;		/* headers of packet 0 */
	u8 count;			/* packets */
	u8 mid_opcode;
	u8 last_opcode;
	bool retransmit;
	bool ect;		/* ECN-capable: congestion may be marked */
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
 * @k: which packet, 0..train->count - 1, each once and in order
 * @one: filled in as a train of that packet alone; what it points to is good
 *	until the next call
 *
 * Returns 0, or -EINVAL when the message cannot be sent.
 */
typedef int (*cairn_part_fn)(struct cairn_qpc *qpc,
			     const struct cairn_train *train, u32 k,
			     struct cairn_train *one);

/* Which side of the QP: index of locks, paths and run queues. */
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

/* Bytes around the payload of the longest data packet, WRITE ONLY with
 * immediate: what counts for a rate (engine/rate.h).
 */
#define CAIRN_MAX_OVERHEAD                                                     \
	(CAIRN_HDR_LEN(CAIRN_HDR_BTH | CAIRN_HDR_RETH | CAIRN_HDR_IMMDT) +     \
	 CAIRN_ICRC_LEN)

/* The rate, kbit/s, that address handle @ah of a datagram asks for, 0: none,
 * also when there is no such handle.
 */
u32 cairn_env_ah_rate(struct cairn_qpc *qpc, u32 ah);

/**
 * cairn_env_emit() - send a train
 * @qpc: the QP
 * @side: which of its sides sends, hence which path
 * @train: the train
 *
 * Resolves the payload's keys, copies, adds ICRCs and sends. Returns 0 when
 * the packets left or were lost on the way (a full qdisc, no route yet: loss),
 * -EFAULT when a key or range was refused (nothing was sent), -EAGAIN when memory
 * is absent (the same), -EINVAL when the address handle does not exist or belongs
 * to somebody else.
 */
int cairn_env_emit(struct cairn_qpc *qpc, enum cairn_side_id side,
		   const struct cairn_train *train);

/**
 * cairn_env_emit_messages() - send single-packet messages as one train
 * @qpc: the QP, whose requester runs; not UD
 * @train: count, seg, length, retransmit and first (opcode, psn) say what they have
 *	in common: opcode and size
 * @part: says the rest of each
 *
 * Returns the number of packets that @part or their memory did not refuse, absent
 * memory included: when that is not train->count, nothing was sent.
 */
u32 cairn_env_emit_messages(struct cairn_qpc *qpc,
			    const struct cairn_train *train,
			    cairn_part_fn part);

/**
 * cairn_env_plug() - what this CPU sends from here on may leave together
 *
 * For those who run the engine, around work for several QPs that is there
 * already: packets for one peer leave as one train, at cairn_env_unplug() at the
 * latest. A side whose packets wait stays with this CPU until then
 * (lane/drain.h), so they keep their order. Calls nest.
 *
 * Context: the CPU is the caller's until cairn_env_unplug().
 */
void cairn_env_plug(void);
void cairn_env_unplug(void);

/* A number that changes when a train has to wait for cairn_env_unplug(). */
u32 cairn_env_waiting(void);

/* Copy @len payload bytes of @pkt to @to. Returns 0, -EFAULT (nothing or a
 * part was copied) or -EAGAIN (nothing was).
 */
int cairn_env_place(struct cairn_qpc *qpc, const struct cairn_span *to,
		    const struct cairn_pkt *pkt, u32 len);

/**
 * cairn_env_place_words() - copy payload to persistent memory, in whole words
 * @qpc: the QP
 * @to: REMOTE_PERSIST or REMOTE_WRITE, one entry: begins with the bytes that
 *	@words holds, the payload follows
 * @pkt: the packet
 * @len: bytes of payload, not 0
 * @words: of the message
 * @last: the message ends with this packet
 *
 * Returns 0 or -EFAULT (nothing or a part was copied).
 */
int cairn_env_place_words(struct cairn_qpc *qpc, const struct cairn_span *to,
			  const struct cairn_pkt *pkt, u32 len,
			  struct cairn_words *words, bool last);

/* Copy @len bytes of @buf to @to (atomic results, GRH). 0, -EFAULT or -EAGAIN. */
int cairn_env_place_bytes(struct cairn_qpc *qpc, const struct cairn_span *to,
			  const void *buf, u32 len);

/* Is memory that was absent for @side still being brought? */
bool cairn_env_brings(struct cairn_qpc *qpc, enum cairn_side_id side);

/* May @len bytes at @va be accessed through @key now? 0 or -EFAULT. */
int cairn_env_check(struct cairn_qpc *qpc, u32 key, u64 va, u64 len,
		    enum cairn_access access);

/* The same for CAIRN_ACCESS_REMOTE_WRITE. @durability: enum cairn_durability of what is
 * written there, 0: it does not become durable.
 */
int cairn_env_check_write(struct cairn_qpc *qpc, u32 key, u64 va, u64 len,
			  u8 *durability);

/* All that was placed with CAIRN_ACCESS_REMOTE_PERSIST is durable on return. */
void cairn_env_fence(struct cairn_qpc *qpc);

/* Room for @n records of send WQEs, a power of two, any content, the owner's; NULL:
 * no memory now. The requester moves there and gives the old ones back by
 * cairn_env_drop_records().
 */
struct cairn_swr *cairn_env_more_records(struct cairn_qpc *qpc, u32 n);
void cairn_env_drop_records(struct cairn_qpc *qpc, struct cairn_swr *swr);

/* Room for resp.rd_mask + 1 requests that have responses, zeroed, the owner's; NULL:
 * no memory now. Called while there is none.
 */
struct cairn_rdres *cairn_env_rd_alloc(struct cairn_qpc *qpc);

/* Room for CAIRN_MAX_PENDING messages, zeroed, the owner's; NULL: no memory now.
 * Called once in the life of a QP, when it first needs it.
 */
struct cairn_pending *cairn_env_pending_alloc(struct cairn_qpc *qpc);

/* How long the host may take to make a message durable that was written through
 * @key: ns, 0: as long as it likes.
 */
u64 cairn_env_flush_limit(struct cairn_qpc *qpc, u32 key);

/* Find out whether the peer's device knows WRITE_PERSIST. If it does not,
 * cairn_comp_peer_unable() follows. Once for a connection, of the requester.
 */
void cairn_env_ask_peer(struct cairn_qpc *qpc);

/* A number that nobody guesses. */
u32 cairn_env_random(struct cairn_qpc *qpc);

/* Perform the 64-bit atomic request @pkt; @orig gets the old value in host
 * order. @pkt->va is aligned. 0, -EFAULT or -EAGAIN.
 */
int cairn_env_atomic(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		     u64 *orig);

/* Store the 8 bytes of payload of the ATOMIC WRITE @pkt at once. @access:
 * REMOTE_WRITE or REMOTE_PERSIST. @pkt->va is aligned. 0, -EFAULT or -EAGAIN.
 */
int cairn_env_store(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		    enum cairn_access access);

/* The bounds of the region @key, whatever it allows. 0, or -EFAULT: it has none. */
int cairn_env_region(struct cairn_qpc *qpc, u32 key, u64 *va, u64 *len);

/* Write @len bytes at @va, up to 64 KiB, back to the persistence domain, which
 * cairn_env_fence() completes. -EFAULT unless @key allows FLUSH_PERSISTENT.
 */
int cairn_env_writeback(struct cairn_qpc *qpc, u32 key, u64 va, u32 len);

/* Invalidate @rkey for SEND with invalidate. 0; -EINPROGRESS when accesses that
 * began before may not be over (cairn_env_invalidated()); or -EFAULT when the
 * key is not one that a peer may invalidate.
 */
int cairn_env_invalidate(struct cairn_qpc *qpc, u32 rkey);

/* Perform a local operation (LOCAL_INV, BIND_MW, REG_MR). 0; -EINPROGRESS as
 * above; or -EINVAL when the key or the queue does not allow it. Called once for
 * each WQE, in posting order; LOCAL_INV when all earlier WQEs have completed.
 */
int cairn_env_local(struct cairn_qpc *qpc, const struct cairn_send_wqe *wqe);

/* Is the last invalidation of @side that was in progress over? The side gets a
 * turn when it is.
 */
bool cairn_env_invalidated(struct cairn_qpc *qpc, enum cairn_side_id side);

/* Write the 40 bytes that UD receives show before the payload: the IPv6 header,
 * or 20 bytes undefined and the IPv4 header.
 */
void cairn_env_grh(const struct cairn_pkt *pkt, u8 *grh);

/* What the completion of a UD receive says of the way: enum cairn_cqe_flags.
 * @vlan: the VLAN id, with CAIRN_CQE_VLAN.
 */
u16 cairn_env_grh_flags(const struct cairn_pkt *pkt, u16 *vlan);

/**
 * cairn_env_hold() - keep a received request packet that is ahead of a gap
 * @qpc: the QP
 * @pkt: the packet
 *
 * Memory for this is bounded. Return: 0, also when one with its PSN and its
 * content is kept already; -EEXIST when one with another content is, whatever
 * differs but the AckReq and the ICRC; -ENOMEM when it is not kept.
 */
int cairn_env_hold(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);

/**
 * cairn_env_held() - the kept packet with a PSN
 * @qpc: the QP
 * @psn: forget packets before this one, from call to call it does not go back
 * @pkt: filled in; good until the next call of any of the three
 *
 * Returns 1 when there is one, 0 when there are later ones only, -ENOENT when
 * nothing is kept any more.
 */
int cairn_env_held(struct cairn_qpc *qpc, u32 psn, struct cairn_pkt *pkt);

/* Forget all that is kept. */
void cairn_env_drop_held(struct cairn_qpc *qpc);

/**
 * cairn_env_sq_tail() - the send write pointer
 * @qpc: the QP; req.sq_done is the read pointer, up to req.sq_next is known
 * @tail: ring unit; sq_next itself only when nothing else is posted as of now, or
 *	as of the last event
 *
 * Return: 0, or -EINVAL: the host's pointer cannot be (queue/qicache.h).
 */
int cairn_env_sq_tail(struct cairn_qpc *qpc, u32 *tail);

/* Copy @units units of the send ring from unit @idx into @buf. */
void cairn_env_sq_copy(struct cairn_qpc *qpc, u32 idx, u32 units, void *buf);

/* The unit at @idx will be copied soon: have it fetched. The one call that needs
 * no lock; the QP exists, but the ring may be changing.
 */
void cairn_env_sq_prefetch(struct cairn_qpc *qpc, u32 idx);

/* Publish: units before @idx are free again. */
void cairn_env_sq_release(struct cairn_qpc *qpc, u32 idx);

/**
 * cairn_env_rq_take() - consume the next posted receive (of the RQ or the SRQ)
 * @qpc: the QP
 * @buf: room for CAIRN_MAX_WQE_UNITS units
 *
 * Of either side: the requester takes one for a CAIRN_CQE_RECV_DURABLE.
 * Returns the number of units copied, 0 when none is posted, -EINVAL when the
 * ring's write pointer is impossible.
 */
int cairn_env_rq_take(struct cairn_qpc *qpc, void *buf);

/* XRC: until the next call, or the end of the run, receives are those of the SRQ with
 * the number @srqn, their completions go to its queue, and keys are of its protection
 * domain. 0, or -ENOENT: there is none, or it is of another XRC domain.
 */
int cairn_env_take_srq(struct cairn_qpc *qpc, u32 srqn);

/* Posted receives, for credits; negative: shared, credits do not apply. */
int cairn_env_rq_posted(struct cairn_qpc *qpc);

/* For tracing: @swr, the newest record, has begun. Every one that begins. */
void cairn_env_started(struct cairn_qpc *qpc, const struct cairn_swr *swr);

/**
 * cairn_env_complete() - post a completion
 * @qpc: the QP
 * @side: to the send (CAIRN_REQ) or receive CQ; the requester posts
 *	CAIRN_CQE_RECV_DURABLE to the latter
 * @cqe: the completion
 *
 * Return: false when the CQ is full. Nothing is posted then, and the QP gets a turn
 * when the CQ has room. In another state than ERR and SQE the CQ reports an error.
 */
bool cairn_env_complete(struct cairn_qpc *qpc, enum cairn_side_id side,
			const struct cairn_cqe *cqe);

/* The QP entered ERR: further posts of the RQ must ring (to be flushed). */
void cairn_env_rq_ring_on_post(struct cairn_qpc *qpc);

void cairn_env_async(struct cairn_qpc *qpc, enum cairn_async event);

/* Have @side run again soon, in a context of its own. */
void cairn_env_kick(struct cairn_qpc *qpc, enum cairn_side_id side);

void cairn_env_count(struct cairn_qpc *qpc, enum cairn_counter c, u32 n);

/* The caller holds the lock of @side. In the module only lockdep tells, in host programs
 * the simulation does.
 */
#if !defined(__KERNEL__) || defined(CONFIG_LOCKDEP)
void cairn_env_assert_held(struct cairn_qpc *qpc, enum cairn_side_id side);
#else
#define cairn_env_assert_held(qpc, side)	do { } while (0)
#endif

#endif
