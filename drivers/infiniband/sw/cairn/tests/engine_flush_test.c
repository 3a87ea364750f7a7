// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * FLUSH and ATOMIC WRITE: what is durable when, in which order, what is refused,
 * and duplicates.
 */
#include "engine.h"

#define LONG_TIME	(20 * SIM_SEC)
#define BIG		(1 << 20)
#define LEN		3000

/* A connection and a region at b that peers write to, then flush. */
struct bed {
	struct rig r;
	struct sim_mr *log;
	struct sim_mr *src;
};

static struct bed bed_with(u64 seed, const struct cairn_qp_attrs *attrs,
			   u32 len, enum cairn_persist persist)
{
	struct bed bed = { .r = rig_with(seed, &sim_rc, attrs) };

	bed.log = sim_mr_persistent(bed.r.s, 1, len, SIM_ALL | SIM_FLUSH, persist);
	bed.src = sim_mr(bed.r.s, 0, len, SIM_ALL);
	return bed;
}

static struct bed bed_new(u64 seed)
{
	return bed_with(seed, &sim_attrs, RIG_LEN, CAIRN_PERSIST_NONE);
}

static void bed_write(const struct bed *bed, u64 wr_id, u32 off, u32 len)
{
	struct cairn_sge sge = sim_sge(bed->src, off, len);
	struct sim_wr wr = {
		.wr_id = wr_id,
		.opcode = CAIRN_WQE_WRITE,
		.flags = CAIRN_WQE_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.remote_addr = bed->log->va + off,
		.rkey = bed->log->key,
	};

	sim_post_send(bed->r.a, &wr);
}

static void bed_flush(const struct bed *bed, u64 wr_id, u32 off, u32 len, u8 plt,
		      u8 sel)
{
	struct sim_wr wr = {
		.wr_id = wr_id,
		.opcode = CAIRN_WQE_FLUSH,
		.flags = CAIRN_WQE_SIGNALED,
		.remote_addr = bed->log->va + off,
		.rkey = bed->log->key,
		.flush_len = len,
		.plt = plt,
		.sel = sel,
	};

	sim_post_send(bed->r.a, &wr);
}

static void bed_store(const struct bed *bed, u64 wr_id, u32 off, u64 word)
{
	struct sim_wr wr = {
		.wr_id = wr_id,
		.opcode = CAIRN_WQE_ATOMIC_WRITE,
		.flags = CAIRN_WQE_SIGNALED | CAIRN_WQE_INLINE,
		.inl = &word,
		.inline_len = sizeof(word),
		.remote_addr = bed->log->va + off,
		.rkey = bed->log->key,
	};

	sim_post_send(bed->r.a, &wr);
}

static bool bed_durable(const struct bed *bed, u32 off, u32 len)
{
	return !memcmp(bed->log->shadow + off, bed->src->mem + off, len);
}

/* When the FLUSH completes, and not before it, all of its range is durable. */
static void range_is_durable(void)
{
	for_seeds(seed, 20) {
		struct bed bed = bed_new(seed);

		bed_write(&bed, 1, 100, LEN);
		ktap_ok(sim_run(bed.r.s, LONG_TIME));
		ktap_ok(!bed_durable(&bed, 100, LEN));
		bed_flush(&bed, 2, 100, LEN, CAIRN_FLUSH_PERSISTENT,
			  CAIRN_FLUSH_RANGE);
		ktap_ok(sim_run(bed.r.s, LONG_TIME));
		expect_cqes(bed.r.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
		ktap_eq(bed.r.a->cq[CAIRN_REQ].log[1].cqe.opcode,
			CAIRN_CQE_FLUSH);
		ktap_ok(bed_durable(&bed, 100, LEN));
		ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSHES], 1);
		ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSH_BYTES], LEN);
		sim_end(bed.r.s);
	}
}

