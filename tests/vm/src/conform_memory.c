// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Protection domains, memory regions and windows. */
#include "conform.h"
#include <sys/mman.h>

/* The status of a WRITE by a of 8 bytes to @va. Both ends are connected again after an error. */
static enum ibv_wc_status write_to(u32 rkey, u64 va)
{
	struct ibv_sge sge = sge_of(&a, 8);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { va, rkey },
	}, *bad;
	struct ibv_wc wc;

	must(!ibv_post_send(a.qp, &wr, &bad));
	wc = next_wc(a.scq);
	if (wc.status) {
		must(!vt_to_state(a.qp, IBV_QPS_RESET));
		must(!vt_to_state(b.qp, IBV_QPS_RESET));
		must(!vt_connect(&a, &b));
	}
	return wc.status;
}

static enum ibv_wc_status write_at(const struct ibv_mr *mr, s64 offset)
{
	return write_to(mr->rkey, (uintptr_t)b.buf + offset);
}

/* The status of a request of b's own with this key. */
static enum ibv_wc_status local_op(enum ibv_wr_opcode opcode, u32 key)
{
	struct ibv_send_wr wr = {
		.opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = key,
	}, *bad;

	must(!ibv_post_send(b.qp, &wr, &bad));
	return next_wc(b.scq).status;
}

static enum ibv_wc_status memory_bind(struct ibv_qp *qp, struct ibv_mw *mw,
				      struct ibv_mr *mr, u64 at, u64 len,
				      unsigned int access)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { mw, ibv_inc_rkey(mw->rkey),
			     { mr, (uintptr_t)b.buf + at, len, access } },
	}, *bad;
	struct ibv_mw_bind info = { .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = wr.bind_mw.bind_info };

	if (mw->type == IBV_MW_TYPE_2)
		must(!ibv_post_send(qp, &wr, &bad));
	else
		must(!ibv_bind_mw(qp, mw, &info));
	return next_wc(b.scq).status;
}

static struct ibv_mr *memory_region(int access)
{
	struct ibv_mr *mr = ibv_reg_mr(dev[1].pd, b.buf, 4096, access);

	must(mr);
	return mr;
}

