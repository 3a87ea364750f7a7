/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* READ and atomic requests at the responder, see engine/replay.c. */
#ifndef CAIRN_ENGINE_REPLAY_H
#define CAIRN_ENGINE_REPLAY_H

#include "engine/qp.h"

/* Called before a request is added. Return: false without memory for the table. */
bool cairn_replay_begin(struct cairn_qpc *qpc);
bool cairn_replay_add(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		      u32 npkts, u64 orig);
bool cairn_replay_room(struct cairn_qpc *qpc);
bool cairn_replay_duplicate(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
bool cairn_replay_run(struct cairn_qpc *qpc, struct cairn_budget *budget,
		      u64 now);

#endif
