// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Hostile packets with a good ICRC against a QP of every transport in every
 * state. Nothing may be touched that no key allows, every request and every
 * receive completes at most once and in order, and ASan watches the rest.
 */
#include "engine.h"

#define PMTU	1024
#define PACKETS	400
#define LEN	8192

static const u8 transports[] = {
	CAIRN_TRANSPORT_RC, CAIRN_TRANSPORT_UC, CAIRN_TRANSPORT_UD,
	CAIRN_TRANSPORT_XRC,
};

/* Regions of the victim, by what a peer may do with them. */
enum {
	OPEN,			/* anything */
	READ_ONLY,
	LOCAL_ONLY,
	OTHER_PD,
	REGIONS
};

struct victim {
	struct sim *s;
	struct sim_qp *qp;
	struct sim_mr *mr[REGIONS];
	u8 *before[REGIONS];
	u64 next_send, next_recv;	/* numbers to post */
	u64 send_seen, recv_seen;	/* numbers completed, as a count */
};

/* Numbers only grow; a gap is an unsignaled success or a reset. */
static void on_cqe(struct sim_qp *qp, enum cairn_side_id side,
		   const struct cairn_cqe *cqe)
{
	struct victim *victim = qp->hooks.arg;
	u64 *seen = side == CAIRN_REQ ? &victim->send_seen : &victim->recv_seen;
	u64 posted = side == CAIRN_REQ ? victim->next_send : victim->next_recv;

	if (cqe->wr_id < *seen || cqe->wr_id >= posted)
		sim_fail(qp->s, "completion of WR %llu, expected %llu..%llu",
			 (unsigned long long)cqe->wr_id,
			 (unsigned long long)*seen,
			 (unsigned long long)posted);
	*seen = cqe->wr_id + 1;
}

static struct victim *packet_victim(u64 seed, u8 transport)
{
	static const u32 access[REGIONS] = {
		SIM_ALL, SIM_LOCAL | 1 << CAIRN_ACCESS_REMOTE_READ, SIM_LOCAL,
		SIM_ALL,
	};
	struct sim_qp_init init = sim_rc;
	struct victim *subject = calloc(1, sizeof(*subject));
	u32 i;

	init.transport = transport;
	init.rd_slots = 4;
	subject->s = sim_new(seed);
	subject->s->dead[1] = true;	/* its answers go nowhere */
	subject->qp = sim_qp(subject->s, 0, &init);
	subject->qp->hooks = (struct sim_hooks){ .arg = subject, .cqe = on_cqe };
	for (i = 0; i < REGIONS; i++) {
		subject->mr[i] = sim_mr(subject->s, 0, LEN, access[i]);
		subject->before[i] = malloc(LEN);
	}
	subject->mr[OTHER_PD]->pd++;
	subject->s->host[0].ah[1] = (struct sim_ah){ true, 1 };
	subject->s->host[0].xsrq[0] = (struct sim_xsrq){ &subject->qp->own_rq, SIM_PD };
	for (i = 0; i < REGIONS; i++)
		memcpy(subject->before[i], subject->mr[i]->mem, LEN);
	return subject;
}

static void victim_end(struct victim *victim)
{
	u32 i;

	/* receives go to OPEN, results to the second half of LOCAL_ONLY */
	ktap_mem_eq(victim->mr[READ_ONLY]->mem, victim->before[READ_ONLY], LEN);
	ktap_mem_eq(victim->mr[LOCAL_ONLY]->mem, victim->before[LOCAL_ONLY], LEN / 2);
	ktap_mem_eq(victim->mr[OTHER_PD]->mem, victim->before[OTHER_PD], LEN);
	for (i = 0; i < REGIONS; i++)
		free(victim->before[i]);
	sim_end(victim->s);
	free(victim);
}

