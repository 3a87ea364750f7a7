// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Direct verbs that only query. */
#include <errno.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"
#include "fixture_qp.h"

/* A device of another provider, and one that no driver has claimed. */
static void other_devices(void)
{
	static const struct verbs_device_ops other;
	struct verbs_device vdev = { .ops = &other };
	struct cairndv_qp_attr attr;
	struct ibv_device *ours;

	open_qp();
	ktap_ok(!cairndv_is_supported(NULL));
	ktap_ok(!cairndv_is_supported(&vdev.device));
	vdev.ops = NULL;
	ktap_ok(!cairndv_is_supported(&vdev.device));
	ours = ctx->device;
	ktap_ok(cairndv_is_supported(ours));
	ctx->device = &vdev.device;
	ktap_eq(cairndv_query_qp(qp, &attr, sizeof(attr)), EOPNOTSUPP);
	ctx->device = ours;
	close_qp();
}

static void queues(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rwr = {}, *bad_recv;
	struct cairndv_qp_attr attr;

	open_qp();
	memset(&attr, 0xff, sizeof(attr));
	ktap_eq(cairndv_query_qp(qp, &attr, sizeof(attr)), 0);
	ktap_eq(attr.comp_mask, 0);
	ktap_eq(attr.sq.state, CAIRNDV_QUEUE_READY);
	ktap_eq(attr.sq.depth, 64);
	ktap_eq(attr.rq.depth, 16);
	ktap_eq(attr.sq.used, 0);
	for (int i = 0; i < 3; i++)
		ktap_eq(fake.ops.post_send(qp, &wr, &bad), 0);
	ktap_eq(fake.ops.post_recv(qp, &rwr, &bad_recv), 0);
	fake_sq(qp)->dev->index++;
	fake_rq(qp)->dev->state = CAIRN_QUEUE_ERROR;
	fake_rq(qp)->dev->generation = 7;
	ktap_eq(cairndv_query_qp(qp, &attr, sizeof(attr)), 0);
	ktap_eq(attr.sq.used, 2);
	ktap_eq(attr.sq.generation, 0);
	ktap_eq(attr.rq.used, 1);
	ktap_eq(attr.rq.state, CAIRNDV_QUEUE_ERROR);
	ktap_eq(attr.rq.generation, 7);
	close_qp();
}

/* Callers of earlier and later versions of the structure. */
static void sizes(void)
{
	struct {
		struct cairndv_qp_attr attr;
		uint64_t later;
	} room;
	size_t short_size = offsetof(struct cairndv_qp_attr, rq);

	open_qp();
	memset(&room, 0x55, sizeof(room));
	ktap_eq(cairndv_query_qp(qp, &room.attr, short_size), 0);
	ktap_eq(room.attr.sq.depth, 64);
	ktap_eq(room.attr.rq.depth, 0x55555555);
	ktap_eq(cairndv_query_qp(qp, &room.attr, sizeof(room)), 0);
	ktap_eq(room.attr.rq.depth, 16);
	ktap_eq(room.later, 0);
	close_qp();
}

static void no_receive_queue(void)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { 4, 1, 0 } };
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 1 },
	};
	struct cairndv_qp_attr got;
	struct ibv_qp *srq_qp;

	open_qp();
	attr.send_cq = cq;
	attr.recv_cq = cq;
	attr.srq = fake.ops.create_srq(pd, &srq_attr);
	srq_qp = fake.ops.create_qp(pd, &attr);
	ktap_eq(cairndv_query_qp(srq_qp, &got, sizeof(got)), 0);
	ktap_eq(got.sq.state, CAIRNDV_QUEUE_READY);
	ktap_eq(got.rq.state, CAIRNDV_QUEUE_NONE);
	ktap_eq(got.rq.depth, 0);
	ktap_eq(fake.ops.destroy_qp(srq_qp), 0);
	ktap_eq(fake.ops.destroy_srq(attr.srq), 0);
	close_qp();
}

static void loopback(void)
{
	open_qp();
	ktap_eq(cairndv_set_loopback(ctx, CAIRNDV_LOOPBACK_OFF), 0);
	ktap_eq(fake.set_loopback.mode, CAIRN_LOOPBACK_OFF);
	ktap_eq(fake.set_loopback.reserved, 0);
	ktap_eq(cairndv_set_loopback(ctx, CAIRNDV_LOOPBACK_HOST), 0);
	ktap_eq(fake.set_loopback.mode, CAIRN_LOOPBACK_HOST);
	fake.ioctl_errors[0] = EPERM;
	ktap_eq(cairndv_set_loopback(ctx, CAIRNDV_LOOPBACK_SELF), EPERM);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_set_loopback(ctx, CAIRNDV_LOOPBACK_SELF), EOPNOTSUPP);
	close_qp();
}

