/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Files of WAL out of a log. */
#ifndef PGWAL_RESTORE_H
#define PGWAL_RESTORE_H

#include "log_writer.h"
#include "pgwal_log.h"

/*
 * For restore_command: PostgreSQL takes a status of 1 to 125 for the end of the archive, and
 * would begin a new timeline there. Above that it gives up, and asks again when it is started.
 */
#define PGWAL_RESTORE_NONE	1
#define PGWAL_RESTORE_ERROR	200

/*
 * Writes the file @name, a segment or a history, to @path. A segment that is not complete
 * is filled with zeros. @log: the targets and what is allowed
 * Return: 0, PGWAL_RESTORE_NONE or PGWAL_RESTORE_ERROR, which was reported
 */
int pgwal_restore(struct log_writer *log, const char *name, const char *path);

#endif /* PGWAL_RESTORE_H */
