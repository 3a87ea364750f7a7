// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* CAIRN_CHECK: each kind of misuse is reported, and what is right is not. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cairndv.h"
#include "cq.h"
#include "fake.h"
#include "ktap.h"
#include "pd.h"
#include "qp.h"

#include "fixture_qp.h"

enum { KEY = 0x1234 };

static char log_path[] = "/tmp/test_check.XXXXXX";
static uint8_t memory[4096] __attribute__((aligned(8)));
static struct ibv_mr *mr;
static struct ibv_send_wr *bad;
static struct ibv_recv_wr *bad_recv;

static void set_mode(const char *more)
{
	static unsigned int runs;
	char mode[128];

	/* another text each time: the reports of earlier tests are forgotten */
	snprintf(mode, sizeof(mode), "log:%s%s%s", runs++ % 2 ? "/" : "", log_path, more);
	setenv("CAIRN_CHECK", mode, 1);
	if (truncate(log_path, 0))
		abort();
}

/* How often the log has this code. */
static int reports(const char *code)
{
	FILE *log = fopen(log_path, "r");
	char line[4096], begin[128];
	int n = 0;

	snprintf(begin, sizeof(begin), "cairn-check: %s ", code);
	while (log && fgets(line, sizeof(line), log))
		n += !strncmp(line, begin, strlen(begin));
	if (log)
		fclose(log);
	return n;
}

static int all_reports(void)
{
	FILE *log = fopen(log_path, "r");
	char line[4096];
	int n = 0;

	while (log && fgets(line, sizeof(line), log))
		n += !strncmp(line, "cairn-check: ", 13);
	if (log)
		fclose(log);
	return n;
}

static struct ibv_mr *region_of(struct ibv_pd *owner, uint32_t key, int access)
{
	fake.mr_key = key;
	return fake.ops.reg_mr(owner, memory, sizeof(memory), (uintptr_t)memory, access);
}

static void open_checked(const char *more)
{
	set_mode(more);
	open_qp();
	mr = region_of(pd, KEY, IBV_ACCESS_LOCAL_WRITE);
}

static void close_checked(void)
{
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	close_ctx();
}

static struct ibv_sge sge_at(size_t offset, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)memory + offset, length, KEY };
}

static int send_sge(struct ibv_sge sge, enum ibv_wr_opcode opcode, unsigned int flags)
{
	struct ibv_send_wr wr = {
		.wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = flags,
	};

	return fake.ops.post_send(qp, &wr, &bad);
}

static int receive_sge(struct ibv_sge sge, uint64_t wr_id)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return fake.ops.post_recv(qp, &wr, &bad_recv);
}

/* The device has finished the requests that were posted. */
static void finish_sends(void)
{
	__atomic_store_n(&fake_sq(qp)->dev->index, fake_sq(qp)->host->index,
			 __ATOMIC_RELEASE);
}

static void complete_as(uint64_t wr_id, uint8_t opcode, uint8_t status)
{
	struct cairn_cqe cqe = {
		.wr_id = wr_id, .qpn = qp->qp_num, .opcode = opcode, .status = status,
	};
	struct ibv_wc wc;

	fake_complete(fake_cq_ring(cq), &cqe);
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
}

static void complete_send(void)
{
	finish_sends();
	complete_as(7, CAIRN_CQE_SEND, CAIRN_CQE_SUCCESS);
}

static void correct_program(void)
{
	struct ibv_wc wc;

	open_checked(",strict");
	for (int i = 0; i < 40; i++) {
		ktap_eq(receive_sge(sge_at(0, 100), 1), 0);
		memory[200] = (uint8_t)i;
		ktap_eq(send_sge(sge_at(200, 100), IBV_WR_SEND, 0), 0);
		ktap_eq(send_sge(sge_at(300, 100), IBV_WR_RDMA_READ, IBV_SEND_SIGNALED), 0);
		memory[300] = (uint8_t)i;
		fake_rq(qp)->dev->index = fake_rq(qp)->host->index;
		complete_send();
		complete_as(1, CAIRN_CQE_RECV, CAIRN_CQE_SUCCESS);
		fake.ops.req_notify_cq(cq, 0);
		ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 0);
	}
	close_checked();
	ktap_eq(all_reports(), 0);
}

static void send_buffer_changed(void)
{
	open_checked("");
	/* a short one, which the inline rule would copy */
	ktap_eq(send_sge(sge_at(0, 16), IBV_WR_SEND, IBV_SEND_SIGNALED), 0);
	memory[3]++;
	complete_send();
	ktap_eq(reports("send-buffer-changed"), 1);
	/* without a completion of its own: at the next one */
	ktap_eq(send_sge(sge_at(0, 4096), IBV_WR_RDMA_WRITE, 0), 0);
	memory[4095]++;
	ktap_eq(send_sge(sge_at(8, 8), IBV_WR_SEND, IBV_SEND_SIGNALED), 0);
	ktap_eq(reports("send-buffer-changed"), 1);
	complete_send();
	ktap_eq(reports("send-buffer-changed"), 2);
	close_checked();
}

