// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queue-info cache against the simplest model, and the newest of several
 * pointers against counters that do not wrap.
 */
#include <linux/errno.h>
#include "queue/qicache.h"
#include "ktap.h"

#define SETS_MAX	8
#define KEYS		100

static const struct cairn_qi_rung no_rung;

/* One set as a list of queues. */
struct model_way {
	bool there, used;
	u32 key, ptr;
};

struct world {
	struct cairn_qicache c;
	atomic64_t *mem;
	struct model_way way[SETS_MAX][CAIRN_QI_WAYS];
	u32 hits, misses, evicted;
};

static struct world world(u32 sets)
{
	struct world w = {};

	w.mem = calloc(sets * CAIRN_QI_WAYS, sizeof(*w.mem));
	cairn_qicache_init(&w.c, sets, w.mem);
	return w;
}

static void end(struct world *w)
{
	free(w->mem);
}

static struct model_way *model_find(struct world *w, u32 key)
{
	struct model_way *way = w->way[key % w->c.sets];
	u32 i;

	for (i = 0; i < CAIRN_QI_WAYS; i++)
		if (way[i].there && way[i].key == key)
			return &way[i];
	return NULL;
}

/* Return: number of evicted queues. */
static int model_put(struct world *w, u32 key, u32 ptr)
{
	struct model_way *way = w->way[key % w->c.sets], *v;
	int evicted = 0;
	u32 i;

	v = model_find(w, key);
	for (i = 0; !v && i < CAIRN_QI_WAYS; i++)
		if (!way[i].there)
			v = &way[i];
	for (i = 0; !v && i < CAIRN_QI_WAYS; i++)
		if (!way[i].used)
			v = &way[i];
	if (!v) {
		for (i = 0; i < CAIRN_QI_WAYS; i++)
			way[i].used = false;
		v = &way[0];
	}
	evicted = v->there && v->key != key;
	*v = (struct model_way){ true, true, key, ptr };
	return evicted;
}

/* A pointer ahead of @known by up to a ring, as the cache and the model have it. */
static bool look_agrees(struct world *w, u32 key, u32 known)
{
	struct cairn_qi_range g = { known, 64, known };
	struct model_way *m = model_find(w, key);
	bool want = m && m->ptr != known && m->ptr - known <= 64;
	u32 ptr = 0;

	if (!ktap_eq(cairn_qicache_seen(&w->c, key, &g, &ptr), want))
		return false;
	w->hits += want;
	w->misses += !want;
	if (!want)
		return true;
	m->used = true;
	return ktap_eq(ptr, m->ptr);
}

static bool put_agrees(struct world *w, u32 key, u32 host)
{
	struct cairn_qi_range g = { host - ktap_rand_below(65), 64 };
	int evicted = model_put(w, key, host);
	u32 ptr = 0;

	g.known = g.read;
	w->evicted += evicted;
	return ktap_eq(cairn_qicache_newest(&w->c, key, &g, host, no_rung, &ptr),
		       evicted) && ktap_eq(ptr, host);
}

static bool step(struct world *w)
{
	u32 key = ktap_rand_below(ktap_rand_below(4) ? 10 : KEYS);
	struct model_way *m = model_find(w, key);

	switch (ktap_rand_below(8)) {
	case 0:
		if (m)
			m->there = false;
		cairn_qicache_drop(&w->c, key);
		return true;
	case 1:
	case 2:
		return put_agrees(w, key, ktap_rand());
	default:
		return look_agrees(w, key, m ? m->ptr - ktap_rand_below(70) :
					       ktap_rand());
	}
}

static void random_steps(void)
{
	u32 sets, n;

	for (sets = 1; sets <= SETS_MAX; sets *= 2) {
		struct world w = world(sets);

		for (n = 0; n < 50000 && step(&w); n++)
			;
		ktap_ok(w.hits && w.misses && w.evicted);
		end(&w);
	}
}

