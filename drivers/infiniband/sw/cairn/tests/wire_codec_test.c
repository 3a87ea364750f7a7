// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The opcode table and the packet codec, every opcode and every length. */
#include <linux/kernel.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include "wire/packet.h"
#include "ktap.h"

/*
 * The specification's table once more, in another notation, to be compared
 * with ours: what follows the BTH, in wire order, by the headers' initials.
 */
static const struct {
	u8 opcode;
	const char *hdrs;	/* D Q(xrceth) F R T(atomic) A K(atomic ack) I X(ieth) P(ayload) */
} spec[] = {
	/* RC */
	{ 0x00, "P" }, { 0x01, "P" }, { 0x02, "P" }, { 0x03, "IP" },
	{ 0x04, "P" }, { 0x05, "IP" }, { 0x06, "RP" }, { 0x07, "P" },
	{ 0x08, "P" }, { 0x09, "IP" }, { 0x0a, "RP" }, { 0x0b, "RIP" },
	{ 0x0c, "R" }, { 0x0d, "AP" }, { 0x0e, "P" }, { 0x0f, "AP" },
	{ 0x10, "AP" }, { 0x11, "A" }, { 0x12, "AK" }, { 0x13, "T" },
	{ 0x14, "T" }, { 0x16, "XP" }, { 0x17, "XP" }, { 0x1c, "FR" },
	{ 0x1d, "RP" },
	/* RC, manufacturer-specific: WRITE_PERSIST and its acknowledgement */
	{ 0xc0, "RP" }, { 0xc1, "P" }, { 0xc2, "P" }, { 0xc3, "RP" },
	{ 0xc4, "IP" }, { 0xc5, "RIP" },
	{ 0xc8, "A" },
	/* XRC */
	{ 0xa0, "QP" }, { 0xa1, "QP" }, { 0xa2, "QP" }, { 0xa3, "QIP" },
	{ 0xa4, "QP" }, { 0xa5, "QIP" }, { 0xa6, "QRP" }, { 0xa7, "QP" },
	{ 0xa8, "QP" }, { 0xa9, "QIP" }, { 0xaa, "QRP" }, { 0xab, "QRIP" },
	{ 0xac, "QR" }, { 0xad, "AP" }, { 0xae, "P" }, { 0xaf, "AP" },
	{ 0xb0, "AP" }, { 0xb1, "A" }, { 0xb2, "AK" }, { 0xb3, "QT" },
	{ 0xb4, "QT" }, { 0xb6, "QXP" }, { 0xb7, "QXP" }, { 0xbc, "QFR" },
	{ 0xbd, "QRP" },
	/* UC */
	{ 0x20, "P" }, { 0x21, "P" }, { 0x22, "P" }, { 0x23, "IP" },
	{ 0x24, "P" }, { 0x25, "IP" }, { 0x26, "RP" }, { 0x27, "P" },
	{ 0x28, "P" }, { 0x29, "IP" }, { 0x2a, "RP" }, { 0x2b, "RIP" },
	/* UD */
	{ 0x64, "DP" }, { 0x65, "DIP" },
	/* CNP */
	{ 0x81, "P" },
};

static u32 initial_len(char c)
{
	switch (c) {
	case 'D': return 8;
	case 'Q': return 4;
	case 'F': return 4;
	case 'R': return 16;
	case 'T': return 28;
	case 'A': return 4;
	case 'K': return 8;
	case 'I': return 4;
	case 'X': return 4;
	}
	return 0;
}

static u16 initial_bit(char c)
{
	switch (c) {
	case 'D': return CAIRN_HDR_DETH;
	case 'Q': return CAIRN_HDR_XRCETH;
	case 'F': return CAIRN_HDR_FETH;
	case 'R': return CAIRN_HDR_RETH;
	case 'T': return CAIRN_HDR_ATOMICETH;
	case 'A': return CAIRN_HDR_AETH;
	case 'K': return CAIRN_HDR_ATOMICACKETH;
	case 'I': return CAIRN_HDR_IMMDT;
	case 'X': return CAIRN_HDR_IETH;
	}
	return 0;
}

