/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the sk_buff world offers to the rest of the module. */
#ifndef CAIRN_NET_NET_H
#define CAIRN_NET_NET_H

#include <linux/bvec.h>
#include <linux/percpu.h>
#include "device/nic.h"
#include "device/path.h"
#include "engine/env.h"

/* Callbacks into the part that knows ib_core; set once before attach. */
struct cairn_net_ops {
	/*
	 * The netdev goes away: unregister the device, asynchronously, which
	 * ends in cairn_net_detach(). Called once for each attach, under RTNL,
	 * perhaps for a device that is being unregistered already.
	 */
	void (*remove)(struct cairn_nic *nic);
	/* Carrier, up/down or MTU may have changed. RTNL. */
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

/* The opposite; every device is detached. Process context. */
void cairn_net_exit(void);

/**
 * cairn_net_attach() - start receiving for nic->ndev
 * @nic: ndev, stats and qps are set up
 *
 * A netdev has one device at most, else nobody could tell whose packet it is.
 *
 * Context: process, not under RTNL.
 * Return: 0, -EEXIST when the netdev has a device, -ENODEV when it is going
 * away, or the error of the hooks' registration.
 */
int cairn_net_attach(struct cairn_nic *nic);

/**
 * cairn_net_detach() - stop receiving
 * @nic: attached, or attached in vain
 *
 * After it returns no receive is in progress for the device and ops are not
 * called for it any more. To be called when no QP or address handle is left:
 * the network namespace does not die before, so that their cached routes do
 * not outlive it.
 *
 * Context: process, not under RTNL.
 */
void cairn_net_detach(struct cairn_nic *nic);

/**
 * cairn_net_join() - the netdev receives packets to a multicast group
 * @nic: attached
 * @addr: group, IPv4 mapped for IPv4
 *
 * Context: process, not under RTNL.
 * Return: 0, -ENODEV (the netdev is going away), -EADDRNOTAVAIL (it has no IPv4
 * at all), or what IPv6 returns.
 */
int cairn_net_join(struct cairn_nic *nic, const struct in6_addr *addr);

/* The opposite, once for each join. Process context, not under RTNL. */
void cairn_net_leave(struct cairn_nic *nic, const struct in6_addr *addr);

/**
 * cairn_net_xmit() - send a train
 * @nic: for its netdev's namespace and its counters
 * @path: where to; the caller holds its lock
 * @train: headers and sizes
 * @bv: the payload, train->length bytes in all (unused when train->inline_data is set)
 *
 * Computes lengths, ids and ICRCs of each packet and hands them to the IP
 * stack in the netdev's namespace. A packet that the stack refuses is loss and
 * counted, never an error.
 *
 * Context: below cairn_cpu_lock(), RCU read section.
 * Return: 0, or -EFAULT: the memory of the payload has an error (counted), and
 * nothing left.
 */
int cairn_net_xmit(struct cairn_nic *nic, struct cairn_path *path,
		   const struct cairn_train *train, const struct bio_vec *bv);

/* A packet of cairn_net_xmit_messages(); the payload is at bytes, or in bv. */
struct cairn_net_part {
	const struct cairn_pkt *pkt;	/* its opcode and size are the train's */
	const u8 *bytes;
	const struct bio_vec *bv;
};

/* Describe packet @k; what @part points to is good until the next call. 0, or
 * negative to stop.
 */
typedef int (*cairn_net_part_fn)(void *arg, u32 k, struct cairn_net_part *part);

/**
 * cairn_net_xmit_messages() - send single-packet messages as one train
 * @nic: as for cairn_net_xmit()
 * @path: as for cairn_net_xmit()
 * @train: opcode and size of each, and how many
 * @part: called for each, in order
 * @arg: for @part
 *
 * Context: below cairn_cpu_lock(), RCU read section.
 * Return: packets that neither @part nor an error of their memory refused; nothing
 * left unless that is train->count.
 */
u32 cairn_net_xmit_messages(struct cairn_nic *nic, struct cairn_path *path,
			    const struct cairn_train *train,
			    cairn_net_part_fn part, void *arg);

/* Of one CPU; used below cairn_cpu_lock(). */
struct cairn_plug_state {
	unsigned int depth;	/* cairn_net_plug() without cairn_net_unplug() */
	unsigned int added;	/* trains that had to wait for the latter, ever */
};

DECLARE_PER_CPU(struct cairn_plug_state, cairn_plug_state);

/**
 * cairn_net_plug() - what this CPU sends from here on may leave together
 *
 * What cairn_env_plug() says. An RCU read section.
 *
 * Context: below cairn_cpu_lock() until cairn_net_unplug().
 */
void cairn_net_plug(void);
void cairn_net_unplug(void);

/**
 * cairn_net_grh() - the 40 bytes before a UD payload
 * @pkt: a received packet, its cookie an sk_buff
 * @grh: filled with the IPv6 header, or 20 zero bytes and the IPv4 header
 */
void cairn_net_grh(const struct cairn_pkt *pkt, u8 *grh);

/**
 * cairn_net_grh_flags() - by which way a UD packet came
 * @pkt: a received packet, its cookie an sk_buff
 * @vlan: set to the id of the VLAN that the packet came by, if it did
 *
 * Return: CAIRN_CQE_GRH, with CAIRN_CQE_IPV4 for IPv4, CAIRN_CQE_VLAN for a
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
 * Return: 0 or -EFAULT: the bytes cannot be read, and what is at @to is
 * undefined.
 */
int cairn_net_copy_payload(const struct cairn_pkt *pkt, u32 offset, void *to,
			   u32 len);

/**
 * cairn_net_copy_words() - the same, to persistent memory
 * @pkt: its cookie is an sk_buff
 * @offset: bytes of payload to skip
 * @words: of the message
 * @to: kernel memory, behind what @words holds
 * @len: bytes; @offset + @len is at most pkt->payload_len
 *
 * Return: 0 or -EFAULT: a part was copied.
 */
int cairn_net_copy_words(const struct cairn_pkt *pkt, u32 offset,
			 struct cairn_words *words, u8 *to, u32 len);

#endif
