// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Loads a library as libibverbs loads a plugin; test_so.sh runs it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW)) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	return 0;
}
