// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory shared with processes.
 *
 * A mapping holds references to the pages, not to the entry. After a queue is
 * destroyed its pages stay mapped, unused, until the process unmaps them. The
 * kernel's own mapping is freed at once.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat/vm_flags.h"
#include "queue/mmap.h"

struct cairn_mmap *cairn_mmap_create(struct ib_ucontext *ibuc, size_t bytes,
				     bool writable)
{
	struct cairn_mmap *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);

	if (!map)
		return NULL;
	map->writable = writable;
	map->mem = __vmalloc(PAGE_ALIGN(bytes), GFP_KERNEL_ACCOUNT |
			     __GFP_ZERO | __GFP_NOWARN);
	if (!map->mem)
		goto err_free;
	if (rdma_user_mmap_entry_insert(ibuc, &map->entry, bytes))
		goto err_mem;
	return map;

err_mem:
	vfree(map->mem);
err_free:
	kfree(map);
	return NULL;
}

/* ib_device_ops.mmap_free: the last reference was dropped. */
void cairn_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct cairn_mmap *map = to_cairn_mmap(entry);

	vfree(map->mem);
	kfree(map);
}

/* After a failure the mmap op's caller removes the pages inserted so far. */
static int mmap_insert_pages(struct vm_area_struct *vma,
			     const struct cairn_mmap *map)
{
	size_t off, bytes = map->entry.npages * PAGE_SIZE;
	int err = 0;

	for (off = 0; off < bytes && !err; off += PAGE_SIZE)
		err = vm_insert_page(vma, vma->vm_start + off,
				     vmalloc_to_page(map->mem + off));
	return err;
}

/**
 * cairn_mmap() - ib_device_ops.mmap
 * @ibuc: the context that owns the offset
 * @vma: shared, exactly as long as the entry at the offset
 *
 * Memory that only the device writes cannot be mapped for writing, nor made
 * writable later. A child process inherits the mapping, so a daemon can go on with
 * what its parent opened. Two writers of a ring disturb each other only.
 *
 * Return: 0, -EINVAL (offset, length, private), -EPERM (writing) or -ENOMEM.
 */
int cairn_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct cairn_mmap *map;
	int err = -EPERM;

	entry = rdma_user_mmap_entry_get(ibuc, vma);
	if (!entry)
		return -EINVAL;
	map = to_cairn_mmap(entry);
	if (!map->writable) {
		if (vma->vm_flags & VM_WRITE)
			goto out;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	err = mmap_insert_pages(vma, map);
out:
	rdma_user_mmap_entry_put(entry);
	return err;
}
