// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile_choice.h"
#include "profile_file.h"
#include "set_profile.h"
#include "set_rules.h"

#define SET_PROFILE_BYTES	65536	/* at most */

/* A profile that a device is to have. */
struct set_profile {
	char name[PATH_MAX];	/* its file, if it is not one that is installed */
	struct cairn_profile profile;
	char text[SET_PROFILE_BYTES];
	size_t bytes;
};

/* The text is read once: what is checked here is what processes get. */
static int set_profile_parse(struct set_profile *set, const char *path, FILE *from)
{
	FILE *text;
	int err;

	set->bytes = fread(set->text, 1, sizeof(set->text), from);
	if (ferror(from))
		return cairn_profile_file_error(path, 0, "cannot be read");
	if (set->bytes == sizeof(set->text))
		return cairn_profile_file_error(path, 0, "this file is too long");
	/* no file of zero bytes can be opened in memory */
	set->text[set->bytes++] = '\n';
	text = fmemopen(set->text, set->bytes, "r");
	if (!text)
		return errno;
	err = cairn_profile_file_read(&set->profile, path, text);
	fclose(text);
	return err;
}

static int set_profile_load(struct set_profile *set, const char *name)
{
	char path[PATH_MAX];
	FILE *file;
	int err;

	if (!*name || strchr(name, '\n'))
		return EINVAL;
	err = cairn_profile_file_open(name, path, &file);
	if (err)
		return err;
	if (strchr(name, '/') && !realpath(path, set->name))
		err = errno;
	else if (!strchr(name, '/'))
		strcpy(set->name, name);
	if (!err)
		err = set_profile_parse(set, path, file);
	fclose(file);
	return err;
}

/* One change at a time. Return: the directory of the choices, or -1 with errno. */
static int set_profile_lock(void)
{
	char path[] = CAIRN_PROFILE_CHOICES, *slash = strrchr(path, '/');
	int dir;

	umask(S_IWGRP | S_IWOTH);
	*slash = '\0';
	if (mkdir(path, 0755) && errno != EEXIST)
		return -1;
	*slash = '/';
	if (mkdir(path, 0755) && errno != EEXIST)
		return -1;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && flock(dir, LOCK_EX)) {
		close(dir);
		return -1;
	}
	return dir;
}

static int set_profile_write(FILE *file, const struct set_profile *set,
			     const struct set_rules *rules)
{
	unsigned int i;

	fprintf(file, "# profile %s\n", set->name);
	for (i = 0; i < rules->num; i++)
		fprintf(file, SET_RULES_LINE "%s\n", rules->faults[i].rule);
	fwrite(set->text, 1, set->bytes, file);
	if (fchmod(fileno(file), 0644) || fflush(file))
		return errno;
	return ferror(file) ? EIO : 0;
}

/* Processes see the choice at @path, or the new one. @set: NULL: none. */
static int set_profile_publish(const struct set_profile *set, FILE *file, const char *new,
			       const char *path, const struct set_rules *rules)
{
	int err;

	if (!set)
		return unlink(path) && errno != ENOENT ? errno : 0;
	err = set_profile_write(file, set, rules);
	if (!err && rename(new, path))
		err = errno;
	return err;
}

/* @file: for the new choice, at @new. One before that cannot be read is replaced as any other. */
static int set_profile_choose(struct ibv_context *ctx, const struct set_profile *set, FILE *file,
			      const char *new)
{
	static struct set_rules before, ours, wanted;
	struct cairn_profile_choice choice;
	int err;

	before.num = 0;
	wanted.num = 0;
	if (!cairn_profile_choice_open(&choice, ctx->device)) {
		set_rules_recorded(&before, choice.file);
		cairn_profile_choice_close(&choice);
	}
	/* the device has just gone */
	if (!choice.path[0])
		return ENODEV;
	if (set)
		set_rules_wanted(&wanted, &set->profile);
	ours = before;
	err = set_rules_swap(ctx, &ours, &wanted);
	if (err)
		return err;
	err = set_profile_publish(set, file, new, choice.path, &ours);
	if (err)
		set_rules_swap(ctx, &ours, &before);
	return err;
}

/* The file shows beforehand that the directory can be written. */
static int set_profile_replace(struct ibv_context *ctx, const struct set_profile *set)
{
	char new[] = CAIRN_PROFILE_CHOICES "/.XXXXXX";
	int fd = mkostemp(new, O_CLOEXEC), err;
	FILE *file;

	if (fd < 0)
		return errno;
	file = fdopen(fd, "w");
	if (file) {
		err = set_profile_choose(ctx, set, file, new);
		fclose(file);
	} else {
		err = errno;
		close(fd);
	}
	if (err || !set)
		unlink(new);
	return err;
}

int set_profile(struct ibv_context *ctx, const char *name)
{
	static struct set_profile set;
	const bool none = !strcmp(name, "none");
	int err = none ? 0 : set_profile_load(&set, name), dir;

	if (err)
		return err;
	dir = set_profile_lock();
	if (dir < 0)
		return errno;
	err = set_profile_replace(ctx, none ? NULL : &set);
	close(dir);
	return err;
}

void set_profile_show(struct ibv_context *ctx, FILE *out)
{
	struct cairn_profile_choice choice;

	if (cairn_profile_choice_open(&choice, ctx->device)) {
		fputs("none", out);
		return;
	}
	fputs(choice.name, out);
	cairn_profile_choice_close(&choice);
}
