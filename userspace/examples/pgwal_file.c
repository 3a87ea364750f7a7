// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log_command.h"
#include "pgwal_file.h"

/* Closes @fd. */
static int pgwal_file_fill(int fd, const void *bytes, size_t length)
{
	int err = 0;
	ssize_t n;

	for (size_t done = 0; !err && done < length; done += (size_t)n) {
		n = write(fd, (const char *)bytes + done, length - done);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			err = n ? errno : EIO;
	}
	if (!err && fsync(fd))
		err = errno;
	if (close(fd) && !err)
		err = errno;
	return err;
}

int pgwal_file_write(const char *path, const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), err;

	err = fd < 0 ? errno : pgwal_file_fill(fd, bytes, length);
	return err ? log_command_fail(path, err) : 0;
}

/* Reads up to @length bytes. Return: how many, or SIZE_MAX */
static size_t pgwal_file_read(int fd, char *bytes, size_t length)
{
	size_t done = 0;
	ssize_t n = 1;

	while (n > 0 && done < length) {
		n = read(fd, bytes + done, length - done);
		done += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? SIZE_MAX : done;
}

/*
 * Whether the file @fd has a beginning of @bytes, and zeros for the rest.
 * Return: 0: all of them; EAGAIN: a beginning; EEXIST: something else
 */
static int pgwal_file_compare(int fd, const void *bytes, size_t length)
{
	char *have = malloc(length + 1);
	int err = EEXIST;
	size_t n;

	if (!have)
		return ENOMEM;
	n = pgwal_file_read(fd, have, length + 1);
	if (n == length && !memcmp(have, bytes, length)) {
		err = 0;
	} else if (n == length) {
		while (n && !have[n - 1])
			n--;
		if (!memcmp(have, bytes, n))
			err = EAGAIN;
	}
	free(have);
	return err;
}

int pgwal_file_keep(int directory, const char *name, const void *bytes,
		    size_t length)
{
	char new[128];
	int fd, err;

	fd = openat(directory, name, O_RDONLY);
	if (fd >= 0) {
		err = pgwal_file_compare(fd, bytes, length);
		/* its process may have died before it was durable */
		if (!err && (fsync(fd) || fsync(directory)))
			err = errno;
		close(fd);
		if (err != EAGAIN)
			return err ? log_command_fail(name, err) : 0;
	}
	snprintf(new, sizeof(new), "%s.new", name);
	fd = openat(directory, new, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	err = fd < 0 ? errno : pgwal_file_fill(fd, bytes, length);
	if (!err && (renameat(directory, new, directory, name) ||
		     fsync(directory)))
		err = errno;
	return err ? log_command_fail(name, err) : 0;
}
