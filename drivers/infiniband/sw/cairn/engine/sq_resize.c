// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Gives a QP in use a send ring of another depth. */
#include <linux/errno.h>
#include "engine/sq_resize.h"

int cairn_sq_fits(const struct cairn_qpc *qpc, u32 depth, u32 mask)
{
	const struct cairn_requester *req = &qpc->req;

	if (req->ring_bad || req->sq_next - req->sq_done > depth ||
	    req->new_rec - req->kept_rec > mask + 1)
		return -EINVAL;
	return req->new_rec - req->kept_rec > CAIRN_MAX_MOVED ? -EAGAIN : 0;
}

void cairn_sq_resize(struct cairn_qpc *qpc, u32 depth, struct cairn_swr **swr,
		     u32 mask)
{
	struct cairn_requester *req = &qpc->req;
	struct cairn_swr *old = req->swr;
	u32 n;

	for (n = req->kept_rec; n != req->new_rec; n++)
		(*swr)[n & mask] = old[n & req->swr_mask];
	req->swr = *swr;
	req->swr_mask = mask;
	req->fetched = false;
	qpc->sq_depth = depth;
	*swr = old;
}
