// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets to bytes and back. Both directions walk the header list in wire
 * order; each step takes the address of its header and returns the next one's.
 */
#include <asm/byteorder.h>
#include "wire/packet.h"

static const void *packet_parse_deth(struct cairn_pkt *pkt,
				     const struct cairn_deth *ext)
{
	pkt->qkey = be32_to_cpu(ext->qkey);
	pkt->src_qpn = be32_to_cpu(ext->sqpn) & CAIRN_24BIT_MASK;
	return ext + 1;
}

/* The header behind the BTH that names the destination: a DETH or an XRCETH. */
static const void *packet_parse_target(struct cairn_pkt *pkt, const void *ext)
{
	const struct cairn_xrceth *xrceth = ext;

	if (pkt->op->hdrs & CAIRN_HDR_DETH)
		return packet_parse_deth(pkt, ext);
	pkt->srqn = be32_to_cpu(xrceth->srqn) & CAIRN_24BIT_MASK;
	return xrceth + 1;
}

static const void *packet_parse_feth(struct cairn_pkt *pkt,
				     const struct cairn_feth *ext)
{
	u32 value = be32_to_cpu(ext->sel_plt);

	pkt->plt = value & CAIRN_FETH_PLT_MASK;
	pkt->sel = value >> CAIRN_FETH_SEL_SHIFT & CAIRN_FETH_SEL_MASK;
	return ext + 1;
}

static const void *packet_parse_reth(struct cairn_pkt *pkt,
				     const struct cairn_reth *ext)
{
	pkt->va = be64_to_cpu(ext->va);
	pkt->rkey = be32_to_cpu(ext->rkey);
	pkt->dma_len = be32_to_cpu(ext->length);
	return ext + 1;
}

static const void *packet_parse_atomiceth(struct cairn_pkt *pkt,
					  const struct cairn_atomiceth *ext)
{
	pkt->va = be64_to_cpu(ext->va);
	pkt->rkey = be32_to_cpu(ext->rkey);
	pkt->swap_add = be64_to_cpu(ext->swap_add);
	pkt->compare = be64_to_cpu(ext->compare);
	return ext + 1;
}

static const void *packet_parse_aeth(struct cairn_pkt *pkt,
				     const struct cairn_aeth *ext)
{
	u32 value = be32_to_cpu(ext->syndrome_msn);

	pkt->syndrome = value >> 24;
	pkt->msn = value & CAIRN_24BIT_MASK;
	return ext + 1;
}

static const void *
packet_parse_atomicacketh(struct cairn_pkt *pkt,
			  const struct cairn_atomicacketh *ext)
{
	pkt->orig = be64_to_cpu(ext->orig);
	return ext + 1;
}

static const void *packet_parse_immdt(struct cairn_pkt *pkt,
				      const struct cairn_immdt *ext)
{
	pkt->imm = ext->imm;
	return ext + 1;
}

static void packet_parse_ext(struct cairn_pkt *pkt, const void *ext)
{
	u16 hdrs = pkt->op->hdrs;

	if (hdrs & (CAIRN_HDR_DETH | CAIRN_HDR_XRCETH))
		ext = packet_parse_target(pkt, ext);
	if (hdrs & CAIRN_HDR_FETH)
		ext = packet_parse_feth(pkt, ext);
	if (hdrs & CAIRN_HDR_RETH)
		ext = packet_parse_reth(pkt, ext);
	if (hdrs & CAIRN_HDR_ATOMICETH)
		ext = packet_parse_atomiceth(pkt, ext);
	if (hdrs & CAIRN_HDR_AETH)
		ext = packet_parse_aeth(pkt, ext);
	if (hdrs & CAIRN_HDR_ATOMICACKETH)
		ext = packet_parse_atomicacketh(pkt, ext);
	if (hdrs & CAIRN_HDR_IMMDT)
		ext = packet_parse_immdt(pkt, ext);
	if (hdrs & CAIRN_HDR_IETH)
		pkt->rkey = be32_to_cpu(((const struct cairn_ieth *)ext)->rkey);
}

static void packet_parse_bth(struct cairn_pkt *pkt, const struct cairn_bth *bth)
{
	u32 qpn = be32_to_cpu(bth->qpn);
	u32 psn = be32_to_cpu(bth->psn);

	pkt->solicited = bth->flags & CAIRN_BTH_SE;
	pkt->pkey = be16_to_cpu(bth->pkey);
	pkt->becn = qpn & CAIRN_BTH_BECN;
	pkt->qpn = qpn & CAIRN_24BIT_MASK;
	pkt->ack_req = psn & CAIRN_BTH_ACKREQ;
	pkt->psn = psn & CAIRN_24BIT_MASK;
	if (pkt->op->kind == CAIRN_KIND_PERSIST_ACK)
		pkt->durability = psn >> CAIRN_BTH_DURABILITY_SHIFT &
				  CAIRN_BTH_DURABILITY_MASK;
}

/*
 * The payload that FIRST, MIDDLE and LAST must have depends on the path MTU. The
 * engine checks it and answers with a NAK.
 */
static enum cairn_parse_error packet_parse_lengths(struct cairn_pkt *pkt,
						   u32 len)
{
	const struct cairn_opcode *op = pkt->op;
	u32 overhead = op->hdr_len + pkt->pad + CAIRN_ICRC_LEN;

	if (len < overhead)
		return CAIRN_PARSE_SHORT;
	pkt->payload_off = op->hdr_len;
	pkt->payload_len = len - overhead;
	/* Headers are multiples of four, so payload plus pad must be one, too. */
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
	pkt->kept = false;
	err = packet_parse_lengths(pkt, len);
	if (err)
		return err;
	packet_parse_bth(pkt, bth);
	packet_parse_ext(pkt, bth + 1);
	return CAIRN_PARSE_OK;
}

