// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Which completion events are delayed, for how many entries and how long. */
#include <linux/time64.h>
#include "ktap.h"
#include "verbs/event_delay.h"

#define ALL_ROOM	1024	/* entries that an event may wait for, of a large queue */

static struct cairn_event_delay delay;
static u64 now;

static void begin_test(void)
{
	delay = (struct cairn_event_delay){};
	now = NSEC_PER_SEC;
}

static enum cairn_event_verdict add_lazy(void)
{
	return cairn_event_entry(&delay, now, false, ALL_ROOM);
}

static enum cairn_event_verdict add_eager(void)
{
	return cairn_event_entry(&delay, now, false, 0);
}

/* @num entries are added to a queue whose events wait for a lazy thread. */
static void delay_entries(u32 num)
{
	u32 i;

	ktap_eq(add_lazy(), CAIRN_EVENT_BEGINS);
	for (i = 1; i < num; i++)
		ktap_eq(add_lazy(), CAIRN_EVENT_WAITS);
}

/* An event waits for @num entries until its time is over. */
static void delay_until_late(u32 num)
{
	delay_entries(num);
	now += cairn_event_delay_ns(&delay);
	ktap_ok(cairn_event_end(&delay, now, true));
}

/* For how long events do not wait, ns; at the end they do. */
static u64 eager_time(void)
{
	u64 from = now;

	while (add_lazy() == CAIRN_EVENT_NOW)
		now += NSEC_PER_MSEC / 4;
	ktap_ok(cairn_event_end(&delay, now, false));
	return now - from;
}

static void event_is_raised_if_nothing_delays_it(void)
{
	u32 i;

	begin_test();
	for (i = 0; i < 3; i++)
		ktap_eq(add_eager(), CAIRN_EVENT_NOW);
	ktap_ok(!cairn_event_end(&delay, now, true));
}

static void moderated_event_waits_for_entries(void)
{
	u32 i;

	begin_test();
	ktap_ok(!cairn_event_set(&delay, 3, 50));
	ktap_eq(cairn_event_delay_ns(&delay), 50 * NSEC_PER_USEC);
	for (i = 0; i < 2; i++) {
		ktap_eq(add_eager(), CAIRN_EVENT_BEGINS);
		ktap_eq(add_eager(), CAIRN_EVENT_WAITS);
		ktap_eq(add_eager(), CAIRN_EVENT_NOW);
	}
}

static void moderation_needs_two_entries_and_a_time(void)
{
	begin_test();
	ktap_ok(!cairn_event_set(&delay, 50, 0));
	ktap_eq(add_eager(), CAIRN_EVENT_NOW);
	ktap_ok(!cairn_event_set(&delay, 1, 50));
	ktap_eq(add_eager(), CAIRN_EVENT_NOW);
	/* nor does it keep events from waiting for a lazy thread */
	ktap_eq(add_lazy(), CAIRN_EVENT_BEGINS);
}

static void moderation_counts_from_the_begin_of_its_delay(void)
{
	begin_test();
	cairn_event_set(&delay, 3, 50);
	ktap_eq(add_eager(), CAIRN_EVENT_BEGINS);
	ktap_ok(cairn_event_end(&delay, now, true));
	ktap_eq(add_eager(), CAIRN_EVENT_BEGINS);
	ktap_eq(add_eager(), CAIRN_EVENT_WAITS);
	ktap_eq(add_eager(), CAIRN_EVENT_NOW);
}

static void moderated_event_never_turns_eager(void)
{
	u32 i;

	begin_test();
	cairn_event_set(&delay, 3, 50);
	for (i = 0; i < 3; i++) {
		ktap_eq(add_eager(), CAIRN_EVENT_BEGINS);
		ktap_ok(cairn_event_end(&delay, now, true));
	}
	cairn_event_set(&delay, 0, 0);
	ktap_eq(add_lazy(), CAIRN_EVENT_BEGINS);
}

/* The timer may be one of a long moderation. */
static void end_of_moderation_bounds_a_delay(void)
{
	begin_test();
	cairn_event_set(&delay, 100, 60000);
	ktap_eq(add_eager(), CAIRN_EVENT_BEGINS);
	ktap_ok(cairn_event_set(&delay, 0, 0));
	ktap_eq(cairn_event_delay_ns(&delay), NSEC_PER_MSEC);
	ktap_eq(add_eager(), CAIRN_EVENT_NOW);
	ktap_ok(!cairn_event_set(&delay, 0, 0));
}

static void begin_of_moderation_keeps_the_timer(void)
{
	begin_test();
	ktap_eq(add_lazy(), CAIRN_EVENT_BEGINS);
	ktap_ok(!cairn_event_set(&delay, 100, 60000));
	ktap_ok(!cairn_event_is_lazy(&delay));
	ktap_ok(cairn_event_end(&delay, now, true));
}

