// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Every process may read the details of another one's queue pair, also while that gets its
 * PSN. A detail that is made of two numbers, one from before and one from afterwards, would
 * tell it.
 */
#include <linux/netlink.h>
#include <pthread.h>
#include <rdma/rdma_netlink.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "vt.h"
#include "vt_test.h"

#define TIME	5000	/* ms */
#define PSN	0x5a1234

struct request {
	struct nlmsghdr hdr;
	struct {
		struct nlattr attr;
		u32 value;
	} attrs[3];
};

static struct vt_dev dev[2];
static struct vt_end end;
static atomic_bool over;
static atomic_uint reads;
static atomic_int wrong;

static u32 details_index(const char *name)
{
	char command[100];
	unsigned int index;
	FILE *file;

	snprintf(command, sizeof(command), "rdma dev show %s", name);
	file = popen(command, "r");
	must(file && fscanf(file, "%u:", &index) == 1);
	pclose(file);
	return index;
}

static struct request details_request(u32 index, u32 qpn)
{
	struct request request = {
		.hdr = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV,
						       RDMA_NLDEV_CMD_RES_QP_GET),
			.nlmsg_flags = NLM_F_REQUEST,
		},
		.attrs = {
			{ { .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX }, index },
			{ { .nla_type = RDMA_NLDEV_ATTR_PORT_INDEX }, 1 },
			{ { .nla_type = RDMA_NLDEV_ATTR_RES_LQPN }, qpn },
		},
	};
	unsigned int i;

	for (i = 0; i < 3; i++)
		request.attrs[i].attr.nla_len = sizeof(request.attrs[i]);
	return request;
}

/* The value of the detail @name, which comes behind the name, or -1. */
static s64 details_value(const char *answer, size_t len, const char *name)
{
	const char *at = memmem(answer, len, name, strlen(name) + 1);
	u32 value;

	if (!at)
		return -1;
	at += NLA_ALIGN(strlen(name) + 1) + NLA_HDRLEN;
	memcpy(&value, at, sizeof(value));
	return value;
}

/* One look at the queue pair. It has sent nothing. */
static bool details_read(int fd, const struct request *request)
{
	char answer[8192] __attribute__((aligned(4)));
	ssize_t len;
	s64 value;

	if (send(fd, request, sizeof(*request), 0) < 0)
		return false;
	len = recv(fd, answer, sizeof(answer), 0);
	value = len < 0 ? -1 : details_value(answer, len, "packets-unacked");
	if (value < 0)
		return false;
	reads++;
	if (value) {
		wrong++;
		vt_say("packets without an answer: %#llx", (unsigned long long)value);
	}
	return true;
}

static void *details_reader(void *arg)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	bool works = fd >= 0;

	while (works && !over)
		works = details_read(fd, arg);
	close(fd);
	return (void *)works;
}

static void psn(void)
{
	struct vt_opts opts = VT_OPTS;
	struct request request;
	u32 index, times = 0;
	pthread_t reader;
	void *works;
	u64 until;

	opts.type = IBV_QPT_UD;
	must(!vt_end_create(&end, &dev[0], &opts, 4096));
	end.psn = PSN;
	/* ib_core finds it by its port, which it has from here on */
	must(!vt_to_init(&end));
	index = details_index(dev[0].name);
	request = details_request(index, end.qp->qp_num);
	must(!pthread_create(&reader, NULL, details_reader, &request));
	for (until = vt_now_ms() + TIME; vt_now_ms() < until && !wrong; times++)
		if (vt_to_rtr(&end, &end) || vt_to_rts(&end) ||
		    vt_to_state(end.qp, IBV_QPS_RESET) || vt_to_init(&end))
			break;
	over = true;
	pthread_join(reader, &works);
	vt_say("%u connections, %u reads", times, reads);
	ktap_ok(works);
	ktap_ok(reads && times);
	ktap_eq(wrong, 0);
	vt_end_destroy(&end);
}

#define TESTS(X) X(psn)
VT_TESTS(TESTS)

int main(int argc, char **argv)
{
	return vt_run_on(&dev[0], &dev[1], VT_IPV4, argc > 1 ? argv[1] : NULL);
}
