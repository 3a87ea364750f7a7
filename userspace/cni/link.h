/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef LINK_H
#define LINK_H

#include <net/if.h>
#include <stdint.h>

struct nl_sock;

/* An RDMA device, as RDMA netlink shows it */
struct link {
	uint32_t index;
	char name[64];
};

/*
 * Sockets are of the network namespace in which they are opened. All functions return a
 * negative errno on failure: that of the kernel's answer, -ETIMEDOUT without one, -EPROTO for a
 * malformed one and for other failures of libnl.
 */

/* -EPROTONOSUPPORT: the kernel has no ib_core and cannot load it */
int link_open(struct nl_sock **sock);

/* Make a device of type cairn on a network device of the namespace; loads the module. */
int link_add(struct nl_sock *sock, const char *name, const char *netdev);

/* -ENODEV: there is no such device */
int link_delete(struct nl_sock *sock, uint32_t index);

/* Call visit for each device that the namespace sees. */
int link_each(struct nl_sock *sock, void (*visit)(const struct link *link, void *arg), void *arg);

/* The index of the device with this name. -ENODEV: there is none */
int link_find(struct nl_sock *sock, const char *name, uint32_t *index);

/* The network device of port 1; the empty string if it is of another namespace */
int link_netdev(struct nl_sock *sock, uint32_t index, char netdev[IFNAMSIZ]);

/*
 * Whether the device has a character device of this type, or the kernel for type rdma_cm,
 * where the index is ignored. The kernel loads the module for it.
 */
int link_chardev(struct nl_sock *sock, uint32_t index, const char *type);

#endif
