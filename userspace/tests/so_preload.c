// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Preloaded in front of libibverbs: prints the drivers that register. If COMP_MASK_MOVED
 * is set, it acts like a libibverbs with verbs_qp.comp_mask that many bytes away.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_private.h"

void verbs_register_driver(const struct verbs_device_ops *ops)
{
	printf("registered %s\n", ops->name);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	const char *moved = getenv("COMP_MASK_MOVED");
	uint32_t comp_mask;

	memcpy(&comp_mask, (uint8_t *)qp + offsetof(struct verbs_qp, comp_mask) +
	       (moved ? atoi(moved) : 0), sizeof(comp_mask));
	return comp_mask & VERBS_QP_EX ? (struct ibv_qp_ex *)qp : NULL;
}
