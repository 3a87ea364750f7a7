/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Management datagrams of a vendor class that ask the peer's device what it can make
 * durable, and the answers (Documentation/wire.rst). A peer that does not know the
 * class answers "unsupported", as every agent does.
 *
 * Source: InfiniBand Architecture Specification vol. 1, 13.4 (MAD header) and 16.5
 * (vendor-specific classes).
 */
#ifndef CAIRN_WIRE_MAD_H
#define CAIRN_WIRE_MAD_H

#include <linux/build_bug.h>
#include <linux/types.h>
#include <rdma/cairn-abi.h>

#define CAIRN_MAD_LEN		256
#define CAIRN_MAD_CLASS		0x3c
#define CAIRN_MAD_VERSION	1
#define CAIRN_MAD_ATTR		0x0010
#define CAIRN_MAD_GET		0x01
#define CAIRN_MAD_GET_RESP	0x81

/* Status codes that mean "the peer does not know the question" (IBTA table 111). */
#define CAIRN_MAD_CODE_MASK	0x001c
#define CAIRN_MAD_BAD_VERSION	0x0004
#define CAIRN_MAD_BAD_METHOD	0x0008
#define CAIRN_MAD_BAD_ATTR	0x000c

struct cairn_mad {
	__u8 base_version;
	__u8 mgmt_class;
	__u8 class_version;
	__u8 method;
	__be16 status;
	__be16 class_specific;
	__be64 tid;
	__be16 attr_id;
	__be16 reserved;
	__be32 attr_mod;
	__u8 rmpp[12];
	__u8 reserved2;
	__u8 oui[3];
	/* The answer; zero in the question. */
	__be32 domains;			/* enum cairn_persist_domains */
	__be32 atomic_unit;		/* bytes */
	__be32 max_outstanding;		/* host flushes of one connection */
	__be32 abilities;		/* enum cairn_peer_abilities */
	__be64 max_msg;			/* bytes */
	__u8 reserved4[192];
} __packed;

static_assert(sizeof(struct cairn_mad) == CAIRN_MAD_LEN);

enum cairn_mad_kind {
	CAIRN_MAD_OTHER,	/* another class, method or attribute */
	CAIRN_MAD_QUESTION,
	CAIRN_MAD_ANSWER,
};

/* The kind of @mad, which is any 256 bytes. */
enum cairn_mad_kind cairn_mad_kind(const struct cairn_mad *mad);

/* Write a question. */
void cairn_mad_ask(struct cairn_mad *mad, __be64 tid);

/* Write the answer to @question. */
void cairn_mad_answer(struct cairn_mad *mad, const struct cairn_mad *question,
		      const struct cairn_peer_caps *caps);

/**
 * cairn_mad_read() - read and check an answer
 * @mad: CAIRN_MAD_ANSWER
 * @caps: filled in; all zero: the peer does not know the question
 *
 * Return: 0; -EPROTO: the answer has values out of range, or reports an error.
 */
int cairn_mad_read(const struct cairn_mad *mad, struct cairn_peer_caps *caps);

#endif
