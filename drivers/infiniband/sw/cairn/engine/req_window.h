/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How much a requester may send, see engine/req_window.c. Requester lock held. */
#ifndef CAIRN_ENGINE_REQ_WINDOW_H
#define CAIRN_ENGINE_REQ_WINDOW_H

#include "engine/qp.h"

/* How many packets of @swr may be sent now; 0: wait for an answer. */
u32 cairn_req_allowed(struct cairn_qpc *qpc, const struct cairn_swr *swr);
/* Limit of packets in flight. */
u32 cairn_req_most_out(const struct cairn_qpc *qpc);
/* Outstanding READ requests and atomics. */
u32 cairn_req_reads_outstanding(struct cairn_qpc *qpc);
/* PSNs of the next READ request, up to the end of the chunk. */
u32 cairn_req_read_count(struct cairn_qpc *qpc, const struct cairn_swr *swr);

#endif
