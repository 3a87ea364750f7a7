// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "cairndv.h"
#include "cqe.h"
#include "fault.h"
#include "fault_power.h"
#include "fault_rules.h"
#include "qp.h"

/* The queue pairs of the process, by which completions find theirs. */
struct fault_qp {
	struct fault_qp *next;
	struct ibv_qp *qp;
};

static pthread_mutex_t fault_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fault_qp *fault_qps;

int cairn_fault_begin(void)
{
	const char *text = secure_getenv("CAIRN_FAULT");

	if (!text || !*text)
		return ENOENT;
	return cairn_rules_use(text);
}

/* The operations before which a context has its faults. */
static const struct verbs_context_ops *fault_under(struct ibv_context *ctx)
{
	return &to_cctx(ctx)->under_fault;
}

/* Return: whether the call fails, with errno. */
static bool fault_fails(enum cairn_rules_target target)
{
	int err = cairn_rules_hit(target);

	if (err)
		errno = err;
	return err;
}

static struct ibv_pd *fault_alloc_pd(struct ibv_context *ctx)
{
	return fault_fails(CAIRN_RULES_ALLOC_PD) ? NULL : fault_under(ctx)->alloc_pd(ctx);
}

static struct ibv_mw *fault_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	return fault_fails(CAIRN_RULES_ALLOC_MW) ? NULL : fault_under(pd->context)->alloc_mw(pd, type);
}

static struct ibv_ah *fault_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	return fault_fails(CAIRN_RULES_CREATE_AH) ? NULL : fault_under(pd->context)->create_ah(pd, attr);
}

static struct ibv_mr *fault_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				   uint64_t hca_va, int access)
{
	struct ibv_mr *mr;

	if (fault_fails(CAIRN_RULES_REG_MR))
		return NULL;
	mr = fault_under(pd->context)->reg_mr(pd, addr, length, hca_va, access);
	if (mr && access & (int)CAIRNDV_ACCESS_PERSISTENT_HOST &&
	    cairn_rules_have(CAIRN_RULES_POWER_CUT)) {
		/* the library sets it after the call */
		mr->context = pd->context;
		cairn_power_open(mr, addr, length,
				 access & IBV_ACCESS_ZERO_BASED ? 0 : hca_va);
	}
	return mr;
}

static int fault_dereg_mr(struct verbs_mr *vmr)
{
	cairn_power_close(&vmr->ibv_mr);
	return fault_under(vmr->ibv_mr.context)->dereg_mr(vmr);
}

static struct ibv_cq *fault_create_cq(struct ibv_context *ctx, int cqe,
				      struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq;

	if (fault_fails(CAIRN_RULES_CREATE_CQ))
		return NULL;
	cq = fault_under(ctx)->create_cq(ctx, cqe, channel, vector);
	if (cq)
		to_ccq(cq)->watch |= CAIRN_CQ_FAULTY;
	return cq;
}

static struct ibv_cq_ex *fault_create_cq_ex(struct ibv_context *ctx,
					    struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cq;

	if (fault_fails(CAIRN_RULES_CREATE_CQ))
		return NULL;
	cq = fault_under(ctx)->create_cq_ex(ctx, attr);
	if (cq)
		to_ccq_ex(cq)->watch |= CAIRN_CQ_FAULTY;
	return cq;
}

static int fault_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int err = cairn_rules_hit(CAIRN_RULES_REQ_NOTIFY_CQ);

	return err ? err : fault_under(cq->context)->req_notify_cq(cq, solicited_only);
}

static int fault_resize_cq(struct ibv_cq *cq, int cqe)
{
	int err = cairn_rules_hit(CAIRN_RULES_RESIZE_CQ);

	return err ? err : fault_under(cq->context)->resize_cq(cq, cqe);
}

static struct ibv_srq *fault_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	return fault_fails(CAIRN_RULES_CREATE_SRQ) ? NULL : fault_under(pd->context)->create_srq(pd, attr);
}

/* Without memory the completions of the QP have no faults. */
static struct ibv_qp *fault_new_qp(struct ibv_qp *qp)
{
	struct fault_qp *entry = qp ? malloc(sizeof(*entry)) : NULL;

	if (!entry)
		return qp;
	pthread_mutex_lock(&fault_mutex);
	*entry = (struct fault_qp){ .next = fault_qps, .qp = qp };
	fault_qps = entry;
	pthread_mutex_unlock(&fault_mutex);
	return qp;
}

