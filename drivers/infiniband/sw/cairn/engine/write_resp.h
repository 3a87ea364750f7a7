/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* WRITE at the responder, see engine/write_resp.c. */
#ifndef CAIRN_ENGINE_WRITE_RESP_H
#define CAIRN_ENGINE_WRITE_RESP_H

#include "engine/qp.h"

/* Execute a packet of a WRITE. Return: false: it does not count as received. */
bool cairn_write_execute(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);

#endif
