// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One message to several targets: a WRITE_PERSIST on each queue pair of a group, and
 * one completion when enough of them are durable.
 *
 * A message keeps a slot until every target has answered. The wr_id of a work request
 * is the number of its message and that of the target. Each group has numbers of its
 * own, because requests of an earlier group may still complete.
 *
 * A target that has failed or is dropped keeps its place. Its queue pair is in the error
 * state and answers with errors, so messages are released as before. Then another queue
 * pair can take the place.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "dv.h"
#include "qp.h"
#include "send.h"

#define GROUP_TARGET_BITS	8
#define GROUP_NUMBER_BITS	32	/* of messages of one group */
#define GROUP_NSEC_PER_MSEC	1000000

_Static_assert(CAIRNDV_GROUP_MAX <= 1 << GROUP_TARGET_BITS &&
	       CAIRNDV_GROUP_MAX <= 64, "a bit for each target");
_Static_assert(CAIRNDV_GROUP_MAX <= CAIRN_MAX_DOORBELLS,
	       "one doorbell call for a message");
_Static_assert(sizeof(struct cairndv_group_wc) == 32,
	       "programs have arrays of it");

struct group_slot {
	uint64_t wr_id;
	uint64_t pending;		/* targets that have not answered */
	uint64_t posted_ns;		/* valid if a target has a limit */
	uint32_t quorum;
	uint32_t durable;		/* targets that count */
	uint8_t weakest;		/* enum cairndv_durability that counts; 0: any */
	uint8_t durability;		/* the weakest of those that count */
	bool told;
};

struct group_member {
	uint64_t limit_ns;		/* to answer a message; 0: none */
	uint64_t oldest;		/* it has answered all messages before */
};

struct cairndv_persist_group {
	struct ibv_cq **cq;		/* of all queue pairs, each once */
	uint32_t cqs, turn;		/* turn: the one that was polled last */
	uint32_t num, depth;
	uint64_t failed;		/* targets */
	uint64_t first;			/* number of its first message */
	uint64_t posted, released;	/* numbers of messages */
	struct group_slot *slot;
	/* Events to be polled: at most one for each slot and each target. */
	struct cairndv_group_wc *event;
	uint32_t event_room;
	uint64_t events, told;
	uint32_t limits;		/* targets that have one */
	struct group_member *member;
	struct ibv_qp *qp[];		/* NULL: an empty place, which has failed */
};

static uint32_t group_count(uint64_t targets)
{
	return (uint32_t)__builtin_popcountll(targets);
}

static struct group_slot *group_slot(struct cairndv_persist_group *group,
				     uint64_t number)
{
	return &group->slot[number % group->depth];
}

static uint64_t group_all(const struct cairndv_persist_group *group)
{
	return ~0ULL >> (64 - group->num);
}

/* Return: 0, or the errno if @new does not fit to the first @num of @qp. */
static int group_check_qp(struct ibv_qp *const *qp, uint32_t num,
			  const struct ibv_qp *new)
{
	if (!cairn_dv_owns(new->context))
		return EOPNOTSUPP;
	if (new->qp_type != IBV_QPT_RC)
		return EINVAL;
	for (uint32_t i = 0; i < num; i++)
		if (qp[i] == new)
			return EINVAL;
	return 0;
}

/* Return: 0, or the errno if these queue pairs cannot form a group. */
static int group_check(struct ibv_qp *const *qp, uint32_t num, uint32_t depth)
{
	uint32_t places = 0;
	int err = 0;

	if (!num || num > CAIRNDV_GROUP_MAX ||
	    !depth || depth > CAIRNDV_GROUP_MAX_DEPTH)
		return EINVAL;
	for (uint32_t i = 0; i < num && !err; i++) {
		if (!qp[i])
			continue;
		places++;
		err = group_check_qp(qp, i, qp[i]);
	}
	return err ? err : places ? 0 : EINVAL;
}

