// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libFuzzer target for the engine. The input is a list of things that a
 * hostile host and a hostile peer do to two connected QPs: raw WQEs, ring
 * pointers anywhere, packets of any bytes (with a good ICRC and the QP's
 * number), key release, state changes, time. Whatever comes, the world's own
 * checks hold, ASan has nothing to say, and memory that no key of these QPs
 * opens for writing stays as it is.
 */
#include <stdlib.h>
#include "fuzz.h"
#include "sim/sim.h"

struct fuzz_count fuzz_count;

#define LEN		4096
#define STEPS		200
#define STEP_NS		(20 * SIM_MS)

enum region { OPEN, RECV, READ_ONLY, OTHER_PD, REGIONS };

struct input {
	const u8 *p;
	size_t left;
};

struct fuzz {
	struct input in;
	struct sim *s;
	struct sim_qp *qp[2];
	struct sim_mr *mr[2][REGIONS];
	u8 before[2][REGIONS][LEN];
};

static u8 fuzz_byte(struct fuzz *fuzz)
{
	if (!fuzz->in.left)
		return 0;
	fuzz->in.left--;
	return *fuzz->in.p++;
}

static u32 fuzz_word(struct fuzz *fuzz)
{
	u32 v = fuzz_byte(fuzz);

	v |= fuzz_byte(fuzz) << 8;
	v |= fuzz_byte(fuzz) << 16;
	return v | (u32)fuzz_byte(fuzz) << 24;
}

static void fuzz_bytes(struct fuzz *fuzz, u8 *buf, u32 len)
{
	while (len--)
		*buf++ = fuzz_byte(fuzz);
}

/* A key that means something, most of the time. */
static void some_place(struct fuzz *fuzz, u32 host, u64 *va, u32 *key)
{
	u8 b = fuzz_byte(fuzz);
	struct sim_mr *mr = fuzz->mr[host][b % REGIONS];

	if (b & 0x40)
		*key = mr->key;
	if (b & 0x80)
		*va = mr->va + fuzz_byte(fuzz) * 8;
}

static struct sim_qp *some_qp(struct fuzz *fuzz)
{
	return fuzz->qp[fuzz_byte(fuzz) & 1];
}

static void send_wqe(struct fuzz *fuzz)
{
	struct sim_qp *qp = some_qp(fuzz);
	u32 units = 1 + fuzz_byte(fuzz) % 3, i, host = qp->host, rkey;
	union cairn_wqe_buf wqe = { 0 };
	struct cairn_send_wqe *entry = &wqe.send;
	u64 va;

	fuzz_bytes(fuzz, wqe.bytes, units * CAIRN_UNIT_SIZE);
	if (fuzz_byte(fuzz) & 7)
		entry->units = units;
	va = entry->remote_addr;
	rkey = entry->rkey;
	some_place(fuzz, !host, &va, &rkey);
	entry->remote_addr = va;
	entry->rkey = rkey;
	for (i = 0; i < 2; i++) {
		u64 addr = entry->sge[i].addr;

		entry->sge[i].length &= fuzz_byte(fuzz) & 1 ? ~0u : LEN - 1;
		some_place(fuzz, host, &addr, &entry->sge[i].lkey);
		entry->sge[i].addr = addr;
	}
	for (i = 0; i < units; i++)
		memcpy(sim_unit(qp->sq, qp->c.sq_depth, qp->sq_tail + i),
		       wqe.bytes + i * CAIRN_UNIT_SIZE, CAIRN_UNIT_SIZE);
	qp->sq_tail += units;
	sim_doorbell(qp);
}

/* A piece of a region that may be read and written, or of another one. */
static struct cairn_sge good_sge(struct fuzz *fuzz, u32 host, u32 len)
{
	u8 b = fuzz_byte(fuzz);
	struct sim_mr *mr = fuzz->mr[host][b & 7 ? OPEN : b / 8 % REGIONS];

	return (struct cairn_sge){
		.addr = mr->va + fuzz_byte(fuzz) * 8, .length = len, .lkey = mr->key,
	};
}

