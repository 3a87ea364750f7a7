/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A profile: the device has the limits of another NIC, see cairn_profile(7). Contexts that are
 * opened without one have the plain operations.
 */
#ifndef CAIRN_PROFILE_H
#define CAIRN_PROFILE_H

#include "cairn.h"

struct cairn_profile;

/* Reads the profile of a context that is being opened: that of CAIRN_PROFILE, or of the
 * device (profile_choice.h). *@profile: freed by free(), unchanged
 * if there is none. Return: 0, or an errno after a message on standard error.
 */
int cairn_profile_begin(const struct ibv_device *device, struct cairn_profile **profile);
/* Puts the limits before the operations. */
void cairn_profile_overlay(struct cairn_context *ctx, struct verbs_context_ops *ops);

#endif /* CAIRN_PROFILE_H */