static bool group_has_cq(const struct cairndv_persist_group *group,
			 const struct ibv_cq *cq)
{
	for (uint32_t i = 0; i < group->cqs; i++)
		if (group->cq[i] == cq)
			return true;
	return false;
}

static void group_find_cqs(struct cairndv_persist_group *group)
{
	group->cqs = 0;
	group->turn = 0;
	for (uint32_t i = 0; i < group->num; i++)
		if (group->qp[i] && !group_has_cq(group, group->qp[i]->send_cq))
			group->cq[group->cqs++] = group->qp[i]->send_cq;
}

static uint64_t group_first_number(void)
{
	static uint32_t groups;
	uint64_t nth = __atomic_fetch_add(&groups, 1, __ATOMIC_RELAXED);

	/* the 24 bits of a wr_id that remain */
	return (nth & 0xffffff) << GROUP_NUMBER_BITS;
}

struct cairndv_persist_group *
cairndv_persist_group_create(struct ibv_qp *const *qp, uint32_t num,
			     uint32_t depth)
{
	struct cairndv_persist_group *group;

	errno = group_check(qp, num, depth);
	if (errno)
		return NULL;
	group = calloc(1, sizeof(*group) + num * sizeof(*qp));
	if (!group)
		return NULL;
	group->event_room = depth + num;
	group->slot = calloc(depth, sizeof(*group->slot));
	group->event = calloc(group->event_room, sizeof(*group->event));
	group->member = calloc(num, sizeof(*group->member));
	group->cq = calloc(num, sizeof(struct ibv_cq *));
	if (!group->slot || !group->event || !group->member || !group->cq) {
		cairndv_persist_group_destroy(group);
		errno = ENOMEM;
		return NULL;
	}
	group->num = num;
	group->first = group_first_number();
	for (uint32_t i = 0; i < num; i++) {
		group->member[i].oldest = group->first;
		if (!qp[i])
			group->failed |= 1ULL << i;
	}
	group->posted = group->first;
	group->released = group->first;
	group->depth = depth;
	memcpy(group->qp, qp, num * sizeof(*qp));
	group_find_cqs(group);
	return group;
}

void cairndv_persist_group_destroy(struct cairndv_persist_group *group)
{
	free(group->slot);
	free(group->event);
	free(group->member);
	free(group->cq);
	free(group);
}

static void group_tell(struct cairndv_persist_group *group,
		       const struct cairndv_group_wc *event)
{
	group->event[group->events++ % group->event_room] = *event;
}

/* Reports a message once its outcome is certain. */
static void group_settle(struct cairndv_persist_group *group,
			 struct group_slot *slot)
{
	struct cairndv_group_wc event = {
		.wr_id = slot->wr_id,
		.durable = slot->durable,
		.durability = slot->durable ? slot->durability : 0,
	};

	if (slot->told)
		return;
	if (slot->durable >= slot->quorum)
		event.kind = CAIRNDV_GROUP_DURABLE;
	else if (slot->durable + group_count(slot->pending) < slot->quorum)
		event.kind = CAIRNDV_GROUP_FAILED;
	else
		return;
	slot->told = true;
	group_tell(group, &event);
}

/* @target makes neither @slot nor a later message durable. */
static void group_lose(struct cairndv_persist_group *group,
		       struct group_slot *slot, uint32_t target,
		       enum ibv_wc_status status, uint32_t vendor_err)
{
	const struct cairndv_group_wc event = {
		.kind = CAIRNDV_GROUP_TARGET,
		.wr_id = slot->wr_id,
		.durable = slot->durable,
		.target = target,
		.status = status,
		.vendor_err = vendor_err,
	};

	if (!(group->failed & 1ULL << target))
		group_tell(group, &event);
	group->failed |= 1ULL << target;
}

