// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Look-up of memory by key, for the data path, in a run (device/epoch.h).
 * Memory that is found here stays valid until the run ends, unless a reference
 * is taken.
 *
 * An MR is read without a lock. The values that were read are used only if the
 * sequence of the MR has not changed. After a change the access is refused, as
 * the key was not valid all the time.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/vmalloc.h>
#include "compat/bvec.h"
#include "compat/flush.h"
#include "engine/persist_resp.h"
#include "mem/access.h"
#include "mem/mr.h"
#include "mem/odp_wait.h"
#include "mem/page.h"
#include "persist/flush.h"

/* Key 0: all of kernel memory, for local access by kernel consumers. */
#define LOCAL_DMA_LKEY	0

/* The wanted memory, and the fragments of it that were found. */
struct access_fragments {
	struct cairn_qp *qp;
	struct ib_pd *pd;	/* only its keys are accepted */
	struct bio_vec *bv;	/* NULL: check only */
	int n;
	int max;
	u32 more;		/* bytes that are needed after these */
	u8 access;		/* enum cairn_access */
	u8 side;		/* enum cairn_side_id that needs the memory */
	u8 *durability;		/* gets enum cairn_durability, or 0; NULL: not wanted */
};

static const int access_needs[] = {
	[CAIRN_ACCESS_LOCAL_READ] = 0,
	[CAIRN_ACCESS_LOCAL_WRITE] = IB_ACCESS_LOCAL_WRITE,
	[CAIRN_ACCESS_REMOTE_READ] = IB_ACCESS_REMOTE_READ,
	[CAIRN_ACCESS_REMOTE_WRITE] = IB_ACCESS_REMOTE_WRITE,
	[CAIRN_ACCESS_REMOTE_ATOMIC] = IB_ACCESS_REMOTE_ATOMIC,
	[CAIRN_ACCESS_REMOTE_PERSIST] = IB_ACCESS_REMOTE_WRITE,
	[CAIRN_ACCESS_FLUSH_GLOBAL] = IB_ACCESS_FLUSH_GLOBAL,
	[CAIRN_ACCESS_FLUSH_PERSISTENT] = IB_ACCESS_FLUSH_PERSISTENT,
};

static bool access_is_remote(enum cairn_access access)
{
	return access >= CAIRN_ACCESS_REMOTE_READ;
}

static int access_add(struct access_fragments *frags, struct page *page,
		      u64 addr, u32 len)
{
	if (frags->n == frags->max)
		return -E2BIG;
	/* memory_failure() marked the page: an access could raise a machine
	 * check.
	 */
	if (unlikely(cairn_page_poisoned(page))) {
		cairn_nic_count(frags->qp->exec.nic, CAIRN_CTR_POISONED_PAGES,
				1);
		return -EFAULT;
	}
	bvec_set_page(&frags->bv[frags->n++], page, len, offset_in_page(addr));
	return 0;
}

/* Bytes from @addr to the end of its page, at most @len. */
static u32 access_in_page(u64 addr, u64 len)
{
	return min_t(u64, len, PAGE_SIZE - offset_in_page(addr));
}

/* The page of kernel memory at an address that a peer chose. Poisoned pages are
 * returned, as access_add() refuses and counts them.
 */
static struct page *access_chosen_page(const void *va)
{
	struct page *page = virt_to_page(va);

	if (cairn_page_poisoned(page) || cairn_page_touchable(page))
		return page;
	return NULL;
}

/* The page of kernel memory at @va, which is used now or only checked. A peer may
 * not use vmalloc memory, as it can be unmapped at any time.
 */
static struct page *access_kernel_page(const void *va, bool remote, bool used)
{
	if (virt_addr_valid(va))
		return remote && used ? access_chosen_page(va) :
					virt_to_page(va);
	if (!remote && is_vmalloc_addr(va))
		return vmalloc_to_page(va);
	return NULL;
}

static int access_walk_kernel(u64 addr, u64 len, bool remote,
			      struct access_fragments *frags)
{
	int err = 0;

	if (addr > ULONG_MAX || len > ULONG_MAX - addr)
		return -EFAULT;
	while (len && !err) {
		struct page *page = access_kernel_page((void *)(uintptr_t)addr,
						       remote, frags->bv);
		u32 n = access_in_page(addr, len);

		if (!page)
			return -EFAULT;
		if (frags->bv)
			err = access_add(frags, page, addr, n);
		addr += n;
		len -= n;
	}
	return err;
}

