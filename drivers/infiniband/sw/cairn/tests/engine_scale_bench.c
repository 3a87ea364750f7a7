// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * More QPs than the module could create here: the module's engine, scheduler and packet
 * code with up to 2^20 QPs and messages of 64 bytes at random QPs.
 *
 * A QP is connected to itself, so it is both ends. As in the module, 64 messages are
 * posted, the lane selects QPs ahead and serves them, and their packets are one train.
 * The receiver looks QPs up four packets ahead, and the answers are one train again. The
 * stack, locks, completion queues and the table of regions are missing.
 *
 * For each number of QPs it prints the nanoseconds for a message: as the module
 * prefetches, without prefetching, and with the payload prefetched, too. Built with
 * -DCOUNT_LINES it counts cache lines instead, of the memory that grows with the number
 * of QPs: -fsanitize=thread makes the compiler report each access of the engine. The
 * scheduler's bitmap does not count. It does so for QPs without a limit and for limited
 * QPs. These get four messages at a time, of which two may be sent; the others wait for
 * a deadline, as in the lane's timer queue, and are read from the ring again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/prefetch.h>
#include "engine/comp_rx.h"
#include "engine/env.h"
#include "engine/fifo.h"
#include "engine/pace.h"
#include "engine/req_record.h"
#include "engine/requester.h"
#include "engine/responder.h"
#include "engine/sched.h"
#include "sim/rand.h"
#include "wire/icrc.h"
#include "icrc_headers.h"

#define MAX_QPS		(1u << 20)
#define BATCH		64
#define BYTES		64
#define DEPTH		8	/* units of a send ring, and records */
#define FLOW		1
#define AHEAD		4	/* packets that the receiver looks ahead */
#define BEHIND		2	/* packets that it looks ahead for the second step */
#define PACKET		128
#define FIRST_QPN	16
#define RUN_NS		20000000ULL
#define ROUNDS		21
/* Two messages in a millisecond, with at most two at once. */
#define LIMIT_KBPS	1536
#define LIMIT_BURST	292
#define LIMIT_POSTS	4

struct bench_qp {
	struct cairn_qpc c;
	u8 ring[DEPTH * CAIRN_UNIT_SIZE] __aligned(CAIRN_LINE);
	struct cairn_swr swr[DEPTH] __aligned(CAIRN_LINE);
	struct cairn_rdres rd[1];
	u32 tail;
	bool waits;
	u8 ext[sizeof(struct cairn_latency) + CAIRN_UNIT_SIZE] __aligned(CAIRN_LINE);
	u8 from[BYTES] __aligned(CAIRN_LINE);
	u8 to[BYTES];
};

struct packet {
	u32 len;
	u8 bytes[PACKET];	/* from the BTH on */
};

struct train {
	u32 count;
	struct packet packet[8 * BATCH];
};

static struct bench_qp **table;		/* by QPN */
static u32 qps;
static struct cairn_sched sched;
static struct cairn_fifo fifo;
static struct train requests, answers;
static struct sim_rand rnd = { 1 };
static u64 completed, clock_now = 1;
static bool limited;

/* Ways to fetch ahead. */
static enum scale_fetch { FETCH_MODULE, FETCH_NONE, FETCH_ALL, FETCH_WAYS } fetch;

/* QPs that wait for their rate, by deadline: a binary heap. */
static struct wait {
	u64 until;
	u32 slot;
} *waits;
static u32 num_waits;

static void *must(void *p)
{
	if (p)
		return p;
	perror("memory");
	exit(1);
}

static struct bench_qp *to_qp(struct cairn_qpc *c)
{
	return container_of(c, struct bench_qp, c);
}

static void scale_touch(const void *p, unsigned long n);

/* The three runs of a message. */
static enum { SCALE_POST, SCALE_SEND, SCALE_REQUEST, SCALE_ACK, SCALE_RUNS } scale_run;

#define QP_LINES	(sizeof(struct bench_qp) / CAIRN_LINE)

static struct bench_qp *qp_at(u32 slot)
{
	scale_touch(&table[slot], sizeof(*table));
	return table[slot];
}

