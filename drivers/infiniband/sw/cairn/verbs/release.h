/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Release of memory regions (mission E2, E4, E5).
 *
 * A region is made unreachable (its key is taken away, cairn_key_free()), then
 * nobody touches it any more when the epoch has turned (lane/epoch.h) and all
 * who hold the region itself have put it back. Only then is it freed: at once
 * for who waits, by a work item for who wants to be told.
 */
#ifndef CAIRN_VERBS_RELEASE_H
#define CAIRN_VERBS_RELEASE_H

#include "verbs/verbs.h"

struct cairn_releases;

/* Prepare @mr, not yet published: one user, its owner. */
void cairn_mr_life_init(struct cairn_mr *mr);

/**
 * cairn_mr_hold() - keep a memory region from being freed
 * @mr: found by its key in this run of the engine
 *
 * For what outlives the run and depends on the application, so that it must
 * not hold an epoch: the host is to make bytes of the region durable, say.
 * Delays the release of this region only. New accesses are refused all the
 * same once the release has begun.
 *
 * A release waits for the put, also the one that a dying process causes: so
 * whoever holds must put by himself when the queue pair, by which he found the
 * region, goes to the error state, is reset or is destroyed, and not depend on
 * the application's answer alone.
 *
 * Context: in the run.
 */
void cairn_mr_hold(struct cairn_mr *mr);

/* The end of a hold. @mr may be gone afterwards. Any context. */
void cairn_mr_put(struct cairn_mr *mr);

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
