// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder's ACKs, NAKs and PERSIST ACKs (IBTA 9.7.5.1, 9.7.5.2). They are noted
 * while requests are handled. One call at the end of a run sends them, behind the
 * responses of READs and atomics (engine/replay.c).
 */
#include "engine/aeth.h"
#include "engine/answer_resp.h"
#include "engine/persist_resp.h"

u8 cairn_answer_syndrome(struct cairn_qpc *qpc)
{
	int posted = cairn_env_rq_posted(qpc);

	/* Credits are relative to the MSN, so count the current receive, too. */
	if (posted >= 0 && qpc->resp.recv.valid)
		posted++;
	return CAIRN_AETH_ACK | cairn_aeth_encode_credits(posted);
}

void cairn_answer_nak(struct cairn_responder *resp, u32 psn, u8 syndrome)
{
	resp->nak.syndrome = syndrome;
	resp->nak.psn = psn;
	resp->nak.msn = resp->msn;
	resp->nak.due = true;
	resp->nak.sent = true;
}

void cairn_answer_fail(struct cairn_qpc *qpc, u32 psn, enum cairn_nak code)
{
	struct cairn_responder *resp = &qpc->resp;

	cairn_answer_nak(resp, psn, CAIRN_AETH_NAK | code);
	resp->nak.fatal = true;
	resp->nak.event = 0;
}

void cairn_answer_fatal(struct cairn_qpc *qpc, u32 psn, enum cairn_nak code,
			enum cairn_async event)
{
	cairn_answer_fail(qpc, psn, code);
	qpc->resp.nak.event = event + 1;
}

void cairn_answer_owe_ack(struct cairn_responder *resp, u32 psn)
{
	if (!resp->ack_due || cairn_psn_diff(psn, resp->ack_psn) > 0)
		resp->ack_psn = psn;
	resp->ack_due = true;
}

static void answer_emit(struct cairn_qpc *qpc, u8 opcode, u32 psn, u32 msn,
			u8 syndrome)
{
	struct cairn_train train = {
		.count = 1,
		.first = {
			.opcode = opcode,
			.pkey = qpc->attrs.pkey,
			.qpn = qpc->attrs.dqpn,
			.psn = psn,
			.syndrome = syndrome,
			.msn = msn,
			.durability = qpc->resp.persist.durability,
		},
	};

	cairn_env_emit(qpc, CAIRN_RESP, &train);
}

/* Return: false if it has to wait for the host. */
static bool answer_send_nak(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;
	u8 type = resp->nak.syndrome & CAIRN_AETH_TYPE_MASK;
	u32 psn = resp->nak.psn, msn = resp->nak.msn;

	/* Delay a NAK of a gap: with an earlier PSN it would cost a retry. */
	if (cairn_persist_limit(resp, &psn, &msn) && !resp->nak.fatal &&
	    type != CAIRN_AETH_RNR_NAK)
		return false;
	cairn_env_count(qpc, resp->nak.persist ? CAIRN_CTR_PERSIST_NAKS_SENT :
		      resp->nak.fatal ? CAIRN_CTR_FATAL_NAKS_SENT :
		      type == CAIRN_AETH_RNR_NAK ? CAIRN_CTR_RNR_NAKS_SENT :
						  CAIRN_CTR_SEQ_NAKS_SENT, 1);
	answer_emit(qpc,
		    resp->nak.persist ? CAIRN_BTH_PERSIST_ACK :
					qpc->prefix | CAIRN_BTH_ACK,
		    psn, msn, resp->nak.syndrome);
	resp->nak.due = false;
	resp->ack_due = false;
	resp->nak.persist = false;
	return true;
}

/* The connection ends: all answers are sent. */
static void answer_end(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	resp->nak.fatal = false;
	if (resp->nak.event)
		cairn_env_async(qpc, resp->nak.event - 1);
	cairn_qpc_fail(qpc);
}

/* A request came again whose answer waits for the host. Return: true if the peer is told
 * to wait, too.
 */
static bool answer_hold(struct cairn_qpc *qpc)
{
	u32 psn, msn;
	u8 syndrome = cairn_persist_hold(&qpc->resp, &psn, &msn);

	if (!syndrome)
		return false;
	cairn_env_count(qpc, CAIRN_CTR_RNR_NAKS_SENT, 1);
	answer_emit(qpc, qpc->prefix | CAIRN_BTH_ACK, psn, msn, syndrome);
	return true;
}

static void answer_send_ack(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 psn = resp->ack_psn, msn = resp->msn;

	resp->ack_due = false;
	if (!cairn_persist_may_ack(qpc, &psn, &msn))
		return;
	cairn_env_count(qpc, CAIRN_CTR_ACKS_SENT, 1);
	answer_emit(qpc, qpc->prefix | CAIRN_BTH_ACK, psn, msn,
		    cairn_answer_syndrome(qpc));
}

/* Send a PERSIST ACK of the watermark. It also acknowledges all packets before it. */
static void answer_send_persist_ack(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	resp->persist.ack_due = false;
	if (resp->ack_due &&
	    cairn_psn_diff(resp->ack_psn, resp->persist.durable_psn) <= 0)
		resp->ack_due = false;
	cairn_env_count(qpc, CAIRN_CTR_PERSIST_ACKS_SENT, 1);
	answer_emit(qpc, CAIRN_BTH_PERSIST_ACK, resp->persist.durable_psn,
		    resp->persist.durable_msn, cairn_answer_syndrome(qpc));
}

/* One answer tells all: a NAK, or else an RNR NAK while the host makes writes durable, or
 * else an ACK.
 */
static void answer_send_one(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	if (resp->nak.due && answer_send_nak(qpc))
		return;
	/* While a NAK waits, the peer must not give up. */
	if (resp->repeated && answer_hold(qpc))
		return;
	if (resp->ack_due && !resp->nak.due)
		answer_send_ack(qpc);
}

void cairn_answer_send(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	if (resp->persist.ack_due)
		answer_send_persist_ack(qpc);
	answer_send_one(qpc);
	resp->repeated = false;
	if (resp->nak.fatal)
		answer_end(qpc);
}
