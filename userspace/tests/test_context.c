// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Contexts, mappings and their failures; small pass-through commands. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cairn.h"
#include "libcheck.h"
#include "cq.h"
#include "fake.h"
#include "ktap.h"
#include "qp.h"
#include "srq.h"
#include "fixture.h"

static void registration(void)
{
	const struct verbs_device_ops *ops = fake.dev_ops;
	struct verbs_sysfs_dev sysfs = {};
	struct verbs_device *dev;

	ktap_ok(ops && !strcmp(ops->name, "cairn"));
	ktap_eq(ops->match_min_abi_version, CAIRN_ABI_VERSION);
	ktap_eq(ops->match_max_abi_version, CAIRN_ABI_VERSION);
	ktap_eq(ops->match_table[0].kind, VERBS_MATCH_DRIVER_ID);
	ktap_eq(ops->match_table[0].u.driver_id, CAIRN_DRIVER_ID);
	ktap_eq(ops->match_table[1].kind, VERBS_MATCH_END);
	dev = ops->alloc_device(&sysfs);
	ktap_ok(dev && !dev->device._ops._dummy1 && !dev->device._ops._dummy2);
	ops->uninit_device(dev);
}

static void library_layout(void)
{
	fake.later_library = false;
	ktap_ok(cairn_libcheck());
	fake.later_library = true;
	fprintf(stderr, "# a complaint about libibverbs is expected here\n");
	ktap_ok(!cairn_libcheck());
	fake.later_library = false;
}

static void refuse_context(int want)
{
	errno = 0;
	ktap_ok(!fake_open());
	ktap_eq(errno, want);
	ktap_eq(fake.contexts, 0);
}

static void context_refused(void)
{
	fprintf(stderr, "# complaints about ABI and page size are expected\n");
	fake_reset();
	fake.abi_version = CAIRN_ABI_VERSION + 1;
	refuse_context(EPROTONOSUPPORT);
	fake_reset();
	fake.abi_version = 0;
	refuse_context(EPROTONOSUPPORT);
	fake_reset();
	fake.page_size *= 2;
	refuse_context(EPROTONOSUPPORT);
	fake_reset();
	fake.fail = "get_context";
	fake.fail_err = EACCES;
	refuse_context(EACCES);
}

/* ---- queue-info chunks ---- */

static void chunk_mapped_once(void)
{
	struct ibv_cq *cq[CAIRN_QINFO_PER_CHUNK + 1];
	int i;

	open_ctx();
	for (i = 0; i < CAIRN_QINFO_PER_CHUNK; i++) {
		cq[i] = fake_cq(ctx, 4);
		ktap_eq(fake.maps_made, 2 + i + 1);
	}
	cq[i] = fake_cq(ctx, 4);	/* the next chunk */
	ktap_eq(fake.maps_made, 4 + i + 1);
	for (i = 0; i <= CAIRN_QINFO_PER_CHUNK; i++)
		ktap_eq(fake.ops.destroy_cq(cq[i]), 0);
	ktap_eq(fake.maps, 0);
	close_ctx();
}

static void entries_are_told_apart(void)
{
	struct ibv_cq *cq_a, *cq_b;

	open_ctx();
	fake.next_qid = CAIRN_QINFO_PER_CHUNK - 1;
	cq_a = fake_cq(ctx, 4);
	cq_b = fake_cq(ctx, 4);
	ktap_eq(fake.ops.req_notify_cq(cq_a, 0), 0);
	ktap_eq(fake.rings[63].host->arm, 5);
	ktap_eq(fake.rings[64].host->arm, 0);
	ktap_ok(to_ccq(cq_a)->queue.qinfo != to_ccq(cq_b)->queue.qinfo);
	ktap_eq(fake.ops.destroy_cq(cq_a), 0);
	ktap_eq(fake.ops.destroy_cq(cq_b), 0);
	close_ctx();
}

/* A destroy that fails leaves the queue as it was. */
static void destroy_refused(void)
{
	struct cairn_cqe cqe = { .wr_id = 3 };
	struct ibv_cq *cq, *other;
	struct ibv_wc wc;

	open_ctx();
	cq = fake_cq(ctx, 4);
	fake.fail = "destroy_cq";
	fake.fail_err = EBUSY;
	ktap_eq(fake.ops.destroy_cq(cq), EBUSY);
	fake_complete(&fake.rings[0], &cqe);
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
	ktap_eq(wc.wr_id, 3);
	other = fake_cq(ctx, 4);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.poll_cq(other, 1, &wc), 0);
	ktap_eq(fake.ops.destroy_cq(other), 0);
	close_ctx();
}

