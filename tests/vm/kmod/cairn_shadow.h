/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* /dev/cairn_shadow; mmap() gives the image, read-only. */
#ifndef CAIRN_SHADOW_H
#define CAIRN_SHADOW_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SHADOW_QPS	16

/* The highest PSN acknowledged to an initiator, by packets that left. */
struct shadow_qp {
	__u32 qpn;		/* the initiator's; 0: unused */
	__u32 has_ack, ack;	/* by an ordinary ACK */
	__u32 has_persist, persist;	/* by a persistence ACK */
};

struct shadow_state {
	__u32 failed;		/* the power has failed */
	__u32 lines;		/* written back since SHADOW_ARM */
	__u32 streamed;		/* bytes by non-temporal stores, since then */
	__u32 fences;
	__u32 evictions;	/* lines, or parts of them, without a write-back */
	__u32 missed;		/* probes that did not fire, lines without room */
	struct shadow_qp qp[SHADOW_QPS];
};

/* All of memory is durable as it is; the power fails at ACK number arg. */
#define SHADOW_ARM	_IO('c', 1)
/* The power fails now, if it has not. */
#define SHADOW_FAIL	_IO('c', 2)
#define SHADOW_STATE	_IOR('c', 3, struct shadow_state)

#endif
