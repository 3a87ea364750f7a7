// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion counters (ibv_create_comp_cntr(3)): made, changed, attached, and what they
 * count. Installed libraries may be older, so the calls are made here. Kernels before 7.3
 * refuse them.
 */
#include <errno.h>
#include <rdma/cairn-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

/* rdma/ib_user_ioctl_cmds.h and ib_user_ioctl_verbs.h of Linux 7.3 */
#define OBJECT_COMP_CNTR	19
#define METHOD_CREATE		0
#define METHOD_DESTROY		1
#define METHOD_MODIFY		2
#define METHOD_READ		3
#define METHOD_QP_ATTACH	2	/* of the object QP */
#define METHOD_QUERY_CAPS	8	/* of the object DEVICE */

enum { DONE, FAILED };
enum { SET, INC };
enum {
	SEND = 1 << 0, RECV = 1 << 1, READ = 1 << 2, REMOTE_READ = 1 << 3,
	WRITE = 1 << 4, REMOTE_WRITE = 1 << 5, ALL = (1 << 6) - 1
};

#define KINDS		6
#define NOWHERE		8		/* as a pointer */
#define LEN		4096
#define LONG		vt_ms(20000)

static struct vt_dev a, b;

/* --- calls ---------------------------------------------------------------- */

static struct ib_uverbs_attr cntr_attr(u16 id, u16 len, u64 data)
{
	return (struct ib_uverbs_attr) {
		.attr_id = id, .len = len, .flags = UVERBS_ATTR_F_MANDATORY,
		.data = data,
	};
}

static int cntr_create(struct vt_dev *dev, u32 *handle)
{
	struct ib_uverbs_attr attrs[] = { cntr_attr(0, 0, 0) };
	int err = vt_method(dev->ctx->cmd_fd, OBJECT_COMP_CNTR, METHOD_CREATE, attrs, 1);

	*handle = attrs[0].data;
	return err;
}

static int cntr_destroy(struct vt_dev *dev, u32 handle)
{
	struct ib_uverbs_attr attrs[] = { cntr_attr(0, 0, handle) };

	return vt_method(dev->ctx->cmd_fd, OBJECT_COMP_CNTR, METHOD_DESTROY, attrs, 1);
}

static int cntr_modify(struct vt_dev *dev, u32 handle, u64 entry, u64 op, u64 value)
{
	struct ib_uverbs_attr attrs[] = {
		cntr_attr(0, 0, handle), cntr_attr(1, 8, entry),
		cntr_attr(2, 8, op), cntr_attr(3, 8, value),
	};

	return vt_method(dev->ctx->cmd_fd, OBJECT_COMP_CNTR, METHOD_MODIFY, attrs, 4);
}

static int cntr_read_to(struct vt_dev *dev, u32 handle, u64 entry, u64 address)
{
	struct ib_uverbs_attr attrs[] = {
		cntr_attr(0, 0, handle), cntr_attr(1, 8, entry),
		cntr_attr(2, 8, address),
	};

	return vt_method(dev->ctx->cmd_fd, OBJECT_COMP_CNTR, METHOD_READ, attrs, 3);
}

static int cntr_attach_to(struct vt_dev *dev, u32 qp, u32 handle, u32 kinds)
{
	struct ib_uverbs_attr attrs[] = {
		cntr_attr(0, 0, qp), cntr_attr(1, 0, handle),
		cntr_attr(2, 4, kinds),
	};

	return vt_method(dev->ctx->cmd_fd, UVERBS_OBJECT_QP, METHOD_QP_ATTACH, attrs, 3);
}

static int cntr_attach(struct vt_end *end, u32 handle, u32 kinds)
{
	return cntr_attach_to(end->dev, end->qp->handle, handle, kinds);
}

static u64 cntr_read(struct vt_dev *dev, u32 handle, u64 entry)
{
	u64 value = 0;

	must(!cntr_read_to(dev, handle, entry, (uintptr_t)&value));
	return value;
}

/* Has the kernel completion counters? Skips the test if not. */
static bool cntr_known(void)
{
	u32 handle;
	int err = cntr_create(&a, &handle);

	if (!err) {
		must(!cntr_destroy(&a, handle));
		return true;
	}
	/* EPROTONOSUPPORT: the kernel does not know the object */
	ktap_ok(err == EPROTONOSUPPORT || err == EOPNOTSUPP);
	ktap_skip("no completion counters in this kernel");
	return false;
}

