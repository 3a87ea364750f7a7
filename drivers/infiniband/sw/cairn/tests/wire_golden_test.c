// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds the frames that golden/vectors.txt describes and compares every byte,
 * then takes each frame apart again.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include "wire/icrc.h"
#include "wire/packet.h"
#include "icrc_headers.h"
#include "ktap.h"

#define ETH_LEN		14
#define UDP_LEN		8
#define MAX_FRAME	2048

/* One line of the file; keys are looked up in the text. */
struct vector {
	unsigned int line;
	const char *text;
};

static const char *golden_find(const struct vector *vector, const char *key)
{
	size_t n = strlen(key);
	const char *text = vector->text;

	for (; text; text = strchr(text, ' ')) {
		text += *text == ' ';
		if (!strncmp(text, key, n) && text[n] == '=')
			return text + n + 1;
	}
	return NULL;
}

static u64 golden_number(const struct vector *vector, const char *key)
{
	const char *text = golden_find(vector, key);

	return text ? strtoull(text, NULL, 16) : 0;
}

/* Return: number of bytes; 0: the line has no such key. */
static u32 golden_bytes(const struct vector *vector, const char *key, u8 *out)
{
	const char *text = golden_find(vector, key);
	unsigned int b;
	u32 n = 0;

	for (; text && n < MAX_FRAME && sscanf(text, "%2x", &b) == 1; text += 2) {
		out[n++] = b;
		if (text[2] == ' ' || text[2] == '\n' || !text[2])
			break;
	}
	return n;
}

static struct cairn_pkt golden_described(const struct vector *vector)
{
	return (struct cairn_pkt) {
		.opcode = golden_number(vector, "opcode"),
		.solicited = golden_number(vector, "se"),
		.ack_req = golden_number(vector, "ackreq"),
		.becn = golden_number(vector, "becn"),
		.pkey = golden_number(vector, "pkey"),
		.qpn = golden_number(vector, "qpn"),
		.psn = golden_number(vector, "psn"),
		.va = golden_number(vector, "va"),
		.rkey = golden_number(vector, "rkey"),
		.dma_len = golden_number(vector, "dmalen"),
		.plt = golden_number(vector, "plt"),
		.sel = golden_number(vector, "sel"),
		.swap_add = golden_number(vector, "swapadd"),
		.compare = golden_number(vector, "compare"),
		.orig = golden_number(vector, "orig"),
		.syndrome = golden_number(vector, "syndrome"),
		.msn = golden_number(vector, "msn"),
		.imm = cpu_to_be32(golden_number(vector, "imm")),
		/* one or the other */
		.qkey = golden_number(vector, "qkey") | golden_number(vector, "srqn"),
		.src_qpn = golden_number(vector, "sqpn"),
		.payload_len = golden_number(vector, "len"),
	};
}

static u8 *golden_put16(u8 *bytes, u16 n)
{
	*bytes++ = n >> 8;
	*bytes++ = n;
	return bytes;
}

