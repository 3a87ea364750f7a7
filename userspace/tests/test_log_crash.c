// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The log's own code against crashes and operators, in schedules by seed. Writers die,
 * come back or hang. Targets lose power, fail to flush, damage the block that they write,
 * or hang. Connections break. Operators take media out, replace them and put them back,
 * start second servers on one medium, and start writers with some of the targets or with
 * another quorum. Each image of what a power failure could leave (log_sim.c) is
 * read as "cairn_log verify" reads it. All acknowledged records must be in it.
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
#define SIM_SHIFT	9		/* blocks of SIM_BLOCK */
#define DEADLINE	600		/* turns */
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

/* The state that the test expects. */
struct world {
	struct sim sim;
	struct writer writers[WRITERS];
	uint64_t seed;
	uint32_t quorum;
	bool created;
	uint64_t sessions, left_out, cut, returned, swapped;
	uint64_t acked_seq;
	uint64_t acked_crc[MAX_SEQ];
	uint64_t acked_epoch[MAX_SEQ];
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

/* Finds a crc among those of a number; 0: an empty place. */
static uint64_t *find_made(uint64_t seq, uint64_t crc)
{
	uint64_t *made = world.made[seq % MAX_SEQ];

	for (int i = 0; i < MAX_MADE; i++)
		if (made[i] == crc)
			return &made[i];
	return NULL;
}

/*
 * A writer has gone on without this record. It may come back when the copies without it are
 * lost, and an operator says so: the epoch of such a mark is far away.
 */
static bool is_abandoned(const struct log_record *record,
			 const struct log_mark *mark)
{
	return mark->epoch >= world.barrier_epoch &&
	       mark->epoch - world.barrier_epoch < LOG_EPOCH_STEP / 4 &&
	       record->seq >= world.barrier_seq &&
	       record->epoch < world.barrier_epoch;
}

/* A copy that a writer has made equal to the others has what it had to have. */
static bool judge_record(const struct log_record *record,
			 const struct log_mark *mark, struct sim_target *target)
{
	uint64_t seq = record->seq;

	if (seq >= MAX_SEQ || !find_made(seq, record->crc))
		return violated("it was never written", seq);
	if (is_abandoned(record, mark))
		return violated("it had been abandoned", seq);
	if (!world.acked_crc[seq] || world.acked_crc[seq] == record->crc)
		return true;
	target->lacks = true;
	return mark->epoch < world.acked_epoch[seq] ||
	       violated("another one was acknowledged", seq);
}

static bool judge_records(struct log_reader *reader,
			  const struct log_mark *mark,
			  struct sim_target *target)
{
	uint64_t next[MAX_NUMBERS] = {};
	const struct log_record *record;

