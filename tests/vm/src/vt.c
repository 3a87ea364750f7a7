// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/cairn-abi.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "vt.h"

void vt_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
	va_end(ap);
}

int vt_err(const char *fmt, ...)
{
	int err = errno ?: EIO;
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	printf(": %s\n", strerror(err));
	fflush(stdout);
	va_end(ap);
	return err;
}

const char *vt_name_a(void)
{
	return getenv("CAIRN_A") ?: "cairn_a";
}

const char *vt_name_b(void)
{
	return getenv("CAIRN_B") ?: "cairn_b";
}

int vt_ms(int ms)
{
	const char *scale = getenv("CAIRN_TIMEOUT_SCALE");

	return ms * (scale ? atoi(scale) : 1);
}

u64 vt_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static struct ibv_context *open_by_name(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

static bool family_is(const union ibv_gid *gid, enum vt_family family)
{
	static const u8 v4[12] = { [10] = 0xff, [11] = 0xff };

	if (!memcmp(gid->raw, v4, sizeof(v4)))
		return family == VT_IPV4;
	if (gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80)
		return family == VT_LINK_LOCAL;
	return family == VT_IPV6;
}

static int find_gid(struct vt_dev *dev, enum vt_family family, int index)
{
	struct ibv_gid_entry *table;
	ssize_t n, i;
	int err = ENOENT;

	table = calloc(dev->port.gid_tbl_len, sizeof(*table));
	if (!table)
		return ENOMEM;
	n = ibv_query_gid_table(dev->ctx, table, dev->port.gid_tbl_len, 0);
	for (i = 0; i < n && err; i++) {
		if (index >= 0 ? table[i].gid_index != (u32)index :
		    table[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    !family_is(&table[i].gid, family))
			continue;
		dev->gid = table[i].gid;
		dev->gid_index = table[i].gid_index;
		err = 0;
	}
	free(table);
	if (err)
		vt_say("%s: no such GID (%zd in the table)", dev->name, n);
	return err;
}

int vt_open(struct vt_dev *dev, const char *name, enum vt_family family,
	    int gid_index)
{
	memset(dev, 0, sizeof(*dev));
	dev->name = name;
	errno = 0;
	dev->ctx = open_by_name(name);
	if (!dev->ctx)
		return vt_err("%s: cannot be opened", name);
	dev->pd = ibv_alloc_pd(dev->ctx);
	if (!dev->pd)
		return vt_err("%s: ibv_alloc_pd", name);
	errno = ibv_query_port(dev->ctx, 1, &dev->port);
	if (errno)
		return vt_err("%s: ibv_query_port", name);
	fcntl(dev->ctx->async_fd, F_SETFL, O_NONBLOCK);
	return find_gid(dev, family, gid_index);
}

bool vt_open_both(struct vt_dev *dev_a, struct vt_dev *dev_b, enum vt_family family)
{
	return !vt_open(dev_a, vt_name_a(), family, -1) &&
	       !vt_open(dev_b, vt_name_b(), family, -1);
}

void vt_close(struct vt_dev *dev)
{
	if (dev->pd)
		ibv_dealloc_pd(dev->pd);
	if (dev->ctx)
		ibv_close_device(dev->ctx);
	memset(dev, 0, sizeof(*dev));
}

static int create_cq(struct vt_end *end, struct ibv_comp_channel **chan,
		     struct ibv_cq **cq)
{
	if (end->o.channel) {
		*chan = ibv_create_comp_channel(end->dev->ctx);
		if (!*chan)
			return vt_err("ibv_create_comp_channel");
	}
	*cq = ibv_create_cq(end->dev->ctx, end->o.cqe, end, *chan, 0);
	return *cq ? 0 : vt_err("ibv_create_cq");
}

int vt_end_create_ex(struct vt_end *end, struct vt_dev *dev,
		     const struct vt_opts *opts, size_t len, u64 ops)
{
	struct ibv_qp_init_attr_ex init = {
		.cap = opts->cap, .qp_type = opts->type, .sq_sig_all = opts->sig_all,
		.pd = dev->pd, .send_ops_flags = ops,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     (ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
	};
	int err;

	memset(end, 0, sizeof(*end));
	end->dev = dev;
	end->o = *opts;
	end->len = len;
	err = create_cq(end, &end->schan, &end->scq) ?:
	      create_cq(end, &end->rchan, &end->rcq);
	if (err)
		return err;
	end->buf = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (end->buf == MAP_FAILED) {
		end->buf = NULL;
		return vt_err("mmap");
	}
	end->mr = ibv_reg_mr(dev->pd, end->buf, len, opts->access);
	if (!end->mr)
		return vt_err("ibv_reg_mr");
	init.send_cq = opts->send_cq ?: end->scq;
	init.recv_cq = end->rcq;
	end->qp = ibv_create_qp_ex(dev->ctx, &init);
	if (!end->qp)
		return vt_err("ibv_create_qp");
	/* near the wrap, so that every run crosses it */
	end->psn = 0xfffff0 + (end->qp->qp_num & 0xf);
	return 0;
}

int vt_end_create(struct vt_end *end, struct vt_dev *dev, const struct vt_opts *opts,
		  size_t len)
{
	return vt_end_create_ex(end, dev, opts, len, 0);
}

void vt_end_destroy(struct vt_end *end)
{
	if (end->qp)
		ibv_destroy_qp(end->qp);
	if (end->mr)
		ibv_dereg_mr(end->mr);
	if (end->buf)
		munmap(end->buf, end->len);
	if (end->scq)
		ibv_destroy_cq(end->scq);
	if (end->rcq)
		ibv_destroy_cq(end->rcq);
	if (end->schan)
		ibv_destroy_comp_channel(end->schan);
	if (end->rchan)
		ibv_destroy_comp_channel(end->rchan);
	memset(end, 0, sizeof(*end));
}

static int vt_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	errno = ibv_modify_qp(qp, attr, mask | IBV_QP_STATE);
	return errno ? vt_err("QP to state %d", attr->qp_state) : 0;
}

int vt_to_init(struct vt_end *end)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = VT_QKEY,
		.qp_access_flags = end->o.access,
	};

	return vt_modify(end->qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			 (end->o.type == IBV_QPT_UD ? IBV_QP_QKEY :
						 IBV_QP_ACCESS_FLAGS));
}

