// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process registers a mapping of a device-DAX device. An ancestor of the
 * device is the region of libnvdimm, which knows how bytes become durable there
 * and which blocks are bad.
 *
 * libnvdimm is a module that need not be loaded, so its functions are looked
 * up. The pages are pinned, so the device and its region cannot be removed. The
 * device is found by the mapping, so the mapping has to be that of these pages.
 *
 * Or it registers a mapping of files with MAP_SYNC. The kernel grants that only on
 * memory where a write-back and a fence suffice (dax_synchronous()), and the
 * block numbers are durable before a page becomes writable. The file system can
 * move or free blocks, so nothing is pinned: the mapping is checked again for
 * each page that is faulted in (mem/odp.h). It does not map bad blocks.
 */
#include <linux/cdev.h>
#include <linux/dax.h>
#include <linux/device/bus.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/sched/mm.h>
#include "compat/gup.h"
#include "compat/nvdimm.h"
#include "mem/media.h"

static bool media_is_region(const struct device *dev)
{
	return dev->bus && !strcmp(dev->bus->name, "nd") &&
	       str_has_prefix(dev_name(dev), "region");
}

static bool media_is_dax(const struct vm_area_struct *vma)
{
	return vma->vm_file && S_ISCHR(file_inode(vma->vm_file)->i_mode) &&
	       IS_DAX(vma->vm_file->f_mapping->host);
}

/* The pinned pages, while their mappings are looked through. */
struct media_pages {
	struct scatterlist *sg;
	unsigned long at;		/* address of its first page */
};

static struct page *media_page(struct media_pages *pages, unsigned long at)
{
	while (at - pages->at >= pages->sg->length) {
		pages->at += pages->sg->length;
		pages->sg = sg_next(pages->sg);
	}
	return pfn_to_page(page_to_pfn(sg_page(pages->sg)) +
			   ((at - pages->at) >> PAGE_SHIFT));
}

/* Does the mapping of @at still have the page that was pinned? Another thread may have
 * replaced it, and a region may be changed long after its registration. The device of a
 * pinned page stays. That of another mapping may have gone, and what it was part of.
 */
static bool media_is_mapped(struct media_pages *pages, unsigned long at)
{
	struct page *page;

	mmap_assert_locked(current->mm);
	if (compat_get_user_pages_remote(current->mm, at, 1, 0, &page) != 1)
		return false;
	put_page(page);
	return page == media_page(pages, at);
}

/* The region of the device that @vma maps, or NULL. The device has pinned pages. mmap
 * lock held.
 */
static struct device *media_region_of(struct vm_area_struct *vma)
{
	struct device *dev;
	struct cdev *cdev;

	cdev = file_inode(vma->vm_file)->i_cdev;
	if (!cdev || !cdev->kobj.parent)
		return NULL;
	for (dev = kobj_to_dev(cdev->kobj.parent); dev; dev = dev->parent)
		if (media_is_region(dev))
			return dev;
	return NULL;
}

/* Keep the weaker of the two. Larger values are weaker. */
static void media_weaken(u8 *durability, enum cairn_durability other)
{
	*durability = max_t(u8, *durability, other);
}

/* Check that a write-back and a fence suffice, or a fence alone (eADR). */
static int media_region_kind(struct device *dev, u8 *durability)
{
	typeof(to_nd_region) *to_region = symbol_get(to_nd_region);
	typeof(is_nvdimm_sync) *is_sync = symbol_get(is_nvdimm_sync);
	typeof(nvdimm_has_cache) *has_cache = symbol_get(nvdimm_has_cache);
	int err = -EINVAL;

	if (to_region && is_sync && has_cache && is_sync(to_region(dev))) {
		media_weaken(durability, has_cache(to_region(dev)) ?
			     CAIRN_DURABILITY_ADR : CAIRN_DURABILITY_EADR);
		err = 0;
	}
	if (has_cache)
		symbol_put(nvdimm_has_cache);
	if (is_sync)
		symbol_put(is_nvdimm_sync);
	if (to_region)
		symbol_put(to_nd_region);
	return err;
}

