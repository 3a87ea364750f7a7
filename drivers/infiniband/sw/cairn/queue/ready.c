// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A ready page is allocated with its first queue and lives as long as the context, so
 * that a process may keep it mapped.
 */
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "lane/lane.h"
#include "lane/lazy.h"
#include "queue/mmap.h"
#include "queue/ready.h"

struct cairn_ready {
	struct ib_ucontext *ibuc;
	struct cairn_nic *nic;
	struct mutex lock;		/* everything below */
	struct cairn_mmap *wake;	/* struct cairn_wake[CAIRN_MAX_LANES] */
	struct cairn_watch *watch[CAIRN_MAX_LANES];	/* also read without lock */
	struct xarray pages;		/* ready_page_key() -> struct cairn_mmap */
};

/* Argument of ready_new_page(). */
struct ready_want {
	struct cairn_ready *r;
	unsigned int lane;
};

static unsigned long ready_page_key(unsigned int lane, u32 n)
{
	return (unsigned long)n * CAIRN_MAX_LANES + lane;
}

struct cairn_ready *cairn_ready_create(struct ib_ucontext *ibuc,
				       struct cairn_nic *nic)
{
	struct cairn_ready *ready = kzalloc(sizeof(*ready), GFP_KERNEL_ACCOUNT);

	if (!ready)
		return NULL;
	ready->ibuc = ibuc;
	ready->nic = nic;
	ready->wake = cairn_mmap_create(ibuc, sizeof(struct cairn_wake) *
					CAIRN_MAX_LANES, false);
	if (!ready->wake) {
		kfree(ready);
		return NULL;
	}
	mutex_init(&ready->lock);
	xa_init_flags(&ready->pages, XA_FLAGS_ACCOUNT);
	return ready;
}

void cairn_ready_destroy(struct cairn_ready *ready)
{
	struct cairn_mmap *map;
	unsigned long key;
	unsigned int i;

	for (i = 0; i < CAIRN_MAX_LANES; i++)
		if (ready->watch[i])
			cairn_watch_destroy(ready->watch[i]);
	xa_for_each(&ready->pages, key, map)
		rdma_user_mmap_entry_remove(&map->entry);
	xa_destroy(&ready->pages);
	rdma_user_mmap_entry_remove(&ready->wake->entry);
	mutex_destroy(&ready->lock);
	kfree(ready);
}

/* Callback of cairn_watch_join(). */
static struct cairn_ready_page *ready_new_page(void *arg, u32 n)
{
	struct ready_want *want = arg;
	struct cairn_ready *ready = want->r;
	struct cairn_mmap *map;

	lockdep_assert_held(&ready->lock);
	map = cairn_mmap_create(ready->ibuc, sizeof(struct cairn_ready_page),
				true);
	if (!map)
		return NULL;
	if (xa_err(xa_store(&ready->pages, ready_page_key(want->lane, n),
			    map, GFP_KERNEL_ACCOUNT))) {
		rdma_user_mmap_entry_remove(&map->entry);
		return NULL;
	}
	return map->mem;
}

static int ready_join(struct cairn_ready *ready, unsigned int lane,
		      struct cairn_exec *exec)
{
	struct ready_want want = { .r = ready, .lane = lane };
	struct cairn_watch *watch = ready->watch[lane];
	struct cairn_wake *wake = ready->wake->mem;

	if (!watch) {
		watch = cairn_watch_create(cairn_lane(lane), ready->nic,
					   &wake[lane].asleep);
		if (!watch)
			return -ENOMEM;
		/* pairs with cairn_ready_ring_all() */
		smp_store_release(&ready->watch[lane], watch);
	}
	return cairn_watch_join(watch, exec, ready_new_page, &want);
}

static void ready_describe(struct cairn_ready *ready, unsigned int lane, u32 id,
			   struct cairn_ring_desc *desc)
{
	unsigned long key = ready_page_key(lane, id / CAIRN_READY_QUEUES);
	struct cairn_mmap *map = xa_load(&ready->pages, key);

	desc->ready_offset = rdma_user_mmap_get_offset(&map->entry);
	desc->ready_bit = id % CAIRN_READY_QUEUES;
	desc->wake_offset = rdma_user_mmap_get_offset(&ready->wake->entry);
	desc->wake_index = lane;
}

int cairn_ready_join(struct cairn_ready *ready, struct cairn_exec *exec,
		     struct cairn_ring_desc *desc)
{
	unsigned int lane = cairn_lane_pick(), tries = cairn_lanes();
	int err;

	mutex_lock(&ready->lock);
	/* When a lane is full, or the user's share of it, try the others. */
	err = ready_join(ready, lane, exec);
	while ((err == -ENOSPC || err == -EDQUOT) && --tries) {
		lane = (lane + 1) % cairn_lanes();
		err = ready_join(ready, lane, exec);
	}
	if (!err)
		ready_describe(ready, lane, exec->id, desc);
	mutex_unlock(&ready->lock);
	return err;
}

void cairn_ready_ring_all(struct cairn_ready *ready)
{
	unsigned int i;

	cairn_nic_count(ready->nic, CAIRN_CTR_DOORBELLS, 1);
	for (i = 0; i < cairn_lanes(); i++) {
		/* pairs with ready_join() */
		struct cairn_watch *watch = smp_load_acquire(&ready->watch[i]);

		if (watch)
			cairn_lazy_serve(watch);
	}
}
