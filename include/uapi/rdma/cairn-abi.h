/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */
/*
 * The contract between cairn.ko and libcairn.
 *
 * Everything here is shared memory or a verbs command tail. Sizes and offsets
 * are asserted below. Reserved fields are written as zero. The device refuses
 * send WQEs and command inputs in which they are not, and the host such a
 * struct cairn_ring_desc; the driver ignores the others.
 *
 * Queues (send, receive, shared receive, completion) are rings of 64-byte
 * units. Indices are free-running 32-bit counters of units; the slot is
 * index & (depth - 1), depth is a power of two. The queue's pointers live in
 * per-context queue-info arrays, found from the queue id (qid) alone:
 *
 *   space 1  written by the device only, mapped read-only; wake-up flags
 *   space 2  driver-internal: depth and ring location, never mapped
 *   space 3  written by the host: write pointer, completion arming, ready map
 *
 * The arrays grow by chunks of CAIRN_QINFO_PER_CHUNK entries; each chunk is
 * one page of each mapped space, shared by all queues whose qid falls in it.
 */
#ifndef _UAPI_RDMA_CAIRN_ABI_H
#define _UAPI_RDMA_CAIRN_ABI_H

#include <linux/types.h>

#define CAIRN_ABI_VERSION	1
/* Chosen at random; must differ from every enum rdma_driver_id. */
#define CAIRN_DRIVER_ID		0xc41a7d52U

#define CAIRN_UNIT_SIZE		64	/* bytes of one ring unit */
#define CAIRN_MAX_SGE		32
#define CAIRN_MAX_INLINE	512	/* bytes of inline data in one WQE */
#define CAIRN_MAX_WQE_UNITS	9	/* a full inline WQE or a 32-SGE list */

/* The lkey of every null region: zeros are sent, what is received is dropped. */
#define CAIRN_NULL_LKEY		0xffU

/* Queue-info arrays. */
#define CAIRN_QINFO_PER_CHUNK	64

/* Space 1: the device writes, the host reads. */
struct cairn_qinfo_dev {
	/* SQ: oldest WQE unit still in use. RQ/SRQ: next unit the device
	 * takes. CQ: next entry the device writes (the host polls it).
	 */
	__u32 index;
	__u32 state;		/* enum cairn_queue_state */
	/* RQ: not 0: posts have to ring the doorbell. A send queue's flag is in
	 * struct cairn_wake. CQ: not 0: completions wait for room, so the host
	 * calls CAIRN_METHOD_LOOK_CQ when it has polled.
	 */
	__u32 wakeup;
	__u32 depth;		/* current depth, units */
	__u32 generation;	/* changes when the ring was replaced */
	__u32 starved;		/* RQ/SRQ: how often a message found no receive */
	__u32 reserved[10];
};

enum cairn_queue_state {
	CAIRN_QUEUE_INVALID = 0,
	CAIRN_QUEUE_READY = 1,
	CAIRN_QUEUE_ERROR = 2,
};

/* Space 3: the host writes, the device reads (and never trusts). */
struct cairn_qinfo_host {
	/* SQ/RQ/SRQ: next unit the host will fill (all before are valid).
	 * CQ: next entry the host will poll (all before are free).
	 */
	__u32 index;
	/* CQ only: (sequence << 2) | CAIRN_ARM_*; a sequence that the device
	 * has not answered yet requests one completion event.
	 */
	__u32 arm;
	__u32 reserved[14];
};

#define CAIRN_ARM_NEXT		1u
#define CAIRN_ARM_SOLICITED	2u
#define CAIRN_ARM_MASK		3u

/*
 * The ready map tells the device which send queues have new WQEs. A context has
 * ready pages of its own for each lane (a thread of the device); a send queue has
 * one bit in one of them. The host writes them, so they belong to space 3.
 *
 * A post writes WQEs, releases the write pointer and makes a full barrier. Then it
 * sets the queue's bit in words[] and the word's bit in summary, each by an atomic
 * OR, or not at all when it is seen set. After another full barrier it reads the
 * lane's wake-up flag (enum cairn_lane_state).
 */
#define CAIRN_READY_WORDS	64
#define CAIRN_READY_QUEUES	(CAIRN_READY_WORDS * 64)	/* of one page */

struct cairn_ready_page {
	__aligned_u64 summary;		/* bit per word */
	__aligned_u64 reserved[7];
	__aligned_u64 words[CAIRN_READY_WORDS];	/* bit per send queue */
};

/* Wake-up flags of a context, one for each lane: a page of space 1. */
#define CAIRN_MAX_LANES		16

/*
 * The state says what a post has to do. A lazy lane shares its CPU with other tasks, and
 * looks for posts when they let it run. So the host rings CAIRN_DOORBELL_ALL when many posts
 * wait, and before it waits for one without sleeping, as after a poll that finds nothing. A
 * host that does not know this state rings for each post.
 */
enum cairn_lane_state {
	CAIRN_LANE_AWAKE = 0,		/* nothing: the lane polls */
	CAIRN_LANE_ASLEEP = 1,		/* ring */
	CAIRN_LANE_LAZY = 2,		/* ring for all posts, later */
};

struct cairn_wake {
	__u32 asleep;			/* enum cairn_lane_state */
	__u32 reserved[15];
};

