/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The slice of libibverbs' private provider interface that libcairn uses.
 *
 * No distribution packages a header for it, so the structures are declared
 * here from measured sizes and offsets, and every one of them is asserted. It
 * differs between versions of rdma-core: those in the file "versions" are known.
 * VERBS_CORE is the version, VERBS_PABI the number in the name of the interface
 * (IBVERBS_PRIVATE_34). At run time, libcheck.c tells the versions apart that have
 * the same name.
 *
 * Requests and responses pass through the library untyped: it fills their
 * header and core, a provider only lays out the tail that its kernel driver
 * reads or writes.
 */
#ifndef CAIRN_VERBS_PRIVATE_H
#define CAIRN_VERBS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

/* The versions of which all have the layouts of this one. */
#if VERBS_CORE >= 39 && VERBS_CORE <= 43 && VERBS_PABI == 34
#define VERBS_FIRST	39
#define VERBS_LAST	43
#elif VERBS_CORE == 44 && VERBS_PABI == 34
#define VERBS_FIRST	44
#define VERBS_LAST	44
#elif VERBS_CORE >= 45 && VERBS_CORE <= 56 && VERBS_PABI == 34
#define VERBS_FIRST	45
#define VERBS_LAST	56
#elif VERBS_CORE >= 57 && VERBS_CORE <= 58 && VERBS_PABI == 57
#define VERBS_FIRST	57
#define VERBS_LAST	58
#elif VERBS_CORE >= 59 && VERBS_CORE <= 61 && VERBS_PABI == 59
#define VERBS_FIRST	59
#define VERBS_LAST	61
#elif VERBS_CORE >= 62 && VERBS_CORE <= 63 && VERBS_PABI == 59
#define VERBS_FIRST	62
#define VERBS_LAST	63
#elif VERBS_CORE == 64 && VERBS_PABI == 64
#define VERBS_FIRST	64
#define VERBS_LAST	64
#elif VERBS_CORE == 65 && VERBS_PABI == 65
#define VERBS_FIRST	65
#define VERBS_LAST	65
#else
#error "this rdma-core is not in userspace/abi/versions: take a newer cairn, or declare its interface there"
#endif

/* Values that installed headers may lack: version 44 has the first three, 45 the last. */
#define VERBS_WC_ATOMIC_WRITE		((enum ibv_wc_opcode)9)
#define VERBS_WR_ATOMIC_WRITE		15
#define VERBS_QP_EX_WITH_ATOMIC_WRITE	(1U << 12)
#define VERBS_QP_EX_WITH_FLUSH		(1U << 11)

#if !defined(VERBS_IN_TREE) || VERBS_CORE < 65
/* Public in version 65. Installed headers may lack them, so they have names of our own. */
struct verbs_comp_cntr {
	struct ibv_context *context;
	uint32_t handle;
};

struct verbs_comp_cntr_init_attr {
	uint32_t comp_mask;
	uint32_t type;		/* 0: work requests, 1: bytes */
	uint32_t flags;
};

struct verbs_comp_cntr_caps {
	uint64_t max_value;
	uint32_t max_counters;
	uint32_t supported_qp_attach_ops;
};

struct verbs_qp_attach_comp_cntr_attr {
	uint32_t comp_mask;
	uint32_t op_mask;
};
#endif

#ifdef VERBS_IN_TREE
#include "verbs_in_tree.h"
#else
struct verbs_device;
struct verbs_device_ops;
struct verbs_match_ent;

struct verbs_list_node {
	struct verbs_list_node *next;
	struct verbs_list_node *prev;
};

struct verbs_sysfs_dev {
	struct verbs_list_node entry;
	void *provider_data;
	const struct verbs_match_ent *match;
	unsigned int flags;
	char sysfs_name[IBV_SYSFS_NAME_MAX];
	dev_t sysfs_cdev;
	char ibdev_name[IBV_SYSFS_NAME_MAX];
	char ibdev_path[IBV_SYSFS_PATH_MAX];
	char modalias[512];
	uint64_t node_guid;
	uint32_t driver_id;
	int node_type;
	int ibdev_idx;
	uint32_t num_ports;
	uint32_t abi_ver;
	struct timespec time_created;
};

