// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Random calls of verbs from several processes.
 *
 *	fuzz_verbs [-s SEED] [-t SECONDS] [-p PROCESSES] [-n LIVES] [-r READERS]
 *
 * A process of its own is a life. It opens devices and makes random calls with objects
 * that are valid, destroyed, of another context, or nonsense. A part of the commands that
 * libibverbs sends to the kernel is sent in a broken copy first; others are made up.
 * The life writes garbage into its mappings, and has children and threads that use the
 * same contexts. It ends in one of several ways: in order, at once, killed, by execve(),
 * or with its first thread alone. Half of the lives have no privileges. Lives hand
 * descriptors of contexts to each other, so that these outlive their owners. Pointers of
 * commands lead to memory in which the kernel's copy fails or waits (fuzz_trap.c).
 *
 * A life may crash itself. The caller checks the kernel's log and other traffic. Here a
 * life must end when it is killed. A bystander's memory and connection must not change,
 * although lives know its keys (fuzz_beside.c).
 *
 * Life k of process p has the seed SEED + 1000 * k + p. "-s SEED -n 1 -p 1" repeats
 * the calls of one life, but not the times at which its threads and children run.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <rdma/cairn-abi.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <infiniband/cairndv.h>
#include "fuzz.h"

#define MAX_PROCESSES	64
#define STEPS		400	/* mappings of a life, at most */
#define MAX_MAPS	512
#define MAX_ASIDE	6	/* commands that wait in threads of their own */

struct fuzz_counts *counts;

/* --- random ------------------------------------------------------------- */

static __thread u64 rand_state;

void rnd_seed(u64 seed)
{
	rand_state = seed;
}

u64 rnd(void)
{
	u64 z = rand_state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

u32 below(u32 n)
{
	return rnd() % n;
}

bool one_in(u32 n)
{
	return !below(n);
}

/* A random or an extreme number. */
u64 number(void)
{
	static const u64 edges[] = {
		0, 1, 2, 3, 4, 7, 8, 16, 63, 64, 255, 256, 4095, 4096, 65535,
		65536, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32,
		~0ULL >> 1, ~0ULL,
	};

	switch (below(4)) {
	case 0: return edges[below(sizeof(edges) / sizeof(edges[0]))];
	case 1: return below(64);
	case 2: return rnd() >> below(64);
	default: return below(4096);
	}
}

/* --- state of the life --------------------------------------------------- */

struct ibv_context *ctx[CONTEXTS];
struct ibv_pd *pd[SLOTS];
static struct ibv_comp_channel *channel[SLOTS];
struct ibv_cq *cq[SLOTS];
struct ibv_srq *srq[SLOTS];
struct ibv_qp *qp[SLOTS];
struct ibv_mr *mr[SLOTS];
struct ibv_mw *mw[SLOTS];
static struct ibv_ah *ah[SLOTS];
u8 *arena;
static u8 *scratch;
/* contexts of other lives */
static int foreign[SLOTS];
static u32 last_key;

static struct map {
	u8 *addr;
	size_t len;
	int prot, fd;
	off_t off;
} maps[MAX_MAPS];
static u32 nmaps;

/* The library calls this; its mappings are recorded. */
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	void *mem = (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);

	if (fd >= 0 && flags & MAP_SHARED && mem != MAP_FAILED &&
	    nmaps < MAX_MAPS)
		maps[nmaps++] = (struct map){ mem, len, prot, fd, off };
	return mem;
}

static struct fuzz_hint *any_hint(void)
{
	return &hints[below(FUZZ_HINTS)];
}

/* The index of a key is its upper 24 bits. */
u32 guess_key(void)
{
	struct ibv_mr *of = *slot(mr);

	if (of)
		last_key = of->rkey;
	switch (below(6)) {
	case 0: return any_hint()->rkey;
	case 1: return any_hint()->lkey;
	case 2: return last_key + below(5) - 2;
	case 3: return last_key + (below(5) << 8);
	case 4: return (last_key & ~0xffu) | below(256);
	default: return rnd();
	}
}

/* --- commands ----------------------------------------------------------- */

#define MAX_ATTRS	16

struct command {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[MAX_ATTRS + 1];
};

static u64 any_address(void)
{
	switch (below(6)) {
	case 0: return number();
	case 1: return (uintptr_t)arena + below(ARENA);
	case 2: return (uintptr_t)scratch + SCRATCH - below(64);
	default: return (uintptr_t)scratch + below(SCRATCH / 2);
	}
}

static u16 any_id(u16 id)
{
	switch (below(4)) {
	case 0: return id + below(5) - 2;
	case 1: return below(24);
	case 2: return (1 << 12) + below(12);
	default: return rnd();
	}
}