/* Send WQE opcodes: private numbering, not enum ibv_wr_opcode. */
enum cairn_wqe_opcode {
	CAIRN_WQE_SEND = 0,
	CAIRN_WQE_SEND_IMM = 1,
	CAIRN_WQE_SEND_INV = 2,
	CAIRN_WQE_WRITE = 3,
	CAIRN_WQE_WRITE_IMM = 4,
	CAIRN_WQE_READ = 5,
	CAIRN_WQE_CAS = 6,
	CAIRN_WQE_FAA = 7,
	CAIRN_WQE_LOCAL_INV = 8,
	CAIRN_WQE_BIND_MW = 9,
	CAIRN_WQE_REG_MR = 10,	/* kernel queues only */
	CAIRN_WQE_WRITE_PERSIST = 11,
	CAIRN_WQE_FLUSH = 12,
	CAIRN_WQE_ATOMIC_WRITE = 13,
	CAIRN_WQE_WRITE_PERSIST_IMM = 14,
	CAIRN_WQE_PERSIST_DONE = 15,	/* no kernel queues */
	CAIRN_WQE_OPCODES
};

enum cairn_wqe_flags {
	CAIRN_WQE_SIGNALED = 1 << 0,
	CAIRN_WQE_SOLICITED = 1 << 1,
	CAIRN_WQE_FENCE = 1 << 2,
	CAIRN_WQE_INLINE = 1 << 3,
	/* WRITE_PERSIST, WRITE_PERSIST_IMM: early completion mode */
	CAIRN_WQE_EARLY = 1 << 4,
	CAIRN_WQE_FLAGS = (1 << 5) - 1
};

struct cairn_sge {
	__aligned_u64 addr;	/* virtual address in the MR's address space */
	__u32 length;		/* bytes */
	__u32 lkey;
};

/*
 * A send WQE: one or more units. The data area starts at byte 32 of the first
 * unit and runs on through the following ones: scatter/gather entries or, with
 * CAIRN_WQE_INLINE, bytes. Atomics keep their operands at 32 and one SGE at 48.
 *
 * FLUSH has no data, ATOMIC_WRITE 8 bytes.
 *
 * PERSIST_DONE answers host flushes of queue pairs of the context, in the order of the
 * send queue. Its inline data are 1 to CAIRN_MAX_PERSIST_DONES tokens of 8 bytes each.
 * imm_or_key is the status of all of them, as in struct cairn_persist_done; num_sge,
 * remote_addr and rkey are 0. All are taken but those that are refused; then the request
 * ends with LOC_PROT_ERR. With CAIRN_WQE_FENCE it waits until each earlier
 * WRITE_PERSIST of the send queue is durable.
 *
 * XRC: inline_len also has the number of the shared receive queue, as
 * number << CAIRN_XRC_SRQN_SHIFT | bytes.
 *
 * BIND_MW: imm_or_key is the window's new key, rkey the lkey of the region,
 * remote_addr the first byte; what is left is at 32.
 */
struct cairn_send_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;		/* enum cairn_wqe_opcode */
	__u8 flags;		/* enum cairn_wqe_flags */
	__u8 num_sge;
	__u8 units;		/* 1..CAIRN_MAX_WQE_UNITS */
	__u32 imm_or_key;	/* immediate (network order) or rkey to invalidate */
	union {
		__aligned_u64 remote_addr;
		struct {
			__u32 ah;	/* address handle number */
			__u32 qpn;
		} ud;
	};
	union {
		__u32 rkey;
		__u32 qkey;	/* UD */
	};
	__u32 inline_len;	/* bytes, 0..CAIRN_MAX_INLINE; XRC: see above */
	union {
		struct cairn_sge sge[2];
		__u8 inline_data[32];
		struct {
			__aligned_u64 compare_add;
			__aligned_u64 swap;
		} atomic;
		struct {
			__aligned_u64 length;	/* bytes; 0: bound to nothing */
			__u32 access;		/* IB_UVERBS_ACCESS_* */
			__u32 reserved;
		} bind;
		struct {
			__u32 length;	/* bytes; means nothing for a region */
			__u8 plt;	/* as on the wire: FETH */
			__u8 sel;
			__u16 reserved;
		} flush;
	};
};

#define CAIRN_WQE_DATA_OFFSET		32
#define CAIRN_XRC_SRQN_SHIFT		8
#define CAIRN_XRC_INLINE_MASK		0xffu	/* and the limit: bytes */
#define CAIRN_WQE_ATOMIC_SGE_OFFSET	48

/*
 * A receive WQE: the queue has a fixed stride of units (see
 * cairn_ring_desc.stride), so that the device knows how many are posted.
 */
struct cairn_recv_wqe {
	__aligned_u64 wr_id;
	__u8 num_sge;
	__u8 reserved[7];
	struct cairn_sge sge[3];	/* continues in the following units */
};

#define CAIRN_RECV_SGE_OFFSET		16

/* Completion opcode: says what happened, independent of enum ibv_wc_opcode. */
enum cairn_cqe_opcode {
	CAIRN_CQE_SEND = 0,
	CAIRN_CQE_WRITE = 1,
	CAIRN_CQE_READ = 2,
	CAIRN_CQE_CAS = 3,
	CAIRN_CQE_FAA = 4,
	CAIRN_CQE_BIND_MW = 5,
	CAIRN_CQE_LOCAL_INV = 6,
	CAIRN_CQE_REG_MR = 7,
	CAIRN_CQE_WRITE_PERSIST = 8,
	CAIRN_CQE_FLUSH = 9,
	CAIRN_CQE_ATOMIC_WRITE = 10,
	CAIRN_CQE_PERSIST_DONE = 11,
	CAIRN_CQE_RECV = 16,
	/* RDMA WRITE or WRITE_PERSIST with immediate. If durability is not 0, the
	 * message is durable: byte_len bytes at persist_va.
	 */
	CAIRN_CQE_RECV_IMM = 17,
	/* Target, host flush: make [persist_va, persist_va + byte_len) durable
	 * and release persist_token. psn and qpn name the message. With immediate
	 * data the flag CAIRN_CQE_WITH_IMM is set.
	 */
	CAIRN_CQE_RECV_PERSIST = 18,
	/* Initiator, early completion mode: the WRITE_PERSIST whose last packet
	 * has this psn, and that wrote persist_va, is durable; byte_len is 0.
	 */
	CAIRN_CQE_RECV_DURABLE = 19,
};