/* A request that failed sends no more: its buffer is the program's, before it polls that. */
static void failed_buffer_changed(void)
{
	open_checked("");
	ktap_eq(send_sge(sge_at(0, 16), IBV_WR_SEND, IBV_SEND_SIGNALED), 0);
	memory[3]++;
	finish_sends();
	complete_as(7, CAIRN_CQE_SEND, CAIRN_CQE_WR_FLUSH_ERR);
	close_checked();
	ktap_eq(all_reports(), 0);
}

/* A queue pair ends before its requests do: they may have left with either bytes. */
static void left_buffer_changed(void)
{
	for (int done = 0; done < 2; done++) {
		open_checked("");
		ktap_eq(send_sge(sge_at(0, 16), IBV_WR_SEND, IBV_SEND_SIGNALED), 0);
		if (done)
			finish_sends();
		memory[3]++;
		close_checked();
		ktap_eq(reports("send-buffer-changed"), !done);
	}
	open_checked("");
	ktap_eq(send_sge(sge_at(0, 16), IBV_WR_SEND, IBV_SEND_SIGNALED), 0);
	memory[3]++;
	fake_sq(qp)->dev->state = CAIRN_QUEUE_ERROR;
	close_checked();
	ktap_eq(all_reports(), 0);
}

/* Data that the program gave inline is its own at once. */
/* Early mode: the buffer is the program's again before the message is durable. */
static void early_buffer_changed(void)
{
	const unsigned int flags = IBV_SEND_SIGNALED | (unsigned int)CAIRNDV_SEND_EARLY;

	open_checked("");
	for (int i = 0; i < 2; i++) {
		ktap_eq(receive_sge(sge_at(0, 0), 1), 0);
		ktap_eq(send_sge(sge_at(0, 8), CAIRNDV_WR_WRITE_PERSIST, flags), 0);
		memory[0] = (uint8_t)(memory[0] + i);
		finish_sends();
		complete_as(7, CAIRN_CQE_WRITE_PERSIST, CAIRN_CQE_SUCCESS);
		ktap_eq(reports("send-buffer-changed"), i);
		memory[0]++;
		ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
		mr = region_of(pd, KEY, IBV_ACCESS_LOCAL_WRITE);
		complete_as(1, CAIRN_CQE_RECV_DURABLE, CAIRN_CQE_SUCCESS);
	}
	close_checked();
	ktap_eq(all_reports(), 1);
}

static void inline_buffer_changed(void)
{
	open_checked("");
	ktap_eq(send_sge(sge_at(0, 16), IBV_WR_SEND, IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
	memory[3]++;
	complete_send();
	close_checked();
	ktap_eq(all_reports(), 0);
}

static void key_unknown(void)
{
	struct ibv_mr *other;
	struct ibv_sge sge = sge_at(0, 8);

	open_checked("");
	sge.lkey = 0x999900;
	send_sge(sge, IBV_WR_SEND, IBV_SEND_SIGNALED);
	ktap_eq(reports("key-unknown"), 1);
	/* of a region that has ended */
	other = region_of(pd, 0x5500, IBV_ACCESS_LOCAL_WRITE);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)other), 0);
	sge.lkey = 0x5500;
	receive_sge(sge, 1);
	ktap_eq(reports("key-unknown"), 2);
	close_checked();
}

static void key_of_other_context(void)
{
	struct ibv_context *other_ctx;
	struct ibv_pd *other_pd;
	struct ibv_mr *other;
	struct ibv_sge sge = sge_at(0, 8);

	open_checked("");
	other_ctx = fake_open();
	other_pd = fake_pd(other_ctx);
	other = region_of(other_pd, 0x7700, IBV_ACCESS_LOCAL_WRITE);
	sge.lkey = 0x7700;
	send_sge(sge, IBV_WR_SEND, IBV_SEND_SIGNALED);
	ktap_eq(reports("key-unknown"), 1);
	/* the key of ibv_alloc_null_mr() is of any context */
	sge.lkey = CAIRN_NULL_LKEY;
	send_sge(sge, IBV_WR_SEND, IBV_SEND_SIGNALED);
	ktap_eq(all_reports(), 1);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)other), 0);
	ktap_eq(fake.ops.dealloc_pd(other_pd), 0);
	/* what is left in this context is no leak of that one */
	fake_close(other_ctx);
	close_checked();
	ktap_eq(all_reports(), 1);
}

