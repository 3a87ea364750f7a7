// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Persistent memory regions, the release of tokens, and what the device can do.
 *
 * A token names the number of its queue pair (bits 8..31). That one must belong
 * to the caller, and have just this token outstanding; 32 random bits tell it
 * from those of the past.
 */
#include "lane/watch.h"
#include "persist/domain.h"
#include "verbs/limits.h"
#include "verbs/ops.h"
#include "verbs/persist.h"

#define UVERBS_MODULE_NAME cairn
#include <rdma/uverbs_named_ioctl.h>

int cairn_persist_mr_check(struct ib_device *ibdev, u32 flags)
{
	const char *reason = NULL;

	if (flags & ~CAIRN_MR_FLAGS)
		reason = "unknown flags";
	else if (hweight32(flags & (CAIRN_MR_PERSIST_NIC |
				    CAIRN_MR_PERSIST_HOST)) > 1)
		reason = "NIC flush and host flush exclude each other";
	else if (flags & CAIRN_MR_PERSIST_EMULATED &&
		 !(flags & CAIRN_MR_PERSIST_NIC))
		reason = "the emulated domain is for NIC flush";
	if (reason) {
		ibdev_dbg(ibdev, "reg_mr: flags %#x: %s\n", flags, reason);
		return -EINVAL;
	}
	if (flags & CAIRN_MR_PERSIST_NIC && !cairn_domain_can_writeback()) {
		ibdev_dbg(ibdev, "reg_mr: this CPU cannot write lines back\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

int cairn_persist_mr_flags(struct ib_device *ibdev, struct ib_udata *udata,
			   u32 *flags)
{
	struct cairn_reg_mr_req req;
	int err;

	*flags = 0;
	if (!udata || !udata->inlen)
		return 0;
	if (udata->inlen < sizeof(req) ||
	    !ib_is_udata_cleared(udata, sizeof(req),
				 udata->inlen - sizeof(req)))
		return -EINVAL;
	err = ib_copy_from_udata(&req, udata, sizeof(req));
	if (err)
		return err;
	if (req.reserved || udata->outlen < sizeof(struct cairn_reg_mr_resp))
		return -EINVAL;
	*flags = req.flags;
	return cairn_persist_mr_check(ibdev, req.flags);
}

int cairn_persist_mr_reply(struct ib_udata *udata, u32 flags)
{
	struct cairn_reg_mr_resp resp = { .flags = flags };

	if (!udata || !udata->inlen)
		return 0;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

/* RCU read section: keeps the QP, see cairn_destroy_qp(). */
static int release(struct cairn_exec *x, u64 token, u32 status)
{
	struct cairn_epoch *epoch = &x->nic->epoch;
	u32 tag;
	int err;

	cairn_exec_lock(x);
	/* A run of the engine: it looks at the region once more. */
	tag = cairn_epoch_enter(epoch, x->qpc->qpn);
	err = cairn_resp_release(x->qpc, token, status);
	cairn_epoch_leave(epoch, tag);
	cairn_exec_unlock(x);
	cairn_exec_kick(x, CAIRN_RESP);
	return err;
}

int cairn_persist_release(struct cairn_dev *dev, struct cairn_ucontext *uctx,
			  u64 token, u32 status)
{
	struct cairn_exec *x;
	int err = -ENOENT;

	rcu_read_lock();
	x = xa_load(&dev->nic.qps, token >> 8 & CAIRN_24BIT_MASK);
	if (x && container_of(x, struct cairn_qp, exec)->uctx == uctx)
		err = release(x, token, status);
	rcu_read_unlock();
	if (err)
		cairn_nic_count(&dev->nic, CAIRN_CTR_PERSIST_BAD_TOKENS, 1);
	return err;
}

void cairn_persist_revoke(struct cairn_dev *dev, u32 key)
{
	struct cairn_exec *x;
	unsigned long i;

	rcu_read_lock();
	xa_for_each(&dev->nic.qps, i, x) {
		if (!cairn_resp_pending(x->qpc))
			continue;
		cairn_exec_lock(x);
		cairn_resp_revoke(x->qpc, key);
		cairn_exec_unlock(x);
		cairn_exec_defer(x, CAIRN_RESP);
	}
	rcu_read_unlock();
}

/* Errors: -ENOENT no such token, -EINVAL reserved bits. */
static int UVERBS_HANDLER(CAIRN_METHOD_PERSIST_DONE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibuc = ib_uverbs_get_ucontext(attrs);
	struct cairn_persist_done done;
	int err;

	if (IS_ERR(ibuc))
		return PTR_ERR(ibuc);
	err = uverbs_copy_from(&done, attrs, CAIRN_ATTR_PERSIST_DONE);
	if (err)
		return err;
	if (done.reserved)
		return -EINVAL;
	return cairn_persist_release(to_cairn_dev(ibuc->device),
				     to_cairn_ucontext(ibuc), done.token,
				     done.status);
}

void cairn_persist_caps(struct cairn_device_caps *caps)
{
	*caps = (struct cairn_device_caps){
		.persist_domains = CAIRN_DOMAIN_HOST,
		.persist_modes = CAIRN_PERSIST_MODE_DEFAULT |
				 CAIRN_PERSIST_MODE_EARLY,
		.persist_atomic_unit = sizeof(u64),
		.max_persist_outstanding = CAIRN_MAX_PENDING,
		.max_msg = CAIRN_MAX_MSG,
	};

	if (cairn_domain_can_writeback())
		caps->persist_domains |= CAIRN_DOMAIN_PMEM |
					 CAIRN_DOMAIN_EMULATED;
}

static int UVERBS_HANDLER(CAIRN_METHOD_QUERY_DEVICE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibuc = ib_uverbs_get_ucontext(attrs);
	struct cairn_device_caps caps;

	if (IS_ERR(ibuc))
		return PTR_ERR(ibuc);
	cairn_persist_caps(&caps);
	caps.idle_us = cairn_idle_us(&to_cairn_dev(ibuc->device)->nic);
	return uverbs_copy_to_struct_or_zero(attrs,
					     CAIRN_ATTR_QUERY_DEVICE_CAPS,
					     &caps, sizeof(caps));
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_PERSIST_DONE,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_PERSIST_DONE,
					       UVERBS_ATTR_TYPE(struct cairn_persist_done),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_QUERY_DEVICE,
			    UVERBS_ATTR_PTR_OUT(CAIRN_ATTR_QUERY_DEVICE_CAPS,
						UVERBS_ATTR_STRUCT(struct cairn_device_caps,
								   persist_modes),
						UA_MANDATORY));

ADD_UVERBS_METHODS(persist_methods, CAIRN_OBJECT_DEVICE,
		   &UVERBS_METHOD(CAIRN_METHOD_PERSIST_DONE),
		   &UVERBS_METHOD(CAIRN_METHOD_QUERY_DEVICE));

const struct uapi_definition cairn_persist_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(CAIRN_OBJECT_DEVICE, &persist_methods),
	{},
};
