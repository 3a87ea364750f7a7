// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Deregistration without waiting: cairndv_dereg_mr_async(3). */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "dv.h"
#include "method.h"
#include "mr.h"
#include "release.h"

static size_t release_bytes(const struct cairn_context *ctx)
{
	return ctx->release_slots * sizeof(*ctx->releases);
}

/* The words stay the same while the context lives. Return: NULL with errno set. */
static const uint32_t *release_word(struct cairn_context *ctx, uint32_t ticket)
{
	const uint32_t *word = NULL;

	pthread_mutex_lock(&ctx->qinfo_lock);
	if (!ctx->releases && ctx->release_slots)
		ctx->releases = cairn_map(ctx, ctx->release_offset,
					  release_bytes(ctx), PROT_READ);
	if (ctx->releases)
		word = &ctx->releases[ticket % ctx->release_slots];
	else if (!ctx->release_slots)
		errno = EINVAL;
	pthread_mutex_unlock(&ctx->qinfo_lock);
	return word;
}

void cairn_release_free(struct cairn_context *ctx)
{
	if (ctx->releases)
		cairn_unmap((void *)ctx->releases, release_bytes(ctx));
}

static void release_set_words(struct cairn_context *ctx,
			      const struct cairn_dereg_mr_resp *resp)
{
	pthread_mutex_lock(&ctx->qinfo_lock);
	if (!ctx->releases) {
		ctx->release_offset = resp->offset;
		ctx->release_slots = resp->slots;
	}
	pthread_mutex_unlock(&ctx->qinfo_lock);
}

int cairn_release_dereg(struct cairn_mr *mr)
{
	const struct ibv_mr *ibmr = &mr->vmr.ibv_mr;
	const struct ib_uverbs_attr attrs[] = {
		cairn_method_object_attr(CAIRN_ATTR_DEREG_MR_HANDLE,
					 ibmr->handle),
		cairn_method_attr(CAIRN_ATTR_DEREG_MR_RESP, mr->release,
				  sizeof(*mr->release)),
	};
	int err = cairn_method_attrs(ibmr->context, CAIRN_OBJECT_DEVICE,
				     CAIRN_METHOD_DEREG_MR, attrs, 2);

	return cairn_method_error(err);
}

int cairndv_dereg_mr_async(struct ibv_mr *mr, uint32_t *ticket)
{
	struct ibv_context *ibctx = mr->context;
	struct cairn_dereg_mr_resp resp = {};
	int err;

	if (!cairn_dv_owns(ibctx))
		return EOPNOTSUPP;
	/* the device has no region to release */
	if (to_cmr(mr)->vmr.mr_type == VERBS_MR_TYPE_NULL)
		return EINVAL;
	/* by way of the checks, the faults and the profile of the context */
	to_cmr(mr)->release = &resp;
	err = to_cctx(ibctx)->dereg_mr(&to_cmr(mr)->vmr);
	if (err) {
		to_cmr(mr)->release = NULL;
		return err;
	}
	*ticket = resp.ticket;
	release_set_words(to_cctx(ibctx), &resp);
	return 0;
}

int cairndv_query_release(struct ibv_context *ibctx, uint32_t ticket)
{
	const uint32_t *word;
	uint32_t last;

	if (!cairn_dv_owns(ibctx))
		return EOPNOTSUPP;
	word = release_word(to_cctx(ibctx), ticket);
	if (!word)
		return errno;
	/* Acquire: later writes to the memory stay behind this load. Pairs with
	 * the device's release.
	 */
	last = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	return (int32_t)(last - ticket) >= 0 ? 0 : EBUSY;
}
