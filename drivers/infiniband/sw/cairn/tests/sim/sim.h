/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A world for the engine: hosts with registered memory and rings, a network that loses,
 * duplicates, delays and corrupts packets, and a clock that only events move. One seed
 * determines all events.
 *
 *	struct sim *sim = sim_new_at("test", seed);
 *	struct sim_qp *a = sim_qp(sim, 0, &sim_rc), *b = sim_qp(sim, 1, &sim_rc);
 *
 *	sim_connect(a, b, &sim_attrs);
 *	sim_post_send(a, &wr);
 *	sim_run(sim, SIM_SEC);
 *	sim_free(sim);
 *
 * The world checks rules of every run, and remembers the first violation. For example,
 * only the permitted side calls a function of engine/env.h, trains are well formed, and
 * the send ring is released before the completion appears.
 * Every buffer is an allocation of its own with its exact size, so that ASan
 * sees any access outside of it.
 */
#ifndef CAIRN_SIM_H
#define CAIRN_SIM_H

#include <linux/kernel.h>
#include <linux/string.h>
#include "engine/ahead.h"
#include "engine/comp_rx.h"
#include "engine/completer.h"
#include "engine/persist_resp.h"
#include "engine/qp.h"
#include "engine/req_record.h"
#include "engine/requester.h"
#include "engine/responder.h"
#include "engine/sq_resize.h"
#include "lane/room_turn.h"
#include "queue/qicache.h"
#include "sim/rand.h"

#define SIM_US		1000ULL
#define SIM_MS		1000000ULL
#define SIM_SEC		1000000000ULL

#define SIM_HOSTS	3
#define SIM_QPS		16	/* of the whole world */
#define SIM_MRS		512	/* of a host */
#define SIM_CPUS	3	/* of a host */
#define SIM_AHS		8	/* of a host */
#define SIM_ASYNCS	32	/* remembered of a QP */
#define SIM_XSRQS	4	/* of a host */
#define SIM_TALLIES	6

#define SIM_PD		1	/* default protection domain */

/* Bytes before the BTH of a simulated packet: IPv4 and UDP. */
#define SIM_L3_LEN	28

struct sim;
struct sim_qp;
struct sim_held;

struct sim_mr {
	u32 key;
	u32 pd;
	u32 len;
	u32 access;		/* bits 1 << enum cairn_access */
	u64 va;
	u8 *mem;
	u8 persist;		/* enum cairn_persist */
	u64 flush_limit;	/* host flush: ns, 0: none */
	u8 durability;		/* enum cairn_durability */
	u8 *shadow;		/* persistent: contents after a power failure */
	u64 *newest;		/* when each word of the shadow was written */
	u32 placed;		/* the last place that was written */
	bool valid;
	bool remote_inv;	/* a peer may invalidate it */
	bool rebind;		/* a window that may be bound again unchanged */
	bool *here;		/* on demand: present pages; NULL: all, always */
	bool unmapped;		/* faults fail */
};

#define SIM_LOCAL	(1 << CAIRN_ACCESS_LOCAL_READ |		\
			 1 << CAIRN_ACCESS_LOCAL_WRITE)
#define SIM_REMOTE	(1 << CAIRN_ACCESS_REMOTE_READ |	\
			 1 << CAIRN_ACCESS_REMOTE_WRITE |	\
			 1 << CAIRN_ACCESS_REMOTE_ATOMIC)
#define SIM_FLUSH	(1 << CAIRN_ACCESS_FLUSH_GLOBAL |	\
			 1 << CAIRN_ACCESS_FLUSH_PERSISTENT)
#define SIM_ALL		(SIM_LOCAL | SIM_REMOTE)

struct sim_ah {
	bool valid;
	u8 host;
	u32 kbps;		/* its static rate; 0: none */
};

/* An SRQ of XRC; its number is its index plus one. */
struct sim_xsrq {
	struct sim_rq *rq;	/* NULL: there is none */
	u32 pd;
};

/* A cache line that a CPU has written back and not fenced. */
struct sim_line {
	struct sim_mr *mr;
	u32 off;
	u32 len;		/* the last one of a region may be cut short */
	u64 when;
	bool stream;		/* non-temporal stores */
	u8 bytes[CAIRN_LINE];
};

