/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Release of memory regions (origins.rst, E2, E4, E5).
 *
 * A region is made unreachable (its key is taken away, cairn_key_free()), then
 * nobody touches it any more when the epoch has turned (lane/epoch.h). Only then
 * is it freed: at once for who waits, by a work item for who wants to be told
 * (verbs/releases.h).
 *
 * What depends on the application must not delay a release: host flush tokens
 * are revoked instead (verbs/persist.h).
 */
#ifndef CAIRN_VERBS_RELEASE_H
#define CAIRN_VERBS_RELEASE_H

#include "verbs/verbs.h"

/**
 * cairn_mr_release() - wait for the end of all accesses and free
 * @dev: the device
 * @mr: unreachable
 *
 * Context: process, sleeps.
 */
void cairn_mr_release(struct cairn_dev *dev, struct cairn_mr *mr);

/* Wait until who found @mr as it was before it changed has ended. Sleeps. */
void cairn_mr_changed(struct cairn_dev *dev, struct cairn_mr *mr);

#endif
