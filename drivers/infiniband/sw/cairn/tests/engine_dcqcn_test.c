// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * DCQCN: the reaction point against a model in floating point, flows that share
 * a marking queue, and CNPs in the simulated world.
 */
#include <linux/kernel.h>
#include "engine.h"

#define LINE	40000000u	/* kbit/s, the paper's links */

static const struct cairn_cc_params paper = CAIRN_DCQCN_DEFAULTS;

static void values(void)
{
	struct cairn_cc_params params;
	u32 i, *v = (u32 *)&params;

	ktap_ok(cairn_dcqcn_check(&paper));
	/* none may be 0 but the interval, none may be huge */
	for (i = 0; i < offsetof(struct cairn_cc_params, reserved) / 4; i++) {
		params = paper;
		v[i] = 0;
		ktap_eq(cairn_dcqcn_check(&params),
			i == offsetof(struct cairn_cc_params,
				      cnp_interval_us) / 4);
		params = paper;
		v[i] = ~0u;
		ktap_eq(cairn_dcqcn_check(&params),
			i == offsetof(struct cairn_cc_params,
				      increase_kbytes) / 4);
	}
}

static void first_cut(void)
{
	struct cairn_dcqcn dcqcn = {};
	u64 now = SIM_SEC;

	cairn_dcqcn_cut(&dcqcn, &paper, LINE, now);
	ktap_eq(dcqcn.kbps, LINE / 2);
	ktap_eq(dcqcn.target, LINE);
	ktap_eq(dcqcn.alpha, CAIRN_DCQCN_ONE);
	/* five steps of fast recovery: half of the way each */
	cairn_dcqcn_advance(&dcqcn, &paper, LINE, now + 54999);
	ktap_eq(dcqcn.kbps, LINE / 2);
	cairn_dcqcn_advance(&dcqcn, &paper, LINE, now + 55000);
	ktap_eq(dcqcn.kbps, LINE / 4 * 3);
	cairn_dcqcn_advance(&dcqcn, &paper, LINE, now + 5 * 55000);
	ktap_eq(dcqcn.kbps, LINE - LINE / 64);
	/* back at the speed of the link it is not controlled any more */
	cairn_dcqcn_advance(&dcqcn, &paper, LINE, now + SIM_SEC);
	ktap_eq(dcqcn.kbps, 0);
}

/* The paper's equations, with doubles and events in order. */
struct model {
	double rate, target, alpha, bytes;
	u32 timer, counter;
	bool on;
};

static void model_cut(struct model *model)
{
	if (!model->on) {
		model->rate = LINE;
		model->alpha = 1;
		model->on = true;
	}
	model->target = model->rate;
	model->rate *= 1 - model->alpha / 2;
	if (model->rate < paper.min_kbps)
		model->rate = paper.min_kbps;
	model->alpha = (1 - 1. / 256) * model->alpha + 1. / 256;
	model->timer = 0;
	model->counter = 0;
	model->bytes = 0;
}

static void model_increase(struct model *model)
{
	u32 lo = min(model->timer, model->counter), hi = max(model->timer, model->counter);

	if (lo > paper.recovery_steps)
		model->target += (double)(lo - paper.recovery_steps) *
			     paper.hyper_kbps;
	else if (hi > paper.recovery_steps)
		model->target += paper.additive_kbps;
	if (model->target > LINE)
		model->target = LINE;
	model->rate = (model->rate + model->target) / 2;
}

static bool close_to(double a, double b)
{
	double diff = a > b ? a - b : b - a;

	return diff <= 20 + b / 1000;
}

/* Steps of the timer, with CNPs and bytes in between. */
static void against_the_model(void)
{
	for_seeds(seed, 300) {
		struct sim_rand rand = { .state = seed };
		struct cairn_dcqcn dcqcn = {};
		struct model model = {};
		u64 now = SIM_SEC;
		u32 i;

		cairn_dcqcn_cut(&dcqcn, &paper, LINE, now);
		model_cut(&model);
		for (i = 0; i < 200; i++) {
			u32 bytes = sim_below(&rand, 9000000);

			now += 55000;
			cairn_dcqcn_advance(&dcqcn, &paper, LINE, now);
			model.alpha *= 1 - 1. / 256;
			model.timer++;
			model_increase(&model);
			cairn_dcqcn_sent(&dcqcn, &paper, LINE, bytes);
			model.bytes += bytes;
			if (model.bytes >= 10000000) {
				model.bytes -= 10000000;
				model.counter++;
				model_increase(&model);
			}
			if (!dcqcn.kbps)
				break;
			if (sim_chance(&rand, 50)) {
				cairn_dcqcn_cut(&dcqcn, &paper, LINE, now);
				model_cut(&model);
			}
			if (!close_to(dcqcn.kbps, model.rate))
				ktap_fail("step %u: %u kbit/s, the model says %f",
					  i, dcqcn.kbps, model.rate);
			if (!close_to(dcqcn.alpha, model.alpha * CAIRN_DCQCN_ONE))
				ktap_fail("step %u: alpha %u, not %f", i,
					  dcqcn.alpha, model.alpha * CAIRN_DCQCN_ONE);
		}
	}
}

