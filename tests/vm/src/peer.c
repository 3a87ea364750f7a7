// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Questions of what the device at the other end can make durable. Device a asks
 * device b, both cairn's: by the library, by hand with bytes of this program, and
 * with invalid bytes. With the argument "plain" device b asks device a, which does
 * not know the question.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "vt_persist.h"
#include "vt_test.h"

#define LONG_MS		10000	/* the longest time of cairndv_query_peer() */
#define MAD		256
#define GSI_QKEY	0x80010000u
#define ASKERS		300	/* more questions than a device allows at a time */
#define NR(array)	(sizeof(array) / sizeof((array)[0]))

static struct vt_dev da, db;
static struct vt_end a, b;

static void open_ends(void)
{
	struct vt_opts opts = VT_OPTS;

	opts.timeout = 19;
	must(!vt_end_create(&a, &da, &opts, 4096));
	must(!vt_end_create(&b, &db, &opts, 4096));
}

static void close_ends(void)
{
	vt_end_destroy(&a);
	vt_end_destroy(&b);
}

/* The answer to @end equals the attributes of the other device. */
static void expect_known(struct vt_end *end, const struct vt_dev *peer)
{
	struct cairndv_device_attr want;
	struct cairndv_peer_attr got;

	must(!cairndv_query_device(peer->ctx, &want, sizeof(want)));
	memset(&got, 0xff, sizeof(got));
	if (!ktap_eq(cairndv_query_peer(end->qp, &got, sizeof(got), LONG_MS),
		     0))
		return;
	ktap_eq(got.known, 1);
	ktap_eq(got.persist_domains, want.persist_domains);
	ktap_eq(got.abilities, CAIRNDV_PEER_PERSIST_IMM);
	ktap_eq(got.persist_atomic_unit, want.persist_atomic_unit);
	ktap_eq(got.max_persist_outstanding, want.max_persist_outstanding);
	ktap_eq(got.max_persist_msg, want.max_persist_msg);
}

static void both_ways(void)
{
	u64 asked = vt_counter(&da, "peer_queries");

	open_ends();
	must(!vt_connect(&a, &b));
	expect_known(&a, &db);
	expect_known(&b, &da);
	ktap_eq(vt_counter(&da, "peer_queries"), asked + 1);
	close_ends();
}

static void ipv6(void)
{
	struct vt_dev v4[2] = { da, db };

	must(!vt_open(&da, vt_name_a(), VT_IPV6, -1));
	must(!vt_open(&db, vt_name_b(), VT_IPV6, -1));
	both_ways();
	vt_close(&da);
	vt_close(&db);
	da = v4[0];
	db = v4[1];
}

static int peer_ask(struct ibv_qp *qp, uint32_t ms)
{
	struct cairndv_peer_attr got;

	return cairndv_query_peer(qp, &got, sizeof(got), ms);
}

static void refused(void)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end ud;

	open_ends();
	ktap_eq(peer_ask(a.qp, 100), EINVAL);
	must(!vt_to_init(&a));
	ktap_eq(peer_ask(a.qp, 100), EINVAL);
	must(!vt_to_state(a.qp, IBV_QPS_RESET));
	must(!vt_connect(&a, &b));
	ktap_eq(peer_ask(a.qp, 0), EINVAL);
	ktap_eq(peer_ask(a.qp, CAIRNDV_PEER_TIMEOUT_MAX + 1), EINVAL);
	must(!vt_to_state(a.qp, IBV_QPS_ERR));
	ktap_eq(peer_ask(a.qp, 100), EINVAL);
	close_ends();
	opts.type = IBV_QPT_UD;
	must(!vt_end_create(&ud, &da, &opts, 4096));
	must(!vt_to_init(&ud) && !vt_to_rtr(&ud, &ud));
	ktap_eq(peer_ask(ud.qp, 100), EINVAL);
	vt_end_destroy(&ud);
}

/* --- no answer -------------------------------------------------------------- */

/* 10.77.0.99 does not exist; its neighbour entry has b's MAC (persist.sh). */
static int connect_to_nobody(struct vt_end *end)
{
	struct vt_dev absent = db;
	struct vt_end peer = b;

	absent.gid.raw[15] = 99;
	peer.dev = &absent;
	return vt_to_init(end) ?: vt_to_rtr(end, &peer);
}

