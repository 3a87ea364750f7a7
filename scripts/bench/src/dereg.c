// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cost of releasing memory: dereg others|itself CONNECTIONS SECONDS.
 *
 * A region of 64 KiB is registered and deregistered again and again, first while
 * the device is idle, then while another thread keeps messages in flight over all
 * connections: "others", READs and WRITEs of 4 KiB over RC, to other memory;
 * "itself", WRITEs of 16 KiB over UC (which survives keys that are refused) to the
 * very region, which is released after data has arrived in it. Both ends live in this
 * process, on the devices CAIRN_A and CAIRN_B; the region is the target's. It prints the latency of
 * ibv_dereg_mr() in both parts (median, 99 %, greatest; microseconds), pairs of
 * registration and release a second, and the messages a second of the disturbed load.
 * It also prints the time that one run of the engine takes to enter and leave its epoch
 * (nanoseconds, engine/epoch.h), and that of a WRITE of 64 bytes (microseconds).
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "engine/epoch.h"
#include "bench.h"

#define REGION		65536
#define BYTES		4096
#define LONG_BYTES	(4 * BYTES)
#define FLYING		4	/* messages of each connection */
#define SAMPLES		(1 << 18)
#define MIN_SAMPLES	100
#define PATIENCE	30e6	/* usec for those */
#define PAIRS		(1 << 20)

static struct vt_dev dev[2];
static struct vt_end *ends[2];
static unsigned int connections;
static double latency[SAMPLES];
static volatile bool stop;
static bool itself;
static u8 *region;
static volatile u32 region_key;
static volatile unsigned long done;

static void dereg_post(struct vt_end *end_a, const struct vt_end *end_b,
		       enum ibv_wr_opcode opcode, u32 len)
{
	bool named = itself && len == LONG_BYTES;
	struct ibv_sge sge = { (uintptr_t)end_a->buf, len, end_a->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			(uintptr_t)(named ? region : end_b->buf),
			named ? region_key : end_b->mr->rkey,
		},
	}, *bad;

	must(!ibv_post_send(end_a->qp, &wr, &bad), "post");
}

/* Completions of one connection. */
static int dereg_reap(struct vt_end *end)
{
	struct ibv_wc wc[FLYING];

	return bench_poll(end->scq, FLYING, wc);
}

static void *dereg_load(void *arg __attribute__((unused)))
{
	unsigned int i, n, round = 0;
	unsigned int *flying = calloc(connections, sizeof(*flying)), left;
	int got;

	must(!!flying, "memory");
	do {
		bool idle = true;

		for (left = 0, i = 0; i < connections; i++) {
			got = dereg_reap(&ends[0][i]);
			flying[i] -= got;
			done += got;
			idle &= !got;
			for (n = flying[i]; !stop && n < FLYING; n++) {
				dereg_post(&ends[0][i], &ends[1][i],
					   ++round & 1 && !itself ?
					   IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
					   itself ? LONG_BYTES : BYTES);
				flying[i]++;
			}
			left += flying[i];
		}
		if (idle)
			sched_yield();	/* others may need this CPU */
	} while (!stop || left);
	free(flying);
	return NULL;
}

/* Wait for the load, one second at most. */
static void await_traffic(void)
{
	double end = bench_usec() + 1e6;

	while (!*(volatile u8 *)region && bench_usec() < end)
		sched_yield();
}

/* Register and release for @seconds; prints figures named with @what. */
static void dereg_flip(const char *what, bool loaded, double seconds)
{
	double start = bench_usec(), end = start + seconds * 1e6, began, now = start;
	unsigned long before = done;
	unsigned int n = 0;

	while (n < SAMPLES &&
	       (now < end || (n < MIN_SAMPLES && now < end + PATIENCE))) {
		struct ibv_mr *mr = ibv_reg_mr(dev[1].pd, region, REGION,
					       VT_ACCESS);

		must(!!mr, "registration");
		region_key = mr->rkey;
		if (itself && loaded)
			await_traffic();
		began = bench_usec();
		must(!ibv_dereg_mr(mr), "release");
		now = bench_usec();
		latency[n++] = now - began;
		region[0] = 0;
	}
	bench_sort(latency, n);
	printf("usec_%s=%.2f usec_%s_p99=%.2f usec_%s_max=%.2f pairs_s_%s=%.1f msgs_s_%s=%.1f ",
	       what, latency[n / 2], what, latency[n * 99UL / 100], what,
	       latency[n - 1], what, n / (now - start) * 1e6, what,
	       (done - before) / (now - start) * 1e6);
}

/* A WRITE of 64 bytes, one connection with FLYING of them in flight. */
static double write_usec(double seconds)
{
	double start = bench_usec(), now = start;
	unsigned long n = 0, posted = 0;

	while (now < start + seconds * 1e6 || n < posted) {
		int got;

		while (now < start + seconds * 1e6 && posted - n < FLYING) {
			dereg_post(&ends[0][0], &ends[1][0], IBV_WR_RDMA_WRITE, 64);
			posted++;
		}
		got = dereg_reap(&ends[0][0]);
		n += got;
		if (!got)
			sched_yield();
		now = bench_usec();
	}
	return (now - start) / n;
}

static double epoch_ns(void)
{
	struct cairn_epoch_cpu cpu = {};
	u32 advances = 0, i;
	double start, ns, best = 1e9;
	int round;

	for (round = 0; round < 8; round++) {
		start = bench_usec();
		for (i = 0; i < PAIRS; i++)
			cairn_epoch_end(&cpu, cairn_epoch_begin(&advances, &cpu));
		ns = (bench_usec() - start) * 1e3 / PAIRS;
		best = ns < best ? ns : best;
	}
	return best;
}

static void connect_all(void)
{
	struct vt_opts opts = VT_OPTS;
	unsigned int i;

	opts.type = itself ? IBV_QPT_UC : IBV_QPT_RC;
	opts.mtu = IBV_MTU_4096;
	bench_open(dev);
	for (i = 0; i < 2; i++) {
		ends[i] = calloc(connections, sizeof(*ends[i]));
		must(!!ends[i], "memory");
	}
	for (i = 0; i < connections; i++)
		must(!vt_end_create(&ends[0][i], &dev[0], &opts, LONG_BYTES) &&
		     !vt_end_create(&ends[1][i], &dev[1], &opts, BYTES) &&
		     !vt_connect(&ends[0][i], &ends[1][i]), "connection");
	for (i = 0; i < connections; i++)
		memset(ends[0][i].buf, 1, LONG_BYTES);
	must(!posix_memalign((void **)&region, 4096, REGION), "memory");
	memset(region, 0, REGION);
}

int main(int argc, char **argv)
{
	pthread_t loader;
	double seconds;

	if (argc != 4) {
		fprintf(stderr, "usage: dereg others|itself CONNECTIONS SECONDS\n");
		return 2;
	}
	itself = !strcmp(argv[1], "itself");
	connections = atoi(argv[2]);
	seconds = atof(argv[3]);
	must(connections && seconds > 0, "arguments");
	connect_all();
	write_usec(seconds / 4);	/* not measured: the first run is slower */
	printf("epoch_ns=%.2f usec_write=%.2f ", epoch_ns(),
	       write_usec(seconds / 2));
	dereg_flip("idle", false, seconds);
	must(!pthread_create(&loader, NULL, dereg_load, NULL), "thread");
	while (done < 4UL * connections)
		sched_yield();
	dereg_flip("load", true, seconds);
	stop = true;
	pthread_join(loader, NULL);
	printf("\n");
	return 0;
}
