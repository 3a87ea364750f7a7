// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/string.h>
#include <asm/byteorder.h>
#include "wire/packet.h"

/* The address of one extension header, or what follows the last one. */
static inline const void *hdr_at(const u8 *base, u8 hdrs, u32 bit)
{
	return base + CAIRN_HDR_LEN_BELOW(hdrs, bit);
}

static void parse_ext(struct cairn_pkt *pkt, const u8 *hdr)
{
	u8 hdrs = pkt->op->hdrs;

	if (hdrs & CAIRN_HDR_DETH) {
		const struct cairn_deth *h = hdr_at(hdr, hdrs, CAIRN_HDR_DETH);

		pkt->qkey = be32_to_cpu(h->qkey);
		pkt->src_qpn = be32_to_cpu(h->sqpn) & CAIRN_24BIT_MASK;
	}
	if (hdrs & CAIRN_HDR_RETH) {
		const struct cairn_reth *h = hdr_at(hdr, hdrs, CAIRN_HDR_RETH);

		pkt->va = be64_to_cpu(h->va);
		pkt->rkey = be32_to_cpu(h->rkey);
		pkt->dma_len = be32_to_cpu(h->length);
	}
	if (hdrs & CAIRN_HDR_ATOMICETH) {
		const struct cairn_atomiceth *h =
			hdr_at(hdr, hdrs, CAIRN_HDR_ATOMICETH);

		pkt->va = be64_to_cpu(h->va);
		pkt->rkey = be32_to_cpu(h->rkey);
		pkt->swap_add = be64_to_cpu(h->swap_add);
		pkt->compare = be64_to_cpu(h->compare);
	}
	if (hdrs & CAIRN_HDR_AETH) {
		const struct cairn_aeth *h = hdr_at(hdr, hdrs, CAIRN_HDR_AETH);
		u32 v = be32_to_cpu(h->syndrome_msn);

		pkt->syndrome = v >> 24;
		pkt->msn = v & CAIRN_24BIT_MASK;
	}
	if (hdrs & CAIRN_HDR_ATOMICACKETH) {
		const struct cairn_atomicacketh *h =
			hdr_at(hdr, hdrs, CAIRN_HDR_ATOMICACKETH);

		pkt->orig = be64_to_cpu(h->orig);
	}
	if (hdrs & CAIRN_HDR_IMMDT) {
		const struct cairn_immdt *h =
			hdr_at(hdr, hdrs, CAIRN_HDR_IMMDT);

		pkt->imm = h->imm;
	}
	if (hdrs & CAIRN_HDR_IETH) {
		const struct cairn_ieth *h = hdr_at(hdr, hdrs, CAIRN_HDR_IETH);

		pkt->rkey = be32_to_cpu(h->rkey);
	}
}

enum cairn_parse_error cairn_pkt_parse(struct cairn_pkt *pkt, const u8 *hdr,
				       u32 len)
{
	const struct cairn_bth *bth = (const void *)hdr;
	u32 v;

	if (len < sizeof(*bth) + CAIRN_ICRC_LEN)
		return CAIRN_PARSE_SHORT;
	pkt->opcode = bth->opcode;
	pkt->op = &cairn_opcodes[pkt->opcode];
	if (!pkt->op->name)
		return CAIRN_PARSE_OPCODE;
	if (bth->flags & CAIRN_BTH_TVER_MASK)
		return CAIRN_PARSE_VERSION;
	pkt->pad = (bth->flags & CAIRN_BTH_PAD_MASK) >> CAIRN_BTH_PAD_SHIFT;
	if (len < pkt->op->hdr_len + pkt->pad + CAIRN_ICRC_LEN)
		return CAIRN_PARSE_SHORT;

	pkt->payload_off = pkt->op->hdr_len;
	pkt->payload_len = len - pkt->op->hdr_len - pkt->pad - CAIRN_ICRC_LEN;
	if ((pkt->payload_len + pkt->pad) & 3)
		return CAIRN_PARSE_LENGTH;
	if (!(pkt->op->flags & CAIRN_OP_PAYLOAD) &&
	    (pkt->payload_len || pkt->pad))
		return CAIRN_PARSE_LENGTH;
	if (pkt->op->kind == CAIRN_KIND_CNP &&
	    pkt->payload_len != CAIRN_CNP_PAYLOAD)
		return CAIRN_PARSE_LENGTH;

	pkt->solicited = bth->flags & CAIRN_BTH_SE;
	pkt->pkey = be16_to_cpu(bth->pkey);
	v = be32_to_cpu(bth->qpn);
	pkt->becn = v & CAIRN_BTH_BECN;
	pkt->qpn = v & CAIRN_24BIT_MASK;
	v = be32_to_cpu(bth->psn);
	pkt->ack_req = v & CAIRN_BTH_ACKREQ;
	pkt->psn = v & CAIRN_24BIT_MASK;
	parse_ext(pkt, hdr);
	return CAIRN_PARSE_OK;
}

