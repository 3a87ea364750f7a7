/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Requests that are not executed, see engine/refuse.c. */
#ifndef CAIRN_ENGINE_REFUSE_H
#define CAIRN_ENGINE_REFUSE_H

#include "engine/qp.h"

/* Each function returns false: the request does not count as received. */

/* The request is not valid here: RC ends the connection, UC and UD drop the message. */
bool cairn_refuse_invalid(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
/* The key does not allow the access. */
bool cairn_refuse_no_access(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
/* The access failed with @err: -EAGAIN: memory is being faulted in; others: no access. */
bool cairn_refuse_access(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
			 int err);
/* The current receive fails for an error of the host's WQE: move to ERR. */
bool cairn_refuse_recv(struct cairn_qpc *qpc, const struct cairn_pkt *pkt,
		       u8 status, enum cairn_nak code);
/* No receive is posted, or no memory is available: the peer retries. */
bool cairn_refuse_not_ready(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
/* Memory is being faulted in: the peer retries. */
bool cairn_refuse_not_present(struct cairn_qpc *qpc,
			      const struct cairn_pkt *pkt);
/* The host's queues do not allow the request to be executed: report QP_FATAL. */
bool cairn_refuse_fatal(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);
/* @pkt->refuse says how: NAK or RNR NAK. */
bool cairn_refuse_told(struct cairn_qpc *qpc, const struct cairn_pkt *pkt);

#endif
