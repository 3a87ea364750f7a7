// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cost of durable writes: durable BYTES DEPTH SECONDS.
 *
 * All ways of writing take turns, a few messages each, in one process and one thread
 * that has both ends, on the devices CAIRN_A and CAIRN_B. So other load of the machine
 * hits all ways alike. Each turn is divided by the same round's turn of the way
 * that it is compared with, and the median of these ratios is printed. The target's
 * memory is the devdax CAIRN_DAX, else ordinary memory in the emulated domain.
 *
 * Printed is a line of JSON: for each way messages a second and latency
 * (microseconds; medians), packets that the initiator's device sent for a message, and
 * time of a message and latency as a part of other ways'.
 */
#include <emmintrin.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "bench.h"
#include "vt_persist.h"

#define LINE		64
#define REGION		(32u << 20)
#define MAX_DEPTH	64
#define MAX_ROUNDS	512
#define MIN_ROUNDS	5
#define MAX_TURN	4096		/* messages */
#define TURN_USEC	15000.0
#define PATIENCE	60e6		/* usec without a completion */
#define COUNTERS_USEC	20000		/* they are refreshed more often */

enum way {
	WRITE,		/* into an ordinary region */
	WRITE_PERSISTENT, /* into a persistent one */
	PERSIST, EARLY,
	READ,		/* WRITE, and a READ of its last bytes */
	SEND,		/* WRITE and SEND; the target flushes and answers */
	POSTS,		/* two targets, a WRITE_PERSIST for each */
	GROUP,		/* two targets, cairndv_persist_group_post() */
	GROUP_ONE,	/* two targets, one is enough */
	CHAIN,		/* two targets, the first one's program tells the second */
	FORWARD,	/* two targets, the first one is a hop of cairndv_chain(3) */
	WAYS
};

static const char * const names[WAYS] = {
	"write", "write-persistent", "persist", "early", "write+read",
	"write+send", "two posts", "group", "group, 1 of 2", "chain", "chain, one post",
};

/* The time of a message is divided by that of these. */
static const enum way beside[] = { WRITE, READ, SEND, PERSIST };

#define BESIDE		((int)(sizeof(beside) / sizeof(beside[0])))

struct figures {
	double usec[MAX_ROUNDS];	/* time of a message */
	double latency[MAX_ROUNDS];	/* median of the turn */
	double slowest[MAX_ROUNDS];	/* 99 % */
	double packets;			/* for a message */
	unsigned int turn;		/* messages */
};

static struct vt_dev dev[2];
/*
 * Two targets: initiator's and target's end; then from the first to the second. Then the same
 * for the hop of a chain: to it, and from it.
 */
static struct vt_end ends[5][2];
static struct vt_region target[2];
static struct ibv_mr *plain;		/* of the first one */
static struct ibv_cq *scq;		/* of both initiators */
static struct ibv_mr *source;
static struct cairndv_persist_group *group;
static struct cairndv_chain *hop;
static struct vt_region hop_memory;
static u8 *bytes;
static bool cairn;
static u32 size, depth;
static struct figures figures[WAYS];
static double began[MAX_TURN], took[MAX_TURN];
static u8 missing[MAX_TURN];		/* answers */
static unsigned int rounds, done;

static void flush_lines(const u8 *at, u32 length)
{
	const u8 *end = at + length;

	for (at -= (uintptr_t)at % LINE; at < end; at += LINE)
		_mm_clflush(at);
	_mm_sfence();
}

/* Reads cairn's counter, or rxe's, by name. */
static unsigned long durable_packets(void)
{
	static const char * const counters[] = { "tx_packets", "sent_pkts" };
	unsigned long value = 0;
	char path[256];
	FILE *file;

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
			 vt_name_a(), counters[i]);
		file = fopen(path, "r");
		if (file && fscanf(file, "%lu", &value) != 1)
			value = 0;
		if (file)
			fclose(file);
	}
	return value;
}

