// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CRC-32 without tables, for long data.
 *
 * The polynomial P(x) divides x^300 + x^155 + x^117 + x^89 + 1, of its multiples
 * with five terms the one of lowest degree. Over GF(2) the square of a sum is the
 * sum of the squares, so P(x) also divides that multiple with x^8 in place of x.
 * Hence a byte of a message may be replaced by zero when it is added (xor) to the
 * bytes 145, 183, 211 and 300 places behind it: the remainder stays the same. So
 * all of the data is moved into its last bytes, and tables do the rest. Moving
 * takes neither shifts nor look-ups, and the nearest of these places is so far
 * off that eight bytes can be moved at a time and the processor has many of these
 * moves in hand at once.
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
/* Bytes moved in a turn, and what stays in sight of the next turn. */
#define TURN		1024
#define SIGHT		ALIGN(FARTHEST, WORD)
/* What is left for the tables. */
#define REST		320
/* Shorter data is faster with tables alone. */
#define MIN_LEN		768

static_assert(REST >= FARTHEST && MIN_LEN >= REST + STEP);

/* What a word gets from those before it, which have been moved. */
static __always_inline u64 fold_moved(const u8 *word)
{
	return cairn_word_get(word - NEAREST) ^ cairn_word_get(word - 183) ^
	       cairn_word_get(word - 211) ^ cairn_word_get(word - FARTHEST);
}

static __always_inline void fold_move(u8 *to, const u8 *data)
{
	cairn_word_put(to, cairn_word_get(data) ^ fold_moved(to));
}

/* @len bytes of @data, a multiple of STEP. */
static void fold_block(u8 *to, const u8 *data, u32 len)
{
	for (; len; len -= STEP, to += STEP, data += STEP) {
		fold_move(to, data);
		fold_move(to + WORD, data + WORD);
		fold_move(to + 2 * WORD, data + 2 * WORD);
		fold_move(to + 3 * WORD, data + 3 * WORD);
	}
}

/* The REST bytes at @data with all that was moved. @to: after what is in sight,
 * room for zeros, which stand for what is not moved any more, and the result.
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
	/* From there it gets to the first bytes, and nowhere else. */
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
