// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Files of an archive: whole, durable with their name, and never replaced by others. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ktap.h"
#include "log_command.h"
#include "pgwal_file.h"

static char dir[] = "/tmp/pgwal-file.XXXXXX";
static int directory;
static int read_err, write_err, sync_err;	/* once */
static int sync_skips;	/* calls before sync_err */
static bool file_synced, dir_synced;
/* After a failed fsync() the kernel has given these up, and calls them clean. */
static ino_t lost_file;
static bool lost_dir;

int log_command_fail(const char *what, int err)
{
	(void)what;
	return err;
}

static int once(int *err)
{
	int now = *err;

	*err = 0;
	errno = now;
	return now;
}

ssize_t read(int fd, void *bytes, size_t length)
{
	if (once(&read_err))
		return -1;
	return syscall(SYS_read, fd, bytes, length > 3 ? 3 : length);
}

ssize_t write(int fd, const void *bytes, size_t length)
{
	struct stat st;

	if (once(&write_err))
		return -1;
	if (!fstat(fd, &st) && st.st_ino == lost_file)
		lost_file = 0;
	return syscall(SYS_write, fd, bytes, fd > 2 && length > 3 ? 3 : length);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	lost_dir = false;
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

static int sync_fails(const struct stat *st)
{
	if (!sync_err || sync_skips-- > 0)
		return 0;
	if (S_ISDIR(st->st_mode))
		lost_dir = true;
	else
		lost_file = st->st_ino;
	return once(&sync_err);
}

/* The name is durable when the directory is, after the file itself. */
int fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) || sync_fails(&st))
		return -1;
	if (S_ISDIR(st.st_mode))
		dir_synced = file_synced;
	else
		file_synced = true;
	return 0;
}

static int keep(const char *name, const char *bytes)
{
	file_synced = false;
	dir_synced = false;
	return pgwal_file_keep(directory, name, bytes, strlen(bytes));
}

static bool has(const char *name, const char *bytes)
{
	char text[64] = "";
	int fd = openat(directory, name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	close(fd);
	return n == (ssize_t)strlen(bytes) && !strcmp(text, bytes);
}

static void begin(void)
{
	ktap_ok(mkdtemp(dir));
	directory = pgwal_file_directory(dir);
	ktap_ok(directory >= 0);
}

static void is_durable(void)
{
	ktap_eq(keep("a", "segment one"), 0);
	ktap_ok(dir_synced && has("a", "segment one"));
	/* a process may have died before that */
	ktap_eq(keep("a", "segment one"), 0);
	ktap_ok(dir_synced);
	ktap_eq(keep("a", "segment two"), EEXIST);
	ktap_eq(keep("a", "segment one and more"), EEXIST);
	ktap_ok(has("a", "segment one"));
}

static void calls_fail(void)
{
	write_err = EINTR;
	ktap_eq(keep("b", "bytes"), 0);
	ktap_ok(has("b", "bytes"));
	read_err = EINTR;
	ktap_eq(keep("b", "bytes"), 0);
	read_err = EIO;
	ktap_eq(keep("b", "bytes"), EIO);
	sync_err = EIO;
	ktap_eq(keep("b", "bytes"), EIO);
	write_err = ENOSPC;
	ktap_eq(keep("c", "bytes"), ENOSPC);
	ktap_ok(faccessat(directory, "c", F_OK, 0));
	sync_err = EIO;
	ktap_eq(keep("c", "bytes"), EIO);
	ktap_ok(faccessat(directory, "c", F_OK, 0));
	ktap_eq(keep("c", "bytes"), 0);
}

/*
 * After a failed fsync() the next one succeeds, also when the failure was told to another
 * process, such as the one that has written the file. Its bytes can be read, and are not on
 * the disk.
 */
static void failure_is_not_forgotten(void)
{
	struct stat before, after;

	for (int skips = 0; skips < 2; skips++) {
		sync_skips = skips;
		sync_err = EIO;
		ktap_eq(keep("e", "bytes"), EIO);
		ktap_eq(keep("e", "bytes"), 0);
		ktap_ok(!lost_file && !lost_dir && dir_synced);
	}
	/* the failure of another process */
	ktap_ok(!fchmodat(directory, "e", 0640, 0));
	ktap_ok(!fstatat(directory, "e", &before, 0));
	lost_file = before.st_ino;
	lost_dir = true;
	ktap_eq(keep("e", "bytes"), 0);
	ktap_ok(!fstatat(directory, "e", &after, 0));
	ktap_ok(after.st_ino != lost_file && !lost_dir && dir_synced);
	ktap_eq(after.st_mode, before.st_mode);
	ktap_ok(has("e", "bytes"));
}

/* A file that cannot be read cannot be compared. */
static void unreadable_is_kept(void)
{
	ktap_ok(!symlinkat("loop", directory, "loop"));
	ktap_eq(keep("loop", "bytes"), ELOOP);
	ktap_ok(!mkdirat(directory, "d", 0700));
	ktap_eq(keep("d", "bytes"), EISDIR);
}

/* The owner of the directory knows the name of the new file. */
static void link_is_not_followed(void)
{
	ktap_eq(keep("f", "bytes"), 0);
	ktap_ok(!symlinkat("f", directory, "g.new"));
	ktap_eq(keep("g", "other bytes"), 0);
	ktap_ok(has("g", "other bytes") && has("f", "bytes"));
	/* one that an earlier process has left */
	ktap_ok(!linkat(directory, "f", directory, "h.new", 0));
	ktap_eq(keep("h", "bytes"), 0);
	ktap_ok(has("h", "bytes") && has("f", "bytes"));
	ktap_ok(!mkdirat(directory, "i.new", 0700));
	ktap_eq(keep("i", "bytes"), EISDIR);
}

static void one_process_writes(void)
{
	ktap_eq(pgwal_file_directory(dir), -1);
	ktap_eq(errno, EBUSY);
	close(directory);
	directory = pgwal_file_directory(dir);
	ktap_ok(directory >= 0);
	ktap_eq(pgwal_file_directory("/dev/null"), -1);
	ktap_eq(errno, ENOTDIR);
}

static void cleanup(void)
{
	static const char * const names[] = {
		"a", "b", "b.new", "c", "c.new", "e", "f", "g", "h", "loop",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(directory, names[i], 0);
	ktap_ok(!unlinkat(directory, "d", AT_REMOVEDIR));
	ktap_ok(!unlinkat(directory, "i.new", AT_REMOVEDIR));
	close(directory);
	ktap_ok(!rmdir(dir));
}

static const struct ktap_test tests[] = {
	KTAP(begin),
	KTAP(is_durable),
	KTAP(calls_fail),
	KTAP(failure_is_not_forgotten),
	KTAP(unreadable_is_kept),
	KTAP(link_is_not_followed),
	KTAP(one_process_writes),
	KTAP(cleanup),
};

KTAP_MAIN(tests)