/* ---- set-up ---- */

static void create_end(struct vt_end *end, int side, struct ibv_cq *cq)
{
	struct vt_opts opts = VT_OPTS;

	opts.cap.max_send_wr = 2 * MAX_DEPTH;
	opts.cap.max_recv_wr = 2 * MAX_DEPTH;
	opts.cap.max_inline_data = 0;
	opts.cqe = 8 * MAX_DEPTH;
	opts.mtu = IBV_MTU_4096;
	opts.send_cq = cq;
	must(!vt_end_create(end, &dev[side], &opts, 4096), "queue pair");
}

static void create_target(struct vt_region *region, int side, off_t at)
{
	if (cairn) {
		must(!vt_region_create(region, &dev[side], vt_nic(), REGION, at),
		     "persistent memory");
		return;
	}
	region->len = REGION;
	region->buf = vt_dax() ? vt_dax_map(NULL, REGION, at) : vt_map(REGION);
	must(!!region->buf, "memory");
}

static void open_all(void)
{
	int n;

	bench_open(dev);
	must(!vt_dax_open(), "devdax");
	cairn = cairndv_is_supported(dev[0].ctx->device);
	n = cairn ? 5 : 1;
	scq = ibv_create_cq(dev[0].ctx, 8 * MAX_DEPTH, NULL, NULL, 0);
	must(!!scq, "CQ");
	for (int i = 0; i < n; i++) {
		/* the third and the last connection go in the other direction */
		bool back = i == 2 || i == 4;

		create_end(&ends[i][0], back, back ? NULL : scq);
		create_end(&ends[i][1], !back, NULL);
		must(!vt_connect(&ends[i][0], &ends[i][1]), "connect");
		if (i > 2)	/* the chain posts its receives */
			continue;
		for (int j = 0; j < 2 * MAX_DEPTH; j++)
			must(!vt_recv(&ends[i][0], 0) &&
			     !vt_recv(&ends[i][1], 0), "receives");
	}
	bytes = vt_map(size + 8);
	must(!!bytes, "memory");
	memset(bytes, 0x5a, size + 8);
	source = ibv_reg_mr(dev[0].pd, bytes, size + 8, IBV_ACCESS_LOCAL_WRITE);
	create_target(&target[0], 1, 0);
	plain = ibv_reg_mr(dev[1].pd, target[0].buf, REGION,
			   VT_REMOTE | IBV_ACCESS_REMOTE_READ);
	must(source && plain, "registration");
}

/* The second target of the way CHAIN: the first target's program writes to it. */
static struct vt_region behind;

static u64 durable_place(u64 n)
{
	return n % (REGION / size) * size;
}

static int flush_hop(void *arg, const struct cairndv_chain_range *ranges, u32 num)
{
	for (u32 i = 0; i < num; i++)
		flush_lines((const u8 *)(uintptr_t)ranges[i].va, ranges[i].length);
	return 0;
}

/* The first target has host flush, and what follows is the memory of the way CHAIN. */
static void open_hop(void)
{
	struct cairndv_chain_attr attr = {
		.depth = MAX_DEPTH, .flush = flush_hop,
		.durability = CAIRNDV_DURABILITY_EMULATED,
	};
	struct cairndv_chain_next next = {
		.qp = ends[4][0].qp, .remote_addr = (uintptr_t)behind.buf,
		.rkey = behind.mr->rkey,
	};

	hop_memory.len = REGION;
	hop_memory.buf = vt_dax() ? vt_dax_map(NULL, REGION, 0) : vt_map(REGION);
	must(!!hop_memory.buf, "memory");
	hop_memory.mr = ibv_reg_mr(dev[1].pd, hop_memory.buf, REGION, VT_REMOTE | VT_HOST);
	must(!!hop_memory.mr, "registration of the hop's memory");
	attr.qp = ends[3][1].qp;
	attr.mr = hop_memory.mr;
	next.lkey = hop_memory.mr->lkey;
	hop = cairndv_chain_create(&attr, sizeof(attr));
	must(hop && !cairndv_chain_set_next(hop, &next), "chain");
}

