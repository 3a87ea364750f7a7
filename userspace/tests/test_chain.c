// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* A hop of a chain: what it passes on, when it answers, and what it never reports. */
#include <errno.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"
#include "fixture.h"

#define REMOTE		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define NEXT_ADDR	0x700000
#define TOKEN		1000
#define LONG		2048		/* bytes; such a message is not sent inline */

enum { DEPTH = 8, HOPS = 2 };

static char memory[16384];
static struct ibv_cq *cq, *next_cq[HOPS];
static struct fake_ring *asks;
static struct ibv_qp *qp, *next_qp[HOPS];
static struct ibv_mr *mr;
static struct cairndv_chain *chain;
static struct cairndv_chain_event event[4];
static struct cairndv_chain_range range[CAIRNDV_PERSIST_ANSWERS];
static uint32_t ranges, flushes;
static int flush_error;
static uint32_t taken[HOPS];		/* units that the device has seen */
static uint32_t asked;

static int chain_flushes(void *arg, const struct cairndv_chain_range *what,
			 uint32_t num)
{
	ktap_ok(arg == memory);
	memcpy(range, what, num * sizeof(*what));
	ranges = num;
	flushes++;
	return flush_error;
}

static struct cairndv_chain_attr chain_attr(uint32_t policy)
{
	return (struct cairndv_chain_attr){
		.qp = qp, .mr = mr, .depth = DEPTH, .policy = policy,
		.flush = chain_flushes, .arg = memory,
	};
}

static void chain_create(const struct cairndv_chain_attr *attr)
{
	chain = cairndv_chain_create(attr, sizeof(*attr));
	ktap_ok(chain);
}

static void open_ends(void)
{
	open_ctx();
	ctx->ops.req_notify_cq = fake.ops.req_notify_cq;
	cq = fake_cq(ctx, 64);
	asks = fake_cq_ring(cq);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	for (int i = 0; i < HOPS; i++) {
		next_cq[i] = fake_cq(ctx, 64);
		fake.sq_depth = 64;
		next_qp[i] = fake_qp(pd, next_cq[i], IBV_QPT_RC, 0);
		taken[i] = 0;
	}
	mr = fake.ops.reg_mr(pd, memory, sizeof(memory), (uintptr_t)memory,
			     REMOTE | CAIRNDV_ACCESS_PERSISTENT_HOST);
	ktap_ok(mr);
	mr->addr = memory;
	mr->length = sizeof(memory);
	asked = 0;
	flushes = 0;
	ranges = 0;
	flush_error = 0;
}

static int chain_link(int hop)
{
	const struct cairndv_chain_next next = {
		.qp = next_qp[hop],
		.remote_addr = NEXT_ADDR * (hop + 1u),
		.rkey = 7u + hop, .lkey = 70u + hop,
	};

	return cairndv_chain_set_next(chain, &next);
}

/* The last hop of a chain. */
static void open_last_hop(uint32_t policy)
{
	struct cairndv_chain_attr attr;

	open_ends();
	attr = chain_attr(policy);
	chain_create(&attr);
}

/* A hop with another one behind it. */
static void open_chain(uint32_t policy)
{
	open_last_hop(policy);
	ktap_eq(chain_link(0), 0);
}

static void close_chain(void)
{
	cairndv_chain_destroy(chain);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	for (int i = 0; i < HOPS; i++) {
		ktap_eq(fake.ops.destroy_qp(next_qp[i]), 0);
		ktap_eq(fake.ops.destroy_cq(next_cq[i]), 0);
	}
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	close_ctx();
}

/* A message of @length bytes arrives at address @va. */
static void ask_at(uint64_t va, uint32_t length)
{
	fake_complete(asks, &(struct cairn_cqe){
		.opcode = CAIRN_CQE_RECV_PERSIST,
		.qpn = qp->qp_num,
		.byte_len = length,
		.persist_va = va,
		.persist_token = TOKEN + asked++,
	});
}