enum cairn_cqe_flags {
	CAIRN_CQE_GRH = 1 << 0,
	CAIRN_CQE_WITH_IMM = 1 << 1,
	CAIRN_CQE_WITH_INV = 1 << 2,
	CAIRN_CQE_IPV4 = 1 << 3,	/* GRH holds an IPv4 header */
	CAIRN_CQE_VLAN = 1 << 4,
	CAIRN_CQE_SOLICITED = 1 << 5,
};

/* Status values equal enum ibv_wc_status (IBTA 11.6.2). */
enum cairn_cqe_status {
	CAIRN_CQE_SUCCESS = 0,
	CAIRN_CQE_LOC_LEN_ERR = 1,
	CAIRN_CQE_LOC_QP_OP_ERR = 2,
	CAIRN_CQE_LOC_PROT_ERR = 4,
	CAIRN_CQE_WR_FLUSH_ERR = 5,
	CAIRN_CQE_MW_BIND_ERR = 6,
	CAIRN_CQE_BAD_RESP_ERR = 7,
	CAIRN_CQE_LOC_ACCESS_ERR = 8,
	CAIRN_CQE_REM_INV_REQ_ERR = 9,
	CAIRN_CQE_REM_ACCESS_ERR = 10,
	CAIRN_CQE_REM_OP_ERR = 11,
	CAIRN_CQE_RETRY_EXC_ERR = 12,
	CAIRN_CQE_RNR_RETRY_EXC_ERR = 13,
	CAIRN_CQE_FATAL_ERR = 19,
};

struct cairn_cqe {
	__aligned_u64 wr_id;
	__u32 qpn;
	__u32 byte_len;
	__u32 imm_or_key;	/* immediate (network order) or invalidated rkey */
	__u32 src_qp;
	__u8 opcode;		/* enum cairn_cqe_opcode */
	__u8 status;		/* enum cairn_cqe_status */
	__u16 flags;		/* enum cairn_cqe_flags */
	__u32 vendor_err;	/* AETH syndrome or -errno that explains status */
	__aligned_u64 timestamp;	/* CLOCK_MONOTONIC, ns */
	__aligned_u64 persist_va;
	__aligned_u64 persist_token;
	__u32 psn;
	__u16 vlan;
	/* WRITE_PERSIST, RECV_DURABLE, RECV_IMM: enum cairn_durability, or weaker */
	__u8 durability;
	__u8 sl;
};

/* Where a ring and its queue info are mapped: offsets for mmap(2). */
struct cairn_ring_desc {
	__aligned_u64 ring_offset;
	__aligned_u64 ring_bytes;
	__aligned_u64 dev_offset;	/* page of space 1 that holds qid */
	__aligned_u64 host_offset;	/* page of space 3 that holds qid */
	__u32 qid;
	__u32 depth;			/* units, a power of two */
	__u32 stride;			/* units of one receive WQE; CQ: 1; SQ: 0 */
	/* Send queues only, the others have zeros: */
	__u32 ready_bit;		/* 0..CAIRN_READY_QUEUES - 1 */
	__aligned_u64 ready_offset;	/* struct cairn_ready_page */
	__aligned_u64 wake_offset;	/* struct cairn_wake[CAIRN_MAX_LANES] */
	__u32 wake_index;		/* the lane's */
	__u32 reserved;
};

/* Command tails. */
struct cairn_alloc_ucontext_resp {
	__u32 abi_version;
	__u32 page_size;
	__aligned_u64 reserved;
	__u32 max_inline;
	__u32 max_sge;
};

struct cairn_create_cq_resp {
	struct cairn_ring_desc ring;
};

struct cairn_create_qp_resp {
	struct cairn_ring_desc sq;
	struct cairn_ring_desc rq;	/* all zero when the QP uses an SRQ */
};

struct cairn_create_srq_resp {
	struct cairn_ring_desc rq;
};

struct cairn_create_ah_resp {
	__u32 ah_num;
	__u32 reserved;
};

/* Tail of MODIFY_QP with a rate limit: absent (zero), or all of it. */
struct cairn_modify_qp_req {
	__u32 max_burst_sz;	/* bytes, BTH to ICRC; 0: default */
	__u32 typical_pkt_sz;	/* bytes, 0..65535; 0: none */
};

/* Rate limits in kbit/s. */
#define CAIRN_MIN_RATE_LIMIT	1
#define CAIRN_MAX_RATE_LIMIT	400000000

/*
 * Parameters of DCQCN, the congestion control (SIGCOMM 2015), of a device.
 * Times 1..CAIRN_CC_MAX_US, rates 1..CAIRN_MAX_RATE_LIMIT kbit/s.
 */
