// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ibv_post_send: the bytes in the ring. */
#include <errno.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct fake_ring *sq;
static struct ibv_send_wr *bad;
static struct ibv_ah *ah;

static struct ibv_mr region = { .lkey = 0x3141 };
static struct ibv_mw window = { .type = IBV_MW_TYPE_2, .rkey = 0xabcdef00 };
static uint8_t text[2048];

static void open_qp_at(enum ibv_qp_type type, uint32_t depth, uint32_t start)
{
	struct ibv_ah_attr ah_attr = {};

	fake_reset();
	ctx = fake_open();
	pd = fake_pd(ctx);
	cq = fake_cq(ctx, 16);
	ah = fake.ops.create_ah(pd, &ah_attr);
	fake.sq_depth = depth;
	fake.max_send_wr = depth;
	fake.start_index = start;
	qp = fake_qp(pd, cq, type, 0);
	sq = fake_sq(qp);
	bad = NULL;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 7 + 3);
}

static void open_qp(enum ibv_qp_type type)
{
	open_qp_at(type, 64, 0);
}

static void close_qp(void)
{
	ktap_eq(fake.ops.destroy_ah(ah), 0);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	fake_close(ctx);
	ktap_eq(fake.maps, 0);
	ktap_eq(fake.objects, 0);
	ktap_eq(fake.contexts, 0);
}

static int post(struct ibv_send_wr *wr)
{
	return fake.ops.post_send(qp, wr, &bad);
}

/* The expected bytes of a WR, written without the provider's code. */
struct expected {
	uint8_t bytes[CAIRN_MAX_WQE_UNITS * 64];
	size_t used;		/* meaningful bytes */
	uint32_t units;
};

static void put(struct expected *expected, size_t at, uint64_t value, size_t size)
{
	memcpy(expected->bytes + at, &value, size);
}

static void put_sge(struct expected *expected, const struct ibv_sge *sge)
{
	put(expected, expected->used, sge->addr, 8);
	put(expected, expected->used + 8, sge->length, 4);
	put(expected, expected->used + 12, sge->lkey, 4);
	expected->used += 16;
}

static uint8_t wire_opcode(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND: return 0;
	case IBV_WR_SEND_WITH_IMM: return 1;
	case IBV_WR_SEND_WITH_INV: return 2;
	case IBV_WR_RDMA_WRITE: return 3;
	case IBV_WR_RDMA_WRITE_WITH_IMM: return 4;
	case IBV_WR_RDMA_READ: return 5;
	case IBV_WR_ATOMIC_CMP_AND_SWP: return 6;
	case IBV_WR_ATOMIC_FETCH_AND_ADD: return 7;
	case IBV_WR_LOCAL_INV: return 8;
	case IBV_WR_BIND_MW: return 9;
	default:
		return opcode == CAIRNDV_WR_WRITE_PERSIST ? 11 :
		       opcode == CAIRNDV_WR_WRITE_PERSIST_WITH_IMM ? 14 : 255;
	}
}

static bool persists(enum ibv_wr_opcode opcode)
{
	return opcode == CAIRNDV_WR_WRITE_PERSIST ||
	       opcode == CAIRNDV_WR_WRITE_PERSIST_WITH_IMM;
}

