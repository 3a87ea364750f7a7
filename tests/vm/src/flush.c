// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA FLUSH and ATOMIC WRITE between two devices: end a asks, end b is asked.
 * persist_shadow.c judges durability.
 *
 *   flush [rxe]	rxe: end a is one of rdma_rxe
 *
 * libibverbs 44 cannot post a FLUSH to rdma_rxe, though its driver supports it. So a
 * READ is posted while the queue pair may not send yet. It becomes a FLUSH in the send
 * queue, which lies in memory of this process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <rdma/rdma_user_rxe.h>
#include "vt_persist.h"
#include "vt_test.h"

#define LONG	vt_ms(20000)
#define LEN	(4 * VT_DAX_UNIT)
#define BOTH	(CAIRNDV_ACCESS_FLUSH_GLOBAL | CAIRNDV_ACCESS_FLUSH_PERSISTENT)
#define OPS	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | \
		 IBV_QP_EX_WITH_ATOMIC_WRITE)

static struct vt_dev dev[2];
static struct vt_end a, b;
static struct ibv_mr *mr;
static u8 *memory;
static bool rxe;		/* sends */
static u8 retries = 7;

static void open_ends(int mr_access, int qp_access)
{
	struct vt_opts opts = VT_OPTS;

	opts.timeout = 18;
	opts.retry_cnt = retries;
	must(!vt_end_create_ex(&a, &dev[0], &opts, LEN, OPS));
	must(!vt_end_create(&b, &dev[1], &opts, 4096));
	b.o.access |= qp_access;
	memory = vt_dax() ? vt_dax_map(NULL, LEN, 0) : vt_map(LEN);
	must(memory);
	mr = ibv_reg_mr(dev[1].pd, memory, LEN, VT_ACCESS | mr_access);
	must(mr);
}

static void close_ends(void)
{
	must(!ibv_dereg_mr(mr));
	munmap(memory, LEN);
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

static int flush_wc_status(int opcode)
{
	struct ibv_wc wc;

	must(!vt_poll(a.scq, &wc, 1, LONG));
	if (!wc.status)
		ktap_eq(wc.opcode, opcode);
	return wc.status;
}

static void flush_start(u64 wr_id)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(a.qp);

	ibv_wr_start(qp);
	qp->wr_id = wr_id;
	qp->wr_flags = IBV_SEND_SIGNALED;
}

static int flush_complete(void)
{
	return ibv_wr_complete(ibv_qp_to_qp_ex(a.qp));
}

static int post_flush(u32 rkey, u64 addr, size_t len, u8 type, u8 level)
{
	flush_start(1);
	must(!cairndv_wr_flush(ibv_qp_to_qp_ex(a.qp), rkey, addr, len, type,
			       level));
	return flush_complete();
}

static void post_write(size_t off, u32 len)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(a.qp);

	flush_start(2);
	ibv_wr_rdma_write(qp, mr->rkey, (uintptr_t)memory + off);
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.buf + off, len);
	must(!flush_complete());
}

static void post_word(size_t off, u64 word)
{
	flush_start(3);
	ibv_wr_atomic_write(ibv_qp_to_qp_ex(a.qp), mr->rkey,
			    (uintptr_t)memory + off, &word);
	must(!flush_complete());
}

/* Find the work request with this number in any mapping of a device. */
static struct rxe_send_wqe *find_wqe(u64 wr_id)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	struct rxe_send_wqe *found = NULL;
	unsigned long from, to, at;
	char line[400];

	must(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/dev/infiniband/uverbs") ||
		    sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		for (at = from; !found && at + sizeof(u64) <= to; at += 8)
			if (*(volatile u64 *)at == wr_id)
				found = (void *)at;
	}
	fclose(maps);
	return found;
}

/* rdma_user_rxe.h has it since 6.2. */
struct rxe_flush {
	u64 remote_addr;
	u32 length;
	u32 rkey;
	u8 type;
	u8 level;
};

#define SECRET	0x6c75666e65767261ull

/* In the state RTR: rxe sends this when it gets to RTS. */
static void queue_rxe_flush(u64 addr, u32 len, u8 type, u8 level)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, 0, a.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = SECRET, .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { addr, mr->rkey },
	}, *bad;
	const struct rxe_flush flush = { addr, len, mr->rkey, type, level };
	struct rxe_send_wqe *wqe;

	/* the driver refuses the doorbell; the request is in the queue */
	ibv_post_send(a.qp, &wr, &bad);
	wqe = find_wqe(SECRET);
	must(wqe);
	wqe->wr.wr_id = 1;
	wqe->wr.opcode = 14;	/* IB_WR_FLUSH */
	memcpy(&wqe->wr.wr, &flush, sizeof(flush));
	wqe->dma.length = 0;
	wqe->dma.resid = 0;
	wqe->dma.num_sge = 0;
	wqe->dma.cur_sge = 0;
}