/* Its address and length mean nothing then. */
static void region_is_durable(void)
{
	struct bed bed = bed_with(1, &sim_attrs, BIG, CAIRN_PERSIST_NONE);

	bed_write(&bed, 1, 0, BIG);
	bed_flush(&bed, 2, 77, 0xffffffff, CAIRN_FLUSH_PLT, CAIRN_FLUSH_REGION);
	ktap_ok(sim_run(bed.r.s, LONG_TIME));
	expect_cqes(bed.r.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	ktap_ok(bed_durable(&bed, 0, BIG));
	sim_end(bed.r.s);
}

static void visible_only(void)
{
	struct bed bed = bed_new(1);

	bed_write(&bed, 1, 0, LEN);
	bed_flush(&bed, 2, 0, LEN, CAIRN_FLUSH_GLOBAL, CAIRN_FLUSH_RANGE);
	bed_flush(&bed, 3, 0, 0, CAIRN_FLUSH_PERSISTENT, CAIRN_FLUSH_RANGE);
	ktap_ok(sim_run(bed.r.s, LONG_TIME));
	expect_cqes(bed.r.a, CAIRN_REQ, 0, 1, 3, CAIRN_CQE_SUCCESS);
	ktap_mem_eq(bed.log->mem, bed.src->mem, LEN);
	ktap_ok(!bed_durable(&bed, 0, LEN));
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSH_BYTES], 0);
	sim_end(bed.r.s);
}

#define COMMIT	(BIG - 8)
#define WORD	0x1122334455667788ull

static void commit_stepped(struct sim *sim, void *arg)
{
	const struct bed *bed = arg;
	u64 word;

	memcpy(&word, bed->log->mem + COMMIT, 8);
	if (word == WORD && !bed_durable(bed, 0, COMMIT - 8))
		sim_fail(sim, "the word is visible before the data is durable");
}

/* The commit of a log: data, FLUSH, ATOMIC WRITE, all posted at once. The word is
 * never there before all of the data is durable; over a network that loses.
 */
static void word_waits_for_the_flush(void)
{
	for_seeds(seed, 15) {
		struct cairn_qp_attrs attrs = sim_attrs;
		struct bed bed;
		u64 word;

		attrs.pmtu = 4096;
		bed = bed_with(seed, &attrs, BIG, CAIRN_PERSIST_NONE);
		bed.r.s->faults.loss = seed % 3 * 10;
		bed.r.s->faults.dup = 5;
		bed.r.s->stepped = commit_stepped;
		bed.r.s->stepped_arg = &bed;
		bed_write(&bed, 1, 0, COMMIT - 8);
		bed_flush(&bed, 2, 0, COMMIT - 8, CAIRN_FLUSH_PERSISTENT,
			  CAIRN_FLUSH_RANGE);
		bed_store(&bed, 3, COMMIT, WORD);
		bed_flush(&bed, 4, COMMIT, 8, CAIRN_FLUSH_PERSISTENT,
			  CAIRN_FLUSH_RANGE);
		ktap_ok(sim_run(bed.r.s, LONG_TIME));
		expect_cqes(bed.r.a, CAIRN_REQ, 0, 1, 4, CAIRN_CQE_SUCCESS);
		memcpy(&word, bed.log->shadow + COMMIT, 8);
		ktap_eq(word, WORD);
		ktap_eq(bed.r.b->atomics, 1);
		sim_end(bed.r.s);
	}
}

