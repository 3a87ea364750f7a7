/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keeping packets in order where the receiving stack is on this host.
 *
 * What is sent through a virtual netdev (veth, lo) waits in a queue of the CPU
 * that sent it. A QP side that goes on sending from another CPU is overtaken
 * there by its own packets, and each time the peer has the requests sent again.
 * So a side that has sent stays with its CPU until that CPU's soft interrupts
 * have emptied the queue, which compat/after_rx.h tells. Others meanwhile only record
 * their events; the call after reception sees to them.
 *
 * So does a side whose packets wait to leave together with those of others
 * (cairn_env_plug()), whatever the netdev: they leave before that call,
 * because soft interrupts are off until then. With PREEMPT_RT, too: the call
 * waits for cairn_cpu_lock().
 */
#ifndef CAIRN_LANE_DRAIN_H
#define CAIRN_LANE_DRAIN_H

#include "lane/exec.h"

/* Module start and stop; no QP is left at the stop. Process context. The start
 * returns 0 or an errno.
 */
int cairn_drain_start(void);
void cairn_drain_stop(void);

/**
 * cairn_drain_begin() - the side has sent: bind it to this CPU for a while
 * @exec: the QP; its stop waits for the end
 * @side: its lock is held, and it is not bound to another CPU
 *
 * Context: below cairn_cpu_lock().
 */
void cairn_drain_begin(struct cairn_exec *exec, enum cairn_side_id side);

/* Is the side bound to another CPU? Then its events are seen to there. BH off. */
static inline bool cairn_drain_elsewhere(const struct cairn_exec_side *state)
{
	int cpu = READ_ONCE(state->drain_cpu);

	return cpu != CAIRN_NOT_DRAINING && cpu != smp_processor_id();
}

static inline bool cairn_draining(const struct cairn_exec_side *state)
{
	return READ_ONCE(state->drain_cpu) != CAIRN_NOT_DRAINING;
}

#endif
