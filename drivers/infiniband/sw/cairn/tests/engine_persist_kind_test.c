// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Answers name the kind of durability that the region has (Documentation/wire.rst). */
#include <errno.h>
#include "persist.h"

/* Check the durability in the @n-th completion of the writer. */
static void expect_durability(const struct rig *rig, u32 n, u8 durability)
{
	if (ktap_ok(send_cqes(rig) > n))
		ktap_eq(rig->a->cq[CAIRN_REQ].log[n].cqe.durability, durability);
}

static void post_into(const struct rig *rig, struct sim_mr *mr, u64 id, u32 len)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, CAIRN_WQE_WRITE_PERSIST, len);

	wr.wr_id = id;
	wr.remote_addr = mr->va;
	wr.rkey = mr->key;
	sim_post_send(rig->a, &wr);
}

static void write_into(const struct rig *rig, struct sim_mr *mr, u64 id)
{
	post_into(rig, mr, id, 100);
	sim_run(rig->s, SIM_SEC);
}

/* Regions of several kinds on one connection, and an ACK that is lost: the next
 * one stands for it.
 */
static void answers_name_the_weakest(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	struct sim_mr *other = sim_mr_persistent(rig.s, 1, 4096, SIM_ALL,
						 CAIRN_PERSIST_NIC);
	struct watch watched;

	rig.mb->durability = CAIRN_DURABILITY_EADR;
	other->durability = CAIRN_DURABILITY_EMULATED;
	write_into(&rig, rig.mb, 1);
	expect_durability(&rig, 0, CAIRN_DURABILITY_EADR);
	rig.mb->durability = CAIRN_DURABILITY_ADR;
	write_into(&rig, rig.mb, 2);
	expect_durability(&rig, 1, CAIRN_DURABILITY_ADR);
	rig.mb->durability = CAIRN_DURABILITY_EADR;
	persist_watch(&rig, &watched, 0, 0, 0);
	watched.drop = 1;
	post_into(&rig, other, 3, 100);
	post_into(&rig, rig.mb, 4, 100);
	sim_run(rig.s, SIM_SEC);
	ktap_eq(watched.drop, 0);
	expect_durability(&rig, 2, CAIRN_DURABILITY_EMULATED);
	expect_durability(&rig, 3, CAIRN_DURABILITY_EMULATED);
	sim_end(rig.s);
}

/* A peer that names the kind of one message only: the weakest one counts all the same. */
static void a_stronger_answer_changes_nothing(void)
{
	static const u8 kinds[] = { CAIRN_DURABILITY_EADR, CAIRN_DURABILITY_EMULATED,
				    CAIRN_DURABILITY_ADR };
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);
	u32 n;

	rig.s->dead[1] = true;
	for (n = 0; n < ARRAY_SIZE(kinds); n++) {
		struct cairn_pkt answer = {
			.opcode = CAIRN_BTH_PERSIST_ACK,
			.pkey = CAIRN_PKEY_DEFAULT,
			.qpn = rig.a->c.qpn,
			.psn = psn_of(&rig, n),
			.syndrome = CAIRN_AETH_ACK | CAIRN_AETH_VALUE_MASK,
			.msn = n + 1,
			.durability = kinds[n],
		};

		post_into(&rig, rig.mb, n, 100);
		sim_run(rig.s, SIM_US);
		sim_inject(rig.a, &answer, NULL);
		expect_durability(&rig, n, n ? CAIRN_DURABILITY_EMULATED : kinds[0]);
	}
	sim_end(rig.s);
}

/* Each kind with each length: one packet or many. */
static void every_length_names_its_kind(void)
{
	static const u32 lens[] = { 1, PMTU, PMTU + 1, 8 * PMTU, 40000 };
	enum cairn_durability kind;
	struct rig rig;
	u32 i;

	for (kind = CAIRN_DURABILITY_EADR; kind <= CAIRN_DURABILITY_EMULATED;
	     kind++) {
		for (i = 0; i < ARRAY_SIZE(lens); i++) {
			rig = persist_rig(cairn_persist_method(kind));
			rig.mb->durability = kind;
			empty_recvs(rig.b, 1, 1);
			post_into(&rig, rig.mb, 1, lens[i]);
			sim_run(rig.s, SIM_MS);
			if (kind == CAIRN_DURABILITY_HOST)
				ktap_eq(persist_release(&rig, 0, 0), 0);
			ktap_ok(sim_run(rig.s, SIM_SEC));
			expect_durability(&rig, 0, kind);
			sim_end(rig.s);
		}
	}
}

