// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "check_work.h"
#include "cq.h"
#include "cqe.h"
#include "cqex.h"
#include "doorbell.h"
#include "fault.h"
#include "method.h"
#include "pd.h"
#include "persist.h"
#include "resize.h"

VERBS_RESP(cairn_cq_resp, struct ib_uverbs_create_cq_resp,
	   struct cairn_create_cq_resp);
VERBS_RESP(cairn_cq_ex_resp, struct ib_uverbs_ex_create_cq_resp,
	   struct cairn_create_cq_resp);

#define CQ_TIME_FLAGS							\
	((uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |		\
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
#define CQ_WC_FLAGS	(IBV_WC_STANDARD_FLAGS | CQ_TIME_FLAGS)

#define CQ_EACH_QP	0xffffffffU	/* cairn_cq_discard.qpn: no number of a QP */

/*
 * Polls before a yield. 16 take less time than the call. 16384 take far more, so that the
 * calls of a program with a CPU of its own cost little.
 */
#define CQ_MIN_PATIENCE		16U
#define CQ_FIRST_PATIENCE	1024U
#define CQ_MAX_PATIENCE		16384U

/*
 * Microseconds of a yield. The least is more than the switches of a sleep take natively.
 * The greatest is what other work of the program may have to wait.
 */
#define CQ_MIN_YIELD		10U
#define CQ_MAX_YIELD		100U

static struct cairn_cq *cq_alloc(void)
{
	struct cairn_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return NULL;
	cairn_queue_init(&cq->queue);
	cq->empty.patience = CQ_FIRST_PATIENCE;
	cq->empty.us = CQ_MIN_YIELD;
	pthread_spin_init(&cq->arm_lock, PTHREAD_PROCESS_PRIVATE);
	return cq;
}

static void cq_free(struct cairn_cq *cq)
{
	while (cq->discards) {
		struct cairn_cq_discard *discard = cq->discards;

		cq->discards = discard->next;
		free(discard);
	}
	pthread_spin_destroy(&cq->arm_lock);
	cairn_queue_fini(&cq->queue);
	cairn_pd_leave(cq->parent);
	free(cq);
}

/* Maps the ring of a CQ that the kernel has created; undoes that on failure. */
static int cq_open(struct cairn_context *ctx, struct cairn_cq *cq,
		   const struct cairn_ring_desc *desc)
{
	int err = desc->depth ? cairn_queue_map(ctx, &cq->queue, desc,
						PROT_READ) : EPROTO;

	if (err) {
		ibv_cmd_destroy_cq(&cq->vcq.cq);
		return err;
	}
	cq->arm_seq = cq->queue.ring.host->arm >> 2;
	cq->next_seq = cq->arm_seq;
	cq->event_seq = cq->arm_seq;
	return 0;
}

struct ibv_cq *cairn_create_cq(struct ibv_context *ibctx, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector)
{
	struct cairn_cq_resp resp = {};
	union verbs_cmd_buf cmd = {};
	struct cairn_cq *cq = cq_alloc();
	int err;

	if (!cq)
		return NULL;
	err = ibv_cmd_create_cq(ibctx, cqe, channel, comp_vector, &cq->vcq.cq,
				&cmd, VERBS_CMD_SIZE(struct ib_uverbs_create_cq),
				&resp, sizeof(resp));
	if (!err)
		err = cq_open(to_cctx(ibctx), cq, &resp.drv.ring);
	if (!err)
		return &cq->vcq.cq;
	cq_free(cq);
	errno = err;
	return NULL;
}

static bool cq_attr_supported(const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->wc_flags & ~CQ_WC_FLAGS)
		return false;
	if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS |
					  IBV_CQ_INIT_ATTR_MASK_PD))
		return false;
	return !(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) ||
	       !(attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
}

/* Only a parent domain is of use to a CQ: it may have a thread domain. */
static bool cq_domain_valid(const struct ibv_cq_init_attr_ex *attr)
{
	return !(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) ||
	       (attr->parent_domain && to_cpd(attr->parent_domain)->base);
}

static bool cq_single(const struct ibv_cq_init_attr_ex *attr)
{
	return (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
		attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) ||
	       (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
		cairn_pd_single(attr->parent_domain));
}