/*
 * Cache lines that were touched since the last message batch began.
 */
#define SEEN	(1u << 16)
static uintptr_t arena, arena_end;
static u64 lines;

#ifdef COUNT_LINES
static uintptr_t seen[SEEN];
static u32 seen_at[SEEN], generation = 1;

/* Return: false if it was touched before. */
static bool touch_line(uintptr_t line)
{
	u32 i = (u32)(line * 0x9e3779b1u >> 16) % SEEN;

	for (; seen_at[i] == generation; i = (i + 1) % SEEN)
		if (seen[i] == line)
			return false;
	seen[i] = line;
	seen_at[i] = generation;
	lines++;
	return true;
}

/* Lines of the QP that the runs of one kind touch, for scripts/bench/vectors. */
static struct listed {
	u32 runs;		/* that touched the line */
	bool written;
	bool ahead;		/* was fetched ahead */
	u64 bytes;		/* a bit for each byte that was touched */
	const void *from;	/* an instruction behind the first access */
} listed[SCALE_RUNS][QP_LINES];

static void list_line(uintptr_t at, unsigned long n, bool fresh, bool write,
		      const void *from)
{
	uintptr_t off = (at - arena) % sizeof(struct bench_qp);
	struct listed *line = &listed[scale_run][off / CAIRN_LINE];

	line->runs += fresh;
	line->written |= write;
	line->bytes |= (n < 64 ? BIT_ULL(n) - 1 : ~0ULL) << off % CAIRN_LINE;
	if (!line->from)
		line->from = from;
}

static void touch_from(const void *p, unsigned long n, bool write,
		       const void *from)
{
	uintptr_t at = (uintptr_t)p, end = at + n, next;

	if (at < arena || end > arena_end)
		return;
	for (; at < end; at = next) {
		bool fresh = touch_line(at / CAIRN_LINE);

		next = min_t(uintptr_t, end, ALIGN_DOWN(at, CAIRN_LINE) + CAIRN_LINE);
		if (at < arena + qps * sizeof(struct bench_qp))
			list_line(at, next - at, fresh, write, from);
	}
}

static void scale_touch(const void *p, unsigned long n)
{
	touch_from(p, n, false, NULL);
}

/* Which runs the contexts are fetched for. */
static u32 ahead_of;

void cairn_shim_prefetch(const void *p)
{
	uintptr_t off = ((uintptr_t)p - arena) % sizeof(struct bench_qp);

	listed[ahead_of][off / CAIRN_LINE].ahead = true;
}

/* Functions that the compiler calls, see -fsanitize=thread. */
#define HOOK(name, n, write) \
	void name(void *p); \
	void name(void *p) { touch_from(p, n, write, __builtin_return_address(0)); }
