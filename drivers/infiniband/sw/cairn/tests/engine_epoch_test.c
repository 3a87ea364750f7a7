// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Explores engine/epoch.h: simulated CPUs run it step by step, one memory operation
 * each, in an order that a seed chooses. Stores reach memory late: each CPU has a store
 * buffer, emptied in order, at any time, and by a full barrier. After every step the
 * test checks that no run still uses a region that has been freed.
 *
 * Some CPUs run the engine (enter, look up, touch, leave), others release regions
 * and register new ones in their place, in the way of device/epoch.c.
 *
 * Negative controls: the same with one thing left out of the scheme must be
 * caught within the seeds of a normal run.
 */
#include "ktap.h"
#include "sim/cpus.h"
#include "engine/epoch.h"

#define RUNNERS		3	/* the first of them; the others release */
#define SLOTS		2	/* keys */
#define REGIONS		64	/* registered in all, one after the other */
#define RUNS		8	/* of each runner */
#define RELEASES	5	/* of each releaser */
#define MAX_STEPS	20000

enum mutant {
	NONE,
	NO_WAIT,		/* the release does not wait */
	NO_RECHECK,		/* stragglers stay where they counted in */
	NO_RUN_BARRIER,		/* A */
	NO_ADVANCE_BARRIER,	/* D and F: unreachable late */
	NO_ADVANCE,		/* the sum is taken, the number stays */
	EARLY_TICKET,		/* an advance that is under way is taken for enough */
	MUTANTS
};

static struct {
	enum mutant mutant;
	u32 steps;
	/* what the CPUs share */
	struct cairn_epoch_cpu count[CPUS];
	struct cairn_epoch_cpu *counts[CPUS];
	u32 advances, drained;
	u32 table[SLOTS];
	int advancing;		/* the CPU that has the mutex, -1: none */
	/* known to the judge only */
	bool freed[REGIONS];
	u32 regions;
	const char *why;
} m;

static void epoch_broken(const char *why)
{
	if (!m.why)
		m.why = why;
}

/*
 * Memory.
 */

/* The newest own store that is still on the way, or memory. */
static u64 cpus_epoch_read(const void *mem, size_t size, const char *where)
{
	static u64 first[CPUS];
	u64 v;

	cpus_step();
	if (m.mutant == NO_WAIT && !strcmp(where, "cairn_epoch_inflight"))
		return 0;
	v = cpus_read(mem, size);
	/* cairn_epoch_begin() reads the number, counts in, and reads again. */
	if (m.mutant == NO_RECHECK && mem == &m.advances &&
	    !strcmp(where, "cairn_epoch_begin")) {
		if (first[cpus_me()]) {
			v = first[cpus_me()] - 1;
			first[cpus_me()] = 0;
		} else {
			first[cpus_me()] = v + 1;
		}
	}
	return v;
}

static void cpus_epoch_write(void *mem, size_t size, u64 v)
{
	cpus_step();
	if (m.mutant == NO_ADVANCE && mem == &m.advances)
		return;
	cpus_write(mem, size, v);
}

static void cpus_epoch_mb(const char *where)
{
	cpus_step();
	if (m.mutant == NO_RUN_BARRIER && !strcmp(where, "cairn_epoch_begin"))
		return;
	if (m.mutant == NO_ADVANCE_BARRIER && (!strcmp(where, "cairn_epoch_advance") ||
					    !strcmp(where, "cairn_epoch_ticket") ||
					    !strcmp(where, "cairn_epoch_inflight")))
		return;
	cpus_flush(cpus.me);
}

/*
 * Runs. device/epoch.h without the per-CPU allocator.
 */

static void epoch_touch(u32 region)
{
	cpus_step();
	if (m.freed[region])
		epoch_broken("a run touched a region that was freed");
}

static void one_run(void)
{
	u32 slot = sim_below(&cpus.rand, SLOTS), touches, region;
	struct cairn_epoch_cpu *cpu = m.counts[cpus_me()];
	u32 tag = cairn_epoch_begin(&m.advances, cpu);

	region = cairn_epoch_read(&m.table[slot]);
	if (region && !m.freed[region])
		cpus.me->ref = region;
	else if (region)
		epoch_broken("a run found a region that was freed");
	for (touches = sim_below(&cpus.rand, 12); region && touches; touches--)
		epoch_touch(region);
	cpus.me->ref = 0;
	cairn_epoch_end(cpu, tag);
}

static void epoch_runner(void)
{
	u32 i;

	for (i = 0; i < RUNS; i++)
		one_run();
	cpus_flush(cpus.me);
}

/*
 * Releases. device/epoch.c without mutex and clock.
 */

static void lock_turning(void)
{
	for (;;) {
		cpus_step();
		if (m.advancing < 0)
			break;
		cpus.me->waits = true;
	}
	m.advancing = cpus_me();
	cpus_flush(cpus.me);
}

