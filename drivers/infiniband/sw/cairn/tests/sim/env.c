// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The engine's environment on the simulated hosts. Each function checks what its
 * contract in engine/env.h promises, above all that the side that calls is
 * the side that runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <asm/byteorder.h>
#include "persist/flush.h"
#include "sim/sim.h"

static void check_turn(struct sim_qp *qp, enum cairn_side_id side,
		       const char *what)
{
	if (qp->s->run_qp != qp || qp->s->run_side != side)
		sim_fail(qp->s, "QP %u: %s outside of its side's turn",
			 qp->c.qpn, what);
}

void cairn_env_assert_held(struct cairn_qpc *qpc, enum cairn_side_id side)
{
	check_turn(to_sim_qp(qpc), side, "a call of the engine");
}

u32 cairn_env_ah_rate(struct cairn_qpc *qpc, u32 ah)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, CAIRN_REQ, "rate of an address handle");
	return ah < SIM_AHS ? qp->s->host[qp->host].ah[ah].kbps : 0;
}

/* A port may write a train of one packet from its first packet as it is. */
static void env_check_train(struct sim *sim, const struct cairn_train *train)
{
	u32 len = train->count > 1 ? train->seg : train->length;

	if (train->first.payload_len != len)
		sim_fail(sim, "a train begins with %u bytes, not with %u",
			 train->first.payload_len, len);
}

int cairn_env_emit(struct cairn_qpc *qpc, enum cairn_side_id side,
		   const struct cairn_train *train)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	int err;

	check_turn(qp, side, "emit");
	env_check_train(qp->s, train);
	if (side == CAIRN_REQ && sim_room_stuck(qp, train))
		return 0;
	err = sim_emit(qp, side, train);
	if (!err && side == CAIRN_REQ)
		sim_room_count(qp, train);
	return err;
}

u32 cairn_env_emit_messages(struct cairn_qpc *qpc, const struct cairn_train *train,
			    cairn_part_fn part)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	u32 n;

	check_turn(qp, CAIRN_REQ, "emit");
	env_check_train(qp->s, train);
	if (sim_room_stuck(qp, train))
		return train->count;
	n = sim_emit_messages(qp, train, part);
	if (n == train->count)
		sim_room_count(qp, train);
	return n;
}

int cairn_env_place(struct cairn_qpc *qpc, const struct cairn_span *to,
		    const struct cairn_pkt *pkt, u32 len)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	if (len > pkt->payload_len) {
		sim_fail(qp->s, "place of %u bytes of %u", len,
			 pkt->payload_len);
		return -EFAULT;
	}
	return sim_scatter(qp, to, sim_pkt_payload(pkt), len);
}

int cairn_env_place_words(struct cairn_qpc *qpc, const struct cairn_span *to,
			  const struct cairn_pkt *pkt,
			  struct cairn_words *words)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	if (!pkt->payload_len || words->len >= CAIRN_WORD || to->num_sge != 1 ||
	    to->offset)
		sim_fail(qp->s, "place in words, %u held, of %u bytes", words->len,
			 pkt->payload_len);
	return sim_place_words(qp, to, pkt, words);
}

int cairn_env_place_bytes(struct cairn_qpc *qpc, const struct cairn_span *to,
			  const void *buf, u32 len)
{
	return sim_scatter(to_sim_qp(qpc), to, buf, len);
}

bool cairn_env_faulting(struct cairn_qpc *qpc, enum cairn_side_id side)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, side, "faulting");
	return qp->odp[side].busy;
}

int cairn_env_check(struct cairn_qpc *qpc, u32 key, u64 va, u64 len,
		    enum cairn_access access)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	return sim_mr_at(qp, key, va, len, access) ? 0 : -EFAULT;
}

int cairn_env_check_write(struct cairn_qpc *qpc, u32 key, u64 va, u64 len,
			  u8 *durability)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	if (!sim_mr_at(qp, key, va, len, CAIRN_ACCESS_REMOTE_WRITE))
		return -EFAULT;
	*durability = sim_mr_find(qp->s, qp->host, qp->pd, key)->durability;
	return 0;
}

