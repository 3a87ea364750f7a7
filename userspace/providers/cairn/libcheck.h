/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_LIBCHECK_H
#define CAIRN_LIBCHECK_H

#include <stdbool.h>

/* Return: whether this libibverbs has the expected layouts; prints a message if not. */
bool cairn_libcheck(void);

#endif /* CAIRN_LIBCHECK_H */
