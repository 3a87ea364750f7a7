/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Call stacks, for the reports of check.h. */
#ifndef CAIRN_CHECK_TRACE_H
#define CAIRN_CHECK_TRACE_H

#include <stdint.h>
#include <stdio.h>

#define CAIRN_TRACE_DEPTH	16

struct cairn_trace {
	void *frame[CAIRN_TRACE_DEPTH];
	int depth;		/* 0: not known */
};

/* The stack of the caller. */
void cairn_trace_take(struct cairn_trace *trace);
/* Return: a number that equal stacks have in common. */
uint64_t cairn_trace_hash(const struct cairn_trace *trace);
/* Frames of the libraries below the program are left out; @title is a line before it. */
void cairn_trace_print(FILE *out, const char *title,
		       const struct cairn_trace *trace);

#endif /* CAIRN_CHECK_TRACE_H */
