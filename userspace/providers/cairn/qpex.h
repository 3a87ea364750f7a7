/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_QPEX_H
#define CAIRN_QPEX_H

#include "qp.h"

/* send_ops: enum ibv_qp_create_send_ops_flags */
bool cairn_qpex_supported(enum ibv_qp_type type, uint64_t send_ops);
/* Sets the calls of an extended QP. */
void cairn_qpex_fill(struct cairn_qp *qp);

#endif /* CAIRN_QPEX_H */
