// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Groups of queue pairs: one message, several targets, one completion. */
#include <errno.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"
#include "fixture.h"

enum { TARGETS = 3, DEPTH = 4 };

static struct ibv_cq *cq;
static struct ibv_qp *qp[TARGETS];
static struct cairndv_persist_group *group;
static struct cairndv_group_dest dest[TARGETS];
static uint32_t taken[TARGETS];		/* messages that the device has seen */
static struct cairndv_group_wc wc[DEPTH + TARGETS];

/* @narrow: the target whose send queue has two units only; none if it is TARGETS */
static void open_group_with(uint32_t narrow)
{
	open_ctx();
	/* what libibverbs does */
	ctx->ops.post_send = fake.ops.post_send;
	ctx->ops.poll_cq = fake.ops.poll_cq;
	cq = fake_cq(ctx, 64);
	for (uint32_t i = 0; i < TARGETS; i++) {
		fake.sq_depth = i == narrow ? 2 : 64;
		qp[i] = fake_qp(pd, cq, IBV_QPT_RC, 0);
		dest[i] = (struct cairndv_group_dest){
			.remote_addr = 0x1000 * (i + 1), .rkey = 7 + i,
		};
		taken[i] = 0;
	}
	group = cairndv_persist_group_create(qp, TARGETS, DEPTH);
	ktap_ok(group);
}

static void open_group(void)
{
	open_group_with(TARGETS);
}

