// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

const struct cairn_text_name *cairn_text_find(const struct cairn_text_name *names,
					      const char *name)
{
	while (names->name && strcmp(names->name, name))
		names++;
	return names->name ? names : NULL;
}

const char *cairn_text_name(const struct cairn_text_name *names, int value)
{
	while (names->name && names->value != value)
		names++;
	return names->name ? names->name : "?";
}

bool cairn_text_number(const char *text, int base, uint64_t max, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, base);
	return !errno && !*end && *number <= max;
}

bool cairn_text_time(const char *text, uint64_t most_us, uint32_t *us)
{
	static const struct cairn_text_name units[] = {
		{ "", 1 }, { "us", 1 }, { "ms", 1000 }, { "s", 1000000 }, {}
	};
	const struct cairn_text_name *unit;
	uint64_t number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	unit = cairn_text_find(units, end);
	if (*text < '0' || *text > '9' || errno || !unit || !number ||
	    number > most_us / (uint64_t)unit->value)
		return false;
	*us = (uint32_t)(number * (uint64_t)unit->value);
	return true;
}

bool cairn_text_chance(const char *text, double *chance)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *end;

	if (!plain)
		return false;
	*chance = strtod_l(text, &end, plain);
	freelocale(plain);
	return end != text && !*end && *chance >= 0 && *chance <= 1;
}
