/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A log becomes files, as archive_command would have made them. */
#ifndef PGWAL_ARCHIVE_H
#define PGWAL_ARCHIVE_H

#include "log_writer.h"
#include "pgwal_log.h"

/*
 * Writes all that the log has into @directory. A segment that is not complete gets the
 * ending ".partial", and zeros behind. Return: 0 or an errno, which was reported.
 */
int pgwal_archive(struct log_writer *log, const char *directory);
/*
 * The same for a session that is open, and to which nothing was appended.
 * @state: gets what the log has
 */
int pgwal_archive_session(struct log_session *session, const char *directory,
			  struct pgwal_log *state);

#endif /* PGWAL_ARCHIVE_H */
