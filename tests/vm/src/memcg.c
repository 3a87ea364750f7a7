// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A process with a memory limit fills each kind of resource. The limit holds: the
 * process gets ENOMEM or is killed, the kernel's memory outside of the limit grows
 * little, and all of it comes back. Runs as root where the first device's netdev
 * is; other traffic is judged by the caller.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "vt.h"
#include "vt_test.h"

/* memcg.sh makes it. */
#define GROUP	"/sys/fs/cgroup/cairn_memcg"
#define LIMIT	(16L << 20)
#define MOST	(1 << 20)	/* of any resource */
#define MOST_PDS 5000		/* which are not charged */
#define UNREAD	4		/* events of an object */

/* Between the process that fills and the one that looks. */
static struct shared {
	u32 made;
	int err;	/* of the creation that failed */
	bool full;	/* near the limit, or at the end: waits to be looked at */
	bool seen;
} *shared;

static struct vt_dev dev;
static struct ibv_cq *cq;
static struct ibv_comp_channel *channel;
static struct ibv_ah_attr where;
static u8 page[4096] __aligned(4096);

static void *make_small_qp(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
		.send_cq = cq, .recv_cq = cq,
	};

	return ibv_create_qp(dev.pd, &init);
}

static void *make_large_qp(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { 4096, 4096, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
		.send_cq = cq, .recv_cq = cq,
	};

	return ibv_create_qp(dev.pd, &init);
}

static void *make_cq(void)
{
	return ibv_create_cq(dev.ctx, 1000, NULL, NULL, 0);
}

static void *make_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { 500, 1, 0 } };

	return ibv_create_srq(dev.pd, &init);
}

static void *make_mr(void)
{
	return ibv_reg_mr(dev.pd, page, sizeof(page), VT_ACCESS);
}

static void *make_ah(void)
{
	return ibv_create_ah(dev.pd, &where);
}

static void *make_mw(void)
{
	return ibv_alloc_mw(dev.pd, IBV_MW_TYPE_1);
}

static void *make_pd(void)
{
	return ibv_alloc_pd(dev.ctx);
}

/* A CQ with completion events: of work requests that are flushed. */
static void *make_cq_events(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_cq *own = ibv_create_cq(dev.ctx, 2, NULL, channel, 0);
	struct ibv_qp_init_attr init = {
		.cap = { 2, 2, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
		.send_cq = own, .recv_cq = own,
	};
	struct ibv_qp *qp = own ? ibv_create_qp(dev.pd, &init) : NULL;
	struct ibv_wc wc;
	int i;

	if (!qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					    IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ||
	    vt_to_state(qp, IBV_QPS_ERR))
		return NULL;
	for (i = 0; i < UNREAD; i++)
		if (ibv_req_notify_cq(own, 0) || ibv_post_send(qp, &wr, &bad) ||
		    vt_poll(own, &wc, 1, 10000))
			return NULL;
	return qp;
}

/* An SRQ with asynchronous events: fewer receives are posted than each limit. */
static void *make_async_events(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_srq *srq = make_srq();
	int i;

	for (i = 0; srq && i < UNREAD; i++)
		if (ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT))
			return NULL;
	return srq;
}

static void *make_context(void)
{
	struct ibv_context *ctx = ibv_open_device(dev.ctx->device);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_cq *own = pd ? ibv_create_cq(ctx, 4, NULL, NULL, 0) : NULL;
	struct ibv_qp_init_attr init = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
		.send_cq = own, .recv_cq = own,
	};

	return own ? ibv_create_qp(pd, &init) : NULL;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		vt_err("%s: %s", path, text);
	if (fd >= 0)
		close(fd);
}

static long read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = -1;

	if (f) {
		if (fscanf(f, "%ld", &n) != 1)
			n = -1;
		fclose(f);
	}
	return n;
}

static void wait_seen(void)
{
	shared->full = true;
	while (!__atomic_load_n(&shared->seen, __ATOMIC_ACQUIRE))
		usleep(1000);
}

