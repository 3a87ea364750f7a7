/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Drops UDP datagrams to the RoCE port that leave a namespace with a device, or that
 * had one, but were not made by one. A receiver could not tell them from real packets.
 */
#ifndef CAIRN_NET_GUARD_H
#define CAIRN_NET_GUARD_H

#include <linux/netfilter.h>

/* The hooks of a network namespace. */
#define CAIRN_GUARD_HOOKS	(2 * (1 + IS_ENABLED(CONFIG_IPV6)))
extern const struct nf_hook_ops cairn_guard_hooks[CAIRN_GUARD_HOOKS];

#endif
