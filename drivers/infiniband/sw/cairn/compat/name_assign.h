/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A driver can mark a device name as assigned by the user, so that udev does not rename the
 * device: 6.12 has the function, 6.8 does not.
 */
#ifndef CAIRN_COMPAT_NAME_ASSIGN_H
#define CAIRN_COMPAT_NAME_ASSIGN_H

#include <rdma/ib_verbs.h>
#include "compat/found.h"

#ifndef CAIRN_HAS_IB_MARK_NAME
static inline void ib_mark_name_assigned_by_user(struct ib_device *ibdev)
{
}
#endif

#endif
