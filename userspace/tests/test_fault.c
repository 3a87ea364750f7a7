// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* CAIRN_FAULT: calls and completions fail as the rules say, others do not. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

#include "cairndv.h"
#include "cq.h"
#include "fake.h"
#include "fault_rules.h"
#include "ktap.h"
#include "send.h"

#include "fixture_qp.h"

static struct ibv_send_wr *bad;
static struct ibv_recv_wr *bad_recv;

static void open_with(const char *rules)
{
	/* as in a process of its own: calls are counted from 1 */
	ktap_eq(cairn_rules_read(""), 0);
	setenv("CAIRN_FAULT", rules, 1);
	open_qp();
	unsetenv("CAIRN_FAULT");
}

static int post_send(void)
{
	struct ibv_send_wr wr = { .wr_id = 7, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };

	bad = NULL;
	return fake.ops.post_send(qp, &wr, &bad);
}

static int polled_status(uint8_t opcode, uint8_t status)
{
	struct cairn_cqe cqe = {
		.wr_id = 7, .qpn = qp->qp_num, .opcode = opcode, .status = status,
	};
	struct ibv_wc wc;

	fake_complete(fake_cq_ring(cq), &cqe);
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
	return wc.status;
}

static void nth_call(void)
{
	open_with("post_send:nth=2,error=EAGAIN");
	ktap_eq(post_send(), 0);
	ktap_eq(post_send(), EAGAIN);
	ktap_ok(bad);
	ktap_eq(post_send(), 0);
	close_qp();
}

/* ... of the process: another device is opened meanwhile. */
static void nth_call_of_two_devices(void)
{
	struct ibv_context *other;

	open_with("post_send:nth=3 alloc_pd:nth=2");
	ktap_eq(post_send(), 0);
	ktap_eq(post_send(), 0);
	setenv("CAIRN_FAULT", "post_send:nth=3 alloc_pd:nth=2", 1);
	other = fake_open_second();
	ktap_ok(!fake_pd(other));
	/* a text that is wrong ends no rule */
	setenv("CAIRN_FAULT", "nonsense", 1);
	ktap_hush();
	ktap_ok(!fake_open());
	unsetenv("CAIRN_FAULT");
	ktap_eq(post_send(), ENOMEM);
	ktap_eq(post_send(), 0);
	fake_close(other);
	close_qp();
}

/* Another device, with the limits of @profile, and without rules if @rules is NULL. */
static struct ibv_context *open_second(const char *rules, const char *profile)
{
	char path[] = "/tmp/cairn-fault.XXXXXX";
	int fd = mkstemp(path);
	struct ibv_context *other;

	ktap_eq(write(fd, profile, strlen(profile)), strlen(profile));
	close(fd);
	setenv("CAIRN_PROFILE", path, 1);
	if (rules)
		setenv("CAIRN_FAULT", rules, 1);
	other = fake_open_second();
	unsetenv("CAIRN_PROFILE");
	unsetenv("CAIRN_FAULT");
	unlink(path);
	return other;
}

/* A device that is opened later has a profile or no rules: the first one stays as it is. */
static void layers_of_two_devices(void)
{
	static const char *const rules[] = { "post_send:nth=2", NULL };
	struct verbs_context_ops first;
	struct ibv_context *other;
	struct ibv_pd *more;

	for (int i = 0; i < 2; i++) {
		setenv("CAIRN_CHECK", "report", 1);
		open_with("post_send:nth=2");
		unsetenv("CAIRN_CHECK");
		first = fake.ops;
		other = open_second(rules[i], "max_pd 0\n");
		ktap_ok(!fake.ops.alloc_pd(other) && errno == ENOMEM);
		more = first.alloc_pd(ctx);
		ktap_ok(more);
		if (more)
			ktap_eq(first.dealloc_pd(more), 0);
		fake_close(other);
		fake.ops = first;
		ktap_eq(post_send(), 0);
		ktap_eq(post_send(), ENOMEM);
		close_qp();
	}
}

static void first_rule(void)
{
	open_with("post_send:nth=1,error=EAGAIN post_send");
	ktap_eq(post_send(), EAGAIN);
	ktap_eq(post_send(), ENOMEM);
	close_qp();
}

