/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Checks the tails of verbs commands: the data of the driver behind the standard part. */
#ifndef CAIRN_VERBS_UDATA_H
#define CAIRN_VERBS_UDATA_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include "queue/context.h"

/**
 * cairn_udata_check() - check the tail of a command that has no input tail
 * @udata: NULL for a kernel caller, which has no tail
 * @resp: size of the reply in bytes
 *
 * Bytes of an input tail must be zero, so that an extension by a later library is
 * refused and not ignored. Callers check before they create anything.
 *
 * Context: process.
 * Return: 0 or -EINVAL.
 */
static inline int cairn_udata_check(struct ib_udata *udata, size_t resp)
{
	if (!udata)
		return 0;
	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	return udata->outlen < resp ? -EINVAL : 0;
}

/* The user whose share counts for what the command creates; NULL: a kernel caller. */
static inline struct cairn_share_user *cairn_udata_user(struct ib_udata *udata)
{
	struct cairn_ucontext *uctx =
		rdma_udata_to_drv_context(udata, struct cairn_ucontext, ibuc);

	return uctx ? uctx->user : NULL;
}

/**
 * cairn_udata_read() - read the input tail of a command that may have one
 * @udata: NULL for a kernel caller, which has no tail
 * @req: filled in; not changed without a tail
 * @len: size of @req in bytes; a shorter tail is refused
 * @resp: size of the reply in bytes
 *
 * Bytes behind the first @len must be zero.
 *
 * Context: process.
 * Return: 0, -EINVAL or -EFAULT.
 */
static inline int cairn_udata_read(struct ib_udata *udata, void *req,
				   size_t len, size_t resp)
{
	if (!udata)
		return 0;
	if (udata->outlen < resp)
		return -EINVAL;
	if (!udata->inlen)
		return 0;
	if (udata->inlen < len)
		return -EINVAL;
	if (udata->inlen > len &&
	    !ib_is_udata_cleared(udata, len, udata->inlen - len))
		return -EINVAL;
	return ib_copy_from_udata(req, udata, len);
}

#endif
