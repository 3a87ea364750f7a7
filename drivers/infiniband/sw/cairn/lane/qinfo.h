/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Each lane has a queue-info cache (engine/qicache.h). */
#ifndef CAIRN_LANE_QINFO_H
#define CAIRN_LANE_QINFO_H

#include "engine/qicache.h"

struct cairn_exec;

/* The cache of the lane that a QP has joined. */
struct cairn_qicache *cairn_lane_qicache(const struct cairn_exec *x);

/* A cache for a queue without a QP: that of lane @n modulo the lanes. */
struct cairn_qicache *cairn_lane_qicache_nth(u32 n);

/* Memory for the module parameter's number of queues. 0 or -ENOMEM. */
int cairn_qicache_alloc(struct cairn_qicache *c);
void cairn_qicache_free(struct cairn_qicache *c);

#endif