#define FUZZ_TOKENS	4

/* Tokens of the latest receives, or invented ones. */
static void some_tokens(struct fuzz *fuzz, const struct sim_qp *qp, u64 *tokens)
{
	const struct sim_cq *cq = &qp->cq[CAIRN_RESP];
	u32 i;

	for (i = 0; i < FUZZ_TOKENS; i++) {
		tokens[i] = i < cq->n ? cq->log[cq->n - 1 - i].cqe.persist_token : 0;
		if (!(fuzz_byte(fuzz) & 7))
			tokens[i] ^= fuzz_word(fuzz);
	}
}

/* A valid work request. */
static void good_send(struct fuzz *fuzz)
{
	struct sim_qp *qp = some_qp(fuzz);
	u8 opcode = fuzz_byte(fuzz) % CAIRN_WQE_OPCODES, b = fuzz_byte(fuzz);
	bool atomic = opcode == CAIRN_WQE_CAS || opcode == CAIRN_WQE_FAA;
	struct sim_mr *far = fuzz->mr[!qp->host][b & 7 ? OPEN : b / 8 % REGIONS];
	struct cairn_sge sge[2] = {
		good_sge(fuzz, qp->host, atomic ? 8 : fuzz_byte(fuzz) * 4),
		good_sge(fuzz, qp->host, fuzz_byte(fuzz)),
	};
	u64 tokens[FUZZ_TOKENS];
	struct sim_wr wr = {
		.wr_id = b, .opcode = opcode, .sge = sge,
		.num_sge = atomic ? 1 : b >> 6 & 1 ? 2 : 1,
		.flags = fuzz_byte(fuzz) & (CAIRN_WQE_SIGNALED | CAIRN_WQE_FENCE |
					    CAIRN_WQE_SOLICITED),
		.remote_addr = far->va + fuzz_byte(fuzz) * 8, .rkey = far->key,
		.imm_or_key = opcode == CAIRN_WQE_SEND_INV ?
			      fuzz->mr[!qp->host][RECV]->key : b,
		.compare_add = b, .swap = 1,
		.flush_len = b * 8, .plt = b & 3, .sel = b >> 5 & 1,
		.ah = 1, .qpn = fuzz->qp[!qp->host]->c.qpn, .qkey = sim_attrs.qkey,
	};

	if (opcode == CAIRN_WQE_LOCAL_INV)
		wr.imm_or_key = fuzz->mr[qp->host][RECV]->key;
	if (opcode == CAIRN_WQE_PERSIST_DONE) {
		some_tokens(fuzz, qp, tokens);
		wr.flags |= CAIRN_WQE_INLINE;
		wr.imm_or_key = b & 1;
		wr.remote_addr = 0;
		wr.rkey = 0;
		wr.inl = tokens;
		wr.inline_len = sizeof(u64) * (1 + b % FUZZ_TOKENS);
	}
	if (cairn_wqe_ops[opcode].flags & CAIRN_WOP_PERSIST && b & 0x80)
		wr.flags |= CAIRN_WQE_EARLY;
	if (sim_queue_send(qp, &wr))
		sim_doorbell(qp);
}

static void good_recv(struct fuzz *fuzz)
{
	struct sim_qp *qp = some_qp(fuzz);
	struct cairn_sge sge = good_sge(fuzz, qp->host, 1024);

	if (sim_queue_recv(qp->rq, fuzz_byte(fuzz), &sge, 1) && qp->rq_rings)
		cairn_env_kick(&qp->c, CAIRN_RESP);
}

static void recv_wqe(struct fuzz *fuzz)
{
	struct sim_qp *qp = some_qp(fuzz);
	struct sim_rq *rq = qp->rq;
	struct cairn_recv_wqe wqe;
	u32 i;

	fuzz_bytes(fuzz, (u8 *)&wqe, sizeof(wqe));
	wqe.num_sge &= fuzz_byte(fuzz) & 3 ? 3 : 0xff;
	for (i = 0; i < 3; i++) {
		u64 addr = wqe.sge[i].addr;

		some_place(fuzz, qp->host, &addr, &wqe.sge[i].lkey);
		wqe.sge[i].addr = addr;
	}
	memcpy(sim_unit(rq->ring, rq->depth, rq->tail), &wqe, sizeof(wqe));
	rq->tail += rq->stride;
	if (qp->rq_rings)
		cairn_env_kick(&qp->c, CAIRN_RESP);
}