static void expect_target(struct expected *expected, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		if (qp->qp_type != IBV_QPT_UD)
			break;
		put(expected, 16, 0xa11, 4);
		put(expected, 20, wr->wr.ud.remote_qpn, 4);
		put(expected, 24, wr->wr.ud.remote_qkey, 4);
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		put(expected, 16, wr->wr.rdma.remote_addr, 8);
		put(expected, 24, wr->wr.rdma.rkey, 4);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		put(expected, 16, wr->wr.atomic.remote_addr, 8);
		put(expected, 24, wr->wr.atomic.rkey, 4);
		put(expected, 32, wr->wr.atomic.compare_add, 8);
		put(expected, 40, wr->wr.atomic.swap, 8);
		expected->used = 48;
		break;
	case IBV_WR_BIND_MW:
		/* the index is the window's */
		put(expected, 12, (wr->bind_mw.mw->rkey & ~0xffu) |
			   (wr->bind_mw.rkey & 0xff), 4);
		put(expected, 16, wr->bind_mw.bind_info.addr, 8);
		put(expected, 24, wr->bind_mw.bind_info.mr->lkey, 4);
		put(expected, 32, wr->bind_mw.bind_info.length, 8);
		put(expected, 40, wr->bind_mw.bind_info.mw_access_flags, 4);
		put(expected, 44, 0, 4);
		expected->used = 48;
		break;
	default:
		if (!persists(wr->opcode))
			break;
		put(expected, 16, wr->wr.rdma.remote_addr, 8);
		put(expected, 24, wr->wr.rdma.rkey, 4);
		break;
	}
}

static void expect_data(struct expected *expected, const struct ibv_send_wr *wr)
{
	if (wr->opcode == IBV_WR_LOCAL_INV || wr->opcode == IBV_WR_BIND_MW)
		return;
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (!(wr->send_flags & IBV_SEND_INLINE)) {
			put_sge(expected, sge);
		} else if (sge->length) {
			memcpy(expected->bytes + expected->used, (void *)(uintptr_t)sge->addr,
			       sge->length);
			expected->used += sge->length;
		}
	}
	if (wr->send_flags & IBV_SEND_INLINE)
		put(expected, 28, expected->used - 32, 4);
	else
		put(expected, 10, (uint8_t)wr->num_sge, 1);
}

static void expect(struct expected *expected, const struct ibv_send_wr *wr)
{
	unsigned int f = wr->send_flags;

	memset(expected, 0, sizeof(*expected));
	expected->used = 32;
	put(expected, 0, wr->wr_id, 8);
	put(expected, 8, wire_opcode(wr->opcode), 1);
	put(expected, 9, (f & IBV_SEND_SIGNALED ? 1u : 0) |
		  (f & IBV_SEND_SOLICITED ? 2u : 0) |
		  (f & IBV_SEND_FENCE ? 4u : 0) |
		  (f & IBV_SEND_INLINE ? 8u : 0) |
		  (f & CAIRNDV_SEND_EARLY ? 16u : 0), 1);
	if (wr->opcode == IBV_WR_SEND_WITH_IMM ||
	    wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
	    wr->opcode == CAIRNDV_WR_WRITE_PERSIST_WITH_IMM)
		put(expected, 12, (uint32_t)wr->imm_data, 4);
	if (wr->opcode == IBV_WR_SEND_WITH_INV ||
	    wr->opcode == IBV_WR_LOCAL_INV)
		put(expected, 12, wr->invalidate_rkey, 4);
	expect_target(expected, wr);
	expect_data(expected, wr);
	expected->units = (uint32_t)((expected->used + 63) / 64);
	put(expected, 11, expected->units, 1);
}

/* Compares the WQE at index; returns the index after it. */
static uint32_t check_wqe(uint32_t index, const struct ibv_send_wr *wr)
{
	uint8_t got[CAIRN_MAX_WQE_UNITS * 64];
	struct expected expected;

	expect(&expected, wr);
	for (uint32_t u = 0; u < expected.units; u++)
		memcpy(got + u * 64, fake_unit(sq, index + u), 64);
	for (size_t i = 0; i < expected.used; i++)
		if (!ktap_eq(got[i], expected.bytes[i])) {
			printf("# opcode %d, byte %zu\n", wr->opcode, i);
			break;
		}
	return index + expected.units;
}