enum verbs_match_kind {
	VERBS_MATCH_END = 0,
	VERBS_MATCH_DRIVER_ID = 3,
};

struct verbs_match_ent {
	void *driver_data;
	union {
		const char *modalias;
		uint64_t driver_id;
	} u;
	uint16_t vendor;
	uint16_t device;
	uint8_t kind;
};

struct verbs_device_ops {
	const char *name;
	uint32_t match_min_abi_version;
	uint32_t match_max_abi_version;
	const struct verbs_match_ent *match_table;
	const struct verbs_device_ops **static_providers;
	bool (*match_device)(struct verbs_sysfs_dev *sysfs_dev);
	struct verbs_context *(*alloc_context)(struct ibv_device *ibdev,
					       int cmd_fd, void *private_data);
	struct verbs_context *(*import_context)(struct ibv_device *ibdev,
						int cmd_fd);
	struct verbs_device *(*alloc_device)(struct verbs_sysfs_dev *sysfs_dev);
	void (*uninit_device)(struct verbs_device *device);
};

struct verbs_device {
	struct ibv_device device;
	const struct verbs_device_ops *ops;
	int refcount;
	struct verbs_list_node entry;
	struct verbs_sysfs_dev *sysfs;
	uint64_t core_support;
};

/* verbs_mr.mr_type */
#define VERBS_MR_TYPE_NULL	1

struct verbs_mr {
	struct ibv_mr ibv_mr;
	int mr_type;
	int access;
};

struct verbs_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t comp_mask;
	uint32_t handle;
};

struct verbs_srq {
	struct ibv_srq srq;
	int srq_type;
	struct verbs_xrcd *xrcd;
	struct ibv_cq *cq;
	uint32_t srq_num;
};

struct verbs_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex cq_ex;
	};
};

enum verbs_qp_mask {
	VERBS_QP_XRCD = 1 << 0,
	VERBS_QP_EX = 1 << 1,
};

struct verbs_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex qp_ex;
	};
	uint32_t comp_mask;
	struct verbs_xrcd *xrcd;
};

/* Members that later versions have, and that libcairn leaves empty. */
#define VERBS_OP_LATER(member)	void (*member)(void);
#if VERBS_CORE >= 59
#define VERBS_OP_59(member)	VERBS_OP_LATER(member)
#else
#define VERBS_OP_59(member)
#endif
#if VERBS_CORE >= 62
#define VERBS_OP_62(member)	VERBS_OP_LATER(member)
#else
#define VERBS_OP_62(member)
#endif
#if VERBS_CORE >= 64
#define VERBS_OP_64(member)	VERBS_OP_LATER(member)
#else
#define VERBS_OP_64(member)
#endif
/* Version 65: a member, its type, and its arguments. */
#if VERBS_CORE >= 65
#define VERBS_OP_65(type, member, ...)	type (*member)(__VA_ARGS__);
#else
#define VERBS_OP_65(type, member, ...)
#endif

