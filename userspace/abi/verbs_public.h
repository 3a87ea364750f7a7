/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The public structures that differ between versions of rdma-core, as version VERBS_CORE
 * has them. Compiled in front of everything (-include) when the provider is built for
 * another version than that of the installed header, whose own ones get another name.
 */
#ifndef CAIRN_VERBS_PUBLIC_H
#define CAIRN_VERBS_PUBLIC_H

#define ibv_qp_ex	installed_ibv_qp_ex
#define verbs_context	installed_verbs_context
#include <infiniband/verbs.h>
#undef ibv_qp_ex
#undef verbs_context

/* A NULL argument is all that we pass. */
struct ibv_fd_arr;

struct ibv_qp_ex {
	struct ibv_qp qp_base;
	uint64_t comp_mask;
	uint64_t wr_id;
	unsigned int wr_flags;
	void (*wr_atomic_cmp_swp)(struct ibv_qp_ex *qp, uint32_t rkey,
				  uint64_t addr, uint64_t compare,
				  uint64_t swap);
	void (*wr_atomic_fetch_add)(struct ibv_qp_ex *qp, uint32_t rkey,
				    uint64_t addr, uint64_t add);
	void (*wr_bind_mw)(struct ibv_qp_ex *qp, struct ibv_mw *mw,
			   uint32_t rkey, const struct ibv_mw_bind_info *info);
	void (*wr_local_inv)(struct ibv_qp_ex *qp, uint32_t rkey);
	void (*wr_rdma_read)(struct ibv_qp_ex *qp, uint32_t rkey,
			     uint64_t addr);
	void (*wr_rdma_write)(struct ibv_qp_ex *qp, uint32_t rkey,
			      uint64_t addr);
	void (*wr_rdma_write_imm)(struct ibv_qp_ex *qp, uint32_t rkey,
				  uint64_t addr, __be32 imm);
	void (*wr_send)(struct ibv_qp_ex *qp);
	void (*wr_send_imm)(struct ibv_qp_ex *qp, __be32 imm);
	void (*wr_send_inv)(struct ibv_qp_ex *qp, uint32_t rkey);
	void (*wr_send_tso)(struct ibv_qp_ex *qp, void *header, uint16_t bytes,
			    uint16_t mss);
	void (*wr_set_ud_addr)(struct ibv_qp_ex *qp, struct ibv_ah *ah,
			       uint32_t qpn, uint32_t qkey);
	void (*wr_set_xrc_srqn)(struct ibv_qp_ex *qp, uint32_t srqn);
	void (*wr_set_inline_data)(struct ibv_qp_ex *qp, void *addr,
				   size_t bytes);
	void (*wr_set_inline_data_list)(struct ibv_qp_ex *qp, size_t count,
					const struct ibv_data_buf *list);
	void (*wr_set_sge)(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr,
			   uint32_t bytes);
	void (*wr_set_sge_list)(struct ibv_qp_ex *qp, size_t count,
				const struct ibv_sge *list);
	void (*wr_start)(struct ibv_qp_ex *qp);
	int (*wr_complete)(struct ibv_qp_ex *qp);
	void (*wr_abort)(struct ibv_qp_ex *qp);
#if VERBS_CORE >= 44
	void (*wr_atomic_write)(struct ibv_qp_ex *qp, uint32_t rkey,
				uint64_t addr, const void *word);
#endif
#if VERBS_CORE >= 45
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr,
			 size_t bytes, uint8_t type, uint8_t level);
#endif
};

/* The library fills it: a provider only knows the size and the context's place. */
struct verbs_context {
#if VERBS_CORE >= 64
	void (*calls_64[2])(void);
#endif
#if VERBS_CORE >= 62
	void (*calls_62[1])(void);
#endif
#if VERBS_CORE >= 59
	void (*calls_59[3])(void);
#endif
	void (*calls[26])(void);
	void *priv;
	void (*more_calls[12])(void);
	size_t sz;
	struct ibv_context context;
};

#endif /* CAIRN_VERBS_PUBLIC_H */
