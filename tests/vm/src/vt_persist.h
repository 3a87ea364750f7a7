/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Persistent memory at the target, for the programs about WRITE_PERSIST.
 *
 * The devdax is CAIRN_DAX in the environment; without it NIC flush is tried on
 * the emulated domain. Functions return as those of vt.h do.
 */
#ifndef CAIRN_VM_VT_PERSIST_H
#define CAIRN_VM_VT_PERSIST_H

#include <infiniband/cairndv.h>
#include <sys/types.h>
#include "vt.h"

#define VT_REMOTE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define VT_NIC		CAIRNDV_ACCESS_PERSISTENT
#define VT_HOST		CAIRNDV_ACCESS_PERSISTENT_HOST
#define VT_FLUSH	CAIRNDV_ACCESS_FLUSH_PERSISTENT
#define VT_EMULATED	(VT_NIC | CAIRNDV_ACCESS_PERSISTENT_EMULATED)
/* the size of a devdax page */
#define VT_DAX_UNIT	(2u << 20)

struct vt_region {
	u8 *buf;
	size_t len;
	struct ibv_mr *mr;
};

/* Open the devdax, if one is named. */
int vt_dax_open(void);
bool vt_dax(void);
/* @len bytes of it from @off on, at @at unless that is NULL; or NULL */
u8 *vt_dax_map(void *at, size_t len, off_t off);
u8 *vt_map(size_t len);

/* The kind of NIC flush on this machine: VT_NIC or VT_EMULATED. */
unsigned int vt_nic(void);

/*
 * A region of @dev, persistent as @kind says: VT_NIC or VT_FLUSH lie at @off of the devdax,
 * everything else in ordinary memory. Zeroed; @len in VT_DAX_UNITs.
 */
int vt_region_create(struct vt_region *region, struct vt_dev *dev, unsigned int kind,
		     size_t len, off_t off);
int vt_region_destroy(struct vt_region *region);

/* How a region becomes durable: enum cairndv_persist_domain, or 0; -1: the query
 * failed.
 */
int vt_domain_of(struct ibv_mr *mr);
/* The same for a region that is made, and ended at once; -1: it is refused. */
int vt_domain(struct vt_dev *dev, void *buf, size_t len, unsigned int access);

/* Post an empty receive. */
int vt_recv(struct vt_end *end, u64 wr_id);

#endif
