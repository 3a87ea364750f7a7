// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion counters: each piece of work counts once, for its kind, where it ends; as an
 * error if it fails; not at all where no counter is attached (engine/tally.c).
 */
#include "persist.h"

#define QKEY	0x11111111

static void tally_attach(struct rig *rig, u8 kinds)
{
	rig->a->c.tallied = kinds;
	rig->b->c.tallied = kinds;
}

static struct rig tally_rig(u8 kinds)
{
	struct rig rig = rig_new(1);

	tally_attach(&rig, kinds);
	return rig;
}

/* The counts of @qp are @done for @kinds, and 0 for others. */
#define expect_done(qp, kinds, done)	\
	expect_tallies_at(__FILE__, __LINE__, (qp)->tally_done, kinds, done)
#define expect_failed(qp, kinds, failed) \
	expect_tallies_at(__FILE__, __LINE__, (qp)->tally_failed, kinds, failed)

static void expect_tallies_at(const char *file, int line, const u32 *counts,
			      u8 kinds, u32 value)
{
	u8 kind;

	for (kind = 1; kind & CAIRN_TALLIES; kind <<= 1) {
		u32 want = kinds & kind ? value : 0;
		u32 is = counts[sim_tally(kind)];

		if (is != want)
			ktap_fail_at(file, line, "kind %#x: %u, not %u", kind,
				     is, want);
	}
}

/* One request of each opcode, and the kinds that it counts as at both ends. */
static const struct tally_row {
	u8 opcode;
	u8 here, there;
} rows[] = {
	{ CAIRN_WQE_SEND, CAIRN_TALLY_SEND, CAIRN_TALLY_RECV },
	{ CAIRN_WQE_SEND_IMM, CAIRN_TALLY_SEND, CAIRN_TALLY_RECV },
	{ CAIRN_WQE_WRITE, CAIRN_TALLY_WRITE, CAIRN_TALLY_REMOTE_WRITE },
	{ CAIRN_WQE_WRITE_IMM, CAIRN_TALLY_WRITE,
	  CAIRN_TALLY_REMOTE_WRITE | CAIRN_TALLY_RECV },
	{ CAIRN_WQE_READ, CAIRN_TALLY_READ, CAIRN_TALLY_REMOTE_READ },
	{ CAIRN_WQE_CAS, 0, 0 },
	{ CAIRN_WQE_FAA, 0, 0 },
	{ CAIRN_WQE_ATOMIC_WRITE, 0, 0 },
};

static const struct tally_row *tally_row(u8 opcode)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].opcode == opcode)
			return &rows[i];
	ktap_fail("no row for opcode %u", opcode);
	return &rows[0];
}

static void each_kind_counts_once(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig rig = tally_rig(CAIRN_TALLIES);

		rig_recv(&rig, 1, 8192);
		rig_send(&rig, 1, rows[i].opcode,
			 rows[i].here ? 3 * PMTU + 8 : 8);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		expect_done(rig.a, rows[i].here, 1);
		expect_done(rig.b, rows[i].there, 1);
		expect_failed(rig.a, 0, 0);
		expect_failed(rig.b, 0, 0);
		sim_end(rig.s);
	}
}

/* The simulation also reports a count of a kind that is not attached. */
static void only_attached_kinds_count(void)
{
	u8 kind;

	for (kind = 1; kind & CAIRN_TALLIES; kind <<= 1) {
		struct rig rig = tally_rig(kind);
		u32 i;

		for (i = 0; i < ARRAY_SIZE(rows); i++) {
			rig_recv(&rig, i, 1024);
			rig_send(&rig, i, rows[i].opcode, 8);
		}
		ktap_ok(sim_run(rig.s, SIM_SEC));
		ktap_ok(rig.a->tally_done[sim_tally(kind)] ||
			rig.b->tally_done[sim_tally(kind)]);
		expect_done(rig.a, kind, rig.a->tally_done[sim_tally(kind)]);
		expect_done(rig.b, kind, rig.b->tally_done[sim_tally(kind)]);
		sim_end(rig.s);
	}
}

static void unsignaled_work_counts(void)
{
	struct rig rig = tally_rig(CAIRN_TALLIES);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE, 100);
	u32 i;

	wr.flags = 0;
	for (i = 0; i < 5; i++)
		sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(send_cqes(&rig), 0);
	expect_done(rig.a, CAIRN_TALLY_WRITE, 5);
	expect_done(rig.b, CAIRN_TALLY_REMOTE_WRITE, 5);
	sim_end(rig.s);
}

