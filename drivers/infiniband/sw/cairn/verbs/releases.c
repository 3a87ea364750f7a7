// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The words that tell lie in a page of each context, in space 1: the device
 * writes, the process reads. Ticket n has word n modulo their number, which
 * becomes n when the memory is free; words are independent of each other.
 */
#include <linux/bitmap.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "queue/mmap.h"
#include "verbs/mr.h"
#include "verbs/releases.h"

#define UVERBS_MODULE_NAME cairn
#include <rdma/uverbs_named_ioctl.h>

struct cairn_releases {
	struct cairn_mmap *page;
	spinlock_t lock;	/* all below; process context */
	u32 next;		/* ticket */
	u32 pending;
	wait_queue_head_t idle;	/* pending is 0 */
	DECLARE_BITMAP(busy, CAIRN_RELEASE_SLOTS);
};

static struct workqueue_struct *free_wq;
static DEFINE_MUTEX(create_lock);	/* a context's first release */

static struct cairn_releases *create(struct cairn_ucontext *uc)
{
	struct cairn_releases *r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);

	if (!r)
		return NULL;
	r->page = cairn_mmap_create(&uc->ibuc,
				    CAIRN_RELEASE_SLOTS * sizeof(u32), false);
	if (!r->page) {
		kfree(r);
		return NULL;
	}
	/* A word of zero is no ticket's, also by distance. */
	r->next = CAIRN_RELEASE_SLOTS;
	spin_lock_init(&r->lock);
	init_waitqueue_head(&r->idle);
	return r;
}

static struct cairn_releases *get(struct cairn_ucontext *uc)
{
	mutex_lock(&create_lock);
	if (!uc->releases)
		uc->releases = create(uc);
	mutex_unlock(&create_lock);
	return uc->releases;
}

void cairn_releases_destroy(struct cairn_ucontext *uc)
{
	struct cairn_releases *r = uc->releases;

	if (!r)
		return;
	spin_lock_irq(&r->lock);
	wait_event_lock_irq(r->idle, !r->pending, r->lock);
	spin_unlock_irq(&r->lock);
	rdma_user_mmap_entry_remove(&r->page->entry);
	kfree(r);
}

/* The next ticket, unless its word's last one is still under way. */
static int take_ticket(struct cairn_releases *r, u32 *ticket)
{
	int err = -EAGAIN;

	spin_lock_irq(&r->lock);
	if (!__test_and_set_bit(r->next % CAIRN_RELEASE_SLOTS, r->busy)) {
		*ticket = r->next++;
		r->pending++;
		err = 0;
	}
	spin_unlock_irq(&r->lock);
	return err;
}

static void drop_ticket(struct cairn_releases *r, u32 ticket)
{
	spin_lock_irq(&r->lock);
	__clear_bit(ticket % CAIRN_RELEASE_SLOTS, r->busy);
	if (!--r->pending)
		wake_up_all(&r->idle);
	spin_unlock_irq(&r->lock);
}

static void free_work(struct work_struct *work)
{
	struct cairn_mr *mr = container_of(work, struct cairn_mr, free_work);
	struct cairn_releases *r = mr->releases;
	u32 ticket = mr->release_ticket;
	u32 *words = r->page->mem;

	cairn_mr_free(mr);
	/* Release: who sees it may reuse the memory. */
	smp_store_release(&words[ticket % CAIRN_RELEASE_SLOTS], ticket);
	drop_ticket(r, ticket);
}

/* The lock of the notes is held. */
static void turned(struct cairn_epoch_note *note)
{
	struct cairn_mr *mr = container_of(note, struct cairn_mr, note);

	queue_work(free_wq, &mr->free_work);
}

int cairn_releases_ask(struct cairn_mr *mr, struct ib_udata *udata)
{
	struct cairn_dereg_mr_resp resp = { .slots = CAIRN_RELEASE_SLOTS };
	struct uverbs_attr_bundle *attrs;
	struct cairn_releases *r;
	int err;

	if (!udata)
		return 0;
	attrs = rdma_udata_to_uverbs_attr_bundle(udata);
	if (!uverbs_attr_is_valid(attrs, CAIRN_ATTR_DEREG_MR_RESP))
		return 0;
	r = get(rdma_udata_to_drv_context(udata, struct cairn_ucontext, ibuc));
	if (!r)
		return -ENOMEM;
	err = take_ticket(r, &resp.ticket);
	if (err)
		return err;
	resp.offset = rdma_user_mmap_get_offset(&r->page->entry);
	err = uverbs_copy_to(attrs, CAIRN_ATTR_DEREG_MR_RESP, &resp,
			     sizeof(resp));
	if (err) {
		drop_ticket(r, resp.ticket);
		return err;
	}
	mr->releases = r;
	mr->release_ticket = resp.ticket;
	return 1;
}

void cairn_releases_begin(struct cairn_dev *dev, struct cairn_mr *mr)
{
	cairn_nic_count(&dev->nic, CAIRN_CTR_MR_RELEASES, 1);
	INIT_WORK(&mr->free_work, free_work);
	INIT_LIST_HEAD(&mr->note.node);
	mr->note.func = turned;
	cairn_epoch_notify(&dev->nic.epoch, &mr->note);
}

int cairn_releases_start(void)
{
	free_wq = alloc_workqueue("cairn_release", WQ_UNBOUND, 0);
	return free_wq ? 0 : -ENOMEM;
}

void cairn_releases_stop(void)
{
	destroy_workqueue(free_wq);
}

/* The work was done by the destruction of the object, cairn_dereg_mr(). */
static int
UVERBS_HANDLER(CAIRN_METHOD_DEREG_MR)(struct uverbs_attr_bundle *attrs)
{
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_DEREG_MR,
			    UVERBS_ATTR_IDR(CAIRN_ATTR_DEREG_MR_HANDLE,
					    UVERBS_OBJECT_MR,
					    UVERBS_ACCESS_DESTROY,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(CAIRN_ATTR_DEREG_MR_RESP,
						UVERBS_ATTR_TYPE(struct cairn_dereg_mr_resp),
						UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(CAIRN_OBJECT_DEVICE,
			      &UVERBS_METHOD(CAIRN_METHOD_DEREG_MR));

const struct uapi_definition cairn_releases_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(CAIRN_OBJECT_DEVICE),
	{},
};
