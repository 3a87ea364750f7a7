// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rate limits of queue pairs. The tests check properties that hold on any machine: the
 * time from the post to the completion is never shorter than the rate allows, data is
 * right, and operations end.
 *
 *	rate [TEST]
 *
 * runs all tests or one of them.
 *
 *	rate -r KBPS -b BURST -s BYTES [-n MESSAGES] [-t rc|uc] [-o write|send|read]
 *
 * sends messages at that rate, for a capture.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/minmax.h>
#include "vt.h"
#include "vt_test.h"

#define LEN	(1 << 20)
#define LONG	vt_ms(60000)
#define PMTU	1024
#define HALF	(LEN / 2)
#define MAX_SHOTS	16

struct pair {
	struct vt_dev d[2];
	struct vt_end a, b;
};

static struct pair p;

static void pair_up(enum ibv_qp_type type, u32 wrs)
{
	struct vt_opts opts = VT_OPTS;

	opts.type = type;
	opts.cap.max_send_wr = wrs;
	opts.cap.max_recv_wr = wrs;
	opts.cqe = 4 * wrs;
	opts.timeout = 17;		/* half a second */
	memset(&p, 0, sizeof(p));
	must(!vt_open(&p.d[0], vt_name_a(), VT_IPV4, -1));
	must(!vt_open(&p.d[1], vt_name_b(), VT_IPV4, -1));
	must(!vt_end_create(&p.a, &p.d[0], &opts, LEN));
	must(!vt_end_create(&p.b, &p.d[1], &opts, LEN));
	must(!vt_connect(&p.a, &p.b));
	vt_fill(p.a.buf, HALF, 1);
	vt_fill(p.b.buf + HALF, HALF, 2);
}

static void pair_down(void)
{
	vt_end_destroy(&p.a);
	vt_end_destroy(&p.b);
	vt_close(&p.d[0]);
	vt_close(&p.d[1]);
}

static int rate_set_limit(struct ibv_qp *qp, u32 kbps, u32 burst, u16 typical)
{
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = kbps, .max_burst_sz = burst,
		.typical_pkt_sz = typical,
	};

	return ibv_modify_qp_rate_limit(qp, &attr);
}

static int rate_post(struct vt_end *end, enum ibv_wr_opcode op, u32 len,
		     struct ibv_ah *ah)
{
	bool read = op == IBV_WR_RDMA_READ;
	struct vt_end *to = end == &p.a ? &p.b : &p.a;
	struct ibv_sge sge = {
		(uintptr_t)end->buf + (read ? HALF : 0), len, end->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = to->qp->qp_num;
		wr.wr.ud.remote_qkey = VT_QKEY;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)to->buf +
					 (read ? HALF : 0);
		wr.wr.rdma.rkey = to->mr->rkey;
	}
	return ibv_post_send(end->qp, &wr, &bad);
}