static void check_row(u8 opcode, const char *hdrs)
{
	const struct cairn_opcode *op = &cairn_opcodes[opcode];
	u32 len = 12, bits = CAIRN_HDR_BTH;

	if (!op->name) {
		ktap_fail("opcode %02x is not defined", opcode);
		return;
	}
	for (; *hdrs && *hdrs != 'P'; hdrs++) {
		u16 bit = initial_bit(*hdrs);

		ktap_eq(CAIRN_HDR_LEN_BELOW(op->hdrs, bit), len);
		bits |= bit;
		len += initial_len(*hdrs);
	}
	ktap_eq(op->hdrs, bits);
	ktap_eq(op->hdr_len, len);
	ktap_eq(!!(op->flags & CAIRN_OP_PAYLOAD), *hdrs == 'P');
}

static void table_is_the_specifications(void)
{
	bool defined[256] = { false };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(spec); i++) {
		check_row(spec[i].opcode, spec[i].hdrs);
		defined[spec[i].opcode] = true;
	}
	for (i = 0; i < 256; i++)
		if (!!cairn_opcodes[i].name != defined[i])
			ktap_fail("opcode %02x: defined is %d", i, !defined[i]);
}

static enum cairn_transport transport_of(u32 opcode)
{
	if (opcode == 0x81)
		return CAIRN_TRANSPORT_CNP;
	switch (opcode >> 5) {
	case 0: return CAIRN_TRANSPORT_RC;
	case 1: return CAIRN_TRANSPORT_UC;
	case 3: return CAIRN_TRANSPORT_UD;
	case 5: return CAIRN_TRANSPORT_XRC;
	case 6: return CAIRN_TRANSPORT_RC;
	}
	return CAIRN_TRANSPORT_NONE;
}

/* The kind by the operation's name. The first match wins, so longer names come first. */
static enum cairn_kind kind_of(const char *name)
{
	static const struct {
		const char *word;
		enum cairn_kind kind;
	} kinds[] = {
		{ "SEND", CAIRN_KIND_SEND },
		{ "WRITE_PERSIST", CAIRN_KIND_WRITE_PERSIST },
		{ "PERSIST_ACK", CAIRN_KIND_PERSIST_ACK },
		{ "ATOMIC_WRITE", CAIRN_KIND_ATOMIC_WRITE },
		{ "FLUSH", CAIRN_KIND_FLUSH },
		{ "WRITE", CAIRN_KIND_WRITE },
		{ "READ_REQUEST", CAIRN_KIND_READ_REQ },
		{ "READ_RESP", CAIRN_KIND_READ_RESP },
		{ "ATOMIC_ACK", CAIRN_KIND_ATOMIC_ACK },
		{ "ACK", CAIRN_KIND_ACK },
		{ "CMP_SWAP", CAIRN_KIND_ATOMIC_REQ },
		{ "FETCH_ADD", CAIRN_KIND_ATOMIC_REQ },
		{ "CNP", CAIRN_KIND_CNP },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strstr(name, kinds[i].word))
			return kinds[i].kind;
	return CAIRN_KIND_NONE;
}

