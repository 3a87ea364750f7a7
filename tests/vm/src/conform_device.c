// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Devices, contexts, tables of a port, and asynchronous events. */
#include "conform.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>

STATEMENT(opened_twice, "ibv_open_device(3)",
	  "A device may be opened several times; the end of one context leaves the objects of others.")
{
	struct ibv_context *ctx = ibv_open_device(dev[0].ctx->device);
	struct ibv_pd *pd;

	must(ctx && ctx != dev[0].ctx);
	pd = ibv_alloc_pd(ctx);
	must(pd);
	open_ends(IBV_QPT_RC);
	must(!ibv_dealloc_pd(pd));
	ktap_eq(ibv_close_device(ctx), 0);
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(guids_agree, "ibv_get_device_guid(3)",
	  "The GUID of the device list is that of ibv_query_device().")
{
	struct ibv_device_attr attr;

	must(!ibv_query_device(dev[0].ctx, &attr));
	ktap_ok(attr.node_guid != 0);
	ktap_ok(attr.node_guid == ibv_get_device_guid(dev[0].ctx->device));
}

STATEMENT(ports_of_ethernet, "ibv_query_port(3)",
	  "A port of RoCE is of the link layer Ethernet and active while its netdev is.")
{
	struct ibv_port_attr port;

	must(!ibv_query_port(dev[0].ctx, 1, &port));
	ktap_eq(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	ktap_eq(port.state, IBV_PORT_ACTIVE);
	ktap_ok(port.active_mtu <= port.max_mtu);
	ktap_ok(port.flags & IBV_QPF_GRH_REQUIRED);
}

STATEMENT(one_pkey, "IBTA 10.9, ibv_query_pkey(3)",
	  "The table of P_Keys has the default P_Key of a full member.")
{
	__be16 pkey;

	ktap_eq(ibv_query_pkey(dev[0].ctx, 1, 0, &pkey), 0);
	ktap_eq(pkey, htobe16(0xffff));
	ktap_eq(ibv_get_pkey_index(dev[0].ctx, 1, htobe16(0xffff)), 0);
	ktap_ok(ibv_get_pkey_index(dev[0].ctx, 1, htobe16(0x1234)) < 0);
}

STATEMENT(gids_have_types, "IBTA A17, ibv_query_gid_ex(3)",
	  "The GIDs of RoCEv2 are made of the addresses of the netdev, and have its type and index.")
{
	struct ibv_gid_entry entry;

	must(!ibv_query_gid_ex(dev[0].ctx, 1, dev[0].gid_index, &entry, 0));
	ktap_eq(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	ktap_eq(entry.port_num, 1);
	ktap_eq(entry.gid_index, dev[0].gid_index);
	ktap_ok(!memcmp(&entry.gid, &dev[0].gid, sizeof(entry.gid)));
}

STATEMENT(gid_table_is_the_same, "ibv_query_gid_table(3)",
	  "The table has the same entries as single queries.")
{
	struct ibv_gid_entry entries[64], one;
	ssize_t i, n;

	n = ibv_query_gid_table(dev[0].ctx, entries, 64, 0);
	ktap_ok(n > 0);
	for (i = 0; i < n; i++) {
		must(!ibv_query_gid_ex(dev[0].ctx, 1, entries[i].gid_index,
				       &one, 0));
		ktap_ok(!memcmp(&one, &entries[i], sizeof(one)));
	}
}

STATEMENT(no_event_without_blocking, "ibv_get_async_event(3)",
	  "With O_NONBLOCK a context without an event gives EAGAIN.")
{
	struct ibv_context *ctx = ibv_open_device(dev[0].ctx->device);
	struct ibv_async_event event;

	must(ctx && !fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK));
	errno = 0;
	ktap_eq(ibv_get_async_event(ctx, &event), -1);
	ktap_eq(errno, EAGAIN);
	must(!ibv_close_device(ctx));
}

/* The event SQ drained of a, not acknowledged. */
static struct ibv_async_event drained_event(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD,
				    .en_sqd_async_notify = 1 };
	struct ibv_async_event event;

	struct pollfd wait = { .fd = dev[0].ctx->async_fd, .events = POLLIN };

	must(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE |
			    IBV_QP_EN_SQD_ASYNC_NOTIFY));
	must(poll(&wait, 1, LONG) == 1);
	must(!ibv_get_async_event(dev[0].ctx, &event));
	return event;
}

