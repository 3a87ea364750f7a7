// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* UD: datagrams with a Q_Key, the GRH in front (IBTA 9.8.3, 11.4.1.2). */
#include "engine.h"

#define QKEY	0x22222222
#define AH_B	1		/* a's address handle of host 1 */
#define AH_C	2

struct world {
	struct sim *s;
	struct sim_qp *a, *b;
	struct sim_mr *ma, *mb;
};

static struct world ud_world(u64 seed)
{
	struct cairn_qp_attrs attrs = sim_attrs;
	struct world scene = { .s = sim_new(seed) };

	attrs.qkey = QKEY;
	scene.s->record = true;
	scene.a = sim_qp(scene.s, 0, &sim_ud);
	scene.b = sim_qp(scene.s, 1, &sim_ud);
	scene.ma = sim_mr(scene.s, 0, 8192, SIM_ALL);
	scene.mb = sim_mr(scene.s, 1, 8192, SIM_ALL);
	scene.s->host[0].ah[AH_B] = (struct sim_ah){ true, 1 };
	scene.s->host[0].ah[AH_C] = (struct sim_ah){ true, 2 };
	sim_to_rts(scene.a, 0, 0, &attrs, 0, 7);
	sim_to_rts(scene.b, 0, 0, &attrs, 0, 0);
	return scene;
}

static struct sim_wr ud_datagram(struct world *world, struct cairn_sge *sge, u64 id,
				 u32 len)
{
	*sge = sim_sge(world->ma, 0, len);
	return (struct sim_wr){
		.wr_id = id,
		.opcode = CAIRN_WQE_SEND,
		.flags = CAIRN_WQE_SIGNALED,
		.sge = sge,
		.num_sge = 1,
		.ah = AH_B,
		.qpn = world->b->c.qpn,
		.qkey = QKEY,
	};
}

static void ud_send(struct world *world, u64 id, u32 len)
{
	struct cairn_sge sge;
	struct sim_wr wr = ud_datagram(world, &sge, id, len);

	sim_post_send(world->a, &wr);
}

static void ud_recv(struct world *world, u64 id, u32 len)
{
	struct cairn_sge sge = sim_sge(world->mb, 0, len);

	sim_post_recv(world->b, id, &sge, 1);
}

static const struct cairn_cqe *ud_cqe(struct world *world, u32 n)
{
	return &world->b->cq[CAIRN_RESP].log[n].cqe;
}

static void every_size(void)
{
	static const u32 sizes[] = { 0, 1, 3, 4, 5, 1023, 1024 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct world scene = ud_world(i);
		u8 before[8192];

		memcpy(before, scene.mb->mem, 8192);
		ud_recv(&scene, 21, 40 + 1024);
		ud_send(&scene, 1, sizes[i]);
		ktap_ok(sim_run(scene.s, SIM_SEC));
		expect_cqe(scene.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
		if (!expect_cqe(scene.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS))
			break;
		ktap_eq(ud_cqe(&scene, 0)->byte_len, 40 + sizes[i]);
		ktap_eq(ud_cqe(&scene, 0)->opcode, CAIRN_CQE_RECV);
		ktap_eq(ud_cqe(&scene, 0)->src_qp, scene.a->c.qpn);
		ktap_eq(ud_cqe(&scene, 0)->flags, CAIRN_CQE_GRH | CAIRN_CQE_IPV4);
		/* bytes 20 to 39: the IPv4 header, from 10.0.0.1 */
		ktap_eq(scene.mb->mem[20], 0x45);
		ktap_eq(scene.mb->mem[20 + 15], 1);
		ktap_mem_eq(scene.mb->mem + 40, scene.ma->mem, sizes[i]);
		ktap_mem_eq(scene.mb->mem + 40 + sizes[i], before + 40 + sizes[i],
			    8192 - 40 - sizes[i]);
		sim_end(scene.s);
	}
}

static u32 trains_sent(const struct world *world)
{
	u32 i, n = 0, last = ~0u;

	for (i = 0; i < world->s->n_sent; i++) {
		n += world->s->sent[i].train != last;
		last = world->s->sent[i].train;
	}
	return n;
}

/* Equal ones to one address handle leave as a train, to any QPs there. */
static void datagrams_alike(void)
{
	static const u32 ahs[] = { AH_B, AH_B, AH_B, AH_C, AH_B, AH_B };
	struct world scene = ud_world(1);
	struct cairn_sge sge;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ahs); i++) {
		struct sim_wr wr = ud_datagram(&scene, &sge, i, 100);

		ud_recv(&scene, i, 200);
		sge.addr += 100 * i;
		wr.ah = ahs[i];
		wr.qpn += i == 1;	/* no such QP */
		ktap_ok(sim_queue_send(scene.a, &wr));
	}
	sim_doorbell(scene.a);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqes(scene.a, CAIRN_REQ, 0, 0, 5, CAIRN_CQE_SUCCESS);
	ktap_eq(trains_sent(&scene), 3);
	ktap_eq(scene.b->cq[CAIRN_RESP].n, 4);
	ktap_mem_eq(scene.mb->mem + 40, scene.ma->mem + 500, 100);
	sim_end(scene.s);
}

