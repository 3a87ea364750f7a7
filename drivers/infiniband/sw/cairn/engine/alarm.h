/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The alarm of a QP side: when it is due, and when a timer looks at it.
 *
 * A deadline moves with every packet, and most are gone long before they come.
 * So the timer's entry stays where it is when the deadline moves later or goes.
 * When the entry expires, one word says what to do: nothing, look again later,
 * or run the side.
 *
 * @due belongs to the holder of the side's lock, @set to the owner of the timer
 * queue. Each writes its own word, has a full barrier and reads the other's. So
 * either the side sees that the entry is gone and sets it again, or the timer
 * sees the new deadline.
 */
#ifndef CAIRN_ENGINE_ALARM_H
#define CAIRN_ENGINE_ALARM_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>

struct cairn_alarm {
	u64 due;	/* the side is to run then, ns; 0: it need not */
	u64 set;	/* the timer looks then, ns; 0: it has no entry */
};

/* The earlier of two deadlines; 0 (none) minus one wraps to the maximum. */
static inline u64 cairn_alarm_earlier(u64 one, u64 other)
{
	return min(one - 1, other - 1) + 1;
}

/**
 * cairn_alarm_move() - the side's deadline is @due from now on
 * @alarm: the alarm; the caller holds the side's lock
 * @due: CLOCK_MONOTONIC, ns; 0: none
 *
 * Return: true when the timer would look too late, or never: it is to be set.
 */
static inline bool cairn_alarm_move(struct cairn_alarm *alarm, u64 due)
{
	u64 set;

	if (READ_ONCE(alarm->due) != due) {
		WRITE_ONCE(alarm->due, due);
		smp_mb();	/* with the one in cairn_alarm_expire() */
	}
	set = READ_ONCE(alarm->set);
	return due && (!set || set > due);
}

/**
 * cairn_alarm_expire() - the timer's entry has expired and is off the queue
 * @alarm: the alarm; the caller owns the timer queue
 *
 * Return: when the side is due. 0: nothing is to be done; later than now: set
 * the timer again.
 */
static inline u64 cairn_alarm_expire(struct cairn_alarm *alarm)
{
	WRITE_ONCE(alarm->set, 0);
	smp_mb();		/* with the one in cairn_alarm_move() */
	return READ_ONCE(alarm->due);
}

/*
 * What a timer may take of its CPU for those that ask again, as the peer had no receive.
 * It does that in soft-interrupt context, before all processes, and each packet sent
 * costs a host that has both ends several times as much. Many queue pairs that ask each
 * 10 us would leave nothing to others. So that is one part of the time, and so much at
 * once; what is more is for a thread, which shares the CPU as processes do.
 */
#define CAIRN_TIMER_PART	32
#define CAIRN_TIMER_BURST_NS	1000000

struct cairn_timer_share {
	s64 left;	/* ns; below 0: that was too much */
	u64 seen;	/* when that was true */
};

/* May the timer ask again itself @now (ns)? All that it does counts. */
static inline bool cairn_alarm_share_begin(struct cairn_timer_share *share,
					   u64 now)
{
	s64 more = (now - share->seen) / CAIRN_TIMER_PART;

	share->seen = now;
	share->left = min_t(s64, share->left + more, CAIRN_TIMER_BURST_NS);
	return share->left > 0;
}

static inline void cairn_alarm_share_end(struct cairn_timer_share *share,
					 u64 took_ns)
{
	share->left -= took_ns;
}

#endif
