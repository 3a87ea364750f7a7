// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads what the runtime asks for: environment and configuration.
 */
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "reply.h"

#define CALL_MAX_CONFIG	(4 << 20)

const char * const call_versions[] = { "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0", NULL };

/* which variables a command needs, and since which version of the specification it is there */
static const struct call_rule {
	const char *name;
	unsigned int since;	/* index into call_versions */
	bool attachment;	/* of one container's interface */
	bool netns;
} call_rules[] = {
	[CALL_ADD] = { "ADD", 0, true, true },
	[CALL_DEL] = { "DEL", 0, true, false },
	[CALL_CHECK] = { "CHECK", 2, true, true },
	[CALL_GC] = { "GC", 4, false, false },
	[CALL_STATUS] = { "STATUS", 4, false, false },
	[CALL_VERSION] = { "VERSION", 0, false, false },
};

#define CALL_RULES	(sizeof(call_rules) / sizeof(call_rules[0]))

static const char *call_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static enum call_command call_command(void)
{
	const char *name = call_variable("CNI_COMMAND");
	unsigned int i;

	if (!name)
		reply_error(REPLY_ENVIRONMENT,
			    "CNI_COMMAND is not set: a container runtime calls this plugin; see cairn-cni(8)");
	for (i = 0; i < CALL_RULES; i++) {
		if (!strcmp(name, call_rules[i].name))
			return i;
	}
	reply_error(REPLY_ENVIRONMENT,
		    "CNI_COMMAND is '%.64s': use ADD, DEL, CHECK, GC, STATUS or VERSION", name);
}

static bool call_is_word(const char *id)
{
	if (!isalnum((unsigned char)*id))
		return false;
	for (; *id; id++) {
		if (!isalnum((unsigned char)*id) && !strchr("_.-", *id))
			return false;
	}
	return true;
}