static void key_other_pd(void)
{
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_pd *other_pd;
	struct ibv_mr *other;

	open_checked("");
	other_pd = fake_pd(ctx);
	other = region_of(other_pd, 0x5500, IBV_ACCESS_LOCAL_WRITE);
	sge.lkey = 0x5500;
	send_sge(sge, IBV_WR_SEND, IBV_SEND_SIGNALED);
	ktap_eq(reports("key-other-pd"), 1);
	complete_send();
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)other), 0);
	ktap_eq(fake.ops.dealloc_pd(other_pd), 0);
	close_checked();
}

static void key_range(void)
{
	open_checked("");
	send_sge(sge_at(4090, 6), IBV_WR_SEND, IBV_SEND_SIGNALED);
	ktap_eq(reports("key-range"), 0);
	send_sge(sge_at(4090, 7), IBV_WR_SEND, IBV_SEND_SIGNALED);
	ktap_eq(reports("key-range"), 1);
	close_checked();
}

static void key_access(void)
{
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_mr *other;

	open_checked("");
	other = region_of(pd, 0x5500, 0);
	sge.lkey = 0x5500;
	send_sge(sge, IBV_WR_SEND, 0);
	ktap_eq(reports("key-access"), 0);
	send_sge(sge, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED);
	receive_sge(sge, 1);
	ktap_eq(reports("key-access"), 2);
	fake.ops.modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET },
			   IBV_QP_STATE);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)other), 0);
	ktap_eq(reports("region-in-use"), 0);
	close_checked();
}

static void atomic_alignment(void)
{
	struct ibv_sge sge = sge_at(0, 8);
	struct ibv_send_wr wr = {
		.wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic.remote_addr = 0x1008,
	};

	open_checked("");
	fake.ops.post_send(qp, &wr, &bad);
	ktap_eq(reports("atomic-alignment"), 0);
	wr.wr.atomic.remote_addr = 0x1004;
	fake.ops.post_send(qp, &wr, &bad);
	ktap_eq(reports("atomic-alignment"), 1);
	close_checked();
}

static void region_in_use(void)
{
	open_checked("");
	ktap_eq(receive_sge(sge_at(0, 8), 1), 0);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	ktap_eq(reports("region-in-use"), 1);
	mr = region_of(pd, KEY, IBV_ACCESS_LOCAL_WRITE);
	/* a queue pair in error does not touch it */
	qp->state = IBV_QPS_ERR;
	close_checked();
	ktap_eq(reports("region-in-use"), 1);
}

static void receives_overlap(void)
{
	open_checked("");
	receive_sge(sge_at(0, 100), 1);
	receive_sge(sge_at(99, 100), 2);
	ktap_eq(all_reports(), 0);
	close_checked();
	open_checked(",strict");
	receive_sge(sge_at(0, 100), 1);
	receive_sge(sge_at(100, 100), 2);
	ktap_eq(all_reports(), 0);
	receive_sge(sge_at(199, 100), 3);
	ktap_eq(reports("receives-overlap"), 1);
	close_checked();
}

/* The device has room again, and a NIC would have none. */
static void send_queue_overflow(void)
{
	open_checked("");
	for (uint32_t i = 0; i < to_cqp(qp)->sq.max_wr; i++) {
		ktap_eq(send_sge(sge_at(0, 8), IBV_WR_SEND, 0), 0);
		finish_sends();
	}
	ktap_eq(reports("send-queue-overflow"), 0);
	ktap_eq(send_sge(sge_at(0, 8), IBV_WR_SEND, IBV_SEND_SIGNALED), 0);
	ktap_eq(reports("send-queue-overflow"), 1);
	close_checked();
}

/* The limit is the present one. */
static void resized_send_queue(void)
{
	struct ibv_qp_attr attr = { .cap = { .max_send_wr = 64, .max_recv_wr = 16 } };
	uint32_t old;

	open_checked("");
	old = to_cqp(qp)->sq.max_wr;
	for (uint32_t i = 0; i < old; i++)
		ktap_eq(send_sge(sge_at(0, 8), IBV_WR_SEND, 0), 0);
	ktap_eq(fake.ops.modify_qp(qp, &attr, IBV_QP_CAP), 0);
	ktap_ok(to_cqp(qp)->sq.max_wr > old);
	for (uint32_t i = old; i < to_cqp(qp)->sq.max_wr; i++)
		ktap_eq(send_sge(sge_at(0, 8), IBV_WR_SEND, 0), 0);
	ktap_eq(all_reports(), 0);
	finish_sends();
	ktap_eq(send_sge(sge_at(0, 8), IBV_WR_SEND, 0), 0);
	ktap_eq(reports("send-queue-overflow"), 1);
	close_checked();
}

static void cq_overflow(void)
{
	open_checked("");
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	fake.max_send_wr = 64;
	fake.sq_depth = 256;
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	for (int i = 0; i < cq->cqe; i++)
		ktap_eq(send_sge(sge_at(0, 8), IBV_WR_SEND, IBV_SEND_SIGNALED), 0);
	ktap_eq(reports("cq-overflow"), 0);
	ktap_eq(send_sge(sge_at(0, 8), IBV_WR_SEND, IBV_SEND_SIGNALED), 0);
	ktap_eq(reports("cq-overflow"), 1);
	close_checked();
}

