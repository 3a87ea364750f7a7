/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Address handles, and the path that an address vector names. */
#ifndef CAIRN_VERBS_AH_H
#define CAIRN_VERBS_AH_H

#include "verbs/verbs.h"

/* An address handle in the domain of @qp by number, or NULL. RCU read section.
 */
struct cairn_ah *cairn_ah_find(struct cairn_qp *qp, u32 num);

/**
 * cairn_ah_to_path() - the way to the peer that @attr names
 * @dev: the device that sends
 * @attr: address vector with a source GID of @dev
 * @flow_label: for the UDP source port when @attr has none, 20 bits, e.g.
 *	at random
 * @path: overwritten; holds no route
 *
 * Context: any.
 * Return: 0 or -EINVAL: no GRH, not RoCE v2, GIDs of two families, an unknown
 * static rate, or the source GID's netdev is gone or in another namespace.
 */
int cairn_ah_to_path(struct cairn_dev *dev, const struct rdma_ah_attr *attr,
		     u32 flow_label, struct cairn_path *path);

#endif