static void sq_pointer(struct fuzz *fuzz)
{
	struct sim_qp *qp = some_qp(fuzz);

	qp->sq_tail += fuzz_byte(fuzz) & 1 ? (s8)fuzz_byte(fuzz) : (s32)fuzz_word(fuzz);
	sim_doorbell(qp);
}

static void rq_pointer(struct fuzz *fuzz)
{
	struct sim_qp *qp = some_qp(fuzz);

	qp->rq->tail += fuzz_byte(fuzz) & 1 ? (s8)fuzz_byte(fuzz) : (s32)fuzz_word(fuzz);
}

/* Mostly one that the transport of the QP knows. */
static u8 some_opcode(struct fuzz *fuzz, const struct sim_qp *qp)
{
	u8 opcode = fuzz_byte(fuzz), n;

	if (opcode == CAIRN_BTH_CNP)
		return opcode;
	for (n = fuzz_byte(fuzz) & 7 ? 255 : 0; n; n--, opcode++)
		if (cairn_opcodes[opcode].name &&
		    cairn_opcodes[opcode].transport == qp->c.transport)
			break;
	return opcode;
}

/* Headers as the input wants them; number and place made to fit if asked. */
static void fuzz_packet(struct fuzz *fuzz)
{
	/* an ACK without and with credits, RNR NAKs, the NAKs that there are */
	static const u8 syndromes[] = { 0x1f, 0x05, 0x20, 0x60, 0x61, 0x62, 0x63, 0x64 };
	struct sim_qp *qp = some_qp(fuzz);
	struct cairn_pkt pkt = {
		.opcode = some_opcode(fuzz, qp),
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = qp->c.qpn,
		.payload_len = fuzz_byte(fuzz),
		.dma_len = fuzz_word(fuzz) & 0xffff,
		.syndrome = fuzz_byte(fuzz),
		.msn = fuzz_byte(fuzz),
		.imm = (__force __be32)5,
		.qkey = sim_attrs.qkey,
		.src_qpn = fuzz_byte(fuzz),
		.orig = 7,
		.swap_add = 1,
	};
	const struct cairn_opcode *op = &cairn_opcodes[pkt.opcode];
	u8 how = fuzz_byte(fuzz), payload[256] = { 0 };

	if (!op->name)
		return;
	if (how & 32) {
		pkt.syndrome = syndromes[pkt.syndrome & 7];
		pkt.durability = fuzz_byte(fuzz) & 3;
	}
	pkt.plt = how >> 6;
	pkt.sel = pkt.msn & 1;
	if (!(op->flags & CAIRN_OP_LAST) || how & 1)
		pkt.payload_len = 256;
	if (!(op->flags & CAIRN_OP_PAYLOAD))
		pkt.payload_len = 0;
	if (op->kind == CAIRN_KIND_CNP)
		pkt.payload_len = CAIRN_CNP_PAYLOAD;
	if (how & 2)
		pkt.dma_len = pkt.payload_len;
	pkt.psn = op->flags & CAIRN_OP_RESPONSE ? qp->c.req.una :
						  qp->c.resp.epsn;
	if (how & 4)
		pkt.psn = cairn_psn_add(pkt.psn, (s8)fuzz_byte(fuzz));
	pkt.ack_req = how & 8;
	some_place(fuzz, qp->host, &pkt.va, &pkt.rkey);
	if (cairn_state(&qp->c) != CAIRN_QP_ERR)
		fuzz_count.heard++;
	if (how & 16)
		sim_inject_part(qp, &pkt, payload);
	else
		sim_inject(qp, &pkt, payload);
	fuzz_count.packets++;
}

