/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ready map of a user context (rdma/cairn-abi.h): ready pages and wake-up
 * flags. lane/watch.h reads the one and writes the other.
 */
#ifndef CAIRN_QUEUE_READY_H
#define CAIRN_QUEUE_READY_H

#include "lane/exec.h"
#include "queue/queue.h"

struct cairn_ready;

/* For QPs of @ibuc on @nic; NULL: no memory. Process context. */
struct cairn_ready *cairn_ready_create(struct ib_ucontext *ibuc,
				       struct cairn_nic *nic);

/* No QP is left; while the context can still give back mmap entries. */
void cairn_ready_destroy(struct cairn_ready *ready);

/**
 * cairn_ready_join() - give a QP a lane and a bit in its ready map
 * @ready: of the owner
 * @exec: of the QP; cairn_exec_stop() gives the bit back
 * @desc: of its send queue, gets the place of bit and flag
 *
 * Returns 0, -ENOMEM or -ENOSPC. Process context.
 */
int cairn_ready_join(struct cairn_ready *ready, struct cairn_exec *exec,
		     struct cairn_ring_desc *desc);

#endif
