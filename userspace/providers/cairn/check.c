// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Each operation with its checks: the one of the provider, and what to remember of it. */
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "ah.h"
#include "check.h"
#include "check_buffer.h"
#include "check_object.h"
#include "check_region.h"
#include "check_report.h"
#include "check_work.h"
#include "cq.h"
#include "dm.h"
#include "mr.h"
#include "mw.h"
#include "pd.h"
#include "qp.h"
#include "srq.h"
#include "xrc.h"

#define CHECK_ACK_WAIT_MS	1000	/* for another thread to acknowledge events */
#define CHECK_STEP_MS		10

static pthread_mutex_t check_mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread bool check_owner;	/* of the mutex */
static pid_t check_pid;		/* children do not report what they inherit */

void cairn_check_lock(void)
{
	pthread_mutex_lock(&check_mutex);
	check_owner = true;
}

void cairn_check_unlock(void)
{
	check_owner = false;
	pthread_mutex_unlock(&check_mutex);
}

bool cairn_check_locked(void)
{
	return check_owner;
}

/*
 * Kernels before 5.12 give pages that are registered to the child of a fork when the parent
 * writes, unless ibv_fork_init() was called. The lock is ours in the child, too.
 */
static void check_fork(void)
{
	enum ibv_fork_status status = ibv_is_fork_initialized();
	struct cairn_report report = { .here = true };

	cairn_check_lock();
	if (check_pid != getpid() || !cairn_region_any() || status == IBV_FORK_ENABLED ||
	    (status == IBV_FORK_UNNEEDED && !cairn_report_strict()))
		return;
	cairn_report_write(CAIRN_REPORT_FORK_UNPROTECTED, &report,
			   "the process forks with registered memory%s",
			   status == IBV_FORK_UNNEEDED ?
			   ", which this kernel protects, and kernels before 5.12 do not" :
			   ", and ibv_fork_init() was not called before it was registered");
}

bool cairn_check_wanted(void)
{
	static bool forks;
	bool wanted;

	cairn_check_lock();
	wanted = cairn_report_begin();
	if (wanted)
		check_pid = getpid();
	if (wanted && !forks)
		forks = !pthread_atfork(check_fork, cairn_check_unlock, cairn_check_unlock);
	cairn_check_unlock();
	return wanted;
}

/* The operations before which a context has its checks. */
static const struct verbs_context_ops *check_under(struct ibv_context *ctx)
{
	return &to_cctx(ctx)->under_check;
}

static void check_open(const struct ibv_context *ctx, const char *kind, const void *object)
{
	cairn_check_lock();
	cairn_object_open(ctx, kind, object);
	cairn_check_unlock();
}

static struct cairn_object *check_take(const void *object)
{
	struct cairn_object *taken;

	cairn_check_lock();
	taken = cairn_object_take(object);
	cairn_check_unlock();
	return taken;
}

static int check_return(struct cairn_object *object, int err)
{
	cairn_check_lock();
	cairn_object_return(object, !err);
	cairn_check_unlock();
	return err;
}

/* --- domains, regions, windows, address handles ------------------------------ */

static struct ibv_pd *check_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = check_under(ctx)->alloc_pd(ctx);

	if (pd)
		check_open(ctx, "protection domain", pd);
	return pd;
}

static struct ibv_pd *check_alloc_parent_domain(struct ibv_context *ctx,
						struct ibv_parent_domain_init_attr *attr)
{
	struct ibv_pd *pd = check_under(ctx)->alloc_parent_domain(ctx, attr);

	if (pd)
		check_open(ctx, "parent domain", pd);
	return pd;
}

static int check_dealloc_pd(struct ibv_pd *pd)
{
	struct cairn_object *object = check_take(pd);

	return check_return(object, check_under(pd->context)->dealloc_pd(pd));
}

static struct ibv_mr *check_new_region(struct ibv_pd *pd, struct ibv_mr *mr, uint64_t iova,
				       uint64_t length, int access)
{
	if (!mr)
		return NULL;
	/* the library sets them after the call */
	mr->context = pd->context;
	mr->pd = pd;
	cairn_check_lock();
	cairn_region_open(mr, iova, length, access);
	cairn_object_open(mr->context, "memory region", mr);
	cairn_check_unlock();
	return mr;
}

