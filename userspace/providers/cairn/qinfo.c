// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "qinfo.h"

static struct cairn_qinfo *qinfo_find(struct cairn_context *ctx,
				      const struct cairn_ring_desc *desc)
{
	struct cairn_qinfo *chunk;

	for (chunk = ctx->qinfo; chunk; chunk = chunk->next)
		if (chunk->dev_offset == desc->dev_offset &&
		    chunk->host_offset == desc->host_offset)
			return chunk;
	return NULL;
}

static void qinfo_unlist(struct cairn_context *ctx, struct cairn_qinfo *chunk)
{
	struct cairn_qinfo **link = &ctx->qinfo;

	if (!chunk->listed)
		return;
	while (*link != chunk)
		link = &(*link)->next;
	*link = chunk->next;
	chunk->listed = false;
}

static void qinfo_unmap(struct cairn_context *ctx, struct cairn_qinfo *chunk)
{
	cairn_unmap(chunk->host, ctx->page_size);
	cairn_unmap((void *)chunk->dev, ctx->page_size);
	free(chunk);
}

/* After a fork neither process sees what the other destroys. So the child forgets the
 * list: the chunks of its own queues are those that it maps itself.
 */
static void qinfo_begin_child(struct cairn_context *ctx)
{
	pid_t pid = getpid();

	if (ctx->pid == pid)
		return;
	ctx->pid = pid;
	while (ctx->qinfo)
		qinfo_unlist(ctx, ctx->qinfo);
}

static struct cairn_qinfo *qinfo_map(struct cairn_context *ctx,
				     const struct cairn_ring_desc *desc)
{
	struct cairn_qinfo *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->dev_offset = desc->dev_offset;
	chunk->host_offset = desc->host_offset;
	chunk->dev = cairn_map(ctx, desc->dev_offset, ctx->page_size,
			       PROT_READ);
	if (!chunk->dev)
		goto err_free;
	chunk->host = cairn_map(ctx, desc->host_offset, ctx->page_size,
				PROT_READ | PROT_WRITE);
	if (!chunk->host)
		goto err_unmap;
	chunk->next = ctx->qinfo;
	ctx->qinfo = chunk;
	chunk->listed = true;
	return chunk;

err_unmap:
	cairn_unmap((void *)chunk->dev, ctx->page_size);
err_free:
	free(chunk);
	return NULL;
}

struct cairn_qinfo *cairn_qinfo_get(struct cairn_context *ctx,
				    const struct cairn_ring_desc *desc)
{
	struct cairn_qinfo *chunk;

	pthread_mutex_lock(&ctx->qinfo_lock);
	qinfo_begin_child(ctx);
	chunk = qinfo_find(ctx, desc);
	if (!chunk)
		chunk = qinfo_map(ctx, desc);
	if (chunk) {
		chunk->refs++;
		chunk->live++;
	}
	pthread_mutex_unlock(&ctx->qinfo_lock);
	return chunk;
}

void cairn_qinfo_retire(struct cairn_context *ctx, struct cairn_qinfo *chunk)
{
	pthread_mutex_lock(&ctx->qinfo_lock);
	if (--chunk->live == 0)
		qinfo_unlist(ctx, chunk);
	pthread_mutex_unlock(&ctx->qinfo_lock);
}

/* An unlisted chunk stays unlisted: a second mapping of it does no harm. */
void cairn_qinfo_revive(struct cairn_context *ctx, struct cairn_qinfo *chunk)
{
	pthread_mutex_lock(&ctx->qinfo_lock);
	chunk->live++;
	pthread_mutex_unlock(&ctx->qinfo_lock);
}

/* After cairn_qinfo_retire(). */
void cairn_qinfo_put(struct cairn_context *ctx, struct cairn_qinfo *chunk)
{
	pthread_mutex_lock(&ctx->qinfo_lock);
	if (--chunk->refs == 0)
		qinfo_unmap(ctx, chunk);
	pthread_mutex_unlock(&ctx->qinfo_lock);
}

void cairn_qinfo_free_all(struct cairn_context *ctx)
{
	struct cairn_qinfo *chunk;

	while ((chunk = ctx->qinfo)) {
		qinfo_unlist(ctx, chunk);
		qinfo_unmap(ctx, chunk);
	}
}
