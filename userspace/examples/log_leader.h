/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Which writer leads is decided by etcd. A leader has a key that a lease keeps, and an
 * epoch that each new leader raises in the same transaction. So epochs grow as the
 * revision of etcd does.
 *
 * A leader that was stopped may go on after its lease. It does no harm: the targets let
 * in the epoch of the next one, and cut off the queue pairs of this one.
 */
#ifndef LOG_LEADER_H
#define LOG_LEADER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LOG_LEADER_NAME	80u	/* bytes of the longest name */

struct log_leader {
	/* the caller's */
	const char *urls;	/* of etcd's members, with commas */
	const char *name;	/* of the log */
	uint64_t client;
	uint32_t ttl;		/* of the lease, seconds */
	/* the leader's */
	uint64_t epoch;
	int64_t lease;
	uint64_t valid_until;	/* ms of our own clock, counted from the question */
	unsigned int url;	/* the one that has answered last */
	bool silent;		/* none answers, and that was said */
	bool keeping;
	pthread_t keeper;
};

/*
 * Waits until no other writer leads, and leads. @seen: the epoch is larger than that.
 * Return: 0 or an errno; ETIMEDOUT: there is no leader to be had within @ms;
 * ENAMETOOLONG: logs with such names could not be told apart.
 */
int log_leader_campaign(struct log_leader *leader, uint64_t seen, uint32_t ms);
/* Whether the lease lasts. It is renewed until log_leader_resign(). */
bool log_leader_is_valid(const struct log_leader *leader);
/*
 * Asks etcd whether the lease has ended, at most until it has. A leader that the targets
 * have cut off can still believe in a lease that etcd has revoked.
 */
bool log_leader_has_ended(struct log_leader *leader);
/* Lets the next one lead at once. */
void log_leader_resign(struct log_leader *leader);

#endif /* LOG_LEADER_H */