STATEMENT(region_has_bounds, "IBTA 10.6.3",
	  "A region allows each byte of its range and none before or behind it.")
{
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mr = ibv_reg_mr(dev[1].pd, b.buf + 100, 5000, VT_ACCESS);
	must(mr);
	ktap_eq(write_at(mr, 100), IBV_WC_SUCCESS);
	ktap_eq(write_at(mr, 5092), IBV_WC_SUCCESS);
	ktap_eq(write_at(mr, 99), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(write_at(mr, 5093), IBV_WC_REM_ACCESS_ERR);
	must(!ibv_dereg_mr(mr));
	close_ends();
}

STATEMENT(deregistered_is_gone, "ibv_dereg_mr(3)",
	  "When ibv_dereg_mr() has returned, the key allows nothing.")
{
	struct ibv_mr *mr;
	u32 rkey;

	open_ends(IBV_QPT_RC);
	mr = memory_region(VT_ACCESS);
	rkey = mr->rkey;
	ktap_eq(write_to(rkey, (uintptr_t)b.buf), IBV_WC_SUCCESS);
	must(!ibv_dereg_mr(mr));
	ktap_eq(write_to(rkey, (uintptr_t)b.buf), IBV_WC_REM_ACCESS_ERR);
	close_ends();
}

STATEMENT(remote_write_needs_local, "ibv_reg_mr(3)",
	  "IBV_ACCESS_REMOTE_WRITE and IBV_ACCESS_REMOTE_ATOMIC need IBV_ACCESS_LOCAL_WRITE.")
{
	u8 *mem = aligned_alloc(4096, 4096);

	REFUSED_MR(ibv_reg_mr(dev[0].pd, mem, 4096, IBV_ACCESS_REMOTE_WRITE),
		   EINVAL);
	REFUSED_MR(ibv_reg_mr(dev[0].pd, mem, 4096, IBV_ACCESS_REMOTE_ATOMIC),
		   EINVAL);
	free(mem);
}

STATEMENT(other_domain, "IBTA 10.2.3",
	  "A key of another protection domain allows the peer of a queue pair nothing.")
{
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	open_ends(IBV_QPT_RC);
	pd = ibv_alloc_pd(dev[1].ctx);
	must(pd);
	mr = ibv_reg_mr(pd, b.buf, 4096, VT_ACCESS);
	must(mr);
	ktap_eq(write_at(mr, 0), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(ibv_dealloc_pd(pd), EBUSY);
	must(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd));
	close_ends();
}

STATEMENT(regions_overlap, "IBTA 10.6.3",
	  "The same memory may be in several regions with rights of their own.")
{
	struct ibv_mr *mr, *reading;

	open_ends(IBV_QPT_RC);
	mr = memory_region(VT_ACCESS);
	reading = memory_region(IBV_ACCESS_REMOTE_READ);
	ktap_ok(mr->rkey != reading->rkey);
	ktap_eq(write_at(mr, 0), IBV_WC_SUCCESS);
	ktap_eq(write_at(reading, 0), IBV_WC_REM_ACCESS_ERR);
	must(!ibv_dereg_mr(mr) && !ibv_dereg_mr(reading));
	close_ends();
}

STATEMENT(other_address, "ibv_reg_mr_iova(3)",
	  "A region has the addresses that begin at its iova, and only those.")
{
	u64 iova = 0x500000000000ull;
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mr = ibv_reg_mr_iova(dev[1].pd, b.buf, 4096, iova, VT_ACCESS);
	must(mr);
	vt_fill(a.buf, 8, 3);
	ktap_eq(write_to(mr->rkey, iova + 16), IBV_WC_SUCCESS);
	ktap_eq(vt_check(b.buf + 16, 8, 3), -1);
	ktap_eq(write_at(mr, 16), IBV_WC_REM_ACCESS_ERR);
	must(!ibv_dereg_mr(mr));
	close_ends();
}

STATEMENT(offsets_as_addresses, "ibv_reg_mr(3), IBV_ACCESS_ZERO_BASED",
	  "The bytes of a zero based region have their offsets as addresses.")
{
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mr = ibv_reg_mr(dev[1].pd, b.buf + 100, 4000,
			VT_ACCESS | IBV_ACCESS_ZERO_BASED);
	must(mr);
	vt_fill(a.buf, 8, 4);
	ktap_eq(write_to(mr->rkey, 16), IBV_WC_SUCCESS);
	ktap_eq(vt_check(b.buf + 116, 8, 4), -1);
	ktap_eq(write_to(mr->rkey, 3993), IBV_WC_REM_ACCESS_ERR);
	must(!ibv_dereg_mr(mr));
	close_ends();
}

STATEMENT(empty_region, "ibv_reg_mr(3)",
	  "A region of 0 bytes may be registered and allows no access.")
{
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mr = ibv_reg_mr(dev[1].pd, b.buf, 0, VT_ACCESS);
	must(mr);
	ktap_eq(write_at(mr, 0), IBV_WC_REM_ACCESS_ERR);
	must(!ibv_dereg_mr(mr));
	close_ends();
}

STATEMENT(rereg_rights, "ibv_rereg_mr(3)",
	  "IBV_REREG_MR_CHANGE_ACCESS changes the rights; without remote write access a WRITE is refused afterwards.")
{
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mr = memory_region(VT_ACCESS);
	ktap_eq(write_at(mr, 0), IBV_WC_SUCCESS);
	ktap_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     IBV_ACCESS_LOCAL_WRITE), 0);
	ktap_eq(write_at(mr, 0), IBV_WC_REM_ACCESS_ERR);
	must(!ibv_dereg_mr(mr));
	close_ends();
}

