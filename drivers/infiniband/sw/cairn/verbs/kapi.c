// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The functions for other modules, declared in <rdma/cairn.h>.
 *
 * struct ib_wc has no members for what a completion says about durability. It is stored
 * in members that have no meaning in a successful completion of a reliable connection on
 * Ethernet: source QP, source LID, vendor error, source MAC and VLAN.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <rdma/cairn.h>
#include "mem/mr.h"
#include "mem/mr_domain.h"
#include "persist/domain.h"
#include "verbs/caps.h"
#include "verbs/host_flush.h"
#include "verbs/kapi.h"
#include "verbs/peer.h"

#define KIND_SHIFT	24
#define DURABILITY_SHIFT	28

static const u8 kapi_kinds[] = {
	[CAIRN_CQE_WRITE_PERSIST] = CAIRN_PERSIST_KIND_WRITE,
	[CAIRN_CQE_RECV_PERSIST] = CAIRN_PERSIST_KIND_FLUSH,
	[CAIRN_CQE_RECV_DURABLE] = CAIRN_PERSIST_KIND_DURABLE,
};

static u8 kapi_kind(const struct cairn_cqe *cqe)
{
	if (cqe->opcode == CAIRN_CQE_RECV_IMM)
		return cqe->durability ? CAIRN_PERSIST_KIND_RECEIVED :
					 CAIRN_PERSIST_KIND_NONE;
	return cqe->opcode < ARRAY_SIZE(kapi_kinds) ? kapi_kinds[cqe->opcode] : 0;
}

void cairn_kapi_put_persist(struct ib_wc *wc, const struct cairn_cqe *cqe)
{
	u8 kind = kapi_kind(cqe);

	if (!kind || cqe->status)
		return;
	wc->src_qp = (u32)cqe->durability << DURABILITY_SHIFT |
		     (u32)kind << KIND_SHIFT | (cqe->psn & CAIRN_24BIT_MASK);
	wc->slid = lower_32_bits(cqe->persist_token);
	wc->vendor_err = upper_32_bits(cqe->persist_token);
	u64_to_ether_addr(cqe->persist_va, wc->smac);
	wc->vlan_id = cqe->persist_va >> 48;
}

/**
 * cairn_wc_persist() - get what a completion says about durability
 * @wc: from ib_poll_cq(), of an RC QP of a cairn device
 * @info: filled in; its kind is CAIRN_PERSIST_KIND_NONE for errors and for completions
 *	that say nothing about durability
 *
 * origins.rst, P5, P7.
 *
 * Context: any.
 */
void cairn_wc_persist(const struct ib_wc *wc, struct cairn_persist_info *info)
{
	memset(info, 0, sizeof(*info));
	if (wc->status)
		return;
	info->kind = wc->src_qp >> KIND_SHIFT & 0xf;
	info->durability = wc->src_qp >> DURABILITY_SHIFT;
	info->psn = wc->src_qp & CAIRN_24BIT_MASK;
	if (info->kind < CAIRN_PERSIST_KIND_FLUSH)
		return;
	info->va = ether_addr_to_u64(wc->smac) | (u64)wc->vlan_id << 48;
	if (info->kind == CAIRN_PERSIST_KIND_DURABLE)
		return;
	info->length = wc->byte_len;
	if (info->kind != CAIRN_PERSIST_KIND_FLUSH)
		return;
	info->token = (u64)wc->vendor_err << 32 | wc->slid;
}
EXPORT_SYMBOL_GPL(cairn_wc_persist);

static bool kapi_is_cairn(const struct ib_device *ibdev)
{
	return ibdev->ops.driver_id == (enum rdma_driver_id)CAIRN_DRIVER_ID;
}

/**
 * cairn_query_device() - get the durability capabilities of a device
 * @ibdev: any device
 * @caps: filled in
 *
 * Context: any.
 * Return: 0; -EOPNOTSUPP: not a cairn device.
 */
int cairn_query_device(struct ib_device *ibdev, struct cairn_device_caps *caps)
{
	if (!kapi_is_cairn(ibdev))
		return -EOPNOTSUPP;
	cairn_caps_get(caps);
	return 0;
}
EXPORT_SYMBOL_GPL(cairn_query_device);

/**
 * cairn_query_peer() - ask the device at the other end what it can make durable
 * @ibqp: connected QP, which the caller does not destroy meanwhile
 * @caps: filled in; all zero: the peer does not know WRITE_PERSIST, and refuses it or
 *	does not answer it
 * @timeout_ms: 1..CAIRN_MAX_PEER_TIMEOUT; the question is retransmitted meanwhile
 *
 * The answer says nothing about a region; post a WRITE_PERSIST of no bytes for that.
 *
 * Context: process, sleeps until the answer arrives.
 * Return: 0; -EOPNOTSUPP: not a cairn device; -EINVAL: not RC, not connected, or
 * @timeout_ms out of range; -ETIMEDOUT: no answer; -EPROTO: malformed answer; -EAGAIN:
 * too many callers; -EINTR: killed; -ENODEV: the device is being unregistered;
 * -ENOMEM.
 */
