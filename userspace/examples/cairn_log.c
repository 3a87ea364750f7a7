// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A replicated log that survives crashes, over WRITE_PERSIST.
 *
 *   cairn_log serve -m MEMORY     keeps a log, one writer at a time
 *   cairn_log append -a ADDRESS   appends records at one or more targets
 *   cairn_log verify -m MEMORY    reads a log, for instance after a reboot
 *
 * A record is one WRITE_PERSIST to each target and counts when all of them have
 * completed. The targets need not do anything for that: with a devdax device as
 * MEMORY their NICs write the bytes back (NIC flush). With an ordinary file the
 * target is asked for each record and uses pwrite() and fdatasync() (host flush).
 * "anonymous" is the emulated domain: to try things, gone at the end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <infiniband/cairndv.h>
#include <rdma/rdma_cma.h>

#include "log_format.h"

#define PORT		"7471"
#define RECEIVES	64	/* host flush: posted at the target */
#define WINDOW		32	/* records that are not durable yet */
#define MAX_TARGETS	4
#define CONNECT_MS	5000

/* What the target tells a writer when it accepts. */
struct hello {
	uint64_t addr;
	uint64_t size;
	struct log_tail tail;
	uint32_t rkey;
	uint32_t domain;	/* enum cairndv_persist_domain */
};

static const char *domain_name(uint32_t domain)
{
	switch (domain) {
	case CAIRNDV_DOMAIN_PMEM:
		return "persistent memory, NIC flush";
	case CAIRNDV_DOMAIN_HOST:
		return "file, host flush";
	case CAIRNDV_DOMAIN_EMULATED:
		return "EMULATED: nothing survives";
	default:
		return "not persistent";
	}
}

static int fail(const char *what)
{
	int err = errno ? errno : EIO;

	fprintf(stderr, "cairn_log: %s: %s\n", what, strerror(err));
	return err;
}

/* ---- the memory of a log ---- */

struct memory {
	void *log;
	size_t size;
	int fd;			/* -1: anonymous */
	unsigned int access;	/* bits for ibv_reg_mr() */
};

/* A device-DAX device says how large it is in sysfs only. */
static size_t devdax_size(dev_t dev)
{
	unsigned long long size = 0;
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/size", major(dev),
		 minor(dev));
	f = fopen(path, "r");
	if (f && fscanf(f, "%llu", &size) != 1)
		size = 0;
	if (f)
		fclose(f);
	return size;
}

static int memory_file(struct memory *m, const struct stat *st)
{
	m->access = CAIRNDV_ACCESS_PERSISTENT_HOST;
	m->log = mmap(NULL, m->size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->log == MAP_FAILED)
		return fail("mmap");
	if (st->st_size && pread(m->fd, m->log, m->size, 0) < 0)
		return fail("pread");
	return 0;
}

static int memory_devdax(struct memory *m, const struct stat *st)
{
	size_t size = devdax_size(st->st_rdev);

	m->access = CAIRNDV_ACCESS_PERSISTENT;
	if (m->size > size)
		m->size = size;
	m->log = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd,
		      0);
	return m->log == MAP_FAILED ? fail("mmap of devdax") : 0;
}

static int memory_open(struct memory *m, const char *name, size_t size,
		       bool write)
{
	struct stat st;

	*m = (struct memory){ .size = size, .fd = -1 };
	if (!strcmp(name, "anonymous")) {
		m->access = CAIRNDV_ACCESS_PERSISTENT |
			    CAIRNDV_ACCESS_PERSISTENT_EMULATED;
		m->log = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return m->log == MAP_FAILED ? fail("mmap") : 0;
	}
	m->fd = open(name, write ? O_RDWR | O_CREAT : O_RDWR, 0600);
	if (m->fd < 0 || fstat(m->fd, &st))
		return fail(name);
	return S_ISCHR(st.st_mode) ? memory_devdax(m, &st) :
				     memory_file(m, &st);
}

/* Makes a range of a file-backed log durable. */
static int memory_flush(const struct memory *m, uint64_t va, uint64_t length)
{
	uint64_t offset = va - (uintptr_t)m->log;

	if (offset > m->size || length > m->size - offset)
		return ERANGE;
	if (pwrite(m->fd, (uint8_t *)m->log + offset, length,
		   (off_t)offset) != (ssize_t)length)
		return errno ? errno : EIO;
	return fdatasync(m->fd) ? errno : 0;
}

