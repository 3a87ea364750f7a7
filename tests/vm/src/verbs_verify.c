// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Traffic in both directions between two devices, every byte of it compared.
 *
 * Each flow (a direction of a QP pair) has a few slots. A slot runs one random
 * operation of random length and alignment after another: fill the source, wipe
 * the destination, post, wait for all completions, and compare both with the expected
 * bytes, margins included.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include "vt.h"

#define MAX_DEPTH	64
#define MAX_SGE		4
#define MARGIN		64
#define WIPED		0xee
#define INLINE		256

enum op {
	OP_SEND, OP_SEND_IMM, OP_WRITE, OP_WRITE_IMM, OP_READ, OP_CAS, OP_FAA,
	OPS
};

static const struct {
	const char *name;
	enum ibv_wr_opcode wr;
	enum ibv_wc_opcode wc;
	bool recv;		/* consumes a receive */
	bool places;		/* the receive's buffers get the data */
	bool imm;
} ops[OPS] = {
	[OP_SEND] = { "send", IBV_WR_SEND, IBV_WC_SEND, true, true, false },
	[OP_SEND_IMM] = { "send_imm", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND,
			  true, true, true },
	[OP_WRITE] = { "write", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE },
	[OP_WRITE_IMM] = { "write_imm", IBV_WR_RDMA_WRITE_WITH_IMM,
			   IBV_WC_RDMA_WRITE, true, false, true },
	[OP_READ] = { "read", IBV_WR_RDMA_READ, IBV_WC_RDMA_READ },
	[OP_CAS] = { "cas", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP },
	[OP_FAA] = { "faa", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD },
};

#define RC_OPS		((1u << OPS) - 1)
#define UC_OPS		(1u << OP_SEND | 1u << OP_SEND_IMM | 1u << OP_WRITE | \
			 1u << OP_WRITE_IMM)
#define UD_OPS		(1u << OP_SEND | 1u << OP_SEND_IMM)

struct slot {
	enum op op;
	u32 len, off, imm;
	u64 seed, old, cmp, arg;
	bool busy, send_done, recv_done;
};

struct flow {
	struct vt_end *from, *to;
	struct ibv_ah *ah;
	struct slot slots[MAX_DEPTH];
	unsigned long posted, done;
	size_t src, dst;	/* of slot 0, in from->buf and to->buf */
};

static struct {
	const char *dev[2];
	int gid_index[2];
	enum vt_family family;
	struct vt_opts o;
	unsigned int ops, directions, qps, depth;
	unsigned long count;	/* operations per flow, 0: no limit */
	unsigned int seconds;	/* 0: no limit */
	unsigned int stall;	/* seconds without a completion */
	unsigned int pause;	/* ms in each round */
	u32 max;
	bool expect_error, events, late_recv;
	u64 seed;
} cfg = {
	.gid_index = { -1, -1 }, .family = VT_IPV4, .o = VT_OPTS,
	.ops = RC_OPS, .directions = 3, .qps = 1, .depth = 8, .count = 200,
	.stall = 40, .max = 20000, .seed = 1,
};

static struct vt_dev devs[2];
static struct vt_end *ends[2];		/* [side][qp] */
static struct ibv_ah *ahs[2];
static struct flow *flows;
static unsigned int nflows;
static unsigned long op_count[OPS], total, bytes;
static u64 random_state;
static char stopped[160];