int cairn_env_check_atomic(struct cairn_qpc *qpc, u32 key, u64 va,
			   u8 *durability)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	if (!sim_mr_at(qp, key, va, sizeof(u64), CAIRN_ACCESS_REMOTE_ATOMIC))
		return -EFAULT;
	*durability = sim_mr_find(qp->s, qp->host, qp->pd, key)->durability;
	return 0;
}

u64 cairn_env_flush_limit(struct cairn_qpc *qpc, u32 key)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	return sim_mr_find(qp->s, qp->host, qp->pd, key)->flush_limit;
}

void cairn_env_fence(struct cairn_qpc *qpc)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, CAIRN_RESP, "fence");
	qp->s->host[qp->host].unfenced = false;
	sim_on_cpu_of(qp);
	cairn_flush_fence();
}

bool cairn_env_fence_later(struct cairn_qpc *qpc)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, CAIRN_RESP, "fence");
	if (!qp->s->plugged)
		return false;
	qp->s->host[qp->host].unfenced = true;
	return true;
}

bool cairn_env_fence_waits(struct cairn_qpc *qpc)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	return qp->s->host[qp->host].unfenced;
}

/* Zeroed memory; NULL if the scenario has none. */
static void *env_zalloc(struct sim_qp *qp, u32 n, size_t size)
{
	if (qp->no_memory || sim_alloc_fails(qp->s))
		return NULL;
	return calloc(n, size);
}

struct cairn_swr *cairn_env_more_records(struct cairn_qpc *qpc, u32 n)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, CAIRN_REQ, "more records");
	if (n > qpc->max_records)
		sim_fail(qp->s, "%u records, at most %u", n, qpc->max_records);
	if (qp->no_memory || sim_alloc_fails(qp->s))
		return NULL;
	return malloc(n * sizeof(struct cairn_swr));
}

void cairn_env_drop_records(struct cairn_qpc *qpc, struct cairn_swr *swr)
{
	free(swr);
}

struct cairn_rdres *cairn_env_rd_alloc(struct cairn_qpc *qpc)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, CAIRN_RESP, "allocation");
	if (qpc->resp.replay.res)
		sim_fail(qp->s, "responder resources allocated twice");
	return env_zalloc(qp, qpc->resp.replay.mask + 1,
			  sizeof(struct cairn_rdres));
}

struct cairn_pending *cairn_env_pending_alloc(struct cairn_qpc *qpc)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, CAIRN_RESP, "allocation");
	if (qpc->resp.persist.pend)
		sim_fail(qp->s, "pending messages allocated twice");
	return env_zalloc(qp, CAIRN_MAX_PENDING,
			  sizeof(struct cairn_pending));
}

bool cairn_env_late(struct cairn_qpc *qpc, u64 since, u64 now)
{
	return to_sim_qp(qpc)->s->busy_until > now;
}

void cairn_env_ask_peer(struct cairn_qpc *qpc)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, CAIRN_REQ, "question");
	/* once for each need */
	if (++qp->peer_asked > __builtin_popcount(qpc->req.persist.doubted))
		sim_fail(qp->s, "the peer is asked twice");
}

u32 cairn_env_random(struct cairn_qpc *qpc)
{
	return (u32)sim_rand(&to_sim_qp(qpc)->s->rand);
}

int cairn_env_atomic(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		     u64 *orig, bool writeback)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim_mr *mr;
	u8 *bytes = sim_mr_at(qp, pkt->rkey, pkt->va, sizeof(u64),
			      CAIRN_ACCESS_REMOTE_ATOMIC);
	u64 v;
	int err;

	if (pkt->va & 7)
		sim_fail(qp->s, "atomic at a misaligned address");
	if (!bytes)
		return -EFAULT;
	mr = sim_mr_find(qp->s, qp->host, qp->pd, pkt->rkey);
	err = sim_odp_find(qp, CAIRN_RESP, pkt->rkey, pkt->va, sizeof(v));
	if (err)
		return err;
	memcpy(&v, bytes, sizeof(v));
	*orig = v;
	if ((pkt->opcode & CAIRN_BTH_OP_MASK) == CAIRN_BTH_FETCH_ADD)
		v += pkt->swap_add;
	else if (v == pkt->compare)
		v = pkt->swap_add;
	memcpy(bytes, &v, sizeof(v));
	qp->atomics++;
	if (writeback)
		sim_writeback(qp, mr, bytes - mr->mem, sizeof(u64));
	return 0;
}