static void break_attr(struct ib_uverbs_attr *attr)
{
	switch (below(7)) {
	case 0: attr->attr_id = any_id(attr->attr_id); break;
	case 1: attr->len = number(); break;
	case 2: attr->flags = rnd() & 3; break;
	case 3: attr->data = number(); break;
	case 4: attr->data = any_address(); break;
	case 5: attr->attr_data.reserved = rnd(); break;
	default: attr->data ^= 1ULL << below(64); break;
	}
}

static void break_command(struct command *command)
{
	u32 n = command->hdr.num_attrs;

	switch (below(12)) {
	case 0: command->hdr.object_id = any_id(command->hdr.object_id); break;
	case 1: command->hdr.method_id = any_id(command->hdr.method_id); break;
	case 2: command->hdr.driver_id = number(); break;
	case 3: command->hdr.length = number(); break;
	case 4: command->hdr.num_attrs = below(MAX_ATTRS); break;
	case 5:
		if (n && n < MAX_ATTRS) {
			command->attr[n] = command->attr[below(n)];
			command->hdr.num_attrs++;
			command->hdr.length += sizeof(command->attr[0]);
		}
		break;
	case 6:
		if (n) {
			command->attr[below(n)] = command->attr[n - 1];
			command->hdr.num_attrs--;
			command->hdr.length -= sizeof(command->attr[0]);
		}
		break;
	default:
		if (n)
			break_attr(&command->attr[below(n)]);
	}
}

/* Is it the address of a reply? Other values of this length are the data themselves. */
static bool short_pointer(const struct ib_uverbs_attr *attr)
{
	return attr->len && attr->len <= 8 && attr->data > 0x10000 &&
	       attr->data < 1ULL << 47;
}

/* Pointers of the copy lead to copies, so that nothing breaks the library; some into
 * memory where the kernel's copy fails or waits.
 */
static void fuzz_redirect(struct command *command)
{
	bool traps = one_in(2);
	u32 i, at = 0;

	for (i = 0; i < command->hdr.num_attrs; i++) {
		struct ib_uverbs_attr *attr = &command->attr[i];
		u8 *copy = scratch + at;
		void *trap;

		if (traps && short_pointer(attr) && one_in(2)) {
			u64 zero = 0;

			trap = trap_place(&zero, attr->len);
			attr->data = trap ? (uintptr_t)trap : attr->data;
			continue;
		}
		if (attr->len <= 8 || at + attr->len > SCRATCH / 2)
			continue;
		if (traps && one_in(2)) {
			trap = trap_place((void *)(uintptr_t)attr->data, attr->len);
			if (trap) {
				attr->data = (uintptr_t)trap;
				continue;
			}
		}
		memcpy(copy, (void *)(uintptr_t)attr->data, attr->len);
		attr->data = (uintptr_t)copy;
		at += (attr->len + 63) & ~63;
		while (one_in(2))
			copy[below(attr->len)] = one_in(2) ? number() : rnd();
	}
}

static int send_command(int fd, struct command *command)
{
	return syscall(SYS_ioctl, fd, RDMA_VERBS_IOCTL, command);
}

struct aside {
	int fd;
	struct command command;
};

static u32 asides;

