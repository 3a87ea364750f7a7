// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue info comes in chunks of CAIRN_QINFO_PER_CHUNK queues: memory of each
 * mapped space. A chunk is allocated with the first queue id in it and stays
 * until the context goes away, so that a process may keep it mapped.
 */
#include <linux/idr.h>
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

struct chunk {
	struct cairn_mmap *dev;
	struct cairn_mmap *host;
};

struct cairn_qinfo_table *cairn_qinfo_create(struct ib_ucontext *ibuc)
{
	struct cairn_qinfo_table *t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);

	if (!t)
		return NULL;
	t->ibuc = ibuc;
	mutex_init(&t->lock);
	ida_init(&t->ids);
	xa_init(&t->chunks);
	return t;
}

static void chunk_free(struct chunk *c)
{
	rdma_user_mmap_entry_remove(&c->host->entry);
	rdma_user_mmap_entry_remove(&c->dev->entry);
	kfree(c);
}

void cairn_qinfo_destroy(struct cairn_qinfo_table *t)
{
	unsigned long i;
	struct chunk *c;

	xa_for_each(&t->chunks, i, c)
		chunk_free(c);
	xa_destroy(&t->chunks);
	ida_destroy(&t->ids);
	mutex_destroy(&t->lock);
	kfree(t);
}

static struct chunk *chunk_alloc(struct ib_ucontext *ibuc)
{
	struct chunk *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	c->dev = cairn_mmap_create(ibuc, CAIRN_QINFO_PER_CHUNK *
				   sizeof(struct cairn_qinfo_dev), false);
	if (!c->dev)
		goto err_free;
	c->host = cairn_mmap_create(ibuc, CAIRN_QINFO_PER_CHUNK *
				    sizeof(struct cairn_qinfo_host), true);
	if (!c->host)
		goto err_dev;
	return c;

err_dev:
	rdma_user_mmap_entry_remove(&c->dev->entry);
err_free:
	kfree(c);
	return NULL;
}

/* The chunk of @qid, a new one if need be. t->lock held. */
static struct chunk *chunk_get(struct cairn_qinfo_table *t, u32 qid)
{
	u32 i = qid / CAIRN_QINFO_PER_CHUNK;
	struct chunk *c = xa_load(&t->chunks, i);

	if (c)
		return c;
	c = chunk_alloc(t->ibuc);
	if (c && xa_err(xa_store(&t->chunks, i, c, GFP_KERNEL_ACCOUNT))) {
		chunk_free(c);
		return NULL;
	}
	return c;
}

static void slot_fill(struct cairn_qinfo_slot *slot, const struct chunk *c,
		      u32 qid)
{
	u32 i = qid % CAIRN_QINFO_PER_CHUNK;

	slot->qid = qid;
	slot->dev = (struct cairn_qinfo_dev *)c->dev->mem + i;
	slot->host = (struct cairn_qinfo_host *)c->host->mem + i;
	slot->dev_offset = rdma_user_mmap_get_offset(&c->dev->entry);
	slot->host_offset = rdma_user_mmap_get_offset(&c->host->entry);
}

int cairn_qinfo_get(struct cairn_qinfo_table *t, struct cairn_qinfo_slot *slot)
{
	struct chunk *c;
	int qid;

	mutex_lock(&t->lock);
	qid = ida_alloc_max(&t->ids, CAIRN_QINFO_MAX - 1, GFP_KERNEL_ACCOUNT);
	if (qid < 0)
		goto out;
	c = chunk_get(t, qid);
	if (!c) {
		ida_free(&t->ids, qid);
		qid = -ENOMEM;
		goto out;
	}
	slot_fill(slot, c, qid);
	memset(slot->dev, 0, sizeof(*slot->dev));
	memset(slot->host, 0, sizeof(*slot->host));
out:
	mutex_unlock(&t->lock);
	return min(qid, 0);
}

void cairn_qinfo_find(struct cairn_qinfo_table *t, u32 qid,
		      struct cairn_qinfo_slot *slot)
{
	slot_fill(slot, xa_load(&t->chunks, qid / CAIRN_QINFO_PER_CHUNK), qid);
}

void cairn_qinfo_put(struct cairn_qinfo_table *t, u32 qid)
{
	struct cairn_qinfo_slot slot;

	cairn_qinfo_find(t, qid, &slot);
	WRITE_ONCE(slot.dev->state, CAIRN_QUEUE_INVALID);
	ida_free(&t->ids, qid);
}
