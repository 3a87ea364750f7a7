/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion counters (ibv_create_comp_cntr(3)); engine/tally.c says what they count. */
#ifndef CAIRN_VERBS_COMP_CNTR_H
#define CAIRN_VERBS_COMP_CNTR_H

#include "compat/comp_cntr.h"
#include "engine/env.h"

struct cairn_qp;

extern const struct compat_comp_cntr_ops cairn_comp_cntr_ops;

/**
 * cairn_comp_cntr_count() - count one finished piece of work
 * @qp: the QP; one of its side locks is held
 * @kind: one kind, in qpc.tallied
 * @failed: count it as an error
 *
 * Context: any.
 */
void cairn_comp_cntr_count(struct cairn_qp *qp, enum cairn_tally kind,
			   bool failed);

/* The QP is being destroyed, and no run is left. */
void cairn_comp_cntr_forget(struct cairn_qp *qp);

#endif
