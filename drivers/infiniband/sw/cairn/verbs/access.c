// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * From keys to memory: what the data path asks of memory regions, inside its
 * run (lane/epoch.h). Nothing found here outlives the run, unless it is held.
 *
 * An MR is read without a lock: what was read counts only if its sequence has
 * not changed meanwhile. A change means that the key was not valid for the
 * whole of the look, and the access is refused.
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include "verbs/mr.h"

/* Key 0 names all of kernel memory, to kernel consumers, locally. */
#define LOCAL_DMA_LKEY	0

struct fragments {
	struct bio_vec *bv;	/* NULL: check only */
	int n;
	int max;
	u32 persist;		/* enum cairn_mr_flags of the region */
};

static const int access_flags[] = {
	[CAIRN_ACCESS_LOCAL_READ] = 0,
	[CAIRN_ACCESS_LOCAL_WRITE] = IB_ACCESS_LOCAL_WRITE,
	[CAIRN_ACCESS_REMOTE_READ] = IB_ACCESS_REMOTE_READ,
	[CAIRN_ACCESS_REMOTE_WRITE] = IB_ACCESS_REMOTE_WRITE,
	[CAIRN_ACCESS_REMOTE_ATOMIC] = IB_ACCESS_REMOTE_ATOMIC,
	[CAIRN_ACCESS_REMOTE_PERSIST] = IB_ACCESS_REMOTE_WRITE,
};

static bool is_remote(enum cairn_access access)
{
	return access >= CAIRN_ACCESS_REMOTE_READ;
}

static int add(struct fragments *f, struct page *page, u64 addr, u32 len)
{
	if (f->n == f->max)
		return -E2BIG;
	bvec_set_page(&f->bv[f->n++], page, len, offset_in_page(addr));
	return 0;
}

/* Bytes from @addr to the end of its page, @len at most. */
static u32 in_page(u64 addr, u64 len)
{
	return min_t(u64, len, PAGE_SIZE - offset_in_page(addr));
}

/* A page of kernel memory. A peer does not get at what can vanish. */
static struct page *kernel_page(const void *va, bool remote)
{
	if (virt_addr_valid(va))
		return virt_to_page(va);
	if (!remote && is_vmalloc_addr(va))
		return vmalloc_to_page(va);
	return NULL;
}

static int walk_kernel(u64 addr, u64 len, bool remote, struct fragments *f)
{
	int err = 0;

	if (addr > ULONG_MAX || len > ULONG_MAX - addr)
		return -EFAULT;
	while (len && !err) {
		struct page *page = kernel_page((void *)(uintptr_t)addr,
						remote);
		u32 n = in_page(addr, len);

		if (!page)
			return -EFAULT;
		if (f->bv)
			err = add(f, page, addr, n);
		addr += n;
		len -= n;
	}
	return err;
}

/*
 * The range lies in the MR, but the fields may be of two times: an index is
 * checked by itself, and an address used only if nothing had changed by then.
 * Both lists of a fast registration have room for every index (mr_adopt()).
 */
static int walk_blocks(struct cairn_mr *mr, unsigned int seq, u64 va, u64 len,
		       struct fragments *f)
{
	u64 mask = BIT_ULL(mr->block_shift) - 1;
	u64 off = va - mr->iova + (mr->iova & mask);
	int err = 0;

	while (len && !err) {
		u64 i = off >> mr->block_shift, addr;
		u32 n;

		if (i >= READ_ONCE(mr->num_blocks))
			return -EFAULT;
		addr = READ_ONCE(READ_ONCE(mr->blocks)[i]) + (off & mask);
		if (read_seqretry(&mr->seq, seq))
			return -EFAULT;
		n = min_t(u64, in_page(addr, len), mask + 1 - (off & mask));
		err = add(f, virt_to_page((void *)(uintptr_t)addr), addr, n);
		off += n;
		len -= n;
	}
	return err;
}

static bool allows(const struct cairn_mr *mr, struct ib_pd *pd, u32 key,
		   u64 va, u64 len, enum cairn_access access)
{
	int need = access_flags[access];

	if (mr->key != key || mr->pd != pd || (mr->access & need) != need)
		return false;
	if (access == CAIRN_ACCESS_REMOTE_PERSIST &&
	    !(mr->persist & CAIRN_MR_PERSIST_NIC))
		return false;
	if (mr->kind == CAIRN_MR_DMA)
		return true;
	if (mr->kind == CAIRN_MR_FAST && !mr->valid)
		return false;
	/* A va below iova gives an offset beyond every length. */
	va -= mr->iova;
	return va <= mr->length && len <= mr->length - va;
}