static void table_classifies(void)
{
	static const u8 answered[] = { 0x0c, 0x13, 0x14, 0x1c, 0x1d,
					0xac, 0xb3, 0xb4, 0xbc, 0xbd };
	/* or what goes to the requester like one */
	static const u8 responses[] = { 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12,
					0xad, 0xae, 0xaf, 0xb0, 0xb1, 0xb2,
					0xc8, 0x81 };
	const struct cairn_opcode *op;
	const char *name;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(spec); i++) {
		op = &cairn_opcodes[spec[i].opcode];
		name = op->name;
		ktap_eq(op->transport, transport_of(spec[i].opcode));
		ktap_eq(op->kind, kind_of(name));
		ktap_eq(!!(op->flags & CAIRN_OP_RESPONSE),
			!!memchr(responses, spec[i].opcode, sizeof(responses)));
		ktap_eq(!!(op->flags & CAIRN_OP_ANSWERED),
			!!memchr(answered, spec[i].opcode, sizeof(answered)));
		ktap_eq(!!(op->flags & CAIRN_OP_TO_SRQ),
			op->transport == CAIRN_TRANSPORT_XRC &&
			!(op->flags & CAIRN_OP_RESPONSE));
		if (strstr(name, "FIRST"))
			ktap_eq(op->flags & 3, CAIRN_OP_FIRST);
		else if (strstr(name, "MIDDLE"))
			ktap_eq(op->flags & 3, 0);
		else if (strstr(name, "LAST"))
			ktap_eq(op->flags & 3, CAIRN_OP_LAST);
		else
			ktap_eq(op->flags & 3, CAIRN_OP_FIRST | CAIRN_OP_LAST);
	}
}

/* A packet in a heap block of just its size. */
struct image {
	u8 *bytes;
	u32 len;
};

static u32 some_payload(const struct cairn_opcode *op)
{
	if (!(op->flags & CAIRN_OP_PAYLOAD))
		return 0;
	if (op->kind == CAIRN_KIND_CNP)
		return CAIRN_CNP_PAYLOAD;
	return ktap_rand_below(ktap_rand_below(2) ? 20 : 4097);
}

/* Fields wider than the wire's are filled whole: building has to cut them. */
static struct cairn_pkt some_packet(u8 opcode)
{
	struct cairn_pkt pkt;

	ktap_rand_fill(&pkt, sizeof(pkt));
	pkt.opcode = opcode;
	pkt.op = NULL;
	pkt.solicited = ktap_rand_below(2);
	pkt.ack_req = ktap_rand_below(2);
	pkt.becn = ktap_rand_below(2);
	pkt.payload_len = some_payload(&cairn_opcodes[opcode]);
	return pkt;
}

static struct image codec_build(const struct cairn_pkt *pkt)
{
	const struct cairn_opcode *op = &cairn_opcodes[pkt->opcode];
	struct image img;
	u8 *hdr = malloc(op->hdr_len);

	img.len = op->hdr_len + pkt->payload_len + cairn_pkt_pad(pkt->payload_len) +
		  CAIRN_ICRC_LEN;
	img.bytes = malloc(img.len);
	ktap_rand_fill(img.bytes, img.len);
	memset(hdr, 0xa5, op->hdr_len);
	ktap_eq(cairn_pkt_build(hdr, pkt), op->hdr_len);
	memcpy(img.bytes, hdr, op->hdr_len);
	free(hdr);
	return img;
}

/* Parse from a block that has just the bytes the contract promises. */
static enum cairn_parse_error codec_parse(struct cairn_pkt *pkt, const u8 *bytes,
					  u32 len)
{
	u32 readable = min_t(u32, len, CAIRN_MAX_HDR);
	u8 *buf = malloc(readable + 1);
	enum cairn_parse_error err;

	/* odd address, end of block at the end of the bytes */
	memcpy(buf + 1, bytes, readable);
	err = cairn_pkt_parse(pkt, buf + 1, len);
	free(buf);
	return err;
}

static void same_bth(const struct cairn_pkt *got, const struct cairn_pkt *want)
{
	ktap_ok(got->op == &cairn_opcodes[want->opcode]);
	ktap_eq(got->opcode, want->opcode);
	ktap_eq(got->pad, cairn_pkt_pad(want->payload_len));
	ktap_eq(got->solicited, want->solicited);
	ktap_eq(got->ack_req, want->ack_req);
	ktap_eq(got->becn, want->becn);
	ktap_eq(got->pkey, want->pkey);
	ktap_eq(got->qpn, want->qpn & CAIRN_24BIT_MASK);
	ktap_eq(got->psn, want->psn & CAIRN_24BIT_MASK);
	ktap_eq(got->payload_off, got->op->hdr_len);
	ktap_eq(got->payload_len, want->payload_len);
	if (want->opcode == CAIRN_BTH_PERSIST_ACK)
		ktap_eq(got->durability, want->durability & 0x7f);
}

