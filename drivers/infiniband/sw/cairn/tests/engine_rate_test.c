// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rate arithmetic against exact arithmetic, and the rules of bursts. */
#include <linux/kernel.h>
#include "engine/rate.h"
#include "engine.h"

typedef unsigned __int128 u128;

#define PACKET	1040u		/* 1024 bytes of payload */

static struct cairn_rate_limit rate_limit(u32 kbps, u32 burst, u16 typical)
{
	return (struct cairn_rate_limit){ kbps, burst, typical };
}

/* A rate that is as likely to be small as large. */
static u32 any_kbps(struct sim_rand *random)
{
	u64 kbps = 1ULL << sim_below(random, 29);

	kbps += sim_below(random, (u32)kbps);
	return min_t(u64, kbps, CAIRN_MAX_RATE_LIMIT);
}

static void values(void)
{
	static const struct {
		struct cairn_rate_limit l;
		bool good;
	} v[] = {
		{ { 0, 0, 0 }, true },
		{ { 0, 4096, 0 }, false },
		{ { 0, 0, 64 }, false },
		{ { 1, 0, 0 }, true },
		{ { CAIRN_MAX_RATE_LIMIT, 0, 0 }, true },
		{ { CAIRN_MAX_RATE_LIMIT + 1, 0, 0 }, false },
		{ { ~0u, 0, 0 }, false },
		{ { 1000, PACKET, 0 }, true },
		{ { 1000, PACKET - 1, 0 }, false },
		{ { 1000, PACKET, PACKET }, true },
		{ { 1000, PACKET, PACKET + 1 }, false },
		{ { 1000, 0, 65535 }, true },
		{ { 1000, CAIRN_RATE_MAX_BURST, 1 }, true },
		{ { 1000, CAIRN_RATE_MAX_BURST + 1, 0 }, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(v); i++)
		if (cairn_rate_check(&v[i].l, PACKET) != v[i].good)
			ktap_fail("row %u", i);
}

/* 10240 packets a second as 1024 bursts of 10, one every 976562.5 ns. */
static void seed_example(void)
{
	/* bytes as the example counts them, and its rate in bit/s */
	struct cairn_rate_limit allowed = rate_limit(83886080 / 1000, 10240, 0);
	u64 begin = SIM_SEC, now = begin;
	u32 bursts = 0, packets = 0;
	struct cairn_rate rate = {};

	cairn_rate_set(&rate, &allowed, 1024, now);
	while (now < begin + SIM_SEC) {
		u32 n;

		cairn_rate_open(&rate, now);
		n = cairn_rate_fit(&rate, 1024, 64, now);
		ktap_eq(n, 10);
		cairn_rate_charge(&rate, n, n * 1024, now);
		packets += n;
		bursts++;
		ktap_eq(cairn_rate_fit(&rate, 1024, 64, now), 0);
		cairn_rate_mark(&rate, now);
		/* a kbit/s is too coarse for the half nanosecond */
		ktap_ok(cairn_rate_deadline(&rate) - now - 976562 < 3);
		now = cairn_rate_deadline(&rate);
	}
	ktap_eq(bursts, 1024);
	ktap_eq(packets, 10240);
}

/* Without late timers the time is exact after any number of packets. */
static void exact_run(struct sim_rand *rand, u32 kbps)
{
	u64 begin = SIM_SEC, now = begin;
	struct cairn_rate_limit allowed = rate_limit(kbps, 0, 0);
	struct cairn_rate rate = {};
	u128 sent = 0;
	u32 i;

	if (sim_chance(rand, 500))
		allowed.burst = 4200 + sim_below(rand, 1 << 20);
	cairn_rate_set(&rate, &allowed, 4200, now);
	for (i = 0; i < 3000 && now < 1ULL << 62; i++) {
		u32 bytes = 16 + sim_below(rand, 4185), n;

		cairn_rate_open(&rate, now);
		n = cairn_rate_fit(&rate, bytes, 1 + sim_below(rand, 64), now);
		if (!n) {
			cairn_rate_mark(&rate, now);
			now = cairn_rate_deadline(&rate);
			continue;
		}
		cairn_rate_charge(&rate, n, n * bytes, now);
		sent += n * bytes;
		if (rate.next - begin != (u64)(sent * 8000000 / kbps)) {
			ktap_fail("%u kbit/s, step %u: %llu ns", kbps, i,
				  rate.next - begin);
			return;
		}
	}
	ktap_ok(i > 100);
}

static void no_drift(void)
{
	static const u32 corner[] = {
		1, 2, 3, 7, 999, 1000, 83886, 1000000, 399999999,
		CAIRN_MAX_RATE_LIMIT,
	};
	struct sim_rand rand = { .state = sim_first_seed() };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(corner); i++)
		exact_run(&rand, corner[i]);
	for (i = 0; i < sim_seeds(200); i++)
		exact_run(&rand, any_kbps(&rand));
}

