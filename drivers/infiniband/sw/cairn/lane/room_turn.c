// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/compiler.h>
#include <linux/minmax.h>
#include "lane/room_turn.h"

void cairn_room_turn_init(struct cairn_room_turns *turns)
{
	*turns = (struct cairn_room_turns){ .bound = CAIRN_ROOM_LEAST };
	INIT_LIST_HEAD(&turns->waits);
}

/* May @wait send before those that wait? */
static bool room_turn_is_at(const struct cairn_room_turns *turns,
			    const struct cairn_room_wait *wait)
{
	return turns->turn == wait || !cairn_room_turn_waits(turns);
}

u32 cairn_room_turn_ask(struct cairn_room_turns *turns,
			struct cairn_room_wait *wait, u32 used, u64 now)
{
	if (room_turn_is_at(turns, wait) && turns->stuck)
		return turns->bound;
	if (room_turn_is_at(turns, wait) && used < turns->bound)
		return turns->bound - used;
	cairn_room_turn_end(turns, wait);
	if (list_empty(&wait->entry))
		list_add_tail(&wait->entry, &turns->waits);
	if (!turns->full_at && !turns->stuck)
		turns->full_at = now;
	return 0;
}

/* @took: half of the bound took so long to leave, ns. */
static u32 room_turn_adapt(u32 bound, u64 took)
{
	if (took < CAIRN_ROOM_FAST)
		return min_t(u32, bound * 2, CAIRN_ROOM_MOST);
	if (took > CAIRN_ROOM_SLOW)
		return max_t(u32, bound / 2, CAIRN_ROOM_LEAST);
	return bound;
}

/* Does enough leave? The time counts while one waits and none has its turn. */
static void room_turn_watch(struct cairn_room_turns *turns, u32 used, u64 now)
{
	if (used <= turns->bound / 2)
		WRITE_ONCE(turns->stuck, false);
	if (turns->turn || list_empty(&turns->waits) || used <= turns->bound / 2) {
		turns->still_since = 0;
		return;
	}
	/* Queue pairs that asked before the first one waited may have added bytes. */
	turns->still_used = max(turns->still_used, used);
	if (!turns->still_since || turns->still_used - used >= CAIRN_ROOM_STEP) {
		turns->still_since = now;
		turns->still_used = used;
	} else if ((s64)(now - turns->still_since) >= (s64)CAIRN_ROOM_STILL) {
		WRITE_ONCE(turns->stuck, true);
		turns->full_at = 0;
	}
}

struct cairn_room_wait *cairn_room_turn_next(struct cairn_room_turns *turns, u32 used,
					     u64 now)
{
	struct cairn_room_wait *next;

	room_turn_watch(turns, used, now);
	if (turns->turn || list_empty(&turns->waits) ||
	    (!turns->stuck && used > turns->bound / 2))
		return NULL;
	if (turns->full_at)
		turns->bound = room_turn_adapt(turns->bound, now - turns->full_at);
	turns->full_at = 0;
	next = list_first_entry(&turns->waits, struct cairn_room_wait, entry);
	list_del_init(&next->entry);
	turns->turn = next;
	turns->still_since = 0;
	return next;
}

void cairn_room_turn_end(struct cairn_room_turns *turns, struct cairn_room_wait *wait)
{
	if (turns->turn == wait)
		turns->turn = NULL;
}

void cairn_room_turn_leave(struct cairn_room_turns *turns, struct cairn_room_wait *wait)
{
	list_del_init(&wait->entry);
	cairn_room_turn_end(turns, wait);
	if (!list_empty(&turns->waits))
		return;
	turns->full_at = 0;
	turns->still_since = 0;
}
