/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Allocates the slots of a lane's scheduler (engine/sched.h), in words of 64.
 *
 * An owner of many queues takes words, so that one store marks all ready queues of a
 * word. Single slots come from words that owners of few queues share: many small
 * owners need no more slots than they have queues.
 *
 * Not atomic: the owner holds its lock.
 */
#ifndef CAIRN_ENGINE_SLOTS_H
#define CAIRN_ENGINE_SLOTS_H

#include "engine/sched.h"

struct cairn_slots {
	struct cairn_sched whole;	/* a bit for each free word */
	struct cairn_sched loose;	/* a bit for each free slot of shared words */
};

/* Bytes of memory for @words words, 1..2^18. */
size_t cairn_slots_bytes(u32 words);

/* @mem: that many bytes, zeroed, in use for the lifetime of @slots. */
void cairn_slots_init(struct cairn_slots *slots, u32 words, void *mem);

/* The first free word, or CAIRN_SCHED_NONE. */
u32 cairn_slots_take_word(struct cairn_slots *slots);
void cairn_slots_put_word(struct cairn_slots *slots, u32 word);

/* A free slot of a shared word, or CAIRN_SCHED_NONE. */
u32 cairn_slots_take(struct cairn_slots *slots);
/* Return: true if no slot of the word is in use any more: the word is free. */
bool cairn_slots_put(struct cairn_slots *slots, u32 slot);

#endif
