// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Allocations that fail, where the kernel can inject faults (CONFIG_FAULT_INJECTION).
 *
 *	faults verbs	each call with its first allocation failing, then its second...
 *	faults link NETDEV [STEP]	the same for "rdma link add" and "delete", each
 *			STEPth allocation
 *	faults load FILE	the same for loading the module
 *	faults log FILE	the kernel's messages from now on, until SIGTERM
 *
 * /proc/thread-self/fail-nth makes the n-th allocation (or copy from or to a process)
 * of the next system call fail. A call that fails must leave nothing behind. The object
 * of a call that succeeds in spite of it must be as good as any other. The caller checks
 * the kernel's log and the objects that are left.
 *
 * Some allocators try twice in different ways (xarrays, IDs, kvmalloc()). With
 * FAULTS_TIMES=N the n-th allocation and the next N - 1 fail. Then failslab and
 * fail_page_alloc have the probability 100 and the filter by task.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <infiniband/cairndv.h>
#include "vt.h"
#include "vt_test.h"

#define MOST	1500	/* allocations of one call */
#define BUF	65536
#define PEER_MS	10000	/* the most that cairndv_query_peer() takes */

static struct vt_dev da, db;
static struct vt_end one, two;
static int nth_fd = -1;
static int task_fd, slab_fd, page_fd;	/* for FAULTS_TIMES */
static int times = 1, step = 1;
static u8 *buf;

static void put_number(int fd, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	/* A pending fault may hit this call. debugfs has no positions. */
	if (write(fd, text, len) != len && write(fd, text, len) != len)
		ktap_fail("to set a fault: %s", strerror(errno));
}

/* Only the n-th allocation fails. */
static void set_nth(int n)
{
	if (times > 1 && n) {
		put_number(slab_fd, times);
		put_number(page_fd, times);
		put_number(task_fd, 1);
	}
	put_number(nth_fd, n);
}

/* Did the fault happen? */
static bool faults_happened(void)
{
	char text[16] = "";
	bool hit;

	/* A fault now would be too late. */
	hit = pread(nth_fd, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
	if (times > 1)
		put_number(task_fd, 0);
	put_number(nth_fd, 0);
	return hit;
}

/* Several faults in a row were asked for. */
static bool open_times(const char *text)
{
	times = atoi(text);
	task_fd = open("/proc/self/make-it-fail", O_RDWR);
	slab_fd = open("/sys/kernel/debug/failslab/times", O_RDWR);
	page_fd = open("/sys/kernel/debug/fail_page_alloc/times", O_RDWR);
	return times > 1 && task_fd >= 0 && slab_fd >= 0 && page_fd >= 0;
}

/* Run @call with each of its allocations failing in turn; @undo frees its object. */
static void faults_try_each(const char *name, void *(*call)(void), void (*undo)(void *))
{
	int n, failed = 0;
	void *made;
	bool hit;

	for (n = 0; n < MOST; n++) {
		set_nth(1 + n * step);
		made = call();
		hit = faults_happened();
		failed += hit && !made;
		if (made && undo)
			undo(made);
		if (!hit)
			break;
	}
	ktap_diag("%s: %d faults, %d of them made it fail", name, n, failed);
	ktap_ok(n < MOST);
	/* without a fault it works */
	ktap_ok(made);
}

/* The return value of calls that make no object. */
static void *faults_result(int err)
{
	return err ? NULL : buf;
}

static void *open_device(void)
{
	/* the library's own calls would fail, too: open the device without it */
	int fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);

	return fd < 0 ? NULL : (void *)(long)fd;
}

static void close_device(void *fd)
{
	close((long)fd);
}

static void *open_context(void)
{
	return ibv_open_device(da.ctx->device);
}

static void *make_pd(void) { return ibv_alloc_pd(da.ctx); }
static void *make_channel(void) { return ibv_create_comp_channel(da.ctx); }
static void *make_cq(void) { return ibv_create_cq(da.ctx, 100, NULL, NULL, 0); }
static void *make_mw(void) { return ibv_alloc_mw(da.pd, IBV_MW_TYPE_2); }
static void *make_ah(void) { return vt_ah(&da, &db); }

