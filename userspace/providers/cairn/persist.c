// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Direct verbs of persistence; posting is in qpex.c and send.c. */
#include <errno.h>
#include <string.h>

#include "cq.h"
#include "fault.h"
#include "method.h"
#include "mr.h"
#include "persist.h"

_Static_assert((int)CAIRNDV_DOMAIN_PMEM == CAIRN_DOMAIN_PMEM &&
	       (int)CAIRNDV_DOMAIN_HOST == CAIRN_DOMAIN_HOST &&
	       (int)CAIRNDV_DOMAIN_EMULATED == CAIRN_DOMAIN_EMULATED &&
	       (int)CAIRNDV_PERSIST_MODE_DEFAULT ==
	       CAIRN_PERSIST_MODE_DEFAULT &&
	       (int)CAIRNDV_PERSIST_MODE_EARLY == CAIRN_PERSIST_MODE_EARLY &&
	       (int)CAIRNDV_PERSIST_MODE_IMM == CAIRN_PERSIST_MODE_IMM &&
	       (int)CAIRNDV_PERSIST_MODE_DONE == CAIRN_PERSIST_MODE_DONE,
	       "domains and modes are passed through");
_Static_assert((int)CAIRNDV_DURABILITY_EADR == CAIRN_DURABILITY_EADR &&
	       (int)CAIRNDV_DURABILITY_ADR == CAIRN_DURABILITY_ADR &&
	       (int)CAIRNDV_DURABILITY_HOST == CAIRN_DURABILITY_HOST &&
	       (int)CAIRNDV_DURABILITY_EMULATED == CAIRN_DURABILITY_EMULATED,
	       "durability is passed through");
_Static_assert((int)CAIRNDV_PERSISTENT_DECLARED == CAIRN_PERSISTENT_DECLARED &&
	       (int)CAIRNDV_PERSISTENT_AUTO == CAIRN_PERSISTENT_AUTO,
	       "passed through");

_Static_assert(sizeof(struct cairndv_persist_info) == 64,
	       "programs have arrays of it");

static int persist_method(struct ibv_context *ctx, uint16_t method,
			  uint16_t attr_id, void *data, uint16_t size)
{
	return cairn_method_error(cairn_method(ctx, method, attr_id, data,
					       size));
}

int cairndv_query_device(struct ibv_context *ctx,
			 struct cairndv_device_attr *attr, size_t size)
{
	struct cairndv_device_attr known = {};
	struct cairn_device_caps caps = {};
	int err;

	if (!cairn_dv_owns(ctx))
		return EOPNOTSUPP;
	err = persist_method(ctx, CAIRN_METHOD_QUERY_DEVICE,
			     CAIRN_ATTR_QUERY_DEVICE_CAPS, &caps, sizeof(caps));
	if (err)
		return err;
	known.persist_domains = caps.persist_domains;
	known.persist_modes = caps.persist_modes;
	known.persist_atomic_unit = caps.persist_atomic_unit;
	known.max_persist_outstanding = caps.max_persist_outstanding;
	known.max_persist_msg = caps.max_msg;
	known.idle_us = caps.idle_us;
	known.loopback = caps.loopback;
	memcpy(known.fabric, caps.fabric, sizeof(known.fabric));
	known.capture = caps.capture;
	known.persistent = caps.persistent;
	cairn_dv_fill(attr, size, &known, sizeof(known));
	return 0;
}

int cairndv_set_persistent(struct ibv_context *ctx, enum cairndv_persistent mode)
{
	struct cairn_set_persistent req = { .mode = mode };

	return cairn_method_tune(ctx, CAIRN_METHOD_SET_PERSISTENT,
				 cairn_method_attr(CAIRN_ATTR_SET_PERSISTENT,
						   &req, sizeof(req)));
}

uint32_t cairn_persist_mr_flags(unsigned int access)
{
	uint32_t flags = 0;

	if (access & CAIRNDV_ACCESS_PERSISTENT)
		flags |= CAIRN_MR_PERSIST_NIC;
	if (access & CAIRNDV_ACCESS_PERSISTENT_HOST)
		flags |= CAIRN_MR_PERSIST_HOST;
	if (access & CAIRNDV_ACCESS_PERSISTENT_EMULATED)
		flags |= CAIRN_MR_PERSIST_EMULATED;
	if (access & CAIRNDV_ACCESS_FLUSH_GLOBAL)
		flags |= CAIRN_MR_FLUSH_GLOBAL;
	if (access & CAIRNDV_ACCESS_FLUSH_PERSISTENT)
		flags |= CAIRN_MR_FLUSH_PERSISTENT;
	return flags;
}

int cairndv_query_mr(struct ibv_mr *ibmr, struct cairndv_mr_attr *attr,
		     size_t size)
{
	struct cairndv_mr_attr known = {};
	uint32_t flags;

	if (!cairn_dv_owns(ibmr->context))
		return EOPNOTSUPP;
	flags = to_cmr(ibmr)->persist;
	if (flags & CAIRN_MR_PERSIST_NIC)
		known.persist_domain = flags & CAIRN_MR_PERSIST_EMULATED ?
				       CAIRNDV_DOMAIN_EMULATED :
				       CAIRNDV_DOMAIN_PMEM;
	else if (flags & CAIRN_MR_PERSIST_HOST)
		known.persist_domain = CAIRNDV_DOMAIN_HOST;
	known.flush_limit_ms = to_cmr(ibmr)->flush_limit;
	cairn_dv_fill(attr, size, &known, sizeof(known));
	return 0;
}

_Static_assert(CAIRNDV_FLUSH_LIMIT_MAX == CAIRN_MAX_FLUSH_LIMIT,
	       "passed through");

