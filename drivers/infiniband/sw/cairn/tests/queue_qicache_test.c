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

/* No doorbell, only the pointer in space 3. */
static struct cairn_qi_told told_quietly(u32 host)
{
	return (struct cairn_qi_told){ .host = host };
}

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

static struct world qicache_world(u32 sets)
{
	struct world scene = {};

	scene.mem = calloc(sets * CAIRN_QI_WAYS, sizeof(*scene.mem));
	cairn_qicache_init(&scene.c, sets, scene.mem);
	return scene;
}

static void qicache_end(struct world *world)
{
	free(world->mem);
}

static struct model_way *model_find(struct world *world, u32 key)
{
	struct model_way *way = world->way[key % world->c.sets];
	u32 i;

	for (i = 0; i < CAIRN_QI_WAYS; i++)
		if (way[i].there && way[i].key == key)
			return &way[i];
	return NULL;
}

/* Return: number of evicted queues. */
static int model_put(struct world *world, u32 key, u32 ptr)
{
	struct model_way *way = world->way[key % world->c.sets], *found;
	int evicted = 0;
	u32 i;

	found = model_find(world, key);
	for (i = 0; !found && i < CAIRN_QI_WAYS; i++)
		if (!way[i].there)
			found = &way[i];
	for (i = 0; !found && i < CAIRN_QI_WAYS; i++)
		if (!way[i].used)
			found = &way[i];
	if (!found) {
		for (i = 0; i < CAIRN_QI_WAYS; i++)
			way[i].used = false;
		found = &way[0];
	}
	evicted = found->there && found->key != key;
	*found = (struct model_way){ true, true, key, ptr };
	return evicted;
}

/* A pointer ahead of @known by up to a ring, as the cache and the model have it. */
static bool look_agrees(struct world *world, u32 key, u32 known)
{
	struct cairn_qi_range range = { known, 64, known };
	struct model_way *way = model_find(world, key);
	bool want = way && way->ptr != known && way->ptr - known <= 64;
	u32 ptr = 0;

	if (!ktap_eq(cairn_qicache_seen(&world->c, key, &range, &ptr), want))
		return false;
	world->hits += want;
	world->misses += !want;
	if (!want)
		return true;
	way->used = true;
	return ktap_eq(ptr, way->ptr);
}

static bool put_agrees(struct world *world, u32 key, u32 host)
{
	struct cairn_qi_range range = { host - ktap_rand_below(65), 64 };
	int evicted = model_put(world, key, host);
	u32 ptr = 0;

	range.known = range.read;
	world->evicted += evicted;
	return ktap_eq(cairn_qicache_newest(&world->c, key, &range, told_quietly(host), &ptr),
		       evicted) && ktap_eq(ptr, host);
}

static bool qicache_step(struct world *world)
{
	u32 key = ktap_rand_below(ktap_rand_below(4) ? 10 : KEYS);
	struct model_way *way = model_find(world, key);

	switch (ktap_rand_below(8)) {
	case 0:
		if (way)
			way->there = false;
		cairn_qicache_drop(&world->c, key);
		return true;
	case 1:
	case 2:
		return put_agrees(world, key, ktap_rand());
	default:
		return look_agrees(world, key, way ? way->ptr - ktap_rand_below(70) :
					       ktap_rand());
	}
}

static void random_steps(void)
{
	u32 sets, n;

	for (sets = 1; sets <= SETS_MAX; sets *= 2) {
		struct world scene = qicache_world(sets);

		for (n = 0; n < 50000 && qicache_step(&scene); n++)
			;
		ktap_ok(scene.hits && scene.misses && scene.evicted);
		qicache_end(&scene);
	}
}

/* A used entry stays, an unused one is evicted. */
static void recently_used_stay(void)
{
	struct world scene = qicache_world(1);
	u32 key;

	for (key = 0; key < 1000 && !ktap.failures; key++) {
		put_agrees(&scene, 5000 + key, 1);
		/* found between any two that are not */
		if (!model_find(&scene, 7))
			put_agrees(&scene, 7, 1);
		look_agrees(&scene, 7, 0);
	}
	/* evicted only with the marks of all: every third time */
	ktap_ok(scene.hits == 1000);
	ktap_ok(scene.evicted < 1000 + 1000 / 2);
	qicache_end(&scene);
}

static void sizes(void)
{
	struct cairn_qi_range range = { 0, 64, 0 };
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
	ktap_eq(cairn_qicache_newest(&none, 3, &range, told_quietly(5), &ptr), 0);
	ktap_eq(ptr, 5);
	ktap_ok(!cairn_qicache_seen(&none, 3, &range, &ptr));
	cairn_qicache_drop(&none, 3);
}

/* The largest number of a queue, and others do not look like it. */
static void largest_key(void)
{
	struct cairn_qi_range range = { 10, 64, 10 };
	struct world scene = qicache_world(2);
	u32 ptr = 0;

	ktap_eq(cairn_qicache_newest(&scene.c, CAIRN_QI_MAX_KEY, &range, told_quietly(20),
				     &ptr), 0);
	ktap_ok(cairn_qicache_seen(&scene.c, CAIRN_QI_MAX_KEY, &range, &ptr));
	ktap_eq(ptr, 20);
	ktap_ok(!cairn_qicache_seen(&scene.c, CAIRN_QI_MAX_KEY - 2, &range, &ptr));
	ktap_ok(!cairn_qicache_seen(&scene.c, 0, &range, &ptr));
	qicache_end(&scene);
}

