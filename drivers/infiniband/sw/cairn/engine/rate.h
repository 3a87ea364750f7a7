/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Arithmetic of a rate limit: how much one side of a QP may send now, and when it may
 * continue (origins.rst, F1 to F5). No built packet is held back: a side that may not
 * send leaves its WQE in the ring and its deadline with the lane.
 *
 * Sent bytes are paid for at the rate; next is the time at which all of them are paid.
 * Up to a burst may be unpaid, so a burst is sent back to back. When no more packets
 * fit, the mark is set: the side waits until everything is paid for, then the next
 * burst begins. No credit beyond a burst accumulates.
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

/* A limit as requested. */
struct cairn_rate_limit {
	u32 kbps;		/* 0: none */
	u32 burst;		/* bytes back to back; 0: default */
	u16 typical;		/* bytes of a packet; 0: bursts count bytes only */
};

struct cairn_rate {
	u64 next;		/* when all sent bytes are paid for */
	u64 late;		/* ns that waits were too long, not made up for yet */
	u32 kbps;		/* 0: never set */
	u32 burst;		/* bytes of a full burst */
	u32 rem;		/* of a nanosecond, in 1/kbps */
	u16 packets;		/* of a full burst; 0: bytes decide */
	u16 left;		/* packets of the burst that has begun */
	bool marked;		/* work waits for the time next */
};

/**
 * cairn_rate_check() - is a limit valid?
 * @limit: the limit
 * @packet: bytes of the longest packet
 *
 * Return: false for a rate above CAIRN_MAX_RATE_LIMIT, sizes without a rate, a
 * burst above CAIRN_RATE_MAX_BURST or shorter than @packet or a typical packet.
 */
bool cairn_rate_check(const struct cairn_rate_limit *limit, u32 packet);

/**
 * cairn_rate_set() - set or change the limit
 * @rate: zeroed, or in use
 * @limit: the new limit, checked; kbps is not 0
 * @packet: bytes of the longest packet, a lower bound of the default burst
 * @now: ns
 *
 * Unpaid bytes are paid for at the new rate. Cheap if the limit does not change. The
 * caller reads the deadline afterwards.
 */
void cairn_rate_set(struct cairn_rate *rate,
		    const struct cairn_rate_limit *limit, u32 packet, u64 now);

/**
 * cairn_rate_open() - clear the mark if the wait is over
 * @rate: set
 * @now: ns
 *
 * A wait that took too long shortens the next one, by at most half of it. At most
 * half a burst is remembered. So late timers do not lower the rate, yet two bursts
 * never merge.
 */
void cairn_rate_open(struct cairn_rate *rate, u64 now);

/**
 * cairn_rate_fit() - how many packets may leave now
 * @rate: not marked
 * @bytes: of each packet, not 0
 * @n: packets to send
 * @now: ns
 *
 * Return: 0..@n, at least 1 when all is paid for.
 */
u32 cairn_rate_fit(const struct cairn_rate *rate, u32 bytes, u32 n, u64 now);

/* Charge @n sent packets, which fit, with @bytes in all. */
void cairn_rate_charge(struct cairn_rate *rate, u32 n, u32 bytes, u64 now);

/* No packet fits: set the mark, which was clear. */
void cairn_rate_mark(struct cairn_rate *rate, u64 now);

/* Bytes of the default burst. @packet: bytes of the longest packet. */
u32 cairn_rate_default_burst(u32 kbps, u32 packet);

/* ns that @bytes take at @kbps, rounded down. */
u64 cairn_rate_ns(u32 kbps, u32 bytes);

/* When to continue; 0: no work waits for the rate. */
static inline u64 cairn_rate_deadline(const struct cairn_rate *rate)
{
	return rate->marked ? rate->next : 0;
}

#endif
