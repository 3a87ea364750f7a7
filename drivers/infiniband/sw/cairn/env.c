// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Implements engine/env.h in the kernel, with verbs/ (rings, completions), mem/
 * (memory), net/ (packets) and lane/ (turns).
 */
#include <linux/lockdep.h>
#include <linux/prefetch.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "device/trace.h"
#include "engine/env.h"
#include "engine/words.h"
#include "lane/exec.h"
#include "lane/late.h"
#include "lane/room.h"
#include "mem/access.h"
#include "mem/inval.h"
#include "mem/mr.h"
#include "mem/mw.h"
#include "mem/odp_wait.h"
#include "net/net.h"
#include "persist/flush.h"
#include "queue/host_index.h"
#include "queue/queue.h"
#include "verbs/ah.h"
#include "verbs/comp_cntr.h"
#include "verbs/cq.h"
#include "verbs/host_flush.h"
#include "verbs/peer.h"
#include "verbs/qp.h"
#include "verbs/rq.h"
#include "verbs/xrc.h"

/* Fragments of a train of 64 KiB from 32 SGEs, each with two partial pages. The arrays
 * are not cleared (CONFIG_INIT_STACK_ALL_ZERO), as only filled entries are read and an
 * ACK uses none.
 */
#define ENV_MAX_FRAGMENTS	(16 + 2 * CAIRN_MAX_SGE + 2)

#ifdef CONFIG_LOCKDEP
void cairn_env_assert_held(struct cairn_qpc *qpc, enum cairn_side_id side)
{
	lockdep_assert_held(&qpc_to_cairn_qp(qpc)->exec.side[side].lock);
}
#endif

u32 cairn_env_ah_rate(struct cairn_qpc *qpc, u32 ah)
{
	const struct cairn_ah *handle = cairn_ah_find(qpc_to_cairn_qp(qpc), ah);

	return handle ? READ_ONCE(handle->path.kbps) : 0;
}

/* @bv: room for ENV_MAX_FRAGMENTS. Return: number of fragments; -EAGAIN (memory is not
 * present) or -EFAULT.
 */
static int env_map(struct cairn_qp *qp, const struct cairn_span *span, u32 len,
		   struct bio_vec *bv)
{
	int n = cairn_access_map(qp, span, len, bv, ENV_MAX_FRAGMENTS);

	return n < 0 && n != -EAGAIN ? -EFAULT : n;
}

u32 cairn_env_room(struct cairn_qpc *qpc)
{
	struct cairn_room_wait *wait = &qpc_to_cairn_qp(qpc)->cold->room_wait;
	bool waited = !list_empty_careful(&wait->entry);
	u32 bytes = wait->room ? cairn_room_ask(wait) : U32_MAX;

	if (!bytes && !waited)
		cairn_env_count(qpc, CAIRN_CTR_ROOM_WAITS, 1);
	return bytes;
}

void cairn_env_room_end(struct cairn_qpc *qpc)
{
	struct cairn_room_wait *wait = &qpc_to_cairn_qp(qpc)->cold->room_wait;

	if (wait->room)
		cairn_room_end(wait);
}

/* The lock protects the AH's route cache, which all QPs that use the AH share. */
static int env_xmit_ud(struct cairn_qp *qp, struct cairn_packets *packets)
{
	struct cairn_ah *ah = cairn_ah_find(qp, packets->train->ah);
	u32 n;

	if (!ah)
		return -EINVAL;
	packets->room = qp->cold->room_wait.room;
	spin_lock(&ah->lock);
	n = cairn_net_xmit(qp->exec.nic, &ah->path, packets);
	spin_unlock(&ah->lock);
	return n;
}

/* Return: as cairn_net_xmit(), or -EINVAL without the address handle of a datagram. */
static int env_xmit(struct cairn_qp *qp, enum cairn_side_id side,
		    struct cairn_packets *packets)
{
	if (qp->qpc.transport == CAIRN_TRANSPORT_UD)
		return env_xmit_ud(qp, packets);
	if (side == CAIRN_REQ && !cairn_qp_reliable(&qp->qpc))
		packets->room = qp->cold->room_wait.room;
	return cairn_net_xmit(qp->exec.nic, &qp->path[side], packets);
}