static struct ibv_send_wr any_wr(enum ibv_wr_opcode opcode, struct ibv_sge *sge,
				 int num_sge)
{
	struct ibv_send_wr wr = {
		.wr_id = ktap_rand(),
		.sg_list = sge,
		.num_sge = num_sge,
		.opcode = opcode,
		.invalidate_rkey = (uint32_t)ktap_rand(),
	};

	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = ktap_rand();
		wr.wr.atomic.compare_add = ktap_rand();
		wr.wr.atomic.swap = ktap_rand();
		wr.wr.atomic.rkey = (uint32_t)ktap_rand();
		wr.num_sge = 1;
	} else if (opcode == IBV_WR_BIND_MW) {
		wr.bind_mw.mw = &window;
		wr.bind_mw.rkey = (uint32_t)ktap_rand();
		wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
			.mr = &region,
			.addr = ktap_rand(),
			.length = ktap_rand(),
			.mw_access_flags = (unsigned int)ktap_rand(),
		};
	} else if (qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = (uint32_t)ktap_rand();
		wr.wr.ud.remote_qkey = (uint32_t)ktap_rand();
	} else {
		wr.wr.rdma.remote_addr = ktap_rand();
		wr.wr.rdma.rkey = (uint32_t)ktap_rand();
	}
	for (int i = 0; i < wr.num_sge; i++)
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)text + ktap_below(512),
			.length = ktap_below(64),
			.lkey = (uint32_t)ktap_rand(),
		};
	return wr;
}

static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND,
	IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_LOCAL_INV, IBV_WR_BIND_MW,
	IBV_WR_SEND_WITH_INV, IBV_WR_TSO, IBV_WR_DRIVER1, 12, 13, 14,
	16, CAIRNDV_WR_WRITE_PERSIST - 1,
	CAIRNDV_WR_WRITE_PERSIST, CAIRNDV_WR_WRITE_PERSIST_WITH_IMM,
	CAIRNDV_WR_WRITE_PERSIST_WITH_IMM + 1,
	(enum ibv_wr_opcode)-1,
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static bool allowed(enum ibv_qp_type type, enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return true;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
		return type != IBV_QPT_UD;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return type == IBV_QPT_RC;
	default:
		return type == IBV_QPT_RC && persists(opcode);
	}
}

static void every_opcode_of(enum ibv_qp_type type)
{
	struct ibv_sge sge[CAIRN_MAX_SGE];
	uint32_t index = 0;

	open_qp(type);
	for (size_t i = 0; i < NR(opcodes); i++) {
		struct ibv_send_wr wr = any_wr(opcodes[i], sge, 2);
		int err = post(&wr);

		if (!allowed(type, opcodes[i])) {
			ktap_eq(err, EINVAL);
			ktap_ok(bad == &wr);
		} else if (ktap_eq(err, 0)) {
			index = check_wqe(index, &wr);
		}
		ktap_eq(sq->host->index, index);
	}
	close_qp();
}

static void opcodes_rc(void)
{
	every_opcode_of(IBV_QPT_RC);
}

static void opcodes_uc(void)
{
	every_opcode_of(IBV_QPT_UC);
}

static void opcodes_ud(void)
{
	every_opcode_of(IBV_QPT_UD);
}

/* The verb for windows of type 1, and only for these, gives them new keys. */
static void windows_type_1(void)
{
	struct ibv_mw_bind bind = {
		.wr_id = 5,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { &region, 0x1000, 77, IBV_ACCESS_REMOTE_READ },
	};
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = IBV_WR_BIND_MW,
				  .send_flags = IBV_SEND_SIGNALED };
	uint32_t index = 0, key;
	struct ibv_mw *mw;

	open_qp(IBV_QPT_UC);
	mw = fake.ops.alloc_mw(pd, IBV_MW_TYPE_1);
	wr.bind_mw.mw = mw;
	wr.bind_mw.bind_info = bind.bind_info;
	ktap_eq(post(&wr), EINVAL);
	for (int i = 0; i < 3; i++) {
		key = mw->rkey;
		ktap_eq(fake.ops.bind_mw(qp, mw, &bind), 0);
		ktap_ok(mw->rkey != key && mw->rkey >> 8 == key >> 8);
		wr.bind_mw.rkey = mw->rkey;
		index = check_wqe(index, &wr);
	}
	key = mw->rkey;
	bind.send_flags = IBV_SEND_INLINE;
	ktap_eq(fake.ops.bind_mw(qp, mw, &bind), EINVAL);
	ktap_eq(mw->rkey, key);
	ktap_eq(fake.ops.dealloc_mw(mw), 0);
	mw = fake.ops.alloc_mw(pd, IBV_MW_TYPE_2);
	bind.send_flags = 0;
	ktap_eq(fake.ops.bind_mw(qp, mw, &bind), EINVAL);
	ktap_eq(fake.ops.dealloc_mw(mw), 0);
	ktap_eq(sq->host->index, index);
	close_qp();
}