static void same_ext(const struct cairn_pkt *got, const struct cairn_pkt *want)
{
	u32 hdrs = got->op->hdrs;

	if (hdrs & (CAIRN_HDR_RETH | CAIRN_HDR_ATOMICETH))
		ktap_eq(got->va, want->va);
	if (hdrs & (CAIRN_HDR_RETH | CAIRN_HDR_ATOMICETH | CAIRN_HDR_IETH))
		ktap_eq(got->rkey, want->rkey);
	if (hdrs & CAIRN_HDR_FETH) {
		ktap_eq(got->plt, want->plt & 0xf);
		ktap_eq(got->sel, want->sel & 3);
	}
	if (hdrs & CAIRN_HDR_RETH)
		ktap_eq(got->dma_len, want->dma_len);
	if (hdrs & CAIRN_HDR_ATOMICETH) {
		ktap_eq(got->swap_add, want->swap_add);
		ktap_eq(got->compare, want->compare);
	}
	if (hdrs & CAIRN_HDR_AETH) {
		ktap_eq(got->syndrome, want->syndrome);
		ktap_eq(got->msn, want->msn & CAIRN_24BIT_MASK);
	}
	if (hdrs & CAIRN_HDR_ATOMICACKETH)
		ktap_eq(got->orig, want->orig);
	if (hdrs & CAIRN_HDR_IMMDT)
		ktap_eq((__force u32)got->imm, (__force u32)want->imm);
	if (hdrs & CAIRN_HDR_XRCETH)
		ktap_eq(got->srqn, want->srqn & CAIRN_24BIT_MASK);
	if (hdrs & CAIRN_HDR_DETH) {
		ktap_eq(got->qkey, want->qkey);
		ktap_eq(got->src_qpn, want->src_qpn & CAIRN_24BIT_MASK);
	}
}

static void round_trip(void)
{
	struct cairn_pkt want, got;
	struct image img;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(spec); i++) {
		for (n = 0; n < 500; n++) {
			want = some_packet(spec[i].opcode);
			img = codec_build(&want);
			got.cookie = &got;
			got.base = 77;
			ktap_eq(codec_parse(&got, img.bytes, img.len),
				CAIRN_PARSE_OK);
			same_bth(&got, &want);
			same_ext(&got, &want);
			ktap_ok(got.cookie == &got);
			ktap_eq(got.base, 77);
			free(img.bytes);
		}
	}
}

/*
 * The result of parsing a truncated packet. Where payload is allowed, a shorter packet
 * is a packet with less payload, and only the ICRC detects that.
 */
static enum cairn_parse_error codec_expected(const struct cairn_opcode *op, u8 pad,
					     u32 len)
{
	if (len < op->hdr_len + pad + CAIRN_ICRC_LEN)
		return CAIRN_PARSE_SHORT;
	if (len % 4)
		return CAIRN_PARSE_LENGTH;
	if (!(op->flags & CAIRN_OP_PAYLOAD) &&
	    (pad || len != op->hdr_len + CAIRN_ICRC_LEN))
		return CAIRN_PARSE_LENGTH;
	if (op->kind == CAIRN_KIND_CNP && len != 12 + 16 + 4)
		return CAIRN_PARSE_LENGTH;
	return CAIRN_PARSE_OK;
}

