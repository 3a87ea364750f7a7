// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The driver's own methods of RDMA_VERBS_IOCTL with wrong input: no context, values out of
 * range, reserved bits, unknown objects, no privilege, pointers to memory that is not
 * mapped. Each is refused with an errno that tells the reason, and changes nothing.
 * libcairn passes only some of this, so the calls are made here.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/cairn-abi.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define BUF		8192
#define NO_OBJECT	0x7fffff	/* as a handle */
#define NOWHERE		8		/* as a pointer */
/* Longer data lies behind a pointer. */
#define INLINED		sizeof(u64)

static struct vt_dev da, db;

/* --- calls ---------------------------------------------------------------- */

#define CALL_AT(fd, object, method, ...)				\
	vt_method(fd, CAIRN_OBJECT_##object, CAIRN_METHOD_##method,	\
		  (struct ib_uverbs_attr[]){ __VA_ARGS__ },		\
		  sizeof((struct ib_uverbs_attr[]){ __VA_ARGS__ }) /	\
		  sizeof(struct ib_uverbs_attr))

#define CALL(object, method, ...)					\
	CALL_AT(da.ctx->cmd_fd, object, method, __VA_ARGS__)

static struct ib_uverbs_attr attr_in(u16 id, const void *data, u16 size)
{
	struct ib_uverbs_attr attr = {
		.attr_id = id, .len = size, .flags = UVERBS_ATTR_F_MANDATORY,
		.data = (uintptr_t)data,
	};

	if (size <= INLINED)
		memcpy(&attr.data, data, size);
	return attr;
}

/* Data to read or to write behind a pointer. */
static struct ib_uverbs_attr attr_at(u16 id, u64 address, u16 size)
{
	return (struct ib_uverbs_attr) {
		.attr_id = id, .len = size, .flags = UVERBS_ATTR_F_MANDATORY,
		.data = address,
	};
}

static struct ib_uverbs_attr attr_out(u16 id, void *data, u16 size)
{
	return attr_at(id, (uintptr_t)data, size);
}

static struct ib_uverbs_attr attr_of(u16 id, u32 handle)
{
	return attr_at(id, handle, 0);
}

static struct cairn_device_caps caps_of(struct vt_dev *dev)
{
	struct cairn_device_caps caps = {};

	must(!CALL_AT(dev->ctx->cmd_fd, DEVICE, QUERY_DEVICE,
		      attr_out(CAIRN_ATTR_QUERY_DEVICE_CAPS, &caps, sizeof(caps))));
	return caps;
}

static struct cairn_cc cc_of(struct vt_dev *dev)
{
	struct cairn_cc cc = {};

	must(!CALL_AT(dev->ctx->cmd_fd, DEVICE, QUERY_CC,
		      attr_out(CAIRN_ATTR_QUERY_CC_OUT, &cc, sizeof(cc))));
	return cc;
}

static struct vt_end new_end(enum ibv_qp_type type)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end end = {};

	opts.type = type;
	must(!vt_end_create(&end, &da, &opts, BUF));
	return end;
}

/* --- tests ---------------------------------------------------------------- */

