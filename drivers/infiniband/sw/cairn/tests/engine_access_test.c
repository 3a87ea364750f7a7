// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Keys, ranges and rights, remote and local: what is refused, how each end
 * learns of it, and that nothing was touched.
 */
#include "engine.h"

#define LEN	3000

/* The request that must fail, and the state in which it arrives. */
struct refusal {
	const char *name;
	u8 opcode;
	u32 len;
	s64 va_off;		/* from the start of the target */
	u32 rkey_xor;
	bool other_pd;
	u32 mr_without;		/* access bits that the target lacks */
	bool qp_without;	/* the QP attribute for the operation is off */
	u8 status;		/* at the requester */
	enum cairn_async event;	/* at the responder */
	u8 recv_status;		/* of the first receive; 0: flushed */
};

#define WITHOUT(a)	.mr_without = 1 << CAIRN_ACCESS_REMOTE_##a
#define ACCESS								\
	.status = CAIRN_CQE_REM_ACCESS_ERR,				\
	.event = CAIRN_ASYNC_QP_ACCESS_ERR
#define INVALID								\
	.status = CAIRN_CQE_REM_INV_REQ_ERR,				\
	.event = CAIRN_ASYNC_QP_REQ_ERR

static const struct refusal refusals[] = {
	{ "write: wrong key", CAIRN_WQE_WRITE, LEN, .rkey_xor = 1, ACCESS },
	{ "write: unknown key", CAIRN_WQE_WRITE, LEN, .rkey_xor = 0x7fff0000,
	  ACCESS },
	{ "write: other domain", CAIRN_WQE_WRITE, LEN, .other_pd = true,
	  ACCESS },
	{ "write: one byte before", CAIRN_WQE_WRITE, LEN, .va_off = -1,
	  ACCESS },
	{ "write: one byte beyond", CAIRN_WQE_WRITE, LEN,
	  .va_off = RIG_LEN - LEN + 1, ACCESS },
	{ "write: only byte beyond", CAIRN_WQE_WRITE, 1, .va_off = RIG_LEN,
	  ACCESS },
	{ "write: end of the address space", CAIRN_WQE_WRITE, LEN,
	  .va_off = -(1LL << 62), ACCESS },
	{ "write: region forbids", CAIRN_WQE_WRITE, LEN, WITHOUT(WRITE),
	  ACCESS },
	{ "write: QP forbids", CAIRN_WQE_WRITE, LEN, .qp_without = true,
	  INVALID },
	{ "write imm: wrong key", CAIRN_WQE_WRITE_IMM, LEN, .rkey_xor = 1,
	  ACCESS },
	{ "write imm: one byte beyond", CAIRN_WQE_WRITE_IMM, 10,
	  .va_off = RIG_LEN - 9, ACCESS,
	  .recv_status = CAIRN_CQE_LOC_ACCESS_ERR },
	{ "write imm: one packet, wrong key", CAIRN_WQE_WRITE_IMM, 1024,
	  .rkey_xor = 1, ACCESS, .recv_status = CAIRN_CQE_LOC_ACCESS_ERR },
	{ "write imm: one packet, QP forbids", CAIRN_WQE_WRITE_IMM, 10,
	  .qp_without = true, INVALID },
	{ "write imm: QP forbids", CAIRN_WQE_WRITE_IMM, LEN,
	  .qp_without = true, INVALID },
	{ "read: wrong key", CAIRN_WQE_READ, LEN, .rkey_xor = 1, ACCESS },
	{ "read: other domain", CAIRN_WQE_READ, LEN, .other_pd = true,
	  ACCESS },
	{ "read: one byte before", CAIRN_WQE_READ, LEN, .va_off = -1, ACCESS },
	{ "read: one byte beyond", CAIRN_WQE_READ, LEN,
	  .va_off = RIG_LEN - LEN + 1, ACCESS },
	{ "read: region forbids", CAIRN_WQE_READ, LEN, WITHOUT(READ), ACCESS },
	{ "read: QP forbids", CAIRN_WQE_READ, LEN, .qp_without = true,
	  INVALID },
	{ "cas: wrong key", CAIRN_WQE_CAS, 8, .rkey_xor = 1, ACCESS },
	{ "faa: wrong key", CAIRN_WQE_FAA, 8, .rkey_xor = 1, ACCESS },
	{ "faa: beyond", CAIRN_WQE_FAA, 8, .va_off = RIG_LEN, ACCESS },
	{ "faa: misaligned", CAIRN_WQE_FAA, 8, .va_off = 4, INVALID },
	{ "cas: misaligned", CAIRN_WQE_CAS, 8, .va_off = 1, INVALID },
	{ "faa: region forbids", CAIRN_WQE_FAA, 8, WITHOUT(ATOMIC), ACCESS },
	{ "faa: QP forbids", CAIRN_WQE_FAA, 8, .qp_without = true, INVALID },
};

