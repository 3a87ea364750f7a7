// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <inttypes.h>
#include <stdlib.h>

#include "check_region.h"
#include "check_report.h"
#include "pd.h"

#define REGION_BUCKETS	1024

struct region {
	struct region *next;
	const struct ibv_context *ctx;
	const struct ibv_pd *pd;
	uint32_t key;
	int access;
	uint64_t iova;
	uint64_t length;
	bool ended;
	struct cairn_trace made;
	struct cairn_trace gone;	/* where it ended */
};

static struct region *regions[REGION_BUCKETS];

/* The low byte of a key varies. */
static struct region **region_bucket(uint32_t key)
{
	return &regions[(key >> 8) % REGION_BUCKETS];
}

static struct region *region_find(const struct ibv_context *ctx, uint32_t key)
{
	struct region *region = *region_bucket(key);

	while (region && (region->key != key || region->ctx != ctx))
		region = region->next;
	return region;
}

void cairn_region_open(const struct ibv_mr *mr, uint64_t iova, uint64_t length,
		       int access)
{
	struct region *region = region_find(mr->context, mr->lkey);

	if (!region) {
		region = calloc(1, sizeof(*region));
		if (!region)
			return;
		region->next = *region_bucket(mr->lkey);
		*region_bucket(mr->lkey) = region;
	}
	region->ctx = mr->context;
	region->pd = cairn_pd_base(mr->pd);
	region->key = mr->lkey;
	region->access = access;
	region->iova = iova;
	region->length = length;
	region->ended = false;
	cairn_trace_take(&region->made);
}

void cairn_region_close(const struct ibv_mr *mr)
{
	struct region *region = region_find(mr->context, mr->lkey);

	if (!region)
		return;
	region->ended = true;
	cairn_trace_take(&region->gone);
}

uint64_t cairn_region_iova(const struct ibv_mr *mr)
{
	const struct region *region = region_find(mr->context, mr->lkey);

	return region ? region->iova : (uintptr_t)mr->addr;
}

void cairn_region_forget_all(const struct ibv_context *ctx)
{
	for (size_t i = 0; i < REGION_BUCKETS; i++) {
		struct region **link = &regions[i];

		while (*link) {
			struct region *region = *link;

			if (region->ctx == ctx) {
				*link = region->next;
				free(region);
			} else {
				link = &region->next;
			}
		}
	}
}

static void region_report_unknown(const struct cairn_region_use *use,
				  const struct region *region,
				  const struct ibv_sge *sge)
{
	struct cairn_report report = { .here = true };

	if (region) {
		report.first = &region->gone;
		report.first_title = "region deregistered at:";
	}
	cairn_report_write(CAIRN_REPORT_KEY_UNKNOWN, &report,
			   "%s uses key 0x%x, which %s", use->what, sge->lkey,
			   region ? "is of a region that was deregistered" :
				    "is of no region of this device context");
}

void cairn_region_check(const struct cairn_region_use *use,
			const struct ibv_sge *sge)
{
	const struct region *region = region_find(use->ctx, sge->lkey);
	struct cairn_report report = {
		.first_title = "region registered at:", .here = true,
	};
	uint64_t offset;

	if (sge->lkey == CAIRN_NULL_LKEY)
		return;
	if (!region || region->ended) {
		region_report_unknown(use, region, sge);
		return;
	}
	report.first = &region->made;
	offset = sge->addr - region->iova;
	if (region->pd != use->pd)
		cairn_report_write(CAIRN_REPORT_KEY_OTHER_PD, &report,
				   "%s uses key 0x%x of a region in another protection domain than the queue's",
				   use->what, sge->lkey);
	else if (offset > region->length || sge->length > region->length - offset)
		cairn_report_write(CAIRN_REPORT_KEY_RANGE, &report,
				   "%s uses %u bytes at 0x%" PRIx64 " by key 0x%x, whose region has %" PRIu64 " bytes at 0x%" PRIx64,
				   use->what, sge->length, sge->addr, sge->lkey,
				   region->length, region->iova);
	else if (use->needs & ~region->access)
		cairn_report_write(CAIRN_REPORT_KEY_ACCESS, &report,
				   "%s writes into the region of key 0x%x, which was registered without IBV_ACCESS_LOCAL_WRITE",
				   use->what, sge->lkey);
}

int cairn_region_access(const struct ibv_context *ctx, uint32_t key)
{
	const struct region *region = region_find(ctx, key);

	return region && !region->ended ? region->access : 0;
}

bool cairn_region_any(void)
{
	for (size_t i = 0; i < REGION_BUCKETS; i++)
		for (const struct region *region = regions[i]; region; region = region->next)
			if (!region->ended)
				return true;
	return false;
}
