// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Fault rules: which packets they hit, and which are refused. */
#include <errno.h>
#include "fault/match.h"
#include "ktap.h"

#define ANY_LEN	0xffffffffu

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

	cairn_match_init(&match, rule);
	for (int i = 0; i < 64; i++)
		hits |= (u64)cairn_match_hit(&match, pkt) << i;
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
	REFUSED(rule.direction = 255);
	REFUSED(rule.act = 0);
	REFUSED(rule.act = 200);
	REFUSED(rule.detail = 1);
	REFUSED(rule.reserved = 1);
	REFUSED(rule.reserved2 = 1);
	REFUSED(rule.qpn = 1 << 24);
	REFUSED(rule.min_len = 2; rule.max_len = 1);
	REFUSED(rule.delay_us = 1);
	REFUSED(rule.act = CAIRN_FAULT_DELAY);
	REFUSED(rule.act = CAIRN_FAULT_DELAY; rule.delay_us = CAIRN_FAULT_MAX_DELAY + 1);
	good.act = CAIRN_FAULT_DELAY;
	good.delay_us = CAIRN_FAULT_MAX_DELAY;
	ktap_eq(cairn_match_check(&good), 0);
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
		rule.direction = ktap_rand_below(4);
		rule.act = ktap_rand_below(8);
		if (cairn_match_check(&rule))
			continue;
		pkt.opcode = ktap_rand_below(256);
		match_run(&rule, &pkt);
	}
}

static const struct ktap_test tests[] = {
	KTAP(the_filter_decides),
	KTAP(each_opcode_has_its_bit),
	KTAP(numbers_agree),
	KTAP(a_seed_repeats),
	KTAP(payload_is_needed_to_change_it),
	KTAP(wrong_rules_are_refused),
	KTAP(random_rules_do_no_harm),
};

KTAP_MAIN(tests)