static void memory_scan(const struct memory *m, struct log_tail *tail)
{
	log_tail_init(tail);
	while (log_record_next(m->log, m->size, tail))
		;
}

/* ---- serve ---- */

struct server {
	struct memory memory;
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	bool once;
	/* of the writer that is connected */
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
};

static int post_receive(struct ibv_qp *qp)
{
	struct ibv_recv_wr wr = {}, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/* Host flush: the device asks, we write and answer. */
static int serve_flushes(struct server *s)
{
	struct cairndv_persist_info info;
	struct ibv_wc wc;
	int n, err;

	while ((n = cairndv_poll_cq(s->cq, 1, &wc, &info)) == 1) {
		if (info.kind != CAIRNDV_PERSIST_FLUSH)
			continue;
		err = memory_flush(&s->memory, info.va, info.length);
		post_receive(s->id->qp);
		if (cairndv_persist_done(s->id->verbs, info.token, err))
			fprintf(stderr, "cairn_log: a flush came too late\n");
	}
	return n;
}

static int serve_completions(struct server *s)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(s->channel, &cq, &context))
		return fail("ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0))
		return fail("ibv_req_notify_cq");
	return serve_flushes(s) < 0 ? fail("polling") : 0;
}

static void server_close(struct server *s)
{
	if (s->id->qp)
		rdma_destroy_qp(s->id);
	if (s->mr)
		ibv_dereg_mr(s->mr);
	if (s->cq)
		ibv_destroy_cq(s->cq);
	if (s->channel)
		ibv_destroy_comp_channel(s->channel);
	if (s->pd)
		ibv_dealloc_pd(s->pd);
	rdma_destroy_id(s->id);
	s->id = NULL;
	s->mr = NULL;
	s->cq = NULL;
	s->channel = NULL;
	s->pd = NULL;
}

static int server_objects(struct server *s)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = RECEIVES,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_context *verbs = s->id->verbs;

	if (!cairndv_is_supported(verbs->device)) {
		errno = EOPNOTSUPP;
		return fail(ibv_get_device_name(verbs->device));
	}
	s->pd = ibv_alloc_pd(verbs);
	s->channel = ibv_create_comp_channel(verbs);
	if (!s->pd || !s->channel)
		return fail("resources");
	s->cq = ibv_create_cq(verbs, 2 * RECEIVES, NULL, s->channel, 0);
	if (!s->cq || ibv_req_notify_cq(s->cq, 0))
		return fail("completion queue");
	s->mr = ibv_reg_mr(s->pd, s->memory.log, s->memory.size,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   s->memory.access);
	if (!s->mr)
		return fail("registering the log as persistent");
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	if (rdma_create_qp(s->id, s->pd, &attr))
		return fail("queue pair");
	for (int i = 0; i < RECEIVES; i++)
		if (post_receive(s->id->qp))
			return fail("receives");
	return 0;
}

static int server_accept(struct server *s, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct cairndv_mr_attr attr;
	struct hello hello = {};
	int err;

	if (s->id) {	/* one writer at a time */
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return 0;
	}
	s->id = id;
	err = server_objects(s);
	if (err)
		goto err_close;
	err = cairndv_query_mr(s->mr, &attr, sizeof(attr));
	if (err)
		goto err_close;
	memory_scan(&s->memory, &hello.tail);
	hello.addr = (uintptr_t)s->memory.log;
	hello.size = s->memory.size;
	hello.rkey = s->mr->rkey;
	hello.domain = attr.persist_domain;
	param.private_data = &hello;
	param.private_data_len = sizeof(hello);
	if (rdma_accept(id, &param)) {
		err = fail("rdma_accept");
		goto err_close;
	}
	printf("writer connected, next record %" PRIu64 " (%s)\n",
	       hello.tail.seq, domain_name(attr.persist_domain));
	return 0;

err_close:
	server_close(s);
	return err;
}

static int server_event(struct server *s, bool *done)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	int err = 0;

	if (rdma_get_cm_event(s->events, &event))
		return fail("rdma_get_cm_event");
	type = event->event;
	id = event->id;
	rdma_ack_cm_event(event);
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		err = server_accept(s, id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		err = ENODEV;
		break;
	default:
		if (id != s->id)
			break;
		rdma_disconnect(id);
		server_close(s);
		*done = s->once;
		break;
	}
	return err;
}

