/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Memory windows. */
#ifndef CAIRN_MW_H
#define CAIRN_MW_H

#include "cairn.h"

struct ibv_mw *cairn_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int cairn_dealloc_mw(struct ibv_mw *mw);
/* For windows of type 1; the others are bound by work requests of the program. */
int cairn_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind);

/* The part of an R_Key that the consumer chooses (IBTA 10.6.7.2). */
#define CAIRN_MW_KEY_MASK	0xffu

/* Fills the part of a BIND_MW beyond the header. @mw gives the upper bits of its new key,
 * @rkey the low ones. The new key is in mw->rkey on return, where programs read it.
 */
void cairn_mw_fill(struct cairn_send_wqe *wqe, struct ibv_mw *mw,
		   uint32_t rkey, const struct ibv_mw_bind_info *info);

#endif /* CAIRN_MW_H */
