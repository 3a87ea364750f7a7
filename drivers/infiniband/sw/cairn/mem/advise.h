/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Advice on on-demand regions. Its callers stop waiting when a device leaves.
 */
#ifndef CAIRN_MEM_ADVISE_H
#define CAIRN_MEM_ADVISE_H

#include "verbs/verbs.h"

void cairn_advise_init(struct cairn_dev *dev);

/* Callers stop waiting, now and while dev->leaving is set, which it is already. */
void cairn_advise_leave(struct cairn_dev *dev);

#endif
