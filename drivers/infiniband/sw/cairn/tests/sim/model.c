// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The definition of each work request: requests are executed one after the other on a
 * copy of the target's memory. No code here is the engine's.
 */
#include <stdlib.h>
#include "sim/flow.h"

static u8 *copy_of(const void *p, u32 len)
{
	u8 *c = malloc(len ?: 1);

	memcpy(c, p, len);
	return c;
}

static u8 *gather(struct flow *f, const struct flow_wr *wr)
{
	u8 *data = malloc(wr->len ?: 1);
	u32 i, at = 0;

	if (wr->flags & CAIRN_WQE_INLINE) {
		sim_fill(&f->s->rand, data, wr->len);
		return data;
	}
	for (i = 0; i < wr->local.n; i++) {
		memcpy(data + at, f->src->mem + wr->local.piece[i].off,
		       wr->local.piece[i].len);
		at += wr->local.piece[i].len;
	}
	return data;
}

static void store(struct flow *f, struct flow_wr *wr, const void *data, u32 len)
{
	wr->stored = copy_of(data, len);
	wr->stored_len = len;
	memcpy(f->model + wr->roff, data, len);
}

static void model_send(struct flow *f, struct flow_wr *wr)
{
	wr->data = gather(f, wr);
}

static void model_write(struct flow *f, struct flow_wr *wr)
{
	wr->data = gather(f, wr);
	store(f, wr, wr->data, wr->len);
}

static void model_read(struct flow *f, struct flow_wr *wr)
{
	wr->data = copy_of(f->model + wr->roff, wr->len);
}

static void model_atomic(struct flow *f, struct flow_wr *wr)
{
	u64 v;

	wr->data = copy_of(f->model + wr->roff, sizeof(v));
	memcpy(&v, wr->data, sizeof(v));
	if (wr->opcode == CAIRN_WQE_FAA)
		v += wr->compare_add;
	else if (v == wr->compare_add)
		v = wr->swap;
	store(f, wr, &v, sizeof(v));
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

void flow_model(struct flow *f, u32 i)
{
	struct flow_wr *wr = &f->wr[i];
	u32 pmtu = f->from->c.attrs.pmtu;

	models[wr->opcode](f, wr);
	wr->psn = f->psns;
	wr->npkts = wr->len ? (wr->len + pmtu - 1) / pmtu : 1;
	f->psns += wr->npkts;
}
