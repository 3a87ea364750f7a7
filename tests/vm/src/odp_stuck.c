// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions on demand whose pages do not come: the file system is frozen, and a page of a
 * file cannot be made writable. Other processes must go on meanwhile.
 *
 *	odp_stuck DIR [TEST]	DIR: of a file system of its own, which is frozen
 *	odp_stuck DIR hold	says "ready"; told by SIGUSR1 that DIR is frozen it has pages
 *				faulted in that do not come, says "stuck" and waits to be
 *				killed
 *	odp_stuck DIR call	the same, but a system call's reply goes to such a page
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/cairndv.h>
#include <linux/fs.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define LONG		vt_ms(30000)
#define PAGE		4096u
#define ODP_RW		(IBV_ACCESS_ON_DEMAND | VT_ACCESS)
#define NOBODY		65534
/* The driver's shares of a process and of a user (mem/odp_job.h) */
#define PROCESS_JOBS	16
#define USER_JOBS	128
/* more than all threads, from one process and from many */
#define MANY		560u
#define PROCESSES	14u
#define EACH		40u

static struct vt_dev dev;
static const char *dir;
static int dir_fd = -1;

/*
 * A process whose pages do not come. One queue pair a page, connected to itself.
 */

struct stuck {
	pid_t pid;
	int tell, hear;		/* pipes, as the parent sees them */
	u32 first, n;		/* pages of the file */
};

struct stuck_qp {
	struct vt_end end;
	struct ibv_mr *mr;
	u32 ticket;
};

static int stuck_qp_open(struct stuck_qp *qp, u8 *page)
{
	struct vt_opts opts = VT_OPTS;

	opts.cap.max_send_wr = 4;
	opts.cap.max_recv_wr = 4;
	opts.cqe = 8;
	if (vt_end_create(&qp->end, &dev, &opts, PAGE) || vt_to_init(&qp->end) ||
	    vt_to_rtr(&qp->end, &qp->end) || vt_to_rts(&qp->end))
		return -1;
	qp->mr = ibv_reg_mr(dev.pd, page, PAGE, ODP_RW);
	return qp->mr ? 0 : -1;
}

static void stuck_qp_write(struct stuck_qp *qp, const u8 *page, u32 number)
{
	struct ibv_sge sge = { (uintptr_t)qp->end.buf, PAGE, qp->end.mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
		.wr.rdma = { (uintptr_t)page, qp->mr->rkey },
	}, *bad;

	vt_fill(qp->end.buf, PAGE, number);
	if (ibv_post_send(qp->end.qp, &wr, &bad))
		_exit(3);
}

static int stuck_released(u32 ticket)
{
	u64 end = vt_now_ms() + LONG;
	unsigned int idle = 0;
	int err;

	while ((err = cairndv_query_release(dev.ctx, ticket)) == EBUSY &&
	       vt_now_ms() < end)
		vt_relax(&idle);
	return err;
}

/* 'w' writes to all pages, 'e' ends all regions, 'c' waits for either; 'q' quits */
static void stuck_obey(struct stuck_qp *qps, u8 *mem, const struct stuck *stuck,
		       char what)
{
	struct ibv_wc wc;
	u32 i;

	for (i = 0; i < stuck->n; i++) {
		struct stuck_qp *qp = &qps[i];

		switch (what) {
		case 'w':
			stuck_qp_write(qp, mem + i * PAGE, stuck->first + i);
			break;
		case 'e':
			if (cairndv_dereg_mr_async(qp->mr, &qp->ticket))
				_exit(4);
			break;
		case 'c':
			if (qp->ticket ? stuck_released(qp->ticket) :
			    vt_poll(qp->end.scq, &wc, 1, LONG) || wc.status)
				_exit(5);
			break;
		}
	}
}