struct sim_cpu {
	struct sim_line *line;
	u32 n, room;
};

/* Packets of UC and UD that have not left the host (lane/room_turn.h). */
struct sim_room {
	struct cairn_room_turns turns;
	u32 byte_ns;		/* of the netdev; 0: nothing is counted */
	u32 used;		/* bytes */
	u32 most;		/* that ever were in it */
	u64 free_at;		/* when all of them have left */
	u64 kept_until;		/* nothing that is sent leaves before */
	u32 dropped;		/* packets, while it was stuck */
	bool timed;		/* cairn_room_turn_deadline() is served */
	bool armed;		/* an event is pending for it */
};

struct sim_host {
	struct sim_room room;
	struct sim_mr *mr[SIM_MRS];
	u32 mrs;
	struct sim_cpu cpu[SIM_CPUS];
	bool unfenced;		/* its CPU has put a fence off */
	struct sim_ah ah[SIM_AHS];
	struct sim_xsrq xsrq[SIM_XSRQS];
	u64 link_free;		/* when the transmitter is idle again */
};

/* Memory that a side needs and that is not present. */
struct sim_odp {
	struct sim_qp *qp;
	struct sim_mr *mr;
	u32 first, last;	/* pages */
	bool busy;
	bool failed;
	u32 asked;		/* pages, in all */
};

/* A completion and when it appeared. */
struct sim_cqe {
	struct cairn_cqe cqe;
	u64 when;
};

struct sim_cq {
	struct sim_cqe *log;
	u32 n;
	u32 room;		/* of the log */
	u32 depth;		/* 0: there is always room */
	u32 polled;
	bool wanted;		/* a completion found no room since */
	u32 overruns;		/* of a QP that works */
};

struct sim_rq {
	u8 *ring;
	u32 depth;		/* units */
	u32 stride;		/* units of one receive */
	u32 head;		/* next unit the device takes */
	u32 tail;		/* next unit the host fills */
	bool shared;
	u32 starved;		/* messages that found no receive */
};

/* A packet as it was sent. */
struct sim_sent {
	struct sim_qp *qp;
	enum cairn_side_id side;
	struct cairn_pkt pkt;
	u64 when;
	bool retransmit;
	u32 train;		/* number of the train */
	bool ect;
};

enum sim_fate {
	SIM_PASS,		/* subject to the fault rates */
	SIM_DROP,
	SIM_DUP,
	SIM_LATE,		/* delayed by faults.late_ns */
	SIM_SURE,		/* arrives regardless of the rates */
};

struct sim_hooks {
	void *arg;
	/* A completion was added. Called within the engine: must not change anything. */
	void (*cqe)(struct sim_qp *qp, enum cairn_side_id side,
		    const struct cairn_cqe *cqe);
	/* A packet is sent. Return: its fate. */
	enum sim_fate (*emit)(struct sim_qp *qp, enum cairn_side_id side,
			      const struct cairn_pkt *pkt);
	/* A good packet arrived and is passed to the engine next. */
	void (*rx)(struct sim_qp *qp, const struct cairn_pkt *pkt);
	/* Return: how a request is refused, as cairn_pkt.refuse; 0: it is not. */
	u8 (*refuse)(struct sim_qp *qp, const struct cairn_pkt *pkt);
};

struct sim_qp_init {
	u8 transport;		/* enum cairn_transport */
	u32 sq_depth;		/* units */
	u32 rq_depth;		/* units */
	u32 rq_stride;
	u32 sq_start;		/* first ring index */
	u32 rq_start;
	bool sig_all;
	bool initiator;		/* XRC: takes no requests */
	u8 max_sge;
	u16 max_inline;
	u32 max_msg;
	u32 rd_slots;		/* READs and atomics kept as responder */
	u32 records;		/* initially; 0: 4 */
	struct sim_rq *srq;
};

extern const struct sim_qp_init sim_rc, sim_uc, sim_ud;
extern const struct sim_qp_init sim_xrc_ini, sim_xrc_tgt;

