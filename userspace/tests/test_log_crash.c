// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The log's own code against crashes: writers that die, come back or hang, targets
 * that lose power, fail to flush or are replaced, and connections that break, in
 * schedules by seed. Each image of what a power failure could leave (log_sim.c) is
 * read as "cairn_log verify" reads it. All that was acknowledged must be in it.
 *
 *   CAIRN_IMAGES=n	images for each test
 *   CAIRN_SOAK=1	two million for each
 *   CAIRN_SEED=n	the first schedule
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ktap.h"
#include "log_sim.h"

#define WRITERS		2
#define STEPS		300
#define MAX_SEQ		256
#define MAX_NUMBERS	256
#define MAX_MADE	64		/* of one number */
#define IMAGES		200000u
#define SOAK_IMAGES	2000000u

struct writer {
	struct log_session session;
	struct sim_nic nic;
	bool open;
	uint64_t posted, acked;		/* numbers */
	uint64_t before;		/* acked when the session began */
	uint64_t crc[MAX_SEQ];		/* of this session's records */
	_Alignas(8) uint8_t buffer[SIM_WRITE];
};

/* The facts that the test knows. */
struct world {
	struct sim sim;
	struct writer writers[WRITERS];
	uint64_t seed;
	uint32_t quorum;
	bool created;
	uint64_t acked_seq;
	uint64_t acked_crc[MAX_SEQ];
	/* records from that number on are of that epoch or a later one */
	uint64_t barrier_seq, barrier_epoch;
	/* by client; a client is a writer's process */
	uint64_t clients;
	uint64_t numbers[MAX_NUMBERS];		/* acknowledged */
	uint64_t made[MAX_SEQ][MAX_MADE];	/* crcs of records that were posted */
	bool shown;
};

static struct world world;

static bool violated(const char *what, uint64_t seq)
{
	if (!world.shown)
		printf("# seed %" PRIu64 ", record %" PRIu64 ": %s\n",
		       world.seed, seq, what);
	world.shown = true;
	world.sim.failed = true;
	return false;
}

/* ---- the judge ---- */

/* Where that crc is among those of a number; an empty place for 0. */
static uint64_t *find_made(uint64_t seq, uint64_t crc)
{
	uint64_t *made = world.made[seq % MAX_SEQ];

	for (int i = 0; i < MAX_MADE; i++)
		if (made[i] == crc)
			return &made[i];
	return NULL;
}

static bool judge_records(struct log_reader *reader, struct sim_target *target)
{
	uint64_t next[MAX_NUMBERS] = {};
	const struct log_record *record;

	while ((record = log_reader_next(reader))) {
		if (record->seq >= MAX_SEQ || !find_made(record->seq, record->crc))
			return violated("it was never written", record->seq);
		if (record->seq >= world.barrier_seq &&
		    record->epoch < world.barrier_epoch)
			return violated("it had been abandoned", record->seq);
		if (world.acked_crc[record->seq] &&
		    world.acked_crc[record->seq] != record->crc)
			return violated("another one was acknowledged",
					record->seq);
		if (record->number != ++next[record->client % MAX_NUMBERS])
			return violated("its client's order is lost",
					record->seq);
	}
	target->lacks |= reader->tail.seq <= world.acked_seq;
	for (uint64_t i = 0; i <= world.clients; i++)
		target->lacks |= next[i] < world.numbers[i];
	return true;
}

static bool judge(struct sim *s, struct sim_target *target)
{
	struct log_reader reader;
	bool good;
	int err;

	(void)s;
	err = log_reader_open(&reader, target->medium, SIM_SIZE);
	if (err)
		return target->valid ? violated("no log", 0) : true;
	if (!log_is_complete(target->medium, &reader.header))
		good = !target->valid || violated("not complete", 0);
	else
		good = judge_records(&reader, target);
	log_reader_close(&reader);
	return good;
}

/*
 * Whatever images the targets have been left with, one each: so many of them have all
 * that was acknowledged. A target that was replaced has nothing, and was one of them.
 */
static bool judge_all(struct sim *s)
{
	int need = (int)world.quorum, have = 0;

	for (int i = 0; i < s->num_targets; i++) {
		need -= !s->targets[i].valid;
		have += s->targets[i].valid && !s->targets[i].lacks;
	}
	if (!world.created || have >= (need > 1 ? need : 1))
		return true;
	return violated("LOST", world.acked_seq);
}

