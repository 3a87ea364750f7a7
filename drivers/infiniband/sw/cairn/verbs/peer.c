// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Asks the device at the other end of a connection what it can make durable, by a
 * management datagram to its QP 1 (wire/mad.h).
 *
 * The answering side keeps no state: process_mad makes the answer from the question, and
 * ib_mad sends it. The asking side has a list of open questions. Their number is
 * limited, and each user has a share. An answer is accepted once, and only if it has
 * the 64 random bits of a question and comes from the address that was asked.
 *
 * A connection whose first WRITE_PERSIST gets no answer asks by itself, once, and once
 * more for the first one with immediate data. If the peer does not know such a request,
 * it fails at once and not after its retries. No thread waits for the answer: silent
 * peers of one connection do not delay the question of another.
 *
 * ib_mad retransmits the question. It cannot match answers to questions, because with
 * IPv4 it compares bytes that are not the address. So process_mad matches them.
 */
#include <linux/lockdep.h>
#include <linux/random.h>
#include <rdma/ib_cache.h>
#include "device/share.h"
#include "engine/comp_ack.h"
#include "verbs/caps.h"
#include "verbs/ops.h"
#include "verbs/peer.h"
#include "verbs/pma.h"
#include "verbs/xrc.h"
#include "wire/mad.h"

#define UVERBS_MODULE_NAME cairn_peer
#include <rdma/uverbs_named_ioctl.h>

/* Times that a question is sent, at most. */
#define PEER_TRIES	4
/* Open questions of one device: those of callers and of connections that ask by
 * themselves, from their first doubt on. A user has a share of them.
 */
#define PEER_MAX_QUERIES	256
/* Time limit for the question of a doubt. */
#define PEER_DOUBT_MS		2000

static struct workqueue_struct *peer_doubts;

struct peer_query {
	struct list_head entry;		/* in the list until it is answered */
	__be64 tid;
	union ib_gid from;		/* address that is asked */
	struct cairn_peer_caps caps;
	int err;			/* -ETIMEDOUT: no answer yet */
	struct work_struct *work;	/* queued with wake; NULL: a caller waits */
	unsigned long woken;		/* bit 0 */
	struct completion wake;		/* answered, or ib_mad does not use it any more */
	struct completion sent;		/* ib_mad does not use it any more */
	enum ib_wc_status status;	/* from ib_mad, valid with sent */
};

void cairn_peers_init(struct cairn_peers *peers)
{
	init_rwsem(&peers->lock);
	spin_lock_init(&peers->list_lock);
	INIT_LIST_HEAD(&peers->queries);
}

/* --- answers --------------------------------------------------------------- */

/* Get the source address of a datagram. */
static int peer_source(const struct ib_wc *wc, const struct ib_grh *grh,
		       union ib_gid *from)
{
	union ib_gid to;

	if (!(wc->wc_flags & IB_WC_GRH) ||
	    !(wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE) || wc->src_qp != 1)
		return -EINVAL;
	return ib_get_gids_from_rdma_hdr((const union rdma_network_hdr *)grh,
					 wc->network_hdr_type, from, &to);
}

/* Find the question of an answer, and remove it from the list. */
static struct peer_query *peer_take_query(struct cairn_peers *peers, __be64 tid,
					  const union ib_gid *from)
{
	struct peer_query *query;

	list_for_each_entry(query, &peers->queries, entry)
		if (query->tid == tid &&
		    !memcmp(&query->from, from, sizeof(*from))) {
			list_del_init(&query->entry);
			return query;
		}
	return NULL;
}

/* Once. The query ends when its waiter has seen that ib_mad does not use it any more, and
 * has left the list.
 */
static void peer_wake(struct peer_query *query)
{
	if (test_and_set_bit(0, &query->woken))
		return;
	complete(&query->wake);
	if (query->work)
		queue_work(peer_doubts, query->work);
}

static void peer_answered(struct cairn_dev *dev, const struct cairn_mad *mad,
			  const union ib_gid *from)
{
	struct cairn_peers *peers = &dev->peers;
	struct peer_query *query;
	int err = -ENOENT;

	spin_lock(&peers->list_lock);
	query = peer_take_query(peers, mad->tid, from);
	if (query) {
		err = cairn_mad_read(mad, &query->caps);
		query->err = err;
		peer_wake(query);
	}
	spin_unlock(&peers->list_lock);
	if (err)
		cairn_nic_count(&dev->nic, CAIRN_CTR_PEER_BAD_ANSWERS, 1);
}

