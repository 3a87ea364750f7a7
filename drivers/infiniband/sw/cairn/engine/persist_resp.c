// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Write persistence (Documentation/wire.rst) at the responder: answers that must not
 * be sent before a message is durable.
 *
 * With NIC flush a message is durable after the fence that follows its last packet,
 * and every answer leaves after that fence. Answers of several QPs that leave together
 * share one. With host flush the message becomes pending. The watermark advances over
 * pending messages in PSN order only. A pending plain RDMA WRITE or atomic also holds back
 * every answer that would acknowledge it, the atomic's own response among them.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "engine/alarm.h"
#include "engine/answer_resp.h"
#include "engine/persist_resp.h"
#include "engine/tally.h"

/* RNR timers of a repeated WRITE that waits for the host: 0.16 to 164 ms (IBTA table 45). */
#define PERSIST_HOLD_TIMER	8
#define PERSIST_HOLD_TRIES	5

static struct cairn_pending *persist_pending(const struct cairn_responder *resp,
					     u32 n)
{
	return &resp->persist.pend[n % CAIRN_MAX_PENDING];
}

/* Make everything durable that peers wrote with NIC flush, before earlier answers leave
 * too (cairn_env_fence_later()).
 */
void cairn_persist_fence(struct cairn_qpc *qpc)
{
	if (!qpc->resp.persist.fence_due && !cairn_env_fence_waits(qpc))
		return;
	qpc->resp.persist.fence_due = false;
	cairn_env_count(qpc, CAIRN_CTR_PERSIST_FENCES, 1);
	cairn_env_fence(qpc);
}

/* The same before the next answer leaves. */
void cairn_persist_fence_answers(struct cairn_qpc *qpc)
{
	if (qpc->resp.persist.fence_due && !cairn_env_fence_later(qpc))
		cairn_persist_fence(qpc);
	qpc->resp.persist.fence_due = false;
}

/* Host flush: is there room for one more pending message? */
bool cairn_persist_room(struct cairn_qpc *qpc)
{
	struct cairn_persist_resp *persist = &qpc->resp.persist;

	if (!persist->pend)
		persist->pend = cairn_env_pending_alloc(qpc);
	if (persist->pend && persist->tail - persist->head < CAIRN_MAX_PENDING)
		return true;
	cairn_env_count(qpc, CAIRN_CTR_PERSIST_FULL, 1);
	return false;
}

static void persist_set_watermark(struct cairn_responder *resp, u32 psn,
				  u32 msn)
{
	struct cairn_persist_resp *persist = &resp->persist;

	persist->durable = true;
	persist->durable_psn = psn;
	persist->durable_msn = msn;
	persist->ack_due = true;
}

/* WRITE_PERSIST @psn, message @msn, is durable. The watermark reaches it when all
 * messages before it are durable.
 */
static void persist_nic_durable(struct cairn_responder *resp, u32 psn, u32 msn)
{
	struct cairn_pending *pend;

	if (resp->persist.head == resp->persist.tail) {
		persist_set_watermark(resp, psn, msn);
		return;
	}
	pend = persist_pending(resp, resp->persist.tail - 1);
	pend->next = true;
	pend->next_psn = psn;
	pend->next_msn = msn;
}

/* A token for the next pending message. verbs/host_flush.c finds the QP by its low half;
 * the high half is random, so that it cannot be guessed.
 */
static u64 persist_token(struct cairn_qpc *qpc)
{
	return (u64)cairn_env_random(qpc) << 32 | (u64)qpc->qpn << 8 |
	       qpc->resp.persist.tail % CAIRN_MAX_PENDING;
}

/* Complete the current receive, which asks the host to make the message durable. Return:
 * false if the CQ is full.
 */