static void windows_fail(void)
{
	struct ibv_mw *mw;

	open_qp(IBV_QPT_RC);
	fake.fail = "alloc_mw";
	fake.fail_err = ENOMEM;
	ktap_ok(!fake.ops.alloc_mw(pd, IBV_MW_TYPE_2));
	ktap_eq(errno, ENOMEM);
	mw = fake.ops.alloc_mw(pd, IBV_MW_TYPE_2);
	fake.fail = "dealloc_mw";
	fake.fail_err = EIO;
	ktap_eq(fake.ops.dealloc_mw(mw), EIO);
	ktap_eq(fake.ops.dealloc_mw(mw), 0);
	close_qp();
}

static void header_bytes(void)
{
	/* One WQE spelled out, so that the test's encoder is checked too. */
	static const uint8_t want[64] = {
		8, 7, 6, 5, 4, 3, 2, 1, 4, 3, 1, 1, 0x12, 0x34, 0x56, 0x78,
		0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 4, 3, 2, 1,
		0, 0, 0, 0,
		0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
		0xdd, 0xcc, 0xbb, 0xaa, 0x44, 0x33, 0x22, 0x11,
	};
	struct ibv_sge sge = { 0x2122232425262728, 0xaabbccdd, 0x11223344 };
	struct ibv_send_wr wr = {
		.wr_id = 0x0102030405060708,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
		.wr.rdma = { 0x1112131415161718, 0x01020304 },
	};

	memcpy(&wr.imm_data, "\x12\x34\x56\x78", 4);
	open_qp(IBV_QPT_RC);
	memset(sq->units, 0, 64);
	ktap_eq(post(&wr), 0);
	ktap_eq(memcmp(sq->units, want, 64), 0);
	close_qp();
}

static void flags(void)
{
	struct ibv_sge sge[1];
	uint32_t index = 0;

	open_qp(IBV_QPT_RC);
	for (unsigned int f = 0; f < 16; f++) {
		struct ibv_send_wr wr = any_wr(IBV_WR_SEND, sge, 1);

		wr.send_flags = f;
		ktap_eq(post(&wr), 0);
		index = check_wqe(index, &wr);
	}
	for (unsigned int f = 16; f; f <<= 1) {
		struct ibv_send_wr wr = any_wr(IBV_WR_SEND, sge, 1);

		wr.send_flags = f;
		ktap_eq(post(&wr), EINVAL);
	}
	ktap_eq(sq->host->index, index);
	close_qp();
}

/* The early flag belongs to two opcodes. */
static void early_flag(void)
{
	struct ibv_sge sge[1];
	uint32_t index = 0;

	open_qp(IBV_QPT_RC);
	for (size_t i = 0; i < NR(opcodes); i++) {
		struct ibv_send_wr wr = any_wr(opcodes[i], sge, 1);

		wr.send_flags = CAIRNDV_SEND_EARLY | IBV_SEND_SIGNALED;
		if (!persists(opcodes[i]))
			ktap_eq(post(&wr), EINVAL);
		else if (ktap_eq(post(&wr), 0))
			index = check_wqe(index, &wr);
	}
	ktap_eq(sq->host->index, index);
	ktap_eq(index, 2);
	close_qp();
}

static void signal_all(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
					 .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_qp *plain;

	open_qp(IBV_QPT_RC);
	plain = qp;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = fake.ops.create_qp(pd, &attr);
	qp->state = IBV_QPS_RTS;
	sq = fake_sq(qp);
	ktap_eq(post(&wr), 0);
	ktap_eq(((struct cairn_send_wqe *)fake_unit(sq, 0))->flags, 1);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	qp = plain;
	close_qp();
}

