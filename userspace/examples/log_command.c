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

#define LISTEN_BACKLOG	4

int log_command_fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(err));
	return err;
}

bool log_command_number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

int log_command_note(const char *file, uint64_t durable)
{
	char text[32];
	int fd, err = 0;

	fd = open(file, O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		return errno;
	snprintf(text, sizeof(text), "%20" PRIu64 "\n", durable);
	if (pwrite(fd, text, strlen(text), 0) < 0)
		err = errno;
	close(fd);
	return err;
}

int log_command_listen(const char *port, struct rdma_event_channel **events,
		       struct rdma_cm_id **listener)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	uint64_t number;

	if (!log_command_number(port, &number) || !number || number > UINT16_MAX)
		return EINVAL;
	any.sin_port = htons((uint16_t)number);
	*events = rdma_create_event_channel();
	if (!*events || rdma_create_id(*events, listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(*listener, (struct sockaddr *)&any) ||
	    rdma_listen(*listener, LISTEN_BACKLOG))
		return errno;
	return 0;
}