static void destroy_refused_qp(void)
{
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	open_ctx();
	cq = fake_cq(ctx, 4);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	fake.fail = "destroy_qp";
	fake.fail_err = EBUSY;
	ktap_eq(fake.ops.destroy_qp(qp), EBUSY);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

/* Once the last queue is destroyed, the same offset may mean other pages. */
static void chunk_not_found_stale(void)
{
	struct ibv_cq *cq;

	open_ctx();
	cq = fake_cq(ctx, 4);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.maps, 0);
	cq = fake_cq(ctx, 4);
	ktap_eq(fake.maps, 3);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

/* The context is closed with queues left: their pages are unmapped, too. */
static void close_with_queues(void)
{
	struct ibv_cq *cq;

	open_ctx();
	cq = fake_cq(ctx, 4);
	fake_close(ctx);
	ktap_eq(fake.maps, 1);	/* the ring itself is lost with its CQ */
	ktap_eq(fake.contexts, 0);
	free(to_ccq(cq));
	free(pd);
}

/* ---- invalid descriptors ---- */

static void edit_reserved(struct cairn_ring_desc *desc)
{
	desc->reserved = 1;
}

static void edit_depth(struct cairn_ring_desc *desc)
{
	desc->depth = 3;
}

static void edit_no_ring(struct cairn_ring_desc *desc)
{
	desc->depth = 0;
}

static void edit_bytes(struct cairn_ring_desc *desc)
{
	desc->ring_bytes = desc->depth * CAIRN_UNIT_SIZE - 1;
}

static void edit_stride(struct cairn_ring_desc *desc)
{
	desc->stride = desc->depth + 1;
}

static void edit_ring_offset(struct cairn_ring_desc *desc)
{
	desc->ring_offset |= 1;
}

static void edit_dev_offset(struct cairn_ring_desc *desc)
{
	desc->dev_offset |= 1;
}

static void edit_host_offset(struct cairn_ring_desc *desc)
{
	desc->host_offset |= 1;
}

static void edit_ready_bit(struct cairn_ring_desc *desc)
{
	desc->ready_bit = CAIRN_READY_QUEUES;
}

static void edit_wake_index(struct cairn_ring_desc *desc)
{
	desc->wake_index = CAIRN_MAX_LANES;
}

static void edit_same_page(struct cairn_ring_desc *desc)
{
	desc->ready_offset = desc->wake_offset;
}

static const struct {
	void (*edit)(struct cairn_ring_desc *desc);
	int err;
} edits[] = {
	{ edit_reserved, EPROTO },
	{ edit_depth, EPROTO },
	{ edit_no_ring, EPROTO },
	{ edit_bytes, EPROTO },
	{ edit_stride, EPROTO },
	{ edit_ring_offset, EINVAL },
	{ edit_dev_offset, EINVAL },
	{ edit_host_offset, EINVAL },
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static void bad_descriptor_cq(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 };

	open_ctx();
	for (size_t i = 0; i < NR(edits); i++) {
		fake.edit = edits[i].edit;
		errno = 0;
		ktap_ok(!fake_cq(ctx, 4));
		ktap_eq(errno, edits[i].err);
		errno = 0;
		ktap_ok(!fake.ops.create_cq_ex(ctx, &attr));
		ktap_eq(errno, edits[i].err);
		ktap_eq(fake.objects, 1);
		ktap_eq(fake.maps, 0);
	}
	close_ctx();
}

/* For send queues only. */
static void (*const map_edits[])(struct cairn_ring_desc *) = {
	edit_ready_bit, edit_wake_index, edit_same_page,
};

/* Queues of the same pages share one mapping, which stays for the next. */
static void ready_mapped_once(void)
{
	struct ibv_qp *qp[2 * CAIRN_MAX_LANES];
	struct ibv_cq *cq;

	open_ctx();
	cq = fake_cq(ctx, 4);
	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < NR(qp); i++) {
			qp[i] = fake_qp(pd, cq, IBV_QPT_RC, 0);
			ktap_ok(qp[i]);
		}
		for (size_t i = 0; i < NR(qp); i++)
			ktap_eq(fake.ops.destroy_qp(qp[i]), 0);
		/* wake flags, and ready pages of every other lane: qids of SQs */
		ktap_eq(fake.maps, 3 + 1 + CAIRN_MAX_LANES / 2);
	}
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

