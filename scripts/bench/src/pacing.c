// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How well a rate is kept: pacing BITS_S BURST LIMITED SECONDS NETNS NETDEV.
 *
 * One connection (RC, path MTU 1024, long WRITEs) is limited to BITS_S, in bursts
 * of BURST packets. The kernel stamps packets that arrive at NETDEV in NETNS ("-": the
 * own one)  (AF_PACKET, SO_TIMESTAMPNS). The limit is of bytes of the
 * UDP payload. A burst begins where the gap before a packet is longer than a
 * quarter of what it should be. Printed: error of the rate in per cent over the
 * whole run, and over windows of 10 ms and 1 s (from the begin of a burst to that
 * of another); what gaps between the begins of bursts are off by (microseconds),
 * and all percentiles of it; the longest burst; CPU time of a packet. Before that
 * the same for a program that sleeps until each next begin of a burst: the precision of
 * the environment's timers, which other work on the host delays.
 *
 * Then, unless LIMITED is 0, the limit is taken off: bytes a second of that
 * connection alone, while another one has that limit, and while LIMITED others
 * share it; the bytes of those are printed, too.
 * With LIMITED 0 no limit is set at all: the netdev does the shaping.
 *
 * Both ends live in this process, on the devices CAIRN_A and CAIRN_B.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include "bench.h"

#define PMTU		1024
#define PACKET		(PMTU + 12 + 4)	/* BTH, ICRC */
#define HEADERS		(14 + 20 + 8)	/* Ethernet, IPv4, UDP */
#define DEST_QP		(HEADERS + 4)	/* with the reserved byte before it */
#define BYTES		(8 << 20)	/* of a WRITE */
#define WRITES		32		/* in flight, at most */
#define PIECE		65536		/* of the connection without a limit */
#define FLYING		16
#define FRAMES		(1 << 19)

struct frame {
	double usec;
	unsigned int bytes;
};

static struct vt_dev dev[2];
static struct vt_end a, b, *others[2];
static struct frame frame[FRAMES], burst[FRAMES];
static unsigned int frames, bursts;
static double rate, gap;	/* bytes/usec; usec from burst to burst */

static void pacing_rest(double seconds)
{
	struct timespec time = { seconds, (seconds - (long)seconds) * 1e9 };

	while (nanosleep(&time, &time))
		;
}

/* Seconds of all processors in the kernel, interrupts and soft interrupts too. */
static double kernel_cpu(void)
{
	unsigned long user, nice, sys, idle, wait, irq, soft;
	FILE *file = fopen("/proc/stat", "r");

	must(file && fscanf(file, "cpu %lu %lu %lu %lu %lu %lu %lu", &user, &nice,
			    &sys, &idle, &wait, &irq, &soft) == 7, "/proc/stat");
	fclose(file);
	return (double)(sys + irq + soft) / sysconf(_SC_CLK_TCK);
}

/* ---- the capture ---- */

/* Open a packet socket for packets to the QP @qpn, in the namespace @netns. */
static int pacing_capture(const char *netns, const char *netdev, u32 qpn)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DEST_QP),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffffff),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, qpn, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 128),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_IP) };
	int here = open("/proc/self/ns/net", O_RDONLY), there, fd;
	int one = 1, room = 1 << 29;
	char path[256];

	if (strcmp(netns, "-")) {
		snprintf(path, sizeof(path), "/run/netns/%s", netns);
		there = open(path, O_RDONLY);
		must(there >= 0 && !setns(there, CLONE_NEWNET), path);
		close(there);
	}
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	to.sll_ifindex = if_nametoindex(netdev);
	must(!setns(here, CLONE_NEWNET), "setns");
	close(here);
	must(fd >= 0 && to.sll_ifindex, "packet socket");
	must(!setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) &&
	     !setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) &&
	     !setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) &&
	     !bind(fd, (struct sockaddr *)&to, sizeof(to)), "packet socket");
	return fd;
}

static double pacing_stamp(struct msghdr *msg)
{
	struct cmsghdr *cmsghdr = CMSG_FIRSTHDR(msg);
	struct timespec time;

	must(cmsghdr && cmsghdr->cmsg_type == SCM_TIMESTAMPNS, "time stamp");
	memcpy(&time, CMSG_DATA(cmsghdr), sizeof(time));
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

/* A packet that keeps its sender's time stamp has no time of arrival. */
static void check_clock(double stamped)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	must(fabs(time.tv_sec * 1e6 - stamped) < 3600e6, "time of arrival");
}

/* Move captured packets into frame[]. A train of packets is one frame. */
static void pacing_drain(int fd)
{
	struct tpacket_stats lost = {};
	socklen_t len = sizeof(lost);
	char data[128], control[128];

	while (frames < FRAMES) {
		struct iovec iov = { data, sizeof(data) };
		struct msghdr msg = {
			.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			.msg_controllen = sizeof(control),
		};
		u8 *ip = (u8 *)data + 14;

		if (recvmsg(fd, &msg, MSG_DONTWAIT) < HEADERS)
			break;
		frame[frames].usec = pacing_stamp(&msg);
		check_clock(frame[frames].usec);
		frame[frames++].bytes = (ip[2] << 8 | ip[3]) - (HEADERS - 14);
	}
	must(!getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &lost, &len) &&
	     !lost.tp_drops && frames < FRAMES, "complete capture");
}

