/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_LOCKDEP_H
#define CAIRN_SHIM_LINUX_LOCKDEP_H

#define lockdep_assert_held(lock)	((void)(lock))
#define lockdep_assert_in_softirq()	((void)0)

#endif
