/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A session with its targets and its memory: what the programs that append to a log share.
 */
#ifndef LOG_WRITER_H
#define LOG_WRITER_H

#include "log_link.h"

#define LOG_WRITER_PORT		"7471"
#define LOG_WRITER_DEADLINE	5000	/* ms, for a record at each target */

/* The values of options that are not given. */
#define LOG_WRITER_DEFAULTS	{					\
	.port = LOG_WRITER_PORT,					\
	.session = { .deadline = LOG_WRITER_DEADLINE },			\
}

struct log_writer {
	struct log_session session;
	struct log_nic nic;
	struct log_link links[LOG_MAX_TARGETS];
	uint32_t length;	/* the caller's: most bytes of data in a record */
	const char *port;	/* of the targets that name none; NULL: LOG_WRITER_PORT */
	uint8_t *buffers;	/* LOG_LINK_WINDOW of them, and one for copies */
	size_t stride;
};

/* The options that log_writer_option() takes, for getopt(). */
#define LOG_WRITER_OPTIONS	"a:cd:efp:q:t"

/* Return: whether @option is one of them, and its argument is understood; if not that is said.
 * The argument must stay.
 */
bool log_writer_option(struct log_writer *writer, int option, const char *argument);
/* Return: whether all of them fit each other; if not that is said. */
bool log_writer_options_fit(const struct log_writer *writer);

/* Return: 0 or an errno; log_writer_free() is needed in any case. */
int log_writer_init(struct log_writer *writer);
/* Ends the session and its connections; another one may be opened. */
void log_writer_close(struct log_writer *writer);
/* The end of log_writer_init(). */
void log_writer_free(struct log_writer *writer);

/* The memory of a client's record with that number. */
struct log_record *log_writer_record(const struct log_writer *writer,
				     uint64_t number);
/* Prints what the targets have said. */
void log_writer_greet(const struct log_writer *writer);

#endif /* LOG_WRITER_H */
