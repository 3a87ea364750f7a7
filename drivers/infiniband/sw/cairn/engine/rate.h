/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A rate limit as arithmetic: how much one side of a QP may send now, and when
 * it may go on (origins.rst, F1 to F5). No packet is held back by it: a side that
 * may not send leaves its WQE in the ring and a deadline with the lane.
 *
 * What is sent is paid for at the rate: next is the time at which all of it is.
 * As much as a burst may be unpaid, so that much leaves back to back. When no
 * more fits the mark is raised: the side waits until all is paid for, then the
 * next burst begins. Nothing is saved up beyond a burst.
 *
 * Bytes are those of the UDP payload: BTH, extended headers, payload, pad and
 * ICRC. Time is CLOCK_MONOTONIC in nanoseconds. Fractions of a nanosecond are
 * kept, so the rate has no drift.
 */
#ifndef CAIRN_ENGINE_RATE_H
#define CAIRN_ENGINE_RATE_H

#include <linux/types.h>
#include <rdma/cairn-abi.h>

/* Without a burst size a burst is what the rate gives in 1/1024 s (F5),
 * between one packet and this many bytes.
 */
#define CAIRN_RATE_MAX_DEFAULT_BURST	(64 * 1024)
#define CAIRN_RATE_MAX_BURST	0x40000000	/* 1 GiB */

/* A limit as it is asked for. */
struct cairn_rate_limit {
	u32 kbps;		/* 0: none */
	u32 burst;		/* bytes back to back; 0: default */
	u16 typical;		/* bytes of a packet; 0: bursts count bytes only */
};

struct cairn_rate {
	u64 next;		/* when all that was sent is paid for */
	u64 late;		/* ns that waits were too long, to be made up for */
	u32 kbps;		/* 0: never set */
	u32 burst;		/* bytes of a full burst */
	u32 rem;		/* of a nanosecond, in 1/kbps */
	u16 packets;		/* of a full burst; 0: bytes decide */
	u16 left;		/* packets of the burst that has begun */
	bool marked;		/* work waits for next */
};

/**
 * cairn_rate_check() - does a limit make sense?
 * @limit: the limit
 * @packet: bytes of the longest packet that will be sent
 *
 * Return: false for a rate above CAIRN_MAX_RATE_LIMIT, sizes without a rate, a
 * burst above CAIRN_RATE_MAX_BURST or shorter than @packet or a typical packet.
 */
bool cairn_rate_check(const struct cairn_rate_limit *limit, u32 packet);

/**
 * cairn_rate_set() - set or change the limit
 * @rate: zeroed, or in use
 * @limit: what holds from now on, checked; kbps is not 0
 * @packet: bytes of the longest packet, at least a default burst
 * @now: ns
 *
 * What was sent and is not paid for yet is paid for at the new rate. Cheap when
 * nothing changes. The caller looks at the deadline afterwards.
 */
void cairn_rate_set(struct cairn_rate *rate,
		    const struct cairn_rate_limit *limit, u32 packet, u64 now);

/**
 * cairn_rate_open() - end of a wait, if its time has come
 * @rate: set
 * @now: ns
 *
 * Takes the mark down. A wait that took too long makes the next one shorter, by
 * half of it at most, and half a burst is the most that is remembered: timers
 * that are late do not lower the rate, yet bursts never join.
 */
void cairn_rate_open(struct cairn_rate *rate, u64 now);

/**
 * cairn_rate_fit() - how many packets may leave now
 * @rate: not marked
 * @bytes: of each packet, not 0
 * @n: packets that want to
 * @now: ns
 *
 * Return: 0..@n, at least 1 when all is paid for.
 */
u32 cairn_rate_fit(const struct cairn_rate *rate, u32 bytes, u32 n, u64 now);

/* @n packets, as many as fit, have left, with @bytes in all. */
void cairn_rate_charge(struct cairn_rate *rate, u32 n, u32 bytes, u64 now);

/* No packet fits: raise the mark, which was down. */
void cairn_rate_mark(struct cairn_rate *rate, u64 now);

/* Bytes of a burst when none was asked for; @packet: bytes of the longest. */
u32 cairn_rate_default_burst(u32 kbps, u32 packet);

/* ns that @bytes take at @kbps, rounded down. */
u64 cairn_rate_ns(u32 kbps, u32 bytes);

/* When to look again; 0: no work waits for it. */
static inline u64 cairn_rate_deadline(const struct cairn_rate *rate)
{
	return rate->marked ? rate->next : 0;
}

#endif
