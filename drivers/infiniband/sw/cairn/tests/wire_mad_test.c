// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The question to a peer's device and its answer, also with hostile bytes. */
#include <asm/byteorder.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include "sim/rand.h"
#include "wire/mad.h"
#include "ktap.h"

#define TID	0x0123456789abcdefull

static const struct cairn_peer_caps caps = {
	.known = 1,
	.persist_domains = CAIRN_DOMAIN_HOST | CAIRN_DOMAIN_PMEM,
	.persist_atomic_unit = 8,
	.max_persist_outstanding = 64,
	.max_msg = 1ull << 31,
	.abilities = CAIRN_PEER_PERSIST_IMM,
};

static struct cairn_mad mad_question(void)
{
	struct cairn_mad mad;

	memset(&mad, 0xff, sizeof(mad));
	cairn_mad_ask(&mad, cpu_to_be64(TID));
	return mad;
}

static struct cairn_mad mad_answer(void)
{
	struct cairn_mad ask = mad_question(), mad;

	memset(&mad, 0xff, sizeof(mad));
	cairn_mad_answer(&mad, &ask, &caps);
	return mad;
}

static void bytes_of_a_question(void)
{
	/* IBTA 13.4.2, 16.5.1: MAD header, RMPP header, OUI, data */
	static const u8 want[40] = {
		1, 0x3c, 1, 0x01, 0, 0, 0, 0,
		0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
		0, 0x10, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0xc6, 0x1a, 0x7d,
	};
	struct cairn_mad mad = mad_question();
	const u8 *bytes = (const u8 *)&mad;
	u32 i;

	ktap_ok(!memcmp(bytes, want, sizeof(want)));
	for (i = sizeof(want); i < sizeof(mad); i++)
		ktap_eq(bytes[i], 0);
	ktap_eq(cairn_mad_kind(&mad), CAIRN_MAD_QUESTION);
}

static void answer_and_question(void)
{
	struct cairn_mad mad = mad_answer();
	struct cairn_peer_caps got;
	const u8 *bytes = (const u8 *)&mad;
	static const u8 data[24] = {
		0, 0, 0, 3, 0, 0, 0, 8, 0, 0, 0, 64, 0, 0, 0, 1,
		0, 0, 0, 0, 0x80, 0, 0, 0,
	};

	ktap_eq(cairn_mad_kind(&mad), CAIRN_MAD_ANSWER);
	ktap_eq(mad.tid, cpu_to_be64(TID));
	ktap_ok(!memcmp(bytes + 40, data, sizeof(data)));
	ktap_eq(cairn_mad_read(&mad, &got), 0);
	ktap_ok(!memcmp(&got, &caps, sizeof(caps)));
}

/* ib_mad answers a question without an agent with the same MAD as a response. */
static void others_do_not_know(void)
{
	static const u16 statuses[] = { CAIRN_MAD_BAD_VERSION,
					CAIRN_MAD_BAD_METHOD,
					CAIRN_MAD_BAD_ATTR };
	struct cairn_peer_caps got, none = {};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct cairn_mad mad = mad_question();

		mad.method = CAIRN_MAD_GET_RESP;
		mad.status = cpu_to_be16(statuses[i]);
		ktap_eq(cairn_mad_kind(&mad), CAIRN_MAD_ANSWER);
		memset(&got, 0xff, sizeof(got));
		ktap_eq(cairn_mad_read(&mad, &got), 0);
		ktap_ok(!memcmp(&got, &none, sizeof(none)));
	}
}

static void of_others(void)
{
	struct cairn_mad mad;

	mad = mad_question();
	mad.base_version++;
	ktap_eq(cairn_mad_kind(&mad), CAIRN_MAD_OTHER);
	mad = mad_question();
	mad.mgmt_class++;
	ktap_eq(cairn_mad_kind(&mad), CAIRN_MAD_OTHER);
	mad = mad_question();
	mad.oui[2] ^= 1;
	ktap_eq(cairn_mad_kind(&mad), CAIRN_MAD_OTHER);
	/* a later version, a SET, another attribute: "unsupported" */
	mad = mad_question();
	mad.class_version++;
	ktap_eq(cairn_mad_kind(&mad), CAIRN_MAD_OTHER);
	mad = mad_question();
	mad.method = 2;
	ktap_eq(cairn_mad_kind(&mad), CAIRN_MAD_OTHER);
	mad = mad_question();
	mad.attr_id = cpu_to_be16(CAIRN_MAD_ATTR + 1);
	ktap_eq(cairn_mad_kind(&mad), CAIRN_MAD_OTHER);
}