struct sim_qp {
	struct sim *s;
	u32 host;
	u32 peer;		/* host number of the other end */
	u32 pd;			/* XRC target: of the SRQ that was taken, or 0 */
	struct sim_cq cq[CAIRN_SIDES];
	u8 *sq;
	u32 sq_head;		/* oldest unit in use, as released */
	u32 sq_tail;
	u32 copies;		/* of the send ring */
	u32 copied;		/* units */
	struct cairn_qi_rung rung;	/* pointer of a doorbell, not handled yet */
	struct sim_rq *rq;
	struct sim_rq own_rq;
	struct cairn_ahead wqes;	/* fetched for its turn in a lane */
	bool wqes_wait;		/* ... which has not begun */
	bool rq_rings;		/* posting a receive wakes the responder */
	bool kicked[CAIRN_SIDES];
	u32 kicks[CAIRN_SIDES];	/* by the engine */
	bool mutate;		/* the host overwrites the ring while it is read */
	bool no_memory;		/* allocations fail */
	bool hostile;		/* the ring violates the rules on purpose */
	bool plain;		/* keeps no packets ahead of a gap, as other devices */
	struct sim_held *held;	/* by PSN */
	struct sim_held *in_hand;	/* last result of cairn_env_held() */
	u32 hold_room;		/* packets that may still be kept */
	u32 stuck;		/* deadlines served without progress of time */
	u32 psn;		/* first, as given to sim_connect() */
	u16 sport;		/* UDP source port; 0: SIM_SPORT */
	enum cairn_async async[SIM_ASYNCS];
	u32 asyncs;
	u64 count[CAIRN_CTR_COUNT];
	u32 atomics;		/* executed on behalf of this QP */
	/* Counts of done and of failed work, by bit of enum cairn_tally. */
	u32 tally_done[SIM_TALLIES], tally_failed[SIM_TALLIES];
	u32 peer_asked;		/* questions whether the peer supports WRITE_PERSIST */
	u32 started;		/* work requests, reported by the engine */
	u64 inval_end[CAIRN_SIDES];	/* when the last invalidation that waits ends */
	u32 invals;		/* invalidations that waited */
	struct sim_odp odp[CAIRN_SIDES];
	struct cairn_room_wait room_wait;
	u64 room_sent;		/* bytes of this QP that were counted */
	struct sim_hooks hooks;
	void *flow[CAIRN_SIDES];	/* flow of this side */
	struct cairn_qpc c;	/* last, so that ASan detects an overrun */
};

/* The index of a kind of enum cairn_tally in tally_done and tally_failed. */
static inline int sim_tally(u8 kind)
{
	return __builtin_ctz(kind);
}

/* Rates are per mille. */
struct sim_faults {
	u16 loss;
	u16 dup;
	u16 late;
	u16 corrupt;
	u16 mark;		/* of packets that are ECN-capable */
	u16 split;		/* a train is cut between two packets */
	u32 late_ns;		/* longest extra delay */
};

struct sim_event;
struct sim_waiting;

struct sim {
	u64 seed;
	struct sim_rand rand;
	u32 wrap_within;	/* packets; 0: PSNs begin anywhere */
	bool strangers;		/* sim_connect() leaves the peer's port unknown */
	u64 now;
	struct sim_host host[SIM_HOSTS];
	struct sim_qp *qp[SIM_QPS];
	u32 qps;
	struct sim_faults faults;
	struct cairn_cc_params cc;
	u32 latency_ns;
	u32 byte_ps;		/* picoseconds to transmit a byte */
	u32 budget;		/* packets of one turn; 0: random */
	u16 lane;		/* per mille of turns: some QP's WQEs are fetched */
	struct sim_rand lane_rand;	/* separate: it does not influence the events */
	u64 busy_until;		/* the machines may be late until then */
	bool dead[SIM_HOSTS];	/* no packet reaches this host */
	bool calm;		/* no faults any more */
	u16 handed;		/* per mille of trains: handed to an idle receiver */
	u32 handed_trains;	/* trains that were handed over */
	u32 flying;		/* packets on the network */

	/* Between sim_plug() and sim_unplug() the answers of all QPs wait, and one CPU
	 * runs.
	 */
	bool plugged;
	struct sim_waiting *waiting;
	u16 plug;		/* per mille of steps: it is plugged for some */
	u64 plug_end;