static void *aside_thread(void *arg)
{
	struct aside *aside = arg;

	send_command(aside->fd, &aside->command);
	free(aside);
	__atomic_fetch_sub(&asides, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* The command may wait for long: the life goes on meanwhile. */
static void send_aside(int fd, const struct command *command)
{
	struct aside *aside = malloc(sizeof(*aside));
	pthread_t thread;

	if (!aside)
		return;
	aside->fd = fd;
	aside->command = *command;
	__atomic_fetch_add(&asides, 1, __ATOMIC_RELAXED);
	if (pthread_create(&thread, NULL, aside_thread, aside)) {
		__atomic_fetch_sub(&asides, 1, __ATOMIC_RELAXED);
		free(aside);
		return;
	}
	pthread_detach(thread);
}

static void send_broken(int fd, const struct ib_uverbs_ioctl_hdr *hdr)
{
	bool whole = one_in(3), aside = one_in(3);
	struct command command;

	if (hdr->num_attrs > MAX_ATTRS || hdr->length > sizeof(command))
		return;
	memcpy(&command, hdr, hdr->length);
	fuzz_redirect(&command);
	/* a right command fails or waits at its copies only */
	while (!whole) {
		break_command(&command);
		whole = one_in(2);
	}
	/* handles of one context mean something else in another */
	if (one_in(8) && ctx[0] && ctx[1])
		fd = ctx[below(2)]->cmd_fd;
	else if (one_in(16) && foreign[0])
		fd = foreign[below(SLOTS)];
	count(broken);
	if (aside && __atomic_load_n(&asides, __ATOMIC_RELAXED) < MAX_ASIDE)
		send_aside(fd, &command);
	else
		send_command(fd, &command);
}

static bool playing;

/* The library sends its commands by this call. */
int ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	va_list ap;

	va_start(ap, request);
	hdr = va_arg(ap, void *);
	va_end(ap);
	if (request == RDMA_VERBS_IOCTL && playing) {
		count(calls);
		if (one_in(4))
			send_broken(fd, hdr);
	}
	return syscall(SYS_ioctl, fd, request, hdr);
}

/* A command that is made up as a whole. */
static void raw_ioctl(int fd)
{
	static const u16 lens[] = { 0, 1, 4, 8, 16, 24, 32, 48, 64, 128, 4096, 65535 };
	struct command command = { 0 };
	u32 i;

	command.hdr.object_id = one_in(3) ? CAIRN_OBJECT_DEVICE + below(5) : below(20);
	command.hdr.method_id = one_in(2) ? (1 << 12) + below(9) : below(10);
	command.hdr.driver_id = one_in(20) ? number() : CAIRN_DRIVER_ID;
	command.hdr.num_attrs = below(6);
	command.hdr.length = sizeof(command.hdr) + command.hdr.num_attrs * sizeof(command.attr[0]);
	for (i = 0; i < command.hdr.num_attrs; i++) {
		struct ib_uverbs_attr *attr = &command.attr[i];

		attr->attr_id = one_in(2) ? (1 << 12) + i + below(2) : i + below(3);
		attr->len = lens[below(sizeof(lens) / sizeof(lens[0]))];
		attr->flags = !one_in(4);
		if (attr->len > 8)
			attr->data = any_address();
		else
			attr->data = one_in(2) ? below(40) : number();
	}
	if (one_in(10))
		break_command(&command);
	count(raw);
	send_command(fd, &command);
}

/* The same by write(2), as old libraries do. */
static void raw_write(int fd)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		u32 words[64];
	} cmd;
	u32 i, n = below(64);

	cmd.hdr.command = one_in(8) ? number() :
		below(50) | (one_in(3) ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
	cmd.hdr.in_words = one_in(8) ? number() : n + 2;
	cmd.hdr.out_words = one_in(4) ? number() : below(32);
	for (i = 0; i < 64; i++)
		cmd.words[i] = one_in(2) ? below(40) : number();
	if (one_in(2)) {
		u64 out = (uintptr_t)scratch;

		memcpy(cmd.words, &out, 8);
	}
	count(raw);
	if (one_in(4)) {
		void *trap = trap_place(&cmd, sizeof(cmd.hdr) + 4 * n);
		u64 out = (uintptr_t)trap_place(cmd.words, 4 * n);

		if (trap && out && n > 1 && one_in(2)) {
			/* the reply waits, and the command lies where it can be read */
			memcpy(cmd.words, &out, 8);
			trap = NULL;
		}
		/* any result is allowed */
		if (write(fd, trap ? trap : &cmd, sizeof(cmd.hdr) + 4 * n) < 0)
			return;
	} else if (write(fd, &cmd, sizeof(cmd.hdr) + 4 * n) < 0) {
		return;
	}
}

static int any_fd(void)
{
	struct ibv_context *chosen = ctx[below(CONTEXTS)];

	if (one_in(6) && foreign[0])
		return foreign[below(SLOTS)];
	return chosen ? chosen->cmd_fd : -1;
}

static void fuzz_raw(void)
{
	int fd = any_fd();
	u32 n = 1 + below(20);

	while (n--) {
		if (one_in(4))
			raw_write(fd);
		else
			raw_ioctl(fd);
	}
}

/* --- calls -------------------------------------------------------------- */

static void open_context(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context **chosen = &ctx[below(CONTEXTS)];
	/* a device whose netdev moves away and back */
	const char *moving = getenv("CAIRN_C");
	const char *want = below(2) ? vt_name_a() : vt_name_b();
	u32 i;

	if (moving && one_in(4))
		want = moving;
	for (i = 0; list && list[i] && !*chosen; i++)
		if (!strcmp(ibv_get_device_name(list[i]), want))
			*chosen = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (*chosen)
		fcntl((*chosen)->async_fd, F_SETFL, O_NONBLOCK);
}

struct ibv_context *any_ctx(void)
{
	struct ibv_context *chosen = ctx[below(CONTEXTS)];

	return chosen ? chosen : ctx[0];
}

static void make_pd(void)
{
	struct ibv_pd **pd_p = slot(pd);

	if (!*pd_p)
		*pd_p = ibv_alloc_pd(any_ctx());
	else if (one_in(4) && !ibv_dealloc_pd(*pd_p))
		*pd_p = NULL;
}

