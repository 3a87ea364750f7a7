// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA links by netlink, without iproute2, which a node may lack.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/rdma_netlink.h>

#include "link.h"

struct link_message {
	struct nlmsghdr header;
	char attributes[512];
};

#define LINK_HEADER	NLMSG_HDRLEN
#define LINK_BUFFER	(32 << 10)

int link_open(void)
{
	struct timeval limit = { .tv_sec = 120 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	if (fd < 0)
		return -errno;
	/* a device that is being removed may keep the kernel busy */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return fd;
}

static void link_begin(struct link_message *message, unsigned int command, unsigned int flags)
{
	memset(message, 0, sizeof(*message));
	message->header.nlmsg_len = LINK_HEADER;
	message->header.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	message->header.nlmsg_flags = (__u16)(NLM_F_REQUEST | NLM_F_ACK | flags);
	message->header.nlmsg_seq = command + 1;
}

/* All strings are shorter than a name of a device: the buffer is large enough. */
static void link_put(struct link_message *message, unsigned int type, const void *data,
		     size_t length)
{
	struct nlattr *attr = (void *)((char *)message + message->header.nlmsg_len);

	attr->nla_type = (__u16)type;
	attr->nla_len = (__u16)(NLA_HDRLEN + length);
	memcpy((char *)attr + NLA_HDRLEN, data, length);
	message->header.nlmsg_len += NLA_ALIGN(attr->nla_len);
}

static void link_put_string(struct link_message *message, unsigned int type, const char *text)
{
	link_put(message, type, text, strlen(text) + 1);
}

static void link_put_u32(struct link_message *message, unsigned int type, uint32_t value)
{
	link_put(message, type, &value, sizeof(value));
}

/* the attribute of a type in an answer, or NULL */
static const struct nlattr *link_attr(const struct nlmsghdr *header, unsigned int type)
{
	const char *at = (const char *)header + LINK_HEADER;
	const char *end = (const char *)header + header->nlmsg_len;
	const struct nlattr *attr;

	for (; end - at >= NLA_HDRLEN; at += NLA_ALIGN(attr->nla_len)) {
		attr = (const void *)at;
		if (attr->nla_len < NLA_HDRLEN || attr->nla_len > end - at)
			return NULL;
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
	}
	return NULL;
}

static void link_get_string(const struct nlattr *attr, char *text, size_t size)
{
	size_t length = 0;

	if (attr) {
		length = attr->nla_len - (size_t)NLA_HDRLEN;
		length = length < size ? length : size - 1;
		memcpy(text, (const char *)attr + NLA_HDRLEN, length);
	}
	text[length] = '\0';
}

static bool link_get_index(const struct nlmsghdr *header, uint32_t *index)
{
	const struct nlattr *attr = link_attr(header, RDMA_NLDEV_ATTR_DEV_INDEX);

	if (!attr || attr->nla_len < NLA_HDRLEN + sizeof(*index))
		return false;
	memcpy(index, (const char *)attr + NLA_HDRLEN, sizeof(*index));
	return true;
}

typedef void link_answer(const struct nlmsghdr *header, void *arg);

/* 1: more messages come */
static int link_take(const struct nlmsghdr *header, link_answer *answer, void *arg)
{
	const struct nlmsgerr *error = NLMSG_DATA(header);

	if (header->nlmsg_type == NLMSG_DONE)
		return 0;
	if (header->nlmsg_type == NLMSG_ERROR)
		return header->nlmsg_len < NLMSG_LENGTH(sizeof(*error)) ? -EPROTO : error->error;
	if (answer)
		answer(header, arg);
	return 1;
}

/* Send a request, hand the answers to a function until the kernel says how it ended. */
static int link_talk(int fd, const struct link_message *message, link_answer *answer, void *arg)
{
	static char buffer[LINK_BUFFER] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *header;
	ssize_t got;
	int rc, left;

	if (send(fd, message, message->header.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		got = recv(fd, buffer, sizeof(buffer), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		left = (int)got;
		for (header = (void *)buffer; NLMSG_OK(header, left);
		     header = NLMSG_NEXT(header, left)) {
			rc = header->nlmsg_seq == message->header.nlmsg_seq ?
				link_take(header, answer, arg) : 1;
			if (rc <= 0)
				return rc;
		}
	}
}

int link_add(int fd, const char *name, const char *netdev)
{
	struct link_message message;

	link_begin(&message, RDMA_NLDEV_CMD_NEWLINK, 0);
	link_put_string(&message, RDMA_NLDEV_ATTR_DEV_NAME, name);
	link_put_string(&message, RDMA_NLDEV_ATTR_LINK_TYPE, "cairn");
	link_put_string(&message, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return link_talk(fd, &message, NULL, NULL);
}

int link_delete(int fd, uint32_t index)
{
	struct link_message message;
	int rc;

	link_begin(&message, RDMA_NLDEV_CMD_DELLINK, 0);
	link_put_u32(&message, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	rc = link_talk(fd, &message, NULL, NULL);
	/* so says the kernel of an index without a device */
	return rc == -EINVAL ? -ENODEV : rc;
}

struct link_visit {
	void (*visit)(const struct link *link, void *arg);
	void *arg;
};

static void link_one_of_all(const struct nlmsghdr *header, void *arg)
{
	const struct link_visit *each = arg;
	struct link link = {};

	if (!link_get_index(header, &link.index))
		return;
	link_get_string(link_attr(header, RDMA_NLDEV_ATTR_DEV_NAME), link.name, sizeof(link.name));
	each->visit(&link, each->arg);
}

int link_each(int fd, void (*visit)(const struct link *link, void *arg), void *arg)
{
	struct link_visit each = { visit, arg };
	struct link_message message;

	link_begin(&message, RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	return link_talk(fd, &message, link_one_of_all, &each);
}

struct link_search {
	const char *name;
	struct link found;
};

static void link_compare(const struct link *link, void *arg)
{
	struct link_search *search = arg;

	if (!strcmp(link->name, search->name))
		search->found = *link;
}

int link_find(int fd, const char *name, uint32_t *index)
{
	struct link_search search = { .name = name };
	int rc = link_each(fd, link_compare, &search);

	*index = search.found.index;
	return rc ?: search.found.name[0] ? 0 : -ENODEV;
}

static void link_take_netdev(const struct nlmsghdr *header, void *arg)
{
	link_get_string(link_attr(header, RDMA_NLDEV_ATTR_NDEV_NAME), arg, IFNAMSIZ);
}

int link_netdev(int fd, uint32_t index, char netdev[IFNAMSIZ])
{
	struct link_message message;

	netdev[0] = '\0';
	link_begin(&message, RDMA_NLDEV_CMD_PORT_GET, 0);
	link_put_u32(&message, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	link_put_u32(&message, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	return link_talk(fd, &message, link_take_netdev, netdev);
}

int link_chardev(int fd, uint32_t index, const char *type)
{
	struct link_message message;

	link_begin(&message, RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	link_put_string(&message, RDMA_NLDEV_ATTR_CHARDEV_TYPE, type);
	if (strcmp(type, "rdma_cm"))
		link_put_u32(&message, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	return link_talk(fd, &message, NULL, NULL);
}
