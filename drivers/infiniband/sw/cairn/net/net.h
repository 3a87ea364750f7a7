/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the sk_buff world offers to the rest of the module. */
#ifndef CAIRN_NET_NET_H
#define CAIRN_NET_NET_H

#include <linux/bvec.h>
#include "engine/port.h"
#include "lane/nic.h"
#include "lane/path.h"

/* Callbacks into the part that knows ib_core; set once before attach. */
struct cairn_net_ops {
	/* The netdev goes away: unregister the device, asynchronously. RTNL. */
	void (*remove)(struct cairn_nic *nic);
	/* Carrier, up/down or MTU may have changed. RTNL. */
	void (*changed)(struct cairn_nic *nic);
};

int cairn_net_init(const struct cairn_net_ops *ops);
void cairn_net_exit(void);

/* Start and stop receiving for nic->ndev. Process context, not under RTNL.
 * After detach returns no receive is in progress for the device.
 */
int cairn_net_attach(struct cairn_nic *nic);
void cairn_net_detach(struct cairn_nic *nic);

/**
 * cairn_net_xmit() - send a train
 * @t: headers and sizes
 * @bv, @nbv: the payload, t->length bytes in all (unused when t->inl is set)
 *
 * Computes lengths, ids and ICRCs of each packet and hands them to the IP
 * stack in the netdev's namespace. A packet that the stack refuses is loss and
 * counted, never an error. BH off; the holder of @path's lock.
 */
void cairn_net_xmit(struct cairn_nic *nic, struct cairn_path *path,
		    const struct cairn_train *t, const struct bio_vec *bv,
		    unsigned int nbv);

/* The 40 bytes before a UD payload; see port_grh(). */
u16 cairn_net_grh(const struct cairn_pkt *pkt, u8 *grh);

/* Copy payload of a received packet; pkt->cookie is its sk_buff. */
void cairn_net_copy_payload(const struct cairn_pkt *pkt, u32 offset, void *to,
			    u32 len);

#endif
