// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * System calls that are in progress while their device leaves: one creates a queue pair and
 * waits for the page of its reply, one limits the rate of another and waits for the page with
 * the driver's arguments. The pages come when the queue pairs of the device have been stopped.
 *
 *	leaving		deletes the device CAIRN_B
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <rdma/cairn-abi.h>
#include <rdma/ib_user_verbs.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt.h"
#include "vt_test.h"

#define PAGE	4096u
#define LONG	vt_ms(30000)

extern char **environ;

struct create {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_create_qp cmd;
};

struct modify {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_ex_cmd_hdr ex;
	struct ib_uverbs_ex_modify_qp cmd;
	struct cairn_modify_qp_req req;
};

/* A call in a thread of its own, and the page that it waits for. */
struct call {
	pthread_t thread;
	const void *cmd;
	size_t len;
	u8 *page;
	int err;
};

static struct vt_dev dev;
static struct vt_end end;
static u8 *mem;		/* reply of the first call, arguments of the second, and the driver's */
static int trap = -1;

static void *call_write(void *arg)
{
	struct call *call = arg;

	call->err = write(dev.ctx->cmd_fd, call->cmd, call->len) < 0 ? errno : 0;
	return NULL;
}

/* Begin the call. Return: it waits for its page. */
static bool call_begin(struct call *call)
{
	struct uffd_msg msg;

	return !pthread_create(&call->thread, NULL, call_write, call) &&
	       read(trap, &msg, sizeof(msg)) == sizeof(msg) &&
	       msg.event == UFFD_EVENT_PAGEFAULT &&
	       (msg.arg.pagefault.address & -(u64)PAGE) == (uintptr_t)call->page;
}

/* Bring its page, with @content, and wait until it ends. Return: its errno. */
static int call_end(struct call *call, void *content)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)call->page, .src = (uintptr_t)content, .len = PAGE,
	};

	must(!ioctl(trap, UFFDIO_COPY, &copy) && !pthread_join(call->thread, NULL));
	return call->err;
}

static void memory_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	mem = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(mem != MAP_FAILED);
	mem[PAGE] = 0;
	range.range.start = (uintptr_t)mem;
	range.range.len = 3 * PAGE;
	trap = syscall(SYS_userfaultfd, O_CLOEXEC);
	must(trap >= 0 && !ioctl(trap, UFFDIO_API, &api) &&
	     !ioctl(trap, UFFDIO_REGISTER, &range));
}

/* Delete the device. Return: the process that does, when the device takes no more calls. */
static pid_t device_leaves(void)
{
	char *args[] = { "rdma", "link", "delete", (char *)vt_name_b(), NULL };
	u64 until = vt_now_ms() + LONG;
	struct ibv_pd *pd;
	pid_t pid;

	must(!posix_spawnp(&pid, args[0], NULL, NULL, args, environ));
	while ((pd = ibv_alloc_pd(dev.ctx))) {
		must(vt_now_ms() < until && !ibv_dealloc_pd(pd));
		usleep(1000);
	}
	must(errno == EIO);
	return pid;
}

static void calls_in_progress(void)
{
	static u8 page[PAGE];
	struct create create = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_CREATE_QP,
			.in_words = sizeof(create) / 4,
			.out_words = (sizeof(struct ib_uverbs_create_qp_resp) +
				      sizeof(struct cairn_create_qp_resp)) / 4,
		},
		.cmd = {
			.response = (uintptr_t)mem, .pd_handle = dev.pd->handle,
			.send_cq_handle = end.scq->handle,
			.recv_cq_handle = end.rcq->handle,
			.max_send_wr = 1, .max_recv_wr = 1,
			.max_send_sge = 1, .max_recv_sge = 1, .qp_type = IBV_QPT_RC,
		},
	};
	struct ib_uverbs_ex_modify_qp_resp resp;
	struct modify modify = {
		.hdr = {
			.command = IB_USER_VERBS_EX_CMD_MODIFY_QP |
				   IB_USER_VERBS_CMD_FLAG_EXTENDED,
			.in_words = sizeof(modify.cmd) / 8,
			.out_words = sizeof(resp) / 8,
		},
		.ex = {
			.response = (uintptr_t)&resp,
			.provider_in_words = sizeof(modify.req) / 8,
		},
		.cmd = {
			.base.qp_handle = end.qp->handle,
			.base.attr_mask = IBV_QP_RATE_LIMIT,
			.rate_limit = 1000000,
		},
	};
	struct call creates = { .cmd = &create, .len = sizeof(create), .page = mem };
	struct call modifies = {
		.cmd = mem + 2 * PAGE - offsetof(struct modify, req), .len = sizeof(modify),
		.page = mem + 2 * PAGE,
	};
	int status;
	pid_t pid;

	memcpy((void *)modifies.cmd, &modify, offsetof(struct modify, req));
	memcpy(page, &modify.req, sizeof(modify.req));
	must(call_begin(&creates) && call_begin(&modifies));
	pid = device_leaves();
	ktap_eq(call_end(&creates, page), EIO);
	ktap_eq(call_end(&modifies, page), EIO);
	must(waitpid(pid, &status, 0) == pid);
	ktap_eq(status, 0);
}

#define TESTS(X)	X(calls_in_progress)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	struct vt_opts opts = VT_OPTS;

	if (setjmp(vt_leave) || vt_open(&dev, vt_name_b(), VT_IPV4, -1) ||
	    vt_end_create(&end, &dev, &opts, PAGE) || vt_to_init(&end) ||
	    vt_to_rtr(&end, &end) || vt_to_rts(&end))
		return vt_bail();
	memory_open();
	return vt_run(NULL);
}
