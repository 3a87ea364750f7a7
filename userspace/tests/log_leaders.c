// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Writers that etcd makes leaders, one after the other, as processes of their own. They
 * have three targets in memory that all of them share, with the log's own code of
 * sessions and targets. Writers resign, and are stopped beyond their lease and go on.
 * test_leader.sh kills and restarts the members of etcd meanwhile.
 *
 *   log_leaders URL[,URL]... CHANGES
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ktap.h"
#include "log_leader.h"
#include "log_session.h"
#include "log_target.h"

#define TARGETS		3
#define WRITERS		4
#define QUORUM		2
#define SIZE		(64u << 20)
#define MAX_SEQ		400000u
#define DEPTH		8
#define LEASE		1	/* seconds */
#define LIMIT		600	/* seconds for all of it */
#define STOP_MS		2500	/* longer than a lease */

struct shared_target {
	pthread_mutex_t lock;
	struct log_target core;
	uint64_t serial;	/* of the connection that may write */
	uint8_t *memory;
};

struct shared {
	struct shared_target targets[TARGETS];
	pthread_mutex_t lock;
	uint64_t acked_crc[MAX_SEQ];
	uint64_t acked_seq;
	uint64_t changes;	/* sessions of a new leader */
	uint64_t epoch;		/* of the last one */
	uint64_t cut_off;	/* leaders that the targets have stopped */
	uint64_t clients;
	uint32_t leader;	/* the writer that began last */
	bool done, failed;
};

static struct shared *shared;

static void fail(const char *what, uint64_t number)
{
	printf("# %s: %" PRIu64 "\n", what, number);
	shared->failed = true;
}

static void lock(pthread_mutex_t *mutex)
{
	if (pthread_mutex_lock(mutex) == EOWNERDEAD)
		pthread_mutex_consistent(mutex);
}

static void lock_init(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex, &attr);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- targets: what is written is durable ---- */

static int target_persist(void *medium, uint64_t offset, uint64_t length)
{
	(void)medium;
	(void)offset;
	(void)length;
	return 0;
}

static void target_fence(void *medium)
{
	struct shared_target *target = medium;

	target->serial++;
}

static const struct log_target_ops target_ops = {
	.persist = target_persist,
	.fence = target_fence,
};

/* ---- a writer's links ---- */

struct link {
	struct ibv_qp qp;	/* ->qp_context is the link */
	struct shared_target *target;
	uint64_t serial;	/* 0: closed */
	uint64_t completed;
};

static int link_probe(void *ctx, const struct log_ask *ask,
		      struct log_answer *answer, bool wait)
{
	struct link *link = ctx;

	(void)wait;
	lock(&link->target->lock);
	log_target_ask(&link->target->core, ask, sizeof(*ask), answer);
	pthread_mutex_unlock(&link->target->lock);
	return 0;
}

static int link_claim(void *ctx, const struct log_ask *ask,
		      struct log_answer *answer, uint32_t ms)
{
	struct link *link = ctx;

	(void)ms;
	lock(&link->target->lock);
	if (log_target_ask(&link->target->core, ask, sizeof(*ask), answer) ==
	    LOG_GRANTED) {
		link->serial = link->target->serial;
		link->completed = 0;
	}
	pthread_mutex_unlock(&link->target->lock);
	return 0;
}

static int link_copy(struct link *link, uint64_t offset, void *in,
		     const void *out, uint32_t length)
{
	uint8_t *memory = link->target->memory + offset;
	int err = ECONNRESET;

	lock(&link->target->lock);
	if (link->serial && link->serial == link->target->serial) {
		if (in)
			memcpy(in, memory, length);
		else if (length)
			memcpy(memory, out, length);
		err = 0;
	}
	pthread_mutex_unlock(&link->target->lock);
	return err;
}

static int link_read(void *ctx, uint64_t offset, void *buffer, uint32_t length)
{
	return link_copy(ctx, offset, buffer, NULL, length);
}

static int link_write(void *ctx, uint64_t offset, const void *buffer,
		      uint32_t length)
{
	struct link *link = ctx;
	int err = link_copy(link, offset, NULL, buffer, length);

	link->completed += !err;
	return err;
}

static int link_poll(void *ctx, uint64_t *completed)
{
	struct link *link = ctx;

	*completed = link->completed;
	return link->serial ? 0 : ENOTCONN;
}

