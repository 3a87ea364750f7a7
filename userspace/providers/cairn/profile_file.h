/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A file with the limits of a NIC, see cairn_profile(7). cairn_set(1) reads it, too. */
#ifndef CAIRN_PROFILE_FILE_H
#define CAIRN_PROFILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <infiniband/verbs.h>

/* The kinds of objects that are counted. */
enum cairn_profile_object {
	CAIRN_PROFILE_AH,
	CAIRN_PROFILE_CQ,
	CAIRN_PROFILE_MR,
	CAIRN_PROFILE_MW,
	CAIRN_PROFILE_PD,
	CAIRN_PROFILE_QP,
	CAIRN_PROFILE_SRQ,
	CAIRN_PROFILE_OBJECTS,
	CAIRN_PROFILE_NONE = CAIRN_PROFILE_OBJECTS
};

struct cairn_profile {
	struct ibv_device_attr attr;	/* the limits; those that are not named: INT_MAX */
	uint64_t max_inline;
	uint64_t max_mtu;		/* bytes */
	int transports;			/* bits of CAIRN_PROFILE_TRANSPORT() */
	bool no_atomics;
	bool no_odp;
	uint32_t qp_kbps;		/* of each queue pair; 0: no limit */
	/* for cairn_set(1) alone */
	uint32_t latency_us;
	uint32_t ack_delay_us;
	char loss[16];			/* a fraction; empty: none */
};

#define CAIRN_PROFILE_TRANSPORT(type) (1 << (type))
#define CAIRN_PROFILE_XRC \
	(CAIRN_PROFILE_TRANSPORT(IBV_QPT_XRC_SEND) | CAIRN_PROFILE_TRANSPORT(IBV_QPT_XRC_RECV))

/* A limit of struct ibv_device_attr. A table of these ends with an empty entry. */
struct cairn_profile_limit {
	const char *name;
	size_t offset;
	enum cairn_profile_object counted;
};

extern const struct cairn_profile_limit cairn_profile_limits[];

static inline int *cairn_profile_value(struct ibv_device_attr *attr,
				       const struct cairn_profile_limit *limit)
{
	return (int *)((char *)attr + limit->offset);
}

/* Say on standard error what is wrong with a file, and where. @line: 0: everywhere. Return:
 * EINVAL.
 */
int cairn_profile_file_error(const char *path, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Reads the rest of @file. @path: as messages name it. Return: 0, or EINVAL after a message. */
int cairn_profile_file_read(struct cairn_profile *profile, const char *path, FILE *file);
/* Opens the profile of this name, or the file if it has a slash. @path: PATH_MAX bytes.
 * Return: 0, or an errno after a message.
 */
int cairn_profile_file_open(const char *name, char *path, FILE **file);
/* Opens and reads it. */
int cairn_profile_file_load(struct cairn_profile *profile, const char *name);

#endif /* CAIRN_PROFILE_FILE_H */
