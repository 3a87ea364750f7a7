// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys give no access before their region is registered, none to another protection
 * domain, and no hint at other keys. Runs as root, next to other traffic; the caller
 * checks the kernel log.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/userfaultfd.h>
#include <rdma/cairn-abi.h>
#include <rdma/ib_user_verbs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(20000)
#define BUF	65536
#define PAGE	4096
#define TRACING	"/sys/kernel/tracing/"

static struct vt_dev dev[2];
static struct vt_end a, b;

static void open_ends_of(enum ibv_qp_type type)
{
	struct vt_opts opts = VT_OPTS;

	opts.timeout = 18;
	opts.type = type;
	must(!vt_end_create(&a, &dev[0], &opts, BUF));
	must(!vt_end_create(&b, &dev[1], &opts, BUF));
	must(!vt_connect(&a, &b));
}

static void close_ends(void)
{
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

static void keys_drain(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
}

static void keys_reconnect(void)
{
	must(!vt_to_state(a.qp, IBV_QPS_RESET));
	must(!vt_to_state(b.qp, IBV_QPS_RESET));
	keys_drain(a.scq);
	keys_drain(a.rcq);
	keys_drain(b.scq);
	keys_drain(b.rcq);
	must(!vt_connect(&a, &b));
}

/* Post one work request of @end. Return: its completion. */
static struct ibv_wc keys_request(struct vt_end *end, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr.send_flags = IBV_SEND_SIGNALED;
	must(!ibv_post_send(end->qp, &wr, &bad));
	must(!vt_poll(end->scq, &wc, 1, LONG));
	return wc;
}

static struct ibv_sge own_sge(const struct vt_end *end)
{
	return (struct ibv_sge){ (uintptr_t)end->buf, 8, end->mr->lkey };
}

/* The peer READs; after an error both ends are connected again. */
static int peer_reads(u32 rkey, u64 va)
{
	struct ibv_sge sge = own_sge(&a);
	struct ibv_wc wc = keys_request(&a, (struct ibv_send_wr){
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
		.wr.rdma = { va, rkey },
	});

	if (wc.status)
		keys_reconnect();
	return wc.status;
}

/* Bind a window of b to the region of @lkey, @len bytes from @va on. */
static struct ibv_wc keys_binds(struct ibv_mw *mw, u32 lkey, u64 va, u64 len)
{
	struct ibv_mr region = {
		.context = dev[1].ctx, .pd = dev[1].pd, .addr = (void *)va,
		.length = len, .lkey = lkey, .rkey = lkey,
	};
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { &region, va, len, IBV_ACCESS_REMOTE_READ },
	};
	struct ibv_wc wc;

	if (mw->type == IBV_MW_TYPE_2)
		return keys_request(&b, (struct ibv_send_wr){
			.opcode = IBV_WR_BIND_MW,
			.bind_mw = { mw, ibv_inc_rkey(mw->rkey), bind.bind_info },
		});
	must(!ibv_bind_mw(b.qp, mw, &bind));
	must(!vt_poll(b.scq, &wc, 1, LONG));
	return wc;
}

/* --- a registration that waits at its reply ------------------------------- */

/* A region of b at this address, for peers. */
#define IOVA	0x700000000000ull

struct registration {
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_reg_mr reg;
		struct cairn_reg_mr_req tail;
	} __attribute__((packed)) cmd;
	pthread_t thread;
	u8 *pages;	/* the test lets the second one be faulted in */
	u8 *memory;
	int uffd;
	int err;
};

static void *registration_run(void *arg)
{
	struct registration *self = arg;
	size_t len = self->cmd.hdr.in_words * 4;

	self->err = write(dev[1].ctx->cmd_fd, &self->cmd, len) < 0 ? errno : 0;
	return NULL;
}

static int open_userfault(void *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)page, PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return fd;
	must(!ioctl(fd, UFFDIO_API, &api));
	must(!ioctl(fd, UFFDIO_REGISTER, &reg));
	return fd;
}

/* Register @memory, with @there bytes of the reply in the first page. Return: false if
 * this kernel has no userfaultfd.
 */
static bool registration_begin(struct registration *self, bool tail,
			       size_t there)
{
	size_t in = sizeof(self->cmd) - (tail ? 0 : sizeof(self->cmd.tail));
	size_t out = sizeof(struct ib_uverbs_reg_mr_resp) +
		     (tail ? sizeof(struct cairn_reg_mr_resp) : 0);
	struct pollfd waits = { .events = POLLIN };
	struct uffd_msg msg;

	memset(self, 0, sizeof(*self));
	self->pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(self->pages != MAP_FAILED);
	memset(self->pages, 0, PAGE);
	self->uffd = open_userfault(self->pages + PAGE);
	if (self->uffd < 0) {
		munmap(self->pages, 2 * PAGE);
		return false;
	}
	self->memory = aligned_alloc(PAGE, BUF);
	must(self->memory);
	memset(self->memory, 'A', BUF);
	self->cmd.hdr.command = IB_USER_VERBS_CMD_REG_MR;
	self->cmd.hdr.in_words = in / 4;
	self->cmd.hdr.out_words = out / 4;
	self->cmd.reg.response = (uintptr_t)self->pages + PAGE - there;
	self->cmd.reg.start = (uintptr_t)self->memory;
	self->cmd.reg.length = BUF;
	self->cmd.reg.hca_va = IOVA;
	self->cmd.reg.pd_handle = dev[1].pd->handle;
	self->cmd.reg.access_flags = IBV_ACCESS_LOCAL_WRITE |
				     IBV_ACCESS_REMOTE_READ |
				     IBV_ACCESS_MW_BIND;
	must(!pthread_create(&self->thread, NULL, registration_run, self));
	waits.fd = self->uffd;
	must(poll(&waits, 1, vt_ms(60000)) == 1);
	must(read(self->uffd, &msg, sizeof(msg)) == sizeof(msg));
	return true;
}

