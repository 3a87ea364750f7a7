// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults on demand: each act of a rule, and its effect on a program.
 *
 * wire_faults [POINT]: both devices. "wire_faults hold": leave packets waiting and end.
 */
#include <fcntl.h>
#include <infiniband/cairndv.h>
#include <rdma/cairn-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdlib.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(20000)
#define LEN	256
#define RUN	64	/* messages whose fate is compared */

static struct vt_dev dev_a, dev_b;
static struct vt_end end_a, end_b;

static void faults_connect(enum ibv_qp_type type, struct vt_dev *to)
{
	struct vt_opts opts = VT_OPTS;

	opts.type = type;
	opts.timeout = 14;
	opts.retry_cnt = 3;
	must(!vt_end_create(&end_a, &dev_a, &opts, 4 * LEN));
	must(!vt_end_create(&end_b, to, &opts, 4 * LEN));
	must(!vt_connect(&end_a, &end_b));
}

static void faults_begin(void)
{
	faults_connect(IBV_QPT_RC, &dev_b);
}

static void faults_end(void)
{
	must(!cairndv_fault_clear(dev_a.ctx) && !cairndv_fault_clear(dev_b.ctx));
	vt_end_destroy(&end_a);
	vt_end_destroy(&end_b);
}

static void faults_rule(struct vt_dev *dev, const char *rule)
{
	int err = cairndv_fault_add(dev->ctx, rule);

	if (err)
		ktap_fail("%s: %s", rule, strerror(err));
}

static u64 faults_hits(struct vt_dev *dev)
{
	struct cairndv_fault list[CAIRNDV_FAULT_RULES];
	unsigned int num = CAIRNDV_FAULT_RULES;
	u64 hits = 0;

	must(!cairndv_fault_list(dev->ctx, list, &num));
	for (unsigned int i = 0; i < num; i++)
		hits += list[i].hits;
	return hits;
}