/* A message of LONG bytes arrives at offset @at of the region. */
static void ask_long(uint32_t at)
{
	ask_at((uintptr_t)memory + at, LONG);
}

static const struct cairn_send_wqe *next_wqe(int hop)
{
	return fake_send_wqe(next_qp[hop], taken[hop]);
}

static bool passed_on(int hop)
{
	return next_wqe(hop)->units;
}

static void next_answers_kind(int hop, uint8_t status, uint8_t durability)
{
	ktap_ok(passed_on(hop));
	fake_persisted(next_qp[hop], &taken[hop], status, durability);
}

static void next_answers(int hop, uint8_t status)
{
	next_answers_kind(hop, status, status ? 0 : CAIRN_DURABILITY_ADR);
}

static int poll_chain(void)
{
	memset(event, 0xff, sizeof(event));
	return cairndv_chain_poll(chain, 4, event);
}

/* @num messages arrive together, one behind the other in the region. */
static void messages_arrive(uint32_t num)
{
	for (uint32_t i = 0; i < num; i++)
		ask_long(i * LONG);
	ktap_eq(poll_chain(), 0);
}

/* The last call answered messages from the @first on with @status. */
static void expect_answers(uint32_t first, uint32_t num, uint32_t status)
{
	ktap_eq(fake.persist_answers, num);
	for (uint32_t i = 0; i < num; i++) {
		ktap_eq(fake.persist_done[i].token, TOKEN + first + i);
		ktap_eq(fake.persist_done[i].status, status);
	}
}

/* The answer of the next hop to message @number reaches the writer. */
static void answer_goes_back(int hop, uint32_t number)
{
	next_answers(hop, 0);
	ktap_eq(poll_chain(), 0);
	expect_answers(number, 1, 0);
}

/* The next hop answers the first of three messages, and fails. */
static void next_dies(void)
{
	next_answers(0, 0);
	next_answers(0, CAIRN_CQE_RETRY_EXC_ERR);
	next_answers(0, CAIRN_CQE_WR_FLUSH_ERR);
}

static void expect_lost(uint32_t status)
{
	ktap_eq(event[0].kind, CAIRNDV_CHAIN_NEXT_LOST);
	ktap_eq(event[0].status, status);
}

static void expect_failed(int n, int error)
{
	ktap_eq(event[n].kind, CAIRNDV_CHAIN_FAILED);
	ktap_eq(event[n].error, error);
}

static void same_bytes_go_on(void)
{
	const struct cairn_send_wqe *wqe;

	open_chain(CAIRNDV_CHAIN_FAIL);
	ask_long(4096);
	ktap_eq(poll_chain(), 0);
	wqe = next_wqe(0);
	ktap_eq(wqe->opcode, CAIRN_WQE_WRITE_PERSIST);
	ktap_eq(wqe->remote_addr, NEXT_ADDR + 4096);
	ktap_eq(wqe->rkey, 7);
	ktap_eq(wqe->num_sge, 1);
	ktap_eq(wqe->sge[0].addr, (uintptr_t)memory + 4096);
	ktap_eq(wqe->sge[0].length, LONG);
	ktap_eq(wqe->sge[0].lkey, 70);
	ktap_eq(flushes, 1);
	ktap_eq(range[0].va, (uintptr_t)memory + 4096);
	ktap_eq(range[0].length, LONG);
	/* durable here, and not yet at the next hop */
	ktap_eq(fake.persist_dones, 0);
	answer_goes_back(0, 0);
	ktap_eq(fake.persist_dones, 1);
	ktap_eq(cairndv_chain_answered(chain), 1);
	ktap_eq(flushes, 1);
	close_chain();
}

/* One flush and one call for all that has arrived. */
static void last_hop_commits_a_group(void)
{
	open_last_hop(CAIRNDV_CHAIN_FAIL);
	messages_arrive(3);
	ktap_eq(flushes, 1);
	ktap_eq(ranges, 3);
	ktap_eq(fake.persist_dones, 1);
	expect_answers(0, 3, 0);
	ktap_eq(poll_chain(), 0);
	ktap_eq(fake.persist_dones, 1);
	close_chain();
}