/* ---- writers ---- */

/* A new process. */
static void writer_new(struct writer *w)
{
	static const char * const names[] = { "first", "second", "third" };

	log_session_close(&w->session);
	w->open = false;
	w->posted = 0;
	w->acked = 0;
	w->session = (struct log_session){
		.ops = &sim_link_ops,
		.num_peers = world.sim.num_targets,
		.client = ++world.clients,
		.buffer = w->buffer,
		.buffer_size = sizeof(w->buffer),
		.quorum = world.quorum,
		.depth = 1 + sim_below(8),
	};
	memset(&w->session.new_id, (int)(world.clients % 255) + 1,
	       sizeof(w->session.new_id));
	sim_nic_init(&w->nic);
	for (int i = 0; i < world.sim.num_targets; i++) {
		w->session.peers[i].link = &w->nic.links[i];
		w->session.peers[i].name = names[i];
	}
}

static void writer_opened(struct writer *w)
{
	w->open = true;
	w->posted = w->acked;
	w->before = w->acked;
	memset(w->crc, 0, sizeof(w->crc));
	world.created = true;
	if (w->session.first <= world.acked_seq)
		violated("the writer begins before it", w->session.first);
	if (w->session.tail.epoch <= world.barrier_epoch)
		violated("an epoch came twice", w->session.first);
	world.barrier_seq = w->session.first;
	world.barrier_epoch = w->session.tail.epoch;
	for (int i = 0; i < world.sim.num_targets; i++)
		world.sim.targets[i].valid = true;
}

static void writer_open(struct writer *w)
{
	uint32_t flags = sim_below(4) ? LOG_ASK_FILL : 0;

	flags |= sim_below(4) ? LOG_ASK_TAKEOVER : 0;
	/* the user makes a log once; what is left of an attempt is wiped */
	if (!world.created) {
		flags |= LOG_ASK_CREATE;
		for (int i = 0; i < world.sim.num_targets; i++) {
			if (world.sim.targets[i].core.state != LOG_DAMAGED)
				continue;
			sim_target_replace(&world.sim.targets[i]);
			sim_target_start(&world.sim.targets[i]);
		}
	}
	w->session.flags = flags;
	w->open = false;
	if (!log_session_open(&w->session))
		writer_opened(w);
}

static void writer_append(struct writer *w)
{
	union {
		struct log_record record;
		uint8_t bytes[SIM_WRITE];
	} buffer;
	uint32_t length = sim_below(180);
	uint64_t seq = w->session.tail.seq, *made, crc;
	uint8_t data[180];
	int err;

	if (w->session.tail.offset + log_record_size(length) > SIM_USED ||
	    seq >= MAX_SEQ - 1 || w->posted - w->acked >= 8)
		return;
	memset(data, (int)sim_below(256), length);
	/* what is posted may be found from now on */
	struct log_tail tail = w->session.tail;

	log_record_make(&buffer.record, &tail, w->session.client,
			w->posted + 1, data, length);
	crc = buffer.record.crc;
	made = find_made(seq, 0);
	if (!made)
		return;
	*made = crc;
	err = log_session_append(&w->session, &buffer.record, w->posted + 1,
				 data, length);
	if (err) {	/* nothing was posted */
		*made = 0;
		w->open = err == EAGAIN;
		return;
	}
	w->crc[seq] = crc;
	w->posted++;
}

static void writer_told(struct writer *w, uint64_t durable)
{
	uint64_t seq = w->session.first + durable - 1;

	w->acked = w->before + durable;
	if (w->acked > w->posted) {
		violated("more is durable than was posted", seq);
		return;
	}
	for (uint64_t i = w->session.first; i <= seq; i++) {
		if (world.acked_crc[i] && world.acked_crc[i] != w->crc[i])
			violated("acknowledged twice", i);
		world.acked_crc[i] = w->crc[i];
	}
	if (seq > world.acked_seq)
		world.acked_seq = seq;
	world.numbers[w->session.client % MAX_NUMBERS] = w->acked;
	for (int i = 0; i < world.sim.num_targets; i++)
		world.sim.targets[i].changed = true;
	sim_images();
}

static void writer_poll(struct writer *w)
{
	uint64_t durable;

	/* what came before an error counts */
	w->open = !log_session_poll(&w->session, &durable);
	if (durable && w->before + durable > w->acked)
		writer_told(w, durable);
	if (log_session_released(&w->session) > durable && w->open)
		violated("released before it is durable", durable);
}

