// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <infiniband/cairndv.h>
#include <rdma/rdma_cma.h>

#include "log_link.h"

#define CONNECT_MS	30000
/*
 * ib_core does not notice a neighbour that answers before the request is queued, as
 * one on the same host does. It looks again at the end of this time.
 */
#define RESOLVE_MS	500
#define RETRY_MS	1000	/* between questions to a target that is away */
#define WAIT_MS		10	/* of one turn */
#define OWN_WR_ID	UINT64_MAX	/* of what is not posted by a group */
#define CONSUMER_REJECT	28	/* of the InfiniBand CM: the program refused */
#define WATCH_TURNS	1024	/* polling for events is a system call */

static int log_link_errno(void)
{
	return errno ? errno : EIO;
}

void log_nic_close(struct log_nic *nic)
{
	if (nic->mr)
		ibv_dereg_mr(nic->mr);
	if (nic->cq)
		ibv_destroy_cq(nic->cq);
	if (nic->channel)
		ibv_destroy_comp_channel(nic->channel);
	if (nic->pd)
		ibv_dealloc_pd(nic->pd);
	nic->mr = NULL;
	nic->cq = NULL;
	nic->channel = NULL;
	nic->pd = NULL;
	nic->verbs = NULL;
}

void log_nic_woken(struct log_nic *nic)
{
	struct ibv_cq *cq;
	void *context;

	while (nic->channel && !ibv_get_cq_event(nic->channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

static int log_nic_objects(struct log_nic *nic, struct ibv_context *verbs)
{
	nic->pd = ibv_alloc_pd(verbs);
	if (nic->sleeps) {
		nic->channel = ibv_create_comp_channel(verbs);
		if (!nic->channel ||
		    fcntl(nic->channel->fd, F_SETFL, O_NONBLOCK))
			return log_link_errno();
	}
	nic->cq = ibv_create_cq(verbs, 2 * LOG_LINK_WINDOW * LOG_MAX_TARGETS,
				NULL, nic->channel, 0);
	if (!nic->pd || !nic->cq)
		return log_link_errno();
	nic->mr = ibv_reg_mr(nic->pd, nic->buffers, nic->length,
			     IBV_ACCESS_LOCAL_WRITE);
	return nic->mr ? 0 : log_link_errno();
}

/* All of it or nothing: the next link tries again. */
static int log_nic_open(struct log_nic *nic, struct ibv_context *verbs)
{
	int err;

	if (!cairndv_is_supported(verbs->device))
		return EOPNOTSUPP;
	err = log_nic_objects(nic, verbs);
	if (err)
		log_nic_close(nic);
	else
		nic->verbs = verbs;
	return err;
}

static void log_nic_remove(struct log_nic *nic, const struct log_link *link)
{
	struct log_link **at = &nic->links;

	while (*at && *at != link)
		at = &(*at)->next;
	if (*at)
		*at = link->next;
}

void log_link_close(struct log_link *link)
{
	log_nic_remove(link->nic, link);
	if (link->id && link->id->qp) {
		rdma_disconnect(link->id);
		rdma_destroy_qp(link->id);
	}
	if (link->id)
		rdma_destroy_id(link->id);
	if (link->events)
		rdma_destroy_event_channel(link->events);
	link->id = NULL;
	link->events = NULL;
	link->completed = 0;
	link->reading = false;
	link->broken = false;
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
	/* granted, but there is no connection: refused */
	if (event->event == RDMA_CM_EVENT_REJECTED &&
	    link->answer.verdict == LOG_GRANTED)
		return EPROTO;
	return 0;
}

static uint64_t log_link_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* An attempt to connect; log_link_advance() goes on with it. */
static int log_link_begin(struct log_link *link)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *info;
	int err = 0;

	link->until = log_link_now() + CONNECT_MS;
	link->events = rdma_create_event_channel();
	if (!link->events ||
	    fcntl(link->events->fd, F_SETFL,
		  fcntl(link->events->fd, F_GETFL) | O_NONBLOCK) ||
	    rdma_create_id(link->events, &link->id, NULL, RDMA_PS_TCP))
		return log_link_errno();
	/* it sets no errno for a name that is not known */
	if (rdma_getaddrinfo(link->address, link->port, &hints, &info))
		return EHOSTUNREACH;
	if (rdma_resolve_addr(link->id, NULL, info->ai_dst_addr, RESOLVE_MS))
		err = log_link_errno();
	rdma_freeaddrinfo(info);
	return err;
}

static int log_link_objects(struct log_link *link)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 2 * LOG_LINK_WINDOW, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct log_nic *nic = link->nic;
	int err;

	if (!nic->verbs) {
		err = log_nic_open(nic, link->id->verbs);
		if (err)
			return err;
	}
	if (nic->verbs != link->id->verbs) {
		fprintf(stderr,
			"%s: %s: not on the device of the other targets\n",
			program_invocation_short_name, link->address);
		return EINVAL;
	}
	attr.send_cq = nic->cq;
	attr.recv_cq = nic->cq;
	if (rdma_create_qp(link->id, nic->pd, &attr))
		return log_link_errno();
	link->next = nic->links;
	nic->links = link;
	return 0;
}

static int log_link_request(struct log_link *link, const struct log_ask *ask)
{
	struct rdma_conn_param param = {
		.private_data = ask, .private_data_len = sizeof(*ask),
		.initiator_depth = 1,	/* RDMA READ */
		.retry_count = 7, .rnr_retry_count = 7,
	};
	int err = log_link_objects(link);

	if (!err && rdma_connect(link->id, &param))
		err = log_link_errno();
	return err;
}

/* Return: 0 with an answer, EAGAIN without one yet, or another errno. */
static int log_link_step(struct log_link *link, const struct log_ask *ask,
			 const struct rdma_cm_event *event)
{
	int err = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(link->id, CONNECT_MS))
			err = log_link_errno();
		return err ? err : EAGAIN;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = log_link_request(link, ask);
		return err ? err : EAGAIN;
	case RDMA_CM_EVENT_ADDR_ERROR:
		/* again, until log_link_advance() gives up */
		if (event->status != -ETIMEDOUT)
			return EHOSTUNREACH;
		if (rdma_resolve_addr(link->id, NULL,
				      rdma_get_peer_addr(link->id), RESOLVE_MS))
			err = log_link_errno();
		return err ? err : EAGAIN;
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return EHOSTUNREACH;
	default:
		return log_link_answer(link, event);
	}
}

