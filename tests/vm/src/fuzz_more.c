// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Objects and calls that few programs use: regions on demand and of dma-bufs,
 * advice, XRC, multicast, rate limits, groups, faults, and calls that libcairn adds to
 * libibverbs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <infiniband/cairndv.h>
#include "fuzz.h"

#define PAGE		4096u
#define XRC_FILE	"/tmp/cairn-fuzz-xrc"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret	447
#endif
#ifndef MADV_COLD
#define MADV_COLD		20
#define MADV_PAGEOUT		21
#endif

/* --- regions --- */

static struct ibv_mr *region_of_dmabuf(struct ibv_pd *of)
{
	int memfd = memfd_create("cairn-fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	size_t len = (size_t)PAGE * (1 + below(16));
	struct udmabuf_create create = { .memfd = memfd, .size = len };
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd = -1;
	struct ibv_mr *made = NULL;

	if (!ftruncate(memfd, len) && !fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = ioctl(dev, UDMABUF_CREATE, &create);
	if (fd >= 0)
		made = ibv_reg_dmabuf_mr(of, one_in(8) ? number() : below(PAGE),
					 one_in(8) ? number() : below(len), number(), fd,
					 one_in(4) ? (int)number() : VT_ACCESS);
	close(fd);
	close(dev);
	close(memfd);
	return made;
}

struct ibv_mr *more_region(struct ibv_pd *of, u8 *addr, size_t len)
{
	int access = IBV_ACCESS_ON_DEMAND | (VT_ACCESS & rnd()) |
		     (one_in(3) ? IBV_ACCESS_MW_BIND : 0);

	switch (below(5)) {
	case 0:
		return region_of_dmabuf(of);
	case 1:
		return ibv_reg_mr(of, NULL, SIZE_MAX, access);
	case 2:
		return ibv_reg_mr_iova2(of, addr, len, number(), access);
	default:
		return ibv_reg_mr(of, addr, len, access);
	}
}

static void more_advise(void)
{
	struct ibv_mr *of = *slot(mr);
	struct ibv_pd *in = *slot(pd);
	struct ibv_sge sge[4];
	u32 i;

	if (!in)
		return;
	for (i = 0; i < 4; i++)
		sge[i] = (struct ibv_sge){
			.addr = one_in(4) ? number() : (uintptr_t)arena + below(ARENA),
			.length = one_in(4) ? number() : below(100000),
			.lkey = of && !one_in(4) ? of->lkey : guess_key(),
		};
	ibv_advise_mr(in, below(4), one_in(4) ? number() : below(2), sge, 1 + below(4));
}

/* --- memory --- */

static void map_over(u8 *page, size_t len, int fd, int flags)
{
	if (!ftruncate(fd, len))
		syscall(SYS_mmap, page, len, PROT_READ | PROT_WRITE, MAP_FIXED | flags, fd, 0);
	close(fd);
}

void more_memory(void)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
		MADV_DONTFORK, MADV_DOFORK, MADV_COLD, MADV_PAGEOUT, MADV_WILLNEED,
	};
	u8 *page = arena + (below(ARENA / 2) & ~(PAGE - 1));
	size_t len = (size_t)PAGE * (1 + below(16));
	void *moved;

