/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Which libibverbs does this process run? */
#ifndef CAIRN_RUNNING_H
#define CAIRN_RUNNING_H

#include <limits.h>

struct cairn_running {
	char path[PATH_MAX];	/* of the library, as far as it is known */
	unsigned int version;	/* of rdma-core, from the file's name; 0: unknown */
	unsigned int form;	/* first version with these layouts; 0: unknown */
};

/* Context: before any device is open; calls ibv_qp_to_qp_ex() with memory of its own. */
void cairn_running_find(struct cairn_running *running);

/* Return: the first version that has the layouts of @version, or 0 if they are unknown. */
unsigned int cairn_running_form(unsigned int version);

#endif /* CAIRN_RUNNING_H */