int cairn_query_peer(struct ib_qp *ibqp, struct cairn_peer_caps *caps,
		     unsigned int timeout_ms)
{
	if (!kapi_is_cairn(ibqp->device))
		return -EOPNOTSUPP;
	return cairn_peer_query(to_cairn_qp(ibqp->real_qp), caps, timeout_ms);
}
EXPORT_SYMBOL_GPL(cairn_query_peer);

/* Are all blocks in persistent memory? @blocks: kernel virtual addresses. */
static bool kapi_all_pmem(const unsigned long *blocks, u32 num_blocks,
			  u8 block_shift)
{
	u32 i;

	for (i = 0; i < num_blocks; i++) {
		void *va = (void *)blocks[i];

		if (!virt_addr_valid(va) ||
		    !cairn_domain_is_pmem(virt_to_phys(va), BIT(block_shift)))
			return false;
	}
	return num_blocks;
}

/* Are the blocks at least as large as a word? Words of a message are stored whole, so
 * blocks must not divide them.
 */
static bool kapi_whole_words(const struct cairn_mr *mr)
{
	const struct cairn_mr_map *map = &mr->map;

	return BIT(map->fresh ? map->block_shift : mr->block_shift) >=
	       CAIRN_WORD;
}

/* Is the memory of the last ib_map_mr_sg() persistent? It waits for REG_MR or has been
 * registered.
 */
static bool kapi_mapped_pmem(const struct cairn_mr *mr)
{
	const struct cairn_mr_map *map = &mr->map;

	return map->fresh ?
		kapi_all_pmem(map->blocks, map->num_blocks, map->block_shift) :
		kapi_all_pmem(mr->blocks, mr->num_blocks, mr->block_shift);
}

/**
 * cairn_mr_set_persistent() - make remote writes to a region durable
 * @ibmr: from ib_alloc_mr(), after ib_map_mr_sg() and before IB_WR_REG_MR
 * @flags: enum cairn_mr_flags, as for a registration by a process; 0: ordinary
 *
 * The flags stay until the next ib_map_mr_sg(), also across invalidations. The caller
 * does not map or register the region during the call. With CAIRN_MR_PERSIST_HOST each
 * remote write consumes a receive, see cairn_persist_done(). origins.rst, P3.
 *
 * Context: process.
 * Return: 0; -EINVAL: flags, kind of region, pages below 8 bytes, or memory that is not
 * persistent (an ibdev_dbg() line has the reason); -EBUSY: registered, and not mapped
 * again since; -EOPNOTSUPP: not a cairn device, or this CPU cannot write lines back.
 */
int cairn_mr_set_persistent(struct ib_mr *ibmr, u32 flags)
{
	struct ib_device *ibdev = ibmr->device;
	struct cairn_mr *mr = to_cairn_mr(ibmr);
	unsigned long irqflags;
	int err;

	if (!kapi_is_cairn(ibdev))
		return -EOPNOTSUPP;
	if (mr->kind != CAIRN_MR_FAST || flags & ~CAIRN_MR_PERSIST_FLAGS)
		return -EINVAL;
	err = cairn_mr_domain_check(ibdev, flags);
	if (err)
		return err;
	if (flags && !kapi_whole_words(mr))
		return -EINVAL;
	if (flags & CAIRN_MR_PERSIST_NIC &&
	    !(flags & CAIRN_MR_PERSIST_EMULATED) && !kapi_mapped_pmem(mr)) {
		ibdev_dbg(ibdev, "mr_set_persistent: not persistent memory\n");
		return -EINVAL;
	}
	write_seqlock_irqsave(&mr->seq, irqflags);
	if (mr->map.fresh)
		mr->map.persist = flags;
	else if (mr->valid)
		err = -EBUSY;
	else
		mr->persist = flags;
	write_sequnlock_irqrestore(&mr->seq, irqflags);
	return err;
}
EXPORT_SYMBOL_GPL(cairn_mr_set_persistent);

/**
 * cairn_persist_done() - end a host flush: the message is durable or has failed
 * @ibdev: the device
 * @token: from a CAIRN_PERSIST_KIND_FLUSH completion of a kernel QP
 * @status: 0: the range is durable; an errno of either sign: it will not be, and the
 *	connection fails
 *
 * Tokens may be returned in any order. origins.rst, P5.
 *
 * Context: process or soft interrupt with interrupts on, e.g. done() of ib_alloc_cq(). Not
 * a CQ's own completion handler, which runs below a lock of the QP, and not below a lock
 * that such a handler takes.
 * Return: 0; -ENOENT: no such token is outstanding (counted), or its region has been
 * released; -EOPNOTSUPP: not a cairn device.
 */
int cairn_persist_done(struct ib_device *ibdev, u64 token, int status)
{
	const struct cairn_persist_done done = {
		.token = token,
		.status = abs(status),
	};

	if (!kapi_is_cairn(ibdev))
		return -EOPNOTSUPP;
	return cairn_host_flush_done(to_cairn_dev(ibdev), NULL, &done, 1) ?
		       -ENOENT : 0;
}
EXPORT_SYMBOL_GPL(cairn_persist_done);