#define HOOKS(n) \
	HOOK(__tsan_read##n, n, false) HOOK(__tsan_write##n, n, true) \
	HOOK(__tsan_unaligned_read##n, n, false) \
	HOOK(__tsan_unaligned_write##n, n, true)
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
void __tsan_read_range(void *p, long n);
void __tsan_read_range(void *p, long n)
{
	touch_from(p, n, false, __builtin_return_address(0));
}

void __tsan_write_range(void *p, long n);
void __tsan_write_range(void *p, long n)
{
	touch_from(p, n, true, __builtin_return_address(0));
}

/* cmpxchg() of the state; the orders change nothing here */
int __tsan_atomic8_compare_exchange_strong(u8 *p, u8 *old, u8 value, int done, int failed);
int __tsan_atomic8_compare_exchange_strong(u8 *p, u8 *old, u8 value, int done, int failed)
{
	touch_from(p, 1, true, __builtin_return_address(0));
	if (*p == *old) {
		*p = value;
		return true;
	}
	*old = *p;
	return false;
}

void __tsan_func_entry(void *p);
void __tsan_func_entry(void *p) {}
void __tsan_func_exit(void *p);
void __tsan_func_exit(void *p) {}
void __tsan_init(void);
void __tsan_init(void) {}

static void forget_lines(void)
{
	generation++;
}
#else
static void scale_touch(const void *p, unsigned long n)
{
}

static void forget_lines(void)
{
}
#endif

static bool list_runs;

static void prefetch_for(u32 kind, const struct cairn_qpc *c)
{
#ifdef COUNT_LINES
	ahead_of = kind;
#endif
	if (kind == SCALE_REQUEST)
		cairn_resp_prefetch(c);
	else
		cairn_req_prefetch(c);
}

/* The second step, when the context has arrived. The module has no address of the payload
 * then.
 */
static void prefetch_behind(u32 kind, struct bench_qp *qp)
{
#ifdef COUNT_LINES
	ahead_of = kind;
#endif
	if (fetch == FETCH_NONE)
		return;
	if (kind == SCALE_SEND)
		cairn_req_prefetch_start(&qp->c);
	else if (kind == SCALE_ACK)
		cairn_req_prefetch_ack(&qp->c);
	if (fetch == FETCH_ALL && kind == SCALE_SEND)
		prefetch(qp->from);
	else if (fetch == FETCH_ALL && kind == SCALE_REQUEST)
		prefetchw(qp->to);
}

static void begin_run(u32 kind)
{
	scale_run = kind;
	if (list_runs)
		forget_lines();
}

/*
 * engine/env.h
 */

/* As net/frame.c: headers, payload, ICRC. */
static const u8 ip[20] = { 0x45, [8] = 64, [9] = 17 };
static const u8 udp[8] = { 0xc0, 0, 0x12, 0xb7 };

void cairn_env_assert_held(struct cairn_qpc *c, enum cairn_side_id side)
{
}

int cairn_env_emit(struct cairn_qpc *c, enum cairn_side_id side,
		   const struct cairn_train *t)
{
	struct train *train = side == CAIRN_REQ ? &requests : &answers;
	struct packet *packet = &train->packet[train->count++];
	u32 len = cairn_pkt_build(packet->bytes, &t->first);
	u32 crc = icrc_headers4(ip, udp, packet->bytes, len);
	__le32 icrc;

	if (t->length) {
		memcpy(packet->bytes + len, to_qp(c)->from, t->length);
		scale_touch(to_qp(c)->from, t->length);
		crc = cairn_icrc_update(crc, packet->bytes + len, t->length);
		len += t->length;
	}
	icrc = cairn_icrc_finish(crc);
	memcpy(packet->bytes + len, &icrc, sizeof(icrc));
	packet->len = len + sizeof(icrc);
	return 0;
}

/* One by one will do: random QPs rarely have two messages at a time. */
u32 cairn_env_emit_messages(struct cairn_qpc *c, const struct cairn_train *t,
			    cairn_part_fn part)
{
	return 0;
}

int cairn_env_place(struct cairn_qpc *c, const struct cairn_span *to,
		    const struct cairn_pkt *pkt, u32 len)
{
	memcpy(to_qp(c)->to, (const u8 *)pkt->cookie + pkt->payload_off, len);
	scale_touch(to_qp(c)->to, len);
	return 0;
}

int cairn_env_sq_tail(struct cairn_qpc *c, u32 *tail)
{
	*tail = to_qp(c)->tail;
	return 0;
}

void cairn_env_sq_prefetch(struct cairn_qpc *c, u32 idx)
{
	prefetch(to_qp(c)->ring + (idx & (DEPTH - 1)) * CAIRN_UNIT_SIZE);
}

void cairn_env_sq_copy(struct cairn_qpc *c, u32 idx, u32 units, void *buf)
{
	u8 *to = buf;
	u32 i;

	for (i = 0; i < units; i++) {
		const u8 *unit = to_qp(c)->ring +
				 ((idx + i) & (DEPTH - 1)) * CAIRN_UNIT_SIZE;

		scale_touch(unit, CAIRN_UNIT_SIZE);
		memcpy(to + i * CAIRN_UNIT_SIZE, unit, CAIRN_UNIT_SIZE);
	}
}

bool cairn_env_complete(struct cairn_qpc *c, enum cairn_side_id side,
			const struct cairn_cqe *cqe)
{
	if (cqe->status) {
		fprintf(stderr, "status %u\n", cqe->status);
		exit(1);
	}
	completed++;
	return true;
}

/* Nothing of this happens to WRITEs that nothing disturbs, or it is no work. */
u32 cairn_env_ah_rate(struct cairn_qpc *c, u32 ah) { return 0; }
u32 cairn_env_room(struct cairn_qpc *c) { return U32_MAX; }
void cairn_env_room_end(struct cairn_qpc *c) { }
int cairn_env_place_words(struct cairn_qpc *c, const struct cairn_span *to,
			  const struct cairn_pkt *pkt,
			  struct cairn_words *words) { abort(); }
int cairn_env_place_bytes(struct cairn_qpc *c, const struct cairn_span *to,
			  const void *buf, u32 len) { abort(); }
int cairn_env_check(struct cairn_qpc *c, u32 key, u64 va, u64 len,
		    enum cairn_access access) { return 0; }
int cairn_env_check_write(struct cairn_qpc *c, u32 key, u64 va, u64 len,
			  u8 *durability) { *durability = 0; return 0; }
int cairn_env_check_atomic(struct cairn_qpc *c, u32 key, u64 va,
			   u8 *durability) { abort(); }
void cairn_env_stream_words(void *to, const void *from, u32 num) { abort(); }
void cairn_env_fence(struct cairn_qpc *c) {}
bool cairn_env_fence_later(struct cairn_qpc *c) { abort(); }
bool cairn_env_fence_waits(struct cairn_qpc *c) { return false; }
struct cairn_pending *cairn_env_pending_alloc(struct cairn_qpc *c) { abort(); }
struct cairn_swr *cairn_env_more_records(struct cairn_qpc *c, u32 n) { return NULL; }
void cairn_env_drop_records(struct cairn_qpc *c, struct cairn_swr *swr) { abort(); }
struct cairn_rdres *cairn_env_rd_alloc(struct cairn_qpc *c) { abort(); }
u64 cairn_env_flush_limit(struct cairn_qpc *c, u32 key) { abort(); }
u8 cairn_env_durability(struct cairn_qpc *c, u32 key) { abort(); }
u32 cairn_env_random(struct cairn_qpc *c) { return 0; }
bool cairn_env_faulting(struct cairn_qpc *c, enum cairn_side_id side) { abort(); }
bool cairn_env_late(struct cairn_qpc *c, u64 since, u64 now) { return false; }
void cairn_env_ask_peer(struct cairn_qpc *c) { abort(); }
void cairn_env_started(struct cairn_qpc *c, const struct cairn_swr *swr) { }
int cairn_env_writeback(struct cairn_qpc *c, u32 key, u64 va, u32 len) { abort(); }
int cairn_env_region(struct cairn_qpc *c, u32 key, u64 *va, u64 *len) { abort(); }
int cairn_env_store(struct cairn_qpc *c, const struct cairn_pkt *pkt,
		    enum cairn_access access) { abort(); }
int cairn_env_atomic(struct cairn_qpc *c, const struct cairn_pkt *pkt,
		     u64 *orig, bool writeback) { abort(); }
int cairn_env_invalidate(struct cairn_qpc *c, u32 rkey) { abort(); }
int cairn_env_local(struct cairn_qpc *c,
		    const struct cairn_send_wqe *wqe) { abort(); }
bool cairn_env_invalidated(struct cairn_qpc *c,
			   enum cairn_side_id side) { abort(); }
void cairn_env_grh(const struct cairn_pkt *pkt, u8 *grh) { abort(); }
u16 cairn_env_grh_flags(const struct cairn_pkt *pkt, u16 *vlan) { abort(); }
int cairn_env_hold(struct cairn_qpc *c, const struct cairn_pkt *pkt) { abort(); }
int cairn_env_held(struct cairn_qpc *c, u32 psn,
		   struct cairn_pkt *pkt) { return -ENOENT; }
void cairn_env_drop_held(struct cairn_qpc *c) {}
void cairn_env_sq_release(struct cairn_qpc *c, u32 idx) {}
void cairn_env_sq_prefetch_release(struct cairn_qpc *c) {}
int cairn_env_rq_take(struct cairn_qpc *c, void *buf) { return 0; }
void cairn_env_rq_starved(struct cairn_qpc *c) {}
int cairn_env_take_srq(struct cairn_qpc *c, u32 srqn) { abort(); }
int cairn_env_rq_posted(struct cairn_qpc *c) { return -1; }
void cairn_env_rq_ring_on_post(struct cairn_qpc *c) {}
void cairn_env_async(struct cairn_qpc *c, enum cairn_async event) {}
void cairn_env_kick(struct cairn_qpc *c, enum cairn_side_id side) { abort(); }
void cairn_env_count(struct cairn_qpc *c, enum cairn_counter ctr, u32 n) {}
void cairn_env_tally(struct cairn_qpc *c, enum cairn_tally kind, bool failed) {}

/*
 * One batch, as lane/lane.c and net/rx.c would have it.
 */

/* Return: false when the ring is full. */
static bool scale_post(u32 slot)
{
	struct bench_qp *qp = qp_at(slot);
	struct cairn_send_wqe *wqe = (struct cairn_send_wqe *)
		(qp->ring + (qp->tail & (DEPTH - 1)) * CAIRN_UNIT_SIZE);

	if (qp->tail - qp->c.req.sq_done == DEPTH)
		return false;
	*wqe = (struct cairn_send_wqe){
		.opcode = CAIRN_WQE_WRITE,
		.flags = CAIRN_WQE_SIGNALED,
		.num_sge = 1,
		.units = 1,
		.remote_addr = (uintptr_t)qp->to,
		.rkey = 1,
		.sge[0] = { (uintptr_t)qp->from, BYTES, 1 },
	};
	qp->tail++;
	cairn_sched_set(&sched, slot);
	return true;
}

static void select_ahead(void)
{
	u32 slot;

	while (!cairn_fifo_full(&fifo)) {
		slot = cairn_sched_next(&sched);
		if (slot == CAIRN_SCHED_NONE)
			return;
		cairn_sched_clear(&sched, slot);
		if (fetch != FETCH_NONE)
			prefetch_for(SCALE_SEND, &qp_at(slot)->c);
		cairn_fifo_push(&fifo, slot);
	}
}

static void wait_push(u32 slot, u64 until)
{
	u32 i = num_waits++;

	for (; i && waits[(i - 1) / 2].until > until; i = (i - 1) / 2)
		waits[i] = waits[(i - 1) / 2];
	waits[i] = (struct wait){ until, slot };
}

static u32 wait_pop(void)
{
	struct wait last = waits[--num_waits];
	u32 slot = waits[0].slot, i = 0, k;

	while ((k = 2 * i + 1) < num_waits) {
		k += k + 1 < num_waits && waits[k + 1].until < waits[k].until;
		if (waits[k].until >= last.until)
			break;
		waits[i] = waits[k];
		i = k;
	}
	waits[i] = last;
	return slot;
}

/* The scheduler gets those whose time has come. */
static void expire_waits(void)
{
	while (num_waits && waits[0].until <= clock_now) {
		u32 slot = wait_pop();

		table[slot]->waits = false;
		cairn_sched_set(&sched, slot);
	}
}

static void look_whether_it_waits(struct bench_qp *qp, u32 slot)
{
	u64 until = cairn_paced_until(&qp->c, CAIRN_REQ);

	if (!until || qp->waits)
		return;
	qp->waits = true;
	wait_push(slot, until);
}

static void scale_serve(void)
{
	struct bench_qp *qp;
	u32 slot;

	for (select_ahead(); cairn_fifo_pop(&fifo, &slot); select_ahead()) {
		struct cairn_budget budget = { 64, 65536 };

		if (fetch != FETCH_NONE && cairn_fifo_len(&fifo)) {
			qp = qp_at(cairn_fifo_peek(&fifo, 0));
			prefetch_behind(SCALE_SEND, qp);
		}
		begin_run(SCALE_SEND);
		cairn_req_told(&qp_at(slot)->c.req, true);
		cairn_req_run(&qp_at(slot)->c, clock_now, &budget);
		begin_run(SCALE_POST);
		look_whether_it_waits(table[slot], slot);
	}
}

static struct bench_qp *qp_of(const struct packet *packet)
{
	const struct cairn_bth *bth = (const void *)packet->bytes;

	return qp_at((__builtin_bswap32((__force u32)bth->qpn) & CAIRN_24BIT_MASK) - FIRST_QPN);
}

static bool scale_right(const struct packet *packet, u32 head)
{
	u32 covered = packet->len - CAIRN_ICRC_LEN;
	u32 crc = icrc_headers4(ip, udp, packet->bytes, head);
	__le32 icrc;

	crc = cairn_icrc_update(crc, packet->bytes + head, covered - head);
	memcpy(&icrc, packet->bytes + covered, sizeof(icrc));
	return cairn_icrc_finish(crc) == icrc;
}

static void scale_receive(struct train *train, enum cairn_side_id side)
{
	u32 kind = side == CAIRN_REQ ? SCALE_ACK : SCALE_REQUEST, k;

	for (k = 0; k < train->count; k++) {
		struct packet *packet = &train->packet[k];
		struct cairn_budget budget = { 64, 65536 };
		struct cairn_pkt pkt;
		struct cairn_qpc *c;

		if (k + BEHIND < train->count)
			prefetch_behind(kind, qp_of(packet + BEHIND));
		if (fetch != FETCH_NONE && k + AHEAD < train->count)
			prefetch_for(kind, &qp_of(packet + AHEAD)->c);
		if (cairn_pkt_parse(&pkt, packet->bytes, packet->len) ||
		    !scale_right(packet, pkt.payload_off)) {
			fprintf(stderr, "a packet is wrong\n");
			exit(1);
		}
		pkt.cookie = packet->bytes;
		pkt.sender = 0;
		pkt.ce = false;
		pkt.flow = FLOW;
		c = &qp_of(packet)->c;
		begin_run(kind);
		if (side == CAIRN_REQ) {
			cairn_comp_rx(c, &pkt, clock_now);
			cairn_req_told(&c->req, false);
			cairn_req_run(c, clock_now, &budget);
		} else {
			cairn_resp_rx(c, &pkt, clock_now);
			cairn_resp_run(c, clock_now, &budget);
		}
		begin_run(SCALE_POST);
	}
	train->count = 0;
}

static void scale_batch(void)
{
	u32 each = limited ? LIMIT_POSTS : 1, slot = 0, i;

	for (i = 0; i < BATCH; i++) {
		if (i % each == 0)
			slot = sim_below(&rnd, qps);
		scale_post(slot);
	}
	expire_waits();
	scale_serve();
	clock_now += 10000;
	scale_receive(&requests, CAIRN_RESP);
	clock_now += 10000;
	scale_receive(&answers, CAIRN_REQ);
	forget_lines();
}

/* CPU time of this process, as other processes run, too. */
static u64 cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/*
 * Points.
 */

static void connect_qp(struct bench_qp *qp, u32 slot)
{
	struct cairn_qpc *c = &qp->c;
	static struct cairn_cc_params params;

	c->transport = CAIRN_TRANSPORT_RC;
	c->takes = CAIRN_TRANSPORT_RC;
	c->max_send_sge = 1;
	c->max_recv_sge = 1;
	c->max_inline = 64;
	c->qpn = FIRST_QPN + slot;
	c->sq_depth = DEPTH;
	c->max_msg = 1u << 30;
	c->cc.params = &params;
	c->cc.line_kbps = 100000000;
	c->max_units = 1;
	c->max_records = DEPTH;
	c->req.ext = (void *)qp->ext;
	c->req.swr = qp->swr;
	c->req.swr_mask = DEPTH - 1;
	c->resp.replay.res = qp->rd;
	c->resp.replay.mask = 0;
	cairn_qpc_init(c);
	c->attrs = (struct cairn_qp_attrs){
		.dqpn = c->qpn,
		.pkey = CAIRN_PKEY_DEFAULT,
		.pmtu = limited ? 256 : 4096,
		.rate = {
			.kbps = limited ? LIMIT_KBPS : 0,
			.burst = LIMIT_BURST,
		},
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.remote_write = true,
	};
	c->has_srq = true;
	cairn_resp_set_psn(c, 0);
	cairn_req_set_psn(c, 0);
	/* as after the first answer */
	c->req.peer_port.sport = FLOW;
	c->req.peer_port.known = true;
	c->req.peer_port.changes = 1;
	c->state = CAIRN_QP_RTS;
}

static void set_up(u8 *memory, u32 n)
{
	size_t bytes = cairn_sched_bytes(n);
	struct bench_qp *qp = (void *)memory;
	u32 i;

	memset(memory, 0, n * (sizeof(*qp) + sizeof(*table)) + bytes);
	table = (void *)(qp + n);
	cairn_sched_init(&sched, n, table + n);
	memset(&fifo, 0, sizeof(fifo));
	num_waits = 0;
	for (i = 0; i < n; i++) {
		table[i] = qp + i;
		connect_qp(qp + i, i);
		forget_lines();
	}
	qps = n;
}

/* Nanoseconds for a message in one round. */
static double scale_measure(enum scale_fetch way)
{
	u64 start, before = completed;
	u32 i;

	fetch = way;
	start = cpu_time();
	while (cpu_time() - start < RUN_NS)
		for (i = 0; i < 32; i++)
			scale_batch();
	return (double)(cpu_time() - start) / (completed - before);
}

static int scale_compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return a < b ? -1 : a > b;
}

/* The least of the rounds for each way, and the medians of ratios to the first way. The
 * ways take turns.
 */
static void __attribute__((unused)) scale_measure_all(u32 n)
{
	double ns[ROUNDS][FETCH_WAYS], least[FETCH_WAYS], ratio[FETCH_WAYS][ROUNDS];
	u32 round, way;

	for (round = 0; round < ROUNDS; round++)
		for (way = 0; way < FETCH_WAYS; way++) {
			u32 now = (way + round) % FETCH_WAYS;

			ns[round][now] = scale_measure(now);
			if (!round || ns[round][now] < least[now])
				least[now] = ns[round][now];
		}
	for (way = 0; way < FETCH_WAYS; way++) {
		for (round = 0; round < ROUNDS; round++)
			ratio[way][round] = ns[round][way] / ns[round][0];
		qsort(ratio[way], ROUNDS, sizeof(ratio[way][0]), scale_compare);
	}
	printf("%8u %8.1f %8.1f %8.1f %6.2f %6.2f\n", n, least[FETCH_MODULE],
	       least[FETCH_NONE], least[FETCH_ALL],
	       ratio[FETCH_NONE][ROUNDS / 2], ratio[FETCH_ALL][ROUNDS / 2]);
}

static double __attribute__((unused)) count_lines(u32 batches)
{
	u64 before = completed;
	u32 i;

	lines = 0;
	for (i = 0; i < batches; i++)
		scale_batch();
	return (double)lines / (completed - before);
}

#ifdef COUNT_LINES
/* The object of a struct bench_qp at @off. */
static const char *scale_object(size_t off)
{
	return off < offsetof(struct bench_qp, ring) ? "qpc" :
	       off < offsetof(struct bench_qp, swr) ? "ring" :
	       off < offsetof(struct bench_qp, rd) ? "swr" :
	       off < offsetof(struct bench_qp, ext) ? "host" :
	       off < offsetof(struct bench_qp, from) ? "ext" :
	       off < offsetof(struct bench_qp, to) ? "from" : "to";
}

static const char *const run_names[] = { "post", "send", "request", "ack" };

/* Fill @listed. Return: number of messages. */
static u64 list_messages(u8 *memory, u32 n)
{
	u64 before;

	set_up(memory, n);
	count_lines(20);
	memset(listed, 0, sizeof(listed));
	list_runs = true;
	before = completed;
	count_lines(200);
	list_runs = false;
	return completed - before;
}

/* A line of text for each cache line of each kind of run: kind, object, offset in
 * struct bench_qp, messages that touch it, write or read, bytes, instruction.
 */
static void list_all(u8 *memory, u32 n)
{
	double messages = list_messages(memory, n);
	u32 kind, i;

	for (kind = SCALE_SEND; kind < SCALE_RUNS; kind++)
		for (i = 0; i < QP_LINES; i++) {
			const struct listed *line = &listed[kind][i];
			size_t off = i * CAIRN_LINE;

			if (line->runs)
				printf("%s %s %zu %.3f %c %d %#lx\n", run_names[kind],
				       scale_object(off), off, line->runs / messages,
				       line->written ? 'w' : 'r',
				       __builtin_popcountll(line->bytes),
				       (unsigned long)line->from);
		}
}

/* Lines of context, records and WQE's copy that two runs in five touch or more, and that no
 * function of the engine did fetch ahead.
 */
static u32 count_missed(u32 kind, u64 messages)
{
	u32 missed = 0, i;

	for (i = 0; i < QP_LINES; i++) {
		const char *object = scale_object(i * CAIRN_LINE);
		bool counts = !strcmp(object, "qpc") || !strcmp(object, "swr") ||
			      !strcmp(object, "ext");

		missed += counts && listed[kind][i].runs * 5 > messages * 2 &&
			  !listed[kind][i].ahead;
	}
	return missed;
}

/* @points: the number of the last point. */
static void report_missed(u8 *memory, u32 n, u32 points)
{
	u64 messages = list_messages(memory, n);
	u32 kind;

	for (kind = SCALE_SEND; kind < SCALE_RUNS; kind++) {
		u32 missed = count_missed(kind, messages);

		printf("%sok %u - %s: lines that are not fetched ahead: %u\n",
		       missed ? "not " : "", ++points, run_names[kind], missed);
	}
}
#endif

static double __attribute__((unused)) count_limited(u8 *memory, u32 n)
{
	double counted;

	limited = true;
	set_up(memory, n);
	count_lines(200);	/* until as many wait as will */
	counted = count_lines(200);
	limited = false;
	return counted;
}

/* @most: 0, or a bound that makes it a test. */
static void __attribute__((unused)) scale_report(u32 n, double free, double paced,
						 u32 most)
{
	static u32 points;

	if (!most) {
		printf("%8u %8.1f %8.1f\n", n, free, paced);
		return;
	}
	printf("%sok %u - %u QPs: %.1f cache lines a message, limited: %.1f\n",
	       free > most || paced > most ? "not " : "", ++points, n, free,
	       paced);
}

int main(int argc, char **argv)
{
	u32 most = argc > 1 ? strtoul(argv[1], NULL, 0) : MAX_QPS, n;
	size_t bytes = most * (sizeof(struct bench_qp) + sizeof(*table)) +
		       cairn_sched_bytes(most);
	u8 *memory = must(aligned_alloc(4096, ALIGN(bytes, 4096)));
	u32 points __attribute__((unused)) = (31 - __builtin_clz(most)) / 2 - 1;
	double counted __attribute__((unused));

	waits = must(calloc(most, sizeof(*waits)));

	if (argc > 2 && atoi(argv[2]))	/* a point for each power of four */
		printf("KTAP version 1\n1..%d\n", points + SCALE_RUNS - SCALE_SEND);
	cairn_icrc_select(NULL);
	arena = (uintptr_t)memory;
	arena_end = arena + bytes;
#ifdef COUNT_LINES
	if (argc > 2 && !strcmp(argv[2], "list")) {
		list_all(memory, most);
		return 0;
	}
#endif
	for (n = 16; n && n <= most; n *= 4) {
		set_up(memory, n);
#ifdef COUNT_LINES
		counted = count_lines(200);
		scale_report(n, counted, count_limited(memory, n),
			     argc > 2 ? atoi(argv[2]) : 0);
#else
		scale_measure_all(n);
#endif
		fflush(stdout);
	}
#ifdef COUNT_LINES
	if (argc > 2)
		report_missed(memory, min(most, 4096u), points);
#endif
	free(waits);
	free(memory);
	return 0;
}