	switch (below(8)) {
	case 0:
		map_over(page, len, syscall(SYS_memfd_secret, 0), MAP_SHARED);
		break;
	case 1:
		map_over(page, len, memfd_create("cairn-fuzz", 0), MAP_SHARED);
		break;
	case 2:
		madvise(page, len, advices[below(sizeof(advices) / sizeof(advices[0]))]);
		break;
	case 3:
		mprotect(page, len, below(8) & ~PROT_EXEC);
		break;
	case 4:
		/* moved to the place of other memory */
		moved = mremap(page, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
			       arena + ARENA / 2 + (below(ARENA / 4) & ~(PAGE - 1)));
		if (moved != MAP_FAILED && one_in(2))
			syscall(SYS_mmap, page, len, PROT_READ | PROT_WRITE,
				MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		break;
	case 5:
		munmap(page, len);
		break;
	case 6:
		mremap(page, len, len + PAGE, 0);
		break;
	default:
		trap_arena(page);
	}
}

/* --- XRC --- */

static struct ibv_xrcd *xrcd[SLOTS];
static struct ibv_srq *xsrq[SLOTS];
static struct ibv_qp *xqp[SLOTS];

/* A domain of this life, or the one that all lives share. */
static void make_xrcd(void)
{
	struct ibv_xrcd **own = slot(xrcd);
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT | (one_in(8) ? O_EXCL : 0),
	};
	int fd = one_in(2) ? open(XRC_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;

	attr.fd = fd;
	if (!*own && any_ctx())
		*own = ibv_open_xrcd(any_ctx(), &attr);
	else if (*own && one_in(3) && !ibv_close_xrcd(*own))
		*own = NULL;
	if (fd >= 0)
		close(fd);
}

static void make_xsrq(void)
{
	struct ibv_srq **srq = slot(xsrq);
	struct ibv_srq_init_attr_ex attr = {
		.attr = { 1 + below(100), 1 + below(4), below(3) },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = one_in(10) ? number() : IBV_SRQT_XRC,
		.pd = *slot(pd), .xrcd = *slot(xrcd), .cq = *slot(cq),
	};
	u32 num;

	if (!*srq && attr.pd && attr.xrcd && attr.cq)
		*srq = ibv_create_srq_ex(attr.pd->context, &attr);
	else if (*srq && one_in(3) && !ibv_destroy_srq(*srq))
		*srq = NULL;
	else if (*srq)
		ibv_get_srq_num(*srq, &num);
}

static void make_xqp(void)
{
	struct ibv_qp **qp = slot(xqp);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = one_in(2) ? IBV_QPT_XRC_RECV : IBV_QPT_XRC_SEND,
		.send_cq = *slot(cq), .cap = { below(100), 0, below(8), 0, below(256) },
		.pd = *slot(pd), .xrcd = *slot(xrcd),
	};
	struct ibv_qp *known = *slot(xqp);
	struct ibv_qp_open_attr again = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = known && one_in(2) ? known->qp_num : below(1 << 24),
		.xrcd = attr.xrcd, .qp_type = IBV_QPT_XRC_RECV,
	};

	if (*qp) {
		if (one_in(3) && !ibv_destroy_qp(*qp))
			*qp = NULL;
		return;
	}
	if (!attr.xrcd || !any_ctx())
		return;
	if (one_in(4)) {
		*qp = ibv_open_qp(any_ctx(), &again);
		return;
	}
	attr.comp_mask = attr.qp_type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD :
							    IBV_QP_INIT_ATTR_PD;
	if (attr.qp_type == IBV_QPT_XRC_RECV || (attr.pd && attr.send_cq))
		*qp = ibv_create_qp_ex(any_ctx(), &attr);
}

static void post_xrc(void)
{
	struct ibv_qp *from = *slot(xqp);
	struct ibv_mr *of = *slot(mr);
	struct ibv_srq *to = *slot(xsrq);
	struct ibv_sge sge = { (uintptr_t)arena, below(5000), of ? of->lkey : 0 };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = below(8),
		.send_flags = IBV_SEND_SIGNALED,
		.qp_type.xrc.remote_srqn = below(1 << 24),
		.wr.rdma = { (uintptr_t)arena, of ? of->rkey : guess_key() },
	}, *bad;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;

	if (to) {
		ibv_get_srq_num(to, &wr.qp_type.xrc.remote_srqn);
		ibv_post_srq_recv(to, &recv, &bad_recv);
	}
	if (from && from->qp_type == IBV_QPT_XRC_SEND)
		ibv_post_send(from, &wr, &bad);
}

/* From RESET to RTS, connected to a queue pair of this life. */
static void modify_xqp(void)
{
	static const int masks[] = {
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	};
	struct ibv_qp *of = *slot(xqp), *peer = *slot(xqp);
	struct ibv_qp_attr attr = {
		.qp_access_flags = VT_ACCESS, .port_num = 1, .path_mtu = 1 + below(5),
		.ah_attr = any_ah(), .dest_qp_num = peer ? peer->qp_num : 0,
		.rq_psn = below(4), .sq_psn = below(4), .max_rd_atomic = below(5),
		.max_dest_rd_atomic = below(5), .timeout = below(12),
		.retry_cnt = below(8), .rnr_retry = below(8),
	};
	u32 i;

	if (!of)
		return;
	for (i = 0; i < 3; i++) {
		attr.qp_state = IBV_QPS_INIT + i;
		if (ibv_modify_qp(of, &attr, masks[i]))
			break;
	}
}

/* --- groups of multicast, rates, libcairn --- */

/* One of a few groups, so that lives share them. */
static void more_multicast(void)
{
	union ibv_gid gid = { .raw = { [0] = 0xff, [1] = 0x0e, [10] = 0xff, [11] = 0xff,
				       [12] = 224, [15] = 1 + below(6) } };
	struct ibv_qp *of = *slot(qp);

	if (!of)
		return;
	gid.raw[14] = one_in(3) ? below(256) : 7;
	if (one_in(3))
		memset(gid.raw + 2, 0, 10), gid.raw[10] = below(2), gid.raw[11] = below(2);
	if (one_in(2))
		ibv_attach_mcast(of, &gid, 0);
	else
		ibv_detach_mcast(of, &gid, 0);
}

