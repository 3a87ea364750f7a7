// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion counters: which work counts, and when.
 *
 * Work of this QP counts when its completion is posted, so a program that reads a count
 * finds the completions. Work without one counts when it is done. A status other than
 * success counts as an error, WR_FLUSH_ERR among them. Atomics, ATOMIC WRITE, FLUSH and
 * local operations have no counter in the interface.
 *
 * RDMA of the peer counts when the last byte of a WRITE is placed, and, if its memory has
 * NIC flush, durable; and when the last response of a READ is sent. Refused and repeated
 * requests do not count.
 */
#include <linux/kernel.h>
#include "engine/persist_resp.h"
#include "engine/tally.h"

/* The kind of a completion, by its opcode; 0: not counted. */
static const u8 tally_kinds[] = {
	[CAIRN_CQE_SEND] = CAIRN_TALLY_SEND,
	[CAIRN_CQE_WRITE] = CAIRN_TALLY_WRITE,
	[CAIRN_CQE_READ] = CAIRN_TALLY_READ,
	[CAIRN_CQE_WRITE_PERSIST] = CAIRN_TALLY_WRITE,
	[CAIRN_CQE_RECV] = CAIRN_TALLY_RECV,
	[CAIRN_CQE_RECV_IMM] = CAIRN_TALLY_RECV,
	[CAIRN_CQE_RECV_PERSIST] = CAIRN_TALLY_RECV,
	[CAIRN_CQE_RECV_DURABLE] = CAIRN_TALLY_RECV,
};

void cairn_tally_completed(struct cairn_qpc *qpc, const struct cairn_cqe *cqe)
{
	u8 kind = cqe->opcode < ARRAY_SIZE(tally_kinds) ?
		  tally_kinds[cqe->opcode] : 0;

	if (qpc->tallied & kind)
		cairn_env_tally(qpc, kind, cqe->status != CAIRN_CQE_SUCCESS);
}

void cairn_tally_served(struct cairn_qpc *qpc, enum cairn_tally kind)
{
	cairn_env_assert_held(qpc, CAIRN_RESP);
	if (kind == CAIRN_TALLY_REMOTE_WRITE)
		cairn_persist_fence(qpc);
	cairn_env_tally(qpc, kind, false);
}