struct ibv_cq_ex *cairn_create_cq_ex(struct ibv_context *ibctx,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_init_attr_ex plain = *attr;
	struct cairn_cq_ex_resp resp = {};
	union verbs_cmd_buf cmd = {};
	struct cairn_cq *cq;
	int err;

	if (!cq_attr_supported(attr)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!cq_domain_valid(attr)) {
		errno = EINVAL;
		return NULL;
	}
	cq = cq_alloc();
	if (!cq)
		return NULL;
	cq->single_threaded = cq_single(attr);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		cq->parent = cairn_pd_join(attr->parent_domain);
	/* The kernel needs to know only whether to take the time. */
	plain.wc_flags &= CQ_TIME_FLAGS;
	plain.comp_mask = 0;
	plain.flags = 0;
	err = ibv_cmd_create_cq_ex(ibctx, &plain, &cq->vcq, &cmd,
				   VERBS_EX_CMD_SIZE(struct ib_uverbs_ex_create_cq),
				   &resp, sizeof(resp), 0);
	if (!err)
		err = cq_open(to_cctx(ibctx), cq, &resp.drv.ring);
	if (!err) {
		cairn_cqex_fill(cq, attr->wc_flags);
		return &cq->vcq.cq_ex;
	}
	cq_free(cq);
	errno = err;
	return NULL;
}

static int cq_resize(struct ibv_cq *ibcq, int cqe)
{
	struct cairn_cq *cq = to_ccq(ibcq);
	struct cairn_ring_owner owner = {
		.ctx = ibcq->context,
		.attr = CAIRN_ATTR_RING_CQ,
		.handle = ibcq->handle,
	};
	struct ib_uverbs_resize_cq_resp resp;
	union verbs_cmd_buf cmd = {};
	struct cairn_resize resize;
	int err;

	cq->queue.max_wr = (uint32_t)ibcq->cqe;
	err = cairn_resize_begin(&resize, &cq->queue, &owner, (uint32_t)cqe);
	if (err || !cairn_resize_wanted(&resize))
		return err;
	cairn_cq_lock(cq);
	err = ibv_cmd_resize_cq(ibcq, cqe, &cmd,
				VERBS_CMD_SIZE(struct ib_uverbs_resize_cq),
				&resp, sizeof(resp));
	if (!err)
		cairn_resize_commit(&resize);
	cairn_cq_unlock(cq);
	cairn_resize_end(&resize, err);
	return err;
}

int cairn_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	union verbs_cmd_buf cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd,
				 VERBS_EX_CMD_SIZE(struct ib_uverbs_ex_modify_cq));
}

int cairn_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct cairn_context *ctx = to_cctx(ibcq->context);
	int err;

	if (cqe < 1)
		return EINVAL;
	pthread_mutex_lock(&ctx->resize_lock);
	err = cq_resize(ibcq, cqe);
	pthread_mutex_unlock(&ctx->resize_lock);
	return err;
}

int cairn_destroy_cq(struct ibv_cq *ibcq)
{
	struct cairn_context *ctx = to_cctx(ibcq->context);
	struct cairn_cq *cq = to_ccq(ibcq);
	int err;

	cairn_queue_retire(ctx, &cq->queue);
	err = ibv_cmd_destroy_cq(ibcq);
	if (err) {
		cairn_queue_revive(ctx, &cq->queue);
		return err;
	}
	cairn_queue_unmap(ctx, &cq->queue);
	cq_free(cq);
	return 0;
}

void cairn_cq_watch_poll(struct cairn_cq *cq, bool drained)
{
	if (cq->watch & CAIRN_CQ_CHECKED)
		cairn_work_looked(cq, drained);
}

enum ibv_wc_status cairn_cq_watch_one(struct cairn_cq *cq, const struct cairn_cqe *cqe)
{
	if (cq->watch & CAIRN_CQ_CHECKED)
		cairn_work_polled(cq, cqe);
	return cq->watch & CAIRN_CQ_FAULTY ? cairn_fault_status(cq, cqe) :
					     cairn_cqe_status(cqe);
}

/* @yield_us: for cairn_cq_yield(); 0: no call */
static int cq_poll(struct cairn_cq *cq, int num_entries, struct ibv_wc *wc,
		   struct cairndv_persist_info *info, uint32_t *yield_us)
{
	struct cairn_ring *ring = &cq->queue.ring;
	const struct cairn_cqe *cqe;
	bool look = false;
	uint32_t start;
	int n = 0;