/* Never below the floor, and from there it comes back. */
static void floor_and_back(void)
{
	struct cairn_dcqcn dcqcn = {};
	u64 now = SIM_SEC;
	u32 i;

	for (i = 0; i < 10000; i++)
		cairn_dcqcn_cut(&dcqcn, &paper, LINE, now);
	ktap_eq(dcqcn.kbps, paper.min_kbps);
	for (i = 0; i < 100 && dcqcn.kbps; i++)
		cairn_dcqcn_advance(&dcqcn, &paper, LINE, now += SIM_SEC);
	ktap_eq(dcqcn.kbps, 0);
}

/*
 * Flows through one queue of 10 Gbit/s that marks as the paper's switches do.
 * Fluid: every flow sends at its rate in steps of 5 us.
 */
#define STEP_NS		5000
#define BOTTLENECK	10000000ull	/* kbit/s */
#define KMIN		5000.
#define KMAX		200000.
#define PMAX		0.01
#define FLOWS		16

struct flow_state {
	struct cairn_dcqcn d;
	u64 cnp_at;
	double sent;
	bool active;
};

static double rate_of(const struct flow_state *state)
{
	return state->active ? (state->d.kbps ?: LINE) : 0;
}

/* Return: the maximum length of the queue, bytes. */
static double dcqcn_share(struct flow_state *state, u32 n, u64 *now, u64 ns,
			  struct sim_rand *rand)
{
	double queue = 0, longest = 0;
	u64 end = *now + ns;
	u32 i;

	for (; *now < end; *now += STEP_NS) {
		double p = queue < KMIN ? 0 : queue > KMAX ? 1 :
			   (queue - KMIN) / (KMAX - KMIN) * PMAX;

		for (i = 0; i < n; i++) {
			double bytes = rate_of(&state[i]) * STEP_NS / 8e6;
			double none = 1, k;

			if (!state[i].active)
				continue;
			cairn_dcqcn_advance(&state[i].d, &paper, LINE, *now);
			cairn_dcqcn_sent(&state[i].d, &paper, LINE, bytes);
			queue += bytes;
			state[i].sent += bytes;
			for (k = bytes; k > 0; k -= 1040)
				none *= 1 - p;
			if (*now < state[i].cnp_at ||
			    sim_below(rand, 1 << 30) >= (1 - none) * (1 << 30))
				continue;
			state[i].cnp_at = *now + paper.cnp_interval_us * 1000;
			cairn_dcqcn_cut(&state[i].d, &paper, LINE, *now);
		}
		queue -= BOTTLENECK * STEP_NS / 8e6;
		queue = queue < 0 ? 0 : queue;
		longest = queue > longest ? queue : longest;
	}
	return longest;
}

static void dcqcn_fair(u32 n)
{
	struct sim_rand rand = { .state = sim_first_seed() };
	struct flow_state state[FLOWS] = {};
	double sum = 0, squares = 0, longest;
	u64 now = SIM_SEC;
	u32 i;

	for (i = 0; i < n; i++) {
		state[i].active = true;
		/* they come one after the other */
		dcqcn_share(state, n, &now, 5 * SIM_MS, &rand);
	}
	dcqcn_share(state, n, &now, 100 * SIM_MS, &rand);
	for (i = 0; i < n; i++)
		state[i].sent = 0;
	longest = dcqcn_share(state, n, &now, 400 * SIM_MS, &rand);
	for (i = 0; i < n; i++) {
		sum += state[i].sent;
		squares += state[i].sent * state[i].sent;
	}
	ktap_diag("%u flows: Jain %.3f, %.0f %% of the link, queue %.0f bytes",
		  n, sum * sum / (n * squares),
		  sum * 8e6 / (400. * SIM_MS) / BOTTLENECK * 100, longest);
	ktap_ok(sum * sum / (n * squares) > 0.9);
	ktap_ok(sum * 8e6 / (400. * SIM_MS) > 0.8 * BOTTLENECK);
	/* a flow ends: the other one gets all */
	if (n != 2)
		return;
	state[1].active = false;
	dcqcn_share(state, n, &now, 100 * SIM_MS, &rand);
	state[0].sent = 0;
	dcqcn_share(state, n, &now, 100 * SIM_MS, &rand);
	ktap_ok(state[0].sent * 8e6 / (100. * SIM_MS) > 0.8 * BOTTLENECK);
}