static void no_answer(void)
{
	open_ends();
	must(!connect_to_nobody(&a));
	ktap_eq(peer_ask(a.qp, 200), ETIMEDOUT);
	close_ends();
}

static void *peer_asker(void *arg)
{
	return (void *)(intptr_t)peer_ask(a.qp, vt_ms(1500));
}

/* Pending questions are bounded; further ones fail at once. */
static void many(void)
{
	pthread_t thread[ASKERS];
	int i, refused_ones = 0;
	void *err;

	open_ends();
	must(!connect_to_nobody(&a));
	for (i = 0; i < ASKERS; i++)
		must(!pthread_create(&thread[i], NULL, peer_asker, NULL));
	for (i = 0; i < ASKERS; i++) {
		pthread_join(thread[i], &err);
		refused_ones += (intptr_t)err == EAGAIN;
		ktap_ok((intptr_t)err == EAGAIN ||
			(intptr_t)err == ETIMEDOUT);
	}
	ktap_ok(refused_ones);
	close_ends();
	/* and there is room for questions again */
	both_ways();
}

/* --- connections that ask by themselves --------------------------------------- */

#define DOUBTERS	60
#define DOUBT_ROUNDS	6
#define DOUBTS_AT_ONCE	128	/* of a user, each for 2 s */
#define DOUBTERS_GREEDY	200
#define DOUBTERS_MODEST	8

static void doubt_post(struct vt_end *end)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf, .length = 8, .lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = CAIRNDV_WR_WRITE_PERSIST,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	must(!vt_to_rts(end) && !ibv_post_send(end->qp, &wr, &bad));
}

/* The number of questions, when no more are asked. */
static u64 doubts_asked(void)
{
	u64 asked = vt_counter(&da, "peer_queries"), before;

	do {
		before = asked;
		usleep(vt_ms(4000) * 1000);
		asked = vt_counter(&da, "peer_queries");
	} while (asked != before);
	return asked;
}

/* A process makes a doubt with each connection whose peer says nothing. Each that waits is
 * memory of the kernel.
 */
static void doubts(void)
{
	u64 asked = vt_counter(&da, "peer_queries"), begun, most;
	static struct vt_end doubter[DOUBTERS];
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc;
	int i, round;

	opts.timeout = 1;
	opts.retry_cnt = 0;
	open_ends();
	for (i = 0; i < DOUBTERS; i++)
		must(!vt_end_create(&doubter[i], &da, &opts, 4096));
	begun = vt_now_ms();
	for (round = 0; round < DOUBT_ROUNDS; round++) {
		for (i = 0; i < DOUBTERS; i++) {
			must(!connect_to_nobody(&doubter[i]));
			doubt_post(&doubter[i]);
		}
		for (i = 0; i < DOUBTERS; i++) {
			must(!vt_poll(doubter[i].scq, &wc, 1, vt_ms(20000)));
			must(wc.status == IBV_WC_RETRY_EXC_ERR);
			must(!vt_to_state(doubter[i].qp, IBV_QPS_RESET));
		}
	}
	most = DOUBTS_AT_ONCE * (1 + (vt_now_ms() - begun) / 2000);
	asked = doubts_asked() - asked;
	vt_say("%llu of %d connections asked, at most %llu", asked,
	       DOUBTERS * DOUBT_ROUNDS, most);
	ktap_ok(asked && asked <= most);
	for (i = 0; i < DOUBTERS; i++)
		vt_end_destroy(&doubter[i]);
	close_ends();
	both_ways();
}

/* Set by the child that is another user. */
static int *greed;

static pid_t greedy_start(void (*run)(void))
{
	pid_t child;

	greed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(greed != MAP_FAILED);
	fflush(stdout);
	child = fork();
	must(child >= 0);
	if (child)
		return child;
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534) ||
	    vt_open(&da, vt_name_a(), VT_IPV4, -1) || vt_open(&db, vt_name_b(), VT_IPV4, -1))
		_exit(1);
	run();
	_exit(2);
}

