/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The profile of a device: see cairn_profile(7). */
#ifndef CAIRN_SET_PROFILE_H
#define CAIRN_SET_PROFILE_H

#include <stdio.h>

#include <infiniband/verbs.h>

/* @name: as in CAIRN_PROFILE, or "none". Return: 0, or an errno; then the device has the
 * profile that it had.
 */
int set_profile(struct ibv_context *ctx, const char *name);
/* Writes the name of the device's profile, or "none". */
void set_profile_show(struct ibv_context *ctx, FILE *out);

#endif /* CAIRN_SET_PROFILE_H */
