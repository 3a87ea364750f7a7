/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Words and numbers of rules and profiles. */
#ifndef CAIRN_TEXT_H
#define CAIRN_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* A table of these ends with an empty entry. */
struct cairn_text_name {
	const char *name;
	int value;
};

/* Return: the entry with this name, or NULL. */
const struct cairn_text_name *cairn_text_find(const struct cairn_text_name *names,
					      const char *name);
/* Return: the name of @value, or "?". */
const char *cairn_text_name(const struct cairn_text_name *names, int value);
/* Return: whether @text is a number of this base, at most @max, and nothing else. Base 0: as
 * in C.
 */
bool cairn_text_number(const char *text, int base, uint64_t max, uint64_t *number);
/* Return: whether @text is a time from 1 to @most_us (at most UINT32_MAX): a number of
 * microseconds, or one with the unit us, ms or s.
 */
bool cairn_text_time(const char *text, uint64_t most_us, uint32_t *us);
/* Return: whether @text is a number from 0 to 1 as in C, whatever the locale of the program. */
bool cairn_text_chance(const char *text, double *chance);

#endif /* CAIRN_TEXT_H */