int cairn_env_store(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		    enum cairn_access access)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	u8 *bytes = sim_mr_at(qp, pkt->rkey, pkt->va, sizeof(u64), access);
	struct sim_mr *mr;
	int err;

	check_turn(qp, CAIRN_RESP, "store");
	if (pkt->va & 7 || pkt->payload_len != sizeof(u64))
		sim_fail(qp->s, "store of %u bytes at %llx", pkt->payload_len,
			 pkt->va);
	if (!bytes)
		return -EFAULT;
	err = sim_odp_find(qp, CAIRN_RESP, pkt->rkey, pkt->va, sizeof(u64));
	if (err)
		return err;
	memcpy(bytes, sim_pkt_payload(pkt), sizeof(u64));
	qp->atomics++;
	mr = sim_mr_find(qp->s, qp->host, qp->pd, pkt->rkey);
	if (access == CAIRN_ACCESS_REMOTE_PERSIST)
		sim_writeback(qp, mr, bytes - mr->mem, sizeof(u64));
	return 0;
}

int cairn_env_region(struct cairn_qpc *qpc, u32 key, u64 *va, u64 *len)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim_mr *mr = sim_mr_find(qp->s, qp->host, qp->pd, key);

	if (!mr)
		return -EFAULT;
	*va = mr->va;
	*len = mr->len;
	return 0;
}

int cairn_env_writeback(struct cairn_qpc *qpc, u32 key, u64 va, u32 len)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	u8 *bytes = sim_mr_at(qp, key, va, len, CAIRN_ACCESS_FLUSH_PERSISTENT);
	struct sim_mr *mr = sim_mr_find(qp->s, qp->host, qp->pd, key);

	check_turn(qp, CAIRN_RESP, "write-back");
	if (!len || len > 65536)
		sim_fail(qp->s, "write-back of %u bytes at once", len);
	if (!bytes)
		return -EFAULT;
	sim_writeback(qp, mr, bytes - mr->mem, len);
	return 0;
}

static void inval_ends(struct sim *sim, void *arg)
{
	struct sim_qp *qp = arg;
	enum cairn_side_id side;

	for (side = 0; side < CAIRN_SIDES; side++)
		if (qp->inval_end[side] == sim->now)
			cairn_env_kick(&qp->c, side);
}

/* Every second invalidation has to wait for an access that is in progress. */
static int begin_inval(struct sim_qp *qp, enum cairn_side_id side)
{
	struct sim *sim = qp->s;

	if (qp->inval_end[side] > sim->now)
		sim_fail(sim, "an invalidation before the last one is over");
	if (sim_chance(&sim->rand, 500))
		return 0;
	qp->inval_end[side] = sim->now + 1 + sim_below(&sim->rand, 20000);
	qp->invals++;
	sim_at(sim, qp->inval_end[side], inval_ends, qp);
	return -EINPROGRESS;
}

int cairn_env_invalidate(struct cairn_qpc *qpc, u32 rkey)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim_mr *mr = sim_mr_find(qp->s, qp->host, qp->pd, rkey);

	if (!mr || !mr->remote_inv)
		return -EFAULT;
	mr->valid = false;
	return begin_inval(qp, CAIRN_RESP);
}

bool cairn_env_invalidated(struct cairn_qpc *qpc, enum cairn_side_id side)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, side, "invalidation");
	return qp->s->now >= qp->inval_end[side];
}

static struct sim_qp *token_owner(struct sim_qp *qp, u64 token)
{
	struct sim *sim = qp->s;
	u32 i;

	for (i = 0; i < sim->qps; i++)
		if (sim->qp[i]->c.qpn == (token >> 8 & CAIRN_24BIT_MASK) &&
		    sim->qp[i]->host == qp->host)
			return sim->qp[i];
	return NULL;
}

/* The lock of the responder is taken within the requester's run. */
static int release_within(struct sim_qp *qp, struct sim_qp *to, u64 token, u32 status)
{
	struct sim *sim = qp->s;
	int err;

	sim->run_qp = to;
	sim->run_side = CAIRN_RESP;
	err = cairn_resp_release(&to->c, token, status);
	sim->run_qp = qp;
	sim->run_side = CAIRN_REQ;
	if (to == qp)
		sim->before.resp = qp->c.resp;
	cairn_env_kick(&to->c, CAIRN_RESP);
	return err;
}

