// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * In this file a run is a clone of a received skb, with packets that have consecutive
 * PSNs and follow each other in the skb. Packets that have been executed are skipped.
 * The clone is freed when the packet behind its last one is taken.
 */
#include <linux/jhash.h>
#include "lane/exec.h"
#include "wire/psn.h"

/* Byte of the BTH that has AckReq in its top bit. */
#define HOLD_ACKREQ_BYTE	8

static u32 hold_wire_len(const struct cairn_pkt *pkt)
{
	return pkt->payload_off + pkt->payload_len + pkt->pad + CAIRN_ICRC_LEN;
}

static u32 hold_run_packets(const struct cairn_rx_cb *cb)
{
	return DIV_ROUND_UP(cb->len, cb->stride);
}

/* The bytes of the QP's user, see engine/quota.h. */
static atomic64_t *hold_of_user(struct cairn_exec *exec)
{
	return exec->user ? &exec->user->kept_bytes : NULL;
}

static void hold_put(struct cairn_exec *exec, u32 bytes)
{
	cairn_quota_put(&exec->nic->held, hold_of_user(exec), exec->hold.peer, bytes);
}

static void hold_drop(struct cairn_exec *exec, struct sk_buff *run)
{
	struct cairn_hold *hold = &exec->hold;

	rb_erase(&run->rbnode, &hold->runs);
	hold->num--;
	hold->bytes -= run->truesize;
	hold_put(exec, run->truesize);
	consume_skb(run);
}

/* Is @pkt in the same skb, right behind the packets of @run? */
static bool hold_extends(struct sk_buff *run, const struct sk_buff *skb,
			 const struct cairn_pkt *pkt)
{
	const struct cairn_rx_cb *cb = cairn_rx_cb(run);

	return run->head == skb->head && cb->offset + cb->len == pkt->base &&
	       !(cb->len % cb->stride) && hold_wire_len(pkt) <= cb->stride;
}

/* Are the packets the same? They may differ in AckReq, and so in the ICRC. */
static bool hold_same(const struct sk_buff *run, u32 offset, u32 len,
		      const struct sk_buff *skb, const struct cairn_pkt *pkt)
{
	u8 kept[128], came[128];
	u32 done, n;

	if (len != hold_wire_len(pkt))
		return false;
	len -= CAIRN_ICRC_LEN;
	for (done = 0; done < len; done += n) {
		n = min_t(u32, len - done, sizeof(kept));
		if (skb_copy_bits(run, offset + done, kept, n) ||
		    skb_copy_bits(skb, pkt->base + done, came, n))
			return false;
		if (!done) {
			kept[HOLD_ACKREQ_BYTE] &= 0x7f;
			came[HOLD_ACKREQ_BYTE] &= 0x7f;
		}
		if (memcmp(kept, came, n))
			return false;
	}
	return true;
}

/* The place of a packet in the tree. */
struct hold_place {
	struct sk_buff *run;	/* the last one that begins at the packet or before */
	struct rb_node *parent, **link;
};

static void hold_find(struct cairn_hold *hold, u32 psn,
		      struct hold_place *place)
{
	*place = (struct hold_place){ .link = &hold->runs.rb_node };
	while (*place->link) {
		struct sk_buff *run = rb_to_skb(*place->link);

		place->parent = *place->link;
		if (cairn_psn_diff(psn, cairn_rx_cb(run)->psn) < 0) {
			place->link = &place->parent->rb_left;
		} else {
			place->link = &place->parent->rb_right;
			place->run = run;
		}
	}
}

static bool hold_has_room(struct cairn_exec *exec, u32 bytes)
{
	const struct in6_addr *peer = &exec->path[CAIRN_RESP].daddr;
	struct cairn_hold *hold = &exec->hold;

	if (hold->num >= CAIRN_RXQ_SKBS ||
	    hold->bytes + bytes > CAIRN_RXQ_BYTES)
		return false;
	/* The path may change while packets are kept, so the hash is stored. */
	if (!hold->num)
		hold->peer = jhash2((__force const u32 *)peer->s6_addr32, 4,
				    exec->nic->held_seed);
	return cairn_quota_take(&exec->nic->held, hold_of_user(exec), hold->peer, bytes);
}

