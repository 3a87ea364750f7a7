/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Answers to ARP requests for addresses of this host, see answer.c. */
#ifndef CAIRN_NET_ANSWER_H
#define CAIRN_NET_ANSWER_H

#include <linux/netfilter.h>

/* In each network namespace that has a device. */
#define CAIRN_ANSWER_HOOKS		IS_ENABLED(CONFIG_NETFILTER_FAMILY_ARP)
extern const struct nf_hook_ops cairn_answer_hook;

/* Module start and stop; at the stop no hook is registered. Process context. */
int cairn_answer_start(void);
void cairn_answer_stop(void);

#endif