static void truncate_at_every_byte(const struct cairn_pkt *pkt)
{
	const struct cairn_opcode *op = &cairn_opcodes[pkt->opcode];
	u8 pad = cairn_pkt_pad(pkt->payload_len);
	struct image img = codec_build(pkt);
	struct cairn_pkt got;
	u32 len;

	for (len = 0; len < img.len; len++) {
		if (!ktap_eq(codec_parse(&got, img.bytes, len),
			     codec_expected(op, pad, len)))
			ktap_diag("%s: %u of %u bytes", op->name, len, img.len);
		if (codec_expected(op, pad, len) == CAIRN_PARSE_OK)
			ktap_eq(got.payload_off + got.payload_len + pad +
				CAIRN_ICRC_LEN, len);
	}
	free(img.bytes);
}

static void truncation(void)
{
	struct cairn_pkt pkt;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(spec); i++) {
		for (n = 0; n < 8; n++) {
			pkt = some_packet(spec[i].opcode);
			if (pkt.payload_len > 100)
				pkt.payload_len = 100 - n;
			truncate_at_every_byte(&pkt);
		}
	}
}

static void trailing_bytes(void)
{
	struct cairn_pkt pkt, got;
	struct image img;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(spec); i++) {
		pkt = some_packet(spec[i].opcode);
		img = codec_build(&pkt);
		img.bytes = realloc(img.bytes, img.len + 8);
		for (n = 1; n <= 8; n++)
			ktap_eq(codec_parse(&got, img.bytes, img.len + n),
				codec_expected(&cairn_opcodes[pkt.opcode],
					       cairn_pkt_pad(pkt.payload_len),
					       img.len + n));
		free(img.bytes);
	}
}

static void pad_follows_length(void)
{
	static const u8 pads[] = { 0, 3, 2, 1 };
	struct cairn_pkt pkt = { .opcode = CAIRN_BTH_SEND_ONLY };
	u8 hdr[CAIRN_MAX_HDR];
	u32 len;

	for (len = 0; len < 5000; len++) {
		pkt.payload_len = len;
		ktap_eq(cairn_pkt_pad(len), pads[len % 4]);
		cairn_pkt_build(hdr, &pkt);
		ktap_eq(hdr[1] >> 4 & 3, pads[len % 4]);
	}
}

/* Every PadCnt against every length, for an opcode with payload and one without. */
static void pad_rules(void)
{
	static const u8 opcodes[] = { CAIRN_BTH_SEND_ONLY, CAIRN_BTH_ACK };
	struct cairn_pkt pkt = { .pkey = CAIRN_PKEY_DEFAULT }, got;
	u8 bytes[64] = { 0 };
	u32 i, pad, len;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		pkt.opcode = opcodes[i];
		for (pad = 0; pad < 4; pad++) {
			cairn_pkt_build(bytes, &pkt);
			bytes[1] |= pad << 4;
			for (len = 0; len <= sizeof(bytes); len++)
				ktap_eq(codec_parse(&got, bytes, len),
					codec_expected(&cairn_opcodes[pkt.opcode],
						       pad, len));
		}
	}
}

static void transport_version(void)
{
	struct cairn_pkt pkt, got;
	struct image img;
	u32 i, tver;

	for (i = 0; i < ARRAY_SIZE(spec); i++) {
		pkt = some_packet(spec[i].opcode);
		img = codec_build(&pkt);
		ktap_eq(img.bytes[1] & 0x0f, 0);
		for (tver = 1; tver < 16; tver++) {
			img.bytes[1] = (img.bytes[1] & 0xf0) | tver;
			ktap_eq(codec_parse(&got, img.bytes, img.len),
				CAIRN_PARSE_VERSION);
		}
		free(img.bytes);
	}
}

