/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The layout of a log on its medium. Four blocks come first: two slots for the header,
 * which the target writes, and two for the mark, which a writer writes. Each is written
 * into the slot that the current one does not use, so a crash leaves one of them whole.
 * Records follow, one behind the other, each on an 8-byte boundary, or with blocks of
 * its own.
 *
 * The header has the epoch that the target has promised. The mark has the members of the
 * log, and the last epoch in which a writer made this copy equal to the others. The copy
 * with the latest mark has all reported records; if two have the same mark, it is the
 * longer one. A copy without a mark has not been finished.
 *
 * A record is believed when its checksum is right, its number is the next one, it
 * names the checksum of the record before it, and its epoch is not smaller. The
 * first record names a checksum of the log's identity. The first record that is
 * not believed ends the log. So it does not matter in which order the bytes became
 * durable, nor which bytes an older epoch or another log left behind the end. The format
 * does not need words to be written as a whole.
 *
 * Numbers have the byte order of the machine; on a machine with another one the
 * header is not recognised.
 */
#ifndef LOG_FORMAT_H
#define LOG_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log_config.h"

#define LOG_MAGIC	0x676f6c6e72696163u	/* "cairnlog" */
#define LOG_VERSION	3
#define LOG_MARK_MAGIC	0x6b72616d6e726163u	/* "carnmark" */
#define LOG_RECORD	0x6e726163u		/* "carn" */
#define LOG_MAX_RECORD	65536u			/* bytes, with header */

/* A slot has a block of its own: a disk may damage the block that it writes. */
#define LOG_BLOCK	4096u
#define LOG_MARK	(2 * LOG_BLOCK)		/* offset of the marks */
#define LOG_START	(4 * LOG_BLOCK)		/* offset of the first record */
#define LOG_MIN_SIZE	(LOG_START + LOG_MAX_RECORD)

struct log_id {
	uint8_t bytes[16];	/* random */
};

#define LOG_ALIGN	8u			/* of records */
#define LOG_MAX_SHIFT	16u			/* blocks of 64 KiB */

struct log_header {
	uint64_t magic;
	uint32_t version;
	uint32_t shift;		/* records have blocks of so many bits; 0: none */
	struct log_id id;
	uint64_t epoch;		/* no writer of a smaller one is let in, ... */
	uint64_t client;	/* ... and of this one only that client */
	uint64_t generation;	/* the slot with the larger one is valid */
	uint64_t size;		/* bytes of the log, headers included */
	uint32_t member;	/* this copy's number */
	uint32_t zero;
	uint64_t crc;		/* of the fields above */
};

struct log_mark {
	uint64_t magic;
	uint64_t seed;		/* of the log's identity */
	uint32_t generation;	/* the slot with the larger one is valid */
	uint32_t zero;
	uint64_t epoch;		/* of the writer that made the copies equal */
	uint64_t base;		/* this copy had all records before that number */
	struct log_config config;
	uint64_t crc;		/* of the fields above */
};

struct log_record {
	uint32_t magic;
	uint32_t length;	/* bytes of data that follow */
	uint64_t seq;		/* from 1 */
	uint64_t epoch;		/* of its writer */
	uint64_t previous;	/* crc of the record before */
	uint64_t client;	/* its writer's client; with ... */
	uint64_t number;	/* ... the client's own number of it, from 1 */
	uint64_t crc;		/* of the fields above and the data */
};

/* The place of the next record. */
struct log_tail {
	uint64_t offset;
	uint64_t seq;
	uint64_t epoch;		/* of the last record, or 0 */
	uint64_t previous;	/* its crc, or the log's seed */
	uint64_t align;		/* of the next one */
};

enum log_state {
	LOG_EMPTY,	/* zeros where the header would be */
	LOG_READY,
	LOG_DAMAGED,	/* other contents than a log, or an incomplete header */
	LOG_SHORT,	/* a copy that has lost records */
};

/* The checksum of an identity: the first record and the mark contain it. */
uint64_t log_seed(const struct log_id *id);

void log_header_seal(struct log_header *header);
/* Looks for the header in the first LOG_START bytes of a log. */
enum log_state log_header_find(const void *log, struct log_header *header);
/*
 * The version that a header there names, whole or not: it tells the log of another
 * version of the program from other contents. 0: there is no header.
 */
uint32_t log_header_version(const void *log);
/* The offset of the header of that generation. */
uint64_t log_header_offset(uint64_t generation);

void log_mark_seal(struct log_mark *mark, const struct log_id *id);
/*
 * The mark of a copy that is finished: LOG_READY. LOG_EMPTY: none was ever written;
 * LOG_DAMAGED: none is whole.
 */
enum log_state log_mark_find(const void *log, const struct log_header *header,
			     struct log_mark *mark);
/* Where the mark of that generation goes. */
uint64_t log_mark_offset(uint64_t generation);

/* The alignment of records in a log whose header has that shift. */
uint64_t log_align(uint32_t shift);
void log_tail_init(struct log_tail *tail, const struct log_header *header);
bool log_tail_equal(const struct log_tail *a, const struct log_tail *b);

/* Bytes that a record with so much data takes. */
size_t log_record_size(uint32_t length);
/* Makes the record at @tail in the epoch @tail->epoch, and moves @tail behind it. */
void log_record_make(struct log_record *record, struct log_tail *tail,
		     uint64_t client, uint64_t number, const void *data,
		     uint32_t length);
/*
 * The record at @tail, or NULL. Moves @tail.
 * @bytes: the log's bytes from offset @base, @length of them
 */
const struct log_record *log_record_next(const void *bytes, uint64_t base,
					 uint64_t length, struct log_tail *tail);

/*
 * Reads a log from its beginning and leaves out records that a client wrote again after
 * it had lost its connection.
 */
struct log_reader {
	const void *log;
	uint64_t size;
	struct log_header header;
	struct log_tail tail;
	uint32_t length;	/* of the last record's data: a peer may change its own */
	uint64_t records;	/* without those left out */
	uint64_t duplicates;
	struct log_client *clients;	/* hash table */
	size_t slots, used;
	int error;	/* the reason why there is no next record; 0: the log ends */
};

/* ENOMEM, EINVAL when @log is no log, EFBIG when it is longer than @size. */
int log_reader_open(struct log_reader *reader, const void *log, uint64_t size);
const struct log_record *log_reader_next(struct log_reader *reader);
void log_reader_close(struct log_reader *reader);

#endif /* LOG_FORMAT_H */