static void cq_arm_race(void)
{
	struct ibv_wc wc;

	open_checked("");
	ktap_eq(receive_sge(sge_at(0, 8), 1), 0);
	/* armed, then polled: right */
	fake.ops.poll_cq(cq, 1, &wc);
	fake.ops.req_notify_cq(cq, 0);
	fake.ops.poll_cq(cq, 1, &wc);
	fake.ops.cq_event(cq);
	ktap_eq(reports("cq-arm-race"), 0);
	fake.ops.poll_cq(cq, 1, &wc);
	fake.ops.req_notify_cq(cq, 0);
	fake.ops.cq_event(cq);
	ktap_eq(reports("cq-arm-race"), 1);
	cq->comp_events_completed = 2;
	close_checked();
}

static void events_unacked(void)
{
	open_checked("");
	fake.ops.cq_event(cq);
	cq->comp_events_completed = 1;
	fake.ops.cq_event(cq);
	close_checked();
	ktap_eq(reports("events-unacked"), 1);
	open_checked("");
	fake.ops.cq_event(cq);
	cq->comp_events_completed = 1;
	close_checked();
	ktap_eq(all_reports(), 0);
}

static void use_after_destroy(void)
{
	struct ibv_qp *gone;

	open_checked("");
	gone = qp;
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(send_sge(sge_at(0, 8), IBV_WR_SEND, 0), EINVAL);
	ktap_eq(receive_sge(sge_at(0, 8), 1), EINVAL);
	ktap_eq(reports("use-after-destroy"), 2);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	ktap_ok(qp != gone);
	close_checked();
}

static void modify_attributes(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC;

	open_checked("");
	qp->state = IBV_QPS_INIT;
	fake.fail = "modify_qp";
	fake.fail_err = EINVAL;
	ktap_eq(fake.ops.modify_qp(qp, &attr, mask), EINVAL);
	ktap_eq(reports("modify-attributes"), 1);
	/* refused for another reason */
	fake.fail = "modify_qp";
	ktap_eq(fake.ops.modify_qp(qp, &attr, mask | IBV_QP_MIN_RNR_TIMER), EINVAL);
	ktap_eq(reports("modify-attributes"), 1);
	close_checked();
}

/* UC has less of them, and they are there. */
static void modify_refused(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		   IBV_QP_RQ_PSN;
	struct ibv_qp *uc;

	open_checked("");
	uc = fake_qp(pd, cq, IBV_QPT_UC, 0);
	uc->state = IBV_QPS_INIT;
	fake.fail = "modify_qp";
	fake.fail_err = EINVAL;
	ktap_eq(fake.ops.modify_qp(uc, &attr, mask), EINVAL);
	/* a queue pair that stays in its state needs none */
	attr.qp_state = IBV_QPS_INIT;
	fake.fail = "modify_qp";
	ktap_eq(fake.ops.modify_qp(uc, &attr, IBV_QP_STATE), EINVAL);
	ktap_eq(fake.ops.destroy_qp(uc), 0);
	close_checked();
	ktap_eq(all_reports(), 0);
}

static void leak_of_regions(void)
{
	struct ibv_mr *left;

	open_checked("");
	left = region_of(pd, 0x5500, 0);
	/* an end that was refused is none */
	fake.fail = "dereg_mr";
	fake.fail_err = EBUSY;
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)left), EBUSY);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)mr), 0);
	ktap_eq(fake.ops.destroy_cq(cq), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	fake_close(ctx);
	ktap_eq(reports("leak"), 1);
	free(left);
}