/* A file of the device that no process has made a context of. */
static void without_a_context(void)
{
	struct cairn_persist_done done[1] = {};
	struct cairn_device_caps caps;
	struct cairn_doorbell bell = {};
	struct cairn_set_idle idle = {};
	struct cairn_set_loopback loopback = {};
	struct cairn_set_fabric fabric = {};
	struct cairn_set_capture capture = {};
	struct cairn_set_persistent persistent = {};
	struct cairn_cc cc = {};
	char path[100];
	u32 us = 1;
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", da.ctx->device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	must(fd >= 0);
	ktap_eq(CALL_AT(fd, DEVICE, DOORBELL, attr_in(CAIRN_ATTR_DOORBELL, &bell, sizeof(bell))),
		EINVAL);
	ktap_eq(CALL_AT(fd, DEVICE, PERSIST_DONE,
			attr_in(CAIRN_ATTR_PERSIST_DONE, done, sizeof(done))), EINVAL);
	ktap_eq(CALL_AT(fd, DEVICE, QUERY_DEVICE,
			attr_out(CAIRN_ATTR_QUERY_DEVICE_CAPS, &caps, sizeof(caps))), EINVAL);
	ktap_eq(CALL_AT(fd, DEVICE, QUERY_CC, attr_out(CAIRN_ATTR_QUERY_CC_OUT, &cc, sizeof(cc))),
		EINVAL);
	ktap_eq(CALL_AT(fd, DEVICE, MODIFY_CC, attr_in(CAIRN_ATTR_MODIFY_CC_IN, &cc, sizeof(cc))),
		EINVAL);
	ktap_eq(CALL_AT(fd, TUNING, SET_IDLE, attr_in(CAIRN_ATTR_SET_IDLE, &idle, sizeof(idle))),
		EINVAL);
	ktap_eq(CALL_AT(fd, TUNING, SET_LOOPBACK,
			attr_in(CAIRN_ATTR_SET_LOOPBACK, &loopback, sizeof(loopback))), EINVAL);
	ktap_eq(CALL_AT(fd, TUNING, SET_FABRIC,
			attr_in(CAIRN_ATTR_SET_FABRIC, &fabric, sizeof(fabric))), EINVAL);
	ktap_eq(CALL_AT(fd, TUNING, SET_CAPTURE,
			attr_in(CAIRN_ATTR_SET_CAPTURE, &capture, sizeof(capture))), EINVAL);
	ktap_eq(CALL_AT(fd, TUNING, SET_PERSISTENT,
			attr_in(CAIRN_ATTR_SET_PERSISTENT, &persistent, sizeof(persistent))),
		EINVAL);
	ktap_eq(CALL_AT(fd, CQ, YIELD, attr_in(CAIRN_ATTR_YIELD_US, &us, sizeof(us))), EINVAL);
	close(fd);
}

/* Answers that the kernel cannot write, or questions that it cannot read. */
static void pointers(void)
{
	struct cairn_prepare_ring ring = { .max_wr = 128 };
	struct vt_end end = new_end(IBV_QPT_RC);

	ktap_eq(CALL(DEVICE, QUERY_DEVICE, attr_at(CAIRN_ATTR_QUERY_DEVICE_CAPS, NOWHERE,
					      sizeof(struct cairn_device_caps))), EFAULT);
	ktap_eq(CALL(DEVICE, QUERY_CC, attr_at(CAIRN_ATTR_QUERY_CC_OUT, NOWHERE,
					  sizeof(struct cairn_cc))), EFAULT);
	ktap_eq(CALL(DEVICE, MODIFY_CC, attr_at(CAIRN_ATTR_MODIFY_CC_IN, NOWHERE,
					   sizeof(struct cairn_cc))), EFAULT);
	ktap_eq(CALL(DEVICE, PERSIST_DONE, attr_at(CAIRN_ATTR_PERSIST_DONE, NOWHERE,
					      sizeof(struct cairn_persist_done))), EFAULT);
	ktap_eq(CALL(TUNING, SET_FABRIC, attr_at(CAIRN_ATTR_SET_FABRIC, NOWHERE,
					    sizeof(struct cairn_set_fabric))), EFAULT);
	ktap_eq(CALL(DEVICE, QUERY_RATE, attr_of(CAIRN_ATTR_QUERY_RATE_QP, end.qp->handle),
		     attr_at(CAIRN_ATTR_QUERY_RATE_OUT, NOWHERE, sizeof(struct cairn_qp_rate))),
		EFAULT);
	ktap_eq(CALL(DEVICE, PREPARE_RING,
		     attr_in(CAIRN_ATTR_RING_REQUEST, &ring, sizeof(ring)),
		     attr_at(CAIRN_ATTR_RING_DESC, NOWHERE, sizeof(struct cairn_prepare_ring_resp)),
		     attr_of(CAIRN_ATTR_RING_QP, end.qp->handle)), EFAULT);
	/* the region is as it was */
	ktap_eq(CALL(DEVICE, DEREG_MR, attr_of(CAIRN_ATTR_DEREG_MR_HANDLE, end.mr->handle),
		     attr_at(CAIRN_ATTR_DEREG_MR_RESP, NOWHERE,
			sizeof(struct cairn_dereg_mr_resp))), EFAULT);
	vt_end_destroy(&end);
}