static u8 *stuck_map(const struct stuck *stuck)
{
	char path[200];
	int fd;
	u8 *mem;
	u32 i;

	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR);
	mem = mmap(NULL, stuck->n * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   (off_t)stuck->first * PAGE);
	if (fd < 0 || mem == MAP_FAILED)
		_exit(1);
	/* The test needs pages that are present and not yet writable. */
	for (i = 0; i < stuck->n; i++)
		if (*(volatile u8 *)(mem + i * PAGE))
			_exit(1);
	return mem;
}

static void stuck_main(const struct stuck *stuck, int hear, int tell, uid_t uid)
{
	struct stuck_qp *qps = calloc(stuck->n, sizeof(*qps));
	u8 *mem = stuck_map(stuck);
	u32 i;
	char c;

	if (!qps || (uid && setuid(uid)) ||
	    vt_open(&dev, vt_name_b(), VT_IPV4, -1))
		_exit(2);
	for (i = 0; i < stuck->n; i++)
		if (stuck_qp_open(&qps[i], mem + i * PAGE))
			_exit(2);
	while (write(tell, "", 1) == 1 && read(hear, &c, 1) == 1 && c != 'q')
		stuck_obey(qps, mem, stuck, c);
	_exit(0);
}

static void stuck_start(struct stuck *stuck, u32 first, u32 n, uid_t uid)
{
	int to[2], from[2];

	stuck->first = first;
	stuck->n = n;
	must(!pipe(to) && !pipe(from));
	fflush(stdout);
	signal(SIGPIPE, SIG_IGN);
	stuck->pid = fork();
	must(stuck->pid >= 0);
	if (!stuck->pid) {
		close(to[1]);
		close(from[0]);
		stuck_main(stuck, to[0], from[1], uid);
	}
	close(to[0]);
	close(from[1]);
	stuck->tell = to[1];
	stuck->hear = from[0];
}

/* Has a process done its command? */
static bool stuck_heard(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char c;

	return poll(&pfd, 1, ms) == 1 && read(fd, &c, 1) == 1;
}

static void stuck_tell(const struct stuck *stuck, char what)
{
	must(write(stuck->tell, &what, 1) == 1);
	must(stuck_heard(stuck->hear, 2 * LONG));
}

/* Other processes have its pipes, too: it does not see that one is closed. */
static int stuck_end(struct stuck *stuck)
{
	int status = -1;

	if (write(stuck->tell, "q", 1) != 1)
		kill(stuck->pid, SIGKILL);
	close(stuck->tell);
	waitpid(stuck->pid, &status, 0);
	close(stuck->hear);
	return status;
}

/*
 * The others.
 */

/* A transfer into memory on demand, and the asynchronous end of such a region. */
static void other_main(int tell)
{
	u8 *mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stuck_qp qp = {};
	struct ibv_wc wc;

	if (mem == MAP_FAILED || vt_open(&dev, vt_name_b(), VT_IPV4, -1) ||
	    stuck_qp_open(&qp, mem))
		_exit(1);
	stuck_qp_write(&qp, mem, 77);
	if (vt_poll(qp.end.scq, &wc, 1, LONG) || wc.status ||
	    vt_check(mem, PAGE, 77) != -1)
		_exit(1);
	if (write(tell, "", 1) != 1 ||
	    cairndv_dereg_mr_async(qp.mr, &qp.ticket) || stuck_released(qp.ticket) ||
	    write(tell, "", 1) != 1)
		_exit(1);
	_exit(0);
}

/* A process of the same user, whose page has to wait. Its regions and its queue pair end
 * nevertheless, in this order.
 */
static void kin_main(int tell)
{
	u8 *mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stuck_qp qp[2] = {};
	u64 waits;
	u32 i;

	if (mem == MAP_FAILED || setuid(NOBODY) ||
	    vt_open(&dev, vt_name_b(), VT_IPV4, -1))
		_exit(1);
	for (i = 0; i < 2; i++) {
		if (stuck_qp_open(&qp[i], mem))
			_exit(1);
		waits = vt_counter(&dev, "odp_waits");
		stuck_qp_write(&qp[i], mem, 77);
		if (vt_counter_reaches(&dev, "odp_waits", waits + 1) <= waits)
			_exit(1);
	}
	if (ibv_dereg_mr(qp[0].mr) || write(tell, "", 1) != 1 ||
	    ibv_destroy_qp(qp[1].end.qp) || write(tell, "", 1) != 1)
		_exit(1);
	_exit(0);
}

