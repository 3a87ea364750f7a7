// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Messages of several queue pairs that leave together: what happens to the packet
 * of one, or what a hostile one sends among them, is nothing to the others.
 */
#include "engine.h"

#define PAIRS		8
#define ROUNDS		3

struct mixed {
	struct rig r[PAIRS];
	u32 seen;		/* packets of the requesters */
	u32 victim;		/* the one that has the fate */
	enum sim_fate fate;
	struct sim_qp *hit;	/* whose it was */
};

static struct mixed *mixed;

static enum sim_fate on_emit(struct sim_qp *qp, enum cairn_side_id side,
			     const struct cairn_pkt *pkt)
{
	if (side != CAIRN_REQ || mixed->seen++ != mixed->victim)
		return SIM_PASS;
	mixed->hit = qp;
	return mixed->fate;
}

static void mixed_begin(struct mixed *m, u32 victim, enum sim_fate fate)
{
	u32 i;

	*m = (struct mixed){ .victim = victim, .fate = fate };
	mixed = m;
	m->r[0] = rig_new(victim + 1);
	m->r[0].s->faults.late_ns = 100 * SIM_US;
	for (i = 0; i < PAIRS; i++) {
		m->r[i] = m->r[0];
		if (i) {
			m->r[i].a = sim_qp(m->r[0].s, 0, &sim_rc);
			m->r[i].b = sim_qp(m->r[0].s, 1, &sim_rc);
			sim_connect(m->r[i].a, m->r[i].b, &sim_attrs);
		}
		m->r[i].a->hooks.emit = on_emit;
	}
}

/* One message of each pair at the same time. */
static void mixed_round(struct mixed *m, u32 round)
{
	u32 i;

	for (i = 0; i < PAIRS; i++) {
		if (round % 2)
			rig_recv(&m->r[i], round, 64);
		rig_send(&m->r[i], round,
			 round % 2 ? CAIRN_WQE_SEND : CAIRN_WQE_WRITE, 64);
	}
}

static void mixed_judge(struct mixed *m, u32 rounds)
{
	u32 i;

	for (i = 0; i < PAIRS; i++) {
		const struct sim_qp *a = m->r[i].a, *b = m->r[i].b;

		expect_cqes(a, CAIRN_REQ, 0, 0, rounds - 1,
			    CAIRN_CQE_SUCCESS);
		ktap_eq(a->c.req.una, a->c.req.psn);
		if (a == m->hit)
			continue;
		ktap_eq(a->count[CAIRN_CTR_RETRANSMITS], 0);
		ktap_eq(b->count[CAIRN_CTR_OUT_OF_SEQUENCE], 0);
		ktap_eq(b->count[CAIRN_CTR_DUPLICATE_REQUEST], 0);
	}
}

static void one_packet(enum sim_fate fate)
{
	u32 victim, k;

	for (victim = 0; victim < ROUNDS * PAIRS; victim++) {
		struct mixed m;

		mixed_begin(&m, victim, fate);
		for (k = 0; k < ROUNDS; k++)
			mixed_round(&m, k);
		ktap_ok(sim_run(m.r[0].s, SIM_SEC));
		ktap_ok(m.hit);
		mixed_judge(&m, ROUNDS);
		sim_end(m.r[0].s);
	}
}

static void loss_is_its_own(void)
{
	one_packet(SIM_DROP);
}

static void duplication_is_its_own(void)
{
	one_packet(SIM_DUP);
}

static void delay_is_its_own(void)
{
	one_packet(SIM_LATE);
}

/* A WRITE with a key that is not there, among the others. */
static void refusal_is_its_own(void)
{
	struct cairn_sge sge;
	struct sim_wr wr;
	struct mixed m;

	mixed_begin(&m, U32_MAX, SIM_PASS);
	mixed_round(&m, 0);
	wr = rig_wr(&m.r[3], &sge, CAIRN_WQE_WRITE, 64);
	wr.wr_id = 1;
	wr.rkey ^= 0x5500;
	sim_post_send(m.r[3].a, &wr);
	m.hit = m.r[3].a;
	ktap_ok(sim_run(m.r[0].s, SIM_SEC));
	mixed_judge(&m, 1);
	expect_cqe(m.r[3].a, CAIRN_REQ, 1, 1, CAIRN_CQE_REM_ACCESS_ERR);
	m.r[3] = m.r[2];
	mixed_round(&m, 1);
	ktap_ok(sim_run(m.r[0].s, SIM_SEC));
	for (u32 i = 0; i < PAIRS; i++)
		ktap_eq(cairn_state(&m.r[i].a->c), CAIRN_QP_RTS);
	sim_end(m.r[0].s);
}

static const struct ktap_test tests[] = {
	KTAP(loss_is_its_own),
	KTAP(duplication_is_its_own),
	KTAP(delay_is_its_own),
	KTAP(refusal_is_its_own),
};

KTAP_MAIN(tests)
