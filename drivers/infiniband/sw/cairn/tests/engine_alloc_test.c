// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each allocation that the engine asks for fails once: the same run again for the
 * first, the second and so on, until there are no more. The judge of flow.h sees
 * that nothing is lost or done twice, the sanitizer that nothing leaks.
 */
#include "persist.h"

/* Return: number of allocations. */
static u32 lossy_run(u64 seed, u32 bad)
{
	struct flow_cfg cfg = flow_default;
	struct pair pair = pair_fresh(seed, &sim_rc, &sim_attrs);
	struct flow *flows[2];
	u32 allocs;

	cfg.wrs = 30;
	pair.s->faults = (struct sim_faults){ .loss = 30, .late = 30,
					   .late_ns = 50000 };
	pair.s->bad_alloc = bad;
	flows[0] = flow_new(pair.a, pair.b, &cfg);
	flows[1] = flow_new(pair.b, pair.a, &cfg);
	flow_random(flows[0]);
	flow_random(flows[1]);
	flow_run(flows, 2);
	allocs = pair.s->allocs;
	sim_end(pair.s);
	return allocs;
}

static void packets_ahead(void)
{
	u32 failed = 0, bad;

	for_seeds(seed, 5)
		for (bad = 1; lossy_run(seed, bad) >= bad; bad++)
			failed++;
	ktap_diag("%u allocations failed", failed);
	/* a single seed that is repeated need not have any */
	ktap_ok(failed > 20 || sim_seeds(5) < 5);
}

static u32 persist_run(u32 bad)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	u32 allocs, i;

	rig.s->bad_alloc = bad;
	empty_recvs(rig.b, 1, 4);
	for (i = 0; i < 4; i++)
		persist_at(&rig, i, 64 * i, 64, 0);
	sim_run(rig.s, SIM_SEC);		/* they wait, and are asked about */
	for (i = 0; i < 4; i++)
		ktap_eq(persist_release(&rig, i, 0), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 3, CAIRN_CQE_SUCCESS);
	ktap_ok(is_durable(&rig, 0, 4 * 64));
	allocs = rig.s->allocs;
	sim_end(rig.s);
	return allocs;
}

/* The table of messages that wait for the host. */
static void waiting_messages(void)
{
	u32 bad;

	for (bad = 1; persist_run(bad) >= bad; bad++)
		;
	ktap_ok(bad > 1);
}

static const struct ktap_test tests[] = {
	KTAP(packets_ahead),
	KTAP(waiting_messages),
};

KTAP_MAIN(tests)