static struct ibv_ah_attr ah_attr(const struct vt_dev *dev,
				  const struct vt_dev *peer)
{
	return (struct ibv_ah_attr) {
		.is_global = 1, .port_num = 1,
		.grh = {
			.dgid = peer->gid, .sgid_index = dev->gid_index,
			.hop_limit = 64,
		},
	};
}

int vt_to_rtr(struct vt_end *end, const struct vt_end *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = end->o.mtu,
		.dest_qp_num = peer->qp->qp_num, .rq_psn = peer->psn,
		.max_dest_rd_atomic = end->o.rd_atomic,
		.min_rnr_timer = end->o.rnr_timer,
		.ah_attr = ah_attr(end->dev, peer->dev),
	};
	int mask = 0;

	if (end->o.type != IBV_QPT_UD)
		mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		       IBV_QP_RQ_PSN;
	if (end->o.type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return vt_modify(end->qp, &attr, mask);
}

int vt_to_rts(struct vt_end *end)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = end->psn,
		.timeout = end->o.timeout, .retry_cnt = end->o.retry_cnt,
		.rnr_retry = end->o.rnr_retry, .max_rd_atomic = end->o.rd_atomic,
	};
	int mask = IBV_QP_SQ_PSN;

	if (end->o.type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return vt_modify(end->qp, &attr, mask);
}

int vt_to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return vt_modify(qp, &attr, 0);
}

enum ibv_qp_state vt_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	errno = ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
	if (errno) {
		vt_err("ibv_query_qp");
		return IBV_QPS_UNKNOWN;
	}
	return attr.qp_state;
}

int vt_connect(struct vt_end *end_a, struct vt_end *end_b)
{
	return vt_to_init(end_a) ?: vt_to_init(end_b) ?:
	       vt_to_rtr(end_a, end_b) ?: vt_to_rtr(end_b, end_a) ?:
	       vt_to_rts(end_a) ?: vt_to_rts(end_b);
}

struct ibv_ah *vt_ah(struct vt_dev *dev, const struct vt_dev *peer)
{
	struct ibv_ah_attr attr = ah_attr(dev, peer);
	struct ibv_ah *ah = ibv_create_ah(dev->pd, &attr);

	if (!ah)
		vt_err("ibv_create_ah");
	return ah;
}