static struct ibv_mr *check_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				   uint64_t hca_va, int access)
{
	uint64_t iova = access & IBV_ACCESS_ZERO_BASED ? 0 : hca_va;

	cairn_check_lock();
	cairn_buffer_open_range((uintptr_t)addr, length);
	cairn_check_unlock();
	return check_new_region(pd, check_under(pd->context)->reg_mr(pd, addr, length, hca_va, access),
				iova, length, access);
}

static struct ibv_mr *check_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					  size_t length, uint64_t iova, int fd,
					  int access)
{
	struct ibv_mr *mr = check_under(pd->context)->reg_dmabuf_mr(pd, offset, length, iova, fd,
								    access);

	return check_new_region(pd, mr, iova, length, access);
}

static struct ibv_mr *check_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
				      uint64_t offset, size_t length,
				      unsigned int access)
{
	return check_new_region(pd, check_under(pd->context)->reg_dm_mr(pd, dm, offset, length, access),
				0, length, (int)access);
}

/* A region before or after a change. */
struct check_region {
	struct ibv_mr mr;
	uint64_t iova;
	int access;
};

/* Without another range the region keeps its addresses, unless its base becomes zero. */
static void check_change_region(struct check_region *region, int flags,
				const struct check_region *to)
{
	bool zero_based = region->access & IBV_ACCESS_ZERO_BASED;

	if (flags & IBV_REREG_MR_CHANGE_PD)
		region->mr.pd = to->mr.pd;
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		region->access = to->access;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		region->mr.addr = to->mr.addr;
		region->mr.length = to->mr.length;
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION || zero_based)
		region->iova = (uintptr_t)region->mr.addr;
	if (region->access & IBV_ACCESS_ZERO_BASED)
		region->iova = 0;
}

/* The key may stay. A call that fails changes nothing. */
static int check_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
			  void *addr, size_t length, int access)
{
	const struct check_region to = {
		.mr = { .pd = pd, .addr = addr, .length = length }, .access = access,
	};
	struct ibv_mr *mr = &vmr->ibv_mr;
	struct check_region region = { .mr = *mr, .access = vmr->access };
	int err;

	cairn_check_lock();
	cairn_work_check_region(mr);
	region.iova = cairn_region_iova(mr);
	cairn_region_close(mr);
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		cairn_buffer_open_range((uintptr_t)addr, length);
	cairn_check_unlock();
	err = check_under(mr->context)->rereg_mr(vmr, flags, pd, addr, length, access);
	if (!err)
		check_change_region(&region, flags, &to);
	region.mr.lkey = mr->lkey;
	cairn_check_lock();
	cairn_region_open(&region.mr, region.iova, region.mr.length, region.access);
	cairn_check_unlock();
	return err;
}

static int check_dereg_mr(struct verbs_mr *vmr)
{
	const struct ibv_mr mr = vmr->ibv_mr;
	struct cairn_object *object;
	int err;

	if (vmr->mr_type == VERBS_MR_TYPE_NULL)
		return check_under(vmr->ibv_mr.context)->dereg_mr(vmr);
	cairn_check_lock();
	cairn_work_check_region(&mr);
	cairn_check_unlock();
	object = check_take(vmr);
	err = check_under(vmr->ibv_mr.context)->dereg_mr(vmr);
	cairn_check_lock();
	if (!err)
		cairn_region_close(&mr);
	cairn_check_unlock();
	return check_return(object, err);
}

static struct ibv_mw *check_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = check_under(pd->context)->alloc_mw(pd, type);

	if (mw)
		check_open(pd->context, "memory window", mw);
	return mw;
}

static int check_dealloc_mw(struct ibv_mw *mw)
{
	struct cairn_object *object = check_take(mw);

	return check_return(object, check_under(mw->context)->dealloc_mw(mw));
}

static struct ibv_ah *check_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = check_under(pd->context)->create_ah(pd, attr);

	if (ah)
		check_open(pd->context, "address handle", ah);
	return ah;
}

static int check_destroy_ah(struct ibv_ah *ah)
{
	struct cairn_object *object = check_take(ah);

	return check_return(object, check_under(ah->context)->destroy_ah(ah));
}

