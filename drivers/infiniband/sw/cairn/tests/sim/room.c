// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A slow netdev of a simulated host, and queue pairs that wait for room in its queue. */
#include <stdlib.h>
#include "sim/sim.h"

struct leaving {
	u32 host;
	u32 bytes;
};

void sim_room(struct sim *sim, u32 host, u32 byte_ns)
{
	cairn_room_turn_init(&sim->host[host].room.turns);
	sim->host[host].room.byte_ns = byte_ns;
}

static struct sim_room *room_of(const struct sim_qp *qp)
{
	return &qp->s->host[qp->host].room;
}

static void room_arm(struct sim *sim, struct sim_room *room);

static struct cairn_room_wait *room_next(struct sim *sim, struct sim_room *room)
{
	struct cairn_room_wait *next = cairn_room_turn_next(&room->turns, room->used,
							    sim->now);

	room_arm(sim, room);
	if (next)
		cairn_env_kick(&container_of(next, struct sim_qp, room_wait)->c, CAIRN_REQ);
	return next;
}

static void room_still(struct sim *sim, void *arg)
{
	struct sim_room *room = arg;

	room->armed = false;
	room_next(sim, room);
}

static void room_forget(void *arg)
{
}

static void room_arm(struct sim *sim, struct sim_room *room)
{
	u64 at = cairn_room_turn_deadline(&room->turns);

	if (!at || !room->timed || room->armed)
		return;
	room->armed = true;
	sim_at_drop(sim, at, room_still, room_forget, room);
}

bool sim_room_stuck(struct sim_qp *qp, const struct cairn_train *train)
{
	struct sim_room *room = room_of(qp);

	if (cairn_qp_reliable(&qp->c) || !room->turns.stuck)
		return false;
	room->dropped += train->count;
	return true;
}

u32 cairn_env_room(struct cairn_qpc *qpc)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim_room *room = room_of(qp);
	u32 bytes;

	if (qp->s->run_qp != qp || qp->s->run_side != CAIRN_REQ)
		sim_fail(qp->s, "QP %u: room outside of its side's turn", qpc->qpn);
	if (cairn_qp_reliable(qpc))
		sim_fail(qp->s, "QP %u: RC asks for room", qpc->qpn);
	if (!room->byte_ns)
		return U32_MAX;
	do
		bytes = cairn_room_turn_ask(&room->turns, &qp->room_wait, room->used,
					    qp->s->now);
	while (!bytes && room_next(qp->s, room) == &qp->room_wait);
	return bytes;
}

void cairn_env_room_end(struct cairn_qpc *qpc)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim_room *room = room_of(qp);

	if (!room->byte_ns)
		return;
	cairn_room_turn_end(&room->turns, &qp->room_wait);
	room_next(qp->s, room);
}

static void room_left(struct sim *sim, void *arg)
{
	struct leaving *leaving = arg;
	struct sim_room *room = &sim->host[leaving->host].room;

	room->used -= leaving->bytes;
	free(leaving);
	room_next(sim, room);
}

/* Each packet leaves by itself. */
void sim_room_count(struct sim_qp *qp, const struct cairn_train *train)
{
	struct sim_room *room = room_of(qp);
	u32 left = train->length, k, n;

	if (!room->byte_ns || cairn_qp_reliable(&qp->c))
		return;
	for (k = 0; k < train->count; k++, left -= n) {
		struct leaving *leaving = malloc(sizeof(*leaving));

		n = min(left, train->seg);
		leaving->host = qp->host;
		leaving->bytes = n + CAIRN_HEADER_BYTES;
		room->used += leaving->bytes;
		qp->room_sent += leaving->bytes;
		room->free_at = max3(room->free_at, qp->s->now, room->kept_until) +
				(u64)leaving->bytes * room->byte_ns;
		sim_at_drop(qp->s, room->free_at, room_left, free, leaving);
	}
	room->most = max(room->most, room->used);
}