static void link_path(void *ctx, struct log_path *path)
{
	struct link *link = ctx;

	link->qp.qp_context = link;
	*path = (struct log_path){ .qp = &link->qp };
}

static void link_watch(void *ctx)
{
	(void)ctx;
}

static void link_close(void *ctx)
{
	struct link *link = ctx;

	lock(&link->target->lock);
	if (link->serial && link->serial == link->target->serial)
		log_target_release(&link->target->core);
	pthread_mutex_unlock(&link->target->lock);
	link->serial = 0;
}

static void link_lost(void *ctx, int err, uint32_t status)
{
	(void)ctx;
	(void)err;
	(void)status;
}

static const struct log_link_ops link_ops = {
	.probe = link_probe,
	.claim = link_claim,
	.read = link_read,
	.write = link_write,
	.poll = link_poll,
	.path = link_path,
	.watch = link_watch,
	.close = link_close,
	.lost = link_lost,
	.now = now_ms,
};

/* ---- groups: each record goes to all targets at once ---- */

static struct cairndv_group_wc group_events[2 * DEPTH * TARGETS];
static uint64_t group_told, group_made;
static uint64_t group_failed;

static void group_tell(uint32_t kind, uint32_t target)
{
	group_events[group_made++ % (2 * DEPTH * TARGETS)] =
		(struct cairndv_group_wc){
			.kind = kind, .target = target,
			.status = IBV_WC_RETRY_EXC_ERR,
		};
}

int log_group_open(struct log_group *group, uint32_t depth)
{
	(void)depth;
	group->group = (void *)group;
	group->posted = 0;
	group_told = 0;
	group_made = 0;
	group_failed = 0;
	return 0;
}

void log_group_close(struct log_group *group)
{
	group->group = NULL;
}

int log_group_post(struct log_group *group, uint64_t offset, const void *bytes,
		   uint32_t length)
{
	uint32_t durable = 0;

	if (group_made - group_told >= DEPTH)
		return EAGAIN;
	for (int i = 0; i < group->num; i++) {
		if (group_failed >> i & 1)
			continue;
		if (!link_copy(group->paths[i].qp->qp_context, offset, NULL,
			       bytes, length)) {
			durable++;
			continue;
		}
		group_failed |= 1u << i;
		group_tell(CAIRNDV_GROUP_TARGET, (uint32_t)i);
	}
	group->posted++;
	group_tell(durable >= group->quorum ? CAIRNDV_GROUP_DURABLE :
					      CAIRNDV_GROUP_FAILED, 0);
	return 0;
}

int log_group_poll(struct log_group *group, struct cairndv_group_wc *event)
{
	(void)group;
	if (group_told == group_made)
		return 0;
	*event = group_events[group_told++ % (2 * DEPTH * TARGETS)];
	return 1;
}

uint64_t log_group_released(const struct log_group *group)
{
	return group->posted;
}

/* ---- writers ---- */

struct writer {
	struct log_session session;
	struct log_leader leader;
	struct link links[TARGETS];
	uint64_t number, acked;		/* records */
	uint64_t crc[2 * DEPTH];	/* by seq */
	_Alignas(8) uint8_t buffer[2 * LOG_MAX_RECORD];
};

static struct writer writer;

static void writer_init(uint32_t index, const char *urls)
{
	ktap_state = index + 1000;
	writer.leader = (struct log_leader){
		.urls = urls, .name = "test", .ttl = LEASE,
		.client = index + 1,
	};
	writer.session = (struct log_session){
		.ops = &link_ops,
		.num_peers = TARGETS,
		.flags = LOG_ASK_CREATE | LOG_ASK_TAKEOVER,
		.quorum = QUORUM,
		.client = index + 1,
		.new_id = { { 7 } },
		.buffer = writer.buffer,
		.buffer_size = sizeof(writer.buffer),
		.depth = DEPTH,
	};
	for (int i = 0; i < TARGETS; i++) {
		writer.links[i].target = &shared->targets[i];
		writer.session.peers[i].link = &writer.links[i];
		writer.session.peers[i].name = "target";
	}
}

static void writer_report(uint64_t seq, uint64_t crc)
{
	lock(&shared->lock);
	if (shared->acked_crc[seq] && shared->acked_crc[seq] != crc)
		fail("two records were reported with one number", seq);
	shared->acked_crc[seq] = crc;
	if (seq > shared->acked_seq)
		shared->acked_seq = seq;
	pthread_mutex_unlock(&shared->lock);
}

