/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Epochs count the runs that may still access memory that is being released
 * (origins.rst, E1, E2). Documentation/memory-release.rst explains the scheme.
 *
 * advances	number of the current epoch; only the last bit selects counters
 * in, out	runs of the engine that began and ended, by epoch, of one CPU;
 *		written there by one run at a time, so without atomics
 *
 * The counters only grow (and wrap around). An epoch is drained when its sums over
 * all CPUs, of runs that began and of runs that ended, are equal. The caller begins
 * no advance before the last one has drained, so that two sets of counters suffice.
 *
 * A run:	read advances, count in, full barrier (A), read advances again and,
 *		if it has changed, count out and start again; look up memory,
 *		access it, count out with release (B)
 * A release:	make the memory unreachable, full barrier (C), write advances, full
 *		barrier (D), sum ended runs, full barrier (E), sum begun runs
 *
 * A and D: either the run sees the new number, in one of its two reads, or the sum
 * of begun runs includes it. So the release waits for a run that continues with the
 * old number. The second read is for a late run: it read the number before an
 * advance, and would count into that epoch long after it drained, where the advance
 * after next does not look.
 * A and C: a run that continues with the new number finds the memory unreachable.
 * B and E: if the sum of ended runs includes a run, its accesses are over, and the
 * sum of begun runs includes it, too. So the sums are equal only if every run that
 * began has ended.
 *
 * A release takes a ticket: the number of the first advance that begins after the
 * release has read advances. A run of the current epoch may have found the memory.
 * If the release still reads n during an advance to n + 1, runs of n + 1 count in
 * after that read. A, and F between the store of the release and its read, keep
 * them from finding the memory. So advance n + 1 is enough.
 *
 * The memory operations have names of their own so that the model test
 * (tests/engine_epoch_test.c) can put a step of its schedule before each.
 */
#ifndef CAIRN_ENGINE_EPOCH_H
#define CAIRN_ENGINE_EPOCH_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/types.h>

#ifndef CAIRN_EPOCH_MODEL
#define cairn_epoch_read(p)		READ_ONCE(*(p))
#define cairn_epoch_write(p, v)		WRITE_ONCE(*(p), v)
#define cairn_epoch_acquire(p)		smp_load_acquire(p)	/* see above */
#define cairn_epoch_release(p, v)	smp_store_release(p, v)	/* see above */
#define cairn_epoch_mb()		smp_mb()		/* see above */
#endif

/* The counters of one CPU. */
struct cairn_epoch_cpu {
	unsigned long in[2];
	unsigned long out[2];
	u32 qpn;		/* of the QP that runs, for reports; 0: none */
};

/**
 * cairn_epoch_begin() - count a run in
 * @advances: of the device
 * @c: counters of this CPU
 *
 * Context: the counters are the caller's until cairn_epoch_end().
 * Return: the epoch, for cairn_epoch_end().
 */
static inline u32 cairn_epoch_begin(const u32 *advances,
				    struct cairn_epoch_cpu *c)
{
	for (;;) {
		u32 epoch = cairn_epoch_read(advances);
		u32 i = epoch & 1;

		cairn_epoch_write(&c->in[i], cairn_epoch_read(&c->in[i]) + 1);
		cairn_epoch_mb();	/* A */
		if (likely(cairn_epoch_read(advances) == epoch))
			return epoch;
		cairn_epoch_release(&c->out[i],
				    cairn_epoch_read(&c->out[i]) + 1);
	}
}

/* Count a run out of the epoch that it was counted into. */
static inline void cairn_epoch_end(struct cairn_epoch_cpu *c, u32 epoch)
{
	u32 i = epoch & 1;

	cairn_epoch_release(&c->out[i],				/* B */
			    cairn_epoch_read(&c->out[i]) + 1);
}

/**
 * cairn_epoch_advance() - begin the next epoch
 * @advances: of the device; advances are serialised, and the last one has drained
 *
 * A run of the new epoch does not find memory that was made unreachable before.
 *
 * Return: the old epoch, which has to drain.
 */
static inline u32 cairn_epoch_advance(u32 *advances)
{
	u32 old = cairn_epoch_read(advances);

	cairn_epoch_mb();		/* C */
	cairn_epoch_write(advances, old + 1);
	cairn_epoch_mb();		/* D */
	return old;
}

/**
 * cairn_epoch_ticket() - the advance after which no run accesses the memory
 * @advances: of the device; the memory has been made unreachable
 *
 * Return: the ticket for cairn_epoch_passed().
 */
static inline u32 cairn_epoch_ticket(const u32 *advances)
{
	cairn_epoch_mb();		/* F */
	return cairn_epoch_read(advances) + 1;
}

/**
 * cairn_epoch_passed() - is a ticket's advance complete?
 * @drained: number of complete advances, written with release
 * @ticket: from cairn_epoch_ticket()
 *
 * If so, all stores of earlier runs are visible.
 */
static inline bool cairn_epoch_passed(const u32 *drained, u32 ticket)
{
	return (s32)(cairn_epoch_acquire(drained) - ticket) >= 0;
}

/**
 * cairn_epoch_inflight() - count the runs of an epoch
 * @cpu: counters of all CPUs
 * @n: number of CPUs
 * @epoch: the epoch
 *
 * Return: an upper bound; 0: all runs that began before the call have ended.
 */
static inline unsigned long
cairn_epoch_inflight(struct cairn_epoch_cpu *const *cpu, unsigned int n,
		     u32 epoch)
{
	unsigned long ended = 0, began = 0;
	u32 k, i = epoch & 1;

	for (k = 0; k < n; k++)
		ended += cairn_epoch_read(&cpu[k]->out[i]);
	cairn_epoch_mb();		/* E */
	for (k = 0; k < n; k++)
		began += cairn_epoch_read(&cpu[k]->in[i]);
	return began - ended;
}

/* The epochs of a device, for the CPU that completes advances. */
struct cairn_epoch_view {
	u32 *advances;
	u32 *drained;
	struct cairn_epoch_cpu *const *cpu;	/* counters of all CPUs */
	unsigned int cpus;
	/* Called between two checks of an epoch that has not drained; it chooses how
	 * long it waits, and returns.
	 */
	void (*pause)(void *arg, u32 epoch);
	void *arg;				/* for pause */
};

/**
 * cairn_epoch_pass() - complete advances up to a ticket
 * @epochs: of the device
 * @ticket: from cairn_epoch_ticket()
 *
 * Context: calls are serialised.
 * Return: number of advances; 0: earlier calls had made them.
 */
static inline u32 cairn_epoch_pass(const struct cairn_epoch_view *epochs,
				   u32 ticket)
{
	u32 *drained = epochs->drained, made = 0;

	while (!cairn_epoch_passed(drained, ticket)) {
		u32 old = cairn_epoch_advance(epochs->advances);

		while (cairn_epoch_inflight(epochs->cpu, epochs->cpus, old))
			epochs->pause(epochs->arg, old);
		/* Publishes the stores of the runs. Pairs with the acquire in
		 * cairn_epoch_passed().
		 */
		cairn_epoch_release(drained, cairn_epoch_read(drained) + 1);
		made++;
	}
	return made;
}

#endif