static void two_share(void)
{
	dcqcn_fair(2);
}

static void sixteen_share(void)
{
	dcqcn_fair(16);
}

/* ---- the simulated world ---- */

static struct rig dcqcn_controlled(u64 seed, bool a, bool b, u16 mark)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.pmtu = 1024;
	rig = rig_with(seed, &sim_rc, &attrs);
	rig.a->c.attrs.cc = a;
	rig.b->c.attrs.cc = b;
	rig.a->c.cc.line_kbps = 1000000;
	rig.b->c.cc.line_kbps = 1000000;
	rig.s->faults.mark = mark;
	return rig;
}

/* One after the other: the first one leaves before the first CNP comes. */
static void send_four(struct rig *rig, u8 opcode)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		rig_send(rig, i, opcode, RIG_LEN);
		ktap_ok(sim_run(rig->s, SIM_SEC));
	}
	expect_cqes(rig->a, CAIRN_REQ, 0, 0, 3, 0);
}

static u32 dcqcn_packets(const struct sim *sim, const struct sim_qp *qp, bool ect)
{
	u32 i, n = 0;

	for (i = 0; i < sim->n_sent; i++)
		n += sim->sent[i].qp == qp && sim->sent[i].ect == ect;
	return n;
}

static void marks_are_answered(void)
{
	struct rig rig = dcqcn_controlled(1, true, false, 1000);
	const struct cairn_pkt *cnp = NULL;
	u64 last = 0;
	u32 i;

	send_four(&rig, CAIRN_WQE_WRITE);
	ktap_eq(dcqcn_packets(rig.s, rig.a, true), 256);
	ktap_eq(dcqcn_packets(rig.s, rig.a, false), 0);
	/* ACKs and CNPs are not ECN-capable */
	ktap_eq(dcqcn_packets(rig.s, rig.b, true), 0);
	ktap_eq(rig.b->count[CAIRN_CTR_CE_RECEIVED], 256);
	ktap_ok(rig.b->count[CAIRN_CTR_CNPS_SENT] > 0);
	ktap_eq(rig.a->count[CAIRN_CTR_CNPS_RECEIVED],
		rig.b->count[CAIRN_CTR_CNPS_SENT]);
	for (i = 0; i < rig.s->n_sent; i++) {
		const struct sim_sent *sent = &rig.s->sent[i];

		if (sent->pkt.opcode != CAIRN_BTH_CNP)
			continue;
		ktap_ok(!last || sent->when - last >= 50 * SIM_US);
		last = sent->when;
		cnp = &sent->pkt;
	}
	if (cnp) {
		ktap_ok(cnp->becn);
		ktap_eq(cnp->qpn, rig.a->c.qpn);
		ktap_eq(cnp->payload_len, 16);
		ktap_eq(cnp->psn, 0);
	}
	ktap_ok(rig.a->count[CAIRN_CTR_RATE_MARKS] > 0);
	sim_end(rig.s);
}

/* READ responses are data of the responder. */
static void responses_are_controlled(void)
{
	struct rig rig = dcqcn_controlled(1, false, true, 1000);

	send_four(&rig, CAIRN_WQE_READ);
	ktap_eq(dcqcn_packets(rig.s, rig.b, true), 256);
	ktap_ok(rig.a->count[CAIRN_CTR_CNPS_SENT] > 0);
	/* the responder sends them: no turn of it for each mark */
	ktap_eq(rig.a->count[CAIRN_CTR_CE_RECEIVED], 256);
	ktap_ok(rig.a->kicks[CAIRN_RESP] < 32);
	ktap_ok(rig.b->count[CAIRN_CTR_RATE_MARKS] > 0);
	ktap_eq(rig.a->count[CAIRN_CTR_RATE_MARKS], 0);
	sim_end(rig.s);
}

static void off_means_off(void)
{
	struct rig rig = dcqcn_controlled(1, false, false, 1000);
	struct cairn_pkt cnp = {
		.opcode = CAIRN_BTH_CNP, .pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig.a->c.qpn, .becn = true, .payload_len = 16,
	};
	static const u8 zeros[16];

	rig_send(&rig, 1, CAIRN_WQE_WRITE, RIG_LEN);
	sim_run(rig.s, 3 * SIM_US);
	/* a CNP arrives although congestion control is off */
	sim_inject(rig.a, &cnp, zeros);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, 0);
	ktap_eq(dcqcn_packets(rig.s, rig.a, true), 0);
	ktap_eq(rig.b->count[CAIRN_CTR_CE_RECEIVED], 0);
	ktap_eq(rig.a->count[CAIRN_CTR_CNPS_RECEIVED], 1);
	ktap_eq(rig.a->count[CAIRN_CTR_RATE_MARKS], 0);
	sim_end(rig.s);
}

