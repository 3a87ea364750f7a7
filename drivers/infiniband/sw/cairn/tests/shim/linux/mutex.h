/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_MUTEX_H
#define CAIRN_SHIM_LINUX_MUTEX_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

struct mutex {
	pthread_mutex_t mutex;
};

static inline void mutex_init(struct mutex *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&lock->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* For tests: does this thread hold @lock? */
static inline bool mutex_is_mine(struct mutex *lock)
{
	if (pthread_mutex_lock(&lock->mutex) == EDEADLK)
		return true;
	pthread_mutex_unlock(&lock->mutex);
	return false;
}

#define mutex_destroy(lock)	pthread_mutex_destroy(&(lock)->mutex)
#define mutex_lock(lock)	pthread_mutex_lock(&(lock)->mutex)
#define mutex_unlock(lock)	pthread_mutex_unlock(&(lock)->mutex)

#endif