static void inline_sizes(void)
{
	static const uint32_t sizes[] = { 0, 1, 31, 32, 33, 95, 96, 97, 511,
					  512 };
	static const uint32_t units[] = { 1, 1, 1, 1, 2, 2, 2, 3, 9, 9 };
	uint32_t index = 0;

	open_qp_at(IBV_QPT_RC, 128, 0);
	for (size_t i = 0; i < NR(sizes); i++) {
		struct ibv_sge sge = { (uintptr_t)text, sizes[i], 0 };
		struct ibv_send_wr wr = any_wr(IBV_WR_RDMA_WRITE, NULL, 0);
		uint32_t next;

		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.send_flags = IBV_SEND_INLINE;
		ktap_eq(post(&wr), 0);
		next = check_wqe(index, &wr);
		ktap_eq(next - index, units[i]);
		index = next;
		ktap_eq(sq->host->index, index);
	}
	close_qp();
}

static void inline_too_long(void)
{
	struct ibv_sge sge[3] = { { (uintptr_t)text, 513, 0 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .num_sge = 1,
				  .sg_list = sge,
				  .send_flags = IBV_SEND_INLINE };

	open_qp(IBV_QPT_RC);
	ktap_eq(post(&wr), EINVAL);
	/* the sum of lengths must not wrap */
	sge[0].length = 0xffffffff;
	sge[1] = (struct ibv_sge){ (uintptr_t)text, 2, 0 };
	wr.num_sge = 2;
	ktap_eq(post(&wr), EINVAL);
	ktap_eq(sq->host->index, 0);
	/* a QP that was created for less */
	to_cqp(qp)->max_inline = 16;
	sge[0].length = 17;
	wr.num_sge = 1;
	ktap_eq(post(&wr), EINVAL);
	sge[0].length = 16;
	ktap_eq(post(&wr), 0);
	close_qp();
}

static void inline_gathers(void)
{
	struct ibv_sge sge[5] = {
		{ (uintptr_t)text, 30, 1 }, { 0, 0, 2 },
		{ (uintptr_t)text + 100, 5, 3 }, { (uintptr_t)text + 7, 64, 4 },
		{ 0, 0, 5 },
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .num_sge = 5,
				  .sg_list = sge,
				  .send_flags = IBV_SEND_INLINE };

	open_qp(IBV_QPT_RC);
	ktap_eq(post(&wr), 0);
	ktap_eq(check_wqe(0, &wr), 3);	/* 32 + 99 bytes */
	close_qp();
}

/* Only sends and writes can carry their data. */
static void inline_refused(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_LOCAL_INV };
	struct ibv_sge sge[1];

	open_qp(IBV_QPT_RC);
	for (size_t i = 0; i < NR(ops); i++) {
		struct ibv_send_wr wr = any_wr(ops[i], sge, 1);

		wr.send_flags = IBV_SEND_INLINE;
		ktap_eq(post(&wr), EINVAL);
	}
	close_qp();
}

static void sge_counts(void)
{
	struct ibv_sge sge[CAIRN_MAX_SGE + 1];
	uint32_t index = 0;

	open_qp_at(IBV_QPT_RC, 256, 0);
	for (int n = 0; n <= CAIRN_MAX_SGE; n++) {
		struct ibv_send_wr wr = any_wr(IBV_WR_SEND, sge, n);

		ktap_eq(post(&wr), 0);
		index = check_wqe(index, &wr);
	}
	ktap_eq(sq->host->index, index);
	close_qp();
}

static void sge_counts_refused(void)
{
	struct ibv_sge sge[CAIRN_MAX_SGE + 1];
	struct ibv_send_wr wr;

	open_qp(IBV_QPT_RC);
	wr = any_wr(IBV_WR_SEND, sge, CAIRN_MAX_SGE + 1);
	ktap_eq(post(&wr), EINVAL);
	wr = any_wr(IBV_WR_SEND, sge, 0);
	wr.num_sge = -1;
	ktap_eq(post(&wr), EINVAL);
	wr = any_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, sge, 1);
	wr.num_sge = 0;
	ktap_eq(post(&wr), EINVAL);
	wr.num_sge = 2;
	ktap_eq(post(&wr), EINVAL);
	ktap_eq(sq->host->index, 0);
	close_qp();
}

