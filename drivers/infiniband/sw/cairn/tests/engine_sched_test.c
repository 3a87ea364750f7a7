// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The scheduler's bitmap and its shares against the simplest models. */
#include <linux/bitops.h>
#include "engine/sched.h"
#include "ktap.h"

#define SLOTS_MAX	300000u

struct world {
	struct cairn_sched s;
	void *mem;
	u8 *marked;
	u32 slots;
	u32 cursor;
};

static struct world sched_world(u32 slots)
{
	struct world scene = { .slots = slots };

	scene.mem = calloc(1, cairn_sched_bytes(slots));
	scene.marked = calloc(1, slots);
	cairn_sched_init(&scene.s, slots, scene.mem);
	return scene;
}

static void sched_end(struct world *world)
{
	free(world->mem);
	free(world->marked);
}

static void sched_mark(struct world *world, u32 slot)
{
	world->marked[slot] = 1;
	cairn_sched_set(&world->s, slot);
}

static void sched_clear(struct world *world, u32 slot)
{
	world->marked[slot] = 0;
	cairn_sched_clear(&world->s, slot);
}

/* The slot that must come next. */
static u32 sched_expected(const struct world *world)
{
	u32 i;

	for (i = 0; i < world->slots; i++) {
		u32 slot = (world->cursor + i) % world->slots;

		if (world->marked[slot])
			return slot;
	}
	return CAIRN_SCHED_NONE;
}

static bool next_agrees(struct world *world)
{
	u32 want = sched_expected(world), got = cairn_sched_next(&world->s);

	if (!ktap_eq(got, want))
		return false;
	if (got != CAIRN_SCHED_NONE)
		world->cursor = got + 1;
	return true;
}

static bool random_step(struct world *world)
{
	u32 slot = ktap_rand_below(world->slots);

	switch (ktap_rand_below(4)) {
	case 0:
		sched_mark(world, slot);
		return true;
	case 1:
		sched_clear(world, slot);
		return true;
	default:
		return next_agrees(world);
	}
}

/* Small, and around the sizes where a level begins. */
static void random_steps(void)
{
	static const u32 sizes[] = {
		1, 2, 63, 64, 65, 4095, 4096, 4097, 20000,
	};
	u32 i, n;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct world scene = sched_world(sizes[i]);
		bool ok = true;

		for (n = 0; ok && n < 20000; n++)
			ok = random_step(&scene);
		if (!ok)
			ktap_diag("%u slots, step %u", sizes[i], n);
		sched_end(&scene);
	}
}

/* A mark of many at once is that of each. */
static void words(void)
{
	struct world scene = sched_world(640);
	u32 n, i;

	for (n = 0; n < 2000; n++) {
		u32 word = ktap_rand_below(10);
		u64 mask = ktap_rand() & ktap_rand() & ktap_rand();

		if (mask)
			cairn_sched_mark(&scene.s, word, mask);
		for (i = 0; i < 64; i++)
			scene.marked[word * 64 + i] |= mask >> i & 1;
		for (i = 0; i < 5; i++) {
			u32 slot = sched_expected(&scene);

			if (!next_agrees(&scene))
				goto out;
			if (slot != CAIRN_SCHED_NONE)
				sched_clear(&scene, slot);
		}
	}
out:
	sched_end(&scene);
}

/* Every slot by itself, in the largest bitmap, from every kind of cursor. */
static void lonely(void)
{
	struct world scene = sched_world(SLOTS_MAX);
	u32 n;

	ktap_ok(!cairn_sched_any(&scene.s));
	for (n = 0; n < 3000; n++) {
		u32 slot = n < 2 ? n * (SLOTS_MAX - 1) :
				   ktap_rand_below(SLOTS_MAX);

		cairn_sched_set(&scene.s, slot);
		ktap_ok(cairn_sched_any(&scene.s));
		if (!ktap_eq(cairn_sched_next(&scene.s), slot) ||
		    !ktap_eq(cairn_sched_next(&scene.s), slot))
			break;
		cairn_sched_clear(&scene.s, slot);
		if (!ktap_eq(cairn_sched_next(&scene.s), CAIRN_SCHED_NONE))
			break;
		ktap_ok(!cairn_sched_any(&scene.s));
	}
	sched_end(&scene);
}

/* A marker that was overtaken leaves summary bits above nothing, or sets them
 * after another has found the word not empty.
 */
static void overtaken(void)
{
	struct world scene = sched_world(5000);
	u32 n;

	for (n = 0; n < 2000; n++) {
		u32 stale = ktap_rand_below(5000), slot;

		atomic64_fetch_or(1ULL << stale / 64 % 64,
				  &scene.s.level[1][stale / 4096]);
		atomic64_fetch_or(1ULL << stale / 4096, &scene.s.level[2][0]);
		if (n % 3 == 0)
			sched_mark(&scene, ktap_rand_below(5000));
		slot = sched_expected(&scene);
		if (!next_agrees(&scene))
			break;
		if (slot != CAIRN_SCHED_NONE && n % 2)
			sched_clear(&scene, slot);
		/* half way: level 0 only, and then a complete neighbour */
		slot = ktap_rand_below(4999) & ~1u;
		atomic64_fetch_or(1ULL << slot % 64, &scene.s.level[0][slot / 64]);
		scene.marked[slot] = 1;
		sched_mark(&scene, slot + 1);
	}
	sched_end(&scene);
}

/* A queue that always has messages of one size. */
struct queue {
	u32 size;
	s32 debt;
	u64 sent;
	u32 turns;
};

static void one_turn(struct queue *queue)
{
	s32 left = cairn_sched_share_begin(&queue->debt);

	if (left <= 0)
		return;
	queue->turns++;
	while (left > 0) {
		left -= queue->size;
		queue->sent += queue->size;
	}
	cairn_sched_share_end(&queue->debt, left);
}

/* No queue gets more than a quantum and a train ahead of another. */
static void fair_in_bytes(void)
{
	struct queue queue[101] = { { .size = 64000 } };
	u32 round, i;

	for (i = 1; i < 101; i++)
		queue[i].size = i < 51 ? 64 : 1 + ktap_rand_below(65536);
	for (round = 1; round <= 1000; round++) {
		for (i = 0; i < 101; i++)
			one_turn(&queue[i]);
		for (i = 0; i < 101; i++) {
			s64 fair = (s64)round * CAIRN_QUANTUM;

			if (!ktap_ok(queue[i].sent >= fair - 65536) ||
			    !ktap_ok(queue[i].sent < fair + 65536))
				return;
		}
	}
}

/* The longest train is paid in full, and a rest is not saved up. */
static void debts(void)
{
	s32 debt = 0, left;

	left = cairn_sched_share_begin(&debt);
	ktap_eq(left, CAIRN_QUANTUM);
	cairn_sched_share_end(&debt, left - 3 * CAIRN_QUANTUM);
	ktap_eq(debt, -2 * CAIRN_QUANTUM);
	ktap_ok(cairn_sched_share_begin(&debt) <= 0);
	ktap_ok(cairn_sched_share_begin(&debt) <= 0);
	ktap_eq(cairn_sched_share_begin(&debt), CAIRN_QUANTUM);
	cairn_sched_share_end(&debt, 5000);
	ktap_eq(cairn_sched_share_begin(&debt), CAIRN_QUANTUM);
}

static const struct ktap_test tests[] = {
	KTAP(random_steps),
	KTAP(words),
	KTAP(lonely),
	KTAP(overtaken),
	KTAP(fair_in_bytes),
	KTAP(debts),
};

KTAP_MAIN(tests)
