// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The extended posting interface must put the same bytes into the ring as
 * ibv_post_send, whose layout test_send.c checks: both are made to post, on two
 * QPs, and the rings compared.
 */
#include <errno.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"

#if VERBS_CORE >= 45
#define FLUSH_OP	IBV_QP_EX_WITH_FLUSH
#else
#define FLUSH_OP	0
#endif
#define RC_OPS	(FLUSH_OP | IBV_QP_EX_WITH_RDMA_WRITE |		\
		 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |			\
		 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |	\
		 IBV_QP_EX_WITH_RDMA_READ |				\
		 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |			\
		 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |			\
		 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |	\
		 IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE)
#define UD_OPS	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define UC_OPS	(UD_OPS | IBV_QP_EX_WITH_RDMA_WRITE |			\
		 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |			\
		 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_ah *ah;
static struct ibv_qp *plain, *qp;
static struct ibv_qp_ex *qpx;
static struct fake_ring *want, *sq;
static struct ibv_mr region = { .lkey = 0x3141 };
static struct ibv_mw window = { .type = IBV_MW_TYPE_2 };
static uint8_t text[2048];

static void open_qps_at(enum ibv_qp_type type, uint64_t ops, uint32_t depth,
			uint32_t start)
{
	struct ibv_ah_attr ah_attr = {};

	fake_reset();
	ctx = fake_open();
	pd = fake_pd(ctx);
	cq = fake_cq(ctx, 4);
	ah = fake.ops.create_ah(pd, &ah_attr);
	fake.sq_depth = depth;
	fake.start_index = start;
	plain = fake_qp(pd, cq, type, 0);
	qp = fake_qp(pd, cq, type, ops);
	qpx = ibv_qp_to_qp_ex(qp);
	want = fake_sq(plain);
	sq = fake_sq(qp);
	memset(want->units, 0, want->desc.ring_bytes);
	memset(sq->units, 0, sq->desc.ring_bytes);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 13 + 1);
}

static void open_qps(enum ibv_qp_type type, uint64_t ops)
{
	open_qps_at(type, ops, 64, 0);
}

static void close_qps(void)
{
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_qp(plain), 0);
	ktap_eq(fake.ops.destroy_ah(ah), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	fake_close(ctx);
	ktap_eq(fake.maps, 0);
	ktap_eq(fake.objects, 0);
}

static void build(const struct ibv_send_wr *wr)
{
	uint64_t addr = wr->wr.rdma.remote_addr;
	uint32_t rkey = wr->wr.rdma.rkey;

	qpx->wr_id = wr->wr_id;
	qpx->wr_flags = wr->send_flags;
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qpx);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qpx, wr->imm_data);
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qpx, wr->invalidate_rkey);
		break;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(qpx, wr->invalidate_rkey);
		break;
	case IBV_WR_BIND_MW:
		ibv_wr_bind_mw(qpx, wr->bind_mw.mw, wr->bind_mw.rkey,
			       &wr->bind_mw.bind_info);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qpx, rkey, addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qpx, rkey, addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qpx, rkey, addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qpx, wr->wr.atomic.rkey,
				      wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add,
				      wr->wr.atomic.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(qpx, wr->wr.atomic.rkey,
					wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		break;
	default:
		if (wr->opcode == CAIRNDV_WR_WRITE_PERSIST)
			ktap_eq(cairndv_wr_write_persist(qpx, rkey, addr), 0);
		else if (wr->opcode == CAIRNDV_WR_WRITE_PERSIST_WITH_IMM)
			ktap_eq(cairndv_wr_write_persist_imm(qpx, rkey, addr,
							     wr->imm_data), 0);
		break;
	}
}

