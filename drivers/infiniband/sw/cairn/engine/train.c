// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "engine/train.h"
#include "wire/psn.h"

void cairn_train_packet(struct cairn_pkt *pkt, const struct cairn_train *train,
			u32 k)
{
	bool last = k + 1 == train->count;

	*pkt = train->first;
	if (k)
		pkt->opcode = last ? train->last_opcode : train->mid_opcode;
	pkt->psn = cairn_psn_add(train->first.psn, k);
	pkt->solicited &= last;
	pkt->ack_req &= last;
	pkt->payload_len = last ? train->length - k * train->seg : train->seg;
}

enum cairn_parse_error cairn_train_read(struct cairn_pkt *pkt,
					const struct cairn_train *train, u32 k)
{
	struct cairn_pkt sent;
	u8 hdr[CAIRN_MAX_HDR];
	u32 len;

	cairn_train_packet(&sent, train, k);
	len = cairn_pkt_build(hdr, &sent);
	if (!len)
		return CAIRN_PARSE_OPCODE;
	return cairn_pkt_parse(pkt, hdr,
			       len + sent.payload_len +
			       cairn_pkt_pad(sent.payload_len) + CAIRN_ICRC_LEN);
}
