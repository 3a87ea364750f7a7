// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The clock, the event queue, and the turns of the engine. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "wire/icrc.h"
#include "sim/sim.h"

struct sim_event {
	u64 when;
	u64 seq;		/* first come, first served */
	void (*fn)(struct sim *s, void *arg);
	void (*drop)(void *arg);	/* instead of fn when the world ends */
	void *arg;
};

/* A deadline that was served this often at one instant is an endless loop. */
#define STUCK_LIMIT	100
/* The longest time for which answers wait for each other. */
#define PLUG_NS		2000

void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static char repeat_cmd[256] = "(no simulation was running)";

static void say_repeat(void)
{
	/* write(): this may run inside a dying process */
	static const char intro[] = "# repeat with: ";
	ssize_t ret;

	ret = write(STDOUT_FILENO, intro, sizeof(intro) - 1);
	ret = write(STDOUT_FILENO, repeat_cmd, strlen(repeat_cmd));
	ret = write(STDOUT_FILENO, "\n", 1);
	(void)ret;
}

static void on_abort(int sig)
{
	say_repeat();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void remember_repeat(const char *test, u64 seed)
{
	static bool armed;

	snprintf(repeat_cmd, sizeof(repeat_cmd), "CAIRN_SEED=%llu SEEDS=1 %s %s",
		 (unsigned long long)seed, program_invocation_name, test);
	if (armed)
		return;
	armed = true;
	signal(SIGABRT, on_abort);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(say_repeat);
}

const char *sim_repeat(void)
{
	return repeat_cmd;
}

u64 sim_first_seed(void)
{
	const char *env = getenv("CAIRN_SEED");

	return env ? strtoull(env, NULL, 0) : 1;
}

u32 sim_seeds(u32 normally)
{
	const char *env = getenv("SEEDS");

	return env ? (u32)strtoul(env, NULL, 0) : normally;
}

struct sim *sim_new_at(const char *test, u64 seed)
{
	struct sim *sim = sim_zalloc(sizeof(*sim));

	remember_repeat(test, seed);
	cairn_icrc_select(NULL);
	sim->seed = seed;
	sim->rand.state = seed * 0x9e3779b97f4a7c15ULL;
	sim->cpu_rand.state = ~sim->rand.state;
	sim->lane_rand.state = sim->rand.state + 1;
	/* any time but 0, which means "no deadline" */
	sim->now = SIM_SEC + sim_below(&sim->rand, SIM_SEC);
	sim->cc = (struct cairn_cc_params)CAIRN_DCQCN_DEFAULTS;
	sim->latency_ns = 2000;
	cairn_qicache_init(&sim->qicache, 1, sim->qi_words);
	sim->byte_ps = 80;	/* 100 Gbit/s */
	sim->budget = 64;
	sim->trace = getenv("SIM_TRACE");
	return sim;
}

static void qp_free(struct sim_qp *qp)
{
	sim_drop_held(qp);
	free(qp->sq);
	free(qp->own_rq.ring);
	free(qp->cq[CAIRN_REQ].log);
	free(qp->cq[CAIRN_RESP].log);
	free(qp->c.req.ext);
	free(qp->c.req.swr);
	free(qp->c.resp.rwqe);
	free(qp->c.resp.replay.res);
	free(qp->c.resp.persist.pend);
	free(qp);
}

void sim_free(struct sim *sim)
{
	u32 i, h;

	sim_drop_waiting(sim);
	for (i = 0; i < sim->events; i++)
		if (sim->event[i].drop)
			sim->event[i].drop(sim->event[i].arg);
	while (sim->qps)
		qp_free(sim->qp[--sim->qps]);
	for (h = 0; h < SIM_HOSTS; h++) {
		for (i = 0; i < SIM_CPUS; i++)
			free(sim->host[h].cpu[i].line);
		for (i = 0; i < sim->host[h].mrs; i++) {
			free(sim->host[h].mr[i]->mem);
			free(sim->host[h].mr[i]->shadow);
			free(sim->host[h].mr[i]->newest);
			free(sim->host[h].mr[i]->here);
			free(sim->host[h].mr[i]);
		}
	}
	free(sim->event);
	free(sim->sent);
	free(sim);
}

void sim_fail(struct sim *sim, const char *fmt, ...)
{
	va_list ap;

	if (sim->failures++)
		return;
	va_start(ap, fmt);
	vsnprintf(sim->why, sizeof(sim->why), fmt, ap);
	va_end(ap);
}

void sim_trace(const struct sim_qp *qp, const char *fmt, ...)
{
	va_list ap;

	if (!qp->s->trace)
		return;
	printf("# %llu.%03llu us host %u ",
	       (unsigned long long)qp->s->now / 1000,
	       (unsigned long long)qp->s->now % 1000, qp->host);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void sim_trace_pkt(const struct sim_qp *qp, const char *what,
		   const struct cairn_pkt *pkt)
{
	char aeth[40] = "";

	if (pkt->op->hdrs & CAIRN_HDR_AETH)
		snprintf(aeth, sizeof(aeth), " syndrome %02x msn %u",
			 pkt->syndrome, pkt->msn);
	sim_trace(qp, "%s %s psn %u len %u%s%s", what, pkt->op->name, pkt->psn,
		  pkt->payload_len, pkt->ack_req ? " ackreq" : "", aeth);
}

/*
 * Events: a binary heap, earliest first.
 */

static bool world_earlier(const struct sim_event *event_a, const struct sim_event *event_b)
{
	return event_a->when < event_b->when ||
	       (event_a->when == event_b->when && event_a->seq < event_b->seq);
}

static void sift_up(struct sim *sim, u32 i)
{
	while (i && world_earlier(&sim->event[i], &sim->event[(i - 1) / 2])) {
		swap(sim->event[i], sim->event[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
}

static void sift_down(struct sim *sim, u32 i)
{
	for (;;) {
		u32 c = 2 * i + 1;

		if (c >= sim->events)
			return;
		if (c + 1 < sim->events &&
		    world_earlier(&sim->event[c + 1], &sim->event[c]))
			c++;
		if (!world_earlier(&sim->event[c], &sim->event[i]))
			return;
		swap(sim->event[i], sim->event[c]);
		i = c;
	}
}

void sim_at_drop(struct sim *sim, u64 when, void (*fn)(struct sim *sim, void *arg),
		 void (*drop)(void *arg), void *arg)
{
	if (sim->events == sim->event_room) {
		sim->event_room = sim->event_room ? 2 * sim->event_room : 64;
		sim->event = realloc(sim->event,
				     sim->event_room * sizeof(*sim->event));
	}
	sim->event[sim->events] = (struct sim_event){
		.when = max(when, sim->now),
		.seq = sim->event_seq++,
		.fn = fn,
		.drop = drop,
		.arg = arg,
	};
	sift_up(sim, sim->events++);
}

void sim_at(struct sim *sim, u64 when, void (*fn)(struct sim *sim, void *arg),
	    void *arg)
{
	sim_at_drop(sim, when, fn, NULL, arg);
}

static void run_event(struct sim *sim)
{
	struct sim_event ev = sim->event[0];

	sim->event[0] = sim->event[--sim->events];
	sift_down(sim, 0);
	sim->now = max(sim->now, ev.when);
	ev.fn(sim, ev.arg);
}

/*
 * Turns of the engine.
 */

static u32 turn_budget(struct sim *sim)
{
	return sim->budget ?: 1 + sim_below(&sim->rand, 64);
}

void sim_enter(struct sim_qp *qp, enum cairn_side_id side)
{
	struct sim *sim = qp->s;

	sim->run_qp = qp;
	sim->run_side = side;
	sim->run_cqes = 0;
	sim->before = qp->c;
}

/* A side moves the state towards ERR only, an unreliable requester to SQE. */
static void check_state(struct sim *sim, const struct sim_qp *qp)
{
	u8 was = sim->before.state, is = qp->c.state;

	if (is == was || is == CAIRN_QP_ERR)
		return;
	if (is == CAIRN_QP_SQE && sim->run_side == CAIRN_REQ &&
	    (was == CAIRN_QP_RTS || was == CAIRN_QP_SQD) &&
	    !cairn_qp_reliable(&qp->c))
		return;
	sim_fail(sim, "side %u moved the state from %u to %u", sim->run_side, was,
		 is);
}

void sim_leave(struct sim_qp *qp)
{
	struct sim *sim = qp->s;
	const struct cairn_qpc *was = &sim->before;

	sim->run_qp = NULL;
	check_state(sim, qp);
	if (sim->run_side == CAIRN_REQ &&
	    memcmp(&qp->c.resp, &was->resp, sizeof(was->resp)))
		sim_fail(sim, "the requester touched the responder's part");
	if (sim->run_side == CAIRN_RESP &&
	    memcmp(&qp->c.req, &was->req, sizeof(was->req)))
		sim_fail(sim, "the responder touched the requester's part");
	if (memcmp(&qp->c.cc.rp[!sim->run_side], &was->cc.rp[!sim->run_side],
		   sizeof(was->cc.rp[0])))
		sim_fail(sim, "a side touched the other's congestion control");
	if (memcmp(&qp->c.attrs, &was->attrs, sizeof(was->attrs)))
		sim_fail(sim, "a side touched the attributes");
	/* An XRC target's SRQ is valid for the turn only. */
	if (sim->run_side == CAIRN_RESP && qp->c.takes == CAIRN_TRANSPORT_XRC) {
		qp->pd = 0;
		qp->rq = &qp->own_rq;
	}
}

static void world_turn(struct sim_qp *qp, enum cairn_side_id side,
		       struct cairn_ahead *ahead)
{
	struct sim *sim = qp->s;
	struct cairn_budget budget = { .packets = turn_budget(sim), .ahead = ahead };
	bool more;

	/* enough for the packets, or not */
	budget.bytes = budget.packets * 2048;
	sim->turn_acks = 0;
	sim_enter(qp, side);
	if (side == CAIRN_REQ) {
		/* As in the driver, the turn of a lane that has fetched is no event. */
		cairn_req_told(&qp->c.req, !ahead || !qp->c.req.fetched);
		more = cairn_req_run(&qp->c, sim->now, &budget);
	} else {
		more = cairn_resp_run(&qp->c, sim->now, &budget);
	}
	sim_leave(qp);
	sim_turn_over(qp, side);
	sim_run_over(sim);
	if (sim->turn_acks > 1)
		sim_fail(sim, "%u ACKs or NAKs in one turn", sim->turn_acks);
	if (more)
		cairn_env_kick(&qp->c, side);
}

void sim_fetch(struct sim_qp *qp)
{
	sim_enter(qp, CAIRN_REQ);
	cairn_req_fetch(&qp->c, &qp->wqes, qp->s->now);
	sim_leave(qp);
	qp->wqes_wait = true;
}

void sim_lane_turn(struct sim_qp *qp)
{
	if (!qp->wqes_wait)
		qp->wqes.units = 0;
	qp->wqes_wait = false;
	world_turn(qp, CAIRN_REQ, &qp->wqes);
}

/* At random the turn is one of a lane, which has fetched the WQEs of some QP before. */
void sim_turn(struct sim_qp *qp, enum cairn_side_id side)
{
	struct sim *sim = qp->s;

	if (sim->lane && sim_chance(&sim->lane_rand, sim->lane))
		sim_fetch(sim->qp[sim_below(&sim->lane_rand, sim->qps)]);
	if (sim->lane && side == CAIRN_REQ && sim_below(&sim->lane_rand, 2))
		sim_lane_turn(qp);
	else
		world_turn(qp, side, NULL);
}

static u64 world_deadline(const struct sim_qp *qp, enum cairn_side_id side)
{
	return side == CAIRN_REQ ? cairn_req_deadline(&qp->c) :
				   cairn_resp_deadline(&qp->c);
}

/* The QP with the earliest deadline, or NULL. */
static struct sim_qp *first_deadline(struct sim *sim, u64 *when,
				     enum cairn_side_id *side)
{
	struct sim_qp *first = NULL;
	u32 i;

	for (i = 0; i < CAIRN_SIDES * sim->qps; i++) {
		struct sim_qp *qp = sim->qp[i / CAIRN_SIDES];
		u64 d = world_deadline(qp, i % CAIRN_SIDES);

		if (d && (!first || d < *when)) {
			first = qp;
			*side = i % CAIRN_SIDES;
			*when = d;
		}
	}
	return first;
}

static void serve_deadline(struct sim *sim, struct sim_qp *qp,
			   enum cairn_side_id side, u64 when)
{
	if (when > sim->now) {
		sim->now = when;
		qp->stuck = 0;
	}
	if (++qp->stuck > STUCK_LIMIT) {
		sim_fail(sim, "QP %u: its deadline stays in the past", qp->c.qpn);
		return;
	}
	sim_turn(qp, side);
}

/* One step. Return: false: no event is left, or none before @end. */
static bool world_step(struct sim *sim, u64 end)
{
	u64 when = 0;
	enum cairn_side_id side = CAIRN_REQ;
	struct sim_qp *qp = first_deadline(sim, &when, &side);

	if (sim->events && (!qp || sim->event[0].when <= when)) {
		if (sim->event[0].when > end)
			return false;
		run_event(sim);
		return true;
	}
	if (!qp || when > end)
		return false;
	serve_deadline(sim, qp, side, when);
	return true;
}

/* The time of the next step, or 0. */
static u64 world_next(struct sim *sim)
{
	enum cairn_side_id side;
	u64 when = 0;

	if (!first_deadline(sim, &when, &side))
		when = 0;
	if (sim->events && (!when || sim->event[0].when < when))
		when = sim->event[0].when;
	return when;
}

/* Plug for steps that follow each other at once. */
static void world_plug(struct sim *sim)
{
	u64 next = sim->plugged ? world_next(sim) : 0;

	if (sim->plugged && (!next || next > sim->plug_end))
		sim_unplug(sim);
	if (sim->plugged || !sim->plug || !sim_chance(&sim->cpu_rand, sim->plug))
		return;
	sim_plug(sim);
	sim->plug_end = sim->now + PLUG_NS;
}

static bool world_idle(struct sim *sim)
{
	enum cairn_side_id side;
	u64 when;

	return !sim->events && !first_deadline(sim, &when, &side);
}

bool sim_run_until(struct sim *sim, u64 ns, const u32 *flag)
{
	u64 end = sim->now + ns, steps;

	for (steps = 0; !sim->failures && !(flag && *flag); steps++) {
		world_plug(sim);
		if (!world_step(sim, end)) {
			sim_unplug(sim);
			if (world_idle(sim))
				return true;
			sim->now = max(sim->now, end);
			return false;
		}
		if (sim->stepped)
			sim->stepped(sim, sim->stepped_arg);
		if (steps > 50 * 1000 * 1000)
			sim_fail(sim, "it never ends");
	}
	sim_unplug(sim);
	return flag && *flag;
}

bool sim_run(struct sim *sim, u64 ns)
{
	return sim_run_until(sim, ns, NULL);
}
