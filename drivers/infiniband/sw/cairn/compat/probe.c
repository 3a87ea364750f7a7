// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Features of the kernel that the module is built for. probe.sh compiles this file
 * once. The compiler reports each error under the line marker above it. A marker
 * without an error is a feature and becomes a macro in found.h. This file is not part
 * of the module.
 */
#include <linux/bvec.h>
#include <linux/dma-buf.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/ib_umem.h>
#include <rdma/rdma_counter.h>
#include <rdma/uverbs_ioctl.h>
#include <net/flow.h>
#if __has_include("net/inet_dscp.h")
#include <net/inet_dscp.h>
#endif

/* 5.16: counters have descriptions. */
# 1 "CAIRN_HAS_RDMA_STAT_DESC"
static struct rdma_stat_desc probe_rdma_stat_desc;

/* 5.16: folios. */
# 1 "CAIRN_HAS_FOLIO"
static void probe_folio(struct page *page)
{
	folio_mark_dirty(page_folio(page));
}

/* 5.17: references to a netdev have a tracker. */
# 1 "CAIRN_HAS_NETDEVICE_TRACKER"
static netdevice_tracker probe_netdevice_tracker;

/* 5.18: a struct iosys_map, which had another name before. */
# 1 "CAIRN_HAS_IOSYS_MAP"
static struct iosys_map probe_iosys_map;

/* 5.18: the header of a DSCP's type. */
# 1 "CAIRN_HAS_INET_DSCP"
static int probe_inet_dscp = INET_DSCP_MASK;

/* 5.19: capabilities for the kernel have a field of their own. */
# 1 "CAIRN_HAS_IB_KERNEL_CAPS"
static u64 probe_ib_kernel_caps = IBK_LOCAL_DMA_LKEY;

/* 6.0: a work can be taken back without waiting for it. */
# 1 "CAIRN_HAS_CANCEL_WORK"
static void *probe_cancel_work = cancel_work;

/* 6.0: netdev_hold() takes the tracker. */
# 1 "CAIRN_HAS_NETDEV_HOLD"
static void *probe_netdev_hold = netdev_hold;

/* 6.1: single random bytes. */
# 1 "CAIRN_HAS_GET_RANDOM_U8"
static void *probe_get_random_u8 = get_random_u8;

/* 6.2: FLUSH and ATOMIC WRITE. */
# 1 "CAIRN_HAS_IB_FLUSH"
static int probe_ib_flush = IB_ACCESS_FLUSH_GLOBAL;

/* 6.3: a function fills a struct bio_vec. */
# 1 "CAIRN_HAS_BVEC_SET_PAGE"
static void *probe_bvec_set_page = bvec_set_page;

/* After 6.8: a device name can be marked as assigned by the user. */
# 1 "CAIRN_HAS_IB_MARK_NAME"
static void *probe_ib_mark_name = ib_mark_name_assigned_by_user;

/* 6.3: flags of a mapping are changed through functions. */
# 1 "CAIRN_HAS_VM_FLAGS_SET"
static void *probe_vm_flags_set = vm_flags_set;

/* 6.2: dma_buf_vmap() requires the buffer's lock. */
# 1 "CAIRN_HAS_DMA_BUF_VMAP_UNLOCKED"
static void *probe_dma_buf_vmap_unlocked = dma_buf_vmap_unlocked;

/* 5.16: pages are looked up without faulting them in. */
# 1 "CAIRN_HAS_FOLL_NOFAULT"
static int probe_foll_nofault = FOLL_NOFAULT;

/* 6.5: get_user_pages_remote() does not return mappings. */
# 1 "CAIRN_HAS_GUP_WITHOUT_VMAS"
static void probe_gup_without_vmas(struct mm_struct *mm)
{
	get_user_pages_remote(mm, 0, 0, 0, NULL, NULL);
}

/* 6.11: create_cq() takes the bundle of attributes. */
# 1 "CAIRN_HAS_CREATE_CQ_ATTRS"
static void probe_create_cq_attrs(const struct ib_device_ops *ops,
				  struct uverbs_attr_bundle *attrs)
{
	ops->create_cq(NULL, NULL, attrs);
}

