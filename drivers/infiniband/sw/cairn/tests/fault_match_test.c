// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Fault rules: which packets they hit, and which are refused. */
#include <errno.h>
#include <linux/array_size.h>
#include "fault/match.h"
#include "wire/packet.h"
#include "ktap.h"

#define ANY_LEN	0xffffffffu
#define MS	1000000ull	/* between the packets of match_run() */

static struct cairn_fault_rule match_drop(void)
{
	return (struct cairn_fault_rule){
		.direction = CAIRN_FAULT_SENT, .act = CAIRN_FAULT_DROP,
		.max_len = ANY_LEN,
	};
}

static struct cairn_match_packet match_packet(void)
{
	return (struct cairn_match_packet){
		.qpn = 17, .len = 100, .opcode = 4, .direction = CAIRN_FAULT_SENT,
	};
}

/* Bit i: the rule hits the packet when it comes for time i. */
static u64 match_run(const struct cairn_fault_rule *rule,
		     const struct cairn_match_packet *pkt)
{
	struct cairn_match match;
	u64 hits = 0;

	cairn_match_init(&match, rule, MS);
	for (int i = 0; i < 64; i++)
		hits |= (u64)cairn_match_hit(&match, pkt, (i + 1) * MS) << i;
	ktap_eq(match.hits, __builtin_popcountll(hits));
	return hits;
}

static void the_filter_decides(void)
{
	struct cairn_match_packet pkt = match_packet(), other = pkt;
	struct cairn_fault_rule rule = match_drop();

	ktap_eq(match_run(&rule, &pkt), ~0ull);
	other.direction = CAIRN_FAULT_RECEIVED;
	ktap_eq(match_run(&rule, &other), 0);
	rule.qpn = 17;
	rule.opcodes[0] = 1 << 4;
	rule.min_len = rule.max_len = 100;
	ktap_eq(match_run(&rule, &pkt), ~0ull);
	other = pkt;
	other.qpn = 18;
	ktap_eq(match_run(&rule, &other), 0);
	other = pkt;
	other.opcode = 0xc4;
	ktap_eq(match_run(&rule, &other), 0);
	other = pkt;
	other.len = 99;
	ktap_eq(match_run(&rule, &other), 0);
	other.len = 101;
	ktap_eq(match_run(&rule, &other), 0);
}

static void keys_and_peers_decide(void)
{
	struct cairn_match_packet pkt = match_packet();
	struct cairn_fault_rule rule = match_drop();

	rule.key = 0x1234;
	ktap_eq(match_run(&rule, &pkt), 0);
	pkt.key = 0x1234;
	ktap_eq(match_run(&rule, &pkt), ~0ull);
	pkt.key = 0x1235;
	ktap_eq(match_run(&rule, &pkt), 0);
	rule.key = 0;
	rule.peer[15] = 2;
	ktap_eq(match_run(&rule, &pkt), 0);
	pkt.peer[15] = 2;
	ktap_eq(match_run(&rule, &pkt), ~0ull);
	pkt.peer[0] = 1;
	ktap_eq(match_run(&rule, &pkt), 0);
}

/* Packet i comes i ms after the rule. */
static void times_decide(void)
{
	struct cairn_match_packet pkt = match_packet();
	struct cairn_fault_rule rule = match_drop();

	rule.begin_ms = 3;
	ktap_eq(match_run(&rule, &pkt), ~0ull << 3);
	rule.end_ms = 5;
	ktap_eq(match_run(&rule, &pkt), 3 << 3);
	rule.begin_ms = 0;
	ktap_eq(match_run(&rule, &pkt), 0x1f);
	/* packets out of time are not counted */
	rule.begin_ms = 3;
	rule.nth = 2;
	ktap_eq(match_run(&rule, &pkt), 1 << 4);
}

static void each_opcode_has_its_bit(void)
{
	struct cairn_match_packet pkt = match_packet();

	for (int i = 0; i < 256; i++) {
		struct cairn_fault_rule rule = match_drop();

		rule.opcodes[i / 64] = 1ull << i % 64;
		for (int k = 0; k < 256; k++) {
			pkt.opcode = k;
			if (match_run(&rule, &pkt) != (i == k ? ~0ull : 0))
				ktap_fail("opcode %d by the bit of %d", k, i);
		}
	}
}

