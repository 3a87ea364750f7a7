// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prints errors and results for the runtime.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "reply.h"

static const char *reply_spec = "1.1.0";

void reply_version(const char *version)
{
	reply_spec = version;
}

static void reply_print(json_object *object)
{
	json_object_object_add(object, "cniVersion", json_object_new_string(reply_spec));
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	/* a runtime that reads half of it must not take it for success */
	if (fflush(stdout) || ferror(stdout))
		exit(1);
}

/* A name may have any bytes, and a long text ends within a character: JSON is UTF-8. */
static void reply_clean(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text >= 0x80)
			*text = '?';
	}
}

void reply_error(enum reply_code code, const char *format, ...)
{
	json_object *error = json_object_new_object();
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	reply_clean(text);
	json_object_object_add(error, "code", json_object_new_int(code));
	json_object_object_add(error, "msg", json_object_new_string(text));
	reply_print(error);
	exit(1);
}

void reply_result(json_object *result)
{
	reply_print(result);
}