/* ibv_rereg_mr() leaves what it does not change, and all of it when it fails. */
static void region_changed(void)
{
	static const struct {
		uint64_t iova;
		int access, flags, to;
		bool fails;
	} cases[] = {
		{ 0x10000, IBV_ACCESS_LOCAL_WRITE, IBV_REREG_MR_CHANGE_ACCESS, 0, false },
		{ 0x10000, IBV_ACCESS_LOCAL_WRITE, IBV_REREG_MR_CHANGE_TRANSLATION, 0, true },
		{ 0, IBV_ACCESS_ZERO_BASED, IBV_REREG_MR_CHANGE_PD, 0, false },
		{ 0, IBV_ACCESS_ZERO_BASED, IBV_REREG_MR_CHANGE_TRANSLATION, 0, false },
		{ 0x10000, 0, IBV_REREG_MR_CHANGE_ACCESS, IBV_ACCESS_ZERO_BASED, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t iova = (cases[i].access | cases[i].to) & IBV_ACCESS_ZERO_BASED ?
				0 : cases[i].iova;
		struct ibv_mr *other;

		open_checked("");
		fake.mr_key = 0x5500;
		other = fake.ops.reg_mr(pd, memory, sizeof(memory), cases[i].iova, cases[i].access);
		other->addr = memory;
		other->length = sizeof(memory);
		if (cases[i].fails) {
			fake.fail = "rereg_mr";
			fake.fail_err = ENOMEM;
		}
		ktap_eq(fake.ops.rereg_mr((struct verbs_mr *)other, cases[i].flags, pd, memory + 64,
					  128, cases[i].to), cases[i].fails ? ENOMEM : 0);
		ktap_eq(send_sge((struct ibv_sge){ iova, 128, 0x5500 }, IBV_WR_SEND, 0), 0);
		ktap_eq(all_reports(), 0);
		ktap_eq(send_sge((struct ibv_sge){ iova - 1, 1, 0x5500 }, IBV_WR_SEND, 0), 0);
		ktap_eq(reports("key-range"), 1);
		ktap_eq(fake.ops.destroy_qp(qp), 0);
		ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)other), 0);
		qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
		close_checked();
	}
}

/* A region that ends without waiting has ended. */
static void region_released(void)
{
	struct ibv_mr *other;
	uint32_t ticket;

	open_checked("");
	other = region_of(pd, 0x5500, IBV_ACCESS_LOCAL_WRITE);
	/* an end that was refused is none */
	fake.fail = "dereg_mr_async";
	fake.fail_err = EAGAIN;
	ktap_eq(cairndv_dereg_mr_async(other, &ticket), EAGAIN);
	fake.fail = NULL;
	ktap_eq(send_sge((struct ibv_sge){ (uintptr_t)memory, 8, 0x5500 }, IBV_WR_SEND, 0), 0);
	ktap_eq(all_reports(), 0);
	ktap_eq(cairndv_dereg_mr_async(other, &ticket), 0);
	ktap_eq(reports("region-in-use"), 1);
	ktap_eq(send_sge((struct ibv_sge){ (uintptr_t)memory, 8, 0x5500 }, IBV_WR_SEND, 0), 0);
	ktap_eq(reports("key-unknown"), 1);
	close_checked();
	ktap_eq(reports("leak"), 0);
}

static void complete_receive(uint64_t wr_id, uint32_t bytes)
{
	struct cairn_cqe cqe = {
		.wr_id = wr_id, .qpn = qp->qp_num, .opcode = CAIRN_CQE_RECV, .byte_len = bytes,
	};
	struct ibv_wc wc;

	fake_complete(fake_cq_ring(cq), &cqe);
	ktap_eq(fake.ops.poll_cq(cq, 1, &wc), 1);
}

static void receive_buffer_changed(void)
{
	open_checked("");
	/* the message is the device's */
	receive_sge(sge_at(0, 800), 1);
	memory[99]++;
	complete_receive(1, 100);
	ktap_eq(all_reports(), 0);
	receive_sge(sge_at(0, 800), 1);
	memory[200]++;
	complete_receive(1, 100);
	ktap_eq(reports("receive-buffer-used"), 1);
	/* another receive may have been written there */
	receive_sge(sge_at(0, 800), 1);
	receive_sge(sge_at(100, 800), 2);
	memory[200]++;
	complete_receive(2, 700);
	complete_receive(1, 100);
	ktap_eq(all_reports(), 1);
	close_checked();
}

/* A peer may write behind the message. */
static void receive_in_remote_memory(void)
{
	struct ibv_mr *other;
	struct ibv_sge sge = sge_at(0, 800);

	open_checked("");
	other = region_of(pd, 0x5500, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	sge.lkey = 0x5500;
	receive_sge(sge, 1);
	memory[200]++;
	complete_receive(1, 100);
	ktap_eq(all_reports(), 0);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)other), 0);
	close_checked();
}

/* Pages of their own, with a region. */
static uint8_t *map_region(struct ibv_mr **region)
{
	uint8_t *map = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (map == MAP_FAILED)
		abort();
	fake.mr_key = 0x5500;
	*region = fake.ops.reg_mr(pd, map, 3 * 4096, (uintptr_t)map, IBV_ACCESS_LOCAL_WRITE);
	return map;
}