static int faults_post_recv(size_t at)
{
	struct ibv_sge sge = { (uintptr_t)end_b.buf + at, LEN, end_b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = at, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(end_b.qp, &wr, &bad);
}

static int faults_post_send(size_t at, u32 imm)
{
	struct ibv_sge sge = { (uintptr_t)end_a.buf + at, LEN, end_a.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = at, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM, .send_flags = IBV_SEND_SIGNALED,
		.imm_data = imm,
	}, *bad;

	return ibv_post_send(end_a.qp, &wr, &bad);
}

static enum ibv_wc_status faults_status(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	must(!vt_poll(cq, &wc, 1, LONG));
	return wc.status;
}

/* One message from a to b. Return: the status of the send. */
static enum ibv_wc_status faults_message(void)
{
	enum ibv_wc_status status;

	vt_fill(end_a.buf, LEN, 1);
	memset(end_b.buf, 0, LEN);
	must(!faults_post_recv(0) && !faults_post_send(0, 1));
	status = faults_status(end_a.scq);
	if (status == IBV_WC_SUCCESS)
		ktap_eq(faults_status(end_b.rcq), IBV_WC_SUCCESS);
	return status;
}

static void faults_arrives(void)
{
	ktap_eq(faults_message(), IBV_WC_SUCCESS);
	ktap_eq(vt_check(end_b.buf, LEN, 1), -1);
}

static void a_lost_request_is_sent_again(void)
{
	u64 again = vt_counter(&dev_a, "retransmits");

	faults_begin();
	faults_rule(&dev_a, "sent:opcode=SEND_ONLY_IMM,nth=1");
	faults_arrives();
	ktap_eq(faults_hits(&dev_a), 1);
	ktap_ok(vt_counter(&dev_a, "retransmits") > again);
	must(!cairndv_fault_clear(dev_a.ctx));
	faults_rule(&dev_b, "received:opcode=SEND_ONLY_IMM,count=1");
	faults_arrives();
	ktap_eq(faults_hits(&dev_b), 1);
	faults_end();
}

static void a_lost_answer_is_given_again(void)
{
	u64 twice = vt_counter(&dev_b, "duplicate_request");

	faults_begin();
	faults_rule(&dev_b, "sent:opcode=ACK,nth=1");
	faults_arrives();
	ktap_eq(faults_hits(&dev_b), 1);
	ktap_ok(vt_counter(&dev_b, "duplicate_request") > twice);
	faults_end();
}

static void no_answer_ends_the_connection(void)
{
	u64 ended = vt_counter(&dev_a, "retry_exceeded");

	faults_begin();
	faults_rule(&dev_a, "sent:opcode=SEND_ONLY_IMM");
	ktap_eq(faults_message(), IBV_WC_RETRY_EXC_ERR);
	ktap_eq(vt_counter(&dev_a, "retry_exceeded"), ended + 1);
	faults_end();
}

static void duplicates_are_seen_once(void)
{
	u64 twice = vt_counter(&dev_b, "duplicate_request");

	faults_begin();
	faults_rule(&dev_a, "sent:opcode=SEND_ONLY_IMM,act=duplicate");
	faults_arrives();
	ktap_ok(vt_counter_reaches(&dev_b, "duplicate_request", twice + 1) > twice);
	must(!cairndv_fault_clear(dev_a.ctx));
	twice = vt_counter(&dev_b, "duplicate_request");
	faults_rule(&dev_b, "received:opcode=SEND_ONLY_IMM,act=duplicate");
	faults_arrives();
	ktap_ok(vt_counter_reaches(&dev_b, "duplicate_request", twice + 1) > twice);
	faults_end();
}

static void the_icrc_finds_a_changed_byte(void)
{
	u64 errors = vt_counter(&dev_b, "rx_icrc_errors");

	faults_begin();
	faults_rule(&dev_a, "sent:opcode=SEND_ONLY_IMM,act=corrupt,count=1");
	faults_arrives();
	ktap_eq(vt_counter(&dev_b, "rx_icrc_errors"), errors + 1);
	faults_rule(&dev_b, "received:opcode=SEND_ONLY_IMM,act=corrupt,count=1");
	faults_arrives();
	ktap_eq(vt_counter(&dev_b, "rx_icrc_errors"), errors + 2);
	faults_end();
}

static void a_byte_changed_past_the_icrc_arrives(void)
{
	u64 errors = vt_counter(&dev_b, "rx_icrc_errors");

	faults_begin();
	faults_rule(&dev_a, "sent:size=256,act=corrupt-past-icrc,count=1");
	ktap_eq(faults_message(), IBV_WC_SUCCESS);
	ktap_eq(vt_check(end_b.buf, LEN, 1), LEN - 1);
	faults_rule(&dev_b, "received:size=1-,act=corrupt-past-icrc,count=1");
	ktap_eq(faults_message(), IBV_WC_SUCCESS);
	ktap_eq(vt_check(end_b.buf, LEN, 1), LEN - 1);
	ktap_eq(vt_counter(&dev_b, "rx_icrc_errors"), errors);
	faults_arrives();
	faults_end();
}

static void a_delay_is_waited_for(void)
{
	u64 begin;

	faults_begin();
	faults_rule(&dev_a, "sent:opcode=SEND_ONLY_IMM,act=delay,time=30ms");
	begin = vt_now_ms();
	faults_arrives();
	ktap_ok(vt_now_ms() - begin >= 29);
	must(!cairndv_fault_clear(dev_a.ctx));
	faults_rule(&dev_b, "received:opcode=SEND_ONLY_IMM,act=delay,time=30ms");
	begin = vt_now_ms();
	faults_arrives();
	ktap_ok(vt_now_ms() - begin >= 29);
	faults_end();
}

static void faults_post_as(int opcode, u64 id, size_t from)
{
	struct ibv_sge sge = { (uintptr_t)end_a.buf + from, LEN, end_a.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)end_b.buf, end_b.mr->rkey },
	}, *bad;

	must(!ibv_post_send(end_a.qp, &wr, &bad));
}

static void faults_post_write(u64 id, size_t from)
{
	faults_post_as(IBV_WR_RDMA_WRITE, id, from);
}

static enum ibv_wc_status faults_write(void)
{
	faults_post_write(1, 0);
	return faults_status(end_a.scq);
}

/* Two WRITEs to one place. The second arrives first, and is executed second. */
static void faults_swapped(struct vt_dev *dev, const char *rule)
{
	u64 early = vt_counter(&dev_b, "out_of_sequence");
	struct ibv_wc wc;

	faults_begin();
	faults_arrives();	/* before the first answer only one packet is on the way */
	vt_fill(end_a.buf, LEN, 1);
	vt_fill(end_a.buf + LEN, LEN, 2);
	faults_rule(dev, rule);
	faults_post_write(1, 0);
	faults_post_write(2, LEN);
	for (u64 id = 1; id <= 2; id++) {
		must(!vt_poll(end_a.scq, &wc, 1, LONG));
		ktap_eq(wc.status, IBV_WC_SUCCESS);
		ktap_eq(wc.wr_id, id);
	}
	ktap_eq(vt_check(end_b.buf, LEN, 2), -1);
	ktap_eq(faults_hits(dev), 1);
	ktap_ok(vt_counter(&dev_b, "out_of_sequence") > early);
	faults_end();
}

