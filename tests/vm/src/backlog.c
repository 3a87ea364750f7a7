// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many long send queues: backlog [N], default 400. Each of N queue pairs on the device CAIRN_B
 * is connected to itself. The program says "ready". Told by SIGUSR1 it posts 2 MiB to each,
 * says "posted" and waits to be killed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define BYTES	65536u
#define POSTS	32u

static struct vt_dev dev;

static int backlog_open(struct vt_end *end)
{
	struct vt_opts opts = VT_OPTS;

	opts.mtu = IBV_MTU_4096;
	opts.cqe = 1;
	if (vt_end_create(end, &dev, &opts, BYTES))
		return -1;
	return vt_to_init(end) || vt_to_rtr(end, end) || vt_to_rts(end);
}

static int backlog_post(const struct vt_end *end)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, BYTES, end->mr->lkey };
	struct ibv_send_wr wr[POSTS], *bad;
	u32 i;

	for (i = 0; i < POSTS; i++)
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < POSTS ? &wr[i + 1] : NULL,
			.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
			.wr.rdma = { sge.addr, end->mr->rkey },
		};
	return ibv_post_send(end->qp, wr, &bad);
}

int main(int argc, char **argv)
{
	u32 n = argc > 1 ? atoi(argv[1]) : 400, i;
	struct vt_end *ends = calloc(n, sizeof(*ends));
	sigset_t told;
	int sig;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	if (!ends || sigprocmask(SIG_BLOCK, &told, NULL) ||
	    vt_open(&dev, vt_name_b(), VT_IPV4, -1))
		return vt_bail();
	for (i = 0; i < n; i++)
		if (backlog_open(&ends[i]))
			return vt_bail();
	puts("ready");
	sigwait(&told, &sig);
	for (i = 0; i < n; i++)
		if (backlog_post(&ends[i]))
			return vt_bail();
	puts("posted");
	for (;;)
		pause();
}