	struct sim_event *event;	/* heap, earliest first */
	u32 events;
	u32 event_room;
	u64 event_seq;

	/* The side that runs now; NULL: none. Copies of the parts it may not change. */
	struct sim_qp *run_qp;
	enum cairn_side_id run_side;
	u32 run_cqes, most_cqes;	/* completions of one run */
	u32 allocs;		/* of the engine so far */
	u32 bad_alloc;		/* number of the one that fails; 0: none */
	struct cairn_qpc before;
	u32 turn_acks;		/* ACKs and NAKs of this turn */

	/* The queue-info cache: so small that queues evict each other. */
	struct cairn_qicache qicache;
	atomic64_t qi_words[CAIRN_QI_WAYS];
	u32 qi_looks;

	/* The CPU on which a host's run is; it changes with each run. It has a separate
	 * random generator, so that it does not influence the events.
	 */
	struct sim_rand cpu_rand;
	u32 cpu;
	u16 evict;		/* per mille of runs: the cache evicts a line */
	u64 line_clock;		/* counts lines that were written back */
	u32 images;		/* changes of shadows */
	u64 streamed;		/* bytes by non-temporal stores */
	/* Called after every step, or NULL. */
	void (*stepped)(struct sim *sim, void *arg);
	void *stepped_arg;

	/* Regions that are registered from now on are on demand; per mille of accesses
	 * that find a page evicted; duration of a fault.
	 */
	bool on_demand;
	u16 taken;
	u32 bring_ns;

	u32 drops;		/* packets that never arrive */
	bool trace;		/* SIM_TRACE in the environment: print packets */
	bool record;		/* keep sent[] */
	struct sim_sent *sent;
	u32 n_sent;
	u32 sent_room;
	u32 trains;
	u8 lost[4096];		/* losses of each packet, to bound them */
	u64 count[CAIRN_CTR_COUNT];

	u32 failures;
	char why[512];
};

/*
 * world.c
 */

/* A failure report prints the test's name and the seed. */
struct sim *sim_new_at(const char *test, u64 seed);
void sim_free(struct sim *sim);

/* Report a violation. The first one is remembered. */
void sim_fail(struct sim *sim, const char *fmt, ...) __printf(2, 3);

/* Print a trace line, if SIM_TRACE is set in the environment. */
void sim_trace(const struct sim_qp *qp, const char *fmt, ...) __printf(2, 3);
void sim_trace_pkt(const struct sim_qp *qp, const char *what,
		   const struct cairn_pkt *pkt);

/* From now on packets of UC and UD leave @host one after another, @byte_ns for a byte. */
void sim_room(struct sim *sim, u32 host, u32 byte_ns);
/* A requester has sent @train. */
void sim_room_count(struct sim_qp *qp, const struct cairn_train *train);
/* Is the train of an unreliable requester dropped, as its room is stuck? */
bool sim_room_stuck(struct sim_qp *qp, const struct cairn_train *train);

/* Call @fn at time @when. */
void sim_at(struct sim *sim, u64 when, void (*fn)(struct sim *sim, void *arg),
	    void *arg);
/* The same; @drop is called with @arg if the world ends before. */
void sim_at_drop(struct sim *sim, u64 when, void (*fn)(struct sim *sim, void *arg),
		 void (*drop)(void *arg), void *arg);

/**
 * sim_run() - process events
 * @ns: virtual time that may pass from now
 *
 * Return: true: no events are left; false: the time has passed (now is exactly its end).
 */
bool sim_run(struct sim *sim, u64 ns);

/* The same, but also stops, with true, as soon as *@flag is not 0. */
bool sim_run_until(struct sim *sim, u64 ns, const u32 *flag);

/* Around every call into the engine on behalf of one side: checks that the other side's
 * part and the attributes do not change (engine/qp.h).
 */
void sim_enter(struct sim_qp *qp, enum cairn_side_id side);
void sim_leave(struct sim_qp *qp);

/* Run the engine of one side now. */
void sim_turn(struct sim_qp *qp, enum cairn_side_id side);

/* Fetch the WQEs of @qp for its turn in a lane, and give it that turn. Other turns may be
 * between them.
 */
