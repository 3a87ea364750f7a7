// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Calls of the provider that its groups need, beside the simulated queue pairs. */
#include "cairndv.h"
#include "qp.h"

int cairndv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc,
		    struct cairndv_persist_info *info)
{
	int n = ibv_poll_cq(cq, num_entries, wc);

	for (int i = 0; i < n; i++)
		info[i] = (struct cairndv_persist_info){
			.durability = wc[i].vendor_err,
		};
	return n;
}

/* The log sets no limit and drops no target, so it is not called. */
int cairn_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	(void)attr;
	(void)mask;
	return EOPNOTSUPP;
}
