/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_NET_DST_H
#define CAIRN_SHIM_NET_DST_H

struct dst_entry;

void dst_release(struct dst_entry *dst);

#endif
