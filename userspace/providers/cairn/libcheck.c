// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Does the running libibverbs have the layouts that this library was built for? */
#include <stdio.h>

#include "libcheck.h"
#include "running.h"
#include "verbs_private.h"

static bool libcheck_fits(const struct cairn_running *running)
{
	if (running->form != cairn_running_form(VERBS_CORE))
		return false;
	return !running->version ||
	       (running->version >= VERBS_FIRST && running->version <= VERBS_LAST);
}

static void libcheck_complain(const struct cairn_running *running)
{
	char version[32] = "an unknown version";

	if (running->version)
		snprintf(version, sizeof(version), "rdma-core %u", running->version);
	fprintf(stderr,
		"libcairn: %s is of %s, this libcairn is for rdma-core %d to %d; cairn devices will not be usable: install the libcairn that belongs to this libibverbs, or set IBV_DRIVERS=/opt/cairn/lib/libcairn where \"make providers\" put its directory\n",
		running->path, version, VERBS_FIRST, VERBS_LAST);
}

bool cairn_libcheck(void)
{
	struct cairn_running running;

	cairn_running_find(&running);
	if (libcheck_fits(&running))
		return true;
	libcheck_complain(&running);
	return false;
}
