// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Congestion control: flows of RDMA WRITEs from cairn_a to cairn_b, for a
 * network that marks.
 *
 *	dcqcn check			the calls of cairndv.h
 *	dcqcn [-c] -n FLOWS -T SECONDS [-e]	flows, with -c controlled; -e: half
 *					of them end in the middle
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include <infiniband/cairndv.h>
#include "vt.h"
#include "vt_test.h"

#define MAX_FLOWS	16
#define MSG		8192
#define DEPTH		8	/* messages of a flow in flight */
#define UNDER_WAY	32	/* messages of all flows: the queue holds as many */
#define LIMIT		40000	/* kbit/s of each flow, so that all can start */

static struct vt_dev dev[2];
static struct ibv_cq *cq;
static struct ibv_mr *mr[2];
static u8 *buf[2];
static struct vt_end ends[2][MAX_FLOWS];
static u64 done[MAX_FLOWS];	/* messages */

static bool dcqcn_setup(void)
{
	int side;

	if (!vt_open_both(&dev[0], &dev[1], VT_IPV4))
		return false;
	for (side = 0; side < 2; side++) {
		buf[side] = aligned_alloc(4096, MAX_FLOWS * MSG);
		mr[side] = ibv_reg_mr(dev[side].pd, buf[side],
				      MAX_FLOWS * MSG, VT_ACCESS);
		if (!mr[side])
			return false;
	}
	cq = ibv_create_cq(dev[0].ctx, 2 * MAX_FLOWS * DEPTH, NULL, NULL, 0);
	return cq;
}

static void create_end(struct vt_end *end, int side, enum ibv_qp_type type)
{
	struct ibv_cq *own = side ? ibv_create_cq(dev[1].ctx, 16, NULL, NULL,
						  0) : cq;
	struct ibv_qp_init_attr init = {
		.cap = { DEPTH, 1, 1, 1, 0 }, .qp_type = type,
		.send_cq = own, .recv_cq = own,
	};
	struct vt_opts opts = VT_OPTS;

	end->dev = &dev[side];
	end->o = opts;
	end->o.type = type;
	end->o.timeout = 17;
	end->rcq = own;
	end->qp = ibv_create_qp(dev[side].pd, &init);
	must(end->qp);
	end->psn = 1;
}

static void create_flow(u32 i, bool controlled)
{
	struct ibv_qp_rate_limit_attr limit = {
		.rate_limit = LIMIT, .max_burst_sz = 4400,
	};

	create_end(&ends[0][i], 0, IBV_QPT_RC);
	create_end(&ends[1][i], 1, IBV_QPT_RC);
	must(!vt_connect(&ends[0][i], &ends[1][i]));
	must(!ibv_modify_qp_rate_limit(ends[0][i].qp, &limit));
	must(!cairndv_modify_qp_cc(ends[0][i].qp, controlled));
}

static void destroy_flow(u32 i)
{
	ibv_destroy_qp(ends[0][i].qp);
	ibv_destroy_qp(ends[1][i].qp);
	ibv_destroy_cq(ends[1][i].rcq);
}

/* ---- check ---- */

static void parameters(void)
{
	struct cairndv_cc_attr attr, was;

	must(!cairndv_query_cc(dev[0].ctx, &was, sizeof(was)));
	/* published values */
	ktap_eq(was.enabled, 0);
	ktap_eq(was.cnp_interval_us, 50);
	ktap_eq(was.alpha_us, 55);
	ktap_eq(was.g_shift, 8);
	ktap_eq(was.increase_us, 55);
	ktap_eq(was.recovery_steps, 5);
	ktap_eq(was.additive_kbps, 40000);
	attr = was;
	attr.additive_kbps = 1234;
	must(!cairndv_modify_cc(dev[0].ctx, &attr, sizeof(attr)));
	must(!cairndv_query_cc(dev[0].ctx, &attr, sizeof(attr)));
	ktap_eq(attr.additive_kbps, 1234);
	attr.g_shift = 17;
	ktap_eq(cairndv_modify_cc(dev[0].ctx, &attr, sizeof(attr)), EINVAL);
	attr = was;
	attr.min_kbps = 0;
	ktap_eq(cairndv_modify_cc(dev[0].ctx, &attr, sizeof(attr)), EINVAL);
	/* the other device has parameters of its own */
	must(!cairndv_query_cc(dev[1].ctx, &attr, sizeof(attr)));
	ktap_eq(attr.additive_kbps, 40000);
	must(!cairndv_modify_cc(dev[0].ctx, &was, sizeof(was)));
}

/* Unprivileged users may not change a device. */
static void rights(void)
{
	struct cairndv_cc_attr attr;
	int status;
	pid_t pid;

	must(!cairndv_query_cc(dev[0].ctx, &attr, sizeof(attr)));
	pid = fork();
	if (!pid) {
		int err = setresuid(65534, 65534, 65534) ? 0 :
			  cairndv_modify_cc(dev[0].ctx, &attr, sizeof(attr));

		_exit(err == EPERM || err == EACCES ? 0 : 1);
	}
	must(waitpid(pid, &status, 0) == pid);
	ktap_eq(status, 0);
}

