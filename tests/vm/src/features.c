// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The features of Documentation/features.rst that a program sees, each tried in the
 * shortest way that shows it. On another device a test that fails is a "no" of its column.
 */
#include "conform.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/udmabuf.h>
#include <infiniband/cairndv.h>

/* Each in a process of its own: other providers can crash, and leave objects behind. */
#define FEATURE(fn)							\
	static void try_##fn(void);					\
	STATEMENT(fn, "", "")						\
	{								\
		features_apart(try_##fn);				\
	}								\
	static void try_##fn(void)

/* --- helpers ----------------------------------------------------------------- */

static struct ibv_ah *peer;

/* In a child, in which must() ends with @run. Return: its exit status. */
static int features_fork(void (*run)(void))
{
	pid_t child = fork();
	int status;

	must(child >= 0);
	if (!child) {
		ktap.failures = 0;
		if (!setjmp(vt_leave))
			run();
		fflush(stdout);
		_exit(ktap.failures ? 1 : ktap.skipped ? 2 : 0);
	}
	must(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void (*features_one)(void);

static void features_open(void)
{
	must(vt_open_both(&dev[0], &dev[1], VT_IPV4));
	features_one();
}

static void features_apart(void (*run)(void))
{
	int status;

	features_one = run;
	status = features_fork(features_open);
	if (status == 2)
		ktap_skip("not in this kernel");
	else
		ktap_eq(status, 0);
}

/* a sends 100 bytes, which b receives. */
static struct ibv_wc features_send(enum ibv_qp_type type, enum ibv_wr_opcode opcode,
				   unsigned int flags)
{
	struct ibv_sge sge = sge_of(&a, 100);
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED | flags, .imm_data = htobe32(7),
	}, *bad;

	if (type == IBV_QPT_UD) {
		wr.wr.ud.ah = peer;
		wr.wr.ud.remote_qpn = b.qp->qp_num;
		wr.wr.ud.remote_qkey = VT_QKEY;
	}
	must(!post_recv(&b, 2, 4096));
	must(!ibv_post_send(a.qp, &wr, &bad));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	return next_wc(b.rcq);
}

static void sends_on(enum ibv_qp_type type)
{
	struct ibv_wc wc;

	open_ends(type);
	if (type == IBV_QPT_UD) {
		peer = vt_ah(&dev[0], &dev[1]);
		must(peer);
	}
	wc = features_send(type, IBV_WR_SEND, 0);
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_eq(wc.byte_len, type == IBV_QPT_UD ? 140 : 100);
	close_ends();
	if (type == IBV_QPT_UD)
		must(!ibv_destroy_ah(peer));
}

/* The status of one request of a that needs no receive. */
static enum ibv_wc_status features_request(enum ibv_wr_opcode opcode, u64 addr, u32 rkey)
{
	struct ibv_sge sge = sge_of(&a, 8);
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { addr, rkey },
	}, *bad;

	must(!ibv_post_send(a.qp, &wr, &bad));
	return next_wc(a.scq).status;
}

/* --- queue pairs ---------------------------------------------------------------- */

FEATURE(rc)
{
	sends_on(IBV_QPT_RC);
}

FEATURE(uc)
{
	sends_on(IBV_QPT_UC);
}

FEATURE(ud)
{
	sends_on(IBV_QPT_UD);
}

FEATURE(xrc)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	struct ibv_qp_init_attr_ex target = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};
	struct ibv_qp *qp;

	target.xrcd = ibv_open_xrcd(dev[0].ctx, &init);
	must(target.xrcd);
	qp = ibv_create_qp_ex(dev[0].ctx, &target);
	must(qp && !ibv_destroy_qp(qp));
	must(!ibv_close_xrcd(target.xrcd));
}

FEATURE(extended_queues)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 4, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM,
	};
	struct vt_opts opts = VT_OPTS;
	struct ibv_cq_ex *cq;

	must(!vt_end_create_ex(&a, &dev[0], &opts, BUF, IBV_QP_EX_WITH_SEND |
			       IBV_QP_EX_WITH_RDMA_WRITE));
	must(ibv_qp_to_qp_ex(a.qp));
	vt_end_destroy(&a);
	cq = ibv_create_cq_ex(dev[0].ctx, &init);
	must(cq && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

FEATURE(time_stamps)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = 4, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(dev[0].ctx, &init);

	must(cq && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

FEATURE(resize_qp)
{
	struct ibv_qp_attr attr = {
		.cap = { .max_send_wr = 200, .max_recv_wr = 200,
			 .max_send_sge = 4, .max_recv_sge = 4 },
	};
	struct ibv_qp_init_attr init;

	open_ends(IBV_QPT_RC);
	ktap_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP), 0);
	must(!ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init));
	ktap_ok(init.cap.max_send_wr >= 200);
	close_ends();
}

