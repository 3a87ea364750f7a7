// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connections by librdmacm: addresses, private data, refusals, ends. */
#include "conform.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <infiniband/ib.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sched.h>

/* Sizes of private data (IBTA 12.6.5 and the following), without the RDMA IP CM
 * service's own header in the request (A11).
 */
#define REQ_DATA	56
#define REP_DATA	196
#define REJ_DATA	148

/* Reasons of a REJ, IBTA 12.6.7.2 */
#define REJ_SERVICE_ID	8
#define REJ_CONSUMER	28

/* One end: identifiers of a channel are made in one network namespace. */
struct cm_side {
	const char *netns, *address;
	struct rdma_event_channel *chan;
	struct rdma_cm_id *id;
};

static struct cm_side client = { .netns = "/run/netns/a", .address = "10.77.0.1" };
static struct cm_side server = { .netns = "/run/netns/b", .address = "10.77.0.2" };

/* An event, and the identifier of a request: copies, as the event is acknowledged. */
struct cm_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id, *listener;
	struct rdma_conn_param conn;
	struct rdma_ud_param ud;
	u8 data[256];
};

static void enter_netns(const struct cm_side *side)
{
	int fd = open(side->netns, O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && !setns(fd, CLONE_NEWNET));
	close(fd);
}

static struct rdma_cm_id *new_id(struct cm_side *side, enum rdma_port_space space)
{
	struct rdma_cm_id *id = NULL;

	enter_netns(side);
	must(!rdma_create_id(side->chan, &id, side, space));
	return id;
}

static void open_side(struct cm_side *side, enum rdma_port_space space)
{
	side->chan = rdma_create_event_channel();
	must(side->chan && !fcntl(side->chan->fd, F_SETFL, O_NONBLOCK));
	side->id = new_id(side, space);
}

static void close_side(struct cm_side *side)
{
	if (side->id->qp)
		rdma_destroy_qp(side->id);
	ktap_ok(!rdma_destroy_id(side->id));
	rdma_destroy_event_channel(side->chan);
}

static struct sockaddr_in ipv4_of(const char *address, u16 port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = port };

	must(inet_pton(AF_INET, address, &in.sin_addr) == 1);
	return in;
}

/* @port in network byte order; returns 0 or errno */
static int bind_to(struct rdma_cm_id *id, const char *address, u16 port)
{
	struct sockaddr_in in = ipv4_of(address, port);

	return rdma_bind_addr(id, (struct sockaddr *)&in) ? errno : 0;
}

static bool no_cm_event(const struct cm_side *side)
{
	struct pollfd waiting = { .fd = side->chan->fd, .events = POLLIN };

	return !poll(&waiting, 1, BRIEF);
}

static bool cm_event_waits(const struct cm_side *side)
{
	struct pollfd waiting = { .fd = side->chan->fd, .events = POLLIN };

	return poll(&waiting, 1, LONG) == 1;
}

static struct cm_event next_event(const struct cm_side *side)
{
	struct rdma_cm_event *event;
	struct cm_event copy = {};
	size_t len;

	must(cm_event_waits(side));
	must(!rdma_get_cm_event(side->chan, &event));
	copy.type = event->event;
	copy.status = event->status;
	copy.id = event->id;
	copy.listener = event->listen_id;
	copy.conn = event->param.conn;
	if (event->id->ps == RDMA_PS_UDP) {
		copy.ud = event->param.ud;
		len = event->param.ud.private_data_len;
		if (len)
			memcpy(copy.data, event->param.ud.private_data, len);
	} else {
		len = event->param.conn.private_data_len;
		if (len)
			memcpy(copy.data, event->param.conn.private_data, len);
	}
	rdma_ack_cm_event(event);
	return copy;
}

static struct cm_event expect_event(const struct cm_side *side,
				    enum rdma_cm_event_type type)
{
	struct cm_event event = next_event(side);

	if (event.type != type)
		ktap_fail_at(__FILE__, __LINE__, "%s (%d), not %s",
			     rdma_event_str(event.type), event.status,
			     rdma_event_str(type));
	must(event.type == type);
	return event;
}

/* The server is bound to a port of its own. */
static void open_server(enum rdma_port_space space)
{
	open_side(&server, space);
	must(!bind_to(server.id, server.address, 0));
}

/* ... and the client has an identifier. */
static void open_sides(enum rdma_port_space space)
{
	open_server(space);
	must(!rdma_listen(server.id, 8));
	open_side(&client, space);
}

