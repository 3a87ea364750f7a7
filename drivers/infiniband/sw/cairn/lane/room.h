/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Back-pressure of the sender's own netdev.
 *
 * UC and UD have no window. A netdev that is slower than the CPU would drop their packets
 * at home. So the packets that the IP stack, its queues and the netdev have are counted in
 * a room, as those of a socket are, until they are freed. The room of a process and device
 * has a bound. Above it, queue pairs wait in a FIFO and have their turns when packets have
 * left. The wait is bounded: when nothing leaves for long, packets are dropped at home.
 *
 * A room is a socket that is not bound and never receives. The stack keeps the count of
 * bytes right when it segments or copies an skb whose owner is a socket. The socket outlives
 * its packets, and so do the namespace that it is in, the initial one, and the module.
 * Packets of a netem with a delay count until netem has them, as those of all sockets.
 *
 * RC is not counted: the peer's answers bound what it sends, and congestion control sees
 * the queue.
 */
#ifndef CAIRN_LANE_ROOM_H
#define CAIRN_LANE_ROOM_H

#include "lane/room_turn.h"

struct sk_buff;
struct socket;

/* A socket for packets that are sent: one of the initial namespace, without a hash, a route
 * or options. The stack treats its packets as those of no socket, except that it compares
 * them with the MTU of the netdev and not with that of the route (PMTUDISC_PROBE). Process
 * context. Return: 0 or a negative errno.
 */
int cairn_room_create_socket(struct socket **sock);

/* Module stop: wait for the packets that are counted. Process context. rcu_barrier() has to
 * follow.
 */
void cairn_rooms_stop(void);

/**
 * cairn_room_get() - the room of a process, or of the kernel's consumers of a device
 * @slot: of the owner; NULL at first, then the room is made
 *
 * Context: process.
 * Return: the room, or the error of the socket's creation.
 */
struct cairn_room *cairn_room_get(struct cairn_room **slot);

/* The owner ends, and has no queue pair any more. @room: or NULL. Process context. */
void cairn_room_put(struct cairn_room *room);

/* @room: or NULL, if the packets of @exec are not counted. */
void cairn_room_init_wait(struct cairn_room_wait *wait, struct cairn_room *room,
			  struct cairn_exec *exec);

/**
 * cairn_room_ask() - how much may a requester send?
 * @wait: of the queue pair, with a room
 *
 * Context: below the requester's lock.
 * Return: bytes; 0: it waits, and its requester is run when it has its turn.
 */
u32 cairn_room_ask(struct cairn_room_wait *wait);

/* A run of the requester has ended, and so has its turn. Below the requester's lock. */
void cairn_room_end(struct cairn_room_wait *wait);

/* The queue pair ends and asks no more. Any context. */
void cairn_room_leave(struct cairn_room_wait *wait);

/* Count @skb from now until it is freed. Below cairn_cpu_lock(). Return: false: the room is
 * stuck, and the caller drops the packet.
 */
bool cairn_room_take(struct cairn_room *room, struct sk_buff *skb);

/* Count @bytes of packets that have no skb yet; and do not any more. Below cairn_cpu_lock(). */
void cairn_room_reserve(struct cairn_room *room, u32 bytes);
void cairn_room_unreserve(struct cairn_room *room, u32 bytes);

#endif