static int serve(struct server *s, const char *port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)atoi(port)),
	};
	bool done = false;
	int err = 0;

	s->events = rdma_create_event_channel();
	if (!s->events ||
	    rdma_create_id(s->events, &s->listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(s->listener, (struct sockaddr *)&addr) ||
	    rdma_listen(s->listener, 4))
		return fail("listening");
	printf("listening\n");
	while (!err && !done) {
		struct pollfd fds[] = {
			{ .fd = s->events->fd, .events = POLLIN },
			{ .fd = s->channel ? s->channel->fd : -1,
			  .events = POLLIN },
		};

		if (poll(fds, 2, -1) < 0)
			return fail("poll");
		if (fds[1].revents)
			err = serve_completions(s);
		if (!err && fds[0].revents)
			err = server_event(s, &done);
	}
	return err;
}

/* ---- append ---- */

struct target {
	const char *address;
	struct rdma_event_channel *events;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;	/* the records in flight */
	struct hello hello;
	uint64_t durable;	/* records of this run */
	unsigned int turns;
};

struct writer {
	struct target targets[MAX_TARGETS];
	int num_targets;
	struct log_tail tail;
	uint64_t first;		/* seq of this run's first record */
	uint64_t count;
	uint32_t length;	/* bytes of data in a record */
	const char *ack_file;	/* gets the last seq that is durable */
	uint8_t *buffers;	/* WINDOW of them */
	size_t stride;
};

static int wait_event(struct target *t, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *event;
	int err = 0;

	if (rdma_get_cm_event(t->events, &event))
		return fail("rdma_get_cm_event");
	if (event->event != want) {
		fprintf(stderr, "cairn_log: %s: %s\n", t->address,
			rdma_event_str(event->event));
		err = ECONNREFUSED;
	} else if (want == RDMA_CM_EVENT_ESTABLISHED) {
		if (event->param.conn.private_data_len < sizeof(t->hello))
			err = EPROTO;
		else
			memcpy(&t->hello, event->param.conn.private_data,
			       sizeof(t->hello));
	}
	rdma_ack_cm_event(event);
	return err;
}