static void receive_buffer_touched(void)
{
	struct ibv_mr *other, *again;
	struct ibv_sge sge = { .length = 2 * 4096, .lkey = 0x5500 };
	uint8_t *map;

	open_checked(",strict,pages");
	map = map_region(&other);
	sge.addr = (uintptr_t)map + 100;
	receive_sge(sge, 1);
	/* beside the whole page */
	map[4095]++;
	map[2 * 4096]++;
	ktap_eq(all_reports(), 0);
	ktap_eq(((volatile uint8_t *)map)[4096], 0);
	ktap_eq(reports("receive-buffer-used"), 1);
	map[5000]++;
	complete_receive(1, 2 * 4096);
	ktap_eq(all_reports(), 1);
	/* the completion opens them */
	receive_sge(sge, 1);
	complete_receive(1, 2 * 4096);
	map[4096]++;
	ktap_eq(all_reports(), 1);
	/* ... and another registration */
	receive_sge(sge, 1);
	again = region_of(pd, 0x6600, 0);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)again), 0);
	fake.mr_key = 0x6600;
	again = fake.ops.reg_mr(pd, map, 4097, (uintptr_t)map, 0);
	map[4096]++;
	ktap_eq(all_reports(), 1);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)again), 0);
	/* ... and the end of the queue pair */
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	map[4096]++;
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)other), 0);
	munmap(map, 3 * 4096);
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	close_checked();
	ktap_eq(all_reports(), 1);
}

/* Memory that was never watched: the program's own handler has it. */
static void other_faults_are_the_programs(void)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		struct ibv_mr *other;
		uint8_t *map;

		signal(SIGSEGV, SIG_DFL);
		open_checked(",pages");
		map = map_region(&other);
		receive_sge((struct ibv_sge){ (uintptr_t)map, 4096, 0x5500 }, 1);
		mprotect(map + 8192, 4096, PROT_NONE);
		map[8192]++;
		_exit(0);
	}
	ktap_eq(waitpid(child, &status, 0), child);
	ktap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void buffer_unmapped(void)
{
	struct ibv_mr *other;
	uint8_t *map;

	open_checked("");
	map = map_region(&other);
	send_sge((struct ibv_sge){ (uintptr_t)map, 64, 0x5500 }, IBV_WR_SEND, IBV_SEND_SIGNALED);
	munmap(map, 3 * 4096);
	complete_send();
	ktap_eq(reports("buffer-unmapped"), 1);
	ktap_eq(fake.ops.dereg_mr((struct verbs_mr *)other), 0);
	close_checked();
}

static void receive_late(void)
{
	open_checked("");
	receive_sge(sge_at(0, 8), 1);
	complete_receive(1, 8);
	receive_sge(sge_at(0, 8), 1);
	ktap_eq(all_reports(), 0);
	complete_receive(1, 8);
	fake_rq(qp)->dev->starved++;
	receive_sge(sge_at(0, 8), 1);
	ktap_eq(reports("receive-late"), 1);
	/* each is told once */
	receive_sge(sge_at(8, 8), 2);
	/* messages that came before the connection was made */
	qp->state = IBV_QPS_INIT;
	fake_rq(qp)->dev->starved++;
	receive_sge(sge_at(16, 8), 3);
	qp->state = IBV_QPS_RTS;
	receive_sge(sge_at(24, 8), 4);
	close_checked();
	ktap_eq(all_reports(), 1);
}

static void poll_empty(int times)
{
	struct ibv_wc wc;

	for (int i = 0; i < times; i++)
		if (fake.ops.poll_cq(cq, 1, &wc))
			abort();
}

enum { ENDLESS = 250000 };

static void poll_endless(void)
{
	open_checked("");
	/* nothing was ever posted: the program may wait for another thread */
	poll_empty(ENDLESS);
	ktap_eq(all_reports(), 0);
	send_sge(sge_at(0, 8), IBV_WR_SEND, 0);
	/* it may still fail */
	poll_empty(ENDLESS);
	ktap_eq(all_reports(), 0);
	finish_sends();
	poll_empty(ENDLESS);
	ktap_eq(reports("poll-endless"), 1);
	close_checked();
}

static void poll_for_what_comes(void)
{
	open_checked("");
	send_sge(sge_at(0, 8), IBV_WR_SEND, 0);
	send_sge(sge_at(0, 8), IBV_WR_SEND, IBV_SEND_SIGNALED);
	finish_sends();
	poll_empty(ENDLESS);
	complete_as(7, CAIRN_CQE_SEND, CAIRN_CQE_SUCCESS);
	send_sge(sge_at(0, 8), IBV_WR_SEND, 0);
	receive_sge(sge_at(0, 8), 1);
	finish_sends();
	poll_empty(ENDLESS);
	close_checked();
	ktap_eq(all_reports(), 0);
}

