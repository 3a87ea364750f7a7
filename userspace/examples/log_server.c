// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/cairndv.h>
#include <rdma/rdma_cma.h>

#include "log_command.h"
#include "log_domain.h"
#include "log_server.h"
#include "log_target.h"

#define RECEIVES	64	/* host flush: posted at the target */

struct log_server {
	struct log_medium *medium;
	struct log_target target;
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

static int log_server_fail(const char *what)
{
	int err = errno ? errno : EIO;

	fprintf(stderr, "cairn_log: %s: %s\n", what, strerror(err));
	return err;
}

/* When this returns, no request of the writer is placed any more. */
static void log_server_close(struct log_server *server)
{
	if (!server->id)
		return;
	if (server->id->qp)
		rdma_destroy_qp(server->id);
	if (server->mr)
		ibv_dereg_mr(server->mr);
	if (server->cq)
		ibv_destroy_cq(server->cq);
	if (server->channel)
		ibv_destroy_comp_channel(server->channel);
	if (server->pd)
		ibv_dealloc_pd(server->pd);
	rdma_destroy_id(server->id);
	server->id = NULL;
	server->mr = NULL;
	server->cq = NULL;
	server->channel = NULL;
	server->pd = NULL;
}

static int log_server_persist(void *ctx, uint64_t offset, uint64_t length)
{
	struct log_server *server = ctx;

	return log_medium_persist(server->medium, offset, length);
}

static void log_server_fence(void *ctx)
{
	struct log_server *server = ctx;

	if (server->id)
		printf("the former writer is cut off\n");
	log_server_close(server);
}

static const struct log_target_ops log_server_ops = {
	.persist = log_server_persist,
	.fence = log_server_fence,
};

static int log_server_post_receive(struct log_server *server)
{
	struct ibv_recv_wr wr = {}, *bad;

	return ibv_post_recv(server->id->qp, &wr, &bad);
}

/* Host flush: the device asks, the server writes and answers. */
static int log_server_flushes(struct log_server *server)
{
	struct cairndv_persist_info info;
	struct ibv_wc wc;
	uint64_t offset;
	int n, err;

	while ((n = cairndv_poll_cq(server->cq, 1, &wc, &info)) == 1) {
		if (info.kind != CAIRNDV_PERSIST_FLUSH)
			continue;
		offset = info.va - (uintptr_t)server->medium->log;
		err = log_target_flush(&server->target, offset, info.length);
		log_server_post_receive(server);
		if (cairndv_persist_done(server->id->verbs, info.token, err))
			fprintf(stderr, "cairn_log: a flush came too late\n");
	}
	if (server->target.failed) {
		errno = server->target.failed;
		return log_server_fail("making records durable");
	}
	return n < 0 ? EIO : 0;
}

static int log_server_completions(struct log_server *server)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(server->channel, &cq, &context))
		return log_server_fail("ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0))
		return log_server_fail("ibv_req_notify_cq");
	return log_server_flushes(server);
}

static int log_server_register(struct log_server *server)
{
	static const unsigned int kinds[] = {
		[LOG_MEDIUM_EMULATED] = CAIRNDV_ACCESS_PERSISTENT |
					CAIRNDV_ACCESS_PERSISTENT_EMULATED,
		[LOG_MEDIUM_FILE] = CAIRNDV_ACCESS_PERSISTENT_HOST,
		[LOG_MEDIUM_PMEM] = CAIRNDV_ACCESS_PERSISTENT,
	};

	/* a new key each time: that of an earlier writer is invalid */
	server->mr = ibv_reg_mr(server->pd, server->medium->log,
				server->medium->size, IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ |
				kinds[server->medium->kind]);
	if (!server->mr)
		return log_server_fail("registering the log as persistent");
	return 0;
}

static int log_server_objects(struct log_server *server)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = RECEIVES,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_context *verbs = server->id->verbs;
	int err;

	if (!cairndv_is_supported(verbs->device)) {
		errno = EOPNOTSUPP;
		return log_server_fail(ibv_get_device_name(verbs->device));
	}
	server->pd = ibv_alloc_pd(verbs);
	server->channel = ibv_create_comp_channel(verbs);
	if (!server->pd || !server->channel)
		return log_server_fail("resources");
	server->cq = ibv_create_cq(verbs, 2 * RECEIVES, NULL, server->channel,
				   0);
	if (!server->cq || ibv_req_notify_cq(server->cq, 0))
		return log_server_fail("completion queue");
	err = log_server_register(server);
	if (err)
		return err;
	attr.send_cq = server->cq;
	attr.recv_cq = server->cq;
	if (rdma_create_qp(server->id, server->pd, &attr))
		return log_server_fail("queue pair");
	for (int i = 0; i < RECEIVES; i++)
		if (log_server_post_receive(server))
			return log_server_fail("receives");
	return 0;
}

