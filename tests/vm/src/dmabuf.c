// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Regions of dma-bufs. The buffers are of the exporter EXPORTER:
 *
 *	dmabuf EXPORTER [TEST]	the tests below
 *	dmabuf EXPORTER hold	registers, says "holds" and waits to be killed
 *
 *	udmabuf	pages of a memfd; contents are seen through the memfd's own mapping
 *	heap	/dev/dma_heap/system
 *	vgem	the DRM device without hardware
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(20000)
#define SIZE	(1u << 20)
#define PAGE	4096u
/* offset of transfers in both buffers, unaligned */
#define AT	(5 * PAGE + 123)
#define LEN	100001u

/* From <drm/drm.h>, which need not be installed. */
struct drm_dumb_create {
	u32 height, width, bpp, flags;
	u32 handle, pitch;
	u64 size;
};

struct drm_prime {
	u32 handle, flags;
	s32 fd;
};

#define DRM_CREATE_DUMB	_IOWR('d', 0xb2, struct drm_dumb_create)
#define DRM_HANDLE_FD	_IOWR('d', 0x2d, struct drm_prime)

struct buffer {
	int fd;
	u8 *mem;
};

static struct vt_dev a, b;
static const char *exporter;

static int udmabuf_export(u8 **mem)
{
	int memfd = memfd_create("cairn-dmabuf", MFD_ALLOW_SEALING);
	int dev = open("/dev/udmabuf", O_RDWR);
	struct udmabuf_create create = { .memfd = memfd, .size = SIZE };
	int fd = -1;

	if (!ftruncate(memfd, SIZE) && !fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = ioctl(dev, UDMABUF_CREATE, &create);
	*mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	close(dev);
	close(memfd);
	return fd;
}

static int heap_export(bool writable)
{
	struct dma_heap_allocation_data data = {
		.len = SIZE, .fd_flags = writable ? O_RDWR : O_RDONLY,
	};
	int dev = open("/dev/dma_heap/system", O_RDONLY);
	int err = ioctl(dev, DMA_HEAP_IOCTL_ALLOC, &data);

	close(dev);
	return err ? -1 : (int)data.fd;
}

static int vgem_export(bool writable)
{
	struct drm_dumb_create create = {
		.width = SIZE / PAGE, .height = PAGE, .bpp = 8,
	};
	struct drm_prime prime = { .flags = writable ? O_RDWR : 0 };
	int dev = open("/dev/dri/card0", O_RDWR);
	int err = ioctl(dev, DRM_CREATE_DUMB, &create);

	prime.handle = create.handle;
	if (!err)
		err = ioctl(dev, DRM_HANDLE_FD, &prime);
	close(dev);
	return err ? -1 : prime.fd;
}

/* A buffer of SIZE bytes, mapped for comparing. */
static void buffer_open(struct buffer *buffer)
{
	if (!strcmp(exporter, "udmabuf")) {
		buffer->fd = udmabuf_export(&buffer->mem);
	} else {
		buffer->fd = !strcmp(exporter, "heap") ? heap_export(true) :
						   vgem_export(true);
		buffer->mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
				   buffer->fd, 0);
	}
	must(buffer->fd >= 0 && buffer->mem != MAP_FAILED);
	memset(buffer->mem, 0, SIZE);
}

static void buffer_close(struct buffer *buffer)
{
	if (buffer->fd >= 0)
		close(buffer->fd);
	munmap(buffer->mem, SIZE);
}

static struct ibv_mr *dmabuf_reg(struct vt_dev *dev, struct buffer *buffer, u64 offset,
				 u64 length, u64 iova, int access)
{
	return ibv_reg_dmabuf_mr(dev->pd, offset, length, iova, buffer->fd, access);
}

/* Two ends; messages lie in ordinary memory or in the buffer at 0. */
struct pair {
	struct vt_end a, b;
	struct buffer x;
	struct ibv_mr *at_a, *at_b;	/* regions of the one buffer */
};

#define IOVA	0x700000000000ULL

