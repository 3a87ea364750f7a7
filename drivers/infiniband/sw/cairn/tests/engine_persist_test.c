// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WRITE_PERSIST, rule by rule (Documentation/wire.rst): who may say what before
 * a message is durable, completion modes, probes, tokens.
 */
#include <errno.h>
#include "engine.h"

#define PMTU		1024
#define LONG_TIME	(20 * SIM_SEC)

/* A rig whose region at b is persistent. */
static struct rig persist_rig_with(enum cairn_persist how,
				   const struct cairn_qp_attrs *attrs)
{
	struct rig r = rig_with(1, &sim_rc, attrs);

	r.mb = sim_mr_persistent(r.s, 1, RIG_LEN, SIM_ALL, how);
	return r;
}

static struct rig persist_rig(enum cairn_persist how)
{
	return persist_rig_with(how, &sim_attrs);
}

/* Post WRITE_PERSIST number @id: @len bytes at @off of both regions. */
static void persist_at(const struct rig *r, u64 id, u32 off, u32 len, u8 flags)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(r, &sge, CAIRN_WQE_WRITE_PERSIST, len);

	sge.addr += off;
	wr.wr_id = id;
	wr.remote_addr += off;
	wr.flags |= flags;
	sim_post_send(r->a, &wr);
}

static void persist(const struct rig *r, u64 id, u32 len)
{
	persist_at(r, id, 0, len, 0);
}

static void empty_recvs(struct sim_qp *qp, u64 first, u32 n)
{
	while (n--)
		sim_post_recv(qp, first++, NULL, 0);
}

/* The @n-th receive completion of @qp. */
static const struct cairn_cqe *recv_cqe(const struct sim_qp *qp, u32 n)
{
	static const struct cairn_cqe none;

	if (n < qp->cq[CAIRN_RESP].n)
		return &qp->cq[CAIRN_RESP].log[n].cqe;
	ktap_fail("%u receive completions", qp->cq[CAIRN_RESP].n);
	return &none;
}

/* What the host at b does: make the range durable, then say so. */
static int release(const struct rig *r, u32 n, u32 status)
{
	const struct cairn_cqe *c = recv_cqe(r->b, n);

	ktap_eq(c->opcode, CAIRN_CQE_RECV_PERSIST);
	if (!status)
		sim_writeback(r->mb, c->persist_va - r->mb->va, c->byte_len);
	sim_fence(r->s, 1);
	return sim_release(r->b, c->persist_token, status);
}

static bool is_durable(const struct rig *r, u32 off, u32 len)
{
	return !memcmp(r->mb->shadow + off, r->ma->mem + off, len);
}

static u32 persist_acks(const struct rig *r)
{
	return sent_kind(r->b, 0, CAIRN_KIND_PERSIST_ACK);
}

static u32 requests(const struct rig *r)
{
	return sent_kind(r->a, 0, CAIRN_KIND_WRITE_PERSIST);
}

static u32 send_cqes(const struct rig *r)
{
	return r->a->cq[CAIRN_REQ].n;
}

static u32 psn_of(const struct rig *r, u32 n)
{
	return cairn_psn_add(r->a->psn, n);
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

static enum sim_fate watch_emit(struct sim_qp *qp, enum cairn_side_id side,
				const struct cairn_pkt *pkt)
{
	struct watch *w = qp->hooks.arg;

	if (side != CAIRN_RESP)
		return SIM_PASS;
	if (w->len && cairn_psn_diff(pkt->psn, w->from) >= 0) {
		w->answers++;
		if (memcmp(w->mb->shadow + w->off, w->want, w->len))
			w->early++;
	}
	if (pkt->op->kind == CAIRN_KIND_PERSIST_ACK && w->drop) {
		w->drop--;
		return SIM_DROP;
	}
	return SIM_PASS;
}

static void watch(const struct rig *r, struct watch *w, u32 off, u32 len,
		  u32 from)
{
	*w = (struct watch){
		.mb = r->mb, .want = r->ma->mem + off, .off = off, .len = len,
		.from = psn_of(r, from),
	};
	r->b->hooks.arg = w;
	r->b->hooks.emit = watch_emit;
}

/*
 * NIC flush.
 */

static void one_request_and_one_answer(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_NIC);
	struct watch w;

	watch(&r, &w, 13, 100, 0);
	persist_at(&r, 7, 13, 100, 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 7, CAIRN_CQE_SUCCESS);
	ktap_eq(r.a->cq[CAIRN_REQ].log[0].cqe.opcode, CAIRN_CQE_WRITE_PERSIST);
	ktap_eq(r.a->cq[CAIRN_REQ].log[0].cqe.psn, psn_of(&r, 0));
	ktap_eq(r.s->n_sent, 2);
	ktap_eq(last_sent(r.b)->opcode, CAIRN_BTH_PERSIST_ACK);
	ktap_eq(last_sent(r.b)->psn, psn_of(&r, 0));
	ktap_eq(last_sent(r.b)->msn, 1);
	ktap_eq(w.early, 0);
	ktap_ok(is_durable(&r, 13, 100));
	ktap_eq(r.b->count[CAIRN_CTR_PERSIST_FENCES], 1);
	sim_end(r.s);
}

static void every_packet_of_a_message(void)
{
	static const u32 lens[] = { PMTU - 1, PMTU, PMTU + 1, 10 * PMTU + 3 };
	u32 i, off;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		for (off = 0; off < 130; off += 43) {
			struct rig r = persist_rig(CAIRN_PERSIST_NIC);
			struct watch w;

			watch(&r, &w, off, lens[i], (lens[i] - 1) / PMTU);
			persist_at(&r, 1, off, lens[i], 0);
			ktap_ok(sim_run(r.s, SIM_SEC));
			expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
			ktap_ok(w.answers && !w.early);
			/* nothing but its lines */
			ktap_ok(!memcmp(r.mb->shadow + ALIGN(off + lens[i], 64),
					r.mb->mem + ALIGN(off + lens[i], 64),
					64));
			sim_end(r.s);
		}
	}
}