static void set(const struct ibv_send_wr *wr)
{
	struct ibv_data_buf bufs[CAIRN_MAX_SGE];

	if (qp->qp_type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(qpx, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
				   wr->wr.ud.remote_qkey);
	if (wr->opcode == IBV_WR_LOCAL_INV || wr->opcode == IBV_WR_BIND_MW)
		return;
	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		if (wr->num_sge == 1)
			ibv_wr_set_sge(qpx, wr->sg_list[0].lkey,
				       wr->sg_list[0].addr,
				       wr->sg_list[0].length);
		else if (wr->num_sge)
			ibv_wr_set_sge_list(qpx, (size_t)wr->num_sge,
					    wr->sg_list);
		return;
	}
	for (int i = 0; i < wr->num_sge; i++)
		bufs[i] = (struct ibv_data_buf){
			(void *)(uintptr_t)wr->sg_list[i].addr,
			wr->sg_list[i].length };
	if (wr->num_sge == 1)
		ibv_wr_set_inline_data(qpx, bufs[0].addr, bufs[0].length);
	else
		ibv_wr_set_inline_data_list(qpx, (size_t)wr->num_sge, bufs);
}

static void compare(void)
{
	ktap_eq(sq->host->index, want->host->index);
	ktap_eq(memcmp(sq->units, want->units, want->desc.ring_bytes), 0);
}

static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_LOCAL_INV, IBV_WR_BIND_MW,
	IBV_WR_SEND_WITH_INV,
	IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD, CAIRNDV_WR_WRITE_PERSIST,
	CAIRNDV_WR_WRITE_PERSIST_WITH_IMM,
};

static unsigned int opcodes_of(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD ? 2 : type == IBV_QPT_UC ? 6 : 12;
}

static bool persists(enum ibv_wr_opcode opcode)
{
	return opcode == CAIRNDV_WR_WRITE_PERSIST ||
	       opcode == CAIRNDV_WR_WRITE_PERSIST_WITH_IMM;
}

static void random_data(struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	bool atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		      wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	wr->num_sge = atomic ? 1 : (int)ktap_below(9);
	wr->send_flags = ktap_below(8);
	if (wr->opcode <= IBV_WR_SEND_WITH_IMM || persists(wr->opcode))
		wr->send_flags |= ktap_below(2) * IBV_SEND_INLINE;
	if (persists(wr->opcode))
		wr->send_flags |= ktap_below(2) * CAIRNDV_SEND_EARLY;
	for (int i = 0; i < wr->num_sge; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)text + ktap_below(900),
					   ktap_below(64),
					   (uint32_t)ktap_rand() };
	wr->sg_list = sge;
}

static struct ibv_send_wr random_wr(struct ibv_sge *sge)
{
	struct ibv_send_wr wr = {
		.wr_id = ktap_rand(),
		.opcode = opcodes[ktap_below(opcodes_of(qp->qp_type))],
		.invalidate_rkey = (uint32_t)ktap_rand(),
	};

	if (qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = (uint32_t)ktap_rand();
		wr.wr.ud.remote_qkey = (uint32_t)ktap_rand();
	} else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = ktap_rand();
		wr.wr.atomic.compare_add = ktap_rand();
		if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
			wr.wr.atomic.swap = ktap_rand();
		wr.wr.atomic.rkey = (uint32_t)ktap_rand();
	} else if (wr.opcode == IBV_WR_BIND_MW) {
		wr.bind_mw.mw = &window;
		wr.bind_mw.rkey = (uint32_t)ktap_rand();
		wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
			&region, ktap_rand(), ktap_rand(), ktap_below(64) };
	} else {
		wr.wr.rdma.remote_addr = ktap_rand();
		wr.wr.rdma.rkey = (uint32_t)ktap_rand();
	}
	random_data(&wr, sge);
	return wr;
}

static void same_as_post_send(enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_send_wr *bad;
	struct ibv_sge sge[9];

	open_qps_at(type, ops, 64, 0xfffff000);
	for (int round = 0; round < 1000; round++) {
		uint32_t batch = ktap_below(5);

		ibv_wr_start(qpx);
		while (batch--) {
			struct ibv_send_wr wr = random_wr(sge);

			build(&wr);
			set(&wr);
			ktap_eq(fake.ops.post_send(plain, &wr, &bad), 0);
		}
		ktap_eq(ibv_wr_complete(qpx), 0);
		compare();
		want->dev->index = want->host->index;
		sq->dev->index = sq->host->index;
	}
	close_qps();
}

static void same_rc(void)
{
	same_as_post_send(IBV_QPT_RC, RC_OPS);
}

static void same_uc(void)
{
	same_as_post_send(IBV_QPT_UC, UC_OPS);
}