static void make_channel(void)
{
	struct ibv_comp_channel **channel_p = slot(channel);

	if (!*channel_p) {
		*channel_p = ibv_create_comp_channel(any_ctx());
		if (*channel_p)
			fcntl((*channel_p)->fd, F_SETFL, O_NONBLOCK);
	} else if (one_in(4) && !ibv_destroy_comp_channel(*channel_p)) {
		*channel_p = NULL;
	}
}

static void make_cq(void)
{
	struct ibv_comp_channel *ch = *slot(channel);
	struct ibv_cq **cq_p = slot(cq);

	if (!*cq_p)
		*cq_p = ibv_create_cq(ch ? ch->context : any_ctx(),
				      one_in(8) ? (int)number() : (int)below(300),
				      cq_p, ch, one_in(8) ? (int)number() : 0);
	else if (one_in(4) && !ibv_destroy_cq(*cq_p))
		*cq_p = NULL;
	else if (one_in(2))
		ibv_resize_cq(*cq_p, one_in(8) ? (int)number() : (int)below(600));
	else
		ibv_req_notify_cq(*cq_p, below(2));
}

static void make_srq(void)
{
	struct ibv_srq **srq_p = slot(srq);
	struct ibv_pd *of = *slot(pd);
	struct ibv_srq_init_attr init = {
		.attr = { 1 + below(100), 1 + below(4), below(3) },
	};
	struct ibv_srq_attr attr = { below(200), below(4), below(100) };

	if (one_in(8))
		init.attr.max_wr = number();
	if (one_in(8))
		init.attr.max_sge = number();
	if (!*srq_p && of)
		*srq_p = ibv_create_srq(of, &init);
	else if (*srq_p && one_in(4) && !ibv_destroy_srq(*srq_p))
		*srq_p = NULL;
	else if (*srq_p)
		ibv_modify_srq(*srq_p, &attr, below(4));
}

static u32 any_cap(u32 most)
{
	return one_in(10) ? (u32)number() : below(most);
}

static void make_qp(void)
{
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET,
	};
	struct ibv_qp **qp_p = slot(qp);
	struct ibv_pd *of = *slot(pd);
	struct ibv_qp_init_attr init = {
		.send_cq = *slot(cq), .recv_cq = *slot(cq),
		.srq = one_in(3) ? *slot(srq) : NULL,
		.cap = { any_cap(100), any_cap(100), any_cap(8), any_cap(8),
			 any_cap(256) },
		.qp_type = one_in(20) ? number() : types[below(5)],
		.sq_sig_all = below(2),
	};

	if (*qp_p && one_in(3) && !ibv_destroy_qp(*qp_p))
		*qp_p = NULL;
	else if (!*qp_p && of && init.send_cq && init.recv_cq)
		*qp_p = one_in(2) ? more_posting_qp(of, &init) : ibv_create_qp(of, &init);
}

static void make_mr(void)
{
	struct ibv_mr **mr_p = slot(mr);
	struct ibv_pd *of = *slot(pd);
	u8 *addr = arena + below(ARENA / 2);
	size_t len = one_in(10) ? number() : below(ARENA / 2);
	int access = one_in(4) ? (int)number() : VT_ACCESS;

	if (one_in(3))
		access |= CAIRNDV_ACCESS_PERSISTENT_HOST;
	if (!one_in(4))
		access |= IBV_ACCESS_MW_BIND;
	if (!*mr_p && of && one_in(3))
		*mr_p = more_region(of, addr, len);
	else if (!*mr_p && of)
		*mr_p = ibv_reg_mr_iova2(of, addr, len, one_in(3) ? number() :
					 (uintptr_t)addr, access);
	else if (*mr_p && one_in(3) && !ibv_dereg_mr(*mr_p))
		*mr_p = NULL;
	else if (*mr_p && of && one_in(2))
		ibv_rereg_mr(*mr_p, below(8), of, addr, len, access);
}

static void make_mw(void)
{
	struct ibv_mw **mw_p = slot(mw);
	struct ibv_pd *of = *slot(pd);

	if (!*mw_p && of)
		*mw_p = ibv_alloc_mw(of, 1 + below(2));
	else if (*mw_p && one_in(3) && !ibv_dealloc_mw(*mw_p))
		*mw_p = NULL;
}

struct ibv_ah_attr any_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = !one_in(10), .port_num = one_in(10) ? below(4) : 1,
		.grh = { .sgid_index = one_in(10) ? below(256) : below(6),
			 .hop_limit = below(70), .flow_label = below(1 << 20),
			 .traffic_class = below(256) },
		.sl = below(16), .static_rate = one_in(8) ? below(256) : 0,
	};
	struct ibv_context *of = any_ctx();

	if (one_in(10))
		for (u32 i = 0; i < 16; i++)
			attr.grh.dgid.raw[i] = rnd();
	else if (of)
		ibv_query_gid(of, 1, below(6), &attr.grh.dgid);
	return attr;
}

