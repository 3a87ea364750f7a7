// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ready.h"

/* A mapped page of the kernel and its mmap() offset. */
struct cairn_shared_page {
	struct cairn_shared_page *next;
	uint64_t offset;
	void *addr;
};

/* Needs cairn_context.qinfo_lock. Return: NULL with errno set on failure. */
static void *ready_get_page(struct cairn_context *ctx, uint64_t offset,
			    int prot)
{
	struct cairn_shared_page *page;

	for (page = ctx->pages; page; page = page->next)
		if (page->offset == offset)
			return page->addr;
	page = malloc(sizeof(*page));
	if (!page)
		return NULL;
	page->offset = offset;
	page->addr = cairn_map(ctx, offset, ctx->page_size, prot);
	if (!page->addr) {
		free(page);
		return NULL;
	}
	page->next = ctx->pages;
	ctx->pages = page;
	return page->addr;
}

static bool ready_desc_sane(const struct cairn_ring_desc *desc)
{
	return desc->ready_bit < CAIRN_READY_QUEUES &&
	       desc->wake_index < CAIRN_MAX_LANES &&
	       desc->ready_offset != desc->wake_offset;
}

int cairn_ready_map(struct cairn_context *ctx, struct cairn_ready *ready,
		    const struct cairn_ring_desc *desc)
{
	uint32_t word = desc->ready_bit / 64;
	struct cairn_ready_page *map;
	const struct cairn_wake *wake;
	int err = 0;

	if (!desc->depth)	/* no send queue */
		return 0;
	if (!ready_desc_sane(desc))
		return EPROTO;
	pthread_mutex_lock(&ctx->qinfo_lock);
	map = ready_get_page(ctx, desc->ready_offset, PROT_READ | PROT_WRITE);
	wake = map ? ready_get_page(ctx, desc->wake_offset, PROT_READ) : NULL;
	if (!wake)
		err = errno;
	pthread_mutex_unlock(&ctx->qinfo_lock);
	if (err)
		return err;
	ready->word = (uint64_t *)&map->words[word];
	ready->summary = (uint64_t *)&map->summary;
	ready->word_bit = 1ULL << desc->ready_bit % 64;
	ready->summary_bit = 1ULL << word;
	ready->state = &wake[desc->wake_index].asleep;
	return 0;
}

void cairn_ready_free_all(struct cairn_context *ctx)
{
	struct cairn_shared_page *page;

	while ((page = ctx->pages)) {
		ctx->pages = page->next;
		cairn_unmap(page->addr, ctx->page_size);
		free(page);
	}
}
