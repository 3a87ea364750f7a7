/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A watch: the QPs of one owner on one lane. The owner is a user context, which
 * shares a ready map with the device (rdma/cairn-abi.h), or the kernel.
 *
 * An active watch is polled: the lane takes ready bits and marks the QPs in its
 * scheduler. It becomes active by a doorbell, unless the lane's CPU is not the
 * lane's alone, and inactive when its idle time has passed without a post or the
 * CPU is wanted by others. While it is inactive its wake-up flag is raised and
 * every post rings; a doorbell runs the post in the caller's system call.
 * Activity that brought no post makes the next one wait, up to 128 ms (8 ms where
 * the CPU was not the lane's alone), so that nothing is burnt for a process that
 * posts rarely.
 *
 * Going to sleep		Posting (provider)
 *   raise the flag		  release the write pointer
 *   full barrier		  full barrier
 *   look at the ready map	  mark the queue ready
 *   sleep if it is empty	  full barrier
 *				  read the flag, ring if it is raised
 * One of the two sees the other: no post is left behind.
 *
 * Taking ready bits: first the summary by xchg, then the words by xchg, then
 * (cairn_req_run()) the write pointers. A poster that finds its bits set has
 * released its write pointer before it looked, so it is seen by whoever takes
 * them later; it needs no store of its own.
 */
#ifndef CAIRN_LANE_WATCH_H
#define CAIRN_LANE_WATCH_H

#include <linux/types.h>
#include <rdma/cairn-abi.h>

struct cairn_exec;
struct cairn_lane;
struct cairn_nic;
struct cairn_watch;

/**
 * cairn_watch_create() - for QPs of one owner on one lane
 * @lane: the lane
 * @nic: the device of the owner, NULL: kernel QPs of any device
 * @wake: the owner's wake-up flag, raised now; NULL: kernel QPs
 *
 * Context: process.
 * Return: the watch or NULL (no memory).
 */
struct cairn_watch *cairn_watch_create(struct cairn_lane *lane,
				       struct cairn_nic *nic, __u32 *wake);

/* Every QP of it has been stopped. The ready pages are not used afterwards. */
void cairn_watch_destroy(struct cairn_watch *watch);

/**
 * cairn_watch_join() - give a QP an id in @watch and a slot of its lane
 * @watch: the watch
 * @exec: initialised; cairn_exec_stop() undoes this
 * @new_page: memory for ready page @n, when the id is the first there; NULL: no
 *	memory
 * @arg: for @new_page
 *
 * The id is the lowest that is free: dense. Id n is bit n %
 * CAIRN_READY_QUEUES of ready page n / CAIRN_READY_QUEUES. Context: process.
 * Return: 0, -ENOMEM or -ENOSPC (the lane is full).
 */
int cairn_watch_join(struct cairn_watch *watch, struct cairn_exec *exec,
		     struct cairn_ready_page *(*new_page)(void *arg, u32 n),
		     void *arg);

/* The same for a kernel QP, on the next lane. */
int cairn_watch_join_kernel(struct cairn_exec *exec);

/* exec.c, lane.c: the id is free again. Process context. */
void cairn_watch_put(struct cairn_watch *watch, u32 id);

/**
 * cairn_watch_ring() - a doorbell of @exec came
 * @exec: joined a user's watch; before it is kicked
 *
 * Takes the QP's ready bit and may activate the watch. Context: process or
 * RCU read section.
 */
void cairn_watch_ring(struct cairn_exec *exec);

/* The lane's thread; lane->lock held, preemption off. */

/**
 * cairn_watches_poll() - poll the active watches
 * @lane: the lane
 * @idle: it had no work the last time: watches whose idle time is over go to sleep
 *
 * Those that were rung first become awake. However many there are and whatever
 * is in their ready maps: in one call a bounded number of cache lines, the next
 * one goes on there.
 */
void cairn_watches_poll(struct cairn_lane *lane, bool idle);

/**
 * cairn_watches_rest() - the CPU is wanted: let watches go to sleep
 * @lane: the lane
 * @first: the first call of this rest
 *
 * All that did not post since the last rest. Returns true when there are more:
 * to be called again, after the lock was free for a moment.
 */
bool cairn_watches_rest(struct cairn_lane *lane, bool first);

/* How long @nic's lanes poll without a post; 0: not at all. */
u32 cairn_watch_idle_us(const struct cairn_nic *nic);

static inline u64 cairn_watch_idle_ns(const struct cairn_nic *nic)
{
	return 1000ULL * cairn_watch_idle_us(nic);
}

#endif
