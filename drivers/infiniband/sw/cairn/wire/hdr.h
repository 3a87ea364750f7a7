/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Transport headers of RoCEv2 as they lie on the wire.
 *
 * Source: InfiniBand Architecture Specification vol. 1, chapter 9 (BTH and the
 * extended transport headers) and Annex A17 (RoCEv2).
 */
#ifndef CAIRN_WIRE_HDR_H
#define CAIRN_WIRE_HDR_H

#include <linux/types.h>
#include <linux/build_bug.h>

#define CAIRN_UDP_PORT		4791
#define CAIRN_ICRC_LEN		4
#define CAIRN_GRH_LEN		40
#define CAIRN_PKEY_DEFAULT	0xffff
#define CAIRN_PKEY_BASE		0x7fff
#define CAIRN_PKEY_FULL		0x8000	/* else limited member */
#define CAIRN_QPN_MULTICAST	0xffffff

struct cairn_bth {
	__u8 opcode;
	__u8 flags;		/* SE, M, PadCnt, TVer */
	__be16 pkey;
	__be32 qpn;		/* FECN, BECN, 6 reserved, DestQP */
	__be32 psn;		/* AckReq, 7 reserved, PSN */
} __packed;

#define CAIRN_BTH_SE		0x80
#define CAIRN_BTH_MIG		0x40
#define CAIRN_BTH_PAD_SHIFT	4
#define CAIRN_BTH_PAD_MASK	0x30
#define CAIRN_BTH_TVER_MASK	0x0f
#define CAIRN_BTH_BECN		0x40000000u
#define CAIRN_BTH_ACKREQ	0x80000000u
#define CAIRN_24BIT_MASK	0x00ffffffu
/* PERSIST ACK: the reserved bits before the PSN give the durability. */
#define CAIRN_BTH_DURABILITY_SHIFT	24
#define CAIRN_BTH_DURABILITY_MASK	0x7fu

struct cairn_deth {
	__be32 qkey;
	__be32 sqpn;
} __packed;

/* IBTA Annex A14: the shared receive queue that a request is for. */
struct cairn_xrceth {
	__be32 srqn;		/* 8 reserved, SRQ number */
} __packed;

struct cairn_reth {
	__be64 va;
	__be32 rkey;
	__be32 length;
} __packed;

/* FLUSH (IBTA Annex A19). */
struct cairn_feth {
	__be32 sel_plt;		/* 26 reserved, SEL, PLT */
} __packed;

#define CAIRN_FETH_PLT_MASK	0x0fu
#define CAIRN_FETH_SEL_SHIFT	4
#define CAIRN_FETH_SEL_MASK	0x03u

/* PLT: how far the written data has to get. */
enum cairn_flush_plt {
	CAIRN_FLUSH_GLOBAL = 1 << 0,	/* visible to every user of the memory */
	CAIRN_FLUSH_PERSISTENT = 1 << 1,	/* durable */
	CAIRN_FLUSH_PLT = (1 << 2) - 1
};

/* SEL: which memory is flushed. */
enum cairn_flush_sel {
	CAIRN_FLUSH_RANGE = 0,
	CAIRN_FLUSH_REGION = 1,		/* all of the memory region */
};

struct cairn_atomiceth {
	__be64 va;
	__be32 rkey;
	__be64 swap_add;
	__be64 compare;
} __packed;

struct cairn_aeth {
	__be32 syndrome_msn;
} __packed;

struct cairn_atomicacketh {
	__be64 orig;
} __packed;

struct cairn_immdt {
	__be32 imm;
} __packed;

struct cairn_ieth {
	__be32 rkey;
} __packed;

/* Payload of a CNP (Annex A17.9.3): reserved, zero. */
#define CAIRN_CNP_PAYLOAD	16

/* The longest header chain: BTH + XRCETH + AtomicETH. */
#define CAIRN_MAX_HDR		44

/* AETH syndromes (IBTA 9.7.5.2.1). */
#define CAIRN_AETH_TYPE_MASK	0xe0
#define CAIRN_AETH_VALUE_MASK	0x1f
#define CAIRN_AETH_ACK		0x00
#define CAIRN_AETH_RNR_NAK	0x20
#define CAIRN_AETH_NAK		0x60
#define CAIRN_AETH_CREDIT_INVALID	0x1f

enum cairn_nak {
	CAIRN_NAK_PSN_SEQ = 0,
	CAIRN_NAK_INVALID_REQUEST = 1,
	CAIRN_NAK_REMOTE_ACCESS = 2,
	CAIRN_NAK_REMOTE_OP = 3,
	CAIRN_NAK_INVALID_RD_REQUEST = 4,
};

static_assert(sizeof(struct cairn_bth) == 12);
static_assert(sizeof(struct cairn_deth) == 8);
static_assert(sizeof(struct cairn_xrceth) == 4);
static_assert(sizeof(struct cairn_reth) == 16);
static_assert(sizeof(struct cairn_feth) == 4);
static_assert(sizeof(struct cairn_atomiceth) == 28);
static_assert(sizeof(struct cairn_aeth) == 4);
static_assert(sizeof(struct cairn_atomicacketh) == 8);
static_assert(sizeof(struct cairn_immdt) == 4);
static_assert(sizeof(struct cairn_ieth) == 4);
static_assert(sizeof(struct cairn_bth) + sizeof(struct cairn_xrceth) +
	      sizeof(struct cairn_atomiceth) == CAIRN_MAX_HDR);

#endif
