// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several versions of rdma-core load a provider by the same name, libcairn-rdmav34.so, and
 * need different ones. This one loads the provider for the version that runs, from
 * the directory rdma-core-N beside its own file.
 *
 * CHOOSE_VERSIONS is a list of { first, last }: the versions of which there are providers.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "running.h"

static const struct choose_range {
	unsigned int first;
	unsigned int last;
} choose_ranges[] = { CHOOSE_VERSIONS };

#define CHOOSE_RANGES	(sizeof(choose_ranges) / sizeof(choose_ranges[0]))

/* Where the file's name does not tell the version, the layouts do. */
static unsigned int choose_first(const struct cairn_running *running)
{
	unsigned int version = running->version ? running->version : running->form;

	for (size_t i = 0; i < CHOOSE_RANGES; i++)
		if (choose_ranges[i].first <= version && version <= choose_ranges[i].last)
			return choose_ranges[i].first;
	return 0;
}

static void choose_complain(const struct cairn_running *running, const char *directory)
{
	fprintf(stderr, "libcairn: %s has no provider for %s", directory, running->path);
	if (running->version)
		fprintf(stderr, " of rdma-core %u", running->version);
	fprintf(stderr, "; cairn devices will not be usable: replace the directory by that of a newer cairn (\"make providers\")\n");
}

__attribute__((constructor)) static void choose_provider(void)
{
	struct cairn_running running;
	char directory[PATH_MAX];
	char path[PATH_MAX + 64];
	unsigned int first;
	char *slash = NULL;
	Dl_info info;

	if (dladdr((void *)choose_provider, &info) && info.dli_fname &&
	    realpath(info.dli_fname, directory))
		slash = strrchr(directory, '/');
	if (!slash)
		return;
	*slash = '\0';
	cairn_running_find(&running);
	first = choose_first(&running);
	if (!first) {
		choose_complain(&running, directory);
		return;
	}
	snprintf(path, sizeof(path), "%s/rdma-core-%u/libcairn.so.1", directory, first);
	if (!dlopen(path, RTLD_NOW))
		fprintf(stderr, "libcairn: %s\n", dlerror());
}
