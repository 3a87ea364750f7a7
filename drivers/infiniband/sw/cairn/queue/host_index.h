/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The host's pointers, through the queue-info cache of a lane
 * (queue/qicache.h): the newest of what a doorbell said, what space 3 says and
 * what is cached (origins.rst, Q4).
 */
#ifndef CAIRN_QUEUE_HOST_INDEX_H
#define CAIRN_QUEUE_HOST_INDEX_H

#include "lane/exec.h"
#include "queue/queue.h"

/**
 * cairn_host_index_init() - give a queue a number for the cache
 * @queue: the queue, before anybody uses it
 *
 * Returns 0, -ENOMEM or -ENOSPC. Process context.
 */
int cairn_host_index_init(struct cairn_queue *queue);

/* The queue is not used any more. */
void cairn_host_index_free(struct cairn_queue *queue);

/* Its QP has joined a lane; nobody uses it yet. */
void cairn_host_index_join(struct cairn_queue *queue,
			   const struct cairn_exec *exec);

/* Forget what is cached and what was rung: the queue starts afresh. The queue's
 * lock held.
 */
void cairn_host_index_reset(struct cairn_queue *queue);

/* A doorbell came with @ptr. Any context. */
void cairn_host_index_rung(struct cairn_queue *queue, u32 ptr);

/**
 * cairn_host_index_newest() - how far the host is
 * @queue: the queue; its lock held
 * @nic: for counters
 * @read: the oldest that the pointer can be
 * @known: what has been acted on already, @read or ahead of it
 * @ptr: ahead of @known, or @known when the host is not further as of now
 *
 * Returns 0 or -EINVAL: not within a ring from @read on. Pairs as
 * cairn_queue_host_index() does. The pointer of a kernel queue is read as it is,
 * without a cache.
 */
int cairn_host_index_newest(struct cairn_queue *queue, struct cairn_nic *nic,
			    u32 read, u32 known, u32 *ptr);

/* The same, and space 3 is looked at in any case. */
int cairn_host_index_fresh(struct cairn_queue *queue, struct cairn_nic *nic,
			   u32 read, u32 known, u32 *ptr);

#endif