static void build_ext(u8 *hdr, const struct cairn_pkt *pkt, u8 hdrs)
{
	if (hdrs & CAIRN_HDR_DETH) {
		struct cairn_deth *h = (void *)hdr_at(hdr, hdrs, CAIRN_HDR_DETH);

		h->qkey = cpu_to_be32(pkt->qkey);
		h->sqpn = cpu_to_be32(pkt->src_qpn);
	}
	if (hdrs & CAIRN_HDR_RETH) {
		struct cairn_reth *h = (void *)hdr_at(hdr, hdrs, CAIRN_HDR_RETH);

		h->va = cpu_to_be64(pkt->va);
		h->rkey = cpu_to_be32(pkt->rkey);
		h->length = cpu_to_be32(pkt->dma_len);
	}
	if (hdrs & CAIRN_HDR_ATOMICETH) {
		struct cairn_atomiceth *h =
			(void *)hdr_at(hdr, hdrs, CAIRN_HDR_ATOMICETH);

		h->va = cpu_to_be64(pkt->va);
		h->rkey = cpu_to_be32(pkt->rkey);
		h->swap_add = cpu_to_be64(pkt->swap_add);
		h->compare = cpu_to_be64(pkt->compare);
	}
	if (hdrs & CAIRN_HDR_AETH) {
		struct cairn_aeth *h = (void *)hdr_at(hdr, hdrs, CAIRN_HDR_AETH);

		h->syndrome_msn = cpu_to_be32((u32)pkt->syndrome << 24 |
					      (pkt->msn & CAIRN_24BIT_MASK));
	}
	if (hdrs & CAIRN_HDR_ATOMICACKETH) {
		struct cairn_atomicacketh *h =
			(void *)hdr_at(hdr, hdrs, CAIRN_HDR_ATOMICACKETH);

		h->orig = cpu_to_be64(pkt->orig);
	}
	if (hdrs & CAIRN_HDR_IMMDT) {
		struct cairn_immdt *h =
			(void *)hdr_at(hdr, hdrs, CAIRN_HDR_IMMDT);

		h->imm = pkt->imm;
	}
	if (hdrs & CAIRN_HDR_IETH) {
		struct cairn_ieth *h = (void *)hdr_at(hdr, hdrs, CAIRN_HDR_IETH);

		h->rkey = cpu_to_be32(pkt->rkey);
	}
}

u32 cairn_pkt_build(u8 *hdr, const struct cairn_pkt *pkt)
{
	const struct cairn_opcode *op = &cairn_opcodes[pkt->opcode];
	struct cairn_bth *bth = (void *)hdr;

	bth->opcode = pkt->opcode;
	bth->flags = (pkt->solicited ? CAIRN_BTH_SE : 0) | CAIRN_BTH_MIG |
		     cairn_pad(pkt->payload_len) << CAIRN_BTH_PAD_SHIFT;
	bth->pkey = cpu_to_be16(pkt->pkey);
	bth->qpn = cpu_to_be32((pkt->becn ? CAIRN_BTH_BECN : 0) |
			       (pkt->qpn & CAIRN_24BIT_MASK));
	bth->psn = cpu_to_be32((pkt->ack_req ? CAIRN_BTH_ACKREQ : 0) |
			       (pkt->psn & CAIRN_24BIT_MASK));
	build_ext(hdr, pkt, op->hdrs);
	return op->hdr_len;
}