static void ud_needs_address(void)
{
	struct ibv_send_wr wr;

	open_qp(IBV_QPT_UD);
	wr = any_wr(IBV_WR_SEND, NULL, 0);
	wr.wr.ud.ah = NULL;
	ktap_eq(post(&wr), EINVAL);
	ktap_ok(bad == &wr);
	close_qp();
}

/* A WQE of three units on the last two slots and the first. */
static void wraps_at_ring_end(void)
{
	struct ibv_sge sge[CAIRN_MAX_SGE];
	struct ibv_send_wr wr;

	for (uint32_t start = 0; start < 16; start++) {
		open_qp_at(IBV_QPT_RC, 16, start);
		wr = any_wr(IBV_WR_RDMA_READ, sge, CAIRN_MAX_SGE);
		ktap_eq(post(&wr), 0);
		ktap_eq(check_wqe(start, &wr), start + 9);
		ktap_eq(sq->host->index, start + 9);
		close_qp();
	}
}

static void wraps_at_2_32(void)
{
	struct ibv_sge sge[CAIRN_MAX_SGE];
	struct ibv_send_wr wr;

	for (uint32_t start = 0xfffffff0; start != 2; start++) {
		uint32_t index = start;

		open_qp_at(IBV_QPT_RC, 64, start);
		for (int i = 0; i < 7; i++) {
			wr = any_wr(IBV_WR_RDMA_WRITE, sge, 30);
			ktap_eq(post(&wr), 0);
			index = check_wqe(index, &wr);
		}
		ktap_eq(index, start + 56);
		ktap_eq(sq->host->index, index);
		wr = any_wr(IBV_WR_RDMA_WRITE, sge, 31);	/* 9 units */
		ktap_eq(post(&wr), ENOMEM);
		sq->dev->index = start + 1;
		ktap_eq(post(&wr), 0);
		close_qp();
	}
}

static void full_queue(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	open_qp_at(IBV_QPT_RC, 16, 5);
	for (int i = 0; i < 16; i++)
		ktap_eq(post(&wr), 0);
	ktap_eq(post(&wr), ENOMEM);
	ktap_ok(bad == &wr);
	ktap_eq(sq->host->index, 21);
	sq->dev->index = 7;
	ktap_eq(post(&wr), 0);
	ktap_eq(post(&wr), 0);
	ktap_eq(post(&wr), ENOMEM);
	ktap_eq(sq->host->index, 23);
	close_qp();
}

/* Requests before the bad one are posted, later ones are not. */
static void bad_in_the_middle(void)
{
	struct ibv_send_wr wr[4] = {
		{ .opcode = IBV_WR_SEND, .next = &wr[1] },
		{ .opcode = IBV_WR_SEND, .next = &wr[2] },
		{ .opcode = IBV_WR_TSO, .next = &wr[3] },
		{ .opcode = IBV_WR_SEND },
	};

	open_qp(IBV_QPT_RC);
	*sq->asleep = 1;
	ktap_eq(post(wr), EINVAL);
	ktap_ok(bad == &wr[2]);
	ktap_eq(sq->host->index, 2);
	ktap_eq(fake.doorbells, 1);
	close_qp();
}

static void states(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	open_qp(IBV_QPT_RC);
	for (int s = IBV_QPS_RESET; s <= IBV_QPS_ERR; s++) {
		qp->state = (enum ibv_qp_state)s;
		ktap_eq(post(&wr), s < IBV_QPS_RTS ? EINVAL : 0);
	}
	close_qp();
}

