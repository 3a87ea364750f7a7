// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * engine/epoch.h, explored: simulated CPUs run it step by step, one memory
 * operation each, in an order that a seed chooses, and stores reach memory late
 * (a store buffer for each CPU, emptied in order, at any time, and by a full
 * barrier). After every step it is checked that nobody who found a region still
 * works with it when it is freed.
 *
 * Some CPUs run the engine (enter, look up, touch, leave), others release regions
 * and register new ones in their place, in the way of lane/epoch.c.
 *
 * Negative controls: the same with one thing left out of the scheme must be
 * caught within the seeds of a normal run.
 */
#include <ucontext.h>
#include <linux/kernel.h>
#include "ktap.h"
#include "sim/rand.h"

#define CAIRN_EPOCH_MODEL
#define cairn_epoch_read(p)						\
	((__typeof__(*(p)))model_read((const void *)(p), sizeof(*(p)), __func__))
#define cairn_epoch_write(p, v)	model_write((p), sizeof(*(p)), (v))
#define cairn_epoch_acquire(p)	cairn_epoch_read(p)
#define cairn_epoch_release(p, v)	cairn_epoch_write(p, v)
#define cairn_epoch_mb()	model_mb(__func__)

static u64 model_read(const void *p, size_t size, const char *where);
static void model_write(void *p, size_t size, u64 v);
static void model_mb(const char *where);

#include "engine/epoch.h"

#define CPUS		5
#define RUNNERS		3	/* the first of them; the others release */
#define SLOTS		2	/* keys */
#define REGIONS		64	/* registered in all, one after the other */
#define BUFFER		32	/* stores of a CPU on the way */
#define STACK		(64 * 1024)
#define RUNS		8	/* of each runner */
#define RELEASES	5	/* of each releaser */
#define MAX_STEPS	20000

enum mutant {
	NONE,
	NO_WAIT,		/* the release does not wait */
	NO_RECHECK,		/* stragglers stay where they counted in */
	NO_RUN_BARRIER,		/* A */
	NO_TURN_BARRIER,	/* D and F: unreachable late */
	NO_TURN,		/* the sum is taken, the number stays */
	EARLY_TICKET,		/* a turn that is under way is taken for enough */
	MUTANTS
};

struct store {
	void *p;
	u32 size;
	u64 v;
};

struct cpu {
	ucontext_t ctx;
	struct store buf[BUFFER];
	u32 first, stores;
	bool done;
	bool waits;		/* polled in vain; let others go on */
	u32 prio;
	u32 ref;		/* the region that a run works with, 0: none */
};

static struct {
	enum mutant mutant;
	struct sim_rand rand;
	ucontext_t main;
	struct cpu cpu[CPUS];
	struct cpu *me;
	bool by_prio;
	u32 steps;
	/* what the CPUs share */
	struct cairn_epoch_cpu count[CPUS];
	struct cairn_epoch_cpu *counts[CPUS];
	u32 turns, drained;
	u32 table[SLOTS];
	int turning;		/* who has the mutex, -1: nobody */
	/* known to the judge only */
	bool freed[REGIONS];
	u32 regions;
	const char *why;
} m;

static void broken(const char *why)
{
	if (!m.why)
		m.why = why;
}

static u32 me(void)
{
	return m.me - m.cpu;
}

/*
 * Memory.
 */

static void flush_one(struct cpu *c)
{
	struct store *st = &c->buf[c->first];

	memcpy(st->p, &st->v, st->size);
	c->first = (c->first + 1) % BUFFER;
	c->stores--;
}

static void flush(struct cpu *c)
{
	while (c->stores)
		flush_one(c);
}

static void step(void)
{
	swapcontext(&m.me->ctx, &m.main);
}