static void *packet_build_bth(struct cairn_bth *bth,
			      const struct cairn_pkt *pkt)
{
	u32 qpn = pkt->qpn & CAIRN_24BIT_MASK;
	u32 psn = pkt->psn & CAIRN_24BIT_MASK;

	if (pkt->opcode == CAIRN_BTH_PERSIST_ACK)
		psn |= (pkt->durability & CAIRN_BTH_DURABILITY_MASK)
		       << CAIRN_BTH_DURABILITY_SHIFT;
	bth->opcode = pkt->opcode;
	bth->flags = (pkt->solicited ? CAIRN_BTH_SE : 0) |
		     (pkt->opcode != CAIRN_BTH_CNP ? CAIRN_BTH_MIG : 0) |
		     cairn_pkt_pad(pkt->payload_len) << CAIRN_BTH_PAD_SHIFT;
	bth->pkey = cpu_to_be16(pkt->pkey);
	bth->qpn = cpu_to_be32((pkt->becn ? CAIRN_BTH_BECN : 0) | qpn);
	bth->psn = cpu_to_be32((pkt->ack_req ? CAIRN_BTH_ACKREQ : 0) | psn);
	return bth + 1;
}

static void *packet_build_deth(struct cairn_deth *ext,
			       const struct cairn_pkt *pkt)
{
	ext->qkey = cpu_to_be32(pkt->qkey);
	ext->sqpn = cpu_to_be32(pkt->src_qpn & CAIRN_24BIT_MASK);
	return ext + 1;
}

static void *packet_build_target(void *ext, const struct cairn_pkt *pkt)
{
	struct cairn_xrceth *xrceth = ext;

	if (cairn_opcodes[pkt->opcode].hdrs & CAIRN_HDR_DETH)
		return packet_build_deth(ext, pkt);
	xrceth->srqn = cpu_to_be32(pkt->srqn & CAIRN_24BIT_MASK);
	return xrceth + 1;
}

static void *packet_build_feth(struct cairn_feth *ext,
			       const struct cairn_pkt *pkt)
{
	ext->sel_plt = cpu_to_be32((pkt->sel & CAIRN_FETH_SEL_MASK)
				   << CAIRN_FETH_SEL_SHIFT |
				   (pkt->plt & CAIRN_FETH_PLT_MASK));
	return ext + 1;
}

static void *packet_build_reth(struct cairn_reth *ext,
			       const struct cairn_pkt *pkt)
{
	ext->va = cpu_to_be64(pkt->va);
	ext->rkey = cpu_to_be32(pkt->rkey);
	ext->length = cpu_to_be32(pkt->dma_len);
	return ext + 1;
}

static void *packet_build_atomiceth(struct cairn_atomiceth *ext,
				    const struct cairn_pkt *pkt)
{
	ext->va = cpu_to_be64(pkt->va);
	ext->rkey = cpu_to_be32(pkt->rkey);
	ext->swap_add = cpu_to_be64(pkt->swap_add);
	ext->compare = cpu_to_be64(pkt->compare);
	return ext + 1;
}

static void *packet_build_aeth(struct cairn_aeth *ext,
			       const struct cairn_pkt *pkt)
{
	ext->syndrome_msn = cpu_to_be32((u32)pkt->syndrome << 24 |
					(pkt->msn & CAIRN_24BIT_MASK));
	return ext + 1;
}

static void *packet_build_atomicacketh(struct cairn_atomicacketh *ext,
				       const struct cairn_pkt *pkt)
{
	ext->orig = cpu_to_be64(pkt->orig);
	return ext + 1;
}

static void *packet_build_immdt(struct cairn_immdt *ext,
				const struct cairn_pkt *pkt)
{
	ext->imm = pkt->imm;
	return ext + 1;
}

u32 cairn_pkt_build(u8 *hdr, const struct cairn_pkt *pkt)
{
	const struct cairn_opcode *op = &cairn_opcodes[pkt->opcode];
	void *ext;

	if (!op->name)
		return 0;
	ext = packet_build_bth((void *)hdr, pkt);
	if (op->hdrs & (CAIRN_HDR_DETH | CAIRN_HDR_XRCETH))
		ext = packet_build_target(ext, pkt);
	if (op->hdrs & CAIRN_HDR_FETH)
		ext = packet_build_feth(ext, pkt);
	if (op->hdrs & CAIRN_HDR_RETH)
		ext = packet_build_reth(ext, pkt);
	if (op->hdrs & CAIRN_HDR_ATOMICETH)
		ext = packet_build_atomiceth(ext, pkt);
	if (op->hdrs & CAIRN_HDR_AETH)
		ext = packet_build_aeth(ext, pkt);
	if (op->hdrs & CAIRN_HDR_ATOMICACKETH)
		ext = packet_build_atomicacketh(ext, pkt);
	if (op->hdrs & CAIRN_HDR_IMMDT)
		ext = packet_build_immdt(ext, pkt);
	if (op->hdrs & CAIRN_HDR_IETH)
		((struct cairn_ieth *)ext)->rkey = cpu_to_be32(pkt->rkey);
	return op->hdr_len;
}