int cairndv_set_flush_limit(struct ibv_mr *ibmr, uint32_t ms)
{
	struct cairn_set_flush_limit req = { .ms = ms };
	const struct ib_uverbs_attr attrs[] = {
		cairn_method_object_attr(CAIRN_ATTR_FLUSH_LIMIT_MR,
					 ibmr->handle),
		cairn_method_attr(CAIRN_ATTR_FLUSH_LIMIT_IN, &req,
				  sizeof(req)),
	};
	int err;

	if (!cairn_dv_owns(ibmr->context))
		return EOPNOTSUPP;
	/* the device has no such region */
	if (to_cmr(ibmr)->vmr.mr_type == VERBS_MR_TYPE_NULL)
		return EINVAL;
	err = cairn_method_attrs(ibmr->context, CAIRN_OBJECT_TUNING,
				 CAIRN_METHOD_SET_FLUSH_LIMIT, attrs, 2);
	if (!err)
		to_cmr(ibmr)->flush_limit = ms;
	return cairn_method_error(err);
}

static uint32_t persist_kind(const struct cairn_cqe *cqe, enum ibv_wc_status status)
{
	/* The other fields of an error only name the request. */
	if (status != IBV_WC_SUCCESS)
		return CAIRNDV_PERSIST_NONE;
	switch (cqe->opcode) {
	case CAIRN_CQE_WRITE_PERSIST:
		return CAIRNDV_PERSIST_WRITE;
	case CAIRN_CQE_RECV_PERSIST:
		return CAIRNDV_PERSIST_FLUSH;
	case CAIRN_CQE_RECV_DURABLE:
		return CAIRNDV_PERSIST_DURABLE;
	case CAIRN_CQE_RECV_IMM:
		return cqe->durability ? CAIRNDV_PERSIST_RECEIVED :
					 CAIRNDV_PERSIST_NONE;
	default:
		return CAIRNDV_PERSIST_NONE;
	}
}

void cairn_persist_info(const struct cairn_cqe *cqe, enum ibv_wc_status status,
			struct cairndv_persist_info *info)
{
	memset(info, 0, sizeof(*info));
	info->kind = persist_kind(cqe, status);
	info->qp_num = cqe->qpn;
	if (info->kind == CAIRNDV_PERSIST_NONE)
		return;
	info->psn = cqe->psn;
	info->durability = cqe->durability;
	if (info->kind == CAIRNDV_PERSIST_WRITE)
		return;
	info->va = cqe->persist_va;
	if (info->kind == CAIRNDV_PERSIST_DURABLE)
		return;
	info->length = cqe->byte_len;
	if (info->kind == CAIRNDV_PERSIST_FLUSH)
		info->token = cqe->persist_token;
}

int cairndv_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc,
		    struct cairndv_persist_info *info)
{
	if (!cairn_dv_owns(ibcq->context))
		return -EOPNOTSUPP;
	return cairn_cq_poll(to_ccq(ibcq), num_entries, wc, info);
}

int cairndv_wc_read_persist(struct ibv_cq_ex *ibcq,
			    struct cairndv_persist_info *info)
{
	struct cairn_cq *cq = to_ccq_ex(ibcq);

	if (!cairn_dv_owns(ibcq->context))
		return EOPNOTSUPP;
	if (!cq->cur)
		return EINVAL;
	cairn_persist_info(cq->cur, ibcq->status, info);
	return 0;
}

int cairndv_persist_done(struct ibv_context *ctx, uint64_t token, int status)
{
	struct cairn_persist_done done = {
		.token = token,
		.status = (uint32_t)status,
	};

	if (!cairn_dv_owns(ctx))
		return EOPNOTSUPP;
	if (status < 0)
		return EINVAL;
	if (to_cctx(ctx)->faulty)
		cairn_fault_persist(ctx, &done, 1);
	return persist_method(ctx, CAIRN_METHOD_PERSIST_DONE,
			      CAIRN_ATTR_PERSIST_DONE, &done, sizeof(done));
}

_Static_assert(CAIRNDV_PERSIST_ANSWERS == CAIRN_MAX_PERSIST_DONES,
	       "one call");

static int persist_done_call(struct ibv_context *ctx,
			     struct cairn_persist_done *done, uint32_t num,
			     uint64_t *refused)
{
	struct ib_uverbs_attr attrs[] = {
		cairn_method_attr(CAIRN_ATTR_PERSIST_DONE, done,
				  (uint16_t)(num * sizeof(*done))),
		cairn_method_attr(CAIRN_ATTR_PERSIST_DONE_REFUSED, refused,
				  sizeof(*refused)),
	};

	/* an output is never in the attribute itself */
	attrs[1].data = (uintptr_t)refused;
	return cairn_method_error(cairn_method_attrs(ctx, CAIRN_OBJECT_DEVICE,
						     CAIRN_METHOD_PERSIST_DONE,
						     attrs, 2));
}

int cairndv_persist_done_all(struct ibv_context *ctx,
			     const struct cairndv_persist_answer *answers,
			     uint32_t num, uint64_t *refused)
{
	struct cairn_persist_done done[CAIRNDV_PERSIST_ANSWERS];
	uint64_t bits = 0;
	int err;

	if (!cairn_dv_owns(ctx))
		return EOPNOTSUPP;
	if (!num || num > CAIRNDV_PERSIST_ANSWERS)
		return EINVAL;
	for (uint32_t i = 0; i < num; i++) {
		if (answers[i].status < 0 || answers[i].reserved)
			return EINVAL;
		done[i] = (struct cairn_persist_done){
			.token = answers[i].token,
			.status = (uint32_t)answers[i].status,
		};
	}
	if (to_cctx(ctx)->faulty)
		cairn_fault_persist(ctx, done, num);
	err = persist_done_call(ctx, done, num, &bits);
	if (refused)
		*refused = bits;
	return err;
}