struct cairn_cc_params {
	__u32 cnp_interval_us;	/* a QP sends one CNP in this time; may be 0 */
	__u32 alpha_us;		/* alpha decays once in this time */
	__u32 g_shift;		/* gain g = 1 / 2^g_shift, 1..16 */
	__u32 increase_us;	/* the timer raises the rate */
	__u32 increase_kbytes;	/* the byte counter does; 1000 bytes */
	__u32 recovery_steps;	/* F: steps of fast recovery, 1..255 */
	__u32 additive_kbps;	/* R_AI */
	__u32 hyper_kbps;	/* R_HAI */
	__u32 min_kbps;		/* the rate is never cut below */
	__u32 reserved[7];
};

#define CAIRN_CC_MAX_US		1000000
#define CAIRN_CC_MAX_G_SHIFT	16
#define CAIRN_CC_MAX_STEPS	255

/* Congestion control of a device or of one QP, and what it does now. */
struct cairn_cc {
	__u32 flags;		/* enum cairn_cc_flags */
	__u32 reserved;
	struct cairn_cc_params params;	/* of the device */
};

enum cairn_cc_flags {
	/* The QP is controlled; of a device: QPs that are created are. */
	CAIRN_CC_ENABLED = 1 << 0,
	CAIRN_CC_FLAGS = (1 << 1) - 1
};

/* The limits of a QP now, rates in kbit/s, 0: none. */
struct cairn_qp_rate {
	__u32 rate_limit;	/* as asked for */
	__u32 max_burst_sz;
	__u32 typical_pkt_sz;
	__u32 static_rate;	/* of the address vector */
	__u32 cc_flags;		/* enum cairn_cc_flags */
	__u32 cc_req_rate;	/* congestion control: requests */
	__u32 cc_resp_rate;	/* READ responses */
	__u32 reserved[9];
};

/*
 * How a memory region becomes durable; none: it does not. NIC and HOST exclude
 * each other. EMULATED goes with NIC and accepts ordinary memory: for
 * development, nothing survives a power failure.
 */
enum cairn_mr_flags {
	CAIRN_MR_PERSIST_NIC = 1 << 0,		/* the device writes back */
	CAIRN_MR_PERSIST_HOST = 1 << 1,		/* the application does */
	CAIRN_MR_PERSIST_EMULATED = 1 << 2,
	/* The kinds of FLUSH that a peer may ask for; kernels before 6.2 do not know them
	 * as an access flag. EMULATED goes with the second one, too.
	 */
	CAIRN_MR_FLUSH_GLOBAL = 1 << 3,
	CAIRN_MR_FLUSH_PERSISTENT = 1 << 4,
	CAIRN_MR_FLAGS = (1 << 5) - 1,
	CAIRN_MR_PERSIST_FLAGS = (1 << 3) - 1
};

/*
 * How what a peer wrote is durable. Larger is weaker. The values are those of the
 * wire (Documentation/wire.rst).
 */
enum cairn_durability {
	CAIRN_DURABILITY_UNKNOWN = 0,	/* the peer does not say */
	CAIRN_DURABILITY_EADR = 1,	/* NIC flush; caches are persistent, too */
	CAIRN_DURABILITY_ADR = 2,	/* NIC flush; the memory controller is */
	CAIRN_DURABILITY_HOST = 3,	/* host flush: what the application says */
	CAIRN_DURABILITY_EMULATED = 4,	/* not at all */
};

/* Tail of REG_MR: absent, or all of it. Without it the flags are zero. */
struct cairn_reg_mr_req {
	__u32 flags;		/* enum cairn_mr_flags */
	__u32 reserved;
};

/* Written when the request has a tail. */
struct cairn_reg_mr_resp {
	/* As accepted. With CAIRN_PERSISTENT_AUTO it may have CAIRN_MR_PERSIST_NIC, too. */
	__u32 flags;
	__u32 reserved;
};

/* Driver methods on RDMA_VERBS_IOCTL; ids are in the driver namespace 1<<12. */
enum cairn_objects {
	CAIRN_OBJECT_DEVICE = (1U << 12),
	CAIRN_OBJECT_TUNING,
	CAIRN_OBJECT_PEER,
	CAIRN_OBJECT_CQ,
	CAIRN_OBJECT_FAULT,
};

/* The kernel takes eight methods of a driver for one object, not more. */
enum cairn_device_methods {
	CAIRN_METHOD_DOORBELL = (1U << 12),
	CAIRN_METHOD_PERSIST_DONE,
	CAIRN_METHOD_QUERY_DEVICE,
	CAIRN_METHOD_PREPARE_RING,
	CAIRN_METHOD_DEREG_MR,
	CAIRN_METHOD_QUERY_RATE,
	CAIRN_METHOD_QUERY_CC,
	CAIRN_METHOD_MODIFY_CC,
};

enum cairn_tuning_methods {
	CAIRN_METHOD_SET_IDLE = (1U << 12),
	CAIRN_METHOD_SET_FLUSH_LIMIT,
	CAIRN_METHOD_SET_LOOPBACK,
	CAIRN_METHOD_SET_FABRIC,
	CAIRN_METHOD_SET_CAPTURE,
	CAIRN_METHOD_SET_PERSISTENT,
};

enum cairn_peer_methods {
	CAIRN_METHOD_QUERY_PEER = (1U << 12),
};

/* CAIRN_METHOD_YIELD needs no queue. It is here because the device has eight methods. */
enum cairn_cq_methods {
	CAIRN_METHOD_LOOK_CQ = (1U << 12),
	CAIRN_METHOD_YIELD,
};

/* In: the QP. Out: struct cairn_qp_rate, as much as there is room for. */
enum cairn_query_rate_attrs {
	CAIRN_ATTR_QUERY_RATE_QP = (1U << 12),
	CAIRN_ATTR_QUERY_RATE_OUT,
};

