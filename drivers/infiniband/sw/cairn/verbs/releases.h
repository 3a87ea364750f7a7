/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Releases that a process does not wait for (origins.rst, E5): the deregistration
 * returns with a ticket, and a word that the process can read tells when the
 * memory may be used again.
 */
#ifndef CAIRN_VERBS_RELEASES_H
#define CAIRN_VERBS_RELEASES_H

#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/* Module start and stop; no device is left at the stop. Process context. */
int cairn_releases_start(void);
void cairn_releases_stop(void);

/* The context goes: waits for what is under way. Process context. */
void cairn_releases_destroy(struct cairn_ucontext *uc);

/**
 * cairn_releases_ask() - does the caller of dereg_mr want to be told later?
 * @mr: about to be deregistered
 * @udata: of dereg_mr; NULL: a kernel consumer
 *
 * If so it has its ticket, and @mr is ready for cairn_releases_begin().
 *
 * Context: process.
 * Return: 1 yes, 0 no, -EAGAIN (CAIRN_RELEASE_SLOTS are under way), -ENOMEM or
 * -EFAULT; on errors nothing has happened.
 */
int cairn_releases_ask(struct cairn_mr *mr, struct ib_udata *udata);

/* Release @mr, which is unreachable, when nobody uses it. Any context. */
void cairn_releases_begin(struct cairn_dev *dev, struct cairn_mr *mr);

/* The driver method, to be chained to the device's. */
extern const struct uapi_definition cairn_releases_uapi[];

#endif
