/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Sending, receiving and netdevs, as the rest of the module uses them. */
#ifndef CAIRN_NET_NET_H
#define CAIRN_NET_NET_H

#include <linux/bvec.h>
#include <linux/percpu.h>
#include "device/nic.h"
#include "device/path.h"
#include "engine/env.h"

struct cairn_room;

/* Callbacks into verbs/, which knows ib_core. Set once, before any attach. */
struct cairn_net_ops {
	/*
	 * The netdev is being unregistered: unregister the device
	 * asynchronously, which ends in cairn_net_detach(). Called at most once
	 * for each attach, under RTNL. The device may be unregistering already.
	 */
	void (*remove)(struct cairn_nic *nic);
	/* Carrier, up/down, MTU or MAC address may have changed. Under RTNL, and
	 * perhaps below the netdev's own lock (6.15).
	 */
	void (*changed)(struct cairn_nic *nic);
};

/**
 * cairn_net_init() - start watching netdevs and network namespaces
 * @ops: callbacks, valid until cairn_net_exit()
 *
 * Context: process, module load.
 * Return: 0 or a negative errno.
 */
int cairn_net_init(const struct cairn_net_ops *ops);

/* Undo cairn_net_init(). Every device is detached. Process context. */
void cairn_net_exit(void);

/**
 * cairn_net_attach() - start receiving for nic->ndev
 * @nic: ndev, stats and qps are set up
 *
 * A netdev has at most one device, as the netdev alone says which device a
 * packet belongs to.
 *
 * Context: process, not under RTNL.
 * Return: 0, -EEXIST when the netdev has a device, -ENODEV when the netdev is
 * being unregistered, or the error of the hooks' registration.
 */
int cairn_net_attach(struct cairn_nic *nic);

/**
 * cairn_net_detach() - stop receiving
 * @nic: attached, or its attach failed
 *
 * After it returns, no receive is in progress for the device and the callbacks
 * are not called for it any more. The caller has destroyed all QPs and address
 * handles: the network namespace may end after this, and cached routes must not
 * outlive it.
 *
 * Context: process, not under RTNL.
 */
void cairn_net_detach(struct cairn_nic *nic);

/**
 * cairn_net_repeat() - report that addresses have gone since the attach
 * @nic: attached, and registered with ib_core
 *
 * ib_core reads all addresses while a device is registered, and follows events
 * afterwards. Without ib_device_enable_gid_updates(), which 6.1.192 and 6.12.117 have,
 * it misses events in between: the GID of an address that was removed stays. At a
 * change of the MAC address ib_core removes all GIDs of a netdev and reads its
 * addresses again. So that event is repeated, for the netdev and those above it.
 *
 * GIDs of a netdev that is not above it any more, as of a bond that it left in between,
 * stay. A connection that uses one fails, as the device does not receive its packets.
 *
 * Context: process, RTNL held.
 */
void cairn_net_repeat(struct cairn_nic *nic);

/**
 * cairn_net_join() - make the netdev receive packets to a multicast group
 * @nic: attached, and not in the group
 * @addr: group; an IPv4-mapped address for IPv4
 *
 * Context: process, not under RTNL.
 * Return: 0, -ENODEV (the netdev is being unregistered), -EADDRNOTAVAIL (it has
 * no IPv4), -ENOMEM, or the error of IPv6.
 */
int cairn_net_join(struct cairn_nic *nic, const struct in6_addr *addr);

/* Undo one cairn_net_join(). Once for each group of @nic. Process context, not
 * under RTNL.
 */
void cairn_net_leave(struct cairn_nic *nic, const struct in6_addr *addr);

/* One of several single-packet messages that form a train. */
struct cairn_message_out {
	const struct cairn_pkt *pkt;	/* opcode and size: the train's */
	const u8 *bytes;		/* the payload, or NULL: it is in bv */
	const struct bio_vec *bv;
};

/* Describe packet @k in @out. The memory that @out points to must stay valid
 * until the next call. Return: 0, or negative to stop.
 */
typedef int (*cairn_message_fn)(void *arg, u32 k,
				struct cairn_message_out *out);