static void more_rates(void)
{
	struct ibv_qp_rate_limit_attr attr = {
		.rate_limit = number(), .max_burst_sz = number(),
		.typical_pkt_sz = one_in(2) ? number() : below(5000),
	};
	struct ibv_qp *of = *slot(qp);
	struct cairndv_qp_attr got;

	if (!of)
		return;
	ibv_modify_qp_rate_limit(of, &attr);
	cairndv_query_qp(of, &got, sizeof(got));
	cairndv_modify_qp_cc(of, below(2));
}

static struct cairndv_persist_group *group;

static void group_calls(void)
{
	struct cairndv_group_dest dest[4];
	struct ibv_mr *of = *slot(mr);
	struct ibv_sge sge = { (uintptr_t)arena, below(5000), of ? of->lkey : 0 };
	struct cairndv_group_wr wr = {
		.sg_list = &sge, .num_sge = 1, .quorum = below(4), .dest = dest,
		.durability = one_in(3) ? below(6) : 0,
	};
	struct cairndv_group_wc wc[4];
	struct ibv_qp *of_group[4];
	u32 i, n = 1 + below(3);

	for (i = 0; i < 4; i++) {
		of_group[i] = *slot(qp);
		dest[i] = (struct cairndv_group_dest){ (uintptr_t)arena + below(9000),
						       of ? of->rkey : guess_key(), 0 };
	}
	for (i = 0; i < n && !group; i++)
		if (!of_group[i])
			return;
	if (!group) {
		group = cairndv_persist_group_create(of_group, n, below(100));
	} else if (one_in(6)) {
		cairndv_persist_group_destroy(group);
		group = NULL;
	} else {
		cairndv_persist_group_post(group, &wr);
		cairndv_persist_group_poll(group, 4, wc);
	}
}

static void fuzz_answers(struct ibv_context *of)
{
	struct cairndv_persist_answer answers[CAIRNDV_PERSIST_ANSWERS];
	uint64_t refused;
	u32 i, n = 1 + below(CAIRNDV_PERSIST_ANSWERS);

	for (i = 0; i < n; i++)
		answers[i] = (struct cairndv_persist_answer){
			.token = one_in(2) ? number() : below(64) << 8,
			.status = below(2),
		};
	cairndv_persist_done_all(of, answers, n, one_in(2) ? &refused : NULL);
}

/* With the extended interface, if its type has that. */
struct ibv_qp *more_posting_qp(struct ibv_pd *of, const struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = init->send_cq, .recv_cq = init->recv_cq, .srq = init->srq,
		.cap = init->cap, .qp_type = init->qp_type, .sq_sig_all = init->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = of, .send_ops_flags = IBV_QP_EX_WITH_SEND,
	};

	return ibv_create_qp_ex(of->context, &attr);
}

/* The same by work requests, of any queue pair of the life. */
static void fuzz_posted_answers(void)
{
	struct ibv_qp *of = *slot(qp);
	struct ibv_qp_ex *qpx = of ? ibv_qp_to_qp_ex(of) : NULL;
	uint64_t tokens[CAIRNDV_PERSIST_ANSWERS];
	u32 i, n = below(CAIRNDV_PERSIST_ANSWERS + 1);

	if (!qpx)
		return;
	for (i = 0; i < n; i++)
		tokens[i] = one_in(2) ? number() : (u64)(one_in(2) ? of->qp_num : below(64)) << 8;
	ibv_wr_start(qpx);
	qpx->wr_id = number();
	qpx->wr_flags = one_in(3) ? IBV_SEND_FENCE : IBV_SEND_SIGNALED;
	cairndv_wr_persist_done(qpx, tokens, n, below(2));
	ibv_wr_complete(qpx);
}

static void of_device(void)
{
	struct ibv_context *of = any_ctx();
	struct cairndv_device_attr dev;
	struct cairndv_cc_attr cc;

	if (!of)
		return;
	cairndv_query_device(of, &dev, sizeof(dev));
	cairndv_query_cc(of, &cc, sizeof(cc));
	cairndv_set_idle_time(of, one_in(4) ? number() : below(1000));
	cairndv_set_loopback(of, one_in(8) ? number() : below(3));
	cairndv_set_fabric(of, one_in(2) ? "one" : one_in(2) ? "two" : NULL);
	cairndv_set_capture(of, one_in(8) ? number() : below(2));
	cairndv_set_persistent(of, one_in(8) ? number() : below(2));
	cairndv_persist_done(of, one_in(2) ? number() : below(64), below(2));
	fuzz_answers(of);
	fuzz_posted_answers();
	cairndv_query_release(of, number());
}

