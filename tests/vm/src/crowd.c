// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs of the device CAIRN_B, with one completion queue:
 *
 *	crowd N			has N of them, says "ready" and waits to be killed
 *	crowd watch SECONDS	makes and destroys one again and again, and prints the
 *				milliseconds of the longest time that this took
 *	crowd prepare N		has one, says "ready" and prepares rings of N work requests
 *				for it again and again, until it is killed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/cairn-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include "vt.h"
#include "vt_test.h"

static struct vt_dev dev;
static struct ibv_cq *cq;

static struct ibv_qp *crowd_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 1, .max_recv_wr = 1,
			.max_send_sge = 4, .max_recv_sge = 1,
		},
	};

	return ibv_create_qp(dev.pd, &init);
}

static int crowd_watch(u64 ms)
{
	u64 end = vt_now_ms() + ms, from, took, longest = 0;
	struct ibv_qp *qp;

	do {
		from = vt_now_ms();
		qp = crowd_qp();
		if (!qp || ibv_destroy_qp(qp))
			return vt_bail();
		took = vt_now_ms() - from;
		if (took > longest)
			longest = took;
	} while (vt_now_ms() < end);
	printf("%llu\n", longest);
	return 0;
}

/* The rings are not used. */
static int crowd_prepare(u32 n)
{
	struct cairn_prepare_ring req = { .max_wr = n };
	struct ibv_qp *qp = crowd_qp();
	struct cairn_prepare_ring_resp resp;
	int err = 0;

	if (!qp)
		return vt_bail();
	puts("ready");
	while (!err) {
		struct ib_uverbs_attr attrs[] = {
			{ .attr_id = CAIRN_ATTR_RING_REQUEST, .flags = UVERBS_ATTR_F_MANDATORY,
			  .len = sizeof(req), .data = req.max_wr },
			{ .attr_id = CAIRN_ATTR_RING_DESC, .flags = UVERBS_ATTR_F_MANDATORY,
			  .len = sizeof(resp), .data = (uintptr_t)&resp },
			{ .attr_id = CAIRN_ATTR_RING_QP, .data = qp->handle },
		};

		err = vt_method(dev.ctx->cmd_fd, CAIRN_OBJECT_DEVICE,
				CAIRN_METHOD_PREPARE_RING, attrs, 3);
	}
	return vt_bail();
}

int main(int argc, char **argv)
{
	bool watches = argc > 2 && !strcmp(argv[1], "watch");
	bool prepares = argc > 2 && !strcmp(argv[1], "prepare");
	int n = argc > 1 ? atoi(argv[argc - 1]) : 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (n <= 0 || vt_open(&dev, vt_name_b(), VT_IPV4, -1))
		return vt_bail();
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	if (!cq)
		return vt_bail();
	if (watches)
		return crowd_watch(n * 1000ull);
	if (prepares)
		return crowd_prepare(n);
	while (n--)
		if (!crowd_qp())
			return vt_bail();
	puts("ready");
	for (;;)
		pause();
}