struct reply {
	u32 mr_handle;
	u32 lkey;
};

/* The written part of struct ib_uverbs_reg_mr_resp. */
static struct reply registration_reply(struct registration *self)
{
	return *(struct reply *)(uintptr_t)self->cmd.reg.response;
}

/* Let the rest of the reply be written, or fail. */
static int registration_end(struct registration *self, bool good)
{
	struct uffdio_zeropage zero = {
		.range = { (uintptr_t)self->pages + PAGE, PAGE },
	};

	if (good) {
		must(!ioctl(self->uffd, UFFDIO_ZEROPAGE, &zero));
	} else {
		munmap(self->pages + PAGE, PAGE);
		ioctl(self->uffd, UFFDIO_WAKE, &zero.range);
	}
	pthread_join(self->thread, NULL);
	return self->err;
}

static void registration_free(struct registration *self)
{
	close(self->uffd);
	munmap(self->pages, 2 * PAGE);
	free(self->memory);
}

static int keys_dereg(u32 handle)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_dereg_mr dereg;
	} cmd = {
		.hdr = { IB_USER_VERBS_CMD_DEREG_MR, sizeof(cmd) / 4, 0 },
		.dereg.mr_handle = handle,
	};

	return write(dev[1].ctx->cmd_fd, &cmd, sizeof(cmd)) < 0 ? errno : 0;
}

/* No window is bound to a region whose registration has not returned. If it fails,
 * its key is dead.
 */
static void bound_before_reply(enum ibv_mw_type type, bool good)
{
	struct reply reply;
	struct registration reg;
	struct ibv_mw *mw;

	/* the handle and the local key, which is the remote key */
	if (!registration_begin(&reg, false, 8)) {
		ktap_skip("no userfaultfd");
		return;
	}
	reply = registration_reply(&reg);
	must(reply.lkey);
	open_ends_of(IBV_QPT_RC);
	mw = ibv_alloc_mw(dev[1].pd, type);
	must(mw);
	ktap_eq(keys_binds(mw, reply.lkey, IOVA, BUF).status, IBV_WC_MW_BIND_ERR);
	keys_reconnect();
	ktap_eq(registration_end(&reg, good), good ? 0 : EFAULT);
	ktap_eq(keys_binds(mw, reply.lkey, IOVA, BUF).status,
		good ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR);
	if (!good)
		keys_reconnect();
	ktap_eq(peer_reads(reply.lkey, IOVA),
		good ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
	if (good)
		ktap_eq(keys_dereg(reply.mr_handle), EBUSY);
	must(!ibv_dealloc_mw(mw));
	/* after a failure there is no such handle */
	ktap_eq(!keys_dereg(reply.mr_handle), good);
	ktap_eq(peer_reads(reply.lkey, IOVA), IBV_WC_REM_ACCESS_ERR);
	close_ends();
	registration_free(&reg);
}

static void reply_fails_type_1(void)
{
	bound_before_reply(IBV_MW_TYPE_1, false);
}

static void reply_fails_type_2(void)
{
	bound_before_reply(IBV_MW_TYPE_2, false);
}

static void reply_comes_late(void)
{
	bound_before_reply(IBV_MW_TYPE_1, true);
	bound_before_reply(IBV_MW_TYPE_2, true);
}

/* --- a registration that fails while windows try to be bound ---------------- */

#define BINDERS		2
#define FAILURES	100
#define HELD_FAILURES	5
/* of cairn_delay, which verbs_basic.sh loads */
#define HOLD		"/sys/module/cairn_delay/parameters/bind_ms"

/* Binds a window to a key, without an end. */
struct binder {
	pthread_t thread;
	struct vt_end end, peer;	/* UC: an error needs no new connection */
	struct ibv_mw *mw;
	long tried, bound;
	bool broken;
};

static struct binder binder[BINDERS];
static u32 binders_key;		/* 0: none now */
static bool binders_end;

/* Without must(): the test does not run in this thread. Return: false: it cannot go on. */
static bool binder_tries(struct binder *self, u32 lkey)
{
	struct ibv_mr region = {
		.context = dev[1].ctx, .pd = dev[1].pd, .addr = (void *)IOVA,
		.length = BUF, .lkey = lkey, .rkey = lkey,
	};
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { &region, IOVA, BUF, IBV_ACCESS_REMOTE_READ },
	};
	struct ibv_wc wc;

	self->tried++;
	if (ibv_bind_mw(self->end.qp, self->mw, &bind) ||
	    vt_poll(self->end.scq, &wc, 1, LONG))
		return false;
	self->bound += !wc.status;
	return !wc.status || !vt_to_state(self->end.qp, IBV_QPS_RTS);
}