static void same_ud(void)
{
	same_as_post_send(IBV_QPT_UD, UD_OPS);
}

/* A window keeps its key if the batch that binds it is not posted. */
static void bind_not_posted(void)
{
	const struct ibv_mw_bind_info info = { &region, 0x1000, 77, IBV_ACCESS_REMOTE_READ };
	struct ibv_mw other = { .type = IBV_MW_TYPE_2, .rkey = 0x4400 };

	open_qps(IBV_QPT_RC, RC_OPS);
	window.rkey = 0x77fe;
	for (int err = 0; err < 2; err++) {
		ibv_wr_start(qpx);
		qpx->wr_flags = 0;
		for (uint32_t i = 1; i <= 5; i++) {
			ibv_wr_bind_mw(qpx, &window, i, &info);
			ktap_eq(window.rkey, 0x7700 + i);
			ibv_wr_bind_mw(qpx, &other, i, &info);
		}
		if (err)	/* it takes no data */
			ibv_wr_set_sge(qpx, 1, 2, 3);
		if (err)
			ktap_eq(ibv_wr_complete(qpx), EINVAL);
		else
			ibv_wr_abort(qpx);
		ktap_eq(window.rkey, 0x77fe);
		ktap_eq(other.rkey, 0x4400);
	}
	ibv_wr_start(qpx);
	ibv_wr_bind_mw(qpx, &window, 3, &info);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ibv_wr_start(qpx);
	ibv_wr_abort(qpx);
	ktap_eq(window.rkey, 0x7703);
	close_qps();
}

/* A feature that the QP or the operation lacks fails the batch. */
static void persist_refused(void)
{
	static const struct verbs_device_ops other;
	struct verbs_device vdev = { .ops = &other };
	struct ibv_device *ours;

	open_qps(IBV_QPT_UC, UC_OPS);
	ibv_wr_start(qpx);
	qpx->wr_flags = 0;
	ktap_eq(cairndv_wr_write_persist(qpx, 1, 2), 0);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	ibv_wr_start(qpx);
	ktap_eq(cairndv_wr_write_persist_imm(qpx, 1, 2, 3), 0);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	close_qps();
	open_qps(IBV_QPT_RC, RC_OPS);
	ibv_wr_start(qpx);
	qpx->wr_flags = CAIRNDV_SEND_EARLY;
	ibv_wr_rdma_write(qpx, 1, 2);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	ours = ctx->device;
	ctx->device = &vdev.device;
	ktap_eq(cairndv_wr_write_persist(qpx, 1, 2), EOPNOTSUPP);
	ktap_eq(cairndv_wr_write_persist_imm(qpx, 1, 2, 3), EOPNOTSUPP);
	ctx->device = ours;
	ktap_eq(sq->host->index, 0);
	close_qps();
}

