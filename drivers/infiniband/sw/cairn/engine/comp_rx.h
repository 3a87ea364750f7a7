/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Response packets, see engine/comp_rx.c. */
#ifndef CAIRN_ENGINE_COMP_RX_H
#define CAIRN_ENGINE_COMP_RX_H

#include "engine/qp.h"

/* Handle a response packet. Requester lock held. The caller runs cairn_req_run() after
 * the last packet of a batch.
 */
void cairn_comp_rx(struct cairn_qpc *qpc, const struct cairn_pkt *pkt, u64 now);

/* Is @pkt a NAK of the next packet to be sent? */
bool cairn_comp_is_nak_of_next(const struct cairn_requester *req,
			       const struct cairn_pkt *pkt);

#endif
