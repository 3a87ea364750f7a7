// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <linux/kernel.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/string.h>
#include "fault/match.h"
#include "wire/packet.h"

#define MATCH_SENT	BIT(CAIRN_FAULT_SENT)
#define MATCH_RECEIVED	BIT(CAIRN_FAULT_RECEIVED)
#define MATCH_NOW	BIT(CAIRN_FAULT_NOW)

static const struct match_act {
	u8 directions;		/* in which it is possible; 0: there is no such act */
	u8 max_detail;
} match_acts[] = {
	[CAIRN_FAULT_DROP] = { MATCH_SENT | MATCH_RECEIVED },
	[CAIRN_FAULT_DUPLICATE] = { MATCH_SENT | MATCH_RECEIVED },
	[CAIRN_FAULT_CORRUPT] = { MATCH_SENT | MATCH_RECEIVED },
	[CAIRN_FAULT_CORRUPT_PAST_ICRC] = { MATCH_SENT | MATCH_RECEIVED },
	[CAIRN_FAULT_DELAY] = { MATCH_SENT | MATCH_RECEIVED },
	[CAIRN_FAULT_REORDER] = { MATCH_SENT | MATCH_RECEIVED },
	[CAIRN_FAULT_NAK] = { MATCH_RECEIVED, CAIRN_NAK_REMOTE_OP },
	[CAIRN_FAULT_RNR] = { MATCH_RECEIVED, CAIRN_AETH_VALUE_MASK },
	[CAIRN_FAULT_QP_FATAL] = { MATCH_RECEIVED | MATCH_NOW },
	[CAIRN_FAULT_EVENT] = { MATCH_NOW, CAIRN_FAULT_EVENTS - 1 },
};

static bool match_act_fits(const struct cairn_fault_rule *rule)
{
	return rule->direction <= CAIRN_FAULT_NOW &&
	       rule->act < ARRAY_SIZE(match_acts) &&
	       match_acts[rule->act].directions & BIT(rule->direction);
}

/* Values that belong to an act; the others must be zero. */
static bool match_values_fit(const struct cairn_fault_rule *rule)
{
	bool delay = rule->act == CAIRN_FAULT_DELAY;

	return rule->detail <= match_acts[rule->act].max_detail &&
	       !rule->delay_us == !delay &&
	       rule->delay_us <= CAIRN_FAULT_MAX_DELAY;
}

/* What is done at once has a queue pair, or none, and no packets. */
static bool match_now_fits(const struct cairn_fault_rule *rule)
{
	const struct cairn_fault_rule now = {
		.direction = rule->direction,
		.act = rule->act,
		.detail = rule->detail,
		.qpn = rule->qpn,
		.max_len = U32_MAX,
	};
	bool of_qp = rule->act == CAIRN_FAULT_QP_FATAL ||
		     (rule->detail >= CAIRN_FAULT_COMM_EST &&
		      rule->detail <= CAIRN_FAULT_SRQ_ERR);

	return of_qp == !!rule->qpn && !memcmp(rule, &now, sizeof(now));
}

int cairn_match_check(const struct cairn_fault_rule *rule)
{
	if (!match_act_fits(rule) || !match_values_fit(rule) ||
	    (rule->direction == CAIRN_FAULT_NOW && !match_now_fits(rule)) ||
	    rule->reserved || (rule->end_ms && rule->end_ms <= rule->begin_ms) ||
	    rule->qpn > CAIRN_24BIT_MASK || rule->min_len > rule->max_len)
		return -EINVAL;
	return 0;
}

void cairn_match_init(struct cairn_match *match,
		      const struct cairn_fault_rule *rule, u64 now)
{
	*match = (struct cairn_match){
		.rule = *rule, .born = now, .random = rule->seed,
	};
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

/* Is the act possible with this packet? */
static bool match_suits(u8 act, const struct cairn_match_packet *pkt)
{
	const struct cairn_opcode *op = &cairn_opcodes[pkt->opcode];
	bool reliable = op->transport == CAIRN_TRANSPORT_RC ||
			op->transport == CAIRN_TRANSPORT_XRC;

	switch (act) {
	case CAIRN_FAULT_CORRUPT_PAST_ICRC:
		return pkt->len;
	case CAIRN_FAULT_NAK:
	case CAIRN_FAULT_RNR:
		return reliable && !(op->flags & CAIRN_OP_RESPONSE);
	case CAIRN_FAULT_QP_FATAL:
		return reliable || op->transport == CAIRN_TRANSPORT_UC;
	}
	return true;
}

static bool match_fits(const struct cairn_fault_rule *rule,
		       const struct cairn_match_packet *pkt)
{
	return rule->direction == pkt->direction && match_suits(rule->act, pkt) &&
	       (!rule->qpn || rule->qpn == pkt->qpn) &&
	       (!rule->key || rule->key == pkt->key) &&
	       (!memchr_inv(rule->peer, 0, sizeof(rule->peer)) ||
		!memcmp(rule->peer, pkt->peer, sizeof(rule->peer))) &&
	       rule->min_len <= pkt->len && pkt->len <= rule->max_len &&
	       match_opcode_fits(rule, pkt->opcode);
}

static bool match_in_time(const struct cairn_match *match, u64 now)
{
	u64 age = now - match->born;

	return age >= match->rule.begin_ms * 1000000ull &&
	       (!match->rule.end_ms || age < match->rule.end_ms * 1000000ull);
}

u8 cairn_match_refuse(const struct cairn_fault_rule *rule)
{
	switch (rule->act) {
	case CAIRN_FAULT_NAK:
		return CAIRN_AETH_NAK | rule->detail;
	case CAIRN_FAULT_RNR:
		return CAIRN_AETH_RNR_NAK | rule->detail;
	case CAIRN_FAULT_QP_FATAL:
		return CAIRN_REFUSE_QP_FATAL;
	}
	return 0;
}

bool cairn_match_hit(struct cairn_match *match,
		     const struct cairn_match_packet *pkt, u64 now)
{
	const struct cairn_fault_rule *rule = &match->rule;

	if ((rule->count && match->hits == rule->count) || !match_fits(rule, pkt) ||
	    !match_in_time(match, now))
		return false;
	match->seen++;
	if ((rule->nth && match->seen != rule->nth) ||
	    (rule->every && match->seen % rule->every) ||
	    (rule->chance && match_random(match) >= rule->chance))
		return false;
	match->hits++;
	return true;
}
