// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Fault rules of a device, as lines of text: cairndv_fault_add(3). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dv.h"
#include "method.h"
#include "text.h"

#define INJECT_QPN_MAX	0xffffffu
#define INJECT_LEN_ANY	0xffffffffu

static const struct cairn_text_name inject_directions[] = {
	{ "sent", CAIRN_FAULT_SENT }, { "received", CAIRN_FAULT_RECEIVED },
	{ "now", CAIRN_FAULT_NOW },
	{}
};

static const struct cairn_text_name inject_acts[] = {
	{ "drop", CAIRN_FAULT_DROP }, { "duplicate", CAIRN_FAULT_DUPLICATE },
	{ "corrupt", CAIRN_FAULT_CORRUPT },
	{ "corrupt-past-icrc", CAIRN_FAULT_CORRUPT_PAST_ICRC },
	{ "delay", CAIRN_FAULT_DELAY }, { "reorder", CAIRN_FAULT_REORDER },
	{ "qp-fatal", CAIRN_FAULT_QP_FATAL },
	{}
};

/* Codes of NAKs (IBTA table 46). */
static const struct cairn_text_name inject_naks[] = {
	{ "sequence", 0 }, { "invalid-request", 1 }, { "remote-access", 2 },
	{ "remote-operational", 3 },
	{}
};

static const struct cairn_text_name inject_events[] = {
	{ "port-down", CAIRN_FAULT_PORT_ERR }, { "port-up", CAIRN_FAULT_PORT_ACTIVE },
	{ "device-fatal", CAIRN_FAULT_DEVICE_FATAL },
	{ "pkey-change", CAIRN_FAULT_PKEY_CHANGE }, { "lid-change", CAIRN_FAULT_LID_CHANGE },
	{ "sm-change", CAIRN_FAULT_SM_CHANGE },
	{ "client-reregister", CAIRN_FAULT_CLIENT_REREGISTER },
	{ "connection-established", CAIRN_FAULT_COMM_EST },
	{ "sq-drained", CAIRN_FAULT_SQ_DRAINED },
	{ "qp-request-error", CAIRN_FAULT_QP_REQ_ERR },
	{ "qp-access-error", CAIRN_FAULT_QP_ACCESS_ERR },
	{ "last-wqe-reached", CAIRN_FAULT_LAST_WQE_REACHED },
	{ "cq-error", CAIRN_FAULT_CQ_ERR }, { "srq-limit", CAIRN_FAULT_SRQ_LIMIT },
	{ "srq-error", CAIRN_FAULT_SRQ_ERR },
	{}
};

#define INJECT_TIMER_MAX	31	/* of an RNR NAK */
#define INJECT_WINDOW_MAX	3600000000u	/* microseconds: an hour */

/* Operations of the BTH opcode: a range of these, in each transport. */
#define INJECT_OP(first, last)	((first) | (last) << 8)

