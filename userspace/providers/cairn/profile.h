/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * CAIRN_PROFILE: the device has the limits of another NIC for this process, see
 * cairn_profile(7). Contexts that are opened without it have the plain operations.
 */
#ifndef CAIRN_PROFILE_H
#define CAIRN_PROFILE_H

#include "cairn.h"

/*
 * Reads the profile that the variable names. Contexts that are open keep their operations,
 * and have the limits of this profile from now on.
 * Return: 0, ENOENT if the variable is not set, or, after a message on stderr, EINVAL if the
 * file is wrong or the errno with which it could not be read.
 */
int cairn_profile_begin(void);
/* Puts the limits before the operations. */
void cairn_profile_overlay(struct verbs_context_ops *ops);

#endif /* CAIRN_PROFILE_H */
