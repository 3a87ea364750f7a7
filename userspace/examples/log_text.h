/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The contents that "cairn_log append" writes and "cairn_log verify" checks. */
#ifndef LOG_TEXT_H
#define LOG_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* Any length, up to that of a record: a short one has the beginning of the text. */
void log_text_fill(void *data, uint32_t length, uint64_t number);
bool log_text_matches(const void *data, uint32_t length, uint64_t number);

#endif /* LOG_TEXT_H */