/* --- completion queues ------------------------------------------------------- */

static struct ibv_cq *check_new_cq(struct ibv_context *ctx, struct ibv_cq *cq)
{
	cairn_work_open_cq(to_ccq(cq), ctx);
	check_open(ctx, "completion queue", cq);
	return cq;
}

static struct ibv_cq *check_create_cq(struct ibv_context *ctx, int cqe,
				      struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq = check_under(ctx)->create_cq(ctx, cqe, channel, vector);

	return cq ? check_new_cq(ctx, cq) : NULL;
}

static struct ibv_cq_ex *check_create_cq_ex(struct ibv_context *ctx,
					    struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cq = check_under(ctx)->create_cq_ex(ctx, attr);

	if (cq)
		check_new_cq(ctx, ibv_cq_ex_to_cq(cq));
	return cq;
}

static int check_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	int n;

	cairn_work_enter(&to_ccq(cq)->queue);
	n = check_under(cq->context)->poll_cq(cq, num_entries, wc);
	cairn_work_leave(&to_ccq(cq)->queue);
	return n;
}

static int check_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	if (to_ccq(cq)->queue.check)
		cairn_work_armed(to_ccq(cq));
	return check_under(cq->context)->req_notify_cq(cq, solicited_only);
}

static void check_cq_event(struct ibv_cq *cq)
{
	if (to_ccq(cq)->queue.check)
		cairn_work_notified(to_ccq(cq));
	check_under(cq->context)->cq_event(cq);
}

static uint32_t check_unacked(struct ibv_cq *cq)
{
	uint32_t acked;

	pthread_mutex_lock(&cq->mutex);
	acked = cq->comp_events_completed;
	pthread_mutex_unlock(&cq->mutex);
	return cairn_work_events(to_ccq(cq)) - acked;
}

/* The library waits for the acknowledgements, forever. */
static void check_events(struct ibv_cq *cq)
{
	const struct timespec step = { .tv_nsec = CHECK_STEP_MS * 1000000L };
	struct cairn_report report = { .here = true };

	for (int ms = 0; ms < CHECK_ACK_WAIT_MS && check_unacked(cq); ms += CHECK_STEP_MS)
		nanosleep(&step, NULL);
	if (!check_unacked(cq))
		return;
	cairn_check_lock();
	cairn_report_write(CAIRN_REPORT_EVENTS_UNACKED, &report,
			   "a CQ is destroyed, which waits for ibv_ack_cq_events() of %u events",
			   check_unacked(cq));
	cairn_check_unlock();
}

static int check_destroy_cq(struct ibv_cq *cq)
{
	struct cairn_object *object = check_take(cq);

	if (to_ccq(cq)->queue.check)
		check_events(cq);
	return check_return(object, check_under(cq->context)->destroy_cq(cq));
}

/* --- queue pairs and shared receive queues ----------------------------------- */

static struct ibv_qp *check_new_qp(struct ibv_context *ctx, struct ibv_qp *qp,
				   struct ibv_pd *pd)
{
	if (!qp)
		return NULL;
	cairn_work_open_qp(to_cqp(qp), ctx, pd);
	check_open(ctx, "queue pair", qp);
	return qp;
}

static struct ibv_qp *check_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return check_new_qp(pd->context, check_under(pd->context)->create_qp(pd, attr), pd);
}

static struct ibv_qp *check_create_qp_ex(struct ibv_context *ctx,
					 struct ibv_qp_init_attr_ex *attr)
{
	return check_new_qp(ctx, check_under(ctx)->create_qp_ex(ctx, attr),
			    attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL);
}

static struct ibv_qp *check_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr)
{
	return check_new_qp(ctx, check_under(ctx)->open_qp(ctx, attr), NULL);
}

/* The attributes of IBTA 11.2.5.2 that a transition must have, for the types it lists. */
static const struct check_step {
	enum ibv_qp_type type;
	enum ibv_qp_state to;
	int needs;
} check_steps[] = {
	{ IBV_QPT_RC, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPT_RC, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
	  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPT_RC, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC },
	{ IBV_QPT_UC, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPT_UC, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
	  IBV_QP_RQ_PSN },
	{ IBV_QPT_UC, IBV_QPS_RTS, IBV_QP_SQ_PSN },
	{ IBV_QPT_UD, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY },
	{ IBV_QPT_UD, IBV_QPS_RTS, IBV_QP_SQ_PSN },
};

