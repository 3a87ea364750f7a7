// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * engine/mrcache.h: its lines one by one, then explored together with
 * engine/epoch.h: simulated CPUs run the very code, one access to shared memory
 * at a time in a random order, with stores that reach memory late. Runs look regions up
 * through the cache of their CPU, or fetch them ahead outside of a run. Releases remove
 * them from the table, count, advance and free. After every step the test checks that
 * no run finds or uses a region that has been freed after the advance. It also checks
 * that a hit is the region of the requested index.
 *
 * Negative controls: the same with one thing left out must be caught.
 */
#include "ktap.h"
#include "sim/cpus.h"
#include "engine/mrcache.c"

#define RUNNERS		3	/* the first of them; the others release */
#define SETS		2
#define INDICES		10	/* of the table: five for each set */
#define REGIONS		128	/* registered in all, one after the other */
#define RUNS		40	/* of each runner */
#define RELEASES	10	/* of each releaser */
#define MAX_STEPS	20000

enum mutant {
	NONE,
	NO_COUNT,		/* a release does not count */
	WRONG_SET,		/* it counts for another set */
	COUNT_LATE,		/* it counts after the advance */
	COUNT_FIRST,		/* it counts before the region leaves the table */
	FILL_ANYWAY,		/* filled also if the set was renewed meanwhile */
	NO_TAG,			/* any line of the set is a hit */
	NO_WAIT,		/* the memory is freed without the wait */
	MUTANTS
};

static struct {
	enum mutant mutant;
	u32 steps;
	/* what the CPUs share */
	struct cairn_epoch_cpu count[CPUS];
	struct cairn_epoch_cpu *counts[CPUS];
	u32 advances, drained;
	unsigned long released[SETS];
	u32 table[INDICES];
	int advancing;		/* the CPU that has the mutex, -1: none */
	/* of each CPU */
	struct cairn_mrcache cache[CPUS];
	struct cairn_mrcache_set sets[CPUS][SETS];
	/* known to the judge only */
	bool freed[REGIONS];
	u32 index[REGIONS];
	u32 regions;
	u32 hits;
	const char *why;
} m;

static void mrcache_broken(const char *why)
{
	if (!m.why)
		m.why = why;
}

/*
 * Memory.
 */

static u64 cpus_epoch_read(const void *mem, size_t size, const char *where)
{
	if (!cpus.me)		/* the tests of single lines */
		return cpus_read(mem, size);
	cpus_step();
	if (m.mutant == NO_WAIT && !strcmp(where, "cairn_epoch_inflight"))
		return 0;
	return cpus_read(mem, size);
}

static void cpus_epoch_write(void *mem, size_t size, u64 v)
{
	if (!cpus.me) {
		memcpy(mem, &v, size);
		return;
	}
	cpus_step();
	cpus_write(mem, size, v);
}

static void cpus_epoch_mb(const char *where)
{
	if (!cpus.me)
		return;
	cpus_step();
	cpus_flush(cpus.me);
}

/*
 * Runs. device/mrcache.c without the per-CPU allocator.
 */

static u32 region_of(void *mr)
{
	return (u32)(uintptr_t)mr;
}

/* The table's answer, kept. */
static u32 mrcache_ask(struct cairn_mrcache *cache, u32 index, bool ahead)
{
	enum cairn_mrcache_asked asked = cairn_mrcache_ask(cache, index, ahead);
	struct cairn_mrcache_set *set = &cache->set[index & cache->mask];
	u32 region;

	if (asked == CAIRN_MRCACHE_NO_LINE && ahead)
		return 0;
	region = cairn_epoch_read(&m.table[index]);
	/* what may come between: others of this CPU that use the same set */
	if (sim_chance(&cpus.rand, 300))
		cairn_mrcache_has(cache, index ^ SETS);
	if (m.mutant == FILL_ANYWAY && region) {
		set->mr[0] = (void *)(uintptr_t)region;
		set->tag[0] = index;
		set->state[0] = CAIRN_MRCACHE_VALID | CAIRN_MRCACHE_PRESENT;
	} else if (asked != CAIRN_MRCACHE_NO_LINE) {
		cairn_mrcache_fill(cache, index, (void *)(uintptr_t)region);
	}
	return region;
}