static int log_server_accept(struct log_server *server,
			     struct rdma_cm_id *id, struct log_answer *answer)
{
	struct rdma_conn_param param = {
		.private_data = answer, .private_data_len = sizeof(*answer),
		.responder_resources = 1,	/* RDMA READ */
		.rnr_retry_count = 7,
	};
	struct cairndv_mr_attr attr;
	int err;

	server->id = id;
	err = log_server_objects(server);
	if (!err)
		err = cairndv_query_mr(server->mr, &attr, sizeof(attr));
	if (!err) {
		answer->addr = (uintptr_t)server->medium->log;
		answer->rkey = server->mr->rkey;
		answer->domain = attr.persist_domain;
	}
	/* a writer that does not wait any more is no reason to end */
	if (err || rdma_accept(id, &param)) {
		if (!err)
			log_server_fail("rdma_accept");
		log_server_close(server);
		log_target_release(&server->target);
		return err;
	}
	printf("writer connected, epoch %" PRIu64 ", next record %" PRIu64
	       " (%s)\n", answer->epoch, answer->tail.seq,
	       log_domain_name(attr.persist_domain));
	return 0;
}

static int log_server_request(struct log_server *server, struct rdma_cm_id *id,
			      const void *ask, size_t length)
{
	struct log_answer answer;

	if (log_target_ask(&server->target, ask, length, &answer) ==
	    LOG_GRANTED)
		return log_server_accept(server, id, &answer);
	if (server->medium->kind == LOG_MEDIUM_EMULATED)
		answer.domain = CAIRNDV_DOMAIN_EMULATED;
	rdma_reject(id, &answer, sizeof(answer));
	rdma_destroy_id(id);
	if (server->target.failed) {
		errno = server->target.failed;
		return log_server_fail("making the log durable");
	}
	return 0;
}

static int log_server_event(struct log_server *server, bool *done)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	uint8_t ask[sizeof(struct log_ask)];
	size_t length = 0;

	if (rdma_get_cm_event(server->events, &event))
		return log_server_fail("rdma_get_cm_event");
	type = event->event;
	id = event->id;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST &&
	    event->param.conn.private_data_len >= sizeof(ask)) {
		length = sizeof(ask);
		memcpy(ask, event->param.conn.private_data, length);
	}
	rdma_ack_cm_event(event);
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return log_server_request(server, id, ask, length);
	case RDMA_CM_EVENT_ESTABLISHED:
		return 0;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		errno = ENODEV;
		return log_server_fail("the device");
	default:
		if (id != server->id)
			return 0;
		rdma_disconnect(id);
		log_server_close(server);
		log_target_release(&server->target);
		*done = server->once;
		return 0;
	}
}

static int log_server_loop(struct log_server *server)
{
	bool done = false;
	int err = 0;

	while (!err && !done) {
		struct pollfd fds[] = {
			{ .fd = server->events->fd, .events = POLLIN },
			{ .fd = server->channel ? server->channel->fd : -1,
			  .events = POLLIN },
		};

		if (poll(fds, 2, -1) < 0)
			return log_server_fail("poll");
		if (fds[1].revents)
			err = log_server_completions(server);
		if (!err && fds[0].revents)
			err = log_server_event(server, &done);
	}
	return err;
}

/* Nothing of it is written over: writers are refused. */
static void log_server_explain(const struct log_medium *medium)
{
	uint32_t version = log_header_version(medium->log);

	if (version && version != LOG_VERSION)
		printf("the memory has a log of version %" PRIu32
		       ", and this program writes version %d"
		       " (cairn_log wipe would lose it)\n", version,
		       LOG_VERSION);
	else
		printf("the memory has %s (cairn_log wipe would lose it)\n",
		       version ? "a log that is damaged" :
				 "other contents than a log");
}

int log_server_run(struct log_medium *medium, const char *port, bool once)
{
	struct log_server server = { .medium = medium, .once = once };
	int err;

	err = log_target_open(&server.target, &log_server_ops, &server,
			      medium->log, medium->size);
	if (err) {
		errno = err;
		return log_server_fail("the log");
	}
	err = log_command_listen(port, &server.events, &server.listener);
	if (err) {
		errno = err;
		return log_server_fail("listening");
	}
	if (server.target.state == LOG_DAMAGED)
		log_server_explain(medium);
	printf("listening, next record %" PRIu64 "\n", server.target.tail.seq);
	return log_server_loop(&server);
}