FEATURE(drained)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	open_ends(IBV_QPT_RC);
	must(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
	ktap_ok(vt_async(&dev[0], IBV_EVENT_SQ_DRAINED, vt_ms(5000)));
	ktap_eq(vt_state(a.qp), IBV_QPS_SQD);
	close_ends();
}

/* --- operations ----------------------------------------------------------------- */

FEATURE(immediate)
{
	struct ibv_wc wc;

	open_ends(IBV_QPT_RC);
	wc = features_send(IBV_QPT_RC, IBV_WR_SEND_WITH_IMM, 0);
	ktap_ok(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htobe32(7));
	close_ends();
}

FEATURE(solicited_events)
{
	struct vt_opts opts = opts_of(IBV_QPT_RC);

	opts.channel = true;
	open_ends_with(&opts);
	must(!vt_connect(&a, &b));
	must(!ibv_req_notify_cq(b.rcq, 1));
	features_send(IBV_QPT_RC, IBV_WR_SEND, 0);
	ktap_ok(!vt_event(b.rchan, BRIEF));
	features_send(IBV_QPT_RC, IBV_WR_SEND, IBV_SEND_SOLICITED);
	ktap_ok(vt_event(b.rchan, LONG));
	close_ends();
}

FEATURE(atomics)
{
	open_ends(IBV_QPT_RC);
	must(!conform_post(1, IBV_WR_ATOMIC_FETCH_AND_ADD, 8));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	ktap_eq(*(u64 *)b.buf, 1);
	must(!conform_post(2, IBV_WR_ATOMIC_CMP_AND_SWP, 8));
	expect_wc(a.scq, 2, IBV_WC_SUCCESS);
	ktap_eq(*(u64 *)b.buf, 7);
	close_ends();
}

FEATURE(atomic_write)
{
	struct vt_opts opts = opts_of(IBV_QPT_RC);
	struct ibv_qp_ex *qpx;
	u64 value = 0x1122334455667788;

	must(!vt_end_create_ex(&a, &dev[0], &opts, BUF, IBV_QP_EX_WITH_ATOMIC_WRITE));
	must(!vt_end_create(&b, &dev[1], &opts, BUF));
	must(!vt_connect(&a, &b));
	qpx = ibv_qp_to_qp_ex(a.qp);
	ibv_wr_start(qpx);
	qpx->wr_id = 1;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_write(qpx, b.mr->rkey, (uintptr_t)b.buf, &value);
	must(!ibv_wr_complete(qpx));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	ktap_ok(*(u64 *)b.buf == value);
	close_ends();
}

/* rdma-core 44 has no name for the capabilities, the placement types of RDMA FLUSH. A
 * kernel that cannot write lines of caches back, as user-mode Linux, has only the first.
 */
FEATURE(flush_reported)
{
	struct cairndv_device_attr dv = { .persist_domains = CAIRNDV_DOMAIN_PMEM };
	struct ibv_device_attr_ex ex;
	struct utsname kernel;
	int major, minor;

	must(!uname(&kernel) && sscanf(kernel.release, "%d.%d", &major, &minor) == 2);
	if (major * 100 + minor < 602) {
		ktap_skip("no FLUSH in the verbs");
		return;
	}
	must(!ibv_query_device_ex(dev[0].ctx, NULL, &ex));
	/* it leaves the attributes of a foreign device as they are */
	cairndv_query_device(dev[0].ctx, &dv, sizeof(dv));
	ktap_eq(ex.device_cap_flags_ex >> 38 & 3,
		dv.persist_domains & CAIRNDV_DOMAIN_PMEM ? 3 : 1);
}

FEATURE(messages_of_2g)
{
	ktap_diag("max_msg_sz %u", dev[0].port.max_msg_sz);
	ktap_ok(dev[0].port.max_msg_sz == 1u << 31);
}