int cairn_env_emit(struct cairn_qpc *qpc, enum cairn_side_id side,
		   const struct cairn_train *train)
{
	struct cairn_qp *qp = qpc_to_cairn_qp(qpc);
	struct bio_vec bv[ENV_MAX_FRAGMENTS] __uninitialized;
	struct cairn_packets packets = { .train = train, .bv = bv };
	int n = 0;

	if (train->length && !train->inline_data)
		n = env_map(qp, &train->span, train->length, bv);
	if (n < 0)
		return n;
	/* Trace first, as a loopback train is received within the call. */
	trace_cairn_send(&qp->exec, side, train);
	n = env_xmit(qp, side, &packets);
	if (n < 0)
		return n;
	return n == train->count ? 0 : -EFAULT;
}

/* State of env_next_message() for one train of messages. */
struct env_messages {
	struct cairn_qpc *qpc;
	const struct cairn_train *train;
	cairn_part_fn part;
	struct cairn_train one;
	struct bio_vec bv[ENV_MAX_FRAGMENTS];
};

static int env_next_message(void *arg, u32 k, struct cairn_message_out *out)
{
	struct env_messages *messages = arg;
	struct cairn_qp *qp = qpc_to_cairn_qp(messages->qpc);
	struct cairn_train *one = &messages->one;

	if (messages->part(messages->qpc, messages->train, k, one))
		return -EINVAL;
	if (one->length && !one->inline_data &&
	    cairn_access_map(qp, &one->span, one->length, messages->bv,
			     ENV_MAX_FRAGMENTS) < 0)
		return -EFAULT;
	out->pkt = &one->first;
	out->bytes = one->inline_data;
	out->bv = messages->bv;
	return 0;
}

u32 cairn_env_emit_messages(struct cairn_qpc *qpc,
			    const struct cairn_train *train,
			    cairn_part_fn part)
{
	struct cairn_qp *qp = qpc_to_cairn_qp(qpc);
	struct env_messages messages __uninitialized;
	struct cairn_packets packets = {
		.train = train,
		.next = env_next_message,
		.arg = &messages,
	};

	trace_cairn_send(&qp->exec, CAIRN_REQ, train);
	messages.qpc = qpc;
	messages.train = train;
	messages.part = part;
	return max(env_xmit(qp, CAIRN_REQ, &packets), 0);
}

int cairn_env_place(struct cairn_qpc *qpc, const struct cairn_span *to,
		    const struct cairn_pkt *pkt, u32 len)
{
	struct cairn_qp *qp = qpc_to_cairn_qp(qpc);
	struct bio_vec bv[ENV_MAX_FRAGMENTS] __uninitialized;
	u32 off = 0;
	int i, n;

	n = env_map(qp, to, len, bv);
	if (n < 0)
		return n;
	for (i = 0; i < n; i++) {
		if (cairn_net_copy_payload(pkt, off, bvec_virt(&bv[i]),
					   bv[i].bv_len))
			return -EFAULT;
		off += bv[i].bv_len;
	}
	return 0;
}

int cairn_env_place_words(struct cairn_qpc *qpc, const struct cairn_span *to,
			  const struct cairn_pkt *pkt,
			  struct cairn_words *words)
{
	struct cairn_qp *qp = qpc_to_cairn_qp(qpc);
	struct bio_vec bv[ENV_MAX_FRAGMENTS] __uninitialized;
	struct cairn_placement place = {
		.pkt = pkt,
		.words = words,
		.copy = cairn_net_copy_words,
		.more = to->more,
		.last = pkt->op->flags & CAIRN_OP_LAST,
		.writeback = to->access == CAIRN_ACCESS_REMOTE_PERSIST,
	};
	int n;

	n = env_map(qp, to, words->len + pkt->payload_len, bv);
	if (n < 0)
		return n;
	return cairn_flush_place(&place, bv, n);
}

void cairn_env_stream_words(void *to, const void *from, u32 num)
{
	memcpy_flushcache(to, from, (size_t)num * CAIRN_WORD);
}

void cairn_env_fence(struct cairn_qpc *qpc)
{
	this_cpu_write(cairn_plug_state.unfenced, NULL);
	cairn_flush_fence();
}