static void pair_open(struct pair *pair)
{
	struct vt_opts opts = VT_OPTS;

	must(!vt_end_create(&pair->a, &a, &opts, SIZE));
	must(!vt_end_create(&pair->b, &b, &opts, SIZE));
	must(!vt_connect(&pair->a, &pair->b));
	buffer_open(&pair->x);
	pair->at_a = dmabuf_reg(&a, &pair->x, 0, SIZE, 0, VT_ACCESS);
	pair->at_b = dmabuf_reg(&b, &pair->x, PAGE, SIZE - PAGE, IOVA + PAGE, VT_ACCESS);
	must(pair->at_a && pair->at_b);
}

static void pair_close(struct pair *pair)
{
	ktap_eq(pair->at_a ? ibv_dereg_mr(pair->at_a) : 0, 0);
	ktap_eq(pair->at_b ? ibv_dereg_mr(pair->at_b) : 0, 0);
	buffer_close(&pair->x);
	vt_end_destroy(&pair->a);
	vt_end_destroy(&pair->b);
}

static void dmabuf_post(struct vt_end *end, enum ibv_wr_opcode opcode, u64 addr,
			u32 len, u32 lkey, u64 to, u32 rkey)
{
	struct ibv_sge sge = { addr, len, lkey };
	struct ibv_send_wr wr = {
		.opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	}, *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = to;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 5;
	} else {
		wr.wr.rdma.remote_addr = to;
		wr.wr.rdma.rkey = rkey;
	}
	must(!ibv_post_send(end->qp, &wr, &bad));
}

static void dmabuf_done(struct ibv_cq *cq, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	must(!vt_poll(cq, &wc, 1, LONG));
	ktap_eq(wc.status, status);
}

static u64 mem_of(struct vt_end *end)
{
	return (uintptr_t)end->buf + AT;
}

/* A peer writes and reads the buffer. */
static void target(void)
{
	struct pair pair = {};

	pair_open(&pair);
	vt_fill(pair.a.buf + AT, LEN, 1);
	dmabuf_post(&pair.a, IBV_WR_RDMA_WRITE, mem_of(&pair.a), LEN, pair.a.mr->lkey, IOVA + AT,
		    pair.at_b->rkey);
	dmabuf_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.x.mem + AT, LEN, 1), -1);
	ktap_eq(pair.x.mem[AT - 1] | pair.x.mem[AT + LEN], 0);
	vt_fill(pair.x.mem + AT, LEN, 2);
	dmabuf_post(&pair.a, IBV_WR_RDMA_READ, mem_of(&pair.a), LEN, pair.a.mr->lkey, IOVA + AT,
		    pair.at_b->rkey);
	dmabuf_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.a.buf + AT, LEN, 2), -1);
	pair_close(&pair);
}

/* The buffer is the source of WRITEs and the destination of READs. */
static void source(void)
{
	struct pair pair = {};

	pair_open(&pair);
	vt_fill(pair.x.mem + AT, LEN, 3);
	dmabuf_post(&pair.a, IBV_WR_RDMA_WRITE, AT, LEN, pair.at_a->lkey, mem_of(&pair.b),
		    pair.b.mr->rkey);
	dmabuf_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.b.buf + AT, LEN, 3), -1);
	vt_fill(pair.b.buf + AT, LEN, 4);
	dmabuf_post(&pair.a, IBV_WR_RDMA_READ, AT, LEN, pair.at_a->lkey, mem_of(&pair.b),
		    pair.b.mr->rkey);
	dmabuf_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.x.mem + AT, LEN, 4), -1);
	pair_close(&pair);
}

/* From the buffer to the buffer, by messages. */
static void messages(void)
{
	const u32 to = AT + 2 * LEN;
	struct pair pair = {};
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	pair_open(&pair);
	sge = (struct ibv_sge){ IOVA + to, LEN, pair.at_b->lkey };
	vt_fill(pair.x.mem + AT, LEN, 5);
	must(!ibv_post_recv(pair.b.qp, &wr, &bad));
	dmabuf_post(&pair.a, IBV_WR_SEND, AT, LEN, pair.at_a->lkey, 0, 0);
	dmabuf_done(pair.a.scq, IBV_WC_SUCCESS);
	dmabuf_done(pair.b.rcq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.x.mem + to, LEN, 5), -1);
	pair_close(&pair);
}