static u16 golden_checksum(const u8 *bytes, u32 len)
{
	u32 sum = 0, i;

	for (i = 0; i < len; i++)
		sum += i % 2 ? bytes[i] : bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static u8 *put_ipv4(u8 *at, const struct vector *vector, u32 udp_len)
{
	u8 *ip = at;

	at = golden_put16(at, 0x4500 | golden_number(vector, "tos"));
	at = golden_put16(at, 20 + udp_len);
	at = golden_put16(at, golden_number(vector, "id"));
	at = golden_put16(at, 0x4000);
	at = golden_put16(at, golden_number(vector, "ttl") << 8 | 17);
	at = golden_put16(at, 0);
	at += golden_bytes(vector, "src", at);
	at += golden_bytes(vector, "dst", at);
	golden_put16(ip + 10, golden_checksum(ip, 20));
	return at;
}

static u8 *put_ipv6(u8 *at, const struct vector *vector, u32 udp_len)
{
	u32 tos = golden_number(vector, "tos"), flow = golden_number(vector, "flow");

	at = golden_put16(at, 6 << 12 | tos << 4 | flow >> 16);
	at = golden_put16(at, flow);
	at = golden_put16(at, udp_len);
	at = golden_put16(at, 17 << 8 | golden_number(vector, "ttl"));
	at += golden_bytes(vector, "src", at);
	at += golden_bytes(vector, "dst", at);
	return at;
}

static u8 *put_udp(u8 *bytes, const struct vector *vector, u32 udp_len)
{
	bytes = golden_put16(bytes, golden_number(vector, "sport"));
	bytes = golden_put16(bytes, CAIRN_UDP_PORT);
	bytes = golden_put16(bytes, udp_len);
	return golden_put16(bytes, golden_number(vector, "udpsum"));
}

static u8 *put_icrc(u8 *bytes, const u8 *ip, u32 ip_len, const u8 *bth, u32 hdr_len)
{
	const u8 *udp = ip + ip_len;
	__le32 icrc;
	u32 crc;

	if (ip_len == 20)
		crc = icrc_headers4(ip, udp, bth, hdr_len);
	else
		crc = icrc_headers6(ip, udp, bth, hdr_len);
	crc = cairn_icrc_update(crc, bth + hdr_len, bytes - bth - hdr_len);
	icrc = cairn_icrc_finish(crc);
	memcpy(bytes, &icrc, CAIRN_ICRC_LEN);
	return bytes + CAIRN_ICRC_LEN;
}

static u32 build_frame(u8 *frame, const struct vector *vector)
{
	struct cairn_pkt pkt = golden_described(vector);
	u32 pad = cairn_pkt_pad(pkt.payload_len), udp_len, hdr_len, ip_len;
	u8 *at = frame, *ip, *bth;

	udp_len = UDP_LEN + cairn_opcodes[pkt.opcode].hdr_len +
		  pkt.payload_len + pad + CAIRN_ICRC_LEN;
	at += golden_bytes(vector, "dmac", at);
	at += golden_bytes(vector, "smac", at);
	if (golden_number(vector, "family") == 4) {
		ip = golden_put16(at, 0x0800);
		at = put_ipv4(ip, vector, udp_len);
	} else {
		ip = golden_put16(at, 0x86dd);
		at = put_ipv6(ip, vector, udp_len);
	}
	ip_len = at - ip;
	bth = put_udp(at, vector, udp_len);
	hdr_len = cairn_pkt_build(bth, &pkt);
	at = bth + hdr_len;
	memset(at, 0, pkt.payload_len + pad);
	golden_bytes(vector, "data", at);
	at += pkt.payload_len + pad;
	return put_icrc(at, ip, ip_len, bth, hdr_len) - frame;
}

static void build_one(const struct vector *vector)
{
	u8 want[MAX_FRAME], got[MAX_FRAME];
	u32 len = golden_bytes(vector, "frame", want);

	if (!ktap_eq(build_frame(got, vector), len) ||
	    !ktap_mem_eq(got, want, len))
		ktap_diag("line %u: %.40s", vector->line, vector->text);
}

static void parse_one(const struct vector *vector)
{
	struct cairn_pkt pkt, want = golden_described(vector);
	u8 frame[MAX_FRAME], again[CAIRN_MAX_HDR], data[MAX_FRAME];
	u32 len = golden_bytes(vector, "frame", frame);
	u32 bth = ETH_LEN + (golden_number(vector, "family") == 4 ? 20 : 40) + UDP_LEN;
	u32 n;

	if (!ktap_eq(cairn_pkt_parse(&pkt, frame + bth, len - bth),
		     CAIRN_PARSE_OK))
		return;
	ktap_eq(pkt.payload_len, want.payload_len);
	ktap_eq(pkt.pad, golden_number(vector, "pad"));
	n = golden_bytes(vector, "data", data);
	ktap_mem_eq(frame + bth + pkt.payload_off, data, n);
	n = cairn_pkt_build(again, &pkt);
	ktap_eq(n, pkt.payload_off);
	if (!ktap_mem_eq(again, frame + bth, n))
		ktap_diag("line %u: %.40s", vector->line, vector->text);
}

/* The file lies beside this source, which make names by its full path. */
static FILE *open_vectors(void)
{
	char path[4096];
	const char *slash = strrchr(__FILE__, '/');

	snprintf(path, sizeof(path), "%.*sgolden/vectors.txt",
		 slash ? (int)(slash + 1 - __FILE__) : 0, __FILE__);
	return fopen(path, "r");
}

typedef void vector_fn(const struct vector *v);

static void each_vector(vector_fn *fn)
{
	FILE *file = open_vectors();
	struct vector vector = { 0 };
	static char text[8192];

	if (!ktap_ok(file))
		return;
	vector.text = text;
	while (fgets(text, sizeof(text), file)) {
		vector.line++;
		if (text[0] != '#')
			fn(&vector);
	}
	ktap_ok(vector.line > 200);
	fclose(file);
}

static void builds_the_same_bytes(void)
{
	each_vector(build_one);
}

static void parses_and_rebuilds(void)
{
	each_vector(parse_one);
}

/* Bit f of seen[opcode]: a frame of that opcode and IP family exists. */
static u8 seen[256];

static void note_opcode(const struct vector *vector)
{
	seen[golden_number(vector, "opcode") & 0xff] |=
		golden_number(vector, "family") == 4 ? 1 : 2;
}

static void every_opcode_has_vectors(void)
{
	int i;

	each_vector(note_opcode);
	for (i = 0; i < 256; i++)
		if (seen[i] != (cairn_opcodes[i].name ? 3 : 0))
			ktap_fail("opcode %02x: families %x", i, seen[i]);
}

static const struct ktap_test tests[] = {
	KTAP(builds_the_same_bytes),
	KTAP(parses_and_rebuilds),
	KTAP(every_opcode_has_vectors),
};

int main(int argc, char **argv)
{
	cairn_icrc_select(NULL);
	return ktap_main(tests, ARRAY_SIZE(tests), argc > 1 ? argv[1] : NULL);
}