/* Receives of a shared queue may still come, whatever call created it. */
static void poll_for_shared_receives(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { 4, 3, 0 }, .comp_mask = IBV_SRQ_INIT_ATTR_PD,
	};
	struct ibv_recv_wr wr = { .wr_id = 1 };
	struct ibv_srq *srq;

	for (int xrc = 0; xrc < 2; xrc++) {
		open_checked("");
		attr.pd = pd;
		if (xrc) {
			attr.comp_mask |= IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
					  IBV_SRQ_INIT_ATTR_CQ;
			attr.srq_type = IBV_SRQT_XRC;
			attr.cq = cq;
			attr.xrcd = fake.ops.open_xrcd(ctx, &(struct ibv_xrcd_init_attr){
				.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
				.fd = -1,
			});
		}
		srq = fake.ops.create_srq_ex(ctx, &attr);
		ktap_ok(srq);
		ktap_eq(fake.ops.post_srq_recv(srq, &wr, &bad_recv), 0);
		send_sge(sge_at(0, 8), IBV_WR_SEND, 0);
		finish_sends();
		poll_empty(ENDLESS);
		ktap_eq(all_reports(), 0);
		ktap_eq(fake.ops.destroy_srq(srq), 0);
		if (xrc)
			ktap_eq(fake.ops.close_xrcd(attr.xrcd), 0);
		close_checked();
		ktap_eq(all_reports(), 0);
	}
}

/* A queue of ibv_create_srq_ex() is checked as one of ibv_create_srq(). */
static void shared_queue_ex(void)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { 4, 3, 0 }, .comp_mask = IBV_SRQ_INIT_ATTR_PD,
	};
	struct ibv_sge sge = { 1, 1, 0x999900 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_srq *srq;

	open_checked("");
	attr.pd = pd;
	srq = fake.ops.create_srq_ex(ctx, &attr);
	ktap_eq(fake.ops.post_srq_recv(srq, &wr, &bad_recv), 0);
	ktap_eq(reports("key-unknown"), 1);
	ktap_eq(fake.ops.destroy_srq(srq), 0);
	close_checked();
	ktap_eq(all_reports(), 1);
}

/* A thread that polls two queues waits for either. */
static void poll_of_two_queues(void)
{
	struct ibv_cq *other;
	struct ibv_wc wc;

	open_checked("");
	other = fake_cq(ctx, 16);
	send_sge(sge_at(0, 8), IBV_WR_SEND, 0);
	finish_sends();
	for (int i = 0; i < ENDLESS; i++) {
		poll_empty(1);
		fake.ops.poll_cq(other, 1, &wc);
	}
	ktap_eq(all_reports(), 0);
	ktap_eq(fake.ops.destroy_cq(other), 0);
	close_checked();
}

static void poll_of_failed_queue_pair(void)
{
	open_checked("");
	send_sge(sge_at(0, 8), IBV_WR_SEND, 0);
	receive_sge(sge_at(0, 8), 1);
	complete_as(7, CAIRN_CQE_SEND, CAIRN_CQE_RETRY_EXC_ERR);
	poll_empty(ENDLESS);
	ktap_eq(all_reports(), 0);
	complete_as(1, CAIRN_CQE_RECV, CAIRN_CQE_WR_FLUSH_ERR);
	poll_empty(ENDLESS);
	ktap_eq(reports("poll-endless"), 1);
	close_checked();
}

static void *other_thread(void *arg)
{
	(void)arg;
	send_sge(sge_at(0, 8), IBV_WR_SEND, IBV_SEND_SIGNALED);
	return NULL;
}

/* While the first thread is in its call. */
static void post_beside(const struct cairn_doorbell *db)
{
	pthread_t thread;

	(void)db;
	fake.on_doorbell = NULL;
	if (pthread_create(&thread, NULL, other_thread, NULL) || pthread_join(thread, NULL))
		abort();
}

static void post_from_two_threads(struct ibv_pd *of)
{
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	qp = fake_qp(of, cq, IBV_QPT_RC, 0);
	*fake_sq(qp)->asleep = 1;
	fake.on_doorbell = post_beside;
	ktap_eq(send_sge(sge_at(0, 8), IBV_WR_SEND, IBV_SEND_SIGNALED), 0);
	ktap_ok(!fake.on_doorbell);
	/* one after the other */
	other_thread(NULL);
}

static void threads_overlap(void)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_parent_domain_init_attr attr = {};

	open_checked("");
	post_from_two_threads(pd);
	ktap_eq(all_reports(), 0);
	attr.pd = pd;
	attr.td = fake.ops.alloc_td(ctx, &td_attr);
	pd = fake.ops.alloc_parent_domain(ctx, &attr);
	post_from_two_threads(pd);
	ktap_eq(reports("threads-overlap"), 1);
	ktap_eq(fake.ops.destroy_qp(qp), 0);
	ktap_eq(fake.ops.dealloc_pd(pd), 0);
	ktap_eq(fake.ops.dealloc_td(attr.td), 0);
	pd = attr.pd;
	qp = fake_qp(pd, cq, IBV_QPT_RC, 0);
	close_checked();
}

/* Return: the exit status of a child that ends at once, or posts. */
static int in_child(bool posts)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child)
		_exit(posts ? send_sge(sge_at(0, 8), IBV_WR_SEND, 0) : 0);
	if (waitpid(child, &status, 0) != child)
		abort();
	return status;
}

