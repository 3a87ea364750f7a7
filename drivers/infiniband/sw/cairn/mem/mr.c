// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions: registration and deregistration. mem/access.c checks what a
 * key allows.
 *
 * Index 0 of keys is never used: key 0 is the local DMA key of kernel
 * consumers.
 *
 * Life cycle: an MR is complete before it enters the table (mem/key.h).
 * Deregistration removes it. When the epoch has advanced, every run that may
 * have found it has ended (device/epoch.h). Then it is freed: by the caller,
 * after a wait, or by a work item (mem/dereg_async.h).
 *
 * An application must not delay this, so tokens of host flush are revoked
 * (verbs/host_flush.h).
 */
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include "compat/flush.h"
#include "compat/ops.h"
#include "compat/umem.h"
#include "mem/dereg_async.h"
#include "mem/dmabuf.h"
#include "mem/media.h"
#include "mem/mr.h"
#include "mem/mr_domain.h"
#include "mem/mw.h"
#include "mem/odp.h"
#include "mem/ops.h"
#include "persist/domain.h"
#include "verbs/host_flush.h"
#include "verbs/limits.h"
#include "verbs/udata.h"

/* Rights that registration supports. Optional bits are hints and accepted. */
#define ACCESS_SUPPORTED						\
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |		\
	 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |		\
	 IB_ACCESS_MW_BIND | IB_ACCESS_HUGETLB | CAIRN_IB_ACCESS_FLUSH | \
	 IB_ZERO_BASED | IB_ACCESS_OPTIONAL)

void cairn_mr_init(struct cairn_mr *mr, struct ib_pd *ibpd,
		   enum cairn_mr_kind kind)
{
	seqlock_init(&mr->seq);
	mr->kind = kind;
	mr->pd = ibpd;
}

static struct cairn_mr *mr_new(struct ib_pd *ibpd, enum cairn_mr_kind kind,
			       int access)
{
	struct cairn_mr *mr;

	if (access & ~ACCESS_SUPPORTED)
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	cairn_mr_init(mr, ibpd, kind);
	mr->access = access;
	mr->block_shift = PAGE_SHIFT;
	return mr;
}

void cairn_mr_free(struct cairn_mr *mr)
{
	ib_umem_release(mr->umem);
	cairn_dmabuf_put(mr->dmabuf);
	cairn_odp_destroy(mr->odp);
	kvfree(mr->blocks);
	kvfree(mr->map.blocks);
	kfree(mr);
}

/* Wait until every run that found the MR in its old state has ended. Sleeps. */
static void mr_wait(struct cairn_dev *dev)
{
	cairn_epoch_wait(&dev->nic.epoch);
	cairn_nic_count(&dev->nic, CAIRN_CTR_MR_RELEASES, 1);
}

/* Wait for all accesses to @mr, whose key is hidden, and free both. Sleeps. */
static void mr_release(struct cairn_dev *dev, struct cairn_mr *mr)
{
	mr_wait(dev);
	/* After the wait, as a running REG_MR may have changed the key. */
	cairn_key_free(dev, mr->pd, mr->key);
	cairn_mr_free(mr);
}

/* The same without a wait. REG_MR does not change keys of processes. */
static void mr_release_later(struct cairn_dev *dev, struct cairn_mr *mr)
{
	cairn_key_free(dev, mr->pd, mr->key);
	cairn_dereg_async_begin(dev, mr);
}

static void mr_set_key(struct cairn_mr *mr, u32 key)
{
	mr->key = key;
	mr->ibmr.lkey = key;
	mr->ibmr.rkey = key;
}

static int mr_alloc_key(struct cairn_dev *dev, struct cairn_mr *mr)
{
	u32 key;
	int err;

	err = cairn_key_alloc(dev, mr->pd, &key);
	if (!err)
		mr_set_key(mr, key);
	return err;
}