/* Nothing is asked of the key when nothing is accessed (IBTA 9.7.4.1.3). */
static int resolve(struct cairn_dev *dev, struct ib_pd *pd, u32 key, u64 va,
		   u64 len, enum cairn_access access, struct fragments *f)
{
	struct cairn_mr *mr;
	unsigned int seq;
	int err = 0;

	if (!len)
		return 0;
	if (key == LOCAL_DMA_LKEY) {
		if (pd->uobject || is_remote(access))
			return -EFAULT;
		return walk_kernel(va, len, false, f);
	}
	mr = cairn_mr_find(dev, key);
	if (!mr || READ_ONCE(mr->key) != key) {
		cairn_nic_count(&dev->nic, CAIRN_CTR_STALE_KEYS, 1);
		return -EFAULT;
	}
	seq = read_seqbegin(&mr->seq);
	if (!allows(mr, pd, key, va, len, access))
		return -EFAULT;
	f->persist = mr->persist;
	if (mr->kind == CAIRN_MR_DMA)
		err = walk_kernel(va, len, is_remote(access), f);
	else if (f->bv)
		err = walk_blocks(mr, seq, va, len, f);
	return read_seqretry(&mr->seq, seq) ? -EFAULT : err;
}

/**
 * cairn_mr_map() - find the memory behind a list of SGEs
 * @dev: the device
 * @pd: of the queue pair
 * @span: the list, how far to skip into it, and what access is wanted
 * @len: bytes
 * @bv: room for @max fragments, each within a page
 * @max: number of fragments
 *
 * Returns the number of fragments; -EFAULT when a key or range is refused or
 * the list is shorter than @len; -E2BIG. In a run, which also bounds the use of
 * @bv.
 */
int cairn_mr_map(struct cairn_dev *dev, struct ib_pd *pd,
		 const struct cairn_span *span, u32 len, struct bio_vec *bv,
		 int max)
{
	struct fragments f = { .bv = bv, .max = max };
	u32 i, n, skip = span->offset;
	int err;

	for (i = 0; i < span->num_sge && len; i++) {
		const struct cairn_sge *sge = &span->sge[i];

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = min(len, sge->length - skip);
		err = resolve(dev, pd, sge->lkey, sge->addr + skip, n,
			      span->access, &f);
		if (err)
			return err;
		len -= n;
		skip = 0;
	}
	return len ? -EFAULT : f.n;
}

/**
 * cairn_mr_check() - may this be accessed now?
 * @dev: the device
 * @pd: of the queue pair
 * @key: lkey or rkey
 * @va: first byte
 * @len: bytes; 0 is always allowed
 * @access: how
 *
 * Returns -EFAULT if not; else 0, or for CAIRN_ACCESS_REMOTE_WRITE the enum
 * cairn_persist of the region. In a run.
 */
int cairn_mr_check(struct cairn_dev *dev, struct ib_pd *pd, u32 key, u64 va,
		   u64 len, enum cairn_access access)
{
	struct fragments f = {};
	int err = resolve(dev, pd, key, va, len, access, &f);

	if (err || access != CAIRN_ACCESS_REMOTE_WRITE)
		return err;
	return f.persist & CAIRN_MR_PERSIST_HOST ? CAIRN_PERSIST_HOST :
	       f.persist & CAIRN_MR_PERSIST_NIC ? CAIRN_PERSIST_NIC :
						  CAIRN_PERSIST_NONE;
}

/**
 * cairn_mr_atomic() - perform an atomic request
 * @dev: the device
 * @pd: of the queue pair
 * @pkt: COMPARE SWAP or FETCH ADD
 * @orig: gets the old value
 *
 * Atomic also against the CPUs' own 64-bit operations. Returns 0 or -EFAULT
 * (key, range, alignment). In a run.
 */
int cairn_mr_atomic(struct cairn_dev *dev, struct ib_pd *pd,
		    const struct cairn_pkt *pkt, u64 *orig)
{
	struct bio_vec bv;
	struct fragments f = { .bv = &bv, .max = 1 };
	void *p;

	if (resolve(dev, pd, pkt->rkey, pkt->va, sizeof(u64),
		    CAIRN_ACCESS_REMOTE_ATOMIC, &f))
		return -EFAULT;
	p = bvec_virt(&bv);
	if (!IS_ALIGNED((uintptr_t)p, sizeof(u64)))
		return -EFAULT;
	if (pkt->opcode == (CAIRN_BTH_RC | CAIRN_BTH_CMP_SWAP))
		*orig = cmpxchg64((u64 *)p, pkt->compare, pkt->swap_add);
	else
		*orig = atomic64_fetch_add(pkt->swap_add, (atomic64_t *)p);
	return 0;
}