static u64 verify_rnd(void)
{
	u64 z = random_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static u32 verify_below(u32 n)
{
	return verify_rnd() % n;
}

static size_t slot_size(void)
{
	return (cfg.max + 3 * MARGIN + VT_GRH + 63) & ~(size_t)63;
}

static u8 *src_of(struct flow *flow, unsigned int slot)
{
	return flow->from->buf + flow->src + slot * slot_size();
}

static u8 *dst_of(struct flow *flow, unsigned int slot)
{
	return flow->to->buf + flow->dst + slot * slot_size();
}

/* End the traffic with an error. Wrong data is never an expected error (-E). */
#define STOP(...)							\
	do {								\
		if (!stopped[0])					\
			snprintf(stopped, sizeof(stopped), __VA_ARGS__);\
	} while (0)

static void verify_wrong(struct flow *flow, unsigned int slot, const char *what, size_t at)
{
	struct slot *sl = &flow->slots[slot];

	printf("# WRONG %s: %s from %s, QP 0x%x, slot %u, %u bytes at offset %u, byte %zu\n",
	       what, ops[sl->op].name, flow->from->dev->name, flow->from->qp->qp_num,
	       slot, sl->len, sl->off, at);
	exit(2);
}

/* Split [addr, addr + len) at random. Return: the number of entries, 0 for no bytes. */
static int verify_split(struct ibv_sge *sge, u8 *addr, u32 len, u32 key)
{
	int n = 0;
	u32 part;

	while (len) {
		part = n == MAX_SGE - 1 || verify_below(2) ? len : 1 + verify_below(len);
		sge[n++] = (struct ibv_sge) { (uintptr_t)addr, part, key };
		addr += part;
		len -= part;
	}
	return n;
}

static u64 wr_id(struct flow *flow, unsigned int slot, bool recv)
{
	return (u64)(flow - flows) << 32 | slot << 1 | recv;
}

static void post_recv(struct flow *flow, unsigned int slot)
{
	struct slot *sl = &flow->slots[slot];
	struct ibv_recv_wr wr = { .wr_id = wr_id(flow, slot, true) }, *bad;
	struct ibv_sge sge[MAX_SGE + 1];
	u32 key = flow->to->mr->lkey;
	u8 *dst = dst_of(flow, slot);
	int n = 0;

	wr.sg_list = sge;
	if (cfg.o.type == IBV_QPT_UD)
		sge[n++] = (struct ibv_sge) { (uintptr_t)dst, VT_GRH, key };
	if (ops[sl->op].places)
		n += verify_split(sge + n, dst + VT_GRH + sl->off,
				  sl->len + verify_below(MARGIN), key);
	wr.num_sge = n;
	errno = ibv_post_recv(flow->to->qp, &wr, &bad);
	if (errno)
		STOP("ibv_post_recv: %s", strerror(errno));
}

static void post_send(struct flow *flow, unsigned int slot)
{
	struct slot *sl = &flow->slots[slot];
	struct ibv_send_wr wr = {
		.wr_id = wr_id(flow, slot, false), .opcode = ops[sl->op].wr,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htobe32(sl->imm),
	}, *bad;
	u64 remote = (uintptr_t)dst_of(flow, slot) + VT_GRH + sl->off;
	struct ibv_sge sge[MAX_SGE];

	wr.sg_list = sge;
	wr.num_sge = verify_split(sge, src_of(flow, slot) + sl->off, sl->len,
				  flow->from->mr->lkey);
	if (sl->op <= OP_WRITE_IMM && sl->len <= flow->from->o.cap.max_inline_data &&
	    verify_below(2))
		wr.send_flags |= IBV_SEND_INLINE;
	if (sl->op == OP_CAS || sl->op == OP_FAA) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = flow->to->mr->rkey;
		wr.wr.atomic.compare_add = sl->op == OP_CAS ? sl->cmp : sl->arg;
		wr.wr.atomic.swap = sl->arg;
		wr.num_sge = 1;
		sge[0].length = 8;
	} else if (cfg.o.type == IBV_QPT_UD) {
		wr.wr.ud.ah = flow->ah;
		wr.wr.ud.remote_qpn = flow->to->qp->qp_num;
		wr.wr.ud.remote_qkey = VT_QKEY;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = flow->to->mr->rkey;
	}
	errno = ibv_post_send(flow->from->qp, &wr, &bad);
	if (errno)
		STOP("ibv_post_send: %s", strerror(errno));
}

static bool is_atomic(enum op op)
{
	return op == OP_CAS || op == OP_FAA;
}

static void verify_choose(struct slot *sl)
{
	do
		sl->op = verify_below(OPS);
	while (!(cfg.ops & 1u << sl->op));
	sl->seed = verify_rnd();
	sl->imm = verify_rnd();
	sl->off = verify_below(MARGIN);
	/* small ones as often as large ones */
	sl->len = verify_below(1 + (verify_below(3) ? cfg.max : cfg.max > 300 ? 300 : cfg.max));
	if (is_atomic(sl->op)) {
		sl->len = 8;
		sl->off &= ~7u;
		sl->arg = verify_rnd();
		sl->old = verify_rnd();
		sl->cmp = verify_below(2) ? sl->old : verify_rnd();
	}
}

