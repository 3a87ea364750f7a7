/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_NET_TX_H
#define CAIRN_NET_TX_H

#include "net/frame.h"

/* Module start (0 or a negative errno) and stop. Process context. */
int cairn_net_tx_start(void);
void cairn_net_tx_stop(void);

/* Give a train to the IP stack. Return: false when the stack dropped it. */
bool cairn_net_tx_send(struct cairn_nic *nic, struct cairn_frame *frame,
		       const struct cairn_path *path, struct dst_entry *dst);

/* Prepare a packet that waits and is sent by cairn_net_tx_kept(): it gets a reference to
 * the route. Context: as cairn_net_xmit().
 */
void cairn_net_tx_keep(struct sk_buff *skb, const struct cairn_path *path,
		       struct dst_entry *dst);
/* Give it to the IP stack. Below cairn_cpu_lock(), RCU read section. Return: false when
 * it was dropped.
 */
bool cairn_net_tx_kept(struct cairn_nic *nic, struct sk_buff *skb);

/* Count a train as sent if it @left, or else as lost with counter @why. */
void cairn_net_tx_count(struct cairn_nic *nic, u32 packets, u32 bytes,
			bool left, enum cairn_counter why);

/* The software hash of packets that cairn devices send. @saddr and @daddr are
 * IPv4 addresses, or the last words of IPv6 addresses. The seed is secret, so
 * no other sender can give a packet this hash. Any context.
 */
u32 cairn_net_flow_hash(__be32 saddr, __be32 daddr, __be16 sport);

#endif
