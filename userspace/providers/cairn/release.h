/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_RELEASE_H
#define CAIRN_RELEASE_H

#include "cairn.h"

/* Unmaps the release words of a context that is being freed. */
void cairn_release_free(struct cairn_context *ctx);

#endif /* CAIRN_RELEASE_H */