static void the_second_arrives_first(void)
{
	faults_swapped(&dev_a, "sent:opcode=WRITE_ONLY,nth=1,act=reorder");
	faults_swapped(&dev_b, "received:opcode=WRITE_ONLY,nth=1,act=reorder");
}

static const struct faults_nak {
	const char *name;
	enum ibv_wc_status status;
	enum ibv_event_type event;
} faults_naks[] = {
	{ "invalid-request", IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR },
	{ "remote-access", IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR },
	{ "remote-operational", IBV_WC_REM_OP_ERR, IBV_EVENT_QP_FATAL },
};

/* Both ends see what a real refusal of this kind shows them. */
static void a_fatal_nak_ends_the_connection(void)
{
	u64 naks;
	char rule[64];

	for (unsigned int i = 0; i < sizeof(faults_naks) / sizeof(faults_naks[0]); i++) {
		naks = vt_counter(&dev_b, "fatal_naks_sent");
		faults_begin();
		ktap_eq(faults_write(), IBV_WC_SUCCESS);
		snprintf(rule, sizeof(rule), "received:opcode=WRITE,nak=%s", faults_naks[i].name);
		faults_rule(&dev_b, rule);
		vt_fill(end_a.buf, LEN, 1);
		must(!faults_post_recv(0));
		ktap_eq(faults_write(), faults_naks[i].status);
		ktap_eq(faults_status(end_b.rcq), IBV_WC_WR_FLUSH_ERR);
		ktap_ok(vt_async(&dev_b, faults_naks[i].event, LONG));
		ktap_eq(vt_state(end_b.qp), IBV_QPS_ERR);
		ktap_eq(vt_state(end_a.qp), IBV_QPS_ERR);
		ktap_eq(end_b.buf[0] | end_b.buf[LEN - 1], 0);
		ktap_ok(faults_hits(&dev_b) > 0);
		ktap_eq(vt_counter(&dev_b, "fatal_naks_sent"), naks + 1);
		faults_end();
	}
}

static void a_sequence_nak_asks_again(void)
{
	u64 again = vt_counter(&dev_a, "retransmits");

	faults_begin();
	faults_arrives();
	faults_rule(&dev_b, "received:opcode=SEND_ONLY_IMM,nth=1,nak=sequence");
	faults_arrives();
	ktap_eq(faults_hits(&dev_b), 1);
	ktap_ok(vt_counter(&dev_a, "retransmits") > again);
	must(!cairndv_fault_clear(dev_b.ctx));
	faults_rule(&dev_b, "received:nak=sequence");
	ktap_eq(faults_message(), IBV_WC_RETRY_EXC_ERR);
	ktap_ok(faults_hits(&dev_b) > end_a.o.retry_cnt);
	ktap_eq(vt_state(end_b.qp), IBV_QPS_RTS);
	faults_end();
}

/* 491.52 ms: as long as the rule says, whatever the queue pair does. */
static void an_rnr_nak_is_waited_for(void)
{
	u64 naks = vt_counter(&dev_b, "rnr_naks_sent"), begin;

	faults_begin();
	faults_arrives();
	faults_rule(&dev_b, "received:opcode=SEND_ONLY_IMM,rnr=31,count=1");
	begin = vt_now_ms();
	faults_arrives();
	ktap_ok(vt_now_ms() - begin >= 491);
	ktap_eq(vt_counter(&dev_b, "rnr_naks_sent"), naks + 1);
	faults_end();
}

static void rnr_naks_end_a_connection(void)
{
	faults_begin();
	must(!vt_to_state(end_a.qp, IBV_QPS_RESET) && !vt_to_state(end_b.qp, IBV_QPS_RESET));
	end_a.o.rnr_retry = 2;
	must(!vt_connect(&end_a, &end_b));
	faults_rule(&dev_b, "received:rnr=1");
	ktap_eq(faults_message(), IBV_WC_RNR_RETRY_EXC_ERR);
	ktap_ok(faults_hits(&dev_b) >= 3);
	ktap_eq(vt_state(end_b.qp), IBV_QPS_RTS);
	faults_end();
}

