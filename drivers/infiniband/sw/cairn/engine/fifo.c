// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "engine/fifo.h"

bool cairn_fifo_push(struct cairn_fifo *f, u32 queue, u32 wqe)
{
	struct cairn_fifo_entry *e = &f->entry[f->tail % CAIRN_FIFO_SIZE];

	if (cairn_fifo_full(f))
		return false;
	e->queue = queue;
	e->wqe = wqe;
	f->tail++;
	return true;
}

bool cairn_fifo_pop(struct cairn_fifo *f, struct cairn_fifo_entry *e)
{
	if (!cairn_fifo_len(f))
		return false;
	*e = *cairn_fifo_peek(f, 0);
	f->head++;
	return true;
}

u32 cairn_fifo_purge(struct cairn_fifo *f, u32 queue)
{
	u32 n = cairn_fifo_len(f), kept = 0, i;

	for (i = 0; i < n; i++) {
		struct cairn_fifo_entry e = *cairn_fifo_peek(f, i);

		if (e.queue != queue)
			f->entry[(f->head + kept++) % CAIRN_FIFO_SIZE] = e;
	}
	f->tail = f->head + kept;
	return n - kept;
}