static const struct cairn_text_name inject_ops[] = {
	/* groups come first */
	{ "SEND", INJECT_OP(0x00, 0x05) }, { "WRITE", INJECT_OP(0x06, 0x0b) },
	{ "READ_RESP", INJECT_OP(0x0d, 0x10) }, { "ATOMIC", INJECT_OP(0x13, 0x14) },
	{ "SEND_FIRST", INJECT_OP(0x00, 0x00) }, { "SEND_MIDDLE", INJECT_OP(0x01, 0x01) },
	{ "SEND_LAST", INJECT_OP(0x02, 0x02) }, { "SEND_LAST_IMM", INJECT_OP(0x03, 0x03) },
	{ "SEND_ONLY", INJECT_OP(0x04, 0x04) }, { "SEND_ONLY_IMM", INJECT_OP(0x05, 0x05) },
	{ "WRITE_FIRST", INJECT_OP(0x06, 0x06) }, { "WRITE_MIDDLE", INJECT_OP(0x07, 0x07) },
	{ "WRITE_LAST", INJECT_OP(0x08, 0x08) }, { "WRITE_LAST_IMM", INJECT_OP(0x09, 0x09) },
	{ "WRITE_ONLY", INJECT_OP(0x0a, 0x0a) }, { "WRITE_ONLY_IMM", INJECT_OP(0x0b, 0x0b) },
	{ "READ_REQUEST", INJECT_OP(0x0c, 0x0c) },
	{ "READ_RESP_FIRST", INJECT_OP(0x0d, 0x0d) },
	{ "READ_RESP_MIDDLE", INJECT_OP(0x0e, 0x0e) },
	{ "READ_RESP_LAST", INJECT_OP(0x0f, 0x0f) },
	{ "READ_RESP_ONLY", INJECT_OP(0x10, 0x10) },
	{ "ACK", INJECT_OP(0x11, 0x11) }, { "ATOMIC_ACK", INJECT_OP(0x12, 0x12) },
	{ "CMP_SWAP", INJECT_OP(0x13, 0x13) }, { "FETCH_ADD", INJECT_OP(0x14, 0x14) },
	{ "SEND_LAST_INV", INJECT_OP(0x16, 0x16) }, { "SEND_ONLY_INV", INJECT_OP(0x17, 0x17) },
	{ "FLUSH", INJECT_OP(0x1c, 0x1c) }, { "ATOMIC_WRITE", INJECT_OP(0x1d, 0x1d) },
	{}
};

/* Opcodes of one transport. */
static const struct cairn_text_name inject_codes[] = {
	{ "CNP", INJECT_OP(0x81, 0x81) }, { "WRITE_PERSIST", INJECT_OP(0xc0, 0xc5) },
	{ "PERSIST_ACK", INJECT_OP(0xc8, 0xc8) },
	{}
};

static const unsigned int inject_transports[] = { 0x00, 0x20, 0x60, 0xa0 };

static bool inject_u32(const char *text, uint32_t least, uint32_t most, uint32_t *to)
{
	uint64_t number;

	if (!cairn_text_number(text, 10, most, &number) || number < least)
		return false;
	*to = (uint32_t)number;
	return true;
}

static void inject_mark(uint64_t *opcodes, int range, unsigned int transport)
{
	for (int code = range & 0xff; code <= range >> 8; code++) {
		unsigned int opcode = transport | (unsigned int)code;

		opcodes[opcode / 64] |= 1ULL << opcode % 64;
	}
}

static bool inject_opcode(uint64_t *opcodes, const char *name)
{
	const struct cairn_text_name *found = cairn_text_find(inject_ops, name);
	unsigned int i;

	for (i = 0; found && i < 4; i++)
		inject_mark(opcodes, found->value, inject_transports[i]);
	if (found)
		return true;
	found = cairn_text_find(inject_codes, name);
	if (found)
		inject_mark(opcodes, found->value, 0);
	return found;
}

static bool inject_set_opcode(struct cairn_fault_rule *rule, char *value)
{
	uint64_t opcodes[4] = {};
	char *name, *place;

	for (name = strtok_r(value, "+", &place); name; name = strtok_r(NULL, "+", &place))
		if (!inject_opcode(opcodes, name))
			return false;
	memcpy(rule->opcodes, opcodes, sizeof(opcodes));
	return opcodes[0] | opcodes[1] | opcodes[2] | opcodes[3];
}

static bool inject_set_qp(struct cairn_fault_rule *rule, char *value)
{
	return inject_u32(value, 1, INJECT_QPN_MAX, &rule->qpn);
}

/* LENGTH, or LEAST- or LEAST-MOST */
static bool inject_set_size(struct cairn_fault_rule *rule, char *value)
{
	char *most = strchr(value, '-');

	if (most)
		*most++ = '\0';
	if (!inject_u32(value, 0, INJECT_LEN_ANY, &rule->min_len))
		return false;
	rule->max_len = most ? INJECT_LEN_ANY : rule->min_len;
	return !most || !*most ||
	       inject_u32(most, rule->min_len, INJECT_LEN_ANY, &rule->max_len);
}