/* Persistence of one fence for what arrives together. */
static void empty_messages_are_durable_too(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_NIC);

	persist(&r, 1, 0);
	persist(&r, 2, 10);
	persist(&r, 3, 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 0);
	sim_end(r.s);
}

static void ordinary_memory_is_refused(void)
{
	struct rig r = rig_new(1);
	u8 before[100];

	memcpy(before, r.mb->mem, sizeof(before));
	persist(&r, 1, 100);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	ktap_ok(!memcmp(before, r.mb->mem, sizeof(before)));
	ktap_eq(r.b->count[CAIRN_CTR_REMOTE_ACCESS_ERRORS], 1);
	ktap_eq(r.b->c.state, CAIRN_QP_ERR);
	sim_end(r.s);
}

static void rights_count(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_NIC);

	r.mb->access &= ~(1 << CAIRN_ACCESS_REMOTE_WRITE);
	persist(&r, 1, 100);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	sim_end(r.s);
}

static void plain_write_is_persisted_too(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_NIC);
	struct watch w;

	watch(&r, &w, 0, 3000, 2);
	rig_send(&r, 1, CAIRN_WQE_WRITE, 3000);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_ok(w.answers && !w.early);
	ktap_eq(persist_acks(&r), 0);
	sim_end(r.s);
}

/* A receive that completes tells of durable memory, as a READ response does. */
static void look_at_shadow(struct sim_qp *qp, enum cairn_side_id side,
			   const struct cairn_cqe *cqe)
{
	struct watch *w = qp->hooks.arg;

	if (side == CAIRN_RESP)
		w->early += memcmp(w->mb->shadow, w->want, w->len) != 0;
}

static void completions_follow_the_fence(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE_IMM, CAIRN_WQE_SEND,
				  CAIRN_WQE_READ };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig r = persist_rig(CAIRN_PERSIST_NIC);
		struct watch w;

		watch(&r, &w, 0, 500, 0);
		r.b->hooks.cqe = look_at_shadow;
		rig_recv(&r, 1, 1024);
		if (ops[i] != CAIRN_WQE_WRITE_IMM)
			rig_send(&r, 1, CAIRN_WQE_WRITE, 500);
		rig_send(&r, 2, ops[i], 500);
		ktap_ok(sim_run(r.s, SIM_SEC));
		ktap_eq(r.a->cq[CAIRN_REQ].log[send_cqes(&r) - 1].cqe.status, 0);
		ktap_ok(w.answers && !w.early);
		sim_end(r.s);
	}
}

/*
 * Host flush.
 */

static void the_host_is_asked(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	const struct cairn_cqe *c;
	struct watch w;

	watch(&r, &w, 64, 3000, 2);
	rig_recv(&r, 9, 16);
	persist_at(&r, 1, 64, 3000, CAIRN_WQE_SOLICITED);
	sim_run(r.s, SIM_MS);
	c = recv_cqe(r.b, 0);
	expect_cqe(r.b, CAIRN_RESP, 0, 9, CAIRN_CQE_SUCCESS);
	ktap_eq(c->opcode, CAIRN_CQE_RECV_PERSIST);
	ktap_eq(c->persist_va, r.mb->va + 64);
	ktap_eq(c->byte_len, 3000);
	ktap_eq(c->psn, psn_of(&r, 2));
	ktap_eq(c->flags, CAIRN_CQE_SOLICITED);
	ktap_ok(c->persist_token != 0);
	ktap_eq(send_cqes(&r), 0);
	ktap_eq(persist_acks(&r), 0);
	w.answers = 0;
	w.early = 0;
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_ok(w.answers && !w.early);
	ktap_eq(persist_acks(&r), 1);
	ktap_eq(requests(&r), 3);
	sim_end(r.s);
}

static void no_receive_no_message(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);

	persist(&r, 1, 2 * PMTU);
	sim_run(r.s, SIM_MS);
	ktap_ok(r.b->count[CAIRN_CTR_RNR_NAKS_SENT] > 0);
	ktap_eq(r.b->c.resp.msn, 0);
	ktap_eq(r.b->c.resp.epsn, psn_of(&r, 1));
	rig_recv(&r, 1, 0);
	sim_run(r.s, SIM_MS);
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

/* Probed for long, by single last packets, and never given up. */
static void a_slow_host_is_waited_for(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	u32 i;

	rig_recv(&r, 1, 0);
	persist(&r, 1, 3 * PMTU);
	ktap_ok(!sim_run(r.s, LONG_TIME));
	ktap_eq(send_cqes(&r), 0);
	ktap_ok(r.a->count[CAIRN_CTR_PERSIST_PROBES] > 20);
	ktap_eq(requests(&r), 3 + r.a->count[CAIRN_CTR_PERSIST_PROBES]);
	ktap_eq(r.a->c.state, CAIRN_QP_RTS);
	for (i = 0; i < r.s->n_sent; i++)
		if (r.s->sent[i].qp == r.a && r.s->sent[i].retransmit)
			ktap_eq(r.s->sent[i].pkt.psn, psn_of(&r, 2));
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 1);
	sim_end(r.s);
}