/* Into a region with NIC flush it is durable when it completes. */
static void word_into_a_persistent_region(void)
{
	struct bed bed = bed_with(1, &sim_attrs, RIG_LEN, CAIRN_PERSIST_NIC);
	struct cairn_sge sge;
	struct sim_wr wr;
	u64 word;

	bed_store(&bed, 1, 64, WORD);
	ktap_ok(sim_run(bed.r.s, LONG_TIME));
	memcpy(&word, bed.log->shadow + 64, 8);
	ktap_eq(word, WORD);
	/* from memory, in two pieces */
	sge = sim_sge(bed.src, 16, 8);
	wr = (struct sim_wr){
		.wr_id = 2,
		.opcode = CAIRN_WQE_ATOMIC_WRITE,
		.flags = CAIRN_WQE_SIGNALED,
		.sge = &sge,
		.num_sge = 1,
		.remote_addr = bed.log->va + 16,
		.rkey = bed.log->key,
	};
	sim_post_send(bed.r.a, &wr);
	ktap_ok(sim_run(bed.r.s, LONG_TIME));
	expect_cqes(bed.r.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	ktap_eq(bed.r.a->cq[CAIRN_REQ].log[1].cqe.opcode, CAIRN_CQE_ATOMIC_WRITE);
	ktap_mem_eq(bed.log->shadow + 16, bed.src->mem + 16, 8);
	sim_end(bed.r.s);
}

/*
 * Packets by hand: b is under test.
 */

struct ask {
	u8 opcode;
	u8 plt, sel;
	u32 len;		/* RETH */
	s64 off;
	u32 key_xor;
	u32 payload;
};

static void flush_get(struct bed *bed, u32 n, const struct ask *ask)
{
	struct cairn_pkt pkt = {
		.opcode = ask->opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = bed->r.b->c.qpn,
		.psn = cairn_psn_add(bed->r.a->psn, n),
		.payload_len = ask->payload,
		.ack_req = true,
		.va = bed->log->va + ask->off,
		.rkey = bed->log->key ^ ask->key_xor,
		.dma_len = ask->len,
		.plt = ask->plt,
		.sel = ask->sel,
	};

	sim_inject(bed->r.b, &pkt, bed->src->mem);
	sim_run(bed->r.s, 2 * SIM_US);
}

#define NAK(code)	(CAIRN_AETH_NAK | CAIRN_NAK_##code)
#define FLUSH		.opcode = CAIRN_BTH_FLUSH
#define STORE		.opcode = CAIRN_BTH_ATOMIC_WRITE

static const struct refusal {
	const char *name;
	struct ask ask;
	u8 syndrome;
	u32 without;		/* rights that the region lacks */
	u8 qp_plt;		/* what the QP forbids */
	bool qp_write;		/* ... is to be written to */
} refusals[] = {
	{ "no type", { FLUSH, 0, 0, 8 }, NAK(INVALID_REQUEST) },
	{ "unknown type", { FLUSH, 4, 0, 8 }, NAK(INVALID_REQUEST) },
	{ "all types", { FLUSH, 15, 0, 8 }, NAK(INVALID_REQUEST) },
	{ "unknown selectivity", { FLUSH, 1, 2, 8 }, NAK(INVALID_REQUEST) },
	{ "QP forbids", { FLUSH, 2, 0, 8 }, NAK(INVALID_REQUEST),
	  .qp_plt = CAIRN_FLUSH_PERSISTENT },
	{ "QP forbids one", { FLUSH, 3, 0, 8 }, NAK(INVALID_REQUEST),
	  .qp_plt = CAIRN_FLUSH_GLOBAL },
	{ "wrong key", { FLUSH, 2, 0, 8, .key_xor = 1 }, NAK(REMOTE_ACCESS) },
	{ "wrong key of all", { FLUSH, 2, 1, 8, .key_xor = 1 },
	  NAK(REMOTE_ACCESS) },
	{ "one byte before", { FLUSH, 2, 0, 8, -1 }, NAK(REMOTE_ACCESS) },
	{ "one byte beyond", { FLUSH, 2, 0, 8, RIG_LEN - 7 },
	  NAK(REMOTE_ACCESS) },
	{ "absurdly long", { FLUSH, 2, 0, 0xffffffff }, NAK(REMOTE_ACCESS) },
	{ "end of the address space", { FLUSH, 2, 0, 8, -(1LL << 62) },
	  NAK(REMOTE_ACCESS) },
	{ "not durable", { FLUSH, 2, 0, 8 }, NAK(REMOTE_ACCESS),
	  .without = 1 << CAIRN_ACCESS_FLUSH_PERSISTENT },
	{ "not visible", { FLUSH, 3, 1, 8 }, NAK(REMOTE_ACCESS),
	  .without = 1 << CAIRN_ACCESS_FLUSH_GLOBAL },
	{ "store: misaligned", { STORE, .len = 8, .off = 4, .payload = 8 },
	  NAK(INVALID_REQUEST) },
	{ "store: short", { STORE, .len = 8, .payload = 4 },
	  NAK(INVALID_REQUEST) },
	{ "store: empty", { STORE, .len = 0 }, NAK(INVALID_REQUEST) },
	{ "store: too long", { STORE, .len = 16, .payload = 16 },
	  NAK(INVALID_REQUEST) },
	{ "store: another length", { STORE, .len = 9, .payload = 8 },
	  NAK(INVALID_REQUEST) },
	{ "store: QP forbids", { STORE, .len = 8, .payload = 8 },
	  NAK(INVALID_REQUEST), .qp_write = true },
	{ "store: region forbids", { STORE, .len = 8, .payload = 8 },
	  NAK(REMOTE_ACCESS), .without = 1 << CAIRN_ACCESS_REMOTE_WRITE },
	{ "store: beyond", { STORE, .len = 8, .off = RIG_LEN, .payload = 8 },
	  NAK(REMOTE_ACCESS) },
};

static void one_refusal(const struct refusal *refusal)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct bed bed;

	attrs.flush &= ~refusal->qp_plt;
	attrs.remote_write = !refusal->qp_write;
	bed = bed_with(1, &attrs, RIG_LEN, CAIRN_PERSIST_NONE);
	bed.log->access &= ~refusal->without;
	bed.r.s->dead[0] = true;
	flush_get(&bed, 0, &refusal->ask);
	if (last_sent(bed.r.b))
		ktap_eq(last_sent(bed.r.b)->syndrome, refusal->syndrome);
	else
		ktap_fail("no answer");
	ktap_eq(bed.r.b->c.state, CAIRN_QP_ERR);
	ktap_eq(bed.r.b->atomics, 0);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSHES], 0);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSH_BYTES], 0);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FATAL_NAKS_SENT], 1);
	ktap_eq(bed.r.b->count[CAIRN_CTR_REMOTE_ACCESS_ERRORS],
		refusal->syndrome == NAK(REMOTE_ACCESS));
	sim_end(bed.r.s);
}

