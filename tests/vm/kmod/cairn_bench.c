// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Messages over many RC connections, posted from completion handlers: the cost of
 * the stacks without system calls. Loading it measures between the devices a
 * and b; the kernel log has one line, "cairn_bench: " and NAME=VALUE words.
 *
 * WINDOW messages are kept in flight, each by the connection that has been idle
 * longest.
 */
#define pr_fmt(fmt) "cairn_bench: " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>
#include "find_dev.h"

#define WINDOW		64U	/* messages in flight */
#define RECEIVES	256
#define SAMPLES		8192
#define PATIENCE	(60 * HZ)
#define COPY_MSECS	20

static char *a = "cairn_a", *b = "cairn_b", *op = "write";
static unsigned int pairs = 1, bytes = 64, msecs = 1000, victims;
module_param(a, charp, 0444);
module_param(b, charp, 0444);
module_param(op, charp, 0444);
MODULE_PARM_DESC(op, "write, send or read");
module_param(pairs, uint, 0444);
module_param(bytes, uint, 0444);
module_param(msecs, uint, 0444);
module_param(victims, uint, 0444);
MODULE_PARM_DESC(victims, "connections that end while all of them send");

struct bench_end {
	struct ib_device *dev;
	const struct ib_gid_attr *gid;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_srq *srq;
	struct ib_qp **qp;
	void *buf;
};

/* A message that a connection may have in flight. */
struct bench_slot {
	struct ib_cqe cqe;
	struct ib_qp *qp;
	ktime_t posted;
	bool flying;
	bool dead;	/* its connection ends */
};

static struct bench_end ends[2];
static struct bench_slot *slots;
static unsigned int num_slots;
/* Under bench_lock: */
static DEFINE_SPINLOCK(bench_lock);
static unsigned int *idle, idle_head, idle_count, flying;
static u64 posted, messages, failures;
static u32 samples[SAMPLES];
static bool running, ending;
/* Time of the first and the last quarter of the connections, ns for each; bytes of
 * each queue pair, rings included.
 */
static u64 setup_first, setup_last, qp_bytes;

static DECLARE_COMPLETION(bench_over);
static struct ib_cqe recv_cqe;

static void bench_post(void);

/* From a completion handler: count the message, and post the next one. */
static void bench_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct bench_slot *slot =
		container_of(wc->wr_cqe, struct bench_slot, cqe);
	u64 ns = ktime_get_ns() - ktime_to_ns(slot->posted);
	unsigned long flags;

	spin_lock_irqsave(&bench_lock, flags);
	if (wc->status != IB_WC_SUCCESS && !slot->dead) {
		failures++;
		ending = true;
	}
	if (running && !slot->dead)
		samples[messages++ % SAMPLES] = min_t(u64, ns, U32_MAX);
	idle[(idle_head + idle_count++) % num_slots] = slot - slots;
	WRITE_ONCE(slot->flying, false);
	flying--;
	if (ending && !flying)
		complete(&bench_over);
	spin_unlock_irqrestore(&bench_lock, flags);
	bench_post();
}

static int bench_post_recv(void)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)ends[1].buf,
		.length = bytes,
		.lkey = ends[1].pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &recv_cqe, .sg_list = &sge, .num_sge = 1,
	};

	return ib_post_srq_recv(ends[1].srq, &wr, NULL);
}

static void bench_received(struct ib_cq *cq, struct ib_wc *wc)
{
	if (wc->status == IB_WC_SUCCESS)
		bench_post_recv();
}

/* The connection that has been idle longest, if there is one. */
static struct bench_slot *bench_take(void)
{
	struct bench_slot *slot = NULL;
	unsigned long flags;

	spin_lock_irqsave(&bench_lock, flags);
	while (!slot && !ending && idle_count && flying < WINDOW) {
		slot = &slots[idle[idle_head++ % num_slots]];
		idle_head %= num_slots;
		idle_count--;
		if (slot->dead)
			slot = NULL;
	}
	if (slot) {
		slot->flying = true;
		flying++;
		posted++;
	}
	spin_unlock_irqrestore(&bench_lock, flags);
	return slot;
}

static void bench_post(void)
{
	struct bench_slot *slot = bench_take();
	struct ib_sge sge = {
		.addr = (uintptr_t)ends[0].buf,
		.length = bytes,
		.lkey = ends[0].pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = *op == 's' ? IB_WR_SEND :
				  *op == 'r' ? IB_WR_RDMA_READ :
					       IB_WR_RDMA_WRITE,
			.sg_list = &sge,
			.num_sge = 1,
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = (uintptr_t)ends[1].buf,
		.rkey = ends[1].pd->unsafe_global_rkey,
	};
	unsigned long flags;

	if (!slot)
		return;
	wr.wr.wr_cqe = &slot->cqe;
	slot->posted = ktime_get();
	if (!ib_post_send(slot->qp, &wr.wr, NULL))
		return;
	spin_lock_irqsave(&bench_lock, flags);
	failures += !slot->dead;
	slot->flying = false;
	flying--;
	if (slot->dead) {
		spin_unlock_irqrestore(&bench_lock, flags);
		return;
	}
	ending = true;
	if (!flying)
		complete(&bench_over);
	spin_unlock_irqrestore(&bench_lock, flags);
}