/* Out: struct cairn_cc of the device, as much as there is room for. */
enum cairn_query_cc_attrs {
	CAIRN_ATTR_QUERY_CC_OUT = (1U << 12),
};

/*
 * In: struct cairn_cc. With a QP: flags switch its congestion control, params
 * must be zero. Without: the device's flags and parameters; EPERM unless the
 * caller has CAP_NET_ADMIN in the user namespace of the device's network
 * namespace. Datagrams have none (EINVAL).
 */
enum cairn_modify_cc_attrs {
	CAIRN_ATTR_MODIFY_CC_IN = (1U << 12),
	CAIRN_ATTR_MODIFY_CC_QP,
};

/*
 * How long the device polls for posts before it sleeps and asks for doorbells;
 * needs CAP_NET_ADMIN in the initial user namespace. Input: struct cairn_set_idle,
 * inlined in the attribute.
 */
enum cairn_set_idle_attrs {
	CAIRN_ATTR_SET_IDLE = (1U << 12),
};

struct cairn_set_idle {
	__u32 us;		/* 0..1000000, or CAIRN_IDLE_DEFAULT */
	__u32 reserved;
};

#define CAIRN_IDLE_DEFAULT	0xffffffffU	/* what a new device has */

/*
 * Which packets to addresses of this host are handed over inside the device, and not
 * to the IP stack; needs CAP_NET_ADMIN in the initial user namespace. Input: struct
 * cairn_set_loopback, inlined in the attribute.
 */
enum cairn_set_loopback_attrs {
	CAIRN_ATTR_SET_LOOPBACK = (1U << 12),
};

enum cairn_loopback_modes {
	CAIRN_LOOPBACK_SELF,	/* those to the device's own addresses; at first */
	CAIRN_LOOPBACK_OFF,	/* none */
	/* Also those to other devices of the network namespace with this mode. */
	CAIRN_LOOPBACK_HOST,
};

struct cairn_set_loopback {
	__u32 mode;		/* enum cairn_loopback_modes */
	__u32 reserved;
};

/*
 * The fabric of the device, whose devices hand packets to each other without the IP
 * stack; needs CAP_NET_ADMIN in the initial user namespace. Input: struct
 * cairn_set_fabric.
 */
enum cairn_set_fabric_attrs {
	CAIRN_ATTR_SET_FABRIC = (1U << 12),
};

#define CAIRN_FABRIC_NAME	16	/* bytes, with NUL */

struct cairn_set_fabric {
	/* Letters, digits, '.', '_', '-'; zeros behind it. Empty: no fabric. */
	char name[CAIRN_FABRIC_NAME];
};

/*
 * The way of packets for a device of the fabric while a packet socket, an XDP program
 * or a filter of tc is at one of the two netdevs; needs CAP_NET_ADMIN in the initial user
 * namespace. Input: struct cairn_set_capture, inlined in the attribute.
 */
enum cairn_set_capture_attrs {
	CAIRN_ATTR_SET_CAPTURE = (1U << 12),
};

enum cairn_capture_modes {
	CAIRN_CAPTURE_YIELD,	/* the IP stack gets them, and so it sees them; at first */
	CAIRN_CAPTURE_KEEP,	/* they are handed over */
};

struct cairn_set_capture {
	__u32 mode;		/* enum cairn_capture_modes */
	__u32 reserved;
};

/*
 * Which regions of persistent memory have NIC flush: those that are registered with
 * CAIRN_MR_PERSIST_NIC, or all that could be. Other memory is not affected, nor are regions
 * that exist. Needs CAP_NET_ADMIN in the initial user namespace. Input: struct
 * cairn_set_persistent, inlined in the attribute.
 */
enum cairn_set_persistent_attrs {
	CAIRN_ATTR_SET_PERSISTENT = (1U << 12),
};

enum cairn_persistent_modes {
	CAIRN_PERSISTENT_DECLARED,	/* those registered with the flag; at first */
	CAIRN_PERSISTENT_AUTO,		/* all with a right to write */
};

struct cairn_set_persistent {
	__u32 mode;		/* enum cairn_persistent_modes */
	__u32 reserved;
};

/*
 * Host flush: how long the application may take for one message into a region.
 * Then the message has failed, and its token is dead. For messages that arrive
 * from now on. Input: the region, struct cairn_set_flush_limit. EINVAL: not a
 * region with host flush.
 */
enum cairn_set_flush_limit_attrs {
	CAIRN_ATTR_FLUSH_LIMIT_MR = (1U << 12),
	CAIRN_ATTR_FLUSH_LIMIT_IN,
};

struct cairn_set_flush_limit {
	__u32 ms;		/* 0: no limit */
	__u32 reserved;
};

#define CAIRN_MAX_FLUSH_LIMIT	3600000		/* ms */

/*
 * Deregister without waiting. Input: the MR's handle. Output: struct
 * cairn_dereg_mr_resp. The ids differ from those of every other method that
 * may destroy an MR, UHW included.
 */
enum cairn_dereg_mr_attrs {
	CAIRN_ATTR_DEREG_MR_HANDLE = (1U << 12) + 8,
	CAIRN_ATTR_DEREG_MR_RESP,
};

/*
 * At @offset of mmap(2), read-only: an array of @slots words of 32 bits. Word
 * ticket % slots is at or beyond the ticket (as a 32-bit difference) when the
 * memory may be used again.
 */
