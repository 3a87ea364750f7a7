// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The latency of a request by stage, as the requester measures it (engine/latency.c). */
#include "engine/latency.h"
#include "persist.h"

#define LATENCY_WAY		(5 * SIM_MS)	/* of a packet, one way */
#define LATENCY_SLACK	SIM_MS		/* what a simulated host takes itself */

static struct rig far_rig(const struct sim_qp_init *init)
{
	struct rig rig = rig_with(1, init, &sim_attrs);

	rig.s->latency_ns = LATENCY_WAY;
	return rig;
}

#define expect_stage(r, stage, from, to)					\
	expect_stage_at(__FILE__, __LINE__, r, stage, from, to)

static void expect_stage_at(const char *file, int line, const struct rig *rig,
			    enum cairn_stage stage, u64 from, u64 to)
{
	u32 ns = rig->a->c.req.ext->latency.ns[stage];

	if (ns < from || ns > to)
		ktap_fail_at(file, line, "stage %d: %u ns, not %llu to %llu",
			     stage, ns, from, to);
}

/* The first request of a connection says it, whatever it is. */
static void an_answer_takes_a_round_trip(void)
{
	static const u8 opcodes[] = {
		CAIRN_WQE_WRITE, CAIRN_WQE_READ, CAIRN_WQE_FAA,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct rig rig = far_rig(&sim_rc);

		rig_send(&rig, 1, opcodes[i], 8);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		expect_stage(&rig, CAIRN_STAGE_SEND, 1, LATENCY_SLACK);
		expect_stage(&rig, CAIRN_STAGE_ANSWER, 2 * LATENCY_WAY,
			     2 * LATENCY_WAY + LATENCY_SLACK);
		expect_stage(&rig, CAIRN_STAGE_DURABLE, 0, 0);
		ktap_ok(!rig.a->c.req.timed);
		sim_end(rig.s);
	}
}

/* 8000 kbit/s are 1 byte/us. The last response or ACK ends the second stage. */
static void a_limit_makes_sending_long(void)
{
	struct cairn_rate_limit slow = { .kbps = 8000, .burst = 1100 };
	struct rig rig = far_rig(&sim_rc);

	rig.a->c.attrs.rate = slow;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 50 * 1024);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_stage(&rig, CAIRN_STAGE_SEND, 49 * SIM_MS, 53 * SIM_MS);
	expect_stage(&rig, CAIRN_STAGE_ANSWER, 2 * LATENCY_WAY,
		     2 * LATENCY_WAY + LATENCY_SLACK);
	sim_end(rig.s);
}

static void loss_counts_as_waiting_for_the_answer(void)
{
	struct rig rig = far_rig(&sim_rc);

	rig.s->dead[1] = true;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	sim_run(rig.s, 20 * SIM_MS);
	rig.s->dead[1] = false;
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_stage(&rig, CAIRN_STAGE_SEND, 1, LATENCY_SLACK);
	expect_stage(&rig, CAIRN_STAGE_ANSWER, 20 * SIM_MS + 2 * LATENCY_WAY, SIM_SEC);
	sim_end(rig.s);
}

/* The peer's host takes its time; the ACK does not. */
static void durability_is_a_stage_of_its_own(u8 flags)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	rig.s->latency_ns = LATENCY_WAY;
	empty_recvs(rig.a, 1, 1);
	empty_recvs(rig.b, 1, 1);
	persist_at(&rig, 1, 0, 100, flags);
	ktap_ok(!sim_run(rig.s, 4 * LATENCY_WAY));
	expect_stage(&rig, CAIRN_STAGE_ANSWER, 2 * LATENCY_WAY,
		     2 * LATENCY_WAY + LATENCY_SLACK);
	ktap_ok(rig.a->c.req.timed);
	sim_run(rig.s, 60 * SIM_MS);
	ktap_eq(persist_release(&rig, 0, 0), 0);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_stage(&rig, CAIRN_STAGE_DURABLE, 60 * SIM_MS, 90 * SIM_MS);
	ktap_ok(!rig.a->c.req.timed);
	sim_end(rig.s);
}

static void both_modes_of_completion(void)
{
	durability_is_a_stage_of_its_own(0);
	durability_is_a_stage_of_its_own(CAIRN_WQE_EARLY);
}

