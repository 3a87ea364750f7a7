// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CRC-32 without tables, for long data.
 *
 * The polynomial P(x) divides x^300 + x^155 + x^117 + x^89 + 1, its multiple of
 * lowest degree with five terms. Over GF(2) the square of a sum is the
 * sum of the squares, so P(x) also divides that multiple with x^8 in place of x.
 * Hence a byte of a message may be replaced by zero when it is added (xor) to the
 * bytes 145, 183, 211 and 300 places behind it: the remainder stays the same. So
 * all of the data is moved into its last bytes, and tables do the rest. Moving
 * takes neither shifts nor look-ups. The nearest of these places is far enough away
 * to move eight bytes at a time and to have many of these moves in flight at once.
 */
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include "wire/icrc.h"
#include "wire/word.h"

#define NEAREST		145
#define FARTHEST	300

#define WORD		8	/* bytes */
#define STEP		(4 * WORD)
/* Bytes moved in one turn, and the last bytes of it that the next turn reads. */
#define TURN		1024
#define SIGHT		ALIGN(FARTHEST, WORD)
/* Bytes left for the tables. */
#define REST		320
/* Shorter data is faster with tables alone. */
#define MIN_LEN		768

static_assert(REST >= FARTHEST && MIN_LEN >= REST + STEP);

/* The sum of the four earlier words that are moved to @word. */
static __always_inline u64 fold_moved(const u8 *word)
{
	return cairn_word_get(word - NEAREST) ^ cairn_word_get(word - 183) ^
	       cairn_word_get(word - 211) ^ cairn_word_get(word - FARTHEST);
}

static __always_inline void fold_move(u8 *to, const u8 *data)
{
	cairn_word_put(to, cairn_word_get(data) ^ fold_moved(to));
}

/* Copy @len bytes of @data to @to, and add to each word the words moved to it. @len is a
 * multiple of STEP.
 */
static void fold_block(u8 *to, const u8 *data, u32 len)
{
	for (; len; len -= STEP, to += STEP, data += STEP) {
		fold_move(to, data);
		fold_move(to + WORD, data + WORD);
		fold_move(to + 2 * WORD, data + 2 * WORD);
		fold_move(to + 3 * WORD, data + 3 * WORD);
	}
}

/* Add the words that are still to be moved to the last REST bytes, at @data. @to is
 * behind SIGHT bytes of the last turn. It has room for zeros, as these REST bytes are not
 * moved themselves, and for the result. Return: the result, REST bytes.
 */
static const u8 *fold_rest(u8 *to, const u8 *data)
{
	u8 *out = to + ALIGN(REST - NEAREST, WORD);
	u32 i;

	static_assert(ALIGN(REST - NEAREST, WORD) + REST <= TURN);
	memset(to, 0, out - to);
	for (i = 0; i < REST; i += WORD)
		cairn_word_put(out + i,
			       cairn_word_get(data + i) ^ fold_moved(to + i));
	return out;
}

static u32 fold_update(u32 crc, const void *data, u32 len)
{
	u64 window[(SIGHT + TURN) / WORD] __uninitialized;
	u8 *to = (u8 *)window + SIGHT;
	__le32 first = cpu_to_le32(crc);
	const u8 *pos = data;
	u32 n;

	if (len < MIN_LEN)
		return cairn_icrc_portable.update(crc, data, len);
	memset(window, 0, SIGHT);
	/* At the farthest distance, so that the seed is added to the first bytes only. */
	memcpy(to - FARTHEST, &first, sizeof(first));
	for (; len >= REST + STEP; len -= n, pos += n) {
		n = min_t(u32, TURN, (len - REST) / STEP * STEP);
		fold_block(to, pos, n);
		memmove(window, to + n - SIGHT, SIGHT);
	}
	crc = cairn_icrc_portable.update(0, fold_rest(to, pos), REST);
	return cairn_icrc_portable.update(crc, pos + REST, len - REST);
}

const struct cairn_icrc_impl cairn_icrc_folding = {
	.name = "folding",
	.update = fold_update,
};