struct cairn_dereg_mr_resp {
	__aligned_u64 offset;
	__u32 ticket;
	__u32 slots;
};

#define CAIRN_RELEASE_SLOTS	1024

/*
 * Input: 1 to CAIRN_MAX_DOORBELLS of struct cairn_doorbell; one alone lies in the
 * attribute. All of them ring, whatever becomes of one; what their queues send together
 * to one peer may leave together. The error is that of the first one that is wrong.
 *
 * One alone may name CAIRN_DOORBELL_ALL: the send queues of the context that are marked in
 * its ready maps. The work of a call is limited; the lane does the rest. The write pointer
 * is 0 (else EINVAL).
 */
enum cairn_doorbell_attrs {
	CAIRN_ATTR_DOORBELL = (1U << 12),
};

struct cairn_doorbell {
	__u32 qid;
	__u32 index;		/* write pointer, units */
};

#define CAIRN_MAX_DOORBELLS	64
#define CAIRN_DOORBELL_ALL	0xffffffffU

/*
 * Host flush: the range of one CAIRN_CQE_RECV_PERSIST is durable, or will not be. Input: 1
 * to CAIRN_MAX_PERSIST_DONES of struct cairn_persist_done. All are taken but those that
 * are refused: no such token is outstanding in this context (unknown, used, late, of
 * another process). If any is refused the error is ENOENT, and the output, which may be
 * left out, is a __u64 with a bit for each.
 */
enum cairn_persist_done_attrs {
	CAIRN_ATTR_PERSIST_DONE = (1U << 12),
	CAIRN_ATTR_PERSIST_DONE_REFUSED,
};

#define CAIRN_MAX_PERSIST_DONES	64

struct cairn_persist_done {
	__aligned_u64 token;
	__u32 status;		/* 0: durable, else an errno: failed */
	__u32 reserved;
};

/*
 * Faults on demand: rules of a device, in their order; the first that hits counts. They
 * need CAP_NET_ADMIN in the user namespace of the device's network namespace.
 * ADD_FAULT: struct cairn_fault_rule. EINVAL: not a rule; ENOSPC: there are
 * CAIRN_FAULT_RULES; for CAIRN_FAULT_NOW also ENOENT: no such queue pair, or it has no such
 * queue; EBUSY: another event is being raised. LIST_FAULTS, out: struct cairn_fault_list,
 * as much as there is room for. CLEAR_FAULTS removes all.
 */
enum cairn_fault_methods {
	CAIRN_METHOD_ADD_FAULT = (1U << 12),
	CAIRN_METHOD_LIST_FAULTS,
	CAIRN_METHOD_CLEAR_FAULTS,
};

enum cairn_add_fault_attrs {
	CAIRN_ATTR_ADD_FAULT_RULE = (1U << 12),
};

enum cairn_list_faults_attrs {
	CAIRN_ATTR_LIST_FAULTS_OUT = (1U << 12),
};

#define CAIRN_FAULT_RULES	32

enum cairn_fault_directions {
	CAIRN_FAULT_SENT = 1,
	CAIRN_FAULT_RECEIVED,
	CAIRN_FAULT_NOW,		/* no packet: done at once, and not kept */
};

enum cairn_fault_acts {
	CAIRN_FAULT_DROP = 1,
	CAIRN_FAULT_DUPLICATE,
	CAIRN_FAULT_CORRUPT,		/* a byte, for which the ICRC is wrong */
	CAIRN_FAULT_CORRUPT_PAST_ICRC,	/* a byte of payload, with an ICRC that fits */
	CAIRN_FAULT_DELAY,		/* by delay_us */
	CAIRN_FAULT_REORDER,		/* swap with the next one of the queue pair */
	/* Received requests of RC and XRC: not executed, but answered with ... */
	CAIRN_FAULT_NAK,		/* a NAK; detail: its code, 0..3 */
	CAIRN_FAULT_RNR,		/* an RNR NAK; detail: its timer, 0..31 */
	CAIRN_FAULT_QP_FATAL,		/* the queue pair ends; received (not UD), or now */
	CAIRN_FAULT_EVENT,		/* now; detail: enum cairn_fault_events */
};

/* The event is raised, and nothing else. Events of a queue pair need qpn, others must not
 * have it.
 */
enum cairn_fault_events {
	CAIRN_FAULT_PORT_ERR,
	CAIRN_FAULT_PORT_ACTIVE,
	CAIRN_FAULT_DEVICE_FATAL,
	CAIRN_FAULT_COMM_EST,		/* from here to SRQ_ERR: of a queue pair */
	CAIRN_FAULT_SQ_DRAINED,
	CAIRN_FAULT_QP_REQ_ERR,
	CAIRN_FAULT_QP_ACCESS_ERR,
	CAIRN_FAULT_LAST_WQE_REACHED,
	CAIRN_FAULT_CQ_ERR,		/* of its completion queue for receives */
	CAIRN_FAULT_SRQ_LIMIT,
	CAIRN_FAULT_SRQ_ERR,
	CAIRN_FAULT_PKEY_CHANGE,
	CAIRN_FAULT_LID_CHANGE,
	CAIRN_FAULT_SM_CHANGE,
	CAIRN_FAULT_CLIENT_REREGISTER,
	CAIRN_FAULT_EVENTS
};

#define CAIRN_FAULT_MAX_DELAY	10000000	/* microseconds */

