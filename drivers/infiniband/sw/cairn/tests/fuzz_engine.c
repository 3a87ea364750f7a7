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

static u8 byte(struct fuzz *z)
{
	if (!z->in.left)
		return 0;
	z->in.left--;
	return *z->in.p++;
}

static u32 word(struct fuzz *z)
{
	u32 v = byte(z);

	v |= byte(z) << 8;
	v |= byte(z) << 16;
	return v | (u32)byte(z) << 24;
}

static void bytes(struct fuzz *z, u8 *buf, u32 len)
{
	while (len--)
		*buf++ = byte(z);
}

/* A key that means something, most of the time. */
static void some_place(struct fuzz *z, u32 host, u64 *va, u32 *key)
{
	u8 b = byte(z);
	struct sim_mr *mr = z->mr[host][b % REGIONS];

	if (b & 0x40)
		*key = mr->key;
	if (b & 0x80)
		*va = mr->va + byte(z) * 8;
}

static struct sim_qp *some_qp(struct fuzz *z)
{
	return z->qp[byte(z) & 1];
}

static void send_wqe(struct fuzz *z)
{
	struct sim_qp *qp = some_qp(z);
	u32 units = 1 + byte(z) % 3, i, host = qp->host, rkey;
	union cairn_wqe_buf b = { 0 };
	struct cairn_send_wqe *w = &b.send;
	u64 va;

	bytes(z, b.bytes, units * CAIRN_UNIT_SIZE);
	if (byte(z) & 7)
		w->units = units;
	va = w->remote_addr;
	rkey = w->rkey;
	some_place(z, !host, &va, &rkey);
	w->remote_addr = va;
	w->rkey = rkey;
	for (i = 0; i < 2; i++) {
		u64 addr = w->sge[i].addr;

		w->sge[i].length &= byte(z) & 1 ? ~0u : LEN - 1;
		some_place(z, host, &addr, &w->sge[i].lkey);
		w->sge[i].addr = addr;
	}
	for (i = 0; i < units; i++)
		memcpy(sim_unit(qp->sq, qp->c.sq_depth, qp->sq_tail + i),
		       b.bytes + i * CAIRN_UNIT_SIZE, CAIRN_UNIT_SIZE);
	qp->sq_tail += units;
	sim_doorbell(qp);
}

/* A piece of a region that may be read and written, or of another one. */
static struct cairn_sge good_sge(struct fuzz *z, u32 host, u32 len)
{
	u8 b = byte(z);
	struct sim_mr *mr = z->mr[host][b & 7 ? OPEN : b / 8 % REGIONS];

	return (struct cairn_sge){
		.addr = mr->va + byte(z) * 8, .length = len, .lkey = mr->key,
	};
}

/* A valid work request. */
static void good_send(struct fuzz *z)
{
	struct sim_qp *qp = some_qp(z);
	u8 opcode = byte(z) % CAIRN_WQE_OPCODES, b = byte(z);
	bool atomic = opcode == CAIRN_WQE_CAS || opcode == CAIRN_WQE_FAA;
	struct sim_mr *far = z->mr[!qp->host][b & 7 ? OPEN : b / 8 % REGIONS];
	struct cairn_sge sge[2] = {
		good_sge(z, qp->host, atomic ? 8 : byte(z) * 4),
		good_sge(z, qp->host, byte(z)),
	};
	struct sim_wr wr = {
		.wr_id = b, .opcode = opcode, .sge = sge,
		.num_sge = atomic ? 1 : b >> 6 & 1 ? 2 : 1,
		.flags = byte(z) & (CAIRN_WQE_SIGNALED | CAIRN_WQE_FENCE |
				    CAIRN_WQE_SOLICITED),
		.remote_addr = far->va + byte(z) * 8, .rkey = far->key,
		.imm_or_key = opcode == CAIRN_WQE_SEND_INV ?
			      z->mr[!qp->host][RECV]->key : b,
		.compare_add = b, .swap = 1,
		.flush_len = b * 8, .plt = b & 3, .sel = b >> 5 & 1,
		.ah = 1, .qpn = z->qp[!qp->host]->c.qpn, .qkey = sim_attrs.qkey,
	};

	if (opcode == CAIRN_WQE_LOCAL_INV)
		wr.imm_or_key = z->mr[qp->host][RECV]->key;
	if (opcode == CAIRN_WQE_WRITE_PERSIST && b & 0x80)
		wr.flags |= CAIRN_WQE_EARLY;
	if (sim_queue_send(qp, &wr))
		sim_doorbell(qp);
}

static void good_recv(struct fuzz *z)
{
	struct sim_qp *qp = some_qp(z);
	struct cairn_sge sge = good_sge(z, qp->host, 1024);

	if (sim_queue_recv(qp->rq, byte(z), &sge, 1) && qp->rq_rings)
		cairn_env_kick(&qp->c, CAIRN_RESP);
}

