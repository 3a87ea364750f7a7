// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The parts of cairn_log that the Python module calls: a writer's session, and the
 * reader of a medium. Functions that return int return 0 or a positive errno.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "log_medium.h"
#include "log_python.h"
#include "log_writer.h"

struct log_python {
	struct log_writer writer;
	struct log_link_ops ops;
	char *names[LOG_MAX_TARGETS];
	uint64_t posted, durable;
};

static uint64_t log_python_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A library prints nothing; log_python_state() says how many are left. */
static void log_python_lost(void *link, int err, uint32_t status)
{
	(void)link;
	(void)err;
	(void)status;
}

/* The session keeps the strings: copy them. */
static int log_python_target(struct log_python *log, int i, const char *address,
			     const char *port)
{
	size_t length = strlen(address) + 1, all = 2 * (length + strlen(port) + 1);
	char *name = malloc(all);

	if (!name)
		return ENOMEM;
	log->names[i] = name;
	memcpy(name, address, length);
	strcpy(name + length, port);
	log->writer.links[i].address = name;
	log->writer.links[i].port = name + length;
	name += length + strlen(port) + 1;
	sprintf(name, "%s:%s", address, port);
	log->writer.session.peers[i].name = name;
	log->writer.session.num_peers = i + 1;
	return 0;
}

static int log_python_setup(struct log_python *log,
			    const struct log_python_options *options)
{
	struct log_session *session = &log->writer.session;
	int err = 0;

	if (options->num < 1 || options->num > LOG_MAX_TARGETS ||
	    options->largest < 1 || options->quorum > options->num ||
	    options->largest > LOG_MAX_RECORD - sizeof(struct log_record))
		return EINVAL;
	session->flags = options->flags;
	session->quorum = options->quorum;
	session->deadline = options->deadline_ms;
	session->emulated = options->emulated;
	for (uint32_t i = 0; i < options->num && !err; i++)
		err = log_python_target(log, (int)i, options->addresses[i],
					options->ports[i]);
	log->writer.length = options->largest;
	if (!err)
		err = log_writer_init(&log->writer);
	log->ops = log_link_ops;
	log->ops.lost = log_python_lost;
	session->ops = &log->ops;
	return err;
}

void log_python_close(struct log_python *log)
{
	log_writer_close(&log->writer);
	log_writer_free(&log->writer);
	for (int i = 0; i < log->writer.session.num_peers; i++)
		free(log->names[i]);
	free(log);
}

int log_python_open(const struct log_python_options *options,
		    struct log_python **result, char *text, size_t length)
{
	struct log_python *log = calloc(1, sizeof(*log));
	int err = ENOMEM;

	if (log)
		err = log_python_setup(log, options);
	if (log && !err)
		err = log_session_open(&log->writer.session);
	if (!err) {
		*result = log;
		return 0;
	}
	snprintf(text, length, "%s", log ? log->writer.session.error : "");
	if (log)
		log_python_close(log);
	return err;
}

int log_python_poll(struct log_python *log)
{
	return log_session_poll(&log->writer.session, &log->durable);
}

int log_python_post(struct log_python *log, const void *data, uint32_t length,
		    uint64_t *seq)
{
	uint64_t number = log->posted + 1;
	struct log_record *record = log_writer_record(&log->writer, number);
	int err;

	if (length > log->writer.length)
		return EMSGSIZE;
	/* slower targets still read records that are durable at enough others */
	if (number > log_session_released(&log->writer.session) + LOG_LINK_WINDOW)
		return EAGAIN;
	err = log_session_append(&log->writer.session, record, number, data, length);
	if (err)
		return err;
	log->posted++;
	*seq = log->writer.session.first + number - 1;
	return 0;
}

int log_python_wait(struct log_python *log, uint64_t seq, uint32_t ms)
{
	uint64_t until = log_python_now() + ms;
	int err = log_python_poll(log);

	while (!err && log->writer.session.first + log->durable <= seq) {
		if (log_python_now() >= until)
			return EAGAIN;
		sched_yield();
		err = log_python_poll(log);
	}
	return err && log->writer.session.first + log->durable <= seq ? err : 0;
}

void log_python_state(const struct log_python *log,
		      struct log_python_state *state)
{
	const struct log_session *session = &log->writer.session;

	*state = (struct log_python_state){
		.next = session->first + log->posted,
		.durable = session->first + log->durable - 1,
		.left = (uint32_t)session->left,
		.quorum = session->group.quorum,
		.error = session->error,
	};
}

/* ---- reading ---- */

struct log_python_reader {
	struct log_medium medium;
	struct log_reader reader;
};

/* A copy that a writer has not finished, or that has lost records, is no log to read. */
static int log_python_whole(const struct log_python_reader *self)
{
	struct log_mark mark;

	return log_mark_find(self->medium.log, &self->reader.header, &mark) ==
	       LOG_READY ? 0 : EUCLEAN;
}

int log_python_reader_open(const char *name, uint64_t size,
			   struct log_python_reader **result)
{
	struct log_python_reader *self = calloc(1, sizeof(*self));
	int err;

	if (!self)
		return ENOMEM;
	err = log_medium_open(&self->medium, name, size, false);
	if (err) {
		free(self);
		return err;
	}
	err = log_reader_open(&self->reader, self->medium.log,
			      self->medium.size);
	if (!err)
		err = log_python_whole(self);
	if (err)
		log_python_reader_close(self);
	else
		*result = self;
	return err;
}

int log_python_reader_next(struct log_python_reader *self,
			   struct log_python_record *record)
{
	const struct log_record *found = log_reader_next(&self->reader);

	if (!found)
		return self->reader.error ? self->reader.error : ENODATA;
	*record = (struct log_python_record){
		.seq = found->seq,
		.epoch = found->epoch,
		.data = found + 1,
		.length = self->reader.length,
	};
	return 0;
}

uint64_t log_python_reader_lost(const struct log_python_reader *self)
{
	struct log_mark mark;

	if (log_mark_find(self->medium.log, &self->reader.header, &mark) !=
	    LOG_READY || self->reader.tail.seq >= mark.base)
		return 0;
	return mark.base - self->reader.tail.seq;
}

void log_python_reader_close(struct log_python_reader *self)
{
	log_reader_close(&self->reader);
	log_medium_close(&self->medium);
	free(self);
}
