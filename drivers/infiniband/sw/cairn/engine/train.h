/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The packets of a train (engine/env.h), one by one. */
#ifndef CAIRN_ENGINE_TRAIN_H
#define CAIRN_ENGINE_TRAIN_H

#include "engine/env.h"

/**
 * cairn_train_packet() - describe packet @k of a train for cairn_pkt_build()
 * @pkt: filled in
 * @train: the train
 * @k: 0..@train->count - 1
 */
void cairn_train_packet(struct cairn_pkt *pkt, const struct cairn_train *train,
			u32 k);

/**
 * cairn_train_read() - packet @k of a train as its receiver reads it
 * @pkt: filled in as cairn_pkt_parse() does
 * @train: the train; not one of messages
 * @k: 0..@train->count - 1
 *
 * By way of the bytes: what a packet cannot say, this cannot either.
 *
 * Return: CAIRN_PARSE_OK, or why the receiver would drop it.
 */
enum cairn_parse_error cairn_train_read(struct cairn_pkt *pkt,
					const struct cairn_train *train, u32 k);

#endif