static void refused(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(refusals) && !ktap.failures; i++) {
		one_refusal(&refusals[i]);
		if (ktap.failures)
			ktap_diag("case: %s", refusals[i].name);
	}
}

static const struct ask flush_8 = { FLUSH, 2, 0, 8 };
static const struct ask store_8 = { STORE, .len = 8, .payload = 8 };

/* A duplicate is answered and does nothing. */
static void duplicates(void)
{
	struct bed bed = bed_new(1);
	u32 n;

	bed.r.s->dead[0] = true;
	flush_get(&bed, 0, &store_8);
	flush_get(&bed, 1, &flush_8);
	memset(bed.log->mem, 0x55, 8);
	for (n = 2; n--; ) {
		flush_get(&bed, n, n ? &flush_8 : &store_8);
		ktap_eq(last_sent(bed.r.b)->opcode, CAIRN_BTH_READ_RESP_ONLY);
		ktap_eq(last_sent(bed.r.b)->psn, cairn_psn_add(bed.r.a->psn, n));
		ktap_eq(last_sent(bed.r.b)->msn, n + 1);
	}
	ktap_eq(bed.log->mem[0], 0x55);
	ktap_eq(bed.r.b->atomics, 1);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSHES], 1);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSH_BYTES], 8);
	/* a request of another kind with a known PSN is not one */
	n = bed.r.s->n_sent;
	flush_get(&bed, 0, &flush_8);
	ktap_eq(bed.r.s->n_sent, n);
	sim_end(bed.r.s);
}

/* A flush that is over is that of its packet: should another one come in its place,
 * a later one that asks for the same is executed.
 */