static void raw_packet(struct fuzz *fuzz)
{
	struct sim_qp *qp = some_qp(fuzz);
	u8 buf[CAIRN_MAX_HDR + 64];
	u32 len = fuzz_byte(fuzz) % (sizeof(buf) + 1);

	fuzz_bytes(fuzz, buf, len);
	if (len >= 12) {
		buf[5] = qp->c.qpn >> 16;
		buf[6] = qp->c.qpn >> 8;
		buf[7] = qp->c.qpn;
	}
	sim_inject_raw(fuzz->s, !qp->host, qp->host, buf, len);
	fuzz_count.packets++;
}

static void fuzz_release(struct fuzz *fuzz)
{
	u8 b = fuzz_byte(fuzz);
	struct sim_mr *mr = fuzz->mr[b & 1][b / 2 % REGIONS];

	mr->valid = !mr->valid;
}

/* The host releases the token of the latest receive that asks for a flush, or an invented
 * token.
 */
static void fuzz_token(struct fuzz *fuzz)
{
	struct sim_qp *qp = some_qp(fuzz);
	const struct sim_cq *cq = &qp->cq[CAIRN_RESP];
	u8 b = fuzz_byte(fuzz);
	u64 t = cq->n ? cq->log[cq->n - 1].cqe.persist_token : 0;

	sim_release(qp, b & 0x80 ? t ^ fuzz_word(fuzz) : t, b & 1);
}

static void connect_again(struct fuzz *fuzz)
{
	struct cairn_qp_attrs attrs = sim_attrs;

	attrs.pmtu = 256;
	attrs.timeout = fuzz_byte(fuzz) % 20;
	attrs.retry_cnt = fuzz_byte(fuzz) % 8;
	attrs.rnr_retry = fuzz_byte(fuzz) % 7;
	attrs.max_rd_atomic = 1 + fuzz_byte(fuzz) % 4;
	attrs.max_dest_rd_atomic = 4;
	attrs.cc = fuzz_byte(fuzz) & 1;
	sim_reset(fuzz->qp[0]);
	sim_reset(fuzz->qp[1]);
	sim_connect(fuzz->qp[0], fuzz->qp[1], &attrs);
}

/* Many packets to queue pairs that work, with requests for them to answer. */
static void packet_burst(struct fuzz *fuzz)
{
	u8 n = fuzz_byte(fuzz) & 63;

	while (n-- && fuzz->in.left) {
		if (cairn_state(&fuzz->qp[0]->c) == CAIRN_QP_ERR ||
		    cairn_state(&fuzz->qp[1]->c) == CAIRN_QP_ERR)
			connect_again(fuzz);
		if (!(n & 7)) {
			good_send(fuzz);
			good_recv(fuzz);
		}
		fuzz_packet(fuzz);
	}
}

static void fuzz_state(struct fuzz *fuzz)
{
	static const u8 states[] = { CAIRN_QP_RTR, CAIRN_QP_RTS, CAIRN_QP_SQD,
				     CAIRN_QP_SQE, CAIRN_QP_ERR };
	struct sim_qp *qp = some_qp(fuzz);
	u8 b = fuzz_byte(fuzz);

	if (b & 1)
		connect_again(fuzz);
	else
		sim_modify(qp, states[b / 2 % ARRAY_SIZE(states)]);
}

static void fuzz_network(struct fuzz *fuzz)
{
	fuzz->s->faults = (struct sim_faults){
		.loss = fuzz_byte(fuzz), .dup = fuzz_byte(fuzz),
		.late = fuzz_byte(fuzz), .split = 300,
		.late_ns = 100000,
	};
	fuzz->s->budget = fuzz_byte(fuzz) % 4;
	fuzz->qp[0]->mutate = fuzz_byte(fuzz) & 1;
}

static void fuzz_wait(struct fuzz *fuzz)
{
	sim_run(fuzz->s, fuzz_byte(fuzz) * 1000);
}