/* One answer says that it came and that it is durable. */
static void a_device_that_flushes_answers_once(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	rig.s->latency_ns = LATENCY_WAY;
	persist_first(&rig, 1, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_stage(&rig, CAIRN_STAGE_ANSWER, 2 * LATENCY_WAY,
		     2 * LATENCY_WAY + LATENCY_SLACK);
	expect_stage(&rig, CAIRN_STAGE_DURABLE, 1, LATENCY_SLACK);
	ktap_ok(!rig.a->c.req.timed);
	sim_end(rig.s);
}

/* One in so many is timed, and its time counts an eighth. */
static void some_are_timed(void)
{
	struct rig rig = far_rig(&sim_rc);
	u32 i;

	for (i = 0; i < 2 * CAIRN_LATENCY_EVERY; i++) {
		if (i == 1)
			rig.s->latency_ns = 3 * LATENCY_WAY;
		rig_send(&rig, i, CAIRN_WQE_WRITE, 8);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		if (i == CAIRN_LATENCY_EVERY - 1)
			expect_stage(&rig, CAIRN_STAGE_ANSWER, 2 * LATENCY_WAY,
				     2 * LATENCY_WAY + LATENCY_SLACK);
	}
	/* 7/8 of 10 ms and 1/8 of 30 ms */
	expect_stage(&rig, CAIRN_STAGE_ANSWER, 12 * SIM_MS, 13 * SIM_MS);
	ktap_eq(rig.a->started, 2 * CAIRN_LATENCY_EVERY);
	sim_end(rig.s);
}

static void nobody_answers_uc(void)
{
	struct rig rig = far_rig(&sim_uc);

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_stage(&rig, CAIRN_STAGE_SEND, 1, LATENCY_SLACK);
	expect_stage(&rig, CAIRN_STAGE_ANSWER, 0, 0);
	ktap_ok(!rig.a->c.req.timed);
	sim_end(rig.s);
}

/* A request that ends without an answer was not measured, and a reset forgets. */
static void what_is_flushed_has_no_end(void)
{
	struct rig rig = far_rig(&sim_rc);

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	sim_run(rig.s, LATENCY_WAY);
	ktap_ok(rig.a->c.req.timed);
	sim_modify(rig.a, CAIRN_QP_ERR);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_ok(!rig.a->c.req.timed);
	expect_stage(&rig, CAIRN_STAGE_ANSWER, 0, 0);
	sim_reset(rig.a);
	expect_stage(&rig, CAIRN_STAGE_SEND, 0, 0);
	sim_end(rig.s);
}

/* Work that no packet carries, and work that is refused, is not timed. */
static void only_what_travels(void)
{
	struct rig rig = far_rig(&sim_rc);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_LOCAL_INV, 0);

	wr.num_sge = 0;
	wr.remote_addr = 0;
	wr.rkey = 0;
	wr.compare_add = 0;
	wr.imm_or_key = rig.ma->key;
	sim_post_send(rig.a, &wr);
	sim_run(rig.s, SIM_SEC);
	ktap_eq(rig.a->started, 1);
	ktap_ok(!rig.a->c.req.timed);
	expect_stage(&rig, CAIRN_STAGE_SEND, 0, 0);
	sim_end(rig.s);
}

/* The answer is received in a vector that began before the request was sent. */
static void an_older_clock_takes_no_time(void)
{
	struct rig rig = far_rig(&sim_rc);
	struct cairn_requester *req = &rig.a->c.req;

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	req->ext->latency.rec = 0;
	cairn_latency_begin(req, rig.s->now);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 8);
	sim_run(rig.s, LATENCY_WAY);
	ktap_eq(req->ext->latency.stage, CAIRN_STAGE_ANSWER);
	ktap_ok(req->rtt.start);
	req->ext->latency.since += SIM_SEC;
	req->rtt.start += SIM_SEC;
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_stage(&rig, CAIRN_STAGE_ANSWER, 1, 2 * LATENCY_WAY);
	ktap_ok(req->rtt.mean <= 2 * LATENCY_WAY);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(an_answer_takes_a_round_trip),
	KTAP(a_limit_makes_sending_long),
	KTAP(loss_counts_as_waiting_for_the_answer),
	KTAP(both_modes_of_completion),
	KTAP(a_device_that_flushes_answers_once),
	KTAP(some_are_timed),
	KTAP(nobody_answers_uc),
	KTAP(what_is_flushed_has_no_end),
	KTAP(only_what_travels),
	KTAP(an_older_clock_takes_no_time),
};

KTAP_MAIN(tests)
