// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/cairndv.h>
#include <rdma/rdma_cma.h>

#include "log_link.h"

#define CONNECT_MS	5000
#define CONSUMER_REJECT	28	/* of the InfiniBand CM: the program said no */
#define WATCH_TURNS	1024	/* to look for events is a system call */

static int log_link_errno(void)
{
	return errno ? errno : EIO;
}

void log_link_close(struct log_link *link)
{
	if (link->id && link->id->qp) {
		rdma_disconnect(link->id);
		rdma_destroy_qp(link->id);
	}
	if (link->mr)
		ibv_dereg_mr(link->mr);
	if (link->cq)
		ibv_destroy_cq(link->cq);
	if (link->pd)
		ibv_dealloc_pd(link->pd);
	if (link->id)
		rdma_destroy_id(link->id);
	if (link->events)
		rdma_destroy_event_channel(link->events);
	link->mr = NULL;
	link->cq = NULL;
	link->pd = NULL;
	link->id = NULL;
	link->events = NULL;
	link->completed = 0;
	link->reading = false;
}

/* A target answers when it accepts, and also when it refuses. */
static int log_link_answer(struct log_link *link,
			   const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	if (event->event == RDMA_CM_EVENT_REJECTED &&
	    event->status != CONSUMER_REJECT)
		return ECONNREFUSED;
	if (event->event != RDMA_CM_EVENT_REJECTED &&
	    event->event != RDMA_CM_EVENT_ESTABLISHED)
		return ECONNABORTED;
	if (!param->private_data ||
	    param->private_data_len < sizeof(link->answer))
		return EPROTO;
	memcpy(&link->answer, param->private_data, sizeof(link->answer));
	/* granted, but no connection: so not */
	if (event->event == RDMA_CM_EVENT_REJECTED &&
	    link->answer.verdict == LOG_GRANTED)
		return EPROTO;
	return 0;
}

static int log_link_wait(struct log_link *link, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *event;
	int err = 0;

	if (rdma_get_cm_event(link->events, &event))
		return log_link_errno();
	if (want == RDMA_CM_EVENT_ESTABLISHED)
		err = log_link_answer(link, event);
	else if (event->event != want)
		err = EHOSTUNREACH;
	rdma_ack_cm_event(event);
	return err;
}

static int log_link_resolve(struct log_link *link)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	int err = 0;

	link->events = rdma_create_event_channel();
	if (!link->events ||
	    rdma_create_id(link->events, &link->id, NULL, RDMA_PS_TCP) ||
	    rdma_getaddrinfo(link->address, link->port, &hints, &info))
		return log_link_errno();
	if (rdma_resolve_addr(link->id, NULL, info->ai_dst_addr, CONNECT_MS))
		err = log_link_errno();
	rdma_freeaddrinfo(info);
	if (!err)
		err = log_link_wait(link, RDMA_CM_EVENT_ADDR_RESOLVED);
	if (!err && rdma_resolve_route(link->id, CONNECT_MS))
		err = log_link_errno();
	return err ? err : log_link_wait(link, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static int log_link_objects(struct log_link *link)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 2 * LOG_LINK_WINDOW, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_context *verbs = link->id->verbs;

	if (!cairndv_is_supported(verbs->device))
		return EOPNOTSUPP;
	link->pd = ibv_alloc_pd(verbs);
	link->cq = ibv_create_cq(verbs, 2 * LOG_LINK_WINDOW, NULL, NULL, 0);
	if (!link->pd || !link->cq)
		return log_link_errno();
	link->mr = ibv_reg_mr(link->pd, link->buffers, link->length,
			      IBV_ACCESS_LOCAL_WRITE);
	if (!link->mr)
		return log_link_errno();
	attr.send_cq = link->cq;
	attr.recv_cq = link->cq;
	return rdma_create_qp(link->id, link->pd, &attr) ? log_link_errno() : 0;
}

static int log_link_connect(struct log_link *link, const struct log_ask *ask)
{
	struct rdma_conn_param param = {
		.private_data = ask, .private_data_len = sizeof(*ask),
		.initiator_depth = 1,	/* RDMA READ */
		.retry_count = 7, .rnr_retry_count = 7,
	};
	int err;

	log_link_close(link);
	err = log_link_resolve(link);
	if (!err)
		err = log_link_objects(link);
	if (!err && rdma_connect(link->id, &param))
		err = log_link_errno();
	return err ? err : log_link_wait(link, RDMA_CM_EVENT_ESTABLISHED);
}

static int log_link_query(void *ctx, const struct log_ask *ask,
			  struct log_answer *answer)
{
	struct log_link *link = ctx;
	int err = log_link_connect(link, ask);

	*answer = link->answer;
	log_link_close(link);
	return err;
}

static int log_link_claim(void *ctx, const struct log_ask *ask,
			  struct log_answer *answer)
{
	struct log_link *link = ctx;
	int err = log_link_connect(link, ask);
	int flags;

	*answer = link->answer;
	if (err || answer->verdict != LOG_GRANTED) {
		log_link_close(link);
		return err;
	}
	/* from now on nobody waits for events */
	flags = fcntl(link->events->fd, F_GETFL);
	return fcntl(link->events->fd, F_SETFL, flags | O_NONBLOCK) ?
	       log_link_errno() : 0;
}

/*
 * The target's end of the connection says that it closes, for instance when the
 * process there is killed. Our queue pair would find out by its retries only; this
 * makes it flush what it has.
 */
static void log_link_watch(struct log_link *link)
{
	struct rdma_cm_event *event;

	if (++link->turns % WATCH_TURNS ||
	    rdma_get_cm_event(link->events, &event))
		return;
	if (event->event == RDMA_CM_EVENT_DISCONNECTED)
		rdma_disconnect(link->id);
	rdma_ack_cm_event(event);
}

static int log_link_poll(void *ctx, uint64_t *completed)
{
	struct log_link *link = ctx;
	struct ibv_wc wc;
	int n;

	if (!link->id)
		return ENOTCONN;
	log_link_watch(link);
	while ((n = ibv_poll_cq(link->cq, 1, &wc)) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "cairn_log: %s: %s\n", link->address,
				ibv_wc_status_str(wc.status));
			return EIO;
		}
		if (wc.opcode == IBV_WC_RDMA_READ)
			link->reading = false;
		else
			link->completed++;
	}
	*completed = link->completed;
	return n < 0 ? EIO : 0;
}

static int log_link_post(struct log_link *link, enum ibv_wr_opcode opcode,
			 uint64_t offset, const void *buffer, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buffer,
		.length = length,
		.lkey = link->mr ? link->mr->lkey : 0,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { .remote_addr = link->answer.addr + offset,
			     .rkey = link->answer.rkey },
	}, *bad;

	return link->id ? ibv_post_send(link->id->qp, &wr, &bad) : ENOTCONN;
}

static int log_link_read(void *ctx, uint64_t offset, void *buffer,
			 uint32_t length)
{
	struct log_link *link = ctx;
	uint64_t completed;
	int err;

	err = log_link_post(link, IBV_WR_RDMA_READ, offset, buffer, length);
	link->reading = !err;
	while (!err && link->reading)
		err = log_link_poll(link, &completed);
	return err;
}

static int log_link_write(void *ctx, uint64_t offset, const void *buffer,
			  uint32_t length)
{
	return log_link_post(ctx, CAIRNDV_WR_WRITE_PERSIST, offset, buffer,
			     length);
}

const struct log_link_ops log_link_ops = {
	.query = log_link_query,
	.claim = log_link_claim,
	.read = log_link_read,
	.write = log_link_write,
	.poll = log_link_poll,
};
