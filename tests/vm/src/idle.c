// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The idle time of a device: cairndv_set_idle_time(). Runs where sysfs shows the
 * first device's counters.
 */
#include <errno.h>
#include <infiniband/cairndv.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(60000)

static struct vt_dev dev[2];
static struct vt_end a, b;

static u32 idle_of(struct vt_dev *dev)
{
	struct cairndv_device_attr attr;

	must(!cairndv_query_device(dev->ctx, &attr, sizeof(attr)));
	return attr.idle_us;
}

static void set_and_get(void)
{
	u32 other = idle_of(&dev[1]);

	ktap_eq(cairndv_set_idle_time(dev[0].ctx, other + 7), 0);
	ktap_eq(idle_of(&dev[0]), other + 7);
	ktap_eq(idle_of(&dev[1]), other);
	ktap_eq(cairndv_set_idle_time(dev[0].ctx, 0), 0);
	ktap_eq(idle_of(&dev[0]), 0);
	ktap_eq(cairndv_set_idle_time(dev[0].ctx, CAIRNDV_IDLE_MAX), 0);
	ktap_eq(cairndv_set_idle_time(dev[0].ctx, CAIRNDV_IDLE_MAX + 1),
		EINVAL);
	ktap_eq(cairndv_set_idle_time(dev[0].ctx, UINT32_MAX - 1), EINVAL);
	ktap_eq(idle_of(&dev[0]), CAIRNDV_IDLE_MAX);
	ktap_eq(cairndv_set_idle_time(dev[0].ctx, CAIRNDV_IDLE_DEFAULT), 0);
	ktap_eq(idle_of(&dev[0]), 50);
}

static void needs_a_right(void)
{
	u32 before = idle_of(&dev[0]);
	int err;

	must(!vt_net_admin(false));
	err = cairndv_set_idle_time(dev[0].ctx, before + 1);
	must(!vt_net_admin(true));
	ktap_eq(err, EPERM);
	ktap_eq(idle_of(&dev[0]), before);
}

static void post_one(void)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, 8, a.mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)b.buf, b.mr->rkey },
	}, *bad;
	struct ibv_wc wc;

	must(!ibv_post_send(a.qp, &wr, &bad));
	must(!vt_poll(a.scq, &wc, 1, LONG));
	must(wc.status == IBV_WC_SUCCESS);
}

static void connect_ends(void)
{
	struct vt_opts opts = VT_OPTS;

	opts.timeout = 18;
	must(!vt_end_create(&a, &dev[0], &opts, 4096));
	must(!vt_end_create(&b, &dev[1], &opts, 4096));
	must(!vt_connect(&a, &b));
}

/* Idle time 0: no post is found by polling, each one rings. */
static void zero_rings(void)
{
	u64 polled, rung;
	int i;

	must(!cairndv_set_idle_time(dev[0].ctx, 0));
	connect_ends();
	/* a lane that was awake sleeps after this */
	for (i = 0; i < 20; i++)
		post_one();
	polled = vt_counter(&dev[0], "polled_posts");
	rung = vt_counter(&dev[0], "doorbells");
	for (i = 0; i < 300; i++)
		post_one();
	ktap_eq(vt_counter_reaches(&dev[0], "doorbells", rung + 300),
		rung + 300);
	ktap_eq(vt_counter(&dev[0], "polled_posts"), polled);
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

/* The longest idle time: the lane polls. */
static void long_polls(void)
{
	u64 polled = vt_counter(&dev[0], "polled_posts");
	u64 end = vt_now_ms() + LONG;

	/* A lane would keep the poster from posting, or is preempted. */
	if (sysconf(_SC_NPROCESSORS_ONLN) == 1 || vt_is_rt()) {
		ktap_skip("one CPU or PREEMPT_RT");
		return;
	}
	must(!cairndv_set_idle_time(dev[0].ctx, CAIRNDV_IDLE_MAX));
	connect_ends();
	while (vt_counter(&dev[0], "polled_posts") == polled &&
	       vt_now_ms() < end)
		post_one();
	ktap_ok(vt_counter(&dev[0], "polled_posts") > polled);
	vt_end_destroy(&a);
	vt_end_destroy(&b);
	ktap_eq(cairndv_set_idle_time(dev[0].ctx, CAIRNDV_IDLE_DEFAULT), 0);
}

#define TESTS(X)							\
	X(set_and_get) X(needs_a_right) X(zero_rings) X(long_polls)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&dev[0], &dev[1], VT_IPV4, argc > 1 ? argv[1] : NULL);
}