static void undefined_opcodes(void)
{
	struct cairn_pkt pkt = { 0 }, got;
	u8 bytes[64], none[64];
	u32 i;

	memset(none, 0xa5, sizeof(none));
	for (i = 0; i < 256; i++) {
		if (cairn_opcodes[i].name)
			continue;
		memset(bytes, 0xa5, sizeof(bytes));
		pkt.opcode = i;
		ktap_eq(cairn_pkt_build(bytes, &pkt), 0);
		ktap_mem_eq(bytes, none, sizeof(bytes));
		memset(bytes, 0, sizeof(bytes));
		bytes[0] = i;
		ktap_eq(codec_parse(&got, bytes, 16), CAIRN_PARSE_OPCODE);
		ktap_eq(codec_parse(&got, bytes, sizeof(bytes)), CAIRN_PARSE_OPCODE);
		ktap_eq(codec_parse(&got, bytes, 15), CAIRN_PARSE_SHORT);
	}
}

/* Senders may set, and later versions may use, what we do not read. */
static void ignored_bits(void)
{
	struct cairn_pkt pkt, got;
	struct image img;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(spec); i++) {
		pkt = some_packet(spec[i].opcode);
		if (pkt.opcode == CAIRN_BTH_PERSIST_ACK)
			pkt.durability = 0x7f;
		img = codec_build(&pkt);
		ktap_eq(!(img.bytes[1] & CAIRN_BTH_MIG),
			pkt.opcode == CAIRN_BTH_CNP);
		ktap_eq(img.bytes[4] & 0xbf, 0);
		ktap_eq(img.bytes[8] & 0x7f,
			pkt.opcode == CAIRN_BTH_PERSIST_ACK ? 0x7f : 0);
		if (cairn_opcodes[pkt.opcode].hdrs & CAIRN_HDR_DETH)
			ktap_eq(img.bytes[16], 0);
		img.bytes[1] ^= CAIRN_BTH_MIG;
		img.bytes[4] |= 0xbf;
		img.bytes[8] |= 0x7f;
		if (cairn_opcodes[pkt.opcode].hdrs & CAIRN_HDR_DETH)
			img.bytes[16] ^= 0xff;
		ktap_eq(codec_parse(&got, img.bytes, img.len), CAIRN_PARSE_OK);
		same_bth(&got, &pkt);
		same_ext(&got, &pkt);
		free(img.bytes);
	}
}

static void payload_where_none_may_be(void)
{
	struct cairn_pkt pkt, got;
	u8 bytes[128] = { 0 };
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(spec); i++) {
		pkt = some_packet(spec[i].opcode);
		if (cairn_opcodes[pkt.opcode].flags & CAIRN_OP_PAYLOAD)
			continue;
		n = cairn_pkt_build(bytes, &pkt) + CAIRN_ICRC_LEN;
		ktap_eq(codec_parse(&got, bytes, n), CAIRN_PARSE_OK);
		ktap_eq(codec_parse(&got, bytes, n + 4), CAIRN_PARSE_LENGTH);
		ktap_eq(codec_parse(&got, bytes, n + 64), CAIRN_PARSE_LENGTH);
	}
}

static void cnp_has_sixteen_bytes(void)
{
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_CNP,
		.becn = true,
		.payload_len = CAIRN_CNP_PAYLOAD,
	}, got;
	u8 bytes[64] = { 0 };
	u32 len;

	ktap_eq(cairn_pkt_build(bytes, &pkt), 12);
	for (len = 16; len <= sizeof(bytes); len += 4)
		ktap_eq(codec_parse(&got, bytes, len),
			len == 32 ? CAIRN_PARSE_OK : CAIRN_PARSE_LENGTH);
	codec_parse(&got, bytes, 32);
	ktap_ok(got.becn);
}

static const struct ktap_test tests[] = {
	KTAP(table_is_the_specifications),
	KTAP(table_classifies),
	KTAP(round_trip),
	KTAP(truncation),
	KTAP(trailing_bytes),
	KTAP(pad_follows_length),
	KTAP(pad_rules),
	KTAP(transport_version),
	KTAP(undefined_opcodes),
	KTAP(ignored_bits),
	KTAP(payload_where_none_may_be),
	KTAP(cnp_has_sixteen_bytes),
};

KTAP_MAIN(tests)