static void open_replicas(void)
{
	struct ibv_qp *qp[2] = { ends[0][0].qp, ends[1][0].qp };

	create_target(&target[1], 1, REGION);
	create_target(&behind, 0, 2 * REGION);
	group = cairndv_persist_group_create(qp, 2, MAX_DEPTH);
	must(!!group, "group");
	open_hop();
}

/* ---- messages ---- */

static void durable_post(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	errno = ibv_post_send(qp, wr, &bad);
	must(!errno, "post");
}

static struct ibv_send_wr write_to(const struct vt_region *to, u32 rkey, u64 n,
				   struct ibv_sge *sge)
{
	*sge = (struct ibv_sge){ (uintptr_t)bytes, size, source->lkey };
	return (struct ibv_send_wr){
		.wr_id = n, .sg_list = sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)to->buf + durable_place(n), rkey },
	};
}

static void post_group(u64 n, u32 quorum)
{
	struct ibv_sge sge = { (uintptr_t)bytes, size, source->lkey };
	struct cairndv_group_dest dest[2] = {
		{ (uintptr_t)target[0].buf + durable_place(n), target[0].mr->rkey, 0 },
		{ (uintptr_t)target[1].buf + durable_place(n), target[1].mr->rkey, 0 },
	};
	const struct cairndv_group_wr wr = {
		.wr_id = n, .sg_list = &sge, .num_sge = 1, .quorum = quorum,
		.dest = dest,
	};

	errno = cairndv_persist_group_post(group, &wr);
	must(!errno, "group");
}

/* Two requests: a WRITE and a READ or SEND behind it. */
static void post_two(enum way way, u64 n)
{
	struct ibv_sge sge, word = { (uintptr_t)bytes + size, 8, source->lkey };
	struct ibv_send_wr wr = write_to(&target[0], plain->rkey, n, &sge);
	struct ibv_send_wr second = { .wr_id = n, .opcode = IBV_WR_SEND,
				      .send_flags = IBV_SEND_SIGNALED };

	wr.send_flags = 0;
	wr.next = &second;
	if (way == READ) {
		second.opcode = IBV_WR_RDMA_READ;
		second.sg_list = &word;
		second.num_sge = 1;
		second.wr.rdma = wr.wr.rdma;
		second.wr.rdma.remote_addr += size - 8;
	} else if (way == CHAIN) {
		wr.opcode = CAIRNDV_WR_WRITE_PERSIST;
		wr.wr.rdma.rkey = target[0].mr->rkey;
	}
	durable_post(ends[0][0].qp, &wr);
}

static void post_message(enum way way, u64 n)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	missing[n] = way == POSTS ? 2 : 1;
	if (way == GROUP || way == GROUP_ONE) {
		post_group(n, way == GROUP ? 2 : 1);
		return;
	}
	if (way == READ || way == SEND || way == CHAIN) {
		post_two(way, n);
		return;
	}
	if (way == FORWARD) {
		wr = write_to(&hop_memory, hop_memory.mr->rkey, n, &sge);
		wr.opcode = CAIRNDV_WR_WRITE_PERSIST;
		durable_post(ends[3][0].qp, &wr);
		return;
	}
	wr = write_to(&target[0], way == WRITE ? plain->rkey :
						 target[0].mr->rkey, n, &sge);
	if (way == PERSIST || way == EARLY || way == POSTS)
		wr.opcode = CAIRNDV_WR_WRITE_PERSIST;
	if (way == EARLY)
		wr.send_flags |= CAIRNDV_SEND_EARLY;
	durable_post(ends[0][0].qp, &wr);
	if (way != POSTS)
		return;
	wr.wr.rdma.remote_addr = (uintptr_t)target[1].buf + durable_place(n);
	wr.wr.rdma.rkey = target[1].mr->rkey;
	durable_post(ends[1][0].qp, &wr);
}