static void make_ah(void)
{
	struct ibv_ah **ah_p = slot(ah);
	struct ibv_pd *of = *slot(pd);
	struct ibv_ah_attr attr = any_ah();

	if (!*ah_p && of)
		*ah_p = ibv_create_ah(of, &attr);
	else if (*ah_p && one_in(3) && !ibv_destroy_ah(*ah_p))
		*ah_p = NULL;
}

static struct ibv_qp_attr any_attr(enum ibv_qp_state state)
{
	struct ibv_qp *peer = *slot(qp);
	struct ibv_qp_attr attr = {
		.qp_state = state, .cur_qp_state = below(8),
		.path_mtu = one_in(10) ? number() : 1 + below(5),
		.dest_qp_num = peer ? peer->qp_num : below(1 << 24),
		.rq_psn = below(4), .sq_psn = below(4), .qkey = VT_QKEY,
		.qp_access_flags = one_in(4) ? (int)number() : VT_ACCESS,
		.cap = { any_cap(200), any_cap(200), any_cap(4), any_cap(4), any_cap(64) },
		.ah_attr = any_ah(), .pkey_index = one_in(20),
		.max_rd_atomic = below(20), .max_dest_rd_atomic = below(20),
		.min_rnr_timer = below(33), .port_num = one_in(20) ? below(4) : 1,
		.timeout = below(12), .retry_cnt = below(8), .rnr_retry = below(8),
		.rate_limit = one_in(2) ? number() : 0,
	};

	if (one_in(12)) {
		/* all is known but the PSN */
		attr.dest_qp_num = any_hint()->qpn;
		attr.rq_psn = rnd() & 0xffffff;
		attr.sq_psn = rnd() & 0xffffff;
	}
	return attr;
}

/* Change to the next state, sometimes with wrong attributes. */
static void modify_qp(void)
{
	static const int need[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT,
		[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	};
	struct ibv_qp *of = *slot(qp);
	enum ibv_qp_state state;
	struct ibv_qp_attr attr;
	int mask = IBV_QP_STATE;

	if (!of)
		return;
	state = one_in(6) || of->state > IBV_QPS_RTR ? below(8) : of->state + 1;
	attr = any_attr(state);
	if (state <= IBV_QPS_RTS)
		mask |= need[state];
	if (state == IBV_QPS_INIT)
		mask |= of->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	if (of->qp_type == IBV_QPT_UD && state == IBV_QPS_RTR)
		mask = IBV_QP_STATE;
	if (of->qp_type == IBV_QPT_UD && state == IBV_QPS_RTS)
		mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (of->qp_type == IBV_QPT_UC)
		mask &= ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
			  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			  IBV_QP_MAX_QP_RD_ATOMIC);
	if (one_in(8))
		mask ^= 1 << below(26);
	if (one_in(12))
		mask = IBV_QP_CAP;
	if (one_in(12))
		mask = rnd() & ((1 << 26) - 1);
	ibv_modify_qp(of, &attr, mask);
}

static void fill_sge(struct ibv_sge *sge, u32 n)
{
	while (n--) {
		struct ibv_mr *of = *slot(mr);

		sge[n] = (struct ibv_sge){
			.addr = one_in(8) ? number() :
				of ? (uintptr_t)of->addr + below(64) : (uintptr_t)arena,
			.length = one_in(12) ? number() : below(5000),
			.lkey = one_in(8) || !of ? guess_key() : of->lkey,
		};
		if (one_in(12)) {
			struct fuzz_hint *hint = any_hint();

			sge[n].addr = hint->va + below(1000);
			sge[n].lkey = one_in(2) ? hint->lkey : hint->rkey;
		}
	}
}

static void post_send(void)
{
	struct ibv_qp *of = *slot(qp);
	struct ibv_mr *far = *slot(mr);
	struct ibv_sge sge[8];
	struct ibv_send_wr wr = {
		.wr_id = rnd(), .sg_list = sge, .num_sge = below(5),
		.opcode = one_in(12) ? number() : below(12),
		.send_flags = one_in(12) ? number() : IBV_SEND_SIGNALED * below(2),
		.imm_data = rnd(),
	}, *bad;
	struct ibv_mr guessed;

	if (!of)
		return;
	fill_sge(sge, 8);
	if (of->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = *slot(ah);
		wr.wr.ud.remote_qpn = one_in(4) ? below(1 << 24) : of->qp_num;
		wr.wr.ud.remote_qkey = VT_QKEY;
		if (!wr.wr.ud.ah)
			return;
	} else {
		u64 va = far ? (uintptr_t)far->addr + below(256) : number();
		u32 key = far && !one_in(8) ? far->rkey : guess_key();

		if (one_in(8)) {
			struct fuzz_hint *hint = any_hint();

			va = hint->va + below(1000);
			key = hint->rkey;
		}
		wr.wr.rdma.remote_addr = va;
		wr.wr.rdma.rkey = key;
		if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		    wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.remote_addr = va;
			wr.wr.atomic.rkey = key;
		}
		if (wr.opcode == IBV_WR_BIND_MW) {
			struct ibv_mw *win = *slot(mw);

			if (!win || !far)
				return;
			wr.bind_mw.mw = win;
			wr.bind_mw.rkey = win->rkey + below(3);
			guessed = *far;
			if (one_in(3))
				guessed.lkey = guessed.rkey = key;
			wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
				&guessed, va, one_in(6) ? 0 : below(9000), VT_ACCESS };
		}
	}
	ibv_post_send(of, &wr, &bad);
}

