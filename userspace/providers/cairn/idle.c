// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The time that the device polls: cairndv_set_idle_time(3). */
#include "dv.h"
#include "method.h"

_Static_assert(CAIRNDV_IDLE_DEFAULT == CAIRN_IDLE_DEFAULT, "passed through");

int cairndv_set_idle_time(struct ibv_context *ctx, uint32_t us)
{
	struct cairn_set_idle req = { .us = us };

	return cairn_method_tune(ctx, CAIRN_METHOD_SET_IDLE,
				 cairn_method_attr(CAIRN_ATTR_SET_IDLE, &req,
						   sizeof(req)));
}
