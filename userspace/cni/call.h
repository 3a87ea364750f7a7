/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef CALL_H
#define CALL_H

#include <json-c/json.h>

enum call_command {
	CALL_ADD,
	CALL_DEL,
	CALL_CHECK,
	CALL_GC,
	CALL_STATUS,
	CALL_VERSION,
};

#define CALL_FABRIC_MAX	15

/* One call of the runtime. Strings that it did not give are NULL. */
struct call {
	enum call_command command;
	const char *container;
	const char *netns;
	const char *ifname;
	const char *network;
	const char *fabric;
	json_object *config;
};

/* The versions of the specification that are served */
extern const char * const call_versions[];

/* Read the environment and stdin. A call that is not valid ends the process with an error. */
void call_read(struct call *call);

/* The result of the plugins before this one; without it the process ends with an error. */
json_object *call_prev_result(const struct call *call);

#endif
