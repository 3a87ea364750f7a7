// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Devices of one host that hand packets to each other: cairndv_set_fabric(3). */
#include <errno.h>
#include <string.h>

#include "dv.h"
#include "method.h"

_Static_assert(CAIRNDV_FABRIC_NAME_MAX + 1 == CAIRN_FABRIC_NAME &&
	       (int)CAIRNDV_CAPTURE_YIELD == CAIRN_CAPTURE_YIELD &&
	       (int)CAIRNDV_CAPTURE_KEEP == CAIRN_CAPTURE_KEEP,
	       "passed through");

int cairndv_set_fabric(struct ibv_context *ctx, const char *name)
{
	size_t length = name ? strlen(name) : 0;
	struct cairn_set_fabric req = {};

	if (length > CAIRNDV_FABRIC_NAME_MAX)
		return EINVAL;
	if (length)
		memcpy(req.name, name, length);
	return cairn_method_tune(ctx, CAIRN_METHOD_SET_FABRIC,
				 cairn_method_attr(CAIRN_ATTR_SET_FABRIC, &req,
						   sizeof(req)));
}

int cairndv_set_capture(struct ibv_context *ctx, enum cairndv_capture mode)
{
	struct cairn_set_capture req = { .mode = mode };

	return cairn_method_tune(ctx, CAIRN_METHOD_SET_CAPTURE,
				 cairn_method_attr(CAIRN_ATTR_SET_CAPTURE,
						   &req, sizeof(req)));
}