static void durable_count(u64 n)
{
	if (!--missing[n])
		took[done++] = bench_usec() - began[n];
}

/* Messages of the target's program: it answers, or goes on to the next target. */
static void durable_serve(enum way way, u64 *served)
{
	struct ibv_send_wr answer = { .opcode = IBV_WR_SEND,
				      .send_flags = IBV_SEND_SIGNALED };
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	while (bench_poll(ends[0][1].scq, 1, &wc))
		;
	while (bench_poll(ends[0][1].rcq, 1, &wc)) {
		u64 n = (*served)++;

		must(!vt_recv(&ends[0][1], 0), "receive");
		if (way == SEND) {
			flush_lines(target[0].buf + durable_place(n), size);
			durable_post(ends[0][1].qp, &answer);
			continue;
		}
		wr = write_to(&behind, behind.mr->rkey, n, &sge);
		wr.opcode = CAIRNDV_WR_WRITE_PERSIST;
		sge.addr = (uintptr_t)target[0].buf + durable_place(n);
		sge.lkey = target[0].mr->lkey;
		durable_post(ends[2][0].qp, &wr);
	}
	while (way == CHAIN && bench_poll(ends[2][0].scq, 1, &wc))
		durable_post(ends[0][1].qp, &answer);
}

/* Some ways complete the oldest message; completions of the others name it. */
static void durable_reap(enum way way, u64 *sent, u64 *received, u64 *served)
{
	struct cairndv_group_wc event;
	struct ibv_wc wc;

	if (way == GROUP || way == GROUP_ONE) {
		while (cairndv_persist_group_poll(group, 1, &event) == 1) {
			must(event.kind == CAIRNDV_GROUP_DURABLE, "a target");
			durable_count(event.wr_id);
		}
		*sent = cairndv_persist_group_released(group);
		return;
	}
	if (way == FORWARD)
		must(!cairndv_chain_poll(hop, 0, NULL), "chain");
	while (bench_poll(scq, 1, &wc)) {
		++*sent;
		if (way != EARLY && way != SEND && way != CHAIN)
			durable_count(wc.wr_id);
	}
	if (way == SEND || way == CHAIN)
		durable_serve(way, served);
	if (way != EARLY && way != SEND && way != CHAIN)
		return;
	while (bench_poll(ends[0][0].rcq, 1, &wc)) {
		must(!vt_recv(&ends[0][0], 0), "receive");
		durable_count((*received)++);
	}
}

/* Have all requests completed, so that the next turn can begin? */
static bool is_over(enum way way, unsigned int messages, u64 sent)
{
	unsigned int each = way == POSTS ? 2 : 1;

	return done == messages && sent >= (u64)messages * each;
}

/* Messages of one way: time of a message. */
static double durable_turn(enum way way, unsigned int messages)
{
	u64 sent = 0, received = 0, served = 0, before = 0;
	double start = bench_usec(), last = start, end = start;
	unsigned int posted = 0, was = 0;

	if (group)
		before = cairndv_persist_group_released(group);
	done = 0;
	while (!is_over(way, messages, sent)) {
		while (posted < messages && posted - done < depth) {
			/* wait until no target reads the message any more */
			if ((way == GROUP_ONE || way == GROUP) &&
			    posted >= sent + MAX_DEPTH)
				break;
			began[posted] = bench_usec();
			post_message(way, posted++);
		}
		durable_reap(way, &sent, &received, &served);
		if (way == GROUP || way == GROUP_ONE)
			sent -= before;
		if (done != was)
			last = bench_usec();
		else
			sched_yield();
		if (done == messages && was != done)
			end = last;
		was = done;
		must(bench_usec() - last < PATIENCE, "no completion within the time limit");
	}
	return (end - start) / messages;
}