/* The packets of a train, one by one. */
struct cairn_packets {
	const struct cairn_train *train;	/* count, sizes, opcodes */
	/* The payload, train->length bytes in all; unused for messages and when
	 * train->inline_data is set.
	 */
	const struct bio_vec *bv;
	/* A train of messages: called for each of them, in order. NULL: the
	 * train describes all packets.
	 */
	cairn_message_fn next;
	void *arg;				/* for next */
	/* The packets are counted in it (lane/room.h), if they are given to the IP
	 * stack. NULL: they are not.
	 */
	struct cairn_room *room;
};

/**
 * cairn_net_xmit() - send a train
 * @nic: for its netdev's namespace and its counters
 * @path: to the peer; the caller holds its lock
 * @packets: the train
 *
 * Computes length, id and ICRC of each packet and gives the packets to the IP
 * stack in the netdev's namespace. A packet that the stack refuses is counted
 * as loss. It is not an error. If a message fails, or the payload's memory has
 * an error (counted), nothing is sent.
 *
 * Context: below cairn_cpu_lock(), RCU read section.
 * Return: train->count if all was well. Else for messages the number of those
 * before the first that failed, 0 for other trains.
 */
u32 cairn_net_xmit(struct cairn_nic *nic, struct cairn_path *path,
		   const struct cairn_packets *packets);

/* Each CPU has one, and uses it below cairn_cpu_lock(). */
struct cairn_plug_state {
	unsigned int depth;	/* cairn_net_plug() calls not yet undone */
	unsigned int added;	/* trains that ever waited for unplug */
	/* Counts the fence that was put off; NULL: none was. */
	struct cairn_nic *unfenced;
};

DECLARE_PER_CPU(struct cairn_plug_state, cairn_plug_state);

/**
 * cairn_net_plug() - let trains of this CPU wait and leave together
 *
 * Implements cairn_env_plug(). Begins an RCU read section, which
 * cairn_net_unplug() ends.
 *
 * Context: below cairn_cpu_lock() until cairn_net_unplug().
 */
void cairn_net_plug(void);
void cairn_net_unplug(void);

/* Implement cairn_env_fence_later() and cairn_env_settle(). Below cairn_cpu_lock(). Return:
 * false outside of cairn_net_plug().
 */
bool cairn_net_fence_later(struct cairn_nic *nic);
void cairn_net_settle(void);

/**
 * cairn_net_grh() - the 40 bytes before a UD payload
 * @pkt: a received packet, its cookie an sk_buff
 * @grh: filled with the IPv6 header, or 20 zero bytes and the IPv4 header
 */
void cairn_net_grh(const struct cairn_pkt *pkt, u8 *grh);

/**
 * cairn_net_grh_flags() - completion flags for IP version and VLAN
 * @pkt: a received UD packet, its cookie an sk_buff
 * @vlan: set to the VLAN id when the packet came over a VLAN
 *
 * Return: CAIRN_CQE_GRH, with CAIRN_CQE_IPV4 for IPv4 and CAIRN_CQE_VLAN for a
 * VLAN.
 */
u16 cairn_net_grh_flags(const struct cairn_pkt *pkt, u16 *vlan);

/**
 * cairn_net_copy_payload() - copy payload of a received packet
 * @pkt: its cookie is an sk_buff
 * @offset: bytes of payload to skip
 * @to: kernel memory
 * @len: bytes; @offset + @len is at most pkt->payload_len
 *
 * Return: 0, or -EFAULT: the bytes cannot be read, and the content of @to is
 * undefined.
 */
int cairn_net_copy_payload(const struct cairn_pkt *pkt, u32 offset, void *to,
			   u32 len);

/**
 * cairn_net_copy_words() - copy payload to persistent memory, in whole words
 * @pkt: its cookie is an sk_buff
 * @offset: bytes of payload to skip
 * @words: of the message
 * @to: kernel memory, right behind the bytes that @words holds
 * @len: bytes; @offset + @len is at most pkt->payload_len
 *
 * Return: 0, or -EFAULT: only a part was copied.
 */
int cairn_net_copy_words(const struct cairn_pkt *pkt, u32 offset,
			 struct cairn_words *words, u8 *to, u32 len);

#endif
