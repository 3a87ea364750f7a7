/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The memory of a work request between post and completion: its sums, and, for receives
 * with CAIRN_CHECK=...,pages, whole pages that the program cannot touch. The device has
 * its own way to pinned memory, which page protection does not concern.
 *
 * All functions need the lock of check.h.
 */
#ifndef CAIRN_CHECK_BUFFER_H
#define CAIRN_CHECK_BUFFER_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

#include "check_trace.h"

#define CAIRN_BUFFER_SUMS	8	/* parts of a buffer whose sums are compared */

struct cairn_buffer {
	struct ibv_sge sge;
	bool summed;
	uint64_t sum[CAIRN_BUFFER_SUMS];
	struct cairn_closed *closed;	/* its pages that are closed, or NULL */
};

/* Takes the sums. Without the right to read the memory there are none. */
void cairn_buffer_sum(struct cairn_buffer *buffer);
/*
 * Compares the sums of the parts that begin at byte @from or later.
 * Return: 0: equal, or there are none; the number of a part that differs, from 1; -1: the
 * memory has gone.
 */
int cairn_buffer_compare(const struct cairn_buffer *buffer, size_t from);

/* Closes the whole pages of a receive's buffer. @posted: for the report. */
void cairn_buffer_close(struct cairn_buffer *buffer, const struct cairn_trace *posted,
			uint64_t wr_id);
void cairn_buffer_open(struct cairn_buffer *buffer);
/* Opens all pages in a range that is about to be registered: pinning looks at the
 * protection.
 */
void cairn_buffer_open_range(uintptr_t addr, size_t length);

#endif /* CAIRN_CHECK_BUFFER_H */