static void recv_wqe(struct fuzz *z)
{
	struct sim_qp *qp = some_qp(z);
	struct sim_rq *rq = qp->rq;
	struct cairn_recv_wqe w;
	u32 i;

	bytes(z, (u8 *)&w, sizeof(w));
	w.num_sge &= byte(z) & 3 ? 3 : 0xff;
	for (i = 0; i < 3; i++) {
		u64 addr = w.sge[i].addr;

		some_place(z, qp->host, &addr, &w.sge[i].lkey);
		w.sge[i].addr = addr;
	}
	memcpy(sim_unit(rq->ring, rq->depth, rq->tail), &w, sizeof(w));
	rq->tail += rq->stride;
	if (qp->rq_rings)
		cairn_env_kick(&qp->c, CAIRN_RESP);
}

static void sq_pointer(struct fuzz *z)
{
	struct sim_qp *qp = some_qp(z);

	qp->sq_tail += byte(z) & 1 ? (s8)byte(z) : (s32)word(z);
	sim_doorbell(qp);
}

static void rq_pointer(struct fuzz *z)
{
	struct sim_qp *qp = some_qp(z);

	qp->rq->tail += byte(z) & 1 ? (s8)byte(z) : (s32)word(z);
}

/* Mostly one that the transport of the QP knows. */
static u8 some_opcode(struct fuzz *z, const struct sim_qp *qp)
{
	u8 opcode = byte(z), n;

	if (opcode == CAIRN_BTH_CNP)
		return opcode;
	for (n = byte(z) & 7 ? 255 : 0; n; n--, opcode++)
		if (cairn_opcodes[opcode].name &&
		    cairn_opcodes[opcode].transport == qp->c.transport)
			break;
	return opcode;
}

