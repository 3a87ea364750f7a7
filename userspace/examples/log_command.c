// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log_command.h"
#include "log_format.h"

#define LISTEN_BACKLOG	4

int log_command_fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(err));
	return err;
}

int log_command_medium(const char *memory, int err)
{
	const char *program = program_invocation_short_name;

	if (err == EBUSY)
		fprintf(stderr, "%s: %s: another %s writes it\n", program, memory, program);
	else if (err == EINVAL)
		fprintf(stderr, "%s: %s: want %u bytes or more, in a file or a device-DAX device\n",
			program, memory, LOG_MIN_SIZE);
	else
		log_command_fail(memory, err);
	return err;
}

int log_command_end(int err)
{
	if (fflush(stdout) || ferror(stdout))
		log_command_fail("output", EIO);
	else
		return err;
	return err ? err : EIO;
}

bool log_command_number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

bool log_command_refuse(int letter, const char *text, const char *want)
{
	fprintf(stderr, "%s: -%c %s: want %s\n", program_invocation_short_name, letter, text,
		want);
	return false;
}

bool log_command_option(int letter, const char *text, uint64_t least, uint64_t most,
			uint64_t *value)
{
	char want[64];

	if (log_command_number(text, value) && *value >= least && *value <= most)
		return true;
	snprintf(want, sizeof(want), "%" PRIu64 " to %" PRIu64, least, most);
	return log_command_refuse(letter, text, want);
}

bool log_command_is_port(const char *text)
{
	uint64_t number;

	return *text != '0' && !text[strspn(text, "0123456789")] &&
	       log_command_number(text, &number) && number <= UINT16_MAX;
}

bool log_command_port(const char *text, const char **port)
{
	*port = text;
	return log_command_is_port(text) || log_command_refuse('p', text, "1 to 65535");
}

int log_command_note(const char *file, uint64_t durable)
{
	int fd, length, err = 0;
	char text[32];
	ssize_t n;

	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	length = snprintf(text, sizeof(text), "%20" PRIu64 "\n", durable);
	n = pwrite(fd, text, (size_t)length, 0);
	if (n != length)
		err = n < 0 ? errno : EIO;
	if (close(fd) && !err)
		err = errno;
	return err;
}

int log_command_listen(const char *port, struct rdma_event_channel **events,
		       struct rdma_cm_id **listener)
{
	struct sockaddr_in any = { .sin_family = AF_INET };

	if (!log_command_is_port(port))
		return EINVAL;
	any.sin_port = htons((uint16_t)atoi(port));
	*events = rdma_create_event_channel();
	if (!*events || rdma_create_id(*events, listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(*listener, (struct sockaddr *)&any) ||
	    rdma_listen(*listener, LISTEN_BACKLOG))
		return errno;
	return 0;
}
