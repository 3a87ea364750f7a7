/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Address handles, and the path that an address vector describes. */
#ifndef CAIRN_VERBS_AH_H
#define CAIRN_VERBS_AH_H

#include "verbs/verbs.h"

/* The address handle with number @num in the protection domain of @qp, or NULL. RCU read
 * section.
 */
struct cairn_ah *cairn_ah_find(struct cairn_qp *qp, u32 num);

/**
 * cairn_ah_to_path() - make the path that an address vector describes
 * @dev: the device that sends
 * @attr: address vector with a source GID of @dev
 * @flow_label: 20 bits, for the UDP source port if @attr has no flow label
 * @path: overwritten; gets no route
 *
 * Context: any.
 * Return: 0; -EINVAL: no GRH, not RoCE v2, GIDs of different families, an unknown
 * static rate, or a source GID whose netdev has been removed or is in another
 * namespace; -EAFNOSUPPORT: IPv6 is off.
 */
int cairn_ah_to_path(struct cairn_dev *dev, const struct rdma_ah_attr *attr,
		     u32 flow_label, struct cairn_path *path);

#endif
