/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The kernel's methods for completion counters, from rdma/ib_user_ioctl_cmds.h and
 * ib_user_ioctl_verbs.h of Linux 7.3: installed headers are older.
 */
#ifndef CAIRN_COMP_CNTR_ABI_H
#define CAIRN_COMP_CNTR_ABI_H

enum {
	COMP_CNTR_OBJECT = 19,
	COMP_CNTR_METHOD_CREATE = 0,
	COMP_CNTR_METHOD_DESTROY = 1,
	COMP_CNTR_METHOD_MODIFY = 2,
	COMP_CNTR_METHOD_READ = 3,
	COMP_CNTR_METHOD_ATTACH = 2,	/* of UVERBS_OBJECT_QP */
	COMP_CNTR_METHOD_CAPS = 8,	/* of UVERBS_OBJECT_DEVICE */
};

/* Attributes of these methods. */
enum {
	COMP_CNTR_ATTR_HANDLE = 0,	/* CREATE, DESTROY, MODIFY, READ */
	COMP_CNTR_ATTR_ENTRY = 1,	/* MODIFY, READ */
	COMP_CNTR_ATTR_MODIFY_OP = 2,
	COMP_CNTR_ATTR_MODIFY_VALUE = 3,
	COMP_CNTR_ATTR_READ_VALUE = 2,
	COMP_CNTR_ATTR_ATTACH_QP = 0,
	COMP_CNTR_ATTR_ATTACH_CNTR = 1,
	COMP_CNTR_ATTR_ATTACH_OPS = 2,
	COMP_CNTR_ATTR_CAPS_MAX = 0,
	COMP_CNTR_ATTR_CAPS_VALUE = 1,
	COMP_CNTR_ATTR_CAPS_OPS = 2,
};

enum comp_cntr_entry { COMP_CNTR_DONE, COMP_CNTR_FAILED };
enum comp_cntr_op { COMP_CNTR_SET, COMP_CNTR_INC };

/* All of enum ib_uverbs_qp_attach_comp_cntr_op. */
#define COMP_CNTR_OPS	0x3fu

#endif /* CAIRN_COMP_CNTR_ABI_H */
