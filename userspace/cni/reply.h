/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef REPLY_H
#define REPLY_H

#include <json-c/json.h>

/* Codes of errors: those below 100 are the specification's, the others are of this plugin. */
enum reply_code {
	REPLY_VERSION = 1,	/* the version of the configuration is not supported */
	REPLY_ENVIRONMENT = 4,	/* a variable of the environment is wrong or missing */
	REPLY_IO = 5,		/* the configuration cannot be read */
	REPLY_DECODE = 6,	/* it is no JSON */
	REPLY_CONFIG = 7,	/* it lacks something */
	REPLY_UNAVAILABLE = 50,	/* STATUS: no ADD would succeed */
	REPLY_MODULE = 100,	/* a module of the kernel is missing */
	REPLY_PERMISSION = 101,	/* this process may not make links */
	REPLY_LINK = 102,	/* the kernel refuses a link or its removal */
	REPLY_CHECK = 103,	/* CHECK: the device is not as ADD left it */
};

/* The version of the specification in replies: that of the configuration, once it is known */
void reply_version(const char *version);

/* Print an error and end the process with status 1. The text says what to do. */
_Noreturn void reply_error(enum reply_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print a result, which gets the version of the specification. */
void reply_result(json_object *result);

#endif