/* A used entry stays, an unused one is evicted. */
static void recently_used_stay(void)
{
	struct world w = world(1);
	u32 key;

	for (key = 0; key < 1000 && !ktap.failures; key++) {
		put_agrees(&w, 5000 + key, 1);
		/* found between any two that are not */
		if (!model_find(&w, 7))
			put_agrees(&w, 7, 1);
		look_agrees(&w, 7, 0);
	}
	/* evicted only with the marks of all: every third time */
	ktap_ok(w.hits == 1000);
	ktap_ok(w.evicted < 1000 + 1000 / 2);
	end(&w);
}

static void sizes(void)
{
	struct cairn_qi_range g = { 0, 64, 0 };
	struct cairn_qicache none = {};
	u32 ptr;

	ktap_eq(cairn_qicache_sets(0), 0);
	ktap_eq(cairn_qicache_sets(1), 1);
	ktap_eq(cairn_qicache_sets(4), 1);
	ktap_eq(cairn_qicache_sets(5), 2);
	ktap_eq(cairn_qicache_sets(1024), 256);
	ktap_eq(cairn_qicache_sets(65536), 16384);
	ktap_eq(cairn_qicache_sets(~0u), 16384);
	/* without memory it caches nothing */
	ktap_eq(cairn_qicache_newest(&none, 3, &g, 5, no_rung, &ptr), 0);
	ktap_eq(ptr, 5);
	ktap_ok(!cairn_qicache_seen(&none, 3, &g, &ptr));
	cairn_qicache_drop(&none, 3);
}

/* The largest number of a queue, and others do not look like it. */
static void largest_key(void)
{
	struct cairn_qi_range g = { 10, 64, 10 };
	struct world w = world(2);
	u32 ptr = 0;

	ktap_eq(cairn_qicache_newest(&w.c, CAIRN_QI_MAX_KEY, &g, 20, no_rung, &ptr),
		0);
	ktap_ok(cairn_qicache_seen(&w.c, CAIRN_QI_MAX_KEY, &g, &ptr));
	ktap_eq(ptr, 20);
	ktap_ok(!cairn_qicache_seen(&w.c, CAIRN_QI_MAX_KEY - 2, &g, &ptr));
	ktap_ok(!cairn_qicache_seen(&w.c, 0, &g, &ptr));
	end(&w);
}

/* A queue whose counters do not wrap. */
struct queue {
	u32 depth;
	u64 read, known, host;
	u64 cached;		/* 0: nothing */
};

static struct cairn_qi_range range(const struct queue *q)
{
	return (struct cairn_qi_range){ q->read, q->depth, q->known };
}

