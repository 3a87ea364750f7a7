// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How a log's file is read and made durable. The file calls are defined here, in
 * place of the C library's: they do their work, or only a part of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"
#include "log_format.h"
#include "log_medium.h"

static size_t at_most;		/* bytes in one call; 0: all */
static bool holes;		/* reads do not write to the buffer */
static uint64_t read_to;	/* all bytes before it were read, without gaps */
static int read_err, write_err, sync_err;	/* once */
static bool dirty;		/* written, no fdatasync() since */
static bool dir_synced, file_synced;
static ino_t dir_inode;		/* of the directory that was synced */
static char dir[] = "/tmp/cairn-log.XXXXXX";

static int once(int *err)
{
	int now = *err;

	*err = 0;
	errno = now;
	return now;
}

ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
	if (once(&read_err))
		return -1;
	if (length > 0x7ffff000)
		length = 0x7ffff000;
	if (at_most && length > at_most)
		length = at_most;
	if ((uint64_t)offset == read_to)
		read_to += length;
	if (holes)
		return (ssize_t)length;
	return syscall(SYS_pread64, fd, buffer, length, offset);
}

ssize_t pwrite(int fd, const void *buffer, size_t length, off_t offset)
{
	if (once(&write_err))
		return -1;
	if (at_most && length > at_most)
		length = at_most;
	dirty = true;
	return syscall(SYS_pwrite64, fd, buffer, length, offset);
}

int fdatasync(int fd)
{
	(void)fd;
	if (once(&sync_err))
		return -1;
	dirty = false;
	return 0;
}

int fsync(int fd)
{
	struct stat st;

	if (once(&sync_err))
		return -1;
	if (fstat(fd, &st))
		return -1;
	/* the name is durable when the directory is, after the file itself */
	if (S_ISDIR(st.st_mode)) {
		dir_synced = file_synced;
		dir_inode = st.st_ino;
	} else {
		file_synced = true;
	}
	return 0;
}

static char *file(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void sizes(void)
{
	static const struct {
		const char *text;
		uint64_t size;
	} good[] = {
		{ "1", 1 }, { "4096", 4096 }, { "0x1000", 4096 },
		{ "512k", 512 << 10 }, { "4M", 4 << 20 },
		{ "3G", 3ull << 30 }, { "17179869183G", 17179869183ull << 30 },
	};
	static const char * const bad[] = {
		"", "0", "k", "M", "4Q", "4MB", "4 M", " 4M", "-4M", "+4M", "4m",
		"17179869184G", "18446744073709551616", "4.5M",
	};
	uint64_t size;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ktap_ok(log_medium_parse_size(good[i].text, &size));
		ktap_eq(size, good[i].size);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!ktap_ok(!log_medium_parse_size(bad[i], &size)))
			printf("# '%s'\n", bad[i]);
}

/* A new file is durable only with its directory. */
static void names_are_durable(void)
{
	struct log_medium medium;
	struct stat st;

	dir_synced = false;
	file_synced = false;
	ktap_eq(log_medium_open(&medium, file("new"), 1 << 20, true), 0);
	ktap_ok(dir_synced);
	ktap_eq(medium.size, 1 << 20);
	ktap_eq(stat(file("new"), &st), 0);
	ktap_eq(st.st_size, 1 << 20);
	/* all of its blocks are allocated */
	ktap_ok(st.st_blocks * 512 >= 1 << 20);
	log_medium_close(&medium);
	sync_err = EIO;
	ktap_eq(log_medium_open(&medium, file("new"), 1 << 20, true), EIO);
	/* neither a smaller size nor 0 truncates it */
	ktap_eq(log_medium_open(&medium, file("new"), 1 << 19, true), 0);
	ktap_eq(medium.size, 1 << 20);
	log_medium_close(&medium);
	ktap_eq(log_medium_open(&medium, file("new"), 0, false), 0);
	ktap_eq(medium.size, 1 << 20);
	log_medium_close(&medium);
	ktap_eq(log_medium_open(&medium, file("none"), 0, false), ENOENT);
	ktap_eq(log_medium_open(&medium, file("small"), 4, true), EINVAL);
}

/* The directory of the file counts, not that of a link to it. */
static void links_lead_to_the_directory(void)
{
	struct log_medium medium;
	char link[80], *last;
	struct stat st;

	snprintf(link, sizeof(link), "%s", file("links"));
	ktap_eq(mkdir(link, 0700), 0);
	last = link + strlen(link);
	strcpy(last, "/link");
	ktap_eq(symlink(file("linked"), link), 0);
	ktap_eq(log_medium_open(&medium, link, 1 << 20, true), 0);
	ktap_eq(stat(dir, &st), 0);
	ktap_eq(dir_inode, st.st_ino);
	log_medium_close(&medium);
	unlink(link);
	*last = '\0';
	rmdir(link);
	unlink(file("linked"));
}