/* The newest own store that is still on the way, or memory. */
static u64 model_read(const void *p, size_t size, const char *where)
{
	static u64 first[CPUS];
	struct cpu *c = m.me;
	u64 v = 0;
	u32 i;

	step();
	if (m.mutant == NO_WAIT && !strcmp(where, "cairn_epoch_inflight"))
		return 0;
	memcpy(&v, p, size);
	for (i = 0; i < c->stores; i++) {
		struct store *st = &c->buf[(c->first + i) % BUFFER];

		if (st->p == p)
			v = st->v;
	}
	/* cairn_epoch_begin() reads the number, counts in, and reads again. */
	if (m.mutant == NO_RECHECK && p == &m.turns &&
	    !strcmp(where, "cairn_epoch_begin")) {
		if (first[me()]) {
			v = first[me()] - 1;
			first[me()] = 0;
		} else {
			first[me()] = v + 1;
		}
	}
	return v;
}

static void model_write(void *p, size_t size, u64 v)
{
	struct cpu *c = m.me;

	step();
	if (m.mutant == NO_TURN && p == &m.turns)
		return;
	if (c->stores == BUFFER)
		flush_one(c);
	c->buf[(c->first + c->stores++) % BUFFER] =
		(struct store){ p, (u32)size, v };
}

static void model_mb(const char *where)
{
	step();
	if (m.mutant == NO_RUN_BARRIER && !strcmp(where, "cairn_epoch_begin"))
		return;
	if (m.mutant == NO_TURN_BARRIER && (!strcmp(where, "cairn_epoch_turn") ||
					    !strcmp(where, "cairn_epoch_ticket") ||
					    !strcmp(where, "cairn_epoch_inflight")))
		return;
	flush(m.me);
}

/*
 * Runs. lane/epoch.h without the per-CPU allocator.
 */

static void touch(u32 region)
{
	step();
	if (m.freed[region])
		broken("a run touched a region that was freed");
}

static void one_run(void)
{
	u32 slot = sim_below(&m.rand, SLOTS), touches, region;
	struct cairn_epoch_cpu *c = m.counts[me()];
	u32 tag = cairn_epoch_begin(&m.turns, c);

	region = cairn_epoch_read(&m.table[slot]);
	if (region && !m.freed[region])
		m.me->ref = region;
	else if (region)
		broken("a run found a region that was freed");
	for (touches = sim_below(&m.rand, 12); region && touches; touches--)
		touch(region);
	m.me->ref = 0;
	cairn_epoch_end(c, tag);
}

static void runner(void)
{
	u32 i;

	for (i = 0; i < RUNS; i++)
		one_run();
	flush(m.me);
}

/*
 * Releases. lane/epoch.c without mutex and clock.
 */

static void lock_turning(void)
{
	for (;;) {
		step();
		if (m.turning < 0)
			break;
		m.me->waits = true;
	}
	m.turning = me();
	flush(m.me);
}

static void pause(void *arg, u32 epoch)
{
	m.me->waits = true;
}

static void pass(u32 ticket)
{
	lock_turning();
	cairn_epoch_pass(&m.turns, &m.drained, m.counts, CPUS, ticket, pause,
			 NULL);
	flush(m.me);
	m.turning = -1;
}

static void free_region(u32 region)
{
	u32 i;

	for (i = 0; i < CPUS; i++)
		if (m.cpu[i].ref == region)
			broken("a region is freed that a run works with");
	m.freed[region] = true;
}

static void register_at(u32 slot)
{
	cairn_epoch_write(&m.table[slot], ++m.regions);
}

static void releaser(void)
{
	u32 i, slot = me() % SLOTS, region, ticket;

	for (i = 0; i < RELEASES; i++) {
		region = cairn_epoch_read(&m.table[slot]);
		cairn_epoch_write(&m.table[slot], 0);
		ticket = cairn_epoch_ticket(&m.turns);
		if (m.mutant == EARLY_TICKET)
			ticket--;
		pass(ticket);
		free_region(region);
		register_at(slot);
	}
	flush(m.me);
}

/*
 * The schedule.
 */

static void cpu_main(int n)
{
	if (n < RUNNERS)
		runner();
	else
		releaser();
	m.cpu[n].done = true;
	swapcontext(&m.cpu[n].ctx, &m.main);
}

static void boot(struct cpu *c, u8 *stack)
{
	c->prio = sim_below(&m.rand, 1000);
	getcontext(&c->ctx);
	c->ctx.uc_stack.ss_sp = stack;
	c->ctx.uc_stack.ss_size = STACK;
	c->ctx.uc_link = &m.main;
	makecontext(&c->ctx, (void (*)(void))cpu_main, 1, (int)(c - m.cpu));
}

