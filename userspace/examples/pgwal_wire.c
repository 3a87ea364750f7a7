// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pgwal_wire.h"

#define DATA_HEADER	25	/* 'w', start, end, time */
#define KEEPALIVE	18	/* 'k', end, time, reply */
#define EPOCH_US	946684800000000u	/* 2000-01-01, in microseconds since 1970 */
#define LONGEST_LINE	1024

static uint64_t pgwal_wire_get(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return be64toh(value);
}

static void pgwal_wire_put(uint8_t *bytes, uint64_t value)
{
	value = htobe64(value);
	memcpy(bytes, &value, sizeof(value));
}

int pgwal_message_parse(struct pgwal_message *message, const void *bytes,
			size_t length)
{
	const uint8_t *at = bytes;

	*message = (struct pgwal_message){};
	if (length >= DATA_HEADER && at[0] == 'w') {
		message->kind = PGWAL_DATA;
		message->start = pgwal_wire_get(at + 1);
		message->end = pgwal_wire_get(at + 9);
		message->bytes = at + DATA_HEADER;
		message->length = length - DATA_HEADER;
		return message->start <= UINT64_MAX - message->length ? 0 :
									EPROTO;
	}
	if (length != KEEPALIVE || at[0] != 'k')
		return EPROTO;
	message->kind = PGWAL_KEEPALIVE;
	message->end = pgwal_wire_get(at + 1);
	message->reply = at[17];
	return 0;
}

/*
 * Written and flushed are the same here. Nothing is applied: the position 0 is none, so
 * transactions with synchronous_commit = remote_apply wait.
 */
void pgwal_status_make(uint8_t status[PGWAL_STATUS_BYTES], uint64_t flushed,
		       uint64_t now, bool reply)
{
	status[0] = 'r';
	pgwal_wire_put(status + 1, flushed);
	pgwal_wire_put(status + 9, flushed);
	pgwal_wire_put(status + 17, 0);
	pgwal_wire_put(status + 25, now - EPOCH_US);
	status[33] = reply;
}

static int pgwal_wire_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Up to 8 hexadecimal digits. Return: how many. */
static size_t pgwal_wire_hex(const char *text, uint32_t *value)
{
	size_t n = 0;

	*value = 0;
	while (n < 8 && pgwal_wire_digit(text[n]) >= 0)
		*value = *value << 4 | (uint32_t)pgwal_wire_digit(text[n++]);
	return n;
}

bool pgwal_lsn_parse(const char *text, uint64_t *lsn)
{
	uint32_t high, low;
	size_t n;

	n = pgwal_wire_hex(text, &high);
	if (!n || text[n] != '/')
		return false;
	text += n + 1;
	n = pgwal_wire_hex(text, &low);
	*lsn = (uint64_t)high << 32 | low;
	return n && !text[n];
}

const char *pgwal_lsn_format(char text[PGWAL_LSN_TEXT], uint64_t lsn)
{
	snprintf(text, PGWAL_LSN_TEXT, "%" PRIX32 "/%" PRIX32,
		 (uint32_t)(lsn >> 32), (uint32_t)lsn);
	return text;
}

bool pgwal_segment_is_valid(uint64_t bytes)
{
	return bytes >= PGWAL_MIN_SEGMENT && bytes <= PGWAL_MAX_SEGMENT &&
	       !(bytes & (bytes - 1));
}

/* A file's number has two halves: 2^32 / @bytes files make one step of the upper one. */
void pgwal_name_format(char name[PGWAL_NAME_TEXT], uint32_t timeline,
		       uint64_t lsn, uint32_t bytes)
{
	snprintf(name, PGWAL_NAME_TEXT, "%08" PRIX32 "%08" PRIX32 "%08" PRIX32,
		 timeline, (uint32_t)(lsn >> 32), (uint32_t)lsn / bytes);
}

bool pgwal_name_parse(const char *name, uint32_t bytes, uint32_t *timeline,
		      uint64_t *lsn)
{
	uint32_t high, low;

	if (strlen(name) != 24 || pgwal_wire_hex(name, timeline) != 8 ||
	    pgwal_wire_hex(name + 8, &high) != 8 ||
	    pgwal_wire_hex(name + 16, &low) != 8 || !*timeline ||
	    low > UINT32_MAX / bytes)
		return false;
	*lsn = (uint64_t)high << 32 | low * bytes;
	return true;
}

bool pgwal_name_is_history(const char *name, uint32_t *timeline)
{
	return pgwal_wire_hex(name, timeline) == 8 && *timeline &&
	       !strcmp(name + 8, ".history");
}

/* "1\t0/3000158\tno recovery target specified"; false for comments and others. */
static bool pgwal_history_line(const char *line, uint32_t *timeline,
			       uint64_t *end)
{
	unsigned int number;
	char lsn[PGWAL_LSN_TEXT];

	if (sscanf(line, "%u %23s", &number, lsn) != 2)
		return false;
	*timeline = number;
	return pgwal_lsn_parse(lsn, end);
}

bool pgwal_history_find(const char *text, size_t length, uint32_t timeline,
			uint64_t *end, uint32_t *next)
{
	const char *stop = text + length, *eol;
	char line[LONGEST_LINE];
	bool found = false;
	uint32_t number;
	uint64_t lsn;

	*next = 0;
	for (; text < stop; text = eol + 1) {
		eol = memchr(text, '\n', (size_t)(stop - text)) ?: stop;
		snprintf(line, sizeof(line), "%.*s", (int)(eol - text), text);
		if (!pgwal_history_line(line, &number, &lsn))
			continue;
		if (found) {
			*next = number;
			return true;
		}
		found = number == timeline;
		if (found)
			*end = lsn;
	}
	return found;
}
