/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_NET_IPV6_H
#define CAIRN_SHIM_NET_IPV6_H

#include <linux/in6.h>
#include <linux/types.h>
#include <string.h>

static inline bool ipv6_addr_equal(const struct in6_addr *one,
				   const struct in6_addr *other)
{
	return !memcmp(one, other, sizeof(*one));
}

#endif
