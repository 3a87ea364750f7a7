/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The epochs of one device count the runs of the engine. Memory is released when all
 * runs that may access it have ended. engine/epoch.h has the counting and its barriers,
 * Documentation/memory-release.rst explains the scheme.
 *
 * Releasing memory
 *	Make it unreachable (look-ups of its key fail). Wait with cairn_epoch_wait(), or
 *	use cairn_epoch_notify() where sleeping is not allowed. Then free the memory.
 *
 * Accessing memory
 *	Only in a run of the engine; lane/exec.c counts each run. Payload is copied, so
 *	nothing refers to user pages after the run.
 *
 * An operation that waits for the application (a host flush) must not wait in a run,
 * because all releases would wait with it. It is revoked instead when its region is
 * released.
 */
#ifndef CAIRN_DEVICE_EPOCH_H
#define CAIRN_DEVICE_EPOCH_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <asm/barrier.h>
#include "device/cpu.h"
#include "engine/epoch.h"

struct cairn_nic;

struct cairn_epoch {
	u32 advances;		/* number of the current epoch; each run reads it */
	u32 drained;		/* complete advances */
	bool stuck;		/* the current advance has been reported as stuck */
	unsigned int cpus;
	struct cairn_epoch_cpu __percpu *pcpu;
	struct cairn_epoch_cpu **cpu;	/* pcpu of each possible CPU */
	struct cairn_nic *nic;
	struct mutex advancing;	/* one advance at a time */
	spinlock_t lock;	/* for notes; irqsave */
	struct list_head notes;	/* struct cairn_epoch_note, by ticket */
	struct work_struct work;	/* advances for the notes and calls them */
};

/* A function to call when the advance of a ticket is complete. */
struct cairn_epoch_note {
	struct list_head node;
	u32 ticket;
	/* Called under cairn_epoch.lock: must be short and not call cairn_epoch_*(). */
	void (*func)(struct cairn_epoch_note *note);
};

/* Module start and stop; no device is left at the stop. Process context. */
int cairn_epochs_start(void);
void cairn_epochs_stop(void);

/**
 * cairn_epoch_init() - set up the epochs of a new device
 * @epoch: zeroed memory
 * @nic: the device, for counters and reports
 *
 * Context: process.
 * Return: 0, or -ENOMEM with nothing to undo.
 */
int cairn_epoch_init(struct cairn_epoch *epoch, struct cairn_nic *nic);

/* Free the epochs. No run and no waiter is left. Zeroed memory is left as it is. Process
 * context.
 */
void cairn_epoch_exit(struct cairn_epoch *epoch);

/**
 * cairn_epoch_enter() - begin a run of the engine
 * @epoch: of the device
 * @qpn: number of the QP, for reports
 *
 * Costs a few nanoseconds: one counter of this CPU and a barrier. Runs may nest.
 *
 * Context: below cairn_cpu_lock(), until cairn_epoch_leave().
 * Return: the tag for cairn_epoch_leave().
 */
static inline u32 cairn_epoch_enter(struct cairn_epoch *epoch, u32 qpn)
{
	struct cairn_epoch_cpu *counts = this_cpu_ptr(epoch->pcpu);

	cairn_cpu_assert_locked();
	WRITE_ONCE(counts->qpn, qpn);
	return cairn_epoch_begin(&epoch->advances, counts);
}

static inline void cairn_epoch_leave(struct cairn_epoch *epoch, u32 tag)
{
	cairn_epoch_end(this_cpu_ptr(epoch->pcpu), tag);
}

/**
 * cairn_epoch_wait() - wait until no run accesses what was made unreachable
 * @epoch: of the device
 *
 * The time depends on the runs of this device only, never on a peer. Callers that wait
 * at the same time share an advance (origins.rst, E5).
 *
 * Context: process, sleeps; not in a run.
 */
void cairn_epoch_wait(struct cairn_epoch *epoch);

/**
 * cairn_epoch_notify() - the same for callers that cannot sleep
 * @epoch: of the device
 * @note: func is set. It stays valid until func has been called or
 *	cairn_epoch_cancel(). If it is queued already, it gets a new ticket.
 *
 * Context: any.
 */
void cairn_epoch_notify(struct cairn_epoch *epoch,
			struct cairn_epoch_note *note);

/* Remove @note from the queue. After this its func does not run. Any context. */
void cairn_epoch_cancel(struct cairn_epoch *epoch,
			struct cairn_epoch_note *note);

/**
 * cairn_epoch_alone() - is the calling run the only one of the device?
 * @epoch: of the device
 *
 * If so, no other run accesses what the caller has made unreachable.
 *
 * Context: in a run.
 */
bool cairn_epoch_alone(struct cairn_epoch *epoch);

/* Number of runs in both epochs, at most. Any context. */
u32 cairn_epoch_busy(struct cairn_epoch *epoch);

#endif
