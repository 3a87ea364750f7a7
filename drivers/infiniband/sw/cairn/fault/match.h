/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Does a fault rule hit a packet? Plain C: the same code runs in host tests. A rule has
 * a random state of its own, so the same seed and the same packets give the same hits.
 */
#ifndef CAIRN_FAULT_MATCH_H
#define CAIRN_FAULT_MATCH_H

#include <linux/types.h>
#include <rdma/cairn-abi.h>

/* All that a rule can look at. */
struct cairn_match_packet {
	u32 qpn;	/* of the queue pair of this device */
	u32 len;	/* bytes of payload */
	u32 key;	/* R_Key of its RETH or AtomicETH; 0: it has none */
	u8 opcode;	/* of the BTH */
	u8 direction;	/* enum cairn_fault_directions */
	u8 peer[16];	/* address of the other end, IPv4-mapped */
};

/* A rule and its state. */
struct cairn_match {
	struct cairn_fault_rule rule;
	u64 born;	/* ns */
	u64 random;
	u64 seen;	/* packets that fit the rule's filter */
	u64 hits;	/* those of them that it was applied to */
};

/* Return: 0, or -EINVAL: a value out of its range, or a reserved field that is not 0. */
int cairn_match_check(const struct cairn_fault_rule *rule);

/* Begin with a rule that has been checked. @now: ns */
void cairn_match_init(struct cairn_match *match,
		      const struct cairn_fault_rule *rule, u64 now);

/* How a packet is refused that the rule hits, as pkt->refuse (wire/packet.h); 0: it is not. */
u8 cairn_match_refuse(const struct cairn_fault_rule *rule);

/* Count the packet if it fits. Return: is the rule to be applied to it? The caller
 * serialises calls.
 */
bool cairn_match_hit(struct cairn_match *match,
		     const struct cairn_match_packet *pkt, u64 now);

#endif
