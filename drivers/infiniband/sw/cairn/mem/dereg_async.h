/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Deregistration without waiting (Documentation/origins.rst, E5): the call
 * returns with a ticket. A word that the process can read tells later that the
 * memory may be used again.
 */
#ifndef CAIRN_MEM_DEREG_ASYNC_H
#define CAIRN_MEM_DEREG_ASYNC_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/* Module start and stop; no device is left at the stop. Process context. */
int cairn_dereg_async_start(void);
void cairn_dereg_async_stop(void);

/* The context goes: waits for all pending tickets. Process context. */
void cairn_dereg_async_destroy(struct cairn_ucontext *uctx);

/**
 * cairn_dereg_async_ask() - does the caller of dereg_mr want to be told later?
 * @mr: about to be deregistered
 * @udata: of dereg_mr; NULL: a kernel consumer
 *
 * If so it has its ticket, and @mr is ready for cairn_dereg_async_begin().
 *
 * Context: process.
 * Return: 1 yes, 0 no, -EAGAIN (CAIRN_RELEASE_SLOTS are under way), -ENOMEM or
 * -EFAULT; on errors nothing has happened.
 */
int cairn_dereg_async_ask(struct cairn_mr *mr, struct ib_udata *udata);

/* Free the unreachable @mr as soon as nobody uses it. Any context. */
void cairn_dereg_async_begin(struct cairn_dev *dev, struct cairn_mr *mr);

/* The driver method, to be chained to the device's. */
extern const struct uapi_definition cairn_dereg_async_defs[];

#endif
