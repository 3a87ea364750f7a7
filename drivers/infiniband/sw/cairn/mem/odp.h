/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory of a process that is not pinned, and its pages that may be touched
 * now.
 */
#ifndef CAIRN_MEM_ODP_H
#define CAIRN_MEM_ODP_H

#include "verbs/verbs.h"

struct cairn_odp;

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
#define CAIRN_HAS_ODP	1
#else
#define CAIRN_HAS_ODP	0
#endif

/* Pages faulted in at a time, and the most for one request of a peer. */
#define CAIRN_ODP_BATCH	64

enum cairn_odp_how {
	CAIRN_ODP_READ,
	CAIRN_ODP_WRITE,
	CAIRN_ODP_PRESENT,	/* only pages that are in memory already */
};

/**
 * cairn_odp_create() - watch memory of the calling process
 * @dev: the device
 * @start: first byte
 * @length: bytes; U64_MAX with @start 0: all memory
 * @writable: the region allows writes
 *
 * No page is touched. Process context.
 *
 * Return: the object, -EINVAL, -EOVERFLOW (range), -EOPNOTSUPP (not with this
 * kernel), -ENOMEM or -EINTR.
 */
struct cairn_odp *cairn_odp_create(struct cairn_dev *dev, u64 start, u64 length,
				   bool writable);

/* Refuse writes to pages that are not persistent memory of files mapped with MAP_SYNC.
 * Before the region is published.
 */
void cairn_odp_need_files(struct cairn_odp *odp);

/* Destroy @odp, which no run finds any more. Pending faults may outlive it, and
 * add no pages. NULL is allowed. Sleeps, but not for these faults.
 */
void cairn_odp_destroy(struct cairn_odp *odp);

/* End pending faults early, also those that wait for a thread. Runs that have
 * found the region may still request faults. Sleeps.
 */
void cairn_odp_stop(struct cairn_odp *odp);

/* Take a reference, in a run that has found the region. */
void cairn_odp_get(struct cairn_odp *odp);
/* Drop a reference. Sleeps. */
void cairn_odp_put(struct cairn_odp *odp);

/* The page at @addr of the process, or NULL if it is not present or not
 * writable. In a run; the page is valid until the run ends.
 */
struct page *cairn_odp_page(const struct cairn_odp *odp, u64 addr, bool write);

/**
 * cairn_odp_bring() - fault in pages
 * @odp: the caller has a reference
 * @addr: address in the process
 * @len: bytes
 * @how: which access is needed
 *
 * Pages may be invalidated again at any time. Sleeps.
 *
 * Return: 0, -EFAULT (no such memory, or no right of the process), -ENOMEM or
 * -EINTR.
 */
int cairn_odp_bring(struct cairn_odp *odp, u64 addr, u64 len,
		    enum cairn_odp_how how);

/* The same, and add pages around these that are in memory already. */
int cairn_odp_bring_near(struct cairn_odp *odp, u64 addr, u64 len, bool write);

/* Queue a job that faults in pages. It gets a reference to @odp. Any context.
 */
void cairn_odp_queue(struct cairn_odp *odp, struct cairn_odp_job *job);

#endif