static void short_calls(void)
{
	struct log_medium medium;
	uint8_t *bytes;

	ktap_eq(log_medium_open(&medium, file("short"), 1 << 20, true), 0);
	at_most = 10007;
	bytes = medium.log;
	for (size_t i = 0; i < medium.size; i++)
		bytes[i] = (uint8_t)(i * 7 >> 4);
	write_err = EINTR;
	ktap_eq(log_medium_persist(&medium, 5, medium.size - 5), 0);
	ktap_ok(!dirty);
	ktap_eq(log_medium_persist(&medium, 0, 5), 0);
	log_medium_close(&medium);
	read_err = EINTR;
	ktap_eq(log_medium_open(&medium, file("short"), 0, false), 0);
	bytes = medium.log;
	for (size_t i = 0; i < medium.size; i++)
		if (!ktap_eq(bytes[i], (uint8_t)(i * 7 >> 4)))
			break;
	log_medium_close(&medium);
	read_err = EIO;
	ktap_eq(log_medium_open(&medium, file("short"), 0, false), EIO);
	at_most = 0;
}

/* More than one call is needed to read it. */
static void beyond_2g(void)
{
	const uint64_t size = (3ull << 30) + 4096;
	struct log_medium medium;
	int fd = open(file("large"), O_RDWR | O_CREAT, 0600);

	ktap_ok(fd >= 0 && !ftruncate(fd, (off_t)size));
	close(fd);
	holes = true;
	read_to = 0;
	ktap_eq(log_medium_open(&medium, file("large"), 0, false), 0);
	ktap_eq(read_to, size);
	ktap_eq(medium.size, size);
	log_medium_close(&medium);
	holes = false;
}

static void failures(void)
{
	struct log_medium medium;

	ktap_eq(log_medium_open(&medium, file("failing"), 1 << 20, true), 0);
	write_err = ENOSPC;
	ktap_eq(log_medium_persist(&medium, 0, 4096), ENOSPC);
	sync_err = EIO;
	ktap_eq(log_medium_persist(&medium, 0, 4096), EIO);
	ktap_ok(dirty);
	ktap_eq(log_medium_persist(&medium, 0, 4096), 0);
	ktap_ok(!dirty);
	log_medium_close(&medium);
}

/* Ordinary memory: the call succeeds. */
static void emulated(void)
{
	struct log_medium medium;

	ktap_eq(log_medium_open(&medium, "anonymous", 0, true), 0);
	ktap_eq(medium.size, 16 << 20);
	ktap_eq(log_medium_persist(&medium, 0, 4096), 0);
	ktap_eq(medium.kind, LOG_MEDIUM_EMULATED);
	log_medium_close(&medium);
}

/* The errno of a second process. */
static int open_elsewhere(const char *name, bool write)
{
	struct log_medium medium;
	int status;
	pid_t child = fork();

	if (!child)
		_exit(log_medium_open(&medium, name, 1 << 20, write));
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

/* One process writes a medium, also when the two have the file by another name. */
static void one_writes(void)
{
	struct log_medium first, second, reader;
	char alias[64];

	snprintf(alias, sizeof(alias), "%s", file("alias"));
	ktap_eq(log_medium_open(&first, file("locked"), 1 << 20, true), 0);
	ktap_eq(link(file("locked"), alias), 0);
	ktap_eq(log_medium_open(&second, file("locked"), 1 << 20, true), EBUSY);
	ktap_eq(log_medium_open(&second, alias, 1 << 20, true), EBUSY);
	ktap_eq(open_elsewhere(alias, true), EBUSY);
	/* a reader is let in, and its end takes nothing from the writer */
	ktap_eq(log_medium_open(&reader, alias, 0, false), 0);
	log_medium_close(&reader);
	ktap_eq(open_elsewhere(alias, false), 0);
	ktap_eq(open_elsewhere(alias, true), EBUSY);
	log_medium_close(&first);
	ktap_eq(log_medium_open(&second, alias, 1 << 20, true), 0);
	log_medium_close(&second);
	ktap_eq(unlink(alias), 0);
}

static void cleanup(void)
{
	static const char * const names[] = {
		"locked", "new", "short", "large", "failing", "small",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(file(names[i]));
	ktap_eq(rmdir(dir), 0);
}

static void begin(void)
{
	ktap_ok(mkdtemp(dir));
}

static const struct ktap_test tests[] = {
	KTAP(begin),
	KTAP(sizes),
	KTAP(names_are_durable),
	KTAP(links_lead_to_the_directory),
	KTAP(short_calls),
	KTAP(beyond_2g),
	KTAP(failures),
	KTAP(emulated),
	KTAP(one_writes),
	KTAP(cleanup),
};

KTAP_MAIN(tests)
