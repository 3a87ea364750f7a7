// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Adds work for a QP side of cairn in each round of its runs while the side is bound to
 * this CPU (lane/drain.h), as other CPUs could. Counts the rounds of a run;
 * if they have no bound, it ends them. Ftrace callbacks see runs and rounds.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "verbs/verbs.h"
#include "watch_call.h"

/* More rounds than a run may have. */
#define ROUNDS_LIMIT	1000

static unsigned int most;
module_param(most, uint, 0400);
MODULE_PARM_DESC(most, "rounds of a run of a bound side");

static unsigned int bound;
module_param(bound, uint, 0400);
MODULE_PARM_DESC(bound, "runs of a bound side with more than one round");

static DEFINE_PER_CPU(unsigned int, rounds);

static void rounds_begin(unsigned long ip, unsigned long parent_ip,
			 struct ftrace_ops *ops, struct ftrace_regs *regs)
{
	__this_cpu_write(rounds, 0);
}

/* A lane runs until there is no work; others run once. */
static bool rounds_wanted(unsigned int round)
{
	return round < ROUNDS_LIMIT &&
	       (round > 1 || !(current->flags & PF_KTHREAD));
}

/* A round's engine begins: its side's lock is held, and BH are off. */
static void rounds_count(struct ftrace_regs *fregs, enum cairn_side_id side)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);
	unsigned int round = __this_cpu_inc_return(rounds);
	struct cairn_exec_side *state;
	struct cairn_qpc *qpc;

	if (!regs)
		return;
	qpc = (void *)regs_get_kernel_argument(regs, 0);
	state = &container_of(qpc, struct cairn_qp, qpc)->exec.side[side];
	if (rounds_wanted(round))
		set_bit(0, &state->events);
	if (round == 1 || READ_ONCE(state->drain_cpu) == CAIRN_NOT_DRAINING)
		return;
	if (round == 2)
		bound++;
	most = max(most, round);
}

static void rounds_req(unsigned long ip, unsigned long parent_ip,
		       struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	rounds_count(fregs, CAIRN_REQ);
}

static void rounds_resp(unsigned long ip, unsigned long parent_ip,
			struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	rounds_count(fregs, CAIRN_RESP);
}

static struct ftrace_ops begin_ops = {
	.func = rounds_begin,
};

static struct ftrace_ops req_ops = {
	.func = rounds_req,
	.flags = FTRACE_OPS_FL_SAVE_REGS,
};

static struct ftrace_ops resp_ops = {
	.func = rounds_resp,
	.flags = FTRACE_OPS_FL_SAVE_REGS,
};

static int __init cairn_rounds_init(void)
{
	/* Whatever the compiler has made of it. */
	int err = watch_call_begin(&begin_ops, "exec_run*");

	if (err)
		return err;
	err = watch_call_begin(&req_ops, "cairn_req_run");
	if (err)
		goto err_req;
	err = watch_call_begin(&resp_ops, "cairn_resp_run");
	if (err)
		goto err_resp;
	return 0;

err_resp:
	watch_call_end(&req_ops);
err_req:
	watch_call_end(&begin_ops);
	return err;
}

static void __exit cairn_rounds_exit(void)
{
	watch_call_end(&resp_ops);
	watch_call_end(&req_ops);
	watch_call_end(&begin_ops);
}

module_init(cairn_rounds_init);
module_exit(cairn_rounds_exit);
MODULE_DESCRIPTION("test: work that comes while cairn runs");
MODULE_LICENSE("Dual BSD/GPL");