static bool mad_refused(const struct cairn_mad *mad)
{
	struct cairn_peer_caps got, none = {};

	memset(&got, 0xff, sizeof(got));
	return cairn_mad_read(mad, &got) == -EPROTO &&
	       !memcmp(&got, &none, sizeof(none));
}

static void impossible_answers(void)
{
	static const u32 units[] = { 0, 3, 12, 8192, 0x80000000u, U32_MAX };
	static const u64 lens[] = { 0, (1ull << 31) + 1, U64_MAX };
	struct cairn_mad mad;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		mad = mad_answer();
		mad.atomic_unit = cpu_to_be32(units[i]);
		ktap_ok(mad_refused(&mad));
	}
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		mad = mad_answer();
		mad.max_msg = cpu_to_be64(lens[i]);
		ktap_ok(mad_refused(&mad));
	}
	mad = mad_answer();
	mad.attr_id = 0;
	ktap_ok(mad_refused(&mad));
	/* busy, redirected, a wrong value */
	mad = mad_answer();
	mad.status = cpu_to_be16(1);
	ktap_ok(mad_refused(&mad));
	mad.status = cpu_to_be16(2);
	ktap_ok(mad_refused(&mad));
	mad.status = cpu_to_be16(0x1c);
	ktap_ok(mad_refused(&mad));
}

/* Kinds and abilities that a later version has are not passed on. */
static void later_kinds(void)
{
	struct cairn_mad mad = mad_answer();
	struct cairn_peer_caps got;

	mad.domains = cpu_to_be32(U32_MAX);
	ktap_eq(cairn_mad_read(&mad, &got), 0);
	ktap_eq(got.persist_domains, 7);
	mad.domains = cpu_to_be32(8);
	ktap_eq(cairn_mad_read(&mad, &got), 0);
	ktap_eq(got.persist_domains, 0);
	ktap_eq(got.known, 1);
	mad.abilities = cpu_to_be32(U32_MAX);
	ktap_eq(cairn_mad_read(&mad, &got), 0);
	ktap_eq(got.abilities, CAIRN_PEER_PERSIST_IMM);
	/* an earlier version */
	mad.abilities = 0;
	ktap_eq(cairn_mad_read(&mad, &got), 0);
	ktap_eq(got.known, 1);
	ktap_eq(got.abilities, 0);
}

/* Whatever arrives: what is read can be. */
static void any_bytes(void)
{
	struct sim_rand rand = { ktap_rand() };
	u32 i, n, k;

	for (i = 0; i < 200000; i++) {
		struct cairn_mad mad = mad_answer();
		struct cairn_peer_caps got;
		u8 *bytes = (u8 *)&mad;

		n = 1 + sim_below(&rand, 8);
		for (k = 0; k < n; k++)
			bytes[sim_below(&rand, 64)] = sim_below(&rand, 256);
		if (cairn_mad_kind(&mad) != CAIRN_MAD_ANSWER ||
		    cairn_mad_read(&mad, &got) || !got.known)
			continue;
		ktap_ok(got.persist_atomic_unit && got.max_msg &&
			got.max_msg <= 1ull << 31 &&
			!(got.persist_domains & ~7u) && got.abilities <= 1);
	}
}

static const struct ktap_test tests[] = {
	KTAP(bytes_of_a_question),
	KTAP(answer_and_question),
	KTAP(others_do_not_know),
	KTAP(of_others),
	KTAP(impossible_answers),
	KTAP(later_kinds),
	KTAP(any_bytes),
};

KTAP_MAIN(tests)
