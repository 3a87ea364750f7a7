// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queues that grow and shrink: in every state, with other attributes in the
 * same call, and in a storm under load with all contents compared.
 *
 * resize [SECONDS [TEST]]: how long the storm lasts, the only test to run
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/cairn-abi.h>
#include "vt.h"
#include "vt_test.h"

#define LONG	vt_ms(60000)

static struct vt_dev da, db;
static struct vt_end a, b;
static unsigned int storm_s = 8;

static struct vt_opts small_opts(void)
{
	struct vt_opts opts = VT_OPTS;

	opts.cap.max_send_wr = 4;
	opts.cap.max_recv_wr = 4;
	opts.sig_all = true;
	return opts;
}

static void open_pair(void)
{
	struct vt_opts opts = small_opts();

	must(!vt_open(&da, vt_name_a(), VT_IPV4, -1));
	must(!vt_open(&db, vt_name_b(), VT_IPV4, -1));
	must(!vt_end_create(&a, &da, &opts, 65536));
	must(!vt_end_create(&b, &db, &opts, 65536));
}

static void close_pair(void)
{
	vt_end_destroy(&a);
	vt_end_destroy(&b);
	vt_close(&da);
	vt_close(&db);
}

static int post_send(struct ibv_qp *qp, struct ibv_mr *mr, u64 id, u64 off,
		     u32 len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mr->addr + off, .length = len,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND,
	};

	return ibv_post_send(qp, &wr, &bad);
}

static int post_recv(struct ibv_qp *qp, struct ibv_srq *srq, struct ibv_mr *mr,
		     u64 id, u64 off, u32 len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)mr->addr + off, .length = len,
		.lkey = mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
	};

	return srq ? ibv_post_srq_recv(srq, &wr, &bad) :
		     ibv_post_recv(qp, &wr, &bad);
}

static struct ibv_qp_cap cap_now(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	must(!ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
	ktap_ok(!memcmp(&attr.cap, &init.cap, sizeof(init.cap)));
	return init.cap;
}

static int resize_qp(struct ibv_qp *qp, u32 send_wr, u32 recv_wr)
{
	struct ibv_qp_attr attr = {
		.cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr },
	};
	struct ibv_qp_cap cap;
	int err;

	err = ibv_modify_qp(qp, &attr, IBV_QP_CAP);
	if (err)
		return err;
	ktap_ok(attr.cap.max_send_wr >= send_wr);
	ktap_ok(qp->srq || attr.cap.max_recv_wr >= recv_wr);
	cap = cap_now(qp);
	ktap_ok(!memcmp(&attr.cap, &cap, sizeof(cap)));
	return 0;
}

