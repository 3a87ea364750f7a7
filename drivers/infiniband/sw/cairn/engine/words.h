/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How a message is stored so that no aligned word of 8 bytes is ever half new.
 *
 * A message comes in pieces: packets, and fragments of packets. They end
 * anywhere. A word that lies in the message as a whole is stored at once, by
 * one instruction on 64-bit machines; until all of it is here its first bytes
 * are held. Words at the ends of a message, which share their 8 bytes with
 * somebody else, are stored in parts.
 */
#ifndef CAIRN_ENGINE_WORDS_H
#define CAIRN_ENGINE_WORDS_H

#include <linux/types.h>

#define CAIRN_WORD	8

/* Zero at first, and empty again after a message. */
struct cairn_words {
	union {
		u64 word;
		u8 bytes[CAIRN_WORD];
	};
	u8 len;			/* so many of its first bytes are held */
};

/**
 * cairn_words_put() - store a piece of a message
 * @words: what is held
 * @to: where the piece belongs, just behind what is held; the piece ends where
 *	this memory ends, or before
 * @from: the piece
 * @len: bytes
 *
 * Any context.
 */
void cairn_words_put(struct cairn_words *words, u8 *to, const u8 *from,
		     u32 len);

/* The message has ended before @to: store what is held. Any context. */
void cairn_words_end(struct cairn_words *words, u8 *to);

#endif
