/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What libFuzzer, fuzz_replay.c and engine_flood.c call of a fuzzer. */
#ifndef CAIRN_TESTS_FUZZ_H
#define CAIRN_TESTS_FUZZ_H

#include <linux/types.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* Of all inputs of fuzz_engine.c, for who counts what ran. */
extern struct fuzz_count {
	u64 packets;
	u64 heard;		/* by a queue pair that is not in error */
} fuzz_count;

/* Of the input, if it was made from one; engine_flood.c says how to repeat it. */
extern u64 fuzz_seed __attribute__((weak));

#endif