static u32 mrcache_find(struct cairn_mrcache *cache, u32 index)
{
	struct cairn_mrcache_set *set = &cache->set[index & cache->mask];
	u32 region = region_of(cairn_mrcache_find(cache, index)), way;

	for (way = 0; m.mutant == NO_TAG && !region && way < WAYS; way++)
		if (set->state[way] & CAIRN_MRCACHE_PRESENT)
			region = region_of(set->mr[way]);
	if (!region)
		return mrcache_ask(cache, index, false);
	m.hits++;
	if (m.index[region] != index)
		mrcache_broken("a hit is another index's region");
	return region;
}

static void mrcache_touch(u32 region)
{
	cpus_step();
	if (m.freed[region])
		mrcache_broken("a run touched a region that was freed");
}

static void one_run(void)
{
	u32 index = sim_below(&cpus.rand, INDICES), touches, region;
	struct cairn_mrcache *cache = &m.cache[cpus_me()];
	u32 tag;

	if (sim_chance(&cpus.rand, 300)) {
		/* ahead of the run, and maybe not needed then */
		if (!cairn_mrcache_has(cache, index))
			mrcache_ask(cache, index, true);
		if (sim_chance(&cpus.rand, 300))
			index = sim_below(&cpus.rand, INDICES);
	}
	tag = cairn_epoch_begin(&m.advances, m.counts[cpus_me()]);
	region = mrcache_find(cache, index);
	if (region && m.freed[region])
		mrcache_broken("a run found a region that was freed");
	else
		cpus.me->ref = region;
	for (touches = sim_below(&cpus.rand, 4); region && touches; touches--)
		mrcache_touch(region);
	cpus.me->ref = 0;
	cairn_epoch_end(m.counts[cpus_me()], tag);
}

static void mrcache_runner(void)
{
	u32 i;

	for (i = 0; i < RUNS; i++)
		one_run();
	cpus_flush(cpus.me);
}

/*
 * Releases.
 */

static void mrcache_pause(void *arg, u32 epoch)
{
	cpus.me->waits = true;
}

static void mrcache_pass(u32 ticket)
{
	const struct cairn_epoch_view view = {
		.advances = &m.advances,
		.drained = &m.drained,
		.cpu = m.counts,
		.cpus = CPUS,
		.pause = mrcache_pause,
	};

	for (;;) {
		cpus_step();
		if (m.advancing < 0)
			break;
		cpus.me->waits = true;
	}
	m.advancing = cpus_me();
	cpus_flush(cpus.me);
	cairn_epoch_pass(&view, ticket);
	cpus_flush(cpus.me);
	m.advancing = -1;
}

static void mrcache_count(u32 index)
{
	if (m.mutant == WRONG_SET)
		index++;
	if (m.mutant != NO_COUNT)
		cairn_mrcache_release(m.released, SETS - 1, index);
}

static void free_region(u32 region)
{
	u32 i;

	for (i = 0; i < CPUS; i++)
		if (cpus.cpu[i].ref == region)
			mrcache_broken("a region is freed that a run works with");
	m.freed[region] = true;
}

static void register_at(u32 index)
{
	m.index[++m.regions] = index;
	cairn_epoch_write(&m.table[index], m.regions);
}

/* Time for others. */
static void mrcache_dally(void)
{
	u32 n = sim_chance(&cpus.rand, 300) ? sim_below(&cpus.rand, 40) : 0;

	while (n--)
		cpus_step();
}

/* Each releaser has the indices of one set. */
static void mrcache_releaser(void)
{
	u32 i, index, region, ticket;

	for (i = 0; i < RELEASES; i++) {
		index = sim_below(&cpus.rand, INDICES / SETS) * SETS + cpus_me() % SETS;
		region = cairn_epoch_read(&m.table[index]);
		if (m.mutant == COUNT_FIRST)
			mrcache_count(index);
		mrcache_dally();
		cairn_epoch_write(&m.table[index], 0);
		if (m.mutant != COUNT_FIRST && m.mutant != COUNT_LATE)
			mrcache_count(index);
		ticket = cairn_epoch_ticket(&m.advances);
		mrcache_pass(ticket);
		free_region(region);
		if (m.mutant == COUNT_LATE)
			mrcache_count(index);
		mrcache_dally();
		register_at(index);
	}
	cpus_flush(cpus.me);
}