static void access_withdraw(struct rig *rig, const struct refusal *refusal)
{
	rig->mb->access &= ~refusal->mr_without;
	if (refusal->other_pd)
		rig->mb->pd++;
	if (refusal->qp_without) {
		rig->b->c.attrs.remote_write = false;
		rig->b->c.attrs.remote_read = false;
		rig->b->c.attrs.remote_atomic = false;
	}
}

static void access_expect_refusal(const struct refusal *refusal)
{
	struct rig rig = rig_new(1);
	u8 ma[RIG_LEN], mb[RIG_LEN];
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, refusal->opcode, refusal->len);

	access_withdraw(&rig, refusal);
	memcpy(ma, rig.ma->mem, RIG_LEN);
	memcpy(mb, rig.mb->mem, RIG_LEN);
	rig_recv(&rig, 21, LEN);
	rig_recv(&rig, 22, LEN);
	rig_recv_a(&rig, 31);
	wr.wr_id = 1;
	wr.remote_addr += refusal->va_off;
	wr.rkey ^= refusal->rkey_xor;
	sim_post_send(rig.a, &wr);
	rig_send(&rig, 2, CAIRN_WQE_SEND, 10);
	rig_send(&rig, 3, CAIRN_WQE_READ, 10);
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));

	expect_cqe(rig.a, CAIRN_REQ, 0, 1, refusal->status);
	expect_cqes(rig.a, CAIRN_REQ, 1, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	expect_cqe(rig.a, CAIRN_RESP, 0, 31, CAIRN_CQE_WR_FLUSH_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21,
		   refusal->recv_status ?: CAIRN_CQE_WR_FLUSH_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 1, 22, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
	ktap_eq(rig.b->asyncs, 1);
	ktap_eq(sim_async_count(rig.b, refusal->event), 1);
	ktap_eq(rig.a->asyncs, 0);
	ktap_eq(rig.s->count[CAIRN_CTR_FATAL_NAKS_SENT], 1);
	ktap_mem_eq(rig.ma->mem, ma, RIG_LEN);
	ktap_mem_eq(rig.mb->mem, mb, RIG_LEN);
	sim_end(rig.s);
}

static void remote_access_is_refused(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		access_expect_refusal(&refusals[i]);
		if (ktap.failures) {
			ktap_diag("case: %s", refusals[i].name);
			break;
		}
	}
}

/* No byte, no access: key and address are not looked at. */
static void zero_length_needs_no_right(void)
{
	static const u8 ops[] = { CAIRN_WQE_WRITE, CAIRN_WQE_WRITE_IMM,
				  CAIRN_WQE_READ };
	struct rig rig = rig_new(1);
	u32 i;

	rig_recv(&rig, 1, 0);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct cairn_sge sge;
		struct sim_wr wr = rig_wr(&rig, &sge, ops[i], 0);

		wr.wr_id = i;
		wr.rkey = 0xdeadbeef;
		wr.remote_addr = ~0ULL;
		sim_post_send(rig.a, &wr);
	}
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void access_release_mr(struct sim *sim, void *mr)
{
	((struct sim_mr *)mr)->valid = false;
}