/* Bursts one after the other: 100 of them take exactly their time. */
static u64 long_bursts(struct cairn_rate *rate, u64 begin)
{
	u64 now = begin, bytes = 0;
	u32 i, k, part;

	for (i = 0; i < 100; i++) {
		cairn_rate_open(rate, now);
		/* all but a nanosecond's fits beside what is unpaid */
		for (k = 0; k < 2; k++) {
			part = rate->burst / 2 - 64 * k;
			ktap_eq(cairn_rate_fit(rate, part, 64, now), 2 - k);
			cairn_rate_charge(rate, 1, part, now);
			bytes += part;
		}
		ktap_eq(cairn_rate_fit(rate, 128, 64, now), 0);
		cairn_rate_mark(rate, now);
		now = cairn_rate_deadline(rate);
		ktap_eq(now - begin, (u64)((u128)bytes * 8000000 / rate->kbps));
	}
	return now;
}

/* With a burst unpaid to the one end of the range and to the other. */
static void end_to_end(struct cairn_rate *rate, u64 now)
{
	struct cairn_rate_limit allowed = rate_limit(CAIRN_MAX_RATE_LIMIT, rate->burst, 0);
	u64 least = cairn_rate_ns(allowed.kbps, allowed.burst);

	cairn_rate_open(rate, now);
	cairn_rate_charge(rate, 1, rate->burst, now);
	cairn_rate_set(rate, &allowed, PACKET, now);
	ktap_ok(rate->next - now + 1 >= least && rate->next - now <= least + 1);
	allowed.kbps = 1;
	cairn_rate_set(rate, &allowed, PACKET, now);
	ktap_ok(rate->next - now >= (least - 1) * CAIRN_MAX_RATE_LIMIT);
	ktap_ok(rate->next - now <= (least + 1) * CAIRN_MAX_RATE_LIMIT);
}

/* The longest bursts there are; at 1 kbit/s one takes 99 days. */
static void extremes(void)
{
	static const u32 kbps[] = {
		1, 3, 1000, 85197, 1000000, 399999999, CAIRN_MAX_RATE_LIMIT,
	};
	static const u64 begin[] = { 0, SIM_SEC, 1ULL << 61 };
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(kbps); i++) {
		struct cairn_rate_limit allowed = rate_limit(kbps[i],
							     CAIRN_RATE_MAX_BURST, 0);

		ktap_eq(cairn_rate_ns(allowed.kbps, allowed.burst),
			(u64)((u128)allowed.burst * 8000000 / allowed.kbps));
		for (k = 0; k < ARRAY_SIZE(begin); k++) {
			struct cairn_rate rate = {};

			cairn_rate_set(&rate, &allowed, PACKET, begin[k]);
			end_to_end(&rate, long_bursts(&rate, begin[k]));
		}
	}
}

/*
 * Demand varies and timers are late. The packets of one instant are a burst at most. An
 * interval has at most a burst and a half above the rate (tried from each wait on).
 * After a full burst there is a pause of at least half its time.
 */
static void bounded_run(struct sim_rand *rand, u32 kbps)
{
	u32 burst = 4200 + sim_below(rand, 1 << 18), i, together = 0;
	u64 interval = cairn_rate_ns(kbps, burst), now = SIM_SEC;
	struct cairn_rate_limit allowed = rate_limit(kbps, burst, 0);
	struct cairn_rate rate = {};
	u64 window = now, unpaid;
	u128 sent = 0;

	cairn_rate_set(&rate, &allowed, 4200, now);
	for (i = 0; i < 3000 && now < 1ULL << 60; i++) {
		u32 bytes = 16 + sim_below(rand, 4185), n;

		if (sim_chance(rand, 100)) {	/* nothing to send */
			now += 1 + sim_rand(rand) % (interval / 2 + 1);
			together = 0;
		}
		cairn_rate_open(&rate, now);
		n = cairn_rate_fit(&rate, bytes, 1 + sim_below(rand, 64), now);
		cairn_rate_charge(&rate, n, n * bytes, now);
		sent += n * bytes;
		together += n * bytes;
		/* what less than a nanosecond takes is paid for at once */
		ktap_ok(together <= burst + kbps / 8000000 + 1);
		ktap_ok(sent <= (u128)(now - window) * kbps / 8000000 +
			burst + burst / 2 + kbps / 8000000 + 2);
		if (n)
			continue;
		unpaid = rate.next - now;
		cairn_rate_mark(&rate, now);
		ktap_ok(cairn_rate_deadline(&rate) - now >= unpaid / 2);
		now = cairn_rate_deadline(&rate);
		together = 0;
		if (sim_chance(rand, 500))
			now += sim_rand(rand) % (interval + 2);
		else if (sim_chance(rand, 100))
			now += sim_rand(rand) % (10 * interval + 2);
		if (sim_chance(rand, 100)) {
			window = now;
			sent = 0;
		}
	}
}

static void never_too_much(void)
{
	struct sim_rand rand = { .state = sim_first_seed() };
	u32 i;

	for (i = 0; i < sim_seeds(300); i++)
		bounded_run(&rand, any_kbps(&rand));
}