static void post_recv(void)
{
	struct ibv_qp *of = *slot(qp);
	struct ibv_srq *shared = *slot(srq);
	struct ibv_sge sge[8];
	struct ibv_recv_wr wr = {
		.wr_id = rnd(), .sg_list = sge, .num_sge = below(5),
	}, *bad;

	fill_sge(sge, 8);
	if (of && !of->srq)
		ibv_post_recv(of, &wr, &bad);
	if (shared)
		ibv_post_srq_recv(shared, &wr, &bad);
}

static void poll_cqs(void)
{
	struct ibv_cq *of = *slot(cq), *ev;
	struct ibv_comp_channel *ch = *slot(channel);
	struct ibv_async_event event;
	struct ibv_wc wc[16];
	void *arg;

	if (of)
		ibv_poll_cq(of, 16, wc);
	if (ch && !ibv_get_cq_event(ch, &ev, &arg))
		ibv_ack_cq_events(ev, 1);
	if (ctx[0] && !ibv_get_async_event(ctx[0], &event))
		ibv_ack_async_event(&event);
}

static void fuzz_queries(void)
{
	struct ibv_qp *of = *slot(qp);
	struct ibv_srq *shared = *slot(srq);
	struct ibv_qp_init_attr init;
	struct ibv_srq_attr sattr;
	struct ibv_device_attr_ex dev;
	struct ibv_port_attr port;
	struct ibv_qp_attr attr;
	union ibv_gid gid;

	if (of) {
		ibv_query_qp(of, &attr, rnd(), &init);
		for (u32 i = 0; i < 16; i++)
			gid.raw[i] = rnd();
		gid.raw[0] = 0xff;
		if (one_in(2))
			ibv_attach_mcast(of, &gid, below(2));
		else
			ibv_detach_mcast(of, &gid, below(2));
	}
	if (shared)
		ibv_query_srq(shared, &sattr);
	if (any_ctx()) {
		ibv_query_device_ex(any_ctx(), NULL, &dev);
		ibv_query_port(any_ctx(), below(3), &port);
	}
}