/* In alphabetical order, which is the order in the library's table. */
struct verbs_context_ops {
	int (*advise_mr)(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
			 uint32_t flags, struct ibv_sge *sg_list,
			 uint32_t num_sges);
	VERBS_OP_64(alloc_buf)
	struct ibv_dm *(*alloc_dm)(struct ibv_context *ctx,
				   struct ibv_alloc_dm_attr *attr);
	VERBS_OP_59(alloc_dmah)
	struct ibv_mw *(*alloc_mw)(struct ibv_pd *pd, enum ibv_mw_type type);
	struct ibv_mr *(*alloc_null_mr)(struct ibv_pd *pd);
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *ctx,
			struct ibv_parent_domain_init_attr *attr);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *ctx);
	struct ibv_td *(*alloc_td)(struct ibv_context *ctx,
				   struct ibv_td_init_attr *attr);
	void (*async_event)(struct ibv_context *ctx,
			    struct ibv_async_event *event);
	int (*attach_counters_point_flow)(struct ibv_counters *counters,
					  struct ibv_counter_attach_attr *attr,
					  struct ibv_flow *flow);
	int (*attach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid,
			    uint16_t lid);
	int (*bind_mw)(struct ibv_qp *qp, struct ibv_mw *mw,
		       struct ibv_mw_bind *bind);
	int (*close_xrcd)(struct ibv_xrcd *xrcd);
	void (*cq_event)(struct ibv_cq *cq);
	struct ibv_ah *(*create_ah)(struct ibv_pd *pd,
				    struct ibv_ah_attr *attr);
	VERBS_OP_65(struct verbs_comp_cntr *, create_comp_cntr, struct ibv_context *ctx,
		    struct verbs_comp_cntr_init_attr *attr)
	struct ibv_counters *(*create_counters)(struct ibv_context *ctx,
			struct ibv_counters_init_attr *attr);
	struct ibv_cq *(*create_cq)(struct ibv_context *ctx, int cqe,
				    struct ibv_comp_channel *channel,
				    int comp_vector);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *ctx,
					  struct ibv_cq_init_attr_ex *attr);
	struct ibv_flow *(*create_flow)(struct ibv_qp *qp,
					struct ibv_flow_attr *attr);
	struct ibv_flow_action *(*create_flow_action_esp)(
			struct ibv_context *ctx,
			struct ibv_flow_action_esp_attr *attr);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd,
				    struct ibv_qp_init_attr *attr);
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *ctx,
				       struct ibv_qp_init_attr_ex *attr);
	struct ibv_rwq_ind_table *(*create_rwq_ind_table)(
			struct ibv_context *ctx,
			struct ibv_rwq_ind_table_init_attr *attr);
	struct ibv_srq *(*create_srq)(struct ibv_pd *pd,
				      struct ibv_srq_init_attr *attr);
	struct ibv_srq *(*create_srq_ex)(struct ibv_context *ctx,
					 struct ibv_srq_init_attr_ex *attr);
	struct ibv_wq *(*create_wq)(struct ibv_context *ctx,
				    struct ibv_wq_init_attr *attr);
	VERBS_OP_59(dealloc_dmah)
	int (*dealloc_mw)(struct ibv_mw *mw);
	int (*dealloc_pd)(struct ibv_pd *pd);
	int (*dealloc_td)(struct ibv_td *td);
	int (*dereg_mr)(struct verbs_mr *vmr);
	int (*destroy_ah)(struct ibv_ah *ah);
	VERBS_OP_65(int, destroy_comp_cntr, struct verbs_comp_cntr *cntr)
	int (*destroy_counters)(struct ibv_counters *counters);
	int (*destroy_cq)(struct ibv_cq *cq);
	int (*destroy_flow)(struct ibv_flow *flow);
	int (*destroy_flow_action)(struct ibv_flow_action *action);
	int (*destroy_qp)(struct ibv_qp *qp);
	int (*destroy_rwq_ind_table)(struct ibv_rwq_ind_table *table);
	int (*destroy_srq)(struct ibv_srq *srq);
	int (*destroy_wq)(struct ibv_wq *wq);
	int (*detach_mcast)(struct ibv_qp *qp, const union ibv_gid *gid,
			    uint16_t lid);
	VERBS_OP_62(dm_export_dmabuf_fd)
	VERBS_OP_64(free_buf)
	void (*free_context)(struct ibv_context *ctx);
	int (*free_dm)(struct ibv_dm *dm);
	int (*get_srq_num)(struct ibv_srq *srq, uint32_t *srq_num);
	struct ibv_dm *(*import_dm)(struct ibv_context *ctx, uint32_t handle);
	struct ibv_mr *(*import_mr)(struct ibv_pd *pd, uint32_t handle);
	struct ibv_pd *(*import_pd)(struct ibv_context *ctx, uint32_t handle);
	VERBS_OP_65(int, inc_comp_cntr, struct verbs_comp_cntr *cntr, uint64_t amount)
	VERBS_OP_65(int, inc_err_comp_cntr, struct verbs_comp_cntr *cntr, uint64_t amount)
	int (*modify_cq)(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
	int (*modify_flow_action_esp)(struct ibv_flow_action *action,
				      struct ibv_flow_action_esp_attr *attr);
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
	int (*modify_qp_rate_limit)(struct ibv_qp *qp,
				    struct ibv_qp_rate_limit_attr *attr);
	int (*modify_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr,
			  int mask);
	int (*modify_wq)(struct ibv_wq *wq, struct ibv_wq_attr *attr);
	struct ibv_qp *(*open_qp)(struct ibv_context *ctx,
				  struct ibv_qp_open_attr *attr);
	struct ibv_xrcd *(*open_xrcd)(struct ibv_context *ctx,
				      struct ibv_xrcd_init_attr *attr);
	int (*poll_cq)(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad_wr);
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr,
			 struct ibv_send_wr **bad_wr);
	int (*post_srq_ops)(struct ibv_srq *srq, struct ibv_ops_wr *op,
			    struct ibv_ops_wr **bad_op);
	int (*post_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad_wr);
	VERBS_OP_65(int, qp_attach_comp_cntr, struct ibv_qp *qp,
		    struct verbs_comp_cntr *cntr,
		    struct verbs_qp_attach_comp_cntr_attr *attr)
	VERBS_OP_65(int, query_comp_cntr_caps, struct ibv_context *ctx,
		    struct verbs_comp_cntr_caps *caps, size_t size)
	int (*query_device_ex)(struct ibv_context *ctx,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr, size_t size);
	int (*query_ece)(struct ibv_qp *qp, struct ibv_ece *ece);
	int (*query_port)(struct ibv_context *ctx, uint8_t port_num,
			  struct ibv_port_attr *attr);