	cairn_cq_lock(cq);
	start = ring->index;
	while (n < num_entries && cairn_cq_ready(cq)) {
		cqe = cairn_ring_unit(ring, ring->index++);
		cairn_cqe_to_wc(cqe, &wc[n]);
		if (cairn_cq_watched(cq))
			wc[n].status = cairn_cq_watch_one(cq, cqe);
		if (info)
			cairn_persist_info(cqe, wc[n].status, &info[n]);
		n++;
	}
	if (cairn_cq_watched(cq))
		cairn_cq_watch_poll(cq, n < num_entries);
	if (ring->index != start)
		look = cairn_ring_polled(ring);
	if (n)
		cq->empty.polls = 0;
	*yield_us = n ? 0 : cairn_cq_tires(cq);
	cairn_cq_unlock(cq);
	if (__builtin_expect(look, 0))
		cairn_cq_look(cq);
	return n;
}

int cairn_cq_poll(struct cairn_cq *cq, int num_entries, struct ibv_wc *wc,
		  struct cairndv_persist_info *info)
{
	uint32_t yield_us;
	int n = cq_poll(cq, num_entries, wc, info, &yield_us);

	/* The posts may be done when the doorbell returns. */
	if (!n && cairn_doorbell_unrung(cq->vcq.cq.context))
		n = cq_poll(cq, num_entries, wc, info, &yield_us);
	if (__builtin_expect(yield_us, 0))
		cairn_cq_yield(cq, yield_us);
	return n;
}

/* It fails only when the queue is about to be destroyed. */
void cairn_cq_look(struct cairn_cq *cq)
{
	struct ibv_cq *ibcq = &cq->vcq.cq;
	struct ib_uverbs_attr attr =
		cairn_method_object_attr(CAIRN_ATTR_LOOK_CQ, ibcq->handle);

	cairn_method_attrs(ibcq->context, CAIRN_OBJECT_CQ,
			   CAIRN_METHOD_LOOK_CQ, &attr, 1);
}

/* Another task wanted the CPU. */
static void cq_was_busy(struct cairn_cq_empty *empty)
{
	if (empty->patience > CQ_MIN_PATIENCE)
		empty->patience /= 2;
	empty->us *= 2;
	if (empty->us > CQ_MAX_YIELD)
		empty->us = CQ_MAX_YIELD;
}

static void cq_was_alone(struct cairn_cq_empty *empty)
{
	if (empty->patience < CQ_MAX_PATIENCE)
		empty->patience *= 2;
	empty->us /= 2;
	if (empty->us < CQ_MIN_YIELD)
		empty->us = CQ_MIN_YIELD;
}

void cairn_cq_yield(struct cairn_cq *cq, uint32_t us)
{
	int err = cairn_method_object(cq->vcq.cq.context, CAIRN_OBJECT_CQ, CAIRN_METHOD_YIELD,
				      cairn_method_attr(CAIRN_ATTR_YIELD_US, &us, sizeof(us)));

	cairn_cq_lock(cq);
	cq->empty.polls = 0;
	if (!err)
		cq_was_busy(&cq->empty);
	else if (err == EAGAIN)
		cq_was_alone(&cq->empty);
	else	/* an older module, or the device was removed */
		cq->empty.patience = UINT32_MAX;
	cairn_cq_unlock(cq);
}

int cairn_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	return cairn_cq_poll(to_ccq(ibcq), num_entries, wc, NULL);
}

/* Skips the completion at ring.index if it was discarded. Locked. */
bool cairn_cq_skip(struct cairn_cq *cq)
{
	struct cairn_ring *ring = &cq->queue.ring;
	const struct cairn_cqe *cqe = cairn_ring_unit(ring, ring->index);
	struct cairn_cq_discard **link = &cq->discards;

	while (*link) {
		struct cairn_cq_discard *discard = *link;

		if ((int32_t)(ring->index - discard->end) >= 0) {
			*link = discard->next;
			free(discard);
			continue;
		}
		if (discard->qpn == cqe->qpn || discard->qpn == CQ_EACH_QP) {
			ring->index++;
			return true;
		}
		link = &discard->next;
	}
	return false;
}