/* Is a run held after it has counted a window? Without cairn_delay it may be, by chance. */
static bool binder_is_held(void)
{
	FILE *file = fopen(HOLD, "r");
	unsigned int ms = 0;

	if (!file)
		return true;
	must(fscanf(file, "%u", &ms) == 1);
	fclose(file);
	return !ms;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND);
	bool good = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return good;
}

static void *binder_run(void *arg)
{
	struct binder *self = arg;

	while (!__atomic_load_n(&binders_end, __ATOMIC_ACQUIRE) && !self->broken) {
		u32 lkey = __atomic_load_n(&binders_key, __ATOMIC_ACQUIRE);

		if (lkey)
			self->broken = !binder_tries(self, lkey);
		else
			usleep(100);
	}
	return NULL;
}

static void binders_begin(void)
{
	struct vt_opts opts = VT_OPTS;
	int i;

	opts.type = IBV_QPT_UC;
	binders_end = false;
	for (i = 0; i < BINDERS; i++) {
		binder[i] = (struct binder){};
		must(!vt_end_create(&binder[i].peer, &dev[0], &opts, PAGE));
		must(!vt_end_create(&binder[i].end, &dev[1], &opts, PAGE));
		must(!vt_connect(&binder[i].peer, &binder[i].end));
		binder[i].mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_1);
		must(binder[i].mw);
	}
	for (i = 0; i < BINDERS; i++)
		must(!pthread_create(&binder[i].thread, NULL, binder_run,
				     &binder[i]));
}

static void binders_finish(void)
{
	int i;

	__atomic_store_n(&binders_end, true, __ATOMIC_RELEASE);
	for (i = 0; i < BINDERS; i++) {
		pthread_join(binder[i].thread, NULL);
		ktap_diag("%ld attempts", binder[i].tried);
		ktap_ok(!binder[i].broken);
		ktap_eq(binder[i].bound, 0);
		must(!ibv_dealloc_mw(binder[i].mw));
		vt_end_destroy(&binder[i].end);
		vt_end_destroy(&binder[i].peer);
	}
}

/* Return: was the region left, though its registration failed? -1: no userfaultfd. */
static int binders_disturb(void)
{
	struct registration reg;
	struct reply reply;
	bool left;

	if (!registration_begin(&reg, false, 8))
		return -1;
	reply = registration_reply(&reg);
	must(reply.lkey);
	if (!access(HOLD, W_OK))
		must(write_file(HOLD, "300"));
	__atomic_store_n(&binders_key, reply.lkey, __ATOMIC_RELEASE);
	do
		usleep(300);
	while (!binder_is_held());
	ktap_eq(registration_end(&reg, false), EFAULT);
	__atomic_store_n(&binders_key, 0, __ATOMIC_RELEASE);
	left = !keys_dereg(reply.mr_handle);
	registration_free(&reg);
	return left;
}

/* ib_uverbs destroys the region. That succeeds, also while runs look at it. */
static void reply_fails_while_tried(void)
{
	int i, left = 0, found = 0;
	int failures = access(HOLD, W_OK) ? FAILURES : HELD_FAILURES;

	binders_begin();
	for (i = 0; i < failures && found >= 0; i++) {
		found = binders_disturb();
		left += found > 0;
	}
	binders_finish();
	if (found < 0)
		ktap_skip("no userfaultfd");
	ktap_eq(left, 0);
}

/* Hits of a probe since it was set. */
static long keys_hits(const char *probe)
{
	FILE *file = fopen(TRACING "kprobe_profile", "r");
	char line[200], name[100];
	long hits, found = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%99s %ld", name, &hits) == 2 &&
		    !strcmp(name, probe))
			found = hits;
	if (file)
		fclose(file);
	must(found >= 0);
	return found;
}

static void keys_mount_tracing(void)
{
	if (access(TRACING "events", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
}

/* Calls of cairn_key_publish(). */
static long keys_published(void)
{
	return keys_hits("cairn_test_publish");
}

/* A key names no region before the driver's part of the reply is written. */
static void published_before_reply(void)
{
	struct registration reg;
	long before;

	keys_mount_tracing();
	if (!write_file(TRACING "kprobe_events",
			"p:cairn_keys/cairn_test_publish cairn:cairn_key_publish\n")) {
		ktap_skip("no probes");
		return;
	}
	must(write_file(TRACING "events/cairn_keys/enable", "1"));
	before = keys_published();
	if (registration_begin(&reg, true,
			       sizeof(struct ib_uverbs_reg_mr_resp))) {
		ktap_eq(keys_published(), before);
		ktap_eq(registration_end(&reg, false), EFAULT);
		ktap_eq(keys_published(), before);
		registration_free(&reg);
		must(registration_begin(&reg, true,
					sizeof(struct ib_uverbs_reg_mr_resp)));
		ktap_eq(registration_end(&reg, true), 0);
		ktap_eq(keys_published(), before + 1);
		ktap_eq(keys_dereg(registration_reply(&reg).mr_handle), 0);
		registration_free(&reg);
	} else {
		ktap_skip("no userfaultfd");
	}
	must(write_file(TRACING "events/cairn_keys/enable", "0"));
	must(write_file(TRACING "kprobe_events", "-:cairn_keys/cairn_test_publish\n"));
}

/* --- a window that ends while it is bound ----------------------------------- */

#define FREED		"cairn_test_freed"
#define BOUND		"cairn_test_bound"

static bool ending_over;

static void *ending_bind(void *mw)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { b.mr, (uintptr_t)b.buf, 8, IBV_ACCESS_REMOTE_READ },
	};

	return ibv_bind_mw(b.qp, mw, &bind) ? NULL : mw;
}