static void verify_start(struct flow *flow, unsigned int slot)
{
	struct slot *sl = &flow->slots[slot];
	u8 *src = src_of(flow, slot), *dst = dst_of(flow, slot);

	verify_choose(sl);
	memset(src, WIPED, slot_size());
	memset(dst, WIPED, slot_size());
	if (is_atomic(sl->op))
		memcpy(dst + VT_GRH + sl->off, &sl->old, 8);
	else if (sl->op == OP_READ)
		vt_fill(dst + VT_GRH + sl->off, sl->len, sl->seed);
	else
		vt_fill(src + sl->off, sl->len, sl->seed);
	sl->busy = true;
	sl->send_done = false;
	sl->recv_done = !ops[sl->op].recv;
	flow->posted++;
	/* late: the receive queue is empty when the first request arrives */
	if (!sl->recv_done && !cfg.late_recv)
		post_recv(flow, slot);
	post_send(flow, slot);
	if (!sl->recv_done && cfg.late_recv)
		post_recv(flow, slot);
}

static ssize_t not_wiped(const u8 *bytes, size_t from, size_t to)
{
	for (; from < to; from++)
		if (bytes[from] != WIPED)
			return from;
	return -1;
}

static void check_side(struct flow *flow, unsigned int slot, bool remote)
{
	struct slot *sl = &flow->slots[slot];
	u8 *bytes = remote ? dst_of(flow, slot) : src_of(flow, slot);
	size_t off = sl->off + (remote ? VT_GRH : 0);
	size_t head = remote && cfg.o.type == IBV_QPT_UD ? VT_GRH : 0;
	ssize_t bad;
	u64 want;

	bad = not_wiped(bytes, head, off);
	if (bad < 0)
		bad = not_wiped(bytes, off + sl->len, slot_size());
	if (bad >= 0)
		verify_wrong(flow, slot, remote ? "remote margin" : "local margin", bad);
	if (!is_atomic(sl->op)) {
		bad = vt_check(bytes + off, sl->len, sl->seed);
		if (bad < 0)
			return;
		vt_say("found %02x there%s", bytes[off + bad],
		       bytes[off + bad] == WIPED ? ", nothing came" : "");
		verify_wrong(flow, slot, remote ? "remote data" : "local data", bad);
	}
	want = sl->old;
	if (remote && sl->op == OP_FAA)
		want += sl->arg;
	else if (remote && sl->cmp == sl->old)
		want = sl->arg;
	if (memcmp(bytes + off, &want, 8))
		verify_wrong(flow, slot, remote ? "atomic target" : "atomic result", 0);
}

/* No completion tells that an unreliable WRITE without immediate has arrived. */
static void await_placement(struct flow *flow, unsigned int slot)
{
	struct slot *sl = &flow->slots[slot];
	u8 *dst = dst_of(flow, slot) + VT_GRH + sl->off;
	u64 end = vt_now_ms() + vt_ms(5000);
	unsigned int idle = 0;

	while (vt_check(dst, sl->len, sl->seed) >= 0 && vt_now_ms() < end)
		vt_relax(&idle);
}

static void verify_finish(struct flow *flow, unsigned int slot)
{
	struct slot *sl = &flow->slots[slot];

	if (cfg.o.type == IBV_QPT_UC && sl->op == OP_WRITE)
		await_placement(flow, slot);
	check_side(flow, slot, false);
	check_side(flow, slot, true);
	sl->busy = false;
	flow->done++;
	total++;
	bytes += sl->len;
	op_count[sl->op]++;
}

static void check_recv_wc(struct flow *flow, unsigned int slot, struct ibv_wc *wc)
{
	struct slot *sl = &flow->slots[slot];
	u32 len = sl->len + (cfg.o.type == IBV_QPT_UD ? VT_GRH : 0);

	if (wc->opcode != (ops[sl->op].places ? IBV_WC_RECV :
			   IBV_WC_RECV_RDMA_WITH_IMM))
		verify_wrong(flow, slot, "receive opcode", wc->opcode);
	if (!!(wc->wc_flags & IBV_WC_WITH_IMM) != ops[sl->op].imm)
		verify_wrong(flow, slot, "receive flags", wc->wc_flags);
	if (ops[sl->op].imm && be32toh(wc->imm_data) != sl->imm)
		verify_wrong(flow, slot, "immediate", be32toh(wc->imm_data));
	if (wc->byte_len != len)
		verify_wrong(flow, slot, "byte_len", wc->byte_len);
}

