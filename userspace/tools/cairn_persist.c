// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures durable writes: their speed, and their cost on the wire.
 *
 *   cairn_persist -d DEVICE [-M MEMORY] [-k DOMAIN]		the target
 *   cairn_persist -d DEVICE -m MODE [-s BYTES] [-n MESSAGES] [-t DEPTH] ADDRESS
 *
 * Modes:
 *   persist, early	WRITE_PERSIST in its two completion modes
 *   write		RDMA WRITE
 *   write+read		RDMA WRITE and a READ behind it, as programs ask NICs
 *			today
 *   write+send		RDMA WRITE and SEND; the target's program flushes and
 *			answers
 *
 * A message counts when it is durable, as far as the mode can tell. The two ends
 * meet over TCP.
 */
#include <arpa/inet.h>
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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/cairndv.h>

#include "known_persistent.h"
#include "persist_meet.h"
#include "wants_help.h"
#include "write_back.h"

#define MAX_DEPTH	512
#define MAPPED		(64ul << 20)

static const char * const mode_names[PERSIST_MODES] = {
	"persist", "early", "write", "write+read", "write+send",
};

static const char * const domain_names[] = { "nic", "host", "emulated", "none" };

#define DOMAINS		(sizeof(domain_names) / sizeof(domain_names[0]))

static struct options {
	const char *device, *memory, *domain, *address;
	int mode, gid_index;
	uint16_t port;
	uint32_t size;
	uint64_t messages;
	uint32_t depth;
	bool json;
} opts = {
	.port = 18516, .memory = "anonymous", .gid_index = -1,
	.size = 4096, .messages = 5000, .depth = 32,
};

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;	/* target: the region; initiator: the source */
	uint8_t *buf;
	struct persist_card me, peer;
	int sock;
	uint64_t *started, *took;	/* ns, of each message */
};

static int persist_fail(const char *what)
{
	int err = errno ? errno : EIO;

	fprintf(stderr, "cairn_persist: %s: %s\n", what, strerror(err));
	return err;
}

static uint64_t persist_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- device ---- */

static int persist_open_device(struct end *self)
{
	self->ctx = persist_meet_device(opts.device);
	if (!self->ctx)
		return persist_fail(opts.device);
	errno = persist_meet_gid(self->ctx, &opts.gid_index, &self->me.gid);
	return errno ? persist_fail("no GID") : 0;
}

static int persist_create_qp(struct end *self)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * MAX_DEPTH,
			 .max_recv_wr = 2 * MAX_DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_port_attr port;

	self->pd = ibv_alloc_pd(self->ctx);
	self->scq = ibv_create_cq(self->ctx, 4 * MAX_DEPTH, NULL, NULL, 0);
	self->rcq = ibv_create_cq(self->ctx, 4 * MAX_DEPTH, NULL, NULL, 0);
	if (!self->pd || !self->scq || !self->rcq ||
	    ibv_query_port(self->ctx, 1, &port))
		return persist_fail("resources");
	attr.send_cq = self->scq;
	attr.recv_cq = self->rcq;
	self->qp = ibv_create_qp(self->pd, &attr);
	if (!self->qp)
		return persist_fail("queue pair");
	self->me.qpn = self->qp->qp_num;
	self->me.psn = 0x1000;
	self->me.mtu = port.active_mtu;
	return 0;
}

static int persist_connect_qp(struct end *self)
{
	errno = persist_meet_qp(self->qp, &self->me, &self->peer, opts.gid_index,
				IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	return errno ? persist_fail("connecting the queue pair") : 0;
}

static void persist_close(struct end *self)
{
	if (self->qp)
		ibv_destroy_qp(self->qp);
	if (self->mr)
		ibv_dereg_mr(self->mr);
	if (self->scq)
		ibv_destroy_cq(self->scq);
	if (self->rcq)
		ibv_destroy_cq(self->rcq);
	if (self->pd)
		ibv_dealloc_pd(self->pd);
	if (self->ctx)
		ibv_close_device(self->ctx);
}

/* ---- TCP ---- */

static int persist_exchange(struct end *self)
{
	errno = persist_meet_exchange(self->sock, &self->me, &self->peer);
	return errno ? persist_fail("the other end went away") : 0;
}

/* Prints that the card of the other end cannot be used. */
static int persist_bad_card(void)
{
	errno = EPROTO;
	return persist_fail("the other end");
}

static int persist_listen(uint16_t port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 1))
		return -1;
	return fd;
}

