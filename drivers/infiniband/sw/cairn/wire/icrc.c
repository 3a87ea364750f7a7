// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ICRC over the headers, and the portable CRC-32.
 *
 * One table look-up consumes one byte, and eight look-ups for a 64-bit word do
 * not depend on each other; but the next word needs their result. Four words
 * side by side hide that latency: each stream is carried forward by 32 bytes,
 * over the words of the three others, and they join at the end.
 */
#include <linux/cache.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include "wire/icrc.h"
#include "wire/word.h"

#define CRC32_POLY	0xedb88320u	/* reflected */
#define STREAMS		4
#define WORD		8		/* bytes */
#define HALF		4		/* bytes */
/* Fewer bytes, as of the headers of most packets, are not worth an indirect call. */
#define SHORT		(3 * WORD)
#define AFTER_ID	(14 + 8)	/* bytes of IPv4 and UDP header */

/* The CRC of the eight bytes of ones that stand for the LRH. */
#define SEED		0xdebb20e3u

struct tables {
	/* [i][b]: what byte b becomes once i zero bytes follow it ... */
	u32 word[WORD][256];
	/* ... and i zero bytes more than the words of the other streams. */
	u32 block[WORD][256];
	/* ... and i zero bytes more than from an IPv4 id to the end of UDP. */
	u32 id[2][256];
};

static struct tables made __ro_after_init;
/* One pointer: with -mcmodel=large the absolute address of a table costs more than
 * the look-up itself.
 */
static const struct tables *tables __ro_after_init;

static const struct cairn_icrc_impl *icrc __ro_after_init;

static u32 icrc_byte_to_crc(u32 crc)
{
	int bit;

	for (bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (crc & 1 ? CRC32_POLY : 0);
	return crc;
}

static void icrc_fill_tables(void)
{
	u32 byte, i, crc;

	for (byte = 0; byte < 256; byte++) {
		crc = byte;
		for (i = 0; i < STREAMS * WORD; i++) {
			crc = icrc_byte_to_crc(crc);
			if (i < WORD)
				made.word[i][byte] = crc;
			if (i == AFTER_ID || i == AFTER_ID + 1)
				made.id[i - AFTER_ID][byte] = crc;
			if (i >= (STREAMS - 1) * WORD)
				made.block[i - (STREAMS - 1) * WORD][byte] =
					crc;
		}
	}
	tables = &made;
}

static __always_inline u64 icrc_load(const u8 *pos)
{
	return le64_to_cpu((__force __le64)cairn_word_get(pos));
}

static __always_inline u32 icrc_load_half(const u8 *pos)
{
	return le32_to_cpu((__force __le32)cairn_word_get_half(pos));
}

static __always_inline u32 icrc_advance(const u32 (*table)[256], u64 word)
{
	return table[7][word & 0xff] ^ table[6][word >> 8 & 0xff] ^
	       table[5][word >> 16 & 0xff] ^ table[4][word >> 24 & 0xff] ^
	       table[3][word >> 32 & 0xff] ^ table[2][word >> 40 & 0xff] ^
	       table[1][word >> 48 & 0xff] ^ table[0][word >> 56];
}

static __always_inline u32 icrc_advance_half(const u32 (*table)[256], u32 half)
{
	return table[3][half & 0xff] ^ table[2][half >> 8 & 0xff] ^
	       table[1][half >> 16 & 0xff] ^ table[0][half >> 24];
}

static u32 icrc_update_slicing(u32 crc, const void *data, u32 len)
{
	const struct tables *table = tables;
	const u8 *pos = data;

	for (; len >= WORD; len -= WORD, pos += WORD)
		crc = icrc_advance(table->word, icrc_load(pos) ^ crc);
	if (len >= HALF) {
		crc = icrc_advance_half(table->word, icrc_load_half(pos) ^ crc);
		len -= HALF;
		pos += HALF;
	}
	for (; len; len--, pos++)
		crc = crc >> 8 ^ table->word[0][(crc ^ *pos) & 0xff];
	return crc;
}

static u32 icrc_update_interleaved(u32 crc, const void *data, u32 len)
{
	const u32 block = STREAMS * WORD;
	const struct tables *table = tables;
	const u8 *pos = data;
	u32 crc1 = 0, crc2 = 0, crc3 = 0;

	if (len < 2 * block)
		return icrc_update_slicing(crc, data, len);

	for (; len >= 2 * block; len -= block, pos += block) {
		crc = icrc_advance(table->block, icrc_load(pos) ^ crc);
		crc1 = icrc_advance(table->block, icrc_load(pos + WORD) ^ crc1);
		crc2 = icrc_advance(table->block,
				    icrc_load(pos + 2 * WORD) ^ crc2);
		crc3 = icrc_advance(table->block,
				    icrc_load(pos + 3 * WORD) ^ crc3);
	}
	crc = icrc_advance(table->word, icrc_load(pos) ^ crc);
	crc = icrc_advance(table->word, icrc_load(pos + WORD) ^ crc1 ^ crc);
	crc = icrc_advance(table->word, icrc_load(pos + 2 * WORD) ^ crc2 ^ crc);
	crc = icrc_advance(table->word, icrc_load(pos + 3 * WORD) ^ crc3 ^ crc);
	return icrc_update_slicing(crc, pos + block, len - block);
}

const struct cairn_icrc_impl cairn_icrc_portable = {
	.name = "interleaved",
	.update = icrc_update_interleaved,
};

void cairn_icrc_select(const struct cairn_icrc_impl *impl)
{
	if (!tables)
		icrc_fill_tables();
	icrc = impl ? impl : &cairn_icrc_portable;
}

u32 cairn_icrc_update(u32 crc, const void *data, u32 len)
{
	if (len < SHORT)
		return icrc_update_slicing(crc, data, len);
	return icrc->update(crc, data, len);
}

/* The ICRC of the IP header in @image and of @udp. The caller has masked the IP
 * fields.
 */
static u32 icrc_ip_udp(u8 *image, u32 ip_len, const u8 *udp)
{
	memcpy(image + ip_len, udp, 8);
	memset(image + ip_len + 6, 0xff, 2);	/* UDP checksum */
	return cairn_icrc_update(SEED, image, ip_len + 8);
}

u32 cairn_icrc_ip4(const u8 *ip, const u8 *udp)
{
	u8 image[20 + 8];

	memcpy(image, ip, 20);
	image[1] = 0xff;			/* TOS */
	memset(image + 4, 0, 2);		/* id */
	image[8] = 0xff;			/* TTL */
	memset(image + 10, 0xff, 2);		/* header checksum */
	return icrc_ip_udp(image, 20, udp);
}

u32 cairn_icrc_ip6(const u8 *ip, const u8 *udp)
{
	u8 image[40 + 8];

	memcpy(image, ip, 40);
	image[0] |= 0x0f;			/* traffic class, flow label */
	memset(image + 1, 0xff, 3);
	image[7] = 0xff;			/* hop limit */
	return icrc_ip_udp(image, 40, udp);
}

/* A CRC is linear: the id contributes the same bits whatever surrounds it. */
u32 cairn_icrc_bth(u32 base, u16 id, const u8 *bth, u32 len)
{
	u32 crc = base ^ tables->id[1][id >> 8] ^ tables->id[0][id & 0xff];

	/* BTH byte 4: FECN, BECN, reserved */
	crc = icrc_advance(tables->word,
			   (icrc_load(bth) | 0xffULL << 32) ^ crc);
	return cairn_icrc_update(crc, bth + WORD, len - WORD);
}

__le32 cairn_icrc_finish(u32 crc)
{
	return cpu_to_le32(~crc);
}
