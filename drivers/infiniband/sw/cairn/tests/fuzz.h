/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Functions of a fuzzer that libFuzzer, fuzz_replay.c and engine_flood.c call. */
#ifndef CAIRN_TESTS_FUZZ_H
#define CAIRN_TESTS_FUZZ_H

#include <linux/types.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Counts over all inputs of fuzz_engine.c, for reports. */
extern struct fuzz_count {
	u64 packets;
	u64 heard;		/* by a queue pair that is not in error */
} fuzz_count;

/* Seed of the input, if it has one; engine_flood.c prints how to repeat it. */
extern u64 fuzz_seed __attribute__((weak));

#endif
