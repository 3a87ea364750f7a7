// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Does the running libibverbs have the layouts that this library was built for?
 *
 * The dynamic linker checks the version name, as IBVERBS_PRIVATE_34. But libraries
 * after 44 kept this name while struct ibv_qp_ex grew and moved verbs_qp.comp_mask,
 * which libibverbs reads in every QP of the provider. So this test calls
 * ibv_qp_to_qp_ex(): it succeeds if and only if VERBS_QP_EX is at the place where the
 * library expects comp_mask.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "libcheck.h"
#include "verbs_private.h"

static bool libcheck_comp_mask(void)
{
	struct {
		struct verbs_qp vqp;
		uint8_t beyond[512];	/* a larger verbs_qp is read here */
	} probe = { .vqp.comp_mask = VERBS_QP_EX };

	return ibv_qp_to_qp_ex(&probe.vqp.qp);
}

static void libcheck_complain(void)
{
	char path[PATH_MAX];
	const char *name = "libibverbs";
	Dl_info info;

	if (dladdr((void *)ibv_qp_to_qp_ex, &info) && info.dli_fname)
		name = realpath(info.dli_fname, path) ? path : info.dli_fname;
	fprintf(stderr,
		"libcairn: %s is not the libibverbs version " VERBS_VERSIONS " that this library was built for; cairn devices will not be usable\n",
		name);
}

bool cairn_libcheck(void)
{
	if (libcheck_comp_mask())
		return true;
	libcheck_complain();
	return false;
}