/*
 * The range lies in the MR, but some fields may have been read before a change
 * and others after it. So each index is checked against num_blocks, and an
 * address is used only if the sequence has not changed. Both block lists of a
 * fast registration have room for every index (mr_adopt()).
 */
static int access_walk_blocks(struct cairn_mr *mr, unsigned int seq, u64 va,
			      u64 len, struct access_fragments *frags)
{
	u64 mask = BIT_ULL(mr->block_shift) - 1;
	u64 off = va - mr->iova + mr->first;
	int err = 0;

	while (len && !err) {
		u64 i = off >> mr->block_shift, addr;
		u32 n;

		if (i >= READ_ONCE(mr->num_blocks))
			return -EFAULT;
		addr = READ_ONCE(READ_ONCE(mr->blocks)[i]) + (off & mask);
		if (read_seqretry(&mr->seq, seq))
			return -EFAULT;
		n = min_t(u64, access_in_page(addr, len),
			  mask + 1 - (off & mask));
		err = access_add(frags, virt_to_page((void *)(uintptr_t)addr),
				 addr, n);
		off += n;
		len -= n;
	}
	return err;
}

/* Only peers may access memory by a window. For type 2 this is the peer of the
 * QP that bound it.
 */
static bool access_in_window(struct cairn_mr *mr, const struct cairn_qp *qp,
			     enum cairn_access access)
{
	u64 serial = READ_ONCE(mr_to_cairn_mw(mr)->qp_serial);

	return access_is_remote(access) && mr->valid &&
	       (!serial || serial == qp->cold->serial);
}

/* Does @mr, which the key names, allow this access? */
static bool access_allowed(struct cairn_mr *mr, const struct cairn_qp *qp,
			   u64 va, u64 len, enum cairn_access access)
{
	int need = access_needs[access];

	if ((mr->access & need) != need)
		return false;
	if (access == CAIRN_ACCESS_REMOTE_PERSIST &&
	    !(mr->persist & CAIRN_MR_PERSIST_NIC))
		return false;
	if (mr->kind == CAIRN_MR_DMA)
		return true;
	if (mr->kind == CAIRN_MR_FAST && !mr->valid)
		return false;
	if (mr->kind == CAIRN_MR_WINDOW && !access_in_window(mr, qp, access))
		return false;
	/* An address below iova wraps to an offset beyond any length. */
	va -= mr->iova;
	return va <= mr->length && len <= mr->length - va;
}

/*
 * The rights and blocks of a region do not change while a window is bound to
 * it. If the window is bound to another region meanwhile, the old one stays
 * valid until this run ends. The caller then sees that the sequence has
 * changed.
 */
static int access_walk_window(struct cairn_mr *mr, u64 va, u64 len,
			      struct access_fragments *frags)
{
	struct cairn_mw *mw = mr_to_cairn_mw(mr);
	struct cairn_mr *region = READ_ONCE(mw->region);

	if (!region)
		return -EFAULT;
	return access_walk_blocks(region, read_seqbegin(&region->seq),
				  va - mr->iova + READ_ONCE(mw->region_va),
				  len, frags);
}

static bool access_writes(enum cairn_access access)
{
	return access_needs[access] & (IB_ACCESS_LOCAL_WRITE |
				       IB_ACCESS_REMOTE_WRITE |
				       IB_ACCESS_REMOTE_ATOMIC);
}

/* The page at @addr of the process is not present: fault it in, together with
 * the pages that are needed after it.
 */
static int access_fault_in(struct cairn_mr *mr, u64 addr, u64 len,
			   const struct access_fragments *frags)
{
	u64 end = round_down(addr, PAGE_SIZE) + (CAIRN_ODP_BATCH << PAGE_SHIFT);
	const struct cairn_odp_want want = {
		.odp = mr->odp,
		.key = mr->key,
		.write = access_writes(frags->access),
		.addr = addr,
		.len = min3(len + frags->more, mr->start + mr->length - addr,
			    end - addr),
	};

	return cairn_odp_wait(frags->qp, frags->side, &want);
}

