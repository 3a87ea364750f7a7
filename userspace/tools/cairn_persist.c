// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How fast is a durable write, and what does it cost on the wire?
 *
 *   cairn_persist -d DEVICE [-M MEMORY] [-k DOMAIN]		the target
 *   cairn_persist -d DEVICE -m MODE [-s BYTES] [-n MESSAGES] [-t DEPTH] ADDRESS
 *
 * Modes: persist, early (WRITE_PERSIST), write (RDMA WRITE), write+read (WRITE and a
 * READ behind it, which is how one asks a NIC today), write+send (WRITE and SEND;
 * the target's program flushes and answers). A message counts when it is durable,
 * as far as the mode can tell. The two ends meet over TCP.
 */
#include <arpa/inet.h>
#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/cairndv.h>

#define MAX_DEPTH	512
#define LINE		64
#define MAPPED		(64ul << 20)

enum mode { MODE_PERSIST, MODE_EARLY, MODE_WRITE, MODE_READ, MODE_SEND, MODES };

static const char * const mode_names[MODES] = {
	"persist", "early", "write", "write+read", "write+send",
};

struct options {
	const char *device, *memory, *domain, *address, *port;
	int mode, gid_index;
	uint32_t size;
	uint64_t messages;
	uint32_t depth;
	bool json;
};

/* What each end tells the other, in the byte order of both. */
struct card {
	union ibv_gid gid;
	uint32_t qpn, psn, rkey, mode;
	uint64_t addr, length;
	uint32_t size, depth;
	uint64_t messages;
	uint32_t mtu, reserved;
};

struct end {
	struct options o;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;	/* target: the region; initiator: the source */
	uint8_t *buf;
	struct card me, peer;
	int sock;
	uint64_t *started, *took;	/* ns, of each message */
};

static int fail(const char *what)
{
	int err = errno ? errno : EIO;

	fprintf(stderr, "cairn_persist: %s: %s\n", what, strerror(err));
	return err;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- device ---- */

static int device_open(struct end *e)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), e->o.device))
			e->ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return e->ctx ? 0 : fail(e->o.device);
}

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* The first RoCE v2 GID of an IPv4 address, unless one was named. */
static int gid_find(struct end *e)
{
	struct ibv_gid_entry entries[64];
	ssize_t n = ibv_query_gid_table(e->ctx, entries, 64, 0);

	for (ssize_t i = 0; i < n; i++) {
		if (e->o.gid_index >= 0 ?
		    entries[i].gid_index != (uint32_t)e->o.gid_index :
		    entries[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    !is_ipv4(&entries[i].gid))
			continue;
		e->me.gid = entries[i].gid;
		e->o.gid_index = (int)entries[i].gid_index;
		return 0;
	}
	errno = ENOENT;
	return fail("no GID");
}

static int qp_create(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * MAX_DEPTH,
			 .max_recv_wr = 2 * MAX_DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_port_attr port;

	e->pd = ibv_alloc_pd(e->ctx);
	e->scq = ibv_create_cq(e->ctx, 4 * MAX_DEPTH, NULL, NULL, 0);
	e->rcq = ibv_create_cq(e->ctx, 4 * MAX_DEPTH, NULL, NULL, 0);
	if (!e->pd || !e->scq || !e->rcq || ibv_query_port(e->ctx, 1, &port))
		return fail("resources");
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	e->qp = ibv_create_qp(e->pd, &attr);
	if (!e->qp)
		return fail("queue pair");
	e->me.qpn = e->qp->qp_num;
	e->me.psn = 0x1000;
	e->me.mtu = port.active_mtu;
	return 0;
}

static int qp_connect(struct end *e)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
	};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = e->me.mtu < e->peer.mtu ? e->me.mtu : e->peer.mtu,
		.dest_qp_num = e->peer.qpn, .rq_psn = e->peer.psn,
		.max_dest_rd_atomic = 16, .min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = e->peer.gid, .hop_limit = 64,
				 .sgid_index = (uint8_t)e->o.gid_index },
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .sq_psn = e->me.psn, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 16,
	};

	errno = ibv_modify_qp(e->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			      IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (!errno)
		errno = ibv_modify_qp(e->qp, &rtr, IBV_QP_STATE | IBV_QP_AV |
				      IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				      IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
				      IBV_QP_MAX_DEST_RD_ATOMIC);
	if (!errno)
		errno = ibv_modify_qp(e->qp, &rts, IBV_QP_STATE |
				      IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				      IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_MAX_QP_RD_ATOMIC);
	return errno ? fail("connecting the queue pair") : 0;
}

