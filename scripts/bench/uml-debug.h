/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Before all sources of the module for "make debugtest": injected faults of allocations
 * that would not warn leave a trace, too (tests/vm/alloc_sites.py).
 */
#include <linux/gfp_types.h>

#undef __GFP_NOWARN
#define __GFP_NOWARN ((__force gfp_t)0)
