// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/moduleparam.h>
#include <linux/minmax.h>
#include "nic.h"
#include "lane/watch.h"

/* Long enough for the next post of a process that is at it, short against what
 * waking a thread costs.
 */
static unsigned int idle_us = 50;
module_param(idle_us, uint, 0644);
MODULE_PARM_DESC(idle_us,
		 "microseconds that lanes poll for posts before they sleep, 0..1000000; 0: every post rings; for devices without a time of their own (default 50)");

u32 cairn_idle_us(const struct cairn_nic *nic)
{
	u32 us = READ_ONCE(nic->idle_us);

	if (us == CAIRN_IDLE_DEFAULT)
		us = READ_ONCE(idle_us);
	return min_t(u32, us, CAIRN_IDLE_MAX_US);
}
