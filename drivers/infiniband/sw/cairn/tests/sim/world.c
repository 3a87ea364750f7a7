// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The clock, the event queue, and whose turn it is. */
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
	void *arg;
};

/* A deadline served this often at one instant will never be satisfied. */
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
	struct sim *s = calloc(1, sizeof(*s));

	remember_repeat(test, seed);
	cairn_icrc_select(NULL);
	s->seed = seed;
	s->rand.state = seed * 0x9e3779b97f4a7c15ULL;
	/* any time but 0, which means "no deadline" */
	s->now = SIM_SEC + sim_below(&s->rand, SIM_SEC);
	s->latency_ns = 2000;
	s->byte_ps = 80;	/* 100 Gbit/s */
	s->budget = 64;
	return s;
}

static void qp_free(struct sim_qp *qp)
{
	free(qp->sq);
	free(qp->own_rq.ring);
	free(qp->cq[CAIRN_REQ].log);
	free(qp->cq[CAIRN_RESP].log);
	free(qp->c.req.swr);
	free(qp->c.resp.rd);
	free(qp);
}

void sim_free(struct sim *s)
{
	u32 i, h;

	/* what still flies owns memory: let it land on hosts that are dead */
	memset(s->dead, true, sizeof(s->dead));
	while (s->qps)
		qp_free(s->qp[--s->qps]);
	for (i = 0; i < s->events; i++)
		if (s->event[i].when == 0)
			continue;
	sim_run(s, ~0ULL / 2);
	for (h = 0; h < SIM_HOSTS; h++) {
		for (i = 0; i < s->host[h].mrs; i++) {
			free(s->host[h].mr[i]->mem);
			free(s->host[h].mr[i]);
		}
	}
	free(s->event);
	free(s->sent);
	free(s);
}
