/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Received request packets that wait for one before them (engine/hold.c).
 *
 * A QP may keep as much as one of its receive queues. What is kept waits for the
 * peer and so may stay long: all QPs of a device have a bound, and those of a peer
 * (engine/quota.h).
 */
#ifndef CAIRN_DEVICE_HOLD_H
#define CAIRN_DEVICE_HOLD_H

#include <linux/rbtree.h>
#include <linux/skbuff.h>
#include "engine/env.h"

struct cairn_exec;

/* Runs of packets by PSN. The responder's lock, or nobody else left. */
struct cairn_hold {
	struct rb_root runs;		/* sk_buff.rbnode */
	u32 num;
	u32 bytes;			/* truesize */
	u32 peer;			/* of the quota, when there are any */
};

static inline void cairn_hold_init(struct cairn_hold *hold)
{
	hold->runs = RB_ROOT;
}

/* These do what cairn_env_hold(), cairn_env_held() and cairn_env_drop_held()
 * promise.
 */
int cairn_hold_add(struct cairn_exec *exec, const struct cairn_pkt *pkt);
int cairn_hold_take(struct cairn_exec *exec, u32 psn, struct cairn_pkt *pkt);
void cairn_hold_purge(struct cairn_exec *exec);

#endif
