// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A session while it runs: records, failing targets, and members that come back. */
#include <errno.h>
#include <string.h>

#include "ktap.h"
#include "log_desk.h"

/* A failed flush is not tried again, and no later one counts. */
static void failed_flush(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	struct sim_target *target;

	desk_setup(1, SIM_FILE);
	target = &sim->targets[0];
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 3), 0);
	target->fails = true;
	ktap_ok(desk_append(&a, 1));
	ktap_ok(!target->fails);
	ktap_eq(log_target_persist(&target->core, 0, 8), EIO);
	ktap_ok(desk_open(&b, 0, 0));
	ktap_ok(strstr(b.session.error, "has failed"));
	/* the process begins again: it makes all records durable first */
	desk_restart(0);
	ktap_eq(desk_open(&b, 0, 0), 0);
	ktap_eq(desk_append(&b, 1), 0);
	ktap_eq(desk_durable_at(0), b.session.first);
}

/* With a quorum a target may fail; the next session brings it up to date. */
static void goes_on_without_one(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	uint64_t behind;

	desk_setup(2, SIM_FILE);
	a.session.quorum = 1;
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
	ktap_eq(a.session.left, 2);
	sim->targets[1].fails = true;
	ktap_eq(desk_append(&a, 3), 0);
	ktap_eq(a.session.left, 1);
	ktap_eq(a.nic.links[0].lost, 0);
	ktap_eq(a.nic.links[1].lost, 1);
	ktap_eq(log_session_released(&a.session), 5);
	ktap_eq(desk_durable_at(0), 5);
	desk_restart(1);
	/* the third may be there or not */
	behind = desk_durable_at(1);
	ktap_ok(behind == 2 || behind == 3);
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(b.session.first, 6);
	ktap_eq(b.session.copied, 5 - behind);
	ktap_eq(desk_durable_at(1), 5);
}

/* A new log needs all its targets for a record, unless it is told otherwise. */
static void all_by_default(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);

	desk_setup(2, SIM_FILE);
	ktap_eq(desk_open(&a, 0, 1), 0);
	sim->targets[0].fails = true;
	ktap_eq(desk_append(&a, 1), EIO);
	ktap_ok(strstr(a.session.error, "1 of 2 target(s) left, 2 needed"));
	ktap_eq(a.session.durable, 0);
}

static void too_few_left(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	uint64_t record[64], durable;

	desk_setup(2, SIM_FILE);
	a.session.quorum = 1;
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 1), 0);
	sim->targets[0].fails = true;
	ktap_eq(desk_append(&a, 1), 0);
	sim->targets[1].fails = true;
	ktap_eq(desk_append(&a, 1), EIO);
	ktap_eq(a.session.left, 0);
	ktap_ok(strstr(a.session.error, "0 of 2 target(s) left, 1 needed"));
	/* the session stays closed */
	ktap_eq(log_session_append(&a.session, (void *)record, 4, "data", 4),
		EIO);
	ktap_eq(log_session_poll(&a.session, &durable), EIO);
	ktap_eq(durable, 2);
}

/* A post without room changes nothing, and leaves no gap in the chain. */
static void waits_for_room(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	uint64_t record[64], durable = 0;

	desk_setup(2, SIM_PMEM);
	a.session.depth = 3;
	ktap_eq(desk_open(&a, 0, 1), 0);
	for (int i = 1; i <= 3; i++)
		ktap_eq(log_session_append(&a.session, (void *)record,
					   (uint64_t)i, "data", 4), 0);
	ktap_eq(log_session_append(&a.session, (void *)record, 4, "data", 4),
		EAGAIN);
	while (durable < 3)
		ktap_eq(log_session_poll(&a.session, &durable), 0);
	a.number = 3;
	ktap_eq(desk_append(&a, 2), 0);
	ktap_eq(desk_durable_at(0), 5);
	ktap_eq(desk_durable_at(1), 5);
}

static void full_log(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	uint64_t record[64], durable, n = 0;
	int err;

	desk_setup(1, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 0), 0);
	a.session.size = SIM_USED;
	do {
		err = log_session_append(&a.session, (void *)record, n + 1,
					 "data", 4);
		n += !err;
		log_session_poll(&a.session, &durable);
	} while (!err || err == EAGAIN);
	ktap_eq(err, ENOSPC);
	while (durable < n && !log_session_poll(&a.session, &durable))
		;
	ktap_eq(durable, n);
	ktap_eq(desk_durable_at(0), n);
}