static void post_some(struct victim *victim)
{
	struct sim_rand *random = &victim->s->rand;
	struct cairn_sge sge = sim_sge(victim->mr[LOCAL_ONLY], LEN / 2, LEN / 2);
	struct sim_wr wr = {
		.opcode = sim_below(random, 8),
		.flags = sim_chance(random, 700) ? CAIRN_WQE_SIGNALED : 0,
		.sge = &sge,
		.num_sge = 1,
		.remote_addr = 64,
		.rkey = 5,
	};

	if (victim->qp->c.transport != CAIRN_TRANSPORT_RC)
		wr.opcode = sim_below(random, 2);
	sge.length = wr.opcode >= CAIRN_WQE_CAS ? 8 : sim_below(random, PMTU * 3);
	if (victim->qp->c.transport == CAIRN_TRANSPORT_UD) {
		wr.ah = 1;
		sge.length = sim_below(random, PMTU + 1);
	}
	wr.wr_id = victim->next_send;
	/* A target of XRC sends nothing. */
	if (victim->qp->c.transport != CAIRN_TRANSPORT_XRC &&
	    sim_queue_send(victim->qp, &wr)) {
		victim->next_send++;
		sim_doorbell(victim->qp);
	}
	sge = sim_sge(victim->mr[OPEN], 0, sim_below(random, LEN));
	if (sim_queue_recv(victim->qp->rq, victim->next_recv, &sge, 1))
		victim->next_recv++;
	if (victim->qp->rq_rings)
		cairn_env_kick(&victim->qp->c, CAIRN_RESP);
}

/* Mostly a number that means something now. */
static u32 random_psn(struct victim *victim, const struct cairn_opcode *op)
{
	const struct cairn_qpc *qpc = &victim->qp->c;
	struct sim_rand *random = &victim->s->rand;
	u32 base = op->flags & CAIRN_OP_RESPONSE ? qpc->req.una : qpc->resp.epsn;

	switch (sim_below(random, 8)) {
	case 0:
		return sim_below(random, 1 << 24);
	case 1:
		return cairn_psn_add(base, sim_below(random, 20) - 10);
	case 2:
		return cairn_psn_add(qpc->req.psn, sim_below(random, 3) - 1);
	default:
		return base;
	}
}

static u32 random_len(struct sim_rand *random, const struct cairn_opcode *op)
{
	if (!(op->flags & CAIRN_OP_PAYLOAD))
		return 0;
	if (op->kind == CAIRN_KIND_CNP)
		return CAIRN_CNP_PAYLOAD;
	switch (sim_below(random, 4)) {
	case 0:
		return sim_below(random, 4097);
	case 1:
		return sim_below(random, 5);
	default:
		return op->flags & CAIRN_OP_LAST ? sim_below(random, PMTU + 1) :
						   PMTU;
	}
}

static u8 random_opcode(struct sim_rand *random, u8 transport)
{
	u8 opcode;

	do {
		opcode = (u8)sim_rand(random);
	} while (!cairn_opcodes[opcode].name ||
		 (cairn_opcodes[opcode].transport != transport &&
		  !sim_chance(random, 30)));
	return opcode;
}

static void random_reth(struct victim *victim, struct cairn_pkt *pkt)
{
	struct sim_rand *random = &victim->s->rand;
	struct sim_mr *mr = victim->mr[sim_below(random, REGIONS)];

	pkt->rkey = sim_chance(random, 100) ? (u32)sim_rand(random) : mr->key;
	pkt->va = sim_chance(random, 50) ? sim_rand(random) :
		  mr->va + sim_below(random, LEN + 16) - 8;
	if (sim_chance(random, 500))
		pkt->va &= ~7ULL;
	pkt->dma_len = sim_chance(random, 50) ? (u32)sim_rand(random) :
		       sim_chance(random, 600) ? pkt->payload_len :
		       sim_below(random, LEN);
}

static void inject_one(struct victim *victim)
{
	struct sim_rand *random = &victim->s->rand;
	u8 payload[4096];
	struct cairn_pkt pkt = {
		.opcode = random_opcode(random, victim->qp->c.transport),
		.pkey = sim_chance(random, 20) ? 1 : CAIRN_PKEY_DEFAULT,
		.qpn = victim->qp->c.qpn,
		.solicited = sim_chance(random, 100),
		.ack_req = sim_chance(random, 500),
		.swap_add = sim_rand(random),
		.compare = sim_rand(random),
		.orig = sim_rand(random),
		.syndrome = sim_chance(random, 300) ? (u8)sim_rand(random) :
			    sim_chance(random, 100) ? CAIRN_AETH_RNR_NAK | 1 : 0,
		.msn = sim_below(random, 100),
		.imm = (__force __be32)sim_rand(random),
		.qkey = sim_attrs.qkey + sim_chance(random, 50),
		.src_qpn = sim_below(random, 1 << 24),
	};
	const struct cairn_opcode *op = &cairn_opcodes[pkt.opcode];

	if (op->flags & CAIRN_OP_TO_SRQ)
		pkt.srqn = sim_chance(random, 950) ? 1 : sim_below(random, 1 << 24);
	pkt.psn = random_psn(victim, op);
	pkt.payload_len = random_len(random, op);
	random_reth(victim, &pkt);
	sim_fill(random, payload, pkt.payload_len);
	if (sim_chance(random, 300))
		sim_inject_part(victim->qp, &pkt, payload);
	else
		sim_inject(victim->qp, &pkt, payload);
}