#if VERBS_CORE >= 62
	int (*query_port_speed)(struct ibv_context *ctx, uint32_t port_num,
				uint64_t *speed);
#endif
	int (*query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init_attr);
	int (*query_qp_data_in_order)(struct ibv_qp *qp, enum ibv_wr_opcode op,
				      uint32_t flags);
	int (*query_rt_values)(struct ibv_context *ctx,
			       struct ibv_values_ex *values);
	int (*query_srq)(struct ibv_srq *srq, struct ibv_srq_attr *attr);
	VERBS_OP_65(int, read_comp_cntr, struct verbs_comp_cntr *cntr, uint64_t *value)
	int (*read_counters)(struct ibv_counters *counters, uint64_t *values,
			     uint32_t ncounters, uint32_t flags);
	VERBS_OP_65(int, read_err_comp_cntr, struct verbs_comp_cntr *cntr, uint64_t *value)
	struct ibv_mr *(*reg_dm_mr)(struct ibv_pd *pd, struct ibv_dm *dm,
				    uint64_t offset, size_t length,
				    unsigned int access);
	struct ibv_mr *(*reg_dmabuf_mr)(struct ibv_pd *pd, uint64_t offset,
					size_t length, uint64_t iova, int fd,
					int access);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length,
				 uint64_t hca_va, int access);
	VERBS_OP_59(reg_mr_ex)
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
	int (*rereg_mr)(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
			void *addr, size_t length, int access);
	int (*resize_cq)(struct ibv_cq *cq, int cqe);
	VERBS_OP_65(int, set_comp_cntr, struct verbs_comp_cntr *cntr, uint64_t value)
	int (*set_ece)(struct ibv_qp *qp, struct ibv_ece *ece);
	VERBS_OP_65(int, set_err_comp_cntr, struct verbs_comp_cntr *cntr, uint64_t value)
	void (*unimport_dm)(struct ibv_dm *dm);
	void (*unimport_mr)(struct ibv_mr *mr);
	void (*unimport_pd)(struct ibv_pd *pd);
};

#endif /* VERBS_IN_TREE */