/* The WQE has the fields of the wire, and no others. */
static void flush_and_word(void)
{
	const struct cairn_send_wqe *wqe;
	uint64_t word = 0x1122334455667788;
	struct ibv_sge sge = { 0x7000, 0, 0x77 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_WRITE, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { 0x5008, 0x32 },
	}, *bad;

	open_qps(IBV_QPT_RC, RC_OPS);
	wqe = (const void *)sq->units;
	memset(sq->units, 0xee, 2 * CAIRN_UNIT_SIZE);
	ibv_wr_start(qpx);
	qpx->wr_id = 5;
	qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
#if VERBS_CORE >= 45
	ibv_wr_flush(qpx, 0x31, 0x4000, 8ull << 30,
		     IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR);
#else
	ktap_eq(cairndv_wr_flush(qpx, 0x31, 0x4000, 8ull << 30,
				 CAIRNDV_FLUSH_TYPES, CAIRNDV_FLUSH_MR), 0);
#endif
	qpx->wr_id = 6;
	ibv_wr_atomic_write(qpx, 0x32, 0x5008, &word);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(sq->host->index, 2);
	ktap_eq(wqe->wr_id, 5);
	ktap_eq(wqe->opcode, CAIRN_WQE_FLUSH);
	ktap_eq(wqe->flags, CAIRN_WQE_SIGNALED | CAIRN_WQE_FENCE);
	ktap_eq(wqe->num_sge, 0);
	ktap_eq(wqe->rkey, 0x31);
	ktap_eq(wqe->remote_addr, 0x4000);
	ktap_eq(wqe->flush.length, 0);	/* all of the region: the length is ignored */
	ktap_eq(wqe->flush.plt, 3);
	ktap_eq(wqe->flush.sel, 1);
	ktap_eq(wqe->flush.reserved, 0);
	wqe = (const void *)((const uint8_t *)wqe + CAIRN_UNIT_SIZE);
	ktap_eq(wqe->wr_id, 6);
	ktap_eq(wqe->opcode, CAIRN_WQE_ATOMIC_WRITE);
	ktap_ok(wqe->flags & CAIRN_WQE_INLINE);
	ktap_eq(wqe->inline_len, 8);
	ktap_eq(wqe->units, 1);
	ktap_ok(!memcmp(wqe->inline_data, &word, 8));
	/* the same from ibv_post_send(): 8 bytes, no more, no less */
	for (sge.length = 7; sge.length < 10; sge.length++)
		ktap_eq(fake.ops.post_send(plain, &wr, &bad),
			sge.length == 8 ? 0 : EINVAL);
	wqe = (const void *)want->units;
	ktap_eq(want->host->index, 1);
	ktap_eq(wqe->opcode, CAIRN_WQE_ATOMIC_WRITE);
	ktap_eq(wqe->remote_addr, 0x5008);
	ktap_eq(wqe->rkey, 0x32);
	ktap_eq(wqe->sge[0].length, 8);
	close_qps();
}

/* The longest range has the longest length of the wire. */
static void flush_range(void)
{
	const struct cairn_send_wqe *wqe;

	open_qps(IBV_QPT_RC, RC_OPS);
	wqe = (const void *)sq->units;
	qpx->wr_flags = 0;
	ibv_wr_start(qpx);
	ktap_eq(cairndv_wr_flush(qpx, 0x31, 0x4000, UINT32_MAX,
				 CAIRNDV_FLUSH_GLOBAL, CAIRNDV_FLUSH_RANGE), 0);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(wqe->remote_addr, 0x4000);
	ktap_eq(wqe->flush.length, UINT32_MAX);
	ktap_eq(wqe->flush.plt, 1);
	ktap_eq(wqe->flush.sel, 0);
	close_qps();
}

/* Tokens are inline data, whatever their number, and wrap with the ring. */
static void tokens_posted(void)
{
	static const uint32_t nums[] = { 1, 4, 5, 63, 64 };
	const struct cairn_send_wqe *wqe;
	uint64_t tokens[64], got[64];
	uint32_t at = 60;

	for (uint32_t i = 0; i < 64; i++)
		tokens[i] = 0x1122334400000000 + i;
	open_qps_at(IBV_QPT_RC, RC_OPS, 64, at);
	for (size_t i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		wqe = (const void *)(sq->units + at % 64 * CAIRN_UNIT_SIZE);
		memset(sq->units, 0xee, sq->desc.ring_bytes);
		qpx->wr_id = 5 + i;
		qpx->wr_flags = IBV_SEND_SIGNALED | (i ? IBV_SEND_FENCE : 0);
		ibv_wr_start(qpx);
		ktap_eq(cairndv_wr_persist_done(qpx, tokens, nums[i], i ? 0 : EIO), 0);
		ktap_eq(ibv_wr_complete(qpx), 0);
		ktap_eq(wqe->wr_id, 5 + i);
		ktap_eq(wqe->opcode, CAIRN_WQE_PERSIST_DONE);
		ktap_eq(wqe->flags, CAIRN_WQE_SIGNALED | CAIRN_WQE_INLINE |
			(i ? CAIRN_WQE_FENCE : 0));
		ktap_eq(wqe->num_sge, 0);
		ktap_eq(wqe->remote_addr, 0);
		ktap_eq(wqe->rkey, 0);
		ktap_eq(wqe->imm_or_key, i ? 0 : EIO);
		ktap_eq(wqe->inline_len, 8 * nums[i]);
		ktap_eq(wqe->units, (32 + 8 * nums[i] + 63) / 64);
		for (uint32_t j = 0; j < nums[i]; j++)
			memcpy(&got[j], sq->units + (at * 64 + 32 + 8 * j) % (64 * 64), 8);
		ktap_ok(!memcmp(got, tokens, 8 * nums[i]));
		at += wqe->units;
		ktap_eq(sq->host->index, at);
		sq->dev->index = at;
	}
	close_qps();
}

