// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Change the settings of a cairn device, and show them:
 *
 *   cairn_set DEVICE [SETTING=VALUE]...
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/cairndv.h>

#include "set_profile.h"

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

static int set_idle_time(struct ibv_context *ctx, const char *value)
{
	unsigned long us;
	char *end;

	if (!strcmp(value, "default"))
		return cairndv_set_idle_time(ctx, CAIRNDV_IDLE_DEFAULT);
	if (*value < '0' || *value > '9')
		return EINVAL;
	us = strtoul(value, &end, 10);
	if (*end || us > CAIRNDV_IDLE_MAX)
		return EINVAL;
	return cairndv_set_idle_time(ctx, (uint32_t)us);
}

/* The number of a name; -1: it is none of these. */
static int number_of(const char *value, const char * const *names, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!strcmp(value, names[i]))
			return (int)i;
	}
	return -1;
}

static int set_loopback(struct ibv_context *ctx, const char *value)
{
	int mode = number_of(value, loopback_names, LOOPBACK_NAMES);

	return mode < 0 ? EINVAL : cairndv_set_loopback(ctx, (enum cairndv_loopback)mode);
}

static int set_fabric(struct ibv_context *ctx, const char *value)
{
	return cairndv_set_fabric(ctx, value);
}

static int set_capture(struct ibv_context *ctx, const char *value)
{
	int mode = number_of(value, capture_names, CAPTURE_NAMES);

	return mode < 0 ? EINVAL : cairndv_set_capture(ctx, (enum cairndv_capture)mode);
}

static int set_persistent(struct ibv_context *ctx, const char *value)
{
	int mode = number_of(value, persistent_names, PERSISTENT_NAMES);

	return mode < 0 ? EINVAL :
			  cairndv_set_persistent(ctx, (enum cairndv_persistent)mode);
}

static int set_cc(struct ibv_context *ctx, const char *value)
{
	struct cairndv_cc_attr attr = {};
	int err;

	if (strcmp(value, "on") && strcmp(value, "off"))
		return EINVAL;
	err = cairndv_query_cc(ctx, &attr, sizeof(attr));
	if (err)
		return err;
	attr.enabled = !strcmp(value, "on");
	return cairndv_modify_cc(ctx, &attr, sizeof(attr));
}

static const struct setting {
	const char *name;
	int (*set)(struct ibv_context *ctx, const char *value);
} settings[] = {
	{ "idle-time", set_idle_time },
	{ "loopback", set_loopback },
	{ "fabric", set_fabric },
	{ "capture", set_capture },
	{ "persistent", set_persistent },
	{ "congestion-control", set_cc },
	{ "profile", set_profile },
};

#define SETTINGS	(sizeof(settings) / sizeof(settings[0]))

/* "NAME=VALUE", or "NAME" and "VALUE". *@words: how many of @args were used. */
static int set_one(struct ibv_context *ctx, char **args, unsigned int *words)
{
	const char *value = args[1];
	size_t length;
	unsigned int i;

	*words = 1;
	for (i = 0; i < SETTINGS; i++) {
		length = strlen(settings[i].name);
		if (strncmp(args[0], settings[i].name, length))
			continue;
		if (args[0][length] == '=')
			return settings[i].set(ctx, args[0] + length + 1);
		/* the next setting is no value */
		if (args[0][length] || !value || strchr(value, '='))
			return EINVAL;
		*words = 2;
		return settings[i].set(ctx, value);
	}
	return EINVAL;
}

static int set_all(struct ibv_context *ctx, char **args)
{
	unsigned int words;
	int err, failed = 0;

	for (; *args; args += words) {
		err = set_one(ctx, args, &words);
		if (!err)
			continue;
		fprintf(stderr, "cairn_set: %s%s%s: %s\n", args[0],
			words == 2 ? " " : "", words == 2 ? args[1] : "",
			strerror(err));
		failed = 1;
	}
	return failed;
}

static int show(struct ibv_context *ctx)
{
	struct cairndv_device_attr dev = {};
	struct cairndv_cc_attr cc = {};
	int err;

	err = cairndv_query_device(ctx, &dev, sizeof(dev));
	if (!err)
		err = cairndv_query_cc(ctx, &cc, sizeof(cc));
	if (err) {
		fprintf(stderr, "cairn_set: %s\n", strerror(err));
		return 1;
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
	return 0;
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

int main(int argc, char **argv)
{
	struct ibv_context *ctx;
	int failed;

	if (argc < 2 || argv[1][0] == '-') {
		fprintf(stderr,
			"usage: cairn_set DEVICE [idle-time=MICROSECONDS|default] [loopback=self|off|host] [fabric=NAME] [capture=yield|keep] [persistent=declared|auto] [congestion-control=on|off] [profile=NAME|FILE|none]\n");
		return 2;
	}
	/* whatever limits the device has for others */
	setenv("CAIRN_PROFILE", "", 1);
	ctx = open_device(argv[1]);
	if (!ctx)
		return 1;
	failed = set_all(ctx, argv + 2);
	failed |= show(ctx);
	ibv_close_device(ctx);
	return failed;
}
