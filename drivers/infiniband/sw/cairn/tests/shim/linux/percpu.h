/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CAIRN_SHIM_LINUX_PERCPU_H
#define CAIRN_SHIM_LINUX_PERCPU_H

/* Host programs have one CPU here; sim/cpus.h has more. */
#define __percpu
#define this_cpu_ptr(p)		(p)
#define this_cpu_add(x, n)	((void)((x) += (n)))

/* Defined by the test. */
unsigned int num_online_cpus(void);

#endif
