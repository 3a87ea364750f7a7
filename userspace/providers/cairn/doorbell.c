// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/cairn-abi.h>

#include "doorbell.h"
#include "method.h"

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