static void start(enum mutant mutant, u64 seed)
{
	static u8 stacks[CPUS][STACK];
	u32 i;

	memset(&m, 0, sizeof(m));
	m.mutant = mutant;
	m.rand.state = seed * 0x9e3779b97f4a7c15ULL;
	m.turning = -1;
	/* also over the end of the numbers */
	m.turns = m.drained = sim_below(&m.rand, 2) ? -2 : 6;
	m.by_prio = sim_chance(&m.rand, 700);
	for (i = 0; i < SLOTS; i++)
		m.table[i] = ++m.regions;
	for (i = 0; i < CPUS; i++) {
		m.counts[i] = &m.count[i];
		boot(&m.cpu[i], stacks[i]);
	}
}

/* Whose step is next: by chance, or the one of highest priority, which changes
 * now and then (so that some are left behind for long).
 */
static struct cpu *pick(void)
{
	struct cpu *best = NULL;
	u32 i, n = sim_below(&m.rand, CPUS);

	for (i = 0; i < CPUS; i++) {
		struct cpu *c = &m.cpu[(n + i) % CPUS];

		if (c->done || c->waits)
			continue;
		if (!best || (m.by_prio && c->prio > best->prio))
			best = c;
	}
	for (i = 0; i < CPUS; i++)
		if (!best || sim_chance(&m.rand, 100))
			m.cpu[i].waits = false;
	if (best && sim_chance(&m.rand, 30))
		best->prio = sim_below(&m.rand, 1000);
	return best;
}

static bool all_done(void)
{
	u32 i;

	for (i = 0; i < CPUS; i++)
		if (!m.cpu[i].done)
			return false;
	return true;
}

/* What began has ended, by the counters as they are in memory at the end. */
static void finish(void)
{
	u64 sum = 0;
	u32 i, k;

	for (i = 0; i < CPUS; i++)
		flush(&m.cpu[i]);
	for (k = 0; k < CPUS; k++)
		for (i = 0; i < 2; i++)
			sum += m.count[k].in[i] - m.count[k].out[i];
	if (sum)
		broken("somebody was not counted out");
}

/* Returns what went wrong, or NULL. */
static const char *explore(enum mutant mutant, u64 seed)
{
	start(mutant, seed);
	while (!m.why && !all_done()) {
		struct cpu *c;

		if (m.steps++ == MAX_STEPS)
			return "it never ends";
		if (sim_chance(&m.rand, 200)) {
			c = &m.cpu[sim_below(&m.rand, CPUS)];
			if (c->stores)
				flush_one(c);
			continue;
		}
		c = pick();
		if (!c)
			continue;
		m.me = c;
		swapcontext(&m.main, &c->ctx);
	}
	if (!m.why && mutant == NONE)
		finish();
	return m.why;
}

static u32 seeds(void)
{
	const char *env = getenv("SEEDS");

	return env ? (u32)strtoul(env, NULL, 0) : 3000;
}

static u64 first_seed(void)
{
	const char *env = getenv("CAIRN_SEED");

	return env ? strtoull(env, NULL, 0) : 1;
}

static void nobody_touches_what_is_freed(void)
{
	u64 seed, first = first_seed();

	for (seed = first; seed < first + seeds(); seed++) {
		const char *why = explore(NONE, seed);

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
		const char *why = explore(mutant, seed);

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
MUTANT(without_the_barriers_of_a_release, NO_TURN_BARRIER)
MUTANT(without_a_turn, NO_TURN)
MUTANT(with_the_turn_under_way, EARLY_TICKET)

static const struct ktap_test tests[] = {
	KTAP(nobody_touches_what_is_freed),
	KTAP(without_the_wait),
	KTAP(without_the_second_look),
	KTAP(without_the_barrier_of_a_run),
	KTAP(without_the_barriers_of_a_release),
	KTAP(without_a_turn),
	KTAP(with_the_turn_under_way),
};

KTAP_MAIN(tests)
