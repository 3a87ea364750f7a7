// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WRITE_PERSIST through direct verbs: registration, both flushes, both completion
 * modes, tokens, deaths. Device a writes, device b is the target. The devdax
 * device is in CAIRN_DAX; tests that need it are skipped without.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <rdma/ib_user_verbs.h>
#include "vt_persist.h"
#include "vt_test.h"

#define BUF		VT_DAX_UNIT
#define LONG_MS		vt_ms(30000)
/* wait this long for completions that must not come */
#define SHORT_MS	vt_ms(150)
#define NR(array)	(sizeof(array) / sizeof((array)[0]))
#define IMM		0x12345600u
#define REPLICAS	3

static struct vt_dev da, db;

/* A writer at a, and a target at b with a persistent region. */
struct pair {
	struct vt_end a, b;
	struct vt_region to;
};

static struct ibv_mr *persist_reg(void *buf, size_t len, unsigned int access)
{
	return ibv_reg_mr(db.pd, buf, len, access);
}

static void pair_create_with(struct pair *pair, unsigned int kind,
			     const struct vt_opts *opts)
{
	memset(pair, 0, sizeof(*pair));
	must(!vt_end_create(&pair->a, &da, opts, BUF));
	must(!vt_end_create(&pair->b, &db, opts, 4096));
	must(!vt_connect(&pair->a, &pair->b));
	must(!vt_region_create(&pair->to, &db, kind, BUF, 0));
	vt_fill(pair->a.buf, BUF, 42);
}

static void pair_create(struct pair *pair, unsigned int kind)
{
	struct vt_opts opts = VT_OPTS;

	pair_create_with(pair, kind, &opts);
}

static void pair_destroy(struct pair *pair)
{
	vt_end_destroy(&pair->a);
	vt_end_destroy(&pair->b);
	ktap_eq(vt_region_destroy(&pair->to), 0);
}

static void post_recvs(struct vt_end *end, u64 first, int n)
{
	for (; n; n--)
		must(!vt_recv(end, first++));
}

/* --- groups of queue pairs ------------------------------------------------ */

/* Writers whose completions come to the queue of the first one. Each target has @recvs
 * receives.
 */
static void replicas_create(struct pair pair[REPLICAS],
			    const unsigned int kinds[REPLICAS], int recvs)
{
	struct vt_opts opts = VT_OPTS;
	int i;

	for (i = 0; i < REPLICAS; i++) {
		pair_create_with(&pair[i], kinds[i], &opts);
		opts.send_cq = pair[0].a.scq;
		post_recvs(&pair[i].b, 7, recvs);
	}
}

/* The pair that has the shared queue is the last one. */
static void replicas_destroy(struct pair pair[REPLICAS])
{
	int i;

	for (i = REPLICAS; i--;)
		pair_destroy(&pair[i]);
}

static struct cairndv_group_dest replica_dest(const struct pair *pair, size_t at)
{
	return (struct cairndv_group_dest){
		.remote_addr = (uintptr_t)pair->to.buf + at, .rkey = pair->to.mr->rkey,
	};
}

/* The next completion of the group, which must come and be of this kind. */
static struct cairndv_group_wc next_of_group(struct cairndv_persist_group *group, u32 kind)
{
	u64 end = vt_now_ms() + vt_ms(20000);
	struct cairndv_group_wc wc = {};
	unsigned int idle = 0;
	int n;

	while (!(n = cairndv_persist_group_poll(group, 1, &wc)) &&
	       vt_now_ms() < end)
		vt_relax(&idle);
	must(n == 1);
	ktap_eq(wc.kind, kind);
	return wc;
}

/* --- one step each ------------------------------------------------------- */

static struct ibv_send_wr write_wr(struct pair *pair, struct ibv_sge *sge, u64 id,
				   size_t from, size_t to, u32 len)
{
	*sge = (struct ibv_sge) {
		.addr = (uintptr_t)pair->a.buf + from, .length = len,
		.lkey = pair->a.mr->lkey,
	};
	return (struct ibv_send_wr) {
		.wr_id = id, .sg_list = sge, .num_sge = len != 0,
		.send_flags = IBV_SEND_SIGNALED,
		.opcode = CAIRNDV_WR_WRITE_PERSIST,
		.wr.rdma = {
			.remote_addr = (uintptr_t)pair->to.buf + to,
			.rkey = pair->to.mr->rkey,
		},
	};
}

static void persist_post(struct pair *pair, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	must(!ibv_post_send(pair->a.qp, wr, &bad));
}

/* Post @len bytes between equal offsets. The immediate data, if any, is IMM + @id. */
static void post_as(struct pair *pair, enum ibv_wr_opcode opcode, u64 id, size_t at,
		    u32 len, unsigned int flags)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = write_wr(pair, &sge, id, at, at, len);

	wr.opcode = opcode;
	wr.imm_data = htobe32(IMM + id);
	wr.send_flags |= flags;
	persist_post(pair, &wr);
}

static void post_write(struct pair *pair, u64 id, size_t at, u32 len,
		       unsigned int flags)
{
	post_as(pair, CAIRNDV_WR_WRITE_PERSIST, id, at, len, flags);
}

static void post_imm(struct pair *pair, u64 id, size_t at, u32 len, unsigned int flags)
{
	post_as(pair, CAIRNDV_WR_WRITE_PERSIST_WITH_IMM, id, at, len, flags);
}

/* Post a SEND of no bytes. */
static void post_send(struct pair *pair, u64 id, unsigned int flags)
{
	post_as(pair, IBV_WR_SEND, id, 0, 0, flags);
}

/* Ask how the region that @rkey names becomes durable, without a WRITE. */
static void post_question(struct pair *pair, u64 id, u32 rkey)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = write_wr(pair, &sge, id, 0, 64, 0);

	wr.wr.rdma.rkey = rkey;
	persist_post(pair, &wr);
}

static bool try_poll(struct ibv_cq *cq, struct ibv_wc *wc,
		     struct cairndv_persist_info *info, int ms)
{
	u64 end = vt_now_ms() + ms;
	unsigned int idle = 0;
	int n;

	do {
		n = cairndv_poll_cq(cq, 1, wc, info);
		if (!n)
			vt_relax(&idle);
	} while (!n && vt_now_ms() < end);
	must(n >= 0);
	return n == 1;
}

static bool persist_nothing(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	if (!try_poll(cq, &wc, NULL, SHORT_MS))
		return true;
	ktap_diag("completion %llu, status %d, opcode %d",
		  (unsigned long long)wc.wr_id, wc.status, wc.opcode);
	return false;
}

/* The next completion, which must come and be of this kind. */
static struct cairndv_persist_info persist_next(struct ibv_cq *cq, u64 id, int status,
						u32 kind)
{
	struct cairndv_persist_info info;
	struct ibv_wc wc;

	must(try_poll(cq, &wc, &info, LONG_MS));
	ktap_eq(wc.wr_id, id);
	if (!ktap_eq(wc.status, status))
		ktap_diag("vendor_err %#x", wc.vendor_err);
	ktap_eq(info.kind, kind);
	if (!status)
		ktap_eq(wc.opcode, kind == CAIRNDV_PERSIST_WRITE ?
			IBV_WC_RDMA_WRITE : kind == CAIRNDV_PERSIST_NONE ?
			wc.opcode : IBV_WC_RECV);
	return info;
}

static void next_written(struct pair *pair, u64 id)
{
	persist_next(pair->a.scq, id, IBV_WC_SUCCESS, CAIRNDV_PERSIST_WRITE);
}

static struct cairndv_persist_info next_flush(struct pair *pair, u64 id)
{
	return persist_next(pair->b.rcq, id, IBV_WC_SUCCESS, CAIRNDV_PERSIST_FLUSH);
}

/* The next receive at the target has @imm and is of @kind. */
static struct cairndv_persist_info next_told(struct pair *pair, u64 id, u32 imm,
					     u32 kind)
{
	struct cairndv_persist_info info;
	struct ibv_wc wc;

	must(try_poll(pair->b.rcq, &wc, &info, LONG_MS));
	ktap_eq(wc.wr_id, id);
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_eq(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	ktap_ok(wc.wc_flags & IBV_WC_WITH_IMM);
	ktap_eq(be32toh(wc.imm_data), imm);
	ktap_eq(info.kind, kind);
	if (kind != CAIRNDV_PERSIST_NONE)
		ktap_eq(info.length, wc.byte_len);
	return info;
}

static int persist_done(u64 token, int status)
{
	return cairndv_persist_done(db.ctx, token, status);
}

/* The target says that it has made a range durable: the writer's request @id ends. */
static void flush_done(struct pair *pair, const struct cairndv_persist_info *info, u64 id)
{
	must(!persist_done(info->token, 0));
	next_written(pair, id);
}

static void expect_range(const struct pair *pair, const struct cairndv_persist_info *info,
			 size_t at, u32 len)
{
	ktap_eq(info->va, (uintptr_t)pair->to.buf + at);
	ktap_eq(info->length, len);
}

/* A message to a target with host flush, whose program has been asked to flush. */
static struct cairndv_persist_info pair_asked(struct pair *pair, const struct vt_opts *opts,
					      u32 len)
{
	pair_create_with(pair, VT_HOST, opts);
	post_recvs(&pair->b, 0, 1);
	post_write(pair, 1, 0, len, 0);
	return next_flush(pair, 0);
}

/* --- attributes ----------------------------------------------------------- */

static void query(void)
{
	struct cairndv_device_attr attr;

	must(!cairndv_query_device(da.ctx, &attr, sizeof(attr)));
	ktap_eq(attr.persist_domains, CAIRNDV_DOMAIN_PMEM |
		CAIRNDV_DOMAIN_HOST | CAIRNDV_DOMAIN_EMULATED);
	ktap_eq(attr.persist_modes, CAIRNDV_PERSIST_MODE_DEFAULT |
		CAIRNDV_PERSIST_MODE_EARLY | CAIRNDV_PERSIST_MODE_IMM |
		CAIRNDV_PERSIST_MODE_DONE);
	ktap_eq(attr.persist_atomic_unit, 8);
	ktap_ok(attr.max_persist_outstanding > 0);
	ktap_eq(attr.max_persist_msg, 1u << 31);
}

static void registration(void)
{
	u8 *mem = vt_map(BUF);
	struct ibv_mr *mr;

	must(mem);
	REFUSED_MR(persist_reg(mem, BUF, VT_REMOTE | VT_NIC), EINVAL);
	REFUSED_MR(persist_reg(mem, BUF, VT_REMOTE | CAIRNDV_ACCESS_PERSISTENT_EMULATED), EINVAL);
	REFUSED_MR(persist_reg(mem, BUF, VT_REMOTE | VT_NIC | VT_HOST), EINVAL);
	REFUSED_MR(persist_reg(mem, BUF, VT_REMOTE | VT_HOST |
				CAIRNDV_ACCESS_PERSISTENT_EMULATED), EINVAL);
	ktap_eq(vt_domain(&db, mem, BUF, VT_REMOTE), 0);
	ktap_eq(vt_domain(&db, mem, BUF, VT_REMOTE | VT_EMULATED), CAIRNDV_DOMAIN_EMULATED);
	mr = persist_reg(mem + 100, 5000, VT_REMOTE | VT_HOST);
	must(mr);
	ktap_eq(vt_domain_of(mr), CAIRNDV_DOMAIN_HOST);
	ktap_ok(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     VT_REMOTE) != 0);
	ibv_dereg_mr(mr);
	munmap(mem, BUF);
}

