// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many connections at once: manyqps [N], default 1000 RC QP pairs. Each moves
 * data with SEND, WRITE and READ, all compared, while all the others exist.
 * The kernel's memory for a QP is measured.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "vt.h"
#include "vt_test.h"

#define BYTES	1500		/* of a message */
/* KiB of kernel memory per QP, beyond the rings; a kernel with all its checks needs more */
#define LIMIT		6
#define LIMIT_DEBUG	32
#define LONG	vt_ms(60000)

static unsigned int pairs = 1000;
static struct vt_dev dev[2];
static struct ibv_cq *cq[2];
static struct ibv_mr *mr[2];
static u8 *buf[2];
static struct vt_end *ends[2];

/* The sum of one key of /proc/self/smaps, in kB, for matching mappings. */
static long manyqps_mapped(const char *path, const char *key)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	size_t n = strlen(key);
	bool match = false;
	char line[512];
	long kb = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
			match = strstr(line, path);
		else if (match && !strncmp(line, key, n) && line[n] == ':')
			kb += atol(line + n + 1);
	}
	if (file)
		fclose(file);
	return kb;
}

static int create_end(struct vt_end *end, int side)
{
	struct ibv_qp_init_attr init = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
		.send_cq = cq[side], .recv_cq = cq[side],
	};
	struct vt_opts opts = VT_OPTS;

	end->dev = &dev[side];
	end->o = opts;
	end->o.timeout = 18;
	end->qp = ibv_create_qp(dev[side].pd, &init);
	if (!end->qp)
		return vt_err("QP pair %td", end - ends[side]);
	end->psn = end->qp->qp_num;
	return 0;
}

static void manyqps_create(void)
{
	unsigned int i;

	for (i = 0; i < pairs; i++)
		must(!create_end(&ends[0][i], 0) && !create_end(&ends[1][i], 1));
}

/* Count slabs only, which have the objects: other memory of a kernel that has just
 * booted changes by more than their size.
 */
static void kernel_memory(void)
{
	long slab0, rings0, slab, rings, limit = LIMIT;

	if (getenv("CAIRN_DEBUG_KERNEL"))
		limit = LIMIT_DEBUG;
	slab0 = vt_meminfo("SUnreclaim");
	rings0 = manyqps_mapped("uverbs", "Size");
	manyqps_create();
	/* the responder's resources are made when it is connected */
	for (unsigned int i = 0; i < pairs; i++)
		must(!vt_connect(&ends[0][i], &ends[1][i]));
	slab = (vt_meminfo("SUnreclaim") - slab0) * 1024 / (2 * (long)pairs);
	rings = (manyqps_mapped("uverbs", "Size") - rings0) * 1024 / (2 * (long)pairs);
	ktap_diag("%u QPs: %ld bytes of rings and %ld bytes of objects for each",
		  2 * pairs, rings, slab);
	ktap_ok(slab > 2048 && slab < limit * 1024);
}

static int manyqps_post(unsigned int i, int from, enum ibv_wr_opcode op)
{
	struct ibv_sge sge = {
		(uintptr_t)buf[from] + i * 4096, BYTES, mr[from]->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = (uintptr_t)buf[!from] + i * 4096 + 2048,
			.rkey = mr[!from]->rkey,
		},
	}, *bad;

	return ibv_post_send(ends[from][i].qp, &wr, &bad);
}

static int post_recv(unsigned int i, int side)
{
	struct ibv_sge sge = {
		(uintptr_t)buf[side] + i * 4096 + 2048, BYTES, mr[side]->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = 1ULL << 32 | i, .sg_list = &sge, .num_sge = 1,
	}, *bad;

	return ibv_post_recv(ends[side][i].qp, &wr, &bad);
}

/* Poll @n completions of one CQ, which must be good. */
static void manyqps_reap(int side, unsigned int n)
{
	static u8 seen[2][65536];
	struct ibv_wc wc;

	memset(seen, 0, sizeof(seen));
	while (n--) {
		must(!vt_poll(cq[side], &wc, 1, LONG));
		must(wc.status == IBV_WC_SUCCESS);
		must((u32)wc.wr_id < pairs && !seen[wc.wr_id >> 32][(u32)wc.wr_id]);
		seen[wc.wr_id >> 32][(u32)wc.wr_id] = 1;
	}
}

/* All connections at once, from one side to the other. */
static void all_move(enum ibv_wr_opcode op, int from)
{
	unsigned int i;
	u64 begin = vt_now_ms();

	for (i = 0; i < pairs; i++) {
		memset(buf[0] + i * 4096, 0, 4096);
		memset(buf[1] + i * 4096, 0, 4096);
		if (op == IBV_WR_RDMA_READ)
			vt_fill(buf[!from] + i * 4096 + 2048, BYTES, i);
		else
			vt_fill(buf[from] + i * 4096, BYTES, i);
		if (op == IBV_WR_SEND)
			must(!post_recv(i, !from));
	}
	for (i = 0; i < pairs; i++)
		must(!manyqps_post(i, from, op));
	manyqps_reap(from, pairs);
	if (op == IBV_WR_SEND)
		manyqps_reap(!from, pairs);
	for (i = 0; i < pairs; i++) {
		must(vt_check(buf[from] + i * 4096, BYTES, i) < 0);
		must(vt_check(buf[!from] + i * 4096 + 2048, BYTES, i) < 0);
	}
	ktap_diag("%llu ms", vt_now_ms() - begin);
}

static void sends(void)
{
	all_move(IBV_WR_SEND, 0);
	all_move(IBV_WR_SEND, 1);
}

static void writes(void)
{
	all_move(IBV_WR_RDMA_WRITE, 0);
	all_move(IBV_WR_RDMA_WRITE, 1);
}

static void reads(void)
{
	all_move(IBV_WR_RDMA_READ, 0);
	all_move(IBV_WR_RDMA_READ, 1);
}

static void destroy(void)
{
	unsigned int i;
	int side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < pairs; i++)
			if (ends[side][i].qp)
				ktap_eq(ibv_destroy_qp(ends[side][i].qp), 0);
}

#define TESTS(X)	X(kernel_memory) X(sends) X(writes) X(reads) X(destroy)

VT_TESTS(TESTS)

static bool setup(int side)
{
	const char *name = side ? vt_name_b() : vt_name_a();

	if (vt_open(&dev[side], name, VT_IPV4, -1))
		return false;
	ends[side] = calloc(pairs, sizeof(*ends[side]));
	buf[side] = aligned_alloc(4096, pairs * 4096);
	if (!ends[side] || !buf[side])
		return false;
	/* touch it now, so that it is not counted later */
	memset(buf[side], 0, pairs * 4096);
	mr[side] = ibv_reg_mr(dev[side].pd, buf[side], pairs * 4096, VT_ACCESS);
	cq[side] = ibv_create_cq(dev[side].ctx, 2 * pairs, NULL, NULL, 0);
	return mr[side] && cq[side];
}

int main(int argc, char **argv)
{
	if (argc > 1)
		pairs = atoi(argv[1]);
	if (pairs > 65536 || !setup(0) || !setup(1))
		return vt_bail();
	return vt_run(NULL);
}