static void a_lost_persist_ack_is_asked_for(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	struct watch w;

	watch(&r, &w, 0, 0, 0);
	w.drop = 3;
	empty_recvs(r.b, 1, 2);
	persist(&r, 1, 100);
	persist(&r, 2, 100);
	sim_run(r.s, SIM_MS);
	ktap_eq(release(&r, 0, 0), 0);
	ktap_eq(release(&r, 1, 0), 0);
	ktap_ok(sim_run(r.s, LONG_TIME));
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	ktap_eq(w.drop, 0);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 2);
	ktap_ok(r.a->count[CAIRN_CTR_PERSIST_PROBES] > 0);
	sim_end(r.s);
}

static void silence_ends_it(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&r, 1, 0);
	persist(&r, 1, 3 * PMTU);
	sim_run(r.s, SIM_MS);
	r.s->dead[1] = true;
	ktap_ok(sim_run(r.s, 100 * SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	ktap_eq(r.a->count[CAIRN_CTR_PERSIST_PROBES], sim_attrs.retry_cnt);
	ktap_eq(r.a->c.state, CAIRN_QP_ERR);
	sim_end(r.s);
}

static void failure_is_told(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);

	empty_recvs(r.b, 1, 3);
	persist(&r, 1, 100);
	persist(&r, 2, 100);
	persist(&r, 3, 100);
	sim_run(r.s, SIM_MS);
	ktap_eq(release(&r, 1, EIO), 0);
	sim_run(r.s, SIM_MS);
	/* in PSN order: 1 may still become durable */
	ktap_eq(send_cqes(&r), 0);
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, LONG_TIME));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(r.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_OP_ERR);
	expect_cqe(r.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(r.a->c.state, CAIRN_QP_ERR);
	ktap_eq(r.b->c.state, CAIRN_QP_ERR);
	ktap_eq(last_sent(r.b)->opcode, CAIRN_BTH_PERSIST_ACK);
	ktap_eq(last_sent(r.b)->psn, psn_of(&r, 1));
	ktap_eq(last_sent(r.b)->syndrome, CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_OP);
	ktap_eq(release(&r, 2, 0), -ENOENT);
	sim_end(r.s);
}

/* Durable in any order, acknowledged in PSN order, many by one ACK. */
static void the_watermark_keeps_the_order(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);

	empty_recvs(r.b, 1, 4);
	persist(&r, 1, 100);
	persist(&r, 2, 100);
	persist(&r, 3, 100);
	persist(&r, 4, 100);
	sim_run(r.s, SIM_MS);
	ktap_eq(release(&r, 2, 0), 0);
	ktap_eq(release(&r, 1, 0), 0);
	sim_run(r.s, SIM_MS);
	ktap_eq(persist_acks(&r), 0);
	ktap_eq(release(&r, 0, 0), 0);
	sim_run(r.s, SIM_MS);
	ktap_eq(persist_acks(&r), 1);
	ktap_eq(last_sent(r.b)->psn, psn_of(&r, 2));
	ktap_eq(last_sent(r.b)->msn, 3);
	ktap_eq(send_cqes(&r), 3);
	ktap_eq(release(&r, 3, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 4, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

static void nic_flush_behind_host_flush_waits(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	struct rig nic = r;

	nic.mb = sim_mr_persistent(r.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_NIC);
	empty_recvs(r.b, 1, 2);
	persist(&r, 1, 100);
	persist(&nic, 2, 100);
	persist(&nic, 3, 100);
	persist(&r, 4, 100);
	persist(&nic, 5, 100);
	sim_run(r.s, SIM_MS);
	ktap_eq(persist_acks(&r), 0);
	ktap_eq(release(&r, 0, 0), 0);
	sim_run(r.s, SIM_MS);
	ktap_eq(send_cqes(&r), 3);
	ktap_eq(last_sent(r.b)->psn, psn_of(&r, 2));
	ktap_eq(release(&r, 1, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 5, CAIRN_CQE_SUCCESS);
	ktap_eq(last_sent(r.b)->psn, psn_of(&r, 4));
	ktap_eq(last_sent(r.b)->msn, 5);
	sim_end(r.s);
}

/* The next messages flow; their completions wait for their turn. */
static void others_overtake_but_complete_in_order(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	struct sim_mr *plain = sim_mr(r.s, 1, RIG_LEN, SIM_ALL);
	struct rig o = r;
	u32 i;

	o.mb = plain;
	empty_recvs(r.b, 1, 1);
	persist(&r, 1, 100);
	for (i = 2; i < 40; i += 3) {
		rig_recv(&r, i, 100);
		rig_send(&o, i, CAIRN_WQE_SEND, 100);
		rig_send(&o, i + 1, CAIRN_WQE_READ, 5000);
		rig_send(&o, i + 2, CAIRN_WQE_WRITE, 5000);
	}
	sim_run(r.s, SIM_SEC);
	ktap_eq(send_cqes(&r), 0);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 14);
	ktap_eq(r.a->c.req.una, r.a->c.req.psn);
	ktap_eq(r.a->count[CAIRN_CTR_SEQ_NAKS_RECEIVED], 0);
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 40, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

static void a_fence_waits_for_durability(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&r, &sge, CAIRN_WQE_READ, 100);

	rig_recv(&r, 1, 0);
	persist(&r, 1, 100);
	wr.wr_id = 2;
	wr.flags |= CAIRN_WQE_FENCE;
	sim_post_send(r.a, &wr);
	sim_run(r.s, SIM_SEC);
	ktap_eq(sent_kind(r.a, 0, CAIRN_KIND_READ_REQ), 0);
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

static void flush_is_no_success(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&r, 1, 0);
	persist(&r, 1, 100);
	rig_send(&r, 2, CAIRN_WQE_READ, 100);
	sim_run(r.s, SIM_MS);
	sim_modify(r.a, CAIRN_QP_ERR);
	sim_run(r.s, SIM_MS);
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(release(&r, 0, 0), 0);
	sim_run(r.s, SIM_SEC);
	ktap_eq(send_cqes(&r), 2);
	sim_end(r.s);
}

/* A later request fails while an earlier one waits: the earlier is unknown. */
static void an_error_behind_it_flushes_it(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&r, &sge, CAIRN_WQE_WRITE, 100);

	rig_recv(&r, 1, 0);
	persist(&r, 1, 100);
	sim_run(r.s, SIM_MS);
	wr.wr_id = 2;
	wr.rkey ^= 1;
	sim_post_send(r.a, &wr);
	ktap_ok(sim_run(r.s, LONG_TIME));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_WR_FLUSH_ERR);
	expect_cqe(r.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_ACCESS_ERR);
	ktap_eq(release(&r, 0, 0), -ENOENT);
	sim_end(r.s);
}