static bool persist_ask_host(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			     const struct cairn_pending *pend)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_cqe cqe = {
		.wr_id = resp->rwqe->recv.wr_id,
		.qpn = qpc->qpn,
		.opcode = CAIRN_CQE_RECV_PERSIST,
		/* The peer waits for the host, which may wait for solicited events. */
		.flags = CAIRN_CQE_SOLICITED,
		.byte_len = pend->length,
		.persist_va = pend->va,
		.persist_token = pend->token,
		.psn = pend->last,
	};

	if (pkt->op->hdrs & CAIRN_HDR_IMMDT) {
		cqe.flags |= CAIRN_CQE_WITH_IMM;
		cqe.imm_or_key = (__force u32)pkt->imm;
	}
	cairn_persist_fence(qpc);
	if (!cairn_tally_post(qpc, CAIRN_RESP, &cqe))
		return false;
	resp->recv.valid = false;
	cairn_env_count(qpc, CAIRN_CTR_PERSIST_HOST_FLUSHES, 1);
	return true;
}

/* A message becomes pending: @pend says what it wrote. Return: false if the host cannot be
 * asked to make it durable.
 */
static bool persist_begin(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			  struct cairn_pending pend)
{
	struct cairn_persist_resp *persist = &qpc->resp.persist;

	pend.token = persist_token(qpc);
	pend.last = pkt->psn;
	pend.before = qpc->resp.done_psn;
	/* An ACK has no PSN of a READ, nor one before it. */
	pend.behind_read = qpc->resp.replay.any &&
			   cairn_psn_diff(pend.before, qpc->resp.replay.psn) < 0;
	pend.limit = cairn_env_flush_limit(qpc, pend.rkey);
	if (!persist_ask_host(qpc, pkt, &pend))
		return false;
	*persist_pending(&qpc->resp, persist->tail) = pend;
	persist->limited |= pend.limit;
	persist->tail++;
	persist->plain += pend.plain;
	return true;
}

/* The word of an atomic or ATOMIC WRITE in memory with host flush was stored. Its response
 * is not yet due, and its MSN not yet counted. Return: as cairn_persist_placed().
 */
bool cairn_persist_word(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	return persist_begin(qpc, pkt, (struct cairn_pending){
		.va = pkt->va,
		.length = sizeof(u64),
		.rkey = pkt->rkey,
		.first = pkt->psn,
		.msn = cairn_psn_add(qpc->resp.msn, 1),
		.plain = true,
		.atomic = pkt->op->kind == CAIRN_KIND_ATOMIC_REQ,
	});
}

/* The last packet of a WRITE or WRITE_PERSIST was placed and its MSN counted. Return:
 * false if the host cannot be asked to make it durable: it does not count as received.
 */
bool cairn_persist_placed(struct cairn_qpc *qpc, const struct cairn_pkt *pkt)
{
	struct cairn_responder *resp = &qpc->resp;
	bool plain = pkt->op->kind == CAIRN_KIND_WRITE;

	/* A later ACK replaces a lost one, so each reports the weakest durability
	 * of all messages so far.
	 */
	if (!plain)
		resp->persist.durability =
			max(resp->persist.durability, resp->msg.durability);
	if (resp->msg.method != CAIRN_PERSIST_HOST) {
		if (!plain)
			persist_nic_durable(resp, pkt->psn, resp->msn);
		return true;
	}
	return persist_begin(qpc, pkt, (struct cairn_pending){
		.va = resp->msg.va - resp->msg.received,
		.length = resp->msg.received,
		.rkey = resp->msg.rkey,
		.first = resp->persist.msg_psn,
		.msn = resp->msn,
		.plain = plain,
	});
}

/* A duplicate WRITE_PERSIST: are it and all messages before it durable? If the watermark
 * is not older than the first undurable PSN, it is left over from before the PSN wrap.
 */
bool cairn_persist_covers(const struct cairn_responder *resp, u32 psn)
{
	u32 end = resp->epsn;

	if (resp->msg.kind == CAIRN_KIND_WRITE_PERSIST)
		end = resp->persist.msg_psn;
	if (resp->persist.head != resp->persist.tail)
		end = persist_pending(resp, resp->persist.head)->first;
	return resp->persist.durable && cairn_psn_diff(psn, end) < 0 &&
	       cairn_psn_diff(resp->persist.durable_psn, end) < 0;
}

/* The MSN of an answer that must not acknowledge @pend. */
static u32 persist_msn_before(const struct cairn_pending *pend)
{
	return cairn_psn_add(pend->msn, CAIRN_24BIT_MASK);
}

