// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unreliable messages from cairn_a to cairn_b, faster than the sender's netdev:
 *
 *	slow_netdev [-u] [-w] [-q QPS] [-n MESSAGES] [-s BYTES]
 *	slow_netdev -d		half of the queue pairs are destroyed while they wait
 *	slow_netdev -l		says "posted", and ends when the send queues are done or
 *				nothing has completed for two seconds
 *	slow_netdev -k		the receiver's host keeps packets: all are sent, though not all
 *				arrive; says "sent", and goes on until another one arrives
 *
 * -u: UD, else UC. -w: WRITE with immediate, else SEND. Each message has to arrive.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define MAX_QPS		16

static struct vt_dev dev[2];
static struct vt_end ends[2][MAX_QPS];
static struct ibv_ah *ah;
static u32 qps = 1, messages = 256, bytes = 4096;
static bool datagrams, writes, destroys, leaves, kept;
static int patience = 2000;	/* ms */
static u32 sent, received[MAX_QPS];

static void slow_create(u32 i)
{
	int side;

	for (side = 0; side < 2; side++) {
		struct vt_opts opts = VT_OPTS;

		opts.type = datagrams ? IBV_QPT_UD : IBV_QPT_UC;
		opts.mtu = IBV_MTU_4096;
		opts.cap.max_send_wr = side ? 1 : messages;
		opts.cap.max_recv_wr = side ? messages : 1;
		opts.cqe = messages;
		must(!vt_end_create(&ends[side][i], &dev[side], &opts, bytes + VT_GRH));
	}
}

static void slow_create_all(void)
{
	u32 i;

	for (i = 0; i < qps; i++) {
		slow_create(i);
		must(!vt_connect(&ends[0][i], &ends[1][i]));
	}
	if (datagrams)
		ah = vt_ah(&dev[0], &dev[1]);
	must(!datagrams || ah);
}

static void slow_receive(u32 i)
{
	const struct vt_end *end = &ends[1][i];
	struct ibv_sge sge = { (uintptr_t)end->buf, bytes + VT_GRH, end->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;
	u32 k;

	for (k = 0; k < messages; k++)
		must(!ibv_post_recv(end->qp, &wr, &bad));
}

static void slow_send(u32 i)
{
	const struct vt_end *end = &ends[0][i], *peer = &ends[1][i];
	struct ibv_sge sge = { (uintptr_t)end->buf, bytes, end->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1,
		.opcode = writes ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (datagrams) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = peer->qp->qp_num;
		wr.wr.ud.remote_qkey = VT_QKEY;
	} else if (writes) {
		wr.wr.rdma.remote_addr = (uintptr_t)peer->buf;
		wr.wr.rdma.rkey = peer->mr->rkey;
	}
	must(!ibv_post_send(end->qp, &wr, &bad));
}

static bool slow_poll(struct ibv_cq *from, u32 *count)
{
	struct ibv_wc wc;
	int got = ibv_poll_cq(from, 1, &wc);

	must(got >= 0);
	if (!got)
		return false;
	must(wc.status == IBV_WC_SUCCESS || leaves);
	(*count)++;
	return true;
}

/* Poll all CQs until @want messages have arrived, or nothing moves for the patience.
 * *@last: messages of the queue pair that is behind, when another one is done.
 */
static u32 slow_wait(u32 want, u32 *last)
{
	u64 until = vt_now_ms() + vt_ms(patience);
	unsigned int idle = 0;
	u32 sum = 0, i, k;

	while (vt_now_ms() < until && (leaves || kept ? sent : sum) < want) {
		bool moved = false;

		for (i = 0; i < qps; i++) {
			if (ends[0][i].qp)
				moved |= slow_poll(ends[0][i].scq, &sent);
			if (!slow_poll(ends[1][i].rcq, &received[i]))
				continue;
			moved = true;
			sum++;
			for (k = 0; received[i] == messages && k < qps; k++)
				*last = received[k] < *last ? received[k] : *last;
		}
		if (moved) {
			until = vt_now_ms() + vt_ms(patience);
			idle = 0;
		} else {
			vt_relax(&idle);
		}
	}
	return sum;
}

/* Posted in turn, all of them fit into the send queues. */
static void slow_post_all(void)
{
	u32 i, k;

	for (i = 0; i < qps; i++)
		slow_receive(i);
	for (k = 0; k < messages; k++)
		for (i = 0; i < qps; i++)
			slow_send(i);
}

static void all_arrive(void)
{
	u32 last = messages;

	slow_create_all();
	slow_post_all();
	ktap_eq(slow_wait(qps * messages, &last), qps * messages);
	while (sent < qps * messages && slow_wait(qps * messages + 1, &last))
		;
	ktap_eq(sent, qps * messages);
	ktap_diag("behind %u of %u", last, messages);
	/* in turn: no queue pair is far behind when the first one is done */
	ktap_ok(last * 10 >= messages * 6);
}

static void some_end(void)
{
	u32 last = messages, i;

	slow_create_all();
	slow_post_all();
	for (i = 1; i < qps; i += 2) {
		must(!ibv_destroy_qp(ends[0][i].qp));
		ends[0][i].qp = NULL;
	}
	slow_wait(qps * messages + 1, &last);
	for (i = 0; i < qps; i += 2)
		ktap_eq(received[i], messages);
}

static void all_end(void)
{
	u32 last = 0;

	slow_create_all();
	slow_post_all();
	puts("posted");
	fflush(stdout);
	slow_wait(qps * messages, &last);
	ktap_diag("%u of %u have completed", sent, qps * messages);
}

/* One more message of the first queue pair, which may be lost. Return: has one arrived? */
static bool slow_again(void)
{
	u32 ignored = 0, before = received[0];

	patience = 100;
	slow_send(0);
	slow_wait(sent + 2, &ignored);
	return received[0] != before;
}

static void kept_packets(void)
{
	u32 last = 0, posted = qps * messages;
	u64 until;

	slow_create_all();
	slow_post_all();
	slow_wait(posted, &last);
	ktap_eq(sent, posted);
	ktap_ok(received[0] < messages);
	puts("sent");
	fflush(stdout);
	until = vt_now_ms() + vt_ms(60000);
	while (!slow_again() && vt_now_ms() < until)
		posted++;
	ktap_eq(sent, posted + 1);
	ktap_ok(vt_now_ms() < until);
}

VT_RUN(all_arrive)
VT_RUN(some_end)
VT_RUN(all_end)
VT_RUN(kept_packets)
static const struct ktap_test rows[] = {
	VT_ROW(all_arrive) VT_ROW(some_end) VT_ROW(all_end) VT_ROW(kept_packets)
};

static u32 slow_row(void)
{
	return kept ? 3 : leaves ? 2 : destroys ? 1 : 0;
}

int main(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "uwdlkq:n:s:")) != -1) {
		switch (opt) {
		case 'u':
			datagrams = true;
			break;
		case 'w':
			writes = true;
			break;
		case 'd':
			destroys = true;
			break;
		case 'l':
			leaves = true;
			break;
		case 'k':
			kept = true;
			patience = 100000;
			break;
		case 'q':
			qps = atoi(optarg);
			break;
		case 'n':
			messages = atoi(optarg);
			break;
		case 's':
			bytes = atoi(optarg);
			break;
		default:
			return 2;
		}
	}
	if (!qps || qps > MAX_QPS || !vt_open_both(&dev[0], &dev[1], VT_IPV4))
		return vt_bail();
	return ktap_main(&rows[slow_row()], 1, NULL);
}
