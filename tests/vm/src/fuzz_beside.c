// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Beside the lives runs a bystander, whose memory, keys and connection they must not touch.
 * Readers ask RDMA netlink for everything all the time. Lives hand descriptors of contexts
 * to each other through a socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "fuzz.h"

#define MAX_READERS	4
#define PAGE		4096u
#define END_LEN		(1u << 16)
#define VICTIMS		8
#define VICTIM_LEN	(4 * PAGE)

struct fuzz_hint *hints;
static pid_t children[1 + MAX_READERS];
static u32 nchildren;
static int pool[2] = { -1, -1 };

/* --- the bystander --- */

/* Memory with the pattern, and its region. */
struct victim {
	u64 *mem;
	struct ibv_mr *mr;
};

static struct vt_dev dev[2];
static struct vt_end near, far;
static struct victim victims[VICTIMS];

static u64 beside_magic(void)
{
	return ~__atomic_load_n(&hints->not_magic, __ATOMIC_RELAXED);
}

/* Every other word is the magic number; the others have its place and time of writing. */
static void pattern_fill(u64 *mem, size_t len, u64 tag)
{
	size_t i;

	for (i = 0; i < len / 8; i++)
		mem[i] = i & 1 ? tag + i : beside_magic();
}

static void pattern_check(const u64 *mem, size_t len, u64 tag)
{
	size_t i;

	for (i = 0; i < len / 8; i++)
		if (mem[i] != (i & 1 ? tag + i : beside_magic()))
			__atomic_fetch_add(&counts->damage, 8, __ATOMIC_RELAXED);
}

static void victim_new(u32 i)
{
	struct victim *victim = &victims[i];
	struct vt_dev *of = &dev[i & 1];
	int access = i & 2 ? VT_ACCESS | IBV_ACCESS_MW_BIND : 0;

	if (victim->mr) {
		pattern_check(victim->mem, VICTIM_LEN, i);
		ibv_dereg_mr(victim->mr);
		munmap(victim->mem, VICTIM_LEN);
	}
	victim->mem = mmap(NULL, VICTIM_LEN, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pattern_fill(victim->mem, VICTIM_LEN, i);
	victim->mr = ibv_reg_mr(of->pd, victim->mem, VICTIM_LEN, access | IBV_ACCESS_LOCAL_WRITE);
	if (!victim->mr)
		victim->mr = ibv_reg_mr(of->pd, victim->mem, VICTIM_LEN, 0);
	count(churned);
	if (victim->mr)
		hints[i] = (struct fuzz_hint){
			victim->mr->lkey, victim->mr->rkey, (uintptr_t)victim->mem,
			i & 1 ? far.qp->qp_num : near.qp->qp_num, hints->not_magic };
}

static bool beside_transfer(enum ibv_wr_opcode opcode, size_t from, size_t to)
{
	struct ibv_sge sge = { (uintptr_t)near.buf + from, END_LEN / 4, near.mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)far.buf + to, far.mr->rkey },
	}, *bad;
	struct ibv_wc wc;

	if (ibv_post_send(near.qp, &wr, &bad) || vt_poll(near.scq, &wc, 1, vt_ms(60000))) {
		vt_say("the bystander's operation does not complete");
		return false;
	}
	if (wc.status)
		vt_say("the bystander's operation failed: %s", ibv_wc_status_str(wc.status));
	return !wc.status;
}

/* Copy the first quarter to the third one of the other end, and back to our second. */
static bool bystander_round(u64 round)
{
	u64 *mine = (u64 *)near.buf, *theirs = (u64 *)far.buf;
	size_t quarter = END_LEN / 4;

	pattern_fill(mine, quarter, round << 32);
	memset(near.buf + quarter, 0, quarter);
	if (!beside_transfer(IBV_WR_RDMA_WRITE, 0, 2 * quarter) ||
	    !beside_transfer(IBV_WR_RDMA_READ, quarter, 2 * quarter))
		return false;
	pattern_check(mine, quarter, round << 32);
	pattern_check(mine + quarter / 8, quarter, round << 32);
	pattern_check(theirs + 2 * quarter / 8, quarter, round << 32);
	/* no transfer uses these quarters */
	pattern_check(mine + 2 * quarter / 8, 2 * quarter, 1);
	pattern_check(theirs, 2 * quarter, 2);
	pattern_check(theirs + 3 * quarter / 8, quarter, 3);
	count(checks);
	return true;
}