static void (*const steps[])(struct fuzz *z) = {
	send_wqe, recv_wqe, fuzz_packet, fuzz_packet, raw_packet, fuzz_wait, fuzz_wait,
	fuzz_release, sq_pointer, rq_pointer, fuzz_state, fuzz_network, fuzz_token,
	good_send, good_send, good_send, good_recv, good_recv, fuzz_wait, packet_burst,
};

static void fuzz_begin(struct fuzz *fuzz)
{
	static const u32 access[REGIONS] = {
		SIM_ALL | 1 << CAIRN_ACCESS_FLUSH_GLOBAL, SIM_LOCAL,
		1 << CAIRN_ACCESS_LOCAL_READ | 1 << CAIRN_ACCESS_REMOTE_READ,
		SIM_ALL,
	};
	static const u8 transports[] = { CAIRN_TRANSPORT_RC, CAIRN_TRANSPORT_RC,
					 CAIRN_TRANSPORT_UC,
					 CAIRN_TRANSPORT_UD };
	struct sim_qp_init init = sim_rc;
	u32 h, i;

	init.transport = transports[fuzz_byte(fuzz) & 3];
	init.sq_depth = 16;
	init.rq_depth = 16;
	init.rd_slots = 4;
	fuzz->s = sim_new_at("fuzz_engine", &fuzz_seed ? fuzz_seed : 1);
	fuzz->s->cc = (struct cairn_cc_params)CAIRN_DCQCN_DEFAULTS;
	for (h = 0; h < 2; h++) {
		fuzz->qp[h] = sim_qp(fuzz->s, h, &init);
		fuzz->qp[h]->hostile = true;
		for (i = 0; i < REGIONS; i++) {
			fuzz->mr[h][i] = i == OPEN && fuzz_byte(fuzz) & 1 ?
				sim_mr_persistent(fuzz->s, h, LEN,
						  access[i] | (h ? 0 : SIM_FLUSH),
						  h ? CAIRN_PERSIST_HOST :
						      CAIRN_PERSIST_NIC) :
				sim_mr(fuzz->s, h, LEN, access[i]);
			memcpy(fuzz->before[h][i], fuzz->mr[h][i]->mem, LEN);
		}
		fuzz->mr[h][OTHER_PD]->pd++;
		fuzz->mr[h][RECV]->remote_inv = true;
		fuzz->qp[h]->c.cc.line_kbps = 1000000;
		fuzz->s->host[h].ah[1] = (struct sim_ah){ true, !h };
	}
	connect_again(fuzz);
}

static void fuzz_end(struct fuzz *fuzz)
{
	u32 h;

	sim_run(fuzz->s, STEP_NS);
	sim_modify(fuzz->qp[0], CAIRN_QP_ERR);
	sim_modify(fuzz->qp[1], CAIRN_QP_ERR);
	sim_run(fuzz->s, STEP_NS);
	for (h = 0; h < 2; h++) {
		BUG_ON(memcmp(fuzz->mr[h][READ_ONLY]->mem,
			      fuzz->before[h][READ_ONLY], LEN));
		BUG_ON(memcmp(fuzz->mr[h][OTHER_PD]->mem,
			      fuzz->before[h][OTHER_PD], LEN));
	}
	if (fuzz->s->failures)
		fprintf(stderr, "%s\n", fuzz->s->why);
	BUG_ON(fuzz->s->failures);
	sim_free(fuzz->s);
}

static void fuzz_report(void)
{
	fprintf(stderr, "packets: %llu, %llu of them for a queue pair that listens\n",
		(unsigned long long)fuzz_count.packets,
		(unsigned long long)fuzz_count.heard);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	return atexit(fuzz_report);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct fuzz fuzz;
	u32 i;

	fuzz = (struct fuzz){ .in = { data, size } };
	fuzz_begin(&fuzz);
	for (i = 0; i < STEPS && fuzz.in.left; i++)
		steps[fuzz_byte(&fuzz) % ARRAY_SIZE(steps)](&fuzz);
	fuzz_end(&fuzz);
	return 0;
}