/* As ibv_dealloc_mw(), but the memory of @arg stays: another thread uses it. */
static void *ending_dealloc(void *arg)
{
	struct ibv_mw *mw = arg;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_dealloc_mw dealloc;
	} cmd = {
		.hdr = { IB_USER_VERBS_CMD_DEALLOC_MW, sizeof(cmd) / 4, 0 },
		.dealloc.mw_handle = mw->handle,
	};
	void *done = write(dev[1].ctx->cmd_fd, &cmd, sizeof(cmd)) < 0 ? NULL : mw;

	__atomic_store_n(&ending_over, true, __ATOMIC_RELEASE);
	return done;
}

/* Was the key free before the binding was over? */
static bool ending_was_early(void)
{
	bool over, early = false;

	do {
		over = __atomic_load_n(&ending_over, __ATOMIC_ACQUIRE);
		/* in this order */
		early |= keys_hits(FREED) && !keys_hits(BOUND);
	} while (!over);
	return early;
}

static void ending_window(struct ibv_mw *mw)
{
	pthread_t binds, ends;
	void *done;

	ending_over = false;
	must(write_file(HOLD, "500"));
	must(!pthread_create(&binds, NULL, ending_bind, mw));
	while (!binder_is_held())
		usleep(300);
	must(!pthread_create(&ends, NULL, ending_dealloc, mw));
	ktap_ok(!ending_was_early());
	pthread_join(ends, &done);
	ktap_ok(done);
	pthread_join(binds, &done);
	ktap_ok(done);
	ktap_eq(keys_hits(FREED), 1);
	ktap_eq(keys_hits(BOUND), 1);
}

/* A run may bind a window that ends, which gives it another key. That one must not be the
 * next key of the index, so the index is not free before.
 */
static void bound_while_it_ends(void)
{
	struct ibv_mw *mw;
	struct ibv_mr *mr;

	keys_mount_tracing();
	if (access(HOLD, W_OK) ||
	    !write_file(TRACING "kprobe_events", "p:cairn_keys/" FREED " cairn:cairn_key_free\n") ||
	    !write_file(TRACING "kprobe_events", "r:cairn_keys/" BOUND " cairn:cairn_mw_bind\n")) {
		ktap_skip("no probes");
		return;
	}
	open_ends_of(IBV_QPT_RC);
	mr = b.mr;
	b.mr = ibv_reg_mr(dev[1].pd, b.buf, BUF, VT_ACCESS | IBV_ACCESS_MW_BIND);
	must(b.mr);
	mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_1);
	must(mw);
	must(write_file(TRACING "events/cairn_keys/enable", "1"));
	ending_window(mw);
	must(write_file(TRACING "events/cairn_keys/enable", "0"));
	must(write_file(TRACING "kprobe_events", "-:cairn_keys/" FREED "\n"));
	must(write_file(TRACING "kprobe_events", "-:cairn_keys/" BOUND "\n"));
	must(!ibv_dereg_mr(b.mr));
	b.mr = mr;
	close_ends();
}

/* --- keys do not tell other keys ------------------------------------------ */

#define DRAWS	8192
#define INDICES	65536

/* Indices repeat as random ones do: about DRAWS^2 / 2 / INDICES times. When an index
 * repeats, the low byte differs from the former one, and cannot be told from it.
 */
static void keys_are_random(void)
{
	static int last[INDICES];
	int i, repeats = 0, same = 0, next = 0, step;

	memset(last, 0xff, sizeof(last));
	for (i = 0; i < DRAWS; i++) {
		struct ibv_mw *mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_2);
		u32 index;

		must(mw);
		index = mw->rkey >> 8;
		must(index && index < INDICES);
		if (last[index] >= 0) {
			step = ((int)(mw->rkey & 0xff) - last[index]) & 0xff;
			repeats++;
			same += !step;
			next += step == 1 || step == 255;
		}
		last[index] = mw->rkey & 0xff;
		must(!ibv_dealloc_mw(mw));
	}
	ktap_diag("%d of %d indices repeat, %d with the next low byte", repeats,
		  DRAWS, next);
	ktap_ok(repeats > 350 && repeats < 700);
	ktap_eq(same, 0);
	ktap_ok(next < repeats / 10);
}