struct cairn_fault_rule {
	__u8 direction;		/* enum cairn_fault_directions */
	__u8 act;		/* enum cairn_fault_acts */
	__u8 detail;		/* of some acts, else 0 */
	__u8 reserved;
	/* Packets that fit: all of these. CAIRN_FAULT_NOW: max_len is 0xffffffff, and all
	 * but qpn are 0.
	 */
	__u32 qpn;		/* queue pair of this device; 0: any */
	__u32 min_len;		/* bytes of payload */
	__u32 max_len;
	__aligned_u64 opcodes[4];	/* a bit for each opcode of the BTH; all 0: any */
	/* All of these decide about those that fit; 0: any. */
	__u32 nth;		/* this one, from 1 */
	__u32 every;		/* multiples of it */
	__u32 chance;		/* of 2^32 */
	__u32 count;		/* the rule has ended after so many hits */
	__aligned_u64 seed;	/* for chance */
	__u32 delay_us;		/* CAIRN_FAULT_DELAY: 1..CAIRN_FAULT_MAX_DELAY; else 0 */
	/* More that packets have to fit. */
	__u32 key;		/* R_Key in a header of the packet; 0: any */
	__u8 peer[16];		/* address of the other end, IPv4 as ::ffff:a.b.c.d; 0: any */
	__u32 begin_ms;		/* not before so long after the rule was added */
	__u32 end_ms;		/* ... and before that; 0: without end */
};

struct cairn_fault_state {
	struct cairn_fault_rule rule;
	__aligned_u64 seen;	/* packets that fit */
	__aligned_u64 hits;
};

struct cairn_fault_list {
	__u32 num;		/* of rules */
	__u32 reserved;
	struct cairn_fault_state rules[CAIRN_FAULT_RULES];
};

/* Output: struct cairn_device_caps, as much of it as the caller has room for. */
enum cairn_query_device_attrs {
	CAIRN_ATTR_QUERY_DEVICE_CAPS = (1U << 12),
};

enum cairn_persist_domains {
	CAIRN_DOMAIN_PMEM = 1 << 0,	/* persistent memory, NIC flush */
	CAIRN_DOMAIN_HOST = 1 << 1,	/* any memory, host flush */
	CAIRN_DOMAIN_EMULATED = 1 << 2,	/* ordinary memory, NIC flush */
};

enum cairn_persist_modes {
	CAIRN_PERSIST_MODE_DEFAULT = 1 << 0,	/* the WR completes at durability */
	CAIRN_PERSIST_MODE_EARLY = 1 << 1,	/* CAIRN_WQE_EARLY */
	CAIRN_PERSIST_MODE_IMM = 1 << 2,	/* CAIRN_WQE_WRITE_PERSIST_IMM */
	CAIRN_PERSIST_MODE_DONE = 1 << 3,	/* CAIRN_WQE_PERSIST_DONE */
};

struct cairn_device_caps {
	__u32 persist_domains;		/* enum cairn_persist_domains */
	__u32 persist_modes;		/* enum cairn_persist_modes */
	/* Aligned bytes that never are half old, half new (persistence.rst). */
	__u32 persist_atomic_unit;
	__u32 max_persist_outstanding;	/* host flush: tokens of one QP */
	__aligned_u64 max_msg;		/* bytes */
	__u32 idle_us;			/* polls for posts so long */
	__u32 loopback;			/* enum cairn_loopback_modes */
	char fabric[CAIRN_FABRIC_NAME];	/* empty: in none */
	__u32 capture;			/* enum cairn_capture_modes */
	__u32 persistent;		/* enum cairn_persistent_modes */
	__u32 reserved[2];
};

/*
 * Ask the device at the other end of an RC connection. Waits; ends before, with
 * EINTR, when the caller is killed. In: the QP, struct cairn_query_peer. Out: struct
 * cairn_peer_caps, as much as there is room for. ETIMEDOUT: no answer; EPROTO: one
 * that cannot be; EAGAIN: too many ask.
 */
enum cairn_query_peer_attrs {
	CAIRN_ATTR_QUERY_PEER_QP = (1U << 12),
	CAIRN_ATTR_QUERY_PEER_IN,
	CAIRN_ATTR_QUERY_PEER_OUT,
};

struct cairn_query_peer {
	__u32 timeout_ms;	/* 1..CAIRN_MAX_PEER_TIMEOUT */
	__u32 reserved;
};

#define CAIRN_MAX_PEER_TIMEOUT	10000

/* Abilities of a peer's device beyond WRITE_PERSIST; the values are those of the wire. */
enum cairn_peer_abilities {
	CAIRN_PEER_PERSIST_IMM = 1 << 0,	/* WRITE_PERSIST with immediate */
	CAIRN_PEER_ABILITIES = (1 << 1) - 1
};

/* A peer's device describes itself; all zero: it does not know WRITE_PERSIST. */
struct cairn_peer_caps {
	__u32 known;			/* 1 */
	__u32 persist_domains;		/* enum cairn_persist_domains */
	__u32 persist_atomic_unit;	/* bytes */
	__u32 max_persist_outstanding;	/* host flush: tokens of one QP */
	__aligned_u64 max_msg;		/* bytes */
	__u32 abilities;		/* enum cairn_peer_abilities */
	__u32 reserved[5];
};

/*
 * Resizing takes two steps, so that nothing can fail once it is done. This
 * method allocates a ring for one queue of the object whose handle is given
 * (exactly one of them) and tells where to map it; the queue does not use it
 * yet. The standard command (modify_qp with IB_QP_CAP, modify_srq with
 * IB_SRQ_MAX_WR, resize_cq) moves what is outstanding into it, at the same
 * indices, and makes it the queue's ring. The host must not post (CQ: poll)
 * during that command; it uses the new ring from then on. A command that fails
 * drops the prepared rings, a second preparation replaces the first.
 */
