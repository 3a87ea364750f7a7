/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The part of struct ib_device_ops that is about memory; see verbs/ops.h. */
#ifndef CAIRN_MEM_OPS_H
#define CAIRN_MEM_OPS_H

#include <rdma/ib_verbs.h>

/* mr.c */
struct ib_mr *cairn_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *cairn_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata);
struct ib_mr *cairn_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				       u64 length, u64 iova, int fd,
				       int access);
struct ib_mr *cairn_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata);
struct ib_mr *cairn_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_num_sg);
int cairn_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int nents,
		    unsigned int *offset);
int cairn_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* advise.c */
int cairn_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		    u32 flags, struct ib_sge *sges, u32 num,
		    struct uverbs_attr_bundle *attrs);

/* mw.c */
int cairn_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int cairn_dealloc_mw(struct ib_mw *ibmw);

#endif
