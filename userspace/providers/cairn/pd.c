// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>

#include "pd.h"

struct ibv_pd *cairn_alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp = {};
	union verbs_cmd_buf cmd = {};
	struct ibv_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return NULL;
	err = ibv_cmd_alloc_pd(ctx, pd, &cmd,
			       VERBS_CMD_SIZE(struct ib_uverbs_alloc_pd), &resp,
			       sizeof(resp));
	if (!err)
		return pd;
	free(pd);
	errno = err;
	return NULL;
}

int cairn_dealloc_pd(struct ibv_pd *pd)
{
	int err = ibv_cmd_dealloc_pd(pd);

	if (!err)
		free(pd);
	return err;
}
