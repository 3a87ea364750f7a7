// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue info is allocated in chunks of CAIRN_QINFO_PER_CHUNK queues, each with
 * memory for both mapped spaces. A chunk is allocated with its first queue id and
 * lives as long as the context, so that a process may keep it mapped.
 */
#include <linux/idr.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "queue/mmap.h"
#include "queue/qinfo.h"

struct cairn_qinfo_table {
	struct ib_ucontext *ibuc;
	struct mutex lock;	/* ids, chunks */
	struct ida ids;
	struct xarray chunks;	/* qid / CAIRN_QINFO_PER_CHUNK -> chunk */
};

struct qinfo_chunk {
	struct cairn_mmap *dev;
	struct cairn_mmap *host;
};

struct cairn_qinfo_table *cairn_qinfo_create(struct ib_ucontext *ibuc)
{
	struct cairn_qinfo_table *table =
		kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);

	if (!table)
		return NULL;
	table->ibuc = ibuc;
	mutex_init(&table->lock);
	ida_init(&table->ids);
	xa_init_flags(&table->chunks, XA_FLAGS_ACCOUNT);
	return table;
}

static void qinfo_free_chunk(struct qinfo_chunk *chunk)
{
	rdma_user_mmap_entry_remove(&chunk->host->entry);
	rdma_user_mmap_entry_remove(&chunk->dev->entry);
	kfree(chunk);
}

void cairn_qinfo_destroy(struct cairn_qinfo_table *table)
{
	unsigned long i;
	struct qinfo_chunk *chunk;

	xa_for_each(&table->chunks, i, chunk)
		qinfo_free_chunk(chunk);
	xa_destroy(&table->chunks);
	ida_destroy(&table->ids);
	mutex_destroy(&table->lock);
	kfree(table);
}

static struct qinfo_chunk *qinfo_alloc_chunk(struct ib_ucontext *ibuc)
{
	struct qinfo_chunk *chunk = kzalloc(sizeof(*chunk), GFP_KERNEL_ACCOUNT);

	if (!chunk)
		return NULL;
	chunk->dev = cairn_mmap_create(ibuc, CAIRN_QINFO_PER_CHUNK *
				       sizeof(struct cairn_qinfo_dev), false);
	if (!chunk->dev)
		goto err_free;
	chunk->host = cairn_mmap_create(ibuc, CAIRN_QINFO_PER_CHUNK *
					sizeof(struct cairn_qinfo_host), true);
	if (!chunk->host)
		goto err_dev;
	return chunk;

err_dev:
	rdma_user_mmap_entry_remove(&chunk->dev->entry);
err_free:
	kfree(chunk);
	return NULL;
}

/* The chunk of @qid, allocated if needed. */
static struct qinfo_chunk *qinfo_get_chunk(struct cairn_qinfo_table *table,
					   u32 qid)
{
	u32 i = qid / CAIRN_QINFO_PER_CHUNK;
	struct qinfo_chunk *chunk = xa_load(&table->chunks, i);

	lockdep_assert_held(&table->lock);
	if (chunk)
		return chunk;
	chunk = qinfo_alloc_chunk(table->ibuc);
	if (chunk &&
	    xa_err(xa_store(&table->chunks, i, chunk, GFP_KERNEL_ACCOUNT))) {
		qinfo_free_chunk(chunk);
		return NULL;
	}
	return chunk;
}

static void qinfo_fill_slot(struct cairn_qinfo_slot *slot,
			    const struct qinfo_chunk *chunk, u32 qid)
{
	u32 i = qid % CAIRN_QINFO_PER_CHUNK;

	slot->qid = qid;
	slot->dev = (struct cairn_qinfo_dev *)chunk->dev->mem + i;
	slot->host = (struct cairn_qinfo_host *)chunk->host->mem + i;
	slot->dev_offset = rdma_user_mmap_get_offset(&chunk->dev->entry);
	slot->host_offset = rdma_user_mmap_get_offset(&chunk->host->entry);
}

int cairn_qinfo_get(struct cairn_qinfo_table *table,
		    struct cairn_qinfo_slot *slot)
{
	struct qinfo_chunk *chunk;
	int qid;

	mutex_lock(&table->lock);
	qid = ida_alloc_max(&table->ids, CAIRN_QINFO_MAX - 1,
			    GFP_KERNEL_ACCOUNT);
	if (qid < 0)
		goto out;
	chunk = qinfo_get_chunk(table, qid);
	if (!chunk) {
		ida_free(&table->ids, qid);
		qid = -ENOMEM;
		goto out;
	}
	qinfo_fill_slot(slot, chunk, qid);
	memset(slot->dev, 0, sizeof(*slot->dev));
	memset(slot->host, 0, sizeof(*slot->host));
out:
	mutex_unlock(&table->lock);
	return min(qid, 0);
}

void cairn_qinfo_find(struct cairn_qinfo_table *table, u32 qid,
		      struct cairn_qinfo_slot *slot)
{
	qinfo_fill_slot(slot,
			xa_load(&table->chunks, qid / CAIRN_QINFO_PER_CHUNK),
			qid);
}

void cairn_qinfo_put(struct cairn_qinfo_table *table, u32 qid)
{
	struct cairn_qinfo_slot slot;

	cairn_qinfo_find(table, qid, &slot);
	WRITE_ONCE(slot.dev->state, CAIRN_QUEUE_INVALID);
	ida_free(&table->ids, qid);
}
