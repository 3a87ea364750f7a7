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
	u32 victim;		/* the first that has the fate */
	u32 victims;
	enum sim_fate fate;
	struct sim_qp *hit;	/* whose it was */
};

static struct mixed *mixed;

static enum sim_fate on_emit(struct sim_qp *qp, enum cairn_side_id side,
			     const struct cairn_pkt *pkt)
{
	if (side != CAIRN_REQ || mixed->seen++ - mixed->victim >= mixed->victims)
		return SIM_PASS;
	mixed->hit = qp;
	return mixed->fate;
}

static void mixed_begin(struct mixed *m, u32 victim, enum sim_fate fate)
{
	u32 i;

	*m = (struct mixed){ .victim = victim, .victims = 1, .fate = fate };
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

/* Round @lost, which is one train, has the fate. */
static void one_train(enum sim_fate fate)
{
	u32 lost, k, i;

	for (lost = 0; lost < ROUNDS; lost++) {
		struct mixed m;

		mixed_begin(&m, lost * PAIRS, fate);
		m.victims = PAIRS;
		for (k = 0; k < ROUNDS; k++) {
			mixed_round(&m, k);
			/* all are sent, none is answered */
			sim_run(m.r[0].s, SIM_US);
			ktap_eq(m.seen, (k + 1) * PAIRS);
		}
		ktap_ok(sim_run(m.r[0].s, SIM_SEC));
		for (i = 0; i < PAIRS; i++) {
			expect_cqes(m.r[i].a, CAIRN_REQ, 0, 0, ROUNDS - 1,
				    CAIRN_CQE_SUCCESS);
			ktap_eq(m.r[i].b->c.resp.msn, ROUNDS);
		}
		sim_end(m.r[0].s);
	}
}

static void lost_train_comes_again(void)
{
	one_train(SIM_DROP);
}

static void double_train_counts_once(void)
{
	one_train(SIM_DUP);
}

static void late_train_is_in_order(void)
{
	one_train(SIM_LATE);
}

/* An acknowledged request leaves no deadline, so no timer runs the engine for it. */
static void nothing_is_left_behind(void)
{
	struct mixed m;
	u32 i, k;

	mixed_begin(&m, U32_MAX, SIM_PASS);
	for (k = 0; k < ROUNDS; k++) {
		mixed_round(&m, k);
		sim_run(m.r[0].s, SIM_US);
		ktap_ok(cairn_req_deadline(&m.r[0].a->c));
		ktap_ok(sim_run(m.r[0].s, SIM_SEC));
		for (i = 0; i < PAIRS; i++) {
			ktap_eq(cairn_req_deadline(&m.r[i].a->c), 0);
			ktap_eq(cairn_resp_deadline(&m.r[i].b->c), 0);
			ktap_eq(m.r[i].b->count[CAIRN_CTR_ACKS_SENT], k + 1);
		}
	}
	mixed_judge(&m, ROUNDS);
	sim_end(m.r[0].s);
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
	KTAP(lost_train_comes_again),
	KTAP(double_train_counts_once),
	KTAP(late_train_is_in_order),
	KTAP(nothing_is_left_behind),
	KTAP(refusal_is_its_own),
};

KTAP_MAIN(tests)