static const struct {
	int bit;
	const char *name;
} check_attrs[] = {
	{ IBV_QP_PKEY_INDEX, "IBV_QP_PKEY_INDEX" }, { IBV_QP_PORT, "IBV_QP_PORT" },
	{ IBV_QP_ACCESS_FLAGS, "IBV_QP_ACCESS_FLAGS" }, { IBV_QP_QKEY, "IBV_QP_QKEY" },
	{ IBV_QP_AV, "IBV_QP_AV" }, { IBV_QP_PATH_MTU, "IBV_QP_PATH_MTU" },
	{ IBV_QP_DEST_QPN, "IBV_QP_DEST_QPN" }, { IBV_QP_RQ_PSN, "IBV_QP_RQ_PSN" },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, "IBV_QP_MAX_DEST_RD_ATOMIC" },
	{ IBV_QP_MIN_RNR_TIMER, "IBV_QP_MIN_RNR_TIMER" },
	{ IBV_QP_TIMEOUT, "IBV_QP_TIMEOUT" }, { IBV_QP_RETRY_CNT, "IBV_QP_RETRY_CNT" },
	{ IBV_QP_RNR_RETRY, "IBV_QP_RNR_RETRY" }, { IBV_QP_SQ_PSN, "IBV_QP_SQ_PSN" },
	{ IBV_QP_MAX_QP_RD_ATOMIC, "IBV_QP_MAX_QP_RD_ATOMIC" },
};

static int check_missing(const struct ibv_qp *qp, enum ibv_qp_state from,
			 enum ibv_qp_state to, int mask)
{
	/* a QP that stays in its state, or was set up before, needs less */
	if (from != IBV_QPS_RESET + (to - IBV_QPS_INIT))
		return 0;
	for (size_t i = 0; i < sizeof(check_steps) / sizeof(check_steps[0]); i++)
		if (check_steps[i].type == qp->qp_type && check_steps[i].to == to)
			return check_steps[i].needs & ~mask;
	return 0;
}

/* A transition was refused: which attributes does it lack? */
static void check_explain(const struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	static const char *const states[] = { "RESET", "INIT", "RTR", "RTS" };
	int missing = check_missing(qp, qp->state, to, mask);
	struct cairn_report report = { .here = true };
	char names[512] = "";

	if (!missing)
		return;
	for (size_t i = 0; i < sizeof(check_attrs) / sizeof(check_attrs[0]); i++) {
		if (!(missing & check_attrs[i].bit))
			continue;
		strcat(strcat(names, " "), check_attrs[i].name);
	}
	cairn_check_lock();
	cairn_report_write(CAIRN_REPORT_MODIFY_ATTRIBUTES, &report,
			   "QP %u cannot go from %s to %s without%s", qp->qp_num,
			   states[qp->state], states[to], names);
	cairn_check_unlock();
}

static int check_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int err = check_under(qp->context)->modify_qp(qp, attr, mask);

	if (!(mask & IBV_QP_STATE))
		return err;
	if (err)
		check_explain(qp, attr->qp_state, mask);
	else if (attr->qp_state == IBV_QPS_RESET)
		cairn_work_reset_qp(to_cqp(qp));
	return err;
}

static int check_destroy_qp(struct ibv_qp *qp)
{
	struct cairn_object *object = check_take(qp);

	cairn_check_lock();
	cairn_work_check_left(qp);
	if (cairn_report_strict())
		cairn_work_check_unpolled(qp);
	cairn_check_unlock();
	return check_return(object, check_under(qp->context)->destroy_qp(qp));
}

/* Return: whether the QP is there; its memory is kept, see cairn_work_bury(). */
static bool check_alive(const struct ibv_qp *qp)
{
	struct cairn_report report = { .here = true };
	bool alive;

	cairn_check_lock();
	if (check_pid != getpid())
		cairn_report_write(CAIRN_REPORT_FORK_CHILD, &report,
				   "a request is posted to QP %u, which a process opened of which this one was forked",
				   qp->qp_num);
	alive = cairn_object_known(qp);
	if (!alive)
		cairn_report_write(CAIRN_REPORT_USE_AFTER_DESTROY, &report,
				   "a request is posted to QP %u, which was destroyed",
				   qp->qp_num);
	cairn_check_unlock();
	return alive;
}

