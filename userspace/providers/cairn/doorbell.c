// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/cairn-abi.h>

#include "doorbell.h"
#include "method.h"

/* As many messages as a train has, so that waiting for more would gain little. */
#define DOORBELL_MAX_UNRUNG	64U

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

int cairn_doorbell_later(struct ibv_context *ibctx)
{
	struct cairn_context *ctx = to_cctx(ibctx);

	if (__atomic_add_fetch(&ctx->unrung, 1, __ATOMIC_SEQ_CST) < DOORBELL_MAX_UNRUNG)
		return 0;
	return cairn_doorbell_all(ctx);
}

int cairn_doorbell_all(struct cairn_context *ctx)
{
	/* First: a post after it counts, and rings once more if the device has taken it. */
	__atomic_exchange_n(&ctx->unrung, 0, __ATOMIC_SEQ_CST);
	return cairn_doorbell(&ctx->vctx.context, CAIRN_DOORBELL_ALL, 0);
}