static void *make_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { 100, 2, 0 } };

	return ibv_create_srq(da.pd, &init);
}

static struct ibv_xrcd *xrcd;

static void *make_xrcd(void)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	return ibv_open_xrcd(da.ctx, &init);
}

static void *make_xrc_srq(void)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { 100, 1, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = da.pd, .xrcd = xrcd, .cq = one.rcq,
	};

	return ibv_create_srq_ex(da.ctx, &init);
}

static void *make_mr(void)
{
	return ibv_reg_mr(da.pd, buf, BUF, VT_ACCESS);
}

static void *make_host_mr(void)
{
	return ibv_reg_mr(da.pd, buf, BUF, VT_ACCESS | CAIRNDV_ACCESS_PERSISTENT_HOST);
}

static void *make_odp_mr(void)
{
	return ibv_reg_mr(da.pd, buf, BUF, VT_ACCESS | IBV_ACCESS_ON_DEMAND);
}

/* So small that no allocation of it has a second way to get memory. */
static void *make_small_qp(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
		.send_cq = one.scq, .recv_cq = one.rcq,
	};

	return ibv_create_qp(da.pd, &init);
}

static void *make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { 100, 100, 2, 2, 64 }, .qp_type = IBV_QPT_RC,
		.send_cq = one.scq, .recv_cq = one.rcq,
	};

	return ibv_create_qp(da.pd, &init);
}

#define UNDO(name, type, how) \
	static void undo_##name(void *made) { struct type *it = made; how; }
UNDO(context, ibv_context, ktap_ok(!ibv_close_device(it)))
UNDO(pd, ibv_pd, ktap_ok(!ibv_dealloc_pd(it)))
UNDO(channel, ibv_comp_channel, ktap_ok(!ibv_destroy_comp_channel(it)))
UNDO(cq, ibv_cq, ktap_ok(!ibv_destroy_cq(it)))
UNDO(mw, ibv_mw, ktap_ok(!ibv_dealloc_mw(it)))
UNDO(ah, ibv_ah, ktap_ok(!ibv_destroy_ah(it)))
UNDO(srq, ibv_srq, ktap_ok(!ibv_destroy_srq(it)))
UNDO(xrcd, ibv_xrcd, ktap_ok(!ibv_close_xrcd(it)))
UNDO(mr, ibv_mr, ktap_ok(!ibv_dereg_mr(it)))
UNDO(qp, ibv_qp, ktap_ok(!ibv_destroy_qp(it)))

static void devices(void) { faults_try_each("open", open_device, close_device); }
static void contexts(void) { faults_try_each("context", open_context, undo_context); }
static void pds(void) { faults_try_each("PD", make_pd, undo_pd); }
static void channels(void) { faults_try_each("channel", make_channel, undo_channel); }
static void cqs(void) { faults_try_each("CQ", make_cq, undo_cq); }
static void srqs(void) { faults_try_each("SRQ", make_srq, undo_srq); }
static void mws(void) { faults_try_each("MW", make_mw, undo_mw); }
static void ahs(void) { faults_try_each("AH", make_ah, undo_ah); }
static void mrs(void) { faults_try_each("MR", make_mr, undo_mr); }
static void odp_mrs(void) { faults_try_each("MR on demand", make_odp_mr, undo_mr); }
static void host_mrs(void) { faults_try_each("MR, host flush", make_host_mr, undo_mr); }

static void qps(void)
{
	must(!vt_end_create(&one, &da, &(struct vt_opts)VT_OPTS, BUF));
	faults_try_each("QP", make_qp, undo_qp);
	faults_try_each("small QP", make_small_qp, undo_qp);
	vt_end_destroy(&one);
}

static void xrc(void)
{
	must(!vt_end_create(&one, &da, &(struct vt_opts)VT_OPTS, BUF));
	faults_try_each("XRC domain", make_xrcd, undo_xrcd);
	xrcd = make_xrcd();
	must(xrcd);
	faults_try_each("XRC SRQ", make_xrc_srq, undo_srq);
	undo_xrcd(xrcd);
	vt_end_destroy(&one);
}

