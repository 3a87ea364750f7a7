// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A send ring of another depth, in the middle of the traffic. */
#include "engine/internal.h"

bool cairn_req_fits(const struct cairn_qpc *q, u32 depth, u32 mask)
{
	const struct cairn_requester *r = &q->req;

	return !r->ring_bad && r->sq_next - r->sq_done <= depth &&
	       r->new_rec - r->kept_rec <= mask + 1;
}

void cairn_req_resize(struct cairn_qpc *q, u32 depth, struct cairn_swr **swr,
		      u32 mask)
{
	struct cairn_requester *r = &q->req;
	struct cairn_swr *old = r->swr;
	u32 n;

	for (n = r->kept_rec; n != r->new_rec; n++)
		(*swr)[n & mask] = old[n & r->swr_mask];
	r->swr = *swr;
	r->swr_mask = mask;
	q->sq_depth = depth;
	*swr = old;
}
