/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * WRITE_PERSIST for kernel consumers of ib_core (Documentation/persistence.rst).
 *
 * A peer's bytes become durable in a fast-registered region that was flagged:
 *
 *	ib_alloc_mr(), ib_map_mr_sg(), cairn_mr_set_persistent(), IB_WR_REG_MR
 *
 * and are written by a work request with one more opcode:
 *
 *	struct ib_rdma_wr wr = {
 *		.wr = { .opcode = CAIRN_WR_WRITE_PERSIST, ... },
 *		.remote_addr = addr, .rkey = rkey,
 *	};
 *	ib_post_send(qp, &wr.wr, NULL);
 *
 * which completes with IB_WC_SUCCESS when they are durable. Posting fails with
 * -EINVAL on every other device. Completions come from ib_poll_cq(), or with
 * ib_alloc_cq() to done(), and cairn_wc_persist() says what is in them.
 */
#ifndef RDMA_CAIRN_H
#define RDMA_CAIRN_H

#include <rdma/ib_verbs.h>
#include <rdma/cairn-abi.h>

/* ib_send_wr.opcode of an RC queue pair, in a struct ib_rdma_wr. It completes
 * as IB_WC_RDMA_WRITE.
 */
#define CAIRN_WR_WRITE_PERSIST	IB_WR_RESERVED1

/* The same with ib_send_wr.ex.imm_data. It consumes a receive of the target, which
 * completes as IB_WC_RECV_RDMA_WITH_IMM when the message is durable. With host flush it
 * completes before, as CAIRN_PERSIST_KIND_FLUSH with the immediate data. A peer may not
 * know it (CAIRN_PEER_PERSIST_IMM).
 */
#define CAIRN_WR_WRITE_PERSIST_WITH_IMM	IB_WR_RESERVED2

/* ib_send_wr.send_flags, with these opcodes: complete when received; the oldest
 * receive of the queue pair completes when durable (Documentation/origins.rst,
 * P7).
 */
#define CAIRN_SEND_EARLY	IB_SEND_RESERVED_START

/* The durability that a completion reports. */
enum cairn_persist_kind {
	CAIRN_PERSIST_KIND_NONE,	/* nothing, or an error */
	/* Initiator: a WRITE_PERSIST is durable; with CAIRN_SEND_EARLY: it is
	 * received.
	 */
	CAIRN_PERSIST_KIND_WRITE,
	/* Target: make the range durable, then cairn_persist_done(). */
	CAIRN_PERSIST_KIND_FLUSH,
	/* Initiator, CAIRN_SEND_EARLY: now it is durable. */
	CAIRN_PERSIST_KIND_DURABLE,
	/* Target, IB_WC_RECV_RDMA_WITH_IMM: the message is durable. */
	CAIRN_PERSIST_KIND_RECEIVED,
};

/**
 * struct cairn_persist_info - what cairn_wc_persist() finds
 * @kind: what it is about
 * @psn: of the message's last packet; 24 bits
 * @va: destination, as the initiator named it; not for ..._WRITE
 * @length: bytes; ..._FLUSH and ..._RECEIVED only
 * @token: for cairn_persist_done(); ..._FLUSH only
 * @durability: ..._WRITE without CAIRN_SEND_EARLY, ..._DURABLE: this or stronger,
 *	as the target says; ..._RECEIVED: that of the region
 */
struct cairn_persist_info {
	enum cairn_persist_kind kind;
	u32 psn;
	u64 va;
	u32 length;
	u64 token;
	enum cairn_durability durability;
};

int cairn_query_device(struct ib_device *ibdev,
		       struct cairn_device_caps *caps);
int cairn_query_peer(struct ib_qp *ibqp, struct cairn_peer_caps *caps,
		     unsigned int timeout_ms);
int cairn_mr_set_persistent(struct ib_mr *mr, u32 flags);
void cairn_wc_persist(const struct ib_wc *wc, struct cairn_persist_info *info);
int cairn_persist_done(struct ib_device *ibdev, u64 token, int status);

#endif