static void fabric(void)
{
	open_qp();
	ktap_eq(cairndv_set_fabric(ctx, "a-name.of_15-by"), 0);
	ktap_ok(!strcmp(fake.set_fabric.name, "a-name.of_15-by"));
	ktap_eq(cairndv_set_fabric(ctx, "a-name.of_16-byt"), EINVAL);
	ktap_ok(!strcmp(fake.set_fabric.name, "a-name.of_15-by"));
	ktap_eq(cairndv_set_fabric(ctx, NULL), 0);
	ktap_eq(fake.set_fabric.name[0], 0);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_set_fabric(ctx, "one"), EOPNOTSUPP);
	ktap_eq(cairndv_set_capture(ctx, CAIRNDV_CAPTURE_KEEP), 0);
	ktap_eq(fake.set_capture.mode, CAIRN_CAPTURE_KEEP);
	ktap_eq(fake.set_capture.reserved, 0);
	fake.ioctl_errors[0] = EPERM;
	ktap_eq(cairndv_set_capture(ctx, CAIRNDV_CAPTURE_YIELD), EPERM);
	close_qp();
}

static void persistent(void)
{
	open_qp();
	ktap_eq(cairndv_set_persistent(ctx, CAIRNDV_PERSISTENT_AUTO), 0);
	ktap_eq(fake.set_persistent.mode, CAIRN_PERSISTENT_AUTO);
	ktap_eq(fake.set_persistent.reserved, 0);
	fake.ioctl_errors[0] = EPERM;
	ktap_eq(cairndv_set_persistent(ctx, CAIRNDV_PERSISTENT_DECLARED), EPERM);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_set_persistent(ctx, CAIRNDV_PERSISTENT_DECLARED), EOPNOTSUPP);
	close_qp();
}

static void idle_time(void)
{
	static const struct verbs_device_ops other;
	struct verbs_device vdev = { .ops = &other };
	struct ibv_device *ours;

	open_qp();
	ktap_eq(cairndv_set_idle_time(ctx, 70), 0);
	ktap_eq(fake.set_idle.us, 70);
	ktap_eq(fake.set_idle.reserved, 0);
	ktap_eq(cairndv_set_idle_time(ctx, CAIRNDV_IDLE_DEFAULT), 0);
	ktap_eq(fake.set_idle.us, CAIRN_IDLE_DEFAULT);
	fake.ioctl_errors[0] = EPERM;
	ktap_eq(cairndv_set_idle_time(ctx, 1), EPERM);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_set_idle_time(ctx, 1), EOPNOTSUPP);
	ours = ctx->device;
	ctx->device = &vdev.device;
	ktap_eq(cairndv_set_idle_time(ctx, 1), EOPNOTSUPP);
	ctx->device = ours;
	close_qp();
}

static void peer(void)
{
	static const struct verbs_device_ops other;
	struct verbs_device vdev = { .ops = &other };
	struct cairndv_peer_attr attr;
	struct ibv_device *ours;

	open_qp();
	fake.peer_caps = (struct cairn_peer_caps) {
		.known = 1, .persist_domains = 5, .persist_atomic_unit = 8,
		.max_persist_outstanding = 64, .max_msg = 1ull << 31,
		.abilities = 1,
	};
	memset(&attr, 0xff, sizeof(attr));
	ktap_eq(cairndv_query_peer(qp, &attr, sizeof(attr), 700), 0);
	ktap_eq(fake.method_qp, qp->handle);
	ktap_eq(fake.query_peer.timeout_ms, 700);
	ktap_eq(fake.query_peer.reserved, 0);
	ktap_eq(attr.comp_mask, 0);
	ktap_eq(attr.known, 1);
	ktap_eq(attr.persist_domains, 5);
	ktap_eq(attr.persist_atomic_unit, 8);
	ktap_eq(attr.max_persist_outstanding, 64);
	ktap_eq(attr.max_persist_msg, 1ull << 31);
	ktap_eq(attr.abilities, CAIRNDV_PEER_PERSIST_IMM);
	fake.ioctl_errors[0] = ETIMEDOUT;
	ktap_eq(cairndv_query_peer(qp, &attr, sizeof(attr), 1), ETIMEDOUT);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_query_peer(qp, &attr, sizeof(attr), 1), EOPNOTSUPP);
	ours = ctx->device;
	ctx->device = &vdev.device;
	ktap_eq(cairndv_query_peer(qp, &attr, sizeof(attr), 1), EOPNOTSUPP);
	ctx->device = ours;
	close_qp();
}

static const struct ktap_test tests[] = {
	KTAP(other_devices),
	KTAP(queues),
	KTAP(sizes),
	KTAP(no_receive_queue),
	KTAP(idle_time),
	KTAP(loopback),
	KTAP(fabric),
	KTAP(persistent),
	KTAP(peer),
};

KTAP_MAIN(tests)