static void tokens_are_bounded(void)
{
	struct sim_qp_init init = sim_rc;
	struct rig r;
	u32 i;

	init.sq_depth = 256;
	init.rq_depth = 512;
	r = rig_with(1, &init, &sim_attrs);
	r.mb = sim_mr_persistent(r.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_HOST);
	empty_recvs(r.b, 0, CAIRN_MAX_PENDING + 10);
	for (i = 0; i < CAIRN_MAX_PENDING + 10; i++)
		persist(&r, i, 100);
	sim_run(r.s, SIM_SEC);
	ktap_eq(r.b->cq[CAIRN_RESP].n, CAIRN_MAX_PENDING);
	ktap_ok(r.b->count[CAIRN_CTR_PERSIST_FULL] > 0);
	ktap_ok(r.b->count[CAIRN_CTR_RNR_NAKS_SENT] > 0);
	for (i = 0; i < CAIRN_MAX_PENDING + 10; i++) {
		ktap_eq(release(&r, i, 0), 0);
		sim_run(r.s, 10 * SIM_MS);
	}
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 0, CAIRN_MAX_PENDING + 9,
		    CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

static void no_memory_is_not_ready(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&r, 1, 0);
	r.b->no_memory = true;
	persist(&r, 1, 100);
	sim_run(r.s, SIM_MS);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 0);
	ktap_ok(r.b->count[CAIRN_CTR_RNR_NAKS_SENT] > 0);
	r.b->no_memory = false;
	sim_run(r.s, SIM_SEC);
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