/* The queue pairs of a host are those of one context. */
static int persist_done(struct sim_qp *qp, const struct cairn_send_wqe *wqe)
{
	const u64 *tokens = cairn_wqe_tokens(wqe);
	u32 i, refused = 0;

	for (i = 0; i < wqe->inline_len / sizeof(*tokens); i++) {
		struct sim_qp *to = token_owner(qp, tokens[i]);

		if (!to || release_within(qp, to, tokens[i], wqe->imm_or_key))
			refused++;
	}
	return refused ? -ENOENT : 0;
}

/* LOCAL_INV invalidates a key; REG_MR and BIND_MW make an invalidated one valid again. */
int cairn_env_local(struct cairn_qpc *qpc, const struct cairn_send_wqe *wqe)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim_host *host = &qp->s->host[qp->host];
	u32 n = (wqe->imm_or_key >> 8) - 1;
	bool valid = wqe->opcode != CAIRN_WQE_LOCAL_INV;

	check_turn(qp, CAIRN_REQ, "local operation");
	if (wqe->opcode == CAIRN_WQE_PERSIST_DONE)
		return persist_done(qp, wqe);
	if (n >= host->mrs || host->mr[n]->key != wqe->imm_or_key ||
	    (host->mr[n]->valid == valid && !host->mr[n]->rebind))
		return -EINVAL;
	host->mr[n]->valid = valid;
	return valid ? 0 : begin_inval(qp, CAIRN_REQ);
}

void cairn_env_grh(const struct cairn_pkt *pkt, u8 *grh)
{
	memset(grh, 0xee, 20);
	memcpy(grh + 20, sim_pkt_ip(pkt), 20);
}

u16 cairn_env_grh_flags(const struct cairn_pkt *pkt, u16 *vlan)
{
	return CAIRN_CQE_GRH | CAIRN_CQE_IPV4;
}

int cairn_env_hold(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, CAIRN_RESP, "hold");
	return sim_hold(qp, pkt);
}

int cairn_env_held(struct cairn_qpc *qpc, u32 psn, struct cairn_pkt *pkt)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, CAIRN_RESP, "held");
	return sim_held(qp, psn, pkt);
}

void cairn_env_drop_held(struct cairn_qpc *qpc)
{
	sim_drop_held(to_sim_qp(qpc));
}

int cairn_env_sq_tail(struct cairn_qpc *qpc, u32 *tail)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim *sim = qp->s;
	struct cairn_qi_range range = {
		.read = qpc->req.sq_done,
		.depth = qpc->sq_depth,
		.known = qpc->req.sq_next,
	};
	struct cairn_qi_told told = { qp->sq_tail, qp->rung };
	int ret;

	check_turn(qp, CAIRN_REQ, "write pointer");
	/* another queue evicts the entry */
	if (!(++sim->qi_looks % 7))
		cairn_qicache_drop(&sim->qicache, qpc->qpn);
	if (cairn_qicache_seen(&sim->qicache, qpc->qpn, &range, tail)) {
		cairn_env_count(qpc, CAIRN_CTR_QINFO_HITS, 1);
		return 0;
	}
	cairn_env_count(qpc, CAIRN_CTR_QINFO_MISSES, 1);
	qp->rung.valid = false;
	ret = cairn_qicache_newest(&sim->qicache, qpc->qpn, &range, told, tail);
	return min(ret, 0);
}

/* A host that writes while the device reads: change a random byte of the ring. */
static void env_scribble(struct sim_qp *qp)
{
	struct sim *sim = qp->s;

	if (sim_chance(&sim->rand, 300))
		qp->sq[sim_below(&sim->rand, qp->c.sq_depth * CAIRN_UNIT_SIZE)] =
			(u8)sim_rand(&sim->rand);
}