static void writer_begins(uint32_t index)
{
	lock(&shared->lock);
	if (writer.session.tail.epoch <= shared->epoch)
		fail("an epoch came twice", writer.session.tail.epoch);
	if (writer.session.first <= shared->acked_seq)
		fail("the leader begins before what was reported",
		     writer.session.first);
	shared->epoch = writer.session.tail.epoch;
	shared->changes++;
	shared->leader = index;
	shared->done |= writer.session.first > MAX_SEQ / 2;
	pthread_mutex_unlock(&shared->lock);
}

/*
 * The lease is looked at only now and then, so that a leader runs on without it.
 * Return: 0 at the end of its time, or an errno
 */
static int writer_append(uint64_t records)
{
	uint64_t record[64], before = writer.acked, told = 0, durable;
	struct log_session *session = &writer.session;
	int err = 0;

	writer.number = writer.acked;
	for (uint64_t i = 0; !err && i < records; i++) {
		uint64_t seq = session->tail.seq;

		if (i % 64 == 63 && !log_leader_is_valid(&writer.leader))
			return ESTALE;
		err = log_session_append(session, (void *)record,
					 writer.number + 1, "data", 4);
		if (!err) {
			writer.number++;
			writer.crc[seq % (2 * DEPTH)] = session->tail.previous;
		}
		err = log_session_poll(session, &durable);
		for (; told < durable; told++)
			writer_report(session->first + told,
				      writer.crc[(session->first + told) %
						 (2 * DEPTH)]);
		writer.acked = before + durable;
		usleep(500);
	}
	return err;
}

static int writer_run(uint32_t index, const char *urls)
{
	int err;

	writer_init(index, urls);
	while (!shared->done && !shared->failed) {
		if (log_leader_campaign(&writer.leader, writer.session.seen,
					1000))
			continue;
		writer.session.epoch = writer.leader.epoch;
		err = log_session_open(&writer.session);
		if (!err) {
			writer_begins(index);
			err = writer_append(50 + ktap_below(200));
			/* another leader has claimed the targets meanwhile */
			if (err && err != ESTALE)
				__atomic_fetch_add(&shared->cut_off, 1,
						   __ATOMIC_RELAXED);
		} else if (err != EBUSY && err != EIO) {
			printf("# %s\n", writer.session.error);
			fail("a leader does not begin", (uint64_t)err);
		}
		log_session_close(&writer.session);
		for (int i = 0; i < TARGETS; i++)
			link_close(&writer.links[i]);
		log_leader_resign(&writer.leader);
	}
	return 0;
}

/* ---- the judge ---- */

/* Every reported record is at a quorum, and none is there twice. */
static void judge(void)
{
	uint64_t seq = 0;
	static uint8_t have[MAX_SEQ];

	for (int i = 0; i < TARGETS; i++) {
		const struct log_record *record;
		struct log_reader reader;

		ktap_eq(log_reader_open(&reader, shared->targets[i].memory,
					SIZE), 0);
		/* the reader leaves out what a client wrote again */
		while ((record = log_reader_next(&reader)))
			have[record->seq] += shared->acked_crc[record->seq] ==
					     record->crc;
		log_reader_close(&reader);
	}
	for (seq = 1; seq <= shared->acked_seq; seq++)
		if (shared->acked_crc[seq] && have[seq] < QUORUM) {
			ktap_eq(have[seq], QUORUM);
			printf("# record %" PRIu64 " is lost\n", seq);
			return;
		}
}

static void stop_and_go(const pid_t *writers)
{
	pid_t pid = writers[shared->leader];

	kill(pid, SIGSTOP);
	usleep(STOP_MS * 1000);
	kill(pid, SIGCONT);
}

static const char *urls;
static uint64_t wanted;