/* Wait until the child has set it. Return: the value. */
static int greedy_told(pid_t child)
{
	u64 end = vt_now_ms() + vt_ms(60000);
	int status;

	while (!__atomic_load_n(greed, __ATOMIC_ACQUIRE)) {
		must(!waitpid(child, &status, WNOHANG) && vt_now_ms() < end);
		usleep(10000);
	}
	return *greed;
}

static void greedy_stop(pid_t child)
{
	int status;

	must(!kill(child, SIGKILL) && waitpid(child, &status, 0) == child);
	munmap(greed, 4096);
}

/* Connect all ends to a silent address again and again, and tell of the first time. */
static void greedy_doubts(void)
{
	static struct vt_end end[DOUBTERS_GREEDY];
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc;
	int i;

	opts.timeout = 1;
	opts.retry_cnt = 0;
	for (i = 0; i < DOUBTERS_GREEDY; i++)
		if (vt_end_create(&end[i], &da, &opts, 4096))
			return;
	open_ends();
	for (;;) {
		for (i = 0; i < DOUBTERS_GREEDY; i++) {
			if (connect_to_nobody(&end[i]))
				return;
			doubt_post(&end[i]);
		}
		for (i = 0; i < DOUBTERS_GREEDY; i++)
			if (vt_poll(end[i].scq, &wc, 1, vt_ms(20000)) ||
			    vt_to_state(end[i].qp, IBV_QPS_RESET))
				return;
		__atomic_store_n(greed, 1, __ATOMIC_RELEASE);
	}
}

/* The connections of a user to silent peers leave questions for those of others. The other
 * end here is a queue pair in RESET: it is silent, and its device answers.
 */
static void doubts_of_others(void)
{
	u64 asked = vt_counter(&db, "peer_questions");
	struct vt_end end[DOUBTERS_MODEST];
	struct vt_opts opts = VT_OPTS;
	struct ibv_wc wc;
	pid_t child;
	int i;

	opts.timeout = 1;
	opts.retry_cnt = 0;
	open_ends();
	for (i = 0; i < DOUBTERS_MODEST; i++) {
		must(!vt_end_create(&end[i], &da, &opts, 4096));
		must(!vt_to_init(&end[i]) && !vt_to_rtr(&end[i], &b));
	}
	child = greedy_start(greedy_doubts);
	greedy_told(child);
	for (i = 0; i < DOUBTERS_MODEST; i++)
		doubt_post(&end[i]);
	asked = vt_counter_reaches(&db, "peer_questions", asked + DOUBTERS_MODEST) - asked;
	vt_say("%llu of %d connections asked beside another user's", asked,
	       DOUBTERS_MODEST);
	ktap_ok(asked >= DOUBTERS_MODEST);
	for (i = 0; i < DOUBTERS_MODEST; i++) {
		must(!waitpid(child, NULL, WNOHANG));
		must(!vt_poll(end[i].scq, &wc, 1, vt_ms(20000)));
		must(wc.status == IBV_WC_RETRY_EXC_ERR);
		vt_end_destroy(&end[i]);
	}
	greedy_stop(child);
	close_ends();
}

/* --- by hand ---------------------------------------------------------------- */

static const u8 question[40] = {
	1, 0x3c, 1, 0x01, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
	0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0xc6, 0x1a, 0x7d,
};

struct hand {
	struct vt_end end;
	struct ibv_ah *ah;
};

/* A datagram queue pair that may use the key of QP 1. */
static void hand_open(struct hand *hand)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = GSI_QKEY,
	};
	struct vt_opts opts = VT_OPTS;

	opts.type = IBV_QPT_UD;
	must(!vt_end_create(&hand->end, &da, &opts, 4096));
	must(!ibv_modify_qp(hand->end.qp, &init, IBV_QP_STATE | IBV_QP_PORT |
			    IBV_QP_PKEY_INDEX | IBV_QP_QKEY));
	must(!vt_to_rtr(&hand->end, &hand->end) && !vt_to_rts(&hand->end));
	hand->ah = vt_ah(&da, &db);
	must(hand->ah);
}

static void hand_close(struct hand *hand)
{
	ibv_destroy_ah(hand->ah);
	vt_end_destroy(&hand->end);
}

