/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_NET_RX_H
#define CAIRN_NET_RX_H

#include <linux/netfilter.h>

/* The receive hooks of a network namespace. */
#define CAIRN_NET_HOOKS		(1 + IS_ENABLED(CONFIG_IPV6))
extern const struct nf_hook_ops cairn_net_hooks[CAIRN_NET_HOOKS];

#endif