static struct ibv_qp *fault_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (fault_fails(CAIRN_RULES_CREATE_QP))
		return NULL;
	return fault_new_qp(fault_under(pd->context)->create_qp(pd, attr));
}

static struct ibv_qp *fault_create_qp_ex(struct ibv_context *ctx,
					 struct ibv_qp_init_attr_ex *attr)
{
	if (fault_fails(CAIRN_RULES_CREATE_QP))
		return NULL;
	return fault_new_qp(fault_under(ctx)->create_qp_ex(ctx, attr));
}

static int fault_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int err = cairn_rules_hit(CAIRN_RULES_MODIFY_QP);

	return err ? err : fault_under(qp->context)->modify_qp(qp, attr, mask);
}

/* Drop @qp, and all queue pairs of @ctx. Each may be NULL. */
static void fault_forget(const struct ibv_qp *qp, const struct ibv_context *ctx)
{
	struct fault_qp **link = &fault_qps, *entry;

	pthread_mutex_lock(&fault_mutex);
	while ((entry = *link)) {
		if (entry->qp == qp || entry->qp->context == ctx) {
			*link = entry->next;
			free(entry);
		} else {
			link = &entry->next;
		}
	}
	pthread_mutex_unlock(&fault_mutex);
}

/* Queue pairs may still be open. */
static void fault_free_context(struct ibv_context *ctx)
{
	fault_forget(NULL, ctx);
	fault_under(ctx)->free_context(ctx);
}

static int fault_destroy_qp(struct ibv_qp *qp)
{
	int err;

	fault_forget(qp, NULL);
	err = fault_under(qp->context)->destroy_qp(qp);
	if (err)
		fault_new_qp(qp);
	return err;
}

static int fault_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
			   struct ibv_send_wr **bad_wr)
{
	int err = cairn_rules_hit(CAIRN_RULES_POST_SEND);

	if (!err)
		return fault_under(qp->context)->post_send(qp, wr, bad_wr);
	*bad_wr = wr;
	return err;
}

static int fault_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			   struct ibv_recv_wr **bad_wr)
{
	int err = cairn_rules_hit(CAIRN_RULES_POST_RECV);

	if (!err)
		return fault_under(qp->context)->post_recv(qp, wr, bad_wr);
	*bad_wr = wr;
	return err;
}

static int fault_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			       struct ibv_recv_wr **bad_wr)
{
	int err = cairn_rules_hit(CAIRN_RULES_POST_SRQ_RECV);

	if (!err)
		return fault_under(srq->context)->post_srq_recv(srq, wr, bad_wr);
	*bad_wr = wr;
	return err;
}

static struct ibv_dm *fault_alloc_dm(struct ibv_context *ctx, struct ibv_alloc_dm_attr *attr)
{
	return fault_fails(CAIRN_RULES_ALLOC_DM) ? NULL : fault_under(ctx)->alloc_dm(ctx, attr);
}

static struct ibv_mr *fault_alloc_null_mr(struct ibv_pd *pd)
{
	return fault_fails(CAIRN_RULES_ALLOC_NULL_MR) ? NULL : fault_under(pd->context)->alloc_null_mr(pd);
}

static struct ibv_pd *fault_alloc_parent_domain(struct ibv_context *ctx,
						struct ibv_parent_domain_init_attr *attr)
{
	if (fault_fails(CAIRN_RULES_ALLOC_PARENT_DOMAIN))
		return NULL;
	return fault_under(ctx)->alloc_parent_domain(ctx, attr);
}

static struct ibv_td *fault_alloc_td(struct ibv_context *ctx, struct ibv_td_init_attr *attr)
{
	return fault_fails(CAIRN_RULES_ALLOC_TD) ? NULL : fault_under(ctx)->alloc_td(ctx, attr);
}

static struct ibv_srq *fault_create_srq_ex(struct ibv_context *ctx,
					   struct ibv_srq_init_attr_ex *attr)
{
	return fault_fails(CAIRN_RULES_CREATE_SRQ) ? NULL : fault_under(ctx)->create_srq_ex(ctx, attr);
}

static struct ibv_qp *fault_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr)
{
	if (fault_fails(CAIRN_RULES_OPEN_QP))
		return NULL;
	return fault_new_qp(fault_under(ctx)->open_qp(ctx, attr));
}

