/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory of a process that is not pinned: what of it the device may touch now. */
#ifndef CAIRN_MEM_ODP_H
#define CAIRN_MEM_ODP_H

#include "verbs/verbs.h"

struct cairn_odp;

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
#define CAIRN_HAS_ODP	1
#else
#define CAIRN_HAS_ODP	0
#endif

/* Pages that are brought at a time: what one request of a peer can ask for. */
#define CAIRN_ODP_BATCH	64

enum cairn_odp_how {
	CAIRN_ODP_READ,
	CAIRN_ODP_WRITE,
	CAIRN_ODP_PRESENT,	/* what is in memory already; nothing is faulted */
};

/**
 * cairn_odp_create() - watch memory of the calling process
 * @dev: the device
 * @start: first byte
 * @length: bytes; U64_MAX with @start 0: all there is
 * @writable: the region allows to write
 *
 * No page is touched. Return: it, -EINVAL, -EOVERFLOW (range), -EOPNOTSUPP (not with
 * this kernel), -ENOMEM or -EINTR. Process context.
 */
struct cairn_odp *cairn_odp_create(struct cairn_dev *dev, u64 start, u64 length,
				   bool writable);

/* No run finds it any more. Faults under way outlive it, and keep nothing. NULL is nothing.
 * Sleeps, not as long as a page takes.
 */
void cairn_odp_destroy(struct cairn_odp *odp);

/* Faults stop soon, also those that wait for a thread. Runs that have found the region may
 * still ask. Sleeps.
 */
void cairn_odp_stop(struct cairn_odp *odp);

/* In a run that has found the region. */
void cairn_odp_get(struct cairn_odp *odp);
/* Sleeps. */
void cairn_odp_put(struct cairn_odp *odp);

/* The page at @addr of the process, or NULL: it is absent, or may not be written. In
 * a run, which bounds its use.
 */
struct page *cairn_odp_page(const struct cairn_odp *odp, u64 addr, bool write);

/**
 * cairn_odp_bring() - have pages for the device
 * @odp: held
 * @addr: of the process
 * @len: bytes
 * @how: what for
 *
 * Pages may go again at any time. Return: 0; -EFAULT when there is no such memory or
 * the process may not use it so, -ENOMEM, -EINTR. Sleeps.
 */
int cairn_odp_bring(struct cairn_odp *odp, u64 addr, u64 len,
		    enum cairn_odp_how how);

/* Also pages around, that are in memory already. */
int cairn_odp_bring_near(struct cairn_odp *odp, u64 addr, u64 len, bool write);

/* Work that brings pages of @odp, which is held. Any context. */
void cairn_odp_queue(struct cairn_odp *odp, struct cairn_odp_job *job);

#endif