static int post_recv(struct vt_end *end, size_t off, u32 len)
{
	struct ibv_sge sge = { (uintptr_t)end->buf + off, len, end->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(end->qp, &wr, &bad);
}

/* ms that @bytes need at @kbps, less a burst and a half, rounded down. */
static u64 least_ms(u32 kbps, u64 bytes, u32 burst)
{
	u64 free = burst + burst / 2;

	return bytes > free ? (bytes - free) * 8 / kbps : 0;
}

/* Between the shortest time of the rate and a generous limit. */
static void expect_time(const char *what, u32 kbps, u64 ms, u64 least)
{
	ktap_diag("%s at %u kbit/s: %llu ms, at least %llu", what, kbps, ms,
		  least);
	/* the clock is rounded down to ms */
	if (ms + 1 < least)
		ktap_fail("%s: faster than its limit", what);
	if (ms > 4 * least + vt_ms(5000))
		ktap_fail("%s: far slower than its limit", what);
}

/* ---- verbs ---- */

static void caps(void)
{
	struct ibv_device_attr_ex attr;

	pair_up(IBV_QPT_RC, 4);
	must(!ibv_query_device_ex(p.d[0].ctx, NULL, &attr));
	ktap_eq(attr.packet_pacing_caps.qp_rate_limit_min, 1);
	ktap_eq(attr.packet_pacing_caps.qp_rate_limit_max, 400000000);
	ktap_eq(attr.packet_pacing_caps.supported_qpts,
		1 << IBV_QPT_RC | 1 << IBV_QPT_UC | 1 << IBV_QPT_UD);
	pair_down();
}

static void values(void)
{
	struct ibv_qp_rate_limit_attr attr = { .rate_limit = 1000 };
	struct ibv_qp_attr state = { .qp_state = IBV_QPS_INIT };
	struct ibv_qp *qp;

	pair_up(IBV_QPT_RC, 4);
	qp = p.a.qp;
	ktap_eq(rate_set_limit(qp, 1, 0, 0), 0);
	ktap_eq(rate_set_limit(qp, 400000000, 0, 0), 0);
	ktap_eq(rate_set_limit(qp, 400000001, 0, 0), EINVAL);
	ktap_eq(rate_set_limit(qp, ~0u, 0, 0), EINVAL);
	ktap_eq(rate_set_limit(qp, 1000, 1, 0), EINVAL);
	ktap_eq(rate_set_limit(qp, 1000, PMTU, 0), EINVAL);	/* no packet fits */
	ktap_eq(rate_set_limit(qp, 1000, PMTU + 36, 0), 0);
	ktap_eq(rate_set_limit(qp, 1000, 4000, 4001), EINVAL);
	ktap_eq(rate_set_limit(qp, 1000, 4000, 4000), 0);
	ktap_eq(rate_set_limit(qp, 1000, ~0u, 0), EINVAL);
	ktap_eq(rate_set_limit(qp, 0, 4000, 0), EINVAL);
	ktap_eq(rate_set_limit(qp, 0, 0, 1), EINVAL);
	ktap_eq(rate_set_limit(qp, 0, 0, 0), 0);
	attr.comp_mask = 1;
	ktap_eq(ibv_modify_qp_rate_limit(qp, &attr), EINVAL);
	/* in RTS only */
	must(!vt_to_state(qp, IBV_QPS_RESET));
	ktap_eq(rate_set_limit(qp, 1000, 0, 0), EINVAL);
	must(!vt_to_init(&p.a));
	ktap_eq(rate_set_limit(qp, 1000, 0, 0), EINVAL);
	must(!vt_to_rtr(&p.a, &p.b));
	ktap_eq(rate_set_limit(qp, 1000, 0, 0), EINVAL);
	must(!vt_to_rts(&p.a));
	ktap_eq(rate_set_limit(qp, 1000, 0, 0), 0);
	must(!vt_to_state(qp, IBV_QPS_ERR));
	ktap_eq(rate_set_limit(qp, 1000, 0, 0), EINVAL);
	(void)state;
	pair_down();
}

/* A rate in the address vector that the specification does not define. */
static void static_rate(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .hop_limit = 64 },
	};
	struct ibv_ah *ah;

	pair_up(IBV_QPT_UD, 4);
	attr.grh.dgid = p.d[1].gid;
	attr.grh.sgid_index = p.d[0].gid_index;
	attr.static_rate = 1;
	ktap_ok(!ibv_create_ah(p.d[0].pd, &attr));
	ktap_eq(errno, EINVAL);
	attr.static_rate = 0xff;
	ktap_ok(!ibv_create_ah(p.d[0].pd, &attr));
	attr.static_rate = IBV_RATE_2_5_GBPS;
	ah = ibv_create_ah(p.d[0].pd, &attr);
	must(ah);
	ktap_eq(ibv_destroy_ah(ah), 0);
	pair_down();
}

/* ---- rates ---- */

/* Move @n messages of @len bytes, one after the other or all at once. */
static u64 rate_time_to_move(struct vt_end *end, enum ibv_wr_opcode op, u32 n, u32 len,
			     struct ibv_ah *ah)
{
	struct ibv_wc wc[64];
	u64 begin = vt_now_ms();
	u32 i;

	for (i = 0; i < n; i++)
		must(!rate_post(end, op, len, ah));
	for (i = 0; i < n; i += 16) {
		u32 some = n - i < 16 ? n - i : 16;

		must(!vt_poll(end->scq, wc, some, LONG));
		while (some--)
			must(wc[some].status == IBV_WC_SUCCESS);
	}
	return vt_now_ms() - begin;
}

static const u32 rates[] = { 1000, 5000, 20000 };

/* bytes that take about 300 ms at this rate */
static u32 rate_amount(u32 kbps)
{
	return kbps * 300 / 8;
}