/* ---- TCP ---- */

static int all(int sock, void *data, size_t bytes, bool out)
{
	uint8_t *p = data;

	while (bytes) {
		ssize_t n = out ? write(sock, p, bytes) : read(sock, p, bytes);

		if (n <= 0)
			return ECONNRESET;
		p += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int exchange(struct end *e)
{
	if (all(e->sock, &e->me, sizeof(e->me), true) ||
	    all(e->sock, &e->peer, sizeof(e->peer), false))
		return fail("the other end went away");
	return 0;
}

/* Both are here. */
static int barrier(struct end *e)
{
	char c = 0;

	return all(e->sock, &c, 1, true) || all(e->sock, &c, 1, false) ?
	       ECONNRESET : 0;
}

static int tcp_listen(const char *port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 1))
		return -1;
	return fd;
}

static int tcp_connect(const char *address, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *info;
	int fd;

	if (getaddrinfo(address, port, &hints, &info))
		return -1;
	fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, info->ai_addr, info->ai_addrlen)) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(info);
	return fd;
}

/* ---- target ---- */

static int target_memory(struct end *e)
{
	bool anonymous = !strcmp(e->o.memory, "anonymous");
	const char *domain = e->o.domain;
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ;
	int fd = -1;

	if (!anonymous) {
		fd = open(e->o.memory, O_RDWR);
		if (fd < 0)
			return fail(e->o.memory);
	}
	e->buf = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE,
		      anonymous ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd,
		      0);
	if (e->buf == MAP_FAILED)
		return fail("mmap");
	if (!strcmp(domain, "nic"))
		access |= CAIRNDV_ACCESS_PERSISTENT;
	else if (!strcmp(domain, "host"))
		access |= CAIRNDV_ACCESS_PERSISTENT_HOST;
	else if (!strcmp(domain, "emulated"))
		access |= CAIRNDV_ACCESS_PERSISTENT |
			  CAIRNDV_ACCESS_PERSISTENT_EMULATED;
	e->mr = ibv_reg_mr(e->pd, e->buf, MAPPED, access);
	if (!e->mr)
		return fail("registering the memory");
	e->me.addr = (uintptr_t)e->buf;
	e->me.length = MAPPED;
	e->me.rkey = e->mr->rkey;
	return 0;
}

static int post_receive(struct end *e)
{
	struct ibv_recv_wr wr = {}, *bad;

	return ibv_post_recv(e->qp, &wr, &bad);
}

/* What a program does without the NIC's help. */
static void flush_lines(const uint8_t *p, uint64_t length)
{
	const uint8_t *end = p + length;

	for (p -= (uintptr_t)p % LINE; p < end; p += LINE)
		_mm_clflush(p);
	_mm_sfence();
}

