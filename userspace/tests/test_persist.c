// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Direct verbs of persistence; posting is in test_send.c and test_qpex.c. */
#include <errno.h>

#include "cairndv.h"
#include "fake.h"
#include "ktap.h"
#include "fixture.h"

#define REMOTE	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define NR(array) (sizeof(array) / sizeof((array)[0]))

static const struct verbs_device_ops other_ops;
static struct verbs_device other = { .ops = &other_ops };
static char buf[64];

static struct ibv_mr *reg(int access)
{
	errno = 0;
	return fake.ops.reg_mr(pd, buf, sizeof(buf), (uintptr_t)buf, access);
}

/* ---- registration ---- */

static uint32_t domain_of(struct ibv_mr *mr)
{
	struct cairndv_mr_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	ktap_eq(cairndv_query_mr(mr, &attr, sizeof(attr)), 0);
	ktap_eq(attr.comp_mask, 0);
	ktap_eq(attr.flush_limit_ms, 0);
	return attr.persist_domain;
}

static const struct {
	unsigned int access;
	uint32_t flags, domain;
} kinds[] = {
	{ 0, 0, 0 },
	{ 1 << 16, 1, CAIRNDV_DOMAIN_PMEM },
	{ 1 << 17, 2, CAIRNDV_DOMAIN_HOST },
	{ 1 << 16 | 1 << 18, 1 | 4, CAIRNDV_DOMAIN_EMULATED },
};

static void registration(void)
{
	open_ctx();
	for (size_t i = 0; i < NR(kinds); i++) {
		struct ibv_mr *mr = reg(REMOTE | (int)kinds[i].access);

		ktap_ok(mr);
		/* the kernel's verbs layer must not see cairn's bits */
		ktap_eq(((struct verbs_mr *)mr)->access, REMOTE);
		ktap_eq(fake.mr_req.flags, kinds[i].flags);
		ktap_eq(fake.mr_req.reserved, 0);
		ktap_eq(domain_of(mr), kinds[i].domain);
		ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	}
	close_ctx();
}

/* Bits that are not cairn's are passed on and refused there. */
static void other_bits_pass(void)
{
	struct ibv_mr *mr;

	open_ctx();
	mr = reg(REMOTE | 1 << 16 | 1 << 15 | 1 << 19);
	ktap_eq(((struct verbs_mr *)mr)->access, REMOTE | 1 << 15 | 1 << 19);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	close_ctx();
}

static void registration_refused(void)
{
	open_ctx();
	for (size_t i = 1; i < NR(kinds); i++) {
		fake.fail = "reg_mr";
		fake.fail_err = EINVAL;
		ktap_ok(!reg(REMOTE | (int)kinds[i].access));
		ktap_eq(errno, EINVAL);
		/* a module that takes the tail and ignores it */
		for (uint32_t bit = 1; bit < 8; bit <<= 1) {
			if (!(kinds[i].flags & bit))
				continue;
			fake.mr_echo_lacks = bit;
			ktap_ok(!reg(REMOTE | (int)kinds[i].access));
			ktap_eq(errno, EOPNOTSUPP);
			ktap_eq(fake.objects, 1);
		}
		fake.mr_echo_lacks = 0;
	}
	close_ctx();
}

static void rereg_refused(void)
{
	struct verbs_mr *vmr;

	open_ctx();
	vmr = (struct verbs_mr *)reg(REMOTE | CAIRNDV_ACCESS_PERSISTENT_HOST);
	ktap_eq(fake.ops.rereg_mr(vmr, IBV_REREG_MR_CHANGE_TRANSLATION, pd, buf,
				  32, REMOTE), EOPNOTSUPP);
	ktap_eq(fake.ops.rereg_mr(vmr, IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0,
				  0), EOPNOTSUPP);
	ktap_eq(vmr->access, REMOTE);
	ktap_eq(domain_of(&vmr->ibv_mr), CAIRNDV_DOMAIN_HOST);
	ktap_eq(fake.ops.dereg_mr(vmr), 0);
	close_ctx();
}