static void fill(void *(*make)(void), u32 most)
{
	struct rlimit files = { 65536, 65536 };

	setrlimit(RLIMIT_NOFILE, &files);
	write_file(GROUP "/cgroup.procs", "0");
	if (vt_open(&dev, vt_name_a(), VT_IPV4, -1))
		_exit(1);
	cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	channel = ibv_create_comp_channel(dev.ctx);
	where = (struct ibv_ah_attr) {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = dev.gid, .sgid_index = dev.gid_index,
			 .hop_limit = 64 },
	};
	while (shared->made < most) {
		errno = 0;
		if (!make()) {
			shared->err = errno;
			break;
		}
		shared->made++;
		if (!shared->full && !(shared->made % 16) &&
		    read_file(GROUP "/memory.current") > LIMIT * 3 / 4)
			wait_seen();
	}
	if (!shared->full)
		wait_seen();
	_exit(0);
}

/* kB that no process has and nobody can get. */
static long used_memory(void)
{
	return vt_meminfo("MemTotal") - vt_meminfo("MemFree") -
	       vt_meminfo("Cached") - vt_meminfo("Buffers");
}

static bool wait_free(long kb, int ms)
{
	u64 end = vt_now_ms() + ms;

	while (read_file(GROUP "/memory.current") / 1024 > kb) {
		if (vt_now_ms() > end)
			return false;
		usleep(20000);
	}
	return true;
}

static void fill_up_to(const char *name, void *(*make)(void), u32 least, u32 most)
{
	long before, grown;
	int status = 0;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	before = used_memory();
	fflush(stdout);
	pid = fork();
	must(pid >= 0);
	if (!pid)
		fill(make, most);
	while (!__atomic_load_n(&shared->full, __ATOMIC_ACQUIRE) &&
	       !waitpid(pid, &status, WNOHANG))
		usleep(1000);
	grown = used_memory() - before;
	__atomic_store_n(&shared->seen, true, __ATOMIC_RELEASE);
	waitpid(pid, &status, 0);
	ktap_diag("%s: %u, errno %d, status %#x; at 3/4 of %ld kB the host misses %ld kB",
		  name, shared->made, shared->err, status, LIMIT / 1024, grown);
	ktap_ok(shared->made >= least);
	/* ENOMEM, or the out-of-memory killer of its own group */
	ktap_ok(shared->err == ENOMEM || (most < MOST && shared->made == most) ||
		(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	/* the rest is ib_core's, and what a kernel under pressure does by itself */
	ktap_ok(grown < 4 * LIMIT / 1024);
	ktap_ok(wait_free(4096, vt_ms(30000)));
}

static void fill_one(const char *name, void *(*make)(void), u32 least)
{
	fill_up_to(name, make, least, MOST);
}

static void small_qps(void) { fill_one("small QPs", make_small_qp, 200); }
static void large_qps(void) { fill_one("large QPs", make_large_qp, 5); }
static void cqs(void) { fill_one("CQs", make_cq, 100); }
static void srqs(void) { fill_one("SRQs", make_srq, 100); }
static void mrs(void) { fill_one("MRs", make_mr, 1000); }
static void ahs(void) { fill_one("AHs", make_ah, 1000); }
static void mws(void) { fill_one("MWs", make_mw, 1000); }
static void pds(void) { fill_up_to("PDs", make_pd, 1000, MOST_PDS); }
static void cq_events(void) { fill_one("CQs with events", make_cq_events, 50); }
static void async_events(void) { fill_one("SRQs with events", make_async_events, 50); }
static void contexts(void) { fill_one("contexts", make_context, 50); }

#define TESTS(X)							\
	X(small_qps) X(large_qps) X(cqs) X(srqs) X(mrs) X(mws) X(pds) X(ahs)	\
	X(cq_events) X(async_events) X(contexts)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	char limit[32];

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(limit, sizeof(limit), "%ld", LIMIT);
	write_file(GROUP "/memory.max", limit);
	return vt_run(argc > 1 ? argv[1] : NULL);
}