static void tokens_are_good_once(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	struct sim_qp *other = sim_qp(r.s, 1, &sim_rc);
	u64 token;
	u32 bit;

	sim_to_rts(other, 0, 3, &sim_attrs, 0, 0);
	empty_recvs(r.b, 1, 2);
	persist(&r, 1, 100);
	persist(&r, 2, 100);
	sim_run(r.s, SIM_MS);
	token = recv_cqe(r.b, 0)->persist_token;
	for (bit = 0; bit < 64; bit++)
		ktap_eq(sim_release(r.b, token ^ 1ULL << bit, 0), -ENOENT);
	ktap_eq(sim_release(r.b, 0, 0), -ENOENT);
	ktap_eq(sim_release(other, token, 0), -ENOENT);
	sim_run(r.s, SIM_MS);
	ktap_eq(persist_acks(&r), 0);
	/* the second is done first, and twice, while the first waits */
	ktap_eq(release(&r, 1, 0), 0);
	ktap_eq(release(&r, 1, 0), -ENOENT);
	ktap_eq(release(&r, 1, EIO), -ENOENT);
	ktap_eq(release(&r, 0, 0), 0);
	ktap_eq(release(&r, 0, EIO), -ENOENT);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

static void tokens_die_with_the_region(void)
{
	u32 told;

	for (told = 0; told < 2; told++) {
		struct rig r = persist_rig(CAIRN_PERSIST_HOST);

		rig_recv(&r, 1, 0);
		persist(&r, 1, 100);
		sim_run(r.s, SIM_MS);
		r.mb->valid = false;
		if (told)
			sim_revoke(r.b, r.mb->key);
		ktap_eq(release(&r, 0, 0), -ENOENT);
		ktap_ok(sim_run(r.s, LONG_TIME));
		expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
		sim_end(r.s);
	}
}

static void tokens_die_with_the_queue_pair(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&r, 1, 0);
	persist(&r, 1, 100);
	sim_run(r.s, SIM_MS);
	sim_modify(r.b, CAIRN_QP_ERR);
	sim_run(r.s, SIM_MS);
	ktap_eq(release(&r, 0, 0), -ENOENT);
	ktap_ok(sim_run(r.s, 100 * SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_RETRY_EXC_ERR);
	sim_end(r.s);
}

static void a_reset_forgets_tokens(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&r, 1, 0);
	persist(&r, 1, 100);
	sim_run(r.s, SIM_MS);
	sim_reset(r.b);
	sim_reset(r.a);
	ktap_eq(release(&r, 0, 0), -ENOENT);
	sim_connect(r.a, r.b, &sim_attrs);
	rig_recv(&r, 2, 0);
	persist(&r, 2, 100);
	sim_run(r.s, SIM_MS);
	ktap_eq(send_cqes(&r), 0);
	ktap_eq(release(&r, 1, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 2, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

/*
 * Plain RDMA WRITE with host flush: nothing that leaves acknowledges it.
 */

/* One of these comes behind the WRITE, and its answer must wait. */
static void answers_wait_for_a_plain_write(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE, CAIRN_WQE_SEND,
				  CAIRN_WQE_READ, CAIRN_WQE_FAA,
				  CAIRN_WQE_WRITE_PERSIST };
	struct cairn_qp_attrs attrs = sim_attrs;
	u32 i;

	attrs.timeout = 25;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig r = persist_rig_with(CAIRN_PERSIST_HOST, &attrs);
		struct rig o = r;
		struct watch w;

		o.mb = sim_mr_persistent(r.s, 1, RIG_LEN, SIM_ALL,
					 CAIRN_PERSIST_NIC);
		watch(&r, &w, 0, 8, 1);
		empty_recvs(r.b, 1, 1);
		rig_recv(&r, 2, 100);
		rig_send(&o, 1, CAIRN_WQE_SEND, 0);
		rig_recv(&r, 3, 100);
		rig_send(&r, 2, CAIRN_WQE_WRITE, 8);
		rig_send(&o, 3, ops[i], 8);
		sim_run(r.s, 10 * SIM_MS);
		ktap_eq(w.answers, 0);
		/* what came before it is acknowledged */
		expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(send_cqes(&r), 1);
		ktap_eq(recv_cqe(r.b, 1)->opcode, CAIRN_CQE_RECV_PERSIST);
		ktap_eq(release(&r, 1, 0), 0);
		sim_run(r.s, 10 * SIM_MS);
		expect_cqes(r.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
		ktap_ok(w.answers && !w.early);
		sim_end(r.s);
	}
}

/* NAKs acknowledge what is before them, too. */
static void naks_do_not_pass_a_plain_write(void)
{
	u32 kind;

	for (kind = 0; kind < 3; kind++) {
		struct rig r = persist_rig(CAIRN_PERSIST_HOST);
		struct rig o = r;
		struct watch w;
		u32 first = psn_of(&r, 0);

		watch(&r, &w, 0, 8, 1);
		rig_recv(&r, 1, 0);
		rig_send(&r, 1, CAIRN_WQE_WRITE, 8);
		sim_run(r.s, 100 * SIM_US);
		if (kind == 0) {		/* RNR */
			rig_send(&o, 2, CAIRN_WQE_SEND, 8);
		} else if (kind == 1) {		/* a gap */
			struct cairn_pkt pkt = {
				.opcode = CAIRN_BTH_SEND_ONLY,
				.pkey = CAIRN_PKEY_DEFAULT,
				.qpn = r.b->c.qpn,
				.psn = psn_of(&r, 5),
			};

			sim_inject(r.b, &pkt, NULL);
		} else {			/* the end */
			o.mb = sim_mr(r.s, 1, 8, SIM_LOCAL);
			rig_send(&o, 2, CAIRN_WQE_WRITE, 8);
		}
		sim_run(r.s, 100 * SIM_US);
		ktap_eq(last_sent(r.b) == NULL, kind == 1);
		if (last_sent(r.b))
			ktap_eq(last_sent(r.b)->psn, first);
		ktap_eq(w.answers, 0);
		if (kind == 2)
			expect_cqe(r.a, CAIRN_REQ, 0, 1,
				   CAIRN_CQE_REM_ACCESS_ERR);
		else
			ktap_eq(send_cqes(&r), 0);
		sim_end(r.s);
	}
}

static void a_failed_plain_write_is_naked(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);

	rig_recv(&r, 1, 0);
	rig_send(&r, 1, CAIRN_WQE_WRITE, 8);
	sim_run(r.s, SIM_MS);
	ktap_eq(release(&r, 0, ENOSPC), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
	ktap_eq(last_sent(r.b)->opcode, CAIRN_BTH_ACK);
	sim_end(r.s);
}

/* One receive for both: the request to the host carries the immediate. */
static void write_with_immediate_and_host_flush(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&r, &sge, CAIRN_WQE_WRITE_IMM, 100);

	rig_recv(&r, 1, 0);
	wr.imm_or_key = 0x1234;
	sim_post_send(r.a, &wr);
	sim_run(r.s, SIM_MS);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 1);
	ktap_eq(recv_cqe(r.b, 0)->flags, CAIRN_CQE_WITH_IMM);
	ktap_eq(recv_cqe(r.b, 0)->imm_or_key, 0x1234);
	ktap_eq(send_cqes(&r), 0);
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 0, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

/*
 * Early completion.
 */

static void early_mode_tells_twice(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	const struct cairn_cqe *c;

	empty_recvs(r.b, 1, 2);
	empty_recvs(r.a, 51, 3);
	persist_at(&r, 1, 0, 3 * PMTU, CAIRN_WQE_EARLY);
	persist_at(&r, 2, 8192, 100, CAIRN_WQE_EARLY);
	rig_send(&r, 3, CAIRN_WQE_READ, 100);
	sim_run(r.s, SIM_MS);
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_eq(r.a->sq_head, r.a->sq_tail);
	ktap_eq(r.a->cq[CAIRN_RESP].n, 0);
	ktap_eq(release(&r, 1, 0), 0);
	sim_run(r.s, SIM_MS);
	ktap_eq(r.a->cq[CAIRN_RESP].n, 0);
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_RESP, 0, 51, 52, CAIRN_CQE_SUCCESS);
	ktap_eq(r.a->cq[CAIRN_RESP].n, 2);
	c = recv_cqe(r.a, 0);
	ktap_eq(c->opcode, CAIRN_CQE_RECV_DURABLE);
	ktap_eq(c->psn, psn_of(&r, 2));
	ktap_eq(c->psn, r.a->cq[CAIRN_REQ].log[0].cqe.psn);
	ktap_eq(c->persist_va, r.mb->va);
	ktap_eq(c->byte_len, 0);
	ktap_eq(recv_cqe(r.a, 1)->persist_va, r.mb->va + 8192);
	ktap_eq(recv_cqe(r.a, 1)->psn, psn_of(&r, 3));
	sim_end(r.s);
}