	while ((record = log_reader_next(reader))) {
		if (!judge_record(record, mark, target))
			return false;
		if (record->number != ++next[record->client % MAX_NUMBERS])
			return violated("its client's order is lost",
					record->seq);
	}
	if (target->valid && reader->tail.seq < mark->base)
		return violated("it had more", reader->tail.seq);
	target->lacks |= reader->tail.seq <= world.acked_seq;
	for (uint64_t i = 0; i <= world.clients; i++)
		target->lacks |= next[i] < world.numbers[i];
	return true;
}

static bool judge(struct sim_target *target)
{
	struct log_reader reader;
	struct log_mark mark;
	bool good;
	int err;

	err = log_reader_open(&reader, target->medium, SIM_SIZE);
	if (err)
		return target->valid ? violated("no log", 0) : true;
	if (log_mark_find(target->medium, &reader.header, &mark) != LOG_READY)
		good = !target->valid || violated("not complete", 0);
	else
		good = judge_records(&reader, &mark, target);
	log_reader_close(&reader);
	return good;
}

/*
 * With any image of each target, a quorum of them has all acknowledged records. A
 * replaced target has none, and was one of the quorum. So
 * was one whose medium lies on the operator's desk.
 */
static bool judge_all(void)
{
	int need = (int)world.quorum, have = 0;

	for (int i = 0; i < sim->num_targets; i++) {
		need -= !sim->targets[i].valid;
		have += sim->targets[i].valid && !sim->targets[i].lacks;
	}
	if (!world.created || have >= (need > 1 ? need : 1))
		return true;
	return violated("LOST", world.acked_seq);
}

/* ---- writers ---- */

static void writer_shuffle(struct writer *writer)
{
	static const char * const names[] = { "first", "second", "third" };
	int from = (int)sim_below((uint32_t)world.sim.num_targets);

	writer->session.num_peers = world.sim.num_targets;
	for (int i = 0; i < writer->session.num_peers; i++) {
		int target = (from + i) % world.sim.num_targets;

		writer->session.peers[i].link = &writer->nic.links[target];
		writer->session.peers[i].name = names[target];
	}
}

/* A new process. */
static void writer_new(struct writer *writer)
{
	log_session_close(&writer->session);
	writer->open = false;
	writer->posted = 0;
	writer->acked = 0;
	writer->session = (struct log_session){
		.ops = &sim_link_ops,
		.client = ++world.clients,
		.buffer = writer->buffer,
		.buffer_size = sizeof(writer->buffer),
		.shift = world.sim.block ? SIM_SHIFT : 0,
		.deadline = DEADLINE,
		.depth = 1 + sim_below(8),
	};
	memset(&writer->session.new_id, (int)(world.clients % 255) + 1,
	       sizeof(writer->session.new_id));
	sim_nic_init(&writer->nic);
}

static struct sim_target *writer_target(const struct log_peer *peer)
{
	return ((struct sim_link *)peer->link)->target;
}

static void writer_opened(struct writer *writer)
{
	struct sim_target *target;

	writer->open = true;
	writer->posted = writer->acked;
	writer->before = writer->acked;
	memset(writer->crc, 0, sizeof(writer->crc));
	world.created = true;
	world.sessions++;
	world.cut += writer->session.cut;
	world.left_out += (uint64_t)(writer->session.num_peers - writer->session.left);
	if (writer->session.first <= world.acked_seq)
		violated("the writer begins before it", writer->session.first);
	if (writer->session.tail.epoch <= world.barrier_epoch)
		violated("an epoch came twice", writer->session.first);
	if (writer->session.config.quorum != world.quorum ||
	    writer->session.num_peers != world.sim.num_targets)
		violated("the members have changed by themselves", 0);
	world.barrier_seq = writer->session.first;
	world.barrier_epoch = writer->session.tail.epoch;
	for (int i = 0; i < writer->session.num_peers; i++) {
		if (writer->session.peers[i].state != LOG_PEER_JOINED)
			continue;
		target = writer_target(&writer->session.peers[i]);
		/* the medium that it stands for is a member no longer */
		if (!target->valid)
			target->spare_valid = false;
		target->valid = true;
	}
}

/* A medium with something that the log does not count as its own. */
static bool is_stale(const struct sim_target *target)
{
	return !target->valid && target->up &&
	       target->core.marked == LOG_READY;
}

/* The user makes a log once; what is left of an attempt is wiped. */
static void writer_wipe(void)
{
	for (int i = 0; i < world.sim.num_targets; i++) {
		struct sim_target *target = &world.sim.targets[i];

		if (target->valid || !target->up || (world.created &&
		    target->core.marked != LOG_DAMAGED &&
		    !(is_stale(target) && sim_below(2))))
			continue;
		sim_target_replace(target);
		sim_target_start(target);
	}
}

/* An operator gives up a medium only when another one has everything. */
static enum log_force writer_force(void)
{
	bool has_all = false;

