// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory on demand: pages are not present, are faulted in, and are evicted again. */
#include <errno.h>
#include <stdlib.h>
#include "sim/sim.h"

#define PAGE		512
/* Pages that are faulted in at a time. */
#define BATCH		8

void sim_odp(struct sim_mr *mr)
{
	mr->here = calloc(mr->len / PAGE + 1, sizeof(*mr->here));
}

static void odp_faulted_in(struct sim *sim, void *arg)
{
	struct sim_odp *odp = arg;
	u32 page;

	odp->busy = false;
	odp->failed = odp->mr->unmapped;
	for (page = odp->first; page <= odp->last && !odp->failed; page++)
		odp->mr->here[page] = true;
	cairn_env_kick(&odp->qp->c, odp - odp->qp->odp);
}

static int odp_bring(struct sim_qp *qp, enum cairn_side_id side,
		     struct sim_mr *mr, u32 page, u32 last)
{
	struct sim_odp *odp = &qp->odp[side];
	struct sim *sim = qp->s;
	bool failed = odp->failed;

	if (sim->run_qp != qp || sim->run_side != side)
		sim_fail(sim, "QP %u: memory of another side", qp->c.qpn);
	if (odp->busy)
		return -EAGAIN;
	odp->failed = false;
	if (failed && odp->mr == mr && page >= odp->first && page <= odp->last)
		return -EFAULT;
	odp->qp = qp;
	odp->mr = mr;
	odp->first = page;
	odp->last = min(last, page + BATCH - 1);
	odp->busy = true;
	odp->asked++;
	sim_at(sim, sim->now + 1 + sim_below(&sim->rand, sim->bring_ns ?: 50 * SIM_US),
	       odp_faulted_in, odp);
	return -EAGAIN;
}

/* @more: bytes behind the range that are needed, too. */
static int odp_find(struct sim_qp *qp, enum cairn_side_id side, u32 key, u64 va,
		    u64 len, u32 more)
{
	struct sim_mr *mr = sim_mr_find(qp->s, qp->host, qp->pd, key);
	u32 page, last, wanted;

	if (!len || !mr || !mr->here || va < mr->va ||
	    va - mr->va + len > mr->len)
		return 0;
	last = (va - mr->va + len - 1) / PAGE;
	wanted = min_t(u64, va - mr->va + len + more - 1, mr->len - 1) / PAGE;
	for (page = (va - mr->va) / PAGE; page <= last; page++) {
		if (qp->s->taken && !qp->s->calm &&
		    sim_chance(&qp->s->rand, qp->s->taken))
			mr->here[page] = false;
		if (!mr->here[page] || mr->unmapped)
			return odp_bring(qp, side, mr, page, wanted);
	}
	return 0;
}

int sim_odp_find(struct sim_qp *qp, enum cairn_side_id side, u32 key, u64 va,
		 u64 len)
{
	return odp_find(qp, side, key, va, len, 0);
}

int sim_odp_find_span(struct sim_qp *qp, const struct cairn_span *span, u32 len)
{
	u32 i, n, skip = span->offset;
	int err = 0;

	for (i = 0; i < span->num_sge && len && !err; i++) {
		const struct cairn_sge *sge = &span->sge[i];

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = min(len, sge->length - skip);
		err = odp_find(qp, span->side, sge->lkey, sge->addr + skip, n,
			       min(span->more, sge->length - skip - n));
		len -= n;
		skip = 0;
	}
	return err;
}