static void doorbell_when_asleep(void)
{
	static const uint8_t want[40] = {
		40, 0, 0, 0x10, 0, 0x10, 1, 0,
		0, 0, 0, 0, 0, 0, 0, 0,
		0x52, 0x7d, 0x1a, 0xc4, 0, 0, 0, 0,
		0, 0x10, 8, 0, 1, 0, 0, 0,
		1, 0, 0, 0, 7, 0, 0, 0,		/* qid 1, index 7 */
	};
	struct ibv_send_wr wr[2] = {
		{ .opcode = IBV_WR_SEND, .next = &wr[1] },
		{ .opcode = IBV_WR_SEND },
	};

	open_qp_at(IBV_QPT_RC, 64, 1);
	ktap_eq(post(wr), 0);
	ktap_eq(post(wr), 0);
	ktap_eq(fake.doorbells, 0);
	*sq->asleep = 1;
	ktap_eq(post(wr), 0);	/* one for the list */
	ktap_eq(fake.doorbells, 1);
	ktap_eq(fake.doorbell.qid, sq->desc.qid);
	ktap_eq(fake.doorbell.index, 7);
	ktap_eq(memcmp(fake.ioctl_bytes, want, sizeof(want)), 0);
	*sq->asleep = 0;
	ktap_eq(post(wr), 0);
	ktap_eq(fake.doorbells, 1);
	close_qp();
}

/* The bit of the queue is set before the doorbell, and no other bit changes. */
static bool marked;

static bool is_marked(void)
{
	uint32_t bit = sq->desc.ready_bit;

	return sq->ready->words[bit / 64] == 1ull << bit % 64 &&
	       sq->ready->summary == 1ull << bit / 64;
}

static void look(const struct cairn_doorbell *db)
{
	(void)db;
	marked = is_marked();
}

static void ready_mark(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	uint32_t bit;

	open_qp(IBV_QPT_RC);
	bit = sq->desc.ready_bit;
	ktap_eq(post(&wr), 0);
	ktap_ok(is_marked());
	ktap_eq(post(&wr), 0);
	ktap_ok(is_marked());
	/* the device has taken the summary and is about to take the word */
	sq->ready->summary = 0;
	ktap_eq(post(&wr), 0);
	ktap_ok(is_marked());
	memset(sq->ready, 0, sizeof(*sq->ready));
	*sq->asleep = 1;
	fake.on_doorbell = look;
	marked = false;
	ktap_eq(post(&wr), 0);
	ktap_ok(marked);
	/* neighbours stay */
	memset(sq->ready, 0xff, sizeof(*sq->ready));
	sq->ready->words[bit / 64] &= ~(1ull << bit % 64);
	ktap_eq(post(&wr), 0);
	ktap_eq(sq->ready->words[bit / 64], ~0ull);
	ktap_eq(sq->ready->summary, ~0ull);
	memset(sq->ready, 0, sizeof(*sq->ready));
	/* without a post there is no mark */
	wr.num_sge = -1;
	ktap_eq(post(&wr), EINVAL);
	ktap_eq(sq->ready->summary, 0);
	close_qp();
}

static void doorbell_errors(void)
{
	struct ibv_send_wr wr[2] = {
		{ .opcode = IBV_WR_SEND, .next = &wr[1] },
		{ .opcode = IBV_WR_SEND },
	};

	open_qp(IBV_QPT_RC);
	*sq->asleep = 1;
	fake.ioctl_errors[0] = EINTR;
	fake.ioctl_errors[1] = EINTR;
	errno = 77;
	ktap_eq(post(wr), 0);
	ktap_eq(errno, 77);
	ktap_eq(fake.doorbells, 1);
	fake.ioctl_errors[0] = EIO;
	ktap_eq(post(wr), EIO);
	ktap_ok(bad == wr);
	close_qp();
}

static void no_send_queue(void)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { 0, 4, 1, 1, 0 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_qp *other;

	open_qp(IBV_QPT_RC);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	other = fake.ops.create_qp(pd, &attr);
	other->state = IBV_QPS_RTS;
	ktap_eq(fake.ops.post_send(other, &wr, &bad), EINVAL);
	ktap_ok(bad == &wr);
	ktap_eq(fake.ops.destroy_qp(other), 0);
	close_qp();
}

