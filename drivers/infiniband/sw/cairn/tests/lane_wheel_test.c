// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The timer wheel against an array of deadlines. */
#include <linux/container_of.h>
#include <linux/minmax.h>
#include "lane/wheel.h"
#include "ktap.h"

#define ENTRIES		400
/* The wheel may be late by less than this, ns. */
#define LATE		(1ULL << CAIRN_WHEEL_SHIFT)

struct wheel_model {
	struct cairn_wheel wheel;
	struct cairn_wheel_entry entry[ENTRIES];
	u64 expires[ENTRIES];		/* 0: not in the wheel */
	u64 now;
	u32 in;				/* number in the wheel */
};

static void model_init(struct wheel_model *m, u64 now)
{
	u32 i;

	memset(m, 0, sizeof(*m));
	m->now = now;
	cairn_wheel_init(&m->wheel, now);
	for (i = 0; i < ENTRIES; i++)
		cairn_wheel_init_entry(&m->entry[i]);
}

static u64 model_earliest(const struct wheel_model *m)
{
	u64 first = 0;
	u32 i;

	for (i = 0; i < ENTRIES; i++)
		if (m->expires[i] && (!first || m->expires[i] < first))
			first = m->expires[i];
	return first;
}

static bool model_add(struct wheel_model *m, u32 i, u64 expires)
{
	u64 look;

	m->expires[i] = expires;
	m->in++;
	look = cairn_wheel_add(&m->wheel, &m->entry[i], expires);
	return ktap_ok(look < max(expires, m->now + 1) + LATE);
}

static void model_remove(struct wheel_model *m, u32 i)
{
	m->expires[i] = 0;
	m->in--;
	cairn_wheel_remove(&m->entry[i]);
}

/* Take all that have expired. No one is early, and none is left that is overdue. */
static bool model_take(struct wheel_model *m)
{
	struct cairn_wheel_entry *entry;
	u32 looks = 1000000, i;
	bool ok = true;

	while (ok && (entry = cairn_wheel_take(&m->wheel, m->now, &looks))) {
		i = entry - m->entry;
		ok = ktap_ok(m->expires[i] && m->expires[i] <= m->now) &&
		     ktap_eq(entry->expires, m->expires[i]);
		m->expires[i] = 0;
		m->in--;
	}
	return ok && ktap_ok(!m->in || model_earliest(m) + LATE > m->now);
}

/* The wheel is to be looked at before any deadline is overdue, and never if it is empty. */
static bool model_next_fits(struct wheel_model *m)
{
	u64 next = cairn_wheel_next(&m->wheel);

	if (!m->in)
		return ktap_eq(next, 0);
	return ktap_ok(next && next < max(model_earliest(m), m->now + 1) + LATE);
}

/* A time from nothing to days, each order of magnitude as likely. */
static u64 random_delay(void)
{
	return ktap_rand() >> (64 - 1 - ktap_rand_below(50));
}

static void random_steps(void)
{
	static struct wheel_model m;
	bool ok = true;
	u32 n;

	model_init(&m, ktap_rand() >> 10);
	for (n = 0; ok && n < 200000; n++) {
		u32 i = ktap_rand_below(ENTRIES);

		switch (ktap_rand_below(8)) {
		case 0:
			m.now += random_delay() >> 8;
			ok = model_take(&m);
			break;
		case 1:
			/* as the timer does */
			m.now = max(m.now, cairn_wheel_next(&m.wheel));
			ok = model_take(&m);
			break;
		case 2:
			if (m.expires[i])
				model_remove(&m, i);
			break;
		default:
			if (!m.expires[i])
				ok = model_add(&m, i, m.now + random_delay());
		}
		ok = ok && model_next_fits(&m);
	}
}

/* Deadlines in the past are taken at the next look. */
static void past_deadlines(void)
{
	static struct wheel_model m;
	u32 i;

	model_init(&m, 1ULL << 50);
	for (i = 0; i < ENTRIES; i++)
		model_add(&m, i, 1 + i * (1ULL << 41));
	m.now += LATE;
	model_take(&m);
	ktap_eq(m.in, 0);
}

/* A deadline beyond the last level is not forgotten, and not early. */
static void far_deadlines(void)
{
	static struct wheel_model m;
	u32 i;

	model_init(&m, 5);
	for (i = 0; i < 20; i++)
		model_add(&m, i, m.now + (1ULL << (44 + i)) - 7);
	for (i = 0; i < 10000 && m.in; i++) {
		m.now = max(m.now, cairn_wheel_next(&m.wheel));
		if (!model_take(&m) || m.now >> 62)
			break;
	}
	ktap_ok(m.now >> 62);
}

/* Deadlines that are rounded to an eighth of the time to them cost one look each. */
static void rounded_deadlines(void)
{
	static struct wheel_model m;
	u32 looks = 1000000, i, shift, n = 0;

	model_init(&m, 123456789);
	for (i = 0; i < ENTRIES; i++) {
		u64 at = m.now + LATE + random_delay() / 4096;

		shift = 63 - __builtin_clzll(at - m.now);
		shift = shift < 2 ? 0 : shift - 2;
		model_add(&m, i, (at + (1ULL << shift) - 1) >> shift << shift);
	}
	while (m.in) {
		struct cairn_wheel_entry *entry;

		m.now = cairn_wheel_next(&m.wheel);
		while ((entry = cairn_wheel_take(&m.wheel, m.now, &looks))) {
			m.in--;
			n++;
		}
	}
	ktap_eq(n, ENTRIES);
	ktap_eq(1000000 - looks, ENTRIES);
}

/* No more entries are looked at than the caller allows. */
static void limited_looks(void)
{
	static struct wheel_model m;
	u32 looks = 3, i, n = 0;

	model_init(&m, 77);
	for (i = 0; i < ENTRIES; i++)
		model_add(&m, i, 5000);
	while (cairn_wheel_take(&m.wheel, 10000, &looks))
		n++;
	ktap_eq(n, 3);
	ktap_eq(looks, 0);
	ktap_ok(cairn_wheel_next(&m.wheel) <= 10000);
}

static const struct ktap_test tests[] = {
	KTAP(random_steps),
	KTAP(past_deadlines),
	KTAP(far_deadlines),
	KTAP(rounded_deadlines),
	KTAP(limited_looks),
};

KTAP_MAIN(tests)
