/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A fabric: devices of this host, in any network namespaces, that hand packets to each
 * other without the IP stack (net/adjacent.h says which packets). The administrator
 * gives it a name. It exists as long as it has a device.
 */
#ifndef CAIRN_DEVICE_FABRIC_H
#define CAIRN_DEVICE_FABRIC_H

#include <linux/list.h>
#include <rdma/cairn-abi.h>

struct cairn_nic;

struct cairn_fabric {
	struct list_head node;
	struct list_head nics;		/* changed under a mutex, read under RCU */
	char name[CAIRN_FABRIC_NAME];	/* with NUL */
};

/**
 * cairn_fabric_join() - put a device into a fabric
 * @nic: attached; it leaves the fabric that it is in
 * @name: 1 to CAIRN_FABRIC_NAME - 1 bytes and NUL
 *
 * The device is in one fabric at most. The MAC address that its netdev has now is the
 * one that counts (net/adjacent.h), also if the device is in this fabric already.
 *
 * Context: process, not under RTNL; not in an RCU read section.
 * Return: 0 or -ENOMEM, which changes nothing.
 */
int cairn_fabric_join(struct cairn_nic *nic, const char *name);

/**
 * cairn_fabric_leave() - take a device out of its fabric, if it is in one
 * @nic: the device
 *
 * On return no packet is handed to the device or by it on account of a fabric.
 *
 * Context: process, sleeps; not in an RCU read section.
 */
void cairn_fabric_leave(struct cairn_nic *nic);

/* Copy the name of the device's fabric, or "". @name has CAIRN_FABRIC_NAME bytes. Any
 * context.
 */
void cairn_fabric_name(struct cairn_nic *nic, char *name);

#endif
