/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* FLUSH at the responder, see engine/flush_resp.c. */
#ifndef CAIRN_ENGINE_FLUSH_RESP_H
#define CAIRN_ENGINE_FLUSH_RESP_H

#include "engine/qp.h"

bool cairn_flush_valid(const struct cairn_qpc *qpc,
		       const struct cairn_pkt *pkt);
int cairn_flush_begin(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
int cairn_flush_run(struct cairn_qpc *qpc, struct cairn_budget *budget);

#endif
