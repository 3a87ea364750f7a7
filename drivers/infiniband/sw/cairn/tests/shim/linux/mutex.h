/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_MUTEX_H
#define CAIRN_SHIM_LINUX_MUTEX_H

#include <pthread.h>

struct mutex {
	pthread_mutex_t mutex;
};

#define mutex_init(lock)	pthread_mutex_init(&(lock)->mutex, NULL)
#define mutex_destroy(lock)	pthread_mutex_destroy(&(lock)->mutex)
#define mutex_lock(lock)	pthread_mutex_lock(&(lock)->mutex)
#define mutex_unlock(lock)	pthread_mutex_unlock(&(lock)->mutex)

#endif
