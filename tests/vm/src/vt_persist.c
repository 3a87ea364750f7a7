// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "vt_persist.h"

static int dax_fd = -1;

int vt_dax_open(void)
{
	const char *path = getenv("CAIRN_DAX");

	if (!path || !*path)
		return 0;
	dax_fd = open(path, O_RDWR);
	return dax_fd < 0 ? vt_err("%s", path) : 0;
}

bool vt_dax(void)
{
	return dax_fd >= 0;
}

u8 *vt_dax_map(void *at, size_t len, off_t off)
{
	u8 *p;

	if (dax_fd < 0)
		return NULL;
	p = mmap(at, len, PROT_READ | PROT_WRITE,
		 MAP_SHARED | (at ? MAP_FIXED : 0), dax_fd, off);
	return p == MAP_FAILED ? NULL : p;
}

u8 *vt_map(size_t len)
{
	u8 *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

unsigned int vt_nic(void)
{
	return vt_dax() ? VT_NIC : VT_EMULATED;
}

int vt_region_create(struct vt_region *r, struct vt_dev *d, unsigned int kind,
		     size_t len, off_t off)
{
	r->len = len;
	r->buf = kind == VT_NIC || kind == VT_FLUSH ? vt_dax_map(NULL, len, off) : vt_map(len);
	if (!r->buf)
		return vt_err("mmap");
	memset(r->buf, 0, len);
	r->mr = ibv_reg_mr(d->pd, r->buf, len,
			   VT_REMOTE | IBV_ACCESS_REMOTE_READ | kind);
	return r->mr ? 0 : vt_err("registering persistent memory");
}

int vt_region_destroy(struct vt_region *r)
{
	int err = r->mr ? ibv_dereg_mr(r->mr) : 0;

	if (r->buf)
		munmap(r->buf, r->len);
	return err;
}

int vt_recv(struct vt_end *e, u64 wr_id)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id }, *bad;

	errno = ibv_post_recv(e->qp, &wr, &bad);
	return errno ? vt_err("ibv_post_recv") : 0;
}
