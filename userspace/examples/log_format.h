/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the log looks like in the memory of a target. Records lie one behind the
 * other from offset 0, each on an 8-byte boundary. A record is believed when its
 * checksum is right, its number is the next one and it names the checksum of the
 * record before it; the first that is not believed ends the log. So it does not
 * matter in which order the bytes of a record became durable, nor what an earlier
 * log left behind the end.
 */
#ifndef LOG_FORMAT_H
#define LOG_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define LOG_MAGIC	0x6e726163u	/* "carn" */
#define LOG_MAX_RECORD	65536u		/* bytes, with header */

struct log_record {
	uint32_t magic;
	uint32_t length;	/* bytes of data that follow */
	uint64_t seq;		/* from 1 */
	uint32_t previous;	/* crc of the record before, 0 for the first */
	uint32_t crc;		/* of all of it, with this field as 0 */
};

/* Where the next record goes. */
struct log_tail {
	uint64_t offset;
	uint64_t seq;
	uint32_t previous;
	uint32_t reserved;
};

/* Bytes that a record with so much data takes. */
size_t log_record_size(uint32_t length);
/* Writes a record at @tail into @record, and moves @tail behind it. */
void log_record_make(struct log_record *record, struct log_tail *tail,
		     const void *data, uint32_t length);
/* The record at @tail of a log of @size bytes, or NULL. Moves @tail. */
const struct log_record *log_record_next(const void *log, size_t size,
					 struct log_tail *tail);
void log_tail_init(struct log_tail *tail);

#endif /* LOG_FORMAT_H */
