// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Preloaded in front of libibverbs: tells what registers and, when COMP_MASK_AT
 * is set, answers like a libibverbs that has verbs_qp.comp_mask there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs_private.h"

void verbs_register_driver_34(const struct verbs_device_ops *ops)
{
	printf("registered %s\n", ops->name);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	const char *at = getenv("COMP_MASK_AT");
	uint32_t comp_mask;

	memcpy(&comp_mask, (uint8_t *)qp + (at ? atoi(at) : 352),
	       sizeof(comp_mask));
	return comp_mask & VERBS_QP_EX ? (struct ibv_qp_ex *)qp : NULL;
}
