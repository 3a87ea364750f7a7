/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What libnvdimm knows of the persistent memory behind a registration. */
#ifndef CAIRN_MEM_MEDIA_H
#define CAIRN_MEM_MEDIA_H

#include "verbs/verbs.h"

/**
 * cairn_media_check() - is that memory fit for NIC flush?
 * @ibdev: for the reason, in the debug log
 * @umem: pinned memory of the calling process, pages of device-DAX
 * @durability: gets the enum cairn_durability of all of it
 *
 * Context: process.
 * Return: 0; -EINVAL: no region of libnvdimm is behind it, or one that needs
 * more than a write-back, or the memory has bad blocks; -ENOMEM.
 */
int cairn_media_check(struct ib_device *ibdev, const struct ib_umem *umem,
		      u8 *durability);

#endif
