/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The host's pointers, read through the queue-info cache of a lane
 * (queue/qicache.h): the newest of the last doorbell, space 3 and the cache
 * (origins.rst, Q4).
 */
#ifndef CAIRN_QUEUE_HOST_INDEX_H
#define CAIRN_QUEUE_HOST_INDEX_H

#include "lane/exec.h"
#include "queue/queue.h"

/**
 * cairn_host_index_init() - give a queue a key for the cache
 * @queue: the queue, not in use yet
 *
 * Context: process.
 * Return: 0, -ENOMEM or -ENOSPC.
 */
int cairn_host_index_init(struct cairn_queue *queue);

/* Give the key back. The queue is not in use any more. */
void cairn_host_index_free(struct cairn_queue *queue);

/* Use the cache of the lane that the queue's QP has joined. The queue is not in use
 * yet.
 */
void cairn_host_index_join(struct cairn_queue *queue,
			   const struct cairn_exec *exec);

/* Drop the cached pointer and a pending doorbell, as the queue restarts from index 0.
 * The queue's lock held.
 */
void cairn_host_index_reset(struct cairn_queue *queue);

/* Record a doorbell with pointer @ptr. Any context. */
void cairn_host_index_rung(struct cairn_queue *queue, u32 ptr);

/**
 * cairn_host_index_newest() - the host's newest pointer
 * @queue: the queue; its lock held
 * @nic: for counters
 * @read: the oldest possible pointer
 * @known: handled already: @read or ahead of it
 * @ptr: ahead of @known, or @known when the host has not moved on yet
 *
 * Its barrier is that of cairn_queue_host_index(). The pointer of a kernel queue is
 * read without the cache.
 *
 * Return: 0; -EINVAL: the pointer is not within a ring from @read on.
 */
int cairn_host_index_newest(struct cairn_queue *queue, struct cairn_nic *nic,
			    u32 read, u32 known, u32 *ptr);

/* The same, but it always reads space 3. */
int cairn_host_index_fresh(struct cairn_queue *queue, struct cairn_nic *nic,
			   u32 read, u32 known, u32 *ptr);

#endif
