// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows: end b binds them, end a uses their keys. After an error both
 * queue pairs are connected again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(20000)
#define BUF	(256 * 1024)
#define REMOTE	(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | \
		 IBV_ACCESS_REMOTE_ATOMIC)

static struct vt_dev dev[2];
static struct vt_end a, b;
static struct ibv_mr *region;		/* region of b; windows may be bound to it */
static struct ibv_mw *mw;

static void open_ends_of(enum ibv_qp_type qp_type, enum ibv_mw_type type)
{
	struct vt_opts opts = VT_OPTS;

	opts.timeout = 18;
	opts.type = qp_type;
	must(!vt_end_create(&a, &dev[0], &opts, BUF));
	must(!vt_end_create(&b, &dev[1], &opts, BUF));
	must(!vt_connect(&a, &b));
	region = ibv_reg_mr(dev[1].pd, b.buf, BUF, IBV_ACCESS_LOCAL_WRITE |
						   IBV_ACCESS_MW_BIND);
	must(region);
	mw = ibv_alloc_mw(dev[1].pd, type);
	must(mw && mw->type == type);
}

static void open_ends(enum ibv_mw_type type)
{
	open_ends_of(IBV_QPT_RC, type);
}

static void close_ends(void)
{
	if (mw)
		must(!ibv_dealloc_mw(mw));
	must(!ibv_dereg_mr(region));
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

static void mw_reconnect(void)
{
	struct ibv_wc wc;

	must(!vt_to_state(a.qp, IBV_QPS_RESET));
	must(!vt_to_state(b.qp, IBV_QPS_RESET));
	while (ibv_poll_cq(b.scq, 1, &wc) > 0 || ibv_poll_cq(b.rcq, 1, &wc) > 0)
		;
	must(!vt_connect(&a, &b));
}

static int mw_status(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	must(!vt_poll(cq, &wc, 1, LONG));
	return wc.status;
}

static struct ibv_mw_bind_info mw_part(size_t off, size_t len, unsigned int access)
{
	return (struct ibv_mw_bind_info){ region, (uintptr_t)b.buf + off, len,
					  access };
}

static void post_bind(struct ibv_qp *qp, struct ibv_mw *window, u32 rkey,
		      struct ibv_mw_bind_info info)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { window, rkey, info },
	}, *bad;
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = info };

	if (window->type == IBV_MW_TYPE_2)
		must(!ibv_post_send(qp, &wr, &bad));
	else
		must(!ibv_bind_mw(qp, window, &bind));
}

/* Bind mw with the next key. Return: the status. */
static int bind_to(struct ibv_mw_bind_info info)
{
	u32 rkey = ibv_inc_rkey(mw->rkey);
	struct ibv_wc wc;

	post_bind(b.qp, mw, rkey, info);
	must(!vt_poll(b.scq, &wc, 1, LONG));
	if (wc.status)
		return wc.status;
	ktap_eq(wc.opcode, IBV_WC_BIND_MW);
	ktap_eq(mw->rkey, rkey);
	return 0;
}

/* Return: the status of a's access to b's @va. */
static int mw_use(enum ibv_wr_opcode opcode, u32 rkey, u64 va, u32 len)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, len, a.mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { va, rkey },
	}, *bad;
	int result;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = va;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = rkey;
	}
	must(!ibv_post_send(a.qp, &wr, &bad));
	result = mw_status(a.scq);
	if (result)
		mw_reconnect();
	return result;
}

static int write_at(u32 rkey, size_t off, u32 len)
{
	return mw_use(IBV_WR_RDMA_WRITE, rkey, (uintptr_t)b.buf + off, len);
}

/* Post an operation of @end that has a key only. */
static void post_key(struct vt_end *end, enum ibv_wr_opcode opcode, u32 rkey)
{
	struct ibv_send_wr wr = {
		.opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	}, *bad;

	must(!ibv_post_send(end->qp, &wr, &bad));
}

static int local_inv(u32 rkey)
{
	post_key(&b, IBV_WR_LOCAL_INV, rkey);
	return mw_status(b.scq);
}

