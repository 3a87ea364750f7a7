/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The option of all tools that shows how to call them. */
#ifndef CAIRN_WANTS_HELP_H
#define CAIRN_WANTS_HELP_H

#include <stdbool.h>
#include <string.h>

/* Is the usage asked for? Then it goes to the standard output, and the exit status is 0. */
static inline bool wants_help(int argc, char **argv)
{
	return argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
}

#endif
