/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_LIST_H
#define CAIRN_SHIM_LINUX_LIST_H

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/types.h>

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#define LIST_HEAD(name)		struct list_head name = { &(name), &(name) }

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline void cairn_shim_list_insert(struct list_head *entry,
					  struct list_head *prev,
					  struct list_head *next)
{
	entry->next = next;
	entry->prev = prev;
	next->prev = entry;
	WRITE_ONCE(prev->next, entry);
}

static inline void list_add_tail(struct list_head *entry,
				 struct list_head *head)
{
	cairn_shim_list_insert(entry, head->prev, head);
}

static inline void list_del_init(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	WRITE_ONCE(entry->prev->next, entry->next);
	WRITE_ONCE(entry->next, entry);
	WRITE_ONCE(entry->prev, entry);
}

static inline void list_move_tail(struct list_head *entry,
				  struct list_head *head)
{
	list_del_init(entry);
	list_add_tail(entry, head);
}

static inline bool list_empty(const struct list_head *head)
{
	return READ_ONCE(head->next) == head;
}

static inline void list_splice_tail(struct list_head *list, struct list_head *head)
{
	if (list_empty(list))
		return;
	list->next->prev = head->prev;
	head->prev->next = list->next;
	list->prev->next = head;
	head->prev = list->prev;
}

/* May be called without the lock that protects changes. */
static inline bool list_empty_careful(const struct list_head *head)
{
	const struct list_head *next = READ_ONCE(head->next);

	return next == head && next == READ_ONCE(head->prev);
}

#define list_entry(p, type, member)	container_of(p, type, member)
#define list_first_entry(head, type, member)				\
	list_entry((head)->next, type, member)
#define list_first_entry_or_null(head, type, member)			\
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_next_entry(pos, member)					\
	list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_entry_is_head(pos, head, member)	(&(pos)->member == (head))

#define list_for_each_entry(pos, head, member)				\
	for ((pos) = list_first_entry(head, __typeof__(*(pos)), member); \
	     !list_entry_is_head(pos, head, member);			\
	     (pos) = list_next_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member)			\
	for ((pos) = list_first_entry(head, __typeof__(*(pos)), member), \
	     (n) = list_next_entry(pos, member);			\
	     !list_entry_is_head(pos, head, member);			\
	     (pos) = (n), (n) = list_next_entry(n, member))
/* Behind @pos; NULL there: from the first on. */
#define list_prepare_entry(pos, head, member)				\
	((pos) ? (pos) : list_entry(head, __typeof__(*(pos)), member))
#define list_for_each_entry_continue(pos, head, member)			\
	for ((pos) = list_next_entry(pos, member);			\
	     !list_entry_is_head(pos, head, member);			\
	     (pos) = list_next_entry(pos, member))

#endif