static void order_is_kept(void)
{
	open_chain(CAIRNDV_CHAIN_FAIL);
	messages_arrive(3);
	next_answers(0, 0);
	next_answers(0, 0);
	ktap_eq(poll_chain(), 0);
	expect_answers(0, 2, 0);
	ask_long(4 * LONG);
	answer_goes_back(0, 2);
	answer_goes_back(0, 3);
	ktap_eq(cairndv_chain_answered(chain), 4);
	close_chain();
}

static void own_flush_fails(void)
{
	open_chain(CAIRNDV_CHAIN_HOLD);
	messages_arrive(1);
	flush_error = ENOSPC;
	ask_long(LONG);
	ask_long(LONG);
	ktap_eq(poll_chain(), 1);
	expect_failed(0, ENOSPC);
	ktap_eq(fake.persist_dones, 0);
	for (int i = 0; i < 3; i++)
		next_answers(0, 0);
	ktap_eq(poll_chain(), 0);
	ktap_eq(fake.persist_dones, 2);
	expect_answers(1, 2, ENOSPC);
	ktap_eq(cairndv_chain_answered(chain), 1);
	/* a later flush may succeed although the data is lost: never again */
	flush_error = 0;
	flushes = 0;
	messages_arrive(1);
	expect_answers(3, 1, ENOSPC);
	ktap_eq(flushes, 0);
	ktap_ok(!passed_on(0));
	close_chain();
}

static void next_hop_fails(void)
{
	open_chain(CAIRNDV_CHAIN_FAIL);
	messages_arrive(3);
	next_dies();
	ktap_eq(poll_chain(), 2);
	expect_lost(IBV_WC_RETRY_EXC_ERR);
	ktap_eq(event[0].vendor_err, 5);
	expect_failed(1, EHOSTDOWN);
	/* the first one is durable everywhere */
	ktap_eq(fake.persist_dones, 2);
	expect_answers(1, 2, EHOSTDOWN);
	ktap_eq(cairndv_chain_answered(chain), 1);
	messages_arrive(1);
	expect_answers(3, 1, EHOSTDOWN);
	ktap_ok(!passed_on(0));
	close_chain();
}

/* Nothing is reported until another hop has it. */
static void waits_for_another_hop(void)
{
	open_chain(CAIRNDV_CHAIN_HOLD);
	messages_arrive(3);
	next_dies();
	ktap_eq(poll_chain(), 1);
	expect_lost(IBV_WC_RETRY_EXC_ERR);
	expect_answers(0, 1, 0);
	ask_long(3 * LONG);
	ktap_eq(poll_chain(), 0);
	ktap_eq(fake.persist_dones, 1);
	ktap_ok(!passed_on(1));
	ktap_eq(chain_link(1), 0);
	ktap_eq(poll_chain(), 0);
	/* those that the first one did not answer, in order */
	for (uint32_t i = 1; i < 4; i++) {
		ktap_eq(next_wqe(1)->remote_addr, 2 * NEXT_ADDR + i * LONG);
		ktap_eq(next_wqe(1)->sge[0].lkey, 71);
		ktap_eq(fake.persist_dones, 1);
		next_answers(1, 0);
	}
	ktap_eq(poll_chain(), 0);
	expect_answers(1, 3, 0);
	/* that hop may be lost, too */
	messages_arrive(1);
	next_answers(1, CAIRN_CQE_REM_OP_ERR);
	ktap_eq(poll_chain(), 1);
	expect_lost(IBV_WC_REM_OP_ERR);
	ktap_eq(cairndv_chain_answered(chain), 4);
	close_chain();
}

