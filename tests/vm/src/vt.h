/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared by the verbs test programs: both ends of a connection live in one
 * process, each on a device of its own, so that a test sees both sides.
 *
 * Devices: CAIRN_A and CAIRN_B in the environment, else cairn_a and cairn_b.
 * Functions return 0 or an errno value, and print failures to stdout.
 */
#ifndef CAIRN_VM_VT_H
#define CAIRN_VM_VT_H

#include <infiniband/verbs.h>
#include <linux/types.h>

#define VT_QKEY		0x11111111u
#define VT_GRH		40

/* Which GID: of the last two, link-local is the fe80:: one. */
enum vt_family {
	VT_IPV4,
	VT_IPV6,
	VT_LINK_LOCAL,
};

struct vt_dev {
	const char *name;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int gid_index;
};

/* Attributes of a new QP; start from VT_OPTS. */
struct vt_opts {
	enum ibv_qp_type type;
	struct ibv_qp_cap cap;
	int cqe;		/* entries of each of the two CQs */
	bool sig_all;
	bool channel;		/* a completion channel for each CQ */
	struct ibv_cq *send_cq;	/* NULL: one of its own */
	enum ibv_mtu mtu;
	int access;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 rnr_timer;
	u8 rd_atomic;
};

#define VT_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

#define VT_OPTS {							\
	.type = IBV_QPT_RC,						\
	.cap = {							\
		.max_send_wr = 64, .max_recv_wr = 64,			\
		.max_send_sge = 4, .max_recv_sge = 4,			\
		.max_inline_data = 64,					\
	},								\
	.cqe = 256, .mtu = IBV_MTU_1024, .access = VT_ACCESS,		\
	.timeout = 17, .retry_cnt = 7, .rnr_retry = 7, .rnr_timer = 12,	\
	.rd_atomic = 4,							\
}

/* One end: a QP with its CQs and a registered buffer. */
struct vt_end {
	struct vt_dev *dev;
	struct vt_opts o;
	struct ibv_comp_channel *schan, *rchan;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	u8 *buf;
	size_t len;
	u32 psn;
};

void vt_say(const char *fmt, ...) __printf(1, 2);
/* Print the message. Return: errno, or EIO if it is not set. */
int vt_err(const char *fmt, ...) __printf(1, 2);

const char *vt_name_a(void);
const char *vt_name_b(void);
u64 vt_now_ms(void);
/* A limit, multiplied by CAIRN_TIMEOUT_SCALE for a busy machine. */
int vt_ms(int ms);

/* @gid_index: -1 takes the first RoCE v2 GID of @family */
int vt_open(struct vt_dev *dev, const char *name, enum vt_family family,
	    int gid_index);
/* CAIRN_A and CAIRN_B; false if one cannot be opened. */
bool vt_open_both(struct vt_dev *dev_a, struct vt_dev *dev_b, enum vt_family family);
void vt_close(struct vt_dev *dev);

/* The buffer of @len bytes is page aligned and zeroed. */
int vt_end_create(struct vt_end *end, struct vt_dev *dev, const struct vt_opts *opts,
		  size_t len);
/* The same with an extended queue pair, that has these ..._EX_WITH_ operations. */
int vt_end_create_ex(struct vt_end *end, struct vt_dev *dev,
		     const struct vt_opts *opts, size_t len, u64 ops);
void vt_end_destroy(struct vt_end *end);

/* One step each; @peer gives the QP number, GID and PSN to connect to. */
int vt_to_init(struct vt_end *end);
int vt_to_rtr(struct vt_end *end, const struct vt_end *peer);
int vt_to_rts(struct vt_end *end);
int vt_to_state(struct ibv_qp *qp, enum ibv_qp_state state);
enum ibv_qp_state vt_state(struct ibv_qp *qp);
/* RESET to RTS on both ends */
int vt_connect(struct vt_end *end_a, struct vt_end *end_b);

struct ibv_ah *vt_ah(struct vt_dev *dev, const struct vt_dev *peer);

/* Keep the calling thread on @cpu, -1: on any. Return: was that possible? */
bool vt_stay_on(int cpu);
/* Completions: exactly @n within @ms, 0 or ETIMEDOUT. */
int vt_poll(struct ibv_cq *cq, struct ibv_wc *wc, int n, int ms);
/* Does an event of @chan arrive within @ms? Acknowledges it. */
bool vt_event(struct ibv_comp_channel *chan, int ms);
/* Does an asynchronous event of this type arrive within @ms? Drops others. */
bool vt_async(struct vt_dev *dev, enum ibv_event_type type, int ms);
/* The same for @n types, 32 at most, in any order. */
bool vt_async_each(struct vt_dev *dev, const enum ibv_event_type *types, int n, int ms);

struct ib_uverbs_attr;

#define VT_MAX_ATTRS	4
/* Call a method of uverbs with @n attributes, at most VT_MAX_ATTRS. The kernel may change them,
 * as it does for an object that it makes. Return: 0 or an errno.
 */
int vt_method(int fd, u16 object, u16 method, struct ib_uverbs_attr *attrs, u16 n);

/* Yield while polling: @idle counts empty polls, 0 after a completion. */
void vt_relax(unsigned int *idle);

/* Pattern of bytes that depends on @seed and the position. */
void vt_fill(void *buf, size_t len, u64 seed);
/* Offset of the first wrong byte, or -1 */
ssize_t vt_check(const void *buf, size_t len, u64 seed);

/* One value of /proc/meminfo, kB */
long vt_meminfo(const char *key);
/* The same of /proc/self/status */
long vt_own_status(const char *key);

#endif
