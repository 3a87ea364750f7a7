// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chooses between non-temporal stores and ordinary ones with write-back for long messages,
 * by a short calibration. Elsewhere than on x86-64 memcpy_flushcache() is a copy and a
 * write-back, which may store a word in parts.
 */
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "engine/words.h"
#include "persist/flush.h"
#include "persist/stream.h"

/* Bytes that are stored at a time. */
#define STREAM_BYTES	SZ_4K
/* The best counts, as some tries may be preempted. */
#define STREAM_TRIES	8
/* Shorter messages gain less than the fence before their last packets costs. */
#define STREAM_MIN	SZ_16K

static u64 stream_time(u8 *to, const u8 *from, bool stream)
{
	struct cairn_words words = { .stream = stream };
	u64 begin = ktime_get_ns();

	cairn_words_put(&words, to, from, STREAM_BYTES);
	if (!stream)
		cairn_flush_writeback(to, STREAM_BYTES);
	cairn_flush_fence();
	return ktime_get_ns() - begin;
}

void cairn_stream_init(void)
{
	u64 stored = U64_MAX, streamed = U64_MAX;
	u8 *memory;
	u32 i;

	if (!IS_ENABLED(CONFIG_X86_64) || !IS_ENABLED(CONFIG_ARCH_HAS_UACCESS_FLUSHCACHE))
		return;
	memory = kzalloc(2 * STREAM_BYTES, GFP_KERNEL);
	if (!memory)
		return;
	for (i = 0; i < STREAM_TRIES; i++) {
		stored = min(stored, stream_time(memory, memory + STREAM_BYTES, false));
		streamed = min(streamed, stream_time(memory, memory + STREAM_BYTES, true));
	}
	if (streamed < stored)
		cairn_flush_stream_min = STREAM_MIN;
	kfree(memory);
}
