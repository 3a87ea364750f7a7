/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Simulated CPUs that run a piece of code step by step, one memory operation each,
 * in an order that a seed chooses. Stores reach memory late: each CPU has a store
 * buffer, emptied in order, at any time, and by a full barrier.
 *
 * A test includes this before engine/epoch.h. It supplies cpus_main(), the program of a
 * CPU, and the three functions cpus_epoch_*() for the accesses of engine/epoch.h. These
 * call cpus_read(), cpus_write() and cpus_mb(), or leave one out on purpose. The test
 * boots the CPUs and calls cpus_turn().
 */
#ifndef CAIRN_SIM_CPUS_H
#define CAIRN_SIM_CPUS_H

#include <ucontext.h>
#include <linux/kernel.h>
#include "sim/rand.h"

#define CAIRN_EPOCH_MODEL
#define cairn_epoch_read(p)						\
	((__typeof__(*(p)))cpus_epoch_read((const void *)(p), sizeof(*(p)), __func__))
#define cairn_epoch_write(p, v)	cpus_epoch_write((p), sizeof(*(p)), (v))
#define cairn_epoch_acquire(p)	cairn_epoch_read(p)
#define cairn_epoch_release(p, v)	cairn_epoch_write(p, v)
#define cairn_epoch_mb()	cpus_epoch_mb(__func__)

static u64 cpus_epoch_read(const void *p, size_t size, const char *where);
static void cpus_epoch_write(void *p, size_t size, u64 v);
static void cpus_epoch_mb(const char *where);
static void cpus_main(int n);

#define CPUS		5
#define CPUS_BUFFER	32	/* stores of a CPU in flight */
#define CPUS_STACK	(64 * 1024)

struct cpus_store {
	void *p;
	u32 size;
	u64 v;
};

struct cpu {
	ucontext_t ctx;
	struct cpus_store buf[CPUS_BUFFER];
	u32 first, stores;
	bool done;
	bool waits;		/* polled in vain; let others run */
	u32 prio;
	u32 ref;		/* the region that a run uses, 0: none */
};

static struct {
	struct sim_rand rand;
	ucontext_t main;
	struct cpu cpu[CPUS];
	struct cpu *me;		/* NULL: no CPU runs */
	bool by_prio;
} cpus;

static inline u32 cpus_me(void)
{
	return cpus.me - cpus.cpu;
}

static inline void cpus_flush_one(struct cpu *cpu)
{
	struct cpus_store *st = &cpu->buf[cpu->first];

	memcpy(st->p, &st->v, st->size);
	cpu->first = (cpu->first + 1) % CPUS_BUFFER;
	cpu->stores--;
}

static inline void cpus_flush(struct cpu *cpu)
{
	while (cpu->stores)
		cpus_flush_one(cpu);
}

static inline void cpus_step(void)
{
	swapcontext(&cpus.me->ctx, &cpus.main);
}

/* The newest own store that is still in flight, or memory. */
static inline u64 cpus_read(const void *mem, size_t size)
{
	struct cpu *cpu = cpus.me;
	u64 v = 0;
	u32 i;

	memcpy(&v, mem, size);
	for (i = 0; cpu && i < cpu->stores; i++) {
		struct cpus_store *st = &cpu->buf[(cpu->first + i) % CPUS_BUFFER];

		if (st->p == mem)
			v = st->v;
	}
	return v;
}

static inline void cpus_write(void *mem, size_t size, u64 v)
{
	struct cpu *cpu = cpus.me;

	if (cpu->stores == CPUS_BUFFER)
		cpus_flush_one(cpu);
	cpu->buf[(cpu->first + cpu->stores++) % CPUS_BUFFER] =
		(struct cpus_store){ mem, (u32)size, v };
}

static void cpus_enter(int n)
{
	cpus_main(n);
	cpus.cpu[n].done = true;
	swapcontext(&cpus.cpu[n].ctx, &cpus.main);
}

static inline void cpus_boot(u32 n)
{
	static u8 stacks[CPUS][CPUS_STACK];
	struct cpu *cpu = &cpus.cpu[n];

	cpu->prio = sim_below(&cpus.rand, 1000);
	getcontext(&cpu->ctx);
	cpu->ctx.uc_stack.ss_sp = stacks[n];
	cpu->ctx.uc_stack.ss_size = CPUS_STACK;
	cpu->ctx.uc_link = &cpus.main;
	makecontext(&cpu->ctx, (void (*)(void))cpus_enter, 1, (int)n);
}

/* Choose the CPU of the next step: at random, or by priority. Priorities change at times,
 * so that some CPUs stay behind for long.
 */
static inline struct cpu *cpus_pick(void)
{
	struct cpu *best = NULL;
	u32 i, n = sim_below(&cpus.rand, CPUS);

	for (i = 0; i < CPUS; i++) {
		struct cpu *cpu = &cpus.cpu[(n + i) % CPUS];

		if (cpu->done || cpu->waits)
			continue;
		if (!best || (cpus.by_prio && cpu->prio > best->prio))
			best = cpu;
	}
	for (i = 0; i < CPUS; i++)
		if (!best || sim_chance(&cpus.rand, 100))
			cpus.cpu[i].waits = false;
	if (best && sim_chance(&cpus.rand, 30))
		best->prio = sim_below(&cpus.rand, 1000);
	return best;
}

static inline bool cpus_all_done(void)
{
	u32 i;

	for (i = 0; i < CPUS; i++)
		if (!cpus.cpu[i].done)
			return false;
	return true;
}

/* One step of one CPU (returns true), or a store reaches memory, or no step. */
static inline bool cpus_turn(void)
{
	struct cpu *cpu;

	if (sim_chance(&cpus.rand, 200)) {
		cpu = &cpus.cpu[sim_below(&cpus.rand, CPUS)];
		if (cpu->stores)
			cpus_flush_one(cpu);
		return false;
	}
	cpu = cpus_pick();
	if (!cpu)
		return false;
	cpus.me = cpu;
	swapcontext(&cpus.main, &cpu->ctx);
	cpus.me = NULL;
	return true;
}

static inline u32 cpus_seeds(void)
{
	const char *env = getenv("SEEDS");

	return env ? (u32)strtoul(env, NULL, 0) : 3000;
}

static inline u64 cpus_first_seed(void)
{
	const char *env = getenv("CAIRN_SEED");

	return env ? strtoull(env, NULL, 0) : 1;
}

#endif
