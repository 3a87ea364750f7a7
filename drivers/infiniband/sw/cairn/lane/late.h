/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Is this machine late? Other processes may have the CPUs, or the hypervisor may have given
 * them to other guests. Answers are late then, and not lost.
 *
 * Each CPU that has run queue pairs lately is asked: an interrupt there raises a soft
 * interrupt that comes after those that receive packets. When all have answered, what
 * had arrived when they were asked has been received, but for what lanes do. A lane has to
 * end the round that it was in, or for which its thread waited. Nothing is asked unless an
 * answer is overdue.
 */
#ifndef CAIRN_LANE_LATE_H
#define CAIRN_LANE_LATE_H

#include <linux/types.h>

/**
 * cairn_late() - may this machine have received an answer late?
 * @since: ns of CLOCK_MONOTONIC
 * @now: the same
 *
 * If the CPUs have not been asked since @since, they are.
 *
 * Context: any; does not sleep.
 * Return: false: every CPU and lane that had work has had a turn since @since.
 */
bool cairn_late(u64 since, u64 now);

/* Process context, at module load, and at its end, after the last cairn_late(). */
void cairn_late_start(void);
void cairn_late_stop(void);

#endif
