// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA netlink as cairn-cni speaks it, with a made-up kernel behind the system calls of
 * libnl: what is asked, and what becomes of answers that are none. tests/vm/cni.sh has the
 * real kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>

#include "ktap.h"
#include "link.h"

#define KERNEL_QUEUE	8
#define KERNEL_LENGTH	1024

static struct {
	int no_socket;				/* an errno */
	void (*answer)(void);
	unsigned char asked[KERNEL_LENGTH];
	struct { unsigned char bytes[KERNEL_LENGTH]; size_t length; } queue[KERNEL_QUEUE];
	unsigned int first, count;
} kernel;

static struct nl_sock *sock;

/* --- system calls --------------------------------------------------------- */

int socket(int domain, int type, int protocol)
{
	(void)type;
	if (kernel.no_socket) {
		errno = kernel.no_socket;
		return -1;
	}
	ktap_eq(domain, AF_NETLINK);
	ktap_eq(protocol, NETLINK_RDMA);
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
	(void)fd, (void)address, (void)length;
	return 0;
}

int getsockname(int fd, struct sockaddr *restrict address, socklen_t *restrict length)
{
	const struct sockaddr_nl local = { .nl_family = AF_NETLINK, .nl_pid = 1 };

	(void)fd;
	memcpy(address, &local, sizeof(local));
	*length = sizeof(local);
	return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	(void)fd, (void)level, (void)name, (void)value, (void)length;
	return 0;
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	(void)fd, (void)flags;
	ktap_eq(msg->msg_iovlen, 1);
	memcpy(kernel.asked, msg->msg_iov->iov_base, msg->msg_iov->iov_len);
	kernel.first = kernel.count = 0;
	kernel.answer();
	return (ssize_t)msg->msg_iov->iov_len;
}

/* the limit of time is over at once */
ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	const struct sockaddr_nl from = { .nl_family = AF_NETLINK };
	size_t length;

	(void)fd;
	if (kernel.first == kernel.count) {
		errno = EAGAIN;
		return -1;
	}
	length = kernel.queue[kernel.first].length;
	if (!ktap_ok(length <= msg->msg_iov->iov_len))
		abort();
	memcpy(msg->msg_iov->iov_base, kernel.queue[kernel.first].bytes, length);
	memcpy(msg->msg_name, &from, sizeof(from));
	msg->msg_namelen = sizeof(from);
	msg->msg_flags = 0;
	if (!(flags & MSG_PEEK))
		kernel.first++;
	return (ssize_t)length;
}

/* --- answers -------------------------------------------------------------- */

static const struct nlmsghdr *asked(void)
{
	return (const void *)kernel.asked;
}

/* the attribute of the request, which must be there */
static void *asked_for(int type, int length)
{
	struct nlattr *attr = nlmsg_find_attr((struct nlmsghdr *)kernel.asked, 0, type);

	if (!ktap_ok(attr) || !ktap_eq(nla_len(attr), length))
		abort();
	return nla_data(attr);
}

static struct nl_msg *begin(int type)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, type == NLMSG_ERROR ? 0 : NLM_F_MULTI);

	nlmsg_hdr(msg)->nlmsg_seq = asked()->nlmsg_seq;
	return msg;
}

static void cut(struct nl_msg *msg, size_t length)
{
	memcpy(kernel.queue[kernel.count].bytes, nlmsg_hdr(msg), length);
	kernel.queue[kernel.count++].length = length;
	nlmsg_free(msg);
}

static void end(struct nl_msg *msg)
{
	cut(msg, nlmsg_hdr(msg)->nlmsg_len);
}

static void device(const void *index, int index_length, const char *name, int name_length)
{
	struct nl_msg *msg = begin(asked()->nlmsg_type);

	if (index)
		nla_put(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index_length, index);
	if (name)
		nla_put(msg, RDMA_NLDEV_ATTR_DEV_NAME, name_length, name);
	/* a later kernel has more */
	nla_put_u32(msg, 4000, 1);
	end(msg);
}

static void good_device(uint32_t index, const char *name)
{
	device(&index, sizeof(index), name, (int)strlen(name) + 1);
}

static void done(void)
{
	const int none = 0;
	struct nl_msg *msg = begin(NLMSG_DONE);

	nlmsg_append(msg, (void *)&none, sizeof(none), NLMSG_ALIGNTO);
	end(msg);
}

static void error(int number)
{
	struct nlmsgerr report = { .error = number, .msg = *asked() };
	struct nl_msg *msg = begin(NLMSG_ERROR);

	nlmsg_append(msg, &report, sizeof(report), NLMSG_ALIGNTO);
	end(msg);
}

static void silence(void) { }
static void success(void) { error(0); }
static void no_right(void) { error(-EPERM); }
static void exists(void) { error(-EEXIST); }
static void invalid(void) { error(-EINVAL); }
static void positive(void) { error(EEXIST); }

static void two(void)
{
	good_device(3, "cairn0");
	good_device(7, "cairn1");
	done();
}

static void no_index(void)
{
	device(NULL, 0, "cairn0", 7);
	done();
}

static void short_index(void)
{
	device("\1", 2, "cairn0", 7);
	done();
}

static void no_name(void)
{
	device("\1\0\0", 4, NULL, 0);
	done();
}

static void open_name(void)
{
	device("\1\0\0", 4, "cairn0", 6);
	done();
}

static void long_name(void)
{
	char name[66];

	memset(name, 'a', 65);
	name[65] = '\0';
	good_device(1, name);
	done();
}

static void other_request(void)
{
	struct nl_msg *msg = begin(asked()->nlmsg_type);

	nlmsg_hdr(msg)->nlmsg_seq--;
	end(msg);
	done();
}