/* Received at 2048 on, with the 40 bytes before it. */
static void hand_recv(struct hand *hand)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)hand->end.buf + 2048,
		.length = VT_GRH + MAD, .lkey = hand->end.mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_recv(hand->end.qp, &wr, &bad));
}

static void hand_send(struct hand *hand, const void *mad, u32 len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)hand->end.buf, .length = len,
		.lkey = hand->end.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = hand->ah, .remote_qpn = 1,
			   .remote_qkey = GSI_QKEY },
	}, *bad;
	struct ibv_wc wc;

	memcpy(hand->end.buf, mad, len);
	must(!ibv_post_send(hand->end.qp, &wr, &bad));
	must(!vt_poll(hand->end.scq, &wc, 1, vt_ms(20000)));
}

/* Return: the answer to @mad. */
static const u8 *hand_ask(struct hand *hand, const u8 *mad)
{
	struct ibv_wc wc;

	hand_recv(hand);
	hand_send(hand, mad, MAD);
	must(!vt_poll(hand->end.rcq, &wc, 1, vt_ms(20000)));
	must(wc.status == IBV_WC_SUCCESS && wc.byte_len == VT_GRH + MAD);
	return hand->end.buf + 2048 + VT_GRH;
}

static void by_hand(void)
{
	static const u8 unit_and_more[] = { 0, 0, 0, 8, 0, 0, 0, 64 };
	static const u8 max_msg[] = { 0, 0, 0, 0, 0x80, 0, 0, 0 };
	u64 asked = vt_counter(&db, "peer_questions");
	u8 mad[MAD] = {};
	struct hand hand;
	const u8 *got;

	hand_open(&hand);
	memcpy(mad, question, sizeof(question));
	got = hand_ask(&hand, mad);
	ktap_eq(got[3], 0x81);
	ktap_ok(!memcmp(got + 4, mad + 4, 36));
	ktap_ok(got[43] & 2);			/* every device has host flush */
	ktap_ok(!memcmp(got + 44, unit_and_more, 8));
	ktap_ok(!memcmp(got + 56, max_msg, 8));
	ktap_eq(vt_counter(&db, "peer_questions"), asked + 1);
	/* the answer of a device without the class, and a later version of it */
	mad[2] = 2;
	got = hand_ask(&hand, mad);
	ktap_eq(got[3], 0x81);
	ktap_eq(got[5] & 0x1c, 0x0c);
	ktap_eq(vt_counter(&db, "peer_questions"), asked + 1);
	hand_close(&hand);
}

/* Answers without a question, and noise. */
static void hostile(void)
{
	u64 bad = vt_counter(&db, "peer_bad_answers");
	u8 mad[MAD] = {};
	struct hand hand;
	int i, k;

	hand_open(&hand);
	memcpy(mad, question, sizeof(question));
	for (i = 0; i < 50; i++) {
		mad[3] = 0x81;
		mad[8 + i % 8]++;
		hand_send(&hand, mad, MAD);
	}
	for (i = 0; i < 200; i++) {
		memcpy(mad, question, sizeof(question));
		for (k = 0; k < 3; k++)
			mad[1 + rand() % (MAD - 1)] = rand();
		hand_send(&hand, mad, rand() % 4 ? MAD : 1 + rand() % MAD);
	}
	hand_close(&hand);
	/* all of these were handled when this is answered */
	both_ways();
	ktap_ok(vt_counter_reaches(&db, "peer_bad_answers", bad + 50) >= bad + 50);
}

/* The standard counters, which ib_core reads from the device. */
static void standard_counters(void)
{
	static const char *const names[] = {
		"port_xmit_data", "port_rcv_data", "port_xmit_packets",
		"port_rcv_packets", "port_rcv_errors", "port_xmit_discards",
	};
	char path[200];
	long value;
	size_t i;
	FILE *file;

	for (i = 0; i < NR(names); i++) {
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%s/ports/1/counters/%s",
			 da.name, names[i]);
		file = fopen(path, "r");
		must(file && fscanf(file, "%ld", &value) == 1);
		fclose(file);
		ktap_ok(value >= (i < 4));
	}
}

/* --- a peer that is no cairn device ------------------------------------------ */

