/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The driver's tails of verbs commands, checked in one way. */
#ifndef CAIRN_VERBS_UDATA_H
#define CAIRN_VERBS_UDATA_H

#include <rdma/ib_verbs.h>

/**
 * cairn_udata_check() - before anything is created
 * @udata: NULL for a kernel caller, who has no tail
 * @resp: bytes that the reply will have
 *
 * Commands have no input tail yet; bytes that are there must be zero, so that
 * a later library is refused and not misunderstood. Returns 0 or -EINVAL.
 * Process context.
 */
static inline int cairn_udata_check(struct ib_udata *udata, size_t resp)
{
	if (!udata)
		return 0;
	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	return udata->outlen < resp ? -EINVAL : 0;
}

#endif
