// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory in which copies of the kernel fail or wait.
 *
 * The first page of each pair is ordinary. An access to the second one fails
 * (PROT_NONE, a hole, a file that is too short) or waits for userfaultfd or FUSE. The data to be
 * copied end in the second page, so the copy begins well and fails or waits at a byte that
 * the seed chose. A thread answers page faults after a while: with the right contents, with
 * zeros, or by taking the page away.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "fuzz.h"

#define PAGE		4096u
#define PAIRS		64

enum trap_kind {
	TRAP_NONE,	/* PROT_NONE */
	TRAP_READ_ONLY,
	TRAP_HOLE,	/* nothing is mapped */
	TRAP_SHORT_FILE,
	TRAP_WAITS,
	TRAP_FUSE,
	TRAP_KINDS
};

static u8 *pairs;
static u8 shadow[PAIRS][PAGE];	/* what the second pages should contain */
static int uffd = -1;
static u32 next_pair;

static void *trap_map_at(void *at, int prot, int flags, int fd, u64 offset)
{
	return (void *)syscall(SYS_mmap, at, PAGE, prot, flags | MAP_FIXED, fd,
			       offset);
}

static void *trap_map(void *at, int prot, int flags, int fd)
{
	return trap_map_at(at, prot, flags, fd, 0);
}

/* A page that another process gives (fuzz_fuse.c). */
static bool trap_fuse(u8 *page)
{
	u64 offset = rnd() % (FUSE_FILE_SIZE / PAGE) * PAGE;

	return fuse_file >= 0 &&
	       trap_map_at(page, PROT_READ | PROT_WRITE,
			   one_in(2) ? MAP_PRIVATE : MAP_SHARED, fuse_file,
			   offset) != MAP_FAILED;
}

/* The answer to one page fault. */
static void trap_answer(u64 address)
{
	u64 page = address & ~(u64)(PAGE - 1);
	u64 at = (page - (uintptr_t)pairs) / PAGE;
	struct uffdio_copy copy = {
		.dst = page, .len = PAGE,
		.src = at < 2 * PAIRS ? (uintptr_t)shadow[at / 2] : (uintptr_t)shadow,
	};
	struct uffdio_zeropage zero = { .range = { page, PAGE } };
	struct uffdio_range range = { page, PAGE };

	count(waited);
	if (one_in(2))
		usleep(below(20000));
	switch (below(6)) {
	case 0:
		ioctl(uffd, UFFDIO_ZEROPAGE, &zero);
		break;
	case 1:
		/* the copy fails then; for other faults the page becomes an ordinary one */
		if (at < 2 * PAIRS)
			munmap((void *)(uintptr_t)page, PAGE);
		else
			ioctl(uffd, UFFDIO_UNREGISTER, &range);
		ioctl(uffd, UFFDIO_WAKE, &range);
		break;
	default:
		ioctl(uffd, UFFDIO_COPY, &copy);
	}
}

static void *trap_thread(void *arg)
{
	struct pollfd ready = { .fd = uffd, .events = POLLIN };
	struct uffd_msg msg;

	rnd_seed((uintptr_t)arg);
	while (poll(&ready, 1, -1) >= 0)
		if (read(uffd, &msg, sizeof(msg)) == sizeof(msg) &&
		    msg.event == UFFD_EVENT_PAGEFAULT)
			trap_answer(msg.arg.pagefault.address);
	return NULL;
}

void trap_setup(u64 seed)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t thread;

	pairs = mmap(NULL, 2 * PAIRS * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) ||
	    pthread_create(&thread, NULL, trap_thread, (void *)(uintptr_t)seed))
		uffd = -1;
	else
		pthread_detach(thread);
}

static bool trap_wait(u8 *page)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)page, PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	return uffd >= 0 && !ioctl(uffd, UFFDIO_REGISTER, &reg);
}

/* Set the second page of a pair up. */
static void trap_arm(u8 *page)
{
	int memfd;

	trap_map(page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	switch (below(TRAP_KINDS)) {
	case TRAP_NONE:
		mprotect(page, PAGE, PROT_NONE);
		break;
	case TRAP_READ_ONLY:
		mprotect(page, PAGE, PROT_READ);
		break;
	case TRAP_HOLE:
		munmap(page, PAGE);
		break;
	case TRAP_SHORT_FILE:
		memfd = memfd_create("cairn-short", MFD_CLOEXEC);
		if (memfd >= 0)
			trap_map(page, PROT_READ | PROT_WRITE, MAP_SHARED, memfd);
		close(memfd);
		break;
	case TRAP_FUSE:
		if (!trap_fuse(page))
			mprotect(page, PAGE, PROT_NONE);
		break;
	default:
		if (!trap_wait(page))
			mprotect(page, PAGE, PROT_NONE);
	}
}

void *trap_place(const void *data, size_t len)
{
	u32 pair = __atomic_fetch_add(&next_pair, 1, __ATOMIC_RELAXED) % PAIRS;
	u8 *first = pairs + (size_t)2 * pair * PAGE, *second = first + PAGE;
	size_t before = len <= PAGE ? below(len + 1) : PAGE;

	if (!pairs || !len || len - before > PAGE)
		return NULL;
	/* a thread of the life may still use this pair, which is no fault */
	memcpy(second - before, data, before);
	memcpy(shadow[pair], (const u8 *)data + before, len - before);
	trap_arm(second);
	count(trapped);
	return second - before;
}

void trap_arena(u8 *page)
{
	if (one_in(2) && trap_fuse(page))
		return;
	trap_map(page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	trap_wait(page);
}
