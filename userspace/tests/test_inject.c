// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Fault rules of a device: what a rule tells the kernel, and that it is listed as it is. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "fixture_qp.h"

/* Return: the rule that the kernel got. */
static const struct cairn_fault_rule *added(const char *text)
{
	fake.faults.num = 0;
	if (!ktap_eq(cairndv_fault_add(ctx, text), 0))
		printf("# %s\n", text);
	return &fake.faults.rules[0].rule;
}

/* Adds a rule; it is listed so. */
static void listed(const char *text, const char *expected)
{
	struct cairndv_fault fault;
	unsigned int num = 1;

	added(text);
	ktap_eq(cairndv_fault_list(ctx, &fault, &num), 0);
	ktap_eq(num, 1);
	if (!ktap_ok(!strcmp(fault.rule, expected)))
		printf("# %s, not %s\n", fault.rule, expected);
}

/* Opcodes of the BTH as the specification numbers them (IBTA 9.2.1); the first and last one. */
static const struct opcode {
	const char *name;
	uint8_t first, last;
	bool everywhere;	/* in each transport */
} opcodes[] = {
	{ "SEND_FIRST", 0, 0, true }, { "SEND_MIDDLE", 1, 1, true }, { "SEND_LAST", 2, 2, true },
	{ "SEND_LAST_IMM", 3, 3, true }, { "SEND_ONLY", 4, 4, true },
	{ "SEND_ONLY_IMM", 5, 5, true }, { "SEND_LAST_INV", 22, 22, true },
	{ "SEND_ONLY_INV", 23, 23, true }, { "WRITE_FIRST", 6, 6, true },
	{ "WRITE_MIDDLE", 7, 7, true }, { "WRITE_LAST", 8, 8, true },
	{ "WRITE_LAST_IMM", 9, 9, true }, { "WRITE_ONLY", 10, 10, true },
	{ "WRITE_ONLY_IMM", 11, 11, true }, { "READ_REQUEST", 12, 12, true },
	{ "READ_RESP_FIRST", 13, 13, true }, { "READ_RESP_MIDDLE", 14, 14, true },
	{ "READ_RESP_LAST", 15, 15, true }, { "READ_RESP_ONLY", 16, 16, true },
	{ "ACK", 17, 17, true }, { "ATOMIC_ACK", 18, 18, true }, { "CMP_SWAP", 19, 19, true },
	{ "FETCH_ADD", 20, 20, true }, { "FLUSH", 28, 28, true },
	{ "ATOMIC_WRITE", 29, 29, true }, { "CNP", 0x81, 0x81, false },
	{ "PERSIST_ACK", 0xc8, 0xc8, false }, { "SEND", 0, 5, true }, { "WRITE", 6, 11, true },
	{ "READ_RESP", 13, 16, true }, { "ATOMIC", 19, 20, true },
	{ "WRITE_PERSIST", 0xc0, 0xc5, false },
};

/* RC, UC, UD and XRC */
static bool opcode_has(const struct opcode *opcode, unsigned int code)
{
	unsigned int transport = code & 0xe0;

	if (opcode->everywhere && transport != 0x00 && transport != 0x20 && transport != 0x60 &&
	    transport != 0xa0)
		return false;
	code = opcode->everywhere ? code & 0x1f : code;
	return opcode->first <= code && code <= opcode->last;
}

static void each_opcode(void)
{
	char text[64], expected[64];

	open_qp();
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		const struct cairn_fault_rule *rule;

		snprintf(text, sizeof(text), "sent:opcode=%s", opcodes[i].name);
		snprintf(expected, sizeof(expected), "sent:act=drop,opcode=%s", opcodes[i].name);
		rule = added(text);
		for (unsigned int code = 0; code < 256; code++)
			if (!ktap_eq(rule->opcodes[code / 64] >> code % 64 & 1,
				     opcode_has(&opcodes[i], code)))
				printf("# %s, opcode 0x%02x\n", opcodes[i].name, code);
		listed(text, expected);
	}
	listed("received:opcode=ACK+SEND+CNP", "received:act=drop,opcode=SEND+ACK+CNP");
	close_qp();
}

