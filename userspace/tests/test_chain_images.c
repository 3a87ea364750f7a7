// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Chains of three hops against crashes, in schedules by seed. Hops die, fail to flush, and
 * lose their connections; a chain is cut, mended behind a lost hop, or gets a new last
 * hop. At random times the test builds what a power failure could leave of each hop:
 * bytes that are not flushed may be there or not. Each message that was reported to the
 * writer must be in the image of each hop that belongs to the chain.
 *
 *   CAIRN_IMAGES=n	images for each policy (20000)
 *   CAIRN_SOAK=1	a million for each
 *   CAIRN_SEED=n	the first schedule
 */
#include <errno.h>
#include <stdlib.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"
#include "fixture.h"

#define REMOTE		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define IMAGES		20000u
#define SOAK_IMAGES	1000000u
#define MESSAGES	30u
#define SLOTS		4u
#define WORDS		256u		/* of a message, which is not sent inline */
#define STEPS		400u
#define DRAIN		4000u

enum { DEPTH = 8, HOPS = 3 };

struct hop {
	/* each word is the number of the message that wrote it */
	uint64_t memory[SLOTS][WORDS], durable[SLOTS][WORDS];
	struct ibv_cq *cq, *next_cq;
	struct ibv_qp *qp, *next_qp;	/* to the writer or the hop before; the next hop */
	struct ibv_mr *mr;
	struct cairndv_chain *chain;
	struct hop *next;		/* with a connection that lives, or NULL */
	uint32_t receive;		/* units of one in the receive queue */
	uint32_t seen, taken;		/* units of next_qp: delivered, completed */
	uint32_t asked, done, told;	/* messages; done: answered; told: so was the peer */
	int32_t status[MESSAGES];
	bool member;
};

static struct hop hops[HOPS];
static uint32_t policy;
static uint32_t posted, reported;	/* messages */
static uint64_t slot_reported[SLOTS];
static uint32_t slot_of[MESSAGES + 1];
static bool writer_failed, faults;
static uint64_t images, schedules, reports, mended;

static bool one_in(uint32_t n)
{
	return !ktap_below(n);
}

/* ---- a hop's own program ---- */

static int hop_flush(void *arg, const struct cairndv_chain_range *range,
		     uint32_t num)
{
	struct hop *hop = arg;
	bool fails = faults && one_in(150);

	for (uint32_t i = 0; i < num; i++) {
		uint64_t slot = (range[i].va - (uintptr_t)hop->memory) /
				sizeof(hop->memory[0]);

		ktap_eq(range[i].va, (uintptr_t)hop->memory[slot]);
		ktap_eq(range[i].length, sizeof(hop->memory[0]));
		for (uint32_t w = 0; w < WORDS; w++)
			if (!fails || one_in(2))
				hop->durable[slot][w] = hop->memory[slot][w];
	}
	return fails ? EIO : 0;
}

static void hop_answered(const struct cairn_persist_done *done, size_t num)
{
	for (size_t i = 0; i < num; i++) {
		struct hop *hop = &hops[done[i].token >> 32];

		/* none is left out, and none comes before an earlier one */
		ktap_eq((uint32_t)done[i].token, hop->done);
		hop->status[hop->done++] = (int32_t)done[i].status;
	}
}

static void hop_open(struct hop *hop)
{
	const struct cairndv_chain_attr attr = {
		.mr = hop->mr, .depth = DEPTH, .policy = policy,
		.flush = hop_flush, .arg = hop,
		.qp = hop->qp = fake_qp(pd, hop->cq, IBV_QPT_RC, 0),
	};
	struct fake_ring *rq = fake_rq(hop->qp);

	hop->chain = cairndv_chain_create(&attr, sizeof(attr));
	ktap_ok(hop->chain);
	hop->receive = (rq->host->index - fake.start_index) / DEPTH;
	hop->asked = 0;
	hop->done = 0;
	hop->told = 0;
	hop->member = true;
}

static void hop_close(struct hop *hop)
{
	cairndv_chain_destroy(hop->chain);
	ktap_eq(fake.ops.destroy_qp(hop->qp), 0);
}

/* Connects @hop to @next, in place of a hop that was lost. */
static void hop_link(struct hop *hop, struct hop *next)
{
	struct ibv_qp *old_qp = hop->next_qp;
	struct ibv_cq *old_cq = hop->next_cq;

	hop->next_cq = fake_cq(ctx, 64);
	hop->next_qp = fake_qp(pd, hop->next_cq, IBV_QPT_RC, 0);
	ktap_eq(cairndv_chain_set_next(hop->chain, &(struct cairndv_chain_next){
		.qp = hop->next_qp, .remote_addr = (uintptr_t)next->memory,
		.rkey = 7, .lkey = 8 }), 0);
	hop->seen = 0;
	hop->taken = 0;
	hop->next = next;
	if (!old_qp)
		return;
	ktap_eq(fake.ops.destroy_qp(old_qp), 0);
	ktap_eq(fake.ops.destroy_cq(old_cq), 0);
}

