/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints: /sys/kernel/tracing/events/cairn, see Documentation/tracing.rst. Fields
 * are in host byte order. Times of events are the time stamps of the trace.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cairn

#if !defined(CAIRN_DEVICE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CAIRN_DEVICE_TRACE_H

#include <linux/tracepoint.h>
#include "engine/pace.h"
#include "lane/exec.h"
#include "wire/opcode.h"

#define CAIRN_TRACE_COUNTER_LEN	24

/* The first fields of each event: netdev of the device, and QP. */
#define CAIRN_TRACE_QP	__field(int, ifindex) __field(u32, qpn)
#define CAIRN_TRACE_QP_SET(exec)					\
	do {								\
		__entry->ifindex = (exec)->nic->ndev->ifindex;		\
		__entry->qpn = (exec)->qpc->qpn;			\
	} while (0)
#define CAIRN_TRACE_QP_FMT "ifindex=%d qpn=%u "
#define CAIRN_TRACE_QP_ARGS __entry->ifindex, __entry->qpn

/* Names of enum values. TRACE_DEFINE_ENUM() exports the values to user space tools. */
#define CAIRN_TRACE_WQES(each, last)					\
	each(WQE, SEND) each(WQE, SEND_IMM) each(WQE, SEND_INV)		\
	each(WQE, WRITE) each(WQE, WRITE_IMM) each(WQE, READ)		\
	each(WQE, CAS) each(WQE, FAA) each(WQE, LOCAL_INV)		\
	each(WQE, BIND_MW) each(WQE, REG_MR) each(WQE, WRITE_PERSIST)	\
	each(WQE, FLUSH) each(WQE, ATOMIC_WRITE)			\
	each(WQE, WRITE_PERSIST_IMM) last(WQE, PERSIST_DONE)

#define CAIRN_TRACE_KINDS(each, last)					\
	each(KIND, SEND) each(KIND, WRITE) each(KIND, READ_REQ)		\
	each(KIND, ATOMIC_REQ) each(KIND, ATOMIC_WRITE)			\
	each(KIND, FLUSH) each(KIND, READ_RESP) each(KIND, ACK)		\
	each(KIND, ATOMIC_ACK) each(KIND, CNP)				\
	each(KIND, WRITE_PERSIST) last(KIND, PERSIST_ACK)

#define CAIRN_TRACE_ENUM(of, name)	TRACE_DEFINE_ENUM(CAIRN_##of##_##name);
#define CAIRN_TRACE_TEXT(of, name)	{ CAIRN_##of##_##name, #name },
#define CAIRN_TRACE_LAST(of, name)	{ CAIRN_##of##_##name, #name }

CAIRN_TRACE_WQES(CAIRN_TRACE_ENUM, CAIRN_TRACE_ENUM)
CAIRN_TRACE_KINDS(CAIRN_TRACE_ENUM, CAIRN_TRACE_ENUM)
TRACE_DEFINE_ENUM(CAIRN_REQ);
TRACE_DEFINE_ENUM(CAIRN_RESP);

#define cairn_show_wqe(opcode)						\
	__print_symbolic(opcode,					\
			 CAIRN_TRACE_WQES(CAIRN_TRACE_TEXT, CAIRN_TRACE_LAST))
#define cairn_show_kind(kind)						\
	__print_symbolic(kind,						\
			 CAIRN_TRACE_KINDS(CAIRN_TRACE_TEXT, CAIRN_TRACE_LAST))
#define cairn_show_packets(side)					\
	__print_symbolic(side, { CAIRN_REQ, "requests" },		\
			 { CAIRN_RESP, "responses" })
#define cairn_show_queue(side)						\
	__print_symbolic(side, { CAIRN_REQ, "send" }, { CAIRN_RESP, "receive" })

/* A process rang the doorbell of a queue, or a kernel consumer posted sends. */
TRACE_EVENT(cairn_doorbell,
	    TP_PROTO(const struct cairn_exec *exec, enum cairn_side_id side,
		     u32 index),
	    TP_ARGS(exec, side, index),
	    TP_STRUCT__entry(CAIRN_TRACE_QP
			     __field(u8, side)
			     __field(u32, index) /* the write pointer */
			     ),
	    TP_fast_assign(CAIRN_TRACE_QP_SET(exec);
			   __entry->side = side;
			   __entry->index = index;
			   ),
	    TP_printk(CAIRN_TRACE_QP_FMT
		      "%s index=%u", CAIRN_TRACE_QP_ARGS, cairn_show_queue(__entry->side),
		      __entry->index)
);

/* The device has read a send queue's write pointer, and it has moved since the last
 * read.
 */