static void host_flushes(void)
{
	struct cairn_persist_done done[CAIRN_MAX_PERSIST_DONES + 1] = {};
	struct cairn_set_flush_limit limit = { .ms = 100 };
	u64 bad = vt_counter(&da, "persist_bad_tokens"), refused = 0;
	struct vt_end end = new_end(IBV_QPT_RC);

	/* tokens that are not outstanding, of a queue pair of ours and of none */
	done[1].token = (u64)end.qp->qp_num << 8;
	ktap_eq(CALL(DEVICE, PERSIST_DONE, attr_in(CAIRN_ATTR_PERSIST_DONE, done, sizeof(done[0]))),
		ENOENT);
	ktap_eq(CALL(DEVICE, PERSIST_DONE, attr_in(CAIRN_ATTR_PERSIST_DONE, done, 2 * sizeof(done[0])),
		     attr_out(CAIRN_ATTR_PERSIST_DONE_REFUSED, &refused, sizeof(refused))), ENOENT);
	ktap_eq(refused, 3);
	ktap_eq(CALL(DEVICE, PERSIST_DONE, attr_in(CAIRN_ATTR_PERSIST_DONE, done, sizeof(done[0])),
		     attr_at(CAIRN_ATTR_PERSIST_DONE_REFUSED, NOWHERE, sizeof(refused))), EFAULT);
	ktap_ok(vt_counter_reaches(&da, "persist_bad_tokens", bad + 4) >= bad + 4);
	/* too many, not a multiple, reserved bits: none is taken */
	ktap_eq(CALL(DEVICE, PERSIST_DONE, attr_in(CAIRN_ATTR_PERSIST_DONE, done, sizeof(done))),
		EINVAL);
	ktap_eq(CALL(DEVICE, PERSIST_DONE, attr_in(CAIRN_ATTR_PERSIST_DONE, done,
					      sizeof(done[0]) + 1)), EINVAL);
	done[1].reserved = 1;
	ktap_eq(CALL(DEVICE, PERSIST_DONE, attr_in(CAIRN_ATTR_PERSIST_DONE, done, 2 * sizeof(done[0]))),
		EINVAL);
	/* a region without host flush, and no region */
	ktap_eq(CALL(TUNING, SET_FLUSH_LIMIT, attr_of(CAIRN_ATTR_FLUSH_LIMIT_MR, end.mr->handle),
		     attr_in(CAIRN_ATTR_FLUSH_LIMIT_IN, &limit, sizeof(limit))), EINVAL);
	ktap_eq(CALL(TUNING, SET_FLUSH_LIMIT, attr_of(CAIRN_ATTR_FLUSH_LIMIT_MR, NO_OBJECT),
		     attr_in(CAIRN_ATTR_FLUSH_LIMIT_IN, &limit, sizeof(limit))), ENOENT);
	vt_end_destroy(&end);
}

static int set_idle(u32 us, u32 reserved)
{
	struct cairn_set_idle req = { us, reserved };

	return CALL(TUNING, SET_IDLE, attr_in(CAIRN_ATTR_SET_IDLE, &req, sizeof(req)));
}

static int set_loopback(u32 mode, u32 reserved)
{
	struct cairn_set_loopback req = { mode, reserved };

	return CALL(TUNING, SET_LOOPBACK, attr_in(CAIRN_ATTR_SET_LOOPBACK, &req, sizeof(req)));
}

static int set_capture(u32 mode, u32 reserved)
{
	struct cairn_set_capture req = { mode, reserved };

	return CALL(TUNING, SET_CAPTURE, attr_in(CAIRN_ATTR_SET_CAPTURE, &req, sizeof(req)));
}

static int set_persistent(u32 mode, u32 reserved)
{
	struct cairn_set_persistent req = { mode, reserved };

	return CALL(TUNING, SET_PERSISTENT,
		    attr_in(CAIRN_ATTR_SET_PERSISTENT, &req, sizeof(req)));
}

static int set_fabric(const char *bytes)
{
	return CALL(TUNING, SET_FABRIC, attr_in(CAIRN_ATTR_SET_FABRIC, bytes, CAIRN_FABRIC_NAME));
}

