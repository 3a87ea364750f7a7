/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Direct verbs: the calls of cairn devices beyond verbs.h. Link with -lcairn;
 * that library is the same file that libibverbs loads as the provider.
 *
 * Every call has a manual page of its name. Calls that return int return 0 or
 * a positive errno; those that poll return a count or a negative value. EOPNOTSUPP:
 * the object is not one of a cairn device, or the loaded kernel module is older than
 * the call.
 *
 * Structures that a call fills grow at their end: the caller passes the size
 * that it was compiled with, and the library fills that much, with zeroes in
 * members that it does not know.
 *
 * To add a call, declare it here, name it in libcairn.map and describe it in
 * userspace/man. Define it in a file of its subject in this directory (see dv.h)
 * and test it in userspace/tests. test_so.sh compares these lists.
 */
#ifndef INFINIBAND_CAIRNDV_H
#define INFINIBAND_CAIRNDV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Whether @device is a cairn device, so that the calls below make sense. */
bool cairndv_is_supported(struct ibv_device *device);

enum cairndv_queue_state {
	CAIRNDV_QUEUE_NONE = 0,		/* there is no such queue */
	CAIRNDV_QUEUE_READY = 1,
	CAIRNDV_QUEUE_ERROR = 2,
};

/* The state of a send or receive queue, which consists of units of 64 bytes. */
struct cairndv_queue_attr {
	uint32_t state;		/* enum cairndv_queue_state */
	uint32_t depth;		/* units */
	uint32_t used;		/* units posted and not yet released */
	uint32_t generation;	/* changes when the device replaced the ring */
};

struct cairndv_qp_attr {
	uint64_t comp_mask;	/* 0: no optional part is defined yet */
	struct cairndv_queue_attr sq;
	struct cairndv_queue_attr rq;	/* zero with a shared receive queue */
	/* Rates in kbit/s, 0: none. */
	uint32_t rate_limit;	/* of ibv_modify_qp_rate_limit() */
	uint32_t max_burst_sz;
	uint32_t typical_pkt_sz;
	uint32_t static_rate;	/* of the address vector */
	uint32_t cc_enabled;	/* congestion control: 0 or 1 */
	uint32_t cc_rate;	/* allowed now: requests */
	uint32_t cc_response_rate;	/* READ responses */
	uint32_t reserved;
};

/*
 * SENDs and WRITEs of at most @bytes travel inside the work request, as if the
 * program had asked for IBV_SEND_INLINE. 0: only when it asks.
 */
int cairndv_set_inline_threshold(struct ibv_qp *qp, uint32_t bytes);

/* Reads the queues from memory shared with the device. Reads the rates, if @size
 * reaches them, by one system call.
 */
int cairndv_query_qp(struct ibv_qp *qp, struct cairndv_qp_attr *attr,
		     size_t size);

/*
 * Deregisters without waiting for the device's running operations. (With host flush
 * it waits for them, never for a peer.) On success @mr is freed, and its memory may
 * be reused once cairndv_query_release() returns 0 for @ticket. EAGAIN: too many
 * deregistrations are pending; @mr is unchanged.
 */
int cairndv_dereg_mr_async(struct ibv_mr *mr, uint32_t *ticket);

/*
 * 0: the memory may be reused; EBUSY: not yet. Only the first call of a context makes
 * a system call: it maps a page and may return ENOMEM.
 */
int cairndv_query_release(struct ibv_context *context, uint32_t ticket);

/*
 * Congestion control (DCQCN), for all but datagrams: see Documentation/rate-limit.rst.
 */

struct cairndv_cc_attr {
	uint64_t comp_mask;	/* 0: no optional part is defined yet */
	uint32_t enabled;	/* of queue pairs that are created from now on */
	uint32_t cnp_interval_us;	/* between two CNPs of a queue pair */
	uint32_t alpha_us;	/* alpha decays */
	uint32_t g_shift;	/* g = 1 / 2^g_shift */
	uint32_t increase_us;	/* timer */
	uint32_t increase_kbytes;	/* byte counter */
	uint32_t recovery_steps;	/* F */
	uint32_t additive_kbps;	/* R_AI */
	uint32_t hyper_kbps;	/* R_HAI */
	uint32_t min_kbps;
	uint32_t reserved;
};

