/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The members of a log, and how many of them a record needs. It is on the medium of each
 * member, so a writer that reaches one of them knows how many more it has to reach.
 *
 * A record is at k of n members. A writer sees each reported record if it reaches
 * n - k + 1, and two writers cannot have the same epoch if each reaches more than half.
 * So a writer claims the larger of k and n - k + 1, which are n + 1 together.
 *
 * A change has two steps: first the members of both sets are needed, then those of the
 * new one only. A writer that finds the first step goes on with it.
 */
#ifndef LOG_CONFIG_H
#define LOG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/* One more than a log has targets: a replacement is there beside all others. */
#define LOG_MAX_MEMBERS	5

struct log_config {
	uint64_t version;	/* counts the steps of changes */
	uint32_t member[LOG_MAX_MEMBERS];	/* numbers; 0: none */
	uint8_t now;		/* bits: which of them are members */
	uint8_t quorum;		/* how many of those a record needs */
	uint8_t before;		/* the members before a change that has not ended */
	uint8_t before_quorum;
};

_Static_assert(sizeof(struct log_config) == 32, "part of the format");

/* The user's word for a change that not enough old members agree to. */
enum log_force {
	LOG_FORCE_NONE,
	LOG_FORCE_GONE,		/* the absent ones never come back */
	LOG_FORCE_LOSS,		/* and reported records may be lost with them */
};

/* Whether the numbers and bits can be those of a log. */
bool log_config_is_valid(const struct log_config *config);
int log_config_count(uint8_t set);
/* The bit number of @member, or -1. */
int log_config_index(const struct log_config *config, uint32_t member);
/* How many of the members a writer claims. */
int log_config_claims(const struct log_config *config);
/* Whether @set is enough for a writer: no other one has the rest. */
bool log_config_is_enough(const struct log_config *config, uint8_t set);
/* Whether @set has all reported records. */
bool log_config_sees_all(const struct log_config *config, uint8_t set);

/*
 * The first step from @old to @num members with a quorum. With @force the old members
 * are not asked, and it is the last step, too.
 * EINVAL: no such quorum; E2BIG: more members at a time than fit.
 */
int log_config_change(struct log_config *config, const struct log_config *old,
		      const uint32_t *member, int num, uint32_t quorum,
		      bool force);
/* The last step. */
void log_config_end_change(struct log_config *config);
/* Whether the members or the quorum differ. */
bool log_config_differs(const struct log_config *config,
			const uint32_t *member, int num, uint32_t quorum);

/* A number for a new member that none of @config has. */
uint32_t log_config_number(const struct log_config *config, uint64_t client,
			   uint64_t epoch);

#endif /* LOG_CONFIG_H */