static void tokens_refused(void)
{
	static const struct {
		uint32_t num;
		int status;
	} bad[] = { { 0, 0 }, { 65, 0 }, { 1, -EIO }, { 1u << 29, 0 } };
	struct verbs_device vdev = {};
	struct ibv_device *ours;
	uint64_t tokens[65] = {};

	open_qps(IBV_QPT_RC, RC_OPS);
	qpx->wr_flags = 0;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ibv_wr_start(qpx);
		ktap_eq(cairndv_wr_persist_done(qpx, tokens, bad[i].num, bad[i].status), 0);
		ktap_eq(ibv_wr_complete(qpx), EINVAL);
	}
	/* no data follows */
	ibv_wr_start(qpx);
	cairndv_wr_persist_done(qpx, tokens, 1, 0);
	ibv_wr_set_inline_data(qpx, text, 8);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	ibv_wr_start(qpx);
	cairndv_wr_persist_done(qpx, tokens, 1, 0);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	/* no more than the queue pair has inline data */
	((struct cairn_qp *)qp)->max_inline = 32;
	for (uint32_t i = 4; i < 6; i++) {
		ibv_wr_start(qpx);
		cairndv_wr_persist_done(qpx, tokens, i, 0);
		ktap_eq(ibv_wr_complete(qpx), i == 4 ? 0 : EINVAL);
	}
	ours = ctx->device;
	ctx->device = &vdev.device;
	ktap_eq(cairndv_wr_persist_done(qpx, tokens, 1, 0), EOPNOTSUPP);
	ctx->device = ours;
	ktap_eq(sq->host->index, 1);
	close_qps();
	open_qps(IBV_QPT_UC, UC_OPS);
	ibv_wr_start(qpx);
	cairndv_wr_persist_done(qpx, tokens, 1, 0);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	close_qps();
}

static void flush_refused(void)
{
	static const struct {
		size_t length;
		uint8_t type, level;
	} bad[] = {
		{ 8, 0, 0 }, { 8, 4, 0 }, { 8, 1, 2 }, { 1ull << 32, 1, 0 },
	};

	open_qps(IBV_QPT_RC, RC_OPS);
	qpx->wr_flags = 0;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ibv_wr_start(qpx);
		ktap_eq(cairndv_wr_flush(qpx, 1, 2, bad[i].length, bad[i].type,
					 bad[i].level), 0);
		ktap_eq(ibv_wr_complete(qpx), EINVAL);
	}
	/* neither has data */
	ibv_wr_start(qpx);
	cairndv_wr_flush(qpx, 1, 2, 8, 1, 0);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	ibv_wr_start(qpx);
	ibv_wr_atomic_write(qpx, 1, 2, text);
	ibv_wr_set_inline_data(qpx, text, 8);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	ktap_eq(sq->host->index, 0);
	close_qps();
	open_qps(IBV_QPT_UC, UC_OPS);
	ibv_wr_start(qpx);
	cairndv_wr_flush(qpx, 1, 2, 8, 1, 0);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	close_qps();
}

static void abort_discards(void)
{
	open_qps_at(IBV_QPT_RC, RC_OPS, 16, 3);
	for (int i = 0; i < 20; i++) {
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		ibv_wr_set_sge(qpx, 1, 2, 3);
		ibv_wr_send(qpx);
		ibv_wr_abort(qpx);
	}
	ktap_eq(sq->host->index, 3);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(sq->host->index, 4);
	ibv_wr_start(qpx);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(sq->host->index, 4);
	close_qps();
}