static bool call_is_ifname(const char *name)
{
	if (strlen(name) >= IFNAMSIZ || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (; *name; name++) {
		if (*name == '/' || *name == ':' || isspace((unsigned char)*name))
			return false;
	}
	return true;
}

static void call_read_environment(struct call *call)
{
	const struct call_rule *rule = &call_rules[call->command];

	call->netns = call_variable("CNI_NETNS");
	if (rule->netns && !call->netns)
		reply_error(REPLY_ENVIRONMENT, "CNI_NETNS is not set: the runtime must set it for %s",
			    rule->name);
	if (!rule->attachment)
		return;
	call->container = call_variable("CNI_CONTAINERID");
	if (!call->container || !call_is_word(call->container))
		reply_error(REPLY_ENVIRONMENT,
			    "CNI_CONTAINERID is '%.64s': use letters, digits, '.', '_' and '-', the first a letter or a digit",
			    call->container ?: "");
	call->ifname = call_variable("CNI_IFNAME");
	if (!call->ifname || !call_is_ifname(call->ifname))
		reply_error(REPLY_ENVIRONMENT,
			    "CNI_IFNAME is '%.64s': use 1 to 15 characters, without '/', ':' and spaces",
			    call->ifname ?: "");
}

static char *call_read_stdin(size_t *length)
{
	char *text = malloc(CALL_MAX_CONFIG);
	ssize_t got;

	if (!text)
		reply_error(REPLY_IO, "no memory for the configuration");
	*length = 0;
	while ((got = read(STDIN_FILENO, text + *length, CALL_MAX_CONFIG - *length)) != 0) {
		if (got > 0)
			*length += (size_t)got;
		else if (errno != EINTR)
			reply_error(REPLY_IO, "the configuration on stdin cannot be read: %s",
				    strerror(errno));
		if (*length == CALL_MAX_CONFIG)
			reply_error(REPLY_IO,
				    "the configuration on stdin has 4 MiB or more: make it smaller");
	}
	return text;
}

static json_object *call_parse(const char *text, size_t length)
{
	struct json_tokener *tokener = json_tokener_new();
	json_object *config;

	if (!tokener)
		reply_error(REPLY_IO, "no memory for the configuration");
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	config = json_tokener_parse_ex(tokener, text, (int)length);
	if (json_tokener_get_error(tokener) == json_tokener_continue)
		reply_error(REPLY_DECODE,
			    "the configuration on stdin ends too early: check the file in /etc/cni/net.d");
	if (json_tokener_get_error(tokener) != json_tokener_success)
		reply_error(REPLY_DECODE,
			    "the configuration on stdin is no JSON, %s at byte %zu: check the file in /etc/cni/net.d",
			    json_tokener_error_desc(json_tokener_get_error(tokener)),
			    json_tokener_get_parse_end(tokener));
	json_tokener_free(tokener);
	if (!json_object_is_type(config, json_type_object))
		reply_error(REPLY_DECODE,
			    "the configuration on stdin is JSON, but no object: check the file in /etc/cni/net.d");
	return config;
}

/* a member that is a string and not empty, or NULL */
static const char *call_string(json_object *config, const char *name)
{
	json_object *value;

	if (!json_object_object_get_ex(config, name, &value) ||
	    !json_object_is_type(value, json_type_string) || !json_object_get_string_len(value))
		return NULL;
	return json_object_get_string(value);
}

static unsigned int call_version(const char *version)
{
	unsigned int i;

	for (i = 0; version && call_versions[i]; i++) {
		if (!strcmp(version, call_versions[i]))
			return i;
	}
	reply_error(REPLY_VERSION,
		    "the configuration has cniVersion '%.64s': use 0.3.0, 0.3.1, 0.4.0, 1.0.0 or 1.1.0",
		    version ?: "");
}

static void call_read_fabric(struct call *call)
{
	json_object *value = NULL;
	size_t length;

	if (!json_object_object_get_ex(call->config, "fabric", &value))
		return;
	call->fabric = call_string(call->config, "fabric") ?: "";
	length = strlen(call->fabric);
	if (!length || length > CALL_FABRIC_MAX || length != (size_t)json_object_get_string_len(value) ||
	    !call_is_word(call->fabric))
		reply_error(REPLY_CONFIG,
			    "fabric must be a name of 1 to %d letters, digits, '.', '_' and '-'",
			    CALL_FABRIC_MAX);
}

static void call_read_config(struct call *call)
{
	const struct call_rule *rule = &call_rules[call->command];
	const char *version = call_string(call->config, "cniVersion");
	unsigned int index = call_version(version);

	reply_version(version);
	if (index < rule->since)
		reply_error(REPLY_VERSION,
			    "%s needs cniVersion %s or later, the configuration has %s: change it in /etc/cni/net.d",
			    rule->name, call_versions[rule->since], version);
	call->network = call_string(call->config, "name");
	if (!call->network)
		reply_error(REPLY_CONFIG,
			    "the configuration has no name of the network: add \"name\" in /etc/cni/net.d");
	/* DEL must succeed where ADD refused the configuration */
	if (call->command == CALL_ADD)
		call_read_fabric(call);
}

void call_read(struct call *call)
{
	size_t length;
	char *text;

	*call = (struct call){ .command = call_command() };
	call_read_environment(call);
	text = call_read_stdin(&length);
	/* by hand one asks for the version without a configuration */
	if (call->command == CALL_VERSION && !length)
		return;
	call->config = call_parse(text, length);
	free(text);
	if (call->command != CALL_VERSION)
		call_read_config(call);
	else if (call_string(call->config, "cniVersion"))
		reply_version(call_string(call->config, "cniVersion"));
}

json_object *call_prev_result(const struct call *call)
{
	json_object *result;

	if (!json_object_object_get_ex(call->config, "prevResult", &result) ||
	    !json_object_is_type(result, json_type_object))
		reply_error(REPLY_CONFIG,
			    "the configuration has no prevResult: put cairn-cni into \"plugins\" behind the plugin that makes the interface, as bridge");
	return result;
}