/* 6.12: reg_user_mr_dmabuf() takes the bundle, too. */
# 1 "CAIRN_HAS_DMABUF_ATTRS"
static void probe_dmabuf_attrs(const struct ib_device_ops *ops,
			       struct uverbs_attr_bundle *attrs)
{
	ops->reg_user_mr_dmabuf(NULL, 0, 0, 0, 0, 0, attrs);
}

/* 6.13: hrtimer_setup() replaces hrtimer_init(). */
# 1 "CAIRN_HAS_HRTIMER_SETUP"
static void *probe_hrtimer_setup = hrtimer_setup;

/* 6.14: a driver can report the state of its port itself. */
# 1 "CAIRN_HAS_REPORT_PORT_EVENT"
static void probe_report_port_event(const struct ib_device_ops *ops)
{
	ops->report_port_event(NULL, NULL, 0);
}

/* 6.15: a driver says how large its QP counters are. */
# 1 "CAIRN_HAS_COUNTER_INIT"
static void probe_counter_init(const struct ib_device_ops *ops)
{
	ops->counter_init(NULL);
}

/* After 6.12: counter_unbind_qp() takes the port. */
# 1 "CAIRN_HAS_COUNTER_PORT"
static void probe_counter_port(const struct ib_device_ops *ops)
{
	ops->counter_unbind_qp(NULL, 1);
}

/* After 6.12: the DSCP of a flow has a type. */
# 1 "CAIRN_HAS_FLOWI4_DSCP"
static void probe_flow4_dscp(struct flowi4 *flow)
{
	flow->flowi4_dscp = inet_dsfield_to_dscp(0);
}

/* 6.17: a device is allocated for a network namespace. */
# 1 "CAIRN_HAS_ALLOC_DEVICE_WITH_NET"
static void probe_alloc_device_with_net(void)
{
	_ib_alloc_device(0, &init_net);
}

/* 6.17: reg_user_mr() takes steering hints. */
# 1 "CAIRN_HAS_DMAH"
static void probe_reg_user_mr_dmah(const struct ib_device_ops *ops,
				   struct ib_dmah *dmah)
{
	ops->reg_user_mr(NULL, 0, 0, 0, 0, dmah, NULL);
}

/* After 6.12: ib_umem_get() is ib_umem_get_va(). */
# 1 "CAIRN_HAS_UMEM_GET_VA"
static void *probe_umem_get_va = ib_umem_get_va;

/* After 6.12: resize_cq is resize_user_cq. */
# 1 "CAIRN_HAS_RESIZE_USER_CQ"
static void probe_resize_user_cq(const struct ib_device_ops *ops)
{
	ops->resize_user_cq(NULL, 1, NULL);
}

/* After 6.18: the speed of a port is asked for without rounding. */
# 1 "CAIRN_HAS_QUERY_PORT_SPEED"
static void probe_query_port_speed(const struct ib_device_ops *ops)
{
	ops->query_port_speed(NULL, 1, NULL);
}

/* 7.3: completion counters. */
# 1 "CAIRN_HAS_COMP_CNTR"
static void probe_comp_cntr(const struct ib_device_ops *ops,
			    struct ib_comp_cntr *cc,
			    struct ib_comp_cntr_caps *caps,
			    struct ib_qp_attach_comp_cntr_attr *attr,
			    struct uverbs_attr_bundle *attrs)
{
	ops->create_comp_cntr(cc, attrs);
	ops->modify_comp_cntr(cc, IB_COMP_CNTR_ENTRY_ERR,
			      IB_COMP_CNTR_MODIFY_OP_INC, 1);
	ops->query_comp_cntr_caps(NULL, caps, attrs);
	ops->qp_attach_comp_cntr(NULL, cc, attr);
}

/* Always an error, so that probe.sh can tell that errors are reported. */
# 1 "CAIRN_HAS_NOTHING"
static int probe_nothing = cairn_no_kernel_has_this;
