// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies bytes into the persistence domain. The host tests compile this file with
 * the write-back and the barrier of simulated CPUs.
 */
#include <linux/bvec.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/libnvdimm.h>
#include <asm/barrier.h>
#include "engine/words.h"
#include "persist/flush.h"

void cairn_flush_writeback(void *va, size_t len)
{
	arch_wb_cache_pmem(va, len);
}

/* Not inlined: persistence tests set a kprobe on it. */
noinline void cairn_flush_fence(void)
{
	/* Completes the write-backs of this CPU before any later store. */
	pmem_wmb();
}

int cairn_flush_place(const struct cairn_placement *place, struct bio_vec *bv,
		      u32 num)
{
	u32 i, off = 0, held = place->words->len;

	for (i = 0; i < num; i++) {
		u8 *end = bvec_virt(&bv[i]) + bv[i].bv_len;
		/* The held bytes are in the first piece, as no page ends within a
		 * word.
		 */
		u8 *at = bvec_virt(&bv[i]) + held;

		if (place->copy(place->pkt, off, place->words, at, end - at))
			return -EFAULT;
		if (place->last && i == num - 1)
			cairn_words_end(place->words, end);
		if (place->writeback)
			cairn_flush_writeback(bvec_virt(&bv[i]),
					      bv[i].bv_len);
		off += end - at;
		held = 0;
	}
	return 0;
}