void cairn_env_sq_copy(struct cairn_qpc *qpc, u32 idx, u32 units, void *buf)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	u32 i;

	check_turn(qp, CAIRN_REQ, "ring copy");
	if (!units || units > CAIRN_AHEAD_UNITS)
		sim_fail(qp->s, "copy of %u units", units);
	qp->copies++;
	qp->copied += units;
	if (!qp->hostile && (idx - qp->sq_head >= qpc->sq_depth ||
			     idx - qp->sq_head + units >
			     qp->sq_tail - qp->sq_head))
		sim_fail(qp->s, "copy of units %u..%u, posted are %u..%u", idx,
			 idx + units, qp->sq_head, qp->sq_tail);
	for (i = 0; i < units; i++)
		memcpy((u8 *)buf + i * CAIRN_UNIT_SIZE,
		       sim_unit(qp->sq, qpc->sq_depth, idx + i),
		       CAIRN_UNIT_SIZE);
	if (qp->mutate)
		env_scribble(qp);
}

/* No lock is needed, and the calls have no visible effect. */
void cairn_env_prefetch(struct cairn_qpc *qpc, enum cairn_side_id side)
{
}

void cairn_env_sq_prefetch(struct cairn_qpc *qpc, u32 idx)
{
}

void cairn_env_sq_prefetch_release(struct cairn_qpc *qpc)
{
}

void cairn_env_sq_release(struct cairn_qpc *qpc, u32 idx)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	u32 n = idx - qp->sq_head, i;

	check_turn(qp, CAIRN_REQ, "ring release");
	if (!qp->hostile && n > qp->sq_tail - qp->sq_head) {
		sim_fail(qp->s, "QP %u: release to %u, posted are %u..%u",
			 qpc->qpn, idx, qp->sq_head, qp->sq_tail);
		return;
	}
	/* free units must not be read */
	for (i = 0; !qp->hostile && i < n; i++)
		memset(sim_unit(qp->sq, qpc->sq_depth, qp->sq_head + i), 0xdb,
		       CAIRN_UNIT_SIZE);
	qp->sq_head = idx;
}

int cairn_env_rq_take(struct cairn_qpc *qpc, void *buf)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim_rq *rq = qp->rq;
	u32 posted = rq->tail - rq->head, i;

	if (qp->s->run_qp != qp)
		sim_fail(qp->s, "receive taken outside of a turn");
	if (posted > rq->depth)
		return -EINVAL;
	if (posted < rq->stride)
		return 0;
	for (i = 0; i < rq->stride; i++) {
		u8 *unit = sim_unit(rq->ring, rq->depth, rq->head + i);

		memcpy((u8 *)buf + i * CAIRN_UNIT_SIZE, unit, CAIRN_UNIT_SIZE);
		memset(unit, 0xdb, CAIRN_UNIT_SIZE);
	}
	rq->head += rq->stride;
	return rq->stride;
}

void cairn_env_rq_starved(struct cairn_qpc *qpc)
{
	to_sim_qp(qpc)->rq->starved++;
}

int cairn_env_take_srq(struct cairn_qpc *qpc, u32 srqn)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim_xsrq *xsrq;

	check_turn(qp, CAIRN_RESP, "SRQ");
	if (!srqn || srqn > SIM_XSRQS)
		return -ENOENT;
	xsrq = &qp->s->host[qp->host].xsrq[srqn - 1];
	if (!xsrq->rq)
		return -ENOENT;
	qp->rq = xsrq->rq;
	qp->pd = xsrq->pd;
	return 0;
}

int cairn_env_rq_posted(struct cairn_qpc *qpc)
{
	struct sim_rq *rq = to_sim_qp(qpc)->rq;

	if (qpc->has_srq)
		return -1;
	return rq->tail - rq->head > rq->depth ? 0 :
	       (rq->tail - rq->head) / rq->stride;
}

void cairn_env_started(struct cairn_qpc *qpc, const struct cairn_swr *swr)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	check_turn(qp, CAIRN_REQ, "start");
	qp->started++;
}

static bool cq_is_full(struct sim_qp *qp, struct sim_cq *cq)
{
	u8 state = READ_ONCE(qp->c.state);

	if (!cq->depth || cq->n - cq->polled < cq->depth)
		return false;
	cq->wanted = true;
	if (state != CAIRN_QP_ERR && state != CAIRN_QP_SQE)
		cq->overruns++;
	return true;
}

void sim_poll(struct sim_qp *qp, enum cairn_side_id side, u32 n)
{
	struct sim_cq *cq = &qp->cq[side];

	cq->polled += min(n, cq->n - cq->polled);
	if (!cq->wanted || cq->n - cq->polled == cq->depth)
		return;
	cq->wanted = false;
	cairn_env_kick(&qp->c, CAIRN_REQ);
	cairn_env_kick(&qp->c, CAIRN_RESP);
}

