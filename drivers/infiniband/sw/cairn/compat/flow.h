/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Later kernels replace flowi4_tos by flowi4_dscp, which has a type of its own. */
#ifndef CAIRN_COMPAT_FLOW_H
#define CAIRN_COMPAT_FLOW_H

#include <net/flow.h>
#include "compat/found.h"

/* Since 5.18. */
#ifdef CAIRN_HAS_INET_DSCP
#include <net/inet_dscp.h>
#else
#define INET_DSCP_MASK	0xfc
#endif

/* @tos: the whole byte; its ECN bits are ignored. */
static inline void cairn_flow4_set_tos(struct flowi4 *flow, u8 tos)
{
#ifdef CAIRN_HAS_FLOWI4_DSCP
	flow->flowi4_dscp = inet_dsfield_to_dscp(tos);
#else
	flow->flowi4_tos = tos & INET_DSCP_MASK;
#endif
}

#endif
