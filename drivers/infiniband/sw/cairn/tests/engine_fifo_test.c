// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The FIFO of a lane against an array that shifts. */
#include <linux/minmax.h>
#include "engine/fifo.h"
#include "ktap.h"

struct model {
	u32 n;
	u32 queue[CAIRN_FIFO_SIZE];
};

static bool fifo_is_same(const struct cairn_fifo *fifo, const struct model *model)
{
	u32 i;

	if (!ktap_eq(cairn_fifo_len(fifo), model->n))
		return false;
	for (i = 0; i < model->n; i++)
		if (!ktap_eq(cairn_fifo_peek(fifo, i), model->queue[i]))
			return false;
	return ktap_eq(cairn_fifo_full(fifo), model->n == CAIRN_FIFO_SIZE);
}

static bool fifo_push(struct cairn_fifo *fifo, struct model *model, u32 queue)
{
	bool room = model->n < CAIRN_FIFO_SIZE;

	if (room)
		model->queue[model->n++] = queue;
	return ktap_eq(cairn_fifo_push(fifo, queue), room);
}

static void fifo_drop(struct model *model, u32 i)
{
	model->n--;
	for (; i < model->n; i++)
		model->queue[i] = model->queue[i + 1];
}

static bool fifo_pop(struct cairn_fifo *fifo, struct model *model)
{
	u32 queue = 0, want = model->queue[0];
	bool any = model->n;

	if (any)
		fifo_drop(model, 0);
	return ktap_eq(cairn_fifo_pop(fifo, &queue), any) &&
	       (!any || ktap_eq(queue, want));
}

static bool fifo_purge(struct cairn_fifo *fifo, struct model *model, u32 queue)
{
	u32 i, n = 0;

	for (i = 0; i < model->n;) {
		if (model->queue[i] == queue) {
			fifo_drop(model, i);
			n++;
		} else {
			i++;
		}
	}
	return ktap_eq(cairn_fifo_purge(fifo, queue), n);
}

/* The counters start shortly before they wrap. */
static void random_steps(void)
{
	struct cairn_fifo fifo = { .head = -1000, .tail = -1000 };
	struct model model = {};
	bool ok = true;
	u32 n;

	for (n = 0; ok && n < 200000; n++) {
		u32 queue = ktap_rand_below(4);

		switch (ktap_rand_below(8)) {
		case 0:
			ok = fifo_purge(&fifo, &model, queue);
			break;
		case 1 ... 3:
			ok = fifo_pop(&fifo, &model);
			break;
		default:
			ok = fifo_push(&fifo, &model, queue);
		}
		ok = ok && fifo_is_same(&fifo, &model);
	}
}

static void purge_keeps_order(void)
{
	struct cairn_fifo fifo = {};
	struct model model = {};
	u32 i;

	for (i = 0; i < CAIRN_FIFO_SIZE; i++)
		fifo_push(&fifo, &model, i % 2 ? 1 : 100 + i);
	ktap_eq(cairn_fifo_purge(&fifo, 1), CAIRN_FIFO_SIZE / 2);
	for (i = 0; i < CAIRN_FIFO_SIZE / 2; i++)
		ktap_eq(cairn_fifo_peek(&fifo, i), 100 + 2 * i);
	ktap_eq(cairn_fifo_purge(&fifo, 7), 0);
	ktap_eq(cairn_fifo_purge(&fifo, 100), 1);
	ktap_eq(cairn_fifo_len(&fifo), CAIRN_FIFO_SIZE / 2 - 1);
}

static const struct ktap_test tests[] = {
	KTAP(random_steps),
	KTAP(purge_keeps_order),
};

KTAP_MAIN(tests)
