// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "profile_file.h"
#include "text.h"

const struct cairn_profile_limit cairn_profile_limits[] = {
#define PROFILE_FILE_LIMIT(name, counted)				\
	{ #name, offsetof(struct ibv_device_attr, name), counted }
	PROFILE_FILE_LIMIT(max_ah, CAIRN_PROFILE_AH),
	PROFILE_FILE_LIMIT(max_cq, CAIRN_PROFILE_CQ),
	PROFILE_FILE_LIMIT(max_cqe, CAIRN_PROFILE_NONE),
	PROFILE_FILE_LIMIT(max_mr, CAIRN_PROFILE_MR),
	PROFILE_FILE_LIMIT(max_mw, CAIRN_PROFILE_MW),
	PROFILE_FILE_LIMIT(max_pd, CAIRN_PROFILE_PD),
	PROFILE_FILE_LIMIT(max_qp, CAIRN_PROFILE_QP),
	PROFILE_FILE_LIMIT(max_qp_init_rd_atom, CAIRN_PROFILE_NONE),
	PROFILE_FILE_LIMIT(max_qp_rd_atom, CAIRN_PROFILE_NONE),
	PROFILE_FILE_LIMIT(max_qp_wr, CAIRN_PROFILE_NONE),
	PROFILE_FILE_LIMIT(max_sge, CAIRN_PROFILE_NONE),
	PROFILE_FILE_LIMIT(max_sge_rd, CAIRN_PROFILE_NONE),
	PROFILE_FILE_LIMIT(max_srq, CAIRN_PROFILE_SRQ),
	PROFILE_FILE_LIMIT(max_srq_sge, CAIRN_PROFILE_NONE),
	PROFILE_FILE_LIMIT(max_srq_wr, CAIRN_PROFILE_NONE),
	{}
};

static const struct cairn_text_name profile_file_transports[] = {
	{ "rc", CAIRN_PROFILE_TRANSPORT(IBV_QPT_RC) },
	{ "uc", CAIRN_PROFILE_TRANSPORT(IBV_QPT_UC) },
	{ "ud", CAIRN_PROFILE_TRANSPORT(IBV_QPT_UD) },
	{ "xrc", CAIRN_PROFILE_XRC },
	{}
};

int cairn_profile_file_error(const char *path, int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "cairn-profile: %s", path);
	if (line)
		fprintf(stderr, ":%d", line);
	fputs(": ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EINVAL;
}

static bool profile_file_set_transports(struct cairn_profile *read, char *text)
{
	char *place, *word;

	read->transports = 0;
	for (word = strtok_r(text, ",", &place); word; word = strtok_r(NULL, ",", &place)) {
		const struct cairn_text_name *found = cairn_text_find(profile_file_transports, word);

		if (!found)
			return false;
		read->transports |= found->value;
	}
	return read->transports;
}

/* Return: whether the value is right; *@known says whether the name is. */
static bool profile_file_set(struct cairn_profile *read, const char *name, char *value,
			     bool *known)
{
	uint64_t number;

	*known = true;
	for (const struct cairn_profile_limit *limit = cairn_profile_limits; limit->name; limit++) {
		if (strcmp(name, limit->name))
			continue;
		if (!cairn_text_number(value, 0, INT_MAX, &number))
			return false;
		*cairn_profile_value(&read->attr, limit) = (int)number;
		return true;
	}
	if (!strcmp(name, "max_mr_size"))
		return cairn_text_number(value, 0, UINT64_MAX, &read->attr.max_mr_size);
	if (!strcmp(name, "max_inline_data"))
		return cairn_text_number(value, 0, UINT32_MAX, &read->max_inline);
	if (!strcmp(name, "max_mtu"))
		return cairn_text_number(value, 0, 4096, &read->max_mtu) &&
		       read->max_mtu >= 256 && !(read->max_mtu & (read->max_mtu - 1));
	if (!strcmp(name, "transports"))
		return profile_file_set_transports(read, value);
	if (!strcmp(name, "atomics"))
		return read->no_atomics = !strcmp(value, "none");
	if (!strcmp(name, "odp"))
		return read->no_odp = !strcmp(value, "none");
	*known = false;
	return false;
}

static struct cairn_profile profile_file_without_limits(void)
{
	struct cairn_profile read = {
		.attr.max_mr_size = UINT64_MAX, .max_inline = UINT64_MAX, .max_mtu = 4096,
		.transports = -1,
	};

	for (const struct cairn_profile_limit *limit = cairn_profile_limits; limit->name; limit++)
		*cairn_profile_value(&read.attr, limit) = INT_MAX;
	return read;
}

int cairn_profile_file_read(struct cairn_profile *profile, const char *path, FILE *file)
{
	struct cairn_profile read = profile_file_without_limits();
	char text[256];

	for (int line = 1; fgets(text, sizeof(text), file); line++) {
		char *place, *name, *value;
		bool known;

		if (!strchr(text, '\n') && !feof(file))
			return cairn_profile_file_error(path, line, "this line is too long");
		text[strcspn(text, "#\n")] = 0;
		name = strtok_r(text, " \t", &place);
		if (!name)
			continue;
		value = strtok_r(NULL, " \t", &place);
		if (!value || strtok_r(NULL, " \t", &place))
			return cairn_profile_file_error(path, line, "not a name and a value");
		if (!profile_file_set(&read, name, value, &known))
			return cairn_profile_file_error(path, line,
				known ? "%s: wrong value" :
					"%s is no limit: cairn_profile(7) has them", name);
	}
	if (ferror(file))
		return cairn_profile_file_error(path, 0, "cannot be read");
	*profile = read;
	return 0;
}

int cairn_profile_file_open(const char *name, char *path, FILE **file)
{
	int err;

	if (snprintf(path, PATH_MAX, strchr(name, '/') ? "%s" : CAIRN_PROFILES "/%s", name) >=
	    PATH_MAX)
		return cairn_profile_file_error(name, 0, "this name is too long");
	*file = fopen(path, "re");
	if (*file)
		return 0;
	err = errno;
	cairn_profile_file_error(path, 0, "%s", strerror(err));
	return err == ENOENT ? EINVAL : err;
}

int cairn_profile_file_load(struct cairn_profile *profile, const char *name)
{
	char path[PATH_MAX];
	FILE *file;
	int err = cairn_profile_file_open(name, path, &file);

	if (err)
		return err;
	err = cairn_profile_file_read(profile, path, file);
	fclose(file);
	return err;
}
