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
	struct sim *s = sim_zalloc(sizeof(*s));

	remember_repeat(test, seed);
	cairn_icrc_select(NULL);
	s->seed = seed;
	s->rand.state = seed * 0x9e3779b97f4a7c15ULL;
	s->cpu_rand.state = ~s->rand.state;
	/* any time but 0, which means "no deadline" */
	s->now = SIM_SEC + sim_below(&s->rand, SIM_SEC);
	s->cc = (struct cairn_cc_params)CAIRN_DCQCN_DEFAULTS;
	s->latency_ns = 2000;
	cairn_qicache_init(&s->qicache, 1, s->qi_words);
	s->byte_ps = 80;	/* 100 Gbit/s */
	s->budget = 64;
	s->trace = getenv("SIM_TRACE");
	return s;
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

void sim_free(struct sim *s)
{
	u32 i, h;

	for (i = 0; i < s->events; i++)
		if (s->event[i].drop)
			s->event[i].drop(s->event[i].arg);
	while (s->qps)
		qp_free(s->qp[--s->qps]);
	for (h = 0; h < SIM_HOSTS; h++) {
		for (i = 0; i < SIM_CPUS; i++)
			free(s->host[h].cpu[i].line);
		for (i = 0; i < s->host[h].mrs; i++) {
			free(s->host[h].mr[i]->mem);
			free(s->host[h].mr[i]->shadow);
			free(s->host[h].mr[i]->newest);
			free(s->host[h].mr[i]->here);
			free(s->host[h].mr[i]);
		}
	}
	free(s->event);
	free(s->sent);
	free(s);
}

void sim_fail(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	if (s->failures++)
		return;
	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
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

static bool earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->when < b->when || (a->when == b->when && a->seq < b->seq);
}