static void hop_poll(struct hop *hop)
{
	struct cairndv_chain_event event[4];

	ktap_ok(cairndv_chain_poll(hop->chain, 4, event) >= 0);
}

/* ---- the network ---- */

/* Is there a work request behind @units units of the queue to the next hop? */
static bool hop_has_posted(const struct hop *hop, uint32_t units)
{
	return fake_sq(hop->next_qp)->host->index != fake.start_index + units;
}

/* The oldest request completes, and its place in the queue is free. */
static void hop_completes(struct hop *hop, uint8_t status)
{
	fake_persisted(hop->next_qp, &hop->taken, status,
		       status ? 0 : CAIRN_DURABILITY_HOST);
	fake_sq(hop->next_qp)->dev->index = fake.start_index + hop->taken;
}

static bool hop_has_room(const struct hop *hop)
{
	return hop->asked - hop->done < DEPTH;
}

/* A message is in memory, and the device asks the program. */
static void hop_ask(struct hop *hop, uint64_t va)
{
	uint64_t number = (uint64_t)(hop - hops) << 32 | hop->asked++;

	fake_rq(hop->qp)->dev->index += hop->receive;
	fake_complete(fake_cq_ring(hop->cq), &(struct cairn_cqe){
		.opcode = CAIRN_CQE_RECV_PERSIST, .qpn = hop->qp->qp_num,
		.byte_len = WORDS * 8, .persist_va = va,
		.persist_token = number,
	});
}

static void writer_posts(void)
{
	uint32_t slot = ktap_below(SLOTS);

	if (posted == MESSAGES || writer_failed || !hop_has_room(&hops[0]))
		return;
	slot_of[++posted] = slot;
	for (uint32_t w = 0; w < WORDS; w++)
		hops[0].memory[slot][w] = posted;
	hop_ask(&hops[0], (uintptr_t)hops[0].memory[slot]);
}

static void message_goes_on(struct hop *hop)
{
	const struct cairn_send_wqe *wqe;

	if (!hop->next || !hop_has_room(hop->next) ||
	    !hop_has_posted(hop, hop->seen))
		return;
	wqe = fake_send_wqe(hop->next_qp, hop->seen);
	hop->seen += wqe->units;
	memcpy((void *)(uintptr_t)wqe->remote_addr,
	       (void *)(uintptr_t)wqe->sge[0].addr, wqe->sge[0].length);
	hop_ask(hop->next, wqe->remote_addr);
}

static void writer_is_told(void)
{
	struct hop *hop = &hops[0];

	if (hop->told == hop->done || writer_failed)
		return;
	if (hop->status[hop->told++]) {
		writer_failed = true;
		return;
	}
	reported++;
	reports++;
	slot_reported[slot_of[reported]] = reported;
}

/* The hops behind @hop are not of the chain any more. */
static void chain_ends_at(const struct hop *hop)
{
	for (long i = hop - hops + 1; i < HOPS; i++)
		hops[i].member = false;
}

/* All that is posted fails, the oldest with @status. */
static void link_fails(struct hop *hop, uint8_t status)
{
	while (hop_has_posted(hop, hop->taken)) {
		hop_completes(hop, status);
		status = CAIRN_CQE_WR_FLUSH_ERR;
	}
	hop->next = NULL;
	if (policy == CAIRNDV_CHAIN_CUT)
		chain_ends_at(hop);
}

static void answer_goes_back(struct hop *hop)
{
	struct hop *next = hop->next;

	if (!next || next->told == next->done)
		return;
	if (next->status[next->told++])
		link_fails(hop, CAIRN_CQE_REM_OP_ERR);
	else
		hop_completes(hop, 0);
}

/* ---- what goes wrong, and what is done about it ---- */

/* @hop loses its next one, which may be dead; the answers on their way are lost, too. */
static void hop_loses_next(struct hop *hop, bool dead)
{
	struct hop *next = hop->next;

	/* a loss is noticed by a message that has no answer */
	if (!next || !hop_has_posted(hop, hop->taken))
		return;
	link_fails(hop, CAIRN_CQE_RETRY_EXC_ERR);
	if (dead)
		next->member = false;
}

/* The old queue pair is destroyed, so nothing of the lost hop comes any more. */
static void hop_joins(struct hop *hop, struct hop *next)
{
	hop_close(next);
	hop_open(next);
	hop_link(hop, next);
	if (next != &hops[HOPS - 1])
		hop_link(next, &hops[HOPS - 1]);
	mended++;
}

/* A hop has lost its next one: the one behind takes its place, or a new one does. */
static void chain_is_mended(void)
{
	struct hop *first = &hops[0], *second = &hops[1], *third = &hops[2];

	if (policy != CAIRNDV_CHAIN_HOLD)
		return;
	if (!first->next) {
		hop_poll(first);
		second->member = false;
		second->next = NULL;
		hop_joins(first, third);
	} else if (first->next == second && !second->next) {
		hop_poll(second);
		memcpy(third->memory, second->memory, sizeof(third->memory));
		memcpy(third->durable, second->memory, sizeof(third->durable));
		hop_joins(second, third);
	}
}

