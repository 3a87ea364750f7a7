/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The meaning of bytes and names in PostgreSQL: the messages of physical streaming replication,
 * positions in the write-ahead log (WAL), its segments, and the histories of timelines.
 * Sources: PostgreSQL 15, chapters 55.4 "Streaming Replication Protocol" and 26.3.5
 * "Timelines".
 */
#ifndef PGWAL_WIRE_H
#define PGWAL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PGWAL_LSN_TEXT		24	/* bytes of "FFFFFFFF/FFFFFFFF", and more */
#define PGWAL_NAME_TEXT		64	/* bytes of a file name */
#define PGWAL_STATUS_BYTES	34
/* Segments have a power of two of bytes, from 1 MiB to 1 GiB. */
#define PGWAL_MIN_SEGMENT	(1u << 20)
#define PGWAL_MAX_SEGMENT	(1u << 30)

enum pgwal_kind {
	PGWAL_DATA,
	PGWAL_KEEPALIVE,
};

struct pgwal_message {
	enum pgwal_kind kind;
	uint64_t start;		/* position of the first byte; PGWAL_DATA */
	uint64_t end;		/* of the server's log */
	bool reply;		/* it wants a status at once; PGWAL_KEEPALIVE */
	const uint8_t *bytes;	/* PGWAL_DATA */
	size_t length;
};

/* @message->bytes points into @bytes. Return: 0; EPROTO: it is no such message. */
int pgwal_message_parse(struct pgwal_message *message, const void *bytes,
			size_t length);

/*
 * A status update: all before @flushed is durable. @now: microseconds since 1970;
 * @reply: the server shall answer at once
 */
void pgwal_status_make(uint8_t status[PGWAL_STATUS_BYTES], uint64_t flushed,
		       uint64_t now, bool reply);

/* "16/B374D848". Return: false for anything else. */
bool pgwal_lsn_parse(const char *text, uint64_t *lsn);
/* Return: @text */
const char *pgwal_lsn_format(char text[PGWAL_LSN_TEXT], uint64_t lsn);

bool pgwal_segment_is_valid(uint64_t bytes);
/* The file of @lsn in segments of @bytes. */
void pgwal_name_format(char name[PGWAL_NAME_TEXT], uint32_t timeline,
		       uint64_t lsn, uint32_t bytes);
/*
 * The first position of a file. @bytes: of a segment
 * Return: false: it is not the name of a whole segment.
 */
bool pgwal_name_parse(const char *name, uint32_t bytes, uint32_t *timeline,
		      uint64_t *lsn);
/* "00000002.history". Return: false for anything else. */
bool pgwal_name_is_history(const char *name, uint32_t *timeline);

/*
 * @text, @length bytes: the history of some timeline
 * @timeline: one that it descends from
 * @end: where that one ended
 * @next: the one that followed; 0: the one whose history it is
 * Return: false: @timeline is not there.
 */
bool pgwal_history_find(const char *text, size_t length, uint32_t timeline,
			uint64_t *end, uint32_t *next);

#endif /* PGWAL_WIRE_H */