static void numbers_agree(void)
{
	struct cairn_match_packet pkt = match_packet();
	struct cairn_fault_rule rule = match_drop();

	rule.nth = 3;
	ktap_eq(match_run(&rule, &pkt), 1 << 2);
	rule.nth = 0;
	rule.every = 16;
	ktap_eq(match_run(&rule, &pkt), 0x8000800080008000ull);
	rule.count = 2;
	ktap_eq(match_run(&rule, &pkt), 0x80008000ull);
	rule.nth = 17;
	ktap_eq(match_run(&rule, &pkt), 0);
}

static void a_seed_repeats(void)
{
	struct cairn_match_packet pkt = match_packet();
	struct cairn_fault_rule rule = match_drop();
	u64 first;

	rule.chance = 1u << 31;
	rule.seed = 7;
	first = match_run(&rule, &pkt);
	ktap_eq(match_run(&rule, &pkt), first);
	ktap_ok(__builtin_popcountll(first) > 16 && __builtin_popcountll(first) < 48);
	rule.seed = 8;
	ktap_ok(match_run(&rule, &pkt) != first);
	/* an eighth, and not the others */
	rule.chance = 1u << 29;
	first = match_run(&rule, &pkt);
	ktap_ok(first && __builtin_popcountll(first) < 24);
}

static void payload_is_needed_to_change_it(void)
{
	struct cairn_match_packet pkt = match_packet();
	struct cairn_fault_rule rule = match_drop();

	pkt.len = 0;
	rule.act = CAIRN_FAULT_CORRUPT;
	ktap_eq(match_run(&rule, &pkt), ~0ull);
	rule.act = CAIRN_FAULT_CORRUPT_PAST_ICRC;
	ktap_eq(match_run(&rule, &pkt), 0);
}

/* Answers are for requests of reliable connections, the end is for any connection. */
static void acts_fit_their_packets(void)
{
	static const struct {
		u8 opcode;
		bool answered, ended;
	} cases[] = {
		{ CAIRN_BTH_RC | CAIRN_BTH_WRITE_ONLY, true, true },
		{ CAIRN_BTH_RC | CAIRN_BTH_READ_REQUEST, true, true },
		{ CAIRN_BTH_XRC | CAIRN_BTH_SEND_ONLY, true, true },
		{ CAIRN_BTH_WRITE_PERSIST_ONLY, true, true },
		{ CAIRN_BTH_RC | CAIRN_BTH_ACK, false, true },
		{ CAIRN_BTH_RC | CAIRN_BTH_READ_RESP_ONLY, false, true },
		{ CAIRN_BTH_UC | CAIRN_BTH_SEND_ONLY, false, true },
		{ CAIRN_BTH_UD | CAIRN_BTH_SEND_ONLY, false, false },
		{ CAIRN_BTH_CNP, false, false },
	};

	for (u32 i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cairn_match_packet pkt = match_packet();
		struct cairn_fault_rule rule = match_drop();

		pkt.opcode = cases[i].opcode;
		pkt.direction = CAIRN_FAULT_RECEIVED;
		rule.direction = CAIRN_FAULT_RECEIVED;
		rule.act = CAIRN_FAULT_NAK;
		ktap_eq(match_run(&rule, &pkt), cases[i].answered ? ~0ull : 0);
		rule.act = CAIRN_FAULT_RNR;
		ktap_eq(match_run(&rule, &pkt), cases[i].answered ? ~0ull : 0);
		rule.act = CAIRN_FAULT_QP_FATAL;
		ktap_eq(match_run(&rule, &pkt), cases[i].ended ? ~0ull : 0);
	}
}

static void answers_have_their_syndrome(void)
{
	struct cairn_fault_rule rule = match_drop();

	ktap_eq(cairn_match_refuse(&rule), 0);
	rule.act = CAIRN_FAULT_NAK;
	rule.detail = CAIRN_NAK_REMOTE_ACCESS;
	ktap_eq(cairn_match_refuse(&rule), 0x62);
	rule.act = CAIRN_FAULT_RNR;
	rule.detail = 31;
	ktap_eq(cairn_match_refuse(&rule), 0x3f);
	rule.act = CAIRN_FAULT_QP_FATAL;
	ktap_eq(cairn_match_refuse(&rule), CAIRN_REFUSE_QP_FATAL);
}

#define REFUSED(change)							\
	do {								\
		struct cairn_fault_rule rule = match_drop();		\
									\
		change;							\
		ktap_eq(cairn_match_check(&rule), -EINVAL);		\
	} while (0)