/* On-demand memory is not touched unless all its pages are present. */
static int access_walk_odp(struct cairn_mr *mr, u64 va, u64 len,
			   struct access_fragments *frags)
{
	u64 addr = va - mr->iova + mr->start;
	bool write = access_writes(frags->access);
	int err = 0;

	while (len && !err) {
		struct page *page = cairn_odp_page(mr->odp, addr, write);
		u32 n = access_in_page(addr, len);

		if (!page)
			return access_fault_in(mr, addr, len, frags);
		err = access_add(frags, page, addr, n);
		addr += n;
		len -= n;
	}
	return err;
}

static int access_walk(struct cairn_mr *mr, unsigned int seq, u64 va, u64 len,
		       struct access_fragments *frags)
{
	if (mr->kind == CAIRN_MR_DMA)
		return access_walk_kernel(va, len,
					  access_is_remote(frags->access),
					  frags);
	if (!frags->bv)
		return 0;
	/* A region on demand allows this FLUSH only if all that peers write is written back
	 * at once. Pages that are not present need no write-back.
	 */
	if (mr->on_demand && frags->access == CAIRN_ACCESS_FLUSH_PERSISTENT)
		return 0;
	if (mr->on_demand)
		return access_walk_odp(mr, va, len, frags);
	return mr->kind == CAIRN_MR_WINDOW ?
	       access_walk_window(mr, va, len, frags) :
	       access_walk_blocks(mr, seq, va, len, frags);
}

/* How writes of a peer to @mr become durable: enum cairn_durability. */
static u8 access_durability(const struct cairn_mr *mr)
{
	u8 persist = mr->persist;

	if (!(persist & (CAIRN_MR_PERSIST_NIC | CAIRN_MR_PERSIST_HOST)))
		return CAIRN_DURABILITY_UNKNOWN;
	if (persist & CAIRN_MR_PERSIST_HOST)
		return CAIRN_DURABILITY_HOST;
	if (persist & CAIRN_MR_PERSIST_EMULATED)
		return CAIRN_DURABILITY_EMULATED;
	/* Memory of a kernel consumer was not checked: assume the weaker
	 * domain.
	 */
	return mr->durability ?: CAIRN_DURABILITY_ADR;
}

/* The null region: reads get zeros, writes go to a page that is never read. */
static int access_walk_null(struct cairn_dev *dev, u64 va, u64 len,
			    struct access_fragments *frags)
{
	struct page *page = frags->access == CAIRN_ACCESS_LOCAL_READ ?
			    ZERO_PAGE(0) : dev->null_page;
	int err = 0;

	if (access_is_remote(frags->access))
		return -EFAULT;
	while (len && !err && frags->bv) {
		u32 n = access_in_page(va, len);

		err = access_add(frags, page, va, n);
		va += n;
		len -= n;
	}
	return err;
}

/* Find the region that @key names in @pd, and its sequence. A failure is
 * counted. In a run.
 */
static struct cairn_mr *access_find(struct cairn_dev *dev, u32 key,
				    const struct ib_pd *pd, unsigned int *seq)
{
	struct cairn_mr *mr = cairn_key_find(dev, key);

	if (likely(mr)) {
		*seq = read_seqbegin(&mr->seq);
		if (likely(cairn_key_is(mr, key, pd)))
			return mr;
	}
	cairn_nic_count(&dev->nic, CAIRN_CTR_STALE_KEYS, 1);
	return NULL;
}

/* An access of 0 bytes does not check the key (IBTA 9.7.4.1.3). */
static int access_resolve(u32 key, u64 va, u64 len,
			  struct access_fragments *frags)
{
	struct cairn_dev *dev = cairn_qp_dev(frags->qp);
	struct cairn_mr *mr;
	unsigned int seq;
	int err;

	if (!len)
		return 0;
	if (key == LOCAL_DMA_LKEY) {
		if (frags->pd->uobject || access_is_remote(frags->access))
			return -EFAULT;
		return access_walk_kernel(va, len, false, frags);
	}
	if (key == CAIRN_NULL_LKEY)
		return access_walk_null(dev, va, len, frags);
	mr = access_find(dev, key, frags->pd, &seq);
	if (!mr || !access_allowed(mr, frags->qp, va, len, frags->access))
		return -EFAULT;
	if (frags->durability)
		*frags->durability = access_durability(mr);
	err = access_walk(mr, seq, va, len, frags);
	return read_seqretry(&mr->seq, seq) ? -EFAULT : err;
}