/* For the whole device. A change sets all values, and needs CAP_NET_ADMIN in the user
 * namespace of the device's network namespace.
 */
int cairndv_query_cc(struct ibv_context *context, struct cairndv_cc_attr *attr,
		     size_t size);
int cairndv_modify_cc(struct ibv_context *context,
		      const struct cairndv_cc_attr *attr, size_t size);
/* Switch one queue pair. */
int cairndv_modify_qp_cc(struct ibv_qp *qp, bool enabled);

/*
 * Persistence: see cairndv_persist(7) and Documentation/persistence.rst.
 */

/* The place that makes bytes durable. */
enum cairndv_persist_domain {
	CAIRNDV_DOMAIN_PMEM = 1 << 0,	/* persistent memory; the device flushes */
	CAIRNDV_DOMAIN_HOST = 1 << 1,	/* chosen by the target's program */
	CAIRNDV_DOMAIN_EMULATED = 1 << 2, /* as PMEM, but on volatile memory */
};

enum cairndv_persist_mode {
	CAIRNDV_PERSIST_MODE_DEFAULT = 1 << 0,
	CAIRNDV_PERSIST_MODE_EARLY = 1 << 1,	/* CAIRNDV_SEND_EARLY */
	CAIRNDV_PERSIST_MODE_IMM = 1 << 2,	/* WRITE_PERSIST_WITH_IMM */
	CAIRNDV_PERSIST_MODE_DONE = 1 << 3,	/* cairndv_wr_persist_done() */
};

struct cairndv_device_attr {
	uint64_t comp_mask;	/* 0: no optional part is defined yet */
	uint32_t persist_domains;	/* enum cairndv_persist_domain */
	uint32_t persist_modes;		/* enum cairndv_persist_mode */
	/* Aligned bytes that change as one (persistence.rst, 4a). */
	uint32_t persist_atomic_unit;
	uint32_t max_persist_outstanding;	/* host flushes of one QP */
	uint64_t max_persist_msg;	/* bytes */
	uint32_t idle_us;	/* cairndv_set_idle_time(), or the default */
	uint32_t loopback;	/* enum cairndv_loopback */
	char fabric[16];	/* cairndv_set_fabric(); empty: in none */
	uint32_t capture;	/* enum cairndv_capture */
	uint32_t persistent;	/* enum cairndv_persistent */
};

int cairndv_query_device(struct ibv_context *context,
			 struct cairndv_device_attr *attr, size_t size);

enum cairndv_peer_ability {
	CAIRNDV_PEER_PERSIST_IMM = 1 << 0,	/* takes WRITE_PERSIST_WITH_IMM */
};

/* The device at the other end of a connection, as it describes itself. */
struct cairndv_peer_attr {
	uint64_t comp_mask;	/* 0: no optional part is defined yet */
	uint32_t known;		/* 0: it does not know WRITE_PERSIST */
	uint32_t persist_domains;	/* enum cairndv_persist_domain */
	uint32_t persist_atomic_unit;
	uint32_t max_persist_outstanding;
	uint64_t max_persist_msg;	/* bytes */
	uint32_t abilities;	/* enum cairndv_peer_ability */
	uint32_t reserved;
};

#define CAIRNDV_PEER_TIMEOUT_MAX	10000	/* milliseconds */

/* Sends a datagram outside of the connection; every peer answers at once. */
int cairndv_query_peer(struct ibv_qp *qp, struct cairndv_peer_attr *attr,
		       size_t size, uint32_t timeout_ms);

/*
 * Sets how long the device polls for posts before it sleeps, for all programs that
 * use it. Needs CAP_NET_ADMIN in the initial user namespace. 0: not at all, and every
 * post makes a system call.
 */
#define CAIRNDV_IDLE_MAX	1000000		/* microseconds */
#define CAIRNDV_IDLE_DEFAULT	UINT32_MAX	/* what a new device has */

int cairndv_set_idle_time(struct ibv_context *context, uint32_t us);

/*
 * The packets to addresses of this host that the device hands over itself, without
 * the IP stack, for all programs that use it. A change needs CAP_NET_ADMIN in the
 * initial user namespace.
 */