static void wrong_rules_are_refused(void)
{
	struct cairn_fault_rule good = match_drop();

	ktap_eq(cairn_match_check(&good), 0);
	REFUSED(rule.direction = 0);
	REFUSED(rule.direction = 3);
	REFUSED(rule.direction = 4);
	REFUSED(rule.direction = 255);
	REFUSED(rule.act = 0);
	REFUSED(rule.act = 200);
	REFUSED(rule.detail = 1);
	REFUSED(rule.reserved = 1);
	REFUSED(rule.begin_ms = 2; rule.end_ms = 2);
	REFUSED(rule.begin_ms = 2; rule.end_ms = 1);
	REFUSED(rule.qpn = 1 << 24);
	REFUSED(rule.min_len = 2; rule.max_len = 1);
	REFUSED(rule.delay_us = 1);
	REFUSED(rule.act = CAIRN_FAULT_DELAY);
	REFUSED(rule.act = CAIRN_FAULT_DELAY; rule.delay_us = CAIRN_FAULT_MAX_DELAY + 1);
	REFUSED(rule.act = CAIRN_FAULT_NAK);
	REFUSED(rule.direction = 2; rule.act = CAIRN_FAULT_NAK; rule.detail = 4);
	REFUSED(rule.direction = 2; rule.act = CAIRN_FAULT_RNR; rule.detail = 32);
	REFUSED(rule.direction = 2; rule.act = CAIRN_FAULT_QP_FATAL; rule.detail = 1);
	REFUSED(rule.direction = 2; rule.act = CAIRN_FAULT_EVENT);
	good.act = CAIRN_FAULT_DELAY;
	good.delay_us = CAIRN_FAULT_MAX_DELAY;
	ktap_eq(cairn_match_check(&good), 0);
}

static int match_now(u8 act, u8 detail, u32 qpn)
{
	struct cairn_fault_rule rule = match_drop();

	rule.direction = CAIRN_FAULT_NOW;
	rule.act = act;
	rule.detail = detail;
	rule.qpn = qpn;
	return cairn_match_check(&rule);
}

static void what_is_done_at_once(void)
{
	ktap_eq(match_now(CAIRN_FAULT_QP_FATAL, 0, 1), 0);
	ktap_eq(match_now(CAIRN_FAULT_QP_FATAL, 0, 0), -EINVAL);
	ktap_eq(match_now(CAIRN_FAULT_NAK, 0, 1), -EINVAL);
	for (u8 event = 0; event < CAIRN_FAULT_EVENTS; event++) {
		bool of_qp = event >= CAIRN_FAULT_COMM_EST && event <= CAIRN_FAULT_SRQ_ERR;

		ktap_eq(match_now(CAIRN_FAULT_EVENT, event, of_qp), 0);
		ktap_eq(match_now(CAIRN_FAULT_EVENT, event, !of_qp), -EINVAL);
	}
	ktap_eq(match_now(CAIRN_FAULT_EVENT, CAIRN_FAULT_EVENTS, 1), -EINVAL);
#define NOW	(rule.direction = CAIRN_FAULT_NOW, rule.act = CAIRN_FAULT_EVENT)
	REFUSED(NOW; rule.max_len = 1);
	REFUSED(NOW; rule.min_len = 1);
	REFUSED(NOW; rule.nth = 1);
	REFUSED(NOW; rule.opcodes[3] = 1);
	REFUSED(NOW; rule.seed = 1);
	REFUSED(NOW; rule.count = 1);
}

/* Random bytes are refused, or are a rule that packets can meet. */
static void random_rules_do_no_harm(void)
{
	for (int i = 0; i < 100000; i++) {
		struct cairn_match_packet pkt = match_packet();
		struct cairn_fault_rule rule = {};
		u8 *bytes = (u8 *)&rule;

		for (size_t k = 0; k < sizeof(rule); k++)
			bytes[k] = ktap_rand_below(4) ? 0 : ktap_rand_below(256);
		rule.direction = ktap_rand_below(5);
		rule.act = ktap_rand_below(12);
		if (cairn_match_check(&rule))
			continue;
		pkt.opcode = ktap_rand_below(256);
		match_run(&rule, &pkt);
	}
}

static const struct ktap_test tests[] = {
	KTAP(the_filter_decides),
	KTAP(keys_and_peers_decide),
	KTAP(times_decide),
	KTAP(each_opcode_has_its_bit),
	KTAP(numbers_agree),
	KTAP(a_seed_repeats),
	KTAP(payload_is_needed_to_change_it),
	KTAP(acts_fit_their_packets),
	KTAP(answers_have_their_syndrome),
	KTAP(wrong_rules_are_refused),
	KTAP(what_is_done_at_once),
	KTAP(random_rules_do_no_harm),
};

KTAP_MAIN(tests)
