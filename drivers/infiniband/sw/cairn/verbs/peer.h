/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a peer's device can make durable: asked, and answered. */
#ifndef CAIRN_VERBS_PEER_H
#define CAIRN_VERBS_PEER_H

#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>
#include "verbs/verbs.h"

/* Module start and stop; no device is left at the stop. Process context. */
int cairn_peers_start(void);
void cairn_peers_stop(void);

void cairn_peers_init(struct cairn_peers *peers);

/**
 * cairn_peer_query() - ask the device at the other end of a connection
 * @qp: connected, RC
 * @caps: filled in; all zero: it does not know WRITE_PERSIST
 * @timeout_ms: 1..CAIRN_MAX_PEER_TIMEOUT, for all repetitions of the question
 *
 * Context: process; sleeps until the answer is there or the time is over.
 * Return: 0; -EINVAL: not connected, not RC, @timeout_ms; -EAGAIN: too many are
 * asking; -ETIMEDOUT: no answer; -EPROTO: one that cannot be; -EINTR: killed;
 * -ENODEV: the device goes; or what sending returns.
 */
int cairn_peer_query(struct cairn_qp *qp, struct cairn_peer_caps *caps,
		     u32 timeout_ms);

/* A WRITE_PERSIST has no answer: ask, and fail it if the peer does not know it.
 * Requester lock held.
 */
void cairn_peer_doubt(struct cairn_qp *qp);

/* The driver method, to be chained to the device's. */
extern const struct uapi_definition cairn_peer_defs[];

#endif