static void beside_bystander(void)
{
	struct vt_opts opts = VT_OPTS;
	u64 round;
	u32 i;

	opts.access |= IBV_ACCESS_MW_BIND;
	if (!vt_open_both(&dev[0], &dev[1], VT_IPV4) ||
	    vt_end_create(&near, &dev[0], &opts, END_LEN) ||
	    vt_end_create(&far, &dev[1], &opts, END_LEN))
		_exit(3);
	/* a stranger would have to guess the PSN */
	if (getrandom(&near.psn, 3, 0) != 3 || getrandom(&far.psn, 3, 0) != 3 ||
	    vt_connect(&near, &far))
		_exit(3);
	pattern_fill((u64 *)(near.buf + END_LEN / 2), END_LEN / 2, 1);
	pattern_fill((u64 *)far.buf, END_LEN / 2, 2);
	pattern_fill((u64 *)(far.buf + 3 * END_LEN / 4), END_LEN / 4, 3);
	for (i = 0; i < VICTIMS; i++)
		victim_new(i);
	for (i = 0; i < 2; i++) {
		struct vt_end *end = i ? &far : &near;

		hints[VICTIMS + i] = (struct fuzz_hint){
			end->mr->lkey, end->mr->rkey, (uintptr_t)end->buf,
			end->qp->qp_num, hints->not_magic };
	}
	for (round = 1;; round++) {
		if (!bystander_round(round)) {
			count(broken_off);
			_exit(4);
		}
		for (i = 0; i < VICTIMS; i++)
			pattern_check(victims[i].mem, VICTIM_LEN, i);
		victim_new(below(VICTIMS));
		usleep(1000);
	}
}

static int own_memory = -1;

void beside_scan_setup(void)
{
	own_memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
}

/* Search each page alone, as some are not mapped or not readable. */
void beside_scan(const void *mem, size_t len)
{
	u64 wanted = beside_magic();
	static u8 page[PAGE];
	bool found = false;
	size_t at;

	for (at = 0; at < len; at += PAGE)
		if (pread(own_memory, page, PAGE, (uintptr_t)mem + at) == PAGE)
			found |= !!memmem(page, PAGE, &wanted, sizeof(wanted));
	/* no memory of this life may look like it */
	explicit_bzero(&wanted, sizeof(wanted));
	if (found)
		count(leaks);
}

/* --- readers of netlink --- */

struct question {
	struct nlmsghdr nlh;
	u8 attrs[128];
};

static void question_attr(struct question *question, u16 type, const void *data, u16 len)
{
	struct nlattr attr = { .nla_len = NLA_HDRLEN + len, .nla_type = type };
	u32 at = NLMSG_ALIGN(question->nlh.nlmsg_len);

	if (at + NLA_ALIGN(attr.nla_len) > sizeof(*question))
		return;
	memcpy((u8 *)question + at, &attr, sizeof(attr));
	memcpy((u8 *)question + at + NLA_HDRLEN, data, len);
	question->nlh.nlmsg_len = at + NLA_ALIGN(attr.nla_len);
}

static void question_u32(struct question *question, u16 type, u32 value)
{
	question_attr(question, type, &value, sizeof(value));
}

