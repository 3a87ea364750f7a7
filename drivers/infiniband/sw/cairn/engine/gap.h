/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Loss recovery of the requester, see engine/gap.c. */
#ifndef CAIRN_ENGINE_GAP_H
#define CAIRN_ENGINE_GAP_H

#include <linux/minmax.h>
#include "engine/qp.h"

/* Add one time to a smoothed mean (RFC 6298, 2.2 and 2.3). @mean 0: none yet. */
static inline u32 cairn_gap_smooth(u32 mean, u32 took)
{
	return max(mean ? mean - mean / 8 + took / 8 : took, 1U);
}

/* The time since @since, at most @max. The run that set @since may have had a later time:
 * runs of a vector share the time at which it began (device/clock.h).
 */
static inline u32 cairn_gap_took(u64 since, u64 now, u32 max)
{
	return now > since ? min_t(u64, now - since, max) : 0;
}

/* How many of @n packets may be sent: those of the gap, none while its answer is
 * awaited.
 */
u32 cairn_gap_limit(struct cairn_requester *req, u32 n);
/* Does the retransmitted gap end before @psn? */
bool cairn_gap_ends(const struct cairn_requester *req, u32 psn);
/* Note that @n packets were sent as one train, for the first time. @asks: the last one
 * requests an answer.
 */
void cairn_gap_left(struct cairn_requester *req, u32 psn, u32 n, bool asks,
		    u64 now);
/* Note that the @n responses from @psn on are requested again. */
void cairn_gap_ask_again(struct cairn_requester *req, u32 psn, u32 n);
/* Restart the probe's deadline. Packets are outstanding. */
void cairn_gap_arm(struct cairn_qpc *qpc, u64 now);

/* The rest is for the completer. */
/* Handle a sequence NAK of the oldest packet. */
void cairn_gap_nak(struct cairn_qpc *qpc);
/* Remember a sequence NAK of @psn, before which responses are missing. */
void cairn_gap_later_nak(struct cairn_requester *req, u32 psn);
/* Retransmit all outstanding packets. */
void cairn_gap_repeat_all(struct cairn_qpc *qpc);
/* Is the oldest packet a missing response that has been requested again? */
bool cairn_gap_read(struct cairn_qpc *qpc);
void cairn_gap_repeat_read(struct cairn_qpc *qpc);
/* Handle an acknowledgement, by an ACK (@ack) or by a response. */
void cairn_gap_answer(struct cairn_qpc *qpc, bool ack, u64 now);
void cairn_gap_progress(struct cairn_requester *req, u64 now);
/* A probe is due. Return: true: not yet, because this machine was late. */
bool cairn_gap_put_off(struct cairn_qpc *qpc, u64 now);
void cairn_gap_probe(struct cairn_qpc *qpc);
void cairn_gap_timeout(struct cairn_qpc *qpc);
void cairn_gap_forget(struct cairn_requester *req);
/* Responses placed ahead of a missing one. */
bool cairn_gap_got(struct cairn_requester *req, u32 psn);
void cairn_gap_set_got(struct cairn_requester *req, u32 psn, bool got);

#endif
