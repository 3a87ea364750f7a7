// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "engine/words.h"
#include "wire/word.h"

static u32 words_phase(const u8 *to)
{
	return (uintptr_t)to & (CAIRN_WORD - 1);
}

/* One instruction: the compiler may not split or repeat it. */
static void words_store(u8 *to, u64 word)
{
	WRITE_ONCE(*(u64 *)to, word);
}

/* Bytes up to the end of the word at most. Returns how many. */
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
		words_store(to - phase, words->word);
		words->len = 0;
	}
	return n;
}

void cairn_words_put(struct cairn_words *words, u8 *to, const u8 *from, u32 len)
{
	u32 n = 0;

	if (words_phase(to))
		n = words_put_part(words, to, from, len);
	for (; len - n >= CAIRN_WORD; n += CAIRN_WORD)
		words_store(to + n, cairn_word_get(from + n));
	if (n < len)
		words_put_part(words, to + n, from + n, len - n);
}

void cairn_words_end(struct cairn_words *words, u8 *to)
{
	memcpy(to - words->len, words->bytes, words->len);
	words->len = 0;
}
