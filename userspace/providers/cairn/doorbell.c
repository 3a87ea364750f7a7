// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/cairn-abi.h>

#include "doorbell.h"
#include "method.h"

int cairn_doorbell(struct ibv_context *ctx, uint32_t qid, uint32_t index)
{
	struct cairn_doorbell db = { .qid = qid, .index = index };

	return cairn_method(ctx, CAIRN_METHOD_DOORBELL, CAIRN_ATTR_DOORBELL,
			    &db, sizeof(db));
}