/* mlx5 takes such a request, and it completes with an error. */
FEATURE(datagram_operations_refused)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE }, *bad;

	open_ends(IBV_QPT_UD);
	sge = sge_of(&a, 8);
	ktap_ok(ibv_post_send(a.qp, &wr, &bad) != 0);
	close_ends();
}

/* --- completion queues and shared receive queues ------------------------------------ */

FEATURE(resize_cq)
{
	struct ibv_cq *cq = ibv_create_cq(dev[0].ctx, 4, NULL, NULL, 0);

	must(cq && !ibv_resize_cq(cq, 1000));
	ktap_ok(cq->cqe >= 1000);
	must(!ibv_destroy_cq(cq));
}

FEATURE(moderation)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = 3, .cq_period = 1000 },
	};
	struct ibv_cq *cq = ibv_create_cq(dev[0].ctx, 4, NULL, NULL, 0);

	must(cq);
	ktap_eq(ibv_modify_cq(cq, &attr), 0);
	must(!ibv_destroy_cq(cq));
}

static struct ibv_srq *features_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { 8, 1, 0 } };
	struct ibv_srq *srq = ibv_create_srq(dev[1].pd, &init);

	must(srq);
	return srq;
}

FEATURE(srq_resize)
{
	struct ibv_srq_attr attr = { .max_wr = 500 };
	struct ibv_srq *srq = features_srq();

	ktap_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	must(!ibv_query_srq(srq, &attr));
	ktap_ok(attr.max_wr >= 500);
	must(!ibv_destroy_srq(srq));
}

/* b's queue pair with the SRQ is made anew: vt_end has none. */
FEATURE(srq_limit_event)
{
	struct ibv_srq *srq = features_srq();
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .srq = srq };
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct vt_opts opts = opts_of(IBV_QPT_RC);
	struct ibv_recv_wr wr = { .wr_id = 3 }, *bad;
	struct ibv_sge sge;
	int i;

	open_ends_with(&opts);
	must(!ibv_destroy_qp(b.qp));
	init.send_cq = b.scq;
	init.recv_cq = b.rcq;
	b.qp = ibv_create_qp(dev[1].pd, &init);
	must(b.qp && !vt_connect(&a, &b));
	sge = sge_of(&b, 100);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	for (i = 0; i < 2; i++)
		must(!ibv_post_srq_recv(srq, &wr, &bad));
	must(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	must(!conform_post(1, IBV_WR_SEND, 100));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	ktap_ok(vt_async(&dev[1], IBV_EVENT_SRQ_LIMIT_REACHED, vt_ms(5000)));
	close_ends();
	must(!ibv_destroy_srq(srq));
}

/* --- memory ------------------------------------------------------------------------- */

/* Pages 1 and 2 of b's buffer as a window; the status of a WRITE at @offset of it. */
static struct ibv_mw *window;
static struct ibv_mr *windowed;
static u32 window_key;

static void window_bind(enum ibv_mw_type type, unsigned int access)
{
	struct ibv_mw_bind_info info = {
		.length = 8192, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE | access,
	};
	struct ibv_mw_bind bind = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = IBV_WR_BIND_MW,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	open_ends(IBV_QPT_RC);
	windowed = ibv_reg_mr(dev[1].pd, b.buf, BUF, IBV_ACCESS_LOCAL_WRITE |
						     IBV_ACCESS_MW_BIND);
	window = ibv_alloc_mw(dev[1].pd, type);
	must(windowed && window);
	info.mr = windowed;
	info.addr = (uintptr_t)b.buf + 4096;
	bind.bind_info = info;
	wr.bind_mw.mw = window;
	wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
	wr.bind_mw.bind_info = info;
	if (type == IBV_MW_TYPE_1)
		must(!ibv_bind_mw(b.qp, window, &bind));
	else
		must(!ibv_post_send(b.qp, &wr, &bad));
	expect_wc(b.scq, 5, IBV_WC_SUCCESS);
	/* not every provider stores the new key of type 2 */
	window_key = type == IBV_MW_TYPE_1 ? window->rkey : wr.bind_mw.rkey;
}

static void window_end(void)
{
	must(!ibv_dealloc_mw(window) && !ibv_dereg_mr(windowed));
	close_ends();
}

FEATURE(window_type_1)
{
	window_bind(IBV_MW_TYPE_1, 0);
	ktap_eq(features_request(IBV_WR_RDMA_WRITE, (uintptr_t)b.buf + 4096, window_key),
		IBV_WC_SUCCESS);
	window_end();
}