static void flush_limit(void)
{
	struct cairndv_mr_attr attr;
	struct ibv_mr *mr;

	open_ctx();
	mr = reg(REMOTE | CAIRNDV_ACCESS_PERSISTENT_HOST);
	ktap_eq(cairndv_set_flush_limit(mr, 250), 0);
	ktap_eq(fake.flush_limit.ms, 250);
	ktap_eq(fake.flush_limit.reserved, 0);
	ktap_eq(fake.flush_limit_mr, mr->handle);
	fake.ioctl_errors[0] = EINVAL;
	ktap_eq(cairndv_set_flush_limit(mr, 1), EINVAL);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_set_flush_limit(mr, 1), EOPNOTSUPP);
	/* a refused limit is not reported */
	ktap_eq(cairndv_query_mr(mr, &attr, sizeof(attr)), 0);
	ktap_eq(attr.flush_limit_ms, 250);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	/* the device does not know this one */
	mr = fake.ops.alloc_null_mr(pd);
	fake.ioctl_errors[0] = ENOENT;
	ktap_eq(cairndv_set_flush_limit(mr, 1), EINVAL);
	fake.ioctl_errors[0] = 0;
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	close_ctx();
}

/* ---- queries and release ---- */

static void device_query(void)
{
	struct {
		struct cairndv_device_attr attr;
		uint64_t later;
	} room;

	open_ctx();
	fake.caps = (struct cairn_device_caps){
		.persist_domains = 5, .persist_modes = 15,
		.persist_atomic_unit = 8, .max_persist_outstanding = 16,
		.max_msg = 1ull << 31,
		.idle_us = 70, .loopback = CAIRN_LOOPBACK_HOST,
	};
	memset(&room, 0xff, sizeof(room));
	ktap_eq(cairndv_query_device(ctx, &room.attr, sizeof(room)), 0);
	ktap_eq(room.attr.comp_mask, 0);
	ktap_eq(room.attr.persist_domains,
		CAIRNDV_DOMAIN_PMEM | CAIRNDV_DOMAIN_EMULATED);
	ktap_eq(room.attr.persist_modes,
		CAIRNDV_PERSIST_MODE_DEFAULT | CAIRNDV_PERSIST_MODE_EARLY |
		CAIRNDV_PERSIST_MODE_IMM | CAIRNDV_PERSIST_MODE_DONE);
	ktap_eq(room.attr.persist_atomic_unit, 8);
	ktap_eq(room.attr.max_persist_outstanding, 16);
	ktap_eq(room.attr.max_persist_msg, 1ull << 31);
	ktap_eq(room.attr.idle_us, 70);
	ktap_eq(room.attr.loopback, CAIRNDV_LOOPBACK_HOST);
	ktap_eq(room.later, 0);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_query_device(ctx, &room.attr, sizeof(room.attr)),
		EOPNOTSUPP);
	fake.ioctl_errors[0] = EIO;
	ktap_eq(cairndv_query_device(ctx, &room.attr, sizeof(room.attr)), EIO);
	close_ctx();
}

static void release(void)
{
	open_ctx();
	errno = 77;
	ktap_eq(cairndv_persist_done(ctx, 0x0123456789abcdef, 0), 0);
	ktap_eq(fake.persist_dones, 1);
	ktap_eq(fake.persist_done[0].token, 0x0123456789abcdef);
	ktap_eq(fake.persist_done[0].status, 0);
	ktap_eq(fake.persist_done[0].reserved, 0);
	fake.ioctl_errors[0] = EINTR;	/* the call is repeated */
	ktap_eq(cairndv_persist_done(ctx, 7, EIO), 0);
	ktap_eq(fake.persist_dones, 2);
	ktap_eq(fake.persist_done[0].token, 7);
	ktap_eq(fake.persist_done[0].status, EIO);
	fake.ioctl_errors[0] = ENOENT;
	ktap_eq(cairndv_persist_done(ctx, 7, 0), ENOENT);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_persist_done(ctx, 7, 0), EOPNOTSUPP);
	ktap_eq(cairndv_persist_done(ctx, 7, -EIO), EINVAL);
	ktap_eq(fake.persist_dones, 2);
	ktap_eq(errno, 77);
	close_ctx();
}