/* Keys that are in use at the same time are independent, too. */
static void keys_are_no_series(void)
{
	int i, near = 0, bits[24] = {};
	struct ibv_mw *mw[1024];

	for (i = 0; i < 1024; i++) {
		int bit;

		mw[i] = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_1);
		must(mw[i]);
		for (bit = 0; bit < 24; bit++)
			bits[bit] += mw[i]->rkey >> bit & 1;
		near += i && abs((int)(mw[i]->rkey >> 8) -
				 (int)(mw[i - 1]->rkey >> 8)) < 64;
	}
	/* 2 are expected, and 512 of each bit with a deviation of 16 */
	ktap_ok(near < 12);
	for (i = 0; i < 24; i++)
		if (abs(bits[i] - 512) > 96)
			ktap_fail("bit %d is set in %d of 1024 keys", i, bits[i]);
	for (i = 0; i < 1024; i++)
		must(!ibv_dealloc_mw(mw[i]));
}

/* A region of no bytes can be registered, and allows no access. */
static void empty_region(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
	};
	struct ibv_mr *mr;
	u64 va;

	open_ends_of(IBV_QPT_RC);
	va = (uintptr_t)b.buf;
	mr = ibv_reg_mr(dev[1].pd, b.buf, 0, VT_ACCESS);
	must(mr);
	ktap_eq(mr->length, 0);
	ktap_eq(peer_reads(mr->rkey, va), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(peer_reads(b.mr->rkey, va), IBV_WC_SUCCESS);
	/* an empty message does not check the key */
	sge = (struct ibv_sge){ va, 0, mr->lkey };
	wr.wr.rdma.remote_addr = (uintptr_t)a.buf;
	wr.wr.rdma.rkey = a.mr->rkey;
	ktap_eq(keys_request(&b, wr).status, IBV_WC_SUCCESS);
	sge.length = 1;
	ktap_eq(keys_request(&b, wr).status, IBV_WC_LOC_PROT_ERR);
	ktap_eq(ibv_dereg_mr(mr), 0);
	close_ends();
}

/* --- regions whose bytes have offsets --------------------------------------- */

#define ZERO_AT		100	/* begins within a page */
#define ZERO_LEN	9000

/* The peer writes @len bytes to @va, which is @at of b's buffer. */
static int peer_writes(u32 rkey, u64 va, size_t at, u32 len)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, len, a.mr->lkey };
	struct ibv_wc wc;

	vt_fill(a.buf, len, at);
	wc = keys_request(&a, (struct ibv_send_wr){
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { va, rkey },
	});
	if (wc.status)
		keys_reconnect();
	else
		ktap_eq(vt_check(b.buf + at, len, at), -1);
	return wc.status;
}

/* b writes @len bytes at @va of its own, which is @at of its buffer, to the peer. */
static void writes_from(u32 lkey, u64 va, size_t at, u32 len)
{
	struct ibv_sge sge = { va, len, lkey };

	vt_fill(b.buf + at, len, at + 1);
	ktap_eq(keys_request(&b, (struct ibv_send_wr){
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)a.buf, a.mr->rkey },
	}).status, IBV_WC_SUCCESS);
	ktap_eq(vt_check(a.buf, len, at + 1), -1);
}

/* Only offsets name bytes of the region. */
static void zero_based_use(const struct ibv_mr *mr)
{
	ktap_eq(peer_writes(mr->rkey, 0, ZERO_AT, ZERO_LEN), 0);
	ktap_eq(peer_writes(mr->rkey, 3990, ZERO_AT + 3990, 20), 0);
	ktap_eq(peer_writes(mr->rkey, ZERO_LEN - 8, ZERO_AT + ZERO_LEN - 8, 8),
		0);
	ktap_eq(peer_writes(mr->rkey, ZERO_LEN - 7, 0, 8),
		IBV_WC_REM_ACCESS_ERR);
	ktap_eq(peer_writes(mr->rkey, -1ull, 0, 8), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(peer_writes(mr->rkey, (uintptr_t)b.buf + ZERO_AT, 0, 8),
		IBV_WC_REM_ACCESS_ERR);
	/* as long as libcairn copies it, and longer */
	writes_from(mr->lkey, 4000, ZERO_AT + 4000, 8);
	writes_from(mr->lkey, 10, ZERO_AT + 10, 8000);
}

static struct ibv_mr *zero_based_mr(int access)
{
	return ibv_reg_mr(dev[1].pd, b.buf + ZERO_AT, ZERO_LEN,
			  VT_ACCESS | IBV_ACCESS_ZERO_BASED | access);
}

static void zero_based(void)
{
	u64 va;
	struct ibv_mr *mr;

	open_ends_of(IBV_QPT_RC);
	va = (uintptr_t)b.buf + ZERO_AT;
	mr = zero_based_mr(0);
	must(mr);
	zero_based_use(mr);
	ktap_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     VT_ACCESS), 0);
	ktap_eq(peer_writes(mr->rkey, va, ZERO_AT, 20), 0);
	ktap_eq(peer_writes(mr->rkey, 0, ZERO_AT, 20), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     VT_ACCESS | IBV_ACCESS_ZERO_BASED), 0);
	zero_based_use(mr);
	ktap_eq(ibv_dereg_mr(mr), 0);
	close_ends();
}