static bool inject_set_nth(struct cairn_fault_rule *rule, char *value)
{
	return inject_u32(value, 1, UINT32_MAX, &rule->nth);
}

static bool inject_set_every(struct cairn_fault_rule *rule, char *value)
{
	return inject_u32(value, 1, UINT32_MAX, &rule->every);
}

static bool inject_set_count(struct cairn_fault_rule *rule, char *value)
{
	return inject_u32(value, 1, UINT32_MAX, &rule->count);
}

static bool inject_set_chance(struct cairn_fault_rule *rule, char *value)
{
	double chance;

	if (!cairn_text_chance(value, &chance))
		return false;
	chance *= 4294967296.0;
	/* 1 is the same as no chance. */
	rule->chance = chance >= 1 && chance < 4294967296.0 ? (uint32_t)chance : 0;
	return rule->chance || chance == 4294967296.0;
}

static bool inject_set_seed(struct cairn_fault_rule *rule, char *value)
{
	uint64_t seed;

	if (!cairn_text_number(value, 10, UINT64_MAX, &seed))
		return false;
	rule->seed = seed;
	return true;
}

static bool inject_set_act(struct cairn_fault_rule *rule, char *value)
{
	const struct cairn_text_name *found = cairn_text_find(inject_acts, value);

	if (found)
		rule->act = (uint8_t)found->value;
	return found;
}

/* An act with a value of its own. */
static bool inject_set_detail(struct cairn_fault_rule *rule, uint8_t act,
			      const struct cairn_text_name *found)
{
	if (!found)
		return false;
	rule->act = act;
	rule->detail = (uint8_t)found->value;
	return true;
}

static bool inject_set_nak(struct cairn_fault_rule *rule, char *value)
{
	return inject_set_detail(rule, CAIRN_FAULT_NAK, cairn_text_find(inject_naks, value));
}

static bool inject_set_event(struct cairn_fault_rule *rule, char *value)
{
	return inject_set_detail(rule, CAIRN_FAULT_EVENT,
				 cairn_text_find(inject_events, value));
}

static bool inject_set_rnr(struct cairn_fault_rule *rule, char *value)
{
	uint32_t timer;

	if (!inject_u32(value, 0, INJECT_TIMER_MAX, &timer))
		return false;
	rule->act = CAIRN_FAULT_RNR;
	rule->detail = (uint8_t)timer;
	return true;
}

static bool inject_set_time(struct cairn_fault_rule *rule, char *value)
{
	return cairn_text_time(value, CAIRN_FAULT_MAX_DELAY, &rule->delay_us);
}

/* Whole milliseconds. */
static bool inject_set_window(const char *value, uint32_t *ms)
{
	uint32_t us;

	if (!cairn_text_time(value, INJECT_WINDOW_MAX, &us) || us % 1000)
		return false;
	*ms = us / 1000;
	return true;
}

static bool inject_set_from(struct cairn_fault_rule *rule, char *value)
{
	return inject_set_window(value, &rule->begin_ms);
}

static bool inject_set_until(struct cairn_fault_rule *rule, char *value)
{
	return inject_set_window(value, &rule->end_ms);
}

static bool inject_set_peer(struct cairn_fault_rule *rule, char *value)
{
	memset(rule->peer, 0, sizeof(rule->peer));
	if (inet_pton(AF_INET6, value, rule->peer) == 1)
		return true;
	rule->peer[10] = 0xff;
	rule->peer[11] = 0xff;
	return inet_pton(AF_INET, value, rule->peer + 12) == 1;
}

static bool inject_set_key(struct cairn_fault_rule *rule, char *value)
{
	char *end;
	unsigned long long key;

	errno = 0;
	key = strtoull(value, &end, 0);
	rule->key = (uint32_t)key;
	return *value >= '0' && *value <= '9' && !errno && !*end && key && key <= UINT32_MAX;
}