	for (int i = 0; i < world.sim.num_targets; i++) {
		const struct sim_target *target = &world.sim.targets[i];

		if (is_stale(target) || (target->valid && target->lacks))
			return LOG_FORCE_NONE;
		has_all |= target->valid;
	}
	return has_all ? LOG_FORCE_LOSS : LOG_FORCE_NONE;
}

/* With one target too few, or another quorum. */
static bool writer_is_mistaken(struct writer *writer)
{
	bool few = sim_below(2) && writer->session.num_peers > 1;

	writer->session.quorum = world.quorum;
	if (!world.created || sim_below(8))
		return false;
	if (few)
		writer->session.num_peers--;
	else
		writer->session.quorum = world.quorum % 3 + 1;
	if (writer->session.quorum > (uint32_t)writer->session.num_peers)
		writer->session.quorum = 1;
	return few || writer->session.quorum != world.quorum;
}

static void writer_open(struct writer *writer)
{
	uint32_t flags = sim_below(4) ? LOG_ASK_TAKEOVER : 0;
	bool mistaken;

	writer_shuffle(writer);
	writer_wipe();
	if (!world.created)
		flags |= LOG_ASK_CREATE;
	writer->session.force = writer_force();
	if (writer->session.force && sim_below(4))
		flags |= LOG_ASK_FILL;
	writer->session.flags = flags;
	writer->open = false;
	mistaken = writer_is_mistaken(writer);
	if (log_session_open(&writer->session))
		return;
	if (mistaken)
		violated("a smaller set or quorum was let in", 0);
	writer_opened(writer);
}

static void writer_append(struct writer *writer)
{
	union {
		struct log_record record;
		uint8_t bytes[SIM_WRITE];
	} buffer;
	uint32_t length = sim_below(180);
	uint64_t seq = writer->session.tail.seq, *made, crc;
	uint8_t data[180];
	int err;

	if (writer->session.tail.offset + sizeof(buffer) > SIM_USED ||
	    seq >= MAX_SEQ - 1 || writer->posted - writer->acked >= 8)
		return;
	memset(data, (int)sim_below(256), length);
	/* posted records may be found from now on */
	struct log_tail tail = writer->session.tail;

	log_record_make(&buffer.record, &tail, writer->session.client,
			writer->posted + 1, data, length);
	crc = buffer.record.crc;
	made = find_made(seq, 0);
	if (!made)
		return;
	*made = crc;
	err = log_session_append(&writer->session, &buffer.record, writer->posted + 1,
				 data, length);
	if (err) {	/* no record was posted */
		*made = 0;
		writer->open = err == EAGAIN;
		return;
	}
	writer->crc[seq] = crc;
	writer->posted++;
}

static void writer_told(struct writer *writer, uint64_t durable)
{
	uint64_t seq = writer->session.first + durable - 1;

	writer->acked = writer->before + durable;
	if (writer->acked > writer->posted) {
		violated("more is durable than was posted", seq);
		return;
	}
	for (uint64_t i = writer->session.first; i <= seq; i++) {
		if (world.acked_crc[i] && world.acked_crc[i] != writer->crc[i])
			violated("acknowledged twice", i);
		world.acked_crc[i] = writer->crc[i];
		world.acked_epoch[i] = writer->session.tail.epoch;
	}
	if (seq > world.acked_seq)
		world.acked_seq = seq;
	world.numbers[writer->session.client % MAX_NUMBERS] = writer->acked;
	for (int i = 0; i < world.sim.num_targets; i++)
		world.sim.targets[i].changed = true;
	sim_images();
}

static void writer_poll(struct writer *writer)
{
	uint64_t durable, returned = writer->session.returned;

	/* completions before an error count */
	writer->open = !log_session_poll(&writer->session, &durable);
	world.returned += writer->session.returned - returned;
	if (durable && writer->before + durable > writer->acked)
		writer_told(writer, durable);
	if (log_session_released(&writer->session) > durable && writer->open)
		violated("released before it is durable", durable);
}

/* With or without closing the connections. */
static void writer_end(struct writer *writer)
{
	if (sim_below(2))
		for (int i = 0; i < world.sim.num_targets; i++)
			sim_link_leave(&writer->nic.links[i]);
	if (sim_below(2))
		writer_new(writer);	/* another process, another client */
	writer->open = false;
}

/* ---- schedules ---- */

/* A medium may be lost only while another one has all records. */
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
	switch (sim_below(14)) {
	case 0:
	case 8:
		target->fails = target->mode == SIM_FILE;
		return;
	case 1:
		if (!may_replace(target))
			return;
		sim_target_replace(target);
		break;
	case 9:
	case 10:
		if (!target->spare_valid && !may_replace(target))
			return;
		world.swapped++;
		sim_target_swap(target);
		break;
	case 11:
		sim_target_start_second(target);
		return;
	case 12:
	case 13:
		target->hung = target->up && !target->hung;
		return;
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
	struct writer *writer = &world.writers[sim_below(WRITERS)];
	struct sim_target *target =
		&world.sim.targets[sim_below(world.sim.num_targets)];
	uint32_t choice = sim_below(100);

	if (!sim_below(20))
		target->hung = false;
	if (choice < 3) {
		if (sim_below(2))
			target_event(target);
	} else if (choice < 5) {
		writer_end(writer);
	} else if (!target->up && choice < 20) {
		sim_target_start(target);
	} else if (!writer->open) {
		if (choice < 30)
			writer_open(writer);
		else
			sim_step();
	} else if (choice < 45) {
		writer_append(writer);
	} else if (choice < 75) {
		writer_poll(writer);
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
	world.sim.block = sim_below(2) ? SIM_BLOCK : 0;
	for (int i = 0; i < WRITERS; i++)
		writer_new(&world.writers[i]);
	for (int i = 0; i < STEPS && !world.sim.failed; i++)
		schedule_step();
	for (int i = 0; i < WRITERS; i++)
		log_session_close(&world.writers[i].session);
	for (int i = 0; i < num_targets; i++)
		sim_target_close(&world.sim.targets[i]);
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
	uint64_t seed = ktap_state, acked = 0, seeds = 0;
	uint64_t sessions = 0, left_out = 0, cut = 0, returned = 0, swapped = 0;

	world.sim.images = 0;
	do {
		schedule(seed++, num_targets, quorum);
		seeds++;
		acked += world.acked_seq;
		sessions += world.sessions;
		left_out += world.left_out;
		cut += world.cut;
		returned += world.returned;
		swapped += world.swapped;
	} while (!world.sim.failed && world.sim.images < wanted());
	printf("# %" PRIu64 " images of %" PRIu64 " schedules, %" PRIu64
	       " sessions, %" PRIu64 " records acknowledged\n",
	       world.sim.images, seeds, sessions, acked);
	printf("# members: %" PRIu64 " left out, %" PRIu64 " taken back, %"
	       PRIu64 " cut, %" PRIu64 " media swapped\n", left_out, returned,
	       cut, swapped);
	ktap_ok(!world.sim.failed);
	/* schedules must acknowledge enough records */
	ktap_ok(world.sim.failed || acked > 2 * seeds);
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
