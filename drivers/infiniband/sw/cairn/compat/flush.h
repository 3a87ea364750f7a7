/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Since 6.2 verbs have FLUSH and ATOMIC WRITE. These are the values of 6.2. */
#ifndef CAIRN_COMPAT_FLUSH_H
#define CAIRN_COMPAT_FLUSH_H

#include <linux/bits.h>
#include <rdma/ib_verbs.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_IB_FLUSH
#define IB_ACCESS_FLUSH_GLOBAL		BIT(8)
#define IB_ACCESS_FLUSH_PERSISTENT	BIT(9)
#define IB_DEVICE_FLUSH_GLOBAL		BIT_ULL(38)
#define IB_DEVICE_FLUSH_PERSISTENT	BIT_ULL(39)
#define IB_DEVICE_ATOMIC_WRITE		BIT_ULL(40)
#define IB_WR_ATOMIC_WRITE		((enum ib_wr_opcode)15)
#define IB_WC_FLUSH			((enum ib_wc_opcode)8)
#define IB_WC_ATOMIC_WRITE		((enum ib_wc_opcode)9)
#endif

/* Bits of ib_odp_caps that have names since 6.16. */
#define CAIRN_ODP_SUPPORT_FLUSH		BIT(6)
#define CAIRN_ODP_SUPPORT_ATOMIC_WRITE	BIT(7)

#define CAIRN_IB_ACCESS_FLUSH	(IB_ACCESS_FLUSH_GLOBAL | \
				 IB_ACCESS_FLUSH_PERSISTENT)

#endif
