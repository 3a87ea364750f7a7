// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/string.h>
#include "device/nic.h"
#include "lane/lane.h"

/* Counter names for the event cairn_counted, by enum cairn_counter. Unused in a kernel
 * without tracepoints.
 */
static const struct {
	const char *name;
} trace_counters[] __maybe_unused = {
#define X(id, counter, doc) { .name = #counter },
	CAIRN_COUNTERS(X)
#undef X
};

#define CREATE_TRACE_POINTS
#include "device/trace.h"