static void release_many(void)
{
	struct cairndv_persist_answer answers[65] = {};
	uint64_t refused = 77;

	for (uint32_t i = 0; i < 65; i++)
		answers[i] = (struct cairndv_persist_answer){
			.token = 1000 + i, .status = i % 3 ? 0 : EIO,
		};
	open_ctx();
	ktap_eq(cairndv_persist_done_all(ctx, answers, 64, &refused), 0);
	ktap_eq(fake.persist_dones, 1);
	ktap_eq(fake.persist_answers, 64);
	ktap_eq(refused, 0);
	for (uint32_t i = 0; i < 64; i++) {
		ktap_eq(fake.persist_done[i].token, 1000 + i);
		ktap_eq(fake.persist_done[i].status, i % 3 ? 0 : EIO);
		ktap_eq(fake.persist_done[i].reserved, 0);
	}
	ktap_eq(cairndv_persist_done_all(ctx, answers + 5, 1, NULL), 0);
	ktap_eq(fake.persist_answers, 1);
	ktap_eq(fake.persist_done[0].token, 1005);
	fake.persist_refused = 1ULL << 63 | 4;
	ktap_eq(cairndv_persist_done_all(ctx, answers, 64, &refused), ENOENT);
	ktap_eq(refused, 1ULL << 63 | 4);
	ktap_eq(cairndv_persist_done_all(ctx, answers, 64, NULL), ENOENT);
	ktap_eq(fake.persist_dones, 4);
	ktap_eq(cairndv_persist_done_all(ctx, answers, 0, NULL), EINVAL);
	ktap_eq(cairndv_persist_done_all(ctx, answers, 65, NULL), EINVAL);
	answers[3].status = -EIO;
	ktap_eq(cairndv_persist_done_all(ctx, answers, 4, NULL), EINVAL);
	answers[3].status = 0;
	answers[3].reserved = 1;
	ktap_eq(cairndv_persist_done_all(ctx, answers, 4, NULL), EINVAL);
	ktap_eq(fake.persist_dones, 4);
	fake.ioctl_errors[0] = EPROTONOSUPPORT;
	ktap_eq(cairndv_persist_done_all(ctx, answers, 1, NULL), EOPNOTSUPP);
	close_ctx();
}

/* ---- completions ---- */

static struct cairn_cqe any_cqe(uint8_t opcode, uint8_t status)
{
	return (struct cairn_cqe){
		.wr_id = ktap_rand(), .qpn = (uint32_t)ktap_rand(),
		.byte_len = (uint32_t)ktap_rand(), .opcode = opcode,
		.status = status, .persist_va = ktap_rand(),
		.persist_token = ktap_rand(), .psn = ktap_below(1 << 24),
		.durability = (uint8_t)ktap_below(5),
	};
}

static const struct {
	uint8_t opcode;
	uint32_t kind;
	bool va, range;
} completions[] = {
	{ CAIRN_CQE_SEND, CAIRNDV_PERSIST_NONE, false, false },
	{ CAIRN_CQE_WRITE, CAIRNDV_PERSIST_NONE, false, false },
	{ CAIRN_CQE_WRITE_PERSIST, CAIRNDV_PERSIST_WRITE, false, false },
	{ CAIRN_CQE_RECV, CAIRNDV_PERSIST_NONE, false, false },
	{ CAIRN_CQE_RECV_IMM, CAIRNDV_PERSIST_RECEIVED, true, true },
	{ CAIRN_CQE_RECV_PERSIST, CAIRNDV_PERSIST_FLUSH, true, true },
	{ CAIRN_CQE_RECV_DURABLE, CAIRNDV_PERSIST_DURABLE, true, false },
};

static void check_info(const struct cairndv_persist_info *info,
		       const struct cairn_cqe *cqe, size_t i)
{
	bool none = cqe->status || !completions[i].kind ||
		    (cqe->opcode == CAIRN_CQE_RECV_IMM && !cqe->durability);
	bool va = !none && completions[i].va;
	bool range = !none && completions[i].range;

	ktap_eq(info->kind, none ? 0 : completions[i].kind);
	ktap_eq(info->qp_num, cqe->qpn);
	ktap_eq(info->psn, none ? 0 : cqe->psn);
	ktap_eq(info->va, va ? cqe->persist_va : 0);
	ktap_eq(info->length, range ? cqe->byte_len : 0);
	ktap_eq(info->token, range && info->kind == CAIRNDV_PERSIST_FLUSH ?
		cqe->persist_token : 0);
	ktap_eq(info->durability, none ? 0 : cqe->durability);
	ktap_eq(info->reserved2[0] | info->reserved2[1] | info->reserved2[2], 0);
}

