/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_DOORBELL_H
#define CAIRN_DOORBELL_H

#include <rdma/cairn-abi.h>

#include "cairn.h"

/* Wakes the device. May execute sends before it returns. Return: 0 or errno. */
int cairn_doorbell(struct ibv_context *ctx, uint32_t qid, uint32_t index);
/* The same for @count queues, at most CAIRN_MAX_DOORBELLS, with one call. */
int cairn_doorbells(struct ibv_context *ctx, struct cairn_doorbell *db,
		    uint32_t count);

/*
 * A post whose lane is lazy: the next poll that finds nothing rings, or this call if many
 * posts wait for that, or if posts have waited alone before. Return: 0 or errno, which may
 * concern earlier posts, too.
 */
int cairn_doorbell_later(struct ibv_context *ctx, uint32_t qid, uint32_t index);
/* Rings for all posts whose lanes are lazy. Return: 0 or errno. */
int cairn_doorbell_all(struct cairn_context *ctx);

/*
 * Rings for all posts whose lanes are lazy, if there are any: a poll found nothing, a send
 * queue is full, a counter is read or an event asked for, so the program waits for its posts.
 * Or an object that they may name is about to go: then most of them are sent before, but not
 * those beyond 60 KiB, nor those that another thread or the lane serves at this moment.
 * Return: whether it rang.
 */
static inline bool cairn_doorbell_unrung(struct ibv_context *ibctx)
{
	struct cairn_context *ctx = to_cctx(ibctx);

	if (__builtin_expect(!__atomic_load_n(&ctx->unrung, __ATOMIC_RELAXED), 1))
		return false;
	/* It fails when the device was unplugged; then there is nothing to ring. */
	cairn_doorbell_all(ctx);
	return true;
}

#endif /* CAIRN_DOORBELL_H */