/* The number of steps that another process has done, of two. It may not end for long, as
 * it waits until the file system is thawed.
 */
static int other_tries(pid_t *pid, void (*what)(int tell))
{
	int from[2], n = 0;

	if (pipe(from))
		return -1;
	fflush(stdout);
	*pid = fork();
	if (!*pid)
		what(from[1]);
	close(from[1]);
	while (n < 2 && stuck_heard(from[0], 2 * LONG))
		n++;
	close(from[0]);
	return n;
}

static void other_end(pid_t pid, int done)
{
	if (done != 2)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void file_make(u32 pages)
{
	char path[200], zeros[PAGE] = {};
	int fd;

	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	must(fd >= 0 && !fchmod(fd, 0666));
	while (pages--)
		must(write(fd, zeros, PAGE) == (ssize_t)PAGE);
	must(!fsync(fd));
	close(fd);
}

static u32 file_check(u32 pages)
{
	char path[200];
	u8 page[PAGE];
	u32 i, right = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDONLY);
	must(fd >= 0);
	for (i = 0; i < pages; i++)
		right += pread(fd, page, PAGE, (off_t)i * PAGE) ==
				 (ssize_t)PAGE &&
			 vt_check(page, PAGE, i) == -1;
	close(fd);
	return right;
}

static u32 stuck_smaller(u32 a, u32 b)
{
	return a < b ? a : b;
}

/* @processes of a user, @n pages each, in turn: they write, they end their regions (if
 * @ends), they are killed (if @kills). Without the last two all pages are written in the
 * end.
 */
static void try_stuck(u32 processes, u32 n, uid_t uid, bool ends, bool kills)
{
	u64 faults = vt_counter(&dev, "odp_faults");
	u64 waits = vt_counter(&dev, "odp_waits");
	u32 i, busy = stuck_smaller(processes * PROCESS_JOBS, USER_JOBS);
	struct stuck stuck[PROCESSES] = {};
	int done = 0, kin_done = 2;
	pid_t other = 0, kin = 0;
	u64 faulted, waited;

	file_make(processes * n);
	for (i = 0; i < processes; i++)
		stuck_start(&stuck[i], i * n, n, uid);
	for (i = 0; i < processes; i++)
		must(stuck_heard(stuck[i].hear, 4 * LONG));
	must(!ioctl(dir_fd, FIFREEZE, 0));
	for (i = 0; i < processes; i++)
		stuck_tell(&stuck[i], 'w');
	faulted = vt_counter_reaches(&dev, "odp_faults",
				     faults + processes * n) - faults;
	waited = vt_counter(&dev, "odp_waits") - waits;
	if (ends)
		stuck_tell(&stuck[0], 'e');
	if (kills)
		kill(stuck[0].pid, SIGKILL);
	done = other_tries(&other, other_main);
	if (uid)
		kin_done = other_tries(&kin, kin_main);
	must(!ioctl(dir_fd, FITHAW, 0));
	ktap_eq(faulted, processes * n);
	ktap_eq(waited, processes * n - busy);
	ktap_eq(done, 2);
	ktap_eq(kin_done, 2);
	other_end(other, done);
	if (kin)
		other_end(kin, kin_done);
	for (i = 0; i < processes; i++) {
		if (!kills)
			stuck_tell(&stuck[i], 'c');
		ktap_eq(stuck_end(&stuck[i]), kills ? SIGKILL : 0);
	}
	if (!ends && !kills)
		ktap_eq(file_check(processes * n), processes * n);
}

static void one_process(void)
{
	try_stuck(1, MANY, 0, false, false);
}

