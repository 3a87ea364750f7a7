/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Responses of READs and atomics, see engine/comp_read.c. Requester lock held. */
#ifndef CAIRN_ENGINE_COMP_READ_H
#define CAIRN_ENGINE_COMP_READ_H

#include "engine/qp.h"

/* Handle the response of a READ, or of an atomic. */
void cairn_comp_rx_read(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			u64 now);
void cairn_comp_rx_atomic(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			  u64 now);
/* Continue if the missing memory has been faulted in. Responses that had been dropped for
 * it are requested again.
 */
void cairn_comp_faulted_in(struct cairn_qpc *qpc);

#endif