static void atomics(void)
{
	struct pair pair = {};
	u64 *word, *got;

	pair_open(&pair);
	word = (u64 *)(pair.x.mem + 3 * PAGE);
	got = (u64 *)(pair.x.mem + PAGE);
	*word = 37;
	dmabuf_post(&pair.a, IBV_WR_ATOMIC_FETCH_AND_ADD, PAGE, 8, pair.at_a->lkey,
		    IOVA + 3 * PAGE, pair.at_b->rkey);
	dmabuf_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(*word, 42);
	ktap_eq(*got, 37);
	pair_close(&pair);
}

/* Rights and bounds of a region inside the buffer are checked as for other memory. */
static void rights(void)
{
	struct pair pair = {};
	struct ibv_mr *mr;

	pair_open(&pair);
	mr = dmabuf_reg(&b, &pair.x, PAGE + 8, 64, IOVA + 8,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	must(mr);
	memset(pair.x.mem + PAGE + 8, 7, 64);
	dmabuf_post(&pair.a, IBV_WR_RDMA_READ, mem_of(&pair.a), 64, pair.a.mr->lkey, IOVA + 8,
		    mr->rkey);
	dmabuf_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(pair.a.buf[AT], 7);
	ktap_eq(pair.a.buf[AT + 63], 7);
	dmabuf_post(&pair.a, IBV_WR_RDMA_WRITE, mem_of(&pair.a), 8, pair.a.mr->lkey, IOVA + 8,
		    mr->rkey);
	dmabuf_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
	vt_to_state(pair.a.qp, IBV_QPS_RESET);
	vt_to_state(pair.b.qp, IBV_QPS_RESET);
	must(!vt_connect(&pair.a, &pair.b));
	dmabuf_post(&pair.a, IBV_WR_RDMA_READ, mem_of(&pair.a), 64, pair.a.mr->lkey, IOVA + 9,
		    mr->rkey);
	dmabuf_done(pair.a.scq, IBV_WC_REM_ACCESS_ERR);
	ktap_eq(ibv_dereg_mr(mr), 0);
	pair_close(&pair);
}

static void wrong(void)
{
	const int rw = VT_ACCESS;
	struct buffer buffer, none = { .fd = -1 }, file;

	buffer_open(&buffer);
	file.fd = open("/dev/zero", O_RDWR);
	REFUSED_MR(dmabuf_reg(&a, &none, 0, PAGE, 0, rw), EBADF);
	REFUSED_MR(dmabuf_reg(&a, &file, 0, PAGE, 0, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0, 0, 0, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0, SIZE + 1, 0, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, PAGE, SIZE, 0, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, SIZE, 1, 0, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, SIZE + PAGE, 1, 0, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0ULL - PAGE, 2 * PAGE, 0, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, PAGE, ~0ULL, 0, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0, 2 * PAGE, 0ULL - PAGE, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 1, 8, 0, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0, 8, 1, rw), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0, PAGE, 0, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0, PAGE, 0, rw | IBV_ACCESS_MW_BIND), EINVAL);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0, PAGE, 0, rw | 1 << 15), EINVAL);
	/* neither flushed nor persistent: it is no NVDIMM */
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0, PAGE, 0, rw | 1 << 9), EOPNOTSUPP);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0, PAGE, 0, rw | 1 << 16), EOPNOTSUPP);
	close(file.fd);
	buffer_close(&buffer);
}

/* A file open for reading allows a readable region, and no writable one. */
static void read_only(void)
{
	struct buffer buffer;
	struct ibv_mr *mr;

	if (!strcmp(exporter, "udmabuf"))
		return;
	buffer.fd = !strcmp(exporter, "heap") ? heap_export(false) :
					   vgem_export(false);
	must(buffer.fd >= 0);
	REFUSED_MR(dmabuf_reg(&a, &buffer, 0, PAGE, 0, VT_ACCESS), EACCES);
	mr = dmabuf_reg(&a, &buffer, 0, PAGE, 0, IBV_ACCESS_REMOTE_READ);
	must(mr);
	ktap_eq(ibv_dereg_mr(mr), 0);
	close(buffer.fd);
}

/* Such a region cannot be changed. The library refuses that itself; so a request for
 * another region is made to name this one.
 */
