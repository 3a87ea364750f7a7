// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ICRC against a bitwise CRC-32 written from the polynomial alone. */
#include <linux/kernel.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include "wire/icrc.h"
#include "icrc_headers.h"
#include "ktap.h"

#define MAX_LEN		5000
#define ALIGNMENTS	16

static const struct cairn_icrc_impl *const impls[] = {
	&cairn_icrc_portable,
	&cairn_icrc_folding,
};

/* Most significant bit first, as the specification draws it. */
static u32 icrc_reference(u32 crc, const u8 *bytes, size_t len)
{
	size_t i;
	int bit;

	for (i = 0; i < len; i++)
		for (bit = 0; bit < 8; bit++) {
			u32 in = bytes[i] >> bit & 1;
			u32 out = crc >> 31;

			crc <<= 1;
			if (in ^ out)
				crc ^= 0x04c11db7;
		}
	return crc;
}

static u32 icrc_reverse(u32 v)
{
	u32 r = 0;
	int i;

	for (i = 0; i < 32; i++)
		r |= (v >> i & 1) << (31 - i);
	return r;
}

/* The same, with the register turned round as our code keeps it. */
static u32 crc_ref(u32 crc, const void *mem, size_t len)
{
	return icrc_reverse(icrc_reference(icrc_reverse(crc), mem, len));
}

static void check_value(void)
{
	size_t i;

	ktap_eq(~crc_ref(~0u, "123456789", 9), 0xcbf43926);
	for (i = 0; i < ARRAY_SIZE(impls); i++)
		ktap_eq(~impls[i]->update(~0u, "123456789", 9), 0xcbf43926);
}

/* The buffer ends where the data ends, so that ASan sees a read past it. */
static void lengths_at(const struct cairn_icrc_impl *impl, u32 align,
		       const u8 *data, const u32 *want)
{
	u32 len;

	for (len = 0; len <= MAX_LEN; len++) {
		u8 *buf = malloc(align + len + !(align + len));
		u32 got;

		memcpy(buf + align, data, len);
		got = impl->update(0x12345678, buf + align, len);
		free(buf);
		if (got != want[len]) {
			ktap_fail("%s: length %u, alignment %u: %08x, not %08x",
				  impl->name, len, align, got, want[len]);
			return;
		}
	}
}

static void all_lengths_and_alignments(void)
{
	static u32 want[MAX_LEN + 1];
	static u8 data[MAX_LEN];
	u32 i, align;

	ktap_rand_fill(data, sizeof(data));
	want[0] = 0x12345678;
	for (i = 0; i < MAX_LEN; i++)
		want[i + 1] = crc_ref(want[i], data + i, 1);
	for (i = 0; i < ARRAY_SIZE(impls); i++)
		for (align = 0; align < ALIGNMENTS; align++)
			lengths_at(impls[i], align, data, want);
}

static void any_split(void)
{
	static u8 data[3000];
	u32 i, n, at, crc, want;

	ktap_rand_fill(data, sizeof(data));
	want = crc_ref(~0u, data, sizeof(data));
	for (i = 0; i < 2000; i++) {
		crc = ~0u;
		for (at = 0; at < sizeof(data); at += n) {
			n = ktap_rand_below(i % 700 + 2);
			n = min_t(u32, n, sizeof(data) - at);
			crc = impls[i % ARRAY_SIZE(impls)]->update(crc, data + at, n);
		}
		if (!ktap_eq(crc, want))
			return;
	}
}

static void low_byte_first_on_the_wire(void)
{
	__le32 out = cairn_icrc_finish(cairn_icrc_update(~0u, "123456789", 9));

	ktap_mem_eq(&out, "\x26\x39\xf4\xcb", 4);
}

static u32 fake_calls;

static u32 fake_update(u32 crc, const void *data, u32 len)
{
	fake_calls++;
	return crc + len;
}

static void select_takes_effect(void)
{
	static const struct cairn_icrc_impl fake = { "fake", fake_update };
	static const u8 payload[64];
	u32 crc;

	cairn_icrc_select(&fake);
	ktap_eq(cairn_icrc_update(5, payload, sizeof(payload)), 69);
	ktap_eq(fake_calls, 1);
	/* The headers of an ACK do without it. */
	ktap_eq(~cairn_icrc_update(~0u, "123456789", 9), 0xcbf43926);
	ktap_eq(fake_calls, 1);
	cairn_icrc_select(NULL);
	crc = cairn_icrc_update(5, payload, sizeof(payload));
	ktap_eq(crc, cairn_icrc_portable.update(5, payload, sizeof(payload)));
	ktap_eq(fake_calls, 1);
}