static int answer(struct end *e, uint64_t n)
{
	struct ibv_send_wr wr = {
		.wr_id = n, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	uint64_t slots = MAPPED / e->peer.size;

	flush_lines(e->buf + n % slots * e->peer.size, e->peer.size);
	return ibv_post_send(e->qp, &wr, &bad);
}

static int poll_info(struct ibv_cq *cq, struct ibv_wc *wc,
		     struct cairndv_persist_info *info)
{
	info->kind = CAIRNDV_PERSIST_NONE;
	if (!cairndv_is_supported(cq->context->device))
		return ibv_poll_cq(cq, 1, wc);
	return cairndv_poll_cq(cq, 1, wc, info);
}

/* Nothing completes here: a program that polled would only be in the way. */
static bool one_sided(const struct end *e)
{
	return strcmp(e->o.domain, "host") && e->peer.mode != MODE_SEND;
}

/* Serves flushes and messages until the initiator says over TCP that it ends. */
static int target_serve(struct end *e)
{
	struct cairndv_persist_info info;
	uint64_t served = 0;
	struct ibv_wc wc;
	int err = 0, n;
	char c;

	if (one_sided(e))
		return recv(e->sock, &c, 1, MSG_PEEK) < 0 ? fail("TCP") : 0;
	while (!err) {
		n = poll_info(e->rcq, &wc, &info);
		if (!n && recv(e->sock, &c, 1, MSG_DONTWAIT | MSG_PEEK) >= 0)
			return 0;
		while (ibv_poll_cq(e->scq, 1, &(struct ibv_wc){}) > 0)
			;
		if (!n)
			continue;
		if (n < 0 || wc.status)
			return n < 0 ? EIO : 0;	/* the initiator is gone */
		err = post_receive(e);
		if (info.kind == CAIRNDV_PERSIST_FLUSH) {
			flush_lines((void *)(uintptr_t)info.va, info.length);
			err = cairndv_persist_done(e->ctx, info.token, 0);
		} else if (e->peer.mode == MODE_SEND && !err) {
			err = answer(e, served++);
		}
	}
	errno = err;
	return fail("serving");
}

static int target(struct end *e)
{
	int fd = tcp_listen(e->o.port), err = 0;

	if (fd < 0)
		return fail("listening");
	err = target_memory(e);
	if (err)
		return err;
	printf("listening\n");
	e->sock = accept(fd, NULL, NULL);
	close(fd);
	if (e->sock < 0)
		return fail("accept");
	err = exchange(e);
	if (!err && (!e->peer.size || e->peer.size > MAPPED))
		err = EPROTO;
	if (!err)
		err = qp_connect(e);
	for (int i = 0; i < 2 * MAX_DEPTH && !err; i++)
		err = post_receive(e);
	if (!err)
		err = barrier(e);
	if (!err)
		err = target_serve(e);
	return err ? err : barrier(e);
}

/* ---- initiator ---- */

static int post_message(struct end *e, uint64_t n)
{
	uint64_t slot = n % (e->peer.length / e->o.size);
	struct ibv_sge data = {
		.addr = (uintptr_t)e->buf, .length = e->o.size,
		.lkey = e->mr->lkey,
	};
	struct ibv_sge word = {
		.addr = (uintptr_t)e->buf + e->o.size, .length = 8,
		.lkey = e->mr->lkey,
	};
	struct ibv_send_wr second = { .wr_id = n,
				      .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr wr = {
		.wr_id = n, .sg_list = &data, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = e->peer.addr + slot * e->o.size,
			     .rkey = e->peer.rkey },
	}, *bad;

	switch (e->o.mode) {
	case MODE_EARLY:
	case MODE_PERSIST:
		wr.opcode = CAIRNDV_WR_WRITE_PERSIST;
		wr.send_flags = IBV_SEND_SIGNALED;
		if (e->o.mode == MODE_EARLY)
			wr.send_flags |= CAIRNDV_SEND_EARLY;
		break;
	case MODE_WRITE:
		wr.send_flags = IBV_SEND_SIGNALED;
		break;
	case MODE_READ:
		second.opcode = IBV_WR_RDMA_READ;
		second.sg_list = &word;
		second.num_sge = 1;
		second.wr.rdma = wr.wr.rdma;
		second.wr.rdma.remote_addr += e->o.size - 8;
		wr.next = &second;
		break;
	case MODE_SEND:
		second.opcode = IBV_WR_SEND;
		wr.next = &second;
		break;
	}
	return ibv_post_send(e->qp, &wr, &bad);
}

/* Takes one completion; how many messages became durable by it, or -1. */
static int take(struct end *e, uint64_t *sent)
{
	bool by_receive = e->o.mode == MODE_EARLY || e->o.mode == MODE_SEND;
	struct cairndv_persist_info info;
	struct ibv_wc wc;
	int n;

	n = ibv_poll_cq(e->scq, 1, &wc);
	if (n > 0 && !wc.status) {
		++*sent;
		return !by_receive;
	}
	if (!n && by_receive)
		n = poll_info(e->rcq, &wc, &info);
	else if (n > 0)
		n = -1;
	if (n <= 0)
		return n;
	if (wc.status || post_receive(e))
		return -1;
	return 1;
}

static int measure(struct end *e)
{
	uint64_t posted = 0, done = 0, sent = 0;
	int n;

	while (done < e->o.messages) {
		/* the send queue's room comes back with its completions */
		while (posted < e->o.messages && posted - done < e->o.depth &&
		       posted - sent < e->o.depth) {
			e->started[posted] = now_ns();
			if (post_message(e, posted))
				return fail("posting");
			posted++;
		}
		n = take(e, &sent);
		if (n < 0)
			return fail("a completion with an error");
		if (n)
			e->took[done] = now_ns() - e->started[done];
		done += (uint64_t)n;
	}
	return 0;
}

static uint64_t read_number(const char *path)
{
	unsigned long long value = 0;
	FILE *f = fopen(path, "r");

	if (f && fscanf(f, "%llu", &value) != 1)
		value = 0;
	if (f)
		fclose(f);
	return value;
}

/*
 * Packets that the device sent, by whatever name it counts them. Netlink has the
 * counters in every network namespace, sysfs only in the initial one.
 */
static uint64_t packets(const struct end *e)
{
	static const char * const names[] = {
		"\"tx_packets\":", "\"sent_pkts\":",
	};
	char text[16384], command[128];
	uint64_t sum = 0;
	const char *at;
	size_t len = 0;
	FILE *f;

	snprintf(command, sizeof(command), "rdma -j statistic show link %s/1",
		 e->o.device);
	f = popen(command, "r");
	if (f) {
		len = fread(text, 1, sizeof(text) - 1, f);
		pclose(f);
	}
	text[len] = 0;
	for (int i = 0; i < 2; i++) {
		at = strstr(text, names[i]);
		if (at)
			sum += strtoull(at + strlen(names[i]), NULL, 10);
	}
	return sum;
}

/* Bytes on the wire, of the GID's netdev. */
static uint64_t wire_bytes(const struct end *e)
{
	char path[256], netdev[32] = "";
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%d",
		 e->o.device, e->o.gid_index);
	f = fopen(path, "r");
	if (f && fscanf(f, "%31s", netdev) != 1)
		netdev[0] = 0;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/tx_bytes",
		 netdev);
	return read_number(path);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void report(struct end *e, uint64_t ns, uint64_t pkts, uint64_t bytes)
{
	double n = (double)e->o.messages, sec = (double)ns / 1e9;
	double p50, p99;

	qsort(e->took, e->o.messages, sizeof(*e->took), by_value);
	p50 = (double)e->took[e->o.messages / 2] / 1e3;
	p99 = (double)e->took[e->o.messages * 99 / 100] / 1e3;
	if (e->o.json) {
		printf("{\"mode\": \"%s\", \"size\": %u, \"depth\": %u, \"messages\": %"
		       PRIu64 ", \"seconds\": %.6f, \"messages_per_s\": %.1f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"request_packets\": %.3f, \"request_bytes\": %.1f}\n",
		       mode_names[e->o.mode], e->o.size, e->o.depth,
		       e->o.messages, sec, n / sec, p50, p99, (double)pkts / n,
		       (double)bytes / n);
		return;
	}
	printf("%-11s %8s %6s %12s %10s %10s %10s %9s %10s\n", "mode", "bytes",
	       "depth", "messages/s", "MB/s", "p50 us", "p99 us", "pkts/msg",
	       "bytes/msg");
	printf("%-11s %8u %6u %12.1f %10.2f %10.1f %10.1f %9.2f %10.1f\n",
	       mode_names[e->o.mode], e->o.size, e->o.depth, n / sec,
	       n / sec * e->o.size / 1e6, p50, p99, (double)pkts / n,
	       (double)bytes / n);
}

