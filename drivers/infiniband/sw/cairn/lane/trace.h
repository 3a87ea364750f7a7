/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tracepoints: /sys/kernel/tracing/events/cairn. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cairn

#if !defined(CAIRN_LANE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CAIRN_LANE_TRACE_H

#include <linux/tracepoint.h>
#include "engine/pace.h"
#include "lane/exec.h"

/*
 * A side of a rate-limited QP had a turn that ended a wait, began one, or both.
 * @waited: when the wait was to end, 0: there was none; @now: when it ended.
 */
TRACE_EVENT(cairn_rate_turn,
	    TP_PROTO(const struct cairn_exec *x, enum cairn_side_id side,
		     u64 waited, u64 now, u32 packets),
	    TP_ARGS(x, side, waited, now, packets),
	    TP_STRUCT__entry(__field(int, ifindex)
			     __field(u32, qpn)
			     __field(bool, responder)
			     __field(u32, kbps)
			     __field(u32, packets) /* sent in the turn */
			     __field(u32, count) /* m of the current WQE */
			     __field(u64, late) /* ns, the wait that ended */
			     __field(u64, wait) /* ns until the next turn */
			     ),
	    TP_fast_assign(__entry->ifindex = x->nic->ndev->ifindex;
			   __entry->qpn = x->qpc->qpn;
			   __entry->responder = side == CAIRN_RESP;
			   __entry->kbps = cairn_rate_of(x->qpc, side)->kbps;
			   __entry->packets = packets;
			   __entry->count = side == CAIRN_REQ ?
					    x->qpc->req.pkt : 0;
			   __entry->late = waited ? max(now, waited) - waited : 0;
			   __entry->wait = max(cairn_paced_until(x->qpc, side),
					       now) - now;
			   ),
	    TP_printk("ifindex=%d qpn=%u %s kbps=%u packets=%u count=%u late=%llu wait=%llu",
		      __entry->ifindex, __entry->qpn,
		      __entry->responder ? "responses" : "requests",
		      __entry->kbps, __entry->packets, __entry->count,
		      __entry->late, __entry->wait)
);

#endif

/* Outside of the guard: it reads this file again. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH lane
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