static void verify_complete(struct ibv_wc *wc, int side)
{
	struct flow *flow = &flows[wc->wr_id >> 32];
	unsigned int slot = (wc->wr_id & 0xffffffff) >> 1;
	bool recv = wc->wr_id & 1;
	struct slot *sl;

	if (wc->wr_id >> 32 >= nflows || slot >= cfg.depth) {
		printf("# WRONG completion: wr_id 0x%llx\n",
		       (unsigned long long)wc->wr_id);
		exit(2);
	}
	sl = &flow->slots[slot];
	if (wc->status) {
		STOP("%s: %s of %s, vendor 0x%x", devs[side].name,
		     ibv_wc_status_str(wc->status),
		     recv ? "receive" : ops[sl->op].name, wc->vendor_err);
		return;
	}
	if (!sl->busy || (recv ? sl->recv_done : sl->send_done) ||
	    wc->qp_num != (recv ? flow->to : flow->from)->qp->qp_num)
		verify_wrong(flow, slot, "completion", recv);
	if (recv) {
		check_recv_wc(flow, slot, wc);
		sl->recv_done = true;
	} else {
		if (wc->opcode != ops[sl->op].wc)
			verify_wrong(flow, slot, "send opcode", wc->opcode);
		sl->send_done = true;
	}
	if (sl->send_done && sl->recv_done)
		verify_finish(flow, slot);
}

static int verify_reap(void)
{
	struct ibv_wc wc[16];
	int side, r, i, n = 0;
	unsigned int pair;

	for (side = 0; side < 2; side++)
		for (pair = 0; pair < cfg.qps; pair++) {
			r = ibv_poll_cq(ends[side][pair].scq, 16, wc);
			for (i = 0; i < r; i++)
				verify_complete(&wc[i], side);
			n += r;
			if (r < 0)
				STOP("ibv_poll_cq");
			r = ibv_poll_cq(ends[side][pair].rcq, 16, wc);
			for (i = 0; i < r; i++)
				verify_complete(&wc[i], side);
			n += r;
			if (r < 0)
				STOP("ibv_poll_cq");
		}
	return n;
}

static void check_async(void)
{
	struct ibv_async_event ev;
	int side;

	for (side = 0; side < 2; side++) {
		if (ibv_get_async_event(devs[side].ctx, &ev))
			continue;
		switch (ev.event_type) {
		case IBV_EVENT_DEVICE_FATAL:
		case IBV_EVENT_CQ_ERR:
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
			STOP("%s: event: %s", devs[side].name,
			     ibv_event_type_str(ev.event_type));
			break;
		default:
			break;
		}
		ibv_ack_async_event(&ev);
	}
}

static struct ibv_comp_channel *verify_channel(unsigned int i)
{
	struct vt_end *end = &ends[i & 1][i >> 2];

	return i & 2 ? end->schan : end->rchan;
}

/* Arm all CQs, poll once more, then sleep. Return: the completions polled. */
static int wait_event(void)
{
	unsigned int i, n = 4 * cfg.qps;
	struct pollfd pollfd[n];
	int r, side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < cfg.qps; i++)
			if (ibv_req_notify_cq(ends[side][i].scq, 0) ||
			    ibv_req_notify_cq(ends[side][i].rcq, 0))
				STOP("ibv_req_notify_cq");
	r = verify_reap();
	if (r || stopped[0])
		return r;
	for (i = 0; i < n; i++)
		pollfd[i] = (struct pollfd) { verify_channel(i)->fd, POLLIN, 0 };
	if (poll(pollfd, n, 500) <= 0)
		return 0;
	for (i = 0; i < n; i++)
		if (pollfd[i].revents)
			vt_event(verify_channel(i), 0);
	return verify_reap();
}

static bool verify_wants_more(struct flow *flow)
{
	return !stopped[0] && (!cfg.count || flow->posted < cfg.count);
}