static void peer_caps(struct cairn_peer_caps *caps)
{
	struct cairn_device_caps own;

	cairn_caps_get(&own);
	*caps = (struct cairn_peer_caps){
		.known = 1,
		.persist_domains = own.persist_domains,
		.persist_atomic_unit = own.persist_atomic_unit,
		.max_persist_outstanding = own.max_persist_outstanding,
		.max_msg = own.max_msg,
		.abilities = CAIRN_PEER_ABILITIES,
	};
}

static int peer_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
			    const struct ib_wc *wc, const struct ib_grh *grh,
			    const struct ib_mad *in, struct ib_mad *out,
			    size_t *out_len, u16 *out_pkey_index)
{
	const struct cairn_mad *mad = (const struct cairn_mad *)in;
	struct cairn_dev *dev = to_cairn_dev(ibdev);
	struct cairn_peer_caps caps;
	union ib_gid from = {};

	if (!wc)
		return cairn_pma_get(dev, in, out);
	switch (cairn_mad_kind(mad)) {
	case CAIRN_MAD_QUESTION:
		cairn_nic_count(&dev->nic, CAIRN_CTR_PEER_QUESTIONS, 1);
		peer_caps(&caps);
		cairn_mad_answer((struct cairn_mad *)out, mad, &caps);
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	case CAIRN_MAD_ANSWER:
		if (peer_source(wc, grh, &from))
			memset(&from, 0, sizeof(from));
		peer_answered(dev, mad, &from);
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}

/* --- questions ------------------------------------------------------------- */

static void peer_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	struct peer_query *query = wc->send_buf->context[0];

	query->status = wc->status;
	peer_wake(query);
	complete(&query->sent);
}

/* Answers are handled in process_mad. Datagrams that arrive here are of another class,
 * and have this agent's number by chance or by intent.
 */
static void peer_drop_answer(struct ib_mad_agent *agent,
			     struct ib_mad_send_buf *buf,
			     struct ib_mad_recv_wc *wc)
{
	ib_free_recv_mad(wc);
}

/* Get the address vector of the peer of a connection. */
static int peer_way(struct cairn_qp *qp, struct rdma_ah_attr *way)
{
	u8 state = cairn_state(&qp->qpc);

	if (qp->ibqp.qp_type != IB_QPT_RC ||
	    (state != CAIRN_QP_RTR && state != CAIRN_QP_RTS))
		return -EINVAL;
	mutex_lock(&qp->cold->modify_lock);
	*way = qp->cold->attr.ah_attr;
	mutex_unlock(&qp->cold->modify_lock);
	return 0;
}

static void peer_enter(struct cairn_peers *peers, struct peer_query *query)
{
	spin_lock(&peers->list_lock);
	list_add(&query->entry, &peers->queries);
	spin_unlock(&peers->list_lock);
}

static void peer_leave(struct cairn_peers *peers, struct peer_query *query)
{
	spin_lock(&peers->list_lock);
	list_del_init(&query->entry);
	spin_unlock(&peers->list_lock);
}

/* Under the peers' lock. The agent stays registered as long as one of its datagrams
 * exists.
 */
static struct ib_mad_send_buf *peer_build(struct ib_mad_agent *agent,
					  struct peer_query *query,
					  struct rdma_ah_attr *way)
{
	struct ib_mad_send_buf *buf;
	struct ib_ah *ah;

	if (!agent)
		return ERR_PTR(-ENODEV);
	ah = rdma_create_ah(agent->qp->pd, way, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah))
		return ERR_CAST(ah);
	buf = ib_create_send_mad(agent, 1, 0, 0, IB_MGMT_VENDOR_HDR,
				 IB_MGMT_VENDOR_DATA, GFP_KERNEL,
				 IB_MGMT_BASE_VERSION);
	if (IS_ERR(buf)) {
		rdma_destroy_ah(ah, RDMA_DESTROY_AH_SLEEPABLE);
		return buf;
	}
	cairn_mad_ask(buf->mad, query->tid);
	buf->ah = ah;
	buf->context[0] = query;
	return buf;
}