/* The peer invalidates @rkey. Return: the status of the receive. */
static int remote_inv(u32 rkey)
{
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad;
	struct ibv_wc wc;

	must(!ibv_post_recv(b.qp, &recv, &bad));
	post_key(&a, IBV_WR_SEND_WITH_INV, rkey);
	must(!vt_poll(b.rcq, &wc, 1, LONG));
	if (wc.status) {
		/* No NAK: the peer would try again until its retries end. */
		must(!vt_to_state(a.qp, IBV_QPS_ERR));
		ktap_eq(mw_status(a.scq), IBV_WC_WR_FLUSH_ERR);
		mw_reconnect();
		return wc.status;
	}
	must(!mw_status(a.scq));
	ktap_ok(wc.wc_flags & IBV_WC_WITH_INV);
	ktap_eq(wc.invalidated_rkey, rkey);
	return 0;
}

/* Each right alone, and the two ends of the range. */
static void mw_rights(void)
{
	static const struct {
		unsigned int access;
		enum ibv_wr_opcode opcode;
	} rows[] = {
		{ IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE,
		  IBV_WR_RDMA_WRITE },
		{ IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_READ },
		{ IBV_ACCESS_REMOTE_ATOMIC, IBV_WR_ATOMIC_FETCH_AND_ADD },
	};
	int i, j;

	for (i = 0; i < 3; i++) {
		must(!bind_to(mw_part(4096, 8192, rows[i].access)));
		for (j = 0; j < 3; j++)
			ktap_eq(mw_use(rows[j].opcode, mw->rkey,
				       (uintptr_t)b.buf + 4096, 8),
				i == j ? 0 : IBV_WC_REM_ACCESS_ERR);
		if (mw->type == IBV_MW_TYPE_2)
			must(!local_inv(mw->rkey));
	}
	must(!bind_to(mw_part(4096, 8192, REMOTE)));
	ktap_eq(write_at(mw->rkey, 4096, 8192), 0);
	ktap_eq(write_at(mw->rkey, 4096, 8193), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(write_at(mw->rkey, 4095, 8), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(write_at(mw->rkey, 12288, 1), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(write_at(mw->rkey ^ 1, 4096, 8), IBV_WC_REM_ACCESS_ERR);
	/* The region itself gives peers no access. */
	ktap_eq(write_at(region->rkey, 4096, 8), IBV_WC_REM_ACCESS_ERR);
}

static void type_1(void)
{
	u32 old;

	open_ends(IBV_MW_TYPE_1);
	ktap_eq(write_at(mw->rkey, 0, 8), IBV_WC_REM_ACCESS_ERR);
	mw_rights();
	old = mw->rkey;
	vt_fill(a.buf, 100, 7);
	must(!bind_to(mw_part(100, 100, REMOTE)));
	ktap_eq(write_at(mw->rkey, 100, 100), 0);
	ktap_eq(vt_check(b.buf + 100, 100, 7), -1);
	ktap_eq(write_at(old, 4096, 8), IBV_WC_REM_ACCESS_ERR);
	old = mw->rkey;
	must(!bind_to((struct ibv_mw_bind_info){}));
	ktap_eq(write_at(old, 100, 8), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(write_at(mw->rkey, 100, 8), IBV_WC_REM_ACCESS_ERR);
	must(!bind_to(mw_part(0, BUF, REMOTE)));
	ktap_eq(write_at(mw->rkey, 0, BUF), 0);
	close_ends();
}

static void type_2(void)
{
	u32 old;

	open_ends(IBV_MW_TYPE_2);
	ktap_eq(write_at(mw->rkey, 0, 8), IBV_WC_REM_ACCESS_ERR);
	mw_rights();
	must(!local_inv(mw->rkey));
	ktap_eq(write_at(mw->rkey, 4096, 8), IBV_WC_REM_ACCESS_ERR);
	must(!bind_to(mw_part(0, BUF, REMOTE)));
	old = mw->rkey;
	ktap_eq(remote_inv(old ^ 1), IBV_WC_LOC_ACCESS_ERR);
	ktap_eq(write_at(old, 0, BUF), 0);
	must(!remote_inv(old));
	ktap_eq(write_at(old, 0, 8), IBV_WC_REM_ACCESS_ERR);
	/* The peer's invalidation fails, as the key has ended. */
	ktap_eq(remote_inv(old), IBV_WC_LOC_ACCESS_ERR);
	must(!bind_to(mw_part(0, 10, REMOTE | IBV_ACCESS_ZERO_BASED)));
	ktap_eq(mw_use(IBV_WR_RDMA_WRITE, mw->rkey, 0, 10), 0);
	ktap_eq(mw_use(IBV_WR_RDMA_WRITE, mw->rkey, 3, 8), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(write_at(mw->rkey, 0, 1), IBV_WC_REM_ACCESS_ERR);
	close_ends();
}

static void unreliable(void)
{
	open_ends_of(IBV_QPT_UC, IBV_MW_TYPE_2);
	must(!bind_to(mw_part(0, 4096, IBV_ACCESS_REMOTE_WRITE)));
	vt_fill(a.buf, 4096, 3);
	ktap_eq(write_at(mw->rkey, 0, 4096), 0);
	/* After the WRITE has arrived. */
	must(!vt_to_state(a.qp, IBV_QPS_ERR));
	for (int left = LONG; vt_check(b.buf, 4096, 3) >= 0 && left; left--)
		usleep(1000);
	ktap_eq(vt_check(b.buf, 4096, 3), -1);
	must(!local_inv(mw->rkey));
	close_ends();
}

/* The consumer chooses the low byte of the key; the rest is the window's. */
static void low_byte(void)
{
	u32 key;

	open_ends(IBV_MW_TYPE_2);
	key = mw->rkey;
	post_bind(b.qp, mw, ~key, mw_part(0, BUF, REMOTE));
	must(!mw_status(b.scq));
	ktap_eq(mw->rkey, (key & ~0xffu) | (~key & 0xff));
	ktap_eq(write_at(mw->rkey, 0, 8), 0);
	ktap_eq(write_at(~key, 0, 8), IBV_WC_REM_ACCESS_ERR);
	must(!local_inv(mw->rkey));
	close_ends();
}

/* A window of type 2 belongs to the queue pair that bound it: only its peer uses and ends
 * it, and only its own requests do.
 */
static void other_queue_pair(void)
{
	struct vt_end a1, b1;
	u32 key;

	open_ends(IBV_MW_TYPE_2);
	a1 = a;
	b1 = b;
	must(!vt_end_create(&a, &dev[0], &a1.o, BUF));
	must(!vt_end_create(&b, &dev[1], &b1.o, BUF));
	must(!vt_connect(&a, &b));
	post_bind(b1.qp, mw, mw->rkey + 1, (struct ibv_mw_bind_info){
		region, (uintptr_t)b1.buf, BUF, REMOTE });
	must(!mw_status(b1.scq));
	key = mw->rkey;
	ktap_eq(mw_use(IBV_WR_RDMA_WRITE, key, (uintptr_t)b1.buf, 8),
		IBV_WC_REM_ACCESS_ERR);
	ktap_eq(remote_inv(key), IBV_WC_LOC_ACCESS_ERR);
	ktap_eq(local_inv(key), IBV_WC_MW_BIND_ERR);
	mw_reconnect();
	vt_end_destroy(&b);
	vt_end_destroy(&a);
	a = a1;
	b = b1;
	ktap_eq(write_at(key, 0, 8), 0);
	must(!local_inv(key));
	/* It is bound to none: any of them may. */
	must(!vt_end_create(&b, &dev[1], &b1.o, BUF));
	must(!vt_to_state(a.qp, IBV_QPS_RESET) && !vt_connect(&a, &b));
	must(!local_inv(key));
	vt_end_destroy(&b);
	b = b1;
	close_ends();
}

struct refusal {
	const char *name;
	struct ibv_mw_bind_info info;
	enum ibv_mw_type types;		/* 0: both */
};

/* A forbidden bind: the queue pair enters the error state, the window stays. */
static void mw_refuse(const struct refusal *row)
{
	u32 old = mw->rkey;

	if (row->types && row->types != mw->type)
		return;
	if (!ktap_eq(bind_to(row->info), IBV_WC_MW_BIND_ERR))
		ktap_diag("%s, type %d", row->name, mw->type);
	mw->rkey = old;
	mw_reconnect();
}

static void refused_of(enum ibv_mw_type type)
{
	struct ibv_mr *plain, *reading, *foreign;
	struct ibv_mw *other, *own;
	struct ibv_pd *pd;
	size_t i;

	open_ends(type);
	pd = ibv_alloc_pd(dev[1].ctx);
	must(pd);
	plain = ibv_reg_mr(dev[1].pd, b.buf, BUF, VT_ACCESS);
	reading = ibv_reg_mr(dev[1].pd, b.buf, BUF, IBV_ACCESS_MW_BIND);
	foreign = ibv_reg_mr(pd, b.buf, BUF, IBV_ACCESS_LOCAL_WRITE |
					     IBV_ACCESS_MW_BIND);
	other = ibv_alloc_mw(pd, type);
	must(plain && reading && foreign && other);

	struct ibv_mr gone = { .pd = dev[1].pd, .lkey = 0xffffff00 };
	struct ibv_mr window = { .pd = dev[1].pd, .lkey = mw->rkey };
	u64 at = (uintptr_t)b.buf;
	const struct refusal rows[] = {
		{ "region without MW_BIND",
		  { plain, at, 8, IBV_ACCESS_REMOTE_READ }, 0 },
		{ "write, region without LOCAL_WRITE",
		  { reading, at, 8, IBV_ACCESS_REMOTE_WRITE }, 0 },
		{ "atomic, region without LOCAL_WRITE",
		  { reading, at, 8, IBV_ACCESS_REMOTE_ATOMIC }, 0 },
		{ "before the region", { region, at - 1, 8, REMOTE }, 0 },
		{ "behind the region", { region, at, BUF + 1, REMOTE }, 0 },
		{ "wrap", { region, at + 8, ~0ull, REMOTE }, 0 },
		{ "unknown region", { &gone, at, 8, REMOTE }, 0 },
		{ "a window is no region", { &window, at, 8, REMOTE }, 0 },
		{ "unknown rights", { region, at, 8, REMOTE | 1 << 10 }, 0 },
		{ "windows of the window",
		  { region, at, 8, REMOTE | IBV_ACCESS_MW_BIND }, 0 },
		{ "nothing", { region, at, 0, REMOTE }, IBV_MW_TYPE_2 },
	};

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		mw_refuse(&rows[i]);
	if (type == IBV_MW_TYPE_2) {
		mw_refuse(&(struct refusal){ "region of another PD",
					  { foreign, at, 8, REMOTE }, 0 });
		own = mw;
		mw = other;
		mw_refuse(&(struct refusal){ "window of another PD",
					  mw_part(0, 8, REMOTE), 0 });
		mw = own;
		must(!bind_to(mw_part(0, 8, REMOTE)));
		mw_refuse(&(struct refusal){ "bound already",
					  mw_part(0, 8, REMOTE), 0 });
	} else {
		ktap_eq(local_inv(mw->rkey), IBV_WC_MW_BIND_ERR);
		mw_reconnect();
		/* As libcairn does not: the request is one for windows of type 2. */
		mw->type = IBV_MW_TYPE_2;
		mw_refuse(&(struct refusal){ "zero based, type 1",
					  mw_part(0, 8, REMOTE | IBV_ACCESS_ZERO_BASED), 0 });
		mw->type = IBV_MW_TYPE_1;
		must(!bind_to(mw_part(0, 8, REMOTE)));
	}
	/* The binding is unchanged after these. */
	ktap_eq(write_at(mw->rkey, 0, 8), 0);
	must(!ibv_dereg_mr(plain) && !ibv_dereg_mr(reading) &&
	     !ibv_dereg_mr(foreign) && !ibv_dealloc_mw(other) &&
	     !ibv_dealloc_pd(pd));
	close_ends();
}

static void mw_refused(void)
{
	refused_of(IBV_MW_TYPE_1);
	refused_of(IBV_MW_TYPE_2);
}

/* The owner's own sends and receives need the region's key. */
static void not_for_local_use(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	open_ends(IBV_MW_TYPE_2);
	must(!bind_to(mw_part(0, BUF, REMOTE)));
	sge = (struct ibv_sge){ (uintptr_t)b.buf, 1000, mw->rkey };
	wr.wr.rdma.remote_addr = (uintptr_t)a.buf;
	wr.wr.rdma.rkey = a.mr->rkey;
	must(!ibv_post_send(b.qp, &wr, &bad));
	ktap_eq(mw_status(b.scq), IBV_WC_LOC_PROT_ERR);
	close_ends();
}

/* A region cannot be freed while a window is bound to it. */
static void regions(void)
{
	open_ends(IBV_MW_TYPE_2);
	must(!ibv_alloc_mw(dev[1].pd, 0) && errno == EINVAL);
	must(!ibv_alloc_mw(dev[1].pd, 3) && errno == EINVAL);
	must(!bind_to(mw_part(0, BUF, REMOTE)));
	ktap_eq(ibv_dereg_mr(region), EBUSY);
	ktap_eq(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     IBV_ACCESS_MW_BIND) != 0, 1);
	ktap_eq(errno, EBUSY);
	ktap_eq(write_at(mw->rkey, 0, 8), 0);
	must(!local_inv(mw->rkey));
	ktap_eq(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND), 0);
	must(!bind_to(mw_part(0, BUF, REMOTE)));
	ktap_eq(write_at(mw->rkey, 0, 8), 0);
	/* Freeing the window ends its binding. */
	must(!ibv_dealloc_mw(mw));
	ktap_eq(write_at(mw->rkey, 0, 8), IBV_WC_REM_ACCESS_ERR);
	mw = NULL;
	close_ends();
}

/* After an invalidation has completed, later packets of peers have no effect. */
static void invalidated_is_over(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE }, *bad;
	int round, result, judged = 0;
	u8 *copy = malloc(BUF);
	struct ibv_wc wc;

	must(copy);
	open_ends(IBV_MW_TYPE_2);
	for (round = 0; round < 100 && judged < 10; round++) {
		must(!bind_to(mw_part(0, BUF, REMOTE)));
		memset(a.buf, round + 1, BUF);
		sge = (struct ibv_sge){ (uintptr_t)a.buf, BUF, a.mr->lkey };
		wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
		wr.wr.rdma.rkey = mw->rkey;
		must(!ibv_post_send(a.qp, &wr, &bad));
		while (!round && b.buf[0] != 1)
			usleep(100);
		/* An access to the closed window ends the connection, and may do so first. */
		result = local_inv(mw->rkey);
		must(!result || result == IBV_WC_WR_FLUSH_ERR);
		judged += !result;
		memcpy(copy, b.buf, BUF);
		wr.num_sge = 0;
		wr.send_flags = IBV_SEND_SIGNALED;
		if (!ibv_post_send(a.qp, &wr, &bad))
			vt_poll(a.scq, &wc, 1, LONG);
		ktap_ok(result || !memcmp(copy, b.buf, BUF));
		wr.num_sge = 1;
		wr.send_flags = 0;
		while (ibv_poll_cq(a.scq, 1, &wc) > 0)
			;
		mw_reconnect();
		if (result) {
			must(!ibv_dealloc_mw(mw));
			mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_2);
			must(mw);
		}
	}
	ktap_eq(judged, 10);
	free(copy);
	close_ends();
}

/* The process does not free its objects; the kernel does, in any order. */
static void killed(void)
{
	pid_t child = fork();
	int result;

	must(child >= 0);
	if (!child) {
		if (vt_open(&dev[1], vt_name_b(), VT_IPV4, -1) ||
		    vt_open(&dev[0], vt_name_a(), VT_IPV4, -1))
			_exit(1);
		open_ends(IBV_MW_TYPE_1);
		for (int i = 0; i < 100; i++) {
			mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_1);
			must(mw && !bind_to(mw_part(0, 100, REMOTE)));
		}
		_exit(write_at(mw->rkey, 0, 100));
	}
	must(waitpid(child, &result, 0) == child);
	ktap_eq(result, 0);
}

#define TESTS(X) X(type_1) X(type_2) X(unreliable) X(low_byte)		\
	X(other_queue_pair) X(mw_refused) X(not_for_local_use) X(regions) X(invalidated_is_over)	\
	X(killed)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&dev[0], &dev[1], VT_IPV4, argc > 1 ? argv[1] : NULL);
}