static uint32_t spoiled_qid;
static void (*spoil)(struct cairn_ring_desc *desc);

static void edit_one(struct cairn_ring_desc *desc)
{
	if (desc->qid == spoiled_qid)
		spoil(desc);
}

static void bad_descriptor_qp(void)
{
	struct ibv_cq *cq;

	open_ctx();
	cq = fake_cq(ctx, 4);
	fake.edit = edit_one;
	for (size_t i = 0; i < NR(edits); i++) {
		if (edits[i].edit == edit_no_ring)
			continue;
		spoil = edits[i].edit;
		for (uint32_t half = 0; half < 2; half++) {
			spoiled_qid = fake.next_qid + half;
			errno = 0;
			ktap_ok(!fake_qp(pd, cq, IBV_QPT_RC, 0));
			ktap_eq(errno, edits[i].err);
			ktap_eq(fake.objects, 2);
			ktap_eq(fake.maps, 3);
		}
	}
	for (size_t i = 0; i < NR(map_edits); i++) {
		spoil = map_edits[i];
		spoiled_qid = fake.next_qid;
		errno = 0;
		ktap_ok(!fake_qp(pd, cq, IBV_QPT_RC, 0));
		ktap_eq(errno, EPROTO);
		ktap_eq(fake.objects, 2);
		ktap_eq(fake.maps, 3);
	}
	fake.edit = NULL;
	fake.fail = "create_qp";
	fake.fail_err = ENOSPC;
	ktap_ok(!fake_qp(pd, cq, IBV_QPT_RC, 0));
	ktap_eq(errno, ENOSPC);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

static void bad_descriptor_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { 4, 3, 0 } };

	open_ctx();
	for (size_t i = 0; i < NR(edits); i++) {
		fake.edit = edits[i].edit;
		errno = 0;
		ktap_ok(!fake.ops.create_srq(pd, &attr));
		ktap_eq(errno, edits[i].err);
		ktap_eq(fake.objects, 1);
		ktap_eq(fake.maps, 0);
	}
	close_ctx();
}

/* ---- protection and fork ---- */

/* Asks the kernel, whose read() fails where a store would fault. */
static bool is_writable(const void *addr)
{
	int zeros = open("/dev/zero", O_RDONLY);
	ssize_t got = read(zeros, (void *)addr, sizeof(uint32_t));

	ktap_ok(got == sizeof(uint32_t) || errno == EFAULT);
	close(zeros);
	return got > 0;
}

static void protection(void)
{
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct cairn_ring *ring;

	open_ctx();
	cq = fake_cq(ctx, 4);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	ring = &to_ccq(cq)->queue.ring;
	ktap_ok(!is_writable(ring->units));
	ktap_ok(!is_writable(ring->dev));
	ktap_ok(is_writable(ring->host));
	ring = &to_cqp(qp)->sq.ring;
	ktap_ok(!is_writable(ring->dev));
	ktap_ok(is_writable(ring->units));
	ktap_ok(is_writable(to_cqp(qp)->rq.queue.ring.units));
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

/* Objects of the parent in a child. */
struct inherited {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_srq *srq;
};

/* A child has the mappings, and unmaps its own. */
static int child_cleans_up(const struct inherited *it)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	if (fake.ops.modify_qp(it->qp, &attr, IBV_QP_STATE) ||
	    fake.ops.destroy_qp(it->qp) || fake.ops.destroy_srq(it->srq) ||
	    fake.ops.destroy_cq(it->cq) || fake.ops.dealloc_pd(pd))
		return 1;
	fake_close(ctx);
	return 0;
}

static int child_resizes(const struct inherited *it)
{
	struct ibv_qp_attr attr = { .cap = { .max_send_wr = 512 } };
	struct ibv_srq_attr srq_attr = { .max_wr = 512 };

	return fake.ops.modify_qp(it->qp, &attr, IBV_QP_CAP) ||
	       fake.ops.modify_srq(it->srq, &srq_attr, IBV_SRQ_MAX_WR) ||
	       fake.ops.resize_cq(it->cq, 512);
}

/* The parent may have destroyed the last queue of a page that the child has inherited: the
 * child maps the pages of its own queues.
 */