static void one_user(void)
{
	try_stuck(PROCESSES, EACH, NOBODY, false, false);
}

static void its_regions_end(void)
{
	try_stuck(1, MANY, 0, true, false);
}

static void it_is_killed(void)
{
	try_stuck(1, MANY, 0, false, true);
}

/* A process with pending requests of peers, and with advice that it waits for. */
#define HOLD	3u

static sem_t hold_go;

static void *hold_advise(void *arg)
{
	struct ibv_sge *sge = arg;
	int err;

	sem_wait(&hold_go);
	err = ibv_advise_mr(dev.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			    IBV_ADVISE_MR_FLAG_FLUSH, sge, 1);
	printf("advised: %s\n", strerror(err));
	return NULL;
}

static int stuck_hold(void)
{
	const struct stuck stuck = { .n = HOLD + 1 };
	struct stuck_qp qps[HOLD] = {};
	struct ibv_sge sge;
	pthread_t thread;
	sigset_t told;
	u64 faults;
	u8 *mem;
	u32 i;
	int sig;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (setjmp(vt_leave))
		return 1;
	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	must(!sigprocmask(SIG_BLOCK, &told, NULL));
	file_make(HOLD + 1);
	mem = stuck_map(&stuck);
	for (i = 0; i < HOLD; i++)
		must(!stuck_qp_open(&qps[i], mem + i * PAGE));
	sge.addr = (uintptr_t)mem + HOLD * PAGE;
	sge.length = PAGE;
	sge.lkey = ibv_reg_mr(dev.pd, mem + HOLD * PAGE, PAGE, ODP_RW)->lkey;
	/* A fault that does not end blocks changes of mappings: begin threads before it. */
	must(!sem_init(&hold_go, 0, 0) &&
	     !pthread_create(&thread, NULL, hold_advise, &sge));
	faults = vt_counter(&dev, "odp_faults");
	puts("ready");
	sigwait(&told, &sig);
	for (i = 0; i < HOLD; i++)
		stuck_qp_write(&qps[i], mem + i * PAGE, i);
	sem_post(&hold_go);
	must(vt_counter_reaches(&dev, "odp_faults", faults + HOLD) >=
	     faults + HOLD);
	usleep(300000);
	puts("stuck");
	for (;;)
		pause();
}

static void *call_query(void *page)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_query_device cmd;
	} query = {
		.hdr.command = IB_USER_VERBS_CMD_QUERY_DEVICE,
		.hdr.in_words = sizeof(query) / 4,
		.hdr.out_words = sizeof(struct ib_uverbs_query_device_resp) / 4,
		.cmd.response = (uintptr_t)page,
	};

	printf("called: %zd\n", write(dev.ctx->cmd_fd, &query, sizeof(query)));
	return NULL;
}

static int stuck_call(void)
{
	const struct stuck stuck = { .n = 1 };
	pthread_t thread;
	sigset_t told;
	u8 *mem;
	int sig;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (setjmp(vt_leave))
		return 1;
	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	must(!sigprocmask(SIG_BLOCK, &told, NULL));
	file_make(1);
	mem = stuck_map(&stuck);
	puts("ready");
	sigwait(&told, &sig);
	must(!pthread_create(&thread, NULL, call_query, mem));
	usleep(300000);
	puts("stuck");
	for (;;)
		pause();
}

#define TESTS(X)							\
	X(one_process) X(one_user) X(its_regions_end) X(it_is_killed)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	dir = argc > 1 ? argv[1] : ".";
	dir_fd = open(dir, O_RDONLY);
	if (dir_fd < 0 || vt_open(&dev, vt_name_b(), VT_IPV4, -1))
		return vt_bail();
	if (argc > 2 && !strcmp(argv[2], "hold"))
		return stuck_hold();
	if (argc > 2 && !strcmp(argv[2], "call"))
		return stuck_call();
	return vt_run(argc > 2 ? argv[2] : NULL);
}
