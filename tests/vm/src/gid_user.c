// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * gid_user DEVICE ADDRESS: make a connection and an address handle that send from the GID
 * of this IPv4 address. Prints errno values, "rtr N ah N", or the missing object.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "vt.h"

/* The kernel shows the GIDs of all namespaces. */
static bool gid_find(struct vt_dev *dev, const char *address)
{
	struct ibv_gid_entry table[64];
	ssize_t n = ibv_query_gid_table(dev->ctx, table, 64, 0);
	struct in_addr in;

	inet_pton(AF_INET, address, &in);
	for (; n > 0; n--)
		if (table[n - 1].gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(table[n - 1].gid.raw + 12, &in, 4)) {
			dev->gid = table[n - 1].gid;
			dev->gid_index = table[n - 1].gid_index;
			return true;
		}
	return false;
}

int main(int argc, char **argv)
{
	struct vt_opts opts = VT_OPTS;
	struct vt_end end;
	struct vt_dev dev;
	int err, rtr;

	if (argc != 3)
		return 2;
	err = vt_open(&dev, argv[1], VT_IPV4, -1);
	if (!dev.ctx) {
		puts("no device");
		return 0;
	}
	if (!gid_find(&dev, argv[2])) {
		puts("no GID");
		return 0;
	}
	if (err || vt_end_create(&end, &dev, &opts, 4096) || vt_to_init(&end))
		return 1;
	rtr = vt_to_rtr(&end, &end);
	errno = 0;
	err = vt_ah(&dev, &dev) ? 0 : errno;
	printf("rtr %d ah %d\n", rtr, err);
	return 0;
}