/* ---- target ---- */

static int persist_target_memory(struct end *self)
{
	bool anonymous = !strcmp(opts.memory, "anonymous");
	const char *domain = opts.domain;
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ;
	int fd = -1;

	if (!anonymous) {
		fd = open(opts.memory, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return persist_fail(opts.memory);
	}
	self->buf = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE,
			 anonymous ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
			 fd, 0);
	if (self->buf == MAP_FAILED)
		return persist_fail("mmap");
	if (!strcmp(domain, "nic"))
		access |= CAIRNDV_ACCESS_PERSISTENT;
	else if (!strcmp(domain, "host"))
		access |= CAIRNDV_ACCESS_PERSISTENT_HOST;
	else if (!strcmp(domain, "emulated"))
		access |= CAIRNDV_ACCESS_PERSISTENT |
			  CAIRNDV_ACCESS_PERSISTENT_EMULATED;
	/* this program answers for it */
	if (access & (int)CAIRNDV_ACCESS_PERSISTENT_HOST) {
		errno = known_persistent(self->pd, self->buf, MAPPED);
		if (errno)
			return persist_fail(NOT_KNOWN_PERSISTENT);
	}
	self->mr = ibv_reg_mr(self->pd, self->buf, MAPPED, access);
	if (!self->mr)
		return persist_fail("registering the memory");
	self->me.addr = (uintptr_t)self->buf;
	self->me.length = MAPPED;
	self->me.rkey = self->mr->rkey;
	return 0;
}

static int persist_post_receive(struct end *self)
{
	struct ibv_recv_wr wr = {}, *bad;

	return ibv_post_recv(self->qp, &wr, &bad);
}