/* The target goes away while the message arrives. */
static void released_under_a_write(void)
{
	struct rig rig = rig_new(1);
	u8 mb[RIG_LEN];
	u32 i;

	rig.s->byte_ps = 8000;
	rig.s->faults.split = 1000;
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 60000);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 10);
	sim_at(rig.s, rig.s->now + 200 * SIM_US, access_release_mr, rig.mb);
	sim_run(rig.s, 201 * SIM_US);
	memcpy(mb, rig.mb->mem, RIG_LEN);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_mem_eq(rig.mb->mem, mb, RIG_LEN);
	for (i = 0; i < RIG_LEN && mb[i] == rig.ma->mem[i]; i++)
		;
	ktap_ok(i > 10000 && i < 50000);
	sim_end(rig.s);
}

static void released_under_a_read(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct rig rig;

	attrs.pmtu = 256;
	rig = rig_with(1, &sim_rc, &attrs);
	rig.s->budget = 1;
	rig_send(&rig, 1, CAIRN_WQE_READ, 60000);
	rig_send(&rig, 2, CAIRN_WQE_WRITE, 10);
	sim_at(rig.s, rig.s->now + 50 * SIM_US, access_release_mr, rig.mb);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(sim_async_count(rig.b, CAIRN_ASYNC_QP_ACCESS_ERR), 1);
	sim_end(rig.s);
}

/* A duplicate READ meets the same checks as the first one did. */
static void released_before_a_duplicate_read(void)
{
	struct rig rig = rig_new(1);

	rig.s->dead[0] = true;
	rig_send(&rig, 1, CAIRN_WQE_READ, 100);
	sim_run(rig.s, SIM_MS);
	rig.mb->valid = false;
	rig.s->dead[0] = false;
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	sim_end(rig.s);
}

/*
 * Local memory.
 */

/* Breaks @sge of a work request on its way. */
struct local_case {
	const char *name;
	u8 opcode;
	u32 len;
	void (*spoil)(struct rig *r, struct cairn_sge *sge);
};

static void wrong_lkey(struct rig *rig, struct cairn_sge *sge)
{
	sge->lkey ^= 1;
}

static void before_start(struct rig *rig, struct cairn_sge *sge)
{
	sge->addr--;
}

static void one_beyond(struct rig *rig, struct cairn_sge *sge)
{
	sge->addr += RIG_LEN - sge->length + 1;
}

static void no_local_right(struct rig *rig, struct cairn_sge *sge)
{
	struct sim_mr *mr = sim_mr(rig->s, 0, 4096, SIM_REMOTE);

	sge->addr = mr->va;
	sge->lkey = mr->key;
}

static void foreign_domain(struct rig *rig, struct cairn_sge *sge)
{
	struct sim_mr *mr = sim_mr(rig->s, 0, 4096, SIM_ALL);

	mr->pd++;
	sge->addr = mr->va;
	sge->lkey = mr->key;
}

static const struct local_case local_cases[] = {
	{ "send: key", CAIRN_WQE_SEND, LEN, wrong_lkey },
	{ "send: before", CAIRN_WQE_SEND, LEN, before_start },
	{ "send: beyond", CAIRN_WQE_SEND, LEN, one_beyond },
	{ "send: right", CAIRN_WQE_SEND, LEN, no_local_right },
	{ "send: domain", CAIRN_WQE_SEND, LEN, foreign_domain },
	{ "write: key", CAIRN_WQE_WRITE, LEN, wrong_lkey },
	{ "write: beyond", CAIRN_WQE_WRITE, LEN, one_beyond },
	{ "read: key", CAIRN_WQE_READ, LEN, wrong_lkey },
	{ "read: beyond", CAIRN_WQE_READ, LEN, one_beyond },
	{ "read: right", CAIRN_WQE_READ, LEN, no_local_right },
	{ "faa: key", CAIRN_WQE_FAA, 8, wrong_lkey },
	{ "faa: beyond", CAIRN_WQE_FAA, 8, one_beyond },
};

