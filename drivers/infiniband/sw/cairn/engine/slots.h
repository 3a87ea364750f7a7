/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Who has which slots of a lane's scheduler (engine/sched.h), in words of 64.
 *
 * An owner of many queues takes words, so that one store marks all that are
 * ready in a word. Single slots come from words that owners of few queues share:
 * many small owners need no more slots than they have queues.
 *
 * Not atomic: the owner's lock.
 */
#ifndef CAIRN_ENGINE_SLOTS_H
#define CAIRN_ENGINE_SLOTS_H

#include "engine/sched.h"

struct cairn_slots {
	struct cairn_sched whole;	/* a bit for each word that is free */
	struct cairn_sched loose;	/* for each free slot of a shared word */
};

/* Bytes of memory for @words words, 1..2^18. */
size_t cairn_slots_bytes(u32 words);

/* @mem: that many bytes, zeroed; used until the end. */
void cairn_slots_init(struct cairn_slots *slots, u32 words, void *mem);

/* The first free word, or CAIRN_SCHED_NONE. */
u32 cairn_slots_take_word(struct cairn_slots *slots);
void cairn_slots_put_word(struct cairn_slots *slots, u32 word);

/* A free slot of a shared word, or CAIRN_SCHED_NONE. */
u32 cairn_slots_take(struct cairn_slots *slots);
/* Returns true when no slot of the word is in use any more: it is free. */
bool cairn_slots_put(struct cairn_slots *slots, u32 slot);

#endif