static int flush_status(u64 addr, size_t len, u8 type, u8 level)
{
	must(!vt_connect(&a, &b));
	must(!post_flush(mr->rkey, addr, len, type, level));
	return flush_wc_status(CAIRNDV_WC_FLUSH);
}

/* The connection is made with the FLUSH in the queue of rxe. */
static void rxe_sends_flush(void)
{
	struct ibv_send_wr wr = { .wr_id = 9, .opcode = IBV_WR_RDMA_WRITE }, *bad;

	must(!vt_to_init(&a) && !vt_to_init(&b));
	must(!vt_to_rtr(&a, &b) && !vt_to_rtr(&b, &a));
	queue_rxe_flush((uintptr_t)memory, 4096, CAIRNDV_FLUSH_PERSISTENT, 0);
	must(!vt_to_rts(&a) && !vt_to_rts(&b));
	/* an empty WRITE behind it rings the doorbell */
	must(!ibv_post_send(a.qp, &wr, &bad));
}

static bool peer_is_rxe(void)
{
	return rxe || !strncmp(dev[1].name, "rxe", 3);
}

/* rdma_rxe takes the headers of a FLUSH for its payload too when it computes the
 * ICRC: neither end understands the other's. The result is that of a corrupt packet.
 */
static void other_checksum(void)
{
	u64 before;

	if (!peer_is_rxe()) {
		ktap_skip("between devices of cairn");
		return;
	}
	retries = 1;
	open_ends(BOTH, BOTH);
	if (rxe) {
		before = vt_counter(&dev[1], "rx_icrc_errors");
		rxe_sends_flush();
		ktap_ok(vt_counter_reaches(&dev[1], "rx_icrc_errors",
					   before + 1) > before);
	} else {
		ktap_eq(flush_status((uintptr_t)memory, 4096,
				     CAIRNDV_FLUSH_PERSISTENT, 0),
			IBV_WC_RETRY_EXC_ERR);
	}
	close_ends();
	retries = 7;
}

/* Both types, both levels. */
static void flushes(void)
{
	static const struct {
		u8 type, level;
	} asks[] = {
		{ 1, 0 }, { 2, 0 }, { 3, 0 }, { 1, 1 }, { 2, 1 }, { 3, 1 },
	};

	if (peer_is_rxe()) {
		ktap_skip("see other_checksum");
		return;
	}
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		open_ends(BOTH, BOTH);
		ktap_eq(flush_status((uintptr_t)memory + 100, 300000,
				     asks[i].type, asks[i].level),
			IBV_WC_SUCCESS);
		close_ends();
	}
}

static void words(void)
{
	open_ends(0, 0);
	must(!vt_connect(&a, &b));
	for (u64 i = 1; i < 50; i++) {
		post_word(8 * i, i * 0x0102030405060708);
		ktap_eq(flush_wc_status(IBV_WC_ATOMIC_WRITE), IBV_WC_SUCCESS);
		ktap_eq(*(volatile u64 *)(memory + 8 * i),
			i * 0x0102030405060708);
	}
	close_ends();
}

/* A log: data, flush, and the word that commits the data; all posted at once. */
static void commits(void)
{
	if (peer_is_rxe()) {
		ktap_skip("see other_checksum");
		return;
	}
	open_ends(BOTH, BOTH);
	must(!vt_connect(&a, &b));
	vt_fill(a.buf, LEN, 5);
	post_write(0, LEN - 4096);
	must(!post_flush(mr->rkey, (uintptr_t)memory, LEN - 4096,
			 CAIRNDV_FLUSH_TYPES, CAIRNDV_FLUSH_RANGE));
	post_word(LEN - 8, 77);
	ktap_eq(flush_wc_status(IBV_WC_RDMA_WRITE), IBV_WC_SUCCESS);
	ktap_eq(flush_wc_status(CAIRNDV_WC_FLUSH), IBV_WC_SUCCESS);
	ktap_eq(flush_wc_status(IBV_WC_ATOMIC_WRITE), IBV_WC_SUCCESS);
	ktap_eq(vt_check(memory, LEN - 4096, 5), -1);
	ktap_eq(*(volatile u64 *)(memory + LEN - 8), 77);
	close_ends();
}

static int flush_refusal(int mr_access, int qp_access, s64 off, size_t len, u8 type,
			 u8 level)
{
	int ret;

	open_ends(mr_access, qp_access);
	ret = flush_status((uintptr_t)memory + off, len, type, level);
	close_ends();
	return ret;
}