static int target_resolve(struct target *t, const char *port)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	int err;

	t->events = rdma_create_event_channel();
	if (!t->events || rdma_create_id(t->events, &t->id, NULL, RDMA_PS_TCP))
		return fail("rdma_create_id");
	if (rdma_getaddrinfo(t->address, port, &hints, &info))
		return fail(t->address);
	err = rdma_resolve_addr(t->id, NULL, info->ai_dst_addr, CONNECT_MS) ?
	      fail("rdma_resolve_addr") : 0;
	rdma_freeaddrinfo(info);
	if (err)
		return err;
	err = wait_event(t, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (err)
		return err;
	if (rdma_resolve_route(t->id, CONNECT_MS))
		return fail("rdma_resolve_route");
	return wait_event(t, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static int target_connect(struct target *t, const struct writer *w)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 2 * WINDOW, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_conn_param param = {
		.retry_count = 7, .rnr_retry_count = 7,
	};

	if (!cairndv_is_supported(t->id->verbs->device)) {
		errno = EOPNOTSUPP;
		return fail(ibv_get_device_name(t->id->verbs->device));
	}
	t->pd = ibv_alloc_pd(t->id->verbs);
	t->cq = ibv_create_cq(t->id->verbs, 2 * WINDOW, NULL, NULL, 0);
	if (!t->pd || !t->cq)
		return fail("resources");
	t->mr = ibv_reg_mr(t->pd, w->buffers, WINDOW * w->stride, 0);
	if (!t->mr)
		return fail("ibv_reg_mr");
	attr.send_cq = t->cq;
	attr.recv_cq = t->cq;
	if (rdma_create_qp(t->id, t->pd, &attr))
		return fail("queue pair");
	if (rdma_connect(t->id, &param))
		return fail("rdma_connect");
	return wait_event(t, RDMA_CM_EVENT_ESTABLISHED);
}

/* From now on nobody waits for events. */
static int target_unblock(const struct target *t)
{
	int flags = fcntl(t->events->fd, F_GETFL);

	return fcntl(t->events->fd, F_SETFL, flags | O_NONBLOCK) ?
	       fail("fcntl") : 0;
}

/*
 * What one target has and another lacks was never reported as durable: all go on
 * where the shortest log ends. The logs are equal up to there.
 */
static void writer_start(struct writer *w)
{
	w->tail = w->targets[0].hello.tail;
	for (int i = 1; i < w->num_targets; i++)
		if (w->targets[i].hello.tail.seq < w->tail.seq)
			w->tail = w->targets[i].hello.tail;
	w->first = w->tail.seq;
}

static int target_post(struct target *t, const struct log_record *record,
		       uint64_t offset)
{
	size_t size = log_record_size(record->length);
	struct ibv_sge sge = {
		.addr = (uintptr_t)record,
		.length = (uint32_t)size,
		.lkey = t->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = record->seq,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = CAIRNDV_WR_WRITE_PERSIST,
		.wr.rdma = { .remote_addr = t->hello.addr + offset,
			     .rkey = t->hello.rkey },
	}, *bad;

	if (offset + size > t->hello.size)
		return ENOSPC;
	return ibv_post_send(t->id->qp, &wr, &bad);
}

static int writer_post(struct writer *w)
{
	uint64_t offset = w->tail.offset, seq = w->tail.seq;
	struct log_record *record =
		(void *)(w->buffers + seq % WINDOW * w->stride);
	char data[LOG_MAX_RECORD];
	int err = 0;

	memset(data, 'a' + (int)(seq % 26), w->length);
	snprintf(data, w->length, "record %" PRIu64, seq);
	log_record_make(record, &w->tail, data, w->length);
	for (int i = 0; i < w->num_targets && !err; i++)
		err = target_post(&w->targets[i], record, offset);
	return err;
}

/* Completions come in the order of the records. */
static int target_poll(struct target *t, uint64_t first)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(t->cq, 1, &wc)) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "cairn_log: %s: record %" PRIu64
				": %s, nothing is known about it\n", t->address,
				(uint64_t)wc.wr_id,
				ibv_wc_status_str(wc.status));
			return EIO;
		}
		t->durable = wc.wr_id - first + 1;
	}
	return n < 0 ? EIO : 0;
}

/*
 * The target's end of the connection says that it closes, for instance when the
 * process there is killed. Our queue pair would find out by its retries only; this
 * makes it flush what it has.
 */
static void target_watch(struct target *t)
{
	struct rdma_cm_event *event;

	/* it is a system call */
	if (++t->turns % 1024 || rdma_get_cm_event(t->events, &event))
		return;
	if (event->event == RDMA_CM_EVENT_DISCONNECTED)
		rdma_disconnect(t->id);
	rdma_ack_cm_event(event);
}

static int writer_poll(struct writer *w, uint64_t *durable)
{
	uint64_t least = UINT64_MAX;
	int err;

	for (int i = 0; i < w->num_targets; i++) {
		target_watch(&w->targets[i]);
		err = target_poll(&w->targets[i], w->first);
		if (err)
			return err;
		if (w->targets[i].durable < least)
			least = w->targets[i].durable;
	}
	*durable = least;
	return 0;
}

