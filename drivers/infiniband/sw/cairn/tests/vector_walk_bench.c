// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The memory that a message costs with many connections, without the work: one run for
 * each event, or vectors of events that go through stages and fetch ahead.
 *
 * scripts/bench/vectors writes the layout, a line of text for each cache line that a
 * message touches:
 *
 *   EVENT STAGE OBJECT STRIDE OFFSET FETCHED
 *
 * EVENT is 0 (send), 1 (request) or 2 (ACK). Stages come in order. OBJECT is a word. An
 * object has STRIDE bytes of memory, at both ends of each connection. FETCHED is 1 if the
 * module fetches the line ahead. The program touches these lines with a fixed amount of
 * computing for each. A stage's first address depends on the result of the stage before,
 * as if it had been read there.
 *
 *   vector_walk_bench LAYOUT NS ROUNDS CONNECTIONS...
 *   vector_walk_bench LAYOUT place|dense PASSES CONNECTIONS
 *
 * NS: the computing for a message, with 16 connections in place and one run for each
 * event. For each way it prints the nanoseconds for a message, least and median, then the
 * ratio to the first way, median and quartiles. "place" has the lines where the module has
 * them, "dense" has nothing between those of one object. "one" is an event after another,
 * "now" fetches the lines ahead that the module fetches, "ahead" fetches all. A number is
 * the length of a vector, whose stages fetch ahead.
 *
 * The second form is for cachegrind: each connection has PASSES messages, one event after
 * another, without computing.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "sim/rand.h"

#define LINE		64
#define LARGE_PAGE	(2u << 20)
#define EVENTS		3
#define MAX_LINES	128
#define MAX_OBJECTS	32
#define BATCH		64	/* messages of which one kind of event comes after another */
#define AHEAD		4	/* elements */
#define RUN_NS		4000000ULL
#define MAX_ROUNDS	64
#define WAYS		9

/* One for each end of the connections that has the object. */
struct object {
	char name[32];
	u32 end;
	size_t stride;
	u32 lines;
	size_t offset[MAX_LINES];
	u8 *memory;
};

struct line {
	u32 event, stage;
	struct object *object;
	u32 nth;		/* of the object's lines */
	u32 fetched;
};

static struct object objects[MAX_OBJECTS];
static struct line lines[MAX_LINES];
static u32 num_objects, num_lines;

/* Lines of a stage are neighbours in @walk; the last end is that of all. */
static struct step {
	u8 *memory;
	size_t stride;
	bool fetched;
} walk[MAX_LINES];
static u32 stage_end[EVENTS][MAX_LINES], num_stages[EVENTS];

static u32 connections, spin, order_at;
static u32 *order;
static u64 state = 1;
static volatile u64 sink;

static const struct way {
	const char *name;
	bool dense;
	u32 vector;
	enum { FETCH_NONE, FETCH_NOW, FETCH_ALL } fetch;	/* if vector is 1 */
} ways[WAYS] = {
	{ "place one", false, 1, FETCH_NONE }, { "place now", false, 1, FETCH_NOW },
	{ "place ahead", false, 1, FETCH_ALL }, { "place 8", false, 8 },
	{ "place 64", false, 64 }, { "dense one", true, 1, FETCH_NONE },
	{ "dense ahead", true, 1, FETCH_ALL }, { "dense 8", true, 8 },
	{ "dense 64", true, 64 },
};

static void walk_fail(const char *why)
{
	perror(why);
	exit(1);
}

static struct object *object_of(const char *name, u32 end, size_t stride)
{
	struct object *object;

	for (object = objects; object < objects + num_objects; object++)
		if (!strcmp(object->name, name) && object->end == end)
			return object;
	if (num_objects++ == MAX_OBJECTS)
		walk_fail("objects");
	snprintf(object->name, sizeof(object->name), "%s", name);
	object->end = end;
	object->stride = stride;
	return object;
}

static u32 object_line(struct object *object, size_t offset)
{
	u32 i;

	for (i = 0; i < object->lines; i++)
		if (object->offset[i] == offset)
			return i;
	object->offset[object->lines++] = offset;
	return i;
}