/* ---- figures ---- */

static double pacing_packets(unsigned int bytes)
{
	return floor((double)bytes / PACKET + 0.5);
}

/* Fill burst[], less the first ones, which fill the pipe; the longest one. */
static double find_bursts(void)
{
	unsigned int i, skip = 16;
	double longest = 0;

	for (i = 1; i < frames; i++) {
		if (frame[i].usec - frame[i - 1].usec > gap / 4) {
			if (skip) {
				skip--;
				continue;
			}
			burst[bursts++] = frame[i];
		} else if (bursts) {
			burst[bursts - 1].bytes += frame[i].bytes;
		}
		if (bursts > 1)
			longest = fmax(longest, pacing_packets(burst[bursts - 2].bytes));
	}
	must(bursts > 100, "a hundred bursts");
	return longest;
}

/* Per cent that the rate is off by, from burst @i to burst @j. */
static double pacing_error(unsigned int i, unsigned int j)
{
	double bytes = 0, time = burst[j].usec - burst[i].usec;

	while (i < j)
		bytes += burst[i++].bytes;
	return fabs(bytes / time / rate - 1) * 100;
}

static void pacing_windows(const char *what, double length)
{
	double *off = calloc(bursts, sizeof(*off));
	unsigned int i, j = 0, n = 0, step = fmax(1, length / gap / 10);

	must(!!off, "memory");
	for (i = 0; i < bursts; i += step) {
		while (j < bursts && burst[j].usec - burst[i].usec < length - gap / 2)
			j++;
		if (j == bursts)
			break;
		off[n++] = pacing_error(i, j);
	}
	if (n) {
		bench_sort(off, n);
		printf("error_%s=%.4f error_%s_p99=%.4f error_%s_max=%.4f ",
		       what, off[n / 2], what, off[n * 99UL / 100], what,
		       off[n - 1]);
	}
	free(off);
}

/* Prints the deviation of @n gaps; @off is overwritten. */
static void pacing_jitter(const char *what, double *off, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		off[i] = fabs(off[i] - gap);
	bench_sort(off, n);
	printf("%s=%.2f %s_p99=%.2f %s_max=%.2f ", what, off[n / 2], what,
	       off[n * 99UL / 100], what, off[n - 1]);
}

/* Gaps between the returns of sleeps that follow the clock without drift. */
static void pacing_sleeps(double seconds)
{
	unsigned int i, n = seconds * 1e6 / gap;
	double *off = calloc(n, sizeof(*off)), next = bench_usec(), last = next, now;

	must(off && n, "memory");
	for (i = 0; i < n; i++) {
		struct timespec time;

		next += gap;
		time.tv_sec = next / 1e6;
		time.tv_nsec = (next - time.tv_sec * 1e6) * 1e3;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
		now = bench_usec();
		off[i] = now - last;
		last = now;
	}
	pacing_jitter("sleep_jitter", off, n);
	free(off);
}

static void pacing_gaps(void)
{
	double *off = calloc(bursts, sizeof(*off));
	unsigned int i, n = bursts - 1;

	must(!!off, "memory");
	for (i = 0; i < n; i++)
		off[i] = burst[i + 1].usec - burst[i].usec;
	bench_sort(off, n);
	for (i = 0; i < 100; i++)
		printf("gap_%02u=%.2f ", i, off[(unsigned long)n * i / 100]);
	pacing_jitter("jitter", off, n);
	printf("gap=%.2f ", gap);
	free(off);
}

/* ---- traffic ---- */

static void pacing_post(struct vt_end *from, u32 len)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, len, a.mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)b.buf, b.mr->rkey },
	}, *bad;

	must(!ibv_post_send(from->qp, &wr, &bad), "post");
}

static int pacing_reap(struct ibv_cq *cq)
{
	struct ibv_wc wc[FLYING];

	return bench_poll(cq, FLYING, wc);
}

static void pacing_limit(struct vt_end *end, u32 kbps, u32 burst_bytes)
{
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = kbps, .max_burst_sz = burst_bytes,
	};

	errno = ibv_modify_qp_rate_limit(end->qp, &attr);
	must(!errno, "rate limit");
}

