/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What leaves a namespace that has a device, and is no packet of a device: a receiver
 * takes any UDP datagram to the RoCE port for one.
 */
#ifndef CAIRN_NET_GUARD_H
#define CAIRN_NET_GUARD_H

#include <linux/netfilter.h>

/* The hooks of a network namespace. */
#define CAIRN_GUARD_HOOKS	(2 * (1 + IS_ENABLED(CONFIG_IPV6)))
extern const struct nf_hook_ops cairn_guard_hooks[CAIRN_GUARD_HOOKS];

#endif