static struct ibv_xrcd *fault_open_xrcd(struct ibv_context *ctx,
					 struct ibv_xrcd_init_attr *attr)
{
	return fault_fails(CAIRN_RULES_OPEN_XRCD) ? NULL : fault_under(ctx)->open_xrcd(ctx, attr);
}

static struct ibv_mr *fault_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset,
				      size_t length, unsigned int access)
{
	if (fault_fails(CAIRN_RULES_REG_DM_MR))
		return NULL;
	return fault_under(pd->context)->reg_dm_mr(pd, dm, offset, length, access);
}

static struct ibv_mr *fault_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					  uint64_t iova, int fd, int access)
{
	if (fault_fails(CAIRN_RULES_REG_DMABUF_MR))
		return NULL;
	return fault_under(pd->context)->reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}

static int fault_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	int err = cairn_rules_hit(CAIRN_RULES_ATTACH_MCAST);

	return err ? err : fault_under(qp->context)->attach_mcast(qp, gid, lid);
}

static int fault_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	int err = cairn_rules_hit(CAIRN_RULES_BIND_MW);

	return err ? err : fault_under(qp->context)->bind_mw(qp, mw, bind);
}

static int fault_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	int err = cairn_rules_hit(CAIRN_RULES_MODIFY_CQ);

	return err ? err : fault_under(cq->context)->modify_cq(cq, attr);
}

static int fault_modify_qp_rate_limit(struct ibv_qp *qp,
				      struct ibv_qp_rate_limit_attr *attr)
{
	int err = cairn_rules_hit(CAIRN_RULES_MODIFY_QP_RATE_LIMIT);

	return err ? err : fault_under(qp->context)->modify_qp_rate_limit(qp, attr);
}

static int fault_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	int err = cairn_rules_hit(CAIRN_RULES_MODIFY_SRQ);

	return err ? err : fault_under(srq->context)->modify_srq(srq, attr, mask);
}

static int fault_query_device_ex(struct ibv_context *ctx,
				 const struct ibv_query_device_ex_input *input,
				 struct ibv_device_attr_ex *attr, size_t size)
{
	int err = cairn_rules_hit(CAIRN_RULES_QUERY_DEVICE);

	return err ? err : fault_under(ctx)->query_device_ex(ctx, input, attr, size);
}

static int fault_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr)
{
	int err = cairn_rules_hit(CAIRN_RULES_QUERY_PORT);

	return err ? err : fault_under(ctx)->query_port(ctx, port, attr);
}

static int fault_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			  struct ibv_qp_init_attr *init)
{
	int err = cairn_rules_hit(CAIRN_RULES_QUERY_QP);

	return err ? err : fault_under(qp->context)->query_qp(qp, attr, mask, init);
}

static int fault_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	int err = cairn_rules_hit(CAIRN_RULES_QUERY_SRQ);

	return err ? err : fault_under(srq->context)->query_srq(srq, attr);
}

static int fault_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
			  void *addr, size_t length, int access)
{
	int err = cairn_rules_hit(CAIRN_RULES_REREG_MR);

	return err ? err : fault_under(vmr->ibv_mr.context)->rereg_mr(vmr, flags, pd, addr, length, access);
}

/* As a device would: the request with the error is the last one that was done. */
static void fault_end_qp(struct ibv_context *ctx, uint32_t qpn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct fault_qp *entry;

	pthread_mutex_lock(&fault_mutex);
	entry = fault_qps;
	while (entry && (entry->qp->qp_num != qpn || entry->qp->context != ctx))
		entry = entry->next;
	if (entry)
		cairn_qp_modify_cmd(entry->qp, &attr, IBV_QP_STATE);
	pthread_mutex_unlock(&fault_mutex);
}

/* The queue has no room for a completion: it is dead, and so are its QPs. */
static void fault_overrun(struct cairn_cq *cq)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	const struct ibv_cq *ibcq = &cq->vcq.cq;

	cairn_cq_overrun(cq);
	pthread_mutex_lock(&fault_mutex);
	for (struct fault_qp *entry = fault_qps; entry; entry = entry->next)
		if (entry->qp->send_cq == ibcq || entry->qp->recv_cq == ibcq)
			cairn_qp_modify_cmd(entry->qp, &attr, IBV_QP_STATE);
	pthread_mutex_unlock(&fault_mutex);
}

