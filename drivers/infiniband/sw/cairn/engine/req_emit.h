/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Packets of requests, see engine/req_emit.c. Requester lock held. The functions return
 * 0 or the error of cairn_env_emit(); -EINVAL: the host has changed the WQE.
 */
#ifndef CAIRN_ENGINE_REQ_EMIT_H
#define CAIRN_ENGINE_REQ_EMIT_H

#include "engine/ahead.h"
#include "engine/qp.h"

/* Send a READ request for @n response packets from the cursor on, or another request
 * that has a response.
 */
int cairn_req_emit_read(struct cairn_qpc *qpc, struct cairn_swr *swr, u32 n);
/* Send @n packets from packet @pkt on. @pause: a wait for the rate follows, so request
 * an ACK.
 */
int cairn_req_emit_message(struct cairn_qpc *qpc, struct cairn_swr *swr,
			   u32 pkt, u32 n, bool pause);
/* Send @count messages of one packet that are alike, from @swr on. If one of them is
 * refused, the messages before it are sent, and it fails later in its turn. Return:
 * messages sent; 0: the caller sends the first one alone.
 */
u32 cairn_req_emit_messages(struct cairn_qpc *qpc, struct cairn_swr *swr,
			    u32 count, struct cairn_ahead *ahead);
/* Send the last packet of @swr again, independent of the cursor. */
int cairn_req_repeat_last(struct cairn_qpc *qpc, struct cairn_swr *swr);
/* Packets of one train from the cursor on, at most @n. */
u32 cairn_req_train_count(struct cairn_qpc *qpc, const struct cairn_swr *swr,
			  u32 n);
/* Bytes that @n packets of a SEND or WRITE from the cursor on count for the rate. */
u32 cairn_req_message_bytes(const struct cairn_qpc *qpc,
			    const struct cairn_swr *swr, u32 n);
/* Bytes that a request with a response counts for the rate. */
u32 cairn_req_request_bytes(const struct cairn_qpc *qpc,
			    const struct cairn_swr *swr);

#endif
