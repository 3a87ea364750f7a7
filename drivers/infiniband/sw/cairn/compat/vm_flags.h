/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Since 6.3 flags of a mapping are changed through functions. */
#ifndef CAIRN_COMPAT_VM_FLAGS_H
#define CAIRN_COMPAT_VM_FLAGS_H

#include <linux/mm.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#endif