/* After RESET the ring is empty at any value of the device's pointer. */
static void reset(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	open_qp_at(IBV_QPT_RC, 16, 0);
	for (int i = 0; i < 16; i++)
		ktap_eq(post(&wr), 0);
	sq->dev->index = 3;
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_CUR_STATE), 0);
	ktap_eq(sq->host->index, 16);
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_STATE), 0);
	ktap_eq(sq->host->index, 3);
	for (int i = 0; i < 16; i++)
		ktap_eq(post(&wr), 0);
	ktap_eq(post(&wr), ENOMEM);
	ktap_eq(sq->host->index, 19);
	fake.fail = "modify_qp";
	fake.fail_err = EINVAL;
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
	ktap_eq(sq->host->index, 19);
	close_qp();
}

/* Random lists against a device that consumes at random. */
#define FLIGHT	64

static void random_run(enum ibv_qp_type type, uint32_t depth, uint32_t start)
{
	static struct ibv_sge sges[FLIGHT][CAIRN_MAX_SGE];
	static struct ibv_send_wr wrs[FLIGHT];
	uint32_t taken = 0, posted = 0, read = start;

	open_qp_at(type, depth, start);
	for (int round = 0; round < 2000; round++) {
		struct ibv_send_wr *wr = &wrs[posted % FLIGHT];
		struct ibv_sge *sge = sges[posted % FLIGHT];
		uint32_t before = sq->host->index;
		struct expected expected;
		int err;

		do {
			*wr = any_wr(opcodes[ktap_below(10)], sge,
				     (int)ktap_below(CAIRN_MAX_SGE + 1));
		} while (!allowed(type, wr->opcode));
		wr->send_flags = ktap_below(8);
		if (wr->opcode < IBV_WR_RDMA_READ && wr->num_sge < 9)
			wr->send_flags |= ktap_below(2) * IBV_SEND_INLINE;
		expect(&expected, wr);
		err = posted - taken == FLIGHT ? ENOMEM : post(wr);
		if (!err) {
			posted++;
			ktap_eq(sq->host->index, before + expected.units);
		} else {
			ktap_eq(err, ENOMEM);
			ktap_eq(sq->host->index, before);
			if (posted - taken < FLIGHT)
				ktap_ok(before + expected.units - read > depth);
		}
		while (taken != posted && (err || ktap_below(3) == 0)) {
			read = check_wqe(read, &wrs[taken++ % FLIGHT]);
			__atomic_store_n(&sq->dev->index, read,
					 __ATOMIC_RELEASE);
			err = 0;
		}
	}
	close_qp();
}

static void random_posts(void)
{
	random_run(IBV_QPT_RC, 16, 0);
	random_run(IBV_QPT_RC, 32, 0xffffff80);
	random_run(IBV_QPT_UC, 64, 0xfffffff1);
	random_run(IBV_QPT_UD, 16, 0x7fffffff);
}

static const struct ktap_test tests[] = {
	KTAP(header_bytes),
	KTAP(opcodes_rc),
	KTAP(opcodes_uc),
	KTAP(opcodes_ud),
	KTAP(windows_type_1),
	KTAP(windows_fail),
	KTAP(flags),
	KTAP(early_flag),
	KTAP(signal_all),
	KTAP(inline_sizes),
	KTAP(inline_too_long),
	KTAP(inline_gathers),
	KTAP(inline_refused),
	KTAP(sge_counts),
	KTAP(sge_counts_refused),
	KTAP(ud_needs_address),
	KTAP(wraps_at_ring_end),
	KTAP(wraps_at_2_32),
	KTAP(full_queue),
	KTAP(bad_in_the_middle),
	KTAP(states),
	KTAP(doorbell_when_asleep),
	KTAP(ready_mark),
	KTAP(doorbell_errors),
	KTAP(no_send_queue),
	KTAP(reset),
	KTAP(random_posts),
};

KTAP_MAIN(tests)