/* A target goes and comes back while the writer appends. */
static void taken_back(void)
{
	for (int mode = SIM_PMEM; mode <= SIM_FILE; mode++) {
		DESK a = desk(1, LOG_ASK_CREATE);

		desk_setup(3, mode);
		a.session.quorum = 2;
		ktap_eq(desk_open(&a, 0, 2), 0);
		for (int i = 0; i < 3; i++) {
			ktap_eq(desk_append(&a, 3), 0);
			sim_target_kill(&sim->targets[i]);
			ktap_eq(desk_append(&a, 3), 0);
			ktap_eq(a.session.left, 2);
			sim_target_start(&sim->targets[i]);
			ktap_eq(desk_append(&a, 3), 0);
			ktap_eq(a.session.left, 3);
			ktap_eq(a.session.returned, i + 1);
		}
		ktap_eq(log_session_released(&a.session), 27);
		for (int i = 0; i < 3; i++)
			ktap_eq(desk_durable_at(i), 27);
		ktap_ok(desk_all_equal());
	}
}

static int claims;

static int counted_claim(void *link, const struct log_ask *ask, struct log_answer *answer,
			 uint32_t ms)
{
	claims++;
	return sim_link_ops.claim(link, ask, answer, ms);
}

/*
 * A writer has reached one member and no more, and the next one has the same epoch at the
 * others. That member comes back to the next session only; this one asks it once.
 */
static void epoch_of_another(void)
{
	struct log_link_ops ops = sim_link_ops;
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	struct log_target *core;
	struct log_ask ask = {
		.magic = LOG_WIRE_MAGIC, .client = 7,
		.flags = LOG_ASK_CLAIM | LOG_ASK_TAKEOVER,
	};
	struct log_answer answer;

	ops.claim = counted_claim;
	desk_setup(3, SIM_FILE);
	core = &sim->targets[0].core;
	a.session.quorum = 2;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 3), 0);
	ask.id = a.session.id;
	ask.epoch = desk_epoch_at(1) + 1;
	ktap_eq(log_target_ask(core, &ask, sizeof(ask), &answer), LOG_GRANTED);
	sim_target_kill(&sim->targets[0]);
	b.session.ops = &ops;
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(b.session.left, 2);
	sim_target_start(&sim->targets[0]);
	claims = 0;
	for (int i = 0; i < 5; i++)
		ktap_eq(desk_append(&b, 1), 0);
	ktap_eq(claims, 1);
	ktap_eq(b.session.left, 2);
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(b.session.left, 3);
	for (int i = 0; i < 3; i++)
		ktap_eq(desk_durable_at(i), 8);
}

/*
 * A member whose copy is shorter than the others comes back. Its memory may be longer than
 * its copy, and take what is behind the end: no record goes there.
 */
static void smaller_comes_back(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	uint64_t record[64], durable, n;
	int err, tries = 1000;

	desk_setup(3, SIM_PMEM);
	a.session.quorum = 2;
	sim->targets[2].core.size = LOG_START + 1024 + 40;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 2), 0);
	sim_target_kill(&sim->targets[2]);
	ktap_eq(desk_open(&b, 0, 2), 0);
	ktap_eq(b.session.left, 2);
	ktap_ok(b.session.size > LOG_START + 1024);
	sim_target_start(&sim->targets[2]);
	ktap_eq(desk_append(&b, 3), 0);
	ktap_eq(b.session.left, 3);
	ktap_eq(desk_durable_at(2), 5);
	/* the first one is silent: the other two are the quorum */
	sim->targets[0].hung = true;
	n = b.number;
	do {
		err = log_session_append(&b.session, (void *)record, n + 1,
					 "data", 4);
		n += !err;
		if (log_session_poll(&b.session, &durable))
			break;
	} while ((!err || err == EAGAIN) && --tries);
	ktap_eq(err, ENOSPC);
	while (durable < n && !log_session_poll(&b.session, &durable))
		;
	ktap_eq(durable, n);
	ktap_eq(desk_durable_at(1), n + 2);
	ktap_eq(desk_durable_at(2), n + 2);
}

/* A target that says nothing is waited for until the deadline, and then left out. */
static void laggard_is_dropped(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);
	uint64_t durable;

	desk_setup(3, SIM_FILE);
	a.session.quorum = 2;
	a.session.deadline = 300;
	a.session.depth = 4;
	ktap_eq(desk_open(&a, 0, 2), 0);
	ktap_eq(desk_append(&a, 2), 0);
	sim->targets[1].hung = true;
	/* more than fit in flight */
	ktap_eq(desk_append(&a, 20), 0);
	ktap_eq(a.session.left, 2);
	ktap_eq(a.nic.links[1].lost, 1);
	ktap_eq(desk_durable_at(0), 22);
	ktap_eq(desk_durable_at(2), 22);
	sim->targets[1].hung = false;
	for (int i = 0; i < 5 && a.session.left < 3; i++)
		ktap_eq(log_session_poll(&a.session, &durable), 0);
	ktap_eq(a.session.left, 3);
	ktap_eq(desk_durable_at(1), 22);
	/* and without enough others it is the end */
	sim->targets[1].hung = true;
	sim->targets[2].hung = true;
	ktap_eq(desk_append(&a, 20), EIO);
	ktap_ok(strstr(a.session.error, "1 of 3 target(s) left, 2 needed"));
}