static void settings(void)
{
	/* without a NUL, with other characters, with bytes behind the NUL */
	static const char *const names[] = {
		"sixteen.letters.", "a/b\0\0\0\0\0\0\0\0\0\0\0\0", "a b\0\0\0\0\0\0\0\0\0\0\0\0",
		"\xe9\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "a\0\0\0\0\0\0\0\0\0\0\0\0\0b",
	};
	struct cairn_device_caps before = caps_of(&da), now;
	unsigned int i;

	ktap_eq(set_idle(0, 1), EINVAL);
	ktap_eq(set_idle(CAIRN_IDLE_DEFAULT - 1, 0), EINVAL);
	ktap_eq(set_loopback(CAIRN_LOOPBACK_HOST + 1, 0), EINVAL);
	ktap_eq(set_loopback(CAIRN_LOOPBACK_OFF, 1), EINVAL);
	ktap_eq(set_capture(CAIRN_CAPTURE_KEEP + 1, 0), EINVAL);
	ktap_eq(set_capture(CAIRN_CAPTURE_KEEP, 1), EINVAL);
	ktap_eq(set_persistent(CAIRN_PERSISTENT_AUTO + 1, 0), EINVAL);
	ktap_eq(set_persistent(CAIRN_PERSISTENT_AUTO, 1), EINVAL);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ktap_eq(set_fabric(names[i]), EINVAL);
	must(!vt_net_admin(false));
	ktap_eq(set_idle(0, 0), EPERM);
	ktap_eq(set_loopback(CAIRN_LOOPBACK_OFF, 0), EPERM);
	ktap_eq(set_capture(CAIRN_CAPTURE_KEEP, 0), EPERM);
	ktap_eq(set_persistent(CAIRN_PERSISTENT_AUTO, 0), EPERM);
	ktap_eq(set_fabric("a\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), EPERM);
	must(!vt_net_admin(true));
	now = caps_of(&da);
	ktap_ok(!memcmp(&before, &now, sizeof(now)));
}

/* @qp: NULL: of the device */
static int set_cc(const struct ibv_qp *qp, const struct cairn_cc *cc)
{
	struct ib_uverbs_attr set = attr_in(CAIRN_ATTR_MODIFY_CC_IN, cc, sizeof(*cc));

	if (!qp)
		return CALL(DEVICE, MODIFY_CC, set);
	return CALL(DEVICE, MODIFY_CC, set, attr_of(CAIRN_ATTR_MODIFY_CC_QP, qp->handle));
}

static void congestion_control(void)
{
	struct cairn_cc before = cc_of(&da), cc, now, none = {};
	struct vt_end rc = new_end(IBV_QPT_RC), ud = new_end(IBV_QPT_UD);
	struct cairn_qp_rate rate;

	cc = before;
	cc.flags = ~0u;
	ktap_eq(set_cc(NULL, &cc), EINVAL);
	cc.flags = before.flags;
	cc.reserved = 1;
	ktap_eq(set_cc(NULL, &cc), EINVAL);
	ktap_eq(set_cc(NULL, &none), EINVAL);
	cc = before;
	cc.params.reserved[0] = 1;
	ktap_eq(set_cc(NULL, &cc), EINVAL);
	must(!vt_net_admin(false));
	ktap_eq(set_cc(NULL, &before), EPERM);
	must(!vt_net_admin(true));
	/* parameters are the device's */
	ktap_eq(set_cc(rc.qp, &before), EINVAL);
	ktap_eq(set_cc(ud.qp, &none), EINVAL);
	now = cc_of(&da);
	ktap_ok(!memcmp(&before, &now, sizeof(now)));
	ktap_eq(CALL(DEVICE, QUERY_RATE, attr_of(CAIRN_ATTR_QUERY_RATE_QP, NO_OBJECT),
		     attr_out(CAIRN_ATTR_QUERY_RATE_OUT, &rate, sizeof(rate))), ENOENT);
	vt_end_destroy(&rc);
	vt_end_destroy(&ud);
}

static int prepare_ring(u32 max_wr, u32 which, u16 object, u32 handle)
{
	struct cairn_prepare_ring req = { .max_wr = max_wr, .which = which };
	struct cairn_prepare_ring_resp resp;

	return CALL(DEVICE, PREPARE_RING, attr_in(CAIRN_ATTR_RING_REQUEST, &req, sizeof(req)),
		    attr_out(CAIRN_ATTR_RING_DESC, &resp, sizeof(resp)), attr_of(object, handle));
}

static void rings(void)
{
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct cairn_prepare_ring req = { .max_wr = 64 };
	struct cairn_prepare_ring_resp resp;
	struct vt_end end = new_end(IBV_QPT_RC);
	u32 qp = end.qp->handle, cq = end.scq->handle, wrong = CAIRN_RING_RECV + 1;
	struct ibv_srq *srq = ibv_create_srq(da.pd, &shared);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = end.scq, .recv_cq = end.rcq, .srq = srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct ibv_qp *sharing;

	must(srq);
	sharing = ibv_create_qp(da.pd, &init);
	must(sharing);
	ktap_eq(prepare_ring(~0u, CAIRN_RING_SEND, CAIRN_ATTR_RING_QP, qp), EINVAL);
	ktap_eq(prepare_ring(64, wrong, CAIRN_ATTR_RING_QP, qp), EINVAL);
	ktap_eq(prepare_ring(64, CAIRN_RING_RECV, CAIRN_ATTR_RING_QP, sharing->handle), EINVAL);
	ktap_eq(prepare_ring(64, CAIRN_RING_SEND, CAIRN_ATTR_RING_QP, NO_OBJECT), ENOENT);
	ktap_eq(prepare_ring(~0u, 0, CAIRN_ATTR_RING_SRQ, srq->handle), EINVAL);
	ktap_eq(prepare_ring(64, 1, CAIRN_ATTR_RING_SRQ, srq->handle), EINVAL);
	ktap_eq(prepare_ring(~0u, 0, CAIRN_ATTR_RING_CQ, cq), EINVAL);
	ktap_eq(prepare_ring(64, 1, CAIRN_ATTR_RING_CQ, cq), EINVAL);
	/* no object, and two */
	ktap_eq(CALL(DEVICE, PREPARE_RING, attr_in(CAIRN_ATTR_RING_REQUEST, &req, sizeof(req)),
		     attr_out(CAIRN_ATTR_RING_DESC, &resp, sizeof(resp))), EINVAL);
	ktap_eq(CALL(DEVICE, PREPARE_RING, attr_in(CAIRN_ATTR_RING_REQUEST, &req, sizeof(req)),
		     attr_out(CAIRN_ATTR_RING_DESC, &resp, sizeof(resp)),
		     attr_of(CAIRN_ATTR_RING_QP, qp), attr_of(CAIRN_ATTR_RING_CQ, cq)), EINVAL);
	/* one that is dropped, and one that is replaced: the old ring stays in use */
	ktap_eq(prepare_ring(0, CAIRN_RING_SEND, CAIRN_ATTR_RING_QP, qp), 0);
	ktap_eq(prepare_ring(256, CAIRN_RING_SEND, CAIRN_ATTR_RING_QP, qp), 0);
	ktap_eq(prepare_ring(512, CAIRN_RING_SEND, CAIRN_ATTR_RING_QP, qp), 0);
	ktap_eq(ibv_destroy_qp(sharing), 0);
	ktap_eq(ibv_destroy_srq(srq), 0);
	vt_end_destroy(&end);
}

static int ask_peer(const struct ibv_qp *qp, u32 ms, u32 reserved, u64 to)
{
	struct cairn_query_peer req = { .timeout_ms = ms, .reserved = reserved };

	return CALL(PEER, QUERY_PEER, attr_of(CAIRN_ATTR_QUERY_PEER_QP, qp->handle),
		    attr_in(CAIRN_ATTR_QUERY_PEER_IN, &req, sizeof(req)),
		    attr_at(CAIRN_ATTR_QUERY_PEER_OUT, to, sizeof(struct cairn_peer_caps)));
}

static void questions(void)
{
	struct vt_end end = new_end(IBV_QPT_RC), ud = new_end(IBV_QPT_UD), peer = {};
	struct cairn_peer_caps caps;
	u64 to = (uintptr_t)&caps;

	ktap_eq(ask_peer(end.qp, CAIRN_MAX_PEER_TIMEOUT, 1, to), EINVAL);
	ktap_eq(ask_peer(end.qp, 0, 0, to), EINVAL);
	ktap_eq(ask_peer(end.qp, CAIRN_MAX_PEER_TIMEOUT + 1, 0, to), EINVAL);
	/* not connected, and datagrams */
	ktap_eq(ask_peer(end.qp, CAIRN_MAX_PEER_TIMEOUT, 0, to), EINVAL);
	ktap_eq(ask_peer(ud.qp, CAIRN_MAX_PEER_TIMEOUT, 0, to), EINVAL);
	must(!vt_end_create(&peer, &db, &end.o, BUF));
	must(!vt_connect(&end, &peer));
	ktap_eq(ask_peer(end.qp, CAIRN_MAX_PEER_TIMEOUT, 0, NOWHERE), EFAULT);
	ktap_eq(ask_peer(end.qp, CAIRN_MAX_PEER_TIMEOUT, 0, to), 0);
	ktap_eq(CALL(CQ, LOOK_CQ, attr_of(CAIRN_ATTR_LOOK_CQ, NO_OBJECT)), ENOENT);
	vt_end_destroy(&peer);
	vt_end_destroy(&end);
	vt_end_destroy(&ud);
}

static int call_yield(u32 us)
{
	return CALL(CQ, YIELD, attr_in(CAIRN_ATTR_YIELD_US, &us, sizeof(us)));
}

/* A child that always wants this CPU. */
static pid_t start_hog(void)
{
	pid_t child;

	must(vt_stay_on(sched_getcpu()));
	child = fork();
	must(child >= 0);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
}

static void end_hog(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	must(vt_stay_on(-1));
}

/* A yield sleeps if another task wants the CPU, and only then. */
static void yields(void)
{
	u64 end = vt_now_ms() + (u64)vt_ms(20000);
	pid_t child;

	ktap_eq(call_yield(0), EINVAL);
	ktap_eq(call_yield(CAIRN_MAX_YIELD_US + 1), EINVAL);
	/* kernel threads want it now and then */
	while (call_yield(1) != EAGAIN && vt_now_ms() < end)
		;
	ktap_ok(vt_now_ms() < end);
	child = start_hog();
	ktap_eq(call_yield(1), 0);
	ktap_eq(call_yield(CAIRN_MAX_YIELD_US), 0);
	end_hog(child);
}

/* Return: how often the process leaves the CPU while it polls an empty queue. */
static long polls_that_slept(struct ibv_cq *cq, struct ibv_cq_ex *cqx)
{
	struct ibv_poll_cq_attr attr = {};
	struct rusage before, after;
	struct ibv_wc wc;
	int i;

	must(!getrusage(RUSAGE_SELF, &before));
	for (i = 0; i < 4000; i++)
		if (cqx)
			must(ibv_start_poll(cqx, &attr) == ENOENT);
		else
			must(!ibv_poll_cq(cq, 1, &wc));
	must(!getrusage(RUSAGE_SELF, &after));
	return after.ru_nvcsw - before.ru_nvcsw;
}

/* So a program whose peer needs the same CPU does not keep it for its time slice. */
static void polls_yield(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct ibv_cq *cq = ibv_create_cq(da.ctx, 16, NULL, NULL, 0);
	struct ibv_cq_ex *cqx = ibv_create_cq_ex(da.ctx, &attr);
	pid_t child;

	must(cq && cqx);
	child = start_hog();
	ktap_ok(polls_that_slept(cq, NULL) >= 50);
	ktap_ok(polls_that_slept(NULL, cqx) >= 50);
	end_hog(child);
	ktap_eq(ibv_destroy_cq(cq), 0);
	ktap_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cqx)), 0);
}