static void close_sides(void)
{
	close_side(&client);
	close_side(&server);
}

static int resolve_to(struct rdma_cm_id *id, const char *address, u16 port, int ms)
{
	struct sockaddr_in in = ipv4_of(address, port);

	return rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, ms) ? errno : 0;
}

static void resolve_address(const struct cm_side *side, u16 port)
{
	must(!resolve_to(side->id, server.address, port, 2000));
	expect_event(side, RDMA_CM_EVENT_ADDR_RESOLVED);
}

static void resolve_port(const struct cm_side *side, u16 port)
{
	resolve_address(side, port);
	must(!rdma_resolve_route(side->id, 2000));
	expect_event(side, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static void create_qp_of(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	must(!rdma_create_qp(id, NULL, &init));
}

static struct rdma_conn_param param_with(const u8 *data, u8 len)
{
	return (struct rdma_conn_param){
		.responder_resources = 3, .initiator_depth = 2,
		.retry_count = 3, .rnr_retry_count = 3,
		.private_data = data, .private_data_len = len,
	};
}

static struct rdma_conn_param plain_param(void)
{
	return param_with(NULL, 0);
}

/* Return: 0 or errno. */
static int connect_with(const struct cm_side *side, struct rdma_conn_param param)
{
	resolve_port(side, rdma_get_src_port(server.id));
	create_qp_of(side->id);
	return rdma_connect(side->id, &param) ? errno : 0;
}

/* A request of the client; returns what the server got. */
static struct cm_event open_request_with(enum rdma_port_space space,
					 struct rdma_conn_param param)
{
	open_sides(space);
	must(!connect_with(&client, param));
	return expect_event(&server, RDMA_CM_EVENT_CONNECT_REQUEST);
}

static struct cm_event open_request(enum rdma_port_space space)
{
	return open_request_with(space, plain_param());
}

static void accept_with(struct rdma_cm_id *id, struct rdma_conn_param param)
{
	create_qp_of(id);
	param.qp_num = id->qp->qp_num;
	must(!rdma_accept(id, &param));
}

/* Both ends connected; returns the server's identifier. */
static struct rdma_cm_id *connect_sides(void)
{
	struct cm_event request = open_request(RDMA_PS_TCP);

	accept_with(request.id, plain_param());
	expect_event(&client, RDMA_CM_EVENT_ESTABLISHED);
	expect_event(&server, RDMA_CM_EVENT_ESTABLISHED);
	return request.id;
}

static void destroy_accepted(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	ktap_ok(!rdma_destroy_id(id));
}

/* @accepted: the server's end of the connection, or of a request */
static void close_all(struct rdma_cm_id *accepted)
{
	destroy_accepted(accepted);
	close_sides();
}

/* Bind another identifier to the server's port; returns 0 or errno. */
static int bind_other(enum rdma_port_space space)
{
	struct rdma_cm_id *other = new_id(&server, space);
	int err = bind_to(other, server.address, rdma_get_src_port(server.id));

	rdma_destroy_id(other);
	return err;
}

static void disconnect_both(struct rdma_cm_id *accepted)
{
	ktap_ok(!rdma_disconnect(client.id));
	expect_event(&server, RDMA_CM_EVENT_DISCONNECTED);
	ktap_ok(!rdma_disconnect(accepted));
	expect_event(&client, RDMA_CM_EVENT_DISCONNECTED);
}

STATEMENT(cm_binds_any_port, "rdma_bind_addr(3)",
	  "Port 0 binds to a free port, which rdma_get_src_port() tells.")
{
	open_server(RDMA_PS_TCP);
	ktap_ok(rdma_get_src_port(server.id));
	close_side(&server);
}

STATEMENT(cm_bind_gives_device, "rdma_bind_addr(3)",
	  "The address of a host selects the device; the unspecified address selects none.")
{
	struct rdma_cm_id *any;

	open_server(RDMA_PS_TCP);
	must(server.id->verbs);
	ktap_ok(!strcmp(ibv_get_device_name(server.id->verbs->device),
			ibv_get_device_name(dev[1].ctx->device)));
	ktap_eq(server.id->port_num, 1);
	any = new_id(&server, RDMA_PS_TCP);
	ktap_eq(bind_to(any, "0.0.0.0", 0), 0);
	ktap_ok(!any->verbs);
	rdma_destroy_id(any);
	close_side(&server);
}

STATEMENT(cm_port_in_use, "rdma_bind_addr(3)",
	  "A port that is in use is refused with EADDRINUSE.")
{
	open_server(RDMA_PS_TCP);
	ktap_eq(bind_other(RDMA_PS_TCP), EADDRINUSE);
	close_side(&server);
}

STATEMENT(cm_port_is_free_again, "rdma_destroy_id(3)",
	  "The port of an identifier that was destroyed can be bound again.")
{
	u16 port;

	open_server(RDMA_PS_TCP);
	port = rdma_get_src_port(server.id);
	must(!rdma_destroy_id(server.id));
	server.id = new_id(&server, RDMA_PS_TCP);
	ktap_eq(bind_to(server.id, server.address, port), 0);
	close_side(&server);
}

STATEMENT(cm_port_spaces, "rdma_create_id(3)",
	  "RDMA_PS_TCP and RDMA_PS_UDP have ports of their own.")
{
	open_server(RDMA_PS_TCP);
	ktap_eq(bind_other(RDMA_PS_UDP), 0);
	close_side(&server);
}

STATEMENT(cm_reused_port, "rdma_set_option(3)",
	  "With RDMA_OPTION_ID_REUSEADDR on both, two identifiers have one port; one listens when it has the port alone.")
{
	struct rdma_cm_id *other;
	int on = 1;

	open_side(&server, RDMA_PS_TCP);
	ktap_ok(!rdma_set_option(server.id, RDMA_OPTION_ID,
				 RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	must(!bind_to(server.id, server.address, 0));
	other = new_id(&server, RDMA_PS_TCP);
	ktap_ok(!rdma_set_option(other, RDMA_OPTION_ID,
				 RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	ktap_eq(bind_to(other, server.address, rdma_get_src_port(server.id)), 0);
	errno = 0;
	ktap_ok(rdma_listen(server.id, 1) && errno == EADDRINUSE);
	rdma_destroy_id(other);
	ktap_ok(!rdma_listen(server.id, 1));
	close_side(&server);
}

STATEMENT(cm_foreign_address, "rdma_bind_addr(3)",
	  "An address that the host does not have is refused.")
{
	int err;

	open_side(&server, RDMA_PS_TCP);
	err = bind_to(server.id, "10.77.0.77", 0);
	ktap_ok(err == EADDRNOTAVAIL || err == ENODEV);
	close_side(&server);
}

STATEMENT(cm_no_ib_addresses, "rdma_bind_addr(3)",
	  "AF_IB addresses are refused, because a RoCE port has none.")
{
	struct sockaddr_storage ib = { .ss_family = AF_IB };

	memcpy((u8 *)&ib + offsetof(struct sockaddr_ib, sib_addr), &dev[1].gid, 16);
	open_side(&server, RDMA_PS_IB);
	errno = 0;
	ktap_ok(rdma_bind_addr(server.id, (struct sockaddr *)&ib) && errno);
	close_side(&server);
}

STATEMENT(cm_unknown_options, "rdma_set_option(3)",
	  "Unknown levels and options, and options of a wrong size, are refused.")
{
	u64 value = 0;

	open_side(&server, RDMA_PS_TCP);
	ktap_ok(rdma_set_option(server.id, 77, 0, &value, 4));
	ktap_ok(rdma_set_option(server.id, RDMA_OPTION_ID, 77, &value, 4));
	ktap_ok(rdma_set_option(server.id, RDMA_OPTION_ID,
				RDMA_OPTION_ID_REUSEADDR, &value, 3));
	ktap_ok(rdma_set_option(server.id, RDMA_OPTION_ID,
				RDMA_OPTION_ID_TOS, &value, 3));
	close_side(&server);
}

STATEMENT(cm_no_event_yet, "rdma_get_cm_event(3)",
	  "A channel that does not block gives EAGAIN while it has no event.")
{
	struct rdma_cm_event *event;

	open_side(&server, RDMA_PS_TCP);
	errno = 0;
	ktap_ok(rdma_get_cm_event(server.chan, &event) && errno == EAGAIN);
	close_side(&server);
}

STATEMENT(cm_resolves_address, "rdma_resolve_addr(3)",
	  "A resolved address binds the identifier to a device and a source address.")
{
	struct sockaddr_in *own;

	open_sides(RDMA_PS_TCP);
	resolve_address(&client, htons(7));
	must(client.id->verbs);
	ktap_ok(!strcmp(ibv_get_device_name(client.id->verbs->device),
			ibv_get_device_name(dev[0].ctx->device)));
	own = (struct sockaddr_in *)rdma_get_local_addr(client.id);
	ktap_eq(own->sin_addr.s_addr, ipv4_of(client.address, 0).sin_addr.s_addr);
	ktap_eq(rdma_get_dst_port(client.id), htons(7));
	close_sides();
}

STATEMENT(cm_absent_neighbour, "rdma_resolve_addr(3)",
	  "An address without a host gives ADDR_ERROR when the time is over.")
{
	open_side(&client, RDMA_PS_TCP);
	must(!resolve_to(client.id, "10.77.0.99", htons(7), 300));
	ktap_ok(expect_event(&client, RDMA_CM_EVENT_ADDR_ERROR).status < 0);
	close_side(&client);
}

STATEMENT(cm_no_route_to_host, "rdma_resolve_addr(3)",
	  "An address without a route gives an error, by the call or an event.")
{
	int err;

	open_side(&client, RDMA_PS_TCP);
	err = resolve_to(client.id, "192.0.2.1", htons(7), 300);
	if (!err)
		expect_event(&client, RDMA_CM_EVENT_ADDR_ERROR);
	close_side(&client);
}

STATEMENT(cm_resolves_again, "rdma_resolve_addr(3)",
	  "An identifier whose resolution failed can resolve another address.")
{
	open_sides(RDMA_PS_TCP);
	must(!resolve_to(client.id, "10.77.0.99", htons(7), 300));
	expect_event(&client, RDMA_CM_EVENT_ADDR_ERROR);
	resolve_port(&client, rdma_get_src_port(server.id));
	close_sides();
}

STATEMENT(cm_order_of_calls, "rdma_connect(3)",
	  "A connection needs a route, and an acceptance needs a request: EINVAL.")
{
	struct rdma_conn_param param = plain_param();

	open_sides(RDMA_PS_TCP);
	resolve_address(&client, rdma_get_src_port(server.id));
	create_qp_of(client.id);
	errno = 0;
	ktap_ok(rdma_connect(client.id, &param) && errno == EINVAL);
	errno = 0;
	ktap_ok(rdma_accept(client.id, &param) && errno == EINVAL);
	ktap_ok(no_cm_event(&server));
	close_sides();
}

STATEMENT(cm_no_listener, "IBTA 12.6.7.2",
	  "A request to a port at which no program listens is rejected with the reason \"invalid service ID\".")
{
	struct rdma_conn_param param = plain_param();

	open_sides(RDMA_PS_TCP);
	resolve_port(&client, htons(9));
	create_qp_of(client.id);
	must(!rdma_connect(client.id, &param));
	ktap_eq(expect_event(&client, RDMA_CM_EVENT_REJECTED).status,
		REJ_SERVICE_ID);
	close_sides();
}

STATEMENT(cm_data_of_request, "rdma_connect(3)",
	  "56 bytes of private data come with a request.")
{
	struct cm_event request;
	u8 data[REQ_DATA];

	vt_fill(data, sizeof(data), 1);
	request = open_request_with(RDMA_PS_TCP, param_with(data, sizeof(data)));
	ktap_eq(request.conn.private_data_len, sizeof(data));
	ktap_ok(!memcmp(request.data, data, sizeof(data)));
	ktap_ok(request.listener == server.id);
	close_all(request.id);
}

STATEMENT(cm_long_data_of_request, "rdma_connect(3)",
	  "A request with more private data is refused.")
{
	u8 data[REQ_DATA + 1] = {};

	open_sides(RDMA_PS_TCP);
	ktap_eq(connect_with(&client, param_with(data, sizeof(data))), EINVAL);
	ktap_ok(no_cm_event(&server));
	close_sides();
}

STATEMENT(cm_resources_of_request, "rdma_connect(3)",
	  "A request tells the READs and atomics that each side may have outstanding, as the other side sees them.")
{
	struct cm_event request = open_request(RDMA_PS_TCP);
	struct rdma_conn_param param = plain_param();

	ktap_eq(request.conn.responder_resources, param.initiator_depth);
	ktap_eq(request.conn.initiator_depth, param.responder_resources);
	close_all(request.id);
}

STATEMENT(cm_data_of_accept, "rdma_accept(3)",
	  "196 bytes of private data come with the acceptance.")
{
	struct cm_event request = open_request(RDMA_PS_TCP), established;
	u8 data[REP_DATA];

	vt_fill(data, sizeof(data), 2);
	accept_with(request.id, param_with(data, sizeof(data)));
	established = expect_event(&client, RDMA_CM_EVENT_ESTABLISHED);
	ktap_eq(established.conn.private_data_len, sizeof(data));
	ktap_ok(!memcmp(established.data, data, sizeof(data)));
	close_all(request.id);
}

STATEMENT(cm_data_of_reject, "rdma_reject(3)",
	  "A request that the program rejects gives REJECTED with the reason \"consumer\" and 148 bytes of private data.")
{
	struct cm_event request = open_request(RDMA_PS_TCP), rejected;
	u8 data[REJ_DATA];

	vt_fill(data, sizeof(data), 3);
	ktap_ok(!rdma_reject(request.id, data, sizeof(data)));
	rejected = expect_event(&client, RDMA_CM_EVENT_REJECTED);
	ktap_eq(rejected.status, REJ_CONSUMER);
	ktap_eq(rejected.conn.private_data_len, sizeof(data));
	ktap_ok(!memcmp(rejected.data, data, sizeof(data)));
	close_all(request.id);
}

STATEMENT(cm_request_dropped, "rdma_destroy_id(3)",
	  "A request whose identifier is destroyed without an answer is rejected.")
{
	struct cm_event request = open_request(RDMA_PS_TCP);

	ktap_ok(!rdma_destroy_id(request.id));
	ktap_eq(expect_event(&client, RDMA_CM_EVENT_REJECTED).status,
		REJ_CONSUMER);
	close_sides();
}

STATEMENT(cm_established, "rdma_accept(3)",
	  "After an acceptance both sides get ESTABLISHED, and their queue pairs are in RTS.")
{
	struct rdma_cm_id *accepted = connect_sides();

	ktap_eq(vt_state(client.id->qp), IBV_QPS_RTS);
	ktap_eq(vt_state(accepted->qp), IBV_QPS_RTS);
	close_all(accepted);
}

STATEMENT(cm_connected_addresses, "rdma_get_peer_addr(3)",
	  "Each end of a connection knows the addresses and ports of both.")
{
	struct rdma_cm_id *accepted = connect_sides();
	struct sockaddr_in *peer = (struct sockaddr_in *)rdma_get_peer_addr(accepted);

	ktap_eq(peer->sin_addr.s_addr, ipv4_of(client.address, 0).sin_addr.s_addr);
	ktap_eq(peer->sin_port, rdma_get_src_port(client.id));
	ktap_eq(rdma_get_src_port(accepted), rdma_get_dst_port(client.id));
	close_all(accepted);
}

STATEMENT(cm_connects_once, "rdma_connect(3)",
	  "A connected identifier cannot connect again.")
{
	struct rdma_cm_id *accepted = connect_sides();
	struct rdma_conn_param param = plain_param();

	errno = 0;
	ktap_ok(rdma_connect(client.id, &param) && errno == EINVAL);
	ktap_eq(vt_state(client.id->qp), IBV_QPS_RTS);
	close_all(accepted);
}

STATEMENT(cm_disconnect, "rdma_disconnect(3)",
	  "A disconnect ends both queue pairs, and both sides get DISCONNECTED.")
{
	struct rdma_cm_id *accepted = connect_sides();

	disconnect_both(accepted);
	ktap_eq(vt_state(client.id->qp), IBV_QPS_ERR);
	ktap_eq(vt_state(accepted->qp), IBV_QPS_ERR);
	close_all(accepted);
}

STATEMENT(cm_timewait, "IBTA 12.9.8.4",
	  "After a disconnect the connection waits, and TIMEWAIT_EXIT says that its queue pair may be used again.")
{
	struct rdma_cm_id *accepted = connect_sides();

	disconnect_both(accepted);
	expect_event(&client, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	expect_event(&server, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	close_all(accepted);
}

STATEMENT(cm_peer_destroys, "rdma_destroy_id(3)",
	  "An identifier that is destroyed ends its connection: the peer gets DISCONNECTED.")
{
	struct rdma_cm_id *accepted = connect_sides();

	destroy_accepted(accepted);
	expect_event(&client, RDMA_CM_EVENT_DISCONNECTED);
	close_sides();
}

STATEMENT(cm_moves_to_channel, "rdma_migrate_id(3)",
	  "An identifier that moves to another channel takes its events along.")
{
	struct cm_side moved = server;
	struct cm_event request;

	open_sides(RDMA_PS_TCP);
	moved.chan = rdma_create_event_channel();
	must(moved.chan && !fcntl(moved.chan->fd, F_SETFL, O_NONBLOCK));
	ktap_ok(!rdma_migrate_id(server.id, moved.chan));
	ktap_ok(server.id->channel == moved.chan);
	must(!connect_with(&client, plain_param()));
	request = expect_event(&moved, RDMA_CM_EVENT_CONNECT_REQUEST);
	ktap_ok(no_cm_event(&server));
	destroy_accepted(request.id);
	expect_event(&client, RDMA_CM_EVENT_REJECTED);
	rdma_destroy_event_channel(server.chan);
	server.chan = moved.chan;
	close_sides();
}

STATEMENT(cm_datagrams, "rdma_connect(3)",
	  "For RDMA_PS_UDP the connection tells the client number and Q_Key of the server's queue pair.")
{
	struct cm_event request = open_request(RDMA_PS_UDP), established;

	accept_with(request.id, plain_param());
	established = expect_event(&client, RDMA_CM_EVENT_ESTABLISHED);
	ktap_eq(established.ud.qp_num, request.id->qp->qp_num);
	ktap_eq(established.ud.qkey, RDMA_UDP_QKEY);
	ktap_ok(established.ud.ah_attr.is_global);
	close_all(request.id);
}

STATEMENT(cm_joins_group, "rdma_join_multicast(3)",
	  "A group that was joined has an address handle's attributes and the multicast queue pair number.")
{
	struct sockaddr_in group = ipv4_of("239.77.0.1", 0);
	struct cm_event joined;

	open_side(&client, RDMA_PS_UDP);
	must(!bind_to(client.id, client.address, 0));
	create_qp_of(client.id);
	must(!rdma_join_multicast(client.id, (struct sockaddr *)&group, &group));
	joined = expect_event(&client, RDMA_CM_EVENT_MULTICAST_JOIN);
	ktap_eq(joined.status, 0);
	ktap_eq(joined.ud.qp_num, 0xffffff);
	ktap_ok(joined.ud.ah_attr.is_global);
	ktap_ok(!rdma_leave_multicast(client.id, (struct sockaddr *)&group));
	errno = 0;
	ktap_ok(rdma_leave_multicast(client.id, (struct sockaddr *)&group) &&
		errno == EADDRNOTAVAIL);
	close_side(&client);
}

STATEMENT(cm_resolves_names, "rdma_getaddrinfo(3)",
	  "A numeric address resolves without a name service; an unknown port space or name gives an error.")
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST, .ai_port_space = RDMA_PS_TCP,
	}, *info = NULL;

	ktap_eq(rdma_getaddrinfo("10.77.0.2", "7471", &hints, &info), 0);
	must(info);
	ktap_eq(((struct sockaddr_in *)info->ai_dst_addr)->sin_port, htons(7471));
	ktap_eq(info->ai_qp_type, IBV_QPT_RC);
	rdma_freeaddrinfo(info);
	ktap_ok(rdma_getaddrinfo("no.such.name", "7471", &hints, &info));
}

STATEMENT(cm_synchronous_ids, "rdma_create_id(3)",
	  "Without a channel the calls wait for their events.")
{
	struct sockaddr_in in;
	struct rdma_cm_id *id;

	open_server(RDMA_PS_TCP);
	must(!rdma_listen(server.id, 1));
	enter_netns(&client);
	must(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	in = ipv4_of(server.address, rdma_get_src_port(server.id));
	ktap_ok(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 2000));
	ktap_ok(id->verbs);
	ktap_ok(!rdma_resolve_route(id, 2000));
	ktap_ok(!rdma_destroy_id(id));
	close_side(&server);
}

STATEMENT(cm_backlog, "rdma_listen(3)",
	  "Requests beyond the backlog wait until the program has taken an earlier one.")
{
	struct cm_event first, second;
	struct cm_side other = client;

	open_server(RDMA_PS_TCP);
	must(!rdma_listen(server.id, 1));
	open_side(&client, RDMA_PS_TCP);
	open_side(&other, RDMA_PS_TCP);
	must(!connect_with(&client, plain_param()));
	must(cm_event_waits(&server));
	must(!connect_with(&other, plain_param()));
	first = expect_event(&server, RDMA_CM_EVENT_CONNECT_REQUEST);
	/* repeated by its sender */
	second = expect_event(&server, RDMA_CM_EVENT_CONNECT_REQUEST);
	ktap_ok(first.id != second.id);
	destroy_accepted(first.id);
	destroy_accepted(second.id);
	close_side(&other);
	close_sides();
}