static void rc_write(void)
{
	for (u32 i = 0; i < 3; i++) {
		u32 len = rate_amount(rates[i]);
		u64 ms;

		pair_up(IBV_QPT_RC, 16);
		must(!rate_set_limit(p.a.qp, rates[i], 4 * (PMTU + 36), 0));
		vt_fill(p.a.buf, len, i);
		ms = rate_time_to_move(&p.a, IBV_WR_RDMA_WRITE, 1, len, NULL);
		expect_time("WRITE", rates[i], ms,
			    least_ms(rates[i], len, 4 * (PMTU + 36)));
		ktap_eq(vt_check(p.b.buf, len, i), -1);
		pair_down();
	}
}

static int modify_limit(struct ibv_qp *qp, u32 kbps, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .rate_limit = kbps,
		.cap = { .max_send_wr = 200 },
	};

	return ibv_modify_qp(qp, &attr, mask | IBV_QP_RATE_LIMIT);
}

static int to_rts_with_limit(struct vt_end *end, u32 kbps)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = end->psn,
		.timeout = end->o.timeout, .retry_cnt = end->o.retry_cnt,
		.rnr_retry = end->o.rnr_retry, .max_rd_atomic = end->o.rd_atomic,
		.rate_limit = kbps,
	};

	return ibv_modify_qp(end->qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RATE_LIMIT);
}

/* The plain verb: the rate with the burst that follows from it, one packet here. */
static void by_modify_qp(void)
{
	u32 len = rate_amount(5000);

	pair_up(IBV_QPT_RC, 16);
	ktap_eq(modify_limit(p.a.qp, 400000001, 0), EINVAL);
	ktap_eq(modify_limit(p.a.qp, 5000, 0), 0);
	vt_fill(p.a.buf, len, 3);
	expect_time("by ibv_modify_qp()", 5000,
		    rate_time_to_move(&p.a, IBV_WR_RDMA_WRITE, 1, len, NULL),
		    least_ms(5000, len, PMTU + 36));
	ktap_eq(vt_check(p.b.buf, len, 3), -1);
	/* with another size of the queue, and with a state */
	ktap_eq(modify_limit(p.a.qp, 1000, IBV_QP_CAP), 0);
	ktap_eq(modify_limit(p.a.qp, 5000, IBV_QP_STATE), 0);
	expect_time("with a state", 5000,
		    rate_time_to_move(&p.a, IBV_WR_RDMA_WRITE, 1, len, NULL),
		    least_ms(5000, len, PMTU + 36));
	ktap_eq(modify_limit(p.a.qp, 0, 0), 0);
	/* and on the way to RTS */
	must(!vt_to_state(p.a.qp, IBV_QPS_RESET) &&
	     !vt_to_state(p.b.qp, IBV_QPS_RESET));
	must(!vt_to_init(&p.a) && !vt_to_init(&p.b) && !vt_to_rtr(&p.a, &p.b) &&
	     !vt_to_rtr(&p.b, &p.a) && !vt_to_rts(&p.b));
	ktap_eq(to_rts_with_limit(&p.a, 5000), 0);
	expect_time("with RTS", 5000,
		    rate_time_to_move(&p.a, IBV_WR_RDMA_WRITE, 1, len, NULL),
		    least_ms(5000, len, PMTU + 36));
	pair_down();
}

static void rc_send_small(void)
{
	u64 ms;
	u32 i;

	pair_up(IBV_QPT_RC, 64);
	must(!rate_set_limit(p.a.qp, 500, 2000, 0));
	for (i = 0; i < 64; i++)
		must(!post_recv(&p.b, 0, 256));
	/* 64 packets of 100 + 16 bytes */
	ms = rate_time_to_move(&p.a, IBV_WR_SEND, 64, 100, NULL);
	expect_time("small SENDs", 500, ms, least_ms(500, 64 * 116, 2000));
	/* a burst may also be a number of packets */
	must(!rate_set_limit(p.a.qp, 500, 2000, 1000));
	for (i = 0; i < 64; i++)
		must(!post_recv(&p.b, 0, 256));
	ms = rate_time_to_move(&p.a, IBV_WR_SEND, 64, 100, NULL);
	expect_time("pairs of SENDs", 500, ms, least_ms(500, 64 * 116, 232));
	pair_down();
}

