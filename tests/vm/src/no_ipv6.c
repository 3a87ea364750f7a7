// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Paths over IPv6 on a host without it: "ipv6.disable=1", or a kernel without IPv6.
 *
 * ib_core gives each port a link-local GID that it makes from the MAC, with or without
 * IPv6. So a process has an IPv6 source address, from which no packet can be sent.
 */
#include <stdlib.h>
#include "vt_test.h"

static struct vt_dev a, b;

static struct ibv_ah_attr path_to(const char *gid)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .sgid_index = a.gid_index, .hop_limit = 64 },
	};
	unsigned int i, byte;

	for (i = 0; i < 16; i++) {
		must(sscanf(gid + 2 * i, "%2x", &byte) == 1);
		attr.grh.dgid.raw[i] = byte;
	}
	return attr;
}

static const char *const far[] = {
	"ff020000000000000000000000000001",
	"fe800000000000000000000000000001",
	"fd770000000000000000000000000002",
	"00000000000000000000000000000001",
};

/* An address handle is refused, or datagrams that use it complete. */
static void datagrams(void)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end end = { 0 };
	unsigned int i, made = 0;

	opts.type = IBV_QPT_UD;
	must(!vt_end_create(&end, &a, &opts, 4096));
	must(!vt_to_init(&end) && !vt_to_rtr(&end, &end) && !vt_to_rts(&end));
	for (i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		struct ibv_ah_attr attr = path_to(far[i]);
		struct ibv_sge sge = { (uintptr_t)end.buf, 64, end.mr->lkey };
		struct ibv_send_wr wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud = { .remote_qpn = end.qp->qp_num, .remote_qkey = VT_QKEY },
		}, *bad;
		struct ibv_wc wc;

		wr.wr.ud.ah = ibv_create_ah(a.pd, &attr);
		if (!wr.wr.ud.ah)
			continue;
		made++;
		must(!ibv_post_send(end.qp, &wr, &bad));
		must(!vt_poll(end.scq, &wc, 1, vt_ms(10000)));
		ibv_destroy_ah(wr.wr.ud.ah);
	}
	printf("# %u of %u address handles were made\n", made, i);
	vt_end_destroy(&end);
}

/* The transition is refused, or the connection fails. */
static void connections(void)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end end = { 0 }, peer = { 0 };
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;

	opts.timeout = 10;
	opts.retry_cnt = 1;
	must(!vt_end_create(&end, &a, &opts, 4096));
	must(!vt_end_create(&peer, &b, &opts, 4096));
	sge = (struct ibv_sge){ (uintptr_t)end.buf, 64, end.mr->lkey };
	must(!vt_to_init(&end));
	if (!vt_to_rtr(&end, &peer)) {
		must(!vt_to_rts(&end));
		must(!ibv_post_send(end.qp, &wr, &bad));
		must(!vt_poll(end.scq, &wc, 1, vt_ms(20000)));
		must(wc.status == IBV_WC_RETRY_EXC_ERR);
	}
	vt_end_destroy(&end);
	vt_end_destroy(&peer);
}

#define TESTS(X)	X(datagrams) X(connections)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&a, &b, VT_LINK_LOCAL, argc > 1 ? argv[1] : NULL);
}