/* For whoever checks after a crash. */
static void writer_note(const struct writer *w, uint64_t durable)
{
	char text[32];
	int fd;

	if (!w->ack_file)
		return;
	fd = open(w->ack_file, O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%20" PRIu64 "\n", w->first + durable - 1);
	if (pwrite(fd, text, strlen(text), 0) < 0)
		fail(w->ack_file);
	close(fd);
}

static int writer_run(struct writer *w)
{
	uint64_t durable = 0, noted = 0, posted = 0;
	int err = 0;

	while (durable < w->count && !err) {
		while (posted < w->count && posted - durable < WINDOW && !err) {
			err = writer_post(w);
			posted += !err;
		}
		if (!err)
			err = writer_poll(w, &durable);
		if (durable != noted) {
			writer_note(w, durable);
			noted = durable;
		}
	}
	if (err && err != EIO)
		fprintf(stderr, "cairn_log: appending: %s\n", strerror(err));
	printf("%" PRIu64 " records durable at %d target(s), up to number %"
	       PRIu64 "\n", durable, w->num_targets, w->first + durable - 1);
	return err;
}

static int append(struct writer *w, const char *port)
{
	int err = 0;

	w->stride = log_record_size(w->length);
	w->buffers = aligned_alloc(8, WINDOW * w->stride);
	if (!w->buffers)
		return fail("memory");
	for (int i = 0; i < w->num_targets && !err; i++) {
		err = target_resolve(&w->targets[i], port);
		if (!err)
			err = target_connect(&w->targets[i], w);
		if (!err)
			err = target_unblock(&w->targets[i]);
		if (!err)
			printf("%s: next record %" PRIu64 ", %s\n",
			       w->targets[i].address,
			       w->targets[i].hello.tail.seq,
			       domain_name(w->targets[i].hello.domain));
	}
	if (err)
		return err;
	writer_start(w);
	err = writer_run(w);
	for (int i = 0; i < w->num_targets; i++)
		rdma_disconnect(w->targets[i].id);
	return err;
}

/* ---- verify ---- */

static int verify(const struct memory *m, uint64_t at_least)
{
	const struct log_record *record;
	uint64_t bytes = 0, bad = 0;
	struct log_tail tail;

	log_tail_init(&tail);
	while ((record = log_record_next(m->log, m->size, &tail))) {
		char want[32];

		snprintf(want, sizeof(want), "record %" PRIu64, record->seq);
		bad += strncmp((const char *)(record + 1), want,
			       record->length < sizeof(want) ?
			       record->length : sizeof(want)) != 0;
		bytes += record->length;
	}
	printf("%" PRIu64 " records, %" PRIu64 " bytes, all checksums right\n",
	       tail.seq - 1, bytes);
	if (bad)
		printf("%" PRIu64 " records have the wrong contents\n", bad);
	if (tail.seq - 1 < at_least)
		printf("LOST: %" PRIu64 " were reported as durable\n",
		       at_least);
	return bad || tail.seq - 1 < at_least ? EBADMSG : 0;
}

/* ---- command line ---- */

static int usage(void)
{
	fprintf(stderr,
		"usage: cairn_log serve -m MEMORY [-s SIZE] [-p PORT] [-1]\n"
		"       cairn_log append -a ADDRESS [-a ADDRESS]... [-n RECORDS]\n"
		"                 [-l BYTES] [-o ACK-FILE] [-p PORT]\n"
		"       cairn_log verify -m MEMORY [-s SIZE] [-k AT-LEAST]\n"
		"MEMORY: a devdax device, a file, or \"anonymous\"\n");
	return 2;
}

struct options {
	struct server server;
	struct writer writer;
	const char *memory, *port;
	size_t size;
	uint64_t at_least;
};

static bool parse(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "a:k:l:m:n:o:p:s:1")) != -1) {
		switch (c) {
		case 'a':
			if (o->writer.num_targets == MAX_TARGETS)
				return false;
			o->writer.targets[o->writer.num_targets++].address =
				optarg;
			break;
		case 'k':
			o->at_least = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			o->writer.length = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'm':
			o->memory = optarg;
			break;
		case 'n':
			o->writer.count = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			o->writer.ack_file = optarg;
			break;
		case 'p':
			o->port = optarg;
			break;
		case 's':
			o->size = strtoull(optarg, NULL, 0);
			break;
		case '1':
			o->server.once = true;
			break;
		default:
			return false;
		}
	}
	return optind == argc && o->writer.length >= 1 &&
	       o->writer.length <= LOG_MAX_RECORD - sizeof(struct log_record);
}

int main(int argc, char **argv)
{
	struct options o = {
		.port = PORT, .size = 16 << 20,
		.writer = { .count = 1000, .length = 1000 },
	};
	const char *command = argc > 1 ? argv[1] : "";
	bool appends = !strcmp(command, "append");
	bool serves = !strcmp(command, "serve");
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2 || !parse(&o, argc - 1, argv + 1))
		return usage();
	if (appends)
		return o.writer.num_targets ? append(&o.writer, o.port) != 0 :
					      usage();
	if (!o.memory || (!serves && strcmp(command, "verify") != 0))
		return usage();
	err = memory_open(&o.server.memory, o.memory, o.size, serves);
	if (err)
		return 1;
	err = serves ? serve(&o.server, o.port) :
		       verify(&o.server.memory, o.at_least);
	return err != 0;
}
