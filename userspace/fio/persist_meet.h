/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How the two ends of cairn_persist meet, over TCP: each sends its card, connects its queue
 * pair to the other's, and waits for the other. Functions that return int return 0 or an
 * errno.
 */
#ifndef PERSIST_MEET_H
#define PERSIST_MEET_H

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/verbs.h>

enum persist_mode {
	PERSIST_MODE_PERSIST, PERSIST_MODE_EARLY, PERSIST_MODE_WRITE, PERSIST_MODE_READ,
	PERSIST_MODE_SEND, PERSIST_MODES
};

/* Each end sends this to the other, in the byte order of both. */
struct persist_card {
	union ibv_gid gid;
	uint32_t qpn, psn, rkey, mode;
	uint64_t addr, length;
	uint32_t size, depth;
	uint64_t messages;
	uint32_t mtu, reserved;
};

/* Return: the device of that name, or NULL with errno */
static inline struct ibv_context *persist_meet_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	errno = ENODEV;
	for (int i = 0; list && list[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return context;
}

static inline bool persist_meet_is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* The GID with *@index or, if that is negative, the first RoCE v2 one of an IPv4 address. */
static inline int persist_meet_gid(struct ibv_context *context, int *index, union ibv_gid *gid)
{
	struct ibv_gid_entry entries[64];
	ssize_t num = ibv_query_gid_table(context, entries, 64, 0);

	for (ssize_t i = 0; i < num; i++) {
		if (*index >= 0 ? entries[i].gid_index != (uint32_t)*index :
		    entries[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    !persist_meet_is_ipv4(&entries[i].gid))
			continue;
		*gid = entries[i].gid;
		*index = (int)entries[i].gid_index;
		return 0;
	}
	return ENOENT;
}

/* From RESET to RTS. @access: what the peer may do. */
static inline int persist_meet_qp(struct ibv_qp *qp, const struct persist_card *me,
				  const struct persist_card *peer, int gid_index,
				  unsigned int access)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access,
	};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = me->mtu < peer->mtu ? me->mtu : peer->mtu,
		.dest_qp_num = peer->qpn, .rq_psn = peer->psn,
		.max_dest_rd_atomic = 16, .min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = peer->gid, .hop_limit = 64,
				 .sgid_index = (uint8_t)gid_index },
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .sq_psn = me->psn, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 16,
	};
	int err = ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				IBV_QP_ACCESS_FLAGS);

	if (!err)
		err = ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
				    IBV_QP_MAX_DEST_RD_ATOMIC);
	if (!err)
		err = ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_MAX_QP_RD_ATOMIC);
	return err;
}

static inline int persist_meet_transfer(int sock, void *data, size_t bytes, bool out)
{
	uint8_t *pos = data;
	ssize_t done;

	while (bytes) {
		done = out ? send(sock, pos, bytes, MSG_NOSIGNAL) : recv(sock, pos, bytes, 0);
		if (done <= 0)
			return ECONNRESET;
		pos += done;
		bytes -= (size_t)done;
	}
	return 0;
}

static inline int persist_meet_exchange(int sock, struct persist_card *me,
					struct persist_card *peer)
{
	int err = persist_meet_transfer(sock, me, sizeof(*me), true);

	return err ? err : persist_meet_transfer(sock, peer, sizeof(*peer), false);
}

/* Waits until both ends are here. */
static inline int persist_meet_barrier(int sock)
{
	char byte = 0;
	int err = persist_meet_transfer(sock, &byte, 1, true);

	return err ? err : persist_meet_transfer(sock, &byte, 1, false);
}

static inline int persist_meet_try(const struct addrinfo *info)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0 || !connect(fd, info->ai_addr, info->ai_addrlen))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/*
 * A name may have several addresses, and the target listens at those of IPv4.
 * Return: a socket, or -1 with errno
 */
static inline int persist_meet_connect(const char *address, uint16_t port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *info, *next;
	char service[8];
	int fd = -1;

	snprintf(service, sizeof(service), "%u", port);
	errno = EHOSTUNREACH;
	if (getaddrinfo(address, service, &hints, &info))
		return -1;
	for (next = info; next && fd < 0; next = next->ai_next)
		fd = persist_meet_try(next);
	freeaddrinfo(info);
	return fd;
}

#endif /* PERSIST_MEET_H */
