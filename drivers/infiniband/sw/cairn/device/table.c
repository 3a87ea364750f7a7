// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include "device/table.h"

void cairn_table_init(struct cairn_table *table)
{
	spin_lock_init(&table->lock);
}

void cairn_table_exit(struct cairn_table *table)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(table->node); i++)
		kfree(rcu_dereference_raw(table->node[i]));
}

/* The node of @number, allocated if needed. Return: the node; NULL: no memory. */
static struct cairn_table_node *table_get_node(struct cairn_table *table,
					       u32 number)
{
	struct cairn_table_node __rcu **slot =
		&table->node[cairn_table_nth_node(number)];
	struct cairn_table_node *node = rcu_dereference_raw(*slot), *fresh;

	if (node)
		return node;
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL);
	if (!fresh)
		return NULL;
	spin_lock(&table->lock);
	node = rcu_dereference_raw(*slot);
	if (!node)
		rcu_assign_pointer(*slot, fresh);
	spin_unlock(&table->lock);
	if (!node)
		return fresh;
	kfree(fresh);
	return node;
}

int cairn_table_reserve(struct cairn_table *table, u32 number)
{
	struct cairn_table_node *node = table_get_node(table, number);
	struct cairn_table_leaf *leaf, *fresh = NULL;
	struct cairn_table_leaf __rcu **slot;

	if (!node)
		return -ENOMEM;
	slot = &node->leaf[cairn_table_nth_leaf(number)];
	if (!rcu_access_pointer(*slot)) {
		fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
		if (!fresh)
			return -ENOMEM;
	}
	spin_lock(&table->lock);
	leaf = rcu_dereference_raw(*slot);
	if (!leaf && fresh) {
		leaf = fresh;
		fresh = NULL;
		rcu_assign_pointer(*slot, leaf);
	}
	if (leaf)
		leaf->used++;
	spin_unlock(&table->lock);
	kfree(fresh);
	/* The leaf was freed after the check above: the next try allocates one. */
	return leaf ? 0 : cairn_table_reserve(table, number);
}

static struct cairn_table_leaf __rcu **table_leaf(struct cairn_table *table,
						  u32 number)
{
	struct cairn_table_node *node =
		rcu_dereference_raw(table->node[cairn_table_nth_node(number)]);

	return &node->leaf[cairn_table_nth_leaf(number)];
}

static void **table_entry(struct cairn_table_leaf *leaf, u32 number)
{
	return &leaf->entry[number & (BIT(CAIRN_TABLE_LEAF_BITS) - 1)];
}

void cairn_table_set(struct cairn_table *table, u32 number, void *entry)
{
	struct cairn_table_leaf *leaf =
		rcu_dereference_raw(*table_leaf(table, number));

	/* Orders the contents of @entry before it. Pairs with cairn_table_find(). */
	smp_store_release(table_entry(leaf, number), entry);
}

void cairn_table_release(struct cairn_table *table, u32 number)
{
	struct cairn_table_leaf __rcu **slot = table_leaf(table, number);
	struct cairn_table_leaf *leaf = rcu_dereference_raw(*slot);

	WRITE_ONCE(*table_entry(leaf, number), NULL);
	spin_lock(&table->lock);
	if (--leaf->used)
		leaf = NULL;
	else
		RCU_INIT_POINTER(*slot, NULL);
	spin_unlock(&table->lock);
	if (leaf)
		kfree_rcu(leaf, rcu);
}
