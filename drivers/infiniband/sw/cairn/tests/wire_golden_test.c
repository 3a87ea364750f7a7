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

static const char *find(const struct vector *v, const char *key)
{
	size_t n = strlen(key);
	const char *p = v->text;

	for (; p; p = strchr(p, ' ')) {
		p += *p == ' ';
		if (!strncmp(p, key, n) && p[n] == '=')
			return p + n + 1;
	}
	return NULL;
}

static u64 number(const struct vector *v, const char *key)
{
	const char *p = find(v, key);

	return p ? strtoull(p, NULL, 16) : 0;
}

/* Return: number of bytes; 0: the line has no such key. */
static u32 bytes(const struct vector *v, const char *key, u8 *out)
{
	const char *p = find(v, key);
	unsigned int b;
	u32 n = 0;

	for (; p && n < MAX_FRAME && sscanf(p, "%2x", &b) == 1; p += 2) {
		out[n++] = b;
		if (p[2] == ' ' || p[2] == '\n' || !p[2])
			break;
	}
	return n;
}

static struct cairn_pkt described(const struct vector *v)
{
	return (struct cairn_pkt) {
		.opcode = number(v, "opcode"),
		.solicited = number(v, "se"),
		.ack_req = number(v, "ackreq"),
		.becn = number(v, "becn"),
		.pkey = number(v, "pkey"),
		.qpn = number(v, "qpn"),
		.psn = number(v, "psn"),
		.va = number(v, "va"),
		.rkey = number(v, "rkey"),
		.dma_len = number(v, "dmalen"),
		.plt = number(v, "plt"),
		.sel = number(v, "sel"),
		.swap_add = number(v, "swapadd"),
		.compare = number(v, "compare"),
		.orig = number(v, "orig"),
		.syndrome = number(v, "syndrome"),
		.msn = number(v, "msn"),
		.imm = cpu_to_be32(number(v, "imm")),
		/* one or the other */
		.qkey = number(v, "qkey") | number(v, "srqn"),
		.src_qpn = number(v, "sqpn"),
		.payload_len = number(v, "len"),
	};
}

static u8 *put16(u8 *p, u16 n)
{
	*p++ = n >> 8;
	*p++ = n;
	return p;
}

static u16 checksum(const u8 *p, u32 len)
{
	u32 sum = 0, i;

	for (i = 0; i < len; i++)
		sum += i % 2 ? p[i] : p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static u8 *put_ipv4(u8 *p, const struct vector *v, u32 udp_len)
{
	u8 *ip = p;

	p = put16(p, 0x4500 | number(v, "tos"));
	p = put16(p, 20 + udp_len);
	p = put16(p, number(v, "id"));
	p = put16(p, 0x4000);
	p = put16(p, number(v, "ttl") << 8 | 17);
	p = put16(p, 0);
	p += bytes(v, "src", p);
	p += bytes(v, "dst", p);
	put16(ip + 10, checksum(ip, 20));
	return p;
}

static u8 *put_ipv6(u8 *p, const struct vector *v, u32 udp_len)
{
	u32 tos = number(v, "tos"), flow = number(v, "flow");

	p = put16(p, 6 << 12 | tos << 4 | flow >> 16);
	p = put16(p, flow);
	p = put16(p, udp_len);
	p = put16(p, 17 << 8 | number(v, "ttl"));
	p += bytes(v, "src", p);
	p += bytes(v, "dst", p);
	return p;
}

static u8 *put_udp(u8 *p, const struct vector *v, u32 udp_len)
{
	p = put16(p, number(v, "sport"));
	p = put16(p, CAIRN_UDP_PORT);
	p = put16(p, udp_len);
	return put16(p, number(v, "udpsum"));
}

static u8 *put_icrc(u8 *p, const u8 *ip, u32 ip_len, const u8 *bth, u32 hdr_len)
{
	const u8 *udp = ip + ip_len;
	__le32 icrc;
	u32 crc;

	if (ip_len == 20)
		crc = icrc_headers4(ip, udp, bth, hdr_len);
	else
		crc = icrc_headers6(ip, udp, bth, hdr_len);
	crc = cairn_icrc_update(crc, bth + hdr_len, p - bth - hdr_len);
	icrc = cairn_icrc_finish(crc);
	memcpy(p, &icrc, CAIRN_ICRC_LEN);
	return p + CAIRN_ICRC_LEN;
}

static u32 build_frame(u8 *frame, const struct vector *v)
{
	struct cairn_pkt pkt = described(v);
	u32 pad = cairn_pkt_pad(pkt.payload_len), udp_len, hdr_len, ip_len;
	u8 *p = frame, *ip, *bth;

	udp_len = UDP_LEN + cairn_opcodes[pkt.opcode].hdr_len +
		  pkt.payload_len + pad + CAIRN_ICRC_LEN;
	p += bytes(v, "dmac", p);
	p += bytes(v, "smac", p);
	if (number(v, "family") == 4) {
		ip = put16(p, 0x0800);
		p = put_ipv4(ip, v, udp_len);
	} else {
		ip = put16(p, 0x86dd);
		p = put_ipv6(ip, v, udp_len);
	}
	ip_len = p - ip;
	bth = put_udp(p, v, udp_len);
	hdr_len = cairn_pkt_build(bth, &pkt);
	p = bth + hdr_len;
	memset(p, 0, pkt.payload_len + pad);
	bytes(v, "data", p);
	p += pkt.payload_len + pad;
	return put_icrc(p, ip, ip_len, bth, hdr_len) - frame;
}

static void build_one(const struct vector *v)
{
	u8 want[MAX_FRAME], got[MAX_FRAME];
	u32 len = bytes(v, "frame", want);

	if (!ktap_eq(build_frame(got, v), len) ||
	    !ktap_mem_eq(got, want, len))
		ktap_diag("line %u: %.40s", v->line, v->text);
}

static void parse_one(const struct vector *v)
{
	struct cairn_pkt pkt, want = described(v);
	u8 frame[MAX_FRAME], again[CAIRN_MAX_HDR], data[MAX_FRAME];
	u32 len = bytes(v, "frame", frame);
	u32 bth = ETH_LEN + (number(v, "family") == 4 ? 20 : 40) + UDP_LEN;
	u32 n;

	if (!ktap_eq(cairn_pkt_parse(&pkt, frame + bth, len - bth),
		     CAIRN_PARSE_OK))
		return;
	ktap_eq(pkt.payload_len, want.payload_len);
	ktap_eq(pkt.pad, number(v, "pad"));
	n = bytes(v, "data", data);
	ktap_mem_eq(frame + bth + pkt.payload_off, data, n);
	n = cairn_pkt_build(again, &pkt);
	ktap_eq(n, pkt.payload_off);
	if (!ktap_mem_eq(again, frame + bth, n))
		ktap_diag("line %u: %.40s", v->line, v->text);
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
	FILE *f = open_vectors();
	struct vector v = { 0 };
	static char text[8192];

	if (!ktap_ok(f))
		return;
	v.text = text;
	while (fgets(text, sizeof(text), f)) {
		v.line++;
		if (text[0] != '#')
			fn(&v);
	}
	ktap_ok(v.line > 200);
	fclose(f);
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

static void note_opcode(const struct vector *v)
{
	seen[number(v, "opcode") & 0xff] |= number(v, "family") == 4 ? 1 : 2;
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