/* The last step of a registration: once @mr is reachable nothing may fail. */
static int mr_publish(struct cairn_dev *dev, struct cairn_mr *mr)
{
	int err = mr_alloc_key(dev, mr);

	if (!err)
		cairn_key_publish(dev, mr);
	return err;
}

/* Where a region begins for work requests and peers. Its blocks lie as at ibmr.iova,
 * which is also shown.
 */
static u64 mr_iova(const struct cairn_mr *mr, int access)
{
	return access & IB_ZERO_BASED ? 0 : mr->ibmr.iova;
}

/* Fill the block table from mr->umem: each page that starts a block or the MR.
 */
static void mr_fill_blocks(struct cairn_mr *mr)
{
	u64 mask = BIT_ULL(mr->block_shift) - 1;
	u64 pos = mr->ibmr.iova & PAGE_MASK;
	struct sg_page_iter iter;
	unsigned long va;

	for_each_sgtable_page(&mr->umem->sgt_append.sgt, &iter, 0) {
		va = (unsigned long)page_address(sg_page_iter_page(&iter));
		if (!(pos & mask) || !mr->num_blocks)
			mr->blocks[mr->num_blocks++] = va & ~mask;
		pos += PAGE_SIZE;
	}
}

/* Use the largest blocks that the memory allows, such as huge pages. */
static int mr_alloc_blocks(struct cairn_mr *mr)
{
	unsigned long size;
	size_t num;

	size = ib_umem_find_best_pgsz(mr->umem, PAGE_MASK, mr->ibmr.iova);
	if (!size)
		return -EINVAL;
	mr->block_shift = __ffs(size);
	mr->first = mr->ibmr.iova & (size - 1);
	num = ib_umem_num_dma_blocks(mr->umem, size);
	if (num > U32_MAX)
		return -EINVAL;
	/* kvmalloc would warn about the table for a terabyte of small pages. */
	mr->blocks = kvmalloc_array(num, sizeof(*mr->blocks),
				    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return mr->blocks ? 0 : -ENOMEM;
}

/* Check that the memory can become durable as mr->persist and @access say. */
static int mr_check_domain(struct ib_device *ibdev, struct cairn_mr *mr,
			   int access)
{
	struct scatterlist *sg;
	unsigned int i;

	if (access & IB_ACCESS_FLUSH_PERSISTENT) {
		int err = cairn_mr_domain_check_flush(ibdev, mr->persist);

		if (err)
			return err;
	} else if (!(mr->persist & CAIRN_MR_PERSIST_NIC)) {
		return 0;
	}
	if (mr->persist & CAIRN_MR_PERSIST_EMULATED)
		return 0;
	for_each_sgtable_sg(&mr->umem->sgt_append.sgt, sg, i) {
		if (cairn_domain_is_pmem(sg_phys(sg), sg->length))
			continue;
		ibdev_dbg(ibdev, "reg_mr: %u bytes at %pap (part %u) are not persistent memory\n",
			  sg->length, &(phys_addr_t){ sg_phys(sg) }, i);
		return -EINVAL;
	}
	return cairn_media_check(ibdev, mr->umem, &mr->durability);
}

/* Give pinned memory NIC flush without being asked, if it can have it. */
static void mr_make_persistent(struct ib_device *ibdev, struct cairn_mr *mr)
{
	mr->persist = CAIRN_MR_PERSIST_NIC;
	mr->automatic = !mr_check_domain(ibdev, mr, 0);
	if (mr->automatic)
		return;
	mr->persist = 0;
	mr->durability = CAIRN_DURABILITY_UNKNOWN;
}

/* @length bytes at @start of a process or buffer. Users address them from @iova on,
 * or from 0 on if @access says so.
 */
struct mr_want {
	u64 start;
	u64 length;
	u64 iova;
	int access;
	u32 persist;		/* CAIRN_MR_PERSIST_FLAGS */
	bool automatic;		/* NIC flush, if the memory can have it */
};

/* Is the device to give NIC flush to memory whose owner does not ask for it? */
static bool mr_is_automatic(struct ib_device *ibdev, int access, u32 persist)
{
	return !persist && ib_access_writable(access) &&
	       READ_ONCE(to_cairn_dev(ibdev)->nic.persistent) ==
		       CAIRN_PERSISTENT_AUTO &&
	       cairn_domain_can_writeback();
}

/* A new region. It is not published. */
static struct cairn_mr *mr_new_user(struct ib_pd *ibpd,
				    const struct mr_want *want)
{
	struct cairn_mr *mr;

	if ((want->length && want->length - 1 > U64_MAX - want->iova) ||
	    offset_in_page(want->start ^ want->iova))
		return ERR_PTR(-EINVAL);
	mr = mr_new(ibpd, CAIRN_MR_USER, want->access);
	if (IS_ERR(mr))
		return mr;
	mr->length = want->length;
	mr->persist = want->persist;
	/* ib_core sets these for a new region only. */
	mr->ibmr.iova = want->iova;
	mr->ibmr.length = want->length;
	mr->iova = mr_iova(mr, want->access);
	return mr;
}

/* A new region of pinned memory. It is not published. */
static struct cairn_mr *mr_pin(struct ib_pd *ibpd, const struct mr_want *want)
{
	struct cairn_mr *mr;
	int err;

	mr = mr_new_user(ibpd, want);
	if (IS_ERR(mr))
		return mr;
	/* There is nothing to pin. The region allows no access. */
	if (!want->length)
		return mr;
	mr->umem = ib_umem_get_va(ibpd->device, want->start, want->length,
				  want->access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		mr->umem = NULL;
		goto err_free;
	}
	err = mr_check_domain(ibpd->device, mr, want->access);
	if (err)
		goto err_free;
	if (want->automatic)
		mr_make_persistent(ibpd->device, mr);
	err = mr_alloc_blocks(mr);
	if (err)
		goto err_free;
	mr_fill_blocks(mr);
	return mr;

err_free:
	cairn_mr_free(mr);
	return ERR_PTR(err);
}

/* Finish cairn_mr_reg_user(). The reply is copied before the region is
 * reachable: the copy may fail, and the process may delay it for any time.
 */
static struct ib_mr *mr_reg(struct ib_pd *ibpd, struct cairn_mr *mr,
			    struct ib_udata *udata, u32 flags)
{
	struct cairn_dev *dev = to_cairn_dev(ibpd->device);
	int err;

	err = mr_alloc_key(dev, mr);
	if (err)
		goto err_free;
	err = cairn_mr_domain_reply(udata, flags);
	if (err)
		goto err_key;
	cairn_key_publish(dev, mr);
	return &mr->ibmr;

err_key:
	cairn_key_free(dev, mr->pd, mr->key);
err_free:
	cairn_mr_free(mr);
	return ERR_PTR(err);
}

/* The flags that the owner of @mr registered it with. */
static u32 mr_declared(const struct cairn_mr *mr)
{
	return mr->automatic ? 0 : mr->persist;
}

/* For mr_rereg_user(): create a region that replaces @old, and keeps its time limit. */
static struct ib_mr *mr_replace(struct cairn_mr *old, struct ib_pd *ibpd,
				struct mr_want *want)
{
	struct cairn_mr *mr;
	int err;

	want->automatic = mr_is_automatic(ibpd->device, want->access,
					  want->persist);
	mr = mr_pin(ibpd, want);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->replaces = true;
	mr->flush_limit = old->flush_limit;
	err = mr_publish(to_cairn_dev(ibpd->device), mr);
	if (!err)
		return &mr->ibmr;
	cairn_mr_free(mr);
	return ERR_PTR(err);
}

/* Rights of on-demand registration. No window can be bound to such a region, as its
 * pages may be replaced at any time.
 */
#define ACCESS_ON_DEMAND	(ACCESS_SUPPORTED & ~IB_ACCESS_MW_BIND)

/* Can memory on demand have what @want says? *@files: it must be of files. Return: 0,
 * -EINVAL or -EOPNOTSUPP.
 */
static int mr_check_odp(struct ib_device *ibdev, struct mr_want *want,
			bool *files)
{
	*files = want->automatic || want->persist == CAIRN_MR_PERSIST_NIC;
	if (want->persist & CAIRN_MR_PERSIST_HOST)
		return -EOPNOTSUPP;
	if (*files &&
	    cairn_media_check_files(ibdev, want->start, want->length)) {
		if (!want->automatic)
			return -EINVAL;
		*files = false;
	}
	if (*files)
		want->persist = CAIRN_MR_PERSIST_NIC;
	/* Without NIC flush a page could go before a FLUSH writes it back. For a FLUSH
	 * that makes data visible nothing is written back.
	 */
	return want->access & IB_ACCESS_FLUSH_PERSISTENT &&
	       !(want->persist & CAIRN_MR_PERSIST_NIC) ? -EOPNOTSUPP : 0;
}

/* A new region that is not pinned, and not published. With start 0 and length U64_MAX it
 * is all memory of the process.
 */
static struct cairn_mr *mr_new_odp(struct ib_pd *ibpd, struct mr_want *want)
{
	struct cairn_dev *dev = to_cairn_dev(ibpd->device);
	struct cairn_mr *mr;
	bool files;
	int err;

	if (want->access & ~ACCESS_ON_DEMAND)
		return ERR_PTR(-EOPNOTSUPP);
	if (!want->length)
		return ERR_PTR(-EINVAL);
	err = mr_check_odp(ibpd->device, want, &files);
	if (err)
		return ERR_PTR(err);
	mr = mr_new_user(ibpd, want);
	if (IS_ERR(mr))
		return mr;
	mr->start = want->start;
	mr->on_demand = true;
	mr->odp = cairn_odp_create(dev, want->start, want->length,
				   ib_access_writable(want->access));
	if (IS_ERR(mr->odp)) {
		err = PTR_ERR(mr->odp);
		mr->odp = NULL;
		cairn_mr_free(mr);
		return ERR_PTR(err);
	}
	if (files)
		cairn_odp_need_files(mr->odp);
	return mr;
}

/* Fill the block table, with one block for each page. */
static int mr_fill_dmabuf(struct cairn_mr *mr, u64 offset)
{
	u64 num = PAGE_ALIGN(offset_in_page(offset) + mr->length) >> PAGE_SHIFT;

	if (num > U32_MAX)
		return -EINVAL;
	mr->blocks = kvmalloc_array(num, sizeof(*mr->blocks),
				    GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!mr->blocks)
		return -ENOMEM;
	mr->first = offset_in_page(offset);
	mr->num_blocks = num;
	return cairn_dmabuf_pages(mr->dmabuf, offset, mr->blocks, num);
}

/**
 * cairn_mr_reg_dmabuf() - ib_device_ops.reg_user_mr_dmabuf
 * @ibpd: protection domain of the region
 * @offset: offset of the first byte in the buffer
 * @length: bytes, not 0
 * @iova: address for work requests and peers; same offset in its page
 * @fd: a dma-buf of the calling process
 * @access: IB_ACCESS_*, without IB_ACCESS_FLUSH_PERSISTENT
 *
 * Return: the MR, -EINVAL (range), -EOPNOTSUPP (access) or an error of
 * cairn_dmabuf_get() and cairn_dmabuf_pages().
 */
struct ib_mr *cairn_mr_reg_dmabuf(struct ib_pd *ibpd, u64 offset,
				  u64 length, u64 iova, int fd, int access)
{
	struct mr_want want = {
		.start = offset, .length = length, .iova = iova,
		.access = access,
	};
	struct cairn_mr *mr;
	int err;

	if (access & IB_ACCESS_FLUSH_PERSISTENT)
		return ERR_PTR(-EOPNOTSUPP);
	if (!length)
		return ERR_PTR(-EINVAL);
	mr = mr_new_user(ibpd, &want);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->dmabuf = cairn_dmabuf_get(&ibpd->device->dev, fd,
				      ib_access_writable(access));
	if (IS_ERR(mr->dmabuf)) {
		err = PTR_ERR(mr->dmabuf);
		mr->dmabuf = NULL;
		goto err_free;
	}
	err = -EINVAL;
	if (!cairn_dmabuf_has(mr->dmabuf, offset, length))
		goto err_free;
	err = mr_fill_dmabuf(mr, offset);
	if (err)
		goto err_free;
	err = mr_publish(to_cairn_dev(ibpd->device), mr);
	if (err)
		goto err_free;
	return &mr->ibmr;

err_free:
	cairn_mr_free(mr);
	return ERR_PTR(err);
}

static int mr_flush_access(u32 flags)
{
	return (flags & CAIRN_MR_FLUSH_GLOBAL ? IB_ACCESS_FLUSH_GLOBAL : 0) |
	       (flags & CAIRN_MR_FLUSH_PERSISTENT ?
		IB_ACCESS_FLUSH_PERSISTENT : 0);
}

/**
 * cairn_mr_reg_user() - ib_device_ops.reg_user_mr
 * @ibpd: protection domain of the region
 * @start: address in the caller's memory
 * @length: bytes; a region of 0 bytes allows no access and cannot be changed
 * @iova: address for work requests and peers; same offset in its page
 * @access: IB_ACCESS_*; with IB_ZERO_BASED they use offsets, not @iova
 * @udata: struct cairn_reg_mr_req or nothing; reply struct cairn_reg_mr_resp
 *
 * Return: the MR, -EINVAL (range, tail, or memory that cannot become durable as
 * requested; ibdev_dbg() has the reason), -EOPNOTSUPP (access), -ENOMEM, -EPERM
 * or an error of pinning.
 */
struct ib_mr *cairn_mr_reg_user(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata)
{
	struct mr_want want = {
		.start = start, .length = length, .iova = iova,
		.access = access & ~IB_ACCESS_ON_DEMAND,
	};
	struct cairn_mr *mr;
	u32 flags;
	int err;

	err = cairn_mr_domain_flags(ibpd->device, udata, &flags);
	if (err)
		return ERR_PTR(err);
	want.access |= mr_flush_access(flags);
	want.persist = flags & CAIRN_MR_PERSIST_FLAGS;
	want.automatic = mr_is_automatic(ibpd->device, want.access,
					 want.persist);
	mr = access & IB_ACCESS_ON_DEMAND ? mr_new_odp(ibpd, &want) :
					    mr_pin(ibpd, &want);
	return IS_ERR(mr) ? ERR_CAST(mr) :
			    mr_reg(ibpd, mr, udata, flags | mr->persist);
}

/* Change the rights: in place, if the pages are pinned for the new ones. */
static struct ib_mr *mr_change(struct cairn_mr *mr, int access,
			       struct ib_pd *ibpd)
{
	struct mr_want want = {
		.start = mr->umem->address, .length = mr->length,
		.iova = mr->ibmr.iova, .access = access,
		.persist = mr_declared(mr),
	};
	unsigned long flags;
	int err = 0;

	/* Memory with NIC flush was checked when it was registered. The process need not have
	 * it mapped any more.
	 */
	if (!(mr->persist & CAIRN_MR_PERSIST_NIC))
		err = mr_check_domain(ibpd->device, mr, access);
	if (err)
		return ERR_PTR(err);
	if (ib_access_writable(access) && !mr->umem->writable) {
		/* In another process the address names other memory. */
		if (mr->umem->owning_mm != current->mm)
			return ERR_PTR(-EPERM);
		return mr_replace(mr, ibpd, &want);
	}
	write_seqlock_irqsave(&mr->seq, flags);
	mr->iova = mr_iova(mr, access);
	mr->access = access;
	mr->pd = ibpd;
	write_sequnlock_irqrestore(&mr->seq, flags);
	/* After this no run has access by the old rights. */
	mr_wait(to_cairn_dev(mr->ibmr.device));
	return NULL;
}

/**
 * mr_rereg_user() - ib_device_ops.rereg_user_mr
 * @ibmr: the MR; the caller excludes other changes and its destruction
 * @flags: IB_MR_REREG_*: which of the following are used
 * @start: new address in the caller's memory
 * @length: bytes
 * @iova: as in cairn_mr_reg_user()
 * @access: new IB_ACCESS_*
 * @ibpd: new protection domain; the old one without IB_MR_REREG_PD
 * @udata: no tail
 *
 * Other pages, or write access to pages that were pinned for reading, need a
 * new MR with a new key. The method of durability does not change, so other
 * pages must support it, nor does the time limit of host flush. Regions of
 * dma-bufs cannot be changed, as libibverbs does not offer it. On-demand regions
 * cannot be changed either, and no region becomes one.
 *
 * Return: NULL when changed in place, the new MR, -EBUSY (a memory window is
 * bound to the MR) or an error of cairn_mr_reg_user().
 */
static struct ib_mr *mr_rereg_user(struct ib_mr *ibmr, int flags, u64 start,
				   u64 length, u64 iova, int access,
				   struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct cairn_mr *mr = to_cairn_mr(ibmr);
	struct mr_want want = {
		.start = start, .length = length, .iova = iova,
		.access = flags & IB_MR_REREG_ACCESS ? access : mr->access,
		.persist = mr_declared(mr),
	};
	struct ib_mr *new_ibmr;
	int err = cairn_udata_check(udata, 0);

	if (err)
		return ERR_PTR(err);
	if (mr->odp)
		return ERR_PTR(-EOPNOTSUPP);
	if (!mr->umem)
		return ERR_PTR(-EINVAL);
	if (want.access & ~ACCESS_SUPPORTED)
		return ERR_PTR(-EOPNOTSUPP);
	if (!cairn_mw_close(mr))
		return ERR_PTR(-EBUSY);
	if (flags & IB_MR_REREG_TRANS)
		new_ibmr = mr_replace(mr, ibpd, &want);
	else
		new_ibmr = mr_change(mr, want.access, ibpd);
	/* Otherwise ib_core deregisters the old MR next. */
	if (IS_ERR_OR_NULL(new_ibmr))
		cairn_mw_open(mr);
	return new_ibmr;
}

/**
 * mr_get_dma() - ib_device_ops.get_dma_mr
 * @ibpd: of a kernel consumer
 * @access: IB_ACCESS_*
 *
 * The MR covers all of kernel memory, by kernel virtual address.
 *
 * Return: the MR, -EPERM (a process asked), -EOPNOTSUPP or -ENOMEM.
 */
static struct ib_mr *mr_get_dma(struct ib_pd *ibpd, int access)
{
	struct cairn_mr *mr;
	int err;

	if (ibpd->uobject)
		return ERR_PTR(-EPERM);
	/* Not all of kernel memory is persistent. */
	if (access & IB_ACCESS_FLUSH_PERSISTENT)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_new(ibpd, CAIRN_MR_DMA, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = mr_publish(to_cairn_dev(ibpd->device), mr);
	if (err) {
		cairn_mr_free(mr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/**
 * mr_alloc_fast() - ib_device_ops.alloc_mr
 * @ibpd: protection domain of the region
 * @type: IB_MR_TYPE_MEM_REG
 * @max_num_sg: blocks of memory, 1..CAIRN_MAX_FAST_REG
 *
 * Return: the MR, -EOPNOTSUPP (type), -EINVAL (size) or -ENOMEM.
 */
static struct ib_mr *mr_alloc_fast(struct ib_pd *ibpd, enum ib_mr_type type,
				   u32 max_num_sg)
{
	struct cairn_mr *mr;
	int err = -ENOMEM;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > CAIRN_MAX_FAST_REG)
		return ERR_PTR(-EINVAL);
	mr = mr_new(ibpd, CAIRN_MR_FAST, 0);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->max_blocks = max_num_sg;
	mr->blocks = kvcalloc(max_num_sg, sizeof(*mr->blocks), GFP_KERNEL);
	mr->map.blocks = kvcalloc(max_num_sg, sizeof(*mr->blocks), GFP_KERNEL);
	if (!mr->blocks || !mr->map.blocks)
		goto err_free;
	err = mr_publish(to_cairn_dev(ibpd->device), mr);
	if (err)
		goto err_free;
	return &mr->ibmr;

err_free:
	cairn_mr_free(mr);
	return ERR_PTR(err);
}

static int mr_set_block(struct ib_mr *ibmr, u64 addr)
{
	struct cairn_mr *mr = to_cairn_mr(ibmr);
	struct cairn_mr_map *map = &mr->map;

	if (map->num_blocks == mr->max_blocks)
		return -ENOMEM;
	map->blocks[map->num_blocks++] = addr;
	return 0;
}

/**
 * mr_map_sg() - ib_device_ops.map_mr_sg
 * @ibmr: of mr_alloc_fast()
 * @sg: mapped memory
 * @nents: entries of @sg
 * @offset: into the first entry; may be NULL
 *
 * The current registration stays valid until the next REG_MR takes effect, as a
 * consumer maps again while its LOCAL_INV is still in the queue. This takes the
 * lock but leaves the sequence, so that readers of the registration do not
 * fail.
 *
 * Context: any.
 * Return: the number of entries taken, or -EINVAL.
 */
static int mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		     unsigned int *offset)
{
	struct cairn_mr *mr = to_cairn_mr(ibmr);
	struct cairn_mr_map *map = &mr->map;
	unsigned long flags;
	int taken;

	if (mr->kind != CAIRN_MR_FAST || !is_power_of_2(ibmr->page_size))
		return -EINVAL;
	read_seqlock_excl_irqsave(&mr->seq, flags);
	/* The owner declares the persistence of the new memory again. */
	map->persist = 0;
	map->num_blocks = 0;
	map->block_shift = __ffs(ibmr->page_size);
	taken = ib_sg_to_pages(ibmr, sg, nents, offset, mr_set_block);
	map->fresh = true;
	read_sequnlock_excl_irqrestore(&mr->seq, flags);
	return taken;
}

/* Register the blocks that were mapped last; the next mapping fills the other
 * list. A consumer may also register again without a new mapping.
 */
static void mr_adopt(struct cairn_mr *mr)
{
	struct cairn_mr_map *map = &mr->map;

	lockdep_assert_held(&mr->seq.lock);
	if (!map->fresh)
		return;
	swap(mr->blocks, map->blocks);
	WRITE_ONCE(mr->num_blocks, map->num_blocks);
	mr->block_shift = map->block_shift;
	mr->persist = map->persist;
	map->fresh = false;
}

/* FLUSH for durability needs memory that its owner declared persistent. */
static bool mr_may_flush(const struct cairn_mr *mr, int access)
{
	u8 persist = mr->map.fresh ? mr->map.persist : mr->persist;

	return !(access & IB_ACCESS_FLUSH_PERSISTENT) ||
	       persist & CAIRN_MR_PERSIST_NIC;
}

int cairn_mr_reg(struct cairn_dev *dev, struct ib_pd *pd, struct ib_mr *ibmr,
		 u32 key, int access)
{
	struct cairn_mr *mr = to_cairn_mr(ibmr);
	unsigned long flags;
	int err = -EINVAL;

	if (mr->kind != CAIRN_MR_FAST || ibmr->device != &dev->ibdev ||
	    mr->pd != pd || READ_ONCE(mr->valid) ||
	    (key ^ mr->key) & ~CAIRN_KEY_VARIANT_MASK ||
	    access & ~(ACCESS_SUPPORTED & ~IB_ZERO_BASED))
		return -EINVAL;
	write_seqlock_irqsave(&mr->seq, flags);
	if (!mr->valid && mr_may_flush(mr, access)) {
		mr_adopt(mr);
		/* xprtrdma changes iova after ib_map_mr_sg(). */
		mr->iova = ibmr->iova;
		mr->first = ibmr->iova & (BIT_ULL(mr->block_shift) - 1);
		mr->length = ibmr->length;
		mr->key = key;
		mr->access = access;
		mr->valid = true;
		err = 0;
	}
	write_sequnlock_irqrestore(&mr->seq, flags);
	return err;
}

/* End the fast registration of @key. */
static int mr_end_fast(struct cairn_mr *mr, u32 key, bool remote)
{
	unsigned long flags;
	int err = -EINVAL;

	write_seqlock_irqsave(&mr->seq, flags);
	if (mr->key == key && (mr->valid || !remote)) {
		mr->valid = false;
		err = 0;
	}
	write_sequnlock_irqrestore(&mr->seq, flags);
	return err;
}

int cairn_mr_invalidate(struct cairn_qp *qp, u32 key, bool remote)
{
	struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);
	struct cairn_mr *mr = cairn_key_find(dev, key);
	int err = -EINVAL;

	/* A wrong key must not disturb users of the right one. */
	if (!mr || !cairn_key_is(mr, key, qp->pd))
		return -EINVAL;
	if (mr->kind == CAIRN_MR_FAST)
		err = mr_end_fast(mr, key, remote);
	else if (mr->kind == CAIRN_MR_WINDOW)
		err = cairn_mw_invalidate(qp, mr_to_cairn_mw(mr), key, remote);
	if (!err)
		cairn_nic_count(&dev->nic, CAIRN_CTR_MR_RELEASES, 1);
	return err;
}

/**
 * mr_dereg() - ib_device_ops.dereg_mr
 * @ibmr: the MR
 * @udata: of the system call
 *
 * When this returns 0 no run accesses the memory any more, or the caller has a
 * ticket. -EBUSY: a memory window is bound to it. For other errors see
 * cairn_dereg_async_ask(). Process context.
 */
static int mr_dereg(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct cairn_dev *dev = to_cairn_dev(ibmr->device);
	struct cairn_mr *mr = to_cairn_mr(ibmr);
	u32 persist = mr->persist, key = mr->key;
	int later;

	if (!cairn_mw_close_last(mr))
		return -EBUSY;
	later = cairn_dereg_async_ask(mr, udata);
	if (later < 0) {
		cairn_mw_open(mr);
		return later;
	}
	cairn_key_hide(dev, key);
	if (later)
		mr_release_later(dev, mr);
	else
		mr_release(dev, mr);
	if (!(persist & CAIRN_MR_PERSIST_HOST))
		return 0;
	/* After this no run of the old epoch can add a token. */
	if (later)
		cairn_epoch_wait(&dev->nic.epoch);
	cairn_host_flush_revoke(dev, key);
	return 0;
}

const struct ib_device_ops cairn_mr_ops = {
	.get_dma_mr = mr_get_dma,
	.reg_user_mr = compat_reg_user_mr,
	.reg_user_mr_dmabuf = compat_reg_user_mr_dmabuf,
	.rereg_user_mr = mr_rereg_user,
	.alloc_mr = mr_alloc_fast,
	.map_mr_sg = mr_map_sg,
	.dereg_mr = mr_dereg,
};