/* Change memory below regions. */
static void move_memory(void)
{
	u8 *page = arena + (below(ARENA) & ~4095u);
	size_t len = 4096 * (1 + below(16));

	switch (below(4)) {
	case 0: madvise(page, 4096, MADV_DONTNEED); break;
	case 1: mprotect(page, 4096, below(4)); break;
	case 2:
		if (page + len <= arena + ARENA)
			syscall(SYS_mmap, page, len, PROT_READ | PROT_WRITE,
				MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		break;
	default:
		if (nmaps) {
			struct map *map = &maps[below(nmaps)];
			void *mem = (void *)syscall(SYS_mmap, NULL, map->len, map->prot,
						    MAP_SHARED, map->fd,
						    map->off + (one_in(3) ? number() << 12 : 0));

			if (mem != MAP_FAILED)
				munmap(mem, map->len);
		}
	}
}

/* Write garbage into rings, pointers and ready maps, then ring. */
static void fuzz_scribble(void)
{
	struct map *map = nmaps ? &maps[below(nmaps)] : NULL;
	u32 n = 1 + below(30);

	if (!map || !(map->prot & PROT_WRITE) || map->len < 8)
		return;
	while (n--) {
		size_t at = below(map->len - 7) & ~3u;
		u32 v = one_in(2) ? number() : below(300);

		__atomic_store_n((u32 *)(map->addr + at), v, __ATOMIC_RELAXED);
	}
	for (n = 0; n < 4; n++) {
		struct command command = {
			.hdr = { .length = sizeof(command.hdr) + sizeof(command.attr[0]),
				 .object_id = CAIRN_OBJECT_DEVICE,
				 .method_id = CAIRN_METHOD_DOORBELL,
				 .num_attrs = 1, .driver_id = CAIRN_DRIVER_ID },
			.attr = { { .attr_id = CAIRN_ATTR_DOORBELL,
				    .len = sizeof(struct cairn_doorbell),
				    .flags = UVERBS_ATTR_F_MANDATORY,
				    .data = number() << 32 | below(64) } },
		};
		u64 list[9];

		if (one_in(3)) {
			for (u32 i = 0; i < 9; i++)
				list[i] = number() << 32 | below(64);
			command.attr[0].len = below(sizeof(list) + 1);
			command.attr[0].data = (uintptr_t)list;
		}
		send_command(any_fd(), &command);
	}
}

/* Exchange contexts with other lives. */
static void pass_descriptors(void)
{
	struct ibv_context *ctx = any_ctx();
	int *place = slot(foreign), fd;

	if (ctx)
		beside_give(ctx->cmd_fd);
	fd = beside_take();
	if (fd < 0)
		return;
	if (*place > 0)
		close(*place);
	*place = fd;
	if (foreign[0] <= 0)
		foreign[0] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* A child has the same contexts and mappings, and other memory. */
static void have_child(void)
{
	u64 seed = rnd();
	pid_t pid = fork();
	u32 n;

	if (pid)
		return;
	rand_state = seed;
	for (n = below(30); n; n--) {
		if (one_in(2))
			fuzz_raw();
		else
			fuzz_scribble();
	}
	_exit(0);
}

static u64 thread_seed;

static void *other_thread(void *arg)
{
	u32 n;

	rand_state = *(u64 *)arg;
	for (n = 0; n < 100; n++)
		fuzz_raw();
	return NULL;
}

static void have_thread(void)
{
	pthread_t thread;

	thread_seed = rnd();
	if (one_in(4) && !pthread_create(&thread, NULL, other_thread, &thread_seed))
		pthread_detach(thread);
}

static void (*const steps[])(void) = {
	make_pd, make_channel, make_cq, make_cq, make_srq, make_qp, make_qp, make_mr,
	make_mr, make_mw, make_ah, modify_qp, modify_qp, modify_qp, modify_qp,
	modify_qp, post_send, post_send, post_send, post_recv, post_recv, poll_cqs,
	fuzz_queries, move_memory, fuzz_raw, fuzz_scribble, open_context, more_calls, more_calls,
	more_calls, more_calls, more_calls, more_calls, pass_descriptors,
};

static void fuzz_step(void)
{
	steps[below(sizeof(steps) / sizeof(steps[0]))]();
	if (one_in(100))
		have_child();
}

/* The same descriptors in another program, whose contexts stay until they are closed. */
static void __attribute__((noreturn)) become_other(void)
{
	char fd[16], seed[32];
	struct ibv_context *ctx = any_ctx();

	fcntl(ctx->cmd_fd, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "%d", ctx->cmd_fd);
	snprintf(seed, sizeof(seed), "%llu", rnd());
	execl("/proc/self/exe", "fuzz_verbs", "-x", fd, "-s", seed, NULL);
	_exit(0);
}

/* The other program. */
static int other_program(int fd, u64 seed)
{
	static struct fuzz_counts own;
	u32 n;

	counts = &own;
	hints = calloc(FUZZ_HINTS, sizeof(*hints));
	rand_state = seed;
	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	scratch = mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (n = below(100); n; n--) {
		foreign[n % SLOTS] = fd;
		fuzz_raw();
	}
	return 0;
}

/* The first thread ends, and this thread goes on. */
static void *last_thread(void *arg)
{
	other_thread(arg);
	_exit(0);
}

static void __attribute__((noreturn)) leave_thread(void)
{
	pthread_t thread;

	thread_seed = rnd();
	if (!pthread_create(&thread, NULL, last_thread, &thread_seed))
		pthread_exit(NULL);
	_exit(0);
}

/* Close contexts with all their objects, or leave them open. */
static void end_life(void)
{
	u32 i;

	beside_scan(arena, ARENA);
	switch (below(6)) {
	case 4:
		become_other();
	case 5:
		leave_thread();
	case 0:
		for (i = 0; i < SLOTS; i++)
			if (qp[i] && !ibv_destroy_qp(qp[i]))
				qp[i] = NULL;
		for (i = 0; i < SLOTS; i++)
			if (mr[i])
				ibv_dereg_mr(mr[i]);
		/* fallthrough */
	case 1:
		for (i = 0; i < CONTEXTS; i++)
			if (ctx[i])
				close(ctx[i]->cmd_fd);
		_exit(0);
	case 2:
		_exit(0);
	default:
		raise(SIGKILL);
	}
}

static void fuzz_live(u64 seed)
{
	u32 n, used;

	rand_state = seed;
	beside_scan_setup();
	trap_setup(seed + 500);
	if (one_in(2) && setresuid(65534, 65534, 65534))
		_exit(3);
	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	scratch = mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (n = 0; n < 10 && !ctx[0]; n++)
		open_context();
	for (n = 0; n < CONTEXTS && !ctx[0]; n++)
		ctx[0] = ctx[n];
	if (!ctx[0])
		_exit(3);
	/* begin with some objects */
	for (n = 0; n < SLOTS; n++) {
		make_pd();
		make_cq();
		make_mr();
		make_ah();
	}
	playing = true;
	used = below(STEPS);
	for (n = 0; n < used; n++)
		fuzz_step();
	if (one_in(4))
		have_child();
	if (one_in(4))
		have_thread();
	for (n = 0; n < used / 4; n++)
		fuzz_step();
	end_life();
}

/* --- the parent --------------------------------------------------------- */

struct process {
	pid_t pid;
	u64 seed, since;
};

static void fuzz_begin(struct process *process, u64 seed)
{
	fflush(stdout);
	process->seed = seed;
	process->since = vt_now_ms();
	process->pid = fork();
	if (!process->pid) {
		setpgid(0, 0);
		/* drop the library's messages about a crash */
		if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
			_exit(2);
		fuzz_live(seed);
	}
	count(lives);
}

/* Has it ended? It must end when it is killed. */
static int fuzz_look(struct process *process)
{
	u64 age = vt_now_ms() - process->since;
	int status;

	if (waitpid(process->pid, &status, WNOHANG) == process->pid) {
		kill(-process->pid, SIGKILL);		/* its children */
		if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
			puts("a life found no device");
			return -1;
		}
		if (WIFEXITED(status))
			count(ended);
		else if (WTERMSIG(status) == SIGKILL)
			count(killed);
		else
			count(crashed);
		return 1;
	}
	if (age > (u64)vt_ms(5000))
		kill(-process->pid, SIGKILL);
	if (age > (u64)vt_ms(60000)) {
		printf("the life with seed %llu does not end\n", process->seed);
		return -1;
	}
	return 0;
}

static void print_counts(void)
{
	printf("%llu lives: %llu ended, %llu were killed, %llu crashed themselves; "
	       "%llu calls, %llu broken, %llu made up, %llu of rare kinds\n",
	       counts->lives, counts->ended, counts->killed, counts->crashed,
	       counts->calls, counts->broken, counts->raw, counts->more);
	printf("%llu commands with a pointer into a trap, %llu page faults answered, "
	       "%llu pages of FUSE, %llu descriptors from other lives, "
	       "%llu questions by netlink\n",
	       counts->trapped, counts->waited, counts->fused, counts->passed,
	       counts->netlink);
	printf("the bystander: %llu transfers compared, %llu regions made anew, "
	       "%llu bytes changed, %llu connections broken; %llu lives had its data\n",
	       counts->checks, counts->churned, counts->damage, counts->broken_off,
	       counts->leaks);
	printf("%llu calls in all\n", counts->calls + counts->broken + counts->raw);
}

int main(int argc, char **argv)
{
	struct process process[MAX_PROCESSES] = { 0 };
	u64 seed = time(NULL) * 1000000ULL, lives = ~0ULL, begun = 0;
	u32 i, processes = 3, readers = 1, running = 0;
	u64 seconds = 10, end;
	int c, rc = 0, other = -1;

	while ((c = getopt(argc, argv, "s:t:p:n:r:x:")) != -1) {
		switch (c) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = strtoull(optarg, NULL, 0); break;
		case 'p': processes = strtoul(optarg, NULL, 0); break;
		case 'n': lives = strtoull(optarg, NULL, 0); break;
		case 'r': readers = strtoul(optarg, NULL, 0); break;
		case 'x': other = atoi(optarg); break;
		default: return 2;
		}
	}
	if (other >= 0)
		return other_program(other, seed);
	if (!processes || processes > MAX_PROCESSES)
		return 2;
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	printf("seed %llu\n", seed);
	fflush(stdout);
	if (!fuse_start())
		puts("no FUSE in this kernel");
	if (!beside_start(readers, seed + 700)) {
		puts("the bystander does not start");
		return 1;
	}
	end = vt_now_ms() + seconds * 1000;
	do {
		bool more = vt_now_ms() < end && begun < lives;

		for (i = 0; i < processes && rc >= 0; i++) {
			if (process[i].pid) {
				rc = fuzz_look(&process[i]);
				if (rc > 0) {
					process[i].pid = 0;
					running--;
				}
			} else if (more && begun < lives) {
				fuzz_begin(&process[i], seed + begun / processes * 1000 + i);
				begun++;
				running++;
			}
		}
		usleep(2000);
		if (!more && !running)
			break;
		if (!beside_alive() || !fuse_alive()) {
			puts("the bystander, a reader or the file system has ended");
			rc = -1;
		}
	} while (rc >= 0);
	beside_stop();
	fuse_stop();
	print_counts();
	return rc < 0 || counts->leaks || counts->damage || counts->broken_off;
}