bool cairn_env_fence_later(struct cairn_qpc *qpc)
{
	return cairn_net_fence_later(qpc_to_cairn_qp(qpc)->exec.nic);
}

bool cairn_env_fence_waits(struct cairn_qpc *qpc)
{
	return this_cpu_read(cairn_plug_state.unfenced);
}

void cairn_env_settle(void)
{
	cairn_net_settle();
}

u64 cairn_env_flush_limit(struct cairn_qpc *qpc, u32 key)
{
	return cairn_access_flush_limit(qpc_to_cairn_qp(qpc), key);
}

void cairn_env_ask_peer(struct cairn_qpc *qpc)
{
	cairn_peer_doubt(qpc_to_cairn_qp(qpc));
}

struct cairn_swr *cairn_env_more_records(struct cairn_qpc *qpc, u32 n)
{
	return cairn_context_zalloc(qpc_to_cairn_qp(qpc)->uctx, n,
				    sizeof(struct cairn_swr));
}

void cairn_env_drop_records(struct cairn_qpc *qpc, struct cairn_swr *swr)
{
	kvfree(swr);
}

struct cairn_rdres *cairn_env_rd_alloc(struct cairn_qpc *qpc)
{
	return cairn_context_zalloc(qpc_to_cairn_qp(qpc)->uctx,
				    qpc->resp.replay.mask + 1,
				    sizeof(struct cairn_rdres));
}

struct cairn_pending *cairn_env_pending_alloc(struct cairn_qpc *qpc)
{
	return cairn_context_zalloc(qpc_to_cairn_qp(qpc)->uctx,
				    CAIRN_MAX_PENDING,
				    sizeof(struct cairn_pending));
}

u32 cairn_env_random(struct cairn_qpc *qpc)
{
	return get_random_u32();
}

int cairn_env_place_bytes(struct cairn_qpc *qpc, const struct cairn_span *to,
			  const void *buf, u32 len)
{
	struct cairn_qp *qp = qpc_to_cairn_qp(qpc);
	struct bio_vec bv[ENV_MAX_FRAGMENTS] __uninitialized;
	int i, n;

	n = env_map(qp, to, len, bv);
	if (n < 0)
		return n;
	for (i = 0; i < n; i++) {
		memcpy(bvec_virt(&bv[i]), buf, bv[i].bv_len);
		buf += bv[i].bv_len;
	}
	return 0;
}

bool cairn_env_faulting(struct cairn_qpc *qpc, enum cairn_side_id side)
{
	return cairn_odp_waits(qpc_to_cairn_qp(qpc), side);
}

int cairn_env_check(struct cairn_qpc *qpc, u32 key, u64 va, u64 len,
		    enum cairn_access access)
{
	return cairn_access_check(qpc_to_cairn_qp(qpc), key, va, len, access);
}

int cairn_env_check_write(struct cairn_qpc *qpc, u32 key, u64 va, u64 len,
			  u8 *durability)
{
	return cairn_access_check_write(qpc_to_cairn_qp(qpc), key, va, len,
					durability);
}

int cairn_env_check_atomic(struct cairn_qpc *qpc, u32 key, u64 va,
			   u8 *durability)
{
	return cairn_access_check_atomic(qpc_to_cairn_qp(qpc), key, va,
					 durability);
}

int cairn_env_atomic(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		     u64 *orig, bool writeback)
{
	return cairn_access_atomic(qpc_to_cairn_qp(qpc), pkt, orig, writeback);
}

int cairn_env_store(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		    enum cairn_access access)
{
	u64 word;

	if (cairn_net_copy_payload(pkt, 0, &word, sizeof(word)))
		return -EFAULT;
	return cairn_access_store(qpc_to_cairn_qp(qpc), pkt, access, word);
}

int cairn_env_region(struct cairn_qpc *qpc, u32 key, u64 *va, u64 *len)
{
	return cairn_access_bounds(qpc_to_cairn_qp(qpc), key, va, len);
}

