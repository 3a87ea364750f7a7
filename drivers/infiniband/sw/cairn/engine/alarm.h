/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The alarm of a QP side: when the side has to run, and when a timer checks that.
 *
 * A deadline moves with every packet, and most deadlines are cancelled before they
 * expire. So the timer's entry stays in place when the deadline moves to a later time
 * or is cancelled. When the entry expires, cairn_alarm_expire() says what to do:
 * nothing, set the timer again, or run the side.
 *
 * The holder of the side's lock writes due; the owner of the timer queue writes set.
 * Each writes its own word, executes a full barrier and reads the other's word. So
 * either the side sees that the entry has expired and sets the timer again, or the
 * timer sees the new deadline.
 */
#ifndef CAIRN_ENGINE_ALARM_H
#define CAIRN_ENGINE_ALARM_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>

struct cairn_alarm {
	u64 due;	/* when the side has to run, ns; 0: never */
	u64 set;	/* when the timer's entry expires, ns; 0: no entry */
};

/* The earlier of two deadlines; 0 (none) minus one wraps to the maximum. */
static inline u64 cairn_alarm_earlier(u64 one, u64 other)
{
	return min(one - 1, other - 1) + 1;
}

/**
 * cairn_alarm_move() - change the side's deadline
 * @alarm: the alarm; the caller holds the side's lock
 * @due: CLOCK_MONOTONIC, ns; 0: none
 *
 * Return: true if the timer's entry would expire after @due, or there is none: the
 * caller sets the timer.
 */
static inline bool cairn_alarm_move(struct cairn_alarm *alarm, u64 due)
{
	u64 set;

	if (READ_ONCE(alarm->due) != due) {
		WRITE_ONCE(alarm->due, due);
		smp_mb();	/* pairs with smp_mb() in cairn_alarm_expire() */
	}
	set = READ_ONCE(alarm->set);
	return due && (!set || set > due);
}

/**
 * cairn_alarm_expire() - handle an entry that has expired and left the queue
 * @alarm: the alarm; the caller owns the timer queue
 *
 * Return: the side's deadline. 0: there is none; later than now: the caller sets the
 * timer again.
 */
static inline u64 cairn_alarm_expire(struct cairn_alarm *alarm)
{
	WRITE_ONCE(alarm->set, 0);
	smp_mb();		/* pairs with smp_mb() in cairn_alarm_move() */
	return READ_ONCE(alarm->due);
}

/*
 * The timer's share of its CPU for QPs that retry after an RNR NAK. The timer runs
 * in soft-interrupt context, before all processes, and on a host that has both ends
 * each packet costs several times as much. Many QPs that retry every 10 us would
 * leave no time for processes. So the timer has one part in CAIRN_TIMER_PART of the
 * time and CAIRN_TIMER_BURST_NS in one piece. A thread, which the kernel schedules
 * fairly, does the rest.
 */
#define CAIRN_TIMER_PART	32
#define CAIRN_TIMER_BURST_NS	1000000

struct cairn_timer_share {
	s64 left;	/* ns; negative: overdrawn */
	u64 seen;	/* when left was updated, ns */
};

/* May the timer itself retry @now (ns)? cairn_alarm_share_end() charges the time. */
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
