// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile_choice.h"
#include "profile_file.h"

static int profile_choice_error(const struct cairn_profile_choice *choice, int err)
{
	cairn_profile_file_error(choice->path, 0, "%s", strerror(err));
	return err;
}

/* Only root makes one, also where others may write to the directory. */
static int profile_choice_check(const struct cairn_profile_choice *choice)
{
	struct stat st;

	if (fstat(fileno(choice->file), &st))
		return profile_choice_error(choice, errno);
	if (S_ISREG(st.st_mode) && !st.st_uid && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	cairn_profile_file_error(choice->path, 0, "not a file of root alone");
	return EPERM;
}

static int profile_choice_first_line(struct cairn_profile_choice *choice)
{
	static const char begin[] = "# profile ";
	size_t room = 0;

	if (getline(&choice->line, &room, choice->file) < 0 ||
	    strncmp(choice->line, begin, sizeof(begin) - 1))
		return cairn_profile_file_error(choice->path, 1, "not as cairn_set writes it");
	choice->line[strcspn(choice->line, "\n")] = '\0';
	choice->name = choice->line + sizeof(begin) - 1;
	return 0;
}

int cairn_profile_choice_open(struct cairn_profile_choice *choice,
			      const struct ibv_device *device)
{
	struct stat st;
	int err, fd;

	*choice = (struct cairn_profile_choice){};
	if (stat(device->ibdev_path, &st))
		return ENOENT;
	snprintf(choice->path, sizeof(choice->path), CAIRN_PROFILE_CHOICES "/%ju",
		 (uintmax_t)st.st_ino);
	fd = open(choice->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? ENOENT : profile_choice_error(choice, errno);
	choice->file = fdopen(fd, "r");
	if (!choice->file) {
		err = errno;
		close(fd);
		return profile_choice_error(choice, err);
	}
	err = profile_choice_check(choice);
	if (!err)
		err = profile_choice_first_line(choice);
	if (err)
		cairn_profile_choice_close(choice);
	return err;
}

void cairn_profile_choice_close(struct cairn_profile_choice *choice)
{
	free(choice->line);
	fclose(choice->file);
}
