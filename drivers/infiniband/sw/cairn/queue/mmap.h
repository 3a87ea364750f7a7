/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Zeroed kernel memory that a process may map: rings and queue info. */
#ifndef CAIRN_QUEUE_MMAP_H
#define CAIRN_QUEUE_MMAP_H

#include <rdma/ib_verbs.h>

struct cairn_mmap {
	struct rdma_user_mmap_entry entry;
	void *mem;
	bool writable;
};

/**
 * cairn_mmap_create() - allocate memory and its mmap(2) offset
 * @ibuc: the owner
 * @bytes: rounded up to pages
 * @writable: the process may map it for writing
 *
 * The pages are charged to the caller's memory cgroup.
 * rdma_user_mmap_entry_remove() frees the memory; pages that are still mapped live
 * until they are unmapped.
 *
 * Context: process.
 * Return: the memory, or NULL.
 */
struct cairn_mmap *cairn_mmap_create(struct ib_ucontext *ibuc, size_t bytes,
				     bool writable);

static inline struct cairn_mmap *
to_cairn_mmap(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct cairn_mmap, entry);
}

/* ib_device_ops.mmap and .mmap_free */
int cairn_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void cairn_mmap_free(struct rdma_user_mmap_entry *entry);

#endif