/* A configured limit still caps the rate. */
static void limit_caps(void)
{
	struct rig rig = dcqcn_controlled(1, true, true, 0);
	u64 begin = rig.s->now;

	rig.a->c.attrs.rate = (struct cairn_rate_limit){ 100000, 2112, 0 };
	rig_send(&rig, 1, CAIRN_WQE_WRITE, RIG_LEN);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_ok(rig.s->now - begin >= cairn_rate_ns(100000, RIG_LEN - 3168));
	sim_end(rig.s);
}

/* Everything at once, with a bad network, marks and a receiver that starves. */
static void everything(void)
{
	for_seeds(seed, 60) {
		struct pair pair = pair_new(seed, &sim_rc, 512);
		struct flow *flows[2];

		pair.a->c.attrs.cc = true;
		pair.b->c.attrs.cc = true;
		pair.s->faults = (struct sim_faults){
			.loss = 20, .dup = 10, .late = 10, .late_ns = 50000,
			.mark = 200,
		};
		flows[0] = flow_new(pair.a, pair.b, &flow_default);
		flows[1] = flow_new(pair.b, pair.a, &flow_default);
		flow_random(flows[0]);
		flow_random(flows[1]);
		flow_run(flows, 2);
		ktap_ok(pair.s->count[CAIRN_CTR_CNPS_RECEIVED] > 0);
		sim_end(pair.s);
	}
}

/* A CNP arrives at a. */
static void dcqcn_notify(const struct rig *rig, u16 pkey)
{
	static const u8 zeros[16];
	struct cairn_pkt cnp = {
		.opcode = CAIRN_BTH_CNP, .pkey = pkey, .qpn = rig->a->c.qpn,
		.becn = true, .payload_len = sizeof(zeros),
	};

	sim_inject(rig->a, &cnp, zeros);
}

/* A peer sends one CNP in an interval; more are not its own. */
static void forged_notifications_are_few_cuts(void)
{
	struct rig rig = dcqcn_controlled(1, true, false, 0);
	u32 i;

	for (i = 0; i < 40; i++) {
		dcqcn_notify(&rig, CAIRN_PKEY_DEFAULT);
		sim_run(rig.s, SIM_US);
	}
	ktap_eq(rig.a->count[CAIRN_CTR_CNPS_RECEIVED], 40);
	ktap_ok(rig.a->c.cc.cnps >= 1);
	ktap_ok(rig.a->c.cc.cnps <= 3);
	/* nor is that of another partition */
	dcqcn_notify(&rig, 0x8001);
	ktap_eq(rig.a->count[CAIRN_CTR_CNPS_RECEIVED], 40);
	ktap_eq(rig.a->count[CAIRN_CTR_RX_PKEY_ERRORS], 1);
	sim_end(rig.s);
}

/* Both sides were idle when the notifications came. The congestion is over long ago. */
static void old_notifications_do_not_slow(void)
{
	struct rig rig = dcqcn_controlled(1, true, false, 0);
	u32 i;

	for (i = 0; i < 20; i++) {
		dcqcn_notify(&rig, CAIRN_PKEY_DEFAULT);
		rig.s->now += 100 * SIM_US;
	}
	ktap_eq(rig.a->c.cc.cnps, 20);
	rig.s->now += SIM_SEC;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, RIG_LEN);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, 0);
	ktap_eq(rig.a->count[CAIRN_CTR_RATE_MARKS], 0);
	/* but recent ones do */
	for (i = 0; i < 20; i++) {
		dcqcn_notify(&rig, CAIRN_PKEY_DEFAULT);
		rig.s->now += 100 * SIM_US;
	}
	rig_send(&rig, 2, CAIRN_WQE_WRITE, RIG_LEN);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_ok(rig.a->count[CAIRN_CTR_RATE_MARKS] > 0);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(values),
	KTAP(first_cut),
	KTAP(against_the_model),
	KTAP(floor_and_back),
	KTAP(two_share),
	KTAP(sixteen_share),
	KTAP(marks_are_answered),
	KTAP(responses_are_controlled),
	KTAP(off_means_off),
	KTAP(limit_caps),
	KTAP(everything),
	KTAP(forged_notifications_are_few_cuts),
	KTAP(old_notifications_do_not_slow),
};

KTAP_MAIN(tests)