static void inline_sizes(void)
{
	static const size_t sizes[] = { 0, 31, 32, 33, 511, 512, 513,
					SIZE_MAX };
	static const uint32_t units[] = { 1, 1, 1, 2, 9, 9, 0, 0 };
	uint32_t index = 0;

	open_qps(IBV_QPT_RC, RC_OPS);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ibv_wr_start(qpx);
		ibv_wr_rdma_write(qpx, 1, 2);
		ibv_wr_set_inline_data(qpx, text, sizes[i]);
		ktap_eq(ibv_wr_complete(qpx), units[i] ? 0 : EINVAL);
		index += units[i];
		ktap_eq(sq->host->index, index);
	}
	close_qps();
}

static void inline_sum(void)
{
	struct ibv_data_buf bufs[2] = { { text, 500 }, { text, SIZE_MAX - 8 } };

	open_qps(IBV_QPT_RC, RC_OPS);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data_list(qpx, 2, bufs);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	bufs[1].length = 12;
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data_list(qpx, 2, bufs);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(sq->host->index, 9);
	close_qps();
}

/* Each of these spoils a batch whose other requests are fine. */
static void spoil_flags(void)
{
	qpx->wr_flags = IBV_SEND_IP_CSUM;
	ibv_wr_send(qpx);
	qpx->wr_flags = 0;
}

static void spoil_sges(void)
{
	struct ibv_sge sge[CAIRN_MAX_SGE + 1] = {};

	ibv_wr_send(qpx);
	ibv_wr_set_sge_list(qpx, CAIRN_MAX_SGE + 1, sge);
}

static void spoil_inline_read(void)
{
	ibv_wr_rdma_read(qpx, 1, 2);
	ibv_wr_set_inline_data(qpx, text, 8);
}

static void spoil_atomic_no_data(void)
{
	ibv_wr_atomic_fetch_add(qpx, 1, 8, 2);
}

static void spoil_atomic_two(void)
{
	struct ibv_sge sge[2] = {};

	ibv_wr_atomic_cmp_swp(qpx, 1, 8, 2, 3);
	ibv_wr_set_sge_list(qpx, 2, sge);
}

static void spoil_local_data(void)
{
	ibv_wr_local_inv(qpx, 1);
	ibv_wr_set_sge(qpx, 1, 2, 3);
}

static void errors(void)
{
	static void (*const spoil[])(void) = {
		spoil_flags, spoil_sges, spoil_inline_read,
		spoil_atomic_no_data, spoil_atomic_two, spoil_local_data,
	};

	open_qps(IBV_QPT_RC, RC_OPS);
	*sq->asleep = 1;
	for (size_t i = 0; i < sizeof(spoil) / sizeof(spoil[0]); i++) {
		ibv_wr_start(qpx);
		ibv_wr_send(qpx);
		ibv_wr_set_sge(qpx, 1, 2, 3);
		spoil[i]();
		ibv_wr_send(qpx);
		ibv_wr_set_sge(qpx, 1, 2, 3);
		ktap_eq(ibv_wr_complete(qpx), EINVAL);
		ktap_eq(sq->host->index, 0);
	}
	ktap_eq(fake.doorbells, 0);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(sq->host->index, 1);
	ktap_eq(fake.doorbells, 1);
	ktap_eq(fake.doorbell.index, 1);
	close_qps();
}

static void ud_address(void)
{
	open_qps(IBV_QPT_UD, UD_OPS);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_ud_addr(qpx, NULL, 1, 2);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	/* setters in the other order */
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	ibv_wr_set_ud_addr(qpx, ah, 1, 2);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(sq->host->index, 1);
	close_qps();
}

static void full_queue(void)
{
	open_qps_at(IBV_QPT_RC, RC_OPS, 16, 0xfffffffa);
	ibv_wr_start(qpx);
	for (int i = 0; i < 17; i++)
		ibv_wr_send(qpx);
	ktap_eq(ibv_wr_complete(qpx), ENOMEM);
	ktap_eq(sq->host->index, 0xfffffffa);
	ibv_wr_start(qpx);
	for (int i = 0; i < 16; i++)
		ibv_wr_send(qpx);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(sq->host->index, 10);
	/* room for the header but not for the data */
	sq->dev->index++;
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data(qpx, text, 33);
	ktap_eq(ibv_wr_complete(qpx), ENOMEM);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data(qpx, text, 32);
	ktap_eq(ibv_wr_complete(qpx), 0);
	ktap_eq(sq->host->index, 11);
	close_qps();
}