/* IDs allocate memory for the 64th only: make @to objects, the last with faults. */
static void faults_crowd(void *(*call)(void), void (*undo)(void *), int from, int to)
{
	void *held[80] = { NULL };
	int i, n;

	for (i = 0; i < to; i++)
		for (n = 1; n < MOST; n++) {
			if (i >= from)
				set_nth(n);
			held[i] = call();
			if (i < from || !faults_happened())
				break;
			if (held[i])
				undo(held[i]);
		}
	for (i = 0; i < to; i++) {
		ktap_ok(held[i]);
		if (held[i])
			undo(held[i]);
	}
}

static void crowds(void)
{
	/* one fault makes none of them fail */
	if (times == 1)
		return;
	must(!vt_end_create(&one, &da, &(struct vt_opts)VT_OPTS, BUF));
	faults_crowd(make_cq, undo_cq, 52, 62);
	faults_crowd(make_small_qp, undo_qp, 0, 66);
	vt_end_destroy(&one);
}

static void faults_first_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.cap = { 4, 4, 1, 1, 0 }, .qp_type = type,
	};
	struct ibv_qp *qp = NULL;
	bool hit = true;
	struct vt_dev dev;
	int n;

	for (n = 1; n < MOST && hit; n++) {
		must(!vt_open(&dev, vt_name_a(), VT_IPV4, -1));
		init.send_cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
		init.recv_cq = init.send_cq;
		must(init.send_cq);
		set_nth(n);
		qp = ibv_create_qp(dev.pd, &init);
		hit = faults_happened();
		if (qp)
			ktap_ok(!ibv_destroy_qp(qp));
		ktap_ok(!ibv_destroy_cq(init.send_cq));
		vt_close(&dev);
	}
	ktap_diag("first QP: %d faults", n - 2);
	ktap_ok(!hit && qp);
}

/* The first queue pair of a context also makes objects that later ones share. */
static void firsts(void)
{
	faults_first_qp(IBV_QPT_RC);
	/* ... of which some are for UC and UD */
	faults_first_qp(IBV_QPT_UD);
}

static const union ibv_gid group = {
	.raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 },
};

static void *join_group(void)
{
	return ibv_attach_mcast(one.qp, &group, 0) ? NULL : one.qp;
}

static void leave_group(void *made)
{
	ktap_ok(!ibv_detach_mcast(made, &group, 0));
}

static void groups(void)
{
	struct vt_opts opts = VT_OPTS;

	opts.type = IBV_QPT_UD;
	must(!vt_end_create(&one, &da, &opts, BUF));
	must(!vt_to_init(&one) && !vt_to_rtr(&one, &one) && !vt_to_rts(&one));
	faults_try_each("group", join_group, leave_group);
	vt_end_destroy(&one);
}

/* A release that cannot begin leaves the region unchanged. */
static void releases(void)
{
	struct ibv_mr *mr;
	int n, err = 0;
	u32 ticket;
	bool hit;

	for (n = 1; n < MOST; n++) {
		mr = ibv_reg_mr(da.pd, buf, BUF, VT_ACCESS);
		must(mr);
		set_nth(n);
		err = cairndv_dereg_mr_async(mr, &ticket);
		hit = faults_happened();
		if (err)
			ktap_ok(!ibv_dereg_mr(mr));
		if (!hit)
			break;
	}
	ktap_diag("release: %d faults", n - 1);
	ktap_eq(err, 0);
}

/* --- calls that change objects ------------------------------------------ */

static void *resize_cq(void)
{
	static int cqe = 300;

	cqe ^= 512;
	return faults_result(ibv_resize_cq(one.rcq, cqe));
}

static void *to_rtr(void) { return faults_result(vt_to_rtr(&one, &two)); }
static void *to_rts(void) { return faults_result(vt_to_rts(&one)); }
static void *to_reset(void) { return faults_result(vt_to_state(one.qp, IBV_QPS_RESET)); }
static void *to_init(void) { return faults_result(vt_to_init(&one)); }