static void every_call(void)
{
	struct ibv_recv_wr wr = {};
	int failed = 0;

	open_with("post_recv:every=3");
	for (int i = 1; i <= 9; i++) {
		int err = fake.ops.post_recv(qp, &wr, &bad_recv);

		ktap_eq(err, i % 3 ? 0 : ENOMEM);
		failed += err != 0;
	}
	ktap_eq(failed, 3);
	close_qp();
}

/* About a third of 1000 calls, and the same ones in another run. */
static int failures_of(const char *rules, uint64_t *which)
{
	int failed = 0;

	ktap_eq(cairn_rules_read(rules), 0);
	*which = 0;
	for (int i = 0; i < 1000; i++) {
		bool hit = cairn_rules_hit(CAIRN_RULES_REG_MR);

		failed += hit;
		*which = *which * 31 + hit;
	}
	return failed;
}

static void chance_by_seed(void)
{
	uint64_t one, same, other;

	ktap_ok(abs(failures_of("reg_mr:chance=0.33 seed=5", &one) - 330) < 60);
	failures_of("reg_mr:chance=0.33 seed=5", &same);
	failures_of("reg_mr:chance=0.33 seed=6", &other);
	ktap_ok(one == same && one != other);
	ktap_eq(failures_of("reg_mr:chance=0", &one), 0);
	/* a program's locale has a comma there; not all machines have this one */
	setlocale(LC_ALL, "de_DE.UTF-8");
	ktap_eq(cairn_rules_read("reg_mr:chance=0.33"), 0);
	setlocale(LC_ALL, "C");
	ktap_eq(cairn_rules_read(""), 0);
}

static void each_verb(void)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { 1, 1, 0 } };
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 1 };
	struct ibv_ah_attr ah_attr = {};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	open_with("reg_mr alloc_mw create_ah; create_cq:nth=2\tcreate_srq alloc_pd:nth=2 create_qp:nth=2 modify_qp:error=EPERM req_notify_cq:error=EIO resize_cq");
	ktap_ok(!fake.ops.reg_mr(pd, &attr, 1, 0, 0) && errno == ENOMEM);
	ktap_ok(!fake.ops.alloc_mw(pd, IBV_MW_TYPE_2));
	ktap_ok(!fake.ops.create_ah(pd, &ah_attr));
	ktap_ok(!fake.ops.create_cq_ex(ctx, &cq_attr));
	ktap_ok(!fake.ops.create_srq(pd, &srq_attr));
	ktap_ok(!fake_pd(ctx));
	ktap_ok(!fake_qp(pd, cq, IBV_QPT_RC, 0));
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_STATE), EPERM);
	ktap_eq(fake.ops.req_notify_cq(cq, 0), EIO);
	ktap_eq(fake.ops.resize_cq(cq, 32), ENOMEM);
	close_qp();
}

/* The calls whose objects need others, or no object. */
static void each_other_verb(void)
{
	struct ibv_parent_domain_init_attr domain = {};
	struct ibv_srq_init_attr_ex srq_attr = {};
	struct ibv_qp_rate_limit_attr rate = {};
	struct ibv_alloc_dm_attr dm = { .length = 64 };
	struct ibv_modify_cq_attr moderation = {};
	struct ibv_xrcd_init_attr xrcd = {};
	struct ibv_td_init_attr td = {};
	struct ibv_qp_open_attr open = {};
	struct ibv_mw_bind bind = {};
	union ibv_gid gid = {};

	open_with("alloc_dm alloc_null_mr alloc_parent_domain:error=EIO alloc_td create_srq open_qp open_xrcd reg_dm_mr reg_dmabuf_mr attach_mcast bind_mw modify_cq modify_qp_rate_limit modify_srq query_device query_port:error=EIO query_qp query_srq rereg_mr");
	ktap_ok(!fake.ops.alloc_dm(ctx, &dm) && errno == ENOMEM);
	ktap_ok(!fake.ops.alloc_null_mr(pd));
	ktap_ok(!fake.ops.alloc_parent_domain(ctx, &domain) && errno == EIO);
	ktap_ok(!fake.ops.alloc_td(ctx, &td));
	ktap_ok(!fake.ops.create_srq_ex(ctx, &srq_attr));
	ktap_ok(!fake.ops.open_qp(ctx, &open));
	ktap_ok(!fake.ops.open_xrcd(ctx, &xrcd));
	ktap_ok(!fake.ops.reg_dm_mr(pd, NULL, 0, 1, 0));
	ktap_ok(!fake.ops.reg_dmabuf_mr(pd, 0, 1, 0, 0, 0));
	ktap_eq(fake.ops.attach_mcast(qp, &gid, 0), ENOMEM);
	ktap_eq(fake.ops.bind_mw(qp, NULL, &bind), ENOMEM);
	ktap_eq(fake.ops.modify_cq(cq, &moderation), ENOMEM);
	ktap_eq(fake.ops.modify_qp_rate_limit(qp, &rate), ENOMEM);
	ktap_eq(fake.ops.modify_srq(NULL, NULL, 0), ENOMEM);
	ktap_eq(fake.ops.query_device_ex(ctx, NULL, NULL, 0), ENOMEM);
	ktap_eq(fake.ops.query_port(ctx, 1, NULL), EIO);
	ktap_eq(fake.ops.query_qp(qp, NULL, 0, NULL), ENOMEM);
	ktap_eq(fake.ops.query_srq(NULL, NULL), ENOMEM);
	ktap_eq(fake.ops.rereg_mr(NULL, 0, pd, NULL, 0, 0), ENOMEM);
	close_qp();
}