/*
 * The schedule.
 */

static void cpus_main(int n)
{
	if (n < RUNNERS)
		mrcache_runner();
	else
		mrcache_releaser();
}

static void mrcache_start(enum mutant mutant, u64 seed)
{
	u32 i;

	memset(&m, 0, sizeof(m));
	memset(&cpus, 0, sizeof(cpus));
	m.mutant = mutant;
	cpus.rand.state = seed * 0x9e3779b97f4a7c15ULL;
	m.advancing = -1;
	cpus.by_prio = sim_chance(&cpus.rand, 700);
	for (i = 0; i < INDICES; i++) {
		m.index[++m.regions] = i;
		m.table[i] = m.regions;
	}
	for (i = 0; i < CPUS; i++) {
		m.counts[i] = &m.count[i];
		m.cache[i] = (struct cairn_mrcache){ m.sets[i], m.released, SETS - 1 };
		cpus_boot(i);
	}
}

/* Two lines of a set with one tag, or a line that is pending and there? */
static bool lines_agree(void)
{
	u32 i, s, a, b;

	for (i = 0; i < CPUS; i++)
		for (s = 0; s < SETS; s++)
			for (a = 0; a < WAYS; a++) {
				struct cairn_mrcache_set *set = &m.sets[i][s];
				u8 st = set->state[a];

				if (st & CAIRN_MRCACHE_PENDING &&
				    st & CAIRN_MRCACHE_PRESENT)
					return false;
				for (b = a + 1; st && b < WAYS; b++)
					if (set->state[b] &&
					    set->tag[a] == set->tag[b])
						return false;
			}
	return true;
}

/* Return: a description of the failure, or NULL. */
static const char *mrcache_explore(enum mutant mutant, u64 seed)
{
	mrcache_start(mutant, seed);
	while (!m.why && !cpus_all_done()) {
		if (m.steps++ == MAX_STEPS)
			return "it never ends";
		if (cpus_turn() && mutant == NONE && !lines_agree())
			mrcache_broken("two lines have one tag, or a state is impossible");
	}
	return m.why;
}

static void never_a_hit_on_what_is_released(void)
{
	u64 seed, first = cpus_first_seed();
	u64 hits = 0;

	for (seed = first; seed < first + cpus_seeds(); seed++) {
		const char *why = mrcache_explore(NONE, seed);

		if (why) {
			ktap_fail("%s, after %u steps (CAIRN_SEED=%llu SEEDS=1)",
				  why, m.steps, (unsigned long long)seed);
			return;
		}
		hits += m.hits;
	}
	ktap_diag("%llu hits", (unsigned long long)hits);
	ktap_ok(hits > cpus_seeds());
}

static void must_be_caught(enum mutant mutant)
{
	u64 seed;

	for (seed = 1; seed <= 3000; seed++) {
		const char *why = mrcache_explore(mutant, seed);

		if (why) {
			ktap_diag("seed %llu: %s", (unsigned long long)seed, why);
			return;
		}
	}
	ktap_fail("3000 schedules show nothing wrong");
}

#define MUTANT(name, mutant)						\
static void name(void) { must_be_caught(mutant); }

MUTANT(without_invalidation, NO_COUNT)
MUTANT(with_the_wrong_set, WRONG_SET)
MUTANT(with_invalidation_after_the_turn, COUNT_LATE)
MUTANT(with_invalidation_before_the_table, COUNT_FIRST)
MUTANT(with_a_fill_after_a_release, FILL_ANYWAY)
MUTANT(without_the_tag, NO_TAG)
MUTANT(without_the_wait, NO_WAIT)

/*
 * Lines.
 */

#define REGION(i)	((void *)(uintptr_t)((i) + 1000))