int cairn_env_writeback(struct cairn_qpc *qpc, u32 key, u64 va, u32 len)
{
	const struct cairn_sge sge = { .addr = va, .length = len, .lkey = key };
	const struct cairn_span span = {
		.sge = &sge,
		.num_sge = 1,
		.access = CAIRN_ACCESS_FLUSH_PERSISTENT,
	};
	struct bio_vec bv[ENV_MAX_FRAGMENTS] __uninitialized;
	int i, n;

	n = cairn_access_map(qpc_to_cairn_qp(qpc), &span, len, bv,
			     ENV_MAX_FRAGMENTS);
	if (n < 0)
		return -EFAULT;
	for (i = 0; i < n; i++)
		cairn_flush_writeback(bvec_virt(&bv[i]), bv[i].bv_len);
	return 0;
}

int cairn_env_invalidate(struct cairn_qpc *qpc, u32 rkey)
{
	struct cairn_qp *qp = qpc_to_cairn_qp(qpc);

	return cairn_inval_begin(qp, CAIRN_RESP, rkey);
}

bool cairn_env_invalidated(struct cairn_qpc *qpc, enum cairn_side_id side)
{
	return cairn_inval_over(qpc_to_cairn_qp(qpc), side);
}

/* REG_MR carries a kernel pointer (verbs/post.c), so it is for kernel rings. */
int cairn_env_local(struct cairn_qpc *qpc, const struct cairn_send_wqe *wqe)
{
	struct cairn_qp *qp = qpc_to_cairn_qp(qpc);

	if (wqe->opcode == CAIRN_WQE_LOCAL_INV)
		return cairn_inval_begin(qp, CAIRN_REQ, wqe->imm_or_key);
	if (wqe->opcode == CAIRN_WQE_BIND_MW)
		return cairn_mw_bind(qp, wqe);
	if (wqe->opcode == CAIRN_WQE_PERSIST_DONE)
		return cairn_host_flush_posted(qp, wqe);
	if (qp->is_user)
		return -EINVAL;
	return cairn_mr_reg(cairn_qp_dev(qp), qp->pd,
			    (void *)(uintptr_t)wqe->remote_addr, wqe->rkey,
			    wqe->imm_or_key);
}

void cairn_env_grh(const struct cairn_pkt *pkt, u8 *grh)
{
	cairn_net_grh(pkt, grh);
}

u16 cairn_env_grh_flags(const struct cairn_pkt *pkt, u16 *vlan)
{
	return cairn_net_grh_flags(pkt, vlan);
}

int cairn_env_hold(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	return cairn_hold_add(&qpc_to_cairn_qp(qpc)->exec, pkt);
}

int cairn_env_held(struct cairn_qpc *qpc, u32 psn, struct cairn_pkt *pkt)
{
	return cairn_hold_take(&qpc_to_cairn_qp(qpc)->exec, psn, pkt);
}

void cairn_env_drop_held(struct cairn_qpc *qpc)
{
	cairn_hold_purge(&qpc_to_cairn_qp(qpc)->exec);
}

int cairn_env_sq_tail(struct cairn_qpc *qpc, u32 *tail)
{
	struct cairn_qp *qp = qpc_to_cairn_qp(qpc);
	int err;

	err = cairn_host_index_newest(&qp->sq, qp->exec.nic, qpc->req.sq_done,
				      qpc->req.sq_next, tail);
	if (!err)
		trace_cairn_posted(&qp->exec, *tail, *tail - qpc->req.sq_tail);
	return err;
}

void cairn_env_sq_copy(struct cairn_qpc *qpc, u32 idx, u32 units, void *buf)
{
	cairn_queue_copy(&qpc_to_cairn_qp(qpc)->sq, idx, units, buf);
}

void cairn_env_prefetch(struct cairn_qpc *qpc, enum cairn_side_id side)
{
	const struct cairn_qp *qp = qpc_to_cairn_qp(qpc);

	prefetch(&qp->stats);
	if (side == CAIRN_REQ)
		prefetchw(&qp->sq);
}

/* A prefetch does not fault at any address. */
void cairn_env_sq_prefetch(struct cairn_qpc *qpc, u32 idx)
{
	const struct cairn_queue *sq = &qpc_to_cairn_qp(qpc)->sq;

	prefetch(&READ_ONCE(sq->host)->index);
	prefetch((u8 *)READ_ONCE(sq->ring) +
		 (size_t)(idx & (READ_ONCE(sq->depth) - 1)) * CAIRN_UNIT_SIZE);
}