void sim_fetch(struct sim_qp *qp);
void sim_lane_turn(struct sim_qp *qp);

/* The first seed, and the number of seeds: CAIRN_SEED and SEEDS in the environment. */
u64 sim_first_seed(void);
u32 sim_seeds(u32 normally);

/* "CAIRN_SEED=1 SEEDS=1 program test" */
const char *sim_repeat(void);

/*
 * net.c
 */

/* Send @len bytes from BTH to the last pad byte, with ICRC, faults apply. */
struct sim_packet;
struct sim_packet *sim_packet(u32 src, u32 dst, const void *bth, u32 len);
int sim_emit(struct sim_qp *qp, enum cairn_side_id side,
	     const struct cairn_train *train);

u32 sim_emit_messages(struct sim_qp *qp, const struct cairn_train *train,
		      cairn_part_fn part);

#define SIM_SPORT	0xc000

/* Inject a forged packet: it arrives now, and the QP gets its turn. */
void sim_inject_raw(struct sim *sim, u32 src, u32 dst, const void *bth, u32 len);
void sim_inject(struct sim_qp *to, const struct cairn_pkt *hdr,
		const void *payload);
/* The same from another UDP port than SIM_SPORT. */
void sim_inject_from(struct sim_qp *to, u16 sport, const struct cairn_pkt *hdr,
		     const void *payload);
/* The same without a turn: packets of one train. */
void sim_inject_part(struct sim_qp *to, const struct cairn_pkt *hdr,
		     const void *payload);

/* Between these the answers of all QPs wait for one fence, and leave in sim_unplug(). */
void sim_plug(struct sim *sim);
void sim_unplug(struct sim *sim);
void sim_drop_waiting(struct sim *sim);
/* The end of a turn within them. */
void sim_turn_over(struct sim_qp *qp, enum cairn_side_id side);

/* Copies of received packets; net.c has what env.h wants of them. */
int sim_hold(struct sim_qp *qp, const struct cairn_pkt *pkt);

/* Does the next allocation fail? */
static inline bool sim_alloc_fails(struct sim *sim)
{
	return ++sim->allocs == sim->bad_alloc;
}
int sim_held(struct sim_qp *qp, u32 psn, struct cairn_pkt *pkt);
void sim_drop_held(struct sim_qp *qp);

const u8 *sim_pkt_payload(const struct cairn_pkt *pkt);
const u8 *sim_pkt_ip(const struct cairn_pkt *pkt);

/*
 * memory.c
 */

struct sim_mr *sim_mr(struct sim *sim, u32 host, u32 len, u32 access);
/* The same, persistent: with a shadow image of the durable contents. */
struct sim_mr *sim_mr_persistent(struct sim *sim, u32 host, u32 len, u32 access,
				 enum cairn_persist persist);
/* Make a range durable at once, as a program does that is asked for a host flush. */
void sim_make_durable(struct sim *sim, struct sim_mr *mr, u32 off, u32 len);
/* Execute the following write-backs and fences on this QP's host. */
void sim_on_cpu_of(struct sim_qp *qp);
/* Execute the fence that the host's CPU has put off, if any. */
void sim_settle(struct sim *sim, u32 host);
/* End of a run: the next one is on another CPU, and caches may evict lines. */
void sim_run_over(struct sim *sim);

struct sim_mr *sim_mr_find(struct sim *sim, u32 host, u32 pd, u32 key);
/* NULL unless @key allows @access to all of @len bytes at @va */
u8 *sim_mr_at(struct sim_qp *qp, u32 key, u64 va, u64 len,
	      enum cairn_access access);
int sim_gather(struct sim_qp *qp, const struct cairn_span *span, u8 *buf,
	       u32 len);
int sim_scatter(struct sim_qp *qp, const struct cairn_span *span,
		const u8 *buf, u32 len);
/* The same as cairn_env_writeback(), from @off on. */
void sim_writeback(struct sim_qp *qp, struct sim_mr *mr, u32 off, u32 len);
/* The same as cairn_env_place_words(). */
int sim_place_words(struct sim_qp *qp, const struct cairn_span *to,
		    const struct cairn_pkt *pkt, struct cairn_words *words);