static void failures_count_as_errors(void)
{
	struct rig rig = tally_rig(CAIRN_TALLIES);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE, 100);

	rig_recv(&rig, 1, 1024);
	rig_recv_a(&rig, 1);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 100);
	wr.rkey++;
	wr.flags = 0;
	sim_post_send(rig.a, &wr);
	rig_send(&rig, 3, CAIRN_WQE_SEND, 100);
	rig_send(&rig, 4, CAIRN_WQE_READ, 100);
	rig_send(&rig, 5, CAIRN_WQE_CAS, 8);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 1, 0, CAIRN_CQE_REM_ACCESS_ERR);
	expect_done(rig.a, CAIRN_TALLY_WRITE, 1);
	expect_failed(rig.a, CAIRN_TALLY_WRITE | CAIRN_TALLY_SEND |
		      CAIRN_TALLY_READ | CAIRN_TALLY_RECV, 1);
	/* what was refused is not done, and no error of this end */
	expect_done(rig.b, CAIRN_TALLY_REMOTE_WRITE, 1);
	expect_failed(rig.b, CAIRN_TALLY_RECV, 1);
	sim_end(rig.s);
}

/* Requests that no run has started are flushed, too. */
static void posted_in_err_counts_as_error(void)
{
	struct rig rig = tally_rig(CAIRN_TALLIES);
	u32 i;

	sim_modify(rig.a, CAIRN_QP_ERR);
	for (i = 0; i < 4; i++)
		rig_send(&rig, i, CAIRN_WQE_READ, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_eq(send_cqes(&rig), 4);
	expect_done(rig.a, 0, 0);
	expect_failed(rig.a, CAIRN_TALLY_READ, 4);
	sim_end(rig.s);
}

static void a_reset_counts_nothing_and_keeps_the_counter(void)
{
	struct rig rig = tally_rig(CAIRN_TALLIES);

	rig.s->dead[1] = true;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 100);
	sim_run(rig.s, SIM_US);
	sim_reset(rig.a);
	sim_reset(rig.b);
	rig.s->dead[1] = false;
	sim_run(rig.s, SIM_SEC);
	expect_done(rig.a, 0, 0);
	expect_failed(rig.a, 0, 0);
	sim_connect(rig.a, rig.b, &sim_attrs);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_done(rig.a, CAIRN_TALLY_WRITE, 1);
	expect_done(rig.b, CAIRN_TALLY_REMOTE_WRITE, 1);
	sim_end(rig.s);
}

/* Add what the requests of @flow count as to @done, at the end that it begins at. */
static void tally_add(const struct flow *flow, u32 *here, u32 *there)
{
	u32 i, bit;

	for (i = 0; i < flow->wrs; i++) {
		const struct tally_row *row = tally_row(flow->wr[i].opcode);

		for (bit = 0; bit < SIM_TALLIES; bit++) {
			here[bit] += row->here >> bit & 1;
			there[bit] += row->there >> bit & 1;
		}
	}
}

/* Nothing is counted twice, whatever is lost, repeated and executed again. */
static void counts_are_exact_under_loss(void)
{
	for_seeds(seed, 60) {
		struct pair pair = pair_fresh(seed, &sim_rc, &sim_attrs);
		struct flow_cfg cfg = flow_default;
		u32 a[SIM_TALLIES] = {}, b[SIM_TALLIES] = {};
		struct flow *flows[2];
		u32 i;

		cfg.ops = FLOW_OPS & ~(1 << CAIRN_WQE_SEND_INV);
		pair.a->c.tallied = CAIRN_TALLIES;
		pair.b->c.tallied = CAIRN_TALLIES;
		pair.s->faults = (struct sim_faults){
			.loss = 40, .dup = 40, .late = 50, .split = 200,
			.late_ns = 200000 };
		flows[0] = flow_new(pair.a, pair.b, &cfg);
		flows[1] = flow_new(pair.b, pair.a, &cfg);
		flow_random(flows[0]);
		flow_random(flows[1]);
		tally_add(flows[0], a, b);
		tally_add(flows[1], b, a);
		flow_run(flows, 2);
		for (i = 0; i < SIM_TALLIES; i++) {
			ktap_eq(pair.a->tally_done[i], a[i]);
			ktap_eq(pair.b->tally_done[i], b[i]);
		}
		expect_failed(pair.a, 0, 0);
		expect_failed(pair.b, 0, 0);
		sim_end(pair.s);
	}
}

static void a_repeated_read_counts_once(void)
{
	struct rig rig = tally_rig(CAIRN_TALLIES);
	struct cairn_pkt again;

	rig_send(&rig, 1, CAIRN_WQE_READ, 3 * PMTU);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_done(rig.b, CAIRN_TALLY_REMOTE_READ, 1);
	again = *last_sent(rig.a);
	ktap_eq(again.op->kind, CAIRN_KIND_READ_REQ);
	sim_inject(rig.b, &again, NULL);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_ok(rig.b->count[CAIRN_CTR_DUPLICATE_REQUEST]);
	expect_done(rig.b, CAIRN_TALLY_REMOTE_READ, 1);
	sim_end(rig.s);
}

/* Each completion of @side that was posted counts, and nothing else. */
static void expect_as_posted(const struct sim_qp *qp, enum cairn_side_id side,
			     u8 kind)
{
	const struct sim_cq *cq = &qp->cq[side];
	u32 i, done = 0;

	for (i = 0; i < cq->n; i++)
		done += !cq->log[i].cqe.status;
	ktap_eq(qp->tally_done[sim_tally(kind)], done);
	ktap_eq(qp->tally_failed[sim_tally(kind)], cq->n - done);
}