/* Every page is checked, not only the first. */
static void registration_devdax(void)
{
	size_t huge = 2 << 20;
	struct ibv_mr *mr;
	u8 *mem, *dax;

	if (!vt_dax()) {
		ktap_skip("no devdax");
		return;
	}
	/* room for an aligned devdax mapping between ordinary pages */
	mem = vt_map(4 * huge);
	must(mem);
	dax = (u8 *)(((uintptr_t)mem + 2 * huge - 1) & ~(huge - 1));
	must(vt_dax_map(dax, huge, 0));
	ktap_eq(vt_domain(&db, dax, huge, VT_REMOTE | VT_NIC), CAIRNDV_DOMAIN_PMEM);
	mr = persist_reg(dax + 4095, huge - 8000, VT_REMOTE | VT_NIC);
	ktap_ok(mr);
	if (mr)
		ibv_dereg_mr(mr);
	/* all of the devdax: with ibv_fork_init() a part of it does not get as
	 * far as the device
	 */
	/* on demand nothing looks for bad blocks */
	REFUSED_MR(persist_reg(dax, huge, VT_REMOTE | VT_NIC | IBV_ACCESS_ON_DEMAND), EINVAL);
	REFUSED_MR(persist_reg(dax - 1, huge + 1, VT_REMOTE | VT_NIC), EINVAL);
	REFUSED_MR(persist_reg(dax, huge + 1, VT_REMOTE | VT_NIC), EINVAL);
	munmap(mem, 4 * huge);
}

/* NIC flush for programs that do not ask for it, and for no other memory of theirs. */
static void automatic(void)
{
	struct ibv_mr *mr;
	u8 *dax, *mem;

	if (!vt_dax()) {
		ktap_skip("no devdax");
		return;
	}
	dax = vt_dax_map(NULL, BUF, 0);
	mem = vt_map(BUF);
	must(dax && mem);
	must(!cairndv_set_persistent(db.ctx, CAIRNDV_PERSISTENT_AUTO));
	mr = persist_reg(dax, BUF, VT_REMOTE);
	must(mr);
	ktap_eq(vt_domain_of(mr), CAIRNDV_DOMAIN_PMEM);
	/* other memory, and back: neither is refused */
	ktap_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem, BUF, 0), 0);
	ktap_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, dax, BUF, 0), 0);
	ktap_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     VT_REMOTE | IBV_ACCESS_REMOTE_READ), 0);
	ibv_dereg_mr(mr);
	ktap_eq(vt_domain(&db, dax, BUF, IBV_ACCESS_REMOTE_READ), 0);
	ktap_eq(vt_domain(&db, mem, BUF, VT_REMOTE), 0);
	ktap_eq(vt_domain(&db, dax, BUF, VT_REMOTE | VT_HOST), CAIRNDV_DOMAIN_HOST);
	must(!cairndv_set_persistent(db.ctx, CAIRNDV_PERSISTENT_DECLARED));
	ktap_eq(vt_domain(&db, dax, BUF, VT_REMOTE), 0);
	munmap(dax, BUF);
	munmap(mem, BUF);
}

/* A plain WRITE into such a region, and a READ behind it, wait for the fence. */
static void automatic_write(void)
{
	struct pair pair;

	if (!vt_dax()) {
		ktap_skip("no devdax");
		return;
	}
	pair_create(&pair, VT_NIC);
	ibv_dereg_mr(pair.to.mr);
	must(!cairndv_set_persistent(db.ctx, CAIRNDV_PERSISTENT_AUTO));
	pair.to.mr = persist_reg(pair.to.buf, BUF, VT_REMOTE | IBV_ACCESS_REMOTE_READ);
	must(!cairndv_set_persistent(db.ctx, CAIRNDV_PERSISTENT_DECLARED));
	must(pair.to.mr);
	post_as(&pair, IBV_WR_RDMA_WRITE, 1, 0, 5000, 0);
	persist_next(pair.a.scq, 1, IBV_WC_SUCCESS, CAIRNDV_PERSIST_NONE);
	post_as(&pair, IBV_WR_RDMA_READ, 2, 4096, 904, 0);
	persist_next(pair.a.scq, 2, IBV_WC_SUCCESS, CAIRNDV_PERSIST_NONE);
	ktap_ok(!memcmp(pair.to.buf, pair.a.buf, 5000));
	/* even WRITE_PERSIST works */
	post_write(&pair, 3, 8192, 100, 0);
	next_written(&pair, 3);
	pair_destroy(&pair);
}

static int rereg_access(struct ibv_mr *mr, int access)
{
	return ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access);
}

/* NIC flush stays without the mapping. Another mapping at the address tells nothing. */
static void rereg_not_mapped(void)
{
	int flush = VT_REMOTE | CAIRNDV_ACCESS_FLUSH_PERSISTENT;
	struct ibv_mr *automatic, *plain;
	size_t unit = VT_DAX_UNIT;
	u8 *dax;

	if (!vt_dax()) {
		ktap_skip("no devdax");
		return;
	}
	dax = vt_dax_map(NULL, unit, 0);
	must(dax);
	must(!cairndv_set_persistent(db.ctx, CAIRNDV_PERSISTENT_AUTO));
	automatic = persist_reg(dax, unit, VT_REMOTE);
	must(!cairndv_set_persistent(db.ctx, CAIRNDV_PERSISTENT_DECLARED));
	plain = persist_reg(dax, unit, VT_REMOTE);
	must(automatic && plain);
	/* before 6.2 ib_core knows no FLUSH */
	if (!rereg_access(plain, flush))
		ktap_eq(rereg_access(plain, VT_REMOTE), 0);
	must(vt_dax_map(dax, unit, unit));
	ktap_ok(rereg_access(plain, flush) != 0);
	munmap(dax, unit);
	ktap_ok(rereg_access(plain, flush) != 0);
	ktap_eq(rereg_access(automatic, VT_REMOTE | IBV_ACCESS_REMOTE_READ), 0);
	ktap_ok(!ibv_dereg_mr(plain) && !ibv_dereg_mr(automatic));
}

/* CAIRN_BAD: offset of a unit with a bad block. */
static void registration_bad_block(void)
{
	const char *bad = getenv("CAIRN_BAD");
	size_t unit = VT_DAX_UNIT;
	u8 *dax;

	if (!vt_dax() || !bad) {
		ktap_skip("no devdax with a bad block");
		return;
	}
	dax = vt_dax_map(NULL, 2 * unit, strtoll(bad, NULL, 0) - unit);
	must(dax);
	REFUSED_MR(persist_reg(dax, 2 * unit, VT_REMOTE | VT_NIC), EINVAL);
	REFUSED_MR(persist_reg(dax + unit, unit, VT_REMOTE | VT_NIC), EINVAL);
	ktap_eq(vt_domain(&db, dax, unit, VT_REMOTE | VT_NIC), CAIRNDV_DOMAIN_PMEM);
	munmap(dax, 2 * unit);
}

/* --- NIC flush ------------------------------------------------------------ */

static const struct {
	size_t at;
	u32 len;
} writes[] = {
	{ 0, 1 }, { 1, 7 }, { 64, 64 }, { 127, 2 }, { 200, 63 }, { 263, 65 },
	{ 400, 1024 }, { 1500, 1025 }, { 4090, 4100 }, { 9000, 100000 },
	{ 120000, 1 << 20 }, { BUF - 3, 3 },
};

static void nic_flush(void)
{
	struct cairndv_persist_info info;
	struct pair pair;
	u32 last = 0;
	size_t i;

	pair_create(&pair, vt_nic());
	for (i = 0; i < NR(writes); i++) {
		u32 pkts = (writes[i].len + 1023) / 1024;

		post_write(&pair, i, writes[i].at, writes[i].len, 0);
		info = persist_next(pair.a.scq, i, IBV_WC_SUCCESS, CAIRNDV_PERSIST_WRITE);
		ktap_eq(info.qp_num, pair.a.qp->qp_num);
		ktap_eq(info.durability, vt_nic() == VT_NIC ?
			CAIRNDV_DURABILITY_ADR : CAIRNDV_DURABILITY_EMULATED);
		/* names the last packet of each message */
		if (i)
			ktap_eq((info.psn - last) & 0xffffff, pkts);
		else
			ktap_eq(info.psn, pair.a.psn);
		last = info.psn;
		ktap_eq(memcmp(pair.to.buf + writes[i].at,
			       pair.a.buf + writes[i].at, writes[i].len), 0);
	}
	/* the target has no completion */
	ktap_ok(persist_nothing(pair.b.rcq));
	pair_destroy(&pair);
}