static void verify_run(void)
{
	u64 begin = vt_now_ms(), last = begin, now, async = begin;
	unsigned int idle = 0, i, slot;
	bool said = false, busy, expired = false;

	do {
		busy = false;
		for (i = 0; i < nflows; i++)
			for (slot = 0; slot < cfg.depth; slot++) {
				struct flow *flow = &flows[i];

				if (!flow->slots[slot].busy && !expired && verify_wants_more(flow))
					verify_start(flow, slot);
				busy |= flow->slots[slot].busy;
			}
		now = vt_now_ms();
		if (verify_reap() || (cfg.events && busy && wait_event())) {
			last = now;
			idle = 0;
		} else if (!cfg.events) {
			vt_relax(&idle);
		}
		if (!said && total >= 20) {
			vt_say("running");
			said = true;
		}
		if (now > async + 20) {
			check_async();
			async = now;
		}
		if (cfg.seconds && now > begin + 1000ULL * cfg.seconds)
			expired = true;
		if (now > last + vt_ms(1000) * (u64)cfg.stall)
			STOP("no completion for %u s", cfg.stall);
		if (cfg.pause)
			usleep(1000 * cfg.pause);
	} while (busy && !stopped[0]);
}

static int make_flows(void)
{
	size_t area = cfg.depth * slot_size();
	unsigned int pair, dir;
	struct flow *flow;

	flows = calloc(2 * cfg.qps, sizeof(*flows));
	if (!flows)
		return ENOMEM;
	for (pair = 0; pair < cfg.qps; pair++)
		for (dir = 0; dir < 2; dir++) {
			if (!(cfg.directions & 1u << dir))
				continue;
			flow = &flows[nflows++];
			flow->from = &ends[dir][pair];
			flow->to = &ends[!dir][pair];
			flow->ah = ahs[dir];
			/* each end has one area to send from, one to receive */
			flow->src = 0;
			flow->dst = area;
		}
	return 0;
}

static int make_ends(void)
{
	size_t len = 2 * cfg.depth * slot_size();
	unsigned int pair;
	int side, err;

	for (side = 0; side < 2; side++) {
		ends[side] = calloc(cfg.qps, sizeof(*ends[side]));
		if (!ends[side])
			return ENOMEM;
		for (pair = 0; pair < cfg.qps; pair++) {
			err = vt_end_create(&ends[side][pair], &devs[side],
					    &cfg.o, len);
			if (err)
				return err;
		}
	}
	for (pair = 0; pair < cfg.qps; pair++) {
		err = vt_connect(&ends[0][pair], &ends[1][pair]);
		if (err)
			return err;
	}
	if (cfg.o.type == IBV_QPT_UD)
		for (side = 0; side < 2; side++) {
			ahs[side] = vt_ah(&devs[side], &devs[!side]);
			if (!ahs[side])
				return EIO;
		}
	return make_flows();
}

/* Objects of an unplugged device must be destroyed without a hang, too. */
static void tear_down(void)
{
	unsigned int pair;
	int side;

	for (side = 0; side < 2; side++) {
		for (pair = 0; pair < cfg.qps; pair++)
			vt_end_destroy(&ends[side][pair]);
		if (ahs[side])
			ibv_destroy_ah(ahs[side]);
		vt_close(&devs[side]);
	}
}

static void verify_usage(void)
{
	fputs("usage: verbs_verify [-a DEV] [-b DEV] [-g GID_A,GID_B] [-f 4|6|l]\n"
	      "  -c rc|uc|ud  -m MTU  -o OP,OP...  -D ab|ba (both)\n"
	      "  -q QPS -d DEPTH -s MAX_BYTES -n OPS_PER_FLOW -T SECONDS -S SEED\n"
	      "  -t TIMEOUT_CODE -r RETRIES -w STALL_SECONDS -e (events)\n"
	      "  -R (post receives after the send)  -E (an error must end it)\n"
	      "  -p MS (pause in each round: leaves the CPU to what is tested)\n",
	      stderr);
	exit(64);
}

static unsigned int parse_ops(char *arg)
{
	unsigned int mask = 0, i;
	char *word;

	for (word = strtok(arg, ","); word; word = strtok(NULL, ",")) {
		for (i = 0; i < OPS && strcmp(word, ops[i].name); i++)
			;
		if (i == OPS)
			verify_usage();
		mask |= 1u << i;
	}
	return mask;
}