static void sift_up(struct sim *s, u32 i)
{
	while (i && earlier(&s->event[i], &s->event[(i - 1) / 2])) {
		swap(s->event[i], s->event[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
}

static void sift_down(struct sim *s, u32 i)
{
	for (;;) {
		u32 c = 2 * i + 1;

		if (c >= s->events)
			return;
		if (c + 1 < s->events &&
		    earlier(&s->event[c + 1], &s->event[c]))
			c++;
		if (!earlier(&s->event[c], &s->event[i]))
			return;
		swap(s->event[i], s->event[c]);
		i = c;
	}
}

void sim_at_drop(struct sim *s, u64 when, void (*fn)(struct sim *s, void *arg),
		 void (*drop)(void *arg), void *arg)
{
	if (s->events == s->event_room) {
		s->event_room = s->event_room ? 2 * s->event_room : 64;
		s->event = realloc(s->event,
				   s->event_room * sizeof(*s->event));
	}
	s->event[s->events] = (struct sim_event){
		.when = max(when, s->now),
		.seq = s->event_seq++,
		.fn = fn,
		.drop = drop,
		.arg = arg,
	};
	sift_up(s, s->events++);
}

void sim_at(struct sim *s, u64 when, void (*fn)(struct sim *s, void *arg),
	    void *arg)
{
	sim_at_drop(s, when, fn, NULL, arg);
}

static void run_event(struct sim *s)
{
	struct sim_event ev = s->event[0];

	s->event[0] = s->event[--s->events];
	sift_down(s, 0);
	s->now = max(s->now, ev.when);
	ev.fn(s, ev.arg);
}

/*
 * Turns of the engine.
 */

static u32 turn_budget(struct sim *s)
{
	return s->budget ?: 1 + sim_below(&s->rand, 64);
}

void sim_enter(struct sim_qp *qp, enum cairn_side_id side)
{
	struct sim *s = qp->s;

	s->run_qp = qp;
	s->run_side = side;
	s->run_cqes = 0;
	s->before = qp->c;
}

/* A side moves the state towards ERR only, an unreliable requester to SQE. */
static void check_state(struct sim *s, const struct sim_qp *qp)
{
	u8 was = s->before.state, is = qp->c.state;

	if (is == was || is == CAIRN_QP_ERR)
		return;
	if (is == CAIRN_QP_SQE && s->run_side == CAIRN_REQ &&
	    (was == CAIRN_QP_RTS || was == CAIRN_QP_SQD) &&
	    !cairn_qp_reliable(&qp->c))
		return;
	sim_fail(s, "side %u moved the state from %u to %u", s->run_side, was,
		 is);
}

void sim_leave(struct sim_qp *qp)
{
	struct sim *s = qp->s;
	const struct cairn_qpc *was = &s->before;

	s->run_qp = NULL;
	check_state(s, qp);
	if (s->run_side == CAIRN_REQ &&
	    memcmp(&qp->c.resp, &was->resp, sizeof(was->resp)))
		sim_fail(s, "the requester touched the responder's part");
	if (s->run_side == CAIRN_RESP &&
	    memcmp(&qp->c.req, &was->req, sizeof(was->req)))
		sim_fail(s, "the responder touched the requester's part");
	if (memcmp(&qp->c.cc.rp[!s->run_side], &was->cc.rp[!s->run_side],
		   sizeof(was->cc.rp[0])))
		sim_fail(s, "a side touched the other's congestion control");
	if (memcmp(&qp->c.attrs, &was->attrs, sizeof(was->attrs)))
		sim_fail(s, "a side touched the attributes");
	/* An XRC target's SRQ is valid for the turn only. */
	if (s->run_side == CAIRN_RESP && qp->c.takes == CAIRN_TRANSPORT_XRC) {
		qp->pd = 0;
		qp->rq = &qp->own_rq;
	}
}

void sim_turn(struct sim_qp *qp, enum cairn_side_id side)
{
	struct sim *s = qp->s;
	struct cairn_budget b = { .packets = turn_budget(s) };
	bool more;

	/* enough for the packets, or not */
	b.bytes = b.packets * 2048;
	s->turn_acks = 0;
	sim_enter(qp, side);
	if (side == CAIRN_REQ)
		more = cairn_req_run(&qp->c, s->now, &b);
	else
		more = cairn_resp_run(&qp->c, s->now, &b);
	sim_leave(qp);
	sim_run_over(s);
	if (s->turn_acks > 1)
		sim_fail(s, "%u ACKs or NAKs in one turn", s->turn_acks);
	if (more)
		cairn_env_kick(&qp->c, side);
}

static u64 deadline(const struct sim_qp *qp, enum cairn_side_id side)
{
	return side == CAIRN_REQ ? cairn_req_deadline(&qp->c) :
				   cairn_resp_deadline(&qp->c);
}

/* The QP with the earliest deadline, or NULL. */
static struct sim_qp *first_deadline(struct sim *s, u64 *when,
				     enum cairn_side_id *side)
{
	struct sim_qp *first = NULL;
	u32 i;

	for (i = 0; i < CAIRN_SIDES * s->qps; i++) {
		struct sim_qp *qp = s->qp[i / CAIRN_SIDES];
		u64 d = deadline(qp, i % CAIRN_SIDES);

		if (d && (!first || d < *when)) {
			first = qp;
			*side = i % CAIRN_SIDES;
			*when = d;
		}
	}
	return first;
}

static void serve_deadline(struct sim *s, struct sim_qp *qp,
			   enum cairn_side_id side, u64 when)
{
	if (when > s->now) {
		s->now = when;
		qp->stuck = 0;
	}
	if (++qp->stuck > STUCK_LIMIT) {
		sim_fail(s, "QP %u: its deadline stays in the past", qp->c.qpn);
		return;
	}
	sim_turn(qp, side);
}

/* One step. Return: false: no event is left, or none before @end. */
static bool step(struct sim *s, u64 end)
{
	u64 when = 0;
	enum cairn_side_id side = CAIRN_REQ;
	struct sim_qp *qp = first_deadline(s, &when, &side);

	if (s->events && (!qp || s->event[0].when <= when)) {
		if (s->event[0].when > end)
			return false;
		run_event(s);
		return true;
	}
	if (!qp || when > end)
		return false;
	serve_deadline(s, qp, side, when);
	return true;
}

static bool idle(struct sim *s)
{
	enum cairn_side_id side;
	u64 when;

	return !s->events && !first_deadline(s, &when, &side);
}

bool sim_run_until(struct sim *s, u64 ns, const u32 *flag)
{
	u64 end = s->now + ns, steps;

	for (steps = 0; !s->failures && !(flag && *flag); steps++) {
		if (!step(s, end)) {
			if (idle(s))
				return true;
			s->now = max(s->now, end);
			return false;
		}
		if (s->stepped)
			s->stepped(s, s->stepped_arg);
		if (steps > 50 * 1000 * 1000)
			sim_fail(s, "it never ends");
	}
	return flag && *flag;
}

bool sim_run(struct sim *s, u64 ns)
{
	return sim_run_until(s, ns, NULL);
}