/* Headers as the input wants them; number and place made to fit if asked. */
static void packet(struct fuzz *z)
{
	/* an ACK without and with credits, RNR NAKs, the NAKs that there are */
	static const u8 syndromes[] = { 0x1f, 0x05, 0x20, 0x60, 0x61, 0x62, 0x63, 0x64 };
	struct sim_qp *qp = some_qp(z);
	struct cairn_pkt pkt = {
		.opcode = some_opcode(z, qp),
		.pkey = CAIRN_PKEY_DEFAULT,
		.qpn = qp->c.qpn,
		.payload_len = byte(z),
		.dma_len = word(z) & 0xffff,
		.syndrome = byte(z),
		.msn = byte(z),
		.imm = (__force __be32)5,
		.qkey = sim_attrs.qkey,
		.src_qpn = byte(z),
		.orig = 7,
		.swap_add = 1,
	};
	const struct cairn_opcode *op = &cairn_opcodes[pkt.opcode];
	u8 how = byte(z), payload[256] = { 0 };

	if (!op->name)
		return;
	if (how & 32) {
		pkt.syndrome = syndromes[pkt.syndrome & 7];
		pkt.durability = byte(z) & 3;
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
		pkt.psn = cairn_psn_add(pkt.psn, (s8)byte(z));
	pkt.ack_req = how & 8;
	some_place(z, qp->host, &pkt.va, &pkt.rkey);
	if (cairn_state(&qp->c) != CAIRN_QP_ERR)
		fuzz_count.heard++;
	if (how & 16)
		sim_inject_part(qp, &pkt, payload);
	else
		sim_inject(qp, &pkt, payload);
	fuzz_count.packets++;
}

static void raw_packet(struct fuzz *z)
{
	struct sim_qp *qp = some_qp(z);
	u8 buf[CAIRN_MAX_HDR + 64];
	u32 len = byte(z) % (sizeof(buf) + 1);

	bytes(z, buf, len);
	if (len >= 12) {
		buf[5] = qp->c.qpn >> 16;
		buf[6] = qp->c.qpn >> 8;
		buf[7] = qp->c.qpn;
	}
	sim_inject_raw(z->s, !qp->host, qp->host, buf, len);
	fuzz_count.packets++;
}

static void release(struct fuzz *z)
{
	u8 b = byte(z);
	struct sim_mr *mr = z->mr[b & 1][b / 2 % REGIONS];

	mr->valid = !mr->valid;
}

/* The host releases the token of the latest receive that asks for a flush, or an invented
 * token.
 */
static void token(struct fuzz *z)
{
	struct sim_qp *qp = some_qp(z);
	const struct sim_cq *cq = &qp->cq[CAIRN_RESP];
	u8 b = byte(z);
	u64 t = cq->n ? cq->log[cq->n - 1].cqe.persist_token : 0;

	sim_release(qp, b & 0x80 ? t ^ word(z) : t, b & 1);
}

static void connect_again(struct fuzz *z)
{
	struct cairn_qp_attrs attrs = sim_attrs;

	attrs.pmtu = 256;
	attrs.timeout = byte(z) % 20;
	attrs.retry_cnt = byte(z) % 8;
	attrs.rnr_retry = byte(z) % 7;
	attrs.max_rd_atomic = 1 + byte(z) % 4;
	attrs.max_dest_rd_atomic = 4;
	attrs.cc = byte(z) & 1;
	sim_reset(z->qp[0]);
	sim_reset(z->qp[1]);
	sim_connect(z->qp[0], z->qp[1], &attrs);
}

/* Many packets to queue pairs that work, with requests for them to answer. */
static void packet_burst(struct fuzz *z)
{
	u8 n = byte(z) & 63;

	while (n-- && z->in.left) {
		if (cairn_state(&z->qp[0]->c) == CAIRN_QP_ERR ||
		    cairn_state(&z->qp[1]->c) == CAIRN_QP_ERR)
			connect_again(z);
		if (!(n & 7)) {
			good_send(z);
			good_recv(z);
		}
		packet(z);
	}
}

static void state(struct fuzz *z)
{
	static const u8 states[] = { CAIRN_QP_RTR, CAIRN_QP_RTS, CAIRN_QP_SQD,
				     CAIRN_QP_SQE, CAIRN_QP_ERR };
	struct sim_qp *qp = some_qp(z);
	u8 b = byte(z);

	if (b & 1)
		connect_again(z);
	else
		sim_modify(qp, states[b / 2 % ARRAY_SIZE(states)]);
}

static void network(struct fuzz *z)
{
	z->s->faults = (struct sim_faults){
		.loss = byte(z), .dup = byte(z), .late = byte(z), .split = 300,
		.late_ns = 100000,
	};
	z->s->budget = byte(z) % 4;
	z->qp[0]->mutate = byte(z) & 1;
}

static void wait(struct fuzz *z)
{
	sim_run(z->s, byte(z) * 1000);
}

static void (*const steps[])(struct fuzz *z) = {
	send_wqe, recv_wqe, packet, packet, raw_packet, wait, wait, release,
	sq_pointer, rq_pointer, state, network, token,
	good_send, good_send, good_send, good_recv, good_recv, wait, packet_burst,
};

static void begin(struct fuzz *z)
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

	init.transport = transports[byte(z) & 3];
	init.sq_depth = 16;
	init.rq_depth = 16;
	init.rd_slots = 4;
	z->s = sim_new_at("fuzz_engine", &fuzz_seed ? fuzz_seed : 1);
	z->s->cc = (struct cairn_cc_params)CAIRN_DCQCN_DEFAULTS;
	for (h = 0; h < 2; h++) {
		z->qp[h] = sim_qp(z->s, h, &init);
		z->qp[h]->hostile = true;
		for (i = 0; i < REGIONS; i++) {
			z->mr[h][i] = i == OPEN && byte(z) & 1 ?
				sim_mr_persistent(z->s, h, LEN,
						  access[i] | (h ? 0 : SIM_FLUSH),
						  h ? CAIRN_PERSIST_HOST :
						      CAIRN_PERSIST_NIC) :
				sim_mr(z->s, h, LEN, access[i]);
			memcpy(z->before[h][i], z->mr[h][i]->mem, LEN);
		}
		z->mr[h][OTHER_PD]->pd++;
		z->mr[h][RECV]->remote_inv = true;
		z->qp[h]->c.cc.line_kbps = 1000000;
		z->s->host[h].ah[1] = (struct sim_ah){ true, !h };
	}
	connect_again(z);
}

static void end(struct fuzz *z)
{
	u32 h;

	sim_run(z->s, STEP_NS);
	sim_modify(z->qp[0], CAIRN_QP_ERR);
	sim_modify(z->qp[1], CAIRN_QP_ERR);
	sim_run(z->s, STEP_NS);
	for (h = 0; h < 2; h++) {
		BUG_ON(memcmp(z->mr[h][READ_ONLY]->mem,
			      z->before[h][READ_ONLY], LEN));
		BUG_ON(memcmp(z->mr[h][OTHER_PD]->mem,
			      z->before[h][OTHER_PD], LEN));
	}
	if (z->s->failures)
		fprintf(stderr, "%s\n", z->s->why);
	BUG_ON(z->s->failures);
	sim_free(z->s);
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
	static struct fuzz z;
	u32 i;

	z = (struct fuzz){ .in = { data, size } };
	begin(&z);
	for (i = 0; i < STEPS && z.in.left; i++)
		steps[byte(&z) % ARRAY_SIZE(steps)](&z);
	end(&z);
	return 0;
}