/* The value that a count has after at most LONG: a count follows its completion. */
static u64 cntr_reaches(struct vt_dev *dev, u32 handle, u64 entry, u64 value)
{
	u64 end = vt_now_ms() + LONG, now;

	do
		now = cntr_read(dev, handle, entry);
	while (now < value && vt_now_ms() < end);
	return now;
}

/* --- both ends, with a counter of each kind ------------------------------- */

struct bed {
	struct vt_end a, b;
	u32 at_a[KINDS], at_b[KINDS];
};

static void bed_attach(struct vt_end *end, u32 *handles)
{
	for (int i = 0; i < KINDS; i++) {
		must(!cntr_create(end->dev, &handles[i]));
		must(!cntr_attach(end, handles[i], 1 << i));
	}
}

static void bed_open(struct bed *bed, enum ibv_qp_type type)
{
	struct vt_opts opts = VT_OPTS;

	opts.type = type;
	must(!vt_end_create(&bed->a, &a, &opts, LEN));
	must(!vt_end_create(&bed->b, &b, &opts, LEN));
	bed_attach(&bed->a, bed->at_a);
	bed_attach(&bed->b, bed->at_b);
	must(!vt_connect(&bed->a, &bed->b));
}

static void bed_close(struct bed *bed)
{
	vt_end_destroy(&bed->a);
	vt_end_destroy(&bed->b);
	for (int i = 0; i < KINDS; i++) {
		ktap_eq(cntr_destroy(&a, bed->at_a[i]), 0);
		ktap_eq(cntr_destroy(&b, bed->at_b[i]), 0);
	}
}

static void bed_send(struct bed *bed, enum ibv_wr_opcode opcode, u32 len, bool signaled)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)bed->a.buf, .length = len, .lkey = bed->a.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = signaled ? IBV_SEND_SIGNALED : 0,
		.wr.rdma = { (uintptr_t)bed->b.buf, bed->b.mr->rkey },
	}, *bad;

	must(!ibv_post_send(bed->a.qp, &wr, &bad));
}

static void bed_recv(struct bed *bed)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)bed->b.buf, .length = LEN, .lkey = bed->b.mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_recv(bed->b.qp, &wr, &bad));
}

/* Each counter of @kinds reaches @value, and the others are 0. */
static void bed_expect(struct vt_dev *dev, const u32 *handles, u64 entry, u32 kinds, u64 value)
{
	for (int i = 0; i < KINDS; i++) {
		u64 want = kinds & 1 << i ? value : 0;
		u64 is = cntr_reaches(dev, handles[i], entry, want);

		if (is != want)
			ktap_fail("kind %#x, entry %llu: %llu, not %llu", 1 << i,
				  (unsigned long long)entry, (unsigned long long)is,
				  (unsigned long long)want);
	}
}

/* --- tests ---------------------------------------------------------------- */

static void capabilities(void)
{
	u64 max_value = 0;
	u32 max = 0, kinds = 0;
	struct ib_uverbs_attr attrs[] = {
		cntr_attr(0, sizeof(max), (uintptr_t)&max),
		cntr_attr(1, sizeof(max_value), (uintptr_t)&max_value),
		cntr_attr(2, sizeof(kinds), (uintptr_t)&kinds),
	};

	if (!cntr_known())
		return;
	ktap_eq(vt_method(a.ctx->cmd_fd, UVERBS_OBJECT_DEVICE, METHOD_QUERY_CAPS, attrs, 3), 0);
	ktap_eq(max, 65536);
	ktap_ok(max_value == ~0ull);
	ktap_eq(kinds, ALL);
}

static void values(void)
{
	u32 cntr;

	if (!cntr_known())
		return;
	must(!cntr_create(&a, &cntr));
	ktap_eq(cntr_read(&a, cntr, DONE), 0);
	ktap_eq(cntr_modify(&a, cntr, DONE, SET, 7), 0);
	ktap_eq(cntr_modify(&a, cntr, FAILED, INC, 3), 0);
	ktap_eq(cntr_modify(&a, cntr, FAILED, INC, 3), 0);
	ktap_eq(cntr_read(&a, cntr, DONE), 7);
	ktap_eq(cntr_read(&a, cntr, FAILED), 6);
	/* it wraps to zero */
	ktap_eq(cntr_modify(&a, cntr, DONE, SET, ~0ull), 0);
	ktap_eq(cntr_modify(&a, cntr, DONE, INC, 1), 0);
	ktap_eq(cntr_read(&a, cntr, DONE), 0);
	ktap_eq(cntr_destroy(&a, cntr), 0);
	ktap_eq(cntr_destroy(&a, cntr), ENOENT);
}