/* Work requests of a shared receive queue use keys of the queue's protection
 * domain. All others, and peers, use keys of the QP's protection domain.
 */
static struct ib_pd *access_pd(const struct cairn_qp *qp,
			       const struct cairn_span *span)
{
	const struct cairn_rq *rq = qp->receives;

	if (span->access != CAIRN_ACCESS_LOCAL_WRITE ||
	    span->side != CAIRN_RESP || !rq->shared)
		return qp->pd;
	return container_of(rq, const struct cairn_srq, rq)->ibsrq.pd;
}

/**
 * cairn_access_map() - find the memory behind a list of SGEs
 * @qp: the queue pair
 * @span: the list, how far to skip into it, and what access is wanted
 * @len: bytes
 * @bv: room for @max fragments, each within a page
 * @max: number of fragments
 *
 * Context: in a run; @bv is valid until the run ends.
 * Return: the number of fragments; -EFAULT when a key or range is refused or the
 * list is shorter than @len; -EAGAIN when on-demand memory is not present; -E2BIG.
 */
int cairn_access_map(struct cairn_qp *qp, const struct cairn_span *span, u32 len,
		     struct bio_vec *bv, int max)
{
	struct access_fragments frags = {
		.qp = qp, .pd = access_pd(qp, span), .bv = bv, .max = max,
		.access = span->access, .side = span->side,
	};
	u32 i, n, skip = span->offset;
	int err;

	for (i = 0; i < span->num_sge && len; i++) {
		const struct cairn_sge *sge = &span->sge[i];

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = min(len, sge->length - skip);
		frags.more = min(span->more, sge->length - skip - n);
		err = access_resolve(sge->lkey, sge->addr + skip, n, &frags);
		if (err)
			return err;
		len -= n;
		skip = 0;
	}
	return len ? -EFAULT : frags.n;
}

/**
 * cairn_access_check() - check an access
 * @qp: the queue pair
 * @key: lkey or rkey
 * @va: first byte
 * @len: bytes; 0 is always allowed
 * @access: kind of access
 *
 * Context: in a run.
 * Return: 0 or -EFAULT.
 */
int cairn_access_check(struct cairn_qp *qp, u32 key, u64 va, u64 len,
		       enum cairn_access access)
{
	struct access_fragments frags = {
		.qp = qp, .pd = qp->pd, .access = access,
	};

	return access_resolve(key, va, len, &frags);
}

/**
 * cairn_access_check_write() - check a write by a peer
 * @qp: the queue pair
 * @key: rkey
 * @va: first byte
 * @len: bytes; 0 is always allowed
 * @durability: gets the enum cairn_durability of the region
 *
 * Context: in a run.
 * Return: 0 or -EFAULT.
 */
int cairn_access_check_write(struct cairn_qp *qp, u32 key, u64 va, u64 len,
			     u8 *durability)
{
	struct access_fragments frags = {
		.qp = qp, .pd = qp->pd, .access = CAIRN_ACCESS_REMOTE_WRITE,
		.durability = durability,
	};

	*durability = CAIRN_DURABILITY_UNKNOWN;
	return access_resolve(key, va, len, &frags);
}

/**
 * cairn_access_check_atomic() - check an atomic by a peer
 * @qp: the queue pair
 * @key: rkey
 * @va: of the word
 * @durability: gets the enum cairn_durability of the region
 *
 * Context: in a run.
 * Return: 0 or -EFAULT.
 */
int cairn_access_check_atomic(struct cairn_qp *qp, u32 key, u64 va,
			      u8 *durability)
{
	struct access_fragments frags = {
		.qp = qp, .pd = qp->pd, .access = CAIRN_ACCESS_REMOTE_ATOMIC,
		.durability = durability,
	};

	*durability = CAIRN_DURABILITY_UNKNOWN;
	return access_resolve(key, va, sizeof(u64), &frags);
}

/**
 * cairn_access_flush_limit() - time that the host may take to answer
 * @qp: the queue pair
 * @key: rkey, of a region with host flush
 *
 * Context: in a run.
 * Return: ns, 0 for no limit.
 */
