/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Statements of the IBTA specification and of the man pages, each with its test:
 *
 *	STATEMENT(receives_in_order, "IBTA 10.8.3", "Receives complete in order.")
 *	{
 *		...
 *	}
 *
 * DEVIATION() has one more text: what cairn does, and why. The test shows that.
 * scripts/check/conformance.py makes Documentation/conformance.rst from them.
 */
#ifndef CAIRN_VM_CONFORM_H
#define CAIRN_VM_CONFORM_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(20000)
/* An answer that must not come has this long. */
#define BRIEF	vt_ms(50)
#define BUF	65536

#define STATEMENT(fn, from, text)					\
	static void fn(void);						\
	static void run_##fn(void) { if (!setjmp(vt_leave)) fn(); }	\
	static const struct ktap_test test_##fn				\
	__attribute__((section("statements"), used, aligned(8))) =	\
		{ #fn, run_##fn };					\
	static void fn(void)
#define DEVIATION(fn, from, text, does)	STATEMENT(fn, from, text)

extern const struct ktap_test __start_statements[], __stop_statements[];

static struct vt_dev dev[2];
static struct vt_end a, b;

static inline void open_ends_with(const struct vt_opts *opts)
{
	must(!vt_end_create(&a, &dev[0], opts, BUF));
	must(!vt_end_create(&b, &dev[1], opts, BUF));
}

static inline struct vt_opts opts_of(enum ibv_qp_type type)
{
	struct vt_opts opts = VT_OPTS;

	opts.type = type;
	/* A refusal without an answer ends within seconds. */
	opts.timeout = 14;
	return opts;
}

/* Two connected ends. */
static inline void open_ends(enum ibv_qp_type type)
{
	struct vt_opts opts = opts_of(type);

	open_ends_with(&opts);
	must(!vt_connect(&a, &b));
}

static inline void close_ends(void)
{
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

static inline struct ibv_sge sge_of(const struct vt_end *end, u32 len)
{
	return (struct ibv_sge){ (uintptr_t)end->buf, len, end->mr->lkey };
}

/* A signaled request of a, whose memory is the first @len bytes of both buffers. */
static inline int conform_post(u64 wr_id, enum ibv_wr_opcode opcode, u32 len)
{
	struct ibv_sge sge = sge_of(&a, len);
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
		.opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)b.buf, b.mr->rkey },
	}, *bad;

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)b.buf;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.swap = 7;
		wr.wr.atomic.rkey = b.mr->rkey;
	}
	return ibv_post_send(a.qp, &wr, &bad);
}

static inline int post_recv(struct vt_end *end, u64 wr_id, u32 len)
{
	struct ibv_sge sge = sge_of(end, len);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	return ibv_post_recv(end->qp, &wr, &bad);
}

/* The next completion. */
static inline struct ibv_wc next_wc(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	must(!vt_poll(cq, &wc, 1, LONG));
	return wc;
}

#define expect_wc(cq, id, st)	expect_wc_at(__FILE__, __LINE__, cq, id, st)

static inline void expect_wc_at(const char *file, int line, struct ibv_cq *cq,
				u64 wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = next_wc(cq);

	if (wc.wr_id != wr_id || wc.status != status)
		ktap_fail_at(file, line, "wr %llu: %s, not wr %llu: %s",
			     (unsigned long long)wc.wr_id,
			     ibv_wc_status_str(wc.status),
			     (unsigned long long)wr_id,
			     ibv_wc_status_str(status));
}

/* Nothing completes for some time. */
static inline bool conform_quiet(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	usleep(BRIEF * 1000);
	return ibv_poll_cq(cq, 1, &wc) == 0;
}

static inline bool state_is(const struct vt_end *end, enum ibv_qp_state state)
{
	return vt_state(end->qp) == state;
}

int main(int argc, char **argv)
{
	if (!vt_open_both(&dev[0], &dev[1], VT_IPV4))
		return vt_bail();
	return ktap_main(__start_statements,
			 __stop_statements - __start_statements,
			 argc > 1 ? argv[1] : NULL);
}

#endif