static void fault_end_all(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	pthread_mutex_lock(&fault_mutex);
	for (struct fault_qp *entry = fault_qps; entry; entry = entry->next)
		cairn_qp_modify_cmd(entry->qp, &attr, IBV_QP_STATE);
	pthread_mutex_unlock(&fault_mutex);
}

/* An answer is about to be given. Return: its status; @status is the program's. */
static int fault_answer(int status)
{
	int err = cairn_rules_hit(CAIRN_RULES_PERSIST);

	if (cairn_rules_hit(CAIRN_RULES_POWER_CUT)) {
		cairn_power_cut();
		fault_end_all();
	}
	return err ? err : status;
}

/* The program's answers: ranges are durable, or not. */
void cairn_fault_persist(struct ibv_context *ctx, struct cairn_persist_done *done, uint32_t num)
{
	for (uint32_t i = 0; i < num; i++) {
		done[i].status = (uint32_t)fault_answer((int)done[i].status);
		cairn_power_answered(ctx, done[i].token, !done[i].status);
	}
}

int cairn_fault_persist_request(struct ibv_context *ctx, const uint64_t *tokens, uint32_t num,
				int status)
{
	for (uint32_t i = 0; i < num; i++)
		status = fault_answer(status);
	for (uint32_t i = 0; i < num; i++)
		cairn_power_answered(ctx, tokens[i], !status);
	return status;
}

enum ibv_wc_status cairn_fault_status(struct cairn_cq *cq, const struct cairn_cqe *cqe)
{
	enum cairn_rules_target target = cqe->opcode < CAIRN_CQE_RECV ? CAIRN_RULES_SEND :
									CAIRN_RULES_RECV;
	enum ibv_wc_status status = cairn_cqe_status(cqe);
	int fault;

	if (cairn_rules_hit(CAIRN_RULES_CQ_OVERRUN))
		fault_overrun(cq);
	if (cairn_rules_have(CAIRN_RULES_POWER_CUT))
		cairn_power_arrived(cq->vcq.cq.context, cqe);
	if (status != IBV_WC_SUCCESS)
		return status;
	fault = cairn_rules_hit(target);
	if (!fault)
		return status;
	fault_end_qp(cq->vcq.cq.context, cqe->qpn);
	return (enum ibv_wc_status)fault;
}

void cairn_fault_overlay(struct cairn_context *ctx, struct verbs_context_ops *ops)
{
	ctx->under_fault = *ops;
	ops->alloc_dm = fault_alloc_dm;
	ops->alloc_mw = fault_alloc_mw;
	ops->alloc_null_mr = fault_alloc_null_mr;
	ops->alloc_parent_domain = fault_alloc_parent_domain;
	ops->alloc_pd = fault_alloc_pd;
	ops->alloc_td = fault_alloc_td;
	ops->attach_mcast = fault_attach_mcast;
	ops->bind_mw = fault_bind_mw;
	ops->create_ah = fault_create_ah;
	ops->create_cq = fault_create_cq;
	ops->create_cq_ex = fault_create_cq_ex;
	ops->create_qp = fault_create_qp;
	ops->create_qp_ex = fault_create_qp_ex;
	ops->create_srq = fault_create_srq;
	ops->create_srq_ex = fault_create_srq_ex;
	ops->dereg_mr = fault_dereg_mr;
	ops->destroy_qp = fault_destroy_qp;
	ops->free_context = fault_free_context;
	ops->modify_cq = fault_modify_cq;
	ops->modify_qp = fault_modify_qp;
	ops->modify_qp_rate_limit = fault_modify_qp_rate_limit;
	ops->modify_srq = fault_modify_srq;
	ops->open_qp = fault_open_qp;
	ops->open_xrcd = fault_open_xrcd;
	ops->post_recv = fault_post_recv;
	ops->post_send = fault_post_send;
	ops->post_srq_recv = fault_post_srq_recv;
	ops->query_device_ex = fault_query_device_ex;
	ops->query_port = fault_query_port;
	ops->query_qp = fault_query_qp;
	ops->query_srq = fault_query_srq;
	ops->reg_dm_mr = fault_reg_dm_mr;
	ops->reg_dmabuf_mr = fault_reg_dmabuf_mr;
	ops->reg_mr = fault_reg_mr;
	ops->req_notify_cq = fault_req_notify_cq;
	ops->rereg_mr = fault_rereg_mr;
	ops->resize_cq = fault_resize_cq;
}
