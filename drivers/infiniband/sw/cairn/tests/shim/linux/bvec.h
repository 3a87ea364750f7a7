/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_BVEC_H
#define CAIRN_SHIM_LINUX_BVEC_H

/* A piece of memory. The kernel's has a page and an offset in it. */
struct bio_vec {
	void *base;
	unsigned int bv_len;
};

static inline void *bvec_virt(const struct bio_vec *bv)
{
	return bv->base;
}

#endif