static void poll_with_info(void)
{
	struct cairndv_persist_info info[NR(completions) + 1];
	struct cairn_cqe cqe[NR(completions)];
	struct ibv_wc wc[NR(completions) + 1];
	struct fake_ring *ring;
	struct ibv_cq *cq;

	open_ctx();
	fake.start_index = 0xfffffffc;
	cq = fake_cq(ctx, 16);
	ring = &fake.rings[fake.last_qid];
	ktap_eq(cairndv_poll_cq(cq, 1, wc, info), 0);
	for (uint8_t status = 0; status < 13; status++) {
		memset(info, 0xff, sizeof(info));
		for (size_t i = 0; i < NR(cqe); i++) {
			cqe[i] = any_cqe(completions[i].opcode, status);
			fake_complete(ring, &cqe[i]);
		}
		ktap_eq(cairndv_poll_cq(cq, NR(cqe) + 1, wc, info), NR(cqe));
		for (size_t i = 0; i < NR(cqe); i++) {
			ktap_eq(wc[i].wr_id, cqe[i].wr_id);
			ktap_eq(wc[i].status, status);
			check_info(&info[i], &cqe[i], i);
		}
		/* no element beyond the polled ones */
		ktap_eq(info[NR(cqe)].token, UINT64_MAX);
		ktap_eq(ring->host->index, ring->dev->index);
	}
	/* without infos it is the ordinary poll */
	fake_complete(ring, &cqe[0]);
	ktap_eq(cairndv_poll_cq(cq, 4, wc, NULL), 1);
	ktap_eq(cairndv_poll_cq(cq, 4, wc, info), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

static void read_from_extended(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct ibv_poll_cq_attr poll_attr = {};
	struct cairn_cqe cqe[NR(completions)];
	struct cairndv_persist_info info;
	struct fake_ring *ring;
	struct ibv_cq_ex *cq;

	open_ctx();
	cq = fake.ops.create_cq_ex(ctx, &attr);
	ring = &fake.rings[fake.last_qid];
	ktap_eq(cairndv_wc_read_persist(cq, &info), EINVAL);
	for (size_t i = 0; i < NR(cqe); i++) {
		cqe[i] = any_cqe(completions[i].opcode, (uint8_t)(i == 5));
		fake_complete(ring, &cqe[i]);
	}
	ktap_eq(ibv_start_poll(cq, &poll_attr), 0);
	for (size_t i = 0; i < NR(cqe); i++) {
		memset(&info, 0xff, sizeof(info));
		ktap_eq(cairndv_wc_read_persist(cq, &info), 0);
		check_info(&info, &cqe[i], i);
		ktap_eq(ibv_next_poll(cq), i + 1 < NR(cqe) ? 0 : ENOENT);
	}
	ibv_end_poll(cq);
	ktap_eq(fake.ops.destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	close_ctx();
}

static void other_devices(void)
{
	struct cairndv_device_attr device_attr;
	struct cairndv_persist_info info;
	struct cairndv_mr_attr mr_attr;
	struct ibv_cq_ex cqx = {};
	struct ibv_context foreign = { .device = &other.device };
	struct ibv_cq cq = { .context = &foreign };
	struct ibv_mr mr = { .context = &foreign };
	struct ibv_wc wc;

	open_ctx();
	cqx.context = &foreign;
	ktap_eq(cairndv_query_device(&foreign, &device_attr,
				     sizeof(device_attr)), EOPNOTSUPP);
	ktap_eq(cairndv_query_mr(&mr, &mr_attr, sizeof(mr_attr)), EOPNOTSUPP);
	ktap_eq(cairndv_set_flush_limit(&mr, 1), EOPNOTSUPP);
	ktap_eq(cairndv_poll_cq(&cq, 1, &wc, &info), -EOPNOTSUPP);
	ktap_eq(cairndv_wc_read_persist(&cqx, &info), EOPNOTSUPP);
	ktap_eq(cairndv_persist_done(&foreign, 1, 0), EOPNOTSUPP);
	ktap_eq(cairndv_persist_done_all(&foreign, NULL, 1, NULL), EOPNOTSUPP);
	ktap_eq(fake.persist_dones, 0);
	close_ctx();
}

static const struct ktap_test tests[] = {
	KTAP(registration),
	KTAP(other_bits_pass),
	KTAP(registration_refused),
	KTAP(rereg_refused),
	KTAP(flush_limit),
	KTAP(device_query),
	KTAP(release),
	KTAP(release_many),
	KTAP(poll_with_info),
	KTAP(read_from_extended),
	KTAP(other_devices),
};

KTAP_MAIN(tests)
