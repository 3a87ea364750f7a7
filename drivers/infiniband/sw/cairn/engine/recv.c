// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The receive of the message that is arriving: taken from the receive queue or SRQ,
 * filled, completed, or flushed (IBTA 10.7.3, 10.8.2).
 */
#include <linux/errno.h>
#include "engine/persist_resp.h"
#include "engine/recv.h"
#include "engine/refuse.h"
#include "engine/responder.h"
#include "engine/tally.h"
#include "engine/wqe.h"

static const struct cairn_sge *recv_sges(struct cairn_responder *resp)
{
	return (void *)(resp->rwqe->bytes + CAIRN_RECV_SGE_OFFSET);
}

/* The data of a WRITE is not in the receive: name it if it is durable. */
static void recv_name_write(const struct cairn_responder *resp,
			    struct cairn_cqe *cqe)
{
	cqe->opcode = CAIRN_CQE_RECV_IMM;
	cqe->durability = resp->msg.durability;
	if (cqe->durability)
		cqe->persist_va = resp->msg.va - resp->msg.received;
}

/* Data that peers wrote before it is made durable first. */
bool cairn_recv_complete(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			 u8 status)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_cqe cqe = {
		.wr_id = resp->rwqe->recv.wr_id,
		.qpn = qpc->qpn,
		.opcode = CAIRN_CQE_RECV,
		.status = status,
	};

	if (pkt && !status) {
		cairn_persist_fence(qpc);
		cqe.byte_len = resp->msg.received;
		cqe.psn = pkt->psn;
		if (pkt->op->kind == CAIRN_KIND_WRITE ||
		    pkt->op->kind == CAIRN_KIND_WRITE_PERSIST)
			recv_name_write(resp, &cqe);
		if (pkt->op->hdrs & CAIRN_HDR_IMMDT) {
			cqe.flags |= CAIRN_CQE_WITH_IMM;
			cqe.imm_or_key = (__force u32)pkt->imm;
		}
		if (pkt->op->hdrs & CAIRN_HDR_IETH) {
			cqe.flags |= CAIRN_CQE_WITH_INV;
			cqe.imm_or_key = pkt->rkey;
		}
		if (pkt->op->hdrs & CAIRN_HDR_DETH) {
			u16 vlan = 0;

			cqe.src_qp = pkt->src_qpn;
			cqe.flags |= cairn_env_grh_flags(pkt, &vlan);
			cqe.vlan = vlan;
		}
		if (pkt->solicited)
			cqe.flags |= CAIRN_CQE_SOLICITED;
	}
	if (!cairn_tally_post(qpc, CAIRN_RESP, &cqe))
		return false;
	resp->recv.valid = false;
	return true;
}

void cairn_recv_fail(struct cairn_qpc *qpc, u8 status)
{
	if (!cairn_recv_complete(qpc, NULL, status))
		qpc->resp.recv.status = status;
}

/* The write pointer of the receive ring is out of range. Report one event. */
static bool recv_bad_ring(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	cairn_env_count(qpc, CAIRN_CTR_BAD_RINGS, 1);
	return cairn_refuse_fatal(qpc, pkt);
}

static bool recv_too_long(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	if (cairn_qp_reliable(qpc))
		return cairn_refuse_recv(qpc, pkt, CAIRN_CQE_LOC_LEN_ERR,
					 CAIRN_NAK_INVALID_REQUEST);
	cairn_env_count(qpc, CAIRN_CTR_RX_TOO_LONG, 1);
	qpc->resp.msg.kind = CAIRN_KIND_NONE;
	return false;
}

/* If the SRQ of the receive was destroyed, the receive went with it. */
bool cairn_recv_flush(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	if (resp->recv.valid && cairn_resp_srq(qpc, resp->srqn))
		resp->recv.valid = false;
	if (resp->recv.valid &&
	    !cairn_recv_complete(qpc, NULL, resp->recv.status ?:
				 CAIRN_CQE_WR_FLUSH_ERR))
		return false;
	resp->recv.status = 0;
	return true;
}

