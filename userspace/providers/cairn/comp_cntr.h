/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Completion counters: ibv_create_comp_cntr(3) and the calls beside it, of rdma-core 65.
 * The kernel has the values, so each call is one system call.
 */
#ifndef CAIRN_COMP_CNTR_H
#define CAIRN_COMP_CNTR_H

#include "cairn.h"

/* All return 0 or an errno; EOPNOTSUPP: the kernel has no completion counters. */
int cairn_query_comp_cntr_caps(struct ibv_context *ctx,
			       struct verbs_comp_cntr_caps *caps, size_t size);
/* NULL with errno set on failure. */
struct verbs_comp_cntr *
cairn_create_comp_cntr(struct ibv_context *ctx,
		       struct verbs_comp_cntr_init_attr *attr);
int cairn_destroy_comp_cntr(struct verbs_comp_cntr *cntr);
int cairn_set_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t value);
int cairn_set_err_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t value);
int cairn_inc_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t amount);
int cairn_inc_err_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t amount);
int cairn_read_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t *value);
int cairn_read_err_comp_cntr(struct verbs_comp_cntr *cntr, uint64_t *value);
int cairn_qp_attach_comp_cntr(struct ibv_qp *qp, struct verbs_comp_cntr *cntr,
			      struct verbs_qp_attach_comp_cntr_attr *attr);

#endif /* CAIRN_COMP_CNTR_H */
