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
 * cairn_train_read() - parse packet @k of a train as its receiver would
 * @pkt: filled in as cairn_pkt_parse() does
 * @train: the train; not one of messages
 * @k: 0..@train->count - 1
 *
 * The headers are built and parsed, so the result is the same as over the wire.
 *
 * Return: CAIRN_PARSE_OK, or why the receiver would drop it.
 */
enum cairn_parse_error cairn_train_read(struct cairn_pkt *pkt,
					const struct cairn_train *train, u32 k);

#endif