/* The oldest interface of uverbs has commands that call the verbs of kernel consumers. These
 * trust the pointers beside a ring, which a process writes here. ib_core refuses the commands,
 * as the device does not ask for them. It refuses all of them after a change of rights, so this
 * test is the first.
 */
static void kernel_verbs(void)
{
	static const u32 commands[] = {
		IB_USER_VERBS_CMD_POLL_CQ, IB_USER_VERBS_CMD_REQ_NOTIFY_CQ,
		IB_USER_VERBS_CMD_POST_SEND, IB_USER_VERBS_CMD_POST_RECV,
		IB_USER_VERBS_CMD_POST_SRQ_RECV,
	};
	struct vt_end end = new_end(IBV_QPT_RC);
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_poll_cq poll;
	} command = { .poll = { .cq_handle = end.rcq->handle, .ne = 1 } };
	unsigned int i;

	command.hdr.in_words = sizeof(command) / 4;
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		command.hdr.command = commands[i];
		errno = 0;
		ktap_eq(write(da.ctx->cmd_fd, &command, sizeof(command)), -1);
		ktap_eq(errno, EOPNOTSUPP);
	}
	vt_end_destroy(&end);
}

#define TESTS(X)							\
	X(kernel_verbs) X(without_a_context) X(pointers)		\
	X(host_flushes) X(settings) X(congestion_control) X(rings)	\
	X(questions) X(yields) X(polls_yield)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&da, &db, VT_IPV4, argc > 1 ? argv[1] : NULL);
}