/* A packet that arrives ends it, or a call does; at either side. */
static void a_queue_pair_ends(void)
{
	char rule[64];

	faults_begin();
	faults_rule(&dev_b, "received:opcode=SEND_ONLY_IMM,act=qp-fatal,nth=1");
	ktap_eq(faults_message(), IBV_WC_RETRY_EXC_ERR);
	ktap_eq(faults_status(end_b.rcq), IBV_WC_WR_FLUSH_ERR);
	ktap_ok(vt_async(&dev_b, IBV_EVENT_QP_FATAL, LONG));
	ktap_eq(vt_state(end_b.qp), IBV_QPS_ERR);
	faults_end();
	faults_begin();
	faults_rule(&dev_a, "received:opcode=ACK,act=qp-fatal");
	ktap_eq(faults_message(), IBV_WC_WR_FLUSH_ERR);
	ktap_ok(vt_async(&dev_a, IBV_EVENT_QP_FATAL, LONG));
	ktap_eq(vt_state(end_a.qp), IBV_QPS_ERR);
	ktap_eq(vt_state(end_b.qp), IBV_QPS_RTS);
	faults_end();
	faults_begin();
	must(!faults_post_recv(0));
	snprintf(rule, sizeof(rule), "now:act=qp-fatal,qp=%u", end_b.qp->qp_num);
	faults_rule(&dev_b, rule);
	ktap_eq(faults_status(end_b.rcq), IBV_WC_WR_FLUSH_ERR);
	ktap_ok(vt_async(&dev_b, IBV_EVENT_QP_FATAL, LONG));
	ktap_eq(cairndv_fault_add(dev_b.ctx, rule), EINVAL);
	ktap_eq(vt_state(end_a.qp), IBV_QPS_RTS);
	faults_end();
	ktap_eq(cairndv_fault_add(dev_b.ctx, rule), ENOENT);
	ktap_eq(cairndv_fault_add(dev_b.ctx, "now:act=qp-fatal,qp=1"), EINVAL);
}

/* @qpn: 0: of the device */
static void faults_event(const char *name, u32 qpn, enum ibv_event_type type)
{
	char rule[64];

	snprintf(rule, sizeof(rule), qpn ? "now:event=%s,qp=%u" : "now:event=%s", name, qpn);
	faults_rule(&dev_b, rule);
	ktap_ok(vt_async(&dev_b, type, LONG));
}

static const struct faults_event {
	const char *name;
	bool of_qp;
	enum ibv_event_type type;
} faults_events[] = {
	{ "port-down", false, IBV_EVENT_PORT_ERR },
	{ "port-up", false, IBV_EVENT_PORT_ACTIVE },
	{ "device-fatal", false, IBV_EVENT_DEVICE_FATAL },
	{ "pkey-change", false, IBV_EVENT_PKEY_CHANGE },
	{ "lid-change", false, IBV_EVENT_LID_CHANGE },
	{ "sm-change", false, IBV_EVENT_SM_CHANGE },
	{ "client-reregister", false, IBV_EVENT_CLIENT_REREGISTER },
	{ "connection-established", true, IBV_EVENT_COMM_EST },
	{ "sq-drained", true, IBV_EVENT_SQ_DRAINED },
	{ "qp-request-error", true, IBV_EVENT_QP_REQ_ERR },
	{ "qp-access-error", true, IBV_EVENT_QP_ACCESS_ERR },
	{ "last-wqe-reached", true, IBV_EVENT_QP_LAST_WQE_REACHED },
	{ "cq-error", true, IBV_EVENT_CQ_ERR },
};

/* The event only: the connection goes on. */
static void events_are_raised(void)
{
	faults_begin();
	for (unsigned int i = 0; i < sizeof(faults_events) / sizeof(faults_events[0]); i++) {
		const struct faults_event *event = &faults_events[i];

		faults_event(event->name, event->of_qp ? end_b.qp->qp_num : 0, event->type);
	}
	ktap_ok(!vt_async(&dev_a, IBV_EVENT_DEVICE_FATAL, 0));
	ktap_eq(cairndv_fault_add(dev_b.ctx, "now:event=srq-error,qp=2"), ENOENT);
	faults_arrives();
	faults_end();
}

/* Many contexts, which read no events for now. */
#define MANY	300

static struct ibv_context *faults_many[MANY];

static void faults_open_many(struct vt_dev *dev)
{
	for (int i = 0; i < MANY; i++) {
		faults_many[i] = ibv_open_device(dev->ctx->device);
		must(faults_many[i]);
		must(!fcntl(faults_many[i]->async_fd, F_SETFL, O_NONBLOCK));
	}
}

