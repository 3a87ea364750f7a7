/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The objects of checked contexts, where they were created, and those that are left. */
#ifndef CAIRN_CHECK_OBJECT_H
#define CAIRN_CHECK_OBJECT_H

#include <stdbool.h>

#include <infiniband/verbs.h>

struct cairn_object;

/* Under the lock of check.h. @kind: as in a report. */
void cairn_object_open(const struct ibv_context *ctx, const char *kind,
		       const void *object);
/*
 * Before the call that ends an object, as its address may be another's afterwards.
 * cairn_object_return() tells how the call went.
 */
struct cairn_object *cairn_object_take(const void *object);
void cairn_object_return(struct cairn_object *object, bool ended);
/* Return: whether it was created, and not ended. */
bool cairn_object_known(const void *object);
/* Reports the objects of @ctx that are left, and forgets them; NULL: of all contexts. */
void cairn_object_leaks(const struct ibv_context *ctx);

#endif /* CAIRN_CHECK_OBJECT_H */
