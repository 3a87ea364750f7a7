/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The turns of queue pairs that wait for room, and the bound of the room: the part of
 * lane/room.c without sockets and locks. The caller has the lock of the room.
 *
 * The bound is what leaves in some milliseconds, as with TCP small queues: on a slow
 * netdev little waits in its queues, and a fast one is not left without packets while
 * a queue pair is woken.
 *
 * Packets may stay, as a receiver on this host can keep them. Then the room is stuck:
 * no queue pair waits any more, and the packets of all are dropped until half of the bound
 * is free again.
 */
#ifndef CAIRN_LANE_ROOM_TURN_H
#define CAIRN_LANE_ROOM_TURN_H

#include <linux/list.h>
#include <linux/types.h>

struct cairn_exec;
struct cairn_room;

/* Limits of the bound, bytes of memory of the skbs. The least is some packets of 4 KiB. */
#define CAIRN_ROOM_LEAST	(32 * 1024)
#define CAIRN_ROOM_MOST		(256 * 1024)
/* Half of the bound should take this long to leave, ns. */
#define CAIRN_ROOM_FAST		1000000
#define CAIRN_ROOM_SLOW		4000000
/*
 * A room is stuck when less than CAIRN_ROOM_STEP bytes have left for so long, ns, while
 * one waits. It is long enough for a netdev of 4.4 kbit/s. The bound is the least there, so
 * a train has 32 KiB at most, and a qdisc like htb sends it whole: nothing else leaves for
 * 60 s. A qdisc that splits trains, like tbf, has sent four packets of 4 KiB, which are more
 * than a step, after 60 s with 2.3 kbit/s. A step is half of the least bound, so that a
 * receiver that frees a packet now and then does not delay others for longer.
 */
#define CAIRN_ROOM_STILL	60000000000ULL
#define CAIRN_ROOM_STEP		(CAIRN_ROOM_LEAST / 2)

/* A queue pair that sends into a room. */
struct cairn_room_wait {
	struct list_head entry;		/* in waits; empty: does not wait */
	struct cairn_room *room;	/* NULL: its packets are not counted */
	struct cairn_exec *exec;
};

struct cairn_room_turns {
	struct list_head waits;		/* in the order of their turns */
	struct cairn_room_wait *turn;	/* may send now; NULL: none was woken */
	u32 bound;			/* bytes */
	u64 full_at;			/* when no room was found, ns; 0: there was some */
	u64 still_since;		/* ns; 0: none waits, or one has its turn */
	u32 still_used;			/* bytes, at that time */
	bool stuck;			/* packets are dropped; read without the lock */
};

void cairn_room_turn_init(struct cairn_room_turns *turns);

/**
 * cairn_room_turn_ask() - how much may a queue pair send?
 * @turns: of the room
 * @wait: of the queue pair
 * @used: bytes in the room
 * @now: CLOCK_MONOTONIC, ns
 *
 * Return: bytes, the bound if the room is stuck; 0: it waits behind the others. Then
 * cairn_room_turn_next() has to follow, with the bytes that are in the room after this call.
 */
u32 cairn_room_turn_ask(struct cairn_room_turns *turns,
			struct cairn_room_wait *wait, u32 used, u64 now);

/**
 * cairn_room_turn_next() - bytes have left, a turn has ended, or time has passed
 * @turns: of the room
 * @used: bytes in the room
 * @now: CLOCK_MONOTONIC, ns
 *
 * While one waits and none has its turn, more than half of the bound is used. So bytes will
 * leave, or cairn_room_turn_deadline() comes, and this function is called again.
 *
 * Return: the queue pair that has its turn now and has to be run; or NULL.
 */
struct cairn_room_wait *cairn_room_turn_next(struct cairn_room_turns *turns, u32 used,
					     u64 now);

/* When the room will be stuck if nothing leaves, ns; 0: at no time. */
static inline u64 cairn_room_turn_deadline(const struct cairn_room_turns *turns)
{
	return turns->still_since && !turns->stuck ?
		       turns->still_since + CAIRN_ROOM_STILL : 0;
}

/* The run of a queue pair has ended, and so has its turn. */
void cairn_room_turn_end(struct cairn_room_turns *turns, struct cairn_room_wait *wait);

/* The queue pair sends nothing any more. */
void cairn_room_turn_leave(struct cairn_room_turns *turns, struct cairn_room_wait *wait);

/* Has one to ask in turn? */
static inline bool cairn_room_turn_waits(const struct cairn_room_turns *turns)
{
	return turns->turn || !list_empty(&turns->waits);
}

#endif