static void empty_message(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair pair;

	pair_create(&pair, vt_nic());
	wr = write_wr(&pair, &sge, 5, 0, 0, 0);
	wr.wr.rdma.rkey = 0;
	wr.wr.rdma.remote_addr = 0;
	persist_post(&pair, &wr);
	next_written(&pair, 5);
	pair_destroy(&pair);
}

static void ask_first(void)
{
	struct cairndv_persist_info info;
	struct pair pair;

	pair_create(&pair, VT_HOST);
	post_question(&pair, 1, pair.to.mr->rkey);
	info = persist_next(pair.a.scq, 1, IBV_WC_SUCCESS, CAIRNDV_PERSIST_WRITE);
	ktap_eq(info.durability, CAIRNDV_DURABILITY_HOST);
	post_question(&pair, 1, pair.to.mr->rkey ^ 1);
	persist_next(pair.a.scq, 1, IBV_WC_REM_ACCESS_ERR, CAIRNDV_PERSIST_NONE);
	pair_destroy(&pair);
}

/* The attribute of libnvdimm for the region of the devdax. CAIRN_REGION names a forced
 * value: eadr, or async, which needs more than a write-back.
 */
static void region_kind(void)
{
	const char *kind = getenv("CAIRN_REGION") ?: "adr";
	struct cairndv_persist_info info;
	struct pair pair;
	u8 *dax;

	if (!vt_dax()) {
		ktap_skip("no devdax");
		return;
	}
	dax = vt_dax_map(NULL, BUF, 0);
	must(dax);
	if (!strcmp(kind, "async"))
		REFUSED_MR(persist_reg(dax, BUF, VT_REMOTE | VT_NIC), EINVAL);
	munmap(dax, BUF);
	if (!strcmp(kind, "async"))
		return;
	pair_create(&pair, VT_NIC);
	post_question(&pair, 1, pair.to.mr->rkey);
	info = persist_next(pair.a.scq, 1, IBV_WC_SUCCESS, CAIRNDV_PERSIST_WRITE);
	ktap_eq(info.durability, strcmp(kind, "eadr") ?
		CAIRNDV_DURABILITY_ADR : CAIRNDV_DURABILITY_EADR);
	pair_destroy(&pair);
}

static void pipelined(void)
{
	struct pair pair;
	int i;

	pair_create(&pair, vt_nic());
	for (i = 0; i < 60; i++)
		post_write(&pair, i, i * 5000, 4096, 0);
	for (i = 0; i < 60; i++)
		next_written(&pair, i);
	ktap_eq(memcmp(pair.to.buf, pair.a.buf, 4096), 0);
	ktap_eq(memcmp(pair.to.buf + 59 * 5000, pair.a.buf + 59 * 5000, 4096), 0);
	pair_destroy(&pair);
}

/* The extended interfaces, inline data too. */
static void extended(void)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 64 };
	struct vt_opts opts = VT_OPTS;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .cap = opts.cap,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct cairndv_persist_info info;
	struct ibv_poll_cq_attr poll = {};
	struct ibv_qp_ex *qpx;
	struct ibv_cq_ex *cqx;
	struct ibv_cq *old_cq;
	u64 end;
	struct pair pair;
	int i;

	memset(&pair, 0, sizeof(pair));
	must(!vt_end_create(&pair.a, &da, &opts, BUF));
	must(!vt_end_create(&pair.b, &db, &opts, 4096));
	/* the same end, with another QP and CQ */
	ibv_destroy_qp(pair.a.qp);
	cqx = ibv_create_cq_ex(da.ctx, &cq_attr);
	must(cqx);
	old_cq = pair.a.scq;
	pair.a.scq = ibv_cq_ex_to_cq(cqx);
	ibv_destroy_cq(old_cq);
	attr.pd = da.pd;
	attr.send_cq = pair.a.scq;
	attr.recv_cq = pair.a.rcq;
	pair.a.qp = ibv_create_qp_ex(da.ctx, &attr);
	must(pair.a.qp);
	must(!vt_connect(&pair.a, &pair.b));
	must(!vt_region_create(&pair.to, &db, vt_nic(), BUF, 0));
	vt_fill(pair.a.buf, BUF, 43);
	qpx = ibv_qp_to_qp_ex(pair.a.qp);
	ibv_wr_start(qpx);
	post_recvs(&pair.b, 70, 1);
	for (i = 0; i < 3; i++) {
		u64 at = (uintptr_t)pair.to.buf + i * 8192;

		qpx->wr_id = i;
		qpx->wr_flags = IBV_SEND_SIGNALED;
		ktap_eq(i == 2 ?
			cairndv_wr_write_persist_imm(qpx, pair.to.mr->rkey, at,
						     htobe32(IMM + i)) :
			cairndv_wr_write_persist(qpx, pair.to.mr->rkey, at), 0);
		if (i == 1)
			ibv_wr_set_inline_data(qpx, pair.a.buf + 8192, 33);
		else
			ibv_wr_set_sge(qpx, pair.a.mr->lkey,
				       (uintptr_t)pair.a.buf + i * 8192, 5000);
	}
	must(!ibv_wr_complete(qpx));
	for (i = 0, end = vt_now_ms() + LONG_MS; i < 3;) {
		must(vt_now_ms() < end);
		if (ibv_start_poll(cqx, &poll))
			continue;
		ktap_eq(cqx->wr_id, i);
		ktap_eq(cqx->status, IBV_WC_SUCCESS);
		ktap_eq(cairndv_wc_read_persist(cqx, &info), 0);
		ktap_eq(info.kind, CAIRNDV_PERSIST_WRITE);
		ktap_eq(info.qp_num, pair.a.qp->qp_num);
		ibv_end_poll(cqx);
		ktap_eq(memcmp(pair.to.buf + i * 8192, pair.a.buf + i * 8192,
			       i == 1 ? 33 : 5000), 0);
		i++;
	}
	next_told(&pair, 70, IMM + 2, CAIRNDV_PERSIST_RECEIVED);
	pair_destroy(&pair);
}

/* WRITE_PERSIST must not complete as durable for memory that is not persistent. */
static void not_persistent(void)
{
	struct pair pair;

	pair_create(&pair, 0);
	post_write(&pair, 1, 0, 5000, 0);
	persist_next(pair.a.scq, 1, IBV_WC_REM_ACCESS_ERR, CAIRNDV_PERSIST_NONE);
	ktap_eq(vt_state(pair.a.qp), IBV_QPS_ERR);
	ktap_eq(pair.to.buf[0], 0);
	pair_destroy(&pair);
}

static void plain_write(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair pair;

	pair_create(&pair, vt_nic());
	wr = write_wr(&pair, &sge, 1, 0, 10, 50000);
	wr.opcode = IBV_WR_RDMA_WRITE;
	persist_post(&pair, &wr);
	persist_next(pair.a.scq, 1, IBV_WC_SUCCESS, CAIRNDV_PERSIST_NONE);
	ktap_eq(memcmp(pair.to.buf + 10, pair.a.buf, 50000), 0);
	pair_destroy(&pair);
}

/* The target's program learns of each message when it is durable, by its event, too. */
static void immediate(void)
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_persist_info info;
	struct pair pair;
	size_t i;

	opts.channel = true;
	pair_create_with(&pair, vt_nic(), &opts);
	must(!ibv_req_notify_cq(pair.b.rcq, 1));
	post_recvs(&pair.b, 100, NR(writes));
	for (i = 0; i < NR(writes); i++) {
		post_imm(&pair, i, writes[i].at, writes[i].len,
			 i ? 0 : IBV_SEND_SOLICITED);
		if (!i)
			must(vt_event(pair.b.rchan, LONG_MS));
		info = next_told(&pair, 100 + i, IMM + i, CAIRNDV_PERSIST_RECEIVED);
		expect_range(&pair, &info, writes[i].at, writes[i].len);
		ktap_eq(info.qp_num, pair.b.qp->qp_num);
		ktap_eq(info.token, 0);
		ktap_eq(info.durability, vt_nic() == VT_NIC ?
			CAIRNDV_DURABILITY_ADR : CAIRNDV_DURABILITY_EMULATED);
		ktap_eq(memcmp(pair.to.buf + writes[i].at,
			       pair.a.buf + writes[i].at, writes[i].len), 0);
		next_written(&pair, i);
	}
	ktap_ok(persist_nothing(pair.b.rcq));
	pair_destroy(&pair);
}

/* A plain WRITE with immediate data tells of durability as well. */
static void immediate_plain(void)
{
	static const unsigned int kinds[] = { VT_EMULATED, 0 };
	size_t i;

	for (i = 0; i < NR(kinds); i++) {
		struct pair pair;

		pair_create(&pair, kinds[i]);
		post_recvs(&pair.b, 3, 1);
		post_as(&pair, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 0, 3000, 0);
		next_told(&pair, 3, IMM + 1, kinds[i] ? CAIRNDV_PERSIST_RECEIVED :
							CAIRNDV_PERSIST_NONE);
		persist_next(pair.a.scq, 1, IBV_WC_SUCCESS, CAIRNDV_PERSIST_NONE);
		pair_destroy(&pair);
	}
}

/* Without a receive the message waits, in early mode as well. */
static void immediate_waits(void)
{
	struct pair pair;

	pair_create(&pair, vt_nic());
	post_recvs(&pair.a, 20, 1);
	post_imm(&pair, 1, 0, 5000, CAIRNDV_SEND_EARLY);
	ktap_ok(persist_nothing(pair.a.scq));
	post_recvs(&pair.b, 30, 1);
	next_told(&pair, 30, IMM + 1, CAIRNDV_PERSIST_RECEIVED);
	next_written(&pair, 1);
	persist_next(pair.a.rcq, 20, IBV_WC_SUCCESS, CAIRNDV_PERSIST_DURABLE);
	pair_destroy(&pair);
}