/* An answer of a hop that was replaced does not count for the one in its place. */
static void next_hop_is_replaced(void)
{
	open_chain(CAIRNDV_CHAIN_HOLD);
	messages_arrive(1);
	ktap_eq(chain_link(0), EINVAL);
	ktap_eq(chain_link(1), 0);
	/* it cannot get later messages any more */
	ktap_eq(next_qp[0]->state, IBV_QPS_ERR);
	next_answers(0, 0);
	ktap_eq(poll_chain(), 0);
	ktap_eq(fake.persist_dones, 0);
	answer_goes_back(1, 0);
	/* the chain ends here */
	messages_arrive(1);
	ktap_eq(fake.persist_dones, 1);
	ktap_eq(cairndv_chain_set_next(chain, NULL), 0);
	ktap_eq(poll_chain(), 0);
	expect_answers(1, 1, 0);
	close_chain();
}

static void chain_is_cut(void)
{
	open_chain(CAIRNDV_CHAIN_CUT);
	messages_arrive(2);
	next_answers(0, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(poll_chain(), 1);
	expect_lost(IBV_WC_RETRY_EXC_ERR);
	expect_answers(0, 2, 0);
	messages_arrive(1);
	expect_answers(2, 1, 0);
	/* the second one was the last that it got */
	next_answers(0, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_ok(!passed_on(0));
	close_chain();
}

/* The next hop keeps nothing: then a report would be a lie. */
static void weak_hop_does_not_count(void)
{
	struct cairndv_chain_attr attr;

	open_chain(CAIRNDV_CHAIN_FAIL);
	messages_arrive(1);
	next_answers_kind(0, 0, CAIRN_DURABILITY_EMULATED);
	ktap_eq(poll_chain(), 2);
	expect_lost(IBV_WC_SUCCESS);
	expect_failed(1, EHOSTDOWN);
	expect_answers(0, 1, EHOSTDOWN);
	ktap_eq(next_qp[0]->state, IBV_QPS_ERR);
	close_chain();

	/* unless the program wants it */
	open_ends();
	attr = chain_attr(CAIRNDV_CHAIN_FAIL);
	attr.durability = CAIRNDV_DURABILITY_EMULATED;
	chain_create(&attr);
	ktap_eq(chain_link(0), 0);
	messages_arrive(1);
	next_answers_kind(0, 0, CAIRN_DURABILITY_EMULATED);
	ktap_eq(poll_chain(), 0);
	expect_answers(0, 1, 0);
	close_chain();
}

static void next_hop_hangs(void)
{
	struct cairndv_chain_attr attr;

	open_ends();
	fake.clock_ns = 1;
	attr = chain_attr(CAIRNDV_CHAIN_FAIL);
	attr.deadline_ms = 20;
	chain_create(&attr);
	ktap_eq(cairndv_chain_timeout(chain), -1);
	ktap_eq(chain_link(0), 0);
	ktap_eq(cairndv_chain_timeout(chain), -1);
	messages_arrive(1);
	ktap_eq(cairndv_chain_timeout(chain), 20);
	fake.clock_ns += 19000000;
	ktap_eq(poll_chain(), 0);
	fake.clock_ns += 1000000;
	ktap_eq(cairndv_chain_timeout(chain), 0);
	ktap_eq(cairndv_chain_poll(chain, 1, event), 1);
	expect_lost(IBV_WC_RESP_TIMEOUT_ERR);
	/* one event more waits */
	ktap_eq(cairndv_chain_timeout(chain), 0);
	ktap_eq(poll_chain(), 1);
	expect_failed(0, EHOSTDOWN);
	expect_answers(0, 1, EHOSTDOWN);
	close_chain();
}

static void outside_of_the_region(void)
{
	const uintptr_t begin = (uintptr_t)memory, end = begin + sizeof(memory);
	const struct {
		uintptr_t va;
		uint32_t length;
	} wrong[] = {
		{ begin - 1, 2 }, { end - 1, 2 }, { end, 1 }, { begin - 1, 1 },
		{ begin, sizeof(memory) + 1 },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		open_chain(CAIRNDV_CHAIN_FAIL);
		ask_long(0);
		ask_at(wrong[i].va, wrong[i].length);
		ktap_eq(poll_chain(), 1);
		expect_failed(0, EFAULT);
		ktap_eq(ranges, 1);
		next_answers(0, 0);
		ktap_ok(!passed_on(0));
		ktap_eq(poll_chain(), 0);
		ktap_eq(fake.persist_dones, 2);
		expect_answers(1, 1, EFAULT);
		close_chain();
	}
	open_chain(CAIRNDV_CHAIN_FAIL);
	ask_at(begin, sizeof(memory));
	ask_at(end - 1, 1);
	ktap_eq(poll_chain(), 0);
	close_chain();
}

/* A message of no bytes asks for the kind of a region, or is a barrier. */
static void message_of_no_bytes(void)
{
	open_chain(CAIRNDV_CHAIN_FAIL);
	ask_at(0, 0);
	ktap_eq(poll_chain(), 0);
	ktap_eq(next_wqe(0)->num_sge, 0);
	ktap_eq(next_wqe(0)->remote_addr, NEXT_ADDR);
	ktap_eq(flushes, 0);
	ktap_eq(fake.persist_dones, 0);
	answer_goes_back(0, 0);
	close_chain();
}

static uint32_t receives_posted(void)
{
	struct fake_ring *rq = fake_rq(qp);

	return rq->host->index - fake.start_index;
}

/* A SEND of the writer uses up a receive, too. */
static void receives_are_posted_again(void)
{
	uint32_t one;

	open_chain(CAIRNDV_CHAIN_FAIL);
	one = receives_posted() / DEPTH;
	ktap_ok(one);
	messages_arrive(2);
	ktap_eq(receives_posted(), DEPTH * one);
	next_answers(0, 0);
	ktap_eq(poll_chain(), 0);
	ktap_eq(receives_posted(), (DEPTH + 1) * one);
	fake_complete(asks, &(struct cairn_cqe){ .opcode = CAIRN_CQE_RECV,
						 .qpn = qp->qp_num });
	ktap_eq(poll_chain(), 0);
	ktap_eq(receives_posted(), (DEPTH + 2) * one);
	ktap_eq(fake.persist_dones, 1);
	close_chain();
}

/* Messages wait for room in the queue to the next hop. */
static void queue_to_the_next_is_full(void)
{
	open_last_hop(CAIRNDV_CHAIN_FAIL);
	ktap_eq(fake.ops.destroy_qp(next_qp[0]), 0);
	fake.sq_depth = 2;
	next_qp[0] = fake_qp(pd, next_cq[0], IBV_QPT_RC, 0);
	ktap_eq(chain_link(0), 0);
	messages_arrive(3);
	next_answers(0, 0);
	fake_sq(next_qp[0])->dev->index = fake.start_index + 1;
	ktap_eq(poll_chain(), 0);
	expect_answers(0, 1, 0);
	ktap_eq(poll_chain(), 0);
	next_answers(0, 0);
	ktap_eq(next_wqe(0)->remote_addr, NEXT_ADDR + 2 * LONG);
	next_answers(0, 0);
	ktap_eq(poll_chain(), 0);
	expect_answers(1, 2, 0);
	close_chain();
}

static void writer_is_lost(void)
{
	open_chain(CAIRNDV_CHAIN_FAIL);
	ask_long(0);
	for (int i = 0; i < 2; i++)
		fake_complete(asks, &(struct cairn_cqe){
			.opcode = CAIRN_CQE_RECV,
			.status = CAIRN_CQE_WR_FLUSH_ERR,
			.qpn = qp->qp_num });
	ktap_eq(poll_chain(), 1);
	ktap_eq(event[0].kind, CAIRNDV_CHAIN_WRITER_LOST);
	ktap_eq(event[0].status, IBV_WC_WR_FLUSH_ERR);
	/* what has arrived goes on; its token is dead */
	fake.persist_refused = 1;
	next_answers(0, 0);
	ktap_eq(poll_chain(), 0);
	ktap_eq(fake.persist_dones, 1);
	close_chain();
}

static void next_queue_pair_is_not_ready(void)
{
	open_chain(CAIRNDV_CHAIN_HOLD);
	next_qp[0]->state = IBV_QPS_INIT;
	ask_long(0);
	ktap_eq(poll_chain(), 1);
	expect_lost(IBV_WC_LOC_QP_OP_ERR);
	next_qp[0]->state = IBV_QPS_RTS;
	ktap_eq(chain_link(0), 0);
	ktap_eq(poll_chain(), 0);
	answer_goes_back(0, 0);
	close_chain();
}

static void both_sides_are_armed(void)
{
	open_chain(CAIRNDV_CHAIN_FAIL);
	ktap_eq(cairndv_chain_arm(chain), 0);
	ktap_ok(asks->host->arm);
	ktap_ok(fake_cq_ring(next_cq[0])->host->arm);
	ktap_ok(!fake_cq_ring(next_cq[1])->host->arm);
	close_chain();
}

static void chain_refused(struct cairndv_chain_attr attr, int err)
{
	ktap_ok(!cairndv_chain_create(&attr, sizeof(attr)) && errno == err);
}

static void refused(void)
{
	static const struct verbs_device_ops other_ops;
	static struct verbs_device other = { .ops = &other_ops };
	struct ibv_context foreign = { .device = &other.device };
	struct ibv_qp strange = { .context = &foreign };
	struct cairndv_chain_next next = {};
	struct cairndv_chain_attr attr, wrong;
	struct ibv_mr *plain;

	open_chain(CAIRNDV_CHAIN_FAIL);
	attr = chain_attr(CAIRNDV_CHAIN_FAIL);
	plain = fake.ops.reg_mr(pd, memory, sizeof(memory), (uintptr_t)memory,
				REMOTE | CAIRNDV_ACCESS_PERSISTENT);
	wrong = attr;
	wrong.mr = plain;
	chain_refused(wrong, EINVAL);
	wrong = attr;
	wrong.qp = NULL;
	chain_refused(wrong, EINVAL);
	wrong = attr;
	wrong.qp = &strange;
	chain_refused(wrong, EOPNOTSUPP);
	wrong = attr;
	wrong.depth = 0;
	chain_refused(wrong, EINVAL);
	wrong.depth = CAIRNDV_CHAIN_MAX_DEPTH + 1;
	chain_refused(wrong, EINVAL);
	wrong = attr;
	wrong.policy = CAIRNDV_CHAIN_CUT + 1;
	chain_refused(wrong, EINVAL);
	wrong = attr;
	wrong.durability = CAIRNDV_DURABILITY_EMULATED + 1;
	chain_refused(wrong, EINVAL);
	/* more receives than the queue has room for */
	wrong = attr;
	wrong.depth = 1000;
	chain_refused(wrong, ENOMEM);
	next.qp = qp;
	ktap_eq(cairndv_chain_set_next(chain, &next), EINVAL);
	next.qp = &strange;
	ktap_eq(cairndv_chain_set_next(chain, &next), EOPNOTSUPP);
	/* the one that it had is still there */
	messages_arrive(1);
	ktap_ok(passed_on(0));
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)plain), 0);
	close_chain();
}

static const struct ktap_test tests[] = {
	KTAP(same_bytes_go_on),
	KTAP(last_hop_commits_a_group),
	KTAP(order_is_kept),
	KTAP(own_flush_fails),
	KTAP(next_hop_fails),
	KTAP(waits_for_another_hop),
	KTAP(next_hop_is_replaced),
	KTAP(chain_is_cut),
	KTAP(weak_hop_does_not_count),
	KTAP(next_hop_hangs),
	KTAP(outside_of_the_region),
	KTAP(message_of_no_bytes),
	KTAP(receives_are_posted_again),
	KTAP(queue_to_the_next_is_full),
	KTAP(writer_is_lost),
	KTAP(next_queue_pair_is_not_ready),
	KTAP(both_sides_are_armed),
	KTAP(refused),
};

KTAP_MAIN(tests)