/* ---- figures ---- */

static double durable_part(const double *values, unsigned int n, unsigned int percent)
{
	static double sorted[MAX_TURN];

	memcpy(sorted, values, n * sizeof(*values));
	bench_sort(sorted, n);
	return sorted[(size_t)n * percent / 100];
}

static bool durable_possible(enum way way)
{
	return cairn || way == WRITE || way == READ || way == SEND;
}

/* Find how many messages fill a turn, and how many packets one of them sends. */
static void size_turn(enum way way)
{
	unsigned int n = 2 * depth < 8 ? 8 : 2 * depth;
	unsigned long before;
	double each;

	durable_turn(way, n);	/* not measured: the first turn is slower */
	usleep(COUNTERS_USEC);
	before = durable_packets();
	each = durable_turn(way, n);
	usleep(COUNTERS_USEC);
	figures[way].packets = (double)(durable_packets() - before) / n;
	if (each * n < TURN_USEC)
		n = TURN_USEC / each;
	figures[way].turn = n < MAX_TURN ? n : MAX_TURN;
}

static void one_round(bool counts)
{
	for (unsigned int i = 0; i < WAYS; i++) {
		/* vary which way is first and which one precedes it */
		enum way way = (i * 3 + rounds) % WAYS;
		struct figures *found = &figures[way];
		double each;

		if (!durable_possible(way))
			continue;
		each = durable_turn(way, found->turn);
		if (!counts)
			continue;
		found->usec[rounds] = each;
		found->latency[rounds] = durable_part(took, found->turn, 50);
		found->slowest[rounds] = durable_part(took, found->turn, 99);
	}
	rounds += counts;
}

static double durable_compared(const double *one, const double *two)
{
	static double ratios[MAX_ROUNDS];

	for (unsigned int i = 0; i < rounds; i++)
		ratios[i] = one[i] / two[i];
	return durable_part(ratios, rounds, 50);
}

static void durable_report(enum way way)
{
	const struct figures *found = &figures[way];

	printf("\"%s\": {\"msgs_s\": %.1f, \"usec\": %.2f, \"usec_p99\": %.2f, \"packets\": %.3f",
	       names[way], 1e6 / durable_part(found->usec, rounds, 50),
	       durable_part(found->latency, rounds, 50), durable_part(found->slowest, rounds, 50),
	       found->packets);
	for (int i = 0; i < BESIDE; i++) {
		const struct figures *other = &figures[beside[i]];

		if (beside[i] == way || !durable_possible(beside[i]))
			continue;
		printf(", \"time_of_%s\": %.3f, \"latency_of_%s\": %.3f",
		       names[beside[i]], durable_compared(found->usec, other->usec),
		       names[beside[i]], durable_compared(found->latency, other->latency));
	}
	printf("}");
}

int main(int argc, char **argv)
{
	double seconds, start;

	if (argc != 4) {
		fprintf(stderr, "usage: durable BYTES DEPTH SECONDS\n");
		return 2;
	}
	size = atoi(argv[1]);
	depth = atoi(argv[2]);
	seconds = atof(argv[3]);
	must(size >= 8 && size <= REGION && depth && depth <= MAX_DEPTH &&
	     seconds > 0, "arguments");
	open_all();
	if (cairn)
		open_replicas();
	for (int way = 0; way < WAYS; way++)
		if (durable_possible(way))
			size_turn(way);
	one_round(false);
	start = bench_usec();
	while (rounds < MIN_ROUNDS ||
	       (bench_usec() - start < seconds * 1e6 && rounds < MAX_ROUNDS))
		one_round(true);
	printf("{\"rounds\": %u, \"domain\": \"%s\"", rounds,
	       vt_dax() ? "nic" : "emulated");
	for (int way = 0; way < WAYS; way++) {
		if (!durable_possible(way))
			continue;
		printf(", ");
		durable_report(way);
	}
	printf("}\n");
	return 0;
}
