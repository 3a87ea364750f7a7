// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Change the settings of a cairn device, and show them:
 *
 *   cairn_set DEVICE [SETTING=VALUE]...
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/cairndv.h>

#include "set_profile.h"
#include "wants_help.h"

static const char * const loopback_names[] = {
	[CAIRNDV_LOOPBACK_SELF] = "self",
	[CAIRNDV_LOOPBACK_OFF] = "off",
	[CAIRNDV_LOOPBACK_HOST] = "host",
};

static const char * const capture_names[] = {
	[CAIRNDV_CAPTURE_YIELD] = "yield",
	[CAIRNDV_CAPTURE_KEEP] = "keep",
};

static const char * const persistent_names[] = {
	[CAIRNDV_PERSISTENT_DECLARED] = "declared",
	[CAIRNDV_PERSISTENT_AUTO] = "auto",
};

#define LOOPBACK_NAMES	(sizeof(loopback_names) / sizeof(loopback_names[0]))
#define CAPTURE_NAMES	(sizeof(capture_names) / sizeof(capture_names[0]))
#define PERSISTENT_NAMES	(sizeof(persistent_names) / sizeof(persistent_names[0]))

/* A setting that the command line has, and its value. */
struct wish {
	const struct setting *setting;
	const char *value;
	uint32_t number;	/* the value, if it is one or an enumerator */
};

struct setting {
	const char *name;
	const char *want;	/* what the value may be */
	bool (*read)(struct wish *wish);	/* NULL: whatever set() takes */
	int (*set)(struct ibv_context *ctx, const struct wish *wish);
};

static bool read_idle_time(struct wish *wish)
{
	unsigned long us;
	char *end;

	if (!strcmp(wish->value, "default")) {
		wish->number = CAIRNDV_IDLE_DEFAULT;
		return true;
	}
	us = strtoul(wish->value, &end, 10);
	wish->number = (uint32_t)us;
	return *wish->value >= '0' && *wish->value <= '9' && !*end && us <= CAIRNDV_IDLE_MAX;
}

static int set_idle_time(struct ibv_context *ctx, const struct wish *wish)
{
	return cairndv_set_idle_time(ctx, wish->number);
}

/* The number is that of the name. */
static bool read_name(struct wish *wish, const char * const *names, unsigned int n)
{
	for (wish->number = 0; wish->number < n; wish->number++)
		if (!strcmp(wish->value, names[wish->number]))
			return true;
	return false;
}

static bool read_loopback(struct wish *wish)
{
	return read_name(wish, loopback_names, LOOPBACK_NAMES);
}

static int set_loopback(struct ibv_context *ctx, const struct wish *wish)
{
	return cairndv_set_loopback(ctx, (enum cairndv_loopback)wish->number);
}

static int set_fabric(struct ibv_context *ctx, const struct wish *wish)
{
	return cairndv_set_fabric(ctx, wish->value);
}

static bool read_capture(struct wish *wish)
{
	return read_name(wish, capture_names, CAPTURE_NAMES);
}

static int set_capture(struct ibv_context *ctx, const struct wish *wish)
{
	return cairndv_set_capture(ctx, (enum cairndv_capture)wish->number);
}

static bool read_persistent(struct wish *wish)
{
	return read_name(wish, persistent_names, PERSISTENT_NAMES);
}

static int set_persistent(struct ibv_context *ctx, const struct wish *wish)
{
	return cairndv_set_persistent(ctx, (enum cairndv_persistent)wish->number);
}

static bool read_cc(struct wish *wish)
{
	static const char * const names[] = { "off", "on" };

	return read_name(wish, names, 2);
}

static int set_cc(struct ibv_context *ctx, const struct wish *wish)
{
	struct cairndv_cc_attr attr = {};
	int err;

	err = cairndv_query_cc(ctx, &attr, sizeof(attr));
	if (err)
		return err;
	attr.enabled = wish->number;
	return cairndv_modify_cc(ctx, &attr, sizeof(attr));
}

static int set_wished_profile(struct ibv_context *ctx, const struct wish *wish)
{
	return set_profile(ctx, wish->value);
}

static const struct setting settings[] = {
	{ "idle-time", "0 to 1000000 microseconds, or default", read_idle_time, set_idle_time },
	{ "loopback", "self, off or host", read_loopback, set_loopback },
	{ "fabric", "a name of at most 15 letters, digits, dots, underscores and hyphens, or nothing",
	  NULL, set_fabric },
	{ "capture", "yield or keep", read_capture, set_capture },
	{ "persistent", "declared or auto", read_persistent, set_persistent },
	{ "congestion-control", "on or off", read_cc, set_cc },
	{ "profile", "a profile of cairn_profile(7), a file, or none", NULL, set_wished_profile },
};

#define SETTINGS	(sizeof(settings) / sizeof(settings[0]))

static void refuse_value(const struct wish *wish)
{
	fprintf(stderr, "cairn_set: %s%s%s: want %s\n", wish->setting->name,
		wish->value ? "=" : "", wish->value ? wish->value : "", wish->setting->want);
}

