/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Look-up of memory by key. All functions are called in a run (device/epoch.h).
 */
#ifndef CAIRN_MEM_ACCESS_H
#define CAIRN_MEM_ACCESS_H

#include "verbs/verbs.h"

int cairn_access_map(struct cairn_qp *qp, const struct cairn_span *span, u32 len,
		     struct bio_vec *bv, int max);
int cairn_access_check(struct cairn_qp *qp, u32 key, u64 va, u64 len,
		       enum cairn_access access);
int cairn_access_check_write(struct cairn_qp *qp, u32 key, u64 va, u64 len,
			     u8 *durability);
int cairn_access_check_atomic(struct cairn_qp *qp, u32 key, u64 va,
			      u8 *durability);
u64 cairn_access_flush_limit(struct cairn_qp *qp, u32 key);
int cairn_access_bounds(struct cairn_qp *qp, u32 key, u64 *va, u64 *len);
int cairn_access_store(struct cairn_qp *qp, const struct cairn_pkt *pkt,
		       enum cairn_access access, u64 word);
int cairn_access_atomic(struct cairn_qp *qp, const struct cairn_pkt *pkt,
			u64 *orig, bool writeback);

#endif
