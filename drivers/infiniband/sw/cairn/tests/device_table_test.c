// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Look-up by number: at the limits, without memory, and beside growth and removal in
 * other threads. A reader's section is a counter of its own, odd within; memory goes
 * when each was seen outside of the section that it was in.
 */
#include <errno.h>
#include <linux/bits.h>
#include <pthread.h>
#include <sched.h>
#include "ktap.h"
#include "device/table.h"

#define LAST		((1U << CAIRN_TABLE_BITS) - 1)
#define READERS		3
#define WRITERS		3
#define ROUNDS		20000

static struct cairn_table table;
static int allocs_left;			/* < 0: any number */
static int live;			/* allocations that are not freed */
static void *kept;			/* waits for the grace period */
static void (*meanwhile)(void);		/* what another does during an allocation */
static bool threads;

static struct reader {
	unsigned long section;
	u64 found;
	pthread_t thread;
} readers[READERS];

void *shim_zalloc(size_t size)
{
	void (*other)(void) = meanwhile;

	meanwhile = NULL;
	if (other)
		other();
	if (!allocs_left)
		return NULL;
	if (allocs_left > 0)
		allocs_left--;
	__atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
	return calloc(1, size);
}

void shim_free(void *mem)
{
	if (mem)
		__atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
	free(mem);
}

static void wait_for_readers(void)
{
	unsigned long was;
	int i;

	for (i = 0; i < READERS; i++) {
		was = __atomic_load_n(&readers[i].section, __ATOMIC_SEQ_CST);
		while (was & 1 && was == __atomic_load_n(&readers[i].section,
							 __ATOMIC_SEQ_CST))
			sched_yield();
	}
}

void shim_free_rcu(void *mem)
{
	/* what was removed is seen as such before the readers are */
	__atomic_sub_fetch(&live, 1, __ATOMIC_SEQ_CST);
	if (threads) {
		wait_for_readers();
		free(mem);
		return;
	}
	ktap_ok(!kept);
	kept = mem;
}

static void table_start(void)
{
	allocs_left = -1;
	live = 0;
	memset(&table, 0, sizeof(table));
	cairn_table_init(&table);
}

static void grace_period(void)
{
	free(kept);
	kept = NULL;
}

static int table_nodes(void)
{
	int i, n = 0;

	for (i = 0; i < (int)BIT(CAIRN_TABLE_TOP_BITS); i++)
		n += !!table.node[i];
	return n;
}

/* All leaves have been freed. */
static void table_end(void)
{
	grace_period();
	ktap_eq(live, table_nodes());
	cairn_table_exit(&table);
	ktap_eq(live, 0);
}

static void *entry_of(u32 number)
{
	return (void *)((uintptr_t)number + 1);
}

static void table_add(u32 number)
{
	ktap_eq(cairn_table_reserve(&table, number), 0);
	ktap_ok(!cairn_table_find(&table, number));
	cairn_table_set(&table, number, entry_of(number));
	ktap_ok(cairn_table_find(&table, number) == entry_of(number));
}

static void table_release(u32 number)
{
	cairn_table_release(&table, number);
	ktap_ok(!cairn_table_find(&table, number));
}

static void numbers_at_the_limits(void)
{
	static const u32 numbers[] = {
		0, 1, BIT(CAIRN_TABLE_LEAF_BITS) - 1, BIT(CAIRN_TABLE_LEAF_BITS),
		BIT(CAIRN_TABLE_LEAF_BITS + CAIRN_TABLE_NODE_BITS) - 1,
		BIT(CAIRN_TABLE_LEAF_BITS + CAIRN_TABLE_NODE_BITS),
		LAST - BIT(CAIRN_TABLE_LEAF_BITS), LAST - 1, LAST,
	};
	const u32 n = sizeof(numbers) / sizeof(numbers[0]);
	u32 i;

	table_start();
	for (i = 0; i < n; i++)
		ktap_ok(!cairn_table_find(&table, numbers[i]));
	for (i = 0; i < n; i++)
		table_add(numbers[i]);
	ktap_eq(table_nodes(), 3);
	for (i = 0; i < n; i++)
		ktap_ok(cairn_table_find(&table, numbers[i]) ==
			entry_of(numbers[i]));
	/* neighbours, and what lies above 24 bits */
	ktap_ok(!cairn_table_find(&table, 2));
	ktap_ok(!cairn_table_find(&table, LAST - 2));
	ktap_ok(cairn_table_find(&table, LAST + 1) == entry_of(0));
	ktap_ok(cairn_table_find(&table, ~0U) == entry_of(LAST));
	for (i = 0; i < n; i++) {
		grace_period();
		table_release(numbers[i]);
	}
	table_end();
}

/* A leaf goes with its last number, not before, and comes again. */
static void leaves_come_and_go(void)
{
	const u32 n = BIT(CAIRN_TABLE_LEAF_BITS);
	int round;
	u32 i;

	table_start();
	for (round = 0; round < 2; round++) {
		for (i = 0; i < n; i++)
			table_add(5 * n + i);
		ktap_eq(live, 2);
		for (i = 0; i < n; i++) {
			ktap_eq(live, 2);
			ktap_ok(cairn_table_find(&table, 6 * n - 1));
			table_release(5 * n + i);
		}
		ktap_eq(live, 1);
		grace_period();
	}
	table_end();
}