/* The oldest plain WRITE or atomic that waits for the host, or NULL. */
static struct cairn_pending *persist_plain(const struct cairn_responder *resp)
{
	const struct cairn_persist_resp *persist = &resp->persist;
	u32 n;

	for (n = persist->head; persist->plain && n != persist->tail; n++) {
		struct cairn_pending *pend = persist_pending(resp, n);

		if (pend->plain)
			return pend;
	}
	return NULL;
}

/* No answer may acknowledge a plain WRITE or atomic that waits for the host: neither by
 * @psn, nor by @msn if @psn is before it. Return: the one that @psn would acknowledge, or
 * NULL.
 */
static struct cairn_pending *persist_blocker(const struct cairn_responder *resp,
					     u32 psn, u32 *msn)
{
	struct cairn_pending *pend = persist_plain(resp);
	u32 before;

	if (!pend)
		return NULL;
	before = persist_msn_before(pend);
	if (cairn_psn_diff(*msn, before) > 0)
		*msn = before;
	return cairn_psn_diff(psn, pend->last) >= 0 ? pend : NULL;
}

/* A response or NAK with @psn acknowledges all packets before it. Return: true if a
 * pending WRITE forbids that; @psn then becomes the latest PSN that a NAK may have. @msn
 * becomes the latest MSN in any case.
 */
bool cairn_persist_limit(const struct cairn_responder *resp, u32 *psn, u32 *msn)
{
	struct cairn_pending *pend = persist_blocker(resp, *psn, msn);

	if (pend)
		*psn = pend->last;
	return pend;
}

static void persist_owe(struct cairn_pending *pend, u32 psn)
{
	if (!pend->owed || cairn_psn_diff(psn, pend->owed_psn) > 0)
		pend->owed_psn = psn;
	pend->owed = true;
}

/* @psn came again. Return: true if it is the last packet of the WRITE or atomic whose answer
 * is withheld, and not for the first time: cairn_persist_hold() answers. A requester may
 * repeat a packet once without losing a retry, and it should not pause for that.
 */
bool cairn_persist_repeated(struct cairn_responder *resp, u32 psn)
{
	struct cairn_pending *pend = persist_plain(resp);

	if (!pend || pend->last != psn)
		return false;
	if (pend->repeats < PERSIST_HOLD_TRIES + 2)
		pend->repeats++;
	return pend->repeats > 1;
}

/* An RNR NAK of the request whose answer is withheld lets the peer wait without losing
 * retries, for longer each time. It stands for an ACK that is due. Return: its syndrome, with
 * @psn and @msn; 0: no request waits.
 */
u8 cairn_persist_hold(struct cairn_responder *resp, u32 *psn, u32 *msn)
{
	struct cairn_pending *pend = persist_plain(resp);

	if (!pend || pend->repeats < 2)
		return 0;
	if (resp->ack_due && cairn_psn_diff(resp->ack_psn, pend->last) >= 0)
		persist_owe(pend, resp->ack_psn);
	resp->ack_due = false;
	*psn = pend->last;
	*msn = persist_msn_before(pend);
	return CAIRN_AETH_RNR_NAK | (PERSIST_HOLD_TIMER + 4 * (pend->repeats - 2));
}

/* May an ACK of @psn be sent? If a pending WRITE forbids it, the WRITE owes the ACK,
 * and @psn becomes the latest PSN that may be acknowledged. Return: false if there is
 * none.
 */
bool cairn_persist_may_ack(struct cairn_qpc *qpc, u32 *psn, u32 *msn)
{
	struct cairn_responder *resp = &qpc->resp;
	struct cairn_pending *pend = persist_blocker(resp, *psn, msn);

	if (!pend)
		return true;
	persist_owe(pend, *psn);
	*psn = pend->before;
	/* The very first packet: there is no earlier one to acknowledge. */
	if (pend->msn == 1 && pend->first == pend->last)
		return false;
	return !pend->behind_read;
}

