// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Device and context: libibverbs finds the provider here, and its operations. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ah.h"
#include "cairn.h"
#include "check.h"
#include "comp_cntr.h"
#include "cq.h"
#include "device.h"
#include "dm.h"
#include "fault.h"
#include "inline.h"
#include "keys.h"
#include "libcheck.h"
#include "mr.h"
#include "mw.h"
#include "pd.h"
#include "profile.h"
#include "qinfo.h"
#include "qp.h"
#include "ready.h"
#include "release.h"
#include "send.h"
#include "srq.h"
#include "xrc.h"

VERBS_RESP(cairn_get_context_resp, struct ib_uverbs_get_context_resp,
	   struct cairn_alloc_ucontext_resp);

void *cairn_map(struct cairn_context *ctx, uint64_t offset, size_t bytes,
		int prot)
{
	void *addr = mmap(NULL, bytes, prot, MAP_SHARED,
			  ctx->vctx.context.cmd_fd, (off_t)offset);

	return addr == MAP_FAILED ? NULL : addr;
}

void cairn_unmap(void *addr, size_t bytes)
{
	munmap(addr, bytes);
}

static void cairn_free_context(struct ibv_context *ibctx)
{
	struct cairn_context *ctx = to_cctx(ibctx);

	cairn_keys_destroy(ctx->keys);
	cairn_ready_free_all(ctx);
	cairn_release_free(ctx);
	cairn_qinfo_free_all(ctx);
	pthread_mutex_destroy(&ctx->resize_lock);
	pthread_mutex_destroy(&ctx->qinfo_lock);
	verbs_uninit_context(&ctx->vctx);
	free(ctx->profile);
	free(ctx);
}

static const struct verbs_context_ops cairn_ctx_ops = {
	.advise_mr = ibv_cmd_advise_mr,
	.alloc_dm = cairn_alloc_dm,
	.alloc_mw = cairn_alloc_mw,
	.alloc_null_mr = cairn_alloc_null_mr,
	.alloc_parent_domain = cairn_alloc_parent_domain,
	.alloc_pd = cairn_alloc_pd,
	.alloc_td = cairn_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = cairn_bind_mw,
	.close_xrcd = cairn_close_xrcd,
	.cq_event = cairn_cq_event,
	.create_ah = cairn_create_ah,
#if VERBS_CORE >= 65
	.create_comp_cntr = cairn_create_comp_cntr,
#endif
	.create_cq = cairn_create_cq,
	.create_cq_ex = cairn_create_cq_ex,
	.create_qp = cairn_create_qp,
	.create_qp_ex = cairn_create_qp_ex,
	.create_srq = cairn_create_srq,
	.create_srq_ex = cairn_create_srq_ex,
	.dealloc_mw = cairn_dealloc_mw,
	.dealloc_pd = cairn_dealloc_pd,
	.dealloc_td = cairn_dealloc_td,
	.dereg_mr = cairn_dereg_mr,
	.destroy_ah = cairn_destroy_ah,
#if VERBS_CORE >= 65
	.destroy_comp_cntr = cairn_destroy_comp_cntr,
#endif
	.destroy_cq = cairn_destroy_cq,
	.destroy_qp = cairn_destroy_qp,
	.destroy_srq = cairn_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = cairn_free_context,
	.free_dm = cairn_free_dm,
	.get_srq_num = cairn_get_srq_num,
#if VERBS_CORE >= 65
	.inc_comp_cntr = cairn_inc_comp_cntr,
	.inc_err_comp_cntr = cairn_inc_err_comp_cntr,
#endif
	.modify_cq = cairn_modify_cq,
	.modify_qp = cairn_modify_qp,
	.modify_qp_rate_limit = cairn_modify_qp_rate_limit,
	.modify_srq = cairn_modify_srq,
	.open_qp = cairn_open_qp,
	.open_xrcd = cairn_open_xrcd,
	.poll_cq = cairn_poll_cq,
	.post_recv = cairn_post_recv,
	.post_send = cairn_post_send,
	.post_srq_recv = cairn_post_srq_recv,
#if VERBS_CORE >= 65
	.qp_attach_comp_cntr = cairn_qp_attach_comp_cntr,
	.query_comp_cntr_caps = cairn_query_comp_cntr_caps,
#endif
	.query_device_ex = cairn_query_device_ex,
	.query_port = cairn_query_port,
#if VERBS_CORE >= 62
	.query_port_speed = ibv_cmd_query_port_speed,
#endif
	.query_qp = cairn_query_qp,
	.query_rt_values = cairn_query_rt_values,
	.query_srq = cairn_query_srq,
#if VERBS_CORE >= 65
	.read_comp_cntr = cairn_read_comp_cntr,
	.read_err_comp_cntr = cairn_read_err_comp_cntr,
#endif
	.reg_dm_mr = cairn_reg_dm_mr,
	.reg_dmabuf_mr = cairn_reg_dmabuf_mr,
	.reg_mr = cairn_reg_mr,
	.req_notify_cq = cairn_req_notify_cq,
	.rereg_mr = cairn_rereg_mr,
	.resize_cq = cairn_resize_cq,
#if VERBS_CORE >= 65
	.set_comp_cntr = cairn_set_comp_cntr,
	.set_err_comp_cntr = cairn_set_err_comp_cntr,
#endif
};

