/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_NETDEVICE_H
#define CAIRN_SHIM_LINUX_NETDEVICE_H

/* What sources have by way of it in the kernel. */
#include <linux/idr.h>
#include <linux/list.h>

struct net;
struct net_device;

#endif
