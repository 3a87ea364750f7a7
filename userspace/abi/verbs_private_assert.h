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

/* Growth of structures since version 44, in bytes. */
#define VERBS_QP_EX_MORE	(VERBS_CORE >= 45 ? 8 : 0)
#define VERBS_CONTEXT_MORE	(VERBS_PABI >= 65 ? 48 : 0)
/* A mutex of the C library has 40 bytes on x86_64, and 48 on arm64. */
#define VERBS_MUTEX_MORE	(sizeof(pthread_mutex_t) - 40)
/* Members before this one that version 65 added. */
#define VERBS_OP(member, offset, more) \
	VERBS_OFFSET(struct verbs_context_ops, member, \
		     (offset) + (VERBS_PABI >= 65 ? (more) * 8 : 0))

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
VERBS_OFFSET(struct ibv_qp_ex, wr_atomic_write, 344 + VERBS_MUTEX_MORE);
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
VERBS_SIZE(struct verbs_context_ops, VERBS_PABI >= 65 ? 744 : 608);

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

VERBS_OP(advise_mr, 0, 0);
VERBS_OP(alloc_dm, 8, 1);
VERBS_OP(alloc_mw, 16, 2);
VERBS_OP(alloc_null_mr, 24, 2);
VERBS_OP(alloc_parent_domain, 32, 2);
VERBS_OP(alloc_pd, 40, 2);
VERBS_OP(alloc_td, 48, 2);
VERBS_OP(async_event, 56, 2);
VERBS_OP(attach_counters_point_flow, 64, 2);
VERBS_OP(attach_mcast, 72, 2);
VERBS_OP(bind_mw, 80, 2);
VERBS_OP(close_xrcd, 88, 2);
VERBS_OP(cq_event, 96, 2);
VERBS_OP(create_ah, 104, 2);
VERBS_OP(create_counters, 112, 3);
VERBS_OP(create_cq, 120, 3);
VERBS_OP(create_cq_ex, 128, 3);
VERBS_OP(create_flow, 136, 3);
VERBS_OP(create_flow_action_esp, 144, 3);
VERBS_OP(create_qp, 152, 3);
VERBS_OP(create_qp_ex, 160, 3);
VERBS_OP(create_rwq_ind_table, 168, 3);
VERBS_OP(create_srq, 176, 3);
VERBS_OP(create_srq_ex, 184, 3);
VERBS_OP(create_wq, 192, 3);
VERBS_OP(dealloc_mw, 200, 4);
VERBS_OP(dealloc_pd, 208, 4);
VERBS_OP(dealloc_td, 216, 4);
VERBS_OP(dereg_mr, 224, 4);
VERBS_OP(destroy_ah, 232, 4);
VERBS_OP(destroy_counters, 240, 5);
VERBS_OP(destroy_cq, 248, 5);
VERBS_OP(destroy_flow, 256, 5);
VERBS_OP(destroy_flow_action, 264, 5);
VERBS_OP(destroy_qp, 272, 5);
VERBS_OP(destroy_rwq_ind_table, 280, 5);
VERBS_OP(destroy_srq, 288, 5);
VERBS_OP(destroy_wq, 296, 5);
VERBS_OP(detach_mcast, 304, 5);
VERBS_OP(free_context, 312, 7);
VERBS_OP(free_dm, 320, 7);
VERBS_OP(get_srq_num, 328, 7);
VERBS_OP(import_dm, 336, 7);
VERBS_OP(import_mr, 344, 7);
VERBS_OP(import_pd, 352, 7);
VERBS_OP(modify_cq, 360, 9);
VERBS_OP(modify_flow_action_esp, 368, 9);
VERBS_OP(modify_qp, 376, 9);
VERBS_OP(modify_qp_rate_limit, 384, 9);
VERBS_OP(modify_srq, 392, 9);
VERBS_OP(modify_wq, 400, 9);
VERBS_OP(open_qp, 408, 9);
VERBS_OP(open_xrcd, 416, 9);
VERBS_OP(poll_cq, 424, 9);
VERBS_OP(post_recv, 432, 9);
VERBS_OP(post_send, 440, 9);
VERBS_OP(post_srq_ops, 448, 9);
VERBS_OP(post_srq_recv, 456, 9);
VERBS_OP(query_device_ex, 464, 11);
VERBS_OP(query_ece, 472, 11);
VERBS_OP(query_port, 480, 11);
VERBS_OP(query_qp, 488, 12);
VERBS_OP(query_qp_data_in_order, 496, 12);
VERBS_OP(query_rt_values, 504, 12);
VERBS_OP(query_srq, 512, 12);
VERBS_OP(read_counters, 520, 13);
VERBS_OP(reg_dm_mr, 528, 14);
VERBS_OP(reg_dmabuf_mr, 536, 14);
VERBS_OP(reg_mr, 544, 14);
VERBS_OP(req_notify_cq, 552, 15);
VERBS_OP(rereg_mr, 560, 15);
VERBS_OP(resize_cq, 568, 15);
VERBS_OP(set_ece, 576, 16);
VERBS_OP(unimport_dm, 584, 17);
VERBS_OP(unimport_mr, 592, 17);
VERBS_OP(unimport_pd, 600, 17);

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
