/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Sizes and offsets on 64-bit machines, public and private. A header that
 * disagrees with them belongs to another library and must not compile.
 */
#ifndef CAIRN_VERBS_PRIVATE_ASSERT_H
#define CAIRN_VERBS_PRIVATE_ASSERT_H

#define VERBS_SIZE(type, size) \
	_Static_assert(sizeof(type) == (size), "sizeof " #type)
#define VERBS_OFFSET(type, member, offset) \
	_Static_assert(offsetof(type, member) == (offset), #type "." #member)

/* Growth of structures since version 44, in bytes; version 43 has less. */
#define VERBS_QP_EX_MORE	(VERBS_CORE >= 45 ? 8 : VERBS_CORE >= 44 ? 0 : -8)
#define VERBS_CONTEXT_MORE	(VERBS_CORE >= 64 ? 48 : VERBS_CORE >= 62 ? 32 : \
				 VERBS_CORE >= 59 ? 24 : 0)
/* A mutex of the C library has 40 bytes on x86_64, and 48 on arm64. */
#define VERBS_MUTEX_MORE	(sizeof(pthread_mutex_t) - 40)
/* The last four: members before this one that versions 59, 62, 64 and 65 added. */
#define VERBS_MORE(in_59, in_62, in_64, in_65) \
	(8 * ((VERBS_CORE >= 59 ? (in_59) : 0) + (VERBS_CORE >= 62 ? (in_62) : 0) + \
	      (VERBS_CORE >= 64 ? (in_64) : 0) + (VERBS_CORE >= 65 ? (in_65) : 0)))
#define VERBS_OP(member, offset, in_59, in_62, in_64, in_65) \
	VERBS_OFFSET(struct verbs_context_ops, member, \
		     (offset) + VERBS_MORE(in_59, in_62, in_64, in_65))

/* Public types. */
VERBS_SIZE(struct ibv_device, 664);
VERBS_SIZE(struct ibv_context, 328 + VERBS_MUTEX_MORE);
VERBS_SIZE(struct ibv_qp, 160 + VERBS_MUTEX_MORE);
VERBS_SIZE(struct ibv_qp_ex, 352 + VERBS_QP_EX_MORE + VERBS_MUTEX_MORE);
VERBS_SIZE(struct ibv_cq, 128 + VERBS_MUTEX_MORE);
VERBS_SIZE(struct ibv_cq_ex, 288 + VERBS_MUTEX_MORE);
VERBS_SIZE(struct ibv_srq, 128 + VERBS_MUTEX_MORE);
VERBS_SIZE(struct ibv_mr, 48);
VERBS_SIZE(struct ibv_pd, 16);
VERBS_SIZE(struct ibv_ah, 24);
VERBS_SIZE(struct ibv_mw, 32);
VERBS_SIZE(struct ibv_xrcd, 8);
VERBS_SIZE(struct ibv_wc, 48);
VERBS_SIZE(struct verbs_comp_cntr, 16);
VERBS_SIZE(struct verbs_comp_cntr_init_attr, 12);
VERBS_SIZE(struct verbs_comp_cntr_caps, 16);
VERBS_SIZE(struct verbs_qp_attach_comp_cntr_attr, 8);
VERBS_SIZE(struct verbs_context, 648 + VERBS_CONTEXT_MORE + VERBS_MUTEX_MORE);

VERBS_OFFSET(struct verbs_context, priv, 208 + VERBS_CONTEXT_MORE);
VERBS_OFFSET(struct verbs_context, sz, 312 + VERBS_CONTEXT_MORE);
VERBS_OFFSET(struct verbs_context, context, 320 + VERBS_CONTEXT_MORE);

VERBS_OFFSET(struct ibv_qp_ex, comp_mask, 160 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_id, 168 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_flags, 176 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_atomic_cmp_swp, 184 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_atomic_fetch_add, 192 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_bind_mw, 200 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_local_inv, 208 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_rdma_read, 216 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_rdma_write, 224 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_rdma_write_imm, 232 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_send, 240 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_send_imm, 248 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_send_inv, 256 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_send_tso, 264 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_set_ud_addr, 272 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_set_xrc_srqn, 280 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_set_inline_data, 288 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_set_inline_data_list, 296 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_set_sge, 304 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_set_sge_list, 312 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_start, 320 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_complete, 328 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_qp_ex, wr_abort, 336 + VERBS_MUTEX_MORE);
#if VERBS_CORE >= 44
VERBS_OFFSET(struct ibv_qp_ex, wr_atomic_write, 344 + VERBS_MUTEX_MORE);
#endif
#if VERBS_CORE >= 45
VERBS_OFFSET(struct ibv_qp_ex, wr_flush, 352 + VERBS_MUTEX_MORE);
#endif

VERBS_OFFSET(struct ibv_cq_ex, status, 132 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, wr_id, 136 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, start_poll, 144 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, next_poll, 152 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, end_poll, 160 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_opcode, 168 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_vendor_err, 176 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_byte_len, 184 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_imm_data, 192 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_qp_num, 200 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_src_qp, 208 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_wc_flags, 216 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_slid, 224 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_sl, 232 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_dlid_path_bits, 240 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_completion_ts, 248 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct ibv_cq_ex, read_completion_wallclock_ns, 280 + VERBS_MUTEX_MORE);

/* Private types. */
VERBS_SIZE(struct verbs_device_ops, 72);
VERBS_SIZE(struct verbs_match_ent, 24);
VERBS_SIZE(struct verbs_device, 712);
VERBS_SIZE(struct verbs_sysfs_dev, 992);
VERBS_SIZE(struct verbs_mr, 56);
VERBS_SIZE(struct verbs_xrcd, 16);
VERBS_SIZE(struct verbs_srq, 160 + VERBS_MUTEX_MORE);
VERBS_SIZE(struct verbs_cq, 288 + VERBS_MUTEX_MORE);
VERBS_SIZE(struct verbs_qp, 368 + VERBS_QP_EX_MORE + VERBS_MUTEX_MORE);
VERBS_SIZE(struct verbs_context_ops, 608 + VERBS_MORE(3, 2, 2, 10));

VERBS_OFFSET(struct verbs_device_ops, name, 0);
VERBS_OFFSET(struct verbs_device_ops, match_min_abi_version, 8);
VERBS_OFFSET(struct verbs_device_ops, match_max_abi_version, 12);
VERBS_OFFSET(struct verbs_device_ops, match_table, 16);
VERBS_OFFSET(struct verbs_device_ops, static_providers, 24);
VERBS_OFFSET(struct verbs_device_ops, match_device, 32);
VERBS_OFFSET(struct verbs_device_ops, alloc_context, 40);
VERBS_OFFSET(struct verbs_device_ops, import_context, 48);
VERBS_OFFSET(struct verbs_device_ops, alloc_device, 56);
VERBS_OFFSET(struct verbs_device_ops, uninit_device, 64);

VERBS_OFFSET(struct verbs_match_ent, driver_data, 0);
VERBS_OFFSET(struct verbs_match_ent, u, 8);
VERBS_OFFSET(struct verbs_match_ent, vendor, 16);
VERBS_OFFSET(struct verbs_match_ent, device, 18);
VERBS_OFFSET(struct verbs_match_ent, kind, 20);

VERBS_OFFSET(struct verbs_device, device, 0);
VERBS_OFFSET(struct verbs_device, ops, 664);
VERBS_OFFSET(struct verbs_device, refcount, 672);
VERBS_OFFSET(struct verbs_device, entry, 680);
VERBS_OFFSET(struct verbs_device, sysfs, 696);
VERBS_OFFSET(struct verbs_device, core_support, 704);

VERBS_OFFSET(struct verbs_sysfs_dev, entry, 0);
VERBS_OFFSET(struct verbs_sysfs_dev, provider_data, 16);
VERBS_OFFSET(struct verbs_sysfs_dev, match, 24);
VERBS_OFFSET(struct verbs_sysfs_dev, flags, 32);
VERBS_OFFSET(struct verbs_sysfs_dev, sysfs_name, 36);
VERBS_OFFSET(struct verbs_sysfs_dev, sysfs_cdev, 104);
VERBS_OFFSET(struct verbs_sysfs_dev, ibdev_name, 112);
VERBS_OFFSET(struct verbs_sysfs_dev, ibdev_path, 176);
VERBS_OFFSET(struct verbs_sysfs_dev, modalias, 432);
VERBS_OFFSET(struct verbs_sysfs_dev, node_guid, 944);
VERBS_OFFSET(struct verbs_sysfs_dev, driver_id, 952);
VERBS_OFFSET(struct verbs_sysfs_dev, node_type, 956);
VERBS_OFFSET(struct verbs_sysfs_dev, ibdev_idx, 960);
VERBS_OFFSET(struct verbs_sysfs_dev, num_ports, 964);
VERBS_OFFSET(struct verbs_sysfs_dev, abi_ver, 968);
VERBS_OFFSET(struct verbs_sysfs_dev, time_created, 976);

VERBS_OFFSET(struct verbs_mr, ibv_mr, 0);
VERBS_OFFSET(struct verbs_mr, mr_type, 48);
VERBS_OFFSET(struct verbs_mr, access, 52);

VERBS_OFFSET(struct verbs_xrcd, xrcd, 0);
VERBS_OFFSET(struct verbs_xrcd, comp_mask, 8);
VERBS_OFFSET(struct verbs_xrcd, handle, 12);

VERBS_OFFSET(struct verbs_srq, srq, 0);
VERBS_OFFSET(struct verbs_srq, srq_type, 128 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct verbs_srq, xrcd, 136 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct verbs_srq, cq, 144 + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct verbs_srq, srq_num, 152 + VERBS_MUTEX_MORE);

VERBS_OFFSET(struct verbs_qp, qp, 0);
VERBS_OFFSET(struct verbs_qp, qp_ex, 0);
VERBS_OFFSET(struct verbs_qp, comp_mask, 352 + VERBS_QP_EX_MORE + VERBS_MUTEX_MORE);
VERBS_OFFSET(struct verbs_qp, xrcd, 360 + VERBS_QP_EX_MORE + VERBS_MUTEX_MORE);

VERBS_OP(advise_mr, 0, 0, 0, 0, 0);
VERBS_OP(alloc_dm, 8, 0, 0, 1, 0);
VERBS_OP(alloc_mw, 16, 1, 0, 1, 0);
VERBS_OP(alloc_null_mr, 24, 1, 0, 1, 0);
VERBS_OP(alloc_parent_domain, 32, 1, 0, 1, 0);
VERBS_OP(alloc_pd, 40, 1, 0, 1, 0);
VERBS_OP(alloc_td, 48, 1, 0, 1, 0);
VERBS_OP(async_event, 56, 1, 0, 1, 0);
VERBS_OP(attach_counters_point_flow, 64, 1, 0, 1, 0);
VERBS_OP(attach_mcast, 72, 1, 0, 1, 0);
VERBS_OP(bind_mw, 80, 1, 0, 1, 0);
VERBS_OP(close_xrcd, 88, 1, 0, 1, 0);
VERBS_OP(cq_event, 96, 1, 0, 1, 0);
VERBS_OP(create_ah, 104, 1, 0, 1, 0);
VERBS_OP(create_counters, 112, 1, 0, 1, 1);
VERBS_OP(create_cq, 120, 1, 0, 1, 1);
VERBS_OP(create_cq_ex, 128, 1, 0, 1, 1);
VERBS_OP(create_flow, 136, 1, 0, 1, 1);
VERBS_OP(create_flow_action_esp, 144, 1, 0, 1, 1);
VERBS_OP(create_qp, 152, 1, 0, 1, 1);
VERBS_OP(create_qp_ex, 160, 1, 0, 1, 1);
VERBS_OP(create_rwq_ind_table, 168, 1, 0, 1, 1);
VERBS_OP(create_srq, 176, 1, 0, 1, 1);
VERBS_OP(create_srq_ex, 184, 1, 0, 1, 1);
VERBS_OP(create_wq, 192, 1, 0, 1, 1);
VERBS_OP(dealloc_mw, 200, 2, 0, 1, 1);
VERBS_OP(dealloc_pd, 208, 2, 0, 1, 1);
VERBS_OP(dealloc_td, 216, 2, 0, 1, 1);
VERBS_OP(dereg_mr, 224, 2, 0, 1, 1);
VERBS_OP(destroy_ah, 232, 2, 0, 1, 1);
VERBS_OP(destroy_counters, 240, 2, 0, 1, 2);
VERBS_OP(destroy_cq, 248, 2, 0, 1, 2);
VERBS_OP(destroy_flow, 256, 2, 0, 1, 2);
VERBS_OP(destroy_flow_action, 264, 2, 0, 1, 2);
VERBS_OP(destroy_qp, 272, 2, 0, 1, 2);
VERBS_OP(destroy_rwq_ind_table, 280, 2, 0, 1, 2);
VERBS_OP(destroy_srq, 288, 2, 0, 1, 2);
VERBS_OP(destroy_wq, 296, 2, 0, 1, 2);
VERBS_OP(detach_mcast, 304, 2, 0, 1, 2);
VERBS_OP(free_context, 312, 2, 1, 2, 2);
VERBS_OP(free_dm, 320, 2, 1, 2, 2);
VERBS_OP(get_srq_num, 328, 2, 1, 2, 2);
VERBS_OP(import_dm, 336, 2, 1, 2, 2);
VERBS_OP(import_mr, 344, 2, 1, 2, 2);
VERBS_OP(import_pd, 352, 2, 1, 2, 2);
VERBS_OP(modify_cq, 360, 2, 1, 2, 4);
VERBS_OP(modify_flow_action_esp, 368, 2, 1, 2, 4);
VERBS_OP(modify_qp, 376, 2, 1, 2, 4);
VERBS_OP(modify_qp_rate_limit, 384, 2, 1, 2, 4);
VERBS_OP(modify_srq, 392, 2, 1, 2, 4);
VERBS_OP(modify_wq, 400, 2, 1, 2, 4);
VERBS_OP(open_qp, 408, 2, 1, 2, 4);
VERBS_OP(open_xrcd, 416, 2, 1, 2, 4);
VERBS_OP(poll_cq, 424, 2, 1, 2, 4);
VERBS_OP(post_recv, 432, 2, 1, 2, 4);
VERBS_OP(post_send, 440, 2, 1, 2, 4);
VERBS_OP(post_srq_ops, 448, 2, 1, 2, 4);
VERBS_OP(post_srq_recv, 456, 2, 1, 2, 4);
VERBS_OP(query_device_ex, 464, 2, 1, 2, 6);
VERBS_OP(query_ece, 472, 2, 1, 2, 6);
VERBS_OP(query_port, 480, 2, 1, 2, 6);
VERBS_OP(query_qp, 488, 2, 2, 2, 6);
VERBS_OP(query_qp_data_in_order, 496, 2, 2, 2, 6);
VERBS_OP(query_rt_values, 504, 2, 2, 2, 6);
VERBS_OP(query_srq, 512, 2, 2, 2, 6);
VERBS_OP(read_counters, 520, 2, 2, 2, 7);
VERBS_OP(reg_dm_mr, 528, 2, 2, 2, 8);
VERBS_OP(reg_dmabuf_mr, 536, 2, 2, 2, 8);
VERBS_OP(reg_mr, 544, 2, 2, 2, 8);
VERBS_OP(req_notify_cq, 552, 3, 2, 2, 8);
VERBS_OP(rereg_mr, 560, 3, 2, 2, 8);
VERBS_OP(resize_cq, 568, 3, 2, 2, 8);
VERBS_OP(set_ece, 576, 3, 2, 2, 9);
VERBS_OP(unimport_dm, 584, 3, 2, 2, 10);
VERBS_OP(unimport_mr, 592, 3, 2, 2, 10);
VERBS_OP(unimport_pd, 600, 3, 2, 2, 10);

#if VERBS_CORE >= 65
VERBS_OP(create_comp_cntr, 112, 1, 0, 1, 0);
VERBS_OP(destroy_comp_cntr, 240, 2, 0, 1, 1);
VERBS_OP(inc_comp_cntr, 360, 2, 1, 2, 2);
VERBS_OP(inc_err_comp_cntr, 360, 2, 1, 2, 3);
VERBS_OP(qp_attach_comp_cntr, 464, 2, 1, 2, 4);
VERBS_OP(query_comp_cntr_caps, 464, 2, 1, 2, 5);
VERBS_OP(read_comp_cntr, 520, 2, 2, 2, 6);
VERBS_OP(read_err_comp_cntr, 528, 2, 2, 2, 7);
VERBS_OP(set_comp_cntr, 576, 3, 2, 2, 8);
VERBS_OP(set_err_comp_cntr, 584, 3, 2, 2, 9);
#endif

VERBS_OFFSET(struct verbs_comp_cntr, context, 0);
VERBS_OFFSET(struct verbs_comp_cntr, handle, 8);
VERBS_OFFSET(struct verbs_comp_cntr_init_attr, comp_mask, 0);
VERBS_OFFSET(struct verbs_comp_cntr_init_attr, type, 4);
VERBS_OFFSET(struct verbs_comp_cntr_init_attr, flags, 8);
VERBS_OFFSET(struct verbs_comp_cntr_caps, max_value, 0);
VERBS_OFFSET(struct verbs_comp_cntr_caps, max_counters, 8);
VERBS_OFFSET(struct verbs_comp_cntr_caps, supported_qp_attach_ops, 12);
VERBS_OFFSET(struct verbs_qp_attach_comp_cntr_attr, comp_mask, 0);
VERBS_OFFSET(struct verbs_qp_attach_comp_cntr_attr, op_mask, 4);

/* Values. */
#if VERBS_CORE >= 44 && !defined(VERBS_FOREIGN)
_Static_assert((int)VERBS_WC_ATOMIC_WRITE == IBV_WC_ATOMIC_WRITE &&
	       (int)VERBS_WR_ATOMIC_WRITE == IBV_WR_ATOMIC_WRITE &&
	       (int)VERBS_QP_EX_WITH_ATOMIC_WRITE == IBV_QP_EX_WITH_ATOMIC_WRITE,
	       "ATOMIC WRITE");
#endif
#if VERBS_CORE >= 45 && !defined(VERBS_FOREIGN)
_Static_assert((int)VERBS_QP_EX_WITH_FLUSH == IBV_QP_EX_WITH_FLUSH, "FLUSH");
#endif

/* Requests: header and core. */
#define VERBS_REQUEST(cmd, size) \
	_Static_assert(VERBS_CMD_SIZE(struct ib_uverbs_##cmd) == (size), #cmd)
VERBS_REQUEST(get_context, 16);
VERBS_REQUEST(alloc_pd, 16);
VERBS_REQUEST(reg_mr, 48);
VERBS_REQUEST(rereg_mr, 56);
VERBS_REQUEST(alloc_mw, 24);
VERBS_REQUEST(create_cq, 40);
VERBS_REQUEST(resize_cq, 24);
VERBS_REQUEST(create_qp, 64);
VERBS_REQUEST(modify_qp, 120);
VERBS_REQUEST(query_qp, 24);
VERBS_REQUEST(create_srq, 40);
VERBS_REQUEST(modify_srq, 24);
VERBS_REQUEST(query_srq, 24);
VERBS_REQUEST(query_port, 24);
_Static_assert(VERBS_EX_CMD_SIZE(struct ib_uverbs_ex_create_cq) == 56,
	       "ex_create_cq");
_Static_assert(VERBS_EX_CMD_SIZE(struct ib_uverbs_ex_modify_qp) == 144,
	       "ex_modify_qp");

/* Responses: core. */
VERBS_SIZE(struct ib_uverbs_get_context_resp, 8);
VERBS_SIZE(struct ib_uverbs_alloc_pd_resp, 4);
VERBS_SIZE(struct ib_uverbs_reg_mr_resp, 12);
VERBS_SIZE(struct ib_uverbs_rereg_mr_resp, 8);
VERBS_SIZE(struct ib_uverbs_alloc_mw_resp, 8);
VERBS_SIZE(struct ib_uverbs_create_cq_resp, 8);
VERBS_SIZE(struct ib_uverbs_ex_create_cq_resp, 16);
VERBS_SIZE(struct ib_uverbs_resize_cq_resp, 8);
VERBS_SIZE(struct ib_uverbs_create_qp_resp, 32);
VERBS_SIZE(struct ib_uverbs_create_srq_resp, 16);
VERBS_SIZE(struct ib_uverbs_create_ah_resp, 4);
VERBS_SIZE(struct ib_uverbs_ex_query_device_resp, 304);

#endif /* CAIRN_VERBS_PRIVATE_ASSERT_H */