bool cairn_recv_take(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	u8 status;
	int units;

	if (resp->recv.valid)
		return true;
	units = cairn_env_rq_take(qpc, resp->rwqe);
	if (!units) {
		if (!pkt->kept)
			cairn_env_rq_starved(qpc);
		return cairn_refuse_not_ready(qpc, pkt);
	}
	if (units < 0)
		return recv_bad_ring(qpc, pkt);
	resp->recv.valid = true;
	status = cairn_wqe_check_recv(qpc, resp->rwqe, units, &resp->recv.len);
	if (!status)
		return true;
	cairn_env_count(qpc, CAIRN_CTR_BAD_WQES, 1);
	return cairn_refuse_recv(qpc, pkt, status, CAIRN_NAK_REMOTE_OP);
}

bool cairn_recv_place(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_span to = {
		.sge = recv_sges(resp),
		.num_sge = resp->rwqe->recv.num_sge,
		.offset = resp->msg.received,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
		.side = CAIRN_RESP,
	};
	int err = 0;

	if (pkt->payload_len > resp->recv.len - resp->msg.received)
		return !pkt->kept && recv_too_long(qpc, pkt);
	if (pkt->payload_len)
		err = cairn_env_place(qpc, &to, pkt, pkt->payload_len);
	if (err == -EAGAIN)
		return cairn_refuse_not_present(qpc, pkt);
	if (err)
		return !pkt->kept &&
		       cairn_refuse_recv(qpc, pkt, CAIRN_CQE_LOC_PROT_ERR,
					 CAIRN_NAK_REMOTE_OP);
	resp->msg.received += pkt->payload_len;
	return true;
}

void cairn_recv_datagram(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	u8 grh[CAIRN_GRH_LEN];
	struct cairn_span to;
	int err;

	if (!cairn_recv_take(qpc, pkt))
		return;
	if (resp->recv.len < CAIRN_GRH_LEN + pkt->payload_len) {
		recv_too_long(qpc, pkt);
		return;
	}
	to = (struct cairn_span){
		.sge = recv_sges(resp),
		.num_sge = resp->rwqe->recv.num_sge,
		.more = pkt->payload_len,
		.access = CAIRN_ACCESS_LOCAL_WRITE,
		.side = CAIRN_RESP,
	};
	cairn_env_grh(pkt, grh);
	err = cairn_env_place_bytes(qpc, &to, grh, CAIRN_GRH_LEN);
	if (err) {
		if (err == -EAGAIN)
			cairn_refuse_not_present(qpc, pkt);
		else
			cairn_refuse_recv(qpc, pkt, CAIRN_CQE_LOC_PROT_ERR, 0);
		return;
	}
	resp->msg.received = CAIRN_GRH_LEN;
	if (!cairn_recv_place(qpc, pkt))
		return;
	if (!cairn_recv_complete(qpc, pkt, CAIRN_CQE_SUCCESS))
		cairn_refuse_fatal(qpc, pkt);
}

bool cairn_recv_flush_all(struct cairn_qpc *qpc, struct cairn_budget *budget)
{
	struct cairn_responder *resp = &qpc->resp;

	if (!cairn_recv_flush(qpc))
		return false;
	if (qpc->has_srq) {
		if (!resp->last_wqe && qpc->transport != CAIRN_TRANSPORT_XRC)
			cairn_env_async(qpc, CAIRN_ASYNC_LAST_WQE_REACHED);
		resp->last_wqe = true;
		return false;
	}
	cairn_env_rq_ring_on_post(qpc);
	while (cairn_budget_left(budget)) {
		if (cairn_env_rq_take(qpc, resp->rwqe) <= 0)
			return false;
		resp->recv.valid = true;
		if (!cairn_recv_flush(qpc))
			return false;
		cairn_budget_use(budget, 1, 0);
	}
	return true;
}
