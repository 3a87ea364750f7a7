/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Set-up that the tests of WRITE_PERSIST share. */
#ifndef CAIRN_TESTS_PERSIST_H
#define CAIRN_TESTS_PERSIST_H

#include "engine/comp_ack.h"
#include "engine.h"

#define PMTU		1024
#define LONG_TIME	(20 * SIM_SEC)
#define WRAP		6

/* Another region at b. */
static inline struct sim_mr *persist_region(const struct rig *rig, enum cairn_persist how)
{
	return sim_mr_persistent(rig->s, 1, RIG_LEN, SIM_ALL, how);
}

/* A rig whose region at b is persistent. Its PSNs wrap after some packets, another
 * number each time.
 */
static inline struct rig persist_rig_with(enum cairn_persist how,
				   const struct cairn_qp_attrs *attrs)
{
	static u64 rigs;
	struct rig rig = rig_of(pair_near(++rigs, &sim_rc, attrs, WRAP, false));

	rig.mb = persist_region(&rig, how);
	return rig;
}

static inline struct rig persist_rig(enum cairn_persist how)
{
	return persist_rig_with(how, &sim_attrs);
}

/* Post WRITE_PERSIST number @id: @len bytes at @off of both regions. */
static inline void persist_at(const struct rig *rig, u64 id, u32 off, u32 len, u8 flags)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, CAIRN_WQE_WRITE_PERSIST, len);

	sge.addr += off;
	wr.wr_id = id;
	wr.remote_addr += off;
	wr.flags |= flags;
	sim_post_send(rig->a, &wr);
}

static inline void persist_first(const struct rig *rig, u64 id, u32 len)
{
	persist_at(rig, id, 0, len, 0);
}

static inline void empty_recvs(struct sim_qp *qp, u64 first, u32 n)
{
	while (n--)
		sim_post_recv(qp, first++, NULL, 0);
}

/* The @n-th receive completion of @qp. */
static inline const struct cairn_cqe *recv_cqe(const struct sim_qp *qp, u32 n)
{
	static const struct cairn_cqe none;

	if (n < qp->cq[CAIRN_RESP].n)
		return &qp->cq[CAIRN_RESP].log[n].cqe;
	ktap_fail("%u receive completions", qp->cq[CAIRN_RESP].n);
	return &none;
}

/* The host at b makes the range durable, then releases the token. */
static inline int persist_release(const struct rig *rig, u32 n, u32 status)
{
	const struct cairn_cqe *cqe = recv_cqe(rig->b, n);

	ktap_eq(cqe->opcode, CAIRN_CQE_RECV_PERSIST);
	if (!status)
		sim_make_durable(rig->s, rig->mb, cqe->persist_va - rig->mb->va,
				 cqe->byte_len);
	return sim_release(rig->b, cqe->persist_token, status);
}

/* The same with success, which ends all that has been posted. */
static inline void persist_finish(const struct rig *rig, u32 n)
{
	ktap_eq(persist_release(rig, n, 0), 0);
	ktap_ok(sim_run(rig->s, SIM_SEC));
}

static inline bool is_durable(const struct rig *rig, u32 off, u32 len)
{
	return !memcmp(rig->mb->shadow + off, rig->ma->mem + off, len);
}

static inline u32 persist_acks(const struct rig *rig)
{
	return sent_kind(rig->b, 0, CAIRN_KIND_PERSIST_ACK);
}

static inline u32 persist_requests(const struct rig *rig)
{
	return sent_kind(rig->a, 0, CAIRN_KIND_WRITE_PERSIST);
}

static inline u32 send_cqes(const struct rig *rig)
{
	return rig->a->cq[CAIRN_REQ].n;
}

static inline u32 psn_of(const struct rig *rig, u32 n)
{
	return cairn_psn_add(rig->a->psn, n);
}

/* The first packet of a message has arrived, and its last one finds no receive. */
static inline void expect_no_receive(const struct rig *rig)
{
	ktap_ok(rig->b->count[CAIRN_CTR_RNR_NAKS_SENT] > 0);
	ktap_eq(rig->b->c.resp.msn, 0);
	ktap_eq(rig->b->c.resp.epsn, psn_of(rig, 1));
}

/* The answer to the question of @qp: which of CAIRN_NEEDS the peer knows. */
static inline void persist_peer_knows(struct sim_qp *qp, u8 able)
{
	sim_enter(qp, CAIRN_REQ);
	cairn_comp_peer_unable(&qp->c, able);
	sim_leave(qp);
	cairn_env_kick(&qp->c, CAIRN_REQ);
}

/* The peer is asked at the first timeout, and knows only @able: the second of three
 * requests fails.
 */
static inline void expect_peer_lacks(const struct rig *rig, u8 able)
{
	ktap_ok(sim_run_until(rig->s, LONG_TIME, &rig->a->peer_asked));
	ktap_eq(rig->a->count[CAIRN_CTR_ACK_TIMEOUTS], 1);
	expect_cqe(rig->a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	persist_peer_knows(rig->a, able);
	sim_run(rig->s, SIM_SEC);
	expect_cqe(rig->a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_INV_REQ_ERR);
	expect_cqe(rig->a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig->a->c.state, CAIRN_QP_ERR);
	ktap_eq(rig->a->count[CAIRN_CTR_RETRY_EXCEEDED], 0);
}

/* Every answer of b that leaves looks at the shadow. */
struct watch {
	struct sim_mr *mb;
	const u8 *want;
	u32 off, len;
	u32 from;	/* PSN that an answer must reach to speak of it */
	u32 early;	/* answers that left too early */
	u32 drop;	/* persistence ACKs to lose */
	u32 answers;
};

static inline enum sim_fate watch_emit(struct sim_qp *qp, enum cairn_side_id side,
				const struct cairn_pkt *pkt)
{
	struct watch *watch = qp->hooks.arg;
	u8 type = pkt->syndrome & CAIRN_AETH_TYPE_MASK;
	/* a NAK speaks of the packets before its own */
	u32 first = cairn_psn_add(watch->from, pkt->op->kind == CAIRN_KIND_ACK && type);

	if (side != CAIRN_RESP)
		return SIM_PASS;
	if (watch->len && cairn_psn_diff(pkt->psn, first) >= 0) {
		watch->answers++;
		if (memcmp(watch->mb->shadow + watch->off, watch->want, watch->len))
			watch->early++;
	}
	if (pkt->op->kind == CAIRN_KIND_PERSIST_ACK && watch->drop) {
		watch->drop--;
		return SIM_DROP;
	}
	return SIM_PASS;
}

static inline void persist_watch(const struct rig *rig, struct watch *watched, u32 off, u32 len,
		  u32 from)
{
	*watched = (struct watch){
		.mb = rig->mb, .want = rig->ma->mem + off, .off = off, .len = len,
		.from = psn_of(rig, from),
	};
	rig->b->hooks.arg = watched;
	rig->b->hooks.emit = watch_emit;
}

#endif
