/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Stores a message so that no aligned word of 8 bytes is ever half new.
 *
 * A message arrives in pieces, packets and fragments of packets, which may end within a
 * word. A word that is completely in the message is stored at once, by one instruction
 * on 64-bit machines. Its first bytes are held until all of it has arrived. The words
 * at the ends of a message, which also contain other data, are stored in parts.
 */
#ifndef CAIRN_ENGINE_WORDS_H
#define CAIRN_ENGINE_WORDS_H

#include <linux/types.h>

#define CAIRN_WORD	8

/* Initially zero, and empty again after a message. */
struct cairn_words {
	u8 bytes[CAIRN_WORD];
	u8 len;			/* bytes of the word that are held */
	bool stream;		/* whole words by cairn_env_stream_words() */
};

/**
 * cairn_words_put() - store a piece of a message
 * @words: the held bytes
 * @to: the destination, just behind the held bytes; the piece ends where this memory
 *	ends, or before
 * @from: the piece
 * @len: bytes
 *
 * Context: any.
 */
void cairn_words_put(struct cairn_words *words, u8 *to, const u8 *from,
		     u32 len);

/* The message ends before @to: store the held bytes. Any context. */
void cairn_words_end(struct cairn_words *words, u8 *to);

#endif
