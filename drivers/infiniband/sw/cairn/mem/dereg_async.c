// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each context has a page of words in space 1: the device writes them, the
 * process reads them. Ticket n belongs to word n modulo the number of words.
 * The word becomes n when the memory is free. Words are independent of each
 * other.
 */
#include <linux/bitmap.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "mem/dereg_async.h"
#include "mem/mr.h"
#include "mem/odp.h"
#include "queue/mmap.h"

#define UVERBS_MODULE_NAME cairn
#include <rdma/uverbs_named_ioctl.h>

struct cairn_dereg_async {
	struct cairn_mmap *page;
	spinlock_t lock;	/* protects all below; process context */
	u32 next;		/* next ticket to give out */
	u32 pending;
	wait_queue_head_t idle;	/* woken when pending becomes 0 */
	DECLARE_BITMAP(busy, CAIRN_RELEASE_SLOTS);
};

static struct workqueue_struct *dereg_wq;

static struct cairn_dereg_async *dereg_create(struct cairn_ucontext *uctx)
{
	struct cairn_dereg_async *table =
		kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);

	if (!table)
		return NULL;
	table->page = cairn_mmap_create(&uctx->ibuc,
					CAIRN_RELEASE_SLOTS * sizeof(u32),
					false);
	if (!table->page) {
		kfree(table);
		return NULL;
	}
	/* Do not begin at ticket 0: a word that is still zero would equal it.
	 */
	table->next = CAIRN_RELEASE_SLOTS;
	spin_lock_init(&table->lock);
	init_waitqueue_head(&table->idle);
	return table;
}

static void dereg_free(struct cairn_dereg_async *table)
{
	rdma_user_mmap_entry_remove(&table->page->entry);
	kfree(table);
}

/* No lock: an allocation in a full memcg may take long, and must not delay others. */
static struct cairn_dereg_async *dereg_get(struct cairn_ucontext *uctx)
{
	struct cairn_dereg_async *fresh, *table = READ_ONCE(uctx->dereg);

	if (table)
		return table;
	fresh = dereg_create(uctx);
	if (!fresh)
		return NULL;
	/* A full barrier: other calls see the fields of the table that they find. */
	table = cmpxchg(&uctx->dereg, NULL, fresh);
	if (!table)
		return fresh;
	dereg_free(fresh);
	return table;
}

void cairn_dereg_async_destroy(struct cairn_ucontext *uctx)
{
	struct cairn_dereg_async *table = uctx->dereg;

	if (!table)
		return;
	spin_lock_irq(&table->lock);
	wait_event_lock_irq(table->idle, !table->pending, table->lock);
	spin_unlock_irq(&table->lock);
	dereg_free(table);
}

/* Take the next ticket. -EAGAIN: the last ticket of its word is pending. */
static int dereg_take_ticket(struct cairn_dereg_async *table, u32 *ticket)
{
	int err = -EAGAIN;

	spin_lock_irq(&table->lock);
	if (!__test_and_set_bit(table->next % CAIRN_RELEASE_SLOTS,
				table->busy)) {
		*ticket = table->next++;
		table->pending++;
		err = 0;
	}
	spin_unlock_irq(&table->lock);
	return err;
}

static void dereg_drop_ticket(struct cairn_dereg_async *table, u32 ticket)
{
	spin_lock_irq(&table->lock);
	__clear_bit(ticket % CAIRN_RELEASE_SLOTS, table->busy);
	if (!--table->pending)
		wake_up_all(&table->idle);
	spin_unlock_irq(&table->lock);
}

static void dereg_free_work(struct work_struct *work)
{
	struct cairn_mr *mr = container_of(work, struct cairn_mr, free_work);
	struct cairn_dereg_async *table = mr->dereg;
	u32 ticket = mr->dereg_ticket;
	u32 *words = table->page->mem;

	cairn_mr_free(mr);
	/* Free the memory before the store: a process that reads the ticket may
	 * reuse the memory.
	 */
	smp_store_release(&words[ticket % CAIRN_RELEASE_SLOTS], ticket);
	dereg_drop_ticket(table, ticket);
}

/* Called with the lock of the notes held. */
static void dereg_epoch_advanced(struct cairn_epoch_note *note)
{
	struct cairn_mr *mr = container_of(note, struct cairn_mr, note);

	queue_work(dereg_wq, &mr->free_work);
}

int cairn_dereg_async_ask(struct cairn_mr *mr, struct ib_udata *udata)
{
	struct cairn_dereg_mr_resp resp = { .slots = CAIRN_RELEASE_SLOTS };
	struct uverbs_attr_bundle *attrs;
	struct cairn_dereg_async *table;
	int err;

	if (!udata)
		return 0;
	attrs = rdma_udata_to_uverbs_attr_bundle(udata);
	if (!uverbs_attr_is_valid(attrs, CAIRN_ATTR_DEREG_MR_RESP))
		return 0;
	table = dereg_get(rdma_udata_to_drv_context(udata,
						    struct cairn_ucontext,
						    ibuc));
	if (!table)
		return -ENOMEM;
	err = dereg_take_ticket(table, &resp.ticket);
	if (err)
		return err;
	resp.offset = rdma_user_mmap_get_offset(&table->page->entry);
	err = uverbs_copy_to(attrs, CAIRN_ATTR_DEREG_MR_RESP, &resp,
			     sizeof(resp));
	if (err) {
		dereg_drop_ticket(table, resp.ticket);
		return err;
	}
	mr->dereg = table;
	mr->dereg_ticket = resp.ticket;
	return 1;
}

void cairn_dereg_async_begin(struct cairn_dev *dev, struct cairn_mr *mr)
{
	cairn_nic_count(&dev->nic, CAIRN_CTR_MR_RELEASES, 1);
	INIT_WORK(&mr->free_work, dereg_free_work);
	INIT_LIST_HEAD(&mr->note.node);
	mr->note.func = dereg_epoch_advanced;
	if (mr->on_demand)
		cairn_odp_stop(mr->odp);
	cairn_epoch_notify(&dev->nic.epoch, &mr->note);
}

int cairn_dereg_async_start(void)
{
	dereg_wq = alloc_workqueue("cairn_release", WQ_UNBOUND, 0);
	return dereg_wq ? 0 : -ENOMEM;
}

void cairn_dereg_async_stop(void)
{
	destroy_workqueue(dereg_wq);
}

/* Nothing is left to do: ib_uverbs destroyed the object, by mr_dereg(). */
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

const struct uapi_definition cairn_dereg_async_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(CAIRN_OBJECT_DEVICE),
	{},
};