int vt_method(int fd, u16 object, u16 method, struct ib_uverbs_attr *attrs, u16 n)
{
	union {
		struct ib_uverbs_ioctl_hdr hdr;
		u8 room[sizeof(struct ib_uverbs_ioctl_hdr) +
			VT_MAX_ATTRS * sizeof(struct ib_uverbs_attr)];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd.hdr) + n * sizeof(*attrs),
			.object_id = object, .method_id = method,
			.num_attrs = n, .driver_id = CAIRN_DRIVER_ID,
		},
	};
	int err;

	memcpy(cmd.hdr.attrs, attrs, n * sizeof(*attrs));
	err = ioctl(fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
	memcpy(attrs, cmd.hdr.attrs, n * sizeof(*attrs));
	return err;
}

void vt_relax(unsigned int *idle)
{
	if (++*idle < 64)
		return;
	if (*idle < 256)
		sched_yield();
	else
		usleep(*idle < 512 ? 100 : 1000);
}

int vt_poll(struct ibv_cq *cq, struct ibv_wc *wc, int n, int ms)
{
	u64 end = vt_now_ms() + ms;
	unsigned int idle = 0;
	int got = 0, r;

	while (got < n) {
		r = ibv_poll_cq(cq, n - got, wc + got);
		if (r < 0)
			return vt_err("ibv_poll_cq");
		got += r;
		if (r) {
			idle = 0;
			continue;
		}
		if (vt_now_ms() > end) {
			vt_say("%d of %d completions after %d ms", got, n, ms);
			return ETIMEDOUT;
		}
		vt_relax(&idle);
	}
	return 0;
}

bool vt_event(struct ibv_comp_channel *chan, int ms)
{
	struct pollfd waiting = { .fd = chan->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&waiting, 1, ms) <= 0 || ibv_get_cq_event(chan, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

bool vt_stay_on(int cpu)
{
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	for (i = 0; i < CPU_SETSIZE; i++)
		if (cpu < 0 || i == cpu)
			CPU_SET(i, &set);
	return !sched_setaffinity(0, sizeof(set), &set);
}

bool vt_async_each(struct vt_dev *dev, const enum ibv_event_type *types, int n, int ms)
{
	struct pollfd waiting = { .fd = dev->ctx->async_fd, .events = POLLIN };
	u32 missing = n < 32 ? (1u << n) - 1 : ~0u;
	u64 end = vt_now_ms() + ms, now;
	struct ibv_async_event ev;
	int i;

	for (now = vt_now_ms(); missing && now <= end; now = vt_now_ms()) {
		if (poll(&waiting, 1, end - now) <= 0)
			break;
		if (ibv_get_async_event(dev->ctx, &ev))
			continue;
		for (i = 0; i < n; i++)
			if (ev.event_type == types[i])
				missing &= ~(1u << i);
		ibv_ack_async_event(&ev);
	}
	return !missing;
}

bool vt_async(struct vt_dev *dev, enum ibv_event_type type, int ms)
{
	return vt_async_each(dev, &type, 1, ms);
}

static u64 word_at(u64 seed, u64 i)
{
	u64 z = seed + i * 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 32) * 0xd6e8feb86659fd93ULL;
	return z ^ z >> 32;
}

void vt_fill(void *buf, size_t len, u64 seed)
{
	u8 *bytes = buf;
	size_t i;
	u64 w;

	for (i = 0; i < len; i += sizeof(w)) {
		w = word_at(seed, i);
		memcpy(bytes + i, &w, len - i < sizeof(w) ? len - i : sizeof(w));
	}
}

ssize_t vt_check(const void *buf, size_t len, u64 seed)
{
	const u8 *bytes = buf;
	size_t i, n, k;
	u64 w;

	for (i = 0; i < len; i += sizeof(w)) {
		w = word_at(seed, i);
		n = len - i < sizeof(w) ? len - i : sizeof(w);
		if (!memcmp(bytes + i, &w, n))
			continue;
		for (k = 0; bytes[i + k] == ((u8 *)&w)[k]; k++)
			;
		return i + k;
	}
	return -1;
}

/* The value of "KEY: N kB" in a file, -1: none */
static long vt_value_of(const char *path, const char *key)
{
	FILE *file = fopen(path, "r");
	size_t n = strlen(key);
	char line[200];
	long kb = -1;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, n) && line[n] == ':')
			kb = atol(line + n + 1);
	if (file)
		fclose(file);
	return kb;
}

long vt_meminfo(const char *key)
{
	return vt_value_of("/proc/meminfo", key);
}

long vt_own_status(const char *key)
{
	return vt_value_of("/proc/self/status", key);
}
