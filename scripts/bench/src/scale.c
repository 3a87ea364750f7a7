// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages of 64 bytes spread over many RC connections: scale write|send
 * CONNECTIONS ACTIVE SECONDS, where ACTIVE of the CONNECTIONS are used.
 *
 * Both ends live in this process, on the devices CAIRN_A and CAIRN_B. First as
 * many messages as WINDOW are kept in flight, each by the connection that has
 * been idle longest; then one at a time. Printed: messages a second and their
 * latency from post to CQE (microseconds) in the first part, latency in the
 * second, and the cost of a QP: microseconds to create and to connect it, bytes
 * of the kernel's memory with its rings.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"

#define BYTES		64
#define WINDOW		64	/* messages in flight */
#define RECEIVES	1024
#define SAMPLES		(1 << 20)
#define PATIENCE	30e6	/* usec without a completion */

static struct vt_dev dev[2];
static struct ibv_cq *cq[2];
static struct ibv_mr *mr[2];
static u8 *buf[2];
static struct ibv_srq *srq;
static struct vt_end *ends[2];
static unsigned int pairs, active;
static enum ibv_wr_opcode opcode;

/* Active connections with room, those idle longest first: a ring. */
static unsigned int *idle, idle_head, idle_count, slots;
/* When the message of a slot was posted. */
static double *posted;
static double latency[SAMPLES];
static unsigned int samples;

#if defined(__x86_64__)
/* Called twice per message: where the clock is a system call (user-mode Linux), that
 * would cost more than the message itself.
 */
static double scale_usec(void)
{
	static double from, per_tick;
	static unsigned long long ticks;

	if (!ticks) {
		from = bench_usec();
		ticks = __builtin_ia32_rdtsc();
		while (bench_usec() < from + 50000)
			;
		per_tick = (bench_usec() - from) /
			   (__builtin_ia32_rdtsc() - ticks);
	}
	return from + (__builtin_ia32_rdtsc() - ticks) * per_tick;
}
#else
static double scale_usec(void)
{
	return bench_usec();
}
#endif

static void open_ends(void)
{
	struct ibv_srq_init_attr attr = { .attr = { RECEIVES, 1, 0 } };
	int i;

	bench_open(dev);
	for (i = 0; i < 2; i++) {
		cq[i] = ibv_create_cq(dev[i].ctx, 4 * RECEIVES, NULL, NULL, 0);
		must(!!cq[i], "CQ");
		must(!posix_memalign((void **)&buf[i], 4096, 4096), "memory");
		memset(buf[i], 0, 4096);
		mr[i] = ibv_reg_mr(dev[i].pd, buf[i], 4096, VT_ACCESS);
		must(!!mr[i], "MR");
	}
	srq = ibv_create_srq(dev[1].pd, &attr);
	must(!!srq, "SRQ");
}

static void scale_create(struct vt_end *end, int side)
{
	struct ibv_qp_init_attr init = {
		.cap = { slots, 1, 1, 1, BYTES }, .qp_type = IBV_QPT_RC,
		.send_cq = cq[side], .recv_cq = cq[side],
		.srq = side ? srq : NULL,
	};
	struct vt_opts opts = VT_OPTS;

	end->dev = &dev[side];
	end->o = opts;
	end->o.mtu = IBV_MTU_4096;
	end->qp = ibv_create_qp(dev[side].pd, &init);
	must(!!end->qp, "QP");
	end->psn = end->qp->qp_num & 0xffffff;
}

static void post_recv(void)
{
	struct ibv_sge sge = { (uintptr_t)buf[1], BYTES, mr[1]->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_srq_recv(srq, &wr, &bad), "receive");
}

static void scale_post(unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)buf[0], BYTES, mr[0]->lkey };
	struct ibv_send_wr wr = {
		.wr_id = slot, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.wr.rdma = { (uintptr_t)buf[1] + 2048, mr[1]->rkey },
	}, *bad;

	posted[slot] = scale_usec();
	must(!ibv_post_send(ends[0][slot / slots].qp, &wr, &bad), "post");
}

/* Poll both ends. Return: how many messages are done. */
static int scale_reap(void)
{
	struct ibv_wc wc[32];
	int i, n;

	if (opcode == IBV_WR_SEND) {
		n = bench_poll(cq[1], 32, wc);
		while (n-- > 0)
			post_recv();
	}
	n = bench_poll(cq[0], 32, wc);
	for (i = 0; i < n; i++) {
		unsigned int slot = wc[i].wr_id;

		if (samples < SAMPLES)
			latency[samples++] = scale_usec() - posted[slot];
		idle[(idle_head + idle_count++) % (active * slots)] = slot;
	}
	return n;
}

