/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The reports of what check.h finds. */
#ifndef CAIRN_CHECK_REPORT_H
#define CAIRN_CHECK_REPORT_H

#include <stdbool.h>

#include "check_trace.h"

/* Each has a section of that name in cairn_check(1). */
enum cairn_report_code {
	CAIRN_REPORT_SEND_BUFFER_CHANGED,
	CAIRN_REPORT_KEY_UNKNOWN,
	CAIRN_REPORT_KEY_OTHER_PD,
	CAIRN_REPORT_KEY_RANGE,
	CAIRN_REPORT_KEY_ACCESS,
	CAIRN_REPORT_ATOMIC_ALIGNMENT,
	CAIRN_REPORT_REGION_IN_USE,
	CAIRN_REPORT_RECEIVES_OVERLAP,
	CAIRN_REPORT_SEND_QUEUE_OVERFLOW,
	CAIRN_REPORT_CQ_OVERFLOW,
	CAIRN_REPORT_CQ_ARM_RACE,
	CAIRN_REPORT_EVENTS_UNACKED,
	CAIRN_REPORT_USE_AFTER_DESTROY,
	CAIRN_REPORT_MODIFY_ATTRIBUTES,
	CAIRN_REPORT_LEAK,
	CAIRN_REPORT_BUFFER_UNMAPPED,
	CAIRN_REPORT_RECEIVE_BUFFER_USED,
	CAIRN_REPORT_RECEIVE_LATE,
	CAIRN_REPORT_POLL_ENDLESS,
	CAIRN_REPORT_THREADS_OVERLAP,
	CAIRN_REPORT_FORK_UNPROTECTED,
	CAIRN_REPORT_FORK_CHILD,
	CAIRN_REPORT_COMPLETIONS_UNPOLLED,
	CAIRN_REPORT_CODES
};

/*
 * Reads CAIRN_CHECK: report, abort or log:FILE, and after commas: strict, pages. A value that
 * is not understood, and a file that cannot be written, is said on stderr; then reports go
 * there.
 *
 * Return: whether it is set. Programs with more rights than the user are not checked.
 */
bool cairn_report_begin(void);
/* Return: whether misuse is reported, too, that many programs commit on purpose. */
bool cairn_report_strict(void);
/* Return: whether the program cannot touch the pages of receives, see check_buffer.h. */
bool cairn_report_pages(void);

/* The other end of the mistake, and whether this one is shown. */
struct cairn_report {
	const struct cairn_trace *first;	/* NULL: none */
	const char *first_title;
	bool here;				/* the stack of the caller as well */
};

/*
 * Writes a paragraph. Each code is reported once for each place of the program. With
 * CAIRN_CHECK=abort it does not return.
 */
void cairn_report_write(enum cairn_report_code code,
			const struct cairn_report *report, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* CAIRN_CHECK_REPORT_H */