static const struct act {
	const char *text;
	uint8_t direction, act, detail;
} acts[] = {
	{ "sent", CAIRN_FAULT_SENT, CAIRN_FAULT_DROP, 0 },
	{ "received:act=drop", CAIRN_FAULT_RECEIVED, CAIRN_FAULT_DROP, 0 },
	{ "sent:act=duplicate", CAIRN_FAULT_SENT, CAIRN_FAULT_DUPLICATE, 0 },
	{ "sent:act=corrupt", CAIRN_FAULT_SENT, CAIRN_FAULT_CORRUPT, 0 },
	{ "sent:act=corrupt-past-icrc", CAIRN_FAULT_SENT, CAIRN_FAULT_CORRUPT_PAST_ICRC, 0 },
	{ "sent:act=delay,time=1s", CAIRN_FAULT_SENT, CAIRN_FAULT_DELAY, 0 },
	{ "sent:act=reorder", CAIRN_FAULT_SENT, CAIRN_FAULT_REORDER, 0 },
	{ "received:act=qp-fatal", CAIRN_FAULT_RECEIVED, CAIRN_FAULT_QP_FATAL, 0 },
	{ "received:nak=sequence", CAIRN_FAULT_RECEIVED, CAIRN_FAULT_NAK, 0 },
	{ "received:nak=invalid-request", CAIRN_FAULT_RECEIVED, CAIRN_FAULT_NAK, 1 },
	{ "received:nak=remote-access", CAIRN_FAULT_RECEIVED, CAIRN_FAULT_NAK, 2 },
	{ "received:nak=remote-operational", CAIRN_FAULT_RECEIVED, CAIRN_FAULT_NAK, 3 },
	{ "received:rnr=31", CAIRN_FAULT_RECEIVED, CAIRN_FAULT_RNR, 31 },
	{ "now:act=qp-fatal,qp=3", CAIRN_FAULT_NOW, CAIRN_FAULT_QP_FATAL, 0 },
	{ "now:event=port-down", CAIRN_FAULT_NOW, CAIRN_FAULT_EVENT, CAIRN_FAULT_PORT_ERR },
	{ "now:event=srq-error,qp=3", CAIRN_FAULT_NOW, CAIRN_FAULT_EVENT, CAIRN_FAULT_SRQ_ERR },
	{ "now:event=client-reregister", CAIRN_FAULT_NOW, CAIRN_FAULT_EVENT,
	  CAIRN_FAULT_CLIENT_REREGISTER },
};

static void each_act(void)
{
	open_qp();
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		const struct cairn_fault_rule *rule = added(acts[i].text);

		ktap_eq(rule->direction, acts[i].direction);
		ktap_eq(rule->act, acts[i].act);
		ktap_eq(rule->detail, acts[i].detail);
	}
	close_qp();
}

static void each_option(void)
{
	open_qp();
	listed("sent:act=delay,time=3ms", "sent:act=delay,time=3000us");
	listed("sent:qp=77", "sent:act=drop,qp=77");
	listed("sent:size=5", "sent:act=drop,size=5-5");
	listed("sent:size=5-", "sent:act=drop,size=5-4294967295");
	listed("sent:peer=10.0.0.2,key=4660", "sent:act=drop,peer=10.0.0.2,key=0x1234");
	listed("sent:peer=fd00::2", "sent:act=drop,peer=fd00::2");
	listed("sent:from=10ms,until=2s", "sent:act=drop,from=10ms,until=2000ms");
	listed("sent:nth=2,every=3,count=4", "sent:act=drop,nth=2,every=3,count=4");
	listed("sent:chance=0.25,seed=7", "sent:act=drop,chance=0.25,seed=7");
	/* a program's locale has a comma there; not all machines have this one */
	setlocale(LC_ALL, "de_DE.UTF-8");
	listed("sent:chance=0.25,seed=7", "sent:act=drop,chance=0.25,seed=7");
	setlocale(LC_ALL, "C");
	listed("received:rnr=14", "received:rnr=14");
	listed("received:nak=remote-access", "received:nak=remote-access");
	ktap_eq(cairndv_fault_clear(ctx), 0);
	ktap_eq(fake.faults.num, 0);
	close_qp();
}

static const struct ktap_test tests[] = {
	KTAP(each_opcode), KTAP(each_act), KTAP(each_option),
};

KTAP_MAIN(tests)
