/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The driver's tails of verbs commands, checked in one way. */
#ifndef CAIRN_VERBS_UDATA_H
#define CAIRN_VERBS_UDATA_H

#include <rdma/ib_verbs.h>

/**
 * cairn_udata_check() - before anything is created
 * @udata: NULL for a kernel caller, which has no tail
 * @resp: bytes that the reply will have
 *
 * For commands without an input tail; bytes that are there must be zero, so
 * that a later library is refused and not misunderstood.
 *
 * Return: 0 or -EINVAL. Process context.
 */
static inline int cairn_udata_check(struct ib_udata *udata, size_t resp)
{
	if (!udata)
		return 0;
	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	return udata->outlen < resp ? -EINVAL : 0;
}

/**
 * cairn_udata_read() - the input tail of a command that may have one
 * @udata: NULL for a kernel caller, which has no tail
 * @req: filled in; left alone without a tail
 * @len: bytes of @req: a tail that is there has all of them
 * @resp: bytes that the reply will have
 *
 * What lies beyond must be zero.
 *
 * Return: 0, -EINVAL or -EFAULT. Process context.
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
