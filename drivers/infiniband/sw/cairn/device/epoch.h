/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The epochs of one device: what runs the engine is counted, and memory is
 * released when what may still touch it has been counted out. The counting and
 * its barriers are engine/epoch.h, the scheme Documentation/memory-release.rst.
 *
 * To release memory
 *	make it unreachable (look-ups of its key fail), call
 *	cairn_epoch_wait(), or cairn_epoch_notify() where sleeping is not
 *	allowed, and free it then.
 *
 * To touch memory
 *	do it in a run of the engine: lane/exec.c counts each run. Nothing
 *	refers to user pages after the run: payload is copied.
 *
 * What waits for the application (a host that is to make bytes durable) must
 * not hold an epoch: all releases would wait for it. It is revoked instead, when
 * its region is released.
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
	u32 advances;		/* the current epoch; read by every run */
	u32 drained;		/* advances that are complete */
	bool stuck;		/* the advance under way was reported */
	unsigned int cpus;
	struct cairn_epoch_cpu __percpu *pcpu;
	struct cairn_epoch_cpu **cpu;	/* pcpu of each possible CPU */
	struct cairn_nic *nic;
	struct mutex advancing;	/* one advance at a time */
	spinlock_t lock;	/* notes; irqsave */
	struct list_head notes;	/* struct cairn_epoch_note, by ticket */
	struct work_struct work;	/* advances for the notes */
};

/* Somebody to be told. */
struct cairn_epoch_note {
	struct list_head node;
	u32 ticket;
	/* The lock of the notes is held: short, and no epoch call. */
	void (*func)(struct cairn_epoch_note *note);
};

/* Module start and stop; no device is left at the stop. Process context. */
int cairn_epochs_start(void);
void cairn_epochs_stop(void);

/**
 * cairn_epoch_init() - the epochs of a new device
 * @epoch: zeroed memory
 * @nic: the device, for counters and reports
 *
 * Context: process.
 * Return: 0 or -ENOMEM (then there is nothing to undo).
 */
int cairn_epoch_init(struct cairn_epoch *epoch, struct cairn_nic *nic);

/* Nobody runs, and nobody waits.
 * Process context. Does nothing to memory that is zero.
 */
void cairn_epoch_exit(struct cairn_epoch *epoch);

/**
 * cairn_epoch_enter() - a run of the engine begins
 * @epoch: of the device
 * @who: the QP's number, for reports
 *
 * A few nanoseconds: one counter of this CPU and a barrier. Runs may nest.
 *
 * Context: below cairn_cpu_lock(), until cairn_epoch_leave().
 * Return: the tag for cairn_epoch_leave().
 */
static inline u32 cairn_epoch_enter(struct cairn_epoch *epoch, u32 who)
{
	struct cairn_epoch_cpu *counts = this_cpu_ptr(epoch->pcpu);

	cairn_cpu_assert_locked();
	WRITE_ONCE(counts->who, who);
	return cairn_epoch_begin(&epoch->advances, counts);
}

static inline void cairn_epoch_leave(struct cairn_epoch *epoch, u32 tag)
{
	cairn_epoch_end(this_cpu_ptr(epoch->pcpu), tag);
}

/**
 * cairn_epoch_wait() - wait until nobody touches what was made unreachable
 * @epoch: of the device
 *
 * The time is bounded by the device's own pipeline, never by a peer. All who
 * wait at the same time share an advance (origins.rst, E5).
 *
 * Context: process, sleeps; not in a run.
 */
void cairn_epoch_wait(struct cairn_epoch *epoch);

/**
 * cairn_epoch_notify() - the same for those who cannot sleep
 * @epoch: of the device
 * @note: @func set; stays until @func was called or cairn_epoch_cancel(); when
 *	it is queued already, it is queued anew
 *
 * Context: any.
 */
void cairn_epoch_notify(struct cairn_epoch *epoch,
			struct cairn_epoch_note *note);

/* After this @note is not queued and its func does not run. Any context. */
void cairn_epoch_cancel(struct cairn_epoch *epoch,
			struct cairn_epoch_note *note);

/**
 * cairn_epoch_alone() - is the calling run the only one of the device?
 * @epoch: of the device
 *
 * Then nobody else touches what the caller just made unreachable.
 *
 * Context: in a run, which touches no memory meanwhile.
 */
bool cairn_epoch_alone(struct cairn_epoch *epoch);

/* Runs of both epochs now; for reports. Any context. */
u32 cairn_epoch_busy(struct cairn_epoch *epoch);

#endif