static void lazy_event_waits_for_64_entries(void)
{
	begin_test();
	ktap_eq(cairn_event_delay_ns(&delay), NSEC_PER_MSEC);
	delay_entries(63);
	ktap_ok(cairn_event_is_lazy(&delay));
	ktap_eq(add_lazy(), CAIRN_EVENT_NOW);
	ktap_ok(!cairn_event_is_lazy(&delay));
}

static void lazy_event_of_a_short_queue_waits_for_fewer(void)
{
	begin_test();
	ktap_eq(cairn_event_entry(&delay, now, false, 3), CAIRN_EVENT_BEGINS);
	ktap_eq(cairn_event_entry(&delay, now, false, 3), CAIRN_EVENT_WAITS);
	ktap_eq(cairn_event_entry(&delay, now, false, 3), CAIRN_EVENT_NOW);
	ktap_eq(cairn_event_entry(&delay, now, false, 1), CAIRN_EVENT_NOW);
}

static void event_that_must_not_wait_ends_a_delay(void)
{
	begin_test();
	ktap_eq(cairn_event_entry(&delay, now, true, ALL_ROOM), CAIRN_EVENT_NOW);
	delay_entries(2);
	ktap_eq(cairn_event_entry(&delay, now, true, ALL_ROOM), CAIRN_EVENT_NOW);
	ktap_ok(!cairn_event_end(&delay, now, true));
	/* no process posts without doorbells any more */
	delay_entries(2);
	ktap_eq(add_eager(), CAIRN_EVENT_NOW);
	ktap_ok(!cairn_event_end(&delay, now, true));
}

static void event_is_delayed_once_for_an_end(void)
{
	begin_test();
	delay_entries(2);
	ktap_ok(cairn_event_end(&delay, now, false));
	ktap_ok(!cairn_event_end(&delay, now, false));
	ktap_eq(add_lazy(), CAIRN_EVENT_BEGINS);
}

static void few_entries_make_events_eager(void)
{
	u64 ms;

	begin_test();
	for (ms = 1; ms <= 128; ms *= 2) {
		delay_until_late(7);
		ktap_eq(eager_time(), ms * NSEC_PER_MSEC);
	}
	delay_until_late(1);
	ktap_eq(eager_time(), 128 * NSEC_PER_MSEC);
}

static void enough_entries_end_the_growth(void)
{
	begin_test();
	delay_until_late(7);
	eager_time();
	delay_until_late(7);
	eager_time();
	delay_until_late(8);
	ktap_eq(add_lazy(), CAIRN_EVENT_BEGINS);
	ktap_ok(cairn_event_end(&delay, now, false));
	delay_until_late(7);
	ktap_eq(eager_time(), NSEC_PER_MSEC);
}

/* Enough entries end it too if an entry raises the event. */
static void full_delay_ends_the_growth(void)
{
	begin_test();
	delay_until_late(7);
	eager_time();
	delay_entries(63);
	ktap_eq(add_lazy(), CAIRN_EVENT_NOW);
	delay_until_late(7);
	ktap_eq(eager_time(), NSEC_PER_MSEC);
}

/* The lazy thread ran in time: no process has waited for nothing. */
static void early_end_teaches_nothing(void)
{
	begin_test();
	delay_until_late(7);
	eager_time();
	delay_entries(7);
	ktap_ok(cairn_event_end(&delay, now, false));
	ktap_eq(add_lazy(), CAIRN_EVENT_BEGINS);
	ktap_ok(cairn_event_end(&delay, now, false));
	delay_until_late(7);
	ktap_eq(eager_time(), 2 * NSEC_PER_MSEC);
}

static void time_is_read_at_the_begin_only(void)
{
	begin_test();
	delay_until_late(7);
	eager_time();
	ktap_eq(add_lazy(), CAIRN_EVENT_BEGINS);
	now = 0;
	ktap_eq(add_lazy(), CAIRN_EVENT_WAITS);
}

static const struct ktap_test tests[] = {
	KTAP(event_is_raised_if_nothing_delays_it),
	KTAP(moderated_event_waits_for_entries),
	KTAP(moderation_needs_two_entries_and_a_time),
	KTAP(moderation_counts_from_the_begin_of_its_delay),
	KTAP(moderated_event_never_turns_eager),
	KTAP(end_of_moderation_bounds_a_delay),
	KTAP(begin_of_moderation_keeps_the_timer),
	KTAP(lazy_event_waits_for_64_entries),
	KTAP(lazy_event_of_a_short_queue_waits_for_fewer),
	KTAP(event_that_must_not_wait_ends_a_delay),
	KTAP(event_is_delayed_once_for_an_end),
	KTAP(few_entries_make_events_eager),
	KTAP(enough_entries_end_the_growth),
	KTAP(full_delay_ends_the_growth),
	KTAP(early_end_teaches_nothing),
	KTAP(time_is_read_at_the_begin_only),
};

KTAP_MAIN(tests)