/* The question to the program carries it. */
static void immediate_host(void)
{
	struct cairndv_persist_info info;
	struct pair pair;

	pair_create(&pair, VT_HOST);
	post_recvs(&pair.b, 50, 4);
	post_imm(&pair, 1, 777, 30000, 0);
	info = next_told(&pair, 50, IMM + 1, CAIRNDV_PERSIST_FLUSH);
	expect_range(&pair, &info, 777, 30000);
	ktap_ok(persist_nothing(pair.a.scq));
	flush_done(&pair, &info, 1);
	post_imm(&pair, 2, 0, 8, 0);
	info = next_told(&pair, 51, IMM + 2, CAIRNDV_PERSIST_FLUSH);
	must(!persist_done(info.token, EIO));
	persist_next(pair.a.scq, 2, IBV_WC_REM_OP_ERR, CAIRNDV_PERSIST_NONE);
	pair_destroy(&pair);
}

/* Refused as without it; the receive has the error. */
static void immediate_not_persistent(void)
{
	struct pair pair;

	pair_create(&pair, 0);
	post_recvs(&pair.b, 9, 1);
	post_imm(&pair, 1, 0, 100, 0);
	persist_next(pair.a.scq, 1, IBV_WC_REM_ACCESS_ERR, CAIRNDV_PERSIST_NONE);
	persist_next(pair.b.rcq, 9, IBV_WC_LOC_ACCESS_ERR, CAIRNDV_PERSIST_NONE);
	ktap_eq(pair.to.buf[0], 0);
	pair_destroy(&pair);
}

static void early_nic(void)
{
	struct cairndv_persist_info posted[20], durable;
	struct pair pair;
	int i;

	pair_create(&pair, vt_nic());
	post_recvs(&pair.a, 100, 20);
	for (i = 0; i < 20; i++)
		post_write(&pair, i, i * 3000, 2500, CAIRNDV_SEND_EARLY);
	for (i = 0; i < 20; i++)
		posted[i] = persist_next(pair.a.scq, i, IBV_WC_SUCCESS,
					 CAIRNDV_PERSIST_WRITE);
	for (i = 0; i < 20; i++) {
		durable = persist_next(pair.a.rcq, 100 + i, IBV_WC_SUCCESS,
				       CAIRNDV_PERSIST_DURABLE);
		ktap_eq(durable.psn, posted[i].psn);
		ktap_eq(durable.va, (uintptr_t)pair.to.buf + i * 3000);
		ktap_eq(durable.qp_num, pair.a.qp->qp_num);
	}
	pair_destroy(&pair);
}

/* The receive for the durable completion may come late. */
static void early_waits_for_receive(void)
{
	struct pair pair;

	pair_create(&pair, vt_nic());
	post_write(&pair, 1, 0, 100, CAIRNDV_SEND_EARLY);
	next_written(&pair, 1);
	post_write(&pair, 2, 200, 100, 0);
	next_written(&pair, 2);
	ktap_ok(persist_nothing(pair.a.rcq));
	post_recvs(&pair.a, 7, 1);
	persist_next(pair.a.rcq, 7, IBV_WC_SUCCESS, CAIRNDV_PERSIST_DURABLE);
	pair_destroy(&pair);
}

/* --- host flush ----------------------------------------------------------- */

static void host_flush(void)
{
	struct cairndv_persist_info info;
	struct pair pair;

	pair_create(&pair, VT_HOST);
	post_recvs(&pair.b, 50, 4);
	post_write(&pair, 1, 777, 30000, 0);
	info = next_flush(&pair, 50);
	expect_range(&pair, &info, 777, 30000);
	ktap_eq(info.qp_num, pair.b.qp->qp_num);
	ktap_eq(info.psn, (pair.a.psn + 29) & 0xffffff);
	ktap_ok(info.token != 0);
	ktap_eq(memcmp(pair.to.buf + 777, pair.a.buf + 777, 30000), 0);
	/* received is not durable */
	ktap_ok(persist_nothing(pair.a.scq));
	flush_done(&pair, &info, 1);
	ktap_ok(persist_nothing(pair.b.rcq));
	pair_destroy(&pair);
}

/* Released in any order, acknowledged in the order of the messages. */
static void host_order(void)
{
	struct cairndv_persist_info info[5];
	struct pair pair;
	int i;

	pair_create(&pair, VT_HOST);
	post_recvs(&pair.b, 0, 5);
	for (i = 0; i < 5; i++)
		post_write(&pair, i, i * 1000, 900, 0);
	for (i = 0; i < 5; i++)
		info[i] = next_flush(&pair, i);
	/* half of a token is random */
	must(info[0].token >> 32 != info[1].token >> 32);
	must(!persist_done(info[4].token, 0));
	must(!persist_done(info[2].token, 0));
	must(!persist_done(info[1].token, 0));
	ktap_ok(persist_nothing(pair.a.scq));
	must(!persist_done(info[0].token, 0));
	for (i = 0; i < 3; i++)
		next_written(&pair, i);
	ktap_ok(persist_nothing(pair.a.scq));
	flush_done(&pair, &info[3], 3);
	next_written(&pair, 4);
	pair_destroy(&pair);
}

/* One post, three targets: two are enough, and the third fails. */
static void replicas(void)
{
	static const unsigned int kinds[REPLICAS] = { VT_EMULATED, VT_HOST, VT_HOST };
	struct cairndv_group_dest dest[REPLICAS];
	struct cairndv_persist_info info[REPLICAS];
	struct cairndv_persist_group *group;
	struct cairndv_group_wc wc;
	struct ibv_qp *qp[REPLICAS];
	struct ibv_sge sge;
	struct cairndv_group_wr wr = {
		.wr_id = 7, .sg_list = &sge, .num_sge = 1, .quorum = 2,
		.dest = dest,
	};
	struct pair pair[REPLICAS];
	int i;

	replicas_create(pair, kinds, 1);
	for (i = 0; i < REPLICAS; i++) {
		qp[i] = pair[i].a.qp;
		dest[i] = replica_dest(&pair[i], 100);
	}
	group = cairndv_persist_group_create(qp, REPLICAS, 4);
	must(group);
	sge = (struct ibv_sge){ (uintptr_t)pair[0].a.buf, 3000, pair[0].a.mr->lkey };
	must(!cairndv_persist_group_post(group, &wr));
	info[1] = next_flush(&pair[1], 7);
	info[2] = next_flush(&pair[2], 7);
	ktap_eq(cairndv_persist_group_poll(group, 1, &wc), 0);
	must(!persist_done(info[1].token, 0));
	wc = next_of_group(group, CAIRNDV_GROUP_DURABLE);
	ktap_eq(wc.wr_id, 7);
	ktap_eq(wc.durable, 2);
	ktap_eq(wc.durability, CAIRNDV_DURABILITY_EMULATED);
	ktap_eq(cairndv_persist_group_released(group), 0);
	must(!persist_done(info[2].token, EIO));
	wc = next_of_group(group, CAIRNDV_GROUP_TARGET);
	ktap_eq(wc.target, 2);
	ktap_eq(wc.status, IBV_WC_REM_OP_ERR);
	ktap_eq(cairndv_persist_group_poll(group, 1, &wc), 0);
	ktap_eq(cairndv_persist_group_released(group), 1);
	for (i = 0; i < REPLICAS; i++)
		ktap_ok(!memcmp(pair[i].to.buf + 100, pair[0].a.buf, 3000));
	wr.quorum = 3;
	ktap_eq(cairndv_persist_group_post(group, &wr), ENOTCONN);
	cairndv_persist_group_destroy(group);
	replicas_destroy(pair);
}

/* A member that hangs is dropped, comes back with a new queue pair, and leaves again. */
static void replicas_change(void)
{
	static const unsigned int kinds[REPLICAS] = { VT_HOST, VT_HOST, VT_HOST };
	struct cairndv_group_dest dest[2];
	struct cairndv_persist_info info;
	struct cairndv_persist_group *group;
	struct cairndv_group_wc wc;
	struct ibv_qp *qp[2];
	struct ibv_sge sge;
	struct cairndv_group_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .quorum = 1,
		.dest = dest, .durability = CAIRNDV_DURABILITY_HOST,
	};
	struct pair pair[REPLICAS];
	int i;

	replicas_create(pair, kinds, 4);
	for (i = 0; i < 2; i++) {
		qp[i] = pair[i].a.qp;
		dest[i] = replica_dest(&pair[i], 0);
	}
	group = cairndv_persist_group_create(qp, 2, 4);
	must(group);
	must(!cairndv_persist_group_set_deadline(group, 1, vt_ms(1500)));
	sge = (struct ibv_sge){ (uintptr_t)pair[0].a.buf, 3000, pair[0].a.mr->lkey };
	must(!cairndv_persist_group_post(group, &wr));
	info = next_flush(&pair[0], 7);
	must(!persist_done(info.token, 0));
	wc = next_of_group(group, CAIRNDV_GROUP_DURABLE);
	ktap_eq(wc.durability, CAIRNDV_DURABILITY_HOST);
	/* the program of the second one does not answer */
	wc = next_of_group(group, CAIRNDV_GROUP_TARGET);
	ktap_eq(wc.target, 1);
	ktap_eq(wc.wr_id, 1);
	ktap_eq(wc.status, IBV_WC_RESP_TIMEOUT_ERR);
	while (cairndv_persist_group_join(group, 1, pair[2].a.qp) == EBUSY)
		must(!cairndv_persist_group_poll(group, 1, &wc));
	ktap_eq(cairndv_persist_group_released(group), 1);
	dest[1] = replica_dest(&pair[2], 0);
	wr.wr_id = 2;
	wr.quorum = 2;
	must(!cairndv_persist_group_post(group, &wr));
	info = next_flush(&pair[2], 7);
	must(!persist_done(info.token, 0));
	info = next_flush(&pair[0], 8);
	must(!persist_done(info.token, 0));
	wc = next_of_group(group, CAIRNDV_GROUP_DURABLE);
	ktap_eq(wc.durable, 2);
	ktap_eq(cairndv_persist_group_drop(group, 1), 0);
	ktap_eq(cairndv_persist_group_post(group, &wr), ENOTCONN);
	cairndv_persist_group_destroy(group);
	replicas_destroy(pair);
}