/* The limit of the responder, not of the requester. */
static void rc_read(void)
{
	u32 len = rate_amount(5000);
	u64 ms;

	pair_up(IBV_QPT_RC, 16);
	must(!rate_set_limit(p.b.qp, 5000, 4 * (PMTU + 36), 0));
	ms = rate_time_to_move(&p.a, IBV_WR_RDMA_READ, 1, len, NULL);
	expect_time("READ responses", 5000, ms,
		    least_ms(5000, len, 4 * (PMTU + 36)));
	ktap_eq(memcmp(p.a.buf + HALF, p.b.buf + HALF, len), 0);
	must(!rate_set_limit(p.b.qp, 0, 0, 0));
	must(!rate_set_limit(p.a.qp, 5000, 4 * (PMTU + 36), 0));
	ms = rate_time_to_move(&p.a, IBV_WR_RDMA_READ, 1, len, NULL);
	ktap_diag("limited requester: %llu ms", ms);
	pair_down();
}

static void uc_write(void)
{
	u32 len = rate_amount(5000);
	u64 begin, ms;

	pair_up(IBV_QPT_UC, 16);
	must(!rate_set_limit(p.a.qp, 5000, 4 * (PMTU + 36), 0));
	vt_fill(p.a.buf, len, 9);
	begin = vt_now_ms();
	ms = rate_time_to_move(&p.a, IBV_WR_RDMA_WRITE, 1, len, NULL);
	expect_time("UC WRITE", 5000, ms,
		    least_ms(5000, len, 4 * (PMTU + 36)));
	/* the last packet is in flight */
	while (vt_check(p.b.buf, len, 9) >= 0 &&
	       vt_now_ms() - begin < (u64)LONG)
		usleep(1000);
	ktap_eq(vt_check(p.b.buf, len, 9), -1);
	pair_down();
}

static void ud_send(void)
{
	struct ibv_ah *ah;
	u64 ms;

	pair_up(IBV_QPT_UD, 64);
	ah = vt_ah(&p.d[0], &p.d[1]);
	must(ah);
	must(!rate_set_limit(p.a.qp, 1000, 4 * (PMTU + 36), 0));
	ms = rate_time_to_move(&p.a, IBV_WR_SEND, 40, PMTU, ah);
	expect_time("datagrams", 1000, ms,
		    least_ms(1000, 40 * PMTU, 4 * (PMTU + 36)));
	ibv_destroy_ah(ah);
	pair_down();
}

/* ---- life ---- */

/* A rate at which the message would take hours. */
static void start_forever(u32 len)
{
	must(!rate_set_limit(p.a.qp, 1, 2 * (PMTU + 36), 0));
	must(!rate_post(&p.a, IBV_WR_RDMA_WRITE, len, NULL));
}

static void expect_nothing(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	ktap_eq(ibv_poll_cq(cq, 1, &wc), 0);
}

static void change_mid_message(void)
{
	struct ibv_wc wc;

	pair_up(IBV_QPT_RC, 4);
	start_forever(HALF);
	expect_nothing(p.a.scq);
	must(!rate_set_limit(p.a.qp, 200000, 0, 0));
	must(!vt_poll(p.a.scq, &wc, 1, LONG));
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_eq(vt_check(p.b.buf, HALF, 1), -1);
	memset(p.b.buf, 0, HALF);
	start_forever(HALF);
	expect_nothing(p.a.scq);
	must(!rate_set_limit(p.a.qp, 0, 0, 0));
	must(!vt_poll(p.a.scq, &wc, 1, LONG));
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_eq(vt_check(p.b.buf, HALF, 1), -1);
	pair_down();
}

static void error_while_waiting(void)
{
	struct ibv_wc wc;

	pair_up(IBV_QPT_RC, 4);
	start_forever(HALF);
	must(!vt_to_state(p.a.qp, IBV_QPS_ERR));
	must(!vt_poll(p.a.scq, &wc, 1, LONG));
	ktap_eq(wc.status, IBV_WC_WR_FLUSH_ERR);
	pair_down();
}

static void reset_while_waiting(void)
{
	struct ibv_wc wc;

	pair_up(IBV_QPT_RC, 4);
	start_forever(HALF);
	must(!vt_to_state(p.a.qp, IBV_QPS_RESET));
	must(!vt_to_state(p.b.qp, IBV_QPS_RESET));
	/* after RESET there is no limit */
	must(!vt_connect(&p.a, &p.b));
	must(!rate_post(&p.a, IBV_WR_RDMA_WRITE, HALF, NULL));
	must(!vt_poll(p.a.scq, &wc, 1, LONG));
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	pair_down();
}