static bool hold_insert(struct cairn_exec *exec, struct hold_place *place,
			struct sk_buff *skb, const struct cairn_pkt *pkt)
{
	struct cairn_hold *hold = &exec->hold;
	struct sk_buff *run;

	if (!hold_has_room(exec, skb->truesize))
		return false;
	run = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!run) {
		hold_put(exec, skb->truesize);
		return false;
	}
	cairn_rx_cb(run)->first = NULL;
	cairn_exec_disown(run);
	hold->num++;
	hold->bytes += run->truesize;
	cairn_rx_cb(run)->offset = pkt->base;
	cairn_rx_cb(run)->len = hold_wire_len(pkt);
	cairn_rx_cb(run)->psn = pkt->psn;
	rb_link_node(&run->rbnode, place->parent, place->link);
	rb_insert_color(&run->rbnode, &hold->runs);
	return true;
}

/* Add @pkt, which is @off packets behind the first one of @run. Return: as
 * cairn_env_hold(), or 1 if @pkt cannot be part of @run.
 */
static int hold_add_to(struct sk_buff *run, s32 off, struct sk_buff *skb,
		       const struct cairn_pkt *pkt)
{
	struct cairn_rx_cb *cb = cairn_rx_cb(run);
	u32 at = off * cb->stride;

	if (off < (s32)hold_run_packets(cb))
		return hold_same(run, cb->offset + at,
				 min(cb->stride, cb->len - at), skb, pkt) ?
			       0 : -EEXIST;
	if (off > hold_run_packets(cb) || !hold_extends(run, skb, pkt))
		return 1;
	cb->len += hold_wire_len(pkt);
	return 0;
}

int cairn_hold_add(struct cairn_exec *exec, const struct cairn_pkt *pkt)
{
	struct sk_buff *skb = (struct sk_buff *)pkt->cookie;
	struct hold_place place;
	int ret = 1;

	/* The payload is in the memory of a sender on this host, which may be released
	 * after its run. The sender retransmits it.
	 */
	if (pkt->handed)
		return -ENOMEM;
	hold_find(&exec->hold, pkt->psn, &place);
	if (place.run)
		ret = hold_add_to(place.run,
				  cairn_psn_diff(pkt->psn,
						 cairn_rx_cb(place.run)->psn),
				  skb, pkt);
	if (ret <= 0)
		return ret;
	return hold_insert(exec, &place, skb, pkt) ? 0 : -ENOMEM;
}

int cairn_hold_take(struct cairn_exec *exec, u32 psn, struct cairn_pkt *pkt)
{
	struct cairn_hold *hold = &exec->hold;
	struct sk_buff *run;

	while ((run = skb_rb_first(&hold->runs))) {
		const struct cairn_rx_cb *cb = cairn_rx_cb(run);
		s32 off = cairn_psn_diff(psn, cb->psn);
		u32 skip = off * cb->stride;

		if (off < 0)
			return 0;
		if (off < (s32)hold_run_packets(cb) &&
		    cairn_exec_parse(exec, CAIRN_RESP, run, skip, pkt) &&
		    pkt->psn == psn) {
			pkt->refuse = cb->refuse;
			return 1;
		}
		/* All its packets have been executed, or a sender on this host has
		 * changed the next one.
		 */
		hold_drop(exec, run);
	}
	return -ENOENT;
}

void cairn_hold_purge(struct cairn_exec *exec)
{
	struct sk_buff *run;

	while ((run = skb_rb_first(&exec->hold.runs)))
		hold_drop(exec, run);
}