/* A completion that finds its queue full counts when it is posted, with that status. */
static void a_full_cq_counts_what_it_tells(void)
{
	struct rig rig = tally_rig(CAIRN_TALLIES);
	u32 i;

	rig.a->cq[CAIRN_REQ].depth = 2;
	rig.b->cq[CAIRN_RESP].depth = 2;
	for (i = 0; i < 6; i++)
		rig_recv(&rig, i, 1024);
	for (i = 0; i < 6; i++)
		rig_send(&rig, i, CAIRN_WQE_SEND, 100);
	for (i = 0; i < 20; i++) {
		sim_run(rig.s, LONG_TIME);
		expect_as_posted(rig.a, CAIRN_REQ, CAIRN_TALLY_SEND);
		expect_as_posted(rig.b, CAIRN_RESP, CAIRN_TALLY_RECV);
		sim_poll(rig.a, CAIRN_REQ, 1);
		sim_poll(rig.b, CAIRN_RESP, 1);
	}
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 6);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 6);
	sim_end(rig.s);
}

/* The NIC flush of a WRITE is over when it counts: the simulation looks. */
static void a_durable_write_counts_behind_its_fence(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	tally_attach(&rig, CAIRN_TALLIES);
	persist_first(&rig, 1, 3000);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 3000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	expect_done(rig.a, CAIRN_TALLY_WRITE, 2);
	expect_done(rig.b, CAIRN_TALLY_REMOTE_WRITE, 2);
	sim_end(rig.s);
}

/* The receives that ask the host, and that report early completion mode, are receives. */
static void receives_of_persistence_count(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	tally_attach(&rig, CAIRN_TALLIES);
	rig_recv(&rig, 9, 16);
	empty_recvs(rig.a, 7, 1);
	persist_at(&rig, 1, 0, 100, CAIRN_WQE_EARLY);
	sim_run(rig.s, SIM_MS);
	expect_done(rig.b, CAIRN_TALLY_RECV | CAIRN_TALLY_REMOTE_WRITE, 1);
	expect_done(rig.a, CAIRN_TALLY_WRITE, 1);
	persist_finish(&rig, 0);
	expect_done(rig.a, CAIRN_TALLY_WRITE | CAIRN_TALLY_RECV, 1);
	sim_end(rig.s);
}

/* UC: what does not arrive as a whole is done here, and not there. */
static void half_a_message_does_not_count(void)
{
	struct rig rig = rig_with(1, &sim_uc, &sim_attrs);

	tally_attach(&rig, CAIRN_TALLIES);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	rig.s->dead[1] = true;
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_done(rig.a, CAIRN_TALLY_WRITE, 2);
	expect_done(rig.b, CAIRN_TALLY_REMOTE_WRITE, 1);
	sim_end(rig.s);
}

static void datagrams_count(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig = { .s = sim_new(1) };
	struct cairn_sge sge;
	struct sim_wr wr;

	attrs.qkey = QKEY;
	rig.a = sim_qp(rig.s, 0, &sim_ud);
	rig.b = sim_qp(rig.s, 1, &sim_ud);
	rig.ma = sim_mr(rig.s, 0, RIG_LEN, SIM_ALL);
	rig.mb = sim_mr(rig.s, 1, RIG_LEN, SIM_ALL);
	rig.s->host[0].ah[1] = (struct sim_ah){ true, 1 };
	sim_to_rts(rig.a, 0, 0, &attrs, 0, 7);
	sim_to_rts(rig.b, 0, 0, &attrs, 0, 0);
	tally_attach(&rig, CAIRN_TALLIES);
	wr = rig_wr(&rig, &sge, CAIRN_WQE_SEND, 100);
	wr.ah = 1;
	wr.qpn = rig.b->c.qpn;
	wr.qkey = QKEY;
	rig_recv(&rig, 1, 1024);
	/* the second one finds no receive */
	sim_post_send(rig.a, &wr);
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_done(rig.a, CAIRN_TALLY_SEND, 2);
	expect_done(rig.b, CAIRN_TALLY_RECV, 1);
	expect_failed(rig.b, 0, 0);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(each_kind_counts_once),
	KTAP(only_attached_kinds_count),
	KTAP(unsignaled_work_counts),
	KTAP(failures_count_as_errors),
	KTAP(posted_in_err_counts_as_error),
	KTAP(a_reset_counts_nothing_and_keeps_the_counter),
	KTAP(counts_are_exact_under_loss),
	KTAP(a_repeated_read_counts_once),
	KTAP(a_full_cq_counts_what_it_tells),
	KTAP(a_durable_write_counts_behind_its_fence),
	KTAP(receives_of_persistence_count),
	KTAP(half_a_message_does_not_count),
	KTAP(datagrams_count),
};

KTAP_MAIN(tests)