static void host_failure(void)
{
	struct cairndv_persist_info info;
	struct pair pair;

	pair_create(&pair, VT_HOST);
	post_recvs(&pair.b, 0, 2);
	post_write(&pair, 1, 0, 100, 0);
	post_write(&pair, 2, 100, 100, 0);
	info = next_flush(&pair, 0);
	next_flush(&pair, 1);
	must(!persist_done(info.token, EIO));
	persist_next(pair.a.scq, 1, IBV_WC_REM_OP_ERR, CAIRNDV_PERSIST_NONE);
	persist_next(pair.a.scq, 2, IBV_WC_WR_FLUSH_ERR, CAIRNDV_PERSIST_NONE);
	ktap_eq(vt_state(pair.a.qp), IBV_QPS_ERR);
	pair_destroy(&pair);
}

/* A plain WRITE of any peer waits for the host as well. */
static void host_plain_write(void)
{
	struct cairndv_persist_info info;
	struct pair pair;

	pair_create(&pair, VT_HOST);
	post_recvs(&pair.b, 3, 1);
	post_as(&pair, IBV_WR_RDMA_WRITE, 1, 0, 3000, 0);
	info = next_flush(&pair, 3);
	ktap_eq(info.length, 3000);
	ktap_ok(persist_nothing(pair.a.scq));
	must(!persist_done(info.token, 0));
	persist_next(pair.a.scq, 1, IBV_WC_SUCCESS, CAIRNDV_PERSIST_NONE);
	pair_destroy(&pair);
}

/* An atomic asks the host for its word. It is executed once, though the peer repeats it: the
 * peer's retries last for 0.2 s.
 */
static void host_atomics(void)
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_persist_info info;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair pair;
	u64 word = 40, old;
	int i;

	opts.timeout = 14;
	opts.retry_cnt = 2;
	pair_create_with(&pair, VT_HOST | IBV_ACCESS_REMOTE_ATOMIC, &opts);
	post_recvs(&pair.b, 3, 2);
	memcpy(pair.to.buf + 8, &word, sizeof(word));
	for (i = 0; i < 2; i++) {
		wr = write_wr(&pair, &sge, i, 0, 8, 8);
		wr.opcode = i ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.remote_addr = (uintptr_t)pair.to.buf + 8;
		wr.wr.atomic.rkey = pair.to.mr->rkey;
		wr.wr.atomic.compare_add = i ? 42 : 2;
		wr.wr.atomic.swap = 7;
		persist_post(&pair, &wr);
		info = next_flush(&pair, 3 + i);
		ktap_eq(info.va, (uintptr_t)pair.to.buf + 8);
		ktap_eq(info.length, 8);
		usleep(500000);
		ktap_ok(persist_nothing(pair.a.scq));
		memcpy(&word, pair.to.buf + 8, sizeof(word));
		ktap_eq(word, i ? 7 : 42);
		must(!persist_done(info.token, 0));
		persist_next(pair.a.scq, i, IBV_WC_SUCCESS, CAIRNDV_PERSIST_NONE);
		memcpy(&old, pair.a.buf, sizeof(old));
		ktap_eq(old, i ? 42 : 40);
	}
	ktap_ok(persist_nothing(pair.b.rcq));
	pair_destroy(&pair);
}

/* The peer knows nothing of persistence, its retries last for 0.2 s, and the host takes
 * ten times that.
 */
static void plain_slow(void)
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_persist_info info;
	unsigned int idle = 0;
	struct ibv_wc wc;
	struct pair pair;
	int i, n;

	opts.timeout = 14;
	opts.retry_cnt = 2;
	pair_create_with(&pair, VT_HOST, &opts);
	post_recvs(&pair.b, 3, 2);
	for (i = 0; i < 2; i++)
		post_as(&pair, IBV_WR_RDMA_WRITE, i, i * 4096, 3000, 0);
	for (i = 0; i < 2; i++) {
		info = next_flush(&pair, 3 + i);
		usleep(2000000);
		ktap_eq(ibv_poll_cq(pair.a.scq, 1, &wc), 0);
		must(!persist_done(info.token, 0));
		while (!(n = ibv_poll_cq(pair.a.scq, 1, &wc)))
			vt_relax(&idle);
		must(n == 1);
		ktap_eq(wc.wr_id, i);
		ktap_eq(wc.status, IBV_WC_SUCCESS);
	}
	pair_destroy(&pair);
}

/* A program that waits for solicited events is asked, although the peer has none. */
static void host_wakes(void)
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_persist_info info;
	struct pair pair;

	opts.channel = true;
	pair_create_with(&pair, VT_HOST, &opts);
	post_recvs(&pair.b, 3, 1);
	must(!ibv_req_notify_cq(pair.b.rcq, 1));
	post_write(&pair, 1, 0, 100, 0);
	must(vt_event(pair.b.rchan, LONG_MS));
	info = next_flush(&pair, 3);
	flush_done(&pair, &info, 1);
	pair_destroy(&pair);
}

/* 64 messages, one flush, one call. */
static void host_group_commit(void)
{
	struct cairndv_persist_answer answers[CAIRNDV_PERSIST_ANSWERS] = {};
	struct vt_opts opts = VT_OPTS;
	uint64_t refused = 1;
	struct pair pair;
	int i;

	opts.cqe = 2 * CAIRNDV_PERSIST_ANSWERS;
	pair_create_with(&pair, VT_HOST, &opts);
	post_recvs(&pair.b, 0, CAIRNDV_PERSIST_ANSWERS);
	for (i = 0; i < CAIRNDV_PERSIST_ANSWERS; i++)
		post_write(&pair, i, i * 64, 64, 0);
	for (i = 0; i < CAIRNDV_PERSIST_ANSWERS; i++)
		answers[i].token = next_flush(&pair, i).token;
	ktap_ok(persist_nothing(pair.a.scq));
	/* one that is wrong stops none, and is named */
	answers[63].token ^= 1ULL << 40;
	answers[2].token ^= 1 << 8;
	ktap_eq(cairndv_persist_done_all(db.ctx, answers,
					 CAIRNDV_PERSIST_ANSWERS, &refused),
		ENOENT);
	ktap_eq(refused, 1ULL << 63 | 1 << 2);
	next_written(&pair, 0);
	next_written(&pair, 1);
	ktap_ok(persist_nothing(pair.a.scq));
	answers[63].token ^= 1ULL << 40;
	answers[2].token ^= 1 << 8;
	answers[3] = answers[63];
	ktap_eq(cairndv_persist_done_all(db.ctx, answers + 2, 2, &refused), 0);
	ktap_eq(refused, 0);
	for (i = 2; i < CAIRNDV_PERSIST_ANSWERS; i++)
		next_written(&pair, i);
	pair_destroy(&pair);
}

/* A target with an extended queue pair, and room for as many tokens as there can be. */
static void pair_create_posting(struct pair *pair, unsigned int kind)
{
	struct vt_opts opts = VT_OPTS;

	opts.cqe = 2 * CAIRNDV_PERSIST_ANSWERS;
	opts.cap.max_inline_data = 8 * CAIRNDV_PERSIST_ANSWERS;
	memset(pair, 0, sizeof(*pair));
	must(!vt_end_create(&pair->a, &da, &opts, BUF));
	must(!vt_end_create_ex(&pair->b, &db, &opts, 4096, IBV_QP_EX_WITH_RDMA_WRITE));
	must(!vt_connect(&pair->a, &pair->b));
	must(!vt_region_create(&pair->to, &db, kind, BUF, 0));
	vt_fill(pair->a.buf, BUF, 42);
}

static void post_done(struct vt_end *end, u64 id, const uint64_t *tokens, u32 num,
		      int status, unsigned int flags)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(end->qp);

	ibv_wr_start(qpx);
	qpx->wr_id = id;
	qpx->wr_flags = IBV_SEND_SIGNALED | flags;
	must(!cairndv_wr_persist_done(qpx, tokens, num, status));
	must(!ibv_wr_complete(qpx));
}

/* The answer is posted: a send request completes, with @status. */
static void next_posted(struct vt_end *end, u64 id, int status)
{
	struct ibv_wc wc;

	must(try_poll(end->scq, &wc, NULL, LONG_MS));
	ktap_eq(wc.wr_id, id);
	ktap_eq(wc.status, status);
	if (!status)
		ktap_eq(wc.opcode, CAIRNDV_WC_PERSIST_DONE);
}

/* 64 messages, one flush, one work request; then one that failed. */
static void host_posted(void)
{
	uint64_t tokens[CAIRNDV_PERSIST_ANSWERS];
	struct pair pair;
	int i;

	pair_create_posting(&pair, VT_HOST);
	post_recvs(&pair.b, 0, CAIRNDV_PERSIST_ANSWERS);
	for (i = 0; i < CAIRNDV_PERSIST_ANSWERS; i++)
		post_write(&pair, i, i * 64, 64, 0);
	for (i = 0; i < CAIRNDV_PERSIST_ANSWERS; i++)
		tokens[i] = next_flush(&pair, i).token;
	ktap_ok(persist_nothing(pair.a.scq));
	post_done(&pair.b, 5, tokens, CAIRNDV_PERSIST_ANSWERS, 0, 0);
	for (i = 0; i < CAIRNDV_PERSIST_ANSWERS; i++)
		next_written(&pair, i);
	next_posted(&pair.b, 5, IBV_WC_SUCCESS);
	post_recvs(&pair.b, 7, 1);
	post_write(&pair, 8, 0, 64, 0);
	tokens[0] = next_flush(&pair, 7).token;
	post_done(&pair.b, 6, tokens, 1, EIO, 0);
	persist_next(pair.a.scq, 8, IBV_WC_REM_OP_ERR, CAIRNDV_PERSIST_NONE);
	next_posted(&pair.b, 6, IBV_WC_SUCCESS);
	pair_destroy(&pair);
}

#define PAIRS	3

