// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A hop of a chain: a host-flush target that posts each message to the next hop before
 * it answers.
 *
 * Messages have numbers in the order of arrival, and each step keeps that order. So one
 * number for each step is enough: all messages before it are flushed, forwarded, durable
 * at the next hop, answered. The next hop is a group of one queue pair, which has the
 * deadline and the kind of durability.
 */
#include <errno.h>
#include <stdlib.h>

#include "dv.h"
#include "mr.h"
#include "qp.h"

#define CHAIN_EVENTS	(CAIRNDV_CHAIN_FAILED + 1)
#define CHAIN_NEVER	(~0ULL)

struct chain_ask {
	uint64_t va, length, token;
};

struct cairndv_chain {
	struct cairndv_chain_attr attr;
	struct cairndv_chain_next next;
	struct cairndv_persist_group *group;	/* the next hop; NULL: none */
	bool lost;			/* the next hop has failed */
	uint64_t arrived;
	uint64_t flushed, forwarded, durable, answered;
	uint64_t succeeded;		/* of those answered */
	uint64_t failed;		/* this message and later ones fail ... */
	int error;			/* ... with this errno */
	struct cairndv_chain_event event[CHAIN_EVENTS];	/* by kind */
	uint32_t waiting, told;		/* bits of kinds */
	struct chain_ask ask[];		/* by number modulo depth */
};

static struct chain_ask *chain_ask(struct cairndv_chain *chain, uint64_t number)
{
	return &chain->ask[number % chain->attr.depth];
}

