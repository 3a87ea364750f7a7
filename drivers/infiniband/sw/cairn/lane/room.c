// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Barrier pairs: a queue pair that finds no room sets contended, executes a full barrier
 * and reads the count again. A CPU that takes bytes off the count executes a full barrier
 * and reads contended afterwards. So one of both sees the other.
 */
#include <linux/err.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include "lane/exec.h"
#include "lane/room.h"

struct cairn_room {
	struct socket *sock;
	struct sock *sk;
	void (*destruct)(struct sock *sk);	/* of its protocol */
	bool contended;		/* one waits, or the room is stuck */
	bool holds_module;	/* until the last packet is freed */
	spinlock_t lock;	/* irqsave; packets may be freed below any lock */
	struct cairn_room_turns turns;
	struct delayed_work still;	/* pending at cairn_room_turn_deadline() or before */
};

static atomic_t room_count;	/* rooms that are not freed */

static struct cairn_room *room_of(const struct sock *sk)
{
	return rcu_dereference_raw(__sk_user_data(sk));
}

static u32 room_used(const struct cairn_room *room)
{
	return sk_wmem_alloc_get(room->sk);
}

/* Look again when the room may be stuck. */
static void room_arm(struct cairn_room *room, u64 now)
{
	u64 at = cairn_room_turn_deadline(&room->turns);

	if (at)
		schedule_delayed_work(&room->still, nsecs_to_jiffies(at - now) + 1);
}

/* Give the next one its turn, if there is room. Return: that one. */
static struct cairn_room_wait *room_next(struct cairn_room *room, u64 now)
{
	struct cairn_room_wait *next;

	lockdep_assert_held(&room->lock);
	WRITE_ONCE(room->contended, cairn_room_turn_waits(&room->turns) || room->turns.stuck);
	smp_mb();	/* pairs with room_has_left() */
	next = cairn_room_turn_next(&room->turns, room_used(room), now);
	room_arm(room, now);
	/* The lock keeps its queue pair from being freed (cairn_room_leave()). */
	if (next)
		cairn_exec_defer(next->exec, CAIRN_REQ);
	return next;
}

static void room_has_left(struct cairn_room *room)
{
	unsigned long flags;

	smp_mb();	/* pairs with room_next() */
	if (!READ_ONCE(room->contended))
		return;
	spin_lock_irqsave(&room->lock, flags);
	room_next(room, ktime_get_ns());
	spin_unlock_irqrestore(&room->lock, flags);
}

static void room_still(struct work_struct *work)
{
	struct cairn_room *room = container_of(to_delayed_work(work), struct cairn_room,
					       still);

	spin_lock_irq(&room->lock);
	room_next(room, ktime_get_ns());
	spin_unlock_irq(&room->lock);
}

/* Called by sock_wfree() when a packet has been freed. */
static void room_write_space(struct sock *sk)
{
	room_has_left(room_of(sk));
}

/* Called in an RCU callback, as SOCK_RCU_FREE is set. */
static void room_destruct(struct sock *sk)
{
	struct cairn_room *room = room_of(sk);

	room->destruct(sk);
	if (room->holds_module)
		module_put(THIS_MODULE);
	kfree(room);
	if (atomic_dec_and_test(&room_count))
		wake_up_var(&room_count);
}

void cairn_rooms_stop(void)
{
	wait_var_event(&room_count, !atomic_read(&room_count));
}

/* UDP over IP, because the stack looks at members of such sockets. */
int cairn_room_create_socket(struct socket **sock)
{
	bool ipv6 = IS_ENABLED(CONFIG_IPV6) && ipv6_mod_enabled();
	int err;

	err = sock_create_kern(&init_net, ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM,
			       IPPROTO_UDP, sock);
	if (err)
		return err;
	inet_sk((*sock)->sk)->pmtudisc = IP_PMTUDISC_PROBE;
	if (ipv6)
		inet6_sk((*sock)->sk)->pmtudisc = IPV6_PMTUDISC_PROBE;
	return 0;
}

static struct cairn_room *room_create(void)
{
	struct cairn_room *room = kzalloc(sizeof(*room), GFP_KERNEL_ACCOUNT);
	int err;

