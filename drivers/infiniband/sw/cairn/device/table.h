/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a number of 24 bits stands for: QPs by their QPN, regions by the index of
 * their key. Each packet asks several times, so a look-up is three loads: an xarray
 * of the same size takes 150 instructions, this 15.
 *
 * Numbers are given out by an xarray of the owner. Leaves come with their first
 * number and go with their last, after a grace period.
 */
#ifndef CAIRN_DEVICE_TABLE_H
#define CAIRN_DEVICE_TABLE_H

#include <linux/bits.h>
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
	u32 used;		/* reserved entries, under the table's lock */
	struct rcu_head rcu;
};

struct cairn_table_node {
	struct cairn_table_leaf __rcu *leaf[BIT(CAIRN_TABLE_NODE_BITS)];
};

struct cairn_table {
	spinlock_t lock;	/* of those who reserve and release */
	/* What is there once stays until cairn_table_exit(). */
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
 * cairn_table_find() - what @number stands for
 * @table: the table
 * @number: less than 2^24; higher bits are ignored
 *
 * Context: an RCU read section, also one that is soft interrupts off.
 * Return: NULL: nothing.
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
	/* Its contents were written before: a data dependency follows. */
	return READ_ONCE(leaf->entry[number &
				     (BIT(CAIRN_TABLE_LEAF_BITS) - 1)]);
}

/* @table is zeroed. */
void cairn_table_init(struct cairn_table *table);

/* Nothing is reserved any more and nobody looks. */
void cairn_table_exit(struct cairn_table *table);

/**
 * cairn_table_reserve() - have room for what @number will stand for
 * @table: the table
 * @number: the caller's, see cairn_table_find()
 *
 * Context: process, sleeps.
 * Return: 0 or -ENOMEM.
 */
int cairn_table_reserve(struct cairn_table *table, u32 number);

/* From now on @number, which is reserved, stands for @entry. Any context. */
void cairn_table_set(struct cairn_table *table, u32 number, void *entry);

/* Nothing is found by @number any more, nor is it reserved. Process context. */
void cairn_table_release(struct cairn_table *table, u32 number);

#endif