static void advertised(void)
{
	struct ibv_device_attr attr;

	must(!vt_open(&da, vt_name_a(), VT_IPV4, -1));
	must(!ibv_query_device(da.ctx, &attr));
	ktap_ok(attr.device_cap_flags & IBV_DEVICE_RESIZE_MAX_WR);
	ktap_ok(attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	vt_close(&da);
}

/* As many of the largest requests as the device promises. */
static void maximum(void)
{
	struct vt_opts opts = small_opts();
	struct ibv_device_attr attr;
	struct ibv_qp_cap cap;

	must(!vt_open(&da, vt_name_a(), VT_IPV4, -1));
	must(!ibv_query_device(da.ctx, &attr));
	opts.cap.max_send_wr = attr.max_qp_wr;
	opts.cap.max_send_sge = attr.max_sge;
	opts.cap.max_recv_sge = attr.max_sge;
	must(!vt_end_create(&a, &da, &opts, 4096));
	ktap_ok(!resize_qp(a.qp, 16, 0));
	ktap_ok(!resize_qp(a.qp, 0, attr.max_qp_wr));
	cap = cap_now(a.qp);
	ktap_eq(cap.max_send_wr, 16);
	ktap_ok(cap.max_recv_wr >= (u32)attr.max_qp_wr);
	ktap_eq(resize_qp(a.qp, attr.max_qp_wr + 1, 0), EINVAL);
	ktap_eq(resize_qp(a.qp, 0, attr.max_qp_wr + 1), EINVAL);
	vt_end_destroy(&a);
	vt_close(&da);
}

/* Post receives until the queue is full. Return: the next id. */
static u64 fill_recvs(u64 id)
{
	while (!post_recv(b.qp, NULL, b.mr, id, 0, 64))
		id++;
	return id;
}

/* Receives survive from INIT on, sends wait in SQD. */
static void states(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct ibv_wc wc[64];
	u64 i, n;

	open_pair();
	ktap_ok(!resize_qp(a.qp, 8, 8));
	must(!vt_to_init(&a) && !vt_to_init(&b));
	n = fill_recvs(0);
	ktap_ok(!resize_qp(b.qp, 8, 16));
	n = fill_recvs(n);
	ktap_eq(n, 16);
	ktap_eq(resize_qp(b.qp, 0, 8), EINVAL);
	must(!vt_to_rtr(&a, &b) && !vt_to_rtr(&b, &a));
	ktap_ok(!resize_qp(b.qp, 16, 64));
	n = fill_recvs(n);
	ktap_eq(n, 64);
	must(!vt_to_rts(&a) && !vt_to_rts(&b));
	for (i = 0; i < 8; i++)
		must(!post_send(a.qp, a.mr, i, 0, 64));
	must(!vt_poll(a.scq, wc, 8, LONG));
	must(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE));
	while (!post_send(a.qp, a.mr, i, 0, 64))
		i++;
	ktap_ok(!resize_qp(a.qp, 64, 1));
	while (i < 64 && !post_send(a.qp, a.mr, i, 0, 64))
		i++;
	ktap_eq(i, 64);
	ktap_ok(!resize_qp(a.qp, 128, 32));
	attr.qp_state = IBV_QPS_RTS;
	must(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE));
	must(!vt_poll(a.scq, wc, 56, LONG));
	for (i = 0; i < 56; i++)
		ktap_ok(!wc[i].status && wc[i].wr_id == 8 + i);
	must(!vt_poll(b.rcq, wc, 64, LONG));
	for (i = 0; i < 64; i++)
		ktap_ok(!wc[i].status && wc[i].wr_id == i);
	must(!vt_to_state(a.qp, IBV_QPS_ERR));
	ktap_eq(resize_qp(a.qp, 4, 0), EINVAL);
	must(!vt_to_state(a.qp, IBV_QPS_RESET));
	ktap_ok(!resize_qp(a.qp, 4, 0));
	close_pair();
}

/* A call changes all attributes that it has, or none. */
static void with_others(void)
{
	struct ibv_qp_attr attr = {
		.cap = { .max_send_wr = 32, .max_recv_wr = 32 },
		.min_rnr_timer = 32,
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_cap before, now;

	open_pair();
	must(!vt_connect(&a, &b));
	before = cap_now(a.qp);
	ktap_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP | IBV_QP_MIN_RNR_TIMER),
		EINVAL);
	attr.min_rnr_timer = 5;
	attr.qp_state = IBV_QPS_RTR;
	ktap_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP | IBV_QP_STATE), EINVAL);
	attr.cap.max_send_sge = before.max_send_sge + 1;
	ktap_eq(ibv_modify_qp(a.qp, &attr, IBV_QP_CAP), EINVAL);
	attr.cap.max_send_sge = 0;
	now = cap_now(a.qp);
	ktap_ok(!memcmp(&before, &now, sizeof(now)));
	ktap_ok(!ibv_modify_qp(a.qp, &attr, IBV_QP_CAP | IBV_QP_MIN_RNR_TIMER));
	ktap_eq(attr.cap.max_send_wr, 32);
	ktap_eq(attr.cap.max_send_sge, before.max_send_sge);
	must(!ibv_query_qp(a.qp, &attr, IBV_QP_MIN_RNR_TIMER, &init));
	ktap_eq(attr.min_rnr_timer, 5);
	attr.qp_state = IBV_QPS_SQD;
	attr.cap.max_send_wr = 64;
	ktap_ok(!ibv_modify_qp(a.qp, &attr, IBV_QP_CAP | IBV_QP_STATE));
	ktap_eq(vt_state(a.qp), IBV_QPS_SQD);
	ktap_eq(cap_now(a.qp).max_send_wr, 64);
	close_pair();
}

