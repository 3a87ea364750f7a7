// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues and their events. */
#include "conform.h"
#include <fcntl.h>
#include <poll.h>

static void open_with_channels(void)
{
	struct vt_opts opts = opts_of(IBV_QPT_RC);

	opts.channel = true;
	open_ends_with(&opts);
	must(!vt_connect(&a, &b));
}

static bool completions_event(struct ibv_comp_channel *chan)
{
	return vt_event(chan, LONG);
}

static bool no_event(struct ibv_comp_channel *chan)
{
	return !vt_event(chan, BRIEF);
}

STATEMENT(poll_takes_some, "ibv_poll_cq(3)",
	  "A poll returns at most as many completions as were asked for, and 0 from an empty queue.")
{
	struct ibv_wc wc[10];
	int i;

	open_ends(IBV_QPT_RC);
	ktap_eq(ibv_poll_cq(a.scq, 10, wc), 0);
	for (i = 0; i < 6; i++)
		must(!conform_post(i, IBV_WR_RDMA_WRITE, 1));
	must(!vt_poll(a.scq, wc, 1, LONG));
	usleep(BRIEF * 1000);
	ktap_eq(ibv_poll_cq(a.scq, 2, wc), 2);
	ktap_eq(wc[0].wr_id, 1);
	ktap_eq(wc[1].wr_id, 2);
	ktap_eq(ibv_poll_cq(a.scq, 10, wc), 3);
	ktap_eq(ibv_poll_cq(a.scq, 10, wc), 0);
	close_ends();
}

STATEMENT(no_arm_no_event, "ibv_req_notify_cq(3)",
	  "A queue that was not armed gives no event.")
{
	open_with_channels();
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	ktap_ok(no_event(a.schan));
	close_ends();
}

STATEMENT(one_arm_one_event, "ibv_req_notify_cq(3)",
	  "An armed queue gives one event; for the next one it is armed again.")
{
	open_with_channels();
	must(!ibv_req_notify_cq(a.scq, 0));
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	ktap_ok(completions_event(a.schan));
	must(!conform_post(2, IBV_WR_RDMA_WRITE, 1));
	expect_wc(a.scq, 1, IBV_WC_SUCCESS);
	expect_wc(a.scq, 2, IBV_WC_SUCCESS);
	ktap_ok(no_event(a.schan));
	must(!ibv_req_notify_cq(a.scq, 0));
	must(!conform_post(3, IBV_WR_RDMA_WRITE, 1));
	ktap_ok(completions_event(a.schan));
	close_ends();
}

DEVIATION(arm_with_completions, "ibv_req_notify_cq(3)",
	  "The event is for completions that are added after the queue was armed.",
	  "A completion that was not polled when the queue is armed gives an event, as with mlx4 and mlx5: programs that poll only a part rely on it. It comes 0.1 ms later, so that a program that polls all of them gets no extra event.")
{
	open_with_channels();
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	usleep(BRIEF * 1000);
	must(!ibv_req_notify_cq(a.scq, 0));
	ktap_ok(completions_event(a.schan));
	close_ends();
}