static void close_group(void)
{
	cairndv_persist_group_destroy(group);
	for (uint32_t i = 0; i < TARGETS; i++)
		ktap_eq(fake.ops.destroy_qp(qp[i]), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

static int post_weakest(uint64_t wr_id, uint32_t quorum, uint32_t durability)
{
	char bytes[8] = "record";
	struct ibv_sge sge = { (uintptr_t)bytes, sizeof(bytes), 0 };
	const struct cairndv_group_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_INLINE, .quorum = quorum, .dest = dest,
		.durability = durability,
	};

	return cairndv_persist_group_post(group, &wr);
}

static int post_group(uint64_t wr_id, uint32_t quorum)
{
	return post_weakest(wr_id, quorum, 0);
}

/* The next message that target @i has not answered. */
static const struct cairn_send_wqe *next_wqe(uint32_t i)
{
	return fake_send_wqe(qp[i], taken[i]);
}

static void answer_kind(uint32_t i, uint8_t status, uint8_t durability)
{
	fake_persisted(qp[i], &taken[i], status, durability);
}

static void target_answers(uint32_t i, uint8_t status)
{
	answer_kind(i, status, status ? 0 : CAIRN_DURABILITY_ADR);
}

static int poll_group(void)
{
	memset(wc, 0xff, sizeof(wc));
	return cairndv_persist_group_poll(group, DEPTH + TARGETS, wc);
}

static void expect_event(int n, uint32_t kind, uint64_t wr_id, uint32_t durable)
{
	ktap_eq(wc[n].kind, kind);
	ktap_eq(wc[n].wr_id, wr_id);
	ktap_eq(wc[n].durable, durable);
}

/* One event: message @wr_id is durable at @durable targets. */
static void expect_durable(uint64_t wr_id, uint32_t durable)
{
	ktap_eq(poll_group(), 1);
	expect_event(0, CAIRNDV_GROUP_DURABLE, wr_id, durable);
}

/* One event: target @i lacks message @wr_id, which @durable others have. */
static void expect_loss(uint32_t i, uint64_t wr_id, uint32_t durable)
{
	ktap_eq(poll_group(), 1);
	expect_event(0, CAIRNDV_GROUP_TARGET, wr_id, durable);
	ktap_eq(wc[0].target, i);
}

static void expect_released(uint64_t messages)
{
	ktap_eq(cairndv_persist_group_released(group), messages);
}

static void all_answer(void)
{
	for (uint32_t i = 0; i < TARGETS; i++)
		target_answers(i, 0);
}

static void what_each_target_gets(void)
{
	open_group();
	ktap_eq(post_group(5, 2), 0);
	for (uint32_t i = 0; i < TARGETS; i++) {
		const struct cairn_send_wqe *wqe = next_wqe(i);

		ktap_eq(wqe->opcode, CAIRN_WQE_WRITE_PERSIST);
		ktap_ok(wqe->flags & CAIRN_WQE_SIGNALED);
		ktap_eq(wqe->remote_addr, dest[i].remote_addr);
		ktap_eq(wqe->rkey, dest[i].rkey);
		ktap_eq(wqe->inline_len, 8);
	}
	close_group();
}

static void enough_is_one_completion(void)
{
	open_group();
	ktap_eq(post_group(5, 2), 0);
	ktap_eq(poll_group(), 0);
	target_answers(2, 0);
	ktap_eq(poll_group(), 0);
	target_answers(0, 0);
	expect_durable(5, 2);
	/* the third target still needs the memory */
	expect_released(0);
	target_answers(1, 0);
	ktap_eq(poll_group(), 0);
	expect_released(1);
	close_group();
}

static void every_quorum(void)
{
	for (uint32_t quorum = 1; quorum <= TARGETS; quorum++) {
		open_group();
		ktap_eq(post_group(quorum, quorum), 0);
		for (uint32_t i = 0; i < TARGETS; i++) {
			target_answers(i, 0);
			ktap_eq(poll_group(), i + 1 == quorum);
		}
		close_group();
	}
}

static void a_target_fails(void)
{
	open_group();
	ktap_eq(post_group(1, 2), 0);
	ktap_eq(post_group(2, 2), 0);
	target_answers(1, CAIRN_CQE_RETRY_EXC_ERR);
	target_answers(1, CAIRN_CQE_WR_FLUSH_ERR);
	/* named once, with the first message that it lacks */
	expect_loss(1, 1, 0);
	ktap_eq(wc[0].status, IBV_WC_RETRY_EXC_ERR);
	ktap_eq(wc[0].vendor_err, 5);
	target_answers(0, 0);
	target_answers(2, 0);
	target_answers(2, 0);
	target_answers(0, 0);
	ktap_eq(poll_group(), 2);
	expect_event(0, CAIRNDV_GROUP_DURABLE, 1, 2);
	expect_event(1, CAIRNDV_GROUP_DURABLE, 2, 2);
	expect_released(2);
	/* no message is posted to it any more */
	ktap_eq(post_group(3, 2), 0);
	ktap_eq(next_wqe(1)->units, 0);
	ktap_eq(post_group(4, 3), ENOTCONN);
	close_group();
}

static void too_many_fail(void)
{
	open_group();
	ktap_eq(post_group(1, 2), 0);
	target_answers(0, CAIRN_CQE_REM_OP_ERR);
	target_answers(2, 0);
	ktap_eq(poll_group(), 1);
	target_answers(1, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(poll_group(), 2);
	expect_event(0, CAIRNDV_GROUP_TARGET, 1, 1);
	ktap_eq(wc[0].target, 1);
	expect_event(1, CAIRNDV_GROUP_FAILED, 1, 1);
	expect_released(1);
	ktap_eq(post_group(2, 2), ENOTCONN);
	/* a message for which one target is enough */
	ktap_eq(post_group(3, 1), 0);
	target_answers(2, 0);
	expect_durable(3, 1);
	close_group();
}

static void a_slow_target_bounds_it(void)
{
	open_group();
	for (uint64_t i = 0; i < DEPTH; i++)
		ktap_eq(post_group(i, 1), 0);
	ktap_eq(post_group(9, 1), ENOMEM);
	for (uint32_t i = 0; i < DEPTH; i++) {
		target_answers(0, 0);
		target_answers(1, 0);
	}
	ktap_eq(poll_group(), DEPTH);
	ktap_eq(post_group(9, 1), ENOMEM);
	target_answers(2, 0);
	ktap_eq(poll_group(), 0);
	ktap_eq(post_group(9, 1), 0);
	ktap_eq(post_group(10, 1), ENOMEM);
	close_group();
}

/* Whether target @i has got more than @messages, of one unit each. */
static bool got_more(uint32_t i, uint32_t messages)
{
	return fake_send_wqe(qp[i], messages)->units;
}

/* A full queue is no failure: the caller polls, and posts again. */
static void a_send_queue_is_full(void)
{
	for (uint32_t narrow = 0; narrow < TARGETS; narrow++) {
		open_group_with(narrow);
		ktap_eq(post_group(1, 3), 0);
		ktap_eq(post_group(2, 3), 0);
		ktap_eq(post_group(3, 3), ENOMEM);
		for (uint32_t i = 0; i < TARGETS; i++)
			ktap_ok(i == narrow || !got_more(i, 2));
		ktap_eq(poll_group(), 0);
		/* the device is done with the first one */
		all_answer();
		fake_sq(qp[narrow])->dev->index = fake.start_index + 1;
		expect_durable(1, 3);
		ktap_eq(post_group(3, 3), 0);
		for (uint32_t i = 0; i < TARGETS; i++) {
			target_answers(i, 0);
			target_answers(i, 0);
		}
		ktap_eq(poll_group(), 2);
		expect_event(0, CAIRNDV_GROUP_DURABLE, 2, 3);
		expect_event(1, CAIRNDV_GROUP_DURABLE, 3, 3);
		expect_released(3);
		close_group();
	}
}

/* A message that one queue pair does not take is posted to none. */
static void one_does_not_take_it(void)
{
	struct ibv_sge pieces[64] = {};
	struct cairndv_group_wr wr = { .quorum = 1, .dest = dest,
				       .sg_list = pieces, .num_sge = 64 };

	open_group();
	ktap_eq(cairndv_persist_group_post(group, &wr), EINVAL);
	qp[1]->state = IBV_QPS_INIT;
	ktap_eq(post_group(1, 1), EINVAL);
	ktap_eq(poll_group(), 0);
	for (uint32_t i = 0; i < TARGETS; i++)
		ktap_ok(!got_more(i, 0));
	qp[1]->state = IBV_QPS_RTS;
	ktap_eq(post_group(1, 3), 0);
	all_answer();
	expect_durable(1, 3);
	close_group();
}

/* The doorbell of one target fails: its device was unplugged. */
static void a_post_fails(void)
{
	open_group();
	*fake_sq(qp[1])->asleep = 1;
	fake.ioctl_errors[0] = EIO;
	ktap_eq(post_group(7, 2), 0);
	expect_loss(1, 7, 0);
	ktap_eq(wc[0].status, IBV_WC_LOC_QP_OP_ERR);
	close_group();
}

/* All ready before the first doorbell, and one for all that sleep. */
static bool all_ready;

static void look_at_all(const struct cairn_doorbell *db)
{
	(void)db;
	for (uint32_t i = 0; i < TARGETS; i++)
		all_ready &= fake_sq(qp[i])->ready->summary != 0;
}

static void one_doorbell(void)
{
	open_group();
	*fake_sq(qp[0])->asleep = CAIRN_LANE_ASLEEP;
	*fake_sq(qp[2])->asleep = CAIRN_LANE_LAZY;
	all_ready = true;
	fake.on_doorbell = look_at_all;
	ktap_eq(post_group(7, 3), 0);
	ktap_ok(all_ready);
	ktap_eq(fake.doorbells, 1);
	ktap_eq(fake.rung, 2);
	ktap_eq(fake.doorbell.index, fake.start_index + 1);
	all_answer();
	expect_durable(7, 3);
	close_group();
}

/* The call for all fails: each is rung alone, and those that fail again are lost. */
static void doorbell_of_one_fails(void)
{
	open_group();
	for (uint32_t i = 0; i < TARGETS; i++)
		*fake_sq(qp[i])->asleep = 1;
	fake.ioctl_errors[0] = EINVAL;
	fake.ioctl_errors[1] = EIO;
	ktap_eq(post_group(7, 2), 0);
	expect_loss(0, 7, 0);
	target_answers(1, 0);
	target_answers(2, 0);
	expect_durable(7, 2);
	close_group();
}

/* A wr_id that the group has not used, or that was answered. */
static void answers_of_others(void)
{
	uint64_t first;

	open_group();
	ktap_eq(post_group(1, 1), 0);
	first = next_wqe(0)->wr_id;
	const uint64_t wrong[] = { first + 256, first + 3, first + 255,
				   first - 1, ~0ULL, first ^ 1ULL << 63 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		fake_complete(fake_cq_ring(cq), &(struct cairn_cqe){
			.wr_id = wrong[i],
			.opcode = CAIRN_CQE_WRITE_PERSIST });
	ktap_eq(poll_group(), 0);
	target_answers(0, 0);
	ktap_eq(poll_group(), 1);
	taken[0] = 0;
	target_answers(0, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(poll_group(), 0);
	close_group();
}

/* A message of a destroyed group completes. */
static void answers_to_an_earlier_group(void)
{
	open_group();
	ktap_eq(post_group(1, 1), 0);
	cairndv_persist_group_destroy(group);
	group = cairndv_persist_group_create(qp, TARGETS, DEPTH);
	ktap_eq(post_group(2, 1), 0);
	target_answers(0, 0);
	ktap_eq(poll_group(), 0);
	target_answers(0, 0);
	expect_durable(2, 1);
	close_group();
}

/* The weakest of the targets that make up the quorum. */
static void names_the_kind(void)
{
	open_group();
	ktap_eq(post_group(1, 2), 0);
	ktap_eq(post_group(2, 3), 0);
	answer_kind(0, 0, CAIRN_DURABILITY_EADR);
	answer_kind(1, 0, CAIRN_DURABILITY_HOST);
	answer_kind(2, 0, CAIRN_DURABILITY_EMULATED);
	expect_durable(1, 2);
	ktap_eq(wc[0].durability, CAIRNDV_DURABILITY_HOST);
	/* a target that does not say is weaker than all */
	answer_kind(1, 0, CAIRN_DURABILITY_UNKNOWN);
	answer_kind(0, 0, CAIRN_DURABILITY_EADR);
	answer_kind(2, 0, CAIRN_DURABILITY_EMULATED);
	expect_durable(2, 3);
	ktap_eq(wc[0].durability, CAIRNDV_DURABILITY_UNKNOWN);
	ktap_eq(post_group(3, 3), 0);
	answer_kind(0, 0, CAIRN_DURABILITY_ADR);
	target_answers(1, CAIRN_CQE_REM_OP_ERR);
	ktap_eq(poll_group(), 2);
	expect_event(0, CAIRNDV_GROUP_TARGET, 3, 1);
	ktap_eq(wc[0].durability, 0);
	expect_event(1, CAIRNDV_GROUP_FAILED, 3, 1);
	ktap_eq(wc[1].durability, CAIRNDV_DURABILITY_ADR);
	close_group();
}

static void weaker_kinds_do_not_count(void)
{
	open_group();
	ktap_eq(post_weakest(1, 2, CAIRNDV_DURABILITY_HOST), 0);
	ktap_eq(post_weakest(2, 2, CAIRNDV_DURABILITY_ADR), 0);
	ktap_eq(post_weakest(3, 1, CAIRNDV_DURABILITY_EMULATED + 1), EINVAL);
	answer_kind(0, 0, CAIRN_DURABILITY_EMULATED);
	answer_kind(1, 0, CAIRN_DURABILITY_HOST);
	ktap_eq(poll_group(), 0);
	answer_kind(2, 0, CAIRN_DURABILITY_EADR);
	expect_durable(1, 2);
	ktap_eq(wc[0].durability, CAIRNDV_DURABILITY_HOST);
	answer_kind(0, 0, CAIRN_DURABILITY_UNKNOWN);
	ktap_eq(poll_group(), 0);
	answer_kind(1, 0, CAIRN_DURABILITY_HOST);
	/* no target has failed, and the quorum cannot be reached */
	ktap_eq(poll_group(), 1);
	expect_event(0, CAIRNDV_GROUP_FAILED, 2, 0);
	ktap_eq(wc[0].durability, 0);
	answer_kind(2, 0, CAIRN_DURABILITY_EADR);
	ktap_eq(poll_group(), 0);
	expect_released(2);
	close_group();
}

/* The device flushes what a queue pair in the error state has. */
static void answer_flushed(uint32_t i, uint32_t messages)
{
	ktap_eq(qp[i]->state, IBV_QPS_ERR);
	while (messages--)
		target_answers(i, CAIRN_CQE_WR_FLUSH_ERR);
}

static void time_passes(uint64_t ms)
{
	fake.clock_ns += ms * 1000000;
}

static void late_target_is_dropped(void)
{
	open_group();
	fake.clock_ns = 1;
	ktap_eq(cairndv_persist_group_set_deadline(group, TARGETS, 1), EINVAL);
	ktap_eq(post_group(1, 3), 0);
	time_passes(100);
	/* a limit holds for messages on the way, from now on */
	ktap_eq(cairndv_persist_group_set_deadline(group, 1, 20), 0);
	ktap_eq(post_group(2, 2), 0);
	target_answers(1, 0);
	target_answers(0, 0);
	ktap_eq(poll_group(), 0);
	time_passes(19);
	ktap_eq(poll_group(), 0);
	time_passes(1);
	/* an answer that has arrived is in time, however late it is polled */
	target_answers(1, 0);
	ktap_eq(poll_group(), 0);
	ktap_eq(post_group(3, 2), 0);
	target_answers(0, 0);
	expect_durable(2, 2);
	time_passes(19);
	ktap_eq(poll_group(), 0);
	time_passes(1);
	/* target 2, which has no limit, is later */
	expect_loss(1, 3, 0);
	ktap_eq(wc[0].status, IBV_WC_RESP_TIMEOUT_ERR);
	ktap_eq(fake.modify_mask, IBV_QP_STATE);
	answer_flushed(1, 1);
	ktap_eq(poll_group(), 0);
	ktap_eq(post_group(4, 3), ENOTCONN);
	ktap_eq(post_group(4, 2), 0);
	ktap_ok(!got_more(1, 3));
	for (int n = 0; n < 4; n++)
		target_answers(2, 0);
	target_answers(0, 0);
	target_answers(0, 0);
	ktap_eq(poll_group(), 3);
	expect_event(0, CAIRNDV_GROUP_DURABLE, 1, 3);
	expect_released(4);
	close_group();
}

static void limit_is_taken_back(void)
{
	open_group();
	fake.clock_ns = 1;
	ktap_eq(cairndv_persist_group_set_deadline(group, 0, 1), 0);
	ktap_eq(cairndv_persist_group_set_deadline(group, 2, 1), 0);
	ktap_eq(cairndv_persist_group_set_deadline(group, 2, 0), 0);
	ktap_eq(post_group(1, 1), 0);
	target_answers(0, 0);
	time_passes(3);
	ktap_eq(poll_group(), 1);
	ktap_eq(poll_group(), 0);
	ktap_eq(qp[2]->state, IBV_QPS_RTS);
	close_group();
}

static void drop_and_rejoin(void)
{
	struct ibv_qp *fresh, *old;

	open_group();
	old = qp[1];
	ktap_eq(post_group(1, 2), 0);
	ktap_eq(cairndv_persist_group_join(group, 1, old), EINVAL);
	ktap_eq(cairndv_persist_group_drop(group, TARGETS), EINVAL);
	ktap_eq(cairndv_persist_group_drop(group, 1), 0);
	ktap_eq(cairndv_persist_group_drop(group, 1), 0);
	ktap_eq(post_group(2, 3), ENOTCONN);
	ktap_eq(post_group(2, 2), 0);
	/* its memory may still be read */
	ktap_eq(cairndv_persist_group_join(group, 1, NULL), EBUSY);
	answer_flushed(1, 1);
	target_answers(0, 0);
	target_answers(2, 0);
	/* the program has dropped it: it is not told */
	expect_durable(1, 2);
	expect_released(1);
	ktap_eq(cairndv_persist_group_join(group, 1, qp[0]), EINVAL);
	ktap_eq(cairndv_persist_group_join(group, TARGETS, old), EINVAL);
	ktap_eq(cairndv_persist_group_join(group, 1, NULL), 0);
	fresh = fake_qp(pd, cq, IBV_QPT_RC, 0);
	ktap_eq(cairndv_persist_group_join(group, 1, fresh), 0);
	ktap_eq(cairndv_persist_group_join(group, 1, fresh), EINVAL);
	qp[1] = fresh;
	taken[1] = 0;
	/* it gets what is posted from now on */
	ktap_ok(!got_more(1, 0));
	ktap_eq(post_group(3, 3), 0);
	target_answers(0, 0);
	target_answers(2, 0);
	expect_durable(2, 2);
	target_answers(0, 0);
	target_answers(1, 0);
	ktap_eq(poll_group(), 0);
	target_answers(2, 0);
	expect_durable(3, 3);
	expect_released(3);
	/* and may fail again */
	ktap_eq(post_group(4, 1), 0);
	target_answers(1, CAIRN_CQE_REM_OP_ERR);
	expect_loss(1, 4, 0);
	ktap_eq(fake.ops.destroy_qp(old), 0);
	close_group();
}

/* Completions that wait have room for one failure of each target. */
static void joins_when_all_is_polled(void)
{
	open_group();
	for (int round = 0; round < 3; round++) {
		ktap_eq(post_group((uint64_t)round, 3), 0);
		target_answers(2, CAIRN_CQE_REM_OP_ERR);
		ktap_eq(cairndv_persist_group_poll(group, 1, wc), 1);
		expect_event(0, CAIRNDV_GROUP_TARGET, (uint64_t)round, 0);
		ktap_eq(cairndv_persist_group_join(group, 2, qp[2]), EBUSY);
		target_answers(0, 0);
		target_answers(1, 0);
		ktap_eq(poll_group(), 1);
		expect_event(0, CAIRNDV_GROUP_FAILED, (uint64_t)round, 0);
		ktap_eq(cairndv_persist_group_join(group, 2, qp[2]), 0);
	}
	close_group();
}

/* A group begins without a target, even the first, which comes later. */
static void place_is_empty(void)
{
	struct ibv_qp *some[TARGETS] = { NULL };

	open_group();
	cairndv_persist_group_destroy(group);
	ktap_ok(!cairndv_persist_group_create(some, TARGETS, DEPTH) &&
		errno == EINVAL);
	some[1] = qp[1];
	some[2] = qp[2];
	group = cairndv_persist_group_create(some, TARGETS, DEPTH);
	ktap_ok(group);
	*fake_sq(qp[1])->asleep = 1;
	*fake_sq(qp[2])->asleep = 1;
	ktap_eq(post_group(1, 3), ENOTCONN);
	ktap_eq(post_group(1, 2), 0);
	ktap_eq(fake.rung, 2);
	target_answers(1, 0);
	target_answers(2, 0);
	expect_durable(1, 2);
	expect_released(1);
	ktap_eq(cairndv_persist_group_join(group, 0, qp[0]), 0);
	ktap_eq(post_group(2, 3), 0);
	all_answer();
	expect_durable(2, 3);
	close_group();
}

/* ---- several devices and completion queues ---- */

static struct ibv_context *other_ctx;
static struct ibv_pd *other_pd;
static struct ibv_cq *other_cq;

/* Target 0 is reached by one device, targets 1 and 2 by another one. */
static void open_two_devices(void)
{
	open_group();
	cairndv_persist_group_destroy(group);
	other_ctx = fake_open_second();
	ktap_ok(other_ctx);
	other_ctx->ops.poll_cq = fake.ops.poll_cq;
	other_ctx->ops.req_notify_cq = fake.ops.req_notify_cq;
	ctx->ops.req_notify_cq = fake.ops.req_notify_cq;
	other_pd = fake_pd(other_ctx);
	other_cq = fake_cq(other_ctx, 64);
	for (uint32_t i = 1; i < TARGETS; i++) {
		ktap_eq(fake.ops.destroy_qp(qp[i]), 0);
		qp[i] = fake_qp(other_pd, other_cq, IBV_QPT_RC, 0);
	}
	group = cairndv_persist_group_create(qp, TARGETS, DEPTH);
	ktap_ok(group);
}

static void close_two_devices(void)
{
	cairndv_persist_group_destroy(group);
	for (uint32_t i = 0; i < TARGETS; i++)
		ktap_eq(fake.ops.destroy_qp(qp[i]), 0);
	ktap_eq(fake.ops.destroy_cq(other_cq), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(other_pd), 0);
	fake_close(other_ctx);
	close_ctx();
}

static void two_devices(void)
{
	open_two_devices();
	ktap_eq(post_group(1, 2), 0);
	target_answers(2, 0);
	ktap_eq(poll_group(), 0);
	target_answers(0, 0);
	expect_durable(1, 2);
	target_answers(1, CAIRN_CQE_RETRY_EXC_ERR);
	expect_loss(1, 1, 2);
	expect_released(1);
	close_two_devices();
}

/* A queue is rung at its own device. */
static bool own_device;

static void look_for_device(const struct cairn_doorbell *db)
{
	for (uint32_t i = 0; i < TARGETS; i++)
		if (to_cqp(qp[i])->sq.ring.qid == db->qid)
			own_device &= qp[i]->context->cmd_fd == fake.ioctl_fd;
}

static void doorbell_for_each_device(void)
{
	open_two_devices();
	for (uint32_t i = 0; i < TARGETS; i++)
		*fake_sq(qp[i])->asleep = 1;
	own_device = true;
	fake.on_doorbell = look_for_device;
	ktap_eq(post_group(7, 3), 0);
	ktap_ok(own_device);
	ktap_eq(fake.doorbells, 2);
	ktap_eq(fake.rung, TARGETS);
	/* the device of the first one is unplugged: the others are rung all the same */
	fake.ioctl_errors[0] = EIO;
	fake.doorbells = 0;
	ktap_eq(post_group(8, 2), 0);
	ktap_eq(fake.doorbells, 1);
	expect_loss(0, 8, 0);
	close_two_devices();
}

/* A completion queue that is never empty does not keep the others from being polled. */
static void queues_take_turns(void)
{
	open_two_devices();
	for (uint64_t n = 1; n <= 3; n++) {
		ktap_eq(post_group(n, 1), 0);
		target_answers(0, 0);
	}
	target_answers(1, 0);
	target_answers(2, 0);
	for (int n = 0; n < 3; n++)
		ktap_eq(cairndv_persist_group_poll(group, 1, wc), 1);
	expect_released(1);
	close_two_devices();
}

/* The bytes are registered once for each protection domain. */
static void key_of_each_domain(void)
{
	char bytes[4096];
	struct ibv_sge sge[2] = { { (uintptr_t)bytes, 2048, 70 },
				  { (uintptr_t)bytes + 2048, 2048, 70 } };
	struct cairndv_group_wr wr = { .quorum = 1, .dest = dest,
				       .sg_list = sge, .num_sge = 2 };
	static const uint32_t keys[TARGETS] = { 70, 81, 82 };

	open_two_devices();
	ktap_eq(cairndv_persist_group_post(group, &wr), EINVAL);
	dest[1].lkey = 81;
	dest[2].lkey = 82;
	ktap_eq(cairndv_persist_group_post(group, &wr), 0);
	for (uint32_t i = 0; i < TARGETS; i++) {
		const struct cairn_send_wqe *wqe = next_wqe(i);
		const struct cairn_sge *piece = wqe->sge;

		for (int n = 0; n < 2; n++) {
			ktap_eq(piece[n].lkey, keys[i]);
			ktap_eq(piece[n].addr, sge[n].addr);
		}
	}
	ktap_eq(sge[0].lkey, 70);
	/* two in one domain can share it */
	dest[0].lkey = 71;
	dest[1].lkey = 0;
	dest[2].lkey = 0;
	ktap_eq(cairndv_persist_group_post(group, &wr), 0);
	/* inline data and no data need none */
	dest[0].lkey = 0;
	ktap_eq(post_group(3, 1), 0);
	wr.num_sge = 0;
	ktap_eq(cairndv_persist_group_post(group, &wr), 0);
	close_two_devices();
}

static void all_queues_are_armed(void)
{
	const struct cairn_qinfo_host *other;
	uint32_t armed;

	open_two_devices();
	other = fake_cq_ring(other_cq)->host;
	armed = other->arm;
	ktap_eq(cairndv_persist_group_arm(group), 0);
	ktap_ok(fake_cq_ring(cq)->host->arm);
	ktap_ok(other->arm != armed);
	/* the second device has no member any more */
	ktap_eq(cairndv_persist_group_drop(group, 1), 0);
	ktap_eq(cairndv_persist_group_drop(group, 2), 0);
	ktap_eq(cairndv_persist_group_join(group, 1, NULL), 0);
	ktap_eq(cairndv_persist_group_join(group, 2, NULL), 0);
	armed = other->arm;
	ktap_eq(cairndv_persist_group_arm(group), 0);
	ktap_eq(other->arm, armed);
	close_two_devices();
}

static void joins_by_another_device(void)
{
	struct ibv_qp *some[TARGETS] = { NULL };

	open_two_devices();
	cairndv_persist_group_destroy(group);
	some[0] = qp[0];
	group = cairndv_persist_group_create(some, TARGETS, DEPTH);
	ktap_ok(group);
	ktap_eq(cairndv_persist_group_join(group, 2, qp[2]), 0);
	ktap_eq(post_group(4, 2), 0);
	target_answers(0, 0);
	target_answers(2, 0);
	expect_durable(4, 2);
	/* and another one while it runs */
	ktap_eq(post_group(5, 1), 0);
	ktap_eq(cairndv_persist_group_join(group, 1, qp[1]), 0);
	ktap_eq(post_group(6, 3), 0);
	target_answers(1, 0);
	target_answers(0, 0);
	target_answers(0, 0);
	target_answers(2, 0);
	target_answers(2, 0);
	ktap_eq(poll_group(), 2);
	expect_event(0, CAIRNDV_GROUP_DURABLE, 5, 1);
	expect_event(1, CAIRNDV_GROUP_DURABLE, 6, 3);
	expect_released(3);
	close_two_devices();
}

/* How long a program may sleep in poll(2). */
static void time_to_the_deadline(void)
{
	open_two_devices();
	fake.clock_ns = 1;
	ktap_eq(cairndv_persist_group_timeout(group), -1);
	ktap_eq(cairndv_persist_group_set_deadline(group, 0, 50), 0);
	ktap_eq(cairndv_persist_group_set_deadline(group, 1, 20), 0);
	ktap_eq(cairndv_persist_group_set_deadline(group, 2, 70), 0);
	ktap_eq(cairndv_persist_group_timeout(group), -1);
	ktap_eq(post_group(1, 1), 0);
	ktap_eq(cairndv_persist_group_timeout(group), 20);
	fake.clock_ns += 4500000;
	ktap_eq(cairndv_persist_group_timeout(group), 16);
	target_answers(1, 0);
	target_answers(0, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(cairndv_persist_group_poll(group, 1, wc), 1);
	ktap_eq(poll_group(), 1);
	/* one has answered, and one has failed */
	ktap_eq(cairndv_persist_group_timeout(group), 66);
	time_passes(66);
	ktap_eq(cairndv_persist_group_timeout(group), 0);
	ktap_eq(poll_group(), 1);
	expect_event(0, CAIRNDV_GROUP_TARGET, 1, 1);
	ktap_eq(cairndv_persist_group_timeout(group), -1);
	close_two_devices();
}

static void refused(void)
{
	static const struct verbs_device_ops other_ops;
	static struct verbs_device other = { .ops = &other_ops };
	struct ibv_context foreign = { .device = &other.device };
	struct ibv_qp strange = { .context = &foreign };
	struct ibv_qp *twice[2], *mixed[2];
	struct cairndv_group_wr wr = { .quorum = 1, .dest = dest,
				       .send_flags = CAIRNDV_SEND_EARLY };

	open_group();
	twice[0] = qp[0];
	twice[1] = qp[0];
	mixed[0] = qp[0];
	mixed[1] = &strange;
	ktap_ok(!cairndv_persist_group_create(qp, 0, 1) && errno == EINVAL);
	ktap_ok(!cairndv_persist_group_create(qp, 65, 1) && errno == EINVAL);
	ktap_ok(!cairndv_persist_group_create(qp, 1, 0) && errno == EINVAL);
	/* depths at which the room for events would wrap or is too large */
	ktap_ok(!cairndv_persist_group_create(qp, 1, UINT32_MAX) &&
		errno == EINVAL);
	ktap_ok(!cairndv_persist_group_create(qp, 1, (128 << 10) + 1) &&
		errno == EINVAL);
	cairndv_persist_group_destroy(cairndv_persist_group_create(qp, 1,
								   128 << 10));
	ktap_ok(!cairndv_persist_group_create(twice, 2, 1) && errno == EINVAL);
	ktap_ok(!cairndv_persist_group_create(mixed, 2, 1) &&
		errno == EOPNOTSUPP);
	ktap_eq(post_group(1, 0), EINVAL);
	ktap_eq(post_group(1, TARGETS + 1), EINVAL);
	ktap_eq(cairndv_persist_group_post(group, &wr), EINVAL);
	expect_released(0);
	close_group();
}

static const struct ktap_test tests[] = {
	KTAP(what_each_target_gets),
	KTAP(enough_is_one_completion),
	KTAP(every_quorum),
	KTAP(a_target_fails),
	KTAP(too_many_fail),
	KTAP(a_slow_target_bounds_it),
	KTAP(a_send_queue_is_full),
	KTAP(one_does_not_take_it),
	KTAP(a_post_fails), KTAP(one_doorbell), KTAP(doorbell_of_one_fails),
	KTAP(answers_of_others),
	KTAP(answers_to_an_earlier_group),
	KTAP(names_the_kind),
	KTAP(weaker_kinds_do_not_count),
	KTAP(late_target_is_dropped),
	KTAP(limit_is_taken_back),
	KTAP(drop_and_rejoin),
	KTAP(joins_when_all_is_polled),
	KTAP(place_is_empty),
	KTAP(two_devices),
	KTAP(doorbell_for_each_device),
	KTAP(queues_take_turns),
	KTAP(key_of_each_domain),
	KTAP(all_queues_are_armed),
	KTAP(joins_by_another_device),
	KTAP(time_to_the_deadline),
	KTAP(refused),
};

KTAP_MAIN(tests)
