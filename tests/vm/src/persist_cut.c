// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For scripts/test/reboot --file: pages that WRITE_PERSIST puts into the holes of a file, until
 * the power fails, and a look at them after that. Device a writes, device b is the target.
 *
 *   persist_cut write FILE REPORTED	from page REPORTED on; the file REPORTED has the number
 *					of pages whose requests have completed
 *   persist_cut verify FILE COUNT	are the first COUNT pages in FILE?
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "vt_persist.h"

#define PAGE		4096u
#define PAGES		16384u
#define LONG_MS		vt_ms(60000)

static int cut_report(const char *path, u32 pages)
{
	char text[16];
	int fd = open(path, O_WRONLY | O_CREAT, 0644), len;

	/* of constant length: the number never gets shorter */
	len = snprintf(text, sizeof(text), "%010u\n", pages);
	if (fd < 0 || pwrite(fd, text, (size_t)len, 0) != len)
		return vt_err("%s", path);
	close(fd);
	return 0;
}

static u32 cut_reported(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned int pages = 0;

	if (file && fscanf(file, "%u", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages;
}

static int cut_write_page(struct vt_end *end, const struct ibv_mr *to, u32 page)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf, .length = PAGE, .lkey = end->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = page, .sg_list = &sge, .num_sge = 1,
		.opcode = CAIRNDV_WR_WRITE_PERSIST, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = (uintptr_t)to->addr + (u64)page * PAGE,
			.rkey = to->rkey,
		},
	};
	struct ibv_wc wc;

	vt_fill(end->buf, PAGE, page);
	errno = ibv_post_send(end->qp, &wr, &bad);
	if (errno)
		return vt_err("ibv_post_send");
	if (vt_poll(end->scq, &wc, 1, LONG_MS) || wc.status) {
		vt_say("page %u: status %d", page, wc.status);
		return EIO;
	}
	return 0;
}

static u8 *cut_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	u8 *bytes;

	if (fd < 0 || ftruncate(fd, (off_t)PAGES * PAGE)) {
		vt_err("%s", path);
		return NULL;
	}
	bytes = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
	if (bytes != MAP_FAILED)
		return bytes;
	vt_err("mmap of %s", path);
	return NULL;
}

static int cut_write(const char *path, const char *reported)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end a = {}, b = {};
	struct vt_dev da, db;
	struct ibv_mr *mr;
	u32 page;
	u8 *bytes;

	bytes = cut_map(path);
	if (!bytes || !vt_open_both(&da, &db, VT_IPV4))
		return 1;
	mr = ibv_reg_mr(db.pd, bytes, (size_t)PAGES * PAGE,
			VT_REMOTE | VT_NIC | IBV_ACCESS_ON_DEMAND);
	if (!mr)
		return vt_err("ibv_reg_mr");
	if (vt_end_create(&a, &da, &opts, PAGE) || vt_end_create(&b, &db, &opts, PAGE) ||
	    vt_connect(&a, &b))
		return 1;
	for (page = cut_reported(reported); page < PAGES; page++) {
		if (cut_write_page(&a, mr, page) || cut_report(reported, page + 1))
			return 1;
	}
	return 0;
}

static int cut_verify(const char *path, u32 count)
{
	int fd = open(path, O_RDONLY);
	static u8 bytes[PAGE];
	u32 page, lost = 0;

	if (fd < 0)
		return vt_err("%s", path);
	for (page = 0; page < count; page++) {
		if (pread(fd, bytes, PAGE, (off_t)page * PAGE) == PAGE &&
		    vt_check(bytes, PAGE, page) < 0)
			continue;
		if (!lost++)
			vt_say("page %u is lost", page);
	}
	vt_say("%u pages had been reported, %u are lost", count, lost);
	return lost != 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "write"))
		return cut_write(argv[2], argv[3]) != 0;
	if (argc == 4 && !strcmp(argv[1], "verify"))
		return cut_verify(argv[2], (u32)atoi(argv[3])) != 0;
	fprintf(stderr, "usage: persist_cut write|verify FILE REPORTED\n");
	return 2;
}