/* The second completion is the last one that is seen. */
static void cq_overruns(void)
{
	struct cairn_cqe cqe = { .opcode = CAIRN_CQE_SEND };
	struct ibv_wc wc[4];

	open_with("cq_overrun:nth=2");
	cqe.qpn = qp->qp_num;
	fake.modify_mask = 0;
	for (int i = 0; i < 4; i++)
		fake_complete(fake_cq_ring(cq), &cqe);
	ktap_eq(fake.ops.poll_cq(cq, 1, wc), 1);
	ktap_eq(fake.modify_mask, 0);
	ktap_eq(fake.ops.poll_cq(cq, 4, wc), 1);
	ktap_eq(wc[0].status, IBV_WC_SUCCESS);
	ktap_eq(fake.modify_mask, IBV_QP_STATE);
	ktap_eq(fake.ops.poll_cq(cq, 4, wc), 0);
	fake_complete(fake_cq_ring(cq), &cqe);
	ktap_eq(fake.ops.poll_cq(cq, 4, wc), 0);
	close_qp();
}

static void persist_fails(void)
{
	struct cairndv_persist_answer answers[2] = { { .token = 5 }, { .token = 6 } };

	open_with("persist:nth=2 persist:nth=3,error=ENOSPC");
	ktap_eq(cairndv_persist_done(ctx, 4, 0), 0);
	ktap_eq(fake.persist_done[0].status, 0);
	ktap_eq(cairndv_persist_done_all(ctx, answers, 2, NULL), 0);
	ktap_eq(fake.persist_done[0].status, EIO);
	ktap_eq(fake.persist_done[1].status, ENOSPC);
	ktap_eq(fake.persist_done[1].token, 6);
	ktap_eq(cairndv_persist_done(ctx, 7, 0), 0);
	ktap_eq(fake.persist_done[0].status, 0);
	close_qp();
}

/* Answers by a work request of @other. Return: the status that it has. */
static uint32_t answered(struct ibv_qp *other, const uint64_t *tokens, uint32_t num, int status)
{
	struct fake_ring *sq = fake_sq(other);
	const struct cairn_send_wqe *wqe = fake_unit(sq, sq->host->index);
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(other);

	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(qpx);
	ktap_eq(cairndv_wr_persist_done(qpx, tokens, num, status), 0);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(wqe->opcode, CAIRN_WQE_PERSIST_DONE);
	return wqe->imm_or_key;
}

