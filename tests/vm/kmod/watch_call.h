/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Ftrace callbacks on the functions that a pattern names. */
#ifndef CAIRN_WATCH_CALL_H
#define CAIRN_WATCH_CALL_H

#include <linux/ftrace.h>
#include <linux/string.h>

/* 5.15 does not export it: the filter's memory is lost there. */
void ftrace_free_filter(struct ftrace_ops *ops) __weak;

static inline void watch_call_forget(struct ftrace_ops *ops)
{
	if (ftrace_free_filter)
		ftrace_free_filter(ops);
}

/* Add the functions that @pattern names to those of @ops, before watch_call_begin(). */
static inline int watch_call_add(struct ftrace_ops *ops, const char *pattern)
{
	char text[48];	/* the kernel takes it apart */

	strscpy(text, pattern, sizeof(text));
	return ftrace_set_filter(ops, text, strlen(text), false);
}

/* If it fails, nothing is left of @ops. */
static inline int watch_call_begin(struct ftrace_ops *ops, const char *pattern)
{
	int err = watch_call_add(ops, pattern);

	if (!err)
		err = register_ftrace_function(ops);
	if (err)
		watch_call_forget(ops);
	return err;
}

static inline void watch_call_end(struct ftrace_ops *ops)
{
	unregister_ftrace_function(ops);
	watch_call_forget(ops);
}

#endif
