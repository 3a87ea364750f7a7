/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Completion queue entries in verbs terms. */
#ifndef CAIRN_CQE_H
#define CAIRN_CQE_H

#include <infiniband/verbs.h>

#include <rdma/cairn-abi.h>

#include "cairndv.h"
#include "verbs_private.h"

_Static_assert((int)CAIRN_CQE_SUCCESS == IBV_WC_SUCCESS &&
	       (int)CAIRN_CQE_LOC_LEN_ERR == IBV_WC_LOC_LEN_ERR &&
	       (int)CAIRN_CQE_LOC_QP_OP_ERR == IBV_WC_LOC_QP_OP_ERR &&
	       (int)CAIRN_CQE_LOC_PROT_ERR == IBV_WC_LOC_PROT_ERR &&
	       (int)CAIRN_CQE_WR_FLUSH_ERR == IBV_WC_WR_FLUSH_ERR &&
	       (int)CAIRN_CQE_MW_BIND_ERR == IBV_WC_MW_BIND_ERR &&
	       (int)CAIRN_CQE_BAD_RESP_ERR == IBV_WC_BAD_RESP_ERR &&
	       (int)CAIRN_CQE_LOC_ACCESS_ERR == IBV_WC_LOC_ACCESS_ERR &&
	       (int)CAIRN_CQE_REM_INV_REQ_ERR == IBV_WC_REM_INV_REQ_ERR &&
	       (int)CAIRN_CQE_REM_ACCESS_ERR == IBV_WC_REM_ACCESS_ERR &&
	       (int)CAIRN_CQE_REM_OP_ERR == IBV_WC_REM_OP_ERR &&
	       (int)CAIRN_CQE_RETRY_EXC_ERR == IBV_WC_RETRY_EXC_ERR &&
	       (int)CAIRN_CQE_RNR_RETRY_EXC_ERR == IBV_WC_RNR_RETRY_EXC_ERR &&
	       (int)CAIRN_CQE_FATAL_ERR == IBV_WC_FATAL_ERR,
	       "status values are passed through");

static inline enum ibv_wc_status cairn_cqe_status(const struct cairn_cqe *cqe)
{
	return (enum ibv_wc_status)cqe->status;
}

/* WRITE_PERSIST is a write to applications that know only verbs. */
static inline enum ibv_wc_opcode cairn_cqe_opcode(const struct cairn_cqe *cqe)
{
	static const uint8_t opcodes[] = {
		[CAIRN_CQE_SEND] = IBV_WC_SEND,
		[CAIRN_CQE_WRITE] = IBV_WC_RDMA_WRITE,
		[CAIRN_CQE_READ] = IBV_WC_RDMA_READ,
		[CAIRN_CQE_CAS] = IBV_WC_COMP_SWAP,
		[CAIRN_CQE_FAA] = IBV_WC_FETCH_ADD,
		[CAIRN_CQE_BIND_MW] = IBV_WC_BIND_MW,
		[CAIRN_CQE_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[CAIRN_CQE_WRITE_PERSIST] = IBV_WC_RDMA_WRITE,
		[CAIRN_CQE_FLUSH] = CAIRNDV_WC_FLUSH,
		[CAIRN_CQE_ATOMIC_WRITE] = VERBS_WC_ATOMIC_WRITE,
		[CAIRN_CQE_PERSIST_DONE] = CAIRNDV_WC_PERSIST_DONE,
		[CAIRN_CQE_RECV] = IBV_WC_RECV,
		[CAIRN_CQE_RECV_IMM] = IBV_WC_RECV_RDMA_WITH_IMM,
		[CAIRN_CQE_RECV_PERSIST] = IBV_WC_RECV,
		[CAIRN_CQE_RECV_DURABLE] = IBV_WC_RECV,
	};
	uint8_t opcode = cqe->opcode;

	/* a host flush of a message with immediate data */
	if (opcode == CAIRN_CQE_RECV_PERSIST &&
	    cqe->flags & CAIRN_CQE_WITH_IMM)
		return IBV_WC_RECV_RDMA_WITH_IMM;
	return opcode < sizeof(opcodes) ? (enum ibv_wc_opcode)opcodes[opcode] :
					  IBV_WC_SEND;
}

static inline unsigned int cairn_cqe_wc_flags(const struct cairn_cqe *cqe)
{
	unsigned int flags = 0;

	if (cqe->flags & CAIRN_CQE_GRH)
		flags |= IBV_WC_GRH;
	if (cqe->flags & CAIRN_CQE_WITH_IMM)
		flags |= IBV_WC_WITH_IMM;
	if (cqe->flags & CAIRN_CQE_WITH_INV)
		flags |= IBV_WC_WITH_INV;
	return flags;
}

/*
 * RoCE packets have no service level. Verbs have no field that says whether the 40
 * bytes before a datagram's payload are an IPv6 or an IPv4 header (IBTA annex
 * A17.4.5.1 wants one). mlx5 puts this into the SL: bit 3 for
 * UDP, below it 1 for IPv6 and 2 for IPv4. UCX before 1.17 relies on that.
 */
static inline uint8_t cairn_cqe_sl(const struct cairn_cqe *cqe)
{
	if (!(cqe->flags & CAIRN_CQE_GRH))
		return cqe->sl;
	return 1 << 3 | (cqe->flags & CAIRN_CQE_IPV4 ? 2 : 1);
}

static inline void cairn_cqe_to_wc(const struct cairn_cqe *cqe,
				   struct ibv_wc *wc)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cairn_cqe_status(cqe);
	wc->opcode = cairn_cqe_opcode(cqe);
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	/* A union with imm_data; both are copied unchanged. */
	wc->invalidated_rkey = cqe->imm_or_key;
	wc->qp_num = cqe->qpn;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cairn_cqe_wc_flags(cqe);
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = cairn_cqe_sl(cqe);
	wc->dlid_path_bits = 0;
}

#endif /* CAIRN_CQE_H */