/* b armed for solicited events; a sends one with @flags. */
static void completions_solicited(enum ibv_wr_opcode opcode, unsigned int flags, bool wanted)
{
	struct ibv_send_wr wr = { .opcode = opcode, .send_flags = flags }, *bad;

	open_with_channels();
	must(!post_recv(&b, 11, 10));
	must(!ibv_req_notify_cq(b.rcq, 1));
	must(!ibv_post_send(a.qp, &wr, &bad));
	ktap_ok(wanted ? completions_event(b.rchan) : no_event(b.rchan));
	expect_wc(b.rcq, 11, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(solicited_send, "IBTA 11.4.2.2",
	  "A queue that is armed for solicited completions gives an event for a SEND with the solicited bit.")
{
	completions_solicited(IBV_WR_SEND, IBV_SEND_SOLICITED, true);
}

STATEMENT(solicited_write, "IBTA 11.4.2.2",
	  "... and for a WRITE with immediate with the solicited bit.")
{
	completions_solicited(IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SOLICITED, true);
}

STATEMENT(unsolicited_send, "IBTA 11.4.2.2",
	  "... but for no SEND without it.")
{
	completions_solicited(IBV_WR_SEND, 0, false);
}

STATEMENT(errors_are_solicited, "IBTA 11.4.2.2",
	  "... and for a completion with an error.")
{
	open_with_channels();
	must(!post_recv(&b, 11, 10));
	must(!ibv_req_notify_cq(b.rcq, 1));
	must(!vt_to_state(b.qp, IBV_QPS_ERR));
	ktap_ok(completions_event(b.rchan));
	close_ends();
}

STATEMENT(any_overrides_solicited, "IBTA 11.4.2.2",
	  "Armed for all and then for solicited completions a queue stays armed for all.")
{
	open_with_channels();
	must(!post_recv(&b, 11, 10));
	must(!ibv_req_notify_cq(b.rcq, 0) && !ibv_req_notify_cq(b.rcq, 1));
	must(!conform_post(1, IBV_WR_SEND, 1));
	ktap_ok(completions_event(b.rchan));
	close_ends();
}

STATEMENT(event_names_queue, "ibv_get_cq_event(3)",
	  "An event of a channel names its completion queue and the queue's context.")
{
	struct ibv_cq *cq;
	void *context;

	open_with_channels();
	must(!ibv_req_notify_cq(a.scq, 0));
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	must(!ibv_get_cq_event(a.schan, &cq, &context));
	ktap_ok(cq == a.scq && context == &a);
	ibv_ack_cq_events(cq, 1);
	close_ends();
}

STATEMENT(channel_without_blocking, "ibv_get_cq_event(3)",
	  "With O_NONBLOCK a channel without an event gives EAGAIN.")
{
	struct ibv_cq *cq;
	void *context;

	open_with_channels();
	must(!fcntl(a.schan->fd, F_SETFL, O_NONBLOCK));
	errno = 0;
	ktap_eq(ibv_get_cq_event(a.schan, &cq, &context), -1);
	ktap_eq(errno, EAGAIN);
	close_ends();
}

STATEMENT(channel_is_in_use, "ibv_create_comp_channel(3)",
	  "A channel of a completion queue is not destroyed: EBUSY.")
{
	open_with_channels();
	ktap_eq(ibv_destroy_comp_channel(a.schan), EBUSY);
	close_ends();
}

STATEMENT(events_of_destroyed_queue, "ibv_destroy_cq(3)",
	  "A destroyed queue leaves no event in its channel.")
{
	struct pollfd poll_fd;

	open_with_channels();
	must(!ibv_req_notify_cq(a.scq, 0));
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	poll_fd = (struct pollfd){ .fd = a.schan->fd, .events = POLLIN };
	must(poll(&poll_fd, 1, LONG) == 1);
	must(!ibv_destroy_qp(a.qp));
	a.qp = NULL;
	must(!ibv_destroy_cq(a.scq));
	a.scq = NULL;
	ktap_eq(poll(&poll_fd, 1, BRIEF), 0);
	close_ends();
}

STATEMENT(resize_keeps_completions, "ibv_resize_cq(3)",
	  "A resize keeps completions that were not polled, in order.")
{
	int i;

	open_ends(IBV_QPT_RC);
	for (i = 0; i < 20; i++)
		must(!conform_post(i, IBV_WR_RDMA_WRITE, 1));
	usleep(BRIEF * 1000);
	ktap_eq(ibv_resize_cq(a.scq, 2000), 0);
	ktap_ok(a.scq->cqe >= 2000);
	for (i = 0; i < 20; i++)
		expect_wc(a.scq, i, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(resize_below_content, "ibv_resize_cq(3)",
	  "A resize to less than the queue holds is refused, and nothing is lost.")
{
	int i;

	open_ends(IBV_QPT_RC);
	for (i = 0; i < 40; i++)
		must(!conform_post(i, IBV_WR_RDMA_WRITE, 1));
	usleep(2 * BRIEF * 1000);
	ktap_eq(ibv_resize_cq(a.scq, 4), EINVAL);
	for (i = 0; i < 40; i++)
		expect_wc(a.scq, i, IBV_WC_SUCCESS);
	close_ends();
}

STATEMENT(one_queue_for_two, "IBTA 10.2",
	  "One completion queue may serve several queue pairs; a completion has the number of its own.")
{
	struct vt_opts o = opts_of(IBV_QPT_RC), plain = o;
	struct ibv_send_wr wr = { .wr_id = 2, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct vt_end c, d;
	struct ibv_wc wc;
	int i;

	open_ends(IBV_QPT_RC);
	o.send_cq = a.scq;
	must(!vt_end_create(&c, &dev[0], &o, BUF));
	must(!vt_end_create(&d, &dev[1], &plain, BUF));
	must(!vt_connect(&c, &d));
	must(!conform_post(1, IBV_WR_RDMA_WRITE, 1));
	must(!ibv_post_send(c.qp, &wr, &bad));
	for (i = 0; i < 2; i++) {
		wc = next_wc(a.scq);
		ktap_eq(wc.status, IBV_WC_SUCCESS);
		ktap_eq(wc.qp_num, wc.wr_id == 1 ? a.qp->qp_num : c.qp->qp_num);
	}
	vt_end_destroy(&c);
	vt_end_destroy(&d);
	close_ends();
}