enum cairndv_loopback {
	CAIRNDV_LOOPBACK_SELF,	/* to its own addresses: the default */
	CAIRNDV_LOOPBACK_OFF,	/* none */
	/* Also to other devices of the network namespace with this mode. */
	CAIRNDV_LOOPBACK_HOST,
};

int cairndv_set_loopback(struct ibv_context *context,
			 enum cairndv_loopback mode);

/*
 * Puts the device into a fabric: devices of this host, in any network namespaces, that
 * hand packets to each other without the IP stack. Needs CAP_NET_ADMIN in the initial
 * user namespace. @name: letters, digits, '.', '_', '-'; NULL or "": into none.
 */
#define CAIRNDV_FABRIC_NAME_MAX	15	/* bytes, without NUL */

int cairndv_set_fabric(struct ibv_context *context, const char *name);

/*
 * Packets for a device of the fabric while a packet socket, an XDP program or a filter
 * of tc is at the netdev of one of the two. A change needs CAP_NET_ADMIN in the initial
 * user namespace.
 */
enum cairndv_capture {
	CAIRNDV_CAPTURE_YIELD,	/* pass through the IP stack: the default */
	CAIRNDV_CAPTURE_KEEP,	/* are handed over, and the capture misses them */
};

int cairndv_set_capture(struct ibv_context *context,
			enum cairndv_capture mode);

/*
 * The regions of persistent memory that have NIC flush, for all programs that use the
 * device. A change needs CAP_NET_ADMIN in the initial user namespace.
 */
enum cairndv_persistent {
	CAIRNDV_PERSISTENT_DECLARED, /* with CAIRNDV_ACCESS_PERSISTENT: the default */
	CAIRNDV_PERSISTENT_AUTO,	/* all that can have it and allow writes */
};

int cairndv_set_persistent(struct ibv_context *context,
			   enum cairndv_persistent mode);

/*
 * Faults on demand: rules by which the device loses, damages or delays packets. They need
 * CAP_NET_ADMIN in the device's network namespace. cairn_fault(8) has their grammar.
 */
#define CAIRNDV_FAULT_TEXT	512	/* bytes, with NUL */
#define CAIRNDV_FAULT_RULES	32

struct cairndv_fault {
	uint64_t seen;		/* packets that fit the rule */
	uint64_t hits;		/* those of them that it was applied to */
	char rule[CAIRNDV_FAULT_TEXT];
};

/* Return: 0; EINVAL: not a rule; ENOSPC: there are CAIRNDV_FAULT_RULES; EPERM. */
int cairndv_fault_add(struct ibv_context *context, const char *rule);
int cairndv_fault_clear(struct ibv_context *context);
/* @num: in: room at @faults; out: rules of the device. */
int cairndv_fault_list(struct ibv_context *context, struct cairndv_fault *faults,
		       unsigned int *num);

/*
 * For the access argument of ibv_reg_mr(), with IBV_ACCESS_REMOTE_WRITE and
 * IBV_ACCESS_LOCAL_WRITE. No other provider's driver accepts these bits.
 */
enum cairndv_access_flags {
	/* The device makes remote writes durable (NIC flush). */
	CAIRNDV_ACCESS_PERSISTENT = 1 << 16,
	/* The program makes each message durable (host flush). */
	CAIRNDV_ACCESS_PERSISTENT_HOST = 1 << 17,
	/* With the first: on ordinary memory, for development. No data is durable. */
	CAIRNDV_ACCESS_PERSISTENT_EMULATED = 1 << 18,
};

/*
 * RDMA FLUSH: see cairndv_wr_flush(3). The values of this part are those of
 * rdma-core from release 45 on.
 */

/* For ibv_reg_mr() and ibv_qp_attr.qp_access_flags. With ..._EMULATED above the
 * second one takes ordinary memory.
 */
enum cairndv_flush_access {
	CAIRNDV_ACCESS_FLUSH_GLOBAL = 1 << 8,
	CAIRNDV_ACCESS_FLUSH_PERSISTENT = 1 << 9,
};

enum cairndv_flush_type {
	CAIRNDV_FLUSH_GLOBAL = 1 << 0,		/* globally visible */
	CAIRNDV_FLUSH_PERSISTENT = 1 << 1,	/* durable */
	CAIRNDV_FLUSH_TYPES = (1 << 2) - 1,
};

