/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Posted work requests of kernel consumers. */
#ifndef CAIRN_VERBS_POST_H
#define CAIRN_VERBS_POST_H

#include "verbs/verbs.h"

/* Count the WQEs that have completed since the last call, before their units are
 * overwritten or the ring is replaced. Under sq_post_lock.
 */
void cairn_post_count_done(struct cairn_qp *qp);

#endif