static int cairn_accept_context(struct cairn_context *ctx,
				const struct cairn_alloc_ucontext_resp *resp)
{
	if (resp->abi_version != CAIRN_ABI_VERSION) {
		fprintf(stderr,
			"libcairn: the kernel module speaks ABI %u, this library %u: install both of one release, and load that module\n",
			resp->abi_version, CAIRN_ABI_VERSION);
		return EPROTONOSUPPORT;
	}
	if (resp->page_size != ctx->page_size) {
		fprintf(stderr, "libcairn: page size is %zu, the kernel says %u: run the program without an emulator\n",
			ctx->page_size, resp->page_size);
		return EPROTONOSUPPORT;
	}
	ctx->max_inline = resp->max_inline;
	ctx->max_sge = resp->max_sge;
	return 0;
}

static struct verbs_context *cairn_alloc_context(struct ibv_device *ibdev,
						 int cmd_fd,
						 void *private_data)
{
	struct verbs_context *offset =
		(void *)offsetof(struct cairn_context, vctx);
	struct cairn_get_context_resp resp = {};
	struct verbs_context_ops ops = cairn_ctx_ops;
	union verbs_cmd_buf cmd = {};
	struct cairn_context *ctx;
	int err;

	(void)private_data;
	ctx = _verbs_init_and_alloc_context(ibdev, cmd_fd, sizeof(*ctx), offset,
					    CAIRN_DRIVER_ID);
	if (!ctx)
		return NULL;
	err = ibv_cmd_get_context(&ctx->vctx, &cmd,
				  VERBS_CMD_SIZE(struct ib_uverbs_get_context),
				  &resp, sizeof(resp));
	if (err)
		goto err_uninit;
	ctx->pid = getpid();
	ctx->page_size = (size_t)sysconf(_SC_PAGESIZE);
	err = cairn_accept_context(ctx, &resp.drv);
	if (err)
		goto err_uninit;
	err = cairn_profile_begin(ibdev, &ctx->profile);
	if (err)
		goto err_uninit;
	err = cairn_fault_begin();
	if (err && err != ENOENT)
		goto err_profile;
	ctx->inline_threshold = cairn_inline_env();
	ctx->keys = cairn_keys_create();
	pthread_mutex_init(&ctx->qinfo_lock, NULL);
	pthread_mutex_init(&ctx->resize_lock, NULL);
	if (ctx->profile)
		cairn_profile_overlay(ctx, &ops);
	ctx->faulty = !err;
	if (!err)
		cairn_fault_overlay(ctx, &ops);
	if (cairn_check_wanted())
		cairn_check_overlay(ctx, &ops);
	ctx->dereg_mr = ops.dereg_mr;
	verbs_set_ops(&ctx->vctx, &ops);
	return &ctx->vctx;

err_profile:
	free(ctx->profile);
err_uninit:
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
	errno = err;
	return NULL;
}

static struct verbs_device *cairn_alloc_device(struct verbs_sysfs_dev *sysfs)
{
	struct cairn_device *dev = calloc(1, sizeof(*dev));

	(void)sysfs;
	return dev ? &dev->vdev : NULL;
}

static void cairn_uninit_device(struct verbs_device *vdev)
{
	free(cairn_container_of(vdev, struct cairn_device, vdev));
}

static const struct verbs_match_ent cairn_match[] = {
	{ .u.driver_id = CAIRN_DRIVER_ID, .kind = VERBS_MATCH_DRIVER_ID },
	{ .kind = VERBS_MATCH_END },
};

static const struct verbs_device_ops cairn_dev_ops = {
	.name = "cairn",
	.match_min_abi_version = CAIRN_ABI_VERSION,
	.match_max_abi_version = CAIRN_ABI_VERSION,
	.match_table = cairn_match,
	.alloc_context = cairn_alloc_context,
	.alloc_device = cairn_alloc_device,
	.uninit_device = cairn_uninit_device,
};

bool cairn_device_is(const struct ibv_device *device)
{
	const struct verbs_device *vdev =
		cairn_container_of(device, struct verbs_device, device);

	return vdev->ops == &cairn_dev_ops;
}

__attribute__((constructor)) static void cairn_register(void)
{
	if (cairn_libcheck())
		verbs_register_driver(&cairn_dev_ops);
}
