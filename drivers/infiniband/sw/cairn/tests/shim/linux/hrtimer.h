/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_HRTIMER_H
#define CAIRN_SHIM_LINUX_HRTIMER_H

#include <linux/types.h>

/* No timer runs on the host. */
struct hrtimer {
	u64 expires;
};

/* The test's clock. */
u64 ktime_get_ns(void);

#endif
