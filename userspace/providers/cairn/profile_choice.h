/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The profile that cairn_set(1) gave a device, for all processes. It is a file. Its name is the
 * number of the device's inode in sysfs: a device keeps it when it is renamed, and the kernel
 * gives it to no later one. Its first line is
 *
 *	# profile NAME
 *
 * and the profile follows.
 */
#ifndef CAIRN_PROFILE_CHOICE_H
#define CAIRN_PROFILE_CHOICE_H

#include <stdio.h>

#include <infiniband/verbs.h>

#ifndef CAIRN_PROFILE_CHOICES
#define CAIRN_PROFILE_CHOICES "/run/cairn/profile"
#endif

struct cairn_profile_choice {
	char path[sizeof(CAIRN_PROFILE_CHOICES "/18446744073709551615")];
	FILE *file;		/* behind the first line */
	char *line;		/* the first line */
	const char *name;	/* of the profile, in that line */
};

/* @choice: the path is set, also if there is none. Return: 0; ENOENT: this device has none; or
 * an errno after a message on standard error.
 */
int cairn_profile_choice_open(struct cairn_profile_choice *choice,
			      const struct ibv_device *device);
void cairn_profile_choice_close(struct cairn_profile_choice *choice);

#endif /* CAIRN_PROFILE_CHOICE_H */