static void over_for_its_packet_only(void)
{
	struct bed bed = bed_with(1, &sim_attrs, BIG, CAIRN_PERSIST_NONE);
	static const struct ask all = { FLUSH, 2, 1 };
	u64 want = 2 * (u64)BIG;

	bed.r.s->dead[0] = true;
	bed.r.b->hold_room = 0;
	flush_get(&bed, 0, &all);
	sim_run(bed.r.s, SIM_MS);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSH_BYTES], BIG);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSHES], 0);
	ktap_eq(last_sent(bed.r.b)->syndrome, NAK(PSN_SEQ));
	flush_get(&bed, 0, &store_8);
	flush_get(&bed, 1, &all);
	sim_run(bed.r.s, SIM_MS);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSH_BYTES], want);
	/* ... and when its own packet comes again, it is not */
	flush_get(&bed, 1, &all);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSH_BYTES], want);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSHES], 1);
	ktap_eq(last_sent(bed.r.b)->opcode, CAIRN_BTH_READ_RESP_ONLY);
	sim_end(bed.r.s);
}

/* The region ends while its flush is under way: the peer learns it. */
static void region_ends_meanwhile(void)
{
	struct bed bed = bed_with(1, &sim_attrs, BIG, CAIRN_PERSIST_NONE);
	static const struct ask all = { FLUSH, 2, 1 };

	bed.r.s->dead[0] = true;
	bed.r.s->budget = 1;
	sim_inject_part(bed.r.b, &(struct cairn_pkt){
		.opcode = all.opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = bed.r.b->c.qpn,
		.psn = bed.r.a->psn,
		.rkey = bed.log->key,
		.plt = all.plt,
		.sel = all.sel,
	}, NULL);
	ktap_ok(bed.r.b->c.resp.waits);
	ktap_ok(bed.r.b->c.resp.flush.left);
	bed.log->valid = false;
	sim_turn(bed.r.b, CAIRN_RESP);
	ktap_eq(last_sent(bed.r.b)->syndrome, NAK(REMOTE_ACCESS));
	ktap_eq(last_sent(bed.r.b)->psn, bed.r.a->psn);
	ktap_eq(bed.r.b->c.state, CAIRN_QP_ERR);
	ktap_eq(bed.r.b->count[CAIRN_CTR_REMOTE_ACCESS_ERRORS], 1);
	ktap_eq(bed.r.b->count[CAIRN_CTR_FLUSHES], 0);
	sim_end(bed.r.s);
}

/* rdma_rxe does not count FLUSHes with its READs: more of them than were agreed
 * come, and have to wait.
 */
static void more_than_agreed(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct sim_qp_init init = sim_rc;
	struct bed bed;
	u32 n;

	init.rd_slots = 2;
	attrs.max_dest_rd_atomic = 2;
	attrs.min_rnr_timer = 12;
	bed.r = rig_with(1, &init, &attrs);
	bed.log = sim_mr_persistent(bed.r.s, 1, RIG_LEN, SIM_ALL | SIM_FLUSH,
				    CAIRN_PERSIST_NONE);
	bed.src = bed.r.ma;
	bed.r.s->dead[0] = true;
	for (n = 0; n < 3; n++)
		sim_inject_part(bed.r.b, &(struct cairn_pkt){
			.opcode = CAIRN_BTH_FLUSH,
			.pkey = CAIRN_PKEY_DEFAULT,
			.qpn = bed.r.b->c.qpn,
			.psn = cairn_psn_add(bed.r.a->psn, n),
			.va = bed.log->va,
			.rkey = bed.log->key,
			.dma_len = 8,
			.plt = CAIRN_FLUSH_PERSISTENT,
		}, NULL);
	sim_turn(bed.r.b, CAIRN_RESP);
	ktap_eq(sent_kind(bed.r.b, 0, CAIRN_KIND_READ_RESP), 2);
	ktap_eq(last_sent(bed.r.b)->syndrome, CAIRN_AETH_RNR_NAK | 12);
	ktap_eq(last_sent(bed.r.b)->psn, cairn_psn_add(bed.r.a->psn, 2));
	flush_get(&bed, 2, &flush_8);
	ktap_eq(last_sent(bed.r.b)->opcode, CAIRN_BTH_READ_RESP_ONLY);
	ktap_eq(bed.r.b->c.state, CAIRN_QP_RTS);
	sim_end(bed.r.s);
}

