// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* UC: what is lost is lost, but never half of it (IBTA 9.8.2). */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include "engine.h"

#define PMTU	1024
#define UC(op)	(CAIRN_BTH_UC | CAIRN_BTH_##op)

static const u16 pmtus[] = { 256, 512, 1024, 2048, 4096 };

/* A good network: everything arrives as posted. */
static void no_loss(void)
{
	for_seeds(seed, 40) {
		struct pair pair = pair_new(seed, &sim_uc, pmtus[seed % 5]);
		struct flow_cfg cfg = flow_default;
		struct flow *flows[2];

		cfg.ops = 1 << CAIRN_WQE_SEND | 1 << CAIRN_WQE_SEND_IMM |
			  1 << CAIRN_WQE_WRITE | 1 << CAIRN_WQE_WRITE_IMM;
		cfg.recv_ahead = 64;
		pair.s->budget = seed & 1 ? 0 : 64;
		flows[0] = flow_new(pair.a, pair.b, &cfg);
		flows[1] = flow_new(pair.b, pair.a, &cfg);
		flow_random(flows[0]);
		flow_random(flows[1]);
		flow_run(flows, 2);
		ktap_eq(pair.s->count[CAIRN_CTR_ACKS_SENT], 0);
		sim_end(pair.s);
	}
}

static void other_operations_are_refused(void)
{
	static const u8 ops[] = { CAIRN_WQE_SEND_INV, CAIRN_WQE_READ,
				  CAIRN_WQE_CAS, CAIRN_WQE_FAA };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct rig rig = rig_with(1, &sim_uc, &sim_attrs);

		rig_send(&rig, 1, CAIRN_WQE_WRITE, 3000);
		rig_send(&rig, 2, ops[i], 8);
		rig_send(&rig, 3, CAIRN_WQE_WRITE, 10);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_LOC_QP_OP_ERR);
		expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
		/* the send queue stops, the receive queue goes on */
		ktap_eq(rig.a->c.state, CAIRN_QP_SQE);
		sim_modify(rig.a, CAIRN_QP_RTS);
		rig_send(&rig, 4, CAIRN_WQE_WRITE, 3000);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 3, 4, CAIRN_CQE_SUCCESS);
		sim_end(rig.s);
	}
}

/* Back to RTS in the middle of a flush: what was posted before is flushed first. */
static void resumed_while_flushing(void)
{
	struct rig rig = rig_with(1, &sim_uc, &sim_attrs);
	u32 i;

	rig.s->budget = 2;
	rig_send(&rig, 1, CAIRN_WQE_READ, 8);
	for (i = 2; i <= 20; i++)
		rig_send(&rig, i, CAIRN_WQE_WRITE, 10);
	sim_turn(rig.a, CAIRN_REQ);
	ktap_eq(rig.a->c.state, CAIRN_QP_SQE);
	ktap_ok(rig.a->cq[CAIRN_REQ].n < 10);
	sim_modify(rig.a, CAIRN_QP_RTS);
	rig_send(&rig, 21, CAIRN_WQE_WRITE, 3000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_LOC_QP_OP_ERR);
	expect_cqes(rig.a, CAIRN_REQ, 1, 2, 19, CAIRN_CQE_WR_FLUSH_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 20, 21, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static struct cairn_qpc *uc_raced;

static u8 *uc_page_of(const struct cairn_qpc *qpc)
{
	return (u8 *)((uintptr_t)qpc & ~(sysconf(_SC_PAGESIZE) - 1));
}

/* The requester is about to write the state. The responder, on another CPU, is faster. */
static void uc_responder_fails(int sig)
{
	mprotect(uc_page_of(uc_raced), sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE);
	WRITE_ONCE(uc_raced->state, CAIRN_QP_ERR);
}

/* Both sides fail in the same moment, each under its own lock: ERR ends more than SQE, and
 * stays. The context is copied so that its first line alone is in the write-protected page.
 */
static void both_sides_fail(void)
{
	static const u8 states[] = { CAIRN_QP_RTS, CAIRN_QP_SQD };
	struct rig rig = rig_with(1, &sim_uc, &sim_attrs);
	long page = sysconf(_SC_PAGESIZE);
	struct sigaction old, catch = { .sa_handler = uc_responder_fails };
	u8 *mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u32 i;

	uc_raced = (void *)(mem + page - offsetof(struct cairn_qpc, req));
	sigaction(SIGSEGV, &catch, &old);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		memcpy(uc_raced, &rig.a->c, sizeof(*uc_raced));
		uc_raced->state = states[i];
		mprotect(mem, page, PROT_READ);
		cairn_comp_fail_at(uc_raced, 0, CAIRN_CQE_LOC_PROT_ERR, 0);
		ktap_eq(uc_raced->state, CAIRN_QP_ERR);
	}
	sigaction(SIGSEGV, &old, NULL);
	munmap(mem, 2 * page);
	sim_end(rig.s);
}

/* A bad key stops the send queue; packets before it have left. */
static void bad_local_key(void)
{
	struct rig rig = rig_with(1, &sim_uc, &sim_attrs);
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(&rig, &sge, CAIRN_WQE_SEND, 100);

	rig_send(&rig, 1, CAIRN_WQE_WRITE, 3000);
	wr.wr_id = 2;
	sge.lkey ^= 1;
	sim_post_send(rig.a, &wr);
	rig_send(&rig, 3, CAIRN_WQE_WRITE, 3000);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_LOC_PROT_ERR);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(rig.a->c.state, CAIRN_QP_SQE);
	sim_end(rig.s);
}

