/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A program of work requests from one QP to another, and a judge that knows the result
 * without asking the engine.
 *
 * While the program is made, every request is executed on a model of the target's
 * memory, in posting order. The judge then checks completions and packets. Completions
 * come in posting order, once, with the right contents. At the time of a completion the
 * data is in place. Fences hold. The limit of outstanding READs and atomics holds, and
 * that of end-to-end credits, except for one packet. At the end all memory equals the
 * model, including bytes outside of all destinations.
 *
 * A READ that is executed again may see data of later requests, unless a fence is in
 * between (IBTA table 79). So the judge accepts for each byte the model's value or one
 * that such a request writes.
 */
#ifndef CAIRN_SIM_FLOW_H
#define CAIRN_SIM_FLOW_H

#include "sim/sim.h"

struct flow_cfg {
	u32 wrs;		/* maximum number of requests */
	u32 max_len;		/* bytes of a random request */
	u32 area;		/* bytes of the target's region */
	u32 ops;		/* random ones: bits 1 << enum cairn_wqe_opcode */
	u32 max_sge;
	/* chances per mille */
	u16 signaled;
	u16 fence;
	u16 solicited;
	u16 inl;
	u16 starve;		/* of a round without posted receives */
	u32 recv_ahead;		/* receives kept posted */
	u32 round_ns;		/* longest time between rounds of the host */
};

extern const struct flow_cfg flow_default;

/* All data operations of RC. */
#define FLOW_OPS	(1 << CAIRN_WQE_SEND | 1 << CAIRN_WQE_SEND_IMM |   \
			 1 << CAIRN_WQE_SEND_INV | 1 << CAIRN_WQE_WRITE | \
			 1 << CAIRN_WQE_WRITE_IMM | 1 << CAIRN_WQE_READ | \
			 1 << CAIRN_WQE_CAS | 1 << CAIRN_WQE_FAA)

/* A range of bytes in the region that its owner implies. */
struct flow_piece {
	u32 off;
	u32 len;
};

struct flow_list {
	u32 n;
	struct flow_piece piece[CAIRN_MAX_SGE];
};

struct flow_wr {
	u8 opcode;
	u8 flags;
	u32 len;
	u32 roff;		/* in the target region */
	struct flow_list local;	/* in src, or in dst for READ and atomics */
	u8 *data;		/* data to send, or data that a READ returns */
	u8 *stored;		/* data that the target's memory gets */
	u32 stored_len;
	u64 compare_add;
	u64 swap;
	u32 imm;
	u32 recv;		/* the receive that it consumes, or FLOW_NONE */
	struct sim_mr *inv;	/* the region that SEND with invalidate ends */
	u32 psn;		/* relative to the first of the flow */
	u32 npkts;
	u32 end;		/* ring index behind it */
	u32 ssn;		/* number of its message, from 1; 0: not sent yet */
};

#define FLOW_NONE	(~0u)

struct flow_recv {
	struct flow_list list;	/* in rbuf */
	u32 wr;
};

struct flow {
	struct sim *s;
	struct flow_cfg cfg;
	struct sim_qp *from, *to;
	struct sim_mr *src;	/* at from: never written */
	struct sim_mr *dst;	/* at from: results of READs and atomics */
	struct sim_mr *target;	/* at to */
	struct sim_mr *rbuf;	/* at to: receive buffers */
	u8 *model;		/* of target */
	u32 dst_len, rbuf_len;
	u8 *dst_image, *rbuf_image;	/* contents before the flow */
	struct flow_wr *wr;
	u32 wrs, posted, completed;
	struct flow_recv *recv;
	u32 recvs, recv_posted, recv_done;
	u32 psns;
	/* Packets that were sent; PSNs are relative to the first. */
	u32 sent;		/* one past the last PSN requested or sent */
	u32 messages;		/* requests started; a long READ counts several times */
	u32 rd_last[256];	/* last PSNs of outstanding READs and atomics */
	u32 rd_out;
	/* Credits of the arriving AETHs; numbers are relative to the flow. */
	u32 ssn0;		/* SSN of the first request */
	s32 lsn;		/* requests that the receiver can take */
	bool lsn_known;
	u32 una;		/* PSNs that any answer acknowledged */
	u32 probe;		/* PSN in flight beyond the limit, or FLOW_NONE */
	bool started;
};

/* Create a flow, which becomes the judge of both QPs. They may be in any state. */
struct flow *flow_new(struct sim_qp *from, struct sim_qp *to,
		      const struct flow_cfg *cfg);
void flow_free(struct flow *flow);

/* Add one request; members that the caller does not set are random. */
struct flow_wr *flow_add(struct flow *flow, u8 opcode, u32 len);
/* Fill the program up with random requests. The last one is signaled. */
void flow_random(struct flow *flow);

/* Post requests and receives from now on, as the queues allow. */
void flow_start(struct flow *flow);
bool flow_done(const struct flow *flow);
/* When no events are left: compare everything with the model. */
void flow_check(struct flow *flow);

/* Start all flows, run until no events are left, check and free all. */
void flow_run(struct flow **f, u32 n);

/* model.c: execute request @i on the model. */
void flow_model(struct flow *flow, u32 i);

/* judge.c */
void flow_watch(struct flow *flow);

#endif