	if (!room)
		return ERR_PTR(-ENOMEM);
	err = cairn_room_create_socket(&room->sock);
	if (err) {
		kfree(room);
		return ERR_PTR(err);
	}
	spin_lock_init(&room->lock);
	cairn_room_turn_init(&room->turns);
	INIT_DELAYED_WORK(&room->still, room_still);
	room->sk = room->sock->sk;
	sock_set_flag(room->sk, SOCK_RCU_FREE);
	rcu_assign_sk_user_data(room->sk, room);
	room->destruct = room->sk->sk_destruct;
	room->sk->sk_destruct = room_destruct;
	room->sk->sk_write_space = room_write_space;
	atomic_inc(&room_count);
	return room;
}

struct cairn_room *cairn_room_get(struct cairn_room **slot)
{
	struct cairn_room *room = READ_ONCE(*slot), *other;

	if (room)
		return room;
	room = room_create();
	if (IS_ERR(room))
		return room;
	other = cmpxchg(slot, NULL, room);
	if (!other)
		return room;
	cairn_room_put(room);
	return other;
}

/* Has the socket packets? A netem with a delay takes a reference to the socket for each, and
 * does not count it any more (skb_orphan_partial()).
 */
static bool room_has_packets(const struct cairn_room *room)
{
	if (room_used(room))
		return true;
	/* A netem takes the reference first. Pairs with the release of the count in
	 * sock_wfree().
	 */
	smp_rmb();
	return refcount_read(&room->sk->sk_refcnt) > 1;
}

/* Packets may stay in the network stack of a receiver on this host for any time. Meanwhile
 * rmmod fails, as cairn_rooms_stop() would wait for them.
 */
void cairn_room_put(struct cairn_room *room)
{
	if (!room)
		return;
	/* None waits any more, so it is not scheduled again. */
	cancel_delayed_work_sync(&room->still);
	if (room_has_packets(room))
		room->holds_module = try_module_get(THIS_MODULE);
	sock_release(room->sock);
}

void cairn_room_init_wait(struct cairn_room_wait *wait, struct cairn_room *room,
			  struct cairn_exec *exec)
{
	INIT_LIST_HEAD(&wait->entry);
	wait->room = room;
	wait->exec = exec;
}

/* In turn with others. Its own turn may have come at once. */
static u32 room_ask_in_turn(struct cairn_room *room, struct cairn_room_wait *wait)
{
	unsigned long flags;
	u32 bytes;
	u64 now;

	spin_lock_irqsave(&room->lock, flags);
	now = ktime_get_ns();	/* not before that of another CPU */
	do
		bytes = cairn_room_turn_ask(&room->turns, wait, room_used(room), now);
	while (!bytes && room_next(room, now) == wait);
	spin_unlock_irqrestore(&room->lock, flags);
	return bytes;
}

u32 cairn_room_ask(struct cairn_room_wait *wait)
{
	struct cairn_room *room = wait->room;
	u32 used = room_used(room), bound = READ_ONCE(room->turns.bound);

	if (!READ_ONCE(room->contended) && used < bound)
		return bound - used;
	return room_ask_in_turn(room, wait);
}

void cairn_room_end(struct cairn_room_wait *wait)
{
	struct cairn_room *room = wait->room;
	unsigned long flags;

	if (READ_ONCE(room->turns.turn) != wait)
		return;
	spin_lock_irqsave(&room->lock, flags);
	cairn_room_turn_end(&room->turns, wait);
	room_next(room, ktime_get_ns());
	spin_unlock_irqrestore(&room->lock, flags);
}

void cairn_room_leave(struct cairn_room_wait *wait)
{
	struct cairn_room *room = wait->room;
	unsigned long flags;

	if (!room)
		return;
	spin_lock_irqsave(&room->lock, flags);
	cairn_room_turn_leave(&room->turns, wait);
	room_next(room, ktime_get_ns());
	spin_unlock_irqrestore(&room->lock, flags);
}

bool cairn_room_take(struct cairn_room *room, struct sk_buff *skb)
{
	if (READ_ONCE(room->turns.stuck))
		return false;
	skb_set_owner_w(skb, room->sk);
	return true;
}

void cairn_room_reserve(struct cairn_room *room, u32 bytes)
{
	refcount_add(bytes, &room->sk->sk_wmem_alloc);
}

/* The socket itself counts as one byte, as long as the room has an owner. */
void cairn_room_unreserve(struct cairn_room *room, u32 bytes)
{
	WARN_ON(refcount_sub_and_test(bytes, &room->sk->sk_wmem_alloc));
	room_has_left(room);
}
