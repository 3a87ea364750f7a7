// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The extended poll: completions are read where the device wrote them. */
#include <errno.h>
#include <time.h>

#include "cqe.h"
#include "cqex.h"
#include "doorbell.h"

#define NSEC_PER_SEC	1000000000LL

/* Attempts to read both clocks at once. */
#define CQEX_CLOCK_TRIES	8

/* CLOCK_REALTIME less CLOCK_MONOTONIC, of the process; 0: not known yet. */
static int64_t cqex_clocks_apart;

/* The entry stays ours until end_poll publishes the index. */
static void cqex_take(struct cairn_cq *cq)
{
	struct ibv_cq_ex *ibcq = &cq->vcq.cq_ex;
	struct cairn_ring *ring = &cq->queue.ring;

	cq->cur = cairn_ring_unit(ring, ring->index++);
	ibcq->wr_id = cq->cur->wr_id;
	ibcq->status = cairn_cq_watched(cq) ? cairn_cq_watch_one(cq, cq->cur) :
					      cairn_cqe_status(cq->cur);
}

/* Holds the lock on success. @yield_us: for cairn_cq_yield() otherwise; 0: no call */
static bool cqex_begin(struct cairn_cq *cq, uint32_t *yield_us)
{
	struct cairn_ring *ring = &cq->queue.ring;
	bool look = false;

	cairn_cq_lock(cq);
	if (cairn_cq_ready(cq)) {
		cqex_take(cq);
		cq->polling = true;
		cq->empty.polls = 0;
		return true;
	}
	if (cairn_cq_watched(cq))
		cairn_cq_watch_poll(cq, true);
	/* Publish the index behind skipped completions. */
	if (ring->index != cairn_ring_load(&ring->host->index))
		look = cairn_ring_polled(ring);
	*yield_us = cairn_cq_tires(cq);
	cairn_cq_unlock(cq);
	if (look)
		cairn_cq_look(cq);
	return false;
}

/* Holds the lock on success, until end_poll. */
static int cqex_start_poll(struct ibv_cq_ex *ibcq,
			   struct ibv_poll_cq_attr *attr)
{
	struct cairn_cq *cq = to_ccq_ex(ibcq);
	uint32_t yield_us;

	if (attr->comp_mask)
		return EINVAL;
	if (cqex_begin(cq, &yield_us))
		return 0;
	/* The posts may be done when the doorbell returns. */
	if (cairn_doorbell_unrung(ibcq->context) && cqex_begin(cq, &yield_us))
		return 0;
	if (__builtin_expect(yield_us, 0))
		cairn_cq_yield(cq, yield_us);
	return ENOENT;
}

static int cqex_next_poll(struct ibv_cq_ex *ibcq)
{
	struct cairn_cq *cq = to_ccq_ex(ibcq);

	if (!cairn_cq_ready(cq)) {
		if (cairn_cq_watched(cq))
			cairn_cq_watch_poll(cq, true);
		return ENOENT;
	}
	cqex_take(cq);
	return 0;
}

static void cqex_end_poll(struct ibv_cq_ex *ibcq)
{
	struct cairn_cq *cq = to_ccq_ex(ibcq);
	bool look;

	cq->polling = false;
	if (cairn_cq_watched(cq))
		cairn_cq_watch_poll(cq, false);
	look = cairn_ring_polled(&cq->queue.ring);
	cairn_cq_unlock(cq);
	if (__builtin_expect(look, 0))
		cairn_cq_look(cq);
}

static enum ibv_wc_opcode cqex_read_opcode(struct ibv_cq_ex *ibcq)
{
	return cairn_cqe_opcode(to_ccq_ex(ibcq)->cur);
}

static uint32_t cqex_read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return to_ccq_ex(ibcq)->cur->vendor_err;
}

static uint32_t cqex_read_byte_len(struct ibv_cq_ex *ibcq)
{
	return to_ccq_ex(ibcq)->cur->byte_len;
}

static __be32 cqex_read_imm_data(struct ibv_cq_ex *ibcq)
{
	return (__be32)to_ccq_ex(ibcq)->cur->imm_or_key;
}

static uint32_t cqex_read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_ccq_ex(ibcq)->cur->qpn;
}

static uint32_t cqex_read_src_qp(struct ibv_cq_ex *ibcq)
{
	return to_ccq_ex(ibcq)->cur->src_qp;
}

static unsigned int cqex_read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return cairn_cqe_wc_flags(to_ccq_ex(ibcq)->cur);
}

/* RoCE has no LIDs. */
static uint32_t cqex_read_slid(struct ibv_cq_ex *ibcq)
{
	(void)ibcq;
	return 0;
}

static uint8_t cqex_read_sl(struct ibv_cq_ex *ibcq)
{
	return cairn_cqe_sl(to_ccq_ex(ibcq)->cur);
}

static uint8_t cqex_read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	(void)ibcq;
	return 0;
}

static uint64_t cqex_read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return to_ccq_ex(ibcq)->cur->timestamp;
}

static int64_t cqex_clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/*
 * The difference of the clocks changes only when the wall clock is set, as both are
 * adjusted alike. It cannot be read exactly, as time passes between two readings. So
 * the value is kept as long as the readings allow it, and completion times do not go
 * back. Otherwise the readings that are closest together give the new one.
 */
static int64_t cqex_read_clocks_apart(void)
{
	int64_t kept = __atomic_load_n(&cqex_clocks_apart, __ATOMIC_RELAXED);
	int64_t best = 0, width = INT64_MAX;

	for (int i = 0; i < CQEX_CLOCK_TRIES; i++) {
		int64_t before = cqex_clock_ns(CLOCK_MONOTONIC);
		int64_t wall = cqex_clock_ns(CLOCK_REALTIME);
		int64_t after = cqex_clock_ns(CLOCK_MONOTONIC);

		if (kept && kept >= wall - after && kept <= wall - before)
			return kept;
		if (after - before >= width)
			continue;
		width = after - before;
		best = wall - before - width / 2;
	}
	__atomic_store_n(&cqex_clocks_apart, best, __ATOMIC_RELAXED);
	return best;
}

/* Uses the present difference of the clocks: a step since the completion shifts it. */
static uint64_t cqex_read_wallclock(struct ibv_cq_ex *ibcq)
{
	return to_ccq_ex(ibcq)->cur->timestamp +
	       (uint64_t)cqex_read_clocks_apart();
}

void cairn_cqex_fill(struct cairn_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ibcq = &cq->vcq.cq_ex;

	ibcq->start_poll = cqex_start_poll;
	ibcq->next_poll = cqex_next_poll;
	ibcq->end_poll = cqex_end_poll;
	ibcq->read_opcode = cqex_read_opcode;
	ibcq->read_vendor_err = cqex_read_vendor_err;
	ibcq->read_wc_flags = cqex_read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ibcq->read_byte_len = cqex_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ibcq->read_imm_data = cqex_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ibcq->read_qp_num = cqex_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ibcq->read_src_qp = cqex_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ibcq->read_slid = cqex_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ibcq->read_sl = cqex_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ibcq->read_dlid_path_bits = cqex_read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ibcq->read_completion_ts = cqex_read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ibcq->read_completion_wallclock_ns = cqex_read_wallclock;
}
