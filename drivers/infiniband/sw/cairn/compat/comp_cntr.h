/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Since 7.3 ib_core has completion counters. For older kernels, which never call the
 * verbs of verbs/comp_cntr.c, this file declares what these need to compile.
 */
#ifndef CAIRN_COMPAT_COMP_CNTR_H
#define CAIRN_COMPAT_COMP_CNTR_H

#include <rdma/ib_verbs.h>
#include "compat/found.h"

#ifdef CAIRN_HAS_COMP_CNTR
#define compat_comp_cntr_ops	ib_device_ops

static inline void compat_set_comp_cntr(struct ib_device *ibdev,
					const struct compat_comp_cntr_ops *ops)
{
	ib_set_device_ops(ibdev, ops);
}
#else
enum ib_comp_cntr_entry {
	IB_COMP_CNTR_ENTRY_COMP,
	IB_COMP_CNTR_ENTRY_ERR,
};

enum ib_comp_cntr_modify_op {
	IB_COMP_CNTR_MODIFY_OP_SET,
	IB_COMP_CNTR_MODIFY_OP_INC,
};

struct ib_comp_cntr {
	struct ib_device *device;
};

struct ib_comp_cntr_caps {
	u64 max_value;
	u32 max_counters;
	u32 supported_qp_attach_ops;
};

struct ib_qp_attach_comp_cntr_attr {
	u32 op_mask;
};

struct compat_comp_cntr_ops {
	int (*qp_attach_comp_cntr)(struct ib_qp *ibqp, struct ib_comp_cntr *ibcc,
				   struct ib_qp_attach_comp_cntr_attr *attr);
	int (*create_comp_cntr)(struct ib_comp_cntr *ibcc,
				struct uverbs_attr_bundle *attrs);
	int (*destroy_comp_cntr)(struct ib_comp_cntr *ibcc);
	int (*modify_comp_cntr)(struct ib_comp_cntr *ibcc,
				enum ib_comp_cntr_entry entry,
				enum ib_comp_cntr_modify_op op, u64 value);
	int (*read_comp_cntr)(struct ib_comp_cntr *ibcc,
			      enum ib_comp_cntr_entry entry, u64 *value);
	int (*query_comp_cntr_caps)(struct ib_device *ibdev,
				    struct ib_comp_cntr_caps *caps,
				    struct uverbs_attr_bundle *attrs);
	size_t size_ib_comp_cntr;
};

static inline void compat_set_comp_cntr(struct ib_device *ibdev,
					const struct compat_comp_cntr_ops *ops)
{
}
#endif

#endif