/* A limit that is armed keeps its meaning. */
static void srq_limit(void)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 16, .max_sge = 1 },
	};
	struct ibv_srq_attr attr = { .srq_limit = 12 };
	struct ibv_srq *srq;
	u64 i;

	must(!vt_open(&da, vt_name_a(), VT_IPV4, -1));
	srq = ibv_create_srq(da.pd, &init);
	must(srq);
	for (i = 0; i < 14; i++)
		must(!post_recv(NULL, srq, &(struct ibv_mr){}, i, 0, 0));
	must(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	attr.max_wr = 8;
	ktap_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.max_wr = 64;
	attr.srq_limit = 65;
	ktap_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT),
		EINVAL);
	must(!ibv_query_srq(srq, &attr));
	ktap_eq(attr.max_wr, 16);
	ktap_eq(attr.srq_limit, 12);
	ktap_ok(!vt_async(&da, IBV_EVENT_SRQ_LIMIT_REACHED, 0));
	/* larger, and fewer receives than the limit are posted: an event at once */
	attr.max_wr = 60;
	attr.srq_limit = 50;
	ktap_ok(!ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	ktap_ok(vt_async(&da, IBV_EVENT_SRQ_LIMIT_REACHED, LONG));
	must(!ibv_query_srq(srq, &attr));
	ktap_eq(attr.max_wr, 64);
	ktap_eq(attr.srq_limit, 0);
	for (; i < 64; i++)
		must(!post_recv(NULL, srq, &(struct ibv_mr){}, i, 0, 0));
	ktap_ok(post_recv(NULL, srq, &(struct ibv_mr){}, i, 0, 0) == ENOMEM);
	attr.max_wr = 32;
	ktap_eq(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	ibv_destroy_srq(srq);
	vt_close(&da);
}

/*
 * The storm. Each connection has a thread that sends numbered messages and one
 * that receives and compares them; another changes the size of everything.
 */
#define PAIRS		3	/* the last two share a receive queue */
#define SLOTS		256	/* buffers of an end: what is outstanding */
#define SLOT		2048
#define MAX_SGE		9

struct conn {
	struct vt_end a, b;
	struct conn *pool;	/* the connection whose receive buffers are used */
	struct ibv_srq *srq;
	u64 key;
	_Atomic u64 sent, received;
	/* Free receive buffers, under the lock. */
	pthread_mutex_t lock;
	unsigned int num_free;
	u16 free[SLOTS];
	unsigned int rand;
};

static struct conn conns[PAIRS];
static atomic_bool stop_posting, stop_all;
static atomic_uint wrong;

static unsigned int resize_below(unsigned int *state, unsigned int n)
{
	return rand_r(state) / 7 % n;
}

/* Return: the length of message @n of a connection, which both ends know. */
static u32 message_len(const struct conn *conn, u64 n)
{
	u64 z = (conn->key + n) * 0x9e3779b97f4a7c15ULL;

	z ^= z >> 31;
	return z & 0x300 ? z % 200 : z % SLOT;
}

static void resize_oops(const char *what, u64 n)
{
	if (!wrong++)
		vt_say("%s, message %llu", what, n);
	stop_posting = true;
	stop_all = true;
}

/* One to nine entries, or inline: WQEs of one to three units. */
static int send_message(struct conn *conn, u64 n)
{
	u8 *buf = conn->a.buf + n % SLOTS * SLOT;
	u32 len = message_len(conn, n), done = 0;
	struct ibv_sge sge[MAX_SGE];
	struct ibv_send_wr *bad, wr = {
		.wr_id = n, .sg_list = sge, .opcode = IBV_WR_SEND,
		.send_flags = n % 4 ? 0 : IBV_SEND_SIGNALED,
	};
	int i, parts = 1 + n % MAX_SGE;

	vt_fill(buf, len, conn->key + n);
	if (len <= 128 && n % 3 == 0) {
		wr.send_flags |= IBV_SEND_INLINE;
		parts = 1;
	}
	for (i = 0; i < parts; i++, done += sge[i - 1].length)
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)buf + done,
			.length = i == parts - 1 ? len - done : len / parts,
			.lkey = conn->a.mr->lkey,
		};
	wr.num_sge = parts;
	return ibv_post_send(conn->a.qp, &wr, &bad);
}

