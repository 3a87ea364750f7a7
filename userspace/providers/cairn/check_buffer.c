// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "check_buffer.h"
#include "check_report.h"

#define BUFFER_SAMPLE	(64u << 10)	/* bytes of a buffer that are compared */

/* Pages of a receive that the program cannot touch. */
struct cairn_closed {
	struct cairn_closed *next;
	uintptr_t addr;
	size_t length;
	bool open;		/* they were touched, or registered once more */
	uint64_t wr_id;
	struct cairn_trace posted;
};

static struct cairn_closed *buffer_closed;
static struct sigaction buffer_old;	/* of SIGSEGV, while there is ours */
static bool buffer_trapped;

static size_t buffer_sampled(const struct cairn_buffer *buffer)
{
	return buffer->sge.length < BUFFER_SAMPLE ? buffer->sge.length : BUFFER_SAMPLE;
}

static size_t buffer_part(const struct cairn_buffer *buffer, size_t i)
{
	return buffer_sampled(buffer) * i / CAIRN_BUFFER_SUMS;
}

/*
 * The program may have unmapped the memory or may be about to, so it is read by a
 * system call, which fails where a load would crash.
 *
 * Return: 0 or an errno.
 */
static int buffer_read(const struct cairn_buffer *buffer, uint64_t sum[CAIRN_BUFFER_SUMS])
{
	static uint8_t sample[BUFFER_SAMPLE];	/* under the lock of check.h */
	size_t bytes = buffer_sampled(buffer);
	struct iovec to = { sample, bytes };
	struct iovec from = { (void *)(uintptr_t)buffer->sge.addr, bytes };
	ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	if (n != (ssize_t)bytes)
		return n < 0 ? errno : EFAULT;
	for (size_t i = 0; i < CAIRN_BUFFER_SUMS; i++) {
		sum[i] = 0xcbf29ce484222325;
		for (size_t at = buffer_part(buffer, i); at < buffer_part(buffer, i + 1); at++)
			sum[i] = (sum[i] ^ sample[at]) * 0x100000001b3;
	}
	return 0;
}

void cairn_buffer_sum(struct cairn_buffer *buffer)
{
	buffer->summed = !buffer_read(buffer, buffer->sum);
}

int cairn_buffer_compare(const struct cairn_buffer *buffer, size_t from)
{
	uint64_t now[CAIRN_BUFFER_SUMS];
	int err;

	if (!buffer->summed)
		return 0;
	err = buffer_read(buffer, now);
	if (err)
		return err == EFAULT ? -1 : 0;
	for (int i = 0; i < CAIRN_BUFFER_SUMS; i++)
		if (buffer_part(buffer, (size_t)i) >= from && now[i] != buffer->sum[i])
			return i + 1;
	return 0;
}

static void buffer_allow(struct cairn_closed *closed)
{
	if (!closed->open)
		mprotect((void *)closed->addr, closed->length, PROT_READ | PROT_WRITE);
	closed->open = true;
}

static struct cairn_closed *buffer_find(uintptr_t addr)
{
	struct cairn_closed *closed = buffer_closed;

	while (closed && (closed->open || addr - closed->addr >= closed->length))
		closed = closed->next;
	return closed;
}

/*
 * The signal comes from an instruction of the program that touches a receive's buffer. So
 * no lock of the library is held, nor one of the allocator, whose data are elsewhere. Another
 * fault is the program's own. It comes again, to the handler that was there before.
 */
static void buffer_touched(int signal, siginfo_t *info, void *context)
{
	uintptr_t addr = (uintptr_t)info->si_addr;
	struct cairn_closed *closed;
	struct cairn_report report = { .first_title = "posted at:", .here = true };
	int saved = errno;

	(void)context;
	if (cairn_check_locked()) {
		/* a fault of the checks themselves */
		sigaction(signal, &buffer_old, NULL);
		return;
	}
	cairn_check_lock();
	closed = buffer_find(addr);
	if (closed) {
		report.first = &closed->posted;
		cairn_report_write(CAIRN_REPORT_RECEIVE_BUFFER_USED, &report,
				   "the program touches the buffer of a receive (wr_id 0x%" PRIx64 ") at 0x%" PRIxPTR " before its completion",
				   closed->wr_id, addr);
		buffer_allow(closed);
	} else {
		sigaction(signal, &buffer_old, NULL);
		buffer_trapped = false;
	}
	cairn_check_unlock();
	errno = saved;
}

static void buffer_trap(void)
{
	/* stacks for signals are too small for libdw */
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_NODEFER };

	if (buffer_trapped)
		return;
	action.sa_sigaction = buffer_touched;
	sigemptyset(&action.sa_mask);
	buffer_trapped = !sigaction(SIGSEGV, &action, &buffer_old);
}

/* Pages of two receives stay open. */
static bool buffer_overlaps(uintptr_t addr, size_t length)
{
	for (const struct cairn_closed *closed = buffer_closed; closed; closed = closed->next)
		if (addr < closed->addr + closed->length && closed->addr < addr + length)
			return true;
	return false;
}

void cairn_buffer_close(struct cairn_buffer *buffer, const struct cairn_trace *posted,
			uint64_t wr_id)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t addr = ((uintptr_t)buffer->sge.addr + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)buffer->sge.addr + buffer->sge.length) & ~(page - 1);
	struct cairn_closed *closed;

	if (addr >= end || buffer_overlaps(addr, end - addr))
		return;
	closed = calloc(1, sizeof(*closed));
	if (!closed)
		return;
	*closed = (struct cairn_closed){
		.next = buffer_closed, .addr = addr, .length = end - addr,
		.wr_id = wr_id, .posted = *posted,
	};
	buffer_trap();
	if (!buffer_trapped || mprotect((void *)addr, end - addr, PROT_NONE)) {
		free(closed);
		return;
	}
	buffer_closed = closed;
	buffer->closed = closed;
}

void cairn_buffer_open(struct cairn_buffer *buffer)
{
	struct cairn_closed **link = &buffer_closed;

	if (!buffer->closed)
		return;
	while (*link != buffer->closed)
		link = &(*link)->next;
	*link = buffer->closed->next;
	buffer_allow(buffer->closed);
	free(buffer->closed);
	buffer->closed = NULL;
}

void cairn_buffer_open_range(uintptr_t addr, size_t length)
{
	for (struct cairn_closed *closed = buffer_closed; closed; closed = closed->next)
		if (addr < closed->addr + closed->length && closed->addr < addr + length)
			buffer_allow(closed);
}
