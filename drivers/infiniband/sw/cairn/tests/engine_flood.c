// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fuzz_engine.c with random inputs and without libFuzzer, for very many packets:
 *
 *	engine_flood PACKETS		inputs until it has made that many
 *
 * CAIRN_SEED is the seed of the first one. One that fails says how to repeat it.
 */
#include <stdio.h>
#include <stdlib.h>
#include "fuzz.h"
#include "sim/sim.h"

#define INPUT	(1 << 14)

u64 fuzz_seed;

int main(int argc, char **argv)
{
	static u64 input[INPUT / sizeof(u64)];
	u64 wanted = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
	struct sim_rand rand;
	u32 inputs = 0, most = sim_seeds(U32_MAX);
	size_t i;

	fuzz_seed = sim_first_seed();
	do {
		/* times the step, as in sim_new(), each would be the last one, shifted */
		rand.state = fuzz_seed;
		for (i = 0; i < INPUT / sizeof(u64); i++)
			input[i] = sim_rand(&rand);
		LLVMFuzzerTestOneInput((const u8 *)input, INPUT);
		fuzz_seed++;
	} while (++inputs < most && fuzz_count.packets < wanted);
	printf("KTAP version 1\n1..1\n"
	       "# %llu packets, %llu for a queue pair that listens, %u inputs\n"
	       "ok 1 engine_flood\n", fuzz_count.packets, fuzz_count.heard,
	       inputs);
	return 0;
}
