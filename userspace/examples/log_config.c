// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>

#include "log_config.h"

int log_config_count(uint8_t set)
{
	return __builtin_popcount(set);
}

static bool log_config_is_set(const struct log_config *config, uint8_t set,
			      uint8_t quorum)
{
	for (int i = 0; i < 8; i++)
		if (set & 1 << i &&
		    (i >= LOG_MAX_MEMBERS || !config->member[i]))
			return false;
	return quorum && quorum <= log_config_count(set);
}

bool log_config_is_valid(const struct log_config *config)
{
	for (int i = 0; i < LOG_MAX_MEMBERS; i++)
		for (int j = 0; j < i; j++)
			if (config->member[i] &&
			    config->member[i] == config->member[j])
				return false;
	return log_config_is_set(config, config->now, config->quorum) &&
	       (!config->before ||
		log_config_is_set(config, config->before,
				  config->before_quorum));
}

int log_config_index(const struct log_config *config, uint32_t member)
{
	for (int i = 0; i < LOG_MAX_MEMBERS; i++)
		if (member && config->member[i] == member)
			return i;
	return -1;
}

static int log_config_needs(uint8_t members, uint8_t quorum)
{
	int others = log_config_count(members) - quorum + 1;

	return others > quorum ? others : quorum;
}

int log_config_claims(const struct log_config *config)
{
	return log_config_needs(config->now, config->quorum);
}

bool log_config_is_enough(const struct log_config *config, uint8_t set)
{
	if (log_config_count(set & config->now) < log_config_claims(config))
		return false;
	return !config->before ||
	       log_config_count(set & config->before) >=
	       log_config_needs(config->before, config->before_quorum);
}

/* While a change lasts the last records may be those of either set. */
bool log_config_sees_all(const struct log_config *config, uint8_t set)
{
	if (log_config_count(set & config->now) <=
	    log_config_count(config->now) - config->quorum)
		return false;
	return !config->before ||
	       log_config_count(set & config->before) >
	       log_config_count(config->before) - config->before_quorum;
}

void log_config_end_change(struct log_config *config)
{
	for (int i = 0; i < LOG_MAX_MEMBERS; i++)
		if (!(config->now & 1 << i))
			config->member[i] = 0;
	config->before = 0;
	config->before_quorum = 0;
	config->version++;
}

static int log_config_add(struct log_config *config, uint32_t member)
{
	int index = log_config_index(config, member);

	for (int i = 0; i < LOG_MAX_MEMBERS && index < 0; i++)
		if (!config->member[i])
			index = i;
	if (index < 0)
		return E2BIG;
	config->member[index] = member;
	config->now |= (uint8_t)(1 << index);
	return 0;
}

int log_config_change(struct log_config *config, const struct log_config *old,
		      const uint32_t *member, int num, uint32_t quorum,
		      bool force)
{
	int err = 0;

	if (!quorum || quorum > (uint32_t)num)
		return EINVAL;
	*config = (struct log_config){ .version = old->version + 1 };
	if (!force) {
		memcpy(config->member, old->member, sizeof(config->member));
		config->before = old->now;
		config->before_quorum = old->quorum;
	}
	config->quorum = (uint8_t)quorum;
	for (int i = 0; i < num && !err; i++)
		err = log_config_add(config, member[i]);
	return err;
}

bool log_config_differs(const struct log_config *config,
			const uint32_t *member, int num, uint32_t quorum)
{
	uint8_t set = 0;
	int index;

	for (int i = 0; i < num; i++) {
		index = log_config_index(config, member[i]);
		if (index < 0)
			return true;
		set |= (uint8_t)(1 << index);
	}
	return set != config->now || quorum != config->quorum;
}

/* splitmix64 */
static uint64_t log_config_mix(uint64_t number)
{
	number += 0x9e3779b97f4a7c15u;
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
	number = (number ^ number >> 27) * 0x94d049bb133111ebu;
	return number ^ number >> 31;
}

uint32_t log_config_number(const struct log_config *config, uint64_t client,
			   uint64_t epoch)
{
	uint64_t state = log_config_mix(client) ^ log_config_mix(~epoch);
	uint32_t member;

	do {
		state = log_config_mix(state);
		member = (uint32_t)(state >> 32);
	} while (!member || log_config_index(config, member) >= 0);
	return member;
}
