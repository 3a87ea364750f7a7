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
	u8 *bytes;

	if (dax_fd < 0)
		return NULL;
	bytes = mmap(at, len, PROT_READ | PROT_WRITE,
		     MAP_SHARED | (at ? MAP_FIXED : 0), dax_fd, off);
	return bytes == MAP_FAILED ? NULL : bytes;
}

u8 *vt_map(size_t len)
{
	u8 *bytes = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return bytes == MAP_FAILED ? NULL : bytes;
}

unsigned int vt_nic(void)
{
	return vt_dax() ? VT_NIC : VT_EMULATED;
}

int vt_region_create(struct vt_region *region, struct vt_dev *dev, unsigned int kind,
		     size_t len, off_t off)
{
	region->len = len;
	region->buf = kind == VT_NIC || kind == VT_FLUSH ? vt_dax_map(NULL, len, off) : vt_map(len);
	if (!region->buf)
		return vt_err("mmap");
	memset(region->buf, 0, len);
	region->mr = ibv_reg_mr(dev->pd, region->buf, len,
				VT_REMOTE | IBV_ACCESS_REMOTE_READ | kind);
	return region->mr ? 0 : vt_err("registering persistent memory");
}

int vt_region_destroy(struct vt_region *region)
{
	int err = region->mr ? ibv_dereg_mr(region->mr) : 0;

	if (region->buf)
		munmap(region->buf, region->len);
	return err;
}

int vt_domain_of(struct ibv_mr *mr)
{
	struct cairndv_mr_attr attr;

	return cairndv_query_mr(mr, &attr, sizeof(attr)) ? -1 : (int)attr.persist_domain;
}

int vt_domain(struct vt_dev *dev, void *buf, size_t len, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, buf, len, access);
	int domain = mr ? vt_domain_of(mr) : -1;

	return mr && ibv_dereg_mr(mr) ? -1 : domain;
}

int vt_recv(struct vt_end *end, u64 wr_id)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id }, *bad;

	errno = ibv_post_recv(end->qp, &wr, &bad);
	return errno ? vt_err("ibv_post_recv") : 0;
}
