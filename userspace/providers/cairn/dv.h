/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the direct verbs. */
#ifndef CAIRN_DV_H
#define CAIRN_DV_H

#include <string.h>

#include "cairn.h"
#include "cairndv.h"

static inline bool cairn_dv_owns(const struct ibv_context *ctx)
{
	return cairndv_is_supported(ctx->device);
}

/* Answers a query of a caller whose structure has @size bytes. */
static inline void cairn_dv_fill(void *attr, size_t size, const void *known,
				 size_t known_size)
{
	memset(attr, 0, size);
	memcpy(attr, known, size < known_size ? size : known_size);
}

#endif /* CAIRN_DV_H */
