/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The standard counters of the port, for InfiniBand tools. */
#ifndef CAIRN_VERBS_PMA_H
#define CAIRN_VERBS_PMA_H

#include <rdma/ib_mad.h>
#include "verbs/verbs.h"

/**
 * cairn_pma_get() - answer a datagram by which sysfs reads counters
 * @dev: the device
 * @in: GET of the performance management class
 * @out: the answer, zeroed by the caller
 *
 * Context: process.
 * Return: enum ib_mad_result.
 */
int cairn_pma_get(struct cairn_dev *dev, const struct ib_mad *in,
		  struct ib_mad *out);

#endif