/* Check @range of the region @dev for bad blocks. */
static int media_bad_blocks(struct device *dev, const struct range *range)
{
	typeof(to_nd_region) *to_region = symbol_get(to_nd_region);
	nvdimm_populate_fn *populate =
		symbol_get(nvdimm_badblocks_populate);
	struct badblocks bb = {};
	int err = -EINVAL;

	if (!to_region || !populate)
		goto out;
	err = badblocks_init(&bb, 1);
	if (err)
		goto out;
	populate(to_region(dev), &bb, range);
	err = bb.count ? -EINVAL : 0;
	badblocks_exit(&bb);
out:
	if (populate)
		symbol_put(nvdimm_badblocks_populate);
	if (to_region)
		symbol_put(to_nd_region);
	return err;
}

/* All regions of a bus share one list of bad blocks, so any of them will do. */
static int media_blocks(struct ib_device *ibdev, const struct ib_umem *umem,
			struct device *dev)
{
	struct scatterlist *sg;
	struct range range;
	unsigned int i;
	int err;

	for_each_sgtable_sg(&umem->sgt_append.sgt, sg, i) {
		range.start = sg_phys(sg);
		range.end = range.start + sg->length - 1;
		err = media_bad_blocks(dev, &range);
		if (err) {
			ibdev_dbg(ibdev, "reg_mr: bad blocks in %#llx to %#llx\n",
				  range.start, range.end);
			return err;
		}
	}
	return 0;
}

/* Check all mappings of the range. */
static int media_mappings(struct ib_device *ibdev, const struct ib_umem *umem,
			  u8 *durability)
{
	unsigned long at = umem->address, end = at + umem->length;
	struct media_pages pages = {
		.sg = umem->sgt_append.sgt.sgl, .at = at & PAGE_MASK,
	};
	struct device *region = NULL;
	int err = 0;

	mmap_assert_locked(current->mm);
	while (at < end && !err) {
		struct vm_area_struct *vma = vma_lookup(current->mm, at);
		struct device *dev = NULL;

		if (vma && media_is_dax(vma) && media_is_mapped(&pages, at))
			dev = media_region_of(vma);
		if (!dev) {
			ibdev_dbg(ibdev, "reg_mr: no NVDIMM region at %#lx\n",
				  at);
			return -EINVAL;
		}
		at = vma->vm_end;
		if (dev == region)
			continue;
		region = dev;
		err = media_region_kind(dev, durability);
		if (err)
			ibdev_dbg(ibdev, "reg_mr: %s needs more than a write-back\n",
				  dev_name(dev));
		else
			err = media_blocks(ibdev, umem, dev);
	}
	return err;
}

int cairn_media_check(struct ib_device *ibdev, const struct ib_umem *umem,
		      u8 *durability)
{
	int err;

	mmap_read_lock(current->mm);
	err = media_mappings(ibdev, umem, durability);
	mmap_read_unlock(current->mm);
	return err;
}

unsigned long cairn_media_synced(struct mm_struct *mm, unsigned long addr,
				 unsigned long length)
{
	struct vm_area_struct *vma;

	mmap_assert_locked(mm);
	vma = vma_lookup(mm, addr);
	if (!vma || !vma->vm_file || !(vma->vm_flags & VM_SYNC) ||
	    !S_ISREG(file_inode(vma->vm_file)->i_mode))
		return 0;
	return min(length, vma->vm_end - addr);
}

int cairn_media_check_files(struct ib_device *ibdev, u64 start, u64 length)
{
	unsigned long at = start, n = 1;

	if (start >= TASK_SIZE || length > TASK_SIZE - start)
		return -EINVAL;
	mmap_read_lock(current->mm);
	for (; at < start + length && n; at += n)
		n = cairn_media_synced(current->mm, at, start + length - at);
	mmap_read_unlock(current->mm);
	if (n)
		return 0;
	ibdev_dbg(ibdev, "reg_mr: no file with MAP_SYNC at %#lx\n", at);
	return -EINVAL;
}