static void no_end(void)
{
	good_device(3, "cairn0");
}

static void half_a_header(void)
{
	cut(begin(asked()->nlmsg_type), sizeof(struct nlmsghdr) / 2);
}

static void half_an_error(void)
{
	end(begin(NLMSG_ERROR));
}

static void with_netdev(void)
{
	struct nl_msg *msg = begin(asked()->nlmsg_type);

	nlmsg_hdr(msg)->nlmsg_flags = 0;
	nla_put_string(msg, RDMA_NLDEV_ATTR_NDEV_NAME, "eth0");
	end(msg);
	success();
}

static void without_netdev(void)
{
	struct nl_msg *msg = begin(asked()->nlmsg_type);

	nlmsg_hdr(msg)->nlmsg_flags = 0;
	end(msg);
	success();
}

static void long_netdev(void)
{
	struct nl_msg *msg = begin(asked()->nlmsg_type);

	nla_put_string(msg, RDMA_NLDEV_ATTR_NDEV_NAME, "0123456789abcdef");
	end(msg);
	success();
}

/* --- tests ---------------------------------------------------------------- */

static void start(void (*answer)(void))
{
	kernel.answer = answer;
	if (!ktap_eq(link_open(&sock), 0))
		abort();
}

static void stop(void)
{
	nl_socket_free(sock);
}

static void without_ib_core(void)
{
	kernel.no_socket = EPROTONOSUPPORT;
	ktap_eq(link_open(&sock), -EPROTONOSUPPORT);
	kernel.no_socket = 0;
}

static void add(void)
{
	start(success);
	ktap_eq(link_add(sock, "cairn-1", "eth0"), 0);
	ktap_eq(asked()->nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK));
	ktap_eq(asked()->nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
	ktap_ok(!strcmp(asked_for(RDMA_NLDEV_ATTR_DEV_NAME, 8), "cairn-1"));
	ktap_ok(!strcmp(asked_for(RDMA_NLDEV_ATTR_LINK_TYPE, 6), "cairn"));
	ktap_ok(!strcmp(asked_for(RDMA_NLDEV_ATTR_NDEV_NAME, 5), "eth0"));
	kernel.answer = exists;
	ktap_eq(link_add(sock, "cairn-1", "eth0"), -EEXIST);
	kernel.answer = invalid;
	ktap_eq(link_add(sock, "cairn-1", "eth0"), -EINVAL);
	kernel.answer = no_right;
	ktap_eq(link_add(sock, "cairn-1", "eth0"), -EPERM);
	stop();
}

static void delete(void)
{
	uint32_t index;

	start(success);
	ktap_eq(link_delete(sock, 5), 0);
	memcpy(&index, asked_for(RDMA_NLDEV_ATTR_DEV_INDEX, 4), sizeof(index));
	ktap_eq(index, 5);
	kernel.answer = invalid;
	ktap_eq(link_delete(sock, 5), -ENODEV);
	kernel.answer = no_right;
	ktap_eq(link_delete(sock, 5), -EPERM);
	stop();
}

static void find(void)
{
	uint32_t index = 0;

	start(two);
	ktap_eq(link_find(sock, "cairn1", &index), 0);
	ktap_eq(index, 7);
	ktap_eq(asked()->nlmsg_flags & NLM_F_DUMP, NLM_F_DUMP);
	ktap_eq(link_find(sock, "cairn", &index), -ENODEV);
	kernel.answer = done;
	ktap_eq(link_find(sock, "cairn1", &index), -ENODEV);
	stop();
}

static void netdev(void)
{
	char name[IFNAMSIZ];

	start(with_netdev);
	ktap_eq(link_netdev(sock, 3, name), 0);
	ktap_ok(!strcmp(name, "eth0"));
	kernel.answer = without_netdev;
	ktap_eq(link_netdev(sock, 3, name), 0);
	ktap_ok(!strcmp(name, ""));
	kernel.answer = long_netdev;
	ktap_eq(link_netdev(sock, 3, name), -EPROTO);
	stop();
}

static void chardev(void)
{
	start(success);
	ktap_eq(link_chardev(sock, 3, "uverbs"), 0);
	ktap_ok(!strcmp(asked_for(RDMA_NLDEV_ATTR_CHARDEV_TYPE, 7), "uverbs"));
	asked_for(RDMA_NLDEV_ATTR_DEV_INDEX, 4);
	ktap_eq(link_chardev(sock, 3, "rdma_cm"), 0);
	ktap_ok(!nlmsg_find_attr((struct nlmsghdr *)kernel.asked, 0, RDMA_NLDEV_ATTR_DEV_INDEX));
	stop();
}

static void malformed(void)
{
	static void (*const answers[])(void) = {
		no_index, short_index, no_name, open_name, long_name, other_request,
		half_a_header, half_an_error, positive,
	};
	uint32_t index;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		start(answers[i]);
		if (!ktap_eq(link_find(sock, "cairn0", &index), -EPROTO))
			printf("# answer %zu\n", i);
		stop();
	}
}

static void no_answer(void)
{
	uint32_t index;

	start(silence);
	ktap_eq(link_add(sock, "cairn-1", "eth0"), -ETIMEDOUT);
	stop();
	start(no_end);
	ktap_eq(link_find(sock, "cairn0", &index), -ETIMEDOUT);
	stop();
}

static const struct ktap_test tests[] = {
	KTAP(without_ib_core),
	KTAP(add),
	KTAP(delete),
	KTAP(find),
	KTAP(netdev),
	KTAP(chardev),
	KTAP(malformed),
	KTAP(no_answer),
};

KTAP_MAIN(tests)
