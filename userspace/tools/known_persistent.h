/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Written-back cache lines are durable only in persistent memory. A device-DAX device may
 * have other memory: volatile (dax_hmem), or such that needs more than a write-back.
 */
#ifndef CAIRN_KNOWN_PERSISTENT_H
#define CAIRN_KNOWN_PERSISTENT_H

#include <errno.h>

#include <infiniband/cairndv.h>

#define NOT_KNOWN_PERSISTENT \
	"the memory is not known to be persistent, or has bad blocks"

/*
 * The driver knows the memory: it refuses NIC flush for any other.
 * Return: 0, or an errno: the memory is not known to be persistent
 */
static inline int known_persistent(struct ibv_pd *pd, void *memory, size_t length)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, length, IBV_ACCESS_LOCAL_WRITE |
				       CAIRNDV_ACCESS_PERSISTENT);

	if (!mr)
		return errno ? errno : EIO;
	return ibv_dereg_mr(mr);
}

#endif /* CAIRN_KNOWN_PERSISTENT_H */
