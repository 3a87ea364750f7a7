/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_NET_TX_H
#define CAIRN_NET_TX_H

#include "net/frame.h"

/* Module start (0 or -ENOMEM) and stop. Process context. */
int cairn_net_tx_start(void);
void cairn_net_tx_stop(void);

/* Give a train to the IP stack. Return: false when the stack dropped it. */
bool cairn_net_tx_send(struct cairn_nic *nic, struct cairn_frame *frame,
		       const struct cairn_path *path, struct dst_entry *dst);
/* Count a train as sent if it @left, or else as lost with counter @why. */
void cairn_net_tx_count(struct cairn_nic *nic, u32 packets, u32 bytes,
			bool left, enum cairn_counter why);

/* The software hash of packets that cairn devices send. @saddr and @daddr are
 * IPv4 addresses, or the last words of IPv6 addresses. The seed is secret, so
 * no other sender can give a packet this hash. Any context.
 */
u32 cairn_net_flow_hash(__be32 saddr, __be32 daddr, __be16 sport);

#endif