bool cairn_env_complete(struct cairn_qpc *qpc, enum cairn_side_id side,
			const struct cairn_cqe *cqe)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim_cq *cq = &qp->cq[side];

	check_turn(qp, cqe->opcode == CAIRN_CQE_RECV_DURABLE ? CAIRN_REQ : side,
		   "completion");
	if (cq_is_full(qp, cq))
		return false;
	qp->s->most_cqes = max(qp->s->most_cqes, ++qp->s->run_cqes);
	if (cq->n == cq->room) {
		cq->room = cq->room ? 2 * cq->room : 64;
		cq->log = realloc(cq->log, cq->room * sizeof(*cq->log));
	}
	cq->log[cq->n++] = (struct sim_cqe){ *cqe, qp->s->now };
	sim_trace(qp, "%s completion %llu status %u",
		  side == CAIRN_REQ ? "send" : "receive",
		  (unsigned long long)cqe->wr_id, cqe->status);
	if ((cqe->opcode == CAIRN_CQE_LOCAL_INV ||
	     cqe->flags & CAIRN_CQE_WITH_INV) && !cqe->status &&
	    qp->s->now < qp->inval_end[side])
		sim_fail(qp->s, "completion before the invalidation is over");
	if (cqe->qpn != qpc->qpn)
		sim_fail(qp->s, "completion names QP %u, not %u", cqe->qpn,
			 qpc->qpn);
	if (qp->hooks.cqe)
		qp->hooks.cqe(qp, side, cqe);
	return true;
}

void cairn_env_tally(struct cairn_qpc *qpc, enum cairn_tally kind, bool failed)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	int bit = sim_tally(kind);

	if (!(kind & CAIRN_TALLIES) || kind & (kind - 1) ||
	    !(kind & qpc->tallied)) {
		sim_fail(qp->s, "tally of %#x, with %#x attached", kind,
			 qpc->tallied);
		return;
	}
	if (kind == CAIRN_TALLY_RECV &&
	    qp->tally_done[bit] + qp->tally_failed[bit] >=
		    qp->cq[CAIRN_RESP].n)
		sim_fail(qp->s, "a receive counts before its completion");
	if (kind == CAIRN_TALLY_REMOTE_WRITE &&
	    (qpc->resp.persist.fence_due || qp->s->host[qp->host].unfenced))
		sim_fail(qp->s, "a WRITE counts before the fence");
	if (failed)
		qp->tally_failed[bit]++;
	else
		qp->tally_done[bit]++;
}

void cairn_env_rq_ring_on_post(struct cairn_qpc *qpc)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	if (READ_ONCE(qpc->state) != CAIRN_QP_ERR)
		sim_fail(qp->s, "rings wanted in state %u", qpc->state);
	qp->rq_rings = true;
}

void cairn_env_async(struct cairn_qpc *qpc, enum cairn_async event)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	if (qp->asyncs < SIM_ASYNCS)
		qp->async[qp->asyncs++] = event;
}

static void run_kick(struct sim_qp *qp, enum cairn_side_id side)
{
	qp->kicked[side] = false;
	sim_turn(qp, side);
}

static void kick_req(struct sim *sim, void *qp)
{
	run_kick(qp, CAIRN_REQ);
}

static void kick_resp(struct sim *sim, void *qp)
{
	run_kick(qp, CAIRN_RESP);
}

void cairn_env_kick(struct cairn_qpc *qpc, enum cairn_side_id side)
{
	struct sim_qp *qp = to_sim_qp(qpc);
	struct sim *sim = qp->s;

	qp->kicks[side]++;
	if (qp->kicked[side])
		return;
	qp->kicked[side] = true;
	sim_at(sim, sim->now + sim_below(&sim->rand, 1000),
	       side == CAIRN_REQ ? kick_req : kick_resp, qp);
}

void cairn_env_count(struct cairn_qpc *qpc, enum cairn_counter c, u32 n)
{
	struct sim_qp *qp = to_sim_qp(qpc);

	qp->count[c] += n;
	qp->s->count[c] += n;
}
