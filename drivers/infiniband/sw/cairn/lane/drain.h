/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Keeps the packets of a side in order when the stack that receives them is on this
 * host.
 *
 * Packets that are sent through a virtual netdev (veth, lo) wait in a queue of the
 * sending CPU. If the QP side continued to send from another CPU, later packets would
 * overtake these, and the peer would request retransmissions. So a side that has sent
 * is bound to its CPU until that CPU's soft interrupts have emptied the queue
 * (compat/after_rx.h). Other CPUs only record events meanwhile; the call after
 * reception runs the side.
 *
 * A side is also bound while its packets wait in a train with those of other QPs
 * (cairn_env_plug()), whatever the netdev. The train leaves before the call after
 * reception, because soft interrupts are off until then. With PREEMPT_RT they are
 * not, but the call waits for cairn_cpu_lock().
 */
#ifndef CAIRN_LANE_DRAIN_H
#define CAIRN_LANE_DRAIN_H

#include "lane/exec.h"

/* Module start and stop; no QP is left at the stop. Process context. Return: 0 or a
 * negative errno.
 */
int cairn_drain_start(void);
void cairn_drain_stop(void);

/**
 * cairn_drain_begin() - bind a side that has sent packets to this CPU
 * @exec: the QP; cairn_exec_stop() waits for the end of the binding
 * @side: the caller holds its lock; it is not bound to another CPU
 *
 * Context: below cairn_cpu_lock().
 */
void cairn_drain_begin(struct cairn_exec *exec, enum cairn_side_id side);

/* Is the side bound to another CPU? Then that CPU handles its events. BH off. */
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
