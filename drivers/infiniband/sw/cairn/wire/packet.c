// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets to bytes and back. Both directions walk the header list in wire
 * order; each step takes the address of its header and returns the next one's.
 */
#include <asm/byteorder.h>
#include "wire/packet.h"

static const void *parse_deth(struct cairn_pkt *pkt, const struct cairn_deth *h)
{
	pkt->qkey = be32_to_cpu(h->qkey);
	pkt->src_qpn = be32_to_cpu(h->sqpn) & CAIRN_24BIT_MASK;
	return h + 1;
}

static const void *parse_reth(struct cairn_pkt *pkt, const struct cairn_reth *h)
{
	pkt->va = be64_to_cpu(h->va);
	pkt->rkey = be32_to_cpu(h->rkey);
	pkt->dma_len = be32_to_cpu(h->length);
	return h + 1;
}

static const void *parse_atomiceth(struct cairn_pkt *pkt,
				   const struct cairn_atomiceth *h)
{
	pkt->va = be64_to_cpu(h->va);
	pkt->rkey = be32_to_cpu(h->rkey);
	pkt->swap_add = be64_to_cpu(h->swap_add);
	pkt->compare = be64_to_cpu(h->compare);
	return h + 1;
}

static const void *parse_aeth(struct cairn_pkt *pkt, const struct cairn_aeth *h)
{
	u32 v = be32_to_cpu(h->syndrome_msn);

	pkt->syndrome = v >> 24;
	pkt->msn = v & CAIRN_24BIT_MASK;
	return h + 1;
}

static const void *parse_atomicacketh(struct cairn_pkt *pkt,
				      const struct cairn_atomicacketh *h)
{
	pkt->orig = be64_to_cpu(h->orig);
	return h + 1;
}

static const void *parse_immdt(struct cairn_pkt *pkt,
			       const struct cairn_immdt *h)
{
	pkt->imm = h->imm;
	return h + 1;
}

static void parse_ext(struct cairn_pkt *pkt, const void *h)
{
	u8 hdrs = pkt->op->hdrs;

	if (hdrs & CAIRN_HDR_DETH)
		h = parse_deth(pkt, h);
	if (hdrs & CAIRN_HDR_RETH)
		h = parse_reth(pkt, h);
	if (hdrs & CAIRN_HDR_ATOMICETH)
		h = parse_atomiceth(pkt, h);
	if (hdrs & CAIRN_HDR_AETH)
		h = parse_aeth(pkt, h);
	if (hdrs & CAIRN_HDR_ATOMICACKETH)
		h = parse_atomicacketh(pkt, h);
	if (hdrs & CAIRN_HDR_IMMDT)
		h = parse_immdt(pkt, h);
	if (hdrs & CAIRN_HDR_IETH)
		pkt->rkey = be32_to_cpu(((const struct cairn_ieth *)h)->rkey);
}

static void parse_bth(struct cairn_pkt *pkt, const struct cairn_bth *bth)
{
	u32 qpn = be32_to_cpu(bth->qpn);
	u32 psn = be32_to_cpu(bth->psn);

	pkt->solicited = bth->flags & CAIRN_BTH_SE;
	pkt->pkey = be16_to_cpu(bth->pkey);
	pkt->becn = qpn & CAIRN_BTH_BECN;
	pkt->qpn = qpn & CAIRN_24BIT_MASK;
	pkt->ack_req = psn & CAIRN_BTH_ACKREQ;
	pkt->psn = psn & CAIRN_24BIT_MASK;
}

/*
 * How much payload an opcode asks of FIRST, MIDDLE and LAST depends on the path
 * MTU and is answered with a NAK: that is the engine's.
 */
static enum cairn_parse_error parse_lengths(struct cairn_pkt *pkt, u32 len)
{
	const struct cairn_opcode *op = pkt->op;
	u32 overhead = op->hdr_len + pkt->pad + CAIRN_ICRC_LEN;

	if (len < overhead)
		return CAIRN_PARSE_SHORT;
	pkt->payload_off = op->hdr_len;
	pkt->payload_len = len - overhead;
	/* headers are multiples of four: then payload and pad are one too */
	if (len & 3)
		return CAIRN_PARSE_LENGTH;
	if (!(op->flags & CAIRN_OP_PAYLOAD) && pkt->payload_len)
		return CAIRN_PARSE_LENGTH;
	if (op->kind == CAIRN_KIND_CNP && pkt->payload_len != CAIRN_CNP_PAYLOAD)
		return CAIRN_PARSE_LENGTH;
	return CAIRN_PARSE_OK;
}