/* Close them. Return: the events that one has got; the last one in @last. */
static u64 faults_close_many(enum ibv_event_type *last)
{
	struct ibv_async_event event;
	u64 got = 0;

	for (; !ibv_get_async_event(faults_many[0], &event); got++) {
		*last = event.event_type;
		ibv_ack_async_event(&event);
	}
	for (int i = 0; i < MANY; i++)
		must(!ibv_close_device(faults_many[i]));
	return got;
}

/* Unread events of a device are charged to no cgroup. Each of many contexts gets one. */
static void many_contexts_bound_the_events(void)
{
	u64 withheld = vt_counter(&dev_b, "async_events_withheld"), begun, got;
	enum ibv_event_type last = 0;

	faults_open_many(&dev_b);
	begun = vt_now_ms();
	for (int i = 0; i < 60; i++) {
		int err = cairndv_fault_add(dev_b.ctx, "now:event=device-fatal");

		if (err && err != EBUSY)
			ktap_fail("event %d: %s", i, strerror(err));
	}
	begun = vt_now_ms() - begun;
	got = faults_close_many(&last);
	ktap_ok(got > 0 && got <= 8 + 1 + begun / MANY);
	ktap_ok(vt_counter(&dev_b, "async_events_withheld") > withheld);
	vt_async(&dev_b, IBV_EVENT_DEVICE_FATAL, 0);
}

static void a_shared_queue_reports(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(dev_b.pd, &init);
	struct ibv_qp_init_attr qp_init = {
		.srq = srq, .qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 1 },
	};
	struct ibv_qp *own;

	must(srq);
	faults_begin();
	qp_init.send_cq = end_b.scq;
	qp_init.recv_cq = end_b.rcq;
	own = ibv_create_qp(dev_b.pd, &qp_init);
	must(own);
	for (int i = 0; i < 2; i++) {
		char rule[64];

		snprintf(rule, sizeof(rule), "now:event=%s,qp=%u", i ? "srq-error" : "srq-limit",
			 own->qp_num);
		faults_rule(&dev_b, rule);
		ktap_ok(vt_async(&dev_b, i ? IBV_EVENT_SRQ_ERR : IBV_EVENT_SRQ_LIMIT_REACHED,
				 LONG));
	}
	must(!ibv_destroy_qp(own) && !ibv_destroy_srq(srq));
	faults_end();
}

/* Bit i: message i has arrived. */
static u64 faults_fates(const char *rule)
{
	struct ibv_wc wc;
	u64 fates = 0;

	faults_connect(IBV_QPT_UC, &dev_b);
	faults_rule(&dev_a, rule);
	for (u32 i = 0; i < RUN; i++)
		must(!faults_post_recv(0));
	for (u32 i = 0; i < RUN; i++) {
		must(!faults_post_send(0, i));
		ktap_eq(faults_status(end_a.scq), IBV_WC_SUCCESS);
	}
	while (!vt_poll(end_b.rcq, &wc, 1, 300))
		fates |= 1ull << wc.imm_data;
	ktap_eq(__builtin_popcountll(fates), RUN - faults_hits(&dev_a));
	faults_end();
	return fates;
}

static void the_same_seed_gives_the_same_run(void)
{
	u64 first = faults_fates("sent:chance=0.5,seed=7");

	ktap_ok(first && ~first);
	ktap_eq(faults_fates("sent:chance=0.5,seed=7"), first);
	ktap_ok(faults_fates("sent:chance=0.5,seed=8") != first);
}

static void packets_to_itself_meet_rules(void)
{
	u64 handed = vt_counter(&dev_a, "loopback_packets");

	faults_connect(IBV_QPT_RC, &dev_a);
	faults_arrives();
	ktap_ok(vt_counter(&dev_a, "loopback_packets") > handed);
	handed = vt_counter(&dev_a, "loopback_packets");
	faults_rule(&dev_a, "received:opcode=SEND_ONLY_IMM,nth=1");
	faults_rule(&dev_a, "sent:opcode=ACK,nth=1");
	faults_arrives();
	ktap_eq(faults_hits(&dev_a), 2);
	ktap_eq(vt_counter(&dev_a, "loopback_packets"), handed);
	must(!cairndv_fault_clear(dev_a.ctx));
	faults_arrives();
	ktap_ok(vt_counter(&dev_a, "loopback_packets") > handed);
	faults_end();
}

