// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Packets that bypass the IP stack: cairndv_set_loopback(3). */
#include "dv.h"
#include "method.h"

_Static_assert((int)CAIRNDV_LOOPBACK_SELF == CAIRN_LOOPBACK_SELF &&
	       (int)CAIRNDV_LOOPBACK_OFF == CAIRN_LOOPBACK_OFF &&
	       (int)CAIRNDV_LOOPBACK_HOST == CAIRN_LOOPBACK_HOST,
	       "passed through");

int cairndv_set_loopback(struct ibv_context *ctx, enum cairndv_loopback mode)
{
	struct cairn_set_loopback req = { .mode = mode };

	return cairn_method_tune(ctx, CAIRN_METHOD_SET_LOOPBACK,
				 cairn_method_attr(CAIRN_ATTR_SET_LOOPBACK, &req,
						   sizeof(req)));
}
