/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_RCULIST_H
#define CAIRN_SHIM_LINUX_RCULIST_H

#include <linux/list.h>
#include <linux/rcupdate.h>

#define hlist_entry_or_null(node, type, member)				\
	((node) ? container_of(node, type, member) : NULL)

#define hlist_for_each_entry_rcu(pos, head, member, ...)		\
	for ((pos) = hlist_entry_or_null((head)->first,			\
					 __typeof__(*(pos)), member);	\
	     (pos);							\
	     (pos) = hlist_entry_or_null((pos)->member.next,		\
					 __typeof__(*(pos)), member))

static inline void hlist_add_head_rcu(struct hlist_node *node,
				      struct hlist_head *head)
{
	node->next = head->first;
	node->pprev = &head->first;
	if (node->next)
		node->next->pprev = &node->next;
	rcu_assign_pointer(head->first, node);
}

static inline void hlist_del_rcu(struct hlist_node *node)
{
	WRITE_ONCE(*node->pprev, node->next);
	if (node->next)
		node->next->pprev = node->pprev;
}

#endif