/* With blocks of their own, records begin where no other one is. */
static void blocks(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);

	desk_setup(2, SIM_FILE);
	a.session.shift = 9;
	ktap_eq(desk_open(&a, 0, 1), 0);
	for (int i = 1; i <= 5; i++) {
		ktap_eq(a.session.tail.offset % 512, 0);
		ktap_eq(desk_append(&a, 1), 0);
	}
	ktap_eq(a.session.tail.offset, LOG_START + 5 * 512);
	ktap_eq(desk_durable_at(1), 5);
	sim_target_replace(&sim->targets[1]);
	sim_target_start(&sim->targets[1]);
	/* also in a copy, and whatever the next writer says */
	b.session.flags |= LOG_ASK_FILL;
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(b.session.tail.offset, LOG_START + 5 * 512);
	ktap_eq(desk_append(&b, 5), 0);
	ktap_eq(desk_durable_at(1), 10);
}

/* A target that keeps nothing does not count, unless the writer wants that. */
static void emulated_refused(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);

	desk_setup(2, SIM_PMEM);
	sim->targets[1].emulated = true;
	ktap_eq(desk_open(&a, 0, 1), EINVAL);
	ktap_ok(strstr(a.session.error, "second: keeps nothing"));
	ktap_eq(desk_epoch_at(0), 0);
	a.session.emulated = true;
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
}

/* The kind of durability in the completions counts, not what a target says. */
static void emulated_unsaid(void)
{
	DESK a = desk(1, LOG_ASK_CREATE);

	desk_setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(desk_append(&a, 2), 0);
	sim->targets[1].lies = true;
	ktap_eq(desk_append(&a, 1), EIO);
	ktap_eq(a.session.durable, 2);
}

struct walk {
	uint64_t seen, until;
	bool wrong;
};

static int walk_visit(void *ctx, const struct log_record *record)
{
	struct walk *walk = ctx;

	walk->seen++;
	walk->wrong |= record->seq != walk->seen || record->length != 4 ||
		       memcmp(record + 1, "data", 4) != 0;
	return walk->seen == walk->until ? ECANCELED : 0;
}

/* More records than the buffer of a session has room for. */
static void walks_all(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	struct walk walk = {};

	desk_setup(2, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 1), 0);
	ktap_eq(log_session_walk(&a.session, walk_visit, &walk), 0);
	ktap_eq(walk.seen, 0);
	ktap_eq(desk_append(&a, 50), 0);
	ktap_eq(desk_open(&b, 0, 1), 0);
	ktap_eq(log_session_walk(&b.session, walk_visit, &walk), 0);
	ktap_eq(walk.seen, 50);
	walk = (struct walk){ .until = 20 };
	ktap_eq(log_session_walk(&b.session, walk_visit, &walk), ECANCELED);
	ktap_eq(walk.seen, 20);
	ktap_ok(!walk.wrong);
	/* records follow as always */
	ktap_eq(desk_append(&b, 3), 0);
	ktap_eq(desk_durable_at(0), 53);
	ktap_eq(desk_durable_at(1), 53);
}

/* The target that is read ends, or is not what it was. */
static void walk_fails(void)
{
	DESK a = desk(1, LOG_ASK_CREATE), b = desk(2, LOG_ASK_TAKEOVER);
	struct walk walk = {};

	desk_setup(1, SIM_PMEM);
	ktap_eq(desk_open(&a, 0, 0), 0);
	ktap_eq(desk_append(&a, 20), 0);
	ktap_eq(desk_open(&b, 0, 0), 0);
	sim->targets[0].core.memory[LOG_START + 600] ^= 1;
	ktap_eq(log_session_walk(&b.session, walk_visit, &walk), EIO);
	ktap_ok(strstr(b.session.error, "is not what it was"));
	ktap_ok(walk.seen < 20);
	sim->targets[0].core.memory[LOG_START + 600] ^= 1;
	ktap_eq(desk_open(&b, 0, 0), 0);
	sim->targets[0].hung = true;
	ktap_eq(log_session_walk(&b.session, walk_visit, &walk), ETIMEDOUT);
}

static const struct ktap_test tests[] = {
	KTAP(failed_flush),
	KTAP(goes_on_without_one),
	KTAP(all_by_default),
	KTAP(too_few_left),
	KTAP(waits_for_room),
	KTAP(full_log),
	KTAP(taken_back),
	KTAP(epoch_of_another),
	KTAP(smaller_comes_back),
	KTAP(laggard_is_dropped),
	KTAP(blocks),
	KTAP(emulated_refused),
	KTAP(emulated_unsaid),
	KTAP(walks_all),
	KTAP(walk_fails),
};

KTAP_MAIN(tests)
