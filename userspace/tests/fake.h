/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Stands in for libibverbs and the kernel module: commands are answered here,
 * and "device memory" is a memfd that the provider really maps, so protection
 * bits and offsets count. A test plays the device through struct fake_ring.
 */
#ifndef CAIRN_TESTS_FAKE_H
#define CAIRN_TESTS_FAKE_H

#include <rdma/cairn-abi.h>

#include "verbs_private.h"

/* A queue as the device sees it. */
struct fake_ring {
	struct cairn_qinfo_dev *dev;
	struct cairn_qinfo_host *host;
	uint8_t *units;
	struct cairn_ready_page *ready;	/* SQ */
	uint32_t *asleep;		/* SQ: the wake-up flag */
	struct cairn_ring_desc desc;
	/* Prepared, depth 0: nothing */
	uint8_t *next_units;
	struct cairn_ring_desc next;
};

enum { FAKE_MAX_QUEUES = 4096 };

/* The number of every XRC SRQ. */
enum { FAKE_SRQN = 0xabcdef };

/* The handle of the only completion counter. */
enum { FAKE_CNTR = 0x4321 };

struct fake {
	/* Calls seen */
	const struct verbs_device_ops *dev_ops;
	struct verbs_context_ops ops;
	int contexts;			/* still initialised */
	int maps;			/* still mapped */
	int maps_made;
	int objects;			/* created and not destroyed */
	int doorbells;			/* calls */
	uint32_t max_send_wr;		/* the answer; 0: as requested */
	uint32_t more_sge;		/* than requested, of new queues */
	int looks;			/* doorbells of completion queues */
	uint64_t looked_at;		/* the handle of the last one */
	uint32_t yield_us;		/* of the last CAIRN_METHOD_YIELD */
	uint32_t rung;			/* queues of all doorbells */
	struct cairn_doorbell doorbell;	/* the last */
	struct cairn_persist_done persist_done[CAIRN_MAX_PERSIST_DONES];	/* the last */
	size_t persist_answers;		/* of them */
	int persist_dones;		/* calls */
	struct cairn_set_idle set_idle;	/* the last */
	struct cairn_set_loopback set_loopback;	/* the last */
	struct cairn_set_fabric set_fabric;
	struct cairn_set_capture set_capture;
	struct cairn_set_persistent set_persistent;
	struct cairn_set_flush_limit flush_limit;	/* the last */
	struct cairn_query_peer query_peer;	/* the last */
	struct cairn_peer_caps peer_caps;	/* the answer */
	uint64_t flush_limit_mr;	/* its handle */
	struct cairn_reg_mr_req mr_req;	/* the last tail, zero without one */
	uint8_t ioctl_bytes[128];	/* the last */
	uint64_t released_mr;		/* handle of the last DEREG_MR */
	int prepared;			/* rings that are neither in use nor dropped */
	int modify_mask;		/* of the last modify_qp or _srq */
	int qp_changes;			/* calls of modify_qp */
	struct ibv_qp_init_attr_ex qp_attr;
	struct ibv_cq_init_attr_ex cq_attr;
	uint32_t rate_limit;		/* the last */
	struct cairn_cc cc;
	struct cairn_qp_rate qp_rate;	/* answered */
	uint64_t method_qp;		/* handle, 0: none */
	struct cairn_modify_qp_req rate;
	uint32_t last_qid;		/* of the last queue; QP: RQ after SQ */
	uint64_t cntr[2];		/* the completion counter: done, failed */
	uint32_t cntr_qp, cntr_ops;	/* it is attached to */

	/* Asked for */
	const char *fail;		/* command that fails once ... */
	int fail_err;			/* ... with this */
	void (*edit)(struct cairn_ring_desc *desc);	/* before answering */
	void (*on_doorbell)(const struct cairn_doorbell *db);
	void (*on_persist_done)(const struct cairn_persist_done *done, size_t num);
	uint64_t persist_refused;	/* answered to PERSIST_DONE */
	uint64_t clock_ns;		/* of every clock; 0: the real time */
	int ioctl_errors[4];		/* consumed from the front, then 0 */
	uint32_t abi_version;
	uint32_t page_size;
	uint32_t start_index;		/* of new queues */
	uint32_t sq_depth;
	uint32_t next_qid;
	uint32_t next_ticket;		/* of DEREG_MR */
	uint32_t release_slots;		/* the same */
	uint32_t mr_key;		/* of the next region */
	uint32_t mr_echo_lacks;		/* flags missing in REG_MR's answer */
	struct cairn_device_caps caps;
	struct cairn_fault_list faults;
	enum ibv_fork_status fork;	/* of the process */
	const char *sysfs;		/* the device's directory there, NULL: none */
	bool later_library;		/* comp_mask lies 8 bytes later */

	struct fake_ring rings[FAKE_MAX_QUEUES];	/* by qid */
	uint64_t next_offset;
	uint8_t *memory;
	int fd;
	int second_fd;			/* of another device, 0: none */
	int ioctl_fd;			/* of the last call */
};

extern struct fake fake;

void fake_reset(void);
struct ibv_context *fake_open(void);
/* A second device beside it, until fake_reset(). The calls seen are those of both. */
struct ibv_context *fake_open_second(void);
void fake_close(struct ibv_context *ctx);

/* The unit at a free-running index, as the device computes it. */
void *fake_unit(struct fake_ring *ring, uint32_t index);

struct ibv_pd *fake_pd(struct ibv_context *ctx);
struct ibv_cq *fake_cq(struct ibv_context *ctx, int cqe);
/* Ready to send, RQ of 16 with 3 SGEs, inline as large as possible. */
struct ibv_qp *fake_qp(struct ibv_pd *pd, struct ibv_cq *cq,
		       enum ibv_qp_type type, uint64_t send_ops);
struct fake_ring *fake_sq(struct ibv_qp *qp);
struct fake_ring *fake_rq(struct ibv_qp *qp);
struct fake_ring *fake_cq_ring(struct ibv_cq *cq);
/* The work request of @qp behind @units units; a unit without one is zero. */
const struct cairn_send_wqe *fake_send_wqe(struct ibv_qp *qp, uint32_t units);

/* SQ units of one work request; the depth is a multiple of it. */
enum { FAKE_SQ_UNITS = 4 };

/* CAIRN_RELEASE_SLOTS words, which the device writes. */
uint32_t *fake_release_words(void);

/* Writes a completion as the device does. */
void fake_complete(struct fake_ring *cq, const struct cairn_cqe *cqe);
/* Completes the WRITE_PERSIST of @qp behind *@units units, and adds its own to them. */
void fake_persisted(struct ibv_qp *qp, uint32_t *units, uint8_t status,
		    uint8_t durability);

#endif /* CAIRN_TESTS_FAKE_H */
