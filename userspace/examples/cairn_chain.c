// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cairn_chain: records in a chain of targets, or at each of several targets.
 *
 * "serve" is a hop: it keeps what arrives and passes it on. "write" posts each record once,
 * to the first hop of a chain or to all targets that are given. "verify" counts the
 * records of a medium.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/cairndv.h>
#include <rdma/rdma_cma.h>

#include "known_persistent.h"
#include "log_command.h"
#include "log_format.h"
#include "log_medium.h"
#include "log_text.h"
#include "wants_help.h"

#define PORT		"7481"
#define DEPTH		64		/* messages in flight */
#define MAX_PEERS	8
#define STRIDE		64u		/* records begin at multiples of it */
#define RESOLVE_MS	1000
#define RESOLVE_TIMES	5
#define RETRY_MS	500		/* between attempts to find another hop */
#define DEADLINE_MS	10000

/* A hop sends this when it accepts: where its memory is. */
struct chain_card {
	uint64_t addr;
	uint64_t size;
	uint32_t rkey;
	uint32_t reserved;
};

static int chain_fail(const char *what, int err)
{
	if (!err)
		err = EIO;
	fprintf(stderr, "cairn_chain: %s: %s\n", what, strerror(err));
	return err;
}

/* ---- connections to a hop ---- */

struct link {
	char *address;
	const char *port;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;	/* of the memory that is sent */
	struct chain_card card;
};

static void link_close(struct link *link)
{
	if (link->id && link->id->qp)
		rdma_destroy_qp(link->id);
	if (link->mr)
		ibv_dereg_mr(link->mr);
	if (link->cq)
		ibv_destroy_cq(link->cq);
	if (link->channel)
		ibv_destroy_comp_channel(link->channel);
	if (link->pd)
		ibv_dealloc_pd(link->pd);
	if (link->id)
		rdma_destroy_id(link->id);
	link->id = NULL;
	link->pd = NULL;
	link->channel = NULL;
	link->cq = NULL;
	link->mr = NULL;
}

/* ib_core may not notice the answer of a neighbour: it is asked again. */
static int link_resolve(struct link *link)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	int err = -1;

	/* it sets no errno for a name that is not known */
	if (rdma_getaddrinfo(link->address, link->port, &hints, &info)) {
		errno = EHOSTUNREACH;
		return -1;
	}
	for (int i = 0; i < RESOLVE_TIMES && err; i++)
		err = rdma_resolve_addr(link->id, NULL, info->ai_dst_addr,
					RESOLVE_MS);
	rdma_freeaddrinfo(info);
	return err ? err : rdma_resolve_route(link->id, RESOLVE_MS);
}

