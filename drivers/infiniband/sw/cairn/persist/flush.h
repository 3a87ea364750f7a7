/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copies bytes into the persistence domain.
 *
 * Long messages are stored by non-temporal stores where these are faster. They need no
 * write-back, but a CPU orders them with no other stores. So the last bytes of a message
 * are stored ordinarily, behind a fence: a program that polls the last bytes sees them last.
 *
 * Write-back and fence are two steps, so that one fence serves the lines of
 * many packets: cairn_flush_writeback() for each piece, then
 * cairn_flush_fence() on the same CPU. No byte is durable before the fence.
 */
#ifndef CAIRN_PERSIST_FLUSH_H
#define CAIRN_PERSIST_FLUSH_H

#include <linux/types.h>

struct bio_vec;
struct cairn_pkt;
struct cairn_words;

/**
 * cairn_flush_writeback() - start the write-back of bytes into the domain
 * @va: kernel address, of memory that is mapped write-back
 * @len: bytes
 *
 * Writes back the cache lines that hold the bytes, and no others. The fence
 * follows on the same CPU without a sleep in between. origins.rst, P4.
 *
 * Context: any.
 */
void cairn_flush_writeback(void *va, size_t len);

/* All write-backs of this CPU are durable on return. origins.rst, P4, P8. Any
 * context.
 */
void cairn_flush_fence(void);

/* Copies @len payload bytes of @pkt, from byte @off on, to @to with
 * cairn_words_put(@words). Return: 0 or a negative errno.
 */
typedef int (*cairn_copy_fn)(const struct cairn_pkt *pkt, u32 off,
			     struct cairn_words *words, u8 *to, u32 len);

struct cairn_placement {
	const struct cairn_pkt *pkt;
	struct cairn_words *words;	/* held bytes of the message */
	cairn_copy_fn copy;
	u32 more;			/* bytes of the message behind this packet */
	bool last;			/* the message ends here */
	bool writeback;			/* a fence follows on the same CPU */
};

/* Non-temporal stores begin with a packet that has at least so many bytes of its message
 * behind it. persist/stream.c sets it at module start; U32_MAX: no packet has.
 */
extern u32 cairn_flush_stream_min;

/**
 * cairn_flush_place() - copy a packet's payload to persistent memory
 * @place: the packet, and how to copy it
 * @bv: pieces of memory that the kernel has mapped, in order; the first begins
 *	with the held bytes
 * @num: pieces
 *
 * Context: any, without a sleep before the fence.
 * Return: 0; -EFAULT: not all bytes were copied.
 */
int cairn_flush_place(const struct cairn_placement *place, struct bio_vec *bv,
		      u32 num);

#endif