FEATURE(window_type_2)
{
	window_bind(IBV_MW_TYPE_2, 0);
	ktap_eq(features_request(IBV_WR_RDMA_WRITE, (uintptr_t)b.buf + 4096, window_key),
		IBV_WC_SUCCESS);
	window_end();
}

FEATURE(window_bounds)
{
	window_bind(IBV_MW_TYPE_2, 0);
	ktap_ok(features_request(IBV_WR_RDMA_WRITE, (uintptr_t)b.buf, window_key) !=
		IBV_WC_SUCCESS);
	window_end();
}

FEATURE(window_zero_based)
{
	window_bind(IBV_MW_TYPE_2, IBV_ACCESS_ZERO_BASED);
	ktap_eq(features_request(IBV_WR_RDMA_WRITE, 0, window_key), IBV_WC_SUCCESS);
	window_end();
}

static void features_invalidate(enum ibv_wr_opcode opcode)
{
	struct vt_end *end = opcode == IBV_WR_LOCAL_INV ? &b : &a;
	struct ibv_send_wr wr = { .opcode = opcode, .send_flags = IBV_SEND_SIGNALED }, *bad;

	window_bind(IBV_MW_TYPE_2, 0);
	must(!post_recv(&b, 2, 4096));
	wr.invalidate_rkey = window_key;
	must(!ibv_post_send(end->qp, &wr, &bad));
	ktap_eq(next_wc(end->scq).status, IBV_WC_SUCCESS);
	ktap_ok(features_request(IBV_WR_RDMA_WRITE, (uintptr_t)b.buf + 4096,
				 window_key) != IBV_WC_SUCCESS);
	window_end();
}

FEATURE(local_invalidate)
{
	features_invalidate(IBV_WR_LOCAL_INV);
}

FEATURE(send_with_invalidate)
{
	features_invalidate(IBV_WR_SEND_WITH_INV);
}

FEATURE(region_zero_based)
{
	struct ibv_mr *mr;

	open_ends(IBV_QPT_RC);
	mr = ibv_reg_mr(dev[1].pd, b.buf, BUF, VT_ACCESS | IBV_ACCESS_ZERO_BASED);
	must(mr);
	ktap_eq(features_request(IBV_WR_RDMA_WRITE, 0, mr->rkey), IBV_WC_SUCCESS);
	must(!ibv_dereg_mr(mr));
	close_ends();
}

FEATURE(region_dmabuf)
{
	int memfd = memfd_create("features", MFD_ALLOW_SEALING), fd;
	struct udmabuf_create create = { .memfd = memfd, .size = BUF };
	int udmabuf = open("/dev/udmabuf", O_RDWR);
	struct ibv_mr *mr;

	if (udmabuf < 0) {
		ktap_skip("no /dev/udmabuf");
		return;
	}
	must(!ftruncate(memfd, BUF) && !fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	fd = ioctl(udmabuf, UDMABUF_CREATE, &create);
	must(fd >= 0);
	mr = ibv_reg_dmabuf_mr(dev[0].pd, 0, BUF, 0, fd, IBV_ACCESS_LOCAL_WRITE);
	must(mr && !ibv_dereg_mr(mr));
	close(fd);
	close(udmabuf);
	close(memfd);
}

FEATURE(device_memory)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm = ibv_alloc_dm(dev[0].ctx, &attr);

	must(dm && !ibv_free_dm(dm));
}