static void leaders_change(void)
{
	uint64_t until = now_ms() + LIMIT * 1000;
	pid_t writers[WRITERS];
	unsigned int stops = 0;
	int status;

	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i] = fork();
		if (writers[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(writer_run(i, urls));
	}
	while (shared->changes < wanted && !shared->failed && !shared->done &&
	       now_ms() < until) {
		usleep(300000 + ktap_below(700000));
		stop_and_go(writers);
		stops++;
	}
	shared->done = true;
	for (int i = 0; i < WRITERS; i++) {
		waitpid(writers[i], &status, 0);
		ktap_eq(status, 0);
	}
	printf("# %" PRIu64 " leaders, %u stopped beyond the lease, %" PRIu64
	       " cut off by targets, %" PRIu64 " records reported\n",
	       shared->changes, stops, shared->cut_off, shared->acked_seq);
	ktap_ok(!shared->failed);
	ktap_ok(shared->changes >= wanted);
	ktap_ok(shared->acked_seq > 10 * wanted);
	judge();
}

static void no_server(void)
{
	struct log_leader leader = {
		.urls = "http://127.0.0.1:1", .name = "test", .ttl = 1,
	};

	ktap_eq(log_leader_campaign(&leader, 0, 200), ETIMEDOUT);
	ktap_ok(leader.silent);
	ktap_ok(!log_leader_is_valid(&leader));
	ktap_ok(log_leader_has_ended(&leader));
	log_leader_resign(&leader);
}

/* One of five members answers, and it is not among the first three. */
static void last_url_answers(void)
{
	char list[256];
	struct log_leader leader = {
		.urls = list, .name = "last", .ttl = 5, .client = 1,
	};

	snprintf(list, sizeof(list), "http://127.0.0.1:1,http://127.0.0.1:2,"
		 "http://127.0.0.1:3,http://127.0.0.1:4,%.*s",
		 (int)strcspn(urls, ","), urls);
	ktap_eq(log_leader_campaign(&leader, 0, 20000), 0);
	log_leader_resign(&leader);
}

/* The next epoch is larger than any that a target knows. */
static void epochs_rise(void)
{
	struct log_leader leader = {
		.urls = urls, .name = "epochs", .ttl = 5, .client = 1,
	}, other = leader;

	ktap_eq(log_leader_campaign(&leader, 41, 20000), 0);
	ktap_eq(leader.epoch, 42);
	ktap_ok(log_leader_is_valid(&leader));
	ktap_ok(!leader.silent);
	ktap_eq(log_leader_campaign(&other, 0, 500), ETIMEDOUT);
	log_leader_resign(&other);
	log_leader_resign(&leader);
	ktap_ok(!log_leader_is_valid(&leader));
	ktap_eq(log_leader_campaign(&other, 7, 20000), 0);
	ktap_eq(other.epoch, 43);
	log_leader_resign(&other);
}

/* etcd has ended it, and the leader's own clock does not know. */
static void lease_is_revoked(void)
{
	struct log_leader leader = {
		.urls = urls, .name = "revoked", .ttl = 60, .client = 1,
	}, other;

	ktap_eq(log_leader_campaign(&leader, 0, 20000), 0);
	ktap_ok(!log_leader_has_ended(&leader));
	other = leader;
	other.keeping = false;
	log_leader_resign(&other);
	ktap_ok(log_leader_is_valid(&leader));
	ktap_ok(log_leader_has_ended(&leader));
	log_leader_resign(&leader);
}

/* The keys of the longer name lie between those of the shorter one. */
static void names_nest(void)
{
	struct log_leader leader = {
		.urls = urls, .name = "nest/k", .ttl = 5, .client = 1,
	}, other = leader;

	other.name = "nest";
	ktap_eq(log_leader_campaign(&leader, 0, 20000), 0);
	ktap_eq(log_leader_campaign(&other, 0, 20000), 0);
	log_leader_resign(&other);
	log_leader_resign(&leader);
}

static const struct ktap_test tests[] = {
	KTAP(no_server),
	KTAP(names_nest),
	KTAP(last_url_answers),
	KTAP(epochs_rise),
	KTAP(lease_is_revoked),
	KTAP(leaders_change),
};

static void *shared_map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	urls = argv[1];
	wanted = strtoull(argv[2], NULL, 0);
	shared = shared_map(sizeof(*shared));
	lock_init(&shared->lock);
	for (int i = 0; i < TARGETS; i++) {
		struct shared_target *target = &shared->targets[i];

		lock_init(&target->lock);
		target->memory = shared_map(SIZE);
		target->serial = 1;
		log_target_open(&target->core, &target_ops, target,
				target->memory, SIZE);
	}
	return ktap_main(tests, sizeof(tests) / sizeof(tests[0]));
}
