/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Packets that are handed to a queue pair of this host (net/local.c). Their payload
 * still lies in the sender's memory: it is good during the sender's run, whose epoch
 * holds it, and the receiver copies it to its place.
 */
#ifndef CAIRN_DEVICE_PARCEL_H
#define CAIRN_DEVICE_PARCEL_H

#include <linux/bvec.h>
#include "device/path.h"
#include "engine/env.h"

struct cairn_parcel {
	const struct cairn_train *train;	/* of one connection */
	const struct cairn_path *path;		/* the sender's */
	int ifindex;		/* of the netdev that has the destination */
	const u8 *bytes;	/* the payload of the train, or NULL: */
	const struct bio_vec *bv;
	/* A piece of bv, for the next look; and where in the payload it begins. */
	const struct bio_vec *at;
	u32 done;
};

/**
 * cairn_parcel_copy() - copy payload of a packet that was handed over
 * @pkt: its cookie is a parcel
 * @offset: bytes of payload to skip
 * @to: kernel memory
 * @len: bytes; @offset + @len is at most pkt->payload_len
 *
 * Return: 0 or -EFAULT: the sender's memory has an error.
 */
int cairn_parcel_copy(const struct cairn_pkt *pkt, u32 offset, void *to,
		      u32 len);

/* The same by way of @words, to persistent memory (engine/words.h). */
int cairn_parcel_copy_words(const struct cairn_pkt *pkt, u32 offset,
			    struct cairn_words *words, u8 *to, u32 len);

#endif