static void epoch_pause(void *arg, u32 epoch)
{
	cpus.me->waits = true;
}

static void epoch_pass(u32 ticket)
{
	const struct cairn_epoch_view view = {
		.advances = &m.advances,
		.drained = &m.drained,
		.cpu = m.counts,
		.cpus = CPUS,
		.pause = epoch_pause,
	};

	lock_turning();
	cairn_epoch_pass(&view, ticket);
	cpus_flush(cpus.me);
	m.advancing = -1;
}

static void free_region(u32 region)
{
	u32 i;

	for (i = 0; i < CPUS; i++)
		if (cpus.cpu[i].ref == region)
			epoch_broken("a region is freed that a run works with");
	m.freed[region] = true;
}

static void register_at(u32 slot)
{
	cairn_epoch_write(&m.table[slot], ++m.regions);
}

static void epoch_releaser(void)
{
	u32 i, slot = cpus_me() % SLOTS, region, ticket;

	for (i = 0; i < RELEASES; i++) {
		region = cairn_epoch_read(&m.table[slot]);
		cairn_epoch_write(&m.table[slot], 0);
		ticket = cairn_epoch_ticket(&m.advances);
		if (m.mutant == EARLY_TICKET)
			ticket--;
		epoch_pass(ticket);
		free_region(region);
		register_at(slot);
	}
	cpus_flush(cpus.me);
}

/*
 * The schedule.
 */

static void cpus_main(int n)
{
	if (n < RUNNERS)
		epoch_runner();
	else
		epoch_releaser();
}

static void epoch_start(enum mutant mutant, u64 seed)
{
	u32 i;

	memset(&m, 0, sizeof(m));
	memset(&cpus, 0, sizeof(cpus));
	m.mutant = mutant;
	cpus.rand.state = seed * 0x9e3779b97f4a7c15ULL;
	m.advancing = -1;
	/* also over the end of the numbers */
	m.advances = m.drained = sim_below(&cpus.rand, 2) ? -2 : 6;
	cpus.by_prio = sim_chance(&cpus.rand, 700);
	for (i = 0; i < SLOTS; i++)
		m.table[i] = ++m.regions;
	for (i = 0; i < CPUS; i++) {
		m.counts[i] = &m.count[i];
		cpus_boot(i);
	}
}

/* At the end the counters in memory show that every run that began has ended. */
static void epoch_finish(void)
{
	u64 sum = 0;
	u32 i, k;

	for (i = 0; i < CPUS; i++)
		cpus_flush(&cpus.cpu[i]);
	for (k = 0; k < CPUS; k++)
		for (i = 0; i < 2; i++)
			sum += m.count[k].in[i] - m.count[k].out[i];
	if (sum)
		epoch_broken("a run was not counted out");
}

/* Return: a description of the failure, or NULL. */
static const char *epoch_explore(enum mutant mutant, u64 seed)
{
	epoch_start(mutant, seed);
	while (!m.why && !cpus_all_done()) {
		if (m.steps++ == MAX_STEPS)
			return "it never ends";
		cpus_turn();
	}
	if (!m.why && mutant == NONE)
		epoch_finish();
	return m.why;
}

static void nobody_touches_what_is_freed(void)
{
	u64 seed, first = cpus_first_seed();

	for (seed = first; seed < first + cpus_seeds(); seed++) {
		const char *why = epoch_explore(NONE, seed);

		if (why) {
			ktap_fail("%s, after %u steps (CAIRN_SEED=%llu SEEDS=1)",
				  why, m.steps, (unsigned long long)seed);
			return;
		}
	}
}

static void must_be_caught(enum mutant mutant)
{
	u64 seed;

	for (seed = 1; seed <= 3000; seed++) {
		const char *why = epoch_explore(mutant, seed);

		if (why) {
			ktap_diag("seed %llu: %s", (unsigned long long)seed, why);
			return;
		}
	}
	ktap_fail("3000 schedules show nothing wrong");
}

#define MUTANT(name, mutant)						\
static void name(void) { must_be_caught(mutant); }

MUTANT(without_the_wait, NO_WAIT)
MUTANT(without_the_second_look, NO_RECHECK)
MUTANT(without_the_barrier_of_a_run, NO_RUN_BARRIER)
MUTANT(without_the_barriers_of_a_release, NO_ADVANCE_BARRIER)
MUTANT(without_an_advance, NO_ADVANCE)
MUTANT(with_the_turn_under_way, EARLY_TICKET)

static const struct ktap_test tests[] = {
	KTAP(nobody_touches_what_is_freed),
	KTAP(without_the_wait),
	KTAP(without_the_second_look),
	KTAP(without_the_barrier_of_a_run),
	KTAP(without_the_barriers_of_a_release),
	KTAP(without_an_advance),
	KTAP(with_the_turn_under_way),
};

KTAP_MAIN(tests)