enum cairn_prepare_ring_attrs {
	CAIRN_ATTR_RING_REQUEST = (1U << 12),	/* struct cairn_prepare_ring */
	CAIRN_ATTR_RING_DESC,			/* struct cairn_prepare_ring_resp */
	CAIRN_ATTR_RING_QP,			/* handles */
	CAIRN_ATTR_RING_SRQ,
	CAIRN_ATTR_RING_CQ,
};

enum cairn_ring_of_qp {
	CAIRN_RING_SEND = 0,
	CAIRN_RING_RECV = 1,
};

struct cairn_prepare_ring {
	__u32 max_wr;		/* work requests (CQ: entries); 0: drop it */
	__u32 which;		/* QP: enum cairn_ring_of_qp, else 0 */
};

struct cairn_prepare_ring_resp {
	struct cairn_ring_desc ring;	/* all zero when it was dropped */
	__u32 max_wr;		/* what it holds, at least what was asked */
	__u32 reserved;
};

/*
 * Look at what the host wrote of a completion queue: completions that wait for room
 * go on, and an armed queue with completions that are not polled raises its event. The
 * host polls (arms), full barrier, then reads cairn_qinfo_dev.wakeup (index). In: the
 * queue.
 */
enum cairn_look_cq_attrs {
	CAIRN_ATTR_LOOK_CQ = (1U << 12),
};

/*
 * The host has polled and found nothing: sleep, if another task wants the CPU. A signal
 * ends the sleep. In: microseconds (__u32), 1 to CAIRN_MAX_YIELD_US. EAGAIN: no other task
 * wants the CPU.
 */
enum cairn_yield_attrs {
	CAIRN_ATTR_YIELD_US = (1U << 12),
};

#define CAIRN_MAX_YIELD_US	1000

#ifndef __cplusplus
#define CAIRN_ABI_ASSERT(e) _Static_assert(e, #e)
CAIRN_ABI_ASSERT(sizeof(struct cairn_qinfo_dev) == 64);
CAIRN_ABI_ASSERT(sizeof(struct cairn_qinfo_host) == 64);
CAIRN_ABI_ASSERT(sizeof(struct cairn_ready_page) == 64 + 8 * CAIRN_READY_WORDS);
CAIRN_ABI_ASSERT(sizeof(struct cairn_ready_page) <= 4096);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_ready_page, words) == 64);
CAIRN_ABI_ASSERT(sizeof(struct cairn_wake) == 64);
CAIRN_ABI_ASSERT(sizeof(struct cairn_wake) * CAIRN_MAX_LANES <= 4096);
CAIRN_ABI_ASSERT(sizeof(struct cairn_sge) == 16);
CAIRN_ABI_ASSERT(sizeof(struct cairn_send_wqe) == CAIRN_UNIT_SIZE);
CAIRN_ABI_ASSERT(sizeof(struct cairn_recv_wqe) == CAIRN_UNIT_SIZE);
CAIRN_ABI_ASSERT(sizeof(struct cairn_cqe) == CAIRN_UNIT_SIZE);
CAIRN_ABI_ASSERT(sizeof(struct cairn_ring_desc) == 72);
CAIRN_ABI_ASSERT(sizeof(struct cairn_doorbell) == 8);
CAIRN_ABI_ASSERT(sizeof(struct cairn_dereg_mr_resp) == 16);
CAIRN_ABI_ASSERT(sizeof(struct cairn_set_idle) == 8);
CAIRN_ABI_ASSERT(sizeof(struct cairn_set_flush_limit) == 8);
CAIRN_ABI_ASSERT(sizeof(struct cairn_modify_qp_req) == 8);
CAIRN_ABI_ASSERT(sizeof(struct cairn_prepare_ring) == 8);
CAIRN_ABI_ASSERT(sizeof(struct cairn_prepare_ring_resp) == 80);
CAIRN_ABI_ASSERT(sizeof(struct cairn_cc_params) == 64);
CAIRN_ABI_ASSERT(sizeof(struct cairn_cc) == 72);
CAIRN_ABI_ASSERT(sizeof(struct cairn_qp_rate) == 64);
CAIRN_ABI_ASSERT(sizeof(struct cairn_reg_mr_req) == 8);
CAIRN_ABI_ASSERT(sizeof(struct cairn_reg_mr_resp) == 8);
CAIRN_ABI_ASSERT(sizeof(struct cairn_persist_done) == 16);
CAIRN_ABI_ASSERT(sizeof(struct cairn_device_caps) == 64);
CAIRN_ABI_ASSERT(sizeof(struct cairn_query_peer) == 8);
CAIRN_ABI_ASSERT(sizeof(struct cairn_peer_caps) == 48);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_peer_caps, max_msg) == 16);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_send_wqe, remote_addr) == 16);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_send_wqe, inline_len) == 28);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_send_wqe, sge) ==
		 CAIRN_WQE_DATA_OFFSET);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_recv_wqe, sge) ==
		 CAIRN_RECV_SGE_OFFSET);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_cqe, opcode) == 24);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_cqe, timestamp) == 32);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_cqe, persist_va) == 40);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_cqe, persist_token) == 48);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_cqe, psn) == 56);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_persist_done, status) == 8);
CAIRN_ABI_ASSERT(__builtin_offsetof(struct cairn_device_caps, max_msg) == 16);
#endif

#endif /* _UAPI_RDMA_CAIRN_ABI_H */
