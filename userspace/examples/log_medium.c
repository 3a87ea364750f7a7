// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "log_format.h"
#include "log_medium.h"
#include "write_back.h"

#define DEFAULT_SIZE	(16u << 20)
#define PMEM_ALIGN	(2u << 20)	/* of mappings of device-DAX */

bool log_medium_parse_size(const char *text, uint64_t *size)
{
	static const char suffixes[] = "kMG";
	unsigned long long value;
	unsigned int shift = 0;
	const char *suffix;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || !value)
		return false;
	if (*end) {
		suffix = strchr(suffixes, *end);
		if (!suffix || end[1])
			return false;
		shift = 10 * (unsigned int)(suffix - suffixes + 1);
	}
	if (value > UINT64_MAX >> shift)
		return false;
	*size = value << shift;
	return true;
}

/* One call reads 2 GiB at most, and any call may read less. */
static int log_medium_read(const struct log_medium *medium)
{
	uint64_t done = 0;
	ssize_t n;

	while (done < medium->size) {
		n = pread(medium->fd, (uint8_t *)medium->log + done,
			  medium->size - done, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (!n)
			return EIO;	/* the file became shorter */
		done += (uint64_t)n;
	}
	return 0;
}

static int log_medium_map(struct log_medium *medium, int prot, int flags,
			  int fd)
{
	medium->log = mmap(NULL, medium->size, prot, flags, fd, 0);
	if (medium->log != MAP_FAILED)
		return 0;
	medium->log = NULL;
	return errno;
}

/* The file, its length and its name: without the name it is lost, too. */
static int log_medium_keep(const struct log_medium *medium, const char *name)
{
	char *path;
	int err, fd;

	err = posix_fallocate(medium->fd, 0, (off_t)medium->size);
	if (err)
		return err;
	if (fsync(medium->fd))
		return errno;
	path = realpath(name, NULL);	/* the directory of a link is another one */
	if (!path)
		return errno;
	fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = fd < 0 || fsync(fd) ? errno : 0;
	if (fd >= 0)
		close(fd);
	free(path);
	return err;
}

static int log_medium_file(struct log_medium *medium, const char *name,
			   uint64_t file_size, bool write)
{
	int err;

	medium->kind = LOG_MEDIUM_FILE;
	if (medium->size < file_size || !write)
		medium->size = file_size;
	if (!medium->size && write)
		medium->size = DEFAULT_SIZE;
	if (medium->size < LOG_MIN_SIZE)
		return EINVAL;
	if (write) {
		err = log_medium_keep(medium, name);
		if (err)
			return err;
	}
	err = log_medium_map(medium, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1);
	return err ? err : log_medium_read(medium);
}

/* The size of a device-DAX device is in sysfs only. */
static uint64_t log_medium_device_size(dev_t dev)
{
	unsigned long long size = 0;
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/size", major(dev),
		 minor(dev));
	f = fopen(path, "re");
	if (f && fscanf(f, "%llu", &size) != 1)
		size = 0;
	if (f)
		fclose(f);
	return size;
}

static int log_medium_device(struct log_medium *medium, uint64_t device_size,
			     bool write)
{
	int err, prot = PROT_READ | (write ? PROT_WRITE : 0);
	uint64_t wanted = medium->size;
	struct log_header header;

	medium->kind = LOG_MEDIUM_PMEM;
	for (;;) {
		medium->size = wanted ? wanted : DEFAULT_SIZE;
		medium->size += PMEM_ALIGN - 1;
		medium->size -= medium->size % PMEM_ALIGN;
		if (medium->size > device_size)
			medium->size = device_size;
		err = log_medium_map(medium, prot, MAP_SHARED, medium->fd);
		if (err || wanted ||
		    log_header_find(medium->log, &header) != LOG_READY ||
		    header.size <= medium->size || header.size > device_size)
			return err;
		/* as large as the existing log */
		munmap(medium->log, medium->size);
		wanted = header.size;
	}
}

/*
 * Two programs that write one log would each report what the other one overwrites. The
 * lock belongs to the open file, so it ends with the process, however that ends. A
 * process that only reads takes none.
 */
int log_medium_lock(const struct log_medium *medium)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (!fcntl(medium->fd, F_OFD_SETLK, &lock))
		return 0;
	return errno == EAGAIN || errno == EACCES ? EBUSY : errno;
}

/* Locked before it is read: the log must not change after that. */
static int log_medium_load(struct log_medium *medium, const char *name,
			   bool write)
{
	struct stat st;
	int err = write ? log_medium_lock(medium) : 0;

	if (err)
		return err;
	if (fstat(medium->fd, &st))
		return errno;
	if (S_ISCHR(st.st_mode))
		return log_medium_device(medium,
					 log_medium_device_size(st.st_rdev),
					 write);
	if (S_ISREG(st.st_mode))
		return log_medium_file(medium, name, (uint64_t)st.st_size,
				       write);
	return EINVAL;
}

int log_medium_open(struct log_medium *medium, const char *name, uint64_t size,
		    bool write)
{
	int err;

	*medium = (struct log_medium){ .size = size, .fd = -1 };
	if (size && size < LOG_MIN_SIZE)
		return EINVAL;
	if (!strcmp(name, "anonymous")) {
		if (!size)
			medium->size = DEFAULT_SIZE;
		return log_medium_map(medium, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1);
	}
	medium->fd = open(name, (write ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC, 0600);
	if (medium->fd < 0)
		return errno;
	err = log_medium_load(medium, name, write);
	if (err)
		log_medium_close(medium);
	return err;
}

void log_medium_close(struct log_medium *medium)
{
	if (medium->log)
		munmap(medium->log, medium->size);
	if (medium->fd >= 0)
		close(medium->fd);
	medium->log = NULL;
	medium->fd = -1;
}

static int log_medium_write(const struct log_medium *medium, uint64_t offset,
			    uint64_t length)
{
	ssize_t n;

	while (length) {
		n = pwrite(medium->fd, (uint8_t *)medium->log + offset, length,
			   (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? errno : EIO;
		offset += (uint64_t)n;
		length -= (uint64_t)n;
	}
	return fdatasync(medium->fd) ? errno : 0;
}

int log_medium_persist(const struct log_medium *medium, uint64_t offset,
		       uint64_t length)
{
	if (!length)
		return 0;
	switch (medium->kind) {
	case LOG_MEDIUM_FILE:
		return log_medium_write(medium, offset, length);
	case LOG_MEDIUM_PMEM:
		write_back((const uint8_t *)medium->log + offset, length);
		return 0;
	default:
		return 0;
	}
}