enum cairn_parse_error cairn_pkt_parse(struct cairn_pkt *pkt, const u8 *hdr,
				       u32 len)
{
	const struct cairn_bth *bth = (const void *)hdr;
	enum cairn_parse_error err;

	if (len < sizeof(*bth) + CAIRN_ICRC_LEN)
		return CAIRN_PARSE_SHORT;
	pkt->opcode = bth->opcode;
	pkt->op = &cairn_opcodes[pkt->opcode];
	if (!pkt->op->name)
		return CAIRN_PARSE_OPCODE;
	if (bth->flags & CAIRN_BTH_TVER_MASK)
		return CAIRN_PARSE_VERSION;
	pkt->pad = (bth->flags & CAIRN_BTH_PAD_MASK) >> CAIRN_BTH_PAD_SHIFT;
	err = parse_lengths(pkt, len);
	if (err)
		return err;
	parse_bth(pkt, bth);
	parse_ext(pkt, bth + 1);
	return CAIRN_PARSE_OK;
}

static void *build_bth(struct cairn_bth *bth, const struct cairn_pkt *pkt)
{
	u32 qpn = pkt->qpn & CAIRN_24BIT_MASK;
	u32 psn = pkt->psn & CAIRN_24BIT_MASK;

	bth->opcode = pkt->opcode;
	bth->flags = (pkt->solicited ? CAIRN_BTH_SE : 0) |
		     (pkt->opcode != CAIRN_BTH_CNP ? CAIRN_BTH_MIG : 0) |
		     cairn_pad(pkt->payload_len) << CAIRN_BTH_PAD_SHIFT;
	bth->pkey = cpu_to_be16(pkt->pkey);
	bth->qpn = cpu_to_be32((pkt->becn ? CAIRN_BTH_BECN : 0) | qpn);
	bth->psn = cpu_to_be32((pkt->ack_req ? CAIRN_BTH_ACKREQ : 0) | psn);
	return bth + 1;
}

static void *build_deth(struct cairn_deth *h, const struct cairn_pkt *pkt)
{
	h->qkey = cpu_to_be32(pkt->qkey);
	h->sqpn = cpu_to_be32(pkt->src_qpn & CAIRN_24BIT_MASK);
	return h + 1;
}

static void *build_reth(struct cairn_reth *h, const struct cairn_pkt *pkt)
{
	h->va = cpu_to_be64(pkt->va);
	h->rkey = cpu_to_be32(pkt->rkey);
	h->length = cpu_to_be32(pkt->dma_len);
	return h + 1;
}

static void *build_atomiceth(struct cairn_atomiceth *h,
			     const struct cairn_pkt *pkt)
{
	h->va = cpu_to_be64(pkt->va);
	h->rkey = cpu_to_be32(pkt->rkey);
	h->swap_add = cpu_to_be64(pkt->swap_add);
	h->compare = cpu_to_be64(pkt->compare);
	return h + 1;
}

static void *build_aeth(struct cairn_aeth *h, const struct cairn_pkt *pkt)
{
	h->syndrome_msn = cpu_to_be32((u32)pkt->syndrome << 24 |
				      (pkt->msn & CAIRN_24BIT_MASK));
	return h + 1;
}

static void *build_atomicacketh(struct cairn_atomicacketh *h,
				const struct cairn_pkt *pkt)
{
	h->orig = cpu_to_be64(pkt->orig);
	return h + 1;
}

static void *build_immdt(struct cairn_immdt *h, const struct cairn_pkt *pkt)
{
	h->imm = pkt->imm;
	return h + 1;
}

u32 cairn_pkt_build(u8 *hdr, const struct cairn_pkt *pkt)
{
	const struct cairn_opcode *op = &cairn_opcodes[pkt->opcode];
	void *h;

	if (!op->name)
		return 0;
	h = build_bth((void *)hdr, pkt);
	if (op->hdrs & CAIRN_HDR_DETH)
		h = build_deth(h, pkt);
	if (op->hdrs & CAIRN_HDR_RETH)
		h = build_reth(h, pkt);
	if (op->hdrs & CAIRN_HDR_ATOMICETH)
		h = build_atomiceth(h, pkt);
	if (op->hdrs & CAIRN_HDR_AETH)
		h = build_aeth(h, pkt);
	if (op->hdrs & CAIRN_HDR_ATOMICACKETH)
		h = build_atomicacketh(h, pkt);
	if (op->hdrs & CAIRN_HDR_IMMDT)
		h = build_immdt(h, pkt);
	if (op->hdrs & CAIRN_HDR_IETH)
		((struct cairn_ieth *)h)->rkey = cpu_to_be32(pkt->rkey);
	return op->hdr_len;
}
