// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A writer and a target over librpma, which know nothing of cairn: persistent memory as
 * librpma has it, with an RDMA READ for a flush.
 *
 *   rpma target ADDRESS PORT PATH BYTES
 *   rpma write ADDRESS PORT COUNT SEED [IMAGE]
 *
 * PATH: a devdax, or a file on a DAX file system. The writer writes COUNT messages one after
 * the other, flushes each, and looks for it in IMAGE, what tests/vm/kmod/cairn_shadow.c says
 * to be durable. It fails if a byte is missing there.
 */
#include <errno.h>
#include <fcntl.h>
#include <librpma.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../kmod/cairn_shadow.h"

#define MAX_LEN		20000

/* The target tells this to the writer when it accepts. */
struct about {
	unsigned char region_size, peer_size;
	unsigned char bytes[100];	/* descriptors: the region's, then the peer's */
};

static unsigned long long rand_state;

static size_t rpma_below(size_t n)
{
	rand_state = rand_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (size_t)(rand_state >> 33) % n;
}

static void rpma_check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, rpma_err_2str(err));
	exit(1);
}

#define CHECK(call)	rpma_check(call, #call)

static void rpma_check_errno(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static struct rpma_peer *new_peer(const char *addr, enum rpma_util_ibv_context_type type)
{
	struct ibv_context *ctx;
	struct rpma_peer *peer;

	CHECK(rpma_utils_get_ibv_context(addr, type, &ctx));
	CHECK(rpma_peer_new(ctx, &peer));
	return peer;
}

static void expect_event(struct rpma_conn *conn, enum rpma_conn_event wanted)
{
	enum rpma_conn_event event;

	CHECK(rpma_conn_next_event(conn, &event));
	if (event == wanted)
		return;
	fprintf(stderr, "event %s\n", rpma_utils_conn_event_2str(event));
	exit(1);
}

/* --- target ----------------------------------------------------------------- */

static void *map_pmem(const char *path, size_t len)
{
	int fd = open(path, O_RDWR);
	struct stat stat;
	void *bytes;

	rpma_check_errno(fd >= 0 && !fstat(fd, &stat), path);
	if (S_ISCHR(stat.st_mode)) {
		bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	} else {
		rpma_check_errno(!ftruncate(fd, (off_t)len), path);
		bytes = mmap(NULL, len, PROT_READ | PROT_WRITE,
			     MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
	}
	rpma_check_errno(bytes != MAP_FAILED, "mmap");
	close(fd);
	return bytes;
}

static void describe_region(const struct rpma_mr_local *mr, struct about *about)
{
	struct rpma_peer_cfg *cfg;
	size_t size;

	CHECK(rpma_mr_get_descriptor_size(mr, &size));
	about->region_size = (unsigned char)size;
	CHECK(rpma_mr_get_descriptor(mr, about->bytes));
	CHECK(rpma_peer_cfg_new(&cfg));
	CHECK(rpma_peer_cfg_set_direct_write_to_pmem(cfg, true));
	CHECK(rpma_peer_cfg_get_descriptor_size(cfg, &size));
	about->peer_size = (unsigned char)size;
	CHECK(rpma_peer_cfg_get_descriptor(cfg, about->bytes + about->region_size));
	rpma_peer_cfg_delete(&cfg);
}

static int run_target(const char *addr, const char *port, const char *path, size_t len)
{
	struct rpma_peer *peer = new_peer(addr, RPMA_UTIL_IBV_CONTEXT_LOCAL);
	struct about about = {};
	struct rpma_conn_private_data pdata = { .ptr = &about, .len = sizeof(about) };
	struct rpma_conn_req *req;
	struct rpma_mr_local *mr;
	struct rpma_conn *conn;
	struct rpma_ep *ep;

	CHECK(rpma_mr_reg(peer, map_pmem(path, len), len, RPMA_MR_USAGE_WRITE_DST |
			  RPMA_MR_USAGE_READ_SRC |
			  RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT, &mr));
	describe_region(mr, &about);
	CHECK(rpma_ep_listen(peer, addr, port, &ep));
	puts("listens");
	fflush(stdout);
	CHECK(rpma_ep_next_conn_req(ep, NULL, &req));
	CHECK(rpma_conn_req_connect(&req, &pdata, &conn));
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	expect_event(conn, RPMA_CONN_CLOSED);
	rpma_conn_disconnect(conn);
	CHECK(rpma_conn_delete(&conn));
	CHECK(rpma_mr_dereg(&mr));
	CHECK(rpma_ep_shutdown(&ep));
	CHECK(rpma_peer_delete(&peer));
	return 0;
}

/* --- writer ----------------------------------------------------------------- */

static struct rpma_mr_remote *apply_about(struct rpma_conn *conn)
{
	struct rpma_conn_private_data pdata;
	struct rpma_mr_remote *remote;
	struct rpma_peer_cfg *cfg;
	const struct about *about;

	CHECK(rpma_conn_get_private_data(conn, &pdata));
	about = pdata.ptr;
	if (!about || pdata.len < sizeof(*about) ||
	    about->region_size + about->peer_size > sizeof(about->bytes)) {
		fprintf(stderr, "the target does not describe itself\n");
		exit(1);
	}
	CHECK(rpma_mr_remote_from_descriptor(about->bytes, about->region_size, &remote));
	CHECK(rpma_peer_cfg_from_descriptor(about->bytes + about->region_size,
					    about->peer_size, &cfg));
	CHECK(rpma_conn_apply_remote_peer_cfg(conn, cfg));
	rpma_peer_cfg_delete(&cfg);
	return remote;
}

/* The bytes that are durable at the target now; nothing fails. */
static const unsigned char *open_image(const char *path, size_t len)
{
	int fd = open(path, O_RDWR);
	const unsigned char *image;

	rpma_check_errno(fd >= 0 && !ioctl(fd, SHADOW_ARM, (long)INT_MAX), path);
	image = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	rpma_check_errno(image != MAP_FAILED, path);
	return image;
}

static void write_one(struct rpma_conn *conn, struct rpma_mr_remote *remote,
		      struct rpma_mr_local *local, size_t at, size_t len)
{
	struct rpma_cq *cq;
	struct ibv_wc wc;
	int err;

	CHECK(rpma_write(conn, remote, at, local, at, len, RPMA_F_COMPLETION_ON_ERROR, NULL));
	CHECK(rpma_flush(conn, remote, at, len, RPMA_FLUSH_TYPE_PERSISTENT,
			 RPMA_F_COMPLETION_ALWAYS, NULL));
	CHECK(rpma_conn_get_cq(conn, &cq));
	/* it arms the queue before the completion is taken, so an event may be late */
	do {
		CHECK(rpma_cq_wait(cq));
		err = rpma_cq_get_wc(cq, 1, &wc, NULL);
	} while (err == RPMA_E_NO_COMPLETION);
	rpma_check(err, "rpma_cq_get_wc");
	if (wc.status == IBV_WC_SUCCESS)
		return;
	fprintf(stderr, "status %d\n", wc.status);
	exit(1);
}

static int run_writer(const char *addr, const char *port, int count, const char *image_path)
{
	struct rpma_peer *peer = new_peer(addr, RPMA_UTIL_IBV_CONTEXT_REMOTE);
	const unsigned char *image = NULL;
	struct rpma_mr_remote *remote;
	struct rpma_conn_req *req;
	struct rpma_mr_local *local;
	struct rpma_conn *conn;
	unsigned char *buf;
	int i, lost = 0;
	size_t size;

	CHECK(rpma_conn_req_new(peer, addr, port, NULL, &req));
	CHECK(rpma_conn_req_connect(&req, NULL, &conn));
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	remote = apply_about(conn);
	CHECK(rpma_mr_remote_get_size(remote, &size));
	buf = aligned_alloc(4096, size);
	rpma_check_errno(buf, "aligned_alloc");
	CHECK(rpma_mr_reg(peer, buf, size, RPMA_MR_USAGE_WRITE_SRC, &local));
	if (image_path)
		image = open_image(image_path, size);
	for (i = 0; i < count; i++) {
		size_t len = 1 + rpma_below(MAX_LEN), at = rpma_below(size - len), k;

		for (k = 0; k < len; k++)
			buf[at + k] = (unsigned char)(rpma_below(255) + 1);
		write_one(conn, remote, local, at, len);
		if (image && memcmp(image + at, buf + at, len))
			lost++;
	}
	printf("%d messages, %d not durable when their flush had completed\n", count, lost);
	CHECK(rpma_conn_disconnect(conn));
	expect_event(conn, RPMA_CONN_CLOSED);
	rpma_mr_remote_delete(&remote);
	CHECK(rpma_conn_delete(&conn));
	CHECK(rpma_mr_dereg(&local));
	CHECK(rpma_peer_delete(&peer));
	return lost != 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "target"))
		return run_target(argv[2], argv[3], argv[4], strtoul(argv[5], NULL, 0));
	if (argc >= 6 && argc <= 7 && !strcmp(argv[1], "write")) {
		rand_state = strtoull(argv[5], NULL, 0);
		return run_writer(argv[2], argv[3], atoi(argv[4]), argv[6]);
	}
	fprintf(stderr, "usage: rpma target ADDRESS PORT PATH BYTES\n"
		"       rpma write ADDRESS PORT COUNT SEED [IMAGE]\n");
	return 2;
}