/* Post WRITEs for @seconds and some more, and capture the packets of that time. */
static unsigned int pacing_paced(int fd, double seconds)
{
	unsigned int i, n = (seconds + 1) * 1e6 * rate / BYTES + 2;
	double cpu, sent = 0;

	must(n <= WRITES, "too many WRITEs in flight");
	cpu = kernel_cpu();
	for (i = 0; i < n; i++)
		pacing_post(&a, BYTES);
	pacing_rest(seconds);
	cpu = kernel_cpu() - cpu;
	pacing_drain(fd);
	close(fd);
	for (i = 0; i < frames; i++)
		sent += pacing_packets(frame[i].bytes);
	printf("longest=%.0f ", find_bursts());
	printf("error=%.4f ", pacing_error(0, bursts - 1));
	pacing_windows("10ms", 1e4);
	pacing_windows("1s", 1e6);
	pacing_gaps();
	printf("cpu_packet=%.3f packets_s=%.1f ", cpu / sent * 1e6, sent / seconds);
	return n;
}

/* Bytes a second without a limit, CPU microseconds of a packet. */
static void pacing_unlimited(const char *what, double seconds)
{
	double start = bench_usec(), end = start + seconds * 1e6, now = start, cpu;
	unsigned long done = 0, flying = 0;

	cpu = kernel_cpu();
	while (now < end || flying) {
		int n;

		while (now < end && flying < FLYING) {
			pacing_post(&a, PIECE);
			flying++;
		}
		n = pacing_reap(a.scq);
		flying -= n;
		done += n;
		if (!n)
			sched_yield();	/* others may need this CPU */
		now = bench_usec();
	}
	cpu = kernel_cpu() - cpu;
	printf("bytes_s_%s=%.1f cpu_packet_%s=%.3f ", what,
	       done * (double)PIECE / (now - start) * 1e6, what,
	       cpu * 1e6 / (done * (PIECE / PMTU)));
}

static unsigned long long paced_bytes(void)
{
	unsigned long long bytes;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/rate_bytes",
		 dev[0].name);
	file = fopen(path, "r");
	must(file && fscanf(file, "%llu", &bytes) == 1, path);
	fclose(file);
	return bytes;
}

/* ---- connections ---- */

static void connect_ends(struct vt_end *from, struct vt_end *to, u32 wrs,
			 size_t len)
{
	struct vt_opts opts = VT_OPTS;

	opts.timeout = 18;		/* a second: a slow QP waits long between packets */
	opts.cap.max_send_wr = wrs;
	must(!vt_end_create(from, &dev[0], &opts, len) &&
	     !vt_end_create(to, &dev[1], &opts, len) && !vt_connect(from, to),
	     "connection");
}

/* @n connections that share the rate and are always busy. */
static void connect_others(unsigned int n)
{
	u32 kbps = fmax(1, rate * 8000 / n);
	unsigned int i;

	for (i = 0; i < 2; i++) {
		others[i] = calloc(n, sizeof(*others[i]));
		must(!!others[i], "memory");
	}
	for (i = 0; i < n; i++) {
		connect_ends(&others[0][i], &others[1][i], 1, 4096);
		pacing_limit(&others[0][i], kbps, 0);
	}
}

static void destroy_others(unsigned int n)
{
	unsigned int i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < n; k++)
			vt_end_destroy(&others[i][k]);
		free(others[i]);
	}
}

/* The connection without a limit while @n others keep to theirs. */
static void pacing_beside(const char *what, unsigned int n, double seconds)
{
	unsigned long long bytes;
	double start;
	unsigned int i;

	connect_others(n);
	for (i = 0; i < n; i++)
		pacing_post(&others[0][i], BYTES);
	pacing_rest(0.2);		/* the first bursts, all at once */
	bytes = paced_bytes();
	start = bench_usec();
	pacing_unlimited(what, seconds);
	printf("limited_s_%s=%.1f ", what,
	       (paced_bytes() - bytes) / (bench_usec() - start) * 1e6);
	destroy_others(n);
}

int main(int argc, char **argv)
{
	unsigned int length, limited, left;
	double seconds;

	if (argc != 7) {
		fprintf(stderr, "usage: pacing BITS_S BURST LIMITED SECONDS NETNS NETDEV\n");
		return 2;
	}
	rate = atof(argv[1]) / 8e6;
	length = atoi(argv[2]);
	limited = atoi(argv[3]);
	seconds = atof(argv[4]);
	must(rate > 0 && length && seconds > 0, "arguments");
	gap = length * PACKET / rate;
	bench_open(dev);
	connect_ends(&a, &b, WRITES, BYTES);
	memset(a.buf, 1, BYTES);
	if (limited)
		pacing_limit(&a, rate * 8000, length * PACKET);
	pacing_sleeps(seconds / 2);
	left = pacing_paced(pacing_capture(argv[5], argv[6], b.qp->qp_num), seconds);
	if (limited) {
		pacing_limit(&a, 0, 0);
		while (left)
			left -= pacing_reap(a.scq);
		seconds = fmin(seconds, 2);
		pacing_unlimited("warm", seconds / 4);
		pacing_unlimited("alone", seconds);
		pacing_beside("one", 1, seconds);
		pacing_beside("many", limited, seconds);
	}
	printf("\n");
	return 0;
}