/*
 * A scripted sender.
 */

static struct rig uc_alone(void)
{
	struct rig rig = rig_with(1, &sim_uc, &sim_attrs);

	rig.s->dead[0] = true;
	return rig;
}

struct req {
	u8 opcode;
	u32 len;
	u32 dma_len;
	u32 rkey_xor;
	__be32 imm;
};

static void uc_get(struct rig *rig, u32 n, struct req req)
{
	struct cairn_pkt pkt = {
		.opcode = req.opcode,
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = rig->b->c.qpn,
		.psn = cairn_psn_add(rig->a->psn, n),
		.payload_len = req.len,
		.va = rig->mb->va,
		.rkey = rig->mb->key ^ req.rkey_xor,
		.dma_len = req.dma_len,
		.imm = req.imm,
	};

	sim_inject(rig->b, &pkt, rig->ma->mem);
	sim_run(rig->s, SIM_US);
}

static const struct req send_first = { UC(SEND_FIRST), PMTU };
static const struct req send_middle = { UC(SEND_MIDDLE), PMTU };
static const struct req send_last = { UC(SEND_LAST), 10 };
static const struct req send_only = { UC(SEND_ONLY), 10 };
static const struct req write_first = { UC(WRITE_FIRST), PMTU, PMTU + 10 };
static const struct req write_last = { UC(WRITE_LAST), 10 };
static const struct req write_only_imm = { UC(WRITE_ONLY_IMM), 10, 10 };

/* The receive of a broken message serves the next one. */
static void gap_costs_the_message_only(void)
{
	struct rig rig = uc_alone();

	rig_recv(&rig, 21, 5000);
	rig_recv(&rig, 22, 5000);
	uc_get(&rig, 0, send_first);
	uc_get(&rig, 2, send_middle);	/* 1 is missing */
	uc_get(&rig, 3, send_last);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	ktap_ok(rig.b->count[CAIRN_CTR_RX_UC_GAPS] == 1);
	uc_get(&rig, 4, send_first);
	uc_get(&rig, 5, send_last);
	uc_get(&rig, 6, send_only);
	expect_cqes(rig.b, CAIRN_RESP, 0, 21, 22, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 2);
	ktap_eq(rig.b->cq[CAIRN_RESP].log[0].cqe.byte_len, PMTU + 10);
	ktap_eq(rig.b->cq[CAIRN_RESP].log[1].cqe.byte_len, 10);
	ktap_eq(rig.s->n_sent, 0);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

/* A new FIRST in the middle of a message, with and without a gap. */
static void first_starts_afresh(void)
{
	struct rig rig = uc_alone();

	rig_recv(&rig, 21, 5000);
	uc_get(&rig, 0, send_first);
	uc_get(&rig, 1, send_middle);
	uc_get(&rig, 2, send_first);
	uc_get(&rig, 3, send_last);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].log[0].cqe.byte_len, PMTU + 10);
	/* across a gap of any size */
	rig_recv(&rig, 22, 5000);
	uc_get(&rig, 1000000, send_only);
	expect_cqe(rig.b, CAIRN_RESP, 1, 22, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 2);
	sim_end(rig.s);
}