static int bench_find_gid(struct bench_end *end)
{
	int i, n = ib_port_immutable_read(end->dev, 1)->gid_tbl_len;

	for (i = 0; i < n; i++) {
		const struct ib_gid_attr *gid =
			rdma_get_gid_attr(end->dev, 1, i);

		if (IS_ERR(gid))
			continue;
		if (gid->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((struct in6_addr *)gid->gid.raw)) {
			end->gid = gid;
			return 0;
		}
		rdma_put_gid_attr(gid);
	}
	return -ENOENT;
}

static int bench_open(struct bench_end *end, const char *name)
{
	struct ib_srq_init_attr init = {
		.attr = { .max_wr = RECEIVES, .max_sge = 1 },
	};
	int err;

	end->dev = find_dev(name);
	if (!end->dev)
		return -ENODEV;
	err = bench_find_gid(end);
	if (err)
		return err;
	end->buf = kzalloc(bytes, GFP_KERNEL);
	end->qp = kvcalloc(pairs, sizeof(*end->qp), GFP_KERNEL);
	if (!end->buf || !end->qp)
		return -ENOMEM;
	end->pd = ib_alloc_pd(end->dev, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(end->pd))
		return PTR_ERR(end->pd);
	end->cq = ib_alloc_cq(end->dev, NULL, 2 * WINDOW + RECEIVES, 0,
			      IB_POLL_SOFTIRQ);
	if (IS_ERR(end->cq))
		return PTR_ERR(end->cq);
	end->srq = ib_create_srq(end->pd, &init);
	return PTR_ERR_OR_ZERO(end->srq);
}

static void bench_close(struct bench_end *end)
{
	unsigned int i;

	for (i = 0; end->qp && i < pairs; i++)
		if (!IS_ERR_OR_NULL(end->qp[i]))
			ib_destroy_qp(end->qp[i]);
	if (!IS_ERR_OR_NULL(end->srq))
		ib_destroy_srq(end->srq);
	if (!IS_ERR_OR_NULL(end->cq))
		ib_free_cq(end->cq);
	if (!IS_ERR_OR_NULL(end->pd))
		ib_dealloc_pd(end->pd);
	kvfree(end->qp);
	kfree(end->buf);
	if (end->gid)
		rdma_put_gid_attr(end->gid);
	if (end->dev)
		ib_device_put(end->dev);
}

static int bench_create_qp(struct bench_end *end, unsigned int i)
{
	struct ib_qp_init_attr init = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.srq = end->srq,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = max(4U, 2 * num_slots / pairs),
			.max_send_sge = 1,
		},
	};

	end->qp[i] = ib_create_qp(end->pd, &init);
	return PTR_ERR_OR_ZERO(end->qp[i]);
}

static int bench_connect(const struct bench_end *end,
			 const struct bench_end *peer, unsigned int i)
{
	struct ib_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_READ,
		.path_mtu = IB_MTU_4096,
		.dest_qp_num = peer->qp[i]->qp_num,
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 12,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};
	struct ib_qp *qp = end->qp[i];
	int err;

	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, (union ib_gid *)&peer->gid->gid, 0,
			end->gid->index, 64, 0);
	/* rdma_rxe does not resolve the MAC itself. */
	ether_addr_copy(attr.ah_attr.roce.dmac,
			rcu_dereference_raw(peer->gid->ndev)->dev_addr);
	attr.qp_state = IB_QPS_INIT;
	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	attr.qp_state = IB_QPS_RTR;
	err = err ?: ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV |
				  IB_QP_PATH_MTU | IB_QP_DEST_QPN |
				  IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
				  IB_QP_MIN_RNR_TIMER);
	attr.qp_state = IB_QPS_RTS;
	return err ?: ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
				   IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
				   IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

/* Connections @from to @to - 1; @ns: for each of them. */
static int bench_make(unsigned int from, unsigned int to, u64 *ns)
{
	ktime_t start = ktime_get();
	unsigned int i;
	int err = 0;

	for (i = from; !err && i < to; i++) {
		err = bench_create_qp(&ends[0], i) ?:
		      bench_create_qp(&ends[1], i) ?:
		      bench_connect(&ends[0], &ends[1], i) ?:
		      bench_connect(&ends[1], &ends[0], i);
		cond_resched();
	}
	*ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	*ns = div_u64(*ns, max(to - from, 1U));
	return err;
}

static int bench_make_all(void)
{
	long before = si_mem_available();
	u64 ns;
	int err;

	err = bench_make(0, pairs / 4, &setup_first) ?:
	      bench_make(pairs / 4, pairs - pairs / 4, &ns) ?:
	      bench_make(pairs - pairs / 4, pairs, &setup_last);
	before -= si_mem_available();
	qp_bytes = div_u64((u64)max(before, 0L) << PAGE_SHIFT, 2 * pairs);
	return err;
}