static void peer_drop(struct ib_mad_send_buf *buf)
{
	rdma_destroy_ah(buf->ah, RDMA_DESTROY_AH_SLEEPABLE);
	ib_free_send_mad(buf);
}

static struct ib_mad_send_buf *peer_ask(struct cairn_peers *peers,
					struct peer_query *query,
					struct rdma_ah_attr *way,
					u32 timeout_ms)
{
	struct ib_mad_send_buf *buf;
	int err;

	down_read(&peers->lock);
	buf = peer_build(peers->agent, query, way);
	up_read(&peers->lock);
	if (IS_ERR(buf))
		return buf;
	buf->timeout_ms = DIV_ROUND_UP(timeout_ms, PEER_TRIES);
	buf->retries = PEER_TRIES - 1;
	err = ib_post_send_mad(buf, NULL);
	if (err) {
		peer_drop(buf);
		return ERR_PTR(err);
	}
	return buf;
}

/* The result of a question that ib_mad does not use any more. */
static int peer_outcome(const struct peer_query *query)
{
	if (query->err != -ETIMEDOUT)
		return query->err;
	switch (query->status) {
	case IB_WC_RESP_TIMEOUT_ERR:
		return -ETIMEDOUT;
	case IB_WC_WR_FLUSH_ERR:
		return -ENODEV;
	default:
		return -EIO;
	}
}

static int peer_wait(struct peer_query *query, struct ib_mad_send_buf *buf)
{
	int killed = wait_for_completion_killable(&query->wake);

	/* Does nothing if ib_mad does not use the datagram any more. */
	ib_cancel_mad(buf);
	wait_for_completion(&query->sent);
	peer_drop(buf);
	return killed ? -EINTR : peer_outcome(query);
}

/* Ask. @query is zeroed, except for its work. Return: for peer_end(), or an error. */
static struct ib_mad_send_buf *peer_begin(struct cairn_dev *dev,
					  struct peer_query *query,
					  struct rdma_ah_attr *way,
					  u32 timeout_ms)
{
	struct ib_mad_send_buf *buf;

	query->err = -ETIMEDOUT;
	init_completion(&query->wake);
	init_completion(&query->sent);
	get_random_bytes(&query->tid, sizeof(query->tid));
	query->from = rdma_ah_read_grh(way)->dgid;
	peer_enter(&dev->peers, query);
	cairn_nic_count(&dev->nic, CAIRN_CTR_PEER_QUERIES, 1);
	buf = peer_ask(&dev->peers, query, way, timeout_ms);
	if (IS_ERR(buf))
		peer_leave(&dev->peers, query);
	return buf;
}

/* Wait for the answer, if it has not come yet. */
static int peer_end(struct cairn_dev *dev, struct peer_query *query,
		    struct ib_mad_send_buf *buf)
{
	int err = peer_wait(query, buf);

	peer_leave(&dev->peers, query);
	return err;
}

static int peer_query_at(struct cairn_dev *dev, struct rdma_ah_attr *way,
			 struct cairn_peer_caps *caps, u32 timeout_ms)
{
	struct peer_query query = {};
	struct ib_mad_send_buf *buf;
	int err;

	buf = peer_begin(dev, &query, way, timeout_ms);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	err = peer_end(dev, &query, buf);
	*caps = query.caps;
	return err;
}

int cairn_peer_query(struct cairn_qp *qp, struct cairn_peer_caps *caps,
		     u32 timeout_ms)
{
	struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);
	struct cairn_share_user *user = qp->cold->user;
	struct rdma_ah_attr way;
	int err;

	if (!timeout_ms || timeout_ms > CAIRN_MAX_PEER_TIMEOUT)
		return -EINVAL;
	err = peer_way(qp, &way);
	if (err)
		return err;
	err = cairn_share_take(&dev->nic, CAIRN_SHARE_QUESTION, PEER_MAX_QUERIES,
			       user);
	if (err)
		return err == -ENOMEM ? -EAGAIN : err;
	err = peer_query_at(dev, &way, caps, timeout_ms);
	cairn_share_give(&dev->nic, CAIRN_SHARE_QUESTION, user);
	return err;
}

/* --- doubts ---------------------------------------------------------------- */

