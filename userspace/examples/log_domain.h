/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef LOG_DOMAIN_H
#define LOG_DOMAIN_H

#include <infiniband/cairndv.h>

static inline const char *log_domain_name(uint32_t domain)
{
	switch (domain) {
	case CAIRNDV_DOMAIN_PMEM:
		return "persistent memory, NIC flush";
	case CAIRNDV_DOMAIN_HOST:
		return "file, host flush";
	case CAIRNDV_DOMAIN_EMULATED:
		return "EMULATED: nothing survives";
	default:
		return "not persistent";
	}
}

#endif /* LOG_DOMAIN_H */
