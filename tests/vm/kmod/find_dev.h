/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Newer kernels have no ib_device_get_by_name(). */
#ifndef CAIRN_FIND_DEV_H
#define CAIRN_FIND_DEV_H

#include <linux/string.h>
#include <linux/version.h>
#include <rdma/ib_verbs.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define find_dev(name)	ib_device_get_by_name(name, RDMA_DRIVER_UNKNOWN)
#else
static const char *find_dev_name;
static struct ib_device *find_dev_found;

static int find_dev_look(struct ib_device *dev)
{
	if (!strcmp(dev_name(&dev->dev), find_dev_name) &&
	    ib_device_try_get(dev))
		find_dev_found = dev;
	/* nothing to remember */
	return -EOPNOTSUPP;
}

static struct ib_client find_dev_client = {
	.name = KBUILD_MODNAME "_find",
	.add = find_dev_look,
};

/* Return: the device @name, held, or NULL. Not for concurrent callers. */
static struct ib_device *find_dev(const char *name)
{
	find_dev_name = name;
	find_dev_found = NULL;
	/* ib_core calls a new client's add() for all devices */
	if (ib_register_client(&find_dev_client))
		return NULL;
	ib_unregister_client(&find_dev_client);
	return find_dev_found;
}
#endif

#endif
