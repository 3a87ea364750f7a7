// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * CAIRN_METHOD_YIELD: a process that polls and finds nothing leaves the CPU to other tasks.
 * One of them may have to do the work that the process waits for. After sched_yield() the
 * scheduler may choose the caller again, if it has used less of the CPU than they have.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include "verbs/verbs.h"
#include "verbs/yield.h"

#define UVERBS_MODULE_NAME cairn_yield
#include <rdma/uverbs_named_ioctl.h>

static void yield_sleep(u32 us)
{
	ktime_t time = us * NSEC_PER_USEC;

	set_current_state(TASK_INTERRUPTIBLE);
	schedule_hrtimeout(&time, HRTIMER_MODE_REL);
}

/* Return: 0, also after a signal; -EAGAIN: no other task wants the CPU; -EINVAL. */
static int UVERBS_HANDLER(CAIRN_METHOD_YIELD)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibuc = ib_uverbs_get_ucontext(attrs);
	u32 us;
	int err;

	if (IS_ERR(ibuc))
		return PTR_ERR(ibuc);
	err = uverbs_copy_from(&us, attrs, CAIRN_ATTR_YIELD_US);
	if (err)
		return err;
	if (!us || us > CAIRN_MAX_YIELD_US)
		return -EINVAL;
	if (single_task_running())
		return -EAGAIN;
	yield_sleep(us);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_YIELD,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_YIELD_US,
					       UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY));

ADD_UVERBS_METHODS(yield_methods, CAIRN_OBJECT_CQ,
		   &UVERBS_METHOD(CAIRN_METHOD_YIELD));

const struct uapi_definition cairn_yield_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(CAIRN_OBJECT_CQ, &yield_methods),
	{},
};