static int initiator_memory(struct end *e)
{
	size_t bytes = (size_t)e->o.size + 8;

	e->buf = calloc(1, bytes);
	e->started = calloc(e->o.messages, sizeof(*e->started));
	e->took = calloc(e->o.messages, sizeof(*e->took));
	if (!e->buf || !e->started || !e->took)
		return fail("memory");
	memset(e->buf, 0x5a, e->o.size);
	e->mr = ibv_reg_mr(e->pd, e->buf, bytes, IBV_ACCESS_LOCAL_WRITE);
	return e->mr ? 0 : fail("ibv_reg_mr");
}

static int initiator(struct end *e)
{
	uint64_t ns, pkts, bytes;
	int err = initiator_memory(e);

	e->me.mode = (uint32_t)e->o.mode;
	e->me.size = e->o.size;
	e->me.depth = e->o.depth;
	e->me.messages = e->o.messages;
	e->sock = tcp_connect(e->o.address, e->o.port);
	if (e->sock < 0)
		return fail(e->o.address);
	if (!err)
		err = exchange(e);
	if (!err)
		err = qp_connect(e);
	for (int i = 0; i < 2 * MAX_DEPTH && !err; i++)
		err = post_receive(e);
	if (!err)
		err = barrier(e);
	if (err)
		return err;
	pkts = packets(e);
	bytes = wire_bytes(e);
	ns = now_ns();
	err = measure(e);
	ns = now_ns() - ns;
	pkts = packets(e) - pkts;
	bytes = wire_bytes(e) - bytes;
	if (!err)
		report(e, ns, pkts, bytes);
	return err ? err : barrier(e);
}