/* A question on behalf of a connection whose first request of a kind got no answer. Its
 * work runs twice: to ask, and when the query wakes.
 */
struct peer_doubt {
	struct work_struct work;
	struct peer_query query;
	struct ib_mad_send_buf *buf;	/* NULL: not asked yet */
	struct cairn_dev *dev;		/* a registration reference */
	struct cairn_share_user *user;	/* of the queue pair; NULL: the kernel */
	struct rdma_ah_attr way;
	u64 serial;
	u32 qpn;
};

/* Find the QP; NULL if it has been destroyed, even if its number is in use again. RCU
 * read section.
 */
static struct cairn_exec *peer_find_exec(const struct peer_doubt *doubt)
{
	struct cairn_exec *exec = cairn_table_find(&doubt->dev->nic.qp_table,
						   doubt->qpn);

	return exec && container_of(exec, struct cairn_qp,
				    exec)->cold->serial ==
		       doubt->serial ? exec : NULL;
}

/* Needs of requests that the peer knows: enum cairn_need. */
static u8 peer_able(const struct cairn_peer_caps *caps)
{
	return (caps->known ? CAIRN_NEED_PERSIST : 0) |
	       (caps->abilities & CAIRN_PEER_PERSIST_IMM ?
		CAIRN_NEED_PERSIST_IMM : 0);
}

static void peer_is_unable(const struct peer_doubt *doubt, u8 able)
{
	struct cairn_exec *exec;
	struct cairn_qp *qp;

	rcu_read_lock();
	exec = peer_find_exec(doubt);
	if (exec) {
		qp = container_of(exec, struct cairn_qp, exec);
		cairn_exec_lock(exec);
		if (!memcmp(&qp->cold->attr.ah_attr.grh.dgid, &doubt->way.grh.dgid,
			    sizeof(doubt->way.grh.dgid)))
			cairn_comp_peer_unable(exec->qpc, able);
		cairn_exec_unlock(exec);
		cairn_exec_defer(exec, CAIRN_REQ);
	}
	rcu_read_unlock();
}

static void peer_doubt_free(struct peer_doubt *doubt)
{
	cairn_share_give(&doubt->dev->nic, CAIRN_SHARE_QUESTION, doubt->user);
	ib_device_put(&doubt->dev->ibdev);
	kfree(doubt);
}

/* Return: false: no answer will come. */
static bool peer_doubt_ask(struct peer_doubt *doubt)
{
	struct ib_mad_send_buf *buf;
	bool gone;

	rcu_read_lock();
	gone = !peer_find_exec(doubt);
	rcu_read_unlock();
	if (gone)
		return false;
	buf = peer_begin(doubt->dev, &doubt->query, &doubt->way, PEER_DOUBT_MS);
	if (IS_ERR(buf))
		return false;
	doubt->buf = buf;
	return true;
}

/* A work item never runs on two CPUs at a time, so the second run sees the first one's
 * buf.
 */
static void peer_doubt_work(struct work_struct *work)
{
	struct peer_doubt *doubt = container_of(work, struct peer_doubt, work);
	const struct cairn_peer_caps *caps = &doubt->query.caps;

	if (!doubt->buf && peer_doubt_ask(doubt))
		return;
	if (doubt->buf && !peer_end(doubt->dev, &doubt->query, doubt->buf) &&
	    peer_able(caps) != CAIRN_NEEDS)
		peer_is_unable(doubt, peer_able(caps));
	peer_doubt_free(doubt);
}

/* Without memory, or beyond the limit or the share of the user, no question is asked, and
 * the request fails after its retries.
 */
