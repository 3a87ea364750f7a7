/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Epochs: who may still touch memory that is being released, by counting
 * (origins.rst, E1, E2). Documentation/memory-release.rst explains the scheme.
 *
 * advances	number of the current epoch; only the last bit selects counters
 * in, out	runs of the engine that began and ended, by epoch, of one CPU;
 *		written there by one run at a time, so without atomics
 *
 * The counters only grow (and wrap); an epoch is drained when the sums over
 * all CPUs of what began and what ended are equal. The caller never begins a
 * advance before the last one has drained, so that two sets of counters suffice.
 *
 * A run:	read advances, count in, full barrier (A), read advances again: if it
 *		has changed count out and start afresh; look up memory, touch
 *		it, count out with release (B)
 * A release:	make the memory unreachable, full barrier (C), write advances, full
 *		barrier (D), sum what ended, full barrier (E), sum what began
 *
 * A and D: either the run sees the new number, in one of its two reads, or the
 * sum of what began sees the run. So the release waits for a run that goes on
 * with the old number. The second read is for the straggler: it read the number
 * before an advance, and would count into that epoch long after it drained. The advance
 * after next does not look there.
 * A and C: a run that goes on with the new number finds the memory unreachable.
 * B and E: if the sum shows that a run ended, its accesses are over, and the
 * other sum shows that it began. So the sums are equal only if everything that
 * began has ended.
 *
 * A release takes a ticket: the number of the first advance that begins after the
 * release has read advances. A run of the current epoch may have found the memory.
 * If the release still reads n while an advance to n + 1 is being made, runs of
 * n + 1 have counted in after that read. By A, and F between the store of the
 * release and its read, they do not find the memory. So advance n + 1 is enough.
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

/* Of one CPU. */
struct cairn_epoch_cpu {
	unsigned long in[2];
	unsigned long out[2];
	u32 who;		/* for reports: the QP that runs, 0: none */
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
 * @advances: of the device; the caller has its advances to itself, and the last one
 *	has drained
 *
 * What was made unreachable before is not found in the new epoch.
 *
 * Return: the epoch that is over, to be drained.
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
 * cairn_epoch_ticket() - which advance ends all that may still touch memory
 * @advances: of the device; the memory has been made unreachable
 *
 * Return: for cairn_epoch_passed().
 */
static inline u32 cairn_epoch_ticket(const u32 *advances)
{
	cairn_epoch_mb();		/* F */
	return cairn_epoch_read(advances) + 1;
}

/**
 * cairn_epoch_passed() - is that advance complete?
 * @drained: number of complete advances, written with release
 * @ticket: of cairn_epoch_ticket()
 *
 * If so, what was done in the runs before is visible.
 */
static inline bool cairn_epoch_passed(const u32 *drained, u32 ticket)
{
	return (s32)(cairn_epoch_acquire(drained) - ticket) >= 0;
}

/**
 * cairn_epoch_inflight() - runs that are in
 * @cpu: counters of all CPUs
 * @n: how many CPUs
 * @epoch: which
 *
 * Return: 0 when all that began before has ended. More may have ended than the
 * number says, but never less.
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

/**
 * cairn_epoch_pass() - complete advances up to a ticket
 * @advances: of the device
 * @drained: of the device
 * @cpu: counters of all CPUs
 * @n: how many CPUs
 * @ticket: of cairn_epoch_ticket()
 * @pause: called between two looks at an epoch that has not drained; how often and
 *	for how long is the caller's business, when it ends is not
 * @arg: for @pause
 *
 * Context: one at a time.
 * Return: number of advances, 0 when others had made them.
 */
static inline u32 cairn_epoch_pass(u32 *advances, u32 *drained,
				   struct cairn_epoch_cpu *const *cpu,
				   unsigned int n, u32 ticket,
				   void (*pause)(void *arg, u32 epoch),
				   void *arg)
{
	u32 made = 0;

	while (!cairn_epoch_passed(drained, ticket)) {
		u32 old = cairn_epoch_advance(advances);

		while (cairn_epoch_inflight(cpu, n, old))
			pause(arg, old);
		/* What the runs did is visible to who sees it. */
		cairn_epoch_release(drained, cairn_epoch_read(drained) + 1);
		made++;
	}
	return made;
}

#endif
