/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A table of pointers by numbers of 24 bits: QPs by QP number, regions by the index of
 * their key. Each packet needs several look-ups. So a look-up is three loads and takes
 * 15 instructions; in an xarray of the same size it takes 150.
 *
 * The table's owner allocates the numbers. A leaf is allocated when its first number is
 * reserved, and freed a grace period after its last number was released.
 */
#ifndef CAIRN_DEVICE_TABLE_H
#define CAIRN_DEVICE_TABLE_H

#include <linux/bits.h>
#include <linux/prefetch.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#define CAIRN_TABLE_BITS	24
#define CAIRN_TABLE_LEAF_BITS	7
#define CAIRN_TABLE_NODE_BITS	9
#define CAIRN_TABLE_TOP_BITS						\
	(CAIRN_TABLE_BITS - CAIRN_TABLE_NODE_BITS - CAIRN_TABLE_LEAF_BITS)

struct cairn_table_leaf {
	void *entry[BIT(CAIRN_TABLE_LEAF_BITS)];
	u32 used;		/* reserved numbers; under the table's lock */
	struct rcu_head rcu;
};

struct cairn_table_node {
	struct cairn_table_leaf __rcu *leaf[BIT(CAIRN_TABLE_NODE_BITS)];
};

struct cairn_table {
	spinlock_t lock;	/* for reserving and releasing */
	/* A node stays until cairn_table_exit(). */
	struct cairn_table_node __rcu *node[BIT(CAIRN_TABLE_TOP_BITS)];
};

static inline u32 cairn_table_nth_leaf(u32 number)
{
	return number >> CAIRN_TABLE_LEAF_BITS &
	       (BIT(CAIRN_TABLE_NODE_BITS) - 1);
}

static inline u32 cairn_table_nth_node(u32 number)
{
	return number >> (CAIRN_TABLE_LEAF_BITS + CAIRN_TABLE_NODE_BITS) &
	       (BIT(CAIRN_TABLE_TOP_BITS) - 1);
}

/**
 * cairn_table_find() - look a number up
 * @table: the table
 * @number: less than 2^24; higher bits are ignored
 *
 * Context: RCU read section, or soft interrupts off.
 * Return: the entry or NULL.
 */
static inline void *cairn_table_find(const struct cairn_table *table,
				     u32 number)
{
	const struct cairn_table_node *node;
	const struct cairn_table_leaf *leaf;

	node = rcu_dereference_raw(table->node[cairn_table_nth_node(number)]);
	if (!node)
		return NULL;
	leaf = rcu_dereference_raw(node->leaf[cairn_table_nth_leaf(number)]);
	if (!leaf)
		return NULL;
	/* Data dependency: what the entry points to was written before it. Pairs with
	 * smp_store_release() in cairn_table_set().
	 */
	return READ_ONCE(leaf->entry[number &
				     (BIT(CAIRN_TABLE_LEAF_BITS) - 1)]);
}

/* Prefetch what cairn_table_find() reads of the entry. Same context. */
static inline void cairn_table_prefetch(const struct cairn_table *table,
					u32 number)
{
	const struct cairn_table_node *node;
	const struct cairn_table_leaf *leaf;

	node = rcu_dereference_raw(table->node[cairn_table_nth_node(number)]);
	if (!node)
		return;
	leaf = rcu_dereference_raw(node->leaf[cairn_table_nth_leaf(number)]);
	if (leaf)
		prefetch(&leaf->entry[number & (BIT(CAIRN_TABLE_LEAF_BITS) - 1)]);
}

/* @table is zeroed. */
void cairn_table_init(struct cairn_table *table);

/* Free the table. No number is reserved, and look-ups have ended. */
void cairn_table_exit(struct cairn_table *table);

/**
 * cairn_table_reserve() - allocate memory for the entry of a number
 * @table: the table
 * @number: allocated by the caller; see cairn_table_find()
 *
 * Context: process, sleeps.
 * Return: 0 or -ENOMEM.
 */
int cairn_table_reserve(struct cairn_table *table, u32 number);

/* Set the entry of a reserved number, which look-ups find from now on. Any context. */
void cairn_table_set(struct cairn_table *table, u32 number, void *entry);

/* Remove the entry of @number and end its reservation. Process context. */
void cairn_table_release(struct cairn_table *table, u32 number);

#endif
