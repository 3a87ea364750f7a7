// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Links of a session to targets that always answer. A call for an object of verbs may fail. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/cairndv.h>
#include <rdma/rdma_cma.h>

#include "ktap.h"
#include "log_link.h"

enum call {
	NOTHING, ALLOC_PD, CREATE_CHANNEL, CREATE_CQ, REG_MR, CREATE_QP,
};

static enum call fails;		/* once */
static int objects;		/* of verbs, that are there */
static int posted;

static int post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	ktap_ok(qp && wr->num_sge == 1);
	ktap_eq(wr->sg_list->lkey, 7);
	posted++;
	return 0;
}

static struct ibv_context verbs = { .ops.post_send = post };

static void *made(enum call call, void *object)
{
	if (fails == call) {
		fails = NOTHING;
		errno = ENOMEM;
		return NULL;
	}
	objects++;
	return object;
}

static int gone(void *object)
{
	ktap_ok(object);
	objects--;
	return 0;
}

/* ---- verbs ---- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	static struct ibv_pd pd;

	ktap_ok(context == &verbs);
	return made(ALLOC_PD, &pd);
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return gone(pd);
}

/* Its descriptor gets O_NONBLOCK. */
struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	static struct ibv_comp_channel channel;

	(void)context;
	if (fails != CREATE_CHANNEL)
		channel.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return made(CREATE_CHANNEL, &channel);
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	return gone(channel);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	static struct ibv_cq cq;

	(void)context;
	(void)cqe;
	(void)cq_context;
	(void)channel;
	(void)comp_vector;
	return made(CREATE_CQ, &cq);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return gone(cq);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	(void)channel;
	(void)cq;
	(void)context;
	return -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int events)
{
	(void)cq;
	(void)events;
}

static struct ibv_mr region = { .lkey = 7 };

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	ktap_ok(pd && addr && length);
	(void)access;
	return made(REG_MR, &region);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	return gone(mr);
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	(void)status;
	return "";
}

bool cairndv_is_supported(struct ibv_device *device)
{
	(void)device;
	return true;
}

int cairndv_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc,
		    struct cairndv_persist_info *info)
{
	(void)cq;
	(void)num;
	(void)wc;
	(void)info;
	return 0;
}

/* ---- connections ---- */

struct fake_id {
	struct rdma_cm_id id;	/* must be first */
	struct rdma_cm_event event;
	struct log_answer answer;
};

static struct fake_id *current;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct rdma_event_channel *events = calloc(1, sizeof(*events));
	int fds[2];

	/* it can always be read */
	ktap_ok(!pipe(fds));
	ktap_eq(write(fds[1], "", 1), 1);
	close(fds[1]);
	events->fd = fds[0];
	return events;
}

void rdma_destroy_event_channel(struct rdma_event_channel *events)
{
	close(events->fd);
	free(events);
}

int rdma_create_id(struct rdma_event_channel *events, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space port_space)
{
	struct fake_id *fake = calloc(1, sizeof(*fake));

	(void)events;
	(void)context;
	(void)port_space;
	fake->id.verbs = &verbs;
	*id = &fake->id;
	current = fake;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	free(id);
	return 0;
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **info)
{
	(void)node;
	(void)service;
	(void)hints;
	*info = calloc(1, sizeof(**info));
	return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *info)
{
	free(info);
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int ms)
{
	(void)id;
	(void)from;
	(void)to;
	(void)ms;
	current->event.event = RDMA_CM_EVENT_ADDR_RESOLVED;
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	(void)id;
	(void)ms;
	current->event.event = RDMA_CM_EVENT_ROUTE_RESOLVED;
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	ktap_ok(pd && attr->send_cq);
	id->qp = made(CREATE_QP, calloc(1, sizeof(*id->qp)));
	if (!id->qp)
		return -1;
	id->qp->context = &verbs;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	gone(id->qp);
	free(id->qp);
	id->qp = NULL;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	(void)id;
	(void)param;
	current->answer.verdict = LOG_GRANTED;
	current->event.event = RDMA_CM_EVENT_ESTABLISHED;
	current->event.param.conn.private_data = &current->answer;
	current->event.param.conn.private_data_len = sizeof(current->answer);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *events, struct rdma_cm_event **event)
{
	(void)events;
	*event = &current->event;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	return 0;
}

/* ---- the tests ---- */

/* The first link opens the device for all. When it fails, the next one has to do it. */
static void object_fails(void)
{
	static uint8_t buffers[64];
	const struct log_ask ask = {};
	struct log_answer answer;

	for (enum call call = ALLOC_PD; call < CREATE_QP; call++) {
		struct log_nic nic = {
			.buffers = buffers, .length = sizeof(buffers), .sleeps = true,
		};
		struct log_link first = { .address = "a", .port = "1", .nic = &nic };
		struct log_link second = { .address = "b", .port = "1", .nic = &nic };

		fails = call;
		posted = 0;
		ktap_eq(log_link_ops.claim(&first, &ask, &answer, 0), ENOMEM);
		ktap_eq(objects, 0);
		ktap_eq(log_link_ops.claim(&second, &ask, &answer, 0), 0);
		ktap_eq(log_link_ops.write(&second, 0, buffers, sizeof(buffers)), 0);
		ktap_eq(posted, 1);
		log_link_close(&first);
		log_link_close(&second);
		log_nic_close(&nic);
		ktap_eq(objects, 0);
	}
}

static const struct ktap_test tests[] = {
	KTAP(object_fails),
};

KTAP_MAIN(tests)