static int persist_answer(struct end *self, uint64_t n)
{
	struct ibv_send_wr wr = {
		.wr_id = n, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	uint64_t slots = MAPPED / self->peer.size;

	/* the work of a program without NIC flush */
	write_back(self->buf + n % slots * self->peer.size, self->peer.size);
	return ibv_post_send(self->qp, &wr, &bad);
}

static int persist_poll(struct ibv_cq *cq, struct ibv_wc *wc,
			struct cairndv_persist_info *info)
{
	info->kind = CAIRNDV_PERSIST_NONE;
	if (!cairndv_is_supported(cq->context->device))
		return ibv_poll_cq(cq, 1, wc);
	return cairndv_poll_cq(cq, 1, wc, info);
}

/* The target has no completions: polling would only take CPU time. */
static bool persist_one_sided(const struct end *self)
{
	return strcmp(opts.domain, "host") && self->peer.mode != PERSIST_MODE_SEND;
}

/* Serves flushes and messages until the initiator says over TCP that it ends. */
static int persist_serve(struct end *self)
{
	struct cairndv_persist_info info;
	uint64_t served = 0;
	struct ibv_wc wc;
	int err = 0, n;
	char byte;

	if (persist_one_sided(self))
		return recv(self->sock, &byte, 1, MSG_PEEK) < 0 ?
		       persist_fail("TCP") : 0;
	while (!err) {
		n = persist_poll(self->rcq, &wc, &info);
		if (!n &&
		    recv(self->sock, &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0)
			return 0;
		while (ibv_poll_cq(self->scq, 1, &(struct ibv_wc){}) > 0)
			;
		if (!n)
			continue;
		if (n < 0 || wc.status)
			return n < 0 ? EIO : 0;	/* the initiator ended */
		err = persist_post_receive(self);
		if (info.kind == CAIRNDV_PERSIST_FLUSH) {
			write_back((void *)(uintptr_t)info.va, info.length);
			err = cairndv_persist_done(self->ctx, info.token, 0);
		} else if (self->peer.mode == PERSIST_MODE_SEND && !err) {
			err = persist_answer(self, served++);
		}
	}
	errno = err;
	return persist_fail("serving");
}

static int persist_target(struct end *self)
{
	int fd = persist_listen(opts.port), err = 0;

	if (fd < 0)
		return persist_fail("listening");
	err = persist_target_memory(self);
	if (err)
		return err;
	printf("listening\n");
	self->sock = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	close(fd);
	if (self->sock < 0)
		return persist_fail("accept");
	err = persist_exchange(self);
	if (!err && (!self->peer.size || self->peer.size > MAPPED))
		err = persist_bad_card();
	if (!err)
		err = persist_connect_qp(self);
	for (int i = 0; i < 2 * MAX_DEPTH && !err; i++)
		err = persist_post_receive(self);
	if (!err)
		err = persist_meet_barrier(self->sock);
	if (!err)
		err = persist_serve(self);
	return err ? err : persist_meet_barrier(self->sock);
}

/* ---- initiator ---- */

static int persist_post_message(struct end *self, uint64_t n)
{
	uint64_t slot = n % (self->peer.length / opts.size);
	struct ibv_sge data = {
		.addr = (uintptr_t)self->buf, .length = opts.size,
		.lkey = self->mr->lkey,
	};
	struct ibv_sge word = {
		.addr = (uintptr_t)self->buf + opts.size, .length = 8,
		.lkey = self->mr->lkey,
	};
	struct ibv_send_wr second = { .wr_id = n,
				      .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr wr = {
		.wr_id = n, .sg_list = &data, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = self->peer.addr + slot * opts.size,
			     .rkey = self->peer.rkey },
	}, *bad;

	switch (opts.mode) {
	case PERSIST_MODE_EARLY:
	case PERSIST_MODE_PERSIST:
		wr.opcode = CAIRNDV_WR_WRITE_PERSIST;
		wr.send_flags = IBV_SEND_SIGNALED;
		if (opts.mode == PERSIST_MODE_EARLY)
			wr.send_flags |= CAIRNDV_SEND_EARLY;
		break;
	case PERSIST_MODE_WRITE:
		wr.send_flags = IBV_SEND_SIGNALED;
		break;
	case PERSIST_MODE_READ:
		second.opcode = IBV_WR_RDMA_READ;
		second.sg_list = &word;
		second.num_sge = 1;
		second.wr.rdma = wr.wr.rdma;
		second.wr.rdma.remote_addr += opts.size - 8;
		wr.next = &second;
		break;
	case PERSIST_MODE_SEND:
		second.opcode = IBV_WR_SEND;
		wr.next = &second;
		break;
	}
	return ibv_post_send(self->qp, &wr, &bad);
}

/* Polls one completion. Return: how many messages it made durable, or -1. */
static int persist_take(struct end *self, uint64_t *sent)
{
	bool by_receive = opts.mode == PERSIST_MODE_EARLY || opts.mode == PERSIST_MODE_SEND;
	struct cairndv_persist_info info;
	struct ibv_wc wc;
	int n;

	n = ibv_poll_cq(self->scq, 1, &wc);
	if (n > 0 && !wc.status) {
		++*sent;
		return !by_receive;
	}
	if (!n && by_receive)
		n = persist_poll(self->rcq, &wc, &info);
	else if (n > 0)
		n = -1;
	if (n <= 0)
		return n;
	if (wc.status || persist_post_receive(self))
		return -1;
	return 1;
}

static int persist_measure(struct end *self)
{
	uint64_t posted = 0, done = 0, sent = 0;
	int n;

	while (done < opts.messages) {
		/* the send queue's room comes back with its completions */
		while (posted < opts.messages && posted - done < opts.depth &&
		       posted - sent < opts.depth) {
			self->started[posted] = persist_now_ns();
			if (persist_post_message(self, posted))
				return persist_fail("posting");
			posted++;
		}
		n = persist_take(self, &sent);
		if (n < 0)
			return persist_fail("a completion with an error");
		if (n)
			self->took[done] = persist_now_ns() -
					   self->started[done];
		done += (uint64_t)n;
	}
	return 0;
}

static uint64_t persist_read_number(const char *path)
{
	unsigned long long value = 0;
	FILE *file = fopen(path, "r");

	if (file && fscanf(file, "%llu", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

/*
 * Packets that the device sent, by cairn's counter or rxe's.
 * Netlink has the counters in every network namespace, sysfs only in the initial
 * one.
 */
static uint64_t persist_packets(void)
{
	static const char * const names[] = {
		"\"tx_packets\":", "\"sent_pkts\":",
	};
	char text[16384];
	uint64_t sum = 0;
	const char *at;
	size_t len = 0;
	FILE *pipe = NULL;

	/* the shell runs nothing of a name, whatever characters it has */
	if (!setenv("CAIRN_PERSIST_DEVICE", opts.device, 1))
		pipe = popen("rdma -j statistic show link \"$CAIRN_PERSIST_DEVICE/1\"", "r");
	if (pipe) {
		len = fread(text, 1, sizeof(text) - 1, pipe);
		pclose(pipe);
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
static uint64_t persist_wire_bytes(void)
{
	char path[256], netdev[32] = "";
	FILE *file;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%d",
		 opts.device, opts.gid_index);
	file = fopen(path, "r");
	if (file && fscanf(file, "%31s", netdev) != 1)
		netdev[0] = 0;
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/tx_bytes",
		 netdev);
	return persist_read_number(path);
}

static int persist_by_value(const void *left, const void *right)
{
	uint64_t first = *(const uint64_t *)left;
	uint64_t second = *(const uint64_t *)right;

	return first < second ? -1 : first > second;
}

static void persist_report(struct end *self, uint64_t ns, uint64_t pkts,
			   uint64_t bytes)
{
	double n = (double)opts.messages, sec = (double)ns / 1e9;
	double p50, p99;

	qsort(self->took, opts.messages, sizeof(*self->took),
	      persist_by_value);
	p50 = (double)self->took[opts.messages / 2] / 1e3;
	p99 = (double)self->took[opts.messages * 99 / 100] / 1e3;
	if (opts.json) {
		printf("{\"mode\": \"%s\", \"size\": %u, \"depth\": %u, \"messages\": %"
		       PRIu64 ", \"seconds\": %.6f, \"messages_per_s\": %.1f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"request_packets\": %.3f, \"request_bytes\": %.1f}\n",
		       mode_names[opts.mode], opts.size, opts.depth,
		       opts.messages, sec, n / sec, p50, p99, (double)pkts / n,
		       (double)bytes / n);
		return;
	}
	printf("%-11s %8s %6s %12s %10s %10s %10s %9s %10s\n", "mode", "bytes",
	       "depth", "messages/s", "MB/s", "p50 us", "p99 us", "pkts/msg",
	       "bytes/msg");
	printf("%-11s %8u %6u %12.1f %10.2f %10.1f %10.1f %9.2f %10.1f\n",
	       mode_names[opts.mode], opts.size, opts.depth, n / sec,
	       n / sec * opts.size / 1e6, p50, p99, (double)pkts / n,
	       (double)bytes / n);
}

static int persist_source_memory(struct end *self)
{
	size_t bytes = (size_t)opts.size + 8;

	self->buf = calloc(1, bytes);
	self->started = calloc(opts.messages, sizeof(*self->started));
	self->took = calloc(opts.messages, sizeof(*self->took));
	if (!self->buf || !self->started || !self->took)
		return persist_fail("memory");
	memset(self->buf, 0x5a, opts.size);
	self->mr = ibv_reg_mr(self->pd, self->buf, bytes,
			      IBV_ACCESS_LOCAL_WRITE);
	return self->mr ? 0 : persist_fail("ibv_reg_mr");
}

static int persist_initiator(struct end *self)
{
	uint64_t ns, pkts, bytes;
	int err = persist_source_memory(self);

	self->me.mode = (uint32_t)opts.mode;
	self->me.size = opts.size;
	self->me.depth = opts.depth;
	self->me.messages = opts.messages;
	self->sock = persist_meet_connect(opts.address, opts.port);
	if (self->sock < 0)
		return persist_fail(opts.address);
	if (!err)
		err = persist_exchange(self);
	/* room for one message at least: the offset wraps around */
	if (!err && self->peer.length < opts.size)
		err = persist_bad_card();
	if (!err)
		err = persist_connect_qp(self);
	for (int i = 0; i < 2 * MAX_DEPTH && !err; i++)
		err = persist_post_receive(self);
	if (!err)
		err = persist_meet_barrier(self->sock);
	if (err)
		return err;
	pkts = persist_packets();
	bytes = persist_wire_bytes();
	ns = persist_now_ns();
	err = persist_measure(self);
	ns = persist_now_ns() - ns;
	pkts = persist_packets() - pkts;
	bytes = persist_wire_bytes() - bytes;
	if (!err)
		persist_report(self, ns, pkts, bytes);
	return err ? err : persist_meet_barrier(self->sock);
}

/* ---- command line ---- */

static int persist_usage(FILE *to)
{
	fprintf(to,
		"usage: cairn_persist -d DEVICE [-M MEMORY] [-k nic|host|emulated|none]\n"
		"       cairn_persist -d DEVICE [-m MODE] [-s BYTES] [-n MESSAGES]\n"
		"                     [-t DEPTH] [-j] ADDRESS\n"
		"both:  [-x GID-INDEX] [-p PORT]\n"
		"MODE: persist early write write+read write+send\n"
		"MEMORY: a devdax device or \"anonymous\"\n");
	return to == stdout ? 0 : 2;
}

/* The number of @name among @num names, or -1. */
static int persist_find(const char *name, const char * const *names, unsigned int num)
{
	for (unsigned int i = 0; i < num; i++)
		if (!strcmp(name, names[i]))
			return (int)i;
	return -1;
}

/* Prints what is wrong with the argument of @letter. */
static bool persist_refuse(int letter, const char *want)
{
	fprintf(stderr, "cairn_persist: -%c %s: %s\n", letter, optarg, want);
	return false;
}

/* Options with a number, and what it may be. */
static const struct persist_range {
	char letter;
	uint64_t least, most;
} persist_ranges[] = {
	{ 'n', 1, UINT32_MAX },
	{ 'p', 1, UINT16_MAX },
	{ 's', 8, MAPPED },
	{ 't', 1, MAX_DEPTH },
	{ 'x', 0, UINT8_MAX },
	{ 0 }
};

static bool persist_number(int letter, uint64_t *value)
{
	const struct persist_range *range = persist_ranges;
	char want[64], *end;

	while (range->letter && range->letter != letter)
		range++;
	if (!range->letter)
		return false;
	errno = 0;
	*value = strtoull(optarg, &end, 0);
	if (*optarg >= '0' && *optarg <= '9' && !*end && !errno && *value >= range->least &&
	    *value <= range->most)
		return true;
	snprintf(want, sizeof(want), "want %" PRIu64 " to %" PRIu64, range->least, range->most);
	return persist_refuse(letter, want);
}

static bool persist_number_option(int letter)
{
	uint64_t value;

	if (!persist_number(letter, &value))
		return false;
	switch (letter) {
	case 'n':
		opts.messages = value;
		break;
	case 'p':
		opts.port = (uint16_t)value;
		break;
	case 's':
		opts.size = (uint32_t)value;
		break;
	case 't':
		opts.depth = (uint32_t)value;
		break;
	case 'x':
		opts.gid_index = (int)value;
		break;
	}
	return true;
}

/* Written-back cache lines do not make other files durable. */
static bool persist_is_memory(const char *name)
{
	struct stat st;

	return !strcmp(name, "anonymous") || stat(name, &st) || S_ISCHR(st.st_mode);
}

static bool persist_option(int letter)
{
	switch (letter) {
	case 'd':
		opts.device = optarg;
		return true;
	case 'j':
		opts.json = true;
		return true;
	case 'k':
		opts.domain = optarg;
		return persist_find(optarg, domain_names, DOMAINS) >= 0 ||
		       persist_refuse(letter, "want nic, host, emulated or none");
	case 'm':
		opts.mode = persist_find(optarg, mode_names, PERSIST_MODES);
		return opts.mode >= 0 ||
		       persist_refuse(letter, "want persist, early, write, write+read or write+send");
	case 'M':
		opts.memory = optarg;
		return persist_is_memory(optarg) ||
		       persist_refuse(letter, "want a devdax device or anonymous");
	default:
		return persist_number_option(letter);
	}
}

static bool persist_parse(int argc, char **argv)
{
	int letter;

	while ((letter = getopt(argc, argv, "d:jk:m:M:n:p:s:t:x:")) != -1)
		if (!persist_option(letter))
			return false;
	if (optind < argc)
		opts.address = argv[optind++];
	if (!opts.domain)
		opts.domain = strcmp(opts.memory, "anonymous") ? "nic" :
							 "emulated";
	return optind == argc && opts.device;
}

int main(int argc, char **argv)
{
	struct end self = {};
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (wants_help(argc, argv))
		return persist_usage(stdout);
	if (!persist_parse(argc, argv))
		return persist_usage(stderr);
	err = persist_open_device(&self);
	if (!err)
		err = persist_create_qp(&self);
	if (!err)
		err = opts.address ? persist_initiator(&self) :
				     persist_target(&self);
	persist_close(&self);
	if (!err && (fflush(stdout) || ferror(stdout))) {
		errno = EIO;
		err = persist_fail("output");
	}
	return err != 0;
}