static void again(void)
{
	static const int flags[] = {
		IBV_REREG_MR_CHANGE_ACCESS, IBV_REREG_MR_CHANGE_PD,
		IBV_REREG_MR_CHANGE_TRANSLATION,
	};
	struct pair pair = {};
	u32 i, handle;

	pair_open(&pair);
	handle = pair.b.mr->handle;
	for (i = 0; i < 3; i++) {
		ktap_eq(ibv_rereg_mr(pair.at_b, flags[i], b.pd, pair.b.buf, PAGE,
				     IBV_ACCESS_REMOTE_READ),
			IBV_REREG_MR_ERR_INPUT);
		pair.b.mr->handle = pair.at_b->handle;
		ktap_ok(ibv_rereg_mr(pair.b.mr, flags[i], b.pd, pair.b.buf, PAGE,
				     IBV_ACCESS_REMOTE_READ) < 0);
		pair.b.mr->handle = handle;
		ktap_eq(errno, EINVAL);
	}
	dmabuf_post(&pair.a, IBV_WR_RDMA_WRITE, mem_of(&pair.a), 64, pair.a.mr->lkey,
		    IOVA + PAGE, pair.at_b->rkey);
	dmabuf_done(pair.a.scq, IBV_WC_SUCCESS);
	pair_close(&pair);
}

static void write_often(struct pair *pair, int n)
{
	while (n--)
		dmabuf_post(&pair->a, IBV_WR_RDMA_WRITE, mem_of(&pair->a), LEN, pair->a.mr->lkey,
			    IOVA + AT, pair->at_b->rkey);
}

/* The region outlives the descriptor. */
static void closed(void)
{
	struct pair pair = {};
	int i;

	pair_open(&pair);
	close(pair.x.fd);
	pair.x.fd = -1;
	vt_fill(pair.a.buf + AT, LEN, 8);
	write_often(&pair, 8);
	for (i = 0; i < 8; i++)
		dmabuf_done(pair.a.scq, IBV_WC_SUCCESS);
	ktap_eq(vt_check(pair.x.mem + AT, LEN, 8), -1);
	pair_close(&pair);
}

/* After deregistration returns, messages in flight write nothing more. */
static void released(void)
{
	int round, i, cut = 0;

	for (round = 0; round < 60 && cut < 5; round++) {
		struct pair pair = {};

		pair_open(&pair);
		memset(pair.a.buf, 0x3a, SIZE);
		write_often(&pair, 60);
		must(!ibv_dereg_mr(pair.at_b));
		pair.at_b = NULL;
		memset(pair.x.mem, 0xc5, SIZE);
		cut += vt_any_failed(pair.a.scq, 60, LONG);
		for (i = 0; i < (int)SIZE && pair.x.mem[i] == 0xc5; i++)
			;
		ktap_eq(i, SIZE);
		pair_close(&pair);
	}
	ktap_ok(cut);
}

/* Register many times, also the same buffer at once. */
static void often(void)
{
	struct ibv_mr *mr[16];
	struct buffer buffer;
	int round, i;

	buffer_open(&buffer);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 16; i++) {
			mr[i] = dmabuf_reg(&a, &buffer, i * PAGE, PAGE * 3, 0, VT_ACCESS);
			must(mr[i]);
		}
		for (i = 0; i < 16; i++)
			ktap_eq(ibv_dereg_mr(mr[i]), 0);
	}
	buffer_close(&buffer);
}

#define TESTS(X)							\
	X(target) X(source) X(messages) X(atomics) X(rights) X(wrong)	\
	X(read_only) X(again) X(closed) X(released) X(often)
VT_TESTS(TESTS)

static int hold(void)
{
	struct pair pair = {};

	if (!vt_open_both(&a, &b, VT_IPV4) || setjmp(vt_leave))
		return 1;
	pair_open(&pair);
	close(pair.x.fd);
	munmap(pair.x.mem, SIZE);
	puts("holds");
	fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	const char *only = argc > 2 ? argv[2] : NULL;

	if (argc < 2)
		return 2;
	exporter = argv[1];
	if (only && !strcmp(only, "hold"))
		return hold();
	return vt_run_on(&a, &b, VT_IPV4, only);
}