/* Random bytes where the headers should be. */
static void inject_noise(struct victim *victim)
{
	struct sim_rand *random = &victim->s->rand;
	u8 buf[CAIRN_MAX_HDR + 200];
	u32 len = sim_below(random, sizeof(buf) + 1);

	sim_fill(random, buf, sizeof(buf));
	if (len >= 12) {
		buf[1] &= sim_chance(random, 900) ? ~CAIRN_BTH_TVER_MASK : 0xff;
		buf[5] = victim->qp->c.qpn >> 16;
		buf[6] = victim->qp->c.qpn >> 8;
		buf[7] = victim->qp->c.qpn;
	}
	sim_inject_raw(victim->s, 1, 0, buf, len);
}

/* Out of RESET, as far as @state. */
static void raise_to(struct victim *victim, enum cairn_state state)
{
	struct sim_qp *qp = victim->qp;

	sim_reset(qp);
	/* what was dropped may not complete any more */
	victim->send_seen = victim->next_send;
	victim->recv_seen = victim->next_recv;
	qp->c.attrs = sim_attrs;
	qp->c.attrs.dqpn = 5;
	qp->c.attrs.max_dest_rd_atomic = 4;
	qp->peer = 1;
	if (state == CAIRN_QP_RESET)
		return;
	sim_modify(qp, CAIRN_QP_INIT);
	if (state == CAIRN_QP_INIT)
		return;
	cairn_resp_set_psn(&qp->c, sim_below(&victim->s->rand, 1 << 24));
	sim_modify(qp, CAIRN_QP_RTR);
	if (state == CAIRN_QP_RTR)
		return;
	cairn_req_set_psn(&qp->c, sim_below(&victim->s->rand, 1 << 24));
	sim_modify(qp, CAIRN_QP_RTS);
	if (state != CAIRN_QP_RTS)
		sim_modify(qp, state);
}

static void packet_attack(u64 seed, u8 transport, enum cairn_state state)
{
	struct victim *subject = packet_victim(seed, transport);
	u32 i;

	raise_to(subject, state);
	for (i = 0; i < PACKETS && !subject->s->failures; i++) {
		if (sim_chance(&subject->s->rand, 200))
			post_some(subject);
		if (sim_chance(&subject->s->rand, 50))
			inject_noise(subject);
		else
			inject_one(subject);
		if (sim_chance(&subject->s->rand, 100))
			sim_run(subject->s, sim_below(&subject->s->rand, 100 * SIM_US));
		/* a dead QP is no target */
		if (subject->qp->c.state != state && sim_chance(&subject->s->rand, 300))
			raise_to(subject, state);
	}
	sim_modify(subject->qp, CAIRN_QP_ERR);
	sim_run(subject->s, SIM_SEC);
	victim_end(subject);
}

static void attack_state(enum cairn_state state, u32 seeds)
{
	for_seeds(seed, seeds)
		packet_attack(seed, transports[seed % ARRAY_SIZE(transports)], state);
}

static void in_reset(void)
{
	attack_state(CAIRN_QP_RESET, 9);
}

static void in_init(void)
{
	attack_state(CAIRN_QP_INIT, 9);
}

static void in_rtr(void)
{
	attack_state(CAIRN_QP_RTR, 60);
}

static void in_rts(void)
{
	attack_state(CAIRN_QP_RTS, 300);
}

static void in_sqd(void)
{
	attack_state(CAIRN_QP_SQD, 60);
}

static void in_sqe(void)
{
	attack_state(CAIRN_QP_SQE, 30);
}

static void in_err(void)
{
	attack_state(CAIRN_QP_ERR, 15);
}

static const struct ktap_test tests[] = {
	KTAP(in_reset),
	KTAP(in_init),
	KTAP(in_rtr),
	KTAP(in_rts),
	KTAP(in_sqd),
	KTAP(in_sqe),
	KTAP(in_err),
};

KTAP_MAIN(tests)
