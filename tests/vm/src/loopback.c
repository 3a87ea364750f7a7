// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which packets a device keeps from the IP stack: cairndv_set_loopback(). Both ends are
 * in this network namespace, where sysfs shows their counters.
 *
 *	loopback mode DEVICE MODE	sets it, for a script
 *	loopback NAME 6			runs the test NAME over IPv6
 */
#include <errno.h>
#include <infiniband/cairndv.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(60000)
#define SIZE	(256 * 1024)

static struct vt_dev dev[2];

static u32 mode_of(struct vt_dev *dev)
{
	struct cairndv_device_attr attr;

	must(!cairndv_query_device(dev->ctx, &attr, sizeof(attr)));
	return attr.loopback;
}

static void set_and_get(void)
{
	ktap_eq(mode_of(&dev[0]), CAIRNDV_LOOPBACK_SELF);
	ktap_eq(cairndv_set_loopback(dev[0].ctx, CAIRNDV_LOOPBACK_HOST), 0);
	ktap_eq(mode_of(&dev[0]), CAIRNDV_LOOPBACK_HOST);
	ktap_eq(mode_of(&dev[1]), CAIRNDV_LOOPBACK_SELF);
	ktap_eq(cairndv_set_loopback(dev[0].ctx, CAIRNDV_LOOPBACK_OFF), 0);
	ktap_eq(mode_of(&dev[0]), CAIRNDV_LOOPBACK_OFF);
	ktap_eq(cairndv_set_loopback(dev[0].ctx, 3), EINVAL);
	ktap_eq(cairndv_set_loopback(dev[0].ctx, UINT32_MAX), EINVAL);
	ktap_eq(mode_of(&dev[0]), CAIRNDV_LOOPBACK_OFF);
	ktap_eq(cairndv_set_loopback(dev[0].ctx, CAIRNDV_LOOPBACK_SELF), 0);
	ktap_eq(mode_of(&dev[0]), CAIRNDV_LOOPBACK_SELF);
}

static void needs_a_right(void)
{
	int err;

	must(!vt_net_admin(false));
	err = cairndv_set_loopback(dev[0].ctx, CAIRNDV_LOOPBACK_OFF);
	must(!vt_net_admin(true));
	ktap_eq(err, EPERM);
	ktap_eq(mode_of(&dev[0]), CAIRNDV_LOOPBACK_SELF);
}

/* WRITE SIZE bytes between @from and @to, and compare them. */
static void write_between(struct vt_dev *from, struct vt_dev *to)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end end_a, end_b;
	struct ibv_wc wc;
	u32 i;

	opts.timeout = 18;
	must(!vt_end_create(&end_a, from, &opts, SIZE));
	must(!vt_end_create(&end_b, to, &opts, SIZE));
	must(!vt_connect(&end_a, &end_b));
	for (i = 0; i < SIZE; i++)
		end_a.buf[i] = i * 7 + (i >> 8);
	struct ibv_sge sge = { (uintptr_t)end_a.buf, SIZE, end_a.mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)end_b.buf, end_b.mr->rkey },
	}, *bad;

	must(!ibv_post_send(end_a.qp, &wr, &bad));
	must(!vt_poll(end_a.scq, &wc, 1, LONG));
	must(wc.status == IBV_WC_SUCCESS);
	ktap_ok(!memcmp(end_a.buf, end_b.buf, SIZE));
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

/* The packets of a message take the expected way, and no other. */
static void takes_the_way(struct vt_dev *from, struct vt_dev *to, bool handed)
{
	const char *yes = handed ? "loopback_packets" : "tx_packets";
	const char *no = handed ? "tx_packets" : "loopback_packets";
	u64 before = vt_counter(from, yes), other = vt_counter(from, no);
	u64 all = before + SIZE / 4096;

	write_between(from, to);
	ktap_ok(vt_counter_reaches(from, yes, all) >= all);
	ktap_eq(vt_counter(from, no), other);
}

static void self_is_handed_over(void)
{
	takes_the_way(&dev[0], &dev[0], true);
}

static void off_goes_to_the_stack(void)
{
	must(!cairndv_set_loopback(dev[0].ctx, CAIRNDV_LOOPBACK_OFF));
	takes_the_way(&dev[0], &dev[0], false);
	must(!cairndv_set_loopback(dev[0].ctx, CAIRNDV_LOOPBACK_SELF));
}

static void others_if_both_want_it(void)
{
	takes_the_way(&dev[0], &dev[1], false);
	must(!cairndv_set_loopback(dev[0].ctx, CAIRNDV_LOOPBACK_HOST));
	takes_the_way(&dev[0], &dev[1], false);
	must(!cairndv_set_loopback(dev[1].ctx, CAIRNDV_LOOPBACK_HOST));
	takes_the_way(&dev[0], &dev[1], true);
	takes_the_way(&dev[1], &dev[1], true);
	must(!cairndv_set_loopback(dev[0].ctx, CAIRNDV_LOOPBACK_SELF));
	must(!cairndv_set_loopback(dev[1].ctx, CAIRNDV_LOOPBACK_SELF));
	takes_the_way(&dev[1], &dev[0], false);
}

#define TESTS(X)							\
	X(set_and_get) X(needs_a_right) X(self_is_handed_over)		\
	X(off_goes_to_the_stack) X(others_if_both_want_it)

VT_TESTS(TESTS)

static int set_mode(const char *name, const char *mode)
{
	if (vt_open(&dev[0], name, VT_IPV4, -1))
		return 1;
	return cairndv_set_loopback(dev[0].ctx, atoi(mode)) != 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "mode"))
		return set_mode(argv[2], argv[3]);
	return vt_run_on(&dev[0], &dev[1], argc > 2 ? VT_IPV6 : VT_IPV4,
			 argc > 1 ? argv[1] : NULL);
}