static void tails_without_a_head(void)
{
	struct rig rig = uc_alone();

	rig_recv(&rig, 21, 5000);
	uc_get(&rig, 0, send_middle);
	uc_get(&rig, 1, send_last);
	uc_get(&rig, 2, write_last);
	uc_get(&rig, 3, write_first);
	uc_get(&rig, 4, send_last);		/* of another kind */
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	uc_get(&rig, 5, send_only);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

/* A packet of the wrong size ends its message, too. */
static void packet_of_the_wrong_size(void)
{
	static const struct req bad[] = {
		{ UC(SEND_MIDDLE), 100 }, { UC(SEND_MIDDLE), 2000 },
		{ UC(SEND_LAST), 0 }, { UC(SEND_LAST), PMTU + 1 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct rig rig = uc_alone();

		rig_recv(&rig, 21, 5000);
		uc_get(&rig, 0, send_first);
		uc_get(&rig, 1, bad[i]);
		uc_get(&rig, 2, send_last);
		ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
		uc_get(&rig, 3, send_only);
		expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.b->cq[CAIRN_RESP].log[0].cqe.byte_len, 10);
		sim_end(rig.s);
	}
}

static void message_without_a_receive(void)
{
	struct rig rig = uc_alone();

	uc_get(&rig, 0, send_first);
	ktap_eq(rig.b->count[CAIRN_CTR_RX_NO_WQE], 1);
	rig_recv(&rig, 21, 5000);
	uc_get(&rig, 1, send_last);		/* its first packet was lost */
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	uc_get(&rig, 2, send_only);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	/* WRITE with immediate: the data may be there, the event is lost */
	uc_get(&rig, 3, write_only_imm);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	ktap_eq(rig.b->count[CAIRN_CTR_RX_NO_WQE], 2);
	ktap_eq(rig.s->n_sent, 0);
	sim_end(rig.s);
}

/* The message is over when its last packet finds no receive. */
static void last_without_a_receive(void)
{
	struct rig rig = uc_alone();
	u8 before[RIG_LEN];

	uc_get(&rig, 0, write_first);
	memcpy(before, rig.mb->mem, RIG_LEN);
	uc_get(&rig, 1, (struct req){ UC(WRITE_LAST_IMM), 10 });
	ktap_eq(rig.b->count[CAIRN_CTR_RX_NO_WQE], 1);
	memcpy(before, rig.mb->mem, RIG_LEN);
	uc_get(&rig, 2, write_last);
	ktap_mem_eq(rig.mb->mem, before, RIG_LEN);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	sim_end(rig.s);
}

/* Too long for its receive: dropped, and the receive is still there. */
static void message_too_long(void)
{
	struct rig rig = uc_alone();

	rig_recv(&rig, 21, PMTU + 9);
	uc_get(&rig, 0, send_first);
	uc_get(&rig, 1, send_last);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	ktap_eq(rig.b->count[CAIRN_CTR_RX_TOO_LONG], 1);
	uc_get(&rig, 2, send_only);
	expect_cqe(rig.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

static void write_refused(void)
{
	struct req req = write_first;
	u8 before[RIG_LEN];
	struct rig rig = uc_alone();

	memcpy(before, rig.mb->mem, RIG_LEN);
	req.rkey_xor = 1;
	uc_get(&rig, 0, req);
	uc_get(&rig, 1, write_last);
	ktap_mem_eq(rig.mb->mem, before, RIG_LEN);
	ktap_eq(rig.b->count[CAIRN_CTR_REMOTE_ACCESS_ERRORS], 1);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	uc_get(&rig, 2, write_first);
	uc_get(&rig, 3, write_last);
	ktap_mem_eq(rig.mb->mem, rig.ma->mem, 10);
	ktap_eq(rig.s->n_sent, 0);
	sim_end(rig.s);
}

/* The length that the first packet announced is the length. */
static void write_of_the_wrong_length(void)
{
	struct req req = write_last;
	struct rig rig = uc_alone();
	u8 before[RIG_LEN];

	uc_get(&rig, 0, write_first);
	memcpy(before, rig.mb->mem, RIG_LEN);
	req.len = 11;
	uc_get(&rig, 1, req);
	uc_get(&rig, 2, write_first);
	req.len = 9;
	uc_get(&rig, 3, req);
	ktap_mem_eq(rig.mb->mem, before, RIG_LEN);
	ktap_eq(rig.b->c.state, CAIRN_QP_RTS);
	sim_end(rig.s);
}

static void receive_pointer_that_can_not_be(void)
{
	struct rig rig = uc_alone();

	rig.b->rq->tail += 1000;
	uc_get(&rig, 0, send_only);
	ktap_eq(rig.b->c.state, CAIRN_QP_ERR);
	ktap_eq(rig.b->asyncs, 1);
	ktap_eq(sim_async_count(rig.b, CAIRN_ASYNC_QP_FATAL), 1);
	ktap_eq(rig.s->n_sent, 0);
	sim_end(rig.s);
}

/*
 * A bad network: messages arrive whole or not at all.
 */

#define MSGS	60

/* Message @k is @k repeated; its length says its number again. */
static u32 msg_len(u32 k)
{
	return 1 + k * 37 % 5000;
}

/* Return: the number of the message that completion @n received. */
static u32 check_message(struct sim_qp *qp, u32 n, struct sim_mr *buf)
{
	const struct cairn_cqe *cqe = &qp->cq[CAIRN_RESP].log[n].cqe;
	const u8 *bytes = buf->mem + cqe->wr_id * 5000;
	u32 i;

	ktap_eq(cqe->status, CAIRN_CQE_SUCCESS);
	ktap_eq(cqe->wr_id, n);
	ktap_eq(cqe->byte_len, msg_len(cqe->imm_or_key));
	for (i = 0; i < cqe->byte_len && i < 5000; i++)
		if (!ktap_eq(bytes[i], (u8)cqe->imm_or_key))
			break;
	return cqe->imm_or_key;
}

static void send_messages(struct pair *pair, struct sim_mr *src)
{
	u32 k;

	for (k = 0; k < MSGS; k++) {
		struct cairn_sge sge = sim_sge(src, k * 5000, msg_len(k));
		struct sim_wr wr = {
			.wr_id = k,
			.opcode = CAIRN_WQE_SEND_IMM,
			.flags = CAIRN_WQE_SIGNALED,
			.sge = &sge,
			.num_sge = 1,
			.imm_or_key = k,
		};

		memset(src->mem + k * 5000, k, 5000);
		sim_post_send(pair->a, &wr);
	}
	ktap_ok(sim_run(pair->s, SIM_SEC));
	expect_cqes(pair->a, CAIRN_REQ, 0, 0, MSGS - 1, CAIRN_CQE_SUCCESS);
	ktap_eq(pair->b->c.state, CAIRN_QP_RTS);
}

static void bad_network(u64 seed, const struct sim_faults *faults, bool order)
{
	struct pair pair = pair_new(seed, &sim_uc, 256);
	struct sim_mr *src = sim_mr(pair.s, 0, MSGS * 5000, SIM_ALL);
	struct sim_mr *dst = sim_mr(pair.s, 1, (MSGS + 4) * 5000, SIM_ALL);
	u32 k, id, got, next = 0;

	pair.s->faults = *faults;
	for (k = 0; k < MSGS + 4; k++) {
		struct cairn_sge sge = sim_sge(dst, k * 5000, 5000);

		sim_post_recv(pair.b, k, &sge, 1);
	}
	send_messages(&pair, src);
	got = pair.b->cq[CAIRN_RESP].n;
	ktap_ok(got > 0);
	for (k = 0; k < got && !ktap.failures; k++) {
		id = check_message(pair.b, k, dst);
		if (order)
			ktap_ok(id >= next);
		next = id + 1;
	}
	sim_end(pair.s);
}

static void whole_and_in_order_under_loss(void)
{
	for_seeds(seed, 60)
		bad_network(seed, &(struct sim_faults){
			.loss = 50, .corrupt = 20, .split = 300 }, true);
}

/* The transport does not recognise what is late or comes twice. */
static void whole_under_every_fault(void)
{
	for_seeds(seed, 100)
		bad_network(seed, &(struct sim_faults){
			.loss = 50, .dup = 50, .late = 20, .corrupt = 10,
			.split = 300, .late_ns = 3000 }, false);
}

/* Nothing would make it durable. */
static void persistent_region_is_refused(void)
{
	static const enum cairn_persist how[] = { CAIRN_PERSIST_NIC,
						  CAIRN_PERSIST_HOST };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(how); i++) {
		struct rig rig = rig_with(1, &sim_uc, &sim_attrs);

		rig.mb = sim_mr_persistent(rig.s, 1, RIG_LEN, SIM_ALL, how[i]);
		memset(rig.mb->mem, 0x5a, 100);
		rig_send(&rig, 1, CAIRN_WQE_WRITE, 100);
		ktap_ok(sim_run(rig.s, SIM_SEC));
		expect_cqe(rig.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		ktap_eq(rig.mb->mem[0], 0x5a);
		ktap_eq(rig.mb->mem[99], 0x5a);
		ktap_eq(rig.s->count[CAIRN_CTR_REMOTE_ACCESS_ERRORS], 1);
		sim_end(rig.s);
	}
}

static const struct ktap_test tests[] = {
	KTAP(no_loss),
	KTAP(other_operations_are_refused),
	KTAP(resumed_while_flushing),
	KTAP(both_sides_fail),
	KTAP(bad_local_key),
	KTAP(gap_costs_the_message_only),
	KTAP(first_starts_afresh),
	KTAP(tails_without_a_head),
	KTAP(packet_of_the_wrong_size),
	KTAP(message_without_a_receive),
	KTAP(last_without_a_receive),
	KTAP(message_too_long),
	KTAP(write_refused),
	KTAP(persistent_region_is_refused),
	KTAP(write_of_the_wrong_length),
	KTAP(receive_pointer_that_can_not_be),
	KTAP(whole_and_in_order_under_loss),
	KTAP(whole_under_every_fault),
};

KTAP_MAIN(tests)
