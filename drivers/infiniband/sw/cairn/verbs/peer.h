/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Questions to the device of a peer about what it can make durable, and answers. */
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
 * @timeout_ms: 1..CAIRN_MAX_PEER_TIMEOUT, for all retransmissions of the question
 *
 * Context: process; sleeps until the answer arrives or the time is over.
 * Return: 0; -EINVAL: not connected, not RC, or @timeout_ms out of range; -EAGAIN: too
 * many callers; -ETIMEDOUT: no answer; -EPROTO: malformed answer; -EINTR: killed;
 * -ENODEV: the device is being unregistered; or the error of sending.
 */
int cairn_peer_query(struct cairn_qp *qp, struct cairn_peer_caps *caps,
		     u32 timeout_ms);

/* Ask the peer later, as a WRITE_PERSIST got no answer. If the peer does not know such
 * a request, it fails. Under the requester's lock.
 */
void cairn_peer_doubt(struct cairn_qp *qp);

/* The method, for the device's uapi_definition. */
extern const struct uapi_definition cairn_peer_defs[];

#endif
