/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef PGWAL_FILE_H
#define PGWAL_FILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Opens the directory of an archive, for one process at a time: two would write the same
 * new file. Return: a descriptor, or -1 with errno; EBUSY: another process has it.
 */
int pgwal_file_directory(const char *name);

/*
 * Creates a file in place of what has its name. Another user may own the directory, and put a
 * link there: it is not followed.
 * @directory: open, or AT_FDCWD
 * Return: a descriptor for writing, or -1 with errno
 */
int pgwal_file_create(int directory, const char *name, mode_t mode);

/* Both return 0 when the bytes are durable, or an errno, which was reported. */

int pgwal_file_write(const char *path, const void *bytes, size_t length);
/*
 * Makes a file of an archive: whole or not at all, and durable with its name. One that is
 * there already must have the same bytes, or a beginning of them and zeros: EEXIST
 * otherwise.
 * @directory: open
 */
int pgwal_file_keep(int directory, const char *name, const void *bytes,
		    size_t length);

/*
 * Puts what the file has behind the end of @bytes into the zeros there: a later writer may
 * have less of a segment. Nothing changes if there is no such file, or another one.
 * Return: 0 or an errno, which was reported
 */
int pgwal_file_complete(int directory, const char *name, void *bytes, size_t length);

#endif /* PGWAL_FILE_H */