/* Request headers; the uapi struct of the command follows. */
struct verbs_cmd_hdr {
	uint32_t command;
	uint16_t in_words;
	uint16_t out_words;
};

struct verbs_ex_cmd_hdr {
	struct verbs_cmd_hdr hdr;
	uint64_t response;
	uint16_t provider_in_words;
	uint16_t provider_out_words;
	uint32_t reserved;
};

/* Bytes of a request without driver data; the library fills all of them. */
#define VERBS_CMD_SIZE(uapi)	(sizeof(struct verbs_cmd_hdr) + sizeof(uapi))
#define VERBS_EX_CMD_SIZE(uapi)	(sizeof(struct verbs_ex_cmd_hdr) + sizeof(uapi))

union verbs_cmd_buf {
	uint8_t bytes[160];
	uint64_t align;
};

/*
 * A response: the core that the library fills, then the driver's tail. The
 * core is kept as bytes because several uapi structs end in a flexible array.
 */
#define VERBS_RESP(name, uapi, tail)					\
	struct name {							\
		uint8_t core[sizeof(uapi)]				\
			__attribute__((aligned(__alignof__(uapi))));	\
		tail drv;						\
	};								\
	_Static_assert(offsetof(struct name, drv) == sizeof(uapi),	\
		       "padding before the driver's tail")

#ifndef VERBS_IN_TREE
/* Life cycle. */
#define VERBS_PASTE(name, number)	name##number
#define VERBS_NAME(name, number)	VERBS_PASTE(name, number)
#define verbs_register_driver	VERBS_NAME(verbs_register_driver_, VERBS_PABI)

void verbs_register_driver(const struct verbs_device_ops *ops);
void *_verbs_init_and_alloc_context(struct ibv_device *device, int cmd_fd,
				    size_t alloc_size,
				    struct verbs_context *context_offset,
				    uint32_t driver_id);
void verbs_set_ops(struct verbs_context *vctx,
		   const struct verbs_context_ops *ops);
void verbs_uninit_context(struct verbs_context *vctx);
#if VERBS_CORE >= 57
struct ibv_fd_arr;
int ibv_cmd_get_context(struct verbs_context *vctx, void *cmd, size_t cmd_size,
			struct ibv_fd_arr *fds, void *resp, size_t resp_size);
#define ibv_cmd_get_context(vctx, cmd, cmd_size, resp, resp_size) \
	ibv_cmd_get_context(vctx, cmd, cmd_size, NULL, resp, resp_size)
#else
int ibv_cmd_get_context(struct verbs_context *vctx, void *cmd, size_t cmd_size,
			void *resp, size_t resp_size);
#endif

/* Commands. All return 0 or a positive errno. */
int ibv_cmd_query_device_any(struct ibv_context *ctx,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t attr_size,
			     struct ib_uverbs_ex_query_device_resp *resp,
			     size_t *resp_size);
int ibv_cmd_query_port(struct ibv_context *ctx, uint8_t port_num,
		       struct ibv_port_attr *attr, void *cmd, size_t cmd_size);
#if VERBS_CORE >= 62
int ibv_cmd_query_port_speed(struct ibv_context *ctx, uint32_t port_num,
			     uint64_t *speed);
#endif
int ibv_cmd_alloc_pd(struct ibv_context *ctx, struct ibv_pd *pd, void *cmd,
		     size_t cmd_size, void *resp, size_t resp_size);
int ibv_cmd_dealloc_pd(struct ibv_pd *pd);
int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
		   uint64_t hca_va, int access, struct verbs_mr *vmr, void *cmd,
		   size_t cmd_size, void *resp, size_t resp_size);
int ibv_cmd_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		      uint32_t flags, struct ibv_sge *sg_list,
		      uint32_t num_sge);
/* Before version 54 there is no argument "driver"; the callee ignores it. */
int ibv_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
			  uint64_t iova, int fd, int access,
			  struct verbs_mr *vmr, void *driver);
