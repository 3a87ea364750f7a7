/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_LIBCHECK_H
#define CAIRN_LIBCHECK_H

#include <stdbool.h>

/* Whether this libibverbs is the one we are built for; complains if not. */
bool cairn_libcheck(void);

#endif /* CAIRN_LIBCHECK_H */