/* The earlier ones complete, it fails, the later ones are flushed. */
static void local_refused(const struct local_case *row)
{
	struct rig rig = rig_new(1);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, row->opcode, row->len);

	rig_recv(&rig, 21, LEN);
	rig_recv(&rig, 22, LEN);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 5000);
	rig_send(&rig, 2, CAIRN_WQE_READ, 5000);
	rig_send(&rig, 3, CAIRN_WQE_SEND, LEN);
	row->spoil(&rig, &sge);
	wr.wr_id = 4;
	sim_post_send(rig.a, &wr);
	rig_send(&rig, 5, CAIRN_WQE_WRITE, 10);
	ktap_ok(sim_run(rig.s, 10 * SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 3, 4, CAIRN_CQE_LOC_PROT_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 4, 5, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.a->c.state, CAIRN_QP_ERR);
	ktap_eq(rig.a->count[CAIRN_CTR_LOCAL_PROT_ERRORS], 1);
	ktap_eq(rig.a->asyncs, 0);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	sim_end(rig.s);
}

static void local_memory_is_refused(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(local_cases); i++) {
		local_refused(&local_cases[i]);
		if (ktap.failures) {
			ktap_diag("case: %s", local_cases[i].name);
			break;
		}
	}
}

/* The second entry of a list is bad: the first may have been used. */
static void second_entry_is_bad(void)
{
	struct rig rig = rig_new(1);
	struct cairn_sge sge[2] = {
		sim_sge(rig.ma, 0, 100),
		{ rig.ma->va, 100, rig.ma->key ^ 1 },
	};
	struct sim_wr wr = {
		.wr_id = 1,
		.opcode = CAIRN_WQE_WRITE,
		.sge = sge,
		.num_sge = 2,
		.remote_addr = rig.mb->va,
		.rkey = rig.mb->key,
	};

	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	/* an error completes even when no completion was asked for */
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_LOC_PROT_ERR);
	sim_end(rig.s);
}

/* The source of a long message goes away between two trains. */
static void released_under_its_own_send(void)
{
	struct rig rig = rig_new(1);

	rig_recv(&rig, 21, RIG_LEN / 2);
	rig.s->budget = 1;
	rig_send(&rig, 1, CAIRN_WQE_SEND, 30000);
	sim_at(rig.s, rig.s->now + 5 * SIM_US, access_release_mr, rig.ma);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_LOC_PROT_ERR);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	/* the current receive is flushed with the rest */
	sim_modify(rig.b, CAIRN_QP_ERR);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	sim_end(rig.s);
}

/*
 * Receives.
 */

static void receive_too_short(void)
{
	struct rig rig = rig_new(1);
	u8 mb[RIG_LEN];

	rig_recv(&rig, 21, 2999);
	rig_recv(&rig, 22, 4000);
	memcpy(mb, rig.mb->mem, RIG_LEN);
	rig_send(&rig, 1, CAIRN_WQE_SEND, 3000);
	rig_send(&rig, 2, CAIRN_WQE_SEND, 10);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_INV_REQ_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_LOC_LEN_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 1, 22, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.b->count[CAIRN_CTR_LOCAL_PROT_ERRORS], 0);
	/* what did not fit is nowhere */
	ktap_mem_eq(rig.mb->mem + RIG_LEN / 2 + 2999, mb + RIG_LEN / 2 + 2999,
		    RIG_LEN / 2 - 2999);
	sim_end(rig.s);
}

static void receive_of_nothing(void)
{
	struct rig rig = rig_new(1);

	sim_post_recv(rig.b, 21, NULL, 0);
	sim_post_recv(rig.b, 22, NULL, 0);
	rig_send(&rig, 1, CAIRN_WQE_SEND, 0);
	rig_send(&rig, 2, CAIRN_WQE_SEND, 1);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_INV_REQ_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 1, 22, CAIRN_CQE_LOC_LEN_ERR);
	sim_end(rig.s);
}

