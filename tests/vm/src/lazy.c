// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A thread that has rung twice without a sleep, on the only CPU: its posts wait for a poll, and
 * events of other processes wait for a pause.
 */
#include <pthread.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(60000)
#define DEPTH	256
#define POSTS	2000

static struct vt_dev dev[2];
static struct vt_end end_a, end_b;

static void lazy_connect(bool channel)
{
	struct vt_opts opts = VT_OPTS;

	opts.cap.max_send_wr = DEPTH;
	opts.cap.max_recv_wr = DEPTH;
	opts.channel = channel;
	must(!vt_end_create(&end_a, &dev[0], &opts, 4096));
	must(!vt_end_create(&end_b, &dev[1], &opts, 4096));
	must(!vt_connect(&end_a, &end_b));
}

static void lazy_close(void)
{
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

/* WRITE or SEND the first byte of the buffer, which is @n. */
static void lazy_post_as(enum ibv_wr_opcode opcode, u8 n, bool signaled)
{
	struct ibv_sge sge = { (uintptr_t)end_a.buf, 1, end_a.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1,
		.opcode = opcode,
		.send_flags = signaled ? IBV_SEND_SIGNALED : 0,
		.wr.rdma = { (uintptr_t)end_b.buf, end_b.mr->rkey },
	};

	*(u8 *)end_a.buf = n;
	must(!ibv_post_send(end_a.qp, &wr, &bad));
}

static void lazy_post(u8 n, bool signaled)
{
	lazy_post_as(IBV_WR_RDMA_WRITE, n, signaled);
}

/* Three posts: the third waits, if the thread did not sleep. Return: its byte. */
static u8 lazy_post_three(bool signaled)
{
	static u8 n;

	lazy_post(++n, false);
	lazy_post(++n, false);
	lazy_post(++n, signaled);
	return n;
}

static u8 lazy_arrived(void)
{
	return __atomic_load_n((u8 *)end_b.buf, __ATOMIC_RELAXED);
}

static bool lazy_arrives(u8 n)
{
	u64 end = vt_now_ms() + LONG;

	while (lazy_arrived() != n && vt_now_ms() < end)
		;
	return lazy_arrived() == n;
}

/* As a bandwidth test does: as many as the queue takes, then one for each completion. */
static void lazy_stream(enum ibv_wr_opcode opcode)
{
	unsigned int posted = 0, done = 0;
	u64 end = vt_now_ms() + LONG;
	struct ibv_wc wc;
	int n;

	while (done < POSTS && vt_now_ms() < end) {
		while (posted < POSTS && posted - done < 128) {
			lazy_post_as(opcode, (u8)posted, true);
			posted++;
		}
		n = ibv_poll_cq(end_a.scq, 1, &wc);
		must(n >= 0 && (!n || wc.status == IBV_WC_SUCCESS));
		done += (unsigned int)n;
	}
	ktap_eq(done, POSTS);
}

static void stream(void)
{
	lazy_connect(false);
	lazy_stream(IBV_WR_RDMA_WRITE);
	lazy_close();
}

static void lazy_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)end_b.buf, 1, end_b.mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	must(!ibv_post_recv(end_b.qp, &wr, &bad));
}

/* Receive POSTS messages, asleep until there is an event. Return: the number of events. */
static void *lazy_receiver(void *unused)
{
	unsigned long events = 0, got = 0;
	struct ibv_wc wc;

	must(!ibv_req_notify_cq(end_b.rcq, 0));
	while (got < POSTS && vt_event(end_b.rchan, LONG)) {
		events++;
		must(!ibv_req_notify_cq(end_b.rcq, 0));
		while (ibv_poll_cq(end_b.rcq, 1, &wc) == 1) {
			must(wc.status == IBV_WC_SUCCESS);
			got++;
			lazy_receive();
		}
	}
	ktap_eq(got, POSTS);
	return (void *)events;
}

/* A receiver does not take the CPU for each message from a process that posts. */
static void events(void)
{
	pthread_t receiver;
	void *num;

	lazy_connect(true);
	for (int i = 0; i < DEPTH; i++)
		lazy_receive();
	must(!pthread_create(&receiver, NULL, lazy_receiver, NULL));
	lazy_stream(IBV_WR_SEND);
	must(!pthread_join(receiver, &num));
	vt_say("%lu events", (unsigned long)num);
	/* With PREEMPT_RT nothing waits. */
	ktap_ok((unsigned long)num < POSTS / 8 || vt_is_rt());
	lazy_close();
}

/* The process looks at the target's memory, and never polls. */
static void never_polls(void)
{
	lazy_connect(false);
	for (int i = 0; i < 20; i++)
		ktap_ok(lazy_arrives(lazy_post_three(false)));
	lazy_close();
}

/* The process sleeps until it has an event. */
static void sleeps(void)
{
	struct ibv_wc wc;

	lazy_connect(true);
	for (int i = 0; i < 20; i++) {
		must(!ibv_req_notify_cq(end_a.scq, 0));
		lazy_post_three(true);
		must(vt_event(end_a.schan, LONG));
		must(ibv_poll_cq(end_a.scq, 1, &wc) == 1);
		ktap_eq(wc.status, IBV_WC_SUCCESS);
	}
	lazy_close();
}

/* A message that is posted before the queue pair ends is sent. */
static void ends(void)
{
	u8 n;

	for (int i = 0; i < 20; i++) {
		lazy_connect(false);
		n = lazy_post_three(false);
		must(!vt_to_state(end_a.qp, IBV_QPS_ERR));
		ktap_ok(lazy_arrives(n));
		lazy_close();
	}
}

#define TESTS(X)	X(stream) X(events) X(never_polls) X(sleeps) X(ends)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&dev[0], &dev[1], VT_IPV4, argc > 1 ? argv[1] : NULL);
}