enum cairndv_flush_level {
	CAIRNDV_FLUSH_RANGE = 0,
	CAIRNDV_FLUSH_MR = 1,	/* all of the region; address, length: ignored */
};

#define CAIRNDV_WC_FLUSH	((enum ibv_wc_opcode)8)

/* Completes when all earlier writes are visible or durable. */
int cairndv_wr_flush(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
		     size_t length, uint8_t type, uint8_t level);

struct cairndv_mr_attr {
	uint64_t comp_mask;	/* 0: no optional part is defined yet */
	uint32_t persist_domain;	/* enum cairndv_persist_domain, or 0 */
	uint32_t flush_limit_ms;	/* cairndv_set_flush_limit(), 0: none */
};

int cairndv_query_mr(struct ibv_mr *mr, struct cairndv_mr_attr *attr,
		     size_t size);

/*
 * Host flush: a message that is not answered in @ms milliseconds fails, and its
 * token with it. 0: no limit, as after registration.
 */
#define CAIRNDV_FLUSH_LIMIT_MAX	3600000

int cairndv_set_flush_limit(struct ibv_mr *mr, uint32_t ms);

/* ibv_send_wr.opcode; the destination is in wr.rdma. RC only. */
#define CAIRNDV_WR_WRITE_PERSIST	((enum ibv_wr_opcode)0xc0)
/* The same with imm_data: it consumes a receive of the target. A peer may not know it
 * (CAIRNDV_PEER_PERSIST_IMM).
 */
#define CAIRNDV_WR_WRITE_PERSIST_WITH_IMM	((enum ibv_wr_opcode)0xc1)

/* ibv_send_wr.send_flags and ibv_qp_ex.wr_flags, for these opcodes only. */
enum cairndv_send_flags {
	/* Completes when received; a receive completes when durable. */
	CAIRNDV_SEND_EARLY = 1 << 16,
};

/* Like ibv_wr_rdma_write(), whose setters follow. */
int cairndv_wr_write_persist(struct ibv_qp_ex *qp, uint32_t rkey,
			     uint64_t remote_addr);
/* Like ibv_wr_rdma_write_imm(). */
int cairndv_wr_write_persist_imm(struct ibv_qp_ex *qp, uint32_t rkey,
				 uint64_t remote_addr, __be32 imm_data);

enum cairndv_persist_kind {
	CAIRNDV_PERSIST_NONE = 0,	/* any other completion, or an error */
	/* Initiator: a WRITE_PERSIST is durable; with CAIRNDV_SEND_EARLY: it
	 * is received.
	 */
	CAIRNDV_PERSIST_WRITE = 1,
	/* Target: make the range durable, then cairndv_persist_done(). */
	CAIRNDV_PERSIST_FLUSH = 2,
	/* Initiator, CAIRNDV_SEND_EARLY: the message is durable. */
	CAIRNDV_PERSIST_DURABLE = 3,
	/* Target: a message with immediate data has come and is durable. */
	CAIRNDV_PERSIST_RECEIVED = 4,
};

/* The kind of durability that the target reports. Larger is weaker. */
enum cairndv_durability {
	CAIRNDV_DURABILITY_UNKNOWN,	/* not reported */
	CAIRNDV_DURABILITY_EADR,	/* NIC flush; CPU caches survive, too */
	CAIRNDV_DURABILITY_ADR,		/* NIC flush into the memory controller */
	CAIRNDV_DURABILITY_HOST,	/* host flush: by its program */
	CAIRNDV_DURABILITY_EMULATED,	/* for development: not durable */
};

struct cairndv_persist_info {
	uint32_t kind;		/* enum cairndv_persist_kind */
	uint32_t qp_num;	/* the local QP */
	uint32_t psn;		/* of the message's last packet */
	/* enum cairndv_durability of a durable message: this or stronger */
	uint32_t durability;
	uint64_t va;		/* target's address; not for ..._WRITE */
	uint64_t length;	/* bytes; ..._FLUSH and ..._RECEIVED only */
	uint64_t token;		/* ..._FLUSH only */
	uint64_t reserved2[3];
};