/* Two messages of each pair wait for the host. @tokens: of the pairs in turns */
static void pairs_wait(struct pair *pairs, uint64_t *tokens)
{
	int i;

	for (i = 0; i < PAIRS; i++) {
		pair_create_posting(&pairs[i], VT_HOST);
		post_recvs(&pairs[i].b, 0, 2);
		post_write(&pairs[i], 0, 0, 64, 0);
		post_write(&pairs[i], 1, 64, 64, 0);
	}
	for (i = 0; i < 2 * PAIRS; i++)
		tokens[i] = next_flush(&pairs[i % PAIRS], i / PAIRS).token;
}

static void pairs_end(struct pair *pairs)
{
	int i;

	for (i = 0; i < PAIRS; i++) {
		next_written(&pairs[i], 0);
		next_written(&pairs[i], 1);
		pair_destroy(&pairs[i]);
	}
}

/* One answer for messages of several queue pairs, by a call and in a send queue. */
static void host_pairs(void)
{
	struct cairndv_persist_answer answers[2 * PAIRS] = {};
	uint64_t tokens[2 * PAIRS], refused = 0;
	struct pair pairs[PAIRS];
	int i;

	pairs_wait(pairs, tokens);
	for (i = 0; i < 2 * PAIRS; i++)
		answers[i].token = tokens[i];
	/* a wrong one among them is named, and the others are taken */
	answers[4].token ^= 1ULL << 40;
	ktap_eq(cairndv_persist_done_all(db.ctx, answers, 2 * PAIRS, &refused), ENOENT);
	ktap_eq(refused, 1 << 4);
	ktap_eq(persist_done(tokens[4], 0), 0);
	pairs_end(pairs);

	pairs_wait(pairs, tokens);
	post_done(&pairs[1].b, 5, tokens, 2 * PAIRS, 0, 0);
	next_posted(&pairs[1].b, 5, IBV_WC_SUCCESS);
	pairs_end(pairs);
}

/* The requester answers for its own peer while that sends responses: the answer is behind a
 * READ that waits for the first of two others, which take several turns.
 */
static void host_posted_at_peer(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_qp_ex *qpx;
	struct pair pair;
	uint64_t token;
	int i;

	opts.rd_atomic = 2;
	memset(&pair, 0, sizeof(pair));
	must(!vt_end_create_ex(&pair.a, &db, &opts, BUF, IBV_QP_EX_WITH_RDMA_READ));
	must(!vt_end_create(&pair.b, &db, &opts, BUF));
	must(!vt_connect(&pair.a, &pair.b));
	must(!vt_region_create(&pair.to, &db, VT_HOST, BUF, 0));
	post_recvs(&pair.b, 0, 1);
	post_write(&pair, 1, 0, 3000, 0);
	token = next_flush(&pair, 0).token;
	qpx = ibv_qp_to_qp_ex(pair.a.qp);
	ibv_wr_start(qpx);
	qpx->wr_flags = 0;
	for (i = 0; i < 3; i++) {
		ibv_wr_rdma_read(qpx, pair.b.mr->rkey, (uintptr_t)pair.b.buf);
		ibv_wr_set_sge(qpx, pair.a.mr->lkey, (uintptr_t)pair.a.buf, 256 << 10);
	}
	qpx->wr_id = 2;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	must(!cairndv_wr_persist_done(qpx, &token, 1, 0));
	must(!ibv_wr_complete(qpx));
	next_written(&pair, 1);
	next_posted(&pair.a, 2, IBV_WC_SUCCESS);
	pair_destroy(&pair);
}

/* The middle of a chain: passed on to @next by @hop, and answered with a fence behind it. */
static void host_posted_fence(void)
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_persist_info info;
	struct vt_end hop, next;
	struct vt_region last;
	struct ibv_qp_ex *qpx;
	struct pair pair;
	uint64_t token;

	pair_create(&pair, VT_HOST);
	must(!vt_end_create_ex(&hop, &db, &opts, BUF, IBV_QP_EX_WITH_RDMA_WRITE));
	must(!vt_end_create(&next, &da, &opts, 4096));
	must(!vt_connect(&hop, &next));
	must(!vt_region_create(&last, &da, VT_HOST, BUF, 0));
	post_recvs(&pair.b, 0, 1);
	post_recvs(&next, 3, 1);
	post_write(&pair, 1, 0, 3000, 0);
	token = next_flush(&pair, 0).token;
	qpx = ibv_qp_to_qp_ex(hop.qp);
	ibv_wr_start(qpx);
	qpx->wr_id = 7;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	must(!cairndv_wr_write_persist(qpx, last.mr->rkey, (uintptr_t)last.buf));
	ibv_wr_set_sge(qpx, pair.to.mr->lkey, (uintptr_t)pair.to.buf, 3000);
	qpx->wr_id = 8;
	qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	must(!cairndv_wr_persist_done(qpx, &token, 1, 0));
	must(!ibv_wr_complete(qpx));
	info = persist_next(next.rcq, 3, IBV_WC_SUCCESS, CAIRNDV_PERSIST_FLUSH);
	ktap_ok(persist_nothing(pair.a.scq));
	ktap_ok(!memcmp(last.buf, pair.a.buf, 3000));
	must(!cairndv_persist_done(da.ctx, info.token, 0));
	next_written(&pair, 1);
	persist_next(hop.scq, 7, IBV_WC_SUCCESS, CAIRNDV_PERSIST_WRITE);
	next_posted(&hop, 8, IBV_WC_SUCCESS);
	vt_end_destroy(&hop);
	vt_end_destroy(&next);
	ktap_eq(vt_region_destroy(&last), 0);
	pair_destroy(&pair);
}

/* Tokens that are wrong, of another context, or used: the request fails, and nothing is
 * answered by it.
 */
static void host_posted_wrong(void)
{
	struct cairndv_persist_info info;
	struct pair pair, other;
	struct vt_dev again;
	uint64_t token;
	int i;

	must(!vt_open(&again, vt_name_b(), VT_IPV4, -1));
	for (i = 0; i < 3; i++) {
		pair_create_posting(&pair, VT_HOST);
		post_recvs(&pair.b, 0, 1);
		post_write(&pair, 1, 0, 64, 0);
		info = next_flush(&pair, 0);
		token = info.token ^ 1ULL << 40;
		if (i == 1) {
			must(!persist_done(info.token, 0));
			next_written(&pair, 1);
			token = info.token;
		}
		if (i == 2) {
			struct vt_dev mine = db;

			/* a queue pair of another context asks for it */
			db = again;
			pair_create_posting(&other, VT_HOST);
			db = mine;
			post_done(&other.b, 5, &info.token, 1, 0, 0);
			next_posted(&other.b, 5, IBV_WC_LOC_PROT_ERR);
			pair_destroy(&other);
		} else {
			post_done(&pair.b, 5, &token, 1, 0, 0);
			next_posted(&pair.b, 5, IBV_WC_LOC_PROT_ERR);
		}
		if (i == 2)
			flush_done(&pair, &info, 1);
		pair_destroy(&pair);
	}
	vt_close(&again);
}

/* One message to a target with CAIRN_FAULT, answered by a work request. */
static void post_faulty(struct pair *pair, u64 id, u8 byte, int posted)
{
	uint64_t token;

	memset(pair->a.buf, byte, 64);
	post_recvs(&pair->b, id, 1);
	post_write(pair, id, 0, 64, 0);
	token = next_flush(pair, id).token;
	ktap_eq(pair->to.buf[0], byte);
	post_done(&pair->b, id, &token, 1, 0, 0);
	next_posted(&pair->b, id, posted);
}

/* Answers by work requests meet its rules: the second fails, the power fails before the fourth. */
static void host_posted_faults(void)
{
	struct vt_dev mine = db, again;
	struct pair pair;

	setenv("CAIRN_FAULT", "persist:nth=2 power_cut:nth=4", 1);
	must(!vt_open(&again, vt_name_b(), VT_IPV4, -1));
	unsetenv("CAIRN_FAULT");
	db = again;
	pair_create_posting(&pair, VT_HOST);
	post_faulty(&pair, 1, 'a', IBV_WC_SUCCESS);
	next_written(&pair, 1);
	post_faulty(&pair, 2, 'b', IBV_WC_SUCCESS);
	persist_next(pair.a.scq, 2, IBV_WC_REM_OP_ERR, CAIRNDV_PERSIST_NONE);
	pair_destroy(&pair);
	pair_create_posting(&pair, VT_HOST);
	post_faulty(&pair, 3, 'c', IBV_WC_SUCCESS);
	next_written(&pair, 3);
	post_faulty(&pair, 4, 'd', IBV_WC_WR_FLUSH_ERR);
	ktap_eq(pair.to.buf[0], 'c');
	pair_destroy(&pair);
	db = mine;
	vt_close(&again);
}

static void early_host(void)
{
	struct cairndv_persist_info flush, write_info, durable_info;
	struct pair pair;

	pair_create(&pair, VT_HOST);
	post_recvs(&pair.a, 9, 1);
	post_recvs(&pair.b, 0, 1);
	post_write(&pair, 1, 0, 4000, CAIRNDV_SEND_EARLY);
	write_info = persist_next(pair.a.scq, 1, IBV_WC_SUCCESS, CAIRNDV_PERSIST_WRITE);
	flush = next_flush(&pair, 0);
	ktap_ok(persist_nothing(pair.a.rcq));
	must(!persist_done(flush.token, 0));
	durable_info = persist_next(pair.a.rcq, 9, IBV_WC_SUCCESS, CAIRNDV_PERSIST_DURABLE);
	ktap_eq(durable_info.psn, write_info.psn);
	ktap_eq(flush.psn, write_info.psn);
	pair_destroy(&pair);
}