void cairn_env_sq_prefetch_release(struct cairn_qpc *qpc)
{
	prefetchw(&READ_ONCE(qpc_to_cairn_qp(qpc)->sq.dev)->index);
}

void cairn_env_sq_release(struct cairn_qpc *qpc, u32 idx)
{
	struct cairn_queue *sq = &qpc_to_cairn_qp(qpc)->sq;

	sq->index = idx;
	cairn_queue_publish(sq);
}

int cairn_env_rq_take(struct cairn_qpc *qpc, void *buf)
{
	return cairn_rq_take(qpc_to_cairn_qp(qpc)->receives, buf);
}

void cairn_env_rq_starved(struct cairn_qpc *qpc)
{
	cairn_rq_starved(qpc_to_cairn_qp(qpc)->receives);
}

int cairn_env_take_srq(struct cairn_qpc *qpc, u32 srqn)
{
	return cairn_xrc_take_srq(qpc_to_cairn_qp(qpc), srqn);
}

int cairn_env_rq_posted(struct cairn_qpc *qpc)
{
	if (qpc->has_srq)
		return -1;
	return cairn_rq_posted(&qpc_to_cairn_qp(qpc)->rq);
}

void cairn_env_rq_ring_on_post(struct cairn_qpc *qpc)
{
	struct cairn_queue *rq = &qpc_to_cairn_qp(qpc)->rq.queue;

	WRITE_ONCE(rq->dev->wakeup, 1);
	/* Set the flag before reading the write pointer again. Pairs with the
	 * poster's full barrier between its pointer and the flag.
	 */
	smp_mb();
}

bool cairn_env_late(struct cairn_qpc *qpc, u64 since, u64 now)
{
	const struct cairn_exec *exec = &qpc_to_cairn_qp(qpc)->exec;

	if (cairn_late(since, now))
		return true;
	smp_rmb();	/* A CPU that answered had queued what it received. */
	return !skb_queue_empty_lockless(&exec->side[CAIRN_REQ].rxq);
}

void cairn_env_plug(void)
{
	cairn_net_plug();
}

void cairn_env_unplug(void)
{
	cairn_net_unplug();
}

u32 cairn_env_waiting(void)
{
	return this_cpu_read(cairn_plug_state.added);
}

void cairn_env_started(struct cairn_qpc *qpc, const struct cairn_swr *swr)
{
	trace_cairn_request(&qpc_to_cairn_qp(qpc)->exec, swr);
}

bool cairn_env_complete(struct cairn_qpc *qpc, enum cairn_side_id side,
			const struct cairn_cqe *cqe)
{
	struct cairn_qp *qp = qpc_to_cairn_qp(qpc);
	u8 state = cairn_state(qpc);

	trace_cairn_completed(&qp->exec, side, cqe);
	return cairn_cq_post(side == CAIRN_REQ ? qp->send_cq : qp->recv_cq, cqe,
			     qp->exec.lane, &qp->cold->cq_wait[side],
			     state == CAIRN_QP_ERR || state == CAIRN_QP_SQE);
}

void cairn_env_tally(struct cairn_qpc *qpc, enum cairn_tally kind, bool failed)
{
	cairn_comp_cntr_count(qpc_to_cairn_qp(qpc), kind, failed);
}

void cairn_env_async(struct cairn_qpc *qpc, enum cairn_async event)
{
	cairn_qp_async(qpc_to_cairn_qp(qpc), event);
}

void cairn_env_kick(struct cairn_qpc *qpc, enum cairn_side_id side)
{
	cairn_exec_defer(&qpc_to_cairn_qp(qpc)->exec, side);
}

void cairn_env_count(struct cairn_qpc *qpc, enum cairn_counter counter, u32 n)
{
	struct cairn_qp *qp = qpc_to_cairn_qp(qpc);

	trace_cairn_counted(&qp->exec, counter, n);
	if (qp->stats)
		this_cpu_add(qp->stats->value[counter], n);
	else
		cairn_nic_count(qp->exec.nic, counter, n);
}