/* The host failed to make @pend durable. All messages before it are durable. */
static void persist_report_failure(struct cairn_qpc *qpc,
				   const struct cairn_pending *pend)
{
	struct cairn_responder *resp = &qpc->resp;

	if (resp->nak.fatal)
		return;
	cairn_answer_fail(qpc, pend->last, CAIRN_NAK_REMOTE_OP);
	resp->nak.msn = persist_msn_before(pend);
	resp->nak.persist = !pend->plain;
}

/* Retire released messages in order, up to the first that is not released. */
static void persist_settle(struct cairn_qpc *qpc)
{
	struct cairn_responder *resp = &qpc->resp;

	while (resp->persist.head != resp->persist.tail) {
		struct cairn_pending pend =
			*persist_pending(resp, resp->persist.head);

		if (pend.state == CAIRN_PENDING_FAILED)
			persist_report_failure(qpc, &pend);
		if (pend.state != CAIRN_PENDING_DURABLE)
			return;
		resp->persist.head++;
		resp->persist.plain -= pend.plain;
		if (!pend.plain)
			persist_set_watermark(resp, pend.last, pend.msn);
		if (pend.next)
			persist_set_watermark(resp, pend.next_psn,
					      pend.next_msn);
		if (pend.owed)
			cairn_answer_owe_ack(resp, pend.owed_psn);
	}
}

/* Does the region of @pend not allow its message any more? */
static bool persist_is_gone(struct cairn_qpc *qpc,
			    const struct cairn_pending *pend)
{
	u8 durability;
	int err;

	err = pend->atomic ?
	      cairn_env_check_atomic(qpc, pend->rkey, pend->va, &durability) :
	      cairn_env_check_write(qpc, pend->rkey, pend->va, pend->length,
				    &durability);
	return err || durability != CAIRN_DURABILITY_HOST;
}

int cairn_resp_release(struct cairn_qpc *qpc, u64 token, u32 status)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 n;

	for (n = resp->persist.head; n != resp->persist.tail; n++) {
		struct cairn_pending *pend = persist_pending(resp, n);
		bool gone;

		if (pend->token != token || pend->state != CAIRN_PENDING_WAITS)
			continue;
		gone = persist_is_gone(qpc, pend);
		pend->state = status || gone ? CAIRN_PENDING_FAILED :
					    CAIRN_PENDING_DURABLE;
		persist_settle(qpc);
		return gone ? -ENOENT : 0;
	}
	return -ENOENT;
}

void cairn_resp_revoke(struct cairn_qpc *qpc, u32 rkey)
{
	struct cairn_responder *resp = &qpc->resp;
	u32 n;

	for (n = resp->persist.head; n != resp->persist.tail; n++) {
		struct cairn_pending *pend = persist_pending(resp, n);

		if (pend->rkey == rkey && pend->state == CAIRN_PENDING_WAITS)
			pend->state = CAIRN_PENDING_FAILED;
	}
	persist_settle(qpc);
}

void cairn_persist_overdue(struct cairn_qpc *qpc, u64 now)
{
	struct cairn_persist_resp *persist = &qpc->resp.persist;
	bool late = false;
	u32 n;

	if (!persist->limited)
		return;
	persist->limited = false;
	persist->deadline = 0;
	for (n = persist->head; n != persist->tail; n++) {
		struct cairn_pending *pend = persist_pending(&qpc->resp, n);

		if (!pend->limit || pend->state != CAIRN_PENDING_WAITS)
			continue;
		if (!pend->deadline)
			pend->deadline = now + pend->limit;
		if (now >= pend->deadline) {
			cairn_env_count(qpc, CAIRN_CTR_PERSIST_LATE, 1);
			pend->state = CAIRN_PENDING_FAILED;
			late = true;
			continue;
		}
		persist->limited = true;
		persist->deadline = cairn_alarm_earlier(persist->deadline,
							pend->deadline);
	}
	if (late)
		persist_settle(qpc);
}

/* ERR: invalidate all tokens. No answers are sent any more. */
void cairn_persist_drop(struct cairn_responder *resp)
{
	struct cairn_persist_resp *persist = &resp->persist;

	persist->head = persist->tail;
	persist->plain = 0;
	persist->limited = false;
	persist->deadline = 0;
	persist->ack_due = false;
	persist->fence_due = false;
}
