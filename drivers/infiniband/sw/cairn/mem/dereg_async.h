/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Deregistration without waiting (Documentation/origins.rst, E5): the call
 * returns a ticket. Later a word that the process can read says that the memory
 * may be used again.
 */
#ifndef CAIRN_MEM_DEREG_ASYNC_H
#define CAIRN_MEM_DEREG_ASYNC_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/* Module start and stop. No device is left at the stop. Process context. */
int cairn_dereg_async_start(void);
void cairn_dereg_async_stop(void);

/* Wait for all pending tickets, as the context ends. Process context. */
void cairn_dereg_async_destroy(struct cairn_ucontext *uctx);

/**
 * cairn_dereg_async_ask() - does the caller of dereg_mr want a ticket?
 * @mr: about to be deregistered
 * @udata: of dereg_mr; NULL for a kernel consumer
 *
 * If so, the caller gets its ticket and @mr is ready for
 * cairn_dereg_async_begin().
 *
 * Context: process.
 * Return: 1 yes, 0 no, -EAGAIN (CAIRN_RELEASE_SLOTS tickets are pending),
 * -ENOMEM or -EFAULT. On errors nothing has changed.
 */
int cairn_dereg_async_ask(struct cairn_mr *mr, struct ib_udata *udata);

/* Free @mr, which is unreachable, when all runs that may use it have ended. Any
 * context.
 */
void cairn_dereg_async_begin(struct cairn_dev *dev, struct cairn_mr *mr);

/* The driver method, for the uAPI definitions of the device. */
extern const struct uapi_definition cairn_dereg_async_defs[];

#endif
