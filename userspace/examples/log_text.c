// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log_format.h"
#include "log_text.h"

void log_text_fill(void *data, uint32_t length, uint64_t number)
{
	char text[32];
	size_t bytes;

	snprintf(text, sizeof(text), "record %" PRIu64, number);
	bytes = strlen(text) + 1;
	memset(data, 'a' + (int)(number % 26), length);
	memcpy(data, text, bytes < length ? bytes : length);
}

bool log_text_matches(const void *data, uint32_t length, uint64_t number)
{
	char want[LOG_MAX_RECORD];

	log_text_fill(want, length, number);
	return !memcmp(data, want, length);
}
