// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Deregistration without waiting: cairndv_dereg_mr_async(3). */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "dv.h"
#include "method.h"
#include "mr.h"
#include "release.h"

#define RELEASE_BYTES	(CAIRN_RELEASE_SLOTS * sizeof(uint32_t))

/* The words are the same ones for the life of the context; NULL with errno. */
static const uint32_t *release_words(struct cairn_context *ctx)
{
	const uint32_t *words;

	pthread_mutex_lock(&ctx->qinfo_lock);
	if (!ctx->releases && ctx->has_releases)
		ctx->releases = cairn_map(ctx, ctx->release_offset,
					  RELEASE_BYTES, PROT_READ);
	words = ctx->releases;
	if (!ctx->has_releases)
		errno = EINVAL;
	pthread_mutex_unlock(&ctx->qinfo_lock);
	return words;
}

void cairn_release_free(struct cairn_context *ctx)
{
	if (ctx->releases)
		cairn_unmap(ctx, (void *)ctx->releases, RELEASE_BYTES);
}

static void release_set_offset(struct cairn_context *ctx, uint64_t offset)
{
	pthread_mutex_lock(&ctx->qinfo_lock);
	ctx->has_releases = true;
	ctx->release_offset = offset;
	pthread_mutex_unlock(&ctx->qinfo_lock);
}

static int release_dereg(struct ibv_mr *mr, struct cairn_dereg_mr_resp *resp)
{
	const struct ib_uverbs_attr attrs[] = {
		cairn_method_object_attr(CAIRN_ATTR_DEREG_MR_HANDLE,
					 mr->handle),
		cairn_method_attr(CAIRN_ATTR_DEREG_MR_RESP, resp,
				  sizeof(*resp)),
	};

	int err = cairn_method_attrs(mr->context, CAIRN_OBJECT_DEVICE,
				     CAIRN_METHOD_DEREG_MR, attrs, 2);

	return cairn_method_error(err);
}

int cairndv_dereg_mr_async(struct ibv_mr *mr, uint32_t *ticket)
{
	struct cairn_dereg_mr_resp resp = {};
	int err;

	if (!cairn_dv_owns(mr->context))
		return EOPNOTSUPP;
	cairn_mr_forget(to_cmr(mr));
	err = release_dereg(mr, &resp);
	if (err) {
		cairn_mr_remember(to_cmr(mr));
		return err;
	}
	*ticket = resp.ticket;
	release_set_offset(to_cctx(mr->context), resp.offset);
	free(to_cmr(mr));
	return 0;
}

int cairndv_query_release(struct ibv_context *ibctx, uint32_t ticket)
{
	const uint32_t *words;
	uint32_t word;

	if (!cairn_dv_owns(ibctx))
		return EOPNOTSUPP;
	words = release_words(to_cctx(ibctx));
	if (!words)
		return errno;
	/* Acquire: what is written to the memory now comes after. Pairs with
	 * the device's release.
	 */
	word = __atomic_load_n(&words[ticket % CAIRN_RELEASE_SLOTS],
			       __ATOMIC_ACQUIRE);
	return (int32_t)(word - ticket) >= 0 ? 0 : EBUSY;
}