/* A WRITE to fresh pages by a key of these, or of all memory. */
static void on_demand_of(size_t len)
{
	void *mem = mmap(NULL, BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	must(mem != MAP_FAILED);
	open_ends(IBV_QPT_RC);
	mr = ibv_reg_mr(dev[1].pd, len == BUF ? mem : NULL, len,
			VT_ACCESS | IBV_ACCESS_ON_DEMAND);
	must(mr);
	ktap_eq(features_request(IBV_WR_RDMA_WRITE, (uintptr_t)mem, mr->rkey),
		IBV_WC_SUCCESS);
	must(!ibv_dereg_mr(mr));
	close_ends();
	munmap(mem, BUF);
}

FEATURE(on_demand)
{
	on_demand_of(BUF);
}

FEATURE(on_demand_implicit)
{
	on_demand_of(SIZE_MAX);
}

FEATURE(null_region)
{
	struct ibv_mr *mr = ibv_alloc_null_mr(dev[0].pd);

	must(mr && !ibv_dereg_mr(mr));
}

static void features_rereg(int flags)
{
	struct ibv_pd *pd = ibv_alloc_pd(dev[1].ctx);
	struct ibv_mr *mr;

	must(pd);
	open_ends(IBV_QPT_RC);
	mr = ibv_reg_mr(dev[1].pd, b.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	must(mr);
	ktap_eq(ibv_rereg_mr(mr, flags, pd, b.buf + 4096, 4096,
			     flags & IBV_REREG_MR_CHANGE_ACCESS ? VT_ACCESS : 0), 0);
	must(!ibv_dereg_mr(mr));
	close_ends();
	must(!ibv_dealloc_pd(pd));
}

FEATURE(rereg_access)
{
	features_rereg(IBV_REREG_MR_CHANGE_ACCESS);
}

FEATURE(rereg_pd)
{
	features_rereg(IBV_REREG_MR_CHANGE_PD);
}

FEATURE(rereg_memory)
{
	features_rereg(IBV_REREG_MR_CHANGE_TRANSLATION);
}

/* --- the rest ------------------------------------------------------------------------ */

FEATURE(parent_domain)
{
	struct ibv_td_init_attr td_init = {};
	struct ibv_parent_domain_init_attr init = { .pd = dev[0].pd };
	struct ibv_cq_init_attr_ex cq_init = {
		.cqe = 16, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
	};
	struct ibv_cq_ex *cq;
	struct ibv_pd *pd;

	init.td = ibv_alloc_td(dev[0].ctx, &td_init);
	must(init.td);
	pd = ibv_alloc_parent_domain(dev[0].ctx, &init);
	must(pd);
	cq_init.parent_domain = pd;
	cq = ibv_create_cq_ex(dev[0].ctx, &cq_init);
	must(cq && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	/* an ordinary one is none */
	cq_init.parent_domain = dev[0].pd;
	errno = 0;
	ktap_ok(!ibv_create_cq_ex(dev[0].ctx, &cq_init));
	ktap_eq(errno, EINVAL);
	must(!ibv_dealloc_pd(pd));
	must(!ibv_dealloc_td(init.td));
}

FEATURE(rate_limit)
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 100000 };

	open_ends(IBV_QPT_RC);
	ktap_eq(ibv_modify_qp_rate_limit(a.qp, &limit), 0);
	close_ends();
}

static void multicast_to(const char *bytes, enum vt_family family)
{
	struct vt_opts opts = opts_of(IBV_QPT_UD);
	struct vt_dev from, to, group;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	must(vt_open_both(&from, &to, family));
	must(!vt_end_create(&a, &from, &opts, BUF) && !vt_end_create(&b, &to, &opts, BUF));
	must(!vt_connect(&a, &b));
	group = to;
	memcpy(group.gid.raw, bytes, 16);
	must(!ibv_attach_mcast(b.qp, &group.gid, 0));
	must(!post_recv(&b, 2, 4096));
	sge = sge_of(&a, 100);
	wr.wr.ud.ah = vt_ah(&from, &group);
	must(wr.wr.ud.ah);
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = VT_QKEY;
	must(!ibv_post_send(a.qp, &wr, &bad));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(b.rcq, 2, IBV_WC_SUCCESS);
	must(!ibv_destroy_ah(wr.wr.ud.ah));
	must(!ibv_detach_mcast(b.qp, &group.gid, 0));
	close_ends();
	vt_close(&from);
	vt_close(&to);
}

FEATURE(multicast_ipv4)
{
	multicast_to("\0\0\0\0\0\0\0\0\0\0\xff\xff\xef\1\2\3", VT_IPV4);
}

FEATURE(multicast_ipv6)
{
	multicast_to("\xff\x15\0\0\0\0\0\0\0\0\0\1\0\2\0\3", VT_IPV6);
}

static void own_queues(void)
{
	sends_on(IBV_QPT_RC);
}

static void old_queues(void)
{
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 0));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
}

/* The child makes queues on the context that its parent opened. */
FEATURE(fork_own_queues)
{
	ktap_eq(features_fork(own_queues), 0);
}

/* The child uses queues that its parent has made. */
FEATURE(fork_old_queues)
{
	open_ends(IBV_QPT_RC);
	ktap_eq(features_fork(old_queues), 0);
	close_ends();
}
