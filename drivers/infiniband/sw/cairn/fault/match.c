// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/kernel.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/string.h>
#include "fault/match.h"
#include "wire/hdr.h"

/* Directions in which an act is possible, a bit for each; 0: there is no such act. */
#define MATCH_SENT	BIT(CAIRN_FAULT_SENT)
#define MATCH_RECEIVED	BIT(CAIRN_FAULT_RECEIVED)

static const u8 match_acts[] = {
	[CAIRN_FAULT_DROP] = MATCH_SENT | MATCH_RECEIVED,
	[CAIRN_FAULT_DUPLICATE] = MATCH_SENT | MATCH_RECEIVED,
	[CAIRN_FAULT_CORRUPT] = MATCH_SENT | MATCH_RECEIVED,
	[CAIRN_FAULT_CORRUPT_PAST_ICRC] = MATCH_SENT | MATCH_RECEIVED,
	[CAIRN_FAULT_DELAY] = MATCH_SENT | MATCH_RECEIVED,
	[CAIRN_FAULT_REORDER] = MATCH_SENT | MATCH_RECEIVED,
};

static bool match_act_fits(const struct cairn_fault_rule *rule)
{
	return rule->direction <= CAIRN_FAULT_RECEIVED &&
	       rule->act < ARRAY_SIZE(match_acts) &&
	       match_acts[rule->act] & BIT(rule->direction);
}

/* Values that belong to an act; the others must be zero. */
static bool match_values_fit(const struct cairn_fault_rule *rule)
{
	bool delay = rule->act == CAIRN_FAULT_DELAY;

	return !rule->detail && !rule->delay_us == !delay &&
	       rule->delay_us <= CAIRN_FAULT_MAX_DELAY;
}

int cairn_match_check(const struct cairn_fault_rule *rule)
{
	if (!match_act_fits(rule) || !match_values_fit(rule) ||
	    rule->reserved || rule->reserved2 ||
	    rule->qpn > CAIRN_24BIT_MASK || rule->min_len > rule->max_len)
		return -EINVAL;
	return 0;
}

void cairn_match_init(struct cairn_match *match,
		      const struct cairn_fault_rule *rule)
{
	*match = (struct cairn_match){ .rule = *rule, .random = rule->seed };
}

/* splitmix64 */
static u32 match_random(struct cairn_match *match)
{
	u64 mix = match->random += 0x9e3779b97f4a7c15ull;

	mix = (mix ^ (mix >> 30)) * 0xbf58476d1ce4e5b9ull;
	mix = (mix ^ (mix >> 27)) * 0x94d049bb133111ebull;
	return (mix ^ (mix >> 31)) >> 32;
}

static bool match_opcode_fits(const struct cairn_fault_rule *rule, u8 opcode)
{
	return !memchr_inv(rule->opcodes, 0, sizeof(rule->opcodes)) ||
	       rule->opcodes[opcode / 64] & (1ull << opcode % 64);
}

static bool match_fits(const struct cairn_fault_rule *rule,
		       const struct cairn_match_packet *pkt)
{
	/* Without payload there is no byte to change past the ICRC. */
	if (rule->act == CAIRN_FAULT_CORRUPT_PAST_ICRC && !pkt->len)
		return false;
	return rule->direction == pkt->direction &&
	       (!rule->qpn || rule->qpn == pkt->qpn) &&
	       rule->min_len <= pkt->len && pkt->len <= rule->max_len &&
	       match_opcode_fits(rule, pkt->opcode);
}

bool cairn_match_hit(struct cairn_match *match,
		     const struct cairn_match_packet *pkt)
{
	const struct cairn_fault_rule *rule = &match->rule;

	if ((rule->count && match->hits == rule->count) || !match_fits(rule, pkt))
		return false;
	match->seen++;
	if ((rule->nth && match->seen != rule->nth) ||
	    (rule->every && match->seen % rule->every) ||
	    (rule->chance && match_random(match) >= rule->chance))
		return false;
	match->hits++;
	return true;
}