/* Completions of every fourth, in order. */
static u64 reap_sends(struct conn *conn, u64 done)
{
	struct ibv_wc wc[16];
	int i, n = ibv_poll_cq(conn->a.scq, 16, wc);

	if (n < 0)
		resize_oops("send queue of completions", n);
	for (i = 0; i < n; i++) {
		if (wc[i].status)
			resize_oops(ibv_wc_status_str(wc[i].status), wc[i].wr_id);
		if (wc[i].wr_id != (done + 3) / 4 * 4)
			resize_oops("completion out of order", wc[i].wr_id);
		done = wc[i].wr_id + 1;
	}
	return done;
}

static void *resize_sender(void *arg)
{
	u64 sent = 0, done = 0, before;
	struct conn *conn = arg;
	unsigned int idle = 0;

	while (!stop_all) {
		before = sent + done;
		while (!stop_posting && sent - done < SLOTS - 4 &&
		       !send_message(conn, sent))
			sent++;
		conn->sent = sent;
		done = reap_sends(conn, done);
		if (stop_posting && done == (sent ? (sent - 1) / 4 * 4 + 1 : 0))
			break;
		if (sent + done == before)
			vt_relax(&idle);
		else
			idle = 0;
	}
	return NULL;
}

static bool post_buffer(struct conn *conn)
{
	struct conn *owner = conn->pool;
	bool posted = false;
	u16 slot;

	pthread_mutex_lock(&owner->lock);
	if (owner->num_free) {
		slot = owner->free[owner->num_free - 1];
		posted = !post_recv(conn->b.qp, owner->srq, owner->b.mr, slot,
				    slot * SLOT, SLOT);
		owner->num_free -= posted;
	}
	pthread_mutex_unlock(&owner->lock);
	return posted;
}

static void take_message(struct conn *conn, const struct ibv_wc *wc)
{
	struct conn *owner = conn->pool;
	u64 n = conn->received;

	if (wc->status || wc->wr_id >= SLOTS ||
	    wc->byte_len != message_len(conn, n) ||
	    vt_check(owner->b.buf + wc->wr_id * SLOT, wc->byte_len,
		     conn->key + n) >= 0) {
		resize_oops("receive", n);
		return;
	}
	conn->received = n + 1;
	pthread_mutex_lock(&owner->lock);
	owner->free[owner->num_free++] = wc->wr_id;
	pthread_mutex_unlock(&owner->lock);
}

static void *resize_receiver(void *arg)
{
	struct conn *conn = arg;
	unsigned int idle = 0;
	struct ibv_wc wc[16];
	int i, n;

	while (!stop_all) {
		while (post_buffer(conn))
			;
		n = ibv_poll_cq(conn->b.rcq, 16, wc);
		if (n < 0)
			resize_oops("receive queue of completions", n);
		for (i = 0; i < n; i++)
			take_message(conn, &wc[i]);
		if (n > 0)
			idle = 0;
		else
			vt_relax(&idle);
	}
	return NULL;
}

/* A random queue and size. Outstanding requests may cause refusals. */
static int resize_something(unsigned int *rand, unsigned int *kind)
{
	struct conn *conn = &conns[resize_below(rand, PAIRS)];
	u32 wr = 1 << resize_below(rand, 10), cqe = SLOTS << resize_below(rand, 4);
	struct ibv_srq_attr attr = { .max_wr = wr };

	*kind = resize_below(rand, 5);
	switch (*kind) {
	case 0:
		return resize_qp(conn->a.qp, wr, 0);
	case 1:
		return conn->srq ? ibv_modify_srq(conn->srq, &attr, IBV_SRQ_MAX_WR) :
		       conn->pool == conn ? resize_qp(conn->b.qp, 0, wr) : 0;
	case 2:
		return resize_qp(conn->b.qp, wr, wr);
	case 3:
		return ibv_resize_cq(conn->a.scq, cqe);
	default:
		return ibv_resize_cq(conn->b.rcq, cqe);
	}
}

static void storm_resize(void)
{
	unsigned int done[5] = {}, refused = 0, kind, rand = 1;
	u64 end = vt_now_ms() + storm_s * 1000;
	int err;

	while (vt_now_ms() < end && !stop_all) {
		err = resize_something(&rand, &kind);
		if (!err)
			done[kind]++;
		else if (err == EINVAL || err == EBUSY)
			refused++;
		else
			resize_oops("resize", err);
	}
	vt_say("resized: %u send, %u receive, %u both, %u and %u completion queues; %u refused",
	       done[0], done[1], done[2], done[3], done[4], refused);
	for (kind = 0; kind < 5; kind++)
		ktap_ok(done[kind]);
	ktap_ok(refused);
}

