// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>

#include "doorbell.h"
#include "mw.h"
#include "send.h"

struct ibv_mw *cairn_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp = {};
	union verbs_cmd_buf cmd = {};
	struct ibv_mw *mw = calloc(1, sizeof(*mw));
	int err;

	if (!mw)
		return NULL;
	err = ibv_cmd_alloc_mw(pd, type, mw, &cmd,
			       VERBS_CMD_SIZE(struct ib_uverbs_alloc_mw), &resp,
			       sizeof(resp));
	if (!err)
		return mw;
	free(mw);
	errno = err;
	return NULL;
}

int cairn_dealloc_mw(struct ibv_mw *mw)
{
	int err;

	cairn_doorbell_unrung(mw->context);
	err = ibv_cmd_dealloc_mw(mw);
	if (!err)
		free(mw);
	return err;
}

/* A new key each time: the rights of the old one end. */
int cairn_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};

	/* IBTA 10.6.7.2. As a request it would end the queue pair. */
	if (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EINVAL;
	return cairn_send_bind(qp, &wr);
}

void cairn_mw_fill(struct cairn_send_wqe *wqe, struct ibv_mw *mw,
		   uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	wqe->imm_or_key = (mw->rkey & ~CAIRN_MW_KEY_MASK) |
			  (rkey & CAIRN_MW_KEY_MASK);
	mw->rkey = wqe->imm_or_key;
	wqe->remote_addr = info->addr;
	wqe->rkey = info->mr ? info->mr->lkey : 0;
	wqe->bind.length = info->length;
	wqe->bind.access = info->mw_access_flags;
	wqe->bind.reserved = 0;
}