static int check_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			   struct ibv_send_wr **bad_wr)
{
	int err;

	if (!check_alive(qp)) {
		*bad_wr = wr;
		return EINVAL;
	}
	cairn_work_enter(&to_cqp(qp)->sq);
	err = check_under(qp->context)->post_send(qp, wr, bad_wr);
	cairn_work_leave(&to_cqp(qp)->sq);
	if (err)
		cairn_work_refused(to_cqp(qp), err);
	return err;
}

static int check_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			   struct ibv_recv_wr **bad_wr)
{
	int err;

	if (!check_alive(qp)) {
		*bad_wr = wr;
		return EINVAL;
	}
	cairn_work_enter(&to_cqp(qp)->rq.queue);
	err = check_under(qp->context)->post_recv(qp, wr, bad_wr);
	cairn_work_leave(&to_cqp(qp)->rq.queue);
	return err;
}

static struct ibv_srq *check_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *srq = check_under(pd->context)->create_srq(pd, attr);

	if (!srq)
		return NULL;
	cairn_work_open_srq(to_csrq(srq), pd);
	check_open(pd->context, "shared receive queue", srq);
	return srq;
}

static struct ibv_srq *check_create_srq_ex(struct ibv_context *ctx,
					   struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq = check_under(ctx)->create_srq_ex(ctx, attr);

	if (!srq)
		return NULL;
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC)
		cairn_work_expect(to_ccq(attr->cq));
	else
		cairn_work_open_srq(to_csrq(srq), attr->pd);
	check_open(ctx, "shared receive queue", srq);
	return srq;
}

static int check_destroy_srq(struct ibv_srq *srq)
{
	struct cairn_object *object = check_take(srq);

	return check_return(object, check_under(srq->context)->destroy_srq(srq));
}

/* --- all of it --------------------------------------------------------------- */

static void check_free_context(struct ibv_context *ctx)
{
	cairn_check_lock();
	cairn_object_leaks(ctx);
	cairn_region_forget_all(ctx);
	cairn_check_unlock();
	check_under(ctx)->free_context(ctx);
}

void cairn_check_overlay(struct cairn_context *ctx, struct verbs_context_ops *ops)
{
	ctx->under_check = *ops;
	ops->alloc_mw = check_alloc_mw;
	ops->alloc_parent_domain = check_alloc_parent_domain;
	ops->alloc_pd = check_alloc_pd;
	ops->cq_event = check_cq_event;
	ops->create_ah = check_create_ah;
	ops->create_cq = check_create_cq;
	ops->create_cq_ex = check_create_cq_ex;
	ops->create_qp = check_create_qp;
	ops->create_qp_ex = check_create_qp_ex;
	ops->create_srq = check_create_srq;
	ops->create_srq_ex = check_create_srq_ex;
	ops->dealloc_mw = check_dealloc_mw;
	ops->dealloc_pd = check_dealloc_pd;
	ops->dereg_mr = check_dereg_mr;
	ops->destroy_ah = check_destroy_ah;
	ops->destroy_cq = check_destroy_cq;
	ops->destroy_qp = check_destroy_qp;
	ops->destroy_srq = check_destroy_srq;
	ops->free_context = check_free_context;
	ops->modify_qp = check_modify_qp;
	ops->open_qp = check_open_qp;
	ops->poll_cq = check_poll_cq;
	ops->post_recv = check_post_recv;
	ops->post_send = check_post_send;
	ops->reg_dm_mr = check_reg_dm_mr;
	ops->reg_dmabuf_mr = check_reg_dmabuf_mr;
	ops->reg_mr = check_reg_mr;
	ops->req_notify_cq = check_req_notify_cq;
	ops->rereg_mr = check_rereg_mr;
}

__attribute__((destructor)) static void check_end(void)
{
	if (check_pid != getpid())
		return;
	cairn_check_lock();
	cairn_object_leaks(NULL);
	cairn_check_unlock();
}
