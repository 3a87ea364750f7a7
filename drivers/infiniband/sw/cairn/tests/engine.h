/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the engine's test programs have in common. */
#ifndef CAIRN_TESTS_ENGINE_H
#define CAIRN_TESTS_ENGINE_H

#include "sim/flow.h"
#include "ktap.h"

/* Run the body once for each seed; CAIRN_SEED and SEEDS in the environment
 * choose others. Stops at the first that fails.
 */
#define for_seeds(seed, normally)					\
	for (u64 seed = sim_first_seed(), end_ = seed + sim_seeds(normally); \
	     seed != end_ && !ktap.failures; seed++)

#define sim_new(seed)	sim_new_at(ktap.name, seed)

/* End of a world: report what it found, free it. */
#define sim_end(s)	sim_end_at(__FILE__, __LINE__, s)

static inline void sim_end_at(const char *file, int line, struct sim *s)
{
	if (s->failures)
		ktap_fail_at(file, line, "%s", s->why);
	if (ktap.failures)
		ktap_diag("repeat with: %s", sim_repeat());
	sim_free(s);
}

/* Two hosts with a connected QP each. */
struct pair {
	struct sim *s;
	struct sim_qp *a, *b;
};

static inline struct pair pair_with(u64 seed, const struct sim_qp_init *init,
				    const struct cairn_qp_attrs *attrs)
{
	struct pair p;

	p.s = sim_new(seed);
	p.a = sim_qp(p.s, 0, init);
	p.b = sim_qp(p.s, 1, init);
	sim_connect(p.a, p.b, attrs);
	return p;
}

static inline struct pair pair_new(u64 seed, const struct sim_qp_init *init,
				   u16 pmtu)
{
	struct cairn_qp_attrs attrs = sim_attrs;

	attrs.pmtu = pmtu;
	return pair_with(seed, init, &attrs);
}

#endif