/* Work requests that the host may not post. */
static void bad_requests(void)
{
	static const struct sim_wr bad[] = {
		{ .opcode = CAIRN_WQE_FLUSH, .plt = 0 },
		{ .opcode = CAIRN_WQE_FLUSH, .plt = 4 },
		{ .opcode = CAIRN_WQE_FLUSH, .plt = 1, .sel = 2 },
		{ .opcode = CAIRN_WQE_FLUSH, .plt = 1,
		  .flags = CAIRN_WQE_INLINE },
		{ .opcode = CAIRN_WQE_FLUSH, .plt = 1,
		  .flags = CAIRN_WQE_EARLY },
		{ .opcode = CAIRN_WQE_ATOMIC_WRITE },
		{ .opcode = CAIRN_WQE_ATOMIC_WRITE, .flags = CAIRN_WQE_INLINE,
		  .inl = "1234567", .inline_len = 7 },
		{ .opcode = CAIRN_WQE_ATOMIC_WRITE, .flags = CAIRN_WQE_INLINE,
		  .inl = "123456789", .inline_len = 9 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad) && !ktap.failures; i++) {
		struct bed bed = bed_new(1);
		struct sim_wr wr = bad[i];

		wr.wr_id = 1;
		wr.rkey = bed.log->key;
		wr.remote_addr = bed.log->va;
		sim_post_send(bed.r.a, &wr);
		ktap_ok(sim_run(bed.r.s, LONG_TIME));
		ktap_eq(bed.r.a->cq[CAIRN_REQ].n, 1);
		ktap_ok(bed.r.a->cq[CAIRN_REQ].log[0].cqe.status);
		ktap_eq(bed.r.a->count[CAIRN_CTR_BAD_WQES], 1);
		ktap_eq(sent_kind(bed.r.a, 0, CAIRN_KIND_FLUSH), 0);
		ktap_eq(sent_kind(bed.r.a, 0, CAIRN_KIND_ATOMIC_WRITE), 0);
		sim_end(bed.r.s);
		if (ktap.failures)
			ktap_diag("request %u", i);
	}
}

/* No more are under way than agreed, whatever their kind. */
static void requester_keeps_the_limit(void)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct bed bed;
	u32 n;

	attrs.max_rd_atomic = 2;
	bed = bed_with(1, &attrs, RIG_LEN, CAIRN_PERSIST_NONE);
	bed.r.s->dead[1] = true;
	for (n = 0; n < 5; n++) {
		bed_store(&bed, n, 8 * n, n);
		bed_flush(&bed, n, 0, 8, CAIRN_FLUSH_PERSISTENT,
			  CAIRN_FLUSH_RANGE);
	}
	sim_run(bed.r.s, 50 * SIM_US);
	ktap_eq(sent_kind(bed.r.a, 0, CAIRN_KIND_FLUSH), 1);
	ktap_eq(sent_kind(bed.r.a, 0, CAIRN_KIND_ATOMIC_WRITE), 1);
	sim_end(bed.r.s);
}

static const struct ktap_test tests[] = {
	KTAP(range_is_durable),
	KTAP(region_is_durable),
	KTAP(visible_only),
	KTAP(word_waits_for_the_flush),
	KTAP(word_into_a_persistent_region),
	KTAP(refused),
	KTAP(duplicates),
	KTAP(over_for_its_packet_only),
	KTAP(region_ends_meanwhile),
	KTAP(more_than_agreed),
	KTAP(bad_requests),
	KTAP(requester_keeps_the_limit),
};

KTAP_MAIN(tests)