/* ibv_poll_cq() with an info for each wc; takes any CQ. */
int cairndv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc,
		    struct cairndv_persist_info *info);
/* For the current completion, between ibv_start_poll() and ibv_end_poll(). */
int cairndv_wc_read_persist(struct ibv_cq_ex *cq,
			    struct cairndv_persist_info *info);

/*
 * @token: from a CAIRNDV_PERSIST_FLUSH of a QP of this context
 * @status: 0: the range is durable; an errno: it will not be
 */
int cairndv_persist_done(struct ibv_context *context, uint64_t token,
			 int status);

#define CAIRNDV_PERSIST_ANSWERS	64	/* of one call */

struct cairndv_persist_answer {
	uint64_t token;
	int32_t status;		/* as above */
	uint32_t reserved;
};

/*
 * The same for 1 to CAIRNDV_PERSIST_ANSWERS tokens in one call. All are taken but those
 * that are not outstanding: ENOENT, and @refused, unless NULL, has a bit for each.
 */
int cairndv_persist_done_all(struct ibv_context *context,
			     const struct cairndv_persist_answer *answers,
			     uint32_t num, uint64_t *refused);

#define CAIRNDV_WC_PERSIST_DONE	((enum ibv_wc_opcode)0x60)

/*
 * The same as a work request, for 1 to CAIRNDV_PERSIST_ANSWERS tokens, and for no more than
 * max_inline_data of @qp holds, 8 bytes each. It is executed in the order of the send queue,
 * with IBV_SEND_FENCE when earlier messages of @qp are durable. A token that is not
 * outstanding ends it with IBV_WC_LOC_PROT_ERR.
 */
int cairndv_wr_persist_done(struct ibv_qp_ex *qp, const uint64_t *tokens,
			    uint32_t num, int status);

/*
 * One message to several targets: see cairndv_persist_group(3).
 */

#define CAIRNDV_GROUP_MAX	64	/* targets */
/* Messages in flight: as many as the largest send queue holds. */
#define CAIRNDV_GROUP_MAX_DEPTH	131072

struct cairndv_persist_group;

/* RC queue pairs of any cairn devices, they and their send CQs for the group alone;
 * NULL: a place that is empty; @depth: messages in flight
 */
struct cairndv_persist_group *
cairndv_persist_group_create(struct ibv_qp *const *qp, uint32_t num,
			     uint32_t depth);
void cairndv_persist_group_destroy(struct cairndv_persist_group *group);

struct cairndv_group_dest {
	uint64_t remote_addr;
	uint32_t rkey;
	/* of the bytes, for a queue pair of another protection domain; 0: as in sg_list */
	uint32_t lkey;
};

struct cairndv_group_wr {
	uint64_t wr_id;
	struct ibv_sge *sg_list;
	int num_sge;
	unsigned int send_flags;	/* INLINE, FENCE, SOLICITED */
	uint32_t quorum;		/* how many targets are enough */
	/* enum cairndv_durability: targets with a weaker kind do not count; 0: all do;
	 * was reserved, so a caller that left it unset has to set it
	 */
	uint32_t durability;
	const struct cairndv_group_dest *dest;	/* of each target */
};

int cairndv_persist_group_post(struct cairndv_persist_group *group,
			       const struct cairndv_group_wr *wr);

enum cairndv_group_kind {
	CAIRNDV_GROUP_DURABLE = 1,	/* on enough targets */
	CAIRNDV_GROUP_FAILED = 2,	/* on too few targets */
	CAIRNDV_GROUP_TARGET = 3,	/* a target failed */
};

struct cairndv_group_wc {
	uint32_t kind;		/* enum cairndv_group_kind */
	uint32_t durable;	/* targets that have the message */
	uint64_t wr_id;		/* ..._TARGET: its first missing message */
	uint32_t target;	/* ..._TARGET only, like the following */
	uint32_t status;	/* enum ibv_wc_status */
	uint32_t vendor_err;
	/* enum cairndv_durability: the weakest of those that count so far */
	uint32_t durability;
};

/* Return: the number of completions and failures in @wc, or a negative errno. */
int cairndv_persist_group_poll(struct cairndv_persist_group *group, int num,
			       struct cairndv_group_wc *wc);