static void receive_with_a_bad_key(void)
{
	struct rig rig = rig_new(1);
	struct cairn_sge sge = sim_sge(rig.mb, 0, 1000);

	sge.lkey ^= 1;
	rig_recv(&rig, 21, 100);
	sim_post_recv(rig.b, 22, &sge, 1);
	rig_recv(&rig, 23, 100);
	rig_send(&rig, 1, CAIRN_WQE_SEND, 100);
	rig_send(&rig, 2, CAIRN_WQE_SEND, 100);
	rig_send(&rig, 3, CAIRN_WQE_SEND, 100);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_OP_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.b, CAIRN_RESP, 1, 22, CAIRN_CQE_LOC_PROT_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 2, 23, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
	ktap_eq(rig.b->count[CAIRN_CTR_LOCAL_PROT_ERRORS], 1);
	sim_end(rig.s);
}

/* No receive is posted: there is none to end, and the NAK is the same. */
static void write_imm_without_a_receive(void)
{
	struct rig rig = rig_new(1);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE_IMM, 10);

	wr.rkey ^= 1;
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 0, CAIRN_CQE_REM_ACCESS_ERR);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

/* The memory goes while the message arrives: its last packet is refused. */
static void released_under_a_write_imm(void)
{
	struct rig rig = rig_new(1);

	rig.s->byte_ps = 8000;
	rig.s->faults.split = 1000;
	rig_recv(&rig, 21, 10);
	rig_send(&rig, 1, CAIRN_WQE_WRITE_IMM, 2000);
	sim_at(rig.s, rig.s->now + 15 * SIM_US, access_release_mr, rig.mb);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_ACCESS_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_LOC_ACCESS_ERR);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	sim_end(rig.s);
}

/* Not by a NAK (class J): the peer's retries end. Earlier requests, of which @op is the
 * last, have been answered.
 */
static void invalidate_refused(u8 op, u32 len)
{
	struct rig rig = rig_new(1);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_SEND_INV, len);

	rig_recv(&rig, 20, 100);
	rig_recv(&rig, 21, LEN);
	rig_recv(&rig, 22, LEN);
	rig_send(&rig, 1, CAIRN_WQE_SEND, 100);
	rig_send(&rig, 2, op, 100);
	wr.wr_id = 3;
	wr.imm_or_key = rig.mb->key;
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_RETRY_EXC_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 0, 20, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.b, CAIRN_RESP, 1, 21, CAIRN_CQE_LOC_ACCESS_ERR);
	expect_cqe(rig.b, CAIRN_RESP, 2, 22, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.s->count[CAIRN_CTR_FATAL_NAKS_SENT], 0);
	ktap_eq(sim_async_count(rig.b, CAIRN_ASYNC_QP_ACCESS_ERR), 1);
	ktap_ok(rig.mb->valid);
	ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
	sim_end(rig.s);
}

static void invalidate_what_may_not_be(void)
{
	invalidate_refused(CAIRN_WQE_WRITE, 100);
	invalidate_refused(CAIRN_WQE_WRITE, LEN);
	invalidate_refused(CAIRN_WQE_READ, 100);
	invalidate_refused(CAIRN_WQE_READ, LEN);
}

/* A later request finds an invalidated key invalid. */
static void invalidated_key_is_gone(void)
{
	struct rig rig = rig_new(1);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_SEND_INV, 100);
	struct sim_mr *mr = sim_mr(rig.s, 1, 4096, SIM_ALL);

	mr->remote_inv = true;
	rig_recv(&rig, 21, 100);
	wr.imm_or_key = mr->key;
	sim_post_send(rig.a, &wr);
	wr.opcode = CAIRN_WQE_WRITE;
	wr.wr_id = 1;
	wr.rkey = mr->key;
	wr.remote_addr = mr->va;
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 0, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 1, CAIRN_CQE_REM_ACCESS_ERR);
	sim_end(rig.s);
}

static void inval_get(const struct rig *rig, u32 n, u8 opcode, u32 key)
{
	sim_inject(rig->b, &(struct cairn_pkt){
		.opcode = opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->b->c.qpn,
		.psn = cairn_psn_add(rig->a->psn, n),
		.rkey = key,
		.ack_req = true,
	}, NULL);
	sim_run(rig->s, SIM_US);
}

