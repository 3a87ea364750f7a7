// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libFuzzer target for cairn_pkt_parse(). The input is a packet from its BTH
 * to the end of its ICRC. The parser sees a heap block of only the bytes that
 * it may read; what it accepts must be consistent and build again to the same
 * headers.
 */
#include <stdlib.h>
#include <linux/bug.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "wire/packet.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define must(cond)	WARN_ON(!(cond))

/* Bits that the parser ignores and the builder has its own mind about. */
static void mask_ignored(u8 *hdr, const struct cairn_opcode *op)
{
	hdr[1] &= ~CAIRN_BTH_MIG;
	hdr[4] &= CAIRN_BTH_BECN >> 24;
	hdr[8] &= CAIRN_BTH_ACKREQ >> 24;
	if (op->hdrs & CAIRN_HDR_FETH) {
		u8 *feth = hdr + CAIRN_HDR_LEN_BELOW(op->hdrs, CAIRN_HDR_FETH);

		memset(feth, 0, 3);
		feth[3] &= CAIRN_FETH_SEL_MASK << CAIRN_FETH_SEL_SHIFT |
			   CAIRN_FETH_PLT_MASK;
	}
	if (op->hdrs & CAIRN_HDR_XRCETH)
		hdr[CAIRN_HDR_LEN_BELOW(op->hdrs, CAIRN_HDR_XRCETH)] = 0;
	if (op->hdrs & CAIRN_HDR_DETH)
		hdr[CAIRN_HDR_LEN_BELOW(op->hdrs, CAIRN_HDR_DETH) + 4] = 0;
}

static void check_accepted(const struct cairn_pkt *pkt, const u8 *hdr, u32 len)
{
	u8 got[CAIRN_MAX_HDR], want[CAIRN_MAX_HDR];

	must(pkt->opcode == hdr[0]);
	must(pkt->op == &cairn_opcodes[pkt->opcode] && pkt->op->name);
	must(pkt->payload_off == pkt->op->hdr_len);
	must(pkt->pad == cairn_pkt_pad(pkt->payload_len));
	must(pkt->payload_len < len);
	must(pkt->payload_len ==
	     len - pkt->payload_off - pkt->pad - CAIRN_ICRC_LEN);
	must(!pkt->payload_len || (pkt->op->flags & CAIRN_OP_PAYLOAD));
	must(!((pkt->qpn | pkt->psn) & ~CAIRN_24BIT_MASK));

	must(cairn_pkt_build(got, pkt) == pkt->payload_off);
	memcpy(want, hdr, pkt->payload_off);
	mask_ignored(got, pkt->op);
	mask_ignored(want, pkt->op);
	must(!memcmp(got, want, pkt->payload_off));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 readable = min_t(size_t, size, CAIRN_MAX_HDR);
	u8 *hdr = malloc(readable);
	struct cairn_pkt pkt;

	/* so that a field read before it was set is not zero by chance */
	memset(&pkt, 0xa5, sizeof(pkt));
	if (readable)
		memcpy(hdr, data, readable);
	if (cairn_pkt_parse(&pkt, hdr, size) == CAIRN_PARSE_OK)
		check_accepted(&pkt, hdr, size);
	free(hdr);
	return 0;
}
