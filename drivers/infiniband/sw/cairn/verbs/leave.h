/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Steps when a device leaves, before ib_uverbs takes it from its processes. */
#ifndef CAIRN_VERBS_LEAVE_H
#define CAIRN_VERBS_LEAVE_H

/* Module start and stop, while no device is registered. */
int cairn_leave_start(void);
void cairn_leave_stop(void);

#endif