TRACE_EVENT_CONDITION(cairn_posted,
		      TP_PROTO(const struct cairn_exec *exec, u32 index,
			       u32 units),
		      TP_ARGS(exec, index, units),
		      TP_CONDITION(units),
		      TP_STRUCT__entry(CAIRN_TRACE_QP
				       __field(u32, index) /* write pointer */
				       __field(u32, units) /* since the last read */
				       ),
		      TP_fast_assign(CAIRN_TRACE_QP_SET(exec);
				     __entry->index = index;
				     __entry->units = units;
				     ),
		      TP_printk(CAIRN_TRACE_QP_FMT
				"index=%u units=%u", CAIRN_TRACE_QP_ARGS,
				__entry->index, __entry->units)
);

/* A work request was taken from the send queue and starts. */
TRACE_EVENT(cairn_request,
	    TP_PROTO(const struct cairn_exec *exec, const struct cairn_swr *swr),
	    TP_ARGS(exec, swr),
	    TP_STRUCT__entry(CAIRN_TRACE_QP
			     __field(u64, wr_id)
			     __field(u8, opcode) /* enum cairn_wqe_opcode */
			     __field(u8, status) /* not 0: refused */
			     __field(u32, length)
			     __field(u32, psn) /* the first */
			     __field(u32, psns) /* number of PSNs */
			     ),
	    TP_fast_assign(CAIRN_TRACE_QP_SET(exec);
			   __entry->wr_id = swr->wr_id;
			   __entry->opcode = swr->opcode;
			   __entry->status = swr->status;
			   __entry->length = swr->length;
			   __entry->psn = swr->psn;
			   __entry->psns = swr->npkts;
			   ),
	    TP_printk(CAIRN_TRACE_QP_FMT
		      "wr_id=%#llx %s length=%u psn=%u psns=%u status=%u",
		      CAIRN_TRACE_QP_ARGS, __entry->wr_id,
		      cairn_show_wqe(__entry->opcode), __entry->length,
		      __entry->psn, __entry->psns, __entry->status)
);

/* Packets of a QP leave, with consecutive PSNs. A train of messages does not leave if the
 * memory of one message is refused; messages before it then leave with another event.
 */
TRACE_EVENT(cairn_send,
	    TP_PROTO(const struct cairn_exec *exec, enum cairn_side_id side,
		     const struct cairn_train *train),
	    TP_ARGS(exec, side, train),
	    TP_STRUCT__entry(CAIRN_TRACE_QP
			     __field(u8, side)
			     __field(u8, opcode) /* BTH, of the first */
			     __field(u8, kind) /* enum cairn_kind */
			     __field(u8, syndrome) /* AETH */
			     __field(bool, again) /* retransmission */
			     __field(u32, psn) /* the first */
			     __field(u32, packets)
			     __field(u32, length) /* bytes of payload */
			     ),
	    TP_fast_assign(CAIRN_TRACE_QP_SET(exec);
			   __entry->side = side;
			   __entry->opcode = train->first.opcode;
			   __entry->kind =
				cairn_opcodes[train->first.opcode].kind;
			   __entry->syndrome = train->first.syndrome;
			   __entry->again = train->retransmit;
			   __entry->psn = train->first.psn;
			   __entry->packets = train->count;
			   __entry->length = train->length;
			   ),
	    TP_printk(CAIRN_TRACE_QP_FMT
		      "%s %s opcode=%#x psn=%u packets=%u length=%u syndrome=%#x%s",
		      CAIRN_TRACE_QP_ARGS,
		      cairn_show_packets(__entry->side),
		      cairn_show_kind(__entry->kind), __entry->opcode,
		      __entry->psn, __entry->packets, __entry->length,
		      __entry->syndrome, __entry->again ? " again" : "")
);

/* A packet for a QP was received. Its lengths and ICRC are right; the rest has not been
 * checked.
 */
TRACE_EVENT(cairn_received,
	    TP_PROTO(const struct cairn_exec *exec, enum cairn_side_id side,
		     const struct cairn_pkt *pkt),
	    TP_ARGS(exec, side, pkt),
	    TP_STRUCT__entry(CAIRN_TRACE_QP
			     __field(u8, side)
			     __field(u8, opcode) /* BTH */
			     __field(u8, kind) /* enum cairn_kind */
			     __field(u8, syndrome) /* AETH */
			     __field(bool, ack_req)
			     __field(bool, handed) /* by a sender on this host */
			     __field(u32, psn)
			     __field(u32, length) /* bytes of payload */
			     ),
	    TP_fast_assign(CAIRN_TRACE_QP_SET(exec);
			   __entry->side = side;
			   __entry->opcode = pkt->opcode;
			   __entry->kind = cairn_opcodes[pkt->opcode].kind;
			   __entry->syndrome =
				cairn_opcodes[pkt->opcode].hdrs & CAIRN_HDR_AETH ?
				pkt->syndrome : 0;
			   __entry->ack_req = pkt->ack_req;
			   __entry->handed = pkt->handed;
			   __entry->psn = pkt->psn;
			   __entry->length = pkt->payload_len;
			   ),
	    TP_printk(CAIRN_TRACE_QP_FMT
		      "%s %s opcode=%#x psn=%u length=%u syndrome=%#x%s%s",
		      CAIRN_TRACE_QP_ARGS,
		      cairn_show_packets(!__entry->side),
		      cairn_show_kind(__entry->kind), __entry->opcode,
		      __entry->psn, __entry->length, __entry->syndrome,
		      __entry->ack_req ? " ack_req" : "",
		      __entry->handed ? " handed" : "")
);

