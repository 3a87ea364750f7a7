// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <string.h>

#include "log_format.h"

/* The CRC of Ethernet, a bit at a time: fast enough here. */
static uint32_t crc_add(uint32_t crc, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	while (bytes--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return crc;
}

static uint32_t record_crc(const struct log_record *record, const void *data)
{
	struct log_record head = *record;
	uint32_t crc;

	head.crc = 0;
	crc = crc_add(UINT32_MAX, &head, sizeof(head));
	return ~crc_add(crc, data, record->length);
}

size_t log_record_size(uint32_t length)
{
	return (sizeof(struct log_record) + length + 7) & ~(size_t)7;
}

void log_tail_init(struct log_tail *tail)
{
	memset(tail, 0, sizeof(*tail));
	tail->seq = 1;
}

static void tail_move(struct log_tail *tail, const struct log_record *record)
{
	tail->offset += log_record_size(record->length);
	tail->previous = record->crc;
	tail->seq++;
}

void log_record_make(struct log_record *record, struct log_tail *tail,
		     const void *data, uint32_t length)
{
	memset(record, 0, log_record_size(length));
	record->magic = LOG_MAGIC;
	record->length = length;
	record->seq = tail->seq;
	record->previous = tail->previous;
	memcpy(record + 1, data, length);
	record->crc = record_crc(record, record + 1);
	tail_move(tail, record);
}

/* The memory may hold anything. */
const struct log_record *log_record_next(const void *log, size_t size,
					 struct log_tail *tail)
{
	const struct log_record *record;

	if (tail->offset > size || size - tail->offset < sizeof(*record))
		return NULL;
	record = (const void *)((const uint8_t *)log + tail->offset);
	if (record->magic != LOG_MAGIC || record->length > LOG_MAX_RECORD ||
	    log_record_size(record->length) > size - tail->offset)
		return NULL;
	if (record->seq != tail->seq || record->previous != tail->previous ||
	    record->crc != record_crc(record, record + 1))
		return NULL;
	tail_move(tail, record);
	return record;
}