static void destroy_while_waiting(void)
{
	for (int i = 0; i < 20; i++) {
		pair_up(IBV_QPT_RC, 4);
		/* timers are about to expire */
		must(!rate_set_limit(p.a.qp, 20000, 2 * (PMTU + 36), 0));
		must(!rate_set_limit(p.b.qp, 20000, 2 * (PMTU + 36), 0));
		must(!rate_post(&p.a, IBV_WR_RDMA_WRITE, HALF, NULL));
		must(!rate_post(&p.a, IBV_WR_RDMA_READ, HALF, NULL));
		usleep(500 * i);
		pair_down();
	}
}

/* Idle until all lanes sleep, then again. */
static void sleep_and_wake(void)
{
	u64 ms;

	pair_up(IBV_QPT_RC, 16);
	must(!rate_set_limit(p.a.qp, 5000, 4 * (PMTU + 36), 0));
	for (int i = 0; i < 3; i++) {
		usleep(200000);
		ms = rate_time_to_move(&p.a, IBV_WR_RDMA_WRITE, 1, rate_amount(2000), NULL);
		/* a queue pair gains no allowance while idle */
		expect_time("after sleep", 5000, ms,
			    least_ms(5000, rate_amount(2000), 4 * (PMTU + 36)));
	}
	pair_down();
}

/* ---- many ---- */

#define PIECE	512
#define PIECES	16	/* of each */

static struct vt_end *ends[2];
static struct ibv_cq *cqs[2];

static void many_create(u32 n)
{
	struct vt_opts opts = VT_OPTS;
	int side;
	u32 i;

	opts.timeout = 18;
	for (side = 0; side < 2; side++) {
		ends[side] = calloc(n, sizeof(*ends[side]));
		cqs[side] = ibv_create_cq(p.d[side].ctx, PIECES * n, NULL, NULL, 0);
		must(ends[side] && cqs[side]);
		for (i = 0; i < n; i++) {
			struct ibv_qp_init_attr init = {
				.cap = { PIECES, 4, 1, 1, 0 },
				.qp_type = IBV_QPT_RC,
				.send_cq = cqs[side], .recv_cq = cqs[side],
			};
			struct vt_end *end = &ends[side][i];

			end->dev = &p.d[side];
			end->o = opts;
			end->qp = ibv_create_qp(p.d[side].pd, &init);
			must(end->qp);
			end->psn = i;
		}
	}
	for (i = 0; i < n; i++)
		must(!vt_connect(&ends[0][i], &ends[1][i]));
}

static void many_destroy(u32 n)
{
	for (int side = 0; side < 2; side++) {
		for (u32 i = 0; i < n; i++)
			ktap_eq(ibv_destroy_qp(ends[side][i].qp), 0);
		ktap_eq(ibv_destroy_cq(cqs[side]), 0);
		free(ends[side]);
	}
}

static void post_piece(u32 i, u32 k)
{
	u32 off = (i * PIECES + k) % (HALF / PIECE) * PIECE;
	struct ibv_sge sge = { (uintptr_t)p.a.buf + off, PIECE,
			       p.a.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)p.b.buf + off, p.b.mr->rkey },
	}, *bad;

	must(!ibv_post_send(ends[0][i].qp, &wr, &bad));
}

/* Run @n limited QPs with some messages each, and an unlimited one beside them. */
static void rate_share_of_many(u32 n, u32 kbps)
{
	u64 begin, limited, least = least_ms(kbps, PIECES * PIECE, PMTU + 36);
	struct ibv_wc wc;
	u32 i, k, free = 0;
	u64 purges;

	pair_up(IBV_QPT_RC, 16);
	purges = vt_counter(p.a.dev, "rate_purges");
	many_create(n);
	for (i = 0; i < n; i++)
		must(!rate_set_limit(ends[0][i].qp, kbps, PMTU + 36, 0));
	begin = vt_now_ms();
	for (k = 0; k < PIECES; k++)
		for (i = 0; i < n; i++)
			post_piece(i, k);
	/* the unlimited one goes on while the others wait */
	for (i = 0; i < PIECES * n;) {
		int got = ibv_poll_cq(cqs[0], 1, &wc);

		must(got >= 0);
		if (got)
			must(wc.status == IBV_WC_SUCCESS);
		i += got;
		if (got || free > 200)
			continue;
		must(!rate_post(&p.a, IBV_WR_RDMA_WRITE, 64, NULL));
		must(!vt_poll(p.a.scq, &wc, 1, LONG));
		must(wc.status == IBV_WC_SUCCESS);
		free++;
		must(vt_now_ms() - begin < 10 * (u64)LONG);
	}
	limited = vt_now_ms() - begin;
	ktap_diag("%u limited QPs: %llu ms, at least %llu; %u WRITEs beside",
		  n, limited, least, free);
	ktap_ok(limited + 1 >= least);
	ktap_ok(free > 0);
	/* of the WQEs that are fetched together a limit lets some go */
	purges = vt_counter(p.a.dev, "rate_purges") - purges;
	ktap_diag("%llu WQEs were fetched and dropped", purges);
	ktap_ok(purges > 0);
	ktap_eq(memcmp(p.b.buf + 64, p.a.buf + 64,
		       min(n * PIECES * PIECE, (u32)HALF) - 64), 0);
	many_destroy(n);
	pair_down();
}

