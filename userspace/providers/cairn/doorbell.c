// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/cairn-abi.h>

#include "doorbell.h"
#include "method.h"

/* As many messages as a train has, so that waiting for more would gain little. */
#define DOORBELL_MAX_UNRUNG	64U

/*
 * When DOORBELL_MAX_ALONE doorbells for all in a row were for one post each, the next
 * DOORBELL_RING_NEXT posts ring for themselves.
 */
#define DOORBELL_MAX_ALONE	4U
#define DOORBELL_RING_NEXT	1024U

int cairn_doorbell(struct ibv_context *ctx, uint32_t qid, uint32_t index)
{
	struct cairn_doorbell db = { .qid = qid, .index = index };

	return cairn_doorbells(ctx, &db, 1);
}

int cairn_doorbells(struct ibv_context *ctx, struct cairn_doorbell *db,
		    uint32_t count)
{
	return cairn_method(ctx, CAIRN_METHOD_DOORBELL, CAIRN_ATTR_DOORBELL,
			    db, (uint16_t)(count * sizeof(*db)));
}

int cairn_doorbell_later(struct ibv_context *ibctx, uint32_t qid, uint32_t index)
{
	struct cairn_context *ctx = to_cctx(ibctx);
	uint32_t left = __atomic_load_n(&ctx->ring_next, __ATOMIC_RELAXED);

	if (left) {
		__atomic_store_n(&ctx->ring_next, left - 1, __ATOMIC_RELAXED);
		return cairn_doorbell(ibctx, qid, index);
	}
	if (__atomic_add_fetch(&ctx->unrung, 1, __ATOMIC_SEQ_CST) < DOORBELL_MAX_UNRUNG)
		return 0;
	return cairn_doorbell_all(ctx);
}

/* @posts waited for this doorbell. For a single one its own doorbell is faster. */
static void doorbell_learn(struct cairn_context *ctx, uint32_t posts)
{
	uint32_t alone = posts == 1 ? __atomic_load_n(&ctx->alone, __ATOMIC_RELAXED) + 1 : 0;

	if (alone == DOORBELL_MAX_ALONE) {
		__atomic_store_n(&ctx->ring_next, DOORBELL_RING_NEXT, __ATOMIC_RELAXED);
		alone = 0;
	}
	__atomic_store_n(&ctx->alone, alone, __ATOMIC_RELAXED);
}

int cairn_doorbell_all(struct cairn_context *ctx)
{
	/* Before the doorbell: a post in between counts, and rings once more at worst. */
	uint32_t posts = __atomic_exchange_n(&ctx->unrung, 0, __ATOMIC_SEQ_CST);

	/* 0: another thread took the count, and may not have rung yet. */
	if (posts)
		doorbell_learn(ctx, posts);
	return cairn_doorbell(&ctx->vctx.context, CAIRN_DOORBELL_ALL, 0);
}