static int link_objects(struct link *link, void *memory, size_t size)
{
	struct ibv_context *verbs = link->id->verbs;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (!cairndv_is_supported(verbs->device)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	link->pd = ibv_alloc_pd(verbs);
	link->channel = ibv_create_comp_channel(verbs);
	if (!link->pd || !link->channel)
		return -1;
	link->cq = ibv_create_cq(verbs, 2 * DEPTH, NULL, link->channel, 0);
	link->mr = ibv_reg_mr(link->pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
	if (!link->cq || !link->mr)
		return -1;
	attr.send_cq = link->cq;
	attr.recv_cq = link->cq;
	return rdma_create_qp(link->id, link->pd, &attr);
}

static int link_connect(struct link *link)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	const struct rdma_conn_param *answer;

	if (rdma_connect(link->id, &param))
		return -1;
	answer = &link->id->event->param.conn;
	if (answer->private_data_len < sizeof(link->card)) {
		errno = EPROTO;
		return -1;
	}
	memcpy(&link->card, answer->private_data, sizeof(link->card));
	return 0;
}

/* Return: 0 with a connection over which @memory can be sent, or an errno */
static int link_open(struct link *link, void *memory, size_t size)
{
	int err = 0;

	if (rdma_create_id(NULL, &link->id, NULL, RDMA_PS_TCP) ||
	    link_resolve(link) || link_objects(link, memory, size) ||
	    link_connect(link))
		err = errno ? errno : EIO;
	if (!err && link->card.size < size)
		err = EMSGSIZE;
	if (err)
		link_close(link);
	return err;
}

static void channel_drain(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *context;

	if (!ibv_get_cq_event(channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

/*
 * The kernel of the hop reports that its end closes, also when its process was killed. The
 * queue pair would notice by its retries only; this makes it flush its requests.
 */
static void link_watch(struct link *link)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct rdma_cm_event *event;

	if (link->id->event) {	/* that of rdma_connect() */
		rdma_ack_cm_event(link->id->event);
		link->id->event = NULL;
	}
	if (rdma_get_cm_event(link->id->channel, &event))
		return;
	if (event->event == RDMA_CM_EVENT_DISCONNECTED)
		ibv_modify_qp(link->id->qp, &attr, IBV_QP_STATE);
	rdma_ack_cm_event(event);
}

/* @letter: of the option. */
static bool link_parse(struct link *link, int letter, const char *name, const char *port)
{
	char *comma;

	link->address = strdup(name);
	if (!link->address)
		return false;
	comma = strchr(link->address, ',');
	link->port = comma ? comma + 1 : port;
	if (comma)
		*comma = '\0';
	return !comma || log_command_is_port(link->port) ||
	       log_command_refuse(letter, name, "a port of 1 to 65535");
}

/* ---- serve ---- */

struct hop {
	struct log_medium medium;
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	uint32_t policy, durability, deadline;
	bool once, done;
	struct link next[MAX_PEERS];
	int nexts;
	struct link *linked;	/* the one behind this hop; NULL: none */
	struct ibv_context *verbs;	/* of the last connection; rdma_cm keeps it open */
	/* to the writer, or the hop before */
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct cairndv_chain *chain;
};

/* Neighbours are made durable together: a batch of records takes one fdatasync(). */
static int hop_flush(void *arg, const struct cairndv_chain_range *ranges,
		     uint32_t num)
{
	const struct hop *hop = arg;
	uint64_t base = (uintptr_t)hop->medium.log;
	uint64_t begin = ranges[0].va, end = begin + ranges[0].length;
	int err = 0;

	for (uint32_t i = 1; i < num && !err; i++) {
		if (ranges[i].va != end) {
			err = log_medium_persist(&hop->medium, begin - base,
						 end - begin);
			begin = ranges[i].va;
		}
		end = ranges[i].va + ranges[i].length;
	}
	return err ? err : log_medium_persist(&hop->medium, begin - base,
					      end - begin);
}

/* When this returns, no request of the writer is placed any more. */
static void hop_close(struct hop *hop)
{
	if (!hop->id)
		return;
	if (hop->id->qp)
		rdma_destroy_qp(hop->id);
	if (hop->chain)
		cairndv_chain_destroy(hop->chain);
	if (hop->mr)
		ibv_dereg_mr(hop->mr);
	if (hop->cq)
		ibv_destroy_cq(hop->cq);
	if (hop->channel)
		ibv_destroy_comp_channel(hop->channel);
	if (hop->pd)
		ibv_dealloc_pd(hop->pd);
	rdma_destroy_id(hop->id);
	if (hop->linked)
		link_close(hop->linked);
	hop->id = NULL;
	hop->chain = NULL;
	hop->mr = NULL;
	hop->cq = NULL;
	hop->channel = NULL;
	hop->pd = NULL;
	hop->linked = NULL;
}

/* Tries the hops that were given once, those behind the last one first. */
static int hop_link(struct hop *hop)
{
	int first = hop->linked ? (int)(hop->linked - hop->next) + 1 : 0;
	int err = ENOTCONN;

	if (hop->linked)
		link_close(hop->linked);
	hop->linked = NULL;
	for (int i = 0; i < hop->nexts && err; i++) {
		struct link *link = &hop->next[(first + i) % hop->nexts];
		struct cairndv_chain_next next;

		err = link_open(link, hop->medium.log, hop->medium.size);
		if (err) {
			fprintf(stderr, "cairn_chain: %s,%s: %s\n", link->address,
				link->port, strerror(err));
			continue;
		}
		next = (struct cairndv_chain_next){
			.qp = link->id->qp, .remote_addr = link->card.addr,
			.rkey = link->card.rkey, .lkey = link->mr->lkey,
		};
		err = cairndv_chain_set_next(hop->chain, &next);
		if (err) {
			link_close(link);
			continue;
		}
		hop->linked = link;
		printf("the next hop is %s,%s\n", link->address, link->port);
	}
	return err;
}

/* A hop that answers for memory has to know how that becomes durable. */
static int hop_region(struct hop *hop)
{
	void *memory = hop->medium.log;
	size_t size = hop->medium.size;
	int err = 0;

	if (hop->medium.kind == LOG_MEDIUM_PMEM)
		err = known_persistent(hop->pd, memory, size);
	if (err) {
		fprintf(stderr, "cairn_chain: %s\n", NOT_KNOWN_PERSISTENT);
		errno = err;
		return -1;
	}
	hop->mr = ibv_reg_mr(hop->pd, memory, size, IBV_ACCESS_LOCAL_WRITE |
			     IBV_ACCESS_REMOTE_WRITE | CAIRNDV_ACCESS_PERSISTENT_HOST);
	return hop->mr ? 0 : -1;
}

static int hop_objects(struct hop *hop)
{
	struct ibv_context *verbs = hop->id->verbs;
	struct ibv_qp_init_attr qp = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct cairndv_chain_attr attr = {
		.depth = DEPTH, .policy = hop->policy,
		.durability = hop->durability, .deadline_ms = hop->deadline,
		.flush = hop_flush, .arg = hop,
	};

	if (!cairndv_is_supported(verbs->device)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	hop->verbs = verbs;
	hop->pd = ibv_alloc_pd(verbs);
	hop->channel = ibv_create_comp_channel(verbs);
	if (!hop->pd || !hop->channel)
		return -1;
	hop->cq = ibv_create_cq(verbs, 2 * DEPTH, NULL, hop->channel, 0);
	if (!hop->cq || hop_region(hop))
		return -1;
	qp.send_cq = hop->cq;
	qp.recv_cq = hop->cq;
	if (rdma_create_qp(hop->id, hop->pd, &qp))
		return -1;
	attr.qp = hop->id->qp;
	attr.mr = hop->mr;
	hop->chain = cairndv_chain_create(&attr, sizeof(attr));
	return hop->chain ? 0 : -1;
}

/* The rest of the chain is there before the writer is let in. */
static void hop_accept(struct hop *hop, struct rdma_cm_id *id)
{
	struct chain_card card = {
		.addr = (uintptr_t)hop->medium.log, .size = hop->medium.size,
	};
	struct rdma_conn_param param = {
		.private_data = &card, .private_data_len = sizeof(card),
		.rnr_retry_count = 7,
	};
	int err = 0;

	if (hop->id)
		printf("the former writer is cut off\n");
	hop_close(hop);
	hop->id = id;
	if (hop_objects(hop))
		err = chain_fail("resources", errno);
	if (!err && hop->nexts)
		err = hop_link(hop);
	if (!err) {
		card.rkey = hop->mr->rkey;
		if (rdma_accept(id, &param))
			err = chain_fail("rdma_accept", errno);
	} else {
		rdma_reject(id, NULL, 0);
	}
	if (err)
		hop_close(hop);
	else
		printf("a writer is connected\n");
}

static int hop_cm_event(struct hop *hop)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;

	if (rdma_get_cm_event(hop->events, &event))
		return chain_fail("rdma_get_cm_event", errno);
	type = event->event;
	id = event->id;
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		hop_accept(hop, id);
	} else if (type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		return chain_fail("the device", ENODEV);
	} else if (type != RDMA_CM_EVENT_ESTABLISHED && id == hop->id) {
		rdma_disconnect(id);
		hop_close(hop);
		hop->done = hop->once;
	}
	return 0;
}

static int hop_chain_event(const struct cairndv_chain_event *event)
{
	if (event->kind == CAIRNDV_CHAIN_NEXT_LOST)
		printf("the next hop is lost: %s\n", event->status ?
		       ibv_wc_status_str((enum ibv_wc_status)event->status) :
		       "it keeps nothing");
	/* a flush that failed must not be tried again */
	if (event->kind == CAIRNDV_CHAIN_FAILED && event->error != EHOSTDOWN)
		return chain_fail("making records durable", event->error);
	return 0;
}

/* Is this hop without the next one that its messages wait for? */
static bool hop_waits(const struct hop *hop, const struct cairndv_chain_event *event)
{
	return event->kind == CAIRNDV_CHAIN_NEXT_LOST &&
	       hop->policy == CAIRNDV_CHAIN_HOLD;
}

static int hop_work(struct hop *hop, bool *unlinked)
{
	struct cairndv_chain_event event;
	int n, err = 0;

	while (!err && (n = cairndv_chain_poll(hop->chain, 1, &event))) {
		if (n < 0)
			return chain_fail("polling", -n);
		err = hop_chain_event(&event);
		*unlinked |= hop_waits(hop, &event);
	}
	return err;
}

/*
 * A device that is removed is told to each connection, but this one may have ended
 * before. The context has an event in any case.
 */
static int hop_device_event(struct hop *hop)
{
	struct ibv_async_event event;
	enum ibv_event_type type;

	if (ibv_get_async_event(hop->verbs, &event))
		return chain_fail("ibv_get_async_event", errno);
	type = event.event_type;
	ibv_ack_async_event(&event);
	return type == IBV_EVENT_DEVICE_FATAL ? chain_fail("the device", ENODEV) : 0;
}

/* Return: 0, or an errno that ends the hop */
static int hop_sleep(struct hop *hop, int wait)
{
	struct pollfd fd[] = {
		{ .fd = hop->events->fd, .events = POLLIN },
		{ .fd = hop->channel ? hop->channel->fd : -1, .events = POLLIN },
		{ .fd = hop->linked ? hop->linked->channel->fd : -1,
		  .events = POLLIN },
		{ .fd = hop->linked ? hop->linked->id->channel->fd : -1,
		  .events = POLLIN },
		{ .fd = hop->verbs ? hop->verbs->async_fd : -1, .events = POLLIN },
	};

	if (poll(fd, 5, wait) <= 0)
		return 0;
	if (fd[4].revents)
		return hop_device_event(hop);
	if (fd[1].revents)
		channel_drain(hop->channel);
	if (fd[2].revents)
		channel_drain(hop->linked->channel);
	if (fd[3].revents)
		link_watch(hop->linked);
	return fd[0].revents ? hop_cm_event(hop) : 0;
}

static int hop_loop(struct hop *hop)
{
	bool unlinked = false;
	int wait, err;

	while (!hop->done) {
		wait = -1;
		if (hop->chain) {
			err = hop_work(hop, &unlinked);
			if (!err)
				err = cairndv_chain_arm(hop->chain);
			if (!err)
				err = hop_work(hop, &unlinked);
			if (err)
				return err;
			wait = cairndv_chain_timeout(hop->chain);
		}
		if (unlinked) {
			unlinked = hop_link(hop);
			if (!unlinked)
				continue;
			wait = RETRY_MS;
		}
		err = hop_sleep(hop, wait);
		if (err)
			return err;
		unlinked &= !!hop->chain;
	}
	return 0;
}

static int serve(struct hop *hop, const char *port)
{
	int err = log_command_listen(port, &hop->events, &hop->listener);

	if (err)
		return chain_fail("listening", err);
	printf("listening, %s\n", hop->nexts ? "with a hop behind" : "the last hop");
	return hop_loop(hop);
}

/* ---- write ---- */

struct writer {
	struct link peers[MAX_PEERS];
	int num;
	uint64_t count, posted, durable;
	uint32_t length, window;
	const char *ack_file;
	int unwritten;		/* errno of that; records go on without it */
	uint8_t *buffers;	/* one for each record of the window */
	double *began, *took;	/* microseconds */
	struct cairndv_persist_group *group;
};

static size_t record_stride(uint32_t length)
{
	return (length + STRIDE - 1) / STRIDE * STRIDE;
}

static double writer_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void writer_note(struct writer *w)
{
	int err = 0;

	if (w->ack_file)
		err = log_command_note(w->ack_file, w->durable);
	if (!err)
		return;
	w->unwritten = chain_fail(w->ack_file, err);
	w->ack_file = NULL;
}

static int writer_post(struct writer *w)
{
	size_t stride = record_stride(w->length);
	uint64_t number = w->posted + 1;
	uint8_t *bytes = w->buffers + number % w->window * stride;
	struct cairndv_group_dest dest[MAX_PEERS];
	struct ibv_sge sge = { (uintptr_t)bytes, w->length, 0 };
	const struct cairndv_group_wr wr = {
		.wr_id = number, .sg_list = &sge, .num_sge = 1,
		.quorum = (uint32_t)w->num, .dest = dest,
		.durability = CAIRNDV_DURABILITY_HOST,
	};
	int err;

	log_text_fill(bytes, w->length, number);
	for (int i = 0; i < w->num; i++)
		dest[i] = (struct cairndv_group_dest){
			.remote_addr = w->peers[i].card.addr + w->posted * stride,
			.rkey = w->peers[i].card.rkey,
			.lkey = w->peers[i].mr->lkey,
		};
	w->began[w->posted] = writer_now();
	err = cairndv_persist_group_post(w->group, &wr);
	w->posted += !err;
	return err;
}

static int writer_reap(struct writer *w)
{
	struct cairndv_group_wc wc;
	int n;

	while ((n = cairndv_persist_group_poll(w->group, 1, &wc)) > 0) {
		if (wc.kind == CAIRNDV_GROUP_TARGET)
			fprintf(stderr, "cairn_chain: %s,%s: %s\n",
				w->peers[wc.target].address,
				w->peers[wc.target].port,
				ibv_wc_status_str((enum ibv_wc_status)wc.status));
		if (wc.kind != CAIRNDV_GROUP_DURABLE)
			return EIO;
		w->took[w->durable] = writer_now() - w->began[w->durable];
		w->durable = wc.wr_id;
		writer_note(w);
	}
	return -n;
}

static void writer_sleep(struct writer *w)
{
	struct pollfd fd[2 * MAX_PEERS];

	for (int i = 0; i < w->num; i++) {
		fd[2 * i] = (struct pollfd){ w->peers[i].channel->fd, POLLIN, 0 };
		fd[2 * i + 1] = (struct pollfd){ w->peers[i].id->channel->fd,
						 POLLIN, 0 };
	}
	if (poll(fd, 2 * (nfds_t)w->num, cairndv_persist_group_timeout(w->group)) <= 0)
		return;
	for (int i = 0; i < w->num; i++) {
		if (fd[2 * i].revents)
			channel_drain(w->peers[i].channel);
		if (fd[2 * i + 1].revents)
			link_watch(&w->peers[i]);
	}
}

static int writer_run(struct writer *w)
{
	uint64_t before;
	int err = 0;

	while (!err && w->durable < w->count) {
		while (!err && w->posted < w->count &&
		       w->posted - cairndv_persist_group_released(w->group) < w->window)
			err = writer_post(w);
		before = w->durable;
		if (!err || err == ENOMEM)
			err = writer_reap(w);
		if (err || w->durable != before)
			continue;
		err = cairndv_persist_group_arm(w->group);
		if (!err)
			err = writer_reap(w);
		if (!err && w->durable == before)
			writer_sleep(w);
	}
	return err;
}

static int writer_compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

static int writer_open(struct writer *w)
{
	size_t stride = record_stride(w->length), size = w->window * stride;
	struct ibv_qp *qp[MAX_PEERS];

	w->buffers = aligned_alloc(STRIDE, size);
	w->began = calloc(w->count, sizeof(*w->began));
	w->took = calloc(w->count, sizeof(*w->took));
	if (!w->buffers || !w->began || !w->took)
		return chain_fail("memory", ENOMEM);
	for (int i = 0; i < w->num; i++) {
		struct link *peer = &w->peers[i];
		int err = link_open(peer, w->buffers, size);

		if (err)
			return chain_fail(peer->address, err);
		if (peer->card.size < w->count * stride)
			return chain_fail(peer->address, ENOSPC);
		qp[i] = peer->id->qp;
	}
	w->group = cairndv_persist_group_create(qp, (uint32_t)w->num, DEPTH);
	return w->group ? 0 : chain_fail("the targets", errno);
}

static int append(struct writer *w)
{
	double start;
	int err = writer_open(w);

	if (err)
		return err;
	start = writer_now();
	err = writer_run(w);
	start = writer_now() - start;
	printf("%" PRIu64 " records durable", w->durable);
	if (!err) {
		qsort(w->took, w->count, sizeof(*w->took), writer_compare);
		printf(", %.0f a second, latency %.0f us, 99 %% %.0f us",
		       (double)w->count / start * 1e6, w->took[w->count / 2],
		       w->took[w->count * 99 / 100]);
	}
	printf("\n");
	cairndv_persist_group_destroy(w->group);
	for (int i = 0; i < w->num; i++)
		link_close(&w->peers[i]);
	return err ? chain_fail("a record", err) : w->unwritten;
}

/* ---- verify ---- */

static int verify(const struct log_medium *medium, uint32_t length,
		  uint64_t at_least)
{
	size_t stride = record_stride(length);
	const uint8_t *bytes = medium->log;
	uint64_t found = 0;

	while ((found + 1) * stride <= medium->size &&
	       log_text_matches(bytes + found * stride, length, found + 1))
		found++;
	printf("%" PRIu64 " records\n", found);
	if (found >= at_least)
		return 0;
	printf("LOST: %" PRIu64 " were reported as durable\n", at_least);
	return EBADMSG;
}

/* ---- command line ---- */

static int usage(FILE *to)
{
	fprintf(to,
		"usage: cairn_chain serve -m MEMORY [-s SIZE] [-p PORT] [-n ADDRESS[,PORT]]...\n"
		"                   [-x fail|hold|cut] [-d MS] [-e] [-1]\n"
		"       cairn_chain write -a ADDRESS[,PORT]... [-c RECORDS] [-l BYTES]\n"
		"                   [-w WINDOW] [-o ACK-FILE] [-p PORT]\n"
		"       cairn_chain verify -m MEMORY [-s SIZE] [-l BYTES] [-k AT-LEAST]\n"
		"-n: the next hop, and others that may take its place\n"
		"-x: what happens to records when the next hop is lost\n");
	return to == stdout ? 0 : 2;
}

struct options {
	struct hop hop;
	struct writer writer;
	const char *memory, *port;
	uint64_t size, count, length, window, deadline, at_least;
};

static bool options_policy(const char *name, uint32_t *policy)
{
	static const char * const names[] = {
		[CAIRNDV_CHAIN_FAIL] = "fail",
		[CAIRNDV_CHAIN_HOLD] = "hold",
		[CAIRNDV_CHAIN_CUT] = "cut",
	};

	for (*policy = 0; *policy <= CAIRNDV_CHAIN_CUT; ++*policy)
		if (!strcmp(name, names[*policy]))
			return true;
	return false;
}

static bool options_peer(struct link *links, int *num, int letter, const char *port)
{
	if (*num == MAX_PEERS)
		return log_command_refuse(letter, optarg, "fewer addresses");
	return link_parse(&links[(*num)++], letter, optarg, port);
}

/* -l: bytes of data in a record. */
static bool options_length(const char *text, uint64_t *length)
{
	char want[64];

	if (log_medium_parse_size(text, length) && *length <= LOG_MAX_RECORD)
		return true;
	snprintf(want, sizeof(want), "1 to %u bytes", LOG_MAX_RECORD);
	return log_command_refuse('l', text, want);
}

static bool options_one(struct options *o, int c)
{
	switch (c) {
	case 'a':
		return options_peer(o->writer.peers, &o->writer.num, c, NULL);
	case 'c':
		return log_command_option(c, optarg, 1, UINT64_MAX, &o->count);
	case 'd':
		return log_command_option(c, optarg, 0, UINT32_MAX, &o->deadline);
	case 'e':
		o->hop.durability = CAIRNDV_DURABILITY_EMULATED;
		return true;
	case 'k':
		return log_command_option(c, optarg, 0, UINT64_MAX, &o->at_least);
	case 'l':
		return options_length(optarg, &o->length);
	case 'm':
		o->memory = optarg;
		return true;
	case 'n':
		return options_peer(o->hop.next, &o->hop.nexts, c, PORT);
	case 'o':
		o->writer.ack_file = optarg;
		return true;
	case 'p':
		return log_command_port(optarg, &o->port);
	case 's':
		return log_medium_parse_size(optarg, &o->size) ||
		       log_command_refuse(c, optarg, "bytes, or a number with k, M or G");
	case 'w':
		return log_command_option(c, optarg, 1, DEPTH, &o->window);
	case 'x':
		return options_policy(optarg, &o->hop.policy) ||
		       log_command_refuse(c, optarg, "fail, hold or cut");
	case '1':
		o->hop.once = true;
		return true;
	default:
		return false;
	}
}

static bool options_parse(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "a:c:d:ek:l:m:n:o:p:s:w:x:1")) != -1)
		if (!options_one(o, c))
			return false;
	/* -p may be behind -a */
	for (int i = 0; i < o->writer.num; i++)
		if (!o->writer.peers[i].port)
			o->writer.peers[i].port = o->port;
	o->writer.count = o->count;
	o->writer.length = (uint32_t)o->length;
	o->writer.window = (uint32_t)o->window;
	o->hop.deadline = (uint32_t)o->deadline;
	return optind == argc;
}

