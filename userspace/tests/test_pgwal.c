// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* PostgreSQL's messages and names, and how a log holds WAL. */
#include <errno.h>
#include <string.h>

#include "ktap.h"
#include "pgwal_log.h"

#define MIB		(1u << 20)
#define SYSTEM		7000000000000000001u

/* ---- messages ---- */

static void put(uint8_t *bytes, uint64_t value)
{
	for (int i = 7; i >= 0; i--, value >>= 8)
		bytes[i] = (uint8_t)value;
}

static uint64_t get(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void data_message(void)
{
	struct pgwal_message message;
	uint8_t bytes[25 + 300] = "w";

	put(bytes + 1, 0x1600000028);
	put(bytes + 9, 0x16b374d848);
	for (size_t length = 25; length <= sizeof(bytes); length++) {
		ktap_eq(pgwal_message_parse(&message, bytes, length), 0);
		ktap_eq(message.kind, PGWAL_DATA);
		ktap_eq(message.start, 0x1600000028);
		ktap_eq(message.end, 0x16b374d848);
		ktap_ok(message.bytes == bytes + 25);
		ktap_eq(message.length, length - 25);
		ktap_ok(!message.reply);
	}
	/* its last byte would have no position */
	put(bytes + 1, UINT64_MAX - 299);
	ktap_eq(pgwal_message_parse(&message, bytes, sizeof(bytes)), EPROTO);
}

static void keepalive(void)
{
	struct pgwal_message message;
	uint8_t bytes[19] = "k";

	put(bytes + 1, 0x16b374d848);
	for (uint8_t reply = 0; reply < 2; reply++) {
		bytes[17] = reply;
		ktap_eq(pgwal_message_parse(&message, bytes, 18), 0);
		ktap_eq(message.kind, PGWAL_KEEPALIVE);
		ktap_eq(message.end, 0x16b374d848);
		ktap_eq(message.reply, reply);
		ktap_eq(message.length, 0);
	}
	ktap_eq(pgwal_message_parse(&message, bytes, 19), EPROTO);
}

static void cut_messages(void)
{
	struct pgwal_message message;
	uint8_t bytes[64] = {};

	for (int type = 0; type < 256; type++)
		for (size_t length = 0; length < sizeof(bytes); length++) {
			bool good = (type == 'w' && length >= 25) ||
				    (type == 'k' && length == 18);

			bytes[0] = (uint8_t)type;
			ktap_eq(pgwal_message_parse(&message, bytes, length),
				good ? 0 : EPROTO);
		}
}

static void status(void)
{
	uint8_t bytes[PGWAL_STATUS_BYTES];

	/* 2000-01-01 00:00:01 */
	pgwal_status_make(bytes, 0x16b374d848, 946684801000000, false);
	ktap_eq(bytes[0], 'r');
	ktap_eq(get(bytes + 1), 0x16b374d848);
	ktap_eq(get(bytes + 9), 0x16b374d848);
	ktap_eq(get(bytes + 17), 0);
	ktap_eq(get(bytes + 25), 1000000);
	ktap_eq(bytes[33], 0);
	pgwal_status_make(bytes, 1, 946684801000000, true);
	ktap_eq(bytes[33], 1);
}

/* ---- positions, segments, timelines ---- */

static void positions(void)
{
	static const char *const wrong[] = {
		"", "/", "1", "1/", "/1", "1/2/", "1/2 ", "x/1", "1/g", "-1/1",
		"123456789/0", "0/123456789", " 1/2",
	};
	char text[PGWAL_LSN_TEXT];
	uint64_t lsn;

	ktap_ok(pgwal_lsn_parse("16/B374D848", &lsn));
	ktap_eq(lsn, 0x16b374d848);
	ktap_ok(pgwal_lsn_parse("ffffffff/FFFFFFFF", &lsn));
	ktap_eq(lsn, UINT64_MAX);
	ktap_ok(!strcmp(pgwal_lsn_format(text, lsn), "FFFFFFFF/FFFFFFFF"));
	ktap_ok(!strcmp(pgwal_lsn_format(text, 0x1600000001), "16/1"));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		ktap_ok(!pgwal_lsn_parse(wrong[i], &lsn));
}

static void segments(void)
{
	char name[PGWAL_NAME_TEXT];
	uint32_t timeline;
	uint64_t lsn;

	/* that of pg_walfile_name('16/B374D848') with 16 MiB */
	pgwal_name_format(name, 1, 0x16b374d848, 16 * MIB);
	ktap_ok(!strcmp(name, "0000000100000016000000B3"));
	ktap_ok(pgwal_name_parse(name, 16 * MIB, &timeline, &lsn));
	ktap_eq(timeline, 1);
	ktap_eq(lsn, 0x16b3000000);
	for (uint32_t size = MIB; size <= PGWAL_MAX_SEGMENT; size *= 2)
		for (int i = 0; i < 1000; i++) {
			uint64_t some = ktap_rand(), floor = some - some % size;

			pgwal_name_format(name, 0xabc, some, size);
			ktap_ok(pgwal_name_parse(name, size, &timeline, &lsn));
			ktap_eq(timeline, 0xabc);
			ktap_eq(lsn, floor);
		}
}

static void other_names(void)
{
	static const char *const wrong[] = {
		"", "000000010000000000000001.partial", "00000001000000000000001",
		"00000001000000000000000g", "000000000000000000000001",
		"000000010000000000000100",	/* with 16 MiB: too large */
		"00000002.history",
		"000000010000000000000002.00000028.backup",
	};
	uint32_t timeline;
	uint64_t lsn;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		ktap_ok(!pgwal_name_parse(wrong[i], 16 * MIB, &timeline, &lsn));
	ktap_ok(pgwal_name_is_history("0000000A.history", &timeline));
	ktap_eq(timeline, 10);
	ktap_ok(!pgwal_name_is_history("00000000.history", &timeline));
	ktap_ok(!pgwal_name_is_history("0000002.history", &timeline));
	ktap_ok(!pgwal_name_is_history("00000002.historyx", &timeline));
}

static const char history[] =
	"1\t0/3000158\tno recovery target specified\n"
	"\n"
	"# a comment\n"
	"2\t0/50000A0\tbefore 2026-11-26 12:00:00\n";

static void histories(void)
{
	static const char skips[] = "1\t0/3000158\tno reason\n3\t0/50000A0\tno reason\n";
	uint64_t end;
	uint32_t next;

	ktap_ok(pgwal_history_find(history, strlen(history), 1, &end, &next));
	ktap_eq(end, 0x3000158);
	ktap_eq(next, 2);
	ktap_ok(pgwal_history_find(history, strlen(history), 2, &end, &next));
	ktap_eq(end, 0x50000a0);
	ktap_eq(next, 0);
	ktap_ok(!pgwal_history_find(history, strlen(history), 3, &end, &next));
	ktap_ok(!pgwal_history_find("", 0, 1, &end, &next));
	/* it does not descend from one that it leaves out */
	ktap_ok(!pgwal_history_find(skips, strlen(skips), 2, &end, &next));
	/* every piece of it, without a byte behind */
	for (size_t length = 0; length < strlen(history); length++) {
		char *piece = malloc(length + 1);

		memcpy(piece, history, length);
		pgwal_history_find(piece, length, 2, &end, &next);
		free(piece);
	}
}

/* ---- the log ---- */

static uint64_t words[LOG_MAX_RECORD / 8];

static const struct log_record *entry(uint32_t timeline, uint64_t lsn,
				      uint32_t length)
{
	struct log_record *record = (void *)words;
	struct pgwal_entry *head = (void *)(record + 1);

	memset(words, 0, sizeof(words));
	record->length = (uint32_t)sizeof(*head) + length;
	record->seq = 5;
	*head = (struct pgwal_entry){
		.magic = PGWAL_ENTRY_MAGIC, .kind = PGWAL_ENTRY_WAL,
		.system = SYSTEM, .lsn = lsn, .timeline = timeline,
		.segment = MIB,
	};
	return record;
}

static struct pgwal_entry *head_of(const struct log_record *record)
{
	return (void *)(uintptr_t)pgwal_entry_of(record);
}

static void pieces(void)
{
	struct pgwal_log log = {};
	const struct log_record *record;

	ktap_eq(pgwal_log_add(&log, entry(1, 3 * MIB, 1000)), 0);
	ktap_eq(pgwal_log_add(&log, entry(1, 3 * MIB + 1000, 24)), 0);
	ktap_eq(log.first, 3 * MIB);
	ktap_eq(log.end, 3 * MIB + 1024);
	/* a gap, and the same again */
	ktap_eq(pgwal_log_add(&log, entry(1, 3 * MIB + 1025, 24)), EBADMSG);
	ktap_eq(pgwal_log_add(&log, entry(1, 3 * MIB + 1000, 24)), EBADMSG);
	/* a timeline begins with a segment, and none comes again */
	ktap_eq(pgwal_log_add(&log, entry(2, 3 * MIB + 1024, 24)), EBADMSG);
	record = entry(2, 0, 10);
	head_of(record)->kind = PGWAL_ENTRY_HISTORY;
	ktap_eq(pgwal_log_add(&log, record), 0);
	ktap_eq(log.history, 2);
	ktap_eq(log.end, 3 * MIB + 1024);
	ktap_eq(pgwal_log_add(&log, entry(2, 3 * MIB, 24)), 0);
	ktap_eq(pgwal_log_add(&log, entry(1, 3 * MIB, 24)), EBADMSG);
	ktap_eq(log.timeline, 2);
	ktap_eq(log.end, 3 * MIB + 24);
}

static void foreign_records(void)
{
	struct pgwal_log log = {};
	const struct log_record *record;

	ktap_eq(pgwal_log_add(&log, entry(1, 3 * MIB, 8)), 0);
	record = entry(1, 3 * MIB + 8, 8);
	head_of(record)->system++;
	ktap_eq(pgwal_log_add(&log, record), EBADMSG);
	ktap_ok(strstr(log.error, "7000000000000000002"));
	record = entry(1, 3 * MIB + 8, 8);
	head_of(record)->kind = 9;
	ktap_eq(pgwal_log_add(&log, record), EBADMSG);
	record = entry(1, 3 * MIB + 8, 8);
	head_of(record)->segment = MIB + 1;
	ktap_ok(!pgwal_entry_of(record));
	record = entry(1, 3 * MIB + 8, 8);
	head_of(record)->magic++;
	ktap_eq(pgwal_log_add(&log, record), EBADMSG);
	ktap_ok(strstr(log.error, "another program"));
	words[0] = 0;
	((struct log_record *)words)->length = sizeof(struct pgwal_entry) - 1;
	ktap_ok(!pgwal_entry_of((void *)words));
}

/* ---- where to go on ---- */

static const struct pgwal_system server = {
	.id = SYSTEM, .restart = 5 * MIB + 77, .timeline = 1, .segment = MIB,
};

static void plan_begins(void)
{
	struct pgwal_system odd = server;
	struct pgwal_log log = {};
	struct pgwal_plan plan;

	ktap_eq(pgwal_log_plan(&log, &server, &plan), 0);
	ktap_eq(plan.timeline, 1);
	ktap_eq(plan.lsn, 5 * MIB);
	odd.segment = 3 * MIB;
	ktap_eq(pgwal_log_plan(&log, &odd, &plan), EINVAL);
	/* all before the beginning would be reported as flushed */
	odd = server;
	odd.restart = 0;
	ktap_eq(pgwal_log_plan(&log, &odd, &plan), EINVAL);
	ktap_ok(strstr(log.error, "drop the slot"));
	pgwal_log_add(&log, entry(1, 3 * MIB, 1000));
	ktap_eq(pgwal_log_plan(&log, &odd, &plan), 0);
}

static void plan_goes_on(void)
{
	struct pgwal_system other = server;
	struct pgwal_log log = {};
	struct pgwal_plan plan;

	pgwal_log_add(&log, entry(1, 3 * MIB, 1000));
	ktap_eq(pgwal_log_plan(&log, &server, &plan), 0);
	ktap_eq(plan.timeline, 1);
	ktap_eq(plan.lsn, 3 * MIB + 1000);
	other.id++;
	ktap_eq(pgwal_log_plan(&log, &other, &plan), EINVAL);
	ktap_ok(strstr(log.error, "another log"));
	other = server;
	other.segment = 16 * MIB;
	ktap_eq(pgwal_log_plan(&log, &other, &plan), EINVAL);
}

/* The server's history: timeline 1 up to 0/3000158, 2 up to 0/50000A0, then 3. */
static void plan_follows(void)
{
	struct pgwal_system third = server;
	struct pgwal_log log = {};
	struct pgwal_plan plan;

	third.timeline = 3;
	third.history = history;
	third.history_length = strlen(history);
	pgwal_log_add(&log, entry(1, 0x3000000, 0x157));
	/* the rest of timeline 1 first */
	ktap_eq(pgwal_log_plan(&log, &third, &plan), 0);
	ktap_eq(plan.timeline, 1);
	ktap_eq(plan.lsn, 0x3000157);
	pgwal_log_add(&log, entry(1, 0x3000157, 1));
	ktap_eq(pgwal_log_plan(&log, &third, &plan), 0);
	ktap_eq(plan.timeline, 2);
	ktap_eq(plan.lsn, 0x3000000);
	ktap_eq(plan.left, 0);
	/* the log has more than timeline 2 began with */
	pgwal_log_add(&log, entry(1, 0x3000158, 8));
	ktap_eq(pgwal_log_plan(&log, &third, &plan), 0);
	ktap_eq(plan.timeline, 2);
	ktap_eq(plan.left, 8);
	for (uint64_t lsn = 0x3000000; lsn < 0x5100000; lsn += 0x8000)
		pgwal_log_add(&log, entry(2, lsn, 0x8000));
	ktap_eq(pgwal_log_plan(&log, &third, &plan), 0);
	ktap_eq(plan.timeline, 3);
	ktap_eq(plan.lsn, 0x5000000);
}

static void plan_refuses(void)
{
	struct pgwal_system other = server;
	struct pgwal_log log = {};
	struct pgwal_plan plan;

	/* an old primary that has come back */
	pgwal_log_add(&log, entry(4, 3 * MIB, 1000));
	ktap_eq(pgwal_log_plan(&log, &server, &plan), EINVAL);
	ktap_ok(strstr(log.error, "timeline 1, the log on timeline 4"));
	/* one that went another way */
	other.timeline = 5;
	other.history = history;
	other.history_length = strlen(history);
	ktap_eq(pgwal_log_plan(&log, &other, &plan), EINVAL);
	ktap_ok(strstr(log.error, "does not descend"));
}

static const struct ktap_test tests[] = {
	KTAP(data_message),
	KTAP(keepalive),
	KTAP(cut_messages),
	KTAP(status),
	KTAP(positions),
	KTAP(segments),
	KTAP(other_names),
	KTAP(histories),
	KTAP(pieces),
	KTAP(foreign_records),
	KTAP(plan_begins),
	KTAP(plan_goes_on),
	KTAP(plan_follows),
	KTAP(plan_refuses),
};

KTAP_MAIN(tests)
