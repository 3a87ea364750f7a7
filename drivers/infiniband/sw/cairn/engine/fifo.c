// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "engine/fifo.h"

bool cairn_fifo_push(struct cairn_fifo *fifo, u32 queue, u32 wqe)
{
	struct cairn_fifo_entry *entry =
		&fifo->entry[fifo->tail % CAIRN_FIFO_SIZE];

	if (cairn_fifo_full(fifo))
		return false;
	entry->queue = queue;
	entry->wqe = wqe;
	fifo->tail++;
	return true;
}

bool cairn_fifo_pop(struct cairn_fifo *fifo, struct cairn_fifo_entry *entry)
{
	if (!cairn_fifo_len(fifo))
		return false;
	*entry = *cairn_fifo_peek(fifo, 0);
	fifo->head++;
	return true;
}

u32 cairn_fifo_purge(struct cairn_fifo *fifo, u32 queue)
{
	u32 n = cairn_fifo_len(fifo), kept = 0, i;

	for (i = 0; i < n; i++) {
		struct cairn_fifo_entry entry = *cairn_fifo_peek(fifo, i);

		if (entry.queue != queue)
			fifo->entry[(fifo->head + kept++) % CAIRN_FIFO_SIZE] =
				entry;
	}
	fifo->tail = fifo->head + kept;
	return n - kept;
}
