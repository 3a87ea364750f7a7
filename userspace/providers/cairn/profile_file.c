// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <rdma/cairn-abi.h>

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

static bool profile_file_set_max_mr_size(struct cairn_profile *read, char *text)
{
	return cairn_text_number(text, 0, UINT64_MAX, &read->attr.max_mr_size);
}

static bool profile_file_set_max_inline(struct cairn_profile *read, char *text)
{
	return cairn_text_number(text, 0, UINT32_MAX, &read->max_inline);
}

static bool profile_file_set_max_mtu(struct cairn_profile *read, char *text)
{
	return cairn_text_number(text, 0, 4096, &read->max_mtu) && read->max_mtu >= 256 &&
	       !(read->max_mtu & (read->max_mtu - 1));
}

/* A program that uses a second P_Key there would fail here. */
static bool profile_file_set_max_pkeys(struct cairn_profile *read, char *text)
{
	(void)read;
	return !strcmp(text, "1");
}

static bool profile_file_set_atomics(struct cairn_profile *read, char *text)
{
	return read->no_atomics = !strcmp(text, "none");
}

static bool profile_file_set_odp(struct cairn_profile *read, char *text)
{
	return read->no_odp = !strcmp(text, "none");
}

static bool profile_file_set_qp_bandwidth(struct cairn_profile *read, char *text)
{
	static const struct cairn_text_name units[] = {
		{ "kbit", 1 }, { "mbit", 1000 }, { "gbit", 1000000 }, {}
	};
	size_t digits = strspn(text, "0123456789");
	const struct cairn_text_name *unit = cairn_text_find(units, text + digits);
	uint64_t number;

	if (!unit)
		return false;
	text[digits] = '\0';
	if (!cairn_text_number(text, 10, CAIRN_MAX_RATE_LIMIT / (uint64_t)unit->value, &number))
		return false;
	read->qp_kbps = (uint32_t)number * (uint32_t)unit->value;
	return number;
}

/* An answer may have both, and a rule has one. */
#define PROFILE_FILE_MAX_DELAY	(CAIRN_FAULT_MAX_DELAY / 2)

static bool profile_file_set_latency(struct cairn_profile *read, char *text)
{
	return cairn_text_time(text, PROFILE_FILE_MAX_DELAY, &read->latency_us);
}

static bool profile_file_set_ack_delay(struct cairn_profile *read, char *text)
{
	return cairn_text_time(text, PROFILE_FILE_MAX_DELAY, &read->ack_delay_us);
}

/* 0.000000001 to 0.999999999. No strtod(): the locale is that of the process. */
static bool profile_file_set_loss(struct cairn_profile *read, char *text)
{
	size_t digits = strlen(text);

	if (strncmp(text, "0.", 2) || digits > 11 || strspn(text + 2, "0123456789") != digits - 2 ||
	    strspn(text, "0.") == digits)
		return false;
	strcpy(read->loss, text);
	return true;
}

/* The names that are not those of cairn_profile_limits. */
static const struct profile_file_word {
	const char *name;
	bool (*set)(struct cairn_profile *read, char *text);
} profile_file_words[] = {
	{ "ack_delay", profile_file_set_ack_delay },
	{ "atomics", profile_file_set_atomics },
	{ "latency", profile_file_set_latency },
	{ "loss", profile_file_set_loss },
	{ "max_inline_data", profile_file_set_max_inline },
	{ "max_mr_size", profile_file_set_max_mr_size },
	{ "max_mtu", profile_file_set_max_mtu },
	{ "max_pkeys", profile_file_set_max_pkeys },
	{ "odp", profile_file_set_odp },
	{ "qp_bandwidth", profile_file_set_qp_bandwidth },
	{ "transports", profile_file_set_transports },
	{}
};

/* Return: whether the value is right; *@known says whether the name is. */
static bool profile_file_set(struct cairn_profile *read, const char *name, char *value,
			     bool *known)
{
	const struct profile_file_word *word = profile_file_words;
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
	while (word->name && strcmp(word->name, name))
		word++;
	*known = word->name;
	return word->name && word->set(read, value);
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