static int log_link_advance(struct log_link *link, const struct log_ask *ask,
			    bool wait)
{
	struct pollfd fd = { .fd = link->events->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int err = EAGAIN;

	if (poll(&fd, 1, wait ? WAIT_MS : 0) == 1) {
		if (rdma_get_cm_event(link->events, &event))
			return log_link_errno();
		err = log_link_step(link, ask, event);
		rdma_ack_cm_event(event);
	}
	return err == EAGAIN && log_link_now() > link->until ? ETIMEDOUT : err;
}

static int log_link_probe(void *ctx, const struct log_ask *ask,
			  struct log_answer *answer, bool wait)
{
	struct log_link *link = ctx;
	int err;

	if (link->id)
		err = log_link_advance(link, ask, wait);
	else if (!wait && log_link_now() < link->again)
		return EAGAIN;
	else
		err = log_link_begin(link) ?: EAGAIN;
	if (err == EAGAIN)
		return err;
	*answer = link->answer;
	log_link_close(link);
	link->again = log_link_now() + RETRY_MS;
	return err;
}

static int log_link_claim(void *ctx, const struct log_ask *ask,
			  struct log_answer *answer, uint32_t ms)
{
	struct log_link *link = ctx;
	int err;

	log_link_close(link);
	err = log_link_begin(link) ?: EAGAIN;
	if (ms)
		link->until = log_link_now() + ms;
	while (err == EAGAIN)
		err = log_link_advance(link, ask, true);
	*answer = link->answer;
	if (err || answer->verdict != LOG_GRANTED)
		log_link_close(link);
	return err;
}

/*
 * rdma_cm reports that the target's end of the connection closes, for instance when
 * the process there is killed. The queue pair would notice by its retries only; this
 * makes it flush its requests.
 */
static void log_link_watch(void *ctx)
{
	struct log_link *link = ctx;
	struct rdma_cm_event *event;

	if (++link->turns % WATCH_TURNS ||
	    rdma_get_cm_event(link->events, &event))
		return;
	if (event->event == RDMA_CM_EVENT_DISCONNECTED)
		rdma_disconnect(link->id);
	rdma_ack_cm_event(event);
}

static void log_link_lost(void *ctx, int err, uint32_t status)
{
	const struct log_link *link = ctx;

	fprintf(stderr, "%s: %s,%s: lost: %s\n", program_invocation_short_name,
		link->address, link->port, err ? strerror(err) :
		ibv_wc_status_str((enum ibv_wc_status)status));
}

static struct log_link *log_nic_link(const struct log_nic *nic, uint32_t qpn)
{
	struct log_link *link = nic->links;

	while (link && link->id->qp->qp_num != qpn)
		link = link->next;
	return link;
}

/* A write counts as a record does, whatever the target has said about itself. */
static void log_link_written(struct log_link *link, uint32_t durability)
{
	uint32_t weakest = link->nic->durability;

	if (!weakest || (durability && durability <= weakest)) {
		link->completed++;
		return;
	}
	if (!link->broken)
		fprintf(stderr, "%s: %s,%s: keeps nothing, as its answers say\n",
			program_invocation_short_name, link->address, link->port);
	link->broken = true;
}

static int log_nic_poll(struct log_nic *nic)
{
	struct cairndv_persist_info info;
	struct log_link *link;
	struct ibv_wc wc;
	int n;

	while ((n = cairndv_poll_cq(nic->cq, 1, &wc, &info)) > 0) {
		link = log_nic_link(nic, wc.qp_num);
		if (!link)
			continue;
		if (wc.status != IBV_WC_SUCCESS)
			link->broken = true;
		else if (wc.wr_id != OWN_WR_ID)
			;	/* a record of a group that is no more */
		else if (wc.opcode == IBV_WC_RDMA_READ)
			link->reading = false;
		else
			log_link_written(link, info.durability);
	}
	return n < 0 ? EIO : 0;
}

static int log_link_poll(void *ctx, uint64_t *completed)
{
	struct log_link *link = ctx;
	int err;

	if (!link->id)
		return ENOTCONN;
	log_link_watch(link);
	err = log_nic_poll(link->nic);
	*completed = link->completed;
	return link->broken ? EIO : err;
}

static int log_link_post(struct log_link *link, enum ibv_wr_opcode opcode,
			 uint64_t offset, const void *buffer, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buffer,
		.length = length,
		.lkey = link->nic->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = OWN_WR_ID,
		.sg_list = &sge,
		.num_sge = length ? 1 : 0,
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

static void log_link_path(void *ctx, struct log_path *path)
{
	const struct log_link *link = ctx;

	*path = (struct log_path){
		.qp = link->id->qp,
		.addr = link->answer.addr,
		.rkey = link->answer.rkey,
		.lkey = link->nic->mr->lkey,
	};
}

static void log_link_leave(void *ctx)
{
	log_link_close(ctx);
}

const struct log_link_ops log_link_ops = {
	.probe = log_link_probe,
	.claim = log_link_claim,
	.read = log_link_read,
	.write = log_link_write,
	.poll = log_link_poll,
	.path = log_link_path,
	.watch = log_link_watch,
	.close = log_link_leave,
	.lost = log_link_lost,
	.now = log_link_now,
};
