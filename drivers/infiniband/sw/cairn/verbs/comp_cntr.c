// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion counters. A QP has pointers to those that are attached, one for each kind of
 * work. ib_core does not destroy a counter before the QPs that it is attached to, so they
 * need no reference.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/lockdep.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include "device/share.h"
#include "verbs/comp_cntr.h"
#include "verbs/limits.h"
#include "verbs/udata.h"
#include "verbs/verbs.h"

/* Bytes that ib_core allocates for a counter, about, and charges to no cgroup. */
#define COMP_CNTR_CHARGE	256

/* The values have memory of their own, which is charged: as much as ib_core allocates. */
struct cairn_comp_counts {
	atomic64_t done;
	atomic64_t failed;
	u8 charge[COMP_CNTR_CHARGE - 2 * sizeof(atomic64_t)];
};

struct cairn_comp_cntr {
	struct ib_comp_cntr ibcc;
	struct cairn_comp_counts *counts;
	struct cairn_share_user *user;
};

static struct cairn_comp_cntr *comp_cntr_of(struct ib_comp_cntr *ibcc)
{
	return container_of(ibcc, struct cairn_comp_cntr, ibcc);
}

/* Attached counters, by bit of enum cairn_tally. */
struct cairn_tallies {
	struct cairn_comp_counts *counts[6];
};

static_assert(CAIRN_TALLIES ==
	      BIT(ARRAY_SIZE(((struct cairn_tallies *)0)->counts)) - 1);

/**
 * comp_cntr_create() - ib_device_ops.create_comp_cntr
 * @ibcc: zeroed, except for the members that ib_core has set
 * @attrs: of the command, which has none of our own
 *
 * Context: process.
 * Return: 0; -ENOMEM (also at the limit) or -EDQUOT (the share of the user).
 */
static int comp_cntr_create(struct ib_comp_cntr *ibcc,
			    struct uverbs_attr_bundle *attrs)
{
	struct cairn_nic *nic = &to_cairn_dev(ibcc->device)->nic;
	struct cairn_comp_cntr *cc = comp_cntr_of(ibcc);
	int err;

	cc->user = cairn_udata_user(&attrs->driver_udata);
	err = cairn_share_take(nic, CAIRN_SHARE_COMP_CNTR, CAIRN_MAX_COMP_CNTR,
			       cc->user);
	if (err)
		return err;
	cc->counts = kzalloc(sizeof(*cc->counts), GFP_KERNEL_ACCOUNT);
	if (cc->counts)
		return 0;
	cairn_share_give(nic, CAIRN_SHARE_COMP_CNTR, cc->user);
	return -ENOMEM;
}

/* ib_device_ops.destroy_comp_cntr: no QP has it attached. */
static int comp_cntr_destroy(struct ib_comp_cntr *ibcc)
{
	struct cairn_comp_cntr *cc = comp_cntr_of(ibcc);

	kfree(cc->counts);
	cairn_share_give(&to_cairn_dev(ibcc->device)->nic, CAIRN_SHARE_COMP_CNTR,
			 cc->user);
	return 0;
}

/* NULL: there is no such entry. */
static atomic64_t *comp_cntr_value(struct ib_comp_cntr *ibcc,
				   enum ib_comp_cntr_entry entry)
{
	struct cairn_comp_counts *counts = comp_cntr_of(ibcc)->counts;

	switch (entry) {
	case IB_COMP_CNTR_ENTRY_COMP:
		return &counts->done;
	case IB_COMP_CNTR_ENTRY_ERR:
		return &counts->failed;
	}
	return NULL;
}

/**
 * comp_cntr_modify() - ib_device_ops.modify_comp_cntr
 * @ibcc: may be attached; no count is lost
 * @entry: which of its two values; ib_core does not check it
 * @op: the same
 * @value: added, modulo 2^64, or set
 *
 * Context: process.
 * Return: 0 or -EINVAL.
 */
static int comp_cntr_modify(struct ib_comp_cntr *ibcc,
			    enum ib_comp_cntr_entry entry,
			    enum ib_comp_cntr_modify_op op, u64 value)
{
	atomic64_t *at = comp_cntr_value(ibcc, entry);

	if (!at)
		return -EINVAL;
	switch (op) {
	case IB_COMP_CNTR_MODIFY_OP_SET:
		atomic64_set(at, value);
		return 0;
	case IB_COMP_CNTR_MODIFY_OP_INC:
		atomic64_add(value, at);
		return 0;
	}
	return -EINVAL;
}