static void something_fails(void)
{
	struct hop *hop = &hops[ktap_below(HOPS - 1)];

	if (one_in(4))
		hop_loses_next(hop, one_in(2));
}

/* ---- images ---- */

static void judge_hop(const struct hop *hop)
{
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		for (uint32_t i = 0; i < 6; i++) {
			uint32_t w = i < 2 ? i * (WORDS - 1) : ktap_below(WORDS);
			uint64_t word = one_in(2) ? hop->memory[slot][w] :
						    hop->durable[slot][w];

			ktap_ok(word >= slot_reported[slot]);
			ktap_ok(!word || slot_of[word] == slot);
		}
}

static void judge(void)
{
	for (int i = 0; i < HOPS; i++)
		if (hops[i].member)
			judge_hop(&hops[i]);
	images++;
}

/* ---- schedules ---- */

static void schedule_opens(void)
{
	open_ctx();
	fake.on_persist_done = hop_answered;
	memset(hops, 0, sizeof(hops));
	memset(slot_reported, 0, sizeof(slot_reported));
	posted = 0;
	reported = 0;
	writer_failed = false;
	for (int i = 0; i < HOPS; i++) {
		struct hop *hop = &hops[i];

		hop->cq = fake_cq(ctx, 128);
		hop->mr = fake.ops.reg_mr(pd, hop->memory, sizeof(hop->memory),
					  (uintptr_t)hop->memory, REMOTE |
					  CAIRNDV_ACCESS_PERSISTENT_HOST);
		ktap_ok(hop->mr);
		hop->mr->addr = hop->memory;
		hop->mr->length = sizeof(hop->memory);
		hop_open(hop);
	}
	for (int i = 0; i < HOPS - 1; i++)
		hop_link(&hops[i], &hops[i + 1]);
}

static void schedule_closes(void)
{
	for (int i = 0; i < HOPS; i++) {
		struct hop *hop = &hops[i];

		hop_close(hop);
		if (hop->next_qp) {
			ktap_eq(fake.ops.destroy_qp(hop->next_qp), 0);
			ktap_eq(fake.ops.destroy_cq(hop->next_cq), 0);
		}
		ktap_eq(fake.ops.destroy_cq(hop->cq), 0);
		ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)hop->mr), 0);
	}
	close_ctx();
}

static void schedule_step(void)
{
	struct hop *hop = &hops[ktap_below(HOPS)];

	switch (ktap_below(5)) {
	case 0:
		writer_posts();
		break;
	case 1:
		message_goes_on(hop);
		break;
	case 2:
		answer_goes_back(hop);
		break;
	case 3:
		writer_is_told();
		break;
	default:
		hop_poll(hop);
	}
}

static void schedule(void)
{
	schedule_opens();
	for (uint32_t i = 0; i < STEPS && !ktap_failures; i++) {
		schedule_step();
		if (faults && one_in(40))
			something_fails();
		if (one_in(20))
			chain_is_mended();
		if (one_in(4))
			judge();
	}
	/* without faults each message is reported */
	for (uint32_t i = 0; i < DRAIN && !faults && reported < MESSAGES; i++)
		schedule_step();
	ktap_ok(faults || reported == MESSAGES);
	judge();
	schedule_closes();
	schedules++;
}

static uint64_t wanted(void)
{
	const char *number = getenv("CAIRN_IMAGES");

	if (number)
		return strtoull(number, NULL, 0);
	return getenv("CAIRN_SOAK") ? SOAK_IMAGES : IMAGES;
}

static void all_schedules(uint32_t kind)
{
	uint64_t seed = ktap_state;

	policy = kind;
	images = 0;
	schedules = 0;
	reports = 0;
	mended = 0;
	for (; images < wanted() && !ktap_failures; seed++) {
		ktap_state = seed;
		faults = seed % 4;
		schedule();
		if (ktap_failures)
			printf("# CAIRN_SEED=%" PRIu64 "\n", seed);
	}
	printf("# %" PRIu64 " images of %" PRIu64 " schedules, %" PRIu64
	       " reports, %" PRIu64 " mended\n", images, schedules, reports,
	       mended);
}

static void messages_fail(void)
{
	all_schedules(CAIRNDV_CHAIN_FAIL);
}

static void messages_are_held(void)
{
	all_schedules(CAIRNDV_CHAIN_HOLD);
	ktap_ok(mended);
}

static void chain_is_cut(void)
{
	all_schedules(CAIRNDV_CHAIN_CUT);
}

static const struct ktap_test tests[] = {
	KTAP(messages_fail),
	KTAP(messages_are_held),
	KTAP(chain_is_cut),
};

KTAP_MAIN(tests)
