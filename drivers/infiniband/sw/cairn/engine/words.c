// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "engine/env.h"
#include "engine/words.h"
#include "wire/word.h"

static u32 words_phase(const u8 *to)
{
	return (uintptr_t)to & (CAIRN_WORD - 1);
}

/* WRITE_ONCE(): the compiler may not split or repeat the store. */
static void words_store(u8 *to, u64 word)
{
	WRITE_ONCE(*(u64 *)to, word);
}

/* Four words at a time, which makes it as fast as an ordinary copy. */
static void words_copy(u8 *to, const u8 *from, u32 num)
{
	for (; num >= 4; num -= 4) {
		words_store(to, cairn_word_get(from));
		words_store(to + CAIRN_WORD, cairn_word_get(from + CAIRN_WORD));
		words_store(to + 2 * CAIRN_WORD,
			    cairn_word_get(from + 2 * CAIRN_WORD));
		words_store(to + 3 * CAIRN_WORD,
			    cairn_word_get(from + 3 * CAIRN_WORD));
		to += 4 * CAIRN_WORD;
		from += 4 * CAIRN_WORD;
	}
	for (; num; num--) {
		words_store(to, cairn_word_get(from));
		to += CAIRN_WORD;
		from += CAIRN_WORD;
	}
}

static void words_put_whole(const struct cairn_words *words, u8 *to, const u8 *from, u32 num)
{
	if (words->stream)
		cairn_env_stream_words(to, from, num);
	else
		words_copy(to, from, num);
}

/* Store or hold bytes up to the end of the word at most. Return: number of bytes. */
static u32 words_put_part(struct cairn_words *words, u8 *to, const u8 *from,
			  u32 len)
{
	u32 phase = words_phase(to), n = min(len, CAIRN_WORD - phase);

	/* The message begins in this word. */
	if (phase && !words->len) {
		memcpy(to, from, n);
		return n;
	}
	memcpy(words->bytes + words->len, from, n);
	words->len += n;
	if (words->len == CAIRN_WORD) {
		words_put_whole(words, to - phase, words->bytes, 1);
		words->len = 0;
	}
	return n;
}

void cairn_words_put(struct cairn_words *words, u8 *to, const u8 *from, u32 len)
{
	u32 n = 0, whole;

	if (words_phase(to))
		n = words_put_part(words, to, from, len);
	whole = (len - n) / CAIRN_WORD;
	words_put_whole(words, to + n, from + n, whole);
	n += whole * CAIRN_WORD;
	if (n < len)
		words_put_part(words, to + n, from + n, len - n);
}

void cairn_words_end(struct cairn_words *words, u8 *to)
{
	memcpy(to - words->len, words->bytes, words->len);
	words->len = 0;
}