u64 cairn_access_flush_limit(struct cairn_qp *qp, u32 key)
{
	struct cairn_mr *mr = cairn_key_find(cairn_qp_dev(qp), key);

	return mr && cairn_key_is(mr, key, qp->pd) ?
	       (u64)READ_ONCE(mr->flush_limit) * NSEC_PER_MSEC : 0;
}

/**
 * cairn_access_bounds() - get the range of a region
 * @qp: the queue pair
 * @key: rkey
 * @va: gets the address of its first byte, as peers use it
 * @len: gets its length in bytes
 *
 * Rights are not checked: see cairn_access_check().
 *
 * Context: in a run.
 * Return: 0, or -EFAULT if @key is no key of @qp's protection domain or names all
 * of kernel memory.
 */
int cairn_access_bounds(struct cairn_qp *qp, u32 key, u64 *va, u64 *len)
{
	struct cairn_dev *dev = cairn_qp_dev(qp);
	struct cairn_mr *mr;
	unsigned int seq;

	mr = access_find(dev, key, qp->pd, &seq);
	if (!mr || mr->kind == CAIRN_MR_DMA)
		return -EFAULT;
	*va = mr->iova;
	*len = mr->length;
	return read_seqretry(&mr->seq, seq) ? -EFAULT : 0;
}

/* The aligned word at the address in @pkt, or an error. */
static u64 *access_word(struct cairn_qp *qp, const struct cairn_pkt *pkt,
			enum cairn_access access)
{
	struct bio_vec bv;
	struct access_fragments frags = {
		.qp = qp, .pd = qp->pd, .bv = &bv, .max = 1,
		.access = access, .side = CAIRN_RESP,
	};
	void *word;
	int err;

	err = access_resolve(pkt->rkey, pkt->va, sizeof(u64), &frags);
	if (err)
		return ERR_PTR(err == -EAGAIN ? err : -EFAULT);
	word = bvec_virt(&bv);
	return IS_ALIGNED((uintptr_t)word, sizeof(u64)) ? word :
							  ERR_PTR(-EFAULT);
}

/**
 * cairn_access_store() - perform an ATOMIC WRITE
 * @qp: the queue pair
 * @pkt: the request
 * @access: with CAIRN_ACCESS_REMOTE_PERSIST also start the write-back
 * @word: in the byte order of memory
 *
 * Context: in a run.
 * Return: 0, -EFAULT (key, range, alignment) or -EAGAIN (not present).
 */
int cairn_access_store(struct cairn_qp *qp, const struct cairn_pkt *pkt,
		       enum cairn_access access, u64 word)
{
	u64 *to = access_word(qp, pkt, access);

	if (IS_ERR(to))
		return PTR_ERR(to);
	/* Earlier requests have been placed. Pairs with the acquire of a program that reads
	 * the word.
	 */
	smp_store_release(to, word);
	if (access == CAIRN_ACCESS_REMOTE_PERSIST)
		cairn_flush_writeback(to, sizeof(*to));
	return 0;
}

/**
 * cairn_access_atomic() - perform an atomic request
 * @qp: the queue pair
 * @pkt: COMPARE SWAP or FETCH ADD
 * @orig: gets the old value
 * @writeback: also start the write-back of the word
 *
 * The operation is atomic also against 64-bit operations of the CPUs.
 *
 * Context: in a run.
 * Return: 0, -EFAULT (key, range, alignment) or -EAGAIN (not present).
 */
int cairn_access_atomic(struct cairn_qp *qp, const struct cairn_pkt *pkt,
			u64 *orig, bool writeback)
{
	u64 *word = access_word(qp, pkt, CAIRN_ACCESS_REMOTE_ATOMIC);

	if (IS_ERR(word))
		return PTR_ERR(word);
	if ((pkt->opcode & CAIRN_BTH_OP_MASK) == CAIRN_BTH_CMP_SWAP)
		*orig = cmpxchg64(word, pkt->compare, pkt->swap_add);
	else
		*orig = atomic64_fetch_add(pkt->swap_add, (atomic64_t *)word);
	if (writeback)
		cairn_flush_writeback(word, sizeof(*word));
	return 0;
}