/* Faults of one queue pair of this life, so that traffic of others stays right. */
static void fuzz_fault(struct ibv_context *of, u32 qpn)
{
	static const char *const directions[] = { "sent", "received", "received", "now" };
	static const char *const acts[] = {
		"act=drop,chance=0.2,seed=1", "act=duplicate", "act=corrupt,every=3",
		"act=corrupt-past-icrc", "act=delay,time=5ms", "act=delay,time=10s,count=3",
		"act=reorder", "act=qp-fatal", "act=qp-fatal,nth=9", "nak=sequence,chance=0.3",
		"nak=invalid-request,nth=4", "nak=remote-access,nth=5",
		"nak=remote-operational,nth=6", "rnr=1", "rnr=20,every=7", "event=cq-error",
		"event=srq-limit", "event=srq-error", "event=sq-drained",
		"event=qp-access-error", "event=qp-request-error", "event=last-wqe-reached",
		"event=connection-established", "opcode=ACK+SEND,size=1-",
		"peer=10.77.0.2,from=1ms", "key=4660,until=2s", "peer=fd77::1,key=0xffffffff",
	};
	char rule[128];

	snprintf(rule, sizeof(rule), "%s:qp=%u,%s",
		 directions[below(sizeof(directions) / sizeof(directions[0]))], qpn,
		 acts[below(sizeof(acts) / sizeof(acts[0]))]);
	/* no NUL, as "sent" alone is a rule for all packets */
	if (one_in(6))
		rule[below(strlen(rule))] = '!' + below(90);
	cairndv_fault_add(of, rule);
}

static void fault_calls(void)
{
	struct cairndv_fault list[CAIRNDV_FAULT_RULES];
	unsigned int num = below(CAIRNDV_FAULT_RULES + 1);
	struct ibv_qp *own = one_in(3) ? *slot(xqp) : *slot(qp);
	struct ibv_context *of = own ? own->context : any_ctx();

	if (!of)
		return;
	if (own)
		fuzz_fault(of, own->qp_num);
	if (one_in(20))
		cairndv_fault_add(of, one_in(2) ? "now:event=port-down" : "now:event=port-up");
	if (one_in(4))
		cairndv_fault_list(of, list, &num);
	if (one_in(8))
		cairndv_fault_clear(of);
}

static void of_objects(void)
{
	struct ibv_mr **of = slot(mr);
	struct ibv_qp *through = *slot(qp);
	struct cairndv_peer_attr peer;
	struct cairndv_mr_attr attr;
	u32 ticket;

	if (*of) {
		cairndv_query_mr(*of, &attr, sizeof(attr));
		cairndv_set_flush_limit(*of, one_in(2) ? number() : below(100));
		if (one_in(4) && !cairndv_dereg_mr_async(*of, &ticket)) {
			cairndv_query_release((*of)->context, ticket);
			*of = NULL;
		}
	}
	if (through && one_in(8))
		cairndv_query_peer(through, &peer, sizeof(peer), below(20));
}

/* A window of type 1, which is bound by a call of its own. */
static void bind_window(void)
{
	struct ibv_mw *window = *slot(mw);
	struct ibv_qp *through = *slot(qp);
	struct ibv_mr *of = *slot(mr);
	struct ibv_mr guessed;
	struct ibv_mw_bind bind = {
		.wr_id = rnd(), .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { of, (uintptr_t)arena + below(ARENA / 2),
			       one_in(6) ? 0 : below(9000), VT_ACCESS },
	};

	if (!window || !through || !of)
		return;
	if (one_in(3)) {
		guessed = *of;
		guessed.lkey = guessed.rkey = guess_key();
		bind.bind_info.mr = &guessed;
	}
	ibv_bind_mw(through, window, &bind);
}

void more_calls(void)
{
	static void (*const calls[])(void) = {
		more_advise, more_advise, make_xrcd, make_xsrq, make_xqp, make_xqp, modify_xqp,
		post_xrc, more_multicast, more_multicast, more_rates, group_calls,
		of_device, of_objects, fault_calls, fault_calls,
		bind_window, bind_window, more_memory, more_memory,
	};

	count(more);
	calls[below(sizeof(calls) / sizeof(calls[0]))]();
}