static void refuse_name(const char *arg)
{
	fprintf(stderr, "cairn_set: %s: there is no such setting, but", arg);
	for (unsigned int i = 0; i < SETTINGS; i++)
		fprintf(stderr, "%s %s", i ? "," : "", settings[i].name);
	fprintf(stderr, ": see cairn_set(1)\n");
}

/* "NAME=VALUE", or "NAME" and "VALUE". *@words: how many of @args were used. Return: whether
 * there is such a wish.
 */
static bool read_wish(struct wish *wish, char **args, unsigned int *words)
{
	const size_t length = strcspn(args[0], "=");
	const struct setting *setting = settings;

	*words = 1;
	while (setting < settings + SETTINGS &&
	       (strlen(setting->name) != length || strncmp(args[0], setting->name, length)))
		setting++;
	if (setting == settings + SETTINGS) {
		refuse_name(args[0]);
		return false;
	}
	*wish = (struct wish){ .setting = setting };
	if (args[0][length]) {
		wish->value = args[0] + length + 1;
	} else if (args[1] && !strchr(args[1], '=')) {	/* the next setting is no value */
		wish->value = args[1];
		*words = 2;
	}
	if (wish->value && (!setting->read || setting->read(wish)))
		return true;
	refuse_value(wish);
	return false;
}

/* Return: how many of @wishes there are. Wrong arguments are left out. */
static unsigned int read_wishes(struct wish *wishes, char **args, bool *failed)
{
	unsigned int words, num = 0;

	for (; *args; args += words) {
		if (read_wish(&wishes[num], args, &words))
			num++;
		else
			*failed = true;
	}
	return num;
}

static bool set_all(struct ibv_context *ctx, const struct wish *wishes, unsigned int num)
{
	bool failed = false;
	int err;

	for (; num--; wishes++) {
		err = wishes->setting->set(ctx, wishes);
		if (!err)
			continue;
		if (err == EINVAL)
			refuse_value(wishes);
		else
			fprintf(stderr, "cairn_set: %s=%s: %s\n", wishes->setting->name,
				wishes->value, strerror(err));
		failed = true;
	}
	return failed;
}

static bool show(struct ibv_context *ctx)
{
	struct cairndv_device_attr dev = {};
	struct cairndv_cc_attr cc = {};
	int err;

	err = cairndv_query_device(ctx, &dev, sizeof(dev));
	if (!err)
		err = cairndv_query_cc(ctx, &cc, sizeof(cc));
	if (err) {
		fprintf(stderr, "cairn_set: %s\n", strerror(err));
		return true;
	}
	printf("idle-time=%u\nloopback=%s\nfabric=%.16s\ncapture=%s\npersistent=%s\ncongestion-control=%s\nprofile=",
	       dev.idle_us,
	       dev.loopback < LOOPBACK_NAMES ? loopback_names[dev.loopback] : "?",
	       dev.fabric,
	       dev.capture < CAPTURE_NAMES ? capture_names[dev.capture] : "?",
	       dev.persistent < PERSISTENT_NAMES ? persistent_names[dev.persistent] : "?",
	       cc.enabled ? "on" : "off");
	set_profile_show(ctx, stdout);
	putchar('\n');
	if (!fflush(stdout) && !ferror(stdout))
		return false;
	fprintf(stderr, "cairn_set: output: %s\n", strerror(EIO));
	return true;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	unsigned int i;

	for (i = 0; list && list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name))
			continue;
		if (!cairndv_is_supported(list[i])) {
			fprintf(stderr, "cairn_set: %s is no cairn device\n", name);
			goto out;
		}
		ctx = ibv_open_device(list[i]);
		if (!ctx)
			fprintf(stderr, "cairn_set: cannot open %s: %s\n", name,
				strerror(errno));
		goto out;
	}
	fprintf(stderr, "cairn_set: there is no device %s\n", name);
out:
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

static int set_usage(FILE *to)
{
	fprintf(to,
		"usage: cairn_set DEVICE [SETTING=VALUE]...\n"
		"  idle-time=MICROSECONDS|default\n"
		"  loopback=self|off|host\n"
		"  fabric=NAME\n"
		"  capture=yield|keep\n"
		"  persistent=declared|auto\n"
		"  congestion-control=on|off\n"
		"  profile=NAME|FILE|none\n");
	return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx;
	struct wish *wishes;
	unsigned int num;
	bool failed = false;

	if (wants_help(argc, argv))
		return set_usage(stdout);
	if (argc < 2 || argv[1][0] == '-')
		return set_usage(stderr);
	wishes = calloc((size_t)argc, sizeof(*wishes));
	if (!wishes)
		return 1;
	num = read_wishes(wishes, argv + 2, &failed);
	/* whatever limits the device has for others */
	setenv("CAIRN_PROFILE", "", 1);
	ctx = open_device(argv[1]);
	if (ctx) {
		failed |= set_all(ctx, wishes, num);
		failed |= show(ctx);
		ibv_close_device(ctx);
	}
	free(wishes);
	return failed || !ctx;
}