/* Both ways of an answer count together. */
static void persist_requests_fail(void)
{
	static const uint64_t tokens[] = { 5, 6, 7 };
	struct ibv_qp *other;

	open_with("persist:nth=3 persist:nth=6,error=ENOSPC");
	other = fake_qp(pd, cq, IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
	ktap_eq(answered(other, tokens, 2, 0), 0);
	ktap_eq(answered(other, tokens, 1, 0), EIO);
	ktap_eq(cairndv_persist_done(ctx, 8, 0), 0);
	ktap_eq(fake.persist_done[0].status, 0);
	/* one of three */
	ktap_eq(answered(other, tokens, 3, 0), ENOSPC);
	ktap_eq(answered(other, tokens, 1, 0), 0);
	ktap_eq(answered(other, tokens, 1, EROFS), EROFS);
	ktap_eq(fake.ops.destroy_qp(other), 0);
	close_qp();
}

/* A durable write of a peer, which the program sees. */
static void message_arrives(uint8_t *at, uint8_t byte, uint64_t token)
{
	struct cairn_cqe cqe = {
		.qpn = qp->qp_num, .opcode = CAIRN_CQE_RECV_PERSIST, .byte_len = 8,
		.persist_va = (uintptr_t)at, .persist_token = token,
	};
	struct ibv_wc wc;

	memset(at, byte, 8);
	fake_complete(fake_cq_ring(cq), &cqe);
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
}

static void power_is_cut(void)
{
	static uint8_t memory[64];
	struct ibv_mr *mr;

	open_with("power_cut:nth=3");
	memset(memory, 'o', sizeof(memory));
	mr = fake.ops.reg_mr(pd, memory, sizeof(memory), (uintptr_t)memory,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     (int)CAIRNDV_ACCESS_PERSISTENT_HOST);
	message_arrives(memory, 'a', 1);
	message_arrives(memory + 8, 'b', 2);
	message_arrives(memory + 16, 'c', 3);
	message_arrives(memory + 24, 'd', 4);
	ktap_eq(cairndv_persist_done(ctx, 1, 0), 0);
	/* this one could not be made durable */
	ktap_eq(cairndv_persist_done(ctx, 2, EIO), 0);
	fake.modify_mask = 0;
	ktap_eq(memory[24], 'd');
	ktap_eq(cairndv_persist_done(ctx, 4, 0), 0);
	ktap_eq(fake.modify_mask, IBV_QP_STATE);
	for (int i = 0; i < 64; i++)
		ktap_eq(memory[i], i < 8 ? 'a' : 'o');
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	close_qp();
}

/* It has other contents, or none, after it was deregistered. */
static void power_is_cut_after_release(void)
{
	static uint8_t memory[64];
	struct ibv_mr *mr;
	uint32_t ticket;

	open_with("power_cut:nth=1");
	mr = fake.ops.reg_mr(pd, memory, sizeof(memory), (uintptr_t)memory,
			     IBV_ACCESS_LOCAL_WRITE | (int)CAIRNDV_ACCESS_PERSISTENT_HOST);
	ktap_eq(cairndv_dereg_mr_async(mr, &ticket), 0);
	memory[0] = 'x';
	cairndv_persist_done(ctx, 1, 0);
	ktap_eq(memory[0], 'x');
	close_qp();
}

/* A power cut leaves alone what a closed context has left open. */
static void power_is_cut_after_close(void)
{
	static void *volatile left[3];	/* nothing frees them: they have to be found at the end */
	struct ibv_context *other;
	int maps, objects;

	open_with("power_cut:nth=1");
	maps = fake.maps;
	objects = fake.objects;
	setenv("CAIRN_FAULT", "power_cut:nth=1", 1);
	other = fake_open_second();
	unsetenv("CAIRN_FAULT");
	left[0] = fake_pd(other);
	left[1] = fake_cq(other, 16);
	left[2] = fake_qp(left[0], left[1], IBV_QPT_RC, 0);
	ktap_ok(left[2]);
	fake_close(other);
	fake.qp_changes = 0;
	cairndv_persist_done(ctx, 1, 0);
	ktap_eq(fake.qp_changes, 1);
	/* they stay until the process ends */
	fake.maps = maps;
	fake.objects = objects;
	close_qp();
}

/* A fault is the status of the whole completion. */
static void completion_of_persist(void)
{
	const struct cairn_cqe cqe = {
		.qpn = 0x123, .opcode = CAIRN_CQE_WRITE_PERSIST, .durability = CAIRN_DURABILITY_ADR,
	};
	struct cairndv_persist_info info;
	struct ibv_wc wc;

	open_with("send:nth=2");
	fake_complete(fake_cq_ring(cq), &cqe);
	fake_complete(fake_cq_ring(cq), &cqe);
	ktap_eq(cairndv_poll_cq(cq, 1, &wc, &info), 1);
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_eq(info.kind, CAIRNDV_PERSIST_WRITE);
	ktap_eq(cairndv_poll_cq(cq, 1, &wc, &info), 1);
	ktap_eq(wc.status, IBV_WC_RETRY_EXC_ERR);
	ktap_eq(info.kind, CAIRNDV_PERSIST_NONE);
	ktap_eq(info.durability, 0);
	ktap_eq(info.qp_num, 0x123);
	close_qp();
}

/* The first byte of each message: 'o' when its range is not durable. */
static void expect_memory(const uint8_t *memory, const char *bytes)
{
	for (int i = 0; bytes[i]; i++)
		ktap_eq(memory[8 * i], bytes[i]);
}

static void power_is_cut_before_request(void)
{
	static const uint64_t first[] = { 1, 2 }, failed[] = { 3 }, last[] = { 4, 5 };
	static uint8_t memory[64];
	struct ibv_qp *other;
	struct ibv_mr *mr;

	open_with("power_cut:nth=5 power_cut:nth=7");
	other = fake_qp(pd, cq, IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
	memset(memory, 'o', sizeof(memory));
	mr = fake.ops.reg_mr(pd, memory, sizeof(memory), (uintptr_t)memory,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     (int)CAIRNDV_ACCESS_PERSISTENT_HOST);
	for (uint8_t i = 0; i < 6; i++)
		message_arrives(memory + 8 * i, (uint8_t)('a' + i), 1u + i);
	ktap_eq(answered(other, first, 2, 0), 0);
	ktap_eq(answered(other, failed, 1, EIO), EIO);
	expect_memory(memory, "abcdefoo");
	fake.modify_mask = 0;
	/* before the second of its tokens: the request answers neither */
	answered(other, last, 2, 0);
	ktap_eq(fake.modify_mask, IBV_QP_STATE);
	expect_memory(memory, "aboooooo");
	/* an answer to a message of before is none */
	memory[40] = 'f';
	ktap_eq(cairndv_persist_done(ctx, 6, 0), 0);
	ktap_eq(cairndv_persist_done(ctx, 7, 0), 0);
	expect_memory(memory, "aboooooo");
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	ktap_eq(fake.ops.destroy_qp(other), 0);
	close_qp();
}

static void completion_status(void)
{
	open_with("send:nth=2,status=RNR_RETRY_EXC_ERR recv:nth=1,status=LOC_LEN_ERR");
	fake.modify_mask = 0;
	ktap_eq(polled_status(CAIRN_CQE_SEND, 0), IBV_WC_SUCCESS);
	ktap_eq(fake.modify_mask, 0);
	/* an error of the device stays, and is not counted */
	ktap_eq(polled_status(CAIRN_CQE_SEND, CAIRN_CQE_WR_FLUSH_ERR), IBV_WC_WR_FLUSH_ERR);
	ktap_eq(polled_status(CAIRN_CQE_WRITE, 0), IBV_WC_RNR_RETRY_EXC_ERR);
	/* the queue pair ends */
	ktap_eq(fake.modify_mask, IBV_QP_STATE);
	ktap_eq(polled_status(CAIRN_CQE_RECV, 0), IBV_WC_LOC_LEN_ERR);
	ktap_eq(polled_status(CAIRN_CQE_RECV, 0), IBV_WC_SUCCESS);
	close_qp();
}

static const struct {
	const char *name;
	enum ibv_wc_status status;
} statuses[] = {
	{ "BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR }, { "FATAL_ERR", IBV_WC_FATAL_ERR },
	{ "GENERAL_ERR", IBV_WC_GENERAL_ERR }, { "LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR },
	{ "LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR }, { "LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR },
	{ "LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR }, { "MW_BIND_ERR", IBV_WC_MW_BIND_ERR },
	{ "REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR },
	{ "REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR }, { "REM_OP_ERR", IBV_WC_REM_OP_ERR },
	{ "RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR },
	{ "RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR }, { "WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR },
};

/* ... at either side. */
static void each_status(void)
{
	char rules[128];

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		snprintf(rules, sizeof(rules), "send:status=%s recv:status=%s", statuses[i].name,
			 statuses[i].name);
		open_with(rules);
		ktap_eq(polled_status(CAIRN_CQE_SEND, 0), statuses[i].status);
		ktap_eq(polled_status(CAIRN_CQE_RECV, 0), statuses[i].status);
		close_qp();
	}
}

static const struct {
	const char *name;
	int err;
} errors[] = {
	{ "EACCES", EACCES }, { "EAGAIN", EAGAIN }, { "EBUSY", EBUSY }, { "EFAULT", EFAULT },
	{ "EINTR", EINTR }, { "EINVAL", EINVAL }, { "EIO", EIO },
	{ "ENETUNREACH", ENETUNREACH }, { "ENODEV", ENODEV }, { "ENOMEM", ENOMEM },
	{ "ENOSPC", ENOSPC }, { "EOPNOTSUPP", EOPNOTSUPP }, { "EPERM", EPERM },
	{ "ETIMEDOUT", ETIMEDOUT },
};

static void each_error(void)
{
	struct ibv_recv_wr wr = {};
	char rules[128];

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		snprintf(rules, sizeof(rules), "post_send:error=%s post_srq_recv:error=%s",
			 errors[i].name, errors[i].name);
		open_with(rules);
		ktap_eq(post_send(), errors[i].err);
		bad_recv = NULL;
		ktap_eq(fake.ops.post_srq_recv(NULL, &wr, &bad_recv), errors[i].err);
		ktap_ok(bad_recv == &wr);
		close_qp();
	}
}

static void extended_poll(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct ibv_poll_cq_attr poll = {};
	struct cairn_cqe cqe = { .wr_id = 7, .opcode = CAIRN_CQE_SEND };
	struct ibv_cq_ex *cqx;

	open_with("send:nth=1");
	cqx = fake.ops.create_cq_ex(ctx, &attr);
	fake_complete(fake_cq_ring(ibv_cq_ex_to_cq(cqx)), &cqe);
	ktap_eq(ibv_start_poll(cqx, &poll), 0);
	ktap_eq(cqx->status, IBV_WC_RETRY_EXC_ERR);
	ibv_end_poll(cqx);
	ktap_eq(fake.ops.destroy_cq(ibv_cq_ex_to_cq(cqx)), 0);
	close_qp();
}

/* A wrong rule is no rule that never hits: the device does not open. */
static void wrong_rules(void)
{
	static const char *const wrong[] = {
		"no_verb", "post_send:nth=0", "post_send:nth=-1", "post_send:nth=1x",
		"post_send:often", "post_send:error=ENOTHING", "post_send:status=FATAL_ERR",
		"send:error=ENOMEM", "send:status=SUCCESS", "reg_mr:chance=2", "seed=x",
		"create_qp:nth=99999999999999999999", "cq_overrun:status=FATAL_ERR",
		"persist:status=FATAL_ERR", "power_cut:error=EIO",
	};

	ktap_hush();
	fake_reset();
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("CAIRN_FAULT", wrong[i], 1);
		errno = 0;
		if (!ktap_ok(!fake_open()))
			printf("# accepted: %s\n", wrong[i]);
		ktap_eq(errno, EINVAL);
	}
	unsetenv("CAIRN_FAULT");
	ktap_eq(fake.contexts, 0);
}

static void unset_has_no_faults(void)
{
	unsetenv("CAIRN_FAULT");
	open_qp();
	ktap_ok(!to_ccq(cq)->watch);
	ktap_ok(fake.ops.post_send == cairn_post_send);
	close_qp();
}

static const struct ktap_test tests[] = {
	KTAP(nth_call), KTAP(nth_call_of_two_devices), KTAP(layers_of_two_devices), KTAP(first_rule), KTAP(every_call), KTAP(chance_by_seed), KTAP(each_verb),
	KTAP(each_other_verb), KTAP(cq_overruns), KTAP(persist_fails),
	KTAP(persist_requests_fail), KTAP(power_is_cut_before_request),
	KTAP(power_is_cut), KTAP(power_is_cut_after_release), KTAP(power_is_cut_after_close), KTAP(completion_of_persist),
	KTAP(completion_status), KTAP(each_status), KTAP(each_error), KTAP(extended_poll), KTAP(wrong_rules),
	KTAP(unset_has_no_faults),
};

KTAP_MAIN(tests)