static void zero_based_on_demand(void)
{
	struct ibv_mr *mr;

	open_ends_of(IBV_QPT_RC);
	mr = zero_based_mr(IBV_ACCESS_ON_DEMAND);
	if (mr) {
		zero_based_use(mr);
		ktap_eq(ibv_dereg_mr(mr), 0);
	} else {
		ktap_eq(errno, EOPNOTSUPP);
	}
	close_ends();
}

/* A window is bound at an offset, and has addresses like those or its own offsets. */
static void zero_based_windows(void)
{
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	open_ends_of(IBV_QPT_RC);
	mr = zero_based_mr(IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_1);
	must(mr && mw);
	ktap_eq(keys_binds(mw, mr->lkey, 5000, 100).status, IBV_WC_SUCCESS);
	ktap_eq(peer_reads(mw->rkey, 5092), IBV_WC_SUCCESS);
	ktap_eq(peer_reads(mw->rkey, 5093), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(peer_reads(mw->rkey, 0), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(keys_binds(mw, mr->lkey, ZERO_LEN - 99, 100).status,
		IBV_WC_MW_BIND_ERR);
	keys_reconnect();
	must(!ibv_dealloc_mw(mw));
	ktap_eq(ibv_dereg_mr(mr), 0);
	close_ends();
}

/* --- keys of another protection domain ------------------------------------- */

/* All results that a process sees when it uses a key. */
struct answer {
	long status;
	long vendor;
	long peer_status;
	u64 stale;
	u64 remote;
	u64 local;
};

enum use {
	USE_READ,
	USE_WRITE,
	USE_ATOMIC,
	USE_SEND_INV,
	USE_LOCAL_INV,
	USE_BIND_1,
	USE_BIND_2,
	USE_SEND_FROM,
	USE_RECEIVE_INTO,
	USES
};

static const char *const use_name[USES] = {
	"READ", "WRITE", "atomic", "SEND with invalidate", "LOCAL_INV",
	"BIND_MW of type 1", "BIND_MW of type 2", "SEND from it", "receive into it",
};

static int refused_inv;		/* the receive's status of the last send_inv() */

/* No NAK answers a refused invalidation: the receive's completion says that it is over. */
static struct ibv_wc send_inv(struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr.send_flags = IBV_SEND_SIGNALED;
	must(!ibv_post_send(a.qp, &wr, &bad));
	must(!vt_poll(b.rcq, &wc, 1, LONG));
	refused_inv = wc.status;
	must(!vt_to_state(a.qp, IBV_QPS_ERR));
	must(!vt_poll(a.scq, &wc, 1, LONG));
	return wc;
}

static struct ibv_wc use_from_peer(enum use use, u32 key, u64 va)
{
	static const enum ibv_wr_opcode opcode[] = {
		[USE_READ] = IBV_WR_RDMA_READ,
		[USE_WRITE] = IBV_WR_RDMA_WRITE,
		[USE_ATOMIC] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[USE_SEND_INV] = IBV_WR_SEND_WITH_INV,
		[USE_RECEIVE_INTO] = IBV_WR_SEND,
	};
	struct ibv_sge sge = own_sge(&a);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode[use],
	};

	if (use == USE_ATOMIC) {
		wr.wr.atomic.remote_addr = va;
		wr.wr.atomic.rkey = key;
	} else if (use == USE_SEND_INV) {
		wr.invalidate_rkey = key;
		return send_inv(wr);
	} else {
		wr.wr.rdma.remote_addr = va;
		wr.wr.rdma.rkey = key;
	}
	return keys_request(&a, wr);
}

static struct ibv_wc use_here(enum use use, u32 key, u64 va)
{
	struct ibv_sge sge = { va, 8, key };
	struct ibv_send_wr wr = {
		.opcode = use == USE_LOCAL_INV ? IBV_WR_LOCAL_INV : IBV_WR_SEND,
		.invalidate_rkey = key,
	};
	struct ibv_mw *mw;
	struct ibv_wc wc;

	if (use == USE_BIND_1 || use == USE_BIND_2) {
		mw = ibv_alloc_mw(dev[1].pd, use == USE_BIND_1 ? IBV_MW_TYPE_1 :
								 IBV_MW_TYPE_2);
		must(mw);
		wc = keys_binds(mw, key, va, 8);
		must(!ibv_dealloc_mw(mw));
		return wc;
	}
	if (use == USE_SEND_FROM) {
		wr.sg_list = &sge;
		wr.num_sge = 1;
	}
	return keys_request(&b, wr);
}

/* The increase of a counter. On a busy machine the kernel shows an old value for some
 * time: wait for the increase of a dead key.
 */
static u64 keys_risen(const char *name, u64 before, u64 dead)
{
	return vt_counter_reaches(&dev[1], name, before + dead) - before;
}

/* @dead: the answer to a dead key, NULL: @key is one. */
static struct answer use_key(enum use use, u32 key, u64 va,
			     const struct answer *dead)
{
	struct ibv_sge sge = { va, 8, key };
	struct ibv_recv_wr recv = { .num_sge = use == USE_RECEIVE_INTO,
				    .sg_list = &sge }, *bad;
	struct answer answer = {
		.stale = vt_counter(&dev[1], "stale_keys"),
		.remote = vt_counter(&dev[1], "remote_access_errors"),
		.local = vt_counter(&dev[1], "local_prot_errors"),
		.peer_status = -1,
	};
	struct ibv_wc wc;

	if (use == USE_SEND_INV || use == USE_RECEIVE_INTO)
		must(!ibv_post_recv(b.qp, &recv, &bad));
	wc = use < USE_LOCAL_INV || use == USE_RECEIVE_INTO ?
	     use_from_peer(use, key, va) : use_here(use, key, va);
	answer.status = wc.status;
	answer.vendor = wc.vendor_err;
	if (use == USE_RECEIVE_INTO) {
		must(!vt_poll(b.rcq, &wc, 1, LONG));
		answer.peer_status = wc.status;
	} else if (use == USE_SEND_INV) {
		answer.peer_status = refused_inv;
	}
	if (!dead)
		usleep(500000);
	answer.stale = keys_risen("stale_keys", answer.stale, dead ? dead->stale : 0);
	answer.remote = keys_risen("remote_access_errors", answer.remote,
				   dead ? dead->remote : 0);
	answer.local = keys_risen("local_prot_errors", answer.local,
				  dead ? dead->local : 0);
	return answer;
}

/* A context of its own, as another process would have. */
static struct stranger {
	struct vt_dev dev;
	struct ibv_mr *mr, *on_demand;
	struct ibv_mw *mw;
	u8 *buf;
	u32 dead;
} other;

static void stranger_open(void)
{
	const int access = VT_ACCESS | IBV_ACCESS_MW_BIND;
	struct ibv_mr *mr;

	must(!vt_open(&other.dev, vt_name_b(), VT_IPV4, -1));
	other.buf = aligned_alloc(PAGE, PAGE);
	must(other.buf);
	other.mr = ibv_reg_mr(other.dev.pd, other.buf, PAGE, access);
	must(other.mr);
	other.mw = ibv_alloc_mw(other.dev.pd, IBV_MW_TYPE_2);
	must(other.mw);
	/* NULL on kernels without regions on demand */
	other.on_demand = ibv_reg_mr(other.dev.pd, other.buf, PAGE,
				     VT_ACCESS | IBV_ACCESS_ON_DEMAND);
	mr = ibv_reg_mr(dev[1].pd, other.buf, PAGE, access);
	must(mr);
	other.dead = mr->rkey;
	must(!ibv_dereg_mr(mr));
}

static void stranger_close(void)
{
	ktap_eq(ibv_dealloc_mw(other.mw), 0);
	ktap_eq(ibv_dereg_mr(other.mr), 0);
	if (other.on_demand)
		ktap_eq(ibv_dereg_mr(other.on_demand), 0);
	vt_close(&other.dev);
	free(other.buf);
}

static void same_answer(const char *what, struct answer foreign,
			struct answer dead)
{
	if (memcmp(&foreign, &dead, sizeof(dead)))
		ktap_fail("%s: status %ld (peer %ld), stale_keys %llu, remote %llu, local %llu; a dead key: %ld (%ld), %llu, %llu, %llu",
			  what, foreign.status, foreign.peer_status,
			  foreign.stale, foreign.remote, foreign.local,
			  dead.status, dead.peer_status, dead.stale,
			  dead.remote, dead.local);
}

/* A key of another protection domain is answered and counted like a dead one. */
static void foreign_keys(void)
{
	u32 live[3] = {};
	struct answer dead;
	enum use use;
	u64 va;
	int i;

	stranger_open();
	va = (uintptr_t)other.buf;
	live[0] = other.mr->rkey;
	live[1] = other.mw->rkey;
	live[2] = other.on_demand ? other.on_demand->rkey : other.mr->rkey;
	open_ends_of(IBV_QPT_RC);
	for (use = 0; use < USES; use++) {
		dead = use_key(use, other.dead, va, NULL);
		ktap_ok(dead.status || dead.peer_status > 0);
		keys_reconnect();
		for (i = 0; i < 3; i++) {
			same_answer(use_name[use],
				    use_key(use, live[i], va, &dead), dead);
			keys_reconnect();
		}
	}
	close_ends();
	stranger_close();
}

/* A wrong key does not end an unreliable connection: guesses cost nothing there. */
static void foreign_keys_without_connection(void)
{
	struct answer dead;

	stranger_open();
	open_ends_of(IBV_QPT_UC);
	dead = use_key(USE_WRITE, other.dead, (uintptr_t)other.buf, NULL);
	ktap_eq(dead.status, IBV_WC_SUCCESS);
	ktap_eq(dead.stale, 1);
	same_answer("WRITE of UC",
		    use_key(USE_WRITE, other.mr->rkey, (uintptr_t)other.buf,
			    &dead), dead);
	same_answer("WRITE of UC",
		    use_key(USE_WRITE, other.mw->rkey, (uintptr_t)other.buf,
			    &dead), dead);
	close_ends();
	stranger_close();
}

static int keys_advise(u32 lkey)
{
	struct ibv_sge sge = { (uintptr_t)other.buf, 8, lkey };

	return ibv_advise_mr(dev[1].pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge,
			     1);
}

static void advice_on_foreign_keys(void)
{
	int err;

	stranger_open();
	err = keys_advise(other.dead);
	if (err == EOPNOTSUPP)
		ktap_skip("no advice");
	else
		ktap_eq(err, ENOENT);
	ktap_eq(keys_advise(other.mr->lkey), err);
	ktap_eq(keys_advise(other.mw->rkey), err);
	if (other.on_demand)
		ktap_eq(keys_advise(other.on_demand->lkey), err);
	stranger_close();
}

/* --- a shared receive queue with a protection domain of its own ------------- */

static struct ibv_srq *srq;
static struct ibv_pd *srq_pd;
static struct ibv_mr *srq_mr;

/* b receives through an SRQ of another protection domain than its own. */
static void open_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_qp_init_attr init = {
		.send_cq = NULL, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_send_sge = 1 },
	};
	struct vt_opts opts = VT_OPTS;

	opts.timeout = 18;
	must(!vt_end_create(&a, &dev[0], &opts, BUF));
	must(!vt_end_create(&b, &dev[1], &opts, BUF));
	srq_pd = ibv_alloc_pd(dev[1].ctx);
	must(srq_pd);
	srq = ibv_create_srq(srq_pd, &attr);
	must(srq);
	srq_mr = ibv_reg_mr(srq_pd, b.buf, BUF, VT_ACCESS);
	must(srq_mr);
	must(!ibv_destroy_qp(b.qp));
	init.send_cq = b.scq;
	init.recv_cq = b.rcq;
	init.srq = srq;
	b.qp = ibv_create_qp(dev[1].pd, &init);
	must(b.qp);
	must(!vt_connect(&a, &b));
}

