/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keeps request packets that were received behind a gap (engine/hold.c).
 *
 * A QP may keep as much as one of its receive queues. Kept packets wait for the peer,
 * possibly for long. So there are also bounds for all QPs of a device, for all QPs of a
 * user and for all QPs that are connected to one peer (engine/quota.h).
 */
#ifndef CAIRN_DEVICE_HOLD_H
#define CAIRN_DEVICE_HOLD_H

#include <linux/rbtree.h>
#include <linux/skbuff.h>
#include "engine/env.h"

struct cairn_exec;

/* Under the responder's lock, or without other users. */
struct cairn_hold {
	struct rb_root runs;		/* clones of skbs by PSN; sk_buff.rbnode */
	u32 num;			/* of clones */
	u32 bytes;			/* their truesize */
	u32 peer;			/* hash for the quota; valid if num is not 0 */
};

static inline void cairn_hold_init(struct cairn_hold *hold)
{
	hold->runs = RB_ROOT;
}

/* Implement cairn_env_hold(), cairn_env_held() and cairn_env_drop_held(), where they are
 * documented.
 */
int cairn_hold_add(struct cairn_exec *exec, const struct cairn_pkt *pkt);
int cairn_hold_take(struct cairn_exec *exec, u32 psn, struct cairn_pkt *pkt);
void cairn_hold_purge(struct cairn_exec *exec);

#endif
