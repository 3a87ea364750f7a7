// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The tokens of host flush: a process or a kernel consumer returns the token of a
 * message when its range is durable, by a call, or by a PERSIST_DONE in a send queue.
 *
 * Bits 8 to 31 of a token are the number of its QP. The QP must belong to the caller,
 * and the token must be outstanding there. Its 32 random bits make it differ from
 * earlier tokens.
 */
#include <linux/sched.h>
#include "engine/persist_resp.h"
#include "engine/wqe.h"
#include "verbs/host_flush.h"

#define UVERBS_MODULE_NAME cairn_host_flush
#include <rdma/uverbs_named_ioctl.h>

#define HOST_FLUSH_DONE_SIZE	sizeof(struct cairn_persist_done)

static u32 host_flush_qpn(u64 token)
{
	return token >> 8 & CAIRN_24BIT_MASK;
}

/* The QP of @token, if it belongs to @uctx. RCU read section. */
static struct cairn_exec *host_flush_find(struct cairn_dev *dev,
					  struct cairn_ucontext *uctx, u64 token)
{
	struct cairn_exec *found = xa_load(&dev->nic.qps, host_flush_qpn(token));

	if (found && container_of(found, struct cairn_qp, exec)->uctx == uctx)
		return found;
	return NULL;
}

/* Release @count tokens of one QP; then one run answers for all. The caller's RCU read
 * section keeps the QP (qp_destroy()). Return: a bit for each that is refused.
 */
static u64 host_flush_end(struct cairn_exec *exec,
			  const struct cairn_persist_done *done, u32 count)
{
	struct cairn_epoch *epoch = &exec->nic->epoch;
	u64 refused = 0;
	u32 tag, i;

	cairn_exec_lock(exec);
	/* Count as a run of the engine, because it accesses the regions. */
	tag = cairn_epoch_enter(epoch, exec->qpc->qpn);
	for (i = 0; i < count; i++)
		if (cairn_resp_release(exec->qpc, done[i].token, done[i].status))
			refused |= BIT_ULL(i);
	cairn_epoch_leave(epoch, tag);
	cairn_exec_unlock(exec);
	cairn_exec_kick(exec, CAIRN_RESP);
	return refused;
}

/* How many of @count, from the first on, belong to the same QP. */
static u32 host_flush_alike(const struct cairn_persist_done *done, u32 count)
{
	u32 i = 1;

	while (i < count &&
	       host_flush_qpn(done[i].token) == host_flush_qpn(done->token))
		i++;
	return i;
}

u64 cairn_host_flush_done(struct cairn_dev *dev, struct cairn_ucontext *uctx,
			  const struct cairn_persist_done *done, u32 count)
{
	struct cairn_exec *found;
	u64 refused = 0, some;
	u32 i, alike;

	for (i = 0; i < count; i += alike) {
		alike = host_flush_alike(&done[i], count - i);
		some = GENMASK_ULL(alike - 1, 0);
		rcu_read_lock();
		found = host_flush_find(dev, uctx, done[i].token);
		if (found)
			some = host_flush_end(found, &done[i], alike);
		rcu_read_unlock();
		refused |= some << i;
	}
	if (refused)
		cairn_nic_count(&dev->nic, CAIRN_CTR_PERSIST_BAD_TOKENS,
				hweight64(refused));
	return refused;
}

int cairn_host_flush_posted(struct cairn_qp *qp, const struct cairn_send_wqe *wqe)
{
	u32 count = wqe->inline_len / sizeof(u64), refused = 0, i, n;
	struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);
	const u64 *tokens = cairn_wqe_tokens(wqe);
	struct cairn_exec *found;

	if (!qp->is_user)
		return -EINVAL;
	for (i = 0; i < count; i += n) {
		n = 1;
		while (i + n < count &&
		       host_flush_qpn(tokens[i + n]) == host_flush_qpn(tokens[i]))
			n++;
		found = host_flush_find(dev, qp->uctx, tokens[i]);
		refused += found ? cairn_exec_release(found, &tokens[i], n,
						      wqe->imm_or_key) : n;
	}
	if (!refused)
		return 0;
	cairn_nic_count(&dev->nic, CAIRN_CTR_PERSIST_BAD_TOKENS, refused);
	return -ENOENT;
}

/* Drop the tokens of one QP. RCU read section. */
static void host_flush_revoke_of(struct cairn_exec *exec, u32 key)
{
	cairn_exec_lock(exec);
	cairn_resp_revoke(exec->qpc, key);
	cairn_exec_unlock(exec);
	cairn_exec_defer(exec, CAIRN_RESP);
}