/* The answer that names the kind is lost, and the next is a failure. */
static void a_failure_names_the_kind(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct sim_mr *adr = sim_mr_persistent(rig.s, 1, 4096, SIM_ALL,
					       CAIRN_PERSIST_NIC);
	struct sim_mr *emulated = sim_mr_persistent(rig.s, 1, 4096, SIM_ALL,
						    CAIRN_PERSIST_NIC);
	struct watch watched;

	emulated->durability = CAIRN_DURABILITY_EMULATED;
	empty_recvs(rig.b, 1, 1);
	write_into(&rig, adr, 1);
	expect_durability(&rig, 0, CAIRN_DURABILITY_ADR);
	persist_watch(&rig, &watched, 0, 0, 0);
	watched.drop = 1;
	post_into(&rig, emulated, 2, 100);
	post_into(&rig, rig.mb, 3, 100);
	sim_run(rig.s, 100 * SIM_US);
	ktap_eq(watched.drop, 0);
	ktap_eq(persist_release(&rig, 0, EIO), 0);
	ktap_ok(sim_run(rig.s, LONG_TIME));
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_SUCCESS);
	expect_durability(&rig, 1, CAIRN_DURABILITY_EMULATED);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_REM_OP_ERR);
	expect_durability(&rig, 2, CAIRN_DURABILITY_UNKNOWN);
	sim_end(rig.s);
}

/* No byte, but a region: how does that become durable? */
static void persist_ask(const struct rig *rig, struct sim_mr *mr, u64 id)
{
	struct cairn_sge sge;
	struct sim_wr wr = rig_wr(rig, &sge, CAIRN_WQE_WRITE_PERSIST, 0);

	wr.wr_id = id;
	wr.remote_addr = mr ? mr->va : 0;
	wr.rkey = mr ? mr->key : 0;
	sim_post_send(rig->a, &wr);
	sim_run(rig->s, SIM_SEC);
}

static void empty_messages_ask(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);
	struct sim_mr *plain = sim_mr(rig.s, 1, 4096, SIM_ALL);

	persist_ask(&rig, NULL, 1);
	expect_durability(&rig, 0, CAIRN_DURABILITY_UNKNOWN);
	/* no host flush is requested for an empty message */
	persist_ask(&rig, rig.mb, 2);
	expect_durability(&rig, 1, CAIRN_DURABILITY_HOST);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 0);
	persist_ask(&rig, plain, 3);
	expect_cqe(rig.a, CAIRN_REQ, 2, 3, CAIRN_CQE_REM_ACCESS_ERR);
	sim_end(rig.s);

	rig = persist_rig(CAIRN_PERSIST_NIC);
	persist_ask(&rig, rig.mb, 1);
	expect_durability(&rig, 0, CAIRN_DURABILITY_ADR);
	rig.mb->access &= ~(1 << CAIRN_ACCESS_REMOTE_WRITE);
	persist_ask(&rig, rig.mb, 2);
	expect_cqe(rig.a, CAIRN_REQ, 1, 2, CAIRN_CQE_REM_ACCESS_ERR);
	sim_end(rig.s);
}

/* One without a region is reported when what was posted before it is durable. */
static void empty_messages_are_barriers(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_HOST);

	empty_recvs(rig.b, 1, 1);
	persist_first(&rig, 1, 3000);
	persist_ask(&rig, NULL, 2);
	ktap_eq(rig.b->cq[CAIRN_RESP].n, 1);
	ktap_eq(send_cqes(&rig), 0);
	persist_finish(&rig, 0);
	ktap_ok(is_durable(&rig, 0, 3000));
	expect_cqes(rig.a, CAIRN_REQ, 0, 1, 2, CAIRN_CQE_SUCCESS);
	sim_end(rig.s);
}

/* A kind that this device does not know, as a later one may send. */
static void strange_durability_is_unknown(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	rig.mb->durability = CAIRN_DURABILITY_EADR;
	write_into(&rig, rig.mb, 1);
	expect_durability(&rig, 0, CAIRN_DURABILITY_EADR);
	rig.mb->durability = CAIRN_DURABILITY_EMULATED + 1;
	write_into(&rig, rig.mb, 2);
	expect_durability(&rig, 1, CAIRN_DURABILITY_UNKNOWN);
	sim_end(rig.s);
}

static void received_names_no_durability(void)
{
	struct rig rig = persist_rig(CAIRN_PERSIST_NIC);

	empty_recvs(rig.a, 7, 1);
	persist_at(&rig, 1, 0, 100, CAIRN_WQE_EARLY);
	ktap_ok(sim_run(rig.s, SIM_SEC));
	expect_durability(&rig, 0, CAIRN_DURABILITY_UNKNOWN);
	ktap_eq(recv_cqe(rig.a, 0)->opcode, CAIRN_CQE_RECV_DURABLE);
	ktap_eq(recv_cqe(rig.a, 0)->durability, CAIRN_DURABILITY_ADR);
	sim_end(rig.s);
}

static const struct ktap_test tests[] = {
	KTAP(answers_name_the_weakest),
	KTAP(a_stronger_answer_changes_nothing),
	KTAP(every_length_names_its_kind),
	KTAP(a_failure_names_the_kind),
	KTAP(empty_messages_ask),
	KTAP(empty_messages_are_barriers),
	KTAP(strange_durability_is_unknown),
	KTAP(received_names_no_durability),
};

KTAP_MAIN(tests)
