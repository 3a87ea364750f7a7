/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_RELEASE_H
#define CAIRN_RELEASE_H

#include "mr.h"

/* Unmaps the release words of a context that is being freed. */
void cairn_release_free(struct cairn_context *ctx);
/* The command that fills mr->release. Return: 0 or an errno. */
int cairn_release_dereg(struct cairn_mr *mr);

#endif /* CAIRN_RELEASE_H */
