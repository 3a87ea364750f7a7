// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log_format.h"

_Static_assert(sizeof(struct log_header) == 80, "part of the format");
_Static_assert(sizeof(struct log_mark) == 80, "part of the format");
_Static_assert(sizeof(struct log_record) == 56, "part of the format");

#define CRC64_POLY	0xc96c5795d7870f42u	/* ECMA-182, reflected */

/* log_crc_table[i][b]: the contribution of byte b, i bytes before the end */
static uint64_t log_crc_table[8][256];

static __attribute__((constructor)) void log_crc_init(void)
{
	for (unsigned int b = 0; b < 256; b++) {
		uint64_t crc = b;

		for (int i = 0; i < 8; i++)
			crc = (crc >> 1) ^ (crc & 1 ? CRC64_POLY : 0);
		log_crc_table[0][b] = crc;
	}
	for (int i = 1; i < 8; i++)
		for (unsigned int b = 0; b < 256; b++) {
			uint64_t crc = log_crc_table[i - 1][b];

			log_crc_table[i][b] = log_crc_table[0][crc & 0xff] ^
					      (crc >> 8);
		}
}

static uint64_t log_crc_add(uint64_t crc, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	for (; bytes >= 8; bytes -= 8, p += 8) {
		uint64_t next = 0;

		for (int i = 0; i < 8; i++)
			next ^= log_crc_table[7 - i][p[i] ^
						     (crc >> 8 * i & 0xff)];
		crc = next;
	}
	while (bytes--)
		crc = (crc >> 8) ^ log_crc_table[0][(crc ^ *p++) & 0xff];
	return crc;
}

uint64_t log_seed(const struct log_id *id)
{
	uint64_t crc = ~log_crc_add(UINT64_MAX, id, sizeof(*id));

	return crc ? crc : 1;	/* nothing that was never written fits */
}

static uint64_t log_header_crc(const struct log_header *header)
{
	return ~log_crc_add(UINT64_MAX, header,
			    offsetof(struct log_header, crc));
}

void log_header_seal(struct log_header *header)
{
	header->magic = LOG_MAGIC;
	header->version = LOG_VERSION;
	header->crc = log_header_crc(header);
}

uint64_t log_header_offset(uint64_t generation)
{
	return generation % 2 * LOG_BLOCK;
}

uint64_t log_mark_offset(uint64_t generation)
{
	return LOG_MARK + generation % 2 * LOG_BLOCK;
}

uint32_t log_header_version(const void *log)
{
	struct log_header header;
	uint32_t version = 0;

	for (uint64_t i = 0; i < 2; i++) {
		memcpy(&header, (const uint8_t *)log + log_header_offset(i),
		       sizeof(header));
		if (header.magic == LOG_MAGIC && header.version > version)
			version = header.version;
	}
	return version;
}

static bool log_header_read(const void *log, int slot,
			    struct log_header *header)
{
	memcpy(header, (const uint8_t *)log + slot * LOG_BLOCK,
	       sizeof(*header));
	return header->magic == LOG_MAGIC &&
	       header->version == LOG_VERSION &&
	       header->crc == log_header_crc(header) &&
	       header->size >= LOG_START && header->shift <= LOG_MAX_SHIFT;
}

static enum log_state log_blank(const void *log, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (((const uint8_t *)log)[i])
			return LOG_DAMAGED;
	return LOG_EMPTY;
}

enum log_state log_header_find(const void *log, struct log_header *header)
{
	struct log_header slots[2];
	bool good[2];

	good[0] = log_header_read(log, 0, &slots[0]);
	good[1] = log_header_read(log, 1, &slots[1]);
	if (good[0] || good[1]) {
		*header = slots[good[1] && (!good[0] || slots[1].generation >
						slots[0].generation)];
		return LOG_READY;
	}
	return log_blank(log, 0, LOG_START);
}

static uint64_t log_mark_crc(const struct log_mark *mark)
{
	return ~log_crc_add(UINT64_MAX, mark, offsetof(struct log_mark, crc));
}

void log_mark_seal(struct log_mark *mark, const struct log_id *id)
{
	mark->magic = LOG_MARK_MAGIC;
	mark->seed = log_seed(id);
	mark->crc = log_mark_crc(mark);
}

enum log_state log_mark_find(const void *log, const struct log_header *header,
			     struct log_mark *mark)
{
	struct log_mark slot;
	bool found = false;

	for (uint64_t i = 0; i < 2; i++) {
		memcpy(&slot, (const uint8_t *)log + log_mark_offset(i),
		       sizeof(slot));
		if (slot.magic != LOG_MARK_MAGIC ||
		    slot.crc != log_mark_crc(&slot) ||
		    slot.seed != log_seed(&header->id) ||
		    !log_config_is_valid(&slot.config))
			continue;
		if (!found || slot.generation > mark->generation)
			*mark = slot;
		found = true;
	}
	return found ? LOG_READY : log_blank(log, LOG_MARK, LOG_START);
}

uint64_t log_align(uint32_t shift)
{
	return shift ? 1u << shift : LOG_ALIGN;
}

void log_tail_init(struct log_tail *tail, const struct log_header *header)
{
	*tail = (struct log_tail){
		.offset = LOG_START,
		.seq = 1,
		.previous = log_seed(&header->id),
		.align = log_align(header->shift),
	};
}