static int bench_set_up(void)
{
	unsigned int k;
	int err;

	recv_cqe.done = bench_received;
	err = bench_open(&ends[0], a) ?: bench_open(&ends[1], b) ?:
	      bench_make_all();
	if (err)
		return err;
	for (k = 0; k < num_slots; k++) {
		slots[k].cqe.done = bench_done;
		slots[k].qp = ends[0].qp[k % pairs];
		idle[k] = k;
	}
	idle_count = num_slots;
	for (k = 0; !err && k < RECEIVES; k++)
		err = bench_post_recv();
	return err;
}

static int bench_compare(const void *one, const void *other)
{
	u32 x = *(const u32 *)one, y = *(const u32 *)other;

	return x < y ? -1 : x > y;
}

/* Bytes a second that memcpy() moves between the same two buffers. */
static u64 bench_copy(void)
{
	ktime_t start = ktime_get();
	u64 ns, copied = 0;

	do {
		memcpy(ends[1].buf, ends[0].buf, bytes);
		barrier_data(ends[1].buf);
		copied += bytes;
		ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	} while (ns < COPY_MSECS * NSEC_PER_MSEC);
	return mul_u64_u64_div_u64(copied, NSEC_PER_SEC, ns);
}

static void bench_report(u64 ns)
{
	u32 n = min_t(u64, messages, SAMPLES);

	sort(samples, n, sizeof(*samples), bench_compare, NULL);
	pr_info("posted=%llu msgs=%llu msgs_s=%llu usec=%u usec_p99=%u setup_first=%llu setup_last=%llu qp_bytes=%llu copy_s=%llu failures=%llu\n",
		posted, messages, div64_u64(messages * NSEC_PER_SEC, ns),
		n ? samples[n / 2] / 1000 : 0,
		n ? samples[n * 99 / 100] / 1000 : 0, setup_first, setup_last,
		qp_bytes, bench_copy(), failures);
}

static void bench_mark_dead(unsigned int i)
{
	unsigned int k;

	spin_lock_irq(&bench_lock);
	for (k = i; k < num_slots; k += pairs)
		slots[k].dead = true;
	spin_unlock_irq(&bench_lock);
}

/* Connection @i ends at the target first, while trains have its packets. */
static void bench_end_connection(unsigned int i)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	unsigned long end = jiffies + PATIENCE;
	unsigned int k;

	bench_mark_dead(i);
	ib_destroy_qp(ends[1].qp[i]);
	ends[1].qp[i] = NULL;
	if (ib_modify_qp(ends[0].qp[i], &attr, IB_QP_STATE))
		failures++;
	for (k = i; k < num_slots; k += pairs)
		while (READ_ONCE(slots[k].flying) && time_before(jiffies, end))
			usleep_range(50, 100);
	if (time_after_eq(jiffies, end))
		failures++;
	ib_destroy_qp(ends[0].qp[i]);
	ends[0].qp[i] = NULL;
}

/* Until caches are warm and each connection has sent: its first message touches memory that
 * the next ones find.
 */
static void bench_warm_up(void)
{
	unsigned long end = jiffies + PATIENCE;

	msleep(msecs / 4);
	while (READ_ONCE(posted) < 2ULL * pairs && !READ_ONCE(failures)) {
		if (time_after_eq(jiffies, end)) {
			failures++;
			return;
		}
		msleep(10);
	}
}

static void bench_run(void)
{
	unsigned int i;
	ktime_t start;
	u64 ns;

	for (i = 0; i < WINDOW; i++)
		bench_post();
	bench_warm_up();
	start = ktime_get();
	WRITE_ONCE(running, true);
	for (i = 0; i < victims && i + 1 < pairs; i++)
		bench_end_connection(i);
	msleep(msecs);
	WRITE_ONCE(running, false);
	ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	spin_lock_irq(&bench_lock);
	ending = true;
	i = flying;
	spin_unlock_irq(&bench_lock);
	if (i && !wait_for_completion_timeout(&bench_over, PATIENCE))
		failures++;
	bench_report(ns);
}

static int __init bench_init(void)
{
	int err = -ENOMEM;

	if (!pairs || !bytes)
		return -EINVAL;
	num_slots = roundup(max(pairs, WINDOW), pairs);
	slots = kvcalloc(num_slots, sizeof(*slots), GFP_KERNEL);
	idle = kvcalloc(num_slots, sizeof(*idle), GFP_KERNEL);
	if (slots && idle)
		err = bench_set_up();
	if (!err)
		bench_run();
	else
		pr_info("error %d\n", err);
	bench_close(&ends[0]);
	bench_close(&ends[1]);
	kvfree(idle);
	kvfree(slots);
	return err;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("messages per second of kernel consumers of RDMA");
MODULE_LICENSE("Dual BSD/GPL");