/* ib_device_ops.read_comp_cntr. Return: 0 or -EINVAL. */
static int comp_cntr_read(struct ib_comp_cntr *ibcc, enum ib_comp_cntr_entry entry,
			  u64 *value)
{
	const atomic64_t *at = comp_cntr_value(ibcc, entry);

	if (!at)
		return -EINVAL;
	/* Pairs with the barrier in cairn_comp_cntr_count(). */
	*value = atomic64_read_acquire(at);
	return 0;
}

/* ib_device_ops.query_comp_cntr_caps */
static int comp_cntr_query_caps(struct ib_device *ibdev,
				struct ib_comp_cntr_caps *caps,
				struct uverbs_attr_bundle *attrs)
{
	*caps = (struct ib_comp_cntr_caps){
		.max_value = U64_MAX,
		.max_counters = CAIRN_MAX_COMP_CNTR,
		.supported_qp_attach_ops = CAIRN_TALLIES,
	};
	return 0;
}

void cairn_comp_cntr_count(struct cairn_qp *qp, enum cairn_tally kind,
			   bool failed)
{
	struct cairn_comp_counts *counts =
		qp->cold->tallies->counts[__ffs(kind)];

	/* The data and the completion are visible before the count. */
	smp_mb__before_atomic();
	atomic64_inc(failed ? &counts->failed : &counts->done);
}

void cairn_comp_cntr_forget(struct cairn_qp *qp)
{
	kfree(qp->cold->tallies);
}

/* Only in RESET and INIT (ibv_qp_attach_comp_cntr(3)), in which no work is done. */
static int comp_cntr_check_qp(const struct cairn_qp *qp, u32 kinds)
{
	lockdep_assert_held(&qp->exec.side[CAIRN_REQ].lock);
	lockdep_assert_held(&qp->exec.side[CAIRN_RESP].lock);
	if (qp->retired)
		return -EIO;
	if (qp->qpc.state != CAIRN_QP_RESET && qp->qpc.state != CAIRN_QP_INIT)
		return -EINVAL;
	return qp->qpc.tallied & kinds ? -EBUSY : 0;
}

static int comp_cntr_set(struct cairn_qp *qp, struct cairn_comp_counts *counts,
			 unsigned long kinds)
{
	struct cairn_tallies *tallies = qp->cold->tallies;
	unsigned int bit;
	int err;

	lockdep_assert_held(&qp->cold->modify_lock);
	cairn_exec_lock(&qp->exec);
	err = comp_cntr_check_qp(qp, kinds);
	if (!err) {
		for_each_set_bit(bit, &kinds, ARRAY_SIZE(tallies->counts))
			tallies->counts[bit] = counts;
		qp->qpc.tallied |= kinds;
	}
	cairn_exec_unlock(&qp->exec);
	return err;
}

/**
 * comp_cntr_attach() - ib_device_ops.qp_attach_comp_cntr
 * @ibqp: in RESET or INIT; the counter stays attached until the QP is destroyed
 * @ibcc: of the same context
 * @attr: the kinds of work
 *
 * Context: process.
 * Return: 0; -EOPNOTSUPP: unknown kinds; -EINVAL: state, or another handle of a QP;
 * -EBUSY: a counter is attached for one of the kinds; -EIO: the device leaves; -ENOMEM.
 */
static int comp_cntr_attach(struct ib_qp *ibqp, struct ib_comp_cntr *ibcc,
			    struct ib_qp_attach_comp_cntr_attr *attr)
{
	struct cairn_qp *qp = to_cairn_qp(ibqp);
	int err = 0;

	/* ib_core allocates the handles of XRC targets, and they are no struct cairn_qp. */
	if (ibqp->real_qp != ibqp)
		return -EINVAL;
	if (attr->op_mask & ~CAIRN_TALLIES)
		return -EOPNOTSUPP;
	mutex_lock(&qp->cold->modify_lock);
	if (!qp->cold->tallies)
		qp->cold->tallies = kzalloc(sizeof(*qp->cold->tallies),
					    GFP_KERNEL_ACCOUNT);
	if (qp->cold->tallies)
		err = comp_cntr_set(qp, comp_cntr_of(ibcc)->counts,
				    attr->op_mask);
	else
		err = -ENOMEM;
	mutex_unlock(&qp->cold->modify_lock);
	return err;
}

const struct compat_comp_cntr_ops cairn_comp_cntr_ops = {
	.create_comp_cntr = comp_cntr_create,
	.destroy_comp_cntr = comp_cntr_destroy,
	.modify_comp_cntr = comp_cntr_modify,
	.read_comp_cntr = comp_cntr_read,
	.query_comp_cntr_caps = comp_cntr_query_caps,
	.qp_attach_comp_cntr = comp_cntr_attach,
	INIT_RDMA_OBJ_SIZE(ib_comp_cntr, cairn_comp_cntr, ibcc),
};