static void post_to_a(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)b.buf, .length = 100, .lkey = b.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)a.buf,
			     .rkey = a.mr->rkey },
	}, *bad;

	must(!ibv_post_send(b.qp, &wr, &bad));
}

/* The question is answered, and the connection is not disturbed. */
static void plain_unknown(void)
{
	struct cairndv_peer_attr got, none = {};
	struct ibv_wc wc;

	open_ends();
	must(!vt_connect(&a, &b));
	memset(&got, 0xff, sizeof(got));
	ktap_eq(cairndv_query_peer(b.qp, &got, sizeof(got), LONG_MS), 0);
	ktap_ok(!memcmp(&got, &none, sizeof(got)));
	vt_fill(b.buf, 100, 7);
	post_to_a(IBV_WR_RDMA_WRITE);
	must(!vt_poll(b.scq, &wc, 1, vt_ms(20000)));
	ktap_eq(wc.status, IBV_WC_SUCCESS);
	ktap_ok(vt_check(a.buf, 100, 7) < 0);
	close_ends();
}

/* A program that does not ask learns at once that the peer refuses, not after all
 * retries, each of which takes the ACK timeout. Later requests are flushed.
 */
static void plain_refuses_opcode(enum ibv_wr_opcode opcode)
{
	struct ibv_wc wc[3];
	int i;

	open_ends();
	must(!vt_connect(&a, &b));
	for (i = 0; i < 3; i++)
		post_to_a(opcode);
	must(!vt_poll(b.scq, wc, 3, vt_ms(60000)));
	ktap_eq(wc[0].status, IBV_WC_REM_INV_REQ_ERR);
	ktap_eq(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	ktap_eq(wc[2].status, IBV_WC_WR_FLUSH_ERR);
	ktap_eq(vt_state(b.qp), IBV_QPS_ERR);
	close_ends();
}

static void plain_refuses(void)
{
	plain_refuses_opcode(CAIRNDV_WR_WRITE_PERSIST);
}

static void plain_refuses_immediate(void)
{
	plain_refuses_opcode(CAIRNDV_WR_WRITE_PERSIST_WITH_IMM);
}

static void *greedy_asks(void *unused)
{
	for (;;) {
		int err = peer_ask(a.qp, LONG_MS);

		if (err == EAGAIN || err == EDQUOT) {
			__atomic_store_n(greed, err, __ATOMIC_RELEASE);
			usleep(10000);
		}
	}
	return NULL;
}

/* More questions than a device allows. The error that the user has met is told. */
static void greedy_main(void)
{
	pthread_t thread;

	open_ends();
	if (vt_connect(&a, &b))
		return;
	for (int i = 0; i < ASKERS; i++)
		if (pthread_create(&thread, NULL, greedy_asks, NULL))
			return;
	for (;;)
		pause();
}

/* A user that asks without end leaves questions for others. */
static void one_user(void)
{
	pid_t child;

	must(!cairndv_fault_add(db.ctx, "received:qp=1"));
	open_ends();
	must(!vt_connect(&a, &b));
	child = greedy_start(greedy_main);
	ktap_eq(greedy_told(child), EDQUOT);
	ktap_eq(peer_ask(a.qp, 100), ETIMEDOUT);
	greedy_stop(child);
	must(!cairndv_fault_clear(db.ctx));
	close_ends();
}

#define TESTS(X)							\
	X(both_ways) X(ipv6) X(refused) X(no_answer) X(many) X(one_user) X(doubts) \
	X(doubts_of_others) X(by_hand) X(hostile) X(standard_counters)			\
	X(plain_unknown) X(plain_refuses) X(plain_refuses_immediate)
#define PLAIN	3

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	bool plain = argc > 1 && !strcmp(argv[1], "plain");
	size_t known = NR(tests) - PLAIN;

	if (vt_open(&da, vt_name_a(), VT_IPV4, -1) ||
	    vt_open(&db, vt_name_b(), VT_IPV4, -1)) {
		puts("KTAP version 1\nBail out! no devices");
		return 1;
	}
	if (plain)
		return ktap_main(tests + known, PLAIN, NULL);
	return ktap_main(tests, known, argc > 1 ? argv[1] : NULL);
}