STATEMENT(rereg_memory, "ibv_rereg_mr(3)",
	  "IBV_REREG_MR_CHANGE_TRANSLATION moves the region to other memory.")
{
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mr = memory_region(VT_ACCESS);
	ktap_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			     b.buf + 8192, 4096, 0), 0);
	vt_fill(a.buf, 8, 5);
	ktap_eq(write_at(mr, 8192), IBV_WC_SUCCESS);
	ktap_eq(vt_check(b.buf + 8192, 8, 5), -1);
	ktap_eq(write_at(mr, 0), IBV_WC_REM_ACCESS_ERR);
	must(!ibv_dereg_mr(mr));
	close_ends();
}

STATEMENT(rereg_domain, "ibv_rereg_mr(3)",
	  "IBV_REREG_MR_CHANGE_PD moves the region to another protection domain.")
{
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	open_ends(IBV_QPT_RC);
	pd = ibv_alloc_pd(dev[1].ctx);
	must(pd);
	mr = memory_region(VT_ACCESS);
	ktap_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), 0);
	ktap_eq(write_at(mr, 0), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(ibv_dealloc_pd(pd), EBUSY);
	must(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd));
	close_ends();
}

STATEMENT(window_unbound, "IBTA 10.6.7.2",
	  "A window allows nothing before it is bound.")
{
	struct ibv_mw *mw;

	open_ends(IBV_QPT_RC);
	mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_1);
	must(mw);
	ktap_eq(write_to(mw->rkey, (uintptr_t)b.buf), IBV_WC_REM_ACCESS_ERR);
	must(!ibv_dealloc_mw(mw));
	close_ends();
}

STATEMENT(window_within_region, "IBTA 10.6.7.2",
	  "A window has its own range and rights within a region that has local rights only.")
{
	struct ibv_mw *mw;
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_1);
	mr = memory_region(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	must(mw);
	ktap_eq(memory_bind(b.qp, mw, mr, 1000, 100, IBV_ACCESS_REMOTE_WRITE),
		IBV_WC_SUCCESS);
	ktap_eq(write_to(mw->rkey, (uintptr_t)b.buf + 1092), IBV_WC_SUCCESS);
	ktap_eq(write_to(mw->rkey, (uintptr_t)b.buf + 1093),
		IBV_WC_REM_ACCESS_ERR);
	ktap_eq(write_at(mr, 1000), IBV_WC_REM_ACCESS_ERR);
	must(!ibv_dealloc_mw(mw) && !ibv_dereg_mr(mr));
	close_ends();
}

STATEMENT(region_with_window_stays, "IBTA 10.6.7.2",
	  "A region to which a window is bound is not deregistered.")
{
	struct ibv_mw *mw;
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_1);
	mr = memory_region(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	must(mw);
	ktap_eq(memory_bind(b.qp, mw, mr, 0, 100, IBV_ACCESS_REMOTE_WRITE),
		IBV_WC_SUCCESS);
	ktap_eq(ibv_dereg_mr(mr), EBUSY);
	must(!ibv_dealloc_mw(mw));
	ktap_eq(ibv_dereg_mr(mr), 0);
	close_ends();
}

STATEMENT(type_1_has_no_offsets, "IBTA 10.6.7.2, ibv_bind_mw(3)",
	  "A binding of a window of type 1 that is to be zero based is refused at once, and ends nothing.")
{
	struct ibv_mw_bind info = {};
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	u32 key;

	open_ends(IBV_QPT_RC);
	mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_1);
	mr = memory_region(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	must(mw);
	must(!memory_bind(b.qp, mw, mr, 0, 100, IBV_ACCESS_REMOTE_WRITE));
	key = mw->rkey;
	info.bind_info = (struct ibv_mw_bind_info){
		mr, (uintptr_t)b.buf, 100,
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED,
	};
	ktap_eq(ibv_bind_mw(b.qp, mw, &info), EINVAL);
	ktap_eq(mw->rkey, key);
	ktap_eq(write_to(key, (uintptr_t)b.buf), IBV_WC_SUCCESS);
	must(!ibv_dealloc_mw(mw) && !ibv_dereg_mr(mr));
	close_ends();
}

