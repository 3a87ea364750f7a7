// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "log_command.h"
#include "log_domain.h"
#include "log_writer.h"

#define COPY_BYTES	(256u << 10)	/* at a time, to a target that is behind */

/* One more target: ADDRESS or ADDRESS,PORT. */
static bool log_writer_target(struct log_writer *writer, const char *name)
{
	int i = writer->session.num_peers;
	char *address, *port;

	if (i == LOG_MAX_TARGETS)
		return log_command_refuse('a', name, "fewer targets");
	address = strdup(name);
	if (!address)
		return false;
	port = strchr(address, ',');
	if (port)
		*port++ = '\0';
	if (port && !log_command_is_port(port))
		return log_command_refuse('a', name, "a port of 1 to 65535");
	writer->session.peers[i].name = name;
	writer->links[i].address = address;
	writer->links[i].port = port;
	writer->session.num_peers++;
	return true;
}

static bool log_writer_number(int option, const char *text, uint32_t least, uint32_t most,
			      uint32_t *value)
{
	uint64_t number;

	if (!log_command_option(option, text, least, most, &number))
		return false;
	*value = (uint32_t)number;
	return true;
}

bool log_writer_option(struct log_writer *writer, int option, const char *argument)
{
	struct log_session *session = &writer->session;

	switch (option) {
	case 'a':
		return log_writer_target(writer, argument);
	case 'c':
		session->flags |= LOG_ASK_CREATE;
		return true;
	case 'd':
		return log_writer_number(option, argument, 0, UINT32_MAX, &session->deadline);
	case 'e':
		session->emulated = true;
		return true;
	case 'f':
		session->flags |= LOG_ASK_FILL;
		return true;
	case 'p':
		return log_command_port(argument, &writer->port);
	case 'q':
		return log_writer_number(option, argument, 1, LOG_MAX_TARGETS, &session->quorum);
	case 't':
		session->flags |= LOG_ASK_TAKEOVER;
		return true;
	default:
		return false;
	}
}

bool log_writer_options_fit(const struct log_writer *writer)
{
	const struct log_session *session = &writer->session;

	if (session->quorum <= (uint32_t)session->num_peers)
		return true;
	fprintf(stderr, "%s: -q %" PRIu32 ": there are %d targets\n",
		program_invocation_short_name, session->quorum, session->num_peers);
	return false;
}

int log_writer_init(struct log_writer *writer)
{
	struct log_session *session = &writer->session;
	size_t window, size;

	writer->stride = log_record_size(writer->length);
	window = LOG_LINK_WINDOW * writer->stride;
	size = window + COPY_BYTES;
	writer->buffers = aligned_alloc(8, size);
	if (!writer->buffers)
		return ENOMEM;
	if (getrandom(&session->new_id, sizeof(session->new_id), 0) !=
	    sizeof(session->new_id) ||
	    getrandom(&session->client, sizeof(session->client), 0) !=
	    sizeof(session->client))
		return errno;
	session->ops = &log_link_ops;
	session->buffer = writer->buffers + window;
	session->buffer_size = COPY_BYTES;
	session->depth = LOG_LINK_WINDOW;
	writer->nic.buffers = writer->buffers;
	writer->nic.length = size;
	writer->nic.durability = session->emulated ? 0 : CAIRNDV_DURABILITY_HOST;
	for (int i = 0; i < session->num_peers; i++) {
		if (!writer->links[i].port)
			writer->links[i].port = writer->port;
		writer->links[i].nic = &writer->nic;
		session->peers[i].link = &writer->links[i];
	}
	return 0;
}

void log_writer_close(struct log_writer *writer)
{
	log_session_close(&writer->session);
	for (int i = 0; i < writer->session.num_peers; i++)
		log_link_close(&writer->links[i]);
	log_nic_close(&writer->nic);
}

void log_writer_free(struct log_writer *writer)
{
	free(writer->buffers);
	writer->buffers = NULL;
}

struct log_record *log_writer_record(const struct log_writer *writer,
				     uint64_t number)
{
	return (void *)(writer->buffers +
			number % LOG_LINK_WINDOW * writer->stride);
}

void log_writer_greet(const struct log_writer *writer)
{
	const struct log_session *session = &writer->session;

	for (int i = 0; i < session->num_peers; i++)
		if (session->peers[i].state == LOG_PEER_JOINED)
			printf("%s: next record %" PRIu64 ", %s\n",
			       session->peers[i].name,
			       session->peers[i].answer.tail.seq,
			       log_domain_name(session->peers[i].answer.domain));
		else
			printf("%s: left out\n", session->peers[i].name);
	if (session->cut)
		printf("%" PRIu64 " target(s) had abandoned records\n",
		       session->cut);
	if (session->copied)
		printf("%" PRIu64 " records copied to targets that lacked them\n",
		       session->copied);
}