static void wrong_input(void)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end end = {};
	u32 cntr;

	if (!cntr_known())
		return;
	must(!cntr_create(&a, &cntr));
	must(!vt_end_create(&end, &a, &opts, LEN));
	ktap_eq(cntr_modify(&a, cntr, 2, SET, 1), EINVAL);
	ktap_eq(cntr_modify(&a, cntr, DONE, 2, 1), EINVAL);
	ktap_eq(cntr_modify(&a, cntr, ~0u, SET, 1), EINVAL);
	ktap_eq(cntr_read_to(&a, cntr, 2, NOWHERE), EINVAL);
	ktap_eq(cntr_read_to(&a, cntr, DONE, NOWHERE), EFAULT);
	ktap_eq(cntr_attach(&end, cntr, 0), EINVAL);
	ktap_eq(cntr_attach(&end, cntr, ALL + 1), EINVAL);
	ktap_eq(cntr_attach(&end, cntr + 1000, SEND), ENOENT);
	ktap_eq(cntr_attach_to(&a, end.qp->handle + 1000, cntr, SEND), ENOENT);
	ktap_eq(cntr_read(&a, cntr, DONE), 0);
	/* nothing was attached */
	ktap_eq(cntr_destroy(&a, cntr), 0);
	vt_end_destroy(&end);
}

static void attaching(void)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end one = {}, two = {};
	u32 first, second;

	if (!cntr_known())
		return;
	must(!cntr_create(&a, &first) && !cntr_create(&a, &second));
	must(!vt_end_create(&one, &a, &opts, LEN));
	must(!vt_end_create(&two, &b, &opts, LEN));
	ktap_eq(cntr_attach(&one, first, SEND | WRITE), 0);
	ktap_eq(cntr_attach(&one, second, WRITE | READ), EBUSY);
	ktap_eq(cntr_attach(&one, first, SEND), EBUSY);
	must(!vt_to_init(&one) && !vt_to_init(&two));
	ktap_eq(cntr_attach(&one, second, READ), 0);
	ktap_eq(cntr_destroy(&a, first), EBUSY);
	must(!vt_to_rtr(&one, &two));
	ktap_eq(cntr_attach(&one, second, RECV), EINVAL);
	must(!vt_to_rts(&one));
	ktap_eq(cntr_attach(&one, second, RECV), EINVAL);
	must(!vt_to_state(one.qp, IBV_QPS_ERR));
	ktap_eq(cntr_attach(&one, second, RECV), EINVAL);
	/* a reset does not detach */
	must(!vt_to_state(one.qp, IBV_QPS_RESET));
	ktap_eq(cntr_destroy(&a, first), EBUSY);
	ktap_eq(cntr_attach(&one, second, SEND), EBUSY);
	ktap_eq(cntr_attach(&one, second, RECV), 0);
	vt_end_destroy(&one);
	vt_end_destroy(&two);
	ktap_eq(cntr_destroy(&a, first), 0);
	ktap_eq(cntr_destroy(&a, second), 0);
}

