// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rings: memory, queue info, and copying out of them. */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include "queue/host_index.h"
#include "queue/mmap.h"
#include "queue/next_ring.h"
#include "queue/qinfo.h"
#include "queue/queue.h"

/* Queue info of a kernel queue: nobody else's page. */
struct private_info {
	struct cairn_qinfo_dev dev;
	struct cairn_qinfo_host host;
};

static int check_depth(u32 depth, u32 stride)
{
	if (!is_power_of_2(depth) || depth > CAIRN_QUEUE_MAX_UNITS)
		return -EINVAL;
	if (stride && (!is_power_of_2(stride) || stride > depth))
		return -EINVAL;
	return 0;
}

static void start(struct cairn_queue *q, u32 depth, u32 stride)
{
	q->depth = depth;
	q->stride = stride;
	q->index = 0;
	WRITE_ONCE(q->dev->depth, depth);
	cairn_queue_publish(q);
	cairn_queue_set_state(q, CAIRN_QUEUE_READY);
}

int cairn_ring_alloc(struct cairn_ring *r, struct cairn_ucontext *uc,
		     u32 depth, bool writable)
{
	struct cairn_mmap *m;

	r->entry = NULL;
	if (!uc) {
		r->mem = kvcalloc(depth, CAIRN_UNIT_SIZE, GFP_KERNEL);
		return r->mem ? 0 : -ENOMEM;
	}
	m = cairn_mmap_create(&uc->ibuc, (size_t)depth * CAIRN_UNIT_SIZE,
			      writable);
	if (!m)
		return -ENOMEM;
	r->mem = m->mem;
	r->entry = &m->entry;
	return 0;
}

void cairn_ring_free(struct cairn_ring *r)
{
	if (r->entry)
		rdma_user_mmap_entry_remove(r->entry);
	else
		kvfree(r->mem);
}

void cairn_queue_swap_ring(struct cairn_queue *q, struct cairn_ring *r,
			   u32 depth)
{
	struct cairn_ring old = { .mem = q->ring, .entry = q->entry };

	q->ring = r->mem;
	q->entry = r->entry;
	q->depth = depth;
	*r = old;
	WRITE_ONCE(q->dev->depth, depth);
	WRITE_ONCE(q->dev->generation, q->dev->generation + 1);
}

int cairn_queue_init_user(struct cairn_ucontext *uc, struct cairn_queue *q,
			  u32 depth, u32 stride, bool writable,
			  struct cairn_ring_desc *desc)
{
	struct cairn_qinfo_slot slot;
	struct cairn_ring ring;
	int err;

	err = check_depth(depth, stride);
	if (err)
		return err;
	err = cairn_qinfo_get(uc->qinfo, &slot);
	if (err)
		return err;
	err = cairn_host_index_init(q);
	if (err)
		goto err_qid;
	err = cairn_ring_alloc(&ring, uc, depth, writable);
	if (err)
		goto err_pointer;
	q->ring = ring.mem;
	q->entry = ring.entry;
	q->qid = slot.qid;
	q->dev = slot.dev;
	q->host = slot.host;
	start(q, depth, stride);
	cairn_queue_describe(q, desc);
	return 0;

err_pointer:
	cairn_host_index_free(q);
err_qid:
	cairn_qinfo_put(uc->qinfo, slot.qid);
	return err;
}

/* The owner of a user queue: outlives it. */
static struct cairn_ucontext *owner(const struct cairn_queue *q)
{
	return to_cairn_ucontext(q->entry->ucontext);
}

void cairn_queue_describe(const struct cairn_queue *q,
			  struct cairn_ring_desc *desc)
{
	struct cairn_qinfo_slot slot;

	cairn_qinfo_find(owner(q)->qinfo, q->qid, &slot);
	desc->ring_offset = rdma_user_mmap_get_offset(q->entry);
	desc->ring_bytes = q->entry->npages * PAGE_SIZE;
	desc->dev_offset = slot.dev_offset;
	desc->host_offset = slot.host_offset;
	desc->qid = q->qid;
	desc->depth = q->depth;
	desc->stride = q->stride;
}

int cairn_queue_init_kernel(struct cairn_queue *q, u32 depth, u32 stride)
{
	struct private_info *info;
	struct cairn_ring ring;
	int err;

	err = check_depth(depth, stride);
	if (err)
		return err;
	info = kzalloc(sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	err = cairn_host_index_init(q);
	if (err)
		goto err_info;
	err = cairn_ring_alloc(&ring, NULL, depth, false);
	if (err)
		goto err_pointer;
	q->ring = ring.mem;
	q->dev = &info->dev;
	q->host = &info->host;
	start(q, depth, stride);
	return 0;

err_pointer:
	cairn_host_index_free(q);
err_info:
	kfree(info);
	return err;
}

void cairn_queue_free(struct cairn_queue *q)
{
	struct cairn_ring ring = { .mem = q->ring, .entry = q->entry };

	if (!ring.mem)
		return;
	cairn_host_index_free(q);
	if (ring.entry)
		cairn_qinfo_put(owner(q)->qinfo, q->qid);
	else
		kfree(container_of(q->dev, struct private_info, dev));
	cairn_next_ring_free(cairn_next_ring_take(q));
	cairn_ring_free(&ring);
	q->ring = NULL;
}

void cairn_queue_copy(const struct cairn_queue *q, u32 idx, u32 units, void *to)
{
	u32 first = min(units, q->depth - (idx & (q->depth - 1)));

	memcpy(to, cairn_queue_unit(q, idx), first * CAIRN_UNIT_SIZE);
	memcpy((u8 *)to + first * CAIRN_UNIT_SIZE, q->ring,
	       (units - first) * CAIRN_UNIT_SIZE);
}
