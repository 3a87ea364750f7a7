// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A libibverbs of version FAKE_CORE with the private interface FAKE_PABI: what tells its
 * version, and a registration that tells which file's provider registered.
 * abi/link_only.sh adds the other functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FAKE_PASTE(name, number)	name##number
#define FAKE_NAME(name, number)		FAKE_PASTE(name, number)

/* 344: up to version 43. */
#define FAKE_COMP_MASK	(344 + (FAKE_CORE >= 44 ? 8 : 0) + (FAKE_CORE >= 45 ? 8 : 0) + \
			 sizeof(pthread_mutex_t) - 40)

void FAKE_NAME(verbs_register_driver_, FAKE_PABI)(const char *const *ops)
{
	Dl_info info = {};

	dladdr(ops, &info);
	printf("registered %s from %s\n", *ops, info.dli_fname);
}

void *ibv_qp_to_qp_ex(void *qp)
{
	uint32_t comp_mask;

	memcpy(&comp_mask, (char *)qp + FAKE_COMP_MASK, sizeof(comp_mask));
	return comp_mask & 2 ? qp : NULL;
}

void *ibv_get_device_list(int *num_devices)
{
	*num_devices = 0;
	return NULL;
}

#if FAKE_CORE >= 59
void ibv_reg_mr_ex(void)
{
}
#endif

#if FAKE_CORE >= 62
void ibv_query_port_speed(void)
{
}
#endif

#if FAKE_CORE >= 64
void ibv_alloc_buf(void)
{
}
#endif

#if FAKE_CORE >= 65
void ibv_create_comp_cntr(void)
{
}
#endif