/* One of them has memory that is not there: those before it leave. */
static void a_bad_one_among_them(void)
{
	struct world scene = ud_world(1);
	struct cairn_sge sge;
	u32 i;

	for (i = 0; i < 6; i++) {
		struct sim_wr wr = ud_datagram(&scene, &sge, i, 100);

		ud_recv(&scene, i, 200);
		sge.lkey ^= i == 3;
		ktap_ok(sim_queue_send(scene.a, &wr));
	}
	sim_doorbell(scene.a);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqes(scene.a, CAIRN_REQ, 0, 0, 2, CAIRN_CQE_SUCCESS);
	expect_cqe(scene.a, CAIRN_REQ, 3, 3, CAIRN_CQE_LOC_PROT_ERR);
	expect_cqes(scene.b, CAIRN_RESP, 0, 0, 2, CAIRN_CQE_SUCCESS);
	ktap_eq(scene.b->cq[CAIRN_RESP].n, 3);
	sim_end(scene.s);
}

static void immediate_and_solicited(void)
{
	struct world scene = ud_world(1);
	struct cairn_sge sge;
	struct sim_wr wr = ud_datagram(&scene, &sge, 1, 100);

	ud_recv(&scene, 21, 200);
	wr.opcode = CAIRN_WQE_SEND_IMM;
	wr.flags |= CAIRN_WQE_SOLICITED;
	wr.imm_or_key = 0x12345678;
	sim_post_send(scene.a, &wr);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqe(scene.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_eq(ud_cqe(&scene, 0)->flags, CAIRN_CQE_GRH | CAIRN_CQE_IPV4 |
		CAIRN_CQE_WITH_IMM | CAIRN_CQE_SOLICITED);
	ktap_eq(ud_cqe(&scene, 0)->imm_or_key, 0x12345678);
	sim_end(scene.s);
}

static void inline_data(void)
{
	struct world scene = ud_world(1);
	struct cairn_sge sge;
	struct sim_wr wr = ud_datagram(&scene, &sge, 1, 0);
	u8 data[512];

	memset(data, 0x77, sizeof(data));
	ud_recv(&scene, 21, 600);
	wr.flags |= CAIRN_WQE_INLINE;
	wr.inl = data;
	wr.inline_len = sizeof(data);
	sim_post_send(scene.a, &wr);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	ktap_mem_eq(scene.mb->mem + 40, data, sizeof(data));
	sim_end(scene.s);
}

/* The GRH is part of what the entries receive, wherever they end. */
static void grh_across_entries(void)
{
	struct world scene = ud_world(1);
	struct cairn_sge sge[3] = {
		sim_sge(scene.mb, 0, 25),
		sim_sge(scene.mb, 1000, 20),
		sim_sge(scene.mb, 2000, 100),
	};

	sim_post_recv(scene.b, 21, sge, 3);
	ud_send(&scene, 1, 50);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqe(scene.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_eq(ud_cqe(&scene, 0)->byte_len, 90);
	ktap_mem_eq(scene.mb->mem + 1015, scene.ma->mem, 5);
	ktap_mem_eq(scene.mb->mem + 2000, scene.ma->mem + 5, 45);
	sim_end(scene.s);
}

static void wrong_qkey(void)
{
	struct world scene = ud_world(1);
	struct cairn_sge sge;
	struct sim_wr wr = ud_datagram(&scene, &sge, 1, 100);

	ud_recv(&scene, 21, 200);
	wr.qkey = QKEY + 1;
	sim_post_send(scene.a, &wr);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	ktap_eq(scene.b->cq[CAIRN_RESP].n, 0);
	ktap_eq(scene.b->count[CAIRN_CTR_RX_QKEY_ERRORS], 1);
	/* the top bit asks for the QP's own (IBTA 10.2.5) */
	wr.qkey = 0x80000000 | 5;
	sim_post_send(scene.a, &wr);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqe(scene.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	sim_end(scene.s);
}

/* Shorter than GRH and payload: dropped, the receive serves the next. */
static void receive_too_short(void)
{
	static const u32 rooms[] = { 0, 39, 40, 139 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		struct world scene = ud_world(i);
		u8 before[8192];

		memcpy(before, scene.mb->mem, 8192);
		ud_recv(&scene, 21, rooms[i]);
		ud_recv(&scene, 22, 40 + 100);
		ud_send(&scene, 1, 100);
		ktap_ok(sim_run(scene.s, SIM_SEC));
		ktap_eq(scene.b->cq[CAIRN_RESP].n, 0);
		ktap_eq(scene.b->count[CAIRN_CTR_RX_TOO_LONG], 1);
		ktap_mem_eq(scene.mb->mem, before, 8192);
		if (rooms[i] >= 40) {
			ud_send(&scene, 2, 0);
			ktap_ok(sim_run(scene.s, SIM_SEC));
			expect_cqe(scene.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
			ud_send(&scene, 3, 100);
			ktap_ok(sim_run(scene.s, SIM_SEC));
			expect_cqe(scene.b, CAIRN_RESP, 1, 22, CAIRN_CQE_SUCCESS);
		}
		ktap_eq(scene.b->c.state, CAIRN_QP_RTS);
		sim_end(scene.s);
	}
}

static void no_receive(void)
{
	struct world scene = ud_world(1);

	ud_send(&scene, 1, 100);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqe(scene.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	ktap_eq(scene.b->count[CAIRN_CTR_RX_NO_WQE], 1);
	ud_recv(&scene, 21, 200);
	ud_send(&scene, 2, 100);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqe(scene.b, CAIRN_RESP, 0, 21, CAIRN_CQE_SUCCESS);
	ktap_eq(scene.b->cq[CAIRN_RESP].n, 1);
	sim_end(scene.s);
}

/* The send queue stops with what it can not send, and starts again. */
static void stops_and_goes_on(void (*spoil)(struct sim_wr *wr,
					    struct cairn_sge *sge), u8 status)
{
	struct world scene = ud_world(1);
	struct cairn_sge sge;
	struct sim_wr wr = ud_datagram(&scene, &sge, 2, 100);

	ud_recv(&scene, 21, 200);
	ud_recv(&scene, 22, 200);
	ud_send(&scene, 1, 100);
	spoil(&wr, &sge);
	sim_post_send(scene.a, &wr);
	ud_send(&scene, 3, 100);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqe(scene.a, CAIRN_REQ, 0, 1, CAIRN_CQE_SUCCESS);
	expect_cqe(scene.a, CAIRN_REQ, 1, 2, status);
	expect_cqe(scene.a, CAIRN_REQ, 2, 3, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(scene.a->c.state, CAIRN_QP_SQE);
	sim_modify(scene.a, CAIRN_QP_RTS);
	ud_send(&scene, 4, 100);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqe(scene.a, CAIRN_REQ, 3, 4, CAIRN_CQE_SUCCESS);
	expect_cqes(scene.b, CAIRN_RESP, 0, 21, 22, CAIRN_CQE_SUCCESS);
	sim_end(scene.s);
}

static void spoil_length(struct sim_wr *wr, struct cairn_sge *sge)
{
	sge->length = 1025;
}

static void spoil_ah(struct sim_wr *wr, struct cairn_sge *sge)
{
	wr->ah = 5;
}

static void spoil_ah_far(struct sim_wr *wr, struct cairn_sge *sge)
{
	wr->ah = ~0u;
}

static void spoil_key(struct sim_wr *wr, struct cairn_sge *sge)
{
	sge->lkey ^= 1;
}

static void spoil_opcode(struct sim_wr *wr, struct cairn_sge *sge)
{
	wr->opcode = CAIRN_WQE_WRITE;
}

static void longer_than_the_pmtu(void)
{
	stops_and_goes_on(spoil_length, CAIRN_CQE_LOC_LEN_ERR);
}

static void bad_address_handles(void)
{
	stops_and_goes_on(spoil_ah, CAIRN_CQE_LOC_QP_OP_ERR);
	stops_and_goes_on(spoil_ah_far, CAIRN_CQE_LOC_QP_OP_ERR);
}

static void bad_local_key(void)
{
	stops_and_goes_on(spoil_key, CAIRN_CQE_LOC_PROT_ERR);
}

static void other_operations(void)
{
	stops_and_goes_on(spoil_opcode, CAIRN_CQE_LOC_QP_OP_ERR);
}

/* A receive that can not be used is the host's fault: that QP ends. */
static void receive_with_a_bad_key(void)
{
	struct world scene = ud_world(1);
	struct cairn_sge sge = sim_sge(scene.mb, 0, 200);

	sge.lkey ^= 1;
	sim_post_recv(scene.b, 21, &sge, 1);
	ud_recv(&scene, 22, 200);
	ud_send(&scene, 1, 100);
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqe(scene.b, CAIRN_RESP, 0, 21, CAIRN_CQE_LOC_PROT_ERR);
	expect_cqe(scene.b, CAIRN_RESP, 1, 22, CAIRN_CQE_WR_FLUSH_ERR);
	ktap_eq(scene.b->c.state, CAIRN_QP_ERR);
	sim_end(scene.s);
}

/* One QP talks to many; each packet has its own PSN. */
static void many_destinations(void)
{
	struct world scene = ud_world(1);
	struct sim_qp *qp = sim_qp(scene.s, 2, &sim_ud);
	struct sim_mr *mc = sim_mr(scene.s, 2, 8192, SIM_ALL);
	struct cairn_qp_attrs attrs = sim_attrs;
	u32 i;

	attrs.qkey = QKEY;
	sim_to_rts(qp, 0, 0, &attrs, 0, 0);
	for (i = 0; i < 20; i++) {
		struct cairn_sge sge, to = sim_sge(mc, i * 100, 100);
		struct sim_wr wr = ud_datagram(&scene, &sge, i, 60);

		if (i & 1) {
			wr.ah = AH_C;
			wr.qpn = qp->c.qpn;
			sim_post_recv(qp, i, &to, 1);
		} else {
			ud_recv(&scene, i, 100);
		}
		sim_post_send(scene.a, &wr);
	}
	ktap_ok(sim_run(scene.s, SIM_SEC));
	expect_cqes(scene.a, CAIRN_REQ, 0, 0, 19, CAIRN_CQE_SUCCESS);
	ktap_eq(scene.b->cq[CAIRN_RESP].n, 10);
	ktap_eq(qp->cq[CAIRN_RESP].n, 10);
	for (i = 0; i < scene.s->n_sent; i++)
		ktap_eq(scene.s->sent[i].pkt.psn, 7 + i);
	sim_end(scene.s);
}

static const struct ktap_test tests[] = {
	KTAP(every_size),
	KTAP(datagrams_alike),
	KTAP(a_bad_one_among_them),
	KTAP(immediate_and_solicited),
	KTAP(inline_data),
	KTAP(grh_across_entries),
	KTAP(wrong_qkey),
	KTAP(receive_too_short),
	KTAP(no_receive),
	KTAP(longer_than_the_pmtu),
	KTAP(bad_address_handles),
	KTAP(bad_local_key),
	KTAP(other_operations),
	KTAP(receive_with_a_bad_key),
	KTAP(many_destinations),
};

KTAP_MAIN(tests)
