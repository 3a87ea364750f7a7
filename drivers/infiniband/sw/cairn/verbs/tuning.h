/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What an administrator tunes, see tuning.c. */
#ifndef CAIRN_VERBS_TUNING_H
#define CAIRN_VERBS_TUNING_H

#include <rdma/uverbs_ioctl.h>

/* The driver method, to be chained to the device's. */
extern const struct uapi_definition cairn_tuning_defs[];

#endif
