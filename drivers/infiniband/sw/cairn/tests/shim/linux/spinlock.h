/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_SPINLOCK_H
#define CAIRN_SHIM_LINUX_SPINLOCK_H

#include <pthread.h>

typedef struct {
	pthread_mutex_t mutex;
} spinlock_t;

#define DEFINE_SPINLOCK(name)	spinlock_t name = { PTHREAD_MUTEX_INITIALIZER }
#define spin_lock_init(lock)	pthread_mutex_init(&(lock)->mutex, NULL)
#define spin_lock(lock)		pthread_mutex_lock(&(lock)->mutex)
#define spin_unlock(lock)	pthread_mutex_unlock(&(lock)->mutex)

/* Host programs have no interrupts. */
#define spin_lock_irq(lock)	spin_lock(lock)
#define spin_unlock_irq(lock)	spin_unlock(lock)
#define spin_lock_irqsave(lock, flags)					\
	do {								\
		(flags) = 0;						\
		spin_lock(lock);					\
	} while (0)
#define spin_unlock_irqrestore(lock, flags)				\
	do {								\
		(void)(flags);						\
		spin_unlock(lock);					\
	} while (0)

#endif
