/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Direct verbs: what cairn devices can do beyond verbs.h. Link with -lcairn;
 * that library is the same file that libibverbs loads as the provider.
 *
 * Every call has a manual page of its name. Calls that return int return 0 or
 * a positive errno, EOPNOTSUPP when the object is not one of a cairn device or
 * the loaded kernel module is older than the call.
 *
 * Structures that a call fills grow at their end: the caller passes the size
 * that it was compiled with, the library fills that much, with zeroes beyond
 * what it knows.
 *
 * Adding a call: declare it here, name it in libcairn.map, describe it in
 * userspace/man, define it in a file of its subject in this directory (see dv.h)
 * and test it in userspace/tests. test_so.sh compares these lists.
 */
#ifndef INFINIBAND_CAIRNDV_H
#define INFINIBAND_CAIRNDV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Whether @device is a cairn device, so that the calls below make sense. */
bool cairndv_is_supported(struct ibv_device *device);

enum cairndv_queue_state {
	CAIRNDV_QUEUE_NONE = 0,		/* there is no such queue */
	CAIRNDV_QUEUE_READY = 1,
	CAIRNDV_QUEUE_ERROR = 2,
};

/* A send or receive queue at a moment; it consists of units of 64 bytes. */
struct cairndv_queue_attr {
	uint32_t state;		/* enum cairndv_queue_state */
	uint32_t depth;		/* units */
	uint32_t used;		/* units posted and not yet given back */
	uint32_t generation;	/* changes when the device replaced the ring */
};

struct cairndv_qp_attr {
	uint64_t comp_mask;	/* 0: no optional part is defined yet */
	struct cairndv_queue_attr sq;
	struct cairndv_queue_attr rq;	/* zero with a shared receive queue */
};

/* From memory shared with the device, without a system call. */
int cairndv_query_qp(struct ibv_qp *qp, struct cairndv_qp_attr *attr,
		     size_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* INFINIBAND_CAIRNDV_H */
