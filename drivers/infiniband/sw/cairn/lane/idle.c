// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/moduleparam.h>
#include "lane/nic.h"
#include "lane/watch.h"

/* Long enough for the next post of a process that is at it, short against what
 * waking a thread costs.
 */
static unsigned int idle_us = 50;
module_param(idle_us, uint, 0644);
MODULE_PARM_DESC(idle_us,
		 "microseconds that a device polls for posts before it sleeps, 0..1000000; 0: every post rings (default 50)");

u64 cairn_idle_ns(const struct cairn_nic *nic)
{
	u32 us = READ_ONCE(nic->idle_us);

	if (us == CAIRN_IDLE_DEFAULT)
		us = READ_ONCE(idle_us);
	return 1000ULL * min_t(u32, us, CAIRN_IDLE_MAX_US);
}