static int child_makes_queues(const struct inherited *it)
{
	struct ibv_srq_init_attr attr = { .attr = { 4, 3, 0 } };
	const struct cairn_qinfo *old = to_ccq(it->cq)->queue.qinfo;
	struct ibv_cq *cq = fake.ops.create_cq(ctx, 4, NULL, 0);
	struct ibv_srq *srq = fake.ops.create_srq(pd, &attr);

	if (!cq || !srq)
		return 1;
	if (to_ccq(cq)->queue.qinfo == old)
		return 2;
	return fake.ops.destroy_srq(srq) || fake.ops.destroy_cq(cq) ||
	       fake.ops.destroy_cq(it->cq) ? 3 : 0;
}

/* The child's checks pass, and the parent goes on. */
static void fork_child(int (*child)(const struct inherited *it))
{
	struct ibv_srq_init_attr attr = { .attr = { 4, 3, 0 } };
	struct inherited it;
	int status = -1;
	pid_t pid;

	open_ctx();
	it.cq = fake_cq(ctx, 4);
	it.qp = fake_qp(pd, it.cq, IBV_QPT_RC, 0);
	it.srq = fake.ops.create_srq(pd, &attr);
	pid = fork();
	if (!pid)
		_exit(child(&it));
	waitpid(pid, &status, 0);
	ktap_ok(WIFEXITED(status));
	ktap_eq(WEXITSTATUS(status), 0);
	ktap_eq(fake.ops.destroy_srq(it.srq), 0);
	ktap_eq(fake.ops.destroy_qp(it.qp), 0);
	ktap_eq(fake.ops.destroy_cq(it.cq), 0);
	close_ctx();
}

static void fork_child_closes(void)
{
	fork_child(child_cleans_up);
}

static void fork_child_resizes(void)
{
	fork_child(child_resizes);
}

static void fork_child_makes_queues(void)
{
	fork_child(child_makes_queues);
}

/* ---- the rest ---- */

static void device_attributes(void)
{
	struct ibv_device_attr_ex attr;

	open_ctx();
	memset(&attr, 0xff, sizeof(attr));
	ktap_eq(fake.ops.query_device_ex(ctx, NULL, &attr, sizeof(attr)), 0);
	ktap_ok(!strcmp(attr.orig_attr.fw_ver, "1.22.333"));
	ktap_eq(attr.completion_timestamp_mask, UINT64_MAX);
	ktap_eq(attr.hca_core_clock, 1000000);
	/* an older caller's structure ends earlier */
	memset(&attr, 0x55, sizeof(attr));
	ktap_eq(fake.ops.query_device_ex(ctx, NULL, &attr,
					 sizeof(attr.orig_attr)), 0);
	ktap_ok(!strcmp(attr.orig_attr.fw_ver, "1.22.333"));
	ktap_eq(attr.completion_timestamp_mask, 0x5555555555555555);
	ktap_eq(attr.hca_core_clock, 0x5555555555555555);
	fake.fail = "query_device";
	fake.fail_err = EIO;
	ktap_eq(fake.ops.query_device_ex(ctx, NULL, &attr, sizeof(attr)), EIO);
	close_ctx();
}

