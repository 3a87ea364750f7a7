// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A run is a clone of the skb that brought its packets, which follow each other
 * there and in PSN. Packets that were executed are skipped, and the clone goes
 * when the packet after its last is asked for.
 */
#include <linux/atomic.h>
#include "lane/exec.h"
#include "lane/lane.h"
#include "wire/psn.h"

/* Of all QPs, bytes of truesize. */
#define CAIRN_HOLD_TOTAL	(64L << 20)

/* Where the AckReq is, from the BTH on. */
#define HOLD_ACKREQ_BYTE	8

static atomic_long_t hold_total;

static u32 hold_wire_len(const struct cairn_pkt *pkt)
{
	return pkt->payload_off + pkt->payload_len + pkt->pad + CAIRN_ICRC_LEN;
}

static u32 hold_run_packets(const struct cairn_rx_cb *cb)
{
	return DIV_ROUND_UP(cb->len, cb->stride);
}

static void hold_drop(struct cairn_hold *hold, struct sk_buff *run)
{
	__skb_unlink(run, &hold->runs);
	hold->bytes -= run->truesize;
	atomic_long_sub(run->truesize, &hold_total);
	consume_skb(run);
}

/* Does @pkt lie in the same skb, right behind @run? */
static bool hold_extends(struct sk_buff *run, const struct sk_buff *skb,
			 const struct cairn_pkt *pkt)
{
	const struct cairn_rx_cb *cb = cairn_rx_cb(run);

	return run->head == skb->head && cb->offset + cb->len == pkt->base &&
	       !(cb->len % cb->stride) && hold_wire_len(pkt) <= cb->stride;
}

/* The same request, but for the AckReq and so for the ICRC? */
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

static bool hold_insert(struct cairn_hold *hold, struct sk_buff *before,
			struct sk_buff *skb, const struct cairn_pkt *pkt)
{
	struct sk_buff *run;

	if (skb_queue_len(&hold->runs) >= CAIRN_RXQ_SKBS ||
	    hold->bytes + skb->truesize > CAIRN_RXQ_BYTES)
		return false;
	if (atomic_long_add_return(skb->truesize, &hold_total) >
	    CAIRN_HOLD_TOTAL)
		goto undo;
	run = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!run)
		goto undo;
	cairn_exec_disown(run);
	hold->bytes += run->truesize;
	cairn_rx_cb(run)->offset = pkt->base;
	cairn_rx_cb(run)->len = hold_wire_len(pkt);
	cairn_rx_cb(run)->psn = pkt->psn;
	__skb_queue_after(&hold->runs, before, run);
	return true;
undo:
	atomic_long_sub(skb->truesize, &hold_total);
	return false;
}

int cairn_hold_add(struct cairn_hold *hold, const struct cairn_pkt *pkt)
{
	struct sk_buff *skb = (struct sk_buff *)pkt->cookie, *run;

	/* Mostly it belongs at the end. */
	skb_queue_reverse_walk(&hold->runs, run) {
		struct cairn_rx_cb *cb = cairn_rx_cb(run);
		s32 off = cairn_psn_diff(pkt->psn, cb->psn);

		if (off < 0)
			continue;
		if (off < (s32)hold_run_packets(cb)) {
			u32 at = off * cb->stride;

			return hold_same(run, cb->offset + at,
					 min(cb->stride, cb->len - at), skb,
					 pkt) ? 0 : -EEXIST;
		}
		if (off == hold_run_packets(cb) &&
		    hold_extends(run, skb, pkt)) {
			cb->len += hold_wire_len(pkt);
			return 0;
		}
		break;
	}
	return hold_insert(hold, run, skb, pkt) ? 0 : -ENOMEM;
}

int cairn_hold_take(struct cairn_exec *exec, u32 psn, struct cairn_pkt *pkt)
{
	struct cairn_hold *hold = &exec->hold;
	struct sk_buff *run;

	while ((run = skb_peek(&hold->runs))) {
		const struct cairn_rx_cb *cb = cairn_rx_cb(run);
		s32 off = cairn_psn_diff(psn, cb->psn);
		u32 skip = off * cb->stride;

		if (off < 0)
			return 0;
		if (off < (s32)hold_run_packets(cb) &&
		    cairn_exec_parse(exec, CAIRN_RESP, run, cb->offset + skip,
				     min(cb->stride, cb->len - skip), pkt) &&
		    pkt->psn == psn)
			return 1;
		/* Executed, or changed by a sender on this host. */
		hold_drop(hold, run);
	}
	return -ENOENT;
}

void cairn_hold_purge(struct cairn_hold *hold)
{
	struct sk_buff *run;

	while ((run = skb_peek(&hold->runs)))
		hold_drop(hold, run);
}