static enum ibv_mtu parse_mtu(int bytes_)
{
	int m;

	for (m = IBV_MTU_256; m <= IBV_MTU_4096; m++)
		if (bytes_ == 128 << m)
			return m;
	verify_usage();
	return 0;
}

static void verify_parse(int argc, char **argv)
{
	unsigned int possible = RC_OPS;
	int c;

	cfg.dev[0] = vt_name_a();
	cfg.dev[1] = vt_name_b();
	while ((c = getopt(argc, argv, "a:b:g:f:c:m:o:D:q:d:s:n:T:S:t:r:w:p:eRE")) != -1)
		switch (c) {
		case 'a': cfg.dev[0] = optarg; break;
		case 'b': cfg.dev[1] = optarg; break;
		case 'g':
			if (sscanf(optarg, "%d,%d", &cfg.gid_index[0],
				   &cfg.gid_index[1]) != 2)
				verify_usage();
			break;
		case 'f':
			cfg.family = *optarg == '6' ? VT_IPV6 :
				     *optarg == 'l' ? VT_LINK_LOCAL : VT_IPV4;
			break;
		case 'c':
			cfg.o.type = !strcmp(optarg, "ud") ? IBV_QPT_UD :
				     !strcmp(optarg, "uc") ? IBV_QPT_UC : IBV_QPT_RC;
			break;
		case 'm': cfg.o.mtu = parse_mtu(atoi(optarg)); break;
		case 'o': cfg.ops = parse_ops(optarg); break;
		case 'D': cfg.directions = *optarg == 'a' ? 1 : 2; break;
		case 'q': cfg.qps = atoi(optarg); break;
		case 'd': cfg.depth = atoi(optarg); break;
		case 's': cfg.max = atoi(optarg); break;
		case 'n': cfg.count = atol(optarg); break;
		case 'T':
			cfg.seconds = atoi(optarg);
			cfg.count = 0;
			break;
		case 'S': cfg.seed = strtoull(optarg, NULL, 0); break;
		case 't': cfg.o.timeout = atoi(optarg); break;
		case 'r': cfg.o.retry_cnt = atoi(optarg); break;
		case 'w': cfg.stall = atoi(optarg); break;
		case 'p': cfg.pause = atoi(optarg); break;
		case 'e': cfg.events = true; break;
		case 'R': cfg.late_recv = true; break;
		case 'E': cfg.expect_error = true; break;
		default: verify_usage();
		}
	if (!cfg.qps || !cfg.depth || cfg.depth > MAX_DEPTH || cfg.max < 8)
		verify_usage();
	if (cfg.o.type == IBV_QPT_UC)
		possible = UC_OPS;
	if (cfg.o.type == IBV_QPT_UD) {
		possible = UD_OPS;
		if (cfg.max > 128u << cfg.o.mtu)
			cfg.max = 128u << cfg.o.mtu;
	}
	cfg.ops &= possible;
	if (!cfg.ops)
		verify_usage();
	cfg.o.channel = cfg.events;
	cfg.o.cap.max_send_sge = MAX_SGE;
	cfg.o.cap.max_recv_sge = MAX_SGE + 1;
	cfg.o.cap.max_inline_data = INLINE;
	random_state = cfg.seed;
}

int main(int argc, char **argv)
{
	int err, i, rc = 0;

	verify_parse(argc, argv);
	err = vt_open(&devs[0], cfg.dev[0], cfg.family, cfg.gid_index[0]) ?:
	      vt_open(&devs[1], cfg.dev[1], cfg.family, cfg.gid_index[1]) ?:
	      make_ends();
	if (err) {
		vt_say("no connection: %s", strerror(err));
		return 1;
	}
	verify_run();
	printf("# %lu operations, %lu bytes:", total, bytes);
	for (i = 0; i < OPS; i++)
		if (op_count[i])
			printf(" %s %lu", ops[i].name, op_count[i]);
	putchar('\n');
	if (stopped[0])
		vt_say("stopped: %s", stopped);
	if (!!stopped[0] != cfg.expect_error) {
		if (cfg.expect_error)
			vt_say("no error came");
		rc = 1;
	}
	fflush(stdout);
	tear_down();
	return rc;
}
