// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/moduleparam.h>
#include <linux/minmax.h>
#include "lane/watch.h"

#define CAIRN_IDLE_MAX_US	1000000u

/* Long enough for the next post of a process that is at it, short against what
 * waking a thread costs.
 */
static unsigned int idle_us = 50;
module_param(idle_us, uint, 0644);
MODULE_PARM_DESC(idle_us,
		 "microseconds that lanes poll for posts before they sleep, 0..1000000; 0: every post rings (default 50)");

u64 cairn_idle_ns(void)
{
	return 1000ULL * min(READ_ONCE(idle_us), CAIRN_IDLE_MAX_US);
}