/* The pieces of a message with the key of target @i; in @own if it has one. */
static struct ibv_sge *group_pieces(const struct cairndv_group_wr *wr,
				    uint32_t i, struct ibv_sge *own)
{
	if (!wr->dest[i].lkey)
		return wr->sg_list;
	for (int n = 0; n < wr->num_sge; n++) {
		own[n] = wr->sg_list[n];
		own[n].lkey = wr->dest[i].lkey;
	}
	return own;
}

/* The work request of the next message for target @i. */
static struct ibv_send_wr group_send(const struct cairndv_persist_group *group,
				     const struct cairndv_group_wr *wr,
				     uint32_t i, struct ibv_sge *own)
{
	return (struct ibv_send_wr){
		.wr_id = group->posted << GROUP_TARGET_BITS | i,
		.sg_list = group_pieces(wr, i, own),
		.num_sge = wr->num_sge,
		.opcode = CAIRNDV_WR_WRITE_PERSIST,
		.send_flags = wr->send_flags | IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = wr->dest[i].remote_addr,
			.rkey = wr->dest[i].rkey,
		},
	};
}

/* Targets that share the key of sg_list have one protection domain. */
static bool group_keys_fit(const struct cairndv_persist_group *group,
			   const struct cairndv_group_wr *wr, uint64_t alive)
{
	const struct ibv_pd *pd = NULL;

	if (wr->send_flags & IBV_SEND_INLINE || !wr->num_sge)
		return true;
	for (uint32_t i = 0; i < group->num; i++) {
		if (!(alive & 1ULL << i) || wr->dest[i].lkey)
			continue;
		if (pd && pd != group->qp[i]->pd)
			return false;
		pd = group->qp[i]->pd;
	}
	return true;
}

/*
 * Return: 0 if all of @alive can take the message. A target with a full send queue, or
 * whose queue pair does not take such a message, has not failed.
 */
static int group_may_post(const struct cairndv_persist_group *group,
			  const struct cairndv_group_wr *wr, uint64_t alive)
{
	struct ibv_sge own[CAIRN_MAX_SGE];
	struct ibv_send_wr send;
	int err = 0;

	if (wr->num_sge < 0 || wr->num_sge > CAIRN_MAX_SGE ||
	    !wr->quorum || wr->quorum > group->num ||
	    wr->durability > CAIRNDV_DURABILITY_EMULATED ||
	    wr->send_flags & ~(unsigned int)(IBV_SEND_INLINE | IBV_SEND_FENCE |
					     IBV_SEND_SOLICITED))
		return EINVAL;
	if (group_count(alive) < wr->quorum)
		return ENOTCONN;
	if (!group_keys_fit(group, wr, alive))
		return EINVAL;
	/* an event of this message must have room, too */
	if (group->posted - group->released == group->depth ||
	    group->events - group->told >= group->depth)
		return ENOMEM;
	for (uint32_t i = 0; i < group->num && !err; i++) {
		if (!(alive & 1ULL << i))
			continue;
		send = group_send(group, wr, i, own);
		err = cairn_send_check(group->qp[i], &send);
	}
	return err;
}

/* Return: the targets of @alive to which the message was posted. */
static uint64_t group_put(const struct cairndv_persist_group *group,
			  const struct cairndv_group_wr *wr, uint64_t alive)
{
	uint32_t index[CAIRNDV_GROUP_MAX];
	struct ibv_sge own[CAIRN_MAX_SGE];
	uint64_t put = 0;

	for (uint32_t i = 0; i < group->num; i++) {
		struct ibv_send_wr send = group_send(group, wr, i, own);

		if (alive & 1ULL << i &&
		    !cairn_send_put(group->qp[i], &send, &index[i]))
			put |= 1ULL << i;
	}
	return put & ~cairn_send_wake_all(group->qp, index, put);
}

