/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Answers ARP requests for addresses of this host, see answer.c. */
#ifndef CAIRN_NET_ANSWER_H
#define CAIRN_NET_ANSWER_H

#include <linux/netfilter.h>

/* Registered in each network namespace that has a device. */
#define CAIRN_ANSWER_HOOKS		IS_ENABLED(CONFIG_NETFILTER_FAMILY_ARP)
extern const struct nf_hook_ops cairn_answer_hook;

/* Module start and stop. No hook is registered at the stop. Process context. */
int cairn_answer_start(void);
void cairn_answer_stop(void);

#endif