/* Return: how many messages every target has answered; their memory is free. */
uint64_t cairndv_persist_group_released(const struct cairndv_persist_group *group);

/* A target that does not answer a message within @ms is dropped; 0: no limit. */
int cairndv_persist_group_set_deadline(struct cairndv_persist_group *group,
				       uint32_t target, uint32_t ms);
/* Go on without @target: its queue pair moves to the error state. */
int cairndv_persist_group_drop(struct cairndv_persist_group *group,
			       uint32_t target);
/* @qp takes the place of a target that has failed or was dropped; NULL: leave it empty. */
int cairndv_persist_group_join(struct cairndv_persist_group *group,
			       uint32_t target, struct ibv_qp *qp);

/* ibv_req_notify_cq() of each completion queue of the group; then poll once more. */
int cairndv_persist_group_arm(struct cairndv_persist_group *group);
/* Return: how long poll(2) may wait: milliseconds to the next deadline, or -1. */
int cairndv_persist_group_timeout(struct cairndv_persist_group *group);

/*
 * A chain of targets: each hop has the message, passes it on and answers when the
 * rest of the chain has it, too. See cairndv_chain(3).
 */

#define CAIRNDV_CHAIN_MAX_DEPTH	4096

struct cairndv_chain;

struct cairndv_chain_range {
	uint64_t va;
	uint64_t length;
};

/* The way to go on when the next hop fails. */
enum cairndv_chain_policy {
	CAIRNDV_CHAIN_FAIL,	/* messages fail from then on */
	CAIRNDV_CHAIN_HOLD,	/* they wait for another next hop */
	CAIRNDV_CHAIN_CUT,	/* the chain ends here from then on */
};

struct cairndv_chain_attr {
	struct ibv_qp *qp;	/* RC, to the writer or the hop before; no SRQ */
	struct ibv_mr *mr;	/* of ibv_reg_mr(), with host flush */
	uint32_t depth;		/* messages that wait for their answer */
	uint32_t policy;	/* enum cairndv_chain_policy */
	/* of the next hop, enum cairndv_durability: this or stronger; 0: host flush */
	uint32_t durability;
	uint32_t deadline_ms;	/* for the next hop to answer a message; 0: none */
	/* Makes ranges durable here. Return: 0 or an errno. NULL: nothing is to be done */
	int (*flush)(void *arg, const struct cairndv_chain_range *ranges,
		     uint32_t num);
	void *arg;
};

/* @size: of *@attr. The chain ends here until cairndv_chain_set_next(). */
struct cairndv_chain *cairndv_chain_create(const struct cairndv_chain_attr *attr,
					   size_t size);
void cairndv_chain_destroy(struct cairndv_chain *chain);

struct cairndv_chain_next {
	struct ibv_qp *qp;	/* RC, of any cairn device */
	uint64_t remote_addr;	/* where it has the first byte of the region */
	uint32_t rkey;
	uint32_t lkey;		/* of the region's memory, for @qp */
};

/* Messages that are not answered go to @next; NULL: the chain ends here. */
int cairndv_chain_set_next(struct cairndv_chain *chain,
			   const struct cairndv_chain_next *next);

enum cairndv_chain_event_kind {
	CAIRNDV_CHAIN_NEXT_LOST = 1,	/* the next hop failed */
	CAIRNDV_CHAIN_WRITER_LOST = 2,	/* no message comes any more */
	CAIRNDV_CHAIN_FAILED = 3,	/* messages fail from now on */
};

struct cairndv_chain_event {
	uint32_t kind;		/* enum cairndv_chain_event_kind */
	uint32_t status;	/* ..._LOST: enum ibv_wc_status */
	uint32_t vendor_err;
	int32_t error;		/* ..._FAILED: the errno */
};

/* Takes, passes on, flushes and answers messages. Return: the number of events, or a
 * negative errno.
 */
int cairndv_chain_poll(struct cairndv_chain *chain, int num,
		       struct cairndv_chain_event *event);
/* Return: how many messages were answered as durable. */
uint64_t cairndv_chain_answered(const struct cairndv_chain *chain);
/* As those of a group. */
int cairndv_chain_arm(struct cairndv_chain *chain);
int cairndv_chain_timeout(struct cairndv_chain *chain);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* INFINIBAND_CAIRNDV_H */