static uint64_t chain_least(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* Each kind waits once to be polled. */
static void chain_tell(struct cairndv_chain *chain,
		       const struct cairndv_chain_event *event)
{
	if (chain->told & 1u << event->kind)
		return;
	chain->told |= 1u << event->kind;
	chain->waiting |= 1u << event->kind;
	chain->event[event->kind] = *event;
}

/* Message @number and those behind it fail. */
static void chain_fail(struct cairndv_chain *chain, uint64_t number, int error)
{
	if (number >= chain->failed)
		return;
	chain->failed = number;
	chain->error = error;
	chain_tell(chain, &(struct cairndv_chain_event){
		.kind = CAIRNDV_CHAIN_FAILED, .error = error,
	});
}

static int chain_check(const struct cairndv_chain_attr *attr)
{
	if (!attr->qp || !attr->mr || !attr->depth ||
	    attr->depth > CAIRNDV_CHAIN_MAX_DEPTH ||
	    attr->policy > CAIRNDV_CHAIN_CUT ||
	    attr->durability > CAIRNDV_DURABILITY_EMULATED)
		return EINVAL;
	if (!cairn_dv_owns(attr->qp->context) ||
	    !cairn_dv_owns(attr->mr->context))
		return EOPNOTSUPP;
	if (attr->qp->qp_type != IBV_QPT_RC || attr->qp->srq ||
	    !(to_cmr(attr->mr)->persist & CAIRN_MR_PERSIST_HOST))
		return EINVAL;
	return 0;
}

/* A message consumes a receive, so there are no more messages than slots. */
static int chain_post_receives(struct cairndv_chain *chain, uint64_t num)
{
	struct ibv_recv_wr wr = {}, *bad;
	int err = 0;

	while (num-- && !err)
		err = cairn_post_recv(chain->attr.qp, &wr, &bad);
	return err;
}

struct cairndv_chain *cairndv_chain_create(const struct cairndv_chain_attr *attr,
					   size_t size)
{
	struct cairndv_chain_attr known = {};
	struct cairndv_chain *chain;

	cairn_dv_fill(&known, sizeof(known), attr, size);
	errno = chain_check(&known);
	if (errno)
		return NULL;
	chain = calloc(1, sizeof(*chain) + known.depth * sizeof(chain->ask[0]));
	if (!chain)
		return NULL;
	chain->attr = known;
	if (!known.durability)
		chain->attr.durability = CAIRNDV_DURABILITY_HOST;
	chain->failed = CHAIN_NEVER;
	errno = chain_post_receives(chain, known.depth);
	if (errno) {
		free(chain);
		return NULL;
	}
	return chain;
}

static void chain_leave_next(struct cairndv_chain *chain)
{
	if (chain->group)
		cairndv_persist_group_destroy(chain->group);
	chain->group = NULL;
}

void cairndv_chain_destroy(struct cairndv_chain *chain)
{
	chain_leave_next(chain);
	free(chain);
}

/* The group of a next hop, or NULL and errno. */
static struct cairndv_persist_group *
chain_group(struct cairndv_chain *chain, const struct cairndv_chain_next *next)
{
	struct cairndv_persist_group *group;

	/* the group would take the messages of this queue */
	if (next->qp->send_cq == chain->attr.qp->recv_cq ||
	    next->qp == chain->attr.qp) {
		errno = EINVAL;
		return NULL;
	}
	group = cairndv_persist_group_create(&next->qp, 1, chain->attr.depth);
	if (group)
		cairndv_persist_group_set_deadline(group, 0,
						   chain->attr.deadline_ms);
	return group;
}

int cairndv_chain_set_next(struct cairndv_chain *chain,
			   const struct cairndv_chain_next *next)
{
	struct cairndv_persist_group *group = NULL;

	/* an earlier hop must not get these messages any more */
	if (next && chain->group && !chain->lost && next->qp == chain->next.qp)
		return EINVAL;
	if (next) {
		group = chain_group(chain, next);
		if (!group)
			return errno;
	}
	if (chain->group && !chain->lost)
		cairndv_persist_group_drop(chain->group, 0);
	chain_leave_next(chain);
	chain->group = group;
	if (next)
		chain->next = *next;
	chain->lost = false;
	chain->told &= ~(1u << CAIRNDV_CHAIN_NEXT_LOST);
	chain->forwarded = chain->answered;
	chain->durable = chain->answered;
	return 0;
}

/* The messages that the next hop does not have wait, fail, or need it no more. */
static void chain_lose_next(struct cairndv_chain *chain, uint32_t status,
			    uint32_t vendor_err)
{
	if (chain->lost)
		return;
	chain->lost = true;
	chain_tell(chain, &(struct cairndv_chain_event){
		.kind = CAIRNDV_CHAIN_NEXT_LOST, .status = status,
		.vendor_err = vendor_err,
	});
	if (chain->attr.policy == CAIRNDV_CHAIN_FAIL)
		chain_fail(chain, chain->durable, EHOSTDOWN);
	if (chain->attr.policy == CAIRNDV_CHAIN_CUT)
		chain_leave_next(chain);
}

/* Is it in the region? A message of no bytes has no place. */
static bool chain_is_inside(const struct cairndv_chain *chain,
			    const struct chain_ask *ask)
{
	uint64_t offset = ask->va - (uintptr_t)chain->attr.mr->addr;

	return !ask->length || (offset < chain->attr.mr->length &&
				ask->length <= chain->attr.mr->length - offset);
}

static void chain_arrive(struct cairndv_chain *chain,
			 const struct cairndv_persist_info *info)
{
	struct chain_ask *ask = chain_ask(chain, chain->arrived);

	*ask = (struct chain_ask){ info->va, info->length, info->token };
	if (!ask->length)
		ask->va = (uintptr_t)chain->attr.mr->addr;
	if (!chain_is_inside(chain, ask))
		chain_fail(chain, chain->arrived, EFAULT);
	chain->arrived++;
}

static int chain_take(struct cairndv_chain *chain)
{
	struct cairndv_persist_info info;
	struct ibv_wc wc;
	int got;

	while ((got = cairndv_poll_cq(chain->attr.qp->recv_cq, 1, &wc, &info)) > 0) {
		if (wc.status != IBV_WC_SUCCESS)
			chain_tell(chain, &(struct cairndv_chain_event){
				.kind = CAIRNDV_CHAIN_WRITER_LOST,
				.status = wc.status,
				.vendor_err = wc.vendor_err,
			});
		else if (info.kind == CAIRNDV_PERSIST_FLUSH)
			chain_arrive(chain, &info);
		else	/* a SEND, which means nothing here */
			chain_post_receives(chain, 1);
	}
	return got;
}

static int chain_post_next(struct cairndv_chain *chain, uint64_t number)
{
	const struct chain_ask *ask = chain_ask(chain, number);
	const struct cairndv_chain_next *next = &chain->next;
	struct ibv_sge sge = {
		.addr = ask->va,
		.length = (uint32_t)ask->length,
		.lkey = next->lkey,
	};
	const struct cairndv_group_dest dest = {
		.remote_addr = next->remote_addr + ask->va -
			       (uintptr_t)chain->attr.mr->addr,
		.rkey = next->rkey,
	};
	const struct cairndv_group_wr wr = {
		.wr_id = number,
		.sg_list = &sge,
		.num_sge = ask->length ? 1 : 0,
		.quorum = 1,
		.durability = chain->attr.durability,
		.dest = &dest,
	};

	return cairndv_persist_group_post(chain->group, &wr);
}

static void chain_forward(struct cairndv_chain *chain)
{
	int err = 0;

	if (!chain->group || chain->lost)
		return;
	while (!err && chain->forwarded < chain_least(chain->arrived,
						      chain->failed)) {
		err = chain_post_next(chain, chain->forwarded);
		chain->forwarded += !err;
	}
	/* with a full send queue it goes on after the next answer */
	if (err && err != ENOMEM && err != ENOTCONN)
		chain_lose_next(chain, IBV_WC_LOC_QP_OP_ERR, 0);
}

static void chain_flush(struct cairndv_chain *chain)
{
	struct cairndv_chain_range range[CAIRNDV_PERSIST_ANSWERS];
	uint64_t end = chain_least(chain->arrived, chain->failed);
	uint64_t number = chain->flushed;
	int err = 0;

	while (number < end && !err) {
		uint32_t num = 0;

		for (; number < end && num < CAIRNDV_PERSIST_ANSWERS; number++) {
			const struct chain_ask *ask = chain_ask(chain, number);

			if (ask->length)
				range[num++] = (struct cairndv_chain_range){
					ask->va, ask->length,
				};
		}
		if (num && chain->attr.flush)
			err = chain->attr.flush(chain->attr.arg, range, num);
		if (err)
			chain_fail(chain, chain->flushed, err);
		else
			chain->flushed = number;
	}
}

static int chain_collect(struct cairndv_chain *chain)
{
	struct cairndv_group_wc wc;
	int got = 0;

	while (chain->group &&
	       (got = cairndv_persist_group_poll(chain->group, 1, &wc)) > 0) {
		if (wc.kind == CAIRNDV_GROUP_DURABLE && !chain->lost)
			chain->durable = wc.wr_id + 1;
		if (wc.kind == CAIRNDV_GROUP_TARGET)
			chain_lose_next(chain, wc.status, wc.vendor_err);
		/* it has the message, but its kind of durability is too weak */
		if (wc.kind == CAIRNDV_GROUP_FAILED && !chain->lost) {
			cairndv_persist_group_drop(chain->group, 0);
			chain_lose_next(chain, IBV_WC_SUCCESS, 0);
		}
	}
	return got;
}

/* Answers the messages before @end. */
static int chain_answer_to(struct cairndv_chain *chain, uint64_t end, int status)
{
	struct cairndv_persist_answer answer[CAIRNDV_PERSIST_ANSWERS];
	int err = 0;

	while (chain->answered < end && !err) {
		uint32_t num = 0;

		while (num < CAIRNDV_PERSIST_ANSWERS &&
		       chain->answered + num < end) {
			answer[num] = (struct cairndv_persist_answer){
				.token = chain_ask(chain, chain->answered + num)->token,
				.status = status,
			};
			num++;
		}
		chain->answered += num;
		chain->succeeded += status ? 0 : num;
		/* first, because the writer posts more when it has the answer */
		chain_post_receives(chain, num);
		err = cairndv_persist_done_all(chain->attr.qp->context, answer,
					       num, NULL);
		if (err == ENOENT)	/* the writer has gone */
			err = 0;
	}
	return err;
}

static int chain_answer(struct cairndv_chain *chain)
{
	uint64_t end = chain_least(chain->flushed, chain->failed);
	int err;

	if (chain->group)
		end = chain_least(end, chain->durable);
	err = chain_answer_to(chain, end, 0);
	if (err || chain->answered < chain->failed)
		return err;
	return chain_answer_to(chain, chain->arrived, chain->error);
}

int cairndv_chain_poll(struct cairndv_chain *chain, int num,
		       struct cairndv_chain_event *event)
{
	int err, n = 0;

	err = chain_take(chain);
	if (err < 0)
		return err;
	chain_forward(chain);
	chain_flush(chain);
	err = chain_collect(chain);
	if (err < 0)
		return err;
	err = chain_answer(chain);
	if (err)
		return -err;
	for (uint32_t kind = 0; kind < CHAIN_EVENTS && n < num; kind++) {
		if (!(chain->waiting & 1u << kind))
			continue;
		chain->waiting &= ~(1u << kind);
		event[n++] = chain->event[kind];
	}
	return n;
}

uint64_t cairndv_chain_answered(const struct cairndv_chain *chain)
{
	return chain->succeeded;
}

int cairndv_chain_arm(struct cairndv_chain *chain)
{
	int err = ibv_req_notify_cq(chain->attr.qp->recv_cq, 0);

	if (!err && chain->group)
		err = cairndv_persist_group_arm(chain->group);
	return err;
}

int cairndv_chain_timeout(struct cairndv_chain *chain)
{
	if (chain->waiting)
		return 0;
	return chain->group ? cairndv_persist_group_timeout(chain->group) : -1;
}
