/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_RATE_H
#define CAIRN_RATE_H

#include "dv.h"

/* Fills in the rates; they stay zero when the module is older. 0 or errno. */
int cairn_rate_query(struct ibv_qp *qp, struct cairndv_qp_attr *attr);

#endif /* CAIRN_RATE_H */
