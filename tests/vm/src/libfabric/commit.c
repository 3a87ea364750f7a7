// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A writer and a target over libfabric's connected endpoints, which know nothing of cairn.
 *
 *   commit offered
 *   commit target ADDRESS PORT PATH BYTES pmem|plain
 *   commit write ADDRESS PORT COUNT SEED WAY [IMAGE]
 *
 * offered: 0 if a domain of verbs offers FI_RMA_PMEM; prints their names.
 * PATH: a devdax, or "anonymous"; it is registered with FI_RMA_PMEM or without.
 * WAY: how each message is written, see "ways" below. The writer looks for each in IMAGE when
 * it has completed, and fails if a byte is missing there: what tests/vm/kmod/cairn_shadow.c
 * says to be durable, or the devdax itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "../../kmod/cairn_shadow.h"

#define MAX_LEN		20000
#define SHORT_LEN	32
#define RECEIVES	128
#define TIMEOUT		60000	/* ms */
#define DATA		77	/* what the target is told */

/* The target tells this to the writer when it accepts. */
struct about {
	uint64_t addr, key, len;
};

static const struct way {
	const char *name;
	uint64_t flags;		/* of fi_writemsg() */
	uint64_t op_flags;	/* of the endpoint */
	bool msg, inject;
} ways[] = {
	{ "message", FI_COMMIT_COMPLETE, 0, true, false },
	{ "told", FI_COMMIT_COMPLETE | FI_REMOTE_CQ_DATA, 0, true, false },
	{ "endpoint", 0, FI_COMMIT_COMPLETE, false, false },
	/* behind a short one that has no completion */
	{ "inject", 0, FI_COMMIT_COMPLETE, false, true },
	{ "delivery", FI_DELIVERY_COMPLETE, 0, true, false },
	/* the flags of the message count, not those of the endpoint */
	{ "overridden", FI_DELIVERY_COMPLETE, FI_COMMIT_COMPLETE, true, false },
};

struct end {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	unsigned char *buf;
	size_t len;
};

static unsigned long long rand_state;

static size_t commit_below(size_t n)
{
	rand_state = rand_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (size_t)(rand_state >> 33) % n;
}

/* At exit() libfabric expects that all is closed. */
static void commit_end(void)
{
	fflush(NULL);
	_exit(1);
}

static void commit_check(long ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-ret));
	commit_end();
}

#define CHECK(call)	commit_check(call, #call)

static void commit_check_errno(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	commit_end();
}

static struct fi_info *new_hints(uint64_t caps, uint64_t op_flags)
{
	struct fi_info *hints = fi_allocinfo();

	commit_check_errno(hints, "fi_allocinfo");
	hints->caps = FI_MSG | FI_RMA | caps;
	hints->mode = FI_RX_CQ_DATA;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->protocol = FI_PROTO_RDMA_CM_IB_RC;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->tx_attr->op_flags = op_flags;
	hints->fabric_attr->prov_name = strdup("verbs");
	return hints;
}

static int get_info(const char *addr, const char *port, uint64_t flags, struct fi_info *hints,
		    struct fi_info **info)
{
	int ret = fi_getinfo(FI_VERSION(1, 18), addr, port, flags, hints, info);

	fi_freeinfo(hints);
	return ret;
}

static void open_end(struct end *self)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr eq = { .wait_obj = FI_WAIT_FD };

	CHECK(fi_fabric(self->info->fabric_attr, &self->fabric, NULL));
	CHECK(fi_eq_open(self->fabric, &eq, &self->eq, NULL));
	CHECK(fi_domain(self->fabric, self->info, &self->domain, NULL));
	CHECK(fi_cq_open(self->domain, &cq, &self->cq, NULL));
}

