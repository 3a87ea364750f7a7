// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The definition of each work request: requests are executed one after the other on a
 * copy of the target's memory. No code here is the engine's.
 */
#include <stdlib.h>
#include "sim/flow.h"

static u8 *copy_of(const void *mem, u32 len)
{
	u8 *bytes = malloc(len ?: 1);

	memcpy(bytes, mem, len);
	return bytes;
}

static u8 *model_gather(struct flow *flow, const struct flow_wr *wr)
{
	u8 *data = malloc(wr->len ?: 1);
	u32 i, at = 0;

	if (wr->flags & CAIRN_WQE_INLINE) {
		sim_fill(&flow->s->rand, data, wr->len);
		return data;
	}
	for (i = 0; i < wr->local.n; i++) {
		memcpy(data + at, flow->src->mem + wr->local.piece[i].off,
		       wr->local.piece[i].len);
		at += wr->local.piece[i].len;
	}
	return data;
}

static void model_store(struct flow *flow, struct flow_wr *wr, const void *data, u32 len)
{
	wr->stored = copy_of(data, len);
	wr->stored_len = len;
	memcpy(flow->model + wr->roff, data, len);
}

static void model_send(struct flow *flow, struct flow_wr *wr)
{
	wr->data = model_gather(flow, wr);
}

static void model_write(struct flow *flow, struct flow_wr *wr)
{
	wr->data = model_gather(flow, wr);
	model_store(flow, wr, wr->data, wr->len);
}

static void model_read(struct flow *flow, struct flow_wr *wr)
{
	wr->data = copy_of(flow->model + wr->roff, wr->len);
}

static void model_atomic(struct flow *flow, struct flow_wr *wr)
{
	u64 v;

	wr->data = copy_of(flow->model + wr->roff, sizeof(v));
	memcpy(&v, wr->data, sizeof(v));
	if (wr->opcode == CAIRN_WQE_FAA)
		v += wr->compare_add;
	else if (v == wr->compare_add)
		v = wr->swap;
	model_store(flow, wr, &v, sizeof(v));
}

static void (*const models[CAIRN_WQE_OPCODES])(struct flow *f,
					       struct flow_wr *wr) = {
	[CAIRN_WQE_SEND] = model_send,
	[CAIRN_WQE_SEND_IMM] = model_send,
	[CAIRN_WQE_SEND_INV] = model_send,
	[CAIRN_WQE_WRITE] = model_write,
	[CAIRN_WQE_WRITE_IMM] = model_write,
	[CAIRN_WQE_READ] = model_read,
	[CAIRN_WQE_CAS] = model_atomic,
	[CAIRN_WQE_FAA] = model_atomic,
};

void flow_model(struct flow *flow, u32 i)
{
	struct flow_wr *wr = &flow->wr[i];
	u32 pmtu = flow->from->c.attrs.pmtu;

	models[wr->opcode](flow, wr);
	wr->psn = flow->psns;
	wr->npkts = wr->len ? (wr->len + pmtu - 1) / pmtu : 1;
	flow->psns += wr->npkts;
}