/* A slow machine needs some of the time for posting. The limited ones still wait then. */
static u32 rate_scaled(u32 kbps)
{
	return max(kbps / vt_ms(1), 1u);
}

static void hundred(void)
{
	rate_share_of_many(100, rate_scaled(40));
}

static void thousand(void)
{
	if (getenv("CAIRN_SOAK"))
		rate_share_of_many(1000, rate_scaled(8));
}

#define TESTS(X)							\
	X(caps) X(values) X(static_rate) X(rc_write) X(by_modify_qp)	\
	X(rc_send_small) X(rc_read) X(uc_write) X(ud_send)		\
	X(change_mid_message) X(error_while_waiting)			\
	X(reset_while_waiting) X(destroy_while_waiting)			\
	X(sleep_and_wake) X(hundred) X(thousand)

VT_TESTS(TESTS)

/* ---- messages for a capture ---- */

struct shot {
	u32 kbps, burst, len, n;
	enum ibv_qp_type type;
	enum ibv_wr_opcode op;
};

static struct shot shot = { .kbps = 1000, .len = 65536, .n = 1,
			    .type = IBV_QPT_RC, .op = IBV_WR_RDMA_WRITE };

static ssize_t first_wrong(void)
{
	return shot.op == IBV_WR_RDMA_READ ?
	       vt_check(p.a.buf + HALF, shot.len, 2) :
	       vt_check(p.b.buf, shot.len, 1);
}

static void one_shot(void)
{
	struct ibv_qp *limited;
	u64 ms, end;
	u32 i;

	pair_up(shot.type, MAX_SHOTS);
	limited = shot.op == IBV_WR_RDMA_READ ? p.b.qp : p.a.qp;
	ktap_diag("limited QP %u", limited->qp_num);
	must(!rate_set_limit(limited, shot.kbps, shot.burst, 0));
	for (i = 0; shot.op == IBV_WR_SEND && i < shot.n; i++)
		must(!post_recv(&p.b, 0, shot.len));
	ms = rate_time_to_move(&p.a, shot.op, shot.n, shot.len, NULL);
	expect_time("messages", shot.kbps, ms,
		    least_ms(shot.kbps, (u64)shot.n * shot.len, shot.burst));
	/* with UC the last packet may be in flight */
	end = vt_now_ms() + LONG;
	while (first_wrong() >= 0 && vt_now_ms() < end)
		usleep(1000);
	ktap_eq(first_wrong(), -1);
	pair_down();
}

static bool take_option(int opt)
{
	switch (opt) {
	case 'r':
		shot.kbps = atoi(optarg);
		return true;
	case 'b':
		shot.burst = atoi(optarg);
		return true;
	case 's':
		shot.len = atoi(optarg);
		return shot.len <= HALF;
	case 'n':
		shot.n = atoi(optarg);
		return shot.n && shot.n <= MAX_SHOTS;
	case 't':
		shot.type = !strcmp(optarg, "uc") ? IBV_QPT_UC : IBV_QPT_RC;
		return true;
	case 'o':
		shot.op = !strcmp(optarg, "read") ? IBV_WR_RDMA_READ :
			  !strcmp(optarg, "send") ? IBV_WR_SEND :
						    IBV_WR_RDMA_WRITE;
		return true;
	default:
		return false;
	}
}

VT_RUN(one_shot)
static const struct ktap_test single[] = { VT_ROW(one_shot) };

int main(int argc, char **argv)
{
	int opt;

	if (argc < 3)
		return vt_run(argc > 1 ? argv[1] : NULL);
	while ((opt = getopt(argc, argv, "r:b:s:n:t:o:")) != -1) {
		if (!take_option(opt)) {
			fputs("rate: bad option\n", stderr);
			return 2;
		}
	}
	return ktap_main(single, 1, NULL);
}