static void replace_qp(struct conn *conn)
{
	struct ibv_qp_init_attr init = {
		.cap = conn->b.o.cap, .qp_type = IBV_QPT_RC, .send_cq = conn->b.scq,
		.recv_cq = conn->b.rcq, .srq = conn->pool->srq,
	};

	ibv_destroy_qp(conn->b.qp);
	conn->b.qp = ibv_create_qp(db.pd, &init);
	must(conn->b.qp);
}

static void storm_open(void)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = 32, .max_sge = 1 },
	};
	struct vt_opts opts = VT_OPTS;
	unsigned int i, k;

	opts.cap.max_send_wr = 16;
	opts.cap.max_recv_wr = 16;
	opts.cap.max_send_sge = MAX_SGE;
	opts.cap.max_recv_sge = 1;
	opts.cap.max_inline_data = 128;
	opts.cqe = SLOTS;
	must(!vt_open(&da, vt_name_a(), VT_IPV4, -1));
	must(!vt_open(&db, vt_name_b(), VT_IPV4, -1));
	for (i = 0; i < PAIRS; i++) {
		struct conn *conn = &conns[i];

		memset(conn, 0, sizeof(*conn));
		conn->pool = i == 2 ? &conns[1] : conn;
		conn->key = (u64)(i + 1) << 40;
		must(!vt_end_create(&conn->a, &da, &opts, SLOTS * SLOT));
		must(!vt_end_create(&conn->b, &db, &opts, SLOTS * SLOT));
		pthread_mutex_init(&conn->lock, NULL);
		for (k = 0; k < SLOTS; k++)
			conn->free[conn->num_free++] = k;
		if (i == 1)
			conn->srq = ibv_create_srq(db.pd, &init);
		if (i >= 1)
			replace_qp(conn);
		must(!vt_connect(&conn->a, &conn->b));
	}
}

static void storm_close(void)
{
	unsigned int i;

	for (i = 0; i < PAIRS; i++) {
		vt_end_destroy(&conns[i].a);
		vt_end_destroy(&conns[i].b);
	}
	ktap_ok(!ibv_destroy_srq(conns[1].srq));
	vt_close(&da);
	vt_close(&db);
}

static bool all_arrived(void)
{
	unsigned int i;

	for (i = 0; i < PAIRS; i++)
		if (conns[i].received != conns[i].sent)
			return false;
	return true;
}

static void storm(void)
{
	pthread_t send[PAIRS], recv[PAIRS];
	u64 end, total = 0;
	unsigned int i;

	storm_open();
	stop_posting = false;
	stop_all = false;
	for (i = 0; i < PAIRS; i++) {
		pthread_create(&send[i], NULL, resize_sender, &conns[i]);
		pthread_create(&recv[i], NULL, resize_receiver, &conns[i]);
	}
	storm_resize();
	stop_posting = true;
	end = vt_now_ms() + LONG;
	while (!all_arrived() && !stop_all && vt_now_ms() < end)
		usleep(1000);
	ktap_ok(all_arrived());
	/* a sender that waits for completions must end by itself */
	if (!all_arrived())
		stop_all = true;
	for (i = 0; i < PAIRS; i++)
		pthread_join(send[i], NULL);
	/* duplicates would arrive now */
	end = vt_now_ms() + 200;
	while (vt_now_ms() < end)
		usleep(10000);
	stop_all = true;
	for (i = 0; i < PAIRS; i++) {
		pthread_join(recv[i], NULL);
		ktap_eq(conns[i].received, conns[i].sent);
		ktap_ok(conns[i].sent > 100);
		total += conns[i].sent;
	}
	ktap_eq(wrong, 0);
	vt_say("%llu messages in %u s", total, storm_s);
	storm_close();
}

#define TESTS(X) \
	X(advertised) X(maximum) X(states) X(with_others) X(srq_limit)	\
	X(storm)

VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	if (argc > 1)
		storm_s = atoi(argv[1]);
	return vt_run(argc > 2 ? argv[2] : NULL);
}
