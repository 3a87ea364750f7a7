/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A parcel: loopback packets that are handed to a QP of this host (net/local.c). Their
 * payload is still in the sender's memory. A release of that memory waits for the
 * sender's run, in which the receiver copies the payload to its destination.
 */
#ifndef CAIRN_DEVICE_PARCEL_H
#define CAIRN_DEVICE_PARCEL_H

#include <linux/bvec.h>
#include "device/path.h"
#include "engine/env.h"

struct cairn_parcel {
	const struct cairn_train *train;	/* of one connection */
	const struct cairn_path *path;		/* the sender's */
	int ifindex;		/* netdev that has the destination address */
	const u8 *bytes;	/* payload of the train; NULL: it is in bv */
	const struct bio_vec *bv;
	/* The fragment that was read last, and its offset in the payload. */
	const struct bio_vec *at;
	u32 done;
};

/**
 * cairn_parcel_copy() - copy payload of a loopback packet
 * @pkt: a packet with a parcel as its cookie
 * @offset: bytes of payload to skip
 * @to: kernel memory
 * @len: bytes; @offset + @len is at most the packet's payload_len
 *
 * Return: 0 or -EFAULT (hardware error of the sender's memory).
 */
int cairn_parcel_copy(const struct cairn_pkt *pkt, u32 offset, void *to,
		      u32 len);

/* The same through @words, to memory that is written in whole words (engine/words.h). */
int cairn_parcel_copy_words(const struct cairn_pkt *pkt, u32 offset,
			    struct cairn_words *words, u8 *to, u32 len);

#endif
