// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions on demand of a process that has ended, or has become another program. A child
 * has its descriptor. Two threads of the child have pages faulted in without a pause.
 * The process was in a memory cgroup: no page may be charged elsewhere, and its memory is
 * freed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

/* memcg.sh makes it. */
#define GROUP	"/sys/fs/cgroup/cairn_gone"
#define LONG	vt_ms(30000)
#define SIZE	(512ul << 20)
#define LIMIT	"67108864"
#define SLACK	(64 << 10)	/* kB that others may use meanwhile */
#define THREADS	2

enum how { EXITS, EXECS, LEADER_EXITS };

/* Shared by the processes. */
static struct shared {
	int advising;		/* threads of the child that have begun */
	int ended;		/* by an error, or at the end of the time */
	int err[THREADS];
	u32 passes_of_living;	/* after the leader's end */
	bool gone;		/* the process is about to end */
} *shared;

static struct vt_dev dev;
static struct ibv_sge sge;

static void put_file(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY);

	must(fd >= 0 && write(fd, what, strlen(what)) > 0);
	close(fd);
}

/* kB of the host. */
static long gone_anonymous(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	long kb = -1;

	must(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "AnonPages: %ld", &kb) == 1)
			break;
	fclose(file);
	return kb;
}

static int touch_once(u64 addr, u32 len)
{
	struct ibv_sge part = { addr, len, sge.lkey };

	return ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			     IBV_ADVISE_MR_FLAG_FLUSH, &part, 1);
}

/* Until an error: first small ranges, then all. */
static void *advise_for_ever(void *arg)
{
	u64 end = vt_now_ms() + LONG;
	int *err = arg;

	__atomic_add_fetch(&shared->advising, 1, __ATOMIC_RELEASE);
	while (vt_now_ms() < end && !*err)
		*err = touch_once(sge.addr, __atomic_load_n(&shared->gone,
							    __ATOMIC_ACQUIRE) ?
					    sge.length : 64 * 4096);
	__atomic_add_fetch(&shared->ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* The child has the descriptor, but not the memory. */
static void heir_main(void)
{
	pthread_t thread[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, advise_for_ever,
			       &shared->err[i]);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

/* The last thread: the first one has ended, but the process lives on. */
static void *last_thread(void *arg)
{
	u32 i;

	usleep(300000);
	for (i = 0; i < 20; i++)
		shared->passes_of_living += !touch_once(sge.addr, 4096);
	__atomic_store_n(&shared->gone, true, __ATOMIC_RELEASE);
	syscall(SYS_exit_group, 0);
	return NULL;
}

static void owner_main(enum how how)
{
	pthread_t thread;
	struct ibv_mr *mr;
	void *mem;

	put_file(GROUP "/cgroup.procs", "0");
	if (vt_open(&dev, vt_name_a(), VT_IPV4, -1))
		_exit(2);
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	mr = ibv_reg_mr(dev.pd, mem, SIZE,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	if (mem == MAP_FAILED || !mr)
		_exit(2);
	sge = (struct ibv_sge){ (uintptr_t)mem, SIZE, mr->lkey };
	if (!fork())
		heir_main();
	while (__atomic_load_n(&shared->advising, __ATOMIC_ACQUIRE) < THREADS)
		usleep(1000);
	if (how == LEADER_EXITS) {
		pthread_create(&thread, NULL, last_thread, NULL);
		syscall(SYS_exit, 0);
	}
	__atomic_store_n(&shared->gone, true, __ATOMIC_RELEASE);
	if (how == EXECS)
		execl("/bin/sleep", "sleep", "1000", NULL);
	_exit(0);
}

/* Have all threads stopped, each with this error? */
static void heir_stops(void)
{
	u64 end = vt_now_ms() + LONG / 2;
	int i;

	while (__atomic_load_n(&shared->ended, __ATOMIC_ACQUIRE) < THREADS &&
	       vt_now_ms() < end)
		usleep(10000);
	ktap_eq(shared->ended, THREADS);
	for (i = 0; i < THREADS; i++)
		ktap_eq(shared->err[i], EFAULT);
}

static void given_back(long before)
{
	u64 end = vt_now_ms() + LONG;
	long now;

	do {
		usleep(10000);
		now = gone_anonymous();
	} while (now > before + SLACK && vt_now_ms() < end);
	if (now > before + SLACK)
		ktap_fail("%ld kB of anonymous memory, %ld before", now,
			  before);
}

static void try_gone(enum how how)
{
	long before = gone_anonymous(), most;
	int status;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	fflush(stdout);
	pid = fork();
	must(pid >= 0);
	if (!pid)
		owner_main(how);
	if (how != EXECS)
		waitpid(pid, &status, 0);
	heir_stops();
	most = gone_anonymous();
	if (most > before + 2 * SLACK)
		ktap_fail("%ld kB of anonymous memory, %ld before", most,
			  before);
	if (how == LEADER_EXITS)
		ktap_eq(shared->passes_of_living, 20);
	given_back(before);
	if (how == EXECS) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
}

static void it_exits(void)
{
	try_gone(EXITS);
}

static void it_becomes_another_program(void)
{
	try_gone(EXECS);
}

static void its_first_thread_ends_before_the_last(void)
{
	try_gone(LEADER_EXITS);
}

#define TESTS(X)							\
	X(it_exits) X(it_becomes_another_program)			\
	X(its_first_thread_ends_before_the_last)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || setjmp(vt_leave))
		return vt_bail();
	put_file(GROUP "/memory.max", LIMIT);
	return vt_run(argc > 1 ? argv[1] : NULL);
}
