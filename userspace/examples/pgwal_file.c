// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), err;

	err = fd < 0 ? errno : pgwal_file_fill(fd, bytes, length);
	return err ? log_command_fail(path, err) : 0;
}

/* Reads up to @length bytes, *@done of them. Return: 0 or an errno */
static int pgwal_file_read(int fd, char *bytes, size_t length, size_t *done)
{
	ssize_t n;

	*done = 0;
	while (*done < length) {
		n = read(fd, bytes + *done, length - *done);
		if (!n)
			break;
		if (n > 0)
			*done += (size_t)n;
		else if (errno != EINTR)
			return errno;
	}
	return 0;
}

/* Bytes before the zeros at the end. */
static size_t pgwal_file_contents(const char *bytes, size_t length)
{
	while (length && !bytes[length - 1])
		length--;
	return length;
}

/* Return: the @length bytes of the file @fd, to be freed; NULL: *@err, EEXIST if it is longer or
 * shorter
 */
static char *pgwal_file_load(int fd, size_t length, int *err)
{
	char *have = malloc(length + 1);
	size_t n;

	*err = have ? pgwal_file_read(fd, have, length + 1, &n) : ENOMEM;
	if (!*err && n != length)
		*err = EEXIST;
	if (!*err)
		return have;
	free(have);
	return NULL;
}

/*
 * Whether the file @fd has a beginning of @bytes, and zeros for the rest.
 * Return: 0: all of them; EAGAIN: a beginning; EEXIST: something else
 */
static int pgwal_file_compare(int fd, const void *bytes, size_t length)
{
	int err;
	char *have = pgwal_file_load(fd, length, &err);

	if (have && memcmp(have, bytes, length) != 0)
		err = memcmp(have, bytes, pgwal_file_contents(have, length)) ?
		      EEXIST : EAGAIN;
	free(have);
	return err;
}

int pgwal_file_directory(const char *name)
{
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* some file systems have no locks of directories */
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(fd);
		fd = -1;
		errno = EBUSY;
	}
	return fd;
}

/*
 * @st: of the file, if it may be replaced.
 * Return: 0 if it has all bytes, EAGAIN if it has a beginning of them, ENOENT if there is
 * none; another errno: it may not be replaced
 */
static int pgwal_file_judge(int directory, const char *name, const void *bytes,
			    size_t length, struct stat *st)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return errno;
	err = fstat(fd, st) ? errno : pgwal_file_compare(fd, bytes, length);
	close(fd);
	return err;
}

int pgwal_file_complete(int directory, const char *name, void *bytes, size_t length)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC), err;
	char *have;

	if (fd < 0)
		return errno == ENOENT ? 0 : log_command_fail(name, errno);
	have = pgwal_file_load(fd, length, &err);
	if (have && !memcmp(have, bytes, pgwal_file_contents(bytes, length)))
		memcpy(bytes, have, length);
	free(have);
	close(fd);
	return err && err != EEXIST ? log_command_fail(name, err) : 0;
}

/* Give the owner and the mode of the old file to the new one, as far as permissions allow. */
static int pgwal_file_resemble(int fd, const struct stat *old)
{
	if (fchown(fd, old->st_uid, old->st_gid) && errno != EPERM)
		return errno;
	return fchmod(fd, old->st_mode & 0777) ? errno : 0;
}

int pgwal_file_create(int directory, const char *name, mode_t mode)
{
	if (unlinkat(directory, name, 0) && errno != ENOENT)
		return -1;
	return openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

/* @old: of the file that is replaced; NULL: there is none */
static int pgwal_file_replace(int directory, const char *name, const void *bytes,
			      size_t length, const struct stat *old)
{
	char new[128];
	int fd, err;

	snprintf(new, sizeof(new), "%s.new", name);
	fd = pgwal_file_create(directory, new, 0600);
	if (fd < 0)
		return errno;
	err = old ? pgwal_file_resemble(fd, old) : 0;
	if (err)
		close(fd);
	else
		err = pgwal_file_fill(fd, bytes, length);
	if (!err && (renameat(directory, new, directory, name) ||
		     fsync(directory)))
		err = errno;
	return err;
}

/*
 * A file that is there with all bytes is written once more. Its bytes may not be on the
 * disk, and an fsync() says so once only: perhaps to a process that has ended.
 */
int pgwal_file_keep(int directory, const char *name, const void *bytes,
		    size_t length)
{
	struct stat st;
	int err = pgwal_file_judge(directory, name, bytes, length, &st);

	if (!err || err == ENOENT || err == EAGAIN)
		err = pgwal_file_replace(directory, name, bytes, length,
					 err == ENOENT ? NULL : &st);
	return err ? log_command_fail(name, err) : 0;
}