static void queue_pairs(void)
{
	struct cairndv_cc_attr cc;
	struct cairndv_qp_attr attr;
	struct vt_end ud = {};

	create_flow(0, false);
	must(!cairndv_query_qp(ends[0][0].qp, &attr, sizeof(attr)));
	ktap_eq(attr.cc_enabled, 0);
	ktap_eq(attr.rate_limit, LIMIT);
	ktap_eq(attr.max_burst_sz, 4400);
	must(!cairndv_modify_qp_cc(ends[0][0].qp, true));
	must(!cairndv_query_qp(ends[0][0].qp, &attr, sizeof(attr)));
	ktap_eq(attr.cc_enabled, 1);
	ktap_eq(attr.cc_rate, 0);
	destroy_flow(0);
	create_end(&ud, 1, IBV_QPT_UD);
	ktap_eq(cairndv_modify_qp_cc(ud.qp, true), EINVAL);
	ibv_destroy_qp(ud.qp);
	ibv_destroy_cq(ud.rcq);
	/* a device whose new queue pairs are controlled */
	must(!cairndv_query_cc(dev[1].ctx, &cc, sizeof(cc)));
	cc.enabled = 1;
	must(!cairndv_modify_cc(dev[1].ctx, &cc, sizeof(cc)));
	create_flow(0, false);
	must(!cairndv_query_qp(ends[1][0].qp, &attr, sizeof(attr)));
	ktap_eq(attr.cc_enabled, 1);
	destroy_flow(0);
	cc.enabled = 0;
	must(!cairndv_modify_cc(dev[1].ctx, &cc, sizeof(cc)));
}

#define TESTS(X)	X(parameters) X(rights) X(queue_pairs)

VT_TESTS(TESTS)

/* ---- flows ---- */

static bool controlled, ends_early;
static u32 flows = 1, seconds = 3;

static void dcqcn_post(u32 i)
{
	struct ibv_sge sge = {
		(uintptr_t)buf[0] + i * MSG, MSG, mr[0]->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)buf[1] + i * MSG, mr[1]->rkey },
	}, *bad;

	must(!ibv_post_send(ends[0][i].qp, &wr, &bad));
}

/* Run @n flows until @until. Return: the messages that they moved. */
static u64 dcqcn_run(u32 n, u64 until)
{
	unsigned int idle = 0;
	u64 sum = 0;
	struct ibv_wc wc;

	memset(done, 0, sizeof(done));
	while (vt_now_ms() < until) {
		int got = ibv_poll_cq(cq, 1, &wc);

		must(got >= 0);
		if (!got) {
			vt_relax(&idle);
			continue;
		}
		idle = 0;
		must(wc.status == IBV_WC_SUCCESS);
		done[wc.wr_id]++;
		sum++;
		if (wc.wr_id < n)
			dcqcn_post(wc.wr_id);
	}
	return sum;
}

/* For links of some Mbit/s: all parameters slower than those of the paper. */
static void slow_parameters(void)
{
	struct cairndv_cc_attr attr = {
		.cnp_interval_us = 2000, .alpha_us = 5000, .g_shift = 4,
		.increase_us = 10000, .increase_kbytes = 1000,
		.recovery_steps = 3, .additive_kbps = 100, .hyper_kbps = 200,
		.min_kbps = 100,
	};

	must(!cairndv_modify_cc(dev[0].ctx, &attr, sizeof(attr)));
	must(!cairndv_modify_cc(dev[1].ctx, &attr, sizeof(attr)));
}

static void traffic(void)
{
	struct cairndv_cc_attr was;
	double sum = 0, squares = 0;
	u64 now, both;
	u32 i, k;

	must(!cairndv_query_cc(dev[0].ctx, &was, sizeof(was)));
	slow_parameters();
	for (i = 0; i < flows; i++)
		create_flow(i, controlled);
	for (i = 0; i < flows; i++)
		for (k = 0; k < DEPTH && k < UNDER_WAY / flows; k++)
			dcqcn_post(i);
	now = vt_now_ms();
	dcqcn_run(flows, now + seconds * 300);	/* until the rates have settled */
	now = vt_now_ms();
	both = dcqcn_run(flows, now + seconds * 700);
	for (i = 0; i < flows; i++) {
		sum += done[i];
		squares += (double)done[i] * done[i];
	}
	ktap_diag("messages %llu", both);
	ktap_diag("jain %d", squares ? (int)(100 * sum * sum /
					     (flows * squares)) : 0);
	if (ends_early) {
		dcqcn_run(flows / 2, now + seconds * 2000);
		now = vt_now_ms();
		ktap_diag("alone %llu", dcqcn_run(flows / 2, now + seconds * 700));
	}
	/* messages in flight arrive */
	dcqcn_run(0, vt_now_ms() + 1000);
	for (i = 0; i < flows; i++)
		destroy_flow(i);
	must(!cairndv_modify_cc(dev[0].ctx, &was, sizeof(was)));
	must(!cairndv_modify_cc(dev[1].ctx, &was, sizeof(was)));
}

VT_RUN(traffic)
static const struct ktap_test single[] = { VT_ROW(traffic) };

int main(int argc, char **argv)
{
	int opt;

	if (!dcqcn_setup())
		return vt_bail();
	if (argc == 2 && !strcmp(argv[1], "check"))
		return vt_run(NULL);
	while ((opt = getopt(argc, argv, "cen:T:")) != -1) {
		switch (opt) {
		case 'c':
			controlled = true;
			break;
		case 'e':
			ends_early = true;
			break;
		case 'n':
			flows = atoi(optarg);
			break;
		case 'T':
			seconds = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (!flows || flows > MAX_FLOWS)
		return 2;
	return ktap_main(single, 1, NULL);
}
