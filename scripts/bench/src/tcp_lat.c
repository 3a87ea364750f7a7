// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Latency of a message over TCP: half of a ping-pong's round trip, like
 * ib_send_lat. TCP_NODELAY; receives poll, as the RDMA tools do, or sleep (-e).
 *
 * server: tcp_lat [-e] PORT
 * client: tcp_lat [-e] PORT ADDRESS BYTES ROUNDS
 *
 * The client prints usec, usec_min and usec_p99.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bench.h"

static int recv_flags = MSG_DONTWAIT;

static void lat_die(const char *what)
{
	perror(what);
	exit(1);
}

static void lat_receive(int fd, char *buf, size_t len)
{
	while (len) {
		ssize_t n = recv(fd, buf, len, recv_flags);

		if (n == 0)
			exit(0);
		if (n < 0) {
			if (errno == EAGAIN || errno == EINTR)
				continue;
			lat_die("recv");
		}
		buf += n;
		len -= n;
	}
}

static void lat_transmit(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = send(fd, buf, len, MSG_NOSIGNAL);

		if (n < 0)
			lat_die("send");
		buf += n;
		len -= n;
	}
}

static void no_delay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		lat_die("TCP_NODELAY");
}

static int accept_one(int port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, peer;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 1))
		lat_die("listen");
	peer = accept(fd, NULL, NULL);
	if (peer < 0)
		lat_die("accept");
	no_delay(peer);
	return peer;
}

static int connect_to(const char *ip, int port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (inet_pton(AF_INET, ip, &addr.sin_addr) != 1 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		lat_die("connect");
	no_delay(fd);
	return fd;
}

static void lat_ping(int fd, char *buf, unsigned int bytes, unsigned int rounds)
{
	unsigned int warm_up = rounds / 10, i;
	double *half = calloc(rounds, sizeof(*half));

	if (!half)
		lat_die("calloc");
	for (i = 0; i < warm_up + rounds; i++) {
		double start = bench_usec();

		lat_transmit(fd, buf, bytes);
		lat_receive(fd, buf, bytes);
		if (i >= warm_up)
			half[i - warm_up] = (bench_usec() - start) / 2;
	}
	bench_sort(half, rounds);
	printf("usec=%.3f usec_min=%.3f usec_p99=%.3f\n", half[rounds / 2],
	       half[0], half[rounds * 99 / 100]);
	free(half);
}

static void lat_pong(int fd, char *buf, unsigned int bytes)
{
	for (;;) {
		lat_receive(fd, buf, bytes);
		lat_transmit(fd, buf, bytes);
	}
}

int main(int argc, char **argv)
{
	unsigned int bytes, rounds;
	char *buf;
	int fd;

	if (argc > 1 && !strcmp(argv[1], "-e")) {
		recv_flags = 0;
		argc--;
		argv++;
	}
	if (argc != 2 && argc != 5) {
		fprintf(stderr, "usage: tcp_lat [-e] PORT [ADDRESS BYTES ROUNDS]\n");
		return 2;
	}
	if (argc == 2) {
		/* the first four bytes say how long the messages are */
		fd = accept_one(atoi(argv[1]));
		lat_receive(fd, (char *)&bytes, sizeof(bytes));
	} else {
		fd = connect_to(argv[2], atoi(argv[1]));
		bytes = atoi(argv[3]);
		lat_transmit(fd, (char *)&bytes, sizeof(bytes));
	}
	buf = calloc(1, bytes);
	if (!bytes || !buf)
		lat_die("calloc");
	if (argc == 2) {
		lat_pong(fd, buf, bytes);
	} else {
		rounds = atoi(argv[4]);
		if (!rounds)
			lat_die("rounds");
		lat_ping(fd, buf, bytes, rounds);
	}
	return 0;
}