/*
 * odp.c
 */

/* Make the region on demand; no page is present. */
void sim_odp(struct sim_mr *mr);
/* Is all of it present for @side? Return: 0, -EAGAIN or -EFAULT, see engine/env.h. */
int sim_odp_find(struct sim_qp *qp, enum cairn_side_id side, u32 key, u64 va,
		 u64 len);
int sim_odp_find_span(struct sim_qp *qp, const struct cairn_span *span,
		      u32 len);

static inline struct cairn_sge sim_sge(const struct sim_mr *mr, u32 off,
				       u32 len)
{
	return (struct cairn_sge){ mr->va + off, len, mr->key };
}

/*
 * qp.c
 */

struct sim_wr {
	u64 wr_id;
	u8 opcode;		/* enum cairn_wqe_opcode */
	u8 flags;		/* enum cairn_wqe_flags */
	u32 num_sge;
	const struct cairn_sge *sge;
	u32 imm_or_key;
	u64 remote_addr;
	u32 rkey;
	u64 compare_add;
	u64 swap;
	u32 flush_len;		/* FLUSH */
	u8 plt, sel;
	u32 ah, qpn, qkey;	/* UD */
	u32 srqn;		/* XRC */
	const void *inl;	/* with CAIRN_WQE_INLINE */
	u32 inline_len;
};

extern const struct cairn_qp_attrs sim_attrs;

/* Zeroed memory, aligned as the QP context is. */
void *sim_zalloc(size_t bytes);

struct sim_qp *sim_qp(struct sim *sim, u32 host, const struct sim_qp_init *init);
/* Change the send ring as modify_qp(CAP) does. Return: false if it is too small. */
bool sim_resize_sq(struct sim_qp *qp, u32 depth, u32 records);
struct sim_rq *sim_rq(u32 depth, u32 stride, u32 start);
void sim_rq_free(struct sim_rq *rq);

/* Move both ends to RTS with @attrs (dqpn is filled in) and random PSNs, or PSNs that are
 * at most wrap_within packets before the wrap. Both know the other's port, as after a
 * first answer, unless strangers is set.
 */
void sim_connect(struct sim_qp *qp_a, struct sim_qp *qp_b,
		 const struct cairn_qp_attrs *attrs);
/* Move one end to RTS; its peer is @dqpn on @peer. */
void sim_to_rts(struct sim_qp *qp, u32 peer, u32 dqpn,
		const struct cairn_qp_attrs *attrs, u32 rq_psn, u32 sq_psn);
void sim_modify(struct sim_qp *qp, enum cairn_state state);
void sim_reset(struct sim_qp *qp);

u32 sim_wqe_units(const struct sim_wr *wr);
/* Write a WQE at the tail and advance it, without a doorbell. Return: false: the ring is
 * full.
 */
bool sim_queue_send(struct sim_qp *qp, const struct sim_wr *wr);
/* The same, and ring the doorbell; a full ring is a failure. */
void sim_post_send(struct sim_qp *qp, const struct sim_wr *wr);
void sim_doorbell(struct sim_qp *qp);
/* A doorbell with any write pointer. */
void sim_ring(struct sim_qp *qp, u32 tail);
bool sim_queue_recv(struct sim_rq *rq, u64 wr_id, const struct cairn_sge *sge,
		    u32 num_sge);
void sim_post_recv(struct sim_qp *qp, u64 wr_id, const struct cairn_sge *sge,
		   u32 num_sge);
/* The unit of a ring at @idx. */
u8 *sim_unit(u8 *ring, u32 depth, u32 idx);

/* Take up to @n completions off a CQ; QPs that wait for room continue. */
void sim_poll(struct sim_qp *qp, enum cairn_side_id side, u32 n);

/* The host releases a token, or a region with its tokens ends. */
int sim_release(struct sim_qp *qp, u64 token, u32 status);
void sim_revoke(struct sim_qp *qp, u32 rkey);

u32 sim_async_count(const struct sim_qp *qp, enum cairn_async event);

static inline struct sim_qp *to_sim_qp(struct cairn_qpc *qpc)
{
	return container_of(qpc, struct sim_qp, c);
}

#endif