/* Keep @window messages in flight for @seconds; messages a second. */
static double scale_traffic(unsigned int window, double seconds)
{
	double start = scale_usec(), end = start + seconds * 1e6, last = start, now;
	unsigned int flying = 0;
	unsigned long done = 0;

	samples = 0;
	for (now = start; now < end || flying; now = scale_usec()) {
		int n;

		while (now < end && flying < window && idle_count) {
			scale_post(idle[idle_head]);
			idle_head = (idle_head + 1) % (active * slots);
			idle_count--;
			flying++;
		}
		n = scale_reap();
		flying -= n;
		if (now < end)
			done += n;
		if (n)
			last = now;
		else
			sched_yield();	/* others may need this CPU */
		must(now - last < PATIENCE, "no completion within the time limit");
	}
	return done / seconds;
}

static double scale_percentile(unsigned int percent)
{
	must(samples, "no message");
	return latency[(unsigned long)samples * percent / 100];
}

/* KiB of this process that are not shared, and its page tables */
static long own_memory(void)
{
	return vt_own_status("RssAnon") + vt_own_status("VmPTE");
}

static void scale_build(double *create_us, double *connect_us, double *bytes)
{
	long memory = vt_meminfo("MemAvailable") + own_memory();
	double start = scale_usec();
	unsigned int i;

	for (i = 0; i < pairs; i++) {
		scale_create(&ends[0][i], 0);
		scale_create(&ends[1][i], 1);
	}
	*create_us = (scale_usec() - start) / (2 * pairs);
	start = scale_usec();
	for (i = 0; i < pairs; i++)
		must(!vt_connect(&ends[0][i], &ends[1][i]), "connect");
	*connect_us = (scale_usec() - start) / (2 * pairs);
	memory -= vt_meminfo("MemAvailable") + own_memory();
	*bytes = memory > 0 ? memory * 1024.0 / (2 * pairs) : 0;
}

int main(int argc, char **argv)
{
	double create_us, connect_us, bytes, rate, seconds;
	unsigned int i;

	if (argc != 5) {
		fprintf(stderr, "usage: scale write|send CONNECTIONS ACTIVE SECONDS\n");
		return 2;
	}
	opcode = strcmp(argv[1], "send") ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
	pairs = atoi(argv[2]);
	active = atoi(argv[3]);
	seconds = atof(argv[4]);
	must(active && active <= pairs && seconds > 0, "arguments");
	/* few connections need several messages each to fill the window */
	slots = active < WINDOW ? (WINDOW + active - 1) / active : 1;
	for (i = 0; i < 2; i++) {
		ends[i] = calloc(pairs, sizeof(*ends[i]));
		must(!!ends[i], "memory");
		/* touched now, so that it does not count as the kernel's memory */
		memset(ends[i], 0, pairs * sizeof(*ends[i]));
	}
	idle = calloc((size_t)active * slots, sizeof(*idle));
	posted = calloc((size_t)active * slots, sizeof(*posted));
	must(idle && posted, "memory");

	open_ends();
	scale_build(&create_us, &connect_us, &bytes);
	for (i = 0; i < RECEIVES; i++)
		post_recv();
	/* one message of each connection, then the next of each */
	for (i = 0; i < active * slots; i++)
		idle[i] = i % active * slots + i / active;
	idle_count = active * slots;

	/* Not measured: the first messages need routes, page tables and the like. */
	for (i = 0; i < 2 * active;)
		i += scale_traffic(WINDOW, seconds / 5) * seconds / 5 + 1;
	rate = scale_traffic(WINDOW, seconds);
	bench_sort(latency, samples);
	printf("msgs_s=%.1f usec_loaded=%.2f usec_loaded_p99=%.2f ", rate,
	       scale_percentile(50), scale_percentile(99));
	scale_traffic(1, seconds / 2);
	bench_sort(latency, samples);
	printf("usec=%.2f usec_p99=%.2f usec_create=%.1f usec_connect=%.1f qp_bytes=%.0f\n",
	       scale_percentile(50), scale_percentile(99), create_us, connect_us, bytes);
	return 0;
}