static const struct inject_option {
	const char *name;
	bool (*set)(struct cairn_fault_rule *rule, char *value);
} inject_options[] = {
	{ "act", inject_set_act }, { "chance", inject_set_chance },
	{ "count", inject_set_count }, { "event", inject_set_event },
	{ "every", inject_set_every }, { "from", inject_set_from },
	{ "key", inject_set_key }, { "nak", inject_set_nak },
	{ "nth", inject_set_nth }, { "opcode", inject_set_opcode },
	{ "peer", inject_set_peer }, { "until", inject_set_until },
	{ "qp", inject_set_qp }, { "rnr", inject_set_rnr }, { "seed", inject_set_seed },
	{ "size", inject_set_size }, { "time", inject_set_time },
	{}
};

static bool inject_set(struct cairn_fault_rule *rule, char *option)
{
	const struct inject_option *known = inject_options;
	char *value = strchr(option, '=');

	if (!value)
		return false;
	*value++ = '\0';
	while (known->name && strcmp(known->name, option))
		known++;
	return known->name && known->set(rule, value);
}

/* DIRECTION[:OPTION[,OPTION]...]; changes the text. */
static bool inject_parse(struct cairn_fault_rule *rule, char *text)
{
	char *options = strchr(text, ':'), *option, *place;
	const struct cairn_text_name *direction;

	*rule = (struct cairn_fault_rule){
		.act = CAIRN_FAULT_DROP, .max_len = INJECT_LEN_ANY,
	};
	if (options)
		*options++ = '\0';
	direction = cairn_text_find(inject_directions, text);
	if (!direction)
		return false;
	rule->direction = (uint8_t)direction->value;
	option = options ? strtok_r(options, ",", &place) : NULL;
	for (; option; option = strtok_r(NULL, ",", &place))
		if (!inject_set(rule, option))
			return false;
	return true;
}

static int inject_call(struct ibv_context *ctx, uint16_t method,
		       const struct ib_uverbs_attr *attr, unsigned int n)
{
	if (!cairn_dv_owns(ctx))
		return EOPNOTSUPP;
	return cairn_method_error(cairn_method_attrs(ctx, CAIRN_OBJECT_FAULT, method, attr, n));
}

int cairndv_fault_add(struct ibv_context *ctx, const char *text)
{
	char copy[CAIRNDV_FAULT_TEXT];
	struct cairn_fault_rule rule;
	struct ib_uverbs_attr attr;

	if (!text || strlen(text) >= sizeof(copy))
		return EINVAL;
	strcpy(copy, text);
	if (!inject_parse(&rule, copy))
		return EINVAL;
	attr = cairn_method_attr(CAIRN_ATTR_ADD_FAULT_RULE, &rule, sizeof(rule));
	return inject_call(ctx, CAIRN_METHOD_ADD_FAULT, &attr, 1);
}

int cairndv_fault_clear(struct ibv_context *ctx)
{
	const struct ib_uverbs_attr none = {};

	return inject_call(ctx, CAIRN_METHOD_CLEAR_FAULTS, &none, 0);
}

/* Text that is being written. */
struct inject_text {
	char *to;
	size_t room;
};

static void __attribute__((format(printf, 2, 3)))
inject_write(struct inject_text *text, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->to, text->room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= text->room)
		n = text->room ? (int)text->room - 1 : 0;
	text->to += n;
	text->room -= (size_t)n;
}

/* Removes the opcodes of the name from @opcodes. Return: false if they are not all there. */
static bool inject_take(uint64_t *opcodes, const struct cairn_text_name *name, bool op)
{
	uint64_t own[4] = {}, missing = 0;
	unsigned int i;

	for (i = 0; i < (op ? 4 : 1); i++)
		inject_mark(own, name->value, op ? inject_transports[i] : 0);
	for (i = 0; i < 4; i++)
		missing |= own[i] & ~opcodes[i];
	for (i = 0; !missing && i < 4; i++)
		opcodes[i] &= ~own[i];
	return !missing;
}