int ibv_cmd_rereg_mr(struct verbs_mr *vmr, uint32_t flags, void *addr,
		     size_t length, uint64_t hca_va, int access,
		     struct ibv_pd *pd, void *cmd, size_t cmd_size, void *resp,
		     size_t resp_size);
int ibv_cmd_dereg_mr(struct verbs_mr *vmr);
int ibv_cmd_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type,
		     struct ibv_mw *mw, void *cmd, size_t cmd_size, void *resp,
		     size_t resp_size);
int ibv_cmd_dealloc_mw(struct ibv_mw *mw);
int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah,
		      struct ibv_ah_attr *attr, void *resp, size_t resp_size);
int ibv_cmd_destroy_ah(struct ibv_ah *ah);
int ibv_cmd_create_cq(struct ibv_context *ctx, int cqe,
		      struct ibv_comp_channel *channel, int comp_vector,
		      struct ibv_cq *cq, void *cmd, size_t cmd_size, void *resp,
		      size_t resp_size);
#if VERBS_CORE >= 59
struct verbs_create_cq_prov_attr;
int ibv_cmd_create_cq_ex(struct ibv_context *ctx,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_create_cq_prov_attr *prov_attr,
			 struct verbs_cq *cq, void *cmd, size_t cmd_size,
			 void *resp, size_t resp_size, uint32_t cmd_flags);
#define ibv_cmd_create_cq_ex(ctx, attr, cq, cmd, cmd_size, resp, resp_size, flags) \
	ibv_cmd_create_cq_ex(ctx, attr, NULL, cq, cmd, cmd_size, resp, resp_size, flags)
#else
int ibv_cmd_create_cq_ex(struct ibv_context *ctx,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *cq, void *cmd, size_t cmd_size,
			 void *resp, size_t resp_size, uint32_t cmd_flags);
#endif
int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, void *cmd, size_t cmd_size,
		      void *resp, size_t resp_size);
int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr,
		      void *cmd, size_t cmd_size);
int ibv_cmd_destroy_cq(struct ibv_cq *cq);
int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq,
		       struct ibv_srq_init_attr *attr, void *cmd,
		       size_t cmd_size, void *resp, size_t resp_size);
int ibv_cmd_create_srq_ex(struct ibv_context *ctx, struct verbs_srq *vsrq,
			  struct ibv_srq_init_attr_ex *attr, void *cmd,
			  size_t cmd_size, void *resp, size_t resp_size);
int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask,
		       void *cmd, size_t cmd_size);
int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, void *cmd,
		      size_t cmd_size);
int ibv_cmd_destroy_srq(struct ibv_srq *srq);
int ibv_cmd_create_qp_ex(struct ibv_context *ctx, struct verbs_qp *vqp,
			 struct ibv_qp_init_attr_ex *attr, void *cmd,
			 size_t cmd_size, void *resp, size_t resp_size);
int ibv_cmd_open_qp(struct ibv_context *ctx, struct verbs_qp *vqp, int vqp_size,
		    struct ibv_qp_open_attr *attr, void *cmd, size_t cmd_size,
		    void *resp, size_t resp_size);
int ibv_cmd_open_xrcd(struct ibv_context *ctx, struct verbs_xrcd *xrcd,
		      int xrcd_size, struct ibv_xrcd_init_attr *attr, void *cmd,
		      size_t cmd_size, void *resp, size_t resp_size);
int ibv_cmd_close_xrcd(struct verbs_xrcd *xrcd);
int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		      void *cmd, size_t cmd_size);
int ibv_cmd_modify_qp_ex(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			 void *cmd, size_t cmd_size, void *resp,
			 size_t resp_size);
int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init_attr, void *cmd,
		     size_t cmd_size);
int ibv_cmd_destroy_qp(struct ibv_qp *qp);
int ibv_cmd_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			 uint16_t lid);
int ibv_cmd_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
			 uint16_t lid);

#endif /* VERBS_IN_TREE */

#include "verbs_private_assert.h"

#endif /* CAIRN_VERBS_PRIVATE_H */
