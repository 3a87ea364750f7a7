/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* How completions carry the information of <rdma/cairn.h> about durability. */
#ifndef CAIRN_VERBS_KAPI_H
#define CAIRN_VERBS_KAPI_H

#include "verbs/verbs.h"

/* Store the information for cairn_wc_persist() in a completion of a kernel consumer. Any
 * context.
 */
void cairn_kapi_put_persist(struct ib_wc *wc, const struct cairn_cqe *cqe);

#endif