STATEMENT(region_must_allow_windows, "IBTA 10.6.7.2",
	  "A window of a region without the right to bind is refused with a memory window bind error.")
{
	struct ibv_mw *mw;
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_1);
	mr = memory_region(VT_ACCESS);
	must(mw);
	ktap_eq(memory_bind(b.qp, mw, mr, 0, 100, IBV_ACCESS_REMOTE_READ),
		IBV_WC_MW_BIND_ERR);
	ktap_ok(state_is(&b, IBV_QPS_ERR));
	must(!ibv_dealloc_mw(mw) && !ibv_dereg_mr(mr));
	close_ends();
}

static struct ibv_mw *bound_type_2(struct ibv_mr **mr)
{
	struct ibv_mw *mw = ibv_alloc_mw(dev[1].pd, IBV_MW_TYPE_2);

	*mr = memory_region(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	must(mw);
	ktap_eq(memory_bind(b.qp, mw, *mr, 0, 100, IBV_ACCESS_REMOTE_WRITE),
		IBV_WC_SUCCESS);
	return mw;
}

STATEMENT(type_2_is_bound_once, "IBTA 10.6.7.2",
	  "A bound window of type 2 is not bound again before it is invalidated.")
{
	struct ibv_mw *mw;
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mw = bound_type_2(&mr);
	ktap_eq(local_op(IBV_WR_LOCAL_INV, mw->rkey), IBV_WC_SUCCESS);
	ktap_eq(write_to(mw->rkey, (uintptr_t)b.buf), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(memory_bind(b.qp, mw, mr, 0, 100, IBV_ACCESS_REMOTE_WRITE),
		IBV_WC_SUCCESS);
	ktap_eq(memory_bind(b.qp, mw, mr, 0, 100, IBV_ACCESS_REMOTE_WRITE),
		IBV_WC_MW_BIND_ERR);
	must(!ibv_dealloc_mw(mw) && !ibv_dereg_mr(mr));
	close_ends();
}

STATEMENT(type_2_of_its_queue_pair, "IBTA 10.6.7.2",
	  "A window of type 2B is used by the peer of the queue pair that bound it, and invalidated through that queue pair only.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC);
	struct vt_end a1, b1;
	struct ibv_mw *mw;
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mw = bound_type_2(&mr);
	a1 = a;
	b1 = b;
	must(!vt_end_create(&a, &dev[0], &o, BUF));
	must(!vt_end_create(&b, &dev[1], &o, BUF));
	must(!vt_connect(&a, &b));
	ktap_eq(write_to(mw->rkey, (uintptr_t)b1.buf), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(local_op(IBV_WR_LOCAL_INV, mw->rkey), IBV_WC_MW_BIND_ERR);
	close_ends();
	a = a1;
	b = b1;
	ktap_eq(write_to(mw->rkey, (uintptr_t)b.buf), IBV_WC_SUCCESS);
	must(!ibv_dealloc_mw(mw) && !ibv_dereg_mr(mr));
	close_ends();
}

STATEMENT(peer_invalidates, "IBTA 10.6.7.2",
	  "A SEND with invalidate ends the binding before its receive completes, and the completion has the key.")
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	open_ends(IBV_QPT_RC);
	mw = bound_type_2(&mr);
	must(!post_recv(&b, 11, 10));
	wr.invalidate_rkey = mw->rkey;
	must(!ibv_post_send(a.qp, &wr, &bad));
	wc = next_wc(b.rcq);
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_ok(wc.wc_flags & IBV_WC_WITH_INV);
	ktap_eq(wc.invalidated_rkey, mw->rkey);
	expect_wc(a.scq, 0, IBV_WC_SUCCESS);
	ktap_eq(write_to(mw->rkey, (uintptr_t)b.buf), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(ibv_dereg_mr(mr), 0);
	must(!ibv_dealloc_mw(mw));
	close_ends();
}

STATEMENT(peer_may_not_invalidate, "IBTA 9.9.6.3, class J",
	  "A SEND with invalidate of a region of ibv_reg_mr() gets no NAK; its receive completes with an error, and the queue pair moves to the error state.")
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND_WITH_INV,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mr = memory_region(VT_ACCESS);
	must(!post_recv(&b, 11, 10) && !post_recv(&b, 12, 10));
	wr.invalidate_rkey = mr->rkey;
	must(!ibv_post_send(a.qp, &wr, &bad));
	expect_wc(b.rcq, 11, IBV_WC_LOC_ACCESS_ERR);
	expect_wc(b.rcq, 12, IBV_WC_WR_FLUSH_ERR);
	ktap_ok(state_is(&b, IBV_QPS_ERR));
	expect_wc(a.scq, 1, IBV_WC_RETRY_EXC_ERR);
	must(!ibv_dereg_mr(mr));
	close_ends();
}

DEVIATION(no_type_2a, "IBTA 10.6.7.2",
	  "A device has windows of type 2A or of type 2B.",
	  "Type 2B, which checks the protection domain, too. The device reports it.")
{
	struct ibv_device_attr_ex attr;

	must(!ibv_query_device_ex(dev[0].ctx, NULL, &attr));
	ktap_ok(attr.orig_attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	ktap_ok(!(attr.orig_attr.device_cap_flags &
		  IBV_DEVICE_MEM_WINDOW_TYPE_2A));
}

STATEMENT(keys_differ, "IBTA 10.6.3",
	  "A key is not given out again at once.")
{
	struct ibv_mr *mr;
	u32 keys[50];
	int i, k;

	open_ends(IBV_QPT_RC);
	for (i = 0; i < 50; i++) {
		mr = memory_region(VT_ACCESS);
		keys[i] = mr->rkey;
		must(!ibv_dereg_mr(mr));
		for (k = 0; k < i; k++)
			ktap_ok(keys[k] != keys[i]);
	}
	close_ends();
}

/* --- device memory --------------------------------------------------------- */

static struct ibv_dm *dm_alloc(struct ibv_context *ctx, size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	errno = 0;
	return ibv_alloc_dm(ctx, &attr);
}

#define DM_ACCESS	(VT_ACCESS | IBV_ACCESS_ZERO_BASED)

STATEMENT(dm_size, "ibv_query_device_ex(3), ibv_alloc_dm(3)",
	  "Device memory of max_dm_size bytes is allocated, at once or in parts; more is refused.")
{
	struct ibv_device_attr_ex ex;
	struct ibv_dm *dm, *other;

	must(!ibv_query_device_ex(dev[0].ctx, NULL, &ex) && ex.max_dm_size > 8);
	dm = dm_alloc(dev[0].ctx, ex.max_dm_size);
	must(dm);
	ktap_ok(!dm_alloc(dev[0].ctx, 1) && errno == ENOMEM);
	must(!ibv_free_dm(dm));
	ktap_ok(!dm_alloc(dev[0].ctx, ex.max_dm_size + 1) && errno == EINVAL);
	ktap_ok(!dm_alloc(dev[0].ctx, 0) && errno == EINVAL);
	dm = dm_alloc(dev[0].ctx, ex.max_dm_size - 4);
	other = dm_alloc(dev[0].ctx, 4);
	must(dm && other && !ibv_free_dm(dm) && !ibv_free_dm(other));
}

STATEMENT(dm_attributes, "ibv_alloc_dm(3)",
	  "An unknown comp_mask and an alignment that the device does not have are refused.")
{
	struct ibv_alloc_dm_attr attr = { .length = 64, .comp_mask = 1 };
	struct ibv_dm *dm;

	ktap_ok(!ibv_alloc_dm(dev[0].ctx, &attr) && errno == EINVAL);
	attr.comp_mask = 0;
	attr.log_align_req = 40;
	ktap_ok(!ibv_alloc_dm(dev[0].ctx, &attr) && errno == EINVAL);
	attr.log_align_req = 12;
	dm = ibv_alloc_dm(dev[0].ctx, &attr);
	must(dm && !ibv_free_dm(dm));
}

STATEMENT(dm_copies, "ibv_alloc_dm(3)",
	  "Copies to and from device memory stay within it; offset and length are multiples of 4.")
{
	struct ibv_dm *dm = dm_alloc(dev[0].ctx, 100);
	char in[104], out[104] = {};

	must(dm);
	vt_fill(in, sizeof(in), 3);
	ktap_eq(ibv_memcpy_to_dm(dm, 0, in, 100), 0);
	ktap_eq(ibv_memcpy_from_dm(out, dm, 40, 60), 0);
	ktap_ok(!memcmp(out, in + 40, 60));
	ktap_eq(ibv_memcpy_to_dm(dm, 0, in, 104), EFAULT);
	ktap_eq(ibv_memcpy_to_dm(dm, 104, in, 4), EFAULT);
	ktap_eq(ibv_memcpy_from_dm(out, dm, ~3ull, 8), EFAULT);
	ktap_eq(ibv_memcpy_from_dm(out, dm, 2, 4), EINVAL);
	ktap_eq(ibv_memcpy_from_dm(out, dm, 0, 6), EINVAL);
	must(!ibv_free_dm(dm));
}

STATEMENT(dm_region, "ibv_alloc_dm(3)",
	  "A region of device memory is zero based, for peers and for local requests.")
{
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	char out[64];

	open_ends(IBV_QPT_RC);
	dm = dm_alloc(dev[1].ctx, 100000);
	must(dm);
	mr = ibv_reg_dm_mr(dev[1].pd, dm, 4096, 64, DM_ACCESS);
	must(mr && !mr->addr && mr->length == 64);
	vt_fill(a.buf, 8, 5);
	ktap_eq(write_to(mr->rkey, 16), IBV_WC_SUCCESS);
	ktap_eq(ibv_memcpy_from_dm(out, dm, 4096, 64), 0);
	ktap_eq(vt_check(out + 16, 8, 5), -1);
	ktap_eq(write_to(mr->rkey, 57), IBV_WC_REM_ACCESS_ERR);

	struct ibv_sge sge = { 16, 8, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)a.buf + 100, a.mr->rkey },
	}, *bad;

	must(!ibv_post_send(b.qp, &wr, &bad));
	ktap_eq(next_wc(b.scq).status, IBV_WC_SUCCESS);
	ktap_eq(vt_check(a.buf + 100, 8, 5), -1);
	must(!ibv_dereg_mr(mr) && !ibv_free_dm(dm));
	close_ends();
}

STATEMENT(dm_region_limits, "ibv_alloc_dm(3)",
	  "A region of device memory that is not zero based, or is not within it, is refused.")
{
	struct ibv_dm *dm = dm_alloc(dev[0].ctx, 100);
	struct ibv_mr *mr;

	must(dm);
	ktap_ok(!ibv_reg_dm_mr(dev[0].pd, dm, 0, 100, VT_ACCESS) && errno == EINVAL);
	ktap_ok(!ibv_reg_dm_mr(dev[0].pd, dm, 0, 101, DM_ACCESS) && errno == EINVAL);
	ktap_ok(!ibv_reg_dm_mr(dev[0].pd, dm, ~0ull, 2, DM_ACCESS) && errno == EINVAL);
	mr = ibv_reg_dm_mr(dev[0].pd, dm, 0, 100, DM_ACCESS);
	must(mr);
	ktap_ok(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) != 0);
	must(!ibv_dereg_mr(mr) && !ibv_free_dm(dm));
}

STATEMENT(dm_in_use, "ibv_alloc_dm(3)",
	  "Device memory is not freed while it has a region.")
{
	struct ibv_dm *dm = dm_alloc(dev[0].ctx, 100);
	struct ibv_mr *mr;

	must(dm);
	mr = ibv_reg_dm_mr(dev[0].pd, dm, 0, 100, DM_ACCESS);
	must(mr);
	ktap_eq(ibv_free_dm(dm), EBUSY);
	must(!ibv_dereg_mr(mr));
	ktap_eq(ibv_free_dm(dm), 0);
}
