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
 * Return: 0; -EINVAL if a part belongs to no region of libnvdimm, the region
 * needs more than a write-back, or there are bad blocks; -ENOMEM.
 */
int cairn_media_check(struct ib_device *ibdev, const struct ib_umem *umem,
		      u8 *durability);

#endif
