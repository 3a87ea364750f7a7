/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Since 6.13 hrtimer_setup() replaces hrtimer_init(). */
#ifndef CAIRN_COMPAT_HRTIMER_H
#define CAIRN_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_HRTIMER_SETUP
typedef enum hrtimer_restart hrtimer_setup_fn(struct hrtimer *timer);

static inline void hrtimer_setup(struct hrtimer *timer,
				 hrtimer_setup_fn *expired, clockid_t clock,
				 enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = expired;
}
#endif

#endif
