/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The queue-info caches (queue/qicache.h): one for each lane, so that its cache
 * lines stay with one CPU.
 */
#ifndef CAIRN_QUEUE_CACHE_H
#define CAIRN_QUEUE_CACHE_H

#include "queue/qicache.h"

/**
 * cairn_queue_caches_start() - allocate the caches, at module load
 *
 * cairn_lanes_start() comes first.
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int cairn_queue_caches_start(void);

/* Free them. No queue is left. Process context. */
void cairn_queue_caches_stop(void);

/* The cache of lane @number, modulo the lanes. Any context. */
struct cairn_qicache *cairn_queue_cache(u32 number);

#endif