STATEMENT(events_name_their_object, "ibv_get_async_event(3)",
	  "An event of a queue pair names it.")
{
	struct ibv_async_event event;

	open_ends(IBV_QPT_RC);
	event = drained_event();
	ktap_eq(event.event_type, IBV_EVENT_SQ_DRAINED);
	ktap_ok(event.element.qp == a.qp);
	ibv_ack_async_event(&event);
	close_ends();
}

static void *destroy_thread(void *done)
{
	ibv_destroy_qp(a.qp);
	__atomic_store_n((int *)done, 1, __ATOMIC_RELEASE);
	return NULL;
}

STATEMENT(destroy_waits_for_acks, "ibv_get_async_event(3)",
	  "The destruction of a queue pair waits until its events are acknowledged.")
{
	struct ibv_async_event event;
	pthread_t thread;
	int done = 0;

	open_ends(IBV_QPT_RC);
	event = drained_event();
	must(!pthread_create(&thread, NULL, destroy_thread, &done));
	usleep(BRIEF * 1000);
	ktap_eq(__atomic_load_n(&done, __ATOMIC_ACQUIRE), 0);
	ibv_ack_async_event(&event);
	must(!pthread_join(thread, NULL));
	ktap_eq(done, 1);
	a.qp = NULL;
	close_ends();
}

STATEMENT(destroyed_has_no_events, "ibv_destroy_qp(3)",
	  "A destroyed queue pair leaves no event that was not read.")
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD,
				    .en_sqd_async_notify = 1 };

	open_ends(IBV_QPT_RC);
	must(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE |
			    IBV_QP_EN_SQD_ASYNC_NOTIFY));
	usleep(BRIEF * 1000);
	must(!ibv_destroy_qp(a.qp));
	a.qp = NULL;
	ktap_ok(!vt_async(&dev[0], IBV_EVENT_SQ_DRAINED, BRIEF));
	close_ends();
}

STATEMENT(events_of_the_owner, "IBTA 11.6.3.1",
	  "An event of a queue pair goes to the context that made it, to no other.")
{
	struct ibv_async_event event;
	struct vt_dev other = {};

	must(!vt_open(&other, vt_name_a(), VT_IPV4, -1));
	open_ends(IBV_QPT_RC);
	event = drained_event();
	ibv_ack_async_event(&event);
	ktap_ok(!vt_async(&other, IBV_EVENT_SQ_DRAINED, BRIEF));
	close_ends();
	vt_close(&other);
}

STATEMENT(raw_clock, "ibv_query_rt_values_ex(3)",
	  "The raw clock of a device goes on, in the unit of its completion time stamps.")
{
	struct ibv_values_ex first = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_values_ex second = first;

	must(!ibv_query_rt_values_ex(dev[0].ctx, &first));
	usleep(10000);
	must(!ibv_query_rt_values_ex(dev[0].ctx, &second));
	ktap_eq(second.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	ktap_ok((second.raw_clock.tv_sec - first.raw_clock.tv_sec) * 1000000000ll +
		second.raw_clock.tv_nsec - first.raw_clock.tv_nsec >= 10000000);
}

static int made_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = a.scq, .recv_cq = a.rcq,
		.cap = { 1, 1, 1, 1, 0 },
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(dev[0].pd, &init);
	return qp ? ibv_destroy_qp(qp) : errno;
}

STATEMENT(no_raw_packets, "ibv_query_device_ex(3)",
	  "A device without raw_packet_caps refuses raw packet queue pairs.")
{
	struct ibv_device_attr_ex ex;

	open_ends(IBV_QPT_RC);
	must(!ibv_query_device_ex(dev[0].ctx, NULL, &ex));
	ktap_eq(ex.raw_packet_caps, 0);
	ktap_eq(made_qp(IBV_QPT_RAW_PACKET), EOPNOTSUPP);
	ktap_eq(made_qp(IBV_QPT_RC), 0);
	close_ends();
}

STATEMENT(alternate_paths, "IBTA 17.2.8, ibv_query_device(3)",
	  "A device without IBV_DEVICE_AUTO_PATH_MIG refuses an alternate path.")
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .alt_port_num = 1, .alt_timeout = 14,
		.path_mig_state = IBV_MIG_REARM,
	};
	struct ibv_device_attr device;

	must(!ibv_query_device(dev[0].ctx, &device));
	ktap_ok(!(device.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG));
	open_ends(IBV_QPT_RC);
	attr.alt_ah_attr = (struct ibv_ah_attr){
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = dev[1].gid, .sgid_index = dev[0].gid_index },
	};
	ktap_ok(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_ALT_PATH));
	ktap_ok(state_is(&a, IBV_QPS_RTS));
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	close_ends();
}