static bool cq_holds_qp(const struct cairn_ring *ring, uint32_t qpn)
{
	for (uint32_t i = ring->index; i != ring->dev_index; i++) {
		const struct cairn_cqe *cqe = cairn_ring_unit(ring, i);

		if (cqe->qpn == qpn)
			return true;
	}
	return false;
}

static struct cairn_cq_discard *cq_find_discard(struct cairn_cq *cq, uint32_t qpn)
{
	struct cairn_cq_discard *discard = cq->discards;

	while (discard && discard->qpn != qpn)
		discard = discard->next;
	return discard;
}

/*
 * One entry for each number, as a QP may be reset again and again without a poll.
 * Without memory the completions are shown, which is allowed, too.
 */
static void cq_discard(struct cairn_cq *cq, uint32_t qpn)
{
	struct cairn_cq_discard *discard = cq_find_discard(cq, qpn);

	if (!discard) {
		discard = calloc(1, sizeof(*discard));
		if (!discard)
			return;
		discard->qpn = qpn;
		discard->next = cq->discards;
		cq->discards = discard;
	}
	discard->end = cq->queue.ring.dev_index;
}

/* Without memory the queue goes on. */
void cairn_cq_overrun(struct cairn_cq *cq)
{
	struct cairn_cq_discard *discard = calloc(1, sizeof(*discard));

	if (!discard)
		return;
	discard->qpn = CQ_EACH_QP;
	discard->end = cq->queue.ring.index + INT32_MAX;
	discard->next = cq->discards;
	cq->discards = discard;
}

/*
 * Gives the room of discarded completions to the device at once, as there may be no
 * poll before it is needed. Completions behind one that is to be shown wait for it.
 * Return: whether the device has to be told.
 */
static bool cq_free_discarded(struct cairn_cq *cq)
{
	struct cairn_ring *ring = &cq->queue.ring;
	uint32_t start = ring->index;

	cairn_cq_ready(cq);	/* skips */
	return ring->index != start && cairn_ring_polled(ring);
}

void cairn_cq_forget_qp(struct ibv_cq *ibcq, uint32_t qpn)
{
	struct cairn_cq *cq = to_ccq(ibcq);
	bool look = false;

	cairn_cq_lock(cq);
	cairn_ring_reload(&cq->queue.ring);
	if (cq_holds_qp(&cq->queue.ring, qpn))
		cq_discard(cq, qpn);
	if (!cq->polling)
		look = cq_free_discarded(cq);
	cairn_cq_unlock(cq);
	if (look)
		cairn_cq_look(cq);
}

/*
 * Every call asks for one more event, so that none is lost to an event that is
 * already on its way. A request for solicited completions must not replace one
 * for any completion that may still wait (cairn_cq_event()). After requests that were
 * replaced unanswered there may be as many extra events.
 *
 * Completions that are not polled soon after raise an event, as with mlx4 and mlx5:
 * programs that arm and then poll a part of them wait for it.
 *
 * Not under the CQ lock: the extended poll holds that between calls.
 */
int cairn_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct cairn_cq *cq = to_ccq(ibcq);
	uint32_t kind = CAIRN_ARM_SOLICITED;
	bool look;

	pthread_spin_lock(&cq->arm_lock);
	cq->arm_seq++;
	if (!solicited_only)
		cq->next_seq = cq->arm_seq;
	if (cq->next_seq > cq->event_seq)
		kind = CAIRN_ARM_NEXT;
	cairn_ring_arm(&cq->queue.ring, (uint32_t)(cq->arm_seq << 2) | kind);
	look = cairn_ring_holds(&cq->queue.ring);
	pthread_spin_unlock(&cq->arm_lock);
	if (look)
		cairn_cq_look(cq);
	/* The program is about to sleep, and others may have the CPU before the lazy thread. */
	cairn_doorbell_unrung(ibcq->context);
	return 0;
}

/*
 * An event was read. It does not say which request it answered, and a later one may
 * have been made since. But the device answers a request once, and none before an
 * earlier one: after n events the n-th request is answered.
 */
void cairn_cq_event(struct ibv_cq *ibcq)
{
	struct cairn_cq *cq = to_ccq(ibcq);

	pthread_spin_lock(&cq->arm_lock);
	cq->event_seq++;
	pthread_spin_unlock(&cq->arm_lock);
}
