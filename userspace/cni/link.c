// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA links by netlink, without iproute2, which a node may lack.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>

#include "link.h"

/* later attributes are not looked at */
#define LINK_ATTR_LAST	RDMA_NLDEV_ATTR_NDEV_NAME

/* strings end with a zero byte */
static const struct nla_policy link_policy[LINK_ATTR_LAST + 1] = {
	[RDMA_NLDEV_ATTR_DEV_INDEX] = { .type = NLA_U32, .maxlen = sizeof(uint32_t) },
	[RDMA_NLDEV_ATTR_DEV_NAME] = { .type = NLA_STRING,
				       .maxlen = sizeof(((struct link *)NULL)->name) },
	[RDMA_NLDEV_ATTR_NDEV_NAME] = { .type = NLA_STRING, .maxlen = IFNAMSIZ },
};

/* The library has numbers of its own for what fails on this side of the socket. */
static int link_errno(int error)
{
	switch (-error) {
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_AGAIN:
		return -ETIMEDOUT;
	case NLE_PROTO_MISMATCH:
		return -EPROTONOSUPPORT;
	default:
		return -EPROTO;
	}
}

int link_open(struct nl_sock **sock)
{
	struct timeval limit = { .tv_sec = 120 };
	int rc;

	*sock = nl_socket_alloc();
	if (!*sock)
		return -ENOMEM;
	rc = nl_connect(*sock, NETLINK_RDMA);
	if (rc) {
		nl_socket_free(*sock);
		return link_errno(rc);
	}
	/* a device that is being removed may keep the kernel busy */
	setsockopt(nl_socket_get_fd(*sock), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return 0;
}

static struct nl_msg *link_begin(int command, int flags)
{
	return nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), flags);
}

static int link_ended(struct nl_msg *msg, void *arg)
{
	bool *ended = arg;

	(void)msg;
	*ended = true;
	return NL_STOP;
}

static int link_refused(struct sockaddr_nl *from, struct nlmsgerr *error, void *arg)
{
	int *refused = arg;

	(void)from;
	*refused = error->error < 0 ? error->error : -EPROTO;
	return NL_STOP;
}

/*
 * Send a request, if all its attributes were put, and free it. Answers go to a function until
 * the kernel says how it ended.
 */
static int link_talk(struct nl_sock *sock, struct nl_msg *msg, int put,
		     nl_recvmsg_msg_cb_t answer, void *arg)
{
	struct nl_cb *calls = nl_cb_alloc(NL_CB_DEFAULT);
	bool ended = false;
	int rc = calls ? put : -NLE_NOMEM, refused = 0;

	if (!rc) {
		nl_cb_set(calls, NL_CB_VALID, NL_CB_CUSTOM, answer, arg);
		nl_cb_set(calls, NL_CB_ACK, NL_CB_CUSTOM, link_ended, &ended);
		nl_cb_set(calls, NL_CB_FINISH, NL_CB_CUSTOM, link_ended, &ended);
		nl_cb_err(calls, NL_CB_CUSTOM, link_refused, &refused);
		rc = nl_send_auto(sock, msg);
	}
	/* a message without a header counts as none */
	while (rc >= 0 && !ended)
		rc = nl_recvmsgs_report(sock, calls) ?: -NLE_MSG_TRUNC;
	nlmsg_free(msg);
	nl_cb_put(calls);
	if (refused)
		return refused;
	return rc < 0 ? link_errno(rc) : 0;
}

int link_add(struct nl_sock *sock, const char *name, const char *netdev)
{
	struct nl_msg *msg = link_begin(RDMA_NLDEV_CMD_NEWLINK, 0);
	int put;

	if (!msg)
		return -ENOMEM;
	put = nla_put_string(msg, RDMA_NLDEV_ATTR_DEV_NAME, name) ?:
	      nla_put_string(msg, RDMA_NLDEV_ATTR_LINK_TYPE, "cairn") ?:
	      nla_put_string(msg, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return link_talk(sock, msg, put, NULL, NULL);
}

int link_delete(struct nl_sock *sock, uint32_t index)
{
	struct nl_msg *msg = link_begin(RDMA_NLDEV_CMD_DELLINK, 0);
	int rc;

	if (!msg)
		return -ENOMEM;
	rc = nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	rc = link_talk(sock, msg, rc, NULL, NULL);
	/* so says the kernel of an index without a device */
	return rc == -EINVAL ? -ENODEV : rc;
}

static int link_parse(struct nl_msg *msg, struct nlattr **attrs)
{
	return nlmsg_parse(nlmsg_hdr(msg), 0, attrs, LINK_ATTR_LAST, link_policy);
}

struct link_visit {
	void (*visit)(const struct link *link, void *arg);
	void *arg;
};

static int link_one_of_all(struct nl_msg *msg, void *arg)
{
	const struct link_visit *each = arg;
	struct nlattr *attrs[LINK_ATTR_LAST + 1];
	struct link link;
	int rc = link_parse(msg, attrs);

	if (rc)
		return rc;
	if (!attrs[RDMA_NLDEV_ATTR_DEV_INDEX] || !attrs[RDMA_NLDEV_ATTR_DEV_NAME])
		return -NLE_MISSING_ATTR;
	link.index = nla_get_u32(attrs[RDMA_NLDEV_ATTR_DEV_INDEX]);
	nla_strlcpy(link.name, attrs[RDMA_NLDEV_ATTR_DEV_NAME], sizeof(link.name));
	each->visit(&link, each->arg);
	return NL_OK;
}

int link_each(struct nl_sock *sock, void (*visit)(const struct link *link, void *arg), void *arg)
{
	struct nl_msg *msg = link_begin(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	struct link_visit each = { visit, arg };

	return msg ? link_talk(sock, msg, 0, link_one_of_all, &each) : -ENOMEM;
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

int link_find(struct nl_sock *sock, const char *name, uint32_t *index)
{
	struct link_search search = { .name = name };
	int rc = link_each(sock, link_compare, &search);

	*index = search.found.index;
	return rc ?: search.found.name[0] ? 0 : -ENODEV;
}

static int link_take_netdev(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[LINK_ATTR_LAST + 1];
	int rc = link_parse(msg, attrs);

	if (rc)
		return rc;
	if (attrs[RDMA_NLDEV_ATTR_NDEV_NAME])
		nla_strlcpy(arg, attrs[RDMA_NLDEV_ATTR_NDEV_NAME], IFNAMSIZ);
	return NL_OK;
}

int link_netdev(struct nl_sock *sock, uint32_t index, char netdev[IFNAMSIZ])
{
	struct nl_msg *msg = link_begin(RDMA_NLDEV_CMD_PORT_GET, 0);
	int put;

	netdev[0] = '\0';
	if (!msg)
		return -ENOMEM;
	put = nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index) ?:
	      nla_put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	return link_talk(sock, msg, put, link_take_netdev, netdev);
}

int link_chardev(struct nl_sock *sock, uint32_t index, const char *type)
{
	struct nl_msg *msg = link_begin(RDMA_NLDEV_CMD_GET_CHARDEV, 0);
	int put;

	if (!msg)
		return -ENOMEM;
	put = nla_put_string(msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, type);
	if (!put && strcmp(type, "rdma_cm"))
		put = nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	return link_talk(sock, msg, put, NULL, NULL);
}