static void close_srq(void)
{
	must(!ibv_destroy_qp(b.qp));
	b.qp = NULL;
	must(!ibv_destroy_srq(srq));
	must(!ibv_dereg_mr(srq_mr));
	must(!ibv_dealloc_pd(srq_pd));
	close_ends();
}

static int srq_receives_into(u32 lkey)
{
	struct ibv_sge to = { (uintptr_t)b.buf + PAGE, 64, lkey };
	struct ibv_recv_wr recv = { .sg_list = &to, .num_sge = 1 }, *bad;
	struct ibv_sge from = own_sge(&a);
	struct ibv_wc sent, received;

	vt_fill(a.buf, 8, lkey);
	memset(b.buf + PAGE, 0, 64);
	must(!ibv_post_srq_recv(srq, &recv, &bad));
	sent = keys_request(&a, (struct ibv_send_wr){
		.sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND,
	});
	must(!vt_poll(b.rcq, &received, 1, LONG));
	if (!received.status) {
		ktap_eq(sent.status, IBV_WC_SUCCESS);
		ktap_ok(!memcmp(a.buf, b.buf + PAGE, 8));
		return 0;
	}
	ktap_eq(sent.status, IBV_WC_REM_OP_ERR);
	ktap_eq(b.buf[PAGE], 0);
	keys_reconnect();
	return received.status;
}

