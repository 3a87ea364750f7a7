/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The fixture with a queue pair and one completion queue in it. */
#ifndef CAIRN_TESTS_FIXTURE_QP_H
#define CAIRN_TESTS_FIXTURE_QP_H

#include "fixture.h"

static struct ibv_cq *cq;
static struct ibv_qp *qp;

/* The QP's indices are about to wrap. */
static inline void open_qp(void)
{
	open_ctx();
	cq = fake_cq(ctx, 16);
	fake.start_index = 0xfffffffe;
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
}

static inline void close_qp(void)
{
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

#endif