/* Timers that are late by less than half a burst cost nothing. */
static void late_timers(void)
{
	struct sim_rand rand = { .state = sim_first_seed() };
	struct cairn_rate_limit allowed = rate_limit(100000, 10 * PACKET, 0);
	u64 begin = SIM_SEC, now = begin, sent = 0, due;
	struct cairn_rate rate = {};

	cairn_rate_set(&rate, &allowed, PACKET, now);
	while (now < begin + 10 * SIM_SEC) {
		u32 n;

		cairn_rate_open(&rate, now);
		n = cairn_rate_fit(&rate, PACKET, 64, now);
		cairn_rate_charge(&rate, n, n * PACKET, now);
		sent += n * PACKET;
		cairn_rate_mark(&rate, now);
		now = cairn_rate_deadline(&rate) + sim_below(&rand, 400000);
	}
	due = 100000ULL * 1000 / 8 * 10;
	ktap_ok(sent >= due - 20 * PACKET && sent <= due + 20 * PACKET);
}

/* Idle for long: one burst, not what was missed. */
static void nothing_is_saved_up(void)
{
	struct cairn_rate_limit allowed = rate_limit(100000, 4 * PACKET, 0);
	struct cairn_rate rate = {};
	u64 now = SIM_SEC;

	cairn_rate_set(&rate, &allowed, PACKET, now);
	now += SIM_SEC;
	cairn_rate_open(&rate, now);
	ktap_eq(cairn_rate_fit(&rate, PACKET, 64, now), 4);
	cairn_rate_charge(&rate, 4, 4 * PACKET, now);
	ktap_eq(cairn_rate_fit(&rate, PACKET, 64, now), 0);
	cairn_rate_mark(&rate, now);
	ktap_eq(rate.next, now + cairn_rate_ns(100000, 4 * PACKET));
	/* the timer stalls: half a burst is made up for, no more */
	now += 9 * SIM_SEC;
	cairn_rate_open(&rate, now);
	ktap_eq(cairn_rate_fit(&rate, PACKET, 64, now), 4);
	cairn_rate_charge(&rate, 4, 4 * PACKET, now);
	cairn_rate_mark(&rate, now);
	ktap_eq(rate.next, now + cairn_rate_ns(100000, 4 * PACKET) / 2);
}

static void counted_packets(void)
{
	struct cairn_rate_limit allowed = rate_limit(100000, 4000, 1000);
	struct cairn_rate rate = {};
	u64 now = SIM_SEC;

	cairn_rate_set(&rate, &allowed, PACKET, now);
	ktap_eq(cairn_rate_fit(&rate, 80, 64, now), 4);
	cairn_rate_charge(&rate, 3, 240, now);
	ktap_eq(cairn_rate_fit(&rate, 80, 64, now), 1);
	/* but never more bytes than the burst */
	ktap_eq(cairn_rate_fit(&rate, 3800, 64, now), 0);
}

/* A packet that is longer than a burst still leaves, alone. */
static void giant(void)
{
	struct cairn_rate_limit allowed = rate_limit(1000, 4000, 0);
	struct cairn_rate rate = {};
	u64 now = SIM_SEC;

	cairn_rate_set(&rate, &allowed, 4000, now);
	ktap_eq(cairn_rate_fit(&rate, 5000, 64, now), 1);
	cairn_rate_charge(&rate, 1, 5000, now);
	ktap_eq(cairn_rate_fit(&rate, 16, 64, now), 0);
	ktap_eq(rate.next, SIM_SEC + 40000000);
}

/* A debt is kept in bytes when the rate changes. */
static void changes(void)
{
	struct sim_rand rand = { .state = sim_first_seed() };
	u32 i;

	for (i = 0; i < sim_seeds(2000); i++) {
		struct cairn_rate_limit allowed = rate_limit(any_kbps(&rand),
							     100000, 0);
		u64 now = SIM_SEC, left;
		struct cairn_rate rate = {};

		cairn_rate_set(&rate, &allowed, 4200, now);
		cairn_rate_open(&rate, now);
		cairn_rate_charge(&rate, 1, 100000, now);
		cairn_rate_mark(&rate, now);
		now += sim_rand(&rand) % (rate.next - now);
		left = (u64)((u128)(rate.next - now) * allowed.kbps / 8000000);
		allowed.kbps = any_kbps(&rand);
		cairn_rate_set(&rate, &allowed, 4200, now);
		ktap_ok(rate.marked);
		if (rate.next - now < cairn_rate_ns(allowed.kbps, left) ||
		    rate.next - now > cairn_rate_ns(allowed.kbps, left + 2) + 1)
			ktap_fail("seed %u: %u bytes owed at %u kbit/s: %llu ns",
				  i, (u32)left, allowed.kbps, rate.next - now);
	}
}

static void small_state(void)
{
	ktap_diag("%zu bytes for each limited side", sizeof(struct cairn_rate));
	ktap_eq(sizeof(struct cairn_rate) <= 64, true);
}

static const struct ktap_test tests[] = {
	KTAP(values),
	KTAP(seed_example),
	KTAP(no_drift),
	KTAP(extremes),
	KTAP(never_too_much),
	KTAP(late_timers),
	KTAP(nothing_is_saved_up),
	KTAP(counted_packets),
	KTAP(giant),
	KTAP(changes),
	KTAP(small_state),
};

KTAP_MAIN(tests)