static void *resize_qp(void)
{
	static u32 depth = 64;
	struct ibv_qp_attr attr = { .cap = { 0 } };

	depth ^= 512;
	attr.cap = (struct ibv_qp_cap){ depth, depth, 4, 4, 64 };
	return faults_result(ibv_modify_qp(one.qp, &attr, IBV_QP_CAP));
}

static struct ibv_srq *srq;

static void *modify_srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 5 };

	return faults_result(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
}

/* The query calls of all objects. */
static void *ask_device(void)
{
	struct cairndv_device_attr attr;
	struct ibv_device_attr_ex ex;

	return faults_result(ibv_query_device_ex(da.ctx, NULL, &ex) ||
			     cairndv_query_device(da.ctx, &attr, sizeof(attr)));
}

static void *ask_port(void)
{
	struct ibv_gid_entry gids[64];
	struct ibv_port_attr attr;

	return faults_result(ibv_query_port(da.ctx, 1, &attr) ||
			     ibv_query_gid_table(da.ctx, gids, 64, 0) < 0);
}

static void *ask_qp(void)
{
	struct ibv_qp_init_attr init;
	struct cairndv_qp_attr dv;
	struct ibv_qp_attr attr;

	return faults_result(ibv_query_qp(one.qp, &attr, IBV_QP_STATE, &init) ||
			     cairndv_query_qp(one.qp, &dv, sizeof(dv)));
}

static void *ask_srq(void)
{
	struct ibv_srq_attr attr;

	return faults_result(ibv_query_srq(srq, &attr));
}

static void *ask_peer(void)
{
	struct cairndv_peer_attr attr;

	return faults_result(cairndv_query_peer(one.qp, &attr, sizeof(attr), PEER_MS));
}

static void *change_cc(void)
{
	struct cairndv_cc_attr attr;

	return faults_result(cairndv_query_cc(da.ctx, &attr, sizeof(attr)) ||
			     cairndv_modify_cc(da.ctx, &attr, sizeof(attr)) ||
			     cairndv_set_idle_time(da.ctx, CAIRNDV_IDLE_DEFAULT));
}

static void *list_faults(void)
{
	struct cairndv_fault list[CAIRNDV_FAULT_RULES];
	unsigned int num = CAIRNDV_FAULT_RULES;

	return faults_result(cairndv_fault_list(da.ctx, list, &num));
}

static void *join_fabric(void)
{
	return faults_result(cairndv_set_fabric(da.ctx, "faults"));
}

static void leave_fabric(void *made)
{
	ktap_ok(!cairndv_set_fabric(da.ctx, NULL));
}