static void fork_unprotected(void)
{
	open_checked("");
	fake.fork = IBV_FORK_ENABLED;
	ktap_eq(in_child(false), 0);
	fake.fork = IBV_FORK_UNNEEDED;
	ktap_eq(in_child(false), 0);
	ktap_eq(all_reports(), 0);
	fake.fork = IBV_FORK_DISABLED;
	ktap_eq(in_child(false), 0);
	ktap_eq(reports("fork-unprotected"), 1);
	close_checked();
	/* without regions */
	ktap_eq(in_child(false), 0);
	ktap_eq(all_reports(), 1);
	open_checked(",strict");
	fake.fork = IBV_FORK_UNNEEDED;
	ktap_eq(in_child(false), 0);
	ktap_eq(reports("fork-unprotected"), 1);
	close_checked();
}

static void fork_child(void)
{
	open_checked("");
	fake.fork = IBV_FORK_ENABLED;
	ktap_eq(in_child(true), 0);
	ktap_eq(reports("fork-child"), 1);
	close_checked();
}

static void completions_unpolled(void)
{
	struct cairn_cqe cqe = { .wr_id = 7, .opcode = CAIRN_CQE_SEND };

	for (int strict = 0; strict < 2; strict++) {
		open_checked(strict ? ",strict" : "");
		cqe.qpn = qp->qp_num;
		send_sge(sge_at(0, 8), IBV_WR_SEND, IBV_SEND_SIGNALED);
		fake_complete(fake_cq_ring(cq), &cqe);
		close_checked();
		ktap_eq(reports("completions-unpolled"), strict);
	}
}

/* System calls by which this process has written. */
static long writes(void)
{
	FILE *io = fopen("/proc/self/io", "r");
	char line[64];
	long n = -1;

	while (io && fgets(line, sizeof(line), io))
		if (sscanf(line, "syscw: %ld", &n) == 1)
			break;
	if (io)
		fclose(io);
	return n;
}

/* Reports of several processes in one log are not mixed. */
static void report_in_one_piece(void)
{
	long before;

	open_checked("");
	fflush(stdout);
	before = writes();
	send_sge((struct ibv_sge){ 1, 1, 0x999900 }, IBV_WR_SEND, 0);
	ktap_eq(writes() - before, before < 0 ? 0 : 1);
	close_checked();
	ktap_eq(reports("key-unknown"), 1);
}

static void unset_costs_nothing(void)
{
	unsetenv("CAIRN_CHECK");
	open_qp();
	ktap_ok(!to_cqp(qp)->sq.check && !to_cqp(qp)->rq.queue.check && !to_ccq(cq)->watch);
	ktap_ok(to_cqp(qp)->inline_threshold);
	close_qp();
}

static void abort_mode(void)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		ktap_hush();
		open_checked("");
		setenv("CAIRN_CHECK", "abort", 1);
		open_qp();
		send_sge((struct ibv_sge){ 1, 1, 0x999900 }, IBV_WR_SEND, 0);
		_exit(0);
	}
	ktap_eq(waitpid(child, &status, 0), child);
	ktap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static const struct ktap_test tests[] = {
	KTAP(correct_program), KTAP(send_buffer_changed), KTAP(failed_buffer_changed),
	KTAP(inline_buffer_changed), KTAP(left_buffer_changed), KTAP(early_buffer_changed),
	KTAP(key_unknown), KTAP(key_of_other_context), KTAP(key_other_pd), KTAP(key_range), KTAP(key_access),
	KTAP(atomic_alignment), KTAP(region_in_use), KTAP(receives_overlap),
	KTAP(send_queue_overflow), KTAP(resized_send_queue), KTAP(cq_overflow), KTAP(cq_arm_race),
	KTAP(events_unacked), KTAP(use_after_destroy), KTAP(modify_attributes), KTAP(modify_refused),
	KTAP(leak_of_regions), KTAP(region_changed), KTAP(region_released), KTAP(receive_buffer_changed), KTAP(receive_in_remote_memory),
	KTAP(receive_buffer_touched), KTAP(other_faults_are_the_programs), KTAP(buffer_unmapped),
	KTAP(receive_late), KTAP(poll_endless), KTAP(poll_for_what_comes),
	KTAP(poll_for_shared_receives), KTAP(shared_queue_ex),
	KTAP(poll_of_two_queues), KTAP(poll_of_failed_queue_pair), KTAP(threads_overlap),
	KTAP(fork_unprotected), KTAP(fork_child), KTAP(completions_unpolled),
	KTAP(report_in_one_piece), KTAP(unset_costs_nothing), KTAP(abort_mode),
};

int main(void)
{
	int fd = mkstemp(log_path), failed;

	if (fd < 0)
		return 1;
	close(fd);
	failed = ktap_main(tests, sizeof(tests) / sizeof(tests[0]));
	unsetenv("CAIRN_CHECK");
	unlink(log_path);
	return failed;
}