/* Until the target has a receive, no part of the message is executed. */
static void host_without_receive(void)
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_persist_info info;
	struct pair pair;

	pair_create(&pair, VT_HOST);
	post_write(&pair, 1, 0, 100, 0);
	ktap_ok(persist_nothing(pair.a.scq));
	ktap_ok(persist_nothing(pair.b.rcq));
	post_recvs(&pair.b, 4, 1);
	info = next_flush(&pair, 4);
	flush_done(&pair, &info, 1);
	pair_destroy(&pair);

	opts.rnr_retry = 0;
	pair_create_with(&pair, VT_HOST, &opts);
	post_write(&pair, 1, 0, 100, 0);
	persist_next(pair.a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR, CAIRNDV_PERSIST_NONE);
	pair_destroy(&pair);
}

/* The last packet waits for a receive. The word in which the packet before it ended
 * is whole meanwhile.
 */
static void host_word_between_packets(void)
{
	volatile u64 *word;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	u64 before, old;
	struct pair pair;

	pair_create(&pair, VT_HOST);
	word = (volatile u64 *)(pair.to.buf + 1024);
	before = word[-1];
	old = *word;
	wr = write_wr(&pair, &sge, 1, 4, 4, 1500);
	persist_post(&pair, &wr);
	while (word[-1] == before)
		sched_yield();
	ktap_ok(persist_nothing(pair.b.rcq));
	ktap_ok(!memcmp((u8 *)word - 8, pair.a.buf + 1016, 8));
	ktap_eq(*word, old);
	post_recvs(&pair.b, 1, 1);
	ktap_eq(persist_done(persist_next(pair.b.rcq, 1, IBV_WC_SUCCESS,
					  CAIRNDV_PERSIST_FLUSH).token, 0), 0);
	next_written(&pair, 1);
	ktap_eq(memcmp(pair.to.buf + 4, pair.a.buf + 4, 1500), 0);
	pair_destroy(&pair);
}

/* More flushes than may be outstanding wait at the initiator. */
static void host_bounded(void)
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_device_attr attr;
	struct cairndv_persist_info *info;
	struct pair pair;
	int max, i, n;

	must(!cairndv_query_device(db.ctx, &attr, sizeof(attr)));
	max = attr.max_persist_outstanding;
	n = max + 10;
	must(max > 0 && max < 10000);
	info = calloc(n, sizeof(*info));
	opts.cap.max_recv_wr = n;
	opts.cap.max_send_wr = n;
	opts.cqe = 2 * n;
	opts.rnr_timer = 1;
	pair_create_with(&pair, VT_HOST, &opts);
	post_recvs(&pair.b, 0, n);
	for (i = 0; i < n; i++)
		post_write(&pair, i, i * 64, 64, 0);
	for (i = 0; i < max; i++)
		info[i] = next_flush(&pair, i);
	ktap_ok(persist_nothing(pair.b.rcq));
	for (i = 0; i < n; i++) {
		must(!persist_done(info[i].token, 0));
		if (i + max < n)
			info[i + max] = next_flush(&pair, i + max);
		next_written(&pair, i);
	}
	free(info);
	pair_destroy(&pair);
}

/*
 * A flush that takes many times the retry limit: probes are answered, so the
 * initiator neither gives up nor takes the answers for durable.
 */
static void host_slow(void)
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_persist_info info;
	struct pair pair;

	opts.timeout = 8;		/* 1 ms */
	opts.retry_cnt = 1;
	info = pair_asked(&pair, &opts, 5000);
	ktap_ok(persist_nothing(pair.a.scq));
	ktap_ok(persist_nothing(pair.b.rcq));
	flush_done(&pair, &info, 1);
	pair_destroy(&pair);
}

/* A host that is too slow for its region: an error, and no late success. */
static void host_limit(void)
{
	struct cairndv_persist_info info;
	struct cairndv_mr_attr attr;
	struct vt_region region;
	struct pair pair;

	pair_create(&pair, VT_HOST);
	ktap_eq(cairndv_set_flush_limit(pair.to.mr, CAIRNDV_FLUSH_LIMIT_MAX + 1),
		EINVAL);
	ktap_eq(cairndv_set_flush_limit(pair.to.mr, CAIRNDV_FLUSH_LIMIT_MAX), 0);
	post_recvs(&pair.b, 0, 2);
	post_write(&pair, 1, 0, 100, 0);
	info = next_flush(&pair, 0);
	flush_done(&pair, &info, 1);
	must(!cairndv_set_flush_limit(pair.to.mr, 20));
	must(!cairndv_query_mr(pair.to.mr, &attr, sizeof(attr)));
	ktap_eq(attr.flush_limit_ms, 20);
	post_write(&pair, 2, 0, 100, 0);
	info = next_flush(&pair, 1);
	persist_next(pair.a.scq, 2, IBV_WC_REM_OP_ERR, CAIRNDV_PERSIST_NONE);
	ktap_eq(persist_done(info.token, 0), ENOENT);
	ktap_eq(vt_state(pair.b.qp), IBV_QPS_ERR);
	pair_destroy(&pair);

	must(!vt_region_create(&region, &db, VT_EMULATED, BUF, 0));
	ktap_eq(cairndv_set_flush_limit(region.mr, 20), EINVAL);
	vt_region_destroy(&region);
}

/* As libcairn does not: move the region to other memory of the same size. */
static int rereg_raw(struct vt_region *region, size_t off)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr rereg;
	} cmd = {
		.hdr = { IB_USER_VERBS_CMD_REREG_MR, sizeof(cmd) / 4, sizeof(resp) / 4 },
		.rereg = {
			.response = (uintptr_t)&resp,
			.mr_handle = region->mr->handle,
			.flags = IBV_REREG_MR_CHANGE_TRANSLATION,
			.start = (uintptr_t)region->buf + off,
			.length = region->len - off,
			.hca_va = (uintptr_t)region->buf + off,
			.pd_handle = region->mr->pd->handle,
		},
	};

	if (write(db.ctx->cmd_fd, &cmd, sizeof(cmd)) < 0)
		return errno;
	region->mr->lkey = resp.lkey;
	region->mr->rkey = resp.rkey;
	return 0;
}

/* A region keeps its limit when it gets other memory. */
static void host_limit_stays(void)
{
	struct pair pair;

	pair_create(&pair, VT_HOST);
	must(!cairndv_set_flush_limit(pair.to.mr, 20));
	must(!rereg_raw(&pair.to, 4096));
	post_recvs(&pair.b, 0, 1);
	post_write(&pair, 1, 4096, 100, 0);
	next_flush(&pair, 0);
	persist_next(pair.a.scq, 1, IBV_WC_REM_OP_ERR, CAIRNDV_PERSIST_NONE);
	pair_destroy(&pair);
}

/* --- overlap, order and fence --------------------------------------------- */

static void overlap(void)
{
	struct cairndv_persist_info flush, second;
	struct pair slow, fast;
	struct ibv_wc wc;
	int i;

	pair_create(&slow, VT_HOST);
	pair_create(&fast, vt_nic());
	post_recvs(&slow.b, 0, 3);
	post_write(&slow, 1, 0, 1000, 0);
	flush = next_flush(&slow, 0);
	/* another QP is not delayed */
	for (i = 0; i < 10; i++) {
		post_write(&fast, i, i * 5000, 4096, 0);
		next_written(&fast, i);
	}
	/* later messages of the same QP arrive; their completions wait */
	post_send(&slow, 2, 0);
	must(try_poll(slow.b.rcq, &wc, &second, LONG_MS));
	ktap_eq(wc.wr_id, 1);
	ktap_eq(second.kind, CAIRNDV_PERSIST_NONE);
	post_write(&slow, 3, 2000, 1000, 0);
	second = next_flush(&slow, 2);
	must(!persist_done(second.token, 0));
	ktap_ok(persist_nothing(slow.a.scq));
	flush_done(&slow, &flush, 1);
	persist_next(slow.a.scq, 2, IBV_WC_SUCCESS, CAIRNDV_PERSIST_NONE);
	next_written(&slow, 3);
	pair_destroy(&slow);
	pair_destroy(&fast);
}

/* Is an asynchronous release complete? */
static bool persist_released(u32 ticket)
{
	u64 end = vt_now_ms() + LONG_MS;
	unsigned int idle = 0;

	while (cairndv_query_release(db.ctx, ticket) == EBUSY &&
	       vt_now_ms() < end)
		vt_relax(&idle);
	return !cairndv_query_release(db.ctx, ticket);
}

/* A pending host flush delays the release of its own region, and of no other: others
 * are released in both ways, and its token stays valid.
 */
static void release_beside_a_slow_flush(void)
{
	struct cairndv_persist_info flush, second;
	struct vt_opts opts = VT_OPTS;
	struct pair slow, other, third;
	u32 ticket;

	flush = pair_asked(&slow, &opts, 1000);
	second = pair_asked(&other, &opts, 1000);
	pair_create(&third, vt_nic());
	flush_done(&other, &second, 1);
	post_write(&third, 1, 0, 1000, 0);
	next_written(&third, 1);
	ktap_eq(ibv_dereg_mr(other.to.mr), 0);
	other.to.mr = NULL;
	ktap_eq(cairndv_dereg_mr_async(third.to.mr, &ticket), 0);
	third.to.mr = NULL;
	ktap_ok(persist_released(ticket));
	ktap_ok(persist_nothing(slow.a.scq));
	flush_done(&slow, &flush, 1);
	pair_destroy(&slow);
	pair_destroy(&other);
	pair_destroy(&third);
}

static void fence(void)
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_persist_info info;
	struct ibv_wc wc;
	struct pair pair;

	info = pair_asked(&pair, &opts, 100);
	post_recvs(&pair.b, 1, 1);
	post_send(&pair, 2, IBV_SEND_FENCE);
	ktap_ok(persist_nothing(pair.b.rcq));	/* not even sent */
	must(!persist_done(info.token, 0));
	must(try_poll(pair.b.rcq, &wc, NULL, LONG_MS));
	ktap_eq(wc.wr_id, 1);
	next_written(&pair, 1);
	persist_next(pair.a.scq, 2, IBV_WC_SUCCESS, CAIRNDV_PERSIST_NONE);
	pair_destroy(&pair);
}

/* --- tokens --------------------------------------------------------------- */

