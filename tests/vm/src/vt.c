// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
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

static int find_gid(struct vt_dev *d, enum vt_family family, int index)
{
	struct ibv_gid_entry *table;
	ssize_t n, i;
	int err = ENOENT;

	table = calloc(d->port.gid_tbl_len, sizeof(*table));
	if (!table)
		return ENOMEM;
	n = ibv_query_gid_table(d->ctx, table, d->port.gid_tbl_len, 0);
	for (i = 0; i < n && err; i++) {
		if (index >= 0 ? table[i].gid_index != (u32)index :
		    table[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    !family_is(&table[i].gid, family))
			continue;
		d->gid = table[i].gid;
		d->gid_index = table[i].gid_index;
		err = 0;
	}
	free(table);
	if (err)
		vt_say("%s: no such GID (%zd in the table)", d->name, n);
	return err;
}

int vt_open(struct vt_dev *d, const char *name, enum vt_family family,
	    int gid_index)
{
	memset(d, 0, sizeof(*d));
	d->name = name;
	errno = 0;
	d->ctx = open_by_name(name);
	if (!d->ctx)
		return vt_err("%s: cannot be opened", name);
	d->pd = ibv_alloc_pd(d->ctx);
	if (!d->pd)
		return vt_err("%s: ibv_alloc_pd", name);
	errno = ibv_query_port(d->ctx, 1, &d->port);
	if (errno)
		return vt_err("%s: ibv_query_port", name);
	fcntl(d->ctx->async_fd, F_SETFL, O_NONBLOCK);
	return find_gid(d, family, gid_index);
}

bool vt_open_both(struct vt_dev *a, struct vt_dev *b, enum vt_family family)
{
	return !vt_open(a, vt_name_a(), family, -1) &&
	       !vt_open(b, vt_name_b(), family, -1);
}

void vt_close(struct vt_dev *d)
{
	if (d->pd)
		ibv_dealloc_pd(d->pd);
	if (d->ctx)
		ibv_close_device(d->ctx);
	memset(d, 0, sizeof(*d));
}

static int create_cq(struct vt_end *e, struct ibv_comp_channel **chan,
		     struct ibv_cq **cq)
{
	if (e->o.channel) {
		*chan = ibv_create_comp_channel(e->dev->ctx);
		if (!*chan)
			return vt_err("ibv_create_comp_channel");
	}
	*cq = ibv_create_cq(e->dev->ctx, e->o.cqe, e, *chan, 0);
	return *cq ? 0 : vt_err("ibv_create_cq");
}

int vt_end_create_ex(struct vt_end *e, struct vt_dev *d,
		     const struct vt_opts *o, size_t len, u64 ops)
{
	struct ibv_qp_init_attr_ex init = {
		.cap = o->cap, .qp_type = o->type, .sq_sig_all = o->sig_all,
		.pd = d->pd, .send_ops_flags = ops,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     (ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
	};
	int err;

	memset(e, 0, sizeof(*e));
	e->dev = d;
	e->o = *o;
	e->len = len;
	err = create_cq(e, &e->schan, &e->scq) ?:
	      create_cq(e, &e->rchan, &e->rcq);
	if (err)
		return err;
	e->buf = mmap(NULL, len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (e->buf == MAP_FAILED) {
		e->buf = NULL;
		return vt_err("mmap");
	}
	e->mr = ibv_reg_mr(d->pd, e->buf, len, o->access);
	if (!e->mr)
		return vt_err("ibv_reg_mr");
	init.send_cq = o->send_cq ?: e->scq;
	init.recv_cq = e->rcq;
	e->qp = ibv_create_qp_ex(d->ctx, &init);
	if (!e->qp)
		return vt_err("ibv_create_qp");
	/* near the wrap, so that every run crosses it */
	e->psn = 0xfffff0 + (e->qp->qp_num & 0xf);
	return 0;
}

int vt_end_create(struct vt_end *e, struct vt_dev *d, const struct vt_opts *o,
		  size_t len)
{
	return vt_end_create_ex(e, d, o, len, 0);
}

void vt_end_destroy(struct vt_end *e)
{
	if (e->qp)
		ibv_destroy_qp(e->qp);
	if (e->mr)
		ibv_dereg_mr(e->mr);
	if (e->buf)
		munmap(e->buf, e->len);
	if (e->scq)
		ibv_destroy_cq(e->scq);
	if (e->rcq)
		ibv_destroy_cq(e->rcq);
	if (e->schan)
		ibv_destroy_comp_channel(e->schan);
	if (e->rchan)
		ibv_destroy_comp_channel(e->rchan);
	memset(e, 0, sizeof(*e));
}

static int modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	errno = ibv_modify_qp(qp, attr, mask | IBV_QP_STATE);
	return errno ? vt_err("QP to state %d", attr->qp_state) : 0;
}

int vt_to_init(struct vt_end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = VT_QKEY,
		.qp_access_flags = e->o.access,
	};

	return modify(e->qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		      (e->o.type == IBV_QPT_UD ? IBV_QP_QKEY :
						 IBV_QP_ACCESS_FLAGS));
}

static struct ibv_ah_attr ah_attr(const struct vt_dev *d,
				  const struct vt_dev *peer)
{
	return (struct ibv_ah_attr) {
		.is_global = 1, .port_num = 1,
		.grh = {
			.dgid = peer->gid, .sgid_index = d->gid_index,
			.hop_limit = 64,
		},
	};
}

int vt_to_rtr(struct vt_end *e, const struct vt_end *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = e->o.mtu,
		.dest_qp_num = peer->qp->qp_num, .rq_psn = peer->psn,
		.max_dest_rd_atomic = e->o.rd_atomic,
		.min_rnr_timer = e->o.rnr_timer,
		.ah_attr = ah_attr(e->dev, peer->dev),
	};
	int mask = 0;

	if (e->o.type != IBV_QPT_UD)
		mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		       IBV_QP_RQ_PSN;
	if (e->o.type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return modify(e->qp, &attr, mask);
}

int vt_to_rts(struct vt_end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .sq_psn = e->psn,
		.timeout = e->o.timeout, .retry_cnt = e->o.retry_cnt,
		.rnr_retry = e->o.rnr_retry, .max_rd_atomic = e->o.rd_atomic,
	};
	int mask = IBV_QP_SQ_PSN;

	if (e->o.type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return modify(e->qp, &attr, mask);
}

int vt_to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return modify(qp, &attr, 0);
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

int vt_connect(struct vt_end *a, struct vt_end *b)
{
	return vt_to_init(a) ?: vt_to_init(b) ?:
	       vt_to_rtr(a, b) ?: vt_to_rtr(b, a) ?:
	       vt_to_rts(a) ?: vt_to_rts(b);
}

struct ibv_ah *vt_ah(struct vt_dev *d, const struct vt_dev *peer)
{
	struct ibv_ah_attr attr = ah_attr(d, peer);
	struct ibv_ah *ah = ibv_create_ah(d->pd, &attr);

	if (!ah)
		vt_err("ibv_create_ah");
	return ah;
}

void vt_relax(unsigned int *idle)
{
	if (++*idle < 64)
		return;
	if (*idle < 256)
		sched_yield();
	else
		usleep(100);
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
	struct pollfd p = { .fd = chan->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&p, 1, ms) <= 0 || ibv_get_cq_event(chan, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

bool vt_async(struct vt_dev *d, enum ibv_event_type type, int ms)
{
	struct pollfd p = { .fd = d->ctx->async_fd, .events = POLLIN };
	u64 end = vt_now_ms() + ms, now;
	struct ibv_async_event ev;
	bool found = false;

	for (now = vt_now_ms(); !found && now <= end; now = vt_now_ms()) {
		if (poll(&p, 1, end - now) <= 0)
			break;
		if (ibv_get_async_event(d->ctx, &ev))
			continue;
		found = ev.event_type == type;
		ibv_ack_async_event(&ev);
	}
	return found;
}

static u64 word_at(u64 seed, u64 i)
{
	u64 z = seed + i * 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 32) * 0xd6e8feb86659fd93ULL;
	return z ^ z >> 32;
}

void vt_fill(void *buf, size_t len, u64 seed)
{
	u8 *p = buf;
	size_t i;
	u64 w;

	for (i = 0; i < len; i += sizeof(w)) {
		w = word_at(seed, i);
		memcpy(p + i, &w, len - i < sizeof(w) ? len - i : sizeof(w));
	}
}

ssize_t vt_check(const void *buf, size_t len, u64 seed)
{
	const u8 *p = buf;
	size_t i, n, k;
	u64 w;

	for (i = 0; i < len; i += sizeof(w)) {
		w = word_at(seed, i);
		n = len - i < sizeof(w) ? len - i : sizeof(w);
		if (!memcmp(p + i, &w, n))
			continue;
		for (k = 0; p[i + k] == ((u8 *)&w)[k]; k++)
			;
		return i + k;
	}
	return -1;
}

/* The value of "KEY: N kB" in a file, -1: none */
static long vt_value_of(const char *path, const char *key)
{
	FILE *f = fopen(path, "r");
	size_t n = strlen(key);
	char line[200];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n) && line[n] == ':')
			kb = atol(line + n + 1);
	if (f)
		fclose(f);
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
