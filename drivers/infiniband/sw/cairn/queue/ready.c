// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ready pages are allocated with the first queue in them and stay until the
 * context goes away, so that a process may keep them mapped.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "lane/watch.h"
#include "queue/mmap.h"
#include "queue/ready.h"

struct cairn_ready {
	struct ib_ucontext *ibuc;
	struct cairn_nic *nic;
	struct mutex lock;		/* everything below */
	struct cairn_mmap *wake;	/* struct cairn_wake[CAIRN_MAX_LANES] */
	struct cairn_watch *watch[CAIRN_MAX_LANES];
	struct xarray pages;		/* page_key() -> struct cairn_mmap */
};

/* A page that is about to be needed. */
struct want {
	struct cairn_ready *r;
	unsigned int lane;
};

static unsigned long page_key(unsigned int lane, u32 n)
{
	return (unsigned long)n * CAIRN_MAX_LANES + lane;
}

struct cairn_ready *cairn_ready_create(struct ib_ucontext *ibuc,
				       struct cairn_nic *nic)
{
	struct cairn_ready *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	r->ibuc = ibuc;
	r->nic = nic;
	r->wake = cairn_mmap_create(ibuc, sizeof(struct cairn_wake) *
				    CAIRN_MAX_LANES, false);
	if (!r->wake) {
		kfree(r);
		return NULL;
	}
	mutex_init(&r->lock);
	xa_init(&r->pages);
	return r;
}

void cairn_ready_destroy(struct cairn_ready *r)
{
	struct cairn_mmap *m;
	unsigned long key;
	unsigned int i;

	for (i = 0; i < CAIRN_MAX_LANES; i++)
		if (r->watch[i])
			cairn_watch_destroy(r->watch[i]);
	xa_for_each(&r->pages, key, m)
		rdma_user_mmap_entry_remove(&m->entry);
	xa_destroy(&r->pages);
	rdma_user_mmap_entry_remove(&r->wake->entry);
	mutex_destroy(&r->lock);
	kfree(r);
}

/* Called by cairn_watch_join(); r->lock held. */
static struct cairn_ready_page *new_page(void *arg, u32 n)
{
	struct want *want = arg;
	struct cairn_ready *r = want->r;
	struct cairn_mmap *m;

	m = cairn_mmap_create(r->ibuc, sizeof(struct cairn_ready_page), true);
	if (!m)
		return NULL;
	if (xa_err(xa_store(&r->pages, page_key(want->lane, n), m,
			    GFP_KERNEL_ACCOUNT))) {
		rdma_user_mmap_entry_remove(&m->entry);
		return NULL;
	}
	return m->mem;
}

static int join(struct cairn_ready *r, unsigned int lane, struct cairn_exec *x)
{
	struct want want = { .r = r, .lane = lane };
	struct cairn_wake *wake = r->wake->mem;

	if (!r->watch[lane])
		r->watch[lane] = cairn_watch_create(cairn_lane(lane), r->nic,
						    &wake[lane].asleep);
	if (!r->watch[lane])
		return -ENOMEM;
	return cairn_watch_join(r->watch[lane], x, new_page, &want);
}

static void describe(struct cairn_ready *r, unsigned int lane, u32 id,
		     struct cairn_ring_desc *desc)
{
	struct cairn_mmap *m = xa_load(&r->pages, page_key(lane, id /
							   CAIRN_READY_QUEUES));

	desc->ready_offset = rdma_user_mmap_get_offset(&m->entry);
	desc->ready_bit = id % CAIRN_READY_QUEUES;
	desc->wake_offset = rdma_user_mmap_get_offset(&r->wake->entry);
	desc->wake_index = lane;
}

int cairn_ready_join(struct cairn_ready *r, struct cairn_exec *x,
		     struct cairn_ring_desc *desc)
{
	unsigned int lane = cairn_lane_pick();
	int err;

	mutex_lock(&r->lock);
	err = join(r, lane, x);
	if (!err)
		describe(r, lane, x->id, desc);
	mutex_unlock(&r->lock);
	return err;
}