static void early_mode_waits_for_a_receive(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_NIC);

	persist_at(&r, 1, 0, 100, CAIRN_WQE_EARLY);
	sim_run(r.s, 50 * SIM_MS);
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_ok(r.a->count[CAIRN_CTR_PERSIST_RECV_WAITS] > 0);
	ktap_eq(r.a->cq[CAIRN_RESP].n, 0);
	empty_recvs(r.a, 5, 1);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_RESP, 0, 5, CAIRN_CQE_SUCCESS);
	ktap_eq(requests(&r), 1);
	sim_end(r.s);
}

/* The WQE and its memory are the host's again while we probe. */
static void early_probes_need_no_memory(void)
{
	u32 len;

	for (len = 100; len < 4 * PMTU; len += 2500) {
		struct rig r = persist_rig(CAIRN_PERSIST_HOST);
		struct watch w;

		watch(&r, &w, 0, 0, 0);
		w.drop = 2;
		empty_recvs(r.b, 1, 1);
		empty_recvs(r.a, 1, 1);
		persist_at(&r, 1, 0, len, CAIRN_WQE_EARLY);
		sim_run(r.s, SIM_MS);
		expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		r.ma->valid = false;
		memset(r.a->sq, 0xff, 64);
		ktap_eq(release(&r, 0, 0), 0);
		ktap_ok(sim_run(r.s, LONG_TIME));
		ktap_ok(r.a->count[CAIRN_CTR_PERSIST_PROBES] > 1);
		expect_cqe(r.a, CAIRN_RESP, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_ok(is_durable(&r, 0, len));
		sim_end(r.s);
	}
}

static void early_mode_tells_of_failure(void)
{
	u32 silent;

	for (silent = 0; silent < 2; silent++) {
		struct rig r = persist_rig(CAIRN_PERSIST_HOST);

		empty_recvs(r.b, 1, 1);
		empty_recvs(r.a, 1, 2);
		persist_at(&r, 1, 0, 100, CAIRN_WQE_EARLY);
		sim_run(r.s, SIM_MS);
		expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		if (silent)
			r.s->dead[1] = true;
		else
			ktap_eq(release(&r, 0, EIO), 0);
		ktap_ok(sim_run(r.s, 100 * SIM_SEC));
		expect_cqe(r.a, CAIRN_RESP, 0, 1, silent ?
			   CAIRN_CQE_RETRY_EXC_ERR : CAIRN_CQE_REM_OP_ERR);
		ktap_eq(recv_cqe(r.a, 0)->opcode, CAIRN_CQE_RECV_DURABLE);
		expect_cqe(r.a, CAIRN_RESP, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(r.a->c.state, CAIRN_QP_ERR);
		sim_end(r.s);
	}
}

/* Records of early ones are bounded: the queue stops, nothing is lost. */
static void early_records_are_bounded(void)
{
	struct sim_qp_init init = sim_rc;
	struct rig r;
	u32 i;

	init.sq_depth = 8;
	init.rq_depth = 64;
	r = rig_with(1, &init, &sim_attrs);
	r.mb = sim_mr_persistent(r.s, 1, RIG_LEN, SIM_ALL, CAIRN_PERSIST_HOST);
	empty_recvs(r.b, 0, 12);
	empty_recvs(r.a, 0, 12);
	for (i = 0; i < 12; i++) {
		persist_at(&r, i, 0, 10, CAIRN_WQE_EARLY);
		sim_run(r.s, SIM_MS);
	}
	ktap_eq(r.b->cq[CAIRN_RESP].n, 8);
	for (i = 0; i < 12; i++) {
		ktap_eq(release(&r, i, 0), 0);
		sim_run(r.s, SIM_MS);
	}
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 0, 11, CAIRN_CQE_SUCCESS);
	expect_cqes(r.a, CAIRN_RESP, 0, 0, 11, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

/* A send ring of another size keeps the records of what is not durable. */
static void early_records_survive_a_resize(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	u32 i;

	empty_recvs(r.b, 0, 12);
	empty_recvs(r.a, 0, 12);
	for (i = 0; i < 12; i++)
		persist_at(&r, i, 64 * i, 10, CAIRN_WQE_EARLY);
	sim_run(r.s, SIM_MS);
	expect_cqes(r.a, CAIRN_REQ, 0, 0, 11, CAIRN_CQE_SUCCESS);
	ktap_ok(!sim_resize_sq(r.a, 16, 8));
	ktap_ok(sim_resize_sq(r.a, 16, 16));
	for (i = 0; i < 6; i++)
		ktap_eq(release(&r, i, 0), 0);
	sim_run(r.s, SIM_MS);
	ktap_ok(sim_resize_sq(r.a, 256, 256));
	for (i = 6; i < 12; i++)
		ktap_eq(release(&r, i, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_RESP, 0, 0, 11, CAIRN_CQE_SUCCESS);
	for (i = 0; i < 12; i++)
		ktap_eq(recv_cqe(r.a, i)->persist_va, r.mb->va + 64 * i);
	sim_end(r.s);
}

/* SQD: drained when everything is durable and told. */
static void draining_waits_for_early_ones(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);

	empty_recvs(r.b, 1, 1);
	empty_recvs(r.a, 1, 1);
	persist_at(&r, 1, 0, 100, CAIRN_WQE_EARLY);
	sim_run(r.s, SIM_MS);
	sim_modify(r.a, CAIRN_QP_SQD);
	sim_run(r.s, 100 * SIM_MS);
	ktap_eq(sim_async_count(r.a, CAIRN_ASYNC_SQ_DRAINED), 0);
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	ktap_eq(sim_async_count(r.a, CAIRN_ASYNC_SQ_DRAINED), 1);
	ktap_eq(r.a->cq[CAIRN_RESP].n, 1);
	sim_end(r.s);
}

/*
 * Packets by hand.
 */

struct script {
	u8 opcode;
	u32 len, dma_len, off;
};

static void get(struct rig *r, u32 n, struct script q)
{
	struct cairn_pkt pkt = {
		.opcode = q.opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = r->b->c.qpn,
		.psn = psn_of(r, n),
		.ack_req = true,
		.payload_len = q.len,
		.va = r->mb->va + q.off,
		.rkey = r->mb->key,
		.dma_len = q.dma_len,
	};

	sim_inject(r->b, &pkt, r->ma->mem + q.off);
	sim_run(r->s, 2 * SIM_US);
}

static struct rig scripted(enum cairn_persist how)
{
	struct rig r = persist_rig(how);

	r.s->dead[0] = true;
	return r;
}

static void expect_answer(const struct rig *r, u8 opcode, u32 n)
{
	const struct cairn_pkt *p = last_sent(r->b);

	if (!p || p->opcode != opcode || p->psn != psn_of(r, n) ||
	    p->syndrome & CAIRN_AETH_TYPE_MASK)
		ktap_fail("last answer is %02x syndrome %02x PSN %d, not %02x %u",
			  p ? p->opcode : 0, p ? p->syndrome : 0,
			  p ? cairn_psn_diff(p->psn, r->a->psn) : 0, opcode, n);
}

#define WP_ONLY(l)	((struct script){ CAIRN_BTH_WRITE_PERSIST_ONLY, l, l })

static void duplicates_follow_the_watermark(void)
{
	struct rig r = scripted(CAIRN_PERSIST_HOST);

	empty_recvs(r.b, 1, 3);
	get(&r, 0, WP_ONLY(10));
	expect_answer(&r, CAIRN_BTH_ACK, 0);
	get(&r, 1, (struct script){ CAIRN_BTH_SEND_ONLY });
	get(&r, 2, WP_ONLY(10));
	expect_answer(&r, CAIRN_BTH_ACK, 2);
	r.ma->mem[0] ^= 1;
	get(&r, 0, WP_ONLY(10));		/* not durable */
	expect_answer(&r, CAIRN_BTH_ACK, 2);
	ktap_ok(r.mb->mem[0] != r.ma->mem[0]);
	ktap_eq(release(&r, 0, 0), 0);
	sim_run(r.s, SIM_MS);
	expect_answer(&r, CAIRN_BTH_PERSIST_ACK, 0);
	ktap_eq(last_sent(r.b)->msn, 1);
	get(&r, 2, WP_ONLY(10));		/* behind the watermark */
	expect_answer(&r, CAIRN_BTH_ACK, 2);
	get(&r, 1, (struct script){ CAIRN_BTH_SEND_ONLY });
	expect_answer(&r, CAIRN_BTH_ACK, 2);
	get(&r, 0, WP_ONLY(10));		/* covered */
	expect_answer(&r, CAIRN_BTH_PERSIST_ACK, 0);
	ktap_ok(r.mb->mem[0] != r.ma->mem[0]);
	ktap_eq(r.b->cq[CAIRN_RESP].n, 3);
	sim_end(r.s);
}

static void duplicate_of_a_message_under_way(void)
{
	struct rig r = scripted(CAIRN_PERSIST_NIC);

	get(&r, 0, WP_ONLY(10));
	expect_answer(&r, CAIRN_BTH_PERSIST_ACK, 0);
	get(&r, 1, (struct script){ CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU,
				    2 * PMTU });
	expect_answer(&r, CAIRN_BTH_ACK, 1);
	get(&r, 1, (struct script){ CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU,
				    2 * PMTU });
	expect_answer(&r, CAIRN_BTH_ACK, 1);
	get(&r, 0, WP_ONLY(10));
	expect_answer(&r, CAIRN_BTH_PERSIST_ACK, 0);
	get(&r, 2, (struct script){ CAIRN_BTH_WRITE_PERSIST_LAST, PMTU });
	expect_answer(&r, CAIRN_BTH_PERSIST_ACK, 2);
	get(&r, 1, (struct script){ CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU,
				    2 * PMTU });
	expect_answer(&r, CAIRN_BTH_PERSIST_ACK, 2);
	sim_end(r.s);
}

static void opcodes_do_not_mix(void)
{
	static const struct {
		struct script first, second;
	} bad[] = {
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_LAST, PMTU } },
		{ { CAIRN_BTH_WRITE_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_LAST, PMTU } },
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_ONLY, 10, 10 } },
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 2 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_LAST, 10 } },
		{ { CAIRN_BTH_WRITE_PERSIST_FIRST, PMTU, 3 * PMTU },
		  { CAIRN_BTH_WRITE_PERSIST_MIDDLE, 10 } },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rig r = scripted(CAIRN_PERSIST_NIC);

		get(&r, 0, bad[i].first);
		get(&r, 1, bad[i].second);
		ktap_eq(last_sent(r.b)->syndrome,
			CAIRN_AETH_NAK | CAIRN_NAK_INVALID_REQUEST);
		ktap_eq(persist_acks(&r), 0);
		sim_end(r.s);
	}
}