/* With or without a word to the targets. */
static void writer_end(struct writer *w)
{
	if (sim_below(2))
		for (int i = 0; i < world.sim.num_targets; i++)
			sim_link_leave(&w->nic.links[i]);
	if (sim_below(2))
		writer_new(w);	/* another process, another client */
	w->open = false;
}

/* ---- schedules ---- */

/* A medium may be lost only while another one has everything. */
static bool may_replace(const struct sim_target *target)
{
	const struct sim_target *other;

	for (int i = 0; i < world.sim.num_targets; i++) {
		other = &world.sim.targets[i];
		if (other != target && other->valid && !other->lacks)
			return world.created;
	}
	return false;
}

static void target_event(struct sim_target *target)
{
	switch (sim_below(9)) {
	case 0:
	case 8:
		target->fails = target->mode == SIM_FILE;
		return;
	case 1:
		if (!may_replace(target))
			return;
		sim_target_replace(target);
		break;
	case 2:
	case 3:
		sim_target_kill(target);
		break;
	default:
		sim_target_crash(target);
		break;
	}
	sim_images();
	if (sim_below(4))
		sim_target_start(target);
}

static void schedule_step(void)
{
	struct writer *w = &world.writers[sim_below(WRITERS)];
	struct sim_target *target =
		&world.sim.targets[sim_below(world.sim.num_targets)];
	uint32_t choice = sim_below(100);

	if (choice < 3) {
		if (sim_below(2))
			target_event(target);
	} else if (choice < 5) {
		writer_end(w);
	} else if (!target->up && choice < 20) {
		sim_target_start(target);
	} else if (!w->open) {
		if (choice < 30)
			writer_open(w);
		else
			sim_step();
	} else if (choice < 45) {
		writer_append(w);
	} else if (choice < 75) {
		writer_poll(w);
	} else {
		sim_step();
	}
	sim_images();
}

static void schedule(uint64_t seed, int num_targets, uint32_t quorum)
{
	uint64_t images = world.sim.images;

	memset(&world, 0, sizeof(world));
	world.sim.random = seed;
	world.seed = seed;
	world.sim.num_targets = num_targets;
	world.quorum = quorum;
	world.sim.check = judge;
	world.sim.check_all = judge_all;
	world.sim.images = images;
	sim = &world.sim;
	for (int i = 0; i < num_targets; i++)
		sim_target_init(&world.sim.targets[i],
				sim_below(2) ? SIM_FILE : SIM_PMEM);
	for (int i = 0; i < WRITERS; i++)
		writer_new(&world.writers[i]);
	for (int i = 0; i < STEPS && !world.sim.failed; i++)
		schedule_step();
	for (int i = 0; i < WRITERS; i++)
		log_session_close(&world.writers[i].session);
}

static uint64_t wanted(void)
{
	const char *images = getenv("CAIRN_IMAGES");

	if (images)
		return strtoull(images, NULL, 0);
	return getenv("CAIRN_SOAK") ? SOAK_IMAGES : IMAGES;
}

static void explore(int num_targets, uint32_t quorum)
{
	uint64_t seed = ktap_state, acked = 0, opened = 0, seeds = 0;

	world.sim.images = 0;
	do {
		schedule(seed++, num_targets, quorum);
		seeds++;
		acked += world.acked_seq;
		opened += world.barrier_epoch;
	} while (!world.sim.failed && world.sim.images < wanted());
	printf("# %" PRIu64 " images of %" PRIu64 " schedules, %" PRIu64
	       " sessions, %" PRIu64 " records acknowledged\n",
	       world.sim.images, seeds, opened, acked);
	ktap_ok(!world.sim.failed);
	/* a schedule in which nothing happens shows nothing */
	ktap_ok(world.sim.failed || acked > 5 * seeds);
}

static void one_target(void)
{
	explore(1, 1);
}

static void two_targets(void)
{
	explore(2, 2);
}

/* One of two is enough: the other one may be behind, or have failed. */
static void one_of_two(void)
{
	explore(2, 1);
}

static void two_of_three(void)
{
	explore(3, 2);
}

static const struct ktap_test tests[] = {
	KTAP(one_target),
	KTAP(two_targets),
	KTAP(one_of_two),
	KTAP(two_of_three),
};

KTAP_MAIN(tests)
