// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "comp_cntr.h"
#include "comp_cntr_abi.h"
#include "doorbell.h"
#include "method.h"

static int comp_cntr_call(struct ibv_context *ctx, uint16_t object,
			  uint16_t method, const struct ib_uverbs_attr *attrs,
			  unsigned int n)
{
	return cairn_method_error(cairn_method_attrs(ctx, object, method, attrs, n));
}

/* Constants of enumerations have eight bytes. */
static struct ib_uverbs_attr comp_cntr_attr(uint16_t attr_id, uint64_t value)
{
	return cairn_method_attr(attr_id, &value, sizeof(value));
}

int cairn_query_comp_cntr_caps(struct ibv_context *ctx,
			       struct verbs_comp_cntr_caps *caps, size_t size)
{
	const struct ib_uverbs_attr attrs[] = {
		cairn_method_out_attr(COMP_CNTR_ATTR_CAPS_MAX, &caps->max_counters,
				      sizeof(caps->max_counters)),
		cairn_method_out_attr(COMP_CNTR_ATTR_CAPS_VALUE, &caps->max_value,
				      sizeof(caps->max_value)),
		cairn_method_out_attr(COMP_CNTR_ATTR_CAPS_OPS,
				      &caps->supported_qp_attach_ops,
				      sizeof(caps->supported_qp_attach_ops)),
	};

	if (size < sizeof(*caps))
		return EINVAL;
	return comp_cntr_call(ctx, UVERBS_OBJECT_DEVICE, COMP_CNTR_METHOD_CAPS,
			      attrs, 3);
}

struct verbs_comp_cntr *
cairn_create_comp_cntr(struct ibv_context *ctx,
		       struct verbs_comp_cntr_init_attr *attr)
{
	struct verbs_comp_cntr *cntr;
	int err;

	/* work requests are counted, not bytes */
	if (attr->comp_mask || attr->flags || attr->type) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	cntr = calloc(1, sizeof(*cntr));
	if (!cntr)
		return NULL;
	cntr->context = ctx;
	err = cairn_method_create(ctx, COMP_CNTR_OBJECT, COMP_CNTR_METHOD_CREATE,
				  COMP_CNTR_ATTR_HANDLE, &cntr->handle);
	if (!err)
		return cntr;
	free(cntr);
	errno = cairn_method_error(err);
	return NULL;
}

int cairn_destroy_comp_cntr(struct verbs_comp_cntr *cntr)
{
	const struct ib_uverbs_attr attr =
		cairn_method_object_attr(COMP_CNTR_ATTR_HANDLE, cntr->handle);
	int err = comp_cntr_call(cntr->context, COMP_CNTR_OBJECT,
				 COMP_CNTR_METHOD_DESTROY, &attr, 1);

	if (!err)
		free(cntr);
	return err;
}

static int comp_cntr_modify(struct verbs_comp_cntr *cntr,
			    enum comp_cntr_entry entry, enum comp_cntr_op op,
			    uint64_t value)
{
	const struct ib_uverbs_attr attrs[] = {
		cairn_method_object_attr(COMP_CNTR_ATTR_HANDLE, cntr->handle),
		comp_cntr_attr(COMP_CNTR_ATTR_ENTRY, entry),
		comp_cntr_attr(COMP_CNTR_ATTR_MODIFY_OP, op),
		comp_cntr_attr(COMP_CNTR_ATTR_MODIFY_VALUE, value),
	};

	return comp_cntr_call(cntr->context, COMP_CNTR_OBJECT,
			      COMP_CNTR_METHOD_MODIFY, attrs, 4);
}

int cairn_set_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t value)
{
	return comp_cntr_modify(cntr, COMP_CNTR_DONE, COMP_CNTR_SET, value);
}

int cairn_set_err_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t value)
{
	return comp_cntr_modify(cntr, COMP_CNTR_FAILED, COMP_CNTR_SET, value);
}

int cairn_inc_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t amount)
{
	return comp_cntr_modify(cntr, COMP_CNTR_DONE, COMP_CNTR_INC, amount);
}

int cairn_inc_err_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t amount)
{
	return comp_cntr_modify(cntr, COMP_CNTR_FAILED, COMP_CNTR_INC, amount);
}

static int comp_cntr_read(struct verbs_comp_cntr *cntr,
			  enum comp_cntr_entry entry, uint64_t *value)
{
	const struct ib_uverbs_attr attrs[] = {
		cairn_method_object_attr(COMP_CNTR_ATTR_HANDLE, cntr->handle),
		comp_cntr_attr(COMP_CNTR_ATTR_ENTRY, entry),
		cairn_method_out_attr(COMP_CNTR_ATTR_READ_VALUE, value,
				      sizeof(*value)),
	};

	cairn_doorbell_unrung(cntr->context);
	return comp_cntr_call(cntr->context, COMP_CNTR_OBJECT,
			      COMP_CNTR_METHOD_READ, attrs, 3);
}

int cairn_read_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t *value)
{
	return comp_cntr_read(cntr, COMP_CNTR_DONE, value);
}

int cairn_read_err_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t *value)
{
	return comp_cntr_read(cntr, COMP_CNTR_FAILED, value);
}

int cairn_qp_attach_comp_cntr(struct ibv_qp *qp, struct verbs_comp_cntr *cntr,
			      struct verbs_qp_attach_comp_cntr_attr *attr)
{
	const struct ib_uverbs_attr attrs[] = {
		cairn_method_object_attr(COMP_CNTR_ATTR_ATTACH_QP, qp->handle),
		cairn_method_object_attr(COMP_CNTR_ATTR_ATTACH_CNTR, cntr->handle),
		cairn_method_attr(COMP_CNTR_ATTR_ATTACH_OPS, &attr->op_mask,
				  sizeof(attr->op_mask)),
	};

	if (attr->comp_mask)
		return EINVAL;
	/* the kernel says EINVAL, the manual ENOTSUP */
	if (attr->op_mask & ~COMP_CNTR_OPS)
		return EOPNOTSUPP;
	return comp_cntr_call(qp->context, UVERBS_OBJECT_QP,
			      COMP_CNTR_METHOD_ATTACH, attrs, 3);
}