/* Reserved twice is released twice: what is in between stays. */
static void reserved_but_not_set(void)
{
	table_start();
	ktap_eq(cairn_table_reserve(&table, 7), 0);
	table_add(8);
	table_release(8);
	ktap_eq(live, 2);
	cairn_table_set(&table, 7, entry_of(7));
	ktap_ok(cairn_table_find(&table, 7) == entry_of(7));
	table_release(7);
	table_end();
}

static void add_1(void)
{
	table_add(1);
}

/* Both find that the node is not there, or the leaf: one is enough. */
static void reserved_at_once(void)
{
	table_start();
	meanwhile = add_1;
	table_add(0);
	ktap_ok(cairn_table_find(&table, 1) == entry_of(1));
	ktap_eq(live, 2);
	table_release(0);
	table_release(1);
	grace_period();
	meanwhile = add_1;
	table_add(0);
	ktap_ok(cairn_table_find(&table, 1) == entry_of(1));
	ktap_eq(live, 2);
	table_release(1);
	table_release(0);
	table_end();
}

/* A reader may use the leaf that it found until its RCU section ends. */
static void removed_beside_a_reader(void)
{
	struct cairn_table_leaf *leaf;

	table_start();
	table_add(LAST);
	leaf = table.node[cairn_table_nth_node(LAST)]
		->leaf[cairn_table_nth_leaf(LAST)];
	table_release(LAST);
	ktap_ok(kept == leaf);
	ktap_ok(!READ_ONCE(leaf->entry[BIT(CAIRN_TABLE_LEAF_BITS) - 1]));
	table_add(LAST);
	grace_period();
	ktap_ok(cairn_table_find(&table, LAST) == entry_of(LAST));
	table_release(LAST);
	table_end();
}

static void no_memory(void)
{
	table_start();
	allocs_left = 0;
	ktap_eq(cairn_table_reserve(&table, 1000), -ENOMEM);
	ktap_ok(!cairn_table_find(&table, 1000));
	allocs_left = 1;	/* for the node alone */
	ktap_eq(cairn_table_reserve(&table, 1000), -ENOMEM);
	ktap_ok(!cairn_table_find(&table, 1000));
	allocs_left = 1;
	table_add(1000);
	allocs_left = 0;
	table_add(1001);		/* its leaf is there */
	ktap_eq(cairn_table_reserve(&table, 5000), -ENOMEM);
	table_release(1000);
	table_release(1001);
	table_end();
}

/* --- threads: each writer has numbers of its own, in leaves that all share --- */

static bool stop;

static u32 shared_number(u32 writer, u32 i)
{
	const u32 each = 4 * BIT(CAIRN_TABLE_LEAF_BITS) / WRITERS;

	return i % each * WRITERS + writer;
}

static void *read_all(void *arg)
{
	struct reader *reader = arg;
	u32 n = 0;
	void *mem;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		u32 number = n++ % (4 * BIT(CAIRN_TABLE_LEAF_BITS));

		__atomic_add_fetch(&reader->section, 1, __ATOMIC_SEQ_CST);
		mem = cairn_table_find(&table, number);
		__atomic_add_fetch(&reader->section, 1, __ATOMIC_SEQ_CST);
		if (mem && mem != entry_of(number)) {
			ktap_fail("number %u has another's entry", number);
			break;
		}
		reader->found += !!mem;
	}
	return NULL;
}

static void *write_some(void *arg)
{
	u32 writer = (uintptr_t)arg, i;

	for (i = 0; i < ROUNDS; i++) {
		u32 number = shared_number(writer, i);

		if (cairn_table_reserve(&table, number)) {
			ktap_fail("no room for %u", number);
			break;
		}
		cairn_table_set(&table, number, entry_of(number));
		if (cairn_table_find(&table, number) != entry_of(number)) {
			ktap_fail("%u is not found", number);
			break;
		}
		cairn_table_release(&table, number);
	}
	return NULL;
}

static void readers_and_writers(void)
{
	pthread_t writer[WRITERS];
	uintptr_t i;

	table_start();
	threads = true;
	stop = false;
	for (i = 0; i < READERS; i++)
		pthread_create(&readers[i].thread, NULL, read_all, &readers[i]);
	for (i = 0; i < WRITERS; i++)
		pthread_create(&writer[i], NULL, write_some, (void *)i);
	for (i = 0; i < WRITERS; i++)
		pthread_join(writer[i], NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	threads = false;
	ktap_eq(table_nodes(), 1);
	for (i = 0; i < 4 * BIT(CAIRN_TABLE_LEAF_BITS); i++)
		ktap_ok(!cairn_table_find(&table, i));
	table_end();
}

static const struct ktap_test tests[] = {
	KTAP(numbers_at_the_limits),
	KTAP(leaves_come_and_go),
	KTAP(reserved_but_not_set),
	KTAP(reserved_at_once),
	KTAP(removed_beside_a_reader),
	KTAP(no_memory),
	KTAP(readers_and_writers),
};

KTAP_MAIN(tests)