static void walk_read_layout(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t stride, offset;
	u32 event, stage, fetched;
	char name[32];

	if (!file)
		walk_fail(path);
	while (fscanf(file, "%u %u %31s %zu %zu %u", &event, &stage, name,
		      &stride, &offset, &fetched) == 6) {
		struct line *line = &lines[num_lines++];

		if (num_lines == MAX_LINES || event >= EVENTS)
			walk_fail("layout");
		line->event = event;
		line->stage = stage;
		line->fetched = fetched;
		line->object = object_of(name, event == 1, stride);
		line->nth = object_line(line->object, offset / LINE * LINE);
	}
	fclose(file);
}

/* Memory in large pages, as the kernel's own map of its memory has them. */
static u8 *walk_alloc(size_t bytes)
{
	void *memory;

	bytes = (bytes + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
	memory = aligned_alloc(LARGE_PAGE, bytes);
	if (!memory)
		walk_fail("memory");
	madvise(memory, bytes, MADV_HUGEPAGE);
	memset(memory, 1, bytes);
	return memory;
}

/* Tables whose lines serve several connections are dense as they are. */
static size_t walk_stride(const struct object *object, bool dense)
{
	return dense && object->stride > LINE ? (size_t)object->lines * LINE :
						object->stride;
}

static void walk_build(bool dense)
{
	u32 event = 0, stage = 0, i;

	memset(num_stages, 0, sizeof(num_stages));
	for (i = 0; i < num_lines; i++) {
		const struct line *line = &lines[i];
		struct object *object = line->object;

		if (!i || line->event != event || line->stage != stage)
			num_stages[line->event]++;
		event = line->event;
		stage = line->stage;
		stage_end[event][num_stages[event] - 1] = i + 1;
		walk[i].stride = walk_stride(object, dense);
		walk[i].fetched = line->fetched;
		walk[i].memory = object->memory +
				 (dense ? line->nth * LINE : object->offset[line->nth]);
	}
}

static inline u64 walk_spin(u64 x, u32 n)
{
	while (n--)
		x = x * 6364136223846793005ULL + 1;
	return x;
}

static inline u64 walk_touch(u32 i, u32 end, u32 queue, u64 x)
{
	size_t chain = x & 8;

	for (; i < end; i++) {
		u64 *word = (u64 *)(walk[i].memory + queue * walk[i].stride + chain);

		x += *word;
		*word = x;
		x = walk_spin(x, spin);
	}
	return x;
}

/* The compiler leaves out calls of functions that only prefetch. */
static inline void walk_fetch(u32 i, u32 end, u32 queue)
{
	for (; i < end; i++) {
		__builtin_prefetch(walk[i].memory + queue * walk[i].stride, 1);
		asm volatile("");
	}
}

static inline void walk_fetch_now(u32 i, u32 end, u32 queue)
{
	for (; i < end; i++)
		if (walk[i].fetched)
			walk_fetch(i, i + 1, queue);
}

/* One event after another, each to its end. */
static void walk_alone(u32 event, u32 first, const u32 *queue, u32 fetch)
{
	u32 end = stage_end[event][num_stages[event] - 1], k, stage, i;

	for (k = 0; k < BATCH; k++) {
		if (fetch == FETCH_ALL && k + AHEAD < BATCH)
			walk_fetch(first, end, queue[k + AHEAD]);
		else if (fetch == FETCH_NOW && k + AHEAD < BATCH)
			walk_fetch_now(first, end, queue[k + AHEAD]);
		for (i = first, stage = 0; stage < num_stages[event]; stage++) {
			state = walk_touch(i, stage_end[event][stage], queue[k], state);
			i = stage_end[event][stage];
		}
	}
}

/* One stage after another, each for all of the vector. */
static void walk_vector(u32 event, u32 first, const u32 *queue, u32 vector)
{
	u32 k, stage, i = first;

	for (k = 0; k < AHEAD; k++)
		walk_fetch(i, stage_end[event][0], queue[k]);
	for (stage = 0; stage < num_stages[event]; stage++) {
		u32 end = stage_end[event][stage];
		u32 next = stage + 1 < num_stages[event] ?
			   stage_end[event][stage + 1] : end;

		for (k = 0; k < vector; k++) {
			if (k + AHEAD < vector)
				walk_fetch(i, end, queue[k + AHEAD]);
			else
				walk_fetch(end, next, queue[k + AHEAD - vector]);
			state = walk_touch(i, end, queue[k], state);
		}
		i = end;
	}
}

static void walk_batch(const struct way *way)
{
	u32 queue[BATCH], event, first, k;

	for (k = 0; k < BATCH; k++)
		queue[k] = order[order_at++ % connections];
	for (first = 0, event = 0; event < EVENTS; event++) {
		if (way->vector == 1)
			walk_alone(event, first, queue, way->fetch);
		else
			for (k = 0; k < BATCH; k += way->vector)
				walk_vector(event, first, queue + k, way->vector);
		first = stage_end[event][num_stages[event] - 1];
	}
}

/* CPU time of this process, as other processes run, too. */
static u64 walk_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Return: nanoseconds for a message. Each connection has had a message before. */
static double walk_measure(const struct way *way)
{
	u64 start, batches = 0;
	u32 i;

	walk_build(way->dense);
	for (i = 0; i < connections; i += BATCH)
		walk_batch(way);
	start = walk_time();
	do {
		for (i = 0; i < 16; i++, batches++)
			walk_batch(way);
	} while (walk_time() - start < RUN_NS);
	sink = state;
	return (double)(walk_time() - start) / (batches * BATCH);
}

static void walk_set_up(u32 n)
{
	struct sim_rand rnd = { n };
	u32 i;

	connections = n;
	order = realloc(order, n * sizeof(*order));
	if (!order)
		walk_fail("memory");
	for (i = 0; i < n; i++) {
		u32 other = sim_below(&rnd, i + 1);

		order[i] = order[other];
		order[other] = i;
	}
	for (i = 0; i < num_objects; i++) {
		free(objects[i].memory);
		objects[i].memory = walk_alloc(n * objects[i].stride);
	}
}

/* Choose the computing for each line. */
static void walk_calibrate(double ns)
{
	double none, some;
	u32 i;

	walk_set_up(16);
	for (none = some = 1e9, i = 0; i < 8; i++) {
		double t;

		spin = 0;
		t = walk_measure(&ways[0]);
		none = t < none ? t : none;
		spin = 32;
		t = walk_measure(&ways[0]);
		some = t < some ? t : some;
	}
	spin = none < ns ? (ns - none) * 32 / (some - none) + 0.5 : 0;
}

static int walk_compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

/* All ways take turns, in an order that changes. */
static void walk_report(u32 n, u32 rounds)
{
	double ns[WAYS][MAX_ROUNDS], ratio[WAYS][MAX_ROUNDS];
	u32 round, i;

	walk_set_up(n);
	for (round = 0; round < rounds; round++)
		for (i = 0; i < WAYS; i++) {
			u32 way = (i + round) % WAYS;

			ns[way][round] = walk_measure(&ways[way]);
		}
	for (i = 0; i < WAYS; i++)
		for (round = 0; round < rounds; round++)
			ratio[i][round] = ns[i][round] / ns[0][round];
	for (i = 0; i < WAYS; i++) {
		qsort(ns[i], rounds, sizeof(ns[i][0]), walk_compare);
		qsort(ratio[i], rounds, sizeof(ratio[i][0]), walk_compare);
		printf("%u %s %.0f %.0f %.3f %.3f %.3f\n", n, ways[i].name, ns[i][0],
		       ns[i][rounds / 2], ratio[i][rounds / 2], ratio[i][rounds / 4],
		       ratio[i][rounds - 1 - rounds / 4]);
	}
	fflush(stdout);
}

static void walk_count(bool dense, u32 passes, u32 n)
{
	const struct way way = { .vector = 1, .dense = dense };
	u32 i;

	walk_set_up(n);
	walk_build(dense);
	for (i = 0; i < passes * n; i += BATCH)
		walk_batch(&way);
	sink = state;
}

int main(int argc, char **argv)
{
	u32 rounds;
	int i;

	if (argc < 5)
		return 2;
	walk_read_layout(argv[1]);
	if (!strcmp(argv[2], "place") || !strcmp(argv[2], "dense")) {
		walk_count(argv[2][0] == 'd', atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	rounds = atoi(argv[3]) < MAX_ROUNDS ? atoi(argv[3]) : MAX_ROUNDS;
	walk_calibrate(atoi(argv[2]));
	for (i = 4; i < argc; i++)
		walk_report(atoi(argv[i]), rounds);
	return 0;
}