/* A hop reports its records as durable, so it takes no memory that keeps nothing. */
static bool options_medium(const char *name)
{
	return strcmp(name, "anonymous") != 0 ||
	       log_command_refuse('m', name, "a file or a device-DAX device");
}

int main(int argc, char **argv)
{
	static struct options o = {
		.port = PORT, .count = 1000, .length = 1000, .window = 16,
		.deadline = DEADLINE_MS,
	};
	const char *command = argc > 1 ? argv[1] : "";
	bool serves = !strcmp(command, "serve");
	int err;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (wants_help(argc, argv))
		return usage(stdout);
	if (argc < 2 || !options_parse(&o, argc - 1, argv + 1))
		return usage(stderr);
	if (!strcmp(command, "write"))
		return o.writer.num ? log_command_end(append(&o.writer)) != 0 : usage(stderr);
	if (!o.memory || (!serves && strcmp(command, "verify") != 0))
		return usage(stderr);
	if (serves && !options_medium(o.memory))
		return usage(stderr);
	err = log_medium_open(&o.hop.medium, o.memory, o.size, serves);
	if (err)
		return log_command_medium(o.memory, err) != 0;
	err = serves ? serve(&o.hop, o.port) :
		       verify(&o.hop.medium, o.writer.length, o.at_least);
	log_medium_close(&o.hop.medium);
	return log_command_end(err) != 0;
}
