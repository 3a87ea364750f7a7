// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>

#include "doorbell.h"
#include "mr.h"
#include "pd.h"
#include "persist.h"
#include "release.h"

VERBS_RESP(cairn_persist_mr_resp, struct ib_uverbs_reg_mr_resp,
	   struct cairn_reg_mr_resp);

/* Before a region ends: forget it; remember it again if the call fails. Return: was it
 * known?
 */
static bool mr_forget(struct cairn_mr *mr)
{
	return mr->region.addr &&
	       cairn_keys_remove(to_cctx(mr->vmr.ibv_mr.context)->keys,
				 mr->vmr.ibv_mr.lkey);
}

static void mr_remember(struct cairn_mr *mr)
{
	if (mr->region.addr)
		cairn_keys_add(to_cctx(mr->vmr.ibv_mr.context)->keys,
			       mr->vmr.ibv_mr.lkey, &mr->region);
}

static struct ibv_mr *mr_finish(struct cairn_mr *mr, int err)
{
	if (!err)
		return &mr->vmr.ibv_mr;
	free(mr);
	errno = err;
	return NULL;
}

/* The command of a registration. */
struct mr_cmd {
	union verbs_cmd_buf buf;
	size_t size;
	struct cairn_persist_mr_resp resp;
	size_t resp_size;
};

/* The tail says how the region becomes persistent. */
static void mr_cmd_init(struct mr_cmd *cmd, uint32_t persist)
{
	struct cairn_reg_mr_req req = { .flags = persist };

	*cmd = (struct mr_cmd){
		.size = VERBS_CMD_SIZE(struct ib_uverbs_reg_mr),
		.resp_size = sizeof(cmd->resp),
	};
	memcpy(cmd->buf.bytes + cmd->size, &req, sizeof(req));
	cmd->size += sizeof(req);
}

/*
 * Memory that no device persists must not be taken for persistent, so the echo must have
 * what was asked for. It may have more: cairndv_set_persistent(3).
 */
static int mr_check_echo(struct cairn_mr *mr, uint32_t echo)
{
	mr->persist = echo;
	if (!(mr->declared & ~echo))
		return 0;
	ibv_cmd_dereg_mr(&mr->vmr);
	return EOPNOTSUPP;
}

struct ibv_mr *cairn_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access)
{
	unsigned int persist = (unsigned int)access & CAIRN_ACCESS_PERSIST;
	struct cairn_mr *mr = calloc(1, sizeof(*mr));
	struct mr_cmd cmd;
	int err;

	if (!mr)
		return NULL;
	mr->declared = cairn_persist_mr_flags(persist);
	mr_cmd_init(&cmd, mr->declared);
	err = ibv_cmd_reg_mr(pd, addr, length, hca_va, access & ~(int)persist,
			     &mr->vmr, &cmd.buf, cmd.size, &cmd.resp,
			     cmd.resp_size);
	if (!err)
		err = mr_check_echo(mr, cmd.resp.drv.flags);
	/* Memory on demand may be unmapped, and only the device can handle that. */
	if (!err && !(access & IBV_ACCESS_ON_DEMAND)) {
		mr->region = (struct cairn_region){
			cairn_pd_base(pd), addr,
			access & IBV_ACCESS_ZERO_BASED ? 0 : hca_va, length,
		};
		mr_remember(mr);
	}
	return mr_finish(mr, err);
}

struct ibv_mr *cairn_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access)
{
	struct cairn_mr *mr;
	int err;

	/* A dma-buf is no NVDIMM. */
	if ((unsigned int)access & CAIRN_ACCESS_PERSIST) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	err = ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access,
				    &mr->vmr, NULL);
	return mr_finish(mr, err);
}

/* The key of the null MR is constant; nothing is registered. */
struct ibv_mr *cairn_alloc_null_mr(struct ibv_pd *pd)
{
	struct cairn_mr *mr = calloc(1, sizeof(*mr));

	if (!mr)
		return NULL;
	mr->vmr.mr_type = VERBS_MR_TYPE_NULL;
	mr->vmr.ibv_mr = (struct ibv_mr){
		.context = pd->context, .pd = pd, .handle = UINT32_MAX,
		.lkey = CAIRN_NULL_LKEY,
	};
	return &mr->vmr.ibv_mr;
}

/* A persistent region cannot be registered again, nor one of device memory. */
int cairn_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	union verbs_cmd_buf cmd = {};

	if (to_cmr(&vmr->ibv_mr)->declared & CAIRN_MR_PERSIST_FLAGS ||
	    to_cmr(&vmr->ibv_mr)->dm)
		return EOPNOTSUPP;
	cairn_doorbell_unrung(vmr->ibv_mr.context);
	/* The region's state after a failure depends on the step that failed. */
	mr_forget(to_cmr(&vmr->ibv_mr));
	to_cmr(&vmr->ibv_mr)->region.addr = NULL;
	/* Nothing tells whether the device gives NIC flush to the new memory. */
	to_cmr(&vmr->ibv_mr)->persist = to_cmr(&vmr->ibv_mr)->declared;
	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, pd, &cmd,
				VERBS_CMD_SIZE(struct ib_uverbs_rereg_mr),
				&resp, sizeof(resp));
}

int cairn_dereg_mr(struct verbs_mr *vmr)
{
	struct cairn_mr *mr = to_cmr(&vmr->ibv_mr);
	bool known;
	int err;

	if (vmr->mr_type == VERBS_MR_TYPE_NULL) {
		free(mr);
		return 0;
	}
	cairn_doorbell_unrung(vmr->ibv_mr.context);
	known = mr_forget(mr);
	err = mr->release ? cairn_release_dereg(mr) : ibv_cmd_dereg_mr(vmr);
	if (err) {
		if (known)
			mr_remember(mr);
		return err;
	}
	if (mr->dm)
		cairn_dm_release(mr->dm);
	free(mr);
	return 0;
}
