// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The WQE FIFO against an array that shifts. */
#include <linux/minmax.h>
#include "engine/fifo.h"
#include "ktap.h"

struct model {
	u32 n;
	struct cairn_fifo_entry e[CAIRN_FIFO_SIZE];
};

static bool same(const struct cairn_fifo *f, const struct model *m)
{
	u32 i;

	if (!ktap_eq(cairn_fifo_len(f), m->n))
		return false;
	for (i = 0; i < m->n; i++)
		if (!ktap_eq(cairn_fifo_peek(f, i)->queue, m->e[i].queue) ||
		    !ktap_eq(cairn_fifo_peek(f, i)->wqe, m->e[i].wqe))
			return false;
	return ktap_eq(cairn_fifo_full(f), m->n == CAIRN_FIFO_SIZE);
}

static bool push(struct cairn_fifo *f, struct model *m, u32 queue, u32 wqe)
{
	bool room = m->n < CAIRN_FIFO_SIZE;

	if (room)
		m->e[m->n++] = (struct cairn_fifo_entry){ queue, wqe };
	return ktap_eq(cairn_fifo_push(f, queue, wqe), room);
}

static void drop(struct model *m, u32 i)
{
	m->n--;
	for (; i < m->n; i++)
		m->e[i] = m->e[i + 1];
}

static bool pop(struct cairn_fifo *f, struct model *m)
{
	struct cairn_fifo_entry e = {}, want = m->e[0];
	bool any = m->n;

	if (any)
		drop(m, 0);
	return ktap_eq(cairn_fifo_pop(f, &e), any) &&
	       (!any || (ktap_eq(e.queue, want.queue) &&
			 ktap_eq(e.wqe, want.wqe)));
}

static bool purge(struct cairn_fifo *f, struct model *m, u32 queue)
{
	u32 i, n = 0;

	for (i = 0; i < m->n;) {
		if (m->e[i].queue == queue) {
			drop(m, i);
			n++;
		} else {
			i++;
		}
	}
	return ktap_eq(cairn_fifo_purge(f, queue), n);
}

/* The counters start shortly before they wrap. */
static void random_steps(void)
{
	struct cairn_fifo f = { .head = -1000, .tail = -1000 };
	struct model m = {};
	bool ok = true;
	u32 n;

	for (n = 0; ok && n < 200000; n++) {
		u32 queue = ktap_rand_below(4);

		switch (ktap_rand_below(8)) {
		case 0:
			ok = purge(&f, &m, queue);
			break;
		case 1 ... 3:
			ok = pop(&f, &m);
			break;
		default:
			ok = push(&f, &m, queue, n);
		}
		ok = ok && same(&f, &m);
	}
}

static void purge_keeps_order(void)
{
	struct cairn_fifo f = {};
	struct model m = {};
	u32 i;

	for (i = 0; i < CAIRN_FIFO_SIZE; i++)
		push(&f, &m, i % 2, i);
	ktap_eq(cairn_fifo_purge(&f, 1), CAIRN_FIFO_SIZE / 2);
	for (i = 0; i < CAIRN_FIFO_SIZE / 2; i++)
		ktap_eq(cairn_fifo_peek(&f, i)->wqe, 2 * i);
	ktap_eq(cairn_fifo_purge(&f, 7), 0);
	ktap_eq(cairn_fifo_purge(&f, 0), CAIRN_FIFO_SIZE / 2);
	ktap_eq(cairn_fifo_len(&f), 0);
}

static const struct ktap_test tests[] = {
	KTAP(random_steps),
	KTAP(purge_keeps_order),
};

KTAP_MAIN(tests)