static uint64_t group_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int cairndv_persist_group_post(struct cairndv_persist_group *group,
			       const struct cairndv_group_wr *wr)
{
	struct group_slot *slot = group_slot(group, group->posted);
	uint64_t alive = group_all(group) & ~group->failed;
	int err = group_may_post(group, wr, alive);

	if (err)
		return err;
	*slot = (struct group_slot){
		.wr_id = wr->wr_id,
		.quorum = wr->quorum,
		.weakest = (uint8_t)wr->durability,
		.posted_ns = group->limits ? group_now() : 0,
	};
	slot->pending = group_put(group, wr, alive);
	/* only the device can still fail */
	for (uint32_t i = 0; i < group->num; i++)
		if (alive & ~slot->pending & 1ULL << i)
			group_lose(group, slot, i, IBV_WC_LOC_QP_OP_ERR, 0);
	group->posted++;
	group_settle(group, slot);
	return 0;
}

/* Releases messages in order, up to the first that a target has not answered. */
static void group_release(struct cairndv_persist_group *group)
{
	while (group->released != group->posted &&
	       !group_slot(group, group->released)->pending)
		group->released++;
}

/* Is the kind @one weaker than @other? Unknown is weaker than all. */
static bool group_weaker(uint32_t one, uint32_t other)
{
	return other && (!one || one > other);
}

/* A target has the message. It counts unless its kind of durability is too weak. */
static void group_count_answer(struct group_slot *slot, uint32_t durability)
{
	if (slot->weakest && group_weaker(durability, slot->weakest))
		return;
	if (!slot->durable++ || group_weaker(durability, slot->durability))
		slot->durability = (uint8_t)durability;
}

static void group_answered(struct cairndv_persist_group *group,
			   const struct ibv_wc *wc, uint32_t durability)
{
	uint64_t number = wc->wr_id >> GROUP_TARGET_BITS;
	uint32_t target = wc->wr_id & ((1 << GROUP_TARGET_BITS) - 1);
	struct group_slot *slot = group_slot(group, number);

	/* not posted by this group */
	if (number - group->released >= group->posted - group->released ||
	    target >= group->num || !(slot->pending & 1ULL << target))
		return;
	slot->pending &= ~(1ULL << target);
	if (wc->status == IBV_WC_SUCCESS)
		group_count_answer(slot, durability);
	else
		group_lose(group, slot, target, wc->status, wc->vendor_err);
	group_settle(group, slot);
	group_release(group);
}

/* Nothing is posted to @target any more; its queue pair answers with errors from now on. */
static int group_evict(struct cairndv_persist_group *group, uint32_t target)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp = group->qp[target];
	int err = cairn_modify_qp(qp, &attr, IBV_QP_STATE);

	group->failed |= 1ULL << target;
	if (!err)
		qp->state = IBV_QPS_ERR;
	return err;
}

/* The oldest message that @target has not answered; group->posted: none. */
static uint64_t group_oldest(struct cairndv_persist_group *group,
			     uint32_t target)
{
	struct group_member *member = &group->member[target];

	if (member->oldest - group->first < group->released - group->first)
		member->oldest = group->released;
	while (member->oldest != group->posted &&
	       !(group_slot(group, member->oldest)->pending & 1ULL << target))
		member->oldest++;
	return member->oldest;
}

/* Drops targets that are too late. All answers so far have been polled. */
static void group_drop_late(struct cairndv_persist_group *group)
{
	uint64_t now = group_now();

	for (uint32_t i = 0; i < group->num; i++) {
		struct group_slot *slot;

		if (!group->member[i].limit_ns || group->failed & 1ULL << i ||
		    group_oldest(group, i) == group->posted)
			continue;
		slot = group_slot(group, group->member[i].oldest);
		if (now - slot->posted_ns < group->member[i].limit_ns)
			continue;
		group_lose(group, slot, i, IBV_WC_RESP_TIMEOUT_ERR, 0);
		group_evict(group, i);
	}
}

