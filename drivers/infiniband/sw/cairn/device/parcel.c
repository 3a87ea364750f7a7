// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "device/parcel.h"
#include "engine/words.h"

/* The payload from byte @off on. Reduces @len to the bytes that are contiguous. */
static const u8 *parcel_bytes(struct cairn_parcel *parcel, u32 off, u32 *len)
{
	u32 skip;

	if (parcel->bytes)
		return parcel->bytes + off;
	if (off < parcel->done) {
		parcel->at = parcel->bv;
		parcel->done = 0;
	}
	while (off - parcel->done >= parcel->at->bv_len) {
		parcel->done += parcel->at->bv_len;
		parcel->at++;
	}
	skip = off - parcel->done;
	*len = min(*len, parcel->at->bv_len - skip);
	return (u8 *)bvec_virt((struct bio_vec *)parcel->at) + skip;
}

int cairn_parcel_copy(const struct cairn_pkt *pkt, u32 offset, void *to,
		      u32 len)
{
	struct cairn_parcel *parcel = (void *)pkt->cookie;
	u32 n;

	for (offset += pkt->base; len; offset += n, to += n, len -= n) {
		const u8 *from;

		n = len;
		from = parcel_bytes(parcel, offset, &n);
		if (parcel->bytes)
			memcpy(to, from, n);
		else if (copy_mc_to_kernel(to, from, n))
			return -EFAULT;
	}
	return 0;
}

int cairn_parcel_copy_words(const struct cairn_pkt *pkt, u32 offset,
			    struct cairn_words *words, u8 *to, u32 len)
{
	u8 piece[256];
	u32 n;

	for (; len; offset += n, to += n, len -= n) {
		n = min_t(u32, len, sizeof(piece));
		if (cairn_parcel_copy(pkt, offset, piece, n))
			return -EFAULT;
		cairn_words_put(words, to, piece, n);
	}
	return 0;
}
