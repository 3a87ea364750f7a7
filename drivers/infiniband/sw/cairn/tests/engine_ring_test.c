// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A host that puts nonsense into its rings: the QP ends with an error, nothing
 * is read or written out of bounds, and the QPs of others do not notice.
 */
#include "engine.h"

/* A pair whose a will misbehave, and an innocent flow between other QPs. */
struct bystander {
	struct rig r;
	struct flow *f;
};

static struct bystander ring_begin(u64 seed)
{
	struct bystander bystander = { .r = rig_new(seed) };
	struct sim_qp *qp_c = sim_qp(bystander.r.s, 0, &sim_rc);
	struct sim_qp *qp_d = sim_qp(bystander.r.s, 1, &sim_rc);
	struct flow_cfg cfg = flow_default;

	cfg.wrs = 20;
	sim_connect(qp_c, qp_d, &sim_attrs);
	bystander.f = flow_new(qp_c, qp_d, &cfg);
	flow_random(bystander.f);
	bystander.r.a->hostile = true;
	/* a random WQE may be a SEND without a posted receive */
	bystander.r.a->c.attrs.rnr_retry = 3;
	bystander.r.s->record = false;
	return bystander;
}

static void ring_finish(struct bystander *bystander)
{
	flow_start(bystander->f);
	ktap_ok(sim_run(bystander->r.s, 100 * SIM_SEC));
	flow_check(bystander->f);
	flow_free(bystander->f);
	sim_end(bystander->r.s);
}

/* Put @wqe at the tail and move it by @units. */
static void ring_put(struct sim_qp *qp, const union cairn_wqe_buf *wqe, u32 units)
{
	u32 i;

	for (i = 0; i < min_t(u32, units, CAIRN_MAX_WQE_UNITS); i++)
		memcpy(sim_unit(qp->sq, qp->c.sq_depth, qp->sq_tail + i),
		       wqe->bytes + i * CAIRN_UNIT_SIZE, CAIRN_UNIT_SIZE);
	qp->sq_tail += units;
	sim_doorbell(qp);
}

/* A WQE that would be fine: a SEND of 16 bytes with number 2. */
static union cairn_wqe_buf good_wqe(const struct rig *rig)
{
	union cairn_wqe_buf wqe = { .send = {
		.wr_id = 2,
		.opcode = CAIRN_WQE_SEND,
		.num_sge = 1,
		.units = 1,
		.remote_addr = rig->mb->va,
		.rkey = rig->mb->key,
		.sge[0] = sim_sge(rig->ma, 0, 16),
	} };

	return wqe;
}

struct bad_wqe {
	const char *name;
	void (*spoil)(struct cairn_send_wqe *w);
	u8 status;
	u8 units;		/* of the ring that it takes, 0: 1 */
};

static void opcode_9(struct cairn_send_wqe *wqe)
{
	wqe->opcode = CAIRN_WQE_LOCAL_INV + 1;
}

static void opcode_12(struct cairn_send_wqe *wqe)
{
	wqe->opcode = CAIRN_WQE_OPCODES;
}

static void opcode_255(struct cairn_send_wqe *wqe)
{
	wqe->opcode = 255;
}

static void flag_4(struct cairn_send_wqe *wqe)
{
	wqe->flags = 1 << 4;
}

static void flag_7(struct cairn_send_wqe *wqe)
{
	wqe->flags = 1 << 7;
}

static void sges_3(struct cairn_send_wqe *wqe)
{
	wqe->num_sge = 3;
}

static void sges_33(struct cairn_send_wqe *wqe)
{
	wqe->num_sge = 33;
	wqe->units = 9;
}

static void sges_255(struct cairn_send_wqe *wqe)
{
	wqe->num_sge = 255;
	wqe->units = 9;
}

static void inline_33(struct cairn_send_wqe *wqe)
{
	wqe->flags = CAIRN_WQE_INLINE;
	wqe->inline_len = 33;
}

