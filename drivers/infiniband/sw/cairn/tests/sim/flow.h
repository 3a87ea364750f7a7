/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A program of work requests from one QP to another, and a judge that knows
 * what must come of it without asking the engine.
 *
 * While the program is made, every request is executed on a model of the
 * target's memory, in posting order. The judge then watches completions and
 * packets: completions come in posting order, once, with the right contents;
 * at the time of a completion the data is where it belongs; fences hold; the
 * limit of outstanding READs and atomics holds, as does that of end-to-end
 * credits but for one packet. At the end all memory equals the model, bytes
 * outside of all destinations included.
 *
 * A READ that is executed again may see what later requests wrote, as long as
 * no fence stands between (IBTA table 79): the judge accepts for each byte the
 * model's value or one that such a request writes.
 */
#ifndef CAIRN_SIM_FLOW_H
#define CAIRN_SIM_FLOW_H

#include "sim/sim.h"

struct flow_cfg {
	u32 wrs;		/* requests at most */
	u32 max_len;		/* bytes of a random request */
	u32 area;		/* bytes of the target's region */
	u32 ops;		/* random ones: bits 1 << enum cairn_wqe_opcode */
	u32 max_sge;
	/* chances per mille */
	u16 signaled;
	u16 fence;
	u16 solicited;
	u16 inl;
	u16 starve;		/* that no receive is posted in a round */
	u32 recv_ahead;		/* receives kept posted */
	u32 round_ns;		/* the host looks again after up to this */
};

extern const struct flow_cfg flow_default;

/* All of RC's data operations. */
#define FLOW_OPS	(1 << CAIRN_WQE_SEND | 1 << CAIRN_WQE_SEND_IMM |   \
			 1 << CAIRN_WQE_SEND_INV | 1 << CAIRN_WQE_WRITE | \
			 1 << CAIRN_WQE_WRITE_IMM | 1 << CAIRN_WQE_READ | \
			 1 << CAIRN_WQE_CAS | 1 << CAIRN_WQE_FAA)

/* A run of bytes in the region that its owner implies. */
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
	u8 *data;		/* what is sent, or what a READ returns */
	u8 *stored;		/* what the target's memory gets */
	u32 stored_len;
	u64 compare_add;
	u64 swap;
	u32 imm;
	u32 recv;		/* that it consumes, or FLOW_NONE */
	struct sim_mr *inv;	/* what SEND with invalidate ends */
	u32 psn;		/* relative to the first of the flow */
	u32 npkts;
	u32 end;		/* ring index behind it */
	u32 ssn;		/* number of its message, from 1; 0: not sent */
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
	u8 *dst_image, *rbuf_image;	/* as they were before */
	struct flow_wr *wr;
	u32 wrs, posted, completed;
	struct flow_recv *recv;
	u32 recvs, recv_posted, recv_done;
	u32 psns;
	/* What has been on the wire; PSNs relative to the first. */
	u32 sent;		/* one past the last PSN asked for or sent */
	u32 messages;		/* requests begun; a long READ may be several */
	u32 rd_last[256];	/* last PSNs of READs and atomics under way */
	u32 rd_out;
	/* Credits as the arriving AETHs tell; numbers relative to the flow. */
	u32 ssn0;		/* SSN of the first request */
	s32 lsn;		/* requests that the receiver can take */
	bool lsn_known;
	u32 una;		/* PSNs that any answer acknowledged */
	u32 probe;		/* PSN beyond the limit on the way, FLOW_NONE */
	bool started;
};

/* Registers itself as the judge of both QPs; they may be in any state. */
struct flow *flow_new(struct sim_qp *from, struct sim_qp *to,
		      const struct flow_cfg *cfg);
void flow_free(struct flow *f);

/* Add one request; random where nothing is said. */
struct flow_wr *flow_add(struct flow *f, u8 opcode, u32 len);
/* Fill the program up with random ones. The last one is signaled. */
void flow_random(struct flow *f);

/* Post requests and receives from now on, as the queues allow. */
void flow_start(struct flow *f);
bool flow_done(const struct flow *f);
/* After the world came to rest: everything as the model says? */
void flow_check(struct flow *f);

/* Start all, run until nothing happens any more, check all, free all. */
void flow_run(struct flow **f, u32 n);

/* model.c: what a request does. */
void flow_model(struct flow *f, u32 i);

/* judge.c */
void flow_watch(struct flow *f);

#endif