static void counting(void)
{
	struct bed bed = {};
	struct ibv_wc wc[8];

	if (!cntr_known())
		return;
	bed_open(&bed, IBV_QPT_RC);
	for (int i = 0; i < 2; i++) {
		bed_recv(&bed);
		bed_send(&bed, IBV_WR_SEND, 100, i);
		bed_send(&bed, IBV_WR_RDMA_WRITE, LEN, false);
		bed_send(&bed, IBV_WR_RDMA_READ, LEN, i);
	}
	must(!vt_poll(bed.a.scq, wc, 2, LONG));
	must(!vt_poll(bed.b.rcq, wc, 2, LONG));
	bed_expect(&a, bed.at_a, DONE, SEND | WRITE | READ, 2);
	bed_expect(&b, bed.at_b, DONE, RECV | REMOTE_WRITE | REMOTE_READ, 2);
	/* the immediate data of a WRITE takes a receive */
	bed_recv(&bed);
	bed_send(&bed, IBV_WR_RDMA_WRITE_WITH_IMM, 100, true);
	must(!vt_poll(bed.a.scq, wc, 1, LONG));
	must(!vt_poll(bed.b.rcq, wc, 1, LONG));
	ktap_eq(cntr_reaches(&a, bed.at_a[4], DONE, 3), 3);
	ktap_eq(cntr_reaches(&b, bed.at_b[1], DONE, 3), 3);
	ktap_eq(cntr_reaches(&b, bed.at_b[5], DONE, 3), 3);
	bed_expect(&a, bed.at_a, FAILED, 0, 0);
	bed_expect(&b, bed.at_b, FAILED, 0, 0);
	bed_close(&bed);
}

static void errors(void)
{
	struct bed bed = {};
	struct ibv_wc wc[4];

	if (!cntr_known())
		return;
	bed_open(&bed, IBV_QPT_RC);
	bed_recv(&bed);
	bed.b.mr->rkey ^= 1;
	bed_send(&bed, IBV_WR_RDMA_WRITE, 100, false);
	bed_send(&bed, IBV_WR_RDMA_READ, 100, false);
	bed_send(&bed, IBV_WR_SEND, 100, true);
	must(!vt_poll(bed.a.scq, wc, 3, LONG));
	must(!vt_poll(bed.b.rcq, wc, 1, LONG));
	bed_expect(&a, bed.at_a, FAILED, SEND | WRITE | READ, 1);
	bed_expect(&b, bed.at_b, FAILED, RECV, 1);
	bed_expect(&a, bed.at_a, DONE, 0, 0);
	bed_expect(&b, bed.at_b, DONE, 0, 0);
	bed_close(&bed);
}

/* One counter of many QPs and both directions: no count is lost. */
static void shared(void)
{
	enum { QPS = 4, ROUNDS = 200 };
	struct bed bed[QPS] = {};
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc[ROUNDS];
	u32 cntr;

	if (!cntr_known())
		return;
	must(!cntr_create(&a, &cntr));
	for (int i = 0; i < QPS; i++) {
		must(!vt_end_create(&bed[i].a, &a, &opts, LEN));
		must(!vt_end_create(&bed[i].b, &b, &opts, LEN));
		must(!cntr_attach(&bed[i].a, cntr, WRITE | READ));
		must(!vt_connect(&bed[i].a, &bed[i].b));
	}
	for (int n = 0; n < ROUNDS; n++) {
		for (int i = 0; i < QPS; i++)
			bed_send(&bed[i], n & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
				 64, !(n % 8) || n == ROUNDS - 1);
		for (int i = 0; i < QPS && (!(n % 8) || n == ROUNDS - 1); i++)
			must(!vt_poll(bed[i].a.scq, wc, 1, LONG));
	}
	ktap_eq(cntr_reaches(&a, cntr, DONE, QPS * ROUNDS), QPS * ROUNDS);
	ktap_eq(cntr_read(&a, cntr, FAILED), 0);
	for (int i = 0; i < QPS; i++) {
		vt_end_destroy(&bed[i].a);
		vt_end_destroy(&bed[i].b);
	}
	ktap_eq(cntr_destroy(&a, cntr), 0);
}

/* The kernel destroys what a process leaves behind, in an order that works. */
static void a_process_ends(void)
{
	pid_t child;
	int status;

	if (!cntr_known())
		return;
	child = fork();
	must(child >= 0);
	if (!child) {
		struct bed bed = {};

		if (!vt_open_both(&a, &b, VT_IPV4))
			_exit(1);
		if (!setjmp(vt_leave)) {
			bed_open(&bed, IBV_QPT_RC);
			bed_send(&bed, IBV_WR_RDMA_WRITE, LEN, false);
			_exit(0);
		}
		_exit(1);
	}
	must(waitpid(child, &status, 0) == child);
	ktap_ok(WIFEXITED(status) && !WEXITSTATUS(status));
}

#define TESTS(X) X(capabilities) X(values) X(wrong_input) X(attaching) X(counting) \
	X(errors) X(shared) X(a_process_ends)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&a, &b, VT_IPV4, argc > 1 ? argv[1] : NULL);
}