static u64 max64(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* A doorbell that comes late, in time, or before space 3. */
static u64 ring(const struct queue *q)
{
	u64 p = q->host + ktap_rand_below(9) - 4;

	if (!ktap_rand_below(10))
		p = q->read - ktap_rand_below(0x7ffffff0);
	return p - q->read > q->depth && p > q->read ? q->host : p;
}

static bool look(struct queue *q, struct world *w)
{
	struct cairn_qi_range g = range(q);
	struct cairn_qi_rung rung = {};
	u64 newest, p = 0;
	u32 ptr = 0;

	if (q->cached > q->known) {
		newest = q->cached;
		if (!ktap_ok(cairn_qicache_seen(&w->c, 1, &g, &ptr)))
			return false;
	} else {
		if (!ktap_ok(!cairn_qicache_seen(&w->c, 1, &g, &ptr)))
			return false;
		newest = max64(q->known, q->host);
		if (ktap_rand_below(2)) {
			p = ring(q);
			rung = (struct cairn_qi_rung){ p, true };
			newest = max64(newest, p);
		}
		if (!ktap_eq(cairn_qicache_newest(&w->c, 1, &g, q->host, rung, &ptr),
			     0))
			return false;
		q->cached = newest;
	}
	/* a doorbell came first: space 3 follows */
	q->host = max64(q->host, newest);
	q->known += ktap_rand_below(newest - q->known + 1);
	return ktap_eq(ptr, (u32)newest);
}

/* Posting, looking, taking and completing, up to and over 2^32. */
static void newest_wins(void)
{
	u32 n, k;

	for (n = 0; n < 200 && !ktap.failures; n++) {
		struct world w = world(1);
		struct queue q = { .depth = 1u << ktap_rand_below(22) };

		q.read = (1ULL << 33) - ktap_rand_below(4 * q.depth) - 1;
		q.known = q.read;
		q.host = q.read;
		for (k = 0; k < 500; k++) {
			q.host += ktap_rand_below(q.read + q.depth - q.host +
						  1);
			if (!look(&q, &w))
				break;
			q.read += ktap_rand_below(q.known - q.read + 1);
		}
		end(&w);
	}
}

/* Whatever is not in the ring is refused, and the cache keeps what it had. */
static void impossible(void)
{
	static const u32 bases[] = { 0, 5, 0x7fffffff, 0x80000000, ~0u };
	u32 b, n;

	for (b = 0; b < 5; b++) {
		struct cairn_qi_range g = {
			bases[b], 256, bases[b] + 100,
		};
		struct world w = world(1);
		u32 ptr;

		ktap_eq(cairn_qicache_newest(&w.c, 1, &g, g.read + 200, no_rung,
					     &ptr), 0);
		for (n = 0; n < 2000; n++) {
			u32 off = n < 50 ? n - 25 : n < 100 ? 206 + n :
				  ktap_rand();
			struct cairn_qi_rung rung = { g.read + off, true };
			bool in = off <= 256, late = (s32)off < 0;
			int ret;

			ret = cairn_qicache_newest(&w.c, 1, &g, g.read + off,
						   no_rung, &ptr);
			ktap_eq(ret, in ? 0 : -EINVAL);
			ret = cairn_qicache_newest(&w.c, 1, &g, g.read + 120, rung,
						   &ptr);
			ktap_eq(ret, in || late ? 0 : -EINVAL);
			if (!ret)
				ktap_eq(ptr, g.read + (in && off > 120 ? off :
						       120));
			/* the cache knows a pointer of the ring or none */
			if (cairn_qicache_seen(&w.c, 1, &g, &ptr))
				ktap_ok(ptr - g.read <= 256 &&
					ptr - g.read > 100);
			if (ktap.failures)
				break;
		}
		end(&w);
	}
}

/* A pointer of long ago, when the ring has come round, is not taken for new. */
static void after_a_round(void)
{
	struct cairn_qi_range g = { 0, 64, 0 };
	struct world w = world(1);
	u32 ptr;

	ktap_eq(cairn_qicache_newest(&w.c, 1, &g, 30, no_rung, &ptr), 0);
	g = (struct cairn_qi_range){ 30, 64, 30 };
	ktap_ok(!cairn_qicache_seen(&w.c, 1, &g, &ptr));
	/* nothing new: what is cached is what is known */
	ktap_eq(cairn_qicache_newest(&w.c, 1, &g, 30, no_rung, &ptr), 0);
	g = (struct cairn_qi_range){ 60, 64, 60 };
	ktap_eq(cairn_qicache_newest(&w.c, 1, &g, 60, no_rung, &ptr), 0);
	g = (struct cairn_qi_range){ 20, 64, 20 };
	ktap_ok(cairn_qicache_seen(&w.c, 1, &g, &ptr));
	ktap_eq(ptr, 60);
	cairn_qicache_drop(&w.c, 1);
	ktap_ok(!cairn_qicache_seen(&w.c, 1, &g, &ptr));
	end(&w);
}

static const struct ktap_test tests[] = {
	KTAP(random_steps),
	KTAP(recently_used_stay),
	KTAP(sizes),
	KTAP(largest_key),
	KTAP(newest_wins),
	KTAP(impossible),
	KTAP(after_a_round),
};

KTAP_MAIN(tests)