static void open_endpoint(struct end *self, struct fi_info *info)
{
	CHECK(fi_endpoint(self->domain, info, &self->ep, NULL));
	CHECK(fi_ep_bind(self->ep, &self->eq->fid, 0));
	CHECK(fi_ep_bind(self->ep, &self->cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK(fi_enable(self->ep));
}

static uint32_t next_event(struct end *self, void *entry, size_t len, ssize_t *got)
{
	uint32_t event = 0;

	*got = fi_eq_sread(self->eq, &event, entry, len, TIMEOUT, 0);
	if (*got == -FI_EAVAIL) {
		struct fi_eq_err_entry err = {};

		(void)fi_eq_readerr(self->eq, &err, 0);
		commit_check(-err.err, "event");
	}
	commit_check(*got, "fi_eq_sread");
	return event;
}

static void *expect_event(struct end *self, uint32_t wanted, size_t *len)
{
	static unsigned char room[512] __attribute__((aligned(16)));
	ssize_t got;
	uint32_t event = next_event(self, room, sizeof(room), &got);

	if (event != wanted) {
		fprintf(stderr, "event %u\n", event);
		commit_end();
	}
	if (len)
		*len = (size_t)got;
	return room;
}

static void close_end(struct end *self)
{
	CHECK(fi_close(&self->ep->fid));
	CHECK(fi_close(&self->mr->fid));
	CHECK(fi_close(&self->cq->fid));
	CHECK(fi_close(&self->domain->fid));
	CHECK(fi_close(&self->eq->fid));
	CHECK(fi_close(&self->fabric->fid));
	fi_freeinfo(self->info);
}

/* --- target ----------------------------------------------------------------- */

static void map_memory(struct end *self, const char *path)
{
	bool anonymous = !strcmp(path, "anonymous");
	int fd = anonymous ? -1 : open(path, O_RDWR);

	commit_check_errno(anonymous || fd >= 0, path);
	self->buf = mmap(NULL, self->len, PROT_READ | PROT_WRITE,
			 anonymous ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	commit_check_errno(self->buf != MAP_FAILED, "mmap");
}

/* Serves one writer, and counts what it was told. */
static int run_target(const char *addr, const char *port, const char *path, size_t len, bool pmem)
{
	struct end self = { .len = len };
	struct fi_eq_cm_entry *request;
	struct fi_cq_data_entry told;
	struct fid_pep *pep;
	struct about about;
	int count = 0;

	CHECK(get_info(addr, port, FI_SOURCE, new_hints(pmem ? FI_RMA_PMEM : 0, 0), &self.info));
	open_end(&self);
	map_memory(&self, path);
	CHECK(fi_mr_reg(self.domain, self.buf, len, FI_REMOTE_WRITE, 0, 0,
			pmem ? FI_RMA_PMEM : 0, &self.mr, NULL));
	about.addr = (uintptr_t)self.buf;
	about.key = fi_mr_key(self.mr);
	about.len = len;
	CHECK(fi_passive_ep(self.fabric, self.info, &pep, NULL));
	CHECK(fi_pep_bind(pep, &self.eq->fid, 0));
	CHECK(fi_listen(pep));
	puts("listens");
	fflush(stdout);
	request = expect_event(&self, FI_CONNREQ, NULL);
	open_endpoint(&self, request->info);
	fi_freeinfo(request->info);
	for (int i = 0; i < RECEIVES; i++)
		CHECK(fi_recv(self.ep, NULL, 0, NULL, 0, NULL));
	CHECK(fi_accept(self.ep, &about, sizeof(about)));
	expect_event(&self, FI_CONNECTED, NULL);
	expect_event(&self, FI_SHUTDOWN, NULL);
	while (fi_cq_read(self.cq, &told, 1) == 1)
		count += (told.flags & FI_REMOTE_CQ_DATA) && told.data == DATA;
	printf("told of %d messages\n", count);
	CHECK(fi_close(&pep->fid));
	close_end(&self);
	return 0;
}

/* --- writer ----------------------------------------------------------------- */

static struct about connect_to(struct end *self)
{
	struct fi_eq_cm_entry *entry;
	struct about about;
	size_t len;

	open_endpoint(self, self->info);
	CHECK(fi_connect(self->ep, self->info->dest_addr, NULL, 0));
	entry = expect_event(self, FI_CONNECTED, &len);
	if (len < sizeof(*entry) + sizeof(about)) {
		fprintf(stderr, "the target does not describe itself\n");
		commit_end();
	}
	memcpy(&about, entry->data, sizeof(about));
	return about;
}

/* The memory at the target. In an image of the durable bytes nothing fails. */
static const unsigned char *open_image(const char *path, size_t len)
{
	const unsigned char *image;
	int fd = open(path, O_RDWR);

	commit_check_errno(fd >= 0 && (!ioctl(fd, SHADOW_ARM, (long)INT_MAX) || errno == ENOTTY),
			   path);
	image = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	commit_check_errno(image != MAP_FAILED, path);
	return image;
}

static void write_one(struct end *self, const struct way *way, const struct about *about,
		      size_t at, size_t len)
{
	struct iovec local = { .iov_base = self->buf + at, .iov_len = len };
	struct fi_rma_iov remote = { .addr = about->addr + at, .len = len, .key = about->key };
	void *desc = fi_mr_desc(self->mr);
	struct fi_msg_rma msg = {
		.msg_iov = &local, .desc = &desc, .iov_count = 1,
		.rma_iov = &remote, .rma_iov_count = 1, .data = DATA,
	};

	if (way->msg) {
		CHECK(fi_writemsg(self->ep, &msg, way->flags));
		return;
	}
	if (way->inject) {
		CHECK(fi_inject_write(self->ep, self->buf + at, len - 1, 0, about->addr + at,
				      about->key));
		at += len - 1;
		len = 1;
	}
	CHECK(fi_write(self->ep, self->buf + at, len, desc, 0, about->addr + at, about->key, NULL));
}

/* Waits for the one completion. */
static void take_one(struct end *self)
{
	struct fi_cq_err_entry err = {};
	struct fi_cq_data_entry entry;
	ssize_t got;

	do {
		got = fi_cq_sread(self->cq, &entry, 1, NULL, TIMEOUT);
	} while (got == -FI_EINTR);
	if (got == -FI_EAVAIL) {
		CHECK(fi_cq_readerr(self->cq, &err, 0));
		fprintf(stderr, "completion: %s\n",
			fi_cq_strerror(self->cq, err.prov_errno, NULL, NULL, 0));
		commit_end();
	}
	commit_check(got, "fi_cq_sread");
	if (entry.flags & FI_WRITE)
		return;
	fprintf(stderr, "a completion with flags %#llx\n", (unsigned long long)entry.flags);
	commit_end();
}

static int run_writer(const char *addr, const char *port, int count, const struct way *way,
		      const char *image_path)
{
	bool durable = (way->flags | way->op_flags) & FI_COMMIT_COMPLETE;
	const unsigned char *image = NULL;
	struct end self = {};
	struct about about;
	int lost = 0;

	CHECK(get_info(addr, port, 0, new_hints(durable ? FI_RMA_PMEM : 0, way->op_flags),
		       &self.info));
	open_end(&self);
	about = connect_to(&self);
	self.buf = aligned_alloc(4096, about.len);
	commit_check_errno(self.buf, "aligned_alloc");
	CHECK(fi_mr_reg(self.domain, self.buf, about.len, FI_WRITE, 0, 0, 0, &self.mr, NULL));
	if (image_path)
		image = open_image(image_path, about.len);
	for (int i = 0; i < count; i++) {
		size_t len = 2 + commit_below(way->inject ? SHORT_LEN : MAX_LEN);
		size_t at = commit_below(about.len - len), k;

		for (k = 0; k < len; k++)
			self.buf[at + k] = (unsigned char)(commit_below(255) + 1);
		write_one(&self, way, &about, at, len);
		take_one(&self);
		if (image && memcmp(image + at, self.buf + at, len))
			lost++;
	}
	printf("%d messages, %d not there when they had completed\n", count, lost);
	CHECK(fi_shutdown(self.ep, 0));
	close_end(&self);
	return lost != 0;
}

/* --- what there is ---------------------------------------------------------- */

static int run_offered(void)
{
	struct fi_info *found, *info;
	int ret = get_info(NULL, NULL, 0, new_hints(FI_RMA_PMEM, 0), &found);

	if (ret == -FI_ENODATA) {
		puts("none");
		return 1;
	}
	commit_check(ret, "fi_getinfo");
	for (info = found; info; info = info->next)
		puts(info->domain_attr->name);
	fi_freeinfo(found);
	return 0;
}

static const struct way *find_way(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "offered"))
		return run_offered();
	if (argc == 7 && !strcmp(argv[1], "target"))
		return run_target(argv[2], argv[3], argv[4], strtoul(argv[5], NULL, 0),
				  !strcmp(argv[6], "pmem"));
	if (argc >= 7 && argc <= 8 && !strcmp(argv[1], "write") && find_way(argv[6])) {
		rand_state = strtoull(argv[5], NULL, 0);
		return run_writer(argv[2], argv[3], atoi(argv[4]), find_way(argv[6]), argv[7]);
	}
	fprintf(stderr, "usage: commit offered\n"
		"       commit target ADDRESS PORT PATH BYTES pmem|plain\n"
		"       commit write ADDRESS PORT COUNT SEED WAY [IMAGE]\n");
	return 2;
}
