// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WQEs copied ahead of use: how often the ring is read, and that nothing the
 * host does to units that were copied changes what is sent.
 */
#include "engine/ahead.h"
#include "engine.h"

/* Queue @n WRITEs of @len bytes from different places; a doorbell is to come. */
static void ahead_post_writes(const struct rig *rig, u32 n, u32 len)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, CAIRN_WQE_WRITE, len);
	u32 i;

	for (i = 0; i < n; i++) {
		wr.wr_id = i + 1;
		sge.addr = rig->ma->va + i * len;
		wr.remote_addr = rig->mb->va + i * len;
		if (!sim_queue_send(rig->a, &wr))
			sim_fail(rig->s, "send queue full");
	}
}

static void expect_bytes(const struct rig *rig, u32 n, u32 len)
{
	ktap_ok(!memcmp(rig->ma->mem, rig->mb->mem, n * len));
}

/* Alike or not, those of a batch take one copy, and each unit is read once. */
static void one_copy_for_many(void)
{
	static const u32 lens[] = { 64, 1500 };
	u32 i, n;

	for (i = 0; i < 2; i++) {
		for (n = 1; n <= CAIRN_AHEAD_UNITS; n++) {
			struct rig rig = rig_new(n);

			rig.s->budget = 64;
			sim_fill(&rig.s->rand, rig.ma->mem, n * lens[i]);
			ahead_post_writes(&rig, n, lens[i]);
			sim_doorbell(rig.a);
			ktap_ok(sim_run(rig.s, SIM_SEC));
			ktap_eq(rig.a->copies, 1);
			ktap_eq(rig.a->copied, n);
			expect_cqes(rig.a, CAIRN_REQ, 0, 1, n, 0);
			expect_bytes(&rig, n, lens[i]);
			sim_end(rig.s);
		}
	}
}

/* WQEs of one to nine units across the ends of batches and of the ring. With up to four
 * units no unit is read twice.
 */
static void of_sizes_up_to(u32 max)
{
	for_seeds(seed, 100) {
		struct sim_qp_init init = sim_rc;
		u32 i, len, off = 0, units = 0;
		u8 inl[CAIRN_MAX_INLINE];
		struct cairn_sge sge;
		struct sim_wr wr;
		struct rig rig;

		init.sq_start = ~0u - sim_below(&(struct sim_rand){ seed }, 90);
		init.max_inline = CAIRN_MAX_INLINE;
		rig = rig_with(seed, &init, &sim_attrs);
		rig.s->budget = 64;
		wr = rig_wr(&rig, &sge, CAIRN_WQE_WRITE, 0);
		for (i = 0; i < 12; i++, off += len) {
			len = 1 + sim_below(&rig.s->rand, max);
			sim_fill(&rig.s->rand, inl, len);
			memcpy(rig.ma->mem + off, inl, len);
			wr.wr_id = i + 1;
			wr.flags = CAIRN_WQE_SIGNALED | CAIRN_WQE_INLINE;
			wr.inl = inl;
			wr.inline_len = len;
			wr.remote_addr = rig.mb->va + off;
			units += sim_wqe_units(&wr);
			if (!sim_queue_send(rig.a, &wr))
				sim_fail(rig.s, "send queue full");
		}
		sim_doorbell(rig.a);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		if (max <= 4 * CAIRN_UNIT_SIZE) {
			ktap_eq(rig.a->copied, units);
			ktap_ok(rig.a->copies <= 1 + units / 8);
		}
		expect_cqes(rig.a, CAIRN_REQ, 0, 1, 12, 0);
		expect_bytes(&rig, 1, off);
		sim_end(rig.s);
	}
}

static void of_some_sizes(void)
{
	of_sizes_up_to(4 * CAIRN_UNIT_SIZE - CAIRN_WQE_DATA_OFFSET);
}

static void of_all_sizes(void)
{
	of_sizes_up_to(CAIRN_MAX_INLINE);
}

static u32 spoilt;

/* With the first packet the host overwrites all of its ring. */
static enum sim_fate ahead_spoil(struct sim_qp *qp, enum cairn_side_id side,
				 const struct cairn_pkt *pkt)
{
	if (side == CAIRN_REQ && !spoilt++)
		memset(qp->sq, 0xff, qp->c.sq_depth * CAIRN_UNIT_SIZE);
	return SIM_SURE;
}

static void the_copy_counts(void)
{
	u32 n = CAIRN_AHEAD_UNITS;
	struct rig rig = rig_new(1);

	spoilt = 0;
	rig.s->budget = 64;
	rig.a->hooks.emit = ahead_spoil;
	sim_fill(&rig.s->rand, rig.ma->mem, n * 1500);
	ahead_post_writes(&rig, n, 1500);
	sim_doorbell(rig.a);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	ktap_ok(spoilt > n);
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, n, 0);
	expect_bytes(&rig, n, 1500);
	sim_end(rig.s);
}

/* Units that are not posted yet are not copied, as the host may still write them. */
static void not_beyond_the_pointer(void)
{
	struct rig rig = rig_new(1);
	u32 i;

	rig.s->budget = 64;
	for (i = 1; i <= 5; i++) {
		ahead_post_writes(&rig, i, 100);
		sim_doorbell(rig.a);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		ktap_eq(rig.a->copies, i);
		ktap_eq(rig.a->copied, i * (i + 1) / 2);
	}
	sim_end(rig.s);
}

/* The next run starts from the ring again. */
static void a_batch_is_for_one_run(void)
{
	struct rig rig = rig_new(1);
	struct cairn_send_wqe *wqe;

	rig.s->budget = 1;
	ahead_post_writes(&rig, 2, 1500);
	rig.s->dead[1] = true;
	sim_turn(rig.a, CAIRN_REQ);
	ktap_eq(rig.a->c.req.new_rec, 1);
	ktap_eq(rig.a->copied, 2);
	wqe = (void *)sim_unit(rig.a->sq, rig.a->c.sq_depth, rig.a->sq_head + 1);
	wqe->sge[0].length = 700;
	rig.s->dead[1] = false;
	ktap_ok(sim_run(rig.s, 100 * SIM_SEC));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, 0);
	ktap_eq(last_sent(rig.a)->dma_len, 700);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(one_copy_for_many),
	KTAP(of_some_sizes),
	KTAP(of_all_sizes),
	KTAP(the_copy_counts),
	KTAP(not_beyond_the_pointer),
	KTAP(a_batch_is_for_one_run),
};

KTAP_MAIN(tests)
