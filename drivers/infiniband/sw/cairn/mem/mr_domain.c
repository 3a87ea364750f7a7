// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "mem/mr_domain.h"
#include "persist/domain.h"

int cairn_mr_domain_check(struct ib_device *ibdev, u32 flags)
{
	const char *reason = NULL;

	if (flags & ~CAIRN_MR_FLAGS)
		reason = "unknown flags";
	else if (hweight32(flags & (CAIRN_MR_PERSIST_NIC |
				    CAIRN_MR_PERSIST_HOST)) > 1)
		reason = "NIC flush and host flush exclude each other";
	else if (flags & CAIRN_MR_PERSIST_EMULATED &&
		 !(flags & (CAIRN_MR_PERSIST_NIC | CAIRN_MR_FLUSH_PERSISTENT)))
		reason = "the emulated domain is for NIC flush and FLUSH";
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

int cairn_mr_domain_check_flush(struct ib_device *ibdev, u32 flags)
{
	if (flags & CAIRN_MR_PERSIST_HOST) {
		ibdev_dbg(ibdev, "reg_mr: a region with host flush cannot allow FLUSH\n");
		return -EINVAL;
	}
	if (!cairn_domain_can_writeback()) {
		ibdev_dbg(ibdev, "reg_mr: this CPU cannot write lines back\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

int cairn_mr_domain_flags(struct ib_device *ibdev, struct ib_udata *udata,
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
	return cairn_mr_domain_check(ibdev, req.flags);
}

int cairn_mr_domain_reply(struct ib_udata *udata, u32 flags)
{
	struct cairn_reg_mr_resp resp = { .flags = flags };

	if (!udata || !udata->inlen)
		return 0;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}
