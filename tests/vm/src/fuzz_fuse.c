// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A file system in a process (FUSE), which has one large file. Its pages come when the
 * process answers: after a while, with zeros, or with an error. Lives map it. Kernel
 * threads, and processes that are being killed, wait for these pages like any other.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include "fuzz.h"

#define PAGE		4096u
#define FILE_NODE	2
#define THREADS		4
#define MAX_WRITE	4096u
#define REQUEST		(FUSE_MIN_READ_BUFFER + MAX_WRITE + 256)

int fuse_file = -1;
static pid_t daemon_pid;

static void fuse_attr_of(struct fuse_attr *attr, u64 node)
{
	*attr = (struct fuse_attr){
		.ino = node, .nlink = 1, .blksize = PAGE,
		.mode = node == FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0777,
		.size = node == FILE_NODE ? FUSE_FILE_SIZE : 0,
	};
}

/* Bytes of the answer in @out, or a negative errno. */
static int fuse_work(const struct fuse_in_header *in, const void *arg, void *out)
{
	const struct fuse_read_in *read = arg;
	const struct fuse_write_in *write = arg;
	struct fuse_init_out *init = out;
	struct fuse_entry_out *entry = out;
	struct fuse_attr_out *attr = out;

	switch (in->opcode) {
	case FUSE_INIT:
		init->major = FUSE_KERNEL_VERSION;
		init->minor = FUSE_KERNEL_MINOR_VERSION;
		init->max_background = 16;
		init->congestion_threshold = 12;
		init->max_write = MAX_WRITE;
		init->time_gran = 1;
		return sizeof(*init);
	case FUSE_LOOKUP:
		entry->nodeid = FILE_NODE;
		entry->attr_valid = 3600;
		entry->entry_valid = 3600;
		fuse_attr_of(&entry->attr, FILE_NODE);
		return sizeof(*entry);
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		attr->attr_valid = 3600;
		fuse_attr_of(&attr->attr, in->nodeid);
		return sizeof(*attr);
	case FUSE_OPEN:
		return sizeof(struct fuse_open_out);
	case FUSE_READ:
		count(fused);
		if (one_in(2))
			usleep(below(20000));
		return one_in(6) ? -EIO : (int)(read->size < MAX_WRITE ?
						read->size : MAX_WRITE);
	case FUSE_WRITE:
		((struct fuse_write_out *)out)->size = write->size;
		return sizeof(struct fuse_write_out);
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
		return 0;
	default:
		return -ENOSYS;
	}
}

static void fuse_serve(int dev, u8 *request)
{
	const struct fuse_in_header *in = (const void *)request;
	u8 body[MAX_WRITE] = { 0 };
	struct fuse_out_header out = { .len = sizeof(out) };
	struct iovec parts[2] = { { &out, sizeof(out) }, { body, 0 } };
	int n;

	if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET ||
	    in->opcode == FUSE_INTERRUPT)
		return;
	n = fuse_work(in, in + 1, body);
	out.unique = in->unique;
	if (n < 0)
		out.error = n;
	else
		out.len += parts[1].iov_len = n;
	/* fails if the request was given up meanwhile */
	if (writev(dev, parts, 2) < 0)
		return;
}

static void *fuse_thread(void *arg)
{
	int dev = (int)(intptr_t)arg;
	u8 *request = malloc(REQUEST);
	ssize_t n;

	rnd_seed((u64)gettid());
	while (request) {
		n = read(dev, request, REQUEST);
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			fuse_serve(dev, request);
		else if (n < 0 && errno != ENOENT && errno != EINTR && errno != EAGAIN)
			break;
	}
	return NULL;
}

static void __attribute__((noreturn)) fuse_daemon(int dev)
{
	pthread_t thread;
	int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 1; i < THREADS; i++)
		pthread_create(&thread, NULL, fuse_thread, (void *)(intptr_t)dev);
	fuse_thread((void *)(intptr_t)dev);
	_exit(0);
}

bool fuse_start(void)
{
	char dir[] = "/tmp/cairn-fuse.XXXXXX", options[100], path[100];
	int dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (dev < 0 || !mkdtemp(dir))
		return false;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dev);
	if (mount("cairn-fuzz", dir, "fuse", MS_NOSUID | MS_NODEV, options)) {
		close(dev);
		rmdir(dir);
		return false;
	}
	daemon_pid = fork();
	if (!daemon_pid)
		fuse_daemon(dev);
	close(dev);
	snprintf(path, sizeof(path), "%s/file", dir);
	fuse_file = open(path, O_RDWR);
	/* The file works without its name. */
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	return fuse_file >= 0;
}

bool fuse_alive(void)
{
	return fuse_file < 0 || !waitpid(daemon_pid, NULL, WNOHANG);
}

/* Requests that still wait for a page get an error. */
void fuse_stop(void)
{
	if (fuse_file < 0)
		return;
	kill(daemon_pid, SIGKILL);
	waitpid(daemon_pid, NULL, 0);
	close(fuse_file);
}