static struct cairn_mrcache *one_cache(void)
{
	memset(&m, 0, sizeof(m));
	memset(&cpus, 0, sizeof(cpus));
	m.cache[0] = (struct cairn_mrcache){ m.sets[0], m.released, SETS - 1 };
	return &m.cache[0];
}

static enum cairn_mrcache_asked mrcache_fill(struct cairn_mrcache *cache, u32 index,
					     bool ahead)
{
	enum cairn_mrcache_asked asked = cairn_mrcache_ask(cache, index, ahead);

	if (asked != CAIRN_MRCACHE_NO_LINE)
		cairn_mrcache_fill(cache, index, REGION(index));
	return asked;
}

static void four_of_a_set_stay(void)
{
	struct cairn_mrcache *cache = one_cache();
	u32 i;

	for (i = 0; i < 4; i++)
		ktap_eq(mrcache_fill(cache, i * SETS, false), CAIRN_MRCACHE_FREE);
	ktap_eq(mrcache_fill(cache, 1, false), CAIRN_MRCACHE_FREE);
	for (i = 0; i < 4; i++)
		ktap_ok(cairn_mrcache_find(cache, i * SETS) == REGION(i * SETS));
	ktap_ok(cairn_mrcache_find(cache, 1) == REGION(1));
	ktap_ok(!cairn_mrcache_find(cache, 3));
	/* the fifth takes the place of one of its set */
	ktap_eq(mrcache_fill(cache, 8, false), CAIRN_MRCACHE_EVICTED);
	ktap_ok(cairn_mrcache_find(cache, 8) == REGION(8));
	ktap_ok(!cairn_mrcache_find(cache, 0));
	ktap_ok(cairn_mrcache_find(cache, 1) == REGION(1));
}

static void a_release_empties_its_set_alone(void)
{
	struct cairn_mrcache *cache = one_cache();

	mrcache_fill(cache, 0, false);
	mrcache_fill(cache, 2, false);
	mrcache_fill(cache, 1, false);
	cairn_mrcache_release(m.released, SETS - 1, 2);
	ktap_ok(!cairn_mrcache_find(cache, 2));
	ktap_ok(!cairn_mrcache_find(cache, 0));
	ktap_ok(cairn_mrcache_find(cache, 1) == REGION(1));
	ktap_eq(mrcache_fill(cache, 2, false), CAIRN_MRCACHE_FREE);
	ktap_ok(cairn_mrcache_find(cache, 2) == REGION(2));
}

static void a_miss_blocks_no_other_line(void)
{
	struct cairn_mrcache *cache = one_cache();

	mrcache_fill(cache, 0, false);
	ktap_eq(cairn_mrcache_ask(cache, 2, false), CAIRN_MRCACHE_FREE);
	ktap_eq(cairn_mrcache_ask(cache, 4, false), CAIRN_MRCACHE_FREE);
	ktap_ok(cairn_mrcache_find(cache, 0) == REGION(0));
	ktap_ok(!cairn_mrcache_find(cache, 2));
	ktap_ok(cairn_mrcache_has(cache, 2));
	/* asked for already: no second line */
	ktap_eq(cairn_mrcache_ask(cache, 2, false), CAIRN_MRCACHE_NO_LINE);
	/* the answers come in any order */
	cairn_mrcache_fill(cache, 4, REGION(4));
	cairn_mrcache_fill(cache, 2, NULL);
	ktap_ok(cairn_mrcache_find(cache, 4) == REGION(4));
	ktap_ok(!cairn_mrcache_has(cache, 2));
	/* one that a release overtook is not kept */
	cairn_mrcache_ask(cache, 2, false);
	cairn_mrcache_release(m.released, SETS - 1, 0);
	ktap_ok(!cairn_mrcache_has(cache, 2));
	cairn_mrcache_fill(cache, 2, REGION(2));
	ktap_ok(!cairn_mrcache_find(cache, 2));
}