void cairn_host_flush_revoke(struct cairn_dev *dev, u32 key)
{
	struct cairn_exec *exec;
	unsigned long number;

	rcu_read_lock();
	xa_for_each(&dev->nic.qps, number, exec) {
		if (cairn_resp_pending(exec->qpc))
			host_flush_revoke_of(exec, key);
		/* A device may have a million QPs. */
		if (need_resched()) {
			rcu_read_unlock();
			cond_resched();
			rcu_read_lock();
		}
	}
	rcu_read_unlock();
}

/* The output may be left out. */
static int host_flush_refused(struct uverbs_attr_bundle *attrs, u64 refused)
{
	int err = 0;

	if (uverbs_attr_is_valid(attrs, CAIRN_ATTR_PERSIST_DONE_REFUSED))
		err = uverbs_copy_to(attrs, CAIRN_ATTR_PERSIST_DONE_REFUSED,
				     &refused, sizeof(refused));
	return err ?: (refused ? -ENOENT : 0);
}

/* Errors: -ENOENT no such token, -EINVAL reserved bits: none is taken. */
static int UVERBS_HANDLER(CAIRN_METHOD_PERSIST_DONE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibuc = ib_uverbs_get_ucontext(attrs);
	struct cairn_persist_done done[CAIRN_MAX_PERSIST_DONES] __uninitialized;
	int count, err, i;

	if (IS_ERR(ibuc))
		return PTR_ERR(ibuc);
	count = uverbs_attr_ptr_get_array_size(attrs, CAIRN_ATTR_PERSIST_DONE,
					       sizeof(done[0]));
	if (count < 0)
		return count;
	err = uverbs_copy_from(&done, attrs, CAIRN_ATTR_PERSIST_DONE);
	if (err)
		return err;
	for (i = 0; i < count; i++)
		if (done[i].reserved)
			return -EINVAL;
	return host_flush_refused(attrs, cairn_host_flush_done(to_cairn_dev(ibuc->device),
							       to_cairn_ucontext(ibuc),
							       done, count));
}

/* Return: 0; -EINVAL: region without host flush, limit too long, reserved bits. */
static int UVERBS_HANDLER(CAIRN_METHOD_SET_FLUSH_LIMIT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_mr *ibmr = uverbs_attr_get_obj(attrs,
						 CAIRN_ATTR_FLUSH_LIMIT_MR);
	struct cairn_set_flush_limit req;
	struct cairn_mr *mr;
	int err;

	if (IS_ERR(ibmr))
		return PTR_ERR(ibmr);
	err = uverbs_copy_from(&req, attrs, CAIRN_ATTR_FLUSH_LIMIT_IN);
	if (err)
		return err;
	mr = to_cairn_mr(ibmr);
	if (req.reserved || req.ms > CAIRN_MAX_FLUSH_LIMIT ||
	    !(mr->persist & CAIRN_MR_PERSIST_HOST))
		return -EINVAL;
	WRITE_ONCE(mr->flush_limit, req.ms);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_SET_FLUSH_LIMIT,
			    UVERBS_ATTR_IDR(CAIRN_ATTR_FLUSH_LIMIT_MR,
					    UVERBS_OBJECT_MR,
					    UVERBS_ACCESS_WRITE, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_FLUSH_LIMIT_IN,
					       UVERBS_ATTR_TYPE(struct cairn_set_flush_limit),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_PERSIST_DONE,
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_PERSIST_DONE,
					       UVERBS_ATTR_MIN_SIZE(HOST_FLUSH_DONE_SIZE),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(CAIRN_ATTR_PERSIST_DONE_REFUSED,
						UVERBS_ATTR_TYPE(u64),
						UA_OPTIONAL));

ADD_UVERBS_METHODS(host_flush_tuning_methods, CAIRN_OBJECT_TUNING,
		   &UVERBS_METHOD(CAIRN_METHOD_SET_FLUSH_LIMIT));

ADD_UVERBS_METHODS(host_flush_methods, CAIRN_OBJECT_DEVICE,
		   &UVERBS_METHOD(CAIRN_METHOD_PERSIST_DONE));

const struct uapi_definition cairn_host_flush_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(CAIRN_OBJECT_DEVICE, &host_flush_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(CAIRN_OBJECT_TUNING, &host_flush_tuning_methods),
	{},
};