static int faults_advise(const struct ibv_mr *mr, enum ibv_advise_mr_advice advice)
{
	struct ibv_sge sge = { (uintptr_t)buf, BUF, mr->lkey };

	return ibv_advise_mr(da.pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

static struct ibv_mr *advised;

static void *advise_write(void)
{
	return faults_result(faults_advise(advised, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE));
}

/* A thread of the kernel stores the pages. The caller injects faults there, and each page
 * that finds no memory is left to the first message.
 */
static void presents(void)
{
	struct ibv_mr *mr;
	int i;

	memset(buf, 1, BUF);
	for (i = 0; i < 100; i++) {
		mr = make_odp_mr();
		must(mr);
		ktap_eq(faults_advise(mr, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT), 0);
		undo_mr(mr);
	}
}

static void advices(void)
{
	advised = make_odp_mr();
	must(advised);
	faults_try_each("advice", advise_write, NULL);
	undo_mr(advised);
}

static void questions(void)
{
	must(!vt_end_create(&one, &da, &(struct vt_opts)VT_OPTS, BUF));
	must(!vt_end_create(&two, &db, &(struct vt_opts)VT_OPTS, BUF));
	must(!vt_connect(&one, &two));
	srq = make_srq();
	must(srq);
	faults_try_each("modify SRQ", modify_srq, NULL);
	faults_try_each("query device", ask_device, NULL);
	faults_try_each("query port", ask_port, NULL);
	faults_try_each("query QP", ask_qp, NULL);
	faults_try_each("query SRQ", ask_srq, NULL);
	faults_try_each("query peer", ask_peer, NULL);
	faults_try_each("congestion control", change_cc, NULL);
	faults_try_each("fault rules", list_faults, NULL);
	faults_try_each("fabric", join_fabric, leave_fabric);
	undo_srq(srq);
	vt_end_destroy(&one);
	vt_end_destroy(&two);
}

/* Each step of a connection is tried until it succeeds without a fault. */
static void changes(void)
{
	int n;

	must(!vt_end_create(&one, &da, &(struct vt_opts)VT_OPTS, BUF));
	must(!vt_end_create(&two, &db, &(struct vt_opts)VT_OPTS, BUF));
	faults_try_each("resize CQ", resize_cq, NULL);
	faults_try_each("INIT", to_init, NULL);
	for (n = 1; n < MOST; n++) {
		must(to_reset() && to_init());
		set_nth(n);
		to_rtr();
		if (!faults_happened())
			break;
	}
	ktap_diag("RTR: %d faults", n - 1);
	must(vt_state(one.qp) == IBV_QPS_RTR);
	for (n = 1; n < MOST; n++) {
		must(to_reset() && to_init() && to_rtr());
		set_nth(n);
		to_rts();
		if (!faults_happened())
			break;
	}
	ktap_diag("RTS: %d faults", n - 1);
	must(vt_state(one.qp) == IBV_QPS_RTS);
	faults_try_each("resize QP", resize_qp, NULL);
	must(!vt_to_init(&two) && !vt_to_rtr(&two, &one) && !vt_to_rts(&two));
	faults_try_each("RESET", to_reset, NULL);
	vt_end_destroy(&one);
	vt_end_destroy(&two);
}

/* --- links -------------------------------------------------------------- */

struct request {
	struct nlmsghdr hdr;
	char attrs[256];
};

static void add_attr(struct request *request, u16 type, const void *data, u16 len)
{
	struct nlattr *attr = (void *)((char *)request + NLMSG_ALIGN(request->hdr.nlmsg_len));

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + len;
	memcpy((char *)attr + NLA_HDRLEN, data, len);
	request->hdr.nlmsg_len = NLMSG_ALIGN(request->hdr.nlmsg_len) + NLMSG_ALIGN(attr->nla_len);
}

/*
 * Only a failure has an answer. If a fault hits the copy of the answer, its loss also
 * means failure.
 */
static int faults_request(struct request *message, u16 command)
{
	struct {
		struct nlmsghdr hdr;
		struct nlmsgerr err;
		char rest[512];
	} answer = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	int err = 0;

	message->hdr.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	message->hdr.nlmsg_flags = NLM_F_REQUEST;
	if (fd < 0)
		return errno;
	if (send(fd, message, message->hdr.nlmsg_len, 0) < 0)
		err = errno;
	else if (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) < 0)
		err = errno == EAGAIN ? 0 : errno;
	else
		err = -answer.err.error;
	close(fd);
	return err;
}

static const char *netdev;	/* or the module's file */
static int link_number;

static void *add_link(void)
{
	struct request message = { .hdr.nlmsg_len = NLMSG_HDRLEN };

	add_attr(&message, RDMA_NLDEV_ATTR_DEV_NAME, "cairn_f", 8);
	add_attr(&message, RDMA_NLDEV_ATTR_LINK_TYPE, "cairn", 6);
	add_attr(&message, RDMA_NLDEV_ATTR_NDEV_NAME, netdev, strlen(netdev) + 1);
	return faults_result(faults_request(&message, RDMA_NLDEV_CMD_NEWLINK));
}

/* The number of the device, or -1. */
static int link_index(void)
{
	FILE *file = popen("rdma dev show cairn_f 2>/dev/null", "r");
	int index = -1;

	if (file && fscanf(file, "%d:", &index) != 1)
		index = -1;
	if (file)
		pclose(file);
	return index;
}

static void *delete_link(void)
{
	struct request message = { .hdr.nlmsg_len = NLMSG_HDRLEN };

	add_attr(&message, RDMA_NLDEV_ATTR_DEV_INDEX, &link_number, 4);
	return faults_result(faults_request(&message, RDMA_NLDEV_CMD_DELLINK));
}

static void undo_link(void *made)
{
	link_number = link_index();
	ktap_ok(link_number >= 0);
	ktap_ok(delete_link());
}

static void links(void)
{
	int n;

	faults_try_each("link", add_link, undo_link);
	/* deleting has fewer allocations */
	for (n = 1; n < MOST; n += step > 16 ? 16 : step) {
		link_number = link_index();
		if (link_number < 0) {
			must(add_link());
			link_number = link_index();
		}
		set_nth(n);
		delete_link();
		if (!faults_happened())
			break;
	}
	ktap_diag("delete: one of the first %d", n - 1);
	ktap_eq(link_index(), -1);
}

/* --- the module ---------------------------------------------------------- */

static void *load_module(void)
{
	int fd = open(netdev, O_RDONLY | O_CLOEXEC), err;

	err = syscall(SYS_finit_module, fd, "", 0);
	close(fd);
	return faults_result(err);
}

static void unload_module(void *made)
{
	int tries = 1000;

	while (syscall(SYS_delete_module, "cairn", O_NONBLOCK) && --tries)
		usleep(10000);
	ktap_ok(tries);
}

static void loads(void)
{
	faults_try_each("module", load_module, unload_module);
}

/* --- the kernel's log ------------------------------------------------------ */

static volatile sig_atomic_t ended;

static void faults_end(int sig)
{
	ended = 1;
}

/* Before all other processes, as the kernel's buffer is small. */
static int read_log(const char *file)
{
	struct sched_param param = { .sched_priority = 1 };
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	FILE *out = fopen(file, "w");
	char record[8192];
	ssize_t len;

	if (fd < 0 || !out || lseek(fd, 0, SEEK_END) < 0 ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		return 1;
	signal(SIGTERM, faults_end);
	for (;;) {
		len = read(fd, record, sizeof(record));
		if (len > 0)
			fwrite(record, 1, len, out);
		else if (len < 0 && errno == EPIPE)
			fputs("faults: lost\n", out);
		else if (ended)
			return fclose(out) ? 1 : 0;
		else
			poll(&ready, 1, 100);
	}
}

#define VERBS(X)							\
	X(devices) X(contexts) X(pds) X(channels) X(cqs) X(srqs) X(mws)	\
	X(ahs) X(mrs) X(host_mrs) X(odp_mrs) X(qps) X(xrc) X(crowds)	\
	X(firsts) X(groups) X(releases) X(advices) X(presents)		\
	X(questions) X(changes) X(links) X(loads)
VT_TESTS(VERBS)

int main(int argc, char **argv)
{
	int n = sizeof(tests) / sizeof(tests[0]);

	if (argc == 3 && !strcmp(argv[1], "log"))
		return read_log(argv[2]);
	if (getenv("FAULTS_TIMES") && !open_times(getenv("FAULTS_TIMES"))) {
		puts("KTAP version 1\nBail out! no repeated faults");
		return 1;
	}
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (nth_fd < 0) {
		puts("1..0 # SKIP no fault injection");
		return 0;
	}
	if (argc >= 3 && strcmp(argv[1], "verbs")) {
		netdev = argv[2];
		step = argc > 3 ? atoi(argv[3]) : 1;
		buf = (u8 *)argv[2];
		return ktap_main(tests + n - (strcmp(argv[1], "link") ? 1 : 2), 1,
				 NULL);
	}
	buf = aligned_alloc(4096, BUF);
	if (!buf || vt_open(&da, vt_name_a(), VT_IPV4, -1) ||
	    vt_open(&db, vt_name_b(), VT_IPV4, -1)) {
		puts("KTAP version 1\nBail out! no devices");
		return 1;
	}
	return ktap_main(tests, n - 2, argc > 2 ? argv[2] : NULL);
}
