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

/* Queue info of a kernel queue: not shared with a process. */
struct queue_private_info {
	struct cairn_qinfo_dev dev;
	struct cairn_qinfo_host host;
};

static int queue_check_depth(u32 depth, u32 stride)
{
	if (!is_power_of_2(depth) || depth > CAIRN_QUEUE_MAX_UNITS)
		return -EINVAL;
	if (stride && (!is_power_of_2(stride) || stride > depth))
		return -EINVAL;
	return 0;
}

static void queue_start(struct cairn_queue *queue, u32 depth, u32 stride)
{
	queue->depth = depth;
	queue->stride = stride;
	queue->index = 0;
	WRITE_ONCE(queue->dev->depth, depth);
	cairn_queue_publish(queue);
	cairn_queue_set_state(queue, CAIRN_QUEUE_READY);
}

int cairn_ring_alloc(struct cairn_ring *ring, struct cairn_ucontext *uc,
		     u32 depth, bool writable)
{
	struct cairn_mmap *map;

	ring->entry = NULL;
	if (!uc) {
		ring->mem = kvcalloc(depth, CAIRN_UNIT_SIZE,
				     GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
		return ring->mem ? 0 : -ENOMEM;
	}
	map = cairn_mmap_create(&uc->ibuc, (size_t)depth * CAIRN_UNIT_SIZE,
				writable);
	if (!map)
		return -ENOMEM;
	ring->mem = map->mem;
	ring->entry = &map->entry;
	return 0;
}

void cairn_ring_free(struct cairn_ring *ring)
{
	if (ring->entry)
		rdma_user_mmap_entry_remove(ring->entry);
	else
		kvfree(ring->mem);
}

void cairn_queue_swap_ring(struct cairn_queue *queue, struct cairn_ring *ring,
			   u32 depth)
{
	struct cairn_ring old = { .mem = queue->ring, .entry = queue->entry };

	queue->ring = ring->mem;
	queue->entry = ring->entry;
	queue->depth = depth;
	*ring = old;
	WRITE_ONCE(queue->dev->depth, depth);
	WRITE_ONCE(queue->dev->generation, queue->dev->generation + 1);
}

int cairn_queue_init_user(struct cairn_ucontext *uc, struct cairn_queue *queue,
			  u32 depth, u32 stride, bool writable)
{
	struct cairn_qinfo_slot slot;
	struct cairn_ring ring;
	int err;

	err = queue_check_depth(depth, stride);
	if (err)
		return err;
	err = cairn_qinfo_get(uc->qinfo, &slot);
	if (err)
		return err;
	err = cairn_host_index_init(queue);
	if (err)
		goto err_qid;
	err = cairn_ring_alloc(&ring, uc, depth, writable);
	if (err)
		goto err_pointer;
	queue->ring = ring.mem;
	queue->entry = ring.entry;
	queue->qid = slot.qid;
	queue->dev = slot.dev;
	queue->host = slot.host;
	queue_start(queue, depth, stride);
	return 0;

err_pointer:
	cairn_host_index_free(queue);
err_qid:
	cairn_qinfo_put(uc->qinfo, slot.qid);
	return err;
}

/* The owner of a user queue; it outlives the queue. */
static struct cairn_ucontext *queue_owner(const struct cairn_queue *queue)
{
	return to_cairn_ucontext(queue->entry->ucontext);
}

void cairn_queue_describe(const struct cairn_queue *queue,
			  struct cairn_ring_desc *desc)
{
	struct cairn_qinfo_slot slot;

	cairn_qinfo_find(queue_owner(queue)->qinfo, queue->qid, &slot);
	desc->ring_offset = rdma_user_mmap_get_offset(queue->entry);
	desc->ring_bytes = queue->entry->npages * PAGE_SIZE;
	desc->dev_offset = slot.dev_offset;
	desc->host_offset = slot.host_offset;
	desc->qid = queue->qid;
	desc->depth = queue->depth;
	desc->stride = queue->stride;
}

int cairn_queue_init_kernel(struct cairn_queue *queue, u32 depth, u32 stride)
{
	struct queue_private_info *info;
	struct cairn_ring ring;
	int err;

	err = queue_check_depth(depth, stride);
	if (err)
		return err;
	/* Charged: an XRC target of a process has a kernel queue, too. */
	info = kzalloc(sizeof(*info), GFP_KERNEL_ACCOUNT);
	if (!info)
		return -ENOMEM;
	err = cairn_host_index_init(queue);
	if (err)
		goto err_info;
	err = cairn_ring_alloc(&ring, NULL, depth, false);
	if (err)
		goto err_pointer;
	queue->ring = ring.mem;
	queue->dev = &info->dev;
	queue->host = &info->host;
	queue_start(queue, depth, stride);
	return 0;

err_pointer:
	cairn_host_index_free(queue);
err_info:
	kfree(info);
	return err;
}

void cairn_queue_free(struct cairn_queue *queue)
{
	struct cairn_ring ring = { .mem = queue->ring, .entry = queue->entry };

	if (!ring.mem)
		return;
	cairn_host_index_free(queue);
	if (ring.entry)
		cairn_qinfo_put(queue_owner(queue)->qinfo, queue->qid);
	else
		kfree(container_of(queue->dev, struct queue_private_info, dev));
	cairn_next_ring_free(cairn_next_ring_take(queue));
	cairn_ring_free(&ring);
	queue->ring = NULL;
}

void cairn_queue_copy(const struct cairn_queue *queue, u32 idx, u32 units,
		      void *to)
{
	u32 first = min(units, queue->depth - (idx & (queue->depth - 1)));

	memcpy(to, cairn_queue_unit(queue, idx), first * CAIRN_UNIT_SIZE);
	memcpy((u8 *)to + first * CAIRN_UNIT_SIZE, queue->ring,
	       (units - first) * CAIRN_UNIT_SIZE);
}
