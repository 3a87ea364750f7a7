// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Copies bytes into the persistence domain. The host tests compile this file with
 * the write-back and the barrier of simulated CPUs.
 */
#include <linux/bvec.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/libnvdimm.h>
#include <linux/limits.h>
#include <asm/barrier.h>
#include "engine/words.h"
#include "persist/flush.h"

/* Bytes at the end of a message that are always stored ordinarily. */
#define FLUSH_TAIL	64

u32 cairn_flush_stream_min = U32_MAX;

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

/* Choose the packet's stores. Non-temporal ones must be seen before ordinary ones. */
static bool flush_streams(const struct cairn_placement *place)
{
	u32 least = place->words->stream ? FLUSH_TAIL : cairn_flush_stream_min;
	bool stream = place->writeback && place->more >= least;

	if (place->words->stream && !stream)
		cairn_flush_fence();
	place->words->stream = stream;
	return stream;
}

/* Non-temporal stores left no byte of the packet in the cache but those before the
 * message's first whole word.
 */
static void flush_placed(struct bio_vec *bv, bool stream, bool begins)
{
	if (!stream)
		cairn_flush_writeback(bvec_virt(bv), bv->bv_len);
	else if (begins && (uintptr_t)bvec_virt(bv) % CAIRN_WORD)
		cairn_flush_writeback(bvec_virt(bv), 1);
}

int cairn_flush_place(const struct cairn_placement *place, struct bio_vec *bv,
		      u32 num)
{
	u32 i, off = 0, held = place->words->len;
	bool stream = flush_streams(place);

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
			flush_placed(&bv[i], stream, !i);
		off += end - at;
		held = 0;
	}
	return 0;
}