/* Return: the errno that another process gets for @token. */
static int done_elsewhere(u64 token)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		struct vt_dev dev;

		if (vt_open(&dev, vt_name_b(), VT_IPV4, -1))
			_exit(255);
		_exit(cairndv_persist_done(dev.ctx, token, 0));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void tokens_refused(void)
{
	struct cairndv_persist_info flush, second;
	struct vt_opts opts = VT_OPTS;
	struct vt_dev other;
	struct pair pair, second_pair;
	int bit;

	flush = pair_asked(&pair, &opts, 100);
	second = pair_asked(&second_pair, &opts, 100);
	ktap_ok(flush.token != second.token);
	/* forged */
	ktap_eq(persist_done(0, 0), ENOENT);
	ktap_eq(persist_done(~0ull, 0), ENOENT);
	for (bit = 0; bit < 64; bit++)
		ktap_eq(persist_done(flush.token ^ 1ull << bit, 0), ENOENT);
	/* of another context, of another process */
	must(!vt_open(&other, vt_name_b(), VT_IPV4, -1));
	ktap_eq(cairndv_persist_done(other.ctx, flush.token, 0), ENOENT);
	vt_close(&other);
	ktap_eq(done_elsewhere(flush.token), ENOENT);
	/* of another device */
	ktap_eq(cairndv_persist_done(da.ctx, flush.token, 0), ENOENT);
	ktap_ok(persist_nothing(pair.a.scq));
	/* of another QP: it releases only that one's flush */
	flush_done(&second_pair, &second, 1);
	ktap_ok(persist_nothing(pair.a.scq));
	/* once only, and not for later flushes */
	flush_done(&pair, &flush, 1);
	ktap_eq(persist_done(flush.token, 0), ENOENT);
	post_recvs(&pair.b, 1, 1);
	post_write(&pair, 2, 0, 100, 0);
	second = next_flush(&pair, 1);
	ktap_eq(persist_done(flush.token, 0), ENOENT);
	ktap_ok(persist_nothing(pair.a.scq));
	flush_done(&pair, &second, 2);
	pair_destroy(&pair);
	pair_destroy(&second_pair);
}

/* The queue pair of a pending flush forgets it, and the initiator gives up. */
static void late_after(void (*forget)(struct vt_end *target))
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_persist_info info;
	struct pair pair;

	opts.timeout = 8;
	opts.retry_cnt = 2;
	info = pair_asked(&pair, &opts, 100);
	forget(&pair.b);
	ktap_eq(persist_done(info.token, 0), ENOENT);
	persist_next(pair.a.scq, 1, IBV_WC_RETRY_EXC_ERR, CAIRNDV_PERSIST_NONE);
	pair_destroy(&pair);
}

static void target_destroy_qp(struct vt_end *target)
{
	ibv_destroy_qp(target->qp);
	target->qp = NULL;
}

static void target_reset_qp(struct vt_end *target)
{
	must(!vt_to_state(target->qp, IBV_QPS_ERR));
	must(!vt_to_state(target->qp, IBV_QPS_RESET));
}

static void late_after_qp(void)
{
	late_after(target_destroy_qp);
}

static void late_after_reset(void)
{
	late_after(target_reset_qp);
}

/* The region is destroyed while a flush is pending: no success, and no hang. */
static void late_after_mr(void)
{
	struct vt_opts opts = VT_OPTS;
	struct cairndv_persist_info info;
	struct ibv_wc wc;
	struct pair pair;

	info = pair_asked(&pair, &opts, 100);
	must(!ibv_dereg_mr(pair.to.mr));
	pair.to.mr = NULL;
	ktap_eq(persist_done(info.token, 0), ENOENT);
	if (try_poll(pair.a.scq, &wc, NULL, SHORT_MS))
		ktap_ok(wc.status != IBV_WC_SUCCESS);
	pair_destroy(&pair);
}

/* An initiator that flushes its own queue gets no result. */
static void initiator_gives_up(void)
{
	struct cairndv_persist_info info;
	struct pair pair;

	pair_create(&pair, VT_HOST);
	post_recvs(&pair.b, 0, 2);
	post_write(&pair, 1, 0, 100, 0);
	post_write(&pair, 2, 0, 100, IBV_SEND_FENCE);
	info = next_flush(&pair, 0);
	must(!vt_to_state(pair.a.qp, IBV_QPS_ERR));
	persist_next(pair.a.scq, 1, IBV_WC_WR_FLUSH_ERR, CAIRNDV_PERSIST_NONE);
	persist_next(pair.a.scq, 2, IBV_WC_WR_FLUSH_ERR, CAIRNDV_PERSIST_NONE);
	ktap_eq(persist_done(info.token, 0), 0);
	pair_destroy(&pair);
}

/* --- a target that dies ---------------------------------------------------- */

struct card {
	u32 qpn, psn, rkey;
	u64 addr;
};

/* The target in a process of its own: it reports one flush and waits. */
static void doomed_target(const struct card *peer, int out)
{
	struct cairndv_persist_info info;
	struct vt_opts opts = VT_OPTS;
	struct ibv_qp peer_qp = { .qp_num = peer->qpn };
	struct vt_end end_a = { .dev = &da, .qp = &peer_qp, .psn = peer->psn };
	struct vt_end end_b;
	struct vt_region region;
	struct card me;
	struct vt_dev dev;
	u64 token;

	must(!vt_open(&dev, vt_name_b(), VT_IPV4, -1));
	db = dev;
	must(!vt_end_create(&end_b, &dev, &opts, 4096));
	must(!vt_to_init(&end_b) && !vt_to_rtr(&end_b, &end_a) && !vt_to_rts(&end_b));
	must(!vt_region_create(&region, &dev, VT_HOST, BUF, 0));
	post_recvs(&end_b, 0, 4);
	me = (struct card) { end_b.qp->qp_num, end_b.psn, region.mr->rkey,
			     (uintptr_t)region.buf };
	must(write(out, &me, sizeof(me)) == sizeof(me));
	info = persist_next(end_b.rcq, 0, IBV_WC_SUCCESS, CAIRNDV_PERSIST_FLUSH);
	token = info.token;
	must(write(out, &token, sizeof(token)) == sizeof(token));
	pause();
}

/* The error depends on which object of the target's process is destroyed first: its MR
 * (a NAK) or its QP (no answer).
 */
static void next_lost(struct pair *pair, u64 id)
{
	struct ibv_wc wc;

	must(try_poll(pair->a.scq, &wc, NULL, LONG_MS));
	ktap_eq(wc.wr_id, id);
	ktap_ok(wc.status == IBV_WC_RETRY_EXC_ERR ||
		wc.status == IBV_WC_REM_OP_ERR);
}

static void target_dies(void)
{
	struct vt_opts opts = VT_OPTS;
	struct ibv_qp peer_qp = {};
	struct vt_end end = { .dev = &db, .qp = &peer_qp };
	struct card card, mine;
	int fd[2], status;
	struct pair pair;
	struct ibv_mr fake_mr = {};
	pid_t pid;
	u64 token;

	opts.timeout = 10;
	opts.retry_cnt = 3;
	memset(&pair, 0, sizeof(pair));
	must(!vt_end_create(&pair.a, &da, &opts, 4096));
	mine = (struct card) { .qpn = pair.a.qp->qp_num, .psn = pair.a.psn };
	must(!pipe(fd));
	pid = fork();
	if (!pid) {
		if (!setjmp(vt_leave))
			doomed_target(&mine, fd[1]);
		_exit(1);
	}
	close(fd[1]);
	must(read(fd[0], &card, sizeof(card)) == sizeof(card));
	peer_qp.qp_num = card.qpn;
	end.psn = card.psn;
	must(!vt_to_init(&pair.a) && !vt_to_rtr(&pair.a, &end) && !vt_to_rts(&pair.a));
	fake_mr.rkey = card.rkey;
	pair.to.mr = &fake_mr;
	pair.to.buf = (u8 *)(uintptr_t)card.addr;
	post_write(&pair, 1, 0, 100, 0);
	post_write(&pair, 2, 0, 100, 0);
	must(read(fd[0], &token, sizeof(token)) == sizeof(token));
	ktap_ok(persist_nothing(pair.a.scq));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	next_lost(&pair, 1);
	persist_next(pair.a.scq, 2, IBV_WC_WR_FLUSH_ERR, CAIRNDV_PERSIST_NONE);
	ktap_eq(persist_done(token, 0), ENOENT);
	close(fd[0]);
	vt_end_destroy(&pair.a);
}

#define TESTS(X)							\
	X(query) X(registration) X(registration_devdax)			\
	X(automatic) X(automatic_write)					\
	X(rereg_not_mapped) X(registration_bad_block)			\
	X(nic_flush) X(empty_message) X(ask_first)			\
	X(region_kind) X(pipelined)					\
	X(extended) X(not_persistent) X(plain_write) X(early_nic)	\
	X(immediate) X(immediate_plain) X(immediate_waits)		\
	X(immediate_host) X(immediate_not_persistent)			\
	X(early_waits_for_receive)					\
	X(host_flush) X(host_order) X(replicas) X(replicas_change)	\
	X(host_failure) X(host_plain_write) X(host_atomics)	\
	X(plain_slow) X(host_wakes) X(host_group_commit)		\
	X(host_pairs) X(host_posted) X(host_posted_fence)		\
	X(host_posted_wrong) X(host_posted_faults) X(host_posted_at_peer)	\
	X(early_host) X(host_without_receive) X(host_bounded)		\
	X(host_word_between_packets) X(host_slow) X(host_limit)		\
	X(host_limit_stays)						\
	X(overlap) X(release_beside_a_slow_flush) X(fence)		\
	X(tokens_refused) X(late_after_qp) X(late_after_reset)		\
	X(late_after_mr) X(initiator_gives_up) X(target_dies)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	/* pages that the device uses must not be shared with a child */
	if (vt_dax_open() || ibv_fork_init())
		return vt_bail();
	return vt_run_on(&da, &db, VT_IPV4, argc > 1 ? argv[1] : NULL);
}
