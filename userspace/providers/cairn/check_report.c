// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_report.h"

#define REPORT_PLACES	256	/* that are remembered; further ones are not reported */

static const char *const report_names[CAIRN_REPORT_CODES] = {
	[CAIRN_REPORT_SEND_BUFFER_CHANGED] = "send-buffer-changed",
	[CAIRN_REPORT_KEY_UNKNOWN] = "key-unknown",
	[CAIRN_REPORT_KEY_OTHER_PD] = "key-other-pd",
	[CAIRN_REPORT_KEY_RANGE] = "key-range",
	[CAIRN_REPORT_KEY_ACCESS] = "key-access",
	[CAIRN_REPORT_ATOMIC_ALIGNMENT] = "atomic-alignment",
	[CAIRN_REPORT_REGION_IN_USE] = "region-in-use",
	[CAIRN_REPORT_RECEIVES_OVERLAP] = "receives-overlap",
	[CAIRN_REPORT_SEND_QUEUE_OVERFLOW] = "send-queue-overflow",
	[CAIRN_REPORT_CQ_OVERFLOW] = "cq-overflow",
	[CAIRN_REPORT_CQ_ARM_RACE] = "cq-arm-race",
	[CAIRN_REPORT_EVENTS_UNACKED] = "events-unacked",
	[CAIRN_REPORT_USE_AFTER_DESTROY] = "use-after-destroy",
	[CAIRN_REPORT_MODIFY_ATTRIBUTES] = "modify-attributes",
	[CAIRN_REPORT_LEAK] = "leak",
	[CAIRN_REPORT_BUFFER_UNMAPPED] = "buffer-unmapped",
	[CAIRN_REPORT_RECEIVE_BUFFER_USED] = "receive-buffer-used",
	[CAIRN_REPORT_RECEIVE_LATE] = "receive-late",
	[CAIRN_REPORT_POLL_ENDLESS] = "poll-endless",
	[CAIRN_REPORT_THREADS_OVERLAP] = "threads-overlap",
	[CAIRN_REPORT_FORK_UNPROTECTED] = "fork-unprotected",
	[CAIRN_REPORT_FORK_CHILD] = "fork-child",
	[CAIRN_REPORT_COMPLETIONS_UNPOLLED] = "completions-unpolled",
};

/* Under the lock of check.h. */
static struct {
	char mode[4096];	/* as it was read */
	FILE *out;
	bool abort;
	bool strict;
	bool pages;
	uint64_t place[REPORT_PLACES];
	size_t places;
} report_state;

bool cairn_report_strict(void)
{
	return report_state.strict;
}

bool cairn_report_pages(void)
{
	return report_state.pages;
}

/* Takes the words after commas from the end of @mode. */
static void report_read_options(char *mode)
{
	char *comma;

	while ((comma = strrchr(mode, ','))) {
		if (!strcmp(comma, ",strict"))
			report_state.strict = true;
		else if (!strcmp(comma, ",pages"))
			report_state.pages = true;
		else
			return;
		*comma = '\0';
	}
}

static void report_open(const char *path)
{
	/* libraries of the program may close descriptors, and children inherit this one */
	FILE *out = fopen(path, "ae");

	if (out) {
		/* a report is one write: several processes append */
		setvbuf(out, NULL, _IOFBF, 1 << 16);
		report_state.out = out;
	} else {
		fprintf(stderr, "cairn-check: %s: %s\n", path, strerror(errno));
	}
}

bool cairn_report_begin(void)
{
	const char *text = secure_getenv("CAIRN_CHECK");
	char mode[4096];

	if (!text || !*text)
		return false;
	snprintf(mode, sizeof(mode), "%s", text);
	if (report_state.out && !strcmp(report_state.mode, mode))
		return true;
	if (report_state.out && report_state.out != stderr)
		fclose(report_state.out);
	memset(&report_state, 0, sizeof(report_state));
	report_state.out = stderr;
	strcpy(report_state.mode, mode);
	report_read_options(mode);
	if (!strncmp(mode, "log:", 4))
		report_open(mode + 4);
	else if (!strcmp(mode, "abort"))
		report_state.abort = true;
	else if (strcmp(mode, "report"))
		fprintf(stderr, "cairn-check: CAIRN_CHECK=%s is not understood: report, abort or log:FILE, and after it ,strict or ,pages\n",
			text);
	return true;
}

static bool report_is_new(enum cairn_report_code code,
			  const struct cairn_trace *here,
			  const struct cairn_report *report)
{
	uint64_t place = cairn_trace_hash(here) * 31 + code;

	if (report->first)
		place ^= cairn_trace_hash(report->first);
	for (size_t i = 0; i < report_state.places; i++)
		if (report_state.place[i] == place)
			return false;
	if (report_state.places == REPORT_PLACES)
		return false;
	report_state.place[report_state.places++] = place;
	return true;
}

void cairn_report_write(enum cairn_report_code code,
			const struct cairn_report *report, const char *format, ...)
{
	FILE *out = report_state.out;
	struct cairn_trace here;
	va_list args;

	cairn_trace_take(&here);
	if (!report_is_new(code, &here, report))
		return;
	fprintf(out, "cairn-check: %s (process %d): ", report_names[code], (int)getpid());
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fputc('\n', out);
	if (report->first)
		cairn_trace_print(out, report->first_title, report->first);
	if (report->here)
		cairn_trace_print(out, "found at:", &here);
	fprintf(out, "  cairn_check(1) explains %s.\n", report_names[code]);
	fflush(out);
	if (report_state.abort)
		abort();
}