static void inject_write_opcodes(struct inject_text *text, const struct cairn_fault_rule *rule)
{
	uint64_t opcodes[4] = {};
	const struct cairn_text_name *name;
	const char *sign = ",opcode=";

	memcpy(opcodes, rule->opcodes, sizeof(opcodes));
	for (name = inject_ops; name->name; name++)
		if (inject_take(opcodes, name, true)) {
			inject_write(text, "%s%s", sign, name->name);
			sign = "+";
		}
	for (name = inject_codes; name->name; name++)
		if (inject_take(opcodes, name, false)) {
			inject_write(text, "%s%s", sign, name->name);
			sign = "+";
		}
}

static void inject_write_act(struct inject_text *text, const struct cairn_fault_rule *rule)
{
	if (rule->act == CAIRN_FAULT_NAK)
		inject_write(text, "nak=%s", cairn_text_name(inject_naks, rule->detail));
	else if (rule->act == CAIRN_FAULT_RNR)
		inject_write(text, "rnr=%u", rule->detail);
	else
		inject_write(text, "act=%s", cairn_text_name(inject_acts, rule->act));
}

static void inject_write_peer(struct inject_text *text, const struct cairn_fault_rule *rule)
{
	static const uint8_t any[16], ipv4[12] = { [10] = 0xff, [11] = 0xff };
	bool is_ipv4 = !memcmp(rule->peer, ipv4, sizeof(ipv4));
	char name[INET6_ADDRSTRLEN];

	if (!memcmp(rule->peer, any, sizeof(any)))
		return;
	inject_write(text, ",peer=%s",
		     inet_ntop(is_ipv4 ? AF_INET : AF_INET6, rule->peer + (is_ipv4 ? 12 : 0),
			       name, sizeof(name)));
}

/* As it is read: with a point, whatever the locale of the program. */
static void inject_write_chance(struct inject_text *text, const struct cairn_fault_rule *rule)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), own = (locale_t)0;

	if (plain)
		own = uselocale(plain);
	inject_write(text, ",chance=%.6g,seed=%llu", rule->chance / 4294967296.0,
		     (unsigned long long)rule->seed);
	if (!plain)
		return;
	uselocale(own);
	freelocale(plain);
}

static void inject_format(struct inject_text *text, const struct cairn_fault_rule *rule)
{
	inject_write(text, "%s:", cairn_text_name(inject_directions, rule->direction));
	inject_write_act(text, rule);
	if (rule->delay_us)
		inject_write(text, ",time=%uus", rule->delay_us);
	if (rule->qpn)
		inject_write(text, ",qp=%u", rule->qpn);
	inject_write_opcodes(text, rule);
	inject_write_peer(text, rule);
	if (rule->key)
		inject_write(text, ",key=0x%x", rule->key);
	if (rule->min_len || rule->max_len != INJECT_LEN_ANY)
		inject_write(text, ",size=%u-%u", rule->min_len, rule->max_len);
	if (rule->nth)
		inject_write(text, ",nth=%u", rule->nth);
	if (rule->every)
		inject_write(text, ",every=%u", rule->every);
	if (rule->chance)
		inject_write_chance(text, rule);
	if (rule->count)
		inject_write(text, ",count=%u", rule->count);
	if (rule->begin_ms)
		inject_write(text, ",from=%ums", rule->begin_ms);
	if (rule->end_ms)
		inject_write(text, ",until=%ums", rule->end_ms);
}

int cairndv_fault_list(struct ibv_context *ctx, struct cairndv_fault *faults, unsigned int *num)
{
	struct cairn_fault_list list = {};
	struct ib_uverbs_attr attr =
		cairn_method_attr(CAIRN_ATTR_LIST_FAULTS_OUT, &list, sizeof(list));
	unsigned int i, room = *num;
	int err = inject_call(ctx, CAIRN_METHOD_LIST_FAULTS, &attr, 1);

	if (err)
		return err;
	*num = list.num;
	for (i = 0; i < list.num && i < room; i++) {
		struct inject_text text = { faults[i].rule, sizeof(faults[i].rule) };

		inject_format(&text, &list.rules[i].rule);
		faults[i].seen = list.rules[i].seen;
		faults[i].hits = list.rules[i].hits;
	}
	return 0;
}
