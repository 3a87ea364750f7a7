/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Between completions of the device and what <rdma/cairn.h> tells of them. */
#ifndef CAIRN_VERBS_KAPI_H
#define CAIRN_VERBS_KAPI_H

#include "verbs/verbs.h"

/* Put what cairn_wc_persist() finds into a completion of a kernel consumer. Any
 * context.
 */
void cairn_kapi_put_persist(struct ib_wc *wc, const struct cairn_cqe *cqe);

#endif