/* A queue whose counters do not wrap. */
struct queue {
	u32 depth;
	u64 read, known, host;
	u64 cached;		/* 0: nothing */
};

static struct cairn_qi_range qicache_range(const struct queue *queue)
{
	return (struct cairn_qi_range){ queue->read, queue->depth, queue->known };
}

static u64 qicache_max64(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* A doorbell that comes late, in time, or before space 3. */
static u64 qicache_ring(const struct queue *queue)
{
	u64 p = queue->host + ktap_rand_below(9) - 4;

	if (!ktap_rand_below(10))
		p = queue->read - ktap_rand_below(0x7ffffff0);
	return p - queue->read > queue->depth && p > queue->read ? queue->host : p;
}

static bool qicache_look(struct queue *queue, struct world *world)
{
	struct cairn_qi_range span = qicache_range(queue);
	struct cairn_qi_told told = told_quietly(queue->host);
	u64 newest, p = 0;
	u32 ptr = 0;

	if (queue->cached > queue->known) {
		newest = queue->cached;
		if (!ktap_ok(cairn_qicache_seen(&world->c, 1, &span, &ptr)))
			return false;
	} else {
		if (!ktap_ok(!cairn_qicache_seen(&world->c, 1, &span, &ptr)))
			return false;
		newest = qicache_max64(queue->known, queue->host);
		if (ktap_rand_below(2)) {
			p = qicache_ring(queue);
			told.rung = (struct cairn_qi_rung){ p, true };
			newest = qicache_max64(newest, p);
		}
		if (!ktap_eq(cairn_qicache_newest(&world->c, 1, &span, told, &ptr), 0))
			return false;
		queue->cached = newest;
	}
	/* a doorbell came first: space 3 follows */
	queue->host = qicache_max64(queue->host, newest);
	queue->known += ktap_rand_below(newest - queue->known + 1);
	return ktap_eq(ptr, (u32)newest);
}

/* Posting, looking, taking and completing, up to and over 2^32. */
static void newest_wins(void)
{
	u32 n, k;

	for (n = 0; n < 200 && !ktap.failures; n++) {
		struct world scene = qicache_world(1);
		struct queue queue = { .depth = 1u << ktap_rand_below(22) };

		queue.read = (1ULL << 33) - ktap_rand_below(4 * queue.depth) - 1;
		queue.known = queue.read;
		queue.host = queue.read;
		for (k = 0; k < 500; k++) {
			queue.host += ktap_rand_below(queue.read + queue.depth - queue.host +
						      1);
			if (!qicache_look(&queue, &scene))
				break;
			queue.read += ktap_rand_below(queue.known - queue.read + 1);
		}
		qicache_end(&scene);
	}
}

/* Whatever is not in the ring is refused, and the cache keeps what it had. */
static void impossible(void)
{
	static const u32 bases[] = { 0, 5, 0x7fffffff, 0x80000000, ~0u };
	u32 b, n;

	for (b = 0; b < 5; b++) {
		struct cairn_qi_range range = {
			bases[b], 256, bases[b] + 100,
		};
		struct world scene = qicache_world(1);
		u32 ptr;

		ktap_eq(cairn_qicache_newest(&scene.c, 1, &range,
					     told_quietly(range.read + 200), &ptr), 0);
		for (n = 0; n < 2000; n++) {
			u32 off = n < 50 ? n - 25 : n < 100 ? 206 + n :
				  ktap_rand();
			struct cairn_qi_told rung = {
				range.read + 120, { range.read + off, true },
			};
			bool in = off <= 256, late = (s32)off < 0;
			int ret;

			ret = cairn_qicache_newest(&scene.c, 1, &range,
						   told_quietly(range.read + off), &ptr);
			ktap_eq(ret, in ? 0 : -EINVAL);
			ret = cairn_qicache_newest(&scene.c, 1, &range, rung, &ptr);
			ktap_eq(ret, in || late ? 0 : -EINVAL);
			if (!ret)
				ktap_eq(ptr, range.read + (in && off > 120 ? off :
							   120));
			/* the cache knows a pointer of the ring or none */
			if (cairn_qicache_seen(&scene.c, 1, &range, &ptr))
				ktap_ok(ptr - range.read <= 256 &&
					ptr - range.read > 100);
			if (ktap.failures)
				break;
		}
		qicache_end(&scene);
	}
}

/* A pointer of long ago, when the ring has come round, is not taken for new. */
static void after_a_round(void)
{
	struct cairn_qi_range range = { 0, 64, 0 };
	struct world scene = qicache_world(1);
	u32 ptr;

	ktap_eq(cairn_qicache_newest(&scene.c, 1, &range, told_quietly(30), &ptr), 0);
	range = (struct cairn_qi_range){ 30, 64, 30 };
	ktap_ok(!cairn_qicache_seen(&scene.c, 1, &range, &ptr));
	/* nothing new: what is cached is what is known */
	ktap_eq(cairn_qicache_newest(&scene.c, 1, &range, told_quietly(30), &ptr), 0);
	range = (struct cairn_qi_range){ 60, 64, 60 };
	ktap_eq(cairn_qicache_newest(&scene.c, 1, &range, told_quietly(60), &ptr), 0);
	range = (struct cairn_qi_range){ 20, 64, 20 };
	ktap_ok(cairn_qicache_seen(&scene.c, 1, &range, &ptr));
	ktap_eq(ptr, 60);
	cairn_qicache_drop(&scene.c, 1);
	ktap_ok(!cairn_qicache_seen(&scene.c, 1, &range, &ptr));
	qicache_end(&scene);
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