/* Only requests for one region, to one address. */
static void keys_and_peers_are_matched(void)
{
	char rule[128];

	faults_begin();
	snprintf(rule, sizeof(rule), "received:key=0x%x,nak=remote-access", end_b.mr->rkey ^ 0x100);
	faults_rule(&dev_b, rule);
	faults_post_write(1, 0);
	ktap_eq(faults_status(end_a.scq), IBV_WC_SUCCESS);
	ktap_eq(faults_hits(&dev_b), 0);
	snprintf(rule, sizeof(rule), "sent:peer=%u.%u.%u.%u,key=%u", dev_b.gid.raw[12],
		 dev_b.gid.raw[13], dev_b.gid.raw[14], dev_b.gid.raw[15] + 1, end_b.mr->rkey);
	faults_rule(&dev_a, rule);
	faults_post_write(2, 0);
	ktap_eq(faults_status(end_a.scq), IBV_WC_SUCCESS);
	ktap_eq(faults_hits(&dev_a), 0);
	must(!cairndv_fault_clear(dev_b.ctx));
	/* the region is revoked for this peer */
	snprintf(rule, sizeof(rule), "received:peer=%u.%u.%u.%u,key=%u,nak=remote-access",
		 dev_a.gid.raw[12], dev_a.gid.raw[13], dev_a.gid.raw[14], dev_a.gid.raw[15],
		 end_b.mr->rkey);
	faults_rule(&dev_b, rule);
	faults_arrives();
	faults_post_write(3, 0);
	ktap_eq(faults_status(end_a.scq), IBV_WC_REM_ACCESS_ERR);
	ktap_eq(faults_hits(&dev_b), 1);
	faults_end();
}

/* The recipes of the manual page. */
static void a_persist_fails_or_is_late(void)
{
	struct vt_opts opts = VT_OPTS;
	u64 begin;

	must(!vt_end_create(&end_a, &dev_a, &opts, 4 * LEN));
	opts.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		      CAIRNDV_ACCESS_PERSISTENT | CAIRNDV_ACCESS_PERSISTENT_EMULATED;
	must(!vt_end_create(&end_b, &dev_b, &opts, 4 * LEN));
	end_b.o.access = end_a.o.access;	/* that of the queue pair */
	must(!vt_connect(&end_a, &end_b));
	faults_rule(&dev_b, "sent:opcode=PERSIST_ACK,act=delay,time=200ms");
	begin = vt_now_ms();
	faults_post_as(CAIRNDV_WR_WRITE_PERSIST, 1, 0);
	ktap_eq(faults_status(end_a.scq), IBV_WC_SUCCESS);
	ktap_ok(vt_now_ms() - begin >= 199);
	must(!cairndv_fault_clear(dev_b.ctx));
	faults_rule(&dev_b, "received:opcode=WRITE_PERSIST,nth=2,nak=remote-operational");
	faults_post_as(CAIRNDV_WR_WRITE_PERSIST, 2, 0);
	ktap_eq(faults_status(end_a.scq), IBV_WC_SUCCESS);
	vt_fill(end_a.buf, LEN, 1);
	faults_post_as(CAIRNDV_WR_WRITE_PERSIST, 3, 0);
	ktap_eq(faults_status(end_a.scq), IBV_WC_REM_OP_ERR);
	ktap_ok(vt_async(&dev_b, IBV_EVENT_QP_FATAL, LONG));
	ktap_eq(end_b.buf[0] | end_b.buf[LEN - 1], 0);
	faults_end();
}

/* Nor do its packets leave the short way. */
static void another_device_meets_no_rule(void)
{
	u64 handed = vt_counter(&dev_b, "loopback_packets");
	struct vt_opts opts = VT_OPTS;

	faults_rule(&dev_a, "sent");
	faults_rule(&dev_a, "received");
	must(!vt_end_create(&end_a, &dev_b, &opts, 4 * LEN));
	must(!vt_end_create(&end_b, &dev_b, &opts, 4 * LEN));
	must(!vt_connect(&end_a, &end_b));
	faults_arrives();
	ktap_ok(vt_counter(&dev_b, "loopback_packets") > handed);
	ktap_eq(faults_hits(&dev_b), 0);
	faults_end();
}

static void times_are_matched(void)
{
	faults_begin();
	faults_rule(&dev_a, "sent:from=3600s");
	faults_rule(&dev_a, "sent:opcode=SEND_ONLY_IMM,until=3600s,count=1");
	faults_arrives();
	ktap_eq(faults_hits(&dev_a), 1);
	ktap_eq(cairndv_fault_add(dev_a.ctx, "sent:from=2s,until=1s"), EINVAL);
	ktap_eq(cairndv_fault_add(dev_a.ctx, "sent:from=1us"), EINVAL);
	ktap_eq(cairndv_fault_add(dev_a.ctx, "sent:key=0"), EINVAL);
	ktap_eq(cairndv_fault_add(dev_a.ctx, "sent:peer=nowhere"), EINVAL);
	faults_end();
}