static void what_is_fetched_ahead_stays_until_used(void)
{
	struct cairn_mrcache *cache = one_cache();
	u32 i;

	mrcache_fill(cache, 0, true);
	for (i = 1; i < 8; i++)
		mrcache_fill(cache, i * SETS, false);
	ktap_ok(cairn_mrcache_find(cache, 0) == REGION(0));
	for (i = 1; i < 8; i++)
		mrcache_fill(cache, i * SETS, false);
	ktap_ok(!cairn_mrcache_find(cache, 0));
	/* four of them: the next is refused, and a real use opens the set */
	cairn_mrcache_release(m.released, SETS - 1, 0);
	ktap_ok(!cairn_mrcache_find(cache, 0));
	for (i = 0; i < 4; i++)
		ktap_eq(mrcache_fill(cache, i * SETS, true), CAIRN_MRCACHE_FREE);
	ktap_eq(mrcache_fill(cache, 8, true), CAIRN_MRCACHE_NO_LINE);
	ktap_eq(mrcache_fill(cache, 8, true), CAIRN_MRCACHE_NO_LINE);
	ktap_eq(mrcache_fill(cache, 8, false), CAIRN_MRCACHE_NO_LINE);
	ktap_eq(mrcache_fill(cache, 8, false), CAIRN_MRCACHE_EVICTED);
	ktap_ok(cairn_mrcache_find(cache, 8) == REGION(8));
}

/* Looks @n regions up in turn, until the cache rests; returns how many look-ups. */
static u32 until_rest(struct cairn_mrcache *cache, u32 n, u32 most)
{
	u32 i;

	for (i = 0; i < most && !cairn_mrcache_rests(cache); i++) {
		if (cairn_mrcache_find(cache, i % n))
			continue;
		cairn_mrcache_missed(cache);
		mrcache_fill(cache, i % n, false);
	}
	return i;
}

static void a_cache_that_does_not_pay_rests(void)
{
	const u32 lines = SETS * WAYS;
	struct cairn_mrcache *cache = one_cache();
	u32 i;

	/* as many as it holds: all of them stay */
	ktap_eq(until_rest(cache, lines, 1000), 1000);
	ktap_eq(cache->misses, lines);
	/* one more in each set: in turn, each pushes the next one out */
	cache = one_cache();
	ktap_eq(until_rest(cache, lines + 2, 1000), 2 * lines);
	ktap_eq(cache->resting, CAIRN_MRCACHE_REST - 1);
	for (i = 1; i < CAIRN_MRCACHE_REST; i++)
		if (!cairn_mrcache_rests(cache))
			break;
	ktap_eq(i, CAIRN_MRCACHE_REST);
	/* then it has another trial, and pays now */
	ktap_ok(!cairn_mrcache_rests(cache));
	ktap_eq(until_rest(cache, lines, 1000), 1000);
}

/* A region that was fetched ahead hits when it is used. These hits alone do not keep the
 * cache from resting.
 */
static void what_is_fetched_ahead_is_a_miss(void)
{
	struct cairn_mrcache *cache = one_cache();
	u32 i;

	for (i = 0; i < 1000 && !cairn_mrcache_rests(cache); i++) {
		if (!cairn_mrcache_has(cache, i)) {
			cairn_mrcache_missed(cache);
			mrcache_fill(cache, i, true);
		}
		ktap_ok(cairn_mrcache_find(cache, i) == REGION(i));
	}
	ktap_eq(i, 2 * SETS * WAYS);
}

static const struct ktap_test tests[] = {
	KTAP(a_cache_that_does_not_pay_rests),
	KTAP(what_is_fetched_ahead_is_a_miss),
	KTAP(four_of_a_set_stay),
	KTAP(a_release_empties_its_set_alone),
	KTAP(a_miss_blocks_no_other_line),
	KTAP(what_is_fetched_ahead_stays_until_used),
	KTAP(never_a_hit_on_what_is_released),
	KTAP(without_invalidation),
	KTAP(with_the_wrong_set),
	KTAP(with_invalidation_after_the_turn),
	KTAP(with_invalidation_before_the_table),
	KTAP(with_a_fill_after_a_release),
	KTAP(without_the_tag),
	KTAP(without_the_wait),
};

KTAP_MAIN(tests)