bool log_tail_equal(const struct log_tail *a, const struct log_tail *b)
{
	return a->offset == b->offset && a->seq == b->seq &&
	       a->previous == b->previous;
}

size_t log_record_size(uint32_t length)
{
	return (sizeof(struct log_record) + length + 7) & ~(size_t)7;
}

static uint64_t log_record_crc(const struct log_record *record, uint32_t length)
{
	uint64_t crc = log_crc_add(UINT64_MAX, record,
				   offsetof(struct log_record, crc));

	return ~log_crc_add(crc, record + 1, length);
}

static void log_tail_move(struct log_tail *tail,
			  const struct log_record *record, uint32_t length)
{
	tail->offset += log_record_size(length);
	tail->offset += tail->align - 1;
	tail->offset -= tail->offset % tail->align;
	tail->previous = record->crc;
	tail->epoch = record->epoch;
	tail->seq++;
}

void log_record_make(struct log_record *record, struct log_tail *tail,
		     uint64_t client, uint64_t number, const void *data,
		     uint32_t length)
{
	memset(record, 0, log_record_size(length));
	record->magic = LOG_RECORD;
	record->length = length;
	record->seq = tail->seq;
	record->epoch = tail->epoch;
	record->previous = tail->previous;
	record->client = client;
	record->number = number;
	memcpy(record + 1, data, length);
	record->crc = log_record_crc(record, length);
	log_tail_move(tail, record, length);
}

/* The bytes may have any contents, and a peer may change them meanwhile: the length that is
 * checked, *@data, is the one that is used.
 */
static const struct log_record *log_record_take(const void *bytes, uint64_t base,
						uint64_t length, struct log_tail *tail,
						uint32_t *data)
{
	uint64_t at = tail->offset - base;
	const struct log_record *record;
	uint32_t size;

	if (tail->offset < base || tail->offset % 8 || at > length ||
	    length - at < sizeof(*record))
		return NULL;
	record = (const void *)((const uint8_t *)bytes + at);
	size = __atomic_load_n(&record->length, __ATOMIC_RELAXED);
	if (record->magic != LOG_RECORD ||
	    size > LOG_MAX_RECORD - sizeof(*record) ||
	    log_record_size(size) > length - at)
		return NULL;
	if (record->seq != tail->seq || record->epoch < tail->epoch ||
	    record->previous != tail->previous ||
	    record->crc != log_record_crc(record, size))
		return NULL;
	log_tail_move(tail, record, size);
	*data = size;
	return record;
}

const struct log_record *log_record_next(const void *bytes, uint64_t base,
					 uint64_t length, struct log_tail *tail)
{
	uint32_t data;

	return log_record_take(bytes, base, length, tail, &data);
}

/* ---- reading ---- */

struct log_client {
	uint64_t client;
	uint64_t number;	/* the last one; 0: a free slot */
};

int log_reader_open(struct log_reader *reader, const void *log, uint64_t size)
{
	memset(reader, 0, sizeof(*reader));
	if (size < LOG_START ||
	    log_header_find(log, &reader->header) != LOG_READY)
		return EINVAL;
	if (reader->header.size > size)
		return EFBIG;
	reader->slots = 16;
	reader->clients = calloc(reader->slots, sizeof(*reader->clients));
	if (!reader->clients)
		return ENOMEM;
	reader->log = log;
	reader->size = reader->header.size;
	log_tail_init(&reader->tail, &reader->header);
	return 0;
}

void log_reader_close(struct log_reader *reader)
{
	free(reader->clients);
	reader->clients = NULL;
}

static struct log_client *log_reader_slot(struct log_client *clients,
					  size_t slots, uint64_t client)
{
	size_t i = (client * 0x9e3779b97f4a7c15u >> 32) & (slots - 1);

	while (clients[i].number && clients[i].client != client)
		i = (i + 1) & (slots - 1);
	return &clients[i];
}

static bool log_reader_grow(struct log_reader *reader)
{
	struct log_client *more, *old;

	more = calloc(reader->slots, 2 * sizeof(*more));
	if (!more)
		return false;
	for (size_t i = 0; i < reader->slots; i++) {
		old = &reader->clients[i];
		if (old->number)
			*log_reader_slot(more, 2 * reader->slots,
					 old->client) = *old;
	}
	free(reader->clients);
	reader->clients = more;
	reader->slots *= 2;
	return true;
}

/* Each client's numbers rise, except for records that it wrote again. */
static bool log_reader_is_new(struct log_reader *reader,
			      const struct log_record *record)
{
	struct log_client *slot;

	slot = log_reader_slot(reader->clients, reader->slots, record->client);
	if (record->number <= slot->number)
		return false;
	reader->used += !slot->number;
	slot->client = record->client;
	slot->number = record->number;
	return true;
}

const struct log_record *log_reader_next(struct log_reader *reader)
{
	const struct log_record *record;

	for (;;) {
		if (2 * reader->used >= reader->slots &&
		    !log_reader_grow(reader)) {
			reader->error = ENOMEM;
			return NULL;
		}
		record = log_record_take(reader->log, 0, reader->size,
					 &reader->tail, &reader->length);
		if (!record)
			return NULL;
		if (log_reader_is_new(reader, record)) {
			reader->records++;
			return record;
		}
		reader->duplicates++;
	}
}
