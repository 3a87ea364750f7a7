// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sends from memory with an error that the kernel does not know yet. The
 * module cairn_media_test (poison=1) has the copy of certain bytes fail.
 */
#include <stdio.h>
#include <string.h>
#include "vt.h"
#include "vt_test.h"

#define BUF	65536
#define PMTU	1024
#define SHORT	600	/* too long for a work request */
#define LONG	vt_ms(20000)

static const char poison[16] = "this is poisoned";

static struct vt_dev da, db;
static struct vt_end a, b;

static void open_ends(void)
{
	struct vt_opts opts = VT_OPTS;

	must(!vt_end_create(&a, &da, &opts, BUF));
	must(!vt_end_create(&b, &db, &opts, BUF));
	must(!vt_connect(&a, &b));
	vt_fill(a.buf, BUF, 3);
}

static void close_ends(void)
{
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

static u64 poisoned_of(const struct vt_dev *dev)
{
	return vt_counter(dev, "poisoned_pages");
}

/* @n requests of @len bytes each, one behind the other in memory. */
static void poison_post(enum ibv_wr_opcode opcode, u32 len, int n)
{
	struct ibv_send_wr wr[8] = {}, *bad;
	struct ibv_sge sge[8];
	int i;

	for (i = 0; i < n; i++) {
		sge[i] = (struct ibv_sge) {
			.addr = (uintptr_t)a.buf + i * len, .length = len,
			.lkey = a.mr->lkey,
		};
		wr[i] = (struct ibv_send_wr) {
			.wr_id = i, .sg_list = &sge[i], .num_sge = 1,
			.opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.wr.rdma = {
				.remote_addr = (uintptr_t)b.buf + i * len,
				.rkey = b.mr->rkey,
			},
		};
	}
	must(!ibv_post_send(a.qp, wr, &bad));
}

static void poison_expect(u64 id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	must(!vt_poll(a.scq, &wc, 1, LONG));
	ktap_eq(wc.wr_id, id);
	ktap_eq(wc.status, status);
}

static bool is_zero(const u8 *at, size_t len)
{
	while (len--)
		if (*at++)
			return false;
	return true;
}

/* The second packet of a message. */
static void write_source(void)
{
	u64 before = poisoned_of(&da);

	open_ends();
	memcpy(a.buf + PMTU, poison, sizeof(poison));
	poison_post(IBV_WR_RDMA_WRITE, 5 * PMTU, 1);
	poison_expect(0, IBV_WC_LOC_PROT_ERR);
	ktap_ok(is_zero(b.buf + PMTU, 4 * PMTU));
	ktap_ok(poisoned_of(&da) > before);
	close_ends();
}

/* One of several messages of a train: those before it arrive. */
static void one_of_many(void)
{
	open_ends();
	memcpy(a.buf + 2 * SHORT, poison, sizeof(poison));
	poison_post(IBV_WR_RDMA_WRITE, SHORT, 5);
	poison_expect(0, IBV_WC_SUCCESS);
	poison_expect(1, IBV_WC_SUCCESS);
	poison_expect(2, IBV_WC_LOC_PROT_ERR);
	poison_expect(3, IBV_WC_WR_FLUSH_ERR);
	poison_expect(4, IBV_WC_WR_FLUSH_ERR);
	ktap_ok(vt_check(b.buf, 2 * SHORT, 3) < 0);
	ktap_ok(is_zero(b.buf + 2 * SHORT, 3 * SHORT));
	close_ends();
}

/* The responder's memory: a NAK. */
static void read_source(void)
{
	u64 before = poisoned_of(&db);

	open_ends();
	memcpy(b.buf + 2 * PMTU, poison, sizeof(poison));
	poison_post(IBV_WR_RDMA_READ, 8 * PMTU, 1);
	poison_expect(0, IBV_WC_REM_ACCESS_ERR);
	ktap_ok(poisoned_of(&db) > before);
	ktap_ok(memcmp(a.buf + 2 * PMTU, poison, sizeof(poison)));
	close_ends();
}

/* The connection works afterwards. */
static void goes_on(void)
{
	open_ends();
	poison_post(IBV_WR_RDMA_WRITE, 8000, 2);
	poison_expect(0, IBV_WC_SUCCESS);
	poison_expect(1, IBV_WC_SUCCESS);
	ktap_ok(vt_check(b.buf, 16000, 3) < 0);
	close_ends();
}

#define TESTS(X) X(write_source) X(one_of_many) X(read_source) X(goes_on)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	if (vt_open(&da, vt_name_a(), VT_IPV4, -1) ||
	    vt_open(&db, vt_name_b(), VT_IPV4, -1)) {
		puts("KTAP version 1\nBail out! no devices");
		return 1;
	}
	return ktap_main(tests, sizeof(tests) / sizeof(tests[0]),
			 argc > 1 ? argv[1] : NULL);
}