/* A dump of all objects of a kind, or a query for one number. */
static void question_make(struct question *question)
{
	static const struct {
		u16 command, number;
	} kinds[] = {
		{ RDMA_NLDEV_CMD_RES_GET, 0 },
		{ RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_LQPN },
		{ RDMA_NLDEV_CMD_RES_QP_GET_RAW, RDMA_NLDEV_ATTR_RES_LQPN },
		{ RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQN },
		{ RDMA_NLDEV_CMD_RES_CQ_GET_RAW, RDMA_NLDEV_ATTR_RES_CQN },
		{ RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MRN },
		{ RDMA_NLDEV_CMD_RES_MR_GET_RAW, RDMA_NLDEV_ATTR_RES_MRN },
		{ RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PDN },
		{ RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTXN },
		{ RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQN },
		{ RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_IDN },
		{ RDMA_NLDEV_CMD_STAT_GET, RDMA_NLDEV_ATTR_RES_LQPN },
		{ RDMA_NLDEV_CMD_STAT_GET_STATUS, 0 },
		{ RDMA_NLDEV_CMD_PORT_GET, 0 },
	};
	u32 kind = below(sizeof(kinds) / sizeof(kinds[0]));

	*question = (struct question){ .nlh = {
		.nlmsg_len = NLMSG_HDRLEN, .nlmsg_seq = rnd(),
		.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, kinds[kind].command),
		.nlmsg_flags = NLM_F_REQUEST | (one_in(3) ? 0 : NLM_F_DUMP) } };
	question_u32(question, RDMA_NLDEV_ATTR_DEV_INDEX, below(3));
	if (!one_in(8))
		question_u32(question, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	if (!(question->nlh.nlmsg_flags & NLM_F_DUMP) && kinds[kind].number)
		question_u32(question, kinds[kind].number,
			     one_in(3) ? hints[below(FUZZ_HINTS)].qpn : below(300));
	if (kinds[kind].command == RDMA_NLDEV_CMD_STAT_GET && one_in(2))
		question_u32(question, RDMA_NLDEV_ATTR_STAT_RES,
			     one_in(2) ? RDMA_NLDEV_ATTR_RES_QP : RDMA_NLDEV_ATTR_RES_MR);
}

/* Read the answer or a part of it, and then close the socket. */
static void question_ask(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	static u8 answer[1 << 16];
	u32 parts = one_in(4) ? below(3) : 1000;
	struct question question;

	question_make(&question);
	count(netlink);
	if (send(fd, &question, question.nlh.nlmsg_len, 0) > 0) {
		while (parts-- && poll(&ready, 1, 20) == 1) {
			struct nlmsghdr *head = (struct nlmsghdr *)answer;
			ssize_t n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);

			if (n < (ssize_t)sizeof(*head) || head->nlmsg_type == NLMSG_DONE ||
			    head->nlmsg_type == NLMSG_ERROR ||
			    !(head->nlmsg_flags & NLM_F_MULTI))
				break;
		}
	}
	close(fd);
}

static void beside_reader(void)
{
	/* one with and one without privileges */
	if (one_in(2) && setresuid(65534, 65534, 65534))
		_exit(3);
	for (;;) {
		question_ask();
		if (one_in(4))
			usleep(below(2000));
	}
}

/* --- start and end --- */

static bool beside_child(void (*what)(void), u64 seed)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		rnd_seed(seed);
		what();
		_exit(0);
	}
	if (pid > 0)
		children[nchildren++] = pid;
	return pid > 0;
}

bool beside_start(u32 readers, u64 seed)
{
	u64 end = vt_now_ms() + vt_ms(30000), secret;

	hints = mmap(NULL, FUZZ_HINTS * sizeof(*hints), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (hints == MAP_FAILED || getrandom(&secret, sizeof(secret), 0) != sizeof(secret) ||
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pool))
		return false;
	hints->not_magic = secret;
	explicit_bzero(&secret, sizeof(secret));
	if (!beside_child(beside_bystander, seed))
		return false;
	while (readers-- && nchildren <= MAX_READERS)
		if (!beside_child(beside_reader, ++seed))
			return false;
	while (!counts->checks && beside_alive() && vt_now_ms() < end)
		usleep(10000);
	return counts->checks;
}

bool beside_alive(void)
{
	u32 i;

	for (i = 0; i < nchildren; i++)
		if (waitpid(children[i], NULL, WNOHANG))
			return false;
	return true;
}

void beside_stop(void)
{
	u32 i;

	close(pool[0]);
	close(pool[1]);
	for (i = 0; i < nchildren; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

/* --- descriptors --- */

union control {
	struct cmsghdr head;
	u8 bytes[CMSG_SPACE(sizeof(int))];
};

void beside_give(int fd)
{
	union control control = { .head = {
		.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec byte = { "", 1 };
	struct msghdr msg = {
		.msg_iov = &byte, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	/* a full socket is no fault */
	if (sendmsg(pool[0], &msg, MSG_DONTWAIT) < 0)
		return;
}

int beside_take(void)
{
	union control control = { 0 };
	u8 byte;
	struct iovec into = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &into, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(pool[1], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0 ||
	    !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	count(passed);
	return fd;
}
