/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The port's standard counters, as tools of InfiniBand read them. */
#ifndef CAIRN_VERBS_PMA_H
#define CAIRN_VERBS_PMA_H

#include <rdma/ib_mad.h>
#include "verbs/verbs.h"

/**
 * cairn_pma_get() - answer sysfs, which asks for counters by a datagram
 * @dev: the device
 * @in: GET of the performance management class
 * @out: the answer, zeroed by the caller
 *
 * Return: enum ib_mad_result. Process context.
 */
int cairn_pma_get(struct cairn_dev *dev, const struct ib_mad *in,
		  struct ib_mad *out);

#endif
