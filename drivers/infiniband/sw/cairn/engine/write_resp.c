// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * WRITE and WRITE_PERSIST at the responder (IBTA 9.7.4.1, Documentation/wire.rst).
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "engine/persist_resp.h"
#include "engine/recv.h"
#include "engine/refuse.h"
#include "engine/request.h"
#include "engine/tally.h"
#include "engine/write_resp.h"

/* Does the RETH name memory? An empty WRITE_PERSIST may: its answer then reports the
 * durability of that memory. A wrong key ends the connection, as with data, so that a
 * peer cannot probe keys.
 */
static bool write_names_memory(const struct cairn_pkt *pkt)
{
	return pkt->dma_len ||
	       (pkt->op->kind == CAIRN_KIND_WRITE_PERSIST && pkt->rkey);
}

/* Check the RETH of a FIRST or ONLY: all of its range must be writable. */
static int write_start(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	u8 durability = CAIRN_DURABILITY_UNKNOWN;

	if (pkt->dma_len > qpc->max_msg)
		return -EINVAL;
	if (write_names_memory(pkt)) {
		if (cairn_env_check_write(qpc, pkt->rkey, pkt->va,
					  max(pkt->dma_len, 1u), &durability) ||
		    (pkt->op->kind == CAIRN_KIND_WRITE_PERSIST && !durability))
			return -EFAULT;
	}
	if (durability && !cairn_persist_allowed(qpc, durability))
		return -EFAULT;
	resp->msg.durability = durability;
	resp->msg.method = pkt->dma_len ? cairn_persist_method(durability) :
				       CAIRN_PERSIST_NONE;
	resp->persist.msg_psn = pkt->psn;
	resp->msg.received = 0;
	resp->msg.rkey = pkt->rkey;
	resp->msg.va = pkt->va;
	resp->msg.remaining = pkt->dma_len;
	return 0;
}

/* The last packet may have ended within a word. Its held bytes are stored with this
 * packet, so the destination begins with them. A refused packet leaves them held.
 */
static int write_place_words(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			     struct cairn_sge *sge, const struct cairn_span *to)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_words words = resp->persist.words;
	int err;

	sge->addr -= words.len;
	sge->length += words.len;
	err = cairn_env_place_words(qpc, to, pkt, &words);
	if (!err)
		resp->persist.words = words;
	return err;
}

static int write_place_payload(struct cairn_qpc *qpc,
			       const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_sge sge = {
		.addr = resp->msg.va,
		.length = pkt->payload_len,
		.lkey = resp->msg.rkey,
	};
	struct cairn_span to = {
		.sge = &sge,
		.num_sge = 1,
		.more = resp->msg.remaining - pkt->payload_len,
		.access = resp->msg.method == CAIRN_PERSIST_NIC ?
			  CAIRN_ACCESS_REMOTE_PERSIST :
			  CAIRN_ACCESS_REMOTE_WRITE,
		.side = CAIRN_RESP,
	};

	if (resp->msg.method != CAIRN_PERSIST_NONE)
		return write_place_words(qpc, pkt, &sge, &to);
	return cairn_env_place(qpc, &to, pkt, pkt->payload_len);
}

static int write_place(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	int err = 0;

	if (pkt->payload_len)
		err = write_place_payload(qpc, pkt);
	if (err)
		return err;
	if (resp->msg.method == CAIRN_PERSIST_NIC)
		resp->persist.fence_due = true;
	resp->msg.va += pkt->payload_len;
	resp->msg.received += pkt->payload_len;
	resp->msg.remaining -= pkt->payload_len;
	return 0;
}

/* Get the resources that the last packet of a WRITE consumes, or send an RNR NAK. */
static bool write_ready_for_last(struct cairn_qpc *qpc,
				 const struct cairn_pkt *pkt)
{
	bool host = qpc->resp.msg.method == CAIRN_PERSIST_HOST;

	if (host && !cairn_persist_room(qpc))
		return cairn_refuse_not_ready(qpc, pkt);
	if (host || pkt->op->hdrs & CAIRN_HDR_IMMDT)
		return cairn_recv_take(qpc, pkt);
	return true;
}

static bool write_done(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 msn = resp->msn;

	if (resp->msg.method != CAIRN_PERSIST_HOST &&
	    pkt->op->hdrs & CAIRN_HDR_IMMDT &&
	    !cairn_recv_complete(qpc, pkt, CAIRN_CQE_SUCCESS))
		return cairn_refuse_fatal(qpc, pkt);
	cairn_request_done(resp);
	if (cairn_persist_placed(qpc, pkt)) {
		cairn_tally_remote(qpc, CAIRN_TALLY_REMOTE_WRITE);
		return true;
	}
	/* The NAK does not count the message. */
	resp->msn = msn;
	return cairn_refuse_fatal(qpc, pkt);
}

bool cairn_write_execute(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	bool last = pkt->op->flags & CAIRN_OP_LAST;
	struct cairn_responder *resp = &qpc->resp;
	int err;

	if (!qpc->attrs.remote_write)
		return cairn_refuse_invalid(qpc, pkt);
	if (pkt->op->flags & CAIRN_OP_FIRST) {
		err = write_start(qpc, pkt);
		if (err)
			return err == -EFAULT ? cairn_refuse_no_access(qpc, pkt) :
						cairn_refuse_invalid(qpc, pkt);
	}
	if (last ? pkt->payload_len != resp->msg.remaining :
		   pkt->payload_len >= resp->msg.remaining)
		return cairn_refuse_invalid(qpc, pkt);
	if (last && !write_ready_for_last(qpc, pkt))
		return false;
	err = write_place(qpc, pkt);
	if (err)
		return cairn_refuse_access(qpc, pkt, err);
	resp->msg.kind = pkt->op->kind;
	return !last || write_done(qpc, pkt);
}
