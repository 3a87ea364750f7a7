// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A program that listens with rdma_cm on all addresses listens on BIND_ADDRESS (IPv4) instead.
 * siw cannot listen on all addresses where one of its devices has a netdev in another
 * namespace, and perftest cannot be told an address.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

typedef int bind_fn(struct rdma_cm_id *id, struct sockaddr *addr);

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	bind_fn *real = (bind_fn *)dlsym(RTLD_NEXT, "rdma_bind_addr");
	const char *address = getenv("BIND_ADDRESS");
	struct sockaddr_in to = { .sin_family = AF_INET };

	if (!address || addr->sa_family != AF_INET || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return real(id, addr);
	to.sin_port = ((struct sockaddr_in *)addr)->sin_port;
	return real(id, (struct sockaddr *)&to);
}
