/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A watch: the QPs of one owner on one lane. The owner is a user context, which
 * shares a ready map with the device (rdma/cairn-abi.h), or the kernel.
 *
 * An active watch is polled: the lane takes ready bits and marks the QPs in its
 * scheduler. A doorbell makes a watch active. It becomes inactive when its idle time
 * has passed without a post, or when other tasks want the lane's CPU. While it is
 * inactive, its wake-up flag is raised and every post rings the doorbell, which runs
 * the post in the caller's system call.
 *
 * After activity without a post, doorbells do not activate the watch for 1 ms. This
 * time doubles with each such activity, up to 128 ms (8 ms if other tasks wanted the
 * CPU). So no CPU time is wasted on a process that posts rarely.
 *
 * Where the lane has to share its CPU, doorbells make the watch lazy instead: the second one
 * of a thread that has not slept since the first. Then posts do not ring, either. The process
 * rings for all of them at once, when 64 wait or when it waits for them, as by a poll that
 * finds nothing. The lane's lazy thread (lane/lazy.c) finds posts for which the process does
 * not ring. It has the CPU when the process sleeps, or after the time slice of the process.
 * It ends the laziness when the process sleeps, or does not ring for some time. So does the
 * lane when it becomes awake.
 *
 * Going to sleep (lane)           Posting (provider)
 *   raise the flag                  release the write pointer
 *   full barrier                    full barrier
 *   read the ready map              mark the queue ready
 *   sleep if it is empty            full barrier
 *                                   read the flag, ring if it is raised
 *
 * Either the lane sees the mark or the provider sees the flag, so no post is lost.
 *
 * The lane takes the summary by xchg, then the words by xchg, then cairn_req_run()
 * reads the write pointers. If the provider finds its bits already set, it stores
 * nothing: it released its write pointer before it read the bits, so the run after the
 * lane takes them sees that pointer. In the same way it reads or sets its bit before it
 * finds the summary set, so the lane takes the bit after that summary.
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
 * cairn_watch_create() - create a watch for the QPs of one owner on one lane
 * @lane: the lane
 * @nic: the owner's device; NULL: kernel QPs of any device
 * @wake: the owner's wake-up flag, which is raised; NULL: kernel QPs
 *
 * Context: process.
 * Return: the watch or NULL (no memory).
 */
struct cairn_watch *cairn_watch_create(struct cairn_lane *lane,
				       struct cairn_nic *nic, __u32 *wake);

/* Free the watch. Its QPs have been stopped. It does not use the ready pages any more. */
void cairn_watch_destroy(struct cairn_watch *watch);

/**
 * cairn_watch_join() - give a QP an id in @watch and a slot of its lane
 * @watch: the watch
 * @exec: initialised; cairn_exec_stop() undoes this
 * @new_page: allocates ready page @n when the id is the first in it; returns NULL if
 *	there is no memory. NULL: kernel QPs, without ready pages
 * @arg: argument of @new_page
 *
 * The id is the lowest free one. Id n is bit n % CAIRN_READY_QUEUES of ready page
 * n / CAIRN_READY_QUEUES.
 *
 * Context: process.
 * Return: 0, -ENOMEM, -ENOSPC (the lane is full) or -EDQUOT (the user's share of it).
 */
int cairn_watch_join(struct cairn_watch *watch, struct cairn_exec *exec,
		     struct cairn_ready_page *(*new_page)(void *arg, u32 n),
		     void *arg);

/* The same for a kernel QP; cairn_lane_pick() chooses the lane. */
int cairn_watch_join_kernel(struct cairn_exec *exec);

/* Give an id back when its QP has left the lane. Process context. */
void cairn_watch_put(struct cairn_watch *watch, u32 id);

/**
 * cairn_watch_ring() - handle a doorbell, before cairn_exec_kick()
 * @exec: has joined the watch of a user context
 *
 * Takes the QP's ready bit. May activate the watch, or make it lazy.
 *
 * Context: process or RCU read section.
 */
void cairn_watch_ring(struct cairn_exec *exec);

/* The lane that @watch was created for. Any context. */
struct cairn_lane *cairn_watch_lane(const struct cairn_watch *watch);

/**
 * cairn_watch_take_word() - take the posts of up to 64 QPs of a watch
 * @watch: the watch of a user context
 * @exec: 64 entries: the QPs that have posted. They count as running, which keeps them,
 *	until the caller calls cairn_lane_put_running().
 * @num: their number; may be 0
 *
 * Context: under lane->lock.
 * Return: false: no ready bits are set.
 */
bool cairn_watch_take_word(struct cairn_watch *watch, struct cairn_exec **exec, u32 *num);

/**
 * cairn_watches_end_lazy() - end the laziness of watches, and mark QPs that have posted
 * @lane: the lane
 *
 * Raises the flags, so the next post rings. A watch stays lazy if four things are true: other
 * tasks want the caller's CPU; the thread that rang last is on a CPU or waits for one; the
 * process has rung for all in the last 8 ms; no posts have waited for 1 ms in two calls. One
 * call reads a limited number of cache lines; the next one begins with watches that it has not
 * seen. Posts that are found 1 ms after the process last rang for all are late, unless it was
 * preempted. Then the watch is not lazy for 1 ms, doubled each time up to 128 ms.
 *
 * Context: under lane->lock.
 * Return: whether QPs were marked.
 */
bool cairn_watches_end_lazy(struct cairn_lane *lane);

/* The next two are for the lane's thread, under lane->lock and with preemption off. */

/**
 * cairn_watches_poll() - poll the active watches
 * @lane: the lane
 * @idle: the lane had no work in its last round: watches whose idle time is over
 *	become inactive
 *
 * Lowers the flag of newly active watches. One call reads a limited number of cache
 * lines, whatever the processes write to their ready maps; the next call continues
 * there.
 */
void cairn_watches_poll(struct cairn_lane *lane, bool idle);

/**
 * cairn_watches_rest() - deactivate idle watches before the thread yields its CPU
 * @lane: the lane
 * @first: the first call of this rest
 *
 * Deactivates all watches without a post since the last rest.
 *
 * Return: true when there are more: the caller releases the lock and calls again.
 */
bool cairn_watches_rest(struct cairn_lane *lane, bool first);

#endif
