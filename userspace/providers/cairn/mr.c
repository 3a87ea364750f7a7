// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>

#include "cairn.h"

static struct ibv_mr *mr_finish(struct verbs_mr *vmr, int err)
{
	if (!err)
		return &vmr->ibv_mr;
	free(vmr);
	errno = err;
	return NULL;
}

struct ibv_mr *cairn_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp = {};
	union verbs_cmd_buf cmd = {};
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));
	int err;

	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, vmr, &cmd,
			     VERBS_CMD_SIZE(struct ib_uverbs_reg_mr), &resp,
			     sizeof(resp));
	return mr_finish(vmr, err);
}

struct ibv_mr *cairn_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));
	int err;

	if (!vmr)
		return NULL;
	err = ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr);
	return mr_finish(vmr, err);
}

int cairn_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	union verbs_cmd_buf cmd = {};

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, pd, &cmd,
				VERBS_CMD_SIZE(struct ib_uverbs_rereg_mr),
				&resp, sizeof(resp));
}

int cairn_dereg_mr(struct verbs_mr *vmr)
{
	int err = ibv_cmd_dereg_mr(vmr);

	if (!err)
		free(vmr);
	return err;
}