static void inline_513(struct cairn_send_wqe *wqe)
{
	wqe->flags = CAIRN_WQE_INLINE;
	wqe->inline_len = 513;
	wqe->units = 9;
}

static void inline_all(struct cairn_send_wqe *wqe)
{
	wqe->flags = CAIRN_WQE_INLINE;
	wqe->inline_len = ~0u;
	wqe->units = 9;
}

static void inline_read(struct cairn_send_wqe *wqe)
{
	wqe->opcode = CAIRN_WQE_READ;
	wqe->flags = CAIRN_WQE_INLINE;
	wqe->inline_len = 8;
}

static void atomic_without_sge(struct cairn_send_wqe *wqe)
{
	wqe->opcode = CAIRN_WQE_FAA;
	wqe->num_sge = 0;
}

static void atomic_of_16(struct cairn_send_wqe *wqe)
{
	wqe->opcode = CAIRN_WQE_CAS;
	wqe->sge[1].length = 16;
}

static void ring_huge(struct cairn_send_wqe *wqe)
{
	wqe->sge[0].length = (1u << 31) + 1;
}

/* 2^32 in all: a sum of 32 bits would be 0 */
static void ring_overflow(struct cairn_send_wqe *wqe)
{
	wqe->num_sge = 2;
	wqe->sge[0].length = 1u << 31;
	wqe->sge[1].length = 1u << 31;
}

static const struct bad_wqe bad_wqes[] = {
	{ "opcode 9", opcode_9, CAIRN_CQE_LOC_QP_OP_ERR },
	{ "opcode 12", opcode_12, CAIRN_CQE_LOC_QP_OP_ERR },
	{ "opcode 255", opcode_255, CAIRN_CQE_LOC_QP_OP_ERR },
	{ "flag 4", flag_4, CAIRN_CQE_LOC_QP_OP_ERR },
	{ "flag 7", flag_7, CAIRN_CQE_LOC_QP_OP_ERR },
	{ "3 entries in 1 unit", sges_3, CAIRN_CQE_LOC_QP_OP_ERR },
	{ "33 entries", sges_33, CAIRN_CQE_LOC_QP_OP_ERR, 9 },
	{ "255 entries", sges_255, CAIRN_CQE_LOC_QP_OP_ERR, 9 },
	{ "33 bytes in 1 unit", inline_33, CAIRN_CQE_LOC_LEN_ERR },
	{ "513 inline bytes", inline_513, CAIRN_CQE_LOC_LEN_ERR, 9 },
	{ "2^32-1 inline bytes", inline_all, CAIRN_CQE_LOC_LEN_ERR, 9 },
	{ "inline READ", inline_read, CAIRN_CQE_LOC_QP_OP_ERR },
	{ "atomic without entry", atomic_without_sge, CAIRN_CQE_LOC_LEN_ERR },
	{ "atomic of 16 bytes", atomic_of_16, CAIRN_CQE_LOC_LEN_ERR },
	{ "longer than any message", ring_huge, CAIRN_CQE_LOC_LEN_ERR },
	{ "sum beyond 32 bits", ring_overflow, CAIRN_CQE_LOC_LEN_ERR },
};

