/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queue info of one user context: the arrays of space 1 and space 3, indexed by
 * queue id (rdma/cairn-abi.h).
 */
#ifndef CAIRN_QUEUE_QINFO_H
#define CAIRN_QUEUE_QINFO_H

#include <linux/bits.h>
#include <rdma/cairn-abi.h>
#include <rdma/ib_verbs.h>

struct cairn_qinfo_table;

/* Queues of one context. */
#define CAIRN_QINFO_MAX		BIT(22)

/* The place of one queue's info. */
struct cairn_qinfo_slot {
	u32 qid;
	struct cairn_qinfo_dev *dev;
	struct cairn_qinfo_host *host;
	u64 dev_offset;		/* for mmap(2): the page that holds *dev */
	u64 host_offset;
};

/* An empty table, or NULL without memory. Process context. */
struct cairn_qinfo_table *cairn_qinfo_create(struct ib_ucontext *ibuc);

/* Free the table. No queue is left, and @ibuc still has its mmap entries. */
void cairn_qinfo_destroy(struct cairn_qinfo_table *table);

/**
 * cairn_qinfo_get() - take a queue id
 * @table: the table, grown by a chunk when needed
 * @slot: filled in; both entries are zeroed
 *
 * Context: process.
 * Return: 0, -ENOSPC (CAIRN_QINFO_MAX) or -ENOMEM.
 */
int cairn_qinfo_get(struct cairn_qinfo_table *table,
		    struct cairn_qinfo_slot *slot);

/* Fill in @slot of a queue id that is in use. Process context. */
void cairn_qinfo_find(struct cairn_qinfo_table *table, u32 qid,
		      struct cairn_qinfo_slot *slot);

/* Give a queue id back. The state in its space 1 becomes INVALID. */
void cairn_qinfo_put(struct cairn_qinfo_table *table, u32 qid);

#endif
