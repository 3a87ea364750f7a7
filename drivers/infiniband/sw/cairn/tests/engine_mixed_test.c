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

static void mixed_begin(struct mixed *mix, u32 victim, enum sim_fate fate)
{
	u32 i;

	*mix = (struct mixed){ .victim = victim, .victims = 1, .fate = fate };
	mixed = mix;
	mix->r[0] = rig_new(victim + 1);
	mix->r[0].s->faults.late_ns = 100 * SIM_US;
	for (i = 0; i < PAIRS; i++) {
		mix->r[i] = mix->r[0];
		if (i) {
			mix->r[i].a = sim_qp(mix->r[0].s, 0, &sim_rc);
			mix->r[i].b = sim_qp(mix->r[0].s, 1, &sim_rc);
			sim_connect(mix->r[i].a, mix->r[i].b, &sim_attrs);
		}
		mix->r[i].a->hooks.emit = on_emit;
	}
}

/* One message of each pair at the same time. */
static void mixed_round(struct mixed *mixed, u32 round)
{
	u32 i;

	for (i = 0; i < PAIRS; i++) {
		if (round % 2)
			rig_recv(&mixed->r[i], round, 64);
		rig_send(&mixed->r[i], round,
			 round % 2 ? CAIRN_WQE_SEND : CAIRN_WQE_WRITE, 64);
	}
}

static void mixed_judge(struct mixed *mixed, u32 rounds)
{
	u32 i;

	for (i = 0; i < PAIRS; i++) {
		const struct sim_qp *qp_a = mixed->r[i].a, *qp_b = mixed->r[i].b;

		expect_cqes(qp_a, CAIRN_REQ, 0, 0, rounds - 1,
			    CAIRN_CQE_SUCCESS);
		ktap_eq(qp_a->c.req.una, qp_a->c.req.psn);
		if (qp_a == mixed->hit)
			continue;
		ktap_eq(qp_a->count[CAIRN_CTR_RETRANSMITS], 0);
		ktap_eq(qp_b->count[CAIRN_CTR_OUT_OF_SEQUENCE], 0);
		ktap_eq(qp_b->count[CAIRN_CTR_DUPLICATE_REQUEST], 0);
	}
}

static void one_packet(enum sim_fate fate)
{
	u32 victim, k;

	for (victim = 0; victim < ROUNDS * PAIRS; victim++) {
		struct mixed mixed;

		mixed_begin(&mixed, victim, fate);
		for (k = 0; k < ROUNDS; k++)
			mixed_round(&mixed, k);
		ktap_ok(sim_run(mixed.r[0].s, SIM_SEC));
		ktap_ok(mixed.hit);
		mixed_judge(&mixed, ROUNDS);
		sim_end(mixed.r[0].s);
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
		struct mixed mixed;

		mixed_begin(&mixed, lost * PAIRS, fate);
		mixed.victims = PAIRS;
		for (k = 0; k < ROUNDS; k++) {
			mixed_round(&mixed, k);
			/* all are sent, none is answered */
			sim_run(mixed.r[0].s, SIM_US);
			ktap_eq(mixed.seen, (k + 1) * PAIRS);
		}
		ktap_ok(sim_run(mixed.r[0].s, SIM_SEC));
		for (i = 0; i < PAIRS; i++) {
			expect_cqes(mixed.r[i].a, CAIRN_REQ, 0, 0, ROUNDS - 1,
				    CAIRN_CQE_SUCCESS);
			ktap_eq(mixed.r[i].b->c.resp.msn, ROUNDS);
		}
		sim_end(mixed.r[0].s);
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
	struct mixed mixed;
	u32 i, k;

	mixed_begin(&mixed, U32_MAX, SIM_PASS);
	for (k = 0; k < ROUNDS; k++) {
		mixed_round(&mixed, k);
		sim_run(mixed.r[0].s, SIM_US);
		ktap_ok(cairn_req_deadline(&mixed.r[0].a->c));
		ktap_ok(sim_run(mixed.r[0].s, SIM_SEC));
		for (i = 0; i < PAIRS; i++) {
			ktap_eq(cairn_req_deadline(&mixed.r[i].a->c), 0);
			ktap_eq(cairn_resp_deadline(&mixed.r[i].b->c), 0);
			ktap_eq(mixed.r[i].b->count[CAIRN_CTR_ACKS_SENT], k + 1);
		}
	}
	mixed_judge(&mixed, ROUNDS);
	sim_end(mixed.r[0].s);
}

/* A WRITE with a key that is not there, among the others. */
static void refusal_is_its_own(void)
{
	struct cairn_sge sge;
	struct sim_wr wr;
	struct mixed mixed;

	mixed_begin(&mixed, U32_MAX, SIM_PASS);
	mixed_round(&mixed, 0);
	wr = rig_wr(&mixed.r[3], &sge, CAIRN_WQE_WRITE, 64);
	wr.wr_id = 1;
	wr.rkey ^= 0x5500;
	sim_post_send(mixed.r[3].a, &wr);
	mixed.hit = mixed.r[3].a;
	ktap_ok(sim_run(mixed.r[0].s, SIM_SEC));
	mixed_judge(&mixed, 1);
	expect_cqe(mixed.r[3].a, CAIRN_REQ, 1, 1, CAIRN_CQE_REM_ACCESS_ERR);
	mixed.r[3] = mixed.r[2];
	mixed_round(&mixed, 1);
	ktap_ok(sim_run(mixed.r[0].s, SIM_SEC));
	for (u32 i = 0; i < PAIRS; i++)
		ktap_eq(cairn_state(&mixed.r[i].a->c), CAIRN_QP_RTS);
	sim_end(mixed.r[0].s);
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
