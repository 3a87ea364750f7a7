/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_VERBS_STATS_H
#define CAIRN_VERBS_STATS_H

#include "nic.h"

/* A counter's value over all CPUs. Any context. */
u64 cairn_nic_sum(const struct cairn_nic *nic, enum cairn_counter counter);

#endif