static void clock_value(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct timespec now;

	open_ctx();
	clock_gettime(CLOCK_MONOTONIC, &now);
	ktap_eq(fake.ops.query_rt_values(ctx, &values), 0);
	ktap_eq(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	ktap_ok(values.raw_clock.tv_sec >= now.tv_sec &&
		values.raw_clock.tv_sec <= now.tv_sec + 60);
	values.comp_mask = 0;
	ktap_eq(fake.ops.query_rt_values(ctx, &values), EINVAL);
	close_ctx();
}

static void memory_regions(void)
{
	struct verbs_mr *vmr;
	struct ibv_mr *mr;
	char buf[16];

	open_ctx();
	mr = fake.ops.reg_mr(pd, buf, sizeof(buf), (uintptr_t)buf, 0x23);
	vmr = (struct verbs_mr *)mr;
	ktap_eq(vmr->access, 0x23);
	ktap_eq(fake.ops.rereg_mr(vmr, 7, pd, buf, 8, 0x7), 0);
	ktap_eq(vmr->access, 0x7);
	fake.fail = "dereg_mr";
	fake.fail_err = EBUSY;
	ktap_eq(fake.ops.dereg_mr(vmr), EBUSY);
	ktap_eq(fake.ops.dereg_mr(vmr), 0);
	mr = fake.ops.reg_dmabuf_mr(pd, 0, 16, 0, 5, 0x3);
	ktap_eq(((struct verbs_mr *)mr)->access, 0x3);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	ktap_ok(!fake.ops.reg_dmabuf_mr(pd, 0, 16, 0, 5, 0x1 | 1 << 16));
	ktap_eq(errno, EOPNOTSUPP);
	/* the kernel has no object for it */
	mr = fake.ops.alloc_null_mr(pd);
	ktap_ok(mr->pd == pd && mr->context == ctx && !mr->rkey);
	ktap_eq(mr->lkey, CAIRN_NULL_LKEY);
	ktap_eq(((struct verbs_mr *)mr)->mr_type, VERBS_MR_TYPE_NULL);
	fake.fail = "dereg_mr";
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	fake.fail = "reg_mr";
	fake.fail_err = EINVAL;
	ktap_ok(!fake.ops.reg_mr(pd, buf, 16, 0, 0));
	ktap_eq(errno, EINVAL);
	fake.fail = "reg_dmabuf_mr";
	fake.fail_err = EOPNOTSUPP;
	ktap_ok(!fake.ops.reg_dmabuf_mr(pd, 0, 16, 0, 5, 0x3));
	ktap_eq(errno, EOPNOTSUPP);
	close_ctx();
}

static void advice(void)
{
	struct ibv_sge sge[] = { { 0, 8, 1 }, { 0, 7, 1 } };

	open_ctx();
	ktap_eq(fake.ops.advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				   IBV_ADVISE_MR_FLAG_FLUSH, sge, 2), 0);
	fake.fail = "advise_mr";
	fake.fail_err = ENOENT;
	ktap_eq(fake.ops.advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				   IBV_ADVISE_MR_FLAG_FLUSH, sge, 2), ENOENT);
	close_ctx();
}

/* A region that did not end keeps its device memory. */
static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	open_ctx();
	dm = fake.ops.alloc_dm(ctx, &attr);
	fake.fail = "reg_mr";
	fake.fail_err = ENOMEM;
	ktap_ok(!fake.ops.reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED));
	ktap_eq(errno, ENOMEM);
	mr = fake.ops.reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED);
	ktap_ok(mr != NULL);
	fake.fail = "dereg_mr";
	fake.fail_err = EIO;
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), EIO);
	ktap_eq(fake.ops.free_dm(dm), EBUSY);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	ktap_eq(fake.ops.free_dm(dm), 0);
	close_ctx();
}

static void address_handles(void)
{
	struct ibv_ah_attr attr = {};
	struct ibv_ah *ah;

	open_ctx();
	fake.fail = "create_ah";
	fake.fail_err = EHOSTUNREACH;
	ktap_ok(!fake.ops.create_ah(pd, &attr));
	ktap_eq(errno, EHOSTUNREACH);
	ah = fake.ops.create_ah(pd, &attr);
	fake.fail = "destroy_ah";
	fake.fail_err = EIO;
	ktap_eq(fake.ops.destroy_ah(ah), EIO);
	ktap_eq(fake.ops.destroy_ah(ah), 0);
	close_ctx();
}

/* The bytes that a later libibverbs reads behind our verbs_qp must be zero. */
static void room_behind_verbs_qp(void)
{
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	const uint8_t *p;

	open_ctx();
	cq = fake_cq(ctx, 4);
	qp = fake_qp(pd, cq, IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
	p = (const uint8_t *)qp + sizeof(struct verbs_qp);
	for (size_t i = 0; i < 64; i++)
		ktap_eq(p[i], 0);
	ktap_ok(offsetof(struct cairn_qp, sq) >= sizeof(struct verbs_qp) + 64);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

static const struct ktap_test tests[] = {
	KTAP(registration),
	KTAP(library_layout),
	KTAP(context_refused),
	KTAP(chunk_mapped_once),
	KTAP(entries_are_told_apart),
	KTAP(destroy_refused),
	KTAP(destroy_refused_qp),
	KTAP(chunk_not_found_stale),
	KTAP(close_with_queues),
	KTAP(bad_descriptor_cq),
	KTAP(bad_descriptor_qp),
	KTAP(ready_mapped_once),
	KTAP(bad_descriptor_srq),
	KTAP(protection),
	KTAP(fork_child_closes),
	KTAP(fork_child_resizes),
	KTAP(fork_child_makes_queues),
	KTAP(device_attributes),
	KTAP(clock_value),
	KTAP(memory_regions),
	KTAP(advice),
	KTAP(device_memory),
	KTAP(address_handles),
	KTAP(room_behind_verbs_qp),
};

KTAP_MAIN(tests)