/* Persistence ACKs that no honest peer sends. */
static void strange_persist_acks_mean_nothing(void)
{
	static const struct {
		s32 n;
		u8 syndrome;
	} acks[] = {
		{ -1 }, { 3 }, { 100 }, { 1 << 22 }, { -(1 << 22) }, { 1 },
		{ 2, CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ },
		{ 2, CAIRN_AETH_NAK | CAIRN_NAK_REMOTE_ACCESS },
		{ 2, CAIRN_AETH_RNR_NAK | 1 }, { 2, 0x80 }, { 2, 0x40 },
	};
	struct rig r = persist_rig(CAIRN_PERSIST_HOST);
	struct cairn_pkt pkt = {
		.opcode = CAIRN_BTH_PERSIST_ACK,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = r.a->c.qpn,
	};
	u32 i;

	rig_recv(&r, 1, 0);
	persist(&r, 1, 3 * PMTU);
	sim_run(r.s, SIM_MS);
	for (i = 0; i < ARRAY_SIZE(acks); i++) {
		pkt.psn = cairn_psn_add(r.a->psn, acks[i].n);
		pkt.syndrome = acks[i].syndrome;
		sim_inject(r.a, &pkt, NULL);
		ktap_eq(send_cqes(&r), 0);
		ktap_eq(r.a->c.state, CAIRN_QP_RTS);
	}
	ktap_eq(release(&r, 0, 0), 0);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

/* An ordinary ACK never stands for durability. */
static void ordinary_acks_are_not_enough(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_NIC);
	struct cairn_pkt ack = {
		.opcode = CAIRN_BTH_ACK,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = r.a->c.qpn,
		.syndrome = CAIRN_AETH_CREDIT_INVALID,
	};
	u32 i;

	r.s->dead[1] = true;
	persist(&r, 1, 3 * PMTU);
	rig_send(&r, 2, CAIRN_WQE_WRITE, 10);
	sim_run(r.s, SIM_MS);
	for (i = 0; i < 4; i++) {
		ack.psn = psn_of(&r, i);
		sim_inject(r.a, &ack, NULL);
		sim_inject(r.a, &ack, NULL);
	}
	ktap_eq(r.a->c.req.una, psn_of(&r, 4));
	ktap_eq(send_cqes(&r), 0);
	ack.opcode = CAIRN_BTH_PERSIST_ACK;
	ack.psn = psn_of(&r, 2);
	sim_inject(r.a, &ack, NULL);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

/* It acknowledges the receipt, too, of all before it. */
static void a_persist_ack_acknowledges_receipt(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_NIC);
	struct cairn_pkt ack = {
		.opcode = CAIRN_BTH_PERSIST_ACK,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = r.a->c.qpn,
		.psn = psn_of(&r, 3),
		.syndrome = CAIRN_AETH_CREDIT_INVALID,
	};

	r.s->dead[1] = true;
	rig_send(&r, 1, CAIRN_WQE_WRITE, 10);
	persist(&r, 2, 10);
	rig_send(&r, 3, CAIRN_WQE_WRITE, 10);
	persist(&r, 4, 10);
	sim_run(r.s, 100 * SIM_US);
	sim_inject(r.a, &ack, NULL);
	sim_run(r.s, SIM_MS);
	expect_cqes(r.a, CAIRN_REQ, 0, 1, 4, CAIRN_CQE_SUCCESS);
	sim_end(r.s);
}

