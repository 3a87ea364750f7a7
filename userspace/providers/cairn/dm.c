// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dm.h"
#include "mr.h"

#define DM_UNIT		4u	/* offsets and lengths of copies, as with mlx5 */

#define DM_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |	\
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |	\
			 IBV_ACCESS_ZERO_BASED | IBV_ACCESS_OPTIONAL_RANGE)

static bool dm_has(const struct cairn_dm *dm, uint64_t offset, size_t length)
{
	return length <= dm->length && offset <= dm->length - length;
}

static int dm_check_copy(const struct cairn_dm *dm, uint64_t offset,
			 size_t length)
{
	if (offset % DM_UNIT || length % DM_UNIT)
		return EINVAL;
	return dm_has(dm, offset, length) ? 0 : EFAULT;
}

static int dm_copy_to(struct ibv_dm *ibdm, uint64_t offset, const void *from,
		      size_t length)
{
	struct cairn_dm *dm = to_cdm(ibdm);
	int err = dm_check_copy(dm, offset, length);

	if (!err)
		memcpy(dm->mem + offset, from, length);
	return err;
}

static int dm_copy_from(void *to, struct ibv_dm *ibdm, uint64_t offset,
			size_t length)
{
	struct cairn_dm *dm = to_cdm(ibdm);
	int err = dm_check_copy(dm, offset, length);

	if (!err)
		memcpy(to, dm->mem + offset, length);
	return err;
}

/* Count @bytes more of the context. Return: are they left? */
static bool dm_take(struct cairn_context *ctx, size_t bytes)
{
	size_t has = __atomic_load_n(&ctx->dm_bytes, __ATOMIC_RELAXED);

	do {
		if (bytes > CAIRN_MAX_DM - has)
			return false;
	} while (!__atomic_compare_exchange_n(&ctx->dm_bytes, &has, has + bytes,
					      true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

static void dm_give(struct cairn_context *ctx, size_t bytes)
{
	__atomic_sub_fetch(&ctx->dm_bytes, bytes, __ATOMIC_RELAXED);
}

static int dm_check(const struct cairn_context *ctx,
		    const struct ibv_alloc_dm_attr *attr)
{
	if (attr->comp_mask || !attr->length || attr->length > CAIRN_MAX_DM)
		return EINVAL;
	return attr->log_align_req < 32 &&
	       1ull << attr->log_align_req <= ctx->page_size ? 0 : EINVAL;
}

struct ibv_dm *cairn_alloc_dm(struct ibv_context *ibctx,
			      struct ibv_alloc_dm_attr *attr)
{
	struct cairn_context *ctx = to_cctx(ibctx);
	struct cairn_dm *dm;
	int err;

	err = dm_check(ctx, attr);
	if (err)
		goto err_check;
	err = ENOMEM;
	if (!dm_take(ctx, attr->length))
		goto err_check;
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		goto err_take;
	dm->length = attr->length;
	dm->mapped = (attr->length + ctx->page_size - 1) & ~(ctx->page_size - 1);
	dm->mem = mmap(NULL, dm->mapped, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (dm->mem == MAP_FAILED)
		goto err_map;
	dm->dm.context = ibctx;
	dm->dm.memcpy_to_dm = dm_copy_to;
	dm->dm.memcpy_from_dm = dm_copy_from;
	return &dm->dm;

err_map:
	free(dm);
err_take:
	dm_give(ctx, attr->length);
err_check:
	errno = err;
	return NULL;
}

int cairn_free_dm(struct ibv_dm *ibdm)
{
	struct cairn_dm *dm = to_cdm(ibdm);

	if (__atomic_load_n(&dm->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	munmap(dm->mem, dm->mapped);
	dm_give(to_cctx(ibdm->context), dm->length);
	free(dm);
	return 0;
}

void cairn_dm_release(struct cairn_dm *dm)
{
	__atomic_sub_fetch(&dm->users, 1, __ATOMIC_RELEASE);
}

struct ibv_mr *cairn_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm,
			       uint64_t offset, size_t length,
			       unsigned int access)
{
	struct cairn_dm *dm = to_cdm(ibdm);
	struct ibv_mr *mr;

	if (!(access & IBV_ACCESS_ZERO_BASED) || access & ~DM_ACCESS ||
	    !dm_has(dm, offset, length)) {
		errno = EINVAL;
		return NULL;
	}
	mr = cairn_reg_mr(pd, dm->mem + offset, length,
			  (uintptr_t)dm->mem + offset, (int)access);
	if (!mr)
		return NULL;
	__atomic_add_fetch(&dm->users, 1, __ATOMIC_RELAXED);
	to_cmr(mr)->dm = dm;
	mr->context = pd->context;
	mr->pd = pd;
	/* The memory is the device's: programs have offsets only. */
	mr->addr = NULL;
	mr->length = length;
	return mr;
}
