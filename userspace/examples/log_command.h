/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Parts that the commands cairn_log, cairn_chain and cairn_pgwal share. */
#ifndef LOG_COMMAND_H
#define LOG_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_cma.h>

/* Reports @what and the errno @err on standard error. Return: @err */
int log_command_fail(const char *what, int err);

/* Reports why log_medium_open() of @memory failed with @err. Return: @err */
int log_command_medium(const char *memory, int err);

/* Return: @err; EIO, reported, where the standard output did not take everything. */
int log_command_end(int err);

/* A decimal, octal or hexadecimal number; false for anything else. */
bool log_command_number(const char *text, uint64_t *value);

/*
 * Says what the option of @letter wants instead of @text. "-n 1x: want 1 to 4".
 * Return: false
 */
bool log_command_refuse(int letter, const char *text, const char *want);
/* As log_command_number(), for an option: any other number than @least to @most is refused. */
bool log_command_option(int letter, const char *text, uint64_t least, uint64_t most,
			uint64_t *value);
/* A decimal number of 1 to 65535: what else getaddrinfo(3) takes is none for a listener. */
bool log_command_is_port(const char *text);
/* For -p: anything else is refused. */
bool log_command_port(const char *text, const char **port);

/* Keep the number of durable records in @file, for a check after a crash. 0 or errno. */
int log_command_note(const char *file, uint64_t durable);

/*
 * Listen at a port, a number of 1 to 65535, of all IPv4 addresses.
 * Return: 0; an errno: what was made is left in @events and @listener.
 */
int log_command_listen(const char *port, struct rdma_event_channel **events,
		       struct rdma_cm_id **listener);

#endif /* LOG_COMMAND_H */