/* The peer sends something else in place of a SEND that waited for its invalidation,
 * and was not kept. When the key is in use again a later SEND ends it again.
 */
static void over_for_its_send_only(void)
{
	bool waited = false;

	for_seeds(seed, 20) {
		struct rig rig = rig_new(seed);
		struct sim_mr *mr = sim_mr(rig.s, 1, 4096, SIM_ALL);

		mr->remote_inv = true;
		rig.s->dead[0] = true;
		rig.b->hold_room = 0;
		rig_recv(&rig, 21, 100);
		rig_recv(&rig, 22, 100);
		inval_get(&rig, 0, CAIRN_BTH_SEND_ONLY_INV, mr->key);
		if (rig.b->c.resp.waits) {
			waited = true;
			sim_run(rig.s, SIM_MS);
			ktap_eq(last_sent(rig.b)->syndrome,
				CAIRN_AETH_NAK | CAIRN_NAK_PSN_SEQ);
			inval_get(&rig, 0, CAIRN_BTH_SEND_ONLY, 0);
			ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
			rig.b->hold_room = 1;
			mr->valid = true;
			inval_get(&rig, 1, CAIRN_BTH_SEND_ONLY_INV, mr->key);
			sim_run(rig.s, SIM_MS);
			ktap_eq(rig.b->cq[CAIRN_RESP].n, 2);
			ktap_ok(!mr->valid);
		}
		sim_end(rig.s);
	}
	ktap_ok(waited);
}

/*
 * Requests behind a SEND with invalidate, which sometimes has to wait for accesses that
 * are in progress: the order stays, no request is lost, and none waits for a retry.
 */
static void requests_behind_an_invalidation(void)
{
	for_seeds(seed, 60) {
		struct rig rig = rig_new(seed);
		struct cairn_sge sge;
		u32 i;

		rig.b->plain = seed % 4 == 3;
		for (i = 0; i < 8; i++) {
			struct sim_wr wr = rig_wr(&rig, &sge, i & 1 ?
				CAIRN_WQE_WRITE : CAIRN_WQE_SEND_INV, 3000);
			struct sim_mr *mr = sim_mr(rig.s, 1, 4096, SIM_ALL);

			mr->remote_inv = true;
			wr.wr_id = i;
			if (!(i & 1)) {
				wr.imm_or_key = mr->key;
				rig_recv(&rig, 20 + i / 2, 3000);
			}
			sim_post_send(rig.a, &wr);
		}
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqes(rig.a, CAIRN_REQ, 0, 0, 7, CAIRN_CQE_SUCCESS);
		expect_cqes(rig.b, CAIRN_RESP, 0, 20, 23, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS], 0);
		if (!rig.b->plain)
			ktap_eq(rig.s->count[CAIRN_CTR_RETRANSMITS], 0);
		sim_end(rig.s);
	}
}

/* LOCAL_INV is an operation among others: in order, with a completion. */
static void local_invalidate(void)
{
	struct rig rig = rig_new(1);
	struct sim_mr *mr = sim_mr(rig.s, 0, 4096, SIM_ALL);
	struct cairn_sge sge = sim_sge(mr, 0, 4096);
	struct sim_wr wr = {
		.wr_id = 1,
		.flags = CAIRN_WQE_SIGNALED,
		.opcode = CAIRN_WQE_WRITE,
		.sge = &sge,
		.num_sge = 1,
		.remote_addr = rig.mb->va,
		.rkey = rig.mb->key,
	};
	struct sim_wr inv = {
		.wr_id = 2,
		.flags = CAIRN_WQE_SIGNALED,
		.opcode = CAIRN_WQE_LOCAL_INV,
		.imm_or_key = mr->key,
	};

	sim_post_send(rig.a, &wr);
	sim_post_send(rig.a, &inv);
	rig_send(&rig, 3, CAIRN_WQE_READ, 2000);
	wr.wr_id = 4;
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 3, 4, CAIRN_CQE_LOC_PROT_ERR);
	ktap_eq(rig.a->cq[CAIRN_REQ].log[1].cqe.opcode, CAIRN_CQE_LOCAL_INV);
	ktap_mem_eq(rig.mb->mem, mr->mem, 4096);
	sim_end(rig.s);
}