/* Receives name memory of the SRQ's protection domain, peers that of the queue pair's. */
static void receives_of_srq(void)
{
	open_srq();
	ktap_eq(srq_receives_into(srq_mr->lkey), IBV_WC_SUCCESS);
	ktap_eq(srq_receives_into(b.mr->lkey), IBV_WC_LOC_PROT_ERR);
	ktap_eq(srq_receives_into(srq_mr->lkey), IBV_WC_SUCCESS);
	ktap_eq(peer_reads(b.mr->rkey, (uintptr_t)b.buf), IBV_WC_SUCCESS);
	ktap_eq(peer_reads(srq_mr->rkey, (uintptr_t)b.buf),
		IBV_WC_REM_ACCESS_ERR);
	close_srq();
}

/* The queue pair itself reads into memory of its own protection domain. */
static void requests_beside_srq(void)
{
	struct ibv_send_wr wr = {
		.num_sge = 1, .opcode = IBV_WR_RDMA_READ,
	};
	struct ibv_sge sge;

	open_srq();
	sge = own_sge(&b);
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = (uintptr_t)a.buf;
	wr.wr.rdma.rkey = a.mr->rkey;
	ktap_eq(keys_request(&b, wr).status, IBV_WC_SUCCESS);
	sge.lkey = srq_mr->lkey;
	ktap_eq(keys_request(&b, wr).status, IBV_WC_LOC_PROT_ERR);
	close_srq();
}

#define TESTS(X)							\
	X(reply_fails_type_1) X(reply_fails_type_2) X(reply_comes_late)	\
	X(reply_fails_while_tried)					\
	X(published_before_reply) X(bound_while_it_ends)			\
	X(keys_are_random) X(keys_are_no_series) X(empty_region)	\
	X(zero_based) X(zero_based_on_demand) X(zero_based_windows)	\
	X(foreign_keys) X(foreign_keys_without_connection)		\
	X(advice_on_foreign_keys)					\
	X(receives_of_srq) X(requests_beside_srq)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&dev[0], &dev[1], VT_IPV4, argc > 1 ? argv[1] : NULL);
}