static void states(void)
{
	open_qps(IBV_QPT_RC, RC_OPS);
	qp->state = IBV_QPS_RTR;
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	qp->state = IBV_QPS_ERR;
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ktap_eq(ibv_wr_complete(qpx), 0);
	close_qps();
}

/* The lock is held from start to complete or abort, and released by both. */
static void locking(void)
{
	pthread_spinlock_t *lock;

	open_qps(IBV_QPT_RC, RC_OPS);
	lock = &to_cqp(qp)->sq.lock;
	ibv_wr_start(qpx);
	ktap_eq(pthread_spin_trylock(lock), EBUSY);
	ibv_wr_abort(qpx);
	ktap_eq(pthread_spin_trylock(lock), 0);
	pthread_spin_unlock(lock);
	ibv_wr_start(qpx);
	ibv_wr_atomic_fetch_add(qpx, 1, 2, 3);
	ktap_eq(ibv_wr_complete(qpx), EINVAL);
	ktap_eq(pthread_spin_trylock(lock), 0);
	pthread_spin_unlock(lock);
	close_qps();
}

static void supported_ops(void)
{
	static const struct {
		enum ibv_qp_type type;
		uint64_t ops;
	} types[] = {
		{ IBV_QPT_RC, RC_OPS },
		{ IBV_QPT_UC, UC_OPS },
		{ IBV_QPT_UD, UD_OPS },
		{ IBV_QPT_RAW_PACKET, 0 },
		{ IBV_QPT_XRC_SEND, RC_OPS & ~(IBV_QP_EX_WITH_LOCAL_INV |
					       IBV_QP_EX_WITH_BIND_MW) },
	};

	open_qps(IBV_QPT_RC, RC_OPS);
	for (size_t t = 0; t < 5; t++)
		for (uint64_t op = 1; op; op <<= 1) {
			struct ibv_qp *other;

			errno = 0;
			other = fake_qp(pd, cq, types[t].type, op);
			if (!(types[t].ops & op)) {
				ktap_ok(!other);
				ktap_eq(errno, EOPNOTSUPP);
			} else if (ktap_ok(other != NULL)) {
				ktap_ok(ibv_qp_to_qp_ex(other));
				fake.ops.destroy_qp(other);
			}
		}
	ktap_ok(!ibv_qp_to_qp_ex(plain));
	close_qps();
}

static void create_masks(void)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .cap = { 4, 4, 1, 1, 64 } };
	struct ibv_qp *other;

	open_qps(IBV_QPT_RC, RC_OPS);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	attr.pd = pd;
	ktap_ok(!fake.ops.create_qp_ex(ctx, &attr));
	ktap_eq(errno, EINVAL);
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	ktap_ok(!fake.ops.create_qp_ex(ctx, &attr));
	ktap_eq(errno, EOPNOTSUPP);
	attr.create_flags = 0;
	other = fake.ops.create_qp_ex(ctx, &attr);
	if (ktap_ok(other != NULL)) {
		ktap_eq(fake.qp_attr.comp_mask, IBV_QP_INIT_ATTR_PD);
		ktap_ok(!ibv_qp_to_qp_ex(other));
		ktap_eq(fake.ops.destroy_qp(other), 0);
	}
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD;
	ktap_ok(!fake.ops.create_qp_ex(ctx, &attr));
	ktap_eq(errno, EOPNOTSUPP);
	close_qps();
}

static const struct ktap_test tests[] = {
	KTAP(same_rc),
	KTAP(same_uc),
	KTAP(same_ud),
	KTAP(persist_refused),
	KTAP(flush_and_word),
	KTAP(flush_range),
	KTAP(flush_refused),
	KTAP(tokens_posted),
	KTAP(tokens_refused),
	KTAP(abort_discards),
	KTAP(bind_not_posted),
	KTAP(inline_sizes),
	KTAP(inline_sum),
	KTAP(errors),
	KTAP(ud_address),
	KTAP(full_queue),
	KTAP(states),
	KTAP(locking),
	KTAP(supported_ops),
	KTAP(create_masks),
};

KTAP_MAIN(tests)
