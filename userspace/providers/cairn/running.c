// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which libibverbs does this process run?
 *
 * The dynamic linker checks the name of the private interface, as IBVERBS_PRIVATE_34. But
 * libraries kept that name while layouts changed: in 44 and 45 struct ibv_qp_ex grew and
 * moved verbs_qp.comp_mask, in 62 the table of calls grew. Two things tell: the library's
 * file name ends in the version of rdma-core, and its behaviour gives its layouts away.
 * ibv_qp_to_qp_ex() finds VERBS_QP_EX if and only if it is where the library expects it,
 * and versions with a larger table of calls export new functions.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "running.h"
#include "verbs_private.h"

/* From the newest to the oldest: the first that fits it is. */
static const struct running_form {
	unsigned int version;	/* the first one with these layouts */
	unsigned int comp_mask;	/* words between ibv_qp_ex.wr_abort and this mask */
	const char *exports;	/* a function that came with it; NULL: none */
} running_forms[] = {
	{ 65, 3, "ibv_create_comp_cntr" },
	{ 64, 3, "ibv_alloc_buf" },
	{ 62, 3, "ibv_query_port_speed" },
	{ 59, 3, "ibv_reg_mr_ex" },
	{ 45, 3, NULL },
	{ 44, 2, NULL },
	{ 39, 1, NULL },
};

#define RUNNING_FORMS	(sizeof(running_forms) / sizeof(running_forms[0]))
#define RUNNING_NEWEST	65

unsigned int cairn_running_form(unsigned int version)
{
	for (size_t i = 0; i < RUNNING_FORMS && version <= RUNNING_NEWEST; i++)
		if (version >= running_forms[i].version)
			return running_forms[i].version;
	return 0;
}

/* Is comp_mask @words behind wr_abort? The bytes beyond are those of a larger verbs_qp. */
static bool running_has_mask(unsigned int words)
{
	uint64_t probe[128] = {};
	uint32_t mask = VERBS_QP_EX;

	memcpy((uint8_t *)probe + offsetof(struct ibv_qp_ex, wr_abort) + words * 8,
	       &mask, sizeof(mask));
	return ibv_qp_to_qp_ex((struct ibv_qp *)probe);
}

static unsigned int running_layouts(void)
{
	for (size_t i = 0; i < RUNNING_FORMS; i++) {
		const struct running_form *form = &running_forms[i];

		if (form->exports && !dlsym(RTLD_DEFAULT, form->exports))
			continue;
		if (running_has_mask(form->comp_mask))
			return form->version;
	}
	return 0;
}

void cairn_running_find(struct cairn_running *running)
{
	unsigned int minor;
	const char *name;
	Dl_info info;

	strcpy(running->path, "libibverbs");
	if (dladdr((void *)ibv_get_device_list, &info) && info.dli_fname &&
	    !realpath(info.dli_fname, running->path))
		snprintf(running->path, sizeof(running->path), "%s", info.dli_fname);
	name = strrchr(running->path, '/');
	running->version = 0;
	if (sscanf(name ? name + 1 : running->path, "libibverbs.so.1.%u.%u.", &minor,
		   &running->version) != 2)
		running->version = 0;
	running->form = running_layouts();
}