/* Nothing else wakes the queue up: what follows must not wait for it. */
static void local_invalidate_alone(void)
{
	struct rig rig = rig_new(1);
	struct sim_wr inv = {
		.opcode = CAIRN_WQE_LOCAL_INV,
		.flags = CAIRN_WQE_SIGNALED,
	};
	u32 i;

	for (i = 0; i < 3; i++) {
		inv.wr_id = 2 * i;
		inv.imm_or_key = sim_mr(rig.s, 0, 100, SIM_ALL)->key;
		sim_post_send(rig.a, &inv);
		rig_send(&rig, 2 * i + 1, CAIRN_WQE_WRITE, 100);
	}
	ktap_ok(sim_run(rig.s, SIM_MS));
	expect_cqes(rig.a, CAIRN_REQ, 0, 0, 5, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static enum sim_fate drop_three(struct sim_qp *qp, enum cairn_side_id side,
				const struct cairn_pkt *pkt)
{
	u32 *n = qp->hooks.arg;

	return (*n)++ < 3 ? SIM_DROP : SIM_PASS;
}

/* A request that is sent again may use the key; a REG_MR is not performed again. */
static void registered_once(void)
{
	struct rig rig = rig_new(1);
	struct sim_mr *mr = sim_mr(rig.s, 0, 4096, SIM_ALL);
	struct cairn_sge sge = sim_sge(mr, 0, 4096);
	struct sim_wr reg = {
		.wr_id = 2,
		.flags = CAIRN_WQE_SIGNALED,
		.opcode = CAIRN_WQE_REG_MR,
		.imm_or_key = mr->key,
	};
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE, 0);
	u32 dropped = 0;

	mr->valid = false;
	sge = sim_sge(mr, 0, 4096);
	wr.wr_id = 3;
	rig.a->hooks = (struct sim_hooks){ .arg = &dropped, .emit = drop_three };
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 3000);
	sim_post_send(rig.a, &reg);
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_ok(rig.s->count[CAIRN_CTR_ACK_TIMEOUTS] +
		rig.s->count[CAIRN_CTR_SEQ_NAKS_RECEIVED] > 0);
	ktap_mem_eq(rig.mb->mem, mr->mem, 4096);
	sim_end(rig.s);
}

static void local_invalidate_of_nothing(void)
{
	struct rig rig = rig_new(1);
	struct sim_wr inv = {
		.wr_id = 2,
		.opcode = CAIRN_WQE_LOCAL_INV,
		.imm_or_key = 0xdead00,
	};

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 2000);
	sim_post_send(rig.a, &inv);
	rig_send(&rig, 3, CAIRN_WQE_WRITE, 2000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.a->cq[CAIRN_REQ].n, 3);
	ktap_eq(rig.a->cq[CAIRN_REQ].log[1].cqe.wr_id, 2);
	ktap_ok(rig.a->cq[CAIRN_REQ].log[1].cqe.status);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(remote_access_is_refused),
	KTAP(zero_length_needs_no_right),
	KTAP(released_under_a_write),
	KTAP(released_under_a_read),
	KTAP(released_before_a_duplicate_read),
	KTAP(local_memory_is_refused),
	KTAP(second_entry_is_bad),
	KTAP(released_under_its_own_send),
	KTAP(receive_too_short),
	KTAP(receive_of_nothing),
	KTAP(receive_with_a_bad_key),
	KTAP(write_imm_without_a_receive),
	KTAP(released_under_a_write_imm),
	KTAP(invalidate_what_may_not_be),
	KTAP(invalidated_key_is_gone),
	KTAP(over_for_its_send_only),
	KTAP(requests_behind_an_invalidation),
	KTAP(local_invalidate),
	KTAP(local_invalidate_alone),
	KTAP(registered_once),
	KTAP(local_invalidate_of_nothing),
};

KTAP_MAIN(tests)
