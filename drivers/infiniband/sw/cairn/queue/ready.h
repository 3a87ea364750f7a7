/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ready map of a user context (rdma/cairn-abi.h): ready pages, which
 * lane/watch.h reads, and wake-up flags, which it writes.
 */
#ifndef CAIRN_QUEUE_READY_H
#define CAIRN_QUEUE_READY_H

#include "lane/exec.h"
#include "queue/queue.h"

struct cairn_ready;

/* Create the ready map for QPs of @ibuc on @nic. Process context. Return: the map, or
 * NULL without memory.
 */
struct cairn_ready *cairn_ready_create(struct ib_ucontext *ibuc,
				       struct cairn_nic *nic);

/* Free the map. No QP is left, and the context still has its mmap entries. */
void cairn_ready_destroy(struct cairn_ready *ready);

/**
 * cairn_ready_join() - give a QP a lane and a bit in its ready map
 * @ready: the owner's ready map
 * @exec: of the QP; cairn_exec_stop() gives the bit back
 * @desc: of its send queue; gets the offsets of bit and flag
 *
 * Context: process.
 * Return: 0, -ENOMEM or -ENOSPC.
 */
int cairn_ready_join(struct cairn_ready *ready, struct cairn_exec *exec,
		     struct cairn_ring_desc *desc);

/* The doorbell CAIRN_DOORBELL_ALL: serve all posts that are marked. Process context. */
void cairn_ready_ring_all(struct cairn_ready *ready);

#endif
