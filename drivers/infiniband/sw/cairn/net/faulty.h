/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Sent packets of a device with fault rules (fault/rules.h). */
#ifndef CAIRN_NET_FAULTY_H
#define CAIRN_NET_FAULTY_H

#include <linux/skbuff.h>
#include "net/net.h"

/* As cairn_net_xmit(), for a train that is not handed over: its packets leave one by
 * one, and the rules are applied to each of them.
 */
u32 cairn_faulty_xmit(struct cairn_nic *nic, struct cairn_path *path,
		      const struct cairn_packets *packets);

/* Change the last byte before pad and ICRC of a packet with @len bytes of payload that
 * ends with the linear @skb.
 */
void cairn_faulty_flip(struct sk_buff *skb, u32 len);

#endif
