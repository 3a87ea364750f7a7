/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Properties of registered persistent memory that libnvdimm knows. */
#ifndef CAIRN_MEM_MEDIA_H
#define CAIRN_MEM_MEDIA_H

#include "verbs/verbs.h"

/**
 * cairn_media_check() - check that memory is fit for NIC flush
 * @ibdev: for the reason of a refusal, in the debug log
 * @umem: pinned memory of the calling process, pages of device-DAX
 * @durability: gets the weakest enum cairn_durability of the memory
 *
 * Context: process.
 * Return: 0; -EINVAL if a part belongs to no region of libnvdimm or is mapped no more,
 * the region needs more than a write-back, or there are bad blocks; -ENOMEM.
 */
int cairn_media_check(struct ib_device *ibdev, const struct ib_umem *umem,
		      u8 *durability);

/**
 * cairn_media_check_files() - check that memory is of files mapped with MAP_SYNC
 * @ibdev: for the reason of a refusal, in the debug log
 * @start: address in the calling process
 * @length: bytes
 *
 * Such memory is CAIRN_DURABILITY_ADR or better. Mappings may change after the check, so
 * cairn_media_synced() repeats it for each page.
 *
 * Context: process.
 * Return: 0 or -EINVAL.
 */
int cairn_media_check_files(struct ib_device *ibdev, u64 start, u64 length);

/* Bytes from @addr on, at most @length, that one mapping with MAP_SYNC has; 0: none. The
 * mmap lock of @mm is held.
 */
unsigned long cairn_media_synced(struct mm_struct *mm, unsigned long addr,
				 unsigned long length);

#endif