/* ---- command line ---- */

static int usage(void)
{
	fprintf(stderr,
		"usage: cairn_persist -d DEVICE [-M MEMORY] [-k nic|host|emulated|none]\n"
		"       cairn_persist -d DEVICE [-m MODE] [-s BYTES] [-n MESSAGES]\n"
		"                     [-t DEPTH] [-j] ADDRESS\n"
		"both:  [-x GID-INDEX] [-p PORT]\n"
		"MODE: persist early write write+read write+send\n"
		"MEMORY: a devdax device or \"anonymous\"\n");
	return 2;
}

static int mode_find(const char *name)
{
	for (int i = 0; i < MODES; i++)
		if (!strcmp(name, mode_names[i]))
			return i;
	return -1;
}

static bool parse(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "d:jk:m:M:n:p:s:t:x:")) != -1) {
		switch (c) {
		case 'd':
			o->device = optarg;
			break;
		case 'j':
			o->json = true;
			break;
		case 'k':
			o->domain = optarg;
			break;
		case 'm':
			o->mode = mode_find(optarg);
			break;
		case 'M':
			o->memory = optarg;
			break;
		case 'n':
			o->messages = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			o->port = optarg;
			break;
		case 's':
			o->size = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 't':
			o->depth = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'x':
			o->gid_index = atoi(optarg);
			break;
		default:
			return false;
		}
	}
	if (optind < argc)
		o->address = argv[optind++];
	if (!o->domain)
		o->domain = strcmp(o->memory, "anonymous") ? "nic" : "emulated";
	return optind == argc && o->device && o->mode >= 0 &&
	       o->size >= 8 && o->size <= MAPPED && o->messages &&
	       o->depth && o->depth <= MAX_DEPTH;
}

int main(int argc, char **argv)
{
	struct end e = { .o = {
		.port = "18516", .memory = "anonymous", .gid_index = -1,
		.size = 4096, .messages = 5000, .depth = 32,
	} };
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!parse(&e.o, argc, argv))
		return usage();
	err = device_open(&e);
	if (!err)
		err = gid_find(&e);
	if (!err)
		err = qp_create(&e);
	if (!err)
		err = e.o.address ? initiator(&e) : target(&e);
	return err != 0;
}
