// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "engine/fifo.h"

bool cairn_fifo_push(struct cairn_fifo *fifo, u32 queue)
{
	if (cairn_fifo_full(fifo))
		return false;
	fifo->queue[fifo->tail++ % CAIRN_FIFO_SIZE] = queue;
	return true;
}

bool cairn_fifo_pop(struct cairn_fifo *fifo, u32 *queue)
{
	if (!cairn_fifo_len(fifo))
		return false;
	*queue = cairn_fifo_peek(fifo, 0);
	fifo->head++;
	return true;
}

u32 cairn_fifo_purge(struct cairn_fifo *fifo, u32 queue)
{
	u32 n = cairn_fifo_len(fifo), kept = 0, i;

	for (i = 0; i < n; i++) {
		u32 other = cairn_fifo_peek(fifo, i);

		if (other != queue)
			fifo->queue[(fifo->head + kept++) % CAIRN_FIFO_SIZE] =
				other;
	}
	fifo->tail = fifo->head + kept;
	return n - kept;
}