int cairndv_persist_group_set_deadline(struct cairndv_persist_group *group,
				       uint32_t target, uint32_t ms)
{
	struct group_member *member;

	if (target >= group->num)
		return EINVAL;
	member = &group->member[target];
	/* messages on the way have no time of posting */
	if (ms && !group->limits)
		for (uint64_t n = group->released; n != group->posted; n++)
			group_slot(group, n)->posted_ns = group_now();
	group->limits += !!ms - !!member->limit_ns;
	member->limit_ns = (uint64_t)ms * GROUP_NSEC_PER_MSEC;
	return 0;
}

int cairndv_persist_group_drop(struct cairndv_persist_group *group,
			       uint32_t target)
{
	if (target >= group->num)
		return EINVAL;
	if (group->failed & 1ULL << target)
		return 0;
	return group_evict(group, target);
}

int cairndv_persist_group_join(struct cairndv_persist_group *group,
			       uint32_t target, struct ibv_qp *qp)
{
	struct ibv_qp *old;
	int err;

	if (target >= group->num || !(group->failed & 1ULL << target))
		return EINVAL;
	/* an event of this target may wait, and there is room for one */
	if (group_oldest(group, target) != group->posted ||
	    group->events != group->told)
		return EBUSY;
	old = group->qp[target];
	group->qp[target] = NULL;
	err = qp ? group_check_qp(group->qp, group->num, qp) : 0;
	if (err) {
		group->qp[target] = old;
		return err;
	}
	group->qp[target] = qp;
	if (qp)
		group->failed &= ~(1ULL << target);
	group_find_cqs(group);
	return 0;
}

int cairndv_persist_group_arm(struct cairndv_persist_group *group)
{
	int err = 0;

	for (uint32_t i = 0; i < group->cqs && !err; i++)
		err = ibv_req_notify_cq(group->cq[i], 0);
	return err;
}

int cairndv_persist_group_timeout(struct cairndv_persist_group *group)
{
	uint64_t least = ~0ULL, now, gone, left;

	if (group->told != group->events)
		return 0;
	if (!group->limits)
		return -1;
	now = group_now();
	for (uint32_t i = 0; i < group->num; i++) {
		struct group_member *member = &group->member[i];

		if (!member->limit_ns || group->failed & 1ULL << i ||
		    group_oldest(group, i) == group->posted)
			continue;
		gone = now - group_slot(group, member->oldest)->posted_ns;
		left = gone < member->limit_ns ? member->limit_ns - gone : 0;
		if (left < least)
			least = left;
	}
	if (least == ~0ULL)
		return -1;
	least = (least + GROUP_NSEC_PER_MSEC - 1) / GROUP_NSEC_PER_MSEC;
	return least < INT_MAX ? (int)least : INT_MAX;
}

/* Return: 1 and the next answer, 0 if all completion queues are empty, or an error. */
static int group_next_answer(struct cairndv_persist_group *group,
			     struct ibv_wc *wc,
			     struct cairndv_persist_info *info)
{
	int got = 0;

	for (uint32_t i = 0; i < group->cqs; i++) {
		group->turn = (group->turn + 1) % group->cqs;
		got = cairndv_poll_cq(group->cq[group->turn], 1, wc, info);
		if (got)
			return got;
	}
	return got;
}

int cairndv_persist_group_poll(struct cairndv_persist_group *group, int num,
			       struct cairndv_group_wc *wc)
{
	struct cairndv_persist_info info;
	struct ibv_wc answer;
	int got, n = 0;

	while (n < num) {
		if (group->told != group->events) {
			wc[n++] = group->event[group->told++ %
					       group->event_room];
			continue;
		}
		group_release(group);
		got = group_next_answer(group, &answer, &info);
		if (got < 0)
			return n ?: got;
		if (got) {
			group_answered(group, &answer, info.durability);
			continue;
		}
		if (group->limits)
			group_drop_late(group);
		if (group->told == group->events)
			break;
	}
	return n;
}

uint64_t cairndv_persist_group_released(const struct cairndv_persist_group *group)
{
	return group->released - group->first;
}