static void refused(void)
{
	if (peer_is_rxe()) {
		ktap_skip("see other_checksum");
		return;
	}
	ktap_eq(flush_refusal(BOTH, 0, 0, 8, 1, 0), IBV_WC_REM_INV_REQ_ERR);
	ktap_eq(flush_refusal(BOTH, CAIRNDV_ACCESS_FLUSH_GLOBAL, 0, 8, 2, 0),
		IBV_WC_REM_INV_REQ_ERR);
	ktap_eq(flush_refusal(0, BOTH, 0, 8, 1, 0), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(flush_refusal(CAIRNDV_ACCESS_FLUSH_GLOBAL, BOTH, 0, 8, 2, 1),
		IBV_WC_REM_ACCESS_ERR);
	ktap_eq(flush_refusal(BOTH, BOTH, LEN - 7, 8, 2, 0), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(flush_refusal(BOTH, BOTH, 0, 0xfffffff0, 2, 0),
		IBV_WC_REM_ACCESS_ERR);
}

/* Errors that the library and the registration return at once. */
static void bad_calls(void)
{
	struct ibv_mr *bad;

	if (peer_is_rxe()) {
		ktap_skip("calls of cairn");
		return;
	}
	open_ends(BOTH, BOTH);
	must(!vt_connect(&a, &b));
	ktap_eq(post_flush(mr->rkey, 0, 8, 0, 0), EINVAL);
	ktap_eq(post_flush(mr->rkey, 0, 8, 4, 0), EINVAL);
	ktap_eq(post_flush(mr->rkey, 0, 8, 1, 2), EINVAL);
	ktap_eq(post_flush(mr->rkey, 0, 1ull << 32, 1, 0), EINVAL);
	/* ordinary memory cannot be durable */
	bad = ibv_reg_mr(dev[1].pd, b.buf, 4096,
			 VT_ACCESS | CAIRNDV_ACCESS_FLUSH_PERSISTENT);
	ktap_ok(!bad);
	ktap_eq(errno, EINVAL);
	bad = ibv_reg_mr(dev[1].pd, b.buf, 4096,
			 VT_ACCESS | VT_HOST | CAIRNDV_ACCESS_FLUSH_PERSISTENT);
	ktap_ok(!bad);
	bad = ibv_reg_mr(dev[1].pd, b.buf, 4096,
			 VT_ACCESS | CAIRNDV_ACCESS_FLUSH_PERSISTENT |
			 CAIRNDV_ACCESS_PERSISTENT_EMULATED);
	must(bad);
	ktap_eq(ibv_dereg_mr(bad), 0);
	close_ends();
}

/* A FLUSH with this key is refused, and the key is counted as a dead one. */
static void refuse_key(u32 key, u8 level)
{
	u64 stale = vt_counter(&dev[1], "stale_keys");

	must(!vt_connect(&a, &b));
	must(!post_flush(key, (uintptr_t)memory, 4096, CAIRNDV_FLUSH_TYPES,
			 level));
	ktap_eq(flush_wc_status(CAIRNDV_WC_FLUSH), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(vt_counter_reaches(&dev[1], "stale_keys", stale + 1), stale + 1);
	must(!vt_to_state(a.qp, IBV_QPS_RESET));
	must(!vt_to_state(b.qp, IBV_QPS_RESET));
}

/* A key of another protection domain tells neither that it is valid, nor where its
 * region lies.
 */
static void foreign_keys(void)
{
	struct ibv_mr *other, *gone;
	struct ibv_pd *pd;
	u32 dead;
	u8 level;

	if (peer_is_rxe()) {
		ktap_skip("see other_checksum");
		return;
	}
	open_ends(BOTH, BOTH);
	pd = ibv_alloc_pd(dev[1].ctx);
	must(pd);
	other = ibv_reg_mr(pd, memory, LEN, VT_ACCESS | BOTH);
	gone = ibv_reg_mr(dev[1].pd, memory, LEN, VT_ACCESS | BOTH);
	must(other && gone);
	dead = gone->rkey;
	must(!ibv_dereg_mr(gone));
	for (level = 0; level < 2; level++) {
		refuse_key(dead, level);
		refuse_key(other->rkey, level);
	}
	must(!ibv_dereg_mr(other) && !ibv_dealloc_pd(pd));
	close_ends();
}

#define TESTS(X) X(other_checksum) X(flushes) X(words) X(commits) X(refused) X(bad_calls) \
	X(foreign_keys)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	rxe = argc > 1 && !strcmp(argv[1], "rxe");
	if (vt_open(&dev[0], vt_name_a(), VT_IPV4, -1) ||
	    vt_open(&dev[1], vt_name_b(), VT_IPV4, -1) || vt_dax_open()) {
		puts("KTAP version 1\nBail out! setting up failed");
		return 1;
	}
	return ktap_main(tests, sizeof(tests) / sizeof(tests[0]), NULL);
}