static void others_meet_no_rule(void)
{
	char rule[64];

	faults_begin();
	snprintf(rule, sizeof(rule), "sent:qp=%u", end_a.qp->qp_num + 1);
	faults_rule(&dev_a, rule);
	faults_arrives();
	ktap_eq(faults_hits(&dev_a), 0);
	ktap_eq(faults_hits(&dev_b), 0);
	snprintf(rule, sizeof(rule), "received:qp=%u,nak=remote-access", end_b.qp->qp_num + 1);
	faults_rule(&dev_b, rule);
	faults_rule(&dev_a, "received:rnr=1");	/* a receives answers only */
	faults_arrives();
	ktap_eq(faults_hits(&dev_b), 0);
	ktap_eq(faults_hits(&dev_a), 0);
	faults_end();
}

static void a_large_message_meets_rules(void)
{
	struct ibv_send_wr wr = {
		.num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct vt_opts opts = VT_OPTS;
	size_t len = 1 << 20;
	struct ibv_sge sge;

	opts.timeout = 14;
	must(!vt_end_create(&end_a, &dev_a, &opts, len));
	must(!vt_end_create(&end_b, &dev_b, &opts, len));
	must(!vt_connect(&end_a, &end_b));
	faults_rule(&dev_a, "sent:chance=0.02,seed=3");
	faults_rule(&dev_a, "sent:chance=0.02,seed=4,act=duplicate");
	faults_rule(&dev_b, "received:chance=0.02,seed=5,act=reorder");
	faults_rule(&dev_b, "received:chance=0.02,seed=6,act=delay,time=2ms");
	faults_rule(&dev_b, "received:chance=0.02,seed=7,act=corrupt");
	vt_fill(end_a.buf, len, 9);
	sge = (struct ibv_sge){ (uintptr_t)end_a.buf, (u32)len, end_a.mr->lkey };
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = (uintptr_t)end_b.buf;
	wr.wr.rdma.rkey = end_b.mr->rkey;
	must(!ibv_post_send(end_a.qp, &wr, &bad));
	ktap_eq(faults_status(end_a.scq), IBV_WC_SUCCESS);
	ktap_eq(vt_check(end_b.buf, len, 9), -1);
	ktap_ok(faults_hits(&dev_a) && faults_hits(&dev_b));
	faults_end();
}

static void wrong_rules_are_refused(void)
{
	static const char *const wrong[] = {
		"", "Sent", "sent:act=", "sent:act=lose", "sent:qp=0", "sent:qp=16777216",
		"sent:nth=0", "sent:every=-1", "sent:chance=0", "sent:chance=1.5", "sent:chance=x",
		"sent:opcode=", "sent:opcode=SENT", "sent:size=2-1", "sent:time=1ms",
		"sent:act=delay", "sent:act=delay,time=11s", "sent:act=delay,time=1h",
		"sent:act=drop drop", "received:seed=-1", "sent:nonsense=1",
		"sent:nak=sequence", "received:nak=", "received:nak=yes", "received:rnr=32",
		"sent:act=qp-fatal", "received:event=port-up", "now", "now:act=drop",
		"now:event=", "now:event=port-up,qp=2", "now:event=cq-error", "now:act=qp-fatal",
		"now:event=port-up,nth=1", "received:nak=sequence,act=drop,nak=no",
	};

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ktap_eq(cairndv_fault_add(dev_a.ctx, wrong[i]), EINVAL);
	for (unsigned int i = 0; i < CAIRNDV_FAULT_RULES; i++)
		faults_rule(&dev_a, "sent:qp=1,opcode=ACK+SEND,nth=1,every=2,count=3,size=5-6");
	ktap_eq(cairndv_fault_add(dev_a.ctx, "sent"), ENOSPC);
	must(!cairndv_fault_clear(dev_a.ctx));
}

/* Rules of random bytes, not by the library. */
static int faults_add_raw(const struct cairn_fault_rule *rule)
{
	struct ib_uverbs_attr attr = {
		.attr_id = CAIRN_ATTR_ADD_FAULT_RULE, .len = sizeof(*rule),
		.flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)rule,
	};

	return vt_method(dev_a.ctx->cmd_fd, CAIRN_OBJECT_FAULT, CAIRN_METHOD_ADD_FAULT, &attr, 1);
}

