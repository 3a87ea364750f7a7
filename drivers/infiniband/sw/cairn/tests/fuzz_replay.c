// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A fuzzer without libFuzzer: runs each file that is named, so that a build with
 * --coverage sees what a corpus reaches.
 */
#include <stdio.h>
#include "fuzz.h"

int main(int argc, char **argv)
{
	static u8 data[1 << 16];
	size_t size;
	FILE *file;
	int i;

	for (i = 1; i < argc; i++) {
		file = fopen(argv[i], "rb");
		if (!file) {
			perror(argv[i]);
			return 1;
		}
		size = fread(data, 1, sizeof(data), file);
		fclose(file);
		LLVMFuzzerTestOneInput(data, size);
	}
	return 0;
}