/* The bad one fails in its turn, the next is flushed. */
static void bad_wqes_fail_in_their_turn(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad_wqes) && !ktap.failures; i++) {
		const struct bad_wqe *wqe = &bad_wqes[i];
		struct bystander bystander = ring_begin(i);
		struct rig *rig = &bystander.r;
		union cairn_wqe_buf wqe_w = good_wqe(rig);

		rig_send(rig, 1, CAIRN_WQE_WRITE, 5000);
		wqe->spoil(&wqe_w.send);
		ring_put(rig->a, &wqe_w, wqe->units ?: 1);
		rig_send(rig, 3, CAIRN_WQE_WRITE, 5000);
		sim_run(rig->s, SIM_SEC);
		expect_cqe(rig->a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		expect_cqe(rig->a, CAIRN_REQ, 1, 2, wqe->status);
		expect_cqe(rig->a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
		ktap_eq(rig->a->c.state, CAIRN_QP_ERR);
		ktap_eq(rig->a->count[CAIRN_CTR_BAD_WQES], 1);
		ring_finish(&bystander);
		if (ktap.failures)
			ktap_diag("case: %s", wqe->name);
	}
}

/* A ring that can not be walked is fatal; the peer is not involved. */
static void bad_units(u8 units, u32 posted)
{
	struct bystander bystander = ring_begin(units);
	struct rig *rig = &bystander.r;
	union cairn_wqe_buf wqe = good_wqe(rig);

	wqe.send.units = units;
	ring_put(rig->a, &wqe, posted);
	sim_run(rig->s, SIM_SEC);
	ktap_eq(rig->a->c.state, CAIRN_QP_ERR);
	ktap_eq(sim_async_count(rig->a, CAIRN_ASYNC_QP_FATAL), 1);
	ktap_eq(rig->a->count[CAIRN_CTR_BAD_RINGS], 1);
	ktap_eq(rig->a->cq[CAIRN_REQ].n, 0);
	/* once is enough */
	sim_doorbell(rig->a);
	sim_run(rig->s, SIM_SEC);
	ktap_eq(sim_async_count(rig->a, CAIRN_ASYNC_QP_FATAL), 1);
	ring_finish(&bystander);
}

/* The same WQE met by the flush, behind a good one. */
static void bad_units_flushed(u8 units, u32 posted)
{
	struct bystander bystander = ring_begin(units);
	struct rig *rig = &bystander.r;
	union cairn_wqe_buf wqe = good_wqe(rig);

	sim_modify(rig->a, CAIRN_QP_ERR);
	sim_run(rig->s, SIM_MS);
	ring_put(rig->a, &wqe, 1);
	wqe.send.units = units;
	ring_put(rig->a, &wqe, posted);
	sim_run(rig->s, SIM_SEC);
	expect_cqe(rig->a, CAIRN_REQ, 0, 2, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig->a->cq[CAIRN_REQ].n, 1);
	ring_finish(&bystander);
}

static void units_that_can_not_be_flushed(void)
{
	bad_units_flushed(0, 1);
	bad_units_flushed(10, 10);
	bad_units_flushed(255, 9);
	bad_units_flushed(2, 1);
}

static void units_that_can_not_be(void)
{
	bad_units(0, 1);
	bad_units(10, 10);
	bad_units(255, 9);
	bad_units(2, 1);
	bad_units(9, 8);
}

/* The write pointer stands where it can not: beyond or behind. */
static void bad_pointer(s32 move)
{
	struct bystander bystander = ring_begin(1);
	struct rig *rig = &bystander.r;

	rig_send(rig, 1, CAIRN_WQE_WRITE, 5000);
	sim_run(rig->s, SIM_SEC);
	rig->a->sq_tail += move;
	sim_doorbell(rig->a);
	sim_run(rig->s, SIM_SEC);
	expect_cqe(rig->a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(rig->a->cq[CAIRN_REQ].n, 1);
	ktap_eq(rig->a->c.state, CAIRN_QP_ERR);
	ktap_eq(sim_async_count(rig->a, CAIRN_ASYNC_QP_FATAL), 1);
	ring_finish(&bystander);
}

static void write_pointer_that_can_not_be(void)
{
	bad_pointer(129);	/* the depth is 128 */
	bad_pointer(1000000);
	bad_pointer(0x7fffffff);
	bad_pointer(-1);
	bad_pointer(-128);
	bad_pointer(-0x7fffffff - 1);
}

/* In ERR the ring is only flushed, and not even that if it can not be. */
static void write_pointer_after_the_end(void)
{
	static const s32 moves[] = { 129, 1000000, -1 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(moves); i++) {
		struct bystander bystander = ring_begin(i);
		struct rig *rig = &bystander.r;

		rig_send(rig, 1, CAIRN_WQE_WRITE, 5000);
		sim_run(rig->s, SIM_SEC);
		sim_modify(rig->a, CAIRN_QP_ERR);
		sim_run(rig->s, SIM_SEC);
		rig->a->sq_tail += moves[i];
		sim_doorbell(rig->a);
		sim_run(rig->s, SIM_SEC);
		ktap_eq(rig->a->cq[CAIRN_REQ].n, 1);
		ring_finish(&bystander);
	}
}

/* It goes back over what is being sent: what is known is newer. When that has
 * completed it is behind the read pointer.
 */
static void write_pointer_taken_back(bool put_right)
{
	struct bystander bystander = ring_begin(1);
	struct rig *rig = &bystander.r;

	rig->s->dead[1] = true;
	rig_send(rig, 1, CAIRN_WQE_WRITE, 5000);
	rig_send(rig, 2, CAIRN_WQE_WRITE, 5000);
	sim_run(rig->s, 20 * SIM_US);
	rig->a->sq_tail--;
	sim_doorbell(rig->a);
	sim_run(rig->s, SIM_MS);
	ktap_eq(rig->a->c.state, CAIRN_QP_RTS);
	rig->s->dead[1] = false;
	rig->a->sq_tail += put_right;
	sim_run(rig->s, 10 * SIM_SEC);
	expect_cqes(rig->a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	ktap_eq(rig->a->c.state, put_right ? CAIRN_QP_RTS : CAIRN_QP_ERR);
	ktap_eq(rig->a->count[CAIRN_CTR_BAD_RINGS], !put_right);
	ring_finish(&bystander);
}

static void write_pointer_taken_back_and_left(void)
{
	write_pointer_taken_back(false);
}

static void write_pointer_taken_back_and_put_right(void)
{
	write_pointer_taken_back(true);
}

/* The doorbell's pointer is newer than that in space 3. */
static void doorbell_first(void)
{
	struct bystander bystander = ring_begin(1);
	struct rig *rig = &bystander.r;
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, CAIRN_WQE_WRITE, 5000);

	rig->s->dead[1] = true;
	wr.wr_id = 1;
	ktap_ok(sim_queue_send(rig->a, &wr));
	rig->a->sq_tail--;
	sim_ring(rig->a, rig->a->sq_tail + 1);
	sim_run(rig->s, 20 * SIM_US);
	ktap_eq(rig->a->c.req.new_rec, 1);
	ktap_eq(rig->a->c.state, CAIRN_QP_RTS);
	rig->a->sq_tail++;
	rig->s->dead[1] = false;
	sim_run(rig->s, 10 * SIM_SEC);
	expect_cqe(rig->a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ring_finish(&bystander);
}

/* A late one is older; one that cannot be ends the queue. */
static void doorbell_with(s32 move, bool good)
{
	struct bystander bystander = ring_begin(1);
	struct rig *rig = &bystander.r;

	rig_send(rig, 1, CAIRN_WQE_WRITE, 5000);
	rig_send(rig, 2, CAIRN_WQE_WRITE, 5000);
	sim_run(rig->s, SIM_SEC);
	sim_ring(rig->a, rig->a->sq_tail + move);
	sim_run(rig->s, SIM_SEC);
	expect_cqes(rig->a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	ktap_eq(rig->a->c.state, good ? CAIRN_QP_RTS : CAIRN_QP_ERR);
	ktap_eq(sim_async_count(rig->a, CAIRN_ASYNC_QP_FATAL), !good);
	ring_finish(&bystander);
}

static void doorbells_late_and_bad(void)
{
	doorbell_with(0, true);
	doorbell_with(-1, true);
	doorbell_with(-2, true);
	doorbell_with(-0x7fffffff, true);
	doorbell_with(129, false);
	doorbell_with(1000000, false);
	doorbell_with(0x7fffffff, false);
}

/* The WQE is another one when it has to be sent again. */
static void wqe_changed_before_a_retry(void)
{
	u32 byte;

	for (byte = 8; byte < CAIRN_UNIT_SIZE && !ktap.failures; byte++) {
		struct bystander bystander = ring_begin(1);
		struct rig *rig = &bystander.r;

		rig->s->dead[1] = true;
		rig_send(rig, 1, CAIRN_WQE_WRITE, 5000);
		rig_send(rig, 2, CAIRN_WQE_WRITE, 5000);
		sim_run(rig->s, 100 * SIM_US);
		sim_unit(rig->a->sq, 128, rig->a->sq_tail - 2)[byte] ^= 0x5a;
		rig->s->dead[1] = false;
		ring_finish(&bystander);
	}
}

/* A change that would be fine in a new WQE is none in one under way. */
static void valid_changes_before_a_retry(void)
{
	static const struct {
		u8 byte, value;
	} changes[] = {
		{ 8, CAIRN_WQE_SEND },
		{ 8, CAIRN_WQE_READ },
		{ 9, CAIRN_WQE_SIGNALED | CAIRN_WQE_SOLICITED },
		{ 9, 0 },
		{ 10, 0 },			/* num_sge */
		{ 11, 2 },			/* units */
		{ 40, 0x87 },			/* length */
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(changes) && !ktap.failures; i++) {
		struct bystander bystander = ring_begin(1);
		struct rig *rig = &bystander.r;

		rig->s->dead[1] = true;
		rig_send(rig, 1, CAIRN_WQE_WRITE, 5000);
		rig_send(rig, 2, CAIRN_WQE_WRITE, 5000);
		sim_run(rig->s, 100 * SIM_US);
		sim_unit(rig->a->sq, 128, rig->a->sq_tail - 2)[changes[i].byte] =
			changes[i].value;
		sim_run(rig->s, 100 * SIM_SEC);
		expect_cqe(rig->a, CAIRN_REQ, 0, 1, CAIRN_CQE_LOC_QP_OP_ERR);
		expect_cqe(rig->a, CAIRN_REQ, 1, 2, CAIRN_CQE_WR_FLUSH_ERR);
		rig->s->dead[1] = false;
		ring_finish(&bystander);
		if (ktap.failures)
			ktap_diag("case: %u", i);
	}
}

static enum sim_fate answers_late(struct sim_qp *qp, enum cairn_side_id side,
				  const struct cairn_pkt *pkt)
{
	return SIM_LATE;
}

/* Where the result goes is asked for again when it comes. */
static void wqe_changed_before_the_answer(void)
{
	static const u8 ops[] = { CAIRN_WQE_READ, CAIRN_WQE_FAA };
	u32 i, byte;

	for (i = 0; i < 2; i++) {
		for (byte = 8; byte < 12 && !ktap.failures; byte++) {
			struct bystander bystander = ring_begin(1);
			struct rig *rig = &bystander.r;

			rig->s->faults.late_ns = 100 * SIM_US;
			rig->b->hooks.emit = answers_late;
			rig_send(rig, 1, ops[i], 8);
			rig_send(rig, 2, CAIRN_WQE_WRITE, 5000);
			sim_run(rig->s, 50 * SIM_US);
			sim_unit(rig->a->sq, 128, 0)[byte] ^= 0x11;
			sim_run(rig->s, SIM_SEC);
			ktap_eq(rig->a->c.state, CAIRN_QP_ERR);
			expect_cqe(rig->a, CAIRN_REQ, 0, 1,
				   CAIRN_CQE_LOC_QP_OP_ERR);
			expect_cqe(rig->a, CAIRN_REQ, 1, 2,
				   CAIRN_CQE_WR_FLUSH_ERR);
			ring_finish(&bystander);
		}
	}
}

/* The whole ring changes under every read of it. */
static void ring_changes_all_the_time(void)
{
	for_seeds(seed, 300) {
		struct bystander bystander = ring_begin(seed);
		struct rig *rig = &bystander.r;
		u32 i;

		rig->a->mutate = true;
		rig->s->faults = (struct sim_faults){ .loss = 50, .dup = 20 };
		for (i = 0; i < 3; i++)
			rig_recv(rig, i, 6000);
		for (i = 1; i <= 60; i++)
			rig_send(rig, i, sim_below(&rig->s->rand, 8),
				 sim_below(&rig->s->rand, 6000));
		ring_finish(&bystander);
	}
}

/* Random units from the first to the last byte, random pointer. */
static void ring_of_noise(void)
{
	for_seeds(seed, 300) {
		struct bystander bystander = ring_begin(seed);
		struct rig *rig = &bystander.r;
		struct sim_rand *rand = &rig->s->rand;
		u32 i;

		sim_fill(rand, rig->a->sq, 128 * CAIRN_UNIT_SIZE);
		for (i = 0; i < 128; i++) {
			struct cairn_send_wqe *wqe =
				(void *)sim_unit(rig->a->sq, 128, i);

			wqe->units = sim_chance(rand, 50) ? wqe->units :
				   sim_between(rand, 1, 9);
			wqe->opcode = sim_below(rand, 13);
			wqe->flags &= CAIRN_WQE_FLAGS;
			wqe->num_sge = sim_below(rand, 5);
		}
		rig->a->sq_tail += sim_below(rand, 129);
		sim_doorbell(rig->a);
		ring_finish(&bystander);
		if (ktap.failures)
			break;
	}
}

/*
 * Receive rings.
 */

static void receive_pointer_that_can_not_be(void)
{
	static const s32 moves[] = { 65, 1000000, 0x7fffffff, -1, -64 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(moves) && !ktap.failures; i++) {
		struct bystander bystander = ring_begin(1);
		struct rig *rig = &bystander.r;

		rig->b->rq->tail += moves[i];
		rig_send(rig, 1, CAIRN_WQE_SEND, 100);
		sim_run(rig->s, SIM_SEC);
		expect_cqe(rig->a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
		ktap_eq(rig->b->c.state, CAIRN_QP_ERR);
		ktap_eq(sim_async_count(rig->b, CAIRN_ASYNC_QP_FATAL), 1);
		ktap_eq(rig->b->asyncs, 1);
		ktap_eq(rig->b->count[CAIRN_CTR_BAD_RINGS], 1);
		ktap_eq(rig->b->cq[CAIRN_RESP].n, 0);
		ring_finish(&bystander);
	}
}

static void receive_with_too_many_entries(void)
{
	static const u8 counts[] = { 4, 32, 33, 255 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(counts) && !ktap.failures; i++) {
		struct bystander bystander = ring_begin(1);
		struct rig *rig = &bystander.r;
		struct cairn_recv_wqe *wqe;

		rig_recv(rig, 21, 1000);
		rig_recv(rig, 22, 1000);
		wqe = (void *)sim_unit(rig->b->rq->ring, rig->b->rq->depth,
				       rig->b->rq->head);
		wqe->num_sge = counts[i];
		rig_send(rig, 1, CAIRN_WQE_SEND, 100);
		sim_run(rig->s, SIM_SEC);
		expect_cqe(rig->a, CAIRN_REQ, 0, 1, CAIRN_CQE_REM_OP_ERR);
		expect_cqe(rig->b, CAIRN_RESP, 0, 21, CAIRN_CQE_LOC_QP_OP_ERR);
		expect_cqe(rig->b, CAIRN_RESP, 1, 22, CAIRN_CQE_WR_FLUSH_ERR);
		ring_finish(&bystander);
	}
}

/* Room beyond 32 bits is room for everything, not for nothing. */
static void receive_with_much_room(void)
{
	struct bystander bystander = ring_begin(1);
	struct rig *rig = &bystander.r;
	struct cairn_sge sge[3] = {
		sim_sge(rig->mb, 0, 1000),
		{ rig->mb->va, 0xfffffffe, rig->mb->key },
		{ rig->mb->va, 0xffffffff, rig->mb->key },
	};

	sim_post_recv(rig->b, 21, sge, 3);
	rig_send(rig, 1, CAIRN_WQE_SEND, 1000);
	sim_run(rig->s, SIM_SEC);
	expect_cqe(rig->a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig->b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ring_finish(&bystander);
}

/* The smallest limit is enforced exactly. */
static void max_msg_is_enforced(void)
{
	struct sim_qp_init init = sim_rc;
	struct rig rig;

	init.max_msg = 4000;
	rig = rig_with(1, &init, &sim_attrs);
	rig_send(&rig, 1, CAIRN_WQE_WRITE, 4000);
	rig_send(&rig, 2, CAIRN_WQE_READ, 4000);
	rig_send(&rig, 3, CAIRN_WQE_WRITE, 4001);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_LOC_LEN_ERR);
	sim_end(rig.s);
}

/* PSNs stay comparable: not more than half the ring in one message. */
static void more_psns_than_can_be(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct sim_qp_init init = sim_rc;
	struct cairn_sge sge[2];
	struct sim_wr wr;
	struct rig rig;

	init.max_msg = ~0u;
	attrs.pmtu = 256;
	rig = rig_with(1, &init, &attrs);
	wr = rig_wr(&rig, sge, CAIRN_WQE_WRITE, 1u << 31);
	wr.wr_id = 1;
	wr.num_sge = 2;
	sge[1] = sim_sge(rig.ma, 0, 1);
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_LOC_LEN_ERR);
	sim_end(rig.s);
}

/* Neither end agreed to any READ: none is sent. */
static void reads_need_an_agreement(void)
{
	static const u8 ops[] = { CAIRN_WQE_READ, CAIRN_WQE_CAS,
				  CAIRN_WQE_FAA };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct cairn_qp_attrs attrs = sim_attrs;
		struct rig rig;

		attrs.max_rd_atomic = 0;
		rig = rig_with(1, &sim_rc, &attrs);
		rig_send(&rig, 1, CAIRN_WQE_WRITE, 3000);
		rig_send(&rig, 2, ops[i], 8);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_LOC_QP_OP_ERR);
		ktap_eq(sent_kind(rig.a, 0, CAIRN_KIND_READ_REQ) +
			sent_kind(rig.a, 0, CAIRN_KIND_ATOMIC_REQ), 0);
		sim_end(rig.s);
	}
}

/* The QP's own limit of entries, below that of the device. */
static void max_sge_is_enforced(void)
{
	struct sim_qp_init init = sim_rc;
	struct cairn_sge sge[3];
	struct sim_wr wr;
	struct rig rig;

	init.max_sge = 2;
	rig = rig_with(1, &init, &sim_attrs);
	sge[0] = sim_sge(rig.ma, 0, 10);
	sge[1] = sim_sge(rig.ma, 0, 10);
	sge[2] = sim_sge(rig.ma, 0, 10);
	wr = rig_wr(&rig, sge, CAIRN_WQE_WRITE, 10);
	wr.num_sge = 2;
	sim_post_send(rig.a, &wr);
	wr.num_sge = 3;
	wr.wr_id = 1;
	sim_post_send(rig.a, &wr);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 0, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 1, CAIRN_CQE_LOC_QP_OP_ERR);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(bad_wqes_fail_in_their_turn),
	KTAP(units_that_can_not_be),
	KTAP(units_that_can_not_be_flushed),
	KTAP(write_pointer_that_can_not_be),
	KTAP(write_pointer_after_the_end),
	KTAP(write_pointer_taken_back_and_left),
	KTAP(write_pointer_taken_back_and_put_right),
	KTAP(doorbell_first),
	KTAP(doorbells_late_and_bad),
	KTAP(wqe_changed_before_a_retry),
	KTAP(valid_changes_before_a_retry),
	KTAP(wqe_changed_before_the_answer),
	KTAP(ring_changes_all_the_time),
	KTAP(ring_of_noise),
	KTAP(receive_pointer_that_can_not_be),
	KTAP(receive_with_too_many_entries),
	KTAP(receive_with_much_room),
	KTAP(max_msg_is_enforced),
	KTAP(more_psns_than_can_be),
	KTAP(reads_need_an_agreement),
	KTAP(max_sge_is_enforced),
};

KTAP_MAIN(tests)