/* A completion is written to the CQ, if that has room (cq_overflows). Unsignaled
 * requests have no completion.
 */
TRACE_EVENT(cairn_completed,
	    TP_PROTO(const struct cairn_exec *exec, enum cairn_side_id side,
		     const struct cairn_cqe *cqe),
	    TP_ARGS(exec, side, cqe),
	    TP_STRUCT__entry(CAIRN_TRACE_QP
			     __field(u8, side)
			     __field(u8, opcode) /* enum cairn_cqe_opcode */
			     __field(u8, status) /* enum cairn_cqe_status */
			     __field(u64, wr_id)
			     __field(u32, length)
			     __field(u32, vendor_err)
			     ),
	    TP_fast_assign(CAIRN_TRACE_QP_SET(exec);
			   __entry->side = side;
			   __entry->opcode = cqe->opcode;
			   __entry->status = cqe->status;
			   __entry->wr_id = cqe->wr_id;
			   __entry->length = cqe->byte_len;
			   __entry->vendor_err = cqe->vendor_err;
			   ),
	    TP_printk(CAIRN_TRACE_QP_FMT
		      "%s wr_id=%#llx opcode=%u length=%u status=%u vendor_err=%#x",
		      CAIRN_TRACE_QP_ARGS,
		      cairn_show_queue(__entry->side), __entry->wr_id,
		      __entry->opcode, __entry->length, __entry->status,
		      __entry->vendor_err)
);

/* A counter of Documentation/counters.rst was increased for a QP. */
TRACE_EVENT(cairn_counted,
	    TP_PROTO(const struct cairn_exec *exec, enum cairn_counter counter,
		     u32 by),
	    TP_ARGS(exec, counter, by),
	    TP_STRUCT__entry(CAIRN_TRACE_QP
			     __field(u32, by)
			     __array(char, counter, CAIRN_TRACE_COUNTER_LEN)
			     ),
	    TP_fast_assign(CAIRN_TRACE_QP_SET(exec);
			   __entry->by = by;
			   strscpy(__entry->counter,
				   trace_counters[counter].name,
				   CAIRN_TRACE_COUNTER_LEN);
			   ),
	    TP_printk(CAIRN_TRACE_QP_FMT
		      "%s by=%u", CAIRN_TRACE_QP_ARGS, __entry->counter, __entry->by)
);

/*
 * A run of a rate-limited side has ended a wait for the rate, begun one, or both.
 * @waited: when the wait was due to end, ns; 0: there was none. @now: when it ended, ns.
 */
TRACE_EVENT(cairn_rate_turn,
	    TP_PROTO(const struct cairn_exec *exec, enum cairn_side_id side,
		     u64 waited, u64 now, u32 packets),
	    TP_ARGS(exec, side, waited, now, packets),
	    TP_STRUCT__entry(CAIRN_TRACE_QP
			     __field(bool, responder)
			     __field(u32, kbps)
			     __field(u32, packets) /* sent in the run */
			     __field(u32, count) /* packets sent of the current WQE */
			     __field(u64, late) /* ns, delay of the end of the wait */
			     __field(u64, wait) /* ns until the next run */
			     ),
	    TP_fast_assign(CAIRN_TRACE_QP_SET(exec);
			   __entry->responder = side == CAIRN_RESP;
			   __entry->kbps = cairn_pace_rate_of(exec->qpc, side)->kbps;
			   __entry->packets = packets;
			   __entry->count = side == CAIRN_REQ ?
					    exec->qpc->req.pkt : 0;
			   __entry->late = waited ? max(now, waited) - waited : 0;
			   __entry->wait = max(cairn_paced_until(exec->qpc, side),
					       now) - now;
			   ),
	    TP_printk(CAIRN_TRACE_QP_FMT
		      "%s kbps=%u packets=%u count=%u late=%llu wait=%llu",
		      CAIRN_TRACE_QP_ARGS,
		      __entry->responder ? "responses" : "requests",
		      __entry->kbps, __entry->packets, __entry->count,
		      __entry->late, __entry->wait)
);

#endif

/* Outside of the guard, because define_trace.h includes this file again. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH device
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