void cairn_peer_doubt(struct cairn_qp *qp)
{
	struct cairn_dev *dev = to_cairn_dev(qp->ibqp.device);
	struct cairn_share_user *user = qp->cold->user;
	struct peer_doubt *doubt;

	lockdep_assert_held(&qp->exec.side[CAIRN_REQ].lock);
	if (!ib_device_try_get(&dev->ibdev))
		return;
	if (cairn_share_take_for(&dev->nic, CAIRN_SHARE_QUESTION, PEER_MAX_QUERIES,
				 user))
		goto err_device;
	doubt = kzalloc(sizeof(*doubt), GFP_ATOMIC | __GFP_NOWARN);
	if (!doubt)
		goto err_share;
	INIT_WORK(&doubt->work, peer_doubt_work);
	doubt->query.work = &doubt->work;
	doubt->dev = dev;
	doubt->user = user;
	/* ah_attr changes under both side locks only, and the caller has one of them. */
	doubt->way = qp->cold->attr.ah_attr;
	doubt->serial = qp->cold->serial;
	doubt->qpn = qp->ibqp.qp_num;
	queue_work(peer_doubts, &doubt->work);
	return;

err_share:
	cairn_share_give(&dev->nic, CAIRN_SHARE_QUESTION, user);
err_device:
	ib_device_put(&dev->ibdev);
}

/* --- devices and their agents ---------------------------------------------- */

static int peer_add_device(struct ib_device *ibdev)
{
	struct cairn_dev *dev = to_cairn_dev(ibdev);
	struct ib_mad_agent *agent;

	if (ibdev->ops.driver_id != (enum rdma_driver_id)CAIRN_DRIVER_ID)
		return -EOPNOTSUPP;
	agent = ib_register_mad_agent(ibdev, 1, IB_QPT_GSI, NULL, 0, peer_sent,
				      peer_drop_answer, NULL, 0);
	if (IS_ERR(agent))
		return PTR_ERR(agent);
	down_write(&dev->peers.lock);
	dev->peers.agent = agent;
	up_write(&dev->peers.lock);
	return 0;
}

/* Unregister the agent, which ends the open questions. */
static void peer_remove_device(struct ib_device *ibdev, void *client_data)
{
	struct cairn_peers *peers = &to_cairn_dev(ibdev)->peers;
	struct ib_mad_agent *agent;

	down_write(&peers->lock);
	agent = peers->agent;
	peers->agent = NULL;
	up_write(&peers->lock);
	ib_unregister_mad_agent(agent);
}

static struct ib_client peer_client = {
	.name = "cairn",
	.add = peer_add_device,
	.remove = peer_remove_device,
};

int cairn_peers_start(void)
{
	int err;

	peer_doubts = alloc_workqueue("cairn_peer", WQ_UNBOUND, 0);
	if (!peer_doubts)
		return -ENOMEM;
	err = ib_register_client(&peer_client);
	if (err)
		destroy_workqueue(peer_doubts);
	return err;
}

void cairn_peers_stop(void)
{
	ib_unregister_client(&peer_client);
	destroy_workqueue(peer_doubts);
}

/* --- the method ------------------------------------------------------------ */

/* Return: as cairn_peer_query(); -EINVAL: reserved bits. */
static int UVERBS_HANDLER(CAIRN_METHOD_QUERY_PEER)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = cairn_xrc_attr_qp(attrs, CAIRN_ATTR_QUERY_PEER_QP);
	struct cairn_peer_caps caps = {};
	struct cairn_query_peer req;
	int err;

	if (IS_ERR(ibqp))
		return PTR_ERR(ibqp);
	err = uverbs_copy_from(&req, attrs, CAIRN_ATTR_QUERY_PEER_IN);
	if (err)
		return err;
	if (req.reserved)
		return -EINVAL;
	err = cairn_peer_query(to_cairn_qp(ibqp), &caps, req.timeout_ms);
	if (err)
		return err;
	return uverbs_copy_to_struct_or_zero(attrs, CAIRN_ATTR_QUERY_PEER_OUT,
					     &caps, sizeof(caps));
}

DECLARE_UVERBS_NAMED_METHOD(CAIRN_METHOD_QUERY_PEER,
			    UVERBS_ATTR_IDR(CAIRN_ATTR_QUERY_PEER_QP,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(CAIRN_ATTR_QUERY_PEER_IN,
					       UVERBS_ATTR_TYPE(struct cairn_query_peer),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(CAIRN_ATTR_QUERY_PEER_OUT,
						UVERBS_ATTR_MIN_SIZE(8),
						UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(CAIRN_OBJECT_PEER,
			      &UVERBS_METHOD(CAIRN_METHOD_QUERY_PEER));

const struct uapi_definition cairn_peer_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(CAIRN_OBJECT_PEER),
	{},
};

const struct ib_device_ops cairn_peer_ops = {
	.process_mad = peer_process_mad,
};
