// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ARP between two devices of one network namespace.
 *
 * Before a queue pair gets its peer's address, ib_core resolves it over the
 * netdev of the source GID. If another netdev of this namespace owns the
 * address, that request is never answered: its sender address is one of the
 * owner's own host, so the owner drops it as a martian. cairn answers instead,
 * in the hook that sees the request leave. The MAC address is not used for
 * sending: the routing tables know that the destination is local (routing.c). So
 * for a netdev without one (tun, wireguard) it is that of the asking netdev.
 *
 * The request still leaves. A work item gives the answer, because ib_core
 * begins to wait for the neighbour only after it has sent the request. An
 * immediate answer would be missed, and noticed only when the wait times out
 * after a second.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/netfilter_arp.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/arp.h>
#include <net/neighbour.h>
#include "compat/netdev_hold.h"
#include "net/answer.h"
#include "net/netdev.h"

/* An ARP request for Ethernet and IPv4, with its header. */
struct answer_request {
	struct arphdr hdr;
	u8 sender_mac[ETH_ALEN];
	__be32 sender;
	u8 target_mac[ETH_ALEN];
	__be32 target;
} __packed;

struct answer {
	struct work_struct work;
	struct net_device *dev;		/* that sent the request */
	netdevice_tracker tracker;
	__be32 addr;
	u8 mac[ETH_ALEN];
};

static struct workqueue_struct *answer_wq;

static void answer_work(struct work_struct *work)
{
	struct answer *answer =
		container_of(work, struct answer, work);
	struct neighbour *neigh;

	neigh = neigh_lookup(&arp_tbl, &answer->addr, answer->dev);
	if (neigh) {
		neigh_update(neigh, answer->mac, NUD_REACHABLE,
			     NEIGH_UPDATE_F_OVERRIDE, 0);
		neigh_release(neigh);
	}
	netdev_put(answer->dev, &answer->tracker);
	kfree(answer);
}

static void answer_give(struct net_device *dev, __be32 addr,
			const struct net_device *owner)
{
	struct answer *answer = kmalloc(sizeof(*answer),
					    GFP_ATOMIC | __GFP_NOWARN);

	if (!answer)
		return;
	INIT_WORK(&answer->work, answer_work);
	answer->dev = dev;
	netdev_hold(dev, &answer->tracker, GFP_ATOMIC);
	answer->addr = addr;
	memcpy(answer->mac, owner->addr_len == ETH_ALEN ? owner->dev_addr :
							  dev->dev_addr,
	       ETH_ALEN);
	queue_work(answer_wq, &answer->work);
}

static bool answer_read(const struct sk_buff *skb, struct answer_request *request)
{
	return !skb_copy_bits(skb, skb_network_offset(skb), request,
			      sizeof(*request)) &&
	       request->hdr.ar_op == htons(ARPOP_REQUEST) &&
	       request->hdr.ar_pro == htons(ETH_P_IP) &&
	       request->hdr.ar_hln == ETH_ALEN &&
	       request->hdr.ar_pln == sizeof(request->target);
}

/* The netdev of another cairn device that has the requested address, or NULL.
 * NULL also for a probe for duplicates, which has no sender address yet, and
 * for an announcement, which asks for its own address.
 */
static struct net_device *answer_owner(struct net *net, struct net_device *dev,
				       const struct answer_request *request)
{
	struct net_device *owner = __ip_dev_find(net, request->target, false);

	if (!owner || owner == dev || request->sender == request->target ||
	    !__ip_dev_find(net, request->sender, false))
		return NULL;
	return cairn_net_nic(net, dev) && cairn_net_nic(net, owner) ? owner :
								       NULL;
}

static unsigned int answer_hook(void *priv, struct sk_buff *skb,
				const struct nf_hook_state *state)
{
	struct net_device *dev = state->out, *owner;
	struct answer_request request;

	if (!answer_read(skb, &request))
		return NF_ACCEPT;
	owner = answer_owner(state->net, dev, &request);
	if (owner)
		answer_give(dev, request.target, owner);
	return NF_ACCEPT;
}

const struct nf_hook_ops cairn_answer_hook = {
	.hook = answer_hook,
	.pf = NFPROTO_ARP,
	.hooknum = NF_ARP_OUT,
};

int cairn_answer_start(void)
{
	answer_wq = alloc_workqueue("cairn_answer", WQ_UNBOUND, 0);
	return answer_wq ? 0 : -ENOMEM;
}

void cairn_answer_stop(void)
{
	destroy_workqueue(answer_wq);
}
