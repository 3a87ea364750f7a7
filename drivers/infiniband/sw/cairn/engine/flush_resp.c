// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH at the responder (IBTA Annex A19): data that was written earlier becomes
 * visible, or durable, before the response leaves.
 *
 * CPUs write all data, so it is visible at once. Making a range durable takes time
 * in proportion to its length, which the peer chooses. So it is done in steps, as
 * many in one turn as the budget allows. Until the last step the packet waits like a
 * SEND with invalidate, and no packet behind it is executed: an ATOMIC WRITE behind
 * a FLUSH must not become visible before the FLUSH is done (A19.4.5), and neither
 * should a SEND that notifies an application.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "engine/flush_resp.h"
#include "engine/persist_resp.h"

/* Bytes of one step. */
#define CAIRN_FLUSH_STEP	65536u

/* Is the FLUSH well-formed, and does the QP allow it? */
bool cairn_flush_valid(const struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	return pkt->plt && !(pkt->plt & ~qpc->attrs.flush) &&
	       pkt->sel <= CAIRN_FLUSH_REGION && qpc->attrs.max_dest_rd_atomic;
}

/* Check the key's rights for the range. Return: 0 or -EFAULT. */
static int flush_check(struct cairn_qpc *qpc, u32 key, u64 va, u64 len, u8 plt)
{
	if (plt & CAIRN_FLUSH_GLOBAL &&
	    cairn_env_check(qpc, key, va, len, CAIRN_ACCESS_FLUSH_GLOBAL))
		return -EFAULT;
	if (plt & CAIRN_FLUSH_PERSISTENT &&
	    cairn_env_check(qpc, key, va, len, CAIRN_ACCESS_FLUSH_PERSISTENT))
		return -EFAULT;
	return 0;
}

static int flush_step(struct cairn_qpc *qpc, u32 *len)
{
	struct cairn_flush *flush = &qpc->resp.flush;

	*len = min_t(u64, flush->left, CAIRN_FLUSH_STEP);
	if (cairn_env_writeback(qpc, flush->key, flush->va, *len)) {
		flush->left = 0;
		return -EFAULT;
	}
	/* Fence now, as the next step may run on another CPU. */
	qpc->resp.persist.fence_due = true;
	cairn_persist_fence(qpc);
	cairn_env_count(qpc, CAIRN_CTR_FLUSH_BYTES, *len);
	flush->va += *len;
	flush->left -= *len;
	return 0;
}

static bool flush_is_of(const struct cairn_flush *flush,
			const struct cairn_pkt *pkt)
{
	return flush->psn == pkt->psn && flush->asked_va == pkt->va &&
	       flush->asked_len == pkt->dma_len && flush->key == pkt->rkey &&
	       flush->plt == pkt->plt && flush->sel == pkt->sel;
}

/* Execute @pkt, the expected packet, which is valid. Return: 0 when done;
 * -EINPROGRESS: cairn_flush_run() continues; -EFAULT: the key does not allow it.
 */
int cairn_flush_begin(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_flush *flush = &qpc->resp.flush;
	u64 va = pkt->va, len = pkt->dma_len;
	u32 done;

	if (flush->over && flush_is_of(flush, pkt)) {
		flush->over = false;
		return 0;
	}
	if (pkt->sel == CAIRN_FLUSH_REGION &&
	    cairn_env_region(qpc, pkt->rkey, &va, &len))
		return -EFAULT;
	if (flush_check(qpc, pkt->rkey, va, len, pkt->plt))
		return -EFAULT;
	*flush = (struct cairn_flush){
		.psn = pkt->psn,
		.asked_va = pkt->va,
		.asked_len = pkt->dma_len,
		.key = pkt->rkey,
		.plt = pkt->plt,
		.sel = pkt->sel,
		.va = va,
		.left = pkt->plt & CAIRN_FLUSH_PERSISTENT ? len : 0,
	};
	if (flush->left && flush_step(qpc, &done))
		return -EFAULT;
	return flush->left ? -EINPROGRESS : 0;
}

/* Continue with the remaining bytes. Return: 0 when done; -EAGAIN: another turn is
 * needed; -EFAULT: the region has been released.
 */
int cairn_flush_run(struct cairn_qpc *qpc, struct cairn_budget *budget)
{
	struct cairn_flush *flush = &qpc->resp.flush;
	u32 done;

	while (flush->left) {
		if (!cairn_budget_left(budget))
			return -EAGAIN;
		if (flush_step(qpc, &done))
			return -EFAULT;
		cairn_budget_use(budget, 1, done);
	}
	flush->over = true;
	return 0;
}
