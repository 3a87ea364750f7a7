/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Limits that query_device reports and the create functions enforce. */
#ifndef CAIRN_VERBS_LIMITS_H
#define CAIRN_VERBS_LIMITS_H

#include <linux/sizes.h>
#include <rdma/cairn-abi.h>

#define CAIRN_MAX_QP		1048560
/* The largest ring has room for this many of the largest WQEs. */
#define CAIRN_MAX_QP_WR		SZ_128K
#define CAIRN_MAX_SRQ		SZ_1M
#define CAIRN_MAX_SRQ_WR	SZ_128K
#define CAIRN_MAX_CQ		SZ_1M
#define CAIRN_MAX_CQE		SZ_1M
#define CAIRN_MAX_PD		SZ_64K
#define CAIRN_MAX_XRCD		SZ_64K
#define CAIRN_MAX_AH		SZ_1M
#define CAIRN_MAX_COMP_CNTR	SZ_64K
#define CAIRN_MAX_MR		SZ_8M		/* with windows; key index: 24 bits */
#define CAIRN_MAX_FAST_REG	512		/* blocks of one fast-reg MR */
#define CAIRN_MAX_RD_ATOM	128
#define CAIRN_MAX_MSG		0x80000000u	/* bytes */
#define CAIRN_MIN_PMTU		256		/* also the value of a new QP */
#define CAIRN_GID_TBL_LEN	1024

#endif