#define MAX_BTH		200
#define UDP_LEN		8

struct frame {
	u32 ip_len;
	u8 ip[40];
	u8 udp[UDP_LEN];
	u8 bth[MAX_BTH];
};

static u32 icrc_ours(const struct frame *frame, u32 bth_len)
{
	u8 *bth = malloc(bth_len);
	u32 crc;

	memcpy(bth, frame->bth, bth_len);
	if (frame->ip_len == 20)
		crc = icrc_headers4(frame->ip, frame->udp, bth, bth_len);
	else
		crc = icrc_headers6(frame->ip, frame->udp, bth, bth_len);
	free(bth);
	return crc;
}

/* Bits of a frame that the ICRC takes as ones, as offsets in the pseudo packet. */
static void icrc_mask(u8 *bytes, u32 ip_len)
{
	if (ip_len == 20) {
		bytes[8 + 1] = 0xff;
		bytes[8 + 8] = 0xff;
		bytes[8 + 10] = 0xff;
		bytes[8 + 11] = 0xff;
	} else {
		bytes[8 + 0] |= 0x0f;
		bytes[8 + 1] = 0xff;
		bytes[8 + 2] = 0xff;
		bytes[8 + 3] = 0xff;
		bytes[8 + 7] = 0xff;
	}
	bytes[8 + ip_len + 6] = 0xff;
	bytes[8 + ip_len + 7] = 0xff;
	bytes[8 + ip_len + UDP_LEN + 4] = 0xff;
}

static u32 icrc_theirs(const struct frame *frame, u32 bth_len)
{
	u8 p[8 + 40 + UDP_LEN + MAX_BTH];

	memset(p, 0xff, 8);
	memcpy(p + 8, frame->ip, frame->ip_len);
	memcpy(p + 8 + frame->ip_len, frame->udp, UDP_LEN);
	memcpy(p + 8 + frame->ip_len + UDP_LEN, frame->bth, bth_len);
	icrc_mask(p, frame->ip_len);
	return crc_ref(~0u, p, 8 + frame->ip_len + UDP_LEN + bth_len);
}

static void headers_of(u32 ip_len)
{
	struct frame frame = { .ip_len = ip_len };
	u32 bth_len, i;

	for (i = 0; i < 20; i++) {
		ktap_rand_fill(frame.ip, sizeof(frame.ip));
		ktap_rand_fill(frame.udp, sizeof(frame.udp));
		ktap_rand_fill(frame.bth, sizeof(frame.bth));
		for (bth_len = 12; bth_len <= MAX_BTH; bth_len++)
			if (!ktap_eq(icrc_ours(&frame, bth_len), icrc_theirs(&frame, bth_len)))
				return;
	}
}

static void headers4(void)
{
	headers_of(20);
}

static void headers6(void)
{
	headers_of(40);
}

/* Every single bit of the headers either matters or is one of the variant. */
static void every_bit(void)
{
	static const u32 ip_lens[] = { 20, 40 };
	struct frame frame;
	u32 i, bit, variant, n, was;

	for (i = 0; i < ARRAY_SIZE(ip_lens); i++) {
		memset(&frame, 0, sizeof(frame));
		frame.ip_len = ip_lens[i];
		was = icrc_ours(&frame, 12);
		variant = 0;
		n = frame.ip_len + UDP_LEN + 12;
		for (bit = 0; bit < n * 8; bit++) {
			u8 *bytes = frame.ip + bit / 8;

			if (bit / 8 >= frame.ip_len)
				bytes = frame.udp + bit / 8 - frame.ip_len;
			if (bit / 8 >= frame.ip_len + UDP_LEN)
				bytes = frame.bth + bit / 8 - frame.ip_len - UDP_LEN;
			*bytes ^= 1 << bit % 8;
			variant += icrc_ours(&frame, 12) == was;
			*bytes ^= 1 << bit % 8;
		}
		/* v4: 4 bytes of IP; v6: 4 + 24 + 8 bits; both: 3 bytes more */
		ktap_eq(variant, (frame.ip_len == 20 ? 32 : 36) + 24);
	}
}

static const struct ktap_test tests[] = {
	KTAP(check_value),
	KTAP(all_lengths_and_alignments),
	KTAP(any_split),
	KTAP(low_byte_first_on_the_wire),
	KTAP(select_takes_effect),
	KTAP(headers4),
	KTAP(headers6),
	KTAP(every_bit),
};

int main(int argc, char **argv)
{
	cairn_icrc_select(NULL);
	return ktap_main(tests, ARRAY_SIZE(tests), argc > 1 ? argv[1] : NULL);
}