static void random_rules_are_refused(void)
{
	unsigned int taken = 0, refused = 0;

	for (unsigned int i = 0; i < 3000; i++) {
		struct cairn_fault_rule rule = {};
		u8 *bytes = (u8 *)&rule;
		int err;

		for (size_t k = 0; k < sizeof(rule); k++)
			bytes[k] = ktap_rand_below(8) ? 0 : (u8)ktap_rand_below(256);
		rule.direction = (u8)ktap_rand_below(5);
		rule.act = (u8)ktap_rand_below(12);
		err = faults_add_raw(&rule);
		taken += !err;
		refused += err == EINVAL;
		if (err && err != EINVAL && err != ENOSPC && err != ENOENT)
			ktap_fail("errno %d", err);
		if (err == ENOSPC)
			must(!cairndv_fault_clear(dev_a.ctx));
	}
	ktap_ok(taken && refused);
	must(!cairndv_fault_clear(dev_a.ctx));
}

#define TESTS(X)				\
	X(a_lost_request_is_sent_again)		\
	X(a_lost_answer_is_given_again)		\
	X(no_answer_ends_the_connection)	\
	X(duplicates_are_seen_once)		\
	X(the_icrc_finds_a_changed_byte)	\
	X(a_byte_changed_past_the_icrc_arrives)	\
	X(a_delay_is_waited_for)		\
	X(the_second_arrives_first)		\
	X(a_fatal_nak_ends_the_connection)	\
	X(a_sequence_nak_asks_again)		\
	X(an_rnr_nak_is_waited_for)		\
	X(rnr_naks_end_a_connection)		\
	X(a_queue_pair_ends)			\
	X(events_are_raised)			\
	X(many_contexts_bound_the_events)	\
	X(a_shared_queue_reports)		\
	X(the_same_seed_gives_the_same_run)	\
	X(packets_to_itself_meet_rules)		\
	X(keys_and_peers_are_matched)		\
	X(a_persist_fails_or_is_late)		\
	X(another_device_meets_no_rule)		\
	X(times_are_matched)			\
	X(others_meet_no_rule)			\
	X(a_large_message_meets_rules)		\
	X(wrong_rules_are_refused)		\
	X(random_rules_are_refused)
VT_TESTS(TESTS)

/* Requests wait at a, answers at b, until the devices end. */
static int faults_hold(void)
{
	int err = vt_open_both(&dev_a, &dev_b, VT_IPV4) ? 0 : EIO;
	struct vt_opts opts = VT_OPTS;

	opts.type = IBV_QPT_UC;
	err = err ? err : vt_end_create(&end_a, &dev_a, &opts, 4 * LEN);
	err = err ? err : vt_end_create(&end_b, &dev_b, &opts, 4 * LEN);
	err = err ? err : vt_connect(&end_a, &end_b);
	err = err ? err : cairndv_fault_add(dev_a.ctx, "sent:act=delay,time=10s,every=2");
	err = err ? err : cairndv_fault_add(dev_b.ctx, "received:act=delay,time=10s");
	for (int i = 0; i < 32 && !err; i++)
		err = faults_post_send(0, 0);
	for (int i = 0; i < 32 && !err; i++)
		err = faults_status(end_a.scq);
	return err ? vt_err("hold: %s", strerror(err)) : 0;
}

/* The netdev goes down and up again and again. The last report is the right one. */
static int faults_flap(void)
{
	int err = vt_open(&dev_a, vt_name_a(), VT_IPV4, -1);
	enum ibv_event_type last = 0;
	u64 begun, end, got;

	if (err)
		return vt_err("flap: %s", strerror(err));
	faults_open_many(&dev_a);
	begun = vt_now_ms();
	for (int i = 0; i < 30; i++)
		must(!system("ip link set $IF_A down; ip link set $IF_A up"));
	end = vt_now_ms() + vt_ms(60000);
	while (!vt_async(&dev_a, IBV_EVENT_PORT_ACTIVE, 100) && vt_now_ms() < end)
		;
	/* A late report of an active port may follow one that was in time. */
	while (vt_async(&dev_a, IBV_EVENT_PORT_ACTIVE, 2 * MANY))
		;
	got = faults_close_many(&last);
	end = vt_now_ms();
	printf("# %llu events in %llu ms, the last %s\n", (unsigned long long)got,
	       (unsigned long long)(end - begun), ibv_event_type_str(last));
	return got > 8 + 1 + (end - begun) / MANY || last != IBV_EVENT_PORT_ACTIVE;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "flap"))
		return faults_flap();
	if (argc > 1 && !strcmp(argv[1], "hold"))
		return faults_hold() != 0;
	return vt_run_on(&dev_a, &dev_b, VT_IPV4, argc > 1 ? argv[1] : NULL);
}