static void early_is_for_write_persist(void)
{
	struct rig r = persist_rig(CAIRN_PERSIST_NIC);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&r, &sge, CAIRN_WQE_WRITE, 10);

	wr.flags |= CAIRN_WQE_EARLY;
	sim_post_send(r.a, &wr);
	ktap_ok(sim_run(r.s, SIM_SEC));
	expect_cqe(r.a, CAIRN_REQ, 0, 0, CAIRN_CQE_LOC_QP_OP_ERR);
	sim_end(r.s);
}

static const struct ktap_test tests[] = {
	KTAP(one_request_and_one_answer),
	KTAP(every_packet_of_a_message),
	KTAP(empty_messages_are_durable_too),
	KTAP(ordinary_memory_is_refused),
	KTAP(rights_count),
	KTAP(plain_write_is_persisted_too),
	KTAP(completions_follow_the_fence),
	KTAP(the_host_is_asked),
	KTAP(no_receive_no_message),
	KTAP(a_slow_host_is_waited_for),
	KTAP(a_lost_persist_ack_is_asked_for),
	KTAP(silence_ends_it),
	KTAP(failure_is_told),
	KTAP(the_watermark_keeps_the_order),
	KTAP(nic_flush_behind_host_flush_waits),
	KTAP(others_overtake_but_complete_in_order),
	KTAP(a_fence_waits_for_durability),
	KTAP(flush_is_no_success),
	KTAP(an_error_behind_it_flushes_it),
	KTAP(tokens_are_bounded),
	KTAP(no_memory_is_not_ready),
	KTAP(tokens_are_good_once),
	KTAP(tokens_die_with_the_region),
	KTAP(tokens_die_with_the_queue_pair),
	KTAP(a_reset_forgets_tokens),
	KTAP(answers_wait_for_a_plain_write),
	KTAP(naks_do_not_pass_a_plain_write),
	KTAP(a_failed_plain_write_is_naked),
	KTAP(write_with_immediate_and_host_flush),
	KTAP(early_mode_tells_twice),
	KTAP(early_mode_waits_for_a_receive),
	KTAP(early_probes_need_no_memory),
	KTAP(early_mode_tells_of_failure),
	KTAP(early_records_are_bounded),
	KTAP(early_records_survive_a_resize),
	KTAP(draining_waits_for_early_ones),
	KTAP(duplicates_follow_the_watermark),
	KTAP(duplicate_of_a_message_under_way),
	KTAP(opcodes_do_not_mix),
	KTAP(strange_persist_acks_mean_nothing),
	KTAP(ordinary_acks_are_not_enough),
	KTAP(a_persist_ack_acknowledges_receipt),
	KTAP(early_is_for_write_persist),
};

KTAP_MAIN(tests)
