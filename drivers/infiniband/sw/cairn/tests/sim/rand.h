/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Random numbers that depend on their seed only (splitmix64). */
#ifndef CAIRN_SIM_RAND_H
#define CAIRN_SIM_RAND_H

#include <linux/types.h>

struct sim_rand {
	u64 state;
};

static inline u64 sim_rand(struct sim_rand *random)
{
	u64 z;

	random->state += 0x9e3779b97f4a7c15ULL;
	z = random->state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 to n - 1; 0 when n is 0 */
static inline u32 sim_below(struct sim_rand *random, u32 n)
{
	return n ? (u32)(sim_rand(random) % n) : 0;
}

/* lo to hi, both included */
static inline u32 sim_between(struct sim_rand *random, u32 lo, u32 hi)
{
	return lo + sim_below(random, hi - lo + 1);
}

static inline bool sim_chance(struct sim_rand *random, u32 per_mille)
{
	return per_mille && sim_below(random, 1000) < per_mille;
}

static inline void sim_fill(struct sim_rand *random, void *buf, size_t len)
{
	u8 *bytes = buf;
	size_t i;
	u64 v = 0;

	for (i = 0; i < len; i++, v >>= 8) {
		if (!(i & 7))
			v = sim_rand(random);
		bytes[i] = (u8)v;
	}
}

#endif
